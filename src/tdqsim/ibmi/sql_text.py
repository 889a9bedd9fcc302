"""The SQL text that is served for data queues: scanner and recursive-descent parser.

::

    statement  = (select | values | call | set | COMMIT | ROLLBACK) [";"]
    call       = CALL [schema "."] name "(" [arguments] ")"
    arguments  = expression {"," expression} {"," name "=>" expression}
    select     = SELECT item {"," item} FROM source [[AS] alias] [WHERE condition]
                 [ORDER BY key {"," key}] [FETCH FIRST [n] (ROW | ROWS) ONLY | LIMIT n]
    source     = TABLE "(" [schema "."] function "(" [arguments] ")" ")" | schema "." view
    values     = VALUES expression | VALUES "(" expression {"," expression} ")"
    set        = SET [CURRENT] SCHEMA ["="] (name | expression | DEFAULT)

The parser knows no names: it makes a tree, which :mod:`tdqsim.ibmi.sql` checks against the services, their columns and
the functions before anything is executed. Valid SQL beyond this is refused as such (SQL0084), and everything else as a
syntax error (SQL0104). The size of a statement and the depth of its expressions are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Final, NamedTuple, NoReturn, TypeVar

from tdqsim.core.capitals import capitals
from tdqsim.errors import TdqError
from tdqsim.ibmi.fact_tables import LIMITS

T = TypeVar("T")
DIGITS: Final = 31
"""The most digits of a decimal number."""

SERVED: Final = (
    "Served are CALL of SEND_DATA_QUEUE, SEND_DATA_QUEUE_BINARY, SEND_DATA_QUEUE_UTF8, CLEAR_DATA_QUEUE and QCMDEXC;"
    " SELECT from one of TABLE(QSYS2.RECEIVE_DATA_QUEUE(...)), TABLE(QSYS2.DATA_QUEUE_ENTRIES(...)),"
    " QSYS2.DATA_QUEUE_INFO and SYSIBM.SYSDUMMY1, with WHERE, ORDER BY and FETCH FIRST; VALUES; SET SCHEMA"
)
"""The text of a refusal."""


class SqlError(TdqError):
    """An SQL statement was refused, or has failed.

    Args:
        code: the SQLCODE, below 0.
        state: the SQLSTATE.
        text: the message, which begins with its id in brackets.

    Attributes:
        code, state, text: as passed.
    """

    def __init__(self, code: int, state: str, text: str) -> None:
        super().__init__(text)
        self.code, self.state, self.text = code, state, text


class SqlLiteral(NamedTuple):
    """A constant: text, a number, bytes, or None for NULL."""

    value: str | int | Decimal | bytes | None


class SqlMarker(NamedTuple):
    """A parameter marker with its position from 0."""

    number: int


class SqlName(NamedTuple):
    """A name, perhaps qualified: a column, or a global variable."""

    qualifier: str
    name: str


class SqlFunction(NamedTuple):
    """A function with its arguments; ``COUNT(*)`` is the function ``COUNT`` of the column ``*``."""

    schema: str
    name: str
    arguments: tuple[SqlExpression, ...]


class SqlOperation(NamedTuple):
    """An arithmetic operator, or ``||``."""

    operator: str
    left: SqlExpression
    right: SqlExpression


class SqlTypeName(NamedTuple):
    """A type in a CAST; ``binary`` for FOR BIT DATA."""

    name: str
    length: int
    scale: int
    binary: bool


class SqlCast(NamedTuple):
    """CAST, or INTERPRET, of an expression."""

    operand: SqlExpression
    type: SqlTypeName
    interpret: bool


class SqlRegister(NamedTuple):
    """A special register such as ``CURRENT SCHEMA``."""

    name: str


class SqlTest(NamedTuple):
    """A condition: an operator such as ``=``, ``AND``, ``LIKE`` or ``ISNULL`` with its operands."""

    operator: str
    operands: tuple[SqlExpression | SqlTest, ...]


SqlExpression = SqlLiteral | SqlMarker | SqlName | SqlFunction | SqlOperation | SqlCast | SqlRegister


class SqlArguments(NamedTuple):
    """The arguments of a service: those by position, then those by name."""

    positional: tuple[SqlExpression, ...]
    named: tuple[tuple[str, SqlExpression], ...]


class SqlSource(NamedTuple):
    """What follows FROM; ``arguments`` is None for a view."""

    schema: str
    name: str
    arguments: SqlArguments | None
    alias: str


class SelectItem(NamedTuple):
    """One item of a select list; an ``expression`` of None is ``*``, perhaps of a qualifier."""

    expression: SqlExpression | None
    name: str


class SqlSelect(NamedTuple):
    """SELECT; VALUES is one without a source."""

    items: tuple[SelectItem, ...]
    source: SqlSource | None
    where: SqlExpression | SqlTest | None
    order: tuple[tuple[SqlExpression, bool], ...]
    limit: int | None


class SqlProcedureCall(NamedTuple):
    """CALL of a procedure."""

    schema: str
    name: str
    arguments: SqlArguments


class SqlSetSchema(NamedTuple):
    """SET CURRENT SCHEMA; None for DEFAULT."""

    value: SqlExpression | None


class SqlNothing(NamedTuple):
    """COMMIT or ROLLBACK, which succeed and do nothing: sends and receives are not under commitment control."""


SqlTree = SqlSelect | SqlProcedureCall | SqlSetSchema | SqlNothing

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+|--[^\n]*)
      | (?P<comment>/\*)
      | (?P<hex>(?:BX|X)'[0-9A-Fa-f\s]*')
      | N?(?P<text>'(?:[^']|'')*')
      | (?P<quoted>"(?:[^"]|"")+")
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:E[+-]?\d+)?)
      | (?P<word>[A-Za-z$\#@_][A-Za-z0-9$\#@_]*)
      | (?P<mark>=>|\|\||<>|<=|>=|!=|[-+*/=<>(),.;?])""",
    re.VERBOSE | re.IGNORECASE,
)
_VERBS: Final = frozenset(
    """
    ALLOCATE ALTER ASSOCIATE BEGIN CLOSE COMMENT COMPOUND CONNECT CREATE DECLARE DELETE DESCRIBE DISCONNECT DROP
    EXECUTE EXPLAIN FETCH FREE GET GRANT HOLD IF INSERT LABEL LOCK MERGE OPEN PREPARE REFRESH RELEASE RENAME
    REVOKE SAVEPOINT SIGNAL START TRANSFER TRUNCATE UPDATE WITH
    """.split()  # the list is easier to read
)
"""Words with which statements begin that are valid SQL and not served."""
_CLAUSES: Final = frozenset(
    """
    ALL CASE CROSS DISTINCT EXCEPT EXCEPTION EXISTS FULL GROUP HAVING INNER INTERSECT INTO JOIN LATERAL LEFT
    OFFSET OPTIMIZE RIGHT SELECT UNION XMLTABLE JSON_TABLE UNNEST OVER
    """.split()  # the list is easier to read
)
"""Words of valid SQL that is not served, after the beginning of a statement."""
_STRUCTURE: Final = _CLAUSES | frozenset(
    """
    AND AS ASC BETWEEN DESC FETCH FOR FROM IN IS LIKE LIMIT NOT ON OR ORDER SET THEN USE WHERE WITH
    """.split()  # the list is easier to read
)
"""Words that end an expression, and cannot be an alias."""
_REGISTERS: Final = frozenset(
    """
    DATE TIME TIMESTAMP SCHEMA SERVER USER
    """.split()  # the list is easier to read
)
_WHOLE_REGISTERS: Final = {
    "USER": "USER",
    "SESSION_USER": "USER",
    **{f"CURRENT_{one}": one for one in ("DATE", "TIME", "TIMESTAMP", "SCHEMA", "SERVER", "USER")},
}
_COMPARISONS: Final = ("=", "<>", "!=", "<=", ">=", "<", ">")


