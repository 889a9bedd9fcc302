"""Terminals and connections as facilities of tasks: in or out of service, one task at a time, requests in order."""

from __future__ import annotations

from collections.abc import Collection

from tdqsim.cics.kernel.security import link_user
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.model.task import Facility, FacilityRequest
from tdqsim.errors import UsageError


class Facilities:
    """The facilities of one region.

    Attributes:
        known: by kind (``TERMINAL`` or ``SYSTEM``) and name.
    """

    def __init__(self, region: RegionData) -> None:
        self._region = region
        self.known: dict[tuple[str, str], Facility] = {}

    def get(self, kind: str, name: str) -> Facility:
        """A terminal (``TERMINAL``) or connection (``SYSTEM``); it need not be defined."""
        facility = self.known.get((kind, name))
        if facility is None:
            facility = self.known[kind, name] = Facility(name, kind)
            self._update(facility)
        return facility

    def defined(self, terminal: str) -> Facility:
        """A terminal that is defined.

        Raises:
            UsageError: there is no such terminal, or another region owns it.
        """
        defined = self._region.terminals
        if terminal not in defined:
            raise UsageError(f"terminal {terminal} is not defined; defined are {', '.join(defined) or 'none'}")
        facility = self.get("TERMINAL", terminal)
        if facility.owner:
            raise UsageError(f"terminal {terminal} belongs to system {facility.owner}; use it in that region")
        return facility

    def check_input(self, terminal: str) -> None:
        """Refuse input that would start a task while the terminal has one, or is out of service.

        Raises:
            UsageError: the terminal has a task, which does not wait for input; or it is not in service, not defined or
                another region's.
        """
        facility = self.defined(terminal)
        if facility.task is not None:
            raise UsageError(f"terminal {terminal} is in use by {facility.task}, which does not wait for input")
        if not facility.inservice:
            raise UsageError(f"terminal {terminal} is out of service")

    def _update(self, facility: Facility) -> None:
        region, name = self._region, facility.name
        terminal = region.terminals.get(name) if facility.kind == "TERMINAL" else None
        connection = region.connections.get(name) if facility.kind == "SYSTEM" else None
        definition = terminal or connection
        facility.inservice = definition is not None and definition.inservice == "YES"
        facility.owner = ""
        if terminal is not None:
            facility.userid = terminal.userid
            if terminal.remotesystem not in ("", region.sysid):
                facility.owner = terminal.remotesystem
        elif connection is not None:
            facility.userid = link_user(region.security, connection.securityname)

    def refresh(self, installed: Collection[tuple[str, str]] | None = None) -> None:
        """Update the facilities after a change of TERMINAL or CONNECTION definitions, and serve those now in service.

        Args:
            installed: the kinds and names of those that changed; None for all. The others keep their state.
        """
        for facility in tuple(self.known.values()):
            if installed is None or (facility.kind, facility.name) in installed:
                self._update(facility)
                self._region.ati.serve(facility)
        for kind, name in () if installed is None else installed:
            if kind == "SYSTEM":
                self._region.routing.link_acquired(name)
                connection, link = self._region.connections.get(name), self._region.links.get(name)
                if link is not None and connection is not None and connection.inservice == "YES":
                    link.hello()

    def set_terminal(self, name: str, *, inservice: bool) -> None:
        """Put a terminal in or out of service; tasks that wait for it then start.

        Raises:
            UsageError: there is no such terminal.
        """
        facility = self.defined(name)
        facility.inservice = inservice
        self._region.ati.serve(facility)

    def when_free(self, terminal: str, request: FacilityRequest) -> None:
        """Make a request for a task at a terminal; it is attached once the terminal is in service and has no task.

        If the terminal, or the link to its owner, has to be brought up first, a notice says so.
        """
        facility = self.get("TERMINAL", terminal)
        facility.requests.append(request)
        if (event := self._region.ati.why_it_waits(facility)) is not None:
            started = event.replace("trigger_", "start_", 1)
            self._region.notices.say(started, transid=request.transid, facility=terminal, system=facility.owner)
        self._region.ati.serve(facility)
