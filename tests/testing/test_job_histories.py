"""What jobs do to data queues is recorded as it takes effect; the checker finds what is planted in it, and only that."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tdqsim import EscapeMessage, System, TdqError
from tdqsim.ibmi import RDQS0200
from tdqsim.testing import History, JobEvent, Stage, check_history, explore, load_history

SND, RCV, CLR = "QSNDDTAQ", "QRCVDTAQ", "QCLRDTAQ"
JOB = "000001/QPGMR/JOB"


def dtaq(seq: str = "*FIFO", keylen: int = 0, force: str = "*NO", **info: Any) -> JobEvent:
    return JobEvent(
        "DTAQ", "", "L/Q", b"", 0, info={"seq": seq, "keylen": keylen, "force": force, "entries": [], **info}
    )


def op(kind: str, data: bytes = b"", entry_key: bytes = b"", /, message: str = "", **info: Any) -> JobEvent:
    return JobEvent(kind, JOB, "L/Q", data, 0, entry_key, message, info)


def by_key(order: str, key: bytes, **info: Any) -> dict[str, Any]:
    return {"key_order": order, "key": key.hex(), **info}


KEYED = dtaq("*KEYED", 1)
RESTART = JobEvent("RESTART", "", "", b"", 0, info={"start": "ABNORMAL"})
AB = [op(SND, b"a"), op(SND, b"b")]
PLANTED: dict[str, list[JobEvent]] = {
    "lost to NE with the lowest key": [
        KEYED, op(SND, b"a", b"1"), op(SND, b"b", b"2"), op(RCV, **by_key("NE", b"1")),
        op(RCV, b"b", b"2", **by_key("NE", b"1")), op(RCV, b"a", b"1", **by_key("EQ", b"1")),
    ],
    "lost": [dtaq(), op(SND, b"a"), op(RCV)],
    "lost, by key": [KEYED, op(SND, b"a", b"5"), op(RCV, **by_key("GE", b"3"))],
    "lost at the end": [dtaq(), *AB, op(RCV, b"a")],
    "lost, says the description": [dtaq(), *AB, op("QMHQRDQD", messages=1), op(RCV, b"a"), op(RCV, b"b")],
    "lost, says QMHRDQM": [dtaq(), *AB, op("QMHRDQM", selection="A", messages=1), op(RCV, b"a"), op(RCV, b"b")],
    "lost by a restart": [
        dtaq(force="*YES"), *AB, op(SND, b"c"), RESTART, dtaq(force="*YES", entries=[("61", "")]), op(RCV, b"a"),
    ],
    "duplicated": [dtaq(), *AB, op(RCV, b"a"), op(RCV, b"a"), op(RCV, b"b")],
    "reordered fifo": [dtaq(), *AB, op(RCV, b"b"), op(RCV, b"a")],
    "reordered lifo": [dtaq("*LIFO"), *AB, op(RCV, b"a"), op(RCV, b"b")],
    "reordered keyed": [
        KEYED, op(SND, b"a", b"5"), op(SND, b"b", b"3"), op(RCV, b"a", b"5", **by_key("GE", b"0")),
        op(RCV, b"b", b"3", **by_key("GE", b"0")),
    ],
    "reordered: the key does not qualify": [KEYED, op(SND, b"a", b"1"), op(RCV, b"a", b"1", **by_key("GT", b"1"))],
    "unexpected": [dtaq(), op(RCV, b"x")],
    "phantom": [dtaq(), op(SND, b"a"), op(CLR, count=1), op(RCV, b"a")],
    "phantom, looked at": [dtaq(), op(SND, b"a"), op(RCV, b"a"), op(RCV, b"a", remove="*NO")],
    "phantom of a deleted queue": [dtaq(), op(SND, b"a"), op("DLTDTAQ"), op("CRTDTAQ", seq="*FIFO"), op(RCV, b"a")],
}  # fmt: skip


@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_anomaly_is_found(what: str) -> None:
    verdict = check_history(PLANTED[what], final={"L/Q": []})
    found = Counter(anomaly.kind for anomaly in verdict.anomalies)
    kind = what.replace(",", " ").replace(":", " ").split()[0]
    assert set(found) == {kind}, str(verdict)
    with pytest.raises(AssertionError, match=kind):
        verdict.check()


SOUND: dict[str, list[JobEvent]] = {
    "fifo": [dtaq(), *AB, op(RCV, b"a"), op(RCV, b"b"), op(RCV)],
    "lifo": [dtaq("*LIFO"), *AB, op(RCV, b"b"), op(SND, b"c"), op(RCV, b"c"), op(RCV, b"a")],
    "equal entries of a LIFO queue": [
        dtaq("*LIFO"), op(SND, b"a"), op(SND, b"b"), op(SND, b"a"), op(RCV, b"a"), op(RCV, b"b"), op(RCV, b"a"),
    ],
    "the lowest of two keys by NE": [
        KEYED, op(SND, b"a", b"1"), op(SND, b"b", b"2"), op(RCV, b"b", b"2", **by_key("NE", b"1")),
        op(RCV, **by_key("NE", b"1")), op(RCV, b"a", b"1", **by_key("NE", b"2")),
    ],
    "equal entries": [dtaq(), op(SND, b"a"), op(SND, b"a"), op(RCV, b"a"), op(RCV, b"a")],
    "keys": [
        KEYED, op(SND, b"a", b"5"), op(SND, b"b", b"3"), op(SND, b"c", b"5"), op(RCV, **by_key("LT", b"3")),
        op(RCV, b"b", b"3", **by_key("NE", b"5")), op(RCV, b"a", b"5", **by_key("EQ", b"5", remove="*NO")),
        op(CLR, count=2, **by_key("GE", b"4")), op(RCV, **by_key("NE", b"9")),
    ],
    "a call that failed": [dtaq(), op(SND, b"", message="CPF2498"), op(RCV)],
    "given back": [dtaq(), op(SND, b"a"), op(RCV, b"a", waited=True), op("GIVEBACK", b"a"), op(SND, b"b"), op(RCV, b"a"),
                   op(RCV, b"b")],
    "renamed": [dtaq(), op(SND, b"a"), op("RNMOBJ", to="L/P"), JobEvent(RCV, JOB, "L/P", b"a", 0)],
    "QTEMP queues of two jobs": [
        JobEvent("CRTDTAQ", "1/A/A", "QTEMP/Q", b"", 0), JobEvent("CRTDTAQ", "1/A/B", "QTEMP/Q", b"", 0),
        JobEvent(SND, "1/A/A", "QTEMP/Q", b"a", 0), JobEvent(RCV, "1/A/B", "QTEMP/Q", b"", 0),
    ],
    "one send may be lost by the end of the process": [
        dtaq(force="*YES"), *AB, RESTART, dtaq(force="*YES", entries=[("61", "")]), op(RCV, b"a"),
    ],
    "FORCE(*NO) may lose all": [dtaq(), *AB, RESTART, dtaq(), op(RCV)],
}  # fmt: skip


@pytest.mark.parametrize("what", SOUND)
def test_a_sound_history_has_no_anomaly(what: str) -> None:
    check_history(SOUND[what], final={"L/Q": []}).check()


def test_entries_left_on_a_renamed_queue_are_told_by_its_new_name_only() -> None:
    assert check_history([dtaq(), op(SND, b"a"), op("RNMOBJ", to="L/P")]).left == {"L/P": 1}


def test_an_anomaly_of_a_keyed_entry_tells_its_key() -> None:
    for queue, key, told in ((KEYED, b"5", "'a' (key '5') was sent"), (dtaq(), b"", ": 'a' was sent")):
        assert told in str(check_history([queue, op(SND, b"a", key)], final={"L/Q": []}))


def test_what_came_before_the_history_is_no_anomaly() -> None:
    assert check_history([dtaq(), op(RCV, b"x")], complete=False).anomalies == ()


# -- histories of the simulator -----------------------------------------------------------------------------------

QUEUES: dict[str, dict[str, Any]] = {
    "FIFO": {}, "LIFO": {"seq": "*LIFO"}, "KEYED": {"seq": "*KEYED", "keylen": 1}, "FORCED": {"force": "*YES"},
}  # fmt: skip


def queues(job) -> None:
    for name, keywords in QUEUES.items():
        job.crtdtaq(dtaq=f"QGPL/{name}", maxlen=20, **keywords)


def everything(job, choice: random.Random, numbers) -> None:
    """Ten calls, any of them."""
    for _ in range(10):
        name = choice.choice(list(QUEUES))
        key = choice.choice([b"1", b"2", b"3"]) if name == "KEYED" else None
        order = choice.choice(["EQ", "NE", "LT", "LE", "GT", "GE"])
        what = choice.random()
        try:
            if what < 0.45:
                job.qsnddtaq(name, "QGPL", b"entry %d" % next(numbers), key)
            elif what < 0.8:
                job.qrcvdtaq(name, "QGPL", choice.choice([0, 0, 1, 30]), order, key, remove=choice.random() < 0.8)
            elif what < 0.84:
                job.qclrdtaq(name, "QGPL", order, key)
            elif what < 0.9:
                job.qmhqrdqd(name, "QGPL")
            elif what < 0.95 and key:
                job.qmhrdqm(name, "QGPL", "RDQM0200", RDQS0200(key, order))
            else:
                job.qsnddtaq(name, "QGPL", b"much too long for it " * 2, key)
        except EscapeMessage:
            pass


def soak(seed: int, histories: list[tuple[list[JobEvent], dict[str, list[bytes]]]]):
    choice, numbers = random.Random(seed), iter(range(100_000))

    def scenario(stage: Stage) -> None:
        system = stage.system()
        history = History().attach(system)
        with system.job() as job:
            queues(job)
            for _ in range(3):
                system.start(everything, choice, numbers)
            system.run()
            final = {queue.qualified: [one.data for one in queue.stored.entries()] for queue in system.queues()}
            histories.append((history.events, final))

    return scenario


@pytest.mark.parametrize("seed", range(5))
def test_histories_of_the_simulator_are_sound_in_every_order(seed: int) -> None:
    histories: list[tuple[list[JobEvent], dict[str, list[bytes]]]] = []
    explore(soak(seed, histories), 30, may_wait=True, minimise=False, seed=seed)
    assert len(histories) == 30
    kinds = Counter()
    for events, final in histories:
        check_history(events, final=final).check()
        kinds.update(event.kind for event in events)
    assert {SND, RCV, "WAIT", "QMHQRDQD"} <= kinds.keys()


def changed(events: list[JobEvent], what: str, at: random.Random) -> list[JobEvent] | None:
    """The history with one thing wrong in it, None where there is nothing to spoil."""
    received = [
        n for n, event in enumerate(events) if event.kind == RCV and event.data and not event.info.get("remove")
    ]
    sent = [n for n, event in enumerate(events) if event.kind == SND and event.data]
    taken = {(events[n].queue, events[n].data) for n in received}
    if what == "received twice" and received:
        n = at.choice(received)
        return [*events[: n + 1], events[n], *events[n + 1 :]]
    if what == "receive forgotten" and received:
        n = at.choice(received)
        return events[:n] + events[n + 1 :]
    if what == "send forgotten":
        sent = [n for n in sent if (events[n].queue, events[n].data) in taken]
        if sent:
            n = at.choice(sent)
            return events[:n] + events[n + 1 :]
    if what == "another entry" and received:
        n = at.choice(received)
        return [*events[:n], events[n]._replace(data=b"changed"), *events[n + 1 :]]
    if what == "nothing received" and received:
        n = at.choice(received)
        return [*events[:n], events[n]._replace(data=b"", key=b""), *events[n + 1 :]]
    return None


CHANGES = {
    "received twice": "duplicated", "receive forgotten": "lost", "send forgotten": "unexpected",
    "another entry": "unexpected", "nothing received": "lost",
}  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), what=st.sampled_from(sorted(CHANGES)))
def test_what_is_changed_in_a_sound_history_is_caught(seed: int, what: str) -> None:
    at = random.Random(seed)
    with System() as system, system.job() as job:
        history = History().attach(system)
        queues(job)
        numbers = iter(range(1000))
        for _ in range(3):
            everything(job, at, numbers)
        events = history.events
        final = {queue.qualified: [one.data for one in queue.stored.entries()] for queue in system.queues()}
    check_history(events, final=final).check()
    wrong = changed(events, what, at)
    if wrong is not None:
        kinds = {anomaly.kind for anomaly in check_history(wrong, final=final).anomalies}
        assert CHANGES[what] in kinds


def test_a_receive_that_waits_is_told_when_its_entry_comes() -> None:
    with System() as system, system.job(name="SENDER") as job:
        history = History().attach(system)
        job.crtdtaq(dtaq="QGPL/ORDERS", maxlen=10)
        system.start(lambda one: one.qrcvdtaq("ORDERS", "QGPL", -1), name="TAKER")
        system.dispatcher.run_ready()
        job.qsnddtaq("ORDERS", "QGPL", b"one")
        kinds = [(event.kind, event.job.rpartition("/")[2]) for event in history.of("QGPL/ORDERS")]
        assert kinds == [("CRTDTAQ", "SENDER"), ("WAIT", "TAKER"), (SND, "SENDER"), (RCV, "TAKER")]
        check_history(history.events, final={"QGPL/ORDERS": []}).check()


def test_an_entry_that_is_given_back_is_there_again() -> None:
    with System() as system, system.job() as job:
        history = History().attach(system)
        job.crtdtaq(dtaq="QGPL/ORDERS", maxlen=10)
        taker = system.start(lambda one: one.qrcvdtaq("ORDERS", "QGPL", -1))
        system.dispatcher.run_ready()

        def send_and_end(one) -> None:
            one.qsnddtaq("ORDERS", "QGPL", b"one")
            taker.job.end()

        system.start(send_and_end)
        system.run()
        assert [event.kind for event in history.of("QGPL/ORDERS")][-2:] == [RCV, "GIVEBACK"]
        check_history(history.events, final={"QGPL/ORDERS": [b"one"]}).check()


def test_locks_failures_and_journals_are_told(tmp_path: Path) -> None:
    with System() as system, system.job(name="ONE") as one, system.job(name="TWO", default_wait=1) as two:
        with History(path=tmp_path / "history.jsonl") as history:
            history.attach(system)
            one.crtdtaq(dtaq="QGPL/ORDERS", maxlen=10, force="*YES")
            one.crtjrn("QGPL/JRN")
            one.strjrnobj("QGPL/ORDERS", "QGPL/JRN")
            one.alcobj([("QGPL/ORDERS", "*EXCL")])
            with pytest.raises(EscapeMessage, match="CPF1002"):
                two.alcobj([("QGPL/ORDERS", "*EXCL")])
            with pytest.raises(EscapeMessage, match="CPF9801"):
                two.qrcvdtaq("NOTHERE", "QGPL")
            one.endjrnobj("QGPL/ORDERS")
            events = history.events
        seen = [(event.kind, event.message) for event in events]
        for expected in [("STRJRNOBJ", ""), ("ALCOBJ", ""), ("WAIT", ""), ("ALCOBJ", "CPF1002"), (RCV, "CPF9801")]:
            assert expected in seen
        made = next(event for event in events if event.kind == "CRTDTAQ")
        assert made.info["force"] == "*YES"
        assert load_history(tmp_path / "history.jsonl") == events


def test_a_system_that_was_started_again_is_checked_over_the_restart(tmp_path: Path) -> None:
    history = History()
    system = System(store=tmp_path / "store")
    history.attach(system)
    job = system.job()
    queues(job)
    for number in range(5):
        job.qsnddtaq("FORCED", "QGPL", b"%d" % number)
        job.qsnddtaq("FIFO", "QGPL", b"%d" % number)
    system.close(clean=False)
    with System(store=tmp_path / "store") as system, system.job() as job:
        history.attach(system)
        assert job.qrcvdtaq("FORCED", "QGPL").data == b"0"
        events = history.events
    check_history(events).check()
    spoilt = [event for event in events if event.kind != SND or event.data not in (b"1", b"2")]
    assert {anomaly.kind for anomaly in check_history(spoilt).anomalies} == {"unexpected"}


def test_queues_that_stand_when_recording_begins_are_known() -> None:
    with System() as system, system.job() as job:
        job.crtdtaq(dtaq="QGPL/ORDERS", maxlen=10)
        job.qsnddtaq("ORDERS", "QGPL", b"before")
        history = History().attach(system)
        job.qrcvdtaq("ORDERS", "QGPL")
        check_history(history.events, final={"QGPL/ORDERS": []}).check()
        history.detach()
        job.qsnddtaq("ORDERS", "QGPL", b"after")
        assert all(event.data != b"after" for event in history.events)
        assert system.recorder is None
        with System("OTHER") as other:
            assert history.attach(other).detach() is None


@pytest.mark.parametrize(
    "line",
    [
        '["DTAQ","","L/Q","",0,"","",{"entries":["zz"]}]',
        '["DTAQ","","L/Q","",0,"","",{"entries":[["61","6"]]}]',
        '["QRCVDTAQ","1/2/3","L/Q","",0,"","",{"key":"x"}]',
        '["QRCVDTAQ","1/2/3","L/Q","",0,"","",7]',
        '["QMHQRDQD","1/2/3","L/Q","",0,"","",{"messages":"many"}]',
        '["QUEUE",0,"Q","",0,"","","NORMAL",0,0,{"triggerlevel":true,"recovstatus":1}]',
        '["QUEUE",0,"Q","",0,"","","NORMAL",0,0,{"records":"61"}]',
        '["A","x","",""]',
        "[" * 100_000,
    ],
)
def test_a_line_that_is_no_event_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "h").write_text(line, "ascii")
    with pytest.raises(TdqError, match="h:1: this is not an event of a history"):
        load_history(tmp_path / "h")


lines = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["QUEUE", "DTAQ", "QRCVDTAQ", "", "61", "1/2/3"]),
    lambda inner: (
        st.lists(inner, max_size=8)
        | st.dictionaries(st.sampled_from(["records", "entries", "key", "to", "messages"]), inner, max_size=3)
    ),
)


@settings(max_examples=60, deadline=None)
@given(line=lines)
def test_any_line_is_an_event_or_refused(line, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.getbasetemp() / "any.jsonl"
    file.write_text(json.dumps(line) + "\n", "ascii")
    try:
        events = load_history(file)
    except TdqError:
        return
    check_history(events)
