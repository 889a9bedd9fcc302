"""The SQL of a test: its answers to the EXEC SQL statements of programs, in place of a database.

A stub selects statements by kind, table, cursor, text or pattern, by the values of host variables, and by count. Its
answer has rows, a SQLCODE and a row count:

>>> from tdqsim.cobol import SqlAnswer, SqlStub
>>> SqlStub(SqlAnswer([{"WS-NAME": "MILLER"}]), kind="SELECT", table="CUST").kind
'SELECT'
>>> SqlAnswer(sqlcode=-911).sqlstate
'40001'

The answer to an OPEN is the list of rows of the cursor. FETCH gives one after the other, then SQLCODE +100; CLOSE ends
it, as do the end of the task and, without WITH HOLD, a syncpoint. A statement that nothing answers ends the task.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from tdqsim.cics import Abend
from tdqsim.cobol.fields import Area, Areas
from tdqsim.cobol.sql_statements import SqlStatement, statement_of
from tdqsim.cobol.sql_values import ArgumentValue, CobolArgument, argument, is_value
from tdqsim.cobol.storage import Cursor
from tdqsim.cobol.stubs import Answered, AnyStub, Unserved, first_answer
from tdqsim.cobol.translate import ExecCommand
from tdqsim.errors import UsageError
from tdqsim.facts import table

SqlRow = Mapping[str, ArgumentValue] | Sequence[ArgumentValue]
"""A row: its values by the names of the host variables, or all of them in their order."""

_STATES: Final = {int(row["sqlcode"]): row["sqlstate"] for row in table("sqlcodes")}
_FIELDS: Final = {row["name"]: row for row in table("sqlca")}
_FOUND, _END, _NULL, _NOT_OPEN, _OPEN, _SEVERAL = 0, 100, -305, -501, -502, -811
_DIRECTIONS: Final = {"NEXT": 1, "PRIOR": -1, "CURRENT": 0}
_FETCHED: Final = ("FETCH", "CLOSE")
_HALFWORD: Final = 2
_ROW_COUNT: Final = 2
"""The index of SQLERRD(3)."""


@dataclass(frozen=True, slots=True)
class SqlAnswer:
    """The result of an SQL statement.

    Attributes:
        rows: for a statement that returns values: the rows, each with values by host variable, or with all values in
            order. None is the null value; a host variable that a row does not name is unchanged. A cursor has any
            number of rows, a SELECT INTO none (SQLCODE +100) or one. With no list the host variables are unchanged.
        sqlcode: the SQLCODE; by default 0, or +100 where there is no row.
        sqlstate: the SQLSTATE; by default that of the SQLCODE.
        count: SQLERRD(3): the rows that an INSERT, UPDATE, DELETE or MERGE has changed; 1 by default. With 0 the
            SQLCODE is +100 by default.
        message: the tokens of the message, SQLERRMC, up to 70 characters.
        abend: an abend code of four characters, with which the statement ends the task instead.

    Raises:
        UsageError: no SQLSTATE is given for a SQLCODE whose SQLSTATE is not known here, or a value is too long.
    """

    rows: Sequence[SqlRow] | None = None
    sqlcode: int | None = None
    sqlstate: str = ""
    count: int = 1
    message: str = ""
    abend: str = ""

    def __post_init__(self) -> None:
        code = self.sqlcode
        if code is not None and not self.sqlstate:
            if code not in _STATES:
                raise UsageError(f"the SQLSTATE of SQLCODE {code} is not known here: give sqlstate")
            object.__setattr__(self, "sqlstate", _STATES[code])
        for name, value in (("SQLERRMC", self.message), ("SQLSTATE", self.sqlstate)):
            if len(value) > int(_FIELDS[name]["length"]):
                raise UsageError(f"{value!r} is longer than {name}, which has {_FIELDS[name]['length']} bytes")


class SqlCall:
    """One execution of an SQL statement.

    Attributes:
        statement: the statement.
        level: the level whose program executes it.
        inputs: the values of the host variables that the statement reads, by name; None for null.
    """

    def __init__(self, level: Answered, declared: ExecCommand, areas: Areas) -> None:
        self.level = level
        self.statement = SqlStatement(*declared.sql)
        self._declared = declared
        self._areas = areas
        self._programs = tuple(level.programs())
        self.inputs = {
            part.name: None if null else part.value()
            for variable in self.statement.variables
            if not variable.receives or self.statement.kind == "CALL"
            for part, null in self._bound(variable.at, variable.indicator)
        }

    def _argument(self, at: int) -> CobolArgument:
        return argument(self._declared.written[at], self._areas[at], self._programs)

    def _bound(self, at: int, indicator: int) -> list[tuple[CobolArgument, bool]]:
        """A host variable, or the items of a host structure, each with whether it is null."""
        parts = self._argument(at).parts
        if indicator < 0:
            return [(part, False) for part in parts]
        place = self._areas[indicator].address
        return [(part, _indicator(place, number) < 0) for number, part in enumerate(parts)]

    @property
    def receivers(self) -> list[tuple[CobolArgument, int]]:
        """The host variables that get values, each with the address of its indicator variable; 0 without one."""
        receivers = []
        for variable in self.statement.variables:
            if not variable.receives:
                continue
            place = self._areas[variable.indicator].address if variable.indicator >= 0 else 0
            for number, part in enumerate(self._argument(variable.at).parts):
                receivers.append((part, place and place + number * _HALFWORD))
        return receivers

    def store(self, row: SqlRow) -> tuple[int, bool]:
        """Give the host variables the values of a row.

        Returns:
            The SQLCODE, and whether a text was cut.
        """
        pairs = [(part, place, value) for (part, place), value in self._paired(row)]
        if any(value is None and not place for _part, place, value in pairs):
            return _NULL, False
        cut = False
        for part, place, value in pairs:
            length = len(value) if isinstance(value, str | bytes) else 0
            over = part.is_text and length > part.size
            cut = cut or over
            if place:
                _set_indicator(place, -1 if value is None else length if over else 0)
            if value is not None:
                part.put(value)
        return _FOUND, cut

    def _paired(self, row: SqlRow) -> list[tuple[tuple[CobolArgument, int], ArgumentValue]]:
        receivers = self.receivers
        if isinstance(row, Mapping):
            values = {name.upper(): value for name, value in row.items()}
            named = {part.name: (part, place) for part, place in receivers}
            for name in values:
                if name not in named:
                    raise UsageError(f"a row has {name}, but {self} gives values to {', '.join(named) or 'nothing'}")
            return [(named[name], value) for name, value in values.items()]
        if isinstance(row, str | bytes) or len(row) != len(receivers):
            names = ", ".join(part.name for part, _place in receivers)
            raise UsageError(f"a row has {len(row)} values, but {self} gives values to {names or 'nothing'}")
        return list(zip(receivers, row, strict=True))

    def end(self, code: int, state: str = "", *, count: int = 0, message: str = "", cut: bool = False) -> None:
        """Set the SQLCA, or the program's own SQLCODE and SQLSTATE."""
        values: dict[str, Any] = {
            "SQLCODE": code,
            "SQLSTATE": state or _STATES[code],
            "SQLERRMC": message,
            "SQLERRML": len(message),
            "SQLWARN0": "W" if cut else " ",
            "SQLWARN1": "W" if cut else " ",
        }
        first = len(self._declared.written) - self._declared.status
        for at in range(first, len(self._declared.written)):
            given = self._argument(at)
            if given.name in values:
                given.put(values[given.name])
                continue
            for part in _sqlca_parts(given):
                part.put(values.get(part.name, _FIELDS[part.name]["contents"]))
                if part.name == "SQLERRD":
                    _set_row_count(part, count)

    def __str__(self) -> str:
        return self._declared.shown

    @property
    def key(self) -> tuple[str, str]:
        """The name under which the task keeps the cursor of the statement: cursors belong to programs."""
        return self.level.issuer, self.statement.cursor


