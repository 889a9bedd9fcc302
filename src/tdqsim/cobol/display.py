"""The statements that need no EXEC CICS command: ACCEPT and CURRENT-DATE for the date, and DISPLAY.

DISPLAY writes to the queue CESE, as Language Environment does under CICS. Each record has a carriage control character
(a blank here), the terminal (4 characters), the transaction (4), a blank, the local time (14 digits), a blank, and at
most 132 characters of text; a longer line takes several records. DISPLAY is not a command: it does not change the EIB,
and backout does not remove its records. Where CESE is missing or not open for output, the line goes to
``sys.stdout``. Source: Message handling under CICS (Language Environment Programming Guide).

ACCEPT FROM DATE and the like, and FUNCTION CURRENT-DATE, show the local time of the region, simulated or not.
"""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Final

from tdqsim.cics import Task
from tdqsim.facts import table
from tdqsim.hosting import RegionInternals

QUEUE: Final = "CESE"
"""The queue to which DISPLAY writes."""
_WIDTH: Final = next(int(row["value"]) for row in table("cobol") if row["name"] == "display_line")
_LATIN: Final = "latin-1"


def _local(task: Task) -> datetime:
    region = task.region
    seconds, rest = divmod(region.clock.time_ns(), 10**9)
    return datetime.fromtimestamp(seconds, region.options.zone).replace(microsecond=rest // 1000)


def current_date(task: Task) -> bytes:
    """FUNCTION CURRENT-DATE (21 characters), then the day of the year (3) and of the week (1 is Monday)."""
    local = _local(task)
    hundredths = local.microsecond // 10_000
    return f"{local:%Y%m%d%H%M%S}{hundredths:02d}{local:%z}{local:%j}{local.isoweekday()}".encode("ascii")


class DisplayLines:
    """The DISPLAY output of one task."""

    __slots__ = ("_open", "_task")

    def __init__(self, task: Task) -> None:
        self._task = task
        self._open = b""

    def display(self, data: bytes, *, end: bool) -> None:
        """Add to the line, and write it at its end. After WITH NO ADVANCING the next DISPLAY continues the line."""
        self._open += data
        if end:
            self.finish()

    def finish(self) -> None:
        """Write a line that has not been ended."""
        text, self._open = self._open.decode(_LATIN), b""
        task = self._task
        prefix = f" {task.eib.eibtrmid:<4.4}{task.eib.eibtrnid:<4.4} {_local(task):%Y%m%d%H%M%S} "
        for start in range(0, max(len(text), 1), _WIDTH):
            if not RegionInternals(task.region).messages.text(QUEUE, text[start : start + _WIDTH], prefix):
                sys.stdout.write(f"{text[start : start + _WIDTH]}\n")

    def close(self) -> None:
        """Write the last line at the end of the task."""
        if self._open:
            self.finish()
