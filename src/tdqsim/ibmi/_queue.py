"""A data queue: its attributes, its entries in the store, its allocated storage and the jobs that wait for it.

Storage
    An entry takes the full MAXLEN (and room for sender ID, key and bookkeeping) whatever its length, so the object has
    room for a number of entries. It starts with the initial number; a send that finds no room extends it by a fixed
    number of entries up to the maximum; only automatic reclaim makes it smaller. How large the maximum of *MAX16MB
    and *MAX2GB is was worked out from what real systems report; the figures are in ``facts/ibmi_limits.tsv``.

Requests
    A request does not ask its queue in which state it is. :meth:`DataQueue.bind` binds ``send`` and ``receive`` anew
    whenever something changes that matters::

        state                                            send            receive
        FORCE(*NO), not journaled, nothing promised      to memory       from memory; with automatic
        to a job that has not run yet                                    reclaim as below
        all others                                       _send_durably   _receive_durably

    So a system that is open for reading only binds those of the last line, and its store refuses them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tdqsim.core.clock import Clock
from tdqsim.core.store import Entry, Order, SearchOrder, Store, Work
from tdqsim.ibmi._entries import Entries, Journaling, Receive, Send
from tdqsim.ibmi._fact_tables import LIMITS
from tdqsim.ibmi._objects import SystemObject
from tdqsim.ibmi._waits import Waiters

__all__ = ["Attributes", "DataQueue", "maximum_entries", "nothing_journaled"]

ORDERS = {"*FIFO": Order.FIFO, "*LIFO": Order.LIFO, "*KEYED": Order.KEYED}
_ROOM = {
    LIMITS["max16mb_specified"]: LIMITS["max16mb_bytes"],
    LIMITS["max2gb_specified"]: LIMITS["max2gb_bytes"],
}


class Attributes(NamedTuple):
    """The attributes that CRTDTAQ set, by keyword in lower case.

    ``size`` is the number of entries, -1 for ``*MAX16MB`` or -2 for ``*MAX2GB``; ``initial`` is its second element. A
    DDM queue uses the keywords from ``rmtdtaq`` on, a standard queue those before.
    """

    type: str = "*STD"
    maxlen: int = 0
    force: bool = False
    seq: str = "*FIFO"
    keylen: int = 0
    senderid: bool = False
    size: int = LIMITS["max16mb_specified"]
    initial: int = 0
    rmtdtaq: str = ""
    rmtdtaqlib: str = ""
    rmtlocname: str = ""
    rdb: str = ""
    dev: str = ""
    lcllocname: str = ""
    mode: str = ""
    rmtnetid: str = ""

    @property
    def entry_bytes(self) -> int:
        """Storage that one entry takes."""
        sender = LIMITS["sender_id_length"] if self.senderid else 0
        return self.maxlen + sender + self.keylen + LIMITS["entry_overhead"]


def maximum_entries(attributes: Attributes) -> int:
    """How many entries fit when the queue is full; 0 when not even the initial ones fit into an object.

    A number of entries in SIZE is limited by the largest object there is, that of *MAX2GB.
    """
    initial = attributes.initial
    largest = _ROOM.get(attributes.size, LIMITS["max2gb_bytes"]) - LIMITS["queue_overhead"]
    room = largest - initial * attributes.entry_bytes
    if room < 0:
        return 0
    if attributes.size not in _ROOM:
        return min(max(attributes.size, initial), largest // attributes.entry_bytes)
    extension = LIMITS["extension_entries"]
    return initial + extension * (room // (extension * attributes.entry_bytes))


def nothing_journaled(_entry: Entry) -> Sequence[Work]:
    """The journaling of a queue that is not journaled."""
    return ()


@dataclass(slots=True, eq=False, repr=False)
class DataQueue(SystemObject):
    """One data queue (*DTAQ object), as CRTDTAQ gives it; programs use it through the methods of a job.

    Attributes:
        attributes: what CRTDTAQ set.
        autorcl: automatic reclaim, changed by QMHQCDQ.
        enforce: locks are enforced, changed by QMHQCDQ.
        journal: number of the journal it is journaled to, or 0.
        unsaved: its allocation has changed since it was saved.
        spare: how many sends need no check for room; receives do not add to it.
        allocated: how many entries fit before the next extension.
        maximum: how many entries fit at all.
        last_reclaim_ns: moment of the last automatic reclaim, 0 for none.
        stamp: enqueue moment of the last entry; each entry's is later than the one before.
        kept_stamp: the stamp that the store has. For a keyed queue nothing else shows it after a restart; after a kill
            all its entries are read once.
        waiters: receives that wait, highest run priority first.
        temporary: it is in a QTEMP and leaves nothing in the catalogue.
        trace: records what happens here, None for none (see :class:`~tdqsim.ibmi._recorder.SystemRecorder`).
        send: adds an entry: data, key, sender ID, moment, and the changes to be committed with it; StoreFull when the
            store has no room.
        receive: takes off the entry that a receive gets: relation, key, what journals it, the system's clock.
        awaited: receives wait.
    """

    attributes: Attributes = field(default_factory=Attributes)
    autorcl: bool = False
    enforce: bool = False
    journal: int = 0
    held: Entries | None = None
    unsaved: bool = False
    allocated: int = 0
    spare: int = 0
    maximum: int = 0
    last_reclaim_ns: int = 0
    stamp: int = 0
    kept_stamp: int = 0
    temporary: bool = False
    waiters: Waiters = field(default_factory=Waiters)
    awaited: bool = False
    ddm: bool = field(init=False)
    maxlen: int = 0
    key_length: int = 0
    sender_id: bool = False
    send: Send = field(init=False)
    receive: Receive = field(init=False)
    _in_memory: tuple[Send, Receive] | None = None
    trace: Callable[[tuple[Any, ...]], object] | None = None

    def __post_init__(self) -> None:
        """Bind its requests."""
        self.bind()

    @property
    def type(self) -> str:
        """``*DTAQ``."""
        return "*DTAQ"

    @property
    def forced(self) -> bool:
        """Whether its entries are durable: FORCE(*YES), but nothing of a QTEMP outlives its job."""
        return self.attributes.force and not self.temporary

    @property
    def keyed(self) -> bool:
        """Whether it was created with SEQ(*KEYED)."""
        return self.attributes.seq == "*KEYED" and not self.ddm

    @property
    def longest_text(self) -> int:
        """Bytes of the longest message text there can be: MAXLEN, and the sender ID in front of it."""
        return self.maxlen + (LIMITS["sender_id_length"] if self.sender_id else 0)

    @property
    def stored(self) -> Entries:
        """The entries of a standard queue."""
        assert self.held is not None, f"{self.qualified} is a DDM data queue"
        return self.held

    @property
    def count(self) -> int:
        """How many entries a receive could get."""
        return self.stored.count

    def attach(self, store: Store, *, aside: Store | None = None) -> None:
        """Connect with the stored entries, making room for them when there are none yet."""
        attributes = self.attributes
        sender = LIMITS["sender_id_length"] if attributes.senderid else 0
        name = str(self.number).encode("ascii")
        self.held = Entries(
            store, name, ORDERS[attributes.seq], attributes.keylen, sender, forced=self.forced, aside=aside
        )
        self._in_memory = self.held.in_memory()
        self.maximum = maximum_entries(attributes)
        kept = store.durable.get_meta(self.allocation_key)
        self.allocated, self.last_reclaim_ns, *stamps = json.loads(kept) if kept else (attributes.initial, 0)
        killed = aside is None and not store.closed_clean
        self.stamp = self.kept_stamp = max(self.held.latest(every=killed and self.keyed), *stamps, 0)
        self._hold_all()  # the allocation was not saved when its process ended
        self.bind()

    def bind(self) -> None:
        """Bind what a send and a receive do, by the table of this module."""
        attributes = self.attributes
        self.ddm = attributes.type == "*DDM"
        self.maxlen, self.key_length, self.sender_id = attributes.maxlen, attributes.keylen, attributes.senderid
        self.awaited = bool(self.waiters)
        self.send, self.receive = self._send_durably, self._receive_durably
        if self._in_memory is not None and not (self.journal or self.gone or self.stored.promised):
            self.send, receive = self._in_memory
            if not self.autorcl:
                self.receive = receive

    # -- entries ----------------------------------------------------------------------------------------------------

    def _send_durably(self, data: bytes, key: bytes, sender: bytes, time_ns: int, works: Sequence[Work]) -> None:
        """Add an entry, and commit what belongs to it."""
        self.stored.put(Entry(data, key, sender, time_ns), works, self.allocation())
        self.saved()

    def _receive_durably(
        self, search: SearchOrder | None, key: bytes, journaling: Journaling, clock: Clock
    ) -> Entry | None:
        """Take off the entry that a receive gets, and commit what belongs to it."""
        now_ns = clock.time_ns()
        last = self.stored.raw.count == 1
        entry = self.stored.take(search, key, journaling, self._allocation_after(now_ns, last=last))
        if entry is not None:
            self.reclaim_if_empty(now_ns)
            self.saved()
        return entry

    def could_have_had(self, entry: Entry) -> bool:
        """Whether an entry is as those of this queue are: not when it was of another one under this name."""
        return (
            len(entry.key) == self.key_length and bool(entry.sender) == self.sender_id
            and 0 < len(entry.data) <= self.maxlen
        )  # fmt: skip

    def put_back(self, entry: Entry, also: Sequence[Work] = ()) -> None:
        """Put an entry back in front, with what belongs to it; a queue that is full meanwhile holds it all the same."""
        self.stored.put_back(entry, also)
        self.spare, self.unsaved = 0, True
        self._hold_all()

    def promise(self, entry: Entry) -> None:
        """Keep an entry for the job that it was handed to."""
        self.stored.promised.add(entry.time_ns)
        self.bind()

    def free(self, entry: Entry) -> None:
        """Take back an entry that was promised to a job and not used."""
        self.stored.promised.discard(entry.time_ns)
        self.bind()

    def take_promised(self, entry: Entry, journaling: Journaling, now_ns: int) -> None:
        """A job has received the entry that was promised to it."""
        if self.gone:
            return
        last = self.stored.raw.count == 1
        self.stored.take_promised(entry, journaling, self._allocation_after(now_ns, last=last))
        self.reclaim_if_empty(now_ns)
        self.saved()
        self.bind()

    def clear(self, search: SearchOrder | None, key: bytes, also: Sequence[Work], now_ns: int) -> int:
        """Remove every entry, or those whose keys are in the relation; returns how many."""
        gone = self.stored.clear(search, key, also, self.allocation())
        if gone:
            self.reclaim_if_empty(now_ns)
            if self.forced and self.unsaved:
                self.stored.commit(None, (), self.allocation())
                self.saved()
        return gone

    # -- storage ----------------------------------------------------------------------------------------------------

    def has_room(self) -> bool:
        """Whether one more entry fits, extending the storage if needed."""
        count = self.stored.raw.count
        if count >= self.maximum:
            return False
        if count >= self.allocated:
            self.allocated = min(self.allocated + LIMITS["extension_entries"], self.maximum)
            self.unsaved = True
        self.spare = self.allocated - count
        return True

    def _hold_all(self) -> None:
        """Extend the storage until it holds the entries that there are, beyond the maximum when they are more."""
        while self.allocated < self.stored.raw.count:
            extended = min(self.allocated + LIMITS["extension_entries"], self.maximum)
            self.allocated = extended if extended > self.allocated else self.stored.raw.count

    def reclaim_if_empty(self, now_ns: int) -> None:
        """What automatic reclaim does after an operation that may have taken the last entry."""
        if self.autorcl and self.stored.raw.count == 0 and self.allocated > self.attributes.initial:
            self.allocated, self.spare = self.attributes.initial, 0
            self.last_reclaim_ns = now_ns
            self.unsaved = True

    @property
    def allocation_key(self) -> bytes:
        """The name of the record that keeps its allocation."""
        return b"allocation/%d" % self.number

    def allocation(self) -> dict[bytes, bytes | None]:
        """The record that keeps its allocation, when that has changed since it was saved."""
        return self.state() if self.unsaved else {}

    def state(self) -> dict[bytes, bytes | None]:
        """The record as it is now."""
        return self._record(self.allocated, self.last_reclaim_ns)

    @property
    def unwritten(self) -> bool:
        """Whether the record is to be written at a close."""
        return self.unsaved or (self.key_length > 0 and self.stamp > self.kept_stamp)

    def saved(self) -> None:
        """A forced queue's allocation was committed with its entries."""
        if self.forced:
            self.unsaved = False

    def _allocation_after(self, now_ns: int, *, last: bool) -> dict[bytes, bytes | None]:
        """The record as it is when the last entry goes, if that reclaims."""
        initial = self.attributes.initial
        if last and self.autorcl and self.allocated > initial:
            return self._record(initial, now_ns)
        return self.allocation()

    def _record(self, allocated: int, reclaimed_ns: int) -> dict[bytes, bytes | None]:
        return {self.allocation_key: json.dumps([allocated, reclaimed_ns, self.stamp]).encode("ascii")}

    def save(self) -> dict[str, Any]:
        """What the catalogue keeps of it."""
        return {
            **SystemObject.save(self), "attributes": self.attributes._asdict(), "autorcl": self.autorcl,
            "enforce": self.enforce, "journal": self.journal,
        }  # fmt: skip
