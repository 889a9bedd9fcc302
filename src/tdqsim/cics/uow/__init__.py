"""Units of work: locks, commit and backout, indoubt units of work, and restart. This package has no command."""

from __future__ import annotations

__all__: list[str] = []
