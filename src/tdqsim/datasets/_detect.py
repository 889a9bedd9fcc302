"""Detect the format of a file from its bytes, and give the reasons.

A file transferred from a mainframe consists of VB blocks, of records with descriptor words but no blocks, of fixed
records without descriptor words, or of lines. Each format is tried on the first quarter megabyte. A format whose
descriptor words chain without a gap to the end of that sample is almost certain, because such chains do not arise by
chance. Fixed records show only two signs: the file's size is a multiple of their length, and a field begins at the same
position in each record.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tdqsim.datasets._deblock import deblocker_for
from tdqsim.datasets._files import open_file
from tdqsim.datasets._limits import limit
from tdqsim.datasets.dcb import Dcb, RecordFormat
from tdqsim.datasets.errors import DcbError, OpenError

SAMPLE = 4 * limit("read_ahead_minimum")
"""The number of bytes at the beginning of a file that are examined."""
_CANDIDATES = (
    Dcb(RecordFormat.VB),
    Dcb(RecordFormat.VBS, lrecl=limit("lrecl_x")),
    Dcb(RecordFormat.RDW),
    Dcb(RecordFormat.RDW, rdw_inclusive=False),
    Dcb(RecordFormat.RDWLE),
    Dcb(RecordFormat.RDWLE, rdw_inclusive=False),
    Dcb(RecordFormat.RDW, rdw_position=2),
    Dcb(RecordFormat.RDW, rdw_position=2, rdw_inclusive=False),
    Dcb(RecordFormat.RDWLE, rdw_position=2),
    Dcb(RecordFormat.RDWLE, rdw_position=2, rdw_inclusive=False),
)
_PACKED = (
    (0, b"\x1f\x8b\x08", "a gzip file"),
    (0, b"BZh", "a bzip2 file"),
    (0, b"PK\x03\x04", "a zip archive"),
    (0, b"\xfd7zXZ\x00", "an xz file"),
    (0, b"\x28\xb5\x2f\xfd", "a zstd file"),
    (2, "INMR01".encode("cp037"), "a file of TSO TRANSMIT (XMIT)"),
)
_SHORTEST_FIXED = 8
_LINE_OF_NL = 512
_WORD = limit("record_descriptor")
_SEGMENT_CODES = 3
_TO_BE_CONTINUED, _CONTINUED = (1, 3), (2, 3)
_LARGE = 0x80
"""The bit of a block descriptor word of four bytes."""
_LARGEST = 1 << 24
_ENOUGH = 5  # blocks that follow each other by chance are fewer
_CLEAR = 0.9  # the shortest length whose score is at least this share of the best score is chosen


@dataclass(frozen=True, slots=True)
class Detection:
    """The result of :func:`detect`.

    Attributes:
        dcb: the data control block with which to read the file.
        certain: the file has descriptor words or line ends, and all of them fit; otherwise the format is the likeliest
            of several.
        reasons: the reasons, as text for the user.
        ebcdic: the file's text looks like EBCDIC (True), like ASCII (False), or like neither (None).
    """

    dcb: Dcb
    certain: bool
    reasons: tuple[str, ...]
    ebcdic: bool | None


def detect(path: Path | str) -> Detection:
    """Examine a file and return how to read it.

    Raises:
        OpenError: it cannot be opened.
        DcbError: it is empty or compressed, or no format fits; the message lists the formats that were tried.
    """
    path = Path(path)
    file = open_file(path, os.O_RDONLY, None)
    try:
        size = os.fstat(file.fileno()).st_size
        data = file.read(SAMPLE) or b""
    except OSError as error:
        raise OpenError(path, f"cannot be read: {error.strerror}") from error
    finally:
        file.close()
    if not data:
        raise DcbError(path, "the file is empty: any format fits; say which with RECFM and LRECL")
    whole = len(data) == size
    ebcdic = looks_ebcdic(data)
    detection = _described(data, whole=whole, ebcdic=ebcdic)
    packed = next((what for at, mark, what in _PACKED if data.startswith(mark, at)), None)
    if detection is None and packed is not None:
        raise DcbError(path, f"this is {packed}, not a data set: unpack it first")
    return detection or _lines(data, whole=whole, ebcdic=ebcdic) or _fixed(path, data, size, ebcdic)


def format_by_words(data: bytes, *, whole: bool, lrecl: int = 0) -> Dcb | None:
    """Return the format that the descriptor words in the data indicate, or None if they do not chain to its end.

    Args:
        data: the beginning of a file, or all of it.
        whole: the data is the whole file.
        lrecl: the length of the fixed records that the caller wants to read. If each such record is exactly one record
            with its descriptor words, the result is None, because both formats then give the same records.
    """
    if (damage := damaged_blocks(data, whole=whole)) is not None:
        return Dcb(damage.recfm)
    chain = _chained(data, whole=whole)
    if chain is None:
        return None
    lengths, dcb = chain
    blocked = dcb.recfm is not None and dcb.recfm.variable
    # One word that equals the file's size may be chance; the words of a block and of its record together are not.
    if len(lengths) == 1 and not blocked:
        return None
    words = limit("record_descriptor") + (limit("block_descriptor") if blocked else 0)
    same = lrecl and len(lengths) == len(data) // lrecl and all(length + words == lrecl for length in lengths)
    return None if same else dcb


@dataclass(frozen=True, slots=True)
class DamagedBlocks:
    """VB blocks of which most are filled by their records, and some are not.

    Attributes:
        spanned: records span blocks (VBS).
        blocks: how many blocks there are.
        damaged: how many of them are damaged.
        number: the number of the first damaged one, from 1.
        offset: where it begins.
        problem: what is wrong in it.
        looked_at: how many bytes were examined; 0 for the whole file.
        lost: the descriptor word of the last block does not lead to another one, and bytes follow.
    """

    spanned: bool
    blocks: int
    damaged: int
    number: int
    offset: int
    problem: str
    looked_at: int
    lost: bool

    @property
    def recfm(self) -> RecordFormat:
        """The record format of the blocks."""
        return RecordFormat.VBS if self.spanned else RecordFormat.VB

    def __str__(self) -> str:
        whole = self.blocks - self.damaged
        if self.lost:
            others = f"{whole} blocks before it are whole, and those after it are not found"
        else:
            others = f"the other {whole} blocks are whole"
        if self.damaged > 1:
            others = f"{self.damaged - 1} more are damaged, and {others}"
        part = f" (in the first {self.looked_at} bytes)" if self.looked_at else ""
        where = f"{self.recfm.value}, block {self.number} at offset {self.offset}"
        return f"{where} is damaged: {self.problem}; {others}{part}"


def damaged_blocks(data: bytes, *, whole: bool) -> DamagedBlocks | None:
    """Return what is damaged in VB or VBS blocks of which most are whole; None for other data, or if all are whole.

    Records that are longer than their block would be read from blocks as if they had no blocks, so a format without
    blocks must not be concluded from descriptor words that lead from block to block.
    """
    at, problems, blocks, lost = 0, list[tuple[int, int, str]](), 0, False
    spans = _Spans()
    while at + _WORD <= len(data):
        word = data[at : at + _WORD]
        size = int.from_bytes(word[:2], "big")
        if word[0] & _LARGE:
            size = int.from_bytes(word, "big") & 0x7FFFFFFF
            lost = size > _LARGEST
        else:
            lost = size < _WORD or any(word[2:])
        if lost:
            if not problems or problems[-1][0] != blocks:
                blocks += 1
                problems.append((blocks, at, f"X'{word.hex().upper()}' is no block descriptor word"))
            break
        if at + size > len(data):
            break
        blocks += 1
        if problem := spans.problem(data, at + _WORD, at + size):
            problems.append((blocks, at, problem))
        at += size
    if (
        not problems
        or blocks - len(problems) < _ENOUGH
        or 2 * len(problems) >= blocks
        or (whole and not lost and len(data) - at >= limit("block_maximum"))
    ):
        return None
    return DamagedBlocks(spans.spanned, blocks, len(problems), *problems[0], 0 if whole else len(data), lost)


class _Spans:
    """Follows the records of blocks, and the segments of records that span blocks.

    Attributes:
        spanned: there are such segments.
    """

    def __init__(self) -> None:
        self.spanned = False
        self._open = False

    def problem(self, data: bytes, at: int, end: int) -> str:
        """What is wrong with the records of a block; empty if they fill it."""
        broken = ""
        for number, code in _words(data, at, end):
            if isinstance(code, str):
                self._open = self.spanned  # what the rest of the block has is not known
                return code
            self.spanned = self.spanned or bool(code)
            if self._open is not (code in _CONTINUED) and not broken:
                broken = f"a segment is missing before its record descriptor word {number}"
            self._open = code in _TO_BE_CONTINUED
        return broken


def _words(data: bytes, at: int, end: int) -> Iterator[tuple[int, int | str]]:
    """The number and the segment code of each record descriptor word in a block; at the end, what is wrong, if any."""
    number = 0
    while at < end:
        number += 1
        word = data[at : min(at + _WORD, end)]
        if len(word) < _WORD:
            yield number, f"it ends in record descriptor word {number}"
            return
        size = int.from_bytes(word[:2], "big")
        if size < _WORD or word[2] > _SEGMENT_CODES or word[3]:
            yield number, f"X'{word.hex().upper()}' is no record descriptor word (its number {number})"
            return
        if at + size > end:
            yield number, f"its record descriptor word {number} says {size}, and {end - at} bytes are left"
            return
        yield number, word[2]
        at += size


def _described(data: bytes, *, whole: bool, ebcdic: bool | None) -> Detection | None:
    """Formats with descriptor words."""
    damage = damaged_blocks(data, whole=whole)
    if damage is not None:
        return Detection(Dcb(damage.recfm), certain=False, reasons=(str(damage),), ebcdic=ebcdic)
    chain = _chained(data, whole=whole)
    if chain is None:
        return None
    lengths, dcb = chain
    kind = "block and record" if dcb.recfm and dcb.recfm.variable else "record"
    extent = "the file" if whole else f"the first {len(data)} bytes"
    reasons = (f"{kind} descriptor words chain without a gap through {extent}: {len(lengths)} records",)
    # One word that equals the file's size may be chance.
    return Detection(dcb, len(lengths) > 1, reasons, ebcdic)


def _chained(data: bytes, *, whole: bool) -> tuple[list[int], Dcb] | None:
    """Return the lengths of the records and their format: a blocked one if any fits, else the one with most records."""
    candidates = [(_chain(data, candidate, whole=whole), candidate) for candidate in _CANDIDATES]
    fitting = [(lengths, dcb) for lengths, dcb in candidates if lengths]
    if not fitting:
        return None
    # Blocks come first: every chain of blocks can also be read as a chain of (longer) records, but records do not
    # chain as blocks by chance.
    return next(
        ((lengths, dcb) for lengths, dcb in fitting if dcb.recfm and dcb.recfm.variable),
        max(fitting, key=lambda each: len(each[0])),
    )


@cache
def _complete(dcb: Dcb) -> Dcb:
    return dcb.checked("sample")


def _chain(data: bytes, dcb: Dcb, *, whole: bool) -> list[int]:
    """Return the lengths of the records; an empty list if the descriptor words do not chain."""
    deblocker = deblocker_for(_complete(dcb))
    records, count, place, damage = deblocker.split(data, 0, final=whole)
    lengths = list(map(len, records))
    if damage is not None or not count or not any(lengths) or (whole and place != len(data)):
        return []
    return lengths


def _lines(data: bytes, *, whole: bool, ebcdic: bool | None) -> Detection | None:
    for recfm, reason in lines_in(data, whole=whole, ebcdic=ebcdic):
        return Detection(Dcb(recfm), recfm is not RecordFormat.NL, (reason,), ebcdic)
    return None


def lines_in(data: bytes, *, whole: bool, ebcdic: bool | None) -> Iterator[tuple[RecordFormat, str]]:
    """The formats of text whose line ends are in the data, the likeliest first, with the evidence.

    Args:
        data: the beginning of a file, or all of it.
        whole: the data is the whole file.
        ebcdic: whether text in it looks like EBCDIC; None if that is unclear.
    """
    for recfm in (RecordFormat.CRLF, RecordFormat.LF, RecordFormat.NL):
        separator = recfm.separator
        pieces = data.split(separator)
        lines = pieces if whole and pieces[-1] else pieces[:-1]
        if len(pieces) < 2 or (longest := max(map(len, lines), default=0)) > limit("line_maximum"):
            continue
        # the byte of NL is frequent in numbers too, so such lines must be short
        short = ebcdic and longest <= _LINE_OF_NL
        if (short if recfm is RecordFormat.NL else not ebcdic and _is_text(data)) and not (
            recfm is RecordFormat.LF and len(lines) == data.count(b"\r\n")
        ):
            ends = f"X'{separator.hex().upper()}'"
            yield recfm, f"{len(lines)} lines that end with {ends}; the longest has {longest} bytes"


def likely_lengths(data: bytes, size: int) -> list[tuple[int, float]]:
    """The possible lengths of the fixed records of a file, and how well the positions of fields repeat; the best first.

    Args:
        data: the first bytes of the file.
        size: the number of bytes of the file.
    """
    lengths = [length for length in _divisors(size) if _SHORTEST_FIXED <= length <= len(data) // 2]
    edges = _edges(data)
    scores = {length: _likeness(edges, length) for length in lengths}
    if not scores:
        return []
    top = max(scores.values())
    best = min(length for length, score in scores.items() if score >= top * _CLEAR)
    return sorted(scores.items(), key=lambda each: (each[0] != best, -each[1]))


def _fixed(path: Path, data: bytes, size: int, ebcdic: bool | None) -> Detection:
    """Choose the record length at which the positions of fields repeat best."""
    scores = likely_lengths(data, size)
    if not scores:
        raise DcbError(
            path,
            f"no format fits its {size} bytes: neither descriptor words nor lines, and no record length from "
            f"{_SHORTEST_FIXED} to half of it divides its size; say which with RECFM and LRECL",
        )
    (length, score), *others = scores[:4]
    reasons = (
        f"no descriptor words and no lines; the size {size} is {size // length} times {length}",
        f"{score:.0%} of the places where a field seems to begin come again {length} bytes on",
        f"lengths that come next: {', '.join(str(other) for other, _ in others) or 'none'}",
    )
    return Detection(Dcb(RecordFormat.FB, lrecl=length), certain=False, reasons=reasons, ebcdic=ebcdic)


def _divisors(size: int) -> list[int]:
    """Return the divisors of the size that can be a record length, in ascending order."""
    return [length for length in range(1, min(limit("fixed_record_maximum"), size) + 1) if size % length == 0]


def _likeness(edges: bytes, distance: int) -> float:
    """Return the share of edges (a byte differs from the one before) that have another edge ``distance`` bytes later.

    Edges are compared, not bytes: the blanks and zeros that pad a record match at any distance, but the borders of its
    fields match only at the record length.
    """
    length = len(edges) - distance
    left, right = int.from_bytes(edges[:length], "big"), int.from_bytes(edges[distance:], "big")
    return (left & right).to_bytes(length, "big").count(1) / max(edges[:length].count(1), 1)


def _edges(data: bytes) -> bytes:
    """Return 1 for each byte that differs from the one before it, else 0."""
    length = len(data) - 1
    changed = int.from_bytes(data[1:], "big") ^ int.from_bytes(data[:-1], "big")
    return changed.to_bytes(length, "big").translate(b"\0" + b"\1" * 255)


def looks_ebcdic(data: bytes) -> bool | None:
    """Whether the text in data is EBCDIC (True) or ASCII (False); None if there is little text.

    EBCDIC and ASCII text characters are counted: EBCDIC letters and digits are not printable in ASCII.
    """
    ebcdic = len(data) - len(data.translate(None, _EBCDIC_TEXT))
    ascii_text = len(data) - len(data.translate(None, _ASCII_TEXT))
    if max(ebcdic, ascii_text) * 2 < len(data):
        return None
    return ebcdic > ascii_text


def _is_text(data: bytes) -> bool:
    return b"\0" not in data and len(data.translate(None, _LINE_TEXT)) * 100 <= len(data)


_ASCII_TEXT = bytes(range(0x20, 0x7F)) + b"\t\n\r"
_LINE_TEXT = _ASCII_TEXT + bytes(range(0xA0, 0x100)) + b"\f"
_EBCDIC_TEXT = (
    b"\x40\x4b\x4c\x4d\x4e\x50\x5b\x5c\x5d\x5e\x60\x61\x6b\x6c\x6d\x6e\x6f\x7a\x7b\x7c\x7d\x7e\x7f"
    + bytes([*range(0x81, 0x8A), *range(0x91, 0x9A), *range(0xA2, 0xAA)])
    + bytes([*range(0xC1, 0xCA), *range(0xD1, 0xDA), *range(0xE2, 0xEA), *range(0xF0, 0xFA)])
)
