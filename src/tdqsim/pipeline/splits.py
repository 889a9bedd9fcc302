"""Divide files into parts that tasks can read independently.

Files are cut by arithmetic, so planning needs only the size of a file and its first bytes. If all records have the same
length, the cuts are where records begin. If descriptor words or separators lead from record to record, each task
searches for the first boundary after its cut (:mod:`tdqsim.pipeline.boundaries`), and reads up to the boundary after
the next cut; both neighbours of a cut make the same search. If a search fails, the cut is ignored: the task before it
reads on, and the task after it is empty. A task fails if its records do not end where the next task begins.

In spanned files the boundary is a block, which may begin inside a record. A record belongs to the task that has its
first segment: that task reads on to the last segment, and checks all segments up to the first one of the next record,
where the next task begins.

A pass over the file determines the cuts, and counts the records before each cut, in these cases: record numbers or
segment ids are requested; parts have a number of records; or only the data of a record give its length. Compressed
files are not cut, and are not read before their task runs. Several files are planned at the same time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from tdqsim.datasets import RecordFormat
from tdqsim.errors import DatasetError
from tdqsim.pipeline._numbers import Ints
from tdqsim.pipeline.boundaries import boundary, is_searchable, record_steps
from tdqsim.pipeline.descriptor_words import DESCRIPTOR, NO_STOP, CutShort, Frames, FramingError, blocks_in
from tdqsim.pipeline.extractors import extracted, extractor_of
from tdqsim.pipeline.format_check import HEAD, refuse_other_format, words_hint
from tdqsim.pipeline.opening import CHUNK, Opened, Unpacked, list_files, open_file
from tdqsim.pipeline.options import QsamOptions
from tdqsim.pipeline.record_locations import walk_for
from tdqsim.pipeline.segments import SegmentState, segment_states

BATCH_ROWS = 1 << 15
BLOCK_CHUNK = 16 << 20
LARGEST_CHUNK = 1 << 30
UTF8_MARK = b"\xef\xbb\xbf"
AHEAD = 1 << 16
"""How many bytes after a part are read first, to find the end of the last spanned record in it."""
FILES_AT_ONCE = 100


WALK_HINT: Final = (
    "the data are damaged near there, or hold what looks like descriptor words; option plan=walk reads the file in one "
    "pass"
)
PACKED: Final = -1
"""The end of the data of a compressed file."""
WHOLE: Final = 1 << 62
"""The end of data whose size is unknown before it is read."""


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a file for one task.

    Attributes:
        file_id: the number of the file in the read.
        path: the file, as the options name it; a relative path starts at ``folder``, because a task may have another
            current directory.
        start, end: where the part begins and ends: boundaries, or cuts from which to search for boundaries.
        first_record: the number of its first record; -1 where records were not counted.
        segments: the state of the segments before it, if their ids are wanted.
        folder: the current directory of the plan.
        data_end: where the data of the file ends; PACKED for a compressed file, whose ``end`` is its compressed size.
        searched: whether ``start`` and ``end`` are cuts.
    """

    file_id: int
    path: str
    start: int
    end: int
    first_record: int
    segments: SegmentState | None = None
    folder: str = ""
    data_end: int = PACKED
    searched: bool = False

    @property
    def place(self) -> str:
        """The path that a task opens."""
        return self.path if "://" in self.path else os.path.join(self.folder, self.path)  # noqa: PTH118 - text


