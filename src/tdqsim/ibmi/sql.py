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
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from tdqsim.core.store import Entry
from tdqsim.errors import ConversionError
from tdqsim.facts import table
from tdqsim.ibmi._cl_processor import command
from tdqsim.ibmi._errors import ParameterError
from tdqsim.ibmi._qsys2 import Services
from tdqsim.ibmi.job_core import JobCore
from tdqsim.ibmi.layouts import shown_bytes
from tdqsim.ibmi.messages import EscapeMessage
from tdqsim.ibmi.sql_text import (
    SERVED,
    SqlArguments,
    SqlCast,
    SqlError,
    SqlExpression,
    SqlFunction,
    SqlLiteral,
    SqlMarker,
    SqlName,
    SqlNothing,
    SqlOperation,
    SqlProcedureCall,
    SqlRegister,
    SqlSelect,
    SqlSetSchema,
    SqlTest,
    is_hex_text,
    parse,
)
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
    from_hex,
    interpret,
    joined,
    now,
    number_column,
    number_of,
    or_null,
    shown,
)

if TYPE_CHECKING:
    from tdqsim.ibmi.job import Job

_PROCEDURES: Final = ("SEND_DATA_QUEUE", "SEND_DATA_QUEUE_BINARY", "SEND_DATA_QUEUE_UTF8", "CLEAR_DATA_QUEUE")
_TABLE_FUNCTIONS: Final = ("RECEIVE_DATA_QUEUE", "DATA_QUEUE_ENTRIES")
_SCHEMAS: Final = ("", "QSYS2")


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


class _Given(NamedTuple):
    """The parameters of one execution, and the entries that it has removed."""

    values: Sequence[SqlValue]
    taken: list[Taken]


class _Row(NamedTuple):
    parameters: _Given
    values: Sequence[SqlValue]


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
_VIEWS: Final = {
    "DATA_QUEUE_INFO": "DATA_QUEUE_INFO",
    "DTAQ_INFO": "DATA_QUEUE_INFO",
    **{one: one for one in _RELATIONS if one not in (*_TABLE_FUNCTIONS, "SYSDUMMY1")},
}


