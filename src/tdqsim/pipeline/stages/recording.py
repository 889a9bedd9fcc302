"""Recording a region: ATI starts, abends, depths and commands while its tasks run; the records on queues at the end.

Depth over time takes bounded memory: when there are too many points, every other one is dropped. No other module of the
stages depends on how queues are stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tdqsim import state as look
from tdqsim.cics import Condition, Region, Task
from tdqsim.errors import TdqError
from tdqsim.hosting import Fiber, RegionInternals
from tdqsim.ibmi import System
from tdqsim.languages import TaskInternals
from tdqsim.pipeline.stages.isolation import Budget
from tdqsim.pipeline.stages.tables import Rows


class Recording:
    """A region's recorder for replay.

    Without ``commands`` it does not record commands at all, so that queues can use their fast path.
    """

    trace: Callable[[tuple[Any, ...]], object] | None

    def __init__(
        self, region: Region, rows: Mapping[str, Rows], depths: Depths, budget: Budget, *, commands: bool
    ) -> None:
        self.region = region
        self.tasks = self.ati_starts = 0
        self.abends: Counter[str] = Counter()
        self._rows = rows
        self._budget = budget
        self._commands = commands
        self._attached: dict[int, tuple[int, int, int]] = {}
        own = (name for name in region.tdqueues if name[:1] != "C" and look.depth(region, name) is not None)
        self._own = [(name, depths[name]) for name in own]
        self.trace = self._traced if commands else None
        RegionInternals(region).recorder = self
        region.dispatcher.on_dispatch = self._dispatched

    def stop(self) -> None:
        """Stop recording."""
        RegionInternals(self.region).recorder = None
        self.region.dispatcher.on_dispatch = None

    def _dispatched(self, fiber: Fiber) -> None:
        budget = self._budget
        budget.dispatched(fiber)
        now = self.region.clock.time_ns() // 1000
        for queue, probe in self._own:
            probe.sample(budget.used, now, look.depth(self.region, queue) or 0)
        task = fiber.local
        if isinstance(task, Task) and task.number in self._attached:
            self._began(task, now)

    def _began(self, task: Task, now: int) -> None:
        attached, dispatches, depth = self._attached.pop(task.number)
        request = TaskInternals(task).request
        assert request is not None
        waited = self._budget.used - dispatches
        self._rows["ati_events"].add(request.queue.name, task.transid, task.number, depth, attached, now, waited)

    # as a region's recorder

    def task_started(self, task: Task) -> None:
        """See :class:`tdqsim.cics.Recorder`."""
        self.tasks += 1
        request = TaskInternals(task).request
        if request is None:
            return
        self.ati_starts += 1
        depth = request.queue.numitems
        self._attached[task.number] = (self.region.clock.time_ns() // 1000, self._budget.used, depth)

    def task_ended(self, task: Task, *, normal: bool) -> None:
        """See :class:`tdqsim.cics.Recorder`."""
        if not normal:
            self.abends[task.abcode or "ended"] += 1
            self._row(task.number, "ABEND", "", task.abcode or "", 0, None)

    def _ignored(self, *_: object, **__: object) -> None:
        """Called with what replay does not record."""

    task_waits = task_goes_on = unit_of_work_ends = unit_of_work_ended = seeded = _ignored

    def command(self, task: Task, command: str, arguments: Mapping[str, object], outcome: object) -> None:
        """See :class:`tdqsim.cics.Recorder`."""
        self._budget.dispatched(task)
        if not self._commands:
            return
        queue = arguments.get("queue")
        name = queue.rstrip() if isinstance(queue, str) else ""
        if isinstance(outcome, Condition):
            self._row(task.number, command, name, outcome.resp.name, outcome.resp2, outcome.data or None)
        else:
            self._row(task.number, command, name, "NORMAL", 0, outcome if isinstance(outcome, bytes) else None)

    def _traced(self, request: tuple[Any, ...]) -> None:
        command, number, queue, record, now = request[:5]
        self._row(number, command, queue, "NORMAL", 0, bytes(record) if command == "READQ TD" else None, now)

    def _row(
        self, number: int, command: str, queue: str, resp: str, resp2: int, data: bytes | None, now: int | None = None
    ) -> None:
        time_us = (self.region.clock.time_ns() if now is None else now) // 1000
        length = None if data is None else len(data)
        self._rows["results"].add(None, time_us, number, command, queue, resp, resp2, None, length, data, None, None)


class Probe:
    """The depths of one queue.

    The code that feeds events decrements ``left`` itself, and calls :meth:`keep` when it reaches 0; it does nothing
    else for every event.

    Attributes:
        peak: the greatest depth; -1 before the first sample.
        left: how many samples remain until one is kept.
    """

    __slots__ = ("_limit", "_stride", "left", "peak", "points")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._stride = 1
        self.left = 1
        self.peak = -1
        self.points: list[tuple[int, int, int]] = []

    def sample(self, step: int, time_us: int, depth: int) -> None:
        """The depth at a step."""
        self.peak = max(self.peak, depth)
        self.left -= 1
        if not self.left:
            self.keep(step, time_us, depth)

    def keep(self, step: int, time_us: int, depth: int) -> None:
        """Keep a point; when there are too many, drop every other one, and from then on every other sample."""
        self.points.append((step, time_us, depth))
        if len(self.points) > self._limit:
            del self.points[1::2]
            self._stride *= 2
        self.left = self._stride


class Depths(dict[str, Probe]):
    """A probe for each queue, made on demand.

    The caller defines the steps (events, dispatches). The distance between kept points doubles as often as needed, so
    that they depend only on the sequence of depths.
    """

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = max(4, limit)

    def __missing__(self, queue: str) -> Probe:
        probe = self[queue] = Probe(self._limit)
        return probe

    def peak(self, queue: str) -> int:
        """The greatest depth of a queue; 0 when it was never sampled."""
        return max(0, self[queue].peak) if queue in self else 0

    def points(self) -> Iterator[tuple[str, int, int, int]]:
        """Queue, step, microseconds, depth; queues by name, each in order."""
        for queue in sorted(self):
            for point in self[queue].points:
                yield queue, *point


_ROWS: Final = 8192
_BYTES: Final = 16 << 20


def put_seeds(seed: Callable[[str, list[bytes]], object], batch: pa.RecordBatch) -> None:
    """Put the records of SEED events on their queues, each by a call of ``seed``.

    Raises:
        TdqError: a queue refuses its record; the message names both.
    """
    if "SEED" not in batch.column("command").unique().to_pylist():
        return
    columns = (batch.column(name).to_pylist() for name in ("seq", "command", "queue", "data"))
    for seq, command, queue, record in zip(*columns, strict=True):
        if command == "SEED":
            try:
                seed(queue or "", [record or b""])
            except TdqError as error:
                raise TdqError(f"event {seq}: SEED of queue {queue}: {error}") from error


def put_queues(region: Region, rows: Mapping[str, Rows], depths: Depths) -> None:
    """The records left on the intrapartition queues of a region."""
    for state in sorted(look.queues(region, type="INTRA"), key=lambda state: state.name):
        peak = max(state.peak_items, depths.peak(state.name))
        if peak:
            held = ((b"", record) for record in _records_of(region, state.name))
            _put(rows, state.name, "TD", held, peak)


def _records_of(region: Region, queue: str) -> Iterator[bytes]:
    """The records of a queue, some at a time, as there may be more than memory holds."""
    at = 0
    while found := look.records(region, queue, skip=at, limit=_ROWS):
        yield from found
        at += len(found)


def put_data_queues(system: System, rows: Mapping[str, Rows], depths: Depths) -> None:
    """The entries left on the data queues of a system."""
    for queue in sorted(system.queues(), key=lambda each: (each.library, each.name)):
        if not queue.ddm:
            shown = f"{queue.library}/{queue.name}"
            entries = ((entry.key, entry.data) for entry in queue.stored.entries())
            _put(rows, shown, "DTAQ", entries, depths.peak(shown))


def put_records(
    records: Rows, shown: str, kind: str, before: int, data: pa.Array, keys: Sequence[bytes] | None = None
) -> None:
    """Write some records of a queue or data set, after ``before`` others of it."""
    count = len(data)
    records.columns(
        [
            pa.repeat(pa.scalar(shown), count),
            pa.repeat(pa.scalar(kind), count),
            pa.array(np.arange(before + 1, before + count + 1, dtype=np.int64)),
            pa.nulls(count, pa.binary()) if keys is None else pa.array(keys, pa.binary()),
            data,
        ]
    )


def _put(rows: Mapping[str, Rows], shown: str, kind: str, entries: Iterable[tuple[bytes, bytes]], peak: int) -> None:
    digest = blake2b(digest_size=8)
    number = size = held = 0
    keys: list[bytes] = []
    data: list[bytes] = []

    def put_down() -> None:
        put_records(rows["records"], shown, kind, number - len(data), pa.array(data, pa.binary()), keys)
        keys.clear()
        data.clear()

    for key, record in entries:
        number += 1
        keys.append(key)
        data.append(record)
        size += len(record)
        held += len(record)
        digest.update(len(record).to_bytes(4, "big") + key + record)
        if len(data) >= _ROWS or held >= _BYTES:
            put_down()
            held = 0
    if data:
        put_down()
    rows["queue_final"].add(shown, kind, number, max(peak, number), size, digest.hexdigest())
