"""The JSON API under ``/api/v1``, with its OpenAPI document.

Every request is signed on (:mod:`~tdqsim.server.http.access`) and carried out in the engine's thread as its user, so
that the region's security policy decides what it may do. Waiting requests are parked tasks. A
million records are never in one answer: records and queues come in pages.
"""

# Annotations are objects here, not text: FastAPI reads them, and they name what is local to a function.

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any, Final, Literal

from fastapi import Body, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse

from tdqsim import __version__
from tdqsim.cics import Region, Task
from tdqsim.cics.kernel.conditions import TaskReturn
from tdqsim.errors import TdqError
from tdqsim.facts import table
from tdqsim.server.host import Host
from tdqsim.server.http.access import Breaker, Gate, Looker, Operator
from tdqsim.server.http.guard import install_guard
from tdqsim.server.http.metrics import exposition
from tdqsim.server.http.problems import DOCUMENTED, answer_for, not_valid
from tdqsim.server.http.signon import add_sign_on
from tdqsim.server.http.values import Encoding, Record, Statement, Wait, shown, values_in, values_out
from tdqsim.server.users import User

__all__ = ["Streams", "application"]

_BOUNDS: Final = {row["name"]: int(row["value"]) for row in table("server")}
_PREFIX: Final = "/api/v1"


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


def application(
    host: Host, access: Gate, *, request_seconds: float = _BOUNDS["request_seconds"], any_host: bool = False
) -> FastAPI:
    """The HTTP application that serves a host.

    Args:
        host: what is served.
        access: who may ask.
        request_seconds: in which the body of a request must arrive.
        any_host: whatever name a request gives to this host is served; beyond loopback it cannot be known.
    """

    @asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        yield

    app = FastAPI(
        title="tdqsim", version=__version__, lifespan=life, openapi_url=f"{_PREFIX}/openapi.json", docs_url=None,
        redoc_url=None, description="CICS regions with transient data queues: commands, records, tasks, time.",
        responses=DOCUMENTED,
    )  # fmt: skip
    app.state.streams = Streams()
    app.add_exception_handler(TdqError, answer_for)
    app.add_exception_handler(TimeoutError, answer_for)
    app.add_exception_handler(RequestValidationError, not_valid)
    access.install(app)
    install_guard(app, _BOUNDS["body_bytes"], request_seconds, any_host=any_host)
    add_sign_on(app, access)
    _add_health(app, host)
    _add_regions(app, host)
    _add_queues(app, host)
    _add_records(app, host)
    _add_commands(app, host)
    _add_units(app, host)
    _add_tasks(app, host)
    _add_clock(app, host)
    _add_events(app, host)
    return app


def _add_health(app: FastAPI, host: Host) -> None:
    @app.get("/health", tags=["process"])
    async def health() -> dict[str, str]:
        """Whether the process answers."""
        return {"status": "up"}

    @app.get("/ready", tags=["process"])
    async def ready() -> JSONResponse:
        """Whether regions are served and calls are taken."""
        up = host.engine.running and bool(host.regions)
        return JSONResponse({"status": "ready" if up else "not ready"}, status_code=200 if up else 503)

    @app.get("/metrics", tags=["process"], response_class=PlainTextResponse)
    async def metrics() -> PlainTextResponse:
        """Counts and depths for Prometheus."""
        return PlainTextResponse(await host.ask(lambda: exposition(host)), media_type="text/plain; version=0.0.4")


def _add_regions(app: FastAPI, host: Host) -> None:
    @app.get(f"{_PREFIX}/regions", tags=["regions"])
    async def regions(_user: Looker) -> list[dict[str, Any]]:
        """The regions that are served."""
        return await host.ask(lambda: [_about(region) for region in host.regions.values()])

    @app.get(f"{_PREFIX}/regions/{{name}}", tags=["regions"])
    async def region(name: str, _user: Looker) -> dict[str, Any]:
        """One region."""
        found = host.region(name)
        return await host.ask(lambda: _about(found))


def _about(region: Region) -> dict[str, Any]:
    return {
        "applid": region.applid,
        "sysid": region.sysid,
        "start": region.start_type,
        "release": region.release,
        "codepage": region.codepage.name,
        "queues": len(region.tdqueues),
        "tasks": len(region.tasks),
        "abends": dict(region.abends),
    }


