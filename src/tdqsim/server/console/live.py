"""One shared snapshot of each region for all browsers, updated a few times a second, and only while a page is open.

Events of the engine name the queues that have changed. :class:`Live` collects them for a moment, reads those queues
once in the engine's thread, keeps the result, and notifies the pages. Changes without an event are found by a periodic
update. While no page is open there is no subscription, no task and no update.

    engine ---events---> pump --(a few times a second)--> read changed queues --> view --> pages
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final

from tdqsim.cics import Region
from tdqsim.hosting import EngineStopped
from tdqsim.server.console.region_state import RegionSnapshot, locked, read_region
from tdqsim.server.depths import DepthHistory
from tdqsim.server.host import Host
from tdqsim.state import QueueState

_PAUSE: Final = 0.25
"""The minimum of seconds between two updates."""
_BEAT: Final = 1.0
"""Seconds after which an update happens without an event."""
_WHOLE: Final = 10.0
"""Seconds after which all queues are read again."""
_REGION_WIDE: Final = ("SET TDQUEUE", "CREATE TDQUEUE", "DISCARD TDQUEUE", "PERFORM STATISTICS")


class RegionView:
    """The state of one region as it was last read.

    Attributes:
        region: the region.
        queues: the queues by name, in the order of installation.
        snapshot: the state of the region, except its queues.
        depths: the depths of its queues over time, which the server always records.
        happened: whether an event has arrived since then.
    """

    def __init__(self, region: Region, depths: DepthHistory) -> None:
        self.region = region
        self.depths = depths
        self.queues: dict[str, QueueState] = {}
        self.snapshot = RegionSnapshot(0, frozen=False, queues={}, names=(), tasks=(), units=(), waits=(), abends={})
        self.happened = False
        self.changed: set[str] = set()
        self.whole = True
        self._unsettled: set[str] = set()

    def note(self, event: dict[str, Any]) -> None:
        """Record what an event of this region may have changed."""
        self.happened = True
        queue = event.get("queue")
        if isinstance(queue, str):
            self._mark(queue.rstrip(" "))
        if event["event"] == "command" and event["command"].startswith(_REGION_WIDE):
            self.whole = True

    def _mark(self, name: str) -> None:
        """Mark a queue as changed, and the targets of an alias."""
        while name not in self.changed:
            self.changed.add(name)
            snapshot = self.queues.get(name)
            if snapshot is None or snapshot.type != "INDIRECT":
                return
            name = snapshot.target

    def to_read(self) -> set[str] | None:
        """The queues to read; None for all."""
        if self.whole:
            return None
        return self.changed | self._unsettled

    def take(self, snapshot: RegionSnapshot, to_read: set[str] | None) -> bool:
        """Keep a new snapshot; return whether anything has changed."""
        old = self.queues
        new = {name: queue for name, queue in snapshot.queues.items() if old.get(name) != queue}
        gone = [
            name for name in (list(old) if to_read is None else to_read) if name in old and name not in snapshot.queues
        ]
        self.queues = snapshot.queues if to_read is None else {**old, **new}
        for name in gone:
            self.queues.pop(name, None)
        self._unsettled = {
            name for name in (snapshot.queues if to_read is None else to_read) if self._is_unsettled(name)
        }
        changed = bool(new or gone) or self.happened or _rest_of(self.snapshot) != _rest_of(snapshot)
        self.snapshot, self.happened = snapshot, False
        return changed

    def _is_unsettled(self, name: str) -> bool:
        queue = self.queues.get(name)
        return queue is not None and (bool(locked(queue)) or queue.enablestatus == "DISABLING")


def _rest_of(snapshot: RegionSnapshot) -> tuple[object, ...]:
    """The parts of a snapshot other than the queues and the time."""
    parts = (snapshot.tasks, snapshot.units, snapshot.waits, snapshot.abends, snapshot.frozen)
    return *parts, snapshot.dumps[-1:]


class Live:
    """The views of a server's regions, kept up to date while a page is open.

    Args:
        host: the regions and systems.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._views: dict[str, RegionView] = {}
        self._pages: dict[Callable[[], object], tuple[str, ...]] = {}
        self._pump: asyncio.Task[None] | None = None
        self._woken = asyncio.Event()

    def view(self, applid: str) -> RegionView:
        """The view of a region, as it was last read."""
        view = self._views.get(applid)
        if view is None:
            view = self._views[applid] = RegionView(self._host.region(applid), self._host.depths[applid])
        return view

    async def ready(self, applids: Iterable[str]) -> None:
        """Read the state of each region that has not been read yet."""
        self._notify(await self._read([view for view in map(self.view, applids) if not view.snapshot.time_ns]))

    async def has_queue(self, applid: str, queue: str) -> bool:
        """Whether a region has a queue; reads the region, because changes are not noticed while no page is open."""
        view = self.view(applid)
        if queue not in view.queues:
            view.whole = True
            self._notify(await self._read([view]))
        return queue in view.queues

    def start(self, applids: Iterable[str], changed: Callable[[], object]) -> None:
        """Call ``changed`` now, and whenever something has changed in these regions.

        The first call is needed because the page may be older than the view, which other pages may have updated.
        """
        self._pages[changed] = tuple(applids)
        for applid in self._pages[changed]:
            self.view(applid).whole = True
        changed()
        self._woken.set()
        if self._pump is None:
            self._pump = asyncio.get_running_loop().create_task(self._live(), name="console")

    def stop(self, changed: Callable[[], object]) -> None:
        """Stop calling ``changed``."""
        self._pages.pop(changed, None)
        self._woken.set()

    @property
    def idle(self) -> bool:
        """Whether no page is open, so that nothing is read."""
        return self._pump is None

    def nudge(self) -> None:
        """Update soon, after an action of a user."""
        self._woken.set()

    def _watched(self) -> list[RegionView]:
        return [self.view(applid) for applid in dict.fromkeys(one for many in self._pages.values() for one in many)]

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
            while self._pages and self._host.engine.running:
                self._woken.clear()
                lost = subscription.lost
                for event in subscription.take():
                    self._note(event)
                if clock() >= whole_at or subscription.lost > lost:
                    whole_at = clock() + _WHOLE
                    for view in self._watched():
                        view.whole = True
                self._notify(await self._read(self._watched()))
                await asyncio.sleep(_PAUSE)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), _BEAT)

    def _note(self, event: object) -> None:
        if isinstance(event, dict) and event.get("region") in self._views:
            self._views[event["region"]].note(event)

    async def _read(self, views: list[RegionView]) -> set[str]:
        """Read regions; return the names of those that have changed."""
        new = set()
        for view in views:
            to_read = view.to_read()
            view.whole, view.changed = False, set()  # before the read: start() may mark the view again during it
            snapshot = await asyncio.wrap_future(self._host.engine.outside(partial(read_region, view.region, to_read)))
            if view.take(snapshot, to_read):
                new.add(view.region.applid)
        return new

    def _notify(self, new: set[str]) -> None:
        for changed, applids in tuple(self._pages.items()):
            if changed in self._pages and not new.isdisjoint(applids):
                changed()
