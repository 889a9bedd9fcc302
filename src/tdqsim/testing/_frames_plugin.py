"""The part of the pytest plugin that hides this package's frames in the tracebacks of failed tests.

It does what ``__tracebackhide__`` in each function of the package would. ``--full-trace`` shows the frames.
"""

from __future__ import annotations

from collections.abc import Iterator
from traceback import walk_tb
from typing import Any, Final

import pytest

from tdqsim.core.own_frames import is_own_frame, is_own_module
from tdqsim.errors import TdqError

_ON_PURPOSE: Final = (TdqError, AssertionError, TypeError, ValueError)
"""Exceptions by which the package refuses a request."""


def _linked(error: BaseException) -> Iterator[BaseException]:
    """An exception with its causes, its contexts, and the members of exception groups."""
    left: list[BaseException | None] = [error]
    ids: set[int] = set()
    while left:
        each = left.pop()
        if each is not None and id(each) not in ids:
            ids.add(id(each))
            yield each
            left += [each.__cause__, each.__context__, *getattr(each, "exceptions", ())]


def _hides(excinfo: pytest.ExceptionInfo[BaseException] | None) -> bool:
    """Whether the package's frames of an exception are hidden: a value of ``__tracebackhide__``.

    They are shown for a KeyError or the like that the package's own code raises: that is a bug of the package.
    """
    error = excinfo.value if excinfo is not None else None
    if error is None or isinstance(error, pytest.fail.Exception):
        return False
    if isinstance(error, _ON_PURPOSE):
        return True
    *_, (innermost, _) = walk_tb(error.__traceback__)
    return is_own_frame(innermost)


class HiddenFrames:
    """Hides the package's frames in the tracebacks of failed tests; ``-p no:tdqsim-frames`` turns it off."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[Any]) -> None:
        """Mark the modules of this package that the exception went through; pytest leaves out their frames."""
        if call.excinfo is None:
            return
        for error in _linked(call.excinfo.value):
            for frame, _ in walk_tb(error.__traceback__):
                if not is_own_module(str(frame.f_globals.get("__name__", ""))):
                    frame.f_globals["__tracebackhide__"] = _hides
