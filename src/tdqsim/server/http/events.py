"""Events and history, as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Annotated, Any, Final, Protocol

from fastapi import Header, Query, Request
from fastapi.responses import StreamingResponse

from tdqsim.server.alerts import Alerts
from tdqsim.server.host import Host
from tdqsim.server.http.access import Caller, may_still
from tdqsim.server.http.common import EndedRegion, Routes, Served
from tdqsim.server.http.values import Position, Run

routes = Routes()

_STILL_HERE: Final = 15


class Streams:
    """The open event streams and waiting requests, which end when the server is stopped.

    Attributes:
        ending: whether the server is being stopped.
    """

    def __init__(self) -> None:
        self.ending = False
        self._open: set[asyncio.Event] = set()

    def open(self) -> asyncio.Event:
        """Register a new stream or waiting request; return the event that wakes it."""
        woken = asyncio.Event()
        if self.ending:
            woken.set()
        self._open.add(woken)
        return woken

    def close(self, woken: asyncio.Event) -> None:
        """Remove a stream that has ended."""
        self._open.discard(woken)

    def end(self) -> None:
        """End all streams and waits."""
        self.ending = True
        for there in self._open:
            there.set()


class _Source(Protocol):
    """Where the events of a stream wait; ``lost`` counts those that were dropped."""

    lost: int


class _EventStream(StreamingResponse):
    """Server-sent events."""

    media_type = "text/event-stream"


@routes.operation("streamEvents", response_class=_EventStream)
async def events(
    host: Served,
    request: Request,
    _user: Caller,
    region: Annotated[str, Query(max_length=8, description="only of this region")] = "",
    queue: Annotated[str, Query(max_length=4, description="only of this queue")] = "",
) -> StreamingResponse:
    """New events, as server-sent events: commands, units of work, tasks, seeds; the number of lost events."""
    applid = region.upper()

    def wanted(event: object) -> bool:
        return (
            isinstance(event, dict)
            and (not region or event.get("region") == applid)
            and (not queue or event.get("queue") == queue)
        )

    return _answer(_live(request, host, wanted, -1))


@routes.operation("streamHistory", response_class=_EventStream)
async def history(
    host: Served,
    request: Request,
    region: EndedRegion,
    position: Position = 0,
    run: Annotated[Run | None, Query(description="the run of the position, as events name it; 409 for another")] = None,
    follow: Annotated[bool, Query(description="continue with new events")] = True,
    last_event_id: Annotated[
        str,
        Header(pattern="^([0-9a-f]{8}-[0-9]{1,16})?$", description="continue after this event; 409 for another run"),
    ] = "",
) -> StreamingResponse:
    """The past events of a region that are kept, as server-sent events with their runs and positions as ids."""
    applid, begin = region.applid, position
    if last_event_id:
        run, last = last_event_id.split("-")
        begin = int(last) + 1
    host.check_run(region, run)
    if not follow:
        return _answer(_past_events(await host.ask(lambda: list(host.recent[applid])), begin))

    def wanted(event: object) -> bool:
        return isinstance(event, dict) and event.get("region") == applid

    return _answer(_live(request, host, wanted, begin, applid))


@routes.operation("streamAlerts", response_class=_EventStream)
async def alerts(
    request: Request,
    _user: Caller,
    region: Annotated[str, Query(max_length=8, description="only of this region")] = "",
) -> StreamingResponse:
    """Alerts as server-sent events: incidents that begin (first the present ones) and end, and abends of tasks."""
    return _answer(_alerts(request, region.upper()))


async def _alerts(request: Request, applid: str) -> AsyncIterator[str]:
    streams: Streams = request.app.state.streams
    source: Alerts = request.app.state.alerts
    woken = streams.open()
    listener = source.listen(woken.set)
    try:
        yield ": listening\n\n"

        def take() -> list[dict[str, Any]]:
            return [dict(each) for each in listener.take() if applid in ("", each["region"])]

        async for part in _follow(request, woken, listener, take, ids=False):
            yield part
    finally:
        source.leave(listener)
        streams.close(woken)


async def _follow(
    request: Request, woken: asyncio.Event, source: _Source, take: Callable[[], list[dict[str, Any]]], *, ids: bool
) -> AsyncIterator[str]:
    """What is new each time that the request is woken, preceded by the number of events that were lost.

    It ends when the user may no longer make the request.
    """
    streams: Streams = request.app.state.streams
    lost = 0
    while not streams.ending and not await request.is_disconnected():
        try:
            await asyncio.wait_for(woken.wait(), _STILL_HERE)
        except TimeoutError:
            if not may_still(request):
                return
            yield ": still here\n\n"
            continue
        if not may_still(request):
            return
        woken.clear()
        fresh = take()
        if source.lost > lost:  # the client reads too slowly
            fresh.insert(0, _lost(source.lost - lost))
            lost = source.lost
        if fresh:
            yield _written(fresh, ids=ids)


def _answer(stream: AsyncIterator[str]) -> StreamingResponse:
    return _EventStream(stream, headers={"Cache-Control": "no-store"})


async def _past_events(kept: list[dict[str, Any]], begin: int) -> AsyncIterator[str]:
    """The kept events from a position on, preceded by the number of those that are no longer kept."""
    gone = kept[0]["position"] - begin if kept else 0
    past = [each for each in kept if each["position"] >= begin]
    yield _written([_lost(gone), *past] if gone > 0 else past, ids=True)


async def _live(
    request: Request,
    host: Host,
    wanted: Callable[[object], bool],
    begin: int,
    applid: str = "",
) -> AsyncIterator[str]:
    """New events; with a region, preceded by its kept events from a position on."""
    streams: Streams = request.app.state.streams
    woken = streams.open()
    loop = asyncio.get_running_loop()
    subscription = host.engine.subscribe(wake=partial(loop.call_soon_threadsafe, woken.set), wanted=wanted)
    try:
        yield ": listening\n\n"
        if applid:  # events that happen meanwhile are in both; their positions prevent sending them twice
            kept = await host.ask(lambda: list(host.recent[applid]))
            end = kept[-1]["position"] + 1 if kept else 0
            begin = begin if begin <= end else 0  # a position of an earlier run of the server
            async for part in _past_events(kept, begin):
                yield part
            begin = end

        def take() -> list[dict[str, Any]]:
            fresh = [each for each in subscription.take() if isinstance(each, dict)]
            return [each for each in fresh if each["position"] >= begin]

        async for part in _follow(request, woken, subscription, take, ids=bool(applid)):
            yield part
    finally:
        host.engine.unsubscribe(subscription)
        streams.close(woken)


def _lost(events: int) -> dict[str, Any]:
    return {"event": "lost", "events": events}


def _written(events: list[dict[str, Any]], *, ids: bool) -> str:
    return "".join(f"event: {each['event']}\n{_id(each) if ids else ''}data: {json.dumps(each)}\n\n" for each in events)


def _id(event: dict[str, Any]) -> str:
    return f"id: {event['run']}-{event['position']}\n" if "position" in event else ""
