"""Distributed program link (DPL): LINK to a program of another region.

The region that owns the program runs it in a mirror task, with a copy of the COMMAREA or channel, and returns the
changed copy. The program's work belongs to the requester's unit of work: the mirror stays until the requester's
syncpoint. With SYNCONRETURN the program has its own unit of work, which is committed when it returns.

The program has no terminal and, without SYNCONRETURN, may not take a syncpoint: such a command gets INVREQ 200, or
abend ADPL if the program does not handle that. If the program abends, LINK abends in the requester with the same code;
the requester can then only back out its unit of work, except with SYNCONRETURN.

Sources: LINK, Distributed program link, Exception conditions for LINK command, Programming considerations for
distributed program link (IBM Docs).
"""

from __future__ import annotations

import json
from typing import Any, Final

from tdqsim.cics.kernel.channels import Channel, Container
from tdqsim.cics.kernel.conditions import Abend, Condition
from tdqsim.cics.kernel.levels import level_of, note_failure, program_of
from tdqsim.cics.kernel.task import TaskBase, take_last_syncpoint, to_abend
from tdqsim.cics.model.level import ProgramLevel
from tdqsim.cics.programs.running import find_program, on_level, run_program
from tdqsim.cics.programs.table import Programs
from tdqsim.core.messages import DATA_LIMIT
from tdqsim.core.named import NamedTuple
from tdqsim.core.transport import LinkDown
from tdqsim.errors import RegionClosed, UsageError, WouldWaitForever, WrongValue
from tdqsim.facts import Resp, table

LONGEST: Final = next(int(row["value"]) for row in table("programs") if row["name"] == "longest_commarea")
"""The longest COMMAREA, in bytes."""
_HEAD: Final = 4
_NAMES: Final = {"invoker": 8, "transid": 4}
_BLANK_TRANSID: Final = 16
_NOT_KNOWN: Final = 18
_NOT_CONNECTED: Final = 19
_NOT_COMMITTED: Final = 29


class Passed(NamedTuple):
    """The data that LINK passes to a program, or that the program returns: a COMMAREA, a channel, or neither.

    Attributes:
        size: the length of the COMMAREA; -1 for none.
        sent: its first bytes; the rest is binary zeros.
        channel: the channel, or None.
    """

    size: int
    sent: bytes
    channel: Channel | None

    def to_bytes(self, **head: object) -> bytes:
        """Its form in a message, together with other values: the length of a JSON object, the object, then the data.

        Raises:
            UsageError: it is longer than a message may be.
        """
        channel = self.channel
        containers = [] if channel is None else list(channel.containers.items())
        head["size"], head["sent"] = self.size, len(self.sent)
        head["channel"] = None if channel is None else channel.name
        head["containers"] = [[name, each.kind, len(each.data)] for name, each in containers]
        text = json.dumps(head).encode()
        form = b"".join((len(text).to_bytes(_HEAD, "big"), text, self.sent, *(each.data for _, each in containers)))
        if len(form) > DATA_LIMIT:
            raise UsageError(f"a LINK to another region passes {len(form)} bytes; allowed are {DATA_LIMIT}")
        return form

    @classmethod
    def from_bytes(cls, form: bytes) -> tuple[Passed, dict[str, Any]]:
        """The data in a message, and the other values.

        Raises:
            Condition: ISCINVREQ: it cannot be read.
        """
        try:
            start = _HEAD + int.from_bytes(form[:_HEAD], "big")
            head = json.loads(form[_HEAD:start])
            size, sent, name, listed = head["size"], head["sent"], head["channel"], head["containers"]
            lengths = [sent, *(length for _, _, length in listed)]
            kinds = {kind for _, kind, _ in listed} <= {"BIT", "CHAR"}
            if not (
                kinds
                and all(type(each) is int and each >= 0 for each in lengths)
                and type(size) is int
                and -1 <= size <= LONGEST
                and sent <= max(size, 0)
                and start + sum(lengths) == len(form)
                and (name is None or isinstance(name, str))
            ):
                raise WrongValue(str(head)[:200])
            area = form[start : start + sent]
            channel = None if name is None else Channel(name)
            at = start + sent
            for word, kind, length in listed:
                if channel is None or not isinstance(word, str):
                    raise WrongValue(str(listed)[:200])
                channel.containers[word] = Container(form[at : at + length], kind)
                at += length
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Condition(Resp.ISCINVREQ, detail=f"a LINK that cannot be read: {error}") from error
        return cls(size, area, channel), head

    def area(self) -> memoryview | None:
        """The COMMAREA as storage; None for none."""
        return None if self.size < 0 else memoryview(bytearray(self.sent.ljust(self.size, b"\0")))


