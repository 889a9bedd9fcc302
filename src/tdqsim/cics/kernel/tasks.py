"""The tasks of a region: the list of tasks, how a task is made, and what follows its end.

A task begins in one of three ways: a transaction is attached (a trigger, START, ``region.start``) and runs as a fiber
of the dispatcher; Python code outside the dispatcher opens one as a block (``with region.task() as t:``); or a command
issued on the region itself runs in a separate task, with a syncpoint. The last is so common in tests that one task
object is reused, as long as the previous command has left nothing behind (:mod:`~tdqsim.cics.region`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import filterfalse
from typing import Final, Generic, TypeVar

from tdqsim.cics.kernel.authority import NOT_AUTHORIZED, SYSTEM_TRANSID, is_attachable_by, is_supplied, unauthorized
from tdqsim.cics.kernel.conditions import Abend
from tdqsim.cics.kernel.priorities import task_priority, with_terminal
from tdqsim.cics.kernel.security import check_user
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.handle import TaskHandle
from tdqsim.cics.model.level import ProgramLevel
from tdqsim.cics.model.queue import Latch
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.model.start import StartRequest
from tdqsim.cics.model.task import Facility, TaskData
from tdqsim.cics.model.transaction import DEFAULT_PRIORITY, LIMITS_RUNAWAY, TransactionEntry
from tdqsim.core.fiber import Fiber
from tdqsim.errors import StoreError, UsageError
from tdqsim.facts import REGION_DEFAULTS, table

K = TypeVar("K", bound=TaskBase)

PURGED: Final = "AEXY"
"""The abend of a task that an operator has purged."""

_LAST: Final = next(int(row["value"]) for row in table("kernel") if row["name"] == "last_task_number")
_OUTSIDE: Final = "TEST"
_MS: Final = 1_000_000
_NEVER_NS: Final = 2**80  # PRTYAGE 0: no task waits so long that its priority rises


class Tasks(Generic[K]):
    """The tasks of one region.

    Attributes:
        known: the tasks that have started and not ended, by number.
        unfinished: the tasks whose end an exception cut short or prevented; the values mean nothing. The next command
            outside a task, and the dispatcher when no task is ready, completes it; see :meth:`finish_ends`.
        spare: the task for the next command outside any task, if the last one has left nothing behind.
        peak: the most tasks at a time since statistics were reset.
        prtyaging: the milliseconds after which the priority of a ready task is one higher (PRTYAGE); 0 for never.
    """

    def __init__(self, region: RegionData, make: Callable[..., K]) -> None:
        self._region = region
        self._make = make
        self.known: dict[int, TaskData] = {}
        self.peak = 0
        self.prtyaging = int(REGION_DEFAULTS["prtyage"])
        self._free: Iterator[int] = iter(())
        self.spare: K | None = None
        self.unfinished: dict[TaskData, object] = {}

    def next_number(self) -> int:
        """The number of the next task: 1 to 99999, then from 1 again, without numbers of tasks that have not ended.

        Raises:
            UsageError: every number is in use.
        """
        return next(self._free, 0) or self._from_1_again()

    def _from_1_again(self) -> int:
        self._free = filterfalse(self.known.__contains__, range(1, _LAST + 1))
        for number in self._free:
            return number
        raise UsageError(f"region {self._region.applid} has {_LAST} tasks, and no number for another one")

    def user_for(self, userid: str) -> str:
        """The user of a task that is started outside the dispatcher: ``userid``, or the default user if it is empty.

        Raises:
            UsageError: the security policy does not know the user.
        """
        if userid:
            check_user(self._region.security, userid, "userid")
        return userid or self._region.options.dfltuser

    def admit(self, transid: str, user: str, facility: Facility | None = None) -> None:
        """Check that a user may attach a transaction that the region knows.

        Raises:
            UsageError: the security policy refuses it; the text is that of DFHAC2033, or of DFHAC2002 if nobody is
                signed on at the terminal.
        """
        known = transid in self._region.transactions or is_supplied(transid)
        message = NOT_AUTHORIZED if facility is None else unauthorized(facility)
        if known and not is_attachable_by(self._region, transid, user, facility, message):
            raise UsageError(f"{message} {user} is not authorized to use transaction {transid}")

    def outside(self, transid: str, userid: str) -> K:
        """A task for the program outside; see :meth:`tdqsim.cics.region.Region.task`."""
        region = self._region
        self.finish_ends()
        user = self.user_for(userid)
        if region.security is not None and transid:
            self.admit(transid, user)
        task = self._make(region, self.next_number(), transid or _OUTSIDE, user)
        task._outside = region.dispatcher.current is region.dispatcher.outside
        entry = region.transactions.get(task.transid)
        if entry is not None:
            task._dtimout_ns = entry.dtimout_ns
        # List and return it in one step: if an interrupt came in between, the caller would not have the task to end it.
        return self.known.setdefault(task.number, task)  # type: ignore[return-value]

    def system(self) -> K:
        """Make a task for the region itself, for writing messages; it is not listed."""
        task = self._make(self._region, self.next_number(), SYSTEM_TRANSID, self._region.options.dfltuser)
        task._implicit = True
        return task

    def alone(self) -> K:
        """Make the task for a command outside any task; later commands reuse it while nothing is left of it."""
        task = self._make(self._region, 0, _OUTSIDE, self._region.options.dfltuser)
        task._implicit = True
        return task

    def attach(
        self,
        entry: TransactionEntry,
        *,
        startcode: str,
        userid: str,
        facility: Facility | None = None,
        request: Latch | None = None,
        start: StartRequest | None = None,
        args: tuple[object, ...] = (),
        level: ProgramLevel | None = None,
        make: Callable[..., K] | None = None,
    ) -> TaskHandle:
        """Make a task for a transaction that can be attached; it runs when it is dispatched.

        If this raises, no task was made.
        """
        region = self._region
        program = entry.handler or entry.program  # the property `program` is slower: it looks up PROGRAM
        if facility is not None and entry.is_remote(region.sysid):
            program = region.routing.relay
        assert program is not None, entry
        number = self.next_number()
        task = (make or self._make)(
            region, number, entry.name, userid, startcode, entry.program_name, entry.dtimout_ns, request
        )
        task._work = program, args
        if start is not None:
            task.eib.eibreqid = start.reqid
            if start.has_data:
                task._start_data = start
        if level is not None:
            task._level = level
            task.eib.eibcalen = len(level.commarea or b"")
        task._fiber = handle = TaskHandle(region.dispatcher, task, region, task._run, task)
        try:
            self.known[number] = task
            entry.attaches += 1
            if len(self.known) > self.peak:  # max() costs a call
                self.peak = len(self.known)
            if region.limits is not None:
                region.limits.arrive(task, entry)
            if entry.ranks or facility is not None:
                self._prefer(task, handle, entry, facility)
            if region.is_watched and region.recorder is not None:
                region.recorder.task_started(task)
            return region.dispatcher.begin(handle)
        except BaseException:
            self.known.pop(number, None)
            if facility is not None and facility.task is task:
                facility.task = None
            if region.limits is not None:
                region.limits.left(task)
            raise

    def _say_of(self, entry: TransactionEntry) -> None:
        """Give a notice at the first task of a transaction of what is not done as in CICS."""
        region, runaway = self._region, entry.definition.runaway_ms
        if region.transactions.get(entry.name) is not entry:
            return  # a function that is started without a transaction
        if not entry.defined:
            region.notices.say("transaction_not_installed", transid=entry.name)
        if runaway and not getattr(entry.program, LIMITS_RUNAWAY, False) and not entry.is_remote(region.sysid):
            region.notices.say("runaway_of_python", transid=entry.name, runaway=runaway)

    def _prefer(self, task: TaskData, fiber: Fiber, entry: TransactionEntry, facility: Facility | None) -> None:
        """Give a task its priority and its facility, which may add to the priority."""
        priority = entry.priority
        if entry.is_new:
            entry.seen()
            self._say_of(entry)
        if facility is not None:
            task._facility = facility
            task.eib.eibtrmid = facility.name
            facility.task = task
            priority = with_terminal(self._region, priority, facility.name)
        if priority != DEFAULT_PRIORITY:
            self._rank(fiber, priority)

    def _rank(self, fiber: Fiber, priority: int) -> None:
        """Let the dispatcher prefer a task to those of lower priority that became ready less than PRTYAGE earlier."""
        step = self.prtyaging * _MS if self.prtyaging else _NEVER_NS
        self._region.dispatcher.rank(fiber, (priority - DEFAULT_PRIORITY) * step)

    def set_prtyaging(self, milliseconds: int) -> None:
        """Change PRTYAGE; it applies to a task from the next time that it becomes ready."""
        self.prtyaging = milliseconds
        for task in self.known.values():
            fiber = task._fiber
            if fiber is not None and fiber.rank_ns:
                self._rank(fiber, task_priority(task))

    def purge(self, handle: Fiber | TaskData, code: str = PURGED) -> bool:
        """End a task that waits, as an operator's purge does; False when it does not wait."""
        fiber = handle if isinstance(handle, Fiber) else handle._fiber
        return fiber is not None and fiber.cancel(Abend(code, detail="the task was purged"))

    def finish_ends(self) -> None:
        """Complete the ends of tasks that exceptions have interrupted."""
        for task in tuple(self.unfinished):
            try:
                task.end(normal=False)
            except StoreError as error:  # the task was backed out nevertheless, as a restart would do
                self._region.notices.say("backout_not_recorded", whose=str(task), task=task.number, reason=str(error))
            self.unfinished.pop(task, None)
