"""Errors in calling the APIs, as opposed to errors that the APIs report."""

from __future__ import annotations

from tdqsim.errors import TdqError


class JobEnded(TdqError):
    """The job has ended: it can issue no more commands, and its wait, if any, has been ended."""


class ParameterError(TdqError, ValueError):
    """A parameter of an API cannot have this Python value; the message names the parameter and the allowed values."""


def check_flags(**options: object) -> None:
    """Refuse yes-or-no options that are not bool, because the text ``*NO`` would be true in Python.

    Raises:
        ParameterError: an option is neither True nor False.
    """
    for name, value in options.items():
        if not isinstance(value, bool):
            raise ParameterError(f"{name} {value!r}: allowed are True and False")
