"""Journals: what was sent to, received from and cleared on a journaled data queue, journal code Q.

A journal is an object in a library; its entries are forced, and each is committed with the operation it tells of. A
receive is recorded without the entry's data (the manual's QR and QL entries have none); a peek and QMHRDQM are not
recorded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from tdqsim.core.codepage import codepage
from tdqsim.core.store import Entry, Environment, StoredQueue
from tdqsim.facts import table
from tdqsim.ibmi._dts import dts_to_datetime, ns_to_dts
from tdqsim.ibmi._layout import layout
from tdqsim.ibmi._objects import SystemObject

if TYPE_CHECKING:
    from tdqsim.ibmi._job_core import JobCore
    from tdqsim.ibmi._queue import DataQueue
    from tdqsim.ibmi._system import System

__all__ = ["JOURNAL_TYPES", "Journal", "JournalEntry", "JournalWriter", "export_journal", "replayed", "sent_key"]

JOURNAL_TYPES: Mapping[str, str] = MappingProxyType({row["type"]: row["event"] for row in table("ibmi_journal_types")})
"""Entry types and what they tell."""

_PAGE = codepage(37)
_ENTRY = layout("JOENT")
_SENT = layout("JOQS")


@dataclass(slots=True, eq=False, repr=False)
class Journal(SystemObject):
    """A *JRN object and its entries."""

    entries: StoredQueue | None = None

    @property
    def type(self) -> str:
        """``*JRN``."""
        return "*JRN"

    def attach(self, environment: Environment) -> None:
        """Connect with the stored entries."""
        name = b"J%d" % self.number
        self.entries = environment.queue(name) or environment.create_queue(name)

    def read(self) -> Iterator[JournalEntry]:
        """The entries, oldest first."""
        return (entry for _, entry in self.timed())

    def timed(self, after: int = 0) -> Iterator[tuple[int, JournalEntry]]:
        """The entries with numbers above ``after``, oldest first, each with its moment (nanoseconds since 1970 UTC)."""
        assert self.entries is not None
        for stored in self.entries.entries(after=after):
            yield stored.time_ns, JournalEntry(stored.seq, "Q", **_ENTRY.parse(stored.data, _PAGE))


class JournalEntry(NamedTuple):
    """One journal entry.

    Attributes:
        sequence_number: rising by one in each journal.
        code: ``Q``.
        type: such as ``QS``; see :data:`JOURNAL_TYPES`.
        time_stamp: *DTS.
        job_name: whose operation it was.
        user: the user of the job.
        number: its job number.
        current_user: the profile it ran under.
        object: name of the data queue then.
        library: its library then.
        entry_specific_data: format JOQS for QS and QK, the key for QL and QJ, else empty.
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
        """What the type tells."""
        return JOURNAL_TYPES[self.type]

    @property
    def time(self) -> datetime:
        """Local time of the system."""
        return dts_to_datetime(self.time_stamp)

    @property
    def entry_data(self) -> bytes:
        """For QS and QK: key of a keyed queue, sender ID when included, data; else empty."""
        if self.type not in ("QS", "QK"):
            return b""
        data: bytes = _SENT.parse(self.entry_specific_data, _PAGE)["entry_data"]
        return data


class JournalWriter:
    """Writes the entries of one system."""

    def __init__(self, system: System) -> None:
        self._system = system

    def sent(self, job: JobCore, queue: DataQueue, entry: Entry) -> None:
        """An entry was sent."""
        if queue.journal:
            values = {
                "time_stamp": ns_to_dts(entry.time_ns, self._system.offset_at(entry.time_ns)),
                "sender_id_included": "Y" if entry.sender else "N",
                "entry_data": entry.key + entry.sender + entry.data,
            }
            self.write(job, queue, "QK" if queue.key_length else "QS", _SENT.build(values, _PAGE))

    def received(self, job: JobCore, queue: DataQueue, key: bytes) -> None:
        """An entry was removed by a receive."""
        if queue.journal:
            self.write(job, queue, "QL" if queue.key_length else "QR", key)

    def cleared(self, job: JobCore, queue: DataQueue, key: bytes) -> None:
        """The queue was cleared, all of it or by key."""
        if queue.journal:
            self.write(job, queue, "QJ" if key else "QC", key)

    def write(self, job: JobCore, queue: DataQueue, entry_type: str, specific: bytes = b"") -> None:
        """One entry, committed with what else is pending in the durable environment."""
        journal = self._system.journal_of(queue)
        if journal is None or journal.entries is None:
            return
        now = self._system.clock.time_ns()
        values = {
            "type": entry_type, "time_stamp": ns_to_dts(now, self._system.offset_at(now)), "job_name": job.name,
            "user": job.user, "number": job.number, "current_user": job.current_user, "object": queue.name,
            "library": queue.library, "entry_specific_data": specific,
        }  # fmt: skip
        journal.entries.put(_ENTRY.build(values, _PAGE), time_ns=now)
        self._system.store.durable.commit()


def replayed(job: JobCore, queue: DataQueue, block: bytes) -> tuple[bytes, bytes]:
    """Data and sender ID of the entry-specific data of a QS or QK journal entry.

    The key of a QK entry is passed beside it and stands in front of the data here.

    Raises:
        EscapeMessage: CPF2498 when the block is shorter than its fixed part; CPF2207 when it has a sender ID and the
            caller may not use the profile named in it.
    """
    if len(block) <= _SENT.length:
        job.fail("CPF2498", queue.name, queue.library, queue.maxlen)
    values = _SENT.parse(block, _PAGE)
    data = values["entry_data"][queue.key_length :]
    if values["sender_id_included"] != "Y":
        return data, job.sender_id if queue.sender_id else b""
    length = layout("SENDERID").length
    sender, data = data[:length], data[length:]
    if queue.sender_id:
        _check_profile(job, sender)
    return data, sender if queue.sender_id else b""


def sent_key(block: bytes, key_length: int) -> bytes:
    """The key in the entry-specific data of a QK journal entry, which is to be passed beside it."""
    return bytes(block[_SENT.length : _SENT.length + key_length])


def _check_profile(job: JobCore, sender: bytes) -> None:
    named = layout("SENDERID").parse(sender, _PAGE).get("current_user", "")
    if not job.may_use_profile(named):
        job.fail("CPF2207", named, "USRPRF", "QSYS")


def export_journal(entries: Iterable[JournalEntry], path: Path | str) -> int:
    """Write journal entries as JSON lines, bytes in hexadecimal; returns how many."""
    count = 0
    with Path(path).open("w", encoding="utf-8") as file:
        for count, entry in enumerate(entries, 1):  # noqa: B007  (count is the result)
            row = entry._asdict() | {
                "time_stamp": entry.time_stamp.hex(), "time": entry.time.isoformat(), "event": entry.event,
                "entry_specific_data": entry.entry_specific_data.hex(), "entry_data": entry.entry_data.hex(),
            }  # fmt: skip
            file.write(json.dumps(row) + "\n")
    return count
