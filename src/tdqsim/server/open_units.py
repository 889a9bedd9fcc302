"""Units of work that stay open between the requests of a client.

Each is a task of its region that waits for its next request: a suspended greenlet, not a blocked thread. It ends by
commit or backout. If no request arrives for too long, it is backed out. A unit of work belongs to the user who began
it.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final

from tdqsim.cics import Abend, Region, Task
from tdqsim.errors import TdqError
from tdqsim.hosting import WAIT, Engine, WaitQueue
from tdqsim.server.acting import API_TRANSID
from tdqsim.server.bounds import BOUNDS

_NS: Final = 10**9


class UnknownUnit(TdqError):
    """No unit of work with that id is open: it ended, was backed out after a timeout, or belongs to another user."""


class TooManyUnits(TdqError):
    """The maximum number of units of work is open."""


@dataclass(slots=True)
class _Open:
    region: Region
    user: str
    idle_ns: int
    inbox: deque[tuple[Callable[[Task], Any], Future[Any]]] = field(default_factory=deque)
    waiting: WaitQueue = field(default_factory=lambda: WaitQueue("the client's next request"))
    over: bool = False
    variables: dict[str, Any] = field(default_factory=dict)


class OpenUnits:
    """The open units of work of a server, by id."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._open: dict[str, _Open] = {}

    def begin(
        self, region: Region, user: str, idle_seconds: float | None = None, *, transid: str = API_TRANSID
    ) -> Future[str]:
        """Begin a unit of work; the future returns its id.

        Raises:
            TooManyUnits: the maximum number is open.
        """
        if len(self._open) >= BOUNDS["open_units"]:
            raise TooManyUnits(f"{len(self._open)} units of work are open, which is the maximum")
        seconds = min(idle_seconds or BOUNDS["unit_idle_seconds"], BOUNDS["unit_idle_most"])
        unit = _Open(region, user, round(seconds * _NS))
        unit_id = secrets.token_hex(8)

        def start() -> str:
            self._open[unit_id] = unit
            region.start(lambda task: self._live(unit_id, unit, task), transid=transid, userid=user)
            return unit_id

        return self._engine.outside(start)

    def do(self, unit_id: str, user: str, action: Callable[[Task], Any], *, last: bool = False) -> Future[Any]:
        """Run an action in a unit of work; ``last`` if the unit of work ends with it.

        Raises:
            UnknownUnit: no unit of work has that id, or it belongs to another user.
        """
        unit = self._open.get(unit_id)
        if unit is None or unit.user != user:
            raise UnknownUnit(f"no unit of work {unit_id} is open")
        answer: Future[Any] = Future()
        if last:
            answer.set_running_or_notify_cancel()  # must not be cancelled: the task would return, which commits

        def hand_over() -> None:
            if unit.over:
                _refuse(answer, f"no unit of work {unit_id} is open")
                return
            unit.over = last
            unit.inbox.append((action, answer))
            unit.waiting.wake_all()

        self._engine.outside(hand_over)
        return answer

    def variables(self, unit_id: str) -> dict[str, Any]:
        """The variables of its CECI session; empty if there is no such unit of work."""
        unit = self._open.get(unit_id)
        return {} if unit is None else unit.variables

    def owner(self, unit_id: str) -> str:
        """The user of a unit of work; empty if there is none."""
        unit = self._open.get(unit_id)
        return "" if unit is None else unit.user

    def end_all(self) -> None:
        """Back out all open units of work."""
        for unit_id, unit in tuple(self._open.items()):
            try:
                self.do(unit_id, unit.user, lambda task: task.syncpoint_rollback(), last=True)
            except TdqError:
                continue  # the unit of work has ended meanwhile

    def _live(self, unit_id: str, unit: _Open, task: Task) -> None:
        """The program of the task: execute requests until the end, or until none arrives for too long."""
        try:
            while True:
                try:
                    action, answer = self._next(unit)
                except TimeoutError:
                    task.syncpoint_rollback()
                    return
                _answer(answer, action, task)
                if unit.over and not unit.inbox:
                    return
        finally:
            unit.over = True
            self._open.pop(unit_id, None)
            for _action, answer in unit.inbox:
                _refuse(answer, f"the unit of work {unit_id} has ended")

    def _next(self, unit: _Open) -> tuple[Callable[[Task], Any], Future[Any]]:
        dispatcher = self._engine.dispatcher
        return dispatcher.wait(lambda: unit.inbox.popleft() if unit.inbox else WAIT, unit.waiting, unit.idle_ns)


def _is_awaited(answer: Future[Any]) -> bool:
    """Whether the client still waits for the answer; it cannot cancel the request any more."""
    return answer.running() or answer.set_running_or_notify_cancel()


def _refuse(answer: Future[Any], why: str) -> None:
    if _is_awaited(answer):
        answer.set_exception(UnknownUnit(why))


def _answer(answer: Future[Any], action: Callable[[Task], Any], task: Task) -> None:
    if not _is_awaited(answer):
        return
    try:
        answer.set_result(action(task))
    except Abend as error:  # this ends the task, which is backed out
        answer.set_exception(error)
        raise
    except Exception as error:  # noqa: BLE001  (the error is the answer to the client)
        answer.set_exception(error)
    except BaseException:  # the task was ended from outside, or returned: the client must get an answer
        answer.set_exception(UnknownUnit("the unit of work has ended with this request"))
        raise
