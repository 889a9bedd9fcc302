"""Checks the history of an IBM i system with a model of each data queue, in FIFO, LIFO or KEYED order.

Each event is compared with the contents of the queue in the model at that time. A difference is reported, and the model
is then changed to agree with the history. The system may have been restarted within the history. After an abnormal end,
a FORCE(*YES) queue must be unchanged, except for the one operation that did not return to its caller. A FORCE(*NO)
queue may have lost sent entries and may again contain received entries, but no entry that was never sent.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from tdqsim.testing._record_list import RecordList
from tdqsim.testing.events import Facts, JobEvent
from tdqsim.testing.text import show_record

_FIRST: Final = ("F", "L", "FIRST", "LAST")
Report = Callable[[str, str, int, str], object]
"""Called with each anomaly: its kind, the queue, the number of the event, the text."""


class _Keys:
    """Distinct keys in order, in pieces that are short enough for quick insertion and removal."""

    __slots__ = ("_pieces",)
    _LONGEST: Final = 1000

    def __init__(self) -> None:
        self._pieces: list[list[bytes]] = []

    def __iter__(self) -> Iterator[bytes]:
        return (key for piece in self._pieces for key in piece)

    def _piece(self, key: bytes) -> int:
        return min(bisect_left(self._pieces, key, key=lambda piece: piece[-1]), len(self._pieces) - 1)

    def add(self, key: bytes) -> None:
        if not self._pieces:
            self._pieces.append([key])
            return
        at = self._piece(key)
        piece = self._pieces[at]
        insort(piece, key)
        if len(piece) > self._LONGEST:
            half = len(piece) // 2
            self._pieces[at : at + 1] = [piece[:half], piece[half:]]

    def remove(self, key: bytes) -> None:
        at = self._piece(key)
        piece = self._pieces[at]
        del piece[bisect_left(piece, key)]
        if not piece:
            del self._pieces[at]

    def lowest(self) -> bytes | None:
        return self._pieces[0][0] if self._pieces else None

    def above(self, key: bytes, *, equal: bool) -> bytes | None:
        """The lowest key that is greater than a key, or with ``equal`` not less than it; None for none."""
        if not self._pieces or self._pieces[-1][-1] < key:
            return None
        at = self._piece(key)
        piece = self._pieces[at]
        index = bisect_left(piece, key) if equal else bisect_right(piece, key)
        if index < len(piece):
            return piece[index]
        return self._pieces[at + 1][0] if at + 1 < len(self._pieces) else None


class _Queue:
    """The model of one data queue: the entries that it must hold after the events so far.

    Attributes:
        name, ddm, seq, force: its name, whether it is a DDM data queue, SEQ, and whether FORCE is *YES.
        restarted: whether the system was restarted, and the state of the queue has not followed yet.
        clearing: whether an operation failed of which it is not known whether it cleared the queue.
        keys, lists: the keys in order, and the entries by key.
        count: the number of entries.
        gone, cleared: how often each entry was received, and cleared.
        differs: the last reported difference between a count in the history and the model.
    """

    def __init__(self, name: str, facts: Facts) -> None:
        self.name = name
        self.ddm = facts.get("type") == "*DDM"
        self.seq = str(facts.get("seq", "*FIFO"))
        self.force = facts.get("force") == "*YES"
        self.restarted = self.clearing = False
        self.keys = _Keys()
        self.lists: dict[bytes, RecordList] = {}
        self.count = 0
        self.gone: Counter[tuple[bytes, bytes]] = Counter()
        self.cleared: Counter[tuple[bytes, bytes]] = Counter()
        self.differs = 0

    def _records_of(self, key: bytes) -> RecordList:
        records = self.lists.get(key)
        if records is None:
            records = self.lists[key] = RecordList()
            self.keys.add(key)
        return records

    def put(self, key: bytes, data: bytes, *, front: bool = False) -> None:
        records = self._records_of(key)
        self.count += 1
        if front:
            records.put_front(data)
        else:
            records.put(data)

    def has(self, key: bytes, data: bytes) -> bool:
        return key in self.lists and data in self.lists[key]

    def take(self, key: bytes, data: bytes) -> None:
        """Remove an entry that the queue holds; of several equal ones, the one that is received first."""
        records = self.lists[key]
        ticket = records.find(data, last=self.seq == "*LIFO")
        assert ticket is not None
        records.pop(ticket)
        self.count -= 1
        if not records:
            self._drop(key)

    def _drop(self, key: bytes) -> None:
        del self.lists[key]
        self.keys.remove(key)

    def next(self, order: str, key: bytes) -> tuple[bytes, bytes] | None:
        """Key and data of the entry that a receive must return; None if it must return nothing."""
        lowest = self.next_key(order, key)
        if lowest is None:
            return None
        records = self.lists[lowest]
        ticket = records.last() if self.seq == "*LIFO" else records.first()
        return None if ticket is None else (lowest, records[ticket])

    def next_key(self, order: str, key: bytes) -> bytes | None:
        """The lowest key of the queue that satisfies an order (such as GE) with a key; without an order, the lowest."""
        lowest = self.keys.lowest()
        if lowest is None or not order:
            return lowest
        if order == "EQ":
            return key if key in self.lists else None
        if order in ("GE", "GT"):
            return self.keys.above(key, equal=order == "GE")
        if order == "NE" and lowest == key:
            return self.keys.above(key, equal=False)
        return lowest if _satisfies(order, lowest, key) else None

    def matching(self, order: str, key: bytes) -> list[bytes]:
        """The keys of the queue that satisfy an order with a key."""
        return [each for each in self.keys if not order or _satisfies(order, each, key)]

    def size(self, order: str = "", key: bytes = b"") -> int:
        """The number of entries whose keys satisfy an order with a key."""
        return self.count if not order else sum(len(self.lists[each]) for each in self.matching(order, key))

    def clear(self, order: str = "", key: bytes = b"") -> int:
        """Remove all entries whose keys satisfy an order with a key; return their number."""
        before = self.count
        for each in self.matching(order, key):
            removed = self.lists[each].clear()
            self.cleared.update((each, data) for data in removed)
            self.count -= len(removed)
            self._drop(each)
        return before - self.count

    def listing(self) -> list[tuple[bytes, bytes]]:
        """Keys and data in queue order."""
        entries = [(key, data) for key in self.keys for data in self.lists[key]]
        return entries[::-1] if self.seq == "*LIFO" else entries

    def become(self, entries: Iterable[tuple[bytes, bytes]]) -> None:
        """Replace the contents by these entries, given in queue order."""
        kept = list(entries)
        self.keys, self.lists, self.count = _Keys(), {}, 0
        for key, data in reversed(kept) if self.seq == "*LIFO" else kept:
            self.put(key, data)


def _satisfies(order: str, one: bytes, other: bytes) -> bool:
    sign = (one > other) - (one < other)
    return {
        "EQ": sign == 0, "NE": sign != 0, "LT": sign < 0, "LE": sign <= 0, "GT": sign > 0, "GE": sign >= 0,
    }.get(order, False)  # fmt: skip


class JobChecker:
    """Checks the events of one system, in order.

    Args:
        report: called with each anomaly.
        complete: whether the history has no events missing at its beginning.
    """

    def __init__(self, report: Report, *, complete: bool) -> None:
        self.complete = complete
        self.written = self.read = 0
        self._report_to = report
        self._queues: dict[str, _Queue] = {}
        self._normal = True
        self.index = 0
        self._by_kind: dict[str, Callable[[_Queue, JobEvent], None]] = {
            "QSNDDTAQ": self._sent, "QRCVDTAQ": self._received, "QCLRDTAQ": self._cleared, "QMHQRDQD": self._counted,
            "QMHRDQM": self._retrieved, "GIVEBACK": self._given_back, "DLTDTAQ": self._deleted,
            "MOVOBJ": self._renamed, "RNMOBJ": self._renamed,
        }  # fmt: skip

    @property
    def left(self) -> dict[str, int]:
        """The number of entries left on each queue that is not empty."""
        return {name: queue.count for name, queue in self._queues.items() if queue.count}

    def follow(self, event: JobEvent) -> None:
        """Check one event, and update the model."""
        if event.message:
            self._failed(event)
        elif event.kind in ("DTAQ", "CRTDTAQ"):
            self._queue_state(event)
        elif event.kind == "RESTART":
            self._restarted(normal=event.info.get("start") == "NORMAL")
        else:
            act = self._by_kind.get(event.kind)
            queue = self._queues.get(_name(event, event.queue)) if act is not None else None
            if act is not None and queue is not None and not queue.ddm:
                act(queue, event)
        self.index += 1

    def _failed(self, event: JobEvent) -> None:
        """A failed operation: it changed nothing, or (UNKNOWN) it is not known whether it did."""
        queue = self._queues.get(event.queue)
        if event.message == "UNKNOWN" and queue is not None:
            queue.clearing = True

    def _report(self, kind: str, queue: _Queue, text: str) -> None:
        self._report_to(kind, queue.name, self.index, text)

    # -- states of queues -----------------------------------------------------------------------------------------

    def _queue_state(self, event: JobEvent) -> None:
        name, entries = _name(event, event.queue), event.info.get("entries")
        there = [(bytes.fromhex(key), bytes.fromhex(data)) for data, key in entries or ()]
        before = self._queues.get(name)
        queue = self._queues[name] = _Queue(name, event.info)
        if before is not None:
            queue.gone, queue.cleared = before.gone, before.cleared
            if before.restarted and entries is not None:
                self._compare_after_restart(before, there)
            elif event.kind == "CRTDTAQ":
                queue.cleared.update(before.listing())
        queue.become(there)
        if event.kind == "DTAQ":
            self.complete = self.complete and (entries is not None or queue.ddm)

    def _restarted(self, *, normal: bool) -> None:
        self._normal = normal
        self._queues = {name: queue for name, queue in self._queues.items() if "QTEMP/" not in name}
        for queue in self._queues.values():
            queue.restarted = True

    def _compare_after_restart(self, queue: _Queue, there: list[tuple[bytes, bytes]]) -> None:
        """Compare the model with the entries on the queue after the restart."""
        if self._normal:
            self._compare(queue, there, "after the restart")
            return
        missing, more = _difference(queue.listing(), there)
        if not queue.force:  # entries may be lost with the system, but none may appear
            for entry in more:
                if not queue.gone[entry] and not queue.cleared[entry]:
                    self._report_unexpected(queue, *entry, "is there after the restart")
            return
        if queue.clearing and len(there) < queue.count and not more:  # the unfinished clear was made
            return
        if len(missing) + len(more) > 1:  # one operation may have been done without returning to its caller
            self._compare(queue, there, "after the restart")

    def _deleted(self, queue: _Queue, _event: JobEvent) -> None:
        queue.clear()

    def _renamed(self, queue: _Queue, event: JobEvent) -> None:
        del self._queues[queue.name]
        queue.name = str(event.info.get("to", queue.name))
        self._queues[queue.name] = queue

    # -- sending and receiving ------------------------------------------------------------------------------------

    def _sent(self, queue: _Queue, event: JobEvent) -> None:
        queue.put(event.key, event.data)
        self.written += 1

    def _received(self, queue: _Queue, event: JobEvent) -> None:
        info = event.info
        order, removes = str(info.get("key_order", "")), info.get("remove") != "*NO"
        requested = bytes.fromhex(info.get("key", "")) if order else b""
        wanted = queue.next(order, requested)
        if not event.data:
            if wanted is not None:
                self._report("lost", queue, f"nothing was received while {_shown(*wanted)} is there")
            return
        key, data = event.key, event.data
        self.read += removes
        if not queue.has(key, data):
            verb = "received" if removes else "looked at"
            self._report_unexpected(queue, key, data, f"was {verb}", duplicated=removes)
            return
        if order and not _satisfies(order, key, requested):
            self._report("reordered", queue, f"{_shown(key, data)} is not {order} {show_record(requested)}")
        elif wanted is not None and wanted != (key, data):
            self._report("reordered", queue, f"{_shown(key, data)} was received before {_shown(*wanted)}")
        if removes:
            queue.take(key, data)
            queue.gone[key, data] += 1

    def _report_unexpected(self, queue: _Queue, key: bytes, data: bytes, what: str, *, duplicated: bool = True) -> None:
        """Report an entry that the queue cannot hold, with the most probable reason."""
        shown = _shown(key, data)
        if queue.gone[key, data]:
            kind = "duplicated" if duplicated else "phantom"
            self._report(kind, queue, f"{shown} {what}, and was received before")
        elif queue.cleared[key, data]:
            self._report("phantom", queue, f"{shown} {what}, and had been cleared")
        elif self.complete:
            self._report("unexpected", queue, f"{shown} {what}, and was never sent")

    def _given_back(self, queue: _Queue, event: JobEvent) -> None:
        queue.put(event.key, event.data, front=True)
        queue.gone[event.key, event.data] -= 1
        self.read -= 1

    def _cleared(self, queue: _Queue, event: JobEvent) -> None:
        info = event.info
        order = str(info.get("key_order", ""))
        cleared = queue.clear(order, bytes.fromhex(info.get("key", "")))
        if "count" in info:
            self._check_count(queue, int(info["count"]), cleared, "were cleared")

    # -- counts ---------------------------------------------------------------------------------------------------

    def _counted(self, queue: _Queue, event: JobEvent) -> None:
        if "messages" in event.info:
            self._check_count(queue, int(event.info["messages"]), queue.count, "were reported")

    def _retrieved(self, queue: _Queue, event: JobEvent) -> None:
        info = event.info
        if "messages" not in info:
            return
        size = queue.size(str(info.get("key_order", "")), bytes.fromhex(info.get("key", "")))
        wanted = min(size, 1) if info.get("selection") in _FIRST else size
        self._check_count(queue, int(info["messages"]), wanted, "were retrieved")

    def _check_count(self, queue: _Queue, reported: int, wanted: int, what: str) -> None:
        """Report a wrong count, once for each amount by which it is wrong."""
        if not self.complete or reported - wanted == queue.differs:
            return
        queue.differs = reported - wanted
        if reported != wanted:
            kind = "lost" if reported < wanted else "unexpected"
            self._report(kind, queue, f"{reported} entries {what}, but the queue has {wanted}")

    # -- the end --------------------------------------------------------------------------------------------------

    def finish(self, final: Mapping[str, Iterable[bytes]] | None) -> None:
        """Compare the model with the entries on the queues at the end, given in queue order."""
        for name, records in (final or {}).items():
            queue = self._queues.get(name)
            there = list(records)
            if queue is None or queue.ddm or [data for _, data in queue.listing()] == there:
                continue
            keys = {data: key for key, data in (*queue.cleared, *queue.gone, *queue.listing())}
            self._compare(queue, [(keys.get(data, b""), data) for data in there], "at the end")

    def _compare(self, queue: _Queue, there: list[tuple[bytes, bytes]], when: str) -> None:
        wanted = queue.listing()
        if wanted == there:
            return
        missing, more = _difference(wanted, there)
        for key, data in missing:
            self._report("lost", queue, f"{_shown(key, data)} was sent and never received, and is missing {when}")
        for key, data in more:
            self._report_unexpected(queue, key, data, f"is there {when}")
        if not missing and not more:
            self._report("reordered", queue, f"the entries {when} are not in {queue.seq} order")


def _name(event: JobEvent, queue: str) -> str:
    """The name of a queue in the model; of a queue in QTEMP it has the job too, since each job has its own QTEMP."""
    return f"{event.job} {queue}" if queue.startswith("QTEMP/") else queue


def _shown(key: bytes, data: bytes) -> str:
    return f"{show_record(data)} (key {show_record(key)})" if key else show_record(data)


def _difference(
    wanted: list[tuple[bytes, bytes]], there: list[tuple[bytes, bytes]]
) -> tuple[list[tuple[bytes, bytes]], list[tuple[bytes, bytes]]]:
    """The missing and the surplus entries."""
    missing, more = Counter(wanted), Counter(there)
    missing.subtract(there)
    more.subtract(wanted)
    return [*(+missing).elements()], [*(+more).elements()]
