"""SQL statements of programs: one form for each statement, its kind, its tables, its cursor and its host variables.

No SQL is interpreted: the words of a statement only identify the statement, so that a test can
select it. In the one form, words are in upper case and separated by one blank, and literals are unchanged:

>>> statement_of("select NAME into :WS-NAME from PROD.CUST where ID=:WS-ID")
'SELECT NAME INTO :WS-NAME FROM PROD.CUST WHERE ID = :WS-ID'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

COMMA: Final = "%"
"""The mark that replaces a comma while the preprocessor expands a program; Db2 has no operator of that name."""
_MARK: Final = re.compile(r"^#line[^\n]*$", re.MULTILINE)
_TOKEN: Final = re.compile(
    r"""
    (?P<literal>[A-Za-z]{0,2}'(?:[^']|'')*'|"(?:[^"]|"")*")
  | (?P<host>:\s*[A-Za-z0-9@\#$_\x80-\xff-]+(?:\.[A-Za-z0-9@\#$_\x80-\xff-]+)*)
  | (?P<word>[A-Za-z0-9@\#$_\x80-\xff][A-Za-z0-9@\#$_\x80-\xff-]*(?:\.[A-Za-z0-9@\#$_\x80-\xff-]+)*)
  | (?P<operator><>|<=|>=|!=|\|\||[^\s])
    """,
    re.VERBOSE,
)
_OPENING: Final = ("FROM", "JOIN", "UPDATE", "INTO", "TABLE")
"""The words that a table may follow."""
_CLOSING: Final = ("INTO", "FOR", "USING")
"""The words that may follow the cursor of a FETCH or OPEN."""
_RETURNING: Final = ("SELECT", "FETCH", "VALUES")
_CHANGING: Final = ("INSERT", "UPDATE", "DELETE", "MERGE")
_NO_TABLE: Final = ("TABLE", "FINAL", "OLD", "NEW", "LATERAL")
"""The words after FROM that are not tables."""


def _tokens(text: str) -> list[str]:
    tokens = []
    for match in _TOKEN.finditer(_MARK.sub("", text)):
        if match.lastgroup == "literal":
            tokens.append(match[0])
        else:
            tokens.append(re.sub(r"\s", "", match[0]).upper().replace(COMMA, ","))
    return tokens


def statement_of(text: str) -> str:
    """A statement in the one form."""
    parts: list[str] = []
    before = "("
    for token in _tokens(text):
        glued = before == "(" or token in ("(", ")", ",")
        parts += [token] if glued else [" ", token]
        before = token
    return "".join(parts)


class HostVariable(NamedTuple):
    """A host variable of a statement.

    Attributes:
        name: its name, such as WS-NAME or CUST.NAME, without the colon.
        at: the number of its argument, from 0.
        indicator: the number of the argument for its indicator variable; -1 without one.
        receives: whether the statement gives it a value.
    """

    name: str
    at: int
    indicator: int
    receives: bool


@dataclass(frozen=True)
class SqlStatement:
    """One EXEC SQL statement of a program.

    Attributes:
        text: the statement in the one form.
        declaration: for OPEN: the DECLARE CURSOR, in the one form; else empty.
    """

    text: str
    declaration: str = ""

    @cached_property
    def words(self) -> list[str]:
        """Its words, literals, host variables and operators."""
        return _tokens(self.text)

    @cached_property
    def kind(self) -> str:
        """Its first word, such as UPDATE; SELECT for a statement that begins with WITH."""
        first = self.words[0] if self.words else ""
        return "SELECT" if first in ("WITH", "(") else first

    @cached_property
    def cursor(self) -> str:
        """The cursor of OPEN, FETCH, CLOSE, and of an UPDATE or DELETE WHERE CURRENT OF; else empty."""
        words = self.words
        if self.kind in ("OPEN", "CLOSE"):
            return words[1] if len(words) > 1 else ""
        if self.kind == "FETCH":
            end = next((at for at, word in enumerate(words) if word in _CLOSING), len(words))
            return words[end - 1]
        if "CURRENT" in words and words[words.index("CURRENT") :][1:2] == ["OF"]:
            return words[words.index("CURRENT") + 2]
        return ""

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The names that stand where tables do, of the cursor's SELECT for OPEN; the procedure of a CALL."""
        words = _tokens(self.declaration) if self.declaration else self.words
        if not words or self.kind in ("FETCH", "CLOSE"):
            return ()
        if self.kind == "CALL":
            return tuple(words[1:2])
        return tuple(dict.fromkeys(_tables(words)))

    @property
    def holds(self) -> bool:
        """Whether the cursor of an OPEN is declared WITH HOLD, so that it stays open after a syncpoint."""
        return re.search(r" CURSOR\b.*? WITH HOLD .*?\bFOR ", self.declaration) is not None

    @property
    def changes(self) -> bool:
        """Whether it is INSERT, UPDATE, DELETE or MERGE."""
        return self.kind in _CHANGING

    @property
    def searches(self) -> bool:
        """Whether it ends with SQLCODE +100 when there is no row for it."""
        return self.kind in ("SELECT", "FETCH", "UPDATE", "DELETE", "MERGE", "INSERT")

    def is_about(self, table: str) -> bool:
        """Whether it names a table, with or without the qualifier."""
        name = table.upper()
        return any(each == name or each.rpartition(".")[2] == name for each in self.tables)

    @cached_property
    def variables(self) -> tuple[HostVariable, ...]:
        """Its host variables, then those of the cursor's declaration."""
        own = list(_variables(self.words, self.kind, 0))
        passed = sum(1 + (each.indicator >= 0) for each in own)
        return (*own, *_variables(_tokens(self.declaration), "DECLARE", passed))


def _tables(words: list[str]) -> Iterator[str]:
    for at, word in enumerate(words[:-1]):
        after = words[at + 1]
        if word not in _OPENING or after[:1] in (":", "(", "'") or after in _NO_TABLE:
            continue
        yield after
        rest = at + 2
        # FROM A, B C, D
        while word == "FROM" and rest < len(words):
            rest += words[rest] == "AS"
            rest += rest < len(words) and words[rest] != "," and words[rest : rest + 2][1:] == [","]
            if rest + 1 >= len(words) or words[rest] != "," or words[rest + 1] == "(":
                break
            yield words[rest + 1]
            rest += 2


def _variables(words: list[str], kind: str, passed: int) -> Iterator[HostVariable]:
    receiving = False
    returned = kind not in _RETURNING
    at = 0
    while at < len(words):
        word = words[at]
        if word[:1] != ":":
            if word == "INTO" and not returned:
                receiving = returned = True
            elif receiving and word != ",":
                receiving = False
            at += 1
            continue
        end = at + 1
        end += words[end : end + 1] == ["INDICATOR"]
        indicated = words[end : end + 1] != [] and words[end][:1] == ":"
        end = end + 1 if indicated else at + 1
        receives = receiving or kind == "CALL" or (kind in ("SET", "GET") and words[end : end + 1] == ["="])
        yield HostVariable(word[1:], passed, passed + 1 if indicated else -1, receives)
        passed += 2 if indicated else 1
        at = end
