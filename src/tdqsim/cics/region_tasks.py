"""The tasks of a region and their units of work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

from tdqsim.cics.commands import Task
from tdqsim.cics.kernel.conditions import Abend, Condition
from tdqsim.cics.kernel.enqueue import release_all
from tdqsim.cics.kernel.handlers import Handler, TransactionEntry
from tdqsim.cics.kernel.interval import StartRequest
from tdqsim.cics.look import inspecting
from tdqsim.cics.queues.ati import Facility, Request
from tdqsim.cics.queues.kinds import IntraQueue
from tdqsim.cics.region_resources import RegionResources
from tdqsim.cics.uow import indoubt, restart
from tdqsim.cics.uow.unit import UOW_ID_LENGTH, UnitOfWork
from tdqsim.core.dispatch import Strand
from tdqsim.errors import RegionClosed, TdqError
from tdqsim.facts import Cvda, table

__all__ = ["RegionTasks"]

_BOUNDS: Final = {row["name"]: int(row["value"]) for row in table("kernel")}
_INFLIGHT: Final = Cvda.INFLIGHT
_PURGED: Final = "AEXY"
_OUTSIDE_TRANSID: Final = "TEST"


class RegionTasks(RegionResources):
    """What runs in a region.

    Attributes:
        spare_uow: a unit of work that has ended and that nobody knows any more, for :meth:`new_uow`; or None.
    """

    spare_uow: UnitOfWork | None = None

    # -- units of work --------------------------------------------------------------------------------------------

    def new_uow(self, task: Task) -> UnitOfWork:
        """A unit of work for a task."""
        self._last_uow += 1
        uow_id = self._last_uow.to_bytes(UOW_ID_LENGTH, "big")
        uow = self.spare_uow
        if uow is None:
            uow = UnitOfWork(self.whole, uow_id, task)
        else:  # this is all in which it differs from a new one
            self.spare_uow = None
            uow.id, uow.task, uow.state, uow.ended = uow_id, task, _INFLIGHT, False
        self.units[uow_id] = uow
        return uow

    @property
    def last_uow_id(self) -> bytes:
        """The highest id given to a unit of work, or known of an earlier run."""
        return self._last_uow.to_bytes(UOW_ID_LENGTH, "big")

    def uow_seen(self, uow_id: bytes) -> None:
        """An id of an earlier run: later ones are higher."""
        self._last_uow = max(self._last_uow, int.from_bytes(uow_id, "big"))

    def units_of_work(self) -> tuple[UnitOfWork, ...]:
        """Those that tasks have begun, then the shunted ones, each in order of age."""
        return (*self.units.values(), *self.shunted.values())

    def commit(self, uow: UnitOfWork) -> bool:
        """End a unit of work, with those who take part in it; False when one of them refused and it was backed out."""
        if not uow.participants:
            uow.commit()
            return True
        return indoubt.commit_together(uow)

    def back_out(self, uow: UnitOfWork) -> None:
        """Undo a unit of work, with those who take part in it."""
        indoubt.back_out_together(uow)

    def coordinate(self, task: Task, name: str) -> indoubt.Subordinate:
        """Hand a task's unit of work to a coordinator outside CICS, which then drives it; the task begins another.

        Args:
            task: whose unit of work it is.
            name: the coordinator's own name for it, by which :meth:`branch` finds it again, after a restart too.

        Returns:
            The unit of work with ``prepare()``, ``commit()``, ``back_out()``, ``forget()`` and ``lose_coordinator()``.

        Raises:
            TdqError: the task has ended, the name is empty, or another unit of work that is unfinished has it.
        """
        return indoubt.hand_over(task, name)

    def branch(self, name: str) -> indoubt.Subordinate | None:
        """The unit of work that waits, shunted, for the coordinator that calls it so, or was decided without it.

        Returns:
            As :meth:`coordinate`; None when there is no such unit of work.
        """
        found = next((uow for uow in self.shunted.values() if uow.coordinator == name), None)
        if found is None:
            found = indoubt.decided_alone(self.whole, name)
        return None if found is None else indoubt.Subordinate(found, name, found.link)

    def unit_of_work_ended(self, uow: UnitOfWork, *, committed: bool) -> None:
        """Count its QZEROs, start what waited for its commit, free its ENQs."""
        self.units.pop(uow.id, None)
        if self.failed:
            return
        if self._recorder is not None and not uow.recorded:
            self._recorder.unit_of_work_ended(uow, committed=committed)
        if committed and uow.qzero:
            if uow.task is not None and not uow.task.ended:
                uow.task.qzero.update(uow.qzero)
            else:
                for queue in uow.qzero:
                    self.ati.emptied(queue)
        for action in uow.at_end:
            action(committed)
        if self.enqueues:
            release_all(self.whole, uow)

    def harden(self, _uow: UnitOfWork) -> None:
        """Make the unit of work's changes permanent, together with others'."""
        self.hardening.wait()

    def image_of(self, uow: UnitOfWork) -> bytes:
        """A prepared unit of work as it is kept on the store."""
        return restart.image_of(uow)

    def forget_last_reads(self, queue: IntraQueue) -> None:
        """A PHYSICAL queue was deleted: nothing is given back to it."""
        if queue.recovstatus == "PHYSICAL":
            restart.forget_reads(self.whole, queue)

    # -- tasks ----------------------------------------------------------------------------------------------------

    def next_task_number(self) -> int:
        """The number of the next task."""
        self._numbers = self._numbers % _BOUNDS["last_task_number"] + 1
        return self._numbers

    def task(self, *, transid: str = _OUTSIDE_TRANSID, userid: str = "") -> Task:
        """A task for the program outside: ``with region.task() as t:``.

        The block is one task: syncpoint at its normal end, backout on an exception, which goes on.

        Args:
            transid: its transaction id.
            userid: its user; the default user when not given.
        """
        self._check_open("task")
        task = Task(self.whole, self.next_task_number(), transid, userid or self.default_user)
        task.outside = self.dispatcher.current is self.dispatcher.outside
        entry = self.transactions.get(transid)
        if entry is not None:
            task.dtimout_ns = entry.dtimout_ns
        self.tasks[task.number] = task
        return task

    def system_task(self) -> Task:
        """A task of the region's own, for its messages; it is not listed."""
        task = Task(self.whole, self.next_task_number(), "CSSY", self.default_user)
        task.outside = False
        task.implicit = True
        return task

    def start(
        self, program: str | Handler, *args: Any, userid: str = "", terminal: str = "", data: bytes | None = None
    ) -> Strand:
        """Start a task that runs beside the program outside.

        Args:
            program: a transaction id, or a function that is called with its task and ``args``.
            args: further arguments of the function.
            userid: its user; the default user when not given.
            terminal: its principal facility; the terminal must be defined.
            data: what its RETRIEVE gives.

        Returns:
            The handle: ``region.run()`` lets it run, ``handle.result()`` is what it returns or raises.

        Raises:
            TdqError: the transaction is not defined, disabled, or has no program.
        """
        self._check_open("start")
        entry = inspecting.startable(self.whole, program)
        facility = self.facility("TERMINAL", terminal) if terminal else None
        if facility is not None and terminal not in self.terminals:
            raise TdqError(f"terminal {terminal} is not defined")
        startcode = "TD" if facility is not None else "S" if data is None else "SD"
        return self.attach(
            entry, startcode=startcode, userid=userid or self.default_user, facility=facility, data=data, args=args
        )

    def attach(
        self,
        entry: TransactionEntry,
        *,
        startcode: str,
        userid: str,
        facility: Facility | None = None,
        request: Request | None = None,
        data: bytes | None = None,
        args: tuple[Any, ...] = (),
    ) -> Strand:
        """Make a task for a transaction that can be attached; it runs when it is dispatched."""
        definition = entry.definition
        task = Task(self.whole, self.next_task_number(), definition.name, userid, startcode=startcode)
        task.outside = False
        task.program = definition.program or definition.name
        task.dtimout_ns = entry.dtimout_ns
        task.request = request
        if data is not None:
            task.start_data.append(data)
        if facility is not None:
            task.facility = facility
            task.eib.eibtrmid = facility.name
            facility.task = task
        self.tasks[task.number] = task
        assert entry.program is not None, entry
        strand = self.dispatcher.spawn(
            partial(task.run, entry.program, args), name=f"task {task.number} {definition.name}", owner=self
        )
        strand.local = task
        task.strand = strand
        if self._recorder is not None:
            self._recorder.task_started(task)
        return strand

    def task_ended(self, task: Task, *, normal: bool) -> None:
        """Settle what a task leaves: QZEROs, its queue's cycle, its facility, its ENQs."""
        self.tasks.pop(task.number, None)
        if self.failed:
            return
        if self._recorder is not None:
            self._recorder.task_ended(task, normal=normal)
        for queue in task.qzero:
            self.ati.emptied(queue)
        if self.enqueues:
            release_all(self.whole, task)
        facility = task.facility
        if facility is not None and facility.task is task:
            facility.task = None
        if task.request is not None and not self.closed:
            self.ati.task_ended(task.request, normal=normal)
        if facility is not None and not self.closed:
            self.ati.serve(facility)

    def run(self) -> None:
        """Let tasks run until none can go on; the simulated clock jumps to what they wait for."""
        self._check_open("run")
        self.dispatcher.run()

    def purge(self, handle: Strand | Task, code: str = _PURGED) -> bool:
        """End a task that waits, as an operator's purge does; False when it does not wait."""
        strand = handle if isinstance(handle, Strand) else handle.strand
        return strand is not None and strand.cancel(Abend(code, detail="the task was purged"))

    def start_at(self, request: StartRequest, deadline_ns: int) -> None:
        """Have a START done when its time comes."""
        if deadline_ns <= self.clock.time_ns():
            request.due()
        else:
            request.timer = self.dispatcher.call_at(deadline_ns, request.due)

    def when_free(self, terminal: str, attach: Callable[[Facility], object]) -> None:
        """Call ``attach`` with the facility once a terminal is in service and has no task."""
        facility = self.facility("TERMINAL", terminal)
        facility.requests.append(attach)
        self.ati.serve(facility)

    def next_reqid(self) -> str:
        """A name for a START that was given none."""
        self._reqids += 1
        return f"DF{self._reqids:06d}"

    def run_alone(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Do one command as a task of its own."""
        task, self._spare = self._spare, None
        if task is None:
            if self.closed:
                raise RegionClosed(f"the region {self.applid} is closed")
            task = Task(self.whole, 0, _OUTSIDE_TRANSID, self.default_user)
            task.outside = False
            task.implicit = True
        self._numbers = number = self._numbers % 99_999 + 1
        task.number = task.eib.eibtaskn = number
        try:
            value = function(task, *args, **kwargs)
            if task._uow is not None:  # noqa: SLF001  (the region makes and ends its own task)
                task.take_syncpoint()
        except Condition:
            self._end_alone(task)
            raise
        except BaseException:
            task.end(normal=False)
            raise
        if task.qzero or task.browses or self.enqueues:
            task.end(normal=True)
        else:
            self._spare = task
        if self.dispatcher.pending:
            self.dispatcher.run_ready()
        return value

    def _end_alone(self, task: Task) -> None:
        """End a command's own task after a condition: the caller handles that, so what the command did is kept."""
        try:
            task.take_syncpoint()
        except BaseException:
            task.end(normal=False)
            raise
        task.end(normal=True)

    def readq_td_all(self, queue: str) -> Iterator[bytes]:
        """READQ TD until QZERO, in one task; see the task's method."""
        with self.task() as task:
            yield from task.readq_td_all(queue)

    def writeq_td_all(self, queue: str, records: Iterable[bytes]) -> int:
        """WRITEQ TD of each record, in one task; see the task's method."""
        written = 0
        with self.task() as task:
            written += task.writeq_td_all(queue, records)
        return written

    def browse_tdqueue(self, *options: str) -> Iterator[Any]:
        """Iterate over INQUIRE TDQUEUE of all queues; see the task's method."""
        with self.task() as task:
            yield from task.browse_tdqueue(*options)
