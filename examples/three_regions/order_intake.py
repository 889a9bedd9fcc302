"""Transaction ORDR: take orders. Each order is one unit of work over three regions."""

from __future__ import annotations

from tdqsim import Abend, Condition, Task
from tdqsim.facts import Resp

REASONS = {"NOAR": "NO SUCH ARTICLE", "OUTS": "OUT OF STOCK", "BADO": "NOT AN ORDER"}
"""The abends by which program STOCK refuses an order."""


def take_orders(task: Task) -> None:
    """Take the orders on ORDI until there are none."""
    task.enq("ORDR", task=True)  # one task at a time, so that an order that is put back is read again next
    try:
        while take_order(task):
            pass
    except Condition as condition:
        if condition.resp not in (Resp.SYSIDERR, Resp.TERMERR, Resp.ROLLEDBACK):
            raise
        task.syncpoint_rollback()  # another region failed or cannot be reached; the order is on ORDI again
        task.start("ORDR", interval=1)


def take_order(task: Task) -> bool:
    """Take the next order; return False if there is none."""
    try:
        order = task.readq_td("ORDI")
    except Condition as condition:
        if condition.resp is Resp.QZERO:
            return False
        raise
    task.writeq_td("ORDL", order)  # in this region
    task.writeq_td("SHPQ", order)  # in QUEREGN
    try:
        task.link("STOCK", bytearray(order))  # in STKREGN
    except Abend as abend:
        if abend.code not in REASONS:
            raise
        refuse_order(task, REASONS[abend.code])
    task.syncpoint()  # all three regions, or none
    return True


def refuse_order(task: Task, reason: str) -> None:
    """Undo what was done for an order in all regions, and put it on ORDX with the reason."""
    task.syncpoint_rollback()
    task.writeq_td("ORDX", task.readq_td("ORDI") + task.encode(f": {reason}"))
