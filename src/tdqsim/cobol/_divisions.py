"""Find the parts of a program: its divisions and sections, the programs of a file, the options of a command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from tdqsim.cobol._tokens import Word

_IN_PROCEDURE: Final = ("PROGRAM-ID", "PROCEDURE", "END")
"""The only words that matter after PROCEDURE DIVISION: they begin a program or its body, or end DECLARATIVES."""


def programs_of(words: list[Word]) -> Iterator[tuple[int, int]]:
    """Give the first word and the end of each program of a file; a program contains its nested programs."""
    begin = depth = 0
    ends = [at for at, word in enumerate(words) if word.text.upper() in ("PROGRAM-ID", "END")]
    for at in ends:
        word = words[at]
        if word.is_word("PROGRAM-ID"):
            depth += 1
        elif word.is_word("END") and at + 1 < len(words) and words[at + 1].is_word("PROGRAM"):
            depth = max(depth - 1, 0)
            end = next((i for i in range(at, min(at + 5, len(words))) if words[i].kind == "stop"), at + 1) + 1
            if not depth and end < len(words):
                yield begin, end
                begin = end
    yield begin, len(words)


class Divisions:
    """The positions of those parts of a program to which the translator adds text."""

    def __init__(self, words: list[Word]) -> None:
        self.program = ""
        self.identification: list[Word] = []
        self.storage: Word | None = None
        self.after_storage: Word | None = None
        self.programs: list[int] = []
        self.bodies: list[tuple[int, Word]] = []
        self.linkage: Word | None = None
        self.procedure: Word | None = None
        self.using: Word | None = None
        self.header_stop: Word | None = None
        self.using_names: list[Word] = []
        self.has_data = self.has_commarea = self.has_eib = False
        self._read(words)

    def _read(self, words: list[Word]) -> None:
        for at, word in enumerate(words):
            if self.procedure is not None and word.text.upper() not in _IN_PROCEDURE:
                continue
            after = words[at + 1] if at + 1 < len(words) else word
            third = words[at + 2] if at + 2 < len(words) else word
            if word.is_word("PROGRAM-ID"):
                self._program(words, at, after)
            elif word.is_word("PROCEDURE") and after.is_word("DIVISION"):
                self._header(word, words, at + 2)
            elif self.procedure is not None:
                if word.is_word("END") and after.is_word("DECLARATIVES") and third.kind == "stop":
                    self.bodies[-1] = (len(self.programs), third)
            elif word.is_word("DATA") and after.is_word("DIVISION"):
                self.has_data = True
            elif after.is_word("SECTION") and third.kind == "stop":
                self._section(word, third)
            elif word.is_word("DFHCOMMAREA") and self.linkage is not None:
                self.has_commarea = True
            elif word.is_word("DFHEIBLK"):
                self.has_eib = True

    def _program(self, words: list[Word], at: int, after: Word) -> None:
        self.programs.append(words[at].start)
        if not self.program:
            self.program = _program_name(words[at + 1 : at + 3])
            self.identification = sentence_of(words, at + 2 if after.kind == "stop" else at + 1)[:4]

    def _section(self, word: Word, stop: Word) -> None:
        if word.is_word("WORKING-STORAGE"):
            self.storage = stop
        elif word.is_word("LOCAL-STORAGE", "LINKAGE"):
            self.after_storage = self.after_storage or word
            if word.is_word("LINKAGE"):
                self.linkage = stop

    def _header(self, word: Word, words: list[Word], at: int) -> None:
        end = next((i for i in range(at, len(words)) if words[i].kind == "stop"), None)
        stop = word if end is None else words[end]
        self.bodies.append((len(self.programs), stop))
        if self.procedure is not None:  # of a program inside the program
            return
        self.procedure, self.header_stop = word, stop
        for each in words[at:end]:
            if each.is_word("USING"):
                self.using = each
            elif self.using is not None:
                self.using_names.append(each)


def sentence_of(words: list[Word], at: int) -> list[Word]:
    """The words from here to the next full stop."""
    end = next((i for i in range(at, len(words)) if words[i].kind == "stop"), at)
    return words[at : max(end, at + 1)]


def _program_name(after: list[Word]) -> str:
    name = next((word.text for word in after if word.kind in ("word", "literal", "number")), "")
    return re.sub(r"['\"]", "", name).upper()


def options_of_command(inside: list[Word]) -> Iterator[tuple[Word, list[Word] | None]]:
    """The words of a command, each with the words of its argument, or None."""
    at = 0
    while at < len(inside):
        name = inside[at]
        at += 1
        if at == len(inside) or inside[at].text != "(":
            if name.kind == "word":
                yield name, None
            continue
        depth, start = 1, at + 1
        at = start
        while at < len(inside) and depth:
            depth += {"(": 1, ")": -1}.get(inside[at].text, 0)
            at += 1
        yield name, inside[start : at - 1]


_ENDS_CALL: Final = ("END-CALL", "ON", "NOT", "EXCEPTION", "OVERFLOW", "RETURNING", "GIVING")
_WAYS: Final = ("BY", "REFERENCE", "CONTENT", "VALUE")
_PREFIXES: Final = ("ADDRESS", "LENGTH")


def parameters_of(words: list[Word], at: int) -> Iterator[list[Word]]:
    """The parameters after USING of a CALL; words of the next statement may follow as further ones."""
    if at >= len(words) or not words[at].is_word("USING"):
        return
    at += 1
    while at < len(words) and words[at].kind in ("word", "literal", "number") and not words[at].is_word(*_ENDS_CALL):
        if words[at].is_word(*_WAYS):
            at += 1
            continue
        start = at
        at += 3 if words[at].is_word(*_PREFIXES) and words[at + 1 : at + 2] and words[at + 1].is_word("OF") else 1
        while at < len(words) and words[at].is_word("OF", "IN"):
            at += 2
        depth = 0
        while at < len(words) and (depth or words[at].text == "("):
            depth += {"(": 1, ")": -1}.get(words[at].text, 0)
            at += 1
        yield words[start:at]


def tables_of(words: list[Word]) -> Iterator[str]:
    """The names of the items with OCCURS."""
    name = ""
    for before, word in pairwise(words):
        if before.kind == "number" and word.kind == "word":
            name = word.text.upper()
        elif word.is_word("OCCURS") and name:
            yield name
        elif word.is_word("PROCEDURE"):
            return
