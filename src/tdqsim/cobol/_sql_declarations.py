"""What the SQL declarations of a program mean for the translation of its other statements.

DECLARE CURSOR gives the host variables of an OPEN, WHENEVER the tests after a statement, and the data division the
items that get the SQLCODE.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from tdqsim.cobol._divisions import tables_of
from tdqsim.cobol._tokens import Word
from tdqsim.cobol.sql_statements import COMMA, SqlStatement, statement_of

MOST_VARIABLES: Final = 60
"""The greatest number of host variables of a statement: the run-time's table has room for 63 arguments."""
_DECLARATIONS: Final = ("DECLARE", "WHENEVER", "BEGIN", "END")
"""SQL statements that are not executed; but DECLARE GLOBAL TEMPORARY TABLE is."""
_STATUS: Final = (("SQLCA",), ("SQLCODE", "SQLSTATE"))
"""The items that get the SQLCODE: the first of these that a program declares."""
_WHENEVER: Final = {
    "NOT FOUND": "SQLCODE = 100",
    "SQLERROR": "SQLCODE < 0",
    "SQLWARNING": "(SQLCODE > 0 AND SQLCODE NOT = 100)",
}
"""The conditions of WHENEVER. A warning is also reported by SQLWARN0, which only the SQLCA has."""


def host_variables(inside: list[Word]) -> tuple[list[str], list[str]]:
    """The words of a statement, with A1, A2, ... in place of its host variables; and these variables."""
    parts: list[str] = []
    arguments: list[str] = []
    at = 0
    while at < len(inside):
        if inside[at].text != ":" or at + 1 == len(inside):
            parts.append("," if inside[at].text == COMMA else inside[at].text)
            at += 1
            continue
        names = [inside[at + 1].text]
        at += 2
        while at + 1 < len(inside) and inside[at].text == "." and inside[at + 1].kind == "word":
            names.insert(0, inside[at + 1].text)
            at += 2
        arguments.append(" OF ".join(names))
        parts.append(f"A{len(arguments)}")
    return parts, arguments


class SqlDeclarations:
    """The SQL declarations of one program.

    Args:
        words: the words of the program.
        text: its text.
    """

    def __init__(self, words: list[Word], text: str) -> None:
        self._words = words
        self._text = text
        self._cursors: dict[str, tuple[str, list[str]]] = {}
        self._whenever: dict[str, str] = {}
        self._status: tuple[str, ...] | None = None
        self._tables: set[str] | None = None

    def declares(self, inside: list[Word]) -> bool:
        """Whether a statement is a declaration; cursors and WHENEVER are noted."""
        if not inside or not inside[0].is_word(*_DECLARATIONS):
            return False
        words = [word.text.upper() for word in inside]
        if words[:2] == ["DECLARE", "GLOBAL"]:
            return False
        if words[0] == "DECLARE" and "CURSOR" in words[2:]:
            self._cursors[words[1]] = (
                statement_of(self._text[inside[0].start : inside[-1].end]),
                host_variables(inside)[1],
            )
        elif words[0] == "WHENEVER":
            test, label = self._of_whenever(words)
            self._whenever.pop(test, None)
            if label:
                self._whenever[test] = label
        return True

    def problem(self, inside: list[Word]) -> str:
        """The problem with a WHENEVER; empty for none and for other statements."""
        words = [word.text.upper() for word in inside]
        return "" if words[:1] != ["WHENEVER"] or self._of_whenever(words)[0] else f"{' '.join(words)} is not known"

    def _of_whenever(self, words: list[str]) -> tuple[str, str]:
        """The test of a WHENEVER, empty when it is wrong; and its label, empty for CONTINUE."""
        count = 2 if words[1:2] == ["NOT"] else 1
        condition, action = " ".join(words[1 : 1 + count]), words[1 + count :]
        label = action[-1] if action[:1] == ["GOTO"] or action[:2] == ["GO", "TO"] else ""
        if condition not in _WHENEVER or (not label and action != ["CONTINUE"]):
            return "", ""
        test = _WHENEVER[condition]
        if condition == "SQLWARNING" and self.status() == _STATUS[0]:
            test += " OR SQLWARN0 = 'W'"
        return test, label

    def tests(self) -> list[str]:
        """The statements after an SQL statement here: WHENEVER is in force for those that follow it in the text."""
        return [f"IF {test} GO TO {label} END-IF" for test, label in self._whenever.items()]

    def with_cursor(self, statement: str) -> tuple[tuple[str, ...], list[str]]:
        """A statement; for OPEN with the declaration of its cursor and that declaration's host variables."""
        opened = SqlStatement(statement)
        declaration, variables = self._cursors.get(opened.cursor, ("", []))
        if opened.kind != "OPEN" or not declaration:
            return (statement,), []
        return (statement, declaration), variables

    def status(self) -> tuple[str, ...]:
        """The items of the program that get the SQLCODE: the SQLCA, or its own SQLCODE and SQLSTATE."""
        if self._status is None:
            declared = {
                after.text.upper()
                for word, after in pairwise(self._words)
                if word.kind == "number" and after.is_word(*_STATUS[0], *_STATUS[1])
            }
            known = (tuple(name for name in names if name in declared) for names in _STATUS)
            self._status = next((names for names in known if names), ())
        return self._status

    def first_of_table(self, written: str) -> str:
        """A host variable as the CALL passes it: a table, such as the indicators of a structure, by its first item."""
        if self._tables is None:
            self._tables = set(tables_of(self._words))
        return f"{written} (1)" if written.upper() in self._tables else written
