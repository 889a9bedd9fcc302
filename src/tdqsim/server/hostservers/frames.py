"""The frame that every host server but the port mapper speaks, taken apart and put together.

A header of 20 bytes (length, header id, server id, CS instance, correlation id, template length, request or reply id),
fixed fields, and blocks of length, code point and data. Everything in a frame comes from outside: a length is checked
before it is used, and a frame that is not valid is a :class:`FrameError`. It ends the connection when the start of the
next frame is not known, and is answered by a return code when it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

__all__ = ["HEADER_BYTES", "Frame", "FrameError", "FrameReader", "Refused", "block", "blocks", "reply"]

_HEADER = Struct(">IHHIIHH")
_BLOCK = Struct(">IH")
HEADER_BYTES = _HEADER.size
_SERVER_MARK = 0xE0


class FrameError(Exception):
    """The bytes received are no frame of this protocol."""


class Refused(FrameError):
    """A whole frame that asks for what cannot be; answered by this return code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Frame(NamedTuple):
    """One request.

    Attributes:
        attributes: the header id: client attributes in requests that start a server, else 0.
        server: server id, such as ``0xE007``.
        instance: CS instance, echoed.
        correlation: echoed, so that the client finds the waiting caller.
        template: bytes of fixed fields after the header, as the client says.
        request: request id.
        body: everything after the header.
    """

    attributes: int
    server: int
    instance: int
    correlation: int
    template: int
    request: int
    body: bytes

    def fixed(self, start: int, length: int) -> bytes:
        """Bytes of the frame by their offset from its start, header included.

        Raises:
            FrameError: the frame is shorter.
        """
        at = start - HEADER_BYTES
        if not 0 <= at <= at + length <= len(self.body):
            raise FrameError(f"request {self.request:04X}: no {length} bytes at offset {start}")
        return self.body[at : at + length]

    def number(self, start: int, length: int, *, signed: bool = False) -> int:
        """A binary field by its offset from the start of the frame."""
        return int.from_bytes(self.fixed(start, length), "big", signed=signed)

    def blocks(self, start: int) -> dict[int, bytes]:
        """The blocks from an offset on, by code point; of one that comes twice the first."""
        found: dict[int, bytes] = {}
        for point, data in blocks(self.body, start - HEADER_BYTES):
            found.setdefault(point, data)
        return found


def blocks(data: bytes, at: int = 0) -> Iterator[tuple[int, bytes]]:
    """The blocks of length, code point and data from an offset on.

    Raises:
        FrameError: a length is too small or points behind the end.
    """
    while at < len(data):
        if at + _BLOCK.size > len(data):
            raise FrameError(f"a block is cut off at {at}")
        length, point = _BLOCK.unpack_from(data, at)
        if not _BLOCK.size <= length <= len(data) - at:
            raise FrameError(f"a block at {at} says {length} bytes, there are {len(data) - at}")
        yield point, data[at + _BLOCK.size : at + length]
        at += length


def block(point: int, data: bytes) -> bytes:
    """One block."""
    return _BLOCK.pack(_BLOCK.size + len(data), point) + data


def reply(request: Frame, reply_id: int, template: bytes, rest: bytes = b"", *, attributes: int = 0) -> bytes:
    """The frame that answers a request: its correlation, fixed fields, blocks."""
    length = HEADER_BYTES + len(template) + len(rest)
    header = _HEADER.pack(
        length, attributes, request.server, request.instance, request.correlation, len(template), reply_id
    )
    return header + template + rest


class FrameReader:
    """Bytes in, whole frames out.

    Args:
        longest: bytes of the longest frame that is taken; it may be changed.
    """

    def __init__(self, longest: int) -> None:
        self.longest = longest
        self._held = bytearray()

    @property
    def held(self) -> int:
        """How many bytes wait to become a frame."""
        return len(self._held)

    def feed(self, data: bytes) -> None:
        """Take what came."""
        self._held += data

    def next(self) -> Frame | None:
        """The next whole frame; None when more has to come.

        Raises:
            FrameError: what stands there is no frame, or one too long.
        """
        if len(self._held) < HEADER_BYTES:
            return None
        length, attributes, server, instance, correlation, template, request = _HEADER.unpack_from(self._held)
        if server >> 8 != _SERVER_MARK or not HEADER_BYTES <= length <= self.longest:
            raise FrameError(f"server id {server:04X}, {length} bytes: no frame, or longer than {self.longest}")
        if len(self._held) < length:
            return None
        body = bytes(self._held[HEADER_BYTES:length])
        del self._held[:length]
        return Frame(attributes, server, instance, correlation, template, request, body)
