"""Turns of other tasks that are due after a command from outside, given when the program outside goes on.

A command from outside any task normally lets the tasks that are ready run before it returns. A crash inside those tasks
would then come before the scenario has noted that its own command is complete, though the command was committed long
before. In a real system the caller knows it by then. So in a run that is crashed a command returns first, and the other
tasks have their turns as soon as the scenario enters the region or system again: by its next command, by looking at
something, by waiting, or by its end. What runs, and in which order, stays the same.
"""

from __future__ import annotations

from tdqsim.core.dispatch import Dispatcher

__all__ = ["LaterTurns"]


class LaterTurns:
    """Takes the place of two methods of a dispatcher: that which gives turns, and that with which every call begins.

    Args:
        dispatcher: that of the region or system.
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._due = False
        self._run_ready, self._check_thread = dispatcher.run_ready, dispatcher.check_thread
        dispatcher.__dict__.update(run_ready=self._note, check_thread=self.take)

    def _note(self) -> None:
        self._check_thread()
        if self._dispatcher.current is self._dispatcher.outside:
            self._due = True

    def take(self) -> None:
        """Give the turns that are due, if any, to the tasks that are ready; inside a task nothing.

        Raises:
            WrongThread: called from another thread than the dispatcher's.
        """
        self._check_thread()
        if self._due and self._dispatcher.current is self._dispatcher.outside:
            self._due = False
            self._run_ready()

    def end(self) -> None:
        """Let the dispatcher give turns at once again; those that are due are not given."""
        for name in ("run_ready", "check_thread"):
            self._dispatcher.__dict__.pop(name, None)