def _queue(region: Region, name: str) -> dict[str, Any]:
    found = region.inquire_tdqueue(name)
    return {"name": name, **values_out(found.as_dict(), region)}


def _add_queues(app: FastAPI, host: Host) -> None:
    base = f"{_PREFIX}/regions/{{name}}/queues"

    @app.get(base, tags=["queues"])
    async def queues(
        name: str,
        _user: Looker,
        prefix: Annotated[str, Query(max_length=4, description="names that begin so")] = "",
        after: Annotated[str, Query(max_length=4, description="names behind this one")] = "",
        limit: Annotated[int, Query(ge=1, le=_BOUNDS["queues_page"])] = 100,
    ) -> dict[str, Any]:
        """The queues of a region, in the order of their names, a page at a time."""
        region = host.region(name)

        def look() -> dict[str, Any]:
            names = sorted(each for each in region.tdqueues if each.startswith(prefix) and each > after)
            page = names[:limit]
            more = page[-1] if len(names) > limit else None
            return {"queues": [_queue(region, each) for each in page], "next": more, "count": len(names)}

        return await host.ask(look)

    @app.get(f"{base}/{{queue}}", tags=["queues"])
    async def inquire(name: str, queue: str, _user: Looker) -> dict[str, Any]:
        """INQUIRE TDQUEUE with all options."""
        region = host.region(name)
        return await host.ask(lambda: _queue(region, queue))

    @app.patch(f"{base}/{{queue}}", tags=["queues"])
    async def set_queue(name: str, queue: str, options: dict[str, str | int], user: Operator) -> dict[str, Any]:
        """SET TDQUEUE, with the options by name, such as ``{"enablestatus": "DISABLED"}``."""
        region = host.region(name)
        words = " ".join(f"{word.upper()}(V{at})" for at, word in enumerate(options) if word.isalnum())
        values = {f"V{at}": value for at, value in enumerate(options.values())}
        await host.ask(
            partial(
                _in_a_task, region, user, lambda task: task.execute(f"SET TDQUEUE(Q) {words}", {"Q": queue, **values})
            )
        )
        return await host.ask(lambda: _queue(region, queue))

    @app.get(f"{base}/{{queue}}/explain", tags=["queues"])
    async def explain(name: str, queue: str, _user: Looker) -> dict[str, Any]:
        """Why a queue is as it is, and what each request would meet, in sentences."""
        region = host.region(name)
        return {"explanation": await host.ask(lambda: str(region.explain(queue)))}


def _add_records(app: FastAPI, host: Host) -> None:
    base = f"{_PREFIX}/regions/{{name}}/queues/{{queue}}"

    @app.get(f"{base}/records", tags=["records"])
    async def peek(
        name: str,
        queue: str,
        _user: Looker,
        position: Annotated[int, Query(ge=0, description="from this record on, the first is 0")] = 0,
        limit: Annotated[int, Query(ge=1, le=_BOUNDS["page_records"])] = 100,
        encoding: Encoding = "text",
    ) -> dict[str, Any]:
        """Look at records without taking them, a page at a time."""
        region = host.region(name)

        def look() -> dict[str, Any]:
            records = region.peek(queue, limit=position + limit)[position:]
            return {"position": position, "records": [shown(record, region, encoding) for record in records]}

        return await host.ask(look)

    @app.post(f"{base}/records", tags=["records"], status_code=201)
    async def write(name: str, queue: str, record: Record, user: Operator) -> dict[str, Any]:
        """WRITEQ TD, as a task of its own."""
        region = host.region(name)
        data = record.bytes_for(region)
        await host.ask(partial(_in_a_task, region, user, lambda task: task.writeq_td(queue, data)))
        return {"written": len(data)}

    @app.post(f"{base}/read", tags=["records"])
    async def read(
        name: str,
        queue: str,
        user: Operator,
        nosuspend: Annotated[bool, Query(description="QBUSY rather than a wait")] = False,
        encoding: Encoding = "text",
    ) -> dict[str, Any]:
        """READQ TD, as a task of its own: the record is gone."""
        region = host.region(name)
        call = partial(_in_a_task, region, user, lambda task: task.readq_td(queue, nosuspend=nosuspend))
        record: bytes = await asyncio.wait_for(host.ask(call), _BOUNDS["wait_seconds"])
        return {"record": shown(record, region, encoding), "length": len(record)}

    @app.delete(f"{base}/records", tags=["records"], status_code=204)
    async def clear(name: str, queue: str, user: Operator) -> None:
        """DELETEQ TD."""
        region = host.region(name)
        await host.ask(partial(_in_a_task, region, user, lambda task: task.deleteq_td(queue)))

    @app.post(f"{base}/seed", tags=["records"], status_code=201)
    async def seed(
        name: str,
        queue: str,
        records: Annotated[list[Record], Body(max_length=_BOUNDS["page_records"])],
        _user: Breaker,
    ) -> dict[str, Any]:
        """Put records on a queue outside any task: no trigger, no statistics."""
        region = host.region(name)
        data = [record.bytes_for(region) for record in records]
        return {"seeded": await host.ask(lambda: region.seed(queue, data))}


