"""Stepping: a strand that is held between two of its commands until it is let go, for tests of locks and deadlocks.

Code that runs programs on the dispatcher calls :meth:`Stepped.stand_before` on the strand before each of its commands,
with the command's name; there the strand waits. The program outside says :meth:`Stepped.step`: the strand does that one
command and stands before the next one, or waits inside the command for something that another strand has, or ends.
"""

from __future__ import annotations

from typing import Generic

from tdqsim.core._strand import T_co
from tdqsim.core.dispatch import WAIT, Dispatcher, Strand, WaitMark, WaitQueue
from tdqsim.errors import UsageError

__all__ = ["Stepped"]


class Stepped(Generic[T_co]):
    """A program that is stepped by hand, and returns T_co.

    Attributes:
        before: the command that it stands before, such as ``writeq_td``; empty when it waits inside a command, runs
            free, or has ended.
        strand: its strand, once it is started.
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._gate = WaitQueue("to be let go")
        self._credit = 0
        self._free = False
        self.before = ""
        self.strand: Strand[T_co] | None = None

    def __repr__(self) -> str:
        if self.done:
            return "<Stepped: done>"
        return f"<Stepped: before {self.before}>" if self.before else f"<Stepped: waits {self.waits_for}>"

    def _started(self) -> Strand[T_co]:
        if self.strand is None:
            raise UsageError("the program that is to be stepped has not been started")
        return self.strand

    @property
    def done(self) -> bool:
        """Whether the program has ended."""
        return self.strand is not None and self.strand.done

    @property
    def waits_for(self) -> str:
        """What it waits for inside a command, in words; empty when it does not wait."""
        queue = self._started().waiting_for
        return "" if queue is None or queue is self._gate else queue.name

    # -- for the program's side -----------------------------------------------------------------------------------

    def stand_before(self, command: str) -> None:
        """Wait on the strand until the command may be done."""
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
        """Let it do its next commands, and let other strands run meanwhile.

        Args:
            commands: how many, 1 or more. Where it begins to wait inside one, the rest is done when the wait ends.

        Returns:
            The command that it then stands before; empty when it waits inside one, or has ended.

        Raises:
            TdqError: it has ended, or the number is less than 1.
        """
        if commands < 1:
            raise UsageError(f"step({commands}): allowed are 1 or more commands")
        if self._started().done:
            raise UsageError("step: the program has ended")
        self._credit += commands
        self._go_on()
        return self.before

    def go(self) -> None:
        """Hold it no more: it runs as any other."""
        self._free = True
        self._go_on()

    def _go_on(self) -> None:
        self._gate.wake_all()
        self._dispatcher.run_ready()

    def result(self) -> T_co:
        """Let it run to its end; what it returns or raises."""
        self.go()
        return self._started().result()
