"""Detect the format of a file from its bytes, and give the reasons.

A file transferred from a mainframe consists of VB blocks, of records with descriptor words but no blocks, of fixed
records without descriptor words, or of lines. They are tried in this order, in which a match by chance becomes more
likely. A format whose descriptor words chain without a gap to the end of the bytes that are examined is almost certain,
because such chains do not arise by chance. Fixed records show only two signs: the file's size is a multiple of their
length, and a field begins at the same position in each record.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import gcd
from pathlib import Path
from struct import Struct
from typing import Literal, NamedTuple

from tdqsim.datasets._files import open_file
from tdqsim.datasets._limits import limit
from tdqsim.datasets.dcb import Dcb, RecordFormat
from tdqsim.datasets.errors import DcbError, OpenError

Confidence = Literal["certain", "likely", "possible"]
SAMPLE = 4 * limit("read_ahead_minimum")
"""The number of bytes at the beginning of a file that are examined."""
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
_BIG, _LITTLE = Struct(">HH"), Struct("<HH")
_SEGMENT_CODES = 3
_TO_BE_CONTINUED, _CONTINUED = (1, 3), (2, 3)
_LARGE = 0x80
"""The bit of a block descriptor word of four bytes."""
_LARGEST = 1 << 24
_CERTAIN = 5
"""From this number of records or blocks on, a chain of descriptor words is certain."""
_HOPELESS = 100
_LONGEST_HEADER = 1024
_FIXED_LENGTHS = 12
_CLEAR = 0.9  # the shortest length whose score is at least this share of the best score is chosen


class DescriptorWords(NamedTuple):
    """The form of the descriptor words in a file.

    Attributes:
        recfm: VB, VBS or FB: records in blocks; RDW: records without blocks.
        big: the words of records are big-endian.
        own: their lengths count the words themselves.
        position: where in a word the length is: 0 or 2.
        block_big: the words of blocks are big-endian.
        block_own: their lengths count the words themselves.
    """

    recfm: RecordFormat
    big: bool = True
    own: bool = True
    position: int = 0
    block_big: bool = True
    block_own: bool = True

    @property
    def dcb(self) -> Dcb | None:
        """The parameters of a DD card for such a file; None if a DD card cannot describe it."""
        if self.recfm is RecordFormat.RDW:
            recfm = self.recfm if self.big else RecordFormat.RDWLE
            return Dcb(recfm, rdw_inclusive=None if self.own else False, rdw_position=self.position or None)
        usual = self == DescriptorWords(self.recfm) and self.recfm is not RecordFormat.FB
        return Dcb(self.recfm, lrecl=limit("lrecl_x") if self.recfm.spanned else 0) if usual else None

    def block(self, data: bytes, at: int) -> int:
        """The length of the block whose descriptor word is at a place, with this word; 0 if that is none."""
        word = data[at : at + _WORD][:: 1 if self.block_big else -1]
        if word[0] & _LARGE:
            size = int.from_bytes(word, "big") & 0x7FFFFFFF
        else:
            size = 0 if any(word[2:]) else int.from_bytes(word[:2], "big")
            if not size:
                return 0
        size += 0 if self.block_own else _WORD
        return size if _WORD <= size <= _LARGEST else 0


@dataclass(frozen=True, slots=True)
class FoundFormat:
    """One way to read a file.

    Attributes:
        recfm: the format of the records.
        confidence: how certain it is.
        reason: the evidence for it.
        words: the descriptor words; None without any.
        length: the length of records that all have the same; else 0.
        header: how many bytes before the records are none of them.
        trailer: how many bytes after the records are none of them, if the whole file was examined.
        count: how many records were found by descriptor words.
        damaged_at: where it is damaged; only the bytes before it can be read. 0 for nowhere.
    """

    recfm: RecordFormat
    confidence: Confidence
    reason: str
    words: DescriptorWords | None = None
    length: int = 0
    header: int = 0
    trailer: int = 0
    count: int = 0
    damaged_at: int = 0

    @property
    def dcb(self) -> Dcb | None:
        """The parameters of a DD card; None if a DD card cannot describe it."""
        if self.header:  # before every trailer there is one
            return None
        if self.words is not None:
            return self.words.dcb
        return Dcb(self.recfm, lrecl=self.length)


class Detection(NamedTuple):
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
        DcbError: it is empty or compressed, no format fits, or no DD card describes its format; the message says which.
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
    ebcdic = looks_ebcdic(data)
    formats = formats_in(data, size, ebcdic=ebcdic)
    found = next(formats, None)
    if found is not None and found.dcb is None and found.recfm.variable and found.confidence == "certain":
        # its blocks could be read as records without blocks, which would be wrong
        raise DcbError(
            path,
            f"{found.recfm.value}: {found.reason}, but no DD card describes its descriptor words: "
            f"tdq dataset {path} shows the options that read it",
        )
    while found is not None and found.dcb is None:
        found = next(formats, None)
    packed = next((what for at, mark, what in _PACKED if data.startswith(mark, at)), None)
    if packed is not None:  # no descriptor words begin like one of these
        raise DcbError(path, f"this is {packed}, not a data set: unpack it first")
    if found is None or found.dcb is None:
        raise DcbError(
            path,
            f"no format fits its {size} bytes: neither descriptor words nor lines, and no record length from "
            f"{_SHORTEST_FIXED} to half of it divides its size; say which with RECFM and LRECL",
        )
    certain, reasons = found.confidence == "certain" or (found.count > 1 and not found.damaged_at), [found.reason]
    if found.recfm.fixed:
        others = ", ".join(str(other.length) for other in [each for each in formats if each.dcb is not None][:3])
        reasons.append(f"lengths that come next: {others or 'none'}")
    return Detection(found.dcb, certain, tuple(reasons), ebcdic)


def format_by_words(data: bytes, *, whole: bool, lrecl: int = 0) -> FoundFormat | None:
    """Return the format that the descriptor words in the data indicate, or None if they do not chain to its end.

    Args:
        data: the beginning of a file, or all of it.
        whole: the data is the whole file.
        lrecl: the length of the fixed records that the caller reads. If each such record is exactly one record
            with its descriptor words, the result is None, because both formats then give the same records.
    """
    found = next((found for found in _worded(data, whole=whole) if found.dcb is not None), None)
    # One word that equals the file's size may be chance; the words of a block and of its record together are not.
    if found is None or (found.count == 1 and not found.recfm.variable):
        return None
    words = limit("record_descriptor") + (limit("block_descriptor") if found.recfm.variable else 0)
    return None if lrecl and found.count == len(data) // lrecl and found.length + words == lrecl else found


def formats_in(data: bytes, size: int, *, ebcdic: bool | None, length: int = 0) -> Iterator[FoundFormat]:
    """The formats that fit the first bytes of a file, the most certain first.

    Args:
        data: the first bytes.
        size: how many bytes the file has.
        ebcdic: whether text in it looks like EBCDIC; None if that is unclear.
        length: the length of a fixed record, if it is known; else 0.
    """
    whole = len(data) == size
    for found in _worded(data, whole=whole):
        yield found
        if found.damaged_at:  # the words of blocks lead on, which must not be taken for those of records
            return
    yield from fixed_blocks_in(data, whole=whole, length=length)
    yield from _behind_headers(data, whole)
    yield from _lines(data, whole, ebcdic)
    yield from _fixed(data, size, length)


# descriptor words -----------------------------------------------------------------------------------------------------


def damaged_blocks(data: Iterable[bytes], *, most: int = 0) -> FollowedWords | None:
    """Return what is damaged in VB or VBS blocks of which most are whole; None for other data, or if all are whole.

    Records that are longer than their block would be read from blocks as if they had no blocks, so a format without
    blocks must not be concluded from descriptor words that lead from block to block.

    Args:
        data: the bytes of a file, in pieces of any size.
        most: how many bytes the pieces have together, at most; 0 for all of the file.
    """
    walked = FollowedWords(DescriptorWords(RecordFormat.VB))
    walked.blocks(data, tolerant=True)
    walked.whole = not most or walked.used + walked.left < most
    few = walked.number - walked.damaged < _CERTAIN or 2 * walked.damaged >= walked.number
    other = walked.whole and not walked.lost and walked.left >= limit("block_maximum")
    return None if not walked.problem or few or other else walked


@dataclass(slots=True)
class FollowedWords:
    """Where descriptor words lead, and what is wrong with them.

    Attributes:
        words: their form.
        number: how many blocks there are.
        damaged: how many of them are damaged.
        bad: the number of the first damaged one, from 1.
        offset: where it begins.
        problem: what is wrong in it; empty for nothing.
        lost: a block descriptor word is none, so the blocks that follow it are not found.
        whole: the whole file was examined.
        spanned: there are records in several segments.
        count, shortest, longest: how many records there are, and the lengths of their data.
        used: how many bytes the whole blocks or records have.
        left: how many bytes follow them.
        cut: these are the beginning of a block or record, as far as it can be seen.
        common: the greatest length of which the contents of all blocks are multiples.
    """

    words: DescriptorWords
    number: int = 0
    damaged: int = 0
    bad: int = 0
    offset: int = 0
    problem: str = ""
    lost: bool = False
    whole: bool = True
    spanned: bool = False
    count: int = 0
    shortest: int = _LARGEST
    longest: int = 0
    used: int = 0
    left: int = 0
    cut: bool = True
    common: int = 0
    _open: bool = False
    _part: int = 0

    @property
    def recfm(self) -> RecordFormat:
        """The record format."""
        return RecordFormat.VBS if self.spanned else self.words.recfm

    def text(self, before: int = 0) -> str:
        """What is damaged, with offsets in a file that has so many bytes before the blocks."""
        whole = self.number - self.damaged
        if self.lost:
            others = f"{whole} blocks before it are whole, and those after it are not found"
        else:
            others = f"the other {whole} blocks are whole"
        if self.damaged > 1:
            others = f"{self.damaged - 1} more are damaged, and {others}"
        part = "" if self.whole else f" (in the first {self.used + self.left} bytes)"
        where = f"{self.recfm.value}, block {self.bad} at offset {self.offset + before}"
        return f"{where} is damaged: {self.problem}; {others}{part}"

    def blocks(self, pieces: Iterable[bytes], *, tolerant: bool = False) -> None:
        """Follow the words of blocks and of the records in them, to the first damaged block or, if tolerant, on.

        Where none of the first blocks is whole, these are no blocks, and following them to the end would show no more.
        """
        data, base, at, problem = b"", 0, 0, ""
        for piece in pieces:
            data, base, at = data[at:] + piece, base + at, 0
            while at + _WORD <= len(data) and not self.lost:
                size = self.words.block(data, at)
                if size and at + size > len(data):
                    break
                self.lost = not size
                if self.lost and problem:  # the block before has misled
                    break
                problem = f"X'{data[at : at + _WORD].hex().upper()}' is no block descriptor word" if not size else ""
                if size and self.words.recfm is not RecordFormat.FB:
                    _, problem = self.records(data, at + _WORD, at + size)
                self.number += 1
                if problem:
                    self.damaged += 1
                    if not self.problem:
                        self.bad, self.offset, self.problem = self.number, base + at, problem
                    if not tolerant or self.number == self.damaged == _HOPELESS:
                        return
                self.common = gcd(self.common, size - _WORD if size else 0)
                at += size
            self.used, self.left = base + at, len(data) - at
            if self.lost:
                return

    def records(self, data: bytes, at: int, end: int) -> tuple[int, str]:
        """Follow the words of records; returns the place that they lead to, and what is wrong there, if any."""
        unpack, words = (_BIG if self.words.big else _LITTLE).unpack_from, self.words
        least, more = (_WORD, 0) if words.own else (1, _WORD)
        spans = words.recfm is RecordFormat.VB and words.big
        number, broken = 0, ""
        while at < end:
            number += 1
            if at + _WORD > end:
                return self._stopped(at, f"it ends in record descriptor word {number}", cut=True)
            size, rest = unpack(data, at)
            if words.position:
                size, rest = rest, size
            code = rest >> 8
            if size < least or rest & 0xFF or (code and not (spans and code <= _SEGMENT_CODES)):
                shown = data[at : at + _WORD].hex().upper()
                return self._stopped(at, f"X'{shown}' is no record descriptor word (its number {number})", cut=False)
            size += more
            if at + size > end:
                left = f"its record descriptor word {number} says {size}, and {end - at} bytes are left"
                return self._stopped(at, left, cut=True)
            if code:
                self.spanned = True
            if self._open is not (code in _CONTINUED):
                broken = broken or f"a segment is missing before its record descriptor word {number}"
            self._open = code in _TO_BE_CONTINUED
            self.count += code not in _CONTINUED
            self._part = size - _WORD + (self._part if code in _CONTINUED else 0)
            if not self._open:
                self.shortest, self.longest = min(self.shortest, self._part), max(self.longest, self._part)
            at += size
        return at, broken

    def _stopped(self, at: int, problem: str, *, cut: bool) -> tuple[int, str]:
        self._open, self.cut = self.spanned, cut  # what the rest of the block has is not known
        return at, problem

    def fits(self, *, whole: bool) -> bool:
        """Whether the words lead to the end of the data."""
        return not self.problem and not (self.left and not self.cut) and (not whole or not (self.left or self._open))


_BLOCKED = tuple(
    DescriptorWords(RecordFormat.VB, big, own, 0 if big else 2, block_big, block_own)
    for block_big, block_own, big, own in sorted(product((True, False), repeat=4), key=lambda each: each.count(False))
)
"""Those of real data sets first."""
_HEADED = tuple(
    DescriptorWords(RecordFormat.RDW, big, own, position)
    for big, own in product((True, False), repeat=2)
    for position in ((0, 2) if big else (2, 0))
)


def _worded(data: bytes, *, whole: bool) -> Iterator[FoundFormat]:
    """Formats with descriptor words for each record: those in blocks first, and those with most records first.

    Every chain of blocks can also be read as a chain of (longer) records, but records do not chain as blocks by chance.
    """
    damage = damaged_blocks((data,), most=0 if whole else len(data))
    if damage is not None:
        words = DescriptorWords(damage.recfm)
        yield FoundFormat(damage.recfm, "likely", damage.text(), words, damaged_at=max(damage.offset, 1))
        return
    for forms in (_BLOCKED, _HEADED):
        fitting, broken_off = list[FoundFormat](), list[FoundFormat]()
        for words in forms:
            walked = FollowedWords(words)
            if forms is _BLOCKED:
                walked.blocks((data,))
            else:
                walked.used, _ = walked.records(data, 0, len(data))
                walked.left = len(data) - walked.used
            form = words._replace(recfm=walked.recfm)
            same = walked.longest if walked.shortest == walked.longest else 0
            found = FoundFormat(form.recfm, _sure(walked.count), "", form, same, count=walked.count)
            if walked.longest and walked.fits(whole=whole):
                part = "the file" if whole else f"the first {walked.used} bytes"
                reason = f"descriptor words lead through {part} without a gap: {walked.count} records"
                fitting.append(replace(found, reason=reason))
            elif walked.longest and found.confidence == "certain" and walked.fits(whole=False):
                reason = (
                    f"descriptor words lead through {walked.count} records to offset {walked.used}, where the file is "
                    f"cut off: {walked.left} bytes are left of the last {'block' if forms is _BLOCKED else 'record'}"
                )
                broken_off.append(replace(found, confidence="likely", reason=reason, damaged_at=walked.used))
        yield from sorted(fitting or broken_off, key=lambda found: -found.count)
        if broken_off and not fitting:
            return


def _sure(count: int) -> Confidence:
    return "certain" if count >= _CERTAIN else "likely" if count > 1 else "possible"


def fixed_blocks_in(data: bytes, *, whole: bool, length: int = 0) -> Iterator[FoundFormat]:
    """The formats of fixed records in blocks with descriptor words that fit the first bytes of a file.

    Args:
        data: the beginning of a file, or all of it.
        whole: the data is the whole file.
        length: the length of a record; 0 if it is unknown.
    """
    for big, own in product((True, False), repeat=2):
        words = DescriptorWords(RecordFormat.FB, block_big=big, block_own=own)
        walked = FollowedWords(words)
        walked.blocks((data,))
        if not walked.fits(whole=whole) or not walked.common or (length and walked.common % length):
            continue
        reason = (
            f"{walked.number} block descriptor words lead through the data; all blocks are multiples of "
            f"{walked.common} bytes"
        )
        yield FoundFormat(RecordFormat.FB, _sure(walked.number), reason, words, length or walked.common)


def _behind_headers(data: bytes, whole: bool) -> Iterator[FoundFormat]:
    """Records with descriptor words between a header and, if the whole file is here, a trailer without such words."""
    for big, own in product((True, False), repeat=2):
        words = DescriptorWords(RecordFormat.RDW, big, own, 0 if big else 2)
        for start in range(1, min(_LONGEST_HEADER, len(data) - _WORD + 1)):
            walked = FollowedWords(words)
            end, _ = walked.records(data, start, len(data))
            rest = len(data) - end
            if walked.count >= _CERTAIN and (rest <= _LONGEST_HEADER or not whole) and (end - start) * 2 > len(data):
                reason = f"descriptor words lead from offset {start} to {end}: {walked.count} records"
                trailer = rest if whole else 0
                yield FoundFormat(words.recfm, "likely", reason, words, 0, start, trailer, walked.count)
                break


# lines and records of one length --------------------------------------------------------------------------------------


def _lines(data: bytes, whole: bool, ebcdic: bool | None) -> Iterator[FoundFormat]:
    """The formats of text whose line ends are in the data, the likeliest first."""
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
            sure: Confidence = "likely" if recfm is RecordFormat.NL else "certain"
            reason = f"{len(lines)} lines that end with {ends}; the longest has {longest} bytes"
            yield FoundFormat(recfm, sure, reason)


def _fixed(data: bytes, size: int, length: int) -> Iterator[FoundFormat]:
    """Records of one length: that which is known, then those at which the positions of fields repeat best."""
    recfm, rest = RecordFormat.FB, size % length if length else 0
    if length:
        left = (
            f"{rest} bytes of the file are left over" if rest else f"the file has {size // length} times as many bytes"
        )
        sure: Confidence = "possible" if rest else "likely"
        yield FoundFormat(recfm, sure, f"the length of the copybook's record; {left}", length=length)
    for start in range(1, rest + 1) if rest <= _LONGEST_HEADER else (rest,):
        yield FoundFormat(
            recfm, "possible", f"{rest} bytes of the file are no record", None, length, start, rest - start
        )
    shown = {length} - {0}
    for number, (each, share) in enumerate(_likely_lengths(data, size)[:_FIXED_LENGTHS]):
        if not any(each % shorter == 0 for shorter in shown):
            shown.add(each)
            reason = (
                f"no descriptor words and no lines; the size {size} is {size // each} times {each}, and {share:.0%} of "
                f"the places where a field seems to begin come again {each} bytes on"
            )
            yield FoundFormat(recfm, "possible" if number or (length and not rest) else "likely", reason, length=each)


def _likely_lengths(data: bytes, size: int) -> list[tuple[int, float]]:
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
