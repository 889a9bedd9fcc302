"""OpenTelemetry spans of a region: its tasks, commands, units of work and the messages to other regions.

:func:`trace` adds a hook and a recorder to a region. This module needs the extra ``tdqsim[otel]``. In the package only
``tdq serve --trace`` imports it. The chapter *Serving regions* of the guide lists the spans and their attributes.

Times are those of the region's clock. The beginning and the end of a command are exact. A task that its region has not
attached (a mirror task, a task of the calling Python program) begins with its first command. A unit of work begins with
the command that makes its first recoverable request. A command that does not return, such as RETURN or ABEND, ends with
the command or the task around it. A command on the region itself is a span without a task. A task that is attached
while a command runs, as by START or a trigger level, has a link to the span of that command.

Between regions of one process, the spans of a mirror task are in the trace of its requester. The messages have no field
for a trace context, so across processes ``netuowid`` joins the units of work: it is the same in all regions. A
condition is part of a program's work; only an abend sets the status of a span to an error. Records are never in a span.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from opentelemetry.trace import Link, SpanKind, Status, StatusCode, get_tracer, set_span_in_context

from tdqsim.cics import Condition, Region, Task, UnitOfWork
from tdqsim.errors import UsageError
from tdqsim.faults import add_hook, remove_hook
from tdqsim.hosting import RegionInternals
from tdqsim.languages import TaskInternals
from tdqsim.report import resource_of

if TYPE_CHECKING:
    from opentelemetry.trace import Span, TracerProvider

    from tdqsim.cics import Recorder
    from tdqsim.hosting import Fiber

__all__ = ["Tracing", "trace"]

_RESOURCES: Final = ("queue", "tdqueue", "file", "program", "transid", "name")
"""The parameters that may name the resource of a command."""
_EVENTS: Final = (
    "command", "seeded", "task_started", "task_ended", "task_waits", "task_goes_on", "unit_of_work_ends",
    "unit_of_work_ended",
)  # fmt: skip
_OF_A_HISTORY: Final = ("trace", "last_commands", "of", "story", "show")
"""What a recorder may have besides events; dumps and explain use it."""


@dataclass(slots=True, eq=False)
class _Frame:
    """A command that has begun, or a message that is not answered yet."""

    span: Span
    began_ns: int
    fiber: Fiber
    outer: _Frame | None  # the frame around it on the fiber
    task: Task | None = None  # of a command
    arguments: Mapping[str, object] | None = None  # of a command: the same object at its beginning and its end
    is_request: bool = False  # whether the message requests the task that begins in it
    open: bool = True


@dataclass(slots=True)
class _Open:
    """A task or a unit of work: its span, when that began, and the outermost command of a task."""

    span: Span
    began_ns: int
    first: _Frame | None = None


_Holder: TypeAlias = _Frame | _Open | None
_INNERMOST: Final[dict[Fiber, _Frame]] = {}
"""The innermost frame of each fiber. Not by region: a mirror task of another region may run on the same fiber."""


def _close(frame: _Frame, time_ns: int) -> None:
    """End a frame, and the frames inside it that did not return."""
    inner: _Frame | None = _INNERMOST.pop(frame.fiber, None) if frame.open else None
    while inner is not None and frame.open:
        inner.open = False
        inner.span.end(time_ns)
        inner = inner.outer
    if inner is not None:
        _INNERMOST[frame.fiber] = inner


class Tracing:
    """The spans of one region, from :func:`trace` to :meth:`close`."""

    def __init__(self, region: Region, provider: TracerProvider | None) -> None:
        self._region, self._inside = region, RegionInternals(region)
        self._now = region.clock.time_ns
        self._tracer = get_tracer("tdqsim", tracer_provider=provider)
        self._tasks: dict[Task, _Open] = {}
        self._units: dict[str, _Open] = {}
        self._last_unit: tuple[str, _Open] | None = None  # its COMMIT and BACKOUT messages come after its end
        none = SimpleNamespace(trace=None, **dict.fromkeys(_EVENTS, lambda *_args, **_options: None))
        self._before = self._inside.recorder
        self._next: Recorder[Any] = self._before or cast("Recorder[Any]", none)
        for name in (*_EVENTS, *_OF_A_HISTORY):
            if hasattr(self._next, name) and not hasattr(self, name):
                setattr(self, name, getattr(self._next, name))
        self._inside.recorder = cast("Recorder[Any]", self)
        self._inside.link_watch = self._message
        add_hook(region, self)

    def close(self) -> None:
        """Stop tracing. Spans that have not ended end now."""
        inside, now = self._inside, self._now()
        if cast("object", inside.recorder) is self:
            inside.recorder = self._before
        inside.link_watch = None
        remove_hook(self._region, self)
        for task in tuple(self._tasks):
            self._end_task(task, now, normal=True)
        for unit in self._units.values():
            unit.span.end(now)
        self._units.clear()

    # -- hook, recorder and watch of links ------------------------------------------------------------------------

    def before(self, task: Task, command: str, arguments: Mapping[str, object]) -> None:
        """See :class:`tdqsim.cics.Hook`."""
        around = self._around()
        traced = None if TaskInternals(task).implicit else self._tasks.get(task) or self._begin_task(task)
        holder = around if around is not None and around.task is task else traced
        named = (arguments[key] for key in _RESOURCES if key in arguments)
        resource = resource_of(command, arguments) or next(named, None)
        facts = {"command": command, "resource": resource, "sysid": arguments.get("sysid")}
        frame = self._begin_frame(command, holder, facts)
        frame.task, frame.arguments = task, arguments
        if traced is not None and (traced.first is None or not traced.first.open):
            traced.first = frame

    def foresee(self, _task: Task, _command: str, _arguments: Mapping[str, object]) -> Condition | None:
        """The condition that this hook would raise: none."""
        return None

    def after(self, task: Task, _command: str, arguments: Mapping[str, object], outcome: object) -> None:
        """See :class:`tdqsim.cics.Hook`."""
        frame = _INNERMOST.get(self._region.dispatcher.current)
        while frame is not None and frame.arguments is not arguments:
            frame = frame.outer
        if frame is None:
            return  # the command began before the trace
        uow = TaskInternals(task).unit
        if uow is not None and self._own_name(uow) not in self._units:
            self._begin_unit(uow, task, frame)
        resp, resp2 = (outcome.name, outcome.resp2) if isinstance(outcome, Condition) else ("NORMAL", 0)
        frame.span.set_attributes({"cics.resp": resp, "cics.resp2": resp2})
        _close(frame, self._now())

    def unit_of_work_ended(self, uow: UnitOfWork, *, committed: bool) -> None:
        """See :class:`tdqsim.cics.Recorder`."""
        own = self._own_name(uow)
        if own not in self._units:  # it has begun in the command that ends it, or before the trace
            self._begin_unit(uow, cast("Task | None", uow.task), _INNERMOST.get(self._region.dispatcher.current))
        unit, netuowid = self._units.pop(own), uow.coordinator if uow.link and uow.coordinator else own
        self._last_unit = own, unit
        unit.span.set_attributes({"cics.outcome": "COMMIT" if committed else "BACKOUT", "cics.netuowid": netuowid})
        unit.span.end(self._now())
        self._next.unit_of_work_ended(uow, committed=committed)

    def task_started(self, task: Task) -> None:
        """See :class:`tdqsim.cics.Recorder`."""
        self._begin_task(task)
        self._next.task_started(task)

    def task_ended(self, task: Task, *, normal: bool) -> None:
        """See :class:`tdqsim.cics.Recorder`."""
        self._end_task(task, self._now(), normal=normal)
        self._next.task_ended(task, normal=normal)

    @contextmanager
    def _message(self, sysid: str, kind: str, netuowid: str) -> Iterator[None]:
        around = self._around()
        last = self._last_unit[1] if self._last_unit is not None and self._last_unit[0] == netuowid else None
        holder = around or self._units.get(netuowid) or last
        facts = {"sysid": sysid, "message": kind, "netuowid": netuowid}
        frame = self._begin_frame(f"{kind} {sysid}", holder, facts, SpanKind.CLIENT)
        frame.is_request = kind == "REQUEST"
        try:
            yield
        finally:
            _close(frame, self._now())

    # -- spans ----------------------------------------------------------------------------------------------------

    def _around(self) -> _Frame | None:
        """The innermost frame of the fiber. A command from which its task has ended by an exception ends now."""
        frame = _INNERMOST.get(self._region.dispatcher.current)
        while frame is not None and frame.task is not None and TaskInternals(frame.task).ended:
            _close(frame, self._now())
            frame = frame.outer
        return frame

    def _begin_frame(
        self, name: str, holder: _Holder, facts: Mapping[str, object], kind: SpanKind = SpanKind.INTERNAL
    ) -> _Frame:
        now, fiber = self._now(), self._region.dispatcher.current
        frame = _Frame(self._begin(name, now, holder, facts, kind), now, fiber, _INNERMOST.get(fiber))
        _INNERMOST[fiber] = frame
        return frame

    def _begin_task(self, task: Task) -> _Open:
        now, around = self._now(), self._around()
        request = around if around is not None and around.is_request else None
        links = [Link(around.span.get_span_context())] if around is not None and request is None else []
        facts = {key: getattr(task, key) for key in ("transid", "userid")}
        facts |= {"task": task.number, "startcode": TaskInternals(task).startcode, "termid": task.eib.eibtrmid}
        kind = SpanKind.INTERNAL if request is None else SpanKind.SERVER
        span = self._begin(f"task {task.transid}", now, request, facts, kind, links)
        self._tasks[task] = traced = _Open(span, now)
        return traced

    def _end_task(self, task: Task, now: int, *, normal: bool) -> None:
        traced = self._tasks.pop(task, None)
        if traced is None:
            return
        if traced.first is not None:
            _close(traced.first, now)
        if not normal:
            traced.span.set_attribute("cics.abcode", task.abcode)
            traced.span.set_status(Status(StatusCode.ERROR, task.abcode))
        traced.span.end(now)

    def _begin_unit(self, uow: UnitOfWork, task: Task | None, frame: _Frame | None) -> None:
        traced = None if task is None else self._tasks.get(task)
        around = frame if frame is not None and frame.task is task else None
        first, holder = around or traced, traced or around
        began = self._now() if first is None else first.began_ns
        facts = {"uow": uow.id.hex().upper()}
        self._units[self._own_name(uow)] = _Open(self._begin("unit of work", began, holder, facts), began)

    def _own_name(self, uow: UnitOfWork) -> str:
        """The name of a unit of work in messages that its region sends as its coordinator."""
        return f"{self._region.applid}.{uow.id.hex().upper()}"

    def _begin(
        self, name: str, time_ns: int, holder: _Holder, facts: Mapping[str, object],
        kind: SpanKind = SpanKind.INTERNAL, links: Sequence[Link] = (),
    ) -> Span:  # fmt: skip
        shown = {key: each.rstrip(" ") if isinstance(each, str) else each for key, each in facts.items()}
        known = {f"cics.{key}": each for key, each in shown.items() if isinstance(each, str | int) and each != ""}
        context = None if holder is None else set_span_in_context(holder.span)
        attributes = {"cics.applid": self._region.applid, **known}
        return self._tracer.start_span(name, context, kind, attributes, links, time_ns)


def trace(region: Region, tracer_provider: TracerProvider | None = None) -> Tracing:
    """Make spans of everything that a region does from now on.

    A region that is started again needs another call. Attach a history of the region before, and close it after.
    Without ``tracer_provider`` the global provider of OpenTelemetry makes the spans.

    Raises:
        UsageError: the region is traced already.
    """
    if RegionInternals(region).link_watch is not None:
        raise UsageError(f"{region.applid} is traced already; close that trace first")
    return Tracing(region, tracer_provider)
