"""Waits of clients: for the number of records of a queue, for a condition, for the end of a task or of all tasks.

A wait is registered for its queue, or for the tasks of its region. The region's recorder reports changes, so each
change checks only the waits for it, however many other waits there are.

============================  ================================================
reported change               checks the waits for
============================  ================================================
a command on a queue, a seed  the queue, and the target of an alias
an ended unit of work         the queues that it changed
a condition of a command      this condition
an ended task                 the end of tasks
other changes                 every queue of the region, by :meth:`ChangeWaits.all_changed`
============================  ================================================
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final

from tdqsim import state
from tdqsim.cics import Region
from tdqsim.errors import UsageError
from tdqsim.hosting import NS_PER_SECOND, WAIT, Engine, WaitQueue

_TASKS: Final = ""
_CONDITION: Final = "condition "
"""The prefix of the name of a condition: no queue has such a name."""


class ChangeWaits:
    """The waits of clients, by region and queue.

    Args:
        engine: the engine that owns the regions; changes are reported in its thread.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._parked: dict[tuple[str, str], WaitQueue] = {}

    def __len__(self) -> int:
        return sum(map(len, tuple(self._parked.values())))

    # -- for all threads ------------------------------------------------------------------------------------------

    def for_items(
        self, region: Region, queue: str, items: int, seconds: float, *, at_most: int | None = None
    ) -> Future[bool]:
        """Wait until the number of records of a queue is in a range.

        Args:
            region: the region of the queue.
            queue: the queue.
            items: the minimum.
            seconds: the time limit.
            at_most: the maximum; None for any number.

        Raises (in the future):
            Condition: QIDERR: the queue does not exist, or no longer exists. TimeoutError: at the time limit.
            TdqError: the queue has no NUMITEMS.
        """

        def there() -> bool:
            numitems = int(region.inquire_tdqueue(queue, "NUMITEMS").numitems)
            if numitems < 0:
                raise UsageError(f"queue {queue}: only an intrapartition queue has a number of items to wait for")
            return numitems >= items and (at_most is None or numitems <= at_most)

        return self._wait(region, queue.rstrip(" "), there, seconds)

    def for_tasks(self, region: Region, seconds: float, *, task: int | None = None) -> Future[bool]:
        """Wait until all tasks of a region have ended, or the task with a number.

        A number without a task counts as a task that has ended. At the time limit TimeoutError is raised in the future.
        """
        return self._wait(
            region, _TASKS, lambda: not region.tasks if task is None else task not in region.tasks, seconds
        )

    def for_condition(
        self, region: Region, condition: str, seconds: float, *, has_come: Callable[[], bool]
    ) -> Future[bool]:
        """Wait until a command of a region ends with a condition.

        Args:
            region: the region.
            condition: the name of the condition, such as ``NOSPACE``.
            seconds: the time limit; at its end TimeoutError is raised in the future.
            has_come: returns whether a command has ended with it; called at the beginning and after each such command.
        """
        return self._wait(region, _CONDITION + condition, has_come, seconds)

    def _wait(self, region: Region, at: str, there: Callable[[], bool], seconds: float) -> Future[bool]:
        key = (region.applid, at)

        def attempt() -> Any:
            return True if there() else WAIT

        def wait() -> bool:
            parked = self._parked.get(key)
            if parked is None:
                parked = self._parked[key] = WaitQueue(f"a change of {at or 'the tasks'} in {region.applid}")
            try:
                return bool(self._engine.dispatcher.wait(attempt, parked, round(seconds * NS_PER_SECOND)))
            finally:
                if not parked and self._parked.get(key) is parked:
                    del self._parked[key]

        return self._engine.submit(wait, name="a wait for a change")

    # -- for the engine's thread ----------------------------------------------------------------------------------

    def queue_changed(self, region: Region, queue: str) -> None:
        """Report that a queue, given by its name or an alias, may have changed."""
        if self._parked:
            for name in state.aliases(region, queue.rstrip(" ")):
                self._wake((region.applid, name))

    def condition_came(self, region: Region, condition: str) -> None:
        """Report that a command has ended with a condition."""
        self._wake((region.applid, _CONDITION + condition))

    def task_ended(self, region: Region) -> None:
        """Report that a task has ended."""
        self._wake((region.applid, _TASKS))

    def all_changed(self, region: Region) -> None:
        """Report that any queue may have changed."""
        for key in [key for key in self._parked if key[0] == region.applid]:
            self._wake(key)

    def _wake(self, key: tuple[str, str]) -> None:
        parked = self._parked.get(key)
        if parked is not None:
            parked.wake_all()
