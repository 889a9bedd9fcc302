"""Do work that runs programs in a process of its own: what a program does to it ends that work, and is reported.

The process is forked, and sends lines of text. Signals of the keyboard go to the parent alone, which passes on the
interrupt and waits, so that the work ends in order; when the parent is killed, the process ends as well. Its temporary
files are in a folder that the parent removes.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final, NoReturn, TextIO

from tdqsim.cli import Exit, guarded
from tdqsim.cobol._libcob import last_words_to
from tdqsim.cobol.level import DISCARDING

_LAST_WORDS: Final = "!"
_END_WITH_PARENT: Final = 1
"""PR_SET_PDEATHSIG of prctl."""

_LOOKS: Final = 5
_BETWEEN_LOOKS: Final = 0.02
"""Seconds between checks; a process that has not ended after all of them is interrupted again."""
_TO_END: Final = 10.0
"""Seconds in which a process that was interrupted may end in order, before it is interrupted once more."""

Work = Callable[[TextIO], int | None]
"""Gets the stream for its lines; returns the exit code. An exception becomes its message and its exit code."""


class ChildProcess:
    """A process that does some work.

    Attributes:
        code: its exit code, after the last line.
        died: the signal that has ended it, with the program that the run-time has named; empty if it ended by itself.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self.code = 0
        self.died = ""

    def lines(self) -> Iterator[str]:
        """Run it, and give the lines that it sends."""
        with tempfile.TemporaryDirectory(prefix="tdqsim-process-") as folder:
            receive, send = os.pipe()
            sys.stdout.flush()
            sys.stderr.flush()
            child = os.fork()
            if not child:
                os.close(receive)
                _work_and_leave(self._work, send, folder)
            os.close(send)
            try:
                with os.fdopen(receive, encoding="utf-8") as lines:
                    for line in lines:
                        if line.startswith(_LAST_WORDS):
                            self.died = line.rstrip("\n").removeprefix(_LAST_WORDS)
                        else:
                            yield line.rstrip("\n")
            finally:
                if sys.exc_info()[0] is None:
                    _pid, status = os.waitpid(child, 0)
                else:
                    status = _interrupt(child)
            if os.WIFSIGNALED(status):
                number = os.WTERMSIG(status)
                self.died = self.died or f"signal {number} ({signal.strsignal(number)})"
            else:
                self.code = os.WEXITSTATUS(status)


def _interrupt(child: int) -> int:
    """Interrupt the process until it ends; returns its status. See :class:`_Interrupts`."""
    while True:
        os.kill(child, signal.SIGINT)
        for _ in range(_LOOKS):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return status
            time.sleep(_BETWEEN_LOOKS)


class _Interrupts:
    """Handles the interrupts of the parent, which repeats them: one is raised, where it is not discarded.

    Others are ignored meanwhile, so that the work can end in order.
    """

    def __init__(self) -> None:
        self._raised = -_TO_END

    def __call__(self, _number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - self._raised >= _TO_END and (frame is None or frame.f_code not in DISCARDING):
            self._raised = now
            raise KeyboardInterrupt


def _work_and_leave(work: Work, send: int, folder: str) -> NoReturn:
    """Do the work in this process, which then ends."""
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGTERM)
    signal.signal(signal.SIGINT, _Interrupts())
    tempfile.tempdir = folder
    last_words_to(send)

    def doing() -> int | None:
        try:
            with os.fdopen(send, "w", encoding="utf-8") as lines:
                return work(lines)
        except KeyboardInterrupt:  # set by the parent
            return Exit.INTERRUPTED

    code = 1
    try:
        code = guarded(doing)
    finally:
        sys.stderr.flush()
        os._exit(code)
