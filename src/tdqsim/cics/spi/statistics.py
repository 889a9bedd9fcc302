"""The statistics of a region: collecting, writing and resetting them.

Statistics are written for five reasons, and reset by three of them:

===============  =====================================================  ==========================
reason           when                                                   counts are reset
===============  =====================================================  ==========================
INTERVAL         at the end of an interval, while RECORDING is ON       yes
ENDOFDAY         at the end-of-day time; at a normal end of the region  yes, those of the day too
REQUEST          PERFORM STATISTICS RECORD                              no
REQUESTRESET     the same with RESETNOW                                 yes
UNSOLICITED      a queue is discarded, a file is closed                 those of the resource
===============  =====================================================  ==========================

Intervals and the day pass with the clock of the region: no task waits for their ends, and the simulated clock does not
jump there. After SET STATISTICS the intervals are counted from the end-of-day time, so that one ends with the day; the
statistics of the day replace those of an interval that ends with it. After :meth:`Statistics.every` they are counted
from that call, and the day does not end. In a region to which neither has happened the day ends too: when its
simulated clock is moved beyond it, without a timer, which would make each of its commands slower. A region in real time
needs one, which its server sets by :meth:`Statistics.keep_time`.

Source: Introduction to CICS statistics; Reset characteristics of statistics counters; SET STATISTICS (IBM Docs).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection as Group
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from tdqsim.cics.kernel.abstime import abstime
from tdqsim.cics.model.queue import TdQueue
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.spi.statistics_types import TYPES, queue_record, record_of, records_of, total_of
from tdqsim.core.fiber import Timer
from tdqsim.core.named import NamedTuple
from tdqsim.errors import UsageError
from tdqsim.facts import REGION_DEFAULTS

if TYPE_CHECKING:
    from tdqsim.cics.spi.statistics_records import StatisticsRecord

Reason = Literal["INTERVAL", "ENDOFDAY", "REQUEST", "REQUESTRESET", "UNSOLICITED"]

_COLLECTIONS_KEPT: Final = 256
_NS: Final = 1_000_000_000
_MS: Final = 1_000_000
_DAY_MS: Final = 86_400_000
_RESETS: Final = ("INTERVAL", "ENDOFDAY", "REQUESTRESET")


class Collection(NamedTuple):
    """The statistics written at one time, which CICS writes to SMF.

    Attributes:
        reason: see the module.
        abstime: the time, as an ABSTIME.
        queues: one record for each queue concerned.
        total: the global record of queues; None if queues were not asked for.
        records: the records of the other types, the global record of a type before those of its resources.
    """

    reason: Reason
    abstime: int
    queues: tuple[StatisticsRecord, ...]
    total: StatisticsRecord | None
    records: tuple[StatisticsRecord, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The statistics as values for JSON, with CVDAs by name; ``record`` names the record of another type."""
        return {
            "reason": self.reason,
            "abstime": self.abstime,
            "queues": [record.plain() for record in self.queues],
            "total": None if self.total is None else self.total.plain(),
            "records": [{"record": record.record, **record.plain()} for record in self.records],
        }

    def report(self, applid: str) -> str:
        """The statistics as text, with the titles of DFHSTUP's reports.

        Args:
            applid: the APPLID of the region, for the heading.
        """
        from tdqsim.cics.spi.statistics_report import statistics_report  # noqa: PLC0415  (rarely needed)

        return statistics_report(self.as_dict(), applid)

    def section(self, record: str) -> tuple[dict[str, str], list[Mapping[str, Any]]]:
        """The section of a report for a type of statistics: the titles of its fields by name, and its values.

        Args:
            record: the letters of the record, such as ``XMR``; TQR and TQG for queues.

        Returns:
            The values are one mapping for each resource; for a global record one mapping without ``name``.
        """
        from tdqsim.cics.spi.statistics_report import columns_of, records_of  # noqa: PLC0415  (rarely needed)

        found = list(records_of(self.as_dict(), record))
        return columns_of(record, found), found

    def of(self, record: str) -> tuple[StatisticsRecord, ...]:
        """The records of another type by the letters of the record, such as ``XMR``."""
        return tuple(each for each in self.records if each.record == record)


