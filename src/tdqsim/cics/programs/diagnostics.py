"""Operator messages, traces, dumps and journal records of programs, kept for tests to read; and BIF DEEDIT.

WRITE OPERATOR, ENTER TRACENUM, DUMP TRANSACTION and WRITE JOURNALNAME end normally and store their data in
:class:`Diagnostics`. Tests put the replies of the operator there beforehand. Sources: the commands' pages (IBM Docs);
their RESP2 as remembered.
"""

from __future__ import annotations

from collections import deque
from typing import Annotated, Any, Final, NamedTuple

from tdqsim.cics.kernel.command import (
    Flag,
    From,
    FullwordOrNone,
    Halfword,
    HalfwordOrNone,
    Name4,
    Name8,
    Name8OrNone,
    Opt,
    command,
)
from tdqsim.cics.kernel.conditions import Condition, check_sent
from tdqsim.cics.kernel.dumps import DUMPS_KEPT
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.dump import Dump
from tdqsim.facts import Cvda, Resp, table

__all__ = [
    "Diagnostics",
    "JournalRecord",
    "RequestedDump",
    "TraceEntry",
    "bif_deedit",
    "dump_transaction",
    "enter_tracenum",
    "wait_journalname",
    "write_journalname",
    "write_operator",
]

OperatorText = Annotated[str, Opt("name", 0)]
Routecodes = Annotated[object, Opt("data")]
Action = Annotated[Cvda | str | int | None, Opt("cvda", 4)]
FlengthOrNone = Annotated[int | None, Opt("fullword", 4, "FLENGTH")]
ShortLengthOrNone = Annotated[int | None, Opt("halfword", 2, "LENGTH")]
JournalName = Annotated[str, Opt("name", 8, "JOURNALNAME")]
Name2 = Annotated[str, Opt("name", 2)]
Field = Annotated[bytes, Opt("data", word="FIELD")]

_BOUNDS: Final = {row["name"]: int(row["value"]) for row in table("programs")}


class TraceEntry(NamedTuple):
    """A trace entry of ENTER TRACENUM."""

    task: int
    number: int
    data: bytes
    resource: str
    exception: bool


class RequestedDump(NamedTuple):
    """A dump of DUMP TRANSACTION."""

    task: int
    code: str
    data: bytes


class JournalRecord(NamedTuple):
    """A record of WRITE JOURNALNAME."""

    journal: str
    kind: str
    data: bytes


class Diagnostics:
    """The messages, traces, dumps and journal records that the programs of a region have written.

    Attributes:
        operator: the texts of WRITE OPERATOR and of the messages that CICS writes to the console.
        replies: the answers that the operator will give, in order; set by the test.
        abend_dumps: the dumps of the last 50 tasks that have abended, the newest last.
        trace, dumps, journals: see :class:`TraceEntry`, :class:`RequestedDump`, :class:`JournalRecord`.
    """

    def __init__(self) -> None:
        self.operator: list[str] = []
        self.replies: deque[str] = deque()
        self.trace: list[TraceEntry] = []
        self.dumps: list[RequestedDump] = []
        self.journals: list[JournalRecord] = []
        self.abend_dumps: deque[Dump] = deque(maxlen=DUMPS_KEPT)


def _cut(data: bytes, length: int | None, resp2: int) -> bytes:
    check_sent(data, length)
    size = len(data) if length is None else length
    if size < 0:
        raise Condition(Resp.LENGERR, resp2, f"the length is {size}; allowed are 0 and more")
    return bytes(data[:size])


@command(
    "WRITE OPERATOR",
    "EXPIRED INVREQ LENGERR",
    {"REPLY": Opt("name", 0), "REPLYLENGTH": Opt("fullword", 4)},
)
def write_operator(
    task: TaskBase,
    text: OperatorText,
    textlength: FullwordOrNone = None,
    *,
    routecodes: Routecodes = None,  # without effect: there is only one operator
    numroutes: FullwordOrNone = None,
    consname: Name8OrNone = None,
    action: Action = None,
    eventual: Flag = False,
    immediate: Flag = False,
    critical: Flag = False,
    maxlength: FullwordOrNone = None,
    timeout: FullwordOrNone = None,
    nohandle: Flag = False,
) -> dict[str, Any]:
    """Write a text to the operator, who may answer.

    Args:
        text: at most 690 characters.
        textlength: the number of characters to write; all if not given.
        routecodes, numroutes, consname, action, eventual, immediate, critical: accepted without effect.
        maxlength: the longest reply; if given, the command waits for a reply.
        timeout: the seconds to wait for it.
        nohandle: raise nothing; the response is in the EIB.

    Returns:
        REPLY and REPLYLENGTH.

    Raises:
        Condition: INVREQ: the text is too long. EXPIRED: the operator does not answer. LENGERR: the reply is longer
            than MAXLENGTH.
    """
    check_sent(text, textlength, "TEXTLENGTH", "TEXT")
    length = len(text) if textlength is None else textlength
    if not 0 < length <= _BOUNDS["longest_operator_text"]:
        raise Condition(Resp.INVREQ, 1, f"the text has {length} characters")
    message = text[:length]
    diagnostics = task._region.diagnostics
    diagnostics.operator.append(message.rstrip(" "))
    if maxlength is None and timeout is None:
        return {}
    if not diagnostics.replies:
        raise Condition(Resp.EXPIRED, 7, f"the operator did not answer in {timeout or 0} seconds")
    reply = diagnostics.replies.popleft()
    if maxlength is not None and len(reply) > maxlength:
        brings = {"REPLY": reply[:maxlength], "REPLYLENGTH": len(reply)}
        raise Condition(Resp.LENGERR, 1, f"the reply has {len(reply)} characters", brings=brings)
    return {"REPLY": reply, "REPLYLENGTH": len(reply)}


