"""The shortest commit there is: records taken from the heads of queues, others put, and one frame of the journal.

It is what most units of work come to, so it is written flat, and leaves everything that is not plain to ``discard``,
``put`` and ``commit``. It leaves the tree alone too: what it puts is in the queue's memtable, and what it takes stays
in the tree below the head, until the tree is asked for more than a record, or LMDB commits. What is put and taken
before that never reaches the tree.
"""

# ruff: noqa: SLF001  (it stands for methods of the writer and of its queues)

from __future__ import annotations

import struct
from _thread import get_ident
from collections import deque
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from tdqsim.core.store._entry import ENTRY_KEY, INLINE, PLAIN, PLAIN_HEAD
from tdqsim.core.store._journal import MOVES, move, plain_put
from tdqsim.core.store._room import OPERATION

if TYPE_CHECKING:
    from tdqsim.core.store._queue import StoredQueue

__all__ = ["Moves", "commit_moves"]

_entry_key = ENTRY_KEY.pack
_PLAIN_SIZE: Final = PLAIN_HEAD.size
_NOTHING: Final[dict[int, bytes]] = {}


class Moves:
    """What one commit takes from a FIFO queue, and puts on it.

    Attributes:
        stored: the queue.
        reads: how many entries are taken from its head, all of them plain.
        read_bytes: how many bytes of data they have.
        first_read: the sequence number of the first one behind the last gap; it means nothing while there is none.
        last_read: that of the last one; 0 for none.
        runs: the entries in front of that gap: the first one of each run, and how many.
        written: what is put: sequence numbers and data.
        puts, reserved: for how many puts room is reserved, and how many bytes: that of ``written``, or more.
    """

    __slots__ = ("first_read", "last_read", "puts", "read_bytes", "reads", "reserved", "runs", "stored", "written")

    def __init__(self, stored: StoredQueue) -> None:
        self.stored = stored
        self.reads = self.read_bytes = self.first_read = self.last_read = 0
        self.runs: list[tuple[int, int]] = []
        self.written: deque[tuple[int, bytes]] = deque()
        self.puts = self.reserved = 0


def commit_moves(  # noqa: C901, PLR0912, PLR0915  (a call for each part would cost as much as it does)
    pen: Any, moves: Collection[Moves]
) -> bool:
    """Take and put as the moves say, and commit; the moves are as new then, and the room they reserved given back.

    Args:
        pen: the environment's writer.
        moves: a queue comes once; what they say of the entries that are taken is true.

    Returns:
        False when it must be done step by step: nothing was changed then.
    """
    journal = pen.journal
    if pen.dirty or pen.tight or pen.pending or pen.fault is not None or journal is None:
        return False
    if pen.txn is None or pen.thread != get_ident():
        return False
    parts = [MOVES]
    after: list[tuple[Moves, dict[int, bytes], StoredQueue, int, int, int, int]] = []
    left, reserved, puts = pen.left, 0, 0
    try:
        for each in moves:
            queue, taken = each.stored, each.reads
            nbytes, last = queue.data_bytes, queue.last_seq
            left -= (taken + each.puts) * OPERATION + each.reserved
            if left < 0:
                return False
            if taken:
                first, head = each.first_read, each.last_read + 1
                nbytes -= each.read_bytes
            else:
                first = head = queue._head
            if each.puts:
                entries: dict[int, bytes] = {}
                number = queue._number
                for last, data in each.written:
                    size = len(data)
                    if size > INLINE:
                        return False
                    checksum = crc32(data, crc32(_entry_key(number, last)))
                    entries[last] = plain_put(last, size + _PLAIN_SIZE, PLAIN, 0, checksum) + data
                    nbytes += size
                new = len(entries)
                reserved += each.reserved
                puts += each.puts
            else:
                entries, new = _NOTHING, 0
            count = queue.count - taken + new
            if each.runs:
                parts += _earlier(each, count, nbytes, last)
            parts += move(head - first, new, first, count, nbytes, last), queue._moved
            if new:
                parts += entries.values()
            after.append((each, entries, queue, count, nbytes, head, last))
    except struct.error:  # more entries than a frame can tell
        return False
    if not journal.write(b"".join(parts)):
        return False
    pen.left = left
    pen._outstanding -= reserved
    pen._calls -= puts
    unsettled = pen.unsettled
    for each, entries, queue, count, nbytes, head, last in after:
        if each.reads:
            if each.last_read >= queue._memtable_from:
                _forget(queue, each)
            if not queue._left_behind:
                queue._left_behind = queue._head
            each.reads = each.read_bytes = each.last_read = 0
            if each.runs:
                each.runs.clear()
        if each.puts:
            if queue._memtable:
                queue._memtable.update(entries)
            elif entries:
                queue._memtable = entries
                queue._memtable_from = each.written[0][0]
            each.written.clear()
            each.puts = each.reserved = 0
        queue.count, queue.data_bytes, queue._head, queue.last_seq = count, nbytes, head, last
        unsettled[queue] = None
    return True


def _earlier(moves: Moves, count: int, nbytes: int, last: int) -> list[bytes]:
    """The runs in front of the last gap, for the journal; what they say of the queue is what the last one says too."""
    parts: list[bytes] = []
    for first, taken in moves.runs:
        parts += move(taken, 0, first, count, nbytes, last), moves.stored._moved
    return parts


def _forget(queue: StoredQueue, moves: Moves) -> None:
    """What is taken before it has reached the tree need not get there."""
    for first, many in (*moves.runs, (moves.first_read, moves.last_read + 1 - moves.first_read)):
        for seq in range(first, first + many):
            queue._memtable.pop(seq, None)
