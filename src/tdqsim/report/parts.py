"""The parts of a page: sections of prose, tables and charts.

Every chart comes with a table of the same data, for readers who cannot see it, for printing, and for browsers without
scripts. A table shows a limited number of rows and reports how many it leaves out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, Protocol

from tdqsim.report._text import in_script, markup

ROWS: Final = 200
"""The default limit of the rows of a table."""


PLOT: Final = '<div class="plot"'
"""The beginning of the element of a chart."""


class Part(Protocol):
    """A part of a page."""

    def html(self) -> Iterator[str]:
        """The markup, in pieces."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A coloured word for a result.

    Attributes:
        text: the word.
        good: whether it is a success.
    """

    text: str
    good: bool

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph; ``quiet`` for a remark in small type, ``code`` for preformatted lines."""

    text: str
    quiet: bool = False
    code: bool = False

    def html(self) -> Iterator[str]:
        """See :class:`Part`."""
        if self.code:
            yield f'<pre tabindex="0">{markup(self.text)}</pre>'
        else:
            yield f"<p{' class=quiet' if self.quiet else ''}>{markup(self.text)}</p>"


@dataclass(frozen=True, slots=True)
class Table:
    """A table; numbers are right-aligned.

    Attributes:
        heads: the names of the columns.
        rows: the rows; cells are texts, numbers or :class:`Mark`.
        caption: the title.
        total: the number of all rows, if ``rows`` has only some of them; 0 to count ``rows``.
        rest: where to find the rows that are not shown.
        most: the number of rows to show.
    """

    heads: Sequence[str]
    rows: Iterable[Sequence[object]]
    caption: str = ""
    total: int = 0
    rest: str = ""
    most: int = ROWS

    def html(self) -> Iterator[str]:
        """See :class:`Part`."""
        left = iter(self.rows)
        shown = [list(row) for row in islice(left, self.most)]
        total = self.total or len(shown) + sum(1 for _ in left)
        if not shown:
            yield f'<p class="quiet">{markup(self.caption)}: none</p>' if self.caption else ""
            return
        numeric = [_numeric(row[at] for row in shown) for at in range(len(self.heads))]
        yield '<div class="wide" tabindex="0"><table>'
        yield f"<caption>{markup(self.caption)}</caption>" if self.caption else ""
        heads = "".join(
            f'<th scope="col"{_right(right)}>{markup(head)}</th>'
            for head, right in zip(self.heads, numeric, strict=True)
        )
        yield f"<thead><tr>{heads}</tr></thead><tbody>"
        for row in shown:
            cells = "".join(f"<td{_right(right)}>{_cell(cell)}</td>" for cell, right in zip(row, numeric, strict=True))
            yield f"<tr>{cells}</tr>"
        yield "</tbody></table></div>"
        if total > len(shown):
            where = f"; {self.rest}" if self.rest else ""
            yield f'<p class="quiet">{len(shown):,} of {total:,} are shown{markup(where)}.</p>'


def _numeric(cells: Iterable[object]) -> bool:
    kinds = {type(cell) for cell in cells if cell != ""}
    return bool(kinds) and kinds <= {int, float}


def _right(wanted: bool) -> str:
    return " class=n" if wanted else ""


def _cell(value: object) -> str:
    if isinstance(value, Mark):
        return f'<span class="{"good" if value.good else "bad"}">{markup(value.text)}</span>'
    if isinstance(value, int | float) and not isinstance(value, bool):
        return markup(f"{value:,}")
    return markup(value).replace("\n", "<br>")


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart that a script of the page draws, with a table of the same data.

    Attributes:
        title: a title of one line; empty if the heading above says the same.
        data: the traces: lines (``scatter``) or bars (``bar``), with their names, positions and colours.
        layout: the titles of the axes and the names of the lanes.
        words: the data as a table or as text.
        height: the height in pixels.
        views: alternative x positions, each with a name, the changes of ``data``, and the title of the axis.
        name: what the chart shows, for screen readers; by default the title.
    """

    title: str
    data: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]
    words: Table | Prose
    height: int = 320
    views: Sequence[Mapping[str, Any]] = ()
    name: str = ""

    def html(self) -> Iterator[str]:
        """See :class:`Part`."""
        layout = {**self.layout, "height": self.height}
        figure = in_script({"data": self.data, "layout": layout, "views": list(self.views)})
        choices = "".join(
            f'<button type="button" aria-pressed="{"false" if at else "true"}">{markup(view["name"])}</button>'
            for at, view in enumerate(self.views)
        )
        yield (
            f'<figure class="picture">{f"<figcaption>{markup(self.title)}</figcaption>" if self.title else ""}'
            f"{f'<div class=views>{choices}</div>' if choices else ''}"
            f'{PLOT} role="img" aria-label="{markup(self.name or self.title)}; the table below says the same"'
            f' style="min-height:{self.height}px"></div>'
            f'<script type="application/json">{figure}</script>'
        )
        yield "<details><summary>As a table</summary>"
        yield from self.words.html()
        yield "</details></figure>"


@dataclass(frozen=True, slots=True)
class Ready:
    """Markup that was rendered before, in this process or in a process that it started.

    Attributes:
        text: the markup, which is not escaped again.
    """

    text: str

    def html(self) -> Iterator[str]:
        """See :class:`Part`."""
        yield self.text


@dataclass(slots=True)
class Section:
    """A section of the page.

    Attributes:
        title: the heading.
        parts: its parts.
        folded: whether it is closed at first.
        mark: the result, shown next to the heading.
    """

    title: str
    parts: list[Part] = field(default_factory=list)
    folded: bool = False
    mark: Mark | None = None

    def html(self) -> Iterator[str]:
        """See :class:`Part`."""
        mark = f" {_cell(self.mark)}" if self.mark is not None else ""
        head = f"{markup(self.title)}{mark}"
        yield f"<details><summary>{head}</summary>" if self.folded else f"<section><h2>{head}</h2>"
        for part in self.parts:
            yield from part.html()
        yield "</details>" if self.folded else "</section>"
