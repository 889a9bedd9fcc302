"""Is this history one that queues could have? The checker knows what queues promise and nothing of how they are made.

It follows a history event by event with lists: what is committed on each queue, what each unit of work has read and
written, whether a trigger cycle is on. Where the history differs it names an anomaly, takes the history's word for it,
and goes on. It shares no code with the simulator, and works as well on what a real region did.

===================== ================================================================================================
anomaly               what the history shows
===================== ================================================================================================
lost                  QZERO while a committed record was there; or a record that nobody read is not there at the end
duplicated            a record was read again
reordered             a record was read before one that was written earlier
unexpected            a record was read that nobody wrote
read-uncommitted      a record was read that another unit of work had written and not committed
phantom               a record was read that had been written by a unit of work that was backed out
circular              units of work that each saw what the other wrote
trigger missed        the level was reached, and no task was started
trigger doubled       a task was started while a cycle was on, or below the level
===================== ================================================================================================

Records are told apart by what is in them, so give test records contents of their own. Where equal records make two
readings possible, the harmless one is taken. In the manner of Jepsen's total-queue checker and of Elle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from tdqsim.testing.history import DELETEQ, READQ, WRITEQ, Event
from tdqsim.testing.text import show_record

__all__ = ["Anomaly", "Verdict", "check_history"]

_FILE: Final = "FILE"


class Anomaly(NamedTuple):
    """One thing that should not have happened.

    Attributes:
        kind: see the module's text.
        queue: where.
        event: number of the event in the history, from 0; the number of events for what shows at the end.
        text: in words.
    """

    kind: str
    queue: str
    event: int
    text: str

    def __str__(self) -> str:
        """One line."""
        return f"{self.kind} on {self.queue} at event {self.event}: {self.text}"


class Verdict(NamedTuple):
    """What came of a check.

    Attributes:
        anomalies: what is wrong, in the order of the history.
        written, read: records that were written and committed, and read.
        left: records that are still there, by queue.
        complete: whether the history was there from its beginning.
    """

    anomalies: tuple[Anomaly, ...]
    written: int
    read: int
    left: Mapping[str, int]
    complete: bool

    def check(self) -> Verdict:
        """Raise AssertionError when anything is wrong."""
        assert not self.anomalies, str(self)
        return self

    def __str__(self) -> str:
        """A summary, and the anomalies."""
        counts = Counter(anomaly.kind for anomaly in self.anomalies)
        found = ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "no anomaly"
        left = sum(self.left.values())
        head = f"{self.written} records written, {self.read} read, {left} left: {found}"
        return "\n".join([head, *(f"  {anomaly}" for anomaly in self.anomalies)])


class _Unit:
    """What one unit of work has done to one queue."""

    def __init__(self) -> None:
        self.reads: list[bytes] = []
        self.written: list[bytes] = []
        self.deleted = False


class _Queue:
    """One queue as the history makes it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.logical = False
        self.level = 0
        self.facility = _FILE
        self.defined = True
        self.startable = False
        self.known = False
        self.records: list[bytes] = []
        self.gone: Counter[bytes] = Counter()
        self.backed_out: Counter[bytes] = Counter()
        self.units: dict[str, _Unit] = {}
        self.latch = False
        self.early = False
        self.expected: list[int] = []
        self.missed: list[int] = []
        self.starters: list[int] = []

    def unit(self, uow: str) -> _Unit:
        return self.units.setdefault(uow, _Unit())


