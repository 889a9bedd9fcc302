"""The byte forms: each API called with the parameters of its manual, as the bytes that a program would pass.

In all of them *a parameter is storage of the caller*. An input is ``bytes`` (or anything bytes-like). An output, or a
parameter for input and output, is a ``bytearray`` (or a writable memoryview), which is changed in place exactly where
the manual says. Passing ``bytes`` or a read-only view for an output, as if it were a literal, is CPF3C90. Passing None,
or storage that is too short to be read or written, is CPF24B4 (CPF9509 from QMHRDQM, whose list has no CPF24B4), and
nothing is changed (a real machine would overwrite other storage). The call returns nothing.

The parameters are a list in the manual's order, because the simulated interface is this list. As a convenience, a str
or int is accepted for an input of characters or a number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Final, cast

from tdqsim.facts import table
from tdqsim.ibmi.byte_parameters import Arguments, Passed, in_bytes, not_addressable
from tdqsim.ibmi.change import change, parse_changes
from tdqsim.ibmi.commands import job_command
from tdqsim.ibmi.declare import DECLARATIONS, Declaration
from tdqsim.ibmi.describe import check_description, describe
from tdqsim.ibmi.error_code import ALWAYS_SIGNALLED, read_provided, report_failure, report_success
from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.fact_tables import LIMITS
from tdqsim.ibmi.job_core import JobCore
from tdqsim.ibmi.layouts import layout, pack_decimal
from tdqsim.ibmi.messages import EscapeMessage, Message
from tdqsim.ibmi.receive import qclrdtaq, receive_entry, wait_nanoseconds
from tdqsim.ibmi.records import RDQS0100, RDQS0200, KeyOrder
from tdqsim.ibmi.retrieve import answer, check_retrieval, open_for_retrieval
from tdqsim.ibmi.send import check_send_length, qsnddtaq
from tdqsim.ibmi.time_api import qwccvtdt

ABSENT_APIS: Final = {row["program"]: row["what"] for row in table("ibmi_program_absent")}
"""What the vendor's APIs do that are not simulated, by name."""

_COUNT_RULES = {
    "QSNDDTAQ": "DTAQ-SEND-PARAMETER-COUNT", "QMHQRDQD": "DTAQ-DESCRIBE-COUNT", "QMHRDQM": "DTAQ-RETRIEVE-COUNT",
}  # fmt: skip
"""The rule for a wrong number of parameters, by API."""


@job_command
def call(job: JobCore, api: str, *parameters: Passed) -> None:
    """Call an API as a program does.

    Args:
        api: its name, such as ``QRCVDTAQ``.
        parameters: storage for each parameter, in the manual's order. For an input of characters or a number you may
            pass the value itself, which is converted to storage of the declared length.

    Raises:
        EscapeMessage: the API failed, and no error code structure was passed for the error.
        ParameterError: there is no such API, or a parameter is neither storage nor a valid value.
    """
    declaration = DECLARATIONS.get(api)
    if declaration is None or api not in FORMS:
        what = f"this API ({ABSENT_APIS[api]}) is not simulated" if api in ABSENT_APIS else "there is no such API"
        raise ParameterError(f"{api!r}: {what}; known are {', '.join(sorted(FORMS))}")
    call_form(job, declaration, FORMS[api], parameters)


def call_form(
    job: JobCore, declaration: Declaration, form: Callable[[JobCore, Arguments], None], parameters: Sequence[Passed]
) -> None:
    """Run a byte form: check the parameters, and return an error in the error code or raise it, as requested."""
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
        _report(job, declaration, error.message, *code)
    else:
        if code is not None and code[2]:
            report_success(code[0], extended=code[1])
    job.give_turn()


def _check_count(job: JobCore, declaration: Declaration, count: int) -> None:
    if count in declaration.counts:
        return
    # With group 1 of QRCVDTAQ the sender information must be passed even when its length is 0.
    left_out = declaration.name == "QRCVDTAQ" and count + 1 == declaration.counts[1]
    listed = any(use.message_id == "CPF3C36" for use in declaration.messages)
    hint = f"{count} parameters were passed; {declaration.name} takes {_counts(declaration)}."
    if left_out or not listed:
        not_addressable(job, declaration, rule=_COUNT_RULES.get(declaration.name, ""), hint=hint)
    job.fail("CPF3C36", count, hint=hint)


