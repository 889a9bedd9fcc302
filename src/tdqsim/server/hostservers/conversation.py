"""The base of all host servers: a connection as a state machine, and the start of a server on it.

The caller feeds bytes, and :meth:`Conversation.next` returns the next step, one at a time and in order, like a server
job. A :class:`SystemWork` runs in the engine's thread, may wait there, and returns the reply; the next step is
requested when it is done. A receive that waits for an entry is put aside, because the entry may come by the next
request of the same connection: a client has one connection for all its threads.

A connection to a server other than the sign-on server begins with 7001 (random seeds) and 7002 (the user); no other
request is accepted before. An invalid request is answered by a return code, and the connection continues.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from tdqsim.hosting import CodePage, capitals, codepage
from tdqsim.ibmi import Job, System, job_page
from tdqsim.server.audit import Counted
from tdqsim.server.hostservers.accounts import BOUNDS, Accounts, Attempt, SignOnCode, sign_on
from tdqsim.server.hostservers.frames import Frame, FrameError, FrameReader, Refused, block, reply
from tdqsim.server.hostservers.passwords import Credential, PasswordLevel

_LOG = logging.getLogger(__name__)
EBCDIC = codepage(37)
PING, PONG = 0x7FFE, 0xFFFE
_SEEDS, _START = 0x7001, 0x7002
_HIGHEST_SEED = 0xDFFFFFFFFFFFFFFF
_USER, _PASSWORD, _TOKEN = 0x1104, 0x1105, 0x1115
_LENGTHS = {Credential.DES: 8, Credential.SHA1: 20, Credential.SHA512: 64}


class Reply(NamedTuple):
    """Data to write."""

    data: bytes


class SystemWork(NamedTuple):
    """Work for the engine's thread, whose result is then written.

    Attributes:
        call: returns the reply; it may wait.
        undo: called if the client disconnects before the reply.
        at_once: returns the reply if the call does not need to wait this time, and so needs no task; otherwise None.
        aside: whether the call may wait for another request, so that the next step follows when it has begun. Its reply
            is written whenever it comes; the client recognises it by its correlation id.
    """

    call: Callable[[], bytes]
    undo: Callable[[], object] | None = None
    at_once: Callable[[], bytes | None] | None = None
    aside: bool = False


class End(NamedTuple):
    """The end of the connection; ``reason`` is empty if the client requested it."""

    reason: str = ""


Step = Reply | SystemWork | End


@dataclass(slots=True)
class HostSystem:
    """The objects that the servers of one system share.

    Attributes:
        system: the system.
        accounts: the accounts of users.
        release: version, release, modification.
        seed: creates a seed of the server; eight bytes.
        signed_on: the time of the last sign-on, by user.
    """

    system: System
    accounts: Accounts
    release: tuple[int, int, int] = (7, 5, 0)
    seed: Callable[[], bytes] = field(default_factory=lambda: random_seed)
    signed_on: dict[str, int] = field(default_factory=dict)

    @property
    def level(self) -> int:
        """QPWDLVL, 0 to 4."""
        return self.system.values["QPWDLVL"]

    def page_of(self, user: str) -> CodePage:
        """The code page of the jobs of a user: that of the user's CCSID, or of the system's."""
        return job_page(self._ccsid_of(user))

    def _ccsid_of(self, user: str) -> int:
        profile = self.system.profiles.get(user)
        return (profile.ccsid if profile is not None else 0) or self.system.ccsid

    def job_of(self, user: str, name: str) -> Job:
        """A new server job for a user, with the CCSID and the current library of the user's profile."""
        library = self.system.profiles[user].current_library
        job = self.system.job(name, "QUSER", ccsid=self._ccsid_of(user), current_library=library)
        job.current_user = user
        return job

    @property
    def vrm(self) -> bytes:
        """Version, release and modification in the form of replies."""
        return bytes((0, *self.release))


def random_seed() -> bytes:
    """A random seed; 0 and the highest values are not valid."""
    return (1 + int.from_bytes(os.urandom(8), "big") % _HIGHEST_SEED).to_bytes(8, "big")


@lru_cache(maxsize=4096)
def text10(raw: bytes, page: CodePage = EBCDIC) -> str:
    """A name of ten EBCDIC characters, without its blanks; other bytes become full stops."""
    return capitals(page.printable(raw).rstrip(" "))