def _sqlca_parts(sqlca: CobolArgument) -> list[CobolArgument]:
    """The fields of an SQLCA; SQLERRM is a VARCHAR, but its two items are set separately."""
    parts = []
    for at, item in enumerate(sqlca.items):
        if item.name in _FIELDS:
            place = sqlca.address + item.offset - sqlca.items[0].offset
            parts.append(CobolArgument(item.name, place, sqlca.items[at : at + 1]))
    return parts


def _set_row_count(errors: CobolArgument, count: int) -> None:
    """Set SQLERRD: the third is the row count, the others are zero."""
    item = errors.items[0]
    for number in range(item.dimensions[0][0] if item.dimensions else 1):
        place = errors.address + number * item.size
        CobolArgument(item.name, place, errors.items).put(count if number == _ROW_COUNT else 0)


def _indicator(place: int, number: int) -> int:
    """The value of an indicator variable, S9(4) COMP, which the compiler stores with the high byte first."""
    return int.from_bytes(ctypes.string_at(place + number * _HALFWORD, _HALFWORD), "big", signed=True)


def _set_indicator(place: int, value: int) -> None:
    ctypes.memmove(place, value.to_bytes(_HALFWORD, "big", signed=True), _HALFWORD)


class SqlStub(AnyStub):
    """SQL statements that a test answers.

    FETCH and CLOSE follow their cursor, so that only a stub with this ``kind``, or with the whole ``statement``,
    answers them.

    Args:
        answer: the answer, or a function that takes the :class:`SqlCall` and returns a SqlAnswer, or NotImplemented to
            leave the statement to the next stub.
        kind: the first word of the statement, such as SELECT, OPEN or INSERT.
        table: a table that it names, with or without its qualifier; the procedure of a CALL.
        cursor: its cursor.
        statement: the whole statement, with its host variables; blanks and case do not matter.
        pattern: a regular expression that fits any part of it, in the form that messages show, in any case.
        where: values of host variables that the statement reads.
        program: the program that executes it.
        transaction: the transaction id of its task.
        count: which of the matching statements are answered: ``3``, ``"2-4"``, ``"5-"``; all when empty.

    Attributes:
        calls: the values of the host variables that each answered statement read, by name; None for null.
    """

    def __init__(
        self,
        answer: SqlAnswer | Callable[[SqlCall], object],
        *,
        kind: str = "",
        table: str = "",
        cursor: str = "",
        statement: str = "",
        pattern: str = "",
        where: Mapping[str, ArgumentValue] | None = None,
        program: str = "",
        transaction: str = "",
        count: int | str = "",
    ) -> None:
        super().__init__(program=program, transaction=transaction, count=count)
        self.answer = answer
        self.kind = kind.upper()
        self.table = table
        self.cursor = cursor.upper()
        self.statement = statement_of(statement)
        self.pattern = re.compile(pattern, re.IGNORECASE)
        self.where = {name.upper(): value for name, value in (where or {}).items()}
        self.calls: list[dict[str, Any]] = []

    def takes(self, call: SqlCall) -> bool:
        """Whether the stub answers a statement; counts the statements that match."""
        statement = call.statement
        fits = (
            (statement.kind == self.kind if self.kind else statement.kind not in _FETCHED or bool(self.statement))
            and (not self.table or statement.is_about(self.table))
            and self.cursor in ("", statement.cursor)
            and self.statement in ("", statement.text, _statement_declared(statement))
            and (self.pattern.search(statement.text) or self.pattern.search(statement.declaration)) is not None
            and all(name in call.inputs and is_value(call.inputs[name], each) for name, each in self.where.items())
            and self.concerns(call.level)
        )
        return fits and self.counts()


