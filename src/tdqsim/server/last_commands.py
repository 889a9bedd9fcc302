"""The last commands of a region with their answers and records, for the dumps of tasks that abend.

Each command costs one entry in a ring buffer; text is made only for a dump.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, TypeAlias

from tdqsim.cics import Condition
from tdqsim.hosting import CodePage

_KEPT: Final = 2000
"""The number of commands of a region that are kept."""
_SHOWN: Final = 60
"""The maximum number of bytes of a record in a line."""
_RESOURCES: Final = ("queue", "program", "file", "transid", "name")
"""The parameters that may name the resource of a command."""
_Entry: TypeAlias = tuple[int, str, str, tuple[bytes, int] | None, str, int]


class LastCommands:
    """The last commands of a region.

    Args:
        page: the code page in which records are shown.
    """

    def __init__(self, page: CodePage) -> None:
        self._page = page
        self._entries: deque[_Entry] = deque(maxlen=_KEPT)

    def add(self, task: int, command: str, arguments: Mapping[str, Any], outcome: object) -> None:
        """Keep a command that has ended.

        Args:
            task: the number of its task.
            command: its name.
            arguments: its arguments by parameter name.
            outcome: its result, or the exception that it raised.
        """
        resource = next((arguments[each] for each in _RESOURCES if each in arguments), "")
        condition, resp2 = (outcome.name, outcome.resp2) if isinstance(outcome, Condition) else ("NORMAL", 0)
        record = outcome if isinstance(outcome, bytes) else _written(arguments)
        beginning = None if record is None else (bytes(record[:_SHOWN]), len(record))
        self._entries.append((task, command, str(resource).rstrip(" "), beginning, condition, resp2))

    def of(self, task: int, most: int) -> list[str]:
        """The last commands of a task as text, at most ``most``, the newest last."""
        return list(islice(self._lines(task), most))[::-1]

    def _lines(self, task: int) -> Iterator[str]:
        for number, command, resource, beginning, condition, resp2 in reversed(self._entries):
            if number == task:
                words = [command, resource, self._text(beginning)]
                yield f"{' '.join(filter(None, words))}: {condition} {resp2}"

    def _text(self, beginning: tuple[bytes, int] | None) -> str:
        if beginning is None:
            return ""
        data, length = beginning
        return f"'{self._page.printable(data)}'{f' ... ({length:,} bytes)' if length > len(data) else ''}"


def _written(arguments: Mapping[str, Any]) -> bytes | bytearray | memoryview | None:
    """The record of FROM; None without one."""
    data, length = arguments.get("from_"), arguments.get("length")
    if not isinstance(data, bytes | bytearray | memoryview):
        return None
    return data[:length] if isinstance(length, int) and length >= 0 else data
