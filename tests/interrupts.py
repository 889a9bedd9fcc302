"""Exceptions at any line of a part of the package, for tests of what an interrupt leaves behind.

The garbage collector is off meanwhile: an exception inside a finalizer of another test's garbage would be reported
elsewhere and would never reach the command that is to be interrupted. ``conftest.py`` collects the garbage of such tests
before the next test that does not tolerate files that were left open.
"""

from __future__ import annotations

import gc
import opcode
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

_LEAVES_HANDLER = opcode.opmap["POP_EXCEPT"]


def can_be_interrupted(frame: FrameType) -> bool:
    """Whether an exception may be raised at the instruction that a frame is about to run.

    A handler that is left by POP_EXCEPT is protected up to that instruction, and no signal is looked at there. What a
    trace function raises there stays the exception being handled, in this thread and for all that it runs later.
    """
    return frame.f_code.co_code[frame.f_lasti] != _LEAVES_HANDLER


class RaiseAt:
    """Raises, once, at the so-manieth line that is run of the files below a directory.

    Attributes:
        where: file and line at which it was raised; None when so many lines were not run.
    """

    def __init__(self, line: int, kind: type[BaseException], home: str) -> None:
        self.left = line
        self.kind = kind
        self.home = home
        self.where: tuple[str, int] | None = None

    def __call__(self, frame: FrameType, _event: str, _arg: object) -> Any:
        file = frame.f_code.co_filename
        return self._at if file.startswith(self.home) else None

    def _at(self, frame: FrameType, event: str, _arg: object) -> None:
        if event == "line" and can_be_interrupted(frame):
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                self.where = (frame.f_code.co_filename, frame.f_lineno)
                raise self.kind

    def __enter__(self) -> Self:
        gc.disable()
        sys.settrace(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        gc.enable()


@contextmanager
def signals(kind: type[BaseException]) -> Iterator[Callable[[Callable[[], object], float], bool]]:
    """Gives what makes a call with a signal under way, which raises ``kind`` after so many seconds; whether it did.

    Nothing is collected meanwhile: what a signal raises inside a finalizer is told of elsewhere and lost.
    """
    armed: list[bool] = []

    def raised(*_: object) -> None:
        if armed:
            armed.clear()
            raise kind

    def strike(call: Callable[[], object], seconds: float) -> bool:
        try:
            armed.append(True)
            signal.setitimer(signal.ITIMER_REAL, seconds)
            call()
            armed.clear()
        except kind:
            return True
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        return False

    was = signal.signal(signal.SIGALRM, raised)
    gc.disable()
    try:
        yield strike
    finally:
        gc.enable()
        signal.signal(signal.SIGALRM, was)
