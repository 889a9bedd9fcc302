"""IBM i: the systems; the libraries, data queues, jobs and journals of one; a CL command line."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from fastapi import HTTPException, Request
from nicegui import ui

from tdqsim.errors import TdqError
from tdqsim.ibmi import Job, System
from tdqsim.server.console.controls import Block, Button, Control
from tdqsim.server.console.frame import REFUSED, Console, Visit, frame
from tdqsim.server.console.system_look import DtaqSeen, SystemSeen, as_job, journal_of, look_at_system
from tdqsim.server.console.table import Cell, DataTable, Row, column
from tdqsim.server.operations import operation

__all__ = ["Glances", "add", "add_systems_table", "system_named"]

_BEAT: Final = 0.8
"""Seconds between two looks at a system, for all browsers together."""
_PAGE: Final = 50
_QUEUES: Final = (
    column("name", "Data queue"), column("order", "Order"), column("entries", "Entries", num=True),
    column("most", "At most", num=True), column("maxlen", "Longest", num=True), column("keylen", "Key", num=True),
    column("journal", "Journal"), column("text", "Text"),
)  # fmt: skip
_LIBRARIES: Final = (
    column("library", "Library"), column("queues", "Data queues", num=True), column("journals", "Journals", num=True),
    column("text", "Text"),
)  # fmt: skip
_JOBS: Final = (column("job", "Job", mono=True), column("user", "User"), column("waits", "Waits for", wide=True))
_ENTRIES: Final = (
    column("number", "Entry", num=True), column("time", "Time"), column("type", "Type"), column("object", "Data queue"),
    column("job", "Job", mono=True), column("user", "Current user"), column("bytes", "Bytes", num=True),
)  # fmt: skip


class Glances:
    """One look at each system for all browsers, as long as any asks.

    Args:
        console: see :class:`~tdqsim.server.console.frame.Console`.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._seen: dict[str, tuple[float, asyncio.Future[SystemSeen]]] = {}

    async def at(self, system: System) -> SystemSeen:
        """The state of a system, at most half a beat old."""
        now = asyncio.get_running_loop().time()
        since, seen = self._seen.get(system.name, (0.0, None))
        if seen is None or now - since > _BEAT / 2:
            asked = self._console.host.engine.outside(partial(look_at_system, system))
            seen = asyncio.ensure_future(asyncio.wrap_future(asked))
            self._seen[system.name] = now, seen
        return await asyncio.shield(seen)


def system_named(console: Console, name: str) -> System:
    """A system that is served.

    Raises:
        HTTPException: 404: none of that name is.
    """
    found = console.host.systems.get(name.upper())
    if found is None:
        raise HTTPException(404, f"no system {name} is served")
    return found


def add(console: Console) -> None:
    """Register the pages."""
    glances = Glances(console)

    @ui.page("/systems")
    async def systems(request: Request) -> None:
        with frame(console, request, "IBM i systems", here="systems") as visit:
            await add_systems_table(visit, glances)

    @ui.page("/systems/{system}")
    async def one_system(request: Request, system: str) -> None:
        found = system_named(console, system)
        with frame(console, request, f"System {found.name}", here="systems") as visit:
            await _System(visit, found, glances).build()


async def add_systems_table(visit: Visit, glances: Glances) -> None:
    """The systems that are served, as a section of a page."""
    columns = (
        column("name", "System"), column("libraries", "Libraries", num=True), column("queues", "Data queues", num=True),
        column("entries", "Entries", num=True), column("jobs", "Active jobs", num=True),
    )  # fmt: skip
    with Block("section", "tdq-card", aria_label="IBM i systems"):
        Block("h2", words="IBM i systems")
        table = DataTable("IBM i systems", columns, empty="No IBM i system is served.")

    async def refresh() -> None:
        rows: list[Row] = []
        for name, system in visit.console.host.systems.items():
            seen = await glances.at(system)
            entries = sum(queue.entries for queue in seen.queues if queue.entries > 0)
            cells: list[Cell] = [
                {"text": text, "href": visit.href("systems", name)}
                for text in (
                    name,
                    *(f"{count:,}" for count in (len(seen.libraries), len(seen.queues), entries, len(seen.jobs))),
                )
            ]
            rows.append({"id": name, "cells": cells})
        table.show(rows)

    await refresh()
    visit.every(_BEAT, refresh)


