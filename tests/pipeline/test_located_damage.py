"""Damage is located, and a message proposes only a format whose records fit the copybook at least as well."""

from __future__ import annotations

import gzip
import tracemalloc

import pytest

pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")

from tdqsim.datasets import Dcb, RecordFormat, damaged_blocks, detect
from tdqsim.errors import DatasetError
from tdqsim.pipeline.file_format import inspect_file
from tdqsim.pipeline.options import read_options
from tdqsim.pipeline.source import ReadPlan

COPYBOOK = "01 R. 05 N PIC 9(6). 05 T PIC X(2)."


def blocks(count=60, *, bad=31):
    """VB blocks of ten records of 12 bytes with their words, one of them with a wrong sixth record descriptor word."""
    made = []
    for number in range(1, count + 1):
        records = [b"\x00\x0c\x00\x00" + f"{number * 100 + at:06d}AB".encode("cp037") for at in range(10)]
        if number == bad:
            records[5] = b"\x00\xc8" + records[5][2:]
        body = b"".join(records)
        made.append((len(body) + 4).to_bytes(2, "big") + b"\0\0" + body)
    return b"".join(made)


def rows(path, *, cobrix=False, **given):
    plan = ReadPlan.of(read_options({"path": str(path), "copybook_contents": COPYBOOK, **given}, cobrix=cobrix))
    return [row for part in plan.splits() for batch in plan.read(part) for row in batch.to_pylist()]


@pytest.fixture
def damaged(tmp_path):
    path = tmp_path / "vb"
    path.write_bytes(blocks())
    return path


WORDS = (
    "VB, block 31 at offset 3720 is damaged: its record descriptor word 6 says 200, and 60 bytes are left; the other 59 "
    "blocks are whole"
)


@pytest.mark.parametrize("form", ["VB", "V"])
def test_a_damaged_block_is_named_and_no_other_format_is_proposed(damaged, form):
    with pytest.raises(DatasetError) as refused:
        rows(damaged, record_format=form)
    assert WORDS in str(refused.value)
    assert "record_format" not in str(refused.value).partition("VB, block 31")[2]


def test_a_damaged_block_is_named_under_cobol_too(damaged):
    words = {"is_bdw_big_endian": "true", "is_rdw_big_endian": "true", "is_rdw_part_of_record_length": "true"}
    with pytest.raises(DatasetError) as refused:
        rows(damaged, cobrix=True, record_format="VB", bdw_adjustment="-4", **words)
    assert str(refused.value).endswith(WORDS)


def test_a_damaged_block_after_bytes_that_are_skipped_has_its_offset_in_the_file(tmp_path):
    path = tmp_path / "vb"
    path.write_bytes(b"HDR!" + blocks())
    with pytest.raises(DatasetError, match="block 31 at offset 3724 is damaged"):
        rows(path, record_format="VB", file_start_offset="4")


@pytest.mark.parametrize("form", ["VB", "VBS"])
def test_damage_far_from_the_beginning_is_located(tmp_path, form):
    path = tmp_path / "vb"
    path.write_bytes(blocks(5000, bad=4000))
    with pytest.raises(
        DatasetError, match="; VB, block 4000 at offset 495876 is damaged: its record descriptor word 6 "
    ):
        rows(path, record_format=form)
    (file,) = inspect_file(str(path))
    assert file.candidates[0].format.reason.startswith("VB, block 4000 at offset 495876 is damaged")


def test_only_what_was_examined_is_said_to_be_whole(tmp_path):
    path = tmp_path / "vb"
    data = bytearray(blocks(5000))
    data[3999 * 124 + 64 : 3999 * 124 + 66] = b"\x00\xc8"
    path.write_bytes(data)
    with pytest.raises(
        DatasetError, match=r"block 31 .*; the other 1086 blocks are whole \(in the first 134856 bytes\)"
    ):
        rows(path, record_format="VB")


@pytest.mark.parametrize(("count", "word", "said"), [
    (60, b"\x01\x00\x00\x00", "its record descriptor word 12 says 124, and 8 bytes are left"),
    (5000, b"\x01\x00\x00\x00", "its record descriptor word 12 says 124, and 8 bytes are left"),
    (60, b"\x00\x00\x00\x00", "X'00000000' is no block descriptor word"),
    (60, b"\xff\xff\xff\xff", "X'FFFFFFFF' is no block descriptor word"),
])  # fmt: skip
def test_a_damaged_block_descriptor_word_is_located(tmp_path, count, word, said):
    path = tmp_path / "vb"
    data = bytearray(blocks(count, bad=0))
    data[(count - 30) * 124 : (count - 30) * 124 + 4] = word
    path.write_bytes(data)
    with pytest.raises(DatasetError) as refused:
        rows(path, record_format="VB")
    assert str(refused.value).endswith(
        f"VB, block {count - 29} at offset {(count - 30) * 124} is damaged: {said}; {count - 30} blocks before it are "
        "whole, and those after it are not found"
    )


