"""A planned fault of links: at one of their messages the process kills itself, or the links are cut.

Tests use this to check the state afterwards. With ``TDQ_LINK_FAULT=NEARAPPL:kill:out:3`` in its environment, ``tdq
serve`` is killed as by SIGKILL when it is about to send the third message of the links of NEARAPPL. ``in`` means when
it has received that message, and ``cut`` closes the connections once instead. All messages of these links count,
including those that open them again. Without the variable, messages are not checked.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from struct import Struct
from typing import Final

from tdqsim.errors import UsageError

VARIABLE: Final = "TDQ_LINK_FAULT"
_WRITTEN: Final = re.compile(r"([A-Z$#@][A-Z0-9$#@]{0,7}):(kill|cut):(in|out):([1-9][0-9]{0,5})", re.ASCII)
_PREFIX: Final = Struct(">BBHI")
"""The prefix of a message (:mod:`tdqsim.core.messages`): version, zero, length of the header, length of the data."""


class LinkFault:
    """One fault.

    Args:
        act: ``kill`` or ``cut``.
        way: ``in`` or ``out``.
        number: the number of the message.
        cut: closes the connections; called in the engine's thread.
    """

    def __init__(self, act: str, way: str, number: int, cut: Callable[[], None]) -> None:
        self._act = act
        self._way = way
        self._left = number
        self._cut = cut
        self._rest = b""

    @classmethod
    def planned(cls, name: str, cut: Callable[[], None]) -> LinkFault | None:
        """The fault that the environment variable sets for the links of a region or system.

        Raises:
            TdqError: the variable is invalid.
        """
        text = os.environ.get(VARIABLE)
        if not text:
            return None
        match = _WRITTEN.fullmatch(text)
        if match is None:
            raise UsageError(
                f"{VARIABLE} {text[:60]!r}: must be NAME:kill or cut:in or out:number, as in NEARAPPL:kill:out:3"
            )
        return cls(match[2], match[3], int(match[4]), cut) if match[1] == name else None

    def watch(self, way: str, data: bytes) -> None:
        """Count the messages of one direction; see :data:`~tdqsim.server.links.wire.Watch`."""
        if way != self._way or self._left <= 0:
            return
        self._rest += data
        while self._left > 0 and len(self._rest) >= _PREFIX.size:
            _, _, header, more = _PREFIX.unpack_from(self._rest)
            whole = _PREFIX.size + header + more
            if len(self._rest) < whole:
                return
            self._rest = self._rest[whole:]
            self._left -= 1
        if self._left <= 0:
            self._happen()

    def _happen(self) -> None:
        if self._act == "kill":
            os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
        self._cut()
