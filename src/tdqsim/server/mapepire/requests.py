"""The requests of one Mapepire connection: JSON objects with an id and a type, each with one answer.

Requests run at the same time and are answered in any order, since the id assigns each answer to its request: a receive
that waits holds up nothing. Only ``connect`` and ``cl`` run one after another. All of them run in the engine's thread
as tasks, for the same server job.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any, Final

from tdqsim.errors import ConversionError, TdqError
from tdqsim.hosting import NS_PER_SECOND
from tdqsim.ibmi import Job, Message, PreparedSql, SqlColumn, SqlError, SqlResult, SqlSession, SqlValue, Taken, shown
from tdqsim.server.audit import Counted, audit, cl_command_name, one_line
from tdqsim.server.hostservers.accounts import BOUNDS, Attempt, SignOnCode, sign_on
from tdqsim.server.hostservers.command import run_command
from tdqsim.server.hostservers.conversation import HostSystem
from tdqsim.server.hostservers.database import add_libraries
from tdqsim.server.hostservers.passwords import PasswordLevel, is_des_password, substitute, token

_LOG: Final = logging.getLogger(__name__)
JOB_NAME: Final = "QZDASOINIT"
IN_ORDER: Final = frozenset({"connect", "cl", "gettracedata"})
"""The requests that run one after another."""
_VERSION: Final = "2.3.3"
"""The version of the protocol's server that the answers follow."""
_NOT_CONNECTED: Final = SqlError(-99999, "08003", "Not connected")
_REFUSALS: Final = {
    SignOnCode.USER_DISABLED: "User ID is disabled.",
    SignOnCode.PASSWORD_EXPIRED: "Password is expired.",
    SignOnCode.PASSWORD_NONE: "Password is *NONE.",
    SignOnCode.SECURITY_GENERAL: "General security error: too many sign-ons have failed.",
}
"""Texts of refused sign-ons; all others are an incorrect password."""
_FIRST_WORD: Final = re.compile(r"\s*[A-Za-z]{1,20}\b")
_SIZES: Final = {"INTEGER": 11, "SMALLINT": 6, "BIGINT": 20, "TIMESTAMP": 26, "DATE": 10}
_TRACE: Final = {"tracedest": "IN_MEM", "tracelevel": "OFF", "jtopentracedest": "IN_MEM", "jtopentracelevel": "OFF"}
Answer = dict[str, Any]


class RequestError(TdqError):
    """A request that is not possible; its text is the error of the answer."""


@dataclass(slots=True)
class _Cursor:
    """A prepared statement, or one with rows that were not yet fetched; they are kept under the id of the request."""

    statement: PreparedSql
    rows: list[tuple[SqlValue, ...]] = field(default_factory=list)


