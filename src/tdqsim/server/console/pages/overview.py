"""All regions and systems at a glance."""

from __future__ import annotations

from typing import Any, Final

from fastapi import Request
from nicegui import ui

from tdqsim.server.console.controls import Block
from tdqsim.server.console.frame import Console, Visit, frame
from tdqsim.server.console.live import RegionView
from tdqsim.server.console.pages.systems import Glances, add_systems_table
from tdqsim.server.console.table import DataTable, column

__all__ = ["add"]

_COLUMNS: Final = (
    column("name", "Region"),
    column("start", "Start"),
    column("queues", "Queues", num=True),
    column("records", "Records", num=True),
    column("disabled", "Not enabled", num=True),
    column("cycles", "Trigger cycles", num=True),
    column("tasks", "Tasks", num=True),
    column("waits", "Waiting", num=True),
    column("units", "Units of work", num=True),
    column("indoubt", "Indoubt", num=True),
    column("abends", "Abends"),
)


def add(console: Console) -> None:
    """Register the page."""
    glances = Glances(console)

    @ui.page("/")
    async def overview(request: Request) -> None:
        with frame(console, request, "Overview", here="overview") as visit:
            await _build(visit, glances)


async def _build(visit: Visit, glances: Glances) -> None:
    console = visit.console
    names = tuple(console.host.regions)
    with Block("section", "tdq-card", aria_label="Regions"):
        Block("h2", words="Regions")
        table = DataTable("Regions", _COLUMNS, empty="No region is served.")

    async def refresh() -> None:
        table.show([_row(visit, console.live.view(name)) for name in names])

    await visit.follow(names, refresh)
    if console.host.systems:
        await add_systems_table(visit, glances)


def _row(visit: Visit, view: RegionView) -> dict[str, Any]:
    region, seen = view.region, view.seen
    queues = view.queues.values()
    waiting = len(seen.waits)
    indoubt = sum(unit.state == "INDOUBT" for unit in seen.units)
    disabled = sum(queue.enabled not in ("", "ENABLED") for queue in queues)
    abends = ", ".join(f"{code} {count}" for code, count in sorted(seen.abends.items()))
    cells = [
        {"text": region.applid, "href": visit.href("regions", region.applid, "queues")},
        region.start_type,
        len(view.queues),
        sum(queue.depth for queue in queues if queue.depth > 0),
        {"text": disabled, "tone": "warn"} if disabled else 0,
        sum(queue.cycle for queue in queues),
        len(seen.tasks),
        {"text": waiting, "tone": "warn"} if waiting else 0,
        len(seen.units),
        {"text": indoubt, "tone": "bad"} if indoubt else 0,
        {"text": abends, "tone": "bad"} if abends else "none",
    ]
    return {"id": region.applid, "cells": cells}
