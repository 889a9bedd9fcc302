"""Cutting files into parts that tasks can read on their own, each beginning at a record.

Fixed records are cut by arithmetic; blocked ones at blocks, found by reading the four bytes at the head of each; lines
at the next separator; and those whose records are only known one after another (record descriptors without blocks,
length fields, counters of tables) by one pass over the file. Compressed files are not cut. Files are looked at side by
side.
"""

from __future__ import annotations

import glob
import os
import socket
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Protocol
from urllib.parse import unquote, urlparse

import numpy as np
import pyarrow as pa
from pyarrow import fs

from tdqsim.core.portable import read_at
from tdqsim.datasets import RecordFormat
from tdqsim.errors import DatasetError
from tdqsim.pipeline.descriptor_words import DESCRIPTOR, block_length_of, record_length_of
from tdqsim.pipeline.extractors import extracted, extractor_of
from tdqsim.pipeline.format_check import HEAD, refuse_other_format, words_hint
from tdqsim.pipeline.frames import Frames, FramingError, walk_for
from tdqsim.pipeline.options import QsamOptions
from tdqsim.pipeline.publishing import place, reached
from tdqsim.pipeline.segments import SegmentState, segment_states

__all__ = [
    "BATCH_ROWS",
    "Opened",
    "Split",
    "compression",
    "framing_error",
    "list_files",
    "open_file",
    "plan",
    "records_before",
    "walk_part",
]

