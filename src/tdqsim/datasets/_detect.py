"""Detecting the format of a file from its bytes, with the reasons.

Files come off a mainframe as VB blocks, with descriptor words but no blocks, as fixed records without any mark, or as
lines. Each format is tried on the first quarter megabyte; one whose descriptor words chain without a gap up to there
is all but certain, as chance does not make such chains. Fixed records leave only two traces: the file's size is a
multiple of their length, and fields that begin at some place of one record begin there in the next.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tdqsim.datasets._deblock import deblocker_for
from tdqsim.datasets._files import open_file
from tdqsim.datasets._limits import limit
from tdqsim.datasets.dcb import Dcb, RecordFormat
from tdqsim.datasets.errors import DcbError, OpenError

__all__ = ["SAMPLE", "Detection", "detect", "format_by_words"]

SAMPLE = 4 * limit("read_ahead_minimum")
"""How many bytes at the beginning of a file are looked at."""
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
_CLEAR = 0.9  # how near to the best a shorter length must come to be taken for it


@dataclass(frozen=True, slots=True)
class Detection:
    """What a file seems to be, by :func:`detect`.

    Attributes:
        dcb: the data control block to read it with.
        certain: the format leaves marks in the file and all of them fit; else it is the likeliest of several.
        reasons: why, in words for the user.
        ebcdic: its text looks like EBCDIC (True), like ASCII (False), or like neither (None).
    """

    dcb: Dcb
    certain: bool
    reasons: tuple[str, ...]
    ebcdic: bool | None


def detect(path: Path | str) -> Detection:
    """Look at a file and say how to read it.

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
    ebcdic = _looks_ebcdic(data)
    found = _described(data, whole=whole, ebcdic=ebcdic)
    packed = next((what for at, mark, what in _PACKED if data.startswith(mark, at)), None)
    if found is None and packed is not None:
        raise DcbError(path, f"this is {packed}, not a data set: unpack it first")
    return found or _lines(data, whole=whole, ebcdic=ebcdic) or _fixed(path, data, size, ebcdic)


def format_by_words(data: bytes, *, whole: bool, lrecl: int = 0) -> Dcb | None:
    """The format that descriptor words in data show, or None where they do not chain to its end.

    Args:
        data: the beginning of a file, or all of it.
        whole: data is the whole file.
        lrecl: the length of fixed records that the file is to be read as. None is returned if each of them would be
            exactly one record with its descriptor words: then both readings find the same records.
    """
    found = _chained(data, whole=whole)
    if found is None:
        return None
    lengths, dcb = found
    blocked = dcb.recfm is not None and dcb.recfm.variable
    # A single word that happens to be the file's size is no chain; a block's and its record's words are.
    if len(lengths) == 1 and not blocked:
        return None
    words = limit("record_descriptor") + (limit("block_descriptor") if blocked else 0)
    same = lrecl and len(lengths) == len(data) // lrecl and all(length + words == lrecl for length in lengths)
    return None if same else dcb


def _described(data: bytes, *, whole: bool, ebcdic: bool | None) -> Detection | None:
    """Formats with descriptor words."""
    found = _chained(data, whole=whole)
    if found is None:
        return None
    lengths, dcb = found
    kind = "block and record" if dcb.recfm and dcb.recfm.variable else "record"
    seen = "the file" if whole else f"the first {len(data)} bytes"
    reasons = (f"{kind} descriptor words chain without a gap through {seen}: {len(lengths)} records",)
    # One word that happens to say the file's size is no chain.
    return Detection(dcb, len(lengths) > 1, reasons, ebcdic)


def _chained(data: bytes, *, whole: bool) -> tuple[list[int], Dcb] | None:
    """The lengths of the records and their format: blocks where there are any, else where most records are found."""
    counts = [(_chain(data, candidate, whole=whole), candidate) for candidate in _CANDIDATES]
    fitting = [found for found in counts if found[0]]
    if not fitting:
        return None
    # Blocks first: every chain of blocks is also one of (longer) records, but no chance makes blocks of records.
    return next(
        (found for found in fitting if found[1].recfm and found[1].recfm.variable),
        max(fitting, key=lambda each: len(each[0])),
    )


def _chain(data: bytes, dcb: Dcb, *, whole: bool) -> list[int]:
    """The lengths of the records found; none when the descriptor words do not chain."""
    deblocker = deblocker_for(dcb.checked("sample"))
    records, count, place, damage = deblocker.split(data, 0, final=whole)
    lengths = list(map(len, records))
    if damage is not None or not count or not any(lengths) or (whole and place != len(data)):
        return []
    return lengths


