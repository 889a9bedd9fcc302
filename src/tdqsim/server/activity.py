"""What a region has done lately: commands, failures and tasks over the last minutes, and changes of its resources.

The events of a region advance its activity. Time is divided into intervals of five seconds, and the first event of an
interval stores the counts before it; no timer is needed, and an interval without events costs nothing.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from tdqsim.hosting import NS_PER_SECOND

INTERVAL: Final = 5
"""The length of an interval in seconds."""
INTERVALS: Final = 60
"""The number of intervals that are kept."""
_CHANGES: Final = 50
_LENGTH: Final = INTERVAL * NS_PER_SECOND


class ResourceChange(NamedTuple):
    """A change of a resource.

    Attributes:
        time_ns: its time.
        userid: the user of the task.
        command: the command, such as ``SET TDQUEUE``.
        details: its arguments as text.
        condition: the condition with which it ended.
    """

    time_ns: int
    userid: str
    command: str
    details: str
    condition: str


class Activity:
    """The activity of one region.

    Attributes:
        commands: the number of commands that have ended.
        failed: the number of those that ended with a condition.
        changes: the last changes of resources, the newest last.
        next_ns: the time at which the next interval begins.
    """

    __slots__ = ("_samples", "changes", "commands", "failed", "next_ns")

    def __init__(self) -> None:
        self.commands = self.failed = 0
        self.changes: deque[ResourceChange] = deque(maxlen=_CHANGES)
        self.next_ns = 0
        self._samples: deque[tuple[int, int, int]] = deque(maxlen=INTERVALS)

    def at(self, time_ns: int) -> None:
        """Store the counts before the first event of an interval, one at or after ``next_ns``."""
        start = time_ns - time_ns % _LENGTH
        self._samples.append((start, self.commands, self.failed))
        self.next_ns = start + _LENGTH

    def per_interval(self, now_ns: int) -> list[tuple[int, int]]:
        """The numbers of commands and of failures in each of the last intervals up to now, the present one last.

        Any thread may call this; an event that is just being counted may be missing.
        """
        last = now_ns - now_ns % _LENGTH
        samples = list(self._samples)
        counts: dict[int, tuple[int, int]] = {}
        for at, (start, commands, failed) in enumerate(samples):
            after = samples[at + 1] if at + 1 < len(samples) else (0, self.commands, self.failed)
            counts[start] = (after[1] - commands, after[2] - failed)
        return [counts.get(last - back * _LENGTH, (0, 0)) for back in reversed(range(INTERVALS))]
