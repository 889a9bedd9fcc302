"""The core: storage, tasks, time and code pages. It contains no CICS and no IBM i terms."""

from __future__ import annotations

__all__: list[str] = []