class SqlSession:
    """SQL statements of one job.

    Args:
        job: the job.
        schema: CURRENT SCHEMA; ``*LIBL``, as with system naming, by default.
    """

    def __init__(self, job: Job, schema: str = "*LIBL") -> None:
        self.job = job
        self.default_schema = self.schema = schema

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
        statement, markers = parse(text)
        self.text = text
        self._session = session
        self.parameters = [SqlColumn("", "VARCHAR", 32740) for _ in range(markers)]
        self.columns: tuple[SqlColumn, ...] | None = None
        if isinstance(statement, SqlSelect):
            self._run: Callable[[_Given], SqlResult] = self._select(statement)
            source = statement.source
            self._summary = "VALUES" if source is None else f"SELECT {source.name[:30]}"
        elif isinstance(statement, SqlProcedureCall):
            self._run = self._call(statement)
            self._summary = f"CALL {statement.name[:30]}"
        elif isinstance(statement, SqlSetSchema):
            self._run = self._set(statement)
            self._summary = "SET SCHEMA"
        else:
            assert statement == SqlNothing()
            self._run = lambda _given: _DONE
            self._summary = "COMMIT"

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
        given = _Given(parameters, [])
        try:
            result = self._run(given)
        except BaseException as error:
            while given.taken:
                library, name, entry = given.taken.pop()
                self._session.job.return_entry(name, library, entry)
            raise self._error(error) from error
        if taken is not None:
            taken += given.taken
        return result

    @staticmethod
    def _error(error: BaseException) -> BaseException:
        """An exception of a service as an SQL error; others as they are."""
        if isinstance(error, EscapeMessage):
            return SqlError(-443, "38501", f"[{error.message_id}] {error.text}")
        if isinstance(error, ParameterError):
            return SqlError(-443, "38501", f"[SQL0443] {error}")
        if isinstance(error, ConversionError):
            return SqlError(-330, "22021", f"[SQL0330] Character conversion cannot be performed: {error}")
        return error

    @property
    def summary(self) -> str:
        """What it does, without its data: the verb, and the service or view."""
        return self._summary

    # -- statements ---------------------------------------------------------------------------------------------------

    def _call(self, statement: SqlProcedureCall) -> Callable[[_Given], SqlResult]:
        name = statement.name
        if statement.schema not in _SCHEMAS or name not in (*_PROCEDURES, "QCMDEXC"):
            where = statement.schema or "*LIBL"
            fail(-204, "42704", "SQL0204", f"{name[:128]} in {where[:128]} type *N not found. {SERVED}.")
        if name == "QCMDEXC":
            run = self._arguments(name, ("COMMAND",), ("COMMAND",), statement.arguments)
            return lambda given: (_run_command(self._session.core, run(given)["command"]), _DONE)[1]
        service, run = self._service(name, statement.arguments)
        return lambda given: (service(run(given)), _DONE)[1]

    def _set(self, statement: SqlSetSchema) -> Callable[[_Given], SqlResult]:
        session = self._session
        wanted = None if statement.value is None else _Scope(self, {}, "").compile(statement.value)

        def run(given: _Given) -> SqlResult:
            value = None if wanted is None else wanted.value(_Row(given, ()))
            session.schema = session.default_schema if value is None else str(value).rstrip()
            return _DONE

        return run

    def _service(
        self, name: str, arguments: SqlArguments
    ) -> tuple[Callable[..., Any], Callable[[_Given], dict[str, Any]]]:
        signature = inspect.signature(getattr(Services, name.lower())).parameters.values()
        allowed = [one for one in signature if one.kind is one.POSITIONAL_OR_KEYWORD][1:]
        names = tuple(one.name.upper() for one in allowed)
        needed = tuple(one.name.upper() for one in allowed if one.default is one.empty)
        run = self._arguments(name, names, needed, arguments)

        def service(given: Mapping[str, Any], taken: list[Taken] | None = None) -> Any:
            return getattr(Services(self._session.core, taken), name.lower())(**given)

        return service, run

    def _arguments(
        self, routine: str, names: Sequence[str], needed: Sequence[str], arguments: SqlArguments
    ) -> Callable[[_Given], dict[str, Any]]:
        """Check the arguments of a routine; returns what evaluates them."""
        why = ""
        given = dict(zip(names, arguments.positional, strict=False))
        if len(arguments.positional) > len(names):
            why = f"it has at most {len(names)} arguments"
        for name, expression in arguments.named:
            if name not in names:
                why = why or f"{name[:128]} is not one of its arguments, which are {', '.join(names)}"
            elif name in given:
                why = why or f"argument {name} is given twice"
            given[name] = expression
        missing = [one for one in needed if one not in given]
        if not why and missing:
            why = f"argument {missing[0]} is missing"
        if why:
            fail(-440, "42884", "SQL0440", f"Routine {routine} in QSYS2 not found with specified parameters: {why}.")
        scope = _Scope(self, {}, "")
        compiled = {name: scope.compile(expression) for name, expression in given.items()}
        for name, expression in given.items():
            if isinstance(expression, SqlMarker):
                kind = ("DECIMAL", 8, 3) if name == "WAIT_TIME" else ("VARCHAR", 32740, 0)
                self.parameters[expression.number] = SqlColumn(name, *kind)
        core = self._session.core

        def run(parameters: _Given) -> dict[str, Any]:
            row = _Row(parameters, ())
            values = {name.lower(): one.value(row) for name, one in compiled.items()}
            return {name: _argument(core, routine, name, value) for name, value in values.items()}

        return run

    def _select(self, statement: SqlSelect) -> Callable[[_Given], SqlResult]:
        source, core = statement.source, self._session.core
        relation = ""
        fetch: Callable[[_Given], Sequence[tuple[SqlValue, ...]]] = _one_row
        if source is not None and source.arguments is not None:
            relation = source.name
            if source.schema not in _SCHEMAS or relation not in _TABLE_FUNCTIONS:
                _no_routine(relation, source.schema, "")
            service, run = self._service(relation, source.arguments)
            fetch = partial(_fetch_service, core, service, run)
        elif source is not None:
            relation = self._view(source.schema, source.name)
            fetch = partial(_fetch_view, core, relation)
        scope = _Scope(self, {"": relation} if relation else {}, relation)
        if source is not None:
            scope.qualifiers |= {source.alias or source.name}
        items = self._items(statement, scope)
        self.columns = tuple(one.column for one in items)
        where = None if statement.where is None else scope.test(statement.where)
        names = [one.column.name for one in items]
        order = [(self._key(scope, items, names, key), descending) for key, descending in statement.order]
        counted = [one for one in statement.items if one.expression is not None and _counts(one.expression)]
        if counted and (len(counted) < len(statement.items) or order):
            fail(-122, "42803", "SQL0122", "Column specified in SELECT list or ORDER BY not valid beside COUNT(*).")

        def run_select(given: _Given) -> SqlResult:
            rows = [_Row(given, one) for one in fetch(given)]
            if where is not None:
                rows = [one for one in rows if where(one) is True]
            if counted:
                rows = [_Row(given, (len(rows),))]
            for value, descending in reversed(order):
                rows.sort(key=lambda one: _sort_key(core, value(one)), reverse=descending)
            chosen = rows if statement.limit is None else rows[: statement.limit]
            return SqlResult(self.columns, tuple(tuple(item.value(one) for item in items) for one in chosen), -1)

        return run_select

    @staticmethod
    def _view(schema: str, name: str) -> str:
        if name == "SYSDUMMY1" and schema in ("SYSIBM", ""):
            return name
        if schema in _SCHEMAS and name in _VIEWS:
            return _VIEWS[name]
        hint = f"; it is a table function: TABLE(QSYS2.{name}(...))" if name in _TABLE_FUNCTIONS else ""
        where = schema[:128] or "*LIBL"
        return fail(-204, "42704", "SQL0204", f"{name[:128]} in {where} type *FILE not found{hint}. {SERVED}.")

    def _items(self, statement: SqlSelect, scope: _Scope) -> list[_Compiled]:
        items: list[_Compiled] = []
        for item in statement.items:
            if item.expression is None:
                if item.name and item.name not in scope.qualifiers:
                    _no_column(f"{item.name}.*")
                items += scope.all_columns()
                continue
            made = scope.compile(item.expression)
            name = item.name or (made.column.name if isinstance(item.expression, SqlName) else f"{len(items) + 1:05d}")
            items.append(made._replace(column=made.column._replace(name=name)))
        return items

    @staticmethod
    def _key(scope: _Scope, items: Sequence[_Compiled], names: Sequence[str], key: SqlExpression) -> _Function:
        if isinstance(key, SqlLiteral) and isinstance(key.value, int):
            if not 1 <= key.value <= len(items):
                fail(-125, "42805", "SQL0125", f"ORDER BY column number {key.value} not valid.")
            return items[key.value - 1].value
        if isinstance(key, SqlName) and not key.qualifier and key.name in names:
            return items[names.index(key.name)].value
        return scope.compile(key).value