def _statement_declared(statement: SqlStatement) -> str:
    """The SELECT of the cursor that an OPEN opens."""
    return re.sub(r"^DECLARE .*? CURSOR .*?\bFOR ", "", statement.declaration)


# -- answering -------------------------------------------------------------------------------------------------------


def answer_sql(level: Answered, declared: ExecCommand, areas: Areas) -> None:
    """Execute an SQL statement of a program: by a stub, by ``verbs["SQL"]``, or by its open cursor.

    Raises:
        Unserved: nothing answers it. Abend: the answer is an abend. UsageError: a row does not fit its host variables.
    """
    call = SqlCall(level, declared, areas)
    stubs = [each for each in level.settings.stubs if isinstance(each, SqlStub) and each.takes(call)]
    answer = first_answer(stubs, SqlAnswer, lambda: call.inputs, call)
    function = level.verbs.get("SQL")
    if answer is NotImplemented and function is not None:
        variables: dict[str, Area | None] = {f"A{at + 1}": areas[at] for at in range(declared.passed - declared.status)}
        level.statement = declared.text.partition(" ")[2]
        answer = function(variables, level)
        if answer is None:  # the function has set the host variables and the SQLCA itself
            return
    if isinstance(answer, SqlAnswer):
        _give(call, answer)
    elif call.statement.kind in _FETCHED and answer is NotImplemented:
        _follow(call)
    else:
        raise Unserved(f"{declared.place}: {call} (program {level.issuer}): {unanswered(declared)}")


