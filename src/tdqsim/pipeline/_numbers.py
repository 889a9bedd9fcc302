"""Convert a column of zoned, packed or binary digits to 64- or 128-bit integers with numpy.

Eight digits are handled as one 64-bit word: each step adds neighbours, first digits to pairs, then pairs to fours, then
fours to eights. So a column needs only a few passes, whatever its width. Bytes that are not clearly a number are only
marked here; the caller passes those few to the plain decoder.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from tdqsim.layouts import DisplayBytes

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

EIGHT = np.uint64(10**8)
LOW_32 = np.uint64(0xFFFFFFFF)
SHIFT_32 = np.uint64(32)
LONG_DIGITS, WIDE_DIGITS = 18, 38
MINUS = 2  # of a sign in ``DisplayBytes.meanings``, in the left half of a byte
WORD = 8
ALL_64 = (1 << 64) - 1


@dataclass(slots=True)
class Integers:
    """A column of integers: ``low`` alone (as int64), or together with ``high`` the two halves of 128-bit numbers."""

    low: Ints
    high: Ints | None
    good: Mask


def copied(rows: Bytes, which: Ints | Mask | slice = slice(None)) -> Bytes:
    """A copy of some rows of bytes, without gaps between them.

    As items of a type without a meaning, rows are copied at once, several times as fast as byte by byte.
    """
    width = rows.shape[1]
    if not width:
        return np.zeros((len(rows[which]), 0), np.uint8)
    return np.ascontiguousarray(rows.view(f"V{width}")[:, 0][which]).view(np.uint8).reshape(-1, width)


@cache
def _u(value: int) -> np.uint64:
    return np.uint64(value)


def _words(column: Bytes, width: int, fill: int, kind: str) -> list[Words]:
    """The last ``width`` bytes of a column as 64-bit words, the most significant digits first; ``fill`` precedes them.

    A column has whole words: before its last ``width`` bytes there are bytes of other fields.
    """
    words = list(column.view(kind).T.astype(np.uint64, order="C"))
    if spare := len(words) * WORD - width:
        order: Literal["big", "little"] = "big" if kind[0] == ">" else "little"
        words[0] &= _u(int.from_bytes(bytes(spare) + b"\xff" * (WORD - spare), order))
        if fill:
            words[0] |= _u(int.from_bytes(bytes([fill]) * spare + bytes(WORD - spare), order))
    return words


def _eight_digits(words: Words) -> Words:
    """Convert eight digits, one in each byte with the first in the lowest byte, to a number; overwrites the words."""
    for factor, shift, mask in (
        # 2561 is (10 << 8) + 1: each byte becomes ten times the byte before it plus itself. The next steps do the same
        # with 100 for 16 bits and 10,000 for 32 bits.
        (2561, 8, 0x00FF00FF00FF00FF),
        (6553601, 16, 0x0000FFFF0000FFFF),
        (42949672960001, 32, ALL_64),
    ):
        words *= _u(factor)
        words >>= _u(shift)
        if mask != ALL_64:
            words &= _u(mask)
    return words


def _odd_digits(digits: Words) -> Words:
    """Nonzero where a byte is greater than 9."""
    # Adding 6 to a digit above 9 carries into the left half of its byte.
    odd = digits + _u(0x0606060606060606)
    odd |= digits
    odd &= _u(0xF0F0F0F0F0F0F0F0)
    return odd


def _combine(limbs: list[Words], digits: int) -> tuple[Ints, Ints | None]:
    """Combine groups of eight digits, most significant first, into one integer."""
    low = limbs[0]
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


def _negate(low: Ints, high: Ints | None, negative: Mask) -> None:
    """Change the sign where ``negative``: invert all bits and add one."""
    one = negative.astype(np.int64)
    turn = np.negative(one)
    low ^= turn
    low += one
    if high is not None:
        high ^= turn
        high += one & (low == 0)


def zoned(column: Bytes, width: int, *, family: str, sign: Bytes | None, leading: bool, separate: bool) -> Integers:
    """DISPLAY numbers: one digit in each byte, the sign in the zone of the last or first byte or in a separate byte.

    Args:
        column: words whose last ``width`` bytes are the digits.
        width: the number of digits.
        family: the kind of code page.
        sign: the bytes with the signs; None for unsigned numbers.
        leading: whether the sign is before the digits or in the first one.
        separate: whether the sign has a byte of its own.
    """
    zone, marks, good = DisplayBytes.of(family).zone, None, None
    words = _words(column, width, zone, "<u8")
    if sign is not None:
        marks = np.frombuffer(DisplayBytes.of(family).meanings, np.uint8)[sign]
        # Of a byte that is neither sign nor digit the left half is greater than MINUS, whatever its right half is.
        good = (marks >> 4 <= MINUS) & (marks & 15 == 15 if separate else marks & 15 <= 9)
        if not separate:
            # Replace the sign byte by a plain digit, so that all bytes can be converted in the same way.
            word, byte = (words[0], -width % WORD) if leading else (words[-1], WORD - 1)
            word.view(np.uint8)[byte::WORD] = marks & 15 | zone
    zones = _u(int.from_bytes(bytes([zone]) * WORD, "big"))
    for word in words:
        np.bitwise_xor(word, zones, out=word)
        digits = _odd_digits(word) == 0
        good = digits if good is None else good & digits
    low, high = _combine([_eight_digits(word) for word in words], width)
    if marks is not None and (negative := marks >> 4 == MINUS).any():
        _negate(low, high, negative)
    return Integers(low, high, np.ones(len(low), np.bool_) if good is None else good)


def sign_marks(sign: Bytes, family: str) -> Bytes:
    """For each byte that may have the sign of a DISPLAY number: 1 for plus, 2 for minus, else 0."""
    signs = np.frombuffer(DisplayBytes.of(family).meanings, np.uint8)[sign] >> 4
    return np.where(signs <= MINUS, signs, 0)


def packed(column: Bytes, width: int, digits: int, *, has_sign: bool) -> Integers:
    """COMP-3 (sign in the last half byte) and COMP-6 (no sign), in words whose last ``width`` bytes are the number."""
    words = _words(column, width, 0, ">u8")
    negative = good = None
    if has_sign:
        sign = column[:, -1] & 15
        negative = sign == 13
        good = negative | (sign == 12) | (sign == 15)
        # Shift the sign out of the last word; each word takes over the last half byte of the word before it.
        for index in range(len(words) - 1, -1, -1):
            words[index] >>= _u(4)
            if index:
                words[index] |= words[index - 1] << _u(60)
    limbs: list[Words] = []
    stored = 2 * width - (1 if has_sign else 0)
    for number, word in enumerate(words):
        # A half byte is above 9 if its highest bit is on together with one of the next two bits.
        high_bits = word & ((word << _u(1)) | (word << _u(2))) & _u(0x8888888888888888)
        good = high_bits == 0 if good is None else good & (high_bits == 0)
        few = number == 0 and stored - 16 * (len(words) - 1) <= 8
        limbs += _sixteen_digits(word)[1 if few else 0 :]
    assert good is not None
    if stored > WIDE_DIGITS:
        good &= column[:, -width] < 0x10  # a 39th digit: not all such numbers fit into 128 bits
    low, high = _combine(limbs, max(digits, stored))
    if negative is not None and negative.any():
        _negate(low, high, negative)
    return Integers(low, high, good)


def _sixteen_digits(words: Words) -> list[Words]:
    """Sixteen half bytes, the first in the highest bits, as two numbers of eight digits."""
    # Each step subtracts (base - 10 ** n) times the upper neighbour, which leaves upper * 10 ** n + lower.
    for shift, take, mask in (
        (4, 6, 0x0F0F0F0F0F0F0F0F),
        (8, 156, 0x00FF00FF00FF00FF),
        (16, 55536, 0x0000FFFF0000FFFF),
    ):
        upper = words >> _u(shift)
        upper &= _u(mask)
        upper *= _u(take)
        words = words - upper
    return [words >> SHIFT_32, words & LOW_32]


def binary(column: Bytes, *, signed: bool, little: bool) -> Integers:
    """Two's complement; unsigned 64-bit numbers have a high half."""
    rows, width = column.shape
    values = column.view(f"{'<' if little else '>'}{'i' if signed else 'u'}{width}")[:, 0]
    good = np.ones(rows, np.bool_)
    if signed or width < WORD:
        return Integers(values.astype(np.int64), None, good)
    # An unsigned 64-bit number may be greater than any int64, so it is returned as two halves.
    return Integers(values.astype(np.uint64).view(np.int64), np.zeros(rows, np.int64), good)
