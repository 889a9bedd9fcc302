"""One shared look at each region for all browsers, a few times a second, and only while a browser looks.

Events of the engine say which queues have changed; :class:`Live` collects them for a moment, has those queues looked
at once in the engine's thread, keeps what it saw, and tells the pages. What no event tells of (a task that begins to
wait) is seen by a slower beat. While no page is open there is no subscription, no task and no beat.

    engine ---events---> pump --(a few times a second)--> look at what changed --> view --> pages
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final

from tdqsim.cics import Region
from tdqsim.core.engine import EngineStopped
from tdqsim.server.console.seen import QueueSeen, RegionSeen, look
from tdqsim.server.depths import DepthHistory
from tdqsim.server.host import Host

__all__ = ["Live", "RegionView"]

_PAUSE: Final = 0.25
"""Seconds between two looks at most."""
_BEAT: Final = 1.0
"""Seconds after which it is looked without an event."""
_WHOLE: Final = 10.0
"""Seconds after which all queues are looked at again."""
_REGION_WIDE: Final = ("SET TDQUEUE", "CREATE TDQUEUE", "DISCARD TDQUEUE", "PERFORM STATISTICS")


class RegionView:
    """The state of one region as it was last read.

    Attributes:
        region: the region.
        queues: by name, in the order of installation.
        seen: its state apart from its queues.
        depths: of its queues over time, which the server keeps whether anybody looks or not.
        happened: whether an event has come since then.
    """

    def __init__(self, region: Region, depths: DepthHistory) -> None:
        self.region = region
        self.depths = depths
        self.queues: dict[str, QueueSeen] = {}
        self.seen = RegionSeen(0, frozen=False, queues={}, names=(), tasks=(), units=(), waits=(), abends={})
        self.happened = False
        self.changed: set[str] = set()
        self.whole = True
        self._unsettled: set[str] = set()

    def note(self, event: dict[str, Any]) -> None:
        """An event of this region: remember what it may have changed."""
        self.happened = True
        queue = event.get("queue")
        if isinstance(queue, str):
            self._mark(queue.rstrip(" "))
        if event["event"] == "command" and event["command"].startswith(_REGION_WIDE):
            self.whole = True

    def _mark(self, name: str) -> None:
        """A queue has changed, and so has what it stands for."""
        while name not in self.changed:
            self.changed.add(name)
            seen = self.queues.get(name)
            if seen is None or seen.type != "INDIRECT":
                return
            name = seen.target

    def asked(self) -> set[str] | None:
        """The queues to be looked at; None for all."""
        if self.whole:
            return None
        return self.changed | self._unsettled

    def take(self, seen: RegionSeen, asked: set[str] | None) -> bool:
        """Keep a state that was read; returns whether anything has changed."""
        old = self.queues
        new = {name: queue for name, queue in seen.queues.items() if old.get(name) != queue}
        gone = [name for name in (list(old) if asked is None else asked) if name in old and name not in seen.queues]
        self.queues = seen.queues if asked is None else {**old, **new}
        for name in gone:
            self.queues.pop(name, None)
        self._unsettled = {name for name in (seen.queues if asked is None else asked) if self._is_unsettled(name)}
        changed = bool(new or gone) or self.happened or _beside(self.seen) != _beside(seen)
        self.seen, self.happened = seen, False
        return changed

    def _is_unsettled(self, name: str) -> bool:
        queue = self.queues.get(name)
        return queue is not None and (bool(queue.locks) or queue.enabled == "DISABLING")


def _beside(seen: RegionSeen) -> tuple[object, ...]:
    """The parts of a state beside the queues and the time."""
    return seen.tasks, seen.units, seen.waits, seen.abends, seen.frozen


class Live:
    """The views of a server's regions, kept up to date while a page is open.

    Args:
        host: what is served.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._views: dict[str, RegionView] = {}
        self._looking: dict[Callable[[], object], tuple[str, ...]] = {}
        self._pump: asyncio.Task[None] | None = None
        self._woken = asyncio.Event()

    def view(self, applid: str) -> RegionView:
        """The view of a region, as it was last seen."""
        found = self._views.get(applid)
        if found is None:
            found = self._views[applid] = RegionView(self._host.region(applid), self._host.depths[applid])
        return found

    async def ready(self, applids: Iterable[str]) -> None:
        """Read the state of each region of which nothing has been read yet."""
        self._tell(await self._look([view for view in map(self.view, applids) if not view.seen.time_ns]))

    async def has_queue(self, applid: str, queue: str) -> bool:
        """Whether a region has a queue now: while no page is open, queues come and go unnoticed."""
        view = self.view(applid)
        if queue not in view.queues:
            view.whole = True
            self._tell(await self._look([view]))
        return queue in view.queues

    def start(self, applids: Iterable[str], changed: Callable[[], object]) -> None:
        """Call ``changed`` now, and whenever something is new in these regions.

        What the caller has shown may be older than the view: another page may have been open meanwhile.
        """
        self._looking[changed] = tuple(applids)
        for applid in self._looking[changed]:
            self.view(applid).whole = True
        changed()
        self._woken.set()
        if self._pump is None:
            self._pump = asyncio.get_running_loop().create_task(self._live(), name="console")

    def stop(self, changed: Callable[[], object]) -> None:
        """Call it no more."""
        self._looking.pop(changed, None)
        self._woken.set()

    @property
    def idle(self) -> bool:
        """Whether no page is open, so that nothing is read."""
        return self._pump is None

    def nudge(self) -> None:
        """Look soon: something was done here."""
        self._woken.set()

    def _watched(self) -> list[RegionView]:
        return [self.view(applid) for applid in dict.fromkeys(one for many in self._looking.values() for one in many)]

    @contextmanager
    def _listening(self) -> Iterator[Any]:
        loop = asyncio.get_running_loop()
        subscription = self._host.engine.subscribe(wake=partial(loop.call_soon_threadsafe, self._woken.set))
        try:
            with suppress(EngineStopped):
                yield subscription
        finally:
            self._host.engine.unsubscribe(subscription)
            self._pump = None

    async def _live(self) -> None:
        """Read the regions while a page is open."""
        clock = asyncio.get_running_loop().time
        whole_at = clock() + _WHOLE
        with self._listening() as subscription:
            while self._looking and self._host.engine.running:
                self._woken.clear()
                lost = subscription.lost
                for event in subscription.take():
                    self._note(event)
                if clock() >= whole_at or subscription.lost > lost:
                    whole_at = clock() + _WHOLE
                    for view in self._watched():
                        view.whole = True
                self._tell(await self._look(self._watched()))
                await asyncio.sleep(_PAUSE)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), _BEAT)

    def _note(self, event: object) -> None:
        if isinstance(event, dict) and event.get("region") in self._views:
            self._views[event["region"]].note(event)

    async def _look(self, views: list[RegionView]) -> set[str]:
        """Look at regions; the names of those in which something is new."""
        new = set()
        for view in views:
            asked = view.asked()
            view.whole, view.changed = False, set()
            seen = await asyncio.wrap_future(self._host.engine.outside(partial(look, view.region, asked)))
            if view.take(seen, asked):
                new.add(view.region.applid)
        return new

    def _tell(self, new: set[str]) -> None:
        for changed, applids in tuple(self._looking.items()):
            if changed in self._looking and not new.isdisjoint(applids):
                changed()
