"""The open list APIs for job logs: QGYOLJBL opens a list of messages, QGYGTLE returns entries, QGYCLST closes it.

A list is a copy of the log at the moment of the open; it has a handle, and it is closed when the job ends. The record
of a message is a fixed part and the fields that the caller selects (``facts/ibmi_joblog_fields.tsv``). Records vary in
length, and offsets in them count from the start of the receiver::

    message selection   direction 10, job name 10, user 10, number 6, internal job id 16, starting key 4, longest text
                        4, longest help 4, offset and number of field identifiers 4 4, and of the call queue's name 4 4
    list information    records 4, returned 4, handle 4, record length 4, complete 1, made 13, status 1, reserved 1,
                        bytes returned 4, first record 4, reserved 40
    record              next record 4, first field 4, fields 4, severity 4, id 7, type 2, key 4, message file 10, its
                        library 10, date 7, time 6, then the fields
    field               next field 4, length 4, identifier 4, type 1, status 1, reserved 14, length of data 4, data
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from struct import Struct
from types import MappingProxyType
from typing import Final

from tdqsim.core.clock import NS_PER_SECOND
from tdqsim.core.codepage import CodePage, shown_bytes
from tdqsim.facts import table
from tdqsim.ibmi.byte_parameters import Arguments
from tdqsim.ibmi.declare import Declaration, declared_program
from tdqsim.ibmi.job_core import JobCore
from tdqsim.ibmi.joblog import job_of_log
from tdqsim.ibmi.layouts import pack_binary
from tdqsim.ibmi.messages import MESSAGE_TYPES, MESSAGES, Message
from tdqsim.ibmi.open_list import ListSelection, LoggedMessage, OpenList

LIST_LIBRARY: Final = "QGY"
"""The library, besides QSYS, that callers name for these programs."""
_SELECTION: Final = Struct(">10s10s10s6s16s4siiiiii")
_INFORMATION: Final = Struct(">ii4sis13ssxii40x")
_RECORD: Final = Struct(">iiii7s2s4s10s10s7s6s")
_FIELD: Final = Struct(">iiisx14xi")
_FIELDS: Final = {int(row["field"]): row for row in table("ibmi_joblog_fields")}
_OLDEST, _NEWEST = b"\0\0\0\0", b"\xff\xff\xff\xff"
_WORD: Final = 4


# -- the programs -----------------------------------------------------------------------------------------------------


def _open(job: JobCore, arguments: Arguments) -> None:
    """QGYOLJBL: receiver, its length, list information, records to return, selection, its length, error code."""
    arguments.writable(0, 0)
    arguments.writable(2, _INFORMATION.size)
    chosen = _selection(job, arguments.data(4, arguments.number(5)))
    logged = job_of_log(job, chosen.job)
    entries = _entries(logged, chosen)
    opened = OpenList(chosen, logged.current_user, entries, job.page.encode(_moment(job, job.system.clock.time_ns())))
    handle = job.open_lists.add(opened)
    most = arguments.number(3)
    _return_records(job, arguments, (0, 1, 2), (handle, opened), 1, len(entries) if most < 0 else most)


def _get(job: JobCore, arguments: Arguments) -> None:
    """QGYGTLE: receiver, its length, handle, list information, number of records, first of them, error code."""
    arguments.writable(0, 0)
    arguments.writable(3, _INFORMATION.size)
    handle = arguments.data(2, _WORD)
    opened = job.open_lists.find(handle)
    number, first = arguments.number(4), arguments.number(5)
    if opened is None or number < 0 or first < -1 or (number and not 0 < first <= len(opened.entries)):
        job.fail("CPF24B4")
    _return_records(job, arguments, (0, 1, 3), (handle, opened), max(first, 1), number)


def _close(job: JobCore, arguments: Arguments) -> None:
    """QGYCLST: handle, error code."""
    if not job.open_lists.close(arguments.data(0, _WORD)):
        job.fail("CPF24B4")


def _return_records(
    job: JobCore,
    arguments: Arguments,
    places: tuple[int, int, int],
    known: tuple[bytes, OpenList],
    first: int,
    number: int,
) -> None:
    """Write as many records as fit into the receiver, and the list information."""
    receiver, length, information = places
    handle, opened = known
    room = min(arguments.writable(receiver, 0), max(arguments.number(length), 0))
    wanted = opened.entries[first - 1 : first - 1 + number]
    data, count = b"", 0
    for one in wanted:
        record = _record(job.page, opened, one, len(data))
        if len(data) + len(record) > room:
            break
        data, count = data + record, count + 1
    arguments.put(receiver, data)
    complete = "C" if count == len(wanted) else "P"
    head = (len(opened.entries), count, handle, 0, job.page.encode(complete), opened.opened, job.page.encode("2"))
    arguments.put(information, _INFORMATION.pack(*head, len(data), first if count else 0))


# -- the log ----------------------------------------------------------------------------------------------------------


def _selection(job: JobCore, raw: bytes) -> ListSelection:
    """Parse the message selection information."""
    if len(raw) < _SELECTION.size:
        job.fail("CPF24B4")
    direction, name, user, number, _, start, text, help_length, at, count, _, _ = _SELECTION.unpack_from(raw)
    words = [job.page.printable(one).strip(" ") for one in (number, user, name)]
    if not (0 <= count <= len(_FIELDS) and _SELECTION.size <= at <= len(raw) - _WORD * count):
        job.fail("CPF24B4")
    fields = Struct(f">{count}i").unpack_from(raw, at)
    way = job.page.printable(direction).rstrip(" \0.")
    if way not in ("*NEXT", "*PRV") or any(one not in _FIELDS for one in fields):
        job.fail("CPF24B4")
    wanted = "*" if words[2] == "*" else "/".join(word for word in words if word)
    return ListSelection(wanted, way == "*PRV", start, text, help_length, fields)


def _entries(logged: JobCore, chosen: ListSelection) -> tuple[LoggedMessage, ...]:
    """The messages from the starting one on, in the selected direction."""
    before = logged.logged - len(logged.joblog)
    pairs = zip(logged.joblog, logged.logged_at, strict=True)
    messages = [LoggedMessage(number, _moment(logged, at), one) for number, (one, at) in enumerate(pairs, before + 1)]
    if chosen.start not in (_OLDEST, _NEWEST):
        start = int.from_bytes(chosen.start, "big")
        messages = [one for one in messages if (one.number <= start if chosen.backward else one.number >= start)]
    return tuple(reversed(messages) if chosen.backward else messages)


def _record(page: CodePage, opened: OpenList, one: LoggedMessage, at: int) -> bytes:
    """The record of one message, for an offset in the receiver."""
    sent = one.message
    fields, place = b"", at + _RECORD.size + 3 & ~3
    for field in opened.chosen.fields:
        kind, data = _value(page, opened, sent, field)
        length = _FIELD.size + len(data) + 3 & ~3
        head = _FIELD.pack(place + length, length, field, page.encode(kind), len(data))
        fields += (head + data).ljust(length, b"\0")
        place += length
    kind = MESSAGE_TYPES.get(sent.kind, MESSAGE_TYPES["diagnostic"])
    words = (shown_bytes(f"{sent.message_id:<7}", page), page.encode(kind), one.number.to_bytes(_WORD, "big"))
    file = (page.encode(f"{'QCPFMSG':<10}"), page.encode(f"{'QSYS':<10}"))
    moment = (page.encode(one.moment[:7]), page.encode(one.moment[7:]))
    first = at + _RECORD.size + 3 & ~3
    head = _RECORD.pack(place, first, len(opened.chosen.fields), sent.severity, *words, *file, *moment)
    return head.ljust(_RECORD.size + 3 & ~3, b"\0") + fields


def _value(page: CodePage, opened: OpenList, sent: Message, field: int) -> tuple[str, bytes]:
    """The type and the bytes of a field."""
    kind, value = _FIELDS[field]["kind"], _FIELDS[field]["value"]
    if kind == "M":
        return kind, pack_binary(0)
    if kind == "B":
        return kind, pack_binary(page.ccsid if value == "=ccsid" else int(value))
    if value == "=data":
        return kind, sent.message_data
    described, chosen = MESSAGES.get(sent.message_id), opened.chosen
    texts = {
        "=text": (described.text if described else sent.text, chosen.text), "=filled": (sent.text, chosen.text),
        "=help": (described.help if described else sent.help, chosen.help), "=filled_help": (sent.help, chosen.help),
        "=user": (opened.user, len(opened.user)),
    }  # fmt: skip
    text, most = texts.get(value, (value, len(value)))
    return kind, shown_bytes(text, page)[: max(most, 0)]


def _moment(job: JobCore, time_ns: int) -> str:
    """A moment in the system's local time as CYYMMDDHHMMSS."""
    at = datetime.fromtimestamp(time_ns / NS_PER_SECOND, job.system.timezone)
    return f"{at.year // 100 - 19}{at:%y%m%d%H%M%S}"


