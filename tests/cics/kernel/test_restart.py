"""Restart: what survives which end and which start, triggers, indoubt units of work, and control intervals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tdqsim import StartOptions
from tdqsim.cics import Condition, Region, Sysplex
from tdqsim.definitions import define_connection, define_tdqueue, define_terminal, define_transaction
from tdqsim.errors import StoreDamaged, TdqError
from tdqsim.facts import Cvda
from tests.rules import expect_rule, rule

from .helpers import drain, fill, trigger

Make = Callable[..., Region]
QUEUES = ("NOQ", "PHYQ", "LOGQ")


def contents(region: Region) -> dict[str, list[bytes]]:
    return {name: region.peek(name) for name in QUEUES}


# -- the matrix -----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("RESTART-WARM", "RESTART-EMERGENCY", "RESTART-COLD", "RESTART-TDINTRA-EMPTY")
@pytest.mark.parametrize(
    ("clean", "options", "row"),
    [
        (True, {}, "RESTART-WARM"),
        (False, {}, "RESTART-EMERGENCY"),
        (True, {"start": "COLD"}, "RESTART-COLD"),
        (False, {"start": "INITIAL"}, "RESTART-COLD"),
        (True, {"start": StartOptions(tdintra="EMPTY")}, "RESTART-TDINTRA-EMPTY"),
        (False, {"start": StartOptions(tdintra="EMPTY")}, "RESTART-TDINTRA-EMPTY"),
    ],
)
def test_what_survives(make_region: Make, tmp_path: Path, clean: bool, options: Any, row: str) -> None:
    first = make_region(store=tmp_path / "store")
    for name in QUEUES:
        fill(first, name, b"1", b"2", b"3")
        first.readq_td(name)
    first.close(clean=clean)
    second = make_region(store=tmp_path / "store", **options)
    survivors = rule(row).message.split()
    assert contents(second) == {name: [b"2", b"3"] if name in survivors else [] for name in QUEUES}
    fill(second, "LOGQ", b"4")
    assert second.readq_td("LOGQ") == (b"2" if "LOGQ" in survivors else b"4")


@pytest.mark.rule("RESTART-INFLIGHT")
def test_units_of_work_in_flight_never_happened(make_region: Make, tmp_path: Path) -> None:
    first = make_region(store=tmp_path / "store")
    fill(first, "LOGQ", b"1", b"2")
    task = first.task()
    task.readq_td("LOGQ")
    task.writeq_td("LOGQ", b"3")
    first.writeq_td("PHYQ", b"forces a commit of the store meanwhile")
    first.close(clean=False)
    second = make_region(store=tmp_path / "store")
    assert second.peek("LOGQ") == [b"1", b"2"]
    assert second.recovery.units_of_work() == ()


@pytest.mark.rule("RESTART-PHYSICAL-LAST-READ")
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (["read", "read", "write"], [b"2", b"3", b"4"]),
        (["read", "syncpoint"], [b"2", b"3"]),
        (["read", "read", "syncpoint", "read"], [b"3"]),
        (["read", "rollback"], [b"2", b"3"]),
        (["read", "delete"], []),
        (["read", "delete", "write"], [b"4"]),
        (["read", "read", "read"], [b"3"]),
        (["read", "write", "read"], [b"2", b"3", b"4"]),
        (["read", "delete", "write", "read"], [b"4"]),
        (["read", "discard", "write"], [b"4"]),
        ([], [b"1", b"2", b"3"]),
    ],
)
def test_the_last_read_of_a_physical_queue(
    make_region: Make, tmp_path: Path, script: list[str], expected: list[bytes]
) -> None:
    """Given back when the region fails before the unit of work ends, and only then."""
    first = make_region(store=tmp_path / "store")
    fill(first, "PHYQ", b"1", b"2", b"3")
    task = first.task()
    steps: dict[str, Callable[[], Any]] = {
        "read": lambda: task.readq_td("PHYQ"),
        "write": lambda: task.writeq_td("PHYQ", b"4"),
        "syncpoint": task.syncpoint,
        "rollback": task.syncpoint_rollback,
        "delete": lambda: task.deleteq_td("PHYQ"),
        "discard": lambda: (
            first.set_tdqueue("PHYQ", enablestatus="DISABLED"),
            first.discard_tdqueue("PHYQ"),
            first.install([define_tdqueue(name="PHYQ", type="INTRA", recovstatus="PHYSICAL")]),
        ),
    }
    for step in script:
        steps[step]()
    first.close(clean=False)
    second = make_region(store=tmp_path / "store")
    assert second.peek("PHYQ") == expected
    assert second.tdqueues["PHYQ"].numitems == len(expected)  # type: ignore[attr-defined]
    fill(second, "PHYQ", b"5")
    assert [second.readq_td("PHYQ") for _ in range(len(expected) + 1)] == [*expected, b"5"]


@pytest.mark.parametrize(
    ("readers", "left"),
    [((0, 1, 0), [b"2", b"3", b"4"]), ((0, 1), [b"1", b"2", b"3", b"4"]), ((1, 0), [b"1", b"2", b"3", b"4"])],
)
def test_the_last_reads_of_several_units_of_work(
    make_region: Make, tmp_path: Path, readers: tuple[int, ...], left: list[bytes]
) -> None:
    first = make_region(store=tmp_path / "store")
    fill(first, "PHYQ", b"1", b"2", b"3", b"4")
    tasks = first.task(), first.task()
    for reader in readers:
        tasks[reader].readq_td("PHYQ")
    first.close(clean=False)
    assert make_region(store=tmp_path / "store").peek("PHYQ") == left


@pytest.mark.parametrize("clean", [True, False])
def test_a_cycle_that_set_tdqueue_has_ended_is_over_after_a_restart(
    make_region: Make, tmp_path: Path, clean: bool
) -> None:
    queue = define_tdqueue(
        name="TERQ", type="INTRA", recovstatus="PHYSICAL", transid="TRAN", triggerlevel=1, facilityid="T001",
        atifacility="TERMINAL",
    )  # fmt: skip
    first = make_region(queue, define_transaction(name="TRAN"), define_terminal(name="T001"), store=tmp_path / "store")
    first.writeq_td("TERQ", b"1")
    first.run()  # nothing runs: TRAN has no program
    first.set_tdqueue("TERQ", triggerlevel=1)
    first.close(clean=clean)
    started: list[str] = []
    second = make_region(store=tmp_path / "store", handlers={"TRAN": lambda task: started.append(task.eib.eibtrmid)})
    second.run()
    assert started == []


@pytest.mark.parametrize("clean", [True, False])
def test_given_definitions_that_the_catalogue_does_not_have_are_named(
    make_region: Make, tmp_path: Path, clean: bool
) -> None:
    queue = partial(define_tdqueue, name="QUEU", type="INTRA", atifacility="FILE")
    store, kept = tmp_path / "store", define_terminal(name="T001")
    make_region(queue(transid="TRAN", triggerlevel=1), kept, store=store).close(clean=clean)
    same = make_region(queue(transid="TRAN"), kept, store=store)
    assert list(same.notices) == []  # 1 is the default
    same.set_tdqueue("QUEU", triggerlevel=2)
    same.close(clean=clean)
    given = [queue(transid="TRAN", triggerlevel=5), define_transaction(name="TRAN"), kept]
    with Region(given, store=store, readonly=True) as looked_at:
        assert [notice.id for notice in looked_at.notices] == ["TDQ0069"]
    (notice,) = make_region(*given, store=store).notices
    assert (notice.id, notice.severity) == ("TDQ0069", "warning")
    assert "are different there: TDQUEUE(QUEU), TRANSACTION(TRAN)." in notice.reason


@pytest.mark.rule("RESTART-CATALOGUE", "RESTART-ENABLED", "RESTART-SET-KEPT")
@pytest.mark.parametrize("clean", [True, False])
def test_definitions_come_from_the_catalogue(make_region: Make, tmp_path: Path, clean: bool) -> None:
    store = tmp_path / "store"
    first = make_region(
        *trigger(atifacility="FILE"), define_tdqueue(name="OLDQ", type="INTRA", description="it's"), store=store
    )
    first.install(
        [
            define_tdqueue(name="NEWQ", type="INTRA", recovstatus="LOGICAL"),
            define_transaction(name="NEWT", dtimout="130"),
        ]
    )
    first.set_tdqueue("TRGQ", triggerlevel=7)
    for name in ("OLDQ", "NEWQ", "TRGQ"):
        first.set_tdqueue(name, enablestatus="DISABLED")
    first.set_tdqueue("TRGQ", atitranid="NEWT")
    first.discard_tdqueue("OLDQ")
    names, signature = list(first.tdqueues), first.tdqueues["TRGQ"].signature
    first.close(clean=clean)
    second = make_region(define_tdqueue(name="LATE", type="INTRA"), store=store)
    assert list(second.tdqueues) == names
    expect_rule("RESTART-CATALOGUE", second.readq_td, "LATE")
    assert [notice.event for notice in second.notices] == ["definitions_not_installed"]
    assert second.tdqueues["NEWQ"].enablestatus is Cvda[rule("RESTART-ENABLED").message]
    assert second.tdqueues["TRGQ"].triggerlevel == int(rule("RESTART-SET-KEPT").message)  # type: ignore[attr-defined]
    assert second.tdqueues["TRGQ"].transid == "NEWT"  # type: ignore[attr-defined]
    assert second.tdqueues["TRGQ"].signature == signature
    assert second.resources.transactions["NEWT"].dtimout_ns == 90 * 10**9
    assert second._core.terminal_control.get("TERMINAL", "T001").inservice
    started: list[int] = []
    second.register("NEWT", lambda _task: started.append(second.inquire_tdqueue("TRGQ", "NUMITEMS").numitems))
    for _ in range(7):
        second.writeq_td("TRGQ", b"x")
        second.run()
    assert started == [7]


@pytest.mark.rule("RESTART-ORDER")
@pytest.mark.parametrize("clean", [True, False])
def test_the_order_of_installation_is_kept(make_region: Make, tmp_path: Path, clean: bool) -> None:
    store = tmp_path / "store"
    queues = ["ZZZZ", "AAAA", "MMMM", "GONE"]
    first = make_region(
        *(define_tdqueue(name=name, type="INTRA") for name in queues),
        *(define_transaction(name=name) for name in ("TRN9", "TRN1")),
        *(define_terminal(name=name) for name in ("T009", "T001")),
        store=store,
    )
    first.set_tdqueue("ZZZZ", triggerlevel=7)
    for name in ("AAAA", "GONE"):
        first.set_tdqueue(name, enablestatus="DISABLED")
    first.create_tdqueue("AAAA", "TYPE(INTRA)")
    first.discard_tdqueue("GONE")
    first.create_tdqueue("BBBB", "TYPE(INTRA)")
    first.install([define_tdqueue(name="GONE", type="INTRA")])
    region = first
    expected = ["ZZZZ", "AAAA", "MMMM", "BBBB", "GONE"]
    for late in ("ADDD", "ACCC", "ABBB"):  # each behind those of the runs before
        assert [each.tdqueue for each in region.browse_tdqueue("TYPE")] == expected
        region.create_tdqueue(late, "TYPE(INTRA)")
        expected.append(late)
        assert list(region.resources.transactions)[:2] == ["TRN9", "TRN1"]
        assert list(region.resources.terminals) == ["T009", "T001"]
        region.close(clean=clean)
        region = make_region(store=store)


def test_a_damaged_catalogue_is_named(make_region: Make, tmp_path: Path) -> None:
    first = make_region(store=tmp_path / "store")
    first.store.durable.commit((), {b"cat/TDQUEUE/BADQ": b"{nonsense"})
    first.close()
    with pytest.raises(StoreDamaged, match="BADQ"):
        make_region(store=tmp_path / "store")


# -- triggers ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("recovstatus", ["PHYSICAL", "LOGICAL"])
def test_the_trigger_cycle_of_a_queue_that_create_has_replaced_does_not_come_back(
    make_region: Make, tmp_path: Path, recovstatus: str, clean: bool
) -> None:
    store = tmp_path / "store"
    first = make_region(*trigger(atifacility="TERMINAL", facilityid="T001", recovstatus=recovstatus), store=store)
    first.register("PAYP", lambda _task: None)
    first.set_terminal("T001", servstatus="OUTSERVICE")
    fill(first, "TRGQ", b"1", b"2", b"3")
    assert first.tdqueues["TRGQ"].latch  # type: ignore[attr-defined]
    first.set_tdqueue("TRGQ", enablestatus="DISABLED")
    first.create_tdqueue("TRGQ", f"TYPE(INTRA) TRANSID(PAYP) FACILITYID(T001) RECOVSTATUS({recovstatus})")
    assert not first.tdqueues["TRGQ"].latch  # type: ignore[attr-defined]
    first.close(clean=clean)
    assert not make_region(store=store).tdqueues["TRGQ"].latch  # type: ignore[attr-defined]


@pytest.mark.rule("RESTART-TRIGGER-TERMINAL", "RESTART-TRIGGER-FILE")
@pytest.mark.parametrize("facility", ["TERMINAL", "SYSTEM", "FILE"])
@pytest.mark.parametrize("recovstatus", ["NO", "PHYSICAL", "LOGICAL"])
@pytest.mark.parametrize("clean", [True, False])
def test_trigger_cycles_that_were_on_by_recovstatus_and_atifacility(
    make_region: Make, tmp_path: Path, facility: str, recovstatus: str, clean: bool
) -> None:
    store = tmp_path / "store"
    attributes = {"facilityid": "T001"} if facility != "FILE" else {}
    queue = trigger(atifacility=facility, recovstatus=recovstatus, **attributes)
    sysplex = Sysplex()  # in which connection T001 is acquired
    sysplex.region([define_connection(name="HERE")], applid="T001", sysid="T001")
    names = {"store": store, "applid": "HERE", "dispatcher": sysplex.dispatcher}
    first = sysplex.add(make_region(*queue, define_connection(name="T001"), **names))
    first.register("PAYP", lambda task: task.delay(hours=1))
    fill(first, "TRGQ", b"1", b"2", b"3")
    assert first.tdqueues["TRGQ"].latch  # type: ignore[attr-defined]
    first.close(clean=clean)
    second = sysplex.add(make_region(**names))
    seen: list[bytes] = []
    second.register("PAYP", drain("TRGQ", seen))  # after the start: nothing has run yet
    second.run()
    lost = recovstatus == "NO" and not clean
    if lost:
        assert (seen, second.peek("TRGQ")) == ([], [])
    elif facility != "FILE":
        assert seen == [b"1", b"2", b"3"]
    else:
        assert seen == []
        second.writeq_td("TRGQ", b"4")
        assert seen == [b"1", b"2", b"3", b"4"]
    sysplex.close()


# -- indoubt ----------------------------------------------------------------------------------------------------------------


@pytest.mark.rule("RESTART-INDOUBT")
@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("clean", [True, False])
def test_a_prepared_unit_of_work_survives_with_its_locks(
    make_region: Make, tmp_path: Path, commit: bool, clean: bool
) -> None:
    store = tmp_path / "store"
    first = make_region(store=store)
    fill(first, "LOGQ", b"1", b"2", b"3")
    fill(first, "LOG2", b"gone?")
    task = first.task(transid="PAYP", userid="PAYUSER")
    task.readq_td("LOGQ")
    task.readq_td("LOGQ")
    task.writeq_td("LOGQ", b"4" * 3000)
    task.writeq_td("LOGQ", b"5" * 3000)
    task.deleteq_td("LOG2")
    uow = task._uow
    uow.coordinator = "XA.42"
    uow.prepare()
    uow.shunt(link="CICB")
    task._unit = None
    cis = first._core.intra.count()
    first.close(clean=clean)
    second = make_region(store=store)
    again = second.recovery.shunted[uow.id]
    assert (again.state, again.waitstate, again.waitcause) == (Cvda.INDOUBT, Cvda.SHUNTED, Cvda.CONNECTION)
    assert (again.transid, again.userid, again.link, again.coordinator) == ("PAYP", "PAYUSER", "CICB", "XA.42")
    assert second._core.intra.count() == cis
    assert second.peek("LOGQ") == [b"1", b"2", b"3"]
    expect_rule("RESTART-INDOUBT", second.readq_td, "LOGQ")
    expect_rule("RESTART-INDOUBT", second.writeq_td, "LOG2", b"x")
    again.decide(commit=commit)
    expected = [b"3", b"4" * 3000, b"5" * 3000] if commit else [b"1", b"2", b"3"]
    assert second.peek("LOGQ") == expected
    assert second.peek("LOG2") == ([] if commit else [b"gone?"])
    second.close(clean=False)
    third = make_region(store=store)
    assert third.peek("LOGQ") == expected
    assert third.recovery.shunted == {}


# -- control intervals ----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("TD-NOSPACE")
@pytest.mark.parametrize("queue", ["NOQ", "PHYQ", "LOGQ"])
def test_nospace_when_the_intrapartition_data_set_is_full(make_region: Make, queue: str) -> None:
    """Five control intervals of 480 bytes for queues: five records of 300."""
    region = make_region(dfhintra={"ci_size": 512, "control_intervals": 6})
    for number in range(5):
        region.writeq_td(queue, b"%d" % number * 300)
    error = expect_rule("TD-NOSPACE", region.writeq_td, queue, b"x" * 300)
    assert "5 control intervals" in error.detail
    region.writeq_td(queue, b"y" * 180)  # what is left of the last one
    expect_rule("TD-NOSPACE", region.writeq_td, queue, b"z")
    assert (region._core.intra.count(), region._core.intra.nospace) == (5, 2)
    assert region.readq_td(queue) == b"0" * 300  # the first one is free again
    region.writeq_td(queue, b"z" * 300)
    assert len(region.peek(queue)) == 6
    region.deleteq_td(queue)
    assert region._core.intra.count() == 0


def test_backed_out_writes_give_their_room_back_after_nospace(make_region: Make) -> None:
    region = make_region(dfhintra={"ci_size": 512, "control_intervals": 6})
    for _ in range(10):
        with region.task() as task:
            for _ in range(5):
                task.writeq_td("LOGQ", b"x" * 300)
            with pytest.raises(Condition, match="NOSPACE"):
                task.writeq_td("LOGQ", b"x" * 300)
            task.syncpoint_rollback()
        assert region._core.intra.count() == 0
    for name in QUEUES:
        region.writeq_td(name, b"x" * 300)
    assert region._core.intra.count() == 3
    with region.task() as task:  # room freed by a read is free at the commit, not before
        task.writeq_td("LOG2", b"x" * 480)
        task.writeq_td("LOG2", b"x" * 480)
        task.readq_td("LOGQ")
        with pytest.raises(Condition, match="NOSPACE"):
            task.writeq_td("LOG2", b"x")
        task.syncpoint()
        task.writeq_td("LOG2", b"x")


@pytest.mark.parametrize("deletes", [False, True])
def test_backed_out_writes_give_the_rest_of_the_last_control_interval_back(make_region: Make, deletes: bool) -> None:
    region = make_region(dfhintra={"ci_size": 512, "control_intervals": 6})
    region.writeq_td("LOGQ", b"a" * 100)  # leaves 380 bytes of its control interval
    for _ in range(2):
        with region.task() as task:
            task.writeq_td("LOGQ", b"b" * 150)
            task.writeq_td("LOGQ", b"c" * 150)
            if deletes:
                task.deleteq_td("LOGQ")
            task.syncpoint_rollback()
    region.writeq_td("LOGQ", b"d" * 380)
    assert region._core.intra.count() == 1
    assert region.peek("LOGQ") == [b"a" * 100, b"d" * 380]


@pytest.mark.parametrize("queue", QUEUES)
def test_a_full_disk_is_nospace_and_loses_nothing(make_region: Make, queue: str) -> None:
    region = make_region(limit_bytes=8 * 1024 * 1024)
    written = 0
    with pytest.raises(Condition, match="NOSPACE"):  # noqa: PT012  (the last of many)
        while True:
            region.writeq_td(queue, b"%06d" % written + b"x" * 2000)
            written += 1
    assert [int(record[:6]) for record in region.peek(queue)] == list(range(written))
    assert written > 20
    cis = region._core.intra.count()
    region.deleteq_td(queue)
    assert cis == -(-written // 2)
    assert region._core.intra.count() == 0


@pytest.mark.parametrize("queue", ["PHYQ", "LOGQ"])
def test_writes_refused_by_a_full_disk_take_no_control_intervals_and_give_none(make_region: Make, queue: str) -> None:
    region = make_region(limit_bytes=8 * 1024 * 1024, dfhintra={"control_intervals": 1001})

    def write_until_it_is_full(size: int, why: str) -> int:  # each record has a control interval of its own
        written = 0
        with pytest.raises(Condition, match=why):  # noqa: PT012  (the last of many)
            while written < 2000:
                region.writeq_td(queue, bytes(size))
                written += 1
        return written

    assert write_until_it_is_full(4000, "there is no room") < 1000
    for _ in range(20):
        assert write_until_it_is_full(4000, "there is no room") == 0
    region.deleteq_td(queue)
    assert write_until_it_is_full(2100, "control intervals") == 1000


@pytest.mark.parametrize(
    "options",
    [
        {"dfhintra": {"ci_size": 100}},
        {"dfhintra": {"ci_size": 65536}},
        {"dfhintra": {"control_intervals": 1}},
        {"dfhintra": {"buffers": 3}},
        {"start": "HOT"},
        {"time_zone": "Nowhere/Land"},
        {"code_page": "nosuch"},
    ],
)
def test_bad_arguments_are_named_and_leave_nothing(make_region: Make, options: Any) -> None:
    with pytest.raises(
        TdqError, match=next(iter(options)).replace("code_page", "code page").replace("time_zone", "timezone")
    ):
        make_region(**options)


# -- see and seed -----------------------------------------------------------------------------------------------------------


def test_seed_peek_and_snapshot(make_region: Make) -> None:
    region = make_region(*trigger(triggerlevel=1), define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"))
    region.register("PAYP", lambda _task: pytest.fail("a seed starts nothing"))
    assert region.seed("TRGQ", [b"\x00\x01", "text"]) == 2
    assert region.peek("TRGQ") == [b"\x00\x01", "text".encode("cp037")]
    assert region.peek("TRGQ", limit=1) == [b"\x00\x01"]
    assert region.tdqueues["TRGQ"].writes == 0
    with pytest.raises(Condition, match="record 2"):
        region.seed("LOGQ", [b"x", b""])
    with pytest.raises(Condition, match="QIDERR"):
        region.peek("NONE")
    region.seed("LOGQ", [b"y"])
    shot = region.snapshot()
    assert (shot["LOGQ"].type, shot["LOGQ"].numitems, shot["LOGQ"].records) == ("INTRA", 1, (b"y",))
    assert region.snapshot(records=False)["LOGQ"].records == ()


def test_a_seed_that_does_not_fit_adds_nothing(make_region: Make) -> None:
    region = make_region(dfhintra={"ci_size": 512, "control_intervals": 4})
    for queue in QUEUES:
        region.writeq_td(queue, b"a" * 300)
        region.writeq_td(queue, b"b" * 100)
        with pytest.raises(Condition, match="NOSPACE"):
            region.seed(queue, [b"x" * 300] * 3)
        assert region.peek(queue) == [b"a" * 300, b"b" * 100]
        assert region._core.intra.count() == 1
        region.deleteq_td(queue)


def test_marks_of_definition_survive(make_region: Make, tmp_path: Path) -> None:
    marked = define_tdqueue(
        name="OLDQ", type="INTRA", group="PAYGRP", definetime="2024-05-31 12:00:00", changetime="24/06/01 08:30:15",
        changeusrid="PAYUSER", changeagent="CSDAPI", changeagrel="0740", description="a 'quoted' text",
    )  # fmt: skip
    first = make_region(marked, store=tmp_path / "store")
    signature = first.tdqueues["OLDQ"].signature
    first.close()
    second = make_region(store=tmp_path / "store").tdqueues["OLDQ"]
    assert second.definition == marked
    assert second.signature == signature
