"""Reconcile: what was expected against what came out, by key and by order, exact on duplicates.

Both sides lie in the same buckets, so a task compares its regions alone. Of each (region, queue) the digests of both
sides are compared first; only where they differ records are paired: by key when there is one, the nth of a key with the
nth, else by position. A record without a partner is ``missing`` or ``extra``; a pair with other bytes is ``changed``,
named field by field through the layout; pairs that stand in another order than expected within what keeps its order
(an account, say) are ``order``.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tdqsim.errors import DatasetError
from tdqsim.layouts import Layout, parse_copybook
from tdqsim.pipeline.stages.events import open_pieces
from tdqsim.pipeline.stages.manifest import Receipt, Receipts, published
from tdqsim.pipeline.stages.order import in_order

__all__ = ["DIFFS", "Match", "ReconcileTask", "compare", "reconcile_bucket"]

STAGE = "reconcile"
DIFFS = pa.schema(
    [
        ("region", pa.string()),
        ("queue", pa.string()),
        ("kind", pa.string()),
        ("position", pa.int64()),
        ("key", pa.binary()),
        ("field", pa.string()),
        ("expected", pa.string()),
        ("actual", pa.string()),
    ]
)
KINDS = ("missing", "extra", "changed", "order")


@dataclass(frozen=True, slots=True)
class Match:
    """How the records of one queue are compared.

    Attributes:
        key: the bytes by which a record is known; None pairs by position.
        order: the bytes that name what keeps its order; None when order does not matter.
        copybook: the layout that names differences; empty for none.
        masks: fields whose differences do not count.
        tolerances: how far numbers may differ, by field.
    """

    key: slice | None = None
    order: slice | None = None
    copybook: str = ""
    masks: tuple[str, ...] = ()
    tolerances: Mapping[str, Decimal] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReconcileTask:
    """Compare one bucket.

    Attributes:
        pieces: the expected records: events with command EXPECT, in the exchange.
        actual: the records table of replay for the bucket.
        matches: how each queue or DD name is compared; others are left out.
        samples: at most so many differences of a kind of a queue of a region are written; all are counted.
    """

    run: Path
    bucket: int
    inputs: str
    weight: int
    pieces: tuple[Path, ...]
    actual: Path
    matches: Mapping[str, Match]
    samples: int = 100


Difference = tuple[str, int, bytes | None, str, str | None, str | None]


def reconcile_bucket(task: ReconcileTask) -> Receipt:
    """Compare the regions of a bucket and publish their differences."""
    begun = time.perf_counter()
    expected = open_pieces(list(task.pieces))
    actual = _Actual(task.actual)
    rows: list[tuple[Any, ...]] = []
    counts: Counter[str] = Counter()
    compared = 0
    for region in sorted(set(expected) | set(actual.regions)):
        wanted = _expected(expected.get(region, []))
        for queue, match in sorted(task.matches.items()):
            left, right = wanted.get(queue, _NONE), actual.records(region, queue)
            compared += max(len(left), len(right))
            kept: Counter[str] = Counter()
            for difference in compare(left, right, match):
                kind = difference[0]
                counts[f"{queue} {kind}"] += 1
                kept[kind] += 1
                if kept[kind] <= task.samples:
                    rows.append((region, queue, *difference))
    name = f"{STAGE}/diffs/{task.bucket:05d}.parquet"
    columns = [pa.array([row[at] for row in rows], each.type) for at, each in enumerate(DIFFS)]
    with published(task.run / name) as fresh:
        pq.write_table(pa.table(columns, schema=DIFFS), fresh, compression="zstd")
    seconds = round(time.perf_counter() - begun, 3)
    details = {"compared": compared, "differences": dict(sorted(counts.items()))}
    receipt = Receipt(
        STAGE, task.bucket, task.inputs, (name,), len(rows), (task.run / name).stat().st_size, "", seconds, details
    )
    Receipts(task.run, STAGE).put(receipt)
    return receipt


_NONE = pa.array([], pa.binary())


def _expected(slices: Any) -> dict[str, pa.Array]:
    """The expected records of a region by queue."""
    parts: dict[str, list[pa.Array]] = {}
    for batch in in_order(slices) if slices else ():
        queues = batch.column("queue")
        right = pc.equal(batch.column("command"), "EXPECT")
        for queue in queues.unique().to_pylist():
            mask = pc.and_(right, pc.equal(queues, queue))
            parts.setdefault(queue, []).append(batch.column("data").filter(mask))
    return {queue: _one(each, queue) for queue, each in parts.items()}


def _one(parts: list[pa.Array], queue: str) -> pa.Array:
    """Records as one column; its places are counted in 31 bits.

    Raises:
        DatasetError: there is more than that.
    """
    try:
        return pa.concat_arrays(parts) if parts else _NONE
    except pa.ArrowInvalid as error:
        size = sum(part.nbytes for part in parts)
        text = "reconcile takes 2 GB of a queue of a region; spread them over more regions"
        raise DatasetError(f"queue {queue}: {size:,} bytes of records: {text}") from error


class _Actual:
    """The records table of a bucket: region by region, as it is sorted."""

    def __init__(self, path: Path) -> None:
        self._table = pq.read_table(path, columns=["region", "queue", "data"], partitioning=None, memory_map=True)
        regions = self._table.column("region").combine_chunks()
        coded = (regions.combine_chunks() if isinstance(regions, pa.ChunkedArray) else regions).dictionary_encode()
        codes = coded.indices.to_numpy()
        edges = np.concatenate(([0], np.flatnonzero(np.diff(codes)) + 1, [len(codes)])) if len(codes) else [0, 0]
        names = coded.dictionary.to_pylist()
        self.regions: dict[str, tuple[int, int]] = {
            names[codes[start]]: (int(start), int(stop)) for start, stop in pairwise(edges) if stop > start
        }

    def records(self, region: str, queue: str) -> pa.Array:
        """The records of a queue, in order."""
        start, stop = self.regions.get(region, (0, 0))
        part = self._table.slice(start, stop - start)
        found = part.column("data").filter(pc.equal(part.column("queue"), queue))
        return _one(found.chunks, queue)


# comparing -----------------------------------------------------------------------------------------------------------


def compare(expected: pa.Array, actual: pa.Array, match: Match) -> Iterator[Difference]:
    """The differences between two columns of records: kind, position from 1, key, field, expected, actual.

    Missing records first, in their order, then extra ones, then changed ones and order breaks by position.
    """
    if match.key is None and match.order is None and _digest(expected) == _digest(actual):
        return
    left, right = _Side(expected, match), _Side(actual, match)
    if left.same_as(right):
        return
    pairs, missing, extra = _paired(left, right)
    for place in missing:
        yield "missing", int(place) + 1, left.key(place), "", _shown(left.record(place)), None
    for place in extra:
        yield "extra", int(place) + 1, right.key(place), "", None, _shown(right.record(place))
    yield from _changed(left, right, pairs, match)
    if match.order is not None:
        yield from _order_breaks(left, pairs, match.order)


class _Side:
    """One column of records: its bytes and, per record, the identity by which it is paired."""

    def __init__(self, records: pa.Array, match: Match) -> None:
        self.records = records
        self.match = match
        self.count = len(records)
        offsets = np.frombuffer(records.buffers()[1], np.int32) if self.count else np.zeros(1, np.int32)
        self.offsets = offsets[records.offset : records.offset + self.count + 1].astype(np.int64)
        data = records.buffers()[2] if self.count else None
        self.data = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)

    def __len__(self) -> int:
        return self.count

    def record(self, place: int) -> bytes:
        return self.data[self.offsets[place] : self.offsets[place + 1]].tobytes()

    def key(self, place: int) -> bytes | None:
        return None if self.match.key is None else self.record(place)[self.match.key]

    def cut(self, part: slice) -> Any:
        """A part of each record, as values that numpy can sort; short ones go on with X'00'."""
        width = part.stop - part.start
        room = np.minimum(self.offsets[1:] - self.offsets[:-1] - part.start, width)
        places = self.offsets[:-1, None] + np.arange(part.start, part.stop)
        inside = np.arange(width) < room[:, None]
        matrix = np.where(inside, self.data[np.minimum(places, max(len(self.data) - 1, 0))], 0).astype(np.uint8)
        return np.ascontiguousarray(matrix).view(f"V{width}").ravel() if self.count else np.empty(0, f"V{width}")

    def same_as(self, other: _Side) -> bool:
        """Whether both have the same bytes in the same order."""
        mine = self.data[self.offsets[0] : self.offsets[-1]]
        theirs = other.data[other.offsets[0] : other.offsets[-1]]
        return (
            self.count == other.count
            and len(mine) == len(theirs)
            and bool(np.array_equal(self.offsets - self.offsets[0], other.offsets - other.offsets[0]))
            and bool(np.array_equal(mine, theirs))
        )


def _digest(records: pa.Array) -> bytes:
    found = blake2b(digest_size=16)
    for buffer in pa.concat_arrays([records]).buffers()[1:]:
        if buffer is not None:
            found.update(buffer)
    return found.digest() + len(records).to_bytes(8, "big")


def _paired(left: _Side, right: _Side) -> tuple[Any, Any, Any]:
    """Places that belong together, an array of pairs in expected order; places without a partner on either side."""
    if left.match.key is None:
        both = min(len(left), len(right))
        pairs = np.stack([np.arange(both)] * 2, axis=1)
        return pairs, np.arange(both, len(left)), np.arange(both, len(right))
    keys = np.concatenate([left.cut(left.match.key), right.cut(left.match.key)])
    _, codes = np.unique(keys.view(f"S{keys.dtype.itemsize}") if len(keys) else keys.astype("S1"), return_inverse=True)
    mine, theirs = codes[: len(left)], codes[len(left) :]
    my_ranks, their_ranks = _ranked(mine), _ranked(theirs)
    my_ids = mine.astype(np.int64) << 32 | my_ranks
    their_ids = theirs.astype(np.int64) << 32 | their_ranks
    _, at_left, at_right = np.intersect1d(my_ids, their_ids, assume_unique=True, return_indices=True)
    order = np.argsort(at_left, kind="stable")
    pairs = np.stack([at_left[order], at_right[order]], axis=1)
    missing = np.setdiff1d(np.arange(len(left)), at_left, assume_unique=True)
    extra = np.setdiff1d(np.arange(len(right)), at_right, assume_unique=True)
    return pairs, missing, extra


def _ranked(codes: Any) -> Any:
    """Of each value, how many equal ones stand before it."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.concatenate(([0], np.flatnonzero(np.diff(ordered)) + 1)) if len(codes) else np.empty(0, np.int64)
    runs = np.diff(np.concatenate((starts, [len(codes)])))
    ranks = np.empty(len(codes), np.int64)
    ranks[order] = np.arange(len(codes)) - np.repeat(starts, runs)
    return ranks