_DONE: Final = SqlResult(None, (), 0)


def _one_row(_given: _Given) -> list[tuple[SqlValue, ...]]:
    return [("Y",)]


def _no_routine(name: str, schema: str, why: str) -> NoReturn:
    where = schema[:128] or "*LIBL"
    if not why and name in _VIEWS:
        why = f"; {name} is a view, which is named in FROM without TABLE"
    text = f"Routine {name[:128]} in {where} not found with specified parameters{why}. {SERVED}."
    fail(-440, "42884", "SQL0440", text)


def _no_column(name: str) -> NoReturn:
    fail(-206, "42703", "SQL0206", f"Column {name[:128]} not in specified tables.")


def _counts(expression: SqlExpression) -> bool:
    return isinstance(expression, SqlFunction) and expression.name == "COUNT"


def _argument(core: JobCore, routine: str, name: str, value: Any) -> Any:
    """The value of an argument as the service takes it."""
    if value is None and name in ("key_data", "key_order"):
        return None
    if value is None:
        fail(-443, "38501", "SQL0443", f"{routine}: argument {name.upper()} must not be null.")
    if name == "wait_time":
        return number_of(value)
    if name == "key_data":
        return bytes_of(core, value)
    if name == "message_data" and routine == "SEND_DATA_QUEUE_BINARY":
        return value if isinstance(value, bytes) else from_hex(shown(value))
    text = core.page.printable(value) if isinstance(value, bytes) else shown(value)
    if name == "message_data":
        return text
    return text if name == "command" else text.rstrip()


