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
from typing import Any, Final, Self, TypeVar, cast

from tdqsim.cics.kernel.conditions import Abend, Condition, TaskReturn, abend_code
from tdqsim.cics.kernel.eib import failure
from tdqsim.cics.kernel.enqueue import release_all
from tdqsim.cics.kernel.levels import note_failure
from tdqsim.cics.model.queue import RequestTarget
from tdqsim.cics.model.task import TaskData
from tdqsim.cics.model.unit import UnitOfWork
from tdqsim.core.dispatch import Strand, TimedOut, WaitMark, WaitQueue
from tdqsim.errors import RegionClosed, StoreError, TdqError, WrongThread
from tdqsim.facts import Cvda, Resp

__all__ = ["TIMED_OUT", "TaskBase"]

T = TypeVar("T")

TIMED_OUT: Final = "AKCS"
_PROGRAM_CHECK: Final = "ASRA"
_BACKOUT_REQUIRED: Final = "ASPN"
_NO_QUEUES: Final[dict[str, RequestTarget]] = {}
_NO_BROWSES: Final[Mapping[str, Any]] = MappingProxyType({})


class TaskBase(TaskData):
    """One task without its commands; its attributes are those of :class:`~tdqsim.cics.model.task.TaskData`."""

    __slots__ = ()

    # -- the unit of work -----------------------------------------------------------------------------------------

    @property
    def uow(self) -> UnitOfWork:
        """The unit of work; it begins when it is first asked for."""
        uow = self.unit
        if uow is not None and uow.ended:
            self._let_go()
            uow = None
        if uow is None:
            uow = self.region.recovery.new(self)
        return uow

    def _let_go(self) -> UnitOfWork | None:
        """What is left of a unit of work whose end an exception cut short is done; gives the one that goes on."""
        uow = self.unit
        if uow is None:
            return None
        self.region.hardening.settle()
        if not uow.ended:
            return uow
        self.region.recovery.complete(uow)
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
        committed = True
        try:
            if uow.participants or region.recovery.before_commit is not None:
                committed = region.recovery.commit(uow)
            else:
                uow.commit()
        except StoreError as error:
            raise Condition(Resp.ROLLEDBACK, detail=str(error)) from error
        finally:
            if (uow.finished and (uow.told or not uow.participants)) or uow.task is not self:
                self.unit = None
        if not committed:
            raise Condition(Resp.ROLLEDBACK, detail="a participant of the unit of work could not prepare")

    def _take_last_syncpoint(self) -> None:
        """Commit what is left when the program returns.

        Raises:
            Abend: ASPN: a region that takes part has gone away, and the program has not backed out.
            Condition: as :meth:`take_syncpoint` does.
        """
        unit = self.unit
        if unit is not None and unit.participants and unit.must_back_out:
            self.take_rollback()
            raise Abend(_BACKOUT_REQUIRED, detail="a region that takes part was lost, and the program did not back out")
        self.take_syncpoint()

    def take_rollback(self) -> None:
        """Back the unit of work out."""
        self.region.dispatcher.check_thread()
        uow = self._let_go()
        if uow is not None:
            try:
                self.region.recovery.back_out(uow)
            finally:
                if (uow.finished and (uow.told or not uow.participants)) or uow.task is not self:
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
            raise RegionClosed(f"{name}: the region {region.applid} {region.why_closed}")
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
        value = cast("T", condition.data or otherwise)
        handles = self.handles
        if nohandle:
            return value
        if condition.resp is Resp.NORMAL:  # all went well, and RESP2 says what else there is to know
            return value
        if condition.taken_by is not None:
            return cast("T", condition.taken_by(condition))
        label = handles.labels.get(condition.resp)
        if label is None:
            if condition.resp in handles.ignored:
                return value
            if abend_code(condition):  # ERROR stands for conditions whose default action is an abend
                label = handles.labels.get(Resp.ERROR)
                if label is None and Resp.ERROR in handles.ignored:
                    return value
        if label is not None:
            return cast("T", label(condition))
        raise condition

    def handles_condition(self, resp: Resp) -> bool:
        """Whether an active HANDLE names this very condition."""
        return resp in self.handles.labels

    def let_others_run(self) -> None:
        """Give ready tasks their turn, when it is the program outside that issues commands."""
        dispatcher = self.region.dispatcher
        if dispatcher.ready or dispatcher.deadlines:
            dispatcher.run_ready()

    def wait(self, attempt: Callable[[], T | WaitMark], queue: WaitQueue, kind: str, name: str) -> T:
        """Wait inside a command, no longer than DTIMOUT of the transaction says; for the arguments see :meth:`park`.

        Raises:
            Abend: AKCS: DTIMOUT is over; AEXY and the like: the task was purged.
        """
        try:
            return self.park(attempt, queue, kind, name, self.dtimout_ns)
        except TimedOut as error:
            raise Abend(TIMED_OUT, detail=f"{error}; DTIMOUT of transaction {self.transid} is over") from error

    def park(
        self, attempt: Callable[[], T | WaitMark], queue: WaitQueue, kind: str, name: str, timeout_ns: int | None = None
    ) -> T:
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

    def _unpark(self, strand: Strand, before: object) -> None:
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

    def _run(self) -> object:
        """Run its program to its end; the strand's function, which its dispatcher calls.

        Raises:
            Abend: it ended abnormally.
            RegionClosed: the region was closed meanwhile.
        """
        assert self._work is not None, self
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

    def _exit(self, error: Exception) -> object:
        """Call the active abend exit, and the one that it has named or reset itself when it abends too.

        Without one the error goes on.
        """
        while True:
            handles = self.handles
            if handles.abend is None or isinstance(error, RegionClosed):
                raise error
            abend = self.to_abend(error)
            self.handles = handles._replace(abend=None, cancelled=handles.abend)
            try:
                return handles.abend(abend)
            except TaskReturn as leave:
                return leave.value
            except Exception as again:  # noqa: BLE001  (whatever leaves the exit is an abend as well)
                error = again

    def to_abend(self, error: BaseException) -> Abend:
        """The abend that an exception leaving the program is; ABCODE and ABPROGRAM are of this one from now on."""
        self.abprogram = note_failure(self, error)
        if isinstance(error, Abend):
            abend = error
        else:
            code = abend_code(error) if isinstance(error, Condition) else _PROGRAM_CHECK
            abend = Abend(code or _PROGRAM_CHECK, error)
        self.abcode = abend.code
        return abend

    def _abnormal_end(self, abend: Abend) -> None:
        region = self.region
        region.abends[abend.code] = region.abends.get(abend.code, 0) + 1
        region.log.warning(
            "abend", transid=self.transid, task=self.number, abcode=abend.code, cause=repr(abend.cause), exc_info=abend
        )
        termid = self.facility.name if self.facility is not None else ""
        self.end(normal=False)
        region.messages.write(
            "DFHAC2236", transid=self.transid, abcode=abend.code, program=self.abprogram, termid=termid
        )

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

        What an exception cuts short is done when it is called again; the region's tasks do so, whoever comes next.
        """
        try:
            dispatcher = self.region.dispatcher
            if dispatcher.thread != get_ident():
                dispatcher.check_thread()
            if not self._settled:
                self._end(normal=normal)
        except WrongThread:
            raise
        except BaseException:
            if not self._settled:
                self.region.task_manager.unfinished[self] = None
            raise

    def _end(self, *, normal: bool) -> None:
        self.ended, self.queues = True, _NO_QUEUES
        try:
            if self.unit is not None:
                self.take_rollback()
        finally:
            self.browses = _NO_BROWSES
            self._leave_region(normal=normal)
            self._settled = self.unit is None
            if self.request is not None:
                self.strand = None  # no one has its handle, and it refers to the task: both can go now

    def _leave_region(self, *, normal: bool) -> None:
        """Its unit of work is settled: its QZEROs, its ENQs, its queue's cycle and its facility are so too."""
        region = self.region
        region.tasks.pop(self.number, None)
        if region.failed:
            return
        if region.is_watched and region.recorder is not None and not self.recorded:
            self.recorded = True
            region.recorder.task_ended(self, normal=normal)
        if self.qzero:
            for queue, cycle in self.qzero.items():
                region.ati.emptied(queue, cycle)
        if region.enqueued:
            release_all(region, self)
        facility = self.facility
        if facility is not None and facility.task is self:
            facility.task = None
        if region.closed:
            return
        if self.request is not None:
            region.ati.task_ended(self.request, normal=normal)
        if facility is not None:
            region.ati.serve(facility)

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
        try:
            return self._leave(error)
        except BaseException:
            self.end(normal=False)
            raise

    def _leave(self, error: BaseException | None) -> bool:
        """End the block; True if it ended normally after all."""
        if self.ended:
            self.end(normal=False)
            return False
        if error is not None and not isinstance(error, TaskReturn):
            if not isinstance(error, Exception) or isinstance(error, RegionClosed) or self.handles.abend is None:
                if isinstance(error, Exception):
                    self.to_abend(error)
                self.end(normal=False)
                return False
            self._exit(error)
        self._take_last_syncpoint()
        self.end(normal=True)
        if self.outside:
            self.let_others_run()
        return True
