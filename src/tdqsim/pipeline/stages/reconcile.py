"""Reconcile: compare expected with actual records, by key and by order; duplicates are compared exactly.

Both sides are in the same buckets, so each task compares only its own regions, and nothing is shuffled. The records of
a (region, queue) are first compared place by place, as bytes. As long as both sides have the same key at each place,
the pairs are the records at the same place: the nth record of a key with the nth. This holds for all records except
lost, added or moved ones. It is done some megabytes at a time, without holding records in memory. From the first place
with different keys on, records are held. Where only a few were lost or added, both sides soon have the same keys in the
same order again: such stretches are paired as they are. Records outside them, and all others with one of their keys,
are paired by sorting the keys of both sides together. Without a key, records are always paired by place. No hash stands
for a record or a key: bytes are compared with bytes.

A record without a partner is ``missing`` or ``extra``. A pair with different bytes is ``changed``, and its fields are
named through the layout. A pair is ``order`` if it stands in another order than expected, among the records that must
keep their order (such as those of an account). All differences are counted; a limited number of each kind is written
out.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from itertools import groupby, islice
from math import isfinite
from operator import itemgetter
from pathlib import Path
from typing import TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tdqsim.errors import ConversionError
from tdqsim.layouts import Field, FieldType, Layout, parse_copybook
from tdqsim.pipeline._numbers import Bytes, Ints
from tdqsim.pipeline.parquet import schema
from tdqsim.pipeline.publishing import published
from tdqsim.pipeline.stages.events import open_pieces
from tdqsim.pipeline.stages.exchange import Buckets, bucket_files
from tdqsim.pipeline.stages.manifest import NotAllowed, Receipt, StageTask, digest_of, publish
from tdqsim.pipeline.stages.plan import Plan, TaskStep
from tdqsim.pipeline.stages.reconcile_columns import (
    RecordColumn,
    actual_records,
    expected_records,
    matrices,
    one,
    ranked,
    rows,
    unequal,
)

STAGE = "reconcile"
DIFFS = schema(
    "region string, queue string, kind string, position int64, key binary, field string, expected string, actual string"
)


@dataclass(frozen=True, slots=True)
class ReconcileTask(StageTask):
    """Compare one bucket.

    Attributes:
        pieces: the expected records: events with command EXPECT, in the exchange.
        actual: the records table of replay for the bucket.
        matches: how each queue or DD name is compared; others are left out.
        samples: the maximum number of differences written for each kind, queue and region; all are counted.
    """

    pieces: tuple[Path, ...]
    actual: Path
    matches: Mapping[str, Match]
    samples: int = 100


Difference = tuple[str, int, bytes | None, str, str | None, str | None]
"""Kind, position from 1, key, field, expected, actual."""
_NONE = pa.array([], pa.binary())


def reconcile_records(run: Path, buckets: Buckets, matches: Mapping[str, Match], base: str) -> Plan[list[Receipt]]:
    """Compare the results of replay with the expected events, bucket by bucket."""
    files = bucket_files(run, "expected")
    tasks = [
        ReconcileTask(
            run, bucket, digest_of(base, bucket), 1, files.get(bucket, ()),
            run / "replay" / "records" / f"{bucket:05d}.parquet", matches,
        )
        for bucket in sorted(set(buckets.regions.values()))
    ]  # fmt: skip
    return (yield TaskStep(STAGE, run, tasks, reconcile_bucket, STAGE))


def reconcile_bucket(task: ReconcileTask) -> Receipt:
    """Compare the regions of a bucket and publish their differences, sorted by region.

    Raises:
        DatasetError: one side cannot be read, or a queue of a region has more than 2 GB of records.
    """
    started = time.perf_counter()
    rows: dict[str, list[tuple[object, ...]]] = {}
    counts: Counter[str] = Counter()
    compared = 0
    for region, comparisons in _regions(task):
        rows[region] = []
        for queue, comparison in sorted(comparisons.items()):
            numbers, samples = comparison.outcome()
            compared += comparison.compared
            counts.update({f"{queue} {kind}": count for kind, count in numbers.items() if count})
            rows[region] += [(region, queue, *sample) for sample in samples]
    name = f"{STAGE}/diffs/{task.bucket:05d}.parquet"
    written = [row for region in sorted(rows) for row in rows[region]]
    columns = [pa.array([row[at] for row in written], each.type) for at, each in enumerate(DIFFS)]
    with published(task.run / name) as fresh:
        pq.write_table(pa.table(columns, schema=DIFFS), fresh, compression="zstd")
    differences = dict(sorted(counts.items()))
    return publish(task, STAGE, (name,), len(written), started, compared=compared, differences=differences)


def _regions(task: ReconcileTask) -> Iterator[tuple[str, dict[str, Comparison]]]:
    """Each region with its queues: queues with output first, then queues that are only expected."""
    pieces = open_pieces(list(task.pieces))

    def comparisons(region: str) -> dict[str, Comparison]:
        slices = pieces.pop(region, [])
        return {
            queue: Comparison(expected_records(slices, queue), match, task.samples, queue)
            for queue, match in task.matches.items()
        }

    for region, parts in groupby(actual_records(task.actual), itemgetter(0)):
        made = comparisons(region)
        for _, queue, part in parts:
            if queue in made:
                made[queue].add(part)
        yield region, made
    for region in list(pieces):
        yield region, comparisons(region)


# comparing -----------------------------------------------------------------------------------------------------------


class Comparison:
    """Compares the records of one queue of a region, batch by batch.

    Args:
        expected: the expected records.
        match: how they are compared.
        most: how many differences of each kind are written out.
        queue: its name, for messages.
    """

    def __init__(self, expected: Iterator[pa.Array], match: Match, most: int = sys.maxsize, queue: str = "") -> None:
        self._expected = expected
        self._match = match
        self._most = most
        self._queue = queue
        self._wanted = _NONE
        self._held: list[pa.Array] = []
        self._changed = 0
        self._samples: list[Difference] = []
        self.compared = 0

    def add(self, actual: pa.Array) -> None:
        """Compare more output; from the first record on that is not where it is expected, records are held."""
        while len(actual) and not self._held:
            if not len(self._wanted):
                self._wanted = next((part for part in self._expected if len(part)), _NONE)
            both = min(len(self._wanted), len(actual))
            done = self._compare(self._wanted[:both], actual[:both])
            self._wanted, actual = self._wanted[done:], actual[done:]
            if done < both or not both:
                break
        if len(actual):
            self._held.append(actual)

    def _compare(self, expected: pa.Array, actual: pa.Array) -> int:
        """Compare the records at the same places that belong together; returns how many these are."""
        left, right = RecordColumn(expected), RecordColumn(actual)
        differ = unequal(left, right)
        done = len(expected)
        if len(differ):
            done = _settled(left, right, differ, self._match.key)
            places = differ[: np.searchsorted(differ, done)]
            changes = _Changes(left, right, (places, places), Naming(self._match))
            self._samples += self._named(changes, self.compared)
            self._changed += changes.count
        self.compared += done
        return done

    def outcome(self) -> tuple[dict[str, int], list[Difference]]:
        """The number of differences of each kind, and a limited number of each kind; to be called once, at the end.

        Missing records come first, in their order, then extra ones, then changed ones and order breaks by position.

        Raises:
            DatasetError: more than 2 GB are held.
        """
        rest = [part for part in (self._wanted, *self._expected) if len(part)]
        if not rest and not self._held:
            return {"missing": 0, "extra": 0, "changed": self._changed, "order": 0}, self._samples
        left, right = RecordColumn(one(rest, self._queue)), RecordColumn(one(self._held, self._queue))
        done = self.compared
        self.compared += max(len(left), len(right))
        pairs = _paired(left, right, self._match.key)
        changes = _Changes(left, right, pairs.unequal(left, right), Naming(self._match))
        order = self._match.order
        breaks = [] if order is None else _breaks(left, pairs, order)
        counts = {
            "missing": len(pairs.missing), "extra": len(pairs.extra), "changed": self._changed + changes.count,
            "order": len(breaks),
        }  # fmt: skip
        return counts, list(self._differences(left, right, pairs, changes, breaks, done))

    def _differences(
        self, left: RecordColumn, right: RecordColumn, pairs: _Pairs, changes: _Changes,
        breaks: list[tuple[int, int, int]], done: int,
    ) -> Iterator[Difference]:  # fmt: skip
        """A limited number of differences of each kind; ``done`` places were compared before these."""
        most, key = self._most, self._match.key
        for place in pairs.missing[:most].tolist():
            yield "missing", done + place + 1, _known(left, place, key), "", shown(left.record(place)), None
        for place in pairs.extra[:most].tolist():
            yield "extra", done + place + 1, _known(right, place, key), "", None, shown(right.record(place))
        yield from self._samples
        yield from self._named(changes, done)
        for place, before, at in breaks[:most]:
            after, there = f"after record {done + before + 1}", f"at record {done + at + 1}"
            yield "order", done + place + 1, _known(left, place, key), "", after, there

    def _named(self, changes: _Changes, done: int) -> Iterator[Difference]:
        """The differences in pairs that may still be written out."""
        key, most = self._match.key, self._most - len(self._samples)
        for place, record, name, old, new in islice(changes.named(most), most):
            yield "changed", done + place + 1, None if key is None else record[key], name, old, new


def _known(side: RecordColumn, place: int, key: slice | None) -> bytes | None:
    """The key of a record."""
    return None if key is None else side.record(place)[key]


def _settled(left: RecordColumn, right: RecordColumn, differ: Ints, key: slice | None) -> int:
    """How many places at the beginning have the same key on both sides.

    Up to there both sides have each key equally often, so pairing these records does not affect the pairing of the
    rest.
    """
    if key is not None and len(differ):
        for some in differ[:1], differ:  # after a lost record all others differ: the first one decides most often
            moved = pc.index(pc.not_equal(left.part(key, some), right.part(key, some)), True).as_py()
            if moved >= 0:
                return int(some[moved])
    return min(left.count, right.count)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Which records belong together.

    Attributes:
        mine, theirs: places of the pairs, in expected order.
        missing, extra: places without a partner, in order.
        doubtful: the numbers of the pairs that may have different bytes; all others are equal.
    """

    mine: Ints
    theirs: Ints
    missing: Ints
    extra: Ints
    doubtful: Ints

    def unequal(self, left: RecordColumn, right: RecordColumn) -> tuple[Ints, Ints]:
        """The places of pairs with different bytes, in expected order."""
        mine, theirs = self.mine[self.doubtful], self.theirs[self.doubtful]
        differ = unequal(left, right, (mine, theirs))
        return mine[differ], theirs[differ]


