"""What flows: who writes and reads which queue, and what starts what, of one region or of all regions and systems."""

from __future__ import annotations

import asyncio
from typing import Final

from fastapi import Request
from nicegui import ui

from tdqsim.report import FlowNode, Flows
from tdqsim.server.console.controls import Block, Control, card
from tdqsim.server.console.flow_view import DiagramView
from tdqsim.server.console.frame import Console, Visit, frame
from tdqsim.server.console.page import ConsolePage, region_name
from tdqsim.server.console.table import Cell, DataTable, Row, column, row

_COLUMNS: Final = (
    column("owner", "In"), column("from", "From"), column("to", "To"), column("records", "Records", num=True),
    column("starts", "Starts", num=True), column("other", "Other"), column("failed", "Failed"),
    column("rate", "A second", num=True),
)  # fmt: skip
_LISTED: Final = 200
_AGAIN: Final = 1.0
"""The minimum of seconds between two pictures."""
_JOINS: Final = {"auto": "if there are many", "yes": "always", "no": "never"}
_JOINED: Final = {"auto": None, "yes": True, "no": False}


def add(console: Console) -> None:
    """Register the pages."""

    @ui.page("/flows")
    async def flows(request: Request) -> None:
        with frame(console, request, "Flows", here="flows") as visit:
            await _FlowPage(visit).build()

    @ui.page("/regions/{region}/flows")
    async def flows_of_region(request: Request, region: str) -> None:
        name = region_name(console, region)
        with frame(console, request, "Flows", region=name, here="flows") as visit:
            await _FlowPage(visit, name).build()


class _FlowPage(ConsolePage):
    _shown_at = float("-inf")

    def __init__(self, visit: Visit, region: str = "") -> None:
        super().__init__(visit)
        self.region = region

    async def build(self) -> None:
        with card("Picture", ""):
            with Block("div", "tdq-row"):
                self.has = Control("Only about", hint="such as PAY", on_change=self._show)
                self.join = Control(
                    "Join queues that are alike", "select", "auto", options=_JOINS, on_change=self._show
                )
            self.words = Block("p", "tdq-dim")
            self.view = DiagramView(
                "Who writes and reads which queue, and what starts what; the list has the same data"
            )
        with card("As a list", "The same as a list"):
            self.table = DataTable("Flows", _COLUMNS, empty="Nothing has flowed.")
        names = tuple(self.visit.console.host.regions)
        await self.visit.follow(names, self._refresh)
        self.visit.every(_AGAIN, self._refresh)

    async def _refresh(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._shown_at >= _AGAIN * 0.9:
            self._shown_at = now
            await self._show()

    async def _show(self) -> None:
        live = self.visit.console.flows
        flows = await live.now()
        if self.region:
            flows = flows.within({self.region})
        flows = flows.about(self.has.text)
        join = _JOINED[self.join.text]
        diagram, left_out = flows.diagram(join=join, rates=live.rates, link=self._href).cut()
        self.view.show(diagram)
        self.table.show(self._rows(flows))
        self.words.say(_in_words(flows, len(diagram.boxes), left_out))

    def _href(self, node: FlowNode) -> str:
        """The page of a node; empty if it has none."""
        if node.owner not in self.visit.console.host.regions:
            return ""
        if node.kind in ("queue", "data set", "remote queue"):
            return self.visit.href("regions", node.owner, "queues", node.name)
        return self.visit.href("regions", node.owner, "incidents") if node.abends else ""

    def _rows(self, flows: Flows) -> list[Row]:
        rates = self.visit.console.flows.rates
        rows: list[Row] = []
        keys = flows.largest(_LISTED)
        shown = zip(flows.rows(keys), keys, strict=True)
        for at, ((owner, source, target, records, starts, other, failed), key) in enumerate(shown):
            wrong: Cell = {"text": failed, "tone": "bad"} if failed else ""
            rate = f"{rates[key]:,.1f}" if rates.get(key) else ""
            rows.append(row(str(at), owner, source, target, f"{records:,}", f"{starts:,}", other, wrong, rate))
        return rows


def _in_words(flows: Flows, drawn: int, left_out: int) -> str:
    if not flows.flows:
        return "Nothing has flowed since the server was started."
    listed = f" The list has the first {_LISTED}." if len(flows.flows) > _LISTED else ""
    cut = (
        f" The picture has the {drawn} boxes with the most arrows; {left_out:,} more are left out." if left_out else ""
    )
    return (
        f"{len(flows.flows):,} flows since the server was started. Records move along solid arrows; tasks are started "
        f"along dashed ones. Rates are those of the last minute. Failures are red.{cut}{listed}"
    )
