"""Regions and their queues: INQUIRE, SET, DISCARD, explain."""

# Annotations are objects here, not text: FastAPI reads them, and they name what is local to a function.

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import FastAPI, Query
from pydantic import StrictInt, StrictStr

from tdqsim.cics import Region
from tdqsim.errors import TdqError
from tdqsim.facts import table
from tdqsim.server.host import Host
from tdqsim.server.http.access import Looker, Operator
from tdqsim.server.http.common import BOUNDS, PREFIX, as_task
from tdqsim.server.http.values import values_out

__all__ = ["add_queues", "add_regions"]

_SETTABLE = frozenset(row["name"] for row in table("set_tdqueue"))


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


def _queue(region: Region, name: str) -> dict[str, Any]:
    found = region.inquire_tdqueue(name)
    return {"name": name, **values_out(found.as_dict(), region)}


def add_queues(app: FastAPI, host: Host) -> None:
    """Add the routes of queues."""
    base = f"{PREFIX}/regions/{{name}}/queues"

    @app.get(base, tags=["queues"])
    async def queues(
        name: str,
        _user: Looker,
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
            return {"queues": [_queue(region, each) for each in page], "next": more, "count": len(names)}

        return await host.ask(look)

    @app.get(f"{base}/{{queue}}", tags=["queues"])
    async def inquire(name: str, queue: str, _user: Looker) -> dict[str, Any]:
        """INQUIRE TDQUEUE with all options."""
        region = host.region(name)
        return await host.ask(lambda: _queue(region, queue))

    @app.patch(f"{base}/{{queue}}", tags=["queues"])
    async def set_queue(
        name: str, queue: str, options: dict[str, StrictStr | StrictInt], user: Operator
    ) -> dict[str, Any]:
        """SET TDQUEUE, with the options by name, such as ``{"enablestatus": "DISABLED"}``."""
        region = host.region(name)
        _check_options(options)
        words = " ".join(f"{word.upper()}(V{at})" for at, word in enumerate(options))
        values = {f"V{at}": value for at, value in enumerate(options.values())}
        await as_task(host, region, user, lambda task: task.execute(f"SET TDQUEUE(Q) {words}", {"Q": queue, **values}))
        return await host.ask(lambda: _queue(region, queue))

    @app.delete(f"{base}/{{queue}}", tags=["definitions"], status_code=204)
    async def discard(name: str, queue: str, user: Operator) -> None:
        """DISCARD TDQUEUE."""
        region = host.region(name)
        await as_task(host, region, user, lambda task: task.discard_tdqueue(queue))

    @app.get(f"{base}/{{queue}}/depth", tags=["queues"])
    async def depth(name: str, queue: str, _user: Looker) -> dict[str, Any]:
        """NUMITEMS of an intrapartition queue over time: since when it has had which, true to the second."""
        region = host.region(name)

        def look() -> dict[str, Any]:
            now = int(region.inquire_tdqueue(queue, "NUMITEMS").numitems)
            samples = host.depths[region.applid].of(queue.rstrip(" "))
            return {"time_ns": region.clock.time_ns(), "depth": now, "samples": samples}

        return await host.ask(look)

    @app.get(f"{base}/{{queue}}/explain", tags=["queues"])
    async def explain(
        name: str,
        queue: str,
        _user: Looker,
        size: Annotated[int, Query(ge=1, le=32767, description="bytes of the record whose WRITEQ is foreseen")] = 1,
    ) -> dict[str, Any]:
        """Why a queue is as it is, and what each request would meet, in sentences and in parts."""
        region = host.region(name)
        found = await host.ask(lambda: region.explain(queue, size=size))
        return {"explanation": str(found), **asdict(found)}


def _check_options(options: dict[str, str | int]) -> None:
    allowed = ", ".join(sorted(word.lower() for word in _SETTABLE))
    if not options:
        raise TdqError(f"no option is given; SET TDQUEUE has {allowed}")
    seen: set[str] = set()
    for word in options:
        if word.upper() not in _SETTABLE:
            raise TdqError(f"{word[:40]!r} is no option of SET TDQUEUE, which has {allowed}")
        if word.upper() in seen:
            raise TdqError(f"{word.lower()} is given twice")
        seen.add(word.upper())
