"""The operator's lines: CEMT, and CECI with a unit of work that lasts from line to line.

Both go by the text faces that everything else goes by. CEMT INQUIRE is for who may look; what changes something needs
the role for it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import Request
from nicegui import ui

from tdqsim.cics import Region
from tdqsim.cics.text.ceci import session
from tdqsim.cics.text.cemt import cemt
from tdqsim.cics.text.cemt_request import CemtError, parse_cemt
from tdqsim.cics.text.translator import resolve
from tdqsim.errors import TdqError
from tdqsim.server.console.controls import Block, Button, Control
from tdqsim.server.console.frame import REFUSED, Console, Visit, frame
from tdqsim.server.console.pages.queues import region_name
from tdqsim.server.users import Role

__all__ = ["add"]

_KEPT: Final = 200
"""Lines of a screen that are kept."""
_IDLE: Final = 600.0
"""Seconds after which the unit of work of a CECI session that nobody types in is backed out."""


def add(console: Console) -> None:
    """Register the page."""

    @ui.page("/regions/{region}/commands")
    async def commands(request: Request, region: str) -> None:
        name = region_name(console, region)
        with frame(console, request, "Commands", region=name, here="commands") as visit:
            found = console.host.region(name)
            _Cemt(visit, found).build()
            if visit.may(Role.operate):
                ceci = _Ceci(visit, found)
                ceci.build()
                visit.client.on_delete(ceci.leave)
            await visit.follow([name], _nothing)


async def _nothing() -> None:
    """These pages show what was asked for, and nothing else."""


@dataclass(slots=True)
class _Cemt:
    visit: Visit
    region: Region
    line: Any = None
    screen: Any = None

    def build(self) -> None:
        with Block("section", "tdq-card", aria_label="CEMT"):
            Block("h2", words="CEMT")
            with Block("div", "tdq-row"):
                self.line = Control("CEMT line", mono=True, grow=True, hint="I TDQ(PAY*)", on_enter=self.enter)
                Button("Enter", self.enter, title="Enter the CEMT line")
            self.screen = Block("pre", "tdq-screen", " ", tabindex="0", role="log", aria_label="CEMT screen")

    async def enter(self) -> None:
        """Do what the line says."""
        text = self.line.value.strip()
        try:
            request = parse_cemt(text)
        except CemtError as error:
            self.screen.say(f" {text}\n {error}")
            return
        looks = request.syntax_only or request.verb == "INQUIRE"
        userid = self.visit.caller.userid or self.region.default_user
        found = await self.visit.do(
            Role.look if looks else Role.operate, f"CEMT {text}", lambda: cemt(self.region, text, userid=userid)
        )
        if found is not REFUSED:
            self.screen.say("\n".join(found.text.split("\n")[: _KEPT * 5]))
            if found.errors:
                self.visit.say(f"CEMT {text}: not all of it was done", "bad")


@dataclass(slots=True)
class _Ceci:
    visit: Visit
    region: Region
    unit: str = ""
    variables: dict[str, Any] = field(default_factory=dict)
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT))
    line: Any = None
    screen: Any = None
    state: Any = None

    def build(self) -> None:
        with Block("section", "tdq-card", aria_label="CECI"):
            Block("h2", words="CECI")
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
        return self.visit.caller.userid or self.region.default_user

    async def enter(self) -> None:
        """Execute the line in the session's unit of work, which begins with the first."""
        text = self.line.value.strip()
        try:
            if not text or not await self._begun(_name_of(text)):
                return
            answer = self.visit.console.host.units.do(
                self.unit, self._user, lambda task: session(self.region, self.variables, task=task).execute(text)
            )
        except TdqError as error:
            self._failed(text, error)
            await self._look_after()
            return
        await self._shown(text, answer)

    async def _begun(self, command: str) -> bool:
        caller = self.visit.console.door.who(self.visit.request)
        if caller is None or not caller.may(Role.operate):
            self.visit.say("CECI: refused, the role operate is needed; sign on again", "bad")
            return False
        self.visit.audit(f"CECI {command}")
        if not self.unit:
            begin = self.visit.console.host.units.begin(self.region, self._user, _IDLE)
            self.unit = await asyncio.wrap_future(begin)
        return True

    async def _shown(self, text: str, answer: Any) -> None:
        self.visit.say(f"CECI {text}: ...")
        try:
            found = await asyncio.wrap_future(answer)
        except TdqError as error:
            self._failed(text, error)
        else:
            self._print(found.text)
            self.visit.say(f"CECI {found.name}: {found.response.name}", "ok" if int(found.response) == 0 else "bad")
        await self._look_after()

    def _failed(self, text: str, error: TdqError) -> None:
        self._print(f" {text}\n {error}")
        self.visit.say(f"CECI {text}: {error}", "bad")

    async def _look_after(self) -> None:
        """Say whether the unit of work is still there: an abend ends it, and so does nobody who types."""
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

        def act(task: Any) -> None:
            (task.syncpoint if commit else task.syncpoint_rollback)()

        try:
            await asyncio.wrap_future(units.do(unit, self._user, act, last=True))
        except TdqError as error:
            self.visit.say(f"CECI: {error}", "bad")
        else:
            self.visit.say(f"CECI: {'committed' if commit else 'backed out'}", "ok")
        await self._look_after()

    async def leave(self) -> None:
        """The browser has gone: what it left open is backed out."""
        if self.unit:
            await self.end(commit=False)


def _name_of(text: str) -> str:
    """The name of a command.

    Raises:
        TdqError: it is none; or RETURN, which would end the task under the session.
    """
    name = resolve(text, bare=True).command.name
    if name == "RETURN":
        raise TdqError("RETURN is not taken here: Commit ends the unit of work")
    return name
