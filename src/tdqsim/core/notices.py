"""Notices: what was asked for and will not happen, with the reason and the cure.

A region and a system each have one stream of them. A part that finds that something will not happen *gives* it to the
stream, and needs to know nothing of who reads: a script's standard error, the report of a failed test, a command and
its exit code, a console, a log. Each of these is a *subscriber*, a function that is called with each new notice.

While a stream has no subscriber and logging is not configured, its notices are written to standard error, as Python
does with unhandled exceptions. So a script that does not use notices shows them, and a
program that shows them itself, or has configured logging, does not have them twice. :meth:`Notices.silence` ends this
for a stream.

The texts are facts: ``facts/notices.tsv`` has a row for each event, with templates of the resource, the reason and the
cure. The same id, resource and reason are given once while the cause lasts, and counted.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, Literal, Protocol

from tdqsim.core.clock import NS_PER_SECOND
from tdqsim.core.named import NamedTuple
from tdqsim.core.own_frames import is_own_frame

Severity = Literal["error", "warning"]
"""``error``: something that was asked for does not happen, or a task has failed. ``warning``: it may surprise."""

_KEPT: Final = 1_000
"""The number of notices that a stream keeps, the last ones."""
_LONGEST: Final = 2_000
"""The characters of a reason or cure; names and texts of users may be in it."""
_FRAMES: Final = 10
"""The user's lines of a traceback, the innermost ones."""
_PACKAGE: Final = __name__.partition(".")[0]


class Notice(NamedTuple):
    """Something that will not happen, or has failed.

    Attributes:
        id: the vendor's message id if there is one, such as DFHTD0183; otherwise an id of this package, TDQ and digits.
        resource: what it is about, such as ``TDQUEUE(PAYQ)``; empty for the whole region or system.
        reason: why, in sentences.
        cure: what to do, in a sentence; empty if there is nothing to do.
        severity: ``error``, or ``warning`` for what may surprise.
        event: the name of its event in the log and in ``facts/notices.tsv``; empty if it has no row there.
        task: the number of the task, or the name of the job, that it happened to; empty for none.
        traceback: the lines of the user's own files in the traceback of the error, as Python prints them.
        time_ns: when, in nanoseconds since 1970 on the clock of the region or system.
    """

    id: str
    resource: str
    reason: str
    cure: str = ""
    severity: Severity = "error"
    event: str = ""
    task: str = ""
    traceback: str = ""
    time_ns: int = 0

    def __str__(self) -> str:
        """The notice as text: one line, and the lines of the traceback."""
        about = f"{self.id} {self.resource}".rstrip()
        text = f"{about}: {self.reason}{f' {self.cure}' if self.cure else ''}"
        return f"{text}\n{self.traceback}" if self.traceback else text


class Wordings(Protocol):
    """The texts of all events."""

    def __call__(self, event: str, inserts: Mapping[str, object], /) -> Notice:
        """The notice of one event, without its time."""


class EventLog(Protocol):
    """The log to which notices are also written."""

    def warning(self, event: str, **values: object) -> None:
        """Log an event that may surprise."""

    def error(self, event: str, **values: object) -> None:
        """Log a failure."""


Subscriber = Callable[[Notice], object]


