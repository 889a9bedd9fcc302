"""What units of work ask of their region."""

from __future__ import annotations

from typing import Any, Protocol

from tdqsim.cics.queues.parts import QueueRegion

__all__ = ["UowRegion"]


class UowRegion(QueueRegion, Protocol):
    """What units of work, indoubt handling and the restart need of a region."""

    failed: bool
    units: dict[bytes, Any]
    shunted: dict[bytes, Any]
    damage: list[Any]

    @property
    def last_uow_id(self) -> bytes: ...  # noqa: D102

    def refresh_all(self) -> None:
        """Whatever commands look queues up in is made anew."""

    def uow_seen(self, uow_id: bytes, /) -> None:
        """An id of an earlier run: later ones are higher."""

    def units_of_work(self) -> tuple[Any, ...]:
        """Those that tasks have begun, then the shunted ones."""

    @property
    def ts(self) -> Any:
        """Temporary storage, which restores what a unit of work in doubt did to it."""

    @property
    def files(self) -> Any:
        """The files of file control, likewise."""

    def image_of(self, uow: Any, /) -> bytes:
        """A prepared unit of work as it is kept on the store."""

    def unit_of_work_ended(self, uow: Any, /, *, committed: bool) -> None:
        """What follows from the end of a unit of work."""
