"""Routes of what was asked for and does not happen: the notices of a region or system, and its refused commands."""

from __future__ import annotations

from tdqsim.cics import Region
from tdqsim.ibmi import System
from tdqsim.server.answers.tables import NoticeState, RefusedState
from tdqsim.server.http.access import Caller
from tdqsim.server.http.common import EndedRegion, EndedSystem, Routes, Served
from tdqsim.server.http.values import plain
from tdqsim.server.refusals import Refusals

routes = Routes()


@routes.operation("listNotices")
async def notices(host: Served, region: EndedRegion) -> list[NoticeState]:
    """What was asked for and does not happen, and what has failed, with reason and cure; the newest last."""
    return await host.ask(lambda: _notices(region))


@routes.operation("listSystemNotices")
async def system_notices(host: Served, system: EndedSystem, _user: Caller) -> list[NoticeState]:
    """What jobs and programs asked for and does not happen, and what has failed; the newest last."""
    return await host.ask(lambda: _notices(system))


@routes.operation("listRefusedCommands")
async def refused(host: Served, region: EndedRegion) -> list[RefusedState]:
    """The commands that were refused because something is wrong, in groups that are alike; the newest last."""
    return await host.ask(lambda: _refused(host.refused[region.applid], region.clock.time_ns()))


@routes.operation("listRefusedApis")
async def refused_apis(host: Served, system: EndedSystem, _user: Caller) -> list[RefusedState]:
    """The APIs and commands that were refused because something is wrong, in groups; the newest last."""
    return await host.ask(lambda: _refused(host.refused_jobs[system.name], system.clock.time_ns()))


def _notices(source: Region | System) -> list[NoticeState]:
    stream = source.notices
    lasting = set(map(id, stream.lasting))
    return [plain(each, times=stream.times(each), lasts=id(each) in lasting) for each in stream]


def _refused(refusals: Refusals, now_ns: int) -> list[RefusedState]:
    return [plain(each, what=each.what, cure=each.cure, present=each.lasts(now_ns)) for each in refusals]
