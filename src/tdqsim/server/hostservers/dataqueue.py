"""The data queue server: attributes, create, delete, send, receive, clear, with the behaviour of the APIs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from tdqsim.hosting import Entry, JobInternals, shown_bytes
from tdqsim.ibmi import RDQD0100, EscapeMessage, Job, ParameterError
from tdqsim.server.hostservers.conversation import EBCDIC, Conversation, End, Reply, Step, SystemWork, text10
from tdqsim.server.hostservers.frames import Frame, FrameError, Refused, block, reply

_DONE, _MESSAGE, _SYNTAX, _DESTROYED, _NO_DATA = b"\xf0\x00", b"\xf0\x01", b"\xf0\x03", b"\xf0\x04", b"\xf0\x06"
_PROTOCOL_ERROR = 0xF002
_YES, _NO = b"\xf1", b"\xf0"
_TEXT, _ENTRY, _KEY = 0x5003, 0x5001, 0x5002
_COMMON, _FOUND = 0x8002, 0x8003
_RECEIVE, _SEND = 2, 5
_CHANGES = {_RECEIVE: "QRCVDTAQ", 3: "CRTDTAQ", 4: "DLTDTAQ", _SEND: "QSNDDTAQ", 6: "QCLRDTAQ"}
"""The requests that change something, with their operations; a receive may also leave the entry."""
_AUTHORITIES = {b"\xf0": "*ALL", b"\xf1": "*CHANGE", b"\xf2": "*EXCLUDE", b"\xf3": "*USE", b"\xf4": "*LIBCRTAUT"}
_SEQUENCES: dict[bytes, Literal["*FIFO", "*LIFO", "*KEYED"]] = {b"\xf0": "*FIFO", b"\xf1": "*LIFO", b"\xf2": "*KEYED"}
_KINDS = {"F": b"\xf0", "L": b"\xf1", "K": b"\xf2"}
_NO_SENDER = b"\x40" * 36
_SAME = {"CPF2110": "CPF9810", "CPF9805": "CPF9801"}
"""Message ids of commands, and the ids that this server sends for them."""


class DataQueueServer(Conversation):
    """One connection to the data queue server."""

    server_id = 0xE007
    service = "as-dtaq"
    job_name = "QZHQSSRV"
    wrong_server = _PROTOCOL_ERROR
    local_only = True

    def serve(self, frame: Frame) -> Step | None:
        """See the base class."""
        if frame.request == 0:
            frame.fixed(20, 6)
            return Reply(reply(frame, 0x8000, _DONE + self.host.vrm + bytes(2)))
        act = _REQUESTS.get(frame.request)
        if act is None:
            raise Refused(_PROTOCOL_ERROR, f"request {frame.request:04X} to the data queue server")
        job = self.job
        if job is None:
            return End("the server job has ended")
        names = frame.fixed(20, 20)
        name, library = text10(names[:10], job.page), text10(names[10:], job.page)
        call = act(job, frame, name, library)
        internals = JobInternals(job)
        taken: list[Entry] = []
        operation, what = _CHANGES.get(frame.request), f"{library}/{name}"

        def work() -> bytes:
            try:
                if act is not _create:  # this is a command, and checks names like one
                    internals.check_names(name, library)
                answer = call(taken)
            except EscapeMessage as error:
                return _escape(job, frame, error)
            except ParameterError:
                return reply(frame, _COMMON, _SYNTAX)
            if operation is not None:
                self.count_for_audit(operation, what)
            return answer

        def put_back() -> None:
            while taken:
                job.return_entry(name, library, taken.pop())

        undo = put_back if frame.request == _RECEIVE else None
        if frame.request == _SEND or (frame.request == _RECEIVE and frame.fixed(43, 4) == bytes(4)):
            return SystemWork(work, undo, lambda: work() if internals.is_immediate(name, library) else None)
        return SystemWork(work, undo, aside=frame.request == _RECEIVE)

    def refusal(self, frame: Frame, error: FrameError) -> bytes:
        """See the base class."""
        return reply(frame, _COMMON, error.code.to_bytes(2, "big") if isinstance(error, Refused) else _SYNTAX)


_Call = Callable[[list[Entry]], bytes]


def _escape(job: Job, frame: Frame, error: EscapeMessage) -> bytes:
    """The reply with an escape message."""
    if error.message_id == "CPF9805":
        return reply(frame, _COMMON, _DESTROYED)
    shown = _SAME.get(error.message_id, error.message_id)
    data = EBCDIC.encode(shown) + bytes(2) + shown_bytes(error.text, job.page)
    return reply(frame, _COMMON, _MESSAGE, block(_TEXT, data))


def _flag(frame: Frame, at: int) -> bool:
    value = frame.fixed(at, 1)
    if value not in (_YES, _NO):
        raise FrameError(f"request {frame.request:04X}: {value.hex()} at {at} is neither F0 nor F1")
    return value == _YES


def _key(frame: Frame, *, given: bool, start: int) -> bytes:
    """The key of a request; empty for none, because a key is never empty."""
    if not given:
        return b""
    key = frame.blocks(start).get(_KEY)
    if key is None:
        raise FrameError(f"request {frame.request:04X}: the key is missing")
    return key


def _described(job: Job, name: str, library: str) -> RDQD0100:
    """The attributes of a queue; refused for a DDM queue, which this server does not support.

    They prove no authority for a later receive: DTAQ-SERVER-ATTRIBUTES.
    """
    attributes = JobInternals(job).describe(name, library)
    if not attributes.sequence:
        job.fail("CPF9511", name, rule="DTAQ-SERVER-DDM")
    return attributes


def _attributes(job: Job, frame: Frame, name: str, library: str) -> _Call:
    def call(_taken: list[Entry]) -> bytes:
        described = _described(job, name, library)
        template = _DONE + described.message_length.to_bytes(4, "big")
        template += (_YES if described.include_sender_id == "Y" else _NO) + _KINDS.get(described.sequence, _NO)
        template += described.key_length.to_bytes(2, "big") + (_YES if described.force_indicator == "Y" else _NO)
        template += shown_bytes(f"{described.text_description:<50}", job.page)[:50]
        return reply(frame, 0x8001, template)

    return call


def _receive(job: Job, frame: Frame, name: str, library: str) -> _Call:
    keyed, peek = _flag(frame, 40), _flag(frame, 47)
    order = EBCDIC.printable(frame.fixed(41, 2)) if keyed else ""
    wait = frame.number(43, 4, signed=True)
    key = _key(frame, given=keyed, start=48)

    def call(taken: list[Entry]) -> bytes:
        entry = job.receive(name, library, wait=None if wait < 0 else wait, key_order=order, key=key, remove=not peek)
        if entry is None:
            return reply(frame, _COMMON, _NO_DATA)
        if not peek:
            taken.append(entry)
        rest = block(_ENTRY, entry.data) + (block(_KEY, entry.key) if entry.key else b"")
        return reply(frame, _FOUND, _DONE + (entry.sender or _NO_SENDER), rest)

    return call


def _create(job: Job, frame: Frame, name: str, library: str) -> _Call:
    length, key_length = frame.number(40, 4), frame.number(47, 2)
    sequence, authority = _SEQUENCES.get(frame.fixed(46, 1)), _AUTHORITIES.get(frame.fixed(44, 1))
    sender, force = _flag(frame, 45), _flag(frame, 49)
    text = job.page.printable(frame.fixed(50, 50)).rstrip(" ")
    if sequence is None or authority is None:
        raise FrameError("a create with a type or authority that does not exist")
    keywords: dict[str, Any] = {"keylen": key_length} if sequence == "*KEYED" else {}

    def call(_taken: list[Entry]) -> bytes:
        job.crtdtaq(
            dtaq=f"{library}/{name}", maxlen=length, seq=sequence, senderid="*YES" if sender else "*NO",
            force="*YES" if force else "*NO", text=text, aut=authority, **keywords,
        )  # fmt: skip
        return reply(frame, _COMMON, _DONE)

    return call


def _delete(job: Job, frame: Frame, name: str, library: str) -> _Call:
    def call(_taken: list[Entry]) -> bytes:
        if name.endswith("*") or (library.startswith("*") and library not in ("*LIBL", "*CURLIB")):
            raise ParameterError("a generic name can only be deleted by a command")
        job.dltdtaq(name, library)
        return reply(frame, _COMMON, _DONE)

    return call


def _send(job: Job, frame: Frame, name: str, library: str) -> _Call:
    keyed = _flag(frame, 40)
    _flag(frame, 41)  # checks the reply indicator; a reply is always sent
    sent = frame.blocks(42)
    entry = sent.get(_ENTRY, b"")
    key = _key(frame, given=keyed, start=42)

    def call(_taken: list[Entry]) -> bytes:
        job.qsnddtaq(name, library, entry, key)
        return reply(frame, _COMMON, _DONE)

    return call


def _clear(job: Job, frame: Frame, name: str, library: str) -> _Call:
    keyed = _flag(frame, 40)
    key = _key(frame, given=keyed, start=41)

    def call(_taken: list[Entry]) -> bytes:
        if keyed and not key:  # without a key, this would clear everything
            length = _described(job, name, library).key_length
            if length:
                job.fail("CPF9506", name, library, length, rule="DTAQ-SERVER-EMPTY-KEY")
            job.fail("CPF9502", name, library)
        job.qclrdtaq(name, library, "EQ", key)
        return reply(frame, _COMMON, _DONE)

    return call


_REQUESTS: dict[int, Callable[[Job, Frame, str, str], _Call]] = {
    1: _attributes, 2: _receive, 3: _create, 4: _delete, 5: _send, 6: _clear,
}  # fmt: skip
