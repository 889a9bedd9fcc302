"""The layout of diagrams: columns from left to right, a band for each region or system, room for every label.

The method is the usual one for layered graphs. Arrows that close a ring are turned for the layout; each box is in a
column to the right of those that lead to it; an arrow over several columns gets a place in each of them. The order
within the columns follows the neighbours, which makes few arrows cross. Heights follow the neighbours too, and keep the
order and the distances (:func:`_spread`). Labels have the space between two columns for themselves, so that no label
meets a box or another label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

from tdqsim.report.diagram import LONGEST, Diagram, DiagramArrow, DiagramBox, room_for

CHARACTER: Final = 7.3
"""The width of a character of a name in pixels, in a monospaced font of 12 pixels."""
SMALL: Final = 6.7
"""The width of a character of a label in pixels, in a monospaced font of 11 pixels."""
BOX_LINE: Final = 14
_NAME_LINE: Final = 26
_LABEL: Final = 16
_LEAST_BOX: Final = 64
_LEAST_GAP: Final = 44
_BETWEEN: Final = 14
_PASSING: Final = 10
_MARGIN: Final = 14
_HEADING: Final = 26
_SWEEPS: Final = 8


class PlacedBox(NamedTuple):
    """A box with its centre and its size."""

    box: DiagramBox
    x: float
    y: float
    width: float
    height: float


class PlacedArrow(NamedTuple):
    """An arrow: the points through which it passes, from its source to its target, and the place of its label."""

    arrow: DiagramArrow
    points: Sequence[tuple[float, float]]
    label: tuple[float, float]


@dataclass(frozen=True, slots=True)
class DiagramLayout:
    """The places of everything; ``bands`` has the top and the height of the frame of each region or system."""

    width: float
    height: float
    boxes: Sequence[PlacedBox]
    arrows: Sequence[PlacedArrow]
    bands: Mapping[str, tuple[float, float]]


@dataclass(slots=True)
class _Item:
    """A box in its column, or the place where an arrow passes a column."""

    owner: str
    column: int
    width: float
    height: float
    box: DiagramBox | None = None
    order: float = 0.0
    y: float = 0.0
    left: list[_Item] = field(default_factory=list)
    right: list[_Item] = field(default_factory=list)


@dataclass(slots=True)
class _Way:
    """An arrow with its items from left to right; ``turned`` if it points to the left."""

    arrow: DiagramArrow
    items: list[_Item]
    turned: bool
    label_y: float = 0.0


def place(diagram: Diagram) -> DiagramLayout:
    """The layout of a diagram."""
    known = {box.id for box in diagram.boxes}
    arrows = [one for one in diagram.arrows if {one.source, one.target} <= known and one.source != one.target]
    columns, turned = _columns(diagram.boxes, arrows)
    items = {
        box.id: _Item(box.owner, columns[box.id], _box_width(box), _NAME_LINE + BOX_LINE * len(box.lines), box)
        for box in diagram.boxes
    }
    ways = [_way(arrow, items, turned=at in turned) for at, arrow in enumerate(arrows)]
    owners = list(dict.fromkeys(box.owner for box in diagram.boxes))
    grid: list[list[_Item]] = [[] for _ in range(1 + max(columns.values(), default=0))]
    passing = [item for way in ways for item in way.items[1:-1]]
    for item in (*items.values(), *passing):
        grid[item.column].append(item)
    _order(grid, owners)
    bands = _heights(grid, owners)
    return _measured(grid, ways, bands)


def _box_width(box: DiagramBox) -> float:
    texts = [room_for(line.text) * SMALL for line in box.lines]
    return max(_LEAST_BOX, min(len(box.name), LONGEST) * CHARACTER + 18, *(width + 10 for width in texts))


# -- columns ----------------------------------------------------------------------------------------------------------


def _columns(boxes: Sequence[DiagramBox], arrows: Sequence[DiagramArrow]) -> tuple[dict[str, int], set[int]]:
    """The column of each box, and the numbers of the arrows that close a ring."""
    leads: dict[str, list[tuple[int, str]]] = {box.id: [] for box in boxes}
    entered = dict.fromkeys(leads, 0)
    for at, arrow in enumerate(arrows):
        leads[arrow.source].append((at, arrow.target))
        entered[arrow.target] += 1
    turned: set[int] = set()
    done: list[str] = []  # a box comes after those to which it leads
    state = dict.fromkeys(leads, 0)
    for root in sorted(leads, key=lambda each: entered[each] > 0):
        stack = [(root, iter(leads[root]))] if not state[root] else []
        state[root] = state[root] or 1
        while stack:
            here, rest = stack[-1]
            at, target = next(rest, (-1, ""))
            if at < 0:
                state[here] = 2
                done.append(here)
                stack.pop()
            elif state[target] == 1:
                turned.add(at)
            elif not state[target]:
                state[target] = 1
                stack.append((target, iter(leads[target])))
    return _longest(done[::-1], leads, turned, arrows), turned


def _longest(
    order: Sequence[str], leads: Mapping[str, list[tuple[int, str]]], turned: set[int], arrows: Sequence[DiagramArrow]
) -> dict[str, int]:
    """Columns by the longest way to a box; a box to which nothing leads is beside the first that it leads to."""
    columns = dict.fromkeys(order, 0)
    rights: dict[str, set[str]] = {here: {target for at, target in leads[here] if at not in turned} for here in order}
    for at in turned:
        rights[arrows[at].target].add(arrows[at].source)
    for here in order:
        for target in rights[here]:
            columns[target] = max(columns[target], columns[here] + 1)
    entered = {target for targets in rights.values() for target in targets}
    for here in order:
        if here not in entered and rights[here]:
            columns[here] = min(columns[target] for target in rights[here]) - 1
    return columns


def _way(arrow: DiagramArrow, items: Mapping[str, _Item], *, turned: bool) -> _Way:
    """The items of an arrow, with one for each column that it passes."""
    first, last = items[arrow.source], items[arrow.target]
    if turned:
        first, last = last, first
    between = [_Item(first.owner, column, 0, _PASSING) for column in range(first.column + 1, last.column)]
    way = [first, *between, last]
    for one, other in pairwise(way):
        one.right.append(other)
        other.left.append(one)
    return _Way(arrow, way, turned)


# -- order and heights ------------------------------------------------------------------------------------------------


def _order(grid: list[list[_Item]], owners: Sequence[str]) -> None:
    """Sort each column by the places of the neighbours, forwards and backwards several times."""
    band = {owner: at for at, owner in enumerate(owners)}
    for column in grid:
        _number(column, band)
    for sweep in range(_SWEEPS):
        forwards = sweep % 2 == 0
        for column in grid if forwards else grid[::-1]:
            for item in column:
                beside = item.left if forwards else item.right
                if beside:
                    item.order = sum(other.order for other in beside) / len(beside)
            _number(column, band)


def _number(column: list[_Item], band: Mapping[str, int]) -> None:
    column.sort(key=lambda item: (band[item.owner], item.order))
    for at, item in enumerate(column):
        item.order = (at + 0.5) / len(column)


def _heights(grid: list[list[_Item]], owners: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Set the height of each item, band by band; return the top and the height of each band."""
    bands: dict[str, tuple[float, float]] = {}
    top = 0.0
    for owner in owners:
        columns = [[item for item in column if item.owner == owner] for column in grid]
        heading = _HEADING if owner else _MARGIN
        for sweep in range(_SWEEPS + 1):
            for column in columns if sweep % 2 == 0 else columns[::-1]:
                _settle(column)
        items = [item for column in columns for item in column]
        first = min(item.y - item.height / 2 for item in items)
        for item in items:
            item.y += top + heading - first
        height = max(item.y + item.height / 2 for item in items) - top + _MARGIN
        bands[owner] = (top, height)
        top += height + _BETWEEN
    return bands


