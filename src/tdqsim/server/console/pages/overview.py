"""The overview of all regions and systems."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from fastapi import Request
from nicegui import ui

from tdqsim.server.console.controls import Block
from tdqsim.server.console.frame import Console, Visit, frame
from tdqsim.server.console.live import RegionView
from tdqsim.server.console.pages.incidents import incidents_of
from tdqsim.server.console.pages.queues import is_unusable
from tdqsim.server.console.pages.systems import SystemReader, add_systems_table
from tdqsim.server.console.table import Cell, DataTable, RichCell, Row, column

__all__ = ["add"]

_COLUMNS: Final = (
    column("name", "Region"),
    column("start", "Start"),
    column("queues", "Queues", num=True),
    column("records", "Records", num=True),
    column("disabled", "Not enabled or closed", num=True),
    column("cycles", "Trigger cycles", num=True),
    column("tasks", "Tasks", num=True),
    column("waits", "Waiting", num=True),
    column("units", "Units of work", num=True),
    column("indoubt", "Indoubt", num=True),
    column("incidents", "Incidents", num=True),
    column("abends", "Abends"),
)


def add(console: Console) -> None:
    """Register the page."""
    reader = SystemReader(console)

    @ui.page("/")
    async def overview(request: Request) -> None:
        with frame(console, request, "Overview", here="overview") as visit:
            await _build(visit, reader)


async def _build(visit: Visit, reader: SystemReader) -> None:
    console = visit.console
    names = tuple(console.host.regions)
    with Block("section", "tdq-card", aria_label="Regions"):
        Block("h2", words="Regions")
        table = DataTable("Regions", _COLUMNS, empty="No region is served.")

    async def refresh() -> None:
        views = [console.live.view(name) for name in names]
        table.show([_row(visit, view, len(await incidents_of(visit, view))) for view in views])

    await visit.follow(names, refresh)
    if console.host.systems:
        await add_systems_table(visit, reader)


def _row(visit: Visit, view: RegionView, present: int) -> Row:
    region, snapshot = view.region, view.snapshot
    queues = view.queues.values()
    unusable = sum(map(is_unusable, queues))
    indoubt = sum(unit.state == "INDOUBT" for unit in snapshot.units)
    abends = ", ".join(f"{code} {count:,}" for code, count in sorted(snapshot.abends.items()))

    def link(words: int | str, page: str, tone: str = "", **query: str) -> RichCell:
        """A figure that is a link to the page with its details."""
        text = f"{words:,}" if isinstance(words, int) else words
        href = visit.href("regions", region.applid, page)
        return {"text": text, "href": f"{href}?{urlencode(query)}" if query else href, "tone": tone if words else ""}

    cells: list[Cell] = [
        link(region.applid, "queues"),
        region.recovery.start_type,
        link(len(view.queues), "queues", show="all"),
        link(sum(queue.depth for queue in queues if queue.depth > 0), "queues", show="filled"),
        link(unusable, "queues", "warn", show="off"),
        link(sum(queue.cycle for queue in queues), "queues", show="cycle"),
        link(len(snapshot.tasks), "tasks"),
        link(len(snapshot.waits), "tasks", "warn"),
        link(len(snapshot.units), "units"),
        link(indoubt, "units", "bad"),
        link(present + len(snapshot.dumps), "incidents", "bad"),
        link(abends, "incidents", "bad") if abends else "none",
    ]
    return {"id": region.applid, "cells": cells}
