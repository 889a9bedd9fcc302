"""IBM i systems: libraries and data queues; send, receive with a wait, look, clear, attributes, CL commands.

Each request is a job of its own, of the profile of who asks; the owner's jobs are QSECOFR's. A receive that nobody
waits for any more is given up, and takes nothing.
"""

# Annotations are objects here, not text: FastAPI reads them, and they name what is local to a function.

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from tdqsim.errors import TdqError
from tdqsim.ibmi import Job, ParameterError, System
from tdqsim.server.host import Host
from tdqsim.server.http.access import Looker, Operator
from tdqsim.server.http.common import BOUNDS, PREFIX, attended
from tdqsim.server.http.values import Encoding, Line, Record, bytes_of, shown_bytes
from tdqsim.server.users import User

__all__ = ["add_systems"]

_OWNER = "QSECOFR"


class _Entry(BaseModel):
    """An entry to send."""

    model_config = ConfigDict(extra="forbid")
    data: Record
    key: Annotated[Record | None, Field(description="of a keyed queue")] = None


class _Receive(BaseModel):
    """What to receive."""

    model_config = ConfigDict(extra="forbid")
    wait: Annotated[int, Field(ge=0, le=BOUNDS["wait_seconds"], description="seconds at most")] = 0
    order: Annotated[Literal["EQ", "GT", "LT", "NE", "GE", "LE"], Field(description="of a keyed queue")] = "EQ"
    key: Annotated[Record | None, Field(description="of a keyed queue")] = None
    remove: Annotated[bool, Field(description="False looks at the entry and leaves it")] = True


class _Attributes(BaseModel):
    """What QMHQCDQ changes; what is not given stays."""

    model_config = ConfigDict(extra="forbid")
    automatic_reclaim: bool | None = None
    enforce_data_queue_locks: bool | None = None


def in_a_job(system: System, user: User, action: Callable[[Job], Any]) -> Any:
    """Something done in a job of its own; to be called in the engine's thread."""
    profile = user.id or _OWNER
    try:
        with system.job("TDQHTTP", user=profile) as job:
            return action(job)
    except ParameterError as error:
        raise TdqError(str(error)) from error


def add_systems(app: FastAPI, host: Host) -> None:
    """Add the routes."""
    _add_looks(app, host)
    _add_entries(app, host)
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
        user: Looker,
        library: Annotated[str, Query(max_length=11, description="a library, or a generic name (APP*)")] = "*",
        after: Annotated[str, Query(max_length=21, description="LIB/NAME: those behind it")] = "",
        limit: Annotated[int, Query(ge=1, le=BOUNDS["queues_page"])] = 100,
    ) -> dict[str, Any]:
        """The rows of DATA_QUEUE_INFO, by library and name, a page at a time."""
        found = host.system(name)
        rows = await host.ask(
            lambda: in_a_job(found, user, lambda job: job.qsys2.data_queue_info(data_queue_library=library.upper()))
        )
        named = sorted((f"{row.data_queue_library}/{row.data_queue_name}", row) for row in rows)
        page = [(place, row) for place, row in named if place > after][: limit + 1]
        more = page[limit - 1][0] if len(page) > limit else None
        return {"queues": [_plain(row._asdict()) for _place, row in page[:limit]], "next": more}


def _about(system: System) -> dict[str, Any]:
    return {"name": system.name, "ccsid": system.ccsid, "libraries": len(system.libraries), "jobs": len(system.jobs)}


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {name: _shown(value) for name, value in values.items()}


