"""The shortest commit there is: records taken from the heads of queues, others put, and one frame of the journal.

It is what most units of work come to, so it is written flat. It does what ``discard``, ``put`` and ``commit`` do one
after the other, and leaves everything that is not plain to them.
"""

# ruff: noqa: SLF001  (it stands for methods of the writer and of its queues)

from __future__ import annotations

from _thread import get_ident
from collections.abc import Collection
from typing import Any, Final
from zlib import crc32

import lmdb

from tdqsim.core._entry import ENTRY_KEY, INLINE, MAX_SEQ, PLAIN, PLAIN_HEAD, QUEUE_RECORD
from tdqsim.core._journal import JOURNAL_SIZE
from tdqsim.core._room import OPERATION

__all__ = ["Move", "commit_moves"]

Move = tuple[Any, int, int, int, Collection[tuple[int, bytes]]]
"""A FIFO queue; how many entries are taken from its head, all of them plain, the number of the last one, and the bytes
of their data; and what is put on it: sequence numbers and data."""

_ENTRY_FRAMED: Final = 64
"""What an entry takes in the journal at most beside its data: its key, its head, their lengths."""
_QUEUE_FRAMED: Final = 600
"""What a queue takes at most: its record, under its name, and its share of what is around them."""
_entry_key = ENTRY_KEY.pack
_plain_head = PLAIN_HEAD.pack
_queue_record = QUEUE_RECORD.pack


def commit_moves(  # noqa: C901, PLR0912  (a call for each entry would cost as much as it does)
    pen: Any, moves: list[Move], operations: int, size: int, puts: int
) -> bool:
    """Take and put as the moves say, and commit; the room reserved for the puts is given back.

    Args:
        pen: the environment's writer.
        moves: a queue comes once; sequence numbers are right.
        operations: how many entries are taken and put.
        size: the bytes reserved for the data; their lengths together, or more.
        puts: for how many puts they are reserved.

    Returns:
        False when it must be done step by step: nothing was changed then.
    """
    if size > INLINE and any(len(data) > INLINE for move in moves for _, data in move[-1]):
        return False
    left = pen.left - size - operations * OPERATION
    journal = pen.journal
    if left < 0 or pen.dirty or pen.tight or pen.pending or pen.fault is not None or journal is None:
        return False
    if pen.txn is None or pen.thread != get_ident():
        return False
    if journal.end + size + operations * _ENTRY_FRAMED + len(moves) * _QUEUE_FRAMED > JOURNAL_SIZE:
        return False
    changes: list[bytes] = []
    after: list[tuple[Any, int, int, int, int]] = []
    try:
        for queue, taken, last_taken, nbytes, written in moves:
            number, total, head, last = queue._number, queue.data_bytes - nbytes, queue._head, queue.last_seq
            if taken:
                delete = pen.txn.delete
                for _ in range(taken):
                    key = _entry_key(number, head)
                    if not delete(key):
                        head = _behind(pen, number, head)
                        key = _entry_key(number, head)
                        delete(key)
                    changes += key, b""
                    head += 1
                if head != last_taken + 1:
                    return _undo(pen)
            if written:
                put = pen.raw_put
                for last, data in written:
                    key = _entry_key(number, last)
                    value = _plain_head(PLAIN, 0, crc32(data, crc32(key))) + data
                    put(key, value)
                    changes += key, value
                    total += len(data)
            count = queue.count - taken + len(written)
            key, _, order = queue._sealing
            changes += key, _queue_record(order, 0, number, count, total, head, last)
            after.append((queue, count, total, head, last))
    except lmdb.Error:  # step by step it is met again, and said
        return _undo(pen)
    if not journal.append(changes):
        return _undo(pen)
    pen.left = left
    pen._outstanding -= size
    pen._calls -= puts
    unsettled = pen.unsettled
    for queue, count, total, head, last in after:
        queue.count, queue.data_bytes, queue._head, queue.last_seq = count, total, head, last
        unsettled[queue] = None
    return True


def _behind(pen: Any, number: int, seq: int) -> int:
    """The number of the next entry behind a gap; 0 when there is none."""
    with pen.txn.cursor() as cursor:
        if cursor.set_range(_entry_key(number, seq)):
            key = cursor.key()
            if key < _entry_key(number, MAX_SEQ):
                return int.from_bytes(key[-8:], "big")
    return 0


def _undo(pen: Any) -> bool:
    pen.dirty = True
    pen.abort()
    return False
