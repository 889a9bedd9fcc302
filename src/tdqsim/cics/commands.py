"""The facade: every command as a method of the task and, where it does not need a continuing task, of the region.

A command is a function in the folder of its subject, with the task as its first parameter. Assigned in a class body,
the function becomes a method, so that editors and type checkers see ``task.writeq_td("PAYQ", b"...")``.
:mod:`tdqsim.cics.region_commands` makes methods of the region from the same functions: each call runs in a task of its
own, which ends with a syncpoint. ABEND, RETURN, HANDLE, IGNORE, PUSH and POP HANDLE, and RETRIEVE have a meaning only
in a task that continues after them, so only the task has them. The string below each assignment repeats the first line
of the command's docstring, for editors that do not run the code.
"""

from __future__ import annotations

from tdqsim.cics.files import commands as files
from tdqsim.cics.kernel import control, handling, interval
from tdqsim.cics.kernel import formattime as formatted_time
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.level import ProgramLevel
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.programs import commands as programs
from tdqsim.cics.programs import containers, diagnostics
from tdqsim.cics.queues import td, td_bulk
from tdqsim.cics.spi import create, statistics
from tdqsim.cics.spi import inquire_connection as connections
from tdqsim.cics.spi import inquire_file as file_states
from tdqsim.cics.spi import inquire_task as tasks
from tdqsim.cics.spi import inquire_tdqueue as queues
from tdqsim.cics.spi import inquire_transaction as transactions
from tdqsim.cics.spi import inquire_uow as units
from tdqsim.cics.spi import inquire_uowenq as enqueues
from tdqsim.cics.spi import inquire_uowlink as links
from tdqsim.cics.spi import set as setting
from tdqsim.cics.terminal import commands as terminal
from tdqsim.cics.terminal import conversation
from tdqsim.cics.text import execute as text
from tdqsim.cics.ts import commands as ts

__all__ = ["Task"]