def spanned(count=60, *, without=31):
    """VBS blocks with one segment each; records have two segments, and one record has no last one."""
    made = []
    for number in range(1, count + 1):
        record = f"{number:06d}AB".encode("cp037")
        for code, part in ((1, record[:4]), (2, record[4:])):
            if (number, code) != (without, 2):
                made.append(b"\x00\x0c\x00\x00\x00\x08" + bytes([code, 0]) + part)
    return b"".join(made)


@pytest.mark.parametrize("form", ["VBS", "VS", "VB", "V"])
def test_a_missing_segment_of_vbs_is_located_and_no_other_format_is_proposed(tmp_path, form):
    path = tmp_path / "vbs"
    path.write_bytes(spanned())
    words = (
        "VBS, block 62 at offset 732 is damaged: a segment is missing before its record descriptor word 1; the other 118 "
        "blocks are whole"
    )
    with pytest.raises(DatasetError) as refused:
        rows(path, record_format=form)
    assert str(refused.value).endswith(words)
    assert str(refused.value).count("VBS, block 62") == 1
    assert "set record_format" not in str(refused.value)
    assert (detect(path).dcb.text, detect(path).certain) == ("RECFM=VBS,LRECL=X", False)
    (file,) = inspect_file(str(path))
    assert [(each.format.name, each.format.confidence) for each in file.candidates] == [("VBS", "likely")]
    path.write_bytes(spanned(without=0))
    assert len(rows(path, record_format="VBS")) == 60


def test_detection_and_the_look_say_vb_and_not_certain(damaged, tmp_path):
    found = detect(damaged)
    assert (found.dcb.text, found.certain, found.reasons) == ("RECFM=VB", False, (WORDS,))
    (tmp_path / "c.cpy").write_text(COPYBOOK)
    for copybook in ("", str(tmp_path / "c.cpy")):
        (file,) = inspect_file(str(damaged), copybook)
        assert [each.format.name for each in file.candidates] == ["VB"]
        assert (file.candidates[0].format.confidence, file.candidates[0].format.reason) == ("likely", WORDS)


def test_damage_beyond_64_mb_is_located_and_few_bytes_are_held():
    record = b"\x7f\xf4\x00\x00" + bytes(32752)
    large = b"\x7f\xf8\x00\x00" + record
    damaged = b"\x7f\xf8\x00\x00" + b"\x00\x05" + record[2:]

    def pieces():
        for number in range(100):
            piece = large * 32 if number != 80 else large * 3 + damaged + large * 28
            yield piece

    tracemalloc.start()
    try:
        found = damaged_blocks(pieces())
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.text() == (
        "VB, block 2564 at offset 83963880 is damaged: X'00000000' is no record descriptor word (its number 2); the "
        "other 3199 blocks are whole"
    )
    assert most < 6 << 20


def test_damage_in_the_middle_of_a_read_is_looked_for_as_far_as_it_is(tmp_path):
    path, record = tmp_path / "vb", b"\x7f\xf4\x00\x00" + bytes(32752)
    block = b"\x7f\xf8\x00\x00" + record
    with path.open("wb") as file:
        for _ in range(70):
            file.write(block * 32)
        file.write(block[:4] + b"\x00\x05" + record[2:] + block * 32)
    with pytest.raises(DatasetError) as refused:
        rows(path, record_format="VB", input_split_size_mb="100")
    assert str(refused.value).endswith(
        "; VB, block 2241 at offset 73382400 is damaged: X'00000000' is no record descriptor word (its number 2); the "
        "other 2243 blocks are whole (in the first 73513481 bytes)"
    )


def test_whole_blocks_and_mostly_wrong_ones_are_not_damaged():
    assert damaged_blocks([blocks(bad=0)]) is None
    assert damaged_blocks([blocks(count=2, bad=1)]) is None
    assert damaged_blocks([b"not blocks at all"]) is None


def test_records_without_blocks_are_not_followed_to_the_end_of_the_file():
    pieces = iter([b"\x00\x05\x00\x00\xc1" * 200] * 3)
    assert damaged_blocks(pieces) is None
    assert len(list(pieces)) == 2


def test_a_look_is_not_certain_against_the_copybook(tmp_path):
    (tmp_path / "c.cpy").write_text("01 R. 05 A PIC X(2). 05 N PIC S9(5) COMP-3. 05 M PIC 9(3).")
    path = tmp_path / "v"
    path.write_bytes(b"".join(b"\x00\x0c\x00\x00" + "ABCDEFGH".encode("cp037") for _ in range(20)))
    (file,) = inspect_file(str(path))
    assert file.candidates[0].format.confidence == "certain"
    (file,) = inspect_file(str(path), str(tmp_path / "c.cpy"))
    assert {each.format.confidence for each in file.candidates} == {"possible"}
    assert all(each.misfit for each in file.candidates)


