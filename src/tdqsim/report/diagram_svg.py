"""Draws a diagram as SVG, with the texts that may change later marked by keys.

A page that shows a diagram live replaces only these texts as long as the layout stays the same: see
:meth:`DrawnDiagram.texts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from tdqsim.report._text import brief, markup
from tdqsim.report.diagram import LONGEST, Diagram, DiagramArrow, DiagramBox
from tdqsim.report.diagram_layout import BOX_LINE, DiagramLayout, PlacedArrow, PlacedBox, place
from tdqsim.report.parts import Prose, Table

FIGURE: Final = '<figure class="tdq-diagram"'
"""The beginning of the element of a diagram."""

_ROUND: Final = ("transaction", "program", "job")
_TIP: Final = 8
_TIPS: Final[Mapping[str, str]] = {
    "starts": "l{b} -5m{f} 5l{b} 5", "alias of": "l{b} -5v10z", "data set": "a4 4 0 1 0 {b} 0a4 4 0 1 0 {f} 0z",
    "linked with": "v-4h{b}v8h{f}z", "waits for": "m0 -6v12",
    **dict.fromkeys(("ships", "shipped to"), "l{h} -5l{h} 5l{g} 5z"),
}  # fmt: skip
"""The forms of tips that are not filled triangles, by the meaning of the arrow, as paths from the point of the tip.

