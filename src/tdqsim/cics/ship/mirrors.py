"""The serving side of function shipping: mirror tasks that carry out requests of another region.

A mirror ends with its reply, unless it has changed a recoverable resource or LINK has run a program: then its unit of
work is part of the unit of work of the requester, and the mirror stays until the coordinator has sent its decision, or
can no longer be reached. This module takes messages and returns the fields of their answers; it has no access to the
requester.

Sources: Transient data (function shipping), Application programming for CICS function shipping (IBM Docs).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Protocol

from tdqsim.cics.commands import Task
from tdqsim.cics.kernel.authority import is_attachable_by
from tdqsim.cics.kernel.conditions import Abend, Condition
from tdqsim.cics.kernel.security import link_user
from tdqsim.cics.kernel.task import TaskBase, abnormal_end
from tdqsim.cics.model.unit import UOW_ID_LENGTH
from tdqsim.cics.programs.remote import LinkOrder, serve_link
from tdqsim.cics.ship.commands import carry_out
from tdqsim.cics.ship.messages import Fields, failure_fields
from tdqsim.cics.uow.indoubt import Subordinate, decision_of, heuristics, resolve
from tdqsim.core.fiber import WAIT, WaitMark, WaitQueue
from tdqsim.core.messages import MessageError, MessageFrame
from tdqsim.core.transport import LinkDown
from tdqsim.errors import RegionClosed, StoreError, TdqError, WouldWaitForever
from tdqsim.facts import LIMITS, REGION_DEFAULTS, Cvda, Resp

if TYPE_CHECKING:
    from tdqsim.cics.region_core import RegionCore
    from tdqsim.cics.ship.remote import LinkEnd
    from tdqsim.core.fiber import Fiber

LONGEST_CHAIN: Final = LIMITS["daisy_chain_maximum"]
_OURS: Final = re.compile(rf"[0-9A-F]{{{2 * UOW_ID_LENGTH}}}")
_IN_CONVERSATION: Final = 14
_OTHER_TRANSID: Final = 15
_MIRROR_LOST: Final = 17
_MIRROR: Final = REGION_DEFAULTS["mirror_transaction"]
_SHIPPED: Final = frozenset(
    {
        Resp.INVREQ, Resp.IOERR, Resp.NOSPACE, Resp.NOTOPEN, Resp.LENGERR, Resp.QZERO, Resp.QBUSY, Resp.QIDERR,
        Resp.SYSIDERR, Resp.ISCINVREQ, Resp.NOTAUTH, Resp.DISABLED, Resp.LOCKED, Resp.NOTFND, Resp.TERMIDERR,
        Resp.TRANSIDERR, Resp.USERIDERR, Resp.PGMIDERR, Resp.TERMERR, Resp.ROLLEDBACK, Resp.CHANNELERR, Resp.ITEMERR,
    }
)  # fmt: skip
"""Conditions that the other region can return; any other condition arrives as ISCINVREQ."""
_OTHERS: Final = ((), ())
_MAY_COME: Final[Mapping[str, tuple[tuple[str, ...], tuple[Cvda, ...]]]] = {
    # message: behind which others, and not in which states of its unit of work here
    "REQUEST": ((), (Cvda.INDOUBT,)),
    "PREPARE": ((), (Cvda.INDOUBT,)),
    "COMMIT": (("COMMIT", "REMIND"), (Cvda.INFLIGHT, Cvda.BACKOUT)),
    "REMIND": (("COMMIT", "REMIND"), (Cvda.INFLIGHT, Cvda.BACKOUT)),
    "BACKOUT": (("REQUEST", "PREPARE", "BACKOUT"), ()),
}
"""The order of messages: one waits while a message listed for it is carried out, and is refused during any other.

