"""The two sides of a DDM conversation: the requests of one system, and the server that carries them out on another.

A link carries messages (:mod:`tdqsim.core.messages`): a request on behalf of a user, and its answer, which is an entry,
nothing, or the escape message with which the API ended. The server carries out requests in jobs of its own system, as
a DDM server does. Requests between systems of one process are served *at once*, inside the ``send``. Over a network the
server runs each request in a new fiber, and the requester waits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tdqsim.core.fiber import WAIT, WaitMark, WaitQueue
from tdqsim.core.messages import Kinds, MessageFrame
from tdqsim.core.store import Entry
from tdqsim.core.transport import LinkDown, MessageChannel, Pipe, Transport
from tdqsim.errors import TdqError, WrongValue
from tdqsim.ibmi.layouts import layout
from tdqsim.ibmi.messages import EscapeMessage, Message, message
from tdqsim.ibmi.receive import receive_entry

if TYPE_CHECKING:
    from tdqsim.core.dispatch import Dispatcher
    from tdqsim.core.fiber import Fiber
    from tdqsim.ibmi.job import Job
    from tdqsim.ibmi.system import System

_SERVER_JOB: Final = "QRWTSRVR"
_MESSAGE_ID: Final = re.compile(r"([A-Z][A-Z0-9]{2}[0-9A-F]{4})?", re.ASCII)
_MOST_SEVERE: Final = 99
_NONE: Final = -1
"""Stands for no key, no limit, or an endless wait."""
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
"""The fields of each kind. ``key``, ``sender`` and ``lengths`` are lengths; the bytes precede the message's data."""
_NOTHING: Final = {"found": False, "key": _NONE, "sender": 0, "time_ns": 0}


# -- the side of the DDM queue ----------------------------------------------------------------------------------------


class DdmLink:
    """A link over a transport: sends requests and waits for the answers.

    Args:
        dispatcher: the dispatcher of the system that sends requests.
        transport: leads to a :class:`DdmServer`.
    """

    def __init__(self, dispatcher: Dispatcher, transport: Transport) -> None:
        self._dispatcher = dispatcher
        self._answers: dict[int, MessageFrame] = {}
        self._awaited = WaitQueue("an answer of a remote system")
        self._due: dict[int, Fiber] = {}
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
        """Receive and remove an entry of the remote queue; one of more than ``room`` bytes stays there (CPF24B4)."""
        length, beside = _with_key(key, b"")
        fields = {"key": length, "key_order": key_order, "wait_ns": _or_none(wait_ns), "room": _or_none(room)}
        answer = self._ask("RECEIVE", _named(user, name, library, route) | fields, beside)
        if answer.fields.get("found") and not _is_entry(answer.fields, answer.data):
            raise LinkDown("the other system's answer is not valid")
        return _entry(answer)

    def clear(self, user: str, name: str, library: str, *, route: Sequence[str] = ()) -> None:
        """Clear the remote queue."""
        self._ask("CLEAR", _named(user, name, library, route), b"")

    def _ask(self, kind: str, fields: Mapping[str, Any], data: bytes) -> MessageFrame:
        number = self._channel.sent + 1  # registered before the send, because the answer may arrive inside it
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
            with suppress(LinkDown):  # it must not hide the exception that ended the wait
                self._channel.send("ABANDON", {"request": number})
            raise
        return answer

    def _arrived(self, frame: MessageFrame) -> None:
        if not frame.answers or frame.kind not in ("DONE", "FAILED"):
            self._channel.close()
        elif frame.answers in self._due:  # otherwise the requester has given up
            self._answers[frame.answers] = frame
            self._awaited.wake_all()

    def _lost(self, why: str) -> None:
        for fiber in self._due.values():
            fiber.cancel(LinkDown(why))
        self._awaited.wake_all()


# -- the side of the queue itself -------------------------------------------------------------------------------------


