"""The time line of the last tasks and their units of work, from the recent events of the region."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from fastapi import Request
from nicegui import ui

from tdqsim.server.console.charts import Bars
from tdqsim.server.console.controls import Block, Control
from tdqsim.server.console.frame import Console, Visit, frame
from tdqsim.server.console.live import RegionView
from tdqsim.server.console.pages.queues import region_name
from tdqsim.server.console.pages.tasks import moment
from tdqsim.server.console.table import Cell, DataTable, Row, column

__all__ = ["add"]

_COLUMNS: Final = (
    column("task", "Task", num=True), column("transid", "Transaction"), column("began", "Began"),
    column("ended", "Ended"), column("seconds", "Seconds", num=True), column("commands", "Commands", num=True),
    column("units", "Units of work"), column("how", "How it ended"),
)  # fmt: skip
_NS: Final = 10**9
_BLUE, _GREEN, _RED, _ORANGE = "#3d8fdd", "#2f9e57", "#d64545", "#d9820b"
_ROWS: Final = {"25": "25", "50": "50", "100": "100"}
_EVENTS: Final = 5000


@dataclass(slots=True)
class _Line:
    """A summary of the events of one task."""

    number: int
    transid: str = ""
    began: int = 0
    last: int = 0
    ended: int = 0
    abend: str = ""
    commands: int = 0
    failed: int = 0
    units: list[tuple[int, bool]] = field(default_factory=list)


def add(console: Console) -> None:
    """Register the page."""

    @ui.page("/regions/{region}/timeline")
    async def timeline(request: Request, region: str) -> None:
        name = region_name(console, region)
        with frame(console, request, "Time line", region=name, here="timeline") as visit:
            await _TimeLine(visit, console.live.view(name)).build()


@dataclass(slots=True, repr=False)
class _TimeLine:
    visit: Visit
    view: RegionView
    rows: Control = field(init=False)
    words: Block = field(init=False)
    bars: Bars = field(init=False)
    table: DataTable = field(init=False)

    async def build(self) -> None:
        with Block("section", "tdq-card", aria_label="Time line"):
            self.rows = Control("The last tasks", "select", "25", options=_ROWS, on_change=self.refresh)
            self.words = Block("p", "tdq-dim")
            self.bars = Bars("Tasks over time, as bars; the table below has the same data")
        with Block("section", "tdq-card", aria_label="As a list"):
            Block("h2", words="The same as a list")
            self.table = DataTable("Tasks over time", _COLUMNS, empty="No task is recorded.")
        await self.visit.follow([self.view.region.applid], self.refresh)

    async def refresh(self) -> None:
        recent, applid = self.visit.console.host.recent, self.view.region.applid
        events = await self.visit.ask(lambda: list(islice(reversed(recent.get(applid, ())), _EVENTS)))
        lines = _lines(reversed(events), {task.number for task in self.view.snapshot.tasks})[-int(self.rows.text) :]
        self.table.show([_row(line) for line in reversed(lines)])
        if not lines:
            self.words.say("No task is recorded.")
            return
        first, now = lines[0].began, self.view.snapshot.time_ns
        names = [f"{line.number} {line.transid}" for line in lines]
        self.bars.show(names, [_bar(line, first, now) for line in lines], _marks(lines, first))
        self.words.say(
            f"{len(lines)} tasks, from {moment(first)} on. Green: ended normally, red: abended, blue: running; "
            "dots are ends of units of work, green for commit and orange for backout."
        )


def _lines(events: Iterable[dict[str, Any]], running: set[int]) -> list[_Line]:
    """The tasks of some events, in the order of their beginnings.

    A command outside a started task has no event for its end: such a task has ended if it is not in ``there``.
    """
    lines: dict[int, _Line] = {}
    for event in events:
        number = event.get("task") or 0
        if not number:
            continue
        line = lines.get(number)
        if line is None:
            line = lines[number] = _Line(number, began=event["time_ns"])
        line.transid = event.get("transid") or line.transid
        _note(line, event)
    for line in lines.values():
        line.ended = line.ended or (0 if line.number in running else line.last)
    return list(lines.values())


def _note(line: _Line, event: dict[str, Any]) -> None:
    kind, time_ns = event["event"], event["time_ns"]
    line.last = time_ns
    if kind == "command":
        line.commands += 1
        line.failed += event["condition"] != "NORMAL"
    elif kind == "unit_of_work":
        line.units.append((time_ns, event["committed"]))
    elif kind == "task_ended":
        line.ended = time_ns
        line.abend = "" if event["normal"] else event["abcode"] or "abend"


def _bar(line: _Line, first: int, now: int) -> tuple[float, float, str]:
    until = line.ended or max(now, line.began)
    colour = _RED if line.abend else _GREEN if line.ended else _BLUE
    return (line.began - first) / _NS, (until - line.began) / _NS, colour


def _marks(lines: list[_Line], first: int) -> list[tuple[float, int, str]]:
    return [
        ((time_ns - first) / _NS, row, _GREEN if committed else _ORANGE)
        for row, line in enumerate(lines)
        for time_ns, committed in line.units
    ]


def _row(line: _Line) -> Row:
    committed = sum(commit for _, commit in line.units)
    backed_out = len(line.units) - committed
    units = ", ".join(
        words
        for count, words in ((committed, f"{committed} committed"), (backed_out, f"{backed_out} backed out"))
        if count
    )
    how: Cell = "running"
    if line.ended:
        how = {"text": f"abend {line.abend}", "tone": "bad"} if line.abend else "normally"
    failed = f" ({line.failed} with a condition)" if line.failed else ""
    cells: list[Cell] = [
        line.number, line.transid, moment(line.began), moment(line.ended) if line.ended else "",
        f"{(line.ended - line.began) / _NS:.3f}" if line.ended else "", f"{line.commands}{failed}", units, how,
    ]  # fmt: skip
    return {"id": str(line.number), "cells": cells}
