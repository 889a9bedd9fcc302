"""Requests while an exit program is enabled, and the parameters of exit programs: :mod:`tdqsim.cics.queues.exits`."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from tdqsim.cics.kernel.authority import SYSTEM_TRANSID
from tdqsim.cics.kernel.conditions import Condition, check_sent
from tdqsim.cics.model.queue import (
    DELETEQ,
    READQ,
    WRITEQ,
    ExtraTdQueue,
    IndirectTdQueue,
    IntraTdQueue,
    RemoteTdQueue,
    RequestTarget,
    TdQueue,
)
from tdqsim.cics.model.task import TaskData
from tdqsim.cics.queues.binding import read_negative
from tdqsim.cics.queues.directory import Directory, Watched, empty, fit
from tdqsim.cics.queues.exits import NORMAL, Exits
from tdqsim.cics.queues.state_table import check_state, target_of
from tdqsim.errors import UnknownAttribute
from tdqsim.facts import EIBRCODE, LIMITS, Resp, table

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    K = TypeVarWithDefault("K", bound=TaskData, default=Any)
else:
    K = TypeVar("K", bound=TaskData)  # as in tdqsim.core.fiber
"""The task as exit programs see it, with all its commands."""

_CHANGEABLE: Final[dict[str, set[str]]] = defaultdict(set)
for _row in table("exits"):
    if _row["change"]:
        _CHANGEABLE[_row["exit"]].add(_row["name"].lower())
_TYPES: Final = {row["meaning"]: row["name"] for row in table("exits") if row["kind"] == "request type"}
_LONGEST: Final = LIMITS["length_option_maximum"]


class _Parameters:
    """Values that are set once, except those that an exit program may change."""

    __slots__ = ("point",)

    point: str

    def __setattr__(self, name: str, value: object) -> None:
        if hasattr(self, name) and name not in _CHANGEABLE[self.point]:
            raise UnknownAttribute(f"{name.upper()} cannot be changed by an exit program at {self.point}")
        object.__setattr__(self, name, value)


@dataclass(slots=True, eq=False)
class RequestExit(_Parameters):
    """The parameters at XTDREQ.

    Attributes:
        point: the exit.
        ueptdque: the name of the queue, without blanks.
        ueptdtyp: the type of the request: UEPTDPUT, UEPTDGET or UEPTDPUR.
        uepcrca: the return code of the program before this one at the exit; UERCNORM for the first.
    """

    point: str
    ueptdque: str
    ueptdtyp: str
    uepcrca: str = NORMAL


@dataclass(slots=True, eq=False)
class DataExit(_Parameters):
    """The parameters at XTDIN and XTDOUT.

    Attributes:
        point: the exit.
        ueptdque: the name of the queue, without blanks.
        ueptdaud: the record.
        ueptdamd: the record that replaces it, set by an exit program; None replaces nothing.
        ueptdnum: at XTDOUT: the number of lines of the message; 1 for a request.
        ueptdcur: at XTDOUT: the number of this line, from 1.
        uepcrca: see :class:`RequestExit`.
    """

    point: str
    ueptdque: str
    ueptdaud: bytes
    ueptdnum: int = 1
    ueptdcur: int = 1
    ueptdamd: bytes | None = None
    uepcrca: str = NORMAL

    @property
    def ueptdlud(self) -> int:
        """The length of the record in bytes."""
        return len(self.ueptdaud)

    @property
    def ueptdlmd(self) -> int:
        """The length of the record that replaces it; 0 for none."""
        return len(self.ueptdamd or b"")


@dataclass(slots=True, eq=False)
class CommandParameters(_Parameters):
    """The values of a command, UEPCLPS. XTDEREQ may change all but the first and last, XTDEREQC only ``td_into``.

    Attributes:
        point: the exit.
        td_funct: WRITEQ, READQ or DELETEQ.
        td_queue: the name of the queue, without blanks.
        td_from: the record of WRITEQ, of the length that LENGTH gives; None for other commands.
        td_into: the record that READQ returns; None before that, and for other commands.
        td_length: LENGTH; None if not given.
        td_sysid: SYSID; None if not given.
        td_nosuspend: whether READQ has NOSUSPEND.
    """

    point: str
    td_funct: str
    td_queue: str
    td_from: bytes | None = None
    td_into: bytes | None = None
    td_length: int | None = None
    td_sysid: str | None = None
    td_nosuspend: bool = False

    def record(self, given: int | None) -> bytes:
        """The record to write, when the application gave this LENGTH; empty for a LENGTH that is not valid."""
        data, length = self.td_from or b"", self.td_length
        if length is None or length == given:
            return data
        if not 0 < length <= _LONGEST:
            return b""
        check_sent(data, length)
        return data[:length]


@dataclass(slots=True, eq=False)
class CommandExit(_Parameters, Generic[K]):
    """The parameters at XTDEREQ and XTDEREQC.

    Attributes:
        point: the exit.
        task: the task that issued the command; the exit program may issue commands in it.
        uepclps: the values of the command.
        ueprsrce: EIBRSRCE of the command, without blanks.
        ueprecur: how many calls of the exit for this task have not ended; 0 at the first.
        ueptdtok: any object that XTDEREQ passes to XTDEREQC.
        uepresp: EIBRESP; NORMAL at XTDEREQ, whose program sets it when it returns UERCBYP.
        uepresp2: EIBRESP2.
        uep_td_remote_system: at XTDEREQC: the SYSID of the region to which the request was sent; empty for this one.
        uep_td_remote_name: at XTDEREQC: the name of the queue there; empty for a request to this region.
        uepcrca: see :class:`RequestExit`.
    """

    point: str
    task: K
    uepclps: CommandParameters
    ueprsrce: str
    ueprecur: int
    ueptdtok: object = None
    uepresp: Resp = Resp.NORMAL
    uepresp2: int = 0
    uep_td_remote_system: str = ""
    uep_td_remote_name: str = ""
    uepcrca: str = NORMAL

    @property
    def ueptstok(self) -> object:
        """Any object that an exit program has stored for the life of the task; None before that."""
        number, token = getattr(self.task, "_exit_token", (0, None))
        return token if number == self.task.number else None  # a task outside any other is used again

    @ueptstok.setter
    def ueptstok(self, token: object) -> None:
        self.task._exit_token = (self.task.number, token)

    @property
    def ueprcode(self) -> bytes:
        """EIBRCODE, 6 bytes, for ``uepresp``."""
        return bytes([EIBRCODE.get(self.uepresp, 0)]) + bytes(5)


class Exited(Watched):
    """A name whose requests are watched and pass the exits."""

    __slots__ = ("_exits",)

    def __init__(self, exits: Exits, directory: Directory, name: str, sysid: str | None) -> None:
        super().__init__(directory, name, sysid)
        self._exits = exits

    def _read(self, task: TaskData, busy: bool, length: int | None) -> tuple[RequestTarget, bytes]:
        values = CommandParameters(
            "XTDEREQ", "READQ", self.name, td_length=length, td_sysid=self._sysid, td_nosuspend=busy
        )
        return self, self._command(task, READQ, values)

    def _write(self, task: TaskData, data: bytes, length: int | None) -> RequestTarget:
        if task._implicit and task.transid == SYSTEM_TRANSID:  # a message of CICS, which has passed XTDOUT
            return super()._write(task, data, length)
        values = CommandParameters("XTDEREQ", "WRITEQ", self.name, td_from=data, td_length=length, td_sysid=self._sysid)
        self._command(task, WRITEQ, values)
        return self

    def _delete(self, task: TaskData) -> None:
        self._command(task, DELETEQ, CommandParameters("XTDEREQ", "DELETEQ", self.name, td_sysid=self._sysid))

    def _command(self, task: TaskData, command: str, values: CommandParameters) -> bytes:
        """Carry out a command with all exits; the record read, if any.

        Raises:
            Condition: the response of the command, after XTDEREQC.
        """
        exits, given, condition = self._exits, values.td_length, None
        before = CommandExit("XTDEREQ", task, values, self.name, exits.depth(task, "XTDEREQ"))
        if exits.call_for_command(before) == "UERCBYP":
            data, condition = values.td_into or b"", _condition(before)
        else:
            try:
                data = self._request(task, command, values, given)
            except Condition as error:
                data, condition = error.data, error
        resp, resp2 = (Resp.NORMAL, 0) if condition is None else (condition.resp, condition.resp2)
        after = CommandExit(
            "XTDEREQC", task, replace(values, point="XTDEREQC", td_into=data if command == READQ else None),
            self.name, exits.depth(task, "XTDEREQC"), before.ueptdtok, resp, resp2, *self._remote(values),
        )  # fmt: skip
        exits.call_for_command(after)
        data = after.uepclps.td_into or b""
        if (after.uepresp, after.uepresp2) != (resp, resp2):
            condition = _condition(after)
        if condition is None:
            return data
        condition.data = data
        raise condition

    def _request(self, task: TaskData, command: str, values: CommandParameters, given: int | None) -> bytes:
        """Carry out a request from XTDREQ on; the record read, if any.

        Raises:
            Condition: any that the command has.
        """
        exits, length = self._exits, values.td_length
        code = exits.call("XTDREQ", RequestExit("XTDREQ", values.td_queue, _TYPES[command]))
        if code == "UERCTDNA":
            raise Condition(Resp.NOTAUTH, detail="an exit program at XTDREQ refuses it", rule="EXIT-XTDREQ-NOTAUTH")
        if code == "UERCTDOK":
            return b""
        named, target = self._directory.final(task, values.td_queue, values.td_sysid)
        holder = target if isinstance(target, IntraTdQueue | ExtraTdQueue) else None
        if command == DELETEQ:
            named.delete(task)
            return b""
        if command == WRITEQ:
            data: bytes | None = values.record(given)
            if data and holder is not None:
                check_state(task, WRITEQ, holder)
                data = exits.record_out(holder.name, data)
            if data is not None:
                named.write(task, data, length)
            return b""
        if length is not None and length < 0:
            record = read_negative(named, task, length)
        else:
            record = named.read(task, values.td_nosuspend, length)
        if record is None:
            raise empty(target.name)
        return fit(record if holder is None else exits.record_in(holder.name, record), length)

    def _remote(self, values: CommandParameters) -> tuple[str, str]:
        """The system to which the request was sent, and the queue's name there; empty for this region."""
        installed, sysid = self._directory.installed, (values.td_sysid or "").rstrip(" ")
        if sysid and sysid != self._directory.sysid:
            return sysid, values.td_queue
        queue: TdQueue | None = installed.get(values.td_queue)
        try:
            queue = target_of(installed, queue) if isinstance(queue, IndirectTdQueue) else queue
        except Condition:
            return "", ""
        return (queue.remotesystem, queue.remotename) if isinstance(queue, RemoteTdQueue) else ("", "")


def _condition(parameters: CommandExit) -> Condition | None:
    """The condition that an exit program has set; None for NORMAL."""
    resp = Resp(parameters.uepresp)
    if resp is Resp.NORMAL:
        return None
    detail = f"set by an exit program at {parameters.point}"
    return Condition(resp, parameters.uepresp2, detail, rule="")