class Task(TaskBase):
    """One task and its EXEC CICS commands: ``with region.task() as task: task.writeq_td("PAYQ", b"...")``.

    A handler is called with a task, and so is a function that ``region.start`` runs. When the block or function ends
    normally, its unit of work is committed; a condition or exception that leaves it abends the task, and the unit of
    work is backed out.

    Each command is a method, and its options are parameters in lower case. An option without a value is True or False.
    The first parameter of the method, ``task`` or ``issuer``, is the task itself. The type names in the signatures
    give the CICS form: ``Name4`` is text of at most 4 characters, ``Halfword`` a number of 2 bytes (-32768 to 32767),
    ``Fullword`` a number of 4 bytes, ``From`` bytes, ``Flag`` an option without a value, ``...OrNone`` an option that
    may be left out.

    Attributes:
        region: the region in which the task runs.
        eib: the EXEC interface block after its last command.
    """

    __slots__ = ()

    @property
    def commarea(self) -> memoryview | None:
        """The COMMAREA of the running program, as storage shared with its caller; None if it was given none."""
        return self._level.commarea if self._level is not None else None

    _region: RegionData
    _level: ProgramLevel | None

    writeq_td = td.writeq_td
    """Write a record to the end of a queue."""
    readq_td = td.readq_td
    """Read the next record of a queue, which is then gone."""
    deleteq_td = td.deleteq_td
    """Remove every record of an intrapartition queue; the queue itself stays."""
    readq_td_all = td_bulk.readq_td_all
    """READQ TD until QZERO; a record is read when the iterator is asked for it."""
    writeq_td_all = td_bulk.writeq_td_all
    """WRITEQ TD of each record."""

    syncpoint = control.syncpoint
    """End the unit of work and commit it; the next recoverable request begins another."""
    syncpoint_rollback = control.syncpoint_rollback
    """End the unit of work and back it out: records of LOGICAL queues are as before it, others stay as they are."""
    abend = control.abend
    """End the task abnormally."""
    return_ = conversation.return_
    """Leave the program: the level ends, and at the top the task, normally and with an implicit syncpoint."""
    enq = control.enq
    """Get exclusive use of a resource name; wait while another task has it."""
    deq = control.deq
    """Give up a resource name that ENQ got; one that this task does not have is no error."""
    suspend = control.suspend
    """Let other tasks that are ready go first."""
    asktime = control.asktime
    """Bring EIBDATE and EIBTIME up to date."""
    asktime_eib = control.asktime_eib
    """Bring EIBDATE and EIBTIME up to date: ASKTIME without ABSTIME, a command of its own by its EIBFN."""
    assign = control.assign
    """What the task may know of itself."""
    formattime = formatted_time.formattime
    """Turn an ABSTIME into dates and times, rounded to the second."""

    handle_condition = handling.handle_condition
    """Name what is called when a condition comes up: ``handle_condition(QZERO=at_end, ERROR=failed)``."""
    ignore_condition = handling.ignore_condition
    """Go on after these conditions as if nothing were."""
    handle_aid = handling.handle_aid
    """Name what is called when an input command has got a key: ``handle_aid(PF3=leave, ANYKEY=other)``."""
    handle_abend = handling.handle_abend
    """Name what is called when the task abends."""
    push_handle = handling.push_handle
    """Suspend all HANDLE and IGNORE commands until POP HANDLE."""
    pop_handle = handling.pop_handle
    """Restore what the last PUSH HANDLE suspended."""

    start = interval.start
    """Have a transaction started, now or after an interval."""
    retrieve = interval.retrieve
    """The data of a START; each is given once."""
    cancel = interval.cancel
    """Take back a START whose interval is not over, or end a DELAY or POST as if it were over."""
    delay = interval.delay
    """Wait for a time on the region's clock; other tasks run meanwhile."""

    inquire_tdqueue = queues.inquire_tdqueue
    """Retrieve information about a queue."""
    inquire_tdqueue_start = queues.inquire_tdqueue_start
    """Start a browse of queues: all that there are now."""
    inquire_tdqueue_next = queues.inquire_tdqueue_next
    """Retrieve information about the next one of the browse of queues."""
    inquire_tdqueue_end = queues.inquire_tdqueue_end
    """End the browse of queues."""
    browse_tdqueue = queues.browse_tdqueue
    """Iterate over all queues, as a browse does, without occupying the browse of START, NEXT and END."""
    set_tdqueue = setting.set_tdqueue
    """Change attributes and states of a queue."""
    create_tdqueue = create.create_tdqueue
    """Define and install a queue in this region; the CSD is neither read nor changed."""
    discard_tdqueue = create.discard_tdqueue
    """Remove an installed queue and its records; a logically recoverable one with a syncpoint."""
    extract_statistics = statistics.extract_statistics
    """The statistics of one queue, or of transient data as a whole."""
    perform_statistics = statistics.perform_statistics
    """Write the statistics of all queues now (PERFORM STATISTICS RECORD TDQUEUE)."""

    inquire_task = tasks.inquire_task
    """Retrieve information about a task."""
    inquire_task_list = tasks.inquire_task_list
    """List the tasks, those that run, wait or could run, in order of their start."""
    set_task = tasks.set_task
    """End a task with the abend AEXY: at once when it waits, otherwise at its next wait, and RESP2 says so."""
    inquire_transaction = transactions.inquire_transaction
    """Retrieve information about a transaction."""
    inquire_transaction_start = transactions.inquire_transaction_start
    """Start a browse of transactions, which is in alphabetic order."""
    inquire_transaction_next = transactions.inquire_transaction_next
    """Retrieve information about the next one of the browse of transactions."""
    inquire_transaction_end = transactions.inquire_transaction_end
    """End the browse of transactions."""
    set_transaction = transactions.set_transaction
    """Enable or disable a transaction; a disabled one is not attached."""
    inquire_connection = connections.inquire_connection
    """Retrieve information about a connection."""
    inquire_connection_start = connections.inquire_connection_start
    """Start a browse of connections: all that there are now."""
    inquire_connection_next = connections.inquire_connection_next
    """Retrieve information about the next one of the browse of connections."""
    inquire_connection_end = connections.inquire_connection_end
    """End the browse of connections."""
    inquire_uow = units.inquire_uow
    """Retrieve information about a unit of work."""
    inquire_uow_start = units.inquire_uow_start
    """Start a browse of units of work: all that there are now."""
    inquire_uow_next = units.inquire_uow_next
    """Retrieve information about the next one of the browse of units of work."""
    inquire_uow_end = units.inquire_uow_end
    """End the browse of units of work."""
    set_uow = units.set_uow
    """Decide about a unit of work that is shunted because it lost its coordinator."""
    inquire_uowlink = links.inquire_uowlink
    """Retrieve information about a connection that a unit of work uses."""
    inquire_uowlink_start = links.inquire_uowlink_start
    """Start a browse of the connections that units of work use."""
    inquire_uowlink_next = links.inquire_uowlink_next
    """Retrieve information about the next one of the browse of links of units of work."""
    inquire_uowlink_end = links.inquire_uowlink_end
    """End the browse of links of units of work."""
    set_uowlink = links.set_uowlink
    """Delete a link whose connection is no longer defined: nobody will ever ask or hear over it."""
    inquire_uowenq_start = enqueues.inquire_uowenq_start
    """Start a browse of the ends of logically recoverable queues and of names of ENQ, held or waited for."""
    inquire_uowenq_next = enqueues.inquire_uowenq_next
    """Retrieve information about the next one of the browse of enqueues."""
    inquire_uowenq_end = enqueues.inquire_uowenq_end
    """End the browse of enqueues."""
    inquire_enq_start = enqueues.inquire_enq_start
    """Start a browse of the ends of logically recoverable queues and of names of ENQ, held or waited for."""
    inquire_enq_next = enqueues.inquire_enq_next
    """Retrieve information about the next one of the browse of enqueues."""
    inquire_enq_end = enqueues.inquire_enq_end
    """End the browse of enqueues."""

    link = programs.link
    """Run another program on a level below, here or in another region; then go on."""
    xctl = programs.xctl
    """Give the level to another program; this one does not go on."""
    put_container = containers.put_container
    """Put data into a container, which is made when it is not there, as is its channel."""
    get_container = containers.get_container
    """Get the data of a container, which stays there."""
    delete_container = containers.delete_container
    """Delete a container."""
    move_container = containers.move_container
    """Give a container another name, or another channel, replacing one that has that name."""
    startbrowse_container = containers.startbrowse_container
    """Begin to go over the containers of a channel, those that are there now."""
    getnext_container = containers.getnext_container
    """The next container of a browse."""
    endbrowse_container = containers.endbrowse_container
    """End a browse."""
    write_operator = diagnostics.write_operator
    """Write a text to the operator, who may answer."""
    enter_tracenum = diagnostics.enter_tracenum
    """Make an entry in the trace."""
    dump_transaction = diagnostics.dump_transaction
    """Have a dump."""
    write_journalname = diagnostics.write_journalname
    """Write a record to a journal."""
    wait_journalname = diagnostics.wait_journalname
    """Wait until a record is in its journal, which it is."""
    bif_deedit = diagnostics.bif_deedit
    """Take all but digits out of a field, and put them to its right end behind zeros."""
    writeq_ts = ts.writeq_ts
    """Write an item to a queue, which is made by its first item."""
    readq_ts = ts.readq_ts
    """Read an item of a queue, which stays there."""
    deleteq_ts = ts.deleteq_ts
    """Remove a queue with all its items."""
    read_file = files.read_file
    """Read a record of a file."""
    write_file = files.write_file
    """Add a record to a file."""
    rewrite_file = files.rewrite_file
    """Put other data in the place of the record that was read for update."""
    delete_file = files.delete_file
    """Delete the record that was read for update, or those with a key."""
    unlock = files.unlock
    """Let go of the record that was read for update."""
    startbr = files.startbr
    """Begin a browse; nothing is read yet."""
    resetbr = files.resetbr
    """Put a browse somewhere else."""
    readnext = files.readnext
    """Read the next record of a browse; a changed RIDFLD moves it there first."""
    readprev = files.readprev
    """Read the record before; right after STARTBR it must be the very one that was named."""
    endbr = files.endbr
    """End a browse."""
    inquire_file = file_states.inquire_file
    """Retrieve information about a file."""
    inquire_file_start = file_states.inquire_file_start
    """Start a browse of files: all that there are now."""
    inquire_file_next = file_states.inquire_file_next
    """Retrieve information about the next one of the browse of files."""
    inquire_file_end = file_states.inquire_file_end
    """End the browse of files."""
    set_file = file_states.set_file
    """Open, close, enable or disable a file."""
    send_map = terminal.send_map
    """Send a map with the program's data."""
    receive_map = terminal.receive_map
    """Receive what was typed into a map."""
    send_text = terminal.send_text
    """Send text."""
    send_control = terminal.send_control
    """Send control functions without data."""
    send = terminal.send
    """Send data as it is."""
    receive = terminal.receive
    """Receive what was typed."""

    execute = text.execute
    """Issue a command written as EXEC CICS text."""
