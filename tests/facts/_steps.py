"""The steps of an example (see :mod:`tests.facts._examples`): how they are read, and how outcomes are compared."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from enum import Enum
from typing import Any, NamedTuple

from tdqsim.cics import Abend, Condition
from tdqsim.ibmi import EscapeMessage

_TASK = re.compile(r"(T\d)(?:\s+(?!=)(.*))?", re.DOTALL)


class Step(NamedTuple):
    """A step: what is done, by which task, and the outcome that it must have if one is compared."""

    text: str
    task: str
    expected: Any
    compared: bool


class Outcome(NamedTuple):
    """How a step ended: its value, and the error if there was one."""

    value: Any
    error: BaseException | None = None

    def worked(self) -> bool:
        """Whether it ended, and without an error."""
        if isinstance(self.value, dict) and "RESP" in self.value:
            return bool(self.value["RESP"] == "NORMAL")
        return self.error is None and self.value != "waits"


def parse_steps(text: str) -> Iterator[Step]:
    """The steps in a text."""
    for line in re.split(r"\n(?=\S)", text.strip()) if text.strip() else ():
        done, arrow, expected = line.rpartition(" -> ")
        done = (done if arrow else line).strip()
        task = _TASK.fullmatch(done)
        name, what = (task[1], task[2] or "") if task else ("", done)
        yield Step(what, name, literal(expected) if arrow else None, bool(arrow))


def literal(text: str) -> Any:
    """A Python literal, or the words themselves."""
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text.strip()


def plain(value: Any) -> Any:
    """An outcome as an example writes it."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("iso8859-1")
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {plain(key): plain(each) for key, each in value.items()}
    if hasattr(value, "as_dict"):
        return plain(value.as_dict())
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def name_of(error: BaseException) -> Any:
    """An error as an example writes it: its condition, abend code or message id, else its class."""
    if isinstance(error, Condition):
        return {"RESP": error.resp.name, "RESP2": error.resp2}
    if isinstance(error, Abend):
        return error.code
    return error.message_id if isinstance(error, EscapeMessage) else type(error).__name__


def agrees(expected: Any, outcome: Any) -> bool:
    """Whether an outcome is the expected one: of a mapping the expected keys, of a command its main value."""
    if isinstance(outcome, dict) and isinstance(expected, dict):
        return bool(expected or not outcome) and all(
            key in outcome and agrees(value, outcome[key]) for key, value in expected.items()
        )
    if isinstance(outcome, dict) and "RESP" in outcome:
        received = {key: value for key, value in outcome.items() if key not in ("RESP", "RESP2")}
        if outcome["RESP"] != "NORMAL" or not received:
            return bool(expected == outcome["RESP"])
        outcome = received.get("INTO", next(iter(received.values())))
    return type(expected) is type(outcome) and expected == outcome


def altered(expected: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(expected, bool):
        return not expected
    if isinstance(expected, int | float):
        return expected + 1
    if isinstance(expected, dict):
        return {key: altered(value) for key, value in expected.items()} or {"ALTERED": ""}
    if isinstance(expected, list):
        return [*expected, "ALTERED"]
    return f"{expected}-ALTERED"