def _counts(declaration: Declaration) -> str:
    """The numbers of parameters that an API takes, in words."""
    *before, last = map(str, declaration.counts)
    return f"{', '.join(before)} or {last}" if before else last


def _error_code(
    job: JobCore, declaration: Declaration, parameters: Sequence[Passed]
) -> tuple[bytearray, bool, int] | None:
    at = declaration.error_code
    if at is None or at >= len(parameters):
        return None
    storage = in_bytes(job, parameters[at], declaration)
    if isinstance(storage, str | int):
        raise ParameterError(f"{declaration.name}: the error code is storage (a bytearray), not {storage!r}")
    if storage is None or len(storage) < LIMITS["error_code_0100_minimum"] // 2:
        not_addressable(job, declaration)
    read = read_provided(bytes(storage))
    if read is None:
        job.fail("CPF3CF1")
    extended, provided = read
    if provided and not isinstance(storage, bytearray | memoryview):
        job.fail("CPF3C90")
    needed = (LIMITS["error_code_0200_minimum"] if extended else LIMITS["error_code_0100_minimum"]) if provided else 0
    if len(storage) < needed:
        not_addressable(job, declaration)
    return storage, extended, provided  # type: ignore[return-value]


def _report(
    job: JobCore, declaration: Declaration, message: Message, storage: bytearray, extended: bool, provided: int
) -> None:
    written = report_failure(message, provided, extended=extended, page=job.page)
    if len(written) > len(storage):
        not_addressable(job, declaration, diagnostics=(message,))
    storage[: len(written)] = written


def _send(job: JobCore, arguments: Arguments) -> None:
    name, library, length = arguments.name(0), arguments.name(1), arguments.number(2)
    key = arguments.key(4, 5) if arguments.has(5) else None
    asynchronous, replay = arguments.yes(6, default=False), arguments.yes(7, default=False)
    arguments.find(name, library)
    if not arguments.holds(3, length):
        # A length that the queue refuses is reported before storage that is too short.
        check_send_length(job, name, library, length, key)
    qsnddtaq(
        job.handle, name, library, arguments.data(3, length), key, asynchronous=asynchronous, from_journal_entry=replay
    )


