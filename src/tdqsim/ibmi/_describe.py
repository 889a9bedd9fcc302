"""QMHQRDQD: retrieve data queue description, formats RDQD0100 and RDQD0200."""

from __future__ import annotations

from typing import Any, Literal, overload

from tdqsim.ibmi._declare import declare
from tdqsim.ibmi._dts import NO_DTS, ns_to_dts
from tdqsim.ibmi._fact import LIMITS
from tdqsim.ibmi._job_core import JobCore
from tdqsim.ibmi._queue import DataQueue
from tdqsim.ibmi.layouts import Format, FormatField, layout
from tdqsim.ibmi.records import RDQD0100, RDQD0200

__all__ = ["DescribeApi"]

_RECORDS: dict[str, type[RDQD0100 | RDQD0200]] = {"RDQD0100": RDQD0100, "RDQD0200": RDQD0200}


class DescribeApi(JobCore):
    """The API that describes a data queue."""

    @overload
    def qmhqrdqd(self, name: str, library: str = ..., format: Literal["RDQD0100"] = ...) -> RDQD0100: ...

    @overload
    def qmhqrdqd(self, name: str, library: str, format: Literal["RDQD0200"]) -> RDQD0200: ...

    @overload
    def qmhqrdqd(self, name: str, library: str = ..., *, format: Literal["RDQD0200"]) -> RDQD0200: ...

    @declare("QMHQRDQD")
    def qmhqrdqd(self, name: str, library: str = "", format: str = "RDQD0100") -> RDQD0100 | RDQD0200:  # noqa: A002
        """Retrieve the description of a data queue.

        Args:
            name: the data queue: ``"LIB/NAME"``, or a name of 1 to 10 characters.
            library: its library, ``*LIBL`` (when neither says one) or ``*CURLIB``.
            format: ``RDQD0100``, or ``RDQD0200`` for what only a DDM queue has.

        Raises:
            EscapeMessage: CPF3C21 format, CPF9516 not for this queue, CPF9503 locked, CPF9801 and CPF9810 not found,
                CPF9802 and CPF9820 not authorized.
        """
        self.check_usable()
        self.check_description(format, LIMITS["receiver_minimum"])
        data = self.describe(name, library, format, layout(format).length)
        self.give_turn()
        return _RECORDS[format](**layout(format).parse(data, self.page))

    def check_description(self, format_name: str, receiver_length: int) -> None:
        """Refuse what can be refused before the queue is looked for."""
        self._dispatcher.check_thread()
        if format_name not in _RECORDS:
            self.fail("CPF3C21", format_name)
        if receiver_length < LIMITS["receiver_minimum"]:
            self.fail("CPF3C24")

    def describe(self, name: str, library: str, format_name: str, receiver_length: int) -> bytes:
        """The description's bytes, as many as the receiver takes."""
        name, library = self.place(name, library)
        self.begin("QMHQRDQD", name, library)
        self.check_description(format_name, receiver_length)
        queue = self.open_queue("QMHQRDQD", name, library)
        if format_name == "RDQD0200" and not queue.ddm:
            self.fail("CPF9516", format_name)
        self.await_lock("QMHQRDQD", queue)
        self.note("QMHQRDQD", queue, messages=0 if queue.ddm else queue.count)
        form = layout(format_name)
        values = _standard(self, queue) if format_name == "RDQD0100" else _distributed(queue)
        values["bytes_available"] = form.length
        values["bytes_returned"] = min(receiver_length, form.length)
        return form.build(values, self.page)[:receiver_length]


def _standard(job: JobCore, queue: DataQueue) -> dict[str, Any]:
    attributes = queue.attributes
    values: dict[str, Any] = {
        "text_description": queue.text,
        "data_queue_name_used": queue.name,
        "data_queue_library_used": queue.library,
    }
    if queue.ddm:
        return values | _fixed_for_ddm(layout("RDQD0100"))
    reclaimed = queue.last_reclaim_ns
    return values | {
        "message_length": attributes.maxlen,
        "key_length": attributes.keylen,
        "sequence": attributes.seq[1],
        "include_sender_id": "Y" if attributes.senderid else "N",
        "force_indicator": "Y" if attributes.force else "N",
        "type_of_data_queue": "0",
        "automatic_reclaim": "1" if queue.autorcl else "0",
        "enforce_data_queue_locks": "1" if queue.enforce else "0",
        "number_of_messages": queue.count,
        "number_of_entries_currently_allocated": queue.allocated,
        "maximum_number_of_entries_allowed": queue.maximum,
        "initial_number_of_entries": attributes.initial,
        "maximum_number_of_entries_specified": attributes.size,
        "last_reclaim_date_and_time": ns_to_dts(reclaimed, job.system.offset_at(reclaimed)) if reclaimed else NO_DTS,
    }


def _fixed_for_ddm(form: Format) -> dict[str, Any]:
    return {field.name: _fixed(field) for field in form.fields if field.ddm}


def _fixed(field: FormatField) -> Any:
    if field.kind == "B":
        return int(field.ddm)
    return bytes.fromhex(field.ddm) if field.kind == "H" else field.ddm.strip()


def _distributed(queue: DataQueue) -> dict[str, Any]:
    attributes = queue.attributes
    rdb = bool(attributes.rdb)
    return {
        "appc_device_description": "" if rdb else attributes.dev,
        "mode": "" if rdb else attributes.mode,
        "remote_location_name": attributes.rmtlocname,
        "local_location_name": "" if rdb else attributes.lcllocname,
        "remote_network_identifier": "" if rdb else attributes.rmtnetid,
        "remote_data_queue_name": attributes.rmtdtaq,
        "remote_data_queue_library_name": attributes.rmtdtaqlib,
        "data_queue_name_used": queue.name,
        "data_queue_library_used": queue.library,
        "relational_database_name": attributes.rdb,
    }
