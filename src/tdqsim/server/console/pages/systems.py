"""IBM i: the systems; the libraries, data queues, jobs and journals of one; a CL command line."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

from fastapi import HTTPException, Request
from nicegui import ui

from tdqsim.errors import TdqError
from tdqsim.ibmi import DataQueueState, Job, System
from tdqsim.server.audit import cl_command_name
from tdqsim.server.console.controls import Block, Button, Control, card
from tdqsim.server.console.frame import REFUSED, Console, Visit, frame
from tdqsim.server.console.page import ConsolePage
from tdqsim.server.console.pager import Pager
from tdqsim.server.console.pages.definitions import add_changed_files
from tdqsim.server.console.pages.incidents import refused_row, refused_table
from tdqsim.server.console.system_state import SystemSnapshot, as_job, read_journal, read_system
from tdqsim.server.console.table import Cell, DataTable, Row, column, row
from tdqsim.server.operations import operation

_BEAT: Final = 0.8
"""Seconds between two updates of a page."""
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


class SystemReader:
    """Reads the state of systems once for all browsers.

    Args:
        console: see :class:`~tdqsim.server.console.frame.Console`.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._snapshots: dict[str, tuple[float, asyncio.Future[SystemSnapshot]]] = {}

    async def at(self, system: System) -> SystemSnapshot:
        """The state of a system, which is at most half of :data:`_BEAT` old."""
        now = asyncio.get_running_loop().time()
        since, reading = self._snapshots.get(system.name, (0.0, None))
        if reading is None or now - since > _BEAT / 2:
            future = self._console.host.engine.outside(partial(read_system, system))
            reading = asyncio.ensure_future(asyncio.wrap_future(future))
            self._snapshots[system.name] = now, reading
        return await asyncio.shield(reading)


def system_named(console: Console, name: str) -> System:
    """A served system.

    Raises:
        HTTPException: 404: no system of that name is served.
    """
    system = console.host.systems.get(name.upper())
    if system is None:
        raise HTTPException(404, f"no system {name} is served")
    return system


def add(console: Console) -> None:
    """Register the pages."""
    reader = SystemReader(console)

    @ui.page("/systems")
    async def systems(request: Request) -> None:
        with frame(console, request, "IBM i systems", here="systems") as visit:
            await add_systems_table(visit, reader)

    @ui.page("/systems/{system}")
    async def one_system(request: Request, system: str) -> None:
        served = system_named(console, system)
        with frame(console, request, f"System {served.name}", here="systems") as visit:
            await _System(visit, served, reader).build()


async def add_systems_table(visit: Visit, reader: SystemReader) -> None:
    """Add the table of served systems to a page."""
    columns = (
        column("name", "System"), column("libraries", "Libraries", num=True), column("queues", "Data queues", num=True),
        column("entries", "Entries", num=True), column("jobs", "Active jobs", num=True),
    )  # fmt: skip
    with card("IBM i systems"):
        table = DataTable("IBM i systems", columns, empty="No IBM i system is served.")

    async def refresh() -> None:
        rows: list[Row] = []
        for name, system in visit.console.host.systems.items():
            snapshot = await reader.at(system)
            entries = sum(queue.entries for queue in snapshot.queues)
            counts = (len(snapshot.libraries), len(snapshot.queues), entries, len(snapshot.jobs))
            href = visit.href("systems", name)
            texts = (name, *(f"{count:,}" for count in counts))
            cells: list[Cell] = [{"text": text, "href": href} for text in texts]
            rows.append(row(name, *cells))
        table.show(rows)

    await refresh()
    visit.every(_BEAT, refresh)


