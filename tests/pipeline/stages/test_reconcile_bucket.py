"""A bucket's task: both sides read region by region, all differences counted, so many written."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tdqsim.errors import DatasetError
from tdqsim.pipeline.stages import EVENTS, TABLES, LocalRunner, Match, Receipt, parquet_pieces, reconcile, spread_events
from tests.pipeline.stages.helpers import compare

KEYED = {"Q": Match(slice(0, 2))}
Rows = list[tuple[str, str, bytes | None]]
"""Region, queue, record."""


def table(rows: Rows, schema: pa.Schema, **more: Any) -> pa.Table:
    columns = {
        "region": [row[0] for row in rows], "queue": [row[1] for row in rows], "data": [row[2] for row in rows],
        "seq": list(range(len(rows))), "recno": list(range(len(rows))), "command": ["EXPECT"] * len(rows),
        "kind": ["DD"] * len(rows),
    } | more  # fmt: skip
    return pa.table([pa.array(columns.get(each.name, [None] * len(rows)), each.type) for each in schema], schema=schema)


def reconciled(
    run: Path, expected: Rows, actual: Rows, matches: dict[str, Match], *, samples: int = 100, group: int = 3,
    pieces: int = 1, **more: Any,
) -> tuple[Receipt, list[dict[str, Any]]]:  # fmt: skip
    """All regions in one bucket; what is expected in so many pieces that interleave, what came out in small groups."""
    run = Path(mkdtemp(dir=run))
    whole = table(expected, EVENTS, **more)
    for number in range(pieces):
        part = whole.take(pa.array(range(number, whole.num_rows, pieces), pa.int64()))
        pq.write_table(part, run / f"expected.{number}.parquet")
    files = sorted(run.glob("expected.*.parquet"))
    plan = {region: 0 for region, *_ in (*expected, *actual)}
    LocalRunner().execute(spread_events(run, parquet_pieces(files), "base", 1, "expected", plan))
    pq.write_table(table(actual, TABLES["records"]), run / "records.parquet", row_group_size=group)
    laid = tuple(sorted((run / "expected" / "00000").glob("[0-9]*.arrow")))
    receipt = reconcile.reconcile_bucket(
        reconcile.ReconcileTask(run, 0, "inputs", 1, laid, run / "records.parquet", matches, samples)
    )
    return receipt, pq.read_table(run / receipt.files[0], partitioning=None).to_pylist()


def told(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(row["region"], row["queue"], row["kind"], row["position"]) for row in rows]


@pytest.mark.parametrize("pieces", [1, 2])
@pytest.mark.parametrize("group", [1, 3, 100])
def test_regions_and_queues_are_compared_each_with_its_own(tmp_path: Path, group: int, pieces: int) -> None:
    expected: Rows = [
        ("R1", "Q", b"A1x"), ("R1", "Q", b"B1x"), ("R1", "P", b"1"), ("R1", "Q", b"C1x"), ("R1", "P", b"2"),
        ("R2", "Q", b"A1x"), ("R2", "Q", b"A1x"), ("R2", "other", b"z"), ("R4", "Q", b"A1x"), ("R4", "Q", b"A2x"),
    ]  # fmt: skip
    actual: Rows = [
        ("R0", "Q", b"A1x"), ("R1", "P", b"1"), ("R1", "Q", b"A1x"), ("R1", "P", b"3"), ("R1", "Q", b"B1?"),
        ("R1", "Q", b"C1x"), ("R2", "Q", b"A1x"), ("R3", "Q", b"A1x"), ("R3", "more", b"z"),
    ]  # fmt: skip
    receipt, rows = reconciled(tmp_path, expected, actual, KEYED | {"P": Match()}, group=group, pieces=pieces)
    assert told(rows) == [
        ("R0", "Q", "extra", 1), ("R1", "P", "changed", 2), ("R1", "Q", "changed", 2), ("R2", "Q", "missing", 2),
        ("R3", "Q", "extra", 1), ("R4", "Q", "missing", 1), ("R4", "Q", "missing", 2),
    ]  # fmt: skip
    assert receipt.details == {
        "compared": 3 + 2 + 2 + 1 + 1 + 2,
        "differences": {"P changed": 1, "Q changed": 1, "Q extra": 2, "Q missing": 3},
    }
    assert receipt.rows == len(rows)


def test_the_same_key_in_another_region_is_no_partner(tmp_path: Path) -> None:
    _, rows = reconciled(tmp_path, [("R1", "Q", b"A1x")], [("R2", "Q", b"A1x")], KEYED)
    assert told(rows) == [("R1", "Q", "missing", 1), ("R2", "Q", "extra", 1)]


def test_what_agrees_is_no_difference_even_in_another_order(tmp_path: Path) -> None:
    expected: Rows = [(region, "Q", b"%02dx" % number) for region in ("R1", "R2") for number in range(20)]
    receipt, rows = reconciled(tmp_path, expected, expected, KEYED)
    assert rows == []
    assert receipt.details == {"compared": 40, "differences": {}}
    other: Rows = [*reversed(expected[:20]), *expected[20:]]
    assert reconciled(tmp_path, expected, other, KEYED)[1] == []
    ordered = {"Q": Match(slice(0, 2), slice(0, 1))}
    assert reconciled(tmp_path, expected, other, ordered)[0].details["differences"] == {"Q order": 18}


def test_all_differences_are_counted_and_so_many_written(tmp_path: Path) -> None:
    expected: Rows = [("R1", "Q", b"%02dx" % number) for number in range(40)]
    actual: Rows = [("R1", "Q", b"%02dy" % number) for number in range(20, 60)]
    receipt, rows = reconciled(tmp_path, expected, actual, KEYED, samples=2)
    assert receipt.details["differences"] == {"Q changed": 20, "Q extra": 20, "Q missing": 20}
    assert told(rows) == [
        ("R1", "Q", "missing", 1), ("R1", "Q", "missing", 2), ("R1", "Q", "extra", 21), ("R1", "Q", "extra", 22),
        ("R1", "Q", "changed", 21), ("R1", "Q", "changed", 22),
    ]  # fmt: skip
    assert rows[-1]["key"] == b"21"
    assert (rows[-1]["field"], rows[-1]["expected"], rows[-1]["actual"]) == ("from byte 2", "X'323178'", "X'323179'")


def test_records_without_data_and_events_of_other_commands(tmp_path: Path) -> None:
    expected: Rows = [("R1", "Q", None), ("R1", "Q", b"B1"), ("R1", "Q", b"C1")]
    actual: Rows = [("R1", "Q", b""), ("R1", "Q", b"C1")]
    commands = ["EXPECT", "WRITEQ TD", "EXPECT"]
    assert reconciled(tmp_path, expected, actual, KEYED, command=commands)[1] == []
    nobody = [("R1", "Q", b"A1")]
    assert reconciled(tmp_path, nobody, [], KEYED, queue=[None])[0].details == {"compared": 0, "differences": {}}


def test_nothing_on_either_side(tmp_path: Path) -> None:
    receipt, rows = reconciled(tmp_path, [("R1", "other", b"A1x")], [], KEYED)
    assert (rows, receipt.details["compared"]) == ([], 0)


def test_a_table_of_records_that_cannot_be_right(tmp_path: Path) -> None:
    row = ("R1", "Q", b"A1x")
    with pytest.raises(DatasetError, match=r"records\.parquet: the records of region R1 are in two places; run tdq"):
        reconciled(tmp_path, [row], [row, ("R2", "Q", b"A1x"), row], KEYED)
    (tmp_path / "records.parquet").write_bytes(b"no table")
    task = reconcile.ReconcileTask(tmp_path, 0, "inputs", 1, (), tmp_path / "records.parquet", KEYED)
    with pytest.raises(DatasetError, match=r"records\.parquet: this table of records cannot be read"):
        reconcile.reconcile_bucket(task)


COPYBOOK = """
       01 R.
          05 ID PIC X(2).
          05 AMOUNT PIC 9(3).
          05 STAMP PIC X(2).
          05 NUMBERS REDEFINES STAMP PIC 9(2).
          05 EACH OCCURS 2 PIC X.
