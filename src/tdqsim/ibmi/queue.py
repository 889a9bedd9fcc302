"""A data queue: its attributes, its entries in the store, its allocated storage and the jobs that wait for it.

Storage
    An entry takes the full MAXLEN (and room for sender ID, key and bookkeeping) whatever its length, so the object has
    room for a certain number of entries. It starts with the initial number. A send that finds no room extends it by a
    fixed number of entries, up to the maximum. Only automatic reclaim makes it smaller. The maximums for *MAX16MB and
    *MAX2GB were derived from the figures that real systems report; they are in ``facts/ibmi_limits.tsv``.

Requests
    Requests do not test the state of their queue. Instead :meth:`DataQueue.bind` binds ``send`` and ``receive`` again
    when a job opens the queue, and whenever the state changes::

        state                                            send            receive
        FORCE(*NO), never journaled, nothing promised    to memory       from memory; with automatic
        to a job that has not run yet                                    reclaim as below
        all others                                       _send_durably   _receive_durably

    A system that is open for reading only binds the functions of the last line, and its store refuses the changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, TypeAlias

from tdqsim.core.clock import Clock
from tdqsim.core.store import Entry, Order, SearchOrder, Store, Work
from tdqsim.ibmi.entries import Entries, InMemory, Journaling, Received
from tdqsim.ibmi.fact_tables import LIMITS
from tdqsim.ibmi.objects import SystemObject
from tdqsim.ibmi.waits import Waiters

ORDERS = {"*FIFO": Order.FIFO, "*LIFO": Order.LIFO, "*KEYED": Order.KEYED}
_ROOM = {
    LIMITS["max16mb_specified"]: LIMITS["max16mb_bytes"],
    LIMITS["max2gb_specified"]: LIMITS["max2gb_bytes"],
}


class Attributes(NamedTuple):
    """The attributes set by CRTDTAQ, by keyword in lower case.

    ``size`` is the number of entries, -1 for ``*MAX16MB`` or -2 for ``*MAX2GB``; ``initial`` is the second element of
    SIZE. A DDM queue uses the keywords from ``rmtdtaq`` on, a standard queue those before.
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
        """The bytes of storage that one entry takes."""
        sender = LIMITS["sender_id_length"] if self.senderid else 0
        return self.maxlen + sender + self.keylen + LIMITS["entry_overhead"]


