"""A million files, and one of 50 GB: planned for real, over files that are not there or are empty space."""

from __future__ import annotations

import os
import pickle
import tracemalloc
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")

import pyarrow.compute as pc

from tdqsim.layouts import parse_copybook
from tdqsim.pipeline import splits
from tdqsim.pipeline.data_sets import DecodeTask, grouped, stage_data_set
from tdqsim.pipeline.decoder import RecordDecoder
from tdqsim.pipeline.limits import BOUNDS
from tdqsim.pipeline.options import read_options
from tdqsim.pipeline.source import ReadPlan
from tdqsim.pipeline.stages import Receipt, tree_memory
from tests.pipeline.batches import fixed_batch

COPYBOOK = "01 R. 05 ID PIC 9(5). 05 FILLER PIC X(75)."
FIFTY_GB = 50_000_000_000
BLOCK = 27_998


class Elsewhere:
    """A file that is not there: what stands at each place is computed."""

    def __init__(self) -> None:
        self.reads = self.bytes = 0

    def read_at(self, size: int, offset: int) -> bytes:
        self.reads += 1
        self.bytes += size
        start = offset % BLOCK
        word = BLOCK.to_bytes(2, "big") + b"\x00\x00" + (BLOCK - 4).to_bytes(2, "big") + b"\x00\x00"
        return (word + bytes(BLOCK - 8))[start : start + size] if size <= 8 else bytes(size)

    def close(self) -> None:
        pass


def options(**more: str) -> Any:
    return read_options({"path": "/day", "copybook_contents": COPYBOOK, "record_format": "F", **more})


