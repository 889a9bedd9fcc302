"""A region or system followed for a report: what its history tells, and who waits, as moments of a digest.

Events are followed as they come, so that a run of millions needs no more room than a short one. A history says when a
task's command has ended; when a task begins to wait is seen at the next dispatch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from tdqsim.cics import Region
from tdqsim.core.dispatch import Dispatcher, Strand
from tdqsim.ibmi import System
from tdqsim.layouts import Layout
from tdqsim.report.digest import Digest, Moment
from tdqsim.report.layouts import in_a_line
from tdqsim.testing.events import Event, JobEvent
from tdqsim.testing.history import DELETEQ, READQ, WRITEQ, History, event_of

__all__ = ["Follower", "Waits"]

_BATCH: Final = 5_000
_PARTS: Final = {
    "QUEUE": "state", "DTAQ": "state", "COMMIT": "commit", "BACKOUT": "backout", "START": "begin", "END": "end",
    "JOB": "begin", "ENDJOB": "end", "RESTART": "restart", "WAIT": "wait",
    "GOES ON": "resume",
}  # fmt: skip
_TAKES: Final = ("NORMAL", "LENGERR")
"""The responses of a READQ that takes the record off."""


class Follower:
    """Follows one region or system into a digest.

    Args:
        target: which.
        history: what records it, attached; a history of its own, which keeps next to nothing, when None.
        digest: where it goes.
        layouts: by queue, what its records are shown by; others are shown as text.
    """

    def __init__(
        self,
        target: Region | System,
        history: History | None = None,
        digest: Digest | None = None,
        layouts: Mapping[str, Layout] | None = None,
    ) -> None:
        self.target = target
        self.name = target.applid if isinstance(target, Region) else target.name
        self.history = history if history is not None else History(1)
        self._digest = digest or Digest()
        self._shows = {name: partial(in_a_line, layout=layout) for name, layout in (layouts or {}).items()}
        self._raw: list[Any] = []  # events as the recorder gave them, and moments of waits
        self._names: dict[int, str] = {}
        self._counted: set[str] = set()
        kept = self.history.trace

        def trace(raw: tuple[Any, ...]) -> None:
            kept(raw)
            self._add(raw)

        if history is None:
            self.history.trace = trace
            self.history.attach(target)
        else:
            self._raw = list(history.events)
            target.recorder = None
            self.history.trace = trace
            target.recorder = self.history

    def _add(self, each: Any) -> None:
        self._raw.append(each)
        if len(self._raw) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        raw, self._raw = self._raw, []
        self._digest.follow(self._moments(raw))

    def digest(self) -> Digest:
        """Everything up to now."""
        self._flush()
        return self._digest

    # -- waits ----------------------------------------------------------------------------------------------------

    def waits(self, strand: Strand, what: str) -> None:
        """A strand waits; it is noted when it is one of the target's tasks."""
        self._noted(strand, "wait", what, strand.since_ns)

    def goes_on(self, strand: Strand) -> None:
        """A strand waits no longer."""
        self._noted(strand, "resume", "", None)

    def _noted(self, strand: Strand, part: str, what: str, when: int | None) -> None:
        region = self.target
        if isinstance(region, Region):  # the jobs of a system tell of their waits themselves
            who = next((task for task in region.tasks.values() if task.strand is strand), None)
            if who is not None:
                time_ns = region.clock.time_ns() if when is None else when
                self._add(Moment(time_ns, what, _task(who.number, who.transid), part=part))

    # -- moments --------------------------------------------------------------------------------------------------

    def _moments(self, raw: list[Any]) -> Iterator[Moment]:
        for each in raw:
            if isinstance(each, Moment):
                yield each
            else:
                event = each if isinstance(each, Event | JobEvent) else event_of(each)
                yield self._of_job(event) if isinstance(event, JobEvent) else self._of_task(event)

    def _of_task(self, event: Event) -> Moment:
        depth: int | None = None
        if event.kind == "QUEUE":
            self._counted.add(event.queue)
            depth = len(event.info["records"]) if "records" in event.info else None
        elif event.kind == DELETEQ and event.resp == "NORMAL" and event.queue in self._counted:
            depth = 0
        wrong = event.resp if event.resp != "NORMAL" else str(event.info.get("abend", ""))
        started_by = event.queue if event.kind == "START" else ""
        queue = "" if event.kind in ("START", "END") else event.queue
        what = f"{event.info.get('kind')} {event.info.get('name')}" if event.kind == "WAIT" else event.kind
        return Moment(
            event.time_ns, what, self._who(event), queue,
            partial(event.line, self._shows.get(event.queue, self.history.show)),
            _PARTS.get(event.kind, ""), event.uow, self._change(event), depth, wrong, started_by,
        )  # fmt: skip

    def _change(self, event: Event) -> int:
        """By how much a command changes the depth of an intrapartition queue."""
        if event.queue not in self._counted:
            return 0
        if event.kind in (WRITEQ, "SEED"):
            return int(event.resp == "NORMAL")
        return -int(event.kind == READQ and event.resp in _TAKES)

    def _who(self, event: Event) -> str:
        if not event.task:
            return ""
        name = self._names.get(event.task) or _task(event.task, event.transid)
        if event.kind == "START":
            self._names[event.task] = name
        elif event.kind == "END":
            self._names.pop(event.task, None)
        return name

    def _of_job(self, event: JobEvent) -> Moment:
        change, depth = 0, None
        if event.kind in ("DTAQ", "CRTDTAQ", "DLTDTAQ"):
            depth = len(event.info.get("entries", ()))
        elif event.kind == "QCLRDTAQ":
            change = -int(event.info.get("count", 0))
            depth = 0 if not event.info.get("key_order") and not event.message else None
        elif event.kind in ("QSNDDTAQ", "GIVEBACK"):
            change = 1
        elif event.kind == "QRCVDTAQ" and event.data and event.info.get("remove") != "*NO":
            change = -1
        what = f"an entry of {event.queue}" if event.kind == "WAIT" else event.kind
        part = _PARTS.get(event.kind, "")
        if event.message:
            change, depth = 0, None
        queue, line = "" if part == "wait" else event.queue, partial(event.line, self.history.show)
        return Moment(event.time_ns, what, event.job, queue, line, part, "", change, depth, event.message)


