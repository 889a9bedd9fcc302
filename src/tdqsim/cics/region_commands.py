"""The commands that need no task of the program's, each as a method that is a task of its own."""

from __future__ import annotations

from tdqsim.cics.commands import Task
from tdqsim.cics.kernel.tasks import Tasks, outside
from tdqsim.cics.model.region import RegionData

__all__ = ["RegionCommands"]


class RegionCommands(RegionData):
    """The commands of a region; each is a task of its own, with its syncpoint.

    Attributes:
        task_manager: what does one command as a task of its own.
    """

    task_manager: Tasks[Task]

    writeq_td = outside(Task.writeq_td)
    readq_td = outside(Task.readq_td)
    deleteq_td = outside(Task.deleteq_td)
    syncpoint = outside(Task.syncpoint)
    syncpoint_rollback = outside(Task.syncpoint_rollback)
    enq = outside(Task.enq)
    deq = outside(Task.deq)
    assign = outside(Task.assign)
    suspend = outside(Task.suspend)
    asktime = outside(Task.asktime)
    asktime_eib = outside(Task.asktime_eib)
    formattime = outside(Task.formattime)
    cancel = outside(Task.cancel)
    delay = outside(Task.delay)
    inquire_tdqueue = outside(Task.inquire_tdqueue)
    inquire_tdqueue_start = outside(Task.inquire_tdqueue_start)
    inquire_tdqueue_next = outside(Task.inquire_tdqueue_next)
    inquire_tdqueue_end = outside(Task.inquire_tdqueue_end)
    set_tdqueue = outside(Task.set_tdqueue)
    create_tdqueue = outside(Task.create_tdqueue)
    discard_tdqueue = outside(Task.discard_tdqueue)
    extract_statistics = outside(Task.extract_statistics)
    perform_statistics = outside(Task.perform_statistics)
    inquire_task = outside(Task.inquire_task)
    inquire_task_list = outside(Task.inquire_task_list)
    set_task = outside(Task.set_task)
    inquire_transaction = outside(Task.inquire_transaction)
    inquire_transaction_start = outside(Task.inquire_transaction_start)
    inquire_transaction_next = outside(Task.inquire_transaction_next)
    inquire_transaction_end = outside(Task.inquire_transaction_end)
    set_transaction = outside(Task.set_transaction)
    inquire_connection = outside(Task.inquire_connection)
    inquire_connection_start = outside(Task.inquire_connection_start)
    inquire_connection_next = outside(Task.inquire_connection_next)
    inquire_connection_end = outside(Task.inquire_connection_end)
    inquire_uow = outside(Task.inquire_uow)
    inquire_uow_start = outside(Task.inquire_uow_start)
    inquire_uow_next = outside(Task.inquire_uow_next)
    inquire_uow_end = outside(Task.inquire_uow_end)
    set_uow = outside(Task.set_uow)
    inquire_uowlink = outside(Task.inquire_uowlink)
    inquire_uowlink_start = outside(Task.inquire_uowlink_start)
    inquire_uowlink_next = outside(Task.inquire_uowlink_next)
    inquire_uowlink_end = outside(Task.inquire_uowlink_end)
    set_uowlink = outside(Task.set_uowlink)
    inquire_uowenq_start = outside(Task.inquire_uowenq_start)
    inquire_uowenq_next = outside(Task.inquire_uowenq_next)
    inquire_uowenq_end = outside(Task.inquire_uowenq_end)
    inquire_enq_start = outside(Task.inquire_enq_start)
    inquire_enq_next = outside(Task.inquire_enq_next)
    inquire_enq_end = outside(Task.inquire_enq_end)
    execute = outside(Task.execute)
    writeq_ts = outside(Task.writeq_ts)
    readq_ts = outside(Task.readq_ts)
    deleteq_ts = outside(Task.deleteq_ts)
