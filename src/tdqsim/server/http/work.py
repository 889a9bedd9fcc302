"""Commands as text, waits, tasks and units of work."""

# Annotations are objects here, not text: FastAPI reads them, and they name what is local to a function.

import asyncio
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Path, Query, Request

from tdqsim.cics import Region, Task
from tdqsim.cics.text.ceci import session as ceci_session
from tdqsim.cics.text.cemt import cemt
from tdqsim.cics.text.translator import resolve
from tdqsim.errors import TdqError
from tdqsim.server import blocking
from tdqsim.server.host import Host
from tdqsim.server.http.access import Breaker, Looker, Operator, requires
from tdqsim.server.http.common import BOUNDS, PREFIX, as_task, attended, executed, in_a_task
from tdqsim.server.http.values import AwaitedState, Line, Statement
from tdqsim.server.users import Role, User

__all__ = ["add_work"]

_Uow = Annotated[str, Path(pattern="^[0-9A-Fa-f]{16}$", description="as INQUIRE UOW tells it, in hexadecimal")]


def add_work(app: FastAPI, host: Host) -> None:
    """Add the routes."""
    _add_commands(app, host)
    _add_waits(app, host)
    _add_units(app, host)
    _add_tasks(app, host)
    _add_units_of_region(app, host)


def _add_commands(app: FastAPI, host: Host) -> None:
    base = f"{PREFIX}/regions/{{name}}"

    @app.post(f"{base}/exec", tags=["commands"])
    async def execute(request: Request, name: str, statement: Statement, user: Operator) -> dict[str, Any]:
        """An EXEC CICS command as text, as a task of its own."""
        region = host.region(name)
        call = partial(in_a_task, region, user, lambda task: executed(task, region, statement))
        found: dict[str, Any] = await attended(request, asyncio.ensure_future(host.ask(call)))
        return found

    @app.post(f"{base}/cemt", tags=["commands"])
    async def operate(request: Request, name: str, line: Line, user: Looker) -> dict[str, Any]:
        """A CEMT request, with its abbreviations: rows, and the screen as text. Who only looks may only INQUIRE."""
        region = host.region(name)
        if not line.only_looks():
            requires(Role.operate)(request)
        found = await host.ask(lambda: cemt(region, line.text, userid=user.id or region.default_user))
        return {"text": found.text, "errors": found.errors, **found.as_dict()}


def _add_waits(app: FastAPI, host: Host) -> None:
    @app.post(f"{PREFIX}/regions/{{name}}/wait", tags=["commands"])
    async def wait(request: Request, name: str, what: AwaitedState, _user: Looker) -> dict[str, Any]:
        """Wait until a queue has so many items, or until all tasks have ended; a client's time is real."""
        region = host.region(name)
        if what.queue is None:
            waiting = host.waits.for_tasks(region, what.seconds)
        else:
            waiting = host.waits.for_items(region, what.queue, what.items, what.seconds)
        await attended(request, asyncio.wrap_future(waiting), what.seconds)
        return {"met": True}


