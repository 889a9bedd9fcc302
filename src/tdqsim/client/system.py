"""An IBM i system in a server, with the methods of a job. Each request is a separate job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from tdqsim.client.http import ServerConnection, ask, part

if TYPE_CHECKING:
    from tdqsim.server.answers.ibmi import (
        BrowsedEntry,
        ClearResult,
        CommandMessages,
        CreatedDataQueues,
        DataQueuePage,
        EntryPage,
        IbmiSystemState,
        ReceivedEntry,
        ReceiveResult,
    )
    from tdqsim.server.answers.tables import (
        DataQueueDescription,
        DataQueueInfo,
        DdmDataQueueDescription,
        NoticeState,
        RefusedState,
    )

_PAGE: Final = 1000
_Data = bytes | bytearray | str
KeyOrder = Literal["GT", "LT", "NE", "EQ", "GE", "LE"]


@dataclass(frozen=True, slots=True)
class RemoteEntry:
    """An entry that was received, or read without removing it.

    Attributes:
        data: the data.
        key: the key; None if the queue is not keyed.
        sender: the job that sent it, if the queue keeps sender ids.
        position: the position in the queue, from 1; 0 for a received entry.
        enqueued: the time of the send in ISO form; only for an entry that was not received.
        current_user: the user who sent it, if the queue keeps sender ids; only for an entry that was not received.
    """

    data: bytes
    key: bytes | None = None
    sender: str | None = None
    position: int = 0
    enqueued: str = ""
    current_user: str | None = None


def _data(data: _Data) -> dict[str, str]:
    return {"text": data} if isinstance(data, str) else {"hex": bytes(memoryview(data)).hex()}  # a number is no bytes


def _received(entry: ReceivedEntry) -> RemoteEntry:
    key = None if entry["key"] is None else bytes.fromhex(entry["key"])
    return RemoteEntry(bytes.fromhex(entry["data"]), key, entry["sender"])


def _browsed(entry: BrowsedEntry) -> RemoteEntry:
    plain = _received(entry)
    return RemoteEntry(plain.data, plain.key, plain.sender, entry["position"], entry["enqueued"], entry["current_user"])


def _sent(data: _Data, key: _Data | None) -> dict[str, object]:
    return {"data": _data(data), "key": None if key is None else _data(key)}


class RemoteSystem:
    """An IBM i system of a server.

    Text is in the CCSID of the system's jobs. A library may be ``*LIBL`` or ``*CURLIB``.

    Args:
        client: a client that is signed on.
        name: the name of the system.
        profile: the profile of the jobs; default: that of the user, or QSECOFR for the owner of the server.
    """

    __slots__ = ("_client", "_path", "_profile")

    def __init__(self, client: ServerConnection, name: str, *, profile: str = "") -> None:
        self._client = client
        self._path = f"/systems/{part(name)}"
        self._profile = {"profile": profile or None}

    def _queue(self, name: str, library: str) -> str:
        return f"{self._path}/queues/{part(library or '*LIBL')}/{part(name)}"

    def about(self) -> IbmiSystemState:
        """Name, CCSID, libraries, active jobs."""
        return ask(self._client, "GET", self._path)

    def qsnddtaq(self, name: str, library: str, data: _Data, key: _Data | None = None) -> None:
        """Send an entry."""
        self._send(name, library, _sent(data, key))

    def _send(self, name: str, library: str, body: object) -> None:
        ask(self._client, "POST", f"{self._queue(name, library)}/entries", body, query=self._profile)

    def seed_entries(self, name: str, library: str, entries: Iterable[tuple[_Data, _Data | None]]) -> int:
        """Send entries in requests of a thousand, of which all are sent or none; return the number of entries."""
        several = [_sent(*each) for each in entries]  # all entries are checked before any is sent
        for at in range(0, len(several), _PAGE):
            self._send(name, library, several[at : at + _PAGE])
        return len(several)

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
        """Receive an entry; return None if none arrived within ``wait`` seconds (at most 300)."""
        body = {"wait": wait, "key_order": key_order, "remove": remove, "key": None if key is None else _data(key)}
        path, query = f"{self._queue(name, library)}/receive", {"encoding": "hex", **self._profile}
        answer: ReceiveResult = ask(self._client, "POST", path, body, query=query, patience=wait)
        return None if answer["entry"] is None else _received(answer["entry"])

    def qclrdtaq(self, name: str, library: str = "", key_order: KeyOrder = "EQ", key: bytes | None = None) -> int:
        """Clear a queue, or the entries of a keyed queue whose keys match; return their number."""
        digits, order = (None, None) if key is None else (key.hex(), key_order)
        query = {"key": digits, "key_order": order, **self._profile}
        answer: ClearResult = ask(self._client, "DELETE", f"{self._queue(name, library)}/entries", query=query)
        return answer["cleared"]

    def qmhqrdqd(
        self,
        name: str,
        library: str = "",
        format: Literal["RDQD0100", "RDQD0200"] = "RDQD0100",  # the name of the method of a job
    ) -> DataQueueDescription | DdmDataQueueDescription:
        """The description of a data queue: the fields of RDQD0100 or RDQD0200, with bytes in hexadecimal."""
        return ask(self._client, "GET", self._queue(name, library), query={"format": format, **self._profile})

    def qmhqcdq(
        self,
        name: str,
        library: str = "",
        *,
        automatic_reclaim: bool | None = None,
        enforce_data_queue_locks: bool | None = None,
    ) -> DataQueueDescription:
        """Change attributes of a data queue, except those that are None; return its description."""
        body = {"automatic_reclaim": automatic_reclaim, "enforce_data_queue_locks": enforce_data_queue_locks}
        return ask(self._client, "PATCH", self._queue(name, library), body, query=self._profile)

    def dltdtaq(self, dtaq: str, library: str = "") -> list[str]:
        """Delete a data queue; return the messages."""
        answer: CommandMessages = ask(self._client, "DELETE", self._queue(dtaq, library), query=self._profile)
        return answer["messages"]

    def refused_apis(self) -> list[RefusedState]:
        """The APIs and commands that were refused because something is wrong, in groups that are alike."""
        return ask(self._client, "GET", f"{self._path}/refused")

    def notices(self) -> list[NoticeState]:
        """What jobs and programs asked for and does not happen, and what has failed; the newest last."""
        return ask(self._client, "GET", f"{self._path}/notices")

    def command(self, text: str) -> list[str]:
        """Run a CL command; return its messages."""
        answer: CommandMessages
        answer = ask(self._client, "POST", f"{self._path}/commands", {"text": text}, query=self._profile)
        return answer["messages"]

    def install(self, definitions: str, *, create_libraries: bool = False) -> list[str]:
        """Create the data queues of the text of a definition file, all or none; return their names."""
        body = {"text": definitions, "create_libraries": create_libraries}
        answer: CreatedDataQueues
        answer = ask(self._client, "POST", f"{self._path}/definitions", body, query=self._profile)
        return answer["names"]

    def data_queue_info(self, data_queue_library: str = "*") -> Iterator[DataQueueInfo]:
        """The rows of DATA_QUEUE_INFO, by library and name."""
        after: str | None = None
        while True:
            query = {"library": data_queue_library, "after": after, "limit": _PAGE, **self._profile}
            page: DataQueuePage = ask(self._client, "GET", f"{self._path}/queues", query=query)
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
        """The entries in the order of the queue, or those whose keys match; none is removed."""
        digits, order = (None, None) if key is None else (key.hex(), key_order)
        position = 0
        while limit is None or position < limit:
            size = _PAGE if limit is None else min(limit - position, _PAGE)
            query = {"position": position, "limit": size, "encoding": "hex", "key": digits, "key_order": order}
            query |= self._profile
            page: EntryPage = ask(self._client, "GET", f"{self._queue(name, library)}/entries", query=query)
            yield from map(_browsed, page["entries"])
            position += len(page["entries"])
            if len(page["entries"]) < size:
                return
