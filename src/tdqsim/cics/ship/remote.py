"""Function shipping: requests for queues of another region, and the part they take in the requester's unit of work.

A :class:`Link` joins two regions. What goes over it are messages, and each has a name (:data:`STEPS`), so that a test
can take the link away at any of them. A :class:`RemoteSystem` is one region's view of the link: remote queues and SYSID
send their requests through it. In the other region a *mirror* task carries them out; it ends with its reply, unless it
has touched a recoverable resource: then it and the requester's unit of work are one distributed unit of work until the
requester's syncpoint, which drives it in two phases (the requester decides)::

    requester (coordinator)                    mirror (subordinate)
    PREPARE  ------------------------------->  INFLIGHT -> INDOUBT, everything on the store
             <-------------------------------  VOTE
    decides, writes the decision
    COMMIT   ------------------------------->  INDOUBT -> committed
             <-------------------------------  COMMITTED, and the decision is forgotten

When the link goes away the mirror of an INFLIGHT unit of work backs out; an INDOUBT one goes on as
:mod:`~tdqsim.cics.uow.indoubt` says. The requester, if it had not decided, backs out (no decision on record means
backout);
if it had, it keeps the decision until the link is back and the other region has heard it.

Sources: Transient data (function shipping), Application programming for CICS function shipping (IBM Docs); the mirror's
life, two phases and daisy chains are general CICS knowledge (unconfirmed for transient data).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final, NamedTuple

from tdqsim.cics.commands import Task
from tdqsim.cics.kernel.conditions import Abend, Condition
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.uow.indoubt import Subordinate, decision_of, decisions, heard, heuristics, resolve
from tdqsim.errors import RegionClosed, StoreError, TdqError, WouldWaitForever
from tdqsim.facts import LIMITS, REGION_DEFAULTS, Cvda, Resp

if TYPE_CHECKING:
    from tdqsim.cics.region import Region
    from tdqsim.cics.uow.unit import UnitOfWork
    from tdqsim.core.dispatch import Strand

__all__ = ["STEPS", "Branch", "Link", "LinkDown", "Mirror", "MirrorTask", "RemoteSystem"]

STEPS: Final = ("REQUEST", "REPLY", "PREPARE", "VOTE", "COMMIT", "COMMITTED", "BACKOUT", "BACKED_OUT")
"""The messages that go over a link, in the order of a distributed unit of work."""

_MIRROR: Final = REGION_DEFAULTS["mirror_transaction"]
_LONGEST_CHAIN: Final = LIMITS["daisy_chain_maximum"]
_SHIPPED: Final = frozenset(
    {
        Resp.INVREQ, Resp.IOERR, Resp.NOSPACE, Resp.NOTOPEN, Resp.LENGERR, Resp.QZERO, Resp.QBUSY, Resp.QIDERR,
        Resp.SYSIDERR, Resp.ISCINVREQ, Resp.NOTAUTH, Resp.DISABLED, Resp.LOCKED,
    }
)  # fmt: skip
"""What the other region can answer; anything else arrives as ISCINVREQ."""


class LinkDown(TdqError):
    """A message could not be sent or answered: the link is gone."""


class Link:
    """What joins two regions. It can be cut, also at a given message, and restored.

    Attributes:
        ends: the two regions' views of it.
        acquired: whether messages get through.
        fault: called with each step before its message is sent, and may cut the link; None for nothing.
    """

    def __init__(self, one: Region, name_in_one: str, other: Region, name_in_other: str) -> None:
        self.acquired = True
        self.fault: Callable[[str], None] | None = None
        self._cut_at: str | None = None
        self._passes = 0
        here, there = RemoteSystem(self, one, name_in_one), RemoteSystem(self, other, name_in_other)
        here.far, there.far = there, here
        self.ends = (here, there)

    def __repr__(self) -> str:
        one, other = self.ends
        return f"<Link {one.region.applid} {other.region.applid} {'acquired' if self.acquired else 'released'}>"

    def cut(self) -> None:
        """Take the link away: both ends notice at once. Nothing happens when it is cut already."""
        if not self.acquired:
            return
        self.acquired = False
        self._cut_at = None
        for end in self.ends:
            if not end.region.closed:
                end.lost()

    def cut_at(self, step: str, *, nth: int = 1) -> None:
        """Take the link away when a message is sent the next time, or the nth time; the message is lost.

        Args:
            step: one of :data:`STEPS`.
            nth: 1 for the next such message.

        Raises:
            ValueError: there is no such message.
        """
        if step not in STEPS or nth < 1:
            raise ValueError(f"{step!r} ({nth}): allowed are {', '.join(STEPS)}, and 1 or more")
        self._cut_at, self._passes = step, nth

    def restore(self) -> None:
        """Bring the link back: both regions resynchronise what they were in doubt about."""
        if self.acquired or any(end.region.closed for end in self.ends):
            return
        self.acquired = True
        for end in self.ends:
            end.resynchronise()

    def carry(self, step: str) -> None:
        """Send a message.

        Raises:
            LinkDown: it did not get through.
        """
        if self.fault is not None:
            self.fault(step)
        if self.acquired and step == self._cut_at:
            self._passes -= 1
            if not self._passes:
                self.cut()
        if not self.acquired:
            raise LinkDown(f"{self!r}: {step} did not get through")


class MirrorTask(Task):
    """A task that carries out requests of another region.

    Attributes:
        hops: how many regions the request has come through.
    """

    __slots__ = ("hops",)

    hops: int


class Branch:
    """Another region's part in a unit of work of this region: the participant that a syncpoint drives.

    Attributes:
        name: the connection to that region.
        system: this region's view of the link; another one when a region that had ended is back.
        began: whether a request has got there.
        waiter: the strand whose request is under way, or None.
    """

    __slots__ = ("_key", "_lost", "_uow", "began", "name", "system", "waiter")

    def __init__(self, system: RemoteSystem, uow: UnitOfWork) -> None:
        self.name = system.name
        self.system = system
        self.waiter: Strand | None = None
        self._uow = uow
        self._key = system.name_of(uow)
        self._lost = False
        self.began = False

    @property
    def is_lost(self) -> bool:
        """Whether the unit of work can only be backed out."""
        return self._lost

    @property
    def mirror(self) -> Mirror | None:
        """What does the work over there; None before the first request and after the end."""
        return self.system.far.mirrors.get(self._key)

    def link_lost(self) -> None:
        """The link went away with the unit of work unfinished: it can only be backed out now."""
        self._lost = True
        if self.waiter is not None:
            self.waiter.cancel(LinkDown(f"{self.system.link!r}: the request was under way"))

    def ship(self, task: TaskBase, request: _Request) -> bytes:
        """Send a request and give its reply.

        Raises:
            Condition: the other region's answer.
            LinkDown: the request or its answer was lost.
        """
        if self._lost:
            raise LinkDown(f"{self.system.link!r}: it was lost during this unit of work")
        link, far = self.system.link, self.system.far
        link.carry("REQUEST")
        self.began = True
        self.waiter = task.region.dispatcher.current
        try:
            return far.perform(self._key, task, request)
        finally:
            self.waiter = None
            self._answered()

    def _answered(self) -> None:
        try:
            self.system.link.carry("REPLY")
        except LinkDown:
            self._lost = True
            raise

    def prepare(self) -> bool:
        """See :class:`~tdqsim.cics.uow.unit.Participant`."""
        if self._lost:
            return False
        link, far = self.system.link, self.system.far
        try:
            link.carry("PREPARE")
            vote = far.prepare(self._key)
            link.carry("VOTE")
        except LinkDown:
            return False
        return vote

    def commit(self) -> None:
        """Commit over there: see ``Participant``. A decision that is not heard is kept for the link's return."""
        self._tell("COMMIT", "COMMITTED", commit=True)

    def back_out(self) -> None:
        """Back out over there: see ``Participant``. That nothing is on record says backout to whoever asks later."""
        self._tell("BACKOUT", "BACKED_OUT", commit=False)

    def _tell(self, message: str, answer: str, *, commit: bool) -> None:
        """Send the decision; over a link that was lost and is back too, since the other region may be in doubt."""
        system = self.system
        link, far = system.link, system.far
        system.branches.pop(self._uow.id, None)
        if self._lost and not link.acquired:
            return
        late: Exception | None = None
        try:
            link.carry(message)
            late = self._carry_out(far, commit=commit)
            link.carry(answer)
        except LinkDown:
            pass
        else:
            if commit:
                system.note_heard(self._uow.id)
        if late is not None:
            raise late

    def _carry_out(self, far: RemoteSystem, *, commit: bool) -> Exception | None:
        """Have a decision carried out; what reached the task meanwhile, a purge or its region's end, came too late.

        Raises:
            LinkDown: it could not be.
        """
        try:
            with far.region.hardening.at_once() if self.system.region.hardening.urgent else nullcontext():
                far.decided(self._key, commit=commit)
        except LinkDown:
            raise
        except Exception as error:  # noqa: BLE001  (raised when the answer has been heard)
            return error
        return None