class _Token(NamedTuple):
    kind: str
    text: str

    @property
    def word(self) -> str:
        return capitals(self.text) if self.kind == "word" else self.text if self.kind == "mark" else ""


def refuse_syntax(token: str) -> NoReturn:
    """Refuse a statement that is not valid."""
    raise SqlError(-104, "42601", f"[SQL0104] Token {token[:100]} was not valid.")


def not_served(what: str) -> NoReturn:
    """Refuse valid SQL that is not simulated."""
    raise SqlError(-84, "42612", f"[SQL0084] SQL statement not allowed: {what} is not simulated. {SERVED}.")


def _scan(text: str) -> list[_Token]:
    if len(text) > LIMITS["sql_statement_characters"]:
        raise SqlError(-101, "54001", "[SQL0101] SQL statement too long or complex.")
    tokens: list[_Token] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            refuse_syntax(text[at : at + 20])
        kind, at = found.lastgroup or "", found.end()
        if kind == "comment":
            end = text.find("*/", at)
            if end < 0:
                refuse_syntax("/*")
            at = end + 2
        elif kind != "space":
            tokens.append(_Token(kind, found[kind]))
    return tokens


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _scan(text)
        self._at = self._depth = self._operators = self.markers = 0

    # -- tokens -------------------------------------------------------------------------------------------------------

    def _token(self, ahead: int = 0) -> _Token:
        place = self._at + ahead
        return self._tokens[place] if place < len(self._tokens) else _Token("end", "<END-OF-STATEMENT>")

    def _take(self) -> _Token:
        token = self._token()
        self._at += 1
        return token

    def _next_is(self, *words: str) -> bool:
        return all(self._token(at).word == word for at, word in enumerate(words))

    def _accept(self, *words: str) -> bool:
        if self._next_is(*words):
            self._at += len(words)
            return True
        return False

    def _expect(self, *words: str) -> None:
        for word in words:
            if not self._accept(word):
                self._unexpected()

    def _unexpected(self) -> NoReturn:
        token = self._token()
        if token.word in _CLAUSES:
            not_served(token.word)
        refuse_syntax(token.text)

    def _name(self) -> str:
        token = self._token()
        if token.kind == "quoted":
            self._at += 1
            return token.text[1:-1].replace('""', '"')
        if token.kind != "word" or token.word in _STRUCTURE:
            self._unexpected()
        return self._take().word

    def _listed(self, one: Callable[[], T]) -> tuple[T, ...]:
        values = [one()]
        while self._accept(","):
            values.append(one())
        return tuple(values)

    def _whole(self) -> int:
        token = self._take()
        if token.kind != "number" or not token.text.isdigit() or len(token.text) > 9:
            refuse_syntax(token.text)
        return int(token.text)

    # -- statements ---------------------------------------------------------------------------------------------------

    def statement(self) -> SqlTree:
        word = self._token().word
        made: SqlTree
        if word in ("SELECT", "VALUES", "CALL", "SET", "COMMIT", "ROLLBACK"):
            self._at += 1
            parsers: dict[str, Callable[[], SqlTree]] = {
                "SELECT": self._select, "VALUES": self._values, "CALL": self._call, "SET": self._set,
                "COMMIT": SqlNothing, "ROLLBACK": SqlNothing,
            }  # fmt: skip
            made = parsers[word]()
        elif word in _VERBS:
            not_served(self._kind_of_statement(word))
        else:
            self._unexpected()
        self._accept(";")
        if self._token().kind != "end":
            self._unexpected()
        return made

    def _kind_of_statement(self, word: str) -> str:
        words = {token.word for token in self._tokens[:12]}
        if word == "CREATE" and "TRIGGER" in words:
            return "CREATE TRIGGER (triggers belong to the database; let a program call SEND_DATA_QUEUE)"
        return word

    def _call(self) -> SqlProcedureCall:
        schema, name = self._qualified()
        return SqlProcedureCall(schema, name, self._arguments())

    def _qualified(self) -> tuple[str, str]:
        name = self._name()
        return (name, self._name()) if self._accept(".") or self._accept("/") else ("", name)

    def _arguments(self) -> SqlArguments:
        self._expect("(")
        positional: list[SqlExpression] = []
        named: list[tuple[str, SqlExpression]] = []
        if not self._next_is(")"):
            while True:
                if self._token(1).text == "=>":
                    name = self._name()
                    self._at += 1
                    named.append((name, self._expression()))
                elif named:
                    refuse_syntax(self._token().text)
                else:
                    positional.append(self._expression())
                if not self._accept(","):
                    break
        self._expect(")")
        return SqlArguments(tuple(positional), tuple(named))

    def _set(self) -> SqlSetSchema:
        self._accept("CURRENT")
        if not (self._accept("SCHEMA") or self._accept("CURRENT_SCHEMA")):
            not_served(f"SET {self._token().text[:40]}")
        self._accept("=")
        if self._accept("DEFAULT"):
            return SqlSetSchema(None)
        if self._token().kind in ("word", "quoted") and self._token().word not in _WHOLE_REGISTERS:
            return SqlSetSchema(SqlLiteral(self._name()))
        return SqlSetSchema(self._expression())

    def _values(self) -> SqlSelect:
        expressions: tuple[SqlExpression, ...]
        if self._next_is("("):
            self._at += 1
            expressions = self._listed(self._expression)
            self._expect(")")
        else:
            expressions = (self._expression(),)
        if self._next_is(","):
            not_served("VALUES of several rows")
        return SqlSelect(tuple(SelectItem(one, "") for one in expressions), None, None, (), None)

    def _select(self) -> SqlSelect:
        if self._token().word in ("DISTINCT", "ALL"):
            not_served(f"SELECT {self._token().word}")
        items = self._listed(self._item)
        self._expect("FROM")
        source = self._source()
        where = self._condition() if self._accept("WHERE") else None
        order = self._listed(self._key) if self._accept("ORDER", "BY") else ()
        limit = None
        if self._accept("FETCH"):
            if not self._accept("FIRST"):
                self._expect("NEXT")
            limit = self._whole() if self._token().kind == "number" else 1
            if not self._accept("ROWS"):
                self._expect("ROW")
            self._expect("ONLY")
        elif self._accept("LIMIT"):
            limit = self._whole()
        if self._next_is("FOR", "READ", "ONLY") or self._next_is("FOR", "FETCH", "ONLY"):
            self._at += 3
        if self._accept("WITH"):
            isolation = self._take()
            if isolation.word not in ("NC", "UR", "CS", "RS", "RR"):
                refuse_syntax(isolation.text)
        return SqlSelect(items, source, where, order, limit)

    def _source(self) -> SqlSource:
        if self._next_is("("):
            not_served("a nested table")
        if self._next_is("TABLE", "("):
            self._at += 2
            schema, name = self._qualified()
            arguments: SqlArguments | None = self._arguments()
            self._expect(")")
        else:
            schema, name = self._qualified()
            arguments = None
        named = self._accept("AS")
        token = self._token()
        alias = ""
        if named or token.kind == "quoted" or (token.kind == "word" and token.word not in _STRUCTURE):
            alias = self._name()
        if self._next_is(","):
            not_served("FROM with several tables")
        return SqlSource(schema, name, arguments, alias)

    def _item(self) -> SelectItem:
        if self._accept("*"):
            return SelectItem(None, "")
        if self._token(1).text == "." and self._token(2).text == "*":
            qualifier = self._name()
            self._at += 2
            return SelectItem(None, qualifier)
        made = self._expression()
        named = self._accept("AS")
        token = self._token()
        if named or token.kind == "quoted" or (token.kind == "word" and token.word not in _STRUCTURE):
            return SelectItem(made, self._name())
        return SelectItem(made, "")

    def _key(self) -> tuple[SqlExpression, bool]:
        made = self._expression()
        descending = self._accept("DESC")
        if not descending:
            self._accept("ASC")
        if self._next_is("NULLS"):
            not_served("NULLS FIRST or LAST")
        return made, descending

    # -- conditions ---------------------------------------------------------------------------------------------------

    def _condition(self) -> SqlTest:
        return self._deeper(self._or)

    def _deeper(self, parse: Callable[[], T]) -> T:
        self._depth += 1
        if self._depth > LIMITS["sql_depth"]:
            raise SqlError(-101, "54001", "[SQL0101] SQL statement too long or complex.")
        try:
            return parse()
        finally:
            self._depth -= 1

    def _or(self) -> SqlTest:
        made = [self._and()]
        while self._accept("OR"):
            made.append(self._and())
        return made[0] if len(made) == 1 else SqlTest("OR", tuple(made))

    def _and(self) -> SqlTest:
        made = [self._not()]
        while self._accept("AND"):
            made.append(self._not())
        return made[0] if len(made) == 1 else SqlTest("AND", tuple(made))

    def _not(self) -> SqlTest:
        if self._accept("NOT"):
            return SqlTest("NOT", (self._deeper(self._not),))
        if self._next_is("("):  # a condition in parentheses, unless it is the beginning of an expression
            at, markers = self._at, self.markers
            try:
                self._at += 1
                made = self._condition()
                self._expect(")")
            except SqlError as error:
                if error.code != -104:
                    raise
                self._at, self.markers = at, markers
            else:
                return made
        return self._predicate()

    def _predicate(self) -> SqlTest:
        left = self._expression()
        for operator in _COMPARISONS:
            if self._accept(operator):
                return SqlTest("<>" if operator == "!=" else operator, (left, self._expression()))
        if self._accept("IS"):
            negated = self._accept("NOT")
            self._expect("NULL")
            return _perhaps_not(negated, SqlTest("ISNULL", (left,)))
        negated = self._accept("NOT")
        if self._accept("LIKE"):
            pattern = self._expression()
            escape = (self._expression(),) if self._accept("ESCAPE") else ()
            return _perhaps_not(negated, SqlTest("LIKE", (left, pattern, *escape)))
        if self._accept("BETWEEN"):
            low = self._expression()
            self._expect("AND")
            return _perhaps_not(
                negated, SqlTest("AND", (SqlTest(">=", (left, low)), SqlTest("<=", (left, self._expression()))))
            )
        if self._accept("IN"):
            self._expect("(")
            values = self._listed(self._expression)
            self._expect(")")
            return _perhaps_not(negated, SqlTest("OR", tuple(SqlTest("=", (left, one)) for one in values)))
        return self._unexpected()

    # -- expressions --------------------------------------------------------------------------------------------------

    def _expression(self) -> SqlExpression:
        return self._deeper(self._sum)

    def _sum(self) -> SqlExpression:
        made = self._product()
        while True:
            operator = self._token().word
            if operator not in ("+", "-", "||", "CONCAT"):
                return made
            self._at += 1
            made = self._operation("||" if operator == "CONCAT" else operator, made, self._product())

    def _product(self) -> SqlExpression:
        made = self._factor()
        while self._token().word in ("*", "/"):
            made = self._operation(self._take().word, made, self._factor())
        return made

    def _operation(self, operator: str, left: SqlExpression, right: SqlExpression) -> SqlExpression:
        """An operation; a chain of them is as deep as it is long, so that a statement may have so many only."""
        self._operators += 1
        if self._operators > LIMITS["sql_operators"]:
            raise SqlError(-101, "54001", "[SQL0101] SQL statement too long or complex.")
        return SqlOperation(operator, left, right)

    def _factor(self) -> SqlExpression:
        token = self._take()
        if token.kind == "text":
            return SqlLiteral(token.text[1:-1].replace("''", "'"))
        if token.kind == "hex":
            return self._hexadecimal(token.text)
        if token.kind == "number":
            if len(token.text) > DIGITS + 1:
                raise SqlError(-405, "42820", f"[SQL0405] Numeric constant {token.text[:40]} out of range.")
            if not set(token.text) <= set("0123456789."):
                not_served("a floating-point constant")
            value = Decimal(token.text)
            return SqlLiteral(int(value) if token.text.isdigit() else value)
        if token.word in ("-", "+"):
            operand = self._deeper(self._factor)
            return operand if token.word == "+" else SqlOperation("-", SqlLiteral(0), operand)
        if token.word == "?":
            self.markers += 1
            return SqlMarker(self.markers - 1)
        if token.word == "(":
            made = self._expression()
            self._expect(")")
            return made
        self._at -= 1
        return self._named()

    def _hexadecimal(self, text: str) -> SqlLiteral:
        prefix, _, digits = text[:-1].partition("'")
        try:
            data = bytes.fromhex(digits)
        except ValueError:
            raise SqlError(-110, "42606", f"[SQL0110] Hexadecimal constant {text[:40]} not valid.") from None
        return SqlLiteral(data if capitals(prefix) == "BX" else _HexText(digits))

    def _named(self) -> SqlExpression:
        token = self._token()
        if token.word == "NULL":
            self._at += 1
            return SqlLiteral(None)
        if token.word in ("CAST", "INTERPRET") and self._token(1).text == "(":
            self._at += 2
            operand = self._expression()
            self._expect("AS")
            made = SqlCast(operand, self._type(), token.word == "INTERPRET")
            self._expect(")")
            return made
        if token.word == "CURRENT" and self._token(1).word in _REGISTERS:
            self._at += 2
            return SqlRegister(self._tokens[self._at - 1].word)
        if token.word in _WHOLE_REGISTERS and self._token(1).text != "(":
            self._at += 1
            return SqlRegister(_WHOLE_REGISTERS[token.word])
        qualifier, name = self._qualified_column()
        if not self._accept("("):
            return SqlName(qualifier, name)
        if self._accept(")"):
            return SqlFunction(qualifier, name, ())
        if name == "COUNT" and self._accept("*"):
            self._expect(")")
            return SqlFunction(qualifier, name, (SqlName("", "*"),))
        arguments = self._listed(self._expression)
        self._expect(")")
        if not qualifier and name in CASTS:
            sizes = [one.value for one in arguments[1:] if isinstance(one, SqlLiteral) and isinstance(one.value, int)]
            if len(sizes) < len(arguments) - 1:
                not_served(f"{name} with a length that is no constant")
            return SqlCast(arguments[0], _type(CASTS[name], sizes or _SIZES.get(CASTS[name], ()), binary=False), False)
        return SqlFunction(qualifier, name, arguments)

    def _qualified_column(self) -> tuple[str, str]:
        name = self._name()
        return (name, self._name()) if self._accept(".") else ("", name)

    def _type(self) -> SqlTypeName:
        name = self._name()
        name = {"CHARACTER": "CHAR", "DEC": "DECIMAL", "INT": "INTEGER"}.get(name, name)
        if name == "CHAR" and self._accept("VARYING"):
            name = "VARCHAR"
        if name not in _TYPES:
            not_served(f"the type {name[:40]}")
        sizes: tuple[int, ...] = {"CHAR": (1,), "BINARY": (1,), "DECIMAL": (5,), "NUMERIC": (5,)}.get(name, ())
        if self._accept("("):
            sizes = self._listed(self._whole)
            self._expect(")")
        binary = self._accept("FOR", "BIT", "DATA")
        if not binary and self._accept("CCSID"):
            self._whole()
        return _type(name, sizes, binary=binary)


