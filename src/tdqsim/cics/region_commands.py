"""The commands of the region itself: each call runs in a task of its own.

The string below each assignment repeats the first line of the command's docstring, for editors that do not run the
code.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from tdqsim.cics.commands import Task
from tdqsim.cics.kernel.conditions import Condition, TaskReturn
from tdqsim.cics.kernel.task import give_up, take_syncpoint
from tdqsim.cics.model.region import RegionBase
from tdqsim.cics.region_core import RegionCore
from tdqsim.errors import RegionClosed

if TYPE_CHECKING:
    from tdqsim.cics.text.host_variables import Labels, Received, Variables

K = TypeVar("K")
P = ParamSpec("P")
T = TypeVar("T")


def outside(command: Callable[Concatenate[K, P], T]) -> Callable[Concatenate[RegionCommands, P], T]:
    """Make a method of the region from a command: it runs in a task of its own, which ends with a syncpoint."""

    @wraps(command)
    def alone(region: RegionCommands, /, *args: P.args, **kwargs: P.kwargs) -> T:
        core = region._core
        tasks, dispatcher = core.task_manager, core.dispatcher
        if get_ident() != dispatcher.thread:
            dispatcher.check_thread()
        if tasks.unfinished:
            tasks.finish_ends()
        task, tasks.spare = tasks.spare, None
        if core.closed:
            raise RegionClosed(f"the region {core.applid} {core.why_closed}")
        if task is None:
            task = tasks.alone()
        task.number = task.eib.eibtaskn = tasks.next_number()
        try:
            value = command(task, *args, **kwargs) if kwargs else command(task, *args)  # type: ignore[arg-type, call-arg]
            if task._unit is not None:
                take_syncpoint(task)
        except Condition:
            _end(task)
            raise
        except BaseException:
            tasks.unfinished[task] = None  # if an interrupt stops us here, the next command ends the task
            give_up(task)  # frees the locks by assignments alone, which an interrupt cannot stop half-way
            tasks.finish_ends()
            raise
        if task._qzero or task._browses or core.enqueues:
            task.end(normal=True)
        else:
            tasks.spare = task
        if dispatcher.ready or dispatcher.deadlines:
            dispatcher.run_ready()
        return value

    return alone


def _end(task: Task) -> None:
    """End a command's own task after a condition. The caller handles the condition, so the work is not backed out."""
    try:
        take_syncpoint(task)
    except BaseException:
        task.end(normal=False)
        raise
    task.end(normal=True)


@wraps(Task.execute)
def _execute(task: Task, text: str, variables: Variables | None = None, *, labels: Labels | None = None) -> Received:
    try:
        return task.execute(text, variables, labels=labels)
    except TaskReturn:  # RETURN, and XCTL after its program: the task ends normally
        return {}


