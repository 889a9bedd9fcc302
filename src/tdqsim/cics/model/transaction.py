"""A transaction as data, and the program of its tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from tdqsim.definitions import Transaction

DEFAULT_PRIORITY: Final = 1
"""PRIORITY of a transaction whose definition does not set it."""

LIMITS_RUNAWAY: Final = "limits_runaway"
"""The attribute that is true of a program whose language ends its tasks at the runaway time."""

Handler = Callable[..., object]
"""A program: a function called with its task and further arguments."""


class ProgramTable(Protocol):
    """The program table of a region, as far as transactions need it."""

    def find(self, name: str) -> Handler | None:
        """The program of this name, or None."""


class TransactionEntry:
    """A transaction of a region.

    Attributes:
        definition: its definition; one with defaults if only a handler was registered.
        handler: the function registered for its id, or None.
        defined: whether a definition was installed.
        name, remotesystem, enabled, program_name, dtimout_ns, priority: copied from the definition, because each new
            task needs them.
        is_new: whether none of its tasks was attached since it was defined.
        ranks: whether it has another priority than most transactions have, or is new.
        not_imported: why the handler that its definition names could not be imported at the start; empty if it could.
        attaches: how many of its tasks were attached since statistics were reset.
        attaches_counted: those of them that the statistics of programs counted before their last reset.
    """

    __slots__ = (
        "_programs", "attaches", "attaches_counted", "defined", "definition", "dtimout_ns", "enabled", "handler",
        "is_new", "name", "not_imported", "priority", "program_name", "ranks", "remotesystem",
    )  # fmt: skip

    def __init__(
        self,
        definition: Transaction,
        programs: ProgramTable | None = None,
        handler: Handler | None = None,
        *,
        defined: bool = True,
    ) -> None:
        self._programs = programs
        self.handler = handler
        self.attaches = self.attaches_counted = 0
        self.define(definition, defined=defined)

    def define(self, definition: Transaction, *, defined: bool = True) -> None:
        """Replace the definition and keep the handler."""
        self.definition = definition
        self.defined = defined
        self.not_imported = ""
        self.name, self.remotesystem = definition.name, definition.remotesystem
        self.program_name = definition.program
        self.enabled = definition.status == "ENABLED"
        self.priority = definition.priority
        self.ranks = self.is_new = True
        seconds = definition.dtimout_seconds
        self.dtimout_ns = None if seconds is None else seconds * 10**9

    def seen(self) -> None:
        """Note that a task of it is attached."""
        self.is_new, self.ranks = False, self.priority != DEFAULT_PRIORITY

    def is_remote(self, sysid: str) -> bool:
        """Whether another region than that of ``sysid`` owns it."""
        return self.remotesystem not in ("", sysid)

    @property
    def program(self) -> Handler | None:
        """The program of its tasks: the handler, or the entry of the program table for PROGRAM, or None."""
        if self.handler is not None or self._programs is None or not self.program_name:
            return self.handler
        return self._programs.find(self.program_name)

    def why_not(self, routed_from: str = "") -> str | None:
        """The id of the message with the reason why it cannot be attached; None if it can.

        Args:
            routed_from: the SYSID of the region if the task is to have a terminal, so that it may be routed.
        """
        if not self.enabled:
            return "DFHAC2008"
        if self.handler is not None or (routed_from and self.is_remote(routed_from)):
            return None
        return "DFHAC2016" if self.program is None else None