def _changed(left: _Side, right: _Side, pairs: Any, match: Match) -> Iterator[Difference]:
    """Pairs with other bytes, field by field."""
    layout = parse_copybook(match.copybook, file="the layout").record() if match.copybook else None
    for mine, theirs in pairs[_unequal(left, right, pairs)].tolist():
        before, after = left.record(mine), right.record(theirs)
        for name, old, new in _fields(layout, before, after, match):
            yield "changed", mine + 1, left.key(mine), name, old, new


def _unequal(left: _Side, right: _Side, pairs: Any) -> Any:
    """Which pairs have other bytes: all at once when records are of one length, else one by one."""
    if not len(pairs):
        return np.empty(0, np.int64)
    mine, theirs = np.diff(left.offsets)[pairs[:, 0]], np.diff(right.offsets)[pairs[:, 1]]
    length = int(mine[0])
    if bool((mine == length).all()) and bool((theirs == length).all()) and length:
        found = []
        step = max(1, (8 << 20) // length)
        for start in range(0, len(pairs), step):
            part = pairs[start : start + step]
            a = np.lib.stride_tricks.sliding_window_view(left.data, length)[left.offsets[part[:, 0]]]
            b = np.lib.stride_tricks.sliding_window_view(right.data, length)[right.offsets[part[:, 1]]]
            found.append(np.flatnonzero((a != b).any(axis=1)) + start)
        return np.concatenate(found)
    return np.array([at for at, (a, b) in enumerate(pairs.tolist()) if left.record(a) != right.record(b)], np.int64)


def _fields(layout: Layout | None, before: bytes, after: bytes, match: Match) -> Iterator[tuple[str, str, str]]:
    if layout is None:
        both = zip(before, after, strict=False)
        place = next((at for at, (old, new) in enumerate(both) if old != new), min(len(before), len(after)))
        yield f"from byte {place}", _shown(before), _shown(after)
        return
    named = False
    for item in layout.walk():
        if item.is_group or item.occurs is not None:
            continue
        span = slice(item.offset, item.offset + item.size)
        if before[span] == after[span]:
            continue
        named = True
        if item.name in match.masks:
            continue
        old, new = _value(layout, item.name, before, span), _value(layout, item.name, after, span)
        if not _tolerated(old, new, match.tolerances.get(item.name)):
            yield item.name, str(old), str(new)
    if not named:
        yield "", _shown(before), _shown(after)


def _value(layout: Layout, name: str, record: bytes, span: slice) -> Any:
    try:
        return layout.value(record, name)
    except (ValueError, LookupError, ArithmeticError):
        return _shown(record[span])
    except Exception as error:  # a field that does not hold what the layout says is shown as it is
        if type(error).__name__ != "ConversionError":
            raise
        return _shown(record[span])


def _tolerated(old: Any, new: Any, tolerance: Decimal | None) -> bool:
    if tolerance is None or not isinstance(old, (int, Decimal)) or not isinstance(new, (int, Decimal)):
        return False
    return abs(Decimal(old) - Decimal(new)) <= tolerance


def _order_breaks(left: _Side, pairs: Any, part: slice) -> Iterator[Difference]:
    """Pairs that come before one that should come before them, among those with the same name of what keeps order."""
    if not len(pairs):
        return
    names = left.cut(part)[pairs[:, 0]]
    _, groups = np.unique(names.view(f"S{names.dtype.itemsize}"), return_inverse=True)
    order = np.lexsort((pairs[:, 0], groups))
    places = pairs[order, 1]
    same = np.diff(groups[order]) == 0
    for at in np.flatnonzero(same & (np.diff(places) < 0)).tolist():
        mine, theirs = pairs[order[at + 1]].tolist()
        before = int(places[at]) + 1
        yield "order", mine + 1, left.key(mine), "", f"after record {before}", f"at record {theirs + 1}"


def _shown(record: bytes, most: int = 64) -> str:
    """A record as hexadecimal digits, cut."""
    text = record[:most].hex().upper()
    return f"X'{text}'" if len(record) <= most else f"X'{text}'... of {len(record)} bytes"
