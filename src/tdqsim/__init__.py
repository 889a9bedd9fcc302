"""tdqsim: CICS transient data queues and IBM i data queues, off the mainframe.

This is the catalogue of public names; each is imported from its room when it is first used, so that ``import tdqsim``
costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from tdqsim.cics import Abend, Condition, Region, Sysplex, Task, TranslationError
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

__version__ = "0.1.0"

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
    "StoreDamaged",
    "StoreError",
    "StoreFull",
    "StoreInUse",
    "StoreMissing",
    "StoreVersionError",
    "Sysplex",
    "System",
    "SystemClosed",
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

_ROOM_OF = {
    "Abend": "tdqsim.cics",
    "Clock": "tdqsim.core.clock",
    "Condition": "tdqsim.cics",
    "Cvda": "tdqsim.facts",
    "Definitions": "tdqsim.definitions",
    "Dispatcher": "tdqsim.core.dispatch",
    "EscapeMessage": "tdqsim.ibmi",
    "Region": "tdqsim.cics",
    "Resp": "tdqsim.facts",
    "Sysplex": "tdqsim.cics",
    "System": "tdqsim.ibmi",
    "Task": "tdqsim.cics",
    "TranslationError": "tdqsim.cics",
    "define_connection": "tdqsim.definitions",
    "define_dtaq": "tdqsim.definitions",
    "define_tdqueue": "tdqsim.definitions",
    "define_terminal": "tdqsim.definitions",
    "define_transaction": "tdqsim.definitions",
    "load_definitions": "tdqsim.definitions",
    "parse_definitions": "tdqsim.definitions",
}


def __getattr__(name: str) -> Any:
    room = _ROOM_OF.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(room), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
