"""What every input of a link has to come to: answers, or the link given up; never an exception of Python.

:func:`check` takes bytes: the first chooses the end that gets them (the server of DDM queues, the requester of them, a
region's link) and whether they come as they are or are made into messages of kinds that exist. Shared by the test of
some hundred inputs and by the fuzzer.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from tdqsim.cics import Region
from tdqsim.cics.ship.messages import KINDS as ISC_KINDS
from tdqsim.cics.ship.network import FarLink
from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.fiber import Fiber
from tdqsim.core.messages import FrameDecoder, Kinds, MessageFrame
from tdqsim.core.transport import LinkDown, Pipe
from tdqsim.definitions import define_tdqueue
from tdqsim.errors import TdqError
from tdqsim.ibmi import EscapeMessage, System
from tdqsim.ibmi.ddm import KINDS as DDM_KINDS
from tdqsim.ibmi.ddm import DdmLink, DdmServer
from tdqsim.server.links.opening import decoder

_FEW = 300
_WORDS = (
    "", "Q", "K", "QGPL", "ANNA", "QSECOFR", "*LIBL", "*CURLIB", "NOBODY", "FARQ", "FARN", "FAR", "EQ", "GT", "WRITEQ TD",
    "READQ TD", "DELETEQ TD", "FARAPPL", "NEARAPPL", "FARAPPL.1", "COMMIT", "BACKOUT", "INDOUBT", "COLD", "CONDITION",
    "ABEND ASRA", "FOREVER", "CLOSED", "MEIN", "\0", "x" * 300, "é", "\ud800", "1", "-1", "99999999999", "escape",
    "CPF9801", "MCH3401", "NEARAPPL.00000000000000FF", "OTHER.1",
)  # fmt: skip
_NUMBERS = (-1, 0, 1, 2, 3, 10, 1000, 65535, 1 << 31, (1 << 63) - 1, -(1 << 63))
_DEVICES = 4


class World:
    """A region and a system, made anew now and then so that inputs do not pile up on them."""

    def __init__(self) -> None:
        self.rounds = 0
        self.dispatcher = Dispatcher()
        self.system = System("SYS1", dispatcher=self.dispatcher)
        self.system.crtusrprf("ANNA")
        with self.system.job(user="QSECOFR") as job:
            job.crtdtaq("QGPL/Q", maxlen=10, aut="*ALL")
            job.crtdtaq("QGPL/K", maxlen=10, aut="*ALL", seq="*KEYED", keylen=3, senderid="*YES")
            job.crtdtaq("QGPL/D", type="*DDM", rmtdtaq="QGPL/Q", rmtlocname="LOC", aut="*ALL")
        self.region = Region(
            [
                define_tdqueue(name="FARQ", type="INTRA", recovstatus="LOGICAL"),
                define_tdqueue(name="FARN", type="INTRA", recovstatus="NO"),
                define_tdqueue(name="BACK", remotesystem="FAR", remotename="FARQ"),
            ],
            applid="NEARAPPL", sysid="NEAR", supplied_queues=False, dispatcher=self.dispatcher,
        )  # fmt: skip
        self.link = FarLink(self.region, "FAR", "FARAPPL")
        self.fibers: list[Fiber[Any]] = []
        self._spawn, self.dispatcher.spawn = self.dispatcher.spawn, self._remembered  # type: ignore[method-assign]

    def _remembered(self, *values: Any, **named: Any) -> Fiber[Any]:
        self.fibers.append(self._spawn(*values, **named))
        return self.fibers[-1]

    def failed(self) -> list[BaseException]:
        """What fibers have ended by that nobody is told of: a requester would wait for ever."""
        found = [one.exception for one in self.fibers if one.done and one.exception is not None and not one.reported]
        self.fibers = [one for one in self.fibers if not one.done]
        return [one for one in found if not isinstance(one, LinkDown)]

    def close(self) -> None:
        self.link.cut()
        self.region.close()
        self.system.close()


_world: list[World] = []


def world() -> World:
    """The world, which lives for some inputs."""
    if not _world or _world[0].rounds > _FEW:
        while _world:
            _world.pop().close()
        _world.append(World())
    _world[0].rounds += 1
    return _world[0]


class _Heard:
    """The far end: keeps what it is told."""

    def __init__(self, pipe: Pipe, kinds: Kinds) -> None:
        self.end = pipe.ends[0]
        self.heard: list[MessageFrame] = []
        decode = FrameDecoder(kinds)
        self.end.open(lambda data: self.heard.extend(decode.feed(data)), lambda _why: None)

    def say(self, data: bytes) -> None:
        with suppress(LinkDown):
            self.end.send(data)


def check(data: bytes) -> int:
    """Let an end of a link have this; how many messages it has sent."""
    if len(data) < 2:
        return 0
    which, raw, sent = data[0] % _DEVICES, bool(data[0] & 0x80), data[1:]
    if which == 3:
        with suppress(TdqError):
            decoder("OPEN").first(sent)
        return 0
    kinds = ISC_KINDS if which == 2 else DDM_KINDS
    here, pipe = world(), Pipe()
    far = _Heard(pipe, kinds)
    if which == 0:
        DdmServer(here.system, pipe.ends[1], at_once=False)
    elif which == 1:
        here.system.connect("LOC", DdmLink(here.dispatcher, pipe.ends[1]))
    else:
        here.link.attach(pipe.ends[1])
    asked = _ask(here, which)
    pieces = [sent] if raw else _messages(kinds, sent)
    for piece in pieces:
        far.say(piece)
        here.dispatcher.run_ready()
    pipe.close()
    here.dispatcher.run_ready()
    assert all(one.done for one in asked), asked
    for error in here.failed():
        raise error
    return len(far.heard)


def _ask(here: World, which: int) -> list[Any]:
    """Somebody who waits for what comes over the link."""

    def receive() -> None:
        with here.system.job(user="QSECOFR") as job, suppress(EscapeMessage):
            job.qrcvdtaq("D", "QGPL", -1)

    def write() -> None:
        with suppress(TdqError):
            here.region.start(lambda task: task.writeq_td("BACK", b"x")).result()

    asked = []
    if which:
        asked = [here.dispatcher.spawn(receive if which == 1 else write, name="a requester")]
        here.dispatcher.run_ready()
    return asked


def _messages(kinds: Kinds, data: bytes) -> list[bytes]:
    """Messages of kinds that exist, with fields of the right types: what a side that has a certificate may say."""
    names, found, at, number = tuple(kinds), [], 0, 0
    while at < len(data):
        kind, number = names[data[at] % len(names)], number + 1
        at += 1
        fields = {}
        for name, wanted in kinds[kind].items():
            pick = data[at] if at < len(data) else 0
            at += 1
            fields[name] = _value(wanted, pick)
        size = (data[at] if at < len(data) else 0) % 24
        beside = data[at + 1 : at + 1 + size]
        answers = data[at + 1 + size] % 8 if at + 1 + size < len(data) else 0
        at += 2 + size
        found.append(MessageFrame(kind, fields, beside, number, answers).to_bytes())
    return found


def _value(wanted: type, pick: int) -> Any:
    if wanted is bool:
        return bool(pick & 1)
    if wanted is int:
        return _NUMBERS[pick % len(_NUMBERS)]
    if wanted is list:
        return [_WORDS[(pick + each) % len(_WORDS)] for each in range(pick % 4)]
    return _WORDS[pick % len(_WORDS)]
