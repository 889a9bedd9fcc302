"""Where the boxes of a picture go: in columns, each to the right of those that point to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

__all__ = ["placed"]

_ACROSS: Final = 380
_DOWN: Final = 56
_WIDTH: Final = 150
_HEIGHT: Final = 30


def placed(edges: Sequence[tuple[str, str]], alone: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Boxes for the ends of arrows, and for names that no arrow touches."""
    names = list(dict.fromkeys([*(name for edge in edges for name in edge), *alone]))
    columns = _columns(names, edges)
    filled: dict[int, int] = {}
    boxes = []
    for name in names:
        column = columns[name]
        row = filled[column] = filled.get(column, 0) + 1
        boxes.append(
            {
                "name": name,
                "x": column * _ACROSS,
                "y": row * _DOWN,
                "symbol": "roundRect",
                "symbolSize": [max(_WIDTH, 8 * len(name)), _HEIGHT],
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
