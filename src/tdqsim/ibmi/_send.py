"""QSNDDTAQ: send to a data queue."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import get_ident

from tdqsim.core.argument_types import tell_wrong_type
from tdqsim.core.codepage import codepage
from tdqsim.core.store import Entry
from tdqsim.errors import StoreFull
from tdqsim.ibmi._declare import declare
from tdqsim.ibmi._entries import STAMP_BYTES
from tdqsim.ibmi._errors import ParameterError, check_flags
from tdqsim.ibmi._job_core import JobCore
from tdqsim.ibmi._queue import DataQueue
from tdqsim.ibmi._waits import serve
from tdqsim.ibmi.layouts import layout

__all__ = ["SendApi", "checked_bytes"]

_JOURNAL_PAGE = codepage(37)
_new_entry: Callable[[tuple[bytes, bytes, bytes, int]], Entry] = partial(tuple.__new__, Entry)
"""``Entry._make`` without its check of the length."""


class SendApi(JobCore):
    """The API that sends."""

    @declare("QSNDDTAQ")
    def qsnddtaq(
        self,
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
            library: its library, ``*LIBL`` (when neither says one) or ``*CURLIB``.
            data: the entry, 1 to MAXLEN bytes.
            key: exactly KEYLEN bytes for a keyed queue; None (left out) or empty for others.
            asynchronous: do not wait for the other system; DDM queues only, a failure shows at the next access.
            from_journal_entry: ``data`` is the entry-specific data of a journal entry of type QS or QK.

        Raises:
            EscapeMessage: CPF2498 length, CPF9501 key missing, CPF9502 not keyed, CPF9506 key length, CPF950A full,
                CPF9510 asynchronous to a standard queue, CPF9511 from a journal entry to a DDM queue,
                CPF9801 and CPF9810 not found, CPF9802 and CPF9820 not authorized, CPF9503 locked.
            ParameterError: an argument is of the wrong type.
        """
        if get_ident() != self._dispatcher.thread:
            self._dispatcher.check_thread()
        try:
            queue = self._sending.get((name, library))
        except TypeError as error:
            tell_wrong_type(error, "qsnddtaq", SendApi.qsnddtaq, (self, name, library, data), {})
            raise
        if (
            queue is None or not queue.plain or type(data) is not bytes or not 0 < len(data) <= queue.maxlen
            or (key is not None and type(key) is not bytes)
            or (len(key) if key else 0) != queue.key_length or asynchronous or from_journal_entry
            or (queue.spare <= 0 and not queue.has_room())
        ):  # fmt: skip
            self._send_with_care(name, library, data, key, asynchronous=asynchronous, replay=from_journal_entry)
            self.give_turn()
            return
        now = queue.next_stamp(self._clock.time_ns())
        try:
            if key:
                queue.raw.put_entry(_new_entry((data, key, self.sender_id if queue.sender_id else b"", now)))
            elif queue.sender_id:
                queue.raw.put(now.to_bytes(STAMP_BYTES, "big") + self.sender_id + data)
            else:
                queue.raw.put(now.to_bytes(STAMP_BYTES, "big") + data)
        except StoreFull:
            self.doing = ("QSNDDTAQ", *self.place(name, library))
            self.fail("CPF6565")
        queue.spare -= 1
        if queue.trace is not None:
            event = ("QSNDDTAQ", self.qualified_name, queue.qualified, data, now)
            queue.trace((*event, key) if key else event)
        dispatcher = self._dispatcher
        if (dispatcher.ready or dispatcher.deadlines) and dispatcher.current is dispatcher.outside:
            dispatcher.run_ready()

    def _send_with_care(
        self, name: str, library: str, data: bytes, key: bytes | None, *, asynchronous: bool, replay: bool
    ) -> None:
        self.check_usable()
        check_flags(asynchronous=asynchronous, from_journal_entry=replay)
        asked = (name, library)
        name, library = self.place(name, library)
        self.doing = ("QSNDDTAQ", name, library)
        if self.system.faults is not None:
            self.meet_fault("QSNDDTAQ", name, library)
        data = checked_bytes(data, "data")
        key = key if key is None else checked_bytes(key, "key")
        queue = self._sending.get(asked)
        if queue is None or not queue.direct:
            queue = self.open_queue("QSNDDTAQ", name, library)
            if queue.ddm:
                if replay:
                    self.fail("CPF9511", queue.name)
                self.system.remote.send(self, queue, data, key, asynchronous=asynchronous)
                return
            self.await_lock("QSNDDTAQ", queue)
            if self.system.faults is None:
                self._keep_place(self._sending, asked, queue)
        if asynchronous:
            self.fail("CPF9510", queue.name, queue.library)
        sender = self.sender_id if queue.sender_id else b""
        if replay:
            data, sender = _replayed(self, queue, data)
        self._check_send(queue, data, key)
        self._enqueue(queue, data, key or b"", sender)

    def _check_send(self, queue: DataQueue, data: bytes, key: bytes | None) -> None:
        """Refuse a key or a length that the queue does not take, and a send to a full queue."""
        self.check_entry(queue, data, key)
        if not queue.has_room():
            self.fail("CPF950A", queue.name, queue.library)

    def check_entry(self, queue: DataQueue, data: bytes, key: bytes | None) -> None:
        """Refuse a key or a length that the queue does not take."""
        self._dispatcher.check_thread()
        if not queue.key_length and key:
            self.fail("CPF9502", queue.name, queue.library)
        if queue.key_length and key is None:
            self.fail("CPF9501", queue.name, queue.library)
        if len(key or b"") != queue.key_length:
            self.fail("CPF9506", queue.name, queue.library, queue.key_length)
        if not 0 < len(data) <= queue.maxlen:
            self.fail("CPF2498", queue.name, queue.library, queue.maxlen)

    def check_send_length(self, name: str, library: str, length: int, key: bytes | None) -> None:
        """Refuse a length that a standard queue would not take, whatever the data is."""
        self._dispatcher.check_thread()
        queue = self.open_queue("QSNDDTAQ", *self.place(name, library))
        if not queue.ddm:
            self.await_lock("QSNDDTAQ", queue)
            self.check_entry(queue, bytes(max(length, 0)), key)

    def _enqueue(self, queue: DataQueue, data: bytes, key: bytes, sender: bytes) -> None:
        """Put an entry that has passed the checks: journal it, hand it to a waiting job, commit a forced queue."""
        now = queue.next_stamp(self._clock.time_ns())
        entry = Entry(data, key, sender, now)
        try:
            queue.put(entry, self.system.journals.sent(self, queue, entry))
        except StoreFull:
            self.fail("CPF6565")
        if queue.trace is not None:
            queue.trace(("QSNDDTAQ", self.qualified_name, queue.qualified, data, now, key))
        if queue.waiters:
            serve(queue, entry)


def checked_bytes(value: bytes, what: str) -> bytes:
    """``value`` as bytes.

    Raises:
        ParameterError: it is something else, such as text.
    """
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise ParameterError(f"{what}: bytes are needed, not {type(value).__name__}; text is encoded by a named code page")


def _replayed(job: JobCore, queue: DataQueue, block: bytes) -> tuple[bytes, bytes]:
    """Data and sender ID of the entry-specific data of a QS or QK journal entry.

    The key of a QK entry is passed beside it and stands in front of the data here.

    Raises:
        EscapeMessage: CPF2498 when the block is shorter than its fixed part; CPF2207 when it has a sender ID and the
            caller may not use the profile named in it.
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
        _check_profile(job, sender)
    return data, sender if queue.sender_id else b""


def _check_profile(job: JobCore, sender: bytes) -> None:
    named = layout("SENDERID").parse(sender, _JOURNAL_PAGE).get("current_user", "")
    if not job.may_use_profile(named):
        job.fail("CPF2207", named, "USRPRF", "QSYS")
