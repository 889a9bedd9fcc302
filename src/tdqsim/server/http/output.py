"""Routes for the output of a region: statistics, jobs of internal readers, SYSOUT data sets.

A SYSOUT data set or a job may be very long, so it is sent as text in pieces. Each piece is read in the engine's thread,
so that no record is read while it is being written.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from http import HTTPStatus
from itertools import islice
from typing import Annotated, Final, cast

from fastapi import HTTPException, Query
from fastapi.responses import PlainTextResponse, StreamingResponse

from tdqsim.cics import Region
from tdqsim.datasets import SubmittedJob, SysoutDataset, SysoutSpool
from tdqsim.hosting import RegionInternals
from tdqsim.server.answers.operating import SysoutDatasetInfo
from tdqsim.server.answers.tables import RegionStatistics, SubmittedJobInfo
from tdqsim.server.bounds import BOUNDS
from tdqsim.server.host import Host
from tdqsim.server.http.common import PathRegion, Routes, Served

routes = Routes()

_LINES: Final = BOUNDS["page_records"]
_Number = Annotated[int, Query(ge=0, le=2**31 - 1)]


@routes.operation("getStatistics")
async def statistics(host: Served, region: PathRegion) -> RegionStatistics:
    """The current statistics."""
    return await host.ask(lambda: cast("RegionStatistics", region.statistics.now().as_dict()))


# -- jobs -------------------------------------------------------------------------------------------------------------


@routes.operation("listJobs")
async def jobs(
    host: Served,
    region: PathRegion,
    position: Annotated[
        int | None,
        Query(ge=0, le=2**31 - 1, description="the position of the first job, from 0; default: the last jobs"),
    ] = None,
) -> list[SubmittedJobInfo]:
    """The jobs that were submitted through the internal reader; long jobs have only their first lines."""
    return await host.ask(lambda: [_job(each) for each in _some_jobs(region, position)])


@routes.operation("getJobCards", response_class=PlainTextResponse)
async def cards(host: Served, region: PathRegion, number: int) -> PlainTextResponse:
    """The cards of a job as text, a line each."""

    def look() -> str | None:
        job = next((each for each in region.jobs if each.number == number), None)
        return None if job is None else "".join(f"{line}\n" for line in job.text())

    text = await host.ask(look)
    if text is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"there is no job {number}")
    return PlainTextResponse(text)


def _some_jobs(region: Region, position: int | None) -> Iterator[SubmittedJob]:
    log, most = region.jobs, BOUNDS["page_jobs"]
    first = max(len(log) - most, 0) if position is None else position
    return islice(log, first, first + most)


def _job(job: SubmittedJob) -> SubmittedJobInfo:
    return {
        "number": job.number,
        "id": job.id,
        "name": job.name,
        "submitter": job.submitter,
        "time_ns": job.time_ns,
        "scan": job.scan_only,
        "cards": len(job.cards),
        "lines": job.text()[:_LINES],
    }


# -- SYSOUT -----------------------------------------------------------------------------------------------------------


@routes.operation("listSysoutDatasets")
async def sysout(
    host: Served,
    region: PathRegion,
    letter: Annotated[str, Query(alias="class", pattern="^[A-Za-z0-9]?$", description="only of this class")] = "",
    after: Annotated[_Number, Query(description="only data sets with a higher number")] = 0,
) -> list[SysoutDatasetInfo]:
    """The SYSOUT data sets of output queues, by number, a page at a time."""

    def look() -> list[SysoutDatasetInfo]:
        data_sets = RegionInternals(region).spool.datasets(letter.upper() or None)
        return [_data_set(each) for each in data_sets if each.number > after][: BOUNDS["page_jobs"]]

    return await host.ask(look)


@routes.operation("printSysoutDataset", response_class=PlainTextResponse)
async def printed(host: Served, region: PathRegion, number: int) -> StreamingResponse:
    """A SYSOUT data set in printed form, as text."""
    spool = RegionInternals(region).spool
    data_set = await host.ask(lambda: next((each for each in spool.datasets() if each.number == number), None))
    if data_set is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"there is no SYSOUT data set {number}")
    return StreamingResponse(_printed(host, region, spool, data_set), media_type="text/plain; charset=utf-8")


def _data_set(data_set: SysoutDataset) -> SysoutDatasetInfo:
    return {
        "number": data_set.number,
        "class": data_set.sysout_class,
        "ddname": data_set.ddname,
        "control": data_set.control.name,
    }


async def _printed(host: Host, region: Region, spool: SysoutSpool, data_set: SysoutDataset) -> AsyncIterator[str]:
    lines = spool.printed(data_set, region.options.code_page)

    def piece() -> str:
        next(spool.read(data_set), None)  # flush the writer's buffer, so that the file ends with a complete record
        return "".join(f"{line}\n" for line in islice(lines, _LINES))

    while text := await host.ask(piece):
        yield text
