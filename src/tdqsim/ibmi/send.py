"""QSNDDTAQ: send to a data queue.

There is one way to send: find the queue (in the job's cache, if possible), check the entry, pass it to the queue's
``send``, which the queue binds by its state (:mod:`tdqsim.ibmi.queue`), and serve a job that waits for it. A DDM queue
is never cached; its entries are sent to the other system.
"""

from __future__ import annotations

from threading import get_ident
from typing import NoReturn

from tdqsim.core.argument_types import raise_wrong_type
from tdqsim.core.codepage import codepage
from tdqsim.core.store import Entry
from tdqsim.errors import StoreFull
from tdqsim.ibmi.ddm_queues import send_remotely
from tdqsim.ibmi.declare import declare_hot
from tdqsim.ibmi.errors import ParameterError, check_flags
from tdqsim.ibmi.job_core import JobBase, JobCore
from tdqsim.ibmi.layouts import layout
from tdqsim.ibmi.names import NEGATIVE_KEY, place
from tdqsim.ibmi.queue import DataQueue
from tdqsim.ibmi.waits import serve

_JOURNAL_PAGE = codepage(37)


@declare_hot("QSNDDTAQ")
def qsnddtaq(
    job: JobBase,
    name: str,
    library: str = "",
    data: bytes = b"",
    key: bytes | None = None,
    *,
    asynchronous: bool = False,
    from_journal_entry: bool = False,
) -> None:
    """Send one entry to a data queue.

    Args:
        name: the data queue: ``"LIB/NAME"``, or a name of 1 to 10 characters.
        library: its library, ``*LIBL`` (the default) or ``*CURLIB``.
        data: the entry, 1 to MAXLEN bytes.
        key: exactly KEYLEN bytes for a keyed queue; None or empty for others.
        asynchronous: do not wait for the other system; only for DDM queues. A failure is reported at the next access.
        from_journal_entry: ``data`` is the entry-specific data of a journal entry of type QS or QK.

    Raises:
        EscapeMessage: CPF2498 length, CPF9501 key missing, CPF9502 not keyed, CPF9506 key length, CPF950A full,
            CPF9510 asynchronous to a standard queue, CPF9511 from a journal entry to a DDM queue,
            CPF9801 and CPF9810 not found, CPF9802 and CPF9820 not authorized, CPF9503 locked.
        ParameterError: an argument is of the wrong type.
    """
    core = job._core
    dispatcher = core.dispatcher
    if get_ident() != dispatcher.thread:
        dispatcher.check_thread()
    try:
        queue = core.sending.get((name, library))
    except TypeError as error:
        raise_wrong_type(error, "qsnddtaq", qsnddtaq, (job, name, library, data), {})
        raise
    if (
        queue is None or asynchronous is not False or from_journal_entry is not False
        or type(data) is not bytes or (key is not None and type(key) is not bytes)
    ):  # fmt: skip
        queue, data, key, sender = _prepared(core, (name, library), data, key, asynchronous, from_journal_entry)
        if queue.ddm:
            send_remotely(core, queue, data, key, asynchronous=asynchronous, replay=from_journal_entry)
            core.give_turn()
            return
    else:
        sender = core.sender_id if queue.sender_id else b""
    if (
        (len(key) if key else 0) != queue.key_length
        or not data
        or len(data) > queue.maxlen
        or (queue.spare <= 0 and not queue.has_room())
    ):
        _refuse(core, queue, (name, library), data, key)
    now = core.clock.time_ns()
    # Stamps identify the entries of a queue, so each must be later than the one before, even if the clock stands still.
    if now <= queue.stamp:
        now = queue.stamp + 1
    queue.stamp = now
    send = queue.send  # calling a function in an attribute is slower than calling a local one
    try:
        send(data, key, sender, now, core)
    except StoreFull:
        core.operation = ("QSNDDTAQ", *place(name, library))
        core.fail("CPF6565", rule="DTAQ-SEND-NO-ROOM-ON-DISK")
    queue.spare -= 1
    if queue.watched:
        _report(core, queue, data, key, sender, now)
    if dispatcher.ready or dispatcher.deadlines:
        core.give_turn()


def _report(job: JobCore, queue: DataQueue, data: bytes, key: bytes | None, sender: bytes, now: int) -> None:
    """Record a send, and hand the entry to a receive that waits for it."""
    if queue.trace is not None:
        event = ("QSNDDTAQ", job.qualified_name, queue.qualified, data, now)
        queue.trace((*event, key) if key else event)
    serve(queue, Entry(data, key or b"", sender, now))


