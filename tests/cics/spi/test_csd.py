"""The CSD in the store of a region: groups, lists, signatures, restarts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from freezegun import freeze_time
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tdqsim import Condition, Cvda, Region, SecurityOptions, StartOptions
from tdqsim.cics import Access, AccessList, Csd
from tdqsim.cics.kernel.abstime import abstime_of
from tdqsim.errors import UsageError
from tests.rules import expect_rule

DAY = datetime(2026, 3, 1, 8)
DEFINED, CHANGED, INSTALLED = (datetime(2026, 3, 1, hour) for hour in (9, 10, 11))


@pytest.mark.rule("CSD-SIGNATURE-ALTER")
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


@pytest.mark.rule("CSD-KEPT")
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


class Refused(NamedTuple):
    """What is there, and the command that is refused."""

    given: Callable[[Csd], object]
    call: Callable[[Csd], object]


def paid(csd: Csd) -> None:
    csd.define("TDQUEUE", "PAYQ", group="PAY", type="INTRA")
    csd.add(group="PAY", grplist="DAYLIST")


def installed(csd: Csd) -> None:
    paid(csd)
    csd.define("TDQUEUE", "PAYR", group="PAY", type="INTRA")
    csd.install("TDQUEUE", "PAYQ", group="PAY")


REFUSED = {
    "CSD-ADD-TWICE": Refused(paid, lambda csd: csd.add(group="PAY", grplist="DAYLIST")),
    "CSD-GROUP-IS-LIST": Refused(paid, lambda csd: csd.add(group="DAYLIST", grplist="OTHER")),
    "CSD-LIST-IS-GROUP": Refused(paid, lambda csd: csd.add(group="MORE", grplist="PAY")),
    "CSD-ADD-BESIDE": Refused(paid, lambda csd: csd.add(group="MORE", grplist="DAYLIST", before="NONE")),
    "CSD-GROUP-NAME": Refused(paid, lambda csd: csd.define("TDQUEUE", "PAYR", group="pay", type="INTRA")),
    "CSD-LIST-NAME": Refused(paid, lambda csd: csd.add(group="PAY", grplist="NINELONGS")),
    "CSD-TYPE": Refused(paid, lambda csd: csd.define("TDQUEU", "PAYR", group="PAY", type="INTRA")),
    "CSD-NAME": Refused(paid, lambda csd: csd.define("MAPSET", "MAP*", group="PAY")),
    "CSD-LOCKED": Refused(lambda csd: (paid(csd), csd.by("ANN").lock("PAY")), lambda csd: csd.delete(group="PAY")),
    "CSD-PROTECTED": Refused(paid, lambda csd: csd.alter("TDQUEUE", "CSSL", group="DFHDCTG", databuffers=2)),
    "CSD-DEFINE-DUPRES": Refused(paid, paid),
    "CSD-NOTFND": Refused(paid, lambda csd: csd.alter("TDQUEUE", "PAYR", group="PAY", triggerlevel=2)),
    "CSD-NO-GROUP": Refused(paid, lambda csd: csd.install(group="NONE")),
    "CSD-NO-LIST": Refused(paid, lambda csd: csd.install(grplist="NONE")),
    "CSD-INSTALL-INCOMPLETE": Refused(installed, lambda csd: csd.install(group="PAY")),
    "CSD-INSTALL-REFUSED": Refused(installed, lambda csd: csd.install("TDQUEUE", "PAYQ", group="PAY")),
    "CSD-INSTALL-CONNECTION": Refused(
        lambda csd: csd.define("CONNECTION", "CICB", group="LINKS"),
        lambda csd: csd.install("CONNECTION", "CICB", group="LINKS"),
    ),
    "CSD-OWN-SIGNATURE": Refused(paid, lambda csd: csd.alter("TDQUEUE", "PAYQ", group="PAY", changeusrid="EVE")),
    "CSD-HANDLER": Refused(
        paid, lambda csd: csd.by("EVE").define("TRANSACTION", "PAYP", group="PAY", handler="os:abort")
    ),
}


@pytest.mark.rule(*REFUSED)
@pytest.mark.parametrize("rule_id", REFUSED)
def test_what_the_csd_refuses(rule_id):
    """Every refusal leaves the CSD as it was."""
    with Region() as region:
        case = REFUSED[rule_id]
        case.given(region.csd)
        before = list(region.csd.definitions()), region.csd.lists(), region.csd.locks()
        expect_rule(rule_id, case.call, region.csd)
        assert (list(region.csd.definitions()), region.csd.lists(), region.csd.locks()) == before
        if rule_id == "CSD-INSTALL-INCOMPLETE":
            assert "PAYR" in region.tdqueues


def test_generic_names():
    with Region(supplied_queues=False) as region:
        for name in ("A?B", "AXB", "A[B]", "BB"):
            region.csd.define("MAPSET", name, group="G1")
        found = {
            generic: [each.name for each in region.csd.definitions("mapset", generic, group="G+")]
            for generic in ("A*", "A+B", "A?B", "A[B]", "*B", "*" * 1000 + "Z")
        }
    assert found == {
        "A*": ["A?B", "AXB", "A[B]"], "A+B": ["A?B", "AXB"], "A?B": ["A?B"], "A[B]": ["A[B]"],
        "*B": ["A?B", "AXB", "BB"], "*" * 1000 + "Z": [],
    }  # fmt: skip


def test_a_user_id_that_no_definition_can_hold_is_refused():
    with Region() as region, pytest.raises(UsageError, match="user 'longer than 8'"):
        region.csd.by("longer than 8")


@pytest.mark.rule("CSD-NOTAUTH")
def test_the_policy_decides_who_may_use_the_csd():
    policy = AccessList(commands={"ANN": {"CSD": Access.UPDATE}, "BOB": {"CSD": Access.READ}}, users=["ANN", "BOB"])
    with Region(security=SecurityOptions(policy=policy, dfltuser="ANN", regionuserid="ANN")) as region:
        region.csd.by("ANN").define("TDQUEUE", "PAYQ", group="PAY", type="INTRA")
        assert region.csd.by("BOB").get("TDQUEUE", "PAYQ", group="PAY") is not None
        expect_rule("CSD-NOTAUTH", region.csd.by("BOB").delete, group="PAY")


@pytest.mark.rule("CSD-READONLY")
def test_a_region_that_only_reads_shows_the_csd(tmp_path):
    with Region(store=tmp_path / "s") as region:
        paid(region.csd)
    with Region(store=tmp_path / "s", readonly=True) as region:
        assert [each.title for each in region.csd.definitions(group="PAY")] == ["TDQUEUE(PAYQ)"]
        expect_rule("CSD-READONLY", region.csd.delete, group="PAY")


@pytest.mark.rule("CSD-FULL")
def test_a_full_store_keeps_what_is_there(tmp_path):
    with Region(store=tmp_path / "s", limit_bytes=4 << 20, supplied_queues=False) as region:
        text = {f"note{number}": "x" * 100_000 for number in range(5)}
        taken = 0
        with suppress(Condition):
            for taken in range(100):
                region.csd.define("MAPSET", f"MAP{taken}", group="BIG", **text)
        expect_rule("CSD-FULL", region.csd.define, "MAPSET", "MORE", group="BIG", **text)
        assert len(list(region.csd.definitions(group="BIG"))) == taken > 0


@pytest.mark.rule("CSD-GRPLIST")
def test_a_group_list_of_a_cold_start(tmp_path):
    with Region(store=tmp_path / "s") as region:
        paid(region.csd)
    with Region(store=tmp_path / "s", start=StartOptions(grplist="DAYLIST")) as region:  # warm
        assert "PAYQ" not in region.tdqueues
    with Region(store=tmp_path / "s", start=StartOptions(type="COLD", grplist=["DAYLIST", "NOLIST"])) as region:
        assert region.inquire_tdqueue("PAYQ").INSTALLAGENT is Cvda.GRPLIST
        assert [each.reason for each in region.notices] == [
            "GRPLIST names NOLIST, which is no list of the CSD: nothing of it is installed."
        ]


@pytest.mark.rule("CSD-SIGNATURE-COPY", "CSD-GROUP-GONE")
def test_a_renamed_definition_is_a_new_one_and_leaves_its_group():
    with freeze_time(DEFINED) as clock, Region() as region:
        region.csd.define("TDQUEUE", "PAYQ", group="PAY", type="INTRA", description="pay")
        clock.move_to(CHANGED)
        region.csd.rename("TDQUEUE", "PAYQ", group="PAY", to="NEW", as_="PAYR")
        found = region.csd.get("TDQUEUE", "PAYR", group="NEW")
        assert (found.definetime, found.changetime, found.description) == (CHANGED, CHANGED, "pay")  # DEFINETIME anew
        assert region.csd.groups() == ["DFHDCTG", "NEW"]


@pytest.mark.parametrize("verb", ["DEFINE", "COPY", "RENAME", "RENAME to another name"])
def test_a_group_cannot_have_the_name_of_a_list_nor_a_list_that_of_a_group(verb):
    with Region() as region:
        csd = region.csd
        csd.define("TDQUEUE", "PAYQ", group="PAY", type="INTRA")
        assert csd.add(group="PAY", grplist="STARTUP") is True  # it has made the list
        assert csd.add(group="NEXT", grplist="STARTUP") is False
        calls = {
            "DEFINE": lambda: csd.define("TDQUEUE", "NEWQ", group="STARTUP", type="INTRA"),
            "COPY": lambda: csd.copy("TDQUEUE", "PAYQ", group="PAY", to="STARTUP"),
            "RENAME": lambda: csd.rename("TDQUEUE", "PAYQ", group="PAY", to="STARTUP"),
            "RENAME to another name": lambda: csd.rename("TDQUEUE", "PAYQ", group="PAY", to="STARTUP", as_="NEWQ"),
        }
        with pytest.raises(Condition, match="STARTUP is the name of a list"):
            calls[verb]()
        with pytest.raises(Condition, match="PAY is the name of a group"):
            csd.add(group="OTHER", grplist="PAY")
        assert csd.groups() == ["DFHDCTG", "PAY"]


class CsdMachine(RuleBasedStateMachine):
    """The CSD of a region against dictionaries, with restarts."""

    groups = st.sampled_from(["GA", "GB", "GC"])
    names = st.sampled_from(["Q1", "Q2", "Q3"])
    lists = st.sampled_from(["L1", "L2"])

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.defined: dict[tuple[str, str], int] = {}
        self.listed: dict[str, list[str]] = {}
        self.region = Region(store=Path(self.folder.name) / "s", supplied_queues=False)

    def attempt(self, call: Callable[[], object], *, works: bool) -> bool:
        try:
            call()
        except Condition:
            assert not works
            return False
        assert works
        return True

    @rule(group=groups, name=names, level=st.integers(0, 9))
    def define(self, group, name, level):
        call = lambda: self.region.csd.define("TDQUEUE", name, group=group, type="INTRA", triggerlevel=level)  # noqa: E731
        if self.attempt(call, works=(group, name) not in self.defined):
            self.defined[group, name] = level

    @rule(group=groups, name=names, level=st.integers(0, 9))
    def alter(self, group, name, level):
        call = lambda: self.region.csd.alter("TDQUEUE", name, group=group, triggerlevel=level)  # noqa: E731
        if self.attempt(call, works=(group, name) in self.defined):
            self.defined[group, name] = level

    @rule(group=groups, name=names, remove=st.booleans())
    def delete(self, group, name, remove):
        call = lambda: self.region.csd.delete("TDQUEUE", name, group=group, remove=remove)  # noqa: E731
        if self.attempt(call, works=(group, name) in self.defined):
            del self.defined[group, name]
            if remove and not any(each == group for each, _ in self.defined):
                self.listed = {key: [each for each in value if each != group] for key, value in self.listed.items()}

    @rule(group=groups, to=groups, duplicates=st.sampled_from(["DUPERROR", "DUPREPLACE", "DUPNOREPLACE"]))
    def copy(self, group, to, duplicates):
        source = {name: level for (each, name), level in self.defined.items() if each == group}
        twice = {name for name in source if (to, name) in self.defined}
        works = bool(source) and not (twice and duplicates == "DUPERROR")
        if self.attempt(lambda: self.region.csd.copy(group=group, to=to, duplicates=duplicates), works=works):
            kept = twice if duplicates == "DUPNOREPLACE" else set()
            self.defined |= {(to, name): level for name, level in source.items() if name not in kept}

    @rule(group=groups, name=lists)
    def add(self, group, name):
        works = group not in self.listed.get(name, ())
        if self.attempt(lambda: self.region.csd.add(group=group, grplist=name), works=works):
            self.listed.setdefault(name, []).append(group)

    @rule(group=groups, name=lists)
    def remove(self, group, name):
        works = group in self.listed.get(name, ())
        if self.attempt(lambda: self.region.csd.remove(group=group, grplist=name), works=works):
            self.listed[name].remove(group)

    @rule(start=st.sampled_from(["AUTO", "COLD", "INITIAL"]), clean=st.booleans())
    def restart(self, start, clean):
        self.region.close(clean=clean)
        self.region = Region(store=Path(self.folder.name) / "s", supplied_queues=False, start=start)

    @invariant()
    def agrees(self):
        found = {(each.group, each.name): each.triggerlevel for each in self.region.csd.definitions(group="G*")}
        assert found == self.defined
        lists = {name: tuple(groups) for name, groups in self.listed.items() if groups}
        assert self.region.csd.lists() == {**lists, "DFHLIST": ("DFHDCTG",)}
        assert self.region.csd.groups() == sorted({group for group, _ in self.defined} | {"DFHDCTG"})

    def teardown(self):
        self.region.close()
        self.folder.cleanup()


TestCsdModel = CsdMachine.TestCase
TestCsdModel.settings = settings(max_examples=10, stateful_step_count=20, deadline=None)
