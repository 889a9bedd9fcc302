"""The core: ordered entries, tasks, time and code pages; it knows no CICS and no IBM i word."""

from __future__ import annotations

__all__: list[str] = []
