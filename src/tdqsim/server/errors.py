"""Errors of the setup of a server and of its links."""

from __future__ import annotations

from tdqsim.errors import TdqError


class ServeError(TdqError):
    """The server cannot be set up: a file, a certificate or a port is unusable; the message gives the reason."""


class LinkRefused(TdqError):
    """A link of another server was refused: its certificate has another name, or no link to it is defined here."""
