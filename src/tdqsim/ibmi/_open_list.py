"""The open lists of a job: what its programs have opened with QGYOLJBL and not closed yet."""

from __future__ import annotations

from typing import NamedTuple

from tdqsim.ibmi._fact_tables import LIMITS
from tdqsim.ibmi.messages import Message

__all__ = ["ListSelection", "LoggedMessage", "OpenList", "OpenLists"]


class LoggedMessage(NamedTuple):
    """One message of a list: where it stood in the log, when it came (CYYMMDDHHMMSS), and the message."""

    number: int
    moment: str
    message: Message


class ListSelection(NamedTuple):
    """What a caller wants of a log."""

    job: str
    backward: bool
    start: bytes
    text: int
    help: int
    fields: tuple[int, ...]


class OpenList(NamedTuple):
    """An open list."""

    chosen: ListSelection
    user: str
    entries: tuple[LoggedMessage, ...]
    opened: bytes


class OpenLists:
    """The open lists of a job, by handle; of too many the oldest is closed."""

    def __init__(self) -> None:
        self._lists: dict[bytes, OpenList] = {}
        self._opened = 0

    def add(self, made: OpenList) -> bytes:
        """Keep a list; its handle."""
        self._opened += 1
        handle = self._opened.to_bytes(4, "big")
        self._lists[handle] = made
        if len(self._lists) > LIMITS["open_lists"]:
            del self._lists[next(iter(self._lists))]
        return handle

    def find(self, handle: bytes) -> OpenList | None:
        """The list of a handle."""
        return self._lists.get(handle)

    def close(self, handle: bytes) -> bool:
        """Forget a list; whether there was one."""
        return self._lists.pop(handle, None) is not None
