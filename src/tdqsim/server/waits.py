"""Waits of clients: for the number of records of a queue, for a condition, for the end of a task or of all tasks.

Each waits at the one queue, or at the tasks of the one region. What happens there is told by the region's recorder,
so a change looks only at those who wait for it, however many wait elsewhere.

============================  ================================================
told of                       looks at those who wait for
============================  ================================================
a command on a queue, a seed  the queue, and what it stands for
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

from tdqsim.cics import Region
from tdqsim.cics.look.state import names_along
from tdqsim.core.clock import NS_PER_SECOND
from tdqsim.core.dispatch import WAIT, WaitQueue
from tdqsim.core.engine import Engine
from tdqsim.errors import UsageError

__all__ = ["ChangeWaits"]

_TASKS: Final = ""
_CONDITION: Final = "condition "
"""Stands before the name of a condition: no queue has such a name."""


class ChangeWaits:
    """All who wait, by region and queue.

    Args:
        engine: its thread has the regions; what is told of changes is told there.
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
        """Wait until a queue has so many records.

        Args:
            region: its region.
            queue: the queue.
            items: how many at least.
            seconds: how long the wait lasts at most.
            at_most: how many at most; None for any number.

        Raises (in the future):
            Condition: QIDERR: there is no such queue, or no more. TimedOut: after so many seconds.
            TdqError: NUMITEMS is not known of such a queue.
        """

        def there() -> bool:
            numitems = int(region.inquire_tdqueue(queue, "NUMITEMS").numitems)
            if numitems < 0:
                raise UsageError(f"queue {queue}: only an intrapartition queue has a number of items to wait for")
            return numitems >= items and (at_most is None or numitems <= at_most)

        return self._wait(region, queue.rstrip(" "), there, seconds)

    def for_tasks(self, region: Region, seconds: float, *, task: int | None = None) -> Future[bool]:
        """Wait until all tasks of a region have ended, or one that is given by its number.

        A number that no task has is that of a task which has ended. TimedOut is raised in the future after so many
        seconds.
        """
        return self._wait(
            region, _TASKS, lambda: not region.tasks if task is None else task not in region.tasks, seconds
        )

    def for_condition(
        self, region: Region, condition: str, seconds: float, *, has_come: Callable[[], bool]
    ) -> Future[bool]:
        """Wait until a command of a region meets a condition.

        Args:
            region: the region.
            condition: its name, such as ``NOSPACE``.
            seconds: how long the wait lasts at most; then TimedOut is raised in the future.
            has_come: whether a command has met it; asked at the beginning, and when a command has.
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
        """A queue may have changed, by its own name or by another that stands for it."""
        if self._parked:
            for name in names_along(region, queue.rstrip(" ")):
                self._wake((region.applid, name))

    def condition_came(self, region: Region, condition: str) -> None:
        """A command has met a condition."""
        self._wake((region.applid, _CONDITION + condition))

    def task_ended(self, region: Region) -> None:
        """A task has ended."""
        self._wake((region.applid, _TASKS))

    def all_changed(self, region: Region) -> None:
        """Any queue may have changed."""
        for key in [key for key in self._parked if key[0] == region.applid]:
            self._wake(key)

    def _wake(self, key: tuple[str, str]) -> None:
        parked = self._parked.get(key)
        if parked is not None:
            parked.wake_all()
