"""Turns the events of a region or system into the digest of a report.

Events are processed as they come, so that a run with millions of them needs no more memory than a short one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from tdqsim.cics import Region
from tdqsim.ibmi import System
from tdqsim.layouts import Layout
from tdqsim.report.digest import Digest, Moment
from tdqsim.report.queue_layouts import in_a_line
from tdqsim.testing.events import AnyEvent, Event, JobEvent, RawEvent
from tdqsim.testing.history import DELETEQ, READQ, WRITEQ, History, event_of
from tdqsim.testing.hooks import recorded

__all__ = ["Follower"]

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
        self._shows = {name: partial(in_a_line, layout=layout) for name, layout in (layouts or {}).items()}
        self._raw: list[AnyEvent | RawEvent] = []
        self._names: dict[int, str] = {}
        self._counted: set[str] = set()
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
        self._digest.follow(self._moments(raw))

    def digest(self) -> Digest:
        """The digest with all events up to now."""
        self._flush()
        return self._digest

    # -- moments --------------------------------------------------------------------------------------------------

    def _moments(self, raw: list[AnyEvent | RawEvent]) -> Iterator[Moment]:
        for each in raw:
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
        what = str(event.info.get("what")) if event.kind == "WAIT" else event.kind
        return Moment(
            event.time_ns, what, self._task_name(event), queue,
            partial(event.line, self._shows.get(event.queue, self.history.show)),
            _PARTS.get(event.kind, ""), event.uow, self._change(event), depth, wrong, started_by,
        )  # fmt: skip

    def _change(self, event: Event) -> int:
        """The change in depth of an intrapartition queue by a command."""
        if event.queue not in self._counted:
            return 0
        if event.kind in (WRITEQ, "SEED"):
            return int(event.resp == "NORMAL")
        return -int(event.kind == READQ and event.resp in _TAKES)

    def _task_name(self, event: Event) -> str:
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
