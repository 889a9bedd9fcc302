"""A slow, obvious reading of each record format, one byte at a time; shares nothing with the package.

``read(kind, data, ...)`` gives the records up to the first thing that is wrong, and whether something was wrong.
"""

from __future__ import annotations

MAX_BLOCK = 32760
MAX_LARGE_BLOCK = 262144


def number(data: bytes, at: int, *, little: bool = False) -> int:
    first, second = data[at], data[at + 1]
    return first + 256 * second if little else 256 * first + second


def read_fixed(data: bytes, lrecl: int) -> tuple[list[bytes], bool]:
    records = []
    while len(data) >= lrecl:
        records.append(data[:lrecl])
        data = data[lrecl:]
    return records, len(data) > 0


def blocks_of(data: bytes, blksize: int) -> tuple[list[bytes], bool]:
    blocks = []
    while data:
        if len(data) < 4:
            return blocks, True
        length, rest, longest = number(data, 0), number(data, 2), blksize or MAX_BLOCK
        if data[0] >= 128:  # the first bit says that all the others are the length
            length, rest, longest = (length - 32768) * 65536 + rest, 0, blksize or MAX_LARGE_BLOCK
        if rest != 0 or length < 8 or length > longest or length > len(data):
            return blocks, True
        blocks.append(data[4:length])
        data = data[length:]
    return blocks, False


def read_variable(data: bytes, lrecl: int, blksize: int) -> tuple[list[bytes], bool]:
    blocks, wrong = blocks_of(data, blksize)
    records = []
    for block in blocks:
        rest = block
        while rest:
            if len(rest) < 4:
                return records, True
            length = number(rest, 0)
            if number(rest, 2) != 0 or length < 4 or length > len(rest) or length > lrecl:
                return records, True
            records.append(rest[4:length])
            rest = rest[length:]
    return records, wrong


def read_spanned(data: bytes, data_maximum: int, blksize: int) -> tuple[list[bytes], bool]:
    blocks, wrong = blocks_of(data, blksize)
    records: list[bytes] = []
    building: bytes | None = None
    for block in blocks:
        rest = block
        while rest:
            if len(rest) < 4:
                return records, True
            length, code = number(rest, 0), rest[2]
            if rest[3] != 0 or code > 3 or length < 4 or length > len(rest):
                return records, True
            begins, ends = code in (0, 1), code in (0, 2)
            if begins != (building is None):
                return records, True
            building = (building or b"") + rest[4:length]
            if len(building) > data_maximum:
                return records, True
            if ends:
                records.append(building)
                building = None
            rest = rest[length:]
    return records, wrong or building is not None


def read_headed(data: bytes, *, little: bool, at: int, inclusive: bool, lrecl: int) -> tuple[list[bytes], bool]:
    records = []
    while data:
        if len(data) < 4:
            return records, True
        length = number(data, at, little=little)
        shortest = 4 if inclusive else 1
        if number(data, 2 - at) != 0 or length < shortest or length > lrecl:
            return records, True
        size = length if inclusive else length + 4
        if size > len(data):
            return records, True
        records.append(data[4:size])
        data = data[size:]
    return records, False


def read_lines(data: bytes, separator: bytes, longest: int) -> tuple[list[bytes], bool]:
    records, line, at = [], b"", 0
    while at < len(data):
        if data[at : at + len(separator)] == separator:
            if len(line) > longest:
                return records, True
            records.append(line)
            line, at = b"", at + len(separator)
        else:
            line, at = line + data[at : at + 1], at + 1
    if len(line) > longest:
        return records, True
    return [*records, line] if line else records, False


def read(dcb, data: bytes) -> tuple[list[bytes], bool]:
    """By the format's name; ``dcb`` is anything with the attributes of a data control block."""
    recfm = dcb.recfm.value
    if recfm in {"F", "FB"}:
        return read_fixed(data, dcb.lrecl)
    if recfm in {"VS", "VBS"}:
        return read_spanned(data, dcb.lrecl - 4, dcb.blksize)
    if recfm in {"V", "VB"}:
        return read_variable(data, dcb.lrecl, dcb.blksize)
    if recfm in {"LF", "CRLF", "NL"}:
        return read_lines(data, {"LF": b"\n", "CRLF": b"\r\n", "NL": b"\x15"}[recfm], dcb.lrecl)
    inclusive = dcb.rdw_inclusive is not False
    return read_headed(data, little=recfm == "RDWLE", at=dcb.rdw_position or 0, inclusive=inclusive, lrecl=dcb.lrecl)
