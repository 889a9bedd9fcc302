"""One data queue: its attributes; entries looked at, sent, received with a wait, cleared.

A receive that nobody waits for any more is given up, and takes nothing.
"""

# Annotations are objects here, not text: FastAPI reads them, and they name what is local to a function.

import asyncio
from typing import Annotated, Any, Final, Literal

from fastapi import Body, FastAPI, Query, Request
from pydantic import Field

from tdqsim.ibmi import DataQueueEntriesRow, Job, SeedEntry, seed_entries
from tdqsim.server.host import Host
from tdqsim.server.http.common import BOUNDS, PREFIX, attended
from tdqsim.server.http.in_jobs import JobLooker, JobOperator, ObjectName, in_a_job, plain
from tdqsim.server.http.values import HEX, WHOLE, Encoding, Position, Record, RequestBody, bytes_of, shown_bytes

__all__ = ["add_data_queues"]

_BASE: Final = f"{PREFIX}/systems/{{name}}/queues/{{library}}/{{queue}}"
_Order = Literal["EQ", "GT", "LT", "NE", "GE", "LE"]
_Ordered = Annotated[_Order, Query(description="how its key is to be to the one given")]
_HexKey = Annotated[
    str | None,
    Query(max_length=512, pattern=HEX, description="of a keyed queue, in hexadecimal: only entries with such a key"),
]


class _Entry(RequestBody):
    """An entry to send."""

    data: Record
    key: Annotated[Record | None, Field(description="of a keyed queue")] = None


class _Receive(RequestBody):
    """What to receive."""

    wait: Annotated[int, Field(ge=0, le=BOUNDS["wait_seconds"], description="seconds at most"), WHOLE] = 0
    order: Annotated[_Order, Field(description="of a keyed queue")] = "EQ"
    key: Annotated[Record | None, Field(description="of a keyed queue")] = None
    remove: Annotated[bool, Field(description="False looks at the entry and leaves it")] = True


class _Attributes(RequestBody):
    """What QMHQCDQ changes; what is not given stays."""

    automatic_reclaim: bool | None = None
    enforce_data_queue_locks: bool | None = None


def add_data_queues(app: FastAPI, host: Host) -> None:
    """Add the routes."""
    _add_attributes(app, host)
    _add_look(app, host)
    _add_send(app, host)
    _add_receive(app, host)


def _add_attributes(app: FastAPI, host: Host) -> None:
    @app.get(_BASE, tags=["systems"])
    async def describe(
        name: str,
        library: ObjectName,
        queue: ObjectName,
        user: JobLooker,
        format: Annotated[  # noqa: A002  (the API's own word)
            Literal["RDQD0100", "RDQD0200"], Query(description="RDQD0200: what only a DDM queue has")
        ] = "RDQD0100",
    ) -> dict[str, Any]:
        """QMHQRDQD: the description of a data queue, the fields of RDQD0100 or RDQD0200."""
        found = host.system(name)

        def act(job: Job) -> Any:
            if format == "RDQD0200":
                return job.qmhqrdqd(queue.upper(), library.upper(), "RDQD0200")
            return job.qmhqrdqd(queue.upper(), library.upper())

        row = await host.ask(lambda: in_a_job(found, user, act))
        return plain(row._asdict())

    @app.patch(_BASE, tags=["systems"])
    async def change(
        name: str, library: ObjectName, queue: ObjectName, given: _Attributes, user: JobOperator
    ) -> dict[str, Any]:
        """QMHQCDQ: change attributes of a data queue."""
        found = host.system(name)

        def act(job: Job) -> Any:
            job.qmhqcdq(queue.upper(), library.upper(), **given.model_dump())
            return job.qmhqrdqd(queue.upper(), library.upper())

        row = await host.ask(lambda: in_a_job(found, user, act))
        return plain(row._asdict())

    @app.delete(_BASE, tags=["systems"])
    async def delete(name: str, library: ObjectName, queue: ObjectName, user: JobOperator) -> dict[str, Any]:
        """DLTDTAQ: delete a data queue, or those of a generic name, with all entries; its messages."""
        found = host.system(name)

        def act(job: Job) -> list[str]:
            job.dltdtaq(queue.upper(), library.upper())
            return [str(message) for message in list(job.joblog)[-100:]]

        return {"messages": await host.ask(lambda: in_a_job(found, user, act))}


