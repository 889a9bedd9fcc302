"""What happens, as server-sent events."""

# Annotations are objects here, not text: FastAPI reads them, and they name what is local to a function.

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any, Final

from fastapi import FastAPI, Query, Request
from fastapi.responses import StreamingResponse

from tdqsim.server.host import Host
from tdqsim.server.http.access import Looker
from tdqsim.server.http.common import PREFIX

__all__ = ["Streams", "add_events"]

_STILL_HERE: Final = 15


class Streams:
    """The open event streams, so that they end when the server does.

    Attributes:
        ending: the server is being stopped.
    """

    def __init__(self) -> None:
        self.ending = False
        self._open: set[asyncio.Event] = set()

    def open(self) -> asyncio.Event:
        """What wakes a new stream."""
        there = asyncio.Event()
        self._open.add(there)
        return there

    def close(self, there: asyncio.Event) -> None:
        """A stream has ended."""
        self._open.discard(there)

    def end(self) -> None:
        """Have all end."""
        self.ending = True
        for there in self._open:
            there.set()


def add_events(app: FastAPI, host: Host, streams: Streams) -> None:
    """Add the route."""

    @app.get(f"{PREFIX}/events", tags=["events"])
    async def events(
        request: Request,
        _user: Looker,
        region: Annotated[str, Query(max_length=8, description="only of this region")] = "",
        queue: Annotated[str, Query(max_length=4, description="only of this queue")] = "",
    ) -> StreamingResponse:
        """What happens, as server-sent events: commands, units of work, tasks, seeds; how many were lost."""

        def wanted(event: dict[str, Any]) -> bool:
            return (not region or event.get("region") == region.upper()) and (not queue or event.get("queue") == queue)

        async def stream() -> AsyncIterator[str]:
            there = streams.open()
            loop = asyncio.get_running_loop()
            subscription = host.engine.subscribe(wake=partial(loop.call_soon_threadsafe, there.set))
            lost = 0
            try:
                yield ": listening\n\n"
                while not streams.ending and not await request.is_disconnected():
                    try:
                        await asyncio.wait_for(there.wait(), _STILL_HERE)
                    except TimeoutError:
                        yield ": still here\n\n"
                        continue
                    there.clear()
                    found = [each for each in subscription.take() if isinstance(each, dict) and wanted(each)]
                    if subscription.lost > lost:  # the client takes too slowly
                        found.insert(0, {"event": "lost", "events": subscription.lost - lost})
                        lost = subscription.lost
                    if found:
                        yield "".join(f"event: {each['event']}\ndata: {json.dumps(each)}\n\n" for each in found)
            finally:
                host.engine.unsubscribe(subscription)
                streams.close(there)

        return StreamingResponse(stream(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})
