"""The text that lets a test run one paragraph or section of a program, and answer others.

In such a translation the program begins with the paragraph DFHEI-ENTRY. It asks which paragraph to PERFORM, and after
that it reports the end of the paragraph. Each paragraph and section begins by asking whether a stub replaces it::

    DFHEI-ENTRY.
        MOVE 1 TO DFHEI-NUMBER CALL 'DFHEIP' USING DFHEI-NUMBER END-CALL
        EVALUATE DFHEI-NUMBER WHEN 1 PERFORM FEES OF BODY WHEN 2 ... END-EVALUATE
        MOVE 2 TO DFHEI-NUMBER CALL 'DFHEIP' USING DFHEI-NUMBER END-CALL GOBACK.
    FEES.
        MOVE 3 TO DFHEI-NUMBER CALL 'DFHEIP' USING DFHEI-NUMBER END-CALL
        IF DFHEI-NUMBER NOT = 0 MOVE 0 TO DFHEI-NUMBER EXIT PARAGRAPH END-IF.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tdqsim.cobol._tokens import Word

PARAGRAPH: Final = "PARAGRAPH"
"""The verb of the commands that these texts CALL."""
ENTER: Final = f"{PARAGRAPH} ENTER"
LEAVE: Final = f"{PARAGRAPH} LEAVE"
GO_BACK: Final = f"{PARAGRAPH} GOBACK"
_STATEMENTS: Final = ("EXIT", "GOBACK", "CONTINUE", "DECLARATIVES", "EJECT", "SKIP1", "SKIP2", "SKIP3", "STOP")
"""Words that may stand alone between two full stops and are not the name of a paragraph."""


class ProgramPart(NamedTuple):
    """A paragraph or section.

    Attributes:
        name: its name; for a paragraph of a section, NAME OF SECTION.
        stop: the full stop after its header.
        is_section: whether it is a section.
    """

    name: str
    stop: Word
    is_section: bool


def parts_of(words: Sequence[Word], start: int) -> Iterator[ProgramPart]:
    """The paragraphs and sections of a program.

    Args:
        words: the words of the program.
        start: the index of the full stop after its PROCEDURE DIVISION, or after its DECLARATIVES.
    """
    section = ""
    for at in range(start + 1, len(words) - 1):
        word, after = words[at], words[at + 1]
        if words[at - 1].kind != "stop" or word.kind not in ("word", "number"):
            continue
        name = word.text.upper()
        if after.is_word("SECTION"):
            stop = next((each for each in words[at + 2 : at + 4] if each.kind == "stop"), None)
            if stop is not None:
                section = name
                yield ProgramPart(name, stop, is_section=True)
        elif name == "END" or name in ("IDENTIFICATION", "ID"):  # the program ends, or another one follows
            return
        elif after.kind == "stop" and name not in _STATEMENTS and not name.startswith("END-"):
            yield ProgramPart(f"{name} OF {section}" if section else name, after, is_section=False)


def ranges_of(words: Sequence[Word], start: int) -> Iterator[str]:
    """The ranges that PERFORM statements name, such as A THRU B."""
    for at in range(start, len(words) - 3):
        if words[at].is_word("PERFORM") and words[at + 2].is_word("THRU", "THROUGH"):
            yield f"{words[at + 1].text.upper()} THRU {words[at + 3].text.upper()}"


def _call(number: int) -> str:
    return f"MOVE {number} TO DFHEI-NUMBER CALL 'DFHEIP' USING DFHEI-NUMBER END-CALL"


def entry_text(enter: int, leave: int, names: Sequence[str]) -> str:
    """The first paragraph: ``enter`` and ``leave`` are the numbers of its commands, ``names`` what can be performed."""
    cases = " ".join(f"WHEN {number} PERFORM {name}" for number, name in enumerate(names, 1))
    return f" DFHEI-ENTRY. {_call(enter)} EVALUATE DFHEI-NUMBER {cases} END-EVALUATE {_call(leave)} GOBACK.\n"


def ask_text(number: int, part: ProgramPart | None = None) -> str:
    """The beginning of a paragraph or section; without one the CALL before a GOBACK."""
    if part is None:
        return f" {_call(number)} "
    end = "SECTION" if part.is_section else PARAGRAPH
    return f" {_call(number)} IF DFHEI-NUMBER NOT = 0 MOVE 0 TO DFHEI-NUMBER EXIT {end} END-IF."