class DdmServer:
    """Carries out the requests of another system's DDM queues; each request has a job of this system to itself.

    Args:
        system: the system.
        transport: leads to a :class:`DdmLink`.
        at_once: whether a request is carried out when it arrives, instead of in a new fiber.
    """

    def __init__(self, system: System, transport: Transport, *, at_once: bool = True) -> None:
        self._system = system
        self._at_once = at_once
        self._idle: dict[str, list[Job]] = {}
        self._fibers: dict[int, Fiber] = {}
        self._channel = MessageChannel(transport, KINDS, self._arrived, self._lost)

    def _arrived(self, frame: MessageFrame) -> None:
        if frame.kind == "ABANDON":
            fiber = self._fibers.get(frame.fields["request"])
            if fiber is not None:
                fiber.cancel(LinkDown("the requester no longer waits"))
        elif frame.kind not in _SERVED:
            self._channel.close()
        elif self._at_once:
            self._serve(frame)
        else:
            serve = partial(self._serve_alone, frame)
            name = f"{frame.kind} of a remote system"
            self._fibers[frame.number] = self._system.dispatcher.spawn(serve, name=name, owner=self._system)

    def _lost(self, _why: str) -> None:
        for fiber in self._fibers.values():
            fiber.cancel(LinkDown("the requester has gone"))

    def _serve_alone(self, frame: MessageFrame) -> None:
        try:
            self._serve(frame)
        except LinkDown:
            return  # the requester has gone
        except BaseException:
            self._channel.close()  # otherwise the requester would wait for ever
            raise
        finally:
            self._fibers.pop(frame.number, None)

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
        """Put an entry back at the front of its queue because the answer could not be sent."""
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
            if self._system.closed:
                raise LinkDown(str(error)) from error
            if self._at_once:
                raise  # this runs in the requester's fiber, which the error is for
            raise _failed(fields, error) from error
        finally:
            job._core.route = ()
            if not job.ended:
                self._idle.setdefault(user, []).append(job)

    def _job(self, user: str, fields: Mapping[str, Any]) -> Job:
        """A job for a request; fails when the system is closed or has no such user."""
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
    received = receive_entry(job._core, fields["name"], fields["library"], wait_ns, fields["key_order"], key, room=room)
    if received is None:
        return _NOTHING, b""
    entry = Entry(*received)
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
        target: the system; the requester must have the same dispatcher.
        at_once: see :class:`DdmServer`.

    Attributes:
        pipe: the pipe that carries the messages, which a test can cut and delay.
        server: the other side.
    """

    def __init__(self, target: System, *, at_once: bool = True) -> None:
        self.pipe = Pipe()
        self.server = DdmServer(target, self.pipe.ends[1], at_once=at_once)
        super().__init__(target.dispatcher, self.pipe.ends[0])


# -- conversion of values to and from messages ------------------------------------------------------------------------


def _named(user: str, name: str, library: str, route: Sequence[str]) -> dict[str, Any]:
    return {"user": user, "name": name, "library": library, "route": list(route)}


def _or_none(number: int | None) -> int:
    return _NONE if number is None else number


def _with_key(key: bytes | None, data: bytes) -> tuple[int, bytes]:
    return (_NONE, bytes(data)) if key is None else (len(key), bytes(key) + bytes(data))


def _apart(length: int, beside: bytes) -> tuple[bytes | None, bytes]:
    return (None, beside) if length < 0 else (beside[:length], beside[length:])


def _is_entry(fields: Mapping[str, Any], data: bytes) -> bool:
    """Whether the lengths in an answer are possible."""
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
    """The escape message in an answer.

    Raises:
        LinkDown: the answer does not contain a valid one.
    """
    fields, messages, at = answer.fields, [], 0
    names = ("ids", "kinds", "severities", "texts", "lengths")
    try:
        for one, kind, severity, text, length in zip(*(fields[name] for name in names), strict=True):
            messages.append(_received_message(one, kind, int(severity), text, answer.data[at : at + int(length)]))
            at += len(messages[-1].message_data)
        return EscapeMessage(messages[0], tuple(messages[1:]))
    except (ValueError, IndexError) as error:
        raise LinkDown("the other system's answer is not valid") from error


def _received_message(message_id: str, kind: str, severity: int, text: str, data: bytes) -> Message:
    """A message that the other system has sent.

    Raises:
        ValueError: its id or severity is not possible.
    """
    if not (_MESSAGE_ID.fullmatch(message_id) and 0 <= severity <= _MOST_SEVERE):
        raise WrongValue(message_id)
    return Message(message_id, kind, severity, text, data)


def _failed(fields: Mapping[str, Any], why: object) -> EscapeMessage:
    """CPF9510, with the reason as its diagnostic message."""
    reason = why if isinstance(why, Message) else Message("", "diagnostic", 0, str(why), b"")
    return EscapeMessage(message("CPF9510", _shown(fields["name"]), _shown(fields["library"])), (reason,))


def _shown(name: str) -> str:
    """A name from another system, made printable for a message."""
    return "".join(one if " " < one <= "~" else "?" for one in name[:10])
