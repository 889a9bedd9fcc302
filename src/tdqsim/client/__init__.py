"""A thin client of the JSON API: the names of a task's methods, over HTTP.

::

    with Client.from_ready_file(path) as server:
        region = server.region("TDQREGN")
        region.writeq_td("PAYQ", "10.00")
        with region.unit_of_work() as uow:
            uow.execute("READQ TD QUEUE('PAYQ') INTO(REC)")

It needs nothing of the package but its errors, and nothing of others: the standard library's HTTP.
"""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterable, Iterator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

from tdqsim.errors import TdqError

__all__ = ["Client", "RemoteError", "RemoteRegion", "RemoteUnitOfWork"]


class RemoteError(TdqError):
    """The server refused, or ended a command with a condition.

    Attributes:
        status: the HTTP status.
        condition: the condition's name, such as ``QZERO``; empty for none.
        resp, resp2: its numbers; 0 for none.
        abcode: of an abend; empty for none.
    """

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        super().__init__(str(body.get("detail") or body.get("title") or status))
        self.status = status
        self.condition = str(body.get("condition", ""))
        self.resp = int(body.get("resp", 0))
        self.resp2 = int(body.get("resp2", 0))
        self.abcode = str(body.get("abcode", ""))


class _UnixConnection(HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Reach the server."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _connection(url: str, timeout: float, certificate: Path | str | None) -> HTTPConnection:
    if url.startswith("unix:"):
        return _UnixConnection(url.removeprefix("unix:"), timeout)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise TdqError(f"url {url!r}: {error}") from error
    if parts.scheme not in ("http", "https") or parts.hostname is None:
        raise TdqError(f"url {url!r}: it must be http://HOST:PORT, https://HOST:PORT or unix:PATH")
    if parts.scheme == "http":
        return HTTPConnection(parts.hostname, port or 80, timeout=timeout)
    try:
        context = ssl.create_default_context(cafile=None if certificate is None else str(certificate))
    except OSError as error:
        raise TdqError(f"certificate {certificate}: {error.strerror or error}") from error
    return HTTPSConnection(parts.hostname, port or 443, timeout=timeout, context=context)


class Client:
    """One connection to a server.

    Args:
        url: such as ``http://127.0.0.1:8470``, ``https://HOST:PORT`` or ``unix:PATH``.
        token: the bearer token.
        timeout: seconds that a request may take.
        certificate: a certificate file to trust, for ``https``; the machine's own unless given.

    Raises:
        TdqError: the address is none, or the certificate cannot be read.
    """

    def __init__(self, url: str, token: str, *, timeout: float = 60.0, certificate: Path | str | None = None) -> None:
        self._connection = _connection(url, timeout, certificate)
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    @classmethod
    def from_ready_file(cls, path: Path | str, **options: Any) -> Client:
        """A client of the server that has written this ready file."""
        found = json.loads(Path(path).read_text("utf-8"))
        return cls(found["url"], found["token"], **{"certificate": found.get("certificate"), **options})

    @classmethod
    def sign_on(cls, url: str, user: str, password: str, **options: Any) -> Client:
        """A client of a user.

        Raises:
            RemoteError: user and password are not right, or too many sign-ons have failed.
        """
        with cls(url, "", **options) as nobody:
            found = nobody.request("POST", "/session", {"user": user, "password": password})
        return cls(url, found["token"], **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def request(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """One request; gives what it answers.

        Raises:
            RemoteError: the server refused. TdqError: it cannot be reached.
        """
        given = {name: value for name, value in query.items() if value is not None}
        target = f"/api/v1{path}" + (f"?{urlencode(given)}" if given else "")
        data = None if body is None else json.dumps(body).encode()
        try:
            self._connection.request(method, target, data, self._headers)
            answer = self._connection.getresponse()
            text = answer.read()
        except (OSError, HTTPException) as error:
            self._connection.close()
            raise TdqError(f"the server cannot be reached: {error}") from error
        found = json.loads(text) if text else None
        if answer.status >= 400:
            raise RemoteError(
                answer.status, found if isinstance(found, dict) else {"detail": text.decode("utf-8", "replace")}
            )
        return found

    def regions(self) -> list[dict[str, Any]]:
        """The regions that are served."""
        return self.request("GET", "/regions")  # type: ignore[no-any-return]

    def region(self, applid: str) -> RemoteRegion:
        """One region."""
        return RemoteRegion(self, applid)

    def advance(self, seconds: float) -> dict[str, Any]:
        """Move the server's clock forward."""
        return self.request("POST", "/clock", advance=seconds)  # type: ignore[no-any-return]


def _record(data: bytes | bytearray | str) -> dict[str, str]:
    return {"hex": bytes(data).hex()} if not isinstance(data, str) else {"text": data}


class RemoteRegion:
    """A region of a server; its commands are tasks of their own."""

    def __init__(self, client: Client, applid: str) -> None:
        self._client = client
        self._path = f"/regions/{quote(applid, safe='')}"

    def about(self) -> dict[str, Any]:
        """APPLID, SYSID, code page and the like."""
        return self._client.request("GET", self._path)  # type: ignore[no-any-return]

    def queues(self, prefix: str = "") -> Iterator[dict[str, Any]]:
        """All queues, each with what INQUIRE TDQUEUE tells, in the order of their names."""
        after: str | None = None
        while True:
            query = {"prefix": prefix or None, "after": after, "limit": 1000}
            page = self._client.request("GET", f"{self._path}/queues", **query)
            yield from page["queues"]
            after = page["next"]
            if after is None:
                return

    def _queue(self, queue: str) -> str:
        return f"{self._path}/queues/{quote(queue, safe='')}"

    def writeq_td(self, queue: str, from_: bytes | str) -> None:
        """WRITEQ TD; text is in the region's code page."""
        self._client.request("POST", f"{self._queue(queue)}/records", _record(from_))

    def writeq_td_all(self, queue: str, records: Iterable[bytes | str]) -> int:
        """WRITEQ TD of each record, in one task; at most 1000."""
        body = [_record(each) for each in records]
        self._client.request("POST", f"{self._queue(queue)}/records", body)
        return len(body)

    def seed(self, queue: str, records: Iterable[bytes | str]) -> int:
        """Put records on a queue without a task; at most 1000."""
        body = [_record(each) for each in records]
        return self._client.request("POST", f"{self._queue(queue)}/seed", body)["seeded"]  # type: ignore[no-any-return]

    def readq_td(self, queue: str, *, nosuspend: bool = False) -> bytes:
        """READQ TD."""
        path = f"{self._queue(queue)}/read"
        return bytes.fromhex(self._client.request("POST", path, nosuspend=nosuspend, encoding="hex")["record"])

    def deleteq_td(self, queue: str) -> None:
        """DELETEQ TD."""
        self._client.request("DELETE", f"{self._queue(queue)}/records")

    def peek(self, queue: str, *, position: int = 0, limit: int = 100) -> list[bytes]:
        """Look at records without taking them."""
        found = self._client.request(
            "GET", f"{self._queue(queue)}/records", position=position, limit=limit, encoding="hex"
        )
        return [bytes.fromhex(record) for record in found["records"]]

    def inquire_tdqueue(self, queue: str) -> dict[str, Any]:
        """INQUIRE TDQUEUE with all options."""
        return self._client.request("GET", self._queue(queue))  # type: ignore[no-any-return]

    def set_tdqueue(self, queue: str, **options: str | int) -> dict[str, Any]:
        """SET TDQUEUE."""
        return self._client.request("PATCH", self._queue(queue), options)  # type: ignore[no-any-return]

    def explain(self, queue: str, *, size: int = 1) -> dict[str, Any]:
        """Why a queue is as it is, and what each request would meet."""
        return self._client.request("GET", f"{self._queue(queue)}/explain", size=size)  # type: ignore[no-any-return]

    def statistics(self) -> dict[str, Any]:
        """The statistics of this moment."""
        return self._client.request("GET", f"{self._path}/statistics")  # type: ignore[no-any-return]

    def tasks(self) -> list[dict[str, Any]]:
        """The tasks that have begun and not ended."""
        return self._client.request("GET", f"{self._path}/tasks")  # type: ignore[no-any-return]

    def units_of_work(self) -> list[dict[str, Any]]:
        """The units of work."""
        return self._client.request("GET", f"{self._path}/units-of-work")  # type: ignore[no-any-return]

    def snapshot(self) -> dict[str, Any]:
        """The intrapartition queues with their records, for :meth:`restore`."""
        return self._client.request("GET", f"{self._path}/snapshot")  # type: ignore[no-any-return]

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Give the queues of a snapshot its records and states."""
        self._client.request("PUT", f"{self._path}/snapshot", snapshot)

    def install(self, definitions: str) -> list[str]:
        """Install the text of a definition file; gives the names."""
        found = self._client.request("POST", f"{self._path}/definitions", {"text": definitions})
        return found["names"]  # type: ignore[no-any-return]

    def discard_tdqueue(self, queue: str) -> None:
        """DISCARD TDQUEUE."""
        self._client.request("DELETE", self._queue(queue))

    def faults(self, plan: str) -> None:
        """Put a fault plan to work, as FaultPlan.to_json writes it; an empty list takes it away."""
        self._client.request("PUT", f"{self._path}/faults", json.loads(plan))

    def cemt(self, text: str) -> dict[str, Any]:
        """A CEMT request: its rows, and the screen as ``text``."""
        return self._client.request("POST", f"{self._path}/cemt", {"text": text})  # type: ignore[no-any-return]

    def execute(self, text: str, variables: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """An EXEC CICS command as text."""
        body = {"text": text, "variables": _variables(variables)}
        return self._client.request("POST", f"{self._path}/exec", body)  # type: ignore[no-any-return]

    def wait(self, queue: str, items: int = 1, *, seconds: float = 30) -> None:
        """Wait until a queue has so many items."""
        self._client.request("POST", f"{self._path}/wait", {"queue": queue, "items": items, "seconds": seconds})

    def wait_for_tasks(self, *, seconds: float = 30) -> None:
        """Wait until all tasks have ended."""
        self._client.request("POST", f"{self._path}/wait", {"tasks_ended": True, "seconds": seconds})

    def unit_of_work(self, *, idle_seconds: float | None = None) -> RemoteUnitOfWork:
        """Begin a unit of work that stays open between requests."""
        found = self._client.request("POST", f"{self._path}/units-of-work", idle_seconds=idle_seconds)
        return RemoteUnitOfWork(self._client, found["id"])


def _variables(variables: Mapping[str, Any] | None) -> dict[str, Any]:
    given = (variables or {}).items()
    return {name: _record(value) if isinstance(value, (bytes, bytearray)) else value for name, value in given}


class RemoteUnitOfWork:
    """An open unit of work; as a context it is committed at the normal end and backed out by an exception."""

    def __init__(self, client: Client, unit: str) -> None:
        self._client = client
        self._path = f"/units-of-work/{unit}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.syncpoint()
        else:
            self.syncpoint_rollback()

    def execute(self, text: str, variables: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """An EXEC CICS command in the unit of work."""
        body = {"text": text, "variables": _variables(variables)}
        return self._client.request("POST", f"{self._path}/exec", body)  # type: ignore[no-any-return]

    def ceci(self, text: str) -> dict[str, Any]:
        """A command as it is typed into CECI: its parts, and the screen as ``text``."""
        return self._client.request("POST", f"{self._path}/ceci", {"text": text})  # type: ignore[no-any-return]

    def syncpoint(self) -> None:
        """Commit, which ends it."""
        self._client.request("POST", f"{self._path}/commit")

    def syncpoint_rollback(self) -> None:
        """Back out, which ends it."""
        self._client.request("DELETE", self._path)
