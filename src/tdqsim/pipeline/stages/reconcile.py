"""Reconcile: what was expected against what came out, by key and by order, exact on duplicates.

Both sides lie in the same buckets, so a task compares its regions alone, and nothing is shuffled. Of each (region,
queue) the records are first compared place by place, as bytes. Where every place has the key that it has on the other
side, which is so of everything but records that were lost, added or moved, the places are the pairs: the nth record of
a key with the nth. From the first place on that has another key, records are paired by sorting the keys of both sides
together. Without a key the places are the pairs. No hash decides anything: bytes are compared with bytes.

A record without a partner is ``missing`` or ``extra``; a pair with other bytes is ``changed``, named field by field
through the layout; pairs that stand in another order than expected within what keeps its order (an account, say) are
``order``. All are counted; so many of each are written out.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tdqsim.pipeline.stages.events import open_pieces
from tdqsim.pipeline.stages.manifest import Receipt, Receipts, published
from tdqsim.pipeline.stages.reconcile_columns import Column, alike, ranked, unequal_at_places
from tdqsim.pipeline.stages.reconcile_fields import Match, Naming, shown
from tdqsim.pipeline.stages.reconcile_sides import Records, actual_records, expected_records, one

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
    """Compare the regions of a bucket and publish their differences, sorted by region.

    Raises:
        DatasetError: one of the sides cannot be read, or a queue of a region has more than 2 GB of records.
    """
    begun = time.perf_counter()
    rows: dict[str, list[tuple[Any, ...]]] = {}
    counts: Counter[str] = Counter()
    compared = 0
    for region, expected, actual in _regions(task):
        rows[region] = []
        for queue in sorted(task.matches.keys() & (expected.keys() | actual.keys())):
            left, right = one(expected.get(queue, []), queue), one(actual.get(queue, []), queue)
            compared += max(len(left), len(right))
            found, samples = _compared(left, right, task.matches[queue], task.samples)
            counts.update({f"{queue} {kind}": count for kind, count in found.items() if count})
            rows[region] += [(region, queue, *sample) for sample in samples]
    name = f"{STAGE}/diffs/{task.bucket:05d}.parquet"
    size, written = _publish(task.run / name, [row for region in sorted(rows) for row in rows[region]])
    seconds = round(time.perf_counter() - begun, 3)
    details = {"compared": compared, "differences": dict(sorted(counts.items()))}
    receipt = Receipt(STAGE, task.bucket, task.inputs, (name,), written, size, "", seconds, details)
    Receipts(task.run, STAGE).put(receipt)
    return receipt


def _regions(task: ReconcileTask) -> Iterator[tuple[str, Records, Records]]:
    """Each region with its two sides; those that came out first, then those that are only expected."""
    pieces = open_pieces(list(task.pieces))
    for region, actual in actual_records(task.actual):
        yield region, expected_records(pieces.pop(region, [])), actual
    for region in list(pieces):
        yield region, expected_records(pieces.pop(region)), {}


def _publish(path: Path, rows: list[tuple[Any, ...]]) -> tuple[int, int]:
    """Write differences; gives the bytes and the rows of the file."""
    columns = [pa.array([row[at] for row in rows], each.type) for at, each in enumerate(DIFFS)]
    with published(path) as fresh:
        pq.write_table(pa.table(columns, schema=DIFFS), fresh, compression="zstd")
    return path.stat().st_size, len(rows)


# comparing -----------------------------------------------------------------------------------------------------------


def compare(expected: pa.Array, actual: pa.Array, match: Match) -> Iterator[Difference]:
    """The differences between two columns of records: kind, position from 1, key, field, expected, actual.

    Missing records first, in their order, then extra ones, then changed ones and order breaks by position.
    """
    yield from _compared(expected, actual, match, None)[1]


def _compared(
    expected: pa.Array, actual: pa.Array, match: Match, most: int | None
) -> tuple[dict[str, int], Iterator[Difference]]:
    """How many differences of each kind there are, and so many of each."""
    left, right = Column(expected), Column(actual)
    unequal = unequal_at_places(left, right)
    if left.count == right.count and not len(unequal):
        return {}, iter(())
    pairs = _paired(left, right, unequal, match.key)
    changes = _Changes(left, right, pairs.unequal(left, right, unequal), Naming(match))
    breaks = [] if match.order is None else _breaks(left, pairs, match.order)
    counts = {"missing": len(pairs.missing), "extra": len(pairs.extra), "changed": changes.count, "order": len(breaks)}
    return counts, _samples(left, right, match.key, pairs, changes, breaks, most)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Which records belong together.

    Attributes:
        settled: of the places before this one each is paired with its like.
        mine, theirs: places of the other pairs, in expected order.
        missing, extra: places without a partner, in order.
    """

    settled: int
    mine: Any
    theirs: Any
    missing: Any
    extra: Any

    def unequal(self, left: Column, right: Column, at_places: Any) -> tuple[Any, Any]:
        """The places of pairs with other bytes, in expected order.

        Args:
            left: the expected side.
            right: the actual side.
            at_places: the places at which they differ.
        """
        settled = at_places[: np.searchsorted(at_places, self.settled)]
        same = left.lengths[self.mine] == right.lengths[self.theirs]
        differ = ~same
        where = np.flatnonzero(same)
        for which, *_ in alike(left, right, self.mine[where], self.theirs[where]):
            differ[where[which]] = True
        return np.concatenate([settled, self.mine[differ]]), np.concatenate([settled, self.theirs[differ]])


