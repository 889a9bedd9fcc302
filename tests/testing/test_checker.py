"""Each anomaly is found in a history that has it planted; histories of the simulator have none."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from tdqsim import Region, Resp, TdqError, define_tdqueue, define_terminal, define_transaction
from tdqsim.errors import UsageError
from tdqsim.testing import Event, History, Stage, check_history, explore, load_history
from tdqsim.testing._record_list import RecordList
from tdqsim.testing.history import story_of

W, R, D = "WRITEQ TD", "READQ TD", "DELETEQ TD"


def queue(name: str = "Q", recovstatus: str = "NO", level: int = 0) -> Event:
    info = {"recovstatus": recovstatus, "triggerlevel": level, "atifacility": "FILE", "startable": True, "records": []}
    return Event("QUEUE", 0, name, b"", 0, info=info)


def op(kind: str, data: bytes = b"", task: int = 1, *, uow: str = "", resp: str = "NORMAL", name: str = "Q") -> Event:
    return Event(kind, task, name, data, 0, uow=uow, resp=resp)


def end(kind: str, uow: str) -> Event:
    return Event(kind, 1, "", b"", 0, uow=uow)


LOGICAL = queue(recovstatus="LOGICAL")
START, END = Event("START", 9, "Q", b"", 0), Event("END", 9, "Q", b"", 0)
PLANTED = {
    "lost": [queue(), op(W, b"a"), op(R, resp="QZERO")],
    "lost at the end": [queue(), op(W, b"a"), op(W, b"b"), op(R, b"a")],
    "duplicated": [queue(), op(W, b"a"), op(W, b"b"), op(R, b"a"), op(R, b"a"), op(R, b"b")],
    "duplicated by two": [
        LOGICAL, op(W, b"a", uow="1"), end("COMMIT", "1"), op(R, b"a", uow="2"), op(R, b"a", uow="3"),
        end("COMMIT", "2"), end("COMMIT", "3"),
    ],
    "reordered": [queue(), op(W, b"a"), op(W, b"b"), op(R, b"b"), op(R, b"a")],
    "unexpected": [queue(), op(R, b"x")],
    "read-uncommitted": [LOGICAL, op(W, b"a", uow="1"), op(R, b"a", uow="2"), end("COMMIT", "2"), end("BACKOUT", "1")],
    "phantom": [LOGICAL, op(W, b"a", uow="1"), end("BACKOUT", "1"), op(R, b"a", uow="2"), end("COMMIT", "2")],
    "circular": [
        LOGICAL, queue("P", "LOGICAL"), op(W, b"a", uow="1"), op(W, b"b", uow="2", name="P"), op(R, b"b", uow="1", name="P"),
        op(R, b"a", uow="2"), end("COMMIT", "1"), end("COMMIT", "2"),
    ],
    "trigger missed": [queue(level=2), op(W, b"a"), op(W, b"b"), op(R, b"a"), op(R, b"b")],
    "trigger doubled": [queue(level=1), op(W, b"a"), START, START._replace(task=10), op(R, b"a", 9)],
    "trigger doubled below": [queue(level=3), op(W, b"a"), START, op(W, b"b"), op(R, b"a", 9), op(R, b"b", 9)],
}  # fmt: skip


def test_no_start_is_missed_of_a_queue_that_was_discarded() -> None:
    reached = [queue(level=2), op(W, b"a"), op(W, b"b")]
    again = [op("DISCARD TDQUEUE"), queue(level=2), op(W, b"c"), op(R, b"c")]
    assert check_history([*reached, *again], final={"Q": []}).anomalies == ()


@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_anomaly_is_found(what: str) -> None:
    verdict = check_history(PLANTED[what], final={"Q": []})
    kind = next(kind for kind in ("trigger missed", "trigger doubled", what.partition(" ")[0]) if what.startswith(kind))
    found = Counter(anomaly.kind for anomaly in verdict.anomalies)
    assert found[kind] == 1, str(verdict)
    others = found.keys() - {kind}
    allowed = {"read-uncommitted"} if what == "circular" else set()
    assert others <= allowed, str(verdict)
    with pytest.raises(AssertionError, match=kind):
        verdict.check()


@pytest.mark.parametrize(
    ("what", "events"),
    [
        ("unexpected", [LOGICAL, op(W, b"a", uow="1"), op(R, b"a", uow="1"), end("COMMIT", "1")]),
        ("read-uncommitted", [LOGICAL, op(W, b"x", uow="1")]),
        ("phantom", [LOGICAL, op(W, b"x", uow="1"), end("BACKOUT", "1")]),
        ("duplicated", [LOGICAL, op(W, b"x", uow="1"), end("COMMIT", "1"), op(R, b"x", uow="2"), end("COMMIT", "2")]),
    ],
)
def test_a_record_that_is_there_at_the_end_and_should_not_be(what: str, events: list[Event]) -> None:
    verdict = check_history(events, final={"Q": [b"x"]})
    assert [anomaly.kind for anomaly in verdict.anomalies] == [what]


SOUND = {
    "fifo": [queue(), op(W, b"a"), op(W, b"b"), op(R, b"a"), op(R, b"b"), op(R, resp="QZERO")],
    "own writes": [LOGICAL, op(W, b"a", uow="1"), op(R, b"a", uow="1"), end("COMMIT", "1")],
    "backout": [
        LOGICAL, op(W, b"a", uow="1"), end("COMMIT", "1"), op(R, b"a", uow="2"), end("BACKOUT", "2"),
        op(R, b"a", uow="3"), end("COMMIT", "3"),
    ],
    "deleted": [queue(), op(W, b"a"), op(D), op(R, resp="QZERO"), op(W, b"a"), op(R, b"a")],
    "cut off": [queue(), op(W, b"abc"), Event(R, 1, "Q", b"a", 0, resp="LENGERR", length=3)],
    "cycle": [queue(level=1), op(W, b"a"), START, op(R, b"a", 9), op(R, b"", 9, resp="QZERO"), END, op(W, b"b"),
              START._replace(task=10), op(R, b"b", 10)],
    "cycle over by the end of its task": [queue(level=1), op(W, b"a"), START, END, op(W, b"b"), START, op(R, b"a", 9),
                                          op(R, b"b", 9), END],
}  # fmt: skip


@pytest.mark.parametrize("what", SOUND)
def test_a_sound_history_has_no_anomaly(what: str) -> None:
    check_history(SOUND[what], final={"Q": []}).check()


def test_what_came_before_the_history_is_no_anomaly() -> None:
    events = [queue(), op(R, b"x")]
    assert check_history(events, complete=False).anomalies == ()


DEFINITIONS = [
    define_tdqueue(name="NOQ", type="INTRA", transid="PAYP", triggerlevel=3, atifacility="FILE"),
    define_tdqueue(
        name="LOGQ", type="INTRA", recovstatus="LOGICAL", transid="PAYP", triggerlevel=2, atifacility="FILE"
    ),
    define_tdqueue(name="TERM", type="INTRA", transid="PAYP", triggerlevel=2, facilityid="T001"),
    define_tdqueue(name="PHYQ", type="INTRA", recovstatus="PHYSICAL"),
    define_transaction(name="PAYP"),
    define_terminal(name="T001"),
]
NAMES = ("NOQ", "LOGQ", "TERM", "PHYQ")


def soak(seed: int, histories: list[tuple[list[Event], dict[str, list[bytes]]]]):
    """A scenario of tasks that do anything."""
    choice = random.Random(seed)
    numbers = iter(range(10_000))

    def handler(task) -> None:
        for _ in range(choice.choice([1, 2, 50])):
            task.readq_td(task.assign("QNAME"), nohandle=True)
            if task.eib.eibresp is Resp.QZERO:
                return

    def anything(task) -> None:
        for _ in range(12):
            name, what = choice.choice(NAMES), choice.random()
            if what < 0.5:
                task.writeq_td(name, b"record %d" % next(numbers))
            elif what < 0.8:
                task.readq_td(name, choice.choice([None, None, 8]), nohandle=True, nosuspend=True)
            elif what < 0.85 and name != "LOGQ":
                task.deleteq_td(name)
            elif what < 0.98:
                choice.choice([task.syncpoint, task.syncpoint_rollback])()
            else:
                raise ZeroDivisionError

    def scenario(stage: Stage) -> None:
        region = stage.region(DEFINITIONS)
        history = History().attach(region)
        region.seed("NOQ", [b"seeded 1", b"seeded 2"])
        region.register("PAYP", handler)
        for _ in range(3):
            region.start(anything)
        region.run()
        histories.append((history.events, {name: region.peek(name) for name in NAMES}))

    return scenario


@pytest.mark.parametrize("name", ["TERM", "NOQ"])
def test_a_set_of_the_level_while_the_task_runs_is_no_anomaly(name: str) -> None:
    def read_one(task) -> None:
        task.delay(seconds=5)
        task.readq_td(name, nohandle=True)

    with Region(DEFINITIONS, supplied_queues=False) as region:
        history = History().attach(region)
        region.register("PAYP", read_one)
        for number in range(3):
            region.writeq_td(name, b"%d" % number)
        region.set_tdqueue(name, triggerlevel=1)
        region.writeq_td(name, b"more")
        region.run()
        check_history(history.events, final={name: region.peek(name)}).check()


def test_what_was_on_a_discarded_queue_is_not_lost() -> None:
    queue = define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL")
    with Region([queue], supplied_queues=False) as region:
        history = History().attach(region)
        region.writeq_td("LOGQ", b"went with the queue")
        region.set_tdqueue("LOGQ", enablestatus="DISABLED")
        region.discard_tdqueue("LOGQ")
        region.install([queue])
        region.writeq_td("LOGQ", b"is there")
        verdict = history.check()
        assert [event.queue for event in history.events if event.kind.endswith(" TDQUEUE")] == ["LOGQ", "LOGQ"]
    assert verdict.left == {"LOGQ": 1}


@pytest.mark.parametrize("seed", range(5))
def test_histories_of_the_simulator_are_sound_in_every_order(seed: int) -> None:
    histories: list[tuple[list[Event], dict[str, list[bytes]]]] = []
    explore(soak(seed, histories), 40, allow_abends=["*"], may_wait=True, minimise=False, seed=seed)
    assert histories
    for events, final in histories:
        check_history(events, final=final).check()


def test_a_file_holds_what_the_ring_holds(tmp_path: Path) -> None:
    with Region(DEFINITIONS, supplied_queues=False) as region:
        region.seed("NOQ", [b"\x00\xff"])
        with History(path=tmp_path / "history.jsonl") as history:
            history.attach(region)
            region.writeq_td("NOQ", b"short way")
            with region.task() as task:
                task.writeq_td("LOGQ", b"long way")
                task.readq_td("NOQ")
            events = history.events
        history.save(tmp_path / "saved.jsonl")
        assert load_history(tmp_path / "history.jsonl") == events == load_history(tmp_path / "saved.jsonl")
        kinds = [event.kind for event in events if event.kind != "QUEUE"]
        assert kinds == [W, W, R, "COMMITTING", "COMMIT", "END"]
        check_history(events, final={name: region.peek(name) for name in NAMES}).check()


def test_histories_that_were_put_together_are_read_and_those_of_another_format_are_not(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    with History(path=file):
        pass
    assert file.read_text("ascii") == '{"format": 1}\n'
    event = '["READQ TD",1,"Q","",0]\n'
    file.write_text(f'{{"format": 1}}\n{event}{{"format": 1}}\n{event}', "ascii")
    assert load_history(file) == [Event("READQ TD", 1, "Q", b"", 0)] * 2
    file.write_text(f'{event}{{"format": 2}}\n', "ascii")
    with pytest.raises(TdqError, match=r'history\.jsonl:2: .*{"format": 2}; this tdqsim reads format 1'):
        load_history(file)


@pytest.mark.parametrize("line", ["{", "[]", "7", '["READQ TD",1,"Q","zz",0]', '["READQ TD","x","Q","",0]'])
def test_a_line_that_is_no_event_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "history.jsonl").write_text(f'["READQ TD",1,"Q","",0]\n{line}\n', "ascii")
    with pytest.raises(TdqError, match=r"history\.jsonl:2: this is not an event"):
        load_history(tmp_path / "history.jsonl")


def test_a_ring_keeps_the_newest() -> None:
    with Region(DEFINITIONS, supplied_queues=False) as region:
        history = History(3).attach(region)
        for number in range(5):
            region.writeq_td("PHYQ", b"%d" % number)
        assert [event.data for event in history.of("PHYQ")] == [b"2", b"3", b"4"]
        assert history.dropped
        with pytest.raises(TdqError, match="recorded already"):
            History().attach(region)
        history.detach()
        region.writeq_td("PHYQ", b"5")
        assert [event.data for event in history.of("PHYQ")] == [b"2", b"3", b"4"]


def test_a_history_tells_from_which_event_on_some_may_be_missing_and_records_one_region_at_a_time(
    tmp_path: Path,
) -> None:
    queue = define_tdqueue(name="ONLY", type="INTRA")
    with Region([queue], supplied_queues=False) as region, Region([queue], supplied_queues=False) as other:
        history = History(3, path=tmp_path / "history.jsonl").attach(region)  # one event: the state of the queue
        region.writeq_td("ONLY", b"1")
        assert not history.dropped
        region.writeq_td("ONLY", b"2")
        assert history.dropped
        with pytest.raises(TdqError, match="this history has another"):
            history.attach(other)
        history.close()
        history.attach(other)  # in memory from now on
        other.writeq_td("ONLY", b"3")
        assert [event.data for event in history.of("ONLY")][-1] == b"3"
        assert [event.data for event in load_history(tmp_path / "history.jsonl")][1:] == [b"1", b"2"]


def test_a_history_that_was_cut_to_nothing_is_refused(tmp_path):
    (tmp_path / "history.jsonl").write_bytes(b"")
    with pytest.raises(UsageError, match=r'history\.jsonl: the file is empty; a history begins with \{"format":'):
        load_history(tmp_path / "history.jsonl")


def test_the_story_of_a_record_has_the_ends_of_all_units_of_work_that_used_it() -> None:
    events = [
        op(W, b"a", uow="1"),
        op(W, b"a", uow="2"),
        op(W, b"b", uow="3"),
        *(end("COMMIT", each) for each in "123"),
    ]
    assert [each.uow for each in story_of(events, "Q", b"a")] == ["1", "2", "1", "2"]


def test_what_a_history_holds_back_is_in_its_file_when_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    with Region([define_tdqueue(name="Q", type="INTRA")]) as region, History(path=path) as history:
        history.attach(region)
        region.writeq_td("Q", b"abcd", length=2)
    assert [each.data for each in load_history(path) if each.kind == W] == [b"ab"]


def test_equal_records_keep_their_places() -> None:
    records = RecordList()
    first, _other, second, third = (records.put(each) for each in (b"a", b"b", b"a", b"a"))
    assert (records.find(b"a"), records.find(b"a", last=True)) == (first, third)
    assert [records.pop(each) for each in (first, second)] == [b"a", b"a"]
    for ticket in (second, first):  # a backout puts the last one back first
        records.put_back(ticket, b"a")
    assert (records.find(b"a"), records.find(b"a", last=True)) == (first, third)
    assert [records.take(b"a") for _ in range(4)] == [True, True, True, False]
    assert b"a" not in records
    records.put(b"a")
    records.pop(records.put(b"a"))
    records.put_front(b"a")
    assert records.find(b"a") == -1
    records.pop(records.find(b"a", last=True) or 0)
    records.pop(-1)
    assert b"a" not in records
