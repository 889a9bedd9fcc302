"""What walks have in common: records found in bytes, and the error of a file that lies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tdqsim.errors import DatasetError
from tdqsim.pipeline._numbers import Bytes

__all__ = ["CUT_HINT", "Frames", "FramingError", "Ints", "Walk", "found"]

Ints = npt.NDArray[np.int64]
CUT_HINT = "was the copy cut off? transfer the data set again, in binary"


class FramingError(DatasetError):
    """A descriptor word or length lies; ``offset`` counts from the start of the bytes walked."""

    def __init__(self, message: str, offset: int) -> None:
        self.offset = offset
        self.problem = message
        super().__init__(f"at offset {offset}: {message}")


@dataclass(frozen=True, slots=True)
class Frames:
    """Records found.

    Attributes:
        data: the bytes that ``starts`` refer to (spanned records are put together first).
        starts: where each record's data begins.
        lengths: how long it is, without descriptor words.
        places: where it begins in the bytes walked.
        used: bytes walked.
    """

    data: Bytes
    starts: Ints
    lengths: Ints
    places: Ints
    used: int


Walk = Callable[[Bytes, bool], Frames]
"""Called with bytes and whether they are the last of the file (part)."""


def found(data: Bytes, starts: Ints, lengths: Ints, used: int) -> Frames:
    """Records that lie where they were found."""
    return Frames(data, starts, lengths, starts, used)
