"""The tasks of a region: which there are, how one is made, and what follows its end.

A task begins in one of three ways: a transaction is attached (a trigger, START, ``region.start``) and runs as a strand
of the dispatcher; the program outside opens one as a block (``with region.task() as t:``); or a command outside any
task is a task of its own, with a syncpoint. The last is so common in tests that its task is used again as long as
nothing is left of it. What is tied to a task's end, ENQs, its queue's cycle, its terminal, the region's
``task_ended`` does.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Final, Generic, ParamSpec, Protocol, TypeVar

from tdqsim.cics.kernel.conditions import Abend, Condition
from tdqsim.cics.kernel.handlers import TransactionEntry
from tdqsim.cics.kernel.security import check_user
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.level import ProgramLevel
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.model.start import StartRequest
from tdqsim.cics.model.task import Facility, TaskData
from tdqsim.core.dispatch import Dispatcher, Strand
from tdqsim.errors import RegionClosed, StoreError, TdqError
from tdqsim.facts import table

__all__ = ["PURGED", "Tasks", "outside"]

K = TypeVar("K", bound=TaskBase)
P = ParamSpec("P")
T = TypeVar("T")

PURGED: Final = "AEXY"
"""The abend of a task that an operator has purged."""

_LAST: Final = next(int(row["value"]) for row in table("kernel") if row["name"] == "last_task_number")
_OUTSIDE: Final = "TEST"
_SYSTEM: Final = "CSSY"


class Tasks(Generic[K]):
    """The tasks of one region.

    Attributes:
        known: the tasks that have begun and not ended, by number.
        unfinished: the tasks whose end an exception cut short. The next command outside a task, and the dispatcher when
            no task is ready, completes it; see :meth:`finish_ends`.
    """

    def __init__(self, region: RegionData, make: Callable[..., K]) -> None:
        self._region = region
        self._make = make
        self.known: dict[int, TaskData] = {}
        self._last = 0
        self._spare: K | None = None
        self.unfinished: dict[TaskData, None] = {}

    def next_number(self) -> int:
        """The number of the next task: 1 to 99999, then 1 again, but for those of tasks that have not ended.

        Raises:
            TdqError: every number is a task's.
        """
        number = self._last % _LAST + 1
        if number in self.known:
            if len(self.known) >= _LAST:
                raise TdqError(f"region {self._region.applid} has {_LAST} tasks, and no number for another one")
            while number in self.known:
                number = number % _LAST + 1
        self._last = number
        return number

    def user_for(self, userid: str) -> str:
        """The user of a task that the program outside begins: as it says, the default user when it does not.

        Raises:
            TdqError: the security policy does not know the user.
        """
        if userid:
            check_user(self._region.security, userid, "userid")
        return userid or self._region.default_user

    def outside(self, transid: str, userid: str) -> K:
        """A task for the program outside; see :meth:`tdqsim.cics.region.Region.task`."""
        region = self._region
        self.finish_ends()
        user = self.user_for(userid)
        task = self._make(region, self.next_number(), transid or _OUTSIDE, user)
        task.outside = region.dispatcher.current is region.dispatcher.outside
        entry = region.transactions.get(task.transid)
        if entry is not None:
            task.dtimout_ns = entry.dtimout_ns
        # In one step: a task that is listed and that nobody has would never end.
        return self.known.setdefault(task.number, task)  # type: ignore[return-value]

    def system(self) -> K:
        """A task of the region's own, for its messages; it is not listed."""
        task = self._make(self._region, self.next_number(), _SYSTEM, self._region.default_user)
        task.implicit = True
        return task

    def attach(
        self,
        entry: TransactionEntry,
        *,
        startcode: str,
        userid: str,
        facility: Facility | None = None,
        request: Any = None,
        start: StartRequest | None = None,
        args: tuple[Any, ...] = (),
        level: ProgramLevel | None = None,
        reqid: str = "",
        make: Callable[..., K] | None = None,
    ) -> Strand:
        """Make a task for a transaction that can be attached; it runs when it is dispatched.

        Whatever is raised here, there is no such task.
        """
        program = entry.program
        assert program is not None, entry
        region = self._region
        dispatcher = region.dispatcher
        if dispatcher.thread != get_ident():
            dispatcher.check_thread()
        number = self.next_number()
        work = program, args
        task = (make or self._make)(
            region, number, entry.name, userid, startcode, entry.program_name, work, entry.dtimout_ns, request
        )
        if start is not None and start.has_data:
            task.start_data = start
        if reqid:
            task.eib.eibreqid = reqid
        if level is not None:
            task.level = level
            task.eib.eibcalen = len(level.commarea or b"")
        task.strand = strand = Strand(dispatcher, task, region, task._run, task, task.end)  # noqa: SLF001  (it alone runs it)
        try:
            self.known[number] = task
            if facility is not None:
                task.facility = facility
                task.eib.eibtrmid = facility.name
                facility.task = task
            if region.is_watched and region.recorder is not None:
                region.recorder.task_started(task)
            return dispatcher.begin(strand)
        except BaseException:
            self.known.pop(number, None)
            if facility is not None and facility.task is task:
                facility.task = None
            raise

    def purge(self, handle: Strand | TaskData, code: str = PURGED) -> bool:
        """End a task that waits, as an operator's purge does; False when it does not wait."""
        strand = handle if isinstance(handle, Strand) else handle.strand
        return strand is not None and strand.cancel(Abend(code, detail="the task was purged"))

    # -- a command outside any task -------------------------------------------------------------------------------

    def finish_ends(self) -> None:
        """Complete the ends that exceptions cut short."""
        for task in tuple(self.unfinished):
            try:
                task.end(normal=False)
            except StoreError as error:  # it is backed out all the same, as a restart would do
                self._region.log.warning("backout_not_recorded", task=task.number, reason=str(error))
            self.unfinished.pop(task, None)

    def _new_alone(self) -> K:
        """A task for commands outside: one after the other, as long as nothing is left of it."""
        task = self._make(self._region, 0, _OUTSIDE, self._region.default_user)
        task.implicit = True
        return task

    def _end_alone(self, task: K) -> None:
        """End a command's own task after a condition: the caller handles that, so what the command did is kept."""
        try:
            task.take_syncpoint()
        except BaseException:
            task.end(normal=False)
            raise
        task.end(normal=True)

    def _give_up(self, task: K) -> None:
        """End a command's own task after an exception; what cuts this short leaves it to the next command."""
        self.unfinished[task] = None
        task.give_up()  # where even a call is too much, its locks are free all the same
        self.finish_ends()


