"""An IBM i system in a server, for ``tdq dtaq``, which has an equivalent for a store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdqsim.cli import InputError
from tdqsim.client import Client, RemoteError, RemoteSystem
from tdqsim.client.tdq.remote import client_elsewhere, client_here
from tdqsim.hosting import codepage

if TYPE_CHECKING:
    from tdqsim.definitions import Definitions


class ServedJob(RemoteSystem):
    """Jobs of a system in a server; each method call is a separate job there.

    Args:
        client: a client that is signed on.
        name: the system.
        user: the profile of the jobs; empty for that of the signed-on user.
        ccsid: the CCSID of text, which is converted in this process.
    """

    def __init__(self, client: Client, name: str, user: str, ccsid: int) -> None:
        super().__init__(client, name, profile=user)
        self.page = codepage(ccsid)

    def create_queues(self, definitions: Definitions, *, create_libraries: bool) -> list[str]:
        """Create the data queues of definitions, all or none; return their names."""
        from tdqsim.definitions import dump_definitions  # noqa: PLC0415  (only this command needs it)

        try:
            return self.install(dump_definitions(definitions), create_libraries=create_libraries)
        except RemoteError as error:
            if error.message_id or error.status != HTTPStatus.CONFLICT:
                raise
            text = str(error).replace("create it with crtlib", "--libraries creates those that are not there")
            raise InputError(text) from None

    def dump_entries(self, name: str, library: str) -> Iterator[dict[str, Any]]:
        """Every entry as an object for a JSON line."""
        for each in self.data_queue_entries(name, library):
            line: dict[str, Any] = {"data": each.data.hex().upper(), "text": self.page.printable(each.data)}
            if each.key is not None:
                line["key"] = each.key.hex().upper()
            line["time"] = datetime.fromisoformat(each.enqueued).isoformat()
            if each.sender is not None:
                line["sender"] = {"job": each.sender, "current_user": each.current_user}
            yield line


@contextmanager
def served_job(server: str, place: Path | None, user: str, ccsid: int) -> Iterator[ServedJob | None]:
    """A job of a system in a server; None if no server has the system.

    Args:
        server: the address of a server elsewhere, which takes precedence; empty for none.
        place: the store or the directory of the system, or None.
        user: the profile; empty for that of the signed-on user.
        ccsid: the CCSID of text.
    """
    if server:
        with client_elsewhere(server, "system") as served:
            yield ServedJob(*served, user, ccsid)
        return
    if place is None:
        yield None
        return
    with client_here(place, "system") as here:
        yield ServedJob(*here, user, ccsid) if here is not None else None