"""

fields = st.tuples(
    st.sampled_from(["A1", "A2", "B1"]), st.sampled_from(["100", "102", "109", "1?0"]), st.sampled_from(["S1", "02"]),
    st.sampled_from(["", "X", "XY", "XZ"]),
).map(lambda each: "".join(each).encode("cp037"))  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(st.lists(fields, max_size=8), st.lists(fields, max_size=8))
@pytest.mark.parametrize("masks", [(), ("STAMP",), ("STAMP", "NUMBERS")])
def test_fields_are_counted_as_they_are_named(
    tmp_path: Path, masks: tuple[str, ...], expected: list[bytes], actual: list[bytes]
) -> None:
    match = Match(slice(0, 2), copybook=COPYBOOK, masks=masks, tolerances={"AMOUNT": Decimal(2)})
    left: Rows = [("R1", "Q", record) for record in [b"\xf0\xf0", *expected]]
    receipt, rows = reconciled(tmp_path, left, [("R1", "Q", record) for record in actual], {"Q": match}, samples=1)
    named = list(compare(pa.array([b"\xf0\xf0", *expected], pa.binary()), pa.array(actual, pa.binary()), match))
    kinds = [each[0] for each in named]
    assert receipt.details["differences"] == {f"Q {kind}": kinds.count(kind) for kind in sorted(set(kinds))}
    assert [(row["kind"], row["position"], row["field"]) for row in rows] == [
        (named[at][0], named[at][1], named[at][3]) for at in sorted(kinds.index(kind) for kind in set(kinds))
    ]
