"""The byte forms: each API called with the parameters of its manual, in the bytes that a program would pass.

One rule for all of them: *a parameter is storage of the caller*. What goes in is ``bytes`` (anything bytes-like); what
comes out, or goes in and out, is a ``bytearray`` (or a writable memoryview), changed in place just where the manual
says so. ``bytes`` for an output, or a view that cannot be changed, is a literal: CPF3C90. None, or storage too short
for what is read or would be written, is CPF24B4, and nothing is changed (on a real machine other storage would be
overwritten). The call returns nothing.

The parameters stay a list in the manual's order, since that list is what is simulated. So that a caller need not pack
each by hand, an input of characters or a number may be given as the str or int itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import cast

from tdqsim.ibmi._byte_parameters import Arguments, Passed, in_bytes
from tdqsim.ibmi._change import change, parse_changes
from tdqsim.ibmi._commands import job_command
from tdqsim.ibmi._declare import DECLARATIONS, Declaration
from tdqsim.ibmi._describe import check_description, describe
from tdqsim.ibmi._error_code import ALWAYS_SIGNALLED, read_provided, report_failure, report_success
from tdqsim.ibmi._errors import ParameterError
from tdqsim.ibmi._fact_tables import LIMITS
from tdqsim.ibmi._job_core import JobCore
from tdqsim.ibmi._receive import qclrdtaq, receive_entry, wait_nanoseconds
from tdqsim.ibmi._retrieve import answer, check_retrieval, open_for_retrieval
from tdqsim.ibmi._send import check_send_length, qsnddtaq
from tdqsim.ibmi._time_api import qwccvtdt
from tdqsim.ibmi.layouts import layout, pack_decimal
from tdqsim.ibmi.messages import EscapeMessage, Message
from tdqsim.ibmi.records import RDQS0100, RDQS0200, KeyOrder

__all__ = ["FORMS", "call", "call_form"]


@job_command
def call(job: JobCore, api: str, *parameters: Passed) -> None:
    """Call an API as a program does.

    Args:
        api: its name, such as ``QRCVDTAQ``.
        parameters: storage for each parameter, in the manual's order. An input of characters
            or a number may be the value itself: storage of the declared length is made of it.

    Raises:
        EscapeMessage: the API failed, and there is no error code structure to say so in.
        ParameterError: there is no such API, or a parameter is neither storage nor a value that it can have.
    """
    declaration = DECLARATIONS.get(api)
    if declaration is None or api not in FORMS:
        raise ParameterError(f"{api!r}: there is no such API; known are {', '.join(sorted(FORMS))}")
    call_form(job, declaration, FORMS[api], parameters)


def call_form(
    job: JobCore, declaration: Declaration, form: Callable[[JobCore, Arguments], None], parameters: Sequence[Passed]
) -> None:
    """Do a byte form: check the parameters, and put an error into the error code or raise it, as the caller asks."""
    job.check_usable()
    job.operation = (declaration.name, "", "")
    _check_count(job, declaration, len(parameters))
    arguments = Arguments(job, declaration, parameters)
    code = _error_code(job, declaration, parameters)
    try:
        form(job, arguments)
    except EscapeMessage as error:
        if code is None or code[2] == 0 or error.message_id in ALWAYS_SIGNALLED:
            raise
        _report(job, error.message, *code)
    else:
        if code is not None and code[2]:
            report_success(code[0], extended=code[1])
    job.give_turn()


def _check_count(job: JobCore, declaration: Declaration, count: int) -> None:
    if count in declaration.counts:
        return
    # With group 1 of QRCVDTAQ the sender information must be there even when its length is 0.
    left_out = declaration.name == "QRCVDTAQ" and count + 1 == declaration.counts[1]
    listed = any(use.message_id == "CPF3C36" for use in declaration.messages)
    if left_out or not listed:
        job.fail("CPF24B4")
    job.fail("CPF3C36", count)


def _error_code(
    job: JobCore, declaration: Declaration, parameters: Sequence[Passed]
) -> tuple[bytearray, bool, int] | None:
    at = declaration.error_code
    if at is None or at >= len(parameters):
        return None
    storage = in_bytes(job, parameters[at])
    if isinstance(storage, str | int):
        raise ParameterError(f"{declaration.name}: the error code is storage (a bytearray), not {storage!r}")
    if storage is None or len(storage) < LIMITS["error_code_0100_minimum"] // 2:
        job.fail("CPF24B4")
    read = read_provided(bytes(storage))
    if read is None:
        job.fail("CPF3CF1")
    extended, provided = read
    if provided and not isinstance(storage, bytearray | memoryview):
        job.fail("CPF3C90")
    needed = (LIMITS["error_code_0200_minimum"] if extended else LIMITS["error_code_0100_minimum"]) if provided else 0
    if len(storage) < needed:
        job.fail("CPF24B4")
    return storage, extended, provided  # type: ignore[return-value]


def _report(job: JobCore, message: Message, storage: bytearray, extended: bool, provided: int) -> None:
    written = report_failure(message, provided, extended=extended, page=job.page)
    if len(written) > len(storage):
        raise EscapeMessage(job.message("CPF24B4"), (message,))
    storage[: len(written)] = written


def _send(job: JobCore, given: Arguments) -> None:
    name, library, length = given.name(0), given.name(1), given.number(2)
    key = given.key(4, 5) if given.has(5) else None
    asynchronous, replay = given.yes(6, default=False), given.yes(7, default=False)
    given.find(name, library)
    if not given.holds(3, length):
        # What the queue has against this length comes before the storage is looked at.
        check_send_length(job, name, library, length, key)
    qsnddtaq(
        job.handle, name, library, given.data(3, length), key, asynchronous=asynchronous, from_journal_entry=replay
    )


def _receive(job: JobCore, given: Arguments) -> None:
    name, library = given.name(0), given.name(1)
    wait = wait_nanoseconds(job, name, library, given.number(4), given.text(13) if given.has(13) else "*SEC")
    key, order, sender_length = None, "", 0
    given.writable(2, LIMITS["length_digits"] // 2 + 1)
    if given.has(9):
        order, key = given.text(5), given.key(6, 7)
        if key:
            given.writable(7, max(given.number(6), 0))
        sender_length = given.number(8)
    _check_sender_length(job, given, sender_length)
    size = given.number(11) if given.has(11) else None
    if size is not None and size < 0:
        job.fail("CPF24B4")
    room = given.writable(3, 0)
    fits = size is not None and size <= room
    remove = given.yes(10, default=True)
    given.find(name, library)
    found = receive_entry(job, name, library, wait, order, key, remove, None if fits else room)
    given.put(2, pack_decimal(0 if found is None else len(found[0]), LIMITS["length_digits"]))
    if found is None:
        return
    data, key_found, sender, _ = found
    given.put(3, data if size is None else data[:size])
    if key:
        given.put(7, key_found)
    if sender_length:
        given.put(9, _sender_information(sender, sender_length, job))


def _check_sender_length(job: JobCore, given: Arguments, length: int) -> None:
    if length == 0:
        return
    if length < LIMITS["sender_information_minimum"]:
        job.fail("CPF9507")
    given.writable(9, min(length, LIMITS["sender_information_length"]))


def _sender_information(sender: bytes, length: int, job: JobCore) -> bytes:
    form = layout("RCVSENDER")
    available = form.length if sender else LIMITS["sender_information_minimum"]
    counters = {"bytes_returned": min(length, available), "bytes_available": available}
    fixed = form.length - LIMITS["sender_id_length"]
    return (form.build(counters, job.page)[:fixed] + sender)[: min(length, available)]


def _clear(job: JobCore, given: Arguments) -> None:
    name, library = given.name(0), given.name(1)
    key, order = None, ""
    if given.has(4):
        order, key = given.text(2), given.key(3, 4)
    given.find(name, library)
    qclrdtaq(job.handle, name, library, cast("KeyOrder", order), key)  # which looks at it


def _describe(job: JobCore, given: Arguments) -> None:
    name, library = given.qualified(3)
    length, form = given.number(1), given.text(2)
    given.writable(0, 0)
    check_description(job, form, length)
    given.find(name, library)
    given.put(0, describe(job, name, library, form, length))


def _retrieve(job: JobCore, given: Arguments) -> None:
    name, library = given.qualified(3)
    length, form, selection_form = given.number(1), given.text(2), given.text(6)
    given.writable(0, 0)
    check_retrieval(job, form, selection_form, length)
    given.find(name, library)
    queue = open_for_retrieval(job, name, library)
    given.put(0, answer(job, queue, form, _selection(job, given, selection_form), length))


def _selection(job: JobCore, given: Arguments, name: str) -> RDQS0100 | RDQS0200:
    length, keyed = given.number(5), name == "RDQS0200"
    form = layout(name)
    if length < form.length or (not keyed and length != form.length):
        job.fail("CPF950D")
    values = form.parse(given.data(4, length), job.page)
    text = values["number_of_message_text_bytes_to_retrieve"]
    if not keyed:
        return RDQS0100(values["selection_type"], text)
    key_length = values["length_of_key"]
    if not LIMITS["key_length_minimum"] <= key_length <= LIMITS["key_bytes_maximum"]:
        job.fail("CPF950F")
    if length < form.length + key_length:
        job.fail("CPF950D")
    wanted = values["number_of_message_key_bytes_to_retrieve"]
    key = values["key"][:key_length]
    return RDQS0200(key, values["key_search_order"], text, wanted, values["selection_type"])


def _change(job: JobCore, given: Arguments) -> None:
    name, library = given.qualified(0)
    records = parse_changes(job, given.data(1, None))
    given.find(name, library)
    change(job, name, library, records)


def _convert(job: JobCore, given: Arguments) -> None:
    source, target = given.text(0), given.text(2)
    precision = given.text(9) if given.has(9) else "0"
    zones = (given.text(5), given.text(6)) if given.has(6) else ("*SYS", "*SYS")
    converted = qwccvtdt(
        job.handle,
        source,
        given.data(1, None),
        target,
        input_time_zone=zones[0],
        output_time_zone=zones[1],
        precision=precision,
    )
    written = converted if isinstance(converted, bytes) else job.page.encode(converted)
    given.writable(3, len(written))
    given.put(3, written)


FORMS: MappingProxyType[str, Callable[[JobCore, Arguments], None]] = MappingProxyType(
    {
        "QSNDDTAQ": _send, "QRCVDTAQ": _receive, "QCLRDTAQ": _clear, "QMHQRDQD": _describe, "QMHRDQM": _retrieve,
        "QMHQCDQ": _change, "QWCCVTDT": _convert,
    }
)  # fmt: skip
