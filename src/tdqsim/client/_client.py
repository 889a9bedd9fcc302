"""The client: a connection to a server, from which you get its regions and systems."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tdqsim.client._http import TIMEOUT
from tdqsim.client._operations import Operations
from tdqsim.client._region import RemoteRegion
from tdqsim.client._system import RemoteSystem

if TYPE_CHECKING:
    from tdqsim.client.answers.ibmi import SystemSummary
    from tdqsim.client.answers.process import ClockState, SessionToken
    from tdqsim.client.answers.regions import RegionSummary


class Client(Operations):
    """One connection to a server, which is opened again if it is lost; requests that change something are not repeated.

    Every operation of the API is also a method, named by its id in the OpenAPI document: ``client.get_clock()``.

    Args:
        url: such as ``http://127.0.0.1:8470``, ``https://HOST:PORT`` or ``unix:PATH``.
        token: the bearer token.
        timeout: the time limit of a request, in seconds.
        certificate: a certificate file to trust, for ``https``; default: the certificates of the machine.

    Raises:
        UsageError: the address is invalid, or the certificate cannot be read.
    """

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
            OSError: the file cannot be read.
        """
        ready = json.loads(Path(path).read_text("utf-8"))
        return cls(ready["url"], ready["token"], timeout=timeout, certificate=certificate or ready.get("certificate"))

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
        return self.list_regions()

    def region(self, applid: str) -> RemoteRegion:
        """One region."""
        return RemoteRegion(self, applid)

    def systems(self) -> list[SystemSummary]:
        """The IBM i systems that are served."""
        return self.list_systems()

    def system(self, name: str, *, profile: str = "") -> RemoteSystem:
        """One IBM i system.

        Args:
            name: its name.
            profile: the profile of the jobs, which only the owner of the server can choose; default: QSECOFR.
        """
        return RemoteSystem(self, name, profile=profile)

    def advance(self, seconds: float) -> ClockState:
        """Move the server's clock forward."""
        return self.set_clock(advance=seconds)
