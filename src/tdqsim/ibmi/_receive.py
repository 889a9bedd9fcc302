"""QRCVDTAQ and QCLRDTAQ: receive from and clear a data queue.

There is one way to receive, :func:`receive_entry`: find the queue (the job remembers where), check the key, ask the
queue's ``receive``, which the queue binds by its state (:mod:`tdqsim.ibmi._queue`), and wait where there is no entry.
All forms of a receive, the byte form, the SQL service and the requests of other systems included, are calls of it.
"""

from __future__ import annotations

from threading import get_ident
from types import MappingProxyType
from typing import Literal, NoReturn

from tdqsim.core.argument_types import BARE, raise_wrong_type
from tdqsim.core.dispatch import TimedOut
from tdqsim.core.store import Entry, SearchOrder
from tdqsim.ibmi._commands import job_command
from tdqsim.ibmi._ddm_queues import clear_remotely, receive_remotely
from tdqsim.ibmi._declare import declare, declare_hot
from tdqsim.ibmi._entries import Journaling, Received
from tdqsim.ibmi._errors import ParameterError, check_flags
from tdqsim.ibmi._fact_tables import LIMITS
from tdqsim.ibmi._job_core import JobBase, JobCore
from tdqsim.ibmi._lock_manager import Request
from tdqsim.ibmi._names import place, wait_seconds
from tdqsim.ibmi._queue import DataQueue, nothing_journaled
from tdqsim.ibmi._send import checked_bytes
from tdqsim.ibmi._waits import Waiter, asked, enter, give_back, leave, note_receive, serve
from tdqsim.ibmi.records import DataQueueEntry, KeyOrder, sender_of

__all__ = ["KEY_ORDERS", "qclrdtaq", "qrcvdtaq", "receive", "receive_entry", "return_entry", "wait_nanoseconds"]

_ORDERS = {order.name: order for order in SearchOrder}
KEY_ORDERS = MappingProxyType(_ORDERS)
"""GT LT NE EQ GE LE."""

