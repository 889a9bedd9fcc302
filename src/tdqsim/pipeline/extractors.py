"""Records that only the user's code can delimit: the options ``record_extractor`` and ``record_header_parser``.

Both options name a callable in a module that the Python processes of the tasks can import:
``mypackage.formats:trailers``.

A record extractor is called with a file and the context of the read, and yields the bytes of each record::

    def pairs(file, context):
        while size := file.read(2):
            yield file.read(int(size))

A record header parser is called once for each file with the text of ``rhp_additional_info``, and returns an object. For
the header before each record, ``header_length`` bytes long, its method ``parse(header, offset, size, number)`` returns
how many bytes follow and whether they are a record (otherwise they are skipped). Its attribute ``header_in_record`` is
true if the header belongs to the record. Each file is one part, because only the previous record shows where a record
begins.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tdqsim.errors import DatasetError, WrongType, WrongValue
from tdqsim.layouts import Layout
from tdqsim.pipeline.descriptor_words import Frames, FramingError
from tdqsim.pipeline.options import QsamOptions

BATCH_ROWS, BATCH_BYTES = 1 << 15, 16 << 20


class HeaderParser(Protocol):
    """The interface of a record header parser."""

    header_length: int
    header_in_record: bool

    def parse(self, header: bytes, offset: int, size: int, number: int) -> tuple[int, bool]:
        """Return how many bytes follow a header, and whether they are a record.

        Args:
            header: its bytes.
            offset: where it is in the file.
            size: bytes of the file.
            number: how many records precede it.
        """


@dataclass(frozen=True, slots=True)
class ExtractorContext:
    """The context of a read: the copybook's layout or None, ``re_additional_info``, and where the data ends."""

    layout: Layout | None
    additional_info: str
    end: int


class RecordFile:
    """The data of a file, for reading forwards."""

    def __init__(self, read_at: Callable[[int, int], bytes], start: int, end: int) -> None:
        self._read_at, self._position, self._end = read_at, start, end

    def read(self, size: int) -> bytes:
        """The next bytes; fewer at the end."""
        data = self._read_at(min(size, self._end - self._position), self._position) if size > 0 else b""
        self._position += len(data)
        return data

    def tell(self) -> int:
        """The offset in the file of the next byte to be read."""
        return self._position


Extractor = Callable[[RecordFile, ExtractorContext], Iterable[bytes]]


def extractor_of(options: QsamOptions) -> Extractor:
    """The extractor that the options name, or one that uses their header parser.

    Raises:
        DatasetError: there is no such callable.
    """
    if options.record_extractor:
        return _named(options.record_extractor, "record_extractor")
    make = _named(options.record_header_parser, "record_header_parser")
    return lambda file, context: _headed(make(options.rhp_additional_info), file, context.end)


def _named(name: str, option: str) -> Callable[..., Any]:
    module, _, member = name.partition(":") if ":" in name else name.rpartition(".")
    try:
        target = importlib.import_module(module)
        for part in member.split("."):
            target = getattr(target, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise DatasetError(f"option {option} is {name[:80]!r}; must be module:callable: {error}") from error
    if not callable(target):
        raise DatasetError(f"option {option} is {name[:80]!r}, which cannot be called")
    return target


def _headed(parser: HeaderParser, file: RecordFile, size: int) -> Iterator[bytes]:
    number = 0
    while True:
        offset = file.tell()
        header = file.read(parser.header_length)
        if not header:
            return
        length, is_record = parser.parse(header, offset, size, number)
        if len(header) < parser.header_length or length < 0:
            raise WrongValue(f"the header X'{header.hex().upper()}' is cut short, or says that {length} bytes follow")
        data = file.read(length)
        if len(data) < length:
            raise WrongValue(f"{length} bytes should follow, {len(data)} are left")
        if is_record:
            yield header + data if parser.header_in_record else data
            number += 1


def extracted(
    read_at: Callable[[int, int], bytes], start: int, end: int, options: QsamOptions
) -> Iterator[tuple[int, Frames]]:
    """The records that an extractor yields between two places in a file, many at a time.

    Raises:
        FramingError: the extractor raised an error, or yielded something that is not bytes.
    """
    file = RecordFile(read_at, start, end)
    records, places, held = list[bytes](), list[int](), 0
    place, problem = start, None
    source = iter(extractor_of(options)(file, ExtractorContext(options.layout, options.re_additional_info, end)))
    while True:
        try:
            record = next(source, None)
            if record is not None and not isinstance(record, bytes):
                raise WrongType(f"a record is {type(record).__name__}, not bytes")  # reported as any other
        except Exception as error:  # noqa: BLE001 - whatever the user's code raises is reported with its place
            record, problem = None, error
        if record is not None:
            records.append(record)
            places.append(place)
            place, held = file.tell(), held + len(record)
        if records and (record is None or len(records) >= BATCH_ROWS or held >= BATCH_BYTES):
            yield 0, _frames(records, places, options)
            records, places, held = [], [], 0
        if problem is not None:
            name = options.record_extractor or options.record_header_parser
            raise FramingError(f"{name}: {type(problem).__name__}: {problem}", place) from problem
        if record is None:
            return


def _frames(records: list[bytes], places: list[int], options: QsamOptions) -> Frames:
    lengths = np.array([len(record) for record in records], np.int64)
    starts = np.cumsum(lengths) - lengths
    keep = options.wanted_lengths(lengths - options.record_start_offset - options.record_end_offset)
    data = np.frombuffer(b"".join(records), np.uint8)
    return Frames(data, starts[keep], lengths[keep], np.array(places, np.int64)[keep], int(lengths.sum()))
