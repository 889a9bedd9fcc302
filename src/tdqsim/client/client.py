"""The client: a connection to a server, from which you get its regions and systems."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdqsim.client.http import TIMEOUT, ServerConnection, ask
from tdqsim.client.region import RemoteRegion, events
from tdqsim.client.system import RemoteSystem
from tdqsim.errors import UsageError

if TYPE_CHECKING:
    from tdqsim.server.answers.ibmi import SystemSummary
    from tdqsim.server.answers.process import ClockState, SessionToken
    from tdqsim.server.answers.regions import RegionSummary


class Client(ServerConnection):
    """One connection to a server, which is opened again if it is lost; requests that change something are not repeated.

    What has no method here, in a region or in a system is :meth:`request`, by the OpenAPI document.

    Args:
        url: such as ``http://127.0.0.1:8470``, ``https://HOST:PORT`` or ``unix:PATH``.
        token: the bearer token.
        timeout: the time limit of a request, in seconds.
        certificate: a certificate file to trust, for ``https``; default: the certificates of the machine.

    Raises:
        UsageError: the address is invalid, or the certificate cannot be read.
    """

    __slots__ = ()

    @classmethod
    def from_ready_file(
        cls, path: Path | str, *, timeout: float = TIMEOUT, certificate: Path | str | None = None
    ) -> Client:
        """A client of the server that has written this ready file.

        Args:
            path: the file.
            timeout: the time limit of a request, in seconds.
            certificate: a certificate file to trust instead of the one that the ready file names.

        Raises:
            OSError: the file cannot be read. UsageError: it is not a ready file.
        """
        try:
            ready = json.loads(Path(path).read_text("utf-8"))
            url, token, made = ready["url"], ready["token"], ready.get("certificate")
        except (ValueError, LookupError, TypeError) as error:
            raise UsageError(f"{path}: is not the ready file of a server") from error
        return cls(url, token, timeout=timeout, certificate=certificate or made)

    @classmethod
    def sign_on(
        cls, url: str, user: str, password: str, *, timeout: float = TIMEOUT, certificate: Path | str | None = None
    ) -> Client:
        """A client that is signed on as a user; for the other arguments see the class.

        Raises:
            RemoteError: user or password is wrong, or too many sign-ons have failed.
        """
        with cls(url, "", timeout=timeout, certificate=certificate) as unsigned:
            session: SessionToken = unsigned.request("POST", "/session", {"user": user, "password": password})
        return cls(url, session["token"], timeout=timeout, certificate=certificate)

    def regions(self) -> list[RegionSummary]:
        """The regions that are served."""
        return ask(self, "GET", "/regions")

    def region(self, applid: str) -> RemoteRegion:
        """One region."""
        return RemoteRegion(self, applid)

    def systems(self) -> list[SystemSummary]:
        """The IBM i systems that are served."""
        return ask(self, "GET", "/systems")

    def system(self, name: str, *, profile: str = "") -> RemoteSystem:
        """One IBM i system.

        Args:
            name: its name.
            profile: the profile of the jobs, which only the owner of the server can choose; default: QSECOFR.
        """
        return RemoteSystem(self, name, profile=profile)

    def advance(self, seconds: float) -> ClockState:
        """Move the server's clock forward."""
        return ask(self, "POST", "/clock", query={"advance": seconds})

    def clock(self) -> ClockState:
        """The time of the server's clock, and whether it stands still."""
        return ask(self, "GET", "/clock")

    def freeze(self) -> ClockState:
        """Stop the server's clock."""
        return ask(self, "POST", "/clock", query={"frozen": True})

    def thaw(self) -> ClockState:
        """Let the server's clock go on, from the time at which it stands."""
        return ask(self, "POST", "/clock", query={"frozen": False})

    def events(self, region: str | None = None, queue: str | None = None) -> Iterator[dict[str, Any]]:
        """New events, as they arrive: commands, units of work, tasks, seeds; ``lost`` has the number of lost events.

        Args:
            region: only those of this region.
            queue: only those of this queue.
        """
        with self.stream("/events", query={"region": region, "queue": queue}) as lines:
            yield from events(lines)

    def alerts(self, region: str | None = None) -> Iterator[dict[str, Any]]:
        """Alerts, as they arrive: incidents that begin (first the present ones) and end, and abends of tasks.

        Args:
            region: only those of this region.
        """
        with self.stream("/alerts", query={"region": region}) as lines:
            yield from events(lines)
