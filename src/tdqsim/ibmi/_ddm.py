"""The two sides of a DDM conversation: the requests of one system, and the server that carries them out on another.

What goes over a link of this module are messages (:mod:`tdqsim.core.messages`): a request in the name of a user, and
its answer, which is an entry, nothing, or the escape message with which the API ended there. The server carries
requests out in jobs of its own system, as a DDM conversation would. A system of the same process is served *at once*,
inside the ``send``; over a network each request is a strand of its own there and the requester waits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tdqsim.core.dispatch import WAIT, WaitMark, WaitQueue
from tdqsim.core.messages import Kinds, MessageFrame
from tdqsim.core.store import Entry
from tdqsim.core.transport import LinkDown, MessageChannel, Pipe, Transport
from tdqsim.errors import TdqError
from tdqsim.ibmi._receive import receive_entry
from tdqsim.ibmi.layouts import layout
from tdqsim.ibmi.messages import EscapeMessage, Message, message

if TYPE_CHECKING:
    from tdqsim.core.dispatch import Dispatcher, Strand
    from tdqsim.ibmi.job import Job
    from tdqsim.ibmi.system import System

__all__ = ["DdmLink", "DdmServer", "InProcessLink"]

_SERVER_JOB: Final = "QRWTSRVR"
_MESSAGE_ID: Final = re.compile(r"([A-Z][A-Z0-9]{2}[0-9A-F]{4})?", re.ASCII)
_MOST_SEVERE: Final = 99
_NONE: Final = -1
"""The number for no key, no limit, and an endless wait."""
_NAMED: Final = {"user": str, "name": str, "library": str, "route": list}
_ENTRY: Final = {"found": bool, "key": int, "sender": int, "time_ns": int}

KINDS: Final[Kinds] = {
    "SEND": {**_NAMED, "key": int},
    "RECEIVE": {**_NAMED, "key": int, "key_order": str, "wait_ns": int, "room": int},
    "CLEAR": _NAMED,
    "ABANDON": {"request": int},
    "DONE": _ENTRY,
    "FAILED": {"ids": list, "kinds": list, "severities": list, "texts": list, "lengths": list},
}
"""Each kind's fields. ``key`` and ``sender`` are lengths: the bytes stand before the data; ``lengths`` likewise."""
_NOTHING: Final = {"found": False, "key": _NONE, "sender": 0, "time_ns": 0}


# -- the side of the DDM queue ----------------------------------------------------------------------------------------


class DdmLink:
    """A link over a transport: the requests of one system, and the answers of the other.

    Args:
        dispatcher: where requests wait for their answers.
        transport: the way to a :class:`DdmServer`.
    """

    def __init__(self, dispatcher: Dispatcher, transport: Transport) -> None:
        self._dispatcher = dispatcher
        self._answers: dict[int, MessageFrame] = {}
        self._awaited = WaitQueue("an answer of a remote system")
        self._due: dict[int, Strand] = {}
        self._channel = MessageChannel(transport, KINDS, self._arrived, self._lost)

    def send(
        self, user: str, name: str, library: str, data: bytes, key: bytes | None, *, route: Sequence[str] = ()
    ) -> None:
        """Send to the remote queue."""
        length, beside = _with_key(key, data)
        self._ask("SEND", _named(user, name, library, route) | {"key": length}, beside)

    def receive(
        self, user: str, name: str, library: str, wait_ns: int | None, key_order: str, key: bytes | None,
        room: int | None = None, *, route: Sequence[str] = (),
    ) -> Entry | None:  # fmt: skip
        """Receive from the remote queue, removing; an entry of more than ``room`` bytes stays there (CPF24B4)."""
        length, beside = _with_key(key, b"")
        fields = {"key": length, "key_order": key_order, "wait_ns": _or_none(wait_ns), "room": _or_none(room)}
        answer = self._ask("RECEIVE", _named(user, name, library, route) | fields, beside)
        found = answer.fields
        if found.get("found") and not _is_entry(found, answer.data):
            raise LinkDown("the other system's answer is not valid")
        return _entry(answer)

    def clear(self, user: str, name: str, library: str, *, route: Sequence[str] = ()) -> None:
        """Clear the remote queue."""
        self._ask("CLEAR", _named(user, name, library, route), b"")

    def _ask(self, kind: str, fields: Mapping[str, Any], data: bytes) -> MessageFrame:
        number = self._channel.sent + 1  # it may be answered while it is sent
        self._due[number] = self._dispatcher.current
        try:
            self._channel.send(kind, fields, data)
            answer = self._answered(number, kind)
        finally:
            del self._due[number]
            self._answers.pop(number, None)
        if answer.kind == "FAILED":
            raise _escape(answer)
        return answer

    def _answered(self, number: int, kind: str) -> MessageFrame:
        def attempt() -> MessageFrame | WaitMark:
            answer = self._answers.pop(number, None)
            if answer is None and self._channel.is_lost:
                raise LinkDown(f"{kind} was not answered: the link is gone")
            return WAIT if answer is None else answer

        try:
            answer = self._dispatcher.wait(attempt, self._awaited)
        except BaseException:
            with suppress(LinkDown):  # what ends the wait is not to be hidden by that
                self._channel.send("ABANDON", {"request": number})
            raise
        return answer

    def _arrived(self, frame: MessageFrame) -> None:
        if not frame.answers or frame.kind not in ("DONE", "FAILED"):
            self._channel.close()
        elif frame.answers in self._due:  # else the requester has given up
            self._answers[frame.answers] = frame
            self._awaited.wake_all()

    def _lost(self, why: str) -> None:
        for strand in self._due.values():
            strand.cancel(LinkDown(why))
        self._awaited.wake_all()


