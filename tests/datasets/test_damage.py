"""Every lie a file can tell has its error, and the reader stands behind it afterwards."""

from __future__ import annotations

import os
import random

import pytest

from tdqsim.datasets import (
    BlockError,
    BlockFault,
    DatasetFault,
    DatasetNotOpen,
    ErrorOption,
    open_reader,
    parse_dcb,
    read_records,
    write_records,
)
from tests.datasets.faults import Opener
from tests.rules import expect_rule

GOOD = bytes.fromhex("00090000 00050000 C1")  # a block with the record A
TAIL = bytes.fromhex("00090000 00050000 E9")  # and one with the record Z

# dcb, bytes, rule, fault, record, offset, what SKIP then delivers, what IGNORE delivers
CASES = [
    ("RECFM=FB,LRECL=4,BLKSIZE=8", b"AAAABBBBCC", "DS-LENGTH-NO-MULTIPLE", BlockFault.LENGTH, 3, 8, [], [b"CC"]),
    ("RECFM=VB,LRECL=20", GOOD + b"\0\0\0\0" + TAIL, "DS-BDW-LENGTH", BlockFault.BDW, 2, 9, [], [TAIL]),
    ("RECFM=VB,LRECL=20", GOOD + b"\0\7\0\0" + TAIL, "DS-BDW-LENGTH", BlockFault.BDW, 2, 9, [], [TAIL]),
    ("RECFM=VB,LRECL=20", GOOD + b"\0\x09\0\1" + TAIL, "DS-BDW-LENGTH", BlockFault.BDW, 2, 9, [], [TAIL]),
    # A large block is one of 8 to 262144 bytes, and never more than BLKSIZE where that is known.
    ("RECFM=VB,LRECL=20", GOOD + b"\x80\0\0\7" + TAIL, "DS-BDW-LENGTH", BlockFault.BDW, 2, 9, [], [TAIL]),
    ("RECFM=VB,LRECL=20", GOOD + b"\x80\4\0\1" + TAIL, "DS-BDW-LENGTH", BlockFault.BDW, 2, 9, [], [TAIL]),
    ("RECFM=VB,LRECL=20", GOOD + b"\xff\xff\xff\xff" + TAIL, "DS-BDW-LENGTH", BlockFault.BDW, 2, 9, [], [TAIL]),
    ("RECFM=VBS,LRECL=20", GOOD + b"\x80\4\0\1" + TAIL, "DS-BDW-LENGTH", BlockFault.BDW, 2, 9, [], [TAIL]),
    (
        "RECFM=VB,LRECL=10,BLKSIZE=14",
        GOOD + b"\x80\0\0\x0f" + TAIL,
        "DS-BDW-LENGTH",
        BlockFault.BDW,
        2,
        9,
        [],
        [TAIL[:10]],
    ),
    ("RECFM=VB,LRECL=20", GOOD + b"\x80\1\0\0ABC", "DS-TRUNCATED-BLOCK", BlockFault.TRUNCATED, 2, 9, [], [b"ABC"]),
    # Longer than BLKSIZE, but there is a whole block of that length: the next one is found.
    (
        "RECFM=VB,LRECL=10,BLKSIZE=14",
        GOOD + bytes.fromhex("00100000 000C0000") + b"ABCDEFGH" + TAIL,
        "DS-BDW-LENGTH",
        BlockFault.BDW,
        2,
        9,
        [b"\xe9"],
        [(bytes.fromhex("000C0000") + b"ABCDEFGH")[:10], b"\xe9"],
    ),
    ("RECFM=VB,LRECL=20", GOOD + b"\0\x20\0\0ABC", "DS-TRUNCATED-BLOCK", BlockFault.TRUNCATED, 2, 9, [], [b"ABC"]),
    ("RECFM=VB,LRECL=20", GOOD + b"\0\x20", "DS-TRUNCATED-BLOCK", BlockFault.TRUNCATED, 2, 9, [], [b"\0\x20"]),
    (
        "RECFM=VB,LRECL=20",
        bytes.fromhex("000E0000 00050000 C1 00000000 C2") + TAIL,
        "DS-RDW-LENGTH",
        BlockFault.RDW,
        2,
        9,
        [b"\xe9"],
        [b"\xc2", b"\xe9"],
    ),
    (
        "RECFM=VB,LRECL=20",
        bytes.fromhex("000E0000 00050000 C1 00060000 C2") + TAIL,
        "DS-RDW-LENGTH",
        BlockFault.RDW,
        2,
        9,
        [b"\xe9"],
        [b"\xc2", b"\xe9"],
    ),
    (
        "RECFM=VB,LRECL=5",
        bytes.fromhex("000F0000 00050000 C1 00060000 C2C3") + TAIL,
        "DS-RDW-LENGTH",
        BlockFault.RDW,
        2,
        9,
        [b"\xe9"],
        [b"\xc2\xc3", b"\xe9"],
    ),
    (
        "RECFM=VB,LRECL=20",
        bytes.fromhex("000B0000 00050000 C1 0005") + TAIL,
        "DS-BLOCK-REST",
        BlockFault.RDW,
        2,
        9,
        [b"\xe9"],
        [b"\0\5", b"\xe9"],
    ),
    # Spanned: a last segment without a first, in the middle of a block.
    (
        "RECFM=VBS,LRECL=20",
        bytes.fromhex("00130000 00050000 C1 00050200 C2 00050000 E9"),
        "DS-SEGMENT-ORPHAN",
        BlockFault.SEGMENT,
        2,
        9,
        [b"\xe9"],
        [b"\xc2", b"\xe9"],
    ),
    # A first segment without a last: the record after it is whole.
    (
        "RECFM=VBS,LRECL=20",
        GOOD + bytes.fromhex("00090000 00050100 C2") + TAIL,
        "DS-SEGMENT-UNFINISHED",
        BlockFault.SEGMENT,
        2,
        22,
        [b"\xe9"],
        [b"\xc2", b"\xe9"],
    ),
    (
        "RECFM=VBS,LRECL=20",
        GOOD + bytes.fromhex("00090000 00050100 C2"),
        "DS-SEGMENT-MISSING-LAST",
        BlockFault.TRUNCATED,
        2,
        18,
        [],
        [b"\xc2"],
    ),
    (
        "RECFM=VBS,LRECL=8",
        GOOD + bytes.fromhex("00080000 00040100 000E0000 000A0200 C1C2C3C4C5C6") + TAIL,
        "DS-SEGMENT-TOO-LONG",
        BlockFault.SEGMENT,
        2,
        21,
        [b"\xe9"],
        [b"\xc1\xc2\xc3\xc4\xc5\xc6", b"\xe9"],
    ),
    (
        "RECFM=VBS,LRECL=20",
        bytes.fromhex("000E0000 00050000 C1 00050400 C2") + TAIL,
        "DS-SDW",
        BlockFault.RDW,
        2,
        9,
        [b"\xe9"],
        [b"\xc2", b"\xe9"],
    ),
    (
        "RECFM=RDW",
        bytes.fromhex("00050000 C1 00030000 C2"),
        "DS-RDW-ONLY-LENGTH",
        BlockFault.RDW,
        2,
        5,
        [],
        [b"\xc2"],
    ),
    (
        "RECFM=RDW",
        bytes.fromhex("00050000 C1 000A0000 C2"),
        "DS-TRUNCATED-RECORD",
        BlockFault.TRUNCATED,
        2,
        5,
        [],
        [b"\xc2"],
    ),
    (
        "RECFM=LF,LRECL=5",
        b"short\nmuch too long\nlast\n",
        "DS-LINE-TOO-LONG",
        BlockFault.LINE,
        2,
        6,
        [b"last"],
        [b"much ", b"last"],
    ),
]