def _paired(left: RecordColumn, right: RecordColumn, key: slice | None) -> _Pairs:
    """Pair records whose places do not match: the nth of a key with the nth; without a key there are no pairs."""
    partners, equal, lonely = np.full(left.count, -1), np.zeros(left.count, np.bool_), np.ones(right.count, np.bool_)
    if key is not None and left.count and right.count:
        ours, other = left.part(key), right.part(key)
        for at, there, size in _stretches(rows(ours), rows(other)):
            partners[at : at + size] = np.arange(there, there + size)
            lonely[there : there + size] = False
            equal[at : at + size] = left.values.slice(at, size).equals(right.values.slice(there, size))
        mine, theirs = np.arange(left.count), np.arange(right.count)
        if 4 * (np.count_nonzero(partners < 0) + np.count_nonzero(lonely)) < left.count:  # else all are paired by key
            # A key that is only in stretches is in them equally often on both sides, so its nth records are pairs.
            keys = pa.concat_arrays([ours.filter(pa.array(partners < 0)), other.filter(pa.array(lonely))])
            mine = np.flatnonzero(pc.is_in(ours, keys).to_numpy(zero_copy_only=False))
            lonely[partners[mine[partners[mine] >= 0]]] = True
            theirs = np.flatnonzero(lonely)
            ours, other = ours.take(pa.array(mine)), other.take(pa.array(theirs))
        partners[mine], equal[mine], lonely[theirs] = -1, False, True
        first, second = _paired_by_key(ours, other)
        partners[mine[first]], lonely[theirs[second]] = theirs[second], False
    pairs, missing = np.flatnonzero(partners >= 0), np.flatnonzero(partners < 0)
    return _Pairs(pairs, partners[pairs], missing, np.flatnonzero(lonely), np.flatnonzero(~equal[pairs]))


