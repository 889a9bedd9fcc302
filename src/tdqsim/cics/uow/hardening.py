"""Commits: the one door of a region to what is durable.

A caller that changes something durable passes all of it at once: the works on its queues, the meta data that goes with
them, and the party whose commit it is. With durability ``power``, where a commit waits for the disk, units of work of
started tasks that reach their end together share a commit: each leaves a request with the store and waits until no task
is ready, or all that were ready have had a turn. The program outside the tasks commits at once, and its commit includes
the requests that wait. A task that waits has ended nothing yet: its locks are held, and no other task can read what
might still be undone.

The requests, and what became of them, are the store's (:class:`~tdqsim.core.store.Durable`): after an exception the
next caller settles, and every task that waits looks at its own request. So no unit of work is committed twice, and none
is forgotten.

Small notes that may as well go with the next commit (the catalogue, decisions that everybody has heard) are kept until
then, and looked up as if they were made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Final, cast

from tdqsim.cics.kernel.waiting import park
from tdqsim.cics.model.region import Party
from tdqsim.core.dispatch import WAIT, WaitMark, WaitQueue
from tdqsim.core.store import CommitRequest
from tdqsim.errors import StoreError

if TYPE_CHECKING:
    from tdqsim.core.dispatch import Dispatcher
    from tdqsim.core.store import CommitOwner, Durable, Work

__all__ = ["Hardening", "Party"]

Meta = Mapping[bytes, bytes | None]
_NOTHING: Final[Meta] = {}


class Hardening:
    """The commits of one region.

    Args:
        dispatcher: whose tasks wait for each other.
        durable: what is committed.
        shared: whether tasks share commits.

    Attributes:
        share: commit together with the other tasks that are about to, or at once if no task may wait; returns what
            reached the task while it waited, else None. Raises StoreError: the commit failed, nothing of it was made.
        commits: how many were made, for statistics and benchmarks.
        store_failed: called when the system could not write the store; None for nothing.
        timed: called with the seconds that each commit took; None if no one measures.
        urgent: whether no task may wait now: see :meth:`at_once`.
    """

    __slots__ = (
        "_dispatcher", "_durable", "_shared", "_waiting", "commits", "share", "store_failed", "timed",
        "urgent",
    )  # fmt: skip

    share: Callable[[Collection[Work], Meta, Party], BaseException | None]

    def __init__(self, dispatcher: Dispatcher, durable: Durable, *, shared: bool = False) -> None:
        self._dispatcher = dispatcher
        self._durable = durable
        self._waiting = WaitQueue("the commit that it shares with others")
        self.shared = shared
        self.commits = 0
        self.timed: Callable[[float], object] | None = None
        self.store_failed: Callable[[StoreError], None] | None = None
        self.urgent = False

    @property
    def shared(self) -> bool:
        """Whether tasks share commits."""
        return self._shared

    @shared.setter
    def shared(self, shared: bool) -> None:
        self._shared = shared
        self.share = self._share if shared else self.commit
        if shared and self.serve not in self._dispatcher.on_idle:
            self._dispatcher.on_idle.append(self.serve)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Let nobody wait inside: a link that goes or comes does so at one moment, with all that follows from it."""
        before, self.urgent = self.urgent, True
        try:
            yield
        finally:
            self.urgent = before

    # -- notes ----------------------------------------------------------------------------------------------------

    def note(self, key: bytes, value: bytes | None) -> None:
        """Have a meta datum changed by the next commit; None deletes it. A commit that fails forgets it."""
        self.settle()
        self._durable.notes[key] = value

    def get_meta(self, key: bytes) -> bytes | None:
        """A meta datum, as it is when what was noted is made."""
        self.settle()
        notes = self._durable.notes
        return notes[key] if key in notes else self._durable.get_meta(key)

    def metas(self, prefix: bytes) -> list[tuple[bytes, bytes]]:
        """The meta data with a prefix, likewise, in the order of their keys."""
        found: dict[bytes, bytes | None] = dict(self._durable.metas(prefix))
        found |= {key: value for key, value in self._durable.notes.items() if key.startswith(prefix)}
        return [(key, value) for key, value in sorted(found.items()) if value is not None]

    # -- committing -----------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """After an exception in a commit: find out whether it was made."""
        if self._durable.in_doubt:
            self._durable.settle()

    def commit(self, works: Collection[Work] = (), meta: Meta = _NOTHING, party: CommitOwner | None = None) -> None:
        """Commit now, with what was noted, and for those who wait.

        Args:
            works: what was done to queues.
            meta: the meta data that change; None deletes one.
            party: whose ``committed`` is called when it is made, maybe more than once.

        Raises:
            StoreError: it failed, for all who wait too: nothing was changed.
        """
        durable = self._durable
        requests = durable.waiting
        self.commits += 1
        began = 0.0 if self.timed is None else perf_counter()
        try:
            durable.commit(works, meta, party)
        except StoreError as error:
            self.refused(durable.failed, error)
            raise
        finally:
            if requests:
                self._go_on(requests)
        if self.timed is not None:
            self.timed(perf_counter() - began)

    def refused(self, failed: str, error: StoreError) -> None:
        """A file of the store has raised an error; the region ends if the file has ``failed``, and says how."""
        if failed and self.store_failed is not None:
            self.store_failed(error)

    def _go_on(self, requests: Sequence[CommitRequest]) -> None:
        """Finish what was committed for others, and let them go on; whom an interrupt leaves out does it itself."""
        for request in requests:
            if not request.pending and request.error is None:
                cast("Party", request.owner).finish()
        self._waiting.wake_all()

    def force(self) -> None:
        """Make permanent what was noted, if anything was.

        Raises:
            StoreError: it failed, and is forgotten.
        """
        if self._durable.notes:
            self.commit()

    def _share(self, works: Collection[Work], meta: Meta, party: Party) -> BaseException | None:
        """Commit together with the other tasks that are about to, or at once if no task may wait.

        Returns:
            What reached the task while it waited, a purge or the region's end: it was too late to change anything.

        Raises:
            StoreError: the commit failed, and nothing of it was made.
        """
        dispatcher, durable = self._dispatcher, self._durable
        if self.urgent or dispatcher.current is dispatcher.outside:
            self.commit(works, meta, party)
            return None
        mine = CommitRequest(works, meta, party)
        try:
            if not durable.waiting:
                dispatcher.call_after_round(self.serve)  # or a task that is always ready would keep them for ever
            durable.waiting.append(mine)
            late = self._await(mine)
        except BaseException:
            mine.pending = False  # its unit of work may go on and change, so no later commit may include it
            raise
        if mine.error is not None:
            raise mine.error
        return late

    def _await(self, mine: CommitRequest) -> BaseException | None:
        def attempt() -> WaitMark | None:
            self.settle()
            return WAIT if mine.pending else None

        try:
            task = self._dispatcher.current.local
            if task is None:
                self._dispatcher.wait(attempt, self._waiting)
            else:
                park(task, attempt, self._waiting, "", "")
        except BaseException as error:  # noqa: BLE001  (a commit that was asked for is not given up half-way)
            self.settle()
            if mine.pending:
                self.serve()
            return error
        return None

    def serve(self) -> None:
        """Commit for those who wait, if there are any: no task is ready, or all that were have had a turn."""
        self.settle()
        if self._durable.waiting:
            try:
                self.commit()
            except StoreError:
                return  # each of those who wait raises it
        elif self._waiting:  # an interrupt came between the commit and this
            self._waiting.wake_all()
