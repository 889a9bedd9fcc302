"""The jobs that were submitted to the internal reader, kept in memory or in a directory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tdqsim.core.callables import why_unusable
from tdqsim.core.codepage import CodePage, codepage
from tdqsim.datasets.bulk import read_records, write_records
from tdqsim.datasets.dcb import Dcb, RecordFormat
from tdqsim.datasets.errors import DatasetIOError, OpenError
from tdqsim.datasets.jobcard import user_of
from tdqsim.errors import UsageError

_FILE = re.compile(r"JOB([0-9]{5,9})", re.ASCII)
_HEADER = re.compile(rb"([A-Z0-9@#$]{1,8}) ([0-9]{1,20}) (SCAN|RUN) ([0-9]{1,5}) ([^\n]{0,200})")
_KEPT_AS = Dcb(RecordFormat.RDW)


class Cards(NamedTuple):
    """The cards of a job, before it has a number."""

    name: str
    cards: list[bytes]
    submitter: str
    scan_only: bool


@dataclass(frozen=True, slots=True)
class SubmittedJob:
    """A job that was submitted to the internal reader.

    Attributes:
        number: 1 for the first job of this log; ``id`` is ``JOB00001``.
        name: the name on the JOB card.
        cards: the job's records as they were written, JOB card first, without control records.
        time_ns: the time of submission in UTC nanoseconds since 1970.
        submitter: who wrote the JOB card: the reader's ``submitter`` at that time (a task's number).
        scan_only: ``/*SCAN`` was among the cards.
        page: the code page in which the cards were read.
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
        """The USER of the JOB statement; if it is empty, the job runs under the user ID of the region."""
        return user_of(self.text())

    def text(self) -> list[str]:
        """Return the cards for display: without trailing blanks, and with full stops for undisplayable bytes."""
        return [self.page.printable(card).rstrip() for card in self.cards]


class JobLog:
    """The jobs of all internal readers that share this log, in order of submission.

    Args:
        time_ns: returns the current time.
        on_submit: called with each job after it has been added to the log. Its exceptions are raised from the ``put()``
            of the record.
        root: a directory in which the jobs are kept, one file for each, so that another process can list them later;
            without it, they are kept in memory.
    """

    __slots__ = ("_kept", "_last", "_on_submit", "_root", "_time_ns")

    def __init__(
        self,
        time_ns: Callable[[], int],
        on_submit: Callable[[SubmittedJob], None] | None = None,
        root: Path | str | None = None,
    ) -> None:
        self._time_ns = time_ns
        self._on_submit: Callable[[SubmittedJob], None] | None = None
        self.on_submit = on_submit
        self._root = None if root is None else Path(root)
        self._kept: list[SubmittedJob] = []
        self._last = 0

    @property
    def on_submit(self) -> Callable[[SubmittedJob], None] | None:
        """The function that is called with each job; or None.

        Raises:
            UsageError: the function that is set cannot be called with a job.
        """
        return self._on_submit

    @on_submit.setter
    def on_submit(self, function: Callable[[SubmittedJob], None] | None) -> None:
        if function is not None and (reason := why_unusable(function, "job")):
            raise UsageError(f"on_submit: {reason}")
        self._on_submit = function

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

    def take(self, cards: Cards, page: CodePage) -> SubmittedJob:
        """Add a job to the log and call the handler.

        Raises:
            DatasetFault: the job cannot be written to the directory.
        """
        number, time_ns = self._next_number(), self._time_ns()
        job = SubmittedJob(number, cards.name, tuple(cards.cards), time_ns, cards.submitter, cards.scan_only, page)
        if self._root is None:
            self._kept.append(job)
        else:
            self._write(self._root, job)
        if self.on_submit is not None:
            self.on_submit(job)
        return job

    def purge(self, job: SubmittedJob) -> None:
        """Delete a job from the log; it need not be there any more. This log does not use its number again.

        Raises:
            DatasetFault: its file cannot be deleted.
        """
        if self._root is None:
            self._kept = [each for each in self._kept if each.number != job.number]
            return
        try:
            (self._root / job.id).unlink(missing_ok=True)
        except OSError as error:
            raise DatasetIOError(self._root, f"job {job.name} cannot be deleted: {error.strerror}") from error

    def _next_number(self) -> int:
        """Return the next number; read the directory the first time, and when another process has added a job."""
        number = self._last + 1
        if self._root is not None and (self._last == 0 or (self._root / f"JOB{number:05d}").exists()):
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
        """Write the job as a file of records: a header, then the cards."""
        kind = "SCAN" if job.scan_only else "RUN"
        submitter = job.submitter.replace("\n", " ")[:50]
        header = f"{job.name} {job.time_ns} {kind} {job.page.ccsid} {submitter}"
        temporary = root / f".{job.id}.new"
        try:
            root.mkdir(parents=True, exist_ok=True)
            temporary.unlink(missing_ok=True)  # a symbolic link of that name would be followed
            write_records(temporary, [header.encode(), *job.cards], _KEPT_AS)
            temporary.replace(root / job.id)
        except OSError as error:
            raise DatasetIOError(root, f"job {job.name} cannot be kept: {error.strerror}") from error

    def _read(self, path: Path, number: int) -> SubmittedJob:
        header, *cards = [*read_records(path, _KEPT_AS)] or [b""]
        match = _HEADER.fullmatch(header)
        if match is None:
            raise OpenError(path, f"is no job of an internal reader: it begins {header[:40]!r}")
        name, time_ns, kind, ccsid, submitter = match.groups()
        page = codepage(ccsid.decode())
        submitted_by = submitter.decode("utf-8", "replace")
        return SubmittedJob(number, name.decode(), tuple(cards), int(time_ns), submitted_by, kind == b"SCAN", page)
