"""QRCVDTAQ and QCLRDTAQ: receive from and clear a data queue.

There is one way to receive, :func:`receive_entry`: find the queue (in the job's cache, if possible), check the key,
call the queue's ``receive``, which the queue binds by its state (:mod:`tdqsim.ibmi.queue`), and wait if there is no
entry. All forms of a receive call it, including the byte form, the SQL service and the requests of other systems.
"""

from __future__ import annotations

from threading import get_ident
from types import MappingProxyType
from typing import Final, Literal, NoReturn

from tdqsim.core.argument_types import BARE, raise_wrong_type
from tdqsim.core.fiber import TimedOut
from tdqsim.core.store import Entry, SearchOrder
from tdqsim.ibmi.commands import job_command
from tdqsim.ibmi.ddm_queues import clear_remotely, receive_remotely
from tdqsim.ibmi.declare import declare, declare_hot
from tdqsim.ibmi.entries import Received
from tdqsim.ibmi.errors import ParameterError, check_flags
from tdqsim.ibmi.fact_tables import LIMITS
from tdqsim.ibmi.job_core import JobBase, JobCore
from tdqsim.ibmi.lock_manager import Request
from tdqsim.ibmi.names import NEGATIVE_KEY, place, wait_seconds
from tdqsim.ibmi.queue import DataQueue
from tdqsim.ibmi.records import DataQueueEntry, KeyOrder, sender_of
from tdqsim.ibmi.send import checked_bytes
from tdqsim.ibmi.waits import Waiter, asked, enter, give_back, leave, note_receive, serve

_ORDERS = {order.name: order for order in SearchOrder}
KEY_ORDERS = MappingProxyType(_ORDERS)
"""The key orders by name: GT LT NE EQ GE LE."""

