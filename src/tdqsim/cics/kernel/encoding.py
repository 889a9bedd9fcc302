"""Text of messages and names of resources in the region's code page."""

from __future__ import annotations

from tdqsim.core.codepage import CodePage
from tdqsim.errors import ConversionError


def encode(page: CodePage, text: str) -> bytes:
    """Encode text in a code page; characters that the code page does not have become question marks."""
    try:
        return page.encode(text)
    except ConversionError:
        return b"".join(_encode_one(page, character) for character in text)


def _encode_one(page: CodePage, character: str) -> bytes:
    try:
        return page.encode(character)
    except ConversionError:
        return page.encode("?")
