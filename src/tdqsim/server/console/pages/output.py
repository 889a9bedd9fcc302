"""The output of a region: the jobs of its internal readers, and its SYSOUT data sets."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import Final

from fastapi import HTTPException, Request
from nicegui import ui

from tdqsim.cics import Region
from tdqsim.datasets import SubmittedJob, SysoutDataset
from tdqsim.hosting import RegionInternals
from tdqsim.server.console.controls import Block, Control, card
from tdqsim.server.console.frame import Console, frame
from tdqsim.server.console.page import RegionPage, region_name
from tdqsim.server.console.pager import Pager
from tdqsim.server.console.table import Cell, DataTable, Row, column, row

_PAGE: Final = 50
_LINES: Final = 2000
"""The maximum number of lines of a job or data set on its page; the API has all of them."""
_AGAIN: Final = 5.0
"""The interval between two reads, in seconds."""
_JOBS: Final = (
    column("number", "Number", num=True), column("id", "Job id", mono=True), column("name", "Name"),
    column("submitter", "Submitted by"), column("time", "Time"), column("cards", "Cards", num=True),
    column("scan", "Only scanned"),
)  # fmt: skip
_SYSOUT: Final = (
    column("number", "Number", num=True), column("class", "Class"), column("ddname", "DD name", mono=True),
    column("control", "Print control"),
)  # fmt: skip


def add(console: Console) -> None:
    """Register the pages."""

    @ui.page("/regions/{region}/output")
    async def output(request: Request, region: str) -> None:
        name = region_name(console, region)
        with frame(console, request, "Jobs and SYSOUT", region=name, here="output") as visit:
            await _Output(visit, console.live.view(name)).build()

    @ui.page("/regions/{region}/output/jobs/{number}")
    async def one_job(request: Request, region: str, number: int) -> None:
        name = region_name(console, region)
        served = console.host.region(name)
        job = await console.host.ask(lambda: next((each for each in served.jobs if each.number == number), None))
        if job is None:
            raise HTTPException(404, f"region {name} has no job {number}")
        with frame(console, request, f"Job {job.id} {job.name}", region=name, here="output"):
            _show_text(job.text(), f"/api/v1/regions/{name}/jobs/{number}", "Cards")

    @ui.page("/regions/{region}/output/sysout/{number}")
    async def one_data_set(request: Request, region: str, number: int) -> None:
        name = region_name(console, region)
        served = console.host.region(name)
        found = await console.host.ask(lambda: _printed(served, number))
        if found is None:
            raise HTTPException(404, f"region {name} has no SYSOUT data set {number}")
        data_set, lines = found
        title = f"SYSOUT {data_set.number}, class {data_set.sysout_class}, DD {data_set.ddname}"
        with frame(console, request, title, region=name, here="output"):
            _show_text(lines, f"/api/v1/regions/{name}/sysout/{number}", "Lines")


def _printed(region: Region, number: int) -> tuple[SysoutDataset, list[str]] | None:
    """A SYSOUT data set with its first lines, and one more line if there are more; None if there is none."""
    spool = RegionInternals(region).spool
    data_set = next((each for each in spool.datasets() if each.number == number), None)
    if data_set is None:
        return None
    lines = spool.printed(data_set, region.options.code_page)
    return data_set, list(islice(lines, _LINES + 1))


def _show_text(lines: list[str], whole: str, what: str) -> None:
    with card(what):
        Block("pre", "tdq-screen", "\n".join(lines[:_LINES]) or " ", tabindex="0", role="group", aria_label=f"{what}")
        more = f"The first {_LINES:,} lines. " if len(lines) > _LINES else ""
        with Block("p", "tdq-dim", more):
            Block("a", words="The whole text", href=whole)


class _Output(RegionPage):
    async def build(self) -> None:
        with card("Jobs", "Jobs that were submitted through internal readers, the last one first"):
            self.jobs = DataTable("Jobs", _JOBS, empty="No job was submitted.")
            self.jobs_pager = Pager("jobs", self.refresh, _PAGE)
        with card("SYSOUT", "SYSOUT data sets, the last one first"):
            with Block("div", "tdq-row"):
                self.letter = Control("Class", hint="all", on_change=self.refresh)
            self.data_sets = DataTable("SYSOUT data sets", _SYSOUT, keep=True, empty="No SYSOUT data set.")
            self.pager = Pager("SYSOUT data sets", self.refresh, _PAGE)
        await self.refresh()
        self.visit.every(_AGAIN, self.refresh)

    async def refresh(self) -> None:
        letter = self.letter.text.strip().upper()

        def look() -> tuple[int, list[SubmittedJob], list[SysoutDataset]]:
            jobs = self.region.jobs
            count = len(jobs)
            first = count - 1 - self.jobs_pager.at
            page = [jobs[at] for at in range(first, max(first - _PAGE, -1), -1)]
            return count, page, RegionInternals(self.region).spool.datasets(letter or None)[::-1]

        count, jobs, data_sets = await self.visit.ask(look)
        self.jobs.show([self._job(each) for each in jobs])
        self.jobs_pager.show(len(jobs), count)
        self.data_sets.show([self._data_set(each) for each in self.pager.page_of(data_sets)])

    def _job(self, job: SubmittedJob) -> Row:
        number: Cell = {"text": job.number, "href": self._href("jobs", str(job.number))}
        time = f"{datetime.fromtimestamp(job.time_ns / 1e9, UTC):%Y-%m-%d %H:%M:%S}"
        return row(
            str(job.number),
            number, job.id, job.name, job.submitter, time, f"{len(job.cards):,}", "yes" if job.scan_only else "",
        )  # fmt: skip

    def _data_set(self, data_set: SysoutDataset) -> Row:
        number: Cell = {"text": data_set.number, "href": self._href("sysout", str(data_set.number))}
        return row(str(data_set.number), number, data_set.sysout_class, data_set.ddname, data_set.control.name)

    def _href(self, *parts: str) -> str:
        return self.href("output", *parts)