_NOW: Final = 0
_NS = 1_000_000_000
_UNITS = MappingProxyType({"*SEC": _NS, "*MSEC": _NS // LIMITS["wait_units_per_second_msec"]})
_new = tuple.__new__
"""As ``_make`` of a named tuple, but without its check of the length, for speed."""


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

    From a keyed queue this is the entry with the lowest key that satisfies the key order; of several with that key, the
    oldest.

    Args:
        name: the data queue: ``"LIB/NAME"``, or a name of 1 to 10 characters.
        library: its library, ``*LIBL`` (the default) or ``*CURLIB``.
        wait: how long to wait for an entry: negative means for ever, 0 not at all; at most 99999.
        key_order: GT LT NE EQ GE LE; only used for keyed queues.
        key: exactly KEYLEN bytes for a keyed queue; None or empty for others.
        remove: False returns the entry and leaves it on the queue.
        receiver_size: the most bytes to move; None for the whole entry.
        wait_units: ``*SEC``, or ``*MSEC`` for milliseconds.

    Returns:
        The entry, or None when there was none in time.

    Raises:
        EscapeMessage: CPF2472 wait time, CPF9501 key missing, CPF9502 not keyed, CPF9504 order, CPF9506 key length,
            CPF9511 peek at a DDM queue, CPF9503 locked, CPF9805 deleted during the wait, and those for finding the
            queue.
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
        if wait is not _NOW or wait_units != "*SEC":
            wait_ns = wait_nanoseconds(core, place(name, library), wait, wait_units)
        entry = receive_entry(core, name, library, wait_ns, key_order, key, remove)
    except BARE as error:
        raise_wrong_type(error, "qrcvdtaq", qrcvdtaq, (job, name, library), {})
        raise
    if dispatcher.ready or dispatcher.deadlines:
        core.give_turn()
    if entry is None:
        return None
    data, entry_key, sender, _ = entry
    return _new(
        DataQueueEntry,
        (
            data if receiver_size is None else data[:receiver_size], len(data), entry_key,
            sender_of(sender, core.page) if sender else None,
        ),
    )  # fmt: skip


def receive_entry(
    job: JobCore, name: str, library: str, wait_ns: int | None, key_order: str, key: bytes | None, remove: bool = True,
    room: int | None = None,
) -> Received | None:  # fmt: skip
    """Receive an entry in its stored form; returns None when there was none in time.

    Args:
        job: the job that receives.
        name: the data queue.
        library: its library, ``*LIBL`` or ``*CURLIB``.
        wait_ns: how long to wait in nanoseconds; None means for ever, 0 not at all.
        key_order: GT LT NE EQ GE LE.
        key: the key, or None.
        remove: False leaves the entry on the queue.
        room: the size in bytes of a receiver whose size the caller does not pass; an entry that does not fit stays on
            the queue (CPF24B4).
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
    if remove and room is None:
        take = queue.receive  # calling a function in an attribute is slower than calling a local one
        entry = take(search, key, job)
    else:
        job.operation = ("QRCVDTAQ", *place(name, library))  # a failure is recorded with these names
        entry = _receive_if_it_fits(job, queue, search, key or b"", room, remove=remove)
    if entry is None and wait_ns != 0:
        job.operation = ("QRCVDTAQ", *place(name, library))
        return _wait_for_entry(job, queue, search, key or b"", wait_ns, room, remove=remove)
    if queue.trace is not None:
        note_receive(job, queue, entry, search, key or b"", remove=remove)
    return entry


def _refuse_key(job: JobCore, queue: DataQueue, key: bytes | None) -> NoReturn:
    """End the command because the key does not suit the queue, or otherwise because of the key order."""
    if not queue.key_length:
        job.fail("CPF9502", queue.name, queue.library)
    if key is None:
        job.fail("CPF9501", queue.name, queue.library, rule="DTAQ-RECEIVE-KEY-MISSING")
    if len(key) != queue.key_length:
        rule = "DTAQ-KEY-LENGTH-NEGATIVE" if key == NEGATIVE_KEY else ""
        job.fail("CPF9506", queue.name, queue.library, queue.key_length, rule=rule)
    job.fail("CPF9504", rule="DTAQ-CLEAR-ORDER" if job.operation[0] == "QCLRDTAQ" else "DTAQ-RECEIVE-ORDER")


def _receive_if_it_fits(
    job: JobCore, queue: DataQueue, search: SearchOrder | None, key: bytes, room: int | None, *, remove: bool
) -> Received | None:
    """A receive that first reads the entry, because it may leave it or the receiver may be too small."""
    entry = queue.stored.next(search, key)
    if entry is not None and room is not None and len(entry.data) > room:
        job.fail("CPF24B4")
    if not remove or entry is None:
        return entry
    return queue.receive(search, key, job)


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
        job.fail_for("CPF9805", queue, rule="DTAQ-RECEIVE-DELETED")
    if room is not None and len(entry.data) > room:
        give_back(waiter)
        job.fail("CPF24B4")
    if remove:
        queue.take_promised(entry, job)
    return entry


@job_command
def receive(
    job: JobCore, name: str, library: str = "", *, wait: float | None = 0, key_order: str = "EQ",
    key: bytes | None = None, remove: bool = True,
) -> Entry | None:  # fmt: skip
    """Receive one entry in its stored form, for servers and tools that need more than QRCVDTAQ returns.

    Args:
        name: the data queue: ``"LIB/NAME"``, or a name of 1 to 10 characters.
        library: its library, ``*LIBL`` (the default) or ``*CURLIB``.
        wait: seconds to wait for an entry; 0 means not at all, None for ever. The limit of 99,999 does not apply.
        key_order: GT LT NE EQ GE LE; only used for keyed queues.
        key: exactly KEYLEN bytes for a keyed queue.
        remove: False returns the entry and leaves it on the queue.

    Returns:
        The entry, or None when there was none in time. Its fields are ``data``, ``key``, ``sender`` (36 bytes, or
        empty) and ``time_ns``, the moment of its enqueue in nanoseconds since 1970 UTC.

    Raises:
        EscapeMessage: as for QRCVDTAQ, except CPF2472.
        ParameterError: ``wait`` is not a number of seconds, or ``remove`` is neither True nor False.
    """
    check_flags(remove=remove)
    wait_ns = None if wait is None else wait_seconds(wait, "wait")
    received = receive_entry(job, name, library, wait_ns, key_order, key, remove)
    job.give_turn()
    return None if received is None else Entry(*received)


@job_command
def return_entry(job: JobCore, name: str, library: str, entry: Entry) -> None:
    """Put back an entry that :meth:`receive` returned: it is the next one received (in a keyed queue with its key).

    When several are put back, the oldest comes first; in a LIFO queue the one put back last.

    For a journaled queue, the journal contains the receive, and now also an entry as for a send.

    Raises:
        EscapeMessage: as for QRCVDTAQ; CPF9805 the queue was deleted, and a new one of its name cannot have the entry.
    """
    job.check_usable()
    queue = job.open_queue("QRCVDTAQ", *place(name, library))
    if queue.ddm:
        return  # the entry belonged to another system, which knows that it was removed
    if not queue.could_have_had(entry):
        job.fail_for("CPF9805", queue)
    queue.put_back(entry, job.sent(queue, entry))
    job.note("GIVEBACK", queue, entry.data, entry.key)
    serve(queue, entry)
    job.give_turn()


@declare("QCLRDTAQ")
def qclrdtaq(job: JobCore, name: str, library: str = "", key_order: KeyOrder = "EQ", key: bytes | None = None) -> int:
    """Clear a data queue: remove all entries, or those whose keys satisfy a key order.

    Args:
        name: the data queue: ``"LIB/NAME"``, or a name of 1 to 10 characters.
        library: its library, ``*LIBL`` (the default) or ``*CURLIB``.
        key_order: GT LT NE EQ GE LE; only used when there is a key.
        key: exactly KEYLEN bytes; None or empty clears the whole queue.

    Returns:
        The number of entries removed; 0 for a DDM queue. (The byte form does not return it.)

    Raises:
        EscapeMessage: CPF9502 not keyed, CPF9504 order, CPF9506 key length, CPF9511 clear by key of a DDM queue,
            CPF9503 locked, and those for finding the queue.
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
    removed = queue.clear(search, key, also, job.clock.time_ns())
    if queue.trace is not None:
        job.note("QCLRDTAQ", queue, count=removed, **asked(search, key, remove=True))
    job.give_turn()
    return removed


def wait_nanoseconds(job: JobCore, asked: tuple[str, str], wait: int, units: str = "*SEC") -> int | None:
    """The wait time of a receive from ``asked`` (name and library) in nanoseconds; None for an endless one.

    Raises:
        EscapeMessage: CPF2472, it is more than 99999, or the units are not valid.
        ParameterError: it is not a whole number.
    """
    job.check_usable()
    job.operation = ("QRCVDTAQ", *asked)
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
