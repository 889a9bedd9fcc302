"""A file of JSON lines beside the records of a region, for what shall outlive the server.

The newest line is the last. A line that a killed process has written only partly is skipped. When the file has many
lines it is written anew with those values that are still needed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

from tdqsim.hosting import OWN_FILE

T = TypeVar("T")
_MOST_LINES: Final = 200
"""The number of lines after which the file is written anew."""


class KeptLines:
    """A file of JSON lines that only its owner may read, because it may contain records.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = len(_lines_of(path))

    def add(self, value: dict[str, Any], kept: Callable[[], Iterable[dict[str, Any]]]) -> None:
        """Add a line, or write the file anew if it has many.

        Args:
            value: the new value.
            kept: returns all values that the file shall have, the new one among them.

        Raises:
            OSError: it cannot be written.
        """
        if self._lines >= _MOST_LINES:
            self.replace(kept())
            return
        with _opened(self._path, os.O_APPEND) as file:
            file.write(_line_of(value))
        self._lines += 1

    def replace(self, kept: Iterable[dict[str, Any]]) -> None:
        """Write the file anew.

        Raises:
            OSError: it cannot be written.
        """
        new, lines = self._path.with_suffix(".new"), list(map(_line_of, kept))
        with _opened(new, os.O_TRUNC) as file:
            file.writelines(lines)
        new.replace(self._path)
        self._lines = len(lines)


def kept_values(path: Path, make: Callable[[dict[str, Any]], T]) -> Iterator[T]:
    """The values of the last lines of a file, the newest last; nothing if there is no file.

    Args:
        path: the file.
        make: makes a value of the JSON object of a line; a line for which it fails is skipped.

    Raises:
        OSError: the file cannot be read.
    """
    for line in _lines_of(path)[-_MOST_LINES:]:
        try:
            yield make(json.loads(line))
        except (ValueError, KeyError, TypeError):
            continue


def _lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n")[1:] if path.is_file() else []


def _opened(path: Path, flag: int) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | flag | OWN_FILE, 0o600), "wb")


def _line_of(value: dict[str, Any]) -> bytes:
    """The line of a value; it begins with the end of the line before, which may be written only partly."""
    return b"\n" + json.dumps(value).encode()