_AT_ONCE, _NEAR, _SHORT = 1024, 16, 200
"""Keys compared at once; keys searched for the next stretch; records that are paired by key in the time of a search."""


def _stretches(ours: Bytes, other: Bytes) -> Iterator[tuple[int, int, int]]:
    """The stretches with the same keys on both sides: left place, right place, length; ends when most are short."""
    at = there = gaps = 0
    while (size := min(_AT_ONCE, len(ours) - at, len(other) - there)) and at >= (gaps - 4) * _SHORT:
        differ = np.flatnonzero(ours[at : at + size] != other[there : there + size])
        same = int(differ[0]) if len(differ) else size
        yield at, there, same
        at, there = at + same, there + same
        if same < size:
            mine, theirs = np.nonzero(ours[at : at + _NEAR, None] == other[None, there : there + _NEAR])
            if not len(mine):
                return
            nearest = (mine + theirs).argmin()
            at, there, gaps = at + int(mine[nearest]), there + int(theirs[nearest]), gaps + 1


def _paired_by_key(left: pa.Array, right: pa.Array) -> tuple[Ints, Ints]:
    """The places of pairs of equal keys: the nth of a key with the nth."""
    if not len(left) or not len(right):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    order, groups = ranked(pa.concat_arrays([left, right]))
    ours = order < len(left)  # in each group the records of the left side come first
    size = int(groups[-1]) + 1
    lefts = np.bincount(groups[ours], minlength=size)
    rights = np.bincount(groups[~ours], minlength=size)
    starts = np.cumsum(lefts + rights) - lefts - rights
    ranks = np.arange(len(order)) - starts[groups]
    at = np.flatnonzero(ours)
    at = at[ranks[at] < rights[groups[at]]]
    return order[at], order[at + lefts[groups[at]]] - len(left)