def test_a_look_leaves_multiples_of_a_record_length_out(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"".join(f"{number:06d}ABCDE   ".encode("cp037") for number in range(50)))
    (file,) = inspect_file(str(path))
    lengths = [int(each.format.qsam["record_length"]) for each in file.candidates]
    assert lengths[0] == 14
    assert not [(one, other) for one in lengths for other in lengths if one < other and other % one == 0]


@pytest.mark.parametrize("left", [1, 4, 5, 20, 43])
def test_blocks_that_were_cut_off_are_known_as_blocks(tmp_path, left):
    path = tmp_path / "vb"
    whole = b"".join(b"\x00\x0c\x00\x00" + f"{n:06d}AB".encode("cp037") for n in range(4))
    path.write_bytes((b"\x00\x34\x00\x00" + whole) * 3 + (b"\x00\x34\x00\x00" + whole)[:left])
    best = inspect_file(str(path))[0].candidates[0]
    assert (best.format.name, best.format.confidence) == ("VB", "likely")
    assert best.format.reason == (
        "descriptor words lead through 12 records to offset 156, where the file is cut off: "
        f"{left} bytes are left of the last block"
    )
    found = detect(path)
    assert (found.dcb, found.certain) == (Dcb(RecordFormat.VB), False)


def test_a_copybook_that_is_too_short_is_told_by_its_field_and_length(tmp_path):
    (tmp_path / "c.cpy").write_text("01 R. 05 ID PIC 9(6). 05 TEXT PIC X(10). 05 AMT PIC 9(6). 05 NAME PIC X(8).")
    path = tmp_path / "f"
    lines = (f"{n:06d}ITEM {n * 7919 % 1000:<5}XY{n * 31 % 9999:06d}{'N' * (n % 8):<8}" for n in range(1, 62))
    path.write_bytes("".join(lines).encode("cp037"))
    best = inspect_file(str(path), str(tmp_path / "c.cpy"))[0].candidates[0]
    assert (best.format.name, best.format.confidence) == ("F or FB, 32 bytes a record", "possible")
    assert best.misfit == (
        "field AMT at offset 16 is corrupt in 61 of 61 records, such as X'E7E8F0F0F0F0'; the fields before it fit; 61 of "
        "61 records have another length than the copybook's 30 bytes"
    )


