"""Feed the events of one region, or of one IBM i system, in order, and record every response.

A batch of events is read as columns, and its responses become columns: the only object made for a single event is its
outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import repeat
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tdqsim import Clock, state
from tdqsim.cics import Abend, Condition, Region, Task
from tdqsim.errors import TdqError
from tdqsim.ibmi import EscapeMessage, System, sent_key
from tdqsim.pipeline.stages.recording import Depths
from tdqsim.pipeline.stages.tables import Rows

BEFORE: Final = ("DD", "SEED", "EXPECT")
"""Pseudo-commands: the initial contents before the start, and the expected contents at the end."""

IBMI_COMMANDS: Final = ("QSNDDTAQ", "QSNDDTAQ JE", "QRCVDTAQ", "QCLRDTAQ")
FAILED: Final = "ERROR"


class RecordedClock(Clock):
    """A clock that only events and simulated waits advance, so that the same run gives the same times."""

    __slots__ = ("_start_ns",)

    def __init__(self, start_ns: int) -> None:
        super().__init__(simulated=True)
        self._start_ns = start_ns

    def time_ns(self) -> int:
        """The start time plus the jumps so far."""
        return self._start_ns + self._jumped_ns

    @property
    def jumped(self) -> int:
        """The sum of the jumps; cheap to read, and it changes whenever the time does."""
        return self._jumped_ns


Short = Callable[[str, bytes | None, bytes | None], bytes | None]
"""A frequent command outside a task: called with queue, key and data, it returns the outcome."""


class _Feed:
    """The base of both kinds: takes batches of events, and gives their responses as columns."""

    def __init__(self, clock: RecordedClock, results: Rows, depths: Depths) -> None:
        self.clock = clock
        self.results = results
        self.depths = depths
        self.events = 0
        self.unexpected = 0
        self._short: dict[str, Short] = {}

    def feed(self, batch: pa.RecordBatch) -> None:
        """A batch of events, in order."""
        commands = _only_commands(batch)
        if not commands.num_rows:
            return
        taken = Taken(commands)
        taken.moments.append((0, self.clock.time_ns() // 1000))
        # A recorder may add rows while an event is issued; the events before it must be written first.
        self.results.before = partial(taken.put, self.results)
        try:
            self._work(taken)
        finally:
            taken.put(self.results)
            self.results.before = None
            self.events += taken.at
            self.unexpected += taken.unexpected

    def _work(self, taken: Taken) -> None:
        """Issue the events; this is the only loop that runs for each event."""
        clock, depths, depth_of, short = self.clock, self.depths, self._depth, self._short
        jumped, now = clock.jumped, taken.moments[0][1]
        out, deeps, seq = taken.out, taken.depth, taken.seq
        for at, (time_us, task, tran, command, queue, key, data) in enumerate(taken.events()):
            if time_us:
                clock.advance_to(time_us * 1000)
            try:
                quick = None if task else short.get(command)
                if quick is None:
                    out[at] = self._issue(task or 0, tran, command, queue, key, data)
                else:
                    out[at] = quick(queue, key, data)
            except Exception as error:  # noqa: BLE001  (each kind is distinguished there)
                taken.odd[at], out[at] = _outcome(error, int(seq[at]))
            if clock.jumped != jumped:
                jumped, now = clock.jumped, clock.time_ns() // 1000
                taken.moments.append((at, now))
            deeps[at] = deep = depth_of(queue)
            if deep is not None:
                probe = depths[queue]
                if deep > probe.peak:  # max() costs more than the rest of this
                    probe.peak = deep
                probe.left -= 1
                if not probe.left:
                    probe.keep(int(seq[at]), now, deep)
            taken.at = at + 1

    def _issue(
        self, task: int, tran: str, command: str, queue: str, key: bytes | None, data: bytes | None
    ) -> bytes | None:
        raise NotImplementedError

    def _depth(self, queue: str) -> int | None:
        raise NotImplementedError


def _only_commands(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The events of a batch without pseudo-commands."""
    commands = batch.column("command")
    if not set(commands.unique().to_pylist()) & set(BEFORE):
        return batch
    return batch.filter(pc.invert(pc.is_in(commands, pa.array(BEFORE))))


def _outcome(error: Exception, seq: int) -> tuple[tuple[str, int, str | None], bytes | None]:
    """Response, RESP2 and cause of an event that did not end normally, and the record that it returned."""
    if isinstance(error, Condition):
        return (error.resp.name, error.resp2, None), error.data or None
    if isinstance(error, Abend):
        return (error.code, 0, str(error)), None
    if isinstance(error, EscapeMessage):
        return (error.message_id, 0, error.text), None
    if isinstance(error, TdqError):
        return (FAILED, 0, str(error)), None
    if isinstance(error, (TypeError, ValueError, KeyError)):  # a bad event becomes a row, and the next event follows
        return (FAILED, 0, f"event {seq}: {type(error).__name__}: {error}"), None
    raise error


