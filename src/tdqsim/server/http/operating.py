"""Routes for operators: definitions, snapshot and restore, faults, the clock."""

from __future__ import annotations

import json
from asyncio import to_thread
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any, Final

from fastapi import Body, Query
from pydantic import ConfigDict, Field

from tdqsim import Clock, state
from tdqsim.cics import Dfhcsdup
from tdqsim.definitions import Definitions, dump_definitions
from tdqsim.errors import UsageError
from tdqsim.faults import CrashPoint, FaultPlan, TornWrite
from tdqsim.hosting import NS_PER_SECOND, RegionInternals
from tdqsim.server.answers.operating import DfhcsdupResult, FaultState, InstalledDefinitions, InstallResult
from tdqsim.server.answers.process import ClockState
from tdqsim.server.answers.regions import RestoreResult, Snapshot
from tdqsim.server.bounds import BOUNDS
from tdqsim.server.definition_text import Form, check_no_code, preview, read_definitions
from tdqsim.server.http.access import Caller
from tdqsim.server.http.common import PathRegion, Routes, Served
from tdqsim.server.http.values import Record, RequestBody, plain
from tdqsim.server.snapshots import (
    FORMAT,
    EnableStatus,
    KeptQueue,
    check_format,
    restore_snapshot,
    snapshot_answer,
    take_snapshot,
)
from tdqsim.state import PlannedInstall

routes = Routes()


class DefinitionText(RequestBody):
    """Definitions as text."""

    text: Annotated[str, Field(max_length=BOUNDS["body_bytes"], description="the text of one file")]
    form: Annotated[Form, Field(description="definition file, DFHCSDUP commands, or DFHDCT macros")] = "yaml"
    install: Annotated[bool, Field(description="False only checks them")] = True


@routes.operation("installDefinitions", status_code=201)
async def install(host: Served, region: PathRegion, given: DefinitionText, user: Caller) -> InstallResult:
    """Install definitions into the running region, all or none; from CSD or DCT text they are imported first.

    A TRANSACTION with a new handler is refused, unless serve.yaml allows it by network_handlers.
    """
    definitions, reports = await to_thread(read_definitions, given.text, given.form)

    def install() -> list[PlannedInstall]:
        check_no_code(region, definitions, allowed=host.network_handlers)
        changes = preview(region, definitions, user.id)
        if given.install:
            region.install(definitions, userid=user.id)
            host.waits.all_changed(region)
        return changes

    changes = await host.ask(install)
    return {
        "installed": given.install,
        "names": [entry.resource.resource_name for entry in definitions.entries],
        "yaml": dump_definitions(definitions),
        "reports": reports,
        "changes": plain(changes),
    }


class CsdText(RequestBody):
    """Commands of DFHCSDUP."""

    text: Annotated[str, Field(max_length=BOUNDS["body_bytes"], description="the commands, or a job with them")]
    file: Annotated[str, Field(max_length=200, description="its name in the messages")] = "SYSIN"


_COMMANDS_AT_ONCE: Final = 100
"""Lines of a listing after which the region's other work goes on."""


@routes.operation("executeDfhcsdup")
async def dfhcsdup(host: Served, region: PathRegion, given: CsdText, user: Caller) -> DfhcsdupResult:
    """Carry out DFHCSDUP commands on the CSD of the region, each by itself; INSTALL of CEDA too.

    The user of the definitions' signatures is that of the request. A TRANSACTION with a handler is refused, unless
    serve.yaml allows it by network_handlers.
    """

    def begin() -> tuple[Dfhcsdup, Iterator[str]]:
        job = Dfhcsdup(region.csd.by(user.id, agent="CSDBATCH", handlers=host.network_handlers), region.applid)
        return job, job.run(given.text, file=given.file)

    job, run = await host.ask(begin)
    lines: list[str] = []
    while some := await host.ask(lambda: list(islice(run, _COMMANDS_AT_ONCE))):
        lines += some
    await host.ask(lambda: host.waits.all_changed(region))
    return {"lines": lines, "return_code": job.return_code}


@routes.operation("getDefinitions")
async def definitions(host: Served, region: PathRegion, user: Caller) -> InstalledDefinitions:
    """The installed definitions as a definition file, with current trigger levels, and data sets of DD cards.

    Queues that the user may not read are left out, as in a browse.
    """

    def look() -> tuple[Definitions, dict[str, str]]:
        files = {each.name: str(each.path) for each in RegionInternals(region).dd_cards if each.path is not None}
        return state.definitions(region, userid=user.id), files

    installed_now, files = await host.ask(look)
    return {"yaml": await to_thread(dump_definitions, installed_now), "data_sets": files}


