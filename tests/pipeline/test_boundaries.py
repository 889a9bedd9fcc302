# ruff: noqa: E402 - what the extra brings is imported after asking for it
"""Cuts by arithmetic: the first record after any place is found without reading what is before it."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

np = pytest.importorskip("numpy", reason="the extra tdqsim[spark] is not installed")
pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")

from tdqsim.datasets import Dcb, RecordFormat, write_records
from tdqsim.errors import DatasetError
from tdqsim.pipeline import boundaries
from tdqsim.pipeline.boundaries import boundary
from tdqsim.pipeline.descriptor_words import FramingError
from tdqsim.pipeline.options import QsamOptions, read_options
from tdqsim.pipeline.record_locations import walk_for
from tdqsim.pipeline.source import ReadPlan
from tdqsim.pipeline.splits import Split, plan
from tests.pipeline.deceptive import CONTENTS, blocked, damaged, filled, headed, records, spanned

Made = tuple[bytes, set[int]]
MOST = 400
"""Bytes of the longest record of a generated file."""
COPYBOOK = {"copybook_contents": "01 R. 05 A PIC X."}
BIG = {"is_rdw_big_endian": "true"}

FILES: dict[str, tuple[QsamOptions, Callable[[Random, list[bytes]], Made]]] = {
    "V": (read_options({"record_format": "V"}), lambda _, data: headed(data)),
    "V little-endian": (
        read_options({
            "record_format": "RDW", "is_rdw_big_endian": "false", "is_rdw_part_of_record_length": "false"
        }),
        lambda _, data: headed(data, big=False, inclusive=False),
    ),
    "VB": (read_options({"record_format": "VB"}), blocked),
    "VBS": (read_options({"record_format": "VBS"}), spanned),
    "VBS in full blocks": (read_options({"record_format": "VBS"}), lambda rng, data: filled(data, rng.randint(20, 300))),
    "VS": (read_options({"record_format": "VS"}), lambda rng, data: spanned(rng, data, 1)),
    "cobol V": (
        read_options(COPYBOOK | {"record_format": "V"}, cobrix=True),
        lambda _, data: headed([one or b"\x40" for one in data], big=False, inclusive=False),
    ),
    "cobol V big-endian": (
        read_options(COPYBOOK | BIG | {"record_format": "V"}, cobrix=True),
        lambda _, data: headed([one or b"\x40" for one in data], inclusive=False),
    ),
    "cobol VB": (
        read_options(COPYBOOK | {"record_format": "VB", "bdw_adjustment": "0", "is_bdw_big_endian": "false"}, cobrix=True),
        lambda rng, data: blocked(rng, [one or b"\x40" for one in data], big=False, inclusive=False),
    ),
}  # fmt: skip


def reader_of(data: bytes) -> Callable[[int, int], bytes]:
    return lambda size, offset: data[offset : offset + size]


def walked(data: bytes, options: QsamOptions) -> list[bytes] | None:
    """The records of a file by one walk from its start; None if it is refused."""
    try:
        frames = walk_for(options)(np.frombuffer(data, np.uint8), True)
    except FramingError:
        return None
    return [frames.data[at : at + size].tobytes() for at, size in zip(frames.starts, frames.lengths, strict=True)]


def searched(path: Path, size: int, step: int, options: QsamOptions) -> list[bytes] | None:
    """The records of a file whose parts are cut every ``step`` bytes; None if it is refused."""
    found: list[bytes] = []
    reader = ReadPlan.of(replace(options, layout=None, generate_record_bytes=True))
    try:
        for start in range(0, size, step):
            part = Split(0, str(path), start, min(start + step, size), -1 if start else 0, data_end=size, searched=True)
            for batch in reader.read(part):
                found += batch.column("Record_Bytes").to_pylist()
    except DatasetError:
        return None
    return found


def check_search(rng: Random, name: str, kind: str, size: int, searches: int) -> int:
    """Search in a sound file: every place found is a true one. How many searches found none."""
    options, make = FILES[name]
    data, starts = make(rng, records(rng, kind, size, MOST))
    none = 0
    for _ in range(searches):
        cut = rng.randrange(1, len(data)) if rng.random() < 0.7 else len(data) - rng.randrange(min(3000, len(data)))
        place = boundary(reader_of(data), cut, len(data), options)
        none += place is None
        if place is not None:
            assert place in starts, (name, kind, cut, place)
            assert place >= cut
    return none


def check_parts(rng: Random, name: str, kind: str, size: int, path: Path, *, harm: bool) -> int:
    """Read a file in parts: the rows are those of one walk, or the read is refused. How many parts there were."""
    options, make = FILES[name]
    data, _ = make(rng, records(rng, kind, size, MOST))
    data = damaged(rng, data) if harm else data
    path.write_bytes(data)
    step = rng.randint(200, max(len(data) // 5, 201))
    found, expected = searched(path, len(data), step, options), walked(data, options)
    # Damaged words may lead further than the windows of the soak; and words that only cobol accepts are not followed.
    refused = found is None and harm and (options.cobrix or boundaries.LONGEST_RECORD < 0xFFFF)
    assert refused or found == expected, (name, kind, step)
    return -(-len(data) // step)


@pytest.fixture
def short_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows for the records and blocks of generated files, so that a search is fast."""
    monkeypatch.setattr(boundaries, "LONGEST_RECORD", 4096)
    monkeypatch.setattr(boundaries, "LONGEST_BLOCK", 16384)
    monkeypatch.setattr(boundaries, "HORIZON", 1 << 16)


