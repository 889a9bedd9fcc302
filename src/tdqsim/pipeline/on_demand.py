"""Modules that ``tdq pipeline`` and ``tdq dataset`` use, each imported when a command first uses it."""

# ruff: noqa: PLC0414  ("import X as X" is what tells type checkers that X may be used from outside)

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tdqsim.lazy import lazy_modules

if TYPE_CHECKING:
    from tdqsim.pipeline import data_sets as data_sets
    from tdqsim.pipeline import opening as opening
    from tdqsim.pipeline import publishing as publishing
    from tdqsim.pipeline import queues as queues
    from tdqsim.pipeline import sessions as sessions

_MODULES: Final = (
    "tdqsim.pipeline.data_sets",
    "tdqsim.pipeline.opening",
    "tdqsim.pipeline.file_format",
    "tdqsim.pipeline.publishing",
    "tdqsim.pipeline.queues",
    "tdqsim.pipeline.sessions",
)

__getattr__ = lazy_modules(__name__, _MODULES)
