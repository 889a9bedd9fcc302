"""A snapshot of an IBM i system for the console, read in the engine's thread as plain values.

The snapshot needs no job. Entries are read in a job with the profile of the user, whose authority is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeVar

from tdqsim.ibmi import DataQueueState, Job, Journal, JournalEntry, System
from tdqsim.server.acting import in_a_job

T = TypeVar("T")
_MOST_JOBS: Final = 200


@dataclass(frozen=True, slots=True)
class SystemSnapshot:
    """The state of a system.

    Attributes:
        libraries: (library, data queues, journals, description).
        queues: the data queues.
        jobs: (qualified name, current user, reason of a wait) of the first active jobs.
        journals: the journals as LIB/NAME.
    """

    libraries: tuple[tuple[str, int, int, str], ...]
    queues: tuple[DataQueueState, ...]
    jobs: tuple[tuple[str, str, str], ...]
    journals: tuple[str, ...]


def read_system(system: System) -> SystemSnapshot:
    """Read the state of a system."""
    libraries, journals = [], []
    for name, library in sorted(system.libraries.items()):
        kinds = [one.type for one in library.objects.values()]
        journals += [one.qualified for one in library.objects.values() if isinstance(one, Journal)]
        libraries.append((name, kinds.count("*DTAQ"), kinds.count("*JRN"), library.text))
    return SystemSnapshot(
        tuple(libraries),
        tuple(map(system.state_of, system.queues())),
        tuple(_job(job) for job in islice(system.jobs.values(), _MOST_JOBS)),
        tuple(sorted(journals)),
    )


def _job(job: Job) -> tuple[str, str, str]:
    waits = job.started.fiber.waiting_for if job.started is not None else None
    return job.qualified_name, job.current_user, "" if waits is None else str(waits.name)


def as_job(system: System, userid: str, action: Callable[[Job], T]) -> T:
    """See :func:`~tdqsim.server.acting.in_a_job`."""
    return in_a_job(system, userid, action, "TDQCONSOLE")


def read_attributes(system: System, userid: str, library: str, queue: str) -> tuple[tuple[str, str], ...]:
    """The fields of RDQD0100."""
    row = as_job(system, userid, lambda job: job.qmhqrdqd(queue, library))
    return tuple((name.replace("_", " "), _shown(value)) for name, value in row._asdict().items())


def _shown(value: object) -> str:
    return value.hex().upper() if isinstance(value, bytes | bytearray) else str(value).rstrip()


def read_entries(
    system: System, userid: str, library: str, queue: str, position: int, limit: int
) -> list[tuple[bytes, bytes, str]]:
    """(data, key, sender) of some entries in the order of the queue."""

    def look(job: Job) -> list[tuple[bytes, bytes, str]]:
        rows = job.qsys2.data_queue_entries(queue, library, skip=position, limit=limit)
        return [(row.message_data_binary, row.key_data or b"", row.sender_job_name or "") for row in rows]

    return as_job(system, userid, look)


def read_journal(system: System, name: str, limit: int) -> list[list[str | int]]:
    """The last entries of a journal, newest first: number, time, type, object, job, user, bytes of data."""
    library, _, short = name.partition("/")
    holder = system.libraries.get(library)
    journal = None if holder is None else holder.objects.get(("*JRN", short))
    if not isinstance(journal, Journal) or journal.entries is None:
        return []
    count = journal.entries.count
    rows = [entry for _, entry in journal.timed(max(count - limit, 0))]
    return [_journal_row(row) for row in reversed(rows)]


def _journal_row(row: JournalEntry) -> list[str | int]:
    """An entry of a journal as a row of a table."""
    return [
        row.sequence_number,
        f"{row.time:%Y-%m-%d %H:%M:%S}",
        f"{row.type} {row.event}",
        f"{row.library.rstrip()}/{row.object.rstrip()}",
        f"{row.number}/{row.user.rstrip()}/{row.job_name.rstrip()}",
        row.current_user.rstrip(),
        len(row.entry_data),
    ]
