"""The messages of a region to its operators, and its last events."""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from tdqsim.server.console.controls import Block, Control, card
from tdqsim.server.console.page import RegionPage
from tdqsim.server.console.pages.tasks import moment
from tdqsim.server.console.table import DataTable, Row, column, row

_MESSAGES: Final = (
    column("time", "Time"), column("id", "Message"), column("queue", "Queue"), column("text", "Text", wide=True),
)  # fmt: skip
_EVENTS: Final = (
    column("time", "Time"), column("task", "Task", num=True), column("what", "What"), column("queue", "Queue"),
    column("result", "Result"),
)  # fmt: skip
_SHOWN: Final = 200


class LogPage(RegionPage):
    """The page of messages and events."""

    async def build(self) -> None:
        """Add the contents of the page."""
        with Block("div", "tdq-row"):
            self.has = Control("Lines that contain", hint="DFHAC, PAYQ, QZERO ...", on_change=self.refresh)
        with card("Messages", "Messages, to CSMT, CSSL and others"):
            self.messages = DataTable("Messages", _MESSAGES, empty="No message.")
        with card("Events", "Last events"):
            self.events = DataTable("Events", _EVENTS, empty="No event.")
        await self.visit.follow([self.region.applid], self.refresh)

    async def refresh(self) -> None:
        """Show the present state."""
        console, applid = self.visit.console, self.region.applid
        messages = await self.visit.ask(lambda: console.messages.of(applid))
        lines: list[list[str | int]] = [[moment(one.time_ns), one.id, one.destination, one.text] for one in messages]
        self.messages.show(self._rows(lines))
        events = await self.visit.ask(lambda: list(islice(reversed(console.host.recent.get(applid, ())), 2000)))
        self.events.show(self._rows([_event(event) for event in reversed(events)]))

    def _rows(self, lines: list[list[str | int]]) -> list[Row]:
        """The lines that contain the text, newest first."""
        wanted = self.has.text.strip().upper()
        matching = [line for line in reversed(lines) if wanted in " ".join(map(str, line)).upper()]
        return [row(str(at), *line) for at, line in enumerate(matching[:_SHOWN])]


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
