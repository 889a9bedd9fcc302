"""The dumps of a region with a store, kept in a file beside its records, so that they outlive the server.

The file has a line of JSON for each dump, the newest last. A line that a killed process has written only partly is
skipped. When the file has many more lines than the region keeps dumps, it is written anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from tdqsim.cics import Region
from tdqsim.cics.model.dump import Dump
from tdqsim.core.portable import OWN_FILE

__all__ = ["KeptDumps", "read_dumps"]

_FILE: Final = "dumps.jsonl"
_MOST_LINES: Final = 200
"""The number of lines after which the file is written anew."""


class KeptDumps:
    """The dumps of a region in a file; those that it has are given to the region.

    Args:
        region: the region.
        store: the directory of its store.

    Raises:
        OSError: the file cannot be read.
    """

    def __init__(self, region: Region, store: Path) -> None:
        self._dumps = region.diagnostics.abend_dumps
        self._path = store / _FILE
        lines = _lines_of(store)
        self._dumps.extend(_dumps_of(lines))
        self._lines = len(lines)

    def keep_last(self) -> None:
        """Write the newest dump of the region to the file.

        Raises:
            OSError: it cannot be written.
        """
        if self._lines < _MOST_LINES:
            with _opened(self._path, os.O_APPEND) as file:
                file.write(_line_of(self._dumps[-1]))
            self._lines += 1
            return
        new = self._path.with_suffix(".new")
        with _opened(new, os.O_TRUNC) as file:
            file.writelines(map(_line_of, self._dumps))
        new.replace(self._path)
        self._lines = len(self._dumps)


def read_dumps(store: Path) -> list[Dump]:
    """The dumps that a server has kept in a store, the newest last.

    Raises:
        OSError: the file cannot be read.
    """
    return list(_dumps_of(_lines_of(store)))


def _lines_of(store: Path) -> list[bytes]:
    path = store / _FILE
    return path.read_bytes().split(b"\n")[1:] if path.is_file() else []


def _dumps_of(lines: list[bytes]) -> Iterator[Dump]:
    return (dump for line in lines[-_MOST_LINES:] if (dump := _dump_of(line)) is not None)


def _opened(path: Path, flag: int) -> BinaryIO:
    """A file for writing that only its owner may read: dumps contain records."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | flag | OWN_FILE, 0o600), "wb")


def _line_of(dump: Dump) -> bytes:
    """The line of a dump; it begins with the end of the line before, which may be written only partly."""
    return b"\n" + json.dumps(dump.as_dict()).encode()


def _dump_of(line: bytes) -> Dump | None:
    """The dump of a line; None if the line is not complete."""
    try:
        return Dump.from_dict(json.loads(line))
    except (ValueError, KeyError, TypeError):
        return None