def _prepared(
    job: JobCore, asked: tuple[str, str], data: bytes, key: bytes | None, asynchronous: bool, replay: bool
) -> tuple[DataQueue, bytes, bytes | None, bytes]:
    """Queue, data, key and sender ID of a send whose queue is not cached, or that has options or other types."""
    data, key = checked_bytes(data, "data"), None if key is None else checked_bytes(key, "key")
    check_flags(asynchronous=asynchronous, from_journal_entry=replay)
    queue = job.sending.get(asked)
    if queue is None:
        queue = job.open_for("QSNDDTAQ", job.sending, *asked)
    sender = job.sender_id if queue.sender_id else b""
    if not queue.ddm and (asynchronous or replay):
        job.operation = ("QSNDDTAQ", *place(*asked))
        if asynchronous:
            job.fail("CPF9510", queue.name, queue.library, rule="DTAQ-SEND-ASYNC-LOCAL")
        data, sender = _replayed(job, queue, data)
    return queue, data, key, sender


def _refuse(job: JobCore, queue: DataQueue, asked: tuple[str, str], data: bytes, key: bytes | None) -> NoReturn:
    """End the send with the reason for the refusal: key, length, or no room."""
    job.operation = ("QSNDDTAQ", *place(*asked))
    check_entry(job, queue, data, key)
    job.fail("CPF950A", queue.name, queue.library, rule="DTAQ-SEND-FULL")


def check_entry(job: JobCore, queue: DataQueue, data: bytes, key: bytes | None) -> None:
    """Refuse a key or a length that the queue does not accept."""
    if not queue.key_length and key:
        job.fail("CPF9502", queue.name, queue.library)
    if queue.key_length and key is None:
        job.fail("CPF9501", queue.name, queue.library, rule="DTAQ-SEND-KEY-MISSING")
    if len(key or b"") != queue.key_length:
        rule = "DTAQ-KEY-LENGTH-NEGATIVE" if key == NEGATIVE_KEY else ""
        job.fail("CPF9506", queue.name, queue.library, queue.key_length, rule=rule)
    if not 0 < len(data) <= queue.maxlen:
        rule = "" if data else "DTAQ-SEND-EMPTY"
        job.fail("CPF2498", queue.name, queue.library, queue.maxlen, rule=rule)


def check_send_length(job: JobCore, name: str, library: str, length: int, key: bytes | None) -> None:
    """Refuse a length that a standard queue does not accept, before the data is read."""
    job.operation = ("QSNDDTAQ", *place(name, library))
    queue = job.open_queue("QSNDDTAQ", *place(name, library))
    if not queue.ddm:
        job.await_lock("QSNDDTAQ", queue)
        check_entry(job, queue, bytes(max(length, 0)), key)


def checked_bytes(value: object, what: str) -> bytes:
    """``value`` as bytes.

    Raises:
        ParameterError: it is something else, such as text.
    """
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    cure = f"; job.page.encode({value!r:.40}) makes bytes of text" if isinstance(value, str) else ""
    raise ParameterError(f"{what}: bytes are needed, not {type(value).__name__}{cure}")


def _replayed(job: JobCore, queue: DataQueue, block: bytes) -> tuple[bytes, bytes]:
    """Data and sender ID from the entry-specific data of a QS or QK journal entry.

    The key of a QK entry is passed as a separate argument; in the entry-specific data it precedes the data.

    Raises:
        EscapeMessage: CPF2498 when the block is shorter than its fixed part; CPF2207 when it has a sender ID and the
            caller may not use the profile in it.
    """
    if len(block) <= layout("JOQS").length:
        job.fail("CPF2498", queue.name, queue.library, queue.maxlen)
    values = layout("JOQS").parse(block, _JOURNAL_PAGE)
    data = values["entry_data"][queue.key_length :]
    if values["sender_id_included"] != "Y":
        return data, job.sender_id if queue.sender_id else b""
    length = layout("SENDERID").length
    sender, data = data[:length], data[length:]
    if queue.sender_id:
        named = layout("SENDERID").parse(sender, _JOURNAL_PAGE).get("current_user", "")
        if not job.may_use_profile(named):
            job.fail("CPF2207", named, "USRPRF", "QSYS")
    return data, sender if queue.sender_id else b""
