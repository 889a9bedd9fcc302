"""The exception tree: the type of an exception shows whose fault it is.

Everything this package raises on purpose is a :class:`TdqError`. Conditions that a CICS program would see are
``tdqsim.cics.Condition``, and messages that an IBM i program would see are ``tdqsim.ibmi.EscapeMessage``; both are
subclasses defined in their own packages. The classes here are for problems around the programs: definitions, stores,
data sets, layouts, and tests that wait for something that cannot happen.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tdqsim.core.named import NamedTuple

__all__ = [
    "ConversionError",
    "DatasetError",
    "DefinitionError",
    "ExtraMissing",
    "LayoutError",
    "NotInstalled",
    "Problem",
    "RegionClosed",
    "StoreDamaged",
    "StoreError",
    "StoreFull",
    "StoreInUse",
    "StoreMissing",
    "StoreVersionError",
    "SystemClosed",
    "TdqError",
    "UnknownAttribute",
    "UnknownName",
    "UsageError",
    "WouldWaitForever",
    "WrongThread",
    "WrongType",
    "WrongValue",
]

STORE_HELP: Final = "`tdq store check` lists the damage, `tdq store salvage` saves what is whole to a new store"
"""What to do about a :class:`StoreDamaged`."""


_MESSAGE_BYTES: Final = 4096
_PART_BYTES: Final = 1000
_ROOM_FOR_MORE: Final = 40


def bounded(text: str, most: int = _MESSAGE_BYTES) -> str:
    """A message, or a part of one, cut to ``most`` bytes of UTF-8: what it quotes may be as long as a file.

    Of a message of several lines, as many whole lines are kept as fit, and the others are counted. Of a longer line the
    beginning and the end are kept, since a message begins with the place and ends with what is allowed.
    """
    if len(text) * 4 <= most:
        return text
    data = text.encode("utf-8", "backslashreplace")
    if len(data) <= most:
        return text
    kept = data[: most - _ROOM_FOR_MORE].decode("utf-8", "ignore")
    lines, _, _ = kept.rpartition("\n")
    if lines:
        return f"{lines}\n... and {text.count(chr(10)) - lines.count(chr(10)):,} more lines"
    end = data[-most // 4 :].decode("utf-8", "ignore")
    begin = data[: most - most // 4 - _ROOM_FOR_MORE].decode("utf-8", "ignore")
    return f"{begin} ... ({len(text):,} characters) ... {end}"


class TdqError(Exception):
    """Root of every error that tdqsim raises on purpose; its text has at most 4 kB."""

    def __str__(self) -> str:
        return bounded(Exception.__str__(self))  # a KeyError would quote its text


class UsageError(TdqError):
    """A call is not possible: an argument is wrong, or the object is in a state in which the call makes no sense.

    The call has changed nothing. The message names the argument or the state, and what is allowed.
    """


class WrongValue(UsageError, ValueError):
    """A value is not among those that are allowed."""


class WrongType(UsageError, TypeError):
    """A value is of a type that is not allowed."""


class UnknownName(UsageError, KeyError):
    """There is nothing of that name."""


class UnknownAttribute(UsageError, AttributeError):
    """The object has no such attribute, or it cannot be set."""


class NotInstalled(TdqError):
    """A program or package that the call needs is not installed; the message names it, and how to install it."""


class ExtraMissing(NotInstalled):
    """A package that comes with an extra of tdqsim is not installed.

    Args:
        package: the missing package.
        extra: the name of the extra, as in ``tdqsim[serve]``.
    """

    def __init__(self, package: str | None, extra: str) -> None:
        super().__init__(f"{package} is not installed; {self.command(extra)} brings it")

    @staticmethod
    def command(extra: str) -> str:
        """The command that installs an extra, with this Python, from where this tdqsim was installed from."""
        from tdqsim.core.installing import command_for  # noqa: PLC0415  (reads metadata of packages, which is slow)

        return command_for(extra)


class Problem(NamedTuple):
    """One error in a definition, or in another text that a user wrote.

    Attributes:
        file: name of the file as the caller gave it, or a name such as ``<text>`` for text from memory.
        line: line number from 1, or 0 when the line is not known.
        resource: the resource being defined, such as ``TDQUEUE(PAYQ)``; empty outside a resource.
        attribute: the attribute's name as written; empty when the problem does not concern an attribute.
        value: the value as written; empty when there is none.
        message: the problem and the allowed values, in one sentence.
    """

    file: str
    line: int
    resource: str
    attribute: str
    value: str
    message: str

    def __str__(self) -> str:
        """The problem on one line of at most 4 kB, with the place first, as in a compiler's messages."""
        file = bounded(self.file, _PART_BYTES)
        place = f"{file}:{self.line}" if self.line else file
        subject = bounded(" ".join(part for part in (self.resource, self.attribute) if part), _PART_BYTES)
        shown = f" = {bounded(repr(self.value), _PART_BYTES)}" if self.value else ""
        message = bounded(self.message, _PART_BYTES)
        return f"{place}: {subject}{shown}: {message}" if subject else f"{place}: {message}"


class DefinitionError(TdqError):
    """Definitions were refused and none of them was installed; ``problems`` lists everything that is wrong."""

    def __init__(self, problems: tuple[Problem, ...] | list[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class StoreError(TdqError):
    """The store on disk cannot be used, or does not allow this operation."""


class StoreInUse(StoreError):
    """Another process has the store open; ``pid`` is its process id."""

    def __init__(self, path: Path, pid: int) -> None:
        self.path = path
        self.pid = pid
        super().__init__(f"{path}: the store is in use by process {pid}; stop it first, or open the store read-only")


class StoreMissing(StoreError):
    """There is no store at the path, and the caller did not ask to create one."""


class StoreDamaged(StoreError):
    """The contents of the store differ from what was written to it; the message names the place."""


class StoreVersionError(StoreError):
    """The store was written by a version of tdqsim that this one cannot read."""


class StoreFull(StoreError):
    """The disk or the store's limit has no room for the change; nothing was changed."""


class DatasetError(TdqError):
    """A data set does not agree with its definition; the message names the file, record and offset."""


class LayoutError(TdqError):
    """A record layout (copybook or YAML) was refused; the message names the line, column and clause."""


class ConversionError(TdqError):
    """Text or a number cannot be converted; ``record`` counts from 1, ``offset`` is in bytes from 0."""

    def __init__(self, message: str, *, record: int | None = None, offset: int | None = None) -> None:
        self.record = record
        self.offset = offset
        place = "" if record is None else f"record {record}: "
        at = "" if offset is None else f" at offset {offset}"
        super().__init__(f"{place}{message}{at}")


class RegionClosed(TdqError):
    """The region has been closed; commands can no longer be issued."""


class SystemClosed(TdqError):
    """The IBM i system has been closed; its jobs can no longer call anything."""


class WouldWaitForever(TdqError):
    """A task waits for something that can never happen; the message names the tasks and the locks they hold."""


class WrongThread(TdqError):
    """A dispatcher, region or store was used from a thread or process that did not open it."""
