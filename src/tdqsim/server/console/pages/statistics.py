"""The statistics of a region since they were last reset: its queues and DFHINTRA, and the records of one other type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tdqsim.facts import table
from tdqsim.server.console.controls import Block, Control, card
from tdqsim.server.console.page import RegionPage
from tdqsim.server.console.pager import Pager
from tdqsim.server.console.table import DataTable, Row, column, row

_PAGE: Final = 50
_AGAIN: Final = 5.0
"""The interval between two reads of the counts, in seconds."""
_COUNTS: Final = {
    "writes": "Written", "reads": "Read", "deletes": "Deleted", "triggers": "Triggers", "items": "Records",
    "peak_items": "Most records", "cis_in_use": "CIs", "peak_cis": "Most CIs",
}  # fmt: skip
_QUEUES: Final = (
    column("name", "Queue"), column("type", "Type"), *(column(key, label, num=True) for key, label in _COUNTS.items()),
)  # fmt: skip
_TOTAL: Final = (column("name", "DFHINTRA"), column("value", "Value", num=True))
_OWN: Final = ("TQG", "TQR")
"""The records of queues, which have tables of their own."""
_TYPES: Final = {
    each["name"]: each["title"]
    for each in table("statistics_report")
    if each["kind"] == "section" and each["name"] not in _OWN
}
_FIELDS: Final = (column("name", "Field"), column("value", "Value", num=True))


class StatisticsPage(RegionPage):
    """The page of statistics."""

    async def build(self) -> None:
        """Add the contents of the page."""
        with Block("div", "tdq-beside"):
            with card("Queues", "Queues with counts"):
                self.queues = DataTable("Statistics of queues", _QUEUES, empty="No queue was used.")
                self.pager = Pager("queues", self.refresh, _PAGE)
            with card("DFHINTRA", "All intrapartition queues"):
                self.total = DataTable("Statistics of DFHINTRA", _TOTAL, keep=True)
        with card("Other types"):
            with Block("div", "tdq-row"):
                self.kind = Control("Statistics of", "select", next(iter(_TYPES)), options=_TYPES, on_change=self.turn)
            self.records = DataTable("Statistics of another type", _FIELDS, empty="There are none of this type.")
            self.record_pager = Pager("records", self.refresh, _PAGE)
        await self.refresh()
        self.visit.every(_AGAIN, self.refresh)

    async def turn(self) -> None:
        """Show the first records of the selected type."""
        self.record_pager.at = 0
        await self.refresh()

    async def refresh(self) -> None:
        """Show the present state."""
        collected = await self.visit.ask(self.region.statistics.now)
        self._show_records(*collected.section(self.kind.text))
        now = collected.as_dict()
        used = [queue for queue in now["queues"] if any(map(queue.get, _COUNTS))]
        self.queues.show([self._row(queue) for queue in self.pager.page_of(used)])
        total: dict[str, int] = now["total"] or {}
        self.total.show([row(name, name.replace("_", " "), f"{value:,}") for name, value in total.items()])

    def _show_records(self, columns: dict[str, str], found: Sequence[Mapping[str, Any]]) -> None:
        """Show the selected type as a report does: a global record as fields, those of resources as rows."""
        wanted = self.kind.text
        if not found or "name" in found[0]:
            columns = columns if found else {"name": _TYPES[wanted]}
            self.records.describe(
                [
                    column(key, title, num=bool(found) and isinstance(found[0][key], int))
                    for key, title in columns.items()
                ]
            )
            rows = [[_shown(each[key]) for key in columns] for each in found]
        else:
            self.records.describe(_FIELDS)
            rows = [[title, _shown(found[0][key])] for key, title in columns.items()]
        self.records.show([row(f"{wanted} {cells[0]}", *cells) for cells in self.record_pager.page_of(rows)])

    def _row(self, queue: dict[str, Any]) -> Row:
        name = queue["name"].rstrip(" ")
        href = self.href("queues", name)
        return row(name, {"text": name, "href": href}, queue["type"], *(f"{queue[key]:,}" for key in _COUNTS))


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value).rstrip(" ")
