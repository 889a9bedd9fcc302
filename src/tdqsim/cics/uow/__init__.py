"""Units of work: their locks, their end, doubt about it, and what a restart makes of them; no command."""

from __future__ import annotations

__all__: list[str] = []
