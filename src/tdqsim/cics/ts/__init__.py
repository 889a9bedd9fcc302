"""Temporary storage: queues of numbered items that programs make by writing to them."""

from __future__ import annotations

from tdqsim.cics.ts.storage import TemporaryStorage, TsQueue

__all__ = ["TemporaryStorage", "TsQueue"]
