"""Which errors are faults of this package, so that the log has their traceback.

An error that a user's program causes is an ordinary event: the log has one line for it.
"""

from __future__ import annotations

import sys
from typing import Final

from tdqsim.errors import TdqError

__all__ = ["product_fault"]

_PACKAGE: Final = __name__.partition(".")[0]


def product_fault(error: BaseException | None) -> BaseException | None:
    """Return an error if the package itself raised it unintentionally; else None.

    Args:
        error: the error. It was raised unintentionally if it is no :class:`~tdqsim.errors.TdqError`; modules of the
            standard library count for the module that called them.
    """
    if error is None or isinstance(error, TdqError):
        return None
    raised_by, frame = "", error.__traceback__
    while frame is not None:
        package = str(frame.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        if package not in sys.stdlib_module_names:
            raised_by = package
        frame = frame.tb_next
    return error if raised_by == _PACKAGE else None
