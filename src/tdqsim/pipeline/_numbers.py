"""Convert a column of zoned, packed or binary digits to 64- or 128-bit integers with numpy.

Eight digits are handled as one 64-bit word: each step adds neighbours, first digits to pairs, then pairs to fours, then
fours to eights. So a column needs only a few passes, whatever its width. The words are read directly from the records,
without copying the column first. Bytes that are not clearly a number are only marked here; the caller passes those few
to the plain decoder.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

__all__ = ["Bytes", "Cut", "Integers", "Ints", "Mask", "binary", "copied", "packed", "sign_mark", "sign_marks", "zoned"]

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

EIGHT = np.uint64(10**8)
LOW_32 = np.uint64(0xFFFFFFFF)
SHIFT_32 = np.uint64(32)
LONG_DIGITS, WIDE_DIGITS = 18, 38
WORD = 8
ALL_64 = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Cut:
    """A column of bytes inside the records: ``width`` bytes at ``at`` in each row of ``data``; rows may overlap."""

    data: Bytes
    at: int
    width: int

    def bytes(self) -> Bytes:
        """A copy of the column."""
        return copied(self.data[:, self.at : self.at + self.width])

    def byte(self, index: int) -> Bytes:
        """One byte of each row; a negative index counts from the end."""
        return self.data[:, self.at + (index if index >= 0 else self.width + index)]

    def part(self, low: int, high: int) -> Cut:
        """The bytes from ``low`` up to ``high`` of the column."""
        return Cut(self.data, self.at + low, high - low)

    def words(self, at: int, kind: str) -> npt.NDArray[np.generic]:
        """Numbers of a numpy type that begin at ``at`` in each row, aligned or not."""
        size = np.dtype(kind).itemsize
        return self.data[:, at : at + size].view(kind)[:, 0]


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


def _words(cut: Cut, fill: int, *, big: bool) -> list[Words]:
    """The column as 64-bit words, padded on the left; the first word holds the most significant digits."""
    kind, rest = (">u8" if big else "<u8"), cut.width % WORD
    whole = range(cut.at + rest, cut.at + cut.width, WORD)
    words = [cut.words(at, kind).astype(np.uint64) for at in whole]
    return [_first_word(cut, rest, fill, kind), *words] if rest else words


def _first_word(cut: Cut, rest: int, fill: int, kind: str) -> Words:
    """A word for the first ``rest`` bytes of the column, read together with the adjacent bytes of the row."""
    big, spare, row = kind[0] == ">", 8 * (WORD - rest), cut.data.shape[1]
    low_bytes = (1 << 8 * rest) - 1
    if cut.at + rest >= WORD:
        # There are enough bytes before the column: read a word that ends with it, and clear the other bytes.
        word = cut.words(cut.at + rest - WORD, kind).astype(np.uint64)
        word &= _u(low_bytes if big else ALL_64 ^ ((1 << spare) - 1))
    elif cut.at + WORD <= row:
        # There are enough bytes after its beginning: read a word there, and shift the other bytes out.
        word = cut.words(cut.at, kind).astype(np.uint64)
        word = word >> _u(spare) if big else word << _u(spare)
    else:
        padded = np.zeros((len(cut.data), WORD), np.uint8)
        padded[:, WORD - rest :] = cut.data[:, cut.at : cut.at + rest]
        word = padded.view(kind)[:, 0].astype(np.uint64)
    if fill:
        word |= _u(int.from_bytes(bytes([fill]) * (WORD - rest) + bytes(rest), "big" if big else "little"))
    return word


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


def zoned(column: Cut, *, ascii_digits: bool, signed: bool, leading: bool, separate: bool) -> Integers:
    """DISPLAY numbers: one digit in each byte, the sign in the zone of the last or first byte or in a separate byte."""
    zone = 0x30 if ascii_digits else 0xF0
    negative = good = mark = None
    if signed:
        sign = column.byte(0 if leading else -1)
        if separate:
            minus, plus = (0x2D, 0x2B) if ascii_digits else (0x60, 0x4E)
            negative = sign == minus
            good = negative | (sign == plus)
            column = column.part(1, column.width) if leading else column.part(0, column.width - 1)
        else:
            mark = _SIGNS[ascii_digits][sign]
            negative, good = (mark & 32) != 0, mark != 255
    words = _words(column, zone, big=False)
    if mark is not None:
        # Replace the sign byte by a plain digit, so that all bytes can be converted in the same way.
        word, place = (words[0], (WORD - column.width) % WORD) if leading else (words[-1], WORD - 1)
        word &= _u(ALL_64 ^ (0xFF << 8 * place))
        word |= ((mark & 15) | zone).astype(np.uint64) << _u(8 * place)
    odd, zones = None, _u(int.from_bytes(bytes([zone]) * WORD, "big"))
    for word in words:
        np.bitwise_xor(word, zones, out=word)
        odd = _odd_digits(word) if odd is None else odd | _odd_digits(word)
    digits = np.zeros(0, np.bool_) if odd is None else odd == 0
    good = digits if good is None else good & digits
    low, high = _combine([_eight_digits(word) for word in words], column.width)
    if negative is not None and negative.any():
        _negate(low, high, negative)
    return Integers(low, high, good)


def _sign_table(*, ascii_digits: bool) -> Bytes:
    """The value of each sign byte: its digit, plus 32 when negative; 255 for any other byte."""
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


def sign_marks(column: Cut, *, ascii_digits: bool, signed: bool, leading: bool, separate: bool) -> Bytes:  # noqa: ARG001
    """For each DISPLAY number: 1 where it has a plus sign, 2 where it has a minus sign, else 0."""
    return _MARKS[ascii_digits][column.byte(0 if leading else -1)] if signed else np.zeros(len(column.data), np.uint8)


def sign_mark(data: bytes, *, ascii_digits: bool) -> str:
    """The sign of a DISPLAY number as ASCII: ``+``, ``-`` or nothing; if it has several signs, the last one."""
    marks = _MARKS[ascii_digits]
    return next((" +-"[marks[byte]] for byte in reversed(data) if marks[byte]), "")


def _mark_table(*, ascii_digits: bool) -> Bytes:
    """Sign bytes: 1 for plus, 2 for minus; 0 for a byte without a sign."""
    table = np.zeros(256, np.uint8)
    if ascii_digits:
        table[list(b"{ABCDEFGHI+")] = 1
        table[list(b"}JKLMNOPQR-")] = 2
    else:
        table[[*range(0xC0, 0xCA), 0x4E]] = 1
        table[[*range(0xD0, 0xDA), 0x60]] = 2
    return table


_MARKS = (_mark_table(ascii_digits=False), _mark_table(ascii_digits=True))


def packed(column: Cut, digits: int, *, has_sign: bool) -> Integers:
    """COMP-3 (sign in the last half byte) and COMP-6 (no sign)."""
    words = _words(column, 0, big=True)
    negative = good = None
    if has_sign:
        sign = column.byte(-1) & 15
        negative = sign == 13
        good = negative | (sign == 12) | (sign == 15)
        # Shift the sign out of the last word; each word takes over the last half byte of the word before it.
        for index in range(len(words) - 1, -1, -1):
            words[index] >>= _u(4)
            if index:
                words[index] |= words[index - 1] << _u(60)
    limbs: list[Words] = []
    stored = 2 * column.width - (1 if has_sign else 0)
    for number, word in enumerate(words):
        # A half byte is above 9 if its highest bit is on together with one of the next two bits.
        high_bits = word & ((word << _u(1)) | (word << _u(2))) & _u(0x8888888888888888)
        good = high_bits == 0 if good is None else good & (high_bits == 0)
        few = number == 0 and stored - 16 * (len(words) - 1) <= 8
        limbs += _sixteen_digits(word)[1 if few else 0 :]
    assert good is not None
    if stored > WIDE_DIGITS:
        good &= column.byte(0) < 0x10  # a 39th digit: not all such numbers fit into 128 bits
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


def binary(column: Cut, *, signed: bool, little: bool) -> Integers:
    """Two's complement; unsigned 64-bit numbers, and numbers of 9 to 16 bytes, have a high half."""
    width = column.width
    if width > WORD:
        return _wide(column, signed=signed, little=little)
    values = column.words(column.at, f"{'<' if little else '>'}{'i' if signed else 'u'}{width}")
    good = np.ones(len(values), np.bool_)
    if signed or width < WORD:
        return Integers(values.astype(np.int64), None, good)
    # An unsigned 64-bit number may be greater than any int64, so it is returned as two halves.
    return Integers(values.astype(np.uint64).view(np.int64), np.zeros(len(values), np.int64), good)


def _wide(column: Cut, *, signed: bool, little: bool) -> Integers:
    """Numbers of 9 to 16 bytes, sign-extended to 16."""
    digits = column.bytes()[:, ::-1] if little else column.bytes()
    filled = np.zeros((len(digits), 2 * WORD), np.uint8)
    if signed:
        filled[digits[:, 0] >= 0x80] = 0xFF
    filled[:, 2 * WORD - column.width :] = digits
    halves = filled.view(">i8").astype(np.int64)
    return Integers(halves[:, 1].copy(), halves[:, 0].copy(), np.ones(len(digits), np.bool_))
