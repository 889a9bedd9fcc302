"""Writing: lengths, blocks, space, full disks, closes."""

from __future__ import annotations

import errno
import os

import pytest

from tdqsim.datasets import (
    DatasetIOError,
    DatasetNotOpen,
    DcbError,
    Disposition,
    DummyWriter,
    OpenError,
    RecordError,
    SpaceExhausted,
    open_reader,
    open_writer,
    parse_dcb,
    parse_space,
    read_records,
    write_records,
)
from tests.datasets.faults import FailingFile, Opener
from tests.rules import expect_rule, rule

FB = parse_dcb("RECFM=FB,LRECL=4,BLKSIZE=12")
VB = parse_dcb("RECFM=VB,LRECL=12,BLKSIZE=28")  # three records of 4 fill a block exactly
VBS = parse_dcb("RECFM=VBS,LRECL=100,BLKSIZE=28")
RDW = parse_dcb("RECFM=RDW,BLKSIZE=24")
LINES = parse_dcb("RECFM=LF,BLKSIZE=15")
ALL = pytest.mark.parametrize("dcb", [FB, VB, VBS, RDW, LINES], ids=lambda dcb: dcb.recfm.value)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data"


@pytest.mark.rule("DS-FIXED-LENGTH")
@pytest.mark.parametrize("record", [b"", b"AAA", b"AAAAA"])
def test_fixed_records_have_exactly_their_length(path, record):
    with open_writer(path, FB) as writer:
        writer.put(b"AAAA")
        error = expect_rule("DS-FIXED-LENGTH", writer.put, record)
        assert (type(error), error.record) == (RecordError, 2)
        with pytest.raises(RecordError):
            writer.put_all([b"BBBB", record, b"CCCC"])
    assert path.read_bytes() == b"AAAABBBB"


@pytest.mark.rule("DS-VARIABLE-LENGTH")
def test_variable_records_leave_room_for_their_rdw(path):
    with open_writer(path, VB) as writer:
        writer.put(b"12345678")
        error = expect_rule("DS-VARIABLE-LENGTH", writer.put, b"123456789")
        assert isinstance(error, RecordError)
    assert list(read_records(path, VB)) == [b"12345678"]


def test_other_lengths_are_refused_too(path):
    for text, record, most in [
        ("RECFM=VBS,LRECL=10,BLKSIZE=20", b"A" * 7, "the longest that LRECL allows has 6"),
        ("RECFM=RDW,LRECL=10", b"A" * 7, "at most 6 fit LRECL"),
        ("RECFM=RDW,LRECL=10,RDWINCL=NO", b"", "at most 10 fit LRECL, at least 1"),
        ("RECFM=LF,LRECL=10", b"A" * 11, "10"),
    ]:
        with open_writer(path, parse_dcb(text)) as writer, pytest.raises(RecordError, match=most):
            writer.put(record)
        assert path.read_bytes() == b""


@pytest.mark.rule("DS-LINE-SEPARATOR")
@pytest.mark.parametrize(("recfm", "record"), [("LF", b"a\nb"), ("CRLF", b"a\r\nb"), ("NL", b"a\x15b")])
def test_a_line_may_not_hold_its_separator(path, recfm, record):
    with open_writer(path, parse_dcb(f"RECFM={recfm}")) as writer:
        error = expect_rule("DS-LINE-SEPARATOR", writer.put, record)
        assert isinstance(error, RecordError)
    assert path.read_bytes() == b""


@pytest.mark.rule("DS-BLOCK-WRITTEN-FULL")
@ALL
def test_only_the_block_not_yet_full_is_lost(path, dcb):
    writer = open_writer(path, dcb)
    for number in range(8):
        writer.put(b"%04d" % number)
    # What is on disk now is what a crash would leave: readable, and behind by less than a block.
    seen = list(read_records(path, dcb))
    assert seen == [b"%04d" % number for number in range(len(seen))]
    assert len(seen) >= 5
    writer.trunc()
    assert list(read_records(path, dcb)) == [b"%04d" % number for number in range(8)]
    writer.put(b"last")
    writer.close()
    assert list(read_records(path, dcb))[-1] == b"last"


def test_unblocked_records_reach_the_file_at_once(path):
    for text in ("RECFM=F,LRECL=4", "RECFM=V,LRECL=8"):
        with open_writer(path, parse_dcb(text)) as writer:
            writer.put(b"AAAA")
            assert list(read_records(path, parse_dcb(text))) == [b"AAAA"]


