"""The places where a program may behave differently here than on the mainframe, because it runs in ASCII.

The expanded source is examined word by word; places are reported with the user's file and line: hexadecimal literals
(they keep their mainframe meaning, and so are not text here), comparisons and sorts whose order depends on the code
page, DISPLAY numbers whose sign is a character, and items of a different size. The list is for review; it is not a
complete proof.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tdqsim.cobol._tokens import Word, WordPlace, words

__all__ = ["PortabilityDifference", "differences"]

_ORDER: Final = ("<", ">", "GREATER", "LESS")
_SIGNED: Final = re.compile(r"S9+(?:\(\d+\))?(?:V9*(?:\(\d+\))?)?", re.IGNORECASE)
_USAGES: Final = ("COMP", "COMP-1", "COMP-2", "COMP-3", "COMP-4", "COMP-5", "BINARY", "PACKED-DECIMAL")


@dataclass(frozen=True, slots=True)
class PortabilityDifference:
    """One place where a program may behave differently.

    Attributes:
        place: the user's file and line.
        kind: ``hexadecimal``, ``collation``, ``sign``, ``size`` or ``code page``.
        text: a description.
    """

    place: WordPlace
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.kind}: {self.text}"


def differences(text: str, file: str) -> list[PortabilityDifference]:
    """The places in an expanded program that may behave differently.

    Args:
        text: the output of the preprocessor.
        file: the program's own file.
    """
    tokens = list(words(text, file))
    return sorted({*_words(tokens), *_signs(tokens)}, key=lambda each: (each.place, each.kind, each.text))


def _words(program_words: list[Word]) -> Iterator[PortabilityDifference]:
    for at, word in enumerate(program_words):
        after = program_words[at + 1] if at + 1 < len(program_words) else word
        if word.kind == "literal" and word.text[:1] in "Xx" and re.search("[1-9A-Fa-f]", word.text[2:]):
            yield PortabilityDifference(
                word.place, "hexadecimal", f"{word.text} is a byte of the mainframe, not a character here"
            )
        elif word.text in _ORDER or word.is_word(*_ORDER):
            yield from _order(word, after, program_words[at - 1] if at else word)
        elif word.is_word("SORT", "MERGE"):
            yield PortabilityDifference(
                word.place, "collation", f"{word.text.upper()}: digits come before letters here, after them there"
            )
        elif word.is_word("POINTER", "PROCEDURE-POINTER", "FUNCTION-POINTER") and not after.is_word("TO"):
            yield PortabilityDifference(word.place, "size", "a pointer has 8 bytes here, 4 there")
        elif word.is_word("ALPHABETIC-LOWER", "ALPHABETIC-UPPER"):
            yield PortabilityDifference(word.place, "code page", f"{word.text.upper()} examines ASCII text")
        elif word.is_word("FUNCTION") and after.is_word("ORD", "CHAR"):
            yield PortabilityDifference(word.place, "code page", f"FUNCTION {after.text.upper()} uses ASCII codes")


def _order(word: Word, after: Word, before: Word) -> Iterator[PortabilityDifference]:
    """A comparison for order; numbers and figurative constants compare the same in both."""
    for side in (after, before):
        if side.kind == "literal" and not side.text[:1].isalpha():
            text = f"{word.text.upper()} {side.text}: in ASCII digits come before capitals before small letters"
            yield PortabilityDifference(word.place, "collation", text)
            return
        if side.is_word("LOW-VALUE", "LOW-VALUES", "HIGH-VALUE", "HIGH-VALUES"):
            return


def _signs(program_words: list[Word]) -> Iterator[PortabilityDifference]:
    """Signed DISPLAY items: their last digit is a letter that includes the sign."""
    for at, word in enumerate(program_words):
        if not word.is_word("PIC", "PICTURE"):
            continue
        start = next((i for i in range(at - 1, -1, -1) if program_words[i].kind == "stop"), -1) + 1
        end = next((i for i in range(at, len(program_words)) if program_words[i].kind == "stop"), len(program_words))
        picture = "".join(each.text for each in program_words[at + 1 : end] if not each.is_word("IS"))
        if _SIGNED.match(picture) and not any(each.is_word(*_USAGES, "SEPARATE") for each in program_words[start:end]):
            name = program_words[start + 1].text if start + 1 < at else "FILLER"
            text = f"{name}: the last digit is a letter that includes the sign, as there, but an ASCII letter"
            yield PortabilityDifference(word.place, "sign", text)
