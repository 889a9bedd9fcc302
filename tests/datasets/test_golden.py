"""Byte images written by hand, read and written."""

from __future__ import annotations

import pytest

from tdqsim.datasets import Disposition, open_reader, open_writer, parse_dcb, read_records, write_records

IMAGES = [
    ("RECFM=F,LRECL=3", b"ABCDEF", [b"ABC", b"DEF"]),
    ("RECFM=FB,LRECL=3,BLKSIZE=6", b"ABCDEFGHI", [b"ABC", b"DEF", b"GHI"]),
    ("RECFM=FBA,LRECL=3,BLKSIZE=6", b"1BC0EF", [b"1BC", b"0EF"]),
    ("RECFM=V,LRECL=12", bytes.fromhex("000A0000 00060000 C1C2 00090000 00050000 C3"), [b"\xc1\xc2", b"\xc3"]),
    (
        "RECFM=VB,LRECL=12,BLKSIZE=16",
        bytes.fromhex("000F0000 00060000 C1C2 00050000 C3 00090000 00050000 C4"),
        [b"\xc1\xc2", b"\xc3", b"\xc4"],
    ),
    # A record of 6 in blocks of 10: room for a segment of two bytes each.
    (
        "RECFM=VBS,LRECL=100,BLKSIZE=10",
        bytes.fromhex("000A0000 00060100 C1C2 000A0000 00060300 C3C4 000A0000 00060200 C5C6 00090000 00050000 C7"),
        [b"\xc1\xc2\xc3\xc4\xc5\xc6", b"\xc7"],
    ),
    (
        "RECFM=VS,LRECL=100,BLKSIZE=12",
        bytes.fromhex("000C0000 00080100 C1C2C3C4 00090000 00050200 C5 00090000 00050000 C6"),
        [b"\xc1\xc2\xc3\xc4\xc5", b"\xc6"],
    ),
    ("RECFM=RDW", bytes.fromhex("00060000 C1C2 00050000 C3"), [b"\xc1\xc2", b"\xc3"]),
    ("RECFM=RDW,RDWINCL=NO", bytes.fromhex("00020000 C1C2 00010000 C3"), [b"\xc1\xc2", b"\xc3"]),
    ("RECFM=RDWLE", bytes.fromhex("06000000 C1C2 05000000 C3"), [b"\xc1\xc2", b"\xc3"]),
    ("RECFM=RDWLE,RDWPOS=2", bytes.fromhex("00000600 C1C2 00000500 C3"), [b"\xc1\xc2", b"\xc3"]),
    ("RECFM=RDW,RDWPOS=2,RDWINCL=NO", bytes.fromhex("00000002 C1C2 00000001 C3"), [b"\xc1\xc2", b"\xc3"]),
    ("RECFM=LF", b"one\n\nthree\n", [b"one", b"", b"three"]),
    ("RECFM=CRLF", b"one\r\ntw\ro\r\n", [b"one", b"tw\ro"]),
    ("RECFM=NL", b"\xc1\x15\xc2\x15", [b"\xc1", b"\xc2"]),
]


@pytest.mark.rule("DS-EODAD", "DS-RDW-INCLUSIVE", "DS-BDW-INCLUSIVE", "DS-SEGMENT-CODES", "DS-CONTROL-KEPT")
@pytest.mark.parametrize(("dcb", "image", "records"), IMAGES, ids=[image[0] for image in IMAGES])
def test_reads_and_writes_the_image(tmp_path, dcb, image, records):
    path = tmp_path / "data"
    path.write_bytes(image)
    with open_reader(path, parse_dcb(dcb)) as reader:
        got = [reader.get() for _ in range(len(records) + 2)]
        assert reader.records_read == len(records)
    assert got == [*records, None, None]
    assert list(read_records(path, parse_dcb(dcb))) == records

    assert write_records(path, records, parse_dcb(dcb)) == len(records)
    assert path.read_bytes() == image


