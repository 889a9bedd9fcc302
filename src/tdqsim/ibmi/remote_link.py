"""The interface to another system for the DDM queues of this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tdqsim.core.store import Entry


class RemoteLink(Protocol):
    """The operations of another system for a DDM queue, on behalf of a user.

    ``route`` contains the DDM queues that the request has passed; the last one is the queue on this system.

    Every method raises the EscapeMessage of the API on the other system, or
    :class:`~tdqsim.core.transport.LinkDown` when the request was not carried out there.
    """

    def send(
        self, user: str, name: str, library: str, data: bytes, key: bytes | None, *, route: Sequence[str] = ()
    ) -> None:
        """Send to the remote queue."""

    def receive(
        self, user: str, name: str, library: str, wait_ns: int | None, key_order: str, key: bytes | None,
        room: int | None = None, *, route: Sequence[str] = (),
    ) -> Entry | None:  # fmt: skip
        """Receive and remove an entry of the remote queue; one of more than ``room`` bytes stays there (CPF24B4)."""

    def clear(self, user: str, name: str, library: str, *, route: Sequence[str] = ()) -> None:
        """Clear the remote queue."""
