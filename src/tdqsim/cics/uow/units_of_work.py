"""The table of a region's units of work, and how one begins, ends and is found again."""

from __future__ import annotations

from collections.abc import Callable

from tdqsim.cics.kernel.enqueue import release_all
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.model.task import TaskData
from tdqsim.cics.model.unit import UOW_ID_LENGTH, UnitOfWork
from tdqsim.cics.uow import indoubt
from tdqsim.facts import Cvda


class UnitsOfWork:
    """The units of work of one region.

    Attributes:
        inflight: the units of work of tasks that have not ended, by id.
        shunted: those that wait for their coordinator without a task, by id.
        damage: those that were decided without their coordinator, which then decided differently.
        before_commit: called with each unit of work that a task is about to commit, while others may still commit
            before it; None to call nothing.
    """

    def __init__(self, region: RegionData, now_ns: int) -> None:
        self._region = region
        self._last = now_ns
        self.inflight: dict[bytes, UnitOfWork] = {}
        self.shunted: dict[bytes, UnitOfWork] = {}
        self.damage: list[indoubt.HeuristicDamage] = []
        self.before_commit: Callable[[UnitOfWork], object] | None = None

    def new(self, task: TaskData) -> UnitOfWork:
        """Begin a unit of work for a task."""
        self._last += 1
        uow_id = self._last.to_bytes(UOW_ID_LENGTH, "big")
        uow = task._unit = UnitOfWork(self._region, uow_id, task)
        self.inflight[uow_id] = uow
        return uow

    @property
    def last_id(self) -> bytes:
        """The highest id of a unit of work in this run or, as far as recorded, an earlier one."""
        return self._last.to_bytes(UOW_ID_LENGTH, "big")

    def reserve_id(self, uow_id: bytes) -> None:
        """Record that an id was used in an earlier run: new ids are higher."""
        self._last = max(self._last, int.from_bytes(uow_id, "big"))

    def all(self) -> tuple[UnitOfWork, ...]:
        """The units of work in flight, then the shunted ones, each in order of age."""
        return (*self.inflight.values(), *self.shunted.values())

    def commit(self, uow: UnitOfWork) -> bool:
        """Commit a unit of work with its participants; False if one of them refused and it was backed out."""
        if self.before_commit is not None:
            self.before_commit(uow)
        if not uow.participants:
            uow.commit()
            return True
        return indoubt.commit_together(uow)

    def back_out(self, uow: UnitOfWork) -> None:
        """Back out a unit of work with its participants."""
        indoubt.back_out_together(uow)

    def settled(self, task: TaskData) -> UnitOfWork | None:
        """The unfinished unit of work of a task, or None; completes the end of one that an exception interrupted."""
        uow = task._unit
        if uow is None:
            return None
        self._region.committer.settle()
        if not uow.ended:
            return uow
        uow.finish()
        if uow.participants and not uow.notified:
            indoubt.tell_participants(uow, commit=uow.state is Cvda.COMMIT)
        task._unit = None
        return None

    def coordinate(self, task: TaskData, name: str) -> indoubt.Subordinate:
        """Hand a task's unit of work to a coordinator outside CICS; the task's next request begins another.

        Args:
            task: the task whose unit of work is transferred.
            name: the coordinator's own name for it, by which :meth:`branch` finds it again, after a restart too.

        Returns:
            The unit of work with ``prepare()``, ``commit()``, ``back_out()``, ``forget()`` and ``lose_coordinator()``.

        Raises:
            UsageError: the task has ended, the name is empty, or another unfinished unit of work has the same name.
        """
        return indoubt.hand_over(task, name)

    def branch(self, name: str) -> indoubt.Subordinate | None:
        """Find the unit of work that has this coordinator's name: shunted, or decided without it.

        Returns:
            As :meth:`coordinate`; None if there is no such unit of work.
        """
        unit = next((uow for uow in self.shunted.values() if uow.coordinator == name), None)
        if unit is None:
            unit = indoubt.decided_alone(self._region, name)
        return None if unit is None else indoubt.Subordinate(unit, name, unit.link)

    def shunt(self, uow: UnitOfWork) -> None:
        """Enter a unit of work in the table as shunted, without a task, and release its ENQs."""
        self.inflight.pop(uow.id, None)
        self.shunted[uow.id] = uow
        if self._region.enqueued:
            release_all(self._region, uow)

    def release(self, uow: UnitOfWork) -> None:
        """Release the resources that a unit of work holds by ENQ."""
        release_all(self._region, uow)
