"""The time line of the last tasks with their waits and units of work, from the recent events of the regions.

A unit of work that another region coordinates has the name of the coordinator's unit of work. By this name the time
line connects the tasks of several regions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, NamedTuple

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
    column("region", "Region"), column("task", "Task", num=True), column("transid", "Transaction"),
    column("began", "Began"), column("ended", "Ended"), column("seconds", "Seconds", num=True),
    column("commands", "Commands", num=True), column("waited", "Waited, seconds", num=True),
    column("units", "Units of work"), column("with", "With"), column("how", "How it ended"),
)  # fmt: skip
_NS: Final = 10**9
_BLUE, _GREEN, _RED, _ORANGE = "#3d8fdd", "#2f9e57", "#d64545", "#d9820b"
_ROWS: Final = {"25": "25", "50": "50", "100": "100"}
_EVENTS: Final = 5000


class _Unit(NamedTuple):
    """The end of a unit of work; ``name`` is the same in the region of its coordinator."""

    time_ns: int
    committed: bool
    name: str
    own: bool


class _Waited(NamedTuple):
    """A wait; ``end`` is 0 if it has not ended."""

    begin: int
    end: int
    what: str


@dataclass(slots=True)
class _Line:
    """A summary of the events of one task."""

    region: str
    number: int
    transid: str = ""
    began: int = 0
    last: int = 0
    ended: int = 0
    abend: str = ""
    commands: int = 0
    failed: int = 0
    units: list[_Unit] = field(default_factory=list)
    waits: list[_Waited] = field(default_factory=list)


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
    linked: Control = field(init=False)
    words: Block = field(init=False)
    bars: Bars = field(init=False)
    table: DataTable = field(init=False)

    async def build(self) -> None:
        with Block("section", "tdq-card", aria_label="Time line"):
            with Block("div", "tdq-row"):
                self.rows = Control("The last tasks", "select", "25", options=_ROWS, on_change=self.refresh)
                self.linked = Control(
                    "with tasks of other regions in the same units of work", "check", True, on_change=self.refresh
                )
            self.words = Block("p", "tdq-dim")
            self.bars = Bars("Tasks over time, as bars; the table below has the same data")
        with Block("section", "tdq-card", aria_label="As a list"):
            Block("h2", words="The same as a list")
            self.table = DataTable("Tasks over time", _COLUMNS, empty="No task is recorded.")
        await self.visit.follow([self.view.region.applid], self.refresh)

    async def refresh(self) -> None:
        own = self.view.region.applid
        lines = (await self._lines_of(own))[-int(self.rows.text) :]
        if self.linked.checked:
            lines = await self._with_other_regions(lines)
        pairs = list(_pairs(lines))
        self.table.show(
            [
                _row(line, _partners(at, lines, pairs), self.view.snapshot.time_ns)
                for at, line in reversed(list(enumerate(lines)))
            ]
        )
        if not lines:
            self.words.say("No task is recorded.")
            return
        first, now = min(line.began for line in lines), self.view.snapshot.time_ns
        names = [f"{line.number} {line.transid}" + (f" {line.region}" if line.region != own else "") for line in lines]
        self.bars.show(
            names, [_bar(line, first, now) for line in lines], _marks(lines, first), _waits(lines, first, now),
            [((time_ns - first) / _NS, one, other) for time_ns, one, other in pairs],
        )  # fmt: skip
        self.words.say(
            f"{len(lines)} tasks, from {moment(first)} on. Green: ended normally, red: abended, blue: running, yellow: "
            "waiting. Dots are ends of units of work, green for commit and orange for backout; dashed arrows lead to "
            "the parts of a unit of work in other regions. The slider selects a part of the time."
        )

    async def _lines_of(self, applid: str) -> list[_Line]:
        recent, view = self.visit.console.host.recent, self.visit.console.live.view(applid)
        events = await self.visit.ask(lambda: list(islice(reversed(recent.get(applid, ())), _EVENTS)))
        return _lines(applid, reversed(events), {task.number for task in view.snapshot.tasks})

    async def _with_other_regions(self, lines: list[_Line]) -> list[_Line]:
        """The tasks, each followed by the tasks of other regions in the same units of work."""
        own = self.view.region.applid
        others: dict[str, list[_Line]] = {}
        for applid in self.visit.console.host.regions:
            for line in await self._lines_of(applid) if applid != own else ():
                for name in {unit.name for unit in line.units}:
                    others.setdefault(name, []).append(line)
        found: dict[tuple[str, int], _Line] = {}
        for line in lines:
            found[line.region, line.number] = line
            for unit in line.units:
                for other in others.get(unit.name, ()):
                    found.setdefault((other.region, other.number), other)
        return list(found.values())


def _lines(applid: str, events: Iterable[dict[str, Any]], running: set[int]) -> list[_Line]:
    """The tasks of some events, in the order of their beginnings.

    A command outside a started task has no event for its end: such a task has ended if it is not in ``running``.
    """
    lines: dict[int, _Line] = {}
    for event in events:
        number = event.get("task") or 0
        if not number:
            continue
        line = lines.get(number)
        if line is None:
            line = lines[number] = _Line(applid, number, began=event["time_ns"])
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
        coordinator = event.get("coordinator")
        name = coordinator or f"{line.region}.{event['uow']}"
        line.units.append(_Unit(time_ns, event["committed"], name, own=not coordinator))
    elif kind == "task_waits":
        line.waits.append(_Waited(time_ns, 0, event["what"]))
    elif kind == "task_goes_on" and line.waits:
        line.waits[-1] = line.waits[-1]._replace(end=time_ns)
    elif kind == "task_ended":
        line.ended = time_ns
        line.abend = "" if event["normal"] else event["abcode"] or "abend"


def _bar(line: _Line, first: int, now: int) -> tuple[float, float, str]:
    until = line.ended or max(now, line.began)
    colour = _RED if line.abend else _GREEN if line.ended else _BLUE
    return (line.began - first) / _NS, (until - line.began) / _NS, colour


def _marks(lines: list[_Line], first: int) -> list[tuple[float, int, str]]:
    return [
        ((unit.time_ns - first) / _NS, row, _GREEN if unit.committed else _ORANGE)
        for row, line in enumerate(lines)
        for unit in line.units
    ]


def _waits(lines: list[_Line], first: int, now: int) -> list[tuple[float, float, int, str]]:
    return [
        ((wait.begin - first) / _NS, ((wait.end or line.ended or now) - first) / _NS, row, wait.what)
        for row, line in enumerate(lines)
        for wait in line.waits
    ]


def _pairs(lines: list[_Line]) -> Iterator[tuple[int, int, int]]:
    """The time and the rows of each unit of work that two regions share, its coordinator first."""
    owners = {unit.name: row for row, line in enumerate(lines) for unit in line.units if unit.own}
    for row, line in enumerate(lines):
        for unit in line.units:
            if not unit.own and unit.name in owners:
                yield unit.time_ns, owners[unit.name], row


def _partners(row: int, lines: list[_Line], pairs: list[tuple[int, int, int]]) -> str:
    """The tasks of other regions in the units of work of a task, as text."""
    rows = dict.fromkeys(other if row == one else one for _, one, other in pairs if row in (one, other))
    return ", ".join(f"{lines[other].region} task {lines[other].number}" for other in rows)


def _row(line: _Line, partners: str, now: int) -> Row:
    committed = sum(unit.committed for unit in line.units)
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
    waited = sum((wait.end or line.ended or now) - wait.begin for wait in line.waits)
    cells: list[Cell] = [
        line.region, line.number, line.transid, moment(line.began), moment(line.ended) if line.ended else "",
        f"{(line.ended - line.began) / _NS:.3f}" if line.ended else "", f"{line.commands}{failed}",
        f"{waited / _NS:.3f}" if line.waits else "", units, partners, how,
    ]  # fmt: skip
    return {"id": f"{line.region} {line.number}", "cells": cells}
