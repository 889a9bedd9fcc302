"""Checks whether correct queues could have produced a history.

The checker follows a history event by event. Its model has the committed records of each queue, what each unit of work
has read and written, and whether a trigger cycle is on; for a data queue, the entry that comes next. Where an event
differs from the model, the checker reports an anomaly, changes the model to agree with the event, and continues. It
knows the rules of queues and shares no code with the simulator, so it can also check the history of a real region or
system. Its time is proportional to the number of events.

===================== ================================================================================================
anomaly               what the history shows
===================== ================================================================================================
lost                  QZERO, or a receive without an entry, while there was one for it; or a record that was not read is
                      missing at the end, or after a restart that should have kept it
duplicated            a record was read again
reordered             a record was read before one that comes first (by FIFO, LIFO, or key)
unexpected            a record was read that was never written
read-uncommitted      a record was read that another unit of work had written and not committed
phantom               a record was read that had been written by a unit of work that was backed out, or was cleared
circular              each of several units of work has read what another one wrote, in a ring
half-committed        after a restart, a unit of work is committed on one queue and not on another
trigger missed        the level was reached, and no task was started
trigger doubled       a task was started while a cycle was on, or below the level
===================== ================================================================================================

An operation during which the process ended has not returned: after the restart it may have been done or not. The
checker allows for one such write or read. A delete or a clear must be in the history with the outcome ``UNKNOWN``, as
crash enumeration records it.

Records are distinguished by their bytes, so give each test record different contents. Where equal records allow two
explanations, the checker takes the one without an anomaly. Compare Jepsen's total-queue checker, and Elle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tdqsim.testing._check_jobs import JobChecker
from tdqsim.testing._check_region import RegionChecker
from tdqsim.testing.events import AnyEvent, JobEvent


class Anomaly(NamedTuple):
    """One anomaly of a history.

    Attributes:
        kind: such as ``lost``; ``help("tdqsim.testing.checker")`` lists the kinds.
        queue: the queue.
        event: the number of the event in the history, from 0; for an anomaly at the end, the number of events.
        text: a description.
    """

    kind: str
    queue: str
    event: int
    text: str

    def __str__(self) -> str:
        """One line."""
        return f"{self.kind} on {self.queue} at event {self.event}: {self.text}"


class Verdict(NamedTuple):
    """The result of the check of a history.

    Attributes:
        anomalies: what is wrong, in the order of the history.
        written, read: the number of records written and committed, and read.
        left: the number of records left on each queue that is not empty.
        complete: whether no events were missing at the beginning of the history.
    """

    anomalies: tuple[Anomaly, ...]
    written: int
    read: int
    left: Mapping[str, int]
    complete: bool

    def check(self) -> Verdict:
        """Raise AssertionError if there is an anomaly."""
        assert not self.anomalies, str(self)
        return self

    def __str__(self) -> str:
        """A summary, and the anomalies."""
        counts = Counter(anomaly.kind for anomaly in self.anomalies)
        summary = ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "no anomaly"
        left = sum(self.left.values())
        head = f"{self.written} records written, {self.read} read, {left} left: {summary}"
        return "\n".join([head, *(f"  {anomaly}" for anomaly in self.anomalies)])


def check_history(
    events: Iterable[AnyEvent], *, final: Mapping[str, Iterable[bytes]] | None = None, complete: bool = True
) -> Verdict:
    """Check a history, and return the anomalies.

    Args:
        events: ``history.events``, or the result of :func:`~tdqsim.testing.events.load_history`; of one region or
            system.
        final: the committed records on the queues at the end, by queue (``LIB/NAME`` on a system) and in queue order;
            None to compare nothing at the end.
        complete: False if events are missing at the beginning; a record that was never written is then not an anomaly.
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
