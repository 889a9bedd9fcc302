"""Operator messages, traces, dumps and journal records of programs, kept for tests to read; and BIF DEEDIT.

WRITE OPERATOR, ENTER TRACENUM, DUMP TRANSACTION and WRITE JOURNALNAME end normally and store their data in
:class:`Diagnostics`. Tests put the replies of the operator there beforehand. Sources: the commands' pages (IBM Docs);
their RESP2 as remembered.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Annotated, Any, Final

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
from tdqsim.cics.kernel.dump_codes import DumpCode, request_dump
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.core.named import NamedTuple
from tdqsim.facts import Cvda, Resp, table

if TYPE_CHECKING:
    from tdqsim.cics.model.dump import Dump

DUMPS_KEPT: Final = 50
"""The number of dumps that a region keeps, the last ones."""
OperatorText = Annotated[str, Opt("name", 0, secret=True)]
Routecodes = Annotated[object, Opt("data")]
Action = Annotated[Cvda | str | int | None, Opt("cvda", 4)]
FlengthOrNone = Annotated[int | None, Opt("fullword", 4, "FLENGTH")]
ShortLengthOrNone = Annotated[int | None, Opt("halfword", 2, "LENGTH")]
JournalName = Annotated[str, Opt("name", 8, "JOURNALNAME")]
Name2 = Annotated[str, Opt("name", 2)]
Field = Annotated[bytes, Opt("data", word="FIELD")]

_SUPPRESSED: Final = {"MAXIMUM": 1, "NOTRANDUMP": 2}
"""The RESP2 for what has suppressed a dump, as remembered."""
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
        failures: what was known of the last 50 tasks that have abended, the newest last.
        abend_dumps: those of them of which CICS takes a transaction dump: not after ABEND NODUMP or without ABCODE, and
            as the transaction dump table says, by which AKCS has none.
        dump_codes: the transaction dump table; None before it is needed.
        trace, dumps, journals: see :class:`TraceEntry`, :class:`RequestedDump`, :class:`JournalRecord`.
    """

    __slots__ = ("abend_dumps", "dump_codes", "dumps", "failures", "journals", "operator", "replies", "trace")

    def __init__(self) -> None:
        self.operator: list[str] = []
        self.replies: deque[str] = deque()
        self.trace: list[TraceEntry] = []
        self.dumps: list[RequestedDump] = []
        self.journals: list[JournalRecord] = []
        self.failures: deque[Dump] = deque(maxlen=DUMPS_KEPT)
        self.abend_dumps: deque[Dump] = deque(maxlen=DUMPS_KEPT)
        self.dump_codes: dict[str, DumpCode] | None = None


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
        dumpcode: 1 to 4 characters; the transaction dump table says what is done with it.
        from_: the storage to dump.
        length, short: the number of bytes of ``from_`` (FLENGTH, LENGTH).
        complete: accepted without effect.
        nohandle: raise nothing; the response is in the EIB.

    Returns:
        DUMPID, such as ``1/0001``.

    Raises:
        Condition: INVREQ 13: the dump code begins with a blank or has one inside. SUPPRESSED: the transaction dump
            table says NOTRANDUMP (2), or MAXIMUM was reached (1).
    """
    code, data = dumpcode.rstrip(" ").upper(), _cut(from_, short if length is None else length, 0)
    if not code or " " in code:
        raise Condition(Resp.INVREQ, 13, f"DUMPCODE {dumpcode!r}: 1 to 4 characters, without a blank before the last")
    if why := request_dump(task._region, code):
        raise Condition(Resp.SUPPRESSED, _SUPPRESSED[why], f"dump code {code}: {why} of its entry in the dump table")
    dumps = task._region.diagnostics.dumps
    dumps.append(RequestedDump(task.number, code, data))
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

    A minus sign or CR at its end becomes the sign of the last digit, as in a zoned decimal number. If the last byte is
    a digit with or without a sign, such as B for +2, it is not changed; neither is a field of one byte. A field with
    ASCII digits has the signs of GnuCOBOL.

    Args:
        field: the field.
        length: its length in bytes; all of ``field`` if not given.
        nohandle: return with the response in the EIB instead of raising.

    Returns:
        FIELD: the field.

    Raises:
        Condition: LENGERR: the length is below 1.
    """
    check_sent(field, length, area="FIELD")
    size = len(field) if length is None else length
    if size < 1:
        raise Condition(Resp.LENGERR, 0, f"LENGTH is {size}")
    part = bytes(field[:size])
    ascii_digits = any(byte in b"0123456789" for byte in part) or task._region.encode("0") == b"0"
    return {"FIELD": _edited(part, _ASCII if ascii_digits else _EBCDIC)}


class _Signs(NamedTuple):
    """The digits of a code page, and the form of a signed one.

    Attributes:
        digits: the digits 0 to 9.
        minus: the digits 0 to 9 with a minus sign.
        endings: the ends of a field that mean a minus sign.
        signed: the digits with any sign.
    """

    digits: bytes
    minus: bytes
    endings: tuple[bytes, bytes]
    signed: bytes


_EBCDIC: Final = _Signs(
    bytes(range(0xF0, 0xFA)), bytes(range(0xD0, 0xDA)), (b"\x60", b"\xc3\xd9"),
    bytes(zone + digit for zone in range(0xA0, 0x100, 0x10) for digit in range(10)),
)  # fmt: skip
_ASCII: Final = _Signs(b"0123456789", b"pqrstuvwxy", (b"-", b"CR"), b"0123456789pqrstuvwxy{ABCDEFGHI}JKLMNOPQR")


def _edited(field: bytes, signs: _Signs) -> bytes:
    """The digits of a field, as BIF DEEDIT returns them."""
    if len(field) == 1:
        return field
    last = b""
    if not field.endswith(signs.endings) and field[-1] in signs.signed:
        field, last = field[:-1], field[-1:]
    digits = bytes(byte for byte in field if byte in signs.digits) + last
    edited = digits.rjust(len(field + last), signs.digits[:1])
    if not last and field.endswith(signs.endings):
        return edited[:-1] + edited[-1:].translate(bytes.maketrans(signs.digits, signs.minus))
    return edited
