"""Errors of a server that is being set up, and of its links."""

from __future__ import annotations

from tdqsim.errors import TdqError

__all__ = ["LinkRefused", "ServeError"]


class ServeError(TdqError):
    """The server cannot be set up: a file, a certificate or a port cannot be used; the message says which, and why."""


class LinkRefused(TdqError):
    """A link of another server was refused: its certificate has another name, or nobody here is linked to it."""
