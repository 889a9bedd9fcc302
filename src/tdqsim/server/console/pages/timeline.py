"""The time line of the last tasks with their waits and units of work, from the recent events of the regions.

:mod:`~tdqsim.server.console.task_lines` connects the tasks of several regions that carry out one request.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from nicegui.events import EChartPointClickEventArguments

from tdqsim.server.console.charts import Bars
from tdqsim.server.console.controls import Block, Control, card
from tdqsim.server.console.page import RegionPage
from tdqsim.server.console.pages.tasks import moment
from tdqsim.server.console.table import Cell, DataTable, Row, column, row
from tdqsim.server.console.task_lines import NS, TaskLine, Ways, lines_of

_COLUMNS: Final = (
    column("region", "Region"), column("task", "Task", num=True), column("transid", "Transaction"),
    column("began", "Began"), column("ended", "Ended"), column("seconds", "Seconds", num=True),
    column("commands", "Commands", num=True), column("waited", "Waited, seconds", num=True),
    column("units", "Units of work"), column("with", "With"), column("how", "How it ended"),
)  # fmt: skip
_BLUE, _GREEN, _RED, _ORANGE = "#3d8fdd", "#2f9e57", "#d64545", "#d9820b"
_ROWS: Final = {"25": "25", "50": "50", "100": "100"}


class TimeLinePage(RegionPage):
    """The page of the time line."""

    async def build(self) -> None:
        """Add the contents of the page."""
        self.lines: list[TaskLine] = []
        with card("Time line", ""):
            with Block("div", "tdq-row"):
                self.rows = Control("The last tasks", "select", "25", options=_ROWS, on_change=self.refresh)
                self.linked = Control(
                    "with tasks of other regions that carry out the same requests",
                    "check",
                    True,
                    on_change=self.refresh,
                )
            self.words = Block("p", "tdq-dim")
            self.bars = Bars("Tasks over time, as bars; the table below has the same data", self._open)
        with card("As a list", "The same as a list"):
            self.table = DataTable("Tasks over time", _COLUMNS, empty="No task is recorded.")
        await self.visit.follow([self.region.applid], self.refresh)

    async def refresh(self) -> None:
        """Show the present state."""
        own = self.region.applid
        lines = (await lines_of(self.visit, own))[-int(self.rows.text) :]
        if self.linked.checked:
            lines = await self._with_other_regions(lines)
        self.lines, pairs = lines, list(_pairs(lines))
        rows = [self._row(line, _partners(at, lines, pairs)) for at, line in enumerate(lines)]
        self.table.show(rows[::-1])
        if not lines:
            self.words.say("No task is recorded.")
            return
        first, now = min(line.began for line in lines), self.view.snapshot.time_ns
        names = [f"{line.number} {line.transid}" + (f" {line.region}" if line.region != own else "") for line in lines]
        self.bars.show(
            names, [_bar(line, first, now) for line in lines], _marks(lines, first), _waits(lines, first, now),
            [((time_ns - first) / NS, one, other) for time_ns, one, other in pairs],
        )  # fmt: skip
        self.words.say(
            f"{len(lines)} tasks, from {moment(first)} on. Green: ended normally, red: abended, blue: running, yellow: "
            "waiting. Dots are ends of units of work, green for commit and orange for backout; dashed arrows lead to "
            "the tasks that they have called in other regions. The slider selects a part of the time. "
            "A click on a bar, or on the number of a task in the list, shows its way over the links."
        )

    async def _with_other_regions(self, lines: list[TaskLine]) -> list[TaskLine]:
        """The tasks, each followed by the tasks of other regions that carry out the same requests."""
        own = self.region.applid
        others = [
            line
            for applid in self.visit.console.host.regions
            if applid != own
            for line in await lines_of(self.visit, applid)
        ]
        ways, found = Ways([*lines, *others]), dict[tuple[str, int], TaskLine]()
        for line in lines:
            found[line.key] = line
            for _caller, task in ways.of(line):
                found.setdefault(task.key, task)
        return list(found.values())

    def _row(self, line: TaskLine, partners: str) -> Row:
        now = self.view.snapshot.time_ns
        href = self.visit.href("regions", line.region, "tasks", str(line.number))
        committed = sum(unit.committed for unit in line.units)
        backed_out = sum(unit.time_ns > 0 for unit in line.units) - committed
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
        return row(
            f"{line.region} {line.number}",
            line.region, {"text": line.number, "href": href}, line.transid, moment(line.began),
            moment(line.ended) if line.ended else "",
            f"{(line.ended - line.began) / NS:.3f}" if line.ended else "", f"{line.commands}{failed}",
            f"{waited / NS:.3f}" if line.waits else "", units, partners, how,
        )  # fmt: skip

    def _open(self, event: EChartPointClickEventArguments) -> None:
        """Go to the page of the task of a bar or mark."""
        row = event.value[1] if isinstance(event.value, list) and len(event.value) > 1 else event.data_index
        if event.series_type in ("bar", "scatter") and isinstance(row, int) and 0 <= row < len(self.lines):
            line = self.lines[row]
            href = self.visit.href("regions", line.region, "tasks", str(line.number))
            self.visit.client.run_javascript(f"location.assign({json.dumps(href)})")


def _bar(line: TaskLine, first: int, now: int) -> tuple[float, float, str]:
    until = line.ended or max(now, line.began)
    colour = _RED if line.abend else _GREEN if line.ended else _BLUE
    return (line.began - first) / NS, (until - line.began) / NS, colour


def _marks(lines: list[TaskLine], first: int) -> list[tuple[float, int, str]]:
    return [
        ((unit.time_ns - first) / NS, row, _GREEN if unit.committed else _ORANGE)
        for row, line in enumerate(lines)
        for unit in line.units
        if unit.time_ns
    ]


def _waits(lines: list[TaskLine], first: int, now: int) -> list[tuple[float, float, int, str]]:
    return [
        ((wait.begin - first) / NS, ((wait.end or line.ended or now) - first) / NS, row, wait.what)
        for row, line in enumerate(lines)
        for wait in line.waits
    ]


def _pairs(lines: list[TaskLine]) -> Iterator[tuple[int, int, int]]:
    """The time and the rows of each call of a task in another region, the caller first."""
    ways, rows = Ways(lines), {line.key: at for at, line in enumerate(lines)}
    for at, line in enumerate(lines):
        for caller in ways.callers(line):
            yield line.ended or line.last, rows[caller.key], at


def _partners(row: int, lines: list[TaskLine], pairs: list[tuple[int, int, int]]) -> str:
    """The tasks of other regions that a task has called, or that have called it, as text."""
    rows = dict.fromkeys(other if row == one else one for _, one, other in pairs if row in (one, other))
    return ", ".join(f"{lines[other].region} task {lines[other].number}" for other in rows)
