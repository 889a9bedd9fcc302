"""Routes of records: peek by page and position, WRITEQ, READQ, DELETEQ, seed."""

from __future__ import annotations

import asyncio
from functools import partial
from http import HTTPStatus
from typing import Annotated

from fastapi import Body, HTTPException, Query, Request

from tdqsim import state
from tdqsim.cics import Condition, Task
from tdqsim.facts import Resp
from tdqsim.server.acting import in_a_task
from tdqsim.server.answers.regions import DecodedPage, PeekPage, ReadRecord, ReadRecords, SeedResult, WriteResult
from tdqsim.server.bounds import BOUNDS
from tdqsim.server.http.access import Caller
from tdqsim.server.http.common import PathRegion, Routes, Served, as_task, attended
from tdqsim.server.http.values import Decoding, Encoding, Position, Record, Records, decoded, shown

routes = Routes()

_Limit = Annotated[int, Query(ge=1, le=BOUNDS["page_records"])]


@routes.operation("peekRecords")
async def peek(
    host: Served,
    region: PathRegion,
    queue: str,
    user: Caller,
    position: Position = 0,
    limit: _Limit = 100,
    encoding: Encoding = "text",
    uncommitted: Annotated[bool, Query(description="what units of work have written, not what they read")] = False,
) -> PeekPage:
    """Read records without removing them, a page at a time."""
    records = await host.ask(
        lambda: state.records(region, queue, userid=user.id, skip=position, limit=limit, uncommitted=uncommitted)
    )
    return {"position": position, "records": [shown(record, region, encoding) for record in records]}


@routes.operation("peekDecodedRecords")
async def peek_by_own_layout(
    host: Served, region: PathRegion, queue: str, user: Caller, position: Position = 0, limit: _Limit = 100
) -> DecodedPage:
    """Read records decoded by the layout of the queue in region.yaml, without removing them; 404 without one."""
    made = host.layouts.get(region.applid, {}).get(queue.rstrip(" "))
    if made is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"queue {queue[:20]!r}: region.yaml gives it no layout")
    records = await host.ask(lambda: state.records(region, queue, userid=user.id, skip=position, limit=limit))
    shown_records = await asyncio.to_thread(lambda: [decoded(record, made, region) for record in records])
    return {"layout": made.name, "position": position, "records": shown_records}


@routes.operation("peekRecordsByLayout")
async def peek_decoded(
    host: Served,
    region: PathRegion,
    queue: str,
    layout: Decoding,
    user: Caller,
    position: Position = 0,
    limit: _Limit = 100,
) -> DecodedPage:
    """Read records decoded by a copybook or YAML layout, without removing them; `problem` names invalid fields."""
    made = await asyncio.to_thread(layout.layout, region.options.code_page.name)
    records = await host.ask(lambda: state.records(region, queue, userid=user.id, skip=position, limit=limit))
    shown_records = await asyncio.to_thread(lambda: [decoded(record, made, region) for record in records])
    return {"position": position, "records": shown_records}


@routes.operation("readRecords")
async def read(
    host: Served,
    request: Request,
    region: PathRegion,
    queue: str,
    user: Caller,
    nosuspend: Annotated[bool, Query(description="end with QBUSY instead of waiting")] = False,
    encoding: Encoding = "text",
    count: Annotated[
        int | None,
        Query(
            ge=1,
            le=BOUNDS["page_records"],
            description="read up to this number of records, or to QZERO; the answer is a list",
        ),
    ] = None,
) -> ReadRecord | ReadRecords:
    """READQ TD, as a separate task; the record is removed from the queue."""
    if count is not None:
        take = partial(in_a_task, region, user.id, lambda task: _several(task, queue, count, nosuspend=nosuspend))
        records: list[bytes] = await attended(request, host.submit(take))
        return {"records": [shown(each, region, encoding) for each in records]}
    call = partial(in_a_task, region, user.id, lambda task: task.readq_td(queue, nosuspend=nosuspend))
    record: bytes = await attended(request, host.submit(call))
    return {"record": shown(record, region, encoding), "length": len(record)}


@routes.operation("writeRecords", status_code=201)
async def write(
    host: Served,
    region: PathRegion,
    queue: str,
    record: Annotated[Record | Records, Body(title="OneOrMoreRecords")],
    user: Caller,
) -> WriteResult:
    """WRITEQ TD, as a separate task; several records are one task and one unit of work."""
    several = isinstance(record, Records)
    data = [each.bytes_for(region) for each in (record.root if isinstance(record, Records) else [record])]

    def put(task: Task) -> None:
        for each in data:
            task.writeq_td(queue, each)

    await as_task(host, region, user, put)
    result: WriteResult = {"written": sum(map(len, data))}
    if several:
        result["records"] = len(data)
    return result


@routes.operation("deleteRecords", status_code=204)
async def clear(host: Served, region: PathRegion, queue: str, user: Caller) -> None:
    """DELETEQ TD."""
    await as_task(host, region, user, lambda task: task.deleteq_td(queue))


@routes.operation("seedRecords", status_code=201)
async def seed(
    host: Served,
    region: PathRegion,
    queue: str,
    records: Records,
) -> SeedResult:
    """Add records to a queue outside any task: no trigger, no statistics."""
    data = [record.bytes_for(region) for record in records.root]
    return {"seeded": await host.ask(lambda: region.seed(queue, data))}


def _several(task: Task, queue: str, count: int, *, nosuspend: bool) -> list[bytes]:
    """Read records up to a number, or until QZERO after the first."""
    records: list[bytes] = []
    while len(records) < count:
        try:
            records.append(task.readq_td(queue, nosuspend=nosuspend))
        except Condition as condition:
            if condition.resp is not Resp.QZERO or not records:
                raise
            break
    return records
