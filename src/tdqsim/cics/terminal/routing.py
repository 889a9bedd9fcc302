"""Transaction routing: a terminal runs a transaction of another region.

A transaction that is entered at a terminal, and whose REMOTESYSTEM names another region, runs here as a *relay* task,
which holds the terminal and routes the transaction. In the other region the transaction runs as a task of its own; its
terminal is a :class:`~tdqsim.cics.terminal.surrogate.Surrogate`. The relay ends when that task has ended, and learns
how the conversation continues: the next transaction, which the definitions of the terminal's region decide, and its
COMMAREA or channel::

    region of the terminal                              region of the transaction
    relay task  -- ROUTE transaction, input --------->  task of the transaction
                <-- TERMINAL SEND, TERMINAL RECEIVE --
                --- what was typed ------------------>
    ends        <-- next transaction, or the abend ---  its unit of work has ended

The unit of work is that of the routed task alone; the relay changes nothing. If the session fails, the relay abends
with AZI6, and so does the routed task at its next command for the terminal.

A task that a queue's trigger or START asks for, at a terminal of another region (*automatic transaction initiation*):
the request waits in this region, and the other region is told how many wait for each transaction and terminal. Once the
terminal is free there, a relay task routes the transaction back, and takes the first request that waits. So a request
is lost or repeated by no failure of the other region or of the link: when the link is back the numbers are sent again,
and a relay that finds no request ends. If the other region does not know the terminal or the transaction, the requests
are dropped.

Sources: Overview of transaction routing, The relay program, Traditional routing of transactions started by ATI,
DFHCR4300, DFHCR4301 (IBM Docs).
"""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics.kernel.authority import is_attachable_by, unauthorized
from tdqsim.cics.kernel.conditions import Abend, Condition
from tdqsim.cics.kernel.handlers import undefined
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.level import ProgramLevel
from tdqsim.cics.model.queue import Latch
from tdqsim.cics.model.task import Facility, FacilityRequest
from tdqsim.cics.model.transaction import TransactionEntry
from tdqsim.cics.programs.remote import Passed
from tdqsim.cics.terminal.screen import Input, Screen, Sent
from tdqsim.cics.terminal.surrogate import SESSION_FAILED, Surrogate, input_form, read_input, serve_terminal
from tdqsim.core.fiber import WAIT
from tdqsim.core.named import NamedTuple
from tdqsim.errors import WrongValue
from tdqsim.facts import Resp

if TYPE_CHECKING:
    from tdqsim.cics.model.region import RegionData
    from tdqsim.cics.model.task import TaskData
    from tdqsim.core.fiber import Fiber

_SCHEDULER: Final = "CRSR"
"""The transaction that asks for tasks at terminals of other regions."""
_MOST: Final = 1000
"""The most tasks for one transaction and terminal that one request asks for."""
_NONE: Final = Passed(-1, b"", None)


class RouteOrder(NamedTuple):
    """A transaction as it is routed to another region.

    Attributes:
        passed: its COMMAREA or channel.
        terminal: the terminal's name in the region that sends this.
        netname: its NETNAME.
        session: the name of the relay task, for the terminal requests of the routed task.
        path: the APPLIDs of the regions through which it has come, beginning with the terminal's.
        typed: the input that started it, or None.
        is_scheduled: whether the other region has asked for it (automatic transaction initiation).
    """

    passed: Passed
    terminal: str
    netname: str
    session: str
    path: tuple[str, ...]
    typed: Input | None
    is_scheduled: bool

    def to_bytes(self) -> bytes:
        """Its form in a message."""
        head = self._asdict() | {"typed": None if self.typed is None else input_form(self.typed)}
        del head["passed"]
        return self.passed.to_bytes(**head)

    @classmethod
    def from_bytes(cls, form: bytes) -> RouteOrder:
        """The order in a message.

        Raises:
            Condition: ISCINVREQ: it cannot be read.
        """
        passed, head = Passed.from_bytes(form)
        match head:
            case {
                "terminal": str(terminal), "netname": str(netname), "session": str(session), "path": list(path),
                "typed": typed, "is_scheduled": bool(is_scheduled),
            } if 0 < len(terminal) <= 4 and all(isinstance(each, str) for each in path):  # fmt: skip
                first = None if typed is None else read_input(typed)
                return cls(passed, terminal, netname, session, tuple(path), first, is_scheduled)
        raise Condition(Resp.ISCINVREQ, detail=f"a routed transaction that cannot be read: {head!r:.200}")