def _run_command(core: JobCore, text: Any) -> int:
    command(core.handle, str(text))
    return 1


def _command_result(core: JobCore, text: Any) -> int | None:
    if text is None:
        return None
    try:
        return _run_command(core, text)
    except EscapeMessage:
        return -1


# -- rows -------------------------------------------------------------------------------------------------------------


def _fetch_service(
    core: JobCore, service: Callable[..., Any],
    run: Callable[[_Given], dict[str, Any]], given: _Given,
) -> list[tuple[SqlValue, ...]]:  # fmt: skip
    found = service(run(given), given.taken)
    if found is None:
        return []
    rows = found if found and isinstance(found[0], tuple) else (found,) if found else ()
    return [tuple(_cell(core, row, name) for name in row._fields) for row in rows]


def _cell(core: JobCore, row: Any, name: str) -> SqlValue:
    value: SqlValue = getattr(row, name)
    if name in ("message_data", "message_data_utf8"):
        return SqlText(str(value), row.message_data_binary)
    if name == "key_data" and isinstance(value, bytes):
        return SqlText(core.page.printable(value), value)
    return value


def _fetch_view(core: JobCore, relation: str, _given: _Given) -> Sequence[tuple[SqlValue, ...]]:
    if relation == "DATA_QUEUE_INFO":
        return Services(core).data_queue_info()
    routines = {
        "SYSDUMMY1": (("Y",),), "DB_TRANSACTION_INFO": (), "SYSFUNCS": (*_TABLE_FUNCTIONS, "QCMDEXC"),
        "SYSPROCS": (*_PROCEDURES, "QCMDEXC"), "SYSVIEWS": ("DATA_QUEUE_INFO",), "SYSTABLES": ("DATA_QUEUE_INFO",),
    }[relation]  # fmt: skip
    return [one if isinstance(one, tuple) else ("QSYS2", one) for one in routines]


# -- expressions ------------------------------------------------------------------------------------------------------


