"""The tasks of a region, their waits, and their purge."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from tdqsim import state
from tdqsim.facts import Cvda
from tdqsim.report import Diagram, DiagramArrow, DiagramBox
from tdqsim.server.console.controls import Block, card
from tdqsim.server.console.dialogs import confirmed
from tdqsim.server.console.flow_view import DiagramView
from tdqsim.server.console.page import RegionPage
from tdqsim.server.console.table import ButtonCell, Cell, DataTable, Row, column, row
from tdqsim.server.operations import operation
from tdqsim.state import TaskState, Wait

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


def moment(time_ns: int) -> str:
    """A time in UTC with milliseconds, as text."""
    return f"{datetime.fromtimestamp(time_ns / 1e9, UTC):%H:%M:%S.%f}"[:-3]


class TasksPage(RegionPage):
    """The page of tasks."""

    async def build(self) -> None:
        """Add the contents of the page."""
        with card("In words", ""):
            self.words = Block("p", "tdq-explain")
        with card("Tasks", "Tasks that have not ended"):
            self.table = DataTable("Tasks", _COLUMNS, empty="No task.", on_act=self._purge)
        with card("Waits", "Who waits for whom"):
            self.waits = DataTable("Waits", _WAITS, empty="No task waits.")
            self.diagram = DiagramView("Who waits for whom; the table above has the same data")
        await self.visit.follow([self.region.applid], self.refresh)

    async def refresh(self) -> None:
        """Show the present state."""
        snapshot = self.view.snapshot
        self.table.show([self._row(task) for task in snapshot.tasks])
        self.waits.show([row(str(at), wait.waiter, wait.what, wait.holder) for at, wait in enumerate(snapshot.waits)])
        self.diagram.show(_drawn(snapshot.waits[:_DRAWN]))
        self.diagram.set_visibility(any(wait.holder for wait in snapshot.waits))
        region = self.region
        ring, lost = await self.visit.ask(lambda: (state.find_deadlock([region]), state.lost_triggers(region)))
        self.words.say(_in_words(snapshot.tasks, snapshot.waits, ring.text if ring is not None else "", lost))

    def _row(self, task: TaskState) -> Row:
        purges: list[ButtonCell] = [
            {"id": how, "label": label, "title": f"{label} task {task.number} {task.transid}", "tone": "danger"}
            for how, label in _PURGES
            if self.visit.may(operation("SET TASK", [how]))
        ]
        waits: Cell = {"text": task.waits_for, "tone": "warn"} if task.waits_for else ""
        until = moment(task.until_ns) if task.until_ns else ""
        do: Cell = {"buttons": purges} if purges else ""
        page = self.href("tasks", str(task.number))
        number: Cell = {"text": task.number, "href": page}
        by = f"queue {task.queue}" if task.queue else task.startcode
        return row(str(task.number), number, task.transid, task.userid, by, waits, until, task.uow, do)

    async def _purge(self, row: str, how: str) -> None:
        if how not in dict(_PURGES) or not row.isdecimal():
            return
        if await confirmed(f"{how.capitalize()} task {row}? Its uncommitted changes are backed out.", how):
            await self.visit.task(
                operation("SET TASK", [how]), self.region,
                lambda task: task.set_task(int(row), purgetype=Cvda[how]), task=row, how=how,
            )  # fmt: skip


def _in_words(tasks: tuple[TaskState, ...], waits: tuple[Wait, ...], ring: str, lost: list[str]) -> str:
    lines = [f"{_count(len(tasks), 'task')}, {len(waits)} of them waiting."]
    if ring:
        lines.append(f"A deadlock, which only a purge or a timeout ends: {ring}.")
    lines += [
        f"{wait.waiter} waits for {wait.what}{f', which {wait.holder} has' if wait.holder else ''}."
        for wait in waits[:20]
    ]
    lines += [f"{text[:1].upper()}{text[1:]}." for text in lost[:20]]
    return "\n".join(lines)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _drawn(waits: tuple[Wait, ...]) -> Diagram:
    """Arrows from the waiting task to the holder of the resource."""
    edges = [wait for wait in waits if wait.holder]
    names = dict.fromkeys(name for wait in edges for name in (wait.waiter, wait.holder))
    boxes = [DiagramBox(name, name, "transaction") for name in names]
    return Diagram(boxes, [DiagramArrow(wait.waiter, wait.holder, "waits for", wait.what) for wait in edges])
