"""The three record layouts of the job, as plain offsets, and zoned decimals in whole cents.

Only the fields that the job uses have names. Amounts are integers in cents from the record to the report, never
floating point numbers.
"""

from __future__ import annotations

from typing import Final

from tdqsim.errors import DatasetError

CODE_PAGE: Final = "cp037"
TRANSACTION_LENGTH: Final = 350
XREF_LENGTH: Final = 50
ACCOUNT_LENGTH: Final = 300
REJECT_LENGTH: Final = TRANSACTION_LENGTH + 4 + 76  # the transaction, reason 9(4), text X(76)


class TRANSACTION:
    """DALYTRAN: one card transaction."""

    ID = slice(0, 16)
    AMOUNT = slice(132, 143)  # S9(9)V99
    CARD = slice(262, 278)
    DATE = slice(278, 288)  # the date part of the original timestamp, yyyy-mm-dd


class XREF:
    """CARDXREF: the account of each card."""

    CARD = slice(0, 16)
    ACCOUNT = slice(25, 36)


class ACCOUNT:
    """ACCTDATA: the account master."""

    ID = slice(0, 11)
    BALANCE = slice(12, 24)  # S9(10)V99, as the four amounts below
    CREDIT_LIMIT = slice(24, 36)
    EXPIRES = slice(58, 68)  # yyyy-mm-dd
    CYCLE_CREDIT = slice(78, 90)
    CYCLE_DEBIT = slice(90, 102)


class RecordError(DatasetError):
    """A field does not match its layout."""


def _digit_table() -> bytes:
    table = bytearray(b"?" * 256)
    for zone in (0xF0, 0xC0, 0xD0):
        for digit in range(10):
            table[zone + digit] = ord("0") + digit
    return bytes(table)


_DIGITS: Final = _digit_table()
_EBCDIC_DIGITS: Final = bytes.maketrans(b"0123456789", bytes(range(0xF0, 0xFA)))
_MINUS_ZONE: Final = 0xD0


def zoned(field: bytes) -> int:
    """The value of a signed zoned decimal, in units of its last digit (cents here).

    Raises:
        RecordError: a byte is not a zoned digit.
    """
    try:
        value = int(field.translate(_DIGITS))
    except ValueError:
        raise RecordError(f"X'{field.hex().upper()}' is not a zoned decimal number") from None
    return -value if field[-1] & 0xF0 == _MINUS_ZONE else value


def encode_zoned(value: int, length: int) -> bytes:
    """A signed zoned decimal of ``length`` digits: sign zone X'C' for plus and zero, X'D' for minus.

    Raises:
        RecordError: the value has more digits than the field.
    """
    digits = b"%0*d" % (length, abs(value))
    if len(digits) > length:
        raise RecordError(f"{cents_text(value)} does not fit a field of {length} digits")
    zone = 0xD0 if value < 0 else 0xC0
    return digits[:-1].translate(_EBCDIC_DIGITS) + bytes((zone | (digits[-1] & 0x0F),))


def cents_text(cents: int) -> str:
    """An amount as text, such as ``-12.05``."""
    units, rest = divmod(abs(cents), 100)
    return f"{'-' if cents < 0 else ''}{units}.{rest:02}"
