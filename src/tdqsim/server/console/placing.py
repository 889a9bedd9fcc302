"""Where the boxes of a picture go: in columns, each to the right of those that point to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NotRequired, TypedDict

__all__ = ["Box", "placed"]

_GAP: Final = 90
_DOWN: Final = 48
_WIDTH: Final = 112
_HEIGHT: Final = 30


class Box(TypedDict):
    """A box of a picture, as ECharts takes it."""

    name: str
    x: float
    y: float
    symbol: str
    symbolSize: list[int]
    itemStyle: NotRequired[dict[str, str]]


def placed(edges: Sequence[tuple[str, str]], alone: Iterable[str] = (), *, gap: int = _GAP) -> list[Box]:
    """Boxes for the ends of arrows, and for names that no arrow touches; x and y are of their middles, in pixels.

    Args:
        edges: from one name to another.
        alone: names without arrows.
        gap: between two columns, room for the words on the arrows.
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
    """How far to the right each is; what points in a ring stays where it first fell."""
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
