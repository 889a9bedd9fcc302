"""Histories of correct regions are clean; one thing changed in them is found, whatever the history."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tdqsim import Region, Resp, StartOptions, define_tdqueue, define_transaction
from tdqsim.testing import Event, History, RecycledStores, check_history

W, R = "WRITEQ TD", "READQ TD"
DEFINITIONS = [
    define_tdqueue(name="NOQ", type="INTRA"),
    define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="TRGQ", type="INTRA", transid="PAYP", triggerlevel=2, atifacility="FILE"),
    define_transaction(name="PAYP"),
]
NAMES = ("NOQ", "LOGQ", "TRGQ")


@cache
def stores() -> RecycledStores:
    return RecycledStores()


def handler(task) -> None:
    while task.readq_td(task.assign("QNAME"), nohandle=True) and task.eib.eibresp is Resp.NORMAL:
        pass


def run(seed: int) -> tuple[list[Event], dict[str, list[bytes]]]:
    """A history of forty commands in units of work of any length, and what is left."""
    choice, number = random.Random(seed), 0
    with Region(DEFINITIONS, supplied_queues=False, store=stores().take()) as region:
        history = History().attach(region)
        region.register("PAYP", handler)
        for _ in range(12):
            with region.task() as task:
                for _ in range(choice.randrange(1, 5)):
                    name, number = choice.choice(NAMES), number + 1
                    if choice.random() < 0.55:
                        task.writeq_td(name, b"record %d" % number)
                    else:
                        task.readq_td(name, nohandle=True)
                if choice.random() < 0.25:
                    task.syncpoint_rollback()
        return history.events, {name: region.peek(name) for name in NAMES}


def where(events: list[Event], wanted: Callable[[Event], bool]) -> list[int]:
    return [at for at, event in enumerate(events) if wanted(event)]


def is_read(event: Event) -> bool:
    return event.kind == R and event.resp == "NORMAL"


def read_twice(events: list[Event], pick: random.Random) -> list[Event] | None:
    reads = where(events, is_read)
    at = pick.choice(reads) if reads else None
    return None if at is None else [*events[: at + 1], events[at], *events[at + 1 :]]


def read_nothing(events: list[Event], pick: random.Random) -> list[Event] | None:
    reads = where(events, is_read)
    at = pick.choice(reads) if reads else None
    return None if at is None else [*events[:at], events[at]._replace(resp="QZERO", data=b""), *events[at + 1 :]]


def swapped(events: list[Event], pick: random.Random) -> list[Event] | None:
    """Two reads of one queue, one right after the other."""
    pairs = [
        (at, at + 1)
        for at in where(events[:-1], is_read)
        if is_read(events[at + 1]) and events[at].queue == events[at + 1].queue
    ]
    if not pairs:
        return None
    one, other = pick.choice(pairs)
    found = list(events)
    found[one], found[other] = (
        events[one]._replace(data=events[other].data),
        events[other]._replace(data=events[one].data),
    )
    return found


def _read_by_another(events: list[Event]) -> list[tuple[int, int]]:
    """The commits of records that another unit of work has read later, and those reads."""
    found = []
    for at, event in enumerate(events):
        if event.kind != "COMMIT":
            continue
        written = {
            each.data for each in events[:at] if each.kind == W and each.queue == "LOGQ" and each.uow == event.uow
        }
        reads = [n for n in range(at, len(events)) if is_read(events[n]) and events[n].data in written]
        if reads and all(events[n].uow != event.uow for n in reads):
            found.append((at, reads[0]))
    return found


def backed_out(events: list[Event], pick: random.Random) -> list[Event] | None:
    commits = _read_by_another(events)
    at = pick.choice(commits)[0] if commits else None
    return None if at is None else [*events[:at], events[at]._replace(kind="BACKOUT"), *events[at + 1 :]]


def committed_late(events: list[Event], pick: random.Random) -> list[Event] | None:
    commits = _read_by_another(events)
    if not commits:
        return None
    at, read = pick.choice(commits)
    return [*events[:at], *events[at + 1 : read + 1], events[at], *events[read + 1 :]]


def write_forgotten(events: list[Event], pick: random.Random) -> list[Event] | None:
    read = {event.data for event in events if is_read(event)}
    writes = where(events, lambda event: event.kind == W and event.data in read)
    at = pick.choice(writes) if writes else None
    return None if at is None else events[:at] + events[at + 1 :]


def never_started(events: list[Event], pick: random.Random) -> list[Event] | None:
    starts = where(events, lambda event: event.kind == "START" and event.queue != "")
    if not starts:
        return None
    at = pick.choice(starts)
    return [event for n, event in enumerate(events) if n != at]


def started_twice(events: list[Event], pick: random.Random) -> list[Event] | None:
    starts = where(events, lambda event: event.kind == "START" and event.queue != "")
    if not starts:
        return None
    at = pick.choice(starts)
    return [*events[: at + 1], events[at]._replace(task=9999), *events[at + 1 :]]


CHANGES = [
    (read_twice, "duplicated"),
    (read_nothing, "lost"),
    (swapped, "reordered"),
    (backed_out, "phantom"),
    (committed_late, "read-uncommitted"),
    (write_forgotten, "unexpected"),
    (never_started, "trigger missed"),
    (started_twice, "trigger doubled"),
]


@pytest.mark.parametrize(("change", "kind"), CHANGES, ids=lambda value: getattr(value, "__name__", None))
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_one_thing_changed_is_found(change, kind: str, seed: int) -> None:
    events, final = run(seed)
    check_history(events, final=final).check()
    wrong = change(events, random.Random(seed))
    if wrong is not None:
        verdict = check_history(wrong, final=final)
        assert kind in {anomaly.kind for anomaly in verdict.anomalies}, str(verdict)


@pytest.mark.parametrize(("change", "kind"), CHANGES, ids=lambda value: getattr(value, "__name__", None))
def test_every_change_can_be_made(change, kind: str) -> None:
    assert kind
    assert any(change(run(seed)[0], random.Random(seed)) is not None for seed in range(40))


def test_what_an_unfinished_unit_of_work_has_read_counts_for_the_trigger_level() -> None:
    events = [
        Event("QUEUE", 0, "P", b"", 0, info={
            "recovstatus": "LOGICAL", "records": [b"a"], "triggerlevel": 2, "atifacility": "FILE", "startable": True,
        }),
        op(R, "P", b"a", "1"), op(W, "P", b"b", "2"), Event("COMMIT", 1, "", b"", 0, uow="2"),
        Event("START", 9, "P", b"", 0), Event("END", 9, "P", b"", 0),
    ]  # fmt: skip
    check_history(events).check()
    missed = check_history([event for event in events if event.kind not in ("START", "END")])
    assert [anomaly.kind for anomaly in missed.anomalies] == ["trigger missed"]


# -- restarts, told by hand ---------------------------------------------------------------------------------------


def stands(name: str, *records: bytes, recovstatus: str = "LOGICAL") -> Event:
    return Event("QUEUE", 0, name, b"", 0, info={"recovstatus": recovstatus, "records": list(records)})


def op(kind: str, name: str, data: bytes, uow: str = "", resp: str = "NORMAL") -> Event:
    return Event(kind, 1, name, data, 0, uow=uow, resp=resp)


def restart(start: str = "EMERGENCY", tdintra: str = "NOEMPTY") -> Event:
    return Event("RESTART", 0, "", b"", 0, info={"start": start, "tdintra": tdintra})


def cycle(*records: bytes, recovstatus: str = "LOGICAL", latch: bool = False) -> Event:
    """The state of queue P, which starts tasks at its first record."""
    event = stands("P", *records, recovstatus=recovstatus)
    event.info.update(triggerlevel=1, atifacility="FILE", startable=True, latch=latch)
    return event


QZERO = op(R, "P", b"", "1", resp="QZERO")
ENDS = [Event("COMMIT", 1, "", b"", 0, uow="1"), Event("END", 1, "", b"", 0)]
MORE = [op(W, "P", b"b", "2")._replace(task=2), Event("COMMIT", 2, "", b"", 0, uow="2")]
UNIT = [stands("P"), stands("Q"), op(W, "P", b"p", "1"), op(W, "Q", b"q", "1")]
COMMITTED = [*UNIT, Event("COMMIT", 1, "", b"", 0, uow="1")]
PHYSICAL = [stands("P", recovstatus="PHYSICAL"), op(W, "P", b"a"), op(W, "P", b"b")]
RESTARTS: dict[str, tuple[list[Event], list[str]]] = {
    "committed": ([*COMMITTED, restart(), stands("P", b"p"), stands("Q", b"q")], []),
    "in flight": ([*UNIT, restart(), stands("P"), stands("Q")], []),
    "committed, and nobody was told": ([*UNIT, restart(), stands("P", b"p"), stands("Q", b"q")], []),
    "half": ([*UNIT, restart(), stands("P", b"p"), stands("Q")], ["half-committed"]),
    "lost": ([*COMMITTED, restart(), stands("P"), stands("Q", b"q")], ["lost"]),
    "backed out, and there again": (
        [*UNIT, Event("BACKOUT", 1, "", b"", 0, uow="1"), restart(), stands("P", b"p"), stands("Q")], ["phantom"],
    ),
    "read, and there again": (
        [*COMMITTED, op(R, "P", b"p", "2"), Event("COMMIT", 1, "", b"", 0, uow="2"), restart(), stands("P", b"p"),
         stands("Q", b"q")], ["duplicated"],
    ),
    "in doubt, and committed later": (
        [*UNIT, restart(), stands("P"), stands("Q"), Event("COMMIT", 1, "", b"", 0, uow="1"), op(R, "P", b"p", "3")], [],
    ),
    "a queue that is not recoverable": (
        [stands("P", recovstatus="NO"), op(W, "P", b"a"), restart(), stands("P", recovstatus="NO")], [],
    ),
    "what was not recoverable is there": (
        [stands("P", recovstatus="NO"), op(W, "P", b"a"), restart(), stands("P", b"a", recovstatus="NO")], ["duplicated"],
    ),
    "a warm start keeps everything": (
        [stands("P", recovstatus="NO"), op(W, "P", b"a"), restart("WARM"), stands("P", b"a", recovstatus="NO")], [],
    ),
    "a warm start that lost something": (
        [stands("P", recovstatus="NO"), op(W, "P", b"a"), restart("WARM"), stands("P", recovstatus="NO")], ["lost"],
    ),
    "a cold start begins anew": ([*COMMITTED, restart("COLD"), stands("P"), stands("Q")], []),
    "TDINTRA=EMPTY": ([*COMMITTED, restart("WARM", "EMPTY"), stands("P"), stands("Q")], []),
    "TDINTRA=EMPTY, and something is there": (
        [*COMMITTED, restart("EMERGENCY", "EMPTY"), stands("P", b"p"), stands("Q")], ["duplicated"],
    ),
    "TDINTRA=EMPTY throws away what is in doubt": (
        [*UNIT, restart("EMERGENCY", "EMPTY"), stands("P"), stands("Q"), op(W, "Q", b"n", "2"),
         Event("COMMIT", 2, "", b"", 0, uow="2"), op(R, "Q", b"n", "3")], [],
    ),
    "TDINTRA=EMPTY, and what was in doubt is read": (
        [*UNIT, restart("EMERGENCY", "EMPTY"), stands("P"), stands("Q"), op(R, "P", b"p", "3")], ["phantom"],
    ),
    "TDINTRA=EMPTY gives no read of a PHYSICAL queue back": (
        [*PHYSICAL, op(R, "P", b"a", "1"), restart("EMERGENCY", "EMPTY"), stands("P", recovstatus="PHYSICAL")], [],
    ),
    "the last read of a PHYSICAL queue is given back": (
        [*PHYSICAL, op(R, "P", b"a", "1"), restart(), stands("P", b"a", b"b", recovstatus="PHYSICAL")], [],
    ),
    "the last read of a PHYSICAL queue is given back by the first of two restarts only": (
        [*PHYSICAL, op(R, "P", b"a", "1"), restart(), stands("P", b"a", b"b", recovstatus="PHYSICAL"),
         op(R, "P", b"a", "2"), op(R, "P", b"b", "2"), restart(), stands("P", b"a", b"b", recovstatus="PHYSICAL")],
        ["duplicated"],
    ),
    "a delete that nobody was told of was not done before the first of two restarts": (
        [*PHYSICAL, op("DELETEQ TD", "P", b"", resp="UNKNOWN"), restart(),
         stands("P", b"a", b"b", recovstatus="PHYSICAL"), restart(), stands("P", recovstatus="PHYSICAL")], ["lost", "lost"],
    ),
    "a write that nobody was told of": ([*PHYSICAL, restart(), stands("P", b"a", b"b", b"c", recovstatus="PHYSICAL")], []),
    "two records lost of a PHYSICAL queue": ([*PHYSICAL, restart(), stands("P", recovstatus="PHYSICAL")], ["lost", "lost"]),
    "a delete that nobody was told of": (
        [*PHYSICAL, op("DELETEQ TD", "P", b"", resp="UNKNOWN"), restart(), stands("P", recovstatus="PHYSICAL")], [],
    ),
    "a trigger's task that the crash has prevented": (
        [cycle(recovstatus="NO"), op(W, "P", b"a"), restart(), cycle(recovstatus="NO")], [],
    ),
    "a QZERO of a unit of work before the restart ends no cycle after it": (
        [cycle(), QZERO, restart(), cycle(b"a", latch=True), *ENDS, *MORE], ["unexpected"],
    ),
    "a QZERO of a task before the restart ends no cycle after it": (
        [cycle(), QZERO, ENDS[0], restart(), cycle(b"a", latch=True), ENDS[1], *MORE], ["unexpected"],
    ),
    "a unit of work in doubt that is committed on both queues before the second restart": (
        [*UNIT, restart(), stands("P"), stands("Q"), restart(), stands("P", b"p"), stands("Q", b"q")], [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", RESTARTS)
def test_what_a_restart_must_find_is_known(what: str) -> None:
    events, kinds = RESTARTS[what]
    assert [anomaly.kind for anomaly in check_history(events).anomalies] == kinds


def test_a_history_checks_itself_over_restarts(tmp_path) -> None:
    history = History()
    for start in ("INITIAL", "EMERGENCY", "EMERGENCY"):
        region = Region(DEFINITIONS, store=tmp_path / "store", supplied_queues=False)
        assert region.recovery.start_type == start
        history.attach(region)
        for name in NAMES:
            region.writeq_td(name, f"{name} {start} {len(history.events)}".encode())
        task = region.task()
        task.readq_td("LOGQ")
        task.writeq_td("LOGQ", b"in flight")
        history.check()
        region.close(clean=False)
    with Region(store=tmp_path / "store", supplied_queues=False) as region:
        history.attach(region)
        assert history.check().left == {"LOGQ": 3}


@pytest.mark.parametrize("clean", [True, False])
def test_a_history_knows_tdintra_empty(tmp_path, clean) -> None:
    history = History()
    region = Region(DEFINITIONS, store=tmp_path / "store", supplied_queues=False)
    history.attach(region)
    for name in NAMES:
        region.writeq_td(name, b"one")
    task = region.task()
    task.readq_td("LOGQ")
    task.writeq_td("LOGQ", b"in flight")
    region.recovery.branch("XA1", task).prepare()
    region.close(clean=clean)
    with Region(store=tmp_path / "store", supplied_queues=False, start=StartOptions(tdintra="EMPTY")) as region:
        assert region.options.tdintra == "EMPTY"
        history.attach(region)
        region.writeq_td("LOGQ", b"two")
        assert history.check().left == {"LOGQ": 1}


def test_the_last_events_are_told_and_a_seed_through_an_alias_is_its_target_s(tmp_path) -> None:
    alias = define_tdqueue(name="ALIA", type="INDIRECT", indirectname="NOQ")
    with Region([*DEFINITIONS, alias], supplied_queues=False) as region, History(path=tmp_path / "events") as history:
        history.attach(region)
        region.seed("ALIA", [b"one", b"two", b"three"])
        assert [(event.kind, event.data) for event in history.of("NOQ", 2)] == [("SEED", b"two"), ("SEED", b"three")]
        region.readq_td("NOQ")
        (last,) = history.lines(1)
        assert "READQ TD NOQ " in last
        history.close()
        assert history.lines(1) == [last]
        history.attach(region)  # the file is closed, and what follows is kept in memory
        region.readq_td("NOQ")
        assert [event.data for event in history.of("NOQ", 1)] == [b"two"]


def test_a_check_of_a_history_says_what_is_wrong() -> None:
    with Region(DEFINITIONS, supplied_queues=False) as region:
        history = History().attach(region)
        region.writeq_td("NOQ", b"one")
        history.trace(("WRITEQ TD", 1, "NOQ", b"never written", 0))
        with pytest.raises(AssertionError, match="1 lost"):
            history.check()
