"""Messages between regions or systems, in one process or over a network, and their byte form.

A message is a kind, some fields, and raw data. Its byte form is a frame::

    version  1 byte    VERSION; any other value is refused
    zero     1 byte
    header   2 bytes   length of the header, big-endian
    data     4 bytes   length of the data, big-endian
    ...                the header: a JSON object with ``kind``, ``number``, ``answers`` and ``fields``
    ...                the data

The user of this module declares the kinds of messages and their fields (:data:`Kinds`); anything else is refused. Bytes
from a network may be hostile: lengths are checked before anything is read, and a header contains plain values only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from struct import Struct
from types import MappingProxyType
from typing import Any, Final

from tdqsim.core.named import NamedTuple
from tdqsim.errors import TdqError, WrongValue

VERSION: Final = 1
"""The version of the byte form, including the fields of each kind."""
DATA_LIMIT: Final = 1 << 20
"""The most bytes of data in a message: more than any record or entry has."""
_PREFIX: Final = Struct(">BBHI")
_HEADER_LIMIT: Final = (1 << 16) - 1
_LARGEST: Final = 1 << 63

Kinds = Mapping[str, Mapping[str, type]]
"""The kinds of messages of one protocol, each with the types of its fields (str, int, bool, list of str)."""


class MessageError(TdqError):
    """Bytes are not a message, or a message is of an unknown kind."""


class MessageFrame(NamedTuple):
    """One message.

    Attributes:
        kind: the kind of message.
        fields: its values by name.
        data: raw data.
        number: the sender's count of messages on this connection, from 1; 0 before the message is sent.
        answers: the number of the message that this one answers; 0 for none.
    """

    kind: str
    fields: Mapping[str, Any] = MappingProxyType({})
    data: bytes = b""
    number: int = 0
    answers: int = 0

    def to_bytes(self) -> bytes:
        """The message as a frame.

        Raises:
            MessageError: it is too long.
        """
        values = {"kind": self.kind, "number": self.number, "answers": self.answers, "fields": {**self.fields}}
        header = json.dumps(values, separators=(",", ":"), allow_nan=False).encode()
        if len(header) > _HEADER_LIMIT or len(self.data) > DATA_LIMIT:
            raise MessageError(
                f"{self.kind}: {len(header)} bytes of fields and {len(self.data)} of data; "
                f"allowed are {_HEADER_LIMIT} and {DATA_LIMIT}"
            )
        return _PREFIX.pack(VERSION, 0, len(header), len(self.data)) + header + self.data


class FrameDecoder:
    """Decodes frames from a stream of bytes that arrives in pieces of any length.

    Args:
        kinds: the kinds of messages that are accepted.
        data_limit: the most bytes of data that a message may have.
    """

    def __init__(self, kinds: Kinds, *, data_limit: int = DATA_LIMIT) -> None:
        self._kinds = kinds
        self._data_limit = data_limit
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[MessageFrame]:
        """Add the next bytes and return the messages that are complete now.

        Raises:
            MessageError: the bytes are not a message; the rest of the stream cannot be decoded either.
        """
        self._rest += chunk
        messages = []
        at = 0
        while (one := self._next(at)) is not None:
            message, at = one
            messages.append(message)
        del self._rest[:at]
        return messages

    def first(self, chunk: bytes) -> tuple[MessageFrame, bytes] | None:
        """Add the next bytes; returns the first message and the undecoded bytes after it, or None if it is incomplete.

        Raises:
            MessageError: the bytes are not a message.
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
        """The message that begins at an offset, and the offset of its end; None when it is incomplete."""
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
                raise MessageError(f"{kind}: {name} is not a message number")
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
    raise WrongValue(f"{word} is not a value")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise WrongValue("a name occurs twice")
    return values
