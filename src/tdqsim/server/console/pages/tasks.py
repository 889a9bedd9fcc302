"""The tasks of a region: what each waits for, who waits for whom, and their purge."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from fastapi import Request
from nicegui import ui

from tdqsim.cics.look.waits import Wait
from tdqsim.facts import Cvda
from tdqsim.server.console.charts import Arrow, Graph
from tdqsim.server.console.controls import Block
from tdqsim.server.console.dialogs import confirmed
from tdqsim.server.console.frame import Console, Visit, frame
from tdqsim.server.console.live import RegionView
from tdqsim.server.console.pages.queues import region_name
from tdqsim.server.console.placing import Box, placed
from tdqsim.server.console.seen import TaskSeen
from tdqsim.server.console.table import ButtonCell, Cell, DataTable, Row, column
from tdqsim.server.operations import operation
from tdqsim.testing.deadlock import Deadlock, find_deadlock, lost_triggers

__all__ = ["add", "moment"]

_COLUMNS: Final = (
    column("task", "Task", num=True),
    column("transid", "Transaction"),
    column("userid", "User"),
    column("by", "Started by"),
    column("waits", "Waits for", wide=True),
    column("until", "Until"),
    column("uow", "Unit of work", mono=True),
    column("do", ""),
)
_WAITS: Final = (column("who", "Who waits"), column("what", "For", wide=True), column("holder", "Held by"))
_PURGES: Final = ({"PURGE": "Purge", "FORCEPURGE": "Forcepurge"}).items()
_DRAWN: Final = 60
_GAP: Final = 220
"""Room for the words of what is waited for, in pixels."""


def moment(time_ns: int) -> str:
    """A moment, to the millisecond, in UTC."""
    return f"{datetime.fromtimestamp(time_ns / 1e9, UTC):%H:%M:%S.%f}"[:-3]


def add(console: Console) -> None:
    """Register the page."""

    @ui.page("/regions/{region}/tasks")
    async def tasks(request: Request, region: str) -> None:
        name = region_name(console, region)
        with frame(console, request, "Tasks", region=name, here="tasks") as visit:
            await _Tasks(visit, console.live.view(name)).build()


@dataclass(slots=True, repr=False)
class _Tasks:
    visit: Visit
    view: RegionView
    words: Block = field(init=False)
    table: DataTable = field(init=False)
    waits: DataTable = field(init=False)
    graph: Graph = field(init=False)

    async def build(self) -> None:
        with Block("section", "tdq-card", aria_label="In words"):
            self.words = Block("p", "tdq-explain")
        with Block("section", "tdq-card", aria_label="Tasks"):
            Block("h2", words="Tasks that have begun and not ended")
            self.table = DataTable("Tasks", _COLUMNS, empty="No task is there.", on_act=self._purge)
        with Block("section", "tdq-card", aria_label="Waits"):
            Block("h2", words="Who waits for whom")
            self.waits = DataTable("Waits", _WAITS, empty="Nobody waits.")
            self.graph = Graph("Who waits for whom, as boxes and arrows; the table above says the same")
        await self.visit.follow([self.view.region.applid], self.refresh)

    async def refresh(self) -> None:
        seen = self.view.seen
        self.table.show([self._row(task) for task in seen.tasks])
        self.waits.show(
            [{"id": str(at), "cells": [wait.waiter, wait.what, wait.holder]} for at, wait in enumerate(seen.waits)]
        )
        self.graph.show(*_drawn(seen.waits[:_DRAWN]))
        self.graph.visible(any(wait.holder for wait in seen.waits))
        region = self.view.region
        told = await self.visit.ask(lambda: (find_deadlock([region]), lost_triggers(region)))
        self.words.say(_in_words(seen.tasks, seen.waits, *told))

    def _row(self, task: TaskSeen) -> Row:
        purges: list[ButtonCell] = [
            {"id": how, "label": label, "title": f"{label} task {task.number} {task.transid}", "tone": "danger"}
            for how, label in _PURGES
            if self.visit.may(operation("SET TASK", [how]))
        ]
        waits: Cell = {"text": task.waits_for, "tone": "warn"} if task.waits_for else ""
        until = moment(task.until_ns) if task.until_ns else ""
        do: Cell = {"buttons": purges} if purges else ""
        cells: list[Cell] = [task.number, task.transid, task.userid, task.started_by, waits, until, task.uow, do]
        return {"id": str(task.number), "cells": cells}

    async def _purge(self, row: str, how: str) -> None:
        if how not in dict(_PURGES) or not row.isdecimal():
            return
        if await confirmed(f"{how.capitalize()} task {row}? What it has not committed is backed out.", how):
            await self.visit.task(
                operation("SET TASK", [how]), self.view.region,
                lambda task: task.set_task(int(row), purgetype=Cvda[how]), task=row, how=how,
            )  # fmt: skip


def _in_words(tasks: tuple[TaskSeen, ...], waits: tuple[Wait, ...], ring: Deadlock | None, lost: list[str]) -> str:
    lines = [f"{_count(len(tasks), 'task')}, {len(waits)} of them waiting."]
    if ring is not None:
        lines.append(f"A ring, which nothing but a purge or a time-out ends: {ring.text}.")
    lines += [
        f"{wait.waiter} waits for {wait.what}{f', which {wait.holder} has' if wait.holder else ''}."
        for wait in waits[:20]
    ]
    lines += [f"{text[:1].upper()}{text[1:]}." for text in lost[:20]]
    return "\n".join(lines)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _drawn(waits: tuple[Wait, ...]) -> tuple[list[Box], list[Arrow]]:
    """Boxes and arrows: from who waits to who has what he waits for."""
    edges = [(wait.waiter, wait.holder, wait.what) for wait in waits if wait.holder]
    waiting = {wait.waiter for wait in waits}
    boxes = placed([(one, other) for one, other, _ in edges], gap=_GAP)
    for box in boxes:
        box["itemStyle"] = {"color": "#b35c00" if box["name"] in waiting else "#1f7a3d"}
    arrows: list[Arrow] = [
        {
            "source": one,
            "target": other,
            "lineStyle": {"curveness": 0.1},
            "label": {"formatter": what.replace("{", "(").replace("}", ")")},
        }
        for one, other, what in edges
    ]
    return boxes, arrows
