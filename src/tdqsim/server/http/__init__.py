"""The HTTP listener: the JSON API, its sign-on, metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.server.http.access import Caller, Gate, signed_on
    from tdqsim.server.http.api import application

__all__ = [
    "Caller",
    "Gate",
    "application",
    "signed_on",
]

# No __dir__: freezegun reads every name that a module lists, and would import pandas or FastAPI while time is frozen.
__getattr__, _ = lazy_names(
    __name__,
    {
        ".access": ("Caller", "Gate", "signed_on"),
        ".api": ("application",),
    },
)
