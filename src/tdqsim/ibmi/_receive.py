"""QRCVDTAQ and QCLRDTAQ: receive from and clear a data queue."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import get_ident
from types import MappingProxyType
from typing import Literal

from tdqsim.core.argument_types import tell_wrong_type, types_told
from tdqsim.core.dispatch import TimedOut
from tdqsim.core.store import Entry, SearchOrder
from tdqsim.ibmi._declare import declare
from tdqsim.ibmi._entries import STAMP_BYTES, Journaling
from tdqsim.ibmi._errors import ParameterError, check_flags
from tdqsim.ibmi._fact import LIMITS
from tdqsim.ibmi._job_core import JobCore, wait_seconds
from tdqsim.ibmi._locks import Request
from tdqsim.ibmi._queue import DataQueue
from tdqsim.ibmi._send import checked_bytes
from tdqsim.ibmi._waits import Waiter, asked, enter, give_back, leave, note_receive, serve
from tdqsim.ibmi.records import DataQueueEntry, KeyOrder, SenderId, sender_of

__all__ = ["KEY_ORDERS", "ReceiveApi", "wait_nanoseconds"]

KEY_ORDERS = MappingProxyType({order.name: order for order in SearchOrder})
"""GT LT NE EQ GE LE."""

_NS = 1_000_000_000
_SIGNED = STAMP_BYTES + LIMITS["sender_id_length"]
_new_entry: Callable[[tuple[bytes, int, bytes, SenderId | None]], DataQueueEntry] = partial(
    tuple.__new__, DataQueueEntry
)
"""``DataQueueEntry._make`` without its check of the length."""
_UNITS = MappingProxyType({"*SEC": _NS, "*MSEC": _NS // LIMITS["wait_units_per_second_msec"]})


class ReceiveApi(JobCore):
    """The APIs that take entries off a data queue."""

    @declare("QRCVDTAQ")
    def qrcvdtaq(
        self,
        name: str,
        library: str = "",
        wait: int = 0,
        key_order: KeyOrder = "EQ",
        key: bytes | None = None,
        *,
        remove: bool = True,
        receiver_size: int | None = None,
        wait_units: Literal["*SEC", "*MSEC"] = "*SEC",
    ) -> DataQueueEntry | None:
        """Receive one entry from a data queue.

        Of a keyed queue: the entry with the lowest key that satisfies the relation, the oldest of those with that key.

        Args:
            name: the data queue: ``"LIB/NAME"``, or a name of 1 to 10 characters.
            library: its library, ``*LIBL`` (when neither says one) or ``*CURLIB``.
            wait: how long to wait for an entry: negative for ever, 0 not at all, at most 99999.
            key_order: GT LT NE EQ GE LE; looked at for keyed queues only.
            key: exactly KEYLEN bytes for a keyed queue; None (left out) or empty for others.
            remove: False looks at the entry and leaves it.
            receiver_size: at most so many bytes are moved; None for the whole entry.
            wait_units: ``*SEC``, or ``*MSEC`` for milliseconds.

        Returns:
            The entry, or None when there was none in time.

        Raises:
            EscapeMessage: CPF2472 wait time, CPF9501 key missing, CPF9502 not keyed, CPF9504 order, CPF9506 key length,
                CPF9511 peek at a DDM queue, CPF9503 locked, CPF9805 deleted during the wait, and those of finding it.
            ParameterError: an argument is of the wrong type.
        """
        if get_ident() != self._dispatcher.thread:
            self._dispatcher.check_thread()
        try:
            queue = self._receiving.get((name, library))
        except TypeError as error:
            tell_wrong_type(error, "qrcvdtaq", ReceiveApi.qrcvdtaq, (self, name, library), {})
            raise
        if (
            queue is not None and queue.plain_receive and remove is True and receiver_size is None
            and queue.trace is None and wait == 0 and type(wait) is int and wait_units == "*SEC"
            and (not (key or queue.key_length) or _plain_key(queue, key_order, key))
        ):  # fmt: skip
            found = self._receive_plainly(queue, key_order, key)
            dispatcher = self._dispatcher
            if (dispatcher.ready or dispatcher.deadlines) and dispatcher.current is dispatcher.outside:
                dispatcher.run_ready()
            return found
        check_flags(remove=remove)
        self.doing = ("QRCVDTAQ", *self.place(name, library))
        if self.system.faults is not None:
            self.meet_fault(*self.doing)
        entry = self.receive_entry(
            name, library, wait_nanoseconds(self, wait, wait_units), key_order, key, remove=remove
        )
        self.give_turn()
        if entry is None:
            return None
        size = _size(receiver_size, len(entry.data))
        return DataQueueEntry(entry.data[:size], len(entry.data), entry.key, sender_of(entry.sender, self.page))

    def _receive_plainly(self, queue: DataQueue, key_order: str, key: bytes | None) -> DataQueueEntry | None:
        """What is left of a receive from a plain queue that waits for nothing: a take."""
        if key:
            entry = queue.raw.take_key(KEY_ORDERS[key_order], key)
            if entry is None:
                return None
            data, found, sender, _ = entry
            return _new_entry((data, len(data), found, sender_of(sender, self.page) if sender else None))
        record = queue.raw.take()
        if record is None:
            return None
        if queue.sender_id:
            data = record[_SIGNED:]
            return _new_entry((data, len(data), b"", sender_of(record[STAMP_BYTES:_SIGNED], self.page)))
        return _new_entry((record[STAMP_BYTES:], len(record) - STAMP_BYTES, b"", None))

    @types_told
    def receive(
        self, name: str, library: str = "", *, wait: float | None = 0, key_order: str = "EQ", key: bytes | None = None,
        remove: bool = True,
    ) -> Entry | None:  # fmt: skip
        """Receive one entry as it is stored: for servers and tools, which need more than QRCVDTAQ gives.

        Args:
            name: the data queue: ``"LIB/NAME"``, or a name of 1 to 10 characters.
            library: its library, ``*LIBL`` (when neither says one) or ``*CURLIB``.
            wait: seconds to wait for an entry, 0 not at all, None for ever; without the limit of 99,999.
            key_order: GT LT NE EQ GE LE; looked at for keyed queues only.
            key: exactly KEYLEN bytes for a keyed queue.
            remove: False looks at the entry and leaves it.

        Returns:
            The entry (its ``data``, ``key``, the 36 bytes of its ``sender`` or none, and ``time_ns``, the moment of its
            enqueue since 1970 UTC), or None when there was none in time.

        Raises:
            EscapeMessage: as for QRCVDTAQ, but for CPF2472.
            ParameterError: a wait that is no number of seconds, or ``remove`` is neither True nor False.
        """
        check_flags(remove=remove)
        wait_ns = None if wait is None else wait_seconds(wait, "wait")
        if self.system.faults is not None:
            self.meet_fault("QRCVDTAQ", *self.place(name, library))
        entry = self.receive_entry(name, library, wait_ns, key_order, key, remove=remove)
        self.give_turn()
        return entry

    def return_entry(self, name: str, library: str, entry: Entry) -> None:
        """Put back an entry that :meth:`receive` gave and nobody could use: it is the next of its key, or of all.

        Where several are put back the oldest is the next, but of a LIFO queue the last one.

        The journal of a journaled queue, which has that it was received, has it as an entry that is sent.

        Raises:
            EscapeMessage: as for QRCVDTAQ; CPF9805 the queue is gone, and the one of its name has no such entries.
        """
        self.check_usable()
        queue = self.open_queue("QRCVDTAQ", *self.place(name, library))
        if queue.ddm:
            return  # it was another system's, which has heard that it went
        if not queue.could_have_had(entry):
            self._fail_for("CPF9805", queue)
        queue.put_back(entry, self.system.journals.sent(self, queue, entry))
        self.note("GIVEBACK", queue, entry.data, entry.key)
        serve(queue, entry)
        self.give_turn()

    def receive_entry(
        self, name: str, library: str, wait_ns: int | None, key_order: str, key: bytes | None, *, remove: bool,
        room: int | None = None,
    ) -> Entry | None:  # fmt: skip
        """The entry that a receive gets, as it is stored; the one implementation below all forms.

        Args:
            name: the data queue.
            library: its library, ``*LIBL`` or ``*CURLIB``.
            wait_ns: None for ever, 0 not at all.
            key_order: the relation.
            key: the key, None for none.
            remove: False leaves the entry.
            room: bytes of a receiver that is not told its size; an entry that does not fit is left on the queue.
        """
        self.check_usable()
        key = key if key is None else checked_bytes(key, "key")
        asked = (name, library)
        name, library = self.place(name, library)
        self.doing = ("QRCVDTAQ", name, library)
        queue = self._receiving.get(asked)
        if queue is None or not queue.direct:
            queue = self.open_queue("QRCVDTAQ", name, library)
            if queue.ddm:
                return self._receive_remotely(queue, wait_ns, key_order, key, room, remove=remove)
            self.await_lock("QRCVDTAQ", queue)
            if self.system.faults is None:
                self._keep_place(self._receiving, asked, queue)
        search = self._check_key(queue, key_order, key)
        entry = self._next_entry(queue, search, key or b"", room, remove=remove)
        if entry is not None or wait_ns == 0:
            if queue.trace is not None:
                note_receive(self, queue, entry, search, key or b"", remove=remove)
            return entry
        return self._wait_for_entry(queue, search, key or b"", wait_ns, room, remove=remove)

    def _check_key(self, queue: DataQueue, key_order: str, key: bytes | None) -> SearchOrder | None:
        """The relation to search by, None for a queue without keys; refuses what does not go with the queue."""
        if not queue.key_length:
            if key:
                self.fail("CPF9502", queue.name, queue.library)
            return None
        if key is None:
            self.fail("CPF9501", queue.name, queue.library)
        if len(key) != queue.key_length:
            self.fail("CPF9506", queue.name, queue.library, queue.key_length)
        if key_order not in KEY_ORDERS:
            self.fail("CPF9504")
        return KEY_ORDERS[key_order]

    def _receive_remotely(
        self, queue: DataQueue, wait_ns: int | None, key_order: str, key: bytes | None, room: int | None, *,
        remove: bool,
    ) -> Entry | None:  # fmt: skip
        if not remove:
            self.fail("CPF9511", queue.name)
        whole = wait_ns if wait_ns is None else wait_ns - wait_ns % _NS  # DDM waits know no milliseconds
        return self.system.remote.receive(self, queue, whole, key_order, key, room)

    def _next_entry(
        self, queue: DataQueue, search: SearchOrder | None, key: bytes, room: int | None, *, remove: bool
    ) -> Entry | None:
        if not remove or room is not None:
            entry = queue.stored.next(search, key)
            if entry is not None and room is not None and len(entry.data) > room:
                self.fail("CPF24B4")
            if not remove or entry is None:
                return entry
        return queue.take(search, key, self._journaling(queue), self._clock.time_ns())

    def _journaling(self, queue: DataQueue) -> Journaling:
        return lambda entry: self.system.journals.received(self, queue, entry.key)

    def _wait_for_entry(
        self, queue: DataQueue, search: SearchOrder | None, key: bytes, wait_ns: int | None, room: int | None, *,
        remove: bool,
    ) -> Entry | None:  # fmt: skip
        waiter = Waiter(self, queue, search, key, remove=remove)
        locks, lock = self.system.locks, Request(queue, "*SHRUPD")
        enforced = queue.enforce
        enter(waiter)
        if enforced:
            locks.hold(self, lock)
        if queue.trace is not None:
            self.note("WAIT", queue, **asked(search, key, remove=remove))
        try:
            entry: Entry | None = self._dispatcher.wait(waiter.attempt, waiter.parked, wait_ns)
        except TimedOut:
            if queue.trace is not None:
                note_receive(self, queue, None, search, key, remove=remove, waited=True)
            return None
        except BaseException:
            give_back(waiter)
            raise
        finally:
            leave(waiter)
            if enforced:
                locks.release(self, lock)
        if entry is None:
            self._fail_for("CPF9805", queue)
        if room is not None and len(entry.data) > room:
            give_back(waiter)
            self.fail("CPF24B4")
        if remove:
            queue.take_promised(entry, self._journaling(queue), self._clock.time_ns())
        return entry

    @declare("QCLRDTAQ")
    def qclrdtaq(self, name: str, library: str = "", key_order: KeyOrder = "EQ", key: bytes | None = None) -> int:
        """Clear a data queue: every entry, or every entry whose key satisfies a relation.

        Args:
            name: the data queue: ``"LIB/NAME"``, or a name of 1 to 10 characters.
            library: its library, ``*LIBL`` (when neither says one) or ``*CURLIB``.
            key_order: GT LT NE EQ GE LE; looked at only when there is a key.
            key: exactly KEYLEN bytes; None or empty clears everything.

        Returns:
            How many entries went, 0 for a DDM queue (the byte form does not say).

        Raises:
            EscapeMessage: CPF9502 not keyed, CPF9504 order, CPF9506 key length, CPF9511 clear by key of a DDM queue,
                CPF9503 locked, and those of finding it.
        """
        name, library = self.place(name, library)
        self.begin("QCLRDTAQ", name, library)
        key = b"" if key is None else checked_bytes(key, "key")
        queue = self.open_queue("QCLRDTAQ", name, library)
        if queue.ddm:
            if key:
                self.fail("CPF9511", queue.name)
            self.system.remote.clear(self, queue)
            return 0
        self.await_lock("QCLRDTAQ", queue)
        search = self._check_key(queue, key_order, key) if key else None
        also = self.system.journals.cleared(self, queue, key)
        gone = queue.clear(search, key, also, self._clock.time_ns())
        if queue.trace is not None:
            self.note("QCLRDTAQ", queue, count=gone, **asked(search, key, remove=True))
        self.give_turn()
        return gone


def _plain_key(queue: DataQueue, key_order: str, key: bytes | None) -> bool:
    """Whether a key and its order are right for the queue, so that nothing has to be refused."""
    return type(key) is bytes and len(key) == queue.key_length and key_order in KEY_ORDERS


def wait_nanoseconds(job: JobCore, wait: int, units: str = "*SEC") -> int | None:
    """A wait time in nanoseconds, None for one without end.

    Raises:
        EscapeMessage: CPF2472, it is more than 99999 or in other units.
        ParameterError: it is not a whole number.
    """
    if not isinstance(wait, int) or isinstance(wait, bool):
        raise ParameterError(
            f"wait {wait!r}: a whole number of seconds (or milliseconds, wait_units='*MSEC') is needed"
        )
    if wait > LIMITS["wait_maximum"] or not isinstance(units, str) or units not in _UNITS:
        job.fail("CPF2472")
    return None if wait < 0 else wait * _UNITS[units]


def _size(receiver_size: int | None, length: int) -> int:
    if receiver_size is None:
        return length
    if not isinstance(receiver_size, int) or receiver_size < 0:
        raise ParameterError(f"receiver_size {receiver_size!r}: a number of bytes from 0 is needed")
    return receiver_size