class _Scope:
    """The names that an expression may use."""

    def __init__(self, statement: PreparedSql, sources: Mapping[str, str], relation: str) -> None:
        self._session = statement._session
        self._relation = relation if sources else ""
        self.qualifiers: set[str] = set()

    @property
    def _core(self) -> JobCore:
        return self._session.core

    def all_columns(self) -> list[_Compiled]:
        """What ``*`` stands for."""
        return [self._at(at, one) for at, one in enumerate(_RELATIONS[self._relation])]

    @staticmethod
    def _at(at: int, column: SqlColumn) -> _Compiled:
        return _Compiled(column, lambda row: row.values[at])

    def compile(self, expression: SqlExpression) -> _Compiled:
        """Check an expression; returns its type and what evaluates it."""
        if isinstance(expression, SqlLiteral):
            return self._literal(expression.value)
        if isinstance(expression, SqlMarker):
            number = expression.number
            return _Compiled(SqlColumn("", "VARCHAR", 32740), lambda row: row.parameters.values[number])
        if isinstance(expression, SqlName):
            return self._column(expression)
        if isinstance(expression, SqlRegister):
            return self._register(expression.name)
        if isinstance(expression, SqlCast):
            operand, kind = self.compile(expression.operand), expression.type
            change = interpret if expression.interpret else cast
            column = column_of(kind, operand.column)
            return _Compiled(column, lambda row: or_null(partial(change, self._core, kind), operand.value(row)))
        if isinstance(expression, SqlOperation):
            return self._operation(expression)
        return self._function(expression)

    def _literal(self, value: Any) -> _Compiled:
        if is_hex_text(value):
            raw = from_hex(value)
            value = SqlText(self._core.page.printable(raw), raw)
        kind = {int: "INTEGER", Decimal: "DECIMAL", bytes: "VARBINARY"}.get(type(value), "VARCHAR")
        length = len(value) if isinstance(value, str | bytes) else 10
        if isinstance(value, Decimal):
            exponent = value.as_tuple().exponent
            scale = -exponent if isinstance(exponent, int) and exponent < 0 else 0
            return _Compiled(SqlColumn("", kind, max(len(value.as_tuple().digits), scale), scale), lambda _row: value)
        return _Compiled(SqlColumn("", kind, max(length, 1), nullable=value is None), lambda _row: value)

    def _column(self, expression: SqlName) -> _Compiled:
        qualifier, name = expression
        if (qualifier, name) in (("QSYS2", "JOB_NAME"), ("", "JOB_NAME")) and self._relation != "DB_TRANSACTION_INFO":
            return _Compiled(SqlColumn("JOB_NAME", "VARCHAR", 28), lambda _row: self._core.qualified_name)
        if (qualifier, name) == ("QSYS2", "JOB_NAME"):
            return _Compiled(SqlColumn("JOB_NAME", "VARCHAR", 28), lambda _row: self._core.qualified_name)
        if qualifier and qualifier not in self.qualifiers:
            _no_column(f"{qualifier}.{name}")
        name = _SYSTEM_NAMES.get((self._relation, name), name)
        for at, column in enumerate(_RELATIONS.get(self._relation, ())):
            if column.name == name:
                return self._at(at, column)
        return _no_column(name)

    def _register(self, name: str) -> _Compiled:
        core, session = self._core, self._session
        moment = partial(now, core)
        registers: dict[str, tuple[SqlColumn, Callable[[], SqlValue]]] = {
            "DATE": (SqlColumn("", "DATE", 10), lambda: moment().date()),
            "TIME": (SqlColumn("", "TIME", 8), lambda: f"{moment():%H:%M:%S}"),
            "TIMESTAMP": (SqlColumn("", "TIMESTAMP", 26), moment),
            "SCHEMA": (SqlColumn("", "VARCHAR", 128), lambda: session.schema),
            "SERVER": (SqlColumn("", "VARCHAR", 18), lambda: core.system.name),
            "USER": (SqlColumn("", "VARCHAR", 18), lambda: core.current_user),
        }
        column, value = registers[name]
        return _Compiled(column, lambda _row: value())

    def _operation(self, expression: SqlOperation) -> _Compiled:
        operator = expression.operator
        left, right = self.compile(expression.left), self.compile(expression.right)
        if operator == "||":
            length = left.column.precision + right.column.precision
            binary = left.column.type in BINARY and right.column.type in BINARY
            column = SqlColumn("", "VARBINARY" if binary else "VARCHAR", length)
            return _Compiled(column, lambda row: joined(self._core, left.value(row), right.value(row)))
        column = number_column(operator, left.column, right.column)
        scale = column.scale if column.type == "DECIMAL" else 0

        def value(row: _Row) -> int | Decimal | None:
            a, b = left.value(row), right.value(row)
            return None if a is None or b is None else calculated(operator, number_of(a), number_of(b), scale)

        return _Compiled(column, value)

    def _function(self, expression: SqlFunction) -> _Compiled:
        name, core = expression.name, self._core
        if name == "COUNT" and expression.arguments == (SqlName("", "*"),):
            return _Compiled(SqlColumn("", "INTEGER", 10, nullable=False), lambda row: row.values[0])
        arguments = [self.compile(one) for one in expression.arguments]
        if name == "QCMDEXC" and expression.schema in _SCHEMAS and len(arguments) == 1:
            return _Compiled(SqlColumn("", "INTEGER", 10), lambda row: _command_result(core, arguments[0].value(row)))
        known = FUNCTIONS.get(name) if expression.schema in ("", "SYSIBM", "QSYS2") else None
        if known is None:
            names = ", ".join((*FUNCTIONS, "COUNT(*)", "QSYS2.QCMDEXC"))
            text = f"{name[:128]} in *LIBL type *N not found. Functions that are served: {names}."
            fail(-204, "42704", "SQL0204", text)
        if not known.least <= len(arguments) <= known.most:
            _no_routine(name, "", f": it has {known.least} to {known.most} arguments")
        column = known.column(arguments[0].column if arguments else SqlColumn("", "VARCHAR", 1), expression.arguments)

        def value(row: _Row) -> Any:
            values = [one.value(row) for one in arguments]
            return None if None in values and name not in ("COALESCE", "IFNULL") else known.value(core, *values)

        return _Compiled(column, value)

    # -- conditions ---------------------------------------------------------------------------------------------------

    def test(self, expression: SqlExpression | SqlTest) -> Callable[[_Row], bool | None]:
        """Check a condition; the result is None for unknown."""
        if not isinstance(expression, SqlTest):
            fail(-104, "42601", "SQL0104", "Token <END-OF-STATEMENT> was not valid.")
        operator = expression.operator
        if operator in ("AND", "OR", "NOT"):
            return partial(_logical, operator, [self.test(one) for one in expression.operands])
        operands = [self.compile(one) for one in expression.operands if not isinstance(one, SqlTest)]
        if operator == "ISNULL":
            return lambda row: operands[0].value(row) is None

        def compared(row: _Row) -> bool | None:
            values = [one.value(row) for one in operands]
            if None in values:
                return None
            if operator == "LIKE":
                return _like(*map(shown, values))
            return _compare(self._core, operator, values[0], values[1])

        return compared