class CicsFeed(_Feed):
    """Feeds a region."""

    def __init__(self, region: Region, results: Rows, depths: Depths) -> None:
        assert isinstance(region.clock, RecordedClock)
        super().__init__(region.clock, results, depths)
        self.region = region
        self.tasks: dict[int, Task] = {}
        write, read = region.writeq_td, region.readq_td
        self._short = {
            "WRITEQ TD": lambda queue, _, data: write(queue, data or b""),
            "READQ TD": lambda queue, _, __: read(queue),
        }

    def _issue(
        self, task: int, tran: str, command: str, queue: str, _key: bytes | None, data: bytes | None
    ) -> bytes | None:
        actor: Any = self._task(task, tran) if task else self.region
        if command == "WRITEQ TD":
            actor.writeq_td(queue, data or b"")
        elif command == "READQ TD":
            return bytes(actor.readq_td(queue))
        elif command == "DELETEQ TD":
            actor.deleteq_td(queue)
        elif command == "START":
            self.region.start(tran, data=data)
            self.region.dispatcher.run_ready()
        elif command == "EXEC CICS":
            self._execute(actor, data or b"")
        elif task and command == "SYNCPOINT":
            actor.syncpoint()
        elif task and command == "SYNCPOINT ROLLBACK":
            actor.syncpoint_rollback()
        elif task and command in ("RETURN", "ABEND"):
            self._end(task, Abend("ASRA") if command == "ABEND" else None)
        else:
            raise TdqError(f"command {command!r} with task {task}: there is no such event; see tdq guide pipeline")
        return None

    def _execute(self, actor: Any, text: bytes) -> None:
        line = text.decode("ascii", "backslashreplace")
        if isinstance(actor, Region):
            with actor.task() as alone:
                alone.execute(line)
        else:
            actor.execute(line)

    def _task(self, number: int, tran: str) -> Task:
        open_task = self.tasks.get(number)
        if open_task is None:
            open_task = self.tasks[number] = self.region.task(transid=tran) if tran else self.region.task()
            open_task.__enter__()
        return open_task

    def _end(self, number: int, error: Abend | None = None) -> None:
        self.tasks.pop(number).__exit__(None if error is None else Abend, error, None)

    def _depth(self, queue: str) -> int | None:
        return state.depth(self.region, queue)

    def finish(self) -> None:
        """The events are finished: end open tasks normally, and run whatever waits for time."""
        for number in list(self.tasks):
            self._end(number)
        self.region.run()


class IbmiFeed(_Feed):
    """Feeds an IBM i system, from one job."""

    def __init__(self, system: System, results: Rows, depths: Depths) -> None:
        assert isinstance(system.clock, RecordedClock)
        super().__init__(system.clock, results, depths)
        self.system = system
        self.job = system.job("REPLAY")
        self._queues = {f"{queue.library}/{queue.name}": queue for queue in system.queues()}
        self._names: dict[str, tuple[str, str]] = {}
        self._short = {"QSNDDTAQ": self._send, "QRCVDTAQ": self._receive}

    def _name(self, queue: str) -> tuple[str, str]:
        """Library and name from LIBRARY/QUEUE."""
        qualified = self._names.get(queue)
        if qualified is None:
            library, _, name = queue.rpartition("/")
            qualified = self._names[queue] = (library or "*LIBL", name)
        return qualified

    def _send(self, queue: str, key: bytes | None, data: bytes | None) -> None:
        library, name = self._name(queue)
        self.job.qsnddtaq(name, library, data or b"", key)

    def _receive(self, queue: str, key: bytes | None, _: bytes | None) -> bytes | None:
        library, name = self._name(queue)
        entry = self.job.qrcvdtaq(name, library, 0, "EQ", key)
        return None if entry is None else bytes(entry.data)

    def _issue(
        self, _task: int, _tran: str, command: str, queue: str, key: bytes | None, data: bytes | None
    ) -> bytes | None:
        if command in self._short:
            return self._short[command](queue, key, data)
        library, name = self._name(queue)
        if command == "QSNDDTAQ JE":
            known_queue, block = self._queues.get(queue), data or b""
            key = None if known_queue is None else sent_key(block, known_queue.key_length) or None
            self.job.qsnddtaq(name, library, block, key, from_journal_entry=True)
            return None
        if command == "QCLRDTAQ":
            self.job.qclrdtaq(name, library, "EQ", key)
            return None
        raise TdqError(f"command {command!r}: an IBM i system knows {', '.join(IBMI_COMMANDS)}")

    def _depth(self, queue: str) -> int | None:
        known_queue = self._queues.get(queue)
        return None if known_queue is None or known_queue.ddm else known_queue.stored.count

    def seed(self, name: str, records: Iterable[bytes]) -> None:
        """Put entries on a data queue before the first event."""
        try:
            for record in records:
                self._send(name, None, record)
        except EscapeMessage as escape:
            raise TdqError(f"{escape.message_id} {escape.text}") from escape

    def finish(self) -> None:
        """The events are finished."""
        self.system.run()
        self.job.end()