@pytest.mark.parametrize("kind", [*CONTENTS, "mixed"])
@pytest.mark.parametrize("name", FILES)
def test_every_place_found_in_a_sound_file_is_a_true_boundary(name: str, kind: str) -> None:
    none = check_search(Random(f"{name} {kind}"), name, kind, 400_000, 8)
    assert none == 0 or kind not in ("text", "binary", "mixed") or name == "cobol V"


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(list(FILES)), st.sampled_from([*CONTENTS, "mixed"]), st.integers(0), st.booleans())
def test_parts_give_the_rows_of_one_walk_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, name: str, kind: str, seed: int, harm: bool
) -> None:
    check_parts(Random(seed), name, kind, 6000, tmp_path_factory.mktemp("b") / "data", harm=harm)


def planned(path: Path, **more: str) -> tuple[QsamOptions, list[Split]]:
    options = read_options({"path": str(path), "record_format": "V", "input_split_size_mb": "1", **more})
    return options, plan(options)


def rows(path: Path, **more: str) -> list[bytes]:
    options, parts = planned(path, **more)
    reader = ReadPlan.of(options)
    return [one for part in parts for batch in reader.read(part) for one in batch.column("Record_Bytes").to_pylist()]


def places(data: bytes, cuts: list[int], options: QsamOptions) -> list[int | None]:
    return [boundary(reader_of(data), cut, len(data), options) for cut in cuts]


def test_the_place_after_a_cut_by_hand() -> None:
    lines = read_options({"record_format": "D"})
    assert places(b"ab\ncd\n\nef\nlast", [1, 3, 4, 6, 7, 10, 11], lines) == [3, 3, 6, 6, 7, 10, None]
    words = read_options({"record_format": "V"})
    assert places(b"\x00\x04\x00\x00" * 131_000, [8, 9], words) == [65_540, 65_544]  # empty records
    # A record of cobol is not empty: words of zeros, as its data are here, lead nowhere.
    cobol = read_options(COPYBOOK | BIG | {"record_format": "V"}, cobrix=True)
    zeros = (b"\x00\x08\x00\x00" + bytes(8)) * 20_000
    assert places(zeros, [12, 13, 16, 23], cobol) == [65_544, 65_544, 65_544, 65_556]
    blocks = {"record_format": "FB", "record_length": "20", "bdw_adjustment": "-4", "is_bdw_big_endian": "true"}
    fixed = (b"\x00\x2c\x00\x00" + b"\xc1" * 40) * 3_000
    assert places(fixed, [44, 45, 87, 88], read_options(blocks)) == [32_780, 32_780, 32_824, 32_824]
    # a file that has become shorter since it was listed: its end is not the place
    assert boundary(reader_of(b"\x00\x08\x00\x00ABCD" * 100), 1000, 1600, words) is None


