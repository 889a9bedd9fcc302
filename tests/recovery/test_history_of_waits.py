"""A region's history says who waited for whom, and when commits began."""

from __future__ import annotations

from pathlib import Path

from tdqsim import Region
from tdqsim.cics import Task
from tdqsim.definitions import define_tdqueue
from tdqsim.testing import History, load_history

QUEUES = [define_tdqueue(name=name, type="INTRA", recovstatus="LOGICAL") for name in ("AAAA", "BBBB")]


def write(task: Task, queue: str = "AAAA") -> None:
    task.writeq_td(queue, b"one")
    task.suspend()


def read(task: Task) -> bytes:
    return task.readq_td("AAAA")


def told(history: History, *kinds: str) -> list[tuple[str, str]]:
    return [(event.kind, event.transid) for event in history.events if event.kind in kinds]


def test_a_wait_for_a_lock_names_who_has_it(tmp_path: Path) -> None:
    with (
        Region(QUEUES, supplied_queues=False) as region,
        History(path=tmp_path / "history.jsonl").attach(region) as history,
    ):
        first = region.start(write, transid="FRST")
        second = region.start(write, transid="SCND")
        region.run()
        assert first.done
        assert second.done
        waits = [event for event in history.events if event.kind == "WAIT"]
        assert [(event.transid, event.info["kind"], event.info["name"]) for event in waits] == [
            ("SCND", "ENQUEUE", "TDNQ")
        ]
        assert "FRST" in waits[0].info["holder"]
        assert told(history, "WAIT", "GOES ON", "COMMITTING", "COMMIT") == [
            ("WAIT", "SCND"), ("COMMITTING", "FRST"), ("COMMIT", "FRST"), ("GOES ON", "SCND"),
            ("COMMITTING", "SCND"), ("COMMIT", "SCND"),
        ]  # fmt: skip
        history.check()
        kept = [event.kind for event in history.events]
    assert [event.kind for event in load_history(tmp_path / "history.jsonl")] == kept


def test_a_reader_waits_for_the_commit_of_a_writer() -> None:
    with Region(QUEUES, supplied_queues=False) as region, History().attach(region) as history:
        region.start(write, transid="WRTR")
        reader = region.start(read, transid="READ")
        assert reader.result() == b"one"
        found = next(event for event in history.events if event.kind == "WAIT")
        assert (found.transid, found.info["kind"], found.info["name"]) == ("READ", "TD_READ", "AAAA")
        assert "WRTR" in found.info["holder"]


def test_commits_that_are_shared_begin_before_any_of_them_ends(tmp_path: Path) -> None:
    with (
        Region(QUEUES, supplied_queues=False, store=tmp_path / "store", durability="power") as region,
        History().attach(region) as history,
    ):
        region.start(write, "AAAA", transid="FRST")
        region.start(write, "BBBB", transid="SCND")
        region.run()
        assert [kind for kind, _ in told(history, "COMMITTING", "COMMIT")] == ["COMMITTING"] * 2 + ["COMMIT"] * 2


def test_a_backout_does_not_begin_to_commit() -> None:
    with Region(QUEUES, supplied_queues=False) as region, History().attach(region) as history:
        with region.task() as task:
            task.writeq_td("AAAA", b"one")
            task.syncpoint_rollback()
        assert [kind for kind, _ in told(history, "COMMITTING", "COMMIT", "BACKOUT")] == ["BACKOUT"]
