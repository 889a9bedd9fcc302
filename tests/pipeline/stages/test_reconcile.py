"""Comparing two columns of records, against a slow obvious comparison."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdqsim.pipeline.stages import Match, reconcile
from tests.pipeline.stages.helpers import compare

KEYED = Match(key=slice(0, 2))


def differences(expected: list[bytes], actual: list[bytes], match: Match) -> list[tuple[object, ...]]:
    return list(compare(pa.array(expected, pa.binary()), pa.array(actual, pa.binary()), match))


def kinds(expected: list[bytes], actual: list[bytes], match: Match) -> list[tuple[str, int]]:
    return [(each[0], each[1]) for each in differences(expected, actual, match)]


def slowly(expected: list[bytes], actual: list[bytes], match: Match) -> list[tuple[str, int]]:
    """The same, record by record, as the definition has it."""

    def cut(record: bytes, part: slice) -> bytes:
        return record[part].ljust(part.stop - part.start, b"\0")

    def known(records: list[bytes]) -> dict[tuple[bytes, int], int]:
        seen: defaultdict[bytes, int] = defaultdict(int)
        found = {}
        for place, record in enumerate(records):
            key = b"" if match.key is None else cut(record, match.key)
            found[key, seen[key]] = place
            seen[key] += 1
        return found

    left, right = known(expected), known(actual)
    pairs = sorted((place, right[key]) for key, place in left.items() if key in right)
    missing = sorted(place for key, place in left.items() if key not in right)
    extra = sorted(place for key, place in right.items() if key not in left)
    found = [("missing", place + 1) for place in missing] + [("extra", place + 1) for place in extra]
    found += [("changed", mine + 1) for mine, theirs in pairs if expected[mine] != actual[theirs]]
    last: dict[bytes, int] = {}
    for mine, theirs in pairs if match.order is not None else []:
        assert match.order is not None
        name = cut(expected[mine], match.order)
        if theirs < last.get(name, -1):
            found.append(("order", mine + 1))
        last[name] = theirs
    return found


def test_nothing_differs() -> None:
    assert differences([b"A1x", b"B1y"], [b"A1x", b"B1y"], KEYED) == []
    assert differences([b"A1x", b"B1y"], [b"B1y", b"A1x"], KEYED) == []
    assert differences([], [], Match()) == []


def test_missing_extra_and_changed_by_key() -> None:
    found = differences([b"A1x", b"B1y", b"C1z"], [b"C1z", b"B1?", b"D1w"], KEYED)
    assert [(each[0], each[1], each[2]) for each in found] == [
        ("missing", 1, b"A1"), ("extra", 3, b"D1"), ("changed", 2, b"B1"),
    ]  # fmt: skip


def test_duplicates_are_counted_exactly() -> None:
    assert kinds([b"A1x"] * 3, [b"A1x"] * 2, KEYED) == [("missing", 3)]
    assert kinds([b"A1x", b"A1y"], [b"A1x", b"A1y", b"A1y"], KEYED) == [("extra", 3)]


def test_the_last_record_of_a_key_is_missing_or_extra_wherever_one_was_lost() -> None:
    expected = [b"%02dx" % (number % 70) for number in range(100)]
    actual = [*expected[:5], *expected[6:50], b"50y", *expected[51:]]
    assert kinds(expected, actual, KEYED) == [("missing", 76), ("changed", 51)]
    assert kinds(actual, expected, KEYED) == [("extra", 76), ("changed", 50)]


def test_by_position_without_a_key() -> None:
    assert kinds([b"a", b"b", b"c"], [b"a", b"X"], Match()) == [("missing", 3), ("changed", 2)]


def test_order_is_looked_at_within_its_group_only() -> None:
    match = Match(key=slice(0, 2), order=slice(0, 1))
    assert kinds([b"A1", b"A2", b"B1"], [b"B1", b"A1", b"A2"], match) == []
    assert kinds([b"A1", b"A2", b"B1"], [b"A2", b"B1", b"A1"], match) == [("order", 2)]


def test_fields_masks_and_tolerances() -> None:
    copybook = "01 R. 05 ID PIC X(2). 05 AMOUNT PIC 9(4). 05 STAMP PIC X(2)."
    before, after = "A10100S1".encode("cp037"), "A10103S2".encode("cp037")
    changed = differences([before], [after], Match(slice(0, 2), copybook=copybook))
    assert [each[3:] for each in changed] == [("AMOUNT", "100", "103"), ("STAMP", "S1", "S2")]
    masked = Match(slice(0, 2), copybook=copybook, masks=("STAMP",), tolerances={"AMOUNT": Decimal(2)})
    assert [each[3:] for each in differences([before], [after], masked)] == [("AMOUNT", "100", "103")]
    near = Match(slice(0, 2), copybook=copybook, masks=("STAMP",), tolerances={"AMOUNT": Decimal(3)})
    assert differences([before], [after], near) == []


def test_null_is_an_empty_record_and_a_slice_is_looked_at_where_it_is() -> None:
    column = pa.array([b"A1x", None, b"C1z", b"D1"], pa.binary())
    assert list(compare(column, pa.array([b"A1x", b"", b"C1z", b"D1"], pa.binary()), KEYED)) == []
    assert list(compare(column[1:], column[:3], Match())) == [
        ("changed", 1, None, "from byte 0", "X''", "X'413178'"),
        ("changed", 2, None, "from byte 0", "X'43317A'", "X''"),
        ("changed", 3, None, "from byte 0", "X'4431'", "X'43317A'"),
    ]
    assert list(compare(column[2:], column[2:], KEYED)) == []


def test_a_short_key_goes_on_with_zeros() -> None:
    assert kinds([b"A", b"", b"A\0"], [b"A\0", b"A", b"\0\0\0"], KEYED) == slowly(
        [b"A", b"", b"A\0"], [b"A\0", b"A", b"\0\0\0"], KEYED
    )


COPYBOOK = """
       01 R.
          05 ID PIC X(2).
          05 AMOUNT PIC 9(3).
          05 NOTE PIC X(2).
          05 NUMBERS REDEFINES NOTE PIC 9(2).
          05 EACH OCCURS 2 PIC X.
