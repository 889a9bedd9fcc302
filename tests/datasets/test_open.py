"""Opens that must fail, what they say, and that they change nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tdqsim.datasets import (
    DatasetInUse,
    Dcb,
    DcbError,
    Disposition,
    OpenError,
    PrintControl,
    RecordFormat,
    open_reader,
    open_writer,
    parse_dcb,
    parse_recfm,
    parse_space,
    read_records,
    write_records,
)
from tdqsim.datasets.space import blocks_per_track
from tests.open_files import open_in
from tests.rules import expect_rule

FB = parse_dcb("RECFM=FB,LRECL=80")


@pytest.mark.rule("DS-OPEN-MISSING", "DS-OPEN-DIRECTORY", "DS-OPEN-NOT-REGULAR")
def test_what_cannot_be_read(tmp_path):
    error = expect_rule("DS-OPEN-MISSING", open_reader, tmp_path / "none", FB)
    assert isinstance(error, OpenError)
    assert str(tmp_path / "none") in str(error)
    expect_rule("DS-OPEN-DIRECTORY", open_reader, tmp_path, FB)
    expect_rule("DS-OPEN-DIRECTORY", open_writer, tmp_path, FB)
    os.mkfifo(tmp_path / "pipe")
    expect_rule("DS-OPEN-NOT-REGULAR", open_reader, tmp_path / "pipe", FB)
    expect_rule("DS-OPEN-NOT-REGULAR", open_reader, "/dev/zero", FB)
    with pytest.raises(OpenError, match="directory does not exist"):
        open_writer(tmp_path / "no" / "data", FB)
    for name in ("x" * 300, "nul\0byte"):
        for call in (open_reader, open_writer):
            with pytest.raises(OpenError, match="cannot be opened"):
                call(tmp_path / name, FB)
    assert open_in(tmp_path) == []


@pytest.mark.rule("DS-OPEN-PERMISSION")
def test_no_permission(tmp_path):
    def refuse(path, flags):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "data").write_bytes(b"")
    expect_rule("DS-OPEN-PERMISSION", open_reader, tmp_path / "data", FB, opener=refuse)
    expect_rule("DS-OPEN-PERMISSION", open_writer, tmp_path / "data", FB, opener=refuse)


@pytest.mark.rule("DS-NEW-EXISTS")
def test_new(tmp_path):
    path = tmp_path / "data"
    write_records(path, [b"A" * 80], FB, disposition=Disposition.NEW)
    expect_rule("DS-NEW-EXISTS", open_writer, path, FB, disposition=Disposition.NEW)
    assert path.stat().st_size == 80
    with pytest.raises(OpenError, match="DISP=NEW is for output"):
        open_reader(path, FB, disposition=Disposition.NEW)


@pytest.mark.rule("DS-RDBACK-REFUSED")
@pytest.mark.parametrize("recfm", ["V", "VB", "VS", "VBS", "RDW", "RDWLE", "LF"])
def test_rdback_of_other_formats_is_refused(tmp_path, recfm):
    (tmp_path / "data").write_bytes(b"")
    expect_rule("DS-RDBACK-REFUSED", open_reader, tmp_path / "data", Dcb(RecordFormat(recfm)), backward=True)


WORDS = {
    "RECFM=VB": "0031 0000 002D 0000 {41}",
    "RECFM=VBS,LRECL=X": "0008 0000 0004 0000 002D 0000 0029 0100 {37} 0008 0000 0004 0200",
    "RECFM=RDW": "0012 0000 {14} 0017 0000 {19}",
    "RECFM=RDWLE,RDWPOS=2,RDWINCL=NO": "0000 0E00 {14} 0000 1300 {19}",
}
"""Descriptor words in hexadecimal digits, and how many bytes of data come after each."""


def image(written):
    parts = [b"A" * int(each[1:-1]) if each.startswith("{") else bytes.fromhex(each) for each in written.split()]
    return b"".join(parts)


@pytest.mark.rule("DS-FIXED-WORDS")
@pytest.mark.parametrize("recfm", ["F", "FB"])
@pytest.mark.parametrize("shown", WORDS)
def test_a_file_with_descriptor_words_has_no_fixed_records(tmp_path, recfm, shown):
    path = tmp_path / "data"
    path.write_bytes(image(WORDS[shown]))
    for lrecl in (1, 7, 10):  # of which its size is a multiple, or is none
        fixed = parse_dcb(f"RECFM={recfm},LRECL={lrecl}")
        for backward in (False, True):
            error = expect_rule("DS-FIXED-WORDS", open_reader, path, fixed, backward=backward)
            assert isinstance(error, DcbError)
            assert f" {shown}: give that" in str(error)
        expect_rule("DS-FIXED-WORDS", read_records, path, fixed)
    as_it_is = read_records(path, parse_dcb(f"RECFM={recfm},LRECL=1"), check_words=False)
    assert b"".join(as_it_is) == path.read_bytes()


@pytest.mark.parametrize(
    "written", ["002D 0000 {41} 002D 0000 {41}", "0031 0000 002D 0000 {41} 0031 0000 002D 0000 {41}"]
)
def test_records_that_hold_their_descriptor_words_are_fixed(tmp_path, written):
    path = tmp_path / "data"
    path.write_bytes(image(written))
    assert len(list(read_records(path, Dcb(RecordFormat.F, lrecl=path.stat().st_size // 2)))) == 2
    with pytest.raises(DcbError, match="descriptor words chain"):
        read_records(path, Dcb(RecordFormat.F, lrecl=path.stat().st_size))


@pytest.mark.rule("DS-DISP-ENQ")
@pytest.mark.parametrize("holder", [Disposition.SHR, Disposition.OLD, Disposition.MOD])
@pytest.mark.parametrize("other", [Disposition.SHR, Disposition.OLD, Disposition.MOD])
def test_disp_excludes(tmp_path, holder, other):
    path = tmp_path / "data"
    write_records(path, [b"A" * 80], FB)
    with open_reader(path, FB, disposition=holder):
        if holder is other is Disposition.SHR:
            open_reader(path, FB, disposition=other).close()
        else:
            for call in (open_reader, open_writer):
                error = expect_rule("DS-DISP-ENQ", call, path, FB, disposition=other)
                assert isinstance(error, DatasetInUse)
    assert path.stat().st_size == 80
    open_reader(path, FB, disposition=other).close()


def test_disp_excludes_other_processes(tmp_path):
    path = tmp_path / "data"
    script = "import sys; from tdqsim.datasets import *; open_reader(sys.argv[1], parse_dcb('RECFM=F,LRECL=1'))"
    with open_writer(path, FB, disposition=Disposition.OLD):
        done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False)
    assert "DatasetInUse" in done.stderr


@pytest.mark.parametrize(
    ("text", "rule_id"),
    [
        ("LRECL=80", "DS-DCB-NO-RECFM"),
        ("RECFM=FB,LRECL=80,BLKSIZE=100", "DS-DCB-BLKSIZE-FIXED"),
        ("RECFM=VB,LRECL=100,BLKSIZE=103", "DS-DCB-BLKSIZE-VARIABLE"),
    ],
)
@pytest.mark.rule("DS-DCB-NO-RECFM", "DS-DCB-BLKSIZE-FIXED", "DS-DCB-BLKSIZE-VARIABLE")
def test_blocks_that_do_not_fit(text, rule_id):
    expect_rule(rule_id, parse_dcb(text).checked)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("RECFM=FB", "need LRECL, 1-32760"),
        ("RECFM=FB,LRECL=32761", "at most 32760"),
        ("RECFM=V,LRECL=32757", "at most 32756"),
        ("RECFM=V,LRECL=X", "at most 32756"),
        ("RECFM=V,LRECL=4", "5 or more"),
        ("RECFM=F,LRECL=80,BLKSIZE=160", "one record a block"),
        ("RECFM=FB,LRECL=80,BLKSIZE=32768", "at most 32767"),
        ("RECFM=FB,LRECL=80,BUFNO=256", "at most 255"),
        ("RECFM=VBS,LRECL=100,BLKSIZE=8", "9 or more"),
        ("RECFM=RDW,LRECL=3", "4 or more"),
        ("RECFM=RDW,RDWPOS=1", "byte 0 or 2"),
        ("RECFM=U,LRECL=10,BLKSIZE=5", "a block is a record"),
    ],
)
def test_limits_of_the_dcb(text, words):
    with pytest.raises(DcbError, match=words):
        parse_dcb(text).checked("data")


@pytest.mark.parametrize(
    "text",
    [
        "RECFM=D",
        "RECFM=FBX",
        "LRECL=abc",
        "LRECL=-1",
        "LRECL=1,LRECL=2",
        "DSORG=PS",
        "RECFM=",
        "RDWINCL=1",
        "LRECL=123456",
    ],
)
def test_text_that_is_no_dcb(text):
    with pytest.raises(DcbError):
        parse_dcb(text)


def test_text_of_a_dcb():
    for text in ("RECFM=FBA,LRECL=133,BLKSIZE=1330", "RECFM=VBS,LRECL=X", "RECFM=RDWLE,BUFNO=3,RDWPOS=2,RDWINCL=NO"):
        assert parse_dcb(text).text == text
    assert parse_recfm("fbs") == (RecordFormat.FB, PrintControl.NONE)
    assert parse_dcb("RECFM=VM").control is PrintControl.MACHINE


@pytest.mark.rule("DS-DCB-MERGE")
def test_merge_takes_the_first_that_is_given():
    definition = Dcb(lrecl=80)
    card = parse_dcb("RECFM=FBA,LRECL=100,BLKSIZE=800")
    label = parse_dcb("RECFM=VB,LRECL=200,BLKSIZE=8000,BUFNO=3")
    merged = definition.or_else(card).or_else(label)
    assert merged == parse_dcb("RECFM=FBA,LRECL=80,BLKSIZE=800,BUFNO=3")
    merged = parse_dcb("RECFM=RDW,RDWPOS=0,RDWINCL=NO").or_else(parse_dcb("RECFM=RDW,RDWPOS=2,RDWINCL=YES"))
    assert (merged.rdw_position, merged.rdw_inclusive) == (0, False)


def test_defaults_of_block_sizes():
    def blksize(text):
        return parse_dcb(text).checked(output=True).blksize

    assert blksize("RECFM=F,LRECL=80") == 80
    assert blksize("RECFM=FB,LRECL=80") == 27920
    assert blksize("RECFM=V,LRECL=84") == 88
    assert blksize("RECFM=VB,LRECL=84") == 27998
    assert blksize("RECFM=VB,LRECL=32756") == 32760
    assert parse_dcb("RECFM=VB,LRECL=84").checked().blksize == 0  # on input: whatever comes


def test_space():
    assert blocks_per_track(80) == 78
    assert [blocks_per_track(size) for size in (27998, 27999, 56664)] == [2, 1, 1]
    assert parse_space("CYL,1").blocks(27998) == 30
    assert parse_space("(TRK,(2,1))").blocks(27998) == 34
    assert parse_space("4096").blocks(80) is None
    for text in ("", "TRK", "(MB,1)", "-1", "1.5", "TRK,(1,2,3)"):
        with pytest.raises(DcbError, match="SPACE"):
            parse_space(text)