class Routing:
    """The transactions of one region that are routed to other regions, and from them.

    Attributes:
        relays: the relay tasks by connection and session.
    """

    def __init__(self, region: RegionData) -> None:
        self._region = region
        self.relays: dict[tuple[str, str], TaskBase] = {}
        self._asking: set[str] = set()

    # -- the region of the terminal -------------------------------------------------------------------------------

    def relay(self, task: TaskBase, asked_by: str = "") -> None:
        """The program of a relay task: route the transaction and wait for its end.

        Args:
            task: the relay task.
            asked_by: the connection to the region that has asked for the task (automatic transaction initiation); empty
                if it was started here.

        Raises:
            Abend: that of the routed task; AZI6: the session has failed.
            Condition: SYSIDERR: there is no such connection; ISCINVREQ: the transaction would come back to a region
                through which it has come.
        """
        region = self._region
        entry = region.transactions.get(task.transid) or region.discarded[task.transid]
        definition = entry.definition
        system, key = definition.remotesystem, (definition.remotesystem, str(task.number))
        screen = region.screens.of(task)
        link = region.link(system)
        path = (*(screen.path if isinstance(screen, Surrogate) else ()), region.applid)
        if link.netname in path:
            detail = f"transaction {task.transid} would be routed back to {link.netname}"
            raise Condition(Resp.ISCINVREQ, detail=detail)
        order = _order(task, screen, path, is_scheduled=bool(asked_by))
        task._dtimout_ns, task._suspended = None, ("IRLINK", system)  # the user may think for as long as he likes
        self.relays[key] = task
        try:
            answer = link.ship_link(
                task, definition.remotename or task.transid, order.to_bytes(), apart=True, command="ROUTE"
            )
        except Condition as condition:
            _not_routed(task, screen, system, condition, is_scheduled=bool(asked_by))
        else:
            _go_on(task, screen, answer)
        finally:
            self.relays.pop(key, None)
            task._suspended = None
            for fiber in screen.waiting.waiters:  # requests for an input come from the routed task, which is lost
                fiber.cancel(Abend(SESSION_FAILED, detail="the relay task has ended"))

    def serve_terminal(self, task: TaskBase, system: str, session: str, command: str, form: bytes) -> bytes:
        """Carry out a request of a routed task for its terminal; the relay task of its session has the terminal.

        Raises:
            Condition: INVREQ: there is no such session; ISCINVREQ: the request cannot be read.
        """
        relay = self.relays.get((system, session))
        if relay is None:
            raise Condition(Resp.INVREQ, detail=f"there is no session {session:.20} with system {system}")
        return serve_terminal(task, self._region.screens.of(relay), command, form)

    def schedule(self, system: str, terminal: str, form: bytes) -> None:
        """Take a request of another region for tasks at a terminal.

        Raises:
            Condition: TERMIDERR, TRANSIDERR: the terminal is not known here, or no definition here says that the
                transaction belongs to that region. ISCINVREQ: the request cannot be read.
        """
        region = self._region
        try:
            match json.loads(form):
                case [str(transid), int(count)] if 0 < count <= _MOST:
                    pass
                case other:
                    raise WrongValue(str(other)[:200])
        except (ValueError, RecursionError) as error:
            raise Condition(Resp.ISCINVREQ, detail=f"a request for tasks that cannot be read: {error}") from error
        if terminal not in region.terminals:
            raise Condition(Resp.TERMIDERR, detail=f"terminal {terminal} is not defined")
        entry = self._routed_to(system, transid)
        if entry is None:
            region.messages.write("DFHCR4310", sysid=system, transid=transid, termid=terminal)
            raise Condition(Resp.TRANSIDERR, detail=f"no transaction is defined as {transid} of system {system}")
        facility = region.terminal_control.get("TERMINAL", terminal)
        waiting = sum(request.transid == entry.name for request in facility.requests)
        request = FacilityRequest(entry.name, partial(self._begin_relay, entry))
        facility.requests.extend([request] * (count - waiting))
        region.ati.serve(facility)

    def _routed_to(self, system: str, transid: str) -> TransactionEntry | None:
        for entry in self._region.transactions.values():
            if entry.remotesystem == system and (entry.definition.remotename or entry.name) == transid:
                return entry
        return None

    def _begin_relay(self, entry: TransactionEntry, facility: Facility) -> None:
        region = self._region
        user = facility.userid or region.options.dfltuser
        asked_by = entry.remotesystem
        region.task_manager.attach(entry, startcode="S", userid=user, facility=facility, args=(asked_by,))

    # -- the region of the transaction ----------------------------------------------------------------------------

    def serve(self, system: str, transid: str, userid: str, form: bytes) -> bytes:
        """Run a transaction for a terminal of another region, and wait for its end.

        Returns:
            How the conversation continues: the next transaction, and its COMMAREA or channel.

        Raises:
            Condition: TRANSIDERR: it cannot be attached; ISCINVREQ: the order cannot be read.
            Abend: it has abended.
            RegionClosed, LinkDown: the wait was ended.
        """
        order = RouteOrder.from_bytes(form)
        surrogate = Surrogate(self._shipped(system, order), system, order.session, order.path)
        facility = Facility(surrogate.name, "TERMINAL")
        facility.surrogate, facility.userid, facility.inservice = surrogate, userid, True
        if order.is_scheduled:
            self._take_request(transid, facility)
        else:
            self._attach(transid, order, facility)
        if facility.task is not None:
            self._wait_for(facility.task, surrogate)
        following = _NONE
        if surrogate.next_transid:
            area = surrogate.next_commarea
            following = Passed(len(area) or -1, area, surrogate.next_channel)
        return following.to_bytes(transid=surrogate.next_transid, at_once=surrogate.at_once)

    def _shipped(self, system: str, order: RouteOrder) -> str:
        """The name here of the terminal of a routed transaction; its definition comes with the transaction."""
        terminals = self._region.terminals
        for terminal in terminals.values():
            if terminal.remotesystem == system and (terminal.remotename or terminal.name) == order.terminal:
                return terminal.name
        if order.terminal not in terminals:
            from tdqsim.definitions import define_terminal  # noqa: PLC0415  (pydantic is imported with the first definition)

            terminals[order.terminal] = define_terminal(name=order.terminal, netname=order.netname, remotesystem=system)
            self._region.terminal_control.refresh({("TERMINAL", order.terminal)})
        return order.terminal

    def _attach(self, transid: str, order: RouteOrder, facility: Facility) -> None:
        region = self._region
        entry = region.transactions.get(transid)
        why_not = "DFHAC2001" if entry is None else entry.why_not(region.sysid)
        if entry is None or why_not is not None:
            program = "" if entry is None else entry.program_name
            text = region.messages.compose(why_not or "", transid=transid[:4], program=program)
            raise Condition(Resp.TRANSIDERR, detail=text)
        if not is_attachable_by(region, transid, facility.userid, facility):
            raise Condition(Resp.TRANSIDERR, detail=region.messages.compose(unauthorized(facility), transid=transid))
        passed, level = order.passed, None
        if passed.size >= 0 or passed.channel is not None:
            level = ProgramLevel(entry.program_name or entry.name, passed.area(), None, passed.channel)
        handle = region.task_manager.attach(
            entry, startcode="TD", userid=facility.userid, facility=facility, level=level
        )
        if order.typed is not None:
            facility.surrogate.started_by(handle.local, order.typed)

    def _take_request(self, transid: str, facility: Facility) -> None:
        """Begin the first request of this region that waits for a transaction at a terminal."""
        region = self._region
        known = region.terminal_control.get("TERMINAL", facility.name)
        for request in tuple(known.requests):
            if facility.task is None and known.owner and request.transid == transid:
                known.requests.remove(request)
                try:
                    region.ati.begin_request(request, facility)
                except BaseException:
                    if facility.task is None:  # an interrupt came before it got the facility
                        known.requests.appendleft(request)
                    raise
        if len(known.requests) >= _MOST:
            self.ship_requests(known)

    def _wait_for(self, task: TaskData, surrogate: Surrogate) -> None:
        fiber = task._fiber
        assert fiber is not None, task
        try:
            self._region.dispatcher.wait(partial(_until_done, fiber), fiber.ended)
        except BaseException:
            surrogate.is_lost = True  # the next command of the task for its terminal abends
            raise
        fiber.reported = True  # the relay reports it
        if fiber.exception is not None:
            error = fiber.exception
            raise Abend(error.code, detail=error.detail) if isinstance(error, Abend) else error

    # -- automatic transaction initiation at terminals of other regions -------------------------------------------

    def ship_requests(self, facility: Facility) -> None:
        """Ask the region that owns a terminal for the tasks that wait for it; a task of its own does so."""
        region, system = self._region, facility.owner
        if not facility.requests or system in self._asking or region.ati.why_it_waits(facility) is not None:
            return
        self._asking.add(system)
        try:
            entry = TransactionEntry(undefined(_SCHEDULER), handler=self._ask, defined=False)
            region.task_manager.attach(entry, startcode="S", userid=region.options.dfltuser, args=(system,))
        except BaseException:
            self._asking.discard(system)
            raise

    def link_acquired(self, system: str) -> None:
        """The link to another region is there again, or its connection is in service: ask again, send, start."""
        self._region.starts.local.send(system)
        self._region.ati.serve(self._region.terminal_control.get("SYSTEM", system))
        for facility in tuple(self._region.facilities.values()):
            if facility.owner == system:
                self.ship_requests(facility)

    def _ask(self, task: TaskBase, system: str) -> None:
        self._asking.discard(system)
        for facility in tuple(self._region.facilities.values()):
            if facility.owner == system:
                for transid, count in Counter(request.transid for request in facility.requests).items():
                    self._ask_for(task, facility, transid, min(count, _MOST))

    def _ask_for(self, task: TaskBase, facility: Facility, transid: str, count: int) -> None:
        region, system = self._region, facility.owner
        definition = region.terminals[facility.name]
        try:
            region.link(system).ship(
                task, "SCHEDULE", definition.remotename or facility.name, data=json.dumps([transid, count]).encode()
            )
        except Condition as condition:
            invalid = {Resp.TRANSIDERR: "DFHCR4300", Resp.TERMIDERR: "DFHCR4301"}.get(condition.resp)
            if invalid is None:
                region.notices.say("requests_not_shipped", system=system, terminal=facility.name, reason=str(condition))
                return
            region.messages.write(invalid, transid=transid, termid=facility.name, sysid=system)
            event = "routed_no_transaction" if condition.resp is Resp.TRANSIDERR else "routed_no_terminal"
            for request in [each for each in facility.requests if each.transid == transid]:
                facility.requests.remove(request)
                about = f"TDQUEUE({request.queue.name})" if isinstance(request, Latch) else f"TRANSACTION({transid})"
                region.notices.say(event, resource=about, transid=transid, facility=facility.name, system=system)
                if isinstance(request, FacilityRequest):
                    request.drop()
        else:
            region.notices.over(f"TERMINAL({facility.name})")


