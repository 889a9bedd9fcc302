"""Shared commits: units of work that reach their end together are made permanent together.

A started task that reaches its syncpoint says what it will change and waits here. When no task is ready, or all that
were ready have had a turn, one commit makes the changes of all that wait (with one sync, with durability ``power``).
The program outside the tasks commits at once, and so serves those that wait too. Until the commit nothing of it is in
the store: nobody can read what might still be undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tdqsim.core.dispatch import WAIT, WaitQueue
from tdqsim.errors import StoreError

if TYPE_CHECKING:
    from tdqsim.core.dispatch import Dispatcher
    from tdqsim.core.store import Environment

__all__ = ["Hardening"]


class _Batch:
    """Those who wait for the same commit."""

    __slots__ = ("awaited", "done", "error")

    def __init__(self) -> None:
        self.awaited = self.done = False
        self.error: StoreError | None = None


class Hardening:
    """The commits of one region's durable data.

    Attributes:
        commits: how many were made, for statistics and benchmarks.
        urgent: whether nobody waits now: see :meth:`at_once`.
    """

    __slots__ = ("_batch", "_dispatcher", "_durable", "_promised", "_waiting", "commits", "urgent")

    def __init__(self, dispatcher: Dispatcher, durable: Environment) -> None:
        self._dispatcher = dispatcher
        self._durable = durable
        self._waiting = WaitQueue("the commit that it shares with others")
        self._batch = _Batch()
        self._promised: list[tuple[Callable[[], None], Callable[[], None]]] = []
        self.commits = 0
        self.urgent = False

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Let nobody wait inside: a link that goes or comes does so at one moment, with all that follows from it."""
        before, self.urgent = self.urgent, True
        try:
            yield
        finally:
            self.urgent = before

    def promise(self, change: Callable[[], None], made: Callable[[], None]) -> None:
        """Say what the next commit must change, and what is to be called when it is made."""
        self._promised.append((change, made))

    def force(self) -> None:
        """Commit now what is in the store's open transaction and what was promised.

        Raises:
            StoreError: it failed; everything since the last commit was undone, for all that wait too.
        """
        self.commits += 1
        batch, self._batch = self._batch, _Batch()
        promised, self._promised = self._promised, []
        batch.done = True
        try:
            for change, _ in promised:
                change()
            self._durable.commit()
        except StoreError as error:
            self._undo(batch, error)
            raise
        except BaseException as error:  # an interrupt too: half of a unit of work must not wait for the next commit
            self._undo(batch, StoreError(f"the commit was not made: {error!r}"))
            raise
        else:
            for _, made in promised:
                made()
        finally:
            self._waiting.wake_all()

    def _undo(self, batch: _Batch, error: StoreError) -> None:
        """Nobody of a batch is to believe that its commit was made."""
        batch.error = error
        if self._durable.dirty:
            self._durable.abort()

    def wait(self) -> None:
        """Commit together with the other tasks that are about to; outside the tasks, and :meth:`at_once`, commit now.

        Raises:
            StoreError: the commit failed, and everything in it was undone.
        """
        dispatcher = self._dispatcher
        if self.urgent or dispatcher.current is dispatcher.outside:
            self._force_alone()
            return
        batch = self._batch
        if not batch.awaited:
            batch.awaited = True
            dispatcher.call_after_round(self.serve)  # or a task that is always ready would keep them for ever

        def attempt() -> Any:
            return None if batch.done else WAIT

        try:
            dispatcher.wait(attempt, self._waiting)
        except BaseException:
            if not batch.done:
                self._force_alone()  # a commit that has begun is not given up half-way: not even at the region's end
            if batch.error is not None:
                raise batch.error from None
            raise
        if batch.error is not None:
            raise batch.error

    def _force_alone(self) -> None:
        """Commit at once; whatever error ends that, the commit was not made, and the caller must know."""
        try:
            self.force()
        except StoreError:
            raise
        except Exception as error:
            raise StoreError(f"the commit was not made: {error!r}") from error

    def serve(self) -> None:
        """Commit for those who wait, if there are any: no task is ready, or all that were have had a turn."""
        if self._batch.awaited:
            try:
                self._force_alone()
            except StoreError:
                return  # each of those who wait raises it
