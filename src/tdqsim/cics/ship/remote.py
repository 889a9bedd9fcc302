"""Function shipping: requests for queues of another region, and two-phase commit of the requester's unit of work.

A :class:`LinkEnd` is one region's end of the link to another region: requests for remote queues and requests with SYSID
go through it. The regions exchange messages (:mod:`~tdqsim.cics.ship.messages`) over a channel; in the other region a
*mirror* task (:mod:`~tdqsim.cics.ship.mirrors`) carries them out. The mirror ends with its reply, unless it has changed
a recoverable resource: then it and the requester's unit of work form one distributed unit of work until the requester's
syncpoint, which is a two-phase commit with the requester as coordinator::

    requester (coordinator)                    mirror (subordinate)
    PREPARE  ------------------------------->  INFLIGHT -> INDOUBT, everything on the store
             <-------------------------------  VOTE
    decides, writes the decision
    COMMIT   ------------------------------->  INDOUBT -> committed
             <-------------------------------  COMMITTED, and the decision is forgotten

When the link is lost, the mirror backs out an INFLIGHT unit of work; an INDOUBT one is handled by
:mod:`~tdqsim.cics.uow.indoubt`. A requester that has not decided yet backs out (no decision on record means backout).
One that has decided keeps the decision until the link is back and the other region has acknowledged it.

A region of the same process is served *at once*: the message is carried out inside ``send``, in the fiber of the
requester, as if the mirror were a part of its task. Over a network, or when messages are delayed, each is carried out
by a separate fiber and the requester waits for the answer. Nothing else differs.

Sources: Transient data (function shipping), Application programming for CICS function shipping (IBM Docs); the mirror's
life, two phases and daisy chains are general CICS knowledge (unconfirmed for transient data).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from operator import index
from typing import TYPE_CHECKING, Final, Literal

from tdqsim.cics.kernel.conditions import Abend, Condition
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.kernel.waiting import wait
from tdqsim.cics.ship.branch import Branch
from tdqsim.cics.ship.messages import ANSWERS, KINDS, Fields, is_answer, raise_failure
from tdqsim.cics.ship.mirrors import LONGEST_CHAIN, LinkControl, Mirror, Mirrors, MirrorTask
from tdqsim.cics.uow.indoubt import acknowledged, decisions, heuristics, resolve
from tdqsim.core.fiber import WAIT, WaitMark, WaitQueue
from tdqsim.core.messages import MessageError, MessageFrame
from tdqsim.core.transport import LinkDown, MessageChannel, Transport
from tdqsim.errors import StoreError, TdqError
from tdqsim.facts import Cvda, Resp

if TYPE_CHECKING:
    from tdqsim.cics.model.task import TaskData
    from tdqsim.cics.model.unit import UnitOfWork
    from tdqsim.cics.region_core import RegionCore

_IN_CONVERSATION: Final = 14
_MIRROR_LOST: Final = 17
_NOT_CONNECTED: Final = 19
_UNWATCHED: Final[AbstractContextManager[object]] = nullcontext()
_IRLINK: Final = "IRLINK"
"""The resource type of a wait for another region, as INQUIRE TASK shows it."""
_LEAST_LENGTH: Final = -(1 << 63)
"""The lowest number that a message holds."""


class LinkEnd:
    """One region's end of a link: it sends requests to the other region and serves those that come from it.

    Attributes:
        link: the link: whether it is acquired, and how to give it up.
        region: the local region.
        name: the name of the connection in this region, 1 to 4 characters.
        netname: the APPLID that the other region has sent; empty before.
        branches: the units of work of this region in which the other one participates.
        served: the mirror tasks here.
        at_once: whether messages are carried out inside the other end's ``send``.
    """

    def __init__(self, link: LinkControl, region: RegionCore, name: str, *, at_once: bool = True) -> None:
        self.link = link
        self.region = region
        self.name = name
        self.netname = ""
        self.branches: dict[bytes, Branch] = {}
        self.served = Mirrors(region, name, lambda uow: uow in self.branches and not self.branches[uow].has_ended)
        self.at_once = at_once
        self.served.waits_turn = not at_once
        self._channel: MessageChannel | None = None
        self._answers: dict[int, MessageFrame | None] = {}
        self._awaited = WaitQueue(f"an answer of connection {name}")
        self._cold: set[bytes] = set()
        self._explained = 0
        self._leaves = self._has_greeted = False

    def __repr__(self) -> str:
        return f"<LinkEnd {self.name} of {self.region.applid}>"

    @property
    def mirrors(self) -> dict[str, Mirror]:
        """The mirror tasks here, by the other region's name for their unit of work."""
        return self.served.mirrors

    @property
    def far(self) -> LinkEnd:
        """The other end, when both regions are in this process; used by the test kit and explain."""
        return self.link.other(self)

    @property
    def acquired(self) -> bool:
        """See :class:`~tdqsim.cics.model.region.RegionLink`."""
        return self.link.acquired

    @property
    def is_near(self) -> bool:
        """See :class:`~tdqsim.cics.model.region.RegionLink`."""
        return self.link.is_near

    def resyncstatus(self, uow: UnitOfWork) -> Cvda:
        """See :class:`~tdqsim.cics.model.region.RegionLink`."""
        if not self.acquired:
            return Cvda.UNAVAILABLE
        return Cvda.COLD if uow.link == self.name and uow.id in self._cold else Cvda.OK

    def name_of(self, uow: UnitOfWork) -> str:
        """The name by which the other region identifies a unit of work of this region."""
        return f"{self.region.applid}.{uow.id.hex().upper()}"

    def decided_by(self, key: str) -> Fields:
        """The fields of a decision, including whether the other region may wait for a shared commit."""
        return {"key": key, "urgent": self.region.committer.urgent}

    # -- messages -------------------------------------------------------------------------------------------------

    @staticmethod
    def acquire(ways: Sequence[tuple[LinkEnd, Transport]]) -> None:
        """Use new transports to other regions: identify this region and resynchronise. Earlier transports were dropped.

        This function does everything that follows a new link, for one end or for both ends of a pair; both must have
        their transports before either sends a message. If a region fails meanwhile, the others continue; its own next
        start completes its part.
        """
        for end, transport in ways:
            end.connect(transport)
        for end, _ in ways:
            end.hello()
        for end, _ in ways:
            try:
                end.resynchronise()
            except TdqError:
                if not end.region.closed:
                    raise

    def connect(self, transport: Transport) -> None:
        """Use a new transport to the other region.

        Its messages are numbered from the start, so an answer can only be for a message sent over the same transport.
        """
        self.branches = {uow: branch for uow, branch in self.branches.items() if not branch.has_ended}
        answers = self._answers = {}
        self._has_greeted = False
        self._channel = MessageChannel(transport, KINDS, partial(self._arrived, answers), self._link_lost)

    def hello(self) -> None:
        """Send the identity of this region; a second one over the same transport asks for what waits for a terminal."""
        self.say("HELLO", {"applid": self.region.applid})

    def say(self, kind: str, fields: Fields) -> None:
        """Send a message that has no answer; nothing is sent when the link is down."""
        try:
            self._open_channel().send(kind, fields)
        except LinkDown:
            return

    def ask(
        self,
        kind: str,
        fields: Fields,
        data: bytes = b"",
        *,
        task: TaskData | None = None,
        went: Callable[[], None] | None = None,
        late: list[Exception] | None = None,
    ) -> MessageFrame:
        """Send a message and wait for its answer.

        Args:
            kind: the kind of the message.
            fields: its fields.
            data: the data sent with the fields.
            task: the task that waits; its DTIMOUT limits the wait.
            went: called when the message has been sent.
            late: collects the exceptions that reached this fiber while the message was carried out, too late to
                change its outcome; None to raise them.

        Raises:
            LinkDown: the message, or its answer, was lost.
        """
        channel, answers = self._open_channel(), self._answers
        number = channel.sent + 1
        answers[number] = None  # an answer without an entry here is dropped

        def attempt() -> MessageFrame | WaitMark:
            answer = answers[number]
            if answer is not None:
                return answer
            if channel.is_lost:
                raise LinkDown(f"{self!r}: {kind} was not answered")
            return WAIT

        watch = self.region.link_watch
        try:
            with _UNWATCHED if watch is None else watch(self.name, kind, fields["key"]):
                self._send(channel, kind, fields, data, went, late)
                reply = self._wait(attempt, task, late)
        finally:
            answers.pop(number, None)
        if not is_answer(kind, reply):
            channel.close()
            raise LinkDown(f"{self!r}: {kind} was answered by {reply.kind}")
        return reply

    def _wait(
        self, attempt: Callable[[], MessageFrame | WaitMark], task: TaskData | None, late: list[Exception] | None
    ) -> MessageFrame:
        """Wait for an answer; a purge that comes too late to change anything does not end the wait."""
        answer = attempt()
        while isinstance(answer, WaitMark):
            try:
                if task is not None:
                    answer = wait(task, attempt, self._awaited, _IRLINK, self.name)
                else:
                    answer = self._wait_in_syncpoint(attempt)
            except LinkDown:
                raise
            except Exception as error:
                if late is None:
                    raise
                late.append(error)
                if len(late) > 1 or not isinstance(error, Abend):
                    raise LinkDown(f"{self!r}: the wait for the answer was ended") from error
        return answer

    def _wait_in_syncpoint(self, attempt: Callable[[], MessageFrame | WaitMark]) -> MessageFrame:
        """Wait as long as it takes. INQUIRE TASK shows meanwhile what the task, if there is one, waits for."""
        dispatcher = self.region.dispatcher
        task = dispatcher.current.local
        if not isinstance(task, TaskBase):
            return dispatcher.wait(attempt, self._awaited)
        try:
            task._suspended = (_IRLINK, self.name)
            return dispatcher.wait(attempt, self._awaited)
        finally:
            task._suspended = None

    def _open_channel(self) -> MessageChannel:
        if self._channel is None or self._channel.is_lost:
            raise LinkDown(f"{self!r}: the link is down")
        return self._channel

    @staticmethod
    def _send(
        channel: MessageChannel,
        kind: str,
        fields: Fields,
        data: bytes,
        went: Callable[[], None] | None,
        late: list[Exception] | None,
    ) -> None:
        try:
            channel.send(kind, fields, data)
        except LinkDown:
            if went is not None and not channel.is_lost:
                went()
            raise
        except Exception as error:
            if late is None:
                raise
            late.append(error)
        except BaseException:
            if went is not None:
                went()  # the message may have been sent
            raise
        if went is not None:
            went()

    def _arrived(self, answers: dict[int, MessageFrame | None], message: MessageFrame) -> None:
        if not self._may_come(message):
            self._open_channel().close()
        elif message.answers:
            if message.answers in answers:  # else the requester no longer waits for it
                answers[message.answers] = message
                self._awaited.wake_all()
        elif message.kind == "HELLO":
            self.netname = message.fields["applid"]
            if self._has_greeted:  # the other region has its connection in service again; see Facilities.refresh
                self.region.routing.link_acquired(self.name)
            self._has_greeted = True
        elif message.kind == "ABANDON":
            self.served.abandoned(message.fields["key"])
        elif self.at_once:
            self._serve(self._open_channel(), message)
        else:
            name = f"{message.kind} of {self.netname or self.name}"
            serve = partial(self._serve, self._open_channel(), message)
            self.region.dispatcher.spawn(serve, name=name, owner=self.region)

    def _may_come(self, message: MessageFrame) -> bool:
        """Whether the other region may send this message: only about its own units of work, except for ASK."""
        kind = message.kind
        if message.answers:
            return kind in ANSWERS.values() and message.answers <= self._open_channel().sent
        if kind == "HELLO":
            return self.netname in ("", message.fields["applid"])
        whose = self.region.applid if kind == "ASK" else self.netname
        return (kind in ANSWERS or kind == "ABANDON") and message.fields["key"].startswith(f"{whose}.")

    def _serve(self, channel: MessageChannel, message: MessageFrame) -> None:
        """Carry a message out and answer it; when the link is lost meanwhile, the answer is not sent."""
        try:
            self.served.wait_turn(message)
            if channel.is_lost:
                return  # the link was lost before the message was carried out: do not begin
            outcome = self.served.serve(message)
            channel.send(ANSWERS[message.kind], outcome.fields, outcome.data, answers=message.number)
        except LinkDown:
            if self.at_once and not channel.is_lost:
                raise  # the exception is about another link, over which the request came: its end handles it
            return
        except MessageError as error:
            self.region.notices.say("message_not_understood", connection=self.name, reason=str(error))
            channel.close()
            return
        if outcome.late is not None:
            raise outcome.late

    # -- outgoing requests ----------------------------------------------------------------------------------------

    def ship(
        self,
        task: TaskData,
        command: str,
        queue: str,
        *,
        data: bytes = b"",
        length: int | None = None,
        nosuspend: bool = False,
    ) -> bytes:
        """See :class:`~tdqsim.cics.model.region.RegionLink`. The whole record comes back, whatever the area holds."""
        negative = 0 if length is None else max(_LEAST_LENGTH, min(index(length), 0))
        request = self._request(task, command, queue, nosuspend=nosuspend, length=negative)
        uow = task._uow
        try:
            branch = self._branch(uow)
            return branch.ship(task, request, data)
        except LinkDown as error:
            raise Condition(Resp.SYSIDERR, detail=str(error), rule="REC-SYSIDERR-LINK") from error
        finally:
            branch = self._branch(uow)  # creates it if an interrupt had prevented that
            self._keep(uow, branch)
            if uow.ended:
                branch.back_out()  # its own coordinator was lost while the request was under way

    def _request(self, task: TaskData, command: str, name: str, *, nosuspend: bool = False, length: int = 0) -> Fields:
        return {
            "command": command, "queue": name, "nosuspend": nosuspend, "userid": task.userid,
            "transid": task.transid, "hops": self._check_way(task),
            "dtimout_ns": -1 if task._dtimout_ns is None else task._dtimout_ns, "length": length,
        }  # fmt: skip

    def ship_link(
        self, task: TaskData, program: str, order: bytes, *, apart: bool, command: Literal["LINK", "ROUTE"] = "LINK"
    ) -> bytes:
        """See :class:`~tdqsim.cics.model.region.RegionLink`."""
        try:
            request = self._request(task, command, program)
        except Condition as condition:
            resp2 = _NOT_CONNECTED if condition.resp is Resp.SYSIDERR else condition.resp2
            raise Condition(condition.resp, resp2, condition.detail) from condition
        uow = task._uow
        branch = self._branch(uow)
        if apart and (branch.held or branch.is_lost):
            raise Condition(
                Resp.INVREQ, _IN_CONVERSATION, f"{self!r}: SYNCONRETURN, but the unit of work has work there"
            )
        try:
            return branch.ship(task, request, order)
        except LinkDown as error:
            resp, resp2 = (Resp.TERMERR, _MIRROR_LOST) if branch.under_way else (Resp.SYSIDERR, _NOT_CONNECTED)
            raise Condition(resp, resp2, str(error)) from error
        finally:
            if apart:
                self.branches.pop(uow.id, None)
            else:
                self._keep(uow, branch)
                if uow.ended:
                    branch.back_out()

    def _check_way(self, task: TaskData) -> int:
        """How many regions a request has passed when it arrives; ISCINVREQ or SYSIDERR if it may not be sent."""
        hops = task.hops + 1 if isinstance(task, MirrorTask) else 1
        if hops > LONGEST_CHAIN:
            detail = f"the request has gone through {LONGEST_CHAIN} regions already"
            raise Condition(Resp.ISCINVREQ, detail=detail, rule="REC-CHAIN-TOO-LONG")
        connection = self.region.connections.get(self.name)
        if connection is not None and connection.inservice != "YES":
            detail = f"connection {self.name} is not in service"
            raise Condition(Resp.SYSIDERR, detail=detail, rule="REC-SYSIDERR-OUT-OF-SERVICE")
        if not self.acquired:
            detail = f"connection {self.name} is released: the link is down"
            raise Condition(Resp.SYSIDERR, detail=detail, rule="REC-SYSIDERR-LINK")
        return hops

    def foresee(self, task: TaskData) -> MirrorTask:
        """The mirror that would carry out a task's next request: the existing one, or one like that to be attached.

        Raises:
            Condition: ISCINVREQ, SYSIDERR: the request would not be sent.
        """
        hops = self._check_way(task)
        key = ""
        if task._has_uow:
            if self._is_lost(task._uow):
                detail = f"{self!r}: it was lost during this unit of work"
                raise Condition(Resp.SYSIDERR, detail=detail, rule="REC-SYSIDERR-LINK")
            key = self.name_of(task._uow)
        return self.link.foreseen(self, key, task.userid, hops)

    def awaited_by(self, task: TaskData) -> str:
        """See :class:`~tdqsim.cics.model.region.RegionLink`."""
        branch = self.branches.get(task._unit.id) if task._unit is not None else None
        if branch is not None and branch.waiter is not None:
            return " ".join(branch.asked)
        return "SYNCPOINT" if task._suspended == (_IRLINK, self.name) else ""

    def explain(self, task: TaskData, name: str, size: int, *, kind: str = "TDQUEUE") -> bytes:
        """See :class:`~tdqsim.cics.model.region.RegionLink`."""
        request = self._request(task, "EXPLAIN", name)
        uow = self.name_of(task._unit) if task._unit is not None else ""
        self._explained += 1  # the key must be another one than that of any request that is under way
        key = f"{self.region.applid}.explain {self._explained}"
        fields, data = {"key": key, **request}, f"{kind} {size} {uow}".encode()
        try:
            if self.is_near:
                outcome = self.far.served.explain(fields, data)
                answer = MessageFrame("REPLY", outcome.fields, outcome.data)
            else:
                answer = self.ask("REQUEST", fields, data)
        except LinkDown as error:
            raise Condition(Resp.SYSIDERR, detail=str(error), rule="REC-SYSIDERR-LINK") from error
        raise_failure(answer)
        return answer.data

    def _is_lost(self, uow: UnitOfWork) -> bool:
        known = (self.branches.get(uow.id), *uow.participants)
        return any(isinstance(each, Branch) and each.name == self.name and each.is_lost for each in known)

    def _branch(self, uow: UnitOfWork) -> Branch:
        """The other region's branch of a unit of work; a branch lost with an earlier link remains lost."""
        branch = self.branches.get(uow.id)
        if branch is None:
            for participant in uow.participants:
                if isinstance(participant, Branch) and participant.name == self.name:
                    return participant
            branch = self.branches[uow.id] = Branch(self, uow)
        return branch

    def _keep(self, uow: UnitOfWork, branch: Branch) -> None:
        """Add a branch to the participants of the syncpoint if it has work to commit or was lost."""
        if uow.ended or branch in uow.participants:
            return
        if branch.held or (branch.is_lost and branch.began):
            uow.join(branch)
        else:
            self.branches.pop(uow.id, None)

    def leave(self) -> None:
        """See :class:`~tdqsim.cics.model.region.RegionLink`."""
        self._leaves = True  # so _link_lost handles units of work in doubt itself, before the region is closed
        self.link.cut()
        if self.served.orphans and not self.region.closed:  # the link was lost earlier, and they were not handled yet
            self._lose_mirrors()

    # -- loss and return of the link ------------------------------------------------------------------------------

    def _link_lost(self, _why: str) -> None:
        self.link.cut()  # a message was lost or arrived twice, and the link may not be cut yet
        self._awaited.wake_all()
        if self.region.closed:
            return
        for branch in tuple(self.branches.values()):
            branch.link_lost()
        self.served.orphan()
        if self.at_once or self._leaves:
            self._lose_mirrors()
        elif self.served.orphans:
            name = f"loss of {self.netname or self.name}"
            self.region.dispatcher.spawn(self._lose_mirrors, name=name, owner=self.region)

    def _lose_mirrors(self) -> None:
        with self.region.committer.at_once():
            self.served.lose_orphans()

    def succeed(self, before: LinkEnd) -> None:
        """Take over the units of work of the end of an earlier link between the same regions.

        The earlier link was cut, so its mirrors are orphans; resynchronisation handles the remaining ones.
        """
        self.served.orphans += before.served.orphans
        before.served.orphans.clear()
        self.branches.update(before.branches)
        for branch in self.branches.values():
            branch.system = self

    def resynchronise(self) -> None:
        """After the link is back: ask for decisions that are in doubt here, and send those not acknowledged there."""
        self._adopt()
        if self.at_once:
            with self.region.committer.at_once():
                self._resynchronise()
        else:
            name = f"resynchronisation with {self.netname or self.name}"
            self.region.dispatcher.spawn(self._resynchronise, name=name, owner=self.region)

    def _resynchronise(self) -> None:
        self._lose_mirrors()  # the units of work in doubt must be known before the other region asks
        self.served.wait_for_orphans()
        region, coordinator = self.region, f"{self.netname}."
        for uow in tuple(region.shunted.values()):
            if uow.link == self.name and uow.coordinator.startswith(coordinator):
                self._ask(uow.id, uow.coordinator)
        for uow_id, kept in heuristics(region).items():
            if kept["link"] == self.name:
                self._ask(uow_id, kept["coordinator"])
        for uow_id, names in decisions(region).items():
            if self.name in names and uow_id not in self.branches:
                self._remind(uow_id)
        region.routing.link_acquired(self.name)

    def _adopt(self) -> None:
        """After a restart of this region, restore the branches of units of work that are in doubt here."""
        for uow in self.region.shunted.values():
            known = {participant.name for participant in uow.participants}
            if self.name in uow.decision and self.name not in known:
                branch = self.branches[uow.id] = Branch(self, uow)
                uow.join(branch)

    def _remind(self, uow_id: bytes) -> None:
        """Send the other region a decision to commit that it has not acknowledged."""
        key = f"{self.region.applid}.{uow_id.hex().upper()}"
        try:
            answer = self.ask("REMIND", {"key": key})
        except LinkDown:
            return  # the link was lost again; the next resynchronisation repeats this
        if answer.fields["done"]:
            self.note_acknowledged(uow_id)

    def note_acknowledged(self, uow_id: bytes) -> None:
        """The other region has acknowledged a decision; when its record cannot be deleted, it is sent again later."""
        try:
            acknowledged(self.region, uow_id, self.name)
        except StoreError as error:
            self.region.notices.say("decision_not_forgotten", uow=uow_id.hex().upper(), reason=str(error))

    def _ask(self, uow_id: bytes, key: str) -> None:
        self._cold.discard(uow_id)
        try:
            decision = self.ask("ASK", {"key": key}).fields["decision"]
        except LinkDown:
            return  # the link was lost again; the next resynchronisation repeats this
        if decision in ("COMMIT", "BACKOUT"):
            try:
                resolve(self.region, uow_id, commit=decision == "COMMIT")
            except StoreError as error:  # it asks again when the link comes back
                self.region.notices.say("not_resynchronised", uow=uow_id.hex().upper(), reason=str(error))
        elif decision == "COLD":
            self._cold.add(uow_id)
            self.region.notices.say("coordinator_was_started_initial", uow=uow_id.hex().upper(), coordinator=key)
