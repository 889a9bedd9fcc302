"""Build Arrow arrays directly from buffers: text of fixed width, integers, decimals."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tdqsim.hosting import CodePage, codepage
from tdqsim.pipeline._numbers import Bytes, Ints, Mask

UNDEFINED = 0xFFFE
BLANKS = "".join(map(chr, range(0x21)))
FIRST_GRAPHIC, HIGHEST_ASCII = 0x20, 0x7F
GRAPHICS = bytes(byte if FIRST_GRAPHIC <= byte <= HIGHEST_ASCII else 0x80 for byte in range(256))
REPLACEMENT = 0xFFFD
SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")  # Java decodes it as one replacement character, Python as three


def null_mask(nulls: Mask | None) -> pa.Buffer | None:
    """A validity bitmap: a bit is set where there is a value."""
    if nulls is None or not nulls.any():
        return None
    return pa.py_buffer(np.packbits(~nulls, bitorder="little"))


def up_to(width: int, lengths: Ints) -> Mask:
    """A mask with a row for each length: the first ``length`` of its ``width`` places are true."""
    mask: Mask
    if width < np.iinfo(np.int16).max:  # comparing narrow integers is several times as fast
        mask = np.arange(width, dtype=np.int16) < np.minimum(lengths, width).astype(np.int16)[:, None]
    else:
        mask = np.arange(width, dtype=np.int64) < lengths[:, None]
    return mask


@cache
def ascii_table(page: CodePage) -> bytes:
    """The ASCII character of each byte; X'80' for other characters, and for blanks that :func:`blank_bytes` lacks."""
    return bytes(
        ord(character) if character.isascii() and (character not in BLANKS or byte <= HIGHEST_ASCII) else 0x80
        for byte, character in enumerate(page.characters())
    )


@cache
def blank_bytes(page: CodePage) -> str:
    """The bytes of a page that are blanks or control characters, each as the ASCII character of that byte.

    With it, text can be trimmed before it is translated, which is faster.
    """
    return "".join(chr(byte) for byte, c in enumerate(page.characters()) if c in BLANKS and byte <= HIGHEST_ASCII)


@cache
def code_points(page: CodePage) -> npt.NDArray[np.uint32]:
    """Each byte's Unicode code point."""
    return np.array([ord(c) for c in page.characters()], np.uint32)


def strings(characters: npt.NDArray[np.uint32], lengths: Ints, nulls: Mask | None) -> pa.Array:
    """A string array from code points (rows of fixed width), using the first ``lengths`` of each row."""
    flat = characters[up_to(characters.shape[1], lengths)]
    return _encoded(flat, np.concatenate(([0], np.cumsum(lengths))), nulls)


def _encoded(flat: npt.NDArray[np.uint32], bounds: Ints, nulls: Mask | None) -> pa.Array:
    """A string array from consecutive code points and the place where each row begins."""
    sizes = 1 + (flat > 0x7F) + (flat > 0x7FF) + (flat > 0xFFFF)
    ends = np.cumsum(sizes)
    data = np.frombuffer(flat.astype("<u4").tobytes().decode("utf-32-le").encode("utf-8"), np.uint8)
    offsets = np.concatenate(([0], ends))[bounds].astype(np.int32)
    buffers = [null_mask(nulls), pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(bounds) - 1, buffers)


def recoded(array: pa.Array, page: CodePage, nulls: Mask | None) -> tuple[pa.Array, Mask]:
    """Text from bytes in a code page, and which rows have a byte that is no character, U+FFFD there."""
    data, bounds = _contents(array)
    points = code_points(page)
    undefined, odd = np.flatnonzero(points[data] == UNDEFINED), np.zeros(len(array), np.bool_)
    odd[np.searchsorted(bounds, undefined, "right") - 1] = True
    characters = np.where(points == UNDEFINED, np.uint32(REPLACEMENT), points)[data]
    return _encoded(characters, bounds, nulls), odd


def _contents(array: pa.Array) -> tuple[Bytes, Ints]:
    """The bytes of a text array without an offset, and where each text begins."""
    _, offsets, data = array.buffers()
    bounds: Ints = np.frombuffer(offsets, np.int32)[: len(array) + 1].astype(np.int64)
    return np.frombuffer(data, np.uint8)[: bounds[-1]] if data is not None else np.empty(0, np.uint8), bounds