def _add_units(app: FastAPI, host: Host) -> None:
    base = f"{PREFIX}/units-of-work"
    idle = Query(gt=0, le=BOUNDS["unit_idle_most"])

    @app.post(f"{PREFIX}/regions/{{name}}/units-of-work", tags=["units of work"], status_code=201)
    async def begin(name: str, user: Operator, idle_seconds: Annotated[float | None, idle] = None) -> dict[str, Any]:
        """Begin a unit of work that stays open between requests; it is backed out when nothing is asked of it."""
        region = host.region(name)
        unit = await asyncio.wrap_future(host.units.begin(region, user.id or region.default_user, idle_seconds))
        return {"id": unit, "region": region.applid}

    @app.post(f"{base}/{{unit}}/exec", tags=["units of work"])
    async def execute(request: Request, unit: str, statement: Statement, user: Operator) -> dict[str, Any]:
        """An EXEC CICS command in an open unit of work."""
        work = _in_unit(unit, user, lambda task: executed(task, _region_of(task), statement))
        found: dict[str, Any] = await attended(request, work)
        return found

    @app.post(f"{base}/{{unit}}/ceci", tags=["units of work"])
    async def ceci(request: Request, unit: str, line: Line, user: Operator) -> dict[str, Any]:
        """A command as it is typed into CECI, in an open unit of work: its parts, and the screen as text."""

        def act(task: Task) -> dict[str, Any]:
            if resolve(line.text, bare=True).command.name == "RETURN":
                raise TdqError("RETURN is not taken: a unit of work ends by commit, or by DELETE")
            variables = host.units.variables(unit)
            found = ceci_session(_region_of(task), variables, task=task).execute(line.text)
            return {"text": found.text, **found.as_dict()}

        found: dict[str, Any] = await attended(request, _in_unit(unit, user, act))
        return found

    @app.post(f"{base}/{{unit}}/commit", tags=["units of work"])
    async def commit(request: Request, unit: str, user: Operator) -> dict[str, Any]:
        """Commit an open unit of work, which ends it."""
        ended = _in_unit(unit, user, lambda task: task.syncpoint(), last=True)
        await attended(request, ended, left="; the unit of work may be committed all the same")
        return {"committed": True}

    @app.delete(f"{base}/{{unit}}", tags=["units of work"], status_code=204)
    async def back_out(request: Request, unit: str, user: Operator) -> None:
        """Back an open unit of work out, which ends it."""
        await attended(request, _in_unit(unit, user, lambda task: task.syncpoint_rollback(), last=True))

    def _in_unit(unit: str, user: User, action: Any, *, last: bool = False) -> asyncio.Future[Any]:
        owner = user.id or host.units.owner(unit)
        return asyncio.wrap_future(host.units.do(unit, owner, action, last=last))


def _region_of(task: Task) -> Region:
    region: Any = task.region
    return region  # type: ignore[no-any-return]


def _add_tasks(app: FastAPI, host: Host) -> None:
    base = f"{PREFIX}/regions/{{name}}/tasks"

    @app.get(base, tags=["tasks"])
    async def tasks(name: str, _user: Looker) -> list[dict[str, Any]]:
        """The tasks that have begun and not ended, with what each waits for and who has that."""
        region = host.region(name)

        def look() -> list[dict[str, Any]]:
            waits = {each.task: each for each in blocking.waits_of(region)}
            return [_task(task, waits.get(task.number)) for task in region.tasks.values()]

        return await host.ask(look)

    @app.delete(f"{base}/{{number}}", tags=["tasks"], status_code=204)
    async def purge(name: str, number: int, user: Operator, how: Literal["PURGE", "FORCEPURGE"] = "PURGE") -> None:
        """SET TASK PURGE or FORCEPURGE."""
        region = host.region(name)
        await as_task(host, region, user, lambda task: task.set_task(number, purgetype=how))


def _task(task: Any, wait: blocking.Wait | None) -> dict[str, Any]:
    return {
        "task": task.number,
        "transid": task.transid,
        "userid": task.userid,
        "suspended": task.suspended,
        "waits_for": "" if wait is None else wait.what,
        "held_by": "" if wait is None else wait.holder,
    }


def _add_units_of_region(app: FastAPI, host: Host) -> None:
    base = f"{PREFIX}/regions/{{name}}/units-of-work"

    @app.get(base, tags=["units of work"])
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

    @app.post(f"{base}/{{uow}}/end", tags=["units of work"], status_code=204)
    async def force(name: str, uow: _Uow, user: Breaker, how: Literal["COMMIT", "BACKOUT", "FORCE"]) -> None:
        """SET UOW: end a unit of work that is in doubt, by force."""
        region = host.region(name)
        await as_task(host, region, user, lambda task: task.set_uow(bytes.fromhex(uow), uowstate=how))
