"""Journals: records of the sends, receives and clears of journaled data queues, journal code Q.

A journal is an object in a library. Its entries are durable, and each is committed together with the operation that it
records. A receive is recorded without the entry's data (QR and QL entries in the manual have none); a peek and QMHRDQM
are not recorded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from tdqsim.core.codepage import codepage
from tdqsim.core.store import Durable, DurableQueue, Entry, Work
from tdqsim.core.symbolic_links import stays_here
from tdqsim.facts import table
from tdqsim.ibmi.data import JobData, SystemData
from tdqsim.ibmi.dts import dts_to_datetime, ns_to_dts
from tdqsim.ibmi.entries import STAMP_BYTES
from tdqsim.ibmi.layouts import layout
from tdqsim.ibmi.objects import SystemObject
from tdqsim.ibmi.queue import DataQueue

JOURNAL_TYPES: Mapping[str, str] = MappingProxyType({row["type"]: row["event"] for row in table("ibmi_journal_types")})
"""The event that each entry type stands for."""

_PAGE = codepage(37)
_ENTRY = layout("JOENT")
_SENT = layout("JOQS")


@dataclass(slots=True, eq=False, repr=False)
class JournalReceiver(SystemObject):
    """A *JRNRCV object: only its name, which a journal takes; a journal here has its entries itself."""

    @property
    def type(self) -> str:
        """``*JRNRCV``."""
        return "*JRNRCV"


@dataclass(slots=True, eq=False, repr=False)
class Journal(SystemObject):
    """A *JRN object and its entries.

    Attributes:
        entries: its stored entries; None while they are not connected.
        receivers: the numbers of the receivers that it was created with.
    """

    entries: DurableQueue | None = None
    receivers: Sequence[int] = ()

    @property
    def type(self) -> str:
        """``*JRN``."""
        return "*JRN"

    def save(self) -> dict[str, Any]:
        """Its fields for the catalogue, without its entries."""
        return {**SystemObject.save(self), **({"receivers": self.receivers} if self.receivers else {})}

    def attach(self, durable: Durable) -> None:
        """Connect the journal to its stored entries."""
        name = b"J%d" % self.number
        self.entries = durable.have_queue(name)

    @property
    def last(self) -> int:
        """The number of its last entry; 0 if it never had one."""
        return self.entries.now.last if self.entries is not None else 0

    def drop(self) -> Work | None:
        """The work that removes the stored entries when the journal is deleted; None if they are not connected."""
        if self.entries is None:
            return None
        work = self.entries.work()
        work.drop()
        return work

    def read(self) -> Iterator[JournalEntry]:
        """The entries, oldest first."""
        return (entry for _, entry in self.timed())

    def timed(self, after: int = 0) -> Iterator[tuple[int, JournalEntry]]:
        """The entries with numbers above ``after``, oldest first, each with its moment (nanoseconds since 1970 UTC)."""
        assert self.entries is not None
        for number, (data, *_) in enumerate(self.entries.entries(skip=after), after + 1):
            moment = int.from_bytes(data[:STAMP_BYTES], "big")
            yield moment, JournalEntry(number, "Q", **_ENTRY.parse(data[STAMP_BYTES:], _PAGE))


class JournalEntry(NamedTuple):
    """One journal entry.

    Attributes:
        sequence_number: its number in the journal, from 1.
        code: ``Q``.
        type: the entry type, such as ``QS``; see :data:`JOURNAL_TYPES`.
        time_stamp: *DTS.
        job_name: the name of the job.
        user: the user of the job.
        number: the job number.
        current_user: the profile under which the job ran.
        object: the name of the data queue at that time.
        library: the library of the data queue at that time.
        entry_specific_data: format JOQS for QS and QK, the key for QL and QJ, otherwise empty.
    """

    sequence_number: int
    code: str
    type: str
    time_stamp: bytes
    job_name: str
    user: str
    number: str
    current_user: str
    object: str
    library: str
    entry_specific_data: bytes

    @property
    def event(self) -> str:
        """The event that the type stands for."""
        return JOURNAL_TYPES[self.type]

    @property
    def time(self) -> datetime:
        """Local time of the system."""
        return dts_to_datetime(self.time_stamp)

    @property
    def entry_data(self) -> bytes:
        """For QS and QK the key of a keyed queue, the sender ID if included, and the data; otherwise empty."""
        if self.type not in ("QS", "QK"):
            return b""
        data: bytes = _SENT.parse(self.entry_specific_data, _PAGE)["entry_data"]
        return data


class JournalWriter:
    """Makes the journal entries of a system: changes of the store to commit with the operation that they record."""

    def __init__(self, system: SystemData, journal_of: Callable[[DataQueue], Journal | None]) -> None:
        self._system, self._journal_of = system, journal_of

    def sent(self, job: JobData, queue: DataQueue, entry: Entry) -> tuple[Work, ...]:
        """The journal entry for a send."""
        if not queue.journal:
            return ()
        values = {
            "time_stamp": ns_to_dts(entry.time_ns, self._system.offset_at(entry.time_ns)),
            "sender_id_included": "Y" if entry.sender else "N",
            "entry_data": entry.key + entry.sender + entry.data,
        }
        return self.entry(job, queue, "QK" if queue.key_length else "QS", _SENT.build(values, _PAGE))

    def received(self, job: JobData, queue: DataQueue, key: bytes) -> tuple[Work, ...]:
        """The journal entry for a receive that removes an entry."""
        return self.entry(job, queue, "QL" if queue.key_length else "QR", key) if queue.journal else ()

    def cleared(self, job: JobData, queue: DataQueue, key: bytes) -> tuple[Work, ...]:
        """The journal entry for a clear, of the whole queue or by key."""
        return self.entry(job, queue, "QJ" if key else "QC", key) if queue.journal else ()

    def entry(self, job: JobData, queue: DataQueue, entry_type: str, specific: bytes = b"") -> tuple[Work, ...]:
        """The work that adds one entry to the queue's journal; none when there is no journal."""
        journal = self._journal_of(queue)
        if journal is None or journal.entries is None:
            return ()
        now = self._system.clock.time_ns()
        values = {
            "type": entry_type, "time_stamp": ns_to_dts(now, self._system.offset_at(now)), "job_name": job.name,
            "user": job.user, "number": job.number, "current_user": job.current_user, "object": queue.name,
            "library": queue.library, "entry_specific_data": specific,
        }  # fmt: skip
        work = journal.entries.work()
        work.put(now.to_bytes(STAMP_BYTES, "big") + _ENTRY.build(values, _PAGE))
        return (work,)


def sent_key(block: bytes, key_length: int) -> bytes:
    """The key in the entry-specific data of a QK journal entry, for replaying the entry with QSNDDTAQ."""
    return bytes(block[_SENT.length : _SENT.length + key_length])


def export_journal(entries: Iterable[JournalEntry], path: Path | str) -> int:
    """Write journal entries as JSON lines, bytes in hexadecimal; returns how many."""
    written = 0
    with stays_here(path).open("w", encoding="utf-8") as file:
        for entry in entries:
            row = entry._asdict() | {
                "time_stamp": entry.time_stamp.hex(), "time": entry.time.isoformat(), "event": entry.event,
                "entry_specific_data": entry.entry_specific_data.hex(), "entry_data": entry.entry_data.hex(),
            }  # fmt: skip
            file.write(json.dumps(row) + "\n")
            written += 1
    return written
