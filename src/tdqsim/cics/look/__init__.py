"""Looking without touching: peek, snapshot, explain."""

from __future__ import annotations

__all__: list[str] = []
