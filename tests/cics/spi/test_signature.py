from __future__ import annotations

from datetime import datetime

import pytest

from tdqsim import Region
from tdqsim.cics.kernel.abstime import abstime_of
from tdqsim.cics.kernel.signature import Installer, sign
from tdqsim.definitions.tdqueue import IntraQueue
from tdqsim.errors import UsageError
from tdqsim.facts import Cvda

WHO = Installer(now=5000, start=1000, user="BOB", regionuserid="CICSSTC", release="0750", program="MAKEQ")
FROM_FILE = IntraQueue(name="PAYQ", group="PAYGRP")
FROM_CSD = IntraQueue(
    name="PAYQ", group="PAYGRP", definetime="2020-01-02 03:04:05", changetime="21/02/03 04:05:06",
    changeagent="CSDAPI", changeusrid="ALICE", changeagrel="0730",
)  # fmt: skip
DEFINED = abstime_of(datetime(2020, 1, 2, 3, 4, 5))
CHANGED = abstime_of(datetime(2021, 2, 3, 4, 5, 6))


@pytest.mark.rule("SIGNATURE-GRPLIST")
def test_installed_by_the_group_list_from_a_definition_with_its_marks():
    assert sign("GRPLIST", FROM_CSD, WHO) == (
        "PAYGRP", DEFINED, Cvda.CSDAPI, "0730", CHANGED, "ALICE", Cvda.GRPLIST, 1000, "CICSSTC",
    )  # fmt: skip


@pytest.mark.rule("SIGNATURE-FILE")
def test_a_definition_from_a_file_has_csdbatch_and_the_times_of_its_installation():
    assert sign("GRPLIST", FROM_FILE, WHO) == (
        "PAYGRP", 5000, Cvda.CSDBATCH, "0750", 5000, "CICSSTC", Cvda.GRPLIST, 1000, "CICSSTC",
    )  # fmt: skip


@pytest.mark.rule("SIGNATURE-CSDAPI")
def test_installed_by_hand():
    signature = sign("CSDAPI", FROM_CSD, WHO)
    assert signature[:6] == sign("GRPLIST", FROM_CSD, WHO)[:6]
    assert signature[6:] == (Cvda.CSDAPI, 5000, "BOB")


@pytest.mark.rule("SIGNATURE-CREATE")
def test_created():
    assert sign("CREATESPI", IntraQueue(name="PAYQ"), WHO) == (
        "MAKEQ", 5000, Cvda.CREATESPI, "0750", 5000, "BOB", Cvda.CREATESPI, 5000, "BOB",
    )  # fmt: skip


@pytest.mark.rule("SIGNATURE-SYSTEM")
def test_defined_by_cics_itself():
    assert sign("SYSTEM", FROM_FILE, WHO) == (
        "SYSTEM", 1000, Cvda.SYSTEM, "0750", 1000, "CICSSTC", Cvda.SYSTEM, 1000, "CICSSTC",
    )  # fmt: skip


@pytest.mark.rule("SIGNATURE-CHANGE-ALONE")
def test_a_definition_is_not_younger_than_its_last_change():
    changed = IntraQueue(name="PAYQ", changetime="2020-01-02 03:04:05")
    for way in ("GRPLIST", "CSDAPI"):
        made = sign(way, changed, WHO)
        assert (made.definetime, made.changetime) == (DEFINED, DEFINED)


@pytest.mark.rule("SIGNATURE-FIRST-CHANGE")
def test_a_definition_that_was_never_changed_was_changed_when_defined():
    never_changed = IntraQueue(name="PAYQ", definetime="2020-01-02 03:04:05")
    assert sign("CSDAPI", never_changed, WHO).changetime == DEFINED


def test_an_agent_that_cics_does_not_have_is_refused():
    said = "installagent is 'CEDA'; allowed are GRPLIST, CSDAPI, CREATESPI, SYSTEM"
    with Region() as region, pytest.raises(UsageError, match=said):
        region.install([FROM_FILE], installagent="CEDA")
