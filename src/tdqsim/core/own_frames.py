"""The user's frames among those of this package: what a message, a dump or a traceback shows of a call stack.

The user's are all outside the package, and the examples.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Final

_PACKAGE: Final = __name__.partition(".")[0]
_EXAMPLES: Final = f"{_PACKAGE}.examples."


def is_own_module(name: str) -> bool:
    """Whether a module is the user's: outside this package, or one of its examples."""
    return name.partition(".")[0] != _PACKAGE or name.startswith(_EXAMPLES)


def is_own_frame(frame: FrameType) -> bool:
    """Whether a frame runs the user's code."""
    return is_own_module(str(frame.f_globals.get("__name__", "")))


def discards_errors(frame: FrameType | None) -> bool:
    """Whether a frame is a callback of the garbage collector: Python discards what is raised there.

    So the handler of a signal that ends a program leaves it to the next signal.
    """
    return frame is not None and any(frame.f_code is getattr(each, "__code__", None) for each in gc.callbacks)


def own_places(traceback: TracebackType | None) -> Iterator[tuple[str, int]]:
    """The files and lines of a traceback that are the user's, the innermost last."""
    from traceback import walk_tb  # noqa: PLC0415  (needed only after a failure)

    return ((frame.f_code.co_filename, line) for frame, line in walk_tb(traceback) if is_own_frame(frame))
