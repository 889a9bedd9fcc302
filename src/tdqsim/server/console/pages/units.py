"""The units of work of a region, and the forced end of those that are shunted indoubt."""

from __future__ import annotations

from typing import Final

from tdqsim.facts import Cvda
from tdqsim.server.console.controls import Block, card
from tdqsim.server.console.dialogs import confirmed
from tdqsim.server.console.page import RegionPage
from tdqsim.server.console.region_state import uncommitted
from tdqsim.server.console.table import Cell, DataTable, Row, column, row
from tdqsim.server.operations import operation
from tdqsim.state import UnitState

_COLUMNS: Final = (
    column("uow", "Unit of work", mono=True),
    column("state", "State"),
    column("waitstate", "Wait state"),
    column("task", "Task", num=True),
    column("transid", "Transaction"),
    column("userid", "User"),
    column("link", "Link"),
    column("holds", "Holds", wide=True),
    column("changes", "Not committed"),
    column("do", ""),
)
_ENDS: Final = {"COMMIT": "Commit", "BACKOUT": "Back out", "FORCE": "Apply ACTION"}


class UnitsPage(RegionPage):
    """The page of units of work."""

    async def build(self) -> None:
        """Add the contents of the page."""
        with card("Units of work", ""):
            self.words = Block("p", "tdq-explain")
            self.table = DataTable("Units of work", _COLUMNS, empty="No unit of work.", on_act=self._end)
        await self.visit.follow([self.region.applid], self.refresh)

    async def refresh(self) -> None:
        """Show the present state."""
        units = self.view.snapshot.units
        self.table.show([self._row(unit) for unit in units])
        doubtful = [unit for unit in units if _is_shunted(unit)]
        lines = [f"{len(units)} unit{'' if len(units) == 1 else 's'} of work, {len(doubtful)} shunted indoubt."]
        lines += [
            f"{unit.uow} of {unit.transid} has lost its coordinator{f' over {unit.link}' if unit.link else ''}. "
            f"It keeps {_held(unit) or 'no end of a queue'} until the link returns, WAITTIME ends, or it is forced."
            for unit in doubtful[:20]
        ]
        self.words.say("\n".join(lines))

    def _row(self, unit: UnitState) -> Row:
        state: Cell = {"text": unit.state, "tone": "bad"} if unit.state not in ("INFLIGHT", "COMMIT") else unit.state
        ends: Cell = ""
        if _is_shunted(unit) and self.visit.may(operation("SET UOW")):
            ends = {
                "buttons": [
                    {"id": how, "label": label, "title": f"{label}: {unit.uow}", "tone": "danger"}
                    for how, label in _ENDS.items()
                ]
            }
        page = self.href("tasks", str(unit.taskid))
        name: Cell = {"text": unit.uow, "href": page}
        return row(
            unit.uow, name, state, unit.waitstate, unit.task or "", unit.transid, unit.userid, unit.link, _held(unit),
            uncommitted(unit), ends,
        )  # fmt: skip

    async def _end(self, row: str, how: str) -> None:
        if how not in _ENDS or row not in {unit.uow for unit in self.view.snapshot.units}:
            return
        if await confirmed(f"Decide {row} without its coordinator?", how):
            await self.visit.task(
                operation("SET UOW"), self.region,
                lambda task: task.set_uow(bytes.fromhex(row), uowstate=Cvda[how]), uow=row, how=how,
            )  # fmt: skip


def _held(unit: UnitState) -> str:
    return ", ".join(f"{queue} {end}" for queue, end in unit.holds)


def _is_shunted(unit: UnitState) -> bool:
    return unit.state == "INDOUBT" and unit.waitstate == "SHUNTED"
