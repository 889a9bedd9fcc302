"""Routes of a data queue: its attributes; read, send, receive and clear entries.

If the client of a waiting receive disconnects, the receive is cancelled and removes no entry.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Body, Query, Request
from pydantic import Field, RootModel

from tdqsim.ibmi import RDQD0100, RDQD0200, DataQueueEntriesRow, Job, SeedEntry, seed_entries
from tdqsim.server.answers.ibmi import (
    BrowsedEntry,
    ClearResult,
    CommandMessages,
    EntryPage,
    ReceivedEntry,
    ReceiveResult,
    SendResult,
)
from tdqsim.server.answers.tables import DataQueueDescription, DdmDataQueueDescription
from tdqsim.server.bounds import BOUNDS
from tdqsim.server.http.common import Routes, attended
from tdqsim.server.http.in_jobs import Jobs, ObjectName
from tdqsim.server.http.values import HEX, WHOLE, Encoding, Position, Record, RequestBody, bytes_of, plain, shown_bytes

routes = Routes()

_Order = Literal["EQ", "GT", "LT", "NE", "GE", "LE"]
_Ordered = Annotated[_Order, Query(description="the relation of its key to the given one")]
_HexKey = Annotated[
    str | None,
    Query(max_length=512, pattern=HEX, description="only for a keyed queue, in hexadecimal: selects entries by key"),
]


_SentKey = Annotated[
    Record | Annotated[str, Field(max_length=512, pattern=HEX)] | None,
    Field(description="only for a keyed queue: a record, or bytes in hexadecimal"),
]


class EntryToSend(RequestBody):
    """An entry to send."""

    data: Record
    key: _SentKey = None


class EntriesToSend(RootModel[Annotated[list[EntryToSend], Field(max_length=BOUNDS["page_records"])]]):
    """Several entries to send, all or none."""


class ReceiveRequest(RequestBody):
    """Parameters of a receive."""

    wait: Annotated[int, Field(ge=0, le=BOUNDS["wait_seconds"], description="the time limit in seconds"), WHOLE] = 0
    key_order: Annotated[_Order, Field(description="only for a keyed queue")] = "EQ"
    key: _SentKey = None
    remove: Annotated[bool, Field(description="False returns the entry without removing it")] = True


class DataQueueAttributes(RequestBody):
    """The attributes for QMHQCDQ; others are not changed."""

    automatic_reclaim: bool | None = None
    enforce_data_queue_locks: bool | None = None


@routes.operation("describeDataQueue")
async def describe(
    jobs: Jobs,
    library: ObjectName,
    queue: ObjectName,
    format: Annotated[
        Literal["RDQD0100", "RDQD0200"], Query(description="RDQD0200: attributes that only a DDM queue has")
    ] = "RDQD0100",
) -> DataQueueDescription | DdmDataQueueDescription:
    """QMHQRDQD: the description of a data queue, the fields of RDQD0100 or RDQD0200."""

    def act(job: Job) -> RDQD0100 | RDQD0200:
        if format == "RDQD0200":
            return job.qmhqrdqd(queue, library, "RDQD0200")
        return job.qmhqrdqd(queue, library)

    row = await jobs.run(act)
    answer: DataQueueDescription | DdmDataQueueDescription = plain(row)
    return answer


@routes.operation("changeDataQueue")
async def change(
    jobs: Jobs, library: ObjectName, queue: ObjectName, given: DataQueueAttributes
) -> DataQueueDescription:
    """QMHQCDQ: change attributes of a data queue."""

    def act(job: Job) -> RDQD0100:
        job.qmhqcdq(queue, library, **given.model_dump())
        return job.qmhqrdqd(queue, library)

    row = await jobs.run(act)
    answer: DataQueueDescription = plain(row)
    return answer


@routes.operation("deleteDataQueue")
async def delete(jobs: Jobs, library: ObjectName, queue: ObjectName) -> CommandMessages:
    """DLTDTAQ: delete a data queue, or those of a generic name, with all entries; return its messages."""

    def act(job: Job) -> list[str]:
        job.dltdtaq(queue, library)
        return [str(message) for message in list(job.joblog)[-100:]]

    return {"messages": await jobs.run(act)}


@routes.operation("browseEntries")
async def look(
    jobs: Jobs,
    library: ObjectName,
    queue: ObjectName,
    position: Position = 0,
    limit: Annotated[int, Query(ge=1, le=BOUNDS["page_records"])] = 100,
    encoding: Encoding = "text",
    key: _HexKey = None,
    key_order: _Ordered = "EQ",
) -> EntryPage:
    """Read entries in the order of the queue without removing them."""
    wanted = _key_of(key)
    selection = ("ALL", None, None) if wanted is None else ("KEY", wanted, key_order)

    def rows(job: Job) -> list[BrowsedEntry]:
        browsed = job.qsys2.data_queue_entries(queue, library, *selection, skip=position, limit=limit)
        return [_browsed(job, row, encoding) for row in browsed]

    entries = await jobs.run(rows)
    return {"position": position, "entries": entries}


@routes.operation("clearDataQueue")
async def clear(
    jobs: Jobs, library: ObjectName, queue: ObjectName, key: _HexKey = None, key_order: _Ordered = "EQ"
) -> ClearResult:
    """QCLRDTAQ: clear a data queue, or the entries of a keyed queue whose keys match."""
    wanted = _key_of(key)
    cleared = await jobs.run(lambda job: job.qclrdtaq(queue, library, key_order, wanted))
    return {"cleared": cleared}


@routes.operation("sendEntries", status_code=201)
async def send(
    jobs: Jobs,
    library: ObjectName,
    queue: ObjectName,
    entry: Annotated[EntryToSend | EntriesToSend, Body(title="OneOrMoreEntries")],
) -> SendResult:
    """QSNDDTAQ; if the queue would refuse one of several entries, none is sent."""

    def act(job: Job) -> SendResult:
        several = entry.root if isinstance(entry, EntriesToSend) else [entry]
        made = [SeedEntry(bytes_of(each.data, job.page), _key(each.key, job)) for each in several]
        seed_entries(job, queue, library, made)
        sent = sum(len(each.data) for each in made)
        return {"sent": sent, "entries": len(made)} if isinstance(entry, EntriesToSend) else {"sent": sent}

    return await jobs.run(act)


@routes.operation("receiveEntry")
async def receive(
    request: Request,
    jobs: Jobs,
    library: ObjectName,
    queue: ObjectName,
    given: ReceiveRequest,
    encoding: Encoding = "text",
) -> ReceiveResult:
    """QRCVDTAQ; `entry` is null if none arrived within the time limit."""

    def act(job: Job) -> ReceivedEntry | None:
        key = _key(given.key, job)
        row = job.qrcvdtaq(queue, library, given.wait, given.key_order, key, remove=given.remove)
        sender = None if row is None or row.sender is None else str(row.sender)
        return None if row is None else _entry(job, row.data, row.key, sender, encoding)

    waiting = jobs.submit(act, name="a receive")
    return {"entry": await attended(request, waiting, BOUNDS["wait_seconds"] + 5)}


def _key(key: Record | str | None, job: Job) -> bytes | None:
    return bytes_of(key, job.page) if isinstance(key, Record) else _key_of(key)


def _key_of(digits: str | None) -> bytes | None:
    return None if digits is None else bytes.fromhex(digits)


def _entry(job: Job, data: bytes, key: bytes | None, sender: str | None, encoding: Encoding) -> ReceivedEntry:
    return {
        "data": shown_bytes(data, job.page, encoding),
        "length": len(data),
        "key": key.hex().upper() if key else None,
        "sender": sender,
    }


def _browsed(job: Job, row: DataQueueEntriesRow, encoding: Encoding) -> BrowsedEntry:
    return {
        "position": row.ordinal_position,
        **_entry(job, row.message_data_binary, row.key_data, row.sender_job_name, encoding),
        "current_user": row.sender_current_user,
        "enqueued": row.message_enqueue_timestamp.isoformat(),
    }
