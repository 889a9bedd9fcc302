"""CICS transient data: regions, tasks, queues and commands. The catalogue of this room's public names."""

from __future__ import annotations

from tdqsim.cics.conditions import Abend, Condition

__all__ = ["Abend", "Condition"]
