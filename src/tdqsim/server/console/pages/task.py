"""The page of one task: what it does or how it ended, and the way of its request through the regions.

The way has the tasks of all regions that carry out the same requests, each with the task that has called it and with
its last commands. It is known as long as the regions keep the events of the tasks. What a task waits for in another
region is given by ``explain``, also if that region is in another server.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from fastapi import Request
from nicegui import ui

from tdqsim import state
from tdqsim.report import BoxLine, Diagram, DiagramArrow, DiagramBox
from tdqsim.server.console.controls import Block, card
from tdqsim.server.console.flow_view import DiagramView
from tdqsim.server.console.frame import Console, Visit, frame
from tdqsim.server.console.live import RegionView
from tdqsim.server.console.page import RegionPage, region_name
from tdqsim.server.console.pages.incidents import day_and_time
from tdqsim.server.console.pages.tasks import moment
from tdqsim.server.console.table import Cell, DataTable, Row, column, row
from tdqsim.server.console.task_lines import NS, TaskLine, Ways, lines_of
from tdqsim.state import Dump

_MOST: Final = 30
"""The maximum number of tasks of a way."""
_WAY: Final = (
    column("task", "Task"), column("caller", "Called by"), column("began", "Began"), column("ended", "Ended"),
    column("seconds", "Seconds", num=True), column("commands", "Commands", num=True),
    column("units", "Units of work", mono=True), column("how", "How it ended"),
)  # fmt: skip
_COMMANDS: Final = (
    column("task", "Task"),
    column("number", "Number", num=True),
    column("command", "Command, record and answer", mono=True, wide=True),
)


def add(console: Console) -> None:
    """Register the page."""

    @ui.page("/regions/{region}/tasks/{number}")
    async def task(request: Request, region: str, number: int) -> None:
        name = region_name(console, region)
        with frame(console, request, f"Task {number}", region=name, here="tasks") as visit:
            await _Task(visit, console.live.view(name), number).build()


class _Task(RegionPage):
    def __init__(self, visit: Visit, view: RegionView, number: int) -> None:
        super().__init__(visit, view)
        self.number = number

    async def build(self) -> None:
        applid = self.region.applid
        with card("In words", ""):
            self.words = Block("p", "tdq-explain")
            with Block("p"):
                self.dump = Block("a", href="")
                Block("span", words=" ")
                Block("a", words="Time line", href=self.visit.href("regions", applid, "timeline"))
        with card("The way of the request", "The way of the request over the links"):
            self.diagram = DiagramView("Which task called which; the table below has the same data")
            self.way = DataTable("Tasks", _WAY, empty="No event of this task is kept.")
        with card("Commands", "The last commands of each task"):
            self.commands = DataTable("Commands", _COMMANDS, empty="No command of this task is kept.")
        await self.visit.follow(self.visit.console.host.regions, self.refresh)

    async def refresh(self) -> None:
        regions = self.visit.console.host.regions
        lines = [line for applid in regions for line in await lines_of(self.visit, applid)]
        own = next((line for line in lines if line.key == (self.region.applid, self.number)), None)
        chain = [] if own is None else Ways(lines).of(own)[:_MOST]
        now = partial(state.explain, self.region, str(self.number), kind="TASK")
        told = list((await self.visit.ask(now)).statements)
        if own is not None and own.ended and not own.abend:
            told = [f"Task {own.number} {own.transid} ended normally at {day_and_time(own.ended)} UTC."]
        self.words.say("\n".join(told))
        dump = _dump_of(self.visit.console.live.view(self.region.applid).snapshot.dumps, self.number)
        self.dump.say("" if dump is None else f"Abend {dump.code} of task {self.number}")
        self.dump.props["href"] = "" if dump is None else self._dump_href(self.region.applid, dump)
        self.dump.update()
        self.diagram.show(self._drawn(chain))
        self.way.show([self._row(caller, line) for caller, line in chain])
        self.commands.show([each for _caller, line in chain for each in await self._commands_of(line)])

    def _drawn(self, chain: list[tuple[TaskLine | None, TaskLine]]) -> Diagram:
        boxes = []
        for _caller, line in chain:
            lines = [BoxLine(f"{line.commands} command{'' if line.commands == 1 else 's'}")]
            lines += [BoxLine(f"abend {line.abend}", bad=True)] if line.abend else []
            name = f"{line.number} {line.transid}"
            boxes.append(DiagramBox(str(line.key), name, "transaction", line.region, tuple(lines), self._href(line)))
        arrows = [DiagramArrow(str(caller.key), str(line.key), "ships") for caller, line in chain if caller is not None]
        return Diagram(boxes, arrows)

    def _row(self, caller: TaskLine | None, line: TaskLine) -> Row:
        how: Cell = "runs"
        if line.ended:
            how = self._ended(line) if line.abend else "normally"
        above: Cell = "" if caller is None else {"text": _title(caller), "href": self._href(caller)}
        name: Cell = {"text": _title(line), "href": self._href(line)}
        units = [f"{unit.name.rpartition('.')[2]} {unit.how}" for unit in line.units]
        return row(
            str(line.key), name, above, moment(line.began), moment(line.ended) if line.ended else "",
            f"{(line.ended - line.began) / NS:.3f}" if line.ended else "", line.commands, {"lines": units}, how,
        )  # fmt: skip

    def _ended(self, line: TaskLine) -> Cell:
        text = f"abend {line.abend}"
        dump = _dump_of(self.visit.console.live.view(line.region).snapshot.dumps, line.number)
        if dump is None:
            return {"text": text, "tone": "bad"}
        return {"text": text, "tone": "bad", "href": self._dump_href(line.region, dump)}

    async def _commands_of(self, line: TaskLine) -> list[Row]:
        region = self.visit.console.host.region(line.region)
        texts = await self.visit.ask(lambda: state.last_commands(region, line.number))
        name = _title(line)
        return [row(f"{name} {at}", name, at, text) for at, text in enumerate(texts, 1)]

    def _href(self, line: TaskLine) -> str:
        return self.visit.href("regions", line.region, "tasks", str(line.number))

    def _dump_href(self, applid: str, dump: Dump) -> str:
        return self.visit.href("regions", applid, "incidents", str(dump.time_ns), str(dump.task))


def _title(line: TaskLine) -> str:
    return f"{line.region} {line.number} {line.transid}"


def _dump_of(dumps: Sequence[Dump], task: int) -> Dump | None:
    """The newest dump of a task with this number."""
    return next((each for each in reversed(dumps) if each.task == task), None)
