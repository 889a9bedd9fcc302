"""CICS transient data queues and IBM i data queues, off the mainframe.

Begin with :class:`Region` (a CICS region), :class:`Task` (its commands), :func:`define_tdqueue`, and
:class:`Condition` (what a command raises); on IBM i with :class:`System` and ``tdqsim.ibmi.Job``. The rooms are
``tdqsim.cics``, ``tdqsim.ibmi``, ``tdqsim.definitions``, ``tdqsim.datasets``, ``tdqsim.layouts``, ``tdqsim.testing``
(the pytest fixtures and what goes with them) and ``tdqsim.facts``; ``help(...)`` of each tells more, and ``tdq guide``
in a shell shows the guide.

This is the catalogue of public names; each is imported from its room when it is first used, so that ``import tdqsim``
costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.errors import (
    ConversionError,
    DatasetError,
    DefinitionError,
    LayoutError,
    RegionClosed,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreInUse,
    StoreMissing,
    StoreVersionError,
    SystemClosed,
    TdqError,
    WouldWaitForever,
    WrongThread,
)
from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.cics import (
        Abend,
        Condition,
        Region,
        SecurityOptions,
        StartOptions,
        Sysplex,
        SystemOptions,
        Task,
        TranslationError,
    )
    from tdqsim.core.clock import Clock
    from tdqsim.core.dispatch import Dispatcher
    from tdqsim.definitions import (
        Definitions,
        define_connection,
        define_dtaq,
        define_tdqueue,
        define_terminal,
        define_transaction,
        load_definitions,
        parse_definitions,
    )
    from tdqsim.facts import Cvda, Resp
    from tdqsim.ibmi import EscapeMessage, System

__version__ = "1.0.0rc1"

__all__ = [
    "Abend",
    "Clock",
    "Condition",
    "ConversionError",
    "Cvda",
    "DatasetError",
    "DefinitionError",
    "Definitions",
    "Dispatcher",
    "EscapeMessage",
    "LayoutError",
    "Region",
    "RegionClosed",
    "Resp",
    "SecurityOptions",
    "StartOptions",
    "StoreDamaged",
    "StoreError",
    "StoreFull",
    "StoreInUse",
    "StoreMissing",
    "StoreVersionError",
    "Sysplex",
    "System",
    "SystemClosed",
    "SystemOptions",
    "Task",
    "TdqError",
    "TranslationError",
    "WouldWaitForever",
    "WrongThread",
    "__version__",
    "define_connection",
    "define_dtaq",
    "define_tdqueue",
    "define_terminal",
    "define_transaction",
    "load_definitions",
    "parse_definitions",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tdqsim.cics": (
            "Abend",
            "Condition",
            "Region",
            "SecurityOptions",
            "StartOptions",
            "Sysplex",
            "SystemOptions",
            "Task",
            "TranslationError",
        ),
        "tdqsim.core.clock": ("Clock",),
        "tdqsim.core.dispatch": ("Dispatcher",),
        "tdqsim.definitions": (
            "Definitions",
            "define_connection",
            "define_dtaq",
            "define_tdqueue",
            "define_terminal",
            "define_transaction",
            "load_definitions",
            "parse_definitions",
        ),
        "tdqsim.facts": ("Cvda", "Resp"),
        "tdqsim.ibmi": ("EscapeMessage", "System"),
    },
)
