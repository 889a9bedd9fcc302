"""Looking at the queues of a store, without the region or system it belongs to, and without any harm to it.

A store is opened read-only for each look: it shows the last commit, whoever writes it. Nothing is consumed; taking
records off is :func:`trim`, which needs the store for itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from tdqsim.core.codepage import codepage
from tdqsim.errors import DatasetError
from tdqsim.ibmi import SenderId, sender_of
from tdqsim.pipeline.bounds import BOUNDS
from tdqsim.pipeline.parquet import schema
from tdqsim.pipeline.stored import Kind, Numbered, Queue, Stored, opened, wanted

__all__ = [
    "QUEUES",
    "SCHEMAS",
    "Kind",
    "QueueHoles",
    "finished_offsets",
    "heads",
    "queue_rows",
    "read_range",
    "trim",
    "trim_finished",
    "trim_read",
]

SCHEMAS: Final[Mapping[str, pa.Schema]] = {
    "tdqueue": schema("queue string, seq int64, data binary"),
    "dtaq": schema(
        "queue string, seq int64, time_us int64, key binary, sender string, sender_user string, data binary"
    ),
}
"""A record of a queue: its sequence number is never given to another one while the queue lives."""

QUEUES: Final = schema(
    "queue string, order string, key_length int32, recoverable bool, records int64, bytes int64, first_seq int64, "
    "last_seq int64"
)
"""A queue: how much is on it; the number of its first record, null when it is empty, and the last one ever given."""

_PAGE: Final = codepage(37)
_BATCH: Final = 8192
_BATCH_BYTES: Final = 16 * 2**20


class QueueHoles(DatasetError):
    """Records of a range are gone: somebody else has read them, or the queue was deleted."""


def heads(path: Path, kind: Kind, names: Sequence[str] = ()) -> dict[str, Queue]:
    """Where each queue stands.

    Raises:
        DatasetError: there is no store, or no such queue.
    """
    with opened(path, kind) as stored:
        return {queue.name: queue for queue in wanted(stored, names, path)}


def queue_rows(path: Path, kind: Kind, names: Sequence[str] = ()) -> pa.Table:
    """A row for each queue; see :data:`QUEUES`."""
    with opened(path, kind) as stored:
        rows = [_queue_row(stored, queue) for queue in wanted(stored, names, path)]
    return pa.Table.from_pylist(rows, schema=QUEUES)


def _queue_row(stored: Stored, queue: Queue) -> dict[str, Any]:
    first = next(stored.entries(queue.name), None)
    return {
        "queue": queue.name,
        "order": queue.order,
        "key_length": queue.key_length,
        "recoverable": queue.recoverable,
        "records": queue.records,
        "bytes": queue.size,
        "first_seq": None if first is None else first.seq,
        "last_seq": queue.last,
    }


# reading -------------------------------------------------------------------------------------------------------------


def read_range(
    path: Path, kind: Kind, name: str, after: int, upto: int | None = None, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The records of a queue with sequence numbers above ``after`` and not above ``upto``, none removed.

    Args:
        path: the store.
        kind: whose it is.
        name: the queue.
        after: the number before the range.
        upto: the last number of the range; None for no end.
        columns: those of :data:`SCHEMAS` that are wanted, in their order.
    """
    whole = SCHEMAS[kind]
    fields = pa.schema([whole.field(each) for each in (columns if columns is not None else whole.names)])
    with opened(path, kind) as stored:
        queue = wanted(stored, (name,), path)[0]
        for batch in _batches(stored.entries(queue.name, after, upto)):
            arrays = [pa.array(_COLUMNS[each.name](name, batch), each.type) for each in fields]
            yield pa.RecordBatch.from_arrays(arrays, schema=fields)


def _batches(entries: Iterator[Numbered]) -> Iterator[list[Numbered]]:
    """Entries some thousands at a time, fewer when they are large."""
    batch: list[Numbered] = []
    size = 0
    for entry in entries:
        batch.append(entry)
        size += len(entry.data)
        if len(batch) >= _BATCH or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _senders(batch: list[Numbered]) -> list[SenderId | None]:
    return [sender_of(entry.sender, _PAGE) for entry in batch]