@pytest.mark.parametrize(("dcb", "image", "records"), IMAGES, ids=[image[0] for image in IMAGES])
@pytest.mark.rule("DS-MOD-APPENDS")
def test_mod_goes_on_behind_the_last_record(tmp_path, dcb, image, records):
    path = tmp_path / "data"
    path.write_bytes(image)
    with open_writer(path, parse_dcb(dcb), disposition=Disposition.MOD) as writer:
        writer.put(records[0])
    assert path.read_bytes().startswith(image)
    assert list(read_records(path, parse_dcb(dcb))) == [*records, records[0]]


def test_the_last_line_may_lack_its_end_and_mod_gives_it_one(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"one\ntwo")
    dcb = parse_dcb("RECFM=LF")
    assert list(read_records(path, dcb)) == [b"one", b"two"]
    write_records(path, [b"three"], dcb, disposition=Disposition.MOD)
    assert path.read_bytes() == b"one\ntwo\nthree\n"


def test_an_empty_file_has_no_records(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"")
    for text, _, _ in IMAGES:
        assert list(read_records(path, parse_dcb(text))) == []
    assert list(read_records(path, parse_dcb("RECFM=F,LRECL=80"), backward=True)) == []


@pytest.mark.rule("DS-BDW-EXTENDED")
@pytest.mark.parametrize(
    ("dcb", "data", "records"),
    [
        ("RECFM=VB,LRECL=20", bytes.fromhex("8000000F 00060000 C1C2 00050000 C3"), [b"\xc1\xc2", b"\xc3"]),
        ("RECFM=VB,LRECL=20,BLKSIZE=24", bytes.fromhex("80000009 00050000 C1 00090000 00050000 C2"), [b"\xc1", b"\xc2"]),
        ("RECFM=VBS,LRECL=20", bytes.fromhex("80000009 00050100 C1 00090000 00050200 C2"), [b"\xc1\xc2"]),
    ],
)  # fmt: skip
def test_large_blocks_have_31_bits_of_length(tmp_path, dcb, data, records):
    path = tmp_path / "data"
    path.write_bytes(data)
    with open_reader(path, parse_dcb(dcb)) as reader:
        assert list(reader) == records


@pytest.mark.rule("DS-BDW-EXTENDED")
def test_the_largest_block_of_all(tmp_path):
    body = (b"\x40\x04\0\0" + b"x" * 16_384) * 15
    rest = 262_144 - 4 - len(body)
    path = tmp_path / "data"
    block = b"\x80\x04\0\0" + body + rest.to_bytes(2, "big") + b"\0\0" + b"y" * (rest - 4)
    path.write_bytes(block * 3)
    assert list(read_records(path, parse_dcb("RECFM=VB"))) == [*[b"x" * 16_384] * 15, b"y" * (rest - 4)] * 3


@pytest.mark.rule("DS-EMPTY-RECORD")
@pytest.mark.parametrize(
    ("dcb", "data"),
    [
        ("RECFM=VB,LRECL=20", bytes.fromhex("00110000 00050000 C1 00040000 00040000")),
        ("RECFM=VBS,LRECL=20", bytes.fromhex("00110000 00050000 C1 00040000 00040000")),
        ("RECFM=RDW", bytes.fromhex("00050000 C1 00040000 00040000")),
        ("RECFM=LF", b"\xc1\n\n\n"),
        ("RECFM=NL", b"\xc1\x15\x15\x15"),
    ],
)
def test_a_record_without_data_is_a_record(tmp_path, dcb, data):
    path = tmp_path / "data"
    path.write_bytes(data)
    with open_reader(path, parse_dcb(dcb)) as reader:
        assert [reader.get() for _ in range(4)] == [b"\xc1", b"", b"", None]
        assert reader.records_read == 3
    assert list(read_records(path, parse_dcb(dcb))) == [b"\xc1", b"", b""]