def _receive(job: JobCore, arguments: Arguments) -> None:
    name, library = arguments.name(0), arguments.name(1)
    units = arguments.text(13) if arguments.has(13) else "*SEC"
    wait = wait_nanoseconds(job, (name, library), arguments.number(4), units)
    key, order, sender_length = None, "", 0
    arguments.writable(2, LIMITS["length_digits"] // 2 + 1)
    if arguments.has(9):
        order, key = arguments.text(5), arguments.key(6, 7)
        if key:
            arguments.writable(7, max(arguments.number(6), 0))
        sender_length = arguments.number(8)
    _check_sender_length(job, arguments, sender_length)
    size = arguments.number(11) if arguments.has(11) else None
    if size is not None and size < 0:
        job.fail("CPF24B4", rule="DTAQ-RECEIVE-SIZE-NEGATIVE")
    room = arguments.writable(3, 0)
    fits = size is not None and size <= room
    remove = arguments.yes(10, default=True)
    arguments.find(name, library)
    received = receive_entry(job, name, library, wait, order, key, remove, None if fits else room)
    arguments.put(2, pack_decimal(0 if received is None else len(received[0]), LIMITS["length_digits"]))
    if received is None:
        return
    data, entry_key, sender, _ = received
    arguments.put(3, data if size is None else data[:size])
    if key:
        arguments.put(7, entry_key)
    if sender_length:
        arguments.put(9, _sender_information(sender, sender_length, job))


def _check_sender_length(job: JobCore, arguments: Arguments, length: int) -> None:
    if length == 0:
        return
    if length < LIMITS["sender_information_minimum"]:
        job.fail("CPF9507", rule="DTAQ-RECEIVE-SENDER-LENGTH")
    arguments.writable(9, min(length, LIMITS["sender_information_length"]))


def _sender_information(sender: bytes, length: int, job: JobCore) -> bytes:
    form = layout("RCVSENDER")
    available = form.length if sender else LIMITS["sender_information_minimum"]
    counters = {"bytes_returned": min(length, available), "bytes_available": available}
    fixed = form.length - LIMITS["sender_id_length"]
    return (form.build(counters, job.page)[:fixed] + sender)[: min(length, available)]


def _clear(job: JobCore, arguments: Arguments) -> None:
    name, library = arguments.name(0), arguments.name(1)
    key, order = None, ""
    if arguments.has(4):
        order, key = arguments.text(2), arguments.key(3, 4)
    arguments.find(name, library)
    qclrdtaq(job.handle, name, library, cast("KeyOrder", order), key)  # it checks the order


def _describe(job: JobCore, arguments: Arguments) -> None:
    name, library = arguments.qualified(3)
    length, form = arguments.number(1), arguments.text(2)
    arguments.writable(0, 0)
    check_description(job, form, length)
    arguments.find(name, library)
    arguments.put(0, describe(job, name, library, form, length))


def _retrieve(job: JobCore, arguments: Arguments) -> None:
    name, library = arguments.qualified(3)
    length, form, selection_form = arguments.number(1), arguments.text(2), arguments.text(6)
    arguments.writable(0, 0)
    check_retrieval(job, form, selection_form, length)
    arguments.find(name, library)
    queue = open_for_retrieval(job, name, library)
    arguments.put(0, answer(job, queue, form, _selection(job, arguments, selection_form), length))


def _selection(job: JobCore, arguments: Arguments, name: str) -> RDQS0100 | RDQS0200:
    length, keyed = arguments.number(5), name == "RDQS0200"
    form = layout(name)
    if length < form.length or (not keyed and length != form.length):
        job.fail("CPF950D")
    values = form.parse(arguments.data(4, length), job.page)
    text = values["number_of_message_text_bytes_to_retrieve"]
    if not keyed:
        return RDQS0100(values["selection_type"], text)
    key_length, key = values["length_of_key"], b""
    if LIMITS["key_length_minimum"] <= key_length <= LIMITS["key_bytes_maximum"]:
        if length < form.length + key_length:
            job.fail("CPF950D")
        key = values["key"][:key_length]
    # another length is refused as a key that is not KEYLEN, in the order of the checks of the Python form
    wanted = values["number_of_message_key_bytes_to_retrieve"]
    return RDQS0200(key, values["key_search_order"], text, wanted, values["selection_type"])


def _change(job: JobCore, arguments: Arguments) -> None:
    name, library = arguments.qualified(0)
    records = parse_changes(job, arguments.data(1, None))
    arguments.find(name, library)
    change(job, name, library, records)


def _convert(job: JobCore, arguments: Arguments) -> None:
    source, target = arguments.text(0), arguments.text(2)
    precision = arguments.text(9) if arguments.has(9) else "0"
    zones = (arguments.text(5), arguments.text(6)) if arguments.has(6) else ("*SYS", "*SYS")
    converted = qwccvtdt(
        job.handle,
        source,
        arguments.data(1, None),
        target,
        input_time_zone=zones[0],
        output_time_zone=zones[1],
        precision=precision,
    )
    written = converted if isinstance(converted, bytes) else job.page.encode(converted)
    arguments.writable(3, len(written))
    arguments.put(3, written)


FORMS: MappingProxyType[str, Callable[[JobCore, Arguments], None]] = MappingProxyType(
    {
        "QSNDDTAQ": _send, "QRCVDTAQ": _receive, "QCLRDTAQ": _clear, "QMHQRDQD": _describe, "QMHRDQM": _retrieve,
        "QMHQCDQ": _change, "QWCCVTDT": _convert,
    }
)  # fmt: skip
