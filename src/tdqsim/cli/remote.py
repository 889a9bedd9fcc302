"""A region that a server has, with the methods by which commands use one: they work on it as on their own.

A command finds the server by what it left for the directory or the store (:mod:`tdqsim.client.control`), or is given
its address. What comes over the wire is made the same values that a region gives.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo

from tdqsim.cics import Condition
from tdqsim.cics.look.explain import Explanation
from tdqsim.cics.look.explain_requests import Prediction
from tdqsim.cics.spi.rows import TdqueueInfo
from tdqsim.cli.errors import InputError
from tdqsim.client import Client, LostConnection, RemoteError, RemoteRegion
from tdqsim.client.control import Address, find
from tdqsim.core.codepage import codepage
from tdqsim.facts import Cvda, Resp, table

__all__ = [
    "PAGE",
    "Answered",
    "ServedRegion",
    "ServedSession",
    "answering",
    "client_at",
    "client_elsewhere",
    "client_here",
    "elsewhere",
    "served_here",
]

PAGE: Final = next(int(row["value"]) for row in table("server") if row["name"] == "page_records")
"""Records in one request, or one answer, at most."""


class _Told(Condition):
    """A condition that a command met in the server, in the server's words."""

    def __init__(self, error: RemoteError) -> None:
        super().__init__(Resp[error.condition], error.resp2, str(error))

    def __str__(self) -> str:
        return self.detail


@contextmanager
def _conditions() -> Iterator[None]:
    try:
        yield
    except RemoteError as error:
        if error.condition in Resp.__members__:
            raise _Told(error) from None
        raise


@dataclass(frozen=True, slots=True)
class Answered:
    """What CEMT or CECI answered.

    Attributes:
        text: the screen.
        parts: the same in parts.
    """

    text: str
    parts: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """The parts."""
        return dict(self.parts)

    @property
    def errors(self) -> int:
        """Of CEMT: how many things could not be inquired or changed."""
        return int(self.parts.get("errors", 0))

    @property
    def response(self) -> Resp:
        """Of CECI: the condition."""
        return Resp[self.parts["response"]]


class ServedRegion:
    """A region in a server.

    Args:
        client: signed on.
        applid: which.
    """

    start_type = "SERVED"

    def __init__(self, client: Client, applid: str) -> None:
        self.client = client
        self._region = RemoteRegion(client, applid)
        about = self._region.about()
        self.applid = about["applid"]
        self.sysid = about["sysid"]
        self.codepage = codepage(about["codepage"])
        self.zone = ZoneInfo(about["time_zone"])

    @property
    def tdqueues(self) -> frozenset[str]:
        """The names of the installed queues."""
        return frozenset(each["name"] for each in self._region.queues())

    def inquire_tdqueue(self, queue: str, *options: str) -> TdqueueInfo:
        """INQUIRE TDQUEUE."""
        with _conditions():
            return _info(self._region.inquire_tdqueue(queue), options)

    def browse_tdqueue(self, *options: str) -> Iterator[TdqueueInfo]:
        """INQUIRE TDQUEUE of all queues."""
        for found in self._region.queues():
            yield _info(found, options, named=True)

    def peek(self, queue: str, *, limit: int | None = None) -> list[bytes]:
        """The records of a queue in order, page by page."""
        with _conditions():
            return list(islice(self._records(queue), limit))

    def _records(self, queue: str) -> Iterator[bytes]:
        position = 0
        while True:
            page = self._region.peek(queue, position=position, limit=PAGE)
            yield from page
            if len(page) < PAGE:
                return
            position += len(page)

    def readq_td(self, queue: str) -> bytes:
        """READQ TD."""
        with _conditions():
            return self._region.readq_td(queue)

    def writeq_td_all(self, queue: str, records: Iterable[bytes]) -> int:
        """WRITEQ TD of each record, in one task.

        Raises:
            InputError: there are more than one request carries.
        """
        data = list(islice(records, PAGE + 1))
        if len(data) > PAGE:
            raise InputError(f"at most {PAGE} records are written in one task through a server; seed takes any number")
        with _conditions():
            self._region.writeq_td_all(queue, data)
        return len(data)

    def seed(self, queue: str, records: Iterable[bytes]) -> int:
        """Put records on a queue without a task."""
        source, count = iter(records), 0
        with _conditions():
            while page := list(islice(source, PAGE)):
                count += self._region.seed(queue, page)
        return count

    def set_tdqueue(self, queue: str, **options: Any) -> None:
        """SET TDQUEUE."""
        with _conditions():
            self._region.set_tdqueue(queue, **options)

    def explain(self, queue: str, *, size: int = 1) -> Explanation:
        """Why a queue is as it is."""
        found = self._region.explain(queue, size=size)
        commands = {name: Prediction(**each) for name, each in found["commands"].items()}
        statements, history = tuple(found["statements"]), tuple(found["history"])
        return Explanation(found["queue"], found["target"], statements, commands, found["starts"], history)

    def cemt(self, text: str) -> Answered:
        """CEMT."""
        with _conditions():
            return _screen(self._region.cemt(text))

    def statistics_now(self) -> dict[str, Any]:
        """The statistics of this moment."""
        return self._region.statistics()

    def jobs(self) -> Iterator[dict[str, Any]]:
        """The jobs that were submitted through the internal reader."""
        return self._region.jobs()

    def job(self, number: int) -> list[str]:
        """The cards of a job."""
        return self._region.job(number)

    def sysout(self, letter: str) -> Iterator[dict[str, Any]]:
        """The SYSOUT data sets, all or those of a class."""
        return self._region.sysout(letter)

    def printed(self, number: int) -> Iterator[str]:
        """The lines of a SYSOUT data set."""
        return self._region.printed(number)

    def session(self) -> ServedSession:
        """A CECI session, which is a unit of work in the server."""
        return ServedSession(self._region)

    def run(self) -> None:
        """Nothing: the server runs its tasks by itself."""