class _Outside(Protocol):
    task_manager: Tasks[Any]
    dispatcher: Dispatcher
    enqueues: dict[bytes, Any]
    applid: str
    closed: bool
    why_closed: str


def outside(command: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[_Outside, P], T]:
    """A command as the region's method: a task of its own, with its syncpoint."""

    @wraps(command)
    def alone(region: _Outside, /, *args: P.args, **kwargs: P.kwargs) -> T:
        tasks, dispatcher = region.task_manager, region.dispatcher
        if get_ident() != dispatcher.thread:
            dispatcher.check_thread()
        if tasks.unfinished:
            tasks.finish_ends()
        task, tasks._spare = tasks._spare, None  # noqa: SLF001  (the other half of the same thing)
        if region.closed:
            raise RegionClosed(f"the region {region.applid} {region.why_closed}")
        if task is None:
            task = tasks._new_alone()  # noqa: SLF001
        task.number = task.eib.eibtaskn = tasks.next_number()
        try:
            value = command(task, *args, **kwargs) if kwargs else command(task, *args)  # type: ignore[call-arg]
            if task.unit is not None:
                task.take_syncpoint()
        except Condition:
            tasks._end_alone(task)  # noqa: SLF001
            raise
        except BaseException:
            tasks._give_up(task)  # noqa: SLF001
            raise
        if task.qzero or task.browses or region.enqueues:
            task.end(normal=True)
        else:
            tasks._spare = task  # noqa: SLF001
        if dispatcher.ready or dispatcher.deadlines:
            dispatcher.run_ready()
        return value

    return alone