@dataclass(slots=True, repr=False)
class _System:
    visit: Visit
    system: System
    glances: Glances
    at: int = 0
    has: Control = field(init=False)
    queues: DataTable = field(init=False)
    where: Block = field(init=False)
    buttons: tuple[Button, ...] = ()
    libraries: DataTable = field(init=False)
    jobs: DataTable = field(init=False)
    journal: Control = field(init=False)
    entries: DataTable = field(init=False)
    line: Control = field(init=False)
    screen: Block = field(init=False)

    async def build(self) -> None:
        seen = await self.glances.at(self.system)
        self._build_queues()
        with Block("div", "tdq-cols"):
            with Block("section", "tdq-card", aria_label="Libraries"):
                Block("h2", words="Libraries")
                self.libraries = DataTable("Libraries", _LIBRARIES, empty="No library.")
            with Block("section", "tdq-card", aria_label="Jobs"):
                Block("h2", words="Active jobs")
                self.jobs = DataTable("Active jobs", _JOBS, empty="No job is active.")
        self._build_journal(seen)
        if self.visit.may(operation("CL")):
            self._build_line()
        await self.refresh()
        self.visit.every(_BEAT, self.refresh)

    def _build_queues(self) -> None:
        with Block("section", "tdq-card", aria_label="Data queues"):
            Block("h2", words="Data queues")
            with Block("div", "tdq-row"):
                self.has = Control("Library or name has", on_change=self._from_the_start)
            self.queues = DataTable("Data queues", _QUEUES, empty="No data queue is like that.")
            with Block("nav", "tdq-row", aria_label="Pages of data queues"):
                steps = (("Previous", -_PAGE), ("Next", _PAGE))
                self.buttons = tuple(Button(label, partial(self._turn, step), kind="plain") for label, step in steps)
                self.where = Block("span", "tdq-dim", aria_live="polite")

    def _build_journal(self, seen: SystemSeen) -> None:
        with Block("section", "tdq-card", aria_label="Journal"):
            Block("h2", words="Journal")
            choices = {name: name for name in seen.journals} or {"": "there is none"}
            self.journal = Control(
                "Journal", "select", next(iter(choices)), options=choices, on_change=self._show_journal
            )
            self.entries = DataTable("Journal entries, the last ones", _ENTRIES, empty="No entry.")

    def _build_line(self) -> None:
        with Block("section", "tdq-card", aria_label="CL command"):
            Block("h2", words="CL command")
            with Block("div", "tdq-row"):
                self.line = Control(
                    "CL command line", mono=True, grow=True, hint="CRTDTAQ DTAQ(APPLIB/ORDERS) MAXLEN(80)",
                    on_enter=self.enter,
                )  # fmt: skip
                Button("Enter", self.enter, title="Enter the CL command")
            self.screen = Block("pre", "tdq-screen", " ", tabindex="0", role="log", aria_label="Messages of the job")

    async def refresh(self) -> None:
        seen = await self.glances.at(self.system)
        self._show_queues(seen)
        self.libraries.show([{"id": row[0], "cells": list(row)} for row in seen.libraries])
        self.jobs.show([{"id": row[0], "cells": list(row)} for row in seen.jobs])
        await self._show_journal()

    def _show_queues(self, seen: SystemSeen) -> None:
        wanted = self.has.text.strip().upper()
        found = [queue for queue in seen.queues if wanted in f"{queue.library}/{queue.name}"]
        self.at = max(0, min(self.at, max(len(found) - 1, 0) // _PAGE * _PAGE))
        page = found[self.at : self.at + _PAGE]
        self.queues.show([self._row(queue) for queue in page])
        self.where.say(f"{self.at + 1 if page else 0:,} to {self.at + len(page):,} of {len(found):,}")
        self.buttons[0].enable(self.at > 0)
        self.buttons[1].enable(self.at + _PAGE < len(found))

    def _row(self, queue: DtaqSeen) -> Row:
        place = f"{queue.library}/{queue.name}"
        href = self.visit.href("systems", self.system.name, "queues", queue.library, queue.name)
        cells: list[Cell] = [
            {"text": place, "href": href}, queue.order if queue.entries >= 0 else queue.kind,
            f"{queue.entries:,}" if queue.entries >= 0 else "", f"{queue.most:,}" if queue.most else "",
            queue.maxlen or "", queue.keylen or "", queue.journal, queue.text,
        ]  # fmt: skip
        return {"id": place, "cells": cells}

    async def _show_journal(self) -> None:
        name = self.journal.text
        rows = await self.visit.ask(lambda: journal_of(self.system, name, _PAGE)) if name else []
        self.entries.show([{"id": str(row[0]), "cells": row} for row in rows])

    async def _from_the_start(self) -> None:
        self.at = 0
        await self.refresh()

    async def _turn(self, step: int) -> None:
        self.at += step
        await self.refresh()

    async def enter(self) -> None:
        """Do a CL command in a job of the user's own."""
        text, userid = self.line.text.strip(), self.visit.caller.userid

        def act(job: Job) -> list[str]:
            job.command(text)
            return [str(message) for message in list(job.joblog)[-100:]]

        found = await self.visit.do(
            operation("CL"), lambda: as_job(self.system, userid, act), command=_command_of(text)
        )
        said = "\n".join(found) if found is not REFUSED else "(see below)"
        self.screen.say(f"> {text}\n{said}")
        try:
            await self.refresh()
        except TdqError as error:
            self.visit.say(str(error), "bad")


def _command_of(text: str) -> str:
    """The name of a command; what follows may hold a secret, which is not for a log."""
    return text.partition(" ")[0][:10].upper() or "CL command"
