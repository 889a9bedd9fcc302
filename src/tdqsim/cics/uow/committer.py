"""The committer: every durable change of a region is made here.

A caller passes everything that one commit changes: the works on its queues, the meta data, and the party that the
commit belongs to. With durability ``power``, where a commit waits for the disk, units of work of started tasks that end
at the same time share a commit: each leaves a request with the store and waits until no task is ready, or until every
task that was ready has run once. The program outside the tasks commits at once, and its commit includes the requests
that wait. The unit of work of a waiting task has not ended: its locks are held, so no other task can read what might
still be backed out.

The store keeps the requests and their outcomes (:class:`~tdqsim.core.store.Durable`). After an exception the next
caller asks the store whether the commit was made, and every waiting task checks its own request. So no unit of work is
committed twice, and none is lost.

Changes that can wait for the next commit (of the catalogue, or the removal of decisions that all regions have
acknowledged) are *noted*: they are made with the next commit, and :meth:`Committer.get_meta` returns them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Final, cast

from tdqsim.cics.kernel.waiting import park
from tdqsim.cics.model.region import Party
from tdqsim.core.fiber import WAIT, WaitMark, WaitQueue
from tdqsim.core.store import CommitRequest
from tdqsim.errors import StoreError

if TYPE_CHECKING:
    from tdqsim.core.dispatch import Dispatcher
    from tdqsim.core.store import CommitOwner, Durable, Work

Meta = Mapping[bytes, bytes | None]
_NOTHING: Final[Meta] = {}


class _Timed:
    """Makes the commits of a store and measures each."""

    __slots__ = ("_add", "_durable")

    def __init__(self, durable: Durable, add: Callable[[float], object]) -> None:
        self._durable, self._add = durable, add

    def commit(self, works: Collection[Work], meta: Meta, party: CommitOwner | None) -> None:
        """See :meth:`~tdqsim.core.store.Durable.commit`."""
        began = perf_counter()
        self._durable.commit(works, meta, party)
        self._add(perf_counter() - began)


class Committer:
    """The commits of one region.

    Args:
        dispatcher: the dispatcher of the tasks that share commits.
        durable: the durable half of the region's store.
        shared: whether tasks share commits.

    Attributes:
        share: commit together with other tasks that are about to commit, or at once if no task may wait; returns the
            exception that reached the task while it waited, else None. Raises StoreError: the commit failed and nothing
            was changed.
        store_failed: called when the operating system could not write the store's files; None to call nothing.
        urgent: whether no task may wait now: see :meth:`at_once`.
    """

    __slots__ = (
        "_dispatcher", "_durable", "_maker", "_shared", "_waiting", "share", "store_failed", "urgent",
    )  # fmt: skip

    share: Callable[[Collection[Work], Meta, Party], BaseException | None]

    def __init__(self, dispatcher: Dispatcher, durable: Durable, *, shared: bool = False) -> None:
        self._dispatcher = dispatcher
        self._durable = durable
        self._waiting = WaitQueue("the commit that it shares with others")
        self.shared = shared
        self._maker: Durable | _Timed = durable
        self.store_failed: Callable[[StoreError], None] | None = None
        self.urgent = False

    @property
    def commits(self) -> int:
        """The number of commits made since the store was opened, for statistics and benchmarks."""
        return self._durable.commits

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
        """Let no task wait for a shared commit inside, so that a link and its units of work change together."""
        before, self.urgent = self.urgent, True
        try:
            yield
        finally:
            self.urgent = before

    # -- notes ----------------------------------------------------------------------------------------------------

    def note(self, key: bytes, value: bytes | None) -> None:
        """Change a meta datum with the next commit; None deletes it. If that commit fails, the change is lost."""
        self.settle()
        self._durable.notes[key] = value

    def get_meta(self, key: bytes) -> bytes | None:
        """The value of a meta datum after the noted changes."""
        self.settle()
        notes = self._durable.notes
        return notes[key] if key in notes else self._durable.get_meta(key)

    def metas(self, prefix: bytes) -> list[tuple[bytes, bytes]]:
        """The meta data with a prefix after the noted changes, in the order of their keys."""
        values: dict[bytes, bytes | None] = dict(self._durable.metas(prefix))
        values |= {key: value for key, value in self._durable.notes.items() if key.startswith(prefix)}
        return [(key, value) for key, value in sorted(values.items()) if value is not None]

    # -- committing -----------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Find out, after an exception in a commit, whether it was made."""
        if self._durable.in_doubt:
            self._durable.settle()

    def commit(self, works: Collection[Work] = (), meta: Meta = _NOTHING, party: CommitOwner | None = None) -> None:
        """Commit now, together with the noted changes and the requests of waiting tasks.

        Args:
            works: the changes of queues.
            meta: the meta data to change; a value of None deletes one.
            party: its ``committed`` is called when the commit is made, possibly more than once.

        Raises:
            StoreError: the commit failed, also for the waiting tasks; nothing was changed.
        """
        requests = self._durable.waiting
        try:
            self._maker.commit(works, meta, party)
        except StoreError as error:
            self.refused(self._durable.failed, error)
            raise
        finally:
            if requests:
                self._go_on(requests)

    def time_commits(self, add: Callable[[float], object]) -> None:
        """Call a function with the seconds that each commit takes."""
        self._maker = _Timed(self._durable, add)

    def refused(self, failed: str, error: StoreError) -> None:
        """Handle an error of a store file: if ``failed`` names the failure of the file itself, the region ends."""
        if failed and self.store_failed is not None:
            self.store_failed(error)

    def _go_on(self, requests: Sequence[CommitRequest]) -> None:
        """Finish what was committed for other tasks and wake them; after an interrupt each finishes its own."""
        for request in requests:
            if not request.pending and request.error is None:
                cast("Party", request.owner).finish()
        self._waiting.wake_all()

    def force(self) -> None:
        """Commit the noted changes, if there are any.

        Raises:
            StoreError: the commit failed; the noted changes are lost.
        """
        if self._durable.notes:
            self.commit()

    def _share(self, works: Collection[Work], meta: Meta, party: Party) -> BaseException | None:
        """Commit together with other tasks that are about to commit, or at once if no task may wait.

        Returns:
            The exception that reached the task while it waited (a purge or the region's end), which came too late to
            stop the commit; else None.

        Raises:
            StoreError: the commit failed and nothing was changed.
        """
        dispatcher, durable = self._dispatcher, self._durable
        if self.urgent or dispatcher.current is dispatcher.outside:
            self.commit(works, meta, party)
            return None
        mine = CommitRequest(works, meta, party)
        try:
            if not durable.waiting:
                dispatcher.call_after_round(self.serve)  # else a task that is always ready would delay them
            durable.waiting.append(mine)
            late = self._await(mine)
        except BaseException:
            mine.pending = False  # its unit of work may continue and change, so no later commit may include it
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
        except BaseException as error:  # noqa: BLE001  (first complete the requested commit, then raise it)
            self.settle()
            if mine.pending:
                self.serve()
            return error
        return None

    def serve(self) -> None:
        """Commit for the waiting tasks, if any; called when no task is ready, or when each ready task has run once."""
        self.settle()
        if self._durable.waiting:
            try:
                self.commit()
            except StoreError:
                return  # each waiting task raises the error of its own request
        elif self._waiting:  # an interrupt came between the commit and waking the tasks
            self._waiting.wake_all()
