"""Numbers of a column at once: zoned, packed and binary digits to 64- or 128-bit integers with numpy.

Eight digits are handled as one 64-bit word: each step adds neighbours, first digits to pairs, then pairs to fours, then
to eights. So a column costs a handful of passes whatever its width. What is not plainly a number is only marked here;
the caller asks the plain decoder about those few.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Bytes", "Integers", "binary", "packed", "zoned"]

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

EIGHT = np.uint64(10**8)
LOW_32 = np.uint64(0xFFFFFFFF)
SHIFT_32 = np.uint64(32)
LONG_DIGITS = 18


@dataclass(slots=True)
class Integers:
    """A column of integers: ``low`` alone (as int64), or with ``high`` the two halves of 128-bit numbers."""

    low: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64] | None
    good: Mask


def _u(value: int) -> np.uint64:
    return np.uint64(value)


def _words(column: Bytes, fill: int, *, big: bool) -> list[Words]:
    """The column as 64-bit words, filled up on the left; the first word holds the most significant digits."""
    rows, width = column.shape
    count = -(-width // 8)
    padded = np.empty((rows, count * 8), np.uint8)
    padded[:, : count * 8 - width] = fill
    padded[:, count * 8 - width :] = column
    words = padded.view(">u8" if big else "<u8").astype(np.uint64, copy=False)
    return [np.ascontiguousarray(words[:, index]) for index in range(count)]


def _eight_digits(words: Words) -> Words:
    """Eight digit bytes, the first in the lowest byte, to their number."""
    out = (words & _u(0x0F0F0F0F0F0F0F0F)) * _u(2561) >> _u(8)
    out = (out & _u(0x00FF00FF00FF00FF)) * _u(6553601) >> _u(16)
    return (out & _u(0x0000FFFF0000FFFF)) * _u(42949672960001) >> SHIFT_32


def _all_digits(words: Words, zones: int) -> Mask:
    """Whether each byte is the zone with a digit of 0 to 9."""
    over_nine = ((words & _u(0x0F0F0F0F0F0F0F0F)) + _u(0x0606060606060606)) & _u(0xF0F0F0F0F0F0F0F0)
    good: Mask = ((words & _u(0xF0F0F0F0F0F0F0F0)) == _u(zones)) & (over_nine == _u(0))
    return good


def _combine(limbs: list[Words], digits: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64] | None]:
    """Limbs of eight digits, most significant first, to one integer."""
    low = limbs[0].copy()
    if digits <= LONG_DIGITS:
        for limb in limbs[1:]:
            low *= EIGHT
            low += limb
        return low.view(np.int64), None
    high = np.zeros_like(low)
    for limb in limbs[1:]:
        first = (low & LOW_32) * EIGHT
        second = (low >> SHIFT_32) * EIGHT + (first >> SHIFT_32)
        high = high * EIGHT + (second >> SHIFT_32)
        low = (second << SHIFT_32) | (first & LOW_32)
        low += limb
        high += low < limb
    return low.view(np.int64), high.view(np.int64)


def _negate(low: npt.NDArray[np.int64], high: npt.NDArray[np.int64] | None, negative: Mask) -> None:
    if high is None:
        np.negative(low, out=low, where=negative)
        return
    flipped = np.negative(low)
    high[negative] = ~high[negative] + (low[negative] == 0)
    low[negative] = flipped[negative]


def zoned(column: Bytes, *, ascii_digits: bool, signed: bool, leading: bool, separate: bool) -> Integers:
    """DISPLAY numbers: one digit a byte, sign in the zone of the last or first byte, or in a byte of its own."""
    zone, width = (0x30 if ascii_digits else 0xF0), column.shape[1]
    negative = good = None
    if signed:
        at = 0 if leading else width - 1
        mark = column[:, at]
        if separate:
            minus, plus = (0x2D, 0x2B) if ascii_digits else (0x60, 0x4E)
            negative = mark == minus
            good = negative | (mark == plus)
            column = column[:, 1:] if leading else column[:, :-1]
        else:
            table = _SIGNS[ascii_digits]
            code = table[mark]
            negative, good = (code & 32) != 0, code != 255
            column = column.copy()
            column[:, at] = (code & 15) | zone
    words = _words(column, zone, big=False)
    zones = int.from_bytes(bytes([zone]) * 8, "big")
    for word in words:
        good = _all_digits(word, zones) if good is None else good & _all_digits(word, zones)
    low, high = _combine([_eight_digits(word) for word in words], column.shape[1])
    if negative is not None and negative.any():
        _negate(low, high, negative)
    assert good is not None
    return Integers(low, high, good)


def _sign_table(*, ascii_digits: bool) -> Bytes:
    """Sign bytes: the digit, plus 32 when negative; 255 is none."""
    table = np.full(256, 255, np.uint8)
    plus, minus = (
        (b"{ABCDEFGHI", b"}JKLMNOPQR") if ascii_digits else (bytes(range(0xC0, 0xCA)), bytes(range(0xD0, 0xDA)))
    )
    for digit in range(10):
        table[(0x30 if ascii_digits else 0xF0) + digit] = digit
        table[plus[digit]] = digit
        table[minus[digit]] = digit | 32
    return table


_SIGNS = (_sign_table(ascii_digits=False), _sign_table(ascii_digits=True))


def packed(column: Bytes, digits: int, *, has_sign: bool) -> Integers:
    """COMP-3 (sign in the last half byte) and COMP-6 (no sign)."""
    words = _words(column, 0, big=True)
    negative = None
    good = np.ones(len(column), np.bool_)
    if has_sign:
        sign = column[:, -1] & 15
        negative = sign == 13
        good = negative | (sign == 12) | (sign == 15)
        for index in range(len(words) - 1, -1, -1):
            above = words[index - 1] << _u(60) if index else _u(0)
            words[index] = (words[index] >> _u(4)) | above
    limbs: list[Words] = []
    for word in words:
        good &= (word & ((word << _u(1)) | (word << _u(2))) & _u(0x8888888888888888)) == 0
        limbs += _sixteen_digits(word)
    stored = 2 * column.shape[1] - (1 if has_sign else 0)
    low, high = _combine(limbs, max(digits, stored))
    if negative is not None and negative.any():
        _negate(low, high, negative)
    return Integers(low, high, good)


def _sixteen_digits(words: Words) -> list[Words]:
    """Sixteen half bytes, the first in the highest, as two numbers of eight digits."""
    out = words - _u(6) * ((words >> _u(4)) & _u(0x0F0F0F0F0F0F0F0F))
    out = ((out >> _u(8)) & _u(0x00FF00FF00FF00FF)) * _u(100) + (out & _u(0x00FF00FF00FF00FF))
    out = ((out >> _u(16)) & _u(0x0000FFFF0000FFFF)) * _u(10000) + (out & _u(0x0000FFFF0000FFFF))
    return [out >> SHIFT_32, out & LOW_32]


def binary(column: Bytes, *, signed: bool, little: bool) -> Integers:
    """Two's complement of 2, 4 or 8 bytes; unsigned 64-bit numbers come with a high half of zeros."""
    width = column.shape[1]
    kind = f"{'<' if little else '>'}{'i' if signed else 'u'}{width}"
    values = np.ascontiguousarray(column).view(kind)[:, 0]
    good = np.ones(len(column), np.bool_)
    if signed or width < 8:
        return Integers(values.astype(np.int64), None, good)
    return Integers(values.astype(np.uint64).view(np.int64), np.zeros(len(column), np.int64), good)
