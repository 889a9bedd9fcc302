"""Every lie a file can tell, and what a program sees: a condition, a message that says what is wrong, never more."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tdqsim.cics import Condition
from tdqsim.cics.region import Region
from tdqsim.definitions import define_tdqueue, parse_definitions
from tdqsim.errors import DefinitionError
from tdqsim.facts import Cvda, Resp
from tests.rules import rule

FIXED = {"recordformat": "FIXED", "blockformat": "BLOCKED", "recordsize": 4, "blocksize": 8}
VARIABLE = {"recordformat": "VARIABLE", "blockformat": "BLOCKED", "recordsize": 84, "blocksize": 200}
SPANNED = {"dd": {"recfm": "VBS", "lrecl": "84", "blksize": "20"}}
HEADED = {"dd": {"recfm": "RDW"}}
LINES = {"dd": {"recfm": "LF", "lrecl": "10"}}
VB_FILE = bytes.fromhex("00090000 00050000 C1 00090000 00050000 E9")
Shape = dict


def region_with(path: Path, shape: Shape, **attributes) -> Region:
    attributes |= {name: value for name, value in shape.items() if name != "dd"}
    queue = define_tdqueue(name="INQ", type="EXTRA", ddname="IN", opentime="DEFERRED", **attributes)
    card = {"path": str(path), **shape.get("dd", {})}
    return Region([queue], dd={"IN": card}, supplied_queues=False)


def met(call: Callable, *arguments, **options):
    try:
        return call(*arguments, **options)
    except Condition as condition:
        return condition.resp, condition.detail


def nothing(_path: Path) -> None:
    pass


def directory(path: Path) -> None:
    path.mkdir()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def loop(path: Path) -> None:
    path.symlink_to(path)


def dangling(path: Path) -> None:
    path.symlink_to(path.with_name("nowhere"))


def below_a_file(path: Path) -> None:
    path.parent.rmdir()
    path.parent.write_bytes(b"a file where a directory should be")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (nothing, "does not exist"),
        (directory, "is a directory"),
        (pipe, "not a regular file"),
        (device, "not a regular file"),
        (loop, "symbolic links"),
        (dangling, "does not exist"),
        (below_a_file, "Not a directory"),
    ],
)
@pytest.mark.parametrize("typefile", ["INPUT", "RDBACK"])
def test_what_is_no_data_set_is_not_opened(tmp_path, make, words, typefile):
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "data"
    make(path)
    with region_with(path, FIXED, typefile=typefile) as region:
        resp, detail = met(region.set_tdqueue, "INQ", openstatus="OPEN")
        assert resp is Resp.IOERR
        assert words in detail
        assert str(path) in detail
        assert region.inquire_tdqueue("INQ", "OPENSTATUS").openstatus is Cvda.CLOSED
        assert met(region.readq_td, "INQ")[0] is Resp.NOTOPEN
        assert region.peek("INQ") == []


@pytest.mark.parametrize("make", [directory, pipe, device, loop, below_a_file])
def test_what_is_no_data_set_is_not_written(tmp_path, make):
    folder = tmp_path / "folder"
    folder.mkdir()
    make(folder / "data")
    with region_with(folder / "data", FIXED, typefile="OUTPUT") as region:
        resp, detail = met(region.set_tdqueue, "INQ", openstatus="OPEN")
        assert (resp, str(folder) in detail) == (Resp.IOERR, True)
        assert met(region.writeq_td, "INQ", b"1234")[0] is Resp.NOTOPEN


@pytest.mark.parametrize("typefile", ["INPUT", "OUTPUT"])
def test_no_permission(tmp_path, monkeypatch, typefile):
    path = tmp_path / "data"
    path.write_bytes(b"12345678")
    system_open = os.open

    def refuse(name, *arguments, **options):  # root, as whom tests may run, is refused nothing
        if Path(name) == path:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return system_open(name, *arguments, **options)

    monkeypatch.setattr(os, "open", refuse)
    with region_with(path, FIXED, typefile=typefile) as region:
        resp, detail = met(region.set_tdqueue, "INQ", openstatus="OPEN")
        assert (resp, "may not be opened" in detail) == (Resp.IOERR, True)


# the format told, the bytes, what READQ then meets one after the other: a record, or words of the message with IOERR
LIES = [
    (FIXED, b"", []),
    (FIXED, b"1234" + b"56", [b"1234", "ends with 2 bytes", b"56"]),
    (
        {**FIXED, "dd": {"detect": "NO"}},
        VB_FILE,
        [VB_FILE[at : at + 4] for at in (0, 4, 8, 12)] + ["ends with 2 bytes", VB_FILE[16:]],
    ),
    (VARIABLE, b"", []),
    (VARIABLE, b"\0", ["ends inside a block", b"\0"]),
    (VARIABLE, b"12345678", ["BDW X'31323334'", b"5678"]),
    (VARIABLE, b"one line\nand another\n", ["BDW X'6F6E6520'", b"line\nand another\n"]),
    (VARIABLE, b"\0\0\0\0" + VB_FILE, ["BDW X'00000000'", VB_FILE]),
    (VARIABLE, VB_FILE[:-1], [b"\xc1", "ends inside a block", VB_FILE[13:-1]]),
    (VARIABLE, VB_FILE[:10], [b"\xc1", "ends inside a block", VB_FILE[9:10]]),
    (VARIABLE, bytes.fromhex("00090000 00060000 C1") + VB_FILE, ["RDW X'00060000'", b"\xc1", b"\xc1", b"\xe9"]),
    (VARIABLE, bytes.fromhex("00090000 00000000 C1") + VB_FILE, ["RDW X'00000000'", b"\xc1", b"\xc1", b"\xe9"]),
    (VARIABLE, bytes.fromhex("00090000 00050101 C1") + VB_FILE, ["RDW X'00050101'", b"\xc1", b"\xc1", b"\xe9"]),
    (VARIABLE, bytes.fromhex("7FF80000") + b"x", ["BDW X'7FF80000'", b"x"]),
    (SPANNED, bytes.fromhex("00090000 00050200 C1") + VB_FILE, ["no first segment", b"\xc1", b"\xc1", b"\xe9"]),
    (SPANNED, bytes.fromhex("00090000 00050100 C1") + VB_FILE, ["has no last segment", b"\xc1", b"\xc1", b"\xe9"]),
    (SPANNED, bytes.fromhex("00090000 00050100 C1"), ["its last segment is missing", b"\xc1"]),
    (HEADED, bytes.fromhex("00050000 C1 00020000 C2"), [b"\xc1", "it says 2", b"\xc2"]),
    (HEADED, bytes.fromhex("00050000 C1 00090000 C2"), [b"\xc1", "ends inside a record", b"\xc2"]),
    (LINES, b"short\nmuch too long a line\nend", [b"short", "a line of 20 bytes", b"much too l", b"end"]),
]


@pytest.mark.parametrize(("shape", "data", "expected"), LIES, ids=range(len(LIES)))
@pytest.mark.parametrize("erroroption", ["IGNORE", "SKIP"])
def test_a_lie_is_one_ioerr_that_says_what_is_wrong(tmp_path, shape, data, expected, erroroption):
    path = tmp_path / "data"
    path.write_bytes(data)
    with region_with(path, shape, erroroption=erroroption) as region:
        region.set_tdqueue("INQ", openstatus="OPEN")
        behind = [index + 1 for index, wanted in enumerate(expected) if isinstance(wanted, str)]
        left = [
            wanted
            for index, wanted in enumerate(expected)
            if isinstance(wanted, bytes) and not (erroroption == "SKIP" and index in behind)
        ]
        assert region.peek("INQ") == left
        accepted = False  # what IGNORE delivers of the damaged block, SKIP passes over
        for wanted in expected:
            if isinstance(wanted, str):
                resp, detail = met(region.readq_td, "INQ")
                assert (resp, wanted in detail, str(path) in detail) == (Resp.IOERR, True, True), detail
                accepted = True
            elif accepted and erroroption == "SKIP":
                accepted = False
            else:
                assert met(region.readq_td, "INQ") == wanted
                accepted = False
        assert region.peek("INQ") == []
        for _ in range(2):
            assert met(region.readq_td, "INQ")[0] is Resp.QZERO
        assert region.inquire_tdqueue("INQ", "EMPTYSTATUS").emptystatus is Cvda.EMPTY


@pytest.mark.rule("DS-FIXED-WORDS")
@pytest.mark.parametrize("erroroption", ["IGNORE", "SKIP"])
def test_fixed_records_of_a_file_with_descriptor_words_are_refused_at_open(tmp_path, erroroption):
    path = tmp_path / "data"
    path.write_bytes(VB_FILE)
    with region_with(path, FIXED, erroroption=erroroption) as region:
        resp, detail = met(region.set_tdqueue, "INQ", openstatus="OPEN")
        assert (resp, str(path) in detail, rule("DS-FIXED-WORDS").message in detail) == (Resp.IOERR, True, True)
        assert met(region.readq_td, "INQ")[0] is Resp.NOTOPEN


def test_a_file_that_grows_or_goes_away_while_it_is_read(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"11112222")
    with region_with(path, FIXED) as region:
        region.set_tdqueue("INQ", openstatus="OPEN")
        assert region.readq_td("INQ") == b"1111"
        with path.open("ab") as file:
            file.write(b"3333")
        path.rename(tmp_path / "elsewhere")
        assert region.readq_td("INQ") == b"2222"
        assert met(region.readq_td, "INQ")[0] is Resp.QZERO
        region.set_tdqueue("INQ", openstatus="CLOSED")
        assert met(region.set_tdqueue, "INQ", openstatus="OPEN")[0] is Resp.IOERR
        (tmp_path / "elsewhere").rename(path)
        region.set_tdqueue("INQ", openstatus="OPEN")
        assert list(region.readq_td_all("INQ")) == [b"1111", b"2222", b"3333"]


def test_a_file_that_becomes_shorter_while_it_is_read(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"1234" * 100_000)
    with region_with(path, FIXED) as region:
        region.set_tdqueue("INQ", openstatus="OPEN")
        region.readq_td("INQ")
        os.truncate(path, 200_000)
        seen = 1
        while isinstance(record := met(region.readq_td, "INQ"), bytes):
            assert record == b"1234"
            seen += 1
        assert (record[0], "became shorter" in record[1], seen) == (Resp.IOERR, True, 50_000)
        assert met(region.readq_td, "INQ")[0] is Resp.QZERO


@pytest.mark.parametrize(
    "dsname", ["../OUT", "..", "A/B", "A..B", "/ETC/PASSWD", "A.B(../C)", "A.B(C/D)", ".VTOC", "A\0B", "A" * 45, "A.B()", "A.B(+1"]
)  # fmt: skip
def test_no_name_leads_out_of_the_data_set_directory(dsname):
    with pytest.raises(DefinitionError, match="dsname"):
        define_tdqueue(name="INQ", type="EXTRA", dsname=dsname)


@pytest.mark.parametrize(
    ("dsname", "make", "words"),
    [
        ("A.B", directory, "is a partitioned data set"),
        ("A.B(M)", lambda path: path.write_bytes(b"x"), "is a sequential data set"),
        ("A.B(M)", directory, "does not exist"),
        ("A.B(0)", nothing, "no such generation"),
        ("A.B(+1)", nothing, "can only be written"),
        ("A.B", nothing, "does not exist"),
    ],
)
def test_a_name_that_leads_to_nothing(tmp_path, dsname, make, words):
    make(tmp_path / "A.B")
    text = f"group: G\ntdqueue:\n- {{name: INQ, type: EXTRA, dsname: {dsname}, recordformat: FIXED, recordsize: 4, opentime: DEFERRED}}\n"
    with Region(parse_definitions(text), datasets=tmp_path, supplied_queues=False) as region:
        resp, detail = met(region.set_tdqueue, "INQ", openstatus="OPEN")
        assert (resp, words in detail) == (Resp.IOERR, True), detail


@pytest.mark.parametrize("label", [b"\xff" * 10, b"RECFM=ZB", b"LRECL=MANY", b"x" * 5000, b"RECFM=VB,LRECL=8"])
def test_a_label_that_lies_or_is_damaged(tmp_path, label):
    (tmp_path / "A.B").write_bytes(b"1234")
    (tmp_path / ".vtoc").mkdir()
    (tmp_path / ".vtoc" / "A.B").write_bytes(label)
    text = "group: G\ntdqueue:\n- {name: INQ, type: EXTRA, dsname: A.B, recordformat: FIXED, recordsize: 4, opentime: DEFERRED}\n"
    with Region(parse_definitions(text), datasets=tmp_path, supplied_queues=False) as region:
        assert met(region.set_tdqueue, "INQ", openstatus="OPEN")[0] is Resp.IOERR
    assert (tmp_path / "A.B").read_bytes() == b"1234"