def _task(number: int, transid: str) -> str:
    return f"task {number} {transid}".rstrip()


class Waits:
    """Looks at each dispatch who has begun to wait, and tells the followers of its dispatcher.

    Args:
        dispatcher: whose; what looks at its dispatches already goes on doing so.

    Attributes:
        followers: who is told.
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        self.followers: list[Follower] = []
        self._dispatcher = dispatcher
        self._before: Callable[[Strand], None] | None = dispatcher.on_dispatch
        self._last: Strand | None = None
        self._waiting: dict[Strand, None] = {}
        dispatcher.on_dispatch = self._dispatched

    def _dispatched(self, strand: Strand) -> None:
        self._look()
        self._last = strand
        if strand in self._waiting:
            del self._waiting[strand]
            for follower in self.followers:
                follower.goes_on(strand)
        if self._before is not None:
            self._before(strand)

    def _look(self) -> None:
        """Those that may have begun to wait since the last dispatch: who ran then, and the program outside."""
        for strand in (self._last, self._dispatcher.outside):
            if strand is None or strand.done or strand in self._waiting:
                continue
            queue = strand.waiting_for
            if queue is not None:
                self._waiting[strand] = None
                for follower in self.followers:
                    follower.waits(strand, queue.name)
        outside = self._dispatcher.outside
        if outside in self._waiting and outside.waiting_for is None:
            del self._waiting[outside]
            for follower in self.followers:
                follower.goes_on(outside)

    def end(self) -> None:
        """Look a last time, and no more."""
        self._look()
        self._dispatcher.on_dispatch = self._before
