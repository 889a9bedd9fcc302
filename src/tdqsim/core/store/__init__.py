"""The common storage core: ordered entries under a name, in a directory that one process writes."""

from __future__ import annotations

from tdqsim.core.store._store import (
    INLINE,
    Durability,
    Entry,
    Environment,
    Moves,
    Order,
    SearchOrder,
    Store,
    StoredQueue,
)

__all__ = ["INLINE", "Durability", "Entry", "Environment", "Moves", "Order", "SearchOrder", "Store", "StoredQueue"]
