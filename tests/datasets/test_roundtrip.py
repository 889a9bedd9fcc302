"""Any records in any format and block size come back; any bytes are read as the slow model reads them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tdqsim.datasets import BlockError, Dcb, Disposition, ErrorOption, RecordFormat, open_reader, open_writer
from tests.datasets import model

V, VB, VS, VBS = RecordFormat.V, RecordFormat.VB, RecordFormat.VS, RecordFormat.VBS


@pytest.fixture(scope="module")
def path():
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "data"


@st.composite
def dcb_and_records(draw):
    recfm = draw(st.sampled_from([each for each in RecordFormat if each is not RecordFormat.U]))
    longest = draw(st.integers(1, 60))
    lengths = st.just(longest) if recfm.fixed else st.integers(0, longest)
    bufno = draw(st.integers(1, 5))
    position, inclusive = None, None
    if recfm.fixed:
        blksize = longest * (draw(st.integers(1, 5)) if recfm.blocked else 1)
        dcb = Dcb(recfm, longest, blksize, bufno=bufno)
    elif recfm.spanned:
        dcb = Dcb(recfm, longest + 4, draw(st.integers(9, 80)), bufno=bufno)
    elif recfm.variable:
        dcb = Dcb(recfm, longest + 4, draw(st.integers(longest + 8, 200)), bufno=bufno)
    elif recfm.separator:
        dcb = Dcb(recfm, longest, draw(st.integers(0, 100)), bufno=bufno)
    else:
        position, inclusive = draw(st.sampled_from([0, 2])), draw(st.booleans())
        dcb = Dcb(recfm, longest + 4, draw(st.integers(0, 100)), None, bufno, position, inclusive)
        lengths = st.integers(0 if inclusive else 1, longest)
    record = lengths.flatmap(lambda size: st.binary(min_size=size, max_size=size))
    records = draw(st.lists(record, max_size=30))
    if recfm.separator:
        records = [each.replace(b"\n", b"+").replace(b"\x15", b"+") for each in records]
        # A line that is empty and last leaves no trace only if it has no separator, which writing always gives.
    return dcb, records


@settings(max_examples=3 * settings.default.max_examples)
@given(dcb_and_records(), st.integers(0, 30), st.sampled_from(["put", "put_all"]))
def test_what_is_written_is_read(path, case, first, how):
    dcb, records = case
    for part, disposition in ((records[:first], Disposition.OLD), (records[first:], Disposition.MOD)):
        with open_writer(path, dcb, disposition=disposition) as writer:
            if how == "put":
                for record in part:
                    writer.put(record)
            else:
                writer.put_all(part)
            assert writer.records_written == len(part)
    with open_reader(path, dcb) as reader:
        head = reader.get()
        assert ([] if head is None else [head]) + list(reader) == records
        assert reader.records_read == len(records)
        assert reader.get() is None
    with open_reader(path, dcb) as reader:
        reader.skip(first)
        assert reader.records_read == min(first, len(records))
        assert list(reader) == records[first:]
    with open_reader(path, dcb) as reader:
        head = reader.get()
        reader.skip(first)
        assert ([] if head is None else [head]) + list(reader) == records[:1] + records[first + 1 :]
    if dcb.recfm.fixed:
        with open_reader(path, dcb, backward=True) as reader:
            assert list(reader) == records[::-1]


DCBS = st.sampled_from(
    [
        Dcb(RecordFormat.F, 3),
        Dcb(RecordFormat.FB, 4, 12),
        Dcb(V, 20, 24),
        Dcb(VB, 20, 40),
        Dcb(VS, 30, 20),
        Dcb(VBS, 12, 30),
        Dcb(RecordFormat.RDW, 20),
        Dcb(RecordFormat.RDWLE, 20, 0, None, 0, 2, False),
        Dcb(RecordFormat.LF, 6),
        Dcb(RecordFormat.CRLF, 6),
    ]
)
# Bytes that often make sense as descriptor words, and often nearly so.
SHORT = st.integers(0, 24).map(lambda length: bytes([0, length]))
WORD = st.tuples(SHORT, st.sampled_from([b"\0\0", b"\1\0", b"\2\0", b"\3\0", b"\4\0", b"\0\1"])).map(b"".join)
PIECES = st.one_of(WORD, st.binary(max_size=6), st.sampled_from([b"\n", b"\r\n", b"\r", b"abc"]))
BYTES = st.lists(PIECES, max_size=30).map(b"".join)


@settings(max_examples=6 * settings.default.max_examples)
@given(DCBS, BYTES)
def test_any_bytes_are_read_as_the_model_reads_them(path, dcb, data):
    records, wrong = model.read(dcb, data)
    path.write_bytes(data)
    got, met = [], None
    with open_reader(path, dcb, check_words=False) as reader:
        try:
            while (record := reader.get()) is not None:
                got.append(record)
        except BlockError as error:
            met = error
    assert (got, met is not None) == (records, wrong)
    if met is not None:
        assert met.record == len(got) + 1
        assert 0 <= met.offset <= len(data)
        assert met.block == data[met.offset : met.offset + len(met.block)]


@settings(max_examples=4 * settings.default.max_examples)
@given(DCBS, BYTES)
def test_skip_and_accept_come_to_an_end_and_lose_no_good_record_before_the_damage(path, dcb, data):
    records, _ = model.read(dcb, data)
    path.write_bytes(data)
    for eropt in (ErrorOption.SKP, ErrorOption.ACC):
        errors: list[BlockError] = []
        with open_reader(path, dcb, eropt=eropt, on_error=errors.append, check_words=False) as reader:
            got = list(reader)
            assert reader.blocks_in_error == len(errors)
        assert got[: len(records)] == records
        assert sum(map(len, got)) <= len(data)
    by_hand = []
    with open_reader(path, dcb, check_words=False) as reader:
        while True:
            try:
                record = reader.get()
            except BlockError:
                reader.accept_block()
                continue
            if record is None:
                break
            by_hand.append(record)
    assert by_hand == got