class Requests:
    """The requests of one connection; its methods are called in the engine's thread, except :func:`read_request`.

    Args:
        host: the system with the accounts.
        user: the user of the upgrade request.
        password: the password, which ``connect`` checks.
        origin: the address of the client.
    """

    def __init__(self, host: HostSystem, user: str, password: str, origin: str) -> None:
        self._host = host
        self._user, self._password, self._origin = user, password, origin
        self._session: SqlSession | None = None
        self._cursors: OrderedDict[str, _Cursor] = OrderedDict()
        self._trace = dict(_TRACE)
        self._client = ""
        self._done = Counted("mapepire", host.system.name)

    @property
    def connected(self) -> bool:
        """Whether a server job exists."""
        return self._session is not None

    def carry_out(self, request: Mapping[str, Any], taken: list[Callable[[], None]]) -> Answer:
        """The answer to a request.

        Args:
            request: a request with an id and a type.
            taken: gets the functions that put back the entries that the request has received, if the answer is not
                read.
        """
        act = _ACTS.get(request["type"])
        answer: Answer = {"id": request["id"], "success": True}
        try:
            if act is None:
                raise RequestError(f"Unknown request type: {str(request['type'])[:100]}")
            answer |= act(self, request, taken)
        except SqlError as error:
            answer |= {"success": False, "error": error.text, "sql_rc": error.code, "sql_state": error.state}
        except RequestError as error:
            answer |= {"success": False, "error": str(error), "sql_rc": -99999, "sql_state": "HY000"}
        return answer

    def close(self) -> None:
        """End the server job."""
        session, self._session = self._session, None
        self._cursors.clear()
        self._done.write()
        if session is not None:
            session.job.end()

    # -- the connection -----------------------------------------------------------------------------------------------

    def connect(self, request: Mapping[str, Any], _taken: object) -> Answer:
        """Check the password and start a server job; one that exists ends first."""
        if request.get("technique") not in (None, "tcp", "cli"):
            raise RequestError("Invalid connection technique specified")
        system = self._host.system
        level = PasswordLevel.of(self._host.level)
        seeds = os.urandom(8), os.urandom(8)
        sent = self._substitute(level, seeds)
        attempt = Attempt(self._user, level.credential, sent, seeds, self._origin)
        self.close()
        code = sign_on(system, self._host.accounts, level, attempt)
        if code is not SignOnCode.GOOD:
            text = _REFUSALS.get(code, "Password is incorrect.")
            raise SqlError(-99999, "08004", f"The application server rejected the connection. ({text})")
        self._client = one_line(str(request.get("application") or ""))
        job = self._host.job_of(self._user, JOB_NAME)
        self._session = SqlSession(job, _schema_of(job, _properties(request.get("props"))))
        return {"job": job.qualified_name}

    def _substitute(self, level: PasswordLevel, seeds: tuple[bytes, bytes]) -> bytes:
        """What a client of the host servers would send; empty, which is never right, if no such password can exist."""
        word = f"Q{self._password}" if self._password[:1].isdigit() else self._password
        if level is PasswordLevel.DES and not is_des_password(word):
            return b""
        try:
            return substitute(level, token(level, self._user, self._password), self._user, *seeds)
        except ConversionError:
            return b""

    def _sql(self) -> SqlSession:
        if self._session is None:
            raise _NOT_CONNECTED
        return self._session

    # -- SQL ----------------------------------------------------------------------------------------------------------

    def sql(self, request: Mapping[str, Any], taken: list[Callable[[], None]]) -> Answer:
        """Execute a statement, with parameters for ``prepare_sql_execute``."""
        statement = self._prepared(request)
        parameters = _parameters(request.get("parameters") if request["type"] == "prepare_sql_execute" else [])
        return self._executed(request, str(request["id"]), _Cursor(statement), parameters, taken)

    def prepare(self, request: Mapping[str, Any], _taken: object) -> Answer:
        """Prepare a statement, which ``execute`` names by the id of this request."""
        statement = self._prepared(request)
        self._keep(str(request["id"]), _Cursor(statement))
        return {"parameter_count": len(statement.parameters), "metadata": self._metadata(statement, whole=False)}

    def _prepared(self, request: Mapping[str, Any]) -> PreparedSql:
        session, text = self._sql(), _text(request, "sql")
        try:
            return session.prepare(text)
        except SqlError as error:
            word = _FIRST_WORD.match(text)
            self._count("SQL" if word is None else word[0].strip().upper(), str(error.code))
            raise

    def execute(self, request: Mapping[str, Any], taken: list[Callable[[], None]]) -> Answer:
        """Execute a prepared statement."""
        number, cursor = self._cursor(request)
        return self._executed(request, number, cursor, _parameters(request.get("parameters", [])), taken)

    def more(self, request: Mapping[str, Any], _taken: object) -> Answer:
        """Further rows of a result."""
        _, cursor = self._cursor(request)
        return self._page(request, cursor)

    def sqlclose(self, request: Mapping[str, Any], _taken: object) -> Answer:
        """Forget a statement and its rows."""
        number, _ = self._cursor(request)
        del self._cursors[number]
        return {}

    def _executed(
        self, request: Mapping[str, Any], number: str, cursor: _Cursor, batch: list[tuple[SqlValue, ...]],
        taken: list[Callable[[], None]],
    ) -> Answer:  # fmt: skip
        session, statement = self._sql(), cursor.statement
        if not batch:
            batch = [()]
        count = 0
        result = SqlResult(None, (), 0)
        for parameters in batch:
            condition = "NORMAL"
            try:
                removed: list[Taken] = []
                result = statement.execute(parameters, removed)
                taken += [partial(session.job.return_entry, name, library, one) for library, name, one in removed]
            except SqlError as error:
                condition = str(error.code)
                raise
            finally:
                self._count(statement.summary, condition)
            count += max(0, result.update_count)
        cursor.rows = list(result.rows)
        answer: Answer = {"has_results": result.columns is not None, "update_count": count}
        if result.columns is None:
            return answer | {"data": [], "is_done": True, "output_parms": self._output(statement)}
        self._keep(number, cursor)
        answer |= {"update_count": -1, "metadata": self._metadata(statement, whole=True)}
        return answer | self._page(request, cursor)

    def _page(self, request: Mapping[str, Any], cursor: _Cursor) -> Answer:
        wanted = request.get("rows", 1000)
        wanted = wanted if isinstance(wanted, int) and not isinstance(wanted, bool) and wanted >= 0 else 1000
        page, cursor.rows = cursor.rows[:wanted], cursor.rows[wanted:]
        columns = cursor.statement.columns or ()
        values: list[Any] = [[_json(value, column) for value, column in zip(row, columns, strict=True)] for row in page]
        if not request.get("terse"):
            names = [column.name for column in columns]
            values = [dict(zip(names, row, strict=True)) for row in values]
        return {"data": values, "is_done": len(page) < wanted}

    def _keep(self, number: str, cursor: _Cursor) -> None:
        self._cursors[number] = cursor
        if len(self._cursors) > BOUNDS["mapepire_cursors"]:
            self._cursors.popitem(last=False)

    def _cursor(self, request: Mapping[str, Any]) -> tuple[str, _Cursor]:
        number = request.get("cont_id")
        if number is None:
            raise RequestError("Correlation ID not specified")
        cursor = self._cursors.get(str(number))
        if cursor is None:
            raise RequestError("Bad request: invalid correlation ID")
        return str(number), cursor

    def _metadata(self, statement: PreparedSql, *, whole: bool) -> Answer:
        columns = statement.columns or ()
        return {
            "column_count": len(columns),
            "job": self._sql().job.qualified_name,
            "columns": [_described(one, whole=whole) for one in columns],
            "parameters": [
                {"type": one.type, "mode": "IN", "precision": one.precision, "scale": one.scale, "name": one.name}
                for one in statement.parameters
            ],
        }

    @staticmethod
    def _output(statement: PreparedSql) -> list[Answer]:
        return [
            {"index": at, "type": one.type, "precision": one.precision, "scale": one.scale, "name": one.name}
            for at, one in enumerate(statement.parameters, 1)
        ]

    def _count(self, operation: str, condition: str) -> None:
        """Count a statement for the audit log, without its data."""
        job = self._sql().job.qualified_name
        self._done.count(operation, self._user, resp=condition, job=job, client=self._client, origin=self._origin)

    def _audit(self, operation: str, condition: str) -> None:
        system = self._host.system.name
        audit("mapepire", self._user, operation, system=system, resp=condition, origin=self._origin)

    # -- the others ---------------------------------------------------------------------------------------------------

    def cl(self, request: Mapping[str, Any], _taken: object) -> Answer:
        """Run a CL command; its messages are the rows."""
        job, text = self._sql().job, _text(request, "cmd")
        code, messages = run_command(job, text)
        self._audit(cl_command_name(text), "NORMAL" if not code else f"{code:04X}")
        rows = [_logged(job, one) for one in messages]
        columns = [SqlColumn(name, "VARCHAR", 1024) for name in _logged(job, Message("", "completion", 0, "", b""))]
        data = rows if not request.get("terse") else [list(row.values()) for row in rows]
        described = [_described(one, whole=True) for one in columns]
        answer: Answer = {
            "metadata": {
                "column_count": len(columns), "job": job.qualified_name, "columns": described, "parameters": [],
            },
            "data": data, "is_done": True, "has_results": True, "update_count": -1,
        }  # fmt: skip
        if code:
            last = messages[-1] if messages else Message("CPF0001", "escape", 30, "Error found.", b"")
            error = f"[{last.message_id}] {last.text}"
            answer |= {"success": False, "error": error, "sql_rc": -443, "sql_state": "38501"}
        return answer

    def getdbjob(self, _request: Mapping[str, Any], _taken: object) -> Answer:
        """The name of the server job."""
        return {"job": self._sql().job.qualified_name}

    def getversion(self, _request: Mapping[str, Any], _taken: object) -> Answer:
        """The version of the protocol."""
        return {"build_date": "2026-01-01", "version": _VERSION}

    def ping(self, _request: Mapping[str, Any], _taken: object) -> Answer:
        """Whether the server and its job are alive."""
        return {"alive": True, "db_alive": self.connected}

    def setconfig(self, request: Mapping[str, Any], _taken: object) -> Answer:
        """Accept the settings of traces, which stay empty."""
        self._trace |= {name: str(request[name])[:20] for name in _TRACE if request.get(name) is not None}
        return dict(self._trace)

    def gettracedata(self, _request: Mapping[str, Any], _taken: object) -> Answer:
        """The traces, which are empty."""
        return {"tracedata": "", "jtopentracedata": ""}

    def dove(self, _request: Mapping[str, Any], _taken: object) -> Answer:
        """Refuse a visual explain."""
        raise RequestError("Visual explain is not simulated")

    def exit(self, _request: Mapping[str, Any], _taken: object) -> Answer:
        """Accept the end; the listener closes the connection."""
        return {}


