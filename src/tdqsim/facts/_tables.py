"""Reading the fact tables: tab-separated files beside this module.

A table has comment lines that begin with ``#``, one header line, and rows with as many cells as the header. The file
name without ``.tsv`` is the table's name. A table is read on first use and cached.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tdqsim.errors import WrongValue

_FOLDER = Path(__file__).parent


@cache
def table(name: str) -> list[dict[str, str]]:
    """The rows of ``facts/<name>.tsv`` in file order, each a dict from column name to text.

    The list is shared by all callers: treat it as read-only.

    Raises:
        FileNotFoundError: there is no such table.
        ValueError: a row has more or fewer cells than the header; the message names the file and line.
    """
    return read_rows(_FOLDER / f"{name.removesuffix('.tsv')}.tsv")


def table_names() -> list[str]:
    """The names of all tables, sorted."""
    return sorted(path.stem for path in _FOLDER.glob("*.tsv"))


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of one table file; see :func:`table`."""
    header: list[str] = []
    rows: list[dict[str, str]] = []
    for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        cells = line.split("\t")
        if not header:
            header = cells
            continue
        if len(cells) != len(header):
            raise WrongValue(f"{path.name}:{number}: {len(cells)} cells, the header has {len(header)}")
        rows.append(dict(zip(header, cells, strict=True)))
    return rows