@pytest.mark.rule(
    "DS-BDW-LENGTH",
    "DS-BLOCK-REST",
    "DS-LENGTH-NO-MULTIPLE",
    "DS-LINE-TOO-LONG",
    "DS-RDW-LENGTH",
    "DS-RDW-ONLY-LENGTH",
    "DS-SDW",
    "DS-SEGMENT-MISSING-LAST",
    "DS-SEGMENT-ORPHAN",
    "DS-SEGMENT-TOO-LONG",
    "DS-SEGMENT-UNFINISHED",
    "DS-TRUNCATED-BLOCK",
    "DS-TRUNCATED-RECORD",
    "DS-BLOCK-SKIP",
    "DS-BLOCK-ACCEPT",
)
@pytest.mark.parametrize("how", ["skip", "accept"])
@pytest.mark.parametrize("case", CASES, ids=[f"{case[0]}-{case[2]}-{number}" for number, case in enumerate(CASES)])
def test_lies_of_a_file(tmp_path, case, how):
    dcb, data, rule_id, fault, record, offset, skipped, accepted = case
    path = tmp_path / "data"
    path.write_bytes(data)
    with open_reader(path, parse_dcb(dcb)) as reader:
        for _ in range(record - 1):
            assert reader.get() is not None
        error = expect_rule(rule_id, reader.get)
        assert isinstance(error, BlockError)
        assert (error.fault, error.record, error.offset, error.path) == (fault, record, offset, str(path))
        assert error.block == data[offset : offset + len(error.block)]
        assert str(path) in str(error)
        if how == "accept":
            reader.accept_block()
        rest = [reader.get() for _ in range(len(accepted) + 1)]
    wanted = skipped if how == "skip" else accepted
    assert rest[: len(wanted) + 1] == [*wanted, None]


