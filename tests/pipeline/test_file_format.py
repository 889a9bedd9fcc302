"""What a file is: for every format, code page and copybook, the first answer reads the rows that were written."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")

import ebcdic  # noqa: F401 - its code pages

from tdqsim import Region
from tdqsim.cli import main
from tdqsim.errors import DatasetError
from tdqsim.pipeline.file_format import Candidate, inspect_file
from tdqsim.pipeline.options import read_options
from tdqsim.pipeline.source import ReadPlan
from tdqsim.pipeline.splits import plan
from tests.pipeline.deceptive import blocked, headed, spanned

Row = dict[str, Any]
COUNT = 120
WORDS = {
    "cp037": ["MILLER", "O'Neill & Sons", "Smith-Jones", "New York", "Los Angeles, CA", "1st Street 12"],
    "cp1047": ["a[1]", "b[22]", "MILLER", "x[i] y[j]", "Los Angeles, CA"],
    "cp273": ["Müller", "Größe", "Äpfel", "Übermut", "Straße 12", "MÖLLER"],
    "cp297": ["Élève", "français", "être", "où", "forêt", "Hélène"],
    "cp500": ["Hello!", "Stop! Now!", "MILLER", "Los Angeles!"],
    "ascii": ["MILLER", "O'Neill & Sons", "Smith-Jones", "New York"],
    "utf-8": ["MILLER", "Smith-Jones", "New York"],
}
PAGES = list(WORDS)


def of_text(rng: Random, page: str) -> tuple[bytes, Row]:
    name, town = rng.choice(WORDS[page]), rng.choice(WORDS[page])
    return name.ljust(20).encode(page) + town.ljust(15).encode(page), {"NAME": name, "TOWN": town}


def of_numbers(rng: Random, page: str) -> tuple[bytes, Row]:
    name, count = rng.choice(WORDS[page]), rng.randrange(10**6)
    amount, number = rng.randrange(10**7), rng.randrange(10**6)
    data = name.ljust(20).encode(page) + f"{count:06d}".encode(page)
    data += bytes.fromhex(f"{amount:07d}C") + number.to_bytes(4, "big")
    return data, {"NAME": name, "COUNT1": count, "AMOUNT": Decimal(amount).scaleb(-2), "NUMBER1": number}


def of_segments(rng: Random, page: str) -> tuple[bytes, Row]:
    kind, name = rng.choice("CP"), rng.choice(WORDS[page])
    if kind == "C":
        return (kind + name.ljust(20)).encode(page), {"KIND": kind, "COMPANY": {"NAME": name}, "PERSON": None}
    age = rng.randrange(100)
    body = f"{name[:14]:14s}{age:06d}"
    return (kind + body).encode(page), {
        "KIND": kind, "COMPANY": None, "PERSON": {"FIRST": name[:14].rstrip(), "AGE": age}
    }  # fmt: skip


COPYBOOKS: dict[str, tuple[str, Callable[[Random, str], tuple[bytes, Row]]]] = {
    "text": ("01 R. 05 NAME PIC X(20). 05 TOWN PIC X(15).", of_text),
    "numbers": (
        "01 R. 05 NAME PIC X(20). 05 COUNT1 PIC 9(6). 05 AMOUNT PIC S9(5)V99 COMP-3. 05 NUMBER1 PIC 9(8) COMP.",
        of_numbers,
    ),
    "segments": (
        (
            "01 R. 05 KIND PIC X. 05 COMPANY. 10 NAME PIC X(20). 05 PERSON REDEFINES COMPANY.\n"
            "10 FIRST PIC X(14). 10 AGE PIC 9(6)."
        ),
        of_segments,
    ),
}


def lines(end: bytes) -> Callable[[Random, Sequence[bytes]], bytes]:
    return lambda _, data: b"".join(one + end for one in data)


def fixed_blocks(rng: Random, data: Sequence[bytes]) -> bytes:
    blocks, left = b"", list(data)
    while left:
        some = b"".join(left[: (count := rng.randint(2, 9))])
        blocks += (len(some) + 4).to_bytes(2, "big") + bytes(2) + some
        del left[:count]
    return blocks


FORMATS: dict[str, Callable[[Random, Any], bytes]] = {
    "F": lambda _, data: b"".join(data),
    "V": lambda _, data: headed(data)[0],
    "V exclusive": lambda _, data: headed(data, inclusive=False)[0],
    "V little-endian": lambda _, data: headed(data, big=False)[0],
    "V little-endian exclusive": lambda _, data: headed(data, big=False, inclusive=False)[0],
    "RDW at byte 2": lambda _, data: b"".join(bytes(2) + (len(one) + 4).to_bytes(2, "big") + one for one in data),
    "VB": lambda rng, data: blocked(rng, data)[0],
    "VB exclusive": lambda rng, data: blocked(rng, data, inclusive=False)[0],
    "VB little-endian": lambda rng, data: blocked(rng, data, big=False)[0],
    "VBS": lambda rng, data: spanned(rng, data)[0],
    "FB in blocks": fixed_blocks,
    "LF": lines(b"\n"),
    "CRLF": lines(b"\r\n"),
    "NL": lines(b"\x15"),
}


def rows_of(path: Path, found: Candidate, **more: str) -> list[Row]:
    given = found.options(cobrix=False)
    cobrix = given is None
    given = found.options(cobrix=True) if given is None else given
    assert given is not None
    if cobrix and not more:
        more = {"copybook_contents": "01 R. 05 A PIC X.", "generate_record_bytes": "true"}
    options = read_options({**given, "path": str(path), **more}, cobrix=cobrix)
    return [row for part in plan(options) for batch in ReadPlan.of(options).read(part) for row in batch.to_pylist()]


def made(name: str, page: str, book: str, seed: int) -> tuple[bytes, list[Row], list[bytes]]:
    rng, (_, make) = Random(seed), COPYBOOKS[book]
    pairs = [make(rng, page) for _ in range(COUNT)]
    data = [one for one, _ in pairs]
    return FORMATS[name](rng, data), [row for _, row in pairs], data


def goes(name: str, page: str, book: str) -> bool:
    """Whether there are such files: lines hold text of their own world, and no numbers whose bytes may be line ends."""
    in_ascii = page in ("ascii", "utf-8")
    if name in ("LF", "CRLF", "NL"):
        return book != "numbers" and in_ascii == (name != "NL")
    return True


def drawn() -> Iterator[tuple[str, str, str]]:
    """Every format with every code page, and each of them with every copybook that goes with it."""
    for row, name in enumerate(FORMATS):
        for column, page in enumerate(PAGES):
            if books := [book for book in COPYBOOKS if goes(name, page, book)]:
                yield name, page, books[(row + column) % len(books)]


MATRIX = list(drawn())


@pytest.mark.parametrize(("name", "page", "book"), MATRIX)
def test_the_first_answer_reads_the_rows_that_were_written(tmp_path: Path, name: str, page: str, book: str) -> None:
    data, rows, records = made(name, page, book, 1)
    path, copybook = tmp_path / "data", tmp_path / "r.cpy"
    path.write_bytes(data)
    copybook.write_text(COPYBOOKS[book][0])
    (found,) = inspect_file(str(path), str(copybook))
    best = found.candidates[0]
    assert best.misfit == ""
    assert rows_of(path, best, copybook=str(copybook)) == rows
    if book == "segments":
        assert next(finding.value for finding in best.findings if finding.what == "segments").startswith("KIND: ")
    if name != "F" and not name.startswith("FB"):  # without a copybook only likeness tells the length of fixed records
        (found,) = inspect_file(str(path))
        assert [row["Record_Bytes"] for row in rows_of(path, found.candidates[0])] == records


@pytest.mark.parametrize("book", COPYBOOKS)
def test_the_length_of_fixed_records_is_among_the_answers(tmp_path: Path, book: str) -> None:
    data, _, records = made("F", "cp037", book, 2)
    path = tmp_path / "data"
    path.write_bytes(data)
    (found,) = inspect_file(str(path))
    lengths = [int((each.format.qsam or {}).get("record_length", 0)) for each in found.candidates]
    assert len(records[0]) in lengths


@pytest.mark.parametrize(
    ("name", "confidence"),
    [
        ("MILLER", "certain"),  # these letters have the same bytes in all pages
        ("Möller", "possible"),  # the same bytes are "Møller" in 277
        ("Obst-Äpfel", "possible"),  # and these are "Obst-Þpfel" in 871, and in no other
        ("Möller-Äpfel", "likely"),  # no other page has letters of its language for both bytes
    ],
)
def test_the_confidence_in_a_code_page_says_whether_others_fit_as_well(
    tmp_path: Path, name: str, confidence: str
) -> None:
    data = name.encode("cp273")
    path = tmp_path / "data"
    path.write_bytes((len(data) + 4).to_bytes(2, "big") + bytes(2) + data)
    (found,) = inspect_file(str(path))
    (page,) = (each for each in found.candidates[0].findings if each.what == "code page")
    assert (page.value, page.confidence) == ("037" if name == "MILLER" else "273", confidence)


def test_a_compressed_file_is_told_and_looked_into(tmp_path: Path) -> None:
    data, rows, _ = made("VB", "cp273", "numbers", 3)
    path, copybook = tmp_path / "data.gz", tmp_path / "r.cpy"
    path.write_bytes(gzip.compress(data))
    copybook.write_text(COPYBOOKS["numbers"][0])
    (found,) = inspect_file(str(path), str(copybook))
    assert (found.compressed, found.size) == ("gzip", len(data))
    assert found.candidates[0].format.name == "VB"
    assert found.candidates[0].format.dcb == "RECFM=VB"
    assert rows_of(path, found.candidates[0], copybook=str(copybook)) == rows


def test_header_and_trailer_of_fixed_records(tmp_path: Path) -> None:
    data, rows, records = made("F", "cp037", "numbers", 4)
    size = len(records[0])
    path, copybook = tmp_path / "data", tmp_path / "r.cpy"
    path.write_bytes("HDR20261126".ljust(size).encode("cp037") + data + "TRL000120".ljust(size).encode("cp037"))
    copybook.write_text(COPYBOOKS["numbers"][0])
    (found,) = inspect_file(str(path), str(copybook))
    ends = {each.what: each for each in found.candidates[0].findings}
    assert ends["header"].options == {"file_start_offset": str(size)}
    assert ends["trailer"].options == {"file_end_offset": str(size)}
    assert rows_of(path, found.candidates[0], copybook=str(copybook)) == rows


def test_a_copybook_that_does_not_fit_is_told_by_the_field_where_it_goes_wrong(tmp_path: Path) -> None:
    data, _, _ = made("VB", "cp037", "numbers", 5)
    path, copybook = tmp_path / "data", tmp_path / "r.cpy"
    path.write_bytes(data)
    copybook.write_text("01 R. 05 NAME PIC X(20). 05 COUNT1 PIC 9(7). 05 AMOUNT PIC S9(5) COMP-3. 05 N PIC 9(8) COMP.")
    (found,) = inspect_file(str(path), str(copybook))
    assert found.candidates[0].format.name == "VB"
    assert re.match(rf"field COUNT1 at offset 20 is corrupt in 1\d\d of {COUNT} records", found.candidates[0].misfit)


def test_what_is_in_a_directory_and_what_fits_nothing(tmp_path: Path) -> None:
    for number, name in enumerate(("V", "VB")):
        (tmp_path / f"{number}").write_bytes(made(name, "cp037", "text", 6)[0])
    assert [each.candidates[0].format.dcb for each in inspect_file(str(tmp_path))] == ["RECFM=RDW", "RECFM=VB"]
    (tmp_path / "1").write_bytes(b"")
    with pytest.raises(DatasetError, match="1: the file is empty"):
        inspect_file(str(tmp_path))


def test_the_command_prints_what_to_paste(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, _, _ = made("VB exclusive", "cp273", "numbers", 7)
    path, copybook = tmp_path / "data", tmp_path / "r.cpy"
    path.write_bytes(data)
    copybook.write_text(COPYBOOKS["numbers"][0])
    assert main(["dataset", str(path), "--copybook", str(copybook)]) == 0
    shown = capsys.readouterr().out
    assert f"{path}: {len(data)} bytes" in shown
    assert "VB, BDW big-endian, without its own length, RDW big-endian, without its own length" in shown
    assert f"spark.read.format(\"qsam\").option('copybook', '{copybook}').option('record_format', 'VB')" in shown
    assert "('ebcdic_code_page', 'cp273')" in shown
    assert main(["dataset", "look", str(path), "--copybook", str(copybook), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    best = found["candidates"][0]
    assert (best["qsam"]["bdw_adjustment"], best["misfit"], best["corrupt"]) == ("0", None, 0)
    assert set(best["records"][0]) == {"NAME", "COUNT1", "AMOUNT", "NUMBER1"}


def test_the_dd_card_has_the_keys_of_region_yaml(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes.fromhex("001c0000 00060000c1c2 00060000c1c2 00060000c1c2 00060000c1c2") * 20)
    assert main(["dataset", str(path)]) == 0
    assert "DD card   recfm: VB\n" in capsys.readouterr().out
    Region(dd={"CARD": {"path": str(path), "recfm": "VB"}}).close()


def test_errors_of_reads_name_the_command(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"\xc1" * 99)
    with pytest.raises(DatasetError, match=rf"; tdq dataset {path} tries all formats$"):
        plan(read_options({"path": str(path), "record_format": "VB", "input_split_records": "1"}))


CARDDEMO = {"DALYTRAN.PS": 350, "CARDXREF.PS": 50, "ACCTDATA.PS": 300, "CUSTDATA.PS": 500, "TCATBALF.PS": 50}


@pytest.mark.parametrize("name", CARDDEMO)
def test_real_data_sets(name: str) -> None:
    folder = Path(os.environ.get("TDQ_DATA", "../shared/data")) / "carddemo"
    if not (folder / name).is_file():
        pytest.skip(f"the real data set {name} is not on this machine (TDQ_DATA says where they are)")
    (found,) = inspect_file(str(folder / name))
    best = found.candidates[0]
    assert best.format.dcb == f"RECFM=FB,LRECL={CARDDEMO[name]}"
    assert {each.what: each.value for each in best.findings} == {"encoding": "EBCDIC", "code page": "037"}
