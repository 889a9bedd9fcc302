"""The kinds of charts: lines, bars, and a time line of bars in lanes.

Each function returns a :class:`~tdqsim.report.parts.Drawing`, which a script of the page draws. Charts over time have
two sets of positions, by order and by clock: in a test nearly everything happens at one moment of a frozen clock, and
in a run of hours the order shows little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from tdqsim.report._text import label, visible
from tdqsim.report.parts import Drawing, Prose, Table

COLOURS: Final = ("#3b7dd8", "#d9730d", "#2a9d6f", "#a35dc0", "#cf4562", "#8a8a1f", "#1f9bb5", "#8c6d5a")
"""Colours that differ clearly on white and on black."""

_MOST_LANES: Final = 60
_FEW: Final = 5
_LANE: Final = 22
_FRAME: Final = 90


class Point(NamedTuple):
    """A value at a moment: ``order`` is the number of the event, ``seconds`` the time by the clock."""

    order: int
    seconds: float
    value: float


class Series(NamedTuple):
    """A line of a chart."""

    name: str
    points: Sequence[Point]


class Stretch(NamedTuple):
    """A bar of a time line.

    Attributes:
        lane: the lane, such as a task.
        kind: the kind, which determines the colour.
        text: the description.
        order: the numbers of its first and last event.
        seconds: the times of its beginning and its end, by the clock.
    """

    lane: str
    kind: str
    text: str
    order: tuple[int, int]
    seconds: tuple[float, float]


def lines(title: str, series: Sequence[Series], along: str, up: str, words: Table | Prose) -> Drawing:
    """Steps over time, one line for each series; by the order of events and, if the clock moves, by the clock."""
    data = [
        {
            "type": "scatter", "mode": "lines", "line": {"shape": "hv", "color": COLOURS[at % len(COLOURS)]},
            "name": label(each.name, 40), "x": [point.order for point in each.points],
            "y": [point.value for point in each.points],
        }
        for at, each in enumerate(series)
    ]  # fmt: skip
    by_clock = [[point.seconds for point in each.points] for each in series]
    up_axis: dict[str, Any] = {"title": {"text": label(up)}, "rangemode": "tozero"}
    if max((point.value for each in series for point in each.points), default=0) <= _FEW:
        up_axis["dtick"] = 1  # the axis of a few records needs no fractions
    layout = {
        "xaxis": {"title": {"text": label(along)}}, "yaxis": up_axis, "legend": {"orientation": "h", "y": -0.25},
        "showlegend": True, "hovermode": "x",
    }  # fmt: skip
    views = _views(along, {"x": [each["x"] for each in data]}, {"x": by_clock})
    return Drawing(title, data, layout, words, views=views)


def bars(
    title: str, values: Sequence[tuple[str, float]], along: str, up: str, words: Table | Prose | None = None
) -> Drawing:
    """A bar for each name, in the order of ``values``; the bars are horizontal if names are long."""
    lying = any(len(name) > 10 for name, _ in values)
    names, numbers = [label(name, 34) for name, _ in values], [value for _, value in values]
    trace = {
        "type": "bar", "marker": {"color": COLOURS[0]}, "orientation": "h" if lying else "v",
        "x": numbers if lying else names, "y": names if lying else numbers,
    }  # fmt: skip
    category = {"type": "category", "title": {"text": label(along)}}
    number = {"title": {"text": label(up)}, "rangemode": "tozero"}
    layout: dict[str, Any] = {"showlegend": False, "bargap": 0.35}
    layout |= (
        {"xaxis": number, "yaxis": category | {"autorange": "reversed"}}
        if lying
        else {"xaxis": category, "yaxis": number}
    )
    height = _FRAME + _LANE * len(values) if lying else 300
    table = words or Table((along, up), [(visible(name), value) for name, value in values])
    return Drawing(title, [trace], layout, table, max(height, 160))


class _Places:
    """The positions of the bars of each trace: beginnings and lengths."""

    def __init__(self) -> None:
        self.base: list[list[float]] = []
        self.x: list[list[float]] = []

    def add(self, ends: Sequence[tuple[float, float]]) -> None:
        self.base.append([start for start, _ in ends])
        self.x.append([end - start for start, end in ends])

    def as_dict(self) -> dict[str, Any]:
        return {"x": self.x, "base": self.base}


def time_line(
    title: str, given: Sequence[Stretch], looks: Mapping[str, tuple[str, float]], along: str, words: Table
) -> Drawing:
    """Bars in lanes, by order, or by clock if no bar has an order.

    By order, the beginnings and ends of the bars are evenly spaced. With the numbers of their events as positions, the
    bars of the last tasks of a long run would be too thin to see next to a bar of the whole run.

    Args:
        title: the title.
        given: the bars; lanes are in the order of their first bars, at most 60 of them.
        looks: the colour of each kind, and its width as a part of the lane; later kinds are drawn over earlier ones.
        along: the title of the x axis.
        words: the same data as a table.
    """
    lanes = list(dict.fromkeys(each.lane for each in given))[:_MOST_LANES]
    kept = [each for each in given if each.lane in set(lanes)]
    place = {order: at for at, order in enumerate(sorted({end for each in kept for end in each.order}))}
    data, by_order, by_clock = [], _Places(), _Places()
    first = by_order if any(each.order[1] for each in kept) else by_clock
    for kind, (colour, width) in looks.items():
        of_kind = [each for each in kept if each.kind == kind]
        if not of_kind:
            continue
        ends = [(place[each.order[0]], place[each.order[1]]) for each in of_kind]
        by_order.add([(start, max(end, start + 0.3)) for start, end in ends])
        by_clock.add([each.seconds for each in of_kind])
        data.append(
            {
                "type": "bar", "orientation": "h", "name": label(kind), "y": [label(each.lane, 36) for each in of_kind],
                "marker": {"color": colour, "line": {"width": 1, "color": colour}}, "width": width,
                "text": [label(each.text, 300) for each in of_kind], "textposition": "none",
                "hovertemplate": "%{text}<extra></extra>", "x": first.x[-1], "base": first.base[-1],
            }
        )  # fmt: skip
    layout = {
        "barmode": "overlay", "legend": {"orientation": "h", "y": 1, "yanchor": "bottom", "x": 0},
        "showlegend": len(data) > 1, "xaxis": {"title": {"text": label(along)}},
        "yaxis": {
            "type": "category", "autorange": "reversed", "categoryorder": "array",
            "categoryarray": [label(each, 36) for each in lanes],
        },
    }  # fmt: skip
    height = _FRAME + 30 + _LANE * len(lanes)
    views = _views(along, by_order.as_dict(), by_clock.as_dict()) if first is by_order else []
    return Drawing(title, data, layout, words, height, views)


def _views(along: str, by_order: Mapping[str, Any], by_clock: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The two views that the reader can select; none if the clock has not moved."""
    if not any(value for each in by_clock["x"] for value in each):
        return []
    views = (("by order", by_order, along), ("by clock", by_clock, "seconds by the clock"))
    return [{"name": name, "data": dict(values), "along": axis} for name, values, axis in views]
