"""Read, write and convert whole data sets, for command lines and pipelines that need no DD and no queue."""

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


def read_records(
    path: Path | str,
    dcb: Dcb,
    *,
    backward: bool = False,
    eropt: ErrorOption = ErrorOption.ABE,
    on_error: Callable[[BlockError], None] | None = None,
    check_words: bool = True,
) -> Iterator[bytes]:
    """Return the records of a file, in bounded memory. The call opens the file; it is closed after the last record.

    Raises:
        OpenError: by the call itself, see :func:`open_reader`.
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
    """Write records to a file and return their number. Raises the errors of :func:`open_writer` and ``put()``."""
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
    """Convert records from one code page to another.

    Args:
        records: the records, in ``source``.
        source: the code page of the records.
        target: the code page of the result.
        strip: remove trailing blanks, for lines of text.
        length: pad each record with blanks to this length, for fixed-length records; 0: do not pad.

    Raises:
        ConversionError: a byte has no counterpart; the message names the record (from 1) and the offset in it.
        RecordError: a record is longer than ``length``.
    """
    source_page, target_page = codepage(source), codepage(target)
    blank = bytes([target_page.space])
    for number, record in enumerate(records, 1):
        converted = source_page.convert(record, target_page, number)
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
    source_code_page: CodePage | str = "",
    target_code_page: CodePage | str = "",
) -> int:
    """Copy a file to another format, and to another code page if both are named; return the number of records.

    If code pages are named, fixed-length output is padded with blanks, and lines lose their trailing blanks. Without
    them, the bytes are not changed.

    Raises:
        DatasetFault: the file cannot be read or written.
        ConversionError: a record cannot be converted, or only one page is named.
    """
    if bool(source_code_page) != bool(target_code_page):
        raise ConversionError("name both code pages or none")
    records = read_records(source, source_dcb)
    if source_code_page:
        complete = target_dcb.checked(target, output=True)
        assert complete.recfm is not None
        records = convert_records(
            records,
            source_code_page,
            target_code_page,
            strip=bool(complete.recfm.separator),
            length=complete.lrecl if complete.recfm.fixed else 0,
        )
    return write_records(target, records, target_dcb)
