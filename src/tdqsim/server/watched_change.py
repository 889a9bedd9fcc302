"""What ``tdq serve --watch`` has done with a change of a file."""

from __future__ import annotations

from typing import NamedTuple


class WatchedChange(NamedTuple):
    """What was done with one change.

    Attributes:
        time_ns: the time on the region's clock.
        what: the file, the definition or the program.
        done: what was done with it.
        refused: whether it was refused; ``done`` is then the reason.
    """

    time_ns: int
    what: str
    done: str
    refused: bool
