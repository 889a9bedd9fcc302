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
from typing import Any, cast

from tdqsim.core.argument_types import types_told
from tdqsim.ibmi._byte_parameters import Arguments, Passed, in_bytes
from tdqsim.ibmi._change import ChangeApi, parse_changes
from tdqsim.ibmi._declare import DECLARATIONS, Declaration
from tdqsim.ibmi._describe import DescribeApi
from tdqsim.ibmi._error_code import ALWAYS_SIGNALLED, read_provided, report_failure, report_success
from tdqsim.ibmi._errors import ParameterError
from tdqsim.ibmi._fact import LIMITS
from tdqsim.ibmi._receive import ReceiveApi, wait_nanoseconds
from tdqsim.ibmi._retrieve import RetrieveApi
from tdqsim.ibmi._send import SendApi
from tdqsim.ibmi._time_api import TimeApi
from tdqsim.ibmi.layouts import layout, pack_decimal
from tdqsim.ibmi.messages import EscapeMessage, Message
from tdqsim.ibmi.records import RDQS0100, RDQS0200, KeyOrder

__all__ = ["FORMS", "ByteForms"]


class ByteForms(SendApi, ReceiveApi, RetrieveApi, ChangeApi, DescribeApi, TimeApi):
    """The one entry to all byte forms."""

    @types_told
    def call(self, api: str, *parameters: Passed) -> None:
        """Call an API as a program does.

        Args:
            api: its name, such as ``QRCVDTAQ``.
            parameters: storage for each parameter, in the manual's order. An input of characters
                or a number may be the value itself: storage of the declared length is made of it.

        Raises:
            EscapeMessage: the API failed, and there is no error code structure to say so in.
            ParameterError: there is no such API, or a parameter is neither storage nor a value that it can have.
        """
        self._dispatcher.check_thread()
        declaration = DECLARATIONS.get(api)
        if declaration is None or api not in FORMS:
            raise ParameterError(f"{api!r}: there is no such API; known are {', '.join(sorted(FORMS))}")
        self._call_form(declaration, FORMS[api], parameters)

    def _call_form(
        self, declaration: Declaration, form: Callable[[Any, Arguments], None], parameters: Sequence[Passed]
    ) -> None:
        """Carry out a byte form: check the parameters, and put what it fails with where the caller wants it."""
        self.check_usable()
        self.doing = (declaration.name, "", "")
        self._check_count(declaration, len(parameters))
        arguments = Arguments(self, declaration, parameters)
        code = self._error_code(declaration, parameters)
        try:
            form(self, arguments)
        except EscapeMessage as error:
            if code is None or code[2] == 0 or error.message_id in ALWAYS_SIGNALLED:
                raise
            self._report(error.message, *code)
        else:
            if code is not None and code[2]:
                report_success(code[0], extended=code[1])
        self.give_turn()

    def _check_count(self, declaration: Declaration, count: int) -> None:
        if count in declaration.counts:
            return
        # With group 1 of QRCVDTAQ the sender information must be there even when its length is 0.
        left_out = declaration.name == "QRCVDTAQ" and count + 1 == declaration.counts[1]
        listed = any(use.message_id == "CPF3C36" for use in declaration.messages)
        if left_out or not listed:
            self.fail("CPF24B4")
        self.fail("CPF3C36", count)

    def _error_code(self, declaration: Declaration, parameters: Sequence[Passed]) -> tuple[bytearray, bool, int] | None:
        at = declaration.error_code
        if at is None or at >= len(parameters):
            return None
        storage = in_bytes(self, parameters[at])
        if isinstance(storage, str | int):
            raise ParameterError(f"{declaration.name}: the error code is storage (a bytearray), not {storage!r}")
        if storage is None or len(storage) < LIMITS["error_code_0100_minimum"] // 2:
            self.fail("CPF24B4")
        read = read_provided(bytes(storage))
        if read is None:
            self.fail("CPF3CF1")
        extended, provided = read
        if provided and not isinstance(storage, bytearray | memoryview):
            self.fail("CPF3C90")
        needed = (
            (LIMITS["error_code_0200_minimum"] if extended else LIMITS["error_code_0100_minimum"]) if provided else 0
        )
        if len(storage) < needed:
            self.fail("CPF24B4")
        return storage, extended, provided  # type: ignore[return-value]

    def _report(self, message: Message, storage: bytearray, extended: bool, provided: int) -> None:
        written = report_failure(message, provided, extended=extended, page=self.page)
        if len(written) > len(storage):
            raise EscapeMessage(self.message("CPF24B4"), (message,))
        storage[: len(written)] = written


