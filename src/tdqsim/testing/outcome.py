"""Collects failures of tasks whose ``result()`` no test requests: abends, and starts without a program.

The program that reaches a trigger level or issues START does not learn how the started task ends: an abend is only a
message on CSMT and a number in the statistics. Such failures are collected here, so that a test fails because of them,
and a command can show them. What else does not happen is taken from the notices of the regions and systems. Tasks whose
``result()`` was requested, and tasks that were ended on purpose, are not included.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from tdqsim.core.own_frames import own_places
from tdqsim.errors import RegionClosed, SystemClosed

if TYPE_CHECKING:
    from tdqsim.cics import Region
    from tdqsim.core.fiber import Fiber
    from tdqsim.core.notices import Notice, Notices
    from tdqsim.ibmi import System

_ENDS: Final = ("abend", "job_failed")
"""The events of a task or job that has failed: the fiber, which knows whether it was fetched, reports it."""


class Outcome(NamedTuple):
    """One failure.

    Attributes:
        code: the abend code, message ID, or name of the exception, by which a test can expect the failure.
        text: a description in a sentence.
        fiber: the task that ended; None if no task was started.
    """

    code: str
    text: str
    fiber: Fiber | None

    @property
    def reported(self) -> bool:
        """Whether the test has got the failure: ``result()`` has raised it, or the task was ended on purpose."""
        return self.fiber is not None and self.fiber.reported


class Outcomes:
    """Collects the failures on one dispatcher: call it with each fiber that is about to run, and each region.

    Attributes:
        notices: the notices of the regions and systems since they are watched.
        ended: the number of tasks that have ended.
    """

    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self.ended = 0
        self._failures: list[Outcome] = []
        self._streams: list[Notices] = []
        self._last: Fiber | None = None

    def watch(self, owner: Region | System, *, earlier: bool = False) -> None:
        """Also collect the notices of a region or system; it writes none to standard error from now on.

        Args:
            owner: the region or system.
            earlier: whether to include its notices so far.
        """
        self._streams.append(owner.notices)
        self.notices += owner.notices if earlier else ()
        owner.notices.subscribe(self.notices.append)

    def dispatched(self, fiber: Fiber | None) -> None:
        """Called before a fiber runs, when the previous one has ended or waits; with None at the end of the test."""
        last, self._last = self._last, fiber
        if last is None or not last.done:
            return
        self.ended += 1
        error = last.exception
        if error is not None and not isinstance(error, RegionClosed | SystemClosed):
            self._failures.append(Outcome(getattr(error, "code", "") or _code(error), _description(last, error), last))

    def unexpected(self, expected: Iterable[str] = ()) -> list[Outcome]:
        """The failures that the test has not got so far, without the expected abend codes and message IDs."""
        self.dispatched(None)
        allowed = frozenset(expected)
        lasting = {notice for stream in self._streams for notice in stream.lasting}
        not_done = [
            Outcome(each.id, str(each), None)
            for each in self.notices
            if each.severity == "error" and each.event not in _ENDS and each in lasting
        ]
        failures = [*self._failures, *not_done]
        return [each for each in failures if not each.reported and each.code not in allowed]


def _code(error: BaseException) -> str:
    return str(getattr(error, "message_id", "") or type(error).__name__)


def _description(fiber: Fiber, error: BaseException) -> str:
    cause = error.__cause__ if error.__cause__ is not None else error
    *_, (file, line) = ("", 0), *own_places(cause.__traceback__)
    place = f" ({file}:{line})" if file else ""
    return f"{fiber.name}: {error}{place}"
