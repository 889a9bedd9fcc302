"""The database server, as much of it as is needed by connections that are made and pooled for their data queues.

A client connects, sets attributes, perhaps names libraries, and ends. A pool also asks each new connection for its
CURRENT SCHEMA, and sets that again when the connection returns. These statements are executed by the
:class:`~tdqsim.ibmi.SqlSession` of the server job. Any other statement is refused, never answered with an empty result:
SQL0104 if it is not valid, SQL0084 otherwise.

A request has a bitmap of the parts that it wants of the reply, a handle, and blocks. A reply has an error class and a
code. The client requests the message of an error, and its SQLCA, by the handle of the request that failed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from tdqsim.hosting import CodePage, shown_bytes
from tdqsim.ibmi import EscapeMessage, Job, ParameterError, PreparedSql, SqlError, SqlSession, SqlValue
from tdqsim.server.hostservers.accounts import BOUNDS
from tdqsim.server.hostservers.command import sent_text
from tdqsim.server.hostservers.conversation import Conversation, End, HostSystem, Step, SystemWork
from tdqsim.server.hostservers.frames import Frame, FrameError, block, reply

_LOG: Final = logging.getLogger(__name__)
_SQL, _NATIVE, _CATALOGUE = 0xE004, 0xE005, 0xE006
_REPLY: Final = 0x2800
_SQL_ERROR, _END_OF_DATA, _NATIVE_WARNING, _FUNCTION_ERROR = 1, 2, 5, 7
_ALL_ROWS, _LIBRARY_NOT_ADDED, _FUNCTION_UNKNOWN = 700, 1301, -201
_WANTED, _MESSAGE_ID, _MESSAGE, _ROW_FORMAT = 0x80000000, 0x40000000, 0x20000000, 0x08000000
_ROWS, _SQLCA, _SERVER_ATTRIBUTES, _MARKER_FORMAT = 0x04000000, 0x02000000, 0x01000000, 0x00800000
_POINTS: Final = {
    _MESSAGE_ID: 0x3801, _MESSAGE: 0x3802, _ROW_FORMAT: 0x3812, _ROWS: 0x380E, _SQLCA: 0x3807,
    _SERVER_ATTRIBUTES: 0x3804, _MARKER_FORMAT: 0x3813,
}  # fmt: skip
"""The code points of the parts of a reply, by their bit."""
_COMPRESSED: Final = 0x00080000
_ATTRIBUTES, _LIBRARIES, _LAST_ERROR, _END = 0x1F80, 0x180C, 0x1F00, 0x1FFF
_PREPARE: Final = (0x1800, 0x1801, 0x1803)
_EXECUTE: Final = (0x1804, 0x1805, 0x180E, 0x1812)
_PREPARE_AND_EXECUTE: Final = (0x1806, 0x180D)
_FORGET: Final = 0x1D02
_NOTHING: Final = (0x1807, 0x1808, 0x180A, 0x1D00, 0x1D01, 0x1D03, 0x1D04, 0x1E00, 0x1E01, 0x1F01)
"""COMMIT, ROLLBACK, and what a client sets for its cursors, parameters and descriptors."""
_ONLY: Final = "SELECT CURRENT SCHEMA FROM SYSIBM.SYSDUMMY1 and SET SCHEMA"
_SERVED: Final = ("SELECT SYSDUMMY1", "SET SCHEMA", "COMMIT")
_NAMING, _DEFAULT_LIBRARY, _LIBRARY_LIST = 0x380C, 0x380F, 0x3813
_STATEMENT, _LONG_STATEMENT, _VALUES = 0x3807, 0x3831, 0x381F
_COLUMN_NAME: Final = 0x3840
_VARCHAR: Final = 449
"""VARCHAR that may be null: two bytes of length, then the bytes."""
_INPUT: Final = b"\xf0"
_LONGEST: Final = 128
"""The longest value of a column or marker of the statements that are served: the name of a schema."""


class _Answer(NamedTuple):
    """What a request has led to: the parts of the reply by their bit, the error class and the code."""

    parts: dict[int, bytes]
    kind: int = 0
    code: int = 0


class DatabaseServer(Conversation):
    """One connection to the database server."""

    server_id = _SQL
    service = "as-database"
    job_name = "QZDASOINIT"

    def __init__(self, host: HostSystem) -> None:
        super().__init__(host)
        self._session: SqlSession | None = None
        self._statements: dict[int, PreparedSql] = {}
        self._errors: dict[int, SqlError] = {}

    def _answer(self, frame: Frame) -> Step | None:
        if self.user and frame.server in (_NATIVE, _CATALOGUE):
            return self._step(frame, self._objects)
        return super()._answer(frame)

    def serve(self, frame: Frame) -> Step | None:
        """See the base class."""
        return End() if frame.request == _END else self._step(frame, self._request)

    def refusal(self, frame: Frame, error: FrameError) -> bytes:
        """See the base class."""
        return self._replied(frame, 0, self._failed(frame, 0, error))

    def _step(self, frame: Frame, act: Callable[[Job, Frame, int], _Answer]) -> Step:
        job, handle = self.job, frame.number(28, 2)
        if job is None:
            return End("the server job has ended")

        def work() -> bytes:
            try:
                answer = act(job, frame, handle)
            except (SqlError, FrameError) as error:
                answer = self._failed(frame, handle, error)
            return self._replied(frame, handle, answer)

        return SystemWork(work)

    def _failed(self, frame: Frame, handle: int, error: SqlError | FrameError) -> _Answer:
        """Keep an error, whose message the client may request."""
        if isinstance(error, FrameError):
            error = SqlError(-901, "58004", f"[SQL0901] SQL system error: {error}.")
        self._errors[handle] = error
        name = self.job_name if self.job is None else self.job.qualified_name
        _LOG.info("%s: request %04X was refused: %s", name, frame.request, error.text.partition("]")[0][1:])
        return _Answer({}, _SQL_ERROR, error.code)

    def _replied(self, frame: Frame, handle: int, answer: _Answer) -> bytes:
        """The reply with those parts that the request wants; empty if it wants none."""
        wanted = int.from_bytes(frame.body[:4].ljust(4, b"\x80"), "big")
        if not wanted & _WANTED or self.job is None:
            return b""
        page, error = self.job.page, self._errors.get(handle) if answer.kind == _SQL_ERROR else None
        parts = {_SQLCA: _sqlca(error, page), **answer.parts}
        rest = b"".join(block(_POINTS[bit], data) for bit, data in parts.items() if bit & wanted)
        function = frame.request.to_bytes(2, "big")
        template = bytes(8) + handle.to_bytes(2, "big") + function + bytes(2) + answer.kind.to_bytes(2, "big")
        return reply(frame, _REPLY, template + answer.code.to_bytes(4, "big", signed=True), rest)

    # -- requests -----------------------------------------------------------------------------------------------------

    def _request(self, job: Job, frame: Frame, handle: int) -> _Answer:
        kind = frame.request
        if kind == _ATTRIBUTES:
            return self._attributes(job, frame)
        if kind == _LAST_ERROR:
            return self._last_error(job, handle)
        if kind in _PREPARE:
            return self._prepared(job, self._prepare(frame, handle))
        if kind in _PREPARE_AND_EXECUTE:
            return self._executed(job, frame, self._prepare(frame, handle))
        if kind in _EXECUTE:
            if handle not in self._statements:
                raise SqlError(-514, "26501", "[SQL0514] Prepared statement not found.")
            return self._executed(job, frame, self._statements[handle])
        if kind == _FORGET:
            self._statements.pop(handle, None)
        elif kind not in _NOTHING:  # among them 0000, to which clients that test a connection expect this answer
            self._errors[handle] = _refused(f"request {kind:04X}")
            return _Answer({}, _FUNCTION_ERROR, _FUNCTION_UNKNOWN)
        return _Answer({})

    def _attributes(self, job: Job, frame: Frame) -> _Answer:
        """Set the naming and the default library; the attributes of the server are part of the reply."""
        sent = frame.blocks(40)
        if self._session is None:
            system_naming = int.from_bytes(sent.get(_NAMING, b""), "big") == 1
            self._session = SqlSession(job, "*LIBL" if system_naming else job.current_user)
        session, page, given = self._session, job.page, sent.get(_DEFAULT_LIBRARY)
        if given:
            session.schema = session.default_schema = sent_text(int.from_bytes(given[:2], "big"), given[4:]).rstrip()
        number, user, name = job.qualified_name.split("/")
        level = "V{}R{}M{}".format(*self.host.release) + f"{BOUNDS['database_level']:04d}"
        naming = int(session.default_schema == "*LIBL")
        numbers = (5, 1, 0, 2, 0, naming, 0, 0, 0)  # dates *ISO with -, times *HMS with :, a point, no commitment
        numbers_of_languages = page.ccsid.to_bytes(2, "big") + bytes(2)
        texts = (
            ("ENU", 3), ("", 10), ("", 10), ("2924", 4), (level, 10), (self.host.system.name, 18), ("", 10),
            (name, 10), (user, 10), (number, 6),
        )  # fmt: skip
        schema = shown_bytes(session.schema, page)
        data = (
            page.ccsid.to_bytes(2, "big")
            + b"".join(one.to_bytes(2, "big") for one in numbers)
            + b"\xf0"  # no translation
            + numbers_of_languages
            + b"".join(shown_bytes(f"{text:<{length}}", page)[:length] for text, length in texts)
            + len(schema).to_bytes(2, "big")
            + schema
        )
        return _Answer({_SERVER_ATTRIBUTES: data})

    def _last_error(self, job: Job, handle: int) -> _Answer:
        error = self._errors.get(handle)
        if error is None:
            return _Answer({})
        message_id, _, text = error.text.removeprefix("[").partition("] ")
        ccsid, shown = job.page.ccsid.to_bytes(2, "big"), shown_bytes(text, job.page)
        parts = {
            _SQLCA: _sqlca(error, job.page),
            _MESSAGE_ID: ccsid + shown_bytes(message_id, job.page),
            _MESSAGE: ccsid + len(shown).to_bytes(2, "big") + shown,
        }
        return _Answer(parts)

    def _objects(self, job: Job, frame: Frame, handle: int) -> _Answer:
        """Set the library list; other questions for objects are refused."""
        if frame.server != _NATIVE or frame.request != _LIBRARIES:
            raise _refused("a question for tables, columns or other objects")
        refused = add_libraries(job, _libraries(frame))
        if not refused:
            return _Answer({})
        text = f"[PWS1301] Not added to the library list: {'; '.join(refused)}"
        self._errors[handle] = SqlError(_LIBRARY_NOT_ADDED, "01000", text)
        return _Answer({}, _NATIVE_WARNING, _LIBRARY_NOT_ADDED)

    # -- statements ---------------------------------------------------------------------------------------------------

    def _prepare(self, frame: Frame, handle: int) -> PreparedSql:
        self._statements.pop(handle, None)
        if self._session is None:
            raise SqlError(-843, "08003", "[SQL0843] Connection does not exist: it has no attributes.")
        text = _text(frame)
        try:
            statement = self._session.prepare(text)
        except SqlError as error:
            if error.code == -104:
                raise
            raise _refused(text.split(maxsplit=1)[0][:30]) from None
        if statement.summary not in _SERVED or any(column.type != "VARCHAR" for column in statement.columns or ()):
            raise _refused(statement.summary)
        self._statements[handle] = statement
        return statement

    @staticmethod
    def _prepared(job: Job, statement: PreparedSql) -> _Answer:
        parts = {_MARKER_FORMAT: _format([one.name for one in statement.parameters], job.page)}
        if statement.columns is not None:
            parts[_ROW_FORMAT] = _format([one.name for one in statement.columns], job.page)
        return _Answer(parts)

    def _executed(self, job: Job, frame: Frame, statement: PreparedSql) -> _Answer:
        result = statement.execute(_values(frame, len(statement.parameters), job.page))
        if result.columns is None:
            return _Answer({})
        parts = {
            _ROW_FORMAT: _format([one.name for one in result.columns], job.page),
            _ROWS: _rows(result.rows, job.page),
        }
        return _Answer(parts, _END_OF_DATA, _ALL_ROWS)


def add_libraries(job: Job, named: Sequence[tuple[str, str]]) -> list[str]:
    """Change the library list of a job; libraries that do not exist, or are in the list, are not added.

    Args:
        job: the job.
        named: the libraries after their places: ``C`` for the first one of a new list, ``F`` for first, ``L`` for last.

    Returns:
        For each library that was not added, the message with the reason.
    """
    refused: list[str] = []
    for place, name in named:
        if place == "C":
            job.user_libraries = ()
        try:
            job.addlible(name, "*FIRST" if place == "F" else "*LAST")
        except (EscapeMessage, ParameterError) as error:
            refused.append(str(error))
    return refused


def _refused(what: str) -> SqlError:
    """The refusal of what is valid and not served."""
    text = (
        f"[SQL0084] SQL statement not allowed: {what} is not simulated by as-database, which executes only {_ONLY}."
        " SQL for data queues is executed by Mapepire and by job.sql."
    )
    return SqlError(-84, "42612", text)


def _text(frame: Frame) -> str:
    """The text of a statement.

    Raises:
        SqlError: it is too long, and therefore compressed.
        FrameError: there is none.
    """
    if frame.number(20, 4) & _COMPRESSED:
        raise _refused("a statement of more than 1000 bytes")
    sent = frame.blocks(40)
    for point, length in ((_LONG_STATEMENT, 4), (_STATEMENT, 2)):
        if point in sent:
            return sent_text(int.from_bytes(sent[point][:2], "big"), sent[point][2 + length :])
    raise FrameError(f"request {frame.request:04X}: no statement")


def _libraries(frame: Frame) -> list[tuple[str, str]]:
    """The libraries of a request, each after its place."""
    data = frame.blocks(40).get(_LIBRARY_LIST, b"")
    ccsid, count, at = int.from_bytes(data[:2], "big"), int.from_bytes(data[2:4], "big"), 4
    found: list[tuple[str, str]] = []
    while at < len(data) and len(found) < count:
        length = int.from_bytes(data[at + 1 : at + 3], "big")
        place, name = data[at : at + 1], data[at + 3 : at + 3 + length]
        found.append((sent_text(ccsid, place), sent_text(ccsid, name).strip()))
        at += 3 + length
    return found


def _sqlca(error: SqlError | None, page: CodePage) -> bytes:
    """The SQLCA: 136 bytes."""
    code, state, text = (0, "00000", "") if error is None else (error.code, error.state, error.text)
    shown = shown_bytes(text, page)[:70]
    return (
        page.encode("SQLCA   ") + (136).to_bytes(4, "big") + code.to_bytes(4, "big", signed=True)
        + len(shown).to_bytes(2, "big") + shown.ljust(70, b"\x40") + page.encode("QSQ     ") + bytes(24)
        + page.encode(" " * 11 + state)
    )  # fmt: skip


def _format(names: Sequence[str], page: CodePage) -> bytes:
    """The descriptions of columns or markers, which are all VARCHAR(128)."""
    length = _LONGEST + 2
    fixed, variable = b"", b""
    for at, name in enumerate(names):
        shown = shown_bytes(name, page)
        named = block(_COLUMN_NAME, page.ccsid.to_bytes(2, "big") + shown)
        place = 48 * (len(names) - at) + len(variable)  # from the beginning of this description
        description = (
            (48).to_bytes(2, "big") + _VARCHAR.to_bytes(2, "big") + length.to_bytes(4, "big") + bytes(4)
            + page.ccsid.to_bytes(2, "big") + _INPUT
        )  # fmt: skip
        fixed += description.ljust(32, b"\0") + place.to_bytes(4, "big") + len(named).to_bytes(4, "big") + bytes(8)
        variable += named
    head = bytes(4) + len(names).to_bytes(4, "big") + bytes(4) + (length * len(names)).to_bytes(4, "big")
    return head + fixed + variable


def _rows(rows: Sequence[Sequence[SqlValue]], page: CodePage) -> bytes:
    """Rows of VARCHAR(128): their indicators, then their values."""
    columns = len(rows[0]) if rows else 0
    indicators = b"".join(b"\xff\xff" if value is None else b"\0\0" for row in rows for value in row)
    values = [b"" if value is None else shown_bytes(str(value), page)[:_LONGEST] for row in rows for value in row]
    data = b"".join(len(one).to_bytes(2, "big") + one.ljust(_LONGEST, b"\x40") for one in values)
    head = bytes(4) + len(rows).to_bytes(4, "big") + columns.to_bytes(2, "big") + (2).to_bytes(2, "big") + bytes(4)
    return head + (columns * (_LONGEST + 2)).to_bytes(4, "big") + indicators + data


def _values(frame: Frame, count: int, page: CodePage) -> list[SqlValue]:
    """The values of the markers."""
    if not count:
        return []
    data = frame.blocks(40).get(_VALUES, b"")
    start, length = 20 + 2 * count, _LONGEST + 2
    if len(data) < start + count * length:
        raise FrameError(f"request {frame.request:04X}: no values for {count} markers")
    values: list[SqlValue] = []
    for at in range(count):
        value = data[start + at * length : start + (at + 1) * length]
        null = data[20 + 2 * at : 22 + 2 * at] == b"\xff\xff"
        values.append(None if null else page.printable(value[2 : 2 + int.from_bytes(value[:2], "big")]))
    return values
