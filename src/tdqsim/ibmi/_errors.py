"""What goes wrong around the APIs rather than inside them."""

from __future__ import annotations

from tdqsim.errors import TdqError

__all__ = ["JobEnded", "ParameterError", "check_flags"]


class JobEnded(TdqError):
    """The job has been ended; it can issue no more commands, and a wait of it is over."""


class ParameterError(TdqError, ValueError):
    """A Python value that the parameter of an API cannot hold: the message names it and says what is allowed."""


def check_flags(**given: object) -> None:
    """A yes-or-no option is a bool: the machine's ``*NO`` would be true in Python.

    Raises:
        ParameterError: one is neither.
    """
    for name, value in given.items():
        if not isinstance(value, bool):
            raise ParameterError(f"{name} {value!r}: allowed are True and False")