def _send(job: ByteForms, given: Arguments) -> None:
    name, library, length = given.name(0), given.name(1), given.number(2)
    key = given.key(4, 5) if given.has(5) else None
    asynchronous, replay = given.yes(6, default=False), given.yes(7, default=False)
    given.find(name, library)
    if not given.holds(3, length):
        # What the queue has against this length comes before the storage is looked at.
        job.check_send_length(name, library, length, key)
    job.qsnddtaq(name, library, given.data(3, length), key, asynchronous=asynchronous, from_journal_entry=replay)


def _receive(job: ByteForms, given: Arguments) -> None:
    name, library = given.name(0), given.name(1)
    wait = wait_nanoseconds(job, given.number(4), given.text(13) if given.has(13) else "*SEC")
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
    if job.system.faults is not None:
        job.meet_fault("QRCVDTAQ", name, library)
    entry = job.receive_entry(name, library, wait, order, key, remove=remove, room=None if fits else room)
    given.put(2, pack_decimal(0 if entry is None else len(entry.data), LIMITS["length_digits"]))
    if entry is None:
        return
    given.put(3, entry.data if size is None else entry.data[:size])
    if key:
        given.put(7, entry.key)
    if sender_length:
        given.put(9, _sender_information(entry.sender, sender_length, job))


def _check_sender_length(job: ByteForms, given: Arguments, length: int) -> None:
    if length == 0:
        return
    if length < LIMITS["sender_information_minimum"]:
        job.fail("CPF9507")
    given.writable(9, min(length, LIMITS["sender_information_length"]))


def _sender_information(sender: bytes, length: int, job: ByteForms) -> bytes:
    form = layout("RCVSENDER")
    available = form.length if sender else LIMITS["sender_information_minimum"]
    counters = {"bytes_returned": min(length, available), "bytes_available": available}
    fixed = form.length - LIMITS["sender_id_length"]
    return (form.build(counters, job.page)[:fixed] + sender)[: min(length, available)]


def _clear(job: ByteForms, given: Arguments) -> None:
    name, library = given.name(0), given.name(1)
    key, order = None, ""
    if given.has(4):
        order, key = given.text(2), given.key(3, 4)
    given.find(name, library)
    job.qclrdtaq(name, library, cast("KeyOrder", order), key)  # which looks at it


def _describe(job: ByteForms, given: Arguments) -> None:
    name, library = given.qualified(3)
    length, form = given.number(1), given.text(2)
    given.writable(0, 0)
    job.check_description(form, length)
    given.find(name, library)
    given.put(0, job.describe(name, library, form, length))


def _retrieve(job: ByteForms, given: Arguments) -> None:
    name, library = given.qualified(3)
    length, form, selection_form = given.number(1), given.text(2), given.text(6)
    given.writable(0, 0)
    job.check_retrieval(form, selection_form, length)
    given.find(name, library)
    queue = job.open_for_retrieval(name, library)
    given.put(0, job.answer(queue, form, _selection(job, given, selection_form), length))


def _selection(job: ByteForms, given: Arguments, name: str) -> RDQS0100 | RDQS0200:
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


def _change(job: ByteForms, given: Arguments) -> None:
    name, library = given.qualified(0)
    records = parse_changes(job, given.data(1, None))
    given.find(name, library)
    job.change(name, library, records)


def _convert(job: ByteForms, given: Arguments) -> None:
    source, target = given.text(0), given.text(2)
    precision = given.text(9) if given.has(9) else "0"
    zones = (given.text(5), given.text(6)) if given.has(6) else ("*SYS", "*SYS")
    converted = job.qwccvtdt(
        source, given.data(1, None), target, input_time_zone=zones[0], output_time_zone=zones[1], precision=precision
    )
    written = converted if isinstance(converted, bytes) else job.page.encode(converted)
    given.writable(3, len(written))
    given.put(3, written)


FORMS: MappingProxyType[str, Callable[[ByteForms, Arguments], None]] = MappingProxyType(
    {
        "QSNDDTAQ": _send, "QRCVDTAQ": _receive, "QCLRDTAQ": _clear, "QMHQRDQD": _describe, "QMHRDQM": _retrieve,
        "QMHQCDQ": _change, "QWCCVTDT": _convert,
    }
)  # fmt: skip
