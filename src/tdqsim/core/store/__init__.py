"""The common storage core: named queues of ordered entries, in a directory that one process writes.

``_store`` is the directory with its lock (``_lockfile``) and two kinds of queues. *Volatile* queues are in memory
(``_volatile`` has their common budget, ``_memory`` the FIFO and LIFO queues, ``_keyed`` the KEYED ones) and overflow to
an LMDB file. *Durable* queues are in a second LMDB file of the same format. There are two files for three reasons: a
commit in a file with a large overflow costs up to twice as much, since both share a list of free pages; a restart
discards volatile data by removing its file; and damage of one file does not affect the other.

``_durable`` contains the commit, the one place where anything in a file changes, and updates memory after it;
``_queue`` reads committed records; ``_work`` collects changes. ``_room`` makes sure that a full disk is noticed before
a change, never in a commit. ``_layout`` defines the format of the files; every value has a checksum that covers its
key too. Before LMDB opens a file, ``_opening`` and ``_meta`` check it. LMDB does not detect damage, so ``check`` looks
for it, and salvages undamaged data, in a separate process (``_working``, ``_examine``, ``_upkeep``). ``_pages`` reads
LMDB's pages without LMDB. ``keeper`` records which region or system owns the
store.
"""

from __future__ import annotations

from tdqsim.core.store._borrowed import BorrowedStore
from tdqsim.core.store._durable import CommitOwner, CommitRequest, Durable
from tdqsim.core.store._keyed import KeyedQueue
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
    "Durability", "Durable", "DurableQueue", "Entry", "KeyedQueue", "Order", "SearchOrder", "Standing", "Store",
    "Volatile", "VolatileQueue", "Work", "nothing",
]  # fmt: skip
