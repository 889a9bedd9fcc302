"""A data queue: its attributes, its entries in the store, its allocated storage and who waits for it.

Storage
    An entry takes the full MAXLEN (and room for sender ID, key and bookkeeping) whatever is sent, so the object has
    room for a number of entries. It starts with the initial number; a send that finds no room extends it by a fixed
    number of entries up to the maximum; only automatic reclaim makes it smaller. How large the maximum of *MAX16MB
    and *MAX2GB is was worked out from what real systems report; the figures are in ``facts/ibmi_limits.tsv``.

Hot path
    ``direct`` says that a job which remembers the queue needs no look at locks: standard, not deleted, no locks to
    enforce. ``plain`` adds that a send needs nothing but a put: not journaled, not forced, no job waiting, nothing
    promised. Everything that changes one of these calls :meth:`DataQueue.settle`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tdqsim.core.store import Entry, Order, SearchOrder, Store, Work
from tdqsim.ibmi._entries import Entries, Journaling
from tdqsim.ibmi._fact import LIMITS
from tdqsim.ibmi._objects import SystemObject
from tdqsim.ibmi._waits import Waiters

__all__ = ["Attributes", "DataQueue", "maximum_entries"]

ORDERS = {"*FIFO": Order.FIFO, "*LIFO": Order.LIFO, "*KEYED": Order.KEYED}
_ROOM = {
    LIMITS["max16mb_specified"]: LIMITS["max16mb_bytes"],
    LIMITS["max2gb_specified"]: LIMITS["max2gb_bytes"],
}


class Attributes(NamedTuple):
    """What CRTDTAQ said, by keyword in lower case.

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


@dataclass(slots=True, eq=False, repr=False)
class DataQueue(SystemObject):
    """One data queue (*DTAQ object), as CRTDTAQ gives it; programs use it through the methods of a job.

    Attributes:
        attributes: what CRTDTAQ said.
        autorcl: automatic reclaim, changed by QMHQCDQ.
        enforce: locks are enforced, changed by QMHQCDQ.
        journal: number of the journal it is journaled to, or 0.
        unsaved: its allocation has changed since it was saved.
        spare: so many sends need not ask whether there is room; receives do not add to it.
        allocated: how many entries fit before the next extension.
        maximum: how many entries fit at all.
        last_reclaim_ns: moment of the last automatic reclaim, 0 for none.
        stamp: enqueue moment of the last entry; each entry's is later than the one before.
        kept_stamp: what of it the store knows. Of a keyed queue nothing else tells it after a restart; after a kill all
            its entries are looked at once.
        waiters: receives that wait, highest run priority first.
        temporary: it is in a QTEMP and leaves nothing in the catalogue.
        trace: takes what happens here, None when nobody records (see :class:`~tdqsim.ibmi._recorder.Recorder`).
    """

    attributes: Attributes = field(default_factory=Attributes)
    autorcl: bool = False
    enforce: bool = False
    journal: int = 0
    held: Entries | None = None
    raw: Any = None
    unsaved: bool = False
    allocated: int = 0
    spare: int = 0
    maximum: int = 0
    last_reclaim_ns: int = 0
    stamp: int = 0
    kept_stamp: int = 0
    temporary: bool = False
    waiters: Waiters = field(default_factory=Waiters)
    plain: bool = False
    direct: bool = False
    plain_receive: bool = False
    maxlen: int = 0
    key_length: int = 0
    sender_id: bool = False
    trace: Callable[[tuple[Any, ...]], object] | None = None

    @property
    def type(self) -> str:
        """``*DTAQ``."""
        return "*DTAQ"

    @property
    def ddm(self) -> bool:
        """Whether it stands for a data queue of another system."""
        return self.attributes.type == "*DDM"

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
        self.raw = self.held.raw
        self.maximum = maximum_entries(attributes)
        kept = store.durable.get_meta(self.allocation_key)
        self.allocated, self.last_reclaim_ns, *stamps = json.loads(kept) if kept else (attributes.initial, 0)
        killed = aside is None and not store.closed_clean
        self.stamp = self.kept_stamp = max(self.held.latest(every=killed and self.keyed), *stamps, 0)
        self._hold_all()  # what is allocated was not saved when its process ended
        self.settle()

    def settle(self) -> None:
        """Work out what the hot paths look at."""
        attributes = self.attributes
        self.maxlen, self.key_length, self.sender_id = attributes.maxlen, attributes.keylen, attributes.senderid
        self.direct = not (self.gone or self.ddm or self.enforce)
        held = self.held
        careful = self.journal or self.forced or self.waiters or held is None or held.promised or held.readonly
        self.plain = self.direct and not careful
        self.plain_receive = self.plain and not self.autorcl

    def facts(self) -> dict[str, Any]:
        """What a history has to know of it, under the keywords of CRTDTAQ."""
        attributes = self.attributes
        if self.ddm:
            return {"type": "*DDM", "rmtdtaq": f"{attributes.rmtdtaqlib}/{attributes.rmtdtaq}"}
        return {
            "type": "*STD", "maxlen": attributes.maxlen, "seq": attributes.seq, "keylen": attributes.keylen,
            "senderid": "*YES" if attributes.senderid else "*NO", "force": "*YES" if attributes.force else "*NO",
        }  # fmt: skip

    # -- entries ----------------------------------------------------------------------------------------------------

    def put(self, entry: Entry, also: Sequence[Work] = ()) -> None:
        """Add an entry, and commit what belongs to it."""
        self.stored.put(entry, also, self.allocation())
        self.spare -= 1
        self.saved()

    def take(self, search: SearchOrder | None, key: bytes, journaling: Journaling, now_ns: int) -> Entry | None:
        """The entry that a receive gets, taken off."""
        last = self.raw.count == 1
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
        self.settle()

    def free(self, entry: Entry) -> None:
        """The job could not use what it was promised."""
        self.stored.promised.discard(entry.time_ns)
        self.settle()

    def take_promised(self, entry: Entry, journaling: Journaling, now_ns: int) -> None:
        """The job has what it was promised."""
        if self.gone:
            return
        last = self.raw.count == 1
        self.stored.take_promised(entry, journaling, self._allocation_after(now_ns, last=last))
        self.reclaim_if_empty(now_ns)
        self.saved()
        self.settle()

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

    def next_stamp(self, now_ns: int) -> int:
        """The enqueue moment of the next entry: now, or just after the entry before."""
        self.stamp = now_ns if now_ns > self.stamp else self.stamp + 1
        return self.stamp

    def has_room(self) -> bool:
        """Whether one more entry fits, extending the storage when that is what it takes."""
        count = self.raw.count
        if count >= self.maximum:
            return False
        if count >= self.allocated:
            self.allocated = min(self.allocated + LIMITS["extension_entries"], self.maximum)
            self.unsaved = True
        self.spare = self.allocated - count
        return True

    def _hold_all(self) -> None:
        """Extend the storage until it holds the entries that there are, beyond the maximum when they are more."""
        while self.allocated < self.raw.count:
            extended = min(self.allocated + LIMITS["extension_entries"], self.maximum)
            self.allocated = extended if extended > self.allocated else self.raw.count

    def reclaim_if_empty(self, now_ns: int) -> None:
        """What automatic reclaim does after an operation that may have taken the last entry."""
        if self.autorcl and self.raw.count == 0 and self.allocated > self.attributes.initial:
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
