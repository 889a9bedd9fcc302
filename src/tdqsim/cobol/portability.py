"""The places where a program may behave differently here than on the mainframe, because it runs in ASCII.

The expanded source is examined word by word; places are reported with the user's file and line: hexadecimal literals
(they keep their mainframe meaning, and so are not text here), comparisons, ranges and sorts whose order depends on the
code page, INSPECT CONVERTING with items, DISPLAY numbers whose sign is a character, and items of a different size. The
list is for review; it is not a complete proof.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tdqsim.cobol._tokens import Word, WordPlace, words

_ORDER: Final = ("<", ">", "GREATER", "LESS")
_BETWEEN: Final = ("THAN", "OR", "EQUAL", "TO", "IS", "NOT", "ALL")
"""Words between an operator of a comparison and its operands."""
_OWN: Final = str(Path(__file__).parent)
"""The copybooks of this package, such as DFHAID and DFHBMSCA: their values agree with the EIB and the maps here."""
_EBCDIC: Final = "cp037"
_PRINTABLE: Final = [chr(code) for code in range(0x20, 0x7F)]
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
    found = {each for each in (*_words(tokens), *_signs(tokens)) if not each.place.file.startswith(_OWN)}
    return sorted(found, key=lambda each: (each.place, each.kind, each.text))


def _words(program_words: list[Word]) -> Iterator[PortabilityDifference]:
    texts = _text_items(program_words)
    for at, word in enumerate(program_words):
        after = program_words[at + 1] if at + 1 < len(program_words) else word
        if word.kind == "literal" and word.text[:1] in "Xx" and re.search("[1-9A-Fa-f]", word.text[2:]):
            text = f"{word.text} is a byte of the mainframe, not a character here"
            yield PortabilityDifference(word.place, "hexadecimal", text)
        elif word.text in _ORDER or word.is_word(*_ORDER):
            yield from _order(program_words, at, texts)
        elif word.is_word("THRU", "THROUGH"):
            yield from _range(word, program_words[at - 1] if at else word, after)
        elif word.is_word("SORT", "MERGE"):
            text = f"{word.text.upper()}: digits come before letters here, after them there{_UNLESS}"
            yield PortabilityDifference(word.place, "collation", text)
        elif word.is_word("CONVERTING"):
            yield from _conversion(program_words, at)
        elif word.is_word("POINTER", "PROCEDURE-POINTER", "FUNCTION-POINTER") and not after.is_word("TO"):
            yield PortabilityDifference(word.place, "size", "a pointer has 8 bytes here, 4 there")
        elif word.is_word("ALPHABETIC-LOWER", "ALPHABETIC-UPPER"):
            yield PortabilityDifference(word.place, "code page", f"{word.text.upper()} examines ASCII text")
        elif word.is_word("FUNCTION") and after.is_word("ORD", "CHAR"):
            yield PortabilityDifference(word.place, "code page", f"FUNCTION {after.text.upper()} uses ASCII codes")


_UNLESS: Final = ", unless collating_sequence is EBCDIC"


def _text_items(program_words: list[Word]) -> frozenset[str]:
    """The names of the items with an alphanumeric picture."""
    names = set()
    for at, word in enumerate(program_words):
        if word.is_word("PIC", "PICTURE"):
            picture = program_words[at + 1 : at + 3]
            text = next((each.text for each in picture if not each.is_word("IS")), "").upper()
            start = next((i for i in range(at - 1, -1, -1) if program_words[i].kind == "stop"), -1) + 1
            if "X" in text and start + 1 < at:
                names.add(program_words[start + 1].text.upper())
    return frozenset(names)


def _order(program_words: list[Word], at: int, texts: frozenset[str]) -> Iterator[PortabilityDifference]:
    """A comparison of text for order; numbers and figurative constants compare the same in both."""
    word = program_words[at]
    sides = (_operand(program_words, at, 1), _operand(program_words, at, -1))
    if any(side.is_word("LOW-VALUE", "LOW-VALUES", "HIGH-VALUE", "HIGH-VALUES") for side in sides):
        return
    for side in sides:
        if side.text.upper() in texts or (side.kind == "literal" and not side.text[:1].isalpha()):
            text = (
                f"{word.text.upper()} {side.text}: in ASCII digits come before capitals before small letters{_UNLESS}"
            )
            yield PortabilityDifference(word.place, "collation", text)
            return


def _operand(program_words: list[Word], at: int, step: int) -> Word:
    """The first word of the operand after (step 1) or before (step -1) an operator; the name of one with subscripts."""
    found = depth = 0
    for found in range(at + step, len(program_words) if step > 0 else -1, step):
        word = program_words[found]
        depth += {")": 1, "(": -1}.get(word.text, 0) if step < 0 else 0
        if not depth and word.text not in ("=", "(", ")") and not word.is_word(*_BETWEEN):
            break
    return program_words[found]


def _range(word: Word, first: Word, last: Word) -> Iterator[PortabilityDifference]:
    """A range of characters that contains other characters in EBCDIC."""
    bounds = [each.text[1:-1] for each in (first, last) if each.kind == "literal" and each.text[:1] in "'\""]
    if len(bounds) < 2 or any(len(each) != 1 for each in bounds):
        return
    low, high = bounds
    codes = [each.encode(_EBCDIC, "replace") for each in bounds]
    here = {each for each in _PRINTABLE if low <= each <= high}
    if here != {each for each in _PRINTABLE if codes[0] <= each.encode(_EBCDIC) <= codes[1]}:
        text = f"{first.text} THRU {last.text} contains other characters in EBCDIC"
        yield PortabilityDifference(word.place, "collation", text)


def _conversion(program_words: list[Word], at: int) -> Iterator[PortabilityDifference]:
    """INSPECT CONVERTING: an item may contain bytes of EBCDIC, such as a translation table."""
    operands = program_words[at + 1 : at + 4]
    if any(each.kind == "word" and not each.is_word("TO", *_FIGURATIVE) for each in operands):
        text = "CONVERTING replaces bytes: a table of EBCDIC bytes converts other characters here"
        yield PortabilityDifference(program_words[at].place, "code page", text)


_FIGURATIVE: Final = ("SPACE", "SPACES", "ZERO", "ZEROS", "ZEROES", "QUOTE", "QUOTES", "LOW-VALUES", "HIGH-VALUES")


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
