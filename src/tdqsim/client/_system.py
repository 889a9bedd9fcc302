"""An IBM i system of a server: the names of a job's methods. Each request is a job of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import quote

from tdqsim.client._http import ServerConnection

__all__ = ["RemoteEntry", "RemoteSystem"]

_PAGE: Final = 1000
_Data = bytes | bytearray | str
KeyOrder = Literal["GT", "LT", "NE", "EQ", "GE", "LE"]


@dataclass(frozen=True, slots=True)
class RemoteEntry:
    """An entry that was received, or looked at.

    Attributes:
        data: its bytes.
        key: of a keyed queue; None for others.
        sender: the job that sent it, where the queue keeps that.
        position: of one that was looked at: 1 for the first; 0 of one that was received.
        enqueued: of one that was looked at: when it was sent, in ISO form.
        current_user: of one that was looked at: the user who sent it, where the queue keeps that.
    """

    data: bytes
    key: bytes | None = None
    sender: str | None = None
    position: int = 0
    enqueued: str = ""
    current_user: str | None = None


def _data(data: _Data) -> dict[str, str]:
    return {"text": data} if isinstance(data, str) else {"hex": bytes(data).hex()}


def _entry(found: dict[str, Any]) -> RemoteEntry:
    key = None if found["key"] is None else bytes.fromhex(found["key"])
    rest = {name: found[name] for name in ("position", "enqueued", "current_user") if name in found}
    return RemoteEntry(bytes.fromhex(found["data"]), key, found["sender"], **rest)


class RemoteSystem:
    """An IBM i system of a server.

    Text is in the CCSID of the system's jobs. A library may be ``*LIBL`` or ``*CURLIB``.

    Args:
        client: signed on.
        name: its name.
        profile: of its jobs; the user's own, or QSECOFR for the server's owner.
    """

    def __init__(self, client: ServerConnection, name: str, *, profile: str = "") -> None:
        self._client = client
        self._path = f"/systems/{quote(name, safe='')}"
        self._profile = profile or None

    def _ask(self, method: str, path: str = "", body: Any = None, **query: Any) -> Any:
        return self._client.request(method, f"{self._path}{path}", body, profile=self._profile, **query)

    @staticmethod
    def _queue(name: str, library: str) -> str:
        return f"/queues/{quote(library or '*LIBL', safe='')}/{quote(name or ' ', safe='')}"

    def about(self) -> dict[str, Any]:
        """Name, CCSID, libraries, active jobs."""
        return self._client.request("GET", self._path)  # type: ignore[no-any-return]

    def qsnddtaq(self, name: str, library: str, data: _Data, key: _Data | None = None) -> None:
        """Send an entry."""
        self._ask("POST", f"{self._queue(name, library)}/entries", _sent(data, key))

    def seed_entries(self, name: str, library: str, entries: Iterable[tuple[_Data, _Data | None]]) -> int:
        """Send several, all or none, at most 1000; how many."""
        body = [_sent(*each) for each in entries]
        return self._ask("POST", f"{self._queue(name, library)}/entries", body)["entries"]  # type: ignore[no-any-return]

    def qrcvdtaq(
        self,
        name: str,
        library: str = "",
        wait: int = 0,
        key_order: KeyOrder = "EQ",
        key: _Data | None = None,
        *,
        remove: bool = True,
    ) -> RemoteEntry | None:
        """Receive an entry; None when there was none in so many seconds, at most 300."""
        body = {"wait": wait, "order": key_order, "remove": remove, "key": None if key is None else _data(key)}
        path = f"{self._queue(name, library)}/receive"
        found = self._ask("POST", path, body, encoding="hex", patience=wait)["entry"]
        return None if found is None else _entry(found)

    def qclrdtaq(self, name: str, library: str = "", key_order: KeyOrder = "EQ", key: bytes | None = None) -> int:
        """Clear a queue, or of a keyed one the entries of such keys; how many there were."""
        query = {} if key is None else {"key": key.hex(), "order": key_order}
        return self._ask("DELETE", f"{self._queue(name, library)}/entries", **query)["cleared"]  # type: ignore[no-any-return]

    def qmhqrdqd(
        self,
        name: str,
        library: str = "",
        format: Literal["RDQD0100", "RDQD0200"] = "RDQD0100",  # noqa: A002  (a job's word)
    ) -> dict[str, Any]:
        """The description of a data queue: the fields of RDQD0100 or RDQD0200; what are bytes in hexadecimal."""
        return self._ask("GET", self._queue(name, library), format=format)  # type: ignore[no-any-return]

    def qmhqcdq(
        self,
        name: str,
        library: str = "",
        *,
        automatic_reclaim: bool | None = None,
        enforce_data_queue_locks: bool | None = None,
    ) -> dict[str, Any]:
        """Change attributes of a data queue, None leaves one as it is; gives its description."""
        body = {"automatic_reclaim": automatic_reclaim, "enforce_data_queue_locks": enforce_data_queue_locks}
        return self._ask("PATCH", self._queue(name, library), body)  # type: ignore[no-any-return]

    def dltdtaq(self, dtaq: str, library: str = "") -> list[str]:
        """Delete a data queue; the messages."""
        return self._ask("DELETE", self._queue(dtaq, library))["messages"]  # type: ignore[no-any-return]

    def command(self, text: str) -> list[str]:
        """A CL command; its messages."""
        return self._ask("POST", "/commands", {"text": text})["messages"]  # type: ignore[no-any-return]

    def install(self, definitions: str, *, create_libraries: bool = False) -> list[str]:
        """Create the data queues of a definition file's text, all or none; their names."""
        body = {"text": definitions, "create_libraries": create_libraries}
        return self._ask("POST", "/definitions", body)["names"]  # type: ignore[no-any-return]

    def data_queue_info(self, data_queue_library: str = "*") -> Iterator[dict[str, Any]]:
        """The rows of DATA_QUEUE_INFO, by library and name."""
        after: str | None = None
        while True:
            page = self._ask("GET", "/queues", library=data_queue_library, after=after, limit=_PAGE)
            yield from page["queues"]
            after = page["next"]
            if after is None:
                return

    def data_queue_entries(
        self,
        name: str,
        library: str = "",
        key: bytes | None = None,
        key_order: KeyOrder = "EQ",
        *,
        limit: int | None = None,
    ) -> Iterator[RemoteEntry]:
        """The entries in the queue's order, or those of such keys; none is removed."""
        position, left = 0, limit
        query = {} if key is None else {"key": key.hex(), "order": key_order}
        while left is None or left > 0:
            size = _PAGE if left is None else min(left, _PAGE)
            path = f"{self._queue(name, library)}/entries"
            page = self._ask("GET", path, position=position, limit=size, encoding="hex", **query)["entries"]
            yield from map(_entry, page)
            if len(page) < size:
                return
            position += size
            left = None if left is None else left - size


def _sent(data: _Data, key: _Data | None) -> dict[str, Any]:
    return {"data": _data(data), "key": None if key is None else _data(key)}
