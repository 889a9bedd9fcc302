"""The facade: every command as a method of the task and, where it does not need a continuing task, of the region.

A command is a function in the folder of its subject, with the task as its first parameter. Assigned in a class body,
the function becomes a method, so that editors and type checkers see ``task.writeq_td("PAYQ", b"...")``.
:mod:`tdqsim.cics.region` makes methods of the region from the same functions: each call runs in a task of its own,
which ends with a syncpoint. ABEND, RETURN, HANDLE, IGNORE, PUSH and POP HANDLE, and RETRIEVE have a meaning only in a
task that continues after them, so only the task has them. The string below each assignment repeats the first line
of the command's docstring, for editors that do not run the code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.cics.files import commands as files
from tdqsim.cics.kernel import control, handling, interval
from tdqsim.cics.kernel import formattime as formatted_time
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.level import ProgramLevel
from tdqsim.cics.programs import commands as programs
from tdqsim.cics.programs import containers, diagnostics, loading
from tdqsim.cics.queues import td, td_bulk
from tdqsim.cics.security import query
from tdqsim.cics.security import signon as passwords
from tdqsim.cics.spi import create
from tdqsim.cics.spi import inquire_connection as connections
from tdqsim.cics.spi import inquire_dispatcher as dispatcher
from tdqsim.cics.spi import inquire_file as file_states
from tdqsim.cics.spi import inquire_reqid as requests
from tdqsim.cics.spi import inquire_system as system
from tdqsim.cics.spi import inquire_task as tasks
from tdqsim.cics.spi import inquire_tdqueue as queues
from tdqsim.cics.spi import inquire_tranclass as classes
from tdqsim.cics.spi import inquire_trandumpcode as dump_codes
from tdqsim.cics.spi import inquire_transaction as transactions
from tdqsim.cics.spi import inquire_uow as units
from tdqsim.cics.spi import inquire_uowenq as enqueues
from tdqsim.cics.spi import inquire_uowlink as links
from tdqsim.cics.spi import set as setting
from tdqsim.cics.spi import statistics_commands as statistics
from tdqsim.cics.terminal import commands as terminal
from tdqsim.cics.terminal import conversation
from tdqsim.cics.text import execute as text
from tdqsim.cics.ts import commands as ts

if TYPE_CHECKING:
    from tdqsim.cics.region import Region
    from tdqsim.cics.region_core import RegionCore


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
        eib: the EXEC interface block after its last command.
    """

    __slots__ = ()

    @property
    def region(self) -> Region:
        """The region in which the task runs."""
        return self._region.facade

    @property
    def commarea(self) -> memoryview | None:
        """The COMMAREA of the running program, as storage shared with its caller; None if it was given none."""
        return self._level.commarea if self._level is not None else None

    _region: RegionCore
    _level: ProgramLevel | None

    writeq_td = td.writeq_td
    """Write a record to the end of a queue."""
    readq_td = td.readq_td
    """Read the next record of a queue and remove it."""
    deleteq_td = td.deleteq_td
    """Remove every record of an intrapartition queue; the queue itself stays."""
    readq_td_all = td_bulk.readq_td_all
    """READQ TD until QZERO; a record is read when the iterator is advanced."""
    writeq_td_all = td_bulk.writeq_td_all
    """WRITEQ TD of each record."""

    syncpoint = control.syncpoint
    """End the unit of work and commit it; the next recoverable request begins another."""
    syncpoint_rollback = control.syncpoint_rollback
    """End the unit of work and back it out: records of LOGICAL queues are as before it, others stay as they are."""
    abend = control.abend
    """End the task abnormally."""
    return_ = conversation.return_
    """Leave the program: its level ends; at the highest level the task ends normally, with an implicit syncpoint."""
    enq = control.enq
    """Lock a resource name exclusively; wait while another task holds it."""
    deq = control.deq
    """Release a resource name that ENQ has locked; a name that this task does not hold is not an error."""
    suspend = control.suspend
    """Let other ready tasks run first."""
    asktime = control.asktime
    """Update EIBDATE and EIBTIME."""
    asktime_eib = control.asktime_eib
    """Update EIBDATE and EIBTIME: ASKTIME without ABSTIME, which has a different EIBFN."""
    assign = control.assign
    """Get values about the task and its region."""
    formattime = formatted_time.formattime
    """Convert an ABSTIME to dates and times, rounded to the second."""

    handle_condition = handling.handle_condition
    """Set the functions called for conditions: ``handle_condition(QZERO=at_end, ERROR=failed)``."""
    ignore_condition = handling.ignore_condition
    """Ignore these conditions: the program continues after the command."""
    handle_aid = handling.handle_aid
    """Set the functions called when an input command receives a key: ``handle_aid(PF3=leave, ANYKEY=other)``."""
    handle_abend = handling.handle_abend
    """Set the function or program that is called when the task abends."""
    push_handle = handling.push_handle
    """Suspend all HANDLE and IGNORE commands until POP HANDLE."""
    pop_handle = handling.pop_handle
    """Restore the HANDLE and IGNORE commands that the last PUSH HANDLE suspended."""

    start = interval.start
    """Start a transaction, now or after an interval."""
    retrieve = interval.retrieve
    """Get the data of a START; each record is returned once."""
    cancel = interval.cancel
    """Cancel a START that has not expired, or make a DELAY or POST expire."""
    delay = interval.delay
    """Wait for a time on the region's clock; other tasks run meanwhile."""

    inquire_tdqueue = queues.inquire_tdqueue
    """Retrieve information about a queue."""
    inquire_tdqueue_start = queues.inquire_tdqueue_start
    """Start a browse of all present queues."""
    inquire_tdqueue_next = queues.inquire_tdqueue_next
    """Retrieve information about the next resource in a browse of queues."""
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
    """Return the statistics of one resource, or the global statistics of a type."""
    collect_statistics = statistics.collect_statistics
    """Return the statistics of one resource, or the global statistics of a type: EXTRACT STATISTICS in older words."""
    perform_statistics = statistics.perform_statistics
    """Write the statistics of some types now (PERFORM STATISTICS RECORD)."""
    inquire_statistics = statistics.inquire_statistics
    """Retrieve when statistics are written."""
    set_statistics = statistics.set_statistics
    """Change when statistics are written."""

    inquire_dispatcher = dispatcher.inquire_dispatcher
    """Retrieve information about the dispatcher."""
    set_dispatcher = dispatcher.set_dispatcher
    """Change how fast the priority of a ready task rises."""
    query_security = query.query_security
    """Ask which access a user has to a resource."""
    verify_password = passwords.verify_password
    """Check that a password is that of a user."""
    verify_phrase = passwords.verify_phrase
    """Check that a password phrase is that of a user; one of up to 8 characters is checked as a password."""
    signon = passwords.signon
    """Sign a user on at the terminal of the task."""
    signoff = passwords.signoff
    """Sign off the user of the task's terminal; further tasks there have the default user."""

    inquire_system = system.inquire_system
    """Retrieve information about the region."""
    set_system = system.set_system
    """Change the maximum number of tasks of the region."""
    inquire_task = tasks.inquire_task
    """Retrieve information about a task."""
    inquire_task_list = tasks.inquire_task_list
    """List the running, suspended and dispatchable tasks, in order of their start."""
    set_task = tasks.set_task
    """End a task with the abend AEXY: at once when it waits, otherwise at its next wait; RESP2 shows which."""
    inquire_tranclass = classes.inquire_tranclass
    """Retrieve information about a transaction class."""
    inquire_tranclass_start = classes.inquire_tranclass_start
    """Start a browse of all present transaction classes."""
    inquire_tranclass_next = classes.inquire_tranclass_next
    """Retrieve information about the next resource in a browse of transaction classes."""
    inquire_tranclass_end = classes.inquire_tranclass_end
    """End the browse of transaction classes."""
    set_tranclass = classes.set_tranclass
    """Change the limits of a transaction class."""
    inquire_trandumpcode = dump_codes.inquire_trandumpcode
    """Retrieve information about a transaction dump code."""
    inquire_trandumpcode_start = dump_codes.inquire_trandumpcode_start
    """Start a browse of all present transaction dump codes."""
    inquire_trandumpcode_next = dump_codes.inquire_trandumpcode_next
    """Retrieve information about the next resource in a browse of transaction dump codes."""
    inquire_trandumpcode_end = dump_codes.inquire_trandumpcode_end
    """End the browse of transaction dump codes."""
    set_trandumpcode = dump_codes.set_trandumpcode
    """Change, add or remove an entry of the transaction dump table."""
    inquire_transaction = transactions.inquire_transaction
    """Retrieve information about a transaction."""
    inquire_transaction_start = transactions.inquire_transaction_start
    """Start a browse of transactions, which is in alphabetic order."""
    inquire_transaction_next = transactions.inquire_transaction_next
    """Retrieve information about the next resource in a browse of transactions."""
    inquire_transaction_end = transactions.inquire_transaction_end
    """End the browse of transactions."""
    set_transaction = transactions.set_transaction
    """Enable or disable a transaction; a disabled one is not attached."""
    discard_transaction = transactions.discard_transaction
    """Remove the definition of a transaction; its tasks go on."""
    inquire_connection = connections.inquire_connection
    """Retrieve information about a connection."""
    inquire_connection_start = connections.inquire_connection_start
    """Start a browse of all present connections."""
    inquire_connection_next = connections.inquire_connection_next
    """Retrieve information about the next resource in a browse of connections."""
    inquire_connection_end = connections.inquire_connection_end
    """End the browse of connections."""
    inquire_reqid = requests.inquire_reqid
    """Retrieve information about a START, DELAY or POST that waits for its time."""
    inquire_reqid_start = requests.inquire_reqid_start
    """Start a browse of all present requests."""
    inquire_reqid_next = requests.inquire_reqid_next
    """Retrieve information about the next resource in a browse of requests."""
    inquire_reqid_end = requests.inquire_reqid_end
    """End the browse of requests."""
    inquire_uow = units.inquire_uow
    """Retrieve information about a unit of work."""
    inquire_uow_start = units.inquire_uow_start
    """Start a browse of all present units of work."""
    inquire_uow_next = units.inquire_uow_next
    """Retrieve information about the next resource in a browse of units of work."""
    inquire_uow_end = units.inquire_uow_end
    """End the browse of units of work."""
    set_uow = units.set_uow
    """Commit, back out or force a unit of work that is shunted because its coordinator was lost."""
    inquire_uowlink = links.inquire_uowlink
    """Retrieve information about a connection that a unit of work uses."""
    inquire_uowlink_start = links.inquire_uowlink_start
    """Start a browse of the connections that units of work use."""
    inquire_uowlink_next = links.inquire_uowlink_next
    """Retrieve information about the next resource in a browse of links of units of work."""
    inquire_uowlink_end = links.inquire_uowlink_end
    """End the browse of links of units of work."""
    set_uowlink = links.set_uowlink
    """Delete a link whose connection is no longer defined, so that no outcome can be sent or received over it."""
    inquire_uowenq_start = enqueues.inquire_uowenq_start
    """Start a browse of the ends of logically recoverable queues and of names of ENQ, held or waited for."""
    inquire_uowenq_next = enqueues.inquire_uowenq_next
    """Retrieve information about the next resource in a browse of enqueues."""
    inquire_uowenq_end = enqueues.inquire_uowenq_end
    """End the browse of enqueues."""
    inquire_enq_start = enqueues.inquire_enq_start
    """Start a browse of the ends of logically recoverable queues and of names of ENQ, held or waited for."""
    inquire_enq_next = enqueues.inquire_enq_next
    """Retrieve information about the next resource in a browse of enqueues."""
    inquire_enq_end = enqueues.inquire_enq_end
    """End the browse of enqueues."""

    link = programs.link
    """Run another program at a lower level, in this region or another one; then continue."""
    xctl = programs.xctl
    """Transfer control to another program at the same level; this program ends."""
    load = loading.load
    """Load a table that ``region.programs.define_table`` has defined."""
    release = loading.release
    """Take back one LOAD of a table by this task, or one with HOLD by any task; the last one ends its use."""
    put_container = containers.put_container
    """Put data into a container; the container and its channel are created if they do not exist."""
    get_container = containers.get_container
    """Get the data of a container; the container stays."""
    delete_container = containers.delete_container
    """Delete a container."""
    move_container = containers.move_container
    """Rename a container or move it to another channel, replacing a container of the same name."""
    startbrowse_container = containers.startbrowse_container
    """Start a browse of the present containers of a channel."""
    getnext_container = containers.getnext_container
    """Get the next container of a browse."""
    endbrowse_container = containers.endbrowse_container
    """End a browse."""
    write_operator = diagnostics.write_operator
    """Write a text to the operator, who may answer."""
    enter_tracenum = diagnostics.enter_tracenum
    """Make an entry in the trace."""
    dump_transaction = diagnostics.dump_transaction
    """Take a transaction dump."""
    write_journalname = diagnostics.write_journalname
    """Write a record to a journal."""
    wait_journalname = diagnostics.wait_journalname
    """Wait until a journal record is written; it always is at once."""
    bif_deedit = diagnostics.bif_deedit
    """Remove everything but digits from a field, and right-justify them with leading zeros."""
    writeq_ts = ts.writeq_ts
    """Write an item to a queue; the first item creates the queue."""
    readq_ts = ts.readq_ts
    """Read an item of a queue; the item stays in the queue."""
    deleteq_ts = ts.deleteq_ts
    """Remove a queue with all its items."""
    read_file = files.read_file
    """Read a record of a file."""
    write_file = files.write_file
    """Add a record to a file."""
    rewrite_file = files.rewrite_file
    """Replace the record that was read for update."""
    delete_file = files.delete_file
    """Delete the record that was read for update, or those with a key."""
    unlock = files.unlock
    """Release the record that was read for update."""
    startbr = files.startbr
    """Begin a browse; nothing is read yet."""
    resetbr = files.resetbr
    """Move a browse to another position."""
    readnext = files.readnext
    """Read the next record of a browse; a changed RIDFLD moves it there first."""
    readprev = files.readprev
    """Read the previous record of a browse; right after STARTBR the named record must exist."""
    endbr = files.endbr
    """End a browse."""
    inquire_file = file_states.inquire_file
    """Retrieve information about a file."""
    inquire_file_start = file_states.inquire_file_start
    """Start a browse of all present files."""
    inquire_file_next = file_states.inquire_file_next
    """Retrieve information about the next resource in a browse of files."""
    inquire_file_end = file_states.inquire_file_end
    """End the browse of files."""
    set_file = file_states.set_file
    """Open, close, enable or disable a file."""
    send_map = terminal.send_map
    """Send a map with the program's data."""
    receive_map = terminal.receive_map
    """Receive a map: what the terminal user typed into its fields."""
    send_text = terminal.send_text
    """Send text."""
    send_control = terminal.send_control
    """Send control functions without data."""
    send = terminal.send
    """Send data without formatting."""
    receive = terminal.receive
    """Receive what the terminal user typed."""

    execute = text.execute
    """Issue a command written as EXEC CICS text."""
