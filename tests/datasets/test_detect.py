"""Formats found in the bytes, with reasons; whole files converted; the real data sets."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
from pathlib import Path

import pytest

from tdqsim.datasets import (
    BlockError,
    DcbError,
    ErrorOption,
    OpenError,
    RecordError,
    convert,
    convert_records,
    detect,
    parse_dcb,
    read_records,
    write_records,
)
from tdqsim.errors import ConversionError

REAL = Path(os.environ.get("TDQ_DATA", Path(__file__).resolve().parents[2] / "../shared/data")) / "carddemo"
real_data = pytest.mark.skipif(not REAL.is_dir(), reason="the CardDemo data sets are not here (set TDQ_DATA)")


def text_records(count, page="cp037"):
    rng = random.Random(3)
    return [
        f"{number:06d}{rng.choice(['SMITH', 'JONES', 'MILLER']):<20}{rng.randrange(10**6):09d}{'':{rng.randrange(1, 20)}}X".encode(
            page
        )
        for number in range(count)
    ]


@pytest.mark.parametrize("count", [2, 50, 9000])
@pytest.mark.parametrize(
    "text",
    ["RECFM=VB,LRECL=100,BLKSIZE=500", "RECFM=V,LRECL=100", "RECFM=VBS,LRECL=100,BLKSIZE=60", "RECFM=RDW", "RECFM=RDWLE",
     "RECFM=RDW,RDWINCL=NO", "RECFM=RDWLE,RDWPOS=2,RDWINCL=NO", "RECFM=RDW,RDWPOS=2", "RECFM=NL"],
)  # fmt: skip
def test_formats_with_marks_are_found(tmp_path, text, count):
    path, records = tmp_path / "data", text_records(count)
    write_records(path, records, parse_dcb(text))
    found = detect(path)
    assert list(read_records(path, found.dcb)) == records
    assert found.certain is ("NL" not in text)
    assert found.ebcdic is True
    assert found.reasons


@pytest.mark.parametrize("recfm", ["LF", "CRLF"])
def test_text_lines_are_found(tmp_path, recfm):
    path, records = tmp_path / "data", text_records(50, "ascii")
    write_records(path, records, parse_dcb(f"RECFM={recfm}"))
    found = detect(path)
    assert (list(read_records(path, found.dcb)), found.certain, found.ebcdic) == (records, True, False)


@pytest.mark.parametrize(("recfm", "end"), [("LF", b"\n"), ("CRLF", b"\r\n")])
def test_a_text_of_one_line_is_found(tmp_path, recfm, end):
    path = tmp_path / "data"
    path.write_bytes(b"the only line" + end)
    found = detect(path)
    assert (found.dcb.recfm.name, found.certain, found.ebcdic) == (recfm, True, False)
    assert list(read_records(path, found.dcb)) == [b"the only line"]


@pytest.mark.parametrize(
    ("letters", "ebcdic"), [(30, True), (29, None)], ids=["half of the bytes are letters", "less than half"]
)
def test_the_code_page_is_known_when_half_of_the_bytes_are_text(tmp_path, letters, ebcdic):
    record = "A" * letters
    path = tmp_path / "data"
    path.write_bytes((record.encode("cp037") + bytes(60 - letters)) * 20)
    assert detect(path).ebcdic is ebcdic


@pytest.mark.parametrize("length", [60, 80, 133])
def test_fixed_records_are_guessed_by_their_fields(tmp_path, length):
    path, records = tmp_path / "data", [record.ljust(length, b"\x40") for record in text_records(120)]
    write_records(path, records, parse_dcb(f"RECFM=FB,LRECL={length}"))
    found = detect(path)
    assert (found.dcb.lrecl, found.certain) == (length, False)
    assert any(f"120 times {length}" in reason for reason in found.reasons)
    assert (
        found.reasons[1] == "lengths that come next: none"
    )  # where one record fits, so do several: these are left out


def test_what_cannot_be_detected(tmp_path):
    path = tmp_path / "data"
    with pytest.raises(OpenError, match="does not exist"):
        detect(path)
    path.write_bytes(b"")
    with pytest.raises(DcbError, match="empty"):
        detect(path)
    path.write_bytes(bytes(random.Random(1).choices(range(128, 256), k=101)))
    with pytest.raises(DcbError, match="no format fits"):
        detect(path)


@pytest.mark.parametrize(
    ("pack", "words"),
    [
        (gzip.compress, "a gzip file"),
        (bz2.compress, "a bzip2 file"),
        (lzma.compress, "an xz file"),
        (lambda data: b"PK\x03\x04" + data, "a zip archive"),
        (lambda data: b"\x50\xe0" + "INMR01".encode("cp037") + data, "TSO TRANSMIT"),
    ],
)
def test_what_is_packed_is_no_data_set(tmp_path, pack, words):
    path = tmp_path / "packed"
    path.write_bytes(pack(b"".join(text_records(50))))
    with pytest.raises(DcbError, match=words):
        detect(path)


def test_a_record_may_begin_as_a_packed_file_does(tmp_path):
    path = tmp_path / "vb"
    write_records(
        path, [b"\x1f\x8b\x08" + record for record in text_records(20)], parse_dcb("RECFM=VB,LRECL=80,BLKSIZE=800")
    )
    assert detect(path).dcb.recfm.value == "VB"


@real_data
@pytest.mark.parametrize(
    ("name", "lrecl", "count"),
    [
        ("DALYTRAN.PS", 350, 300),
        ("CARDXREF.PS", 50, 50),
        ("ACCTDATA.PS", 300, 50),
        ("CUSTDATA.PS", 500, 50),
        ("TCATBALF.PS", 50, 50),
    ],
)
def test_real_data_sets(name, lrecl, count):
    found = detect(REAL / name)
    assert (found.dcb.recfm.value, found.dcb.lrecl, found.ebcdic) == ("FB", lrecl, True)
    assert sum(1 for _ in read_records(REAL / name, found.dcb)) == count


@real_data
def test_the_real_transactions_convert_to_the_ascii_file(tmp_path):
    dcb, lines = parse_dcb("RECFM=FB,LRECL=350"), parse_dcb("RECFM=LF")
    assert detect(REAL / "dailytran.ascii.txt").dcb.recfm.value == "LF"
    assert (
        convert(REAL / "DALYTRAN.PS", dcb, tmp_path / "text", lines, source_code_page="037", target_code_page="ascii")
        == 300
    )
    wanted = [line.rstrip(b" ") for line in read_records(REAL / "dailytran.ascii.txt", lines)]
    assert list(read_records(tmp_path / "text", lines)) == wanted
    back = convert(tmp_path / "text", lines, tmp_path / "back", dcb, source_code_page="ascii", target_code_page="037")
    assert back == 300
    original = list(read_records(REAL / "DALYTRAN.PS", dcb))
    # The file's fillers hold binary zeros, which ASCII keeps, and blanks, which are put back.
    assert list(read_records(tmp_path / "back", dcb)) == original
    assert list(read_records(REAL / "DALYTRAN.PS", dcb, backward=True)) == original[::-1]


def test_convert_between_formats_keeps_bytes(tmp_path):
    records = [b"\x00\xffA", b"", b"\n"]
    write_records(tmp_path / "a", records, parse_dcb("RECFM=VB,LRECL=84"))
    assert convert(tmp_path / "a", parse_dcb("RECFM=VB"), tmp_path / "b", parse_dcb("RECFM=RDWLE")) == 3
    assert list(read_records(tmp_path / "b", parse_dcb("RECFM=RDWLE"))) == records
    with pytest.raises(RecordError):
        convert(tmp_path / "a", parse_dcb("RECFM=VB"), tmp_path / "c", parse_dcb("RECFM=LF"))
    with pytest.raises(ConversionError, match="both code pages"):
        convert(tmp_path / "a", parse_dcb("RECFM=VB"), tmp_path / "c", parse_dcb("RECFM=LF"), source_code_page="037")


def test_convert_records_names_record_and_offset():
    with pytest.raises(ConversionError) as caught:
        list(convert_records([b"\xc1", b"\xc2\x41"], "037", "ascii"))
    assert (caught.value.record, caught.value.offset) == (2, 1)
    with pytest.raises(RecordError, match="record 2"):
        list(convert_records([b"\xc1", b"\xc1\xc2\xc3"], "037", "ascii", length=2))
    assert list(convert_records([b"\xc1\x40"], "037", "ascii", strip=True)) == [b"A"]


def test_bulk_reading_with_an_error_option(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"AAAABB")
    dcb, met = parse_dcb("RECFM=F,LRECL=4"), []
    with pytest.raises(BlockError):
        list(read_records(path, dcb))
    assert list(read_records(path, dcb, eropt=ErrorOption.ACC, on_error=met.append)) == [b"AAAA", b"BB"]
    assert list(read_records(path, dcb, eropt=ErrorOption.SKP, on_error=met.append)) == [b"AAAA"]
    assert [error.offset for error in met] == [4, 4]
    with pytest.raises(OpenError):
        read_records(tmp_path / "none", dcb)  # at once, not at the first record
