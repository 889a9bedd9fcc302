"""What operators do: definitions, snapshot and restore, faults, the clock."""

# Annotations are objects here, not text: FastAPI reads them, and they name what is local to a function.

import json
from asyncio import to_thread
from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import Body, FastAPI, Query
from pydantic import ConfigDict, Field

from tdqsim.cics import Region
from tdqsim.cics.kernel.security import Access, may_access
from tdqsim.cics.look.installed import installed
from tdqsim.core.clock import NS_PER_SECOND
from tdqsim.core.dispatch import Dispatcher
from tdqsim.definitions import Definitions, dump_definitions, parse_csd, parse_dct, parse_definitions
from tdqsim.errors import TdqError
from tdqsim.facts import Cvda
from tdqsim.server.host import Host
from tdqsim.server.http.access import Breaker, Looker, Operator
from tdqsim.server.http.common import BOUNDS, PREFIX
from tdqsim.server.http.values import Record, RequestBody
from tdqsim.server.looking import check_readable, probe
from tdqsim.testing.faults import CrashPoint, FaultPlan, TornWrite

__all__ = ["add_operating"]


def add_operating(app: FastAPI, host: Host) -> None:
    """Add the routes."""
    _add_definitions(app, host)
    _add_snapshot(app, host)
    _add_faults(app, host)
    _add_clock(app, host)


class _Definitions(RequestBody):
    """Definitions as text."""

    text: Annotated[str, Field(max_length=BOUNDS["body_bytes"], description="the text of one file")]
    form: Annotated[
        Literal["yaml", "csd", "dct"], Field(description="definition file, DFHCSDUP commands, or DFHDCT macros")
    ] = "yaml"
    install: Annotated[bool, Field(description="False only reads them")] = True


def _add_definitions(app: FastAPI, host: Host) -> None:
    @app.post(f"{PREFIX}/regions/{{name}}/definitions", tags=["definitions"], status_code=201)
    async def install(name: str, given: _Definitions, user: Operator) -> dict[str, Any]:
        """Install definitions into the running region, all or none; from CSD or DCT text they are imported first."""
        region = host.region(name)
        read: Callable[[str], Any] = {"yaml": _from_yaml, "csd": _from_csd, "dct": _from_dct}[given.form]
        definitions, reports = await to_thread(read, given.text)
        if given.install:

            def install() -> None:
                region.install(definitions, user=user.id)
                host.waits.all_changed(region)

            await host.ask(install)
        names = [str(entry.resource.name) for entry in definitions.entries]
        return {"installed": given.install, "names": names, "yaml": dump_definitions(definitions), "reports": reports}

    @app.get(f"{PREFIX}/regions/{{name}}/definitions", tags=["definitions"])
    async def definitions(name: str, user: Looker) -> dict[str, Any]:
        """What is installed now as a definition file, triggers as they are SET, and the data sets of the DD cards.

        Queues that the user may not read are left out, as a browse passes over them.
        """
        region = host.region(name)

        def look() -> tuple[Definitions, dict[str, str]]:
            cards = (each.card for each in region.data_sets.dds)
            files = {card.name: str(card.path) for card in cards if card.path is not None}
            asks = probe(region, user.id)
            seen = [
                each
                for each in installed(region).resources
                if each.kind != "TDQUEUE" or may_access(asks, each.resource_name, Access.READ)
            ]
            return Definitions.of(seen), files

        found, files = await host.ask(look)
        return {"yaml": await to_thread(dump_definitions, found), "data_sets": files}


def _from_yaml(text: str) -> tuple[Any, list[str]]:
    return parse_definitions(text, file="text"), []


def _from_csd(text: str) -> tuple[Any, list[str]]:
    found = parse_csd(text, file="text")
    return found.definitions, [str(each) for each in found.reports]


def _from_dct(text: str) -> tuple[Any, list[str]]:
    found = parse_dct(text, file="text")
    return found.definitions, [str(each) for each in found.reports]


# -- snapshot and restore ---------------------------------------------------------------------------------------------


_Enable = Literal["ENABLED", "DISABLED"]


class _Kept(RequestBody):
    """A queue of a snapshot."""

    enablestatus: _Enable = "ENABLED"
    records: Annotated[list[Record], Field(max_length=BOUNDS["snapshot_records"], default_factory=list)]


class _Snapshot(RequestBody):
    """What a snapshot gave; queues that are not named stay as they are."""

    model_config = ConfigDict(extra="ignore")
    queues: Annotated[dict[str, _Kept], Field(max_length=BOUNDS["snapshot_records"])]


def _add_snapshot(app: FastAPI, host: Host) -> None:
    @app.get(f"{PREFIX}/regions/{{name}}/snapshot", tags=["records"])
    async def snapshot(name: str, user: Looker) -> dict[str, Any]:
        """The intrapartition queues with their records, for restore; refused where there are too many for an answer."""
        region = host.region(name)
        return await host.ask(lambda: _taken(region, user.id))

    @app.put(f"{PREFIX}/regions/{{name}}/snapshot", tags=["records"])
    async def restore(name: str, given: _Snapshot, user: Breaker) -> dict[str, Any]:
        """Give the queues of a snapshot its records and its ENABLESTATUS; nothing is done where one cannot have it."""
        region = host.region(name)
        wanted = {queue: [each.bytes_for(region) for each in kept.records] for queue, kept in given.queues.items()}
        states = {queue: kept.enablestatus for queue, kept in given.queues.items()}
        await host.ask(lambda: _restore(region, wanted, states, user.id or region.default_user))
        return {"restored": len(wanted)}


