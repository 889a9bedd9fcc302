"""What all host servers share: a connection as a state machine, and how a server is started on it.

Bytes are fed in; :meth:`Conversation.next` gives the next step, one at a time and in order, as a server job works. A
:class:`SystemWork` is carried out where the system lives, may wait there, and gives the reply; the next step is asked
for when it is done.

A connection to a server other than the sign-on server begins with 7001 (random seeds) and 7002 (who it is); nothing
else is taken before.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from tdqsim.core.codepage import codepage
from tdqsim.ibmi import Job, System
from tdqsim.server.hostservers.accounts import BOUNDS, Accounts, Attempt, SignOnCode, sign_on
from tdqsim.server.hostservers.frames import Frame, FrameError, FrameReader, block, reply
from tdqsim.server.hostservers.passwords import PasswordLevel

__all__ = [
    "EBCDIC",
    "Conversation",
    "End",
    "HostSystem",
    "Reply",
    "Step",
    "SystemWork",
    "text10",
]

EBCDIC = codepage(37)
PING, PONG = 0x7FFE, 0xFFFE
_HIGHEST_SEED = 0xDFFFFFFFFFFFFFFF


class Reply(NamedTuple):
    """Write this."""

    data: bytes


class SystemWork(NamedTuple):
    """Have this done where the system lives, then write what it gives.

    Attributes:
        call: gives the reply; it may wait.
        undo: for when nobody is there to read it.
        at_once: asked there whether the call cannot wait this time, so that it needs no strand of its own.
    """

    call: Callable[[], bytes]
    undo: Callable[[], object] | None = None
    at_once: Callable[[], bool] | None = None


class End(NamedTuple):
    """Close the connection; ``reason`` is empty when the client asked for it."""

    reason: str = ""


Step = Reply | SystemWork | End


@dataclass(slots=True)
class HostSystem:
    """What the servers of one system share.

    Attributes:
        system: the system.
        accounts: who may sign on.
        level: QPWDLVL, 0 to 4.
        release: version, release, modification.
        seed: makes the server's seeds; eight bytes.
        signed_on: when somebody has signed on last, by user.
    """

    system: System
    accounts: Accounts
    level: int = 3
    release: tuple[int, int, int] = (7, 5, 0)
    seed: Callable[[], bytes] = field(default_factory=lambda: random_seed)
    signed_on: dict[str, int] = field(default_factory=dict)

    @property
    def vrm(self) -> bytes:
        """Version, release and modification as replies have them."""
        return bytes((0, *self.release))


def random_seed() -> bytes:
    """A random seed; 0 and the highest values are not valid."""
    return (1 + int.from_bytes(os.urandom(8), "big") % _HIGHEST_SEED).to_bytes(8, "big")


@lru_cache(maxsize=4096)
def text10(raw: bytes) -> str:
    """A name of ten EBCDIC characters, without its blanks; what is no character becomes a full stop."""
    return EBCDIC.printable(raw).rstrip(" ").upper()


class Conversation:
    """One connection to one server.

    Args:
        host: what it serves.

    Attributes:
        job: the server job, when somebody has signed on.
        user: who has.
        origin: where the client is, such as its address.
    """

    server_id = 0
    job_name = ""

    def __init__(self, host: HostSystem) -> None:
        self.host = host
        self.job: Job | None = None
        self.user = self.origin = ""
        self._reader = FrameReader(BOUNDS["frame_before_sign_on"])
        self._client_seed = self._server_seed = b""
        self._over = False

    def feed(self, data: bytes) -> None:
        """Take what came from the client."""
        self._reader.feed(data)

    @property
    def waiting(self) -> int:
        """Bytes that have come and were not taken yet."""
        return self._reader.held

    def next(self) -> Step | None:
        """The next step; None when more has to come."""
        while not self._over:
            try:
                frame = self._reader.next()
                if frame is None:
                    return None
                step = self._answer(frame)
            except FrameError as error:
                step = End(str(error))
            if isinstance(step, End):
                self._over = True
            if step is not None:
                return step
        return None

    def close(self) -> None:
        """The connection is gone: the server job ends. Called where the system lives."""
        self._over = True
        if self.job is not None:
            self.job.end()
            self.job = None

    def _answer(self, frame: Frame) -> Step | None:
        if frame.request == PING:  # whatever server it names
            return Reply(reply(frame, PONG, b""))
        if frame.server != self.server_id:
            raise FrameError(f"server id {frame.server:04X}, this is {self.server_id:04X}")
        if frame.request == 0x7001 and not self.user:
            return self._seeds(frame)
        if frame.request == 0x7002 and self._client_seed and not self.user:
            return self._start(frame)
        if not self.user:
            raise FrameError(f"request {frame.request:04X} before a sign-on")
        return self.serve(frame)

    def attempt(self, frame: Frame, start: int) -> Attempt:
        """Who signs on by a request, and with what."""
        found = frame.blocks(start)
        user, seeds = text10(found.get(0x1104, b"")[:10]), (self._client_seed, self._server_seed)
        return Attempt(user, frame.number(20, 1), found.get(0x1105, b""), seeds, self.origin)

    def serve(self, frame: Frame) -> Step | None:
        """A request of somebody who has signed on."""
        raise NotImplementedError

    def _seeds(self, frame: Frame) -> Step:
        self._client_seed, self._server_seed = frame.fixed(20, 8), self.host.seed()
        template = bytes(4) + self._server_seed
        return Reply(reply(frame, 0xF001, template, attributes=self.host.level))

    def _start(self, frame: Frame) -> Step:
        frame.fixed(20, 2)
        attempt = self.attempt(frame, 22)
        user, host = attempt.user, self.host

        def start() -> bytes:
            code = sign_on(host.system, host.accounts, PasswordLevel.of(host.level), attempt)
            if code is not SignOnCode.GOOD:
                return reply(frame, 0xF002, code.to_bytes(4, "big"))
            self.job = host.system.job(self.job_name, "QUSER")
            self.job.current_user = user
            self.user = user
            self._reader.longest = BOUNDS["frame"]
            ccsid = EBCDIC.ccsid.to_bytes(4, "big")
            rest = block(0x1104, ccsid + EBCDIC.encode(user.ljust(10)))
            rest += block(0x111F, ccsid + EBCDIC.encode(self.job.qualified_name))
            return reply(frame, 0xF002, bytes(4), rest)

        return SystemWork(start)