@pytest.mark.parametrize("record_format", ["V", "VB", "VS", "D"])
def test_files_are_cut_by_arithmetic_and_give_all_records_once(tmp_path: Path, record_format: str) -> None:
    path = tmp_path / "data"
    wanted = [f"{number:07d}".encode("cp037") * (1 + number % 40) for number in range(60_000)]
    recfm = {"V": RecordFormat.RDW, "D": RecordFormat.LF}.get(record_format) or RecordFormat(record_format)
    write_records(path, wanted, Dcb(recfm, lrecl=0 if recfm is RecordFormat.LF else 4000))
    _, parts = planned(path, record_format=record_format)
    assert len(parts) > 7
    assert [part.start for part in parts] == [number << 20 for number in range(len(parts))]
    assert planned(path, record_format=record_format, input_split_size_mb="0")[1] == parts  # a megabyte is the least
    assert rows(path, record_format=record_format) == wanted


@pytest.mark.parametrize("more", [{}, {"generate_record_id": "true"}, {"input_split_records": "50"}])
def test_a_part_begins_inside_a_spanned_record_of_the_part_before(tmp_path: Path, more: dict[str, str]) -> None:
    """No block begins with a record, and the longest record is longer than a part."""
    path = tmp_path / "data"
    wanted = [bytes([number % 251]) * (70_000 if number != 50 else 3_000_000) for number in range(120)]
    data, blocks = filled(wanted, 1500)
    path.write_bytes(data)
    _, parts = planned(path, record_format="VBS", **more)
    assert len(parts) > 2
    assert blocks >= {part.start for part in parts} or not more
    assert rows(path, record_format="VBS", **more) == wanted
    at = (2 << 20) // 1504 * 1504 + 8  # the code of a middle segment becomes that of a last one
    path.write_bytes(data[: at - 2] + b"\x02" + data[at - 1 :])
    with pytest.raises(DatasetError, match="a segment of a spanned record is missing before this one"):
        rows(path, record_format="VBS", **more)


def test_with_plan_walk_a_file_is_one_part(tmp_path: Path) -> None:
    path = tmp_path / "data"
    wanted = [bytes([number % 251]) * 5000 for number in range(1000)]
    write_records(path, wanted, Dcb(RecordFormat.RDW))
    _, parts = planned(path, plan="walk")
    assert len(parts) == 1
    assert rows(path, plan="walk") == wanted


def test_a_file_of_large_blocks_is_walked_and_cut_at_blocks(tmp_path: Path) -> None:
    path = tmp_path / "data"
    record = (20_004).to_bytes(2, "big") + bytes(2) + b"\xc1" * 20_000
    block = (0x80000000 + 4 + 5 * len(record)).to_bytes(4, "big") + record * 5
    path.write_bytes(block * 40)
    _, parts = planned(path, record_format="VB")
    assert len(parts) > 2
    assert all(part.start % len(block) == 0 for part in parts)
    assert rows(path, record_format="VB") == [b"\xc1" * 20_000] * 200


def test_a_block_has_16_mib_at_most(tmp_path: Path) -> None:
    path = tmp_path / "data"
    record = (16_384).to_bytes(2, "big") + bytes(2) + b"\xc1" * 16_380
    for last, count in ((16_380, 1024), (16_381, None)):
        contents = record * 1023 + last.to_bytes(2, "big") + bytes(2) + b"\xc1" * (last - 4)
        path.write_bytes((0x80000004 + len(contents)).to_bytes(4, "big") + contents)
        if count:
            assert path.stat().st_size == 16 << 20
            assert len(rows(path, record_format="VB")) == count
        else:
            with pytest.raises(DatasetError, match="offset 0"):
                rows(path, record_format="VB")


