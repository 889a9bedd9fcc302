"""Output of ``tdq``: tables for people, JSON for programs, records as text in a code page.

On a terminal a table is fitted to the width: the last column is wrapped between words, or columns are left out from the
right and listed below the table, so put the most important columns first. Elsewhere tables are plain columns, complete
and never truncated, so that grep and awk can use them. A table for reading only, such as that of a copybook, folds any
column, everywhere.

Output may contain untrusted data: records, names, files, the command line itself. Characters that would control a
terminal (escape sequences, carriage returns, right-to-left text) are printed as their numbers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from itertools import zip_longest
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tdqsim.cli.errors import command_output, visible

if TYPE_CHECKING:
    from tdqsim.core.codepage import CodePage

Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]

_GAP: Final = "  "
_NARROWEST_FOLD: Final = 16
_NARROWEST: Final = 10
_FIT: Final = 100
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


def emit(text: str = "") -> None:
    """Write one or more lines of output."""
    sys.stdout.write(f"{visible(text)}\n")


def emit_json(value: object, *, indent: int | None = 2) -> None:
    """Write a value as JSON: CVDAs by name, bytes in hexadecimal, values of other types as text."""
    command_output.as_json = True
    text = json.dumps(_plain(value), indent=indent, ensure_ascii=False)
    sys.stdout.write(f"{visible(text, json=True)}\n")


def _plain(value: object) -> object:
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
    """Whether the output goes to a terminal."""
    return sys.stdout.isatty()


def emit_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    title: str = "",
    empty: bool = True,
    more: str = "",
    fit: bool = False,
) -> None:
    """Rows under column names; numbers are right-aligned.

    Args:
        columns: their names, most important first: a narrow terminal leaves out the last.
        rows: the values.
        title: a line above the table.
        empty: whether to show columns without any value.
        more: how to see the columns that are left out, for the line that lists them.
        fit: whether lines fit 80 columns without a terminal, too, if folding the last column is enough for that; if
            not, any wide column is folded, for 100 columns or those of the terminal. Otherwise lines are as long as
            their values where there is no terminal.
    """
    texts = [[visible(cell_text(value)) for value in row] for row in rows]
    shown = [at for at in range(len(columns)) if empty or not at or any(row[at] for row in texts)]
    table = _Table([columns[at] for at in shown], [[row[at] for at in shown] for row in texts])
    if title:
        emit(title)
    if not on_terminal() and not fit:
        table.emit()
        return
    width = get_terminal_size().columns
    if fit and table.narrowest > width:
        table.fold(width if on_terminal() else max(width, _FIT))
    missing = table.fit(width if on_terminal() else max(width, table.narrowest))
    table.emit(bold=on_terminal())
    if missing:
        emit("\n".join(wrap(f"(no room for {', '.join(missing)}{more})", width)))


class _Table:
    """Texts in columns."""

    def __init__(self, columns: list[str], rows: list[list[str]]) -> None:
        self._columns, self._rows = columns, rows
        self._right = [bool(rows) and all(_is_number(row[at]) for row in rows) for at in range(len(columns))]
        self._widths = [max(len(name), *(len(row[at]) for row in rows), 0) for at, name in enumerate(columns)]

    @property
    def narrowest(self) -> int:
        """The width that it has with all columns and the last one folded as much as can be."""
        return self._wide() - self._widths[-1] + min(_NARROWEST_FOLD, self._widths[-1])

    def fold(self, width: int) -> None:
        """Fold the widest columns, none of numbers, so that all of them fit a width if they can."""
        while (over := self._wide() - width) > 0:
            texts = [at for at, right in enumerate(self._right) if not right]
            least = {at: max(_NARROWEST, len(self._columns[at])) for at in texts}
            spare = [at for at in texts if self._widths[at] > least[at]]
            if not spare:
                return
            widest = max(spare, key=self._widths.__getitem__)
            self._widths[widest] -= min(self._widths[widest] - least[widest], max(over // len(spare), 1))

    def fit(self, width: int) -> list[str]:
        """Fit the table to a width; return the names of the columns that were left out."""
        missing: list[str] = []
        while self._wide() > width:
            room = width - (self._wide() - self._widths[-1])
            if room >= min(_NARROWEST_FOLD, self._widths[-1]) or len(self._columns) == 1:
                self._widths[-1] = max(room, 1)
                break
            missing.insert(0, self._columns[-1])
            self._widths.pop()
            self._right.pop()
            for cells in (self._columns, *self._rows):
                cells.pop()
        return missing

    def _wide(self) -> int:
        return sum(self._widths) + len(_GAP) * (len(self._widths) - 1)

    def emit(self, *, bold: bool = False) -> None:
        head, *_ = self._lines(self._columns)
        sys.stdout.write(f"{_BOLD}{head}{_PLAIN}\n" if bold else f"{head}\n")
        for row in self._rows:
            for line in self._lines(row):
                sys.stdout.write(f"{line}\n")

    def _lines(self, cells: Sequence[str]) -> list[str]:
        folded = [_wrapped(cell, width) for cell, width in zip(cells, self._widths, strict=True)]
        return [self._line(parts) for parts in zip_longest(*folded, fillvalue="")]

    def _line(self, cells: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(cells, self._widths, self._right, strict=True)
        )
        return _GAP.join(padded).rstrip()


def _wrapped(cell: str, width: int) -> list[str]:
    """The lines of a cell; those of a name, which has no blanks, break after hyphens and begin below it."""
    if len(cell) <= width:
        return [cell]
    indent = " " * min(len(cell) - len(cell.lstrip(" ")), width // 2)
    text = cell.strip(" ")
    return wrap(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=" " not in text) or [""]


def cell_text(value: object) -> str:
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
    """A record on one line: text with a period for each unprintable character, or hexadecimal digits."""
    return data.hex().upper() if as_hex else page.printable(data)


def record_value(data: bytes, page: CodePage) -> dict[str, str | int]:
    """A record for JSON: its length, its text, its bytes."""
    return {"length": len(data), "text": page.printable(data), "hex": data.hex().upper()}
