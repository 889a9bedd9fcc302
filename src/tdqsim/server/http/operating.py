"""Routes for operators: definitions, snapshot and restore, faults, the clock."""

from __future__ import annotations

import json
from asyncio import to_thread
from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import Body, Query
from pydantic import ConfigDict, Field

from tdqsim.cics import Region
from tdqsim.cics.internals import core_of
from tdqsim.cics.kernel.authority import may_access
from tdqsim.cics.kernel.security import Access
from tdqsim.cics.look.installed import installed
from tdqsim.cics.look.state import intra_states, state_of
from tdqsim.client.answers.operating import FaultState, InstalledDefinitions, InstallResult
from tdqsim.client.answers.process import ClockState
from tdqsim.client.answers.regions import RestoreResult, Snapshot, SnapshotQueue
from tdqsim.core.clock import NS_PER_SECOND, Clock
from tdqsim.definitions import Definitions, dump_definitions, parse_csd, parse_dct, parse_definitions
from tdqsim.errors import TdqError, UsageError
from tdqsim.server.http.access import Caller
from tdqsim.server.http.common import BOUNDS, PathRegion, Routes, Served
from tdqsim.server.http.values import Record, RequestBody
from tdqsim.server.inspection import check_readable, probe
from tdqsim.server.open_units import API_TRANSID
from tdqsim.testing.faults import CrashPoint, FaultPlan, TornWrite

__all__ = ["routes"]

routes = Routes()


class DefinitionText(RequestBody):
    """Definitions as text."""

    text: Annotated[str, Field(max_length=BOUNDS["body_bytes"], description="the text of one file")]
    form: Annotated[
        Literal["yaml", "csd", "dct"], Field(description="definition file, DFHCSDUP commands, or DFHDCT macros")
    ] = "yaml"
    install: Annotated[bool, Field(description="False only checks them")] = True


@routes.operation("installDefinitions", status_code=201)
async def install(host: Served, region: PathRegion, given: DefinitionText, user: Caller) -> InstallResult:
    """Install definitions into the running region, all or none; from CSD or DCT text they are imported first."""
    read: Callable[[str], Any] = {"yaml": _from_yaml, "csd": _from_csd, "dct": _from_dct}[given.form]
    definitions, reports = await to_thread(read, given.text)
    if given.install:

        def install() -> None:
            region.install(definitions, user=user.id)
            host.waits.all_changed(region)

        await host.ask(install)
    names = [str(entry.resource.name) for entry in definitions.entries]
    return {"installed": given.install, "names": names, "yaml": dump_definitions(definitions), "reports": reports}


@routes.operation("getDefinitions")
async def definitions(host: Served, region: PathRegion, user: Caller) -> InstalledDefinitions:
    """The installed definitions as a definition file, with current trigger levels, and data sets of DD cards.

    Queues that the user may not read are left out, as in a browse.
    """

    def look() -> tuple[Definitions, dict[str, str]]:
        cards = (each.card for each in core_of(region).data_sets.dds)
        files = {card.name: str(card.path) for card in cards if card.path is not None}
        asks = probe(region, user.id)
        readable = [
            each
            for each in installed(core_of(region)).resources
            if each.kind != "TDQUEUE" or may_access(asks, each.resource_name, Access.READ)
        ]
        return Definitions.of(readable), files

    installed_now, files = await host.ask(look)
    return {"yaml": await to_thread(dump_definitions, installed_now), "data_sets": files}


def _from_yaml(text: str) -> tuple[Any, list[str]]:
    return parse_definitions(text, file="text"), []


def _from_csd(text: str) -> tuple[Any, list[str]]:
    deck = parse_csd(text, file="text")
    return deck.definitions, [str(each) for each in deck.reports]


def _from_dct(text: str) -> tuple[Any, list[str]]:
    deck = parse_dct(text, file="text")
    return deck.definitions, [str(each) for each in deck.reports]


# -- snapshot and restore ---------------------------------------------------------------------------------------------


_Enable = Literal["ENABLED", "DISABLED"]


class QueueToRestore(RequestBody):
    """A queue of a snapshot."""

    enablestatus: _Enable = "ENABLED"
    records: Annotated[list[Record], Field(max_length=BOUNDS["snapshot_records"], default_factory=list)]


class SnapshotToRestore(RequestBody):
    """A snapshot; other queues are not changed."""

    model_config = ConfigDict(extra="ignore")
    queues: Annotated[dict[str, QueueToRestore], Field(max_length=BOUNDS["snapshot_records"])]


@routes.operation("takeSnapshot")
async def snapshot(host: Served, region: PathRegion, user: Caller) -> Snapshot:
    """The intrapartition queues with their records, for restore; refused if there are too many for an answer."""
    return await host.ask(lambda: _taken(region, user.id))


@routes.operation("restoreSnapshot")
async def restore(host: Served, region: PathRegion, given: SnapshotToRestore, user: Caller) -> RestoreResult:
    """Restore the records and ENABLESTATUS of the queues in a snapshot; all or none."""
    wanted = {queue: [each.bytes_for(region) for each in kept.records] for queue, kept in given.queues.items()}
    states = {queue: kept.enablestatus for queue, kept in given.queues.items()}
    await host.ask(lambda: _restore(region, wanted, states, user.id or region.options.default_user))
    return {"restored": len(wanted)}


def _taken(region: Region, userid: str) -> Snapshot:
    queues = list(intra_states(core_of(region)))
    count = sum(queue.numitems for queue in queues)
    if count > BOUNDS["snapshot_records"]:
        raise UsageError(f"{count} records are too many for one answer; read {BOUNDS['page_records']} at a time")
    for queue in queues:
        check_readable(region, queue.name, userid)
    held: dict[str, SnapshotQueue] = {
        queue.name: {
            "enablestatus": "ENABLED" if queue.enablestatus == "ENABLED" else "DISABLED",
            "records": [{"hex": record.hex().upper()} for record in region.peek(queue.name)],
        }
        for queue in queues
    }
    return {"applid": region.applid, "queues": held}


def _restore(region: Region, wanted: dict[str, list[bytes]], states: dict[str, _Enable], userid: str) -> None:
    intra = {queue.name: queue for queue in intra_states(core_of(region))}
    for name in wanted:
        if name not in intra:
            raise UsageError(f"queue {name[:20]!r}: the region has no intrapartition queue of that name")
        if any(lock.uow for lock in intra[name].locks):
            raise UsageError(f"queue {name}: a unit of work uses it; end the unit of work first")
    before: dict[str, tuple[list[bytes], _Enable]] = {}
    try:
        for name, records in wanted.items():
            state: _Enable = "ENABLED" if intra[name].enablestatus == "ENABLED" else "DISABLED"
            before[name] = region.peek(name), state
            _give(region, name, records, states[name], userid)
    except TdqError:
        for name, (records, old) in before.items():
            if region.peek(name) == records:
                _enable(region, name, old, userid)
            else:
                _give(region, name, records, old, userid)
        raise


def _give(region: Region, name: str, records: list[bytes], state: _Enable, userid: str) -> None:
    _enable(region, name, "ENABLED", userid)
    with region.task(transid=API_TRANSID, userid=userid) as task:
        task.deleteq_td(name)
    region.seed(name, records)
    _enable(region, name, state, userid)


def _enable(region: Region, name: str, state: _Enable, userid: str) -> None:
    now = state_of(core_of(region), name)
    if now is not None and now.enablestatus != state:
        with region.task(transid=API_TRANSID, userid=userid) as task:
            task.set_tdqueue(name, enablestatus=state)


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
