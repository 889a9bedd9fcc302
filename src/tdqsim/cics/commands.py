"""The facade: every command by name, on the task and, where it needs no task of the program's, on the region.

A command is a function in the folder of what it is about, with the task as its first parameter. Hung on a class it is
that class's method, so that ``task.writeq_td("PAYQ", b"...")`` is what editors and type checkers see.
:func:`~tdqsim.cics.kernel.tasks.outside` makes the region's method of it: a task of its own, with its syncpoint. ABEND,
RETURN, HANDLE, IGNORE, PUSH and POP HANDLE, and RETRIEVE mean nothing without a task that goes on, and are on the task
alone.
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

    A handler gets one, as does a function that ``region.start`` runs. At the normal end of the block or function its
    unit of work is committed; a condition or exception that leaves it abends the task and backs out.

    Each command is a method, its options are parameters in lower case: an option that is a keyword alone is True or
    False. The first parameter of the method, ``task`` or ``issuer``, is the task itself. Names in the signatures say
    the CICS form: ``Name4`` is text of at most 4 characters, ``Halfword`` a number of 2 bytes (-32768 to 32767),
    ``Fullword`` one of 4, ``From`` bytes, ``Flag`` a keyword, ``...OrNone`` an option that may be left out.

    Attributes:
        region: where it runs.
        eib: the EXEC interface block after its last command.
    """

    __slots__ = ()

    @property
    def commarea(self) -> memoryview | None:
        """The COMMAREA of the program that runs, as storage that its caller sees; None for none."""
        return self.level.commarea if self.level is not None else None

    region: RegionData
    level: ProgramLevel | None

    writeq_td = td.writeq_td
    readq_td = td.readq_td
    deleteq_td = td.deleteq_td
    readq_td_all = td_bulk.readq_td_all
    writeq_td_all = td_bulk.writeq_td_all

    syncpoint = control.syncpoint
    syncpoint_rollback = control.syncpoint_rollback
    abend = control.abend
    return_ = conversation.return_
    enq = control.enq
    deq = control.deq
    suspend = control.suspend
    asktime = control.asktime
    asktime_eib = control.asktime_eib
    assign = control.assign
    formattime = formatted_time.formattime

    handle_condition = handling.handle_condition
    ignore_condition = handling.ignore_condition
    handle_aid = handling.handle_aid
    handle_abend = handling.handle_abend
    push_handle = handling.push_handle
    pop_handle = handling.pop_handle

    start = interval.start
    retrieve = interval.retrieve
    cancel = interval.cancel
    delay = interval.delay

    inquire_tdqueue = queues.inquire_tdqueue
    inquire_tdqueue_start = queues.inquire_tdqueue_start
    inquire_tdqueue_next = queues.inquire_tdqueue_next
    inquire_tdqueue_end = queues.inquire_tdqueue_end
    browse_tdqueue = queues.browse_tdqueue
    set_tdqueue = setting.set_tdqueue
    create_tdqueue = create.create_tdqueue
    discard_tdqueue = create.discard_tdqueue
    extract_statistics = statistics.extract_statistics
    perform_statistics = statistics.perform_statistics

    inquire_task = tasks.inquire_task
    inquire_task_list = tasks.inquire_task_list
    set_task = tasks.set_task
    inquire_transaction = transactions.inquire_transaction
    inquire_transaction_start = transactions.inquire_transaction_start
    inquire_transaction_next = transactions.inquire_transaction_next
    inquire_transaction_end = transactions.inquire_transaction_end
    set_transaction = transactions.set_transaction
    inquire_connection = connections.inquire_connection
    inquire_connection_start = connections.inquire_connection_start
    inquire_connection_next = connections.inquire_connection_next
    inquire_connection_end = connections.inquire_connection_end
    inquire_uow = units.inquire_uow
    inquire_uow_start = units.inquire_uow_start
    inquire_uow_next = units.inquire_uow_next
    inquire_uow_end = units.inquire_uow_end
    set_uow = units.set_uow
    inquire_uowlink = links.inquire_uowlink
    inquire_uowlink_start = links.inquire_uowlink_start
    inquire_uowlink_next = links.inquire_uowlink_next
    inquire_uowlink_end = links.inquire_uowlink_end
    set_uowlink = links.set_uowlink
    inquire_uowenq_start = enqueues.inquire_uowenq_start
    inquire_uowenq_next = enqueues.inquire_uowenq_next
    inquire_uowenq_end = enqueues.inquire_uowenq_end
    inquire_enq_start = enqueues.inquire_enq_start
    inquire_enq_next = enqueues.inquire_enq_next
    inquire_enq_end = enqueues.inquire_enq_end

    link = programs.link
    xctl = programs.xctl
    put_container = containers.put_container
    get_container = containers.get_container
    delete_container = containers.delete_container
    move_container = containers.move_container
    startbrowse_container = containers.startbrowse_container
    getnext_container = containers.getnext_container
    endbrowse_container = containers.endbrowse_container
    write_operator = diagnostics.write_operator
    enter_tracenum = diagnostics.enter_tracenum
    dump_transaction = diagnostics.dump_transaction
    write_journalname = diagnostics.write_journalname
    wait_journalname = diagnostics.wait_journalname
    bif_deedit = diagnostics.bif_deedit
    writeq_ts = ts.writeq_ts
    readq_ts = ts.readq_ts
    deleteq_ts = ts.deleteq_ts
    read_file = files.read_file
    write_file = files.write_file
    rewrite_file = files.rewrite_file
    delete_file = files.delete_file
    unlock = files.unlock
    startbr = files.startbr
    resetbr = files.resetbr
    readnext = files.readnext
    readprev = files.readprev
    endbr = files.endbr
    inquire_file = file_states.inquire_file
    inquire_file_start = file_states.inquire_file_start
    inquire_file_next = file_states.inquire_file_next
    inquire_file_end = file_states.inquire_file_end
    set_file = file_states.set_file
    send_map = terminal.send_map
    receive_map = terminal.receive_map
    send_text = terminal.send_text
    send_control = terminal.send_control
    send = terminal.send
    receive = terminal.receive

    execute = text.execute
