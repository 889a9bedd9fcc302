"""The resources of a region: installing them, handlers, terminals and connections."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from importlib import import_module
from typing import Any, TypeVar

from tdqsim import definitions as defs
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.handlers import Handler, TransactionEntry, import_handler, undefined
from tdqsim.cics.look import inspecting
from tdqsim.cics.queues.ati import Facility
from tdqsim.cics.queues.kinds import ExtraFile, ExtraQueue, IntraQueue, RemoteLink, TdQueue
from tdqsim.cics.region_state import RegionState
from tdqsim.cics.spi.install import install, install_tdqueue, remove_tdqueue
from tdqsim.cics.spi.signature import Way
from tdqsim.datasets import JobLog
from tdqsim.errors import DefinitionError, Problem, TdqError
from tdqsim.facts import Resp

__all__ = ["RegionResources"]

_F = TypeVar("_F", bound=Callable[..., Any])


class RegionResources(RegionState):
    """What is installed in a region."""

    def load_handlers(self, *modules: str) -> None:
        """Import modules and the handlers that transactions name by import path.

        Args:
            modules: module names; a function ``register(region)`` in one is called.

        Raises:
            DefinitionError: a module or handler cannot be imported.
        """
        for name in modules:
            try:
                register = getattr(import_module(name), "register", None)
            except Exception as error:
                message = f"module {name} cannot be imported: {type(error).__name__}: {error}"
                raise DefinitionError([Problem("<handlers>", 0, "", "handlers", name, message)]) from error
            if register is not None:
                register(self)
        for entry in self.transactions.values():
            if entry.program is None and entry.definition.handler:
                entry.program = import_handler(entry.definition.handler, entry.definition.name)

    def install(
        self, definitions: defs.Definitions | Iterable[defs.Resource], *, way: Way = "csd", user: str = ""
    ) -> None:
        """Install definitions into the running region, all of them or none.

        Raises:
            InstallRefused: a queue is there already and cannot be replaced, or its user id is not valid.
        """
        self._check_open("install")
        install(self.whole, inspecting.as_definitions(definitions), way=way, user=user or self.default_user)

    def install_tdqueue(self, definition: defs.Tdqueue, *, way: Way, user: str, program: str = "") -> bool:
        """Install or replace one queue, as CREATE does; see :func:`tdqsim.cics.spi.install.install_tdqueue`."""
        return install_tdqueue(self.whole, definition, way=way, user=user, program=program)

    def remove_tdqueue(self, queue: TdQueue) -> None:
        """Take a queue out with its records, as DISCARD does once it is allowed."""
        remove_tdqueue(self.whole, queue)

    def transaction(self, transid: str) -> Callable[[_F], _F]:
        """Decorator: the function is the program of a transaction."""

        def register(handler: _F) -> _F:
            self.register(transid, handler)
            return handler

        return register

    def register(self, transid: str, handler: Handler) -> None:
        """Make a callable the program of a transaction; without a definition the transaction gets defaults.

        Raises:
            DefinitionError: the name is no transaction id.
            TdqError: the handler cannot be called.
        """
        if not callable(handler):
            raise TdqError(f"TRANSACTION({transid}): {handler!r} cannot be called; a handler is a callable")
        entry = self.transactions.get(transid)
        if entry is None:
            self.transactions[transid] = TransactionEntry(undefined(transid), handler, defined=False)
        else:
            entry.program = handler

    def intra_queues(self) -> Iterator[IntraQueue]:
        """The intrapartition queues in the order of installation."""
        return (queue for queue in tuple(self.tdqueues.values()) if isinstance(queue, IntraQueue))

    def data_set(self, queue: ExtraQueue) -> ExtraFile:
        """The data set for an extrapartition queue that is being installed."""
        return self.data_sets.make(queue)

    def facility(self, kind: str, name: str) -> Facility:
        """A terminal (``TERMINAL``) or connection (``SYSTEM``), whether it is defined or not."""
        facility = self.facilities.get((kind, name))
        if facility is None:
            facility = self.facilities[kind, name] = Facility(name, kind)
            self._update_facility(facility)
        return facility

    def _update_facility(self, facility: Facility) -> None:
        definition: Any = (self.terminals if facility.kind == "TERMINAL" else self.connections).get(facility.name)
        facility.inservice = definition is not None and definition.inservice == "YES"
        if definition is not None:
            facility.userid = definition.userid if facility.kind == "TERMINAL" else definition.securityname

    def refresh_facilities(self, installed: Container[tuple[str, str]] | None = None) -> None:
        """Definitions of terminals and connections have changed: serve those that are in service now.

        Args:
            installed: kind and name of those that changed; the others stay in or out of service. None for all.
        """
        for facility in tuple(self.facilities.values()):
            if installed is None or (facility.kind, facility.name) in installed:
                self._update_facility(facility)
                self.ati.serve(facility)

    def set_terminal(self, name: str, *, inservice: bool) -> None:
        """Put a terminal in or out of service; tasks that wait for it then start.

        Raises:
            TdqError: there is no such terminal.
        """
        if name not in self.terminals:
            raise TdqError(f"terminal {name} is not defined; defined are {', '.join(self.terminals) or 'none'}")
        facility = self.facility("TERMINAL", name)
        facility.inservice = inservice
        self.ati.serve(facility)

    def link(self, sysid: str) -> RemoteLink:
        """The way to another system.

        Raises:
            Condition: SYSIDERR: it is not defined or not connected.
        """
        link = self.links.get(sysid)
        if link is None:
            raise Condition(Resp.SYSIDERR, detail=f"there is no connection to system {sysid}")
        return link

    @property
    def jobs(self) -> JobLog:
        """The jobs given to the internal reader, in order; ``region.jobs.on_submit = handler`` is told of each one."""
        return self.data_sets.jobs
