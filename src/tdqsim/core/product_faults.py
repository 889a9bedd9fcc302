"""Which errors are faults of this package, so that the log has their traceback.

An error that a user's program causes is an ordinary event: the log has one line for it.
"""

from __future__ import annotations

import dis
import re
import sys
from types import TracebackType
from typing import Final

from tdqsim.errors import TdqError

_PACKAGE: Final = __name__.partition(".")[0]
_CALL: Final = re.compile(r"argument")
"""In the text of the error that Python raises for a call with missing or surplus arguments."""


def product_fault(error: BaseException | None) -> BaseException | None:
    """Return an error if the package itself raised it unintentionally; else None.

    Args:
        error: the error. It was raised unintentionally if it is no :class:`~tdqsim.errors.TdqError`, and neither a
            ``raise`` statement of the package nor a wrong call of one of its functions has raised it; modules of the
            standard library count for the module that called them.
    """
    if error is None or isinstance(error, TdqError):
        return None
    raised_by, caller, frame = "", "", error.__traceback__
    while frame is not None:
        package = _package_of(frame)
        if package not in sys.stdlib_module_names:
            raised_by, caller = package, raised_by
        frame = frame.tb_next
    is_wrong_call = isinstance(error, TypeError) and caller != _PACKAGE and _CALL.search(str(error)) is not None
    if raised_by != _PACKAGE or is_wrong_call:
        return None
    return None if was_raised_on_purpose(error) and not isinstance(error, AssertionError) else error


def was_raised_on_purpose(error: BaseException) -> bool:
    """Whether a ``raise`` statement of this package raised the error, so that its message is already exact."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or _package_of(trace) != _PACKAGE:
        return False
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def _package_of(trace: TracebackType) -> str:
    return str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
