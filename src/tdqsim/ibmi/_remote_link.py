"""What another system does for the DDM queues of this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tdqsim.core.store import Entry

__all__ = ["RemoteLink"]


class RemoteLink(Protocol):
    """What another system does for a DDM queue, in the name of a user.

    ``route`` are the DDM queues that the request has come through, the last one being the one it is for here.

    Every method raises EscapeMessage as the API over there did, or :class:`~tdqsim.core.transport.LinkDown` when it was
    not carried out there.
    """

    def send(
        self, user: str, name: str, library: str, data: bytes, key: bytes | None, *, route: Sequence[str] = ()
    ) -> None:
        """Send to the remote queue."""

    def receive(
        self, user: str, name: str, library: str, wait_ns: int | None, key_order: str, key: bytes | None,
        room: int | None = None, *, route: Sequence[str] = (),
    ) -> Entry | None:  # fmt: skip
        """Receive from the remote queue, removing; an entry of more than ``room`` bytes stays there (CPF24B4)."""

    def clear(self, user: str, name: str, library: str, *, route: Sequence[str] = ()) -> None:
        """Clear the remote queue."""
