"""Routes of IBM i systems: their libraries, jobs and lists of data queues, definitions, CL commands.

Each request is a separate job, with the profile of the user. The owner of the process uses QSECOFR, or any other
profile. The routes of a data queue are in :mod:`~tdqsim.server.http.data_queues`.
"""

from __future__ import annotations

from asyncio import to_thread
from typing import Annotated

from fastapi import Query
from pydantic import Field

from tdqsim.definitions import parse_definitions
from tdqsim.ibmi import DataQueueInfoRow, Job, System
from tdqsim.server.answers.ibmi import (
    ActiveJob,
    CommandMessages,
    CreatedDataQueues,
    DataQueuePage,
    IbmiSystemState,
    SystemSummary,
)
from tdqsim.server.bounds import BOUNDS
from tdqsim.server.http.access import Caller
from tdqsim.server.http.common import EndedSystem, Routes, Served
from tdqsim.server.http.in_jobs import Jobs
from tdqsim.server.http.values import Line, RequestBody, plain
from tdqsim.server.notices import why_ended

routes = Routes()


class DataQueueDefinitions(RequestBody):
    """Definitions of data queues."""

    text: Annotated[str, Field(max_length=BOUNDS["body_bytes"], description="the text of a definition file")]
    create_libraries: Annotated[bool, Field(description="create missing libraries")] = False


@routes.operation("listSystems")
async def systems(host: Served, _user: Caller) -> list[SystemSummary]:
    """The IBM i systems that are served."""
    return await host.ask(lambda: [_about(system) for system in host.systems.values()])


@routes.operation("getSystem")
async def system(host: Served, system: EndedSystem, _user: Caller) -> IbmiSystemState:
    """One system, with its libraries and its active jobs."""

    def look() -> IbmiSystemState:
        jobs: list[ActiveJob] = [{"job": job.qualified_name, "user": job.current_user} for job in system.jobs.values()]
        return {**_about(system), "library_names": sorted(system.libraries), "active_jobs": jobs[:1000]}

    return await host.ask(look)


@routes.operation("listDataQueues")
async def queues(
    jobs: Jobs,
    library: Annotated[
        str,
        Query(
            pattern=r"^[*]?[A-Za-z0-9@#$_.]{0,10}[*]?$",
            max_length=10,
            description="a library, or a generic name (APP*)",
        ),
    ] = "*",
    after: Annotated[str, Query(max_length=21, description="LIB/NAME: only queues after it")] = "",
    limit: Annotated[int, Query(ge=1, le=BOUNDS["queues_page"])] = 100,
) -> DataQueuePage:
    """The rows of DATA_QUEUE_INFO, by library and name, a page at a time."""
    behind, _, behind_name = after.partition("/")

    def act(job: Job) -> tuple[DataQueueInfoRow, ...]:
        place = behind, behind_name
        return job.qsys2.data_queue_info(data_queue_library=library.upper(), after=place, limit=limit + 1)

    rows = await jobs.run(act)
    last = rows[limit - 1] if len(rows) > limit else None
    more = None if last is None else f"{last.data_queue_library}/{last.data_queue_name}"
    return {"queues": [plain(row) for row in rows[:limit]], "next": more}


def _about(system: System) -> SystemSummary:
    return {
        "name": system.name,
        "ccsid": system.ccsid,
        "libraries": len(system.libraries),
        "jobs": len(system.jobs),
        "ended": why_ended(system),
    }


@routes.operation("executeClCommand")
async def command(jobs: Jobs, line: Line) -> CommandMessages:
    """Run a CL command, such as CRTDTAQ DTAQ(APPLIB/ORDERS) MAXLEN(80); return its messages."""

    def act(job: Job) -> list[str]:
        job.command(line.text)
        return [str(message) for message in list(job.joblog)[-100:]]

    return {"messages": await jobs.run(act)}


@routes.operation("installDataQueues", status_code=201)
async def install(jobs: Jobs, given: DataQueueDefinitions) -> CreatedDataQueues:
    """Create the data queues of definitions, all or none."""
    definitions = await to_thread(parse_definitions, given.text, file="text")

    def act(job: Job) -> list[str]:
        made = job.system.install(definitions, create_libraries=given.create_libraries)
        return [queue.qualified for queue in made]

    return {"names": await jobs.run(act)}