def _add_look(app: FastAPI, host: Host) -> None:
    @app.get(f"{_BASE}/entries", tags=["systems"])
    async def look(
        name: str,
        library: ObjectName,
        queue: ObjectName,
        user: JobLooker,
        position: Position = 0,
        limit: Annotated[int, Query(ge=1, le=BOUNDS["page_records"])] = 100,
        encoding: Encoding = "text",
        key: _HexKey = None,
        order: _Ordered = "EQ",
    ) -> dict[str, Any]:
        """Look at entries in the queue's order, removing none."""
        found = host.system(name)
        wanted = _key_of(key)
        selection = ("ALL", None, None) if wanted is None else ("KEY", wanted, order)

        def rows(job: Job) -> list[dict[str, Any]]:
            seen = job.qsys2.data_queue_entries(queue.upper(), library.upper(), *selection, skip=position, limit=limit)
            return [_seen(job, row, encoding) for row in seen]

        entries = await host.ask(lambda: in_a_job(found, user, rows))
        return {"position": position, "entries": entries}

    @app.delete(f"{_BASE}/entries", tags=["systems"])
    async def clear(
        name: str,
        library: ObjectName,
        queue: ObjectName,
        user: JobOperator,
        key: _HexKey = None,
        order: _Ordered = "EQ",
    ) -> dict[str, Any]:
        """QCLRDTAQ: clear a data queue, or of a keyed one the entries of such keys."""
        found = host.system(name)
        wanted = _key_of(key)
        gone = await host.ask(
            lambda: in_a_job(found, user, lambda job: job.qclrdtaq(queue.upper(), library.upper(), order, wanted))
        )
        return {"cleared": gone}


def _add_send(app: FastAPI, host: Host) -> None:
    @app.post(f"{_BASE}/entries", tags=["systems"], status_code=201)
    async def send(
        name: str,
        library: ObjectName,
        queue: ObjectName,
        entry: Annotated[_Entry | Annotated[list[_Entry], Body(max_length=BOUNDS["page_records"])], Body()],
        user: JobOperator,
    ) -> dict[str, Any]:
        """QSNDDTAQ; of several entries none is sent when the queue would not take one."""
        found = host.system(name)

        def act(job: Job) -> dict[str, int]:
            several = entry if isinstance(entry, list) else [entry]
            made = [SeedEntry(bytes_of(each.data, job.page), _key(each.key, job)) for each in several]
            seed_entries(job, queue.upper(), library.upper(), made)
            sent = sum(len(each.data) for each in made)
            return {"sent": sent, **({"entries": len(made)} if isinstance(entry, list) else {})}

        return await host.ask(lambda: in_a_job(found, user, act))


def _add_receive(app: FastAPI, host: Host) -> None:
    @app.post(f"{_BASE}/receive", tags=["systems"])
    async def receive(
        request: Request,
        name: str,
        library: ObjectName,
        queue: ObjectName,
        given: _Receive,
        user: JobOperator,
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


def _key(key: Record | None, job: Job) -> bytes | None:
    return None if key is None else bytes_of(key, job.page)


def _key_of(digits: str | None) -> bytes | None:
    return None if digits is None else bytes.fromhex(digits)


def _entry(job: Job, data: bytes, key: bytes | None, sender: str | None, encoding: Encoding) -> dict[str, Any]:
    return {
        "data": shown_bytes(data, job.page, encoding),
        "length": len(data),
        "key": key.hex().upper() if key else None,
        "sender": sender,
    }


def _seen(job: Job, row: DataQueueEntriesRow, encoding: Encoding) -> dict[str, Any]:
    found = _entry(job, row.message_data_binary, row.key_data, row.sender_job_name, encoding)
    found |= {"current_user": row.sender_current_user, "enqueued": row.message_enqueue_timestamp.isoformat()}
    return {"position": row.ordinal_position, **found}
