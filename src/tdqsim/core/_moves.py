"""The shortest commit there is: records taken from the heads of queues, others put, and one frame of the journal.

It is what most units of work come to, so it is written flat, and leaves everything that is not plain to ``discard``,
``put`` and ``commit``. The entries that it takes stay in the tree below the head, where nobody looks for them, until
LMDB commits: removing a run of them costs less than finding each.
"""

# ruff: noqa: SLF001  (it stands for methods of the writer and of its queues)

from __future__ import annotations

from _thread import get_ident
from collections import deque
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

import lmdb

from tdqsim.core._entry import ENTRY_KEY, INLINE, PLAIN
from tdqsim.core._journal import JOURNAL_SIZE, PUT_SIZE, move, moves_of, plain_put, run_taken
from tdqsim.core._room import OPERATION

if TYPE_CHECKING:
    from tdqsim.core._queue import StoredQueue

__all__ = ["Moves", "commit_moves"]

_ENTRY_FRAMED: Final = 64
"""What an entry takes in the journal at most beside its data: its head, or the run that it is taken in."""
_QUEUE_FRAMED: Final = 600
"""What a queue takes at most: the heads of what is said of it, its name, and its share of what is around them."""
_entry_key = ENTRY_KEY.pack
_plain_size: Final = len(plain_put(0, 0, PLAIN, 0, 0)) - PUT_SIZE


class Moves:
    """What one commit takes from a FIFO queue, and puts on it.

    Attributes:
        stored: the queue.
        reads: how many entries are taken from its head, all of them plain.
        read_bytes: how many bytes of data they have.
        first_read, last_read: the sequence numbers of the first one behind the last gap, and of the last one; they
            mean nothing while there is none.
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


def commit_moves(  # noqa: C901, PLR0912  (a call for each part would cost as much as it does)
    pen: Any, moves: Collection[Moves], operations: int, size: int, puts: int
) -> bool:
    """Take and put as the moves say, and commit; the moves are as new then, and the room they reserved given back.

    Args:
        pen: the environment's writer.
        moves: a queue comes once; what they say of the entries that are taken is true.
        operations: how many entries are taken and put.
        size: the bytes reserved for the data.
        puts: for how many puts they are reserved.

    Returns:
        False when it must be done step by step: nothing was changed then.
    """
    if size > INLINE and any(len(data) > INLINE for each in moves for _, data in each.written):
        return False
    left = pen.left - size - operations * OPERATION
    journal = pen.journal
    if left < 0 or pen.dirty or pen.tight or pen.pending or pen.fault is not None or journal is None:
        return False
    if pen.txn is None or pen.thread != get_ident():
        return False
    if journal.end + size + operations * _ENTRY_FRAMED + len(moves) * _QUEUE_FRAMED > JOURNAL_SIZE:
        return False
    parts = [moves_of(len(moves))]
    after: list[tuple[Moves, StoredQueue, int, int, int, int]] = []
    try:
        for each in moves:
            queue, taken, written = each.stored, each.reads, each.written
            total, last = queue.data_bytes - each.read_bytes, queue.last_seq
            if taken:
                first, head = each.first_read, each.last_read + 1
            else:
                first = head = queue._head
            here = len(parts)
            parts += b"", queue._moved
            if each.runs:
                parts += [run_taken(*run) for run in each.runs]
            if written:
                put, number = pen.raw_put, queue._number
                for last, data in written:
                    key = _entry_key(number, last)
                    nbytes = len(data)
                    part = plain_put(last, nbytes + _plain_size, PLAIN, 0, crc32(data, crc32(key))) + data
                    put(key, part[PUT_SIZE:])
                    parts.append(part)
                    total += nbytes
            count = queue.count - taken + len(written)
            parts[here] = move(len(each.runs), head - first, len(written), first, count, total, last)
            after.append((each, queue, count, total, head, last))
    except lmdb.Error:  # step by step it is met again, and said
        return _undo(pen)
    if not journal.write(b"".join(parts)):
        return _undo(pen)
    pen.left = left
    pen._outstanding -= size
    pen._calls -= puts
    unsettled = pen.unsettled
    for each, queue, count, total, head, last in after:
        if each.reads:
            if not queue._left_behind:
                queue._left_behind = queue._head
            each.reads = each.read_bytes = 0
            if each.runs:
                each.runs.clear()
        if each.puts:
            each.written.clear()
            each.puts = each.reserved = 0
        queue.count, queue.data_bytes, queue._head, queue.last_seq = count, total, head, last
        unsettled[queue] = None
    return True


def _undo(pen: Any) -> bool:
    pen.dirty = True
    pen.abort()
    return False