@pytest.mark.rule("DS-X37-RECORD", "DS-X37-PRIMARY")
@ALL
def test_the_record_that_does_not_fit_is_not_written(path, dcb):
    with open_writer(path, dcb, space=parse_space("60")) as writer:
        taken = 0
        with pytest.raises(SpaceExhausted) as caught:  # noqa: PT012 - which put fails is what is looked for
            while True:
                writer.put(b"%04d" % taken)
                taken += 1
        assert rule("DS-X37-RECORD").message in str(caught.value)
        assert caught.value.code == rule("DS-X37-PRIMARY").message
        assert caught.value.record == taken + 1
        assert writer.records_written == taken
        with pytest.raises(SpaceExhausted):
            writer.put(b"more")
    assert list(read_records(path, dcb)) == [b"%04d" % number for number in range(taken)]
    assert path.stat().st_size <= 60
    assert taken >= 6


@ALL
def test_put_all_returns_how_many_records_it_wrote(path, dcb):
    with open_writer(path, dcb) as writer:
        writer.put(b"AAAA")
        assert writer.put_all([b"BBBB"] * 5) == 5
        assert writer.put_all([]) == 0
        assert writer.records_written == 6


@ALL
def test_put_all_writes_what_fits(path, dcb):
    records = [b"%04d" % number for number in range(100)]
    with open_writer(path, dcb, space=parse_space("60")) as writer:
        with pytest.raises(SpaceExhausted):
            writer.put_all(records)
        taken = writer.records_written
    assert list(read_records(path, dcb)) == records[:taken]


def test_a_spanned_record_is_refused_as_a_whole(path):
    with open_writer(path, VBS, space=parse_space("100")) as writer:
        writer.put(b"A" * 10)
        with pytest.raises(SpaceExhausted):
            writer.put(b"B" * 90)
        writer.put(b"C" * 10)
    assert list(read_records(path, VBS)) == [b"A" * 10, b"C" * 10]


@pytest.mark.rule("DS-X37-EXTENTS")
def test_tracks_and_extents(path):
    dcb = parse_dcb("RECFM=FB,LRECL=80,BLKSIZE=27920")
    with open_writer(path, dcb, space=parse_space("(TRK,(1,1))")) as writer:
        with pytest.raises(SpaceExhausted) as caught:
            writer.put_all(iter(lambda: b"A" * 80, None))
        assert caught.value.code == rule("DS-X37-EXTENTS").message
    assert path.stat().st_size == 16 * 2 * 27920  # two half-track blocks on each of 16 tracks


@pytest.mark.rule("DS-X37-MEMBER")
def test_a_member_ends_with_its_own_code(path):
    with open_writer(path, FB, space=parse_space("8"), partitioned=True) as writer:
        writer.put(b"AAAA")
        writer.put(b"BBBB")
        with pytest.raises(SpaceExhausted) as caught:
            writer.put(b"CCCC")
    assert caught.value.code == rule("DS-X37-MEMBER").message


@pytest.mark.rule("DS-X37-DISK")
@ALL
@pytest.mark.parametrize("how", ["put", "put_all"])
def test_a_full_disk_loses_nothing_that_was_taken(path, dcb, how):
    opener = Opener(room=40)
    writer = open_writer(path, dcb, opener=opener)
    records = [b"%04d" % number for number in range(50)]
    with pytest.raises(SpaceExhausted) as caught:  # noqa: PT012 - which put fails is what is looked for
        if how == "put":
            for record in records:
                writer.put(record)
        else:
            writer.put_all(records)
    assert caught.value.code == rule("DS-X37-DISK").message
    taken = writer.records_written
    assert 3 <= taken <= 12
    list(read_records(path, dcb))  # nothing half-written
    opener.file.room = None  # somebody makes room: it goes on where it stopped
    writer.put_all(records[taken:])
    writer.close()
    assert list(read_records(path, dcb)) == records


@pytest.mark.rule("DS-X37-CLOSE")
@ALL
def test_a_close_that_cannot_write_the_last_block_works_the_second_time(path, dcb):
    opener = Opener(room=40)
    writer = open_writer(path, dcb, opener=opener)
    with pytest.raises(SpaceExhausted):
        writer.put_all([b"%04d" % number for number in range(50)])
    opener.file.room = 0
    error = expect_rule("DS-X37-CLOSE", writer.close)
    assert isinstance(error, SpaceExhausted)
    assert writer.is_open
    writer.close()
    assert not writer.is_open
    seen = list(read_records(path, dcb))
    assert seen == [b"%04d" % number for number in range(len(seen))]


def test_with_statement_tells_of_a_last_block_that_was_lost(path):
    with pytest.raises(SpaceExhausted), open_writer(path, FB, opener=Opener(room=0)) as writer:
        writer.put(b"AAAA")
    assert not writer.is_open


