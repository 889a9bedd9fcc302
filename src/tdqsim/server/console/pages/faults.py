"""Switch faults on and off: fault plans of the test kit on a served region."""

from __future__ import annotations

from typing import Final

from fastapi import HTTPException, Request
from nicegui import ui

from tdqsim.cics import COMMANDS
from tdqsim.errors import WrongValue
from tdqsim.facts import Resp
from tdqsim.faults import ActivePlan, AnyFault, Fault, FaultPlan
from tdqsim.server.console.callers import Caller
from tdqsim.server.console.controls import Block, Button, Control, card
from tdqsim.server.console.frame import REFUSED, Console, frame
from tdqsim.server.console.page import RegionPage, region_name
from tdqsim.server.console.table import DataTable, column, row
from tdqsim.server.operations import operation

_COLUMNS: Final = (
    column("fault", "Fault", mono=True, wide=True), column("happened", "Occurred"), column("do", ""),
)  # fmt: skip
_MOST: Final = 100


def add(console: Console) -> None:
    """Register the page."""

    @ui.page("/regions/{region}/faults")
    async def faults(request: Request, region: str) -> None:
        name = region_name(console, region)
        caller: Caller | None = console.callers.identify(request)
        needed = operation("SET FAULTS")
        if caller is None or not caller.may(needed.role):
            raise HTTPException(403, f"{needed.name}: the role {needed.role} is needed")
        with frame(console, request, "Faults", region=name, here="faults") as visit:
            await _Faults(visit, console.live.view(name)).build()


class _Faults(RegionPage):
    @property
    def active(self) -> dict[str, ActivePlan]:
        """The active fault plans, from the console and the API."""
        return self.visit.console.host.faults[self.region.applid]

    async def build(self) -> None:
        with card("A new fault"), Block("div", "tdq-row"):
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
        with card("Active faults"):
            self.table = DataTable("Faults", _COLUMNS, empty="No fault is active.", on_act=self._off)
        await self.visit.follow([self.region.applid], self.refresh)

    async def refresh(self) -> None:
        self.table.show(
            [
                row(
                    key,
                    "; ".join(map(_words, plan.plan.faults)),
                    {"lines": plan.happened[-5:]} if plan.happened else "not yet",
                    {"buttons": [{"id": "off", "label": "Switch off", "title": f"Switch off fault {key}"}]},
                )
                for key, plan in tuple(self.active.items())
            ]
        )

    def _fault(self) -> Fault:
        nth, times, delay = self.nth.number, self.times.number, self.delay.number
        if nth is None or times is None or delay is None:
            raise WrongValue("nth must be 1 or more, times 0 or more, and the delay a number of seconds")
        return Fault(
            self.condition.text, command=self.command.text, queue=self.queue.text.strip().upper()[:4],
            transid=self.transid.text.strip()[:4], nth=int(nth), times=int(times),
            delay=delay,
        )  # fmt: skip

    async def on(self) -> None:
        """Switch a fault on."""
        if len(self.active) >= _MOST:
            self.visit.say(f"Fault: {_MOST} faults are active, which is the maximum", "bad")
            return

        def attach() -> None:
            self.visit.console.host.switch_on(self.region, FaultPlan(self._fault()))

        if await self.visit.do(operation("SET FAULTS"), attach, fault="a fault on") is not REFUSED:
            await self.refresh()

    async def _off(self, key: str, _act: str) -> None:
        def detach() -> None:
            self.visit.console.host.switch_off(self.region, key)

        await self.visit.do(operation("SET FAULTS"), detach, fault=f"fault {key} off")
        await self.refresh()


def _words(fault: AnyFault) -> str:
    values = {
        name: getattr(fault, name, "") for name in ("condition", "command", "queue", "transid", "nth", "times", "delay")
    }
    return ", ".join(f"{name}={value}" for name, value in values.items() if value not in ("", 0, 0.0)) or str(
        fault.kind
    )