def unanswered(declared: ExecCommand) -> str:
    """The stub that would answer a statement."""
    statement = SqlStatement(*declared.sql)
    what = f'kind="{statement.kind}"'
    if statement.cursor:
        what += f', cursor="{statement.cursor}"'
    elif statement.tables:
        what += f', table="{statement.tables[0]}"'
    return f"only a test answers it: SqlStub(SqlAnswer(...), {what})"


def _give(call: SqlCall, answer: SqlAnswer) -> None:
    statement = call.statement
    if answer.abend:
        raise Abend(answer.abend, detail=f"the answer of a stub for {call}")
    code = answer.sqlcode
    if statement.kind == "OPEN" and (code is None or code >= 0):
        _open(call, answer)
        return
    if statement.kind == "CLOSE" and (code is None or code >= 0):
        _cursors(call).pop(call.key, None)
    cut = False
    nothing = not answer.rows if answer.rows is not None else statement.changes and not answer.count
    if code is None:
        code = _END if nothing and statement.searches else _FOUND
    if answer.rows and code >= 0 and code != _END:
        if len(answer.rows) > 1 and statement.kind == "SELECT":
            call.end(_SEVERAL)
            return
        stored, cut = call.store(answer.rows[0])
        if stored:
            call.end(stored)
            return
    count = answer.count if statement.changes and code >= 0 and code != _END else 0
    call.end(code, answer.sqlstate, count=count, message=answer.message, cut=cut)


def _cursors(call: SqlCall) -> dict[tuple[str, str], Cursor]:
    return call.level.storage.cursors


def _open(call: SqlCall, answer: SqlAnswer) -> None:
    cursors = _cursors(call)
    if call.key in cursors:
        call.end(_OPEN)
        return
    cursors[call.key] = Cursor(answer.rows or (), call.statement.holds)
    call.end(answer.sqlcode or _FOUND, answer.sqlstate, message=answer.message)


def _follow(call: SqlCall) -> None:
    """FETCH the next row of an open cursor, or CLOSE it."""
    cursors = _cursors(call)
    cursor = cursors.get(call.key)
    if cursor is None:
        call.end(_NOT_OPEN)
    elif call.statement.kind == "CLOSE":
        del cursors[call.key]
        call.end(_FOUND)
    else:
        cursor.at = _moved(call, cursor)
        if not 0 <= cursor.at < len(cursor.rows):
            call.end(_END)
        else:
            code, cut = call.store(cast("SqlRow", cursor.rows[cursor.at]))
            call.end(code, cut=cut)


def _moved(call: SqlCall, cursor: Cursor) -> int:
    """The position of a cursor after a FETCH: -1 before the first row, the number of rows after the last."""
    words = call.statement.words
    if "ROWSET" in words:
        raise Unserved(f"{call}: a FETCH of several rows is answered only by a stub with kind FETCH")
    count = len(cursor.rows)
    if "FIRST" in words[1:3]:
        return 0
    if "LAST" in words[1:3]:
        return count - 1
    step = next((_DIRECTIONS[word] for word in words[1:3] if word in _DIRECTIONS), 1)
    return min(max(cursor.at + step, -1), count)


def end_cursors(level: Answered, *, backout: bool) -> None:
    """Close the cursors of the task at a syncpoint; those WITH HOLD stay open unless the changes are backed out."""
    cursors = level.storage.cursors
    for key in [key for key, cursor in cursors.items() if backout or not cursor.holds]:
        del cursors[key]
