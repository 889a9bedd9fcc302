"""The incidents of a region: tasks that have abended, refused commands, and what in its state needs attention.

An abend is an incident as long as the region keeps its dump. The others are incidents as long as they last: deadlocks,
long waits for another task, units of work that are shunted indoubt, a full DFHINTRA, triggers that start no task, and
commands that were refused in the last ten minutes. The table of refused commands has the earlier ones, too.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from tdqsim.report import RefusedGroup
from tdqsim.server.console.controls import card
from tdqsim.server.console.frame import Visit
from tdqsim.server.console.live import RegionView
from tdqsim.server.console.page import RegionPage
from tdqsim.server.console.pages.tasks import moment
from tdqsim.server.console.region_state import depth
from tdqsim.server.console.table import Cell, DataTable, Row, column, row
from tdqsim.server.incidents import Incident
from tdqsim.server.incidents import incidents_of as present_incidents
from tdqsim.state import Dump

_AGAIN: Final = 5.0
"""The interval of the check for long waits, in seconds."""
_ABENDS: Final = (
    column("time", "Time"), column("code", "Abend"), column("task", "Task", num=True),
    column("transid", "Transaction"), column("program", "Program"), column("userid", "User"),
    column("statement", "Statement", mono=True, wide=True),
)  # fmt: skip
_OTHERS: Final = (
    column("kind", "Incident"), column("what", "What happens", wide=True), column("cure", "What to do", wide=True),
)  # fmt: skip
_NONE: Final = "No deadlock, long wait, unit of work in doubt, full DFHINTRA, lost trigger or refused command."
_REFUSED: Final = (
    column("last", "Last"), column("command", "Command"), column("resource", "Resource"),
    column("condition", "Condition"), column("actor", "By"), column("task", "Last task"), column("user", "User"),
    column("count", "Times", num=True), column("first", "First"), column("place", "Place", mono=True),
    column("cure", "What to do", wide=True),
)  # fmt: skip


def day_and_time(time_ns: int) -> str:
    """A time in UTC with milliseconds and its day, as text."""
    return f"{datetime.fromtimestamp(time_ns / 1e9, UTC):%Y-%m-%d} {moment(time_ns)}"


async def incidents_of(visit: Visit, view: RegionView) -> list[Incident]:
    """The incidents of a region's present state, without its abends."""
    could_be_lost = any(queue.level and depth(queue) >= queue.level for queue in view.queues.values())
    refusals = visit.console.host.refused[view.region.applid]
    return await visit.ask(lambda: present_incidents(view.region, refusals, triggers=could_be_lost))


def refused_table() -> DataTable:
    """Add a section with the table of refused commands to a page."""
    with card("Refused commands", "Commands that were refused"):
        return DataTable("Refused commands", _REFUSED, empty="No command was refused.")


def refused_row(group: RefusedGroup, now_ns: int, resource: Cell, task: Cell) -> Row:
    """The row of refused commands that are alike; ``task`` is the number of the last task or job, or a link to it."""
    condition: Cell = {"text": group.condition, "tone": "bad" if group.lasts(now_ns) else "dim"}
    return row(
        group.id, day_and_time(group.last_ns), group.command, resource, condition, group.actor, task, group.userid,
        f"{group.count:,}", day_and_time(group.first_ns), group.place, group.cure,
    )  # fmt: skip


class IncidentsPage(RegionPage):
    """The page of incidents."""

    async def build(self) -> None:
        """Add the contents of the page."""
        with card("Now"):
            self.others = DataTable("Incidents now", _OTHERS, empty=_NONE)
        with card("Abends", "Tasks that have abended"):
            self.abends = DataTable("Abends", _ABENDS, empty="No task has abended.")
        self.refused = refused_table()
        await self.visit.follow([self.region.applid], self.refresh)
        self.visit.every(_AGAIN, self.refresh)

    async def refresh(self) -> None:
        """Show the present state."""
        others = await incidents_of(self.visit, self.view)
        self.others.show([self._other(at, each) for at, each in enumerate(others)])
        self.abends.show([self._abend(dump) for dump in reversed(self.view.snapshot.dumps)])
        refusals, now_ns = self.visit.console.host.refused[self.region.applid], self.view.snapshot.time_ns
        groups = await self.visit.ask(lambda: list(refusals))
        self.refused.show(
            [refused_row(each, now_ns, self._resource(each), self._task(each)) for each in reversed(groups)]
        )

    def _other(self, at: int, incident: Incident) -> Row:
        kind: Cell = {"text": incident.kind, "href": self._href(*incident.page), "tone": "bad"}
        return row(str(at), kind, incident.what, incident.cure)

    def _resource(self, group: RefusedGroup) -> Cell:
        if group.command.endswith(" TD") and group.resource in self.view.queues:
            return {"text": group.resource, "href": self._href("queues", group.resource)}
        return group.resource

    def _task(self, group: RefusedGroup) -> Cell:
        return {"text": group.task, "href": self._href("tasks", group.task)}

    def _abend(self, dump: Dump) -> Row:
        href = self._href("incidents", str(dump.time_ns), str(dump.task))
        code: Cell = {"text": dump.code, "href": href, "tone": "bad"}
        return row(
            f"{dump.time_ns} {dump.task}",
            day_and_time(dump.time_ns), code, dump.task, dump.transid, dump.program, dump.userid,
            dump.statement or dump.reason,
        )  # fmt: skip

    def _href(self, *parts: str) -> str:
        return self.href(*parts)
