"""The records of a queue, a page at a time by position: as text, in hexadecimal, by the fields of a layout."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Final

from tdqsim.cics import Region
from tdqsim.errors import TdqError
from tdqsim.layouts import Layout
from tdqsim.server.console.controls import Block, Button, Control
from tdqsim.server.console.dialogs import shown_whole
from tdqsim.server.console.frame import Visit
from tdqsim.server.console.queue_look import record_at, records_of
from tdqsim.server.console.record_text import dump, fields, layout_of, text_of
from tdqsim.server.console.table import Cell, DataTable, Row, column

__all__ = ["RecordsSection"]

_WAYS: Final = {"text": "text", "hex": "hexadecimal", "layout": "by a layout"}
_SIZES: Final = {"20": "20", "50": "50", "100": "100"}
_SHOWN: Final = 240
"""Bytes of a record that a row shows at most; all of them are a button away."""
_WHOLE: Final = 32_768


@dataclass(slots=True, repr=False)
class RecordsSection:
    """The section of a queue's page with its records.

    Attributes:
        visit: whose page it is.
        region: where the queue is.
        name: the queue.
    """

    visit: Visit
    region: Region
    name: str
    at: int = 0
    layout: Layout | None = None
    _count: int = 0
    _way: Control = field(init=False)
    _size: Control = field(init=False)
    _from: Control = field(init=False)
    _too: Control = field(init=False)
    _copybook: Control = field(init=False)
    _pasted: Block = field(init=False)
    _table: DataTable = field(init=False)
    _where: Block = field(init=False)
    _buttons: tuple[Button, ...] = ()

    def build(self) -> None:
        """Make it."""
        with Block("section", "tdq-card", aria_label="Records"):
            Block("h2", words="Records")
            with Block("div", "tdq-row"):
                way = "text" if self.layout is None else "layout"
                self._way = Control("Shown as", "select", way, options=_WAYS, on_change=self.refresh)
                self._size = Control("Records a page", "select", "20", options=_SIZES, on_change=self.refresh)
                self._from = Control("From record", "number", 1, least=1, on_change=self._go)
                self._too = Control("with what is not committed", "check", False, on_change=self.refresh)
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
            with Block("nav", "tdq-row", aria_label="Pages of records"):
                self._buttons = tuple(
                    Button(label, partial(self._turn, step), kind="plain")
                    for label, step in (("First", -(10**12)), ("Previous", -1), ("Next", 1), ("Last", 10**12))
                )
                self._where = Block("span", "tdq-dim", aria_live="polite")

    async def _turn(self, pages: int) -> None:
        size = int(self._size.text)
        last = max(self._count - 1, 0) // size * size if self._count >= 0 else self.at + size
        self.at = max(0, min(self.at + pages * size, last))
        self._from.put(self.at + 1)
        await self.refresh()

    async def _go(self) -> None:
        if self._from.number is not None:
            self.at = int(self._from.number) - 1
            await self.refresh()

    async def _use_copybook(self) -> None:
        try:
            self.layout = layout_of(self._copybook.text, self.region.codepage)
        except TdqError as error:
            self.visit.say(f"Copybook: {error}", "bad")
            return
        self.visit.say(f"Copybook: records are shown as {self.layout.name}, {self.layout.length} bytes", "ok")
        self._way.put("layout")
        await self.refresh()

    async def refresh(self) -> None:
        """Show the page as it is now."""
        size, too = int(self._size.text), bool(self._too.checked)
        who = self.visit.caller.userid
        page = await self.visit.ask(
            lambda: records_of(self.region, self.name, self.at, size, with_uncommitted=too, userid=who)
        )
        self.at, self._count = page.position, page.count
        self._table.show([self._row(page.position + at, record) for at, record in enumerate(page.records)])
        last = page.position + len(page.records)
        of = f" of {page.count:,}" if page.count >= 0 else ""
        self._where.say(page.refused or f"{page.position + 1 if page.records else 0:,} to {last:,}{of}")
        more = last < page.count if page.count >= 0 else len(page.records) == size
        for number, button in enumerate(self._buttons):
            button.enable(page.position > 0 if number < 2 else more)

    def _row(self, position: int, record: bytes) -> Row:
        whole: Cell = {"buttons": [{"id": "whole", "label": "Whole", "title": f"Whole record {position + 1}"}]}
        return {"id": str(position), "cells": [f"{position + 1:,}", f"{len(record):,}", self._data(record), whole]}

    def _data(self, record: bytes) -> Cell:
        page = self.region.codepage
        if self._way.text == "hex":
            return dump(record, page, _SHOWN)
        if self._way.text == "layout":
            if self.layout is None:
                return "Give a copybook first."
            return {"lines": fields(record, self.layout)[:40]}
        return text_of(record, page, _SHOWN)

    async def _whole(self, row: str, _act: str) -> None:
        position, too = int(row) if row.isdecimal() else 0, bool(self._too.checked)
        who = self.visit.caller.userid
        record = await self.visit.ask(
            lambda: record_at(self.region, self.name, position, with_uncommitted=too, userid=who)
        )
        if record is None:
            self.visit.say(f"Record {position + 1} is not there any more.", "bad")
            return
        page = self.region.codepage
        parts = {"Text": text_of(record, page, _WHOLE), "Hexadecimal": dump(record, page, _WHOLE)}
        if self.layout is not None:
            parts[f"Layout {self.layout.name}"] = "\n".join(fields(record, self.layout))
        await shown_whole(f"Record {position + 1:,} of {self.name}, {len(record):,} bytes", parts)