class _Request(NamedTuple):
    """A request as it goes over the link: plain values, so that it can go over a network too."""

    command: str
    queue: str
    data: bytes
    nosuspend: bool
    userid: str
    transid: str
    hops: int


class Mirror:
    """The mirror task of one distributed unit of work, and its part of that."""

    __slots__ = ("part", "task")

    def __init__(self, task: MirrorTask) -> None:
        self.task = task
        self.part: Subordinate | None = None


class RemoteSystem:
    """One region's view of a link: where its requests go out, and where the other's mirror tasks are.

    Attributes:
        link: the link.
        region: whose view it is.
        name: the connection's name in this region, 1 to 4 characters.
        far: the other end.
        branches: units of work of this region in which the other one takes part.
        mirrors: mirror tasks here, by the other region's name for their unit of work.
    """

    far: RemoteSystem

    def __init__(self, link: Link, region: Region, name: str) -> None:
        self.link = link
        self.region = region
        self.name = name
        self.branches: dict[bytes, Branch] = {}
        self.mirrors: dict[str, Mirror] = {}

    def __repr__(self) -> str:
        return f"<RemoteSystem {self.name} of {self.region.applid}>"

    @property
    def netname(self) -> str:
        """See :class:`~tdqsim.cics.queues.kinds.RemoteLink`."""
        return self.far.region.applid

    @property
    def acquired(self) -> bool:
        """See :class:`~tdqsim.cics.queues.kinds.RemoteLink`."""
        return self.link.acquired

    def resyncstatus(self, uow: UnitOfWork) -> Cvda:
        """See :class:`~tdqsim.cics.queues.kinds.RemoteLink`."""
        if not self.link.acquired:
            return Cvda.UNAVAILABLE
        theirs = uow.coordinator.rpartition(".")[2] if uow.link == self.name else ""
        cold = theirs and decision_of(self.far.region, bytes.fromhex(theirs)) == "COLD"
        return Cvda.COLD if cold else Cvda.OK

    def name_of(self, uow: UnitOfWork) -> str:
        """How the other region knows a unit of work of this one."""
        return f"{self.region.applid}.{uow.id.hex().upper()}"

    # -- requests go out ------------------------------------------------------------------------------------------

    def ship(
        self,
        task: TaskBase,
        command: str,
        queue: str,
        *,
        data: bytes = b"",
        length: int | None = None,  # noqa: ARG002  (the whole record comes back, whatever the requester's area)
        nosuspend: bool = False,
    ) -> bytes:
        """See :class:`~tdqsim.cics.queues.kinds.RemoteLink`."""
        hops = self._check_way(task)
        request = _Request(command, queue, data, nosuspend, task.userid, task.transid, hops)
        uow = task.uow
        branch = self._branch(uow)
        try:
            return branch.ship(task, request)
        except LinkDown as error:
            raise Condition(Resp.SYSIDERR, detail=str(error)) from error
        finally:
            self._keep(uow, branch)
            if uow.ended:
                branch.back_out()  # its own coordinator was lost while the request was under way

    def _check_way(self, task: TaskBase) -> int:
        """How many regions a request will have come through over there; ISCINVREQ or SYSIDERR when it cannot go."""
        hops = task.hops + 1 if isinstance(task, MirrorTask) else 1
        if hops > _LONGEST_CHAIN:
            raise Condition(Resp.ISCINVREQ, detail=f"the request has gone through {_LONGEST_CHAIN} regions already")
        self._check_service()
        return hops

    def foresee(self, task: TaskBase) -> MirrorTask:
        """The mirror that a task's next request would meet: the one it has, or one like that which would be attached.

        Raises:
            Condition: ISCINVREQ, SYSIDERR: the request would not get there.
        """
        hops, far = self._check_way(task), self.far
        if far.region.closed:
            raise Condition(Resp.SYSIDERR, detail=f"region {far.region.applid} is closed")
        if task.has_uow:
            if self._is_lost(task.uow):
                raise Condition(Resp.SYSIDERR, detail=f"{self.link!r}: it was lost during this unit of work")
            mirror = far.mirrors.get(self.name_of(task.uow))
            if mirror is not None:
                return mirror.task
        probe = MirrorTask(far.region, 0, _MIRROR, far.userid_for(task.userid), startcode="S")
        probe.hops = hops
        return probe

    def _is_lost(self, uow: UnitOfWork) -> bool:
        known = (self.branches.get(uow.id), *uow.participants)
        return any(isinstance(each, Branch) and each.name == self.name and each.is_lost for each in known)

    def _branch(self, uow: UnitOfWork) -> Branch:
        """The other region's part in a unit of work; one that was lost with an earlier link stays lost."""
        branch = self.branches.get(uow.id)
        if branch is None:
            for participant in uow.participants:
                if isinstance(participant, Branch) and participant.name == self.name:
                    return participant
            branch = self.branches[uow.id] = Branch(self, uow)
        return branch

    def _check_service(self) -> None:
        for end in (self, self.far):
            connection = end.region.connections.get(end.name)
            if connection is not None and connection.inservice != "YES":
                where = "" if end is self else f" of region {end.region.applid}"
                raise Condition(Resp.SYSIDERR, detail=f"connection {end.name}{where} is not in service")
        if not self.link.acquired:
            raise Condition(Resp.SYSIDERR, detail=f"connection {self.name} is released: the link is down")

    def _keep(self, uow: UnitOfWork, branch: Branch) -> None:
        """A branch with something to commit takes part in the syncpoint; so does one that was lost."""
        if uow.ended or branch in uow.participants:
            return
        if branch.mirror is not None or (branch.is_lost and branch.began):
            uow.join(branch)
        else:
            self.branches.pop(uow.id, None)

    def leave(self) -> None:
        """See :class:`~tdqsim.cics.queues.kinds.RemoteLink`."""
        self.link.cut()

    # -- requests come in -----------------------------------------------------------------------------------------

    def perform(self, key: str, requester: TaskBase, request: _Request) -> bytes:
        """Carry out a request of the other region.

        Raises:
            Condition: what the requester is told.
            Abend: the requester's own wait came to its end here.
        """
        mirror = self.mirrors.get(key) or self._attach(key, requester, request)
        task = mirror.task
        task.hops = request.hops
        task.dtimout_ns = requester.dtimout_ns
        try:
            return _do(task, request)
        except Condition as condition:
            raise self.answer(condition) from condition
        except (Abend, LinkDown, RegionClosed, WouldWaitForever):
            raise  # the requester's own wait came to its end, as it would have at home
        except TdqError as error:
            raise Condition(Resp.ISCINVREQ, detail=f"region {self.region.applid}: {error}") from error
        finally:
            self._release_if_idle(key, mirror)

    def _attach(self, key: str, requester: TaskBase, request: _Request) -> Mirror:
        region = self.region
        if region.closed:
            raise Condition(Resp.SYSIDERR, detail=f"region {region.applid} is closed")
        userid = self.userid_for(request.userid)
        task = MirrorTask(region, region.next_task_number(), _MIRROR, userid, startcode="S")
        task.outside = False
        task.hops = request.hops
        task.strand = requester.strand
        region.tasks[task.number] = task
        mirror = self.mirrors[key] = Mirror(task)
        return mirror

    def userid_for(self, userid: str) -> str:
        """For whom a mirror works that the other region's user asked for."""
        connection = self.region.connections.get(self.name)
        if connection is None or connection.attachsec == "LOCAL":
            return (connection.securityname if connection is not None else "") or self.region.default_user
        return userid

    def answer(self, condition: Condition) -> Condition:
        """A condition of a mirror as the requester gets it."""
        if condition.resp in _SHIPPED:
            return _copy(condition)
        return Condition(Resp.ISCINVREQ, detail=f"region {self.region.applid}: {condition}")

    def _release_if_idle(self, key: str, mirror: Mirror) -> None:
        """A mirror that has touched nothing recoverable ends with its reply."""
        task = mirror.task
        if task.has_uow:
            uow = task.uow
            if uow.locks or uow.physical or uow.participants:
                if mirror.part is None or mirror.part.uow is not uow:
                    mirror.part = Subordinate(uow, key, self.name)
                return
        self._end(key, mirror, normal=True)

    def _end(self, key: str, mirror: Mirror, *, normal: bool) -> None:
        self.mirrors.pop(key, None)
        mirror.task.end(normal=normal)

    # -- the end of the unit of work ------------------------------------------------------------------------------

    def prepare(self, key: str) -> bool:
        """Prepare the mirror's part; a mirror that is gone has nothing to promise."""
        mirror = self.mirrors.get(key)
        if mirror is None or mirror.part is None:
            return False
        vote = mirror.part.prepare()
        if not vote:
            self._end(key, mirror, normal=False)
        return vote

    def decided(self, key: str, *, commit: bool) -> None:
        """The other region's unit of work is decided.

        Raises:
            LinkDown: the store did not take it: it stays in doubt, and asks again when the link comes back.
        """
        try:
            self._end_part(key, commit=commit)
        except StoreError as error:
            raise LinkDown(f"region {self.region.applid} could not carry the decision out: {error}") from error

    def _end_part(self, key: str, *, commit: bool) -> None:
        mirror = self.mirrors.get(key)
        if mirror is None or mirror.part is None:
            uow = self._shunted(key)
            if uow is not None:
                resolve(self.region, uow, commit=commit)
            return
        mirror.task.detach_uow()
        try:
            if commit:
                mirror.part.commit()
            else:
                mirror.part.back_out()
        finally:
            self._end(key, mirror, normal=True)

    def _shunted(self, key: str) -> bytes | None:
        """The id here of a unit of work that waits for the other region's decision, or was decided without it."""
        for uow in self.region.shunted.values():
            if uow.coordinator == key:
                return uow.id
        return next((uow_id for uow_id, kept in heuristics(self.region).items() if kept["coordinator"] == key), None)

    # -- the link goes and comes ----------------------------------------------------------------------------------

    def lost(self) -> None:
        """The link is gone: what was in flight over it is backed out, what was in doubt waits or is decided alone."""
        for branch in tuple(self.branches.values()):
            branch.link_lost()
        with self.region.hardening.at_once():
            for key, mirror in tuple(self.mirrors.items()):
                self._lose(key, mirror)

    def _lose(self, key: str, mirror: Mirror) -> None:
        abend = None
        try:
            if mirror.part is not None:
                mirror.task.detach_uow()
                abend = mirror.part.lose_coordinator()
        except StoreError as error:  # a unit of work in doubt is so still: the next to be asked is the coordinator
            self.region.log.warning("not_decided_alone", coordinator=key, reason=str(error))
        finally:
            if abend is not None:
                mirror.task.abcode = abend.code
                self.region.abends[abend.code] = self.region.abends.get(abend.code, 0) + 1
            self._end(key, mirror, normal=False)

    def succeed(self, before: RemoteSystem) -> None:
        """Take over from the view of an earlier link between the same regions: units of work here may outlive it."""
        self.branches = before.branches
        for branch in self.branches.values():
            branch.system = self

    def resynchronise(self) -> None:
        """The link is back: ask the other region what this one has in doubt, and tell it what it has not heard."""
        self._adopt()
        with self.region.hardening.at_once(), self.far.region.hardening.at_once():
            self._ask_for_decisions()
            for uow_id, names in decisions(self.region).items():
                if self.name in names and uow_id not in self.branches:
                    self._remind(uow_id)

    def _ask_for_decisions(self) -> None:
        region, coordinator = self.region, f"{self.far.region.applid}."
        for uow in tuple(region.shunted.values()):
            if uow.link == self.name and uow.coordinator.startswith(coordinator):
                self._ask(uow.id, uow.coordinator)
        for uow_id, kept in heuristics(region).items():
            if kept["link"] == self.name:
                self._ask(uow_id, kept["coordinator"])

    def _adopt(self) -> None:
        """After a restart of this region: the other one still waits for what this one has in doubt itself."""
        for uow in self.region.shunted.values():
            known = {participant.name for participant in uow.participants}
            if self.name in uow.decision and self.name not in known:
                branch = self.branches[uow.id] = Branch(self, uow)
                uow.join(branch)

    def _remind(self, uow_id: bytes) -> None:
        """Tell the other region of a decision to commit that it has not heard."""
        if not self._speaks:
            return
        try:
            self.far.decided(f"{self.region.applid}.{uow_id.hex().upper()}", commit=True)
        except LinkDown as error:  # it could not be carried out there
            self.region.log.warning("decision_not_carried_out", uow=uow_id.hex().upper(), reason=str(error))
            return
        self.note_heard(uow_id)

    def note_heard(self, uow_id: bytes) -> None:
        """The other region has heard a decision of this one; one that cannot be forgotten is told again some time."""
        try:
            heard(self.region, uow_id, self.name)
        except StoreError as error:
            self.region.log.warning("decision_not_forgotten", uow=uow_id.hex().upper(), reason=str(error))

    def _ask(self, uow_id: bytes, key: str) -> None:
        theirs = bytes.fromhex(key.rpartition(".")[2])
        if not self._speaks or theirs in self.far.branches:
            return  # the other region is still at it, and will say
        decision = decision_of(self.far.region, theirs)
        if decision in ("COMMIT", "BACKOUT"):
            try:
                resolve(self.region, uow_id, commit=decision == "COMMIT")
            except StoreError as error:  # it asks again when the link comes back
                self.region.log.warning("not_resynchronised", uow=uow_id.hex().upper(), reason=str(error))
        elif decision == "COLD":
            self.region.log.warning("coordinator_was_started_initial", uow=uow_id.hex().upper(), coordinator=key)

    @property
    def _speaks(self) -> bool:
        """Whether the link is there; while one unit of work is resynchronised it may go again."""
        return self.link.acquired and not (self.region.closed or self.far.region.closed)


def _do(task: MirrorTask, request: _Request) -> bytes:
    record = b""
    if request.command == "READQ TD":
        record = task.readq_td(request.queue, nosuspend=request.nosuspend, nohandle=True)
    elif request.command == "WRITEQ TD":
        task.writeq_td(request.queue, request.data, nohandle=True)
    else:
        task.deleteq_td(request.queue, nohandle=True)
    if task.eib.eibresp is not Resp.NORMAL:
        assert task.condition is not None, task
        raise task.condition
    return record


def _copy(condition: Condition) -> Condition:
    """The same answer as the requester sees it: its own command and name are filled in there."""
    return Condition(condition.resp, condition.resp2, condition.detail, data=condition.data, length=condition.length)