_NS = 1_000_000_000
_UNITS = MappingProxyType({"*SEC": _NS, "*MSEC": _NS // LIMITS["wait_units_per_second_msec"]})
_new = tuple.__new__
"""``_make`` of a named tuple without its check of the length."""


@declare_hot("QRCVDTAQ")
def qrcvdtaq(
    job: JobBase,
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
    core = job._core
    dispatcher = core.dispatcher
    if get_ident() != dispatcher.thread:
        dispatcher.check_thread()
    if remove is not True or receiver_size is not None:
        check_flags(remove=remove)
        _check_size(receiver_size)
    try:
        wait_ns: int | None = 0
        if wait or type(wait) is not int or wait_units != "*SEC":
            wait_ns = wait_nanoseconds(core, name, library, wait, wait_units)
        entry = receive_entry(core, name, library, wait_ns, key_order, key, remove)
    except BARE as error:
        raise_wrong_type(error, "qrcvdtaq", qrcvdtaq, (job, name, library), {})
        raise
    if dispatcher.ready or dispatcher.deadlines:
        core.give_turn()
    if entry is None:
        return None
    data, found, sender, _ = entry
    moved = data if receiver_size is None else data[:receiver_size]
    return _new(DataQueueEntry, (moved, len(data), found, sender_of(sender, core.page) if sender else None))


def receive_entry(
    job: JobCore, name: str, library: str, wait_ns: int | None, key_order: str, key: bytes | None, remove: bool = True,
    room: int | None = None,
) -> Received | None:  # fmt: skip
    """What a receive gets, as it is stored.

    Args:
        job: who receives.
        name: the data queue.
        library: its library, ``*LIBL`` or ``*CURLIB``.
        wait_ns: None for ever, 0 not at all.
        key_order: the relation.
        key: the key, None for none.
        remove: False leaves the entry.
        room: bytes of a receiver whose size the caller does not pass; an entry that does not fit stays on the queue.
    """
    if key is not None and type(key) is not bytes:
        key = checked_bytes(key, "key")
    queue = job.receiving.get((name, library))
    if queue is None:
        queue = job.open_for("QRCVDTAQ", job.receiving, name, library)
        if queue.ddm:
            return receive_remotely(job, queue, wait_ns, key_order, key, room, remove=remove)
    search = None
    if key or queue.key_length:
        search = _ORDERS.get(key_order)
        if key is None or len(key) != queue.key_length or search is None:
            job.operation = ("QRCVDTAQ", *place(name, library))
            _refuse_key(job, queue, key)
    if wait_ns != 0 or room is not None:
        job.operation = ("QRCVDTAQ", *place(name, library))  # for a failure, which is recorded with these names
    if remove and room is None:
        journaling = _journaling(job, queue) if queue.journal else nothing_journaled
        take = queue.receive  # as in QSNDDTAQ
        entry = take(search, key or b"", journaling, job.clock)
    else:
        entry = _receive_if_it_fits(job, queue, search, key or b"", room, remove=remove)
    if entry is None and wait_ns != 0:
        return _wait_for_entry(job, queue, search, key or b"", wait_ns, room, remove=remove)
    if queue.trace is not None:
        note_receive(job, queue, entry, search, key or b"", remove=remove)
    return entry


def _refuse_key(job: JobCore, queue: DataQueue, key: bytes | None) -> NoReturn:
    """End the command for a key that does not suit the queue, else for its order."""
    if not queue.key_length:
        job.fail("CPF9502", queue.name, queue.library)
    if key is None:
        job.fail("CPF9501", queue.name, queue.library)
    if len(key) != queue.key_length:
        job.fail("CPF9506", queue.name, queue.library, queue.key_length)
    job.fail("CPF9504")


def _journaling(job: JobCore, queue: DataQueue) -> Journaling:
    return lambda entry: job.system.journals.received(job, queue, entry.key)


def _receive_if_it_fits(
    job: JobCore, queue: DataQueue, search: SearchOrder | None, key: bytes, room: int | None, *, remove: bool
) -> Received | None:
    """A receive that looks first: it may leave the entry, or the receiver may be too small for it."""
    entry = queue.stored.next(search, key)
    if entry is not None and room is not None and len(entry.data) > room:
        job.fail("CPF24B4")
    if not remove or entry is None:
        return entry
    return queue.receive(search, key, _journaling(job, queue), job.clock)


def _wait_for_entry(
    job: JobCore, queue: DataQueue, search: SearchOrder | None, key: bytes, wait_ns: int | None, room: int | None, *,
    remove: bool,
) -> Entry | None:  # fmt: skip
    waiter = Waiter(job, queue, search, key, remove=remove)
    locks, lock = job.system.locks, Request(queue, "*SHRUPD")
    enforced = queue.enforce
    job.waiters.add(waiter)
    enter(waiter)
    if enforced:
        locks.hold(job, lock)
    if queue.trace is not None:
        job.note("WAIT", queue, **asked(search, key, remove=remove))
    try:
        entry = job.dispatcher.wait(waiter.attempt, waiter.parked, wait_ns)
    except TimedOut:
        if queue.trace is not None:
            note_receive(job, queue, None, search, key, remove=remove, waited=True)
        return None
    except BaseException:
        give_back(waiter)
        raise
    finally:
        leave(waiter)
        job.waiters.discard(waiter)
        if enforced:
            locks.release(job, lock)
    if entry is None:
        job.fail_for("CPF9805", queue)
    if room is not None and len(entry.data) > room:
        give_back(waiter)
        job.fail("CPF24B4")
    if remove:
        queue.take_promised(entry, _journaling(job, queue), job.clock.time_ns())
    return entry


@job_command
def receive(
    job: JobCore, name: str, library: str = "", *, wait: float | None = 0, key_order: str = "EQ",
    key: bytes | None = None, remove: bool = True,
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
    found = receive_entry(job, name, library, wait_ns, key_order, key, remove)
    job.give_turn()
    return None if found is None else Entry(*found)


@job_command
def return_entry(job: JobCore, name: str, library: str, entry: Entry) -> None:
    """Put back an entry that :meth:`receive` gave and that could not be used: it is the next of its key, or of all.

    Where several are put back the oldest is the next, but of a LIFO queue the last one.

    The journal of a journaled queue, which records that it was received, records it as an entry that is sent.

    Raises:
        EscapeMessage: as for QRCVDTAQ; CPF9805 the queue is gone, and the one of its name has no such entries.
    """
    job.check_usable()
    queue = job.open_queue("QRCVDTAQ", *place(name, library))
    if queue.ddm:
        return  # the entry belonged to another system, which knows that it was removed
    if not queue.could_have_had(entry):
        job.fail_for("CPF9805", queue)
    queue.put_back(entry, job.system.journals.sent(job, queue, entry))
    job.note("GIVEBACK", queue, entry.data, entry.key)
    serve(queue, entry)
    job.give_turn()


@declare("QCLRDTAQ")
def qclrdtaq(job: JobCore, name: str, library: str = "", key_order: KeyOrder = "EQ", key: bytes | None = None) -> int:
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
    name, library = place(name, library)
    job.begin("QCLRDTAQ", name, library)
    key = b"" if key is None else checked_bytes(key, "key")
    queue = job.open_queue("QCLRDTAQ", name, library)
    if queue.ddm:
        clear_remotely(job, queue, key)
        return 0
    job.await_lock("QCLRDTAQ", queue)
    search = _ORDERS.get(key_order) if key else None
    if key and (len(key) != queue.key_length or search is None):
        _refuse_key(job, queue, key)
    also = job.system.journals.cleared(job, queue, key)
    gone = queue.clear(search, key, also, job.clock.time_ns())
    if queue.trace is not None:
        job.note("QCLRDTAQ", queue, count=gone, **asked(search, key, remove=True))
    job.give_turn()
    return gone


def wait_nanoseconds(job: JobCore, name: str, library: str, wait: int, units: str = "*SEC") -> int | None:
    """The wait time of a receive in nanoseconds, None for one without end.

    Raises:
        EscapeMessage: CPF2472, it is more than 99999 or in other units.
        ParameterError: it is not a whole number.
    """
    job.check_usable()
    job.operation = ("QRCVDTAQ", *place(name, library))
    if not isinstance(wait, int) or isinstance(wait, bool):
        raise ParameterError(
            f"wait {wait!r}: a whole number of seconds (or milliseconds, wait_units='*MSEC') is needed"
        )
    if wait > LIMITS["wait_maximum"] or not isinstance(units, str) or units not in _UNITS:
        job.fail("CPF2472")
    return None if wait < 0 else wait * _UNITS[units]


def _check_size(receiver_size: int | None) -> None:
    if receiver_size is not None and (not isinstance(receiver_size, int) or receiver_size < 0):
        raise ParameterError(f"receiver_size {receiver_size!r}: a number of bytes from 0 is needed")
