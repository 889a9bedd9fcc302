"""Regions and their queues: INQUIRE, SET, DISCARD, explain."""

# Annotations are objects here, not text: FastAPI reads them, and they name what is local to a function.

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Self

from fastapi import FastAPI, Query
from pydantic import ConfigDict, model_validator

from tdqsim.cics import Condition, Region
from tdqsim.cics.look.explain import explain as explained
from tdqsim.server.host import Host
from tdqsim.server.http.access import Looker, Operator
from tdqsim.server.http.common import BOUNDS, PREFIX, as_task
from tdqsim.server.http.values import RequestBody, Whole, values_out
from tdqsim.server.looking import inquired, probe
from tdqsim.server.users import User

__all__ = ["add_queues", "add_regions"]

_NOT_THIS_QUEUE = 101  # RESP2 of NOTAUTH


class _SetTdqueue(RequestBody):
    """Options of SET TDQUEUE by name, at least one."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})
    atifacility: str | Whole = ""
    atitermid: str | Whole = ""
    atitranid: str | Whole = ""
    atiuserid: str | Whole = ""
    enablestatus: str | Whole = ""
    openstatus: str | Whole = ""
    triggerlevel: str | Whole = ""

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.model_fields_set:
            raise ValueError(f"no option is given; SET TDQUEUE has {', '.join(type(self).model_fields)}")
        return self


def add_regions(app: FastAPI, host: Host) -> None:
    """Add the routes of regions."""

    @app.get(f"{PREFIX}/regions", tags=["regions"])
    async def regions(_user: Looker) -> list[dict[str, Any]]:
        """The regions that are served."""
        return await host.ask(lambda: [_about(region) for region in host.regions.values()])

    @app.get(f"{PREFIX}/regions/{{name}}", tags=["regions"])
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
        "time_zone": str(region.zone),
        "queues": len(region.tdqueues),
        "tasks": len(region.tasks),
        "abends": dict(region.abends),
    }


def _queue(region: Region, name: str, user: User) -> dict[str, Any]:
    return {"name": name, **values_out(inquired(region, name, user.id).as_dict(), region)}


def _readable(region: Region, names: Iterable[str], user: User) -> Iterator[dict[str, Any]]:
    """What INQUIRE gives of queues; as a browse does, it passes over those that the user may not read."""
    for name in names:
        try:
            yield _queue(region, name, user)
        except Condition as condition:
            if condition.resp2 != _NOT_THIS_QUEUE:
                raise


def add_queues(app: FastAPI, host: Host) -> None:
    """Add the routes of queues."""
    base = f"{PREFIX}/regions/{{name}}/queues"

    @app.get(base, tags=["queues"])
    async def queues(
        name: str,
        user: Looker,
        prefix: Annotated[str, Query(max_length=4, description="names that begin so")] = "",
        after: Annotated[str, Query(max_length=4, description="names behind this one")] = "",
        limit: Annotated[int, Query(ge=1, le=BOUNDS["queues_page"])] = 100,
    ) -> dict[str, Any]:
        """The queues of a region, in the order of their names, a page at a time."""
        region = host.region(name)

        def look() -> dict[str, Any]:
            names = sorted(each for each in region.tdqueues if each.startswith(prefix) and each > after)
            page = names[:limit]
            more = page[-1] if len(names) > limit else None
            return {"queues": list(_readable(region, page, user)), "next": more, "count": len(names)}

        return await host.ask(look)

    @app.get(f"{base}/{{queue}}", tags=["queues"])
    async def inquire(name: str, queue: str, user: Looker) -> dict[str, Any]:
        """INQUIRE TDQUEUE with all options."""
        region = host.region(name)
        return await host.ask(lambda: _queue(region, queue, user))

    @app.patch(f"{base}/{{queue}}", tags=["queues"])
    async def set_queue(name: str, queue: str, given: _SetTdqueue, user: Operator) -> dict[str, Any]:
        """SET TDQUEUE, with the options by name, such as ``{"enablestatus": "DISABLED"}``."""
        region = host.region(name)
        options = given.model_dump(exclude_unset=True)
        words = " ".join(f"{word.upper()}(V{at})" for at, word in enumerate(options))
        values = {f"V{at}": value for at, value in enumerate(options.values())}
        await as_task(host, region, user, lambda task: task.execute(f"SET TDQUEUE(Q) {words}", {"Q": queue, **values}))
        return await host.ask(lambda: _queue(region, queue, user))

    @app.delete(f"{base}/{{queue}}", tags=["definitions"], status_code=204)
    async def discard(name: str, queue: str, user: Operator) -> None:
        """DISCARD TDQUEUE."""
        region = host.region(name)
        await as_task(host, region, user, lambda task: task.discard_tdqueue(queue))

    @app.get(f"{base}/{{queue}}/depth", tags=["queues"])
    async def depth(name: str, queue: str, user: Looker) -> dict[str, Any]:
        """NUMITEMS of an intrapartition queue over time: since when it has had which, true to the second."""
        region = host.region(name)

        def look() -> dict[str, Any]:
            now = int(inquired(region, queue, user.id).numitems)
            samples = host.depths[region.applid].of(queue.rstrip(" "))
            return {"time_ns": region.clock.time_ns(), "depth": now, "samples": samples}

        return await host.ask(look)

    @app.get(f"{base}/{{queue}}/explain", tags=["queues"])
    async def explain(
        name: str,
        queue: str,
        user: Looker,
        size: Annotated[int, Query(ge=1, le=32767, description="bytes of the record whose WRITEQ is foreseen")] = 1,
    ) -> dict[str, Any]:
        """Why a queue is as it is, and what each request would meet, in sentences and in parts."""
        region = host.region(name)
        pause = partial(region.dispatcher.yield_now, always=True)
        found = await host.ask(lambda: explained(region, queue, size=size, task=probe(region, user.id), pause=pause))
        return {"explanation": str(found), **asdict(found)}
