"""Units of work: what a task does between two syncpoints, its locks, and how it ends.

States, as INQUIRE UOW shows them (UOWSTATE; WAITSTATE):

=============  =========================================  ==================================================
State          Reached by                                 Goes on to
=============  =========================================  ==================================================
INFLIGHT       the first recoverable request              COMMIT, BACKOUT; INDOUBT by ``prepare``
INDOUBT        ``prepare``: everything is on the store    COMMIT, BACKOUT by the coordinator's decision
  .. SHUNTED   ``shunt``: no coordinator, no task         the same, later; survives restarts
COMMIT         ``commit``: one commit of the store        ended
BACKOUT        ``back_out``: forgotten                    ended
HEURCOMMIT,    decided without the coordinator and        ended by ``forget``
HEURBACKOUT    kept for its questions
=============  =========================================  ==================================================

Everything that a commit changes, records, cycles that begin and the records of two-phase commit, goes into one commit
of the store. When that is made, one assignment (``ended``) ends the unit of work and frees its locks; what follows from
the end (:meth:`UnitOfWork.finish`) may be done again where an exception has cut it short. Whatever is raised inside a
commit, it was made or it was not, and the unit of work stands accordingly. Only LOGICAL queues take part. Of a PHYSICAL
queue the unit of work knows the last record it read, because that one is given back when the region fails before the
unit of work ends. Sources: Recovery and Restart Guide; INQUIRE UOW (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from tdqsim.cics.model.space import NEVER
from tdqsim.cics.model.work import LogicalWork
from tdqsim.errors import StoreError, UsageError
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim.cics.model.lock import Lock
    from tdqsim.cics.model.queue import IntraTdQueue, Latch
    from tdqsim.cics.model.region import RegionData
    from tdqsim.cics.model.task import TaskData
    from tdqsim.core.store import Work

__all__ = [
    "READS",
    "UOW_ID_LENGTH",
    "Facts",
    "Meta",
    "Participant",
    "Record",
    "UnitOfWork",
    "facts_of",
    "last_read_key",
    "prepared_key",
]

UOW_ID_LENGTH: Final = 8
READS: Final = b"read/"
"""What the keys of the last reads of PHYSICAL queues begin with."""
Meta = dict[bytes, bytes | None]
"""Meta data for a commit of the store: None removes a key."""
Record = dict[str, Any]
"""What a meta datum holds, as JSON gives it."""


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
_INDOUBT: Final = Cvda.INDOUBT
_BACKOUT: Final = Cvda.BACKOUT
_COMMIT: Final = Cvda.COMMIT
_ACTIVE: Final = Cvda.ACTIVE
_NOTAPPLIC: Final = Cvda.NOTAPPLIC
_ENABLED: Final = Cvda.ENABLED
_NONE: Final[dict[Any, Any]] = {}
_NO_ACTIONS: Final[list[Callable[[bool], None]]] = []
"""These two are what most units of work have, and are replaced where there is a first."""


class Participant(Protocol):
    """Another resource manager or region that takes part in a unit of work.

    Attributes:
        name: its identifier among participants, such as the name of a connection.
    """

    name: str

    @property
    def is_lost(self) -> bool:
        """Whether it has gone away: the unit of work can only be backed out."""

    def prepare(self) -> bool:
        """Get ready to do either; False refuses, and everything is backed out."""

    def commit(self) -> None:
        """Make its part permanent. Called again if an exception came before its end."""

    def back_out(self) -> None:
        """Undo its part. Called again if an exception came before its end."""


class _Unfinished:
    """A commit that says something new of a unit of work that goes on."""

    __slots__ = ()

    def committed(self) -> None:
        """Nothing: what it says was assigned before."""

    def finish(self) -> None:
        """Nothing follows."""


_UNFINISHED: Final = _Unfinished()


class UnitOfWork:
    """One unit of work.

    Attributes:
        id: eight bytes, unique in the region's life; INQUIRE UOW shows them.
        _region: where it runs, with its parts.
        task: the task it belongs to; None once it is shunted.
        state: INFLIGHT, INDOUBT, COMMIT, BACKOUT, HEURCOMMIT or HEURBACKOUT.
        ended: whether it is over: it holds no lock any more.
        finished: whether all that follows from its end has been done.
        waitstate: ACTIVE, WAITING or SHUNTED.
        waitcause: what a shunted one waits for: CONNECTION, or NOTAPPLIC.
        since_ns: when it got into that wait state.
        link: name of the connection to the coordinator, when that is remote.
        coordinator: the coordinator's own name for the unit of work; empty for none.
        works: what it has done to logically recoverable queues, and whose ends it may have.
        ends: the ends that it has taken; see :attr:`locks` for those that it has.
        physical: the physically recoverable queues whose last record read is remembered.
        qzero: logically recoverable queues that it has read to QZERO, and the cycle of each at that time.
        participants: others that take part in its end; see :meth:`join`.
        decision: the connections whose regions must hear a decision; kept with a prepared unit of work.
        at_commit: gives the meta data that its commit must bring.
        kept: what a prepared unit of work keeps beside queues, by whose it is: gives what that takes to be there again.
        at_end: called when it has ended, with whether it committed: START PROTECT and the like.
        recorded: whether the region's recorder has been notified of its end.
        told: whether all who take part have been told of its end.
    """

    __slots__ = (
        "_due", "_facts", "_outcome", "_region", "at_commit", "at_end", "coordinator", "decision", "ended", "ends",
        "finished", "id", "kept", "link", "participants", "physical", "qzero", "recorded", "since_ns", "state", "task",
        "told", "waitcause", "waitstate", "works",
    )  # fmt: skip

    def __init__(self, region: RegionData, uow_id: bytes, task: TaskData | None = None) -> None:
        self._region = region
        self.id = uow_id
        self.task: TaskData | None = task
        self.state: Cvda = _INFLIGHT
        self.ended = self.finished = self.recorded = self.told = False
        self.waitstate: Cvda = _ACTIVE
        self.waitcause: Cvda = _NOTAPPLIC
        self.since_ns = 0
        self.link = self.coordinator = ""
        self.works: dict[IntraTdQueue, LogicalWork] = {}
        self.ends: list[Lock] = []
        self.decision: tuple[str, ...] = ()
        self.participants: tuple[Participant, ...] = ()
        self.physical: dict[IntraTdQueue, None] = _NONE
        self.qzero: dict[IntraTdQueue, int] = _NONE
        self.at_commit: tuple[Callable[[], Meta], ...] = ()
        self.kept: tuple[tuple[str, Callable[[], object]], ...] = ()
        self.at_end: list[Callable[[bool], None]] = _NO_ACTIONS
        self._due: Sequence[Latch] = ()
        self._outcome: Cvda = _COMMIT
        self._facts: Facts | None = None

    def __repr__(self) -> str:
        return f"<UnitOfWork {self.title} {self.state.name} {self.waitstate.name}>"

    @property
    def title(self) -> str:
        """``unit of work 00..1A of task 42 PAYP``, for people."""
        facts = self.facts
        task = f" of task {facts.taskid} {facts.transid}" if facts.taskid else ""
        return f"unit of work {self.id.hex().upper()}{task}"

    # -- what it knows of its task --------------------------------------------------------------------------------

    @property
    def facts(self) -> Facts:
        """What it knows of its task; kept when the task is gone."""
        return self._facts if self._facts is not None else facts_of(self.task)

    @facts.setter
    def facts(self, facts: Facts) -> None:
        self._facts = facts

    @property
    def transid(self) -> str:
        """The transaction of its task."""
        return self.facts.transid

    @property
    def userid(self) -> str:
        """The user of its task."""
        return self.facts.userid

    @property
    def termid(self) -> str:
        """The terminal of its task."""
        return self.facts.termid

    @property
    def taskid(self) -> int:
        """The number of its task."""
        return self.facts.taskid

    @property
    def wait(self) -> bool:
        """WAIT of its TRANSACTION."""
        return self.facts.wait

    @property
    def action(self) -> str:
        """ACTION of its TRANSACTION: COMMIT or BACKOUT."""
        return self.facts.action

    @property
    def waittime(self) -> int | None:
        """WAITTIME of its TRANSACTION in seconds; None for no limit."""
        return self.facts.waittime

    # -- queues and others ----------------------------------------------------------------------------------------

    def on(self, queue: IntraTdQueue) -> LogicalWork:
        """What it has done to a queue; a record of nothing the first time."""
        work = self.works.get(queue)
        if work is None:
            work = self.works[queue] = LogicalWork(queue.durable)
        return work

    @property
    def locks(self) -> list[Lock]:
        """The ends that it has, in the order in which it got them; also those that its end has just freed."""
        return [lock for lock in dict.fromkeys(self.ends) if lock.taken_by is self]

    def join(self, participant: Participant) -> None:
        """Have somebody take part in the end."""
        self.participants = (*self.participants, participant)

    @property
    def must_back_out(self) -> bool:
        """Whether somebody who takes part has gone away: it cannot be committed any more."""
        return any(participant.is_lost for participant in self.participants)

    def call_at_end(self, action: Callable[[bool], None]) -> None:
        """Have something called when it has ended, with whether it committed."""
        if not self.at_end:
            self.at_end = []
        self.at_end.append(action)

    def saw_qzero(self, queue: IntraTdQueue) -> None:
        """It has read a queue to QZERO, or deleted it: that ends the cycle that is on now, when it commits."""
        if not self.qzero:
            self.qzero = {}
        self.qzero[queue] = queue.cycle

    def remember_read(self, queue: IntraTdQueue, number: int, data: bytes) -> Meta:
        """What keeps the last record read of a physically recoverable queue, in the commit that removes it."""
        if not self.physical:
            self.physical = {}
        self.physical[queue] = None
        return {last_read_key(queue.name.encode(), self.id): number.to_bytes(8, "big") + data}

    def _forgotten_reads(self) -> Meta:
        return {last_read_key(queue.name.encode(), self.id): None for queue in self.physical}

    # -- the end --------------------------------------------------------------------------------------------------

    def commit(self, also: Mapping[bytes, bytes | None] | None = None) -> None:
        """Make everything permanent, release the locks and start what has become due.

        Args:
            also: further meta data for the same commit.

        Raises:
            StoreError: the store did not take it; the unit of work has then been backed out, or is in doubt still.
        """
        works: list[Work] = []
        meta: Meta = self._forgotten_reads() if self.physical else {}
        self._due = due = []
        for queue, work in self.works.items():
            if work.changed:
                works.append(work)
                if queue.fire_at < NEVER and len(work.items) > work.own and work.count_after >= queue.fire_at:
                    by = self.facts
                    latch = self._region.ati.due(
                        queue, work.count_after, by.taskid, by.transid, by.termid, self.id.hex().upper()
                    )
                    if latch is not None:
                        meta |= latch.meta()
                        due.append(latch)
        for action in self.at_commit:
            meta |= action()
        if self.state is _INDOUBT:
            meta[prepared_key(self.id)] = None
        if also:
            meta |= also
        late = self._end(_COMMIT, works, meta)
        if late is not None:
            raise late

    def back_out(self, also: Mapping[bytes, bytes | None] | None = None) -> None:
        """Undo everything on logically recoverable queues and release the locks; other queues stay as they are.

        Args:
            also: meta data to be committed with it.

        Raises:
            StoreError: the store did not take note of it; it is backed out all the same, but not if it is in doubt.
        """
        meta: Meta = {}
        if not self._region.failed:
            meta |= self._forgotten_reads()
            if self.state is _INDOUBT:
                meta[prepared_key(self.id)] = None
            meta |= also or {}
        late = self._end(_BACKOUT, [], meta)
        if late is not None:
            raise late

    def _end(self, outcome: Cvda, works: list[Work], meta: Meta) -> BaseException | None:
        """End it with a commit of the store, if there is anything to commit."""
        before, late = self.state, None
        region = self._region
        if outcome is _COMMIT and region.is_watched and region.recorder is not None:
            region.recorder.unit_of_work_ends(self)
        try:
            self._outcome = self.state = outcome
            if works or meta:
                late = region.hardening.share(works, meta, self)
        except BaseException as error:
            self._not_made(before, meta, error)
            raise
        if not self.ended:
            self.committed()
        self.finish()
        return late

    def _not_made(self, before: Cvda, meta: Meta, error: BaseException) -> None:
        """An exception left the commit of its end: if that was made all the same, follow it; else it goes on."""
        self._region.hardening.settle()
        if self.ended:
            self.finish()
            return
        undone = self.state is _BACKOUT or isinstance(error, StoreError)
        self.state = before
        if undone and before is not _INDOUBT:  # nothing of it is on the store: that it is over need not be said there
            self._forget_later(meta)
            self._outcome = _BACKOUT
            self.committed()
            self.finish()
            if not isinstance(error, StoreError):
                self._region.hardening.force()

    def _forget_later(self, meta: Meta) -> None:
        for key in self._forgotten_reads():
            if key in meta:
                self._region.hardening.note(key, None)

    def committed(self) -> None:
        """Its end is made. This frees its locks."""
        self.state, self.ended = self._outcome, True

    def finish(self) -> None:
        """Do what follows from its end: the account of room, cycles that begin, what others wait for."""
        if self.finished or not self.ended:
            return
        region = self._region
        region.units.pop(self.id, None)
        if not region.failed:
            self._settle_region(committed=self.state is _COMMIT)
        for lock in self.ends:  # tasks that wait for one try again, and a pending disable may complete
            if lock.taken_by is self:
                lock.taken_by = None
                if lock.waiters is not None:
                    lock.waiters.wake_one()
        for queue in self.works:
            if (queue.readers is not None or queue.enablestatus is not _ENABLED) and queue.released():
                region.directory.settle_disable(queue)
        self.works = {}
        self.finished = True

    def _settle_region(self, *, committed: bool) -> None:
        """Record the end; the account of room; cycles begin or are over; what waited for the commit; free the ENQs.

        A QZERO counts when the task ends; when that is over already, at once.
        """
        region, task = self._region, self.task
        if region.is_watched and region.recorder is not None and not self.recorded:
            self.recorded = True
            region.recorder.unit_of_work_ended(self, committed=committed)
        for queue, work in self.works.items():
            if committed:
                region.intra.committed(queue, work)
            else:
                region.intra.backed_out(queue, work)
        for latch in self._due if committed else ():
            region.ati.begin(latch)
        if committed and self.qzero:
            if task is not None and not task._ended:
                task._qzero = {**task._qzero, **self.qzero}
            else:
                for queue, cycle in self.qzero.items():
                    region.ati.emptied(queue, cycle)
        for action in self.at_end:
            action(committed)
        if region.enqueued:
            region.recovery.release(self)

    # -- two phases -----------------------------------------------------------------------------------------------

    def prepare(self, also: Mapping[bytes, bytes | None] | None = None) -> None:
        """Be able to do either from now on, restarts included: everything is written to the store. INDOUBT.

        Args:
            also: further meta data for the same commit.

        Raises:
            UsageError: it is not INFLIGHT.
            StoreError: the store did not take it; nothing was changed.
        """
        if self.state is not _INFLIGHT or self.ended:
            raise UsageError(f"{self.title} is {self.state.name}; only one that is INFLIGHT can be prepared")
        region = self._region
        # What it read of PHYSICAL queues is final now, and it is no longer in flight.
        meta: Meta = {**(also or {}), **self._forgotten_reads(), prepared_key(self.id): region.image_of(self)}
        self.state = _INDOUBT
        try:
            late = region.hardening.share((), meta, _UNFINISHED)
        except BaseException:
            if region.hardening.get_meta(prepared_key(self.id)) is None:
                self.state = _INFLIGHT
            raise
        self.physical = {}
        if late is not None:
            raise late

    def shunt(self, *, link: str = "", waitcause: Cvda = Cvda.CONNECTION) -> None:
        """Wait for the coordinator without a task: with WAITACTION(REJECT) the locks become retained."""
        if self.state is not _INDOUBT:
            raise UsageError(f"{self.title} is {self.state.name}; only one that is INDOUBT can be shunted")
        region = self._region
        self.link = link or self.link
        self._become_shunted(waitcause)
        late = None
        try:
            late = region.hardening.share((), {prepared_key(self.id): region.image_of(self)}, _UNFINISHED)
        except StoreError as error:  # the record of its prepare is there, which says nearly as much
            region.log.warning("shunt_not_recorded", uow=self.id.hex().upper(), reason=str(error))
        self.retain_locks()
        if late is not None:
            raise late

    def stay_in_doubt(self) -> None:
        """The decision was not carried out: the promise still holds, and the decision can be made again."""
        self._become_shunted(Cvda.NOTAPPLIC)
        self.retain_locks()

    def _become_shunted(self, waitcause: Cvda) -> None:
        region = self._region
        self.facts = self.facts
        self.waitstate, self.waitcause = Cvda.SHUNTED, waitcause
        self.since_ns = region.clock.time_ns()
        self.task = None
        region.recovery.shunt(self)

    def retain_locks(self) -> None:
        """Tasks that wait for a lock that is retained now try again, and are refused."""
        for lock in self.locks:
            lock.since_ns = self.since_ns
            if lock.retained:
                lock.wake_all()
                lock.queue.released()

    def decide(self, *, commit: bool, also: Mapping[bytes, bytes | None] | None = None) -> None:
        """End one that is INDOUBT as its coordinator, or somebody in its place, says."""
        if self.state is not _INDOUBT:
            raise UsageError(f"{self.title} is {self.state.name}; only one that is INDOUBT can be decided")
        try:
            self._region.shunted.pop(self.id, None)
            self.waitstate, self.waitcause = _ACTIVE, Cvda.NOTAPPLIC
            if commit:
                self.commit(also)
            else:
                self.back_out(also)
        except BaseException:
            if self.ended:
                self.finish()
            else:
                self.stay_in_doubt()
            raise


def facts_of(task: TaskData | None) -> Facts:
    """What its units of work say of a task, and what its TRANSACTION says of them."""
    if task is None:
        return Facts()
    facts = Facts(task.transid, task.userid, task.eib.eibtrmid, task.number)
    transaction = task._region.transactions.get(task.transid)
    if transaction is None:
        return facts
    definition = transaction.definition
    return facts._replace(wait=definition.wait == "YES", action=definition.action, waittime=definition.waittime_seconds)


def prepared_key(uow_id: bytes) -> bytes:
    """Where a prepared unit of work is kept."""
    return b"uow/" + uow_id


def last_read_key(queue: bytes, uow_id: bytes) -> bytes:
    """Where the last record is kept that a unit of work read of a physically recoverable queue."""
    return READS + queue + b"/" + uow_id
