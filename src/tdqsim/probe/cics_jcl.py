"""The DFHCSDUP input, the JCL and the page for the change request that come with the probe of a CICS region."""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["INPUT_RECORDS", "definitions_text"]

INPUT_RECORDS: Final = ("FIRST RECORD", "SECOND RECORD", "THIRD RECORD")
"""The records of the data set that the probe reads; each is padded to 80 bytes."""
_FOLDER: Final = Path(__file__).parent


def definitions_text(prefix: str, *, group: str = "", hlq: str = "TDQPROBE") -> str:
    """The DFHCSDUP input.

    Args:
        prefix: two characters with which all names begin.
        group: the group; by default the prefix and PROBE.
        hlq: the high-level qualifiers of the data sets.
    """
    text = (_FOLDER / "cics_definitions.txt").read_text("utf-8")
    text = text.replace("&GROUP", group or f"{prefix}PROBE").replace("&HLQ", hlq)
    return text.replace("&P", prefix)