def test_accept_without_damage_is_refused(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"AABB")
    with open_reader(path, parse_dcb("RECFM=F,LRECL=2")) as reader:
        assert reader.get() == b"AA"
        with pytest.raises(DatasetFault, match="no damaged block"):
            reader.accept_block()
        assert reader.get() == b"BB"


@pytest.mark.rule("DS-RDBACK-LENGTH")
def test_backward_meets_the_short_record_first(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"AAAABBBBCC")
    with open_reader(path, parse_dcb("RECFM=FB,LRECL=4,BLKSIZE=8"), backward=True) as reader:
        error = expect_rule("DS-RDBACK-LENGTH", reader.get)
        assert (error.offset, error.block) == (8, b"CC")
        reader.accept_block()
        assert list(reader) == [b"CC", b"BBBB", b"AAAA"]


@pytest.mark.rule("DS-IO-ERROR")
@pytest.mark.parametrize("backward", [False, True])
def test_a_block_that_cannot_be_read_is_passed_over(tmp_path, backward):
    path = tmp_path / "data"
    records = [b"%04d" % number for number in range(100)]
    write_records(path, records, parse_dcb("RECFM=FB,LRECL=4,BLKSIZE=40"))
    opener = Opener(bad=range(80, 90))
    reader = open_reader(path, parse_dcb("RECFM=FB,LRECL=4,BLKSIZE=40"), backward=backward, opener=opener)
    got = []
    with reader:
        error = None
        while error is None:
            try:
                got.append(reader.get())
            except BlockError as met:
                error = met
        assert (error.fault, error.offset, error.block, error.skips) == (BlockFault.IO, 80, b"", 40)
        got += list(reader)
    wanted = records[:20] + records[30:]
    assert got == (wanted[::-1] if backward else wanted)


@pytest.mark.rule("DS-IO-ERROR-VARIABLE")
def test_behind_an_unreadable_place_no_block_can_be_found(tmp_path):
    path = tmp_path / "data"
    write_records(path, [b"A" * 30] * 10, parse_dcb("RECFM=VB,LRECL=34,BLKSIZE=38"))
    with open_reader(path, parse_dcb("RECFM=VB,LRECL=34,BLKSIZE=38"), opener=Opener(bad=range(100, 110))) as reader:
        with pytest.raises(BlockError) as caught:
            list(reader)
        assert caught.value.fault is BlockFault.IO
        assert reader.get() is None


FORMATS = [
    "RECFM=FB,LRECL=80,BLKSIZE=800",
    "RECFM=V,LRECL=304",
    "RECFM=VB,LRECL=304,BLKSIZE=1000",
    "RECFM=VBS,LRECL=X,BLKSIZE=100",
    "RECFM=RDW",
    "RECFM=LF",
    "RECFM=CRLF",
]


def some_records(dcb, count):
    rng = random.Random(7)
    return [
        bytes(rng.choices(b"ABC\rXYZ ", k=80 if dcb.recfm.fixed else rng.randrange(300))).replace(b"\r\n", b"")
        for _ in range(count)
    ]


@pytest.mark.parametrize("text", FORMATS)
def test_records_across_read_boundaries(tmp_path, text):
    dcb, path = parse_dcb(f"{text},BUFNO=1"), tmp_path / "data"
    records = some_records(dcb, 2500)  # a few times what is read at once
    write_records(path, records, dcb)
    assert list(read_records(path, dcb)) == records
    with open_reader(path, dcb) as reader:
        assert list(iter(reader.get, None)) == records