class _Checker:
    def __init__(self, *, complete: bool) -> None:
        self.complete = complete
        self.queues: dict[str, _Queue] = {}
        self.anomalies: list[Anomaly] = []
        self.written = self.read = 0
        self.qzero: dict[str, set[str]] = {}
        self.emptied_by: dict[int, set[str]] = {}
        self.writer_of: dict[tuple[str, bytes], str] = {}
        self.seen: dict[str, set[str]] = {}
        self.index = 0

    def queue(self, name: str) -> _Queue:
        found = self.queues.get(name)
        if found is None:
            found = self.queues[name] = _Queue(name)
        return found

    def report(self, kind: str, queue: _Queue, text: str, index: int | None = None) -> None:
        self.anomalies.append(Anomaly(kind, queue.name, self.index if index is None else index, text))

    def follow(self, event: Event) -> None:
        """Take one event."""
        if event.kind == "QUEUE":
            self._stands(self.queue(event.queue), event)
        elif event.kind == "SEED":
            queue = self.queue(event.queue)
            queue.records.append(event.data)
            self.written += 1
        elif event.kind in (READQ, WRITEQ, DELETEQ):
            self._request(event)
        elif event.kind in ("COMMIT", "BACKOUT"):
            self._unit_ended(event)
        elif event.kind == "START" and event.queue:
            self._started(self.queue(event.queue), event)
        elif event.kind == "END":
            self._task_ended(event)
        self.index += 1

    def _stands(self, queue: _Queue, event: Event) -> None:
        info = event.info
        if queue.known and int(info.get("triggerlevel", 0)) != queue.level:
            queue.latch = False  # SET of a trigger attribute gives a cycle up
        if not queue.known:
            queue.records = list(info.get("records", ()))
            queue.latch = bool(info.get("latch"))
            self.complete = self.complete and "records" in info
        queue.known = True
        queue.logical = info.get("recovstatus") == "LOGICAL"
        queue.level = int(info.get("triggerlevel", 0))
        queue.facility = str(info.get("atifacility", _FILE))
        queue.defined = bool(info.get("defined", True))
        queue.startable = queue.startable or bool(info.get("startable"))

    # -- requests -------------------------------------------------------------------------------------------------

    def _request(self, event: Event) -> None:
        queue = self.queue(event.queue)
        if not queue.known:
            return  # a data set, a remote queue, or one that came later
        if event.kind == WRITEQ and event.resp == "NORMAL":
            self._write(queue, event)
        elif event.kind == READQ and event.resp == "NORMAL":
            self._read(queue, event, event.data)
        elif event.kind == READQ and event.resp == "LENGERR" and event.length:
            self._read(queue, event, self._whole(queue, event))
        elif event.kind == READQ and event.resp == "QZERO":
            self._empty(queue, event)
        elif event.kind == DELETEQ and event.resp == "NORMAL":
            self._delete(queue, event)

    def _write(self, queue: _Queue, event: Event) -> None:
        if queue.logical:
            queue.unit(event.uow).written.append(event.data)
            self.writer_of[queue.name, event.data] = event.uow
            return
        queue.records.append(event.data)
        self.written += 1
        self._counted(queue)

    def _available(self, queue: _Queue, uow: str) -> list[bytes]:
        """What the next READQ may give, in order: the committed records it has not read, then its own."""
        if not queue.logical:
            return queue.records
        unit = queue.unit(uow)
        committed = [] if unit.deleted else queue.records[len(unit.reads) :]
        return committed + unit.written

    def _whole(self, queue: _Queue, event: Event) -> bytes:
        """The record that a READQ with LENGERR took: what fits of it and its length are known."""
        for record in self._available(queue, event.uow):
            if len(record) == event.length and record.startswith(event.data):
                return record
        return event.data

    def _read(self, queue: _Queue, event: Event, data: bytes) -> None:
        self.read += 1
        available = self._available(queue, event.uow)
        if self._has_another(queue, event.uow, data):
            self.report("duplicated", queue, f"{show_record(data)} was read by another unit of work that has not ended")
        elif available[:1] == [data]:
            self._taken(queue, event.uow, 0, data)
        elif data in available:
            at = available.index(data)
            self.report("reordered", queue, f"{show_record(data)} was read before {show_record(available[0])}")
            self._taken(queue, event.uow, at, data)
        else:
            self._strange(queue, event, data)

    @staticmethod
    def _has_another(queue: _Queue, uow: str, data: bytes) -> bool:
        """Whether a unit of work that has not ended has read every committed record with these bytes."""
        read = sum(unit.reads.count(data) for other, unit in queue.units.items() if other != uow)
        return read > 0 and read >= queue.records.count(data)

    def _taken(self, queue: _Queue, uow: str, at: int, data: bytes) -> None:
        if not queue.logical:
            queue.gone[queue.records.pop(at)] += 1
            return
        unit = queue.unit(uow)
        committed = 0 if unit.deleted else len(queue.records) - len(unit.reads)
        writer = self.writer_of.get((queue.name, data))
        if writer and writer != uow:
            self.seen.setdefault(uow, set()).add(writer)
        if at < committed:
            queue.records.insert(len(unit.reads), queue.records.pop(len(unit.reads) + at))
            unit.reads.append(data)
        else:
            unit.written.pop(at - committed)

    def _strange(self, queue: _Queue, event: Event, data: bytes) -> None:
        """A record that could not be read: say why, as well as it can be known."""
        shown = show_record(data)
        foreign = [uow for uow, unit in queue.units.items() if uow != event.uow and data in unit.written]
        if foreign:
            self.report("read-uncommitted", queue, f"{shown} belongs to unit of work {foreign[0]}, not committed")
            self.seen.setdefault(event.uow, set()).update(foreign)
            queue.units[foreign[0]].written.remove(data)
        elif queue.backed_out[data]:
            self.report("phantom", queue, f"{shown} was written by a unit of work that was backed out")
        elif queue.gone[data] or (queue.logical and data in queue.unit(event.uow).reads):
            self.report("duplicated", queue, f"{shown} was read before")
        elif self.complete:
            self.report("unexpected", queue, f"{shown} was read, and nobody wrote it")

    def _empty(self, queue: _Queue, event: Event) -> None:
        available = self._available(queue, event.uow)
        if available:
            self.report(
                "lost", queue, f"QZERO while {len(available)} records are there, first {show_record(available[0])}"
            )
            if not queue.logical:
                for record in queue.records:
                    queue.gone[record] += 1
                queue.records.clear()
        self._over_now_or_later(queue, event)

    def _delete(self, queue: _Queue, event: Event) -> None:
        if queue.logical:
            unit = queue.unit(event.uow)
            unit.deleted = True
            unit.written.clear()
        else:
            for record in queue.records:
                queue.gone[record] += 1
            queue.records.clear()
        self._over_now_or_later(queue, event)

    # -- units of work --------------------------------------------------------------------------------------------

    def _unit_ended(self, event: Event) -> None:
        for queue in self.queues.values():
            unit = queue.units.pop(event.uow, None)
            if unit is None:
                continue
            if event.kind == "COMMIT":
                self._committed(queue, unit)
            else:
                for record in unit.written:
                    queue.backed_out[record] += 1
        emptied = self.qzero.pop(event.uow, set())
        if event.kind == "COMMIT":
            self.emptied_by.setdefault(event.task, set()).update(emptied)
            self._circular(event)

    def _committed(self, queue: _Queue, unit: _Unit) -> None:
        gone = len(queue.records) if unit.deleted else len(unit.reads)
        for record in queue.records[:gone]:
            queue.gone[record] += 1
        del queue.records[:gone]
        queue.records += unit.written
        self.written += len(unit.written)
        if unit.written:
            self._counted(queue)

    def _circular(self, event: Event) -> None:
        """Whether units of work have each seen what the other wrote, round in a ring."""
        ring, reached = [event.uow], set[str]()
        while ring:
            for writer in self.seen.get(ring.pop(), ()):
                if writer == event.uow:
                    queue = next(iter(self.queues.values()))
                    self.report("circular", queue, f"unit of work {event.uow} saw what depends on its own writes")
                    del self.seen[event.uow]
                    return
                if writer not in reached:
                    reached.add(writer)
                    ring.append(writer)

    # -- trigger cycles -------------------------------------------------------------------------------------------

    def _counted(self, queue: _Queue) -> None:
        """The moment at which the trigger level is looked at."""
        if not queue.level or len(queue.records) < queue.level or queue.latch:
            self._too_early(queue)
            return
        if queue.early:
            queue.early = False
            queue.latch = True
        elif queue.defined:
            queue.latch = True
            queue.expected.append(self.index)

    def _too_early(self, queue: _Queue) -> None:
        if queue.early:
            queue.early = False
            self.report("trigger doubled", queue, f"a task was started with {len(queue.records)} records")

    def _started(self, queue: _Queue, event: Event) -> None:
        if not queue.known:
            return
        queue.startable = True
        if queue.expected:
            queue.expected.pop(0)
        elif queue.latch and queue.facility != _FILE and not queue.starters:
            pass  # the same cycle goes on: a task for a terminal is started again until QZERO
        elif queue.latch:
            self.report("trigger doubled", queue, f"task {event.task} was started while a cycle is on")
        else:
            queue.early = True  # the history may name the start before the WRITEQ or commit that brought it about
        queue.starters.append(event.task)

    def _over_now_or_later(self, queue: _Queue, event: Event) -> None:
        """QZERO or DELETEQ: the cycle is over; on a logically recoverable queue once the task has ended."""
        if queue.logical:
            self.qzero.setdefault(event.uow, set()).add(queue.name)
        else:
            self._over(queue)

    def _over(self, queue: _Queue) -> None:
        if queue.facility == _FILE:  # a start for a terminal may have to wait, and comes all the same
            self._missed(queue)
        queue.latch = False

    def _missed(self, queue: _Queue) -> None:
        queue.missed += queue.expected
        queue.expected.clear()

    def _task_ended(self, event: Event) -> None:
        for name in self.emptied_by.pop(event.task, ()):
            self._over(self.queue(name))
        queue = self.queues.get(event.queue)
        if queue is None or event.task not in queue.starters:
            return
        newest = queue.starters[-1] == event.task  # the end of a task of an earlier cycle says nothing of this one
        queue.starters.remove(event.task)
        if queue.facility == _FILE and queue.latch and newest and not queue.expected:
            self._over(queue)

    # -- the end --------------------------------------------------------------------------------------------------

    def finish(self, final: Mapping[str, Iterable[bytes]] | None) -> None:
        """Compare with what is there at the end."""
        for queue in self.queues.values():
            if queue.facility == _FILE:
                self._missed(queue)
            for index in queue.missed if queue.startable else ():
                self.report("trigger missed", queue, "the level was reached, and no task was started", index)
            self._too_early(queue)
            if final is not None and queue.name in final:
                self._compare(queue, list(final[queue.name]))

    def _compare(self, queue: _Queue, there: list[bytes]) -> None:
        missing, more = Counter(queue.records) - Counter(there), Counter(there) - Counter(queue.records)
        for record in missing.elements():
            self.report("lost", queue, f"{show_record(record)} was written and never read, and is not there")
        for record in more.elements():
            kind = "phantom" if queue.backed_out[record] else "duplicated" if queue.gone[record] else "unexpected"
            self.report(kind, queue, f"{show_record(record)} is there at the end")
        if not missing and not more and there != queue.records:
            self.report("reordered", queue, "the records at the end are not in the order in which they were written")


def check_history(
    events: Iterable[Event], *, final: Mapping[str, Iterable[bytes]] | None = None, complete: bool = True
) -> Verdict:
    """Say what is wrong in a history.

    Args:
        events: ``history.events``, or what :func:`~tdqsim.testing.history.load_history` gives.
        final: the committed records that are on the queues at the end, by queue; None does not compare.
        complete: False when the history's beginning is missing; records that come from nowhere are then no anomaly.
    """
    checker = _Checker(complete=complete)
    for event in events:
        checker.follow(event)
    checker.finish(final)
    left = {queue.name: len(queue.records) for queue in checker.queues.values() if queue.records}
    return Verdict(tuple(checker.anomalies), checker.written, checker.read, left, checker.complete)
