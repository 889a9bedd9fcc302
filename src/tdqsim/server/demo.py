"""The demonstration of ``tdq serve --demo``: two applications that never stand still, and sometimes fail.

In CARDREGN, PRDR routes 25 card transactions a second; when the input has been posted, NITE opens the data sets again
and the next night begins. In ORDREGN, CUST writes an order every second; each is one unit of work over three regions.
ROUT takes the results away, so that no queue grows for ever. From time to time TRBL causes trouble, in turn: a card
transaction whose amount is not a number, an order list that is held for long, and a queue that is disabled.

Each transaction does one step and starts itself again with START, as a periodic task does in CICS. So the end of the
server waits at most for a trouble that lasts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from tdqsim.cics import Condition, Region, Task
from tdqsim.definitions import define_transaction
from tdqsim.facts import Cvda, Resp
from tdqsim.server.host import Host

_Handler: TypeAlias = Callable[[Task], None]
_RATE: Final = b"25"
_POSTING: Final = ("PST1", "PST2", "PST3", "PST4")
_DATA_SETS: Final = ("DALY", "XREF", "ACCT", "PSTD", "REJS", "ACCO")
_ARTICLES: Final = ("NUT-M8", "BOLT-M8")
_UNKNOWN: Final = "WASHER"
_REFUSED: Final = 25
"""One order in this many is for an article that does not exist, and is refused."""
_TROUBLE: Final = 45
"""The seconds between two troubles."""
_HELD: Final = 12
_DISABLED: Final = 4


def directories(examples: Path) -> list[Path]:
    """The region directories of the demonstration, in the folder of the examples."""
    orders = examples / "three_regions"
    return [examples / "card_posting", orders, orders / "queues", orders / "stock"]


def begin(host: Host) -> None:
    """Start the transactions of the demonstration, instead of those that the files of the regions name."""
    cards, orders, queues, stock = (host.region(name) for name in ("CARDREGN", "ORDREGN", "QUEREGN", "STKREGN"))
    transactions: list[tuple[Region, dict[str, _Handler]]] = [
        (cards, {"NITE": _night, "TRBL": partial(_trouble, [_bad_card])}),
        (orders, {"CUST": _Customers().order, "ROUT": partial(_route_out, ("ORDL", "ORDX")),
                  "TRBL": partial(_trouble, [_hold, _disable])}),
        (queues, {"ROUT": partial(_route_out, ("SHPQ",))}),
        (stock, {"ROUT": partial(_route_out, ("MOVQ",)), "DELV": _deliver}),
    ]  # fmt: skip
    for region, handlers in transactions:
        host.engine.outside(partial(_start, region, handlers)).result()


def _start(region: Region, transactions: dict[str, _Handler]) -> None:
    region.install([define_transaction(name=name, group="DEMO") for name in transactions])
    for name, handler in transactions.items():
        region.register(name, handler)
        region.start(name)


# -- cards ------------------------------------------------------------------------------------------------------------


def _night(task: Task) -> None:
    """NITE: begin the first night, and the next one when the input has been read, which sets trigger levels to 1."""
    if task.assign("STARTCODE").rstrip() != "SD":
        task.start("PRDR", from_=_RATE)
    elif task.inquire_tdqueue("PST1").triggerlevel == 1:
        for name in _DATA_SETS:
            task.set_tdqueue(name, openstatus=Cvda.CLOSED)
            task.set_tdqueue(name, openstatus=Cvda.OPEN)
        for name in _POSTING:
            task.set_tdqueue(name, triggerlevel=50)
        task.start("PRDR", from_=_RATE)
    task.start("NITE", from_=b"NEXT", interval=15)


def _bad_card(task: Task) -> None:
    """Write a card transaction whose amount is not a number: PPST abends when it posts it."""
    task.writeq_td("PST2", b"\xf0" * 11 + b"\x40" * 350)


# -- orders -----------------------------------------------------------------------------------------------------------


class _Customers:
    """Orders with consecutive numbers."""

    def __init__(self) -> None:
        self._number = 0

    def order(self, task: Task) -> None:
        """CUST: write an order."""
        self._number += 1
        article = _ARTICLES[self._number % len(_ARTICLES)] if self._number % _REFUSED else _UNKNOWN
        task.writeq_td("ORDI", task.encode(f"{self._number:06d} {article} {self._number % 5 + 1}"))
        task.start("CUST", interval=1)


def _deliver(task: Task) -> None:
    """DELV: fill up the stock of each article that has been ordered."""
    for article in ("NUT-M8", "BOLT-M8"):
        try:
            task.readq_ts(f"STOCK.{article}", item=1)
        except Condition as condition:
            if condition.resp is not Resp.QIDERR:
                raise
        else:
            task.writeq_ts(f"STOCK.{article}", task.encode("60"), item=1, rewrite=True)
    task.start("DELV", interval=30)


def _route_out(names: tuple[str, ...], task: Task) -> None:
    """ROUT: take the records off queues."""
    for name in names:
        try:
            while True:
                task.readq_td(name)
        except Condition as condition:
            if condition.resp not in (Resp.QZERO, Resp.DISABLED):
                raise
    task.start("ROUT", interval=12)


def _hold(task: Task) -> None:
    """Keep the end of ORDL for long: the task that takes orders waits for it."""
    task.writeq_td("ORDL", task.encode("CHECKED"))
    task.delay(seconds=_HELD)


def _disable(task: Task) -> None:
    """Disable ORDX for a while: an order that is refused then ends ORDR with an abend."""
    task.set_tdqueue("ORDX", enablestatus=Cvda.DISABLED)
    task.writeq_td("ORDI", task.encode(f"999999 {_UNKNOWN} 1"))
    task.delay(seconds=_DISABLED)
    task.set_tdqueue("ORDX", enablestatus=Cvda.ENABLED)
    task.start("ORDR")


def _trouble(causes: list[_Handler], task: Task) -> None:
    """TRBL: cause the next trouble; the first comes after a while."""
    if task.assign("STARTCODE").rstrip() == "SD":
        number = int(task.retrieve())
        task.start("TRBL", from_=b"%d" % (number + 1), interval=_TROUBLE)
        causes[number % len(causes)](task)
    else:
        task.start("TRBL", from_=b"0", interval=10)
