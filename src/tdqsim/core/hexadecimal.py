"""Hexadecimal input from a person or a client."""

from __future__ import annotations

from string import hexdigits

from tdqsim.errors import WrongValue


def hex_bytes(text: str) -> bytes:
    """Parse pairs of hexadecimal digits; blanks may stand between the pairs.

    Raises:
        ValueError: a character is not a hexadecimal digit, or a pair is incomplete; the message names the place.
    """
    allowed = "pairs of hexadecimal digits (0-9, A-F) are needed"
    for position, letter in enumerate(text, 1):
        if letter not in hexdigits and letter not in " \t\n\r":
            raise WrongValue(f"{letter!r} at position {position} is not a hexadecimal digit; {allowed}")
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise WrongValue(f"a pair is not complete; {allowed}") from None
