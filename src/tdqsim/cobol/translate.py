"""Translate each EXEC CICS command of a COBOL program to a CALL that the simulator answers.

One entry, ``DFHEIP``, serves all commands. Each command of the program has a number; the CALL passes it and then the
arguments of the options, in the order in which they were written, data areas by reference and values by content::

    EXEC CICS READQ TD QUEUE('PAYQ') INTO(REC) RESP(R) END-EXEC

    MOVE 4 TO DFHEI-NUMBER
    CALL 'DFHEIP' USING DFHEI-NUMBER BY CONTENT 'PAYQ' BY REFERENCE REC END-CALL
    MOVE DFHEI-RESP TO R
    IF DFHEI-NUMBER NOT = 0 GO TO DFHEI-BRANCH END-IF

Each command, with its place in the user's sources, is stored with the compiled program (:class:`ExecCommand`). Its
text, in which the arguments are called A1, A2 and so on, is passed to the region. The IF is generated only if the
program has labels in HANDLE CONDITION, HANDLE AID or HANDLE ABEND; the simulator puts the label's number into
DFHEI-NUMBER, or 0 to continue. When a program must end, the run-time leaves it, not the generated code, so that RETURN
ends the link level from a CALLed program too.

DFHEI-BRANCH is the first paragraph of such a program and the only place that names its labels, so that the size of the
text grows with the sum of commands and labels, not with their product. It must be the first paragraph because a program
that failed is entered again to go to the label of its abend exit; otherwise the number is 0 and control falls through.
The whole CALL is on one line, so that the line numbers in the compiler's marks are the user's.

The EIB is the first item of the LINKAGE SECTION, because programs write ``OCCURS DEPENDING ON EIBCALEN`` in
DFHCOMMAREA. The EIB, and the control area in WORKING-STORAGE, are GLOBAL, because nested programs issue commands too.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tdqsim.cobol._divisions import Divisions, options_of_command, parameters_of, programs_of, sentence_of
from tdqsim.cobol._generated import COMMAREA, CONTROL, DIB, FIGURATIVE, eib
from tdqsim.cobol._paragraph_entries import (
    ENTER,
    GO_BACK,
    LEAVE,
    PARAGRAPH,
    ask_text,
    entry_text,
    parts_of,
    ranges_of,
)
from tdqsim.cobol._quotients import literals_after_quotients
from tdqsim.cobol._sql_declarations import MOST_VARIABLES, SqlDeclarations, host_variables
from tdqsim.cobol._tokens import COPY_OPTION, Word, WordPlace, readable, words
from tdqsim.cobol.sql_statements import statement_of
from tdqsim.errors import TdqError
from tdqsim.facts import CVDAS, Resp
from tdqsim.hosting import did_you_mean


class CobolError(TdqError):
    """A program cannot be translated or compiled.

    Attributes:
        problems: one line each, with the user's file and line.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(map(readable, problems))
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True, slots=True)
class ExecCommand:
    """One EXEC CICS command of a program.

    Attributes:
        text: the command; its arguments are called A1, A2, ... in the order of the CALL.
        place: the user's file and line.
        written: the arguments as written in the program.
        labels: for HANDLE: each option with its label's number, 0 if there is no label.
        passed: how many of the arguments the CALL passes; those of RESP and RESP2 follow them and are not passed.
        sql: for EXEC SQL: the statement in the form of :mod:`~tdqsim.cobol.sql_statements`; for OPEN also the
            declaration of its cursor. The last arguments are then the items that get the SQLCODE.
        status: how many of the arguments are such items.
    """

    text: str
    place: WordPlace
    written: tuple[str, ...] = ()
    labels: tuple[tuple[str, int], ...] = ()
    passed: int = 0
    sql: tuple[str, ...] = ()
    status: int = 0

    @property
    def shown(self) -> str:
        """The command as written in the program, in one line."""
        if self.sql:
            return f"EXEC SQL {self.sql[0]}"
        text = re.sub(r"\bA(\d+)\b", lambda match: self.written[int(match[1]) - 1], self.text)
        return f"EXEC {'' if self.verb in _LANGUAGES else 'CICS '}{text}"

    @property
    def verb(self) -> str:
        """The first word."""
        return self.text.partition(" ")[0]


