"""Shared by all routes: limits, commands as tasks of the user, and waits that end when the client disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any, Final, TypeVar

from fastapi import APIRouter, Depends, HTTPException, Request

from tdqsim.cics import Region, Task
from tdqsim.errors import RegionClosed, SystemClosed, UsageError
from tdqsim.ibmi import System
from tdqsim.languages import TaskReturn
from tdqsim.server.acting import in_a_task
from tdqsim.server.answers.work import CommandResult
from tdqsim.server.bounds import BOUNDS
from tdqsim.server.host import Host
from tdqsim.server.http.access import PREFIX, Caller
from tdqsim.server.http.problems import DOCUMENTED
from tdqsim.server.http.route import OperationRoute
from tdqsim.server.http.values import Statement, values_in, values_out
from tdqsim.server.notices import why_ended
from tdqsim.server.operations import route_of
from tdqsim.server.users import User

F = TypeVar("F", bound=Callable[..., object])

_SOON: Final = (
    0.02  # most requests are answered within this time; for longer ones, a disconnect of the client is watched
)


async def _served(request: Request) -> Host:
    host: Host = request.app.state.host
    return host


async def _region_named(name: str, host: Annotated[Host, Depends(_served)], _user: Caller) -> Region:
    return host.region(name)


async def _active_region(region: Annotated[Region, Depends(_region_named)]) -> Region:
    if why := why_ended(region):
        raise RegionClosed(f"region {region.applid}: {why}")
    return region


async def _system_named(name: str, host: Annotated[Host, Depends(_served)], _user: Caller) -> System:
    return host.system(name)


async def _active_system(system: Annotated[System, Depends(_system_named)]) -> System:
    if why := why_ended(system):
        raise SystemClosed(f"system {system.name}: {why}")
    return system


Served = Annotated[Host, Depends(_served)]
"""The host of the application."""
PathRegion = Annotated[Region, Depends(_active_region)]
"""The region that the path names, for a user who has the role of the route's operation; it must not have ended."""
EndedRegion = Annotated[Region, Depends(_region_named)]
"""As :data:`PathRegion`, for operations that tell why a region has ended, or what it did before."""
PathSystem = Annotated[System, Depends(_active_system)]
"""As :data:`PathRegion`, for an IBM i system."""
EndedSystem = Annotated[System, Depends(_system_named)]
"""As :data:`EndedRegion`, for an IBM i system."""


class Routes(APIRouter):
    """The routes of a module, below ``/api/v1``, with the documented refusals."""

    def __init__(self) -> None:
        super().__init__(prefix=PREFIX, responses=DOCUMENTED, route_class=OperationRoute)

    def operation(self, operation_id: str, **options: Any) -> Callable[[F], F]:
        """Decorate the function of an operation in ``facts/operations.tsv``, which has its method, path and group."""
        method, path, tag = route_of(operation_id)
        return self.api_route(path, methods=[method], operation_id=operation_id, tags=[tag], **options)


async def as_task(host: Host, region: Region, user: User, action: Callable[[Task], Any]) -> Any:
    """Run a command that does not wait as a separate task."""
    return await host.ask(partial(in_a_task, region, user.id, action))


async def attended(
    request: Request, answer: asyncio.Future[Any], seconds: float = BOUNDS["wait_seconds"], *, left: str = ""
) -> Any:
    """Wait for a result as long as the client is connected; cancel it if the client disconnects.

    Args:
        request: the request of the client.
        answer: the future result.
        seconds: the time limit.
        left: text for the message if the wait ends before a result that cannot be cancelled.

    Raises:
        TimeoutError: the time limit was reached. HTTPException: 503: the server is being stopped.
    """
    watch: asyncio.Task[None] | None = None

    def begin() -> None:
        nonlocal watch
        watch = asyncio.ensure_future(_watch(request, answer, seconds))

    begins = asyncio.get_running_loop().call_later(_SOON, begin)
    try:
        return await answer
    except asyncio.CancelledError:
        if watch is None or not watch.done():
            raise
        if request.app.state.streams.ending:
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, f"the server is being stopped{left}") from None
        raise TimeoutError(f"the wait has reached its time limit{left}") from None
    finally:
        begins.cancel()
        if watch is not None:
            watch.cancel()


async def _watch(request: Request, answer: asyncio.Future[Any], seconds: float) -> None:
    """Cancel a result when the client disconnects, the server is stopped, or at the time limit."""
    streams = request.app.state.streams
    stopped = streams.open()
    ends = {asyncio.ensure_future(_gone(request)), asyncio.ensure_future(stopped.wait())}
    try:
        await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        streams.close(stopped)
        for each in ends:
            each.cancel()
    answer.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def executed(task: Task, region: Region, statement: Statement) -> CommandResult:
    """Execute an EXEC CICS command in a task; return the answer for the client."""
    variables = values_in(statement.variables, region)
    try:
        received = task.execute(statement.text, variables)
    except TaskReturn as error:
        raise UsageError("RETURN is refused: a task of one command ends by itself, a unit of work by commit") from error
    eib = task.eib
    return {
        "resp": int(eib.eibresp),
        "condition": eib.eibresp.name,
        "resp2": eib.eibresp2,
        "received": values_out(received, region),
        "variables": values_out(variables, region),
    }
