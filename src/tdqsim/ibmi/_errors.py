"""What goes wrong around the APIs rather than inside them."""

from __future__ import annotations

from tdqsim.errors import TdqError

__all__ = ["JobEnded", "ParameterError"]


class JobEnded(TdqError):
    """The job has been ended; it can issue no more commands, and a wait of it is over."""


class ParameterError(TdqError, ValueError):
    """A Python value that the parameter of an API cannot hold: the message names it and says what is allowed."""
