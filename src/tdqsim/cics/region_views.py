"""What a region shows of its installed resources and of its recovery: attributes that are read, not changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from tdqsim.cics.model.region import RegionData
from tdqsim.cics.uow.indoubt import HeuristicDamage, Subordinate
from tdqsim.cics.uow.units_of_work import UnitsOfWork
from tdqsim.core.argument_types import explains_wrong_types

if TYPE_CHECKING:
    from tdqsim import definitions as defs
    from tdqsim.cics.kernel.task import TaskBase
    from tdqsim.cics.model.transaction import TransactionEntry
    from tdqsim.cics.model.unit import UnitOfWork


class Resources:
    """The installed resources of a region other than its queues, by name: ``region.resources``."""

    __slots__ = ("_core",)

    def __init__(self, core: RegionData) -> None:
        self._core = core

    @property
    def transactions(self) -> Mapping[str, TransactionEntry]:
        """The transactions: each definition with its handler and its state."""
        return MappingProxyType(self._core.transactions)

    @property
    def terminals(self) -> Mapping[str, defs.Terminal]:
        """The definitions of terminals."""
        return MappingProxyType(self._core.terminals)

    @property
    def connections(self) -> Mapping[str, defs.Connection]:
        """The definitions of connections."""
        return MappingProxyType(self._core.connections)


class Recovery:
    """How a region started and ended, and its units of work: ``region.recovery``."""

    __slots__ = ("_check", "_core", "_work")

    def __init__(self, core: RegionData, work: UnitsOfWork, check: Callable[[str], None]) -> None:
        self._core, self._work, self._check = core, work, check

    @property
    def start_type(self) -> str:
        """INITIAL, COLD, WARM or EMERGENCY. In a read-only region: the type of the store's next start with AUTO."""
        return self._core.start_type

    @property
    def cold_start_abstime(self) -> int:
        """When the region was last started without what was there before, as an ABSTIME."""
        return self._core.cold_start_abstime

    @property
    def failed(self) -> bool:
        """Whether it ended as a failed region does: unfinished work was not backed out; the next start does that."""
        return self._core.failed

    @property
    def units(self) -> Mapping[bytes, UnitOfWork]:
        """Units of work that tasks have begun and that have not ended, by id."""
        return MappingProxyType(self._core.units)

    @property
    def shunted(self) -> Mapping[bytes, UnitOfWork]:
        """Units of work that wait for their coordinator without a task, by id."""
        return MappingProxyType(self._core.shunted)

    @property
    def damage(self) -> Sequence[HeuristicDamage]:
        """Units of work whose heuristic decision differs from the decision of their coordinator."""
        return self._core.damage

    def units_of_work(self) -> tuple[UnitOfWork, ...]:
        """Those of ``units``, then those of ``shunted``, each in order of age."""
        return self._core.units_of_work()

    @explains_wrong_types
    def branch(self, name: str, task: TaskBase | None = None) -> Subordinate | None:
        """The unit of work that a coordinator outside CICS drives under a name of its own.

        Args:
            name: the coordinator's name for it. The same name finds it again later, also after a restart.
            task: hand over this task's unit of work under the name; the task begins another one.

        Returns:
            The unit of work with ``prepare()``, ``commit()``, ``back_out()``, ``forget()`` and ``lose_coordinator()``.
            Without ``task``: the unit of work of that name which is shunted and waits for the coordinator, or was
            decided without it; None when there is none.

        Raises:
            UsageError: the task has ended, the name is empty, or another unit of work that is unfinished has it.
        """
        self._check("branch")
        return self._work.branch(name) if task is None else self._work.coordinate(task, name)
