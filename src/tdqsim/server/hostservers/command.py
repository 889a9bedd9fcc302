"""The remote command and program call server."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import CancelledError
from typing import NamedTuple

from tdqsim.errors import ConversionError, SystemClosed
from tdqsim.hosting import EngineStopped, codepage, product_fault
from tdqsim.ibmi import EscapeMessage, Job, JobEnded, Message, ParameterError, message
from tdqsim.server.audit import audit, cl_command_name, one_line
from tdqsim.server.hostservers.accounts import BOUNDS
from tdqsim.server.hostservers.conversation import Conversation, End, Reply, Step, SystemWork, text10
from tdqsim.server.hostservers.frames import Frame, FrameError, Refused, block, blocks, reply
from tdqsim.server.hostservers.messages import message_blocks

_OK, _FAILED, _UNRESOLVED, _ESCAPED = 0x0000, 0x0400, 0x0500, 0x0501
_EXCHANGE_NOT_VALID, _WRONG_SERVER, _WRONG_REQUEST = 0x0101, 0x0202, 0x0205
_REQUEST_NOT_VALID, _PARAMETER_NOT_VALID, _TOO_MUCH, _CCSID_NOT_VALID = 0x0301, 0x0302, 0x0303, 0x0401
_REPLIES = {0x1001: (0x8001, 14), 0x1002: (0x8002, 0), 0x1003: (0x8003, 0)}
"""For each request, the id of its reply, and the number of bytes that always follow the return code."""
_PARAMETER = 0x1103
_UNICODE = {1200: "utf-16-be", 13488: "utf-16-be", 1208: "utf-8"}
_NO_MESSAGES = 1
_UP_TO_TEN = (0, 3, 5)
_OLD_OPTIONS = (0, 2)
_LONGEST_REASON = 500
_LOG = logging.getLogger(__name__)
_ESCAPE = 0x1B
_NULL = 0xFF
_OUTPUT, _BOTH = 2, 3
_OVER = (CancelledError, EngineStopped, JobEnded, SystemClosed)
"""Exceptions that end a request after its client has disconnected; programs do not raise them."""


class CommandServer(Conversation):
    """One connection to the remote command server."""

    server_id = 0xE008
    service = "as-rmtcmd"
    job_name = "QZRCSRVS"
    wrong_server = _WRONG_SERVER

    def serve(self, frame: Frame) -> Step | None:
        """See the base class."""
        job = self.job
        if job is None:
            return End("the server job has ended")
        if frame.request == 0x1001:
            frame.fixed(20, 14)
            nlv = frame.fixed(24, 4)
            template = bytes(2) + job.page.ccsid.to_bytes(4, "big") + nlv + self.host.vrm
            return Reply(reply(frame, 0x8001, template + BOUNDS["command_level"].to_bytes(2, "big")))
        if frame.request == 0x1002:
            return self._command(frame, job)
        if frame.request == 0x1003:
            return self._program(frame, job)
        if frame.request == 0x1004:
            return End()
        raise Refused(_WRONG_REQUEST, f"request {frame.request:04X} to the remote command server")

    def refusal(self, frame: Frame, error: FrameError) -> bytes:
        """See the base class."""
        malformed = _EXCHANGE_NOT_VALID if frame.request == 0x1001 else _REQUEST_NOT_VALID
        code = error.code if isinstance(error, Refused) else malformed
        reply_id, more = _REPLIES.get(frame.request, (0x8002, 0))
        return reply(frame, reply_id, code.to_bytes(2, "big") + bytes(more))

    def _audit(self, operation: str, code: int) -> None:
        """Write the audit line of a command or call; parameters may contain a secret and are not logged."""
        result = "" if code == _OK else f"{code:04X}"
        system = self.host.system.name
        audit(self.service, self.user, operation, system=system, resp=result or "NORMAL", origin=self.origin)

    def _command(self, frame: Frame, job: Job) -> Step:
        option, text = frame.number(20, 1), _command_text(frame, job)

        def work() -> bytes:
            code, sent = run_command(job, text)
            self._audit(cl_command_name(text), code)
            return reply(frame, 0x8002, code.to_bytes(2, "big"), _messages(job, sent, option))

        return SystemWork(work)

    def _program(self, frame: Frame, job: Job) -> Step:
        name, library = text10(frame.fixed(20, 10), job.page), text10(frame.fixed(30, 10), job.page)
        option, count = frame.number(40, 1), frame.number(41, 2)
        parameters = _parameters(frame, count)

        def work() -> bytes:
            code, sent = _call(job, name, library, parameters)
            self._audit(f"CALL {library}/{name}", code)
            if code == _OK:
                rest = count.to_bytes(2, "big") + b"".join(one.answer() for one in parameters)
            else:
                rest = _messages(job, sent, option)
            return reply(frame, 0x8003, code.to_bytes(2, "big"), rest)

        return SystemWork(work)


class Parameter(NamedTuple):
    """A parameter of a call: its usage and its storage; None for a null parameter."""

    use: int
    storage: bytearray | None

    def answer(self) -> bytes:
        """The block that returns the parameter; empty for inputs."""
        if self.storage is None or self.use not in (_OUTPUT, _BOTH) or not self.storage:
            return b""
        data = bytes(self.storage)
        return block(_PARAMETER, len(data).to_bytes(4, "big") + (10 + self.use).to_bytes(2, "big") + data)


def expanded(data: bytes, most: int) -> bytes:
    """Decompress data: ``1B 1B`` is one 1B, ``1B a b n n`` the two bytes ``a b``, ``n n`` times.

    Raises:
        FrameError: the data ends within an escape, or is longer than ``most``.
    """
    result = bytearray()
    at = 0
    while at < len(data):
        escape = data.find(_ESCAPE, at)
        if escape < 0:
            result += data[at:]
            break
        result += data[at:escape]
        if data[escape + 1 : escape + 2] == b"\x1b":
            result.append(_ESCAPE)
            at = escape + 2
        else:
            run = data[escape + 1 : escape + 5]
            times = int.from_bytes(run[2:], "big")
            if len(run) < 4 or len(result) + 2 * times > most:
                raise FrameError("compressed data is truncated or too long")
            result += run[:2] * times
            at = escape + 5
    if len(result) > most:
        raise FrameError("compressed data that is too long")
    return bytes(result)


def _parameters(frame: Frame, count: int) -> list[Parameter]:
    if count > BOUNDS["parameters"]:
        raise Refused(_TOO_MUCH, f"{count} parameters")
    parameters: list[Parameter] = []
    total = 0
    for point, data in blocks(frame.body, 23):
        length, usage = int.from_bytes(data[:4], "big"), int.from_bytes(data[4:6], "big")
        total += length
        if point != _PARAMETER or len(data) < 6:
            raise FrameError("an invalid parameter")
        if total > BOUNDS["parameter_bytes"]:
            raise Refused(_TOO_MUCH, f"parameters of {total} bytes")
        if usage == _NULL:
            parameters.append(Parameter(0, None))
            continue
        use, form = usage % 10, usage // 10
        sent = expanded(data[6:], length) if form == 2 else data[6:]
        if use not in (1, _OUTPUT, _BOTH) or len(sent) > length:
            raise Refused(_PARAMETER_NOT_VALID, f"a parameter with usage {usage} and {len(sent)} of {length} bytes")
        parameters.append(Parameter(use, bytearray(sent.ljust(length, b"\0"))))
    if len(parameters) != count:
        raise FrameError(f"expected {count} parameters, got {len(parameters)}")
    return parameters


def _command_text(frame: Frame, job: Job) -> str:
    blocks = frame.blocks(21)
    if 0x1104 in blocks:
        return sent_text(int.from_bytes(blocks[0x1104][:4], "big"), blocks[0x1104][4:])
    if 0x1101 in blocks:
        return job.page.printable(blocks[0x1101])
    raise FrameError("a command without text")


def sent_text(ccsid: int, raw: bytes) -> str:
    """Text that a client has sent.

    Raises:
        Refused: the CCSID is not supported.
    """
    if ccsid in _UNICODE:
        return raw.decode(_UNICODE[ccsid], "replace")
    try:
        return codepage(ccsid).printable(raw)
    except ConversionError:
        raise Refused(_CCSID_NOT_VALID, f"text in CCSID {ccsid}") from None


def run_command(job: Job, text: str) -> tuple[int, Sequence[Message]]:
    """Run a command; return its return code and messages."""
    before = job.joblog[-1:]
    try:
        answer = job.command(text)
    except EscapeMessage:
        return _FAILED, _since(job, before)
    except (ParameterError, ConversionError) as error:  # raised by a program
        return _FAILED, [*_since(job, before), *_ended(job, "CPF0006", error)]
    except _OVER:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  (any exception of a user's program is a function check)
        return _FAILED, [*_since(job, before), *_ended(job, "CPF9999", error)]
    if isinstance(answer, tuple) and all(isinstance(one, Message) for one in answer):  # of DSPJOBLOG
        return _OK, answer
    return _OK, _since(job, before)


def _call(job: Job, name: str, library: str, parameters: Sequence[Parameter]) -> tuple[int, Sequence[Message]]:
    before = job.joblog[-1:]
    try:
        job.call_program(name, library, [one.storage for one in parameters])
    except EscapeMessage as error:
        code = _UNRESOLVED if error.message_id == "MCH3401" else _ESCAPED
        logged = _since(job, before)
        job.log(*(one for one in (*error.diagnostics, error.message) if not any(one is each for each in logged)))
        return code, _since(job, before)
    except (ParameterError, ConversionError) as error:
        return _ESCAPED, [*_since(job, before), *_ended(job, "CPF24B4", error)]
    except _OVER:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  (any exception of a user's program is a function check)
        return _ESCAPED, [*_since(job, before), *_ended(job, "CPF9999", error)]
    return _OK, []


def _since(job: Job, before: Sequence[Message]) -> Sequence[Message]:
    """The messages in a job log after the last one of ``before``; all of them if the log no longer has that one."""
    new: list[Message] = []
    for one in reversed(job.joblog):
        if any(one is each for each in before):
            break
        new.append(one)
    return new[::-1]


def _ended(job: Job, message_id: str, error: Exception | SystemExit) -> list[Message]:
    """The messages for a command or program that ended with a Python exception: its text, then an escape message."""
    reason = Message("", "diagnostic", 0, f"{type(error).__name__}: {error}"[:_LONGEST_REASON], b"")
    if message_id == "CPF9999":
        why = one_line(f"{type(error).__name__}: {error}")
        _LOG.warning("%s: a program ended: %s", job.qualified_name, why, exc_info=product_fault(error))
        return [reason, message(message_id, "", "", page=job.page)]
    return [reason, message(message_id, page=job.page)]


def _messages(job: Job, sent: Sequence[Message], option: int) -> bytes:
    """The count and the messages in the form of the option; older options use a form of fixed length."""
    chosen = [] if option == _NO_MESSAGES else sent[-10:] if option in _UP_TO_TEN else sent
    return message_blocks(chosen, job.page, fixed=option in _OLD_OPTIONS)
