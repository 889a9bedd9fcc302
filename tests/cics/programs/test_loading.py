"""LOAD and RELEASE of tables, in Python and as EXEC text."""

from __future__ import annotations

import pytest

from tdqsim import Region
from tdqsim.cics import Condition
from tdqsim.definitions import define_program
from tdqsim.errors import UsageError
from tdqsim.facts import Resp
from tests.rules import expect_rule


@pytest.fixture
def region():
    programs = [define_program(name="FARAWAY", remotesystem="FAR1"), define_program(name="OFF", status="DISABLED")]
    with Region(programs) as made:
        made.programs.define_table("RATES", b"0105 0230 ")
        yield made


def test_load_gives_the_bytes_until_release(region):
    with region.task() as task:
        assert task.load("rates") == b"0105 0230 "
        assert (task.eib.eibresp, task.eib.eibrsrce.rstrip()) == (0, "rates")
        task.release("RATES")
        task.release("RATES", nohandle=True)
        assert (task.eib.eibresp, task.eib.eibresp2) == (16, 6)


def test_load_as_text_gives_the_bytes_and_their_length(region):
    host = {}
    with region.task() as task:
        task.execute("LOAD PROGRAM('RATES') SET(P) LENGTH(HALF) FLENGTH(FULL) ENTRY(E)", host)
        task.execute("RELEASE PROGRAM('RATES')")
    assert host == {"P": b"0105 0230 ", "HALF": 10, "FULL": 10, "E": b"0105 0230 "}


@pytest.mark.rule("PGM-LOAD-PGMIDERR", "PGM-LOAD-PROGRAM", "DPL-PGMIDERR-REMOTE", "DPL-DISABLED")
@pytest.mark.parametrize(
    ("program", "row"),
    [
        ("NONE", "PGM-LOAD-PGMIDERR"),
        ("PROG", "PGM-LOAD-PROGRAM"),
        ("FARAWAY", "DPL-PGMIDERR-REMOTE"),
        ("OFF", "DPL-DISABLED"),
    ],
)
def test_load_refuses(region, program, row):
    region.programs.register("PROG", lambda _task: None)
    region.programs.define_table("OFF", b"x")
    with region.task() as task:
        expect_rule(row, task.load, program)


@pytest.mark.rule("DPL-PGMIDERR-REMOTE")
def test_release_of_a_remote_program_is_pgmiderr(region):
    with region.task() as task:
        expect_rule("DPL-PGMIDERR-REMOTE", task.release, "FARAWAY")


@pytest.mark.rule("PGM-RELEASE-INVREQ", "PGM-RELEASE-SELF", "PGM-RELEASE-OTHER")
def test_release_refuses_what_this_task_has_not_loaded(region):
    def loads(task):
        task.load("RATES")
        task.delay(10)

    def releases(task):
        expect_rule("PGM-RELEASE-OTHER", task.release, "RATES")
        expect_rule("PGM-RELEASE-SELF", task.release, "ITSELF")
        task.delay(20)
        expect_rule("PGM-RELEASE-INVREQ", task.release, "RATES")

    region.programs.register("ITSELF", releases)
    with region.task():  # both begin before time moves on
        started = [region.start(loads), region.start(lambda task: task.link("ITSELF"))]
    region.run()
    for each in started:
        each.result()


def test_load_with_hold_lasts_beyond_the_task_until_any_task_releases(region):
    with region.task() as task:
        task.load("RATES", hold=True)
    with pytest.raises(UsageError, match="table RATES is loaded; it is defined anew when every task has released it"):
        region.programs.define_table("RATES", b"new")
    with region.task() as task:
        task.release("RATES")
        with pytest.raises(Condition) as refused:
            task.release("RATES")
        assert (refused.value.resp, refused.value.resp2) == (Resp.INVREQ, 6)
    region.programs.define_table("RATES", b"new")
    with region.task() as task:
        assert task.load("RATES") == b"new"


def test_a_table_of_an_ended_task_is_defined_anew(region):
    with region.task() as task:
        task.load("RATES")
        with pytest.raises(UsageError, match="table RATES is loaded"):
            region.programs.define_table("RATES", b"new")
    region.programs.define_table("RATES", b"new")
    with region.task() as task:
        assert task.load("RATES") == b"new"
