"""Comparing two columns of records, against a slow obvious comparison."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tdqsim.pipeline.stages.reconcile import Match, compare

KEYED = Match(key=slice(0, 2))


def differences(expected: list[bytes], actual: list[bytes], match: Match) -> list[tuple[object, ...]]:
    return list(compare(pa.array(expected, pa.binary()), pa.array(actual, pa.binary()), match))


def kinds(expected: list[bytes], actual: list[bytes], match: Match) -> list[tuple[str, int]]:
    return [(each[0], each[1]) for each in differences(expected, actual, match)]


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


records = st.lists(st.tuples(st.sampled_from([b"A1", b"A2", b"B1"]), st.sampled_from([b"", b"x", b"yy"])), max_size=8)


@given(records, records)
def test_as_a_slow_comparison_counts(left: list[tuple[bytes, bytes]], right: list[tuple[bytes, bytes]]) -> None:
    expected, actual = [k + v for k, v in left], [k + v for k, v in right]
    found = Counter(each[0] for each in differences(expected, actual, KEYED))
    keys = {key for key, _ in (*left, *right)}
    missing = extra = changed = 0
    for key in keys:
        mine = [value for each, value in left if each == key]
        theirs = [value for each, value in right if each == key]
        missing += max(0, len(mine) - len(theirs))
        extra += max(0, len(theirs) - len(mine))
        changed += sum(a != b for a, b in zip(mine, theirs, strict=False))
    if expected == actual:
        assert not found
    assert found == Counter({"missing": missing, "extra": extra, "changed": changed}) - Counter()