BATCH_ROWS = 1 << 15
# Each column of a batch costs some fifty microseconds whatever its rows: wide records want large chunks.
CHUNK = 16 << 20
BLOCK_CHUNK = 16 << 20
LARGEST_CHUNK = 1 << 30
FILES_AT_ONCE = 100
HIDDEN = ("_", ".")
CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
NOT_UNPACKED = (".deflate", ".lz4", ".lzo", ".snappy", ".xz", ".zip")


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a file for one task: from ``start`` up to ``end``; ``first_record`` is -1 where it was not counted.

    ``path`` is unchanged from the options; a relative one begins in ``folder``, for a task may have another current
    directory.
    """

    file_id: int
    path: str
    start: int
    end: int
    first_record: int
    segments: SegmentState | None = None
    folder: str = ""

    @property
    def place(self) -> str:
        """The path that a task opens."""
        return self.path if "://" in self.path else os.path.join(self.folder, self.path)  # noqa: PTH118 - text


class Opened(Protocol):
    """A file that can be read at any place."""

    def read_at(self, size: int, offset: int) -> bytes:
        """Some bytes from a place in the file; fewer at its end."""

    def close(self) -> None:
        """Close it."""


class _Local:
    """A local file by its descriptor: four-byte reads cost a microsecond."""

    def __init__(self, path: str) -> None:
        self.descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))

    def read_at(self, size: int, offset: int) -> bytes:
        return read_at(self.descriptor, size, offset)

    def close(self) -> None:
        os.close(self.descriptor)


class _Unpacked:
    """A compressed file as if it were not. It is meant to be read forwards: going back begins at the beginning."""

    def __init__(self, path: str, codec: str) -> None:
        self.path, self.codec = path, codec
        self._begin()

    def _begin(self) -> None:
        self.stream = pa.CompressedInputStream(_stream(self.path), self.codec)
        self.kept, self.start = b"", 0

    def read_at(self, size: int, offset: int) -> bytes:
        if offset < self.start:
            self.close()
            self._begin()
        while self.start + len(self.kept) < offset:
            self.start += len(self.kept)
            self.kept = self.stream.read(min(offset - self.start, CHUNK))
            if not self.kept:
                return b""
        self.kept, self.start = self.kept[offset - self.start :], offset
        while len(self.kept) < size and (more := self.stream.read(size - len(self.kept))):
            self.kept += more
        return self.kept[:size]

    def size(self) -> int:
        """How many bytes there are; reads all of it."""
        total = 0
        while chunk := self.stream.read(CHUNK):
            total += len(chunk)
        self.close()
        self._begin()
        return total

    def close(self) -> None:
        self.stream.close()


def _stream(path: str) -> pa.NativeFile:
    if "://" not in path:
        return pa.OSFile(path)
    system, name = file_system(path)
    return system.open_input_file(name)


def compression(path: str) -> str:
    """The codec by which a file is compressed, by the end of its name; empty for none.

    Raises:
        DatasetError: it is compressed in a way that is not known here.
    """
    ending = PurePosixPath(path).suffix.lower()  # of a URI too
    if ending in NOT_UNPACKED:
        raise DatasetError(f"{path}: {ending} files are not decompressed here, only {', '.join(CODECS)}")
    return CODECS.get(ending, "")


def open_file(path: str) -> Opened:
    """Open a path or URI for reading; what is compressed is read as if it were not.

    Raises:
        DatasetError: it cannot be opened, or is compressed in a way that is not known here.
    """
    codec = compression(path)
    try:
        with reached(path):
            found: Opened = _Unpacked(path, codec) if codec else _Local(path) if "://" not in path else _stream(path)
    except FileNotFoundError as error:  # it was there when it was listed, perhaps on another machine
        raise DatasetError(
            f"{path}: cannot be read: there is no such file on {socket.gethostname()}: the tasks and the process that "
            "plans them need the same files; share them, or put them in an object store"
        ) from error
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}") from error
    return found


def list_files(paths: tuple[str, ...], *, deep: bool = True) -> list[tuple[str, int]]:
    """Files and their sizes, in order of name: those that globs match; of directories all that are not hidden.

    Args:
        paths: files, directories, patterns, or such places in an object store.
        deep: of directories also what is in those in them.

    Raises:
        DatasetError: a path does not exist or is no regular file, or nothing was found.
    """
    if not paths:
        raise DatasetError("no path was given: load(path), or the option data_paths")
    found = [entry for path in paths for entry in _expand(path, deep=deep)]
    if not found:
        raise DatasetError(f"{', '.join(paths)}: there is no file")
    return found


def _expand(path: str, *, deep: bool) -> Iterator[tuple[str, int]]:
    parsed = urlparse(path)
    if parsed.scheme == "file":
        path = unquote(parsed.path)
    elif parsed.scheme and "://" in path:
        yield from _remote(path)
        return
    matches = [path] if os.path.exists(path) else sorted(glob.glob(path))  # noqa: PTH110, PTH207 - text in, text out
    if not matches:
        folder = "" if Path(path).is_absolute() else f" in {Path.cwd()}"
        raise DatasetError(f"{path}: there is no such file or directory{folder}")
    for match in matches:
        try:
            yield from _local_files(Path(match), deep=deep)
        except OSError as error:
            raise DatasetError(
                f"{error.filename or match}: cannot be read: {error.strerror or error}; give access, or leave it out"
            ) from error


def _local_files(path: Path, *, deep: bool) -> Iterator[tuple[str, int]]:
    if path.is_dir():
        for entry in sorted(path.rglob("*") if deep else path.iterdir()):
            parts = entry.relative_to(path).parts
            if not entry.is_dir() and not any(part.startswith(HIDDEN) for part in parts):
                yield str(entry), _size(entry)
    else:
        yield str(path), _size(path)


def _size(path: Path) -> int:
    """Bytes of a regular file; a pipe would be waited for, and a device has no size."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise DatasetError(f"{path}: is not a regular file; a data set is one")
    return found.st_size


def file_system(uri: str) -> tuple[Any, str]:
    """Arrow's file system for a URI and the name in it: Arrow's own for S3, else fsspec's.

    Arrow's own for the other stores retries for a quarter of an hour where access is denied, or ends the process.

    Raises:
        DatasetError: the scheme is not known, or what knows it is not installed.
        OSError, ValueError: the store cannot be reached, or the URI names none.
    """
    if uri.startswith("s3://"):
        return fs.FileSystem.from_uri(uri)  # type: ignore[no-any-return]
    found: Any = place(uri)
    return fs.PyFileSystem(fs.FSSpecHandler(found.fs)), found.path