def plan(options: QsamOptions, *, count: bool | None = None) -> list[Split]:
    """The parts of all files of a read.

    Args:
        options: those of the read.
        count: number the records, which may need a pass over the file; None: if the options need numbers.

    Raises:
        DatasetError: a file is missing or cannot be read, or its descriptor words are wrong.
    """
    files = list_files(options.paths)
    (extractor_of if options.extracted else walk_for)(
        options
    )  # this reports a missing option of the format now and not in a task
    wanted = options.generate_record_id if count is None else count
    numbered = list(enumerate(files))
    workers = min(len(files), os.cpu_count() or 1)
    each = max(1, min(FILES_AT_ONCE, len(files) // (4 * workers)))  # a thread for each small file would cost more
    folder = str(Path.cwd())

    def some(at: int) -> list[Split]:
        return [
            replace(split, folder=folder)
            for number, file in numbered[at : at + each]
            for split in _file_splits(number, file, options, wanted)
        ]

    with ThreadPoolExecutor(workers) as pool:
        return [split for part in pool.map(some, range(0, len(numbered), each)) for split in part]


def _file_splits(file_id: int, file: tuple[str, int], options: QsamOptions, wanted: bool) -> list[Split]:
    path, size = file
    start, end = options.file_start_offset, size - options.file_end_offset
    opened = open_file(path)
    try:
        if isinstance(opened, Unpacked):
            return [Split(file_id, path, start, size, 0)]
        if start > end:
            raise DatasetError(f"{path}: {size} bytes are less than what is to be skipped at its start and end")
        _check_head(opened, start, end, options)
        start += _mark(opened, start, options)
        cuts, counts = _cuts(opened, start, end, options, wanted or bool(options.segment_levels))
        states = _states(opened, cuts, end, options)
    except FramingError as error:
        raise framing_error(opened, path, error, options) from None
    except (OSError, EOFError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}") from error
    finally:
        opened.close()
    bounds = zip(cuts, [*cuts[1:], end], counts, states, strict=True)
    return [Split(file_id, path, *each, data_end=end, searched=counts[-1] < 0) for each in bounds]


def _check_head(opened: Opened, start: int, end: int, options: QsamOptions) -> None:
    """Refuse a file whose first bytes show a different format."""
    if options.check_words and not (options.self_sized or options.extracted):
        head = opened.read_at(min(HEAD, end - start), start).removeprefix(UTF8_MARK if options.recfm.separator else b"")
        refuse_other_format(head, start, options, whole=start + len(head) == end or len(head) < HEAD)


def _mark(opened: Opened, start: int, options: QsamOptions) -> int:
    """The length of a byte order mark of UTF-8 before the first line."""
    lines = options.recfm.separator and not options.self_sized and not options.extracted
    return len(UTF8_MARK) if lines and opened.read_at(len(UTF8_MARK), start) == UTF8_MARK else 0


def _states(opened: Opened, cuts: list[int], end: int, options: QsamOptions) -> list[SegmentState | None]:
    """The state of segment ids at the start of each part."""
    if not options.segment_levels or len(cuts) == 1:
        return [None] * len(cuts)
    bounds = zip(cuts, [*cuts[1:], end], strict=True)
    parts = (walk_part(opened, low, high, options, data_end=end) for low, high in bounds)
    return list(segment_states(parts, options))


def _cuts(opened: Opened, start: int, end: int, options: QsamOptions, wanted: bool) -> tuple[list[int], list[int]]:
    """Where parts begin, and the number of the first record of each (-1: not counted)."""
    if options.extracted:
        return [start], [0]
    if unit := _unit(options):
        records = options.split_records or max(options.split_bytes // unit, 1)
        step = records * unit if options.splittable else max(end - start, 1)
        cuts = list(range(start, end, step)) or [start]
        return cuts, [(cut - start) // unit for cut in cuts]
    if not options.splittable or (end - start <= options.split_bytes and not options.split_records):
        return [start], [0]
    if not (wanted or options.split_records or options.self_sized):
        if options.plan == "walk":
            return [start], [0]
        if _can_search(opened, start, end, options):
            cuts = list(range(start, end, options.split_bytes))
            return cuts, [0] + [-1] * (len(cuts) - 1)
    return _walked_cuts(opened, start, end, options)


def _can_search(opened: Opened, start: int, end: int, options: QsamOptions) -> bool:
    """Whether boundaries can be searched for, judging by the words at the head of the file and by a first search."""
    if options.recfm.separator:
        return True
    data = np.frombuffer(opened.read_at(min(HEAD, end - start), start), np.uint8)
    try:
        frames = walk_for(replace(options, minimum_record_length=0, maximum_record_length=0))(data, False)
    except FramingError as error:
        raise FramingError(error.problem, start + error.offset) from None
    return (
        is_searchable(data, frames.places, options)
        and boundary(opened.read_at, start + options.split_bytes, end, options) is not None
    )


def _unit(options: QsamOptions) -> int:
    """Bytes of every record, if arithmetic gives the place of each; else 0."""
    if options.self_sized or options.blocked:
        return 0
    if options.recfm is RecordFormat.U:
        return options.block_length
    return options.length if options.recfm.fixed else 0


def _walked_cuts(opened: Opened, start: int, end: int, options: QsamOptions) -> tuple[list[int], list[int]]:
    """Cuts by one pass over the file, after a number of bytes or records, and how many records precede each."""
    cuts, counts, counted = [start], [0], 0
    size, records = (1, options.split_records) if options.split_records else (options.split_bytes, 1)
    side: Any = "left" if options.self_sized or options.recfm.separator else "right"  # for equal places
    for base, frames in walk_part(opened, start, end, options):
        heads = _heads(frames, options)
        numbers = np.searchsorted(frames.places, heads, side) + counted
        heads += base
        while True:
            after = np.searchsorted(heads, cuts[-1] + size), np.searchsorted(numbers, counts[-1] + records)
            if (at := int(max(after))) >= len(heads):
                break
            cuts.append(int(heads[at]))
            counts.append(int(numbers[at]))
        counted += len(frames.starts)
    return cuts, counts


def _heads(frames: Frames, options: QsamOptions) -> Ints:
    """Where a part may begin in walked bytes: at records, at lines, or at blocks."""
    if options.self_sized:
        return frames.places.copy()
    if separator := options.recfm.separator:
        places = frames.places
        heads: Ints = places[(places == 0) | (frames.data[places - 1] == separator[-1])]  # some lines are many records
        return heads
    if not options.blocked:
        return frames.places - DESCRIPTOR
    walked = frames.data if frames.walked is None else frames.walked
    return blocks_in(walked[: frames.used], True, options)[0] - DESCRIPTOR


def part_bounds(opened: Opened, split: Split, options: QsamOptions) -> tuple[int, int]:
    """Where the first record of a part begins, and where the last one ends.

    Raises:
        FramingError: a compressed file begins like another format; or boundaries are out of order.
    """
    if isinstance(opened, Unpacked):
        opened.held_back = options.file_end_offset
        end = opened.size() if options.extracted else WHOLE
        if split.start and not opened.read_at(1, split.start - 1):
            raise DatasetError(f"{split.path}: it is shorter than what is to be skipped at its start and end")
        _check_head(opened, split.start, end, options)
        return split.start + _mark(opened, split.start, options), end
    if not split.searched:
        return split.start, split.end

    def boundary_after(cut: int) -> int | None:
        return boundary(opened.read_at, cut, split.data_end, options)

    start = split.start if split.first_record == 0 else boundary_after(split.start)
    if start is None:
        return split.end, split.end
    after = (boundary_after(cut) for cut in range(split.end, split.data_end, split.end - split.start))
    end = next((place for place in after if place is not None), split.data_end)
    if end < start:
        raise FramingError(
            f"the search found a record here, but found {start} as the first place after an earlier one; {WALK_HINT}",
            end,
        )
    return start, end


def framing_error(
    opened: Opened, path: str, error: FramingError, options: QsamOptions, *, searched: int = -1
) -> DatasetError:
    """The error for users: file, record (counted from 1), offset, and what is wrong first.

    Args:
        opened: the file.
        path: its name.
        error: the error of the walk.
        options: the options of the read.
        searched: the end of the part, if it was determined by a search.
    """
    try:
        number = records_before(opened, error.offset, options) + 1
    except FramingError as earlier:  # blocks are checked together, so another error may precede it in the file
        return framing_error(opened, path, earlier, options)
    problem = error.problem
    if isinstance(error, CutShort) and error.offset < searched:
        problem = (
            f"the records do not lead to offset {searched}, where the descriptor words that follow show that a record "
            f"begins; {WALK_HINT}"
        )
    hint = _hint(opened, options, error.offset) or f"; tdq dataset {path} tries all formats"
    hint = "" if hint.removeprefix("; ") in problem else hint
    return DatasetError(f"{path}: record {number}, at offset {error.offset}: {problem}{hint}")


def _hint(opened: Opened, options: QsamOptions, offset: int) -> str:
    """A hint for the message: the damage, or another format that fits the file's descriptor words; empty for none."""
    if options.self_sized or options.extracted or not (options.recfm.variable or options.recfm is RecordFormat.RDW):
        return ""
    start = options.file_start_offset
    most = max(offset - start, 0) + HEAD
    head = opened.read_at(HEAD, start)
    pieces = (opened.read_at(min(CHUNK, most - at), start + at) for at in range(0, most, CHUNK))
    over, more = (opened.read_at(1, start + size) for size in (HEAD, most))
    return words_hint(head, pieces, options, whole=not over, most=most if more else 0)


def records_before(opened: Opened, end: int, options: QsamOptions) -> int:
    """How many records precede a place in a file at which a record, or the error in one, begins."""
    count, used = 0, options.file_start_offset
    try:
        for base, frames in walk_part(opened, used, end, options, whole=options.self_sized):
            count += int(np.count_nonzero(frames.places + base < end))
            used = base + frames.used
    except FramingError:
        if not options.extracted:  # an extractor reads on, to the error for which records are counted
            raise
    in_block = options.blocked and not options.extracted
    return count + (_in_block(opened.read_at(end - used, used), options) if in_block else 0)


def _in_block(data: bytes, options: QsamOptions) -> int:
    """How many records that begin in a block are whole, in a block that continues beyond ``data``."""
    if options.fixed_blocks:
        return max(len(data) - DESCRIPTOR, 0) // options.length
    steps, place, count, begun = record_steps(np.frombuffer(data, np.uint8), options), DESCRIPTOR, 0, False
    while place < len(steps) and place < steps[place] <= len(data):
        code = data[place + 2] if options.recfm.spanned else 0
        begun = begun or not code & 2
        count += begun and not code & 1
        place = int(steps[place])
    return count


def walk_part(
    opened: Opened,
    start: int,
    end: int,
    options: QsamOptions,
    *,
    data_end: int = PACKED,
    whole: bool = True,
    rows: int = BATCH_ROWS,
) -> Iterator[tuple[int, Frames]]:
    """The records of a part in frames of some megabytes, each with the file offset of its bytes.

    Frames of fixed records have ``rows`` records at most. Unless ``whole``, the part may end inside a record. A spanned
    record that begins in the part and ends after it is read to its end, if ``data_end`` is given.

    Raises:
        FramingError: a descriptor word is wrong; the offset in the error is that in the file.
    """
    # Long, because where and how much the next read reads depends on what the walk has found in this one.
    if options.extracted:
        yield from extracted(opened.read_at, start, end, options)
        return
    walk = walk_for(options)
    usual = BLOCK_CHUNK if options.blocked else CHUNK
    if options.recfm.fixed and not options.self_sized and not options.blocked:
        usual = min(CHUNK, rows * options.length)  # one batch: decoded while it is in the cache
    spans = options.blocked and options.recfm.spanned
    size, beyond, position = usual, AHEAD if spans and end < data_end else 0, start
    while position < end:
        limit = min(end + beyond, data_end) if beyond else end
        data = np.frombuffer(opened.read_at(min(size, limit - position), position), np.uint8)
        after = position + len(data)
        last = after >= end or (end == WHOLE and len(data) < size)
        if not last and len(data) < size:
            raise FramingError("the file has become shorter since it was listed", after)
        part = (position > options.file_start_offset, end - position if last and beyond else NO_STOP) if spans else ()
        try:
            frames = walk(data, last and whole and (not beyond or after >= data_end), *part)
        except FramingError as error:
            raise type(error)(error.problem, position + error.offset) from None
        if len(frames.starts) or not whole:
            yield position, frames
        if last and (frames.used or not beyond):
            break
        position += frames.used
        size, beyond = (usual, beyond) if frames.used else (size * 2, beyond * 16)
        if size > LARGEST_CHUNK:
            raise FramingError("a record does not end within a gigabyte", position)