# -- the side of the queue itself -------------------------------------------------------------------------------------


class DdmServer:
    """Carries out what another system's DDM queues ask for, in jobs of its own system, one for each request at a time.

    Args:
        system: the system.
        transport: the way to a :class:`DdmLink`.
        at_once: whether a request is carried out where it arrives; else by a strand of its own.
    """

    def __init__(self, system: System, transport: Transport, *, at_once: bool = True) -> None:
        self._system = system
        self._at_once = at_once
        self._idle: dict[str, list[Job]] = {}
        self._strands: dict[int, Strand] = {}
        self._channel = MessageChannel(transport, KINDS, self._arrived, self._lost)

    def _arrived(self, frame: MessageFrame) -> None:
        if frame.kind == "ABANDON":
            strand = self._strands.get(frame.fields["request"])
            if strand is not None:
                strand.cancel(LinkDown("the requester does not wait any more"))
        elif frame.kind not in _SERVED:
            self._channel.close()
        elif self._at_once:
            self._serve(frame)
        else:
            serve = partial(self._serve_alone, frame)
            name = f"{frame.kind} of a remote system"
            self._strands[frame.number] = self._system.dispatcher.spawn(serve, name=name, owner=self._system)

    def _lost(self, _why: str) -> None:
        for strand in self._strands.values():
            strand.cancel(LinkDown("the requester has gone"))

    def _serve_alone(self, frame: MessageFrame) -> None:
        try:
            self._serve(frame)
        except LinkDown:
            return  # the requester is gone
        except BaseException:
            self._channel.close()  # the requester is not to wait for ever
            raise
        finally:
            self._strands.pop(frame.number, None)

    def _serve(self, frame: MessageFrame) -> None:
        try:
            fields, data = self._carry_out(frame)
        except EscapeMessage as error:
            kind, (fields, data) = "FAILED", _failure(error)
        else:
            kind = "DONE"
        try:
            self._channel.send(kind, fields, data, answers=frame.number)
        except LinkDown:
            if frame.kind == "RECEIVE" and kind == "DONE" and fields["found"]:
                self._put_back(frame, MessageFrame(kind, fields, data))
            raise

    def _put_back(self, frame: MessageFrame, answer: MessageFrame) -> None:
        """Put back an entry whose answer could not be sent: it is the next one again."""
        entry = _entry(answer)
        job = self._job(frame.fields["user"], frame.fields)
        assert entry is not None
        job.return_entry(frame.fields["name"], frame.fields["library"], entry)
        self._idle.setdefault(frame.fields["user"], []).append(job)

    def _carry_out(self, frame: MessageFrame) -> tuple[Mapping[str, Any], bytes]:
        fields = frame.fields
        user = fields["user"]
        job = self._job(user, fields)
        job._core.route = tuple(fields["route"])
        try:
            return _SERVED[frame.kind](job, fields, frame.data)
        except (LinkDown, EscapeMessage):
            raise
        except TdqError as error:
            if self._at_once:
                raise  # it belongs to the requester's strand, in which this is carried out
            raise _failed(fields, error) from error
        finally:
            job._core.route = ()
            if not job.ended:
                self._idle.setdefault(user, []).append(job)

    def _job(self, user: str, fields: Mapping[str, Any]) -> Job:
        """A job for a request; the system may be closed, or not know the user."""
        idle = self._idle.get(user, [])
        while idle:
            job = idle.pop()
            if not job.ended:
                return job
        if user not in self._system.profiles:
            raise _failed(fields, message("CPF2204", _shown(user))._replace(kind="diagnostic"))
        try:
            return self._system.job(_SERVER_JOB, user=user)
        except EscapeMessage:
            raise
        except (TdqError, ValueError) as error:
            raise _failed(fields, error) from error


def _do_send(job: Job, fields: Mapping[str, Any], beside: bytes) -> tuple[Mapping[str, Any], bytes]:
    key, data = _apart(fields["key"], beside)
    job.qsnddtaq(fields["name"], fields["library"], data, key)
    return _NOTHING, b""