def _remote(path: str) -> Iterator[tuple[str, int]]:
    try:
        with reached(path):
            system, name = file_system(path)
            info = system.get_file_info(name)
            entries = [info] if info.is_file else system.get_file_info(fs.FileSelector(name, recursive=True))
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}") from error
    whole, inside = path.rstrip("/"), len(name.strip("/"))  # what stands before it is written in many ways
    for entry in sorted(entries, key=lambda entry: str(entry.path)):
        if entry.is_file and not entry.base_name.startswith(HIDDEN):
            yield whole + entry.path.strip("/")[inside:], entry.size


def plan(options: QsamOptions, *, count: bool | None = None) -> list[Split]:
    """The parts of all files of a read.

    Args:
        options: those of the read.
        count: number the records (costs a pass where arithmetic does not tell); None: when the options ask for it.

    Raises:
        DatasetError: a file is missing or cannot be read, or its descriptor words lie.
    """
    files = list_files(options.paths)
    (extractor_of if options.extracted else walk_for)(
        options
    )  # what the format needs and was not given shows here, not in a task
    wanted = options.generate_record_id if count is None else count
    numbered = list(enumerate(files))
    workers = min(len(files), os.cpu_count() or 1)
    each = max(1, min(FILES_AT_ONCE, len(files) // (4 * workers)))  # handing over costs more than a small file does
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
    opened = open_file(path)
    try:
        if isinstance(opened, _Unpacked):
            size, options = opened.size(), replace(options, splittable=False)
        start, end = options.file_start_offset, size - options.file_end_offset
        if start > end:
            raise DatasetError(f"{path}: {size} bytes are less than what is to be skipped at its start and end")
        if options.check_words and not (options.self_sized or options.extracted):
            head = opened.read_at(min(HEAD, end - start), start)
            refuse_other_format(head, start, options, whole=start + len(head) == end)
        cuts, counts = _cuts(opened, start, end, options, wanted or bool(options.segment_levels))
        states = _states(opened, cuts, end, options)
    except FramingError as error:
        raise framing_error(opened, path, error, options) from None
    except (OSError, EOFError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}") from error
    finally:
        opened.close()
    bounds = list(zip(cuts, [*cuts[1:], end], strict=True))
    return [Split(file_id, path, low, high, counts[i], states[i]) for i, (low, high) in enumerate(bounds)]


def _states(opened: Opened, cuts: list[int], end: int, options: QsamOptions) -> list[SegmentState | None]:
    """The state of segment ids at the start of each part."""
    if not options.segment_levels or len(cuts) == 1:
        return [None] * len(cuts)
    bounds = zip(cuts, [*cuts[1:], end], strict=True)
    return list(segment_states((walk_part(opened, low, high, options) for low, high in bounds), options))


def _cuts(opened: Opened, start: int, end: int, options: QsamOptions, wanted: bool) -> tuple[list[int], list[int]]:
    """Where parts begin, and the number of the first record of each (-1: not counted)."""
    recfm = options.recfm
    if options.extracted:
        return [start], [0]
    if unit := _unit(options):
        records = options.split_records or max(options.split_bytes // unit, 1)
        step = records * unit if options.splittable else max(end - start, 1)
        cuts = list(range(start, end, step)) or [start]
        return cuts, [(cut - start) // unit for cut in cuts]
    if options.splittable and options.split_records:
        return _record_cuts(opened, start, end, options)
    if not options.splittable or end - start <= options.split_bytes:
        return [start], [0]
    if options.blocked:
        cuts = _block_cuts(opened, start, end, options)
    elif recfm.separator and not options.self_sized:
        cuts = _line_cuts(opened, start, end, options, recfm.separator)
    else:
        return _walked_cuts(opened, start, end, options)
    return cuts, _counted(opened, cuts, end, options) if wanted else [0] + [-1] * (len(cuts) - 1)


def _unit(options: QsamOptions) -> int:
    """Bytes of every record, where arithmetic tells where each is; else 0."""
    if options.self_sized or options.blocked:
        return 0
    if options.recfm is RecordFormat.U:
        return options.block_length
    return options.length if options.recfm.fixed else 0


def _block_cuts(opened: Opened, start: int, end: int, options: QsamOptions) -> list[int]:
    """Cuts at blocks that begin with a whole record or a first segment, about a part size apart."""
    cuts, position, target = [start], start, start + options.split_bytes
    read, head = opened.read_at, 8 if options.recfm.spanned else 4
    usual = options.bdw_big_endian and options.bdw_adjustment == -4
    while position < end:
        word = read(head, position)
        if (
            usual and len(word) >= 4 and 0 < word[0] < 0x80 and not word[2] | word[3]
        ):  # nearly every block of nearly every file
            size = word[0] << 8 | word[1]
        else:
            size = block_length_of(word, options) if len(word) >= 4 else 0
        if not size or position + size > end:
            said = f"X'{word[:4].hex().upper()}'"
            raise FramingError(
                f"{said} is no block descriptor word, or its block is cut short; is the file really blocked (VB)?",
                position,
            )
        if position >= target and (head == 4 or len(word) < 8 or not word[6] & 2):
            cuts.append(position)
            target = position + options.split_bytes
        position += size
    return cuts


def _record_cuts(opened: Opened, start: int, end: int, options: QsamOptions) -> tuple[list[int], list[int]]:
    """Cuts after so many records; of blocked ones, at the next block that begins with a record. One pass."""
    every = replace(options, split_bytes=1)
    blocked = options.blocked
    headed = blocked or (not options.self_sized and options.recfm is RecordFormat.RDW)
    starts: Any = np.array(_block_cuts(opened, start, end, every) if blocked else [], np.int64)
    cuts, counts, seen = [start], [0], 0
    for base, frames in walk_part(opened, start, end, options):
        places = frames.places + base
        while counts[-1] + options.split_records < seen + len(places):
            wanted = max(counts[-1] + options.split_records - seen, 0)
            at = int(places[wanted]) - (DESCRIPTOR if headed else 0)
            if blocked:  # a record that heads its block begins four bytes after it
                at = int(starts[min(np.searchsorted(starts, at - 4), len(starts) - 1)])
            index = int(np.searchsorted(places, at, "right" if headed else "left"))  # one of no bytes may end there
            if at <= cuts[-1] or index >= len(places):
                break
            cuts.append(at)
            counts.append(seen + index)
        seen += len(places)
    return cuts, counts


def _line_cuts(opened: Opened, start: int, end: int, options: QsamOptions, separator: bytes) -> list[int]:
    cuts, target = [start], start + options.split_bytes
    while target < end:
        position = target - 1
        while position < end:
            found = opened.read_at(1 << 16, position).find(separator[-1:])
            if found >= 0:
                position += found + 1
                break
            position += 1 << 16
        if position >= end:
            break
        cuts.append(position)
        target = position + options.split_bytes
    return cuts


def _walked_cuts(opened: Opened, start: int, end: int, options: QsamOptions) -> tuple[list[int], list[int]]:
    """One pass over the file: where every record is, so the records are counted too."""
    cuts, counts, seen, target = [start], [0], 0, start + options.split_bytes
    for base, frames in walk_part(opened, start, end, options):
        places = frames.places + base - (0 if options.self_sized else 4)
        while len(places) and target <= places[-1]:
            index = int(np.searchsorted(places, target))
            cuts.append(int(places[index]))
            counts.append(seen + index)
            target = cuts[-1] + options.split_bytes
        seen += len(places)
    return cuts, counts


def _counted(opened: Opened, cuts: list[int], end: int, options: QsamOptions) -> list[int]:
    counts, seen = [], 0
    for low, high in zip(cuts, [*cuts[1:], end], strict=True):
        counts.append(seen)
        seen += sum(len(frames.starts) for _, frames in walk_part(opened, low, high, options))
    return counts


def framing_error(opened: Opened, path: str, error: FramingError, options: QsamOptions) -> DatasetError:
    """The error for people: file, record (counted from 1), offset, what is wrong first."""
    try:
        number = records_before(opened, error.offset, options) + 1
    except FramingError as earlier:  # blocks are looked at side by side, so that it was not the first to be met
        return framing_error(opened, path, earlier, options)
    return DatasetError(f"{path}: record {number}, at offset {error.offset}: {error.problem}{_hint(opened, options)}")


def _hint(opened: Opened, options: QsamOptions) -> str:
    """A hint for the message: another way in which the file's descriptor words are consistent; empty for none."""
    if options.self_sized or options.extracted or not (options.recfm.variable or options.recfm is RecordFormat.RDW):
        return ""
    start = options.file_start_offset
    head = opened.read_at(HEAD + 1, start)
    return words_hint(head[:HEAD], options, whole=len(head) <= HEAD)


def records_before(opened: Opened, end: int, options: QsamOptions) -> int:
    """How many records there are before a place in a file where one begins, or one that cannot be read."""
    if options.extracted:
        return _extracted_before(opened, end, options)
    count, used = 0, options.file_start_offset
    for base, frames in walk_part(opened, used, end, options, whole=options.self_sized):
        count, used = count + len(frames.starts), base + frames.used
    return count + (_in_block(opened.read_at(end - used, used), options) if options.blocked else 0)


def _extracted_before(opened: Opened, end: int, options: QsamOptions) -> int:
    count = 0
    try:
        for base, frames in extracted(opened.read_at, options.file_start_offset, end, options):
            count += int(np.count_nonzero(frames.places + base < end))
    except FramingError:
        pass  # what is wrong is what this is counted for
    return count


def _in_block(data: bytes, options: QsamOptions) -> int:
    """Whole records at the beginning of a block that goes on where ``data`` ends."""
    if options.fixed_blocks:
        return max(len(data) - 4, 0) // options.length
    position, count = 4, 0
    while position + 4 <= len(data):
        word = data[position : position + 4]
        size = record_length_of(word, options) + 4
        if size < 4 or position + size > len(data):
            break
        count += not word[2] & 1 or not options.recfm.spanned
        position += size
    return count


def walk_part(
    opened: Opened, start: int, end: int, options: QsamOptions, *, whole: bool = True
) -> Iterator[tuple[int, Frames]]:
    """The records of a part, some megabytes at a time, each with the file offset its bytes begin at.

    Where ``whole`` is not said, what the part ends with may be the beginning of a record.

    Raises:
        FramingError: a descriptor word lies; its offset is that in the file.
    """
    if options.extracted:
        yield from extracted(opened.read_at, start, end, options)
        return
    walk: Callable[..., Frames] = walk_for(options)
    usual = BLOCK_CHUNK if options.blocked else CHUNK
    if options.recfm.fixed and not options.self_sized and not options.blocked:
        usual = min(CHUNK, BATCH_ROWS * options.length)  # one batch: what is read is decoded while the cache has it
    size, position = usual, start
    while position < end:
        data = np.frombuffer(opened.read_at(min(size, end - position), position), np.uint8)
        last = position + len(data) >= end
        if not last and len(data) < size:
            raise FramingError("the file has become shorter since it was listed", position + len(data))
        try:
            frames = walk(data, last and whole)
        except FramingError as error:
            raise FramingError(error.problem, position + error.offset) from None
        if len(frames.starts) or not whole:
            yield position, frames
        if last:
            break
        if not frames.used:
            size *= 2
            if size > LARGEST_CHUNK:
                raise FramingError("a record does not end within a gigabyte", position)
            continue
        position += frames.used
        size = usual
