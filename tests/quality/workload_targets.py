"""What a workload runs against: a region in this process, a region of a server, or anything with the same methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Protocol

from tdqsim.cics import Condition, Region
from tdqsim.client import LostConnection, RemoteError
from tdqsim.testing.verified import Answer, SimulatedTarget, Target
from tests.quality.workload_history import UNKNOWN

if TYPE_CHECKING:
    from tdqsim.client import RemoteRegion, RemoteUnitOfWork

UNITS: Final = "UNITS"
"""The open units of work cannot be committed any more, since a link was lost: the runner backs them out."""


class WorkloadTarget(Target, Protocol):
    """What a workload runs against.

    An answer ``UNKNOWN`` is given for a request that was sent and not answered, ``ENDED`` if there is no such unit of
    work any more. SYNCPOINT ends a unit of work: a ROLLBACK after it is answered with ``ENDED`` if it was executed.
    """

    def lost(self) -> str:
        """What was lost since the last call: :data:`UNITS`, the start type after a restart, or nothing (empty)."""

    def peek(self, queue: str) -> list[bytes]:
        """The committed records of a queue, in order, without removing them."""


class RegionTarget(SimulatedTarget):
    """A region in this process as the target of a workload.

    Args:
        region: the region whose commands are executed.
        homes: for a queue of another region that ``region`` names as remote: that region.
    """

    def __init__(self, region: Region, homes: Mapping[str, Region] | None = None) -> None:
        super().__init__(region)
        self.homes = dict(homes or {})
        self._lost = ""

    def end(self, task: int) -> Answer:
        """See :class:`~tdqsim.testing.Target`; a task that a restart has ended is left."""
        return super().end(task) if task in self._tasks else Answer("ENDED")

    def restart(self, region: Region) -> None:
        """Continue with a region that was started from the store of the one before."""
        self.region = region
        self._tasks.clear()
        self._lost = region.recovery.start_type

    def lost(self) -> str:
        """See :class:`WorkloadTarget`."""
        lost, self._lost = self._lost, ""
        return lost

    def syncpoint(self, *, task: int) -> Answer:
        """See :class:`~tdqsim.testing.Target`."""
        try:
            return super().syncpoint(task=task)
        except Condition as condition:
            return Answer(condition.name, condition.resp2)

    def peek(self, queue: str) -> list[bytes]:
        """See :class:`WorkloadTarget`."""
        return list(self.homes.get(queue, self.region).peek(queue))

    def inquire_tdqueue(self, queue: str, *options: str) -> Answer:
        """See :class:`~tdqsim.testing.Target`; a queue of another region is inquired there."""
        home = self.homes.get(queue)
        if home is None:
            return super().inquire_tdqueue(queue, *options)
        return RegionTarget(home).inquire_tdqueue(queue, *options)


class ServedTarget:
    """A region of a server as the target of a workload.

    Args:
        region: the region, as :meth:`tdqsim.client.Client.region` returns it.
        homes: for a queue of another region that ``region`` names as remote: that region.
    """

    def __init__(self, region: RemoteRegion, homes: Mapping[str, RemoteRegion] | None = None) -> None:
        self.region = region
        self.homes = dict(homes or {})
        self._lost = ""
        self._units: dict[int, RemoteUnitOfWork] = {}

    def restart(self, region: RemoteRegion, start: str) -> None:
        """Continue with a region that was restarted, in a new server perhaps.

        Args:
            region: the region.
            start: the start type, as ``region.about()["start"]`` shows it.
        """
        self.region = region
        self._units.clear()
        self._lost = start

    def lost(self) -> str:
        """See :class:`WorkloadTarget`."""
        lost, self._lost = self._lost, ""
        return lost

    def _command(self, task: int, call: Callable[[RemoteRegion | RemoteUnitOfWork], object]) -> Answer:
        """Call with the task's unit of work, or with the region for a request outside one."""
        on = self._units.get(task) if task else self.region
        return Answer("ENDED") if on is None else self._ask(lambda: call(on))

    def _ask(self, call: Callable[[], object]) -> Answer:
        try:
            data = call()
        except RemoteError as refused:
            if refused.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                return Answer(UNKNOWN)
            ended = "ENDED" if refused.status == HTTPStatus.NOT_FOUND else "REFUSED"
            return Answer(refused.condition or refused.abcode or ended, refused.resp2)
        except LostConnection as lost:
            return Answer(UNKNOWN if lost.sent else "UNREACHABLE")
        return Answer("NORMAL", data=data if isinstance(data, bytes) else b"")

    def begin(self, task: int) -> Answer:
        """See :class:`~tdqsim.testing.Target`."""

        def begin() -> None:
            self._units[task] = self.region.unit_of_work()

        return self._ask(begin)

    def end(self, task: int) -> Answer:
        """See :class:`~tdqsim.testing.Target`; SYNCPOINT and ROLLBACK have ended it already."""
        self._units.pop(task, None)
        return Answer("NORMAL")

    def writeq_td(self, queue: str, record: bytes, *, task: int = 0, length: int | None = None) -> Answer:
        """See :class:`~tdqsim.testing.Target`."""
        return self._command(task, lambda on: on.writeq_td(queue, record, length))

    def readq_td(self, queue: str, *, task: int = 0, length: int | None = None, nosuspend: bool = False) -> Answer:
        """See :class:`~tdqsim.testing.Target`."""
        return self._command(task, lambda on: on.readq_td(queue, length, nosuspend=nosuspend))

    def deleteq_td(self, queue: str, *, task: int = 0) -> Answer:
        """See :class:`~tdqsim.testing.Target`."""
        return self._command(task, lambda on: on.deleteq_td(queue))

    def inquire_tdqueue(self, queue: str, *options: str) -> Answer:
        """See :class:`~tdqsim.testing.Target`; a queue of another region is inquired there."""
        values = self.homes.get(queue, self.region).inquire_tdqueue(queue).as_dict()
        return Answer("NORMAL", values={each: getattr(values[each], "name", values[each]) for each in options})

    def syncpoint(self, *, task: int) -> Answer:
        """See :class:`~tdqsim.testing.Target`."""
        unit = self._units.get(task)
        return Answer("ENDED") if unit is None else self._ask(unit.syncpoint)

    def rollback(self, *, task: int) -> Answer:
        """See :class:`~tdqsim.testing.Target`."""
        unit = self._units.get(task)
        return Answer("ENDED") if unit is None else self._ask(unit.syncpoint_rollback)

    def peek(self, queue: str) -> list[bytes]:
        """See :class:`WorkloadTarget`."""
        return self.homes.get(queue, self.region).peek(queue)
