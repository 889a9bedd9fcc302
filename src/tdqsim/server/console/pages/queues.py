"""The queues of a region, live: filtered, sorted and paged here, so that a browser gets one page of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from fastapi import HTTPException, Request
from nicegui import ui

from tdqsim.server.console.controls import Block, Button, Control
from tdqsim.server.console.frame import Console, Visit, frame
from tdqsim.server.console.live import RegionView
from tdqsim.server.console.seen import QueueSeen
from tdqsim.server.console.table import Cell, DataTable, Row, column, spark

__all__ = ["add", "is_unusable", "region_name"]


def is_unusable(queue: QueueSeen) -> bool:
    """Whether a queue refuses reads and writes because it is not enabled, or its data set is not open."""
    return _state(queue) not in ("ENABLED", "ENABLED OPEN", "")


def _state(queue: QueueSeen) -> str:
    return f"{queue.enabled} {queue.open}".strip()


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
_SHOW: Final[dict[str, tuple[str, Callable[[QueueSeen], bool]]]] = {
    "": ("all but the supplied ones", lambda queue: not queue.supplied),
    "all": ("all", lambda _queue: True),
    "filled": ("with records", lambda queue: queue.depth > 0),
    "locked": ("locked", lambda queue: bool(queue.locks)),
    "trigger": ("with a trigger", lambda queue: bool(queue.trigger)),
    "cycle": ("in a trigger cycle", lambda queue: queue.cycle),
    "off": ("not enabled or closed", is_unusable),
}
_KEYS: Final[dict[str, Callable[[QueueSeen], tuple[str, int]]]] = {
    "name": lambda queue: (queue.name, 0),
    "type": lambda queue: (f"{queue.type} {queue.recovery}", 0),
    "depth": lambda queue: ("", queue.depth),
    "state": lambda queue: (f"{queue.enabled} {queue.open}", 0),
    "trigger": lambda queue: (queue.trigger, queue.level),
    "locks": lambda queue: (queue.locks, 0),
    "target": lambda queue: (queue.target, 0),
}


def region_name(console: Console, name: str) -> str:
    """The APPLID of a region that is served.

    Raises:
        HTTPException: 404: none of that name is.
    """
    if name.upper() not in console.host.regions:
        raise HTTPException(404, f"no region {name} is served")
    return name.upper()


def add(console: Console) -> None:
    """Register the page."""

    @ui.page("/regions/{region}/queues")
    async def queues(request: Request, region: str, show: str = "") -> None:
        name = region_name(console, region)
        with frame(console, request, "Queues", region=name, here="queues") as visit:
            await _Queues(visit, console.live.view(name), begins_with=show if show in _SHOW else "").build()


@dataclass(slots=True, repr=False)
class _Queues:
    visit: Visit
    view: RegionView
    begins_with: str = ""
    sort: str = "name"
    down: bool = False
    at: int = 0
    name: Control = field(init=False)
    type: Control = field(init=False)
    show: Control = field(init=False)
    table: DataTable = field(init=False)
    where: Block = field(init=False)
    buttons: tuple[Button, ...] = ()

    async def build(self) -> None:
        with Block("section", "tdq-card", aria_label="Queues"):
            with Block("div", "tdq-row"):
                self.name = Control("Name has", hint="such as PAY", on_change=self._from_the_start)
                self.type = Control("Type", "select", options=_TYPES, on_change=self._from_the_start)
                shows = {key: label for key, (label, _) in _SHOW.items()}
                self.show = Control("Show", "select", self.begins_with, options=shows, on_change=self._from_the_start)
            self.table = DataTable("Queues", _COLUMNS, empty="No queue is like that.", on_sort=self._sort)
            with Block("nav", "tdq-row", aria_label="Pages of queues"):
                names = (("First", -(10**9)), ("Previous", -_PAGE), ("Next", _PAGE), ("Last", 10**9))
                self.buttons = tuple(Button(label, partial(self._turn, step), kind="plain") for label, step in names)
                self.where = Block("span", "tdq-dim", aria_live="polite")
        await self.visit.follow([self.view.region.applid], self.refresh)

    def _from_the_start(self) -> None:
        self.at = 0
        self._draw()

    def _sort(self, key: str) -> None:
        self.sort, self.down = key, not self.down if key == self.sort else key == "depth"
        self._from_the_start()

    def _turn(self, step: int) -> None:
        self.at += step
        self._draw()

    async def refresh(self) -> None:
        self._draw()

    def _found(self) -> list[QueueSeen]:
        wanted, type_, show = self.name.text.strip().upper(), self.type.text, _SHOW[self.show.text][1]
        found = [
            queue
            for queue in self.view.queues.values()
            if wanted in queue.name.upper() and type_ in ("", queue.type) and show(queue)
        ]
        found.sort(key=lambda queue: queue.name)
        if self.sort != "name" or self.down:
            found.sort(key=_KEYS[self.sort], reverse=self.down)
        return found

    def _draw(self) -> None:
        found = self._found()
        last = max(len(found) - 1, 0) // _PAGE * _PAGE
        self.at = min(max(self.at, 0), last)
        page = found[self.at : self.at + _PAGE]
        self.table.show([self._row(queue) for queue in page], (self.sort, self.down))
        self.where.say(f"{self.at + 1 if page else 0:,} to {self.at + len(page):,} of {len(found):,}")
        for number, button in enumerate(self.buttons):
            button.enable(self.at > 0 if number < 2 else self.at < last)

    def _row(self, queue: QueueSeen) -> Row:
        samples = self.view.depths.of(queue.name)
        state = _state(queue)
        cells: list[Cell] = [
            {"text": queue.name, "href": self.visit.href("regions", self.view.region.applid, "queues", queue.name)},
            f"{queue.type} {queue.recovery}".strip(),
            f"{queue.depth:,}" if queue.depth >= 0 else "",
            {"spark": spark(samples, self.view.seen.time_ns), "title": f"depth of {queue.name} over time"}
            if len(samples) > 1
            else "",
            {"text": state, "tone": "ok" if state in ("ENABLED", "ENABLED OPEN") else "warn"} if state else "",
            _trigger(queue),
            {"text": queue.locks, "tone": "warn"} if queue.locks else "",
            queue.target,
        ]
        return {"id": queue.name, "cells": cells}


def _trigger(queue: QueueSeen) -> Cell:
    if not queue.trigger:
        return ""
    words = f"{queue.trigger} at {queue.level}"
    return {"text": f"{words}, cycle on", "tone": "warn"} if queue.cycle else words
