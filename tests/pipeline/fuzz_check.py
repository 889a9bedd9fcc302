"""What must hold for any file: its records are the same however it is cut up; used by the corpus test and the fuzzer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np

from tdqsim.errors import DatasetError
from tdqsim.pipeline import opening, splits
from tdqsim.pipeline.descriptor_words import FramingError
from tdqsim.pipeline.options import read_options
from tdqsim.pipeline.record_locations import walk_for
from tdqsim.pipeline.splits import plan, records_before, walk_part

COPYBOOK = "01 R. 05 TAG PIC X. 05 LEN PIC 99. 05 T PIC X(9)."
OPTIONS = tuple(
    read_options(given)
    for given in (
        {"record_format": "F", "record_length": "3"},
        {"record_format": "F", "record_length": "4", "debug_ignore_file_size": "true"},
        {"record_format": "V"},
        {"record_format": "RDW", "is_rdw_big_endian": "false", "is_rdw_part_of_record_length": "false"},
        {"record_format": "VB"},
        {"record_format": "VB", "is_bdw_big_endian": "false", "is_rdw_big_endian": "false"},
        {"record_format": "VBS"},
        {"record_format": "U", "block_length": "5"},
        {"record_format": "D"},
        {"record_format": "D", "line_separator": "crlf"},
        {"copybook_contents": COPYBOOK, "record_length_field": "LEN"},
        {"copybook_contents": COPYBOOK, "record_length_field": "LEN - 1", "encoding": "ascii"},
        {"record_format": "FB", "record_length": "3", "bdw_adjustment": "-4"},
    )
) + tuple(
    read_options({"copybook_contents": COPYBOOK, **given}, cobrix=True)
    for given in (
        {"record_format": "V"},
        {"record_format": "VB"},
        {"record_format": "VB", "is_rdw_big_endian": "true", "is_bdw_big_endian": "true"},
        {"record_format": "FB"},
        {"record_length_field": "LEN"},
    )
)


def check(data: bytes, path: Path) -> None:
    """Read a file by the format that its first byte chooses, cut as its second says; AssertionError is a finding."""
    if len(data) < 2:
        return
    # What looks like blocks is refused when a read is planned; here it is what it is said to be.
    options = replace(OPTIONS[data[0] % len(OPTIONS)], check_words=False)
    step, body = 8 + data[1] % 60, data[2:]
    path.write_bytes(body)
    name, whole = str(path), at_once(body, options)
    with mock.patch.object(splits, "CHUNK", step), mock.patch.object(splits, "BLOCK_CHUNK", step):
        assert by_parts(name, replace(options, paths=(name,), split_bytes=1 << 20)) == whole
        parts = by_parts(name, replace(options, paths=(name,), split_bytes=step))
        counted = by_parts(name, replace(options, paths=(name,), split_records=1 + step % 7))
    if whole is not None or options.recfm.separator:
        assert parts == whole
        assert counted == whole
    else:  # a part may be refused where it ends that would have ended in a wrong block
        assert parts is None
        assert counted is None


def at_once(body: bytes, options: splits.QsamOptions) -> list[bytes] | None:
    """The records of a file that is held at once; None when it is refused."""
    try:
        frames = walk_for(options)(np.frombuffer(body, np.uint8), True)
    except FramingError as error:
        assert 0 <= error.offset <= len(body)  # noqa: PT017 - either outcome is right
        return None
    return [frames.data[at : at + size].tobytes() for at, size in zip(frames.starts, frames.lengths, strict=True)]


def by_parts(path: str, options: splits.QsamOptions) -> list[bytes] | None:
    """The records of a file that is read as tasks do; None when it is refused."""
    found: list[bytes] = []
    try:
        for split in plan(options, count=True):
            opened = opening.open_file(path)
            try:
                assert split.first_record in (len(found), records_before(opened, split.start, options))
                for _, frames in walk_part(opened, split.start, split.end, options, data_end=split.data_end):
                    places = zip(frames.starts, frames.lengths, strict=True)
                    found += [frames.data[at : at + size].tobytes() for at, size in places]
            finally:
                opened.close()
    except DatasetError:
        return None
    return found
