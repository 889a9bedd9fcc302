"""Shared commits: units of work that reach their end together are made permanent together.

A started task that has put its changes into the store's open transaction waits here; when no task is ready, one commit
serves all that wait (and one sync, with durability ``power``). The program outside the tasks commits at once, and so
serves those that wait too. The store has one transaction, so what is committed first includes all that came before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tdqsim.core.dispatch import WAIT, WaitQueue
from tdqsim.errors import StoreError

if TYPE_CHECKING:
    from tdqsim.core.dispatch import Dispatcher
    from tdqsim.core.store import Environment

__all__ = ["Hardening"]


class _Batch:
    """Those who wait for the same commit."""

    __slots__ = ("done", "error")

    def __init__(self) -> None:
        self.done = False
        self.error: StoreError | None = None


class Hardening:
    """The commits of one region's durable data.

    Attributes:
        commits: how many were made, for statistics and benchmarks.
    """

    __slots__ = ("_batch", "_dispatcher", "_durable", "_waiting", "commits")

    def __init__(self, dispatcher: Dispatcher, durable: Environment) -> None:
        self._dispatcher = dispatcher
        self._durable = durable
        self._waiting = WaitQueue("the commit that it shares with others")
        self._batch = _Batch()
        self.commits = 0

    def force(self) -> None:
        """Commit now.

        Raises:
            StoreError: it failed; everything since the last commit was undone, for all that wait too.
        """
        self.commits += 1
        batch, self._batch = self._batch, _Batch()
        batch.done = True
        try:
            self._durable.commit()
        except StoreError as error:
            batch.error = error
            if self._durable.dirty:
                self._durable.abort()
            raise
        finally:
            self._waiting.wake_all()

    def wait(self) -> None:
        """Commit together with the other tasks that are about to; outside the tasks, commit now.

        Raises:
            StoreError: the commit failed, and everything in it was undone.
        """
        dispatcher = self._dispatcher
        if dispatcher.current is dispatcher.outside:
            self.force()
            return
        batch = self._batch

        def attempt() -> Any:
            return None if batch.done else WAIT

        try:
            dispatcher.wait(attempt, self._waiting)
        except BaseException:
            if not batch.done:
                self.force()  # a commit that has begun is not given up half-way: not even at the region's end
            if batch.error is not None:
                raise batch.error from None
            raise
        if batch.error is not None:
            raise batch.error

    def undo(self, error: StoreError) -> None:
        """A change failed half-way: undo everything since the last commit, and tell those who wait."""
        batch, self._batch = self._batch, _Batch()
        batch.done, batch.error = True, error
        self._durable.abort()
        self._waiting.wake_all()

    def idle(self) -> None:
        """No task is ready: serve those who wait."""
        if self._waiting and not self._batch.done:
            try:
                self.force()
            except StoreError:
                return  # each of those who wait raises it