class _Changes:
    """Pairs with different bytes, and the number of differences in each."""

    def __init__(self, left: RecordColumn, right: RecordColumn, pairs: tuple[Ints, Ints], naming: Naming) -> None:
        self._sides = left, right
        self._pairs = pairs
        self._naming = naming
        self._each = np.ones(len(pairs[0]), np.int64) if naming.plain else self._counted(*pairs)
        self.count = int(self._each.sum())

    def _counted(self, mine: Ints, theirs: Ints) -> Ints:
        left, right = self._sides
        counts = np.full(len(mine), -1)
        for which, before, after in matrices(left, right, mine, theirs):
            counts[which] = self._naming.counted(before, after)
        for at in np.flatnonzero(counts < 0).tolist():
            counts[at] = sum(1 for _ in self._naming.named(left.record(mine[at]), right.record(theirs[at])))
        return counts

    def named(self, most: int) -> Iterator[tuple[int, bytes, str, str, str]]:
        """The place, the expected record, field, expected and actual of each difference in the first ``most`` pairs."""
        if not self.count:
            return
        which = np.flatnonzero(self._each)[:most]
        places = [side[which] for side in self._pairs]
        records = (side.records(at) for side, at in zip(self._sides, places, strict=True))
        for place, before, after in zip(places[0].tolist(), *records, strict=True):
            for difference in self._naming.named(before, after):
                yield place, before, *difference


def _breaks(left: RecordColumn, pairs: _Pairs, part: slice) -> list[tuple[int, int, int]]:
    """Pairs that come before a pair that they should follow, within the records that must keep their order.

    Pairs at the same places break no order, neither with each other nor with later pairs.
    """
    if bool((np.diff(pairs.theirs) > 0).all()):
        return []
    order, groups = ranked(left.part(part, pairs.mine))
    places = pairs.theirs[order]
    late = np.flatnonzero((np.diff(groups) == 0) & (np.diff(places) < 0))
    late = late[np.argsort(order[late + 1])]
    mine = pairs.mine[order[late + 1]]
    return list(zip(mine.tolist(), places[late].tolist(), places[late + 1].tolist(), strict=True))


# naming what differs --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Match:
    """How the records of one queue are compared.

    Attributes:
        key: the bytes that identify a record; None pairs records by position.
        order: the bytes that identify the group within which records must keep their order; None when order does not
            matter.
        copybook: the layout for naming differences; empty for none.
        masks: fields whose differences are ignored.
        tolerances: how far numbers may differ, by field.
    """

    key: slice | None = None
    order: slice | None = None
    copybook: str = ""
    masks: tuple[str, ...] = ()
    tolerances: Mapping[str, Decimal] = field(default_factory=dict)


_MUCH = 16
"""When two records begin with this many equal bytes or more, these are left out."""
_NO_NUMBERS = (FieldType.TEXT, FieldType.NATIONAL, FieldType.DBCS, FieldType.BYTES)


@lru_cache(maxsize=16)
def _layout(copybook: str) -> tuple[Layout, tuple[tuple[Field, slice], ...]]:
    """A copybook's layout, and its elementary fields outside tables with the bytes they take."""
    layout = parse_copybook(copybook, file="the layout").record()
    leaves = [item for item in layout.walk() if not item.is_group and item.occurs is None]
    return layout, tuple((item, slice(item.offset, item.offset + item.size)) for item in leaves)