_ACTS: Final[dict[str, Callable[[Requests, Mapping[str, Any], list[Callable[[], None]]], Answer]]] = {
    "connect": Requests.connect, "sql": Requests.sql, "prepare_sql": Requests.prepare,
    "prepare_sql_execute": Requests.sql, "execute": Requests.execute, "sqlmore": Requests.more,
    "sqlclose": Requests.sqlclose, "cl": Requests.cl, "getdbjob": Requests.getdbjob,
    "getversion": Requests.getversion, "ping": Requests.ping, "setconfig": Requests.setconfig,
    "gettracedata": Requests.gettracedata, "dove": Requests.dove, "exit": Requests.exit,
}  # fmt: skip


def read_request(text: str | bytes, number: int) -> tuple[Answer, bool]:
    """A request, or the answer to text that is none; and whether it is a request.

    Args:
        text: the text of the client.
        number: the number of the text on its connection.
    """
    try:
        request = json.loads(text)
    except (ValueError, RecursionError):
        shown_text = text if isinstance(text, str) else text.decode("utf-8", "replace")
        error = f"Non-parseable request: '{shown_text[:100]}'"
        return {"id": f"unparseable_{number}", "success": False, "unparseable": shown_text[:100], "error": error}, False
    complete = isinstance(request, dict) and isinstance(request.get("id"), str | int)
    if not complete or not isinstance(request.get("type"), str):
        error = "Incomplete request: an id and a type are needed"
        return {"id": f"incomplete_{number}", "success": False, "incomplete": str(text)[:100], "error": error}, False
    return request, True


