"""START of a transaction, and the requests that wait for their time."""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from tdqsim import state
from tdqsim.cics import Condition, Region, Task
from tdqsim.hosting import hex_bytes
from tdqsim.server.console.controls import Block, Button, Control, card
from tdqsim.server.console.frame import REFUSED
from tdqsim.server.console.page import RegionPage
from tdqsim.server.console.table import ButtonCell, Cell, DataTable, Row, column, row
from tdqsim.server.operations import operation

_LATEST: Final = 995959
"""The highest INTERVAL, as hhmmss."""
_AGAIN: Final = 2.0
"""The interval between two reads of the requests, whose time passes without an event, in seconds."""
_SHOWN: Final = 500
"""The maximum number of requests, and of transactions."""
_WAYS: Final = {"text": "text", "hex": "hexadecimal"}
_REQUESTS: Final = (
    column("reqid", "REQID", mono=True), column("type", "Type"), column("transid", "Transaction"),
    column("left", "Due in (hhmmss)", num=True), column("time", "Due at (hhmmss)", num=True),
    column("userid", "User"), column("termid", "Terminal"), column("length", "Bytes of data", num=True),
    column("do", ""),
)  # fmt: skip
_TRANSACTIONS: Final = (
    column("name", "Transaction"), column("program", "Program"), column("state", "State"),
    column("system", "Remote system"),
)  # fmt: skip


class StartPage(RegionPage):
    """The page of START."""

    async def build(self) -> None:
        """Add the contents of the page."""
        if self.visit.may(operation("START")):
            self._build_form()
        with card("Requests", "Requests that wait for their time: START, and DELAY and POST with a REQID"):
            self.requests = DataTable("Requests", _REQUESTS, empty="No request waits.", on_act=self.cancel)
        with card("Transactions"):
            self.transactions = DataTable("Transactions", _TRANSACTIONS, keep=True, empty="No transaction.")
        await self.visit.follow([self.region.applid], self.refresh)
        self.visit.every(_AGAIN, self.refresh)

    def _build_form(self) -> None:
        with card("START"):
            with Block("div", "tdq-row"):
                self.transid = Control("Transaction", mono=True, on_enter=self.start)
                self.data = Control("Data for RETRIEVE", mono=True, grow=True, hint="none", on_enter=self.start)
                self.way = Control("Given as", "select", "text", options=_WAYS)
            with Block("div", "tdq-row"):
                self.interval = Control("INTERVAL (hhmmss)", "number", 0, least=0, most=_LATEST, on_enter=self.start)
                self.reqid = Control("REQID", mono=True, hint="generated")
                self.userid = Control("USERID", mono=True, hint="yours")
                self.termid = Control("TERMID", mono=True, hint="none")
                Button("START", self.start)

    async def refresh(self) -> None:
        """Show the present state."""

        def look() -> tuple[list[dict[str, Any]], list[Row]]:
            try:
                requests = list(islice(state.browse(self.region, "REQID", userid=self.visit.caller.userid), _SHOWN))
            except Condition:
                requests = []
            return requests, _transactions(self.region)

        requests, transactions = await self.visit.ask(look)
        self.requests.show([self._row(each) for each in requests])
        self.transactions.show(transactions)

    def _row(self, request: dict[str, Any]) -> Row:
        reqid = request["REQID"].rstrip()
        cancel: ButtonCell = {"id": "CANCEL", "label": "Cancel", "title": f"Cancel {reqid}", "tone": "danger"}
        do: Cell = {"buttons": [cancel]} if self.visit.may(operation("CANCEL")) else ""
        return row(
            reqid, reqid, request["REQTYPE"].name, request["TRANSID"].rstrip(),
            f"{request['INTERVAL']:06}", f"{request['TIME']:06}",
            request["USERID"].rstrip(), request["TERMID"].rstrip(), f"{request['LENGTH']:,}", do,
        )  # fmt: skip

    async def start(self) -> None:
        """START with the values of the form."""
        interval = self.interval.number
        if interval is None:
            self.visit.say(f"START: INTERVAL is 0 to {_LATEST}", "bad")
            return
        transid, data, way = self.transid.text.strip(), self.data.text, self.way.text
        options: dict[str, Any] = {
            name: control.text.strip()
            for name, control in (("reqid", self.reqid), ("userid", self.userid), ("termid", self.termid))
            if control.text.strip()
        }
        page = self.region.options.code_page

        def act(task: Task) -> str:
            sent = None if not data else hex_bytes(data) if way == "hex" else page.encode(data)
            return task.start(transid, sent, interval=int(interval), **options)

        reqid = await self.visit.task(operation("START"), self.region, act, transid=transid)
        if reqid is not REFUSED:
            self.visit.say(f"START {transid}: NORMAL, request {reqid}", "ok")
        await self.refresh()

    async def cancel(self, reqid: str, _button: str) -> None:
        """CANCEL of a request."""
        await self.visit.task(operation("CANCEL"), self.region, lambda task: task.cancel(reqid), reqid=reqid)
        await self.refresh()


def _transactions(region: Region) -> list[Row]:
    rows: list[Row] = []
    for name, each in sorted(region.resources.transactions.items())[:_SHOWN]:
        runs = each.program is not None
        shown: Cell = {"text": "ENABLED", "tone": "ok"} if each.enabled else {"text": "DISABLED", "tone": "warn"}
        if each.enabled and not runs and not each.remotesystem:
            shown = {"text": "no program", "tone": "warn"}
        program = each.program_name or ("Python function" if runs else "")
        rows.append(row(name, name, program, shown, each.remotesystem))
    return rows
