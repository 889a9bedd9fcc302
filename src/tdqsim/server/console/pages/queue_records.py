"""The records of a queue, a page at a time by position: as text, in hexadecimal, by the fields of a layout."""

from __future__ import annotations

from typing import Final

from tdqsim.cics import Region
from tdqsim.errors import TdqError
from tdqsim.layouts import Layout
from tdqsim.server.console.controls import Block, Button, Control, card
from tdqsim.server.console.dialogs import shown_whole
from tdqsim.server.console.frame import Visit
from tdqsim.server.console.pager import Pager
from tdqsim.server.console.queue_state import read_record, read_records
from tdqsim.server.console.record_text import dump, fields, layout_of, text_of
from tdqsim.server.console.table import Cell, DataTable, Row, column, row

_WAYS: Final = {"text": "text", "hex": "hexadecimal", "layout": "by a layout"}
_SIZES: Final = {"20": "20", "50": "50", "100": "100"}
_SHOWN: Final = 240
"""The maximum number of bytes of a record in a row; a button shows the whole record."""
_WHOLE: Final = 32_768


class RecordsSection:
    """The section of a queue's page with its records.

    Args:
        visit: the page.
        region: the region of the queue.
        name: the name of the queue.
        layout: the layout of its records; None for none.
    """

    def __init__(self, visit: Visit, region: Region, name: str, layout: Layout | None) -> None:
        self.visit, self.region, self.name, self.layout = visit, region, name, layout

    def build(self) -> None:
        """Add the section to the page."""
        with card("Records"):
            with Block("div", "tdq-row"):
                way = "text" if self.layout is None else "layout"
                self._way = Control("Shown as", "select", way, options=_WAYS, on_change=self.refresh)
                self._size = Control("Records a page", "select", "20", options=_SIZES, on_change=self.refresh)
                self._from = Control("From record", "number", 1, least=1, on_change=self._go)
                self._too = Control("with uncommitted records", "check", False, on_change=self.refresh)
            with Block("details") as self._pasted:
                Block("summary", words="Layout: a COBOL copybook")
                with Block("div", "tdq-row"):
                    self._copybook = Control("Copybook", "area", mono=True, grow=True, lines=5)
                    Button("Use it", self._use_copybook, kind="plain")
            columns = (
                column("number", "Record", num=True), column("length", "Bytes", num=True),
                column("data", "Data", mono=True, wide=True), column("all", ""),
            )  # fmt: skip
            self._table = DataTable(f"Records of {self.name}", columns, empty="No records.", on_act=self._whole)
            self._pager = Pager("records", self._show_page, int(self._size.text))

    async def _show_page(self) -> None:
        self._from.put(self._pager.at + 1)
        await self.refresh()

    async def _go(self) -> None:
        if self._from.number is not None:
            self._pager.at = int(self._from.number) - 1
            await self.refresh()

    async def _use_copybook(self) -> None:
        try:
            self.layout = layout_of(self._copybook.text, self.region.options.code_page)
        except TdqError as error:
            self.visit.say(f"Copybook: {error}", "bad")
            return
        self.visit.say(f"Copybook: records are shown as {self.layout.name}, {self.layout.length} bytes", "ok")
        self._way.put("layout")
        await self.refresh()

    async def refresh(self) -> None:
        """Show the page of records in its present state."""
        pager, too = self._pager, bool(self._too.checked)
        pager.size = int(self._size.text)
        userid = self.visit.caller.userid
        page = await self.visit.ask(
            lambda: read_records(self.region, self.name, pager.at, pager.size, with_uncommitted=too, userid=userid)
        )
        pager.at = page.position
        self._table.show([self._row(page.position + at, record) for at, record in enumerate(page.records)])
        pager.show(len(page.records), page.count, page.refused)

    def _row(self, position: int, record: bytes) -> Row:
        whole: Cell = {"buttons": [{"id": "whole", "label": "Whole", "title": f"Whole record {position + 1}"}]}
        return row(str(position), f"{position + 1:,}", f"{len(record):,}", self._data(record), whole)

    def _data(self, record: bytes) -> Cell:
        page = self.region.options.code_page
        if self._way.text == "hex":
            return dump(record, page, _SHOWN)
        if self._way.text == "layout":
            if self.layout is None:
                return "Give a copybook first."
            return {"lines": fields(record, self.layout)[:40]}
        return text_of(record, page, _SHOWN)

    async def _whole(self, row: str, _act: str) -> None:
        position, too = int(row) if row.isdecimal() else 0, bool(self._too.checked)
        userid = self.visit.caller.userid
        record = await self.visit.ask(
            lambda: read_record(self.region, self.name, position, with_uncommitted=too, userid=userid)
        )
        if record is None:
            self.visit.say(f"Record {position + 1} no longer exists.", "bad")
            return
        page = self.region.options.code_page
        parts = {"Text": text_of(record, page, _WHOLE), "Hexadecimal": dump(record, page, _WHOLE)}
        if self.layout is not None:
            parts[f"Layout {self.layout.name}"] = "\n".join(fields(record, self.layout))
        await shown_whole(f"Record {position + 1:,} of {self.name}, {len(record):,} bytes", parts)