def test_a_file_whose_chains_do_not_meet_is_walked(tmp_path: Path) -> None:
    """Every record holds a chain of descriptor words that misses the true ones by two bytes."""
    path = tmp_path / "data"
    false = b"\x00\x08\x00\x00\xc1\xc1\xc1\xc1" * 4000 + b"\x00\x0e\x00\x00\xc1\xc1\xc1\xc1"
    data = [b"\x00\x00" + false] * 70
    path.write_bytes(b"".join((len(one) + 4).to_bytes(2, "big") + bytes(2) + one for one in data))
    assert boundary(reader_of(path.read_bytes()), 1_000_000, path.stat().st_size, FILES["V"][0]) is None
    _, parts = planned(path)
    assert [part.first_record for part in parts] == [0, 33, 66]
    assert all(part.start == part.first_record * 32_014 for part in parts)
    assert rows(path) == data


def test_a_cut_without_a_boundary_is_ignored(tmp_path: Path) -> None:
    """The chains around the second cut do not meet: the part before it reads up to the third."""
    path = tmp_path / "data"
    false = b"\x00\x08\x00\x00\xc1\xc1\xc1\xc1" * 4000 + b"\x00\x0e\x00\x00\xc1\xc1\xc1\xc1"
    data = [b"\xc1" * 28] * 40_000 + [b"\x00\x00" + false] * 70 + [b"\xc2" * 28] * 40_000
    path.write_bytes(b"".join((len(one) + 4).to_bytes(2, "big") + bytes(2) + one for one in data))
    assert boundary(reader_of(path.read_bytes()), 2 << 20, path.stat().st_size, FILES["V"][0]) is None
    _, parts = planned(path)
    assert [part.start for part in parts] == [0, 1 << 20, 2 << 20, 3 << 20, 4 << 20]
    assert rows(path) == data


def test_a_part_that_misses_the_next_one_names_the_place_and_the_way_out(tmp_path: Path) -> None:
    """A damaged word leads past the place that a false chain gives."""
    path, damage = tmp_path / "data", (1 << 20) + 320
    good = b"\x00\x20\x00\x00" + b"\xc1" * 28
    false = b"\x00\x10\x00\x00" + b"\xc2" * 12
    path.write_bytes(good * (damage // 32) + b"\xff\xf0\x00\x00" + b"\xc1" * 32 + false * 70_000)
    with pytest.raises(DatasetError) as caught:
        rows(path)
    assert str(caught.value).startswith(
        f"{path}: record {damage // 32 + 1}, at offset {damage}: the records do not lead to offset {damage + 65_204}, "
        "where the descriptor words that follow show that a record begins; "
    )
    assert "option plan=walk reads the file in one pass" in str(caught.value)


@pytest.mark.parametrize("offset", [0, 3])
def test_compressed_files_are_not_read_before_their_task(tmp_path: Path, offset: int) -> None:
    path = tmp_path / "data.gz"
    wanted = [f"{number:05d}".encode("cp037") for number in range(1000)]
    path.write_bytes(gzip.compress(b"H" * offset + b"".join(wanted) + b"T" * offset)[:-8] + b"wrong!!!")
    given = {"record_format": "F", "record_length": "5"}
    given |= {"file_start_offset": str(offset), "file_end_offset": str(offset)} if offset else {}
    _, parts = planned(path, **given)
    assert len(parts) == 1
    with pytest.raises(DatasetError, match=r"data\.gz: cannot be read"):
        rows(path, **given)
    path.write_bytes(gzip.compress(b"H" * offset + b"".join(wanted) + b"T" * offset))
    assert rows(path, **given) == wanted
    path.write_bytes(gzip.compress(b"H" * offset + b"T" * offset))
    assert rows(path, **given) == []


@pytest.mark.slow
@pytest.mark.usefixtures("short_windows")
def test_300_000_searches_give_no_wrong_row(tmp_path: Path) -> None:
    rng, done, turn = Random(7), 0, 0
    while done < 300_000:
        for name in FILES:
            for kind in (*CONTENTS, "mixed"):
                check_search(rng, name, kind, 30_000, 40)
                done += 40 + 2 * check_parts(rng, name, kind, 20_000, tmp_path / "data", harm=bool(turn % 2))
        turn += 1