@lru_cache
def maximum_entries(attributes: Attributes) -> int:
    """The number of entries in a full queue; 0 when not even the initial ones fit into an object.

    A number of entries in SIZE is limited by the largest object size, that of *MAX2GB.
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


class QueueUser(Protocol):
    """The job that sends or receives, as far as the functions of a queue know it."""

    clock: Clock

    def sent(self, queue: DataQueue, entry: Entry) -> Sequence[Work]:
        """The journal entry for a send; none if the queue is not journaled."""

    def received(self, queue: DataQueue, entry: Entry) -> Sequence[Work]:
        """The journal entry for a receive that removes an entry; none if the queue is not journaled."""


Send: TypeAlias = Callable[[bytes, bytes | None, bytes, int, QueueUser], None]
"""Adds an entry; parameters: data, key, sender ID, moment, and the job that sends it."""
Receive: TypeAlias = Callable[[SearchOrder | None, bytes | None, QueueUser], Received | None]
"""Takes the entry for a receive; parameters: search order, key, and the job that receives it."""


@dataclass(slots=True, eq=False, repr=False)
class DataQueue(SystemObject):
    """One data queue (*DTAQ object), as returned by CRTDTAQ; programs use it through the methods of a job.

    Attributes:
        attributes: the attributes set by CRTDTAQ.
        autorcl: whether automatic reclaim is on; QMHQCDQ changes it.
        enforce: whether locks are enforced; QMHQCDQ changes it.
        journal: the number of the journal that it is journaled to, or 0.
        once_journaled: whether it is or was journaled, and so has durable entries.
        held: its entries; None for a DDM queue.
        unsaved: whether its allocation has changed since it was saved.
        spare: how many sends need no check for room; receives do not increase it.
        allocated: how many entries fit before the next extension.
        maximum: how many entries fit at most.
        last_reclaim_ns: the moment of the last automatic reclaim, 0 for none.
        stamp: the enqueue moment of the last entry; it increases with each entry.
        kept_stamp: the value of ``stamp`` in the store. After a kill, the moment of the last entry counts if it is
            later; to find it in a keyed queue, all entries must be read.
        waiters: the receives that wait, highest run priority first.
        temporary: whether it is in a QTEMP and therefore not in the catalogue.
        trace: records events of the queue (see :class:`~tdqsim.ibmi.recorder.SystemRecorder`); or None.
        send: adds an entry; see :data:`Send`; StoreFull when the store has no room.
        receive: takes the entry for a receive; see :data:`Receive`.
        watched: whether receives wait or events are recorded, so that a send has more to do.
    """

    attributes: Attributes = field(default_factory=Attributes)
    autorcl: bool = False
    enforce: bool = False
    journal: int = 0
    once_journaled: bool = False
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
    watched: bool = False
    ddm: bool = field(init=False)
    maxlen: int = field(init=False)
    key_length: int = field(init=False)
    sender_id: bool = field(init=False)
    send: Send = field(init=False)
    receive: Receive = field(init=False)
    _in_memory: InMemory | None = None
    trace: Callable[[tuple[Any, ...]], object] | None = None

    def __post_init__(self) -> None:
        """Copy what requests need; their functions are bound when a job opens it."""
        attributes = self.attributes
        self.ddm = attributes.type == "*DDM"
        self.maxlen, self.key_length, self.sender_id = attributes.maxlen, attributes.keylen, attributes.senderid

    @property
    def type(self) -> str:
        """``*DTAQ``."""
        return "*DTAQ"

    @property
    def forced(self) -> bool:
        """Whether its entries are durable: FORCE(*YES), or once journaled; but nothing of a QTEMP outlives its job."""
        return (self.attributes.force or self.once_journaled) and not self.temporary

    @property
    def keyed(self) -> bool:
        """Whether it was created with SEQ(*KEYED)."""
        return self.attributes.seq == "*KEYED" and not self.ddm

    @property
    def longest_text(self) -> int:
        """The bytes of the longest possible message text: MAXLEN, plus the sender ID in front of it."""
        return self.maxlen + (LIMITS["sender_id_length"] if self.sender_id else 0)

    @property
    def stored(self) -> Entries:
        """The entries of a standard queue."""
        assert self.held is not None, f"{self.qualified} is a DDM data queue"
        return self.held

    @property
    def count(self) -> int:
        """The number of entries that receives could get."""
        return self.stored.count

    def attach(self, store: Store, *, aside: Store | None = None) -> None:
        """Connect the queue to its stored entries, which are created if needed."""
        held = self.held = self._entries(store, forced=self.forced, aside=aside)
        self.maximum = maximum_entries(self.attributes)
        self.allocated = self.attributes.initial
        if held.raw.count:
            killed = aside is None and not store.closed_clean
            self.stamp = self.kept_stamp = held.latest(every=killed and self.keyed)
            self._hold_all()

    def _entries(self, store: Store, *, forced: bool, aside: Store | None = None) -> Entries:
        attributes = self.attributes
        sender = LIMITS["sender_id_length"] if attributes.senderid else 0
        name, order = str(self.number).encode("ascii"), ORDERS[attributes.seq]
        return Entries(store, name, order, attributes.keylen, sender, forced=forced, aside=aside)

    def made_durable(self, store: Store) -> Sequence[Work]:
        """The work that puts the entries into the store, when they become durable."""
        volatile = self.stored
        self.held, self._in_memory = self._entries(store, forced=True), None
        return (self.held.copied(volatile),)

    def _restore(self, kept: bytes) -> None:
        """Take over the allocation and the moment of the last entry that were saved; an attached queue."""
        self.allocated, self.last_reclaim_ns, *stamps = json.loads(kept)
        self.stamp = self.kept_stamp = max(self.stamp, *stamps, 0)
        self._hold_all()  # an allocation that was not saved before the process ended may be too small

    def bind(self) -> None:
        """Bind the functions for sends and receives, by the table of this module."""
        self.watched = self.trace is not None or bool(self.waiters)
        self.send, self.receive = self._send_durably, self._receive_durably
        held = self.held
        if held is None or self.journal or self.deleted or held.promised:
            return
        if self._in_memory is None:
            self._in_memory = held.in_memory()
        if self._in_memory is not None:
            self.send, receive = self._in_memory
            if not self.autorcl:
                self.receive = receive

    # -- entries ----------------------------------------------------------------------------------------------------

    def _send_durably(self, data: bytes, key: bytes | None, sender: bytes, time_ns: int, job: QueueUser) -> None:
        """Add an entry, and commit it with the changes that belong to it."""
        entry = Entry(data, key or b"", sender, time_ns)
        self.stored.put(entry, job.sent(self, entry), self.allocation())
        self.saved()

    def _journaling(self, job: QueueUser) -> Journaling:
        return lambda entry: job.received(self, entry)

    def _receive_durably(self, search: SearchOrder | None, key: bytes | None, job: QueueUser) -> Entry | None:
        """Take the entry for a receive, and commit that with the changes that belong to it."""
        now_ns = job.clock.time_ns()
        last = self.stored.raw.count == 1
        entry = self.stored.take(search, key or b"", self._journaling(job), self._allocation_after(now_ns, last=last))
        if entry is not None:
            self.reclaim_if_empty(now_ns)
            self.saved()
        return entry

    def could_have_had(self, entry: Entry) -> bool:
        """Whether an entry may be from this queue, and not from an earlier one with this name."""
        return (
            len(entry.key) == self.key_length
            and bool(entry.sender) == self.sender_id
            and 0 < len(entry.data) <= self.maxlen
        )

    def put_back(self, entry: Entry, also: Sequence[Work] = ()) -> None:
        """Put an entry back at the front, with further changes; this is allowed even if the queue is full now."""
        self.stored.put_back(entry, also)
        self.spare, self.unsaved = 0, True
        self._hold_all()

    def promise(self, entry: Entry) -> None:
        """Reserve an entry for the job that it was handed to."""
        self.stored.promised.add(entry.time_ns)
        self.bind()

    def free(self, entry: Entry) -> None:
        """Release an entry that was promised to a job which could not use it."""
        self.stored.promised.discard(entry.time_ns)
        self.bind()

    def take_promised(self, entry: Entry, job: QueueUser) -> None:
        """Remove a promised entry, which its job has received now."""
        if self.deleted:
            return
        now_ns = job.clock.time_ns()
        last = self.stored.raw.count == 1
        self.stored.take_promised(entry, self._journaling(job), self._allocation_after(now_ns, last=last))
        self.reclaim_if_empty(now_ns)
        self.saved()
        self.bind()

    def clear(self, search: SearchOrder | None, key: bytes, also: Sequence[Work], now_ns: int) -> int:
        """Remove all entries, or those whose keys match a search; returns how many."""
        removed = self.stored.clear(search, key, also, self.allocation())
        if removed:
            self.reclaim_if_empty(now_ns)
            if self.forced and self.unsaved:
                self.stored.commit(None, (), self.allocation())
                self.saved()
        return removed

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
        """Extend the storage until it has room for all present entries, even beyond the maximum."""
        while self.allocated < self.stored.raw.count:
            extended = min(self.allocated + LIMITS["extension_entries"], self.maximum)
            self.allocated = extended if extended > self.allocated else self.stored.raw.count

    def reclaim_if_empty(self, now_ns: int) -> None:
        """Carry out automatic reclaim, if it is on and an operation has removed the last entry."""
        if self.autorcl and self.stored.raw.count == 0 and self.allocated > self.attributes.initial:
            self.allocated, self.spare = self.attributes.initial, 0
            self.last_reclaim_ns = now_ns
            self.unsaved = True

    @property
    def allocation_key(self) -> bytes:
        """The key of the record with its allocation."""
        return b"allocation/%d" % self.number

    def allocation(self) -> dict[bytes, bytes | None]:
        """The record with its allocation, if that has changed since it was saved."""
        return self.state() if self.unsaved else {}

    def state(self) -> dict[bytes, bytes | None]:
        """The record with its current allocation."""
        return self._record(self.allocated, self.last_reclaim_ns)

    @property
    def unwritten(self) -> bool:
        """Whether the record must be written at a close."""
        return self.unsaved or self.stamp > self.kept_stamp

    def saved(self) -> None:
        """Note that a forced queue's allocation was committed with its entries."""
        if self.forced:
            self.unsaved = False

    def _allocation_after(self, now_ns: int, *, last: bool) -> dict[bytes, bytes | None]:
        """The record after an operation that may remove the last entry (``last``) and so cause automatic reclaim."""
        initial = self.attributes.initial
        if last and self.autorcl and self.allocated > initial:
            return self._record(initial, now_ns)
        return self.allocation()

    def _record(self, allocated: int, reclaimed_ns: int) -> dict[bytes, bytes | None]:
        return {self.allocation_key: json.dumps([allocated, reclaimed_ns, self.stamp]).encode("ascii")}

    def save(self) -> dict[str, Any]:
        """Its fields for the catalogue."""
        return {
            **SystemObject.save(self), "attributes": self.attributes._asdict(), "autorcl": self.autorcl,
            "enforce": self.enforce, "journal": self.journal,
            **({"once_journaled": True} if self.once_journaled else {}),
        }  # fmt: skip
