"""The incidents of a region: tasks that have abended, and what in its present state needs attention.

An abend is an incident as long as the region keeps its dump. The others are incidents as long as they last: deadlocks,
long waits for another task, units of work that are shunted indoubt, a full DFHINTRA, and triggers that start no task.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, NamedTuple

from fastapi import Request
from nicegui import ui

from tdqsim.cics.model.dump import Dump
from tdqsim.core.clock import NS_PER_SECOND
from tdqsim.server.console.controls import Block
from tdqsim.server.console.frame import Console, Visit, frame
from tdqsim.server.console.live import RegionView
from tdqsim.server.console.pages.queues import region_name
from tdqsim.server.console.pages.tasks import moment
from tdqsim.server.console.table import Cell, DataTable, Row, column
from tdqsim.testing.deadlock import lost_triggers

__all__ = ["add", "day_and_time", "incidents_of"]

_LONG: Final = 10
"""The seconds after which a wait for another task is an incident."""
_AGAIN: Final = 5.0
"""The seconds between two looks for waits that have become long."""
_ABENDS: Final = (
    column("time", "Time"), column("code", "Abend"), column("task", "Task", num=True),
    column("transid", "Transaction"), column("program", "Program"), column("userid", "User"),
    column("statement", "Statement", mono=True, wide=True),
)  # fmt: skip
_OTHERS: Final = (
    column("kind", "Incident"), column("what", "What happens", wide=True), column("todo", "What to do", wide=True),
)  # fmt: skip
_NONE: Final = "No deadlock, long wait, unit of work in doubt, full DFHINTRA or trigger that starts nothing."


class Incident(NamedTuple):
    """An incident of a region's present state.

    Attributes:
        kind: its kind, in one or two words.
        what: what happens.
        todo: what ends it.
        page: the parts of the address of the page with its details, below the region's.
    """

    kind: str
    what: str
    todo: str
    page: tuple[str, ...]


def day_and_time(time_ns: int) -> str:
    """A time in UTC with milliseconds and its day, as text."""
    return f"{datetime.fromtimestamp(time_ns / 1e9, UTC):%Y-%m-%d} {moment(time_ns)}"


async def incidents_of(visit: Visit, view: RegionView) -> list[Incident]:
    """The incidents of a region's present state, without its abends."""
    could_be_lost = any(queue.level and queue.depth >= queue.level for queue in view.queues.values())
    lost = await visit.ask(lambda: lost_triggers(view.region)) if could_be_lost else []
    return [*_present(view), *(_lost_trigger(text) for text in lost)]


def _present(view: RegionView) -> Iterator[Incident]:
    snapshot = view.snapshot
    if snapshot.deadlock:
        yield Incident("Deadlock", f"{snapshot.deadlock}.", "Only a purge or a timeout ends it.", ("tasks",))
    for wait, since_ns in view.since.items():
        seconds = (snapshot.time_ns - since_ns) // NS_PER_SECOND
        if seconds >= _LONG:
            what = f"{wait.waiter} has waited for {wait.what} for at least {seconds:,} seconds; {wait.holder} has it."
            todo = f"It ends with the unit of work of {wait.holder}, or by a purge."
            yield Incident("Long wait", what, todo, ("tasks",))
    for unit in snapshot.units:
        if unit.state == "INDOUBT" and unit.waitstate == "SHUNTED":
            what = f"{unit.uow} of {unit.transid} has lost its coordinator{f' over {unit.link}' if unit.link else ''}."
            todo = f"It keeps {unit.holds or 'no end of a queue'} until the link returns, WAITTIME ends, or by force."
            yield Incident("Indoubt", what, todo, ("units",))
    if snapshot.full:
        what = f"All {snapshot.full:,} control intervals of DFHINTRA are in use: WRITEQ TD gets NOSPACE."
        yield Incident("Full", what, "Read or delete records, or define more control intervals.", ("queues",))


def _lost_trigger(text: str) -> Incident:
    name = text.removeprefix("queue ").partition(" holds ")[0]
    what = f"{text[:1].upper()}{text[1:]}."
    return Incident("No trigger", what, "The page of the queue explains why.", ("queues", name))


def add(console: Console) -> None:
    """Register the page."""

    @ui.page("/regions/{region}/incidents")
    async def incidents(request: Request, region: str) -> None:
        name = region_name(console, region)
        with frame(console, request, "Incidents", region=name, here="incidents") as visit:
            await _Incidents(visit, console.live.view(name)).build()


@dataclass(slots=True, repr=False)
class _Incidents:
    visit: Visit
    view: RegionView
    others: DataTable = field(init=False)
    abends: DataTable = field(init=False)

    async def build(self) -> None:
        with Block("section", "tdq-card", aria_label="Now"):
            Block("h2", words="Now")
            self.others = DataTable("Incidents now", _OTHERS, empty=_NONE)
        with Block("section", "tdq-card", aria_label="Abends"):
            Block("h2", words="Tasks that have abended")
            self.abends = DataTable("Abends", _ABENDS, empty="No task has abended.")
        await self.visit.follow([self.view.region.applid], self.refresh)
        self.visit.every(_AGAIN, self.refresh)

    async def refresh(self) -> None:
        others = await incidents_of(self.visit, self.view)
        self.others.show([self._other(at, each) for at, each in enumerate(others)])
        self.abends.show([self._abend(dump) for dump in reversed(self.view.snapshot.dumps)])

    def _other(self, at: int, incident: Incident) -> Row:
        kind: Cell = {"text": incident.kind, "href": self._href(*incident.page), "tone": "bad"}
        return {"id": str(at), "cells": [kind, incident.what, incident.todo]}

    def _abend(self, dump: Dump) -> Row:
        href = self._href("incidents", str(dump.time_ns), str(dump.task))
        code: Cell = {"text": dump.code, "href": href, "tone": "bad"}
        cells: list[Cell] = [
            day_and_time(dump.time_ns), code, dump.task, dump.transid, dump.program, dump.userid,
            dump.statement or dump.reason,
        ]  # fmt: skip
        return {"id": f"{dump.time_ns} {dump.task}", "cells": cells}

    def _href(self, *parts: str) -> str:
        return self.visit.href("regions", self.view.region.applid, *parts)
