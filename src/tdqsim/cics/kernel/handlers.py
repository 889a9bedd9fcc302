"""Transactions and the Python functions that are their programs.

A handler is called with its task: ``def payp(task): ...``. It is registered under a transaction id by decorator
(``@region.transaction("PAYP")``), by call (``region.register("PAYP", payp)``) or by the import path in the
TRANSACTION definition (``handler: payments:payp``), which is imported only when the region is told to load handlers.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tdqsim.definitions import Transaction, define_transaction
from tdqsim.errors import DefinitionError, Problem

__all__ = ["Handler", "TransactionEntry", "import_handler", "undefined"]

Handler = Callable[..., Any]


class TransactionEntry:
    """A transaction of a region.

    Attributes:
        definition: its definition; one with defaults when a handler was registered without any.
        program: the handler, or None.
        defined: whether there is a definition of its own.
    """

    __slots__ = ("defined", "definition", "dtimout_ns", "program")

    def __init__(self, definition: Transaction, program: Handler | None = None, *, defined: bool = True) -> None:
        self.program = program
        self.define(definition, defined=defined)

    def define(self, definition: Transaction, *, defined: bool = True) -> None:
        """Take a definition; the handler stays."""
        self.definition = definition
        self.defined = defined
        seconds = definition.dtimout_seconds
        self.dtimout_ns = None if seconds is None else seconds * 10**9

    def why_not(self) -> str | None:
        """The message that says why it cannot be attached; None when it can."""
        if self.definition.status != "ENABLED":
            return "DFHAC2008"
        return "DFHAC2016" if self.program is None else None


def undefined(transid: str) -> Transaction:
    """The definition of a transaction that only has a handler.

    Raises:
        DefinitionError: the name is no transaction id.
    """
    return define_transaction(name=transid)


def import_handler(path: str, transid: str) -> Handler:
    """The callable that ``package.module:function`` names.

    Raises:
        DefinitionError: it cannot be imported, or is not callable.
    """

    def refused(message: str) -> DefinitionError:
        return DefinitionError([Problem("<handlers>", 0, f"TRANSACTION({transid})", "handler", path, message)])

    module_name, _, attributes = path.partition(":")
    try:
        found: Any = import_module(module_name)
    except Exception as error:  # (whatever a user's module does at import)
        raise refused(f"module {module_name} cannot be imported: {type(error).__name__}: {error}") from error
    for attribute in attributes.split("."):
        found = getattr(found, attribute, None)
    if not callable(found):
        raise refused(f"module {module_name} has no function {attributes}")
    return found  # type: ignore[no-any-return]
