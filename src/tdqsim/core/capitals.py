"""Conversion to upper case that keeps the number of letters."""

from __future__ import annotations


def capitals(text: str) -> str:
    """Text in upper case; a non-ASCII letter whose upper case is ASCII, such as the sharp s (SS), is left unchanged."""
    if text.isascii():
        return text.upper()
    return "".join(each.upper() if each.isascii() or not each.upper().isascii() else each for each in text)
