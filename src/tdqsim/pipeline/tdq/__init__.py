"""The commands ``tdq pipeline`` and ``tdq dataset``."""

from __future__ import annotations

__all__: list[str] = []
