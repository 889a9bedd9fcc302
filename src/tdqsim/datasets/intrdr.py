"""The internal reader: the records written to it are JCL, which it collects into jobs.

A job is submitted at the next JOB card, at ``/*EOF``, or at close. ``/*DEL`` and ``/*PURGE`` discard the job that is
being collected, ``/*SCAN`` marks it as one that is only checked. ``/*PURGE`` without a job that is being collected
deletes the job before it in the stream: if this reader submitted it, it is removed from the log, unless a handler
(``JobLog.on_submit``) has taken it. In-stream data after ``DD DATA`` may contain cards
that begin with ``//``; they are data up to the delimiter. Cards before the first JOB card belong to no job and are
dropped, as in JES; they are counted, and the first of them is logged.

The reader adds its ``job_user`` to a JOB statement without USER. The USER of a JOB statement is passed to
``check_user``, which may refuse the card. Both apply to the whole statement, including its continuation cards
(:mod:`~tdqsim.datasets.jobcard`).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path

from tdqsim.core.codepage import CodePage, codepage
from tdqsim.datasets._limits import limit
from tdqsim.datasets.dcb import Dcb
from tdqsim.datasets.errors import RecordError, SpaceExhausted
from tdqsim.datasets.jobcard import read_card, with_user
from tdqsim.datasets.jobs import Cards, JobLog, SubmittedJob
from tdqsim.datasets.writer import DatasetWriter

_LOG = logging.getLogger("tdqsim.datasets")
_JOB_CARD = re.compile(r"//([A-Z@#$][A-Z0-9@#$]{0,7}) +JOB(?: |$)", re.ASCII)
_DD_DATA = re.compile(r"//(?:\S*) +DD +(\*|DATA)(?:[ ,]|$)(?:\S*?DLM=('?)([^\s,']{2,18})\2)?", re.ASCII)
_CONTROL = re.compile(r"/\*(EOF|DEL|PURGE|SCAN)(?: |$)", re.ASCII)


def _accept_any_user(_user: str) -> None:
    """Accept every USER in a JOB statement."""


class InternalReader(DatasetWriter):
    """A SYSOUT data set with the writer name INTRDR.

    Attributes:
        submitter: who writes the cards; set it before ``put()``. The job keeps the value at the time of its JOB card.
        job_user: added as USER to a JOB statement that has none; empty: nothing is added.
        check_user: called with the USER of a JOB statement before its card is accepted; it refuses the card by raising
            an exception.
        cards_ignored: cards that belonged to no job.
    """

    def __init__(self, log: JobLog, page: CodePage | str = "037", dcb: Dcb | None = None) -> None:
        super().__init__(Path("INTRDR"), dcb or Dcb())
        self.submitter = self.job_user = ""
        self.check_user: Callable[[str], object] = _accept_any_user
        self.cards_ignored = 0
        self._log = log
        self._page = codepage(page)
        self._name = self._owner = self._delimiter = ""
        self._cards: list[bytes] = []
        self._scan_only = self._in_statement = False
        self._previous: SubmittedJob | None = None

    def put(self, record: bytes) -> None:
        """Accept one card of 1-254 bytes.

        Raises:
            RecordError: the card is empty or longer, or there is no room for USER after the operands of its statement.
            SpaceExhausted: the job has a million cards and no end.
            DatasetNotOpen: the reader is closed.
        """
        if not self._open:
            raise self._not_open()
        longest = limit("intrdr_record_maximum")
        if not 1 <= len(record) <= longest:
            raise RecordError(self.path, f"a card of {len(record)} bytes; 1 to {longest} are allowed")
        text = self._page.printable(record).rstrip()
        first, *more = self._with_user(text, record)
        self.records_written += 1
        if control := self._control(text):
            self._obey(control)
        elif job_card := None if self._delimiter else _JOB_CARD.match(text):
            self._begin(job_card[1], first)
        elif self._name:
            self._add(text, first)
        else:
            self._drop(text, record)
        self._cards += more

    def _with_user(self, text: str, record: bytes) -> tuple[bytes, ...]:
        """Return the card; the last card of a JOB statement without USER with USER added, as one or two cards."""
        begins = not self._delimiter and _JOB_CARD.match(text) is not None
        card = read_card(text, first=begins) if begins or self._in_statement else None
        if card is None:
            self._in_statement = False
            return (record,)
        if card.user:
            self.check_user(card.user)
        cards: tuple[bytes, ...] = (record,)
        if self.job_user and not card.user and not card.continued:
            try:
                texts = with_user(self._page.printable(record), card, self.job_user)
            except ValueError as error:
                raise RecordError(self.path, str(error)) from error
            cards = tuple(self._overlaid(record, text) for text in texts)
        self._in_statement = card.continued and not card.user
        return cards

    def _overlaid(self, record: bytes, text: str) -> bytes:
        """Encode the text as a card; where it does not differ from the record, keep the record's bytes.

        Encoding alone would replace bytes that cannot be displayed.
        """
        old_text = self._page.printable(record).ljust(len(text), "\0")
        old_bytes = record.ljust(len(text), b"\0")
        new_bytes = self._page.encode(text)
        return bytes(
            old if was == now else new for old, new, was, now in zip(old_bytes, new_bytes, old_text, text, strict=False)
        )

    def close(self) -> None:
        """Submit the job that is being collected, and close the reader."""
        if self._open:
            self._open = False
            self._submit(self._finish())

    def _drop(self, text: str, record: bytes) -> None:
        self.cards_ignored += 1
        if self.cards_ignored == 1:
            why = ""
            if record.startswith((b"//", b"/*")) and not text.startswith("/"):
                why = f"; it is JCL in ASCII, and the reader takes code page {self._page.name}"
            _LOG.warning("INTRDR: a card that belongs to no job is dropped: %r%s", text, why)

    def _control(self, text: str) -> str:
        # In-stream data with its own delimiter (DLM) may contain control records: they are data there.
        match = _CONTROL.match(text) if self._delimiter in {"", "/*"} else None
        return match[1] if match else ""

    def _obey(self, control: str) -> None:
        if control == "SCAN":
            self._scan_only = True
        elif control == "EOF":
            self._submit(self._finish())
        else:
            self._discard(purge=control == "PURGE")

    def _discard(self, *, purge: bool) -> None:
        """Discard the job that is being collected. If there is none and ``purge`` is set, delete the job before it."""
        collecting, previous = self._finish() is not None, self._previous
        if not collecting and purge and previous is not None:
            self._log.purge(previous)
        if collecting or purge:
            self._previous = None  # the job before is now one that was discarded or deleted

    def _begin(self, name: str, record: bytes) -> None:
        # Begin the new job before submitting the old one: if its handler raises an exception, this card is not lost.
        finished = self._finish()
        self._name, self._owner = name, self.submitter
        self._cards.append(record)
        self._submit(finished)

    def _add(self, text: str, record: bytes) -> None:
        if len(self._cards) >= limit("intrdr_job_cards"):
            self.records_written -= 1
            raise SpaceExhausted(self.path, f"job {self._name} has {len(self._cards)} cards and no end", code="B37")
        self._cards.append(record)
        if self._delimiter:
            if text.startswith(self._delimiter):
                self._delimiter = ""
        elif match := _DD_DATA.match(text):
            # Data after DD * ends at any card that begins with //, so no delimiter is needed for it.
            self._delimiter = match[3] or ("/*" if match[1] == "DATA" else "")

    def _submit(self, finished: Cards | None) -> None:
        if finished is not None:
            self._previous = None
            job = self._log.take(finished, self._page)
            self._previous = job if self._log.on_submit is None else None

    def _finish(self) -> Cards | None:
        """Return the collected job and reset the reader; None when no job was being collected."""
        finished = Cards(self._name, self._cards, self._owner, self._scan_only) if self._name else None
        self._name = self._owner = self._delimiter = ""
        self._cards = []
        self._scan_only = False
        return finished
