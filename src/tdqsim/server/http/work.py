"""Routes for commands as text, waits, tasks and units of work."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal, cast

from fastapi import Path, Query, Request

from tdqsim import state
from tdqsim.cics import Region, Task, cemt
from tdqsim.cics import ceci as execute_ceci
from tdqsim.errors import UsageError
from tdqsim.languages import Resolved, resolve
from tdqsim.server.acting import in_a_task
from tdqsim.server.answers.tables import DumpState, IncidentState, TaskEntry, UnitOfWorkState
from tdqsim.server.answers.work import (
    CeciAnswer,
    CemtAnswer,
    CommandResult,
    CommitResult,
    OpenUnitOfWork,
    TaskExplanation,
    WaitResult,
)
from tdqsim.server.audit import command_text, one_line
from tdqsim.server.bounds import BOUNDS
from tdqsim.server.host import Host
from tdqsim.server.http.access import Caller, check_may, note_for_audit
from tdqsim.server.http.common import (
    EndedRegion,
    PathRegion,
    Routes,
    Served,
    as_task,
    attended,
    executed,
)
from tdqsim.server.http.values import AwaitedState, Line, Statement, plain
from tdqsim.server.incidents import incidents_of
from tdqsim.server.operations import ServerOperation, operation, operation_of_command, operation_of_request
from tdqsim.server.users import User

routes = Routes()


def _check_command(
    request: Request, user: User, resolved: Resolved, variables: Mapping[str, object] | None = None
) -> ServerOperation:
    """Check that a user may issue a command, which is noted for the audit line."""
    command = operation_of_command(resolved)
    note_for_audit(request, operation=command.name, command=command_text(resolved, variables))
    check_may(user, command)
    return command


_Uow = Annotated[str, Path(pattern="^[0-9A-Fa-f]{16}$", description="the id of INQUIRE UOW, in hexadecimal")]


@routes.operation("executeCommand")
async def execute(
    host: Served, request: Request, region: PathRegion, statement: Statement, user: Caller
) -> CommandResult:
    """Execute an EXEC CICS command given as text, as a separate task. It needs the role of the command."""
    _check_command(request, user, resolve(statement.text), statement.variables)
    call = partial(in_a_task, region, user.id, lambda task: executed(task, region, statement))
    answer: CommandResult = await attended(request, host.submit(call))
    note_for_audit(request, resp=answer["condition"])
    return answer


@routes.operation("executeCemt")
async def operate(host: Served, request: Request, region: PathRegion, line: Line, user: Caller) -> CemtAnswer:
    """Execute a CEMT request; return rows, and the screen as text. It needs the role of the request."""
    command = operation_of_request(line.text)
    note_for_audit(request, operation=command.name, command=one_line(line.text.strip()))
    check_may(user, command)
    answer = await host.ask(lambda: cemt(region, line.text, userid=user.id or region.options.dfltuser))
    note_for_audit(request, resp="some of it failed" if answer.errors else "NORMAL")
    return cast("CemtAnswer", {"text": answer.text, **answer.as_dict()})


@routes.operation("waitForState")
async def wait(host: Served, request: Request, region: PathRegion, what: AwaitedState) -> WaitResult:
    """Wait for a number of items of a queue, a condition, or the end of tasks; the time limit is in real time."""
    if what.queue is not None:
        least = 0 if what.at_most is not None and "items" not in what.model_fields_set else what.items
        waiting = host.waits.for_items(region, what.queue, least, what.seconds, at_most=what.at_most)
    elif what.condition is not None:
        host.check_run(region, what.run)
        waiting = host.wait_for_condition(region, what.condition, what.seconds, what.position)
    else:
        waiting = host.waits.for_tasks(region, what.seconds, task=what.task)
    await attended(request, asyncio.wrap_future(waiting), what.seconds)
    return {"met": True}


@routes.operation("beginUnitOfWork", status_code=201)
async def begin(
    host: Served,
    region: PathRegion,
    user: Caller,
    idle_seconds: Annotated[float | None, Query(gt=0, le=BOUNDS["unit_idle_most"])] = None,
) -> OpenUnitOfWork:
    """Begin a unit of work that stays open between requests; it is backed out after a time without requests."""
    unit = await asyncio.wrap_future(host.units.begin(region, user.id or region.options.dfltuser, idle_seconds))
    return {"id": unit, "region": region.applid}


@routes.operation("executeCommandInUnitOfWork")
async def execute_in_unit(
    host: Served, request: Request, unit: str, statement: Statement, user: Caller
) -> CommandResult:
    """Execute an EXEC CICS command in an open unit of work. It needs the role of the command."""
    _check_command(request, user, resolve(statement.text), statement.variables)
    work = _in_unit(host, unit, user, lambda task: executed(task, _region_of(task), statement))
    answer: CommandResult = await attended(request, work)
    note_for_audit(request, resp=answer["condition"])
    return answer


@routes.operation("executeCeci")
async def ceci(host: Served, request: Request, unit: str, line: Line, user: Caller) -> CeciAnswer:
    """Execute a command as typed into CECI, in an open unit of work; return its parts, and the screen as text.

    It needs the role of the command.
    """
    command = _check_command(request, user, resolve(line.text, bare=True))

    def act(task: Task) -> CeciAnswer:
        if command.name == "RETURN":
            raise UsageError("RETURN is refused: end a unit of work by commit, or by DELETE")
        variables = host.units.variables(unit)
        answer = execute_ceci(_region_of(task), line.text, variables, task=task)
        return cast("CeciAnswer", {"text": answer.text, **answer.as_dict()})

    answer: CeciAnswer = await attended(request, _in_unit(host, unit, user, act))
    note_for_audit(request, resp=answer["response"])
    return answer


@routes.operation("commitUnitOfWork")
async def commit(host: Served, request: Request, unit: str, user: Caller) -> CommitResult:
    """Commit and end an open unit of work."""
    ended = _in_unit(host, unit, user, lambda task: task.syncpoint(), last=True)
    await attended(request, ended, left="; the unit of work may have been committed")
    return {"committed": True}


@routes.operation("backOutUnitOfWork", status_code=204)
async def back_out(host: Served, request: Request, unit: str, user: Caller) -> None:
    """Back out and end an open unit of work."""
    await attended(request, _in_unit(host, unit, user, lambda task: task.syncpoint_rollback(), last=True))


def _in_unit(host: Host, unit: str, user: User, action: Any, *, last: bool = False) -> asyncio.Future[Any]:
    owner = user.id or host.units.owner(unit)
    return asyncio.wrap_future(host.units.do(unit, owner, action, last=last))


def _region_of(task: Task) -> Region:
    return task.region


@routes.operation("listTasks")
async def tasks(host: Served, region: PathRegion) -> list[TaskEntry]:
    """The tasks that have not ended, with the resource that each waits for and its holder."""

    def look() -> list[TaskEntry]:
        waits = {each.task: each for each in state.waits(region)}
        return [
            plain(
                task,
                task=task.number,
                waits_for=its.what if (its := waits.get(task.number)) else "",
                held_by=its.holder if its else "",
            )
            for task in state.tasks(region)
        ]

    return await host.ask(look)


@routes.operation("explainTask")
async def explain(host: Served, region: PathRegion, number: int) -> TaskExplanation:
    """What a task waits for, also in another region; of a task that has abended, what its last command named."""
    explanation = await host.ask(lambda: state.explain(region, str(number), kind="TASK"))
    return {"explanation": str(explanation), "statements": list(explanation.statements)}


@routes.operation("listDumps")
async def dumps(host: Served, region: EndedRegion) -> list[DumpState]:
    """The dumps of the last 50 tasks that have abended, the newest last. They contain records and storage."""
    dumps = await host.ask(lambda: list(region.diagnostics.failures))
    return [cast("DumpState", dump.as_dict()) for dump in dumps]


@routes.operation("listIncidents")
async def incidents(host: Served, region: EndedRegion) -> list[IncidentState]:
    """What needs attention now: deadlocks, long waits, units of work in doubt, full queues, refused commands.

    Abends have dumps.
    """
    refusals = host.refused[region.applid]
    found = await asyncio.wrap_future(host.engine.outside(lambda: incidents_of(region, refusals)))
    return [plain(one, page=one.path(region.applid)) for one in found]


@routes.operation("purgeTask", status_code=204)
async def purge(
    host: Served, region: PathRegion, number: int, user: Caller, purgetype: Literal["PURGE", "FORCEPURGE"] = "PURGE"
) -> None:
    """SET TASK PURGE or FORCEPURGE, which needs the role break."""
    check_may(user, operation("SET TASK", [purgetype]))
    await as_task(host, region, user, lambda task: task.set_task(number, purgetype=purgetype))


@routes.operation("listUnitsOfWork")
async def units(host: Served, region: PathRegion) -> list[UnitOfWorkState]:
    """The units of work of a region."""
    return await host.ask(lambda: [plain(unit, task=unit.taskid) for unit in state.units(region)])


@routes.operation("endUnitOfWork", status_code=204)
async def force(
    host: Served, region: PathRegion, uow: _Uow, user: Caller, uowstate: Literal["COMMIT", "BACKOUT", "FORCE"]
) -> None:
    """SET UOW: force the end of a unit of work in doubt."""
    await as_task(host, region, user, lambda task: task.set_uow(bytes.fromhex(uow), uowstate=uowstate))
