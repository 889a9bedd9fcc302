"""Commands for the task itself: SYNCPOINT, ABEND, RETURN, ENQ, DEQ, SUSPEND, ASSIGN and ASKTIME."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

from tdqsim.cics.kernel.abstime import abstime
from tdqsim.cics.kernel.command import CommandGroup, Flag, Opt, command
from tdqsim.cics.kernel.conditions import Abend, Condition, TaskReturn
from tdqsim.cics.kernel.eib import completion
from tdqsim.cics.kernel.enqueue import acquire, give_up
from tdqsim.errors import TdqError
from tdqsim.facts import Resp

if TYPE_CHECKING:
    from tdqsim.cics.kernel.handling import Handles
    from tdqsim.cics.kernel.task import Task

__all__ = ["ASSIGN_OPTIONS", "ControlCommands"]


_ASSIGN_RECEIVERS: Final = {
    "ABCODE": Opt("name", 4),
    "APPLID": Opt("name", 8),
    "FACILITY": Opt("name", 4),
    "FCI": Opt("data", 1),
    "NETNAME": Opt("name", 8),
    "PROGRAM": Opt("name", 8),
    "QNAME": Opt("name", 4),
    "STARTCODE": Opt("name", 2),
    "SYSID": Opt("name", 4),
    "USERID": Opt("name", 8),
}
_SYNCPOINT_OK: Final = completion("SYNCPOINT")


class ControlCommands(CommandGroup):
    """Task control, syncpoints and what a program may know of itself."""

    __slots__ = ()

    if TYPE_CHECKING:
        ended: bool
        number: int
        outside: bool

        def let_others_run(self) -> None:
            """Give ready tasks their turn: see the task."""

        @property
        def handles(self) -> Handles:
            """What the program has asked for."""

        @handles.setter
        def handles(self, handles: Handles) -> None: ...

        def take_syncpoint(self) -> None:
            """Commit: see the task."""

        def take_rollback(self) -> None:
            """Back out: see the task."""

    @command("SYNCPOINT", "INVREQ ROLLEDBACK")
    def syncpoint(self, *, nohandle: Flag = False) -> None:
        """End the unit of work and commit it; the next recoverable request begins another.

        Raises:
            Condition: ROLLEDBACK: it could not be committed and was backed out.
        """
        region = self.region  # the short way is that of :meth:`~tdqsim.cics.kernel.task.Task.issue`, written flat
        if not region.unguarded or self.ended:
            self.issue("SYNCPOINT", self.take_syncpoint, nohandle=nohandle, otherwise=None)
            return
        recorder = region._recorder  # noqa: SLF001  (the property costs a call)
        try:
            self.take_syncpoint()
        except Condition as condition:
            if recorder is not None:
                region.record(self, "SYNCPOINT", {}, condition)  # type: ignore[arg-type]
            self.respond(condition, "SYNCPOINT", "", nohandle=nohandle, otherwise=None)
            return
        self.eib.last = _SYNCPOINT_OK
        if recorder is not None:
            if recorder.trace is not None:
                recorder.trace(("SYNCPOINT", self.number, "", b"", region.clock.time_ns(), self.transid, b""))
            else:
                region.record(self, "SYNCPOINT", {}, None)  # type: ignore[arg-type]
        if self.outside and ((others := region.dispatcher)._ready or others._deadlines):  # noqa: SLF001
            self.let_others_run()

    @command("SYNCPOINT ROLLBACK", "INVREQ")
    def syncpoint_rollback(self, *, nohandle: Flag = False) -> None:
        """End the unit of work and back it out: records of LOGICAL queues are as before it, others stay as they are."""
        self.issue("SYNCPOINT ROLLBACK", self.take_rollback, nohandle=nohandle, otherwise=None)

    @command("ABEND")
    def abend(
        self,
        abcode: Annotated[str, Opt("name", 4)] = "????",
        *,
        cancel: Flag = False,
        nodump: Flag = False,  # noqa: ARG002  (there are no dumps; accepted for what it is)
    ) -> NoReturn:
        """End the task abnormally.

        Args:
            abcode: four characters at most, not beginning with A for programs of one's own; ``????`` when not given.
            cancel: abend exits are not called.
            nodump: accepted; no dump is ever written.

        Raises:
            Abend: always.
        """
        if not 0 < len(abcode) <= 4:
            raise TdqError(f"ABEND ABCODE({abcode!r}): allowed are 1 to 4 characters")
        if cancel:
            self.handles = self.handles._replace(abend=None, cancelled=None)

        def leave() -> None:
            raise Abend(abcode)

        self.issue("ABEND", leave, otherwise=None)
        raise Abend(abcode)

    @command("RETURN")
    def return_(self, value: Any = None) -> NoReturn:
        """Leave the program: the task ends normally, with an implicit syncpoint. The same as returning from it.

        Args:
            value: the task's result, for whoever started it from Python.
        """
        raise TaskReturn(value)

    @command("ENQ", "ENQBUSY INVREQ LENGERR")
    def enq(
        self,
        resource: Annotated[str | bytes, Opt("data", 255)],
        length: Annotated[int | None, Opt("halfword", 2)] = None,
        *,
        uow: Flag = False,  # noqa: ARG002  (what it is without TASK)
        task: Flag = False,
        nosuspend: Flag = False,
        nohandle: Flag = False,
    ) -> None:
        """Get exclusive use of a resource name; wait while another task has it.

        Args:
            resource: 1 to 255 bytes or characters that all users have agreed on.
            length: how many of them are the name; all when not given.
            uow: keep it to the end of the unit of work, as without ``task``.
            task: keep it to the end of the task rather than of the unit of work.
            nosuspend: ENQBUSY instead of waiting.
            nohandle: raise nothing; the response is in the EIB.

        Raises:
            Condition: ENQBUSY; LENGERR: the name is empty or too long.
        """
        self.issue(
            "ENQ",
            lambda: acquire(self, resource, for_task=task, nosuspend=nosuspend, length=length),  # type: ignore[arg-type]
            nohandle=nohandle,
            otherwise=None,
        )

    @command("DEQ", "INVREQ LENGERR")
    def deq(
        self,
        resource: Annotated[str | bytes, Opt("data", 255)],
        length: Annotated[int | None, Opt("halfword", 2)] = None,
        *,
        uow: Flag = False,  # noqa: ARG002  (what it is without TASK)
        task: Flag = False,
        nohandle: Flag = False,
    ) -> None:
        """Give up a resource name that ENQ got; one that this task does not have is no error.

        Args:
            resource: the name.
            length: how many bytes or characters of ``resource`` are the name; all when not given.
            uow: it was got for the unit of work, as without ``task``.
            task: it was got for the task.
            nohandle: raise nothing; the response is in the EIB.

        Raises:
            Condition: LENGERR: the name is empty or too long.
        """
        self.issue(
            "DEQ",
            lambda: give_up(self, resource, for_task=task, length=length),  # type: ignore[arg-type]
            nohandle=nohandle,
            otherwise=None,
        )

    @command("SUSPEND")
    def suspend(self) -> None:
        """Let other tasks that are ready go first."""
        self.issue("SUSPEND", self.region.dispatcher.yield_now, otherwise=None)

    @command("ASKTIME ABSTIME", receives={"ABSTIME": Opt("abstime", 8)})
    def asktime(self) -> int:
        """Bring EIBDATE and EIBTIME up to date.

        Returns:
            ABSTIME: milliseconds since 1900, local time.
        """

        def ask() -> int:
            self.eib.moment_ns = self.region.clock.time_ns()
            return abstime(self.eib.moment_ns, self.region.zone)

        return self.issue("ASKTIME ABSTIME", ask, otherwise=0)

    @command("ASSIGN", "INVREQ", _ASSIGN_RECEIVERS)
    def assign(self, *options: str, nohandle: Flag = False) -> Any:
        """What the task may know of itself.

        Args:
            options: one or more of ABCODE, APPLID, FACILITY, FCI, NETNAME, PROGRAM, QNAME, STARTCODE, SYSID and USERID.
            nohandle: raise nothing; the response is in the EIB, and the values are empty.

        Returns:
            The value; a tuple of values in the order asked for when there are several options. Text is not padded.

        Raises:
            Condition: INVREQ: QNAME of a task that no queue has triggered, FACILITY of a task without one.
            TdqError: an option that is not known.
        """
        for option in options:
            if option.upper() not in ASSIGN_OPTIONS:
                raise TdqError(f"ASSIGN {option}: allowed are {', '.join(ASSIGN_OPTIONS)}")
        if not options:
            raise TdqError("ASSIGN names no option")
        values = self.issue(
            "ASSIGN",
            lambda: tuple(ASSIGN_OPTIONS[option.upper()](self) for option in options),
            nohandle=nohandle,
            otherwise=("",) * len(options),
        )
        if len(options) > 1 or not isinstance(values, tuple):  # what an active HANDLE returned is passed on
            return values
        return values[0]


def _qname(task: Task) -> str:
    if task.request is None:
        raise Condition(Resp.INVREQ, detail="the task was not started by a transient data queue")
    return task.request.queue.name


def _facility(task: Task) -> str:
    if task.facility is None:
        raise Condition(Resp.INVREQ, detail="the task has no principal facility")
    return task.facility.name


ASSIGN_OPTIONS: Final[dict[str, Any]] = {
    "ABCODE": lambda task: task.abcode,
    "APPLID": lambda task: task.region.applid,
    "FACILITY": _facility,
    "FCI": lambda task: b"\0" if task.facility is None else b"\1",
    "NETNAME": lambda task: "" if task.facility is None else task.facility.name,
    "PROGRAM": lambda task: task.program,
    "QNAME": _qname,
    "STARTCODE": lambda task: task.startcode,
    "SYSID": lambda task: task.region.sysid,
    "USERID": lambda task: task.userid,
}
"""The options of ASSIGN and where each value comes from."""
