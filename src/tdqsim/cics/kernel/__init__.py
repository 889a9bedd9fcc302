"""Tasks and what surrounds a command: declaration, EIB, conditions, abends, handling, security, time; no queue kind."""

from __future__ import annotations

__all__: list[str] = []
