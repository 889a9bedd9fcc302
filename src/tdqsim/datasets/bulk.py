"""Whole data sets at once: for command lines and pipelines that need no DD and no queue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tdqsim.core.codepage import CodePage, codepage
from tdqsim.datasets.dcb import Dcb, Disposition, ErrorOption
from tdqsim.datasets.errors import BlockError, RecordError
from tdqsim.datasets.reader import open_reader
from tdqsim.datasets.space import Space
from tdqsim.datasets.writer import open_writer
from tdqsim.errors import ConversionError

__all__ = ["convert", "convert_records", "read_records", "write_records"]


def read_records(
    path: Path | str,
    dcb: Dcb,
    *,
    backward: bool = False,
    eropt: ErrorOption = ErrorOption.ABE,
    on_error: Callable[[BlockError], None] | None = None,
    check_words: bool = True,
) -> Iterator[bytes]:
    """The records of a file, in bounded memory. The file is opened by the call and closed after the last record.

    Raises:
        OpenError: at once, see :func:`open_reader`.
        BlockError: while iterating, with ``eropt`` ABE.
    """
    reader = open_reader(path, dcb, backward=backward, eropt=eropt, on_error=on_error, check_words=check_words)

    def records() -> Iterator[bytes]:
        with reader:
            yield from reader

    return records()


def write_records(
    path: Path | str,
    records: Iterable[bytes],
    dcb: Dcb,
    *,
    disposition: Disposition = Disposition.OLD,
    space: Space | None = None,
) -> int:
    """Write records to a file; returns how many. Errors as :func:`open_writer` and ``put()``."""
    with open_writer(path, dcb, disposition=disposition, space=space) as writer:
        return writer.put_all(records)


def convert_records(
    records: Iterable[bytes],
    source: CodePage | str,
    target: CodePage | str,
    *,
    strip: bool = False,
    length: int = 0,
) -> Iterator[bytes]:
    """Records from one code page to another.

    Args:
        records: in ``source``.
        source: the page they are in.
        target: the page wanted.
        strip: take blanks off the end, as lines of text have none.
        length: make each record this long with blanks, as fixed-length records need; 0: leave it.

    Raises:
        ConversionError: a byte has no counterpart; names the record (from 1) and the offset in it.
        RecordError: a record is longer than ``length``.
    """
    page, wanted = codepage(source), codepage(target)
    blank = bytes([wanted.space])
    for number, record in enumerate(records, 1):
        converted = page.convert(record, wanted, number)
        if strip:
            converted = converted.rstrip(blank)
        if length:
            if len(converted) > length:
                raise RecordError("convert", f"{len(converted)} bytes; at most {length} are wanted", record=number)
            converted = converted.ljust(length, blank)
        yield converted


def convert(
    source: Path | str,
    source_dcb: Dcb,
    target: Path | str,
    target_dcb: Dcb,
    *,
    source_page: CodePage | str = "",
    target_page: CodePage | str = "",
) -> int:
    """Copy a file into another format, and into another code page if both are named; returns the number of records.

    Fixed-length output is filled with blanks, lines lose the blanks at their end, when pages are named; without
    pages the bytes stay as they are.

    Raises:
        DatasetFault: what reading or writing meets.
        ConversionError: a record cannot be converted, or only one page is named.
    """
    if bool(source_page) != bool(target_page):
        raise ConversionError("name both code pages or none")
    records = read_records(source, source_dcb)
    if source_page:
        complete = target_dcb.checked(target, output=True)
        assert complete.recfm is not None
        records = convert_records(
            records,
            source_page,
            target_page,
            strip=bool(complete.recfm.separator),
            length=complete.lrecl if complete.recfm.fixed else 0,
        )
    return write_records(target, records, target_dcb)