def _paired(left: Column, right: Column, unequal: Any, key: slice | None) -> _Pairs:
    """Pair records: by place as long as the keys agree, then the nth of a key with the nth of it.

    Up to the first place with another key both sides have each key as often, so what is paired there changes no count
    for what comes after.
    """
    both = min(left.count, right.count)
    settled, none = both, np.empty(0, np.int64)
    if key is not None:
        moved = (left.words(key, unequal) != right.words(key, unequal)).any(axis=1)
        settled = int(unequal[np.argmax(moved)]) if bool(moved.any()) else both
    mine, theirs = np.arange(settled, left.count), np.arange(settled, right.count)
    if key is None or not len(mine) or not len(theirs):
        return _Pairs(settled, none, none, mine, theirs)
    order, groups = ranked(np.concatenate([left.words(key, mine), right.words(key, theirs)]))
    ours = order < len(mine)  # of each group those of the left side come first
    size = int(groups[-1]) + 1
    lefts = np.bincount(groups[ours], minlength=size)
    rights = np.bincount(groups[~ours], minlength=size)
    starts = np.cumsum(lefts + rights) - lefts - rights
    ranks = np.arange(len(order)) - starts[groups]
    at = np.flatnonzero(ours)
    at = at[ranks[at] < rights[groups[at]]]
    partners = np.full(len(mine), -1)
    partners[order[at]] = order[at + lefts[groups[at]]] - len(mine)
    has = partners >= 0
    lonely = np.ones(len(theirs), np.bool_)
    lonely[partners[has]] = False
    return _Pairs(settled, mine[has], theirs[partners[has]], mine[~has], theirs[lonely])


class _Changes:
    """Pairs with other bytes, and how many differences each of them is.

    Args:
        left: the expected side.
        right: the actual side.
        pairs: the places of the pairs in them.
        naming: what counts.
    """

    def __init__(self, left: Column, right: Column, pairs: tuple[Any, Any], naming: Naming) -> None:
        self._sides = left, right
        self._pairs = pairs
        self._naming = naming
        self._each = np.ones(len(pairs[0]), np.int64) if naming.plain else self._counted(*pairs)
        self.count = int(self._each.sum())

    def _counted(self, mine: Any, theirs: Any) -> Any:
        left, right = self._sides
        found = np.zeros(len(mine), np.int64)
        same = left.lengths[mine] == right.lengths[theirs]
        where = np.flatnonzero(same)
        for which, before, after in alike(left, right, mine[where], theirs[where]):
            found[where[which]] = self._naming.counted(before, after)
        for at in np.flatnonzero(~same).tolist():
            found[at] = sum(1 for _ in self._naming.named(left.record(mine[at]), right.record(theirs[at])))
        return found

    def __iter__(self) -> Iterator[tuple[int, str, str, str]]:
        left, right = self._sides
        for at in np.flatnonzero(self._each):
            mine, theirs = (int(side[at]) for side in self._pairs)
            for name, old, new in self._naming.named(left.record(mine), right.record(theirs)):
                yield mine, name, old, new


def _breaks(left: Column, pairs: _Pairs, part: slice) -> list[tuple[int, int, int]]:
    """Pairs that come before one that should come before them, among those with the same name of what keeps order.

    Pairs at the same places break no order, with each other or with those after them.
    """
    if bool((np.diff(pairs.theirs) > 0).all()):
        return []
    order, groups = ranked(left.words(part, pairs.mine))
    places = pairs.theirs[order]
    late = np.flatnonzero((np.diff(groups) == 0) & (np.diff(places) < 0))
    late = late[np.argsort(order[late + 1])]
    mine = pairs.mine[order[late + 1]]
    return list(zip(mine.tolist(), places[late].tolist(), places[late + 1].tolist(), strict=True))


def _samples(
    left: Column, right: Column, key: slice | None, pairs: _Pairs, changes: _Changes,
    breaks: list[tuple[int, int, int]], most: int | None,
) -> Iterator[Difference]:  # fmt: skip
    """So many differences of each kind."""

    def known(side: Column, place: int) -> bytes | None:
        return None if key is None else side.record(place)[key]

    for place in pairs.missing[:most].tolist():
        yield "missing", place + 1, known(left, place), "", shown(left.record(place)), None
    for place in pairs.extra[:most].tolist():
        yield "extra", place + 1, known(right, place), "", None, shown(right.record(place))
    for place, name, old, new in islice(changes, most):
        yield "changed", place + 1, known(left, place), name, old, new
    for place, before, at in breaks[:most]:
        yield "order", place + 1, known(left, place), "", f"after record {before + 1}", f"at record {at + 1}"
