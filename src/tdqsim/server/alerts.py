"""Alerts: the incidents of all regions that begin and end, and the tasks that abend, for listeners in the event loop.

The engine calls :meth:`Alerts.abended` for each abend. The other incidents are states, so they are looked for every few
seconds, and compared with those of the check before. Without a listener there are no checks. A listener that does not
take its alerts loses the oldest; nothing here waits for it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Literal, TypeAlias, TypedDict

from tdqsim.cics import Region
from tdqsim.hosting import EngineStopped
from tdqsim.ibmi import System
from tdqsim.server.bounds import BOUNDS
from tdqsim.server.host import Host
from tdqsim.server.incidents import Incident, incidents_of, incidents_of_system
from tdqsim.state import Dump

_Place: TypeAlias = tuple[str, str]
"""``regions`` or ``systems``, and the name."""


class Alert(TypedDict):
    """An alert.

    Attributes:
        event: ``alert``, the name of the server-sent event.
        region: the APPLID, or the name of the IBM i system.
        state: ``began`` or ``ended`` for a state, ``happened`` for an abend.
        kind: Abend, or the kind of the incident.
        what: what happens or has happened.
        cure: what ends it; for an abend, how to see its dump.
        since_ns: when it began, in nanoseconds on the region's clock; 0 if that is not known.
        time_ns: the time of the alert on the region's clock.
        page: the path of the page of the console with its details.
    """

    event: Literal["alert"]
    region: str
    state: Literal["began", "ended", "happened"]
    kind: str
    what: str
    cure: str
    since_ns: int
    time_ns: int
    page: str


class AlertListener:
    """The alerts for one listener.

    Args:
        wake: called in the event loop when there is an alert.

    Attributes:
        lost: the number of alerts that were dropped because too many were waiting.
    """

    def __init__(self, wake: Callable[[], object]) -> None:
        self.lost = 0
        self._wake = wake
        self._alerts: deque[Alert] = deque()

    def offer(self, alert: Alert) -> None:
        """Add an alert."""
        if len(self._alerts) >= BOUNDS["alerts_kept"]:
            self._alerts.popleft()
            self.lost += 1
        self._alerts.append(alert)
        self._wake()

    def take(self) -> list[Alert]:
        """Remove and return the waiting alerts, oldest first."""
        alerts = list(self._alerts)
        self._alerts.clear()
        return alerts


class Alerts:
    """The alerts of a server's regions; used in the event loop, except for :meth:`abended`.

    Args:
        host: the regions.
        look_seconds: the seconds between two checks.
    """

    def __init__(self, host: Host, look_seconds: float = BOUNDS["incident_look_seconds"]) -> None:
        self._host = host
        self._seconds = look_seconds
        self._listeners: set[AlertListener] = set()
        self._known: dict[tuple[_Place, str, str], Incident] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watch: asyncio.Task[None] | None = None

    def listen(self, wake: Callable[[], object]) -> AlertListener:
        """Begin to listen; the present incidents come as alerts that they began."""
        listener = AlertListener(wake)
        self._listeners.add(listener)
        for (place, _kind, _key), incident in self._known.items():
            listener.offer(self._alert(place, "began", incident))
        if self._watch is None:
            self._loop = asyncio.get_running_loop()
            self._host.abend_listeners.append(self.abended)
            self._watch = self._loop.create_task(self._keep_looking(), name="alerts")
        return listener

    def leave(self, listener: AlertListener) -> None:
        """End listening."""
        self._listeners.discard(listener)
        if not self._listeners and self._watch is not None:
            self._watch.cancel()
            self._host.abend_listeners.remove(self.abended)
            self._watch = None
            self._known.clear()

    def abended(self, region: Region, dump: Dump) -> None:
        """A task has abended; called in the engine's thread."""
        page = f"/console/regions/{region.applid}/incidents/{dump.time_ns}/{dump.task}"
        place = dump.statement or f"program {dump.program}"
        alert: Alert = {
            "event": "alert", "region": region.applid, "state": "happened", "kind": "Abend",
            "what": f"Task {dump.task} {dump.transid} of {dump.userid} abended {dump.code} at {place}. {dump.reason}",
            "cure": f"tdq explain task {dump.task}", "since_ns": dump.time_ns, "time_ns": dump.time_ns, "page": page,
        }  # fmt: skip
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop may be closed
                self._loop.call_soon_threadsafe(self._publish, alert)

    def webhook_reached(self, url: str, reason: str) -> None:
        """Let each region and system say that alerts do not reach a webhook, and why; an empty reason ends that."""
        host = self._host

        def say() -> None:
            owners: list[Region | System] = [*host.regions.values(), *host.systems.values()]
            for owner in owners:
                if reason:
                    owner.notices.say("webhook_not_reached", url=url, reason=reason)
                else:
                    owner.notices.over("WEBHOOK")

        with suppress(EngineStopped):
            host.engine.outside(say)

    async def look(self) -> None:
        """Check for incidents, and publish those that have begun or ended since the last check."""
        found: dict[tuple[_Place, str, str], Incident] = {}
        for place, look in self._looks().items():
            present = await asyncio.wrap_future(self._host.engine.outside(look))
            found |= {(place, each.kind, each.key): each for each in present}
        known, self._known = self._known, found
        for key in found.keys() - known.keys():
            self._publish(self._alert(key[0], "began", found[key]))
        for key in known.keys() - found.keys():
            self._publish(self._alert(key[0], "ended", known[key]))

    def _looks(self) -> dict[_Place, Callable[[], list[Incident]]]:
        """The functions that find the incidents of each region and system; they run in the engine's thread."""
        host = self._host
        regions: dict[_Place, Callable[[], list[Incident]]] = {
            ("regions", name): partial(incidents_of, region, host.refused[name])
            for name, region in host.regions.items()
        }
        return regions | {
            ("systems", name): partial(incidents_of_system, system, host.refused_jobs[name])
            for name, system in host.systems.items()
        }

    def _alert(self, place: _Place, state: Literal["began", "ended"], incident: Incident) -> Alert:
        kind, name = place
        return {
            "event": "alert", "region": name, "state": state, "kind": incident.kind, "what": incident.what,
            "cure": incident.cure, "since_ns": incident.since_ns,
            "time_ns": self._host.engine.dispatcher.clock.time_ns(), "page": incident.path(name, kind),
        }  # fmt: skip

    async def _keep_looking(self) -> None:
        with suppress(EngineStopped):
            while True:
                await self.look()
                await asyncio.sleep(self._seconds)

    def _publish(self, alert: Alert) -> None:
        for listener in self._listeners:
            listener.offer(alert)