def _text(request: Mapping[str, Any], name: str) -> str:
    text = request.get(name)
    if not isinstance(text, str):
        raise RequestError(f"{name}: text is needed")
    return text


def _parameters(given: object) -> list[tuple[SqlValue, ...]]:
    """The parameters of one execution, or of a batch; every value is sent as text."""
    if not isinstance(given, list):
        raise RequestError("parameters: an array is needed, which may be empty")
    batch = given if given and all(isinstance(one, list) for one in given) else [given]
    if len(batch) > BOUNDS["mapepire_batch"]:
        raise RequestError(f"parameters: a batch has at most {BOUNDS['mapepire_batch']} rows")
    return [
        tuple(None if one is None else one if isinstance(one, str) else json.dumps(one) for one in row) for row in batch
    ]


def _properties(given: object) -> dict[str, str]:
    if given is not None and not isinstance(given, str):
        raise RequestError("props: text such as libraries=A,B;naming=system is needed")
    parts = (one.partition("=") for one in (given or "").split(";"))
    return {name.strip().lower(): value.strip() for name, _, value in parts if name.strip()}


def _schema_of(job: Job, properties: Mapping[str, str]) -> str:
    """Set the library list that the properties name, as a JDBC connection does; returns CURRENT SCHEMA.

    A library that does not exist is not added. A JDBC connection would have a warning; here the log has it, as the
    answer to ``connect`` has no place for one.
    """
    named = properties.get("libraries", "").replace(",", " ").upper().split()
    at = named.index("*LIBL") if "*LIBL" in named else -1
    first, last = named[: max(at, 0)], named[at + 1 :]
    places = [("F", one) for one in reversed(first)] + [
        ("C" if at < 0 and not place else "L", one) for place, one in enumerate(last)
    ]
    for refused in add_libraries(job, places):
        _LOG.warning("%s: libraries: not added to the library list: %s", job.qualified_name, one_line(refused))
    if properties.get("naming", "sql") == "system":
        return "*LIBL"
    return next((one for one in named if not one.startswith("*")), job.current_user)


