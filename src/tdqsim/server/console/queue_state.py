"""The state of one queue, read in the engine's thread: INQUIRE, predicted results of commands, a page of records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from tdqsim import state
from tdqsim.cics import Condition, Region
from tdqsim.errors import TdqError, WrongValue
from tdqsim.facts import INQUIRE_OPTIONS, SET_TDQUEUE_OPTIONS, Cvda
from tdqsim.languages import local_time
from tdqsim.state import Prediction

SETTABLE: Final = {option.name: option.types for option in SET_TDQUEUE_OPTIONS.values()}
"""The options of SET TDQUEUE, and the types of queue that have each."""


@dataclass(frozen=True, slots=True)
class QueueDetails:
    """The state of a queue in detail.

    Attributes:
        options: (option, value, number) of INQUIRE TDQUEUE; the number is that of a CVDA, otherwise empty.
        explanation: the explanation of its state, in sentences.
        commands: the predicted result of each command, by its name.
        refused: the reason why INQUIRE was refused; empty if it was not.
    """

    options: tuple[tuple[str, str, str], ...]
    explanation: tuple[str, ...]
    commands: dict[str, Prediction]
    refused: str = ""


@dataclass(frozen=True, slots=True)
class RecordPage:
    """A page of records.

    Attributes:
        position: the position of the first record of the page, from 0.
        records: the records.
        count: the number of all records; -1 if it is not known without reading all.
        refused: the reason why the records cannot be read; empty if they can.
    """

    position: int
    records: tuple[bytes, ...]
    count: int
    refused: str = ""


def read_queue(region: Region, name: str, userid: str) -> QueueDetails:
    """Read the state of a queue on behalf of a user."""
    pause = partial(region.dispatcher.yield_now, always=True)
    explanation = state.explain(region, name, userid=userid, pause=pause)
    try:
        options = inquire(region, name, userid)
    except Condition as condition:
        return QueueDetails((), explanation.statements, explanation.commands, str(condition))
    return QueueDetails(options, explanation.statements, explanation.commands)


def inquire(region: Region, name: str, userid: str) -> tuple[tuple[str, str, str], ...]:
    """The result of INQUIRE TDQUEUE, without a task, an event or statistics.

    Raises:
        Condition: QIDERR, NOTAUTH.
    """
    return tuple(_option(word, value) for word, value in state.inquire(region, name, userid=userid).as_dict().items())


def _option(word: str, value: int | str) -> tuple[str, str, str]:
    if INQUIRE_OPTIONS["TDQUEUE"][word].receiver == "ABSTIME" and isinstance(value, int) and value > 0:
        return word, f"{value} ({local_time(value):%Y-%m-%d %H:%M:%S})", ""
    if isinstance(value, Cvda):
        return word, value.name, str(int(value))
    return word, str(value).rstrip(), ""


def read_records(
    region: Region, name: str, position: int, limit: int, *, with_uncommitted: bool, userid: str = ""
) -> RecordPage:
    """A page of records; other records are not read.

    A position after the last record returns the last record.
    """
    try:
        *_, queue = state.aliases(region, name)
        count = state.depth(region, queue)
        if count is not None and not with_uncommitted:
            position = min(position, max(count - 1, 0))
        records = state.records(region, name, userid=userid, skip=position, limit=limit, uncommitted=with_uncommitted)
        return RecordPage(position, tuple(records), -1 if count is None or with_uncommitted else count)
    except TdqError as error:
        return RecordPage(0, (), 0, str(error))


def read_record(region: Region, name: str, position: int, *, with_uncommitted: bool, userid: str = "") -> bytes | None:
    """One record; None if there is no longer a record at that position."""
    page = read_records(region, name, position, 1, with_uncommitted=with_uncommitted, userid=userid)
    return page.records[0] if page.records and page.position == position else None


def predict_set(region: Region, name: str, userid: str, option: str, value: str) -> str:
    """The condition that SET TDQUEUE of one option would get, as a sentence."""
    try:
        state.check_set(region, name, {option: as_value(option, value)}, userid=userid)
    except Condition as condition:
        resp2 = f" {condition.resp2_text}" if condition.resp2_text else ""
        condition.command = condition.command or "SET TDQUEUE"
        return f"would get {condition.name}{resp2}: {condition.detail}{condition.doubt}"
    except (TdqError, ValueError) as error:
        return f"is not a valid value: {error}"
    return "would succeed"


def as_value(option: str, value: str) -> str | int:
    """A value in the type that SET needs.

    Raises:
        ValueError: the option needs a number, and the value is not a number.
    """
    known = SET_TDQUEUE_OPTIONS[option]
    if known.kind != "BINARY":
        return value.strip().upper()
    try:
        return int(value)
    except ValueError:
        raise WrongValue(f"{option} is a number from {known.lowest} to {known.highest}") from None
