"""The system programming interface: INQUIRE, SET, CREATE, DISCARD, statistics, the resource signature."""

from __future__ import annotations

__all__: list[str] = []
