"""The messages of the Debug Adapter Protocol: a header ``Content-Length: N``, an empty line, and N bytes of JSON.

Whatever a client sends is checked here: the length of the header and of the message, that the message is a request, and
the type and the size of each argument that is used. A message that is not a request ends the connection; a wrong
argument is answered by an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from threading import Lock
from typing import Any, BinaryIO, Final

from tdqsim.errors import TdqError

_LENGTH: Final = re.compile(rb"Content-Length: *([0-9]{1,8})\r\n", re.IGNORECASE)
_HEADER: Final = 1000
"""The maximum length of a line of the header in bytes, and the maximum number of lines times 100."""
_BODY: Final = 1_000_000
"""The maximum length of a message in bytes."""
_TEXT: Final = 10_000
_LIST: Final = 10_000
_NUMBER: Final = 2**31 - 1


class BadMessage(TdqError):
    """A client has sent something that is not a message of the protocol."""


class BadRequest(TdqError):
    """A request has an argument that is missing, of the wrong type, or too large."""


class DebugArguments:
    """The arguments of a request, or an object in them."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def text(self, name: str, default: str | None = None) -> str:
        """A text of at most 10,000 characters.

        Raises:
            BadRequest: it is not one, or it is missing and there is no default.
        """
        value = self._values.get(name, default)
        if not isinstance(value, str) or len(value) > _TEXT:
            raise BadRequest(f"{name} must be a text of at most {_TEXT} characters")
        return value

    def number(self, name: str, default: int | None = None) -> int:
        """A number from 0 to 2,147,483,647.

        Raises:
            BadRequest: it is not one, or it is missing and there is no default.
        """
        value = self._values.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _NUMBER:
            raise BadRequest(f"{name} must be a number from 0 to {_NUMBER}")
        return value

    def flag(self, name: str) -> bool:
        """A flag; False if it is missing.

        Raises:
            BadRequest: it is not a flag.
        """
        value = self._values.get(name, False)
        if not isinstance(value, bool):
            raise BadRequest(f"{name} must be true or false")
        return value

    def object(self, name: str) -> DebugArguments:
        """An object; an empty one if it is missing.

        Raises:
            BadRequest: it is not an object.
        """
        return _object(self._values.get(name) or {}, name)

    def objects(self, name: str) -> list[DebugArguments]:
        """A list of at most 10,000 objects; an empty one if it is missing.

        Raises:
            BadRequest: it is not such a list.
        """
        return [_object(each, name) for each in self._list(name)]

    def texts(self, name: str) -> list[str]:
        """A list of at most 10,000 texts; an empty one if it is missing.

        Raises:
            BadRequest: it is not such a list.
        """
        return [DebugArguments({name: each}).text(name) for each in self._list(name)]

    def _list(self, name: str) -> list[Any]:
        value = self._values.get(name) or []
        if not isinstance(value, list) or len(value) > _LIST:
            raise BadRequest(f"{name} must be a list of at most {_LIST} elements")
        return value


def _object(value: Any, name: str) -> DebugArguments:
    if not isinstance(value, dict):
        raise BadRequest(f"{name} must be an object")
    return DebugArguments(value)


class DebugRequest:
    """A request of a client.

    Attributes:
        number: its number, which the response repeats.
        command: its name.
        arguments: its arguments.
    """

    def __init__(self, number: int, command: str, arguments: DebugArguments) -> None:
        self.number = number
        self.command = command
        self.arguments = arguments


class DebugStream:
    """Reads requests from a client, and writes responses and events to it; any thread may write.

    Args:
        source: where requests come from.
        target: where responses and events go.
    """

    def __init__(self, source: BinaryIO, target: BinaryIO) -> None:
        self._source = source
        self._target = target
        self._lock = Lock()
        self._written = 0

    def read(self) -> DebugRequest | None:
        """The next request; None when the client has closed the connection.

        Raises:
            BadMessage: what arrives is not a request.
            OSError: the connection has failed.
        """
        length = self._length()
        if length is None:
            return None
        body = self._source.read(length)
        if len(body) < length:
            return None
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            raise BadMessage("the body of a message is not JSON") from None
        if not isinstance(message, dict) or message.get("type") != "request":
            raise BadMessage("a message is not a request")
        try:
            values = DebugArguments(message)
            return DebugRequest(values.number("seq"), values.text("command"), values.object("arguments"))
        except BadRequest as error:
            raise BadMessage(str(error)) from None

    def _length(self) -> int | None:
        """The length that a header gives; None at the end of the connection."""
        length = None
        for _line in range(_HEADER // 100):
            line = self._source.readline(_HEADER)
            if not line:
                return None
            if line == b"\r\n":
                break
            match = _LENGTH.fullmatch(line)
            if match is None and length is None:
                raise BadMessage("a header does not begin with Content-Length")
            length = length if match is None else int(match[1])
        if length is None or length > _BODY:
            raise BadMessage(f"a header must give a Content-Length of at most {_BODY} bytes")
        return length

    def respond(self, request: DebugRequest, body: Mapping[str, Any] | None = None, *, problem: str = "") -> None:
        """Write the response to a request; one with a problem is an error."""
        message: dict[str, Any] = {"type": "response", "request_seq": request.number, "command": request.command}
        message |= {"success": not problem, **({"body": body} if body is not None else {})}
        if problem:
            message |= {"message": problem, "body": {"error": {"id": 1, "format": problem.replace("{", "(")}}}
        self._write(message)

    def tell(self, event: str, body: Mapping[str, Any] | None = None) -> None:
        """Write an event."""
        self._write({"type": "event", "event": event, **({"body": body} if body is not None else {})})

    def _write(self, message: dict[str, Any]) -> None:
        with self._lock:
            self._written += 1
            body = json.dumps({"seq": self._written, **message}).encode("ascii")
            self._target.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            self._target.flush()
