"""Frames, the message format of every host server except the port mapper: parsing and encoding.

A header of 20 bytes (length, header id, server id, CS instance, correlation id, template length, request or reply id),
fixed fields, and blocks of length, code point and data. Nothing in a frame is trusted: a length is checked before it is
used, and an invalid frame is a :class:`FrameError`. If the start of the next frame is unknown, the connection ends;
otherwise the frame is answered by a return code.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

_HEADER = Struct(">IHHIIHH")
_BLOCK = Struct(">IH")
HEADER_BYTES = _HEADER.size
_SERVER_MARK = 0xE0


class FrameError(Exception):
    """The received bytes are not a frame of this protocol."""


class Refused(FrameError):
    """A complete frame with an impossible request; answered by this return code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Frame(NamedTuple):
    """One request.

    Attributes:
        attributes: the header id: client attributes in requests that start a server, otherwise 0.
        server: the server id, such as ``0xE007``.
        instance: the CS instance, which the reply repeats.
        correlation: the correlation id, which the reply repeats so that the client finds the waiting caller.
        template: the length of the fixed fields after the header, according to the client.
        request: the request id.
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
        """The blocks from an offset on, by code point; the first one if a code point occurs twice."""
        first: dict[int, bytes] = {}
        for point, data in blocks(self.body, start - HEADER_BYTES):
            first.setdefault(point, data)
        return first


def blocks(data: bytes, at: int = 0) -> Iterator[tuple[int, bytes]]:
    """The blocks of length, code point and data from an offset on.

    Raises:
        FrameError: a length is too small, or exceeds the data.
    """
    while at < len(data):
        if at + _BLOCK.size > len(data):
            raise FrameError(f"a block is truncated at {at}")
        length, point = _BLOCK.unpack_from(data, at)
        if not _BLOCK.size <= length <= len(data) - at:
            raise FrameError(f"a block at {at} has length {length}, but only {len(data) - at} bytes remain")
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
    """Splits received bytes into frames.

    Args:
        longest: the maximum length of a frame in bytes; it may be changed.
    """

    def __init__(self, longest: int) -> None:
        self.longest = longest
        self._held = bytearray()

    @property
    def held(self) -> int:
        """The number of bytes of an incomplete frame."""
        return len(self._held)

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        self._held += data

    def next(self) -> Frame | None:
        """The next complete frame; None if more bytes are needed.

        Raises:
            FrameError: the bytes are not a frame, or it is too long.
        """
        if len(self._held) < HEADER_BYTES:
            return None
        length, attributes, server, instance, correlation, template, request = _HEADER.unpack_from(self._held)
        if server >> 8 != _SERVER_MARK or not HEADER_BYTES <= length <= self.longest:
            raise FrameError(f"server id {server:04X}, {length} bytes: not a frame, or longer than {self.longest}")
        if len(self._held) < length:
            return None
        body = bytes(self._held[HEADER_BYTES:length])
        del self._held[:length]
        return Frame(attributes, server, instance, correlation, template, request, body)
