"""The runaway limit of the fixtures: a task that loops without being suspended ends, and fails its test.

In CICS the time of a task counts from its last suspension (ICVR), and a loop of commands that do not suspend ends in
AICA. A Python handler may do bulk work in one task, so regions do not limit it; in a test, a loop would hang the
session without a word. A timer of the operating system, which counts the processor time of the process, looks every now
and then whether the dispatcher still runs the same turn; the commands are not slower by it.

The timer is a signal: there is none on Windows, outside the main thread, or where somebody else uses SIGVTALRM.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from traceback import walk_stack
from types import FrameType
from typing import Final, NoReturn

from tdqsim.cics import Abend
from tdqsim.core.own_frames import discards_errors, is_own_frame

RUNAWAY: Final = "AICA"
"""The abend of a task that loops (IBM Docs, AICA)."""
_LOOKS: Final = 4
"""How often the timer checks within the limit."""


class RunawayLimit:
    """Ends tasks that run for too long without being suspended, while it is on.

    Args:
        seconds: the limit in seconds of processor time; 0 for none.
        turn: the number of the dispatcher's turn, and whether a task has it.
        fail: called when a task continues in spite of its abend; must raise.
    """

    def __init__(self, seconds: float, turn: Callable[[], tuple[int, bool]], fail: Callable[[str], NoReturn]) -> None:
        self._seconds, self._turn, self._fail = seconds, turn, fail
        self._seen = (-1, False)
        self._looks = 0
        self._program: FrameType | None = None
        self._on = False

    def begin(self) -> None:
        """Begin to count, if there is a limit and the timer can be used."""
        if self._seconds <= 0 or not hasattr(signal, "setitimer"):
            return
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGVTALRM) is not signal.SIG_DFL:
            return
        signal.signal(signal.SIGVTALRM, self._look)
        signal.setitimer(signal.ITIMER_VIRTUAL, self._seconds / _LOOKS, self._seconds / _LOOKS)
        self._on = True

    def end(self) -> None:
        """Count no longer."""
        if self._on:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
            self._on = False
            self._program = None

    def _look(self, _number: int, frame: FrameType | None) -> None:
        turn = self._turn()
        if turn != self._seen:
            self._seen, self._looks = turn, 0
            return
        if discards_errors(frame):
            return  # the next check decides
        self._looks += 1
        if not turn[1] or self._looks < _LOOKS:
            return
        why = (
            f"the task has run for {self._seconds:g} seconds of processor time without being suspended: it loops "
            "(--tdq-runaway, or the marker tdq_runaway, changes the limit; 0 ends it)"
        )
        if self._looks == _LOOKS:
            own = [each for each, _line in walk_stack(frame) if is_own_frame(each)]
            self._program = own[-1] if own else None
            raise Abend(RUNAWAY, detail=why)
        under_way = self._program is None or any(each is self._program for each, _line in walk_stack(frame))
        if self._looks < 2 * _LOOKS or not under_way:
            return  # the program has ended: its changes are backed out, the dump is made
        self._fail(f"abend {RUNAWAY}: {why}; its program has caught the abend")
