"""The shortest commit there is: one record taken from a queue, some put on others, and a frame of the journal.

It is what a unit of work that reads one record and writes another comes to, so it is written flat. It does what
``discard``, ``put`` and ``commit`` do one after the other, and leaves everything that is not plain to them.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Collection
from typing import Any, Final
from zlib import crc32

import lmdb

from tdqsim.core._entry import ENTRY_KEY, PLAIN, PLAIN_HEAD, QUEUE_RECORD, SEAL
from tdqsim.core._room import OPERATION

__all__ = ["Move", "commit_moves"]

Move = tuple[Any, int, Collection[tuple[int, bytes]]]
"""A FIFO queue, how many entries are taken from its head (0 or 1), and sequence numbers and data of those put."""

_PLAIN_SIZE: Final = PLAIN_HEAD.size
_FRAMED: Final = 700
"""What an operation takes in the journal at most beside its data: its key, and its queue's record with its name."""
_entry_key = ENTRY_KEY.pack
_plain_head = PLAIN_HEAD.pack
_queue_record = QUEUE_RECORD.pack
_seal = SEAL.pack


def commit_moves(pen: Any, moves: list[Move], size: int) -> bool:
    """Take and put as the moves say, and commit.

    Args:
        pen: the environment's writer.
        moves: a queue comes once; data are short enough for a page of the tree, sequence numbers right.
        size: the sum of the lengths of the data, or more.

    Returns:
        False when it must be done step by step: nothing was changed then.
    """
    operations = 0
    for _, taken, written in moves:
        operations += taken + len(written)
    left = pen.left - size - operations * OPERATION
    if left < 0 or pen.dirty or pen.tight or pen.pending or pen.fault is not None or pen.journal is None:
        return False
    if pen.txn is None or pen.thread != get_ident() or not pen.journal.has_room(size + operations * _FRAMED):
        return False
    put, pop = pen.raw_put, pen.raw_pop
    changes: list[bytes] = []
    after: list[tuple[Any, int, int, int, int]] = []
    try:
        for queue, taken, written in moves:
            number, count, total, head, last = queue._number, queue.count, queue.data_bytes, queue._head, queue.last_seq  # noqa: SLF001  (the queue's own hot path)
            if taken:
                key = _entry_key(number, head)
                value = pop(key)
                if value is None or value[0] != PLAIN:
                    return _undo(pen)
                changes += key, b""
                head += 1
                count -= 1
                total -= len(value) - _PLAIN_SIZE
            for last, data in written:
                key = _entry_key(number, last)
                value = _plain_head(PLAIN, 0, crc32(data, crc32(key))) + data
                put(key, value)
                changes += key, value
                count += 1
                total += len(data)
            key, checksum, order = queue._sealing  # noqa: SLF001
            record = _queue_record(order, 0, number, count, total, head, last)
            changes += key, _seal(crc32(record, checksum)) + record
            after.append((queue, count, total, head, last))
    except lmdb.Error:  # step by step it is met again, and said
        return _undo(pen)
    if not pen.journal.append(changes):
        return _undo(pen)
    pen.left = left
    unsettled = pen.unsettled
    for queue, count, total, head, last in after:
        queue.count, queue.data_bytes, queue._head, queue.last_seq = count, total, head, last  # noqa: SLF001
        unsettled[queue] = None
    return True


def _undo(pen: Any) -> bool:
    pen.dirty = True
    pen.abort()
    return False
