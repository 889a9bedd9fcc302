"""Records with descriptor words, and blocks of them.

Blocks are located one after the other, which is cheap because only four bytes of each are read. Then the records in all
blocks are located together: one numpy step for the first record of every block, one for the second, and so on.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tdqsim.errors import DatasetError
from tdqsim.pipeline._columns import pieces
from tdqsim.pipeline._numbers import Bytes, Ints
from tdqsim.pipeline.options import QsamOptions

DESCRIPTOR = 4
MAX_BLOCK = 1 << 24
LARGE = 0x80
NO_STOP = -1
SEGMENT_CODES = 0x0300
CUT_HINT = "was the copy cut off? transfer the data set again, in binary"
LIES_HINT = "see record_format, is_rdw_big_endian and rdw_adjustment, and that the copy was binary"


class FramingError(DatasetError):
    """A descriptor word or length is wrong; ``offset`` counts from the start of the bytes walked."""

    def __init__(self, message: str, offset: int) -> None:
        self.offset = offset
        self.problem = message
        super().__init__(f"at offset {offset}: {message}")


class CutShort(FramingError):
    """The last record or block continues after the bytes walked."""


@dataclass(frozen=True, slots=True)
class Frames:
    """Where the records are.

    Attributes:
        data: the bytes that ``starts`` refer to (the segments of spanned records are joined first).
        starts: where the data of each record begins.
        lengths: how long each record is, without descriptor words.
        places: where each record begins in the bytes walked.
        used: number of bytes walked.
        walked: the bytes walked, where they are not ``data``.
    """

    data: Bytes
    starts: Ints
    lengths: Ints
    places: Ints
    used: int
    walked: Bytes | None = None

    def record(self, index: int) -> bytes:
        """The data of one record."""
        start = int(self.starts[index])
        return self.data[start : start + int(self.lengths[index])].tobytes()


Walk = Callable[..., Frames]
"""A walk: called with bytes, and whether these are the last of the file or part; see also :func:`spanned`."""


def in_place(data: Bytes, starts: Ints, lengths: Ints, used: int) -> Frames:
    """Frames of records that are used where they lie in ``data``."""
    return Frames(data, starts, lengths, starts, used)


def block_length_of(head: bytes, options: QsamOptions) -> int:
    """The length of a block, including its descriptor word, from that word; 0 when the word is not valid.

    If the first bit of the word is on, the block is a large block: the other 31 bits are the length.
    """
    word = head[:DESCRIPTOR] if options.bdw_big_endian else head[DESCRIPTOR - 1 :: -1]
    if word[0] & LARGE:
        length = int.from_bytes(word, "big") & 0x7FFFFFFF
    elif word[2] or word[3]:
        return 0
    else:
        length = int.from_bytes(word[:2], "big")
    total = length + options.bdw_adjustment + DESCRIPTOR
    return total if DESCRIPTOR <= total <= MAX_BLOCK else 0


def blocks_in(data: Bytes, final: bool, options: QsamOptions) -> tuple[Ints, Ints, int]:
    """Start and end of the contents of each whole block, and the number of bytes that these blocks use."""
    raw = memoryview(data)  # type: ignore[arg-type]
    starts, ends, position = [], [], 0
    while position + DESCRIPTOR <= len(data):
        size = block_length_of(bytes(raw[position : position + DESCRIPTOR]), options)
        if not size:
            word = bytes(raw[position : position + DESCRIPTOR]).hex().upper()
            raise FramingError(
                f"X'{word}' is no block descriptor word; is the file really blocked (VB), binary and uncut?", position
            )
        if position + size > len(data):
            break
        starts.append(position + DESCRIPTOR)
        position += size
        ends.append(position)
    if final and position < len(data):
        raise CutShort(
            f"the last block is cut short: {len(data) - position} bytes are left of it; {CUT_HINT}", position
        )
    return np.array(starts, np.int64), np.array(ends, np.int64), position


def _chains(data: Bytes, starts: Ints, ends: Ints, options: QsamOptions) -> tuple[Ints, Ints]:
    """Offsets of all descriptor words in blocks, in file order, and the data lengths in these words."""
    lengths, other = halves_anywhere(data, options)
    more = options.rdw_adjustment + DESCRIPTOR
    live = starts < ends
    blocks, position, limit = np.flatnonzero(live), starts[live], ends[live]
    runs: list[tuple[Ints, list[Ints]]] = [(blocks, [])]
    while len(blocks):
        if int(position[-1]) + DESCRIPTOR > len(data):  # the last of them, because blocks are in file order
            _refuse_step(data, position, limit, options)
        size = lengths(position)
        after = position + size
        after += more
        left = limit - after
        least = int(left.min())
        if least < 0 or int(size.min()) + more < DESCRIPTOR + options.cobrix:
            _refuse_step(data, position, limit, options)
        runs[-1][1].append(position)
        position = after
        if not least:
            going = left > 0
            blocks, position, limit = blocks[going], after[going], limit[going]
            runs.append((blocks, []))
    heads = _in_order(runs, len(starts))
    if not options.cobrix and len(heads):
        odd = other[heads]
        if options.recfm.spanned:
            odd &= np.uint16(0xFFFF ^ SEGMENT_CODES)
        if odd.any():
            _refuse_other_half(data, int(heads[(odd != 0).argmax()]))
    return heads, lengths(heads).astype(np.int64) + options.rdw_adjustment


def halves_anywhere(
    data: Bytes, options: QsamOptions
) -> tuple[Callable[[Ints], npt.NDArray[np.uint16]], npt.NDArray[np.uint16]]:
    """The lengths in the descriptor words that begin at some places, and the other halves of the words at all places.

    They are views of the data, not copies.
    """
    kind = ">u2" if options.rdw_big_endian else "<u2"
    first, second = (np.ndarray((max(len(part) - 1, 0),), kind, part, strides=(1,)) for part in (data, data[2:]))
    if options.cobrix:
        return lambda places: np.where(first[places] != 0, first[places], second[places]), second
    half, other = (first, second) if options.rdw_big_endian else (second, first)
    return lambda places: half[places], other


def _refuse_other_half(data: Bytes, at: int) -> NoReturn:
    word = data[at : at + DESCRIPTOR].tobytes().hex().upper()
    raise FramingError(
        f"the record descriptor word X'{word}' contains more than a length; two of its bytes must be zero, except"
        " in segments of spanned records (record_format VS or VBS)",
        at,
    )


def _refuse_step(data: Bytes, position: Ints, limit: Ints, options: QsamOptions) -> NoReturn:
    """Refuse the first of some descriptor words that does not lead on within its block, which ends at its limit."""
    short = limit - position < DESCRIPTOR
    if short.any():
        at = int(position[short.argmax()])
        raise FramingError(f"a block ends in the middle of a record descriptor word; {LIES_HINT}", at)
    lengths, _ = halves_anywhere(data, options)
    after = position + lengths(position) + (options.rdw_adjustment + DESCRIPTOR)
    first = ((after > limit) | (after < position + DESCRIPTOR + options.cobrix)).argmax()
    at, left = int(position[first]), int(limit[first] - position[first])
    word = data[at : at + DESCRIPTOR].tobytes().hex().upper()
    raise FramingError(
        f"the record descriptor word X'{word}' does not fit the {left} bytes left in its block; {LIES_HINT}", at
    )


def _in_order(runs: list[tuple[Ints, list[Ints]]], blocks: int) -> Ints:
    """The places of records, block by block.

    Args:
        runs: some blocks, and for each step the place of a record in each of them.
        blocks: the number of all blocks.
    """
    counts = np.zeros(blocks, np.int64)
    for members, steps in runs:
        counts[members] += len(steps)
    after = np.cumsum(counts) - counts  # where the next record of each block belongs
    heads = np.empty(int(counts.sum()), np.int64)
    for members, steps in runs:
        if steps:
            heads[after[members][:, None] + np.arange(len(steps))] = np.array(steps).T
            after[members] += len(steps)
    return heads


def blocked(options: QsamOptions) -> Walk:
    """A walk over records with descriptor words in blocks (VB)."""

    def walk(data: Bytes, final: bool) -> Frames:
        starts, ends, used = blocks_in(data, final, options)
        heads, sizes = _chains(data, starts, ends, options)
        return in_place(data, heads + DESCRIPTOR, sizes, used)

    return walk


def fixed_blocks(options: QsamOptions) -> Walk:
    """A walk over fixed-length records in blocks with descriptor words."""
    length = options.length

    def walk(data: Bytes, final: bool) -> Frames:
        starts, ends, used = blocks_in(data, final, options)
        rest = (ends - starts) % length
        if rest.any():
            at = int(rest.argmax())
            raise FramingError(
                f"a block of {ends[at] - starts[at]} bytes is no multiple of the record length {length}",
                int(starts[at]) - DESCRIPTOR,
            )
        counts = (ends - starts) // length
        first = np.repeat(starts - (np.cumsum(counts) - counts) * length, counts)
        begin = first + np.arange(len(first)) * length
        return in_place(data, begin, np.full(len(begin), length, np.int64), used)

    return walk


def spanned(options: QsamOptions) -> Walk:
    """A walk over spanned records; segment codes: 0 a whole record, 1 the first segment, 3 a middle one, 2 the last.

    A record belongs to the block that has its first segment. So a walk may begin at a block ``inside`` a record, which
    belongs to the walk before. A walk uses all blocks before the one with the first segment of an unfinished record;
    with ``stop``, all blocks before that place, and none if the data do not reach to the next record after it.
    """

    def walk(data: Bytes, final: bool, inside: bool = False, stop: int = NO_STOP) -> Frames:
        starts, ends, used = blocks_in(data, final, options)
        blocks = np.append(starts - DESCRIPTOR, used)
        if stop >= 0 and stop not in blocks:
            raise CutShort("the block ends elsewhere", int(blocks[blocks < stop][-1]))
        heads, sizes = _chains(data, starts, ends, options)
        codes = data[heads + 2] & 3
        opens, closes = (codes & 2) == 0, (codes & 1) == 0
        _check_segments(heads, opens, closes, final, inside)
        first = np.flatnonzero(opens)
        if stop >= 0:
            used = stop if final or (len(first) and heads[first[-1]] >= stop) else 0
        elif not final and len(heads) and not closes[-1]:
            used = int(blocks[np.searchsorted(blocks, heads[first[-1]]) - 1]) if len(first) else 0
        count = int(np.searchsorted(heads[first], used))
        bounds = np.append(first, len(heads))[: count + 1]
        own = slice(bounds[0], bounds[-1])
        joined = _payload(data, heads[own] + DESCRIPTOR, sizes[own])
        before = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes[own])))[bounds - bounds[0]]
        return Frames(joined, before[:-1], np.diff(before), heads[first[:count]] + DESCRIPTOR, used, data)

    return walk


def _check_segments(
    heads: Ints, opens: npt.NDArray[np.bool_], closes: npt.NDArray[np.bool_], final: bool, inside: bool
) -> None:
    """Check that each segment that opens a record follows one that closes a record, and vice versa."""
    if not len(heads):
        return
    wrong = np.flatnonzero(opens[1:] != closes[:-1]) + 1
    if not (opens[0] or inside):
        wrong = np.concatenate(([0], wrong))
    if len(wrong):
        raise FramingError(
            f"a segment of a spanned record is missing before this one; {CUT_HINT}", int(heads[wrong[0]])
        )
    if final and not closes[-1]:
        raise CutShort(f"the last record has no last segment; {CUT_HINT}", int(heads[-1]))


def _payload(data: Bytes, starts: Ints, sizes: Ints) -> Bytes:
    """The bytes of all segments, one after another."""
    if not sizes.any():
        return data[:0]
    return np.frombuffer(pieces(data, starts, starts + sizes, pa.binary()).buffers()[2], np.uint8)


def headed(options: QsamOptions) -> Walk:
    """A walk over records with a descriptor word and no blocks, one by one, as each word leads to the next."""
    unpack = struct.Struct(">HH" if options.rdw_big_endian else "<HH").unpack_from
    which, other = (0, 1) if options.rdw_big_endian else (1, 0)
    adjust, cobrix = options.rdw_adjustment, options.cobrix

    def walk(data: Bytes, final: bool) -> Frames:
        raw = memoryview(data)  # type: ignore[arg-type]
        size, position, starts = len(data), 0, list[int]()
        while position + DESCRIPTOR <= size:
            halves = unpack(raw, position)
            length = halves[which] + adjust
            if halves[other]:
                if not cobrix:
                    _refuse_word(data, position, spanned=length >= 0)
                length = (halves[0] or halves[1]) + adjust
            if length < cobrix:
                _refuse_word(data, position, spanned=False)
            after = position + DESCRIPTOR + length
            if after > size:
                break
            starts.append(position + DESCRIPTOR)
            position = after
        if final and position < size:
            raise CutShort(
                f"the last record is cut short: {size - position} bytes are left of it; {CUT_HINT}", position
            )
        begin = np.array(starts, np.int64)
        after = np.append(begin[1:] - DESCRIPTOR, position) if len(begin) else begin
        return in_place(data, begin, after - begin, position)

    return walk


def _refuse_word(data: Bytes, at: int, *, spanned: bool) -> NoReturn:
    if spanned:
        _refuse_other_half(data, at)
    word = data[at : at + DESCRIPTOR].tobytes().hex().upper()
    raise FramingError(f"X'{word}' is no record descriptor word; see is_rdw_big_endian and rdw_adjustment", at)
