"""The sign-on server: attributes, then a sign-on or a change of password; it starts no server job."""

from __future__ import annotations

from datetime import datetime

from tdqsim.hosting import NS_PER_SECOND
from tdqsim.ibmi import message
from tdqsim.server.hostservers.accounts import BOUNDS, Attempt, NewPassword, SignOnCode, change_password, sign_on
from tdqsim.server.hostservers.conversation import (
    EBCDIC,
    PING,
    PONG,
    Conversation,
    End,
    Reply,
    Step,
    SystemWork,
)
from tdqsim.server.hostservers.frames import Frame, FrameError, Refused, block, reply
from tdqsim.server.hostservers.messages import refusal_blocks
from tdqsim.server.hostservers.passwords import PasswordLevel

_EXCHANGE, _RETRIEVE, _CHANGE, _END, _TOKEN, _TOKEN_FOR_ANOTHER = 0x7003, 0x7004, 0x7005, 0x7006, 0x7007, 0x7008
_PROFILE_TOKEN = 1
_TOKEN_TYPES = (b"\xf1", b"\xf2", b"\xf3")
_MALFORMED = {
    _EXCHANGE: SignOnCode.EXCHANGE_NOT_VALID,
    _CHANGE: SignOnCode.CHANGE_NOT_VALID,
    _TOKEN: SignOnCode.GENERATE_NOT_VALID,
}
"""Return codes for malformed requests; for all others REQUEST_NOT_VALID."""
_TELL_MESSAGES = 0x1128
_CURRENT, _LAST = 0x1106, 0x1107
_REFUSALS = {
    SignOnCode.USER_DISABLED: "CPF22E3",
    SignOnCode.PASSWORD_WRONG: "CPF22E2",
    SignOnCode.PASSWORD_WRONG_NEXT_DISABLES: "CPF22E2",
    SignOnCode.PASSWORD_EXPIRED: "CPF22E4",
    SignOnCode.PASSWORD_NONE: "CPF22E5",
}
"""The message ids of refusals."""


