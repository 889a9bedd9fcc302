"""The console's table: rows of plain cells, shown as text by ``static/tdq_table.js``.

A cell is text or a number, or a dictionary with one of: ``text`` with ``href``, ``tone`` (ok, warn, bad, dim) or both;
``lines``; ``spark`` (see :func:`spark`) with ``title``; and ``buttons``, each with ``id``, ``label``, ``title``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NotRequired, TypeAlias, TypedDict

from nicegui.element import Element
from nicegui.events import GenericEventArguments


class ButtonCell(TypedDict):
    """A button in a cell; ``title`` describes its action, with the row."""

    id: str
    label: str
    title: str
    tone: NotRequired[str]


class RichCell(TypedDict, total=False):
    """A cell that is more than text; see the top of the module."""

    text: str | int
    href: str
    tone: str
    lines: list[str]
    spark: str
    title: str
    buttons: list[ButtonCell]


Cell: TypeAlias = str | float | RichCell


class Row(TypedDict):
    """A row: its id, and a cell for each column."""

    id: str
    cells: Sequence[Cell]


def row(key: str, *cells: Cell) -> Row:
    """A row."""
    return {"id": key, "cells": cells}


class TableColumn(TypedDict):
    """A column; see :func:`column`."""

    key: str
    label: str
    sort: bool
    num: bool
    mono: bool
    wide: bool


_WIDTH: Final = 100
_HEIGHT: Final = 24


def column(
    key: str, label: str, *, sort: bool = False, num: bool = False, mono: bool = False, wide: bool = False
) -> TableColumn:
    """A column: whether its heading sorts, whether it has numbers or data, and whether it takes the remaining space."""
    return {"key": key, "label": label, "sort": sort, "num": num, "mono": mono, "wide": wide}


def spark(samples: Iterable[tuple[int, int]], now_ns: int) -> str:
    """The points of a step line through (nanoseconds, depth); empty for fewer than two samples."""
    points = list(samples)
    if len(points) < 2:
        return ""
    start, most = points[0][0], max(depth for _, depth in points) or 1
    span = max(now_ns - start, 1)
    line: list[str] = []
    before: float | None = None
    for time_ns, depth in (*points, (now_ns, points[-1][1])):
        x, y = (time_ns - start) * _WIDTH / span, _HEIGHT - 2 - depth * (_HEIGHT - 4) / most
        line += [f"{x:.1f},{before:.1f}"] if before is not None else []
        line.append(f"{x:.1f},{y:.1f}")
        before = y
    return " ".join(line)


class DataTable(Element, component="static/tdq_table.js"):
    """A table.

    Args:
        caption: a description for screen readers.
        columns: see :func:`column`.
        keep: whether it remains a table on narrow screens, because its columns are few and narrow.
        empty: the text for a table without rows.
        on_sort: called with the key of the column whose heading was pressed.
        on_act: called with the ids of a row and of the button in it that was pressed.
    """

    def __init__(
        self,
        caption: str,
        columns: Sequence[TableColumn],
        *,
        empty: str = "Nothing.",
        keep: bool = False,
        on_sort: Callable[[str], object] | None = None,
        on_act: Callable[[str, str], object] | None = None,
    ) -> None:
        super().__init__()
        self._shown: tuple[list[Row], tuple[str, bool] | None] | None = None
        self.props.update(
            {"caption": caption, "columns": list(columns), "empty": empty, "rows": [], "sort": None, "keep": keep}
        )
        if on_sort is not None:
            self.on("sort", lambda event: on_sort(_one_of(event, columns)))
        if on_act is not None:
            self.on("act", lambda event: on_act(str(event.args["row"]), str(event.args["act"])))

    def show(self, rows: list[Row], sort: tuple[str, bool] | None = None) -> None:
        """Show these rows, each with ``id`` and ``cells``; sends nothing if they have not changed."""
        if self._shown == (rows, sort):
            return
        self._shown = (rows, sort)
        self.props["rows"] = rows
        self.props["sort"] = {"key": sort[0], "down": sort[1]} if sort is not None else None
        self.update()

    def describe(self, columns: Sequence[TableColumn]) -> None:
        """Change the columns."""
        self.props["columns"] = list(columns)
        self._shown = None


def _one_of(event: GenericEventArguments, columns: Sequence[TableColumn]) -> str:
    """The key that the browser sent, if that column can be sorted; otherwise the key of the first column."""
    key = str(event.args)
    return next((each["key"] for each in columns if each["key"] == key and each["sort"]), str(columns[0]["key"]))
