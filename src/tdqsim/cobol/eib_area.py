"""DFHEIBLK as a program has it: the task's EIB as 85 bytes of storage, in the characters that programs run in.

The area of a level is filled for each new task and then updated with the task's EIB. Nearly every command changes the
fields about its end (EIBFN, EIBRCODE, EIBRESP, ...), so the bytes for each kind of end are made once and cached. The
other fields change rarely.
"""

from __future__ import annotations

import ctypes
import struct
from datetime import datetime, tzinfo
from functools import lru_cache
from typing import Final

from tdqsim.languages import Completion, Eib

_NS: Final = 10**9
_COMPLETIONS_KEPT: Final = 4096
_TEXT_PAGE: Final = "latin-1"
_NO_COMMAND: Final = bytes(2)
"""EIBFN before the first command."""
_INDICATORS: Final = (59, 76)
"""The offsets of the indicators EIBSYNC to EIBNODAT: the first, and the end."""


class EibArea:
    """The storage of one EIB.

    Attributes:
        address: its address.
        last: the end of the last command that the area shows.
        marked: whether a stub has set indicators; the region never sets them.
    """

    __slots__ = ("_blank", "_buffer", "_fields", "_key", "_shown", "address", "last", "marked")

    def __init__(self) -> None:
        self._buffer = ctypes.create_string_buffer(Eib.LENGTH)
        self.address = ctypes.addressof(self._buffer)
        self._shown = memoryview(self._buffer).cast("B")
        self._key: tuple[object, ...] = ()
        self._blank = bytes(Eib.LENGTH)
        self._fields: tuple[object, ...] = ()
        self.last: Completion | None = None
        self.marked = False

    def mark(self, offset: int, data: bytes) -> None:
        """Set an indicator until the next command."""
        self._shown[offset : offset + len(data)] = data
        self.marked = True

    def unmark(self) -> None:
        """Set all indicators to X'00', their value in the region."""
        start, end = _INDICATORS
        self._shown[start:end] = bytes(end - start)
        self.marked = False

    def begin(self, eib: Eib) -> bytes:
        """Return the EIB of a new task, without EIBTASKN; the run-time copies it to the area."""
        second = eib.moment_ns // _NS
        key = (eib.eibtrnid, second, eib.eibtrmid, eib.eibcposn, eib.eibcalen, eib.eibaid, eib.eibds, eib.eibreqid)
        if key != self._key:
            self._key, self._blank = key, _blank(eib)
        self._fields = ()
        last = self.last = eib.last
        if last.fn == _NO_COMMAND:
            return self._blank
        blank = bytearray(self._blank)
        blank[27:35], blank[51:59], blank[76:84] = _completed(last)
        return bytes(blank)

    def show(self, eib: Eib) -> None:
        """Update the fields that a command may have changed."""
        fields = _fields(eib)
        if fields != self._fields:
            self._fields = fields
            blank = _blank(eib)
            self._shown[0:8] = blank[0:8]
            self._shown[16:27] = blank[16:27]
            self._shown[35:51] = blank[35:51]
        if eib.last is not self.last:
            self.show_last(eib.last)

    def show_last(self, last: Completion) -> None:
        """Update the fields about the end of a command."""
        self.last = last
        known = _COMPLETED.get(id(last))
        if known is None or known[0] is not last:
            if len(_COMPLETED) > _COMPLETIONS_KEPT:
                _COMPLETED.clear()
            known = _COMPLETED[id(last)] = (last, *_completed(last))
        shown = self._shown
        shown[27:35], shown[51:59], shown[76:84] = known[1:]


_COMPLETED: Final[dict[int, tuple[Completion, bytes, bytes, bytes]]] = {}
"""The bytes for ends of commands, by the identity of the end object."""


def _fields(eib: Eib) -> tuple[object, ...]:
    """The fields that commands rarely change."""
    return eib.moment_ns, eib.eibcalen, eib.eibaid, eib.eibcposn, eib.eibds, eib.eibreqid, eib.eibtrmid


def _blank(eib: Eib) -> bytes:
    """The EIB of a task before its first command, without the task number."""
    head = b"".join((_clock(eib.moment_ns // _NS, eib.zone), _text(eib.eibtrnid, 4), bytes(4), _text(eib.eibtrmid, 4)))
    input_ = struct.pack(">xxHH", eib.eibcposn, eib.eibcalen) + eib.eibaid
    return (head + input_ + bytes(8) + _text(eib.eibds, 8) + _text(eib.eibreqid, 8)).ljust(Eib.LENGTH, b"\0")


def _completed(last: Completion) -> tuple[bytes, bytes, bytes]:
    """EIBFN with EIBRCODE, EIBRSRCE, and EIBRESP with EIBRESP2, as bytes."""
    return last.fn + last.rcode, _text(last.rsrce, 8), struct.pack(">ii", int(last.resp), last.resp2)


def _text(text: str, size: int) -> bytes:
    return text.ljust(size)[:size].encode(_TEXT_PAGE, "replace") if text else bytes(size)


@lru_cache(maxsize=64)
def _clock(second: int, zone: tzinfo) -> bytes:
    """EIBTIME and EIBDATE of a second."""
    moment = datetime.fromtimestamp(second, zone)
    date = (moment.year - 1900) * 1000 + moment.timetuple().tm_yday
    return bytes.fromhex(f"{moment:0%H%M%S}C{date:07d}C")
