"""Checks the history of a region with a model of each queue, and reports each difference.

The region may have been restarted within the history. The start type, TDINTRA and RECOVSTATUS determine the contents of
a queue after a restart. Only one outcome is not determined: a unit of work whose syncpoint had not returned when the
process ended may be committed or backed out, but it must be the same on all of its queues.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from tdqsim.testing._record_list import RecordList
from tdqsim.testing._rings import rings
from tdqsim.testing.events import Event
from tdqsim.testing.text import show_record

_FILE: Final = "FILE"
_ENDS: Final = frozenset({"COMMIT", "BACKOUT"})
_REQUESTS: Final = frozenset({"WRITEQ TD", "READQ TD", "DELETEQ TD"})
_FRESH: Final = frozenset({"INITIAL", "COLD"})
Report = Callable[[str, str, int, str], object]
"""Called with each anomaly: its kind, the queue, the number of the event, the text."""


class _Unit:
    """The uncommitted changes of one queue by one unit of work.

    ``own`` has the records that it wrote and then read itself. ``doubtful`` has the records that it had read before a
    restart, if it may have survived the restart indoubt: they are still on the queue.
    """

    __slots__ = ("deleted", "doubtful", "own", "reads", "written")

    def __init__(self) -> None:
        self.reads: list[bytes] = []
        self.doubtful: list[bytes] = []
        self.own: dict[bytes, None] = {}
        self.written = RecordList()
        self.deleted = False


class _Queue:
    """The model of one queue. Records that an unfinished unit of work has read are kept with the unit.

    Attributes:
        status, logical, level, facility: RECOVSTATUS, whether it is LOGICAL, TRIGGERLEVEL and ATIFACILITY.
        defined, startable: whether its transaction is defined; whether a task of it could be or was started.
        known: whether the history has the state of the queue.
        restarted: whether the region was restarted, and the state of the queue has not followed yet.
        deleting: whether the process ended during a DELETEQ.
        records: the committed records that have not been read.
        gone, backed_out: how often each record has left the queue permanently, and was backed out.
        units: the uncommitted changes by unit of work.
        readers: the units of work that have read records, in the order of their first read.
        last_reads: of a PHYSICAL queue, the last record read by each unit of work.
        latch, cycle: whether a trigger cycle is on; the number of the current or last cycle.
        early: whether a task was started before the event that explains the start.
        expected, missed: the events that reached the level and whose task is still expected, or was never started.
        starters: the tasks that a trigger has started and that have not ended, oldest first.
    """

    __slots__ = (
        "backed_out", "cycle", "defined", "deleting", "early", "expected", "facility", "gone", "known", "last_reads",
        "latch", "level", "logical", "missed", "name", "readers", "records", "restarted", "startable", "starters",
        "status", "units",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name = name
        self.status = "NO"
        self.logical = False
        self.level = 0
        self.facility = _FILE
        self.defined = True
        self.startable = False
        self.known = False
        self.restarted = False
        self.deleting = False
        self.records = RecordList()
        self.gone: Counter[bytes] = Counter()
        self.backed_out: Counter[bytes] = Counter()
        self.units: dict[str, _Unit] = {}
        self.readers: dict[str, None] = {}
        self.last_reads: dict[str, bytes] = {}
        self.latch = False
        self.cycle = 0
        self.early = False
        self.expected: deque[int] = deque()
        self.missed: list[int] = []
        self.starters: dict[int, None] = {}

    def unit(self, uow: str) -> _Unit:
        unit = self.units.get(uow)
        if unit is None:
            unit = self.units[uow] = _Unit()
        return unit

    @property
    def committed(self) -> int:
        """The number of committed records, including those that an unfinished unit of work has read."""
        return len(self.records) + sum(len(self.units[uow].reads) for uow in self.readers)

    def empty(self) -> None:
        self.gone.update(self.records.clear())

    def remove_all(self) -> None:
        """TDINTRA=EMPTY or DISCARD: remove all records, including those of unfinished and indoubt units of work."""
        self.empty()
        for unit in self.units.values():
            self.gone.update(unit.reads)
            self.backed_out.update(unit.written)
            self.backed_out.update(list(unit.own))
        self.units.clear()
        self.readers.clear()
        self.last_reads.clear()
        self.deleting = False

    def read_by_others(self, uow: str) -> list[bytes]:
        """The records that other unfinished units of work have read, in order."""
        if not self.readers or (len(self.readers) == 1 and uow in self.readers):
            return []
        return [data for other in self.readers if other != uow for data in self.units[other].reads]

    def forget_cycle(self) -> None:
        self.latch = self.early = False
        self.expected.clear()
        self.starters.clear()


class RegionChecker:
    """Checks the events of one region, in order.

    Args:
        report: called with each anomaly.
        complete: whether the history has no events missing at its beginning.
    """

    def __init__(self, report: Report, *, complete: bool) -> None:
        self.complete = complete
        self.written = self.read = 0
        self._report_to = report
        self._queues: dict[str, _Queue] = {}
        self._touched: dict[str, dict[str, None]] = {}
        self._qzero: dict[str, dict[str, int]] = {}
        self._emptied_by: dict[int, dict[str, int]] = {}
        self._writer_of: dict[tuple[str, bytes], str] = {}
        self._read_from: dict[str, set[str]] = {}
        self._committed_at: dict[str, int] = {}
        self._start = ""
        self._outcomes: dict[str, tuple[bool, str]] = {}
        self.index = 0

    @property
    def left(self) -> dict[str, int]:
        """The number of committed records that have not been read, by queue."""
        counts = {}
        for queue in self._queues.values():
            if count := queue.committed:
                counts[queue.name] = count
        return counts

    def _queue(self, name: str) -> _Queue:
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = _Queue(name)
        return queue

    def _report(self, kind: str, queue: _Queue, text: str, index: int | None = None) -> None:
        self._report_to(kind, queue.name, self.index if index is None else index, text)

    def follow(self, event: Event) -> None:
        """Check one event, and update the model."""
        kind = event.kind
        if kind in _REQUESTS:
            self._request(event)
        elif kind in _ENDS:
            self._unit_ended(event)
        elif kind == "QUEUE":
            self._queue_state(self._queue(event.queue), event)
        elif kind == "DISCARD TDQUEUE" and event.resp == "NORMAL":
            self._queue(event.queue).remove_all()
            self._queue(event.queue).forget_cycle()
        elif kind == "SEED":
            self._queue(event.queue).records.put(event.data)
            self.written += 1
        elif kind == "START" and event.queue:
            self._started(self._queue(event.queue), event)
        elif kind == "END":
            self._task_ended(event)
        elif kind == "RESTART":
            self._restarted(str(event.info.get("start", "")), emptied=event.info.get("tdintra") == "EMPTY")
        self.index += 1

    # -- states of queues -----------------------------------------------------------------------------------------

    def _queue_state(self, queue: _Queue, event: Event) -> None:
        info = event.info
        records = info.get("records")
        if queue.restarted and isinstance(records, list):
            self._compare_after_restart(queue, records)
        elif queue.known and int(info.get("triggerlevel", 0)) != queue.level and not (queue.starters or queue.expected):
            queue.latch = False  # SET of a trigger attribute ends a trigger cycle whose task has ended
        if not queue.known:
            queue.records.replace(records if isinstance(records, list) else [])
            self.complete = self.complete and records is not None
        if not queue.known or queue.restarted:
            queue.latch = bool(info.get("latch"))
        queue.known, queue.restarted = True, False
        queue.status = str(info.get("recovstatus", "NO"))
        queue.logical = queue.status == "LOGICAL"
        queue.level = int(info.get("triggerlevel", 0))
        queue.facility = str(info.get("atifacility", _FILE))
        queue.defined = bool(info.get("defined", True))
        queue.startable = queue.startable or bool(info.get("startable"))

    def _restarted(self, start: str, *, emptied: bool) -> None:
        """The region was restarted: its tasks are gone. Events with the state of its queues follow.

        Args:
            start: the start type.
            emptied: whether it was started with TDINTRA=EMPTY.
        """
        self._start = start
        self._outcomes.clear()
        self._qzero.clear()
        self._emptied_by.clear()
        if start in _FRESH:
            self._queues.clear()
        if emptied or start in _FRESH:
            self._touched.clear()
        for queue in self._queues.values():
            if emptied:
                queue.remove_all()
            queue.forget_cycle()
            queue.restarted = True

    def _compare_after_restart(self, queue: _Queue, there: list[bytes]) -> None:
        """Compare the model with the records on the queue after the restart, and continue with those."""
        if queue.status == "NO" and self._start == "EMERGENCY":
            queue.empty()
        if queue.status == "PHYSICAL":
            self._put_back_reads(queue, there)
            self._finish_unreturned_command(queue, there)
        present = set(there)
        for uow in tuple(queue.units):
            self._settle_unit(queue, uow, there, present)
        self._compare(queue, there, "after the restart")
        queue.records.replace(there)
        queue.last_reads.clear()

    @staticmethod
    def _put_back_reads(queue: _Queue, there: list[bytes]) -> None:
        """A restart puts back the last record that an unfinished unit of work had read from a PHYSICAL queue."""
        reads = Counter(queue.last_reads.values())
        missing = Counter(there) - Counter(queue.records)
        for data in reversed(there):
            if missing[data] > 0 and reads[data] > 0:
                missing[data] -= 1
                reads[data] -= 1
                queue.gone[data] -= 1
                queue.records.put_front(data)

    def _finish_unreturned_command(self, queue: _Queue, there: list[bytes]) -> None:
        """One command (a write, a read or a delete) may have been committed before it could return."""
        if queue.deleting and not there:
            queue.empty()
        queue.deleting = False
        if len(there) == len(queue.records) + 1:
            new = Counter(there) - Counter(queue.records)
            if new[there[-1]] and not queue.gone[there[-1]]:
                queue.records.put(there[-1])
                self.written += 1
        elif len(there) + 1 == len(queue.records) and list(queue.records)[1:] == there:
            queue.gone[queue.records.pop(queue.records.first() or 0)] += 1

    def _settle_unit(self, queue: _Queue, uow: str, there: list[bytes], present: set[bytes]) -> None:
        """Decide from the records whether an unfinished unit of work was backed out or committed, and apply that.

        It may be committed although its syncpoint has not returned.
        """
        unit = queue.units[uow]
        if unit.written:
            applied = next(iter(unit.written)) in present
        elif unit.reads:
            applied = there[:1] != unit.reads[:1]
        elif unit.deleted and queue.records:
            applied = not there
        else:
            return
        before = self._outcomes.setdefault(uow, (applied, queue.name))
        if before[0] != applied:
            done, not_done = (before[1], queue.name) if before[0] else (queue.name, before[1])
            self._report("half-committed", queue, f"unit of work {uow} is committed on {done}, and not on {not_done}")
        if applied:
            self._leave(queue, uow)
            self._commit(queue, unit)
            self._committed_at[uow] = self.index
        else:
            for data in reversed(unit.reads):
                queue.records.put_front(data)
            queue.readers.pop(uow, None)
            unit.doubtful, unit.reads = unit.doubtful + unit.reads, []

    def _leave(self, queue: _Queue, uow: str) -> None:
        queue.units.pop(uow, None)
        queue.readers.pop(uow, None)

    # -- requests -------------------------------------------------------------------------------------------------

    def _request(self, event: Event) -> None:
        queue = self._queue(event.queue)
        if not queue.known:
            return  # a data set, a remote queue, or a queue that was installed later
        kind, resp = event.kind, event.resp
        if kind == "WRITEQ TD":
            if resp == "NORMAL":
                self._write(queue, event)
        elif kind == "DELETEQ TD":
            if resp == "NORMAL":
                self._delete(queue, event)
            elif resp == "UNKNOWN":
                queue.deleting = True
        elif resp == "NORMAL":
            self._read(queue, event, event.data)
        elif resp == "LENGERR" and event.length:
            self._read(queue, event, self._whole(queue, event))
        elif resp == "QZERO":
            self._empty(queue, event)

    def _unit(self, queue: _Queue, uow: str) -> _Unit:
        self._touched.setdefault(uow, {})[queue.name] = None
        return queue.unit(uow)

    def _write(self, queue: _Queue, event: Event) -> None:
        if queue.logical:
            self._unit(queue, event.uow).written.put(event.data)
            self._writer_of[queue.name, event.data] = event.uow
            return
        queue.records.put(event.data)
        self.written += 1
        self._check_level(queue)

    def _lists_of(self, queue: _Queue, uow: str) -> tuple[RecordList, ...]:
        """The lists from which the next READQ takes its record: committed records, then those of the unit itself."""
        unit = queue.units.get(uow) if queue.logical else None
        if unit is None:
            return (queue.records,)
        return (unit.written,) if unit.deleted else (queue.records, unit.written)

    def _whole(self, queue: _Queue, event: Event) -> bytes:
        """The record that a READQ with LENGERR removed; its beginning and its true length are known."""
        for records in self._lists_of(queue, event.uow):
            for record in records:
                if len(record) == event.length and record.startswith(event.data):
                    return record
        return event.data

    def _read(self, queue: _Queue, event: Event, data: bytes) -> None:
        self.read += 1
        held = queue.read_by_others(event.uow)
        lists = self._lists_of(queue, event.uow)
        first = next((record for records in lists for record in records), None)
        there = any(data in records for records in lists)
        if held and not there and data in held:
            self._report(
                "duplicated", queue, f"{show_record(data)} was read by another unit of work that has not ended"
            )
            return
        if not there:
            self._report_unexpected(queue, event, data)
            return
        if held and data not in held:
            self._report("reordered", queue, f"{show_record(data)} was read before {show_record(held[0])} was removed")
        elif first != data:
            self._report("reordered", queue, f"{show_record(data)} was read before {show_record(first or b'')}")
        self._taken(queue, event.uow, data)

    def _taken(self, queue: _Queue, uow: str, data: bytes) -> None:
        """Remove a record that was read from the model."""
        if not queue.logical:
            queue.records.take(data)
            queue.gone[data] += 1
            if queue.status == "PHYSICAL":
                queue.last_reads[uow] = data
            return
        unit = self._unit(queue, uow)
        writer = self._writer_of.get((queue.name, data))
        if writer and writer != uow:
            self._read_from.setdefault(uow, set()).add(writer)
        if not unit.deleted and queue.records.take(data):
            unit.reads.append(data)
            queue.readers[uow] = None
        else:
            unit.written.take(data)
            unit.own[data] = None

    def _report_unexpected(self, queue: _Queue, event: Event, data: bytes) -> None:
        """Report a record that was not on the queue when it was read, with the most probable reason."""
        shown = show_record(data)
        foreign = [uow for uow, unit in queue.units.items() if uow != event.uow and data in unit.written]
        if foreign:
            self._report("read-uncommitted", queue, f"{shown} belongs to unit of work {foreign[0]}, not committed")
            self._read_from.setdefault(event.uow, set()).update(foreign)
            queue.units[foreign[0]].written.take(data)
        elif queue.backed_out[data]:
            self._report("phantom", queue, f"{shown} was written by a unit of work that was backed out")
        elif queue.gone[data] > 0 or self._has_read(queue, event.uow, data):
            self._report("duplicated", queue, f"{shown} was read before")
        elif self.complete:
            self._report("unexpected", queue, f"{shown} was read, but was never written")

    @staticmethod
    def _has_read(queue: _Queue, uow: str, data: bytes) -> bool:
        unit = queue.units.get(uow)
        return unit is not None and (data in unit.own or data in unit.reads)

    def _empty(self, queue: _Queue, event: Event) -> None:
        held = queue.read_by_others(event.uow)
        lists = self._lists_of(queue, event.uow)
        count = len(held) + sum(len(records) for records in lists)
        if count:
            first = held[0] if held else next(record for records in lists for record in records)
            self._report("lost", queue, f"QZERO while the queue has {count} records, first {show_record(first)}")
            if not queue.logical:
                queue.empty()
        self._note_empty(queue, event)

    def _delete(self, queue: _Queue, event: Event) -> None:
        if queue.logical:
            unit = self._unit(queue, event.uow)
            unit.deleted = True
            unit.written.clear()
        else:
            queue.empty()
        self._note_empty(queue, event)

    # -- units of work --------------------------------------------------------------------------------------------

    def _unit_ended(self, event: Event) -> None:
        committed = event.kind == "COMMIT"
        for name in self._touched.pop(event.uow, ()):
            queue = self._queues.get(name)
            unit = queue.units.get(event.uow) if queue is not None else None
            if queue is None or unit is None:
                continue
            self._leave(queue, event.uow)
            if committed:
                self._commit(queue, unit)
                continue
            for data in reversed(unit.reads):
                queue.records.put_front(data)
            queue.backed_out.update(unit.written)
            queue.backed_out.update(list(unit.own))
        emptied = self._qzero.pop(event.uow, None)
        if committed:
            self._committed_at[event.uow] = self.index
            if emptied:
                self._emptied_by.setdefault(event.task, {}).update(emptied)

    def _commit(self, queue: _Queue, unit: _Unit) -> None:
        queue.gone.update(unit.reads)
        queue.gone.update(list(unit.own))
        for data in unit.doubtful:
            if queue.records.take(data):
                queue.gone[data] += 1
        if unit.deleted:
            queue.empty()
        for data in unit.written:
            queue.records.put(data)
        self.written += len(unit.written)
        if unit.written:
            self._check_level(queue)

    # -- trigger cycles -------------------------------------------------------------------------------------------

    def _check_level(self, queue: _Queue) -> None:
        """The number of committed records has grown: compare it with the trigger level."""
        if not queue.level or queue.committed < queue.level or queue.latch:
            self._report_early_start(queue)
            return
        if queue.early:  # this event explains the start that came before it in the history
            queue.early = False
            queue.latch = True
            queue.cycle += 1
        elif queue.defined:
            queue.latch = True
            queue.cycle += 1
            queue.expected.append(self.index)

    def _report_early_start(self, queue: _Queue) -> None:
        if queue.early:
            queue.early = False
            self._report("trigger doubled", queue, f"a task was started with {queue.committed} records")

    def _started(self, queue: _Queue, event: Event) -> None:
        if not queue.known:
            return
        queue.startable = True
        if queue.expected:
            queue.expected.popleft()
        elif queue.latch and queue.facility != _FILE and not queue.starters:
            pass  # the same cycle continues: a task for a terminal is started again until QZERO
        elif queue.latch:
            self._report("trigger doubled", queue, f"task {event.task} was started while a cycle is on")
        elif queue.early:
            self._report("trigger doubled", queue, f"task {event.task} is a second task for the same cycle")
        else:
            queue.early = True  # the start may precede in the history the WRITEQ or commit that caused it
        queue.starters.pop(event.task, None)
        queue.starters[event.task] = None

    def _note_empty(self, queue: _Queue, event: Event) -> None:
        """After QZERO or DELETEQ the cycle is over; for a logically recoverable queue only when the task has ended."""
        if queue.logical:
            self._qzero.setdefault(event.uow, {})[queue.name] = queue.cycle
        else:
            self._over(queue)

    def _over(self, queue: _Queue) -> None:
        if queue.facility == _FILE:  # a start for a terminal may come later, when the terminal is free
            self._missed(queue)
        queue.latch = False

    @staticmethod
    def _missed(queue: _Queue) -> None:
        queue.missed += queue.expected
        queue.expected.clear()

    def _task_ended(self, event: Event) -> None:
        for name, cycle in self._emptied_by.pop(event.task, {}).items():
            if self._queue(name).cycle == cycle:  # else a new cycle has begun since the QZERO
                self._over(self._queue(name))
        queue = self._queues.get(event.queue)
        if queue is None or event.task not in queue.starters:
            return
        newest = next(reversed(queue.starters)) == event.task  # only the task of the current cycle can end it
        del queue.starters[event.task]
        if queue.facility == _FILE and queue.latch and newest and not queue.expected:
            self._over(queue)

    # -- the end --------------------------------------------------------------------------------------------------

    def finish(self, final: Mapping[str, Iterable[bytes]] | None) -> None:
        """Compare the model with the records on the queues at the end."""
        self._circular()
        for queue in self._queues.values():
            if queue.facility == _FILE:
                self._missed(queue)
            for index in queue.missed if queue.startable else ():
                self._report("trigger missed", queue, "the level was reached, and no task was started", index)
            self._report_early_start(queue)
            if final is not None and queue.name in final:
                for uow in tuple(queue.readers):
                    for data in reversed(queue.units[uow].reads):
                        queue.records.put_front(data)
                queue.readers.clear()
                self._compare(queue, list(final[queue.name]), "at the end")

    def _compare(self, queue: _Queue, there: list[bytes], when: str) -> None:
        wanted = list(queue.records)
        if wanted == there:
            return
        missing, more = Counter(wanted) - Counter(there), Counter(there) - Counter(wanted)
        for record in missing.elements():
            self._report("lost", queue, f"{show_record(record)} was written and never read, and is missing {when}")
        for record in more.elements():
            kind = "phantom" if queue.backed_out[record] else "duplicated" if queue.gone[record] > 0 else "unexpected"
            if kind == "unexpected" and any(record in unit.written for unit in queue.units.values()):
                kind = "read-uncommitted"
            if kind != "unexpected" or self.complete:
                self._report(kind, queue, f"{show_record(record)} is there {when}")
        if not missing and not more:
            self._report("reordered", queue, f"the records {when} are not in the order in which they were written")

    def _circular(self) -> None:
        """Report units of work of which each has read what another one wrote, in a ring."""
        edges = {
            uow: [writer for writer in writers if writer in self._committed_at]
            for uow, writers in self._read_from.items()
            if uow in self._committed_at
        }
        for ring in rings(edges):
            last = max(ring, key=self._committed_at.__getitem__)
            name = next((name for (name, _), writer in self._writer_of.items() if writer == last), "")
            text = f"units of work {', '.join(sorted(ring))} each read what depends on its own writes"
            self._report_to("circular", name, self._committed_at[last], text)
