"""The messages of a region to its operators, and its last events."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from tdqsim.server.console.controls import Block, Control
from tdqsim.server.console.frame import Console, Visit
from tdqsim.server.console.live import RegionView
from tdqsim.server.console.pages.queues import region_page
from tdqsim.server.console.pages.tasks import moment
from tdqsim.server.console.table import DataTable, Row, column

_MESSAGES: Final = (
    column("time", "Time"), column("id", "Message"), column("queue", "Queue"), column("text", "Text", wide=True),
)  # fmt: skip
_EVENTS: Final = (
    column("time", "Time"), column("task", "Task", num=True), column("what", "What"), column("queue", "Queue"),
    column("result", "Result"),
)  # fmt: skip
_SHOWN: Final = 200


def add(console: Console) -> None:
    """Register the page."""
    region_page(console, "log", "Log", lambda visit, view: _Log(visit, view).build())


@dataclass(slots=True, repr=False)
class _Log:
    visit: Visit
    view: RegionView
    has: Control = field(init=False)
    messages: DataTable = field(init=False)
    events: DataTable = field(init=False)

    async def build(self) -> None:
        with Block("div", "tdq-row"):
            self.has = Control("Lines that contain", hint="DFHAC, PAYQ, QZERO ...", on_change=self.refresh)
        with Block("section", "tdq-card", aria_label="Messages"):
            Block("h2", words="Messages, to CSMT, CSSL and others")
            self.messages = DataTable("Messages", _MESSAGES, empty="No message.")
        with Block("section", "tdq-card", aria_label="Events"):
            Block("h2", words="Last events")
            self.events = DataTable("Events", _EVENTS, empty="No event.")
        await self.visit.follow([self.view.region.applid], self.refresh)

    async def refresh(self) -> None:
        console, applid = self.visit.console, self.view.region.applid
        messages = await self.visit.ask(lambda: console.messages.of(applid))
        lines: list[list[str | int]] = [[moment(one.time_ns), one.id, one.destination, one.text] for one in messages]
        self.messages.show(self._rows(lines))
        events = await self.visit.ask(lambda: list(islice(reversed(console.host.recent.get(applid, ())), 2000)))
        self.events.show(self._rows([_event(event) for event in reversed(events)]))

    def _rows(self, lines: list[list[str | int]]) -> list[Row]:
        """The lines that contain the text, newest first."""
        wanted = self.has.text.strip().upper()
        matching = [line for line in reversed(lines) if wanted in " ".join(map(str, line)).upper()]
        return [{"id": str(at), "cells": line} for at, line in enumerate(matching[:_SHOWN])]


def _event(event: dict[str, Any]) -> list[str | int]:
    kind = event["event"]
    what, result = kind.replace("_", " "), ""
    if kind == "command":
        what, result = event["command"], event["condition"]
    elif kind == "unit_of_work":
        result = "committed" if event["committed"] else "backed out"
    elif kind == "task_ended":
        result = "normally" if event["normal"] else f"abend {event['abcode']}"
    elif kind == "seeded":
        result = f"{event['records']} records"
    if "transid" in event:
        what = f"{what} {event['transid']}"
    return [moment(event["time_ns"]), event.get("task") or "", what, event.get("queue") or "", result]
