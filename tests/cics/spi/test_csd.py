# ruff: noqa: DTZ001  (ABSTIME is made of local time, which has no zone)
"""The CSD in the store of a region: groups, lists, signatures, restarts."""

from __future__ import annotations

from datetime import datetime

import pytest
from freezegun import freeze_time

from tdqsim import Condition, Cvda, Region
from tdqsim.cics.kernel.abstime import abstime_of
from tdqsim.errors import DefinitionError

DAY = datetime(2026, 3, 1, 8)
DEFINED, CHANGED, INSTALLED = (datetime(2026, 3, 1, hour) for hour in (9, 10, 11))


def test_signature_from_define_to_inquire(tmp_path):
    """Defined by one user, altered by the batch utility of another, installed by a third: INQUIRE tells all three."""
    with freeze_time(DAY) as clock, Region(store=tmp_path / "s") as region:
        clock.move_to(DEFINED)
        region.csd.by("ALICE").define("TDQUEUE", "PAYQ", group="PAY", type="INTRA", triggerlevel=5)
        clock.move_to(CHANGED)
        region.csd.by("BOB", agent="CSDBATCH").alter("TDQUEUE", "PAYQ", group="PAY", triggerlevel=9)
        clock.move_to(INSTALLED)
        region.csd.by("CAROL").install(group="PAY")
        found = region.inquire_tdqueue("PAYQ")
    assert found.TRIGGERLEVEL == 9
    assert ("PAY     ", abstime_of(DEFINED)) == (found.DEFINESOURCE, found.DEFINETIME)
    assert (Cvda.CSDBATCH, abstime_of(CHANGED), "BOB     ") == (found.CHANGEAGENT, found.CHANGETIME, found.CHANGEUSRID)
    assert found.CHANGEAGREL == "0750"
    assert (
        Cvda.CSDAPI,
        abstime_of(INSTALLED),
        "CAROL   ",
    ) == (found.INSTALLAGENT, found.INSTALLTIME, found.INSTALLUSRID)


@pytest.mark.parametrize("start", ["AUTO", "COLD", "INITIAL"])
def test_every_start_keeps_the_csd(tmp_path, start):
    with Region(store=tmp_path / "s") as region:
        region.csd.define("TDQUEUE", "PAYQ", group="PAY", type="INTRA", description="pay")
        region.csd.define("PROGRAM", "PAYPGM", group="PAY", language="COBOL")
        region.csd.define("MAPSET", "MAPS", group="PAY", resident="YES")
        region.csd.add(group="PAY", grplist="DAYLIST")
        before = list(region.csd.definitions(group="PAY"))
    with Region(store=tmp_path / "s", start=start) as region:
        assert list(region.csd.definitions(group="PAY")) == before
        assert [each.title for each in before] == ["MAPSET(MAPS)", "PROGRAM(PAYPGM)", "TDQUEUE(PAYQ)"]
        assert before[1].without_effect == {"language": "COBOL"}
        assert region.csd.lists() == {"DAYLIST": ("PAY",), "DFHLIST": ("DFHDCTG",)}
        assert "PAYQ" not in region.tdqueues


def test_wrong_attributes_define_nothing():
    with Region() as region:
        with pytest.raises(DefinitionError, match="type = 'INTRB': must be EXTRA, INTRA or INDIRECT"):
            region.csd.define("TDQUEUE", "PAYQ", group="PAY", type="INTRB")
        with pytest.raises(Condition, match=r"INVREQ .*'TDQUEU' is not a resource type; did you mean TDQUEUE"):
            region.csd.define("TDQUEU", "PAYQ", group="PAY", type="INTRA")
        with pytest.raises(DefinitionError, match="changeusrid = 'EVE': is written by the CSD itself"):
            region.csd.define("TDQUEUE", "PAYQ", group="PAY", type="INTRA", changeusrid="EVE")
        with pytest.raises(DefinitionError, match="names Python code"):
            region.csd.by("EVE").define("TRANSACTION", "PAYP", group="PAY", handler="os:abort")
        assert region.csd.groups() == ["DFHDCTG"]
