"""The error code parameter, formats ERRC0100 and ERRC0200.

The structure contains the number of bytes that may be written to it. With 0 an error is signalled as an escape message.
With 8 or more (12 in ERRC0200) the message id and as much of its data as fits are written, and the call returns. If
there was no error, bytes available is set to 0 and nothing after it is changed. Some messages are always signalled.
"""

from __future__ import annotations

from typing import NamedTuple

from tdqsim.core.codepage import CodePage, codepage
from tdqsim.ibmi.fact_tables import LIMITS
from tdqsim.ibmi.layouts import layout, pack_binary, unpack_binary
from tdqsim.ibmi.messages import Message

ALWAYS_SIGNALLED = frozenset({"CPF3CF1", "CPF9872", "CPF24B4", "CPF3C90"})
"""Messages that are signalled even when there is an error code structure."""

_OLD, _NEW = layout("ERRC0100"), layout("ERRC0200")
_WORD = 4


class ErrorReport(NamedTuple):
    """The content of an error code structure after a call.

    Attributes:
        bytes_available: the size of the complete report; 0 when there was no error.
        exception_id: the message id; empty when there was no error, or no room for it.
        exception_data: the part of its data that was written.
    """

    bytes_available: int
    exception_id: str
    exception_data: bytes


def read_provided(storage: bytes | bytearray) -> tuple[bool, int] | None:
    """Whether the structure is ERRC0200, and its bytes provided; None when it is not valid.

    Args:
        storage: the structure, at least as long as its input fields.
    """
    first = unpack_binary(bytes(storage[:_WORD]))
    if first != -1:
        return (False, first) if first == 0 or first >= LIMITS["error_code_0100_minimum"] else None
    provided = unpack_binary(bytes(storage[_WORD : 2 * _WORD]))
    if len(storage) < 2 * _WORD or (provided != 0 and provided < LIMITS["error_code_0200_minimum"]):
        return None
    return True, provided


class ErrorCode:
    """An error code structure in storage of the caller, for the byte forms.

    Args:
        bytes_provided: how many bytes may be written; 0 requests escape messages.
        ccsid: the CCSID of the exception id.
        extended: use ERRC0200 instead of ERRC0100.
    """

    __slots__ = ("_extended", "_page", "storage")

    def __init__(self, bytes_provided: int = 256, *, ccsid: int = 37, extended: bool = False) -> None:
        self._page = codepage(ccsid)
        self._extended = extended
        self.storage = bytearray(max(bytes_provided, (_NEW if extended else _OLD).length))
        start = pack_binary(-1) + pack_binary(bytes_provided) if extended else pack_binary(bytes_provided)
        self.storage[: len(start)] = start

    def report(self) -> ErrorReport:
        """The content of the structure."""
        form = _NEW if self._extended else _OLD
        values = form.parse(bytes(self.storage), self._page)
        available = values["bytes_available"]
        if not available:
            return ErrorReport(0, "", b"")
        provided = values["bytes_provided"]
        written = form.parse(bytes(self.storage[:provided]), self._page)
        data = written.get("exception_data", b"")[: available - form.length]
        return ErrorReport(available, written.get("exception_id", ""), data)


def report_success(storage: bytearray, *, extended: bool) -> None:
    """Set the structure to "no error"."""
    at = 2 * _WORD if extended else _WORD
    storage[at : at + _WORD] = pack_binary(0)


def report_failure(message: Message, provided: int, *, extended: bool, page: CodePage) -> bytes:
    """The bytes of the structure for a message, cut to the bytes provided."""
    data = message.message_data[: LIMITS["error_code_maximum"] - _OLD.length]
    values: dict[str, object] = {
        "bytes_provided": provided, "exception_id": message.message_id, "reserved": "0", "exception_data": data,
    }  # fmt: skip
    form = _OLD
    if extended:
        form = _NEW
        values |= {"key": -1, "ccsid": page.ccsid, "offset_to_exception_data": form.length,
                   "length_of_exception_data": len(data)}  # fmt: skip
    values["bytes_available"] = form.length + len(data)
    return form.build(values, page)[:provided]
