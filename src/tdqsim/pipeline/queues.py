"""Looking at the queues of a store, without the region or system it belongs to, and without any harm to it.

A store is opened read-only for each look: it shows the last commit, whoever writes it. Nothing is consumed; taking
records off is :func:`trim`, which needs the store for itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from tdqsim.core.store import Environment, Store, StoredQueue
from tdqsim.errors import DatasetError

__all__ = ["SCHEMA", "Kind", "QueueHoles", "heads", "read_range", "trim"]

Kind = Literal["tdqueue", "dtaq"]
SCHEMA = pa.schema(
    [
        ("queue", pa.string()),
        ("seq", pa.int64()),
        ("time_us", pa.int64()),
        ("key", pa.binary()),
        ("data", pa.binary()),
    ]
)
"""A record of a queue: its sequence number is never given to another one of that queue."""

BATCH = 4096
_OTHER_OBJECTS = ("*LIB", "*JRN")


class QueueHoles(DatasetError):
    """Records of a range are gone: somebody else has read them."""


def _open(path: Path, *, readonly: bool = True) -> Store:
    if not path.is_dir():
        raise DatasetError(f"{path}: there is no store; give the directory that --store named")
    return Store(path, readonly=readonly, create=False)


def _found(store: Store, kind: Kind) -> dict[str, tuple[Environment, StoredQueue]]:
    """The queues by name: of a region as they are called, of a system as LIBRARY/NAME."""
    halves = (store.durable, store.volatile)
    if kind == "tdqueue":
        pairs = [(half, queue) for half in halves for queue in half.queues()]
        return {queue.name.decode("ascii", "backslashreplace").rstrip(): (half, queue) for half, queue in pairs}
    return dict(_of_system(store))


def _of_system(store: Store) -> Iterator[tuple[str, tuple[Environment, StoredQueue]]]:
    """By the system's own catalogue, which is only looked at."""
    for key, value in store.durable.meta_items(b"object/"):
        record = json.loads(value)
        if record.get("type") in _OTHER_OBJECTS:
            continue
        number = key.partition(b"/")[2]
        for half in (store.durable, store.volatile):
            queue = half.queue(number)
            if queue is not None:
                yield f"{record['library']}/{record['name']}", (half, queue)


def _wanted(
    found: Mapping[str, tuple[Environment, StoredQueue]], names: Sequence[str], path: Path
) -> dict[str, tuple[Environment, StoredQueue]]:
    for name in names:
        if name not in found:
            raise DatasetError(f"{path}: there is no queue {name}; there are {', '.join(sorted(found)) or 'none'}")
    return {name: found[name] for name in (names or sorted(found))}


def heads(path: Path, kind: Kind, names: Sequence[str] = ()) -> dict[str, tuple[int, int, int]]:
    """First and last sequence number and count of each queue; an empty queue's last one stays what it was.

    Raises:
        DatasetError: there is no store, or no such queue.
    """
    with closing(_open(path)) as store:
        return {
            name: (queue.first_seq, queue.last_seq, queue.count)
            for name, (_, queue) in _wanted(_found(store, kind), names, path).items()
        }


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
        columns: those of :data:`SCHEMA` that are wanted.
    """
    schema = pa.schema([SCHEMA.field(each) for each in (columns if columns is not None else SCHEMA.names)])
    with closing(_open(path)) as store:
        _, queue = _wanted(_found(store, kind), (name,), path)[name]
        rows: list[dict[str, Any]] = []
        for entry in queue.entries():
            if entry.seq <= after:
                continue
            if upto is not None and entry.seq > upto:
                if queue.order.name == "FIFO":
                    break
                continue
            rows.append(
                {
                    "queue": name,
                    "seq": entry.seq,
                    "time_us": entry.time_ns // 1000,
                    "key": entry.key,
                    "data": entry.data,
                }
            )
            if len(rows) == BATCH:
                yield pa.RecordBatch.from_pylist(rows, schema=schema)
                rows = []
        if rows:
            yield pa.RecordBatch.from_pylist(rows, schema=schema)


def trim(path: Path, kind: Kind, upto: Mapping[str, int]) -> dict[str, int]:
    """Take records off that have been dealt with: those with sequence numbers not above the given ones.

    Doing it again changes nothing. The numbers are not given out again.

    Args:
        path: the store; no other process may be using it.
        kind: whose it is.
        upto: the last number to go, by queue.

    Returns:
        How many went, by queue.

    Raises:
        StoreInUse: a process has the store.
    """
    gone = {}
    store = _open(path, readonly=False)
    try:
        found = _wanted(_found(store, kind), tuple(upto), path)
        for name, last in upto.items():
            half, queue = found[name]
            doomed = [(entry.seq, entry.key) for entry in queue.entries() if entry.seq <= last]
            for seq, key in doomed:
                queue.remove(seq, key)
            gone[name] = len(doomed)
            half.commit()
    finally:
        store.close(clean=store.closed_clean)  # how the region's own run ended stays known
    return gone