"""


def test_what_no_field_has_is_named_without_one() -> None:
    before, after = "A1100S1AB".encode("cp037"), "A1100S1AC".encode("cp037")
    assert [each[0::3] for each in differences([before], [after], Match(slice(0, 2), copybook=COPYBOOK))] == [
        ("changed", "")
    ]


# many of them, against the slow comparison -----------------------------------------------------------------------------


def texts(*parts: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    return st.tuples(*parts).map(b"".join)


keys = st.sampled_from([b"A1", b"A2", b"B1"])
KINDS = ("missing", "extra", "changed", "order")


def cut(records: list[bytes], data: st.DataObject) -> list[pa.Array]:
    edges = sorted(data.draw(st.lists(st.integers(0, len(records)), max_size=4)))
    return [pa.array(records[a:b], pa.binary()) for a, b in pairwise([0, *edges, len(records)])]


short = st.lists(texts(keys, st.sampled_from([b"", b"x", b"yy"])), max_size=8)
parts = st.sampled_from([b"\0" * 8, b"ACCOUNT1", b"ACCOUNT2"])
long = st.lists(texts(parts, parts, parts, st.sampled_from([b"a" * 8, b"b" * 8])), max_size=12)
odd = st.lists(texts(parts, st.binary(max_size=3)), max_size=8)


@pytest.mark.parametrize("order", [None, slice(0, 1)])
@given(short, short)
def test_as_a_slow_comparison(order: slice | None, expected: list[bytes], actual: list[bytes]) -> None:
    match = Match(slice(0, 2), order)
    assert kinds(expected, actual, match) == slowly(expected, actual, match)


@pytest.mark.parametrize("order", [None, slice(0, 8), slice(8, 32)])
@pytest.mark.parametrize("key", [slice(0, 24), slice(3, 20), slice(16, 40)])
@given(long, long)
def test_long_keys_as_a_slow_comparison(
    key: slice, order: slice | None, expected: list[bytes], actual: list[bytes]
) -> None:
    assert kinds(expected, actual, Match(key, order)) == slowly(expected, actual, Match(key, order))


@given(odd, st.data())
def test_records_that_moved_were_lost_or_came_twice_as_a_slow_comparison(expected: list[bytes], data: st.DataObject
) -> None:  # fmt: skip
    actual = data.draw(st.permutations(expected + data.draw(st.lists(st.sampled_from(expected or [b"new"])))))
    actual = actual[data.draw(st.integers(0, 2)) :]
    match = Match(slice(0, 9), slice(0, 8))
    assert kinds(expected, actual, match) == slowly(expected, actual, match)


@pytest.mark.parametrize("match", [KEYED, Match(), Match(slice(0, 2), slice(0, 1))])
@given(short, short, st.data())
def test_however_the_two_sides_are_cut(
    match: Match, expected: list[bytes], actual: list[bytes], data: st.DataObject
) -> None:
    """As they come from row groups and files: empty parts and parts of one record too."""
    most = data.draw(st.just(sys.maxsize) | st.integers(0, 3))
    comparison = reconcile.Comparison(iter(cut(expected, data)), match, most)
    for part in cut(actual, data):
        comparison.add(part)
    counts, samples = comparison.outcome()
    whole = differences(expected, actual, match)
    assert counts == {kind: sum(each[0] == kind for each in whole) for kind in KINDS}
    assert samples == [each for kind in KINDS for each in [one for one in whole if one[0] == kind][:most]]
    assert comparison.compared == max(len(expected), len(actual))


def test_what_is_where_it_is_expected_is_not_held() -> None:
    """Of each side one part at a time, however many there are; changed records make no difference to that."""
    taken = 0

    def expected() -> Iterator[pa.Array]:
        nonlocal taken
        for number in range(50):
            taken = number + 1
            yield pa.array([b"%04dx" % (number * 10 + at) for at in range(10)], pa.binary())

    comparison = reconcile.Comparison(expected(), Match(slice(0, 4)), 5)
    for number in range(50):
        comparison.add(pa.array([b"%04dy" % (number * 10 + at) for at in range(10)], pa.binary()))
        assert (taken, comparison.compared) == (number + 1, 10 * number + 10)
    counts, samples = comparison.outcome()
    assert (counts["changed"], [each[1] for each in samples]) == (500, [1, 2, 3, 4, 5])


def test_thousands_as_a_slow_comparison() -> None:
    expected = [b"%016d%061d" % (number // 3, number) for number in range(6000)]
    moved = list(expected)
    for place in range(0, 5900, 700):
        moved[place], moved[place + 7] = moved[place + 7], moved[place]
    actual = [record for number, record in enumerate(moved) if number % 500 != 250]
    actual[20:20] = actual[10:20]
    match = Match(slice(0, 16), slice(0, 15))
    assert kinds(expected, actual, match) == slowly(expected, actual, match)
    assert {kind for kind, _ in kinds(expected, actual, match)} == {"missing", "extra", "changed", "order"}