def _logical(operator: str, tests: Sequence[Callable[[_Row], bool | None]], row: _Row) -> bool | None:
    results = [test(row) for test in tests]
    if operator == "NOT":
        return None if results[0] is None else not results[0]
    decisive = operator == "OR"
    return decisive if decisive in results else None if None in results else not decisive


def _compare(core: JobCore, operator: str, left: Any, right: Any) -> bool:
    if isinstance(left, int | Decimal) or isinstance(right, int | Decimal):
        left, right = number_of(left), number_of(right)
    elif isinstance(left, bytes) or isinstance(right, bytes):
        left, right = bytes_of(core, left), bytes_of(core, right)
    elif isinstance(left, date) or isinstance(right, date):
        left, right = shown(left), shown(right)
    else:
        left, right = (shown_bytes(shown(one).rstrip(" "), core.page) for one in (left, right))
    results: dict[str, bool] = {
        "=": left == right, "<>": left != right, "<": left < right, "<=": left <= right, ">": left > right,
        ">=": left >= right,
    }  # fmt: skip
    return results[operator]


def _like(text: str, pattern: str, escape: str = "") -> bool:
    """LIKE, without going back further than to the last ``%``."""
    parts: list[tuple[str, bool]] = []
    characters = iter(pattern)
    for one in characters:
        if escape and one == escape:
            parts.append((next(characters, ""), False))
        else:
            parts.append((one, one in "%_"))
    at = place = 0
    star, mark = -1, 0
    while at < len(text):
        one, special = parts[place] if place < len(parts) else ("", False)
        if special and one == "%":
            star, mark = place, at
            place += 1
        elif place < len(parts) and ((special and one == "_") or one == text[at]):
            at, place = at + 1, place + 1
        elif star >= 0:
            mark += 1
            at, place = mark, star + 1
        else:
            return False
    return all(one == "%" and special for one, special in parts[place:])


def _sort_key(core: JobCore, value: Any) -> tuple[bool, Any]:
    """Nulls are the highest; characters are sorted by their bytes."""
    if value is None:
        return True, 0
    return False, shown_bytes(value, core.page) if isinstance(value, str) else value
