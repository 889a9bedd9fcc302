"""The SQL services for data queues (schema QSYS2) as Python calls.

DATA_QUEUE_INFO and DATA_QUEUE_ENTRIES return rows with the columns of the view and the table function. SEND_DATA_QUEUE,
RECEIVE_DATA_QUEUE and CLEAR_DATA_QUEUE do the same as QSNDDTAQ, QRCVDTAQ and QCLRDTAQ. The additional restrictions of
the services (no FIRST, LAST and REVERSE for a keyed queue) apply here too. A key may be text, as KEY_DATA is.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import partial
from itertools import islice
from typing import NamedTuple, cast

from tdqsim.core.store import Entry
from tdqsim.errors import ConversionError
from tdqsim.ibmi.dts import NO_DTS, dts_to_datetime, ns_to_dts
from tdqsim.ibmi.errors import ParameterError
from tdqsim.ibmi.fact_tables import LIMITS, OPERATIONS
from tdqsim.ibmi.job_core import JobCore
from tdqsim.ibmi.names import place
from tdqsim.ibmi.queue import DataQueue
from tdqsim.ibmi.queue_state import DataQueueState
from tdqsim.ibmi.receive import KEY_ORDERS, qclrdtaq, receive_entry
from tdqsim.ibmi.records import KeyOrder, SenderId, sender_of
from tdqsim.ibmi.retrieve import open_for_retrieval
from tdqsim.ibmi.send import checked_bytes, qsnddtaq

_NS = 1_000_000_000
_SELECTIONS = ("ALL", "FIRST", "LAST", "REVERSE", "KEY")


class DataQueueInfoRow(NamedTuple):
    """One row of DATA_QUEUE_INFO; None is the null value."""

    data_queue_library: str
    data_queue_name: str
    data_queue_type: str
    maximum_message_length: int | None
    sequence: str | None
    key_length: int | None
    include_sender_id: str | None
    current_messages: int | None
    maximum_messages: int | None
    specified_maximum_messages: int | None
    initial_message_allocation: int | None
    current_message_allocation: int | None
    force: str | None
    automatic_reclaim: str | None
    last_reclaim_timestamp: datetime | None
    enforce_data_queue_locks: str | None
    text_description: str | None
    remote_data_queue_library: str | None
    remote_data_queue: str | None
    remote_location: str | None
    relational_database_name: str | None
    appc_device_description: str | None
    local_location: str | None
    mode: str | None
    remote_network_id: str | None


class DataQueueEntriesRow(NamedTuple):
    """One row of DATA_QUEUE_ENTRIES; sender columns are None for a queue without sender IDs."""

    ordinal_position: int
    message_data: str
    message_data_utf8: str
    message_data_binary: bytes
    key_data: bytes | None
    message_enqueue_timestamp: datetime
    sender_job_name: str | None
    sender_current_user: str | None


class ReceiveDataQueueRow(NamedTuple):
    """The row of RECEIVE_DATA_QUEUE."""

    message_data: str
    message_data_utf8: str
    message_data_binary: bytes
    key_data: bytes | None
    sender_job_name: str | None
    sender_current_user: str | None


class Services:
    """The services, executed by a job.

    Args:
        job: the job.
        taken: gets the library, the name and the entry of each receive that removes one, for a server that may have to
            put it back; None for none.
    """

    def __init__(self, job: JobCore, taken: list[tuple[str, str, Entry]] | None = None) -> None:
        self._job = job
        self._taken = taken

    def data_queue_info(
        self,
        data_queue: str = "*",
        data_queue_library: str = "",
        *,
        after: tuple[str, str] = ("", ""),
        limit: int | None = None,
    ) -> tuple[DataQueueInfoRow, ...]:
        """The queues that the job is authorized to describe, sorted by library and name.

        Args:
            data_queue: a name or a generic name (``APP*``), or ``"LIB/NAME"``, both of which may be generic.
            data_queue_library: a name or a generic name of the library; any library by default.
            after: a library and name after which the rows begin, for clients that read page by page.
            limit: the maximum number of rows.
        """
        job = self._job
        job.begin("DATA_QUEUE_INFO")
        data_queue_name, data_queue_library = place(data_queue, data_queue_library, default="*")
        named = {
            (queue.library, queue.name): queue
            for queue in (*job.system.objects.queues(), *job.qtemp.objects.values())
            if isinstance(queue, DataQueue)
            and fnmatchcase(queue.library, data_queue_library)
            and fnmatchcase(queue.name, data_queue_name)
        }
        places = sorted(place for place in named if place > after)
        described = (named[place] for place in places if self._may_describe(named[place]))
        return tuple(_info(job.system.objects.state_of(queue)) for queue in islice(described, limit))

    def _may_describe(self, queue: DataQueue) -> bool:
        job, operation = self._job, OPERATIONS["QMHQRDQD"]
        library = job.library(queue.library)
        return (
            library is not None
            and operation.library_authority <= job.granted(library)
            and operation.object_authority <= job.granted(queue)
        )

    def data_queue_entries(
        self,
        data_queue: str,
        data_queue_library: str = "",
        selection_type: str = "ALL",
        key_data: str | bytes | None = None,
        key_order: KeyOrder | None = None,
        *,
        skip: int = 0,
        limit: int | None = None,
    ) -> tuple[DataQueueEntriesRow, ...]:
        """The entries of a queue; none is removed.

        Args:
            data_queue: ``"LIB/NAME"``, or its name.
            data_queue_library: its library, ``*LIBL`` (the default) or ``*CURLIB``.
            selection_type: ``ALL``, ``FIRST``, ``LAST``, ``REVERSE``, or ``KEY`` for a keyed queue.
            key_data: exactly KEYLEN bytes, with ``KEY``; text is converted to the CCSID of the job.
            key_order: GT LT NE EQ GE LE, with ``KEY``.
            skip: the number of rows to skip, for clients that read page by page.
            limit: the maximum number of rows.

        Raises:
            EscapeMessage: CPF9511 DDM queue, CPF950B selection, CPF950E not keyed, CPF950F key length, CPF9504 order,
                and those for finding the queue.
        """
        job = self._job
        key = self._key(key_data)
        queue = open_for_retrieval(job, data_queue, data_queue_library, "DATA_QUEUE_ENTRIES")
        chosen = self._selected(queue, selection_type, key, key_order, skip)
        rows = [self._row(queue, position, entry) for position, entry in enumerate(islice(chosen, limit), skip + 1)]
        job.note("DATA_QUEUE_ENTRIES", queue, selection=selection_type, rows=len(rows))
        return tuple(rows)

    def _selected(
        self, queue: DataQueue, selection: str, key: bytes | None, order: str | None, skip: int
    ) -> Iterator[Entry]:
        job = self._job
        pause = partial(job.system.dispatcher.yield_now, always=True)
        if selection not in _SELECTIONS or (queue.keyed and selection in ("FIRST", "LAST", "REVERSE")):
            job.fail("CPF950B", rule="DTAQ-QSYS2-KEYED" if selection in _SELECTIONS else "")
        if selection != "KEY":
            one = selection in ("FIRST", "LAST")
            limit = max(0, 1 - skip) if one else None
            reverse = selection in ("LAST", "REVERSE")
            return queue.stored.entries(reverse=reverse, skip=skip, limit=limit, pause=pause)
        if not queue.keyed:
            job.fail("CPF950E")
        if order is None or order not in KEY_ORDERS:
            job.fail("CPF9504")
        if key is None or len(key) != queue.key_length:
            job.fail("CPF950F")
        return queue.stored.matching(KEY_ORDERS[order], key, skip=skip, pause=pause)

    def _row(self, queue: DataQueue, position: int, entry: Entry) -> DataQueueEntriesRow:
        job = self._job
        stamp = ns_to_dts(entry.time_ns, job.system.offset_at(entry.time_ns))
        sender = sender_of(entry.sender, job.page)
        return DataQueueEntriesRow(
            position,
            *self._three(entry.data),
            entry.key if queue.keyed else None,
            dts_to_datetime(stamp),
            *_names(sender),
        )

    def _three(self, data: bytes) -> tuple[str, str, bytes]:
        return self._job.page.printable(data), data.decode("utf-8", "replace"), data

    def send_data_queue(
        self, message_data: str, data_queue: str, data_queue_library: str = "", key_data: str | bytes | None = None,
        asynchronous: str = "NO",
    ) -> None:  # fmt: skip
        """Send text, converted to the CCSID of the job; the other arguments are those of QSNDDTAQ."""
        data = self._job.page.encode(message_data)
        self.send_data_queue_binary(data, data_queue, data_queue_library, key_data, asynchronous)

    def send_data_queue_utf8(
        self, message_data: str, data_queue: str, data_queue_library: str = "", key_data: str | bytes | None = None,
        asynchronous: str = "NO",
    ) -> None:  # fmt: skip
        """Send text in UTF-8."""
        try:
            data = message_data.encode("utf-8")
        except UnicodeEncodeError as error:
            wrong = f"U+{ord(message_data[error.start]):04X}, half of a surrogate pair"
            raise ConversionError(f"character {error.start + 1} of the data is not in UTF-8: {wrong}") from None
        self.send_data_queue_binary(data, data_queue, data_queue_library, key_data, asynchronous)

    def send_data_queue_binary(
        self, message_data: bytes, data_queue: str, data_queue_library: str = "", key_data: str | bytes | None = None,
        asynchronous: str = "NO",
    ) -> None:  # fmt: skip
        """Send bytes."""
        if asynchronous not in ("YES", "NO"):
            raise ParameterError(f"asynchronous {asynchronous!r}: allowed are YES and NO")
        qsnddtaq(
            self._job.handle, data_queue, data_queue_library, message_data, self._key(key_data),
            asynchronous=asynchronous == "YES",
        )  # fmt: skip

    def receive_data_queue(
        self,
        data_queue: str,
        data_queue_library: str = "",
        remove: str = "YES",
        wait_time: float | Decimal = 0,
        key_data: str | bytes | None = None,
        key_order: KeyOrder | None = None,
    ) -> ReceiveDataQueueRow | None:
        """Receive one entry: returns a row, or None for no row.

        Args:
            data_queue: ``"LIB/NAME"``, or its name.
            data_queue_library: its library, ``*LIBL`` (the default) or ``*CURLIB``.
            remove: ``YES``, or ``NO`` to leave the entry on the queue.
            wait_time: seconds, -99999 to 99999; negative means for ever; up to 100 seconds with milliseconds.
            key_data: exactly KEYLEN bytes for a keyed queue; text is converted to the CCSID of the job.
            key_order: GT LT NE EQ GE LE.
        """
        job = self._job
        if remove not in ("YES", "NO"):
            raise ParameterError(f"remove {remove!r}: allowed are YES and NO")
        data_queue, data_queue_library = place(data_queue, data_queue_library)
        job.check_usable()
        job.operation = ("QRCVDTAQ", data_queue, data_queue_library)
        wait_ns, key = self._wait(wait_time), self._key(key_data)
        received = receive_entry(
            job, data_queue, data_queue_library, wait_ns, key_order or "", key, remove=remove == "YES"
        )
        job.give_turn()
        if received is None:
            return None
        data, entry_key, sender, time_ns = received
        if self._taken is not None and remove == "YES":
            entry = Entry(data=data, key=entry_key, sender=sender, time_ns=time_ns)
            self._taken.append((data_queue_library, data_queue, entry))
        return ReceiveDataQueueRow(*self._three(data), entry_key or None, *_names(sender_of(sender, job.page)))

    def _key(self, key: str | bytes | None) -> bytes | None:
        """The bytes of a key.

        Raises:
            ConversionError: a character is not in the CCSID of the job; a real system would substitute it.
        """
        if isinstance(key, str):
            return self._job.page.encode(key)
        return None if key is None else checked_bytes(key, "key_data")

    def _wait(self, seconds: float | Decimal) -> int | None:
        if not isinstance(seconds, int | float | Decimal) or not Decimal(seconds).is_finite():
            raise ParameterError(f"wait_time {seconds!r}: a number of seconds is needed")
        if not -LIMITS["wait_maximum"] <= seconds <= LIMITS["wait_maximum"]:
            self._job.fail("CPF2472")
        if seconds < 0:
            return None
        milliseconds = round(seconds * 1000)
        return (milliseconds if seconds <= LIMITS["sql_milliseconds_up_to"] else int(seconds) * 1000) * (_NS // 1000)

    def clear_data_queue(
        self,
        data_queue: str,
        data_queue_library: str = "",
        key_data: str | bytes | None = None,
        key_order: KeyOrder | None = None,
    ) -> None:
        """Clear a queue, or only the entries of a keyed queue whose keys are in a relation to ``key_data``.

        Text as the key is converted to the CCSID of the job.
        """
        order = cast("KeyOrder", key_order or "")
        qclrdtaq(self._job.handle, data_queue, data_queue_library, order, self._key(key_data))


def _names(sender: SenderId | None) -> tuple[str | None, str | None]:
    return (None, None) if sender is None else (str(sender), sender.current_user)


def _yes(value: bool) -> str:
    return "YES" if value else "NO"


def _info(state: DataQueueState) -> DataQueueInfoRow:
    attributes = state.attributes
    values: dict[str, object] = {
        **dict.fromkeys(DataQueueInfoRow._fields), "data_queue_library": state.library, "data_queue_name": state.name,
        "data_queue_type": "DDM" if state.ddm else "STANDARD", "text_description": state.text or None,
    }  # fmt: skip
    if not state.ddm:
        values |= {
            "maximum_message_length": attributes.maxlen, "sequence": attributes.seq.lstrip("*"),
            "key_length": attributes.keylen if attributes.seq == "*KEYED" else None,
            "include_sender_id": _yes(attributes.senderid), "current_messages": state.entries,
            "maximum_messages": state.maximum, "specified_maximum_messages": attributes.size,
            "initial_message_allocation": attributes.initial, "current_message_allocation": state.allocated,
            "force": _yes(attributes.force), "automatic_reclaim": _yes(state.autorcl),
            "enforce_data_queue_locks": _yes(state.enforce),
            "last_reclaim_timestamp": None if state.last_reclaim == NO_DTS else dts_to_datetime(state.last_reclaim),
        }  # fmt: skip
        return DataQueueInfoRow(**values)  # type: ignore[arg-type]
    values |= {
        "remote_data_queue_library": attributes.rmtdtaqlib,
        "remote_data_queue": attributes.rmtdtaq,
        "remote_location": attributes.rmtlocname,
    }
    if attributes.rdb:
        values["relational_database_name"] = attributes.rdb
    else:
        values |= {
            "appc_device_description": attributes.dev, "local_location": attributes.lcllocname, "mode": attributes.mode,
            "remote_network_id": attributes.rmtnetid,
        }  # fmt: skip
    return DataQueueInfoRow(**values)  # type: ignore[arg-type]
