"""The sign-on server: attributes, then who it is; nothing is started by it."""

from __future__ import annotations

from tdqsim.server.hostservers.conversation import EBCDIC, PING, PONG, Conversation, End, Reply, Step, Work, sign_on
from tdqsim.server.hostservers.frames import Frame, FrameError, block, reply
from tdqsim.server.hostservers.passwords import SignOnCode

__all__ = ["SignOn"]

_DATA_STREAM_LEVEL = 2
_EXCHANGE, _RETRIEVE, _END = 0x7003, 0x7004, 0x7006


class SignOn(Conversation):
    """One connection to the sign-on server."""

    server_id = 0xE009
    job_name = "QZSOSIGN"

    def _answer(self, frame: Frame) -> Step | None:
        if frame.server != self.server_id:
            raise FrameError(f"server id {frame.server:04X}, this is {self.server_id:04X}")
        if frame.request == _EXCHANGE:
            return self._exchange(frame)
        if frame.request == _RETRIEVE and self._client_seed:
            return self._retrieve(frame)
        if frame.request == _END:
            return End()
        if frame.request == PING:
            return Reply(reply(frame, PONG, b""))
        raise FrameError(f"request {frame.request:04X} to the sign-on server")

    def _exchange(self, frame: Frame) -> Step:
        seed = frame.blocks(20).get(0x1103, b"")
        if len(seed) != 8:
            raise FrameError("no client seed of eight bytes")
        self._client_seed, self._server_seed = seed, self.host.seed()
        rest = block(0x1101, self.host.vrm) + block(0x1102, _DATA_STREAM_LEVEL.to_bytes(2, "big"))
        rest += block(0x1103, self._server_seed) + block(0x1119, bytes((self.host.level,)))
        return Reply(reply(frame, 0xF003, bytes(4), rest))

    def _retrieve(self, frame: Frame) -> Step:
        def retrieve() -> bytes:
            code, user = sign_on(self.host, frame, 21, self._client_seed, self._server_seed)
            if code is not SignOnCode.GOOD:
                return reply(frame, 0xF004, code.to_bytes(4, "big"))
            ccsid = EBCDIC.ccsid.to_bytes(4, "big")
            rest = block(0x1114, ccsid) + block(0x1104, ccsid + EBCDIC.encode(user.ljust(10)))
            return reply(frame, 0xF004, bytes(4), rest)

        return Work(retrieve)
