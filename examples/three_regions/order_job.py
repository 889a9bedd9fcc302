"""The job of ``tdq run``: start the other two regions in the same process, bring the orders, compare the results."""

from __future__ import annotations

import sys
from pathlib import Path

from order_intake import REASONS

from tdqsim import Region, Sysplex
from tdqsim.job import Check, JobRequest, JobResult, importable


class Orders:
    """See :class:`tdqsim.job.JobClass`."""

    def __init__(self, request: JobRequest) -> None:
        self.directory = request.directory
        self.orders = (self.directory / "orders.txt").read_text("ascii").splitlines()
        self.taken: list[str] = []
        self.refused: list[str] = []
        self.before = {"ORDL": 0, "ORDX": 0}  # records of earlier runs with the same store

    def prepare(self) -> dict[str, Path]:
        """There are no data sets."""
        return {}

    def begin(self, region: Region) -> None:
        """Start the other regions, which are linked by their connections, and write the orders to ORDI."""
        self.sysplex = Sysplex(dispatcher=region.dispatcher)
        self.sysplex.add(region)
        self.queues, self.stock = (self.start(name) for name in ("queues", "stock"))
        self.stock.notices.subscribe(show)
        self.before = {queue: len(region.peek(queue)) for queue in self.before}
        for order in self.orders:
            region.writeq_td("ORDI", region.encode(order))

    def start(self, name: str) -> Region:
        """Start the region of a directory in the sysplex."""
        directory = self.directory / name
        with importable(directory):
            return self.sysplex.add(Region.from_directory(directory, dispatcher=self.sysplex.dispatcher))

    def progress(self, region: Region) -> tuple[int, int]:
        """The number of orders taken or refused, and of all."""
        self.taken, self.refused = (texts(region, queue)[skip:] for queue, skip in self.before.items())
        return len(self.taken) + len(self.refused), len(self.orders)

    def finish(self, region: Region) -> JobResult:
        """Compare the queues of the three regions."""
        shipped, moved = texts(self.queues, "SHPQ"), texts(self.stock, "MOVQ")
        self.sysplex.close()
        ended = len(self.taken) + len(self.refused)
        checks = (
            Check("every order is taken or refused", ended == len(self.orders), f"{ended} of {len(self.orders)}"),
            Check("SHPQ of QUEREGN has the orders taken", shipped == self.taken, f"{len(shipped)} orders"),
            Check("MOVQ of STKREGN has them too", numbers(moved) == numbers(self.taken), f"{len(moved)} records"),
        )
        return JobResult({"orders": len(self.orders), "taken": self.taken, "refused": self.refused}, checks)


def show(notice: object) -> None:
    """Show a notice of the region with the stock, but not that of an abend by which it refuses an order."""
    if not any(f"abend {code}." in str(notice) for code in REASONS):
        print(notice, file=sys.stderr)


def texts(region: Region, queue: str) -> list[str]:
    """The records of a queue as text."""
    return [region.text(record) for record in region.peek(queue)]


def numbers(records: list[str]) -> list[str]:
    """The order number of each record."""
    return [record.split()[0] for record in records]
