"""A task: one run of a program, its EIB, its unit of work, and what happens when it ends.

A task that runs as a strand of the dispatcher may wait inside a command and others go on. The program outside may use a
task too (``with region.task() as t:``); then ready tasks get their turn after each command.

How a program ends, and what becomes of it:

==============================  ===============================================================================
it returns, or issues RETURN    syncpoint: the unit of work is committed
an abend, a condition that      the active HANDLE ABEND exit is called, if there is one, and the task then ends
nobody handled, an exception    normally; else dynamic backout, message DFHAC2236, and the Abend is its result
the region closes               its waits raise RegionClosed; backout
==============================  ===============================================================================

A condition that leaves the program is the abend of its AExx code; any other exception is ASRA, with it as the cause.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable, Mapping
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar

from tdqsim.cics.kernel.conditions import Abend, Condition, TaskReturn, abend_code
from tdqsim.cics.kernel.eib import Eib, failure
from tdqsim.cics.kernel.handling import NO_HANDLES
from tdqsim.cics.uow.unit import UnitOfWork
from tdqsim.core.dispatch import TimedOut, WaitQueue
from tdqsim.errors import RegionClosed, StoreError, TdqError
from tdqsim.facts import Cvda, Resp

if TYPE_CHECKING:
    from tdqsim.cics.kernel.handlers import Handler
    from tdqsim.cics.kernel.parts import TaskRegion as Region
    from tdqsim.core.dispatch import Strand

__all__ = ["TIMED_OUT", "TaskBase"]

T = TypeVar("T")

TIMED_OUT: Final = "AKCS"
_PROGRAM_CHECK: Final = "ASRA"
_BACKOUT_REQUIRED: Final = "ASPN"
_NO_QUEUES: Final[dict[str, Any]] = {}
_NONE: Final[Mapping[Any, Any]] = MappingProxyType({})


class TaskBase:
    """One task without its commands; see :class:`~tdqsim.cics.commands.Task`.

    Attributes:
        region: where it runs.
        number: EIBTASKN.
        transid: its transaction.
        program: the program's name.
        userid: whose authority it has.
        eib: the EXEC interface block.
        startcode: ``TD`` terminal input, ``S`` START, ``SD`` START with data, ``QD`` transient data, ``U`` the program
            outside.
        facility: its terminal or session, or None.
        request: the queue's request that started it, or None.
        condition: the last condition of a command that was not raised; LENGERR's true length is found there.
        abcode: the code of its abend; empty while it has none.
        outside: whether its commands are issued by the program outside the strands.
        implicit: whether it is one command with a syncpoint of its own.
        is_mirror: whether it carries out the requests of another region.
        handles: HANDLE and IGNORE, and what PUSH HANDLE has suspended of them.
        browses: the browses that are open, by resource type; they end with the task.
        start_data: what RETRIEVE has still to give.
        level: the level of the program that runs; None at the top.
        storage: what programs in another language have there, such as the items of a COBOL program by name; None
            before the first.
        qzero: logically recoverable queues read to QZERO in units of work that have committed, and the cycle that was
            on, or had been the last, when each was.
        queues: what it looks queues up in; empty when it has ended.
        unit: its unit of work; None before the first recoverable request. One that has ended counts for none.
        suspended: (kind, name) of what it waits for, such as ("TD_READ", "PAYQ"), or None.
        strand: its strand; None for the program outside, and when a task that a queue has started is over.
        ended: whether it is over.
    """

    __slots__ = (
        "_entered", "_settled", "_work", "abcode", "browses", "condition", "dtimout_ns", "eib", "ended",
        "facility", "handles", "implicit", "level", "number", "outside", "program", "queues", "qzero",
        "region", "request", "start_data", "startcode", "storage", "strand", "suspended", "transid", "unit", "userid",
    )  # fmt: skip

    is_mirror: ClassVar[bool] = False
    region: Region

    def __init__(
        self,
        region: Region,
        number: int,
        transid: str,
        userid: str,
        startcode: str = "U",
        program: str = "",
        work: tuple[Handler, tuple[Any, ...]] | None = None,
        dtimout_ns: int | None = None,
        request: Any = None,
    ) -> None:
        self.region = region
        self.number = number
        self.transid = transid
        self.program = program or transid
        self._work: Any = work  # of a task that is a strand: its program, and the arguments beside the task
        self.userid = userid
        self.eib = Eib(transid, number, region.clock.time_ns(), region.zone)
        self.startcode = startcode
        self.facility: Any = None
        self.request = request
        self.condition: Condition | None = None
        self.abcode = ""
        self.outside = False
        self.implicit = False
        self.handles = NO_HANDLES
        self.browses: Mapping[str, Any] = _NONE
        self.start_data: tuple[bytes, ...] = ()
        self.qzero: Mapping[Any, int] = _NONE
        self.level: Any = None
        self.storage: Any = None
        self.suspended: tuple[str, str] | None = None
        self.strand: Strand | None = None
        self.dtimout_ns = dtimout_ns
        self.ended = False
        self.unit: UnitOfWork | None = None
        self.queues: dict[str, Any] = region.directory.queues
        self._entered = self._settled = False

    def __str__(self) -> str:
        return f"task {self.number} {self.transid}"

    def __repr__(self) -> str:
        return f"<Task {self.number} {self.transid}{' ended' if self.ended else ''}>"

    # -- the unit of work -----------------------------------------------------------------------------------------

    @property
    def has_uow(self) -> bool:
        """Whether a unit of work has begun: a recoverable request was made since the last syncpoint."""
        return self.unit is not None and not self.unit.ended

    @property
    def uow(self) -> UnitOfWork:
        """The unit of work; it begins when it is first asked for."""
        uow = self.unit
        if uow is not None and uow.ended:
            self._let_go()
            uow = None
        if uow is None:
            new_uow = self.region.new_uow  # what an attribute holds costs more when it is called by its name
            uow = new_uow(self)
        return uow

    def _let_go(self) -> UnitOfWork | None:
        """What is left of a unit of work whose end an exception cut short is done; gives the one that goes on."""
        uow = self.unit
        if uow is None:
            return None
        self.region.hardening.settle()
        if not uow.ended:
            return uow
        uow.finish()
        self.unit = None
        return None

    def take_syncpoint(self) -> None:
        """Commit the unit of work.

        Raises:
            Condition: ROLLEDBACK: a participant refused or the store could not take it; it was backed out.
        """
        region, uow = self.region, self.unit
        if region.dispatcher.thread != get_ident():
            region.dispatcher.check_thread()
        if uow is not None and (uow.ended or region.store.durable.in_doubt):
            uow = self._let_go()
        if uow is None:
            return
        commit = region.commit
        try:
            committed = commit(uow)
        except StoreError as error:
            raise Condition(Resp.ROLLEDBACK, detail=str(error)) from error
        finally:
            if uow.finished or uow.task is not self:
                self.unit = None
        if not committed:
            raise Condition(Resp.ROLLEDBACK, detail="a participant of the unit of work could not prepare")

    def _take_last_syncpoint(self) -> None:
        """Commit what is left when the program returns.

        Raises:
            Abend: ASPN: a region that takes part has gone away, and the program has not backed out.
            Condition: as :meth:`take_syncpoint` does.
        """
        if self.unit is not None and self.unit.must_back_out:
            self.take_rollback()
            raise Abend(_BACKOUT_REQUIRED, detail="a region that takes part was lost, and the program did not back out")
        self.take_syncpoint()

    def take_rollback(self) -> None:
        """Back the unit of work out."""
        self.region.dispatcher.check_thread()
        uow = self._let_go()
        if uow is not None:
            try:
                self.region.back_out(uow)
            finally:
                if uow.finished or uow.task is not self:
                    self.unit = None

    def detach_uow(self) -> None:
        """Let go of a unit of work that goes on without the task: it was shunted, or decided elsewhere."""
        self.region.dispatcher.check_thread()
        self.unit = None

    # -- how every command goes -----------------------------------------------------------------------------------

    def refuse(self, name: str) -> None:
        """Raise what a command gets that may not be issued: RegionClosed, WrongThread, or TdqError."""
        region = self.region
        region.dispatcher.check_thread()
        if region.closed:
            raise RegionClosed(f"{name}: the region {region.applid} is closed")
        if self.ended:
            raise TdqError(f"{name}: task {self.number} {self.transid} has ended")

    def respond(self, condition: Condition, name: str, resource: str, *, nohandle: bool, otherwise: T) -> T:
        """End a command with a condition, in the order of decision of :mod:`~tdqsim.cics.kernel.handling`.

        Returns:
            What the active HANDLE returns, or ``otherwise``; for LENGERR of READQ TD the truncated record.

        Raises:
            Condition: nobody handles it and CICS does not ignore it.
        """
        dispatcher = self.region.dispatcher
        if dispatcher.thread != get_ident():
            dispatcher.check_thread()
        condition.command, condition.resource = name, condition.resource or resource
        self.condition = condition
        self.eib.last = failure(condition)
        if self.outside:
            self.let_others_run()
        value: Any = condition.data or otherwise
        handles = self.handles
        if nohandle:
            return value  # type: ignore[no-any-return]
        if condition.resp is Resp.NORMAL:  # all went well, and RESP2 says what else there is to know
            return value  # type: ignore[no-any-return]
        if condition.taken_by is not None:
            return condition.taken_by(condition)  # type: ignore[no-any-return]
        label = handles.labels.get(condition.resp)
        if label is None:
            if condition.resp in handles.ignored:
                return value  # type: ignore[no-any-return]
            if abend_code(condition):  # ERROR stands for conditions whose default action is an abend
                label = handles.labels.get(Resp.ERROR)
                if label is None and Resp.ERROR in handles.ignored:
                    return value  # type: ignore[no-any-return]
        if label is not None:
            return label(condition)  # type: ignore[no-any-return]
        raise condition

    def handles_condition(self, resp: Resp) -> bool:
        """Whether an active HANDLE names this very condition."""
        return resp in self.handles.labels

    def let_others_run(self) -> None:
        """Give ready tasks their turn, when it is the program outside that issues commands."""
        dispatcher = self.region.dispatcher
        if dispatcher.ready or dispatcher.deadlines:
            dispatcher.run_ready()

    def wait(self, attempt: Callable[[], Any], queue: WaitQueue, kind: str, name: str) -> Any:
        """Wait inside a command, no longer than DTIMOUT of the transaction says; for the arguments see :meth:`park`.

        Raises:
            Abend: AKCS: DTIMOUT is over; AEXY and the like: the task was purged.
        """
        try:
            return self.park(attempt, queue, kind, name, self.dtimout_ns)
        except TimedOut as error:
            raise Abend(TIMED_OUT, detail=f"{error}; DTIMOUT of transaction {self.transid} is over") from error

    def park(
        self, attempt: Callable[[], Any], queue: WaitQueue, kind: str, name: str, timeout_ns: int | None = None
    ) -> Any:
        """Wait, while whoever looks sees for what.

        Args:
            attempt: what is tried, again and again.
            queue: where to wait.
            kind: the wait's resource type as INQUIRE TASK shows it, such as ``TD_READ``.
            name: its resource name.
            timeout_ns: how long at most; None for no limit.

        Raises:
            TimedOut: so long.
            Abend: the task was purged.
        """
        region = self.region
        region.dispatcher.check_thread()
        strand = region.dispatcher.current
        before = strand.local
        try:
            try:
                self.suspended, strand.local = (kind, name), self
                region.tasks.setdefault(self.number, self)
                if region.recorder is not None:
                    what = queue.holders() if queue.holders is not None else ""
                    region.recorder.task_waits(self, queue.name, what)
                self._unit_waits(Cvda.ACTIVE, Cvda.WAITING)
                return region.dispatcher.wait(attempt, queue, timeout_ns)
            finally:
                self._unpark(strand, before)
        except BaseException:  # an interrupt may have come before the wait was quite over
            self._unpark(strand, before)
            raise

    def _unpark(self, strand: Strand, before: Any) -> None:
        if self.suspended is None:
            return
        region, strand.local = self.region, before
        if self.implicit and region.tasks.get(self.number) is self:
            del region.tasks[self.number]
        self._unit_waits(Cvda.WAITING, Cvda.ACTIVE)
        if region.recorder is not None:
            region.recorder.task_goes_on(self)
        self.suspended = None

    def _unit_waits(self, before: Cvda, after: Cvda) -> None:
        """Its unit of work goes from one wait state to another; one that was shunted stays so."""
        uow = self.unit
        if uow is not None and uow.waitstate is before:
            uow.waitstate, uow.since_ns = after, self.region.clock.time_ns()

    # -- running a program ----------------------------------------------------------------------------------------

    def encode(self, text: str) -> bytes:
        """Text in the region's code page, for a record; characters it does not have become substitutes."""
        return self.region.encode(text)

    def text(self, record: bytes) -> str:
        """A record as text, by the region's code page.

        Raises:
            ConversionError: a byte of it is no character there.
        """
        return self.region.text(record)

    def _run(self) -> Any:
        """Run its program to its end; the strand's function, which its dispatcher calls.

        Raises:
            Abend: it ended abnormally.
            RegionClosed: the region was closed meanwhile.
        """
        program, args = self._work
        error = None
        try:
            try:
                try:
                    value = program(self, *args) if args else program(self)  # (a call with * is a C call, and dearer)
                except TaskReturn as leave:
                    value = leave.value
                except RegionClosed:
                    raise
                except Exception as left:  # noqa: BLE001  (whatever leaves a program is its abend)
                    error = left
                if error is not None:
                    value = self._exit(error)
                if self.unit is not None:
                    self._take_last_syncpoint()
                self.end(normal=True)
            except RegionClosed:
                raise
            except Exception as last:  # noqa: BLE001
                abend = self.to_abend(last)
                self._abnormal_end(abend)
                raise abend from abend.cause
            return value  # noqa: TRY300  (an exception on this line counts as well)
        except BaseException:  # an interrupt belongs to the program outside; the task is over all the same
            self.end(normal=False)
            raise

    def _exit(self, error: Exception) -> Any:
        """Call the active abend exit, and the one that it has named or reset itself when it abends too.

        Without one the error goes on.
        """
        while True:
            handles = self.handles
            if handles.abend is None or isinstance(error, RegionClosed):
                raise error
            abend = self.to_abend(error)
            self.abcode = abend.code
            self.handles = handles._replace(abend=None, cancelled=handles.abend)
            try:
                return handles.abend(abend)
            except TaskReturn as leave:
                return leave.value
            except Exception as again:  # noqa: BLE001  (whatever leaves the exit is an abend as well)
                error = again

    def to_abend(self, error: BaseException) -> Abend:
        """The abend that an exception leaving the program is."""
        if isinstance(error, Abend):
            return error
        code = abend_code(error) if isinstance(error, Condition) else _PROGRAM_CHECK
        return Abend(code or _PROGRAM_CHECK, error)

    def _abnormal_end(self, abend: Abend) -> None:
        region = self.region
        self.abcode = abend.code
        region.abends[abend.code] = region.abends.get(abend.code, 0) + 1
        region.log.warning(
            "abend", transid=self.transid, task=self.number, abcode=abend.code, cause=repr(abend.cause), exc_info=abend
        )
        termid = self.facility.name if self.facility is not None else ""
        self.end(normal=False)
        region.messages.write("DFHAC2236", transid=self.transid, abcode=abend.code, program=self.program, termid=termid)

    def give_up(self) -> None:
        """Free what the unit of work holds, by assignments alone; :meth:`end` does what follows from that."""
        uow = self.unit
        if uow is not None and not uow.ended and not uow.participants and uow.state is Cvda.INFLIGHT:
            durable = self.region.store.durable
            if not durable.in_doubt:
                uow.state, uow.ended = Cvda.BACKOUT, True

    def open_browses(self) -> dict[str, Any]:
        """The browses of whoever issues the command: the task, or the region for commands outside a task."""
        self.region.dispatcher.check_thread()
        if self.implicit:
            found: dict[str, Any] = self.region.browses
        elif isinstance(self.browses, dict):
            found = self.browses
        else:
            self.browses = found = {}
        return found

    def end(self, *, normal: bool = False) -> None:
        """The task is over: what is left of its unit of work is backed out, its queues' cycles go on or end.

        What an exception cuts short is done when it is called again.
        """
        dispatcher = self.region.dispatcher
        if dispatcher.thread != get_ident():
            dispatcher.check_thread()
        if self._settled:
            return
        self.ended, self.queues = True, _NO_QUEUES
        try:
            if self.unit is not None:
                self.take_rollback()
        finally:
            self.browses = _NONE
            self.region.task_ended(self, normal=normal)
            self._settled = self.unit is None
            if self.request is not None:
                self.strand = None  # nobody was given its handle, and it names the task: both can go now

    # -- with region.task() as t ----------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        if self._entered:
            raise TdqError("a task is entered once")
        self._entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Syncpoint at the normal end; after an exception the abend exit, or backout and the exception goes on."""
        if self.ended:
            return False
        if error is None or isinstance(error, TaskReturn):
            self._leave()
            return True
        if self.handles.abend is not None and isinstance(error, Exception) and not isinstance(error, RegionClosed):
            try:
                self._exit(error)
                self._leave()
            except BaseException:
                self.end(normal=False)
                raise
            return True
        if isinstance(error, Exception):
            self.abcode = self.to_abend(error).code
        self.end(normal=False)
        return False

    def _leave(self) -> None:
        try:
            self._take_last_syncpoint()
        except BaseException:
            self.end(normal=False)
            raise
        self.end(normal=True)
        if self.outside:
            self.let_others_run()
