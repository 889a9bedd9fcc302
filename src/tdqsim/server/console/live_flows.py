"""What flows in the regions and systems of a server, made once a second for all pages that show it.

The counts of regions are always kept, because they are also metrics. The operations of IBM i systems are counted from
the first time that a page shows flows.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Final, TypeAlias

from tdqsim import state
from tdqsim.cics import Region
from tdqsim.ibmi import System
from tdqsim.report import FlowCounts, Flows
from tdqsim.server.console.live import Live
from tdqsim.server.console.region_state import depth
from tdqsim.server.host import Host

_FRESH: Final = 1.0
"""The seconds for which flows are shown again without being made anew."""
_SAMPLES: Final = 7
_BETWEEN: Final = 10.0
"""The seconds between two samples of the totals, from which rates are computed."""
_KINDS: Final = {"INTRA": "queue", "EXTRA": "data set", "REMOTE": "remote queue", "INDIRECT": "alias"}
_DATA_QUEUES: Final = ("QSNDDTAQ", "QRCVDTAQ", "QCLRDTAQ")


_Ways: TypeAlias = tuple[dict[str, str], dict[str, str]]
"""The APPLIDs of the regions at the other ends of connections, and the systems of remote programs, each by name."""


class _JobCounts:
    """Counts the operations of the jobs of a system; the recorder of the system."""

    def __init__(self) -> None:
        self.counts = FlowCounts()

    def trace(self, event: tuple[object, ...]) -> None:
        """See :class:`tdqsim.ibmi.SystemRecorder`."""
        operation, job, queue, message = event[0], event[1], event[2], event[6]
        if operation in _DATA_QUEUES:
            actor = str(job).rpartition("/")[2]
            self.counts.command(actor, str(operation), str(queue), str(message) or "NORMAL")


class LiveFlows:
    """The flows of a server.

    Args:
        host: the regions and systems.
        live: the states of the regions.

    Attributes:
        rates: the number of records and starts a second over the last minute, by the ids of both nodes.
    """

    def __init__(self, host: Host, live: Live) -> None:
        self._host = host
        self._live = live
        self._jobs: dict[str, _JobCounts] = {}
        self._flows = Flows()
        self._made_at = float("-inf")
        self._samples: deque[tuple[float, dict[tuple[str, str], int]]] = deque(maxlen=_SAMPLES)
        self.rates: dict[tuple[str, str], float] = {}

    async def now(self) -> Flows:
        """The present flows of all regions and systems."""
        await self._count_jobs()
        now = asyncio.get_running_loop().time()
        if now - self._made_at >= _FRESH:
            self._made_at = now
            regions = list(self._host.regions.values())
            ways = await asyncio.wrap_future(self._host.engine.outside(lambda: dict(map(_ways, regions))))
            self._flows = self._made(ways)
            self._rate(now)
        return self._flows

    async def _count_jobs(self) -> None:
        for name, system in self._host.systems.items():
            if name not in self._jobs:
                self._jobs[name] = counts = _JobCounts()
                await asyncio.wrap_future(self._host.engine.outside(partial(_record, system, counts)))

    def _made(self, ways: Mapping[str, _Ways]) -> Flows:
        flows = Flows()
        for applid, (links, programs) in ways.items():
            view = self._live.view(applid)
            for queue in view.queues.values():
                target = queue.target
                if queue.type == "REMOTE":
                    target = links.get(queue.system, queue.system)
                flows.know(applid, queue.name, _KINDS.get(queue.type, "queue"), target)
            for program, system in programs.items():
                flows.know(applid, program, "program", links.get(system, system))
            flows.add(applid, self._host.flows[applid])
            depths = ((queue.name, queue.numitems) for queue in view.queues.values() if depth(queue) >= 0)
            flows.deep(applid, depths, new=False)
        for name, jobs in self._jobs.items():
            flows.add(name, jobs.counts)
        flows.ship()
        return flows

    def _rate(self, now: float) -> None:
        totals = {key: flow.total() for key, flow in self._flows.flows.items()}
        if not self._samples or now - self._samples[-1][0] >= _BETWEEN:
            self._samples.append((now, totals))
        before_at, before = self._samples[0]
        seconds = now - before_at
        self.rates = {
            key: (total - before.get(key, 0)) / seconds
            for key, total in totals.items()
            if seconds >= 1 and total > before.get(key, 0)
        }


def _record(system: System, counts: _JobCounts) -> None:
    if system.recorder is None:
        system.recorder = counts


def _ways(region: Region) -> tuple[str, _Ways]:
    """A region's APPLID and its ways to other regions; call in the engine's thread."""
    links = {each.name: each.netname for each in state.links(region) if each.netname}
    programs = {
        name: program.remotesystem
        for name, program in region.programs.definitions.items()
        if program.remotesystem not in ("", region.options.sysid)
    }
    return region.applid, (links, programs)
