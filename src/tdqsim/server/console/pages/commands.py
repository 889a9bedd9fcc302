"""Command lines for operators: CEMT, and CECI with a unit of work that remains open between lines.

Both use the same text interfaces as the API and the command line. CEMT INQUIRE needs the role ``look``; a command that
changes something needs the role of the command.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Final

from fastapi import Request
from nicegui import ui

from tdqsim.cics import CemtError, Region, Task, ceci, cemt
from tdqsim.errors import TdqError, UsageError
from tdqsim.languages import Resolved, resolve
from tdqsim.server.acting import CONSOLE_TRANSID
from tdqsim.server.audit import command_text
from tdqsim.server.console.controls import Block, Button, Control, card
from tdqsim.server.console.frame import REFUSED, Console, Visit, frame
from tdqsim.server.console.page import region_name
from tdqsim.server.operations import operation, operation_of_command, operation_of_request

_KEPT: Final = 200
"""The number of lines that a screen keeps."""
_IDLE: Final = 600.0
"""Seconds after which the unit of work of a CECI session without input is backed out."""


def add(console: Console) -> None:
    """Register the page."""

    @ui.page("/regions/{region}/commands")
    async def commands(request: Request, region: str) -> None:
        name = region_name(console, region)
        with frame(console, request, "Commands", region=name, here="commands") as visit:
            served = console.host.region(name)
            _Cemt(visit, served).build()
            if visit.may(operation("UNIT OF WORK")):
                ceci = _Ceci(visit, served)
                ceci.build()
                visit.client.on_delete(ceci.leave)
            await visit.follow([name], _nothing)


async def _nothing() -> None:
    """Update nothing: this page changes only when a command is entered."""


class _Cemt:
    def __init__(self, visit: Visit, region: Region) -> None:
        self.visit, self.region = visit, region

    def build(self) -> None:
        with card("CEMT"):
            with Block("div", "tdq-row"):
                self.line = Control("CEMT line", mono=True, grow=True, hint="I TDQ(PAY*)", on_enter=self.enter)
                Button("Enter", self.enter, title="Enter the CEMT line")
            self.screen = Block("pre", "tdq-screen", " ", tabindex="0", role="log", aria_label="CEMT screen")

    async def enter(self) -> None:
        """Execute the line."""
        text = self.line.text.strip()
        try:
            requested = operation_of_request(text)
        except CemtError as error:
            self.screen.say(f" {text}\n {error}")
            return
        userid = self.visit.caller.userid or self.region.options.dfltuser
        answer = await self.visit.do(requested, lambda: cemt(self.region, text, userid=userid), text=text)
        if answer is not REFUSED:
            self.screen.say("\n".join(answer.text.split("\n")[: _KEPT * 5]))
            if answer.errors:
                self.visit.say(f"CEMT {text}: some of it failed", "bad")


class _Ceci:
    def __init__(self, visit: Visit, region: Region) -> None:
        self.visit, self.region = visit, region
        self.unit = ""
        self.variables: dict[str, Any] = {}
        self.lines: deque[str] = deque(maxlen=_KEPT)

    def build(self) -> None:
        with card("CECI"):
            with Block("div", "tdq-row"):
                self.line = Control(
                    "CECI line", mono=True, grow=True, hint="WRITEQ TD QUEUE(PAYQ) FROM(10.00)", on_enter=self.enter
                )
                Button("Enter", self.enter, title="Enter the CECI line")
                Button("Commit", lambda: self.end(commit=True), kind="plain", title="Commit the unit of work of CECI")
                Button(
                    "Back out", lambda: self.end(commit=False), kind="danger", title="Back out the unit of work of CECI"
                )
            self.state = Block("p", "tdq-dim", "No unit of work is open.", aria_live="polite")
            self.screen = Block("pre", "tdq-screen", " ", tabindex="0", role="log", aria_label="CECI screen")

    @property
    def _user(self) -> str:
        return self.visit.caller.userid or self.region.options.dfltuser

    async def enter(self) -> None:
        """Execute the line in the unit of work of the session, which begins with the first line."""
        text = self.line.text.strip()
        try:
            if not text or not await self._begun(_resolved(text)):
                return
            answer = self.visit.console.host.units.do(
                self.unit, self._user, lambda task: ceci(self.region, text, self.variables, task=task)
            )
            self.visit.say(f"CECI {text}: ...")
            result = await asyncio.wrap_future(answer)
        except TdqError as error:
            self._print(f" {text}\n {error}")
            self.visit.say(f"CECI {text}: {error}", "bad")
        else:
            self._print(result.text)
            self.visit.say(f"CECI {result.name}: {result.response.name}", "ok" if int(result.response) == 0 else "bad")
        await self._look_after()

    async def _begun(self, resolved: Resolved) -> bool:
        command = operation_of_command(resolved)
        caller = self.visit.console.callers.identify(self.visit.request)
        for needed in (operation("UNIT OF WORK"), command):
            if caller is None or not caller.may(needed.role):
                self.visit.say(f"CECI {needed.name}: refused, the role {needed.role} is needed; sign on again", "bad")
                return False
        self.visit.audit(command.name, command=command_text(resolved))
        if not self.unit:
            begin = self.visit.console.host.units.begin(self.region, self._user, _IDLE, transid=CONSOLE_TRANSID)
            self.unit = await asyncio.wrap_future(begin)
        return True

    async def _look_after(self) -> None:
        """Show whether the unit of work is still open: an abend ends it, and so does the time without input."""
        await self.visit.ask(lambda: None)  # what has ended is known to have ended behind this
        if self.unit and not self.visit.console.host.units.owner(self.unit):
            self.unit = ""
        self.state.say("A unit of work is open." if self.unit else "No unit of work is open.")
        self.visit.console.live.nudge()

    def _print(self, text: str) -> None:
        self.lines.extend(text.split("\n"))
        self.screen.say("\n".join(self.lines))

    async def end(self, *, commit: bool) -> None:
        """End the unit of work."""
        unit, self.unit = self.unit, ""
        if not unit:
            self.visit.say("CECI: no unit of work is open")
            return
        units = self.visit.console.host.units

        def act(task: Task) -> None:
            (task.syncpoint if commit else task.syncpoint_rollback)()

        try:
            await asyncio.wrap_future(units.do(unit, self._user, act, last=True))
        except TdqError as error:
            self.visit.say(f"CECI: {error}", "bad")
        else:
            self.visit.say(f"CECI: {'committed' if commit else 'backed out'}", "ok")
        await self._look_after()

    async def leave(self) -> None:
        """Back out the open unit of work of a page that was closed."""
        if self.unit:
            await self.end(commit=False)


def _resolved(text: str) -> Resolved:
    """The command of a line.

    Raises:
        TdqError: the line is not a command; or it is RETURN, which would end the task of the session.
    """
    resolved = resolve(text, bare=True)
    if resolved.command.name == "RETURN":
        raise UsageError("RETURN is refused here: Commit ends the unit of work")
    return resolved
