"""The stubs of case files: commands, SQL statements and CALLs that are answered, and those that are only recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tdqsim.cobol.case_data import NumberBytes
from tdqsim.cobol.case_file import CaseCall, CaseData, CaseGiven, CaseSql, CaseStub
from tdqsim.cobol.external_calls import CallAnswer, CallStub, ExternalCall
from tdqsim.cobol.fields import Area
from tdqsim.cobol.sql_answers import SqlAnswer, SqlCall, SqlStub
from tdqsim.cobol.sql_values import ArgumentValue
from tdqsim.cobol.stubs import AnyStub, Options, Stub, StubAnswer
from tdqsim.errors import UsageError

_Encode = Callable[[CaseData], bytes]
_SQL: Final = "SQL"
_CALL: Final = "CALL"


def stubs_of(given: CaseGiven, encode: _Encode) -> Iterator[AnyStub]:
    """The stubs of a case.

    Args:
        given: the state in which the case begins.
        encode: gives the bytes of a record.
    """
    yield from (_stub(each, encode) for each in given.stubs)
    yield from (_sql_stub(each, encode) for each in given.sql)
    yield from (_call_stub(each, encode) for each in given.programs)


def _stub(given: CaseStub, encode: _Encode) -> Stub:
    answer = given.answer
    values = {
        name: each if isinstance(each, tuple) else value_of(each, encode) or b"" for name, each in answer.values.items()
    }
    eib = {name: value_of(each, encode) or b"" for name, each in answer.eib.items()}
    made = StubAnswer(values, answer.resp, answer.resp2, eib, answer.abend)
    return Stub(given.command, made, where=given.where, **_selected(given))


def _sql_stub(given: CaseSql, encode: _Encode) -> SqlStub:
    rows = None if given.rows is None else [_row(each, encode) for each in given.rows]
    answer = SqlAnswer(rows, given.sqlcode, given.sqlstate, given.rowcount, given.message, given.abend)
    return SqlStub(
        answer,
        kind=given.kind,
        table=given.table,
        cursor=given.cursor,
        statement=given.statement,
        pattern=given.pattern,
        where=given.where,
        **_selected(given),
    )


def _call_stub(given: CaseCall, encode: _Encode) -> CallStub:
    values: dict[str | int, ArgumentValue] = {name: value_of(each, encode) for name, each in given.values.items()}
    where: dict[str | int, ArgumentValue] = dict(given.where.items())
    return CallStub(
        given.call,
        CallAnswer(values, given.return_code, given.abend),
        where=where,
        **_selected(given),
    )


def _selected(given: CaseStub | CaseSql | CaseCall) -> dict[str, str]:
    return {"program": given.program, "transaction": given.transaction, "count": given.count}


def _row(row: Any, encode: _Encode) -> Any:
    if isinstance(row, Mapping):
        return {name: value_of(each, encode) for name, each in row.items()}
    return [value_of(each, encode) for each in row]


def value_of(data: CaseData, encode: _Encode) -> str | bytes | None:
    """A value of a case as a stub takes it; None for null."""
    if isinstance(data, str):
        return data
    return None if data.null else encode(data)


class CaseWatch:
    """The commands, SQL statements or CALLs that a case compares.

    Args:
        name: the words of a command such as ``READQ TD``; ``SQL UPDATE CUST`` with the kind of the statement and a
            table or cursor; or ``CALL MQPUT`` with a program.

    Attributes:
        calls: the values of each: by option, host variable or parameter.
        stub: the stub that records them and answers none.
    """

    def __init__(self, name: str) -> None:
        first, *rest = name.upper().split() or [""]
        self.calls: list[Mapping[str, Any]] = []
        self._about = rest[1] if len(rest) > 1 else ""
        self.stub: AnyStub
        if first == _SQL:
            if not rest:
                raise UsageError(f"{name} in calls has no kind of statement, such as SQL UPDATE CUST")
            self.stub = SqlStub(self._sql, kind=rest[0])
        elif first == _CALL:
            if len(rest) != 1:
                raise UsageError(f"{name} in calls does not name one program, such as CALL MQPUT")
            self.stub = CallStub(rest[0], self._call)
        else:
            self.stub = Stub(name, self._command)

    def _command(self, options: Options, _level: object) -> object:
        self.calls.append({name: _held(area) for name, area in options.items()})
        return NotImplemented

    def _sql(self, call: SqlCall) -> object:
        if not self._about or call.statement.cursor == self._about or call.statement.is_about(self._about):
            self.calls.append(call.inputs)
        return NotImplemented

    def _call(self, call: ExternalCall) -> object:
        names = list(call.inputs)
        values = {}
        for name, parameter in zip(names, call.parameters, strict=True):
            value = call.inputs[name]
            values[str(name)] = parameter.raw() if parameter is not None and isinstance(value, dict) else value
        self.calls.append(values)
        return NotImplemented


def _held(area: Area | None) -> bytes:
    """The value of an option; empty for an option without one."""
    if area is None:
        return b""
    return NumberBytes.of(area.read(), area.number) if area.whole else area.read()
