"""One data queue of an IBM i system: its attributes, its entries, send, receive, clear."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from fastapi import HTTPException, Request
from nicegui import ui

from tdqsim.errors import TdqError
from tdqsim.hosting import CodePage, codepage
from tdqsim.ibmi import DataQueueEntry, DataQueueState, Job, KeyOrder, System
from tdqsim.server.console.controls import Block, Button, Control, card
from tdqsim.server.console.dialogs import confirmed, shown_whole
from tdqsim.server.console.frame import REFUSED, ActionRefused, Console, Visit, frame
from tdqsim.server.console.page import ConsolePage
from tdqsim.server.console.pager import Pager
from tdqsim.server.console.pages.systems import SystemReader, system_named
from tdqsim.server.console.record_text import dump, text_of
from tdqsim.server.console.system_state import as_job, read_attributes, read_entries
from tdqsim.server.console.table import Cell, DataTable, Row, column, row
from tdqsim.server.operations import operation

T = TypeVar("T")
_BEAT: Final = 0.8
_PAGE: Final = 20
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
    reader = SystemReader(console)

    @ui.page("/systems/{system}/queues/{library}/{queue}")
    async def data_queue(request: Request, system: str, library: str, queue: str) -> None:
        served = system_named(console, system)
        snapshot = await reader.at(served)
        if not any((each.library, each.name) == (library, queue) for each in snapshot.queues):
            raise HTTPException(404, f"system {served.name} has no data queue {library}/{queue}")
        with frame(console, request, f"Data queue {library}/{queue}", here="systems") as visit:
            await _DataQueue(visit, served, library, queue, reader).build()


class _DataQueue(ConsolePage):
    shown: DataQueueState | None = None
    actions: tuple[Button, ...] = ()

    def __init__(self, visit: Visit, system: System, library: str, name: str, reader: SystemReader) -> None:
        super().__init__(visit)
        self.system, self.library, self.name, self.reader = system, library, name, reader

    @property
    def page(self) -> CodePage:
        """The code page of the data."""
        return codepage(self.system.ccsid)

    async def build(self) -> None:
        if self.visit.may(operation("QSNDDTAQ")):
            self._build_actions()
        with Block("div", "tdq-beside"):
            with card("Entries"):
                self.words = Block("p", "tdq-dim")
                with Block("div", "tdq-row"):
                    self.way = Control("Shown as", "select", "text", options=_WAYS, on_change=self._again)
                    self.start = Control("From entry", "number", 1, least=1, on_change=self._go)
                self.table = DataTable(f"Entries of {self.name}", _COLUMNS, empty="No entry.", on_act=self._whole)
                self.pager = Pager("entries", self._show_page, _PAGE)
            with card("Attributes", "Attributes (RDQD0100)"):
                columns = (column("name", "Field"), column("value", "Value", mono=True, wide=True))
                self.attributes = DataTable("Attributes", columns, keep=True)
        await self.refresh()
        self.visit.every(_BEAT, self.refresh)

    def _build_actions(self) -> None:
        with card("Do something"):
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
        """Show the data queue, if it has changed."""
        snapshot = await self.reader.at(self.system)
        now = next((each for each in snapshot.queues if (each.library, each.name) == (self.library, self.name)), None)
        if now is None:
            self._show_deleted()
        elif now != self.shown:
            self.shown = now
            await self._show()

    def _show_deleted(self) -> None:
        """Show no values of a data queue that does not exist, and disable its actions until it exists again."""
        self.shown = None
        self.words.say(f"Data queue {self.library}/{self.name} does not exist.")
        self.attributes.show([])
        self.table.show([])
        self.pager.hide()
        for button in self.actions:
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
                    read_attributes(self.system, userid, *place),
                    [] if shown.ddm else read_entries(self.system, userid, *place, self.pager.at, _PAGE),
                )
            )
        except TdqError as error:
            self.words.say(str(error))
            return
        self.words.say("")
        for button in self.actions:
            button.enable(True)
        self.attributes.show([row(name, name, value) for name, value in rows])
        self.table.show([self._row(self.pager.at + at, *entry) for at, entry in enumerate(entries)])
        self.pager.show(len(entries), shown.entries)

    def _row(self, position: int, data: bytes, key: bytes, sender: str) -> Row:
        shown = dump(data, self.page, _SHOWN) if self.way.text == "hex" else text_of(data, self.page, _SHOWN)
        whole: Cell = {"buttons": [{"id": "whole", "label": "Whole", "title": f"Whole entry {position + 1}"}]}
        keyed = text_of(key, self.page, _SHOWN) if key else ""
        return row(str(position), f"{position + 1:,}", f"{len(data):,}", keyed, sender, shown, whole)

    async def _go(self) -> None:
        if self.start.number is not None:
            self.pager.go_to(int(self.start.number) - 1)
            await self._show_page()

    async def _show_page(self) -> None:
        self.start.put(self.pager.at + 1)
        await self._again()

    async def _whole(self, row: str, _act: str) -> None:
        position, userid = int(row) if row.isdecimal() else 0, self.visit.caller.userid
        entries = await self.visit.console.host.ask(
            lambda: read_entries(self.system, userid, self.library, self.name, position, 1)
        )
        if entries:
            data = entries[0][0]
            parts = {"Text": text_of(data, self.page, _WHOLE), "Hexadecimal": dump(data, self.page, _WHOLE)}
            await shown_whole(f"Entry {position + 1:,} of {self.name}, {len(data):,} bytes", parts)

    # -- actions -------------------------------------------------------------------------------------------------

    async def _do(self, what: str, action: Callable[[Job], T]) -> T | ActionRefused:
        userid = self.visit.caller.userid
        result = await self.visit.do(
            operation(what), lambda: as_job(self.system, userid, action), library=self.library, queue=self.name
        )
        await self.refresh()
        return result

    async def send(self) -> None:
        """QSNDDTAQ."""
        data, key = self.data.text, self.key.text

        def act(job: Job) -> None:
            job.qsnddtaq(self.name, self.library, self.page.encode(data), self.page.encode(key) if key else None)

        await self._do("QSNDDTAQ", act)

    async def receive(self) -> None:
        """QRCVDTAQ without a wait; the status line shows the entry."""
        key, order = self.key.text, _ORDERS[self.order.text]

        def act(job: Job) -> DataQueueEntry | None:
            return job.qrcvdtaq(self.name, self.library, 0, order, self.page.encode(key) if key else None)

        entry = await self._do("QRCVDTAQ", act)
        if entry is None:
            self.visit.say(f"QRCVDTAQ {self.library}/{self.name}: no entry")
        elif entry is not REFUSED:
            shown = self.page.printable(entry.data[:200])
            self.visit.say(f"QRCVDTAQ {self.library}/{self.name}: {len(entry.data):,} bytes: {shown}", "ok")

    async def clear(self) -> None:
        """QCLRDTAQ, after a confirmation."""
        if await confirmed(f"Clear {self.library}/{self.name}?", "QCLRDTAQ"):
            await self._do("QCLRDTAQ", lambda job: job.qclrdtaq(self.name, self.library))
