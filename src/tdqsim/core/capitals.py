"""Small letters as capitals, where both are letters of one alphabet."""

from __future__ import annotations

__all__ = ["capitals"]


def capitals(text: str) -> str:
    """Text in capitals; a letter whose capitals are others stays, as the sharp s, which has two S: no name has it."""
    if text.isascii():
        return text.upper()
    return "".join(each.upper() if each.isascii() or not each.upper().isascii() else each for each in text)
