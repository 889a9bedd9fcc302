"""Finds the frames of a traceback that are in the user's own files: tests, handlers and scripts."""

from __future__ import annotations

import os
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import Final

_PACKAGE: Final = str(Path(__file__).parents[1]) + os.sep
_EXAMPLES: Final = str(Path(_PACKAGE, "examples")) + os.sep


def is_own_file(filename: str) -> bool:
    """Whether a file belongs to this package; its examples count as the user's."""
    return filename.startswith(_PACKAGE) and not filename.startswith(_EXAMPLES)


def user_places(traceback: TracebackType | None) -> list[str]:
    """The places in the user's files that are in a traceback, as ``file:line``, innermost last."""
    places = ((frame.f_code.co_filename, line) for frame, line in walk_tb(traceback))
    return [f"{name}:{line}" for name, line in places if not is_own_file(name)]
