"""Inspection from outside any task, without side effects: peek, snapshot, explain; and seed."""

from __future__ import annotations

__all__: list[str] = []
