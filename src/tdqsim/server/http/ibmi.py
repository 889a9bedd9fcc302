"""IBM i systems: their libraries, jobs and lists of data queues, definitions, CL commands.

Each request is a job of its own, of the profile of who asks. The owner's jobs are QSECOFR's, or of the profile that he
names: the process is his. What is done with one data queue is in :mod:`~tdqsim.server.http.data_queues`.
"""

# Annotations are objects here, not text: FastAPI reads them, and they name what is local to a function.

from asyncio import to_thread
from typing import Annotated, Any

from fastapi import FastAPI, Query
from pydantic import Field

from tdqsim.definitions import parse_definitions
from tdqsim.ibmi import DataQueueInfoRow, Job, System
from tdqsim.server.host import Host
from tdqsim.server.http.access import Looker
from tdqsim.server.http.common import BOUNDS, PREFIX
from tdqsim.server.http.in_jobs import JobLooker, JobOperator, in_a_job, plain
from tdqsim.server.http.values import Line, RequestBody

__all__ = ["add_systems"]


class _Definitions(RequestBody):
    """Definitions of data queues."""

    text: Annotated[str, Field(max_length=BOUNDS["body_bytes"], description="the text of a definition file")]
    create_libraries: Annotated[bool, Field(description="create libraries that are not there")] = False


def add_systems(app: FastAPI, host: Host) -> None:
    """Add the routes."""
    _add_looks(app, host)
    _add_commands(app, host)


def _add_looks(app: FastAPI, host: Host) -> None:
    @app.get(f"{PREFIX}/systems", tags=["systems"])
    async def systems(_user: Looker) -> list[dict[str, Any]]:
        """The IBM i systems that are served."""
        return await host.ask(lambda: [_about(system) for system in host.systems.values()])

    @app.get(f"{PREFIX}/systems/{{name}}", tags=["systems"])
    async def system(name: str, _user: Looker) -> dict[str, Any]:
        """One system, with its libraries and its active jobs."""
        found = host.system(name)

        def look() -> dict[str, Any]:
            jobs = [{"job": job.qualified_name, "user": job.user} for job in found.jobs.values()]
            return {**_about(found), "library_names": sorted(found.libraries), "active_jobs": jobs[:1000]}

        return await host.ask(look)

    @app.get(f"{PREFIX}/systems/{{name}}/queues", tags=["systems"])
    async def queues(
        name: str,
        user: JobLooker,
        library: Annotated[
            str,
            Query(
                pattern=r"^[*]?[A-Za-z0-9@#$_.]{0,10}[*]?$",
                max_length=10,
                description="a library, or a generic name (APP*)",
            ),
        ] = "*",
        after: Annotated[str, Query(max_length=21, description="LIB/NAME: those behind it")] = "",
        limit: Annotated[int, Query(ge=1, le=BOUNDS["queues_page"])] = 100,
    ) -> dict[str, Any]:
        """The rows of DATA_QUEUE_INFO, by library and name, a page at a time."""
        found = host.system(name)
        behind, _, behind_name = after.partition("/")

        def act(job: Job) -> tuple[DataQueueInfoRow, ...]:
            place = behind, behind_name
            return job.qsys2.data_queue_info(data_queue_library=library.upper(), after=place, limit=limit + 1)

        rows = await host.ask(lambda: in_a_job(found, user, act))
        last = rows[limit - 1] if len(rows) > limit else None
        more = None if last is None else f"{last.data_queue_library}/{last.data_queue_name}"
        return {"queues": [plain(row._asdict()) for row in rows[:limit]], "next": more}


def _about(system: System) -> dict[str, Any]:
    return {"name": system.name, "ccsid": system.ccsid, "libraries": len(system.libraries), "jobs": len(system.jobs)}


def _add_commands(app: FastAPI, host: Host) -> None:
    @app.post(f"{PREFIX}/systems/{{name}}/commands", tags=["systems"])
    async def command(name: str, line: Line, user: JobOperator) -> dict[str, Any]:
        """A CL command, such as CRTDTAQ DTAQ(APPLIB/ORDERS) MAXLEN(80); its messages."""
        found = host.system(name)

        def act(job: Job) -> list[str]:
            job.command(line.text)
            return [str(message) for message in list(job.joblog)[-100:]]

        return {"messages": await host.ask(lambda: in_a_job(found, user, act))}

    @app.post(f"{PREFIX}/systems/{{name}}/definitions", tags=["systems"], status_code=201)
    async def install(name: str, given: _Definitions, user: JobOperator) -> dict[str, Any]:
        """Create the data queues of definitions, all or none."""
        found = host.system(name)
        definitions = await to_thread(parse_definitions, given.text, file="text")

        def act(job: Job) -> list[str]:
            made = job.system.install(definitions, create_libraries=given.create_libraries)
            return [queue.qualified for queue in made]

        return {"names": await host.ask(lambda: in_a_job(found, user, act))}
