"""Routes for the refused commands of a region, and the refused APIs of an IBM i system."""

from __future__ import annotations

from typing import cast

from tdqsim.server.answers.work import RefusedState
from tdqsim.server.http.access import Caller
from tdqsim.server.http.common import PathRegion, PathSystem, Routes, Served
from tdqsim.server.refusals import Refusals

routes = Routes()


@routes.operation("listRefusedCommands")
async def refused(host: Served, region: PathRegion) -> list[RefusedState]:
    """The commands that were refused because something is wrong, in groups that are alike; the newest last."""
    return await host.ask(lambda: _states(host.refused[region.applid], region.clock.time_ns()))


@routes.operation("listRefusedApis")
async def refused_apis(host: Served, system: PathSystem, _user: Caller) -> list[RefusedState]:
    """The APIs and commands that were refused because something is wrong, in groups; the newest last."""
    now_ns = host.engine.dispatcher.clock.time_ns()
    return await host.ask(lambda: _states(host.refused_jobs[system.name], now_ns))


def _states(refusals: Refusals, now_ns: int) -> list[RefusedState]:
    return [
        cast("RefusedState", {**each.as_dict(), "what": each.what, "todo": each.todo, "present": each.lasts(now_ns)})
        for each in refusals
    ]
