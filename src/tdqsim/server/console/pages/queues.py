"""The queues of a region: the server filters, sorts and pages them, so that a browser gets only one page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fastapi import Request
from nicegui import ui

from tdqsim.server.console.controls import Block, Control, card
from tdqsim.server.console.frame import Console, Visit, frame
from tdqsim.server.console.live import RegionView
from tdqsim.server.console.page import RegionPage, region_name
from tdqsim.server.console.pager import Pager
from tdqsim.server.console.region_state import depth, is_supplied, locked, stands_for, status, trigger
from tdqsim.server.console.table import Cell, DataTable, Row, column, row, spark
from tdqsim.state import QueueState


def is_unusable(queue: QueueState) -> bool:
    """Whether a queue refuses reads and writes because it is not enabled, or its data set is not open."""
    return status(queue) not in ("ENABLED", "ENABLED OPEN", "")


_PAGE: Final = 50
_COLUMNS: Final = (
    column("name", "Queue", sort=True),
    column("type", "Type", sort=True),
    column("depth", "Depth", sort=True, num=True),
    column("spark", "Over time"),
    column("state", "State", sort=True),
    column("trigger", "Trigger", sort=True),
    column("locks", "Locks", sort=True),
    column("target", "Stands for", sort=True),
)
_TYPES: Final = {"": "all types", "INTRA": "INTRA", "EXTRA": "EXTRA", "INDIRECT": "INDIRECT", "REMOTE": "REMOTE"}
_SHOW: Final[dict[str, tuple[str, Callable[[QueueState], bool]]]] = {
    "": ("all but the supplied ones", lambda queue: not is_supplied(queue)),
    "all": ("all", lambda _queue: True),
    "filled": ("with records", lambda queue: depth(queue) > 0),
    "locked": ("locked", lambda queue: bool(locked(queue))),
    "trigger": ("with a trigger", lambda queue: bool(queue.level)),
    "cycle": ("in a trigger cycle", lambda queue: queue.cycle),
    "off": ("not enabled or closed", is_unusable),
}
_KEYS: Final[dict[str, Callable[[QueueState], tuple[str, int]]]] = {
    "name": lambda queue: (queue.name, 0),
    "type": lambda queue: (f"{queue.type} {queue.recovstatus}", 0),
    "depth": lambda queue: ("", depth(queue)),
    "state": lambda queue: (status(queue), 0),
    "trigger": lambda queue: (queue.transid if queue.level else "", queue.level),
    "locks": lambda queue: (locked(queue), 0),
    "target": lambda queue: (stands_for(queue), 0),
}


def add(console: Console) -> None:
    """Register the page."""

    @ui.page("/regions/{region}/queues")
    async def queues(request: Request, region: str, show: str = "") -> None:
        name = region_name(console, region)
        with frame(console, request, "Queues", region=name, here="queues") as visit:
            await _Queues(visit, console.live.view(name), show if show in _SHOW else "").build()


class _Queues(RegionPage):
    sort = "name"
    down = False

    def __init__(self, visit: Visit, view: RegionView, begins_with: str) -> None:
        super().__init__(visit, view)
        self.begins_with = begins_with

    async def build(self) -> None:
        with card("Queues", ""):
            with Block("div", "tdq-row"):
                self.name = Control("Name has", hint="such as PAY", on_change=self._from_the_start)
                self.type = Control("Type", "select", options=_TYPES, on_change=self._from_the_start)
                shows = {key: label for key, (label, _) in _SHOW.items()}
                self.show = Control("Show", "select", self.begins_with, options=shows, on_change=self._from_the_start)
            self.table = DataTable("Queues", _COLUMNS, empty="No queue matches.", on_sort=self._sort)
            self.pager = Pager("queues", self._draw, _PAGE)
        await self.visit.follow([self.region.applid], self.refresh)

    def _from_the_start(self) -> None:
        self.pager.at = 0
        self._draw()

    def _sort(self, key: str) -> None:
        self.sort, self.down = key, not self.down if key == self.sort else key == "depth"
        self._from_the_start()

    async def refresh(self) -> None:
        self._draw()

    def _matching(self) -> list[QueueState]:
        wanted, type_, show = self.name.text.strip().upper(), self.type.text, _SHOW[self.show.text][1]
        matching = [
            queue
            for queue in self.view.queues.values()
            if wanted in queue.name.upper() and type_ in ("", queue.type) and show(queue)
        ]
        matching.sort(key=lambda queue: queue.name)
        matching.sort(key=_KEYS[self.sort], reverse=self.down)
        return matching

    def _draw(self) -> None:
        matching = self._matching()
        self.table.show([self._row(queue) for queue in self.pager.page_of(matching)], (self.sort, self.down))

    def _row(self, queue: QueueState) -> Row:
        samples = self.view.depths.of(queue.name)
        state, locks = status(queue), locked(queue)
        return row(
            queue.name,
            {"text": queue.name, "href": self.href("queues", queue.name)},
            f"{queue.type} {queue.recovstatus}".strip(),
            f"{queue.numitems:,}" if depth(queue) >= 0 else "",
            {"spark": spark(samples, self.view.snapshot.time_ns), "title": f"depth of {queue.name} over time"}
            if len(samples) > 1
            else "",
            {"text": state, "tone": "ok" if state in ("ENABLED", "ENABLED OPEN") else "warn"} if state else "",
            _trigger(queue),
            {"text": locks, "tone": "warn"} if locks else "",
            stands_for(queue),
        )


def _trigger(queue: QueueState) -> Cell:
    words = trigger(queue)
    return {"text": f"{words}, cycle on", "tone": "warn"} if queue.cycle and words else words