# -- declarations of the programs -------------------------------------------------------------------------------------


def _declared(name: str, *parameters: tuple[str, str, str, int | None]) -> Declaration:
    return declared_program(name, *((*one, 0) for one in parameters))


_RECEIVER: Final = (("Receiver variable", "out", "H", None), ("Length of receiver variable", "in", "B", _WORD))
_LIST: Final = ("List information", "out", "H", None)
_RECORDS: Final = ("Number of records to return", "in", "B", _WORD)
_HANDLE: Final = ("Request handle", "in", "H", _WORD)
_ERROR: Final = ("Error code", "io", "H", None)

_SELECTED: Final = ("Message selection information", "in", "H", None)
_SELECTED_SIZE: Final = ("Size of message selection information", "in", "B", _WORD)
_START: Final = ("Starting record", "in", "B", _WORD)

LIST_PROGRAMS: Mapping[str, tuple[Declaration, Callable[[JobCore, Arguments], None]]] = MappingProxyType(
    {
        "QGYOLJBL": (_declared("QGYOLJBL", *_RECEIVER, _LIST, _RECORDS, _SELECTED, _SELECTED_SIZE, _ERROR), _open),
        "QGYGTLE": (_declared("QGYGTLE", *_RECEIVER, _HANDLE, _LIST, _RECORDS, _START, _ERROR), _get),
        "QGYCLST": (_declared("QGYCLST", _HANDLE, _ERROR), _close),
    }
)
"""The declaration and the function of each program."""
