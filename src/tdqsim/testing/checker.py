"""Is this history one that queues could have? The checker knows what queues promise and nothing of how they are made.

It follows a history event by event: what is committed on each queue, what each unit of work has read and written,
whether a trigger cycle is on; on data queues which entry is next. Where the history differs it names an anomaly, takes
the history's word for it, and goes on. It shares no code with the simulator, and works as well on what a real region or
system did. The time it takes grows with the number of events, and no faster.

===================== ================================================================================================
anomaly               what the history shows
===================== ================================================================================================
lost                  QZERO, or a receive that gets nothing, while something was there for it; or what nobody took is
                      not there at the end, or after a restart that keeps it
duplicated            a record was read again
reordered             a record was read before one that was to come first (FIFO, LIFO, or by key)
unexpected            a record was read that nobody wrote
read-uncommitted      a record was read that another unit of work had written and not committed
phantom               a record was read that had been written by a unit of work that was backed out, or was cleared
circular              units of work that each saw what the other wrote
half-committed        a unit of work that a restart has found committed on one queue, and not on another
trigger missed        the level was reached, and no task was started
trigger doubled       a task was started while a cycle was on, or below the level
===================== ================================================================================================

The operation during which a process ended is one that nobody was told of. At a restart it may have been done or not:
one write or read is allowed for; a delete or a clear must be in the history with ``UNKNOWN`` for its outcome, as crash
enumeration writes it.

Records are told apart by what is in them, so give test records contents of their own. Where equal records make two
readings possible, the harmless one is taken. In the manner of Jepsen's total-queue checker and of Elle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tdqsim.testing._check_jobs import JobChecker
from tdqsim.testing._check_region import RegionChecker
from tdqsim.testing.events import AnyEvent, JobEvent

__all__ = ["Anomaly", "Verdict", "check_history"]


class Anomaly(NamedTuple):
    """One thing that should not have happened.

    Attributes:
        kind: what sort of thing; ``help("tdqsim.testing.checker")`` tells them.
        queue: where.
        event: number of the event in the history, from 0; the number of events for what shows at the end.
        text: in words.
    """

    kind: str
    queue: str
    event: int
    text: str

    def __str__(self) -> str:
        """One line."""
        return f"{self.kind} on {self.queue} at event {self.event}: {self.text}"


class Verdict(NamedTuple):
    """What came of a check.

    Attributes:
        anomalies: what is wrong, in the order of the history.
        written, read: records that were written and committed, and read.
        left: records that are still there, by queue.
        complete: whether the history was there from its beginning.
    """

    anomalies: tuple[Anomaly, ...]
    written: int
    read: int
    left: Mapping[str, int]
    complete: bool

    def check(self) -> Verdict:
        """Raise AssertionError when anything is wrong."""
        assert not self.anomalies, str(self)
        return self

    def __str__(self) -> str:
        """A summary, and the anomalies."""
        counts = Counter(anomaly.kind for anomaly in self.anomalies)
        found = ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "no anomaly"
        left = sum(self.left.values())
        head = f"{self.written} records written, {self.read} read, {left} left: {found}"
        return "\n".join([head, *(f"  {anomaly}" for anomaly in self.anomalies)])


def check_history(
    events: Iterable[AnyEvent], *, final: Mapping[str, Iterable[bytes]] | None = None, complete: bool = True
) -> Verdict:
    """Say what is wrong in a history.

    Args:
        events: ``history.events``, or what :func:`~tdqsim.testing.events.load_history` gives; of one region or system.
        final: the committed records that are on the queues at the end, by queue (``LIB/NAME`` on a system) and in queue
            order; None does not compare.
        complete: False when the history's beginning is missing; records that come from nowhere are then no anomaly.
    """
    anomalies: list[Anomaly] = []

    def report(kind: str, queue: str, event: int, text: str) -> None:
        anomalies.append(Anomaly(kind, queue, event, text))

    regions, jobs = RegionChecker(report, complete=complete), JobChecker(report, complete=complete)
    for event in events:
        if isinstance(event, JobEvent):
            jobs.follow(event)
        else:
            regions.follow(event)
    used: RegionChecker | JobChecker = jobs if jobs.index else regions
    used.finish(final)
    anomalies.sort(key=lambda anomaly: anomaly.event)
    return Verdict(tuple(anomalies), used.written, used.read, used.left, used.complete)