def checked(match: Match) -> Match:
    """Check the fields of a match; their names are changed to the spelling of the copybook.

    Raises:
        LayoutError: the copybook is wrong.
        NotAllowed: a mask or a tolerance names no field of it, or a tolerance names a field that is not a number.
    """
    if not match.copybook:
        for option, given in (("--mask", match.masks), ("--tolerance", tuple(match.tolerances))):
            if given:
                raise NotAllowed(f"{option} {given[0]}: only a layout gives fields names; name one with --copybook")
        return match
    _, leaves = _layout(match.copybook)
    known = {item.name.upper(): item for item, _ in leaves}

    def field_of(option: str, name: str) -> Field:
        if name.upper() not in known:
            there = ", ".join(item.name for item in known.values())
            raise NotAllowed(
                f"{option} {name}: the copybook has no such elementary field outside tables; it has {there}"
            )
        return known[name.upper()]

    masks = tuple(field_of("--mask", name).name for name in match.masks)
    tolerances = {}
    for name, much in match.tolerances.items():
        item = field_of("--tolerance", name)
        if item.type in _NO_NUMBERS:
            raise NotAllowed(f"--tolerance {name}: {item.name} holds {item.type.value}, which is not a number")
        tolerances[item.name] = much
    return replace(match, masks=masks, tolerances=tolerances)


class Naming:
    """The differences of a pair, according to a :class:`Match`.

    Raises:
        LayoutError: the copybook is wrong.
    """

    def __init__(self, match: Match) -> None:
        self._match = match
        self._layout: Layout | None = None
        self._leaves: tuple[tuple[Field, slice], ...] = ()
        if match.copybook:
            self._layout, self._leaves = _layout(match.copybook)

    @property
    def plain(self) -> bool:
        """Whether there is no layout, so that each unequal pair is one difference."""
        return self._layout is None

    def named(self, before: bytes, after: bytes) -> Iterator[tuple[str, str, str]]:
        """The differences of a pair: field, expected, actual; the name is empty for bytes outside elementary fields."""
        if self._layout is None:
            yield _unlike(before, after)
            return
        nameless = True
        for item, span in self._leaves:
            if before[span] == after[span]:
                continue
            nameless = False
            if item.name not in self._match.masks:
                old, new = self._value(item.name, before, span), self._value(item.name, after, span)
                if not _tolerated(old, new, self._match.tolerances.get(item.name)):
                    yield item.name, str(old), str(new)
        if nameless:
            place, *texts = _unlike(before, after)
            yield (place if texts[0].startswith("...") else "", texts[0], texts[1])

    def counted(self, before: Bytes, after: Bytes) -> Ints:
        """How many differences :meth:`named` gives for each of many unequal pairs, without writing them out."""
        counts = np.zeros(len(before), np.int64)
        nameless = np.ones(len(before), np.bool_)
        for item, span in self._leaves:
            differ = (before[:, span] != after[:, span]).any(axis=1)
            nameless &= ~differ
            if item.name in self._match.masks:
                continue
            if (tolerance := self._match.tolerances.get(item.name)) is not None:
                for row in np.flatnonzero(differ).tolist():
                    old, new = (self._value(item.name, each[row].tobytes(), span) for each in (before, after))
                    differ[row] = not _tolerated(old, new, tolerance)
            counts += differ
        return counts + nameless

    def _value(self, name: str, record: bytes, span: slice) -> object:
        assert self._layout is not None
        try:
            value = self._layout.value(record, name)
        except (ConversionError, ValueError, LookupError, ArithmeticError):
            value = None
        return shown(record[span]) if value is None else value  # invalid values are shown as bytes


def _tolerated(old: object, new: object, tolerance: Decimal | None) -> bool:
    if tolerance is None or not (_is_number(old) and _is_number(new)):
        return False
    return abs(Decimal(old) - Decimal(new)) <= tolerance


def _is_number(value: object) -> TypeGuard[int | float | Decimal]:
    return isinstance(value, (int, Decimal)) or (isinstance(value, float) and isfinite(value))


def _unlike(before: bytes, after: bytes) -> tuple[str, str, str]:
    """The place of the first difference of two records, and both records; a long equal beginning is cut off."""
    size = min(len(before), len(after))
    differ = int.from_bytes(before[:size]) ^ int.from_bytes(after[:size])
    place = size - (differ.bit_length() + 7) // 8
    first = place if place >= _MUCH else 0
    return f"from byte {place}", shown(before, first), shown(after, first)


def shown(record: bytes, first: int = 0, most: int = 64) -> str:
    """A record, or its bytes from ``first`` on, as hexadecimal digits; dots show where it is cut."""
    text = f"{'...' if first else ''}X'{record[first : first + most].hex().upper()}'"
    return text if len(record) <= first + most else f"{text}... of {len(record)} bytes"
