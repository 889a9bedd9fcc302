"""Streams of queues without Spark: where they begin, how far a batch goes, and that its records are all there.

An offset is, for each queue, the sequence number of the last record of a batch, how many records the stream has had of
the queue by then, and which incarnation of the queue it was. The number says where to go on; the other two tell when
that would be wrong, also after a restart: records of the range are gone, or the queue was deleted or made anew since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import pyarrow as pa

from tdqsim.pipeline.queue_options import QueueOptions
from tdqsim.pipeline.queues import QueueHoles, heads, read_range
from tdqsim.pipeline.stored import Numbered, opened, wanted

__all__ = ["Offsets", "Range", "first_offsets", "last_offsets", "next_offsets", "ranges", "read_exactly"]

Offsets = dict[str, dict[str, int]]
"""By queue: ``seq``, the number of the last record; ``records``, how many there were; ``incarnation``."""


class Range(NamedTuple):
    """The records of a queue above ``after`` to ``upto``, and how many they must be."""

    queue: str
    after: int
    upto: int
    records: int


class Reach(NamedTuple):
    """How far a batch goes in a queue: the number of its last record, how many records and bytes of data it has."""

    seq: int
    records: int
    size: int


def _place(seq: int, records: int, incarnation: int) -> dict[str, int]:
    return {"seq": seq, "records": records, "incarnation": incarnation}


def first_offsets(options: QueueOptions) -> Offsets:
    """Where a new stream begins: before the first record, or behind the last one."""
    found = heads(options.store, options.kind, options.queues)
    return {name: _place(head.last if options.from_latest else 0, 0, head.incarnation) for name, head in found.items()}


def last_offsets(options: QueueOptions) -> Offsets:
    """Where the queues stand; how many records that would be is not counted."""
    found = heads(options.store, options.kind, options.queues)
    return {name: _place(head.last, 0, head.incarnation) for name, head in found.items()}


def next_offsets(
    options: QueueOptions, start: Mapping[str, Mapping[str, int]], *, rows: int, size: int, target: Offsets | None
) -> Offsets:
    """How far the next batch goes: queues in turn, at most so many records and bytes of data, at least one record.

    Args:
        options: of the stream.
        start: where it stands.
        rows: at most so many records; 0 for any number.
        size: at most so many bytes; 0 for any number.
        target: no further than this; None for no bound.

    Raises:
        QueueHoles: a queue was deleted or made anew since ``start``.
    """
    end: Offsets = {name: dict(place) for name, place in start.items()}
    taken = taken_bytes = 0
    with opened(options.store, options.kind) as stored:
        for queue in wanted(stored, options.queues, options.store):
            name = queue.name
            after, records = _resume(options, name, queue.incarnation, start.get(name))
            upto = queue.last if target is None else min(target.get(name, {}).get("seq", 0), queue.last)
            end[name] = _place(after, records, queue.incarnation)
            if upto <= after or (rows and taken >= rows) or (size and taken_bytes >= size):
                continue
            left = max(rows - taken, 0), max(size - taken_bytes, 0)
            found = _reach(stored.entries(name, after, upto), after, upto, *left)
            if size and taken and found.size > size - taken_bytes:
                continue  # its first record alone is too large for what is left of this batch
            taken, taken_bytes = taken + found.records, taken_bytes + found.size
            end[name] = _place(found.seq, records + found.records, queue.incarnation)
    return end


def _resume(options: QueueOptions, name: str, incarnation: int, place: Mapping[str, int] | None) -> tuple[int, int]:
    """The number to go on behind, and how many records there were so far."""
    if place is None or not place["seq"]:
        return 0, 0  # nothing of it has been read yet
    after, records = int(place["seq"]), int(place["records"])
    if incarnation == place["incarnation"]:
        return after, records
    if options.fail_on_data_loss:
        raise QueueHoles(
            f"{options.store}: queue {name} was deleted or made anew since the stream read up to {after}; records may "
            "have gone unread: give the stream a new checkpoint, or set failOnDataLoss to false"
        )
    return 0, records


def ranges(
    options: QueueOptions, start: Mapping[str, Mapping[str, int]], end: Mapping[str, Mapping[str, int]]
) -> list[Range]:
    """What tasks read of a batch; a long range in pieces.

    Raises:
        QueueHoles: records of the batch are gone.
    """
    found: list[Range] = []
    with opened(options.store, options.kind) as stored:
        for name, place in end.items():
            before = start.get(name, {"seq": 0, "records": 0})
            after = int(before["seq"])
            moved = place["seq"] != after or place["records"] != before["records"]
            if not moved:
                continue
            if name not in stored.names or stored.queue(name).incarnation != place["incarnation"]:
                _miss(options, name, "the queue is not there any more, or was made anew")
                continue
            if before.get("incarnation", place["incarnation"]) != place["incarnation"]:
                after = 0  # it was made anew before this batch was planned
            pieces = _cut(stored.entries(name, after, int(place["seq"])), int(place["seq"]), options.rows_per_partition)
            missing = int(place["records"]) - int(before["records"]) - sum(piece.records for piece in pieces)
            if missing:
                _miss(options, name, f"{missing} of its records from {after + 1} to {place['seq']} are gone")
            for piece in pieces:
                found.append(Range(name, after, piece.seq, piece.records))
                after = piece.seq
    return found


def _miss(options: QueueOptions, name: str, what: str) -> None:
    if options.fail_on_data_loss:
        raise QueueHoles(
            f"{options.store}: queue {name}: {what}: somebody else reads the queue; give the stream a queue of its own "
            "and a new checkpoint, or set failOnDataLoss to false"
        )


def read_exactly(options: QueueOptions, part: Range, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The records of a range.

    Raises:
        QueueHoles: some of them are gone.
    """
    left = part.records
    for batch in read_range(options.store, options.kind, part.queue, part.after, part.upto, columns):
        left -= batch.num_rows
        yield batch
    if left:
        _miss(options, part.queue, f"{left} of its records from {part.after + 1} to {part.upto} are gone")


def _reach(entries: Iterator[Numbered], after: int, upto: int, rows: int, size: int) -> Reach:
    """How far a batch goes that may have so many records and bytes: one record at least, when there is any.

    Args:
        entries: those above ``after`` to ``upto``.
        after: the number before the batch.
        upto: the batch goes no further than this.
        rows: at most so many records; 0 for any number.
        size: at most so many bytes of data, unless the first record has more; 0 for any number.
    """
    seq, records, taken = after, 0, 0
    for entry in entries:
        if records and ((rows and records >= rows) or (size and taken + len(entry.data) > size)):
            return Reach(seq, records, taken)
        seq, records, taken = entry.seq, records + 1, taken + len(entry.data)
    return Reach(max(upto, after), records, taken)


def _cut(entries: Iterator[Numbered], upto: int, rows: int) -> list[Reach]:
    """The entries of a range, to ``upto``, in pieces of so many; the pieces end where the next begin."""
    pieces: list[Reach] = []
    while found := [(entry.seq, len(entry.data)) for entry in islice(entries, rows)]:
        pieces.append(Reach(found[-1][0], len(found), sum(size for _, size in found)))
    return [*pieces[:-1], pieces[-1]._replace(seq=upto)] if pieces else []
