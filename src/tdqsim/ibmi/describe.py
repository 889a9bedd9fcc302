"""QMHQRDQD: retrieve data queue description, formats RDQD0100 and RDQD0200."""

from __future__ import annotations

from typing import Literal, overload

from tdqsim.ibmi.declare import declare
from tdqsim.ibmi.fact_tables import LIMITS
from tdqsim.ibmi.job_core import JobBase, JobCore
from tdqsim.ibmi.layouts import FormatField, layout
from tdqsim.ibmi.names import place
from tdqsim.ibmi.queue_state import DataQueueState
from tdqsim.ibmi.records import RDQD0100, RDQD0200

_RECORDS: dict[str, type[RDQD0100 | RDQD0200]] = {"RDQD0100": RDQD0100, "RDQD0200": RDQD0200}


@overload
def qmhqrdqd(job: JobBase, /, name: str, library: str = ..., format: Literal["RDQD0100"] = ...) -> RDQD0100: ...


@overload
def qmhqrdqd(job: JobBase, /, name: str, library: str, format: Literal["RDQD0200"]) -> RDQD0200: ...


@overload
def qmhqrdqd(job: JobBase, /, name: str, library: str = ..., *, format: Literal["RDQD0200"]) -> RDQD0200: ...


@declare("QMHQRDQD")
def qmhqrdqd(job: JobCore, name: str, library: str = "", format: str = "RDQD0100") -> RDQD0100 | RDQD0200:
    """Retrieve the description of a data queue.

    Args:
        name: the data queue: ``"LIB/NAME"``, or a name of 1 to 10 characters.
        library: its library, ``*LIBL`` (the default) or ``*CURLIB``.
        format: ``RDQD0100``, or ``RDQD0200`` for the attributes that only a DDM queue has.

    Raises:
        EscapeMessage: CPF3C21 format, CPF9516 format not allowed for this queue, CPF9503 locked, CPF9801 and CPF9810
            not found, CPF9802 and CPF9820 not authorized.
    """
    job.check_usable()
    check_description(job, format, LIMITS["receiver_minimum"])
    data = describe(job, name, library, format, layout(format).length)
    job.give_turn()
    return _RECORDS[format](**layout(format).parse(data, job.page))


def check_description(job: JobCore, format_name: str, receiver_length: int) -> None:
    """Check the format and the receiver's length, before the queue is looked up."""
    if format_name not in _RECORDS:
        job.fail("CPF3C21", format_name)
    if receiver_length < LIMITS["receiver_minimum"]:
        job.fail("CPF3C24")


def describe(
    job: JobCore, name: str, library: str, format_name: str, receiver_length: int, *, remember: bool = True
) -> bytes:
    """The bytes of the description, cut to the receiver's length; ``remember`` is that of ``JobCore.open_queue``."""
    name, library = place(name, library)
    job.begin("QMHQRDQD", name, library)
    check_description(job, format_name, receiver_length)
    queue = job.open_queue("QMHQRDQD", name, library, remember=remember)
    if format_name == "RDQD0200" and not queue.ddm:
        job.fail("CPF9516", format_name)
    job.await_lock("QMHQRDQD", queue)
    state = job.system.objects.state_of(queue)
    job.note("QMHQRDQD", queue, messages=state.entries)
    form = layout(format_name)
    values = _standard(state) if format_name == "RDQD0100" else _distributed(state)
    values["bytes_available"] = form.length
    values["bytes_returned"] = min(receiver_length, form.length)
    return form.build(values, job.page)[:receiver_length]


def _standard(state: DataQueueState) -> dict[str, object]:
    attributes = state.attributes
    names = {
        "text_description": state.text, "data_queue_name_used": state.name, "data_queue_library_used": state.library,
    }  # fmt: skip
    if state.ddm:
        return names | {field.name: _fixed_for_ddm(field) for field in layout("RDQD0100").fields if field.ddm}
    return names | {
        "message_length": attributes.maxlen,
        "key_length": attributes.keylen,
        "sequence": attributes.seq[1],
        "include_sender_id": "Y" if attributes.senderid else "N",
        "force_indicator": "Y" if attributes.force else "N",
        "type_of_data_queue": "0",
        "automatic_reclaim": "1" if state.autorcl else "0",
        "enforce_data_queue_locks": "1" if state.enforce else "0",
        "number_of_messages": state.entries,
        "number_of_entries_currently_allocated": state.allocated,
        "maximum_number_of_entries_allowed": state.maximum,
        "initial_number_of_entries": attributes.initial,
        "maximum_number_of_entries_specified": attributes.size,
        "last_reclaim_date_and_time": state.last_reclaim,
    }


def _fixed_for_ddm(field: FormatField) -> object:
    """The value that a field has for every DDM queue."""
    if field.kind == "B":
        return int(field.ddm)
    return bytes.fromhex(field.ddm) if field.kind == "H" else field.ddm.strip()


def _distributed(state: DataQueueState) -> dict[str, object]:
    attributes = state.attributes
    values: dict[str, object] = {
        "remote_location_name": attributes.rmtlocname,
        "remote_data_queue_name": attributes.rmtdtaq,
        "remote_data_queue_library_name": attributes.rmtdtaqlib,
        "data_queue_name_used": state.name,
        "data_queue_library_used": state.library,
        "relational_database_name": attributes.rdb,
    }
    if not attributes.rdb:  # with an RDB name the APPC fields are blank
        values["appc_device_description"] = attributes.dev
        values["mode"] = attributes.mode
        values["local_location_name"] = attributes.lcllocname
        values["remote_network_identifier"] = attributes.rmtnetid
    return values
