"""Faults on and off: plans of the test kit, put on a served region."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from fastapi import HTTPException, Request
from nicegui import ui

from tdqsim.cics import Region
from tdqsim.cics.kernel.command import COMMANDS
from tdqsim.facts import Resp
from tdqsim.server.console.controls import Block, Button, Control
from tdqsim.server.console.door import Caller
from tdqsim.server.console.frame import REFUSED, Console, Visit, frame
from tdqsim.server.console.pages.queues import region_name
from tdqsim.server.console.table import DataTable, column
from tdqsim.server.users import Role
from tdqsim.testing.active import ActivePlan
from tdqsim.testing.faults import Fault, FaultPlan

__all__ = ["add"]

_COLUMNS: Final = (
    column("fault", "Fault", mono=True, wide=True), column("happened", "Has happened"), column("do", ""),
)  # fmt: skip
_MOST: Final = 100


def add(console: Console) -> None:
    """Register the page."""

    @ui.page("/regions/{region}/faults")
    async def faults(request: Request, region: str) -> None:
        name = region_name(console, region)
        caller: Caller | None = console.door.who(request)
        if caller is None or not caller.may(Role.break_):
            raise HTTPException(403, "the role break is needed")
        with frame(console, request, "Faults", region=name, here="faults") as visit:
            await _Faults(visit, console.host.region(name)).build()


@dataclass(slots=True)
class _Faults:
    visit: Visit
    region: Region
    condition: Any = None
    command: Any = None
    queue: Any = None
    transid: Any = None
    nth: Any = None
    times: Any = None
    delay: Any = None
    table: Any = None

    @property
    def active(self) -> dict[str, ActivePlan]:
        """What is at work, switched on here or through the API."""
        return self.visit.console.host.faults[self.region.applid]

    async def build(self) -> None:
        with Block("section", "tdq-card", aria_label="A new fault"):
            Block("h2", words="A new fault")
            with Block("div", "tdq-row"):
                conditions = {"": "none, a delay only"} | {
                    name: name for name in sorted(Resp.__members__) if name != "NORMAL"
                }
                commands = {"": "any"} | {name: name for name in COMMANDS}
                self.condition = Control("Condition", "select", "", options=conditions)
                self.command = Control("In place of", "select", "", options=commands)
                self.queue = Control("Queue", hint="any")
                self.transid = Control("Transaction", hint="any")
                self.nth = Control("At the nth time", "number", 1, least=1, most=10**9)
                self.times = Control("Times in a row (0 for ever)", "number", 1, least=0, most=10**9)
                self.delay = Control("Delay in seconds", "number", 0, least=0, most=10**6)
                Button("Switch on", self.on)
        with Block("section", "tdq-card", aria_label="Faults that are on"):
            Block("h2", words="Faults that are on")
            self.table = DataTable("Faults", _COLUMNS, empty="No fault is on.", on_act=self._off)
        await self.visit.follow([self.region.applid], self.refresh)

    async def refresh(self) -> None:
        rows = [
            {
                "id": key,
                "cells": [
                    "; ".join(map(_words, plan.plan.faults)),
                    {"lines": plan.happened[-5:]} if plan.happened else "not yet",
                    {"buttons": [{"id": "off", "label": "Switch off", "title": f"Switch off fault {key}"}]},
                ],
            }
            for key, plan in tuple(self.active.items())
        ]
        self.table.show(rows)

    def _fault(self) -> Fault:
        numbers = {name: getattr(self, name).value for name in ("nth", "times", "delay")}
        if None in numbers.values():
            raise ValueError("the numbers of a fault are whole ones from 0 or 1, the delay is in seconds")
        return Fault(
            self.condition.value, command=self.command.value, queue=self.queue.value.strip().upper()[:4],
            transid=self.transid.value.strip()[:4], nth=int(numbers["nth"]), times=int(numbers["times"]),
            delay=numbers["delay"],
        )  # fmt: skip

    async def on(self) -> None:
        """Switch a fault on."""
        if len(self.active) >= _MOST:
            self.visit.say(f"Fault: {_MOST} are on, which is all there may be", "bad")
            return

        def attach() -> None:
            self.visit.console.host.switch_on(self.region, FaultPlan(self._fault()))

        if await self.visit.do(Role.break_, "Switch a fault on", attach) is not REFUSED:
            await self.refresh()

    async def _off(self, row: str, _act: str) -> None:
        def detach() -> None:
            self.visit.console.host.switch_off(self.region, row)

        await self.visit.do(Role.break_, f"Switch fault {row} off", detach)
        await self.refresh()


def _words(fault: Any) -> str:
    said = {
        name: getattr(fault, name, "") for name in ("condition", "command", "queue", "transid", "nth", "times", "delay")
    }
    return ", ".join(f"{name}={value}" for name, value in said.items() if value not in ("", 0, 0.0)) or str(fault.kind)