class RegionCommands(RegionBase):
    """The commands of a region; each is a task of its own, with its syncpoint.

    Commands that do nothing for such a task are not here: SYNCPOINT and its ROLLBACK, DEQ, and ASKTIME without ABSTIME.
    """

    __slots__ = ()

    _core: RegionCore

    writeq_td = outside(Task.writeq_td)
    """Write a record to the end of a queue."""
    readq_td = outside(Task.readq_td)
    """Read the next record of a queue and remove it."""
    deleteq_td = outside(Task.deleteq_td)
    """Remove every record of an intrapartition queue; the queue itself stays."""
    enq = outside(Task.enq)
    """Lock a resource name exclusively; wait while another task holds it."""
    assign = outside(Task.assign)
    """Get values about the task and its region."""
    suspend = outside(Task.suspend)
    """Let other ready tasks run first."""
    asktime = outside(Task.asktime)
    """Update EIBDATE and EIBTIME."""
    formattime = outside(Task.formattime)
    """Convert an ABSTIME to dates and times, rounded to the second."""
    cancel = outside(Task.cancel)
    """Cancel a START that has not expired, or make a DELAY or POST expire."""
    delay = outside(Task.delay)
    """Wait for a time on the region's clock; other tasks run meanwhile."""
    inquire_tdqueue = outside(Task.inquire_tdqueue)
    """Retrieve information about a queue."""
    inquire_tdqueue_start = outside(Task.inquire_tdqueue_start)
    """Start a browse of all present queues."""
    inquire_tdqueue_next = outside(Task.inquire_tdqueue_next)
    """Retrieve information about the next resource in a browse of queues."""
    inquire_tdqueue_end = outside(Task.inquire_tdqueue_end)
    """End the browse of queues."""
    set_tdqueue = outside(Task.set_tdqueue)
    """Change attributes and states of a queue."""
    create_tdqueue = outside(Task.create_tdqueue)
    """Define and install a queue in this region; the CSD is neither read nor changed."""
    discard_tdqueue = outside(Task.discard_tdqueue)
    """Remove an installed queue and its records; a logically recoverable one with a syncpoint."""
    extract_statistics = outside(Task.extract_statistics)
    """Return the statistics of one resource, or the global statistics of a type."""
    perform_statistics = outside(Task.perform_statistics)
    """Write the statistics of some types now (PERFORM STATISTICS RECORD)."""
    inquire_task = outside(Task.inquire_task)
    """Retrieve information about a task."""
    inquire_task_list = outside(Task.inquire_task_list)
    """List the running, suspended and dispatchable tasks, in order of their start."""
    set_task = outside(Task.set_task)
    """End a task with the abend AEXY: at once when it waits, otherwise at its next wait; RESP2 shows which."""
    inquire_transaction = outside(Task.inquire_transaction)
    """Retrieve information about a transaction."""
    inquire_transaction_start = outside(Task.inquire_transaction_start)
    """Start a browse of transactions, which is in alphabetic order."""
    inquire_transaction_next = outside(Task.inquire_transaction_next)
    """Retrieve information about the next resource in a browse of transactions."""
    inquire_transaction_end = outside(Task.inquire_transaction_end)
    """End the browse of transactions."""
    set_transaction = outside(Task.set_transaction)
    """Enable or disable a transaction; a disabled one is not attached."""
    inquire_connection = outside(Task.inquire_connection)
    """Retrieve information about a connection."""
    inquire_connection_start = outside(Task.inquire_connection_start)
    """Start a browse of all present connections."""
    inquire_connection_next = outside(Task.inquire_connection_next)
    """Retrieve information about the next resource in a browse of connections."""
    inquire_connection_end = outside(Task.inquire_connection_end)
    """End the browse of connections."""
    inquire_uow = outside(Task.inquire_uow)
    """Retrieve information about a unit of work."""
    inquire_uow_start = outside(Task.inquire_uow_start)
    """Start a browse of all present units of work."""
    inquire_uow_next = outside(Task.inquire_uow_next)
    """Retrieve information about the next resource in a browse of units of work."""
    inquire_uow_end = outside(Task.inquire_uow_end)
    """End the browse of units of work."""
    set_uow = outside(Task.set_uow)
    """Commit, back out or force a unit of work that is shunted because its coordinator was lost."""
    inquire_uowlink = outside(Task.inquire_uowlink)
    """Retrieve information about a connection that a unit of work uses."""
    inquire_uowlink_start = outside(Task.inquire_uowlink_start)
    """Start a browse of the connections that units of work use."""
    inquire_uowlink_next = outside(Task.inquire_uowlink_next)
    """Retrieve information about the next resource in a browse of links of units of work."""
    inquire_uowlink_end = outside(Task.inquire_uowlink_end)
    """End the browse of links of units of work."""
    set_uowlink = outside(Task.set_uowlink)
    """Delete a link whose connection is no longer defined, so that no outcome can be sent or received over it."""
    inquire_uowenq_start = outside(Task.inquire_uowenq_start)
    """Start a browse of the ends of logically recoverable queues and of names of ENQ, held or waited for."""
    inquire_uowenq_next = outside(Task.inquire_uowenq_next)
    """Retrieve information about the next resource in a browse of enqueues."""
    inquire_uowenq_end = outside(Task.inquire_uowenq_end)
    """End the browse of enqueues."""
    inquire_enq_start = outside(Task.inquire_enq_start)
    """Start a browse of the ends of logically recoverable queues and of names of ENQ, held or waited for."""
    inquire_enq_next = outside(Task.inquire_enq_next)
    """Retrieve information about the next resource in a browse of enqueues."""
    inquire_enq_end = outside(Task.inquire_enq_end)
    """End the browse of enqueues."""
    execute = outside(_execute)
    """Issue a command written as EXEC CICS text."""
    writeq_ts = outside(Task.writeq_ts)
    """Write an item to a queue; the first item creates the queue."""
    readq_ts = outside(Task.readq_ts)
    """Read an item of a queue; the item stays in the queue."""
    deleteq_ts = outside(Task.deleteq_ts)
    """Remove a queue with all its items."""
