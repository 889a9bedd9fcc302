"""The events of a history: of a region, and of jobs that use the data queues of an IBM i system.

A file begins with the version of its format (``{"format": 1}``); a later version of tdqsim reads it. Then each event
is a JSON array of its attributes in order, without the empty ones at its end; bytes are hexadecimal. The second value
shows the kind of event: a task is a number, a job is a name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from tdqsim.errors import UsageError, WrongType, WrongValue
from tdqsim.facts import FORMATS

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SHORT: Final = 5
_JOB_SLASHES: Final = 2
_KINDS: Final = {
    **dict.fromkeys(("triggerlevel", "count", "messages", "keylen"), int),
    **dict.fromkeys(("recovstatus", "atifacility", "start", "seq", "force", "type", "key", "key_order", "to"), str),
    **dict.fromkeys(("what", "holder"), str),
    **dict.fromkeys(("records", "entries"), list),
}
Facts = Mapping[str, Any]
"""Attributes that only some kinds of events have, by name."""
RawEvent = tuple[Any, ...]
"""An event as the recorder receives it: its values in order, without the empty ones at its end."""
Events = list[Any]
"""Events: all are an ``Event`` for a region, and a ``JobEvent`` for a system."""

encode: Final = json.JSONEncoder(separators=(",", ":")).encode
"""A value as it is written in a line."""


def format_head(kind: str) -> str:
    """The first line of a file: the version of its format, as ``facts/formats.tsv`` has it."""
    return f"{json.dumps({'format': FORMATS[kind]})}\n"


def check_head(kind: str, place: str, line: str) -> bool:
    """Whether a line is the head of a file of this format; files may be put together.

    Raises:
        UsageError: it is the head of another format; the message has both versions.
    """
    if not line.startswith('{"format":'):
        return False
    if line != format_head(kind):
        raise UsageError(
            f"{place}: the {kind} begins with {line.strip()[:80]}; this tdqsim reads format {FORMATS[kind]}"
        )
    return True


def check_not_empty(kind: str, path: Path | str) -> None:
    """Refuse a file without a byte, which has lost its head.

    Raises:
        UsageError: it is empty.
    """
    if not Path(path).stat().st_size:
        raise UsageError(f"{path}: the file is empty; a {kind} begins with {format_head(kind).strip()}")


class Event(NamedTuple):
    """Something that happened in a region.

    Attributes:
        kind: see :mod:`tdqsim.testing.history`.
        task: number of the task; 0 for none.
        queue: the queue, after aliases; empty for none.
        data: the record.
        time_ns: the time on the region's clock.
        transid: the task's transaction, if the event has it.
        uow: the unit of work, as hexadecimal; empty for none.
        resp: name of the condition.
        resp2: RESP2.
        length: the record's true length if ``data`` was truncated (LENGERR); 0 otherwise.
        info: attributes that only some kinds have, by name.
    """

    kind: str
    task: int
    queue: str
    data: bytes
    time_ns: int
    transid: str = ""
    uow: str = ""
    resp: str = "NORMAL"
    resp2: int = 0
    length: int = 0
    info: Mapping[str, Any] = {}

    def line(self, show: Callable[[bytes], str] = repr) -> str:
        """The event as text on one line."""
        task = f"task {self.task}{f' {self.transid}' if self.transid else ''}" if self.task else "-"
        words = [_moment(self.time_ns), f"{task:<14}", self.kind, self.queue]
        if self.data:
            words.append(show(self.data))
        if self.resp != "NORMAL":
            words.append(self.resp if not self.resp2 else f"{self.resp} RESP2 {self.resp2}")
        words += [f"{name}={value}" for name, value in self.info.items() if name != "records"]
        return " ".join(word for word in words if word)

    def as_json(self) -> str:
        """The event as a line of a file."""
        values: list[object] = [*self]
        values[3] = self.data.hex()
        if isinstance(self.info.get("records"), list):
            values[10] = {**self.info, "records": [record.hex() for record in self.info["records"]]}
        return _cut(values, _DEFAULTS)


class JobEvent(NamedTuple):
    """An operation of a job on a data queue, or its result.

    Attributes:
        kind: the API or command, such as QSNDDTAQ; see :mod:`tdqsim.testing.history` for the others.
        job: ``number/user/name``; empty for none.
        queue: ``LIB/NAME``; if the operation failed, as the caller named it; empty for none.
        data: the entry that was sent or received; empty for none.
        time_ns: the time on the system's clock.
        key: its key.
        message: the ID of the escape message that ended the operation; empty if it succeeded.
        info: attributes that only some kinds have, by name; keys in hexadecimal.
    """

    kind: str
    job: str
    queue: str
    data: bytes
    time_ns: int
    key: bytes = b""
    message: str = ""
    info: Mapping[str, Any] = {}

    def line(self, show: Callable[[bytes], str] = repr) -> str:
        """The event as text on one line."""
        words = [_moment(self.time_ns), f"{self.job or '-':<26}", self.kind, self.queue]
        words += [show(self.data)] if self.data else []
        words += [f"key {show(self.key)}"] if self.key else []
        words += [self.message] if self.message else []
        words += [f"{name}={value}" for name, value in self.info.items() if name != "entries"]
        return " ".join(word for word in words if word)

    def as_json(self) -> str:
        """The event as a line of a file."""
        values: list[object] = [*self]
        values[3], values[5] = self.data.hex(), self.key.hex()
        return _cut(values, _JOB_DEFAULTS)


AnyEvent = Event | JobEvent
_DEFAULTS: Final[list[object]] = ["", 0, "", b"", 0, "", "", "NORMAL", 0, 0, {}]
_JOB_DEFAULTS: Final[list[object]] = ["", "", "", b"", 0, "", "", {}]


def _moment(time_ns: int) -> str:
    return f"{_EPOCH + timedelta(microseconds=time_ns // 1000):%H:%M:%S.%f}"


def _cut(values: list[object], defaults: list[object]) -> str:
    while values[-1] == defaults[len(values) - 1] and len(values) > _SHORT:
        values.pop()
    return encode(values)


def load_history(path: Path | str) -> Events:
    """The events of a file, each an :class:`Event` or a :class:`JobEvent`.

    Raises:
        UsageError: a line is not an event, or the file has another format; the message has the line's number.
    """
    check_not_empty("history", path)
    with Path(path).open(encoding="ascii", errors="replace") as lines:
        placed = ((f"{path}:{number}", line) for number, line in enumerate(lines, 1))
        return [_parsed(place, line) for place, line in placed if not check_head("history", place, line)]


def _parsed(place: str, line: str) -> AnyEvent:
    try:
        values = json.loads(line)
        values[3] = bytes.fromhex(values[3])
        return _job_event(values) if isinstance(values[1], str) else _event(values)
    except (ValueError, TypeError, IndexError, AttributeError, KeyError, RecursionError) as error:
        raise UsageError(f"{place}: this is not an event of a history: {line[:80]!r}") from error


def _event(values: list[Any]) -> Event:
    event = Event(*values)
    _check((event.kind, event.queue, event.transid, event.uow, event.resp), str)
    _check((event.task, event.time_ns, event.resp2, event.length), int)
    _check_info(event.info)
    if isinstance(event.info.get("records"), list):
        event.info["records"][:] = [bytes.fromhex(record) for record in event.info["records"]]
    return event


def _job_event(values: list[Any]) -> JobEvent:
    if len(values) > _SHORT:
        values[5] = bytes.fromhex(values[5])
    event = JobEvent(*values)
    _check((event.kind, event.queue, event.message), str)
    _check((event.time_ns,), int)
    _check_info(event.info)
    for data, key in event.info.get("entries", ()):
        bytes.fromhex(data), bytes.fromhex(key)
    bytes.fromhex(event.info.get("key", ""))
    if event.job and event.job.count("/") != _JOB_SLASHES:
        raise WrongValue(event.job)
    return event


def _check_info(info: Facts) -> None:
    """Check the types of the attributes that the checker uses; others may have any type."""
    _check((info,), dict)
    for name, value in info.items():
        wanted = _KINDS.get(name)
        if wanted is not None and not isinstance(value, wanted):
            raise WrongType(name, value)


def _check(values: Iterable[object], kind: type) -> None:
    if not all(isinstance(value, kind) and (kind is not int or not isinstance(value, bool)) for value in values):
        raise WrongType(values)
