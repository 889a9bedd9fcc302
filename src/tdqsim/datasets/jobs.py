"""The jobs that the internal reader took, in memory or kept in a directory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tdqsim.core.codepage import CodePage, codepage
from tdqsim.datasets.bulk import read_records, write_records
from tdqsim.datasets.dcb import Dcb, RecordFormat
from tdqsim.datasets.errors import DatasetIOError, OpenError
from tdqsim.datasets.jobcard import user_of

__all__ = ["Cards", "JobLog", "SubmittedJob"]

_FILE = re.compile(r"JOB([0-9]{5,9})", re.ASCII)
_HEADER = re.compile(rb"([A-Z0-9@#$]{1,8}) ([0-9]{1,20}) (SCAN|RUN) ([0-9]{1,5}) ([^\n]{0,200})")
_KEPT_AS = Dcb(RecordFormat.RDW)


class Cards(NamedTuple):
    """A job in the making."""

    name: str
    cards: list[bytes]
    submitter: str
    scan_only: bool


@dataclass(frozen=True, slots=True)
class SubmittedJob:
    """A job that the internal reader took.

    Attributes:
        number: 1 for the first job of this log; ``id`` is ``JOB00001``.
        name: the name on the JOB card.
        cards: its records as they were put, JOB card first, control records left out.
        time_ns: when it was taken, UTC nanoseconds since 1970.
        submitter: who put its JOB card, as the caller said (a task's number).
        scan_only: ``/*SCAN`` was among its cards.
        page: the code page that its cards were read in.
    """

    number: int
    name: str
    cards: tuple[bytes, ...]
    time_ns: int
    submitter: str
    scan_only: bool
    page: CodePage

    @property
    def id(self) -> str:
        """The job's identifier as JES writes it."""
        return f"JOB{self.number:05d}"

    @property
    def user(self) -> str:
        """The USER of its JOB statement; empty when it has none and so runs for the user of the region."""
        return user_of(self.text())

    def text(self) -> list[str]:
        """The cards for people: trailing blanks off, what cannot be displayed as full stops."""
        return [self.page.printable(card).rstrip() for card in self.cards]


class JobLog:
    """The jobs taken by all internal readers that share it, in order.

    Args:
        time_ns: where the time comes from.
        on_submit: called with each job after it is in the log. An exception of it is raised from the ``put()`` of the
            record.
        root: a directory that keeps them, one file a job, so that another process can list them later; without it
            they are kept in memory.
    """

    def __init__(
        self,
        time_ns: Callable[[], int],
        on_submit: Callable[[SubmittedJob], None] | None = None,
        root: Path | str | None = None,
    ) -> None:
        self._time_ns = time_ns
        self.on_submit = on_submit
        self._root = None if root is None else Path(root)
        self._kept: list[SubmittedJob] = []
        self._last = 0

    def __len__(self) -> int:
        return len(self._kept) if self._root is None else len(self._numbers())

    def __iter__(self) -> Iterator[SubmittedJob]:
        if self._root is None:
            return iter(tuple(self._kept))
        return (self._read(self._root / f"JOB{number:05d}", number) for number in self._numbers())

    def __getitem__(self, index: int) -> SubmittedJob:
        if self._root is None:
            return self._kept[index]
        number = self._numbers()[index]
        return self._read(self._root / f"JOB{number:05d}", number)

    def take(self, made: Cards, page: CodePage) -> SubmittedJob:
        """Enter a job and tell the handler.

        Raises:
            DatasetFault: the directory cannot keep it.
        """
        number = self._next_number()
        job = SubmittedJob(number, made.name, tuple(made.cards), self._time_ns(), made.submitter, made.scan_only, page)
        if self._root is None:
            self._kept.append(job)
        else:
            self._write(self._root, job)
        if self.on_submit is not None:
            self.on_submit(job)
        return job

    def _next_number(self) -> int:
        """One more than the last; the directory is read at first, and when another process has added to it."""
        if self._root is None:
            return len(self._kept) + 1
        number = self._last + 1
        if self._last == 0 or (self._root / f"JOB{number:05d}").exists():
            number = max(self._last, *self._numbers(), 0) + 1
        self._last = number
        return number

    def _numbers(self) -> list[int]:
        if self._root is None or not self._root.is_dir():
            return []
        return sorted(
            int(match[1]) for match in (_FILE.fullmatch(entry.name) for entry in self._root.iterdir()) if match
        )

    def _write(self, root: Path, job: SubmittedJob) -> None:
        """The job as a file of records: who, when and how first, then its cards."""
        way = "SCAN" if job.scan_only else "RUN"
        submitter = job.submitter.replace("\n", " ")[:50]
        header = f"{job.name} {job.time_ns} {way} {job.page.ccsid} {submitter}"
        temporary = root / f".{job.id}.new"
        try:
            root.mkdir(parents=True, exist_ok=True)
            temporary.unlink(missing_ok=True)  # a link of that name would be written through
            write_records(temporary, [header.encode(), *job.cards], _KEPT_AS)
            temporary.replace(root / job.id)
        except OSError as error:
            raise DatasetIOError(root, f"job {job.name} cannot be kept: {error.strerror}") from error

    def _read(self, path: Path, number: int) -> SubmittedJob:
        header, *cards = [*read_records(path, _KEPT_AS)] or [b""]
        found = _HEADER.fullmatch(header)
        if found is None:
            raise OpenError(path, f"is no job of an internal reader: it begins {header[:40]!r}")
        page = codepage(found[4].decode())
        submitter = found[5].decode("utf-8", "replace")
        return SubmittedJob(
            number, found[1].decode(), tuple(cards), int(found[2]), submitter, found[3] == b"SCAN", page
        )
