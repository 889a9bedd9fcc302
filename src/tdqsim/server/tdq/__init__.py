"""The commands ``tdq serve`` and ``tdq users``."""

from __future__ import annotations

__all__: list[str] = []
