"""Temporary storage: queues of numbered items; the first write creates a queue."""

from __future__ import annotations

from tdqsim.cics.ts.storage import TemporaryStorage, TsQueue

__all__ = ["TemporaryStorage", "TsQueue"]
