"""Stepping: a fiber that stops before each of its commands, for tests of locks and deadlocks.

Code that runs programs on the dispatcher calls :meth:`Stepped.stand_before` in the fiber before each command, with the
command's name; there the fiber waits. The program outside calls :meth:`Stepped.step`. Then the fiber executes the
command and stops before the next one, waits inside the command for a resource of another fiber, or ends.
"""

from __future__ import annotations

from typing import Generic

from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.fiber import WAIT, Fiber, T_co, WaitMark, WaitQueue
from tdqsim.errors import UsageError


class Stepped(Generic[T_co]):
    """A program that is stepped by hand, and returns T_co.

    Attributes:
        before: the command that it will execute next, such as ``writeq_td``; empty when it waits inside a command, runs
            freely, or has ended.
        fiber: its fiber; None before it is started.
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._gate = WaitQueue("to be let go")
        self._credit = 0
        self._free = False
        self.before = ""
        self.fiber: Fiber[T_co] | None = None

    def __repr__(self) -> str:
        if self.done:
            return "<Stepped: done>"
        return f"<Stepped: before {self.before}>" if self.before else f"<Stepped: waits {self.waits_for}>"

    def _started(self) -> Fiber[T_co]:
        if self.fiber is None:
            raise UsageError("the program that is to be stepped has not been started")
        return self.fiber

    @property
    def done(self) -> bool:
        """Whether the program has ended."""
        return self.fiber is not None and self.fiber.done

    @property
    def waits_for(self) -> str:
        """What it waits for inside a command, in words; empty when it does not wait."""
        queue = self._started().waiting_for
        return "" if queue is None or queue is self._gate else queue.name

    # -- for the fiber -------------------------------------------------------------------------------------------

    def stand_before(self, command: str) -> None:
        """Wait, in the fiber, until the command may be executed."""
        if self._free:
            return
        self.before = command

        def attempt() -> WaitMark | None:
            return None if self._free or self._credit else WAIT

        self._dispatcher.wait(attempt, self._gate)
        self._credit = max(0, self._credit - 1)
        self.before = ""

    # -- for the program outside ----------------------------------------------------------------------------------

    def step(self, commands: int = 1) -> str:
        """Let the program execute its next commands; other fibers run meanwhile.

        Args:
            commands: how many, 1 or more. If it waits inside one of them, it executes the rest when the wait ends.

        Returns:
            The command that it will execute next; empty when it waits inside a command, or has ended.

        Raises:
            TdqError: the program has ended, or the number is less than 1.
        """
        if commands < 1:
            raise UsageError(f"step({commands}): allowed are 1 or more commands")
        if self._started().done:
            raise UsageError("step: the program has ended")
        self._credit += commands
        self._go_on()
        return self.before

    def go(self) -> None:
        """Let the program run on without stops."""
        self._free = True
        self._go_on()

    def _go_on(self) -> None:
        self._gate.wake_all()
        self._dispatcher.run_ready()

    def result(self) -> T_co:
        """Let the program run to its end; returns its result or raises its exception."""
        self.go()
        return self._started().result()