class ServedSession:
    """CECI in a server: committed at its end, backed out by an exception."""

    def __init__(self, region: RemoteRegion) -> None:
        self._unit = region.unit_of_work()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._unit.syncpoint()
        else:
            self._unit.syncpoint_rollback()

    def execute(self, text: str) -> Answered:
        """One command.

        Raises:
            TdqError: it is no command.
        """
        return _screen(self._unit.ceci(text))


def _screen(found: dict[str, Any]) -> Answered:
    text = found.pop("text")
    return Answered(text, found)


def _info(found: Mapping[str, Any], options: tuple[str, ...], *, named: bool = False) -> TdqueueInfo:
    values = {
        name: Cvda[value["cvda"]] if isinstance(value, Mapping) and "cvda" in value else value
        for name, value in found.items()
        if name != "name"
    }
    wanted = {option.upper(): values[option.upper()] for option in options} if options else values
    return TdqueueInfo({"TDQUEUE": found["name"], **wanted} if named else wanted)


# -- finding it -------------------------------------------------------------------------------------------------------


@contextmanager
def client_here(place: Path, kind: str) -> Iterator[tuple[Client, str] | None]:
    """A client of the server of this machine that has a directory or a store, and the name of what is there.

    Args:
        place: the directory or store.
        kind: what it is to be, ``region`` or ``system``.

    Raises:
        InputError: it is the other one.
    """
    address = find(place)
    if address is None:
        yield None
        return
    with Client(address.url, address.token) as client:
        if not _answers(client):
            yield None
        elif address.kind != kind:
            raise InputError(f"{place}: {address.name}, which is served there, is a {address.kind}, not a {kind}")
        else:
            yield client, address.name


@contextmanager
def served_here(places: Iterable[Path]) -> Iterator[ServedRegion | None]:
    """The region that a server of this machine has of a directory or a store, None when none has."""
    for place in places:
        with client_here(place, "region") as found:
            if found is not None:
                yield ServedRegion(*found)
                return
    yield None


def answering(place: Path) -> Address | None:
    """Where a server of this machine has a directory or a store, if one answers there."""
    address = find(place)
    if address is None:
        return None
    with Client(address.url, address.token) as client:
        return address if _answers(client) else None


def _answers(client: Client) -> bool:
    """Whether the server that left the address is there: one that was killed may have left it, too.

    Its port on loopback may be another's by now, to whom the token means nothing.
    """
    try:
        client.regions()
    except LostConnection:
        return False
    except RemoteError as error:
        if error.status == HTTPStatus.UNAUTHORIZED:
            return False
        raise
    return True


@contextmanager
def client_at(url: str) -> Iterator[tuple[Client, str]]:
    """A client of a server by its address, and the name behind that, empty for none.

    The address is ``http://HOST:PORT``, with ``/NAME`` behind it where one of several regions or systems is meant.
    The token is that of ``TDQ_TOKEN``; without it user and password, of the address and of ``TDQ_PASSWORD``. A
    certificate to trust is the file of ``TDQ_CERTIFICATE``.

    Raises:
        InputError: the address is none, or there is nothing to sign on with.
    """
    if url.startswith("unix:"):
        raise InputError(f"--server {url}: give http://HOST:PORT or https://HOST:PORT")
    parts = urlsplit(url)
    base = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    options = {"certificate": os.environ.get("TDQ_CERTIFICATE")}
    with _signed_on(base, parts.username, parts.password, options) as client:
        yield client, parts.path.strip("/").upper()


@contextmanager
def client_elsewhere(url: str, kind: str) -> Iterator[tuple[Client, str]]:
    """A client of a server by its address (:func:`client_at`), and the name of what is meant there.

    Args:
        url: the address.
        kind: what is meant there, a ``region`` or a ``system``.

    Raises:
        InputError: the address is none, there is nothing to sign on with, or which is meant is not said.
    """
    with client_at(url) as (client, wanted):
        there = client.regions() if kind == "region" else client.systems()
        names = [each["applid" if kind == "region" else "name"] for each in there]
        if wanted and wanted not in names:
            said = ", ".join(names) or "none"
            raise InputError(f"--server {url}: no {kind} {wanted} is served there; there are {said}")
        if not wanted and len(names) != 1:
            raise InputError(f"--server {url.rstrip('/')}/NAME: which {kind}? There are {', '.join(names) or 'none'}")
        yield client, wanted or names[0]


@contextmanager
def elsewhere(url: str) -> Iterator[ServedRegion]:
    """The region of a server by its address; see :func:`client_elsewhere`."""
    with client_elsewhere(url, "region") as found:
        yield ServedRegion(*found)


def _signed_on(base: str, user: str | None, password: str | None, options: dict[str, Any]) -> Client:
    token = os.environ.get("TDQ_TOKEN")
    if token:
        return Client(base, token, **options)
    given = unquote(password) if password else os.environ.get("TDQ_PASSWORD")
    if not user or not given:
        raise InputError("--server: set TDQ_TOKEN, or name the user (https://USER@HOST:PORT) and set TDQ_PASSWORD")
    return Client.sign_on(base, unquote(user), given, **options)