def _taken(region: Region, userid: str) -> dict[str, Any]:
    queues = list(region.intra_queues())
    count = sum(queue.numitems for queue in queues)
    if count > BOUNDS["snapshot_records"]:
        raise TdqError(f"{count} records are too many for one answer; look at {BOUNDS['page_records']} at a time")
    for queue in queues:
        check_readable(region, queue.name, userid)
    held = {
        queue.name: {
            "enablestatus": "ENABLED" if queue.enablestatus is Cvda.ENABLED else "DISABLED",
            "records": [{"hex": record.hex().upper()} for record in region.peek(queue.name)],
        }
        for queue in queues
    }
    return {"applid": region.applid, "queues": held}


def _restore(region: Region, wanted: dict[str, list[bytes]], states: dict[str, _Enable], userid: str) -> None:
    intra = {queue.name: queue for queue in region.intra_queues()}
    for name in wanted:
        if name not in intra:
            raise TdqError(f"queue {name[:20]!r}: the region has no intrapartition queue of that name")
        if intra[name].locks and any(lock.owner is not None for lock in intra[name].locks):
            raise TdqError(f"queue {name}: a unit of work has it; end that first")
    before: dict[str, tuple[list[bytes], _Enable]] = {}
    try:
        for name, records in wanted.items():
            state: _Enable = "ENABLED" if intra[name].enablestatus is Cvda.ENABLED else "DISABLED"
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
    with region.task(userid=userid) as task:
        task.deleteq_td(name)
    region.seed(name, records)
    _enable(region, name, state, userid)


def _enable(region: Region, name: str, state: _Enable, userid: str) -> None:
    if region.tdqueues[name].enablestatus.name != state:
        with region.task(userid=userid) as task:
            task.set_tdqueue(name, enablestatus=state)


# -- faults and the clock ---------------------------------------------------------------------------------------------


def _add_faults(app: FastAPI, host: Host) -> None:
    path = f"{PREFIX}/regions/{{name}}/faults"

    @app.get(path, tags=["faults"])
    async def faults(name: str, _user: Looker) -> dict[str, Any]:
        """The faults that are at work, of the API and of the console, and what has happened by them."""
        applid = host.region(name).applid

        def look() -> dict[str, Any]:
            plans = host.faults[applid].values()
            faults = [each for plan in plans for each in json.loads(plan.plan.to_json())]
            return {"faults": faults, "happened": [each for plan in plans for each in plan.happened[-100:]][-100:]}

        return await host.ask(look)

    @app.put(path, tags=["faults"])
    async def put(
        name: str, faults: Annotated[list[dict[str, Any]], Body(max_length=100)], _user: Breaker
    ) -> dict[str, Any]:
        """Put a fault plan to work, as FaultPlan.to_json writes it, instead of all that are at work."""
        region = host.region(name)
        plan = _plan(faults)

        def attach() -> None:
            host.switch_off(region)
            host.switch_on(region, plan)

        await host.ask(attach)
        return {"faults": json.loads(plan.to_json()), "happened": []}

    @app.delete(path, tags=["faults"], status_code=204)
    async def remove(name: str, _user: Breaker) -> None:
        """Take all faults away."""
        region = host.region(name)
        await host.ask(lambda: host.switch_off(region))


def _plan(faults: list[dict[str, Any]]) -> FaultPlan:
    try:
        plan = FaultPlan.from_json(json.dumps(faults))
    except ValueError as error:
        raise TdqError(str(error)) from error
    for each in plan.faults:
        if isinstance(each, CrashPoint | TornWrite):
            raise TdqError(f"{each.kind}: it would end the server; a test kills the process instead")
    return plan


def _add_clock(app: FastAPI, host: Host) -> None:
    dispatcher: Dispatcher = host.engine.dispatcher

    def shown_clock() -> dict[str, Any]:
        return {"time_ns": dispatcher.clock.time_ns(), "frozen": dispatcher.clock.frozen}

    @app.get(f"{PREFIX}/clock", tags=["clock"])
    async def clock(_user: Looker) -> dict[str, Any]:
        """The time, and whether it stands still."""
        return await host.ask(shown_clock)

    @app.post(f"{PREFIX}/clock", tags=["clock"])
    async def move(
        _user: Breaker,
        frozen: bool | None = None,
        advance: Annotated[float, Query(ge=0, le=10**9, description="seconds")] = 0,
    ) -> dict[str, Any]:
        """Freeze or thaw the clock, or move it forward, to the end of the year 2199 at most."""

        def change() -> dict[str, Any]:
            if dispatcher.clock.time_ns() / NS_PER_SECOND + advance > BOUNDS["clock_end"]:
                raise TdqError(f"advance {advance:g}: the clock goes to the end of the year 2199")
            if frozen is not None:
                (dispatcher.clock.freeze if frozen else dispatcher.clock.thaw)()
            if advance:
                dispatcher.clock.advance(advance)
            return shown_clock()

        return await host.ask(change)
