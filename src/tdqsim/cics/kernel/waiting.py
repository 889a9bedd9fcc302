"""Waiting inside a command. INQUIRE TASK and other commands show what a task waits for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from tdqsim.cics.kernel.conditions import Abend
from tdqsim.cics.model.task import TaskData
from tdqsim.cics.model.unit import transaction_of
from tdqsim.core.fiber import Fiber, TimedOut, WaitMark, WaitQueue
from tdqsim.facts import Cvda

T = TypeVar("T")

TIMED_OUT: Final = "AKCS"


def wait(task: TaskData, attempt: Callable[[], T | WaitMark], queue: WaitQueue, kind: str, name: str) -> T:
    """Wait inside a command, for the arguments see :func:`park`; at most for DTIMOUT, if the task may be purged.

    Raises:
        Abend: AKCS: DTIMOUT is over; AEXY or the code of another purge: the task was purged.
    """
    timeout_ns = task._dtimout_ns
    if timeout_ns is not None and not is_purgeable(task):
        timeout_ns = None
    try:
        return park(task, attempt, queue, kind, name, timeout_ns)
    except TimedOut as error:
        raise Abend(TIMED_OUT, detail=f"{error}; DTIMOUT of transaction {task.transid} is over") from error


def is_purgeable(task: TaskData) -> bool:
    """Whether DTIMOUT and PURGE may end a task: its transaction does not have SPURGE(NO)."""
    entry = transaction_of(task)
    return entry is None or entry.definition.spurge == "YES"


def park(
    task: TaskData,
    attempt: Callable[[], T | WaitMark],
    queue: WaitQueue,
    kind: str,
    name: str,
    timeout_ns: int | None = None,
) -> T:
    """Wait until an attempt succeeds; INQUIRE TASK shows the wait meanwhile.

    Args:
        attempt: called again each time the task is woken, until it returns something other than WAIT.
        queue: the wait queue in which the task waits.
        kind: the wait's resource type as INQUIRE TASK shows it, such as ``TD_READ``.
        name: its resource name.
        timeout_ns: how long at most; None for no limit.

    Raises:
        TimedOut: it has waited for ``timeout_ns``.
        Abend: the task was purged.
    """
    region = task._region
    region.dispatcher.check_thread()
    fiber = region.dispatcher.current
    before = fiber.local
    try:
        try:
            task._suspended, fiber.local = (kind, name), task
            region.tasks.setdefault(task.number, task)
            if region.recorder is not None:
                what = queue.holders() if queue.holders is not None else ""
                region.recorder.task_waits(task, queue.name, what)
            _unit_waits(task, Cvda.ACTIVE, Cvda.WAITING)
            return region.dispatcher.wait(attempt, queue, timeout_ns)
        finally:
            _unpark(task, fiber, before)
    except BaseException:  # an interrupt may have prevented or stopped the inner finally
        _unpark(task, fiber, before)
        raise


def _unpark(task: TaskData, fiber: Fiber, before: object) -> None:
    if task._suspended is None:
        return
    region, fiber.local = task._region, before
    if task._implicit and region.tasks.get(task.number) is task:
        del region.tasks[task.number]
    _unit_waits(task, Cvda.WAITING, Cvda.ACTIVE)
    if region.recorder is not None:
        region.recorder.task_goes_on(task)
    task._suspended = None
    task._suspensions += 1


def _unit_waits(task: TaskData, before: Cvda, after: Cvda) -> None:
    """Change the wait state of the task's unit of work, unless the unit of work was shunted."""
    uow = task._unit
    if uow is not None and uow.waitstate is before:
        uow.waitstate, uow.since_ns = after, task._region.clock.time_ns()
