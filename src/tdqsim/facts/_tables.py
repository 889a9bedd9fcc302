"""Reading the fact tables: tab separated files beside this module.

A table has comment lines that begin with ``#``, one header line, and rows of exactly as many cells. The file name
without ``.tsv`` is the table's name. Tables are read when first asked for and kept.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

__all__ = ["read_rows", "table", "table_names"]

_FOLDER = Path(__file__).parent


@cache
def table(name: str) -> list[dict[str, str]]:
    """The rows of ``facts/<name>.tsv`` in file order, each as column name to text.

    The list is shared by all callers: treat it as read-only.

    Raises:
        FileNotFoundError: there is no such table.
        ValueError: a row has another number of cells than the header; the message names file and line.
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
            raise ValueError(f"{path.name}:{number}: {len(cells)} cells, the header has {len(header)}")
        rows.append(dict(zip(header, cells, strict=True)))
    return rows
