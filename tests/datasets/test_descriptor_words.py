"""Which format descriptor words, lines and repeating fields show: every expectation is written out beside its bytes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tdqsim.datasets import (
    DcbError,
    damaged_blocks,
    detect,
    fixed_blocks_in,
    format_by_words,
    formats_in,
)


def word(size: int, code: int = 0) -> bytes:
    return size.to_bytes(2, "big") + bytes([code, 0])


def record(data: bytes, code: int = 0) -> bytes:
    return word(len(data) + 4, code) + data


def block(*records: bytes) -> bytes:
    data = b"".join(records)
    return word(len(data) + 4) + data


GOOD = block(record(b"AB"), record(b"CD"))  # 16 bytes
BAD = word(16) + word(80) + b"ABCD" + bytes(4)  # 16 bytes: a record that is longer than its block
FIRST, LAST = block(record(b"ABC", 1)), block(record(b"DEF", 2))  # the two segments of a record


def found(data: bytes, size: int = 0, **more: object) -> list[tuple[str, str, int, int, int, int, int]]:
    """Format, confidence, length, header, trailer, count and place of damage of each."""
    return [
        (each.recfm.value, each.confidence, each.length, each.header, each.trailer, each.count, each.damaged_at)
        for each in formats_in(data, size or len(data), **{"ebcdic": None, **more})  # type: ignore[arg-type]
    ]


def damage(*pieces: bytes, most: int = 0) -> str | None:
    walked = damaged_blocks(pieces, most=most)
    return None if walked is None else walked.text()


# whole files ---------------------------------------------------------------------------------------------------------


def test_an_empty_block_belongs_to_vb() -> None:
    data = block(*[record(b"AB")] * 5) + block() + block(*[record(b"AB")] * 5)
    assert found(data)[0] == ("VB", "certain", 2, 0, 0, 10, 0)


def test_two_to_four_records_are_likely_and_the_segments_of_one_are_one_record() -> None:
    assert found((FIRST + LAST) * 3)[0] == ("VBS", "likely", 6, 0, 0, 3, 0)
    three = FIRST + block(record(b"GHI", 3)) + LAST + block(record(b"123456789"))
    assert found(three)[0] == ("VBS", "likely", 9, 0, 0, 2, 0)


def test_a_block_descriptor_word_ends_with_zeros() -> None:
    data = b"".join(b"\x00\x0c\x00\x01" + record(b"ABCD") for _ in range(6))
    assert "VB" not in {each[0] for each in found(data)}


def test_a_whole_file_does_not_end_inside_a_spanned_record() -> None:
    data = block(record(b"ABC")) * 3 + FIRST
    assert "VBS" not in {each[0] for each in found(data)}
    assert found(data, 1000)[0] == ("VBS", "likely", 3, 0, 0, 4, 0)  # more follows


def test_bytes_that_begin_no_record_are_not_the_beginning_of_one() -> None:
    assert [each[0] for each in found(record(b"ABC") * 3 + b"\xff" * 4, 1001)] == ["FB"]


def test_records_behind_a_header_are_most_of_the_file() -> None:
    data = b"\xff" * 10 + record(b"AB") * 5
    assert found(data + b"\xff" * 7)[0] == ("RDW", "likely", 0, 10, 7, 5, 0)
    assert "RDW" not in {each[0] for each in found(data + b"\xff" * 501)}
    cut = b"\xff" * 5 + record(b"ABCDEF") * 20 + b"\x00\x0a\x00"
    assert found(cut, 5000)[0] == (
        "RDW",
        "likely",
        0,
        5,
        0,
        20,
        0,
    )  # the trailer is not in the bytes that were examined


def test_fixed_records_in_blocks_divide_them() -> None:
    data = (word(44) + b"\xc1" * 40) * 6
    for length, wanted in ((0, [40]), (20, [20]), (16, []), (80, [])):
        assert [each.length for each in fixed_blocks_in(data, whole=True, length=length)] == wanted


def test_fixed_records_are_refused_by_the_words_of_a_block_and_its_record() -> None:
    one = format_by_words(block(record(b"A" * 12)), whole=True)
    assert one is not None
    assert (one.recfm.value, one.confidence, one.count) == ("VB", "possible", 1)
    assert format_by_words(record(b"A" * 12), whole=True) is None  # one word may be chance
    assert (
        format_by_words(block(record(b"A" * 12)) * 5, whole=True, lrecl=20) is None
    )  # the same records with their words
    two = format_by_words(block(record(b"A" * 12), record(b"B" * 12)) * 5, whole=True, lrecl=20)
    assert two is not None
    assert two.count == 10


def test_blocks_with_words_that_no_dd_card_describes_are_not_taken_for_records(tmp_path: Path) -> None:
    data = record(b"ABCD") + record(b"EF")
    path = tmp_path / "little"
    path.write_bytes((b"\x00\x00\x12\x00" + data) * 8)
    assert found(path.read_bytes())[0] == ("VB", "certain", 0, 0, 0, 16, 0)
    with pytest.raises(
        DcbError, match=r"VB: .*: 16 records, but no DD card .*: tdq dataset .*little shows the options"
    ):
        detect(path)
    cut = path.read_bytes()[:-3]
    assert format_by_words(cut, whole=True) is None
    assert found(cut) == [("VB", "likely", 0, 0, 0, 14, 126)]


# damage --------------------------------------------------------------------------------------------------------------


def test_damage_is_told_of_blocks_of_which_most_are_whole() -> None:
    assert damage(GOOD * 4 + BAD * 2) is None
    assert damage((GOOD + BAD) * 5) is None
    assert damage((GOOD + BAD) * 5 + GOOD) == (
        "VB, block 2 at offset 16 is damaged: its record descriptor word 1 says 80, and 12 bytes are left; 4 more are "
        "damaged, and the other 6 blocks are whole"
    )
    assert damage((GOOD * 2 + BAD) * 101) == (
        "VB, block 3 at offset 32 is damaged: its record descriptor word 1 says 80, and 12 bytes are left; 100 more are "
        "damaged, and the other 202 blocks are whole"
    )


def test_the_first_damage_is_told_in_whatever_pieces_the_bytes_come() -> None:
    data = GOOD * 5 + BAD + GOOD * 2 + BAD + GOOD
    wanted = (
        "VB, block 6 at offset 80 is damaged: its record descriptor word 1 says 80, and 12 bytes are left; 1 more are "
        "damaged, and the other 8 blocks are whole"
    )
    assert damage(data) == wanted
    assert damage(*(data[at : at + 7] for at in range(0, len(data), 7))) == wanted


def test_a_part_of_a_file_is_told_as_one() -> None:
    data = GOOD * 5 + BAD + GOOD
    assert (damage(data, most=10_000) or "").endswith("; the other 6 blocks are whole")
    assert (damage(data, most=112) or "").endswith("; the other 6 blocks are whole (in the first 112 bytes)")


def test_a_damaged_block_that_misleads_is_the_only_one() -> None:
    short = word(10) + record(b"ABCD")
    assert damage(GOOD * 5 + short + GOOD) == (
        "VB, block 6 at offset 80 is damaged: its record descriptor word 1 says 8, and 6 bytes are left; 5 blocks before "
        "it are whole, and those after it are not found"
    )


def test_a_segment_after_a_damaged_block_is_not_missed() -> None:
    whole, damaged = (FIRST + LAST) * 6, FIRST + word(12) + word(80) + b"ABCD" + LAST
    assert damage(whole + damaged + whole) == (
        "VBS, block 14 at offset 143 is damaged: its record descriptor word 1 says 80, and 8 bytes are left; the other 26 "
        "blocks are whole"
    )


def test_more_than_a_block_left_at_the_end_is_no_damage_of_blocks() -> None:
    large = word(32767)
    assert damage(GOOD * 5 + BAD + large + bytes(32756)) is None
    assert damage(GOOD * 5 + BAD + large + bytes(32755)) is not None


def test_a_damaged_file_has_one_format_and_is_not_certain(tmp_path: Path) -> None:
    data = GOOD * 5 + BAD + GOOD
    (tmp_path / "damaged").write_bytes(data)
    assert found(data) == [("VB", "likely", 0, 0, 0, 0, 80)]
    assert not detect(tmp_path / "damaged").certain
    (tmp_path / "cut").write_bytes(GOOD * 6 + GOOD[:9])
    assert (detect(tmp_path / "cut").dcb.text, detect(tmp_path / "cut").certain) == ("RECFM=VB", False)


# lines and records of one length --------------------------------------------------------------------------------------


def test_the_last_line_needs_no_end_and_lines_of_both_kinds_are_of_both_formats(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"ab\ncd\nlongest")
    assert detect(path).reasons == ("3 lines that end with X'0A'; the longest has 7 bytes",)
    assert [each[0] for each in found(b"ab\ncd\r\nef\n", ebcdic=False)] == ["CRLF", "LF"]
    assert [each[0] for each in found(b"ab\r\ncd\r\n", ebcdic=False)] == ["CRLF"]


def test_a_text_has_no_zero_bytes() -> None:
    text = b"some line of plain text\n" * 20
    assert found(text, ebcdic=False)[0][0] == "LF"
    assert "LF" not in {each[0] for each in found(text[:100] + b"\x00" + text[101:], ebcdic=False)}


def test_the_shortest_and_longest_fixed_records_are_among_the_guesses() -> None:
    half = bytes(range(25)) * 2
    assert [each[2] for each in found(half)] == [10, 25]
    short = b"\x10\x20\x30\x40\x50\x60\x70\x80" * 60  # 8 bytes, and no multiple of them
    assert [each[2] for each in found(short)] == [8, 10, 12, 15]
    chosen = random.Random(4)
    longest = b"".join(bytes([chosen.randrange(256)]) * chosen.randrange(20, 60) for _ in range(1000))[:32760]
    assert found(longest * 3)[0][:3] == ("FB", "likely", 32760)