# -- snapshot and restore ---------------------------------------------------------------------------------------------


class QueueToRestore(RequestBody):
    """A queue of a snapshot."""

    enablestatus: EnableStatus = "ENABLED"
    records: Annotated[list[Record], Field(max_length=BOUNDS["snapshot_records"], default_factory=list)]


class SnapshotToRestore(RequestBody):
    """A snapshot; other queues are not changed."""

    model_config = ConfigDict(extra="ignore")
    format: int = FORMAT
    queues: Annotated[dict[str, QueueToRestore], Field(max_length=BOUNDS["snapshot_records"])]


@routes.operation("takeSnapshot")
async def snapshot(host: Served, region: PathRegion, user: Caller) -> Snapshot:
    """The intrapartition queues with their records, for restore; refused if there are too many for an answer."""
    return snapshot_answer(region.applid, await host.ask(lambda: take_snapshot(region, user.id)))


@routes.operation("restoreSnapshot")
async def restore(host: Served, region: PathRegion, given: SnapshotToRestore, user: Caller) -> RestoreResult:
    """Restore the records and ENABLESTATUS of the queues in a snapshot; all or none."""
    check_format(given.format)
    queues = {
        name: KeptQueue(kept.enablestatus, tuple(each.bytes_for(region) for each in kept.records))
        for name, kept in given.queues.items()
    }
    await host.ask(lambda: restore_snapshot(region, queues, user.id))
    return {"restored": len(queues)}


# -- faults and the clock ---------------------------------------------------------------------------------------------


@routes.operation("getFaults")
async def faults(host: Served, region: PathRegion) -> FaultState:
    """The active faults, of the API and of the console, and those that have occurred."""
    applid = region.applid

    def look() -> FaultState:
        plans = host.faults[applid].values()
        faults = [each for plan in plans for each in json.loads(plan.plan.to_json())]
        return {"faults": faults, "happened": [each for plan in plans for each in plan.happened[-100:]][-100:]}

    return await host.ask(look)


@routes.operation("setFaults")
async def put(
    host: Served, region: PathRegion, faults: Annotated[list[dict[str, Any]], Body(max_length=100)]
) -> FaultState:
    """Activate a fault plan in the form of FaultPlan.to_json, in place of all active ones."""
    plan = _plan(faults)

    def attach() -> None:
        host.switch_off(region)
        host.switch_on(region, plan)

    await host.ask(attach)
    return {"faults": json.loads(plan.to_json()), "happened": []}


@routes.operation("removeFaults", status_code=204)
async def remove(host: Served, region: PathRegion) -> None:
    """Remove all faults."""
    await host.ask(lambda: host.switch_off(region))


def _plan(faults: list[dict[str, Any]]) -> FaultPlan:
    try:
        plan = FaultPlan.from_json(json.dumps(faults))
    except ValueError as error:
        raise UsageError(str(error)) from error
    for each in plan.faults:
        if isinstance(each, CrashPoint | TornWrite):
            raise UsageError(f"{each.kind}: would end the server; kill the process instead")
    return plan


def _shown_clock(clock: Clock) -> ClockState:
    return {"time_ns": clock.time_ns(), "frozen": clock.frozen}


@routes.operation("getClock")
async def clock(host: Served, _user: Caller) -> ClockState:
    """The time, and whether it stands still."""
    return await host.ask(lambda: _shown_clock(host.engine.dispatcher.clock))


@routes.operation("setClock")
async def move(
    host: Served,
    _user: Caller,
    frozen: bool | None = None,
    advance: Annotated[float, Query(ge=0, le=10**9, description="seconds")] = 0,
) -> ClockState:
    """Freeze or thaw the clock, or move it forward, to the end of the year 2199 at most."""

    def change() -> ClockState:
        clock = host.engine.dispatcher.clock
        if clock.time_ns() / NS_PER_SECOND + advance > BOUNDS["clock_end"]:
            raise UsageError(f"advance {advance:g}: the clock can move to the end of the year 2199 at most")
        if frozen is not None:
            (clock.freeze if frozen else clock.thaw)()
        if advance:
            clock.advance(advance)
        return _shown_clock(clock)

    return await host.ask(change)
