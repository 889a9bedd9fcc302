"""Tasks and the handling of commands: declaration, EIB, conditions, abends, security, time. It knows no queue kinds."""

from __future__ import annotations

__all__: list[str] = []
