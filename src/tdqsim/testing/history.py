"""History: every operation of a region written down, in a ring in memory or in a file of JSON lines.

A history is a region's recorder, not its hook: requests go on taking the short way, and what is written down there is
one tuple. :mod:`~tdqsim.testing.checker` says what is wrong in a history, and a failing test shows its last lines.

What becomes an event (:attr:`Event.kind`)
    a command's name      what it returned or its condition; ``data`` is the record written or read
    ``QUEUE``             a queue as it stood when recording began, or after SET, CREATE or DISCARD; see ``info``
    ``SEED``              a record put on a queue outside any task
    ``COMMIT`` ``BACKOUT``  the end of a unit of work that did anything to a logically recoverable queue
    ``START`` ``END``     a task was attached, has ended; a trigger task names its queue

In a file each line is an array in the order of the event's attributes, cut off behind the last that says anything; data
is hexadecimal. Lines are made and written many at a time, since to make one costs as much as to do the request: events
wait as they came, ``batch`` of them, and a killed process loses those that wait. ``flush()`` writes them at once.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, Self

from tdqsim.cics import Condition, Region
from tdqsim.cics.checks import final_target
from tdqsim.cics.queues import IntraQueue
from tdqsim.errors import TdqError
from tdqsim.testing.text import show_record

if TYPE_CHECKING:
    from tdqsim.cics import Task, UnitOfWork

__all__ = ["READQ", "WRITEQ", "DELETEQ", "Event", "History", "load_history"]  # noqa: RUF022  (as one says them)

WRITEQ, READQ, DELETEQ = "WRITEQ TD", "READQ TD", "DELETEQ TD"
_QUEUE_COMMANDS: Final = frozenset({WRITEQ, READQ, DELETEQ})
_CHANGING: Final = ("SET TDQUEUE", "CREATE TDQUEUE", "DISCARD TDQUEUE")
_BATCH: Final = 1024
_LARGEST_QUEUE: Final = 100_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SHORT: Final = 5
_SWIFT: Final = 7
_ENCODE: Final = json.JSONEncoder(separators=(",", ":")).encode


class Event(NamedTuple):
    """One thing that happened.

    Attributes:
        kind: see the module's text.
        task: number of the task; 0 for none.
        queue: the queue, aliases followed; empty for none.
        data: the record.
        time_ns: when, on the region's clock.
        transid: the task's transaction, where the event has it.
        uow: the unit of work, as hexadecimal; empty for none.
        resp: name of the condition.
        resp2: RESP2.
        length: the record's true length when ``data`` was cut off (LENGERR); 0 otherwise.
        info: what only some kinds have, by name.
    """

    kind: str
    task: int
    queue: str
    data: bytes
    time_ns: int
    transid: str = ""
    uow: str = ""
    resp: str = "NORMAL"
    resp2: int = 0
    length: int = 0
    info: Mapping[str, Any] = {}

    def line(self, show: Callable[[bytes], str] = repr) -> str:
        """The event for people, on one line."""
        moment = _EPOCH + timedelta(microseconds=self.time_ns // 1000)
        who = f"task {self.task}{f' {self.transid}' if self.transid else ''}" if self.task else "-"
        words = [f"{moment:%H:%M:%S.%f}", f"{who:<14}", self.kind, self.queue]
        if self.data:
            words.append(show(self.data))
        if self.resp != "NORMAL":
            words.append(self.resp if not self.resp2 else f"{self.resp} RESP2 {self.resp2}")
        words += [f"{name}={value}" for name, value in self.info.items() if name != "records"]
        return " ".join(word for word in words if word)

    def as_json(self) -> str:
        """The event as a line of a file."""
        values: list[Any] = [*self]
        values[3] = self.data.hex()
        if isinstance(self.info.get("records"), list):
            values[10] = {**self.info, "records": [record.hex() for record in self.info["records"]]}
        while values[-1] == _DEFAULTS[len(values) - 1] and len(values) > _SHORT:
            values.pop()
        return _ENCODE(values)


_DEFAULTS: Final = ["", 0, "", b"", 0, "", "", "NORMAL", 0, 0, {}]


class History:
    """What happens in one region, as long as it is attached.

    Args:
        limit: so many events are kept in memory, the newest.
        path: a file that gets all of them, beside the ring; it is replaced.
        batch: so many events are written to the file at a time, 1 for each at once: what a killed process can lose.

    Attributes:
        trace: see :class:`tdqsim.cics.Recorder`.
        count: how many events there were, those no longer kept included.
    """

    def __init__(self, limit: int = 100_000, *, path: Path | str | None = None, batch: int = _BATCH) -> None:
        if limit < 1 or batch < 1:
            raise ValueError(f"limit {limit}, batch {batch}: at least 1 event must be kept, and written at a time")
        self._ring: deque[tuple[Any, ...]] = deque(maxlen=limit)
        self._batch: list[tuple[Any, ...]] = []
        self._file: IO[str] | None = Path(path).open("w", encoding="ascii") if path is not None else None  # noqa: SIM115
        self._region: Region | None = None
        self._stands: dict[str, dict[str, Any]] = {}
        self.trace: Callable[[tuple[Any, ...]], object] = self._ring.append if path is None else self._to_file(batch)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # -- attaching ------------------------------------------------------------------------------------------------

    def attach(self, region: Region) -> Self:
        """Begin to record a region.

        Raises:
            TdqError: it is recorded already, or this history records another.
        """
        if region.recorder is not None or self._region is not None:
            raise TdqError(f"region {region.applid} is recorded already, or this history has another; detach first")
        self._region = region
        region.recorder = self
        for queue in region.intra_queues():
            self._queue_stands(region, queue)
        return self

    def detach(self) -> None:
        """Record no more; the events stay."""
        region, self._region = self._region, None
        if region is not None and region.recorder is self:
            region.recorder = None

    def close(self) -> None:
        """Record no more, and write what is left to the file."""
        self.detach()
        if self._file is not None:
            self.flush()
            self._file.close()
            self._file = None
            self.trace = self._ring.append

    # -- what there is --------------------------------------------------------------------------------------------

    @property
    def dropped(self) -> int:
        """How many events may be missing at the beginning: 1 when the ring has been full, else 0."""
        return int(len(self._kept()) == self._ring.maxlen)

    @property
    def events(self) -> list[Event]:
        """The events that are kept, oldest first; while it is attached, how the queues stand now at the end."""
        if self._region is not None and not self._region.closed:
            self._queues_changed(self._region)
        return [_event(raw) for raw in self._kept()]

    def of(self, queue: str, limit: int | None = None) -> list[Event]:
        """The last events of a queue, oldest first, ends of units of work and tasks not among them."""
        found: deque[Event] = deque(maxlen=limit)
        found.extend(_event(raw) for raw in self._kept() if raw[2] == queue and raw[0] != "QUEUE")
        return list(found)

    def _kept(self) -> deque[tuple[Any, ...]]:
        self.flush()
        return self._ring

    def story(self, queue: str, record: bytes) -> list[Event]:
        """What happened to the records of a queue that hold these bytes, the ends of their units of work included."""
        found: list[Event] = []
        units: set[str] = set()
        for event in self.events:
            if event.queue == queue and event.data == record:
                found.append(event)
                units |= {event.uow} - {""}
            elif event.kind in ("COMMIT", "BACKOUT") and event.uow in units:
                found.append(event)
        return found

    def lines(self, limit: int | None = None) -> list[str]:
        """The last events for people."""
        show = self._show
        events = self.events
        return [event.line(show) for event in (events if limit is None else events[-limit:])]

    def _show(self, record: bytes) -> str:
        return show_record(record, self._region.codepage if self._region is not None else None)

    def save(self, path: Path | str) -> None:
        """Write the events that are kept to a file."""
        Path(path).write_text("".join(f"{event.as_json()}\n" for event in self.events), "ascii")

    # -- as a region's recorder -----------------------------------------------------------------------------------

    def command(self, task: Task, command: str, arguments: Mapping[str, Any], outcome: object) -> None:
        """See :class:`tdqsim.cics.Recorder`."""
        region = task.region
        now = region.clock.time_ns()
        uow = task.uow.id if task.has_uow else b""
        queue = self._queue_of(region, command, arguments) if "queue" in arguments else ""
        if isinstance(outcome, Condition):
            resp, length = outcome.resp.name, outcome.length or 0
            data = _written(arguments) if command == WRITEQ else outcome.data or b""
            self.trace((command, task.number, queue, data, now, task.transid, uow, resp, outcome.resp2, length, {}))
            return
        data = b""
        if command == WRITEQ:
            data = _written(arguments)
        elif command == READQ and isinstance(outcome, bytes):
            data = outcome
        self.trace((command, task.number, queue, data, now, task.transid, uow))
        if command in _CHANGING:
            self._queues_changed(region)

    def unit_of_work_ended(self, uow: UnitOfWork, *, committed: bool) -> None:
        """See :class:`tdqsim.cics.Recorder`."""
        if uow.locks or uow.work:
            kind = "COMMIT" if committed else "BACKOUT"
            self.trace((kind, uow.taskid, "", b"", uow.region.clock.time_ns(), uow.transid, uow.id))

    def task_started(self, task: Task) -> None:
        """See :class:`tdqsim.cics.Recorder`."""
        request = task.request
        queue = request.queue.name if request is not None else ""
        info = {"facility": request.facility, "cycle": request.cycle} if request is not None else {}
        now = task.region.clock.time_ns()
        self.trace(("START", task.number, queue, b"", now, task.transid, "", "NORMAL", 0, 0, info))

    def task_ended(self, task: Task, *, normal: bool) -> None:
        """See :class:`tdqsim.cics.Recorder`."""
        queue = task.request.queue.name if task.request is not None else ""
        info = {} if normal else {"abend": task.abcode or "yes"}
        now = task.region.clock.time_ns()
        self.trace(("END", task.number, queue, b"", now, task.transid, "", "NORMAL", 0, 0, info))

    def seeded(self, queue: str, records: Sequence[bytes | str]) -> None:
        """See :class:`tdqsim.cics.Recorder`."""
        region = self._region
        if region is None:
            return
        target = final_target(region, queue.rstrip(" ")).name
        now = region.clock.time_ns()
        for record in records:
            data = region.encode(record) if isinstance(record, str) else bytes(record)
            self.trace(("SEED", 0, target, data, now))

    @staticmethod
    def _queue_of(region: Region, command: str, arguments: Mapping[str, Any]) -> str:
        name = arguments.get("queue")
        if not isinstance(name, str):
            return ""
        name = name.rstrip(" ")
        if command not in _QUEUE_COMMANDS or arguments.get("sysid"):
            return name
        try:
            return final_target(region, name).name
        except Condition:
            return name

    def _queues_changed(self, region: Region) -> None:
        for queue in region.intra_queues():
            self._queue_stands(region, queue)

    def _queue_stands(self, region: Region, queue: IntraQueue) -> None:
        """Write down what the checker has to know of a queue."""
        entry = region.transactions.get(queue.transid)
        info: dict[str, Any] = {
            "recovstatus": queue.recovstatus,
            "triggerlevel": queue.triggerlevel if queue.transid else 0,
            "atifacility": queue.atifacility,
            "defined": entry is not None and entry.definition.remotesystem in ("", region.sysid),
            "startable": entry is not None and not entry.why_not(),
        }
        if info == self._stands.get(queue.name):
            return
        first = queue.name not in self._stands
        self._stands[queue.name] = info
        if first:
            info = {**info, "latch": queue.latch}
            if queue.stored.count <= _LARGEST_QUEUE:
                info["records"] = [entry.data for entry in queue.stored.entries()]
        self.trace(("QUEUE", 0, queue.name, b"", region.clock.time_ns(), "", "", "NORMAL", 0, 0, info))

    # -- the file -------------------------------------------------------------------------------------------------

    def _to_file(self, limit: int) -> Callable[[tuple[Any, ...]], None]:
        """What is called with each event: as little as can be done with it at the time."""
        batch = self._batch

        def trace(raw: tuple[Any, ...]) -> None:
            batch.append(raw)
            if len(batch) >= limit:
                self.flush()

        return trace

    def flush(self) -> None:
        """Write what the file does not have yet."""
        batch = self._batch
        if self._file is not None and batch:
            self._ring.extend(batch)
            self._file.write(_lines(batch))
            self._file.flush()
            batch.clear()


def _written(arguments: Mapping[str, Any]) -> bytes:
    data, length = arguments.get("from_"), arguments.get("length")
    if not isinstance(data, bytes | bytearray | memoryview):
        return b""
    record = bytes(data)
    return record if not isinstance(length, int) or length < 0 else record[:length]


class _Made(dict[Any, str]):
    """How names and numbers are written, each made once for a batch."""

    def __init__(self, make: Callable[[Any], str]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, value: Any) -> str:
        self[value] = made = self._make(value)
        return made


def _lines(batch: Iterable[tuple[Any, ...]]) -> str:
    """Lines of the file; of the two common shapes without a detour."""
    lines, names, units = [], _Made(_ENCODE), _Made(bytes.hex)
    for raw in batch:
        if len(raw) == _SWIFT:
            kind, task, queue, data, time_ns, transid, uow = raw
            lines.append(f'["{kind}",{task},{names[queue]},"{data.hex()}",{time_ns},{names[transid]},"{units[uow]}"]\n')
        elif len(raw) == _SHORT:
            kind, task, queue, data, time_ns = raw
            lines.append(f'["{kind}",{task},{names[queue]},"{data.hex()}",{time_ns}]\n')
        else:
            lines.append(f"{_event(raw).as_json()}\n")
    return "".join(lines)


def _event(raw: tuple[Any, ...]) -> Event:
    event = Event(*raw)
    uow: object = event.uow
    return event if not isinstance(uow, bytes) else event._replace(uow=uow.hex())


def load_history(path: Path | str) -> list[Event]:
    """The events of a file.

    Raises:
        TdqError: a line is no event; the message names it.
    """
    with Path(path).open(encoding="ascii") as lines:
        return [_parsed(f"{path}:{number}", line) for number, line in enumerate(lines, 1)]


def _parsed(place: str, line: str) -> Event:
    try:
        values = json.loads(line)
        values[3] = bytes.fromhex(values[3])
        event = Event(*values)
        if isinstance(event.info.get("records"), list):
            event.info["records"][:] = [bytes.fromhex(record) for record in event.info["records"]]
        _check(event)
    except (ValueError, TypeError, IndexError, AttributeError, KeyError) as error:
        raise TdqError(f"{place}: this is no event of a history: {line[:80]!r}") from error
    return event


def _check(event: Event) -> None:
    texts: Iterable[object] = (event.kind, event.queue, event.transid, event.uow, event.resp)
    numbers: Iterable[object] = (event.task, event.time_ns, event.resp2, event.length)
    if not all(isinstance(text, str) for text in texts) or not all(isinstance(number, int) for number in numbers):
        raise TypeError(event)
