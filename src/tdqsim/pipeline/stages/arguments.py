"""Arguments of the stages that are not allowed: said by name, with what is."""

from __future__ import annotations

from collections.abc import Iterable

from tdqsim.errors import DatasetError

__all__ = ["NotAllowed", "one_of"]


class NotAllowed(DatasetError):
    """An argument that a stage does not know; the message has its name, its value and what is allowed."""


def one_of(name: str, value: str, allowed: Iterable[str]) -> None:
    """Look at an argument.

    Args:
        name: as it stands on the command line.
        value: what was given.
        allowed: what may be given.

    Raises:
        NotAllowed: it is none of them.
    """
    known = list(allowed)
    if value not in known:
        raise NotAllowed(f"{name} {value}: allowed are {', '.join(known)}")
