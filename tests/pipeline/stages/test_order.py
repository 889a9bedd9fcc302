"""Events of a region from several pieces, in order and in bounded memory; and digests of rows however they are cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdqsim.errors import DatasetError
from tdqsim.pipeline import limits
from tdqsim.pipeline.stages import EVENTS, events, tables
from tests.pipeline.stages.helpers import spread, write, write_events


def piece(numbers: list[int]) -> events.Slice:
    rows = [{"region": "A", "seq": number, "command": "READQ TD", "data": b"%d" % number} for number in numbers]
    return events.Slice(pa.Table.from_pylist(rows, schema=EVENTS), 0, len(rows))


@given(st.sets(st.integers(0, 400), min_size=1), st.integers(1, 5), st.randoms(use_true_random=False))
def test_as_sorting_all_of_them_would(numbers: set[int], pieces: int, random: object) -> None:
    parts: list[list[int]] = [[] for _ in range(pieces)]
    for number in sorted(numbers):
        parts[random.randrange(pieces)].append(number)  # type: ignore[attr-defined]
    slices = sorted((piece(part) for part in parts if part), key=lambda each: each.first)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(limits.BOUNDS, "batch_rows", 7)
        batches = list(events.in_order(slices))
    assert [number for batch in batches for number in batch.column("seq").to_pylist()] == sorted(numbers)
    assert max(batch.num_rows for batch in batches) <= 7 + pieces


def test_the_parts_of_a_piece_are_sorted_together_and_put_down_when_they_are_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stored(name: str, *numbers: int) -> list[list[int]]:
        rows = [write("A", number, "Q", bytes(10_000)) for number in numbers]
        spread(tmp_path / name, [write_events(tmp_path / f"{name}.parquet", rows, 1)])
        paths = sorted((tmp_path / name / "exchange").rglob("*.arrow"))
        return [pa.ipc.open_file(path.read_bytes()).read_all().column("seq").to_pylist() for path in paths]

    assert stored("two", 2, 1) == [[1, 2]]
    monkeypatch.setitem(limits.BOUNDS, "split_bytes", 15_000)
    assert stored("six", 6, 5, 4, 3, 2, 1) == [[5, 6], [3, 4], [1, 2]]


def test_short_batches_of_many_pieces_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(limits.BOUNDS, "batch_rows", 80)
    batches = list(events.in_order([piece([2 * at, 2 * at + 1]) for at in range(33)]))
    assert [batch.num_rows for batch in batches] == [10, 10, 10, 10, 10, 10, 6]


def test_a_number_that_is_there_twice_is_named_wherever_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(limits.BOUNDS, "batch_rows", 2)
    for slices in ([piece([1, 2, 3, 3])], [piece([1, 4]), piece([2, 4])], [piece([1, 2]), piece([2, 3])]):
        with pytest.raises(DatasetError, match="region A: two events have the number"):
            list(events.in_order(slices))


class Counted(events.Slice):
    """A slice that counts how often its numbers were looked at, and those of the slices that were cut from it."""

    looks = 0

    @property
    def numbers(self) -> Any:
        Counted.looks += 1
        return super().numbers


@pytest.mark.parametrize("how", ["beside each other", "behind each other, in two rows"])
def test_many_pieces_are_each_looked_at_a_few_times(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever they end: a look at all that are left at the end of each one would be thousands."""
    pieces, each = 100, 40
    if how == "beside each other":
        parts = [list(range(at, pieces * each, pieces)) for at in range(pieces)]
    else:
        parts = [list(range(at // 2 * each * 2 + at % 2, (at // 2 + 1) * each * 2, 2)) for at in range(pieces)]
    monkeypatch.setitem(limits.BOUNDS, "batch_rows", 2000)
    monkeypatch.setattr(Counted, "looks", 0)
    slices = [Counted(found.table, found.start, found.stop) for found in map(piece, parts)]
    numbers = [number for batch in events.in_order(slices) for number in batch.column("seq").to_pylist()]
    assert numbers == list(range(pieces * each))
    assert Counted.looks <= 5 * pieces


def test_long_records_are_taken_a_few_at_a_time() -> None:
    rows = [{"region": "A", "seq": n, "command": "WRITEQ TD", "data": bytes(1 << 20)} for n in range(40)]
    assert events.rows_at_once(pa.Table.from_pylist(rows, schema=EVENTS)) in range(20, 33)


def resident(path: Path) -> int:
    """Bytes of a mapped file that are memory of this process."""
    sizes, inside = 0, False
    for line in Path("/proc/self/smaps").read_text("ascii", "replace").splitlines():
        name, _, rest = line.partition(" ")
        inside = rest.endswith(str(path)) if "-" in name else inside
        if inside and name == "Rss:":
            sizes += int(rest.split()[0]) * 1024
    return sizes


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="nothing tells which pages are held")
def test_of_a_file_that_is_read_a_part_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though all of what was read first is there when it is wanted again."""
    monkeypatch.setitem(limits.BOUNDS, "mapped_bytes", 1 << 20)
    rows = [{"region": "A", "seq": n, "command": "WRITEQ TD", "data": b"%08d" % n * 2048} for n in range(2000)]
    path = tmp_path / "00000.000.arrow"
    table = pa.Table.from_pylist(rows, schema=EVENTS)
    with pa.ipc.new_file(path, EVENTS) as writer:
        writer.write_table(table)
    (each,) = events.open_pieces([path])["A"]
    held, seen = [], []
    for batch in each.batches(50):
        assert batch.column("data")[0].as_py()[:8] == b"%08d" % batch.column("seq")[0].as_py()
        seen += [data.as_py()[-8:] for data in batch.column("data")]
        held.append(resident(path))
    assert seen == [b"%08d" % n for n in range(2000)]
    assert 0 < max(held) < path.stat().st_size // 2
    assert each.table.column("data")[0].as_py() == b"%08d" % 0 * 2048


values = st.lists(
    st.tuples(st.none() | st.integers(-5, 5), st.none() | st.binary(max_size=3), st.none() | st.booleans())
)


@given(values, st.integers(1, 7))
def test_a_digest_does_not_see_how_rows_were_cut(rows: list[tuple[object, ...]], size: int) -> None:
    schema = pa.schema([("n", pa.int64()), ("b", pa.binary()), ("t", pa.bool_())])
    table = pa.table(
        [pa.array([row[at] for row in rows], field.type) for at, field in enumerate(schema)], schema=schema
    )
    whole, cut = tables.RowsDigest(), tables.RowsDigest()
    for batch in table.combine_chunks().to_batches():
        whole.update("t", batch)
    for batch in table.to_batches(max_chunksize=size):
        cut.update("t", batch)
    assert whole.hexdigest() == cut.hexdigest()


@pytest.mark.parametrize(
    ("one", "other"), [([b"ab", b"c"], [b"a", b"bc"]), ([b"", None], [None, b""]), ([None], []), ([b"a"], [b"a", None])]
)
def test_a_digest_sees_where_records_end_and_which_are_there(one: list[object], other: list[object]) -> None:
    found = []
    for rows in (one, other):
        digest = tables.RowsDigest()
        digest.update("t", pa.record_batch([pa.array(rows, pa.binary())], ["b"]))
        found.append(digest.hexdigest())
    assert found[0] != found[1]


def test_a_digest_sees_every_column() -> None:
    found = set()
    for last in (b"x", b"y"):
        digest = tables.RowsDigest()
        digest.update("t", pa.record_batch([pa.array([1]), pa.array([last])], ["n", "b"]))
        found.add(digest.hexdigest())
    assert len(found) == 2


def test_no_file_of_an_earlier_run_is_taken_for_one_of_this(tmp_path: Path) -> None:
    from tests.pipeline.stages.helpers import spread, write, write_events

    many = write_events(tmp_path / "many.parquet", [write(f"R{n}", n, "Q", b"x") for n in range(50)], group=5)
    few = write_events(tmp_path / "few.parquet", [write("R1", 1, "Q", b"x")])
    spread(tmp_path / "run", [many], 8, most_rows=1)
    assert len(list((tmp_path / "run/exchange").rglob("*.arrow"))) > 8
    spread(tmp_path / "run", [few], 8, base="other")
    assert len(list((tmp_path / "run/exchange").rglob("*.arrow"))) == 1