class Conversation:
    """One connection to one server.

    Args:
        host: the system and its shared objects.

    Attributes:
        job: the server job, after a sign-on.
        user: the user who has signed on.
        origin: the origin of the client, such as its address.
    """

    server_id = 0
    service = ""
    """The service, such as as-dtaq."""
    job_name = ""
    wrong_server = 0
    """The return code, after the start, for a frame that names another server."""
    local_only = False
    """Whether its jobs cannot use DDM data queues."""

    def __init__(self, host: HostSystem) -> None:
        self.host = host
        self.job: Job | None = None
        self.user = self.origin = ""
        self._reader = FrameReader(BOUNDS["frame_before_sign_on"])
        self._done = Counted(self.service, host.system.name)
        self._client_seed = self._server_seed = b""
        self._over = False

    def feed(self, data: bytes) -> None:
        """Add bytes from the client."""
        self._reader.feed(data)

    @property
    def waiting(self) -> int:
        """The number of bytes that were fed and not yet processed."""
        return self._reader.held

    def next(self) -> Step | None:
        """The next step; None if more bytes are needed."""
        while not self._over:
            try:
                frame = self._reader.next()
            except FrameError as error:
                self._over = True
                return End(str(error))
            if frame is None:
                return None
            try:
                if frame.template > len(frame.body):
                    raise FrameError(f"a template of {frame.template} bytes in a frame with {len(frame.body)}")
                step = self._answer(frame)
            except FrameError as error:
                step = Reply(self._refusal(frame, error))
            if isinstance(step, End):
                self._over = True
            if step is not None:
                return step
        return None

    def close(self) -> None:
        """End the server job after the end of the connection. Call this in the engine's thread."""
        self._over = True
        self._done.write()
        if self.job is not None:
            self.job.end()
            self.job = None

    def count_for_audit(self, operation: str, what: str) -> None:
        """Count a change of a data queue for the audit log."""
        self._done.count(operation, self.user, dtaq=what, origin=self.origin)

    def _answer(self, frame: Frame) -> Step | None:
        if frame.request == PING:  # accepted for any server id
            return Reply(reply(frame, PONG, b""))
        if frame.server != self.server_id:
            code = self.wrong_server if self.user else SignOnCode.SERVER_ID_NOT_VALID
            raise Refused(code, f"server id {frame.server:04X}, this is {self.server_id:04X}")
        if self.user:
            return self.serve(frame)
        if frame.request == _SEEDS:
            return self._seeds(frame)
        if frame.request == _START:
            return self._start(frame)
        raise Refused(SignOnCode.REQUEST_ID_NOT_VALID, f"request {frame.request:04X} before a sign-on")

    def _refusal(self, frame: Frame, error: FrameError) -> bytes:
        """The reply to a request that is refused."""
        _LOG.info("%s: a request was refused: %s", self.job_name, error)
        if self.user:
            return self.refusal(frame, error)
        seeds = frame.request == _SEEDS
        malformed = SignOnCode.EXCHANGE_NOT_VALID if seeds else SignOnCode.START_NOT_VALID
        code = error.code if isinstance(error, Refused) else malformed
        return reply(frame, 0xF001 if seeds else 0xF002, code.to_bytes(4, "big") + bytes(8 if seeds else 0))

    def refusal(self, frame: Frame, error: FrameError) -> bytes:
        """The reply to an invalid request of a user who has signed on."""
        raise NotImplementedError

    def attempt(self, frame: Frame, start: int, missing: SignOnCode) -> Attempt:
        """The user and the credential of a request.

        Args:
            frame: the request.
            start: the offset of its blocks.
            missing: the return code for a request without them.
        """
        if not self._client_seed:
            raise Refused(SignOnCode.SEED_REQUIRED, "no seeds were exchanged")
        kind, blocks = frame.number(20, 1), frame.blocks(start)
        user, sent = blocks.get(_USER, b""), blocks.get(_PASSWORD, b"")
        if _TOKEN in blocks or kind in (Credential.PROFILE_TOKEN, Credential.TICKET, Credential.IDENTITY_TOKEN):
            ticket = kind == Credential.TICKET
            code = SignOnCode.TICKET_NOT_SUPPORTED if ticket else SignOnCode.TOKEN_NOT_VALID
            raise Refused(code, "a token or ticket, which is not supported")
        if kind not in _LENGTHS:
            raise Refused(SignOnCode.CREDENTIAL_NOT_VALID, f"a credential of kind {kind}")
        if not user or not sent:
            raise Refused(missing, "no user or no password")
        if len(user) != 10:
            raise Refused(SignOnCode.USER_LENGTH, f"a user of {len(user)} bytes")
        if len(sent) != _LENGTHS[Credential(kind)]:
            raise Refused(SignOnCode.PASSWORD_LENGTH, f"a substitute of {len(sent)} bytes")
        return Attempt(text10(user), kind, sent, (self._client_seed, self._server_seed), self.origin)

    def keep_seeds(self, client: bytes) -> None:
        """Store the seed of the client, and create one for the server."""
        if not 0 < int.from_bytes(client, "big") <= _HIGHEST_SEED:
            raise Refused(SignOnCode.SEED_NOT_VALID, f"seed {client.hex()}")
        self._client_seed, self._server_seed = client, self.host.seed()

    def serve(self, frame: Frame) -> Step | None:
        """Handle a request of a user who has signed on."""
        raise NotImplementedError

    def _seeds(self, frame: Frame) -> Step:
        self.keep_seeds(frame.fixed(20, 8))
        template = bytes(4) + self._server_seed
        return Reply(reply(frame, 0xF001, template, attributes=self.host.level))

    def _start(self, frame: Frame) -> Step:
        if frame.number(21, 1) > 1:
            raise Refused(SignOnCode.REPLY_INDICATOR_NOT_VALID, "the reply indicator is neither 0 nor 1")
        attempt = self.attempt(frame, 22, SignOnCode.START_NOT_VALID)
        user, host = attempt.user, self.host

        def start() -> bytes:
            code = sign_on(host.system, host.accounts, PasswordLevel.of(host.level), attempt)
            if code is not SignOnCode.GOOD:
                return reply(frame, 0xF002, code.to_bytes(4, "big"))
            self.job = host.job_of(user, self.job_name)
            self.job.local_only = self.local_only
            self.user = user
            self._reader.longest = BOUNDS["frame"]
            ccsid = EBCDIC.ccsid.to_bytes(4, "big")
            rest = block(0x1104, ccsid + EBCDIC.encode(user.ljust(10)))
            rest += block(0x111F, ccsid + EBCDIC.encode(self.job.qualified_name))
            return reply(frame, 0xF002, bytes(4), rest)

        return SystemWork(start)