class LinkOrder(NamedTuple):
    """A LINK request as sent to the region that owns the program.

    Attributes:
        passed: the COMMAREA or the channel.
        invoker: the program that issues LINK.
        transid: the transaction under which the program runs there; empty for the mirror's default.
        apart: SYNCONRETURN: the program has its own unit of work.
    """

    passed: Passed
    invoker: str
    transid: str
    apart: bool

    def to_bytes(self) -> bytes:
        """Its form in a message to another region."""
        return self.passed.to_bytes(invoker=self.invoker, transid=self.transid, apart=self.apart)

    @classmethod
    def from_bytes(cls, form: bytes) -> LinkOrder:
        """The LINK request in a message.

        Raises:
            Condition: ISCINVREQ: the message has no valid LINK request.
        """
        passed, head = Passed.from_bytes(form)
        names = {word: head.get(word) for word in _NAMES}
        if type(head.get("apart")) is not bool or not all(
            isinstance(name, str) and len(name) <= _NAMES[word] for word, name in names.items()
        ):
            raise Condition(Resp.ISCINVREQ, detail=f"a LINK that cannot be read: {head!r:.200}")
        return cls(passed, head["invoker"], head["transid"], head["apart"])


# -- the region that issues LINK --------------------------------------------------------------------------------------


def where_program(task: TaskBase, name: str, sysid: str | None, transid: str | None) -> tuple[str, str, str]:
    """The system that runs a program, empty for this one, the program's name there, and the transaction there.

    Raises:
        Condition: INVREQ 16: TRANSID is blank.
    """
    region = task._region
    if transid is not None and not transid.strip(" \0"):
        raise Condition(Resp.INVREQ, _BLANK_TRANSID, "TRANSID is blank")
    if sysid is not None and sysid.rstrip(" ") != region.sysid:
        return sysid.rstrip(" "), name, transid or ""
    programs: Programs = region.programs
    definition = programs.definition(name)
    if definition is None or definition.remotesystem in ("", region.sysid):
        return "", name, ""
    return definition.remotesystem, definition.remotename or name, transid or definition.transid


def ship_link(task: TaskBase, system: str, program: str, order: LinkOrder) -> Passed:
    """Run a program in another region.

    Returns:
        The returned COMMAREA or channel.

    Raises:
        Condition: as LINK to a remote program.
        Abend: the program has abended.
    """
    region = task._region
    try:
        link = region.link(system)
    except Condition as unknown:
        resp2 = _NOT_CONNECTED if system in region.connections else _NOT_KNOWN
        raise Condition(unknown.resp, resp2, unknown.detail) from unknown
    try:
        answer = link.ship_link(task, program, order.to_bytes(), apart=order.apart)
    except Abend as abend:
        note_failure(task, abend, program)
        raise
    back, _ = Passed.from_bytes(answer)
    return back


# -- the region that owns the program ---------------------------------------------------------------------------------


def serve_link(task: TaskBase, name: str, order: LinkOrder) -> bytes:
    """Run a program for another region, in a mirror task; or pass the LINK on to the region that has the program.

    Returns:
        The returned COMMAREA or channel, in the form of a message.

    Raises:
        Condition: PGMIDERR, or the condition from the next region; ROLLEDBACK 29: with SYNCONRETURN, the program's work
            could not be committed.
        Abend: the program has abended.
        RegionClosed, LinkDown, WouldWaitForever: the program's wait was ended.
    """
    system, there, transid = where_program(task, name, None, order.transid or None)
    before = task._startcode
    above = ProgramLevel(order.invoker, None, None)
    above.subset = task._startcode = "DS" if order.apart else "D"
    try:
        with on_level(task, above):
            if system:
                back = ship_link(task, system, there, order._replace(transid=transid))
            else:
                back = _run_here(task, name, order.passed)
                if order.apart:
                    _commit(task)
            return back.to_bytes()
    finally:
        task._startcode = before


def _run_here(task: TaskBase, name: str, passed: Passed) -> Passed:
    program = find_program(task, name)
    area, channel = passed.area(), passed.channel
    try:
        with on_level(task, ProgramLevel(name, area, level_of(task), channel, program_of(task))):
            run_program(task, program)
    except (RegionClosed, LinkDown, WouldWaitForever):
        raise
    except Exception as error:
        raise to_abend(task, error) from error
    return Passed(passed.size, b"" if area is None else area.tobytes(), channel)


def _commit(task: TaskBase) -> None:
    try:
        take_last_syncpoint(task)
    except Condition as refused:
        raise Condition(Resp.ROLLEDBACK, _NOT_COMMITTED, refused.detail) from refused
    except Abend as lost:
        raise Condition(Resp.ROLLEDBACK, _NOT_COMMITTED, lost.detail) from lost
