"""The common storage core: ordered entries under a name, in a directory that one process writes.

``_store`` is the directory: its lock (``_lockfile``), its state (``_state``), and two kinds of queues. *Volatile*
ones are in memory (``_volatile`` has their common budget, ``_memory`` FIFO and LIFO queues, ``_keyed`` KEYED ones),
and overflow to an LMDB file. *Durable* ones are in an LMDB file of the same form, but not in the same one: a commit
beside a large overflow costs up to twice as much, since both share a list of free pages; what a restart discards
goes with its file at once; and damage of the one does not affect the other. ``_durable`` has the one place
where anything in a file changes, its commit, and how memory follows it; ``_queue`` reads committed records;
``_work`` gathers changes. ``_room`` makes sure that a full disk is noticed before a change, never in a commit.
``_layout`` says how everything lies in a file; every value has a checksum that ties it to its key. Before LMDB opens
a file, ``_opening`` and ``_meta`` look that it is one. LMDB does not notice damage: ``check`` looks for it, and saves
what is whole, in a process of its own, which is ``_examine``; ``_pages`` reads LMDB's pages for that, and for nothing
else. ``keeper`` records which region or system owns the store.
"""

from __future__ import annotations

from tdqsim.core.store._borrowed import BorrowedStore
from tdqsim.core.store._durable import CommitOwner, CommitRequest, Durable
from tdqsim.core.store._layout import (
    INLINE,
    MAX_DATA,
    MAX_KEY,
    MAX_NAME,
    MAX_SENDER,
    Durability,
    Entry,
    Order,
    SearchOrder,
    Standing,
    nothing,
)
from tdqsim.core.store._memory import VolatileQueue
from tdqsim.core.store._queue import DurableQueue
from tdqsim.core.store._store import Store
from tdqsim.core.store._volatile import Volatile
from tdqsim.core.store._work import Work

__all__ = [
    "INLINE", "MAX_DATA", "MAX_KEY", "MAX_NAME", "MAX_SENDER", "BorrowedStore", "CommitOwner", "CommitRequest",
    "Durability", "Durable", "DurableQueue", "Entry", "Order", "SearchOrder", "Standing", "Store", "Volatile",
    "VolatileQueue", "Work", "nothing",
]  # fmt: skip
