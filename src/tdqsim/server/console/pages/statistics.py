"""The statistics of a region: the counts of its queues and of DFHINTRA since they were last reset."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import Request
from nicegui import ui

from tdqsim.cics import Region
from tdqsim.server.console.controls import Block
from tdqsim.server.console.frame import Console, Visit, frame
from tdqsim.server.console.pager import Pager
from tdqsim.server.console.pages.queues import region_name
from tdqsim.server.console.table import Cell, DataTable, Row, column

__all__ = ["add"]

_PAGE: Final = 50
_AGAIN: Final = 5.0
"""The seconds between two looks at the counts."""
_COUNTS: Final = {
    "writes": "Written", "reads": "Read", "deletes": "Deleted", "triggers": "Triggers", "items": "Records",
    "peak_items": "Most records", "cis_in_use": "CIs", "peak_cis": "Most CIs",
}  # fmt: skip
_QUEUES: Final = (
    column("name", "Queue"), column("type", "Type"), *(column(key, label, num=True) for key, label in _COUNTS.items()),
)  # fmt: skip
_TOTAL: Final = (column("name", "DFHINTRA"), column("value", "Value", num=True))


def add(console: Console) -> None:
    """Register the page."""

    @ui.page("/regions/{region}/statistics")
    async def statistics(request: Request, region: str) -> None:
        name = region_name(console, region)
        with frame(console, request, "Statistics", region=name, here="statistics") as visit:
            await _Statistics(visit, console.live.view(name).region).build()


@dataclass(slots=True, repr=False)
class _Statistics:
    visit: Visit
    region: Region
    queues: DataTable = field(init=False)
    total: DataTable = field(init=False)
    pager: Pager = field(init=False)

    async def build(self) -> None:
        with Block("div", "tdq-beside"):
            with Block("section", "tdq-card", aria_label="Queues"):
                Block("h2", words="Queues with counts")
                self.queues = DataTable("Statistics of queues", _QUEUES, empty="No queue was used.")
                self.pager = Pager("queues", self.refresh, _PAGE)
            with Block("section", "tdq-card", aria_label="DFHINTRA"):
                Block("h2", words="All intrapartition queues")
                self.total = DataTable("Statistics of DFHINTRA", _TOTAL, keep=True)
        await self.refresh()
        self.visit.every(_AGAIN, self.refresh)

    async def refresh(self) -> None:
        now = await self.visit.ask(lambda: self.region.statistics.now().as_dict())
        used = [queue for queue in now["queues"] if any(map(queue.get, _COUNTS))]
        self.pager.limit(len(used))
        page = used[self.pager.at : self.pager.at + _PAGE]
        self.queues.show([self._row(queue) for queue in page])
        self.pager.show(len(page), len(used))
        total: dict[str, int] = now["total"] or {}
        self.total.show(
            [{"id": name, "cells": [name.replace("_", " "), f"{value:,}"]} for name, value in total.items()]
        )

    def _row(self, queue: dict[str, Any]) -> Row:
        name = queue["name"].rstrip(" ")
        href = self.visit.href("regions", self.region.applid, "queues", name)
        cells: list[Cell] = [{"text": name, "href": href}, queue["type"]]
        return {"id": name, "cells": [*cells, *(f"{queue[key]:,}" for key in _COUNTS)]}