class Notices:
    """The notices of one region or system, the last 1,000 of them, oldest first.

    Args:
        source: the region or system, as shown before each notice on standard error.
        wordings: the texts of events.
        time_ns: the present time.
        log: the log of the region or system.

    Attributes:
        counts: the notices that last, by resource, then by id and reason, each with how often it was given.
    """

    __slots__ = ("_kept", "_log", "_silent", "_subscribers", "_time_ns", "_wordings", "counts", "source")

    def __init__(
        self, source: str, wordings: Wordings, time_ns: Callable[[], int], log: EventLog | None = None
    ) -> None:
        self.source = source
        self._wordings, self._time_ns, self._log = wordings, time_ns, log
        self._kept: deque[Notice] = deque()
        self.counts: dict[str, dict[tuple[str, str], tuple[int, Notice]]] = {}
        self._subscribers: list[Subscriber] = []
        self._silent = False

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Notice]:
        return iter(tuple(self._kept))

    def __getitem__(self, index: int) -> Notice:
        return self._kept[index]

    def __repr__(self) -> str:
        return f"<Notices of {self.source}: {len(self._kept)}>"

    # -- saying -------------------------------------------------------------------------------------------------------

    def say(
        self,
        event: str,
        *,
        traceback: BaseException | str = "",
        exc_info: BaseException | None = None,
        **inserts: Any,
    ) -> bool:
        """Report that something will not happen, in the words of ``facts/notices.tsv``, and log the event.

        Args:
            event: the row.
            traceback: see :class:`Notice`; of an error, its lines in the user's files.
            exc_info: an error whose whole traceback is for the log.
            inserts: what the templates name, by the vendor's names of it: ``queue``, ``transid``, ``task``, ...

        Returns:
            Whether it is new: it was not given before, or no longer lasted.
        """
        words = self._wordings(event, inserts)
        lines = own_lines(traceback) if isinstance(traceback, BaseException) else traceback
        if self._log is not None:
            write = self._log.error if words.severity == "error" else self._log.warning
            more = {} if exc_info is None else {"exc_info": exc_info}
            write(event, id=words.id, **inserts, **more)
        task, reason, cure = str(inserts.get("task", "")), _bounded(words.reason), _bounded(words.cure)
        time_ns = self._time_ns()
        return self._add(words._replace(reason=reason, cure=cure, task=task, traceback=lines, time_ns=time_ns))

    def clock_set_back(self, back_ns: int, ahead_ns: int) -> None:
        """Report that the machine's clock was set back; see :attr:`tdqsim.core.clock.Clock.on_set_back`."""
        self.say("clock_set_back", seconds=round(back_ns / NS_PER_SECOND), ahead=round(ahead_ns / NS_PER_SECOND))

    def add(self, message_id: str, resource: str, reason: str, cure: str = "", **more: Any) -> bool:
        """Add a notice with texts that are made elsewhere, such as those of a vendor's message.

        Args:
            message_id: the ``id``.
            resource: its resource.
            reason: why, in sentences.
            cure: what to do.
            more: ``severity``, ``event``, ``task`` and ``traceback`` of it.

        Returns:
            Whether it is new: it was not given before, or no longer lasted.
        """
        notice = Notice(message_id, resource, _bounded(reason), _bounded(cure), time_ns=self._time_ns(), **more)
        if self._log is not None:
            write = self._log.error if notice.severity == "error" else self._log.warning
            write(notice.event or "notice", id=message_id, resource=resource, reason=notice.reason)
        return self._add(notice)

    def _add(self, notice: Notice) -> bool:
        key, counts = (notice.id, notice.reason), self.counts.setdefault(notice.resource, {})
        if key in counts:
            times, said = counts[key]
            counts[key] = times + 1, said
            return False
        counts[key] = 1, notice
        self._kept.append(notice)
        if len(self._kept) > _KEPT:
            oldest = self._kept.popleft()
            forgotten, gone = self.counts.get(oldest.resource, {}), (oldest.id, oldest.reason)
            if gone in forgotten and forgotten[gone][1] is oldest:  # it may have ended, and been said anew
                del forgotten[gone]
            if not forgotten:
                self.counts.pop(oldest.resource, None)
        for subscriber in tuple(self._subscribers):
            subscriber(notice)
        if not self._subscribers and not self._silent:
            _write(self.source, notice)
        return True

    def over(self, resource: str, message_id: str = "") -> None:
        """The cause of a resource's notices, or of those with one id, has ended; it gets a new notice if it returns."""
        counts = self.counts.get(resource)
        if counts is not None:
            left = {key: said for key, said in counts.items() if message_id not in ("", key[0])}
            self.counts[resource] = left
            if not left:
                del self.counts[resource]

    def times(self, notice: Notice) -> int:
        """How often a notice was given while its cause lasts; 1 if its cause has ended."""
        return self.counts.get(notice.resource, {}).get((notice.id, notice.reason), (1, notice))[0]

    # -- reading ------------------------------------------------------------------------------------------------------

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call a function with each new notice; while there is one, nothing is written to standard error."""
        self._subscribers.append(subscriber)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Call a function no longer; without effect if it is not subscribed."""
        if subscriber in self._subscribers:
            self._subscribers.remove(subscriber)

    def silence(self) -> None:
        """Write nothing to standard error from now on; the notices are still here, and in the log."""
        self._silent = True

    @property
    def lasting(self) -> tuple[Notice, ...]:
        """Those whose cause has not ended, as far as is known."""
        last = {(each.id, each.resource, each.reason): each for each in self._kept}
        return tuple(each for each in last.values() if (each.id, each.reason) in self.counts.get(each.resource, ()))


def own_lines(error: BaseException) -> str:
    """The traceback of an error, with the lines of the user's files only, and the error itself at its end.

    Args:
        error: the error; for one without a line outside this package the text is empty.
    """
    import traceback  # noqa: PLC0415  (needed only after a failure)

    stack = traceback.StackSummary.from_list(
        [
            traceback.FrameSummary(frame.f_code.co_filename, line, frame.f_code.co_name)
            for frame, line in traceback.walk_tb(error.__traceback__)
            if is_own_frame(frame)
        ]
    )
    if not stack:
        return ""
    shown = stack.format()[-_FRAMES:]
    last = traceback.format_exception_only(type(error), error)
    return "".join(["Traceback (most recent call last):\n", *shown, *last]).rstrip("\n")


def _bounded(text: str) -> str:
    """A text on one line, without control characters, and not endless."""
    line = "".join(each if each.isprintable() else " " for each in text[: _LONGEST + 1])
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..."


def _write(source: str, notice: Notice) -> None:
    """Write a notice to standard error, unless logging is configured: then it is in the log."""
    logging = sys.modules.get("logging")
    if sys.stderr is None or (logging is not None and logging.getLogger(_PACKAGE).hasHandlers()):
        return
    with suppress(OSError, ValueError):  # no process reads it any more, or it is closed
        sys.stderr.write(f"tdqsim: {source}: {notice}\n")
        sys.stderr.flush()
