"""Translates the events of a region or system for the digest of a report.

Events are processed as they come, so that a run with millions of them needs no more memory than a short one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from tdqsim.cics import Region
from tdqsim.faults.hooks import recorded
from tdqsim.ibmi import System
from tdqsim.layouts import Layout
from tdqsim.report.digest import Digest, Moment
from tdqsim.report.layout_of_queue import in_a_line
from tdqsim.testing.events import AnyEvent, Event, JobEvent, RawEvent
from tdqsim.testing.history import DELETEQ, READQ, WRITEQ, History, event_of
from tdqsim.testing.text import show_record

_BATCH: Final = 5_000
_PARTS: Final = {
    "QUEUE": "state", "DTAQ": "state", "COMMIT": "commit", "BACKOUT": "backout", "START": "begin", "END": "end",
    "JOB": "begin", "ENDJOB": "end", "RESTART": "restart", "WAIT": "wait",
    "GOES ON": "resume",
}  # fmt: skip
_TAKES: Final = ("NORMAL", "LENGERR")
"""The responses of a READQ that removes the record."""


class Follower:
    """Adds the events of one region or system to a digest.

    Args:
        target: the region or system.
        history: a history that is attached to it; by default a new one, which keeps hardly any events.
        digest: the digest.
        layouts: the layout of the records of each queue; records of other queues are shown as text.
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
        shows = {name: partial(in_a_line, layout=layout) for name, layout in (layouts or {}).items()}
        self._moments = Moments(self.history.show, shows)
        self._raw: list[AnyEvent | RawEvent] = []
        kept = self.history.trace

        def trace(raw: RawEvent) -> None:
            kept(raw)
            self._add(raw)

        if history is None:
            self.history.trace = trace
            self.history.attach(target)
        else:
            self._raw = list(history.events)
            recorded(target).recorder = None  # a region takes ``trace`` of its recorder when it is set
            self.history.trace = trace
            recorded(target).recorder = self.history

    def _add(self, each: RawEvent) -> None:
        self._raw.append(each)
        if len(self._raw) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        raw, self._raw = self._raw, []
        self._digest.follow(map(self._moments.of, raw))

    def digest(self) -> Digest:
        """The digest with all events up to now."""
        self._flush()
        return self._digest


def digest_of(events: Iterable[AnyEvent]) -> Digest:
    """The digest of the events of one history, such as those that ``load_history`` returns."""
    return Digest().follow(map(Moments().of, events))


class Moments:
    """Translates the events of one history, in order.

    Args:
        show: shows a record as text.
        shows: the same for the records of some queues, by name.
    """

    def __init__(
        self, show: Callable[[bytes], str] = show_record, shows: Mapping[str, Callable[[bytes], str]] | None = None
    ) -> None:
        self._show = show
        self._shows = shows or {}
        self._tasks: dict[int, tuple[str, str]] = {}
        self._counted: set[str] = set()

    def of(self, each: AnyEvent | RawEvent) -> Moment:
        """The next event."""
        event = each if isinstance(each, Event | JobEvent) else event_of(each)
        return self._of_job(event) if isinstance(event, JobEvent) else self._of_task(event)

    def _of_task(self, event: Event) -> Moment:
        depth: int | None = None
        if event.kind == "QUEUE":
            self._counted.add(event.queue)
            depth = len(event.info["records"]) if "records" in event.info else None
        elif event.kind == DELETEQ and event.resp == "NORMAL" and event.queue in self._counted:
            depth = 0
        resource = str(event.info.get("resource", ""))
        part = "" if resource else _PARTS.get(event.kind, "")  # START is the beginning of a task, or a command
        wrong = event.resp if event.resp != "NORMAL" else str(event.info.get("abend", ""))
        started_by = event.queue if part == "begin" else ""
        queue = "" if event.kind in ("START", "END") else event.queue
        name, actor = self._task(event)
        what = str(event.info.get("what")) if event.kind == "WAIT" else event.kind
        return Moment(
            event.time_ns, what, name, queue,
            partial(event.line, self._shows.get(event.queue, self._show)),
            part, event.uow, self._change(event), depth, wrong, started_by, actor,
            resource,
        )  # fmt: skip

    def _change(self, event: Event) -> int:
        """The change in depth of an intrapartition queue by a command."""
        if event.queue not in self._counted:
            return 0
        if event.kind in (WRITEQ, "SEED"):
            return int(event.resp == "NORMAL")
        return -int(event.kind == READQ and event.resp in _TAKES)

    def _task(self, event: Event) -> tuple[str, str]:
        """The name of the task of an event, and its transaction if it is known."""
        if not event.task:
            return "", "seed" if event.kind == "SEED" else ""
        known = self._tasks.get(event.task) or (_task(event.task, event.transid), event.transid)
        if event.kind == "START" and "resource" not in event.info:
            self._tasks[event.task] = known
        elif event.kind == "END":
            self._tasks.pop(event.task, None)
        return known

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
        queue, line = "" if part == "wait" else event.queue, partial(event.line, self._show)
        actor = event.job.rpartition("/")[2]
        return Moment(event.time_ns, what, event.job, queue, line, part, "", change, depth, event.message, actor=actor)


def _task(number: int, transid: str) -> str:
    return f"task {number} {transid}".rstrip()
