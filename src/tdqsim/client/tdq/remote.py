"""Regions and systems in a server: commands work on them as on local ones.

A command finds the server by the address that the server left for the directory or the store
(:mod:`tdqsim.core.control`), or gets its address as an option. :class:`~tdqsim.client.RemoteRegion` has the methods
of a region that commands use.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tdqsim.cli import InputError
from tdqsim.client import Client, LostConnection, RemoteError, RemoteRegion
from tdqsim.hosting import Address


@contextmanager
def client_here(place: Path, kind: str) -> Iterator[tuple[Client, str] | None]:
    """A client of the server on this machine that has a directory or a store, and the name of the region or system.

    Args:
        place: the directory or store.
        kind: the expected kind, ``region`` or ``system``.

    Raises:
        InputError: the server has the other kind there.
    """
    address = Address.find(place)
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
def served_region(server: str, place: Path | None) -> Iterator[RemoteRegion | None]:
    """The region in a server by its address, or by a directory or store on this machine; None if no server has it.

    Args:
        server: the address (:func:`client_elsewhere`), which takes precedence; empty for none.
        place: the directory or store, or None.
    """
    if server:
        with client_elsewhere(server, "region") as elsewhere:
            yield RemoteRegion(*elsewhere)
        return
    if place is None:
        yield None
        return
    with client_here(place, "region") as here:
        yield RemoteRegion(*here) if here is not None else None


def answering(place: Path) -> Address | None:
    """The address of the server on this machine that has a directory or store, if it answers."""
    address = Address.find(place)
    if address is None:
        return None
    with Client(address.url, address.token) as client:
        return address if _answers(client) else None


def _answers(client: Client) -> bool:
    """Whether the server that left the address still runs: it may have been killed.

    Another program may have its port by now; that one does not accept the token.
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
    """A client of a server by its address, and the name after the address, empty for none.

    The address is ``http://HOST:PORT``, followed by ``/NAME`` to select one of several regions or systems. The client
    signs on by ``TDQ_TOKEN``, or by the user in the address and ``TDQ_PASSWORD``. ``TDQ_CERTIFICATE`` is the file of a
    certificate to trust.

    Raises:
        InputError: the address is invalid, or there is nothing to sign on with.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InputError(f"--server {url}: give http://HOST:PORT or https://HOST:PORT")
    base = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    with _signed_on(base, parts.username, parts.password) as client:
        yield client, parts.path.strip("/").upper()


@contextmanager
def client_elsewhere(url: str, kind: str) -> Iterator[tuple[Client, str]]:
    """A client of a server by its address (:func:`client_at`), and the name of the selected region or system.

    Args:
        url: the address.
        kind: ``region`` or ``system``.

    Raises:
        InputError: the address is invalid, there is nothing to sign on with, or no name selects one of several.
    """
    with client_at(url) as (client, wanted):
        regions = [each["applid"] for each in client.regions()] if kind == "region" else []
        names = regions or [each["name"] for each in client.systems() if kind == "system"]
        if wanted and wanted not in names:
            listed = ", ".join(names) or "none"
            raise InputError(f"--server {url}: no {kind} {wanted} is served there; there are {listed}")
        if not wanted and len(names) != 1:
            raise InputError(f"--server {url.rstrip('/')}/NAME: which {kind}? There are {', '.join(names) or 'none'}")
        yield client, wanted or names[0]


def _signed_on(base: str, user: str | None, password: str | None) -> Client:
    certificate = os.environ.get("TDQ_CERTIFICATE")
    token = os.environ.get("TDQ_TOKEN")
    if token:
        return Client(base, token, certificate=certificate)
    given = unquote(password) if password else os.environ.get("TDQ_PASSWORD")
    if not user or not given:
        raise InputError("--server: set TDQ_TOKEN, or name the user (https://USER@HOST:PORT) and set TDQ_PASSWORD")
    return Client.sign_on(base, unquote(user), given, certificate=certificate)
