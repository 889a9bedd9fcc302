"""What is asked before it is done (room for a record, whether its length suits) agrees with what is done; passing over records."""

from __future__ import annotations

from itertools import cycle, islice, product

import pytest

from tdqsim.datasets import (
    DummyWriter,
    RecordError,
    SpaceExhausted,
    open_reader,
    open_writer,
    parse_dcb,
    parse_space,
    write_records,
)

DCBS = {
    "RECFM=FB,LRECL=4,BLKSIZE=12": [4],
    "RECFM=F,LRECL=7": [7],
    "RECFM=VB,LRECL=24,BLKSIZE=40": [1, 20, 7, 12, 3],
    "RECFM=V,LRECL=24,BLKSIZE=28": [20, 1],
    "RECFM=VBS,LRECL=100,BLKSIZE=28": [1, 50, 20, 15, 16, 3],
    "RECFM=VS,LRECL=100,BLKSIZE=28": [60, 20, 21],
    "RECFM=RDW,BLKSIZE=24": [1, 16, 5, 20],
    "RECFM=LF,BLKSIZE=15": [1, 14, 6],
    "RECFM=CRLF,BLKSIZE=15": [1, 13, 6],
}


@pytest.mark.parametrize("dcb", DCBS)
def test_room_that_is_told_is_room_that_there_is(tmp_path, dcb):
    """Before each record; and once the writer says that there is none for a record, it takes none such."""
    for space in ("(BLK,(2,1))", *(str(number) for number in range(29, 141, 3))):
        with open_writer(tmp_path / "data", parse_dcb(dcb), space=parse_space(space)) as writer:
            for size in islice(cycle(DCBS[dcb]), 1000):
                told = writer.has_room(size)
                try:
                    writer.put(b"x" * size)
                except SpaceExhausted:
                    assert not told, space
                    break
                assert told, space
            else:
                pytest.fail("the space never ended")


@pytest.mark.parametrize("dcb", DCBS)
def test_without_space_there_is_always_room(tmp_path, dcb):
    with open_writer(tmp_path / "data", parse_dcb(dcb)) as writer:
        for size in islice(cycle(DCBS[dcb]), 50):
            assert writer.has_room(size)
            writer.put(b"x" * size)


@pytest.mark.parametrize(
    ("dcb", "suits", "does_not"),
    [
        ("RECFM=FB,LRECL=4", [4], [3, 5, 0]), ("RECFM=VB,LRECL=24", [0, 20], [21]), ("RECFM=RDW,LRECL=24", [20], [25]),
        ("LRECL=4", [1, 99], []), ("RECFM=VB", [1, 99_999], []),
    ],
)  # fmt: skip
def test_which_lengths_suit(dcb, suits, does_not):
    writer = DummyWriter(parse_dcb(dcb))
    for size in suits:
        writer.put(b"x" * size)
    for size in does_not:
        with pytest.raises(RecordError, match=rf"record {len(suits) + 1}\b.*a record of {size} bytes"):
            writer.put(b"x" * size)
    assert writer.records_written == len(suits)


@pytest.mark.parametrize("dcb", DCBS)
def test_passing_over_records_is_reading_them(tmp_path, dcb):
    records = [b"%d" % (number % 10) * size for number, size in zip(range(20), cycle(DCBS[dcb]), strict=False)]
    write_records(tmp_path / "data", records, parse_dcb(dcb))
    for first, count in product([0, 1, 3], [0, 1, 2, 5, 18, 19, 20, 21, 500]):
        with open_reader(tmp_path / "data", parse_dcb(dcb)) as reader:
            assert [reader.get() for _ in range(first)] == records[:first]
            reader.skip(count)
            assert reader.records_read == min(first + count, 20), (first, count)
            assert list(reader) == records[first + count :], (first, count)
            assert reader.records_read == 20


def test_a_pause_is_made_between_the_buffers_that_are_passed_over(tmp_path):
    dcb = parse_dcb("RECFM=VB,LRECL=1000,BLKSIZE=4000")
    write_records(tmp_path / "data", [b"x" * 900] * 5000, dcb)
    pauses = []
    with open_reader(tmp_path / "data", dcb) as reader:
        reader.skip(4999, lambda: pauses.append(reader.records_read))
        assert reader.get() == b"x" * 900
        assert reader.get() is None
    assert pauses == sorted(pauses)
    assert len(pauses) > 1
