"""The state of one queue, read in the engine's thread: INQUIRE, the outcome of each request, a page of records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from tdqsim.cics import Condition, Region
from tdqsim.cics.kernel.abstime import local_time
from tdqsim.cics.look.explain import Prediction, explain
from tdqsim.cics.look.state import numitems_of
from tdqsim.cics.queues.checks import final_target
from tdqsim.cics.spi.set import check_set
from tdqsim.errors import TdqError
from tdqsim.facts import INQUIRE_OPTIONS, SET_TDQUEUE_OPTIONS, Cvda
from tdqsim.server.looking import inquired, peek, probe

__all__ = [
    "SETTABLE",
    "QueueLook",
    "RecordPage",
    "as_value",
    "foresee_set",
    "inquire",
    "look_at",
    "record_at",
    "records_of",
]

SETTABLE: Final = {option.name: option.types for option in SET_TDQUEUE_OPTIONS.values()}
"""The options of SET TDQUEUE, and the types of queue that have each."""


@dataclass(frozen=True, slots=True)
class QueueLook:
    """A queue at one moment.

    Attributes:
        options: (option, value, number) as INQUIRE TDQUEUE gives them; the number is that of a CVDA, else empty.
        explanation: why it is as it is, in sentences.
        commands: what each request would meet, by its name.
        refused: why INQUIRE was refused; empty when it was not.
    """

    options: tuple[tuple[str, str, str], ...]
    explanation: tuple[str, ...]
    commands: dict[str, Prediction]
    refused: str = ""


@dataclass(frozen=True, slots=True)
class RecordPage:
    """Some records.

    Attributes:
        position: of the first of them; the queue's first is 0.
        records: the records.
        count: how many there are; -1 when that is not known without reading all.
        refused: why there are none to be seen; empty when they were.
    """

    position: int
    records: tuple[bytes, ...]
    count: int
    refused: str = ""


def look_at(region: Region, name: str, userid: str) -> QueueLook:
    """Look at a queue with a user's eyes."""
    pause = partial(region.dispatcher.yield_now, always=True)
    found = explain(region, name, task=probe(region, userid), pause=pause)
    try:
        options = inquire(region, name, userid)
    except Condition as condition:
        return QueueLook((), found.statements, found.commands, str(condition))
    return QueueLook(options, found.statements, found.commands)


def inquire(region: Region, name: str, userid: str) -> tuple[tuple[str, str, str], ...]:
    """The answer of INQUIRE TDQUEUE, without a task, an event or a statistic.

    Raises:
        Condition: QIDERR, NOTAUTH.
    """
    return tuple(_option(word, value) for word, value in inquired(region, name, userid).as_dict().items())


def _option(word: str, value: int | str) -> tuple[str, str, str]:
    if INQUIRE_OPTIONS["TDQUEUE"][word].receiver == "ABSTIME" and isinstance(value, int) and value > 0:
        return word, f"{value} ({local_time(value):%Y-%m-%d %H:%M:%S})", ""
    if isinstance(value, Cvda):
        return word, value.name, str(int(value))
    return word, str(value).rstrip(), ""


def records_of(
    region: Region, name: str, position: int, limit: int, *, with_uncommitted: bool, userid: str = ""
) -> RecordPage:
    """A page of records; of a queue of millions no more than the page is read.

    A position behind the last record gives the last page.
    """
    try:
        count = numitems_of(region, final_target(region, name).name)
        if count is not None and not with_uncommitted:
            position = min(position, max(count - 1, 0))
        found = peek(region, name, userid, position, limit, with_uncommitted=with_uncommitted)
        return RecordPage(position, tuple(found), -1 if count is None or with_uncommitted else count)
    except TdqError as error:
        return RecordPage(0, (), 0, str(error))


def record_at(region: Region, name: str, position: int, *, with_uncommitted: bool, userid: str = "") -> bytes | None:
    """One record; None when there is none at that position any more."""
    found = records_of(region, name, position, 1, with_uncommitted=with_uncommitted, userid=userid)
    return found.records[0] if found.records and found.position == position else None


def foresee_set(region: Region, name: str, userid: str, option: str, value: str) -> str:
    """The condition that SET TDQUEUE of one option would get, as a sentence."""
    try:
        check_set(probe(region, userid), name, {option: as_value(option, value)})
    except Condition as condition:
        resp2 = f" RESP2 {condition.resp2}" if condition.resp2 else ""
        return f"would get {condition.name}{resp2}: {condition.detail}"
    except (TdqError, ValueError) as error:
        return f"is no value: {error}"
    return "would go well"


def as_value(option: str, value: str) -> str | int:
    """A value as SET takes it.

    Raises:
        ValueError: the option needs a number, and the value is none.
    """
    return int(value) if SET_TDQUEUE_OPTIONS[option].kind == "BINARY" else value.strip().upper()
