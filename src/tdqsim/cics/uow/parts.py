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
    hardening: Any