# responses ------------------------------------------------------------------------------------------------------------


NORMAL: Final = "NORMAL"
_FEW: Final = 64
"""This many rows or fewer are written one by one."""


class Taken:
    """A batch of events that is being processed.

    Attributes:
        at: the current event; those before it are done.
        seq: the sequence numbers.
        out: the response of each event.
        depth: the depth of its queue afterwards.
        odd: response, RESP2 and cause of events that did not end normally, by place.
        moments: the places at which the time changes, and the new time in microseconds.
        unexpected: the number of written responses that differ from the expected ones.
    """

    __slots__ = ("_batch", "_done", "at", "depth", "moments", "odd", "out", "seq", "unexpected")

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        self._done = self.at = 0
        self.seq = batch.column("seq").to_numpy()
        self.out: list[bytes | None] = [None] * batch.num_rows
        self.depth: list[int | None] = [None] * batch.num_rows
        self.odd: dict[int, tuple[str, int, str | None]] = {}
        self.moments: list[tuple[int, int]] = []
        self.unexpected = 0

    def events(self) -> Iterator[tuple[Any, ...]]:
        """Microseconds, task, transid, command, queue, key and data of each event."""
        names = {"tran", "command", "queue"}
        columns = ("time_us", "task", "tran", "command", "queue", "key", "data")
        lists = ((_names if name in names else _values)(self._batch.column(name)) for name in columns)
        return zip(*lists, strict=True)

    def put(self, results: Rows) -> None:
        """Write the events that are done and not yet written."""
        first, last = self._done, self.at
        if first == last:
            return
        self._done = last
        columns = self._columns(first, last)
        if last - first <= _FEW:
            results.extend(zip(*(column.to_pylist() for column in columns), strict=True))
        else:
            results.columns(columns)

    def _columns(self, first: int, last: int) -> list[pa.Array]:
        """The columns of the results table after the region."""
        rows = last - first
        given, cut = self._batch, slice(first, last)
        resp, resp2, cause = self._responses(first, last)
        data = pa.array(self.out[cut], pa.binary())
        return [
            given.column("seq").slice(first, rows),
            self._times(first, last),
            given.column("task").slice(first, rows),
            given.column("command").slice(first, rows),
            given.column("queue").slice(first, rows),
            resp, resp2, self._expected(first, resp, resp2),
            pc.binary_length(data), data, pa.array(self.depth[cut], pa.int64()), cause,
        ]  # fmt: skip

    def _responses(self, first: int, last: int) -> tuple[pa.Array, pa.Array, pa.Array]:
        rows = last - first
        odd = {at - first: self.odd[at] for at in self.odd if first <= at < last}
        if not odd:
            normal = pa.repeat(pa.scalar(NORMAL), rows)
            return normal, pa.array(np.zeros(rows, np.int32)), pa.nulls(rows, pa.string())
        resp: list[str] = list(repeat(NORMAL, rows))
        cause: list[str | None] = [None] * rows
        resp2 = np.zeros(rows, np.int32)
        for at, what in odd.items():
            resp[at], resp2[at], cause[at] = what
        return pa.array(resp, pa.string()), pa.array(resp2), pa.array(cause, pa.string())

    def _times(self, first: int, last: int) -> pa.Array:
        places, times = zip(*self.moments, strict=True)
        which = np.searchsorted(np.array(places), np.arange(first, last), side="right") - 1
        return pa.array(np.array(times, np.int64)[which])

    def _expected(self, first: int, resp: pa.Array, resp2: pa.Array) -> pa.Array:
        """Whether responses are as expected; null where any response is allowed."""
        rows = len(resp)
        wanted = self._batch.column("resp").slice(first, rows)
        wanted2 = self._batch.column("resp2").slice(first, rows)
        if wanted.null_count == rows and wanted2.null_count == rows:
            return pa.nulls(rows, pa.bool_())
        right = pc.fill_null(pc.equal(wanted, resp), fill_value=True)
        right2 = pc.fill_null(pc.equal(wanted2, resp2), fill_value=True)
        asked = pc.or_(pc.is_valid(wanted), pc.is_valid(wanted2))
        as_expected = pc.and_(right, right2)
        self.unexpected += pc.sum(pc.and_(asked, pc.invert(as_expected))).as_py() or 0
        return pc.if_else(asked, as_expected, pa.scalar(None, pa.bool_()))


def _values(column: pa.Array) -> Iterable[Any]:
    return repeat(None, len(column)) if column.null_count == len(column) else column.to_pylist()


def _names(column: pa.Array) -> Iterable[str]:
    """A column with few different texts; each text is made once, and null is empty text."""
    if column.null_count == len(column):
        return repeat("", len(column))
    coded = column.dictionary_encode()
    names = [*coded.dictionary.to_pylist(), ""]
    return map(names.__getitem__, coded.indices.fill_null(len(names) - 1).to_pylist())
