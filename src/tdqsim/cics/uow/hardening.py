"""Commits: the one door of a region to what is durable.

Whoever changes something durable hands over all of it at once: the works on its queues, the meta data that goes with
them, and who is to be told that it is made. With durability ``power``, where a commit waits for the disk, units of work
of started tasks that reach their end together are committed together: each waits here until no task is ready, or all
that were ready have had a turn. The program outside the tasks commits at once, and so serves those that wait too.
Whoever waits has ended nothing yet: its locks are held, and nobody can read what might still be undone.

Small notes that may as well go with the next commit (the catalogue, decisions that everybody has heard) are kept until
then, and looked up as if they were made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Protocol

from tdqsim.core.dispatch import WAIT, WaitQueue
from tdqsim.errors import StoreError

if TYPE_CHECKING:
    from tdqsim.core.dispatch import Dispatcher
    from tdqsim.core.store import Durable, Work

__all__ = ["Hardening", "Party"]

Meta = Mapping[bytes, bytes | None]
_NOTHING: Final[Meta] = {}


class Party(Protocol):
    """Whose commit it is."""

    def committed(self) -> None:
        """It is made: assignments only, since it may be said more than once."""

    def finish(self) -> None:
        """What follows from that; whatever was done already is not done again."""


class _Waiting:
    """One that waits for the commit that it shares."""

    __slots__ = ("error", "meta", "party", "works")

    def __init__(self, works: Collection[Work], meta: Meta, party: Party) -> None:
        self.works = works
        self.meta = meta
        self.party = party
        self.error: StoreError | None = None


class _Together:
    """Several that are told at once."""

    __slots__ = ("done", "parties")

    def __init__(self, parties: list[Party]) -> None:
        self.parties = parties
        self.done = False

    def committed(self) -> None:
        for party in self.parties:
            party.committed()
        self.done = True


class Hardening:
    """The commits of one region.

    Args:
        dispatcher: whose tasks wait for each other.
        durable: what is committed.
        shared: whether tasks share commits.

    Attributes:
        share: commit together with the other tasks that are about to, or at once where nobody is to wait; gives what
            reached the task while it waited, else None. Raises StoreError: the commit failed, nothing of it was made.
        commits: how many were made, for statistics and benchmarks.
        timed: told the seconds that each commit took that was made; None for nobody.
        urgent: whether nobody waits now: see :meth:`at_once`.
    """

    __slots__ = (
        "_batch", "_dispatcher", "_durable", "_notes", "_shared", "_waiting", "commits", "share", "timed", "urgent",
    )  # fmt: skip

    share: Callable[[Collection[Work], Meta, Party], BaseException | None]

    def __init__(self, dispatcher: Dispatcher, durable: Durable, *, shared: bool = False) -> None:
        self._dispatcher = dispatcher
        self._durable = durable
        self._waiting = WaitQueue("the commit that it shares with others")
        self._batch: list[_Waiting] = []
        self._notes: dict[bytes, bytes | None] = {}
        self.shared = shared
        self.commits = 0
        self.timed: Callable[[float], object] | None = None
        self.urgent = False

    @property
    def shared(self) -> bool:
        """Whether tasks share commits."""
        return self._shared

    @shared.setter
    def shared(self, shared: bool) -> None:
        self._shared = shared
        self.share = self._share if shared else self.commit

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
        self._notes[key] = value

    def get_meta(self, key: bytes) -> bytes | None:
        """A meta datum, as it is when what was noted is made."""
        if key in self._notes:
            return self._notes[key]
        return self._durable.get_meta(key)

    def metas(self, prefix: bytes) -> list[tuple[bytes, bytes]]:
        """The meta data with a prefix, likewise, in the order of their keys."""
        found: dict[bytes, bytes | None] = dict(self._durable.metas(prefix))
        found |= {key: value for key, value in self._notes.items() if key.startswith(prefix)}
        return [(key, value) for key, value in sorted(found.items()) if value is not None]

    # -- committing -----------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """After an exception in a commit: find out whether it was made."""
        if self._durable.in_doubt:
            self._durable.settle()

    def commit(self, works: Collection[Work] = (), meta: Meta = _NOTHING, party: Any = None) -> None:
        """Commit now, with what was noted, and for those who wait.

        Args:
            works: what was done to queues.
            meta: the meta data that change; None deletes one.
            party: whose ``committed`` is called when it is made, maybe more than once.

        Raises:
            StoreError: it failed, for all who wait too: nothing was changed.
        """
        if self._batch:
            self._commit_for_all(works, meta, party)
            return
        notes = self._notes
        if notes:
            meta = {**notes, **meta}
        self.commits += 1
        began = 0.0 if self.timed is None else perf_counter()
        try:
            self._durable.commit(works, meta, party)
        except StoreError:
            notes.clear()
            raise
        except OSError as error:
            notes.clear()
            raise StoreError(f"the commit was not made: {error!r}") from error
        if notes:
            notes.clear()
        if self.timed is not None:
            self.timed(perf_counter() - began)

    def force(self) -> None:
        """Make permanent what was noted, if anything was.

        Raises:
            StoreError: it failed, and is forgotten.
        """
        if self._notes:
            self.commit()

    def _commit_for_all(self, works: Collection[Work], meta: Meta, party: Any) -> None:
        batch, self._batch = self._batch, []
        together = _Together([each.party for each in batch] + ([party] if party is not None else []))
        every = [work for each in batch for work in each.works] + list(works)
        metas = {key: value for each in batch for key, value in each.meta.items()}
        try:
            self.commit(every, {**metas, **meta}, together)
        except StoreError as error:
            for each in batch:
                each.error = error
            raise
        finally:
            if not together.done and batch and batch[0].error is None:
                self._batch = batch + self._batch  # an interrupt came before anything was made: they wait on
            else:
                self._tell(batch)

    def _tell(self, batch: list[_Waiting]) -> None:
        for each in batch:
            if each.error is None:
                each.party.finish()
        self._waiting.wake_all()

    def _share(self, works: Collection[Work], meta: Meta, party: Party) -> BaseException | None:
        """Commit together with the other tasks that are about to, or at once where nobody is to wait.

        Returns:
            What reached the task while it waited, a purge or the region's end: it was too late to change anything.

        Raises:
            StoreError: the commit failed, and nothing of it was made.
        """
        dispatcher = self._dispatcher
        if self.urgent or dispatcher.current is dispatcher.outside:
            self.commit(works, meta, party)
            return None
        mine = _Waiting(works, meta, party)
        if not self._batch:
            dispatcher.call_after_round(self.serve)  # or a task that is always ready would keep them for ever
        self._batch.append(mine)
        late = self._await(mine)
        if mine.error is not None:
            raise mine.error
        return late

    def _await(self, mine: _Waiting) -> BaseException | None:
        def attempt() -> Any:
            return WAIT if mine in self._batch else None

        try:
            task = self._dispatcher.current.local
            if task is None:
                self._dispatcher.wait(attempt, self._waiting)
            else:
                task.park(attempt, self._waiting, "", "")
        except BaseException as error:  # noqa: BLE001  (a commit that was asked for is not given up half-way)
            if mine in self._batch:
                self.serve()
            return error
        return None

    def serve(self) -> None:
        """Commit for those who wait, if there are any: no task is ready, or all that were have had a turn."""
        if self._batch:
            try:
                self.commit()
            except StoreError:
                return  # each of those who wait raises it
