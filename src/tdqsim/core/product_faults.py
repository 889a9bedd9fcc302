"""Which errors are faults of this package, so that the log has their traceback.

An error that a user's program causes is an ordinary event: the log has one line for it.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Final

from tdqsim.errors import TdqError

_PACKAGE: Final = __name__.partition(".")[0]


def product_fault(error: BaseException | None) -> BaseException | None:
    """Return an error if the package itself raised it unintentionally; else None.

    Args:
        error: the error. It was raised unintentionally if it is neither a :class:`~tdqsim.errors.TdqError` nor an error
            of the operating system, and comes from code of the package that was called with the right number of
            arguments; modules of the standard library count for the module that called them.
    """
    if error is None or isinstance(error, TdqError | OSError):
        return None
    raised_by, caller, frame = "", "", error.__traceback__
    while frame is not None:
        package = _package_of(frame)
        if package not in sys.stdlib_module_names:
            raised_by, caller = package, raised_by
        frame = frame.tb_next
    is_wrong_call = isinstance(error, TypeError) and caller != _PACKAGE and "argument" in str(error)
    return error if raised_by == _PACKAGE and not is_wrong_call else None


def _package_of(trace: TracebackType) -> str:
    return str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