@dataclass(frozen=True, slots=True)
class ProgramCall:
    """One CALL statement of a program.

    Attributes:
        place: the user's file and line.
        program: the literal or item that names the called program, as written.
        written: the parameters after USING, as written.
    """

    place: WordPlace
    program: str
    written: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Translation:
    """A program in the form for the compiler.

    Attributes:
        program: its PROGRAM-ID.
        text: the COBOL text.
        commands: the commands by number.
        labels: the labels by number, from 1.
        using: the names after USING of the PROCEDURE DIVISION.
        headers: the places of DFHEI-BRANCH, whose statements the translator added.
        following: the programs that follow it in the same file, which it can CALL.
        calls: its CALL statements.
        paragraphs: the paragraphs, sections and ranges with which the program can begin, by number from 1.
    """

    program: str
    text: str
    commands: tuple[ExecCommand, ...]
    labels: tuple[str, ...]
    using: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    following: tuple[Translation, ...] = ()
    calls: tuple[ProgramCall, ...] = ()
    paragraphs: tuple[str, ...] = ()


_NATIONAL: Final = {"DISPLAY-OF": "DFHEIDSP", "NATIONAL-OF": "DFHEINAT"}
"""The names of these functions in the run-time."""
_RESPONSES: Final = {"RESP": "DFHEI-RESP", "RESP2": "DFHEI-RESP2"}
_ADDRESS: Final = "pointer "
_RECORDS: Final[dict[tuple[str, ...], tuple[str, set[str], str]]] = {
    ("SEND", "MAP"): ("FROM", {"FROM", "MAPONLY", "SET"}, "O"),
    ("RECEIVE", "MAP"): ("INTO", {"INTO", "SET"}, "I"),
}
_LANGUAGES: Final = ("SQL", "DLI")
_WALKED: Final = frozenset(
    {"EXEC", "EXECUTE", "DFHRESP", "DFHVALUE", "FUNCTION", "RECORDING", "STOP", "CALL", "OCCURS"}
)
"""The words at which the scan stops for a closer examination."""
_LABELLED: Final = (("HANDLE", "CONDITION"), ("HANDLE", "AID"))


def translate(text: str, file: str, *, paragraphs: bool = False) -> Translation:
    """Translate a program that ``cobc -E`` has expanded.

    Args:
        text: the output of the preprocessor.
        file: the program's own file, for errors.
        paragraphs: whether the first program can begin at any paragraph, for a test of one.

    Raises:
        CobolError: it cannot be translated; the error lists all problems with file and line.
    """
    tokens = list(words(text, file))
    if not tokens:
        raise CobolError([f"{file}:1: there is no PROGRAM-ID"])
    made: list[Translation] = []
    problems: list[str] = []
    for begin, end in programs_of(tokens):
        part, inside = text, tokens
        if end - begin < len(tokens):
            first = tokens[begin]
            part = f'#line {first.place.line} "{first.place.file}"\n{text[first.start : tokens[end - 1].end]}\n'
            inside = list(words(part, first.place.file))
        try:
            made.append(_Translator(part, inside, paragraphs=paragraphs and not made).translation())
        except CobolError as error:
            problems += error.problems
    if problems:
        raise CobolError(problems)
    return replace(made[0], following=tuple(made[1:]))


def _without_label(names: tuple[str, ...], word: str) -> str:
    """The problem of an option of HANDLE with empty parentheses."""
    alone = "CANCEL ends an exit" if word == "LABEL" else f"{word} alone stands for its default action"
    return f"{' '.join(names)}: {word}() has no label in its parentheses; write {word}(label); {alone}"


def _names_of(divisions: Divisions) -> tuple[str, ...]:
    """The names after USING as the program has them."""
    ways = ("BY", "REFERENCE", "VALUE", "OPTIONAL")
    return tuple(word.text.upper() for word in divisions.using_names if not word.is_word(*ways))


