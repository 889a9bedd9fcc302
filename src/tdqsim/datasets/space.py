"""Space on a volume: the size that a data set can reach before the x37 abends."""

from __future__ import annotations

import re
from enum import Enum

from tdqsim.core.named import NamedTuple
from tdqsim.datasets._limits import limit
from tdqsim.datasets.errors import DcbError


class SpaceUnit(Enum):
    """The unit of SPACE."""

    BYTES = "BYTES"
    TRK = "TRK"
    CYL = "CYL"
    BLK = "BLK"


class Space(NamedTuple):
    """SPACE of a DD: the primary amount, and a secondary amount that is added up to 15 times.

    BYTES counts the file's bytes; TRK and CYL count 3390 tracks and cylinders, whose number of blocks depends on the
    block size; BLK counts blocks.
    """

    primary: int
    secondary: int = 0
    unit: SpaceUnit = SpaceUnit.BYTES

    @property
    def total(self) -> int:
        """The largest amount that the data set can get on one volume, in the unit."""
        return self.primary + self.secondary * (limit("extents_maximum") - 1)

    def blocks(self, blksize: int) -> int | None:
        """Return the number of blocks of that size that fit; None when the unit is bytes."""
        if self.unit is SpaceUnit.BYTES:
            return None
        if self.unit is SpaceUnit.BLK:
            return self.total
        tracks = self.total * (limit("tracks_per_cylinder") if self.unit is SpaceUnit.CYL else 1)
        return tracks * blocks_per_track(blksize)


def blocks_per_track(blksize: int) -> int:
    """Return the number of blocks of ``blksize`` bytes (1 or more) on a 3390 track: 78 of 80 bytes, 2 of 27998."""
    segments = -(-(blksize + limit("track_segment_overhead")) // limit("track_segment_bytes"))
    overhead = limit("track_segment_overhead")
    cells = limit("track_data_cells") - (-(blksize + overhead * segments + overhead) // limit("track_cell_bytes"))
    return limit("track_cells") // (limit("track_gap_cells") + cells)


_SPACE = re.compile(r"\(?(TRK|CYL|BLK|BYTES),\(?([0-9]{1,9})(?:,([0-9]{1,9}))?\)?\)?|([0-9]{1,15})", re.ASCII)


def parse_space(text: str, where: str = "SPACE") -> Space:
    """Parse SPACE as written in JCL, ``(TRK,(10,5))`` or ``CYL,1``, or a plain number of bytes.

    Args:
        text: the parameter as written in JCL.
        where: the name of the place in messages.

    Raises:
        DcbError: it is not of that form, or is empty.
    """
    match = _SPACE.fullmatch(text.replace(" ", "").upper())
    if match is None:
        raise DcbError(
            where, f"SPACE {text[:40]!r} is neither (TRK|CYL|BLK|BYTES,(primary,secondary)) nor a number of bytes"
        )
    if match[4]:
        return Space(int(match[4]))
    return Space(int(match[2]), int(match[3] or 0), SpaceUnit(match[1]))