def _lines(data: bytes, *, whole: bool, ebcdic: bool | None) -> Detection | None:
    for recfm in (RecordFormat.CRLF, RecordFormat.LF, RecordFormat.NL):
        separator = recfm.separator
        pieces = data.split(separator)
        lines = pieces if whole else pieces[:-1]
        if len(pieces) < 2 or max(map(len, lines)) > limit("line_maximum"):
            continue
        if recfm is not RecordFormat.NL and (ebcdic or not _is_text(data)):
            continue
        if recfm is RecordFormat.NL and not (ebcdic and _ends_lines(data, separator)):
            continue
        longest, shown = max(map(len, lines)), separator.hex().upper()
        reasons = (f"text with {len(pieces) - 1} line ends X'{shown}', the longest line {longest} bytes",)
        return Detection(Dcb(recfm), recfm is not RecordFormat.NL, reasons, ebcdic)
    return None


def _fixed(path: Path, data: bytes, size: int, ebcdic: bool | None) -> Detection:
    """The record length by which the sample repeats itself best."""
    lengths = [length for length in _divisors(size) if _SHORTEST_FIXED <= length <= len(data) // 2]
    edges = _edges(data)
    scores = {length: _likeness(edges, length) for length in lengths}
    if not scores:
        raise DcbError(
            path,
            f"no format fits its {size} bytes: neither descriptor words nor lines, and no record length from "
            f"{_SHORTEST_FIXED} to half of it divides its size; say which with RECFM and LRECL",
        )
    top = max(scores.values())
    length = min(length for length, score in scores.items() if score >= top * _CLEAR)
    others = sorted(scores, key=lambda each: -scores[each])[:4]
    reasons = (
        f"no descriptor words and no lines; the size {size} is {size // length} times {length}",
        f"{scores[length]:.0%} of the places where a field seems to begin come again {length} bytes on",
        f"lengths that come next: {', '.join(str(each) for each in others if each != length) or 'none'}",
    )
    return Detection(Dcb(RecordFormat.FB, lrecl=length), certain=False, reasons=reasons, ebcdic=ebcdic)


def _divisors(size: int) -> list[int]:
    """Divisors that can be a record length, ascending."""
    return [length for length in range(1, min(limit("fixed_record_maximum"), size) + 1) if size % length == 0]


def _likeness(edges: bytes, distance: int) -> float:
    """The share of places where one byte differs from the next that are such places ``distance`` further on too.

    Places of change, not bytes: blanks and zeros that fill a record look alike at any distance, the borders of its
    fields do not.
    """
    length = len(edges) - distance
    left, right = int.from_bytes(edges[:length], "big"), int.from_bytes(edges[distance:], "big")
    return (left & right).to_bytes(length, "big").count(1) / max(edges[:length].count(1), 1)


def _edges(data: bytes) -> bytes:
    """1 for each byte that differs from the one before it, else 0."""
    length = len(data) - 1
    changed = int.from_bytes(data[1:], "big") ^ int.from_bytes(data[:-1], "big")
    return changed.to_bytes(length, "big").translate(b"\0" + b"\1" * 255)


def _looks_ebcdic(data: bytes) -> bool | None:
    """By the letters and digits of both worlds: those of EBCDIC lie where ASCII has nothing to print."""
    ebcdic = len(data) - len(data.translate(None, _EBCDIC_TEXT))
    ascii_text = len(data) - len(data.translate(None, _ASCII_TEXT))
    if max(ebcdic, ascii_text) * 2 < len(data):
        return None
    return ebcdic > ascii_text


def _is_text(data: bytes) -> bool:
    return b"\0" not in data and len(data.translate(None, _LINE_TEXT)) * 100 <= len(data)


def _ends_lines(data: bytes, separator: bytes) -> bool:
    """Separators come at a pace that lines of text would have."""
    places = [at for at in range(len(data)) if data[at : at + 1] == separator][:1000]
    return bool(places) and all(after - before <= 512 for before, after in pairwise([0, *places]))


_ASCII_TEXT = bytes(range(0x20, 0x7F)) + b"\t\n\r"
_LINE_TEXT = _ASCII_TEXT + bytes(range(0xA0, 0x100)) + b"\f"
_EBCDIC_TEXT = (
    b"\x40\x4b\x4c\x4d\x4e\x50\x5b\x5c\x5d\x5e\x60\x61\x6b\x6c\x6d\x6e\x6f\x7a\x7b\x7c\x7d\x7e\x7f"
    + bytes([*range(0x81, 0x8A), *range(0x91, 0x9A), *range(0xA2, 0xAA)])
    + bytes([*range(0xC1, 0xCA), *range(0xD1, 0xDA), *range(0xE2, 0xEA), *range(0xF0, 0xFA)])
)
