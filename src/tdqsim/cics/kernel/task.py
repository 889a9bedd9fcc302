"""A task: one run of a program, its EIB, its unit of work, and what happens when it ends.

A task that runs as a *fiber* of the dispatcher (see :mod:`tdqsim.core.dispatch`) may wait inside a command while other
tasks run. Python code outside the dispatcher, the *program outside*, may use a task too (``with region.task() as t:``);
ready tasks then get their turn after each of its commands.

How a program can end, and the consequences:

==============================  ===============================================================================
it returns, or issues RETURN    syncpoint: the unit of work is committed
an abend, an unhandled          the active HANDLE ABEND exit is called, if there is one, and the task then ends
condition, an exception         normally; else dynamic backout, message DFHAC2236, and the Abend is its result
the region closes               its waits raise RegionClosed; backout
==============================  ===============================================================================

A condition that leaves the program becomes an abend with its AExx code; any other exception becomes an ASRA abend with
the exception as its cause.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar, cast
from weakref import ref

from tdqsim.cics.kernel.authority import report_refusal
from tdqsim.cics.kernel.conditions import Abend, Condition, TaskReturn, calls_exits
from tdqsim.cics.kernel.eib import failure
from tdqsim.cics.kernel.enqueue import release_all
from tdqsim.cics.kernel.levels import is_outside_subset, note_failure
from tdqsim.cics.model.queue import RequestTarget
from tdqsim.cics.model.task import TaskData
from tdqsim.core.callables import refuse_coroutine
from tdqsim.core.notices import own_lines
from tdqsim.core.product_faults import product_fault
from tdqsim.errors import RegionClosed, StoreError, UsageError, WrongThread
from tdqsim.facts import Cvda, Resp

T = TypeVar("T")

_PROGRAM_CHECK: Final = "ASRA"
_BACKOUT_REQUIRED: Final = "ASPN"
_OUTSIDE_SUBSET: Final = "ADPL"
_NO_QUEUES: Final[dict[str, RequestTarget]] = {}


class _Exit:
    """The ``__exit__`` of a task: what a ``with`` statement calls at its end; it detects that it is never called.

    An interrupt such as KeyboardInterrupt may be raised after the last line of the block and before the first line of a
    function that ends the task. So the statement gets a call that nothing else holds. When the block has been left, in
    whatever way, the call is gone; a task that has not ended by then is noted as unfinished, and the next command or
    the dispatcher completes its end. Both calls are C functions: no interrupt can be raised inside them.
    """

    def __get__(self, task: TaskBase | None, owner: type[TaskBase]) -> Callable[..., bool]:
        if task is None:
            return owner._leave_block
        call = partial(owner._leave_block, task)
        if not task._settled:
            task._block = ref(call, partial(task._region.task_manager.unfinished.__setitem__, task))
        return call


class TaskBase(TaskData):
    """One task without its commands; its attributes are those of :class:`~tdqsim.cics.model.task.TaskData`."""

    __slots__ = ()

    # -- running a program ----------------------------------------------------------------------------------------

    def encode(self, text: str) -> bytes:
        """Text in the region's code page, for a record; characters it does not have become substitutes."""
        return self._region.encode(text)

    def text(self, record: bytes) -> str:
        """A record as text, by the region's code page.

        Raises:
            ConversionError: a byte of it is not a character in it.
        """
        return self._region.text(record)

    def _run(self) -> object:
        """Run its program to its end; the fiber's function, which its dispatcher calls.

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
                    if value is not None:
                        refuse_coroutine(value)
                except TaskReturn as leave:
                    value = leave.value
                except RegionClosed:
                    raise
                except Exception as left:  # noqa: BLE001  (whatever leaves a program is its abend)
                    error = left
                if error is not None:
                    value = self._call_exit(error)
                if self._unit is not None:
                    take_last_syncpoint(self)
                if not self._settled:  # the program may have closed its region
                    self._end(True)
            except RegionClosed:
                raise
            except Exception as last:  # noqa: BLE001
                abend = to_abend(self, last)
                abnormal_end(self, abend)
                raise abend from abend.cause
            return value  # noqa: TRY300 (an interrupt on this line must be handled too)
        except BaseException:  # an interrupt such as KeyboardInterrupt is raised outside; the task ends nevertheless
            self.end(normal=False)
            raise

    def _call_exit(self, error: Exception) -> object:
        """Call the active abend exit; if it abends too, call the exit that it has itself activated by then.

        Without an active exit the error is raised again.
        """
        while True:
            handles = self._handles
            if handles.abend is None or isinstance(error, RegionClosed) or not calls_exits(error):
                raise error
            abend = to_abend(self, error)
            self._handles = handles._replace(abend=None, cancelled=handles.abend)
            try:
                return handles.abend(abend)
            except TaskReturn as leave:
                return leave.value
            except Exception as again:  # noqa: BLE001  (whatever leaves the exit is an abend as well)
                error = again

    def end(self, *, normal: bool = False) -> None:
        """End the task: back out what is left of its unit of work, and continue or end its queues' trigger cycles.

        If an exception interrupts this, the next command or the dispatcher calls it again, which completes it.
        """
        try:
            dispatcher = self._region.dispatcher
            if dispatcher.thread != get_ident():
                dispatcher.check_thread()
            if not self._settled:
                self._end(normal)
            if self._entered and self._settled:
                self._block = None
        except WrongThread:
            raise
        except BaseException:
            if not self._settled:
                self._region.task_manager.unfinished[self] = self._block
            raise

    def _end(self, normal: bool) -> None:
        self._ended = True
        self._queues = _NO_QUEUES
        try:
            if self._unit is not None:
                take_rollback(self)
        finally:
            self._leave_region(normal)
            self._settled = self._unit is None

    def _leave_region(self, normal: bool) -> None:
        """After the end of its unit of work: apply QZEROs, free ENQs and the facility, continue the trigger cycle."""
        region = self._region
        region.tasks.pop(self.number, None)
        if region.failed:
            return
        if region.is_watched and region.recorder is not None and not self._recorded:
            self._recorded = True
            region.recorder.task_ended(self, normal=normal)
        if self._qzero:
            for queue, cycle in self._qzero.items():
                region.ati.emptied(queue, cycle)
        if region.enqueued:
            release_all(region, self)
        if region.starts.posts:
            region.starts.posts.pop(self, None)
        facility = self._facility
        if facility is not None and facility.task is self:
            facility.task = None
        if region.closed:
            return
        if region.limits is not None:
            region.limits.left(self)
        if self._request is not None:
            region.ati.task_ended(self._request, normal)
            self._fiber = None  # no caller has the handle of a triggered task, so break the reference cycle
        if facility is not None:
            region.ati.serve(facility)

    # -- with region.task() as t ----------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        if self._entered:
            raise UsageError("a task is entered once")
        self._entered = True
        return self

    __exit__ = _Exit()

    def _leave_block(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> bool:
        """Syncpoint at the normal end; after an exception the abend exit, or backout and the exception again."""
        try:
            return self._leave(error)
        except BaseException:
            self.end(normal=False)
            raise

    def _leave(self, error: BaseException | None) -> bool:
        """End the block; True if it ended normally after all."""
        if self._ended:
            self.end(normal=False)
            return False
        if error is not None and not isinstance(error, TaskReturn):
            if not calls_exits(error) or isinstance(error, RegionClosed) or self._handles.abend is None:
                if isinstance(error, Exception):
                    abend = to_abend(self, error)
                    if not isinstance(error, RegionClosed):
                        from tdqsim.cics.kernel.dumps import take_dump  # noqa: PLC0415  (needed only after a failure)

                        take_dump(self, abend)
                self.end(normal=False)
                return False
            self._call_exit(error)
        take_last_syncpoint(self)
        self.end(normal=True)
        if self._outside:
            let_others_run(self)
        return True


def refuse(task: TaskData, name: str) -> None:
    """Raise the error of a command that may not be issued: RegionClosed, WrongThread or UsageError."""
    region = task._region
    region.dispatcher.check_thread()
    if region.closed:
        raise RegionClosed(f"{name}: the region {region.applid} {region.why_closed}")
    if task._ended:
        raise UsageError(f"{name}: task {task.number} {task.transid} has ended")


def respond(task: TaskData, condition: Condition, name: str, resource: str, *, nohandle: bool, otherwise: T) -> T:
    """End a command with a condition, in the order given in :mod:`~tdqsim.cics.kernel.handling`.

    Returns:
        The return value of the active HANDLE, or ``otherwise``; for LENGERR of READQ TD the truncated record.

    Raises:
        Condition: it is not handled, and CICS does not ignore it by default.
    """
    dispatcher = task._region.dispatcher
    if dispatcher.thread != get_ident():
        dispatcher.check_thread()
    condition.command, condition.resource = name, condition.resource or resource
    machine = task._region.machine
    if machine is not None:
        machine.apply(condition)
    task.condition = condition
    task.eib.last = failure(condition)
    if condition.violation is not None:
        report_refusal(task, condition)
    if task._outside:
        let_others_run(task)
    value = cast("T", condition.data or otherwise)
    handles = task._handles
    if nohandle:
        return value
    if condition.resp is Resp.NORMAL:  # the command succeeded; RESP2 has additional information
        return value
    if condition.taken_by is not None:
        return cast("T", condition.taken_by(condition))
    label = handles.labels.get(condition.resp)
    if label is None:
        if condition.resp in handles.ignored:
            return value
        if condition.abend_code:  # ERROR stands for conditions whose default action is an abend
            label = handles.labels.get(Resp.ERROR)
            if label is None and Resp.ERROR in handles.ignored:
                return value
    if label is not None:
        return cast("T", label(condition))
    raise condition


def let_others_run(task: TaskData) -> None:
    """Give ready tasks their turn, if the command was issued outside the dispatcher."""
    dispatcher = task._region.dispatcher
    if dispatcher.ready or dispatcher.deadlines:
        dispatcher.run_ready()


def open_browses(task: TaskData) -> dict[str, Any]:
    """The open browses of the issuer of the command: the task, or the region for commands outside a task."""
    task._region.dispatcher.check_thread()
    if task._implicit:
        browses: dict[str, Any] = task._region.browses
    elif isinstance(task._browses, dict):
        browses = task._browses
    else:
        task._browses = browses = {}
    return browses


def take_syncpoint(task: TaskData) -> None:
    """Commit the unit of work.

    Raises:
        Condition: ROLLEDBACK: a participant refused or the store failed; the unit of work was backed out.
    """
    region, uow = task._region, task._unit
    if region.dispatcher.thread != get_ident():
        region.dispatcher.check_thread()
    if uow is not None and (uow.ended or region.store.durable.in_doubt):
        uow = task._region.recovery.settled(task)
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
        if (uow.finished and (uow.notified or not uow.participants)) or uow.task is not task:
            task._unit = None
    if not committed:
        raise Condition(Resp.ROLLEDBACK, detail="a participant of the unit of work could not prepare")


def take_last_syncpoint(task: TaskData) -> None:
    """Commit what is left when the program returns.

    Raises:
        Abend: ASPN: a participating region was lost, and the program has not backed out.
        Condition: as :func:`take_syncpoint` does.
    """
    unit = task._unit
    if unit is not None and unit.participants and unit.must_back_out:
        take_rollback(task)
        detail = "a region that takes part was lost, and the program did not back out"
        raise Abend(_BACKOUT_REQUIRED, detail=detail, cancel=True)
    take_syncpoint(task)


def take_rollback(task: TaskData) -> None:
    """Back the unit of work out."""
    task._region.dispatcher.check_thread()
    uow = task._region.recovery.settled(task)
    if uow is not None:
        try:
            task._region.recovery.back_out(uow)
        finally:
            if (uow.finished and (uow.notified or not uow.participants)) or uow.task is not task:
                task._unit = None


def give_up(task: TaskData) -> None:
    """Free the locks of the unit of work, by assignments alone, so that an interrupt cannot stop it half-way.

    The end of the task does the rest.
    """
    uow = task._unit
    if uow is not None and not uow.ended and not uow.participants and uow.state is Cvda.INFLIGHT:
        durable = task._region.store.durable
        if not durable.in_doubt:
            uow.state, uow.ended = Cvda.BACKOUT, True


def to_abend(task: TaskData, error: BaseException) -> Abend:
    """Convert an exception that has left the program to an abend, and set ABCODE, ORGABCODE and ABPROGRAM from it."""
    task._abprogram = note_failure(task, error)
    if isinstance(error, Abend):
        abend = error
    else:
        code = error.abend_code if isinstance(error, Condition) else _PROGRAM_CHECK
        if is_outside_subset(error):
            code = _OUTSIDE_SUBSET
        abend = Abend(code or _PROGRAM_CHECK, error)
    task.abcode = abend.code
    task._orgabcode = task._orgabcode or abend.code
    return abend


def abnormal_end(task: TaskData, abend: Abend) -> None:
    """End a task abnormally: its dump, dynamic backout, and message DFHAC2236."""
    from tdqsim.cics.kernel.dumps import take_dump  # noqa: PLC0415  (needed only after a failure)

    dump = take_dump(task, abend)
    region = task._region
    region.abends[abend.code] = region.abends.get(abend.code, 0) + 1
    _say_abend(task, abend, f"{dump.file}:{dump.line}" if dump.file else "")
    termid = task._facility.name if task._facility is not None else ""
    if task._facility is not None and task._facility.kind == "TERMINAL":
        region.screens.of(task).forget_next(task)
    task.end(normal=False)
    region.messages.write("DFHAC2236", transid=task.transid, abcode=abend.code, program=task._abprogram, termid=termid)


def _say_abend(task: TaskData, abend: Abend, place: str) -> None:
    """Log an abend, and make a notice of it unless somebody waits for the result of the task, and so gets it."""
    cause = abend if abend.cause is None else abend.cause
    region, fiber = task._region, task._fiber
    values: dict[str, Any] = {
        "transid": task.transid, "task": task.number, "abcode": abend.code, "cause": repr(abend.cause),
        "exc_info": product_fault(abend.cause), **({"place": place} if place else {}),
    }  # fmt: skip
    if fiber is not None and fiber.end_queue:
        region.log.warning("abend", **values)
        return
    lines = own_lines(cause)
    at = f" at {place}" if place and not lines and f"{Path(place).name}:" not in str(abend) else ""
    region.notices.say("abend", what=f"{abend}{at}", traceback=lines, **values)