def _until_done(fiber: Fiber) -> Any:
    return None if fiber.done else WAIT


def _order(task: TaskBase, screen: Screen, path: tuple[str, ...], *, is_scheduled: bool) -> RouteOrder:
    level, passed = task._level, _NONE
    if level is not None:
        area = level.commarea
        passed = Passed(-1 if area is None else len(area), bytes(area or b""), level.channel)
    terminal = task._region.terminals.get(screen.name)
    netname = "" if terminal is None else terminal.netname
    typed = screen.first.pop(task, None)
    return RouteOrder(passed, screen.name, netname, str(task.number), path, typed, is_scheduled)


def _not_routed(task: TaskBase, screen: Screen, system: str, condition: Condition, *, is_scheduled: bool) -> None:
    """Report to the terminal's user why the transaction has not run, or abend if the session has failed."""
    if condition.resp is Resp.TERMERR:
        raise Abend(SESSION_FAILED, condition, condition.detail) from condition
    messages = task._region.messages
    if condition.resp is Resp.TRANSIDERR:
        text = condition.detail  # the message of the other region
    elif condition.resp is Resp.SYSIDERR:
        text = messages.compose("DFHAC2014", transid=task.transid, sysid=system)
    else:
        raise condition
    if not is_scheduled:  # the region that has asked for the task asks again
        screen.put(task, Sent("MESSAGE", text=text))


def _go_on(task: TaskBase, screen: Screen, answer: bytes) -> None:
    """Keep what the routed task has named for the terminal's next input."""
    following, head = Passed.from_bytes(answer)
    transid = head.get("transid")
    if not isinstance(transid, str) or not transid:
        return
    screen.name_next(task, transid[:4], following.sent, following.channel)
    if head.get("at_once") is True:
        screen.begin_at_once(task)