def test_a_look_counts_lines_as_they_are(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(b"AAAA1\nBBBB2\nCCCC3\n")
    (file,) = inspect_file(str(path))
    assert file.candidates[0].format.reason.startswith("3 lines that end with X'0A'")


def test_a_look_shows_the_line_end_of_lines_that_no_format_reads(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(b"".join(b"AAAA%03d\r" % number for number in range(40)))
    (file,) = inspect_file(str(path))
    (found,) = (each for each in file.candidates[0].findings if each.what == "line end")
    assert found.value == "X'0D' (CR)"


def test_a_compressed_file_is_known_by_its_first_bytes(tmp_path):
    path = tmp_path / "packed"
    path.write_bytes(gzip.compress(b"000001AB" * 3))
    assert rows(path, encoding="ascii") == [{"N": 1, "T": "AB"}] * 3
    (file,) = inspect_file(str(path))
    assert file.compressed == "gzip"
    path.write_bytes(b"PK\x03\x04" + bytes(28))
    with pytest.raises(DatasetError, match="this is a zip archive, by its first bytes; unpack it first"):
        rows(path)


@pytest.mark.parametrize("ending", ["gz", "bz2", "zst"])
def test_a_compressed_file_that_was_cut_to_nothing_is_refused(tmp_path, ending):
    path = tmp_path / f"data.{ending}"
    path.write_bytes(b"")
    with pytest.raises(DatasetError, match=rf"data\.{ending}: cannot be read: it has no bytes, and was cut: even"):
        rows(path, encoding="ascii")
    with pytest.raises(DatasetError, match=rf"data\.{ending}: cannot be read: it has no bytes"):
        inspect_file(str(path))


def test_a_byte_order_mark_is_no_part_of_the_first_record(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(b"\xef\xbb\xbf000001AB\n000002CD\n")
    found = inspect_file(str(path))[0].candidates[0]
    assert (found.format.name, found.format.reason) == (
        "text, lines end with LF", "2 lines that end with X'0A'; the longest has 8 bytes"
    )  # fmt: skip
    assert [row["record"] for row in found.rows] == ["000001AB", "000002CD"]
    assert found.findings[-1].what == "byte order mark"
    assert rows(path, record_format="D") == [{"N": 1, "T": "AB"}, {"N": 2, "T": "CD"}]


@pytest.mark.parametrize(("form", "words"), [
    ("utf-16", "text in UTF-16, by its byte order mark"),
    ("utf-16-le", "text in UTF-16, by the zero in every second byte"),
    ("utf-16-be", "text in UTF-16, by the zero in every second byte"),
])  # fmt: skip
def test_text_in_utf_16_is_refused(tmp_path, form, words):
    path = tmp_path / "t"
    path.write_bytes("000001AB\n000002CD\n".encode(form))
    with pytest.raises(DatasetError, match=words):
        rows(path, record_format="D")
    with pytest.raises(DatasetError, match=words):
        inspect_file(str(path))


@pytest.mark.parametrize("end", [b"\r", b"\x25", b"\r\x25", b"\xc2\x85"])
def test_records_with_line_ends_that_no_format_reads_are_read_with_their_length(tmp_path, end):
    (tmp_path / "c.cpy").write_text("       01  R. 05 N PIC 9(6). 05 T PIC X(2).\n")
    path = tmp_path / "t"
    path.write_bytes(b"".join(f"{number:06d}AB".encode("cp037") + end for number in range(1, 6)))
    best = inspect_file(str(path), str(tmp_path / "c.cpy"))[0].candidates[0]
    assert (best.format.name, best.misfit) == (f"F or FB, {8 + len(end)} bytes a record", "")
    with pytest.raises(DatasetError, match=rf"with record_length={8 + len(end)}") as refused:
        rows(path, record_format="F")
    assert f"a line end X'{end.hex().upper()}' " in str(refused.value)
    assert rows(path, record_format="F", record_length=str(8 + len(end))) == [
        {"N": number, "T": "AB"} for number in range(1, 6)
    ]


@pytest.mark.parametrize(("end", "given", "words"), [
    (b"\r", {}, r"in 27 bytes, and a record has 8; there is X'0D' \(CR\) 3 times; read .* record_format=F, record_length=9"),
    (b"\x15", {}, r"X'15' \(NL\) 3 times; set line_separator=nl"),
    (b"\x25", {"line_separator": "nl"}, r"there is no line end X'15' .* X'25' \(LF of EBCDIC\) 3 times"),
    (b"", {}, "read records of one length with record_format=F, record_length=8"),
])  # fmt: skip
def test_text_without_a_line_end_that_fits_is_refused(tmp_path, end, given, words):
    path = tmp_path / "t"
    page = "cp037" if given else "ascii"
    path.write_bytes(b"".join(f"00000{number}AB".encode(page) + end for number in (1, 2, 3)))
    with pytest.raises(DatasetError, match=words):
        rows(path, record_format="D", **given)


def test_cobol_cuts_text_without_a_line_end_as_cobrix_does(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(b"000001AB" * 3)
    assert rows(path, cobrix=True, record_format="D") == [{"N": 1, "T": "AB"}]


def test_lines_are_not_read_as_records_of_one_length(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(b"".join(b"%06dAB\n" % number for number in range(8)))
    with pytest.raises(
        DatasetError, match=r"a line end X'0A' \(LF\) follows every record of 8 bytes: .*record_format=D"
    ):
        rows(path, record_format="F", encoding="ascii")


def test_a_format_that_decodes_the_copybook_worse_is_not_proposed(tmp_path):
    path = tmp_path / "f"
    # the first two bytes of each record are its length, by chance
    path.write_bytes(b"\x00\x08\x00\x00\xf0\xf0\xc1\xc2" * 20)
    book = "01 R. 05 N PIC 9(8) COMP. 05 M PIC 9(2). 05 T PIC X(2)."
    plan = ReadPlan.of(read_options({"path": str(path), "copybook_contents": book}))
    found = [row for part in plan.splits() for batch in plan.read(part) for row in batch.to_pylist()]
    assert found == [{"N": 524288, "M": 0, "T": "AB"}] * 20


def test_a_record_that_would_have_no_bytes_is_refused_and_record_name_is_named(tmp_path):
    path = tmp_path / "f"
    path.write_bytes("00AB00CD".encode("cp037"))
    book, given = "01 A. 05 X PIC X(4). 01 B. 05 Y PIC X(4).", {"path": str(path), "record_length": "4"}
    with pytest.raises(DatasetError, match=r"record B of the copybook follows A at offset 4, .* with record_name"):
        read_options(given | {"copybook_contents": book})
    plan = ReadPlan.of(read_options(given | {"copybook_contents": book, "record_name": "B"}))
    assert [row for part in plan.splits() for batch in plan.read(part) for row in batch.to_pylist()] == [
        {"Y": "00AB"}, {"Y": "00CD"}
    ]  # fmt: skip
    assert read_options(given | {"copybook_contents": book}, cobrix=True).layout.length == 8