def _do_receive(job: Job, fields: Mapping[str, Any], beside: bytes) -> tuple[Mapping[str, Any], bytes]:
    key, _ = _apart(fields["key"], beside)
    wait_ns, room = (None if fields[name] < 0 else fields[name] for name in ("wait_ns", "room"))
    found = receive_entry(job._core, fields["name"], fields["library"], wait_ns, fields["key_order"], key, room=room)
    if found is None:
        return _NOTHING, b""
    entry = Entry(*found)
    answer = {"found": True, "key": len(entry.key), "sender": len(entry.sender), "time_ns": entry.time_ns}
    return answer, entry.key + entry.sender + entry.data


def _do_clear(job: Job, fields: Mapping[str, Any], _beside: bytes) -> tuple[Mapping[str, Any], bytes]:
    job.qclrdtaq(fields["name"], fields["library"])
    return _NOTHING, b""


_SERVED: Final[dict[str, Callable[[Job, Mapping[str, Any], bytes], tuple[Mapping[str, Any], bytes]]]] = {
    "SEND": _do_send,
    "RECEIVE": _do_receive,
    "CLEAR": _do_clear,
}


class InProcessLink(DdmLink):
    """A link to a system in this process.

    Args:
        target: the system; its dispatcher is the requester's too.
        at_once: see :class:`DdmServer`.

    Attributes:
        pipe: what the messages go through, where a test can cut and delay them.
        server: the other side.
    """

    def __init__(self, target: System, *, at_once: bool = True) -> None:
        self.pipe = Pipe()
        self.server = DdmServer(target, self.pipe.ends[1], at_once=at_once)
        super().__init__(target.dispatcher, self.pipe.ends[0])


# -- values and their places in a message -----------------------------------------------------------------------------


def _named(user: str, name: str, library: str, route: Sequence[str]) -> dict[str, Any]:
    return {"user": user, "name": name, "library": library, "route": list(route)}


def _or_none(number: int | None) -> int:
    return _NONE if number is None else number


def _with_key(key: bytes | None, data: bytes) -> tuple[int, bytes]:
    return (_NONE, bytes(data)) if key is None else (len(key), bytes(key) + bytes(data))


def _apart(length: int, beside: bytes) -> tuple[bytes | None, bytes]:
    return (None, beside) if length < 0 else (beside[:length], beside[length:])


def _is_entry(fields: Mapping[str, Any], data: bytes) -> bool:
    """Whether the lengths of a received entry are such as a system says."""
    key, sender = max(fields["key"], 0), fields["sender"]
    return sender in (0, layout("SENDERID").length) and key + sender <= len(data)


def _entry(answer: MessageFrame) -> Entry | None:
    fields, data = answer.fields, answer.data
    if not fields["found"]:
        return None
    key, sender = max(fields["key"], 0), max(fields["sender"], 0)
    sent = key + sender
    return Entry(data=data[sent:], key=data[:key], sender=data[key:sent], time_ns=fields["time_ns"])


def _failure(error: EscapeMessage) -> tuple[Mapping[str, Any], bytes]:
    """An escape message and the diagnostics before it, as the fields and the data of an answer."""
    sent = (error.message, *error.diagnostics)
    fields = {
        "ids": [one.message_id for one in sent],
        "kinds": [one.kind for one in sent],
        "severities": [str(one.severity) for one in sent],
        "texts": [one.text for one in sent],
        "lengths": [str(len(one.message_data)) for one in sent],
    }
    return fields, b"".join(one.message_data for one in sent)


def _escape(answer: MessageFrame) -> EscapeMessage:
    """The escape message that an answer holds.

    Raises:
        LinkDown: it holds none.
    """
    fields, found, at = answer.fields, [], 0
    names = ("ids", "kinds", "severities", "texts", "lengths")
    try:
        for one, kind, severity, text, length in zip(*(fields[name] for name in names), strict=True):
            found.append(_said(one, kind, int(severity), text, answer.data[at : at + int(length)]))
            at += len(found[-1].message_data)
        return EscapeMessage(found[0], tuple(found[1:]))
    except (ValueError, IndexError) as error:
        raise LinkDown("the other system's answer is not valid") from error


def _said(message_id: str, kind: str, severity: int, text: str, data: bytes) -> Message:
    """A message as another system has said it.

    Raises:
        ValueError: no system says that.
    """
    if not (_MESSAGE_ID.fullmatch(message_id) and 0 <= severity <= _MOST_SEVERE):
        raise ValueError(message_id)
    return Message(message_id, kind, severity, text, data)


def _failed(fields: Mapping[str, Any], why: object) -> EscapeMessage:
    """CPF9510, with the reason before it."""
    reason = why if isinstance(why, Message) else Message("", "diagnostic", 0, str(why), b"")
    return EscapeMessage(message("CPF9510", _shown(fields["name"]), _shown(fields["library"])), (reason,))


def _shown(name: str) -> str:
    """A name that another system said, as a message can have it."""
    return "".join(one if " " < one <= "~" else "?" for one in name[:10])