def _in_a_task(region: Region, user: User, action: Any) -> Any:
    """One command as a task of its own, with the user's authority."""
    with region.task(userid=user.id or region.default_user) as task:
        return action(task)


def _executed(task: Task, region: Region, statement: Statement) -> dict[str, Any]:
    variables = values_in(statement.variables, region)
    try:
        received = task.execute(statement.text, variables)
    except TaskReturn as error:
        raise TdqError(
            "RETURN is not taken: a task of one command returns by itself, a unit of work by commit"
        ) from error
    eib = task.eib
    return {
        "resp": int(eib.eibresp),
        "condition": eib.eibresp.name,
        "resp2": eib.eibresp2,
        "received": values_out(received, region),
        "variables": values_out(variables, region),
    }


def _add_commands(app: FastAPI, host: Host) -> None:
    @app.post(f"{_PREFIX}/regions/{{name}}/exec", tags=["commands"])
    async def execute(name: str, statement: Statement, user: Operator) -> dict[str, Any]:
        """An EXEC CICS command as text, as a task of its own."""
        region = host.region(name)
        call = partial(_in_a_task, region, user, lambda task: _executed(task, region, statement))
        found: dict[str, Any] = await asyncio.wait_for(host.ask(call), _BOUNDS["wait_seconds"])
        return found

    @app.post(f"{_PREFIX}/regions/{{name}}/wait", tags=["commands"])
    async def wait(name: str, what: Wait, _user: Looker) -> dict[str, Any]:
        """Wait until a queue has so many items, or until all tasks have ended."""
        region = host.region(name)
        queue = what.queue

        def there() -> bool:
            if queue is None:
                return not region.tasks
            return int(region.inquire_tdqueue(queue, "NUMITEMS").numitems) >= what.items

        if queue is not None:
            await host.ask(lambda: region.inquire_tdqueue(queue, "NUMITEMS"))
        await asyncio.wrap_future(host.engine.wait_until(lambda: there() or None, timeout=what.seconds))
        return {"met": True}


def _add_units(app: FastAPI, host: Host) -> None:
    base = f"{_PREFIX}/units-of-work"

    @app.post(f"{_PREFIX}/regions/{{name}}/units-of-work", tags=["units of work"], status_code=201)
    async def begin(
        name: str,
        user: Operator,
        idle_seconds: Annotated[float | None, Query(gt=0, le=_BOUNDS["unit_idle_most"])] = None,
    ) -> dict[str, Any]:
        """Begin a unit of work that stays open between requests; it is backed out when nothing is asked of it."""
        region = host.region(name)
        unit = await asyncio.wrap_future(host.units.begin(region, user.id or region.default_user, idle_seconds))
        return {"id": unit, "region": region.applid}

    @app.post(f"{base}/{{unit}}/exec", tags=["units of work"])
    async def execute(unit: str, statement: Statement, user: Operator) -> dict[str, Any]:
        """An EXEC CICS command in an open unit of work."""
        found: dict[str, Any] = await _in_unit(unit, user, lambda task: _executed(task, _region_of(task), statement))
        return found

    @app.post(f"{base}/{{unit}}/commit", tags=["units of work"])
    async def commit(unit: str, user: Operator) -> dict[str, Any]:
        """Commit an open unit of work, which ends it."""
        await _in_unit(unit, user, lambda task: task.syncpoint(), last=True)
        return {"committed": True}

    @app.delete(f"{base}/{{unit}}", tags=["units of work"], status_code=204)
    async def back_out(unit: str, user: Operator) -> None:
        """Back an open unit of work out, which ends it."""
        await _in_unit(unit, user, lambda task: task.syncpoint_rollback(), last=True)

    async def _in_unit(unit: str, user: User, action: Any, *, last: bool = False) -> Any:
        owner = user.id or host.units.owner(unit)
        return await asyncio.wrap_future(host.units.do(unit, owner, action, last=last))


