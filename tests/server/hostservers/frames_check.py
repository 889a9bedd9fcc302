"""What every input of the host servers has to come to: answers, or an orderly end; never an exception of Python.

:func:`check` takes bytes: the first chooses the server and whether somebody has signed on, the rest is what a client
sends, raw or as bodies of requests that exist. Shared by the test of some thousand inputs and by the fuzzers.
"""

from __future__ import annotations

import struct

from tdqsim.errors import WouldWaitForever
from tdqsim.ibmi import Parm, System
from tdqsim.server.hostservers import (
    Account,
    Accounts,
    CommandServer,
    Conversation,
    DatabaseServer,
    DataQueueServer,
    End,
    FrameReader,
    HostSystem,
    PasswordLevel,
    Reply,
    SignOn,
    SystemWork,
    block,
    substitute,
    token,
)
from tests.server.hostservers.wire import CLIENT, frame

_SEED = bytes.fromhex("1122334455667788")
_SERVERS = (SignOn, DataQueueServer, CommandServer, DatabaseServer)
_DATABASE = 3
_REQUESTS = (
    (0x7003, 0x7004, 0x7005, 0x7007, 0x7006, 0x7FFE), (0, 1, 2, 3, 4, 5, 6, 7, 0x7FFE), (0x1001, 0x1002, 0x1003, 0x1004, 0x7FFE),
    (0x1F80, 0x180C, 0x1803, 0x180E, 0x1805, 0x1806, 0x1D00, 0x1D02, 0x1F00, 0x1F01, 0x1FFF, 0, 0x18FF, 0x7FFE),
)  # fmt: skip
_TEMPLATES = {
    1: 20,
    2: 28,
    3: 80,
    4: 20,
    5: 22,
    6: 21,
    0x1001: 14,
    0x1002: 1,
    0x1003: 23,
    0x7004: 1,
    0x7005: 1,
    0x7007: 2,
}
_FEW = 400


class World:
    """A system with queues and programs, made anew now and then so that inputs do not pile up on it."""

    def __init__(self) -> None:
        self.rounds = 0
        self.system = System("SYS1")
        self.system.crtusrprf("ANNA")
        with self.system.job(user="QSECOFR") as job:
            job.crtdtaq("QGPL/Q", maxlen=10, aut="*ALL")
            job.crtdtaq("QGPL/K", maxlen=10, aut="*ALL", seq="*KEYED", keylen=3, senderid="*YES")
        self.system.register_program("QGPL/P", lambda _job, a, b: (a, b), [Parm("A", "PACKED(5:0)", use="inout"), Parm("B", "CHAR(9)", use="inout")])  # fmt: skip
        self.system.values["QMAXSIGN"] = 25
        line = Parm("L", "DS", use="inout", fields=[Parm("N", "INT(5)", dim=2), Parm("D", "PACKED(5:0)"), Parm("V", "VARCHAR(8)"), Parm("C", "CHAR(1)")])  # fmt: skip
        self.system.register_program("QGPL/S", lambda _job, given: given, [line])
        account = Account("ANNA")
        account.set_password("Secret1pw")
        self.host = HostSystem(self.system, Accounts([account]), seed=lambda: _SEED)

    def conversation(self, server: int, signed_on: bool) -> Conversation:
        made = _SERVERS[server](self.host)
        if signed_on and server:
            sent = substitute(PasswordLevel.SHA1, token(PasswordLevel.SHA1, "ANNA", "Secret1pw"), "ANNA", CLIENT, _SEED)
            body = b"\3\1" + block(0x1105, sent) + block(0x1104, "ANNA      ".encode("cp037"))
            made.feed(frame(made.server_id, 0x7001, CLIENT) + frame(made.server_id, 0x7002, body))
        elif signed_on:
            made.feed(frame(made.server_id, 0x7003, block(0x1103, CLIENT)))
        return made


_world: list[World] = []


def world() -> World:
    """The world, which lives for some inputs."""
    if not _world or _world[0].rounds > _FEW or _world[0].system.closed:
        while _world:
            _world.pop().system.close()
        _world.append(World())
    _world[0].rounds += 1
    return _world[0]


def check(data: bytes) -> int:
    """Let a conversation have this; the number of its answers."""
    if not data:
        return 0
    chosen = data[0] & 0x0F
    server, signed_on, raw = chosen if chosen == _DATABASE else chosen % 3, bool(data[0] & 0x40), bool(data[0] & 0x80)
    conversation = world().conversation(server, signed_on)
    sent = data[1:] if raw else _requests(server, conversation.server_id, data[1:])
    conversation.feed(sent[: len(sent) // 2])
    answers = _run(conversation)
    conversation.feed(sent[len(sent) // 2 :])
    answers += _run(conversation)
    conversation.close()
    return answers


def _requests(server: int, server_id: int, data: bytes) -> bytes:
    made, at = b"", 0
    while at + 2 <= len(data):
        request = _REQUESTS[server][data[at] % len(_REQUESTS[server])]
        length = data[at + 1]
        body = data[at + 2 : at + 2 + length]
        template = _TEMPLATES.get(request, 20 if server == _DATABASE else 0)
        to = server_id + (server == _DATABASE and request == 0x180C)  # the library list is one of native requests
        made += frame(to, request, body, at + 1, min(template, len(body)))
        at += 2 + length
    return made


def _run(conversation: Conversation) -> int:
    answers = 0
    while (step := conversation.next()) is not None and not isinstance(step, End):
        if isinstance(step, SystemWork):
            try:
                answer = step.call()
            except WouldWaitForever:  # it would be parked
                return answers
        else:
            assert isinstance(step, Reply)
            answer = step.data
        if not answer and isinstance(conversation, DatabaseServer):  # the client wants none
            continue
        reader = FrameReader(1 << 26)
        reader.feed(answer)
        got = reader.next()
        assert got is not None, answer
        assert reader.held == 0, answer
        assert struct.unpack_from(">I", answer)[0] == len(answer)
        assert got.request & 0x8000 or got.request == 0x2800, answer
        answers += 1
    return answers