_COLUMNS: Final[Mapping[str, Any]] = {
    "queue": lambda name, batch: [name] * len(batch),
    "seq": lambda _, batch: [entry.seq for entry in batch],
    "time_us": lambda _, batch: [entry.time_ns // 1000 for entry in batch],
    "key": lambda _, batch: [entry.key for entry in batch],
    "sender": lambda _, batch: [None if each is None else str(each) for each in _senders(batch)],
    "sender_user": lambda _, batch: [None if each is None else each.current_user for each in _senders(batch)],
    "data": lambda _, batch: [entry.data for entry in batch],
}


# the end of a stream -------------------------------------------------------------------------------------------------


def trim(path: Path, kind: Kind, upto: Mapping[str, int], *, wait: float = 0) -> dict[str, int]:
    """Take records off that have been dealt with: those with sequence numbers not above the given ones.

    Doing it again changes nothing. The numbers are not given out again.

    Args:
        path: the store; no other process may be using it.
        kind: whose it is.
        upto: the last number to go, by queue.
        wait: so many seconds for a process that has the store.

    Returns:
        How many went, by queue.

    Raises:
        StoreInUse: a process has the store; names it.
        DatasetError: there is no such queue, or a unit of work in doubt has it.
    """
    with opened(path, kind, readonly=False, wait=wait) as stored:
        wanted(stored, upto, path)
        return {name: stored.take_through(name, last) for name, last in upto.items()}


def finished_offsets(checkpoint: Path, source: int | None = None) -> dict[str, int]:
    """How far a stream had got with its last finished batch, from its checkpoint, by queue.

    Args:
        checkpoint: the checkpoint's directory.
        source: which source of the query, from 0, when it has several.

    Raises:
        DatasetError: no batch was finished there, or it is the checkpoint of something else.
    """
    done = sorted(int(path.name) for path in (checkpoint / "commits").glob("[0-9]*") if path.name.isdecimal())
    if not done:
        raise DatasetError(f"{checkpoint}: no batch was finished there; there is nothing to trim")
    lines = (checkpoint / "offsets" / str(done[-1])).read_text("utf-8").splitlines()[2:]
    found = [offsets for line in lines if (offsets := _offsets(line)) is not None]
    if len(found) > 1 and source is None:
        raise DatasetError(f"{checkpoint}: the query has {len(found)} sources; say which one, from 0")
    if not found or not 0 <= (source or 0) < len(found):
        raise DatasetError(f"{checkpoint}: this is not the checkpoint of a stream of queues")
    return found[source or 0]


def _offsets(line: str) -> dict[str, int] | None:
    try:
        found = json.loads(line)
        return {str(name): int(place["seq"]) for name, place in found.items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        return None  # a source of another kind, or none


def trim_finished(path: Path, kind: Kind, checkpoint: Path, source: int | None = None) -> dict[str, int]:
    """Take off what a stream that has ended was done with: Spark leaves its last batch at the source.

    Args:
        path: the store; no other process may be using it.
        kind: whose it is.
        checkpoint: the checkpoint of the query.
        source: which source of the query, from 0, when it has several.

    Returns:
        How many records went, by queue.
    """
    return trim_read(path, kind, finished_offsets(checkpoint, source))


def trim_read(path: Path, kind: Kind, upto: Mapping[str, int]) -> dict[str, int]:
    """As :func:`trim`, for queues that may be gone, and without touching a store where nothing is to be taken off."""
    with opened(path, kind) as stored:
        due = {name: last for name, last in upto.items() if name in stored.names and _has(stored, name, last)}
    return trim(path, kind, due, wait=BOUNDS["store_wait_seconds"]) if due else {}


def _has(stored: Stored, name: str, upto: int) -> bool:
    return next(stored.entries(name, 0, upto), None) is not None
