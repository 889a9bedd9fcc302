"""The debugger of this process, and the programs that it watches.

A debugger watches all COBOL programs of the process, in regions that exist and in those that are made later. Its hook
takes the place of ``on_statement`` in their settings, and calls the function that was there; so programs run as fast as
ever while no debugger is attached. Abends are reported here by the levels, which do so only when one happens.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, Final, Protocol
from weakref import WeakSet


class WatchedPrograms(Protocol):
    """The part of the settings of a region's programs that a debugger changes.

    Attributes:
        on_statement: called with each statement: the level, the statement and its place; None for no function.
    """

    on_statement: Callable[[Any, str, str], object] | None


class Debugger(Protocol):
    """What the programs call while it is attached, in the thread in which they run."""

    def on_statement(self, level: Any, what: str, place: str) -> object:
        """A statement or command is about to run; see :data:`~tdqsim.cobol.settings.Watcher`."""

    def on_abend(self, level: Any, error: BaseException, *, handled: bool) -> object:
        """A program abends; ``handled`` if a HANDLE ABEND label of this program gets control."""


class _Attached:
    """The attached debugger, and the settings of all programs of the process."""

    __slots__ = ("debugger", "known", "lock")

    def __init__(self) -> None:
        self.debugger: Debugger | None = None
        self.known: WeakSet[WatchedPrograms] = WeakSet()
        self.lock = Lock()


_ATTACHED: Final = _Attached()


class _Both:
    """The debugger's hook, before the function that the settings have of their own."""

    __slots__ = ("debugger", "own")

    def __init__(self, debugger: Debugger, own: Callable[[Any, str, str], object] | None) -> None:
        self.debugger = debugger
        self.own = own

    def __call__(self, level: Any, what: str, place: str) -> None:
        self.debugger.on_statement(level, what, place)
        if self.own is not None:
            self.own(level, what, place)


def register(settings: WatchedPrograms) -> None:
    """Add the programs of a region."""
    with _ATTACHED.lock:
        _ATTACHED.known.add(settings)
        if _ATTACHED.debugger is not None:
            settings.on_statement = _Both(_ATTACHED.debugger, settings.on_statement)


def attach(debugger: Debugger) -> None:
    """Let a debugger watch all programs; it takes the place of another one."""
    detach()
    with _ATTACHED.lock:
        _ATTACHED.debugger = debugger
        for settings in _ATTACHED.known:
            settings.on_statement = _Both(debugger, settings.on_statement)


def detach() -> None:
    """End the watching."""
    with _ATTACHED.lock:
        _ATTACHED.debugger = None
        for settings in _ATTACHED.known:
            if isinstance(settings.on_statement, _Both):
                settings.on_statement = settings.on_statement.own


def own_watcher(watcher: Callable[[Any, str, str], object] | None) -> Callable[[Any, str, str], object] | None:
    """The function that settings have of their own, without the hook of a debugger."""
    return watcher.own if isinstance(watcher, _Both) else watcher


def debugged() -> bool:
    """Whether a debugger is attached."""
    return _ATTACHED.debugger is not None


def note_abend(level: Any, error: BaseException, *, handled: bool) -> None:
    """Report an abend to the debugger, while the storage of the level's programs exists."""
    if _ATTACHED.debugger is not None:
        _ATTACHED.debugger.on_abend(level, error, handled=handled)
