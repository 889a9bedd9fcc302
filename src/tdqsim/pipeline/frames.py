"""Where the records are: batches of bytes to starts and lengths, for every record format.

A *walk* is given bytes that begin at a boundary of the format (a record, a block, a line) and says where the records in
them are and how many bytes it has used; the rest is given to it again with what follows. Blocks are found one after the
other, which is cheap, since only four bytes of each are looked at; the records inside are then found in all blocks at
once, one numpy step for the first record of every block, one for the second, and so on.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tdqsim.datasets import RecordFormat
from tdqsim.errors import DatasetError
from tdqsim.layouts import BadValue, Field, Layout, decode_value
from tdqsim.pipeline._columns import pieces
from tdqsim.pipeline._numbers import Bytes
from tdqsim.pipeline.expressions import Expression, ExpressionError
from tdqsim.pipeline.options import QsamOptions
from tdqsim.pipeline.tables import record_size

__all__ = ["Frames", "FramingError", "Walk", "block_length_of", "record_length_of", "refuse_blocks", "walk_for"]

Ints = npt.NDArray[np.int64]
DESCRIPTOR = 4
LINE_FEED, RETURN = b"\n", 0x0D
END_OF_FILE = b"\x1a"  # as a line of its own it is the mark of old systems
MAX_BLOCK = 1 << 24
LARGE = 0x80
NO_WORD = -1
BLOCKS_LOOKED_AT = 16
CUT_HINT = "was the copy cut off? transfer the data set again, in binary"
LIES_HINT = "see record_format, is_rdw_big_endian and rdw_adjustment, and that the copy was binary"


class FramingError(DatasetError):
    """A descriptor word or length lies; ``offset`` counts from the start of the bytes walked."""

    def __init__(self, message: str, offset: int) -> None:
        self.offset = offset
        self.problem = message
        super().__init__(f"at offset {offset}: {message}")


@dataclass(frozen=True, slots=True)
class Frames:
    """Records found.

    Attributes:
        data: the bytes that ``starts`` refer to (spanned records are put together first).
        starts: where each record's data begins.
        lengths: how long it is, without descriptor words.
        places: where it begins in the bytes walked.
        used: bytes walked.
    """

    data: Bytes
    starts: Ints
    lengths: Ints
    places: Ints
    used: int


Walk = Callable[[Bytes, bool], Frames]
"""Called with bytes and whether they are the last of the file (part)."""


def walk_for(options: QsamOptions) -> Walk:
    """The walk of a record format.

    Raises:
        DatasetError: something the format needs is not given (the length of fixed records, a layout for a length
        field).
    """
    walk = _walk_for(options)
    whole_lines = options.recfm.separator and not options.partial_records  # those are left out before they are cut
    if whole_lines or not (options.minimum_record_length or options.maximum_record_length):
        return walk

    def wanted(data: Bytes, final: bool) -> Frames:
        frames = walk(data, final)
        keep = options.wanted_lengths(frames.lengths - options.record_start_offset - options.record_end_offset)
        return Frames(frames.data, frames.starts[keep], frames.lengths[keep], frames.places[keep], frames.used)

    return wanted


def _walk_for(options: QsamOptions) -> Walk:
    if options.record_length_field:
        return _by_length_field(options)
    if options.counted:
        return _by_counters(options)
    recfm = options.recfm
    if recfm.fixed:
        if options.length <= 0:
            raise DatasetError("fixed-length records need a copybook or record_length")
        return _fixed_blocks(options) if options.fixed_blocks else _fixed(options.length, options.ignore_file_size)
    if recfm is RecordFormat.U:
        if options.block_length <= 0:
            raise DatasetError("record_format U needs block_length: nothing in the file tells where a block ends")
        return _undefined(options.block_length)
    if recfm.separator:
        return _lines(options, options.layout.length if options.layout is not None else 0)
    if recfm.variable:
        return _spanned(options) if recfm.spanned else _blocked(options)
    return _headed(options)


def _frames(data: Bytes, starts: Ints, lengths: Ints, used: int) -> Frames:
    return Frames(data, starts, lengths, starts, used)


def _fixed(length: int, ignore_rest: bool) -> Walk:
    def walk(data: Bytes, final: bool) -> Frames:
        count = len(data) // length
        rest = len(data) - count * length
        if final and rest and not ignore_rest:
            raise FramingError(
                f"the last {rest} bytes are no whole record of {length} bytes, of which the data is no multiple; is the"
                " record length right?",
                count * length,
            )
        starts = np.arange(count, dtype=np.int64) * length
        return _frames(data, starts, np.full(count, length, np.int64), len(data) if final else count * length)

    return walk


def _undefined(length: int) -> Walk:
    def walk(data: Bytes, final: bool) -> Frames:
        used = len(data) if final else len(data) - len(data) % length
        starts = np.arange(0, used, length, dtype=np.int64)
        return _frames(data, starts, np.minimum(used - starts, length), used)

    return walk


def _lines(options: QsamOptions, width: int) -> Walk:
    """Lines that are not empty, without their CR; what a line has beyond ``width`` is left out, or a record too.

    As in Cobrix a byte more is left where the separator is one byte; and a line is left whole up to twice the width, as
    long as it has a separator.
    """
    separator, partial = options.recfm.separator, options.partial_records
    limited = bool(options.minimum_record_length or options.maximum_record_length) and not partial

    def walk(data: Bytes, final: bool) -> Frames:
        ends = np.flatnonzero(data == separator[-1]).astype(np.int64, copy=False)
        used = int(ends[-1]) + 1 if len(ends) else 0
        whole = len(ends)
        if final and used < len(data):
            ends, used = np.append(ends, len(data)), len(data)
        starts = np.zeros(len(ends), np.int64)
        np.add(ends[:-1], 1, out=starts[1:])
        lengths = ends - starts
        bare = np.ones(len(ends), np.bool_)
        if separator[-1:] == LINE_FEED and len(ends):
            before = data.take(ends - 1, mode="wrap")
            if int(before.min()) <= RETURN:  # nearly every line ends in a character that is more
                bare = (before != RETURN) | (lengths == 0)
                lengths -= ~bare
        if final and len(lengths) and data[starts[-1] : ends[-1]].tobytes() == END_OF_FILE:
            starts, lengths, bare = starts[:-1], lengths[:-1], bare[:-1]
        ended = np.arange(len(lengths)) < whole
        if limited:
            keep = options.wanted_lengths(lengths - options.record_start_offset - options.record_end_offset)
            starts, lengths, bare, ended = starts[keep], lengths[keep], bare[keep], ended[keep]
        if width and len(lengths) and int(lengths.max()) > width:
            if partial:
                starts, lengths = _cut_up(starts, lengths, width, bare & ended)
            else:
                lengths = np.where(lengths > width * (1 + ended) + (bare & ended), width, lengths)
        if len(lengths) and not lengths.min():
            filled = lengths > 0
            starts, lengths = starts[filled], lengths[filled]
        return _frames(data, starts, lengths, used)

    return walk


def _cut_up(starts: Ints, lengths: Ints, width: int, spare: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Records of ``width`` bytes from longer ones; a byte more is left in the last where ``spare``."""
    most = width + spare.astype(np.int64)
    pieces_each = 1 + np.maximum(-(-(lengths - most) // width), 0)
    first = np.cumsum(pieces_each) - pieces_each
    number = np.arange(int(pieces_each.sum())) - np.repeat(first, pieces_each)
    left = np.repeat(lengths, pieces_each) - number * width
    last = number == np.repeat(pieces_each, pieces_each) - 1
    return np.repeat(starts, pieces_each) + number * width, np.where(last, left, width)


def block_length_of(head: bytes, options: QsamOptions) -> int:
    """Bytes of a block with its descriptor word, from that word; 0 when it cannot be one.

    A word whose first bit is on is that of a large block: its other 31 bits are the length.
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


def record_length_of(word: bytes, options: QsamOptions) -> int:
    """Bytes of a record without its descriptor word, from that word; negative when it cannot be one.

    The length is in the first half of the word, or little-endian in its second; under ``cobol`` in whichever is not
    zero, and at least 1. What the other half is not zero for is a segment of a spanned record.
    """
    order: Literal["big", "little"] = "big" if options.rdw_big_endian else "little"
    half = 0 if options.rdw_big_endian else 2
    if options.cobrix:
        half = 0 if word[0] or word[1] else 2
    elif any(word[2 - half : 4 - half]) and not options.recfm.spanned:
        return NO_WORD
    length = int.from_bytes(word[half : half + 2], order) + options.rdw_adjustment
    return length if length > 0 or not options.cobrix else NO_WORD


def _blocks(data: Bytes, final: bool, options: QsamOptions) -> tuple[Ints, Ints, int]:
    """Start and end of each whole block's contents, and the bytes they take."""
    raw = data.tobytes() if len(data) < DESCRIPTOR else memoryview(data)  # type: ignore[arg-type]
    starts, ends, position = [], [], 0
    while position + DESCRIPTOR <= len(data):
        size = block_length_of(bytes(raw[position : position + DESCRIPTOR]), options)
        if not size:
            said = bytes(raw[position : position + DESCRIPTOR]).hex().upper()
            raise FramingError(
                f"X'{said}' is no block descriptor word; is the file really blocked (VB), binary and uncut?", position
            )
        if position + size > len(data):
            break
        starts.append(position + DESCRIPTOR)
        position += size
        ends.append(position)
    if final and position < len(data):
        raise FramingError(
            f"the last block is cut short: {len(data) - position} bytes are left of it; {CUT_HINT}", position
        )
    return np.array(starts, np.int64), np.array(ends, np.int64), position


def _chains(data: Bytes, starts: Ints, ends: Ints, options: QsamOptions) -> tuple[Ints, Ints]:
    """Offsets of all descriptor words in blocks, in file order, and the data lengths they say."""
    said = _lengths_anywhere(data, options)
    live = starts < ends
    blocks, position, limit = np.flatnonzero(live), starts[live], ends[live]
    steps: list[tuple[Ints, Ints]] = []
    while len(blocks):
        if (limit - position).min() < DESCRIPTOR:
            at = int(position[(limit - position < DESCRIPTOR).argmax()])
            raise FramingError(f"a block ends in the middle of a record descriptor word; {LIES_HINT}", at)
        after = position + said(position)
        after += options.rdw_adjustment + DESCRIPTOR
        wrong = (after > limit) | (after < position + DESCRIPTOR + options.cobrix)
        if wrong.any():
            _refuse_descriptor(data, int(position[wrong.argmax()]), int(limit[wrong.argmax()]))
        steps.append((blocks, position))
        live = after < limit
        position = after
        if not live.all():
            blocks, position, limit = blocks[live], after[live], limit[live]
    heads = _in_order(steps, len(starts))
    if not options.cobrix and len(heads):
        other = heads + (2 if options.rdw_big_endian else 0)
        codes = 3 if options.recfm.spanned else 0  # the low bits of the third byte are the segment code there
        odd = (data[other] & np.uint8(~codes & 0xFF)) | data[other + 1]
        if odd.any():
            _refuse_other_half(data, int(heads[(odd != 0).argmax()]))
    return heads, said(heads).astype(np.int64) + options.rdw_adjustment


def _lengths_anywhere(data: Bytes, options: QsamOptions) -> Callable[[Ints], npt.NDArray[np.uint16]]:
    """The lengths in the descriptor words that begin at some places; read from views, not copies."""
    kind = ">u2" if options.rdw_big_endian else "<u2"
    first, second = (np.ndarray((max(len(part) - 1, 0),), kind, part, strides=(1,)) for part in (data, data[2:]))
    if options.cobrix:
        return lambda places: np.where(first[places] != 0, first[places], second[places])
    half = first if options.rdw_big_endian else second
    return lambda places: half[places]


def _refuse_other_half(data: Bytes, at: int) -> NoReturn:
    said = data[at : at + DESCRIPTOR].tobytes().hex().upper()
    raise FramingError(
        f"the record descriptor word X'{said}' has more than a length; two bytes of it are zero, but for segments of"
        " spanned records (record_format VS or VBS)",
        at,
    )


def _refuse_descriptor(data: Bytes, at: int, limit: int) -> NoReturn:
    said = data[at : at + DESCRIPTOR].tobytes().hex().upper()
    raise FramingError(
        f"the record descriptor word X'{said}' does not fit the {limit - at} bytes left in its block; {LIES_HINT}", at
    )


def _in_order(steps: list[tuple[Ints, Ints]], blocks: int) -> Ints:
    """Bring what was found step by step into block order without sorting: the n-th record of a block has its place."""
    counts = np.zeros(blocks, np.int64)
    for members, _ in steps:
        counts[members] += 1
    first = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    heads = np.empty(int(first[-1]), np.int64)
    for number, (members, position) in enumerate(steps):
        heads[first[members] + number] = position
    return heads


def _blocked(options: QsamOptions) -> Walk:
    def walk(data: Bytes, final: bool) -> Frames:
        starts, ends, used = _blocks(data, final, options)
        heads, sizes = _chains(data, starts, ends, options)
        return _frames(data, heads + DESCRIPTOR, sizes, used)

    return walk


def _fixed_blocks(options: QsamOptions) -> Walk:
    """Fixed records in blocks with descriptor words."""
    length = options.length

    def walk(data: Bytes, final: bool) -> Frames:
        starts, ends, used = _blocks(data, final, options)
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
        return _frames(data, begin, np.full(len(begin), length, np.int64), used)

    return walk


def _spanned(options: QsamOptions) -> Walk:
    """Segment codes: 0 a whole record, 1 its first segment, 3 one in between, 2 the last."""

    def walk(data: Bytes, final: bool) -> Frames:
        starts, ends, used = _blocks(data, final, options)
        heads, sizes = _chains(data, starts, ends, options)
        codes = data[heads + 2] & 3
        opens, closes = (codes & 2) == 0, (codes & 1) == 0
        _check_segments(heads, opens, closes, final)
        # An unfinished record stays for the next walk, with the whole block it begins in.
        if len(closes) and not closes[-1]:
            last = int(np.flatnonzero(opens)[-1])
            block = int(starts[np.searchsorted(starts, heads[last], "right") - 1])
            keep = heads < block
            if keep.any() and closes[keep][-1]:
                heads, sizes, opens, closes, used = (
                    heads[keep],
                    sizes[keep],
                    opens[keep],
                    closes[keep],
                    block - DESCRIPTOR,
                )
            else:
                heads, sizes, opens, closes, used = heads[:0], sizes[:0], opens[:0], closes[:0], 0
        joined = _payload(data, heads + DESCRIPTOR, sizes)
        before = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
        first, last_ = np.flatnonzero(opens), np.flatnonzero(closes)
        return Frames(joined, before[first], before[last_ + 1] - before[first], heads[first] + DESCRIPTOR, used)

    return walk


def _check_segments(heads: Ints, opens: npt.NDArray[np.bool_], closes: npt.NDArray[np.bool_], final: bool) -> None:
    """A segment that opens follows one that closes, and the other way round."""
    if not len(heads):
        return
    wrong = np.flatnonzero(opens[1:] != closes[:-1]) + 1
    if not opens[0]:
        wrong = np.concatenate(([0], wrong))
    if len(wrong):
        raise FramingError(
            f"a segment of a spanned record is missing before this one; {CUT_HINT}", int(heads[wrong[0]])
        )
    if final and not closes[-1]:
        raise FramingError(f"the last record has no last segment; {CUT_HINT}", int(heads[-1]))


def _payload(data: Bytes, starts: Ints, sizes: Ints) -> Bytes:
    """The bytes of all segments, one after another."""
    if not sizes.any():
        return data[:0]
    return np.frombuffer(pieces(data, starts, starts + sizes, pa.binary()).buffers()[2], np.uint8)


def _headed(options: QsamOptions) -> Walk:
    """Records with a descriptor word and no blocks: each says where the next one is, so they are walked one by one."""
    kind = struct.Struct(">HH" if options.rdw_big_endian else "<HH")
    which, adjust, cobrix = (0 if options.rdw_big_endian else 1), options.rdw_adjustment, options.cobrix

    def walk(data: Bytes, final: bool) -> Frames:
        raw = memoryview(data)  # type: ignore[arg-type]
        unpack, size = kind.unpack_from, len(data)
        starts: list[int] = []
        position = 0
        while position + DESCRIPTOR <= size:
            halves = unpack(raw, position)
            length = (halves[0] or halves[1] if cobrix else halves[which]) + adjust
            if length < cobrix or (halves[1 - which] and not cobrix):
                _refuse_word(data, position, spanned=length >= 0 and not cobrix)
            if position + DESCRIPTOR + length > size:
                break
            starts.append(position + DESCRIPTOR)
            position += DESCRIPTOR + length
        if final and position < size:
            raise FramingError(
                f"the last record is cut short: {size - position} bytes are left of it; {CUT_HINT}", position
            )
        begin = np.array(starts, np.int64)
        after = np.append(begin[1:] - DESCRIPTOR, position) if len(begin) else begin
        return _frames(data, begin, after - begin, position)

    return walk


def _refuse_word(data: Bytes, at: int, *, spanned: bool) -> NoReturn:
    if spanned:
        _refuse_other_half(data, at)
    said = data[at : at + DESCRIPTOR].tobytes().hex().upper()
    raise FramingError(f"X'{said}' is no record descriptor word; see is_rdw_big_endian and rdw_adjustment", at)


def refuse_blocks(data: bytes, offset: int, options: QsamOptions) -> None:
    """Refuse a file of blocks that is to be read as one without.

    Args:
        data: the first bytes of the file.
        offset: where they begin in it.
        options: those of the read.

    Raises:
        FramingError: what were taken for records are all filled exactly by records with descriptor words of their own,
            or there are words before fixed records that say how many there are.
    """
    if options.recfm.fixed and _looks_fixed_blocked(data, options.length):
        raise FramingError(
            "a block descriptor word stands before the records; record_format FB reads blocks where is_bdw_big_endian"
            " or bdw_adjustment is given",
            offset,
        )
    if not options.recfm.fixed and _looks_blocked(data):
        raise FramingError(
            "every record begins with a descriptor word of its own, so these are blocks: read them with record_format"
            " VB (V stands for records without blocks; RDW does too, and takes these as they are)",
            offset,
        )


def _looks_fixed_blocked(data: bytes, length: int) -> bool:
    """Whether words of a block's length stand wherever one should, in the usual form or as Cobrix has them."""
    return any(_is_row_of_blocks(data, length, big=big, own=own) for big in (True, False) for own in (True, False))


def _is_row_of_blocks(data: bytes, length: int, *, big: bool, own: bool) -> bool:
    position, seen = 0, 0
    while position + DESCRIPTOR <= len(data) and seen < BLOCKS_LOOKED_AT:
        word = data[position : position + DESCRIPTOR]
        word = word if big else word[::-1]
        inside = int.from_bytes(word[:2], "big") - (DESCRIPTOR if own else 0)
        if any(word[2:]) or inside <= 0 or inside % length:
            return False
        position, seen = position + DESCRIPTOR + inside, seen + 1
    return position == len(data) if seen < 2 else position >= len(data) or seen == BLOCKS_LOOKED_AT


def _looks_blocked(data: bytes) -> bool:
    position, seen = 0, 0
    while position + DESCRIPTOR <= len(data) and seen < BLOCKS_LOOKED_AT:
        size = int.from_bytes(data[position : position + 2], "big")
        if size < 2 * DESCRIPTOR or data[position + 2 : position + DESCRIPTOR] != b"\0\0":
            return False
        if position + size > len(data):
            break
        if not _is_chain(data[position + DESCRIPTOR : position + size]):
            return False
        position, seen = position + size, seen + 1
    return seen > 0


def _is_chain(block: bytes) -> bool:
    position = 0
    while position + DESCRIPTOR <= len(block):
        size = int.from_bytes(block[position : position + 2], "big")
        if size < DESCRIPTOR or block[position + 2 : position + DESCRIPTOR] != b"\0\0":
            return False
        position += size
    return position == len(block)


def _by_length_field(options: QsamOptions) -> Walk:
    """Records whose length is in a field of theirs."""
    layout = options.layout
    if layout is None:
        raise DatasetError("record_length_field needs a copybook")
    size_of, adjustment = _length_expression(layout, options), options.length_adjustment
    return _one_by_one(
        layout.length, lambda head, at: size_of(head, at) + adjustment, options.record_length_field, options
    )


def _by_counters(options: QsamOptions) -> Walk:
    """Records that are as long as their tables."""
    assert options.layout is not None
    size_of, before = record_size(options.layout), options.record_start_offset
    return _one_by_one(
        options.layout.length + before, lambda head, _: size_of(head[before:]), "the number of occurrences", options
    )


def _one_by_one(need: int, size_of: Callable[[bytes, int], int], who: str, options: QsamOptions) -> Walk:
    """Records without descriptor words: each one's first ``need`` bytes say how long it is."""
    aside = options.record_start_offset + options.record_end_offset

    def walk(data: Bytes, final: bool) -> Frames:
        raw, starts, position = data.tobytes(), [], 0
        while position < len(raw):
            head = raw[position : position + need]
            if len(head) < need and not final:
                break
            length = size_of(head, position) + aside
            if length <= 0:
                raise FramingError(f"{who} says that the record has {length} bytes", position)
            if position + length > len(raw):
                if final and options.cobrix:  # there the last record is what is left
                    length = len(raw) - position
                elif final:
                    raise FramingError(
                        f"the last record is cut short: {length} bytes were said, {len(raw) - position} are left",
                        position,
                    )
                else:
                    break
            starts.append(position)
            position += length
        begin = np.array(starts, np.int64)
        return _frames(data, begin, np.append(begin[1:], position) - begin if len(begin) else begin, position)

    return walk


def _length_expression(layout: Layout, options: QsamOptions) -> Callable[[bytes, int], int]:
    """What the field, or the expression, says about the length of a record, through the map where there is one."""
    expression, mapping = Expression(options.record_length_field, "record_length_field"), options.record_length_map
    if mapping and not expression.is_name:
        raise DatasetError(
            f"record_length_map goes with a single field, not with record_length_field {options.record_length_field!r}"
        )
    try:
        fields = {name: layout.field(name) for name in expression.names}
    except LookupError as error:
        raise DatasetError(f"record_length_field: {error.args[0]}") from None

    def value(head: bytes, position: int) -> int:
        values = {name: _field_value(layout, item, head, position, options) for name, item in fields.items()}
        if mapping:
            return _mapped(mapping, options.record_length_field, next(iter(values.values())), position)
        try:
            length = expression.value(values)
        except ExpressionError as error:
            raise FramingError(f"{options.record_length_field}: {error}", position) from None
        if isinstance(length, str) and length.isascii() and length.isdigit():
            return int(length)
        if length is None or isinstance(length, str | bool):
            said = "null" if length is None else repr(length)
            raise FramingError(f"record length field {options.record_length_field} is {said}, no integer", position)
        return length

    return value


def _field_value(layout: Layout, item: Field, head: bytes, position: int, options: QsamOptions) -> Any:
    at = item.offset + options.record_start_offset
    try:
        return decode_value(item, head[at : at + item.length], layout.rules)
    except BadValue as error:
        raise FramingError(f"{item.name}: {error}", position) from None


def _mapped(mapping: Mapping[str, int], name: str, found: Any, position: int) -> int:
    key = "" if found is None else str(found).strip()
    if key not in mapping and "_" not in mapping:
        said = f"record length field {name} is null, and" if found is None else "a length"
        raise FramingError(f"{said} is not mapped for {key!r} by record_length_map", position)
    return mapping.get(key, mapping.get("_", 0))