class Statistics:
    """The statistics of one region.

    Attributes:
        collections: the statistics written, oldest first; the last 256 are kept.
        abends: how many tasks abended, by code.
        recording: whether statistics are written at the end of each interval.
        interval: the length of an interval, in seconds.
        endofday: the end-of-day time, in seconds after midnight of the region's time zone.
        reset_abstime: when counts were last reset, as an ABSTIME.
    """

    __slots__ = (
        "_begun_ns",
        "_day_ns",
        "_intervals",
        "_region",
        "_timer",
        "_written",
        "abends",
        "collections",
        "endofday",
        "interval",
        "recording",
        "reset_abstime",
    )

    def __init__(self, region: RegionData) -> None:
        self._region = region
        self.collections: deque[Collection] = deque(maxlen=_COLLECTIONS_KEPT)
        self.abends: dict[str, int] = {}
        self.recording = REGION_DEFAULTS["statrcd"] == "ON"
        self.interval: float = int(REGION_DEFAULTS["statint_seconds"])
        self.endofday = int(REGION_DEFAULTS["stateod_seconds"])
        self.reset_abstime = self._now()
        self._written: dict[str, int] = {}
        self._intervals = 0
        self._begun_ns: int | None = None  # intervals are counted from here; None: from the end of the day
        self._timer: Timer | None = None
        self._day_ns = self._end_of_day()
        region.clock.on_move.append(self._clock_moved)

    def _now(self) -> int:
        return abstime(self._region.clock.time_ns(), self._region.zone)

    # -- reading --------------------------------------------------------------------------------------------------

    def now(self) -> Collection:
        """The present statistics; nothing is written or reset."""
        return self._collect("REQUEST", TYPES)

    def _collect(self, reason: Reason, types: Group[str]) -> Collection:
        region = self._region
        asked = "TDQUEUE" in types
        queues = tuple(queue_record(queue) for queue in region.tdqueues.values() if asked)
        total = total_of(region, "TDQUEUE") if asked else None
        others = tuple(records_of(region, (kind for kind in TYPES if kind in types and kind != "TDQUEUE")))
        return Collection(reason, self._now(), queues, total, others)

    def counts(self) -> dict[str, int]:
        """The values of the statistics about statistics (DFHSTGDS)."""
        written = self._written.get
        return {
            "intervals": self._intervals,
            "writes": sum(self._written.values()),
            "interval_writes": written("INTERVAL", 0),
            "endofday_writes": written("ENDOFDAY", 0),
            "unsolicited_writes": written("UNSOLICITED", 0),
            "requested_writes": written("REQUEST", 0),
            "reset_writes": written("REQUESTRESET", 0),
        }

    # -- writing and resetting ------------------------------------------------------------------------------------

    def record(self, reason: Reason = "REQUEST", types: Group[str] = TYPES.keys()) -> Collection:
        """Write the statistics of some types, and reset their counts if the reason says so."""
        collection = self._collect(reason, types)
        if reason in _RESETS:
            self.reset(types)
        if reason == "ENDOFDAY":
            self._intervals = 0
        self._intervals += reason == "INTERVAL"
        self.written(collection)
        return collection

    def reset(self, types: Group[str] = TYPES.keys()) -> None:
        """Set the counts of some types to 0 and their peaks to the current value (RESETNOW)."""
        for kind in types:
            TYPES[kind].reset(self._region)
        self.reset_abstime = self._now()

    def uncount(self) -> None:
        """Begin to count the written statistics again."""
        self._written.clear()

    def of_discarded(self, queue: TdQueue) -> Collection:
        """The unsolicited statistics of a queue that is about to be discarded; they are not written yet."""
        return Collection("UNSOLICITED", self._now(), (queue_record(queue),), None)

    def unsolicited(self, kind: str, name: str) -> None:
        """Write the statistics of one resource, because it is closed."""
        record = record_of(self._region, kind, name)
        if record is not None:
            self.written(Collection("UNSOLICITED", self._now(), (), None, (record,)))

    def written(self, collection: Collection) -> None:
        """Write statistics, unless they were the last ones written."""
        if not self.collections or self.collections[-1] is not collection:
            self.collections.append(collection)
            self._written[collection.reason] = self._written.get(collection.reason, 0) + 1

    # -- time -----------------------------------------------------------------------------------------------------

    def every(self, seconds: float) -> None:
        """From now on write and reset statistics at intervals of the region's clock (STATRCD=ON, STATINT); 0 stops it.

        The intervals pass with the clock: no task waits for them, and the simulated clock does not jump to their ends.

        Raises:
            UsageError: the number is negative.
        """
        if seconds < 0:
            raise UsageError(f"a statistics interval of {seconds} seconds: allowed is 0 (none) or more")
        self._cancel()
        self.recording = seconds > 0
        if self.recording:
            self.interval, self._begun_ns = seconds, self._region.clock.time_ns()
            self._set_timer()

    def keep(self, *, recording: bool, interval: int, endofday: int) -> None:
        """Write statistics at the end of the day and, if they are recorded, at intervals counted from there.

        Args:
            recording: whether statistics are written at the end of each interval.
            interval: the length of an interval, in seconds.
            endofday: the end-of-day time, in seconds after midnight.
        """
        self._cancel()
        self.recording, self.interval, self.endofday, self._begun_ns = recording, interval, endofday, None
        self._set_timer()

    def keep_time(self) -> None:
        """Let the day end by a timer, in a region whose tasks may wait in real time."""
        if self._timer is None:
            self._set_timer()

    def stop(self) -> None:
        """End the passing of intervals and days: nothing is written by itself any more."""
        self._cancel()
        if self._clock_moved in self._region.clock.on_move:
            self._region.clock.on_move.remove(self._clock_moved)

    def _clock_moved(self) -> None:
        """Called when the clock was moved: end the day, unless a timer or intervals of their own do."""
        if self._timer is None and self._begun_ns is None and self._region.clock.time_ns() >= self._day_ns:
            self.record("ENDOFDAY")
            self._day_ns = self._end_of_day()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def next_ns(self) -> int:
        """When statistics are next written and reset, in nanoseconds since 1970."""
        day = self._end_of_day()
        if self._begun_ns is not None:
            return self._end_of_interval(self._begun_ns)
        return min(day, self._end_of_interval(day)) if self.recording else day

    def _end_of_day(self) -> int:
        """The next moment at which the day ends."""
        now = self._region.clock.time_ns()
        passed = (abstime(now, self._region.zone) - self.endofday * 1000) % _DAY_MS
        return (now // _MS + _DAY_MS - passed) * _MS

    def _end_of_interval(self, begun: int) -> int:
        """The next moment at which an interval ends; they are counted from ``begun``."""
        now, length = self._region.clock.time_ns(), round(self.interval * _NS)
        return begun + ((now - begun) // length + 1) * length

    def _set_timer(self) -> None:
        day = self._end_of_day()
        self._timer = self._region.dispatcher.call_at(self.next_ns(), lambda: self._due(day), passive=True)

    def _due(self, day: int) -> None:
        """Called at the end of an interval or day. A long jump of the clock ends one of them, not many."""
        is_day = self._begun_ns is None and day <= self._region.clock.time_ns()
        self.record("ENDOFDAY" if is_day else "INTERVAL")
        self._set_timer()

    def end(self) -> None:
        """Write the statistics of the day at a normal end of the region; the counts stay readable afterwards."""
        self.stop()
        self.written(self._collect("ENDOFDAY", TYPES))
