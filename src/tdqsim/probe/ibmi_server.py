"""The steps of cases that speak to the host servers: frames without and after a sign-on, and data queue operations.

The servers are state machines without sockets, so no port is needed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tdqsim.hosting import codepage
from tdqsim.ibmi import Job, System
from tdqsim.server.hostservers import (
    Accounts,
    CommandServer,
    Conversation,
    DataQueueServer,
    Frame,
    FrameReader,
    HostSystem,
    Reply,
    SignOn,
    SystemWork,
    block,
)
from tdqsim.server.hostservers.accounts import BOUNDS

_SERVERS: Final[dict[str, type[Conversation]]] = {
    "as-signon": SignOn, "as-dtaq": DataQueueServer, "as-rmtcmd": CommandServer,
}  # fmt: skip
_PAGE: Final = codepage(37)
_LONGEST: Final = 1 << 20
_CODE = 20
_TEXT, _KEY = 0x5003, 0x5002
_COMMON = 0x8002
_ID = 7
_MESSAGE = b"\xf0\x01"


class ServerSteps:
    """The servers of one system, for the steps of one case."""

    def __init__(self, system: System, user: str) -> None:
        self._host = HostSystem(system, Accounts(()))
        self._user = user

    def run(self, job: Job, library: str, words: Sequence[str]) -> str:
        """The result of a step of the kind queue, frame, signed or silence."""
        kind = words[0]
        if kind == "silence":
            return str(BOUNDS["mapper_seconds"])  # the port mapper has sockets; this number is the one that it uses
        if kind == "queue":
            return self._queue(job, library, words)
        return self._frame(words[1], words[2], words[3], words[4], signed=kind == "signed")

    def _queue(self, job: Job, library: str, words: Sequence[str]) -> str:
        action, name = words[1], words[2]
        place = _PAGE.encode(name.ljust(10) + library.ljust(10)).hex()
        if action == "peek":
            body = place + "f00000" + "00000000" + "f1"  # no search order, no wait, peek
            answer = self._frame("as-dtaq", "0002", "001C", body, signed=True, user=job.user)
        else:
            key = "" if words[3] == "-" else words[3]
            body = place + "f1" + block(_KEY, bytes.fromhex(key)).hex()
            answer = self._frame("as-dtaq", "0006", "0015", body, signed=True, user=job.user)
        return answer.partition("/")[2] or {"F000": "ok", "F006": "none"}.get(answer, answer)

    def _frame(self, service: str, request: str, template: str, body: str, *, signed: bool, user: str = "") -> str:
        """The return code of a reply in hexadecimal, and after a slash the message id, if there is one."""
        conversation = _SERVERS[service](self._host)
        if signed:
            job = self._host.system.job(conversation.job_name, "QUSER")
            conversation.job, conversation.user = job, user or self._user
            job.current_user, job.local_only = conversation.user, conversation.local_only
        try:
            raw = bytes.fromhex("" if body == "-" else body)
            conversation.feed(_framed(conversation.server_id, request, template, raw))
            return _answer(_reply(conversation), long=not signed)
        finally:
            conversation.close()


def _framed(server: int, request: str, template: str, body: bytes) -> bytes:
    head = bytes(2) + server.to_bytes(2, "big") + bytes(4) + (1).to_bytes(4, "big")
    return (20 + len(body)).to_bytes(4, "big") + head + bytes.fromhex(template + request) + body


def _reply(conversation: Conversation) -> Frame:
    step = conversation.next()
    assert isinstance(step, Reply | SystemWork), step
    reader = FrameReader(_LONGEST)
    reader.feed(step.call() if isinstance(step, SystemWork) else step.data)
    frame = reader.next()
    assert frame is not None
    return frame


def _answer(frame: Frame, *, long: bool) -> str:
    code = frame.fixed(_CODE, 4 if long else 2)
    shown = code.hex().upper()
    if frame.request == _COMMON and code[:2] == _MESSAGE:
        text = frame.blocks(_CODE + 2).get(_TEXT, b"")
        return f"{shown}/{_PAGE.printable(text[:_ID])}"
    return shown
