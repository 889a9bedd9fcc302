"""History: records every operation of a region or an IBM i system, in memory or in a file of JSON lines.

A history is a recorder, not a hook: requests keep their short path, and add one tuple to the record.
:mod:`~tdqsim.testing.checker` finds what is wrong in a history, and a failing test shows its last lines.

The events of a region (:attr:`~tdqsim.testing.events.Event.kind`)
    a command's name      its result or condition; ``data`` is the record that was written or read. ``info`` has the
                          ``resource`` of a command for a file, a program or a transaction
    ``QUEUE``             the state of a queue when recording began, or after SET, CREATE or DISCARD; see ``info``
    ``SEED``              a record put on a queue outside any task
    ``COMMITTING``        the commit of a unit of work that has used a logically recoverable queue begins
    ``COMMIT`` ``BACKOUT``  the end of such a unit of work
    ``WAIT``              a task begins to wait inside a command; ``info`` has ``what`` it waits for in words, its
                          ``kind`` and ``name`` as INQUIRE TASK shows them, and its ``holder``
    ``GOES ON``           the wait is over
    ``START`` ``END``     a task was attached, has ended; a trigger task names its queue
    ``RESTART``           the region was restarted, and this history attached; ``info`` has start type and TDINTRA

The events of a system (:attr:`~tdqsim.testing.events.JobEvent.kind`)
    an API's or command's name  when it takes effect; a receive that waited, when it gets its entry. QRCVDTAQ without
                                data received nothing; ``remove`` is *NO if the entry stayed. A failure has its message
    ``DTAQ``                    the state of a data queue when recording began, with its entries in ``info``
    ``WAIT``                    a job begins to wait for an entry, or for a lock
    ``GIVEBACK``                an entry was put back: the job that should have got it could not use it
    ``JOB`` ``ENDJOB``          a job has started, has ended
    ``RESTART``                 the system was restarted, and this history attached again

:mod:`~tdqsim.testing.events` describes the format. Formatting a line takes about as long as the request itself, so
lines are formatted and written in batches of ``batch`` events, or at ``flush()`` or ``close()``. A killed process loses
the events that are not written yet. With ``batch=1`` none are lost, but each request takes the additional time of its
line.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Self

from tdqsim.cics import Condition, Region
from tdqsim.cics.inspection.state import QueueState, intra_states
from tdqsim.cics.internals import TaskInternals, clock_of, core_of
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.queues.state_table import final_target
from tdqsim.core.codepage import codepage
from tdqsim.core.symbolic_links import stays_here
from tdqsim.errors import UsageError, WrongValue
from tdqsim.faults.hooks import recorded
from tdqsim.report.flows import resource_of
from tdqsim.testing import _lazy_modules
from tdqsim.testing.events import AnyEvent, Event, Events, JobEvent, RawEvent, encode, format_head
from tdqsim.testing.text import show_record

if TYPE_CHECKING:
    from tdqsim.cics import Task, UnitOfWork
    from tdqsim.cics.model.region import RegionData
    from tdqsim.ibmi import System
    from tdqsim.testing.checker import Verdict

WRITEQ, READQ, DELETEQ = "WRITEQ TD", "READQ TD", "DELETEQ TD"
_QUEUE_COMMANDS: Final = frozenset({WRITEQ, READQ, DELETEQ})
_CHANGING: Final = ("SET TDQUEUE", "CREATE TDQUEUE", "DISCARD TDQUEUE")
_BATCH: Final = 20_000
_LARGEST_QUEUE: Final = 100_000
_STANDS: Final = ("QUEUE", "DTAQ")
_SHORT: Final = 5
_SWIFT: Final = 7


class History:
    """Records the events of one region or system while it is attached.

    Args:
        limit: the number of events kept in memory, the newest.
        path: a file to which all events are also written; an existing file is replaced.
        batch: the number of events written to the file at a time; a killed process can lose up to ``batch - 1`` events.

    Attributes:
        trace: see :class:`tdqsim.cics.Recorder` and :class:`tdqsim.ibmi.SystemRecorder`.
    """

    def __init__(self, limit: int = 100_000, *, path: Path | str | None = None, batch: int = _BATCH) -> None:
        if limit < 1 or batch < 1:
            raise WrongValue(f"limit {limit}, batch {batch}: at least 1 event must be kept, and written at a time")
        self._ring: deque[RawEvent] = deque(maxlen=limit)
        self._batch: list[RawEvent] = []
        self._file: IO[str] | None = None
        if path is not None:
            self._file = stays_here(path).open("w", encoding="ascii")
            self._file.write(format_head("history"))
        self._region: Region | None = None
        self._system: System | None = None
        self._again = False
        self._stands: dict[str, dict[str, object]] = {}
        self.trace: Callable[[RawEvent], object] = self._ring.append if path is None else self._to_file(batch)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # -- attaching ------------------------------------------------------------------------------------------------

    def attach(self, target: Region | System) -> Self:
        """Begin to record a region or a system, or continue with one that was restarted.

        Raises:
            UsageError: it has a recorder already, or this history records another region or system.
        """
        present = self._region or self._system
        if recorded(target).recorder is not None or (present is not None and not present.closed):
            name = target.applid if isinstance(target, Region) else target.name
            raise UsageError(f"{name} is recorded already, or this history has another; detach first")
        self.detach()
        recorded(target).recorder = self
        if isinstance(target, Region):
            self._begin_region(target)
        else:
            self._begin_system(target)
        self._again = True
        return self

    def _begin_region(self, region: Region) -> None:
        self._region = region
        self._stands.clear()
        if self._again:
            info = {"start": region.recovery.start_type, "tdintra": region.options.tdintra}
            self.trace(("RESTART", 0, "", b"", region.clock.time_ns(), "", "", "NORMAL", 0, 0, info))
        for state in intra_states(core_of(region)):
            self._queue_stands(region, state)

    def _begin_system(self, system: System) -> None:
        self._system = system
        now = system.clock.time_ns()
        if self._again:
            info = {"start": "NORMAL" if system.store.closed_clean else "ABNORMAL"}
            self.trace(("RESTART", "", "", b"", now, b"", "", info))
        for queue in system.queues():
            facts = system.state_of(queue).keywords()
            if not queue.ddm and queue.stored.count <= _LARGEST_QUEUE:
                facts["entries"] = [(entry.data.hex(), entry.key.hex()) for entry in queue.stored.entries()]
            self.trace(("DTAQ", "", queue.qualified, b"", now, b"", "", facts))

    def detach(self) -> None:
        """Stop recording; the events are kept."""
        for target in (self._region, self._system):
            if target is not None and recorded(target).recorder is self:
                recorded(target).recorder = None
        self._region = self._system = None

    def close(self) -> None:
        """Stop recording, and write the remaining events to the file."""
        self.detach()
        if self._file is not None:
            self.flush()
            self._file.close()
            self._file = None
            self.trace = self._ring.append

    # -- reading events -------------------------------------------------------------------------------------------

    @property
    def dropped(self) -> int:
        """1 if events may be missing at the beginning because there were more than ``limit``, else 0."""
        return int(len(self._kept()) == self._ring.maxlen)

    @property
    def events(self) -> Events:
        """The events in memory, oldest first: ``Event`` for a region, ``JobEvent`` for a system.

        While the history is attached to a region, they end with the present state of its queues.
        """
        if self._region is not None and not self._region.closed:
            self._queues_changed(self._region)
        return [event_of(raw) for raw in self._kept()]

    def of(self, queue: str, limit: int | None = None) -> Events:
        """The last events of a queue, oldest first, without the ends of units of work and tasks."""
        events: deque[AnyEvent] = deque(maxlen=limit)
        events.extend(event_of(raw) for raw in self._kept() if raw[2] == queue and raw[0] not in _STANDS)
        return list(events)

    def _kept(self) -> deque[RawEvent]:
        self.flush()
        return self._ring

    def last_commands(self, task: int, most: int) -> list[str]:
        """The last events of a task of the region as text, at most ``most``, the newest last."""
        found: deque[str] = deque()
        for raw in reversed(self._kept()):
            if raw[1] == task:
                found.appendleft(event_of(raw).line())
            if len(found) == most or raw[:2] == ("START", task):
                break
        return list(found)

    def story(self, queue: str, record: bytes) -> Events:
        """The events of the records with these bytes on a queue, with the ends of their units of work."""
        return story_of(self.events, queue, record)

    def check(self) -> Verdict:
        """Check the events in memory, and compare them with the records now on the queues.

        In a long test, attach one history to a region or system, again after each restart, and check at the end.

        Raises:
            AssertionError: there are anomalies; the text lists them.
        """
        return _lazy_modules.checker.check_history(self.events, final=self._there(), complete=not self.dropped).check()

    def _there(self) -> dict[str, list[bytes]]:
        """The records on the queues of the recorded region or system."""
        if self._region is not None and not self._region.closed:
            return {state.name: list(state.records) for state in intra_states(core_of(self._region), records=True)}
        if self._system is not None and not self._system.closed:
            queues = (queue for queue in self._system.queues() if not queue.ddm)
            return {queue.qualified: [one.data for one in queue.stored.entries()] for queue in queues}
        return {}

    def lines(self, limit: int | None = None) -> list[str]:
        """The last events as text, one a line."""
        show = self.show
        events = self.events
        return [event.line(show) for event in (events if limit is None else events[-limit:])]

    def show(self, record: bytes) -> str:
        """A record as text, in the code page of the region or system."""
        page = self._region.options.code_page if self._region is not None else None
        return show_record(record, page if self._system is None else codepage(self._system.ccsid))

    def save(self, path: Path | str) -> None:
        """Write the events in memory to a file."""
        lines = (f"{event.as_json()}\n" for event in self.events)
        stays_here(path).write_text("".join((format_head("history"), *lines)), "ascii")

    # -- as a region's recorder -----------------------------------------------------------------------------------

    def command(self, task: Task, command: str, arguments: Mapping[str, object], outcome: object) -> None:
        """See :class:`tdqsim.cics.Recorder`."""
        region = task.region
        now = region.clock.time_ns()
        uow = _uow_id(task)
        queue = self._queue_of(core_of(region), command, arguments)
        resource = "" if queue else resource_of(command, arguments)
        info = {"resource": resource} if resource else {}
        if isinstance(outcome, Condition):
            resp, length = outcome.resp.name, outcome.length or 0
            data = _written(arguments) if command == WRITEQ else outcome.data or b""
            self.trace((command, task.number, queue, data, now, task.transid, uow, resp, outcome.resp2, length, info))
            return
        data = b""
        if command == WRITEQ:
            data = _written(arguments)
        elif command == READQ and isinstance(outcome, bytes):
            data = outcome
        if info:
            self.trace((command, task.number, queue, data, now, task.transid, uow, "NORMAL", 0, 0, info))
        else:
            self.trace((command, task.number, queue, data, now, task.transid, uow))
        if command in _CHANGING and self._region is not None:
            self._queues_changed(self._region)

    def task_waits(self, task: Task, what: str, holder: str) -> None:
        """See :class:`tdqsim.cics.Recorder`."""
        kind, name = TaskInternals(task).suspended or ("", "")
        info = {"what": what, "kind": kind, "name": name, **({"holder": holder} if holder else {})}
        self._of_wait("WAIT", task, info)

    def task_goes_on(self, task: Task) -> None:
        """See :class:`tdqsim.cics.Recorder`."""
        self._of_wait("GOES ON", task, {})

    def _of_wait(self, kind: str, task: Task, info: Mapping[str, str]) -> None:
        uow = _uow_id(task)
        now = task.region.clock.time_ns()
        self.trace((kind, task.number, "", b"", now, task.transid, uow, "NORMAL", 0, 0, info))

    def unit_of_work_ends(self, uow: UnitOfWork) -> None:
        """See :class:`tdqsim.cics.Recorder`."""
        if uow.locks:
            self.trace(("COMMITTING", uow.taskid, "", b"", clock_of(uow).time_ns(), uow.transid, uow.id))

    def unit_of_work_ended(self, uow: UnitOfWork, *, committed: bool) -> None:
        """See :class:`tdqsim.cics.Recorder`."""
        if uow.locks:
            kind = "COMMIT" if committed else "BACKOUT"
            self.trace((kind, uow.taskid, "", b"", clock_of(uow).time_ns(), uow.transid, uow.id))

    def task_started(self, task: Task) -> None:
        """See :class:`tdqsim.cics.Recorder`."""
        request = TaskInternals(task).request
        queue = request.queue.name if request is not None else ""
        info = {"facility": request.facility, "cycle": request.queue.cycle} if request is not None else {}
        now = task.region.clock.time_ns()
        self.trace(("START", task.number, queue, b"", now, task.transid, "", "NORMAL", 0, 0, info))

    def task_ended(self, task: Task, *, normal: bool) -> None:
        """See :class:`tdqsim.cics.Recorder`."""
        request = TaskInternals(task).request
        queue = request.queue.name if request is not None else ""
        info = {} if normal else {"abend": task.abcode or "yes"}
        now = task.region.clock.time_ns()
        self.trace(("END", task.number, queue, b"", now, task.transid, "", "NORMAL", 0, 0, info))

    def seeded(self, queue: str, records: Sequence[bytes | str]) -> None:
        """See :class:`tdqsim.cics.Recorder`."""
        region = self._region
        if region is None:
            return
        target = final_target(core_of(region), queue.rstrip(" ")).name
        now = region.clock.time_ns()
        for record in records:
            data = region.encode(record) if isinstance(record, str) else bytes(record)
            self.trace(("SEED", 0, target, data, now))

    @staticmethod
    def _queue_of(region: RegionData, command: str, arguments: Mapping[str, object]) -> str:
        name = arguments.get("queue", arguments.get("tdqueue"))
        if not isinstance(name, str) or command == "START":  # whose QUEUE is a name for the started task
            return ""
        name = name.rstrip(" ")
        if command not in _QUEUE_COMMANDS or arguments.get("sysid"):
            return name
        try:
            return str(final_target(region, name).name)
        except Condition:
            return name

    def _queues_changed(self, region: Region) -> None:
        for state in intra_states(core_of(region)):
            self._queue_stands(region, state)

    def _queue_stands(self, region: Region, state: QueueState) -> None:
        """Record the attributes of a queue that the checker needs."""
        entry = region.resources.transactions.get(state.transid)
        info: dict[str, object] = {
            "recovstatus": state.recovstatus,
            "triggerlevel": state.level,
            "atifacility": state.atifacility,
            "defined": entry is not None and entry.definition.remotesystem in ("", region.options.sysid),
            "startable": entry is not None and not entry.why_not(),
        }
        if info == self._stands.get(state.name):
            return
        first = state.name not in self._stands
        self._stands[state.name] = info
        if first:
            info = {**info, "latch": state.cycle}
            if 0 <= state.numitems <= _LARGEST_QUEUE:
                info["records"] = list(region.peek(state.name))
        self.trace(("QUEUE", 0, state.name, b"", region.clock.time_ns(), "", "", "NORMAL", 0, 0, info))

    # -- the file -------------------------------------------------------------------------------------------------

    def _to_file(self, limit: int) -> Callable[[RawEvent], None]:
        """The function that is called with each event; it does as little as possible."""
        batch = self._batch

        def trace(raw: RawEvent) -> None:
            batch.append(raw)
            if len(batch) >= limit:
                self.flush()

        return trace

    def flush(self) -> None:
        """Write the events that are not in the file yet."""
        batch = self._batch
        if self._file is not None and batch:
            self._ring.extend(batch)
            self._file.write(_lines(batch))
            self._file.flush()
            batch.clear()


def story_of(events: Iterable[AnyEvent], queue: str, record: bytes) -> Events:
    """The events that concern a record: see :meth:`History.story`."""
    story: list[AnyEvent] = []
    units: set[str] = set()
    for event in events:
        if event.queue == queue and event.data == record:
            story.append(event)
            units |= {event.uow} - {""} if isinstance(event, Event) else set()
        elif isinstance(event, Event) and event.kind in ("COMMIT", "BACKOUT") and event.uow in units:
            story.append(event)
    return story


def _uow_id(task: Task) -> bytes:
    uow = TaskInternals(task).unit
    return b"" if uow is None else uow.id


def _written(arguments: Mapping[str, object]) -> bytes:
    data, length = arguments.get("from_"), arguments.get("length")
    if not isinstance(data, bytes | bytearray | memoryview):
        return b""
    record = bytes(data)
    return record if not isinstance(length, int) or length < 0 else record[:length]


class _Made(dict[Any, str]):
    """Names and numbers as JSON, each formatted once for a batch."""

    def __init__(self, make: Callable[[Any], str]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, value: Any) -> str:
        self[value] = made = self._make(value)
        return made


def _lines(batch: Iterable[RawEvent]) -> str:
    """The lines of the file; events of the two most common forms are formatted by a fast path."""
    lines, names, units = [], _Made(encode), _Made(bytes.hex)
    for raw in batch:
        if len(raw) == _SWIFT and type(raw[1]) is int:
            kind, task, queue, data, time_ns, transid, uow = raw
            lines.append(f'["{kind}",{task},{names[queue]},"{data.hex()}",{time_ns},{names[transid]},"{units[uow]}"]\n')
        elif len(raw) == _SHORT:
            kind, task, queue, data, time_ns = raw
            lines.append(f'["{kind}",{names[task]},{names[queue]},"{data.hex()}",{time_ns}]\n')
        else:
            lines.append(f"{event_of(raw).as_json()}\n")
    return "".join(lines)


def event_of(raw: RawEvent) -> AnyEvent:
    """The event of a tuple that the recorder received."""
    if isinstance(raw[1], str):
        return JobEvent(*raw)
    event = Event(*raw)
    uow: object = event.uow
    return event if not isinstance(uow, bytes) else event._replace(uow=uow.hex())
