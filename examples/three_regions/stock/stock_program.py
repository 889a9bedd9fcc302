"""Program STOCK: process an order. The region that takes orders links to it."""

from __future__ import annotations

from tdqsim import Condition, Region, Task
from tdqsim.facts import Resp

ARTICLES = {"NUT-M8": 100, "BOLT-M8": 60}
"""The quantity of each article before the first order."""


def register(region: Region) -> None:
    """Called when the region starts."""
    region.programs.register("STOCK", reserve)


def reserve(task: Task) -> None:
    """Take the quantity that is ordered from the stock, and record the movement.

    An abend backs out both, and everything else that the task of the other region has done for this order.
    """
    try:
        number, article, ordered = task.text(task.commarea or b"").split()
        quantity = int(ordered)
    except ValueError:
        task.abend("BADO")
    left = in_stock(task, article) - quantity
    task.writeq_ts(f"STOCK.{article}", task.encode(f"{left}"), item=1, rewrite=True)
    task.writeq_td("MOVQ", task.encode(f"{number} {article} {-quantity:+}"))
    if left < 0:
        task.abend("OUTS")


def in_stock(task: Task, article: str) -> int:
    """The quantity of an article. Its queue is created by the first order."""
    try:
        return int(task.text(task.readq_ts(f"STOCK.{article}", item=1).data))
    except Condition as condition:
        if condition.resp is not Resp.QIDERR:
            raise
    if article not in ARTICLES:
        task.abend("NOAR")
    task.writeq_ts(f"STOCK.{article}", task.encode(f"{ARTICLES[article]}"))
    return ARTICLES[article]
