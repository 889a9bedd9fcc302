"""SQL for data queues: the statements that programs write around the services of QSYS2, for jobs and for servers.

:meth:`SqlSession.prepare` parses a statement (:mod:`tdqsim.ibmi.sql_text`) and checks all of its names: services,
arguments, columns, functions, types. Only then :meth:`PreparedSql.execute` evaluates the arguments once, calls the
service, which is the one of ``job.qsys2``, and then applies WHERE, ORDER BY and FETCH FIRST. So a receive with a
misspelt column takes no entry.

Character values of a queue are text with the bytes that they stand for (:class:`SqlText`), so that HEX, SUBSTR and a
CAST to BINARY return the bytes of the entry.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from fnmatch import translate
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from tdqsim.core.codepage import shown_bytes
from tdqsim.core.store import Entry
from tdqsim.errors import ConversionError
from tdqsim.facts import table
from tdqsim.ibmi import sql_text as tree
from tdqsim.ibmi.cl_processor import command
from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.fact_tables import LIMITS
from tdqsim.ibmi.job_core import JobCore
from tdqsim.ibmi.messages import EscapeMessage
from tdqsim.ibmi.qsys2 import Services
from tdqsim.ibmi.sql_text import SERVED, SqlError, SqlExpression, SqlFunction, SqlLiteral, SqlMarker, SqlName
from tdqsim.ibmi.sql_values import (
    BINARY,
    FUNCTIONS,
    SqlColumn,
    SqlText,
    SqlValue,
    bytes_of,
    calculated,
    cast,
    column_of,
    fail,
    interpret,
    joined,
    moment,
    now,
    number_column,
    number_of,
    shown,
)

if TYPE_CHECKING:
    from tdqsim.ibmi.job import Job

_PROCEDURES: Final = (
    "SEND_DATA_QUEUE", "SEND_DATA_QUEUE_BINARY", "SEND_DATA_QUEUE_UTF8", "CLEAR_DATA_QUEUE", "QCMDEXC",
)  # fmt: skip
_TABLE_FUNCTIONS: Final = ("RECEIVE_DATA_QUEUE", "DATA_QUEUE_ENTRIES")
_SCHEMAS: Final = ("", "QSYS2")
_NUMBERS: Final = {"WAIT_TIME": ("DECIMAL", 8, 3), "COMMAND_LENGTH": ("DECIMAL", 15, 5)}
"""The arguments of services that are numbers."""


class SqlResult(NamedTuple):
    """The result of a statement.

    Attributes:
        columns: the columns of its rows; None without a result set.
        rows: the rows.
        update_count: the number of changed rows: 0, or -1 with a result set.
    """

    columns: tuple[SqlColumn, ...] | None
    rows: tuple[tuple[SqlValue, ...], ...]
    update_count: int


Taken = tuple[str, str, Entry]
"""An entry that a receive has removed, after its library and its queue."""


class _Row(NamedTuple):
    """What expressions are evaluated for: the parameters, the entries that were removed, the values of the columns."""

    parameters: Sequence[SqlValue]
    taken: list[Taken]
    values: Sequence[SqlValue] = ()


_Function = Callable[[_Row], Any]


class _Compiled(NamedTuple):
    column: SqlColumn
    value: _Function


def _relations() -> dict[str, tuple[SqlColumn, ...]]:
    found: dict[str, tuple[SqlColumn, ...]] = {}
    for row in table("ibmi_sql_columns"):
        made = SqlColumn(row["column"], row["type"], int(row["precision"]), nullable=row["nullable"] == "yes")
        found[row["relation"]] = (*found.get(row["relation"], ()), made)
    return found


_RELATIONS: Final = _relations()
_SYSTEM_NAMES: Final = {
    (row["relation"], row["system"]): row["column"] for row in table("ibmi_sql_columns") if row["system"]
}
_VIEWS: Final = {"DTAQ_INFO": "DATA_QUEUE_INFO", **{one: one for one in _RELATIONS if one not in _TABLE_FUNCTIONS}}
_CATALOGUE: Final[dict[str, tuple[str, ...]]] = {
    "SYSFUNCS": (*_TABLE_FUNCTIONS, "QCMDEXC"), "SYSPROCS": _PROCEDURES, "SYSVIEWS": ("DATA_QUEUE_INFO",),
    "SYSTABLES": ("DATA_QUEUE_INFO",), "DB_TRANSACTION_INFO": (),
}  # fmt: skip
"""The objects of QSYS2 that each view of the catalogue has."""


class SqlSession:
    """SQL statements of one job.

    Args:
        job: the job.
        schema: CURRENT SCHEMA of the job from now on; by default what it is, which is ``*LIBL``, as with system naming,
            before the first SET SCHEMA.
    """

    def __init__(self, job: Job, schema: str = "") -> None:
        self.job = job
        self.default_schema = schema or "*LIBL"
        if schema:
            self.schema = schema

    @property
    def schema(self) -> str:
        """CURRENT SCHEMA. It stays with the job, whose sessions follow each other."""
        return self.core.schema

    @schema.setter
    def schema(self, name: str) -> None:
        self.core.schema = name

    @property
    def core(self) -> JobCore:
        """The core of the job."""
        return self.job._core

    def prepare(self, text: str) -> PreparedSql:
        """Parse and check a statement; nothing is executed.

        Raises:
            SqlError: it is not valid, or not served.
        """
        return PreparedSql(self, text)

    def execute(self, text: str, parameters: Sequence[SqlValue] = ()) -> SqlResult:
        """Prepare and execute a statement.

        Raises:
            SqlError: it is not valid or not served, or has failed.
        """
        return self.prepare(text).execute(parameters)


class PreparedSql:
    """A statement that is checked and can be executed, several times.

    Attributes:
        text: the statement.
        parameters: its parameter markers, as columns.
        columns: the columns of its result; None without a result set.
    """

    def __init__(self, session: SqlSession, text: str) -> None:
        statement, markers = tree.parse(text)
        self.text = text
        self._session, self._core = session, session.core
        self._relation = ""
        self._qualifiers: set[str] = set()
        self.parameters = [SqlColumn("", "VARCHAR", 32740) for _ in range(markers)]
        self.columns: tuple[SqlColumn, ...] | None = None
        self._run: _Function
        if isinstance(statement, tree.SqlSelect):
            self._run, source = self._select(statement), statement.source
            self._summary = "VALUES" if source is None else f"SELECT {source.name[:30]}"
        elif isinstance(statement, tree.SqlProcedureCall):
            self._run, self._summary = self._call(statement), f"CALL {statement.name[:30]}"
        elif isinstance(statement, tree.SqlSetSchema):
            self._run, self._summary = self._set(statement.value), "SET SCHEMA"
        else:
            self._run, self._summary = lambda _row: None, "COMMIT"

    def execute(self, parameters: Sequence[SqlValue] = (), taken: list[Taken] | None = None) -> SqlResult:
        """Execute it; a receive may wait.

        Args:
            parameters: the values of its markers; text for any type.

            taken: gets the entries that it has removed from a queue, for a server whose client may have gone.

        Raises:
            SqlError: it has failed, or a marker has no value. Entries that it had removed are back on their queue.
        """
        if len(parameters) != len(self.parameters):
            why = f"{len(self.parameters)} are needed, got {len(parameters)}"
            fail(-313, "07001", "SQL0313", f"Number of host variables not valid: {why}.")
        row = _Row(parameters, [])
        try:
            rows = self._run(row)
        except BaseException as error:
            while row.taken:
                library, name, entry = row.taken.pop()
                self._session.job.return_entry(name, library, entry)
            if isinstance(error, EscapeMessage):
                raise SqlError(-443, "38501", f"[{error.message_id}] {error.text}") from error
            if isinstance(error, ParameterError):
                raise SqlError(-443, "38501", f"[SQL0443] {error}") from error
            if isinstance(error, ConversionError):
                text = f"[SQL0330] Character conversion cannot be performed: {error}"
                raise SqlError(-330, "22021", text) from error
            raise
        if taken is not None:
            taken += row.taken
        return SqlResult(None, (), 0) if self.columns is None else SqlResult(self.columns, rows, -1)

    @property
    def summary(self) -> str:
        """What it does, without its data: the verb, and the service or view."""
        return self._summary

    # -- statements ---------------------------------------------------------------------------------------------------

    def _call(self, statement: tree.SqlProcedureCall) -> _Function:
        name = statement.name
        if statement.schema not in _SCHEMAS or name not in _PROCEDURES:
            where = statement.schema or "*LIBL"
            fail(-204, "42704", "SQL0204", f"{name[:128]} in {where[:128]} type *N not found. {SERVED}.")
        if name != "QCMDEXC":
            return self._service(name, statement.arguments)
        given = self._arguments(name, ("COMMAND", "COMMAND_LENGTH"), ("COMMAND",), statement.arguments)

        def run(row: _Row) -> None:
            values = given(row)
            text, length = values["command"], values.get("command_length")
            if length is not None:  # the program QCMDEXC needs it, so people give it here too
                longest = LIMITS["command_length_maximum"]
                if not 1 <= length <= longest:
                    why = f"COMMAND_LENGTH is {str(length)[:40]}; allowed are numbers from 1 to {longest}"
                    raise SqlError(-443, "38501", f"[SQL0443] {why}")
                text = text[: int(length)]
            command(self._core.handle, text)

        return run

    def _set(self, expression: SqlExpression | None) -> _Function:
        session = self._session
        wanted = self._compile(SqlLiteral(None) if expression is None else expression).value

        def run(row: _Row) -> None:
            value = wanted(row)
            session.schema = session.default_schema if value is None else str(value).rstrip()

        return run

    def _service(self, name: str, arguments: tree.SqlArguments) -> _Function:
        """What calls a service of QSYS2 with these arguments."""
        signature = inspect.signature(getattr(Services, name.lower())).parameters.values()
        allowed = [one for one in signature if one.kind is one.POSITIONAL_OR_KEYWORD][1:]
        names = tuple(one.name.upper() for one in allowed)
        needed = tuple(one.name.upper() for one in allowed if one.default is one.empty)
        given = self._arguments(name, names, needed, arguments)
        return lambda row: getattr(Services(self._core, row.taken), name.lower())(**given(row))

    def _arguments(
        self, routine: str, names: Sequence[str], needed: Sequence[str], arguments: tree.SqlArguments
    ) -> Callable[[_Row], dict[str, Any]]:
        """Check the arguments of a routine; returns what evaluates them."""
        given = dict(zip(names, arguments.positional, strict=False))
        why = [f"it has at most {len(names)} arguments"] if len(arguments.positional) > len(names) else []
        for name, expression in arguments.named:
            if name not in names:
                why.append(f"{name[:128]} is not one of its arguments, which are {', '.join(names)}")
            elif name in given:
                why.append(f"argument {name} is given twice")
            given[name] = expression
        why += [f"argument {one} is missing" for one in needed if one not in given]
        if why:
            _no_routine(routine, "QSYS2", f": {why[0]}")
        compiled = {name: self._compile(expression).value for name, expression in given.items()}
        for name, expression in given.items():
            if isinstance(expression, SqlMarker):
                kind = _NUMBERS.get(name, ("VARCHAR", 32740, 0))
                self.parameters[expression.number] = SqlColumn(name, *kind)
        core = self._core
        return lambda row: {name.lower(): _argument(core, routine, name, one(row)) for name, one in compiled.items()}

    def _select(self, statement: tree.SqlSelect) -> _Function:
        fetch = self._source(statement.source)
        items = self._items(statement.items)
        self.columns = tuple(one.column for one in items)
        where = None if statement.where is None else self._test(statement.where)
        order = [(self._key(items, key), descending) for key, descending in statement.order]
        counted = _COUNT in [one.expression for one in statement.items]
        if counted and (len(items) > 1 or order):
            fail(-122, "42803", "SQL0122", "Column specified in SELECT list or ORDER BY not valid beside COUNT(*).")

        def run(given: _Row) -> tuple[tuple[SqlValue, ...], ...]:
            rows = [given._replace(values=one) for one in fetch(given)]
            if where is not None:
                rows = [one for one in rows if where(one) is True]
            if counted:
                rows = [given._replace(values=(len(rows),))]
            for value, descending in reversed(order):
                rows.sort(key=lambda one: self._sort_key(value(one)), reverse=descending)
            return tuple(tuple(item.value(one) for item in items) for one in rows[: statement.limit])

        return run

    def _source(self, source: tree.SqlSource | None) -> Callable[[_Row], Sequence[Sequence[SqlValue]]]:
        """Check what follows FROM; returns what fetches its rows."""
        core = self._core
        if source is None:
            return lambda _row: [()]
        schema, name = source.schema, source.name
        self._qualifiers.add(source.alias or name)
        if source.arguments is not None:
            if schema not in _SCHEMAS or name not in _TABLE_FUNCTIONS:
                view = f"; {name} is a view, which is named in FROM without TABLE" if name in _VIEWS else ""
                _no_routine(name, schema, f"{view}. {SERVED}")
            self._relation = name
            run = self._service(name, source.arguments)
            return lambda row: _cells(core, run(row))
        if name not in _VIEWS or schema not in (("", "SYSIBM") if name == "SYSDUMMY1" else _SCHEMAS):
            hint = f"; it is a table function: TABLE(QSYS2.{name}(...))" if name in _TABLE_FUNCTIONS else ""
            where = schema[:128] or "*LIBL"
            fail(-204, "42704", "SQL0204", f"{name[:128]} in {where} type *FILE not found{hint}. {SERVED}.")
        self._relation = relation = _VIEWS[name]
        if relation == "DATA_QUEUE_INFO":
            return lambda _row: Services(core).data_queue_info()
        rows = [("QSYS2", one) for one in _CATALOGUE[relation]] if relation in _CATALOGUE else [("Y",)]
        return lambda _row: rows

    def _items(self, items: Sequence[tree.SelectItem]) -> list[_Compiled]:
        made: list[_Compiled] = []
        for item in items:
            if item.expression == _COUNT:
                one = _Compiled(SqlColumn("", "INTEGER", 10, nullable=False), lambda row: row.values[0])
            elif item.expression is None:
                if item.name and item.name not in self._qualifiers:
                    _no_column(f"{item.name}.*")
                made += [self._at(at) for at in range(len(_RELATIONS[self._relation]))]
                continue
            else:
                one = self._compile(item.expression)
            name = item.name or (one.column.name if isinstance(item.expression, SqlName) else f"{len(made) + 1:05d}")
            made.append(one._replace(column=one.column._replace(name=name)))
        return made

    def _key(self, items: Sequence[_Compiled], key: SqlExpression) -> _Function:
        if isinstance(key, SqlLiteral) and isinstance(key.value, int):
            if not 1 <= key.value <= len(items):
                fail(-125, "42805", "SQL0125", f"ORDER BY column number {key.value} not valid.")
            return items[key.value - 1].value
        named = [one.value for one in items if isinstance(key, SqlName) and key == ("", one.column.name)]
        return named[0] if named else self._compile(key).value

    def _sort_key(self, value: Any) -> tuple[bool, Any]:
        """Nulls are the highest; characters are sorted by their bytes."""
        return value is None, bytes_of(self._core, value) if isinstance(value, str) else value or 0

    # -- expressions --------------------------------------------------------------------------------------------------

    def _at(self, at: int) -> _Compiled:
        return _Compiled(_RELATIONS[self._relation][at], lambda row: row.values[at])

    def _compile(self, expression: SqlExpression) -> _Compiled:
        """Check an expression; returns its type and what evaluates it."""
        core = self._core
        if isinstance(expression, SqlLiteral):
            return self._literal(expression.value)
        if isinstance(expression, SqlMarker):
            number = expression.number
            return _Compiled(self.parameters[number], lambda row: row.parameters[number])
        if isinstance(expression, SqlName):
            return self._column(expression)
        if isinstance(expression, tree.SqlRegister):
            return self._register(expression.name)
        if isinstance(expression, tree.SqlCast):
            operand, kind = self._compile(expression.operand), expression.type
            change = partial(interpret if expression.interpret else cast, core, kind)
            return _Compiled(column_of(kind, operand.column), _of([operand], change))
        if isinstance(expression, SqlFunction):
            return self._function(expression)
        operator, left, right = expression.operator, self._compile(expression.left), self._compile(expression.right)
        if operator == "||":
            binary = left.column.type in BINARY and right.column.type in BINARY
            length = left.column.precision + right.column.precision
            column = SqlColumn("", "VARBINARY" if binary else "VARCHAR", length)
            return _Compiled(column, _of([left, right], partial(joined, core)))
        column = number_column(operator, left.column, right.column)
        return _Compiled(
            column, _of([left, right], lambda a, b: calculated(operator, column, number_of(a), number_of(b)))
        )

    def _literal(self, value: Any) -> _Compiled:
        if tree.is_hex_text(value):
            raw = bytes.fromhex(value)
            value = SqlText(self._core.page.printable(raw), raw)
        if isinstance(value, int | Decimal):
            _, digits, exponent = Decimal(value).as_tuple()
            size, scale = len(digits), -int(exponent)
            kind = "INTEGER" if value < 1 << 31 else "BIGINT" if value < 1 << 63 else "DECIMAL"
            kind = "DECIMAL" if isinstance(value, Decimal) else kind
            column = SqlColumn("", kind, {"INTEGER": 10, "BIGINT": 19}.get(kind, max(size, scale)), scale)
        else:
            kind = "VARBINARY" if isinstance(value, bytes) else "VARCHAR"
            column = SqlColumn("", kind, max(len(value or ""), 1))
        return _Compiled(column._replace(nullable=value is None), lambda _row: value)

    def _column(self, expression: SqlName) -> _Compiled:
        qualifier, name = expression
        known = {column.name: at for at, column in enumerate(_RELATIONS.get(self._relation, ()))}
        at = known.get(_SYSTEM_NAMES.get((self._relation, name), name))
        if at is not None and qualifier in ("", *self._qualifiers):
            return self._at(at)
        if name == "JOB_NAME" and qualifier in _SCHEMAS:
            return _Compiled(SqlColumn("JOB_NAME", "VARCHAR", 28), lambda _row: self._core.qualified_name)
        return _no_column(f"{qualifier}.{name}" if qualifier else name)

    def _register(self, name: str) -> _Compiled:
        core, session = self._core, self._session
        registers: dict[str, tuple[str, int, Callable[[], SqlValue]]] = {
            "DATE": ("DATE", 10, lambda: now(core).date()), "TIME": ("TIME", 8, lambda: f"{now(core):%H:%M:%S}"),
            "TIMESTAMP": ("TIMESTAMP", 26, lambda: now(core)), "SCHEMA": ("VARCHAR", 128, lambda: session.schema),
            "SERVER": ("VARCHAR", 18, lambda: core.system.name), "USER": ("VARCHAR", 18, lambda: core.current_user),
        }  # fmt: skip
        kind, length, value = registers[name]
        return _Compiled(SqlColumn("", kind, length), lambda _row: value())

    def _function(self, expression: SqlFunction) -> _Compiled:
        name, core = expression.name, self._core
        if expression == _COUNT:
            tree.not_served("COUNT(*) in an expression or a condition")
        arguments = [self._compile(one) for one in expression.arguments]
        if name == "QCMDEXC" and expression.schema in _SCHEMAS and len(arguments) == 1:
            return _Compiled(SqlColumn("", "INTEGER", 10), _of(arguments, partial(_command_result, core)))
        known = FUNCTIONS.get(name) if expression.schema in ("", "SYSIBM", "QSYS2") else None
        if known is None:
            names = ", ".join((*FUNCTIONS, *tree.CASTS, "COUNT(*)", "QSYS2.QCMDEXC"))
            text = f"{name[:128]} in *LIBL type *N not found. Functions that are served: {names}."
            fail(-204, "42704", "SQL0204", text)
        if not known.least <= len(arguments) <= known.most:
            _no_routine(name, "", f": it has {known.least} to {known.most} arguments")
        column = known.column(arguments[0].column if arguments else SqlColumn("", "VARCHAR", 1))
        change = partial(known.value, core, **({"width": column.precision} if name == "DIGITS" else {}))
        return _Compiled(column, _of(arguments, change, nulls=name in ("COALESCE", "IFNULL")))

    # -- conditions ---------------------------------------------------------------------------------------------------

    def _test(self, expression: SqlExpression | tree.SqlTest) -> Callable[[_Row], bool | None]:
        """Check a condition; the result is None for unknown."""
        if not isinstance(expression, tree.SqlTest):
            fail(-104, "42601", "SQL0104", "Token <END-OF-STATEMENT> was not valid.")
        operator = expression.operator
        if operator in ("AND", "OR", "NOT"):
            return partial(_logical, operator, [self._test(one) for one in expression.operands])
        operands = [self._compile(one) for one in expression.operands if not isinstance(one, tree.SqlTest)]
        if operator == "ISNULL":
            return lambda row: operands[0].value(row) is None
        return _of(operands, _like if operator == "LIKE" else partial(_compare, self._core, operator))


_COUNT: Final = SqlFunction("", "COUNT", (SqlName("", "*"),))


def _of(operands: Sequence[_Compiled], change: Callable[..., Any], *, nulls: bool = False) -> _Function:
    """What changes the values of operands; null if one of them is null, unless ``nulls``."""

    def value(row: _Row) -> Any:
        values = [one.value(row) for one in operands]
        return None if not nulls and None in values else change(*values)

    return value


def _no_routine(name: str, schema: str, why: str) -> NoReturn:
    where = schema[:128] or "*LIBL"
    fail(-440, "42884", "SQL0440", f"Routine {name[:128]} in {where} not found with specified parameters{why}.")


def _no_column(name: str) -> NoReturn:
    fail(-206, "42703", "SQL0206", f"Column {name[:128]} not in specified tables.")


def _argument(core: JobCore, routine: str, name: str, value: Any) -> Any:
    """The value of an argument as the service takes it."""
    if value is None:
        if name in ("KEY_DATA", "KEY_ORDER"):
            return None
        fail(-443, "38501", "SQL0443", f"{routine}: argument {name} must not be null.")
    if name in _NUMBERS:
        return number_of(value)
    if name == "KEY_DATA":
        return bytes_of(core, value)
    if name == "MESSAGE_DATA" and routine == "SEND_DATA_QUEUE_BINARY":
        try:
            return value if isinstance(value, bytes) else bytes.fromhex(shown(value))
        except ValueError:
            text = "Conversion error on input host variable: binary data is sent as hexadecimal text."
            fail(-302, "22023", "SQL0302", text)
    text = core.page.printable(value) if isinstance(value, bytes) else shown(value)
    return text if name in ("MESSAGE_DATA", "COMMAND") else text.rstrip()


def _command_result(core: JobCore, text: Any) -> int:
    try:
        command(core.handle, str(text))
    except EscapeMessage:
        return -1
    return 1


def _cells(core: JobCore, found: Any) -> list[list[SqlValue]]:
    """The rows of a service: text with the bytes that it stands for."""
    rows = found if found and isinstance(found[0], tuple) else (found,) if found else ()
    cells = [list(row) for row in rows]
    for row, values in zip(rows, cells, strict=True):
        for at, name in enumerate(row._fields):
            if name in ("message_data", "message_data_utf8"):
                values[at] = SqlText(values[at], row.message_data_binary)
            elif name == "key_data" and values[at] is not None:
                values[at] = SqlText(core.page.printable(values[at]), values[at])
    return cells


def _logical(operator: str, tests: Sequence[Callable[[_Row], bool | None]], row: _Row) -> bool | None:
    results = [test(row) for test in tests]
    if operator == "NOT":
        return None if results[0] is None else not results[0]
    decisive = operator == "OR"
    return decisive if decisive in results else None if None in results else not decisive


def _compare(core: JobCore, operator: str, left: Any, right: Any) -> bool:
    if isinstance(left, int | Decimal) or isinstance(right, int | Decimal):
        left, right = number_of(left), number_of(right)
    elif isinstance(left, date) or isinstance(right, date):
        left, right = moment("TIMESTAMP", left), moment("TIMESTAMP", right)
    elif isinstance(left, bytes) or isinstance(right, bytes):
        left, right = bytes_of(core, left), bytes_of(core, right)
    else:
        left, right = (shown_bytes(shown(one).rstrip(" "), core.page) for one in (left, right))
    results: dict[str, bool] = {
        "=": left == right, "<>": left != right, "<": left < right, "<=": left <= right, ">": left > right,
        ">=": left >= right,
    }  # fmt: skip
    return results[operator]


def _like(text: Any, pattern: Any, escape: Any = "") -> bool:
    """LIKE, by a pattern of files, whose expression never goes back further than to the last ``%``."""
    made, literal, wanted = "", False, shown(pattern)
    if len(wanted) > LIMITS["sql_pattern_characters"]:
        fail(-132, "42824", "SQL0132", "LIKE predicate not valid: the pattern is too long.")
    for one in wanted:
        if not literal and one == escape:
            literal = True
        else:
            made += f"[{one}]" if one in "*?[" else one if literal else {"%": "*", "_": "?"}.get(one, one)
            literal = False
    return re.fullmatch(translate(made), shown(text)) is not None
