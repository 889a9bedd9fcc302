"""The clock that all regions and systems share: freeze, resume, step to the next deadline, advance."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from fastapi import Request
from nicegui import ui

from tdqsim import Dispatcher
from tdqsim.server.console.controls import Block, Button, Control, card
from tdqsim.server.console.frame import Console, frame
from tdqsim.server.console.page import ConsolePage
from tdqsim.server.operations import operation

_NS: Final = 10**9
_MOST: Final = 10**9


def add(console: Console) -> None:
    """Register the page."""

    @ui.page("/clock")
    async def clock(request: Request) -> None:
        with frame(console, request, "Clock", here="clock") as visit:
            await _Clock(visit).build()


class _Clock(ConsolePage):
    async def build(self) -> None:
        with card("Clock", ""):
            self.now = Block("p", "tdq-mono")
            self.words = Block("p", "tdq-explain")
            if self.visit.may(operation("SET CLOCK")):
                with Block("div", "tdq-row"):
                    Button("Freeze", self.freeze)
                    Button("Resume", self.thaw, kind="plain")
                    Button("Step", self.step, kind="plain", title="Step to the next deadline")
                with Block("div", "tdq-row"):
                    self.seconds = Control("Seconds", "number", 60, least=0, most=_MOST, on_enter=self.advance)
                    Button("Advance", self.advance)
        await self.visit.follow(self.visit.console.host.regions, self.refresh)
        self.visit.every(1.0, self.refresh)

    async def refresh(self) -> None:
        clock, following = await self.visit.ask(self._look)
        self.now.say(f"{datetime.fromtimestamp(clock[0] / _NS, UTC):%Y-%m-%d %H:%M:%S.%f} UTC")
        state = "It stands still until it is moved." if clock[1] else "It runs with the clock of the machine."
        if following is not None:
            state += f"\nThe next deadline is in {(following - clock[0]) / _NS:,.3f} seconds."
        self.words.say(state)

    def _look(self) -> tuple[tuple[int, bool], int | None]:
        dispatcher = self.visit.console.host.engine.dispatcher
        return (dispatcher.clock.time_ns(), dispatcher.clock.frozen), dispatcher.next_deadline_ns()

    async def _move(self, what: str, call: Callable[[Dispatcher], object]) -> None:
        clock = self.visit.console.host.engine.dispatcher
        await self.visit.do(operation("SET CLOCK"), lambda: call(clock), what=what)
        await self.refresh()

    async def freeze(self) -> None:
        """Freeze the clock."""
        await self._move("Freeze the clock", lambda dispatcher: dispatcher.clock.freeze())

    async def thaw(self) -> None:
        """Resume the clock."""
        await self._move("Resume the clock", lambda dispatcher: dispatcher.clock.thaw())

    async def step(self) -> None:
        """Move to the next deadline, if there is one."""

        def move(dispatcher: Dispatcher) -> None:
            following = dispatcher.next_deadline_ns()
            if following is not None:
                dispatcher.clock.advance_to(following)

        await self._move("Step to the next deadline", move)

    async def advance(self) -> None:
        """Move the clock forward by the seconds of the control."""
        seconds = self.seconds.number
        if seconds is None:
            self.visit.say(f"Advance: 0 to {_MOST:,} seconds are allowed", "bad")
            return
        await self._move(f"Advance the clock by {seconds:g} s", lambda dispatcher: dispatcher.clock.advance(seconds))