class SignOn(Conversation):
    """One connection to the sign-on server."""

    server_id = 0xE009
    job_name = "QZSOSIGN"

    def _answer(self, frame: Frame) -> Step | None:
        if frame.request == PING:
            return Reply(reply(frame, PONG, b""))
        if frame.server != self.server_id:
            raise Refused(SignOnCode.SERVER_ID_NOT_VALID, f"server id {frame.server:04X}")
        if frame.request == _END:
            return End()
        act = {
            _EXCHANGE: self._exchange, _RETRIEVE: self._retrieve, _CHANGE: self._change, _TOKEN: self._token,
        }.get(frame.request)  # fmt: skip
        if frame.request == _TOKEN_FOR_ANOTHER:
            raise Refused(SignOnCode.GENERATE_NOT_AUTHORIZED, "a profile token of another user")
        if act is None:
            raise Refused(SignOnCode.REQUEST_ID_NOT_VALID, f"request {frame.request:04X} to the sign-on server")
        return act(frame)

    def _refusal(self, frame: Frame, error: FrameError) -> bytes:
        malformed = _MALFORMED.get(frame.request, SignOnCode.REQUEST_NOT_VALID)
        code = error.code if isinstance(error, Refused) else malformed
        return reply(frame, frame.request | 0x8000, code.to_bytes(4, "big"))

    def _exchange(self, frame: Frame) -> Step:
        sent = frame.blocks(20)
        seed = sent.get(0x1103, b"")
        if len(seed) != 8:
            raise FrameError("no client seed of eight bytes")
        if len(sent.get(0x1101, bytes(4))) != 4:
            raise Refused(SignOnCode.REPLY_INDICATOR_NOT_VALID, "an invalid client version")
        if len(sent.get(0x1102, bytes(2))) != 2:
            raise Refused(SignOnCode.START_NOT_VALID, "an invalid data stream level")
        self.keep_seeds(seed)
        rest = block(0x1101, self.host.vrm) + block(0x1102, BOUNDS["sign_on_level"].to_bytes(2, "big"))
        rest += block(0x1103, self._server_seed) + block(0x1119, bytes((self.host.level,)))
        return Reply(reply(frame, 0xF003, bytes(4), rest))

    def _retrieve(self, frame: Frame) -> Step:
        attempt = self.attempt(frame, 21, SignOnCode.REQUEST_NOT_VALID)
        wanted = _TELL_MESSAGES in frame.blocks(21)

        def retrieve() -> bytes:
            host = self.host
            code = sign_on(host.system, host.accounts, PasswordLevel.of(host.level), attempt)
            if code is not SignOnCode.GOOD:
                return _refused(frame, 0xF004, code, attempt, messages=wanted)
            now, last = host.system.clock.time_ns(), host.signed_on.get(attempt.user)
            host.signed_on[attempt.user] = now
            ccsid = EBCDIC.ccsid.to_bytes(4, "big")
            rest = block(_CURRENT, self._moment(now)) + (block(_LAST, self._moment(last)) if last is not None else b"")
            rest += block(0x1114, host.page_of(attempt.user).ccsid.to_bytes(4, "big"))
            rest += block(0x1104, ccsid + EBCDIC.encode(attempt.user.ljust(10)))
            return reply(frame, 0xF004, bytes(4), rest)

        return SystemWork(retrieve)

    def _moment(self, time_ns: int) -> bytes:
        """A time in the system's time zone: year, month, day, hour, minute, second."""
        at = datetime.fromtimestamp(time_ns / NS_PER_SECOND, self.host.system.timezone)
        return at.year.to_bytes(2, "big") + bytes((at.month, at.day, at.hour, at.minute, at.second, 0))

    def _change(self, frame: Frame) -> Step:
        attempt = self.attempt(frame, 21, SignOnCode.CHANGE_NOT_VALID)
        sent = frame.blocks(21)
        wanted = _TELL_MESSAGES in sent
        hidden = NewPassword(
            _password(sent, 0x110C, SignOnCode.OLD_PASSWORD_NOT_VALID),
            _password(sent, 0x110D, SignOnCode.NEW_PASSWORD_NOT_VALID),
            *(int.from_bytes(sent.get(point, b"")[:4], "big") for point in (0x111C, 0x111D)),
        )

        def change() -> bytes:
            host = self.host
            code = change_password(host.system, host.accounts, PasswordLevel.of(host.level), attempt, hidden)
            return _refused(frame, 0xF005, code, attempt, messages=wanted)

        return SystemWork(change)

    def _token(self, frame: Frame) -> Step:
        """A request for a profile token: after a successful sign-on, the answer is that no more are available."""
        attempt, sent = self.attempt(frame, 22, SignOnCode.GENERATE_NOT_VALID), frame.blocks(22)
        if frame.number(21, 1) != _PROFILE_TOKEN:
            raise Refused(SignOnCode.TOKEN_KIND_NOT_VALID, "a token that is not a profile token")
        if sent.get(0x1116) not in _TOKEN_TYPES:
            raise Refused(SignOnCode.TOKEN_TYPE_NOT_VALID, "an invalid type of profile token")
        if not 1 <= int.from_bytes(sent.get(0x1117, b""), "big") <= BOUNDS["token_seconds"]:
            raise Refused(SignOnCode.TOKEN_SECONDS_NOT_VALID, "an invalid lifetime of a profile token")
        wanted = _TELL_MESSAGES in sent

        def token() -> bytes:
            host = self.host
            code = sign_on(host.system, host.accounts, PasswordLevel.of(host.level), attempt)
            code = SignOnCode.NO_MORE_TOKENS if code is SignOnCode.GOOD else code
            return _refused(frame, 0xF007, code, attempt, messages=wanted)

        return SystemWork(token)


def _password(sent: dict[int, bytes], point: int, not_valid: SignOnCode) -> bytes:
    """The encrypted password of a request: two bytes for each character, in complete substitutes."""
    data = sent.get(point, b"")
    if not data:
        raise FrameError("a password is missing")
    if len(data) > 2 * BOUNDS["password_longest"] + 64:
        raise Refused(not_valid, f"a password of {len(data)} bytes")
    return data


def _refused(frame: Frame, reply_id: int, code: SignOnCode, attempt: Attempt, *, messages: bool) -> bytes:
    """The reply with a return code, and with messages if the client requests them."""
    message_id = _REFUSALS.get(code)
    rest = refusal_blocks([message(message_id, attempt.user)]) if messages and message_id is not None else b""
    return reply(frame, reply_id, code.to_bytes(4, "big"), rest)
