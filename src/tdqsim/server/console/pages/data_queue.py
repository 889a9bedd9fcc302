"""One data queue of an IBM i system: its attributes, its entries, send, receive, clear."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from fastapi import HTTPException, Request
from nicegui import ui

from tdqsim.core.codepage import CodePage, codepage
from tdqsim.errors import TdqError
from tdqsim.ibmi import DataQueueEntry, Job, KeyOrder, System
from tdqsim.server.console.controls import Block, Button, Control
from tdqsim.server.console.dialogs import confirmed, shown_whole
from tdqsim.server.console.frame import REFUSED, ActionRefused, Console, Visit, frame
from tdqsim.server.console.pages.systems import Glances, system_named
from tdqsim.server.console.record_text import dump, text_of
from tdqsim.server.console.system_look import DtaqSeen, as_job, attributes_of, entries_of
from tdqsim.server.console.table import Cell, DataTable, Row, column
from tdqsim.server.operations import operation

__all__ = ["add"]

T = TypeVar("T")
_BEAT: Final = 0.8
_PAGE: Final = 20
_ALL: Final = 10**12
_SHOWN: Final = 240
_WHOLE: Final = 65_536
_ORDERS: Final[dict[str, KeyOrder]] = {"EQ": "EQ", "NE": "NE", "LT": "LT", "LE": "LE", "GT": "GT", "GE": "GE"}
_WAYS: Final = {"text": "text", "hex": "hexadecimal"}
_COLUMNS: Final = (
    column("number", "Entry", num=True), column("length", "Bytes", num=True), column("key", "Key", mono=True),
    column("sender", "Sender"), column("data", "Data", mono=True, wide=True), column("all", ""),
)  # fmt: skip


def add(console: Console) -> None:
    """Register the page."""
    glances = Glances(console)

    @ui.page("/systems/{system}/queues/{library}/{queue}")
    async def data_queue(request: Request, system: str, library: str, queue: str) -> None:
        found = system_named(console, system)
        seen = await glances.at(found)
        if not any((each.library, each.name) == (library, queue) for each in seen.queues):
            raise HTTPException(404, f"system {found.name} has no data queue {library}/{queue}")
        with frame(console, request, f"Data queue {library}/{queue}", here="systems") as visit:
            await _DataQueue(visit, found, library, queue, glances).build()


@dataclass(slots=True, repr=False)
class _DataQueue:
    visit: Visit
    system: System
    library: str
    name: str
    glances: Glances
    at: int = 0
    shown: DtaqSeen | None = None
    data: Control = field(init=False)
    key: Control = field(init=False)
    order: Control = field(init=False)
    way: Control = field(init=False)
    start: Control = field(init=False)
    words: Block = field(init=False)
    attributes: DataTable = field(init=False)
    table: DataTable = field(init=False)
    actions: tuple[Button, ...] = ()
    buttons: tuple[Button, ...] = ()
    where: Block = field(init=False)

    @property
    def page(self) -> CodePage:
        """The code page in which data are shown."""
        return codepage(self.system.ccsid)

    async def build(self) -> None:
        if self.visit.may(operation("QSNDDTAQ")):
            self._build_actions()
        with Block("div", "tdq-beside"):
            with Block("section", "tdq-card", aria_label="Entries"):
                Block("h2", words="Entries")
                self.words = Block("p", "tdq-dim")
                with Block("div", "tdq-row"):
                    self.way = Control("Shown as", "select", "text", options=_WAYS, on_change=self._again)
                    self.start = Control("From entry", "number", 1, least=1, on_change=self._go)
                self.table = DataTable(f"Entries of {self.name}", _COLUMNS, empty="No entry.", on_act=self._whole)
                with Block("nav", "tdq-row", aria_label="Pages of entries"):
                    self.buttons = tuple(
                        Button(label, partial(self._turn, step), kind="plain")
                        for label, step in (("First", -_ALL), ("Previous", -_PAGE), ("Next", _PAGE), ("Last", _ALL))
                    )
                    self.where = Block("span", "tdq-dim", aria_live="polite")
            with Block("section", "tdq-card", aria_label="Attributes"):
                Block("h2", words="Attributes (RDQD0100)")
                columns = (column("name", "Field"), column("value", "Value", mono=True, wide=True))
                self.attributes = DataTable("Attributes", columns, keep=True)
        await self.refresh()
        self.visit.every(_BEAT, self.refresh)

    def _build_actions(self) -> None:
        with Block("section", "tdq-card", aria_label="Do something"):
            Block("h2", words="Do something")
            with Block("div", "tdq-row"):
                self.data = Control("Entry", mono=True, grow=True, on_enter=self.send)
                self.key = Control("Key, of a keyed queue", mono=True)
                self.order = Control("Key order", "select", "EQ", options=_ORDERS)
            with Block("div", "tdq-row"):
                self.actions = (
                    Button("QSNDDTAQ", self.send),
                    Button("QRCVDTAQ", self.receive),
                    Button("QCLRDTAQ", self.clear, kind="danger"),
                )

    async def refresh(self) -> None:
        """Show what has changed since the last time."""
        seen = await self.glances.at(self.system)
        now = next((each for each in seen.queues if (each.library, each.name) == (self.library, self.name)), None)
        if now is None:
            self._show_deleted()
        elif now != self.shown:
            self.shown = now
            await self._show()

    def _show_deleted(self) -> None:
        """Show nothing of a data queue that does not exist, and let nothing be done to it until it does again."""
        self.shown = None
        self.words.say(f"Data queue {self.library}/{self.name} does not exist.")
        self.attributes.show([])
        self.table.show([])
        self.where.say("")
        for button in (*self.actions, *self.buttons):
            button.enable(False)

    async def _again(self) -> None:
        self.shown = None
        await self.refresh()

    async def _show(self) -> None:
        userid, place = self.visit.caller.userid, (self.library, self.name)
        shown = self.shown
        assert shown is not None
        try:
            rows, entries = await self.visit.console.host.ask(
                lambda: (
                    attributes_of(self.system, userid, *place),
                    [] if shown.entries < 0 else entries_of(self.system, userid, *place, self.at, _PAGE),
                )
            )
        except TdqError as error:
            self.words.say(str(error))
            return
        self.words.say("")
        for button in self.actions:
            button.enable(True)
        self.attributes.show([{"id": name, "cells": [name, value]} for name, value in rows])
        self.table.show([self._row(self.at + at, *entry) for at, entry in enumerate(entries)])
        self.where.say(f"{self.at + 1 if entries else 0:,} to {self.at + len(entries):,} of {max(shown.entries, 0):,}")
        for number, button in enumerate(self.buttons):
            button.enable(self.at > 0 if number < 2 else self.at + _PAGE < shown.entries)

    def _row(self, position: int, data: bytes, key: bytes, sender: str) -> Row:
        shown = dump(data, self.page, _SHOWN) if self.way.text == "hex" else text_of(data, self.page, _SHOWN)
        whole: Cell = {"buttons": [{"id": "whole", "label": "Whole", "title": f"Whole entry {position + 1}"}]}
        keyed = text_of(key, self.page, _SHOWN) if key else ""
        return {"id": str(position), "cells": [f"{position + 1:,}", f"{len(data):,}", keyed, sender, shown, whole]}

    async def _turn(self, step: int) -> None:
        await self._go_to(self.at + step)

    async def _go(self) -> None:
        if self.start.number is not None:
            await self._go_to(int(self.start.number) - 1)

    async def _go_to(self, position: int) -> None:
        last = 0 if self.shown is None else max(self.shown.entries - 1, 0) // _PAGE * _PAGE
        self.at = max(0, min(position, last))
        self.start.put(self.at + 1)
        await self._again()

    async def _whole(self, row: str, _act: str) -> None:
        position, userid = int(row) if row.isdecimal() else 0, self.visit.caller.userid
        found = await self.visit.console.host.ask(
            lambda: entries_of(self.system, userid, self.library, self.name, position, 1)
        )
        if found:
            data = found[0][0]
            parts = {"Text": text_of(data, self.page, _WHOLE), "Hexadecimal": dump(data, self.page, _WHOLE)}
            await shown_whole(f"Entry {position + 1:,} of {self.name}, {len(data):,} bytes", parts)

    # -- what is done ---------------------------------------------------------------------------------------------

    async def _do(self, what: str, action: Callable[[Job], T]) -> T | ActionRefused:
        userid = self.visit.caller.userid
        found = await self.visit.do(
            operation(what), lambda: as_job(self.system, userid, action), library=self.library, queue=self.name
        )
        await self.refresh()
        return found

    async def send(self) -> None:
        """QSNDDTAQ."""
        data, key = self.data.text, self.key.text

        def act(job: Job) -> None:
            job.qsnddtaq(self.name, self.library, self.page.encode(data), self.page.encode(key) if key else None)

        await self._do("QSNDDTAQ", act)

    async def receive(self) -> None:
        """QRCVDTAQ, without a wait; what came is shown in the status line."""
        key, order = self.key.text, _ORDERS[self.order.text]

        def act(job: Job) -> DataQueueEntry | None:
            return job.qrcvdtaq(self.name, self.library, 0, order, self.page.encode(key) if key else None)

        found = await self._do("QRCVDTAQ", act)
        if found is None:
            self.visit.say(f"QRCVDTAQ {self.library}/{self.name}: no entry")
        elif found is not REFUSED:
            shown = self.page.printable(found.data[:200])
            self.visit.say(f"QRCVDTAQ {self.library}/{self.name}: {len(found.data):,} bytes: {shown}", "ok")

    async def clear(self) -> None:
        """QCLRDTAQ, when it is meant."""
        if await confirmed(f"Clear {self.library}/{self.name}?", "QCLRDTAQ"):
            await self._do("QCLRDTAQ", lambda job: job.qclrdtaq(self.name, self.library))