def _region_of(task: Task) -> Region:
    region: Any = task.region
    return region  # type: ignore[no-any-return]


def _add_tasks(app: FastAPI, host: Host) -> None:
    @app.get(f"{_PREFIX}/regions/{{name}}/tasks", tags=["tasks"])
    async def tasks(name: str, _user: Looker) -> list[dict[str, Any]]:
        """The tasks that have begun and not ended, with what they wait for."""
        region = host.region(name)

        def look() -> list[dict[str, Any]]:
            return [
                {"task": task.number, "transid": task.transid, "userid": task.userid, "suspended": task.suspended}
                for task in region.tasks.values()
            ]

        return await host.ask(look)

    @app.delete(f"{_PREFIX}/regions/{{name}}/tasks/{{number}}", tags=["tasks"], status_code=204)
    async def purge(
        name: str,
        number: int,
        user: Operator,
        how: Literal["PURGE", "FORCEPURGE"] = "PURGE",
    ) -> None:
        """SET TASK PURGE or FORCEPURGE."""
        region = host.region(name)
        await host.ask(partial(_in_a_task, region, user, lambda task: task.set_task(number, purgetype=how)))

    @app.get(f"{_PREFIX}/regions/{{name}}/units-of-work", tags=["units of work"])
    async def units(name: str, _user: Looker) -> list[dict[str, Any]]:
        """The units of work of a region."""
        region = host.region(name)

        def look() -> list[dict[str, Any]]:
            return [
                {
                    "uow": uow.id.hex().upper(),
                    "state": uow.state.name,
                    "waitstate": uow.waitstate.name,
                    "task": uow.taskid,
                }
                for uow in region.units_of_work()
            ]

        return await host.ask(look)


def _add_clock(app: FastAPI, host: Host) -> None:
    def shown_clock() -> dict[str, Any]:
        clock = host.engine.dispatcher.clock
        return {"time_ns": clock.time_ns(), "frozen": clock.frozen}

    @app.get(f"{_PREFIX}/clock", tags=["clock"])
    async def clock(_user: Looker) -> dict[str, Any]:
        """The time, and whether it stands still."""
        return await host.ask(shown_clock)

    @app.post(f"{_PREFIX}/clock", tags=["clock"])
    async def move(
        _user: Breaker,
        frozen: bool | None = None,
        advance: Annotated[float, Query(ge=0, le=10**9, description="seconds")] = 0,
    ) -> dict[str, Any]:
        """Freeze or thaw the clock, or move it forward."""

        def change() -> dict[str, Any]:
            clock = host.engine.dispatcher.clock
            if frozen is not None:
                (clock.freeze if frozen else clock.thaw)()
            if advance:
                clock.advance(advance)
            return shown_clock()

        return await host.ask(change)


def _add_events(app: FastAPI, host: Host) -> None:
    streams: Streams = app.state.streams

    @app.get(f"{_PREFIX}/events", tags=["events"])
    async def events(request: Request, _user: Looker) -> StreamingResponse:
        """What happens, as server-sent events: commands, units of work, tasks, seeds."""

        async def stream() -> AsyncIterator[str]:
            there = streams.open()
            loop = asyncio.get_running_loop()
            subscription = host.engine.subscribe(wake=partial(loop.call_soon_threadsafe, there.set))
            try:
                yield ": listening\n\n"
                while not streams.ending and not await request.is_disconnected():
                    try:
                        await asyncio.wait_for(there.wait(), 15)
                    except TimeoutError:
                        yield ": still here\n\n"
                        continue
                    there.clear()
                    for event in subscription.take():
                        if isinstance(event, dict):
                            yield f"event: {event['event']}\ndata: {json.dumps(event)}\n\n"
            finally:
                host.engine.unsubscribe(subscription)
                streams.close(there)

        return StreamingResponse(stream(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})