class _HexText(str):
    """The digits of ``X'..'``: characters in the CCSID of the job."""

    __slots__ = ()


_TYPES: Final = {
    "CHAR": 32765, "VARCHAR": 32739, "CLOB": 2147483647, "BINARY": 32766, "VARBINARY": 32740, "BLOB": 2147483647,
    "SMALLINT": 0, "INTEGER": 0, "BIGINT": 0, "DECIMAL": DIGITS, "NUMERIC": DIGITS, "DATE": 0, "TIMESTAMP": 0,
}  # fmt: skip
"""The types of a CAST, with the greatest length or precision; 0 if they have none."""
CASTS: Final = {
    "CHAR": "CHAR", "VARCHAR": "VARCHAR", "INT": "INTEGER", "INTEGER": "INTEGER", "BIGINT": "BIGINT",
    "DEC": "DECIMAL", "DECIMAL": "DECIMAL",
}  # fmt: skip
"""Functions that convert to a type."""
_SIZES: Final = {"DECIMAL": (15,)}
"""The sizes of the types of these functions if none are given; none for the length of the operand."""


def _type(name: str, sizes: Sequence[int], *, binary: bool) -> SqlTypeName:
    """A type of this length, or of this precision and scale.

    Raises:
        SqlError: the type has no such size.
    """
    most, (length, scale, *_) = _TYPES[name], (*sizes, 0, 0)
    decimal = name in ("DECIMAL", "NUMERIC")
    if len(sizes) > 2 or (sizes and not 1 <= length <= most) or not 0 <= scale <= (length if decimal else 0):
        shown = ", ".join(map(str, sizes))
        raise SqlError(-604, "42611", f"[SQL0604] Length, precision, or scale of {name}({shown}) not valid.")
    return SqlTypeName(name, length, scale, binary)


def is_hex_text(value: object) -> bool:
    """Whether a literal was ``X'..'``: its digits stand for bytes in the CCSID of the job."""
    return isinstance(value, _HexText)


def _perhaps_not(negated: bool, test: SqlTest) -> SqlTest:
    return SqlTest("NOT", (test,)) if negated else test


def parse(text: str) -> tuple[SqlTree, int]:
    """The tree of a statement, and the number of its parameter markers.

    Raises:
        SqlError: it is not valid (SQL0104), not served (SQL0084), or too long (SQL0101).
    """
    parser = _Parser(text)
    return parser.statement(), parser.markers
