"""Detect files whose descriptor words show a different format than the one in which they are to be read.

A data set does not record its own format. If descriptor words chain from its beginning to its end, or through all of
its first part, that is not chance. Read as fixed records, such a file would give rows of nonsense, as many as fit its
size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from tdqsim.datasets import FoundFormat, RecordFormat, damaged_blocks, fixed_blocks_in, format_by_words
from tdqsim.errors import DatasetError
from tdqsim.pipeline.candidate_formats import ANY_COPYBOOK, candidate_of
from tdqsim.pipeline.decoder import RecordDecoder
from tdqsim.pipeline.descriptor_words import FramingError
from tdqsim.pipeline.options import QsamOptions, read_options
from tdqsim.pipeline.record_locations import walk_for

HEAD = 1 << 17
"""How many bytes at the beginning of a file are checked."""
_TRIED = 200
LINE_ENDS = {
    b"\r\n": "CRLF", b"\r\x25": "CR and LF of EBCDIC", b"\r\x15": "CR and NL", b"\xc2\x85": "NEL in UTF-8",
    b"\n": "LF", b"\r": "CR", b"\x15": "NL", b"\x25": "LF of EBCDIC",
}  # fmt: skip
"""The names of line ends, long ones first."""
_NAMED_ENDS = 3
"""From this number of records on, equal bytes after each are line ends."""
_TEXT = bytes(range(0x20, 0x7F)) + b"\t\n\r"
_READ_ENDS = {b"\r\n": "crlf", b"\x15": "nl", b"\n": "lf"}
"""Line ends of lines that can be read, by the name in options."""


def refuse_other_format(data: bytes, offset: int, options: QsamOptions, *, whole: bool) -> None:
    """Refuse a file whose descriptor words show another format than that of the options.

    Args:
        data: the beginning of its records, at most HEAD bytes.
        offset: where ``data`` begins in the file.
        options: the options of the read.
        whole: whether ``data`` is everything to read.

    Raises:
        FramingError: fixed records are to be read, but there are descriptor words; or records with descriptor words and
            no blocks are to be read, but there are blocks.
    """
    if options.recfm.separator:
        _refuse_no_lines(data, offset, options)
        return
    if not options.recfm.fixed:
        _refuse_blocks(data, offset, whole=whole)
        return
    _refuse_lines(data, offset, options)
    shown = format_by_words(data, whole=whole, lrecl=options.length)
    if shown is None or not shown.recfm.variable:
        _refuse_fixed_blocks(data, offset, options, whole=whole)
    if shown is not None and _reads_as_well(data, shown, options):
        raise FramingError(
            f"these are no fixed records of {options.length} bytes: {_shown(shown, options)}; if they only look so,"
            " set debug_ignore_file_size=true",
            offset,
        )


def line_end_after(data: bytes, length: int) -> bytes:
    """The line end that follows every record of a length; empty for none, or for fewer than three records."""
    for end in LINE_ENDS:
        step = length + len(end)
        places = range(length, len(data) // step * step, step)
        if length and len(places) >= _NAMED_ENDS and all(data.startswith(end, at) for at in places):
            return end
    return b""


def utf16_in(data: bytes) -> str:
    """The reason why data is lines of text in UTF-16; empty if it is not."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "by its byte order mark"
    for zeros, text in ((data[::2], data[1::2]), (data[1::2], data[::2])):
        if b"\n" in text and not any(zeros) and not text.translate(None, _TEXT):
            return "by the zero in every second byte"
    return ""


def words_hint(head: bytes, pieces: Iterable[bytes], options: QsamOptions, *, whole: bool, most: int) -> str:
    """For an error about descriptor words: the damage, or the format that they show and how to read it.

    Empty if they show no format, or the one that the options read.

    Args:
        head: the beginning of the records, at most HEAD bytes.
        pieces: the records from their beginning on, in pieces.
        options: the options of the read.
        whole: whether ``head`` is everything to read.
        most: how many bytes the pieces have together, at most; 0 for everything to read.
    """
    damage = damaged_blocks(pieces, most=most)
    if damage is not None:
        return f"; {damage.text(options.file_start_offset)}"
    shown = format_by_words(head, whole=whole)
    if shown is None or ((given := candidate_of(shown).qsam) and _words_of(read_options(given)) == _words_of(options)):
        return ""
    return f"; {_shown(shown, options)}" if _reads_as_well(head, shown, options) else ""


def _reads_as_well(data: bytes, shown: FoundFormat, options: QsamOptions) -> bool:
    """Whether a format decodes some records, and at least as many as that of the options; True without a copybook."""
    if options.layout is None:
        return True
    misfits = _misfits(data, read_options({**candidate_of(shown).cobol, **ANY_COPYBOOK}, cobrix=True), options)
    return misfits < 1 and misfits <= _misfits(data, options, options)


