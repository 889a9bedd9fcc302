"""INQUIRE TRANCLASS, its browse, SET TRANCLASS, and the definition."""

from __future__ import annotations

import pytest

from tdqsim import Condition, Region, SecurityOptions, define_transaction
from tdqsim.cics import Access, AccessList
from tdqsim.definitions import define_tranclass, parse_csd, parse_definitions
from tdqsim.errors import DefinitionError
from tdqsim.facts import Resp
from tests.cics.spi.helpers import condition
from tests.rules import expect_rule

CLASSES = [define_tranclass(name="ZCLASS", maxactive=999), define_tranclass(name="ACLASS", maxactive=0, purgethresh=7)]


@pytest.fixture
def task():
    with Region(CLASSES, supplied_queues=False) as region, region.task() as task:
        yield task


def test_inquire(task):
    assert task.inquire_tranclass("ZCLASS").as_dict() == {"ACTIVE": 0, "MAXACTIVE": 999, "PURGETHRESH": 0, "QUEUED": 0}
    assert task.inquire_tranclass("ACLASS  ", "PURGETHRESH").as_dict() == {"PURGETHRESH": 7}


def test_browse(task):
    task.inquire_tranclass_start()
    assert condition(task.inquire_tranclass_start) == (Resp.ILLOGIC, 1)
    assert task.inquire_tranclass_next("MAXACTIVE").as_dict() == {"TRANCLASS": "ACLASS  ", "MAXACTIVE": 0}
    assert task.inquire_tranclass_next("MAXACTIVE").as_dict() == {"TRANCLASS": "ZCLASS  ", "MAXACTIVE": 999}
    assert condition(task.inquire_tranclass_next) == (Resp.END, 2)
    task.inquire_tranclass_end()
    assert condition(task.inquire_tranclass_end) == (Resp.ILLOGIC, 1)
    assert condition(task.inquire_tranclass_next) == (Resp.ILLOGIC, 1)


@pytest.mark.rule("TRANCLASS-NOT-FOUND")
@pytest.mark.rule("SET-TRANCLASS-NOT-FOUND")
def test_a_class_that_is_not_installed(task):
    expect_rule("TRANCLASS-NOT-FOUND", task.inquire_tranclass, "NOCLASS")
    expect_rule("SET-TRANCLASS-NOT-FOUND", task.set_tranclass, "NOCLASS", maxactive=1)


@pytest.mark.rule("SET-TRANCLASS-BAD-MAXACTIVE")
@pytest.mark.rule("SET-TRANCLASS-BAD-THRESHOLD")
def test_numbers_out_of_range_change_nothing(task):
    for number in (-2, 1000):
        expect_rule("SET-TRANCLASS-BAD-MAXACTIVE", task.set_tranclass, "ACLASS", maxactive=number, purgethresh=5)
    for number in (-2, 1_000_001):
        expect_rule("SET-TRANCLASS-BAD-THRESHOLD", task.set_tranclass, "ACLASS", maxactive=5, purgethresh=number)
    assert task.inquire_tranclass("ACLASS", "MAXACTIVE", "PURGETHRESH").as_dict() == {"MAXACTIVE": 0, "PURGETHRESH": 7}


def test_set_changes_what_is_given(task):
    task.set_tranclass("ACLASS", maxactive=3)
    assert task.inquire_tranclass("ACLASS", "MAXACTIVE", "PURGETHRESH").as_dict() == {"MAXACTIVE": 3, "PURGETHRESH": 7}
    task.set_tranclass("ACLASS", purgethresh=0)
    assert task.inquire_tranclass("ACLASS", "MAXACTIVE", "PURGETHRESH").as_dict() == {"MAXACTIVE": 3, "PURGETHRESH": 0}


@pytest.mark.rule("SEC-XCMD-TCLASS")
def test_command_security():
    policy = AccessList(commands={"BOB": {"TCLASS": Access.READ}})
    definitions = [*CLASSES, define_transaction(name="PAYP")]
    with Region(definitions, security=SecurityOptions(policy=policy, cmdsec="ALWAYS"), supplied_queues=False) as region:
        with region.task(transid="PAYP", userid="BOB") as task:
            assert expect_rule("SEC-XCMD-TCLASS", task.inquire_tranclass, "ZCLASS", "MAXACTIVE").maxactive == 999
            with pytest.raises(Condition, match="NOTAUTH"):
                task.set_tranclass("ZCLASS", maxactive=1)
        with region.task(transid="PAYP", userid="ANN") as task:
            for command in (task.inquire_tranclass_start, lambda: task.inquire_tranclass("ZCLASS")):
                with pytest.raises(Condition, match="NOTAUTH"):
                    command()


@pytest.mark.rule("DEF-TRANCLASS")
def test_maxactive_is_required():
    expect_rule("DEF-TRANCLASS", define_tranclass, name="PAYCLASS")


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"maxactive": 1000}, "from 0 to 999"),
        ({"maxactive": 1, "purgethresh": 0}, "NO or a whole number from 1 to 1000000"),
        ({"maxactive": 1, "purgethresh": 1_000_001}, "NO or a whole number from 1 to 1000000"),
        ({"maxactive": 1, "purgethresh": "YES"}, "NO or a whole number"),
        ({"name": "DFHTCL00", "maxactive": 1}, "reserved"),
    ],
)
def test_values_that_a_definition_may_not_have(attributes, words):
    with pytest.raises(DefinitionError, match=words):
        define_tranclass(**{"name": "PAYCLASS", **attributes})


def test_the_definition_in_files_and_csd_text():
    (yaml,) = parse_definitions("group: G\ntranclass:\n- {name: PAYCLASS, maxactive: 5, purgethresh: no}\n").resources
    (csd,) = parse_csd("DEFINE TRANCLASS(PAYCLASS) GROUP(G) MAXACTIVE(5) PURGETHRESH(20)\n").definitions.resources
    assert (yaml.maxactive, yaml.purgethresh, yaml.threshold) == (5, "NO", 0)
    assert (csd.maxactive, csd.purgethresh, csd.threshold) == (5, "20", 20)