``b`` and ``h`` are the length of the tip and its half against the direction of the arrow, ``f`` and ``g`` in it.
"""
_LETTER: Final = 6.7
"""The width of a character of a label."""
_LEAST_SCALE: Final = 0.62
"""The scale below which a diagram is not made smaller to fit the page."""


@dataclass(frozen=True, slots=True)
class DiagramPicture:
    """A diagram on a page, with a search for names, a zoom, and a table of the same data.

    Attributes:
        title: a title of one line; empty if the heading above says the same.
        diagram: the diagram.
        words: the same as a table or as text.
        name: what the diagram shows, for screen readers.
    """

    title: str
    diagram: Diagram
    words: Table | Prose
    name: str

    def html(self) -> Iterator[str]:
        """See :class:`~tdqsim.report.parts.Part`."""
        shown, left_out = self.diagram.cut()
        drawn = DrawnDiagram(shown, f"{self.name}; the table below has the same data")
        caption = f"<figcaption>{markup(self.title)}</figcaption>" if self.title else ""
        yield f"{FIGURE}>{caption}{drawn.tools()}{drawn.legend()}"
        yield f'<div class="sheet" tabindex="0" role="group" aria-label="{markup(self.name)}">{drawn.svg()}</div>'
        if left_out:
            yield f'<p class="quiet">{len(shown.boxes):,} of {len(self.diagram.boxes):,} boxes are drawn.</p>'
        yield "<details><summary>As a table</summary>"
        yield from self.words.html()
        yield "</details></figure>"


@dataclass(frozen=True, slots=True)
class DrawnDiagram:
    """The elements that show a diagram on a page.

    Attributes:
        diagram: the diagram.
        words: its description for screen readers.
    """

    diagram: Diagram
    words: str

    @staticmethod
    def tools() -> str:
        """The controls of a diagram: a search field and buttons for the zoom."""
        buttons = "".join(
            f'<button type="button" data-zoom="{key}" aria-label="{words}">{sign}</button>'
            for key, sign, words in (("out", "-", "Smaller"), ("fit", "Fit", "Fit to the page"), ("in", "+", "Larger"))
        )
        return (
            '<div class="tools"><label>Find <input type="search" data-find placeholder="a name" autocomplete="off" '
            f'spellcheck="false"></label>{buttons}<output aria-live="polite"></output></div>'
        )

    def legend(self) -> str:
        """The kinds of boxes and arrows that the diagram has, with their colours."""
        kinds = dict.fromkeys(box.kind for box in self.diagram.boxes)
        ways = dict.fromkeys(arrow.how for arrow in self.diagram.arrows)
        items = [f'<span class="key {_word(kind)}">{markup(kind)}</span>' for kind in kinds]
        items += [f'<span class="key-way">{_sample(how)}{markup(how)}</span>' for how in ways]
        return f'<p class="legend" aria-hidden="true">{"".join(items)}</p>'

    def texts(self) -> dict[str, tuple[str, bool]]:
        """The texts that may change, by key: the text, and whether it is about a failure."""
        found: dict[str, tuple[str, bool]] = {}
        for at, box in enumerate(self.diagram.boxes):
            found |= {f"b{at}.{line}": (each.text, each.bad) for line, each in enumerate(box.lines)}
        for at, arrow in enumerate(self.diagram.arrows):
            found |= {f"a{at}.0": (arrow.label, False), f"a{at}.1": (_bad(arrow), True)}
        return found

    def svg(self) -> str:
        """The diagram as an SVG element."""
        return "".join(_pieces(self.diagram, place(self.diagram), self.words))


def _sample(how: str) -> str:
    """An arrow as it is drawn in the diagram, for the legend."""
    return (
        f'<svg class="sample" width="40" height="12" viewBox="0 0 40 12"><g class="way {_word(how)}">'
        f'<path d="M1 6H38"/>{_tip(how, 38, 6, -_TIP)}</g></svg>'
    )


def _pieces(diagram: Diagram, layout: DiagramLayout, words: str) -> Iterator[str]:
    links = any(box.href for box in diagram.boxes)
    role = "group" if links else "img"
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="{role}" aria-label="{markup(words)}" '
        f'style="--least:{layout.width * _LEAST_SCALE:.0f}px" width="{layout.width:.0f}" '
        f'height="{layout.height:.0f}" viewBox="0 0 {layout.width:.0f} {layout.height:.0f}">'
    )
    for owner, (top, height) in layout.bands.items():
        if owner:
            yield (
                f'<rect class="band" x="1" y="{top + 1:.0f}" width="{layout.width - 2:.0f}" '
                f'height="{height:.0f}" rx="8"/>'
                f'<text class="owner" x="12" y="{top + 18:.0f}">{markup(owner)}</text>'
            )
    numbers = {box.id: at for at, box in enumerate(diagram.boxes)}
    known = {id(arrow): at for at, arrow in enumerate(diagram.arrows)}
    for way in layout.arrows:
        yield from _line(way, numbers)
    for box in layout.boxes:
        yield from _box(numbers[box.box.id], box)
    for way in layout.arrows:  # after all lines, so that no line crosses a label
        yield from _plate(way)
    for way in layout.arrows:
        yield from _label(known[id(way.arrow)], way, numbers)
    yield "</svg>"


def _line(placed: PlacedArrow, numbers: Mapping[str, int]) -> Iterator[str]:
    points = placed.points
    path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = (x0 + x1) / 2
        path.append(f"C{middle:.1f} {y0:.1f} {middle:.1f} {y1:.1f} {x1:.1f} {y1:.1f}")
    x, y = points[-1]
    back = _TIP if points[-2][0] > x else -_TIP
    arrow = placed.arrow
    classes = f"way {_word(arrow.how)}{' bad' if arrow.bad else ''}"
    yield (
        f'<g class="{classes}" data-ends="{_ends(arrow, numbers)}"><path d="{"".join(path)}"/>'
        f"{_tip(arrow.how, x, y, back)}</g>"
    )


def _ends(arrow: DiagramArrow, numbers: Mapping[str, int]) -> str:
    """The numbers of both boxes of an arrow, for the search."""
    return f"{numbers[arrow.source]} {numbers[arrow.target]}"


def _tip(how: str, x: float, y: float, back: int) -> str:
    """The tip of an arrow; its form shows what the arrow means, as its colour and dashes do. ``back`` is its length."""
    form = _TIPS.get(how, "l{b} -4v8z").format(b=back, h=back // 2, f=-back, g=-back // 2)
    return f'<path class="tip" d="M{x:.1f} {y:.1f}{form}"/>'


def _plate(placed: PlacedArrow) -> Iterator[str]:
    """The ground of a label, so that no line shows between its words."""
    (x, y), width = placed.label, len(placed.arrow.text) * _LETTER
    if width:
        yield f'<rect class="plate" x="{x - width / 2:.1f}" y="{y - 7:.1f}" width="{width:.1f}" height="14"/>'


def _label(at: int, placed: PlacedArrow, numbers: Mapping[str, int]) -> Iterator[str]:
    arrow, (x, y) = placed.arrow, placed.label
    if arrow.text:
        yield (
            f'<text class="label {_word(arrow.how)}" data-ends="{_ends(arrow, numbers)}" x="{x:.1f}" y="{y + 4:.1f}">'
            f'<tspan data-k="a{at}.0">{markup(arrow.label)}</tspan>'
            f'<tspan class="bad" data-k="a{at}.1">{markup(_bad(arrow))}</tspan></text>'
        )


def _bad(arrow: DiagramArrow) -> str:
    return f" · {arrow.bad}" if arrow.bad and arrow.label else arrow.bad


def _box(at: int, placed: PlacedBox) -> Iterator[str]:
    box, x, y, width, height = placed
    left, top = x - width / 2, y - height / 2
    radius = 13 if box.kind in _ROUND else 3
    yield f'<g class="box {_word(box.kind)}" data-n="{at}" data-names="{markup(_names(box))}">'
    yield f'<a href="{markup(box.href)}">' if box.href else ""
    yield (
        f"<title>{markup(_title(box))}</title>"
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}"/>'
        f'<text class="name" x="{x:.1f}" y="{top + 17:.1f}">{markup(brief(box.name, LONGEST))}</text>'
    )
    for line, each in enumerate(box.lines):
        bad = " bad" if each.bad else ""
        down = top + 17 + BOX_LINE * (line + 1)
        yield f'<text class="line{bad}" x="{x:.1f}" y="{down:.1f}" data-k="b{at}.{line}">{markup(each.text)}</text>'
    yield "</a></g>" if box.href else "</g>"


def _word(text: str) -> str:
    """A kind as one word, for a class."""
    return markup(text.replace(" ", "-"))


def _names(box: DiagramBox) -> str:
    return " ".join(box.members or (box.name,)).upper()


def _title(box: DiagramBox) -> str:
    owner = f" in {box.owner}" if box.owner else ""
    members = f": {', '.join(box.members)}" if box.members else ""
    return f"{box.kind} {box.name}{owner}{members}"