@pytest.mark.rule("DS-WRITE-ERROR")
def test_other_write_errors_leave_the_data_set_whole(path):
    writer = open_writer(path, FB, opener=Opener(room=14, write_error=errno.EIO))
    writer.put_all([b"AAAA"] * 3)
    with pytest.raises(DatasetIOError, match=rule("DS-WRITE-ERROR").message):  # noqa: PT012 - the third one
        for _ in range(3):
            writer.put(b"BBBB")
    assert path.read_bytes() == b"AAAA" * 3
    assert writer.records_written == 5
    with pytest.raises(DatasetIOError):
        writer.close()
    writer.close()
    assert path.read_bytes() == b"AAAA" * 3


def test_a_file_size_limit_is_met_as_a_full_disk(tmp_path):
    """The system's own limit, in a process of its own."""
    import subprocess
    import sys

    script = (
        "import resource, signal, sys\n"
        "from tdqsim.datasets import *\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "writer = open_writer(sys.argv[1], parse_dcb('RECFM=FB,LRECL=80,BLKSIZE=160'))\n"
        "try:\n"
        "    writer.put_all([b'A' * 80] * 20)\n"
        "except SpaceExhausted as error:\n"
        "    print(error.code, writer.records_written)\n"
    )
    path = tmp_path / "data"
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["B37", "13"], done.stderr  # six blocks, and one record waiting in the seventh
    assert path.stat().st_size == 960


@pytest.mark.rule("DS-MOD-DAMAGED")
@pytest.mark.parametrize(
    ("dcb", "data"), [(FB, b"AAAABB"), (VB, b"\0\x10\0\0\0\5"), (VBS, b"\0\x10\0\0"), (RDW, b"\0\x05\0")]
)
def test_mod_refuses_a_data_set_with_a_damaged_end(path, dcb, data):
    path.write_bytes(data)
    expect_rule("DS-MOD-DAMAGED", open_writer, path, dcb, disposition=Disposition.MOD)
    assert path.read_bytes() == data


def test_mod_counts_what_is_there_against_the_space(path):
    write_records(path, [b"AAAA"] * 3, FB)
    with open_writer(path, FB, disposition=Disposition.MOD, space=parse_space("16")) as writer:
        writer.put(b"BBBB")
        with pytest.raises(SpaceExhausted):
            writer.put(b"CCCC")
    full = parse_space("(BLK,(1,0))")
    with open_writer(path, FB, disposition=Disposition.MOD, space=full) as writer, pytest.raises(SpaceExhausted):
        writer.put(b"CCCC")
    assert path.read_bytes() == b"AAAA" * 3 + b"BBBB"


def test_a_closed_writer_writes_no_more(path):
    for dcb in (FB, VB, VBS, RDW, LINES):
        writer = open_writer(path, dcb)
        writer.close()
        writer.close()
        for call, arguments in ((writer.put, [b"AAAA"]), (writer.put_all, [[b"AAAA"]]), (writer.trunc, [])):
            with pytest.raises(DatasetNotOpen):
                call(*arguments)
        assert path.read_bytes() == b""


@pytest.mark.rule("DS-U-OUTPUT")
def test_undefined_cannot_be_written(path):
    error = expect_rule("DS-U-OUTPUT", open_writer, path, parse_dcb("RECFM=U,BLKSIZE=80"))
    assert isinstance(error, DcbError)
    assert not path.exists()


@pytest.mark.rule("DS-DUMMY")
def test_dummy_takes_everything():
    writer = DummyWriter()
    writer.put(b"A")
    assert writer.put_all([b"B", b"CC"]) == 2
    assert writer.records_written == 3
    writer.close()
    with pytest.raises(DatasetNotOpen):
        writer.put(b"A")


def test_a_reader_beside_a_writer_sees_whole_blocks(path):
    with open_writer(path, FB) as writer:
        writer.put_all([b"AAAA"] * 4)
        with open_reader(path, FB) as reader:
            assert list(reader) == [b"AAAA"] * 3


def test_a_data_set_that_cannot_be_emptied_is_refused_and_free_again(tmp_path, monkeypatch):
    def refuse(_file, _size):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    path, opener = tmp_path / "data", Opener()
    with monkeypatch.context() as patch:
        patch.setattr(FailingFile, "truncate", refuse)
        with pytest.raises(OpenError, match="cannot be positioned: Input/output error"):
            open_writer(path, FB, opener=opener)
    with open_writer(path, FB) as writer:
        assert writer.is_open
