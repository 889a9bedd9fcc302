"""Errors of the setup of a server and of its links."""

from __future__ import annotations

import errno
import os

from tdqsim.cli import InputError
from tdqsim.errors import TdqError


class ServeError(InputError):
    """The server cannot be set up: a file, a certificate or a port is unusable; the message gives the reason."""


class LinkRefused(TdqError):
    """A link of another server was refused: its certificate has another name, or no link to it is defined here."""


def cannot_listen(what: str, address: str, port: int | None, error: OSError) -> ServeError:
    """The error of a port that cannot be used.

    Args:
        what: what it is for, such as ``HTTP``.
        address: the address.
        port: the port; None for any of several.
        error: the answer of the system, whose own text repeats the address.
    """
    if error.errno == errno.EADDRINUSE:
        why = "is in use by another program; name another port, or 0 for any free one"
    elif error.errno is not None and error.errno > 0:
        why = f"cannot be used: {os.strerror(error.errno)}"
    else:  # the address was not found; then errno is not one of the system
        why = f"cannot be used: {error.strerror or error}"
    place = f"{address} port {port}" if port is not None else address
    return ServeError(f"{place} ({what}) {why}")