def _described(column: SqlColumn, *, whole: bool) -> Answer:
    size = _SIZES.get(column.type, column.precision + (2 if column.type in ("DECIMAL", "NUMERIC") else 0))
    first = {"name": column.name, "type": column.type, "display_size": size, "label": column.name}
    if not whole:
        return first
    return first | {
        "precision": column.precision, "scale": column.scale, "autoIncrement": False,
        "nullable": int(column.nullable), "readOnly": True, "writeable": False,
    }  # fmt: skip


def _json(value: SqlValue, column: SqlColumn) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, Decimal):
        return int(value) if column.scale == 0 else float(value)
    text = shown(value)
    return text.rstrip(" ") if column.type == "CHAR" else text


def _logged(job: Job, sent: Message) -> Answer:
    """A message of the job log as a row of JOBLOG_INFO."""
    kind = sent.kind.upper()
    at = datetime.fromtimestamp(job.system.clock.time_ns() / NS_PER_SECOND, job.system.timezone)
    row = dict.fromkeys(_LOG_COLUMNS)
    row |= {
        "SUMMARY": f"{sent.message_id} [{kind[:4]}]: {sent.text}", "SEVERITY": sent.severity,
        "MESSAGE_SECOND_LEVEL_TEXT": sent.help, "MESSAGE_ID": sent.message_id, "MESSAGE_TYPE": kind,
        "MESSAGE_TIMESTAMP": shown(at.replace(tzinfo=None)), "FROM_USER": job.current_user, "MESSAGE_LIBRARY": "QSYS",
        "MESSAGE_FILE": "QCPFMSG", "MESSAGE_TOKEN_LENGTH": len(sent.message_data), "MESSAGE_TEXT": sent.text,
        "MESSAGE_TOKENS": sent.message_data.hex().upper(), "QUALIFIED_JOB_NAME": job.qualified_name,
    }  # fmt: skip
    return row


_LOG_COLUMNS: Final[Sequence[str]] = (
    "SUMMARY", "SEVERITY", "MESSAGE_SECOND_LEVEL_TEXT", "MESSAGE_ID", "MESSAGE_TYPE", "MESSAGE_SUBTYPE",
    "MESSAGE_TIMESTAMP", "FROM_LIBRARY", "FROM_PROGRAM", "FROM_MODULE", "FROM_PROCEDURE", "FROM_INSTRUCTION",
    "TO_LIBRARY", "TO_PROGRAM", "TO_MODULE", "TO_PROCEDURE", "TO_INSTRUCTION", "FROM_USER", "MESSAGE_LIBRARY",
    "MESSAGE_FILE", "MESSAGE_TOKEN_LENGTH", "MESSAGE_TOKENS", "MESSAGE_TEXT", "MESSAGE_KEY", "QUALIFIED_JOB_NAME",
)  # fmt: skip