class _Translator:
    """The translation of one program in progress: its words, their replacements, and the results so far."""

    def __init__(self, text: str, tokens: list[Word], *, paragraphs: bool) -> None:
        self.text = text
        self.words = tokens
        self.edits: list[tuple[int, int, str]] = []
        self.commands: list[ExecCommand] = []
        self.labels: dict[int, dict[str, int]] = {}
        self.label_words: dict[str, Word] = {}
        self.headers: list[str] = []
        self.problems: list[str] = []
        self.program = ""
        self.using: tuple[str, ...] = ()
        self.divisions = Divisions([])
        self.blocks: list[tuple[Word, Word, int, list[str], list[str]]] = []
        self.calls: list[ProgramCall] = []
        self.sql = SqlDeclarations(tokens, text)
        self.with_paragraphs = paragraphs
        self.paragraphs: list[str] = []
        self.entries: list[tuple[int, int, str]] = []

    def translation(self) -> Translation:
        divisions = self.divisions = Divisions(self.words)
        self.program = divisions.program
        header = divisions.identification
        if not header:
            self._problem(WordPlace(self.words[0].place.file, 1), "there is no PROGRAM-ID")
        elif len(header) > 1 and not header[1].is_word("IS", "INITIAL", "RECURSIVE", "COMMON", "PROGRAM"):
            self.edits.append((header[0].end, header[0].end, "."))  # many compilers do not require this full stop
        self._walk()
        for first, last, number, arguments, moves in self.blocks:
            self._replace(first, last, self._call(number, arguments, moves, self._labels_of(first)))
        if self.with_paragraphs:
            self._number_paragraphs()
        literals = self._items_for_literals()
        if self.commands or literals:
            self._insert_storage(divisions, CONTROL + literals)
        if self.commands or any(word.is_word("DFHEIBLK", "DFHCOMMAREA", "EIBCALEN") for word in self.words):
            self._insert_linkage(divisions)
        else:
            self.using = _names_of(divisions)
        self._insert_branches()
        self.edits += self.entries
        if any(command.verb == "DLI" for command in self.commands) and divisions.storage is not None:
            storage = divisions.storage
            self.edits.append((storage.end, storage.end, f"\n{DIB}{self._mark(storage)}"))
        if self.problems:
            raise CobolError(self.problems)
        return Translation(
            self.program,
            self._edited(),
            tuple(self.commands),
            tuple(self.labels.get(1, ())),
            self.using,
            tuple(self.headers),
            calls=tuple(self.calls),
            paragraphs=tuple(self.paragraphs),
        )

    def _labels_of(self, word: Word) -> dict[str, int]:
        """The labels, by number, of the program that contains a word; a nested program has its own labels."""
        return self.labels.setdefault(bisect(self.divisions.programs, word.start), {})

    def _insert_branches(self) -> None:
        """Begin each program that has labels with the paragraph that branches to them."""
        for at, place in self.divisions.bodies:
            # each label is at the line of its command, which the compiler names if there is no such label
            labels = "".join(f"\n{self._mark(self.label_words[name])} {name}\n" for name in self.labels.get(at, ()))
            if labels:
                text = (
                    " DFHEI-BRANCH. MOVE DFHEI-NUMBER TO DFHEI-LABEL MOVE 0 TO DFHEI-NUMBER"
                    f" GO TO{labels}{self._mark(place)} DEPENDING ON DFHEI-LABEL.\n{self._mark(place)}"
                )
                self.edits.append((place.end, place.end, text))
                self.headers.append(str(place.place))

    def _number_paragraphs(self) -> None:
        """Let the program begin at any paragraph, and let stubs replace paragraphs."""
        if not self.divisions.bodies:
            return
        header = self.divisions.bodies[0][1]
        start = next(at for at, word in enumerate(self.words) if word.start == header.start)
        parts = list(parts_of(self.words, start))
        names = [part.name for part in parts]
        self.paragraphs += [*names, *dict.fromkeys(ranges_of(self.words, start))]
        enter, leave = self._step(ENTER, header), self._step(LEAVE, header)
        entry = entry_text(enter, leave, self.paragraphs) + self._mark(header)
        self.entries.append((header.end, header.end, "\n" + self._mark(header) + entry))
        for part in parts:
            text = ask_text(self._step(f"{PARAGRAPH} {part.name}", part.stop), part)
            self.entries.append((part.stop.end, part.stop.end, text))
        for word in self.words[start:]:
            if word.is_word("GOBACK"):
                self.entries.append((word.start, word.start, ask_text(self._step(GO_BACK, word))))

    def _step(self, text: str, word: Word) -> int:
        """Add a command that is not in the source; returns its number."""
        self.commands.append(ExecCommand(text, word.place))
        return len(self.commands)

    def _items_for_literals(self) -> str:
        """Replace literals after a quotient by items: then the compiler cuts the quotient as the mainframe's does."""
        items: dict[str, tuple[str, str]] = {}
        for literal in literals_after_quotients(self.words, self.text):
            name, _item = items.setdefault(literal.text, (f"DFHEI-LITERAL-{len(items) + 1}", literal.picture))
            self.edits.append((literal.start, literal.start + len(literal.text), name))
        return "".join(f" 02 {name} PIC {picture} VALUE {literal}.\n" for literal, (name, picture) in items.items())

    def _insert_storage(self, divisions: Divisions, items: str) -> None:
        """Add items to WORKING-STORAGE, creating the section if necessary."""
        if divisions.storage is not None:
            place = divisions.storage
            self.edits.append((place.end, place.end, f"\n{items}{self._mark(place)}"))
            return
        before = divisions.after_storage or divisions.procedure
        if before is not None:
            data = "" if divisions.has_data else " DATA DIVISION.\n"
            text = f"\n{data} WORKING-STORAGE SECTION.\n{items}{self._mark(before)}"
            divisions.has_data = True
            self.edits.append((before.start, before.start, text))

    def _problem(self, place: WordPlace, message: str) -> None:
        self.problems.append(f"{place}: {message}")

    def _replace(self, first: Word, last: Word, text: str) -> None:
        """Replace some words by a text, and add a mark with the number of the next line."""
        mark = f'\n#line {last.place.line} "{last.place.file}"\n' if last.place != first.place else ""
        self.edits.append((first.start, last.end, text + mark))

    def _edited(self) -> str:
        parts, at = [], 0
        # edits at one place are applied in the order in which they were made
        for start, end, text in sorted(self.edits, key=lambda edit: edit[:2]):
            parts += [self.text[at:start], text]
            at = end
        return "".join([*parts, self.text[at:]])

    # -- the walk ---------------------------------------------------------------------------------------------------

    def _walk(self) -> None:
        at, tokens = 0, self.words
        while at < len(tokens):
            word = tokens[at]
            if word.text.upper() not in _WALKED:
                at += 1
            elif word.is_word("EXEC", "EXECUTE") and at + 1 < len(tokens) and tokens[at + 1].kind == "word":
                at = self._block(at)
            elif word.is_word("DFHRESP", "DFHVALUE") and tokens[at + 1 : at + 2] and tokens[at + 1].text == "(":
                at = self._number(at)
            elif word.is_word("FUNCTION") and tokens[at + 1 : at + 2] and tokens[at + 1].is_word(*_NATIONAL):
                at = self._national(at + 1)
            elif (
                word.is_word("RECORDING")
                and self.divisions.procedure is not None
                and word.start < self.divisions.procedure.start
            ):
                at = self._recording(at)
            elif word.is_word("OCCURS"):
                at = self._occurs(at)
            elif word.is_word("STOP") and tokens[at + 1 : at + 2] and tokens[at + 1].is_word("RUN"):
                self.commands.append(ExecCommand("RETURN", word.place))
                self.blocks.append((word, tokens[at + 1], len(self.commands), [], []))
                at += 2
            elif word.is_word("CALL") and self.in_procedure(word) and at + 1 < len(tokens):
                written = tuple(self._as_written(each) for each in parameters_of(tokens, at + 2))
                self.calls.append(ProgramCall(word.place, tokens[at + 1].text, written))
                at += 1
            else:
                at += 1

    def _occurs(self, at: int) -> int:
        """The compiler takes the maximum of a table whose number of occurrences depends on nothing."""
        clause = sentence_of(self.words, at)
        if len(clause) > 3 and clause[2].is_word("TO") and not any(word.is_word("DEPENDING") for word in clause):
            written = " ".join(word.text for word in clause[:4])
            self._problem(clause[0].place, f"{written} without DEPENDING ON; write OCCURS {clause[3].text}")
        return at + 1

    def _recording(self, at: int) -> int:
        """Remove RECORDING MODE F: it has no effect on a data set of CICS; the compiler would take F for an item."""
        end = at + 1
        while end < len(self.words) and self.words[end].is_word("MODE", "IS"):
            end += 1
        if end < len(self.words) and self.words[end].is_word("F", "V", "U", "S"):
            self._replace(self.words[at], self.words[end], "")
            return end + 1
        return at + 1

    def _national(self, at: int) -> int:
        """Replace DISPLAY-OF and NATIONAL-OF, which the compiler lacks, by another function with an additional mark."""
        name, opened = self.words[at], at + 1
        depth, end = 0, opened
        while end < len(self.words):
            depth += {"(": 1, ")": -1}.get(self.words[end].text, 0)
            if depth <= 0:
                break
            end += 1
        if end == opened or end == len(self.words):
            self._problem(name.place, f"FUNCTION {name.text.upper()} has no arguments")
            return at + 1
        self.edits.append((name.start, name.end, "CONCATENATE"))
        place = self.words[end].start
        self.edits.append((place, place, f" '{_NATIONAL[name.text.upper()]}' 'DFH'"))
        return at + 1

    def _number(self, at: int) -> int:
        function, name = self.words[at], self.words[at + 2]
        self._replace(function, self.words[at + 3], str(self._value(function, name)))
        return at + 4

    def _value(self, function: Word, name: Word) -> int:
        members: Mapping[str, int] = Resp.__members__ if function.is_word("DFHRESP") else CVDAS
        value = members.get(name.text.upper())
        if value is None:
            kind = "condition" if function.is_word("DFHRESP") else "CVDA"
            self._problem(
                name.place,
                f"{function.text.upper()}({name.text}): there is no such {kind}{did_you_mean(name.text, members)}",
            )
            return 0
        return int(value)

    def _block(self, at: int) -> int:
        first, language = self.words[at], self.words[at + 1].text.upper()
        end = next((i for i in range(at, len(self.words)) if self.words[i].is_word("END-EXEC")), None)
        if end is None:
            self._problem(first.place, f"EXEC {language} has no END-EXEC")
            return len(self.words)
        inside = next((i for i in range(at + 1, end) if self._begins_block(i)), None)
        if inside is not None:  # the text after it belongs to another statement and is handled separately
            self._problem(first.place, f"EXEC {language} has no END-EXEC")
            return inside
        if language == "CICS":
            inside_command = [
                word._replace(text="COPY") if word.text == COPY_OPTION else word for word in self.words[at + 2 : end]
            ]
            self._command(first, inside_command, self.words[end])
        elif language in _LANGUAGES:
            self._statement(first, language, at, end)
        else:
            self._problem(first.place, f"EXEC {language} is not known; allowed are CICS, {', '.join(_LANGUAGES)}")
        return end + 1

    def _begins_block(self, at: int) -> bool:
        return self.words[at].is_word("EXEC", "EXECUTE") and self.words[at + 1].is_word("CICS", *_LANGUAGES)

    def _statement(self, first: Word, language: str, begin: int, end: int) -> None:
        """EXEC SQL and EXEC DLI: the statement and its host variables, which the test answers."""
        inside, last = self.words[begin + 2 : end], self.words[end]
        if wrong := self.sql.problem(inside) if language == "SQL" else "":
            self._problem(first.place, wrong)
        if language == "SQL" and self.sql.declares(inside):
            after = self.words[end + 1] if end + 1 < len(self.words) else last
            if self.in_procedure(first):
                self._replace(first, last, " CONTINUE")
            else:
                self._replace(first, after if after.kind == "stop" else last, "")
            return
        parts, arguments = host_variables(inside)
        sql: tuple[str, ...] = ()
        status: tuple[str, ...] = ()
        tests: list[str] = []
        if language == "SQL" and inside:
            sql, variables = self.sql.with_cursor(statement_of(self._as_written(inside)))
            arguments += variables
            status, tests = self.sql.status(), self.sql.tests()
        if len(arguments) > MOST_VARIABLES:
            self._problem(first.place, f"EXEC {language} has more than {MOST_VARIABLES} host variables")
            return
        written = (*arguments, *status)
        text = " ".join([language, *parts])
        self.commands.append(ExecCommand(text, first.place, written, (), len(written), sql, len(status)))
        passed = [f"BY REFERENCE {each}" for each in (*map(self.sql.first_of_table, arguments), *status)]
        self.blocks.append((first, last, len(self.commands), passed, tests))

    def in_procedure(self, word: Word) -> bool:
        """Whether a word is in the PROCEDURE DIVISION."""
        procedure = self.divisions.procedure
        return procedure is not None and word.start > procedure.start

    # -- one command ------------------------------------------------------------------------------------------------

    def _command(self, first: Word, inside: list[Word], last: Word) -> None:
        options = list(options_of_command(inside))
        if not options:
            self._problem(first.place, "EXEC CICS without a command")
            return
        if sum((word.text == "(") - (word.text == ")") for word in inside):
            self._problem(first.place, f"EXEC CICS {options[0][0].text}: the parentheses do not match")
        names = tuple(name.text.upper() for name, _argument in options[:2])
        labelled = names in _LABELLED
        parts: list[str] = []
        arguments: list[list[Word]] = []
        labels: dict[str, int] = {}
        responses: dict[str, list[Word]] = {}
        for name, argument in options:
            word = name.text.upper()
            if argument is None and word in parts:
                continue  # NOHANDLE twice, which translators accept
            if argument is None:
                if labelled and word not in (*names, "NOHANDLE"):
                    labels[word] = 0
                else:
                    parts.append(word)
            elif (labelled and word not in _RESPONSES) or (names == ("HANDLE", "ABEND") and word == "LABEL"):
                labels[word] = self._label(first, argument)
            elif word in _RESPONSES and argument:
                responses[word] = argument
            else:
                arguments.append(argument)
                parts.append(f"{word}(A{len(arguments)})")
        self.problems += (
            f"{name.place}: {_without_label(names, name.text.upper())}"
            for name, argument in options
            if argument == [] and name.text.upper() in labels
        )
        self._default_record(names, parts, arguments)
        passed = [self._passed(some) for some in arguments]
        moves = [f"MOVE {_RESPONSES[word]} TO {self._on_one_line(some)}" for word, some in responses.items()]
        for word, argument in responses.items():
            arguments.append(argument)
            parts.append(f"{word}(A{len(arguments)})")
        written = tuple(self._as_written(some) for some in arguments)
        declared = ExecCommand(" ".join(parts), first.place, written, tuple(labels.items()), len(passed))
        self.commands.append(declared)
        self.blocks.append((first, last, len(self.commands), passed, moves))

    @staticmethod
    def _default_record(names: tuple[str, ...], parts: list[str], arguments: list[list[Word]]) -> None:
        """Add the default record: a map's output for SEND MAP without FROM, its input for RECEIVE MAP without INTO."""
        wanted = _RECORDS.get(names)
        words = {part.partition("(")[0] for part in parts}
        if wanted is None or words & wanted[1]:
            return
        at = next((int(part[5:-1]) - 1 for part in parts if part.startswith("MAP(A")), None)
        if at is None or not arguments[at] or arguments[at][0].kind != "literal":
            return
        literal = arguments[at][0]
        name = literal._replace(kind="word", text=literal.text.strip("'\"") + wanted[2])
        arguments.append([name])
        parts.append(f"{wanted[0]}(A{len(arguments)})")

    def _label(self, first: Word, argument: list[Word]) -> int:
        name = argument[0].text.upper() if argument else ""
        labels = self._labels_of(first)
        self.label_words.setdefault(name, argument[0] if argument else first)
        return labels.setdefault(name, len(labels) + 1)

    def _as_written(self, argument: list[Word]) -> str:
        if len(argument) == 1:
            return argument[0].text
        return self.text[argument[0].start : argument[-1].end] if argument else ""

    def _on_one_line(self, argument: list[Word]) -> str:
        return " ".join(self._as_written(argument).split())

    def _passed(self, argument: list[Word]) -> str:
        """The form in which an argument is passed in the CALL."""
        if not argument:
            return "BY CONTENT ' '"
        first = argument[0]
        if first.kind in ("literal", "number"):
            return f"BY CONTENT {first.text}"
        if first.is_word("DFHRESP", "DFHVALUE") and len(argument) >= 3:
            return f"BY CONTENT {self._value(first, argument[2])}"
        written = self._on_one_line(argument)
        if first.is_word(*FIGURATIVE):
            if FIGURATIVE[first.text.upper()] is None:
                self._problem(first.place, f"{written} as an argument has no length; use an item or a literal")
            return f"BY CONTENT {FIGURATIVE[first.text.upper()]}"
        if first.is_word("ADDRESS"):
            return _ADDRESS + written
        by_content = first.is_word("LENGTH", "FUNCTION") and len(argument) > 1 and argument[1].text != "("
        if by_content and first.is_word("LENGTH"):  # the compiler passes no address for a group of variable length
            written = f"FUNCTION BYTE-LENGTH({self._on_one_line(argument[1 + argument[1].is_word('OF') :])})"
        return f"BY {'CONTENT' if by_content else 'REFERENCE'} {written}"

    @staticmethod
    def _call(number: int, arguments: Sequence[str], moves: Sequence[str], labels: Mapping[str, int]) -> str:
        pointers: list[tuple[str, str]] = []
        passed = []
        for argument in arguments:
            # libcob passes no item for ADDRESS OF, so a generated pointer is passed instead
            if argument.startswith(_ADDRESS):
                pointers.append((f"DFHEI-POINTER-{len(pointers) + 1}", argument.removeprefix(_ADDRESS)))
                passed.append(f"BY REFERENCE {pointers[-1][0]}")
            else:
                passed.append(argument)
        parts = [f" SET {pointer} TO {address}" for pointer, address in pointers]
        parts += [f" MOVE {number} TO DFHEI-NUMBER CALL 'DFHEIP' USING DFHEI-NUMBER", *passed, "END-CALL"]
        parts += [f"SET {address} TO {pointer}" for pointer, address in pointers]
        parts += moves
        if labels:
            parts.append("IF DFHEI-NUMBER NOT = 0 GO TO DFHEI-BRANCH END-IF")
        return " ".join(parts)

    # -- the program around them -------------------------------------------------------------------------------------

    def _insert_linkage(self, divisions: Divisions) -> None:
        procedure = divisions.procedure
        if procedure is None:
            self._problem(WordPlace(self.words[0].place.file, 1), "there is no PROCEDURE DIVISION")
            return
        areas = ("" if divisions.has_eib else eib()) + ("" if divisions.has_commarea else COMMAREA)
        linkage = divisions.linkage
        if linkage is not None:
            self.edits.append((linkage.end, linkage.end, f"\n{areas}" + self._mark(linkage)))
        else:
            data = "" if divisions.has_data else " DATA DIVISION.\n"
            self.edits.append(
                (procedure.start, procedure.start, f"\n{data} LINKAGE SECTION.\n{areas}" + self._mark(procedure))
            )
        self._using(divisions)

    @staticmethod
    def _mark(word: Word) -> str:
        return f'#line {word.place.line} "{word.place.file}"\n'

    def _using(self, divisions: Divisions) -> None:
        using, stop = divisions.using, divisions.header_stop
        if using is None:
            assert stop is not None, divisions
            self.edits.append((stop.start, stop.start, " USING DFHEIBLK DFHCOMMAREA"))
            self.using = ("DFHEIBLK", "DFHCOMMAREA")
            return
        names = _names_of(divisions)
        wanted = [name for name in ("DFHEIBLK", "DFHCOMMAREA") if name not in names]
        # DFHCOMMAREA is the second one, so it stands behind a DFHEIBLK of the program's own
        before = next((word for word in divisions.using_names if word.is_word("DFHEIBLK")), using)
        self.edits.append((before.end, before.end, "".join(f" {name}" for name in wanted)))
        at = names.index("DFHEIBLK") + 1 if "DFHEIBLK" in names else 0
        self.using = (*names[:at], *wanted, *names[at:])
