"""The layout of a graph: boxes in columns, each to the right of the boxes that point to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NotRequired, TypedDict

__all__ = ["Box", "place_boxes"]

_GAP: Final = 90
_DOWN: Final = 48
_WIDTH: Final = 112
_HEIGHT: Final = 30


class Box(TypedDict):
    """A box of a graph, in the format of ECharts."""

    name: str
    x: float
    y: float
    symbol: str
    symbolSize: list[int]
    itemStyle: NotRequired[dict[str, str]]


def place_boxes(edges: Sequence[tuple[str, str]], alone: Iterable[str] = (), *, gap: int = _GAP) -> list[Box]:
    """Boxes for the ends of arrows, and for names without arrows; x and y are the coordinates of the centres in pixels.

    Args:
        edges: pairs of names, from the source to the target of an arrow.
        alone: names without arrows.
        gap: the space between two columns, for the labels of the arrows.
    """
    names = list(dict.fromkeys([*(name for edge in edges for name in edge), *alone]))
    columns = _columns(names, edges)
    widths = {name: max(_WIDTH, 8 * len(name)) for name in names}
    middles, right = {}, 0.0
    for column in sorted(set(columns.values())):
        wide = max(widths[name] for name in names if columns[name] == column)
        middles[column] = right + wide / 2
        right += wide + gap
    filled: Counter[int] = Counter()
    boxes: list[Box] = []
    for name in names:
        column = columns[name]
        filled[column] += 1
        boxes.append(
            {
                "name": name,
                "x": middles[column],
                "y": filled[column] * _DOWN,
                "symbol": "roundRect",
                "symbolSize": [widths[name], _HEIGHT],
            }
        )
    return boxes


def _columns(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """The column of each name; the names of a ring keep the columns that they have after a few rounds."""
    columns = dict.fromkeys(names, 0)
    for _ in range(min(len(names), 8)):
        moved = False
        for one, other in edges:
            if one != other and columns[other] <= columns[one] < min(len(names) - 1, 6):
                columns[other] = columns[one] + 1
                moved = True
        if not moved:
            break
    return columns
