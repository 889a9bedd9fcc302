"""Files whose descriptor words show another format than the one they are read in: images written by hand."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("numpy", reason="the extra tdqsim[spark] is not installed")
pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")

from tdqsim.errors import DatasetError
from tdqsim.pipeline.options import read_options
from tdqsim.pipeline.source import ReadPlan
from tdqsim.pipeline.splits import plan

ROWS = [f"{number:041d}".encode("cp037") for number in range(40)]
COPYBOOK = "01 R. 05 F PIC X(41)."
QSAM = {"record_format": "VB"}
COBOL = {
    "record_format": "VB", "is_bdw_big_endian": "true", "bdw_adjustment": "-4", "is_rdw_big_endian": "true",
    "is_rdw_part_of_record_length": "true",
}  # fmt: skip


def word(length, order="big", at=0):
    """A descriptor word with a length in one half."""
    return bytes(at) + length.to_bytes(2, order) + bytes(2 - at)


def vb(rows, each=40):
    blocks = [b"".join(word(len(row) + 4) + row for row in rows[at : at + each]) for at in range(0, len(rows), each)]
    return b"".join(word(len(block) + 4) + block for block in blocks)


def texts(path, cobrix, copybook=COPYBOOK, **given):
    chosen = read_options({"path": str(path), "copybook_contents": copybook} | given, cobrix=cobrix)
    reader = ReadPlan.of(chosen)
    return [row["F"] for split in plan(chosen) for batch in reader.read(split) for row in batch.to_pylist()]


@pytest.mark.parametrize(("cobrix", "right"), [(False, QSAM), (True, COBOL)])
@pytest.mark.parametrize("given", [{}, {"record_format": "F"}, {"record_format": "FB", "block_length": "410"}])
@pytest.mark.parametrize("count", [1, 2, 40])
def test_blocks_of_variable_records_are_not_read_as_fixed_ones(tmp_path, cobrix, right, given, count):
    path = tmp_path / "vb"
    path.write_bytes(vb(ROWS[:count]))  # 40 of them are 1804 bytes, 44 times 41
    with pytest.raises(DatasetError, match=r"block and record descriptor words chain .* RECFM=VB: ") as caught:
        texts(path, cobrix, **given)
    assert all(f"{name}={value}" in str(caught.value) for name, value in right.items())
    assert texts(path, cobrix, **right) == [row.decode("cp037") for row in ROWS[:count]]


def test_blocks_between_bytes_that_are_skipped_are_not_read_as_fixed_records(tmp_path):
    path = tmp_path / "vb"
    path.write_bytes(b"HEAD" + vb(ROWS) + b"TAIL")
    with pytest.raises(DatasetError, match=r"block and record descriptor words chain .* RECFM=VB: "):
        texts(path, cobrix=False, record_format="F", file_start_offset="4", file_end_offset="4")


@pytest.mark.parametrize("mode", ["permissive", "dropmalformed", "failfast"])
def test_blocks_that_are_cut_where_the_size_fits_are_not_read_as_fixed_records(tmp_path, mode):
    path = tmp_path / "vb"
    path.write_bytes(vb(ROWS, 10)[: 41 * 22])  # in the third block
    with pytest.raises(
        DatasetError, match=r"block and record descriptor words chain .* RECFM=VB: set record_format=VB"
    ):
        texts(path, cobrix=False, record_format="F", mode=mode, copybook="01 R. 05 F PIC 9(31). 05 G PIC 9(10).")


def test_only_the_head_of_a_large_file_is_looked_at(tmp_path):
    path = tmp_path / "vb"
    path.write_bytes(vb(ROWS * 100, 7))
    with pytest.raises(DatasetError, match="RECFM=VB"):
        texts(path, cobrix=False, debug_ignore_file_size="false")


FORMS = [
    ("big", 0, 4, {}, {"is_rdw_big_endian": "true", "is_rdw_part_of_record_length": "true"}),
    ("big", 0, 0, {"is_rdw_part_of_record_length": "false"}, {"is_rdw_big_endian": "true"}),
    ("little", 2, 4, {"is_rdw_big_endian": "false"}, {"is_rdw_part_of_record_length": "true"}),
    ("little", 2, 0, {"is_rdw_big_endian": "false", "is_rdw_part_of_record_length": "false"}, {}),
    ("little", 0, 0, None, {}),
]


@pytest.mark.parametrize(("order", "at", "counted", "qsam", "cobol"), FORMS)
def test_records_with_descriptor_words_are_not_read_as_fixed_ones(tmp_path, order, at, counted, qsam, cobol):
    path, rows = tmp_path / "rdw", [ROWS[0][:5], ROWS[1][:15], ROWS[2][:9]]
    path.write_bytes(b"".join(word(len(row) + counted, order, at) + row for row in rows))
    assert path.stat().st_size == 41
    for cobrix, given in ((False, qsam), (True, cobol)):
        with pytest.raises(DatasetError, match=r"record descriptor words chain .* RECFM=RDW") as caught:
            texts(path, cobrix)
        if given is None:
            assert "with format cobol set record_format=V" in str(caught.value)
            continue
        assert all(f"{name}={value}" in str(caught.value) for name, value in given.items())
        assert texts(path, cobrix, record_format="V", **given) == [row.decode("cp037") for row in rows]


def test_fixed_records_that_only_look_so_are_read_when_asked(tmp_path):
    path = tmp_path / "fixed"
    path.write_bytes(vb(ROWS))
    assert len(texts(path, cobrix=False, debug_ignore_file_size="true")) == 44


def test_records_whose_words_are_fields_of_the_copybook_are_fixed(tmp_path):
    path, rows = tmp_path / "fixed", [f"{number:041d}" for number in range(3)]
    path.write_bytes(b"".join(word(45) + row.encode("cp037") for row in rows))
    both = "01 R. 05 W PIC X(4). 05 F PIC X(41)."
    assert texts(path, copybook=both, cobrix=False) == rows
    assert texts(path, copybook=both, cobrix=True) == rows
    path.write_bytes(vb([row.encode("cp037") for row in rows], 1))
    assert texts(path, cobrix=False, record_start_offset="8") == rows


def test_data_that_begins_like_words_and_does_not_chain_is_fixed(tmp_path):
    path = tmp_path / "fixed"
    path.write_bytes(word(45) + word(41) + bytes(41 * 3 - 8))
    assert len(texts(path, cobrix=False)) == 3


def test_an_error_of_words_names_the_options_that_read_them(tmp_path):
    path = tmp_path / "vb"
    path.write_bytes(vb(ROWS))
    with pytest.raises(DatasetError, match="RECFM=VB: set record_format=VB, is_bdw_big_endian=true") as caught:
        texts(path, cobrix=True, record_format="VB")
    assert "or with format qsam record_format=VB" in str(caught.value)
    path.write_bytes(b"".join(word(len(row)) + row for row in ROWS))
    with pytest.raises(DatasetError, match="set record_format=V, is_rdw_part_of_record_length=false"):
        texts(path, cobrix=False, record_format="VB")
    path.write_bytes(vb(ROWS)[:-1])
    with pytest.raises(DatasetError, match="cut") as caught:
        texts(path, cobrix=False, record_format="VB")
    assert "set record_format" not in str(caught.value)


def test_files_of_a_list_are_each_looked_at(tmp_path):
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_bytes(b"".join(ROWS))
    bad.write_bytes(vb(ROWS))
    with pytest.raises(DatasetError, match=r"bad: record 1, at offset 0: .*RECFM=VB"):
        plan(read_options({"paths": json.dumps([str(good), str(bad)]), "copybook_contents": COPYBOOK}))
