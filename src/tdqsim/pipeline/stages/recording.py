"""What is taken down of a region while its tasks run: ATI starts, abends, depths, and commands when asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tdqsim.cics import Condition, Region, Task
from tdqsim.cics.queues.kinds import IntraTdQueue
from tdqsim.core.dispatch import Strand
from tdqsim.pipeline.stages.budget import Budget
from tdqsim.pipeline.stages.contents import depth
from tdqsim.pipeline.stages.depths import Depths
from tdqsim.pipeline.stages.tables import Rows

__all__ = ["Recording"]


class Recording:
    """A region's recorder for replay.

    Without ``commands`` it takes no part in commands at all, so that queues keep the short way at its full speed.

    Args:
        region: the region; it is recorded from now on until :meth:`stop`.
        rows: the tables.
        depths: where depths go, at each dispatch.
        budget: told of each dispatch.
        commands: whether handlers' commands are taken down too, into ``results``.
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
        self._own = [(queue, depths[queue.name]) for queue in region.intra_queues() if queue.name[:1] != "C"]
        self.trace = self._traced if commands else None
        region.recorder = self
        region.dispatcher.on_dispatch = self._dispatched

    def stop(self) -> None:
        """Record no more."""
        self.region.recorder = None
        self.region.dispatcher.on_dispatch = None

    def _dispatched(self, strand: Strand) -> None:
        budget = self._budget
        budget.dispatched(strand)
        now = self.region.clock.time_ns() // 1000
        for queue, probe in self._own:
            probe.sample(budget.used, now, depth(queue))
        task = strand.local
        if isinstance(task, Task) and task.number in self._attached:
            self._began(task, now)

    def _began(self, task: Task, now: int) -> None:
        attached, dispatches, depth = self._attached.pop(task.number)
        assert task.request is not None
        waited = self._budget.used - dispatches
        self._rows["ati_events"].add(task.request.queue.name, task.transid, task.number, depth, attached, now, waited)

    # as a region's recorder

    def task_started(self, task: Task) -> None:
        """See :class:`tdqsim.cics.kernel.issue.Recorder`."""
        self.tasks += 1
        if task.request is None:
            return
        self.ati_starts += 1
        queue: IntraTdQueue = task.request.queue
        self._attached[task.number] = (self.region.clock.time_ns() // 1000, self._budget.used, queue.numitems)

    def task_ended(self, task: Task, *, normal: bool) -> None:
        """See :class:`tdqsim.cics.kernel.issue.Recorder`."""
        if not normal:
            self.abends[task.abcode or "ended"] += 1
            self._row(task, "ABEND", "", task.abcode or "", 0, None)

    def task_waits(self, task: Task, what: str, holder: str) -> None:
        """See :class:`tdqsim.cics.kernel.issue.Recorder`."""

    def task_goes_on(self, task: Task) -> None:
        """See :class:`tdqsim.cics.kernel.issue.Recorder`."""

    def unit_of_work_ends(self, uow: Any) -> None:
        """See :class:`tdqsim.cics.kernel.issue.Recorder`."""

    def unit_of_work_ended(self, uow: Any, *, committed: bool) -> None:
        """See :class:`tdqsim.cics.kernel.issue.Recorder`."""

    def seeded(self, queue: str, records: Sequence[bytes | str]) -> None:
        """See :class:`tdqsim.cics.kernel.issue.Recorder`."""

    def command(self, task: Task, command: str, arguments: Mapping[str, Any], outcome: object) -> None:
        """See :class:`tdqsim.cics.kernel.issue.Recorder`."""
        self._budget.dispatched(task)
        if not self._commands:
            return
        queue = arguments.get("queue")
        name = queue.rstrip() if isinstance(queue, str) else ""
        if isinstance(outcome, Condition):
            self._row(task, command, name, outcome.resp.name, outcome.resp2, outcome.data or None)
        else:
            self._row(task, command, name, "NORMAL", 0, outcome if isinstance(outcome, bytes) else None)

    def _traced(self, request: tuple[Any, ...]) -> None:
        command, number, queue, record, now = request[:5]
        data = bytes(record) if command == "READQ TD" else None
        length = None if data is None else len(data)
        self._rows["results"].add(
            None, now // 1000, number, command, queue, "NORMAL", 0, None, length, data, None, None
        )

    def _row(self, task: Task, command: str, queue: str, resp: str, resp2: int, data: bytes | None) -> None:
        now = self.region.clock.time_ns() // 1000
        length = None if data is None else len(data)
        self._rows["results"].add(None, now, task.number, command, queue, resp, resp2, None, length, data, None, None)
