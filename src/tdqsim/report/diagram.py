"""Diagrams of boxes and arrows: the values, which the layout places and the renderer turns into SVG.

A diagram has no positions and no markup. :mod:`~tdqsim.report.diagram_layout` places its boxes, and
:mod:`~tdqsim.report.diagram_svg` draws it. Texts that change often, such as counts, do not change the layout, because
the room for a text is reserved in steps of several characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

LONGEST: Final = 28
"""The number of characters of a name that are drawn."""
MOST: Final = 300
"""The number of boxes that are drawn."""
_STEP: Final = 4


def room_for(text: str) -> int:
    """The number of characters to reserve for a text, so that it may grow a little without a new layout."""
    return -(-(len(text) + 1) // _STEP) * _STEP if text else 0


class BoxLine(NamedTuple):
    """A line of text in a diagram; ``bad`` for a failure."""

    text: str
    bad: bool = False


@dataclass(frozen=True, slots=True)
class DiagramBox:
    """A box.

    Attributes:
        id: a unique id.
        name: its name, the first line.
        kind: its kind, such as ``queue`` or ``transaction``, which determines its shape and colour.
        owner: the region or system in whose frame it is.
        lines: further lines.
        href: the address of its page; empty for none.
        members: the names of the resources that the box stands for; empty for one resource with its ``name``.
    """

    id: str
    name: str
    kind: str
    owner: str = ""
    lines: tuple[BoxLine, ...] = ()
    href: str = ""
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DiagramArrow:
    """An arrow between two boxes.

    Attributes:
        source, target: the ids of the boxes.
        how: what it means, such as ``records`` or ``starts``, which determines its line.
        label: the text in its middle.
        bad: a second text in its middle, about failures.
        room: the number of characters to reserve for both texts; 0 to derive it from them.
    """

    source: str
    target: str
    how: str = "records"
    label: str = ""
    bad: str = ""
    room: int = 0

    @property
    def reserved(self) -> int:
        """The number of characters that are reserved for both texts."""
        return max(self.room, len(self.text)) if self.room else room_for(self.text)

    @property
    def text(self) -> str:
        """Both texts."""
        return " · ".join(filter(None, (self.label, self.bad)))


@dataclass(frozen=True, slots=True)
class Diagram:
    """Boxes and arrows; arrows whose ends are not among the boxes are ignored."""

    boxes: Sequence[DiagramBox]
    arrows: Sequence[DiagramArrow]

    def shape(self) -> tuple[object, ...]:
        """What determines the layout; equal for two diagrams that differ only in short changes of their texts."""
        boxes = tuple(
            (box.id, box.kind, box.owner, box.name, box.href, len(box.lines), _width(box)) for box in self.boxes
        )
        arrows = tuple((arrow.source, arrow.target, arrow.how, arrow.reserved) for arrow in self.arrows)
        return boxes, arrows

    def cut(self, most: int = MOST) -> tuple[Diagram, int]:
        """The diagram with at most this number of boxes, the most connected ones, and the number of boxes left out."""
        if len(self.boxes) <= most:
            return self, 0
        ends = _degrees(self.arrows)
        first = sorted(self.boxes, key=lambda box: -ends.get(box.id, 0))[:most]
        return self.only(box.id for box in first), len(self.boxes) - most

    def only(self, ids: Iterable[str]) -> Diagram:
        """The diagram with these boxes only."""
        kept = set(ids)
        arrows = [arrow for arrow in self.arrows if arrow.source in kept and arrow.target in kept]
        return Diagram([box for box in self.boxes if box.id in kept], arrows)


def arrow_ends(arrow: DiagramArrow) -> tuple[str, str]:
    """The ids of both boxes of an arrow."""
    return arrow.source, arrow.target


def _width(box: DiagramBox) -> int:
    return max([min(len(box.name), LONGEST), *(room_for(line.text) for line in box.lines)])


def _degrees(arrows: Iterable[DiagramArrow]) -> Mapping[str, int]:
    ends: dict[str, int] = {}
    for arrow in arrows:
        for end in arrow_ends(arrow):
            ends[end] = ends.get(end, 0) + 1
    return ends