def _settle(column: Sequence[_Item]) -> None:
    """Move the items of a column to the heights of their neighbours, in order and with their distances."""
    wanted = []
    for item in column:
        beside = [other.y for other in (*item.left, *item.right) if other.owner == item.owner]
        wanted.append(sum(beside) / len(beside) if beside else item.y)
    distances = [(one.height + other.height) / 2 + _BETWEEN for one, other in pairwise(column)]
    for item, y in zip(column, _spread(wanted, distances), strict=True):
        item.y = y


def _spread(wanted: Sequence[float], distances: Sequence[float]) -> list[float]:
    """The nearest positions to those wanted, in the same order and at least these distances apart.

    Neighbours that are too close form a block, which stands at the mean of what its members want.
    """
    blocks: list[tuple[float, int]] = []
    offset, offsets = 0.0, []
    for at, want in enumerate(wanted):
        offset += distances[at - 1] if at else 0.0
        offsets.append(offset)
        mean, count = want - offset, 1
        while blocks and blocks[-1][0] > mean:
            before, many = blocks.pop()
            mean, count = (before * many + mean * count) / (many + count), many + count
        blocks.append((mean, count))
    means = [mean for mean, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


# -- places -----------------------------------------------------------------------------------------------------------


def _measured(grid: list[list[_Item]], ways: list[_Way], bands: Mapping[str, tuple[float, float]]) -> DiagramLayout:
    labels: list[list[_Way]] = [[] for _ in grid]
    for way in ways:
        if way.arrow.text:
            labels[way.items[0].column].append(way)
    lowest = max((top + height for top, height in bands.values()), default=0.0)
    for named in labels:
        lowest = max(lowest, _place_labels(named))
    edges, gaps, x = [], [], float(_MARGIN)
    for column, beside in zip(grid, labels, strict=True):
        wide = max((item.width for item in column), default=0.0)
        room = max((way.arrow.reserved * SMALL + 16 for way in beside), default=0.0)
        edges.append((x, x + wide))
        gaps.append((x + wide, max(room, _LEAST_GAP)))
        x += wide + max(room, _LEAST_GAP)
    width = x - gaps[-1][1] + _MARGIN if gaps else 2 * _MARGIN
    boxes = [
        PlacedBox(item.box, sum(edges[item.column]) / 2, item.y, item.width, item.height)
        for column in grid
        for item in column
        if item.box is not None
    ]
    return DiagramLayout(width, lowest + 2, boxes, [_placed(way, edges, gaps) for way in ways], bands)


def _place_labels(ways: list[_Way]) -> float:
    """Set the heights of the labels between two columns; return the lower end of the last one."""
    ways.sort(key=lambda way: (way.items[0].y + way.items[1].y, way.items[1].y))
    wanted = [(way.items[0].y + way.items[1].y) / 2 for way in ways]
    heights = _spread(wanted, [_LABEL] * (len(ways) - 1))
    down = max(0.0, _HEADING - heights[0]) if heights else 0.0
    for way, height in zip(ways, heights, strict=True):
        way.label_y = height + down
    return heights[-1] + down + _LABEL if heights else 0.0


def _placed(way: _Way, edges: Sequence[tuple[float, float]], gaps: Sequence[tuple[float, float]]) -> PlacedArrow:
    first, last = way.items[0], way.items[-1]
    left, room = gaps[first.column]
    label = (left + room / 2, way.label_y if way.arrow.text else (first.y + way.items[1].y) / 2)
    points = [(sum(edges[first.column]) / 2 + first.width / 2, first.y)]
    if way.arrow.text:
        points.append(label)
    for item in way.items[1:-1]:
        points += [(x, item.y) for x in edges[item.column]]
    points.append((sum(edges[last.column]) / 2 - last.width / 2, last.y))
    return PlacedArrow(way.arrow, points[::-1] if way.turned else points, label)
