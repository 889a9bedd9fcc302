"""The open lists of a job: the lists that its programs have opened with QGYOLJBL and not yet closed."""

from __future__ import annotations

from typing import NamedTuple

from tdqsim.ibmi.fact_tables import LIMITS
from tdqsim.ibmi.messages import Message


class LoggedMessage(NamedTuple):
    """One message of a list: its number in the log, its time (CYYMMDDHHMMSS), and the message."""

    number: int
    moment: str
    message: Message


class ListSelection(NamedTuple):
    """The caller's selection of messages and fields of a job log."""

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
    """The open lists of a job, by handle; when there are too many, the oldest is closed."""

    def __init__(self) -> None:
        self._lists: dict[bytes, OpenList] = {}
        self._opened = 0

    def add(self, made: OpenList) -> bytes:
        """Add a list; returns its handle."""
        self._opened += 1
        handle = self._opened.to_bytes(4, "big")
        self._lists[handle] = made
        if len(self._lists) > LIMITS["open_lists"]:
            del self._lists[next(iter(self._lists))]
        return handle

    def find(self, handle: bytes) -> OpenList | None:
        """The list with this handle, or None."""
        return self._lists.get(handle)

    def close(self, handle: bytes) -> bool:
        """Close a list; returns whether it was open."""
        return self._lists.pop(handle, None) is not None