class _System(ConsolePage):
    def __init__(self, visit: Visit, system: System, reader: SystemReader) -> None:
        super().__init__(visit)
        self.system, self.reader = system, reader

    async def build(self) -> None:
        self._build_queues()
        with Block("div", "tdq-cols"):
            with card("Libraries"):
                self.libraries = DataTable("Libraries", _LIBRARIES, empty="No library.")
            with card("Jobs", "Active jobs"):
                self.jobs = DataTable("Active jobs", _JOBS, empty="No job is active.")
        self._build_journal()
        self.refused = refused_table()
        await add_changed_files(self.visit, self.visit.console.host.watched_changes_of_systems.get(self.system.name))
        if self.visit.may(operation("CL")):
            self._build_line()
        await self.refresh()
        self.visit.every(_BEAT, self.refresh)

    def _build_queues(self) -> None:
        with card("Data queues"):
            with Block("div", "tdq-row"):
                self.has = Control("Library or name has", on_change=self._from_the_start)
            self.queues = DataTable("Data queues", _QUEUES, empty="No data queue matches.")
            self.pager = Pager("data queues", self.refresh, _PAGE)

    def _build_journal(self) -> None:
        with card("Journal"):
            self.journal = Control("Journal", "select", on_change=self._show_journal)
            self.entries = DataTable("Journal entries, the last ones", _ENTRIES, empty="No entry.")

    def _build_line(self) -> None:
        with card("CL command"):
            with Block("div", "tdq-row"):
                self.line = Control(
                    "CL command line", mono=True, grow=True, hint="CRTDTAQ DTAQ(APPLIB/ORDERS) MAXLEN(80)",
                    on_enter=self.enter,
                )  # fmt: skip
                Button("Enter", self.enter, title="Enter the CL command")
            self.screen = Block("pre", "tdq-screen", " ", tabindex="0", role="log", aria_label="Messages of the job")

    async def refresh(self) -> None:
        snapshot = await self.reader.at(self.system)
        self._show_queues(snapshot)
        self.libraries.show([row(each[0], *each) for each in snapshot.libraries])
        self.jobs.show([row(each[0], *each) for each in snapshot.jobs])
        self.journal.offer({name: name for name in snapshot.journals} or {"": "none"})
        await self._show_journal()
        refusals, clock = self.visit.console.host.refused_jobs[self.system.name], self.system.clock
        groups = await self.visit.ask(lambda: list(refusals))
        now_ns = clock.time_ns()
        self.refused.show([refused_row(each, now_ns, each.resource, each.task) for each in reversed(groups)])

    def _show_queues(self, snapshot: SystemSnapshot) -> None:
        wanted = self.has.text.strip().upper()
        matching = [queue for queue in snapshot.queues if wanted in f"{queue.library}/{queue.name}"]
        self.queues.show([self._row(queue) for queue in self.pager.page_of(matching)])

    def _row(self, queue: DataQueueState) -> Row:
        place, set_up = f"{queue.library}/{queue.name}", queue.attributes
        href = self.visit.href("systems", self.system.name, "queues", queue.library, queue.name)
        return row(
            place, {"text": place, "href": href}, set_up.type if queue.ddm else set_up.seq,
            "" if queue.ddm else f"{queue.entries:,}", f"{queue.maximum:,}" if queue.maximum else "",
            set_up.maxlen or "", set_up.keylen or "", queue.journal, queue.text,
        )  # fmt: skip

    async def _show_journal(self) -> None:
        name = self.journal.text
        rows = await self.visit.ask(lambda: read_journal(self.system, name, _PAGE)) if name else []
        self.entries.show([row(str(each[0]), *each) for each in rows])

    async def _from_the_start(self) -> None:
        self.pager.at = 0
        await self.refresh()

    async def enter(self) -> None:
        """Run a CL command in a separate job, with the profile of the user."""
        text, userid = self.line.text.strip(), self.visit.caller.userid

        def act(job: Job) -> list[str]:
            job.command(text)
            return [str(message) for message in list(job.joblog)[-100:]]

        messages = await self.visit.do(
            operation("CL"), lambda: as_job(self.system, userid, act), command=cl_command_name(text)
        )
        shown = "\n".join(messages) if messages is not REFUSED else "(see below)"
        self.screen.say(f"> {text}\n{shown}")
        try:
            await self.refresh()
        except TdqError as error:
            self.visit.say(str(error), "bad")
