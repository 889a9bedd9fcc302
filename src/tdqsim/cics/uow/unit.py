"""Units of work: what a task does between two syncpoints, its locks, and how it ends.

States, as INQUIRE UOW shows them (UOWSTATE; WAITSTATE):

=============  =========================================  ==================================================
State          Reached by                                 Goes on to
=============  =========================================  ==================================================
INFLIGHT       the first recoverable request              COMMIT, BACKOUT; INDOUBT by ``prepare``
INDOUBT        ``prepare``: everything is on the store    COMMIT, BACKOUT by the coordinator's decision
  .. SHUNTED   ``shunt``: no coordinator, no task         the same, later; survives restarts
COMMIT         ``commit``: applied, then hardened         ended
BACKOUT        ``back_out``: forgotten                    ended
HEURCOMMIT,    decided without the coordinator and        ended by ``forget``
HEURBACKOUT    kept for its questions
=============  =========================================  ==================================================

A commit runs in the order of the recovery guide: marked deletes and reads, writes, trigger levels, locks. Only LOGICAL
queues take part. Of a PHYSICAL queue the unit of work knows the last record it read, because that one is given back
when the region fails before the unit of work ends. Sources: Recovery and Restart Guide; INQUIRE UOW (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, Self, TypeVar, overload

from tdqsim.cics.kernel.enqueue import release_all
from tdqsim.cics.queues.intra import SLOT_BITS
from tdqsim.cics.uow.locks import WRITE_END
from tdqsim.cics.uow.logical import LogicalWork
from tdqsim.errors import StoreError, TdqError
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim.cics.kernel.task import TaskBase
    from tdqsim.cics.queues.kinds import IntraQueue
    from tdqsim.cics.uow.locks import Lock
    from tdqsim.cics.uow.parts import UowRegion as Region

__all__ = ["UOW_ID_LENGTH", "Facts", "Participant", "UnitOfWork", "facts_of"]

T = TypeVar("T")

UOW_ID_LENGTH: Final = 8


class Facts(NamedTuple):
    """What units of work know of a task.

    Attributes:
        transid, userid, termid, taskid: of the task.
        wait, action, waittime: its TRANSACTION's WAIT (whether), ACTION, and WAITTIME in seconds (None for no limit).
    """

    transid: str = ""
    userid: str = ""
    termid: str = ""
    taskid: int = 0
    wait: bool = True
    action: str = "BACKOUT"
    waittime: int | None = None


_INFLIGHT: Final = Cvda.INFLIGHT  # a member costs more when it is looked up in its class
_COMMIT: Final = Cvda.COMMIT
_ENABLED: Final = Cvda.ENABLED
_SPARE: Final = 16
"""Of how many queues the next unit of work of a task may use again what stood for the last one's changes."""
_NONE: Final = object()


class Participant(Protocol):
    """Another resource manager or region that takes part in a unit of work.

    Attributes:
        name: by which it is told apart, such as a connection's name.
    """

    name: str

    @property
    def is_lost(self) -> bool:
        """Whether it has gone away: the unit of work can only be backed out."""

    def prepare(self) -> bool:
        """Get ready to do either; False refuses, and everything is backed out."""

    def commit(self) -> None:
        """Make its part permanent."""

    def back_out(self) -> None:
        """Undo its part."""


class _Rare(Generic[T]):
    """An attribute that most units of work end without having been asked for."""

    def __init__(self, value: Callable[[UnitOfWork], T], *, kept: bool = False) -> None:
        """What it is until it is set; ``kept`` when that is kept, as something will be put into it."""
        self._value = value
        self._kept = kept

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, uow: None, owner: type) -> Self: ...

    @overload
    def __get__(self, uow: UnitOfWork, owner: type) -> T: ...

    def __get__(self, uow: UnitOfWork | None, owner: type) -> T | Self:
        if uow is None:
            return self
        value = uow.rare.get(self._name, _NONE)
        if value is _NONE:
            value = self._value(uow)
            if self._kept:
                uow.rare[self._name] = value
        return value  # type: ignore[no-any-return]

    def __set__(self, uow: UnitOfWork, value: T) -> None:
        uow.rare[self._name] = value