A unit of work that has voted takes no more work and does not vote again; one that has not voted cannot be committed.
"""


class MirrorTask(Task):
    """A task that carries out requests of another region.

    Attributes:
        hops: how many regions the request has passed through.
        is_serving: whether it carries out a request now; else it waits for the next one or for the syncpoint.
        requester: the name of the unit of work in the other region, ``APPLID.ID``.
    """

    __slots__ = ("hops", "is_serving", "requester")

    _is_mirror: ClassVar[bool] = True
    hops: int
    is_serving: bool
    requester: str


class Mirror:
    """The mirror task of one unit of work of the other region, and its local part of that unit of work.

    Attributes:
        task: the task.
        part: the local unit of work; None before the mirror has changed a recoverable resource.
        stays: whether it stays to the end of the unit of work even without such a change, as after LINK has run a
            program.
    """

    __slots__ = ("part", "stays", "task")

    def __init__(self, task: MirrorTask) -> None:
        self.task = task
        self.stays = False
        self.part: Subordinate | None = None


class Turn(NamedTuple):
    """A message about a unit of work of the other region that is being carried out.

    Attributes:
        kind: the kind of the message.
        fiber: the fiber that carries it out.
        over: the queue in which the next message about the unit of work waits.
    """

    kind: str
    fiber: Fiber
    over: WaitQueue


class MirrorOutcome(NamedTuple):
    """The result of carrying out a message.

    Attributes:
        fields, data: of its answer.
        late: an exception that reached the fiber meanwhile (a purge, the end of its region), too late to change the
            result.
    """

    fields: Fields
    data: bytes = b""
    late: Exception | None = None


class LinkControl(Protocol):
    """The link that a :class:`~tdqsim.cics.ship.remote.LinkEnd` belongs to."""

    is_near: ClassVar[bool]
    """Whether the other end is in this process."""

    @property
    def acquired(self) -> bool:
        """Whether messages get through."""

    def cut(self) -> None:
        """Cut the link."""

    def other(self, end: LinkEnd, /) -> LinkEnd:
        """The other end; TdqError when that is in another process."""

    def foreseen(self, end: LinkEnd, key: str, userid: str, hops: int, /) -> MirrorTask:
        """The mirror that would carry out a request from an end; TdqError when that is in another process."""


class Mirrors:
    """The mirror tasks of one region for one other region.

    Args:
        region: where they are.
        name: its connection to the other region.
        is_open: returns whether a unit of work of this region, which the other one may ask about, is still undecided.

    Attributes:
        mirrors: mirror tasks by the other region's name for their unit of work.
        waits_turn: whether messages for a mirror may arrive while it carries out another one.
        turns: the messages that are being carried out, by the same names; used only with ``waits_turn``.
        orphans: mirrors whose link was lost, and whose units of work have not been backed out or shunted yet.
    """

    def __init__(self, region: RegionCore, name: str, is_open: Callable[[bytes], bool]) -> None:
        self.region = region
        self.name = name
        self.mirrors: dict[str, Mirror] = {}
        self.waits_turn = False
        self.turns: dict[str, Turn] = {}
        self.orphans: list[tuple[str, Mirror]] = []
        self._losing = 0
        self._settled = WaitQueue(f"orphans of connection {name}")
        self._is_open = is_open

    def serve(self, message: MessageFrame) -> MirrorOutcome:
        """Carry out a message when its turn has come.

        Raises:
            LinkDown: the link was lost meanwhile; the requester no longer waits for the answer.
            MessageError: a region never sends this message, or not in this state.
        """
        key = message.fields["key"]
        if not self.waits_turn or message.kind == "ASK":
            return self._carry_out(message, key)
        turn = Turn(message.kind, self.region.dispatcher.current, WaitQueue(f"the turn of {key:.80}"))
        self.turns[key] = turn
        try:
            return self._carry_out(message, key)
        finally:
            del self.turns[key]
            turn.over.wake_all()

    def _carry_out(self, message: MessageFrame, key: str) -> MirrorOutcome:
        kind = message.kind
        if kind == "ASK":
            return self.asked(key)
        self._check_state(kind, key)
        if kind == "REQUEST":
            return self.perform(message)
        if kind == "PREPARE":
            return self.prepare(key)
        if kind == "REMIND":
            return self.decided(key, commit=True, urgent=True)
        return self.decided(key, commit=kind == "COMMIT", urgent=message.fields["urgent"])

    def _check_state(self, kind: str, key: str) -> None:
        mirror = self.mirrors.get(key) or self._orphan(key)
        part = mirror.part if mirror is not None else None
        if part is not None and part.state in _MAY_COME.get(kind, _OTHERS)[1]:
            raise MessageError(f"{kind} of {key:.80}, which is {part.state.name}")

    def wait_turn(self, message: MessageFrame) -> None:
        """Wait for an earlier message of the unit of work that is still being carried out, though it was abandoned.

        Raises:
            MessageError: this kind of message may not follow the earlier one.
        """
        kind, key = message.kind, message.fields["key"]
        while kind != "ASK" and (turn := self.turns.get(key)) is not None and not turn.fiber.done:
            if turn.kind not in _MAY_COME.get(kind, _OTHERS)[0]:
                raise MessageError(f"{kind} of {key:.80} came while its {turn.kind} was carried out")
            self.abandoned(key)
            self.region.dispatcher.wait(partial(self._until_over, key, turn), turn.over)

    def _until_over(self, key: str, turn: Turn) -> WaitMark | None:
        return WAIT if self.turns.get(key) is turn and not turn.fiber.done else None

    def abandoned(self, key: str) -> None:
        """The requester has stopped waiting for its request: end the wait of its mirror too."""
        turn = self.turns.get(key)
        if turn is not None and turn.kind == "REQUEST":
            turn.fiber.cancel(LinkDown(f"{key:.80}: the requester has given up"))

    # -- requests -------------------------------------------------------------------------------------------------

    def perform(self, message: MessageFrame) -> MirrorOutcome:
        """Carry out a request."""
        fields, key = message.fields, message.fields["key"]
        if fields["command"] == "ROUTE":
            return self._route(fields, message.data)
        if fields["command"] == "EXPLAIN":
            return self.explain(fields, message.data)
        error: Exception | None = None
        record = b""
        try:
            order = LinkOrder.from_bytes(message.data) if fields["command"] == "LINK" else None
            mirror = self._mirror(fields, order)
        except Condition as condition:
            return MirrorOutcome({"held": key in self.mirrors, **failure_fields(condition)})
        if order is not None:
            return self._link(mirror, key, fields["queue"], order)
        try:
            record = carry_out(mirror.task, self.name, fields, message.data)
        except Condition as condition:
            error, record = self.answer(condition), condition.data
        except (Abend, RegionClosed, WouldWaitForever) as ended:
            error = ended  # the requester's own wait ended, as it would for a local queue
        except LinkDown:
            raise
        except TdqError as failed:
            error = Condition(Resp.ISCINVREQ, detail=f"region {self.region.applid}: {failed}")
        finally:
            self._release_if_idle(key, mirror)
        return MirrorOutcome({"held": key in self.mirrors, **failure_fields(error)}, record)

    def _link(self, mirror: Mirror, key: str, program: str, order: LinkOrder) -> MirrorOutcome:
        """Run a program. Its abend ends the mirror; the unit of work of the requester must then be backed out."""
        task, back = mirror.task, b""
        error: Exception | None = None
        must_back_out = False
        try:
            back = serve_link(task, program, order)
            mirror.stays = mirror.stays or not order.apart
        except Condition as condition:
            error = self.answer(condition)
        except (Abend, WouldWaitForever) as ended:
            error, must_back_out = ended, not order.apart
            if isinstance(ended, Abend):
                abnormal_end(task, ended)
            else:
                task.end(normal=False)
        except RegionClosed as closed:
            error = Condition(Resp.TERMERR, _MIRROR_LOST, str(closed))
        except LinkDown:
            if order.apart:
                task.end(normal=False)
            raise
        except TdqError as failed:
            error = Condition(Resp.ISCINVREQ, detail=f"region {self.region.applid}: {failed}")
        finally:
            self._release_if_idle(key, mirror)
        return MirrorOutcome({"held": must_back_out or key in self.mirrors, **failure_fields(error)}, back)

    def _route(self, fields: Fields, data: bytes) -> MirrorOutcome:
        """Run a routed transaction; it runs as a task of its own, without a mirror."""
        error: Exception | None = None
        back = b""
        try:
            self._check_request(fields)
            userid = self.userid_for(fields["userid"])
            back = self.region.routing.serve(self.name, fields["queue"], userid, data)
        except Condition as condition:
            error = self.answer(condition)
        except (Abend, WouldWaitForever) as ended:
            error = ended
        except RegionClosed as closed:
            error = Condition(Resp.TERMERR, _MIRROR_LOST, str(closed))
        except LinkDown:
            raise
        except TdqError as failed:
            error = Condition(Resp.ISCINVREQ, detail=f"region {self.region.applid}: {failed}")
        return MirrorOutcome({"held": False, **failure_fields(error)}, back)

    def explain(self, fields: Fields, data: bytes) -> MirrorOutcome:
        """Explain a resource, or a task that serves the other region, to that region; nothing is changed.

        No mirror is attached.

        Args:
            fields: of the request; the name of the resource, or for TASK the number of the task there.
            data: the kind of the resource, the length of the record of the predicted WRITEQ, and the name of the unit
                of work there; with a space between them.
        """
        from tdqsim.cics.inspection.explain import explain_for_another  # noqa: PLC0415  (only who asks needs it)

        try:
            self._check_request(fields)
            kind, size, uow = [*data.decode("ascii", "replace").split(" ", 2), "", ""][:3]
            length = int(size) if size.removeprefix("-").isdecimal() else 1
            routed = self._routed(fields["queue"]) if kind == "TASK" and uow not in self.mirrors else None
            task = routed or self.probe(uow, fields["userid"], fields["hops"])
            back = explain_for_another(task, fields["queue"], length, kind)
        except Condition as condition:
            return MirrorOutcome({"held": False, **failure_fields(self.answer(condition))})
        return MirrorOutcome({"held": False, **failure_fields(None)}, back)

    def _routed(self, session: str) -> TaskBase | None:
        """The task that runs a routed transaction of the other region, by the number of its relay task there."""
        for task in self.region.tasks.values():
            surrogate = task._facility.surrogate if task._facility is not None else None
            if surrogate is not None and (surrogate.system, surrogate.session) == (self.name, session):
                assert isinstance(task, TaskBase), task
                return task
        return None

    def _mirror(self, fields: Fields, order: LinkOrder | None) -> Mirror:
        """The mirror for a request: the existing one, or a new one.

        Raises:
            Condition: the region does not accept the request.
        """
        self._check_request(fields)
        mirror = self._mirror_for(fields, order)
        task, current = mirror.task, self.region.dispatcher.current
        task.hops, task.is_serving = fields["hops"], True
        task._dtimout_ns = None if fields["dtimout_ns"] < 0 else fields["dtimout_ns"]
        task._fiber = current if current.local is not None or self.waits_turn else None
        return mirror

    def _check_request(self, fields: Fields) -> None:
        region = self.region
        if region.closed:
            raise Condition(Resp.SYSIDERR, detail=f"region {region.applid} is closed", rule="REC-SYSIDERR-CLOSED")
        self.check_service()
        if not 0 < fields["hops"] <= LONGEST_CHAIN:
            detail = f"the request has gone through {fields['hops']} regions already"
            raise Condition(Resp.ISCINVREQ, detail=detail, rule="REC-CHAIN-TOO-LONG")

    def _mirror_for(self, fields: Fields, order: LinkOrder | None) -> Mirror:
        transid = "" if order is None else order.transid
        mirror = self.mirrors.get(fields["key"])
        if mirror is None:
            if transid and transid not in self.region.transactions:
                where = f"region {self.region.applid}"
                raise Condition(Resp.SYSIDERR, detail=f"{where}: there is no transaction {transid} for a mirror")
            return self._attach(fields, transid or _MIRROR)
        if order is not None and order.apart:
            raise Condition(Resp.INVREQ, _IN_CONVERSATION, "SYNCONRETURN, but the unit of work has a mirror already")
        if transid and transid != mirror.task.transid:
            raise Condition(Resp.INVREQ, _OTHER_TRANSID, f"the unit of work has mirror {mirror.task.transid} already")
        return mirror

    def check_service(self) -> None:
        """Refuse requests over a connection that is out of service here.

        Raises:
            Condition: SYSIDERR.
        """
        connection = self.region.connections.get(self.name)
        if connection is not None and connection.inservice != "YES":
            where = f"connection {self.name} of region {self.region.applid}"
            raise Condition(Resp.SYSIDERR, detail=f"{where} is not in service", rule="REC-SYSIDERR-OUT-OF-SERVICE")

    def _attach(self, fields: Fields, transid: str) -> Mirror:
        region, user = self.region, self.userid_for(fields["userid"])
        if not is_attachable_by(region, transid, user):
            detail = f"region {region.applid}: user {user} may not attach mirror transaction {transid}"
            raise Condition(Resp.SYSIDERR, detail=detail, rule="SEC-XTRAN-MIRROR")
        task = MirrorTask(region, region.task_manager.next_number(), transid, user, startcode="S")
        task.requester = fields["key"]
        # Before the task is listed: what ends a listed task looks for its mirror.
        mirror = self.mirrors[fields["key"]] = Mirror(task)
        region.tasks[task.number] = task
        return mirror

    def userid_for(self, userid: str) -> str:
        """The user id under which a mirror runs for a user of the other region.

        Raises:
            Condition: SYSIDERR: the user is not known here, so that no mirror is attached.
        """
        connection = self.region.connections.get(self.name)
        if connection is None or connection.attachsec == "LOCAL":
            named = "" if connection is None else link_user(self.region.security, connection.securityname)
            return named or self.region.options.dfltuser
        policy = self.region.security
        if policy is not None and not policy.knows_user(userid):
            raise Condition(Resp.SYSIDERR, detail=f"region {self.region.applid}: user {userid} is not known here")
        return userid

    def answer(self, condition: Condition) -> Condition:
        """A condition of a mirror as sent to the requester, which fills in its own command and resource name."""
        if condition.resp not in _SHIPPED:
            return Condition(Resp.ISCINVREQ, detail=f"region {self.region.applid}: {condition}")
        return Condition(
            condition.resp, condition.resp2, condition.detail, data=condition.data, length=condition.length
        )

    def probe(self, key: str, userid: str, hops: int) -> MirrorTask:
        """The mirror that a request would use: the existing one, or one like the mirror that would be attached."""
        mirror = self.mirrors.get(key)
        if mirror is not None:
            return mirror.task
        probe = MirrorTask(self.region, 0, _MIRROR, self.userid_for(userid), startcode="S")
        probe.hops, probe.requester = hops, key
        return probe

    def _release_if_idle(self, key: str, mirror: Mirror) -> None:
        """End a mirror with its reply when it has changed no recoverable resource."""
        task = mirror.task
        task.is_serving = False
        if task._has_uow or (mirror.stays and not task._ended):
            uow = task._uow
            if mirror.stays or uow.locks or uow.physical or uow.participants or uow.kept:
                if mirror.part is None or mirror.part.uow is not uow:
                    mirror.part = Subordinate(uow, key, self.name)
                return
        self._end(key, mirror, normal=True)

    def _end(self, key: str, mirror: Mirror, *, normal: bool) -> None:
        mirror.task.end(normal=normal)
        if self.mirrors.get(key) is mirror:
            del self.mirrors[key]

    # -- the end of the unit of work ------------------------------------------------------------------------------

    def prepare(self, key: str) -> MirrorOutcome:
        """Prepare the mirror's part; a mirror that no longer exists cannot vote yes.

        Raises:
            LinkDown: the link was lost meanwhile.
        """
        mirror = self.mirrors.get(key)
        if mirror is None or mirror.part is None:
            return MirrorOutcome({"vote": False, **failure_fields(None)})
        try:
            vote = mirror.part.prepare()
        except LinkDown:
            raise
        except Exception as error:  # noqa: BLE001  (such as a purge while it waited for the store)
            return MirrorOutcome({"vote": False, **failure_fields(error)})
        if not vote:
            self._end(key, mirror, normal=False)
        return MirrorOutcome({"vote": vote, **failure_fields(None)})

    def decided(self, key: str, *, commit: bool, urgent: bool) -> MirrorOutcome:
        """Carry out the decision of the other region. If that fails, the part stays in doubt and asks again later.

        Raises:
            LinkDown: the link was lost meanwhile.
        """
        try:
            with self.region.committer.at_once() if urgent else nullcontext():
                self._end_part(key, commit=commit)
        except LinkDown:
            raise
        except StoreError as error:
            self.region.notices.say("decision_not_carried_out", coordinator=key, reason=str(error))
            return MirrorOutcome({"done": False})
        except Exception as error:  # noqa: BLE001  (raised after the answer was received)
            parts = [mirror.part.uow for mirror in (self.mirrors.get(key),) if mirror is not None and mirror.part]
            waiting = [*parts, *self.region.shunted.values()]
            in_doubt = any(uow.coordinator == key and not uow.ended for uow in waiting)
            return MirrorOutcome({"done": not in_doubt}, late=error)
        return MirrorOutcome({"done": True})

    def _end_part(self, key: str, *, commit: bool) -> None:
        mirror = self.mirrors.get(key) or self._orphan(key, take=True)
        if mirror is None or mirror.part is None:
            uow_id = self._shunted(key)
            if uow_id is not None:
                resolve(self.region, uow_id, commit=commit)
            return
        uow = mirror.part.uow
        try:
            mirror.task._unit = None
            if commit:
                mirror.part.commit()
            else:
                mirror.part.back_out()
        finally:
            mirror.task._unit = None
            if not uow.ended and uow.id not in self.region.shunted:  # interrupted before the decision
                if uow.state is Cvda.INDOUBT:
                    uow.stay_in_doubt()
                else:
                    mirror.part.back_out()
            self._end(key, mirror, normal=True)

    def _shunted(self, key: str) -> bytes | None:
        """The local id of a unit of work that waits for the other region's decision, or was decided without it."""
        for uow in self.region.shunted.values():
            if uow.coordinator == key:
                return uow.id
        return next((uow_id for uow_id, kept in heuristics(self.region).items() if kept["coordinator"] == key), None)

    def asked(self, key: str) -> MirrorOutcome:
        """The decision of this region about a unit of work that it coordinates.

        Raises:
            MessageError: the name is not the name of a unit of work of this region.
        """
        name = _OURS.fullmatch(key.removeprefix(f"{self.region.applid}."))
        if name is None:
            raise MessageError(f"{key!r:.80} is not a unit of work of this region")
        ours = bytes.fromhex(name[0])
        return MirrorOutcome({"decision": "INDOUBT" if self._is_open(ours) else decision_of(self.region, ours)})

    # -- loss of the link -----------------------------------------------------------------------------------------

    def orphan(self) -> None:
        """The link was lost: its mirrors become orphans, which messages over another link do not reach."""
        if self.waits_turn:
            for key in tuple(self.turns):
                self.abandoned(key)
        self.orphans += self.mirrors.items()
        self.mirrors.clear()

    def _orphan(self, key: str, *, take: bool = False) -> Mirror | None:
        """The orphan to which a message over a new link belongs, if the loss of its old link was not handled yet."""
        for at, (theirs, mirror) in enumerate(self.orphans):
            if theirs == key and mirror.part is not None:
                if take:
                    del self.orphans[at]
                return mirror
        return None

    def lose_orphans(self) -> None:
        """Back out orphans in flight; those in doubt are shunted, or decided without the coordinator."""
        try:
            while self.orphans:
                self._losing += 1
                try:
                    self._lose(*self.orphans.pop(0))
                finally:
                    self._losing -= 1
        finally:
            self._settled.wake_all()

    def wait_for_orphans(self) -> None:
        """Wait until all orphans are handled, so that the units of work in doubt are known."""
        self.region.dispatcher.wait(lambda: WAIT if self.orphans or self._losing else None, self._settled)

    def _lose(self, key: str, mirror: Mirror) -> None:
        abend = None
        try:
            if mirror.part is not None:
                mirror.task._unit = None
                abend = mirror.part.lose_coordinator()
        except StoreError as error:  # a unit of work in doubt remains in doubt: the coordinator is queried next
            self.region.notices.say("not_decided_alone", coordinator=key, reason=str(error))
        finally:
            if abend is not None:
                mirror.task.abcode = abend.code
                self.region.abends[abend.code] = self.region.abends.get(abend.code, 0) + 1
            self._end(key, mirror, normal=False)
