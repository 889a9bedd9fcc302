"""Units of work: the recoverable changes of a task between two syncpoints, their locks, and their end.

States, as INQUIRE UOW shows them (UOWSTATE; WAITSTATE):

=============  =========================================  ==================================================
State          Reached by                                 Followed by
=============  =========================================  ==================================================
INFLIGHT       the first recoverable request              COMMIT, BACKOUT; INDOUBT by ``prepare``
INDOUBT        ``prepare``: everything is on the store    COMMIT, BACKOUT by the coordinator's decision
  .. SHUNTED   ``shunt``: no coordinator, no task         the same, later; survives restarts
COMMIT         ``commit``: one commit of the store        ended
BACKOUT        ``back_out``: forgotten                    ended
HEURCOMMIT,    decided without the coordinator and        ended by ``forget``
HEURBACKOUT    kept for its questions
=============  =========================================  ==================================================

Everything that a unit of work commits (records, ATI cycles that begin, the records of two-phase commit) is one commit
of the store. After that, one assignment (``ended``) ends the unit of work and frees its locks. The actions that follow
(:meth:`UnitOfWork.finish`) may be repeated if an exception interrupts them. Whatever exception is raised inside a
commit, the commit was made or it was not, and the state of the unit of work agrees with that. Only LOGICAL queues take
part. For a PHYSICAL queue the unit of work remembers the last record that it read, because that record is put back if
the region fails before the unit of work ends. Sources: Recovery and Restart Guide; INQUIRE UOW (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from tdqsim.cics.model.space import NEVER
from tdqsim.cics.model.work import LogicalWork
from tdqsim.core.named import NamedTuple
from tdqsim.errors import StoreError, UsageError
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim.cics.model.lock import Lock
    from tdqsim.cics.model.queue import IntraTdQueue, Latch
    from tdqsim.cics.model.region import RegionData
    from tdqsim.cics.model.task import TaskData
    from tdqsim.cics.model.transaction import TransactionEntry
    from tdqsim.core.store import Work

UOW_ID_LENGTH: Final = 8
READS: Final = b"read/"
"""The prefix of the keys of the last reads of PHYSICAL queues."""
Meta = dict[bytes, bytes | None]
"""Meta data for a commit of the store: None removes a key."""
Record = dict[str, Any]
"""The contents of a meta datum, decoded from JSON."""


class Facts(NamedTuple):
    """The attributes of a task that its units of work keep.

    Attributes:
        transid, userid, termid, taskid: those of the task.
        wait, action, waittime: WAIT (as a bool), ACTION, and WAITTIME in seconds (None for no limit) of its
            TRANSACTION.
    """

    transid: str = ""
    userid: str = ""
    termid: str = ""
    taskid: int = 0
    wait: bool = True
    action: str = "BACKOUT"
    waittime: int | None = None


_INFLIGHT: Final = Cvda.INFLIGHT  # in Python 3.11 a global is eight times faster than a member of an enum class
_INDOUBT: Final = Cvda.INDOUBT
_BACKOUT: Final = Cvda.BACKOUT
_COMMIT: Final = Cvda.COMMIT
_ENABLED: Final = Cvda.ENABLED
_NONE: Final[dict[Any, Any]] = {}
_NO_ACTIONS: Final[list[Callable[[bool], None]]] = []
"""Shared by units of work without any; replaced by their own containers at the first entry."""


class Participant(Protocol):
    """Another resource manager or region that takes part in a unit of work.

    Attributes:
        name: its identifier among participants, such as the name of a connection.
    """

    name: str

    @property
    def is_lost(self) -> bool:
        """Whether it cannot be reached any more, so that the unit of work can only be backed out."""

    def prepare(self) -> bool:
        """Prepare to commit or back out; False refuses, and everything is backed out."""

    def commit(self) -> None:
        """Commit its part. Called again if an exception interrupted it."""

    def back_out(self) -> None:
        """Back out its part. Called again if an exception interrupted it."""


class _Unfinished:
    """The party of a commit that records a new state of a unit of work and does not end it."""

    __slots__ = ()

    def committed(self) -> None:
        """Do nothing: the new state was assigned before the commit."""

    def finish(self) -> None:
        """Do nothing."""


_UNFINISHED: Final = _Unfinished()


class UnitOfWork:
    """One unit of work.

    Attributes:
        id: eight bytes, unique in the life of the region's store; INQUIRE UOW shows them.
        _region: the region in which it runs.
        task: the task it belongs to; None once it is shunted.
        state: INFLIGHT, INDOUBT, COMMIT, BACKOUT, HEURCOMMIT or HEURBACKOUT.
        ended: whether it has ended, and so holds no locks.
        finished: whether :meth:`finish` is complete.
        waitstate: ACTIVE, WAITING or SHUNTED.
        waitcause: what a shunted one waits for: CONNECTION, or NOTAPPLIC.
        since_ns: when it entered that wait state, in nanoseconds.
        link: the name of the connection to the coordinator, if that is another region.
        coordinator: the coordinator's own name for the unit of work; empty for none.
        works: its uncommitted changes of logically recoverable queues, by queue; only of these queues can it hold ends.
        ends: all ends that it has taken; :attr:`locks` are those that it holds.
        physical: the physically recoverable queues of which the last record read is remembered.
        qzero: the logically recoverable queues that it has read to QZERO, each with its cycle at that time.
        participants: the regions and resource managers that take part in its end; see :meth:`join`.
        decision: the connections whose regions must be sent the decision; stored with a prepared unit of work.
        at_commit: functions that return further meta data for its commit.
        at_prepare: functions that return further meta data for its prepare.
        kept: for a prepared unit of work: the name of each part other than queues, with a function that returns what
            the part stores in order to restore its changes.
        at_end: functions called at its end with True for a commit, False for a backout; START PROTECT uses this.
        recorded: whether the region's recorder has been notified of its end.
        notified: whether all participants have been notified of its end.
    """

    # What most units of work never use is not set in each of them.
    waitstate: Cvda = Cvda.ACTIVE
    waitcause: Cvda = Cvda.NOTAPPLIC
    since_ns = 0
    link = coordinator = ""
    decision: tuple[str, ...] = ()
    kept: tuple[tuple[str, Callable[[], object]], ...] = ()
    at_prepare: tuple[Callable[[], Meta], ...] = ()
    recorded = False
    _facts: Facts | None = None

    def __init__(self, region: RegionData, uow_id: bytes, task: TaskData | None = None) -> None:
        self._region = region
        self.id = uow_id
        self.task: TaskData | None = task
        self.state: Cvda = _INFLIGHT
        self.ended = self.finished = self.notified = False
        self.works: dict[IntraTdQueue, LogicalWork] = {}
        self.ends: list[Lock] = []
        self.participants: tuple[Participant, ...] = ()
        self.physical: dict[IntraTdQueue, None] = _NONE
        self.qzero: dict[IntraTdQueue, int] = _NONE
        self.at_commit: tuple[Callable[[], Meta], ...] = ()
        self.at_end: list[Callable[[bool], None]] = _NO_ACTIONS
        self._due: Sequence[Latch] = ()

    def __repr__(self) -> str:
        return f"<UnitOfWork {self.title} {self.state.name} {self.waitstate.name}>"

    @property
    def title(self) -> str:
        """A phrase for messages, such as ``unit of work 00..1A of task 42 PAYP``."""
        facts = self.facts
        task = f" of task {facts.taskid} {facts.transid}" if facts.taskid else ""
        return f"unit of work {self.id.hex().upper()}{task}"

    # -- facts of its task --------------------------------------------------------------------------------

    @property
    def facts(self) -> Facts:
        """The attributes of its task, which it keeps after the task has ended."""
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
        """Its uncommitted changes of a queue; creates an empty record of them the first time."""
        work = self.works.get(queue)
        if work is None:
            work = self.works[queue] = LogicalWork(queue.durable)
        return work

    @property
    def locks(self) -> list[Lock]:
        """The ends that it holds, in the order of acquisition, including those that its end has just freed."""
        return [lock for lock in dict.fromkeys(self.ends) if lock.taken_by is self]

    def join(self, participant: Participant) -> None:
        """Add a participant in its end."""
        self.participants = (*self.participants, participant)

    @property
    def must_back_out(self) -> bool:
        """Whether a participant was lost, so that it cannot be committed any more."""
        return any(participant.is_lost for participant in self.participants)

    def call_at_end(self, action: Callable[[bool], None]) -> None:
        """Call a function at its end with True for a commit, False for a backout."""
        if not self.at_end:
            self.at_end = []
        self.at_end.append(action)

    def saw_qzero(self, queue: IntraTdQueue) -> None:
        """Note that it has read a queue to QZERO or deleted it: its commit ends the ATI cycle that is on now."""
        if not self.qzero:
            self.qzero = {}
        self.qzero[queue] = queue.cycle

    def remember_read(self, queue: IntraTdQueue, number: int, data: bytes) -> Meta:
        """The meta data, for the commit of a read, that keep the last record read of a PHYSICAL queue."""
        if not self.physical:
            self.physical = {}
        self.physical[queue] = None
        return {last_read_key(queue.name.encode(), self.id): number.to_bytes(8, "big") + data}

    def _forgotten_reads(self) -> Meta:
        return {last_read_key(queue.name.encode(), self.id): None for queue in self.physical}

    # -- the end --------------------------------------------------------------------------------------------------

    def commit(self, also: Mapping[bytes, bytes | None] | None = None) -> None:
        """Commit: make the changes permanent, release the locks and start the tasks that are due.

        Args:
            also: further meta data for the same commit.

        Raises:
            StoreError: the store refused the commit; the unit of work has been backed out, or is still indoubt.
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
        """Back out the changes of logically recoverable queues and release the locks; other queues are not affected.

        Args:
            also: meta data to be committed with it.

        Raises:
            StoreError: the store could not record it. The unit of work is nevertheless backed out, unless it is
                indoubt.
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
            self.state = outcome
            if works or meta:
                late = region.committer.share(works, meta, self)
        except BaseException as error:
            self._not_made(before, meta, error)
            raise
        if not self.ended:
            self.committed()
        self.finish()
        return late

    def _not_made(self, before: Cvda, meta: Meta, error: BaseException) -> None:
        """Handle an exception from the commit of its end: complete the end if it was made.

        If it was not made, the unit of work is backed out or continues.
        """
        self._region.committer.settle()
        if self.ended:
            self.finish()
            return
        undone = self.state is _BACKOUT or isinstance(error, StoreError)
        self.state = before
        if undone and before is not _INDOUBT:  # nothing of it is on the store, so its end need not be recorded there
            self._forget_later(meta)
            self.state, self.ended = _BACKOUT, True
            self.finish()
            if not isinstance(error, StoreError):
                self._region.committer.force()

    def _forget_later(self, meta: Meta) -> None:
        for key in self._forgotten_reads():
            if key in meta:
                self._region.committer.note(key, None)

    def committed(self) -> None:
        """Mark it as ended, after the commit. This frees its locks."""
        self.ended = True

    def finish(self) -> None:
        """Do what follows from its end: adjust the account of space, begin ATI cycles, wake waiting tasks."""
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
        """Record the end, adjust the account of space, begin or end ATI cycles, wake waiting tasks, release ENQs.

        A QZERO takes effect at the end of the task, or at once if the task has ended.
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
        """Become INDOUBT: write everything to the store, so that it can commit or back out even after a restart.

        Args:
            also: further meta data for the same commit.

        Raises:
            UsageError: it is not INFLIGHT.
            StoreError: the store refused the commit; nothing was changed.
        """
        if self.state is not _INFLIGHT or self.ended:
            raise UsageError(f"{self.title} is {self.state.name}; only one that is INFLIGHT can be prepared")
        region = self._region
        # Its reads of PHYSICAL queues are final now: an indoubt unit of work gives none of them back at a restart.
        meta: Meta = {**(also or {}), **self._forgotten_reads(), prepared_key(self.id): region.image_of(self)}
        for action in self.at_prepare:
            meta |= action()
        self.state = _INDOUBT
        try:
            late = region.committer.share((), meta, _UNFINISHED)
        except BaseException:
            if region.committer.get_meta(prepared_key(self.id)) is None:
                self.state = _INFLIGHT
            raise
        self.physical = {}
        if late is not None:
            raise late

    def shunt(self, *, link: str = "") -> None:
        """Wait for the coordinator without a task: with WAITACTION(REJECT) the locks become retained."""
        if self.state is not _INDOUBT:
            raise UsageError(f"{self.title} is {self.state.name}; only one that is INDOUBT can be shunted")
        region = self._region
        self.link = link or self.link
        self._become_shunted(Cvda.CONNECTION)
        late = None
        try:
            late = region.committer.share((), {prepared_key(self.id): region.image_of(self)}, _UNFINISHED)
        except StoreError as error:  # the record of its prepare is on the store: a restart finds it INDOUBT
            region.notices.say("shunt_not_recorded", uow=self.id.hex().upper(), reason=str(error))
        self.retain_locks()
        if late is not None:
            raise late

    def stay_in_doubt(self) -> None:
        """Return to INDOUBT after a decision could not be carried out; it can be made again."""
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
        """Wake the tasks that wait for its locks: those for a lock that is retained now get LOCKED."""
        for lock in self.locks:
            lock.since_ns = self.since_ns
            if lock.retained:
                lock.wake_all()
                lock.queue.released()

    def decide(self, *, commit: bool, also: Mapping[bytes, bytes | None] | None = None) -> None:
        """End an INDOUBT unit of work with the decision of its coordinator, or one taken in its place."""
        if self.state is not _INDOUBT:
            raise UsageError(f"{self.title} is {self.state.name}; only one that is INDOUBT can be decided")
        try:
            self._region.shunted.pop(self.id, None)
            self.waitstate, self.waitcause = Cvda.ACTIVE, Cvda.NOTAPPLIC
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


def transaction_of(task: TaskData) -> TransactionEntry | None:
    """The transaction of a task, or None; a task goes on with its definition when that was discarded."""
    region, transid = task._region, task.transid
    return region.transactions.get(transid) or region.discarded.get(transid)


def facts_of(task: TaskData | None) -> Facts:
    """The attributes of a task and of its TRANSACTION that its units of work keep."""
    if task is None:
        return Facts()
    facts = Facts(task.transid, task.userid, task.eib.eibtrmid, task.number)
    transaction = transaction_of(task)
    if transaction is None:
        return facts
    definition = transaction.definition
    return facts._replace(wait=definition.wait == "YES", action=definition.action, waittime=definition.waittime_seconds)


def prepared_key(uow_id: bytes) -> bytes:
    """The key of a prepared unit of work."""
    return b"uow/" + uow_id


def last_read_key(queue: bytes, uow_id: bytes) -> bytes:
    """The key of the last record that a unit of work read from a physically recoverable queue."""
    return READS + queue + b"/" + uow_id
