"""A data queue: its attributes, its entries in the store, its allocated storage and who waits for it.

Storage
    An entry takes the full MAXLEN (and room for sender ID, key and bookkeeping) whatever is sent, so the object has
    room for a number of entries. It starts with the initial number; a send that finds no room extends it by a fixed
    number of entries up to the maximum; only automatic reclaim makes it smaller. How large the maximum of *MAX16MB
    and *MAX2GB is was worked out from what real systems report; the figures are in ``facts/ibmi_limits.tsv``.

Promised entries
    An entry that a send hands to a waiting job stays in the store until that job runs and has it: meanwhile it is
    promised, and nobody else sees it. So an entry whose send was acknowledged is in the store or with its receiver at
    every moment, and a job that ends before it could run needs nothing put back.

Hot path
    ``direct`` says that a job which remembers the queue needs no look at locks: standard, not deleted, no locks to
    enforce. ``plain`` adds that a send needs nothing but a put: not journaled, not forced, no job waiting, nothing
    promised. Everything that changes one of these calls :meth:`DataQueue.settle`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from tdqsim.core.store import Entry, Environment, Order, SearchOrder, StoredQueue
from tdqsim.ibmi._fact import LIMITS
from tdqsim.ibmi._objects import SystemObject

if TYPE_CHECKING:
    from tdqsim.ibmi._waits import Waiter

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
    """One *DTAQ object; see the module's text.

    Attributes:
        attributes: what CRTDTAQ said.
        autorcl: automatic reclaim, changed by QMHQCDQ.
        enforce: locks are enforced, changed by QMHQCDQ.
        journal: number of the journal it is journaled to, or 0.
        environment: where its entries are; None for a DDM queue.
        entries: the entries; None for a DDM queue.
        allocated: how many entries fit before the next extension.
        maximum: how many entries fit at all.
        last_reclaim_ns: moment of the last automatic reclaim, 0 for none.
        stamp: enqueue moment of the last entry; each entry's is later than the one before.
        waiters: receives that wait, highest run priority first.
        promised: numbers of the entries that were handed to jobs which have not run since.
        temporary: it is in a QTEMP and leaves nothing in the catalogue.
        trace: takes what happens here, None when nobody records (see :class:`~tdqsim.ibmi._recorder.Recorder`).
    """

    attributes: Attributes = field(default_factory=Attributes)
    autorcl: bool = False
    enforce: bool = False
    journal: int = 0
    environment: Environment | None = None
    entries: StoredQueue | None = None
    allocated: int = 0
    maximum: int = 0
    last_reclaim_ns: int = 0
    stamp: int = 0
    temporary: bool = False
    waiters: list[Waiter] = field(default_factory=list)
    promised: set[int] = field(default_factory=set)
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
    def keyed(self) -> bool:
        """Whether it was created with SEQ(*KEYED)."""
        return self.attributes.seq == "*KEYED" and not self.ddm

    @property
    def longest_text(self) -> int:
        """Bytes of the longest message text there can be: MAXLEN, and the sender ID in front of it."""
        return self.maxlen + (LIMITS["sender_id_length"] if self.sender_id else 0)

    @property
    def stored(self) -> StoredQueue:
        """The entries of a standard queue."""
        assert self.entries is not None, f"{self.qualified} is a DDM data queue"
        return self.entries

    def attach(self, environment: Environment) -> None:
        """Connect with the stored entries, making room for them when there are none yet."""
        name = str(self.number).encode("ascii")
        attributes = self.attributes
        entries = environment.queue(name)
        if entries is None:
            entries = environment.create_queue(name, order=ORDERS[attributes.seq], key_length=attributes.keylen)
        self.environment, self.entries = environment, entries
        self.maximum = maximum_entries(attributes)
        kept = environment.get_meta(self._allocation_key())
        self.allocated, self.last_reclaim_ns = json.loads(kept) if kept else (attributes.initial, 0)
        self.settle()

    def settle(self) -> None:
        """Work out what the hot paths look at."""
        attributes = self.attributes
        self.maxlen, self.key_length, self.sender_id = attributes.maxlen, attributes.keylen, attributes.senderid
        self.direct = not (self.gone or self.ddm or self.enforce)
        self.plain = self.direct and not (self.journal or attributes.force or self.waiters or self.promised)
        self.plain_receive = self.plain and not (self.autorcl or self.sender_id or self.key_length)

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

    @property
    def count(self) -> int:
        """How many entries a receive could get."""
        return self.stored.count - len(self.promised)

    @property
    def text_bytes(self) -> int:
        """Bytes of all message texts, sender IDs included."""
        sender = LIMITS["sender_id_length"] if self.sender_id else 0
        return self.stored.data_bytes + self.stored.count * sender

    def entries_seen(self, *, reverse: bool = False, limit: int | None = None) -> Iterator[Entry]:
        """The entries in the order of receiving, or from its other end."""
        if not self.promised:
            return self.stored.entries(reverse=reverse, limit=limit)
        free = (entry for entry in self.stored.entries(reverse=reverse) if entry.seq not in self.promised)
        return islice(free, limit)

    def matching(self, search: SearchOrder, key: bytes) -> Iterator[Entry]:
        """The entries of a keyed queue whose keys are in a relation to ``key``, lowest key first."""
        found = self.stored.search(search, key)
        return (entry for entry in found if entry.seq not in self.promised) if self.promised else found

    def next(self, search: SearchOrder | None, key: bytes) -> Entry | None:
        """The entry that a receive would get."""
        if self.promised:
            return next(self.entries_seen(limit=1) if search is None else self.matching(search, key), None)
        return self.stored.peek() if search is None else self.stored.find(search, key)

    def take(self, search: SearchOrder | None, key: bytes) -> Entry | None:
        """The entry that a receive gets, taken off."""
        if self.promised:
            entry = self.next(search, key)
            if entry is not None:
                self.stored.remove(entry.seq, entry.key)
            return entry
        if search is not None:
            return self.stored.take_key(search, key)
        if self.sender_id:
            return self.stored.take_entry()
        data = self.stored.take()  # cheaper; its number and time are of no use to a receiver
        return None if data is None else Entry(0, 0, b"", b"", data)

    def clear(self, search: SearchOrder | None, key: bytes) -> int:
        """Remove every entry, or those whose keys are in the relation; returns how many."""
        if self.promised:
            doomed = list(self.entries_seen() if search is None else self.matching(search, key))
            for entry in doomed:
                self.stored.remove(entry.seq, entry.key)
            return len(doomed)
        return self.stored.clear() if search is None else self.stored.clear_keys(search, key)

    def promise(self, entry: Entry) -> None:
        """Keep an entry for the job that it was handed to."""
        self.promised.add(entry.seq)
        self.settle()

    def unpromise(self, entry: Entry, *, taken: bool) -> None:
        """The job has the entry now (``taken``), or could not use it: it stands in its place again."""
        self.promised.discard(entry.seq)
        if taken and not self.gone:
            self.stored.remove(entry.seq, entry.key)
        self.settle()

    # -- storage ----------------------------------------------------------------------------------------------------

    def next_stamp(self, now_ns: int) -> int:
        """The enqueue moment of the next entry: now, or just after the entry before."""
        self.stamp = now_ns if now_ns > self.stamp else self.stamp + 1
        return self.stamp

    def has_room(self) -> bool:
        """Whether one more entry fits, extending the storage when that is what it takes."""
        count = self.stored.count
        if count < self.allocated:
            return True
        if count >= self.maximum:
            return False
        self.allocated = min(self.allocated + LIMITS["extension_entries"], self.maximum)
        self._save_allocation()
        return True

    def reclaim_if_empty(self, now_ns: int) -> None:
        """What automatic reclaim does after an operation that may have taken the last entry."""
        if self.autorcl and not self.gone and self.stored.count == 0 and self.allocated > self.attributes.initial:
            self.allocated = self.attributes.initial
            self.last_reclaim_ns = now_ns
            self._save_allocation()

    def commit_forced(self) -> None:
        """What FORCE(*YES) asks for after each send and receive."""
        if self.attributes.force and self.environment is not None and not self.gone:
            self.environment.commit()

    def undo_forced(self) -> None:
        """Take back what a commit that failed has left."""
        if self.attributes.force and self.environment is not None:
            self.environment.abort()

    def detach(self) -> None:
        """Drop the stored entries: the object is deleted."""
        self.promised.clear()
        if self.environment is not None and self.entries is not None:
            self.environment.drop_queue(self.entries.name)
            self.environment.delete_meta(self._allocation_key())

    def _allocation_key(self) -> bytes:
        return b"allocation/%d" % self.number

    def _save_allocation(self) -> None:
        assert self.environment is not None
        kept = json.dumps([self.allocated, self.last_reclaim_ns]).encode("ascii")
        self.environment.put_meta(self._allocation_key(), kept)

    def save(self) -> dict[str, Any]:
        """What the catalogue keeps of it."""
        return {
            **SystemObject.save(self), "attributes": self.attributes._asdict(), "autorcl": self.autorcl,
            "enforce": self.enforce, "journal": self.journal,
        }  # fmt: skip
