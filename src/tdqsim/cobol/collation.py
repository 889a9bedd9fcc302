"""EBCDIC collating order for a program: comparisons, SORT and MERGE order characters as on the mainframe.

GnuCOBOL 3.1 has no option for it (``-fdefault-colseq`` came with 3.2), but it supports PROGRAM COLLATING SEQUENCE with
the predefined alphabet EBCDIC. The clause and the ALPHABET are added to the CONFIGURATION SECTION of the outermost
program; programs inside it inherit them. A program that has the clause keeps its own sequence. Each addition is
followed by a mark with the number of the user's line.

The characters themselves stay ASCII: class conditions, hexadecimal literals and the comparison of two literals, which
the compiler evaluates, are as before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tdqsim.cobol._tokens import Word, words

EBCDIC_WORD: Final = "-freserved=TDQ-CODE:EBCDIC"
"""The option of ``cobc`` for a second name of the alphabet, since programs may have items that are called EBCDIC."""
SEQUENCES: Final = ("ASCII", "EBCDIC")
"""The collating sequences."""
_DECLARED: Final = re.compile(r"(\bALPHABET\s+[A-Z0-9-]+\s+(?:IS\s+)?)EBCDIC\b", re.IGNORECASE)
_CLAUSE: Final = "PROGRAM COLLATING SEQUENCE IS TDQ-EBCDIC"
_ENTRY: Final = "ALPHABET TDQ-EBCDIC IS TDQ-CODE."
_HEADERS: Final = ("SOURCE-COMPUTER", "SPECIAL-NAMES", "REPOSITORY", "INPUT-OUTPUT", "DATA", "PROCEDURE")
"""What may follow an OBJECT-COMPUTER paragraph without an entry."""


def with_ebcdic_word(text: str) -> str:
    """A translated program whose ALPHABET clauses name EBCDIC by its second name."""
    return _DECLARED.sub(r"\1TDQ-CODE", text)


def in_ebcdic_order(text: str) -> str:
    """A translated program with EBCDIC as its collating sequence.

    Args:
        text: the program, as the compiler gets it.
    """
    head = _head([*words(text, "")])
    names = [word.text.upper() for word in head]
    if "COLLATING" in names:
        return text
    if "ENVIRONMENT" not in names:
        place, section = head[-1], "ENVIRONMENT DIVISION. CONFIGURATION SECTION."
        at = place.start
    else:
        place = _stop(head, names, "CONFIGURATION" if "CONFIGURATION" in names else "ENVIRONMENT")
        section = "" if "CONFIGURATION" in names else "CONFIGURATION SECTION."
        at = place.end
    added = [(at, place, section)]
    if "OBJECT-COMPUTER" in names:
        added.append(_in_object_computer(head, names))
    else:
        added.append((at, place, f"OBJECT-COMPUTER. TDQ {_CLAUSE}."))
    if "SPECIAL-NAMES" in names:
        stop = _stop(head, names, "SPECIAL-NAMES")
        added.append((stop.end, stop, _ENTRY))
    else:
        added.append((at, place, f"SPECIAL-NAMES. {_ENTRY}"))
    for offset, word, addition in sorted(added, key=lambda each: each[0])[::-1]:  # those at one place stay in order
        mark = f'#line {word.place.line} "{word.place.file}"\n'
        text = f"{text[:offset]}\n {addition}\n{mark} {text[offset:]}"
    return text


def _head(program: Sequence[Word]) -> Sequence[Word]:
    """The words up to the DATA or PROCEDURE DIVISION of the outermost program; the last one begins that division."""
    for at, word in enumerate(program[:-1]):
        if word.is_word("DATA", "PROCEDURE") and program[at + 1].is_word("DIVISION"):
            return program[: at + 1]
    return program


def _stop(head: Sequence[Word], names: Sequence[str], name: str) -> Word:
    """The full stop that ends a header."""
    return next(word for word in head[names.index(name) :] if word.kind == "stop")


def _in_object_computer(head: Sequence[Word], names: Sequence[str]) -> tuple[int, Word, str]:
    """The clause for an OBJECT-COMPUTER paragraph: at the end of its entry, or as its entry if it has none."""
    header = _stop(head, names, "OBJECT-COMPUTER")
    entry = head[head.index(header) + 1 :]
    if entry[0].is_word(*_HEADERS):
        return header.end, header, f"TDQ {_CLAUSE}."
    stop = next(word for word in entry if word.kind == "stop")
    return stop.start, stop, _CLAUSE
