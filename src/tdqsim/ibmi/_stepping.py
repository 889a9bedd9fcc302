"""A job that is held before each of its APIs and commands until it is let go."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from tdqsim.core.stepping import Stepped
from tdqsim.ibmi._declare import DECLARATIONS
from tdqsim.ibmi.job import Job

__all__ = ["SteppedJob"]

_ENTRIES = (
    *(one.method for one in DECLARATIONS.values()),
    "call",
    "call_program",
    "command",
    "receive",
    "receive_entry",
)


class SteppedJob(Job):
    """A job of :meth:`System.stepped`.

    Attributes:
        stepped: who holds it.
        inside: it is in an API or command, so that what that one calls goes on.
    """

    stepped: Stepped
    inside: bool = False


def _held(name: str) -> Callable[..., Any]:
    plain = getattr(Job, name)

    @wraps(plain)
    def held(self: SteppedJob, *args: Any, **keywords: Any) -> Any:
        if self.inside:
            return plain(self, *args, **keywords)
        self.stepped.stand_before(name)
        self.inside = True
        try:
            return plain(self, *args, **keywords)
        finally:
            self.inside = False

    return held


for _name in _ENTRIES:
    setattr(SteppedJob, _name, _held(_name))
