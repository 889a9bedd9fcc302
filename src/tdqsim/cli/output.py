"""Output of ``tdq``: tables for people, JSON for programs, records as text in a code page.

On a terminal tables are drawn by rich, which is imported only then. Elsewhere they are plain columns, whole and never
cut to a width, so that grep and awk can use them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

from tdqsim.core.codepage import CodePage

__all__ = ["cell_text", "emit", "emit_json", "emit_table", "on_terminal", "record_value", "shown_record"]


def emit(text: str = "") -> None:
    """One line, or several, of output."""
    sys.stdout.write(f"{text}\n")


def emit_json(value: Any, *, indent: int | None = 2) -> None:
    """A value as JSON: CVDAs by name, bytes in hexadecimal, what JSON does not know as text."""
    emit(json.dumps(_plain(value), indent=indent, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.name
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, Iterable):
        return [_plain(item) for item in value]
    return str(value)


def on_terminal() -> bool:
    """Whether a person is looking at the output."""
    return sys.stdout.isatty()


def emit_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str = "") -> None:
    """Rows under column names; numbers are right-aligned."""
    texts = [[cell_text(value) for value in row] for row in rows]
    right = [bool(texts) and all(_is_number(row[index]) for row in texts) for index in range(len(columns))]
    if on_terminal():
        _rich_table(columns, texts, right, title)
        return
    widths = [max(len(name), *(len(row[index]) for row in texts), 0) for index, name in enumerate(columns)]
    if title:
        emit(title)
    for cells in [list(columns), *texts]:
        line = "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(cells, widths, right, strict=True)
        )
        emit(line.rstrip())


def _rich_table(columns: Sequence[str], texts: list[list[str]], right: list[bool], title: str) -> None:
    from rich.console import Console  # noqa: PLC0415  (only where a person looks)
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(title=title or None, title_justify="left")
    for name, to_right in zip(columns, right, strict=True):
        table.add_column(name, justify="right" if to_right else "left", overflow="fold")
    for row in texts:
        table.add_row(*map(escape, row))
    Console().print(table)


def cell_text(value: Any) -> str:
    """A value as a cell shows it: names of CVDAs, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, float):
        return f"{value:,.1f}"
    return str(value)


def _is_number(text: str) -> bool:
    return not text or text.lstrip("-").replace(",", "").replace(".", "", 1).isdigit()


def shown_record(data: bytes, page: CodePage, *, as_hex: bool = False) -> str:
    """A record on one line: text with a period for what cannot be shown, or hexadecimal digits."""
    return data.hex().upper() if as_hex else page.printable(data)


def record_value(data: bytes, page: CodePage) -> dict[str, Any]:
    """A record for JSON: its length, its text as people see it, its bytes."""
    return {"length": len(data), "text": page.printable(data), "hex": data.hex().upper()}
