"""Messages as bytes: what regions and systems say to each other, in one process or over a network.

A message is a kind, some fields, and raw bytes beside them. Its byte form is a frame::

    version  1 byte    VERSION; another one is refused
    zero     1 byte
    header   2 bytes   length of the header, big-endian
    data     4 bytes   length of the data, big-endian
    ...                the header: a JSON object with ``kind``, ``number``, ``answers`` and ``fields``
    ...                the data, as they are

The user of this module declares the kinds of messages and their fields (:data:`Kinds`); anything else is refused.
All lengths are bounded before anything is read, and a header is plain values only: what comes over a network is
hostile.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Final

from tdqsim.errors import TdqError

__all__ = ["DATA_LIMIT", "VERSION", "FrameDecoder", "Kinds", "MessageError", "MessageFrame", "encode"]

VERSION: Final = 1
"""Of the byte form; what fields a kind has is part of it."""
DATA_LIMIT: Final = 1 << 20
"""Bytes beside the header: more than any record or entry has."""
_PREFIX: Final = Struct(">BBHI")
_HEADER_LIMIT: Final = (1 << 16) - 1
_LARGEST: Final = 1 << 63

Kinds = Mapping[str, Mapping[str, type]]
"""The kinds of messages of one protocol: the fields of each with their types (str, int, bool, list of str)."""


class MessageError(TdqError):
    """Bytes that are not a message, or a message of an unknown kind."""


@dataclass(frozen=True, slots=True)
class MessageFrame:
    """One message, as it goes in a frame.

    Attributes:
        kind: what it says.
        fields: its values by name.
        data: raw bytes beside them.
        number: the sender's count of messages on this connection, from 1; 0 before it is sent.
        answers: the number of the message that this one answers; 0 for none.
    """

    kind: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    data: bytes = b""
    number: int = 0
    answers: int = 0


def encode(message: MessageFrame) -> bytes:
    """The byte form.

    Raises:
        MessageError: it is longer than the bounds allow.
    """
    values = {"kind": message.kind, "number": message.number, "answers": message.answers, "fields": {**message.fields}}
    header = json.dumps(values, separators=(",", ":"), allow_nan=False).encode()
    if len(header) > _HEADER_LIMIT or len(message.data) > DATA_LIMIT:
        raise MessageError(
            f"{message.kind}: {len(header)} bytes of fields and {len(message.data)} of data; "
            f"allowed are {_HEADER_LIMIT} and {DATA_LIMIT}"
        )
    return _PREFIX.pack(VERSION, 0, len(header), len(message.data)) + header + message.data


class FrameDecoder:
    """Makes messages of bytes as they come, in pieces of any length.

    Args:
        kinds: what is understood.
        data_limit: bytes of data that a message may have.
    """

    def __init__(self, kinds: Kinds, *, data_limit: int = DATA_LIMIT) -> None:
        self._kinds = kinds
        self._data_limit = data_limit
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[MessageFrame]:
        """Take the next bytes; the messages that are complete with them.

        Raises:
            MessageError: these are no messages; nothing more can be made of what follows.
        """
        self._rest += chunk
        found = []
        at = 0
        while (one := self._next(at)) is not None:
            message, at = one
            found.append(message)
        del self._rest[:at]
        return found

    def first(self, chunk: bytes) -> tuple[MessageFrame, bytes] | None:
        """Take the next bytes; the first message and what follows it, which is not looked at. None: more has to come.

        Raises:
            MessageError: that is no message.
        """
        self._rest += chunk
        one = self._next(0)
        if one is None:
            return None
        message, at = one
        rest = bytes(self._rest[at:])
        self._rest.clear()
        return message, rest

    def _next(self, at: int) -> tuple[MessageFrame, int] | None:
        """The message that stands at a place, and where it ends; None when more has to come."""
        if len(self._rest) - at < _PREFIX.size:
            return None
        version, zero, header, data = _PREFIX.unpack_from(self._rest, at)
        if version != VERSION or zero:
            raise MessageError(f"a message of version {version}.{zero}; understood is {VERSION}.0")
        if data > self._data_limit:
            raise MessageError(f"a message with {data} bytes of data; allowed are {self._data_limit}")
        middle = at + _PREFIX.size + header
        end = middle + data
        if len(self._rest) < end:
            return None
        return self._message(bytes(self._rest[at + _PREFIX.size : middle]), bytes(self._rest[middle:end])), end

    def _message(self, header: bytes, data: bytes) -> MessageFrame:
        try:
            values = json.loads(header, parse_constant=_refused, object_pairs_hook=_once)
        except (ValueError, RecursionError) as error:
            raise MessageError(f"the header of a message cannot be read: {error}") from error
        if not isinstance(values, dict) or values.keys() != {"kind", "number", "answers", "fields"}:
            raise MessageError("the header of a message has kind, number, answers and fields, and no more")
        kind, fields = values["kind"], values["fields"]
        understood = self._kinds.get(kind) if type(kind) is str else None
        if understood is None:
            raise MessageError(f"a message of kind {kind!r:.40}; understood are {', '.join(self._kinds)}")
        for name in ("number", "answers"):
            if type(values[name]) is not int or not 0 <= values[name] < _LARGEST:
                raise MessageError(f"{kind}: {name} is no number of a message")
        if not isinstance(fields, dict) or fields.keys() != understood.keys():
            raise MessageError(f"{kind} has the fields {', '.join(understood) or 'none'}, and no more")
        for name, wanted in understood.items():
            if not _is_a(fields[name], wanted):
                raise MessageError(f"{kind}: {name} is no {wanted.__name__}")
        return MessageFrame(kind, fields, data, values["number"], values["answers"])


def _is_a(value: object, wanted: type) -> bool:
    if type(value) is not wanted:
        return False
    if isinstance(value, list):
        return all(type(each) is str for each in value)
    return type(value) is not int or -_LARGEST <= value < _LARGEST


def _refused(word: str) -> object:
    raise ValueError(f"{word} is no value")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is there twice")
    return found
