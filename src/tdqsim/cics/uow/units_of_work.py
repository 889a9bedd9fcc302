"""The units of work of a region: which there are, how one is made, and what follows its end."""

from __future__ import annotations

from collections.abc import Callable

from tdqsim.cics.kernel.enqueue import release_all
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.model.task import TaskData
from tdqsim.cics.model.unit import UOW_ID_LENGTH, UnitOfWork
from tdqsim.cics.uow import indoubt
from tdqsim.facts import Cvda

__all__ = ["UnitsOfWork"]


class UnitsOfWork:
    """The units of work of one region.

    Attributes:
        inflight: those that tasks have begun and that have not ended, by id.
        shunted: those that wait for their coordinator without a task, by id.
        damage: those that were decided without their coordinator, and otherwise than that.
        before_commit: called with each unit of work that a task is about to commit, while others may still come
            before it; None for nothing.
    """

    def __init__(self, region: RegionData, now_ns: int) -> None:
        self._region = region
        self._last = now_ns
        self.inflight: dict[bytes, UnitOfWork] = {}
        self.shunted: dict[bytes, UnitOfWork] = {}
        self.damage: list[indoubt.HeuristicDamage] = []
        self.before_commit: Callable[[UnitOfWork], object] | None = None

    def new(self, task: TaskData) -> UnitOfWork:
        """A unit of work for a task, which has it before it is known: one that nobody has would never end."""
        self._last += 1
        uow_id = self._last.to_bytes(UOW_ID_LENGTH, "big")
        uow = task._unit = UnitOfWork(self._region, uow_id, task)
        self.inflight[uow_id] = uow
        return uow

    @property
    def last_id(self) -> bytes:
        """The highest id given to a unit of work, or known of an earlier run."""
        return self._last.to_bytes(UOW_ID_LENGTH, "big")

    def seen(self, uow_id: bytes) -> None:
        """An id of an earlier run: later ones are higher."""
        self._last = max(self._last, int.from_bytes(uow_id, "big"))

    def all(self) -> tuple[UnitOfWork, ...]:
        """Those that tasks have begun, then the shunted ones, each in order of age."""
        return (*self.inflight.values(), *self.shunted.values())

    def commit(self, uow: UnitOfWork) -> bool:
        """End a unit of work, with those who take part in it; False when one of them refused and it was backed out."""
        if self.before_commit is not None:
            self.before_commit(uow)
        if not uow.participants:
            uow.commit()
            return True
        return indoubt.commit_together(uow)

    def back_out(self, uow: UnitOfWork) -> None:
        """Undo a unit of work, with those who take part in it."""
        indoubt.back_out_together(uow)

    def settled(self, task: TaskData) -> UnitOfWork | None:
        """The unit of work of a task if it goes on; what an exception left undone after the end of one is done."""
        uow = task._unit
        if uow is None:
            return None
        self._region.hardening.settle()
        if not uow.ended:
            return uow
        uow.finish()
        if uow.participants and not uow.told:
            indoubt.tell_participants(uow, commit=uow.state is Cvda.COMMIT)
        task._unit = None
        return None

    def coordinate(self, task: TaskData, name: str) -> indoubt.Subordinate:
        """Hand a task's unit of work to a coordinator outside CICS, which then drives it; the task begins another.

        Args:
            task: whose unit of work it is.
            name: the coordinator's own name for it, by which :meth:`branch` finds it again, after a restart too.

        Returns:
            The unit of work with ``prepare()``, ``commit()``, ``back_out()``, ``forget()`` and ``lose_coordinator()``.

        Raises:
            UsageError: the task has ended, the name is empty, or another unit of work that is unfinished has it.
        """
        return indoubt.hand_over(task, name)

    def branch(self, name: str) -> indoubt.Subordinate | None:
        """The unit of work that waits, shunted, for the coordinator that calls it so, or was decided without it.

        Returns:
            As :meth:`coordinate`; None when there is no such unit of work.
        """
        found = next((uow for uow in self.shunted.values() if uow.coordinator == name), None)
        if found is None:
            found = indoubt.decided_alone(self._region, name)
        return None if found is None else indoubt.Subordinate(found, name, found.link)

    def shunt(self, uow: UnitOfWork) -> None:
        """A unit of work waits for its coordinator without a task; its ENQs are free."""
        self.inflight.pop(uow.id, None)
        self.shunted[uow.id] = uow
        if self._region.enqueued:
            release_all(self._region, uow)

    def release(self, uow: UnitOfWork) -> None:
        """Free the names that a unit of work has by ENQ."""
        release_all(self._region, uow)
