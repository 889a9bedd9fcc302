"""Files of variable-length records that try to deceive whoever looks for a record in the middle of them."""

from __future__ import annotations

from random import Random

CONTENTS = ("text", "binary", "zeros", "words", "nested", "chains", "empty")


def content(rng: Random, kind: str, most: int) -> bytes:
    """The data of one record."""
    size = rng.randint(1, most)
    match kind:
        case "text":
            return bytes(rng.choices(b"\xc1\xc2\xc3\x40\xf0\xf1\xf9", k=size))
        case "binary":
            return bytes(rng.choices(range(256), weights=[40] + [1] * 255, k=size))
        case "zeros":
            return bytes(size)
        case "words":  # fields that look like descriptor words
            return b"".join(word(rng.randint(5, 300)) for _ in range(size // 4 + 1))
        case "nested":  # records within a record
            return b"".join(word(n + 4) + bytes(n) for n in (rng.randint(1, 30) for _ in range(rng.randint(1, 12))))
        case "chains":  # a whole chain of false records, or of blocks with records
            n = rng.randint(5, 60)
            one = word(n + 4) + word(n) + bytes(n - 4) if rng.random() < 0.5 else word(n) + bytes(n - 4)
            return one * rng.randint(1, 20)
    return b"" if rng.random() < 0.5 else bytes(size)


def word(length: int) -> bytes:
    return length.to_bytes(2, "big") + b"\x00\x00"


def records(rng: Random, kind: str, size: int, most: int) -> list[bytes]:
    """So many bytes of records; some kinds change within a file."""
    made: list[bytes] = []
    while size > 0:
        made.append(content(rng, rng.choice(CONTENTS) if kind == "mixed" else kind, most))
        size -= len(made[-1]) + 4
    return made


def headed(data: list[bytes], *, big: bool = True, inclusive: bool = True) -> tuple[bytes, set[int]]:
    """The file with a descriptor word before each record, and where records begin."""
    out, starts = bytearray(), set()
    for record in data:
        starts.add(len(out))
        length = len(record) + 4 * inclusive
        out += word(length) if big else b"\x00\x00" + length.to_bytes(2, "little")
        out += record
    return bytes(out), starts | {len(out)}


def blocked(rng: Random, data: list[bytes], *, inclusive: bool = True, big: bool = True) -> tuple[bytes, set[int]]:
    """The same in blocks, and where blocks begin."""
    out, starts, left = bytearray(), set(), list(data)
    while left:
        count = rng.randint(1, 12)
        block, _ = headed(left[:count], big=big, inclusive=inclusive)
        del left[:count]
        starts.add(len(out))
        length = len(block) + 4 * inclusive
        out += word(length) if big else word(length)[::-1]
        out += block
    return bytes(out), starts | {len(out)}


def spanned(rng: Random, data: list[bytes], most: int = 4) -> tuple[bytes, set[int]]:
    """Records in segments, up to ``most`` in a block; and where blocks begin."""
    segments: list[tuple[int, bytes]] = []
    for record in data:
        cuts = sorted(rng.sample(range(len(record) + 1), min(rng.randint(0, 2), len(record))))
        segments += coded([record[low:high] for low, high in zip([0, *cuts], [*cuts, len(record)], strict=True)])
    blocks = []
    while segments:
        count = rng.randint(1, most)
        blocks.append(segments[:count])
        del segments[:count]
    return in_blocks(blocks)


def filled(data: list[bytes], room: int) -> tuple[bytes, set[int]]:
    """Spanned records in blocks of ``room`` bytes, as a system writes them: most blocks begin inside a record."""
    blocks: list[list[tuple[int, bytes]]] = [[]]
    left = room
    for record in data:
        parts: list[bytes | None] = []
        rest: bytes | None = record
        while rest is not None:
            if left < 5:
                parts.append(None)
                left = room
            size = left - 4
            parts.append(rest[:size])
            left -= len(rest[:size]) + 4
            rest = rest[size:] or None
        codes = iter(coded([part for part in parts if part is not None]))
        for part in parts:
            if part is None:
                blocks.append([])
            else:
                blocks[-1].append(next(codes))
    return in_blocks(blocks)


def coded(parts: list[bytes]) -> list[tuple[int, bytes]]:
    """The segments of a record with their codes."""
    last = len(parts) - 1
    return [(0 if not last else 1 if not at else 2 if at == last else 3, part) for at, part in enumerate(parts)]


def in_blocks(blocks: list[list[tuple[int, bytes]]]) -> tuple[bytes, set[int]]:
    """The bytes of blocks of segments, and where blocks begin."""
    out, starts = bytearray(), set()
    for some in blocks:
        block = b"".join((len(part) + 4).to_bytes(2, "big") + bytes((code, 0)) + part for code, part in some)
        starts.add(len(out))
        out += word(len(block) + 4) + block
    return bytes(out), starts | {len(out)}


def damaged(rng: Random, data: bytes) -> bytes:
    """A file with some bytes changed, taken out or put in, or without its end."""
    at, size = rng.randrange(len(data)), rng.randint(1, 40)
    match rng.randrange(5):
        case 0:
            return data[:at] + bytes(rng.choices(range(256), k=size)) + data[at + size :]
        case 1:
            return data[:at] + data[at + size :]
        case 2:
            return data[:at] + bytes(size) + data[at:]
        case 3:
            return data[:at] + word(rng.randint(0, 400)) + data[at + 4 :]
    return data[: at + 1]