def in_charset(array: pa.Array, charset: str, nulls: Mask | None, *, controls: bool) -> pa.Array:
    """Text from bytes in ASCII, UTF-8 or a code page, with or without control characters."""
    data, bounds = _contents(array)
    if not controls:
        kept = data >= FIRST_GRAPHIC
        bounds = np.concatenate((np.zeros(1, np.int64), np.cumsum(kept, dtype=np.int64)))[bounds]
        data = data[kept]
    if charset == "ascii":
        data = np.where(data > HIGHEST_ASCII, np.uint8(FIRST_GRAPHIC), data)
    made = [null_mask(nulls), pa.py_buffer(bounds.astype(np.int32)), pa.py_buffer(np.ascontiguousarray(data))]
    raw = pa.Array.from_buffers(pa.binary(), len(array), made)
    if charset not in ("ascii", "utf-8"):
        return recoded(raw, codepage(charset), nulls)[0]
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:  # some bytes are not UTF-8
        texts = [
            None if value is None else SURROGATE.sub(b"\xff", value).decode("utf-8", "replace")
            for value in raw.to_pylist()
        ]
        return pa.array(texts, pa.string())


def fixed_width(data: Bytes, kind: pa.DataType, nulls: Mask | None = None) -> pa.Array:
    """A string or binary array whose values all have the same width, a row of bytes each."""
    rows, width = data.shape
    offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(width)
    return pa.Array.from_buffers(kind, rows, [null_mask(nulls), pa.py_buffer(offsets), pa.py_buffer(data)])


def pieces(data: Bytes, begins: Ints, ends: Ints, kind: pa.DataType) -> pa.Array:
    """A string or binary array of slices of ``data``, which must be in ascending order and must not overlap.

    First an array of all slices and of the gaps between them is made, which needs no copy. Then Arrow takes every
    second element, which copies each slice once.
    """
    count = len(begins)
    bounds = np.empty(2 * count + 1, np.int32)
    bounds[0:-1:2], bounds[1::2], bounds[-1] = begins, ends, len(data)
    both = pa.Array.from_buffers(kind, 2 * count, [None, pa.py_buffer(bounds), pa.py_buffer(data)])
    return both.take(pa.array(np.arange(0, 2 * count, 2, dtype=np.int32)))


def joined_bytes(array: pa.Array) -> bytes | memoryview:
    """The bytes of non-null texts or records, concatenated; not a copy."""
    _, offsets, data = array.buffers()
    if data is None or not len(array):
        return b""
    bounds = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
    return memoryview(data)[int(bounds[0]) : int(bounds[-1])]


def in_hexadecimal(array: pa.Array) -> pa.Array:
    """Bytes as hexadecimal digits."""
    digits = bytes(joined_bytes(array)).hex().upper().encode()
    bounds = np.frombuffer(array.buffers()[1], np.int32)[array.offset : array.offset + len(array) + 1]
    offsets = (bounds - bounds[:1]) * np.int32(2)
    validity = array.is_valid().buffers()[1] if array.null_count else None
    return pa.Array.from_buffers(pa.string(), len(array), [validity, pa.py_buffer(offsets), pa.py_buffer(digits)])


def trimmed(array: pa.Array, policy: str, blanks: str = BLANKS) -> pa.Array:
    """Text with blanks and control characters removed at the left, at the right, or at both ends."""
    trim = {"both": pc.ascii_trim, "left": pc.ascii_ltrim, "right": pc.ascii_rtrim}.get(policy)
    return array if trim is None else trim(array, characters=blanks)


def translated(array: pa.Array, table: bytes, nulls: Mask | None) -> pa.Array | None:
    """A string array with its bytes translated by a table of ASCII characters; None when it has other characters."""
    offsets, data = array.buffers()[1:]
    text = data.to_pybytes().translate(table) if data is not None else b""
    if not text.isascii():
        return None
    return pa.Array.from_buffers(pa.string(), len(array), [null_mask(nulls), offsets, pa.py_buffer(text)])


def integer_array(low: Ints, kind: pa.DataType, nulls: Mask | None) -> pa.Array:
    """An int32 or int64 array."""
    values = low.astype(np.int32) if pa.types.is_int32(kind) else np.ascontiguousarray(low)
    return pa.Array.from_buffers(kind, len(values), [null_mask(nulls), pa.py_buffer(values)])


def decimal_array(
    low: Ints,
    high: Ints | None,
    kind: pa.DataType,
    nulls: Mask | None,
) -> pa.Array:
    """A decimal128 array from unscaled numbers."""
    pairs = np.empty((len(low), 2), np.int64)
    pairs[:, 0] = low
    pairs[:, 1] = low >> 63 if high is None else high
    return pa.Array.from_buffers(kind, len(low), [null_mask(nulls), pa.py_buffer(pairs)])
