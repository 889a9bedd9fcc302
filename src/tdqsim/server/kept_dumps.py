"""The dumps of a region with a store, kept in a file beside its records, so that they outlive the server."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tdqsim.cics import Region
from tdqsim.server.kept_lines import KeptLines, kept_values
from tdqsim.state import Dump

_FILE: Final = "dumps.jsonl"


class KeptDumps:
    """The dumps of a region in a file; those that it has are given to the region.

    Args:
        region: the region.
        store: the directory of its store.

    Raises:
        OSError: the file cannot be read.
    """

    def __init__(self, region: Region, store: Path) -> None:
        self._dumps = region.diagnostics.failures
        self._dumps.extend(read_dumps(store))
        self._file = KeptLines(store / _FILE)

    def keep_last(self) -> None:
        """Write the newest dump of the region to the file.

        Raises:
            OSError: it cannot be written.
        """
        self._file.add(self._dumps[-1].as_dict(), lambda: [each.as_dict() for each in self._dumps])


def read_dumps(store: Path) -> list[Dump]:
    """The dumps that a server has kept in a store, the newest last.

    Raises:
        OSError: the file cannot be read.
    """
    return list(kept_values(store / _FILE, Dump.from_dict))