@command("ENTER TRACENUM", "INVREQ LENGERR")
def enter_tracenum(
    task: TaskBase,
    tracenum: Halfword,
    from_: From = b"",
    fromlength: HalfwordOrNone = None,
    *,
    resource: Name8 = "",
    exception: Flag = False,
    nohandle: Flag = False,
) -> None:
    """Make an entry in the trace.

    Args:
        tracenum: 0 to 199.
        from_: data for the entry.
        fromlength: the number of bytes of ``from_``.
        resource: 8 characters.
        exception: whether it is an exception trace entry.
        nohandle: raise nothing; the response is in the EIB.

    Raises:
        Condition: INVREQ 1: the number is out of range. LENGERR 4: FROMLENGTH is negative or more than the length of
            the data.
    """
    if not 0 <= tracenum <= _BOUNDS["highest_trace_number"]:
        raise Condition(Resp.INVREQ, 1, f"TRACENUM is {tracenum}; allowed are 0 to {_BOUNDS['highest_trace_number']}")
    data = _cut(from_, fromlength, 4)
    task._region.diagnostics.trace.append(TraceEntry(task.number, tracenum, data, resource, exception))


@command("DUMP TRANSACTION", "INVREQ IOERR NOSPACE NOSTG NOTOPEN OPENERR SUPPRESSED", {"DUMPID": Opt("name", 9)})
def dump_transaction(
    task: TaskBase,
    dumpcode: Name4,
    from_: From = b"",
    length: FlengthOrNone = None,
    *,
    short: ShortLengthOrNone = None,
    complete: Flag = False,  # without effect: the dump holds only FROM
    nohandle: Flag = False,
) -> str:
    """Take a transaction dump.

    Args:
        dumpcode: 4 characters, none of them blank.
        from_: the storage to dump.
        length, short: the number of bytes of ``from_`` (FLENGTH, LENGTH).
        complete: accepted without effect.
        nohandle: raise nothing; the response is in the EIB.

    Returns:
        DUMPID, such as ``1/0001``.

    Raises:
        Condition: INVREQ 13: the dump code is not valid.
    """
    if len(dumpcode) != 4 or " " in dumpcode:
        raise Condition(Resp.INVREQ, 13, f"DUMPCODE {dumpcode!r}: 4 characters, none of them blank")
    dumps = task._region.diagnostics.dumps
    dumps.append(RequestedDump(task.number, dumpcode, _cut(from_, short if length is None else length, 0)))
    return f"1/{len(dumps):04d}"


@command(
    "WRITE JOURNALNAME",
    "INVREQ IOERR JIDERR LENGERR NOTAUTH NOTOPEN",
    {"REQID": Opt("fullword", 4)},
    resource="journal",
)
def write_journalname(
    task: TaskBase,
    journal: JournalName,
    jtypeid: Name2,
    from_: From,
    length: FlengthOrNone = None,
    *,
    wait: Flag = False,  # without effect: the record is written at once
    nosuspend: Flag = False,
    nohandle: Flag = False,
) -> int:
    """Write a record to a journal.

    Returns:
        REQID: the number of the record.

    Raises:
        Condition: LENGERR: FLENGTH is negative or more than the length of the data.
    """
    journals = task._region.diagnostics.journals
    journals.append(JournalRecord(journal, jtypeid, _cut(from_, length, 0)))
    return len(journals)


@command("WAIT JOURNALNAME", "INVREQ IOERR JIDERR NOTOPEN", resource="journal")
def wait_journalname(
    task: TaskBase,
    journal: JournalName,
    *,
    reqid: FullwordOrNone = None,
    nohandle: Flag = False,
) -> None:
    """Wait until a journal record is written; it always is at once."""


@command("BIF DEEDIT", "LENGERR", {"FIELD": Opt("data")}, otherwise=b"")
def bif_deedit(
    task: TaskBase,
    field: Field,
    length: HalfwordOrNone = None,
    *,
    nohandle: Flag = False,
) -> dict[str, bytes]:
    """Remove everything but digits from a field, and right-justify them with leading zeros.

    A minus sign or CR at its end stays as a sign over the last digit.

    Returns:
        FIELD: the field.

    Raises:
        Condition: LENGERR: the length is below 1.
    """
    check_sent(field, length, area="FIELD")
    size = len(field) if length is None else length
    if size < 1:
        raise Condition(Resp.LENGERR, 0, f"LENGTH is {size}")
    zero = b"0" if any(0x30 <= byte <= 0x39 for byte in field[:size]) else task._region.encode("0")
    digits = bytes(byte for byte in field[:size] if zero[0] <= byte <= zero[0] + 9)
    return {"FIELD": digits.rjust(size, zero)[-size:]}