def _shown(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex().upper()
    if isinstance(value, Enum):
        return value.name
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _add_entries(app: FastAPI, host: Host) -> None:
    base = f"{PREFIX}/systems/{{name}}/queues/{{library}}/{{queue}}"

    @app.get(base, tags=["systems"])
    async def describe(name: str, library: str, queue: str, user: Looker) -> dict[str, Any]:
        """The attributes of a data queue: the fields of RDQD0100."""
        found = host.system(name)
        row = await host.ask(lambda: in_a_job(found, user, lambda job: job.qmhqrdqd(queue.upper(), library.upper())))
        return _plain(row._asdict())

    @app.patch(base, tags=["systems"])
    async def change(name: str, library: str, queue: str, given: _Attributes, user: Operator) -> dict[str, Any]:
        """QMHQCDQ: change attributes of a data queue."""
        found = host.system(name)

        def act(job: Job) -> Any:
            job.qmhqcdq(queue.upper(), library.upper(), **given.model_dump())
            return job.qmhqrdqd(queue.upper(), library.upper())

        row = await host.ask(lambda: in_a_job(found, user, act))
        return _plain(row._asdict())

    @app.get(f"{base}/entries", tags=["systems"])
    async def look(
        name: str,
        library: str,
        queue: str,
        user: Looker,
        position: Annotated[int, Query(ge=0, le=10**9, description="from this entry on, the first is 0")] = 0,
        limit: Annotated[int, Query(ge=1, le=BOUNDS["page_records"])] = 100,
        encoding: Encoding = "text",
    ) -> dict[str, Any]:
        """Look at entries in the queue's order, removing none."""
        found = host.system(name)

        def rows(job: Job) -> list[dict[str, Any]]:
            seen = job.qsys2.data_queue_entries(queue.upper(), library.upper(), limit=position + limit)[position:]
            return [_entry(job, row.message_data_binary, row.key_data, row.sender_job_name, encoding) for row in seen]

        entries = await host.ask(lambda: in_a_job(found, user, rows))
        return {"position": position, "entries": entries}

    @app.post(f"{base}/entries", tags=["systems"], status_code=201)
    async def send(name: str, library: str, queue: str, entry: _Entry, user: Operator) -> dict[str, Any]:
        """QSNDDTAQ."""
        found = host.system(name)

        def act(job: Job) -> int:
            data = bytes_of(entry.data, job.page)
            job.qsnddtaq(queue.upper(), library.upper(), data, _key(entry.key, job))
            return len(data)

        return {"sent": await host.ask(lambda: in_a_job(found, user, act))}

    @app.post(f"{base}/receive", tags=["systems"])
    async def receive(
        request: Request,
        name: str,
        library: str,
        queue: str,
        given: _Receive,
        user: Operator,
        encoding: Encoding = "text",
    ) -> dict[str, Any]:
        """QRCVDTAQ; `entry` is null when there was none in time."""
        found = host.system(name)

        def act(job: Job) -> dict[str, Any] | None:
            key = _key(given.key, job)
            row = job.qrcvdtaq(queue.upper(), library.upper(), given.wait, given.order, key, remove=given.remove)
            sender = None if row is None or row.sender is None else str(row.sender)
            return None if row is None else _entry(job, row.data, row.key, sender, encoding)

        waiting = asyncio.ensure_future(host.ask(lambda: in_a_job(found, user, act), name="a receive"))
        return {"entry": await attended(request, waiting, BOUNDS["wait_seconds"] + 5)}

    @app.delete(f"{base}/entries", tags=["systems"])
    async def clear(name: str, library: str, queue: str, user: Operator) -> dict[str, Any]:
        """QCLRDTAQ: clear a data queue."""
        found = host.system(name)
        gone = await host.ask(lambda: in_a_job(found, user, lambda job: job.qclrdtaq(queue.upper(), library.upper())))
        return {"cleared": gone}


def _key(key: Record | None, job: Job) -> bytes | None:
    return None if key is None else bytes_of(key, job.page)


def _entry(job: Job, data: bytes, key: bytes | None, sender: str | None, encoding: Encoding) -> dict[str, Any]:
    return {
        "data": shown_bytes(data, job.page, encoding),
        "length": len(data),
        "key": key.hex().upper() if key else None,
        "sender": sender,
    }


def _add_commands(app: FastAPI, host: Host) -> None:
    @app.post(f"{PREFIX}/systems/{{name}}/commands", tags=["systems"])
    async def command(name: str, line: Line, user: Operator) -> dict[str, Any]:
        """A CL command, such as CRTDTAQ DTAQ(APPLIB/ORDERS) MAXLEN(80); its messages."""
        found = host.system(name)

        def act(job: Job) -> list[str]:
            job.command(line.text)
            return [str(message) for message in list(job.joblog)[-100:]]

        return {"messages": await host.ask(lambda: in_a_job(found, user, act))}
