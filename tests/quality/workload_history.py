"""What happened in a workload, as events that the history checker can check.

A client does not know the outcome of a request whose connection ended before the answer: it was executed, or it was
not, or it will be executed later, but not after the server's process has ended. Later observations tell which: what
READQ returns, what was on the queues after a restart, and what is on them at the end. An unknown write, read or commit
is taken as executed if a later observation needs it, at the earliest time that the observations allow; otherwise as
not executed. So no right server is blamed, and an unknown request explains one record and no more. All records of a
workload must be different, also that of a retry.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tdqsim.testing.events import Event

UNKNOWN: Final = "UNKNOWN"
"""The response of a request whose outcome the client does not know."""
OPEN, COMMITTED, BACKED_OUT = "OPEN", "COMMITTED", "BACKED OUT"
NEVER: Final = 1 << 60
_Place = tuple[int, int, int]


class Unit:
    """A unit of work of a workload.

    Attributes:
        name: its name in the events.
        process: the number of its process.
        outcome: ``OPEN``, ``COMMITTED``, ``BACKED OUT``, or ``UNKNOWN`` for a commit that was not answered.
        ended: the number of the act that ended it.
        alone: whether it is a request outside any unit of work, which is one by itself.
    """

    __slots__ = ("alone", "ended", "name", "outcome", "process")

    def __init__(self, name: str, process: int, *, alone: bool = False) -> None:
        self.name = name
        self.process = process
        self.outcome = COMMITTED if alone else OPEN
        self.ended = NEVER
        self.alone = alone


class Act(NamedTuple):
    """A request of a workload with its response, or an observation of a queue.

    Attributes:
        kind: ``WRITEQ TD``, ``READQ TD``, ``END`` (of the unit of work), ``RESTART``, or ``LOOK``: ``records`` has all
            records of the queue after a restart or at the end.
        queue: the queue; for ``RESTART`` the start type.
        data: the record.
        unit: the unit of work; None for ``RESTART`` and ``LOOK``.
        resp: the condition, or :data:`UNKNOWN`.
        records: the records of a ``LOOK``.
    """

    kind: str
    queue: str = ""
    data: bytes = b""
    unit: Unit | None = None
    resp: str = "NORMAL"
    records: tuple[bytes, ...] = ()


@dataclass(eq=False, slots=True)
class _Record:
    """A record of a queue.

    Attributes:
        data: its bytes.
        since: the number of the act from which on it is there.
        read: the number of the known request that has removed it; -1 for none.
    """

    data: bytes
    since: int
    read: int = -1


def _missing(records: Sequence[_Record], there: Sequence[bytes]) -> list[_Record]:
    """The records that no known request has removed and that are not there any more."""
    return [each for each in records if each.read < 0 and each.data not in there]


@dataclass
class _Queue:
    """What is known of one queue: where its records were seen, and which of its requests are unknown."""

    logical: bool
    seen: dict[bytes, list[tuple[int, Unit | None]]] = field(default_factory=lambda: defaultdict(list))
    order: list[bytes] = field(default_factory=list)
    effective: dict[bytes, int] = field(default_factory=dict)


class _Settling:
    def __init__(self, acts: list[Act], status: Mapping[str, str]) -> None:
        self.acts, self.status = acts, status
        self.queues = {name: _Queue(each == "LOGICAL") for name, each in status.items()}
        self.restarts = [number for number, act in enumerate(acts) if act.kind == "RESTART"]
        self.places: dict[int, _Place] = {}
        self.late: list[Unit] = []
        self.victims: list[tuple[_Place, Act]] = []
        self._look_at_everything()
        self._settle_units()
        self._put_in_order()
        for unit in self.late:  # the commit may have been carried out after the client gave it up
            self.places[unit.ended] = max(self._place(act, unit.ended) for act in self._of(unit, "WRITEQ TD"))
        self._settle_writes()
        self._settle_reads()

    # -- what was seen ------------------------------------------------------------------------------------------------

    def _look_at_everything(self) -> None:
        for number, act in enumerate(self.acts):
            if act.kind == "READQ TD" and act.resp == "NORMAL":
                self.queues[act.queue].seen[act.data].append((number, act.unit))
            for record in act.records:
                self.queues[act.queue].seen[record].append((number, None))

    def _first_seen(self, act: Act, after: int) -> int:
        """The first act after a number that saw the record of a write, other than by the unit of work itself."""
        seen = self.queues[act.queue].seen.get(act.data, ())
        return next((number for number, unit in seen if number > after and unit is not act.unit), NEVER)

    def _of(self, unit: Unit, kind: str) -> list[Act]:
        """The requests of a unit of work whose effects its commit decides."""
        found = (act for act in self.acts if act.unit is unit and act.kind == kind and act.resp == "NORMAL")
        return [act for act in found if self.queues[act.queue].logical]

    # -- units of work whose commit is unknown ------------------------------------------------------------------------

    def _settle_units(self) -> None:
        for unit in {id(act.unit): act.unit for act in self.acts if act.unit is not None}.values():
            if unit.outcome == UNKNOWN:
                writes, reads = self._of(unit, "WRITEQ TD"), self._of(unit, "READQ TD")
                written = any(self._first_seen(act, unit.ended) < NEVER for act in writes)
                gone = bool(reads) and all(self._first_seen(act, unit.ended) == NEVER for act in reads)
                unit.outcome = COMMITTED if written or gone else BACKED_OUT
                if written:
                    self.late.append(unit)

    def _put_in_order(self) -> None:
        """When each known record became visible, and in which order records left each queue."""
        for number, act in enumerate(self.acts):
            if act.kind == "LOOK" and number > max(self.restarts, default=-1):
                self.queues[act.queue].order += act.records
            elif act.kind == "WRITEQ TD" and self._stays(number, act):
                self.queues[act.queue].effective.setdefault(act.data, self._effective(number, act))
            elif act.kind == "READQ TD" and self._stays(number, act):
                self.queues[act.queue].order.append(act.data)

    def _effective(self, number: int, act: Act) -> int:
        """The number of the act from which on other units of work see a write."""
        if number in self.places:
            return self.places[number][0]
        ends_later = act.unit is not None and self.queues[act.queue].logical and act.unit.ended < NEVER
        return act.unit.ended if act.unit is not None and ends_later else number

    # -- writes and reads outside a unit of work ----------------------------------------------------------------------

    def _place(self, act: Act, number: int) -> _Place:
        """The earliest place at which an unknown write, or a commit with it, agrees with what was seen."""
        queue = self.queues[act.queue]
        seen = self._first_seen(act, number)
        looks = (each.records for each in self.acts if each.kind == "LOOK" and each.queue == act.queue)
        place = number
        for sequence in (queue.order, *looks):
            if act.data in sequence:
                first_ones = sequence[: sequence.index(act.data)]
                place = max([place, *(queue.effective[each] for each in first_ones if each in queue.effective)])
        for later, other in enumerate(self.acts[number + 1 : seen], number + 1):
            if other.queue == act.queue and (other.resp == "QZERO" or (other.kind == "LOOK" and place < later)):
                place = max(place, later)
        place = place if place < seen else number
        return self._before_restart(number, place)

    def _before_restart(self, number: int, place: int) -> _Place:
        """After an act, but not after the process that was asked has ended."""
        restart = next((each for each in self.restarts if each > number), NEVER)
        return (place, 1, number) if place < restart else (restart, -1, number)

    def _settle_writes(self) -> None:
        for number, act in enumerate(self.acts):
            if act.kind == "WRITEQ TD" and act.resp == UNKNOWN and self._first_seen(act, number) < NEVER:
                self.places[number] = self._place(act, number)

    def _settle_reads(self) -> None:
        """An unknown read has removed the first record that is missing when the queue is looked at next."""
        there: dict[str, list[_Record]] = defaultdict(list)
        pending: dict[str, list[int]] = defaultdict(list)
        for number, act in enumerate(self.acts):
            records = there[act.queue]
            if act.kind == "LOOK":
                self._take(records, pending.pop(act.queue, []), number)
                there[act.queue] = [_Record(each, number) for each in act.records]
            elif act.kind == "READQ TD" and act.resp == UNKNOWN:
                if act.unit is None or act.unit.outcome == COMMITTED or not self.queues[act.queue].logical:
                    pending[act.queue].append(number)
            elif act.kind == "WRITEQ TD" and self._stays(number, act):
                records.append(_Record(act.data, self._effective(number, act)))
            elif act.kind == "READQ TD" and self._stays(number, act):
                gone = next((each for each in records if each.data == act.data and each.read < 0), None)
                if gone is not None:
                    gone.read = number

    def _stays(self, number: int, act: Act) -> bool:
        """Whether a request has an effect that stays: that of a backed-out unit of work has none on a LOGICAL queue."""
        backed_out = act.unit is not None and act.unit.outcome != COMMITTED
        if act.resp == UNKNOWN:
            return number in self.places
        return act.resp == "NORMAL" and not (self.queues[act.queue].logical and backed_out)

    def _held(self, queue: str, record: _Record, look: int) -> Iterator[int]:
        """The ends of the units of work that have read a record and were backed out."""
        for number, unit in self.queues[queue].seen.get(record.data, ()):
            if record.since <= number < look and unit is not None and unit.ended < look:
                yield unit.ended

    def _take(self, records: Sequence[_Record], reads: Sequence[int], look: int) -> None:
        """Let unknown reads remove what is missing; each after the records before it were removed."""
        place = 0
        for read, record in zip(reads, _missing(records, self.acts[look].records), strict=False):
            first_ones = records[: records.index(record)]
            place = max([place, read, record.since, *(each.read for each in first_ones)])
            place = max([place, *self._held(self.acts[read].queue, record, look)])
            victim = self.acts[read]._replace(data=record.data, resp="NORMAL")
            self.victims.append((self._before_restart(read, place), victim))

    # -- the events ---------------------------------------------------------------------------------------------------

    def events(self) -> Iterator[Event]:
        """The events in order."""
        placed = [(self.places.get(number, (number, 0, 0)), act) for number, act in enumerate(self.acts)]
        for number, act in ((number, act) for number, act in enumerate(self.acts) if number in self.places):
            if act.kind == "WRITEQ TD":
                placed[number] = (placed[number][0], act._replace(resp="NORMAL"))
        for _place, act in sorted([*placed, *self.victims], key=lambda each: each[0]):
            yield from self._events_of(act)

    def _events_of(self, act: Act) -> Iterator[Event]:
        unit = act.unit
        if act.kind == "RESTART":
            yield Event("RESTART", 0, "", b"", 0, info={"start": act.queue, "tdintra": "NOEMPTY"})
        elif act.kind == "LOOK":
            yield _standing(act.queue, self.status[act.queue], act.records)
        elif unit is not None and act.kind == "END":
            yield Event("COMMIT" if unit.outcome == COMMITTED else "BACKOUT", unit.process, "", b"", 0, "", unit.name)
        elif unit is not None and act.resp != UNKNOWN:
            yield Event(act.kind, unit.process, act.queue, act.data, 0, "", unit.name, act.resp)
            if unit.alone:
                yield Event("COMMIT", unit.process, "", b"", 0, "", unit.name)


def events_of(acts: Iterable[Act], status: Mapping[str, str]) -> list[Event]:
    """The events of a workload, in an order and with outcomes that agree with all that was seen, if there is one.

    Args:
        acts: the requests with their responses, and the observations.
        status: the RECOVSTATUS of each queue.
    """
    listed = list(acts)
    settled = _Settling(listed, status)
    first = [_standing(queue, each, ()) for queue, each in status.items()]
    return [*first, *settled.events()]


def _standing(queue: str, status: str, records: tuple[bytes, ...]) -> Event:
    return Event("QUEUE", 0, queue, b"", 0, info={"recovstatus": status, "records": list(records)})