class UnitOfWork:
    """One unit of work.

    Most are begun and ended without anybody asking for more than what they hold and have done; the rest of their
    attributes is made when it is asked for. One that ended by :meth:`commit_shortly`, and that nobody knows any more,
    is the region's next one.

    Attributes:
        id: eight bytes, unique in the region's life; INQUIRE UOW shows them.
        region: where it runs.
        task: the task it belongs to; None once it is shunted.
        state: INFLIGHT, INDOUBT, COMMIT, BACKOUT, HEURCOMMIT or HEURBACKOUT.
        waitstate: ACTIVE, WAITING or SHUNTED.
        waitcause: what a shunted one waits for: CONNECTION, or NOTAPPLIC.
        since_ns: when it got into that wait state.
        link: name of the connection to the coordinator, when that is remote.
        coordinator: the coordinator's own name for the unit of work; empty for none.
        facts: what it knows of its task, kept when the task is gone.
        transid, userid, termid, taskid: of its task.
        wait, waittime, action: the TRANSACTION's WAIT (whether), WAITTIME in seconds (None for no limit) and ACTION.
        locks: the ends it holds, in the order in which it got them.
        work: what it has done to logically recoverable queues; what the last unit of work of the task did something to
            may be there with nothing done, to be used again.
        physical: the physically recoverable queues whose last record read is remembered.
        qzero: logically recoverable queues that it has read to QZERO.
        participants: others that take part in its end.
        decision: the connections whose regions must hear a decision; kept with a prepared unit of work.
        at_harden: called when it commits, inside the store's transaction.
        at_end: called when it has ended, with whether it committed: START PROTECT and the like.
        ended: whether it is over.
        recorded: whether the region's recorder has been told of its end.
        rare: the attributes that few have, as far as they are set; with any of them its end is more than a commit.
    """

    __slots__ = ("ended", "id", "locks", "rare", "region", "state", "task", "waitstate", "work")

    task: TaskBase | None
    physical: _Rare[dict[IntraQueue, None]] = _Rare(lambda _: {}, kept=True)
    qzero: _Rare[dict[IntraQueue, None]] = _Rare(lambda _: {}, kept=True)
    participants: _Rare[list[Participant]] = _Rare(lambda _: [], kept=True)
    at_harden: _Rare[list[Callable[[], None]]] = _Rare(lambda _: [], kept=True)
    at_end: _Rare[list[Callable[[bool], None]]] = _Rare(lambda _: [], kept=True)
    waitcause: _Rare[Cvda] = _Rare(lambda _: Cvda.NOTAPPLIC)
    since_ns: _Rare[int] = _Rare(lambda _: 0)
    link: _Rare[str] = _Rare(lambda _: "")
    coordinator: _Rare[str] = _Rare(lambda _: "")
    decision: _Rare[tuple[str, ...]] = _Rare(lambda _: ())
    recorded: _Rare[bool] = _Rare(lambda _: False)
    facts: _Rare[Facts] = _Rare(lambda uow: facts_of(uow.task))
    transid: _Rare[str] = _Rare(lambda uow: uow.facts.transid)
    userid: _Rare[str] = _Rare(lambda uow: uow.facts.userid)
    termid: _Rare[str] = _Rare(lambda uow: uow.facts.termid)
    taskid: _Rare[int] = _Rare(lambda uow: uow.facts.taskid)
    wait: _Rare[bool] = _Rare(lambda uow: uow.facts.wait)
    action: _Rare[str] = _Rare(lambda uow: uow.facts.action)
    waittime: _Rare[int | None] = _Rare(lambda uow: uow.facts.waittime)

    def __init__(self, region: Region, uow_id: bytes, task: TaskBase | None = None) -> None:
        self.region = region
        self.id = uow_id
        self.task = task
        self.state = _INFLIGHT
        self.waitstate = Cvda.ACTIVE
        self.locks: list[Lock] = []
        self.work: dict[IntraQueue, LogicalWork] = {}
        self.rare: dict[str, Any] = {}
        self.ended = False

    def __repr__(self) -> str:
        return f"<UnitOfWork {self.title} {self.state.name} {self.waitstate.name}>"

    @property
    def title(self) -> str:
        """``unit of work 00..1A of task 42 PAYP``, for people."""
        task = f" of task {self.taskid} {self.transid}" if self.taskid else ""
        return f"unit of work {self.id.hex().upper()}{task}"

    @property
    def must_back_out(self) -> bool:
        """Whether somebody who takes part has gone away: it cannot be committed any more."""
        return bool(self.rare) and any(participant.is_lost for participant in self.rare.get("participants", ()))

    # -- queues ---------------------------------------------------------------------------------------------------

    def on(self, queue: IntraQueue) -> LogicalWork:
        """What it has done to a queue; a record of nothing the first time."""
        work = self.work.get(queue)
        if work is None:
            work = self.work[queue] = LogicalWork(queue, self.region.intra, self.region.store.durable)
        return work

    def remember_read(self, queue: IntraQueue, seq: int, data: bytes) -> None:
        """Keep the last record read of a physically recoverable queue, in the transaction that removes it."""
        self.physical[queue] = None
        name = queue.name.encode()
        self.region.store.durable.put_meta(last_read_key(name, self.id), seq.to_bytes(8, "big") + data, instead=True)

    # -- the end --------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Make everything permanent, release the locks and start what has become due.

        Raises:
            StoreError: the store did not take it; the unit of work has then been backed out.
        """
        was_prepared = self.state is Cvda.INDOUBT
        self.state = Cvda.COMMIT
        due: list[IntraQueue] = []
        late = None
        if self.work or self.physical or was_prepared or self.at_harden:
            late = self._harden(due, prepared=was_prepared)
        ati = self.region.ati
        for queue in due:
            ati.schedule(queue)
        self._end(committed=True)
        if late is not None:
            raise late

    def commit_shortly(self) -> bool:  # noqa: C901, PLR0912  (what most units of work come to, written flat)
        """Do what :meth:`commit` does when the unit of work has read some records, and written some, and no more.

        It must be the program outside's, and nothing else may be concerned: no other strand, no QZERO, DELETEQ,
        PHYSICAL queue, trigger level, ENQ, nor a queue that is about to be disabled.

        Returns:
            False when it is more than that: nothing was done then.
        """
        region = self.region
        if self.rare or self.state is not _INFLIGHT:
            return False
        if region.enqueues or region.failed or region.dispatcher._live:  # noqa: SLF001  (properties cost calls)
            return False
        works = self.work
        idle = False
        for queue, work in works.items():
            if not work.plain or queue.enablestatus is not _ENABLED:
                return False
            count, reads = work.stored.count, work.reads
            if reads:
                if count > queue.peak:  # noqa: PLR1730  (max() costs a call)
                    queue.peak = count
            elif not work.puts:
                idle = True
            if work.puts and count - reads + len(work.written) >= queue.fire_at:
                return False
        if idle:
            self._drop_idle()
        if not works or not region.store.durable.commit_moves(works.values()):
            return False
        region.hardening.commits += 1
        for queue, work in works.items():
            stored = work.stored
            if not stored.count or stored._head >> SLOT_BITS != queue.head_ci:  # noqa: SLF001
                region.intra.taken(queue, settled=queue.write_end.owner in (None, self))  # type: ignore[union-attr]
            if work.last_seq:
                work.last_seq, work.mark = 0, None
        self.state = _COMMIT
        self.ended = True
        del region.units[self.id]
        if (recorder := region._recorder) is not None:  # noqa: SLF001
            recorder.unit_of_work_ended(self, committed=True)
        for lock in self.locks:
            lock.owner = None
        self.locks.clear()
        if len(works) > _SPARE:
            works.clear()
        return True

    def _drop_idle(self) -> None:
        """Forget the queues to which nothing was done this time."""
        for queue in [queue for queue, work in self.work.items() if not (work.changed or work.puts)]:
            del self.work[queue]

    def _harden(self, due: list[IntraQueue], *, prepared: bool) -> BaseException | None:
        """Apply and commit on the store, and note the queues whose trigger level was reached.

        Returns:
            What reached the task meanwhile, a purge or the region's end: it was too late to change anything.
        """
        late = None
        try:
            if prepared or self.physical or self.at_harden or any(work.changed for work in self.work.values()):
                self.region.hardening.promise(partial(self._apply, due, prepared=prepared), self._record_commit)
                late = self._wait_for_the_commit()
            else:
                self._apply(due, prepared=False)  # only room is given back
        except StoreError:
            for queue in due:
                self.region.ati.never_began(queue)
            if prepared:
                self._stay_in_doubt()
            else:
                self.state = Cvda.BACKOUT
                self._end(committed=False)
            raise
        for queue, work in self.work.items():
            work.committed(alone=queue.write_end.owner in (None, self))  # type: ignore[union-attr]
        return late

    def _apply(self, due: list[IntraQueue], *, prepared: bool) -> None:
        """Carry everything into the store's open transaction, which is committed next."""
        region = self.region
        for queue, work in self.work.items():
            work.apply()
            if work.written and queue.stored.count >= queue.fire_at and region.ati.due(queue, self):
                due.append(work.queue)
        if self.physical:
            self._forget_reads()
        for action in self.at_harden:
            action()
        if prepared:
            region.store.durable.delete_meta(prepared_key(self.id))

    def _record_commit(self) -> None:
        """Its commit is made, which is the moment that counts: those who share it may go on in any order."""
        if self.region.recorder is not None:
            self.region.recorder.unit_of_work_ended(self, committed=True)
            self.recorded = True

    def _wait_for_the_commit(self) -> BaseException | None:
        try:
            self.region.harden(self)
        except StoreError:
            raise
        except BaseException as error:  # noqa: BLE001  (the commit was made all the same)
            return error
        return None

    def _stay_in_doubt(self) -> None:
        """The store did not take the decision: the promise still holds, and the decision can be made again."""
        self.state = Cvda.INDOUBT
        for work in self.work.values():
            work.release_room()
            work.hold_room()
        self._become_shunted(Cvda.NOTAPPLIC)
        self.retain_locks()

    def _forget_reads(self) -> None:
        durable = self.region.store.durable
        for queue in self.physical:
            durable.delete_meta(last_read_key(queue.name.encode(), self.id))
        self.physical.clear()

    def back_out(self) -> None:
        """Undo everything on logically recoverable queues and release the locks; other queues stay as they are."""
        was_prepared = self.state is Cvda.INDOUBT
        self.state = Cvda.BACKOUT
        late = None
        try:
            if (self.physical or was_prepared) and not self.region.failed:
                self._forget_reads()
                if was_prepared:
                    self.region.store.durable.delete_meta(prepared_key(self.id))
                late = self._wait_for_the_commit()
        except StoreError:
            if was_prepared:
                self._stay_in_doubt()
            else:
                self._end(committed=False)
            raise
        self._end(committed=False)
        if late is not None:
            raise late

    def _end(self, *, committed: bool) -> None:
        region = self.region
        self.ended = True
        if not committed and not region.failed:
            for work in self.work.values():
                work.back_out()
        self.work.clear()
        region.unit_of_work_ended(self, committed=committed)
        self.release_locks()

    def release_locks(self) -> None:
        """Let go of every end: waiters try again, and a pending disable may complete."""
        locks, self.locks = self.locks, []
        for lock in locks:
            lock.release()
        for lock in locks:
            queue = lock.queue
            if queue.td_read and lock.end is WRITE_END:
                queue.td_read.wake_all()
            if queue.enablestatus is Cvda.DISABLING:
                self.region.settle_disable(queue)

    # -- two phases -----------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Be able to do either from now on, restarts included: everything is written to the store. INDOUBT.

        Raises:
            TdqError: it is not INFLIGHT.
            StoreFull: there is no room for it; nothing was changed.
        """
        if self.state is not Cvda.INFLIGHT or self.ended:
            raise TdqError(f"{self.title} is {self.state.name}; only one that is INFLIGHT can be prepared")
        durable, physical = self.region.store.durable, self.physical.copy()
        try:
            durable.put_meta(prepared_key(self.id), self.region.image_of(self))
            self._forget_reads()  # what it did to other queues is final, and it is no longer in flight
            self.state = Cvda.INDOUBT
            self.region.harden(self)
        except StoreError:
            self.state = Cvda.INFLIGHT
            self.physical = physical
            raise

    def shunt(self, *, link: str = "", waitcause: Cvda = Cvda.CONNECTION) -> None:
        """Wait for the coordinator without a task: locks become retained where WAITACTION(REJECT) says so."""
        if self.state is not Cvda.INDOUBT:
            raise TdqError(f"{self.title} is {self.state.name}; only one that is INDOUBT can be shunted")
        region = self.region
        self.link = link or self.link
        self._become_shunted(waitcause)
        try:
            region.store.durable.put_meta(prepared_key(self.id), region.image_of(self))
            region.harden(self)
        except StoreError as error:  # the record of its prepare is there, which says nearly as much
            region.log.warning("shunt_not_recorded", uow=self.id.hex().upper(), reason=str(error))
        self.retain_locks()

    def _become_shunted(self, waitcause: Cvda) -> None:
        region = self.region
        self.waitstate, self.waitcause = Cvda.SHUNTED, waitcause
        self.since_ns = region.clock.time_ns()
        self.facts = self.facts
        self.task = None
        region.units.pop(self.id, None)
        region.shunted[self.id] = self
        if region.enqueues:
            release_all(region, self)

    def retain_locks(self) -> None:
        """Mark the locks of a shunted unit of work; whoever waits for a retained one tries again, and is refused."""
        for lock in self.locks:
            lock.retained = lock.queue.waitaction == "REJECT"
            lock.since_ns = self.since_ns
            if lock.retained:
                lock.waiting.wake_all()
                if lock.queue.td_read is not None:
                    lock.queue.td_read.wake_all()

    def decide(self, *, commit: bool) -> None:
        """End one that is INDOUBT as its coordinator, or somebody in its place, says."""
        if self.state is not Cvda.INDOUBT:
            raise TdqError(f"{self.title} is {self.state.name}; only one that is INDOUBT can be decided")
        self.region.shunted.pop(self.id, None)
        self.waitstate, self.waitcause = Cvda.ACTIVE, Cvda.NOTAPPLIC
        if commit:
            self.commit()
        else:
            self.back_out()


def facts_of(task: TaskBase | None) -> Facts:
    """What its units of work say of a task, and what its TRANSACTION says of them."""
    if task is None:
        return Facts()
    facts = Facts(task.transid, task.userid, task.eib.eibtrmid, task.number)
    transaction = task.region.transactions.get(task.transid)
    if transaction is None:
        return facts
    definition = transaction.definition
    return facts._replace(wait=definition.wait == "YES", action=definition.action, waittime=definition.waittime_seconds)


def prepared_key(uow_id: bytes) -> bytes:
    """Where a prepared unit of work is kept."""
    return b"uow/" + uow_id


def last_read_key(queue: bytes, uow_id: bytes) -> bytes:
    """Where the last record is kept that a unit of work read of a physically recoverable queue."""
    return b"read/" + queue + b"/" + uow_id