@pytest.mark.parametrize("beyond", range(-6, 5))
@pytest.mark.parametrize("reads", [1, 2, 3])
def test_the_end_of_a_line_in_error_may_lie_across_two_reads(tmp_path, reads, beyond):
    dcb, path = parse_dcb("RECFM=CRLF,LRECL=10,BUFNO=1"), tmp_path / "data"
    at_once = 2 * 27998  # half a track each
    path.write_bytes(b"x" * (reads * at_once + beyond) + b"\r\ngood\r\nlast")
    assert list(read_records(path, dcb, eropt=ErrorOption.SKP)) == [b"good", b"last"]


@pytest.mark.rule("DS-GROWING", "DS-SHRINKING")
@pytest.mark.parametrize("text", FORMATS)
def test_a_file_that_grows_or_shrinks_while_it_is_read(tmp_path, text):
    dcb, path = parse_dcb(f"{text},BUFNO=1"), tmp_path / "data"
    records = some_records(dcb, 2500)
    write_records(path, records, dcb)
    with open_reader(path, dcb) as reader:
        first = reader.get()
        with path.open("ab") as file:
            file.write(b"\0" * 1001)
        assert [first, *reader] == records
        assert reader.get() is None
    with open_reader(path, dcb) as reader:
        assert reader.get() == records[0]
        with path.open("r+b") as file:
            file.truncate(80_000)
        with pytest.raises(BlockError):
            list(reader)
        said = []
        while True:
            try:
                if reader.get() is None:
                    break
            except BlockError as error:
                said += [("became shorter" in error.problem, error.offset)]
        assert set(said) <= {(True, 80_000)}  # said after a block that was cut, if there is one


@pytest.mark.rule("DS-SHRINKING")
def test_bytes_that_are_gone_behind_a_wrong_bdw_are_told_at_the_end_of_the_file(tmp_path):
    dcb, path = parse_dcb("RECFM=VB,LRECL=96,BLKSIZE=100,BUFNO=1"), tmp_path / "data"
    write_records(path, [b"x" * 92] * 1400, dcb)  # more than are read at once
    with path.open("ab") as file:
        file.write(b"\xff" * 20_000)
    told = []
    reader = open_reader(path, dcb, eropt=ErrorOption.SKP, on_error=told.append)
    with reader:
        reader.get()
        os.truncate(path, 150_000)
        assert len(list(reader)) == 1399
    assert [error.offset for error in told] == [140_000, 150_000]


def test_a_closed_reader_reads_no_more(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"AABB")
    reader = open_reader(path, parse_dcb("RECFM=F,LRECL=2"))
    assert reader.get() == b"AA"
    reader.close()
    reader.close()
    assert not reader.is_open
    assert reader.records_read == 1
    with pytest.raises(DatasetNotOpen):
        reader.get()
    with pytest.raises(DatasetNotOpen):
        list(reader)


def test_hostile_lengths_cost_no_memory(tmp_path):
    """Words that promise everything, repeated: what is held stays near the buffers."""
    import tracemalloc

    path = tmp_path / "data"
    path.write_bytes(b"\x7f\xf8\0\0" + b"\xff\xff\1\0" * 500_000)
    fixed = "RECFM=FB,LRECL=2,BLKSIZE=32760,BUFNO=255"
    for text in ("RECFM=VB", "RECFM=VBS,LRECL=X", "RECFM=RDW", "RECFM=RDWLE", "RECFM=LF", "RECFM=U", fixed):
        largest = 0
        tracemalloc.start()
        with open_reader(path, parse_dcb(text)) as reader:
            for _ in range(100_000):
                try:
                    if reader.get() is None:
                        break
                except BlockError as error:
                    largest = max(largest, len(error.block))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < (8_000_000 if text is fixed else 2_000_000), text
        assert largest <= 32_760


@pytest.mark.parametrize(("inclusive", "shortest"), [("YES", 4), ("NO", 1)])
def test_a_wrong_record_descriptor_word_is_shown_with_the_lengths_that_are_allowed(tmp_path, inclusive, shortest):
    (tmp_path / "data").write_bytes(bytes.fromhex("00000000 C1"))
    with pytest.raises(BlockError) as caught:
        list(read_records(tmp_path / "data", parse_dcb(f"RECFM=RDW,LRECL=100,RDWINCL={inclusive}")))
    allowed = f"it says 0; a length from {shortest} to 100 and two bytes of zero are allowed"
    assert f"RDW X'00000000': {allowed}" in str(caught.value)
