"""Lets a command of the scenario return before the tasks that it has made ready run.

Normally a command from outside any task runs the ready tasks before it returns. A crash in one of those tasks would
then come before the scenario can note that its own command is complete, although that command was committed long
before; in a real system the caller would know that by then. So in a run with crash points a command returns first. The
ready tasks run when the scenario next uses the region or system: with a command, an inspection or a wait, or at its
end. The same tasks run, in the same order.
"""

from __future__ import annotations

from tdqsim.core.dispatch import Dispatcher


class DeferredDispatcher:
    """Replaces methods of a dispatcher: ``run_ready``; ``check_thread``, with which a call begins; and ``run``.

    The deferred tasks run before a ``run`` begins, and not within it, at the first deadline that it reaches.

    Args:
        dispatcher: the dispatcher of the region or system.
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._due = False
        self._run_ready, self._check_thread = dispatcher.run_ready, dispatcher.check_thread
        self._run_all = dispatcher.run
        dispatcher.__dict__.update(run_ready=self._note, check_thread=self.take, run=self._run)

    def _note(self) -> None:
        self._check_thread()
        if self._dispatcher.current is self._dispatcher.outside:
            self._due = True

    def take(self) -> None:
        """Run the ready tasks, if a command has deferred them; inside a task do nothing.

        Raises:
            WrongThread: called from another thread than the dispatcher's.
        """
        self._check_thread()
        if self._due and self._dispatcher.current is self._dispatcher.outside:
            self._due = False
            self._run_ready()

    def _run(self) -> None:
        self.take()
        self._run_all()

    def end(self) -> None:
        """Restore the dispatcher's own methods; deferred tasks are not run."""
        for name in ("run_ready", "check_thread", "run"):
            self._dispatcher.__dict__.pop(name, None)