def many(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(splits, "list_files", lambda _paths: [(f"/day/{n:07d}.ps", 800) for n in range(count)])
    monkeypatch.setattr(splits, "open_file", lambda _path: Elsewhere())


def test_a_file_takes_a_few_hundred_bytes_while_it_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 2_000
    many(monkeypatch, count)
    tracemalloc.start()
    parts = splits.plan(options())
    groups = grouped(parts * 10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [part.file_id for part in parts] == list(range(count))
    assert len(groups) == 10_000
    assert peak / count < 700, "the files' names and sizes, and a part of each"


def test_corrupt_fields_take_what_is_told_of_them() -> None:
    """A file that is read by a wrong copybook: every byte of it is in a corrupt field, and no two of them are alike."""
    fields, rows = 50, 2000
    layout = parse_copybook(f"01 R. 05 A PIC S9(7) COMP-3 OCCURS {fields}.", source_format="free").record()
    data = b"".join((0xA << 28 | number << 4 | 0xC).to_bytes(4, "big") for number in range(fields * rows))
    decoder = RecordDecoder(layout, corrupt=True)
    fixed_batch(decoder, data[: 4 * fields], 4 * fields)  # what is loaded once is loaded
    tracemalloc.start()
    found = fixed_batch(decoder, data, 4 * fields).column("_corrupt_fields")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found.flatten()) == fields * rows
    assert found[7].as_py()[2] == {"field_name": "A(3)", "raw_value": data[1408:1412], "offset": 8}
    assert peak / (fields * rows) < 250, "a name, an offset and the bytes of each, and what they are sorted by"


def test_values_and_not_bytes_make_a_batch_large(tmp_path: Path) -> None:
    """A number in each byte: the memory of a batch is that of its values."""
    path, fields = tmp_path / "digits", 1000
    path.write_bytes(b"\xf7" * fields * 6000)
    reader = ReadPlan.of(read_options({"path": str(path), "copybook_contents": f"01 R. 05 A PIC 9 OCCURS {fields}."}))
    tracemalloc.start()
    total = 0
    for part in splits.plan(reader.options):
        for batch in reader.read(part):
            total += pc.sum(batch.column(0).flatten()).as_py()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 7 * fields * 6000
    assert peak < 150_000_000


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="memory is seen in /proc")
def test_a_million_files(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 1_000_000
    many(monkeypatch, count)
    before = tree_memory.tree_bytes(os.getpid())
    parts = splits.plan(options())
    groups = grouped(parts)
    assert (tree_memory.tree_bytes(os.getpid()) - before) / count < 700
    assert len(parts) == count
    assert len(groups) == 10_000
    assert {len(group) for group in groups} == {count // 10_000}


def test_what_a_job_carries_does_not_grow_with_the_number_of_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # One job of the twenty that read 200,000 files: 500 tasks with twenty files each.
    monkeypatch.setitem(BOUNDS, "decode_tasks", 500)
    many(monkeypatch, 10_000)
    given = options()
    tasks = [
        DecodeTask(tmp_path, at, "", 0, ReadPlan.of(given), each) for at, each in enumerate(grouped(splits.plan(given)))
    ]
    assert [len(task.splits) for task in tasks] == [20] * 500
    assert len(pickle.dumps(tasks)) < 2_000_000
    assert len(pickle.dumps(Receipt("decode", 1, "0" * 32, ("data/00001.parquet",), 100, 8000).as_json())) < 600


def test_50_gb_of_fixed_records_are_cut_by_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    file = Elsewhere()
    monkeypatch.setattr(splits, "list_files", lambda _paths: [("/day/large.ps", FIFTY_GB)])
    monkeypatch.setattr(splits, "open_file", lambda _path: file)
    parts = splits.plan(options(input_split_size_mb="32"))
    assert len(parts) == -(-FIFTY_GB // (32 * 1_048_576 // 80 * 80))
    assert file.bytes <= 1 << 17, "its beginning alone is looked at"
    assert (parts[0].start, parts[-1].end) == (0, FIFTY_GB)
    assert all(one.end == other.start and other.start % 80 == 0 for one, other in pairwise(parts))
    assert [part.first_record for part in parts] == [part.start // 80 for part in parts]


class Blocks(Elsewhere):
    """Blocks of VB records of 80 bytes (the last of a block has 102), whose bytes are computed from where they are."""

    block = BLOCK.to_bytes(2, "big") + bytes(2) + (b"\x00\x54\x00\x00" + b"\xf0" * 80) * 332
    block += b"\x00\x6a\x00\x00" + b"\xf0" * 102

    def read_at(self, size: int, offset: int) -> bytes:
        self.reads += 1
        self.bytes += size
        start = offset % BLOCK
        return (self.block * (2 + size // BLOCK))[start : start + size]


def test_50_gb_of_blocks_are_cut_by_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    file, size = Blocks(), FIFTY_GB // BLOCK * BLOCK
    monkeypatch.setattr(splits, "list_files", lambda _paths: [("/day/large.ps", size)])
    monkeypatch.setattr(splits, "open_file", lambda _path: file)
    given = options(record_format="VB", input_split_size_mb="32", generate_record_id="false")
    parts = splits.plan(given)
    assert file.reads <= 4, "and one request for its size"
    assert file.bytes <= 1 << 19
    assert len(parts) == -(-size // (32 << 20)) == 1491
    ends = 0
    for part in (*parts[:3], parts[700], *parts[-2:]):
        file.reads = 0
        start, end = splits.part_bounds(file, part, given)
        assert file.reads <= 4
        assert start % BLOCK == 0 == end % BLOCK
        assert 0 <= start - part.start < 2 * BLOCK or part is parts[0]
        assert part in (parts[0], parts[700], parts[-2]) or start == ends
        ends = end
    assert ends == size


def test_the_last_part_of_50_gb_is_read_as_any_other(tmp_path: Path) -> None:
    path = tmp_path / "large.ps"
    with path.open("wb") as file:
        try:
            os.truncate(file.fileno(), FIFTY_GB)
        except OSError:
            pytest.skip("no files with holes here")
        file.seek(FIFTY_GB - 80)
        file.write(b"\xf0\xf0\xf0\xf4\xf2" + b"\x40" * 75)
    given = read_options({"path": str(path), "copybook_contents": COPYBOOK, "record_format": "F"})
    parts = splits.plan(given)
    last = [batch.column("ID") for batch in ReadPlan.of(given, ("ID",)).read(parts[-1])]
    assert last[-1][-1].as_py() == 42


def test_a_listing_of_many_files_is_one_row_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    for number in range(300):
        (tmp_path / "in" / f"{number:04d}").write_bytes(f"{number:05d}".encode("cp037"))
    monkeypatch.setitem(BOUNDS, "decode_tasks", 7)
    found = stage_data_set(
        tmp_path / "in", tmp_path / "stage", copybook_contents="01 R. 05 ID PIC 9(5).", record_format="F"
    )
    assert len(found.files) == 7
    read = [row["ID"] for number in range(7) for batch in found.batches(number) for row in batch.to_pylist()]
    assert read == list(range(300))


@pytest.fixture
def few_tasks_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BOUNDS, "job_tasks", 2)


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("few_tasks_a_job")
def test_several_jobs_give_the_same_rows_in_order(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    from tdqsim.pipeline.data_sets import read_data_set

    spark = request.getfixturevalue("spark")
    (tmp_path / "in").mkdir()
    for number in range(5):
        (tmp_path / "in" / f"{number}").write_bytes(f"{number:05d}".encode("cp037"))
    given = {"copybook_contents": "01 R. 05 ID PIC 9(5).", "record_format": "F"}
    lazy = read_data_set(spark, tmp_path / "in", **given)
    staged = read_data_set(spark, tmp_path / "in", stage=tmp_path / "stage", **given)
    assert [row.ID for row in lazy.collect()] == sorted(row.ID for row in staged.collect()) == [0, 1, 2, 3, 4]
