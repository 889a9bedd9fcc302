"""The half of ``tdq`` commands that works on a region or system in a server."""

from __future__ import annotations

__all__: list[str] = []
