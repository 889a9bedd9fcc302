"""Routes for the notices of a region or an IBM i system: what was asked for and does not happen."""

from __future__ import annotations

from dataclasses import asdict
from typing import cast

from tdqsim.server.answers.work import NoticeState
from tdqsim.server.http.access import Caller
from tdqsim.server.http.common import PathRegion, PathSystem, Routes, Served
from tdqsim.state import Notices

routes = Routes()


@routes.operation("listNotices")
async def notices(host: Served, region: PathRegion) -> list[NoticeState]:
    """What was asked for and does not happen, and what has failed, with reason and cure; the newest last."""
    return await host.ask(lambda: _states(region.notices))


@routes.operation("listSystemNotices")
async def system_notices(host: Served, system: PathSystem, _user: Caller) -> list[NoticeState]:
    """What jobs and programs asked for and does not happen, and what has failed; the newest last."""
    return await host.ask(lambda: _states(system.notices))


def _states(stream: Notices) -> list[NoticeState]:
    lasting = set(map(id, stream.lasting))
    return [
        cast("NoticeState", {**asdict(each), "times": stream.times(each), "lasts": id(each) in lasting})
        for each in stream
    ]