def _misfits(data: bytes, locating: QsamOptions, options: QsamOptions) -> float:
    """The share of the first records, located by some options, that do not fit the copybook; 1 for no records."""
    assert options.layout is not None
    try:
        plain = replace(locating, minimum_record_length=0, maximum_record_length=0)
        frames = walk_for(plain)(np.frombuffer(data, np.uint8), False)
    except DatasetError:
        return 1.0
    starts, lengths = frames.starts[:_TRIED], frames.lengths[:_TRIED]
    if not len(starts):
        return 1.0
    batch = RecordDecoder(options.layout, replace(options.shape, flat=False), corrupt=True).decode(
        frames.data, starts, lengths
    )
    corrupt = np.diff(batch.column("_corrupt_fields").offsets.to_numpy()) > 0
    return float((corrupt | (lengths > options.layout.length)).mean())


def _words_of(options: QsamOptions) -> tuple[RecordFormat, bool, int, int]:
    """Format, endianness, and the adjustment of the lengths in the descriptor words of records and blocks."""
    recfm = RecordFormat.VBS if options.recfm is RecordFormat.VS else options.recfm
    blocks = options.bdw_adjustment if options.bdw_big_endian and recfm.variable else 0
    return recfm, options.rdw_big_endian, options.rdw_adjustment, blocks


def _shown(found: FoundFormat, options: QsamOptions) -> str:
    """The format that was detected, and the options that read it."""
    candidate, blocks = candidate_of(found), found.recfm.variable
    cobol = options.cobrix or candidate.qsam is None
    where = "" if cobol is options.cobrix else "with format cobol "
    other = f" (or with format qsam {_listed(candidate.qsam or {})})" if options.cobrix and blocks else ""
    what = "block and record" if blocks else "record"
    return (
        f"{what} descriptor words chain through the data as in {candidate.dcb}: {where}set "
        f"{_listed(candidate.cobol if cobol else candidate.qsam or {})}{other}"
    )


def _listed(given: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in given.items())


def _refuse_no_lines(data: bytes, offset: int, options: QsamOptions) -> None:
    """Refuse text in UTF-16, and text that is longer than two records and has no line end of the options.

    ``cobol`` cuts such text to one record, as Cobrix does.
    """
    length = options.layout.length if options.layout is not None else 0
    separator = options.recfm.separator
    if reason := utf16_in(data):
        raise FramingError(f"the file is text in UTF-16, {reason}; convert it to UTF-8, for example by iconv", offset)
    if (
        options.cobrix
        or not length
        or options.allow_partial_records
        or len(data) <= 2 * length
        or separator[-1:] in data
    ):
        return
    wanted, end = _shown_bytes(separator), line_end_after(data, length)
    counts = {each: data.count(each) for each in ([end] if end else [one for one in LINE_ENDS if len(one) == 1])}
    seen = ", ".join(f"{_shown_bytes(each)} ({LINE_ENDS[each]}) {n} times" for each, n in counts.items() if n)
    other = next((word for one, word in _READ_ENDS.items() if counts.get(one)), "")
    step = length + len(end)
    if other:
        advice = f"; there is {seen}; set line_separator={other}"
    elif end or not seen:
        advice = f"; there is {seen}" if seen else ""
        advice += f"; read records of one length with record_format=F, record_length={step}"
    else:
        advice = f"; there is {seen}; convert these to {wanted}"
    raise FramingError(f"there is no line end {wanted} in {len(data)} bytes, and a record has {length}{advice}", offset)


def _refuse_lines(data: bytes, offset: int, options: QsamOptions) -> None:
    """Refuse lines where records of one length are to be read: a line end follows each record."""
    length = options.length
    if end := line_end_after(data, length):
        step = length + len(end)
        lines = f"the lines with record_format=D, line_separator={_READ_ENDS[end]}; or " if end in _READ_ENDS else ""
        raise FramingError(
            f"a line end {_shown_bytes(end)} ({LINE_ENDS[end]}) follows every record of {length} bytes: read {lines}"
            f"records of {step} bytes with record_length={step}",
            offset,
        )


def _shown_bytes(data: bytes) -> str:
    return f"X'{data.hex().upper()}'"


def _refuse_blocks(data: bytes, offset: int, *, whole: bool) -> None:
    """Refuse blocks where records without blocks are to be read: the records in each block fill it exactly."""
    shown = format_by_words(data, whole=whole)
    if shown is None or not shown.recfm.variable:
        return
    damage = damaged_blocks((data,), most=0 if whole else len(data))
    if damage is not None:
        raise FramingError(f"these are blocks: {damage.text(offset)}", offset)
    raise FramingError(
        "every record begins with a descriptor word of its own, so these are blocks: read them with record_format"
        " VB (V stands for records without blocks; RDW does too, and takes these as they are)",
        offset,
    )


def _refuse_fixed_blocks(data: bytes, offset: int, options: QsamOptions, *, whole: bool) -> None:
    """Refuse blocks of fixed records where no blocks are to be read; their descriptor words show the blocks."""
    found = fixed_blocks_in(data, whole=whole, length=options.length)
    if any(whole or each.confidence != "possible" for each in found):
        reads = "without block_length" if options.cobrix else "where is_bdw_big_endian or bdw_adjustment is given"
        raise FramingError(
            f"a block descriptor word stands before the records; record_format FB reads blocks {reads}", offset
        )
