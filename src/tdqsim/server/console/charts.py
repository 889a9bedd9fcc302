"""Charts made by ECharts, which NiceGUI contains. Each page also has the same data as text, for accessibility."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NotRequired, TypeAlias, TypedDict

from nicegui import ui

from tdqsim.server.console.graph_layout import Box

__all__ = ["Arrow", "Bars", "DepthChart", "Graph", "depth_chart"]

_GREY: Final = "#8796a3"
_BLUE: Final = "#3d8fdd"
_MARGIN: Final = 12
_ABOVE: Final = 30
_LEFT: Final = " < "
_RIGHT: Final = " > "
_TEXT: Final = {"color": _GREY, "fontFamily": "system-ui, sans-serif"}


_Option: TypeAlias = str | float | bool | dict[str, str | float | bool]
"""A value of an ECharts option, or a group of options."""


class Arrow(TypedDict):
    """An arrow between two boxes, in the format of ECharts."""

    source: str
    target: str
    label: NotRequired[dict[str, str | bool]]
    lineStyle: NotRequired[dict[str, float]]


class DepthChart:
    """A line of depths, with steps; each point is (milliseconds, depth)."""

    def __init__(self, words: str) -> None:
        self._shown: list[list[int]] = []
        axis = {"axisLabel": {"color": _GREY}, "axisLine": {"lineStyle": {"color": _GREY}}}
        self._chart = ui.echart(
            {
                "animation": False,
                "grid": {"left": 50, "right": 20, "top": 15, "bottom": 30},
                "tooltip": {"trigger": "axis", "renderMode": "richText"},
                "xAxis": {"type": "time", **axis, "axisLabel": {"color": _GREY, "hideOverlap": True}},
                "yAxis": {
                    "type": "value",
                    "min": 0,
                    "minInterval": 1,
                    "splitLine": {"lineStyle": {"color": _GREY, "opacity": 0.25}},
                    **axis,
                },
                "series": [
                    {
                        "type": "line",
                        "name": "depth",
                        "step": "end",
                        "showSymbol": False,
                        "lineStyle": {"color": _BLUE, "width": 2},
                        "itemStyle": {"color": _BLUE},
                        "areaStyle": {"color": _BLUE, "opacity": 0.15},
                        "data": [],
                    }
                ],
            },
            renderer="svg",
        ).classes("tdq-chart")
        self._chart.props["role"] = "img"
        self._chart.props["aria-label"] = words

    def show(self, points: list[list[int]]) -> None:
        """Show these points; nothing is sent when they are the same as before."""
        if points[:-1] == self._shown[:-1] and len(points) == len(self._shown) and len(points) < 3:
            return
        self._shown = points
        self._chart.options["series"][0]["data"] = points


def depth_chart(queue: str) -> DepthChart:
    """The depth of a queue over time."""
    return DepthChart(f"Depth of {queue} over time, as a line")


class Graph:
    """Boxes and arrows between them.

    Args:
        words: a description for screen readers.
        on_click: called with the name of the box that was pressed.
    """

    def __init__(self, words: str, on_click: Callable[[str], object] | None = None) -> None:
        self._shown: tuple[list[Box], list[Arrow]] | None = None
        with ui.element("div").classes("tdq-table-wrap") as self._place:
            self._place.props["tabindex"] = "0"  # it scrolls if there is not enough space
            self._chart = self._made(words, on_click)

    @staticmethod
    def _made(words: str, on_click: Callable[[str], object] | None) -> ui.echart:
        chart = ui.echart(
            {
                "animation": False,
                "tooltip": {"renderMode": "richText"},
                "series": [
                    {
                        "type": "graph",
                        "layout": "none",
                        "roam": True,
                        "nodeScaleRatio": 1,
                        "left": 0,
                        "top": 0,
                        "width": "100%",
                        "height": "100%",
                        "edgeSymbol": ["none", "arrow"],
                        "edgeSymbolSize": 9,
                        "label": {"show": True, "fontSize": 12, "color": "#ffffff"},
                        "edgeLabel": {"show": True, "fontSize": 11, **_TEXT},
                        "lineStyle": {"color": _GREY, "width": 1.6, "opacity": 0.9},
                        "data": [],
                        "links": [],
                    }
                ],
            },
            on_click=(lambda event: on_click(str(event.name))) if on_click is not None else None,
            renderer="svg",
        ).classes("tdq-chart")
        chart.props["role"] = "img"
        chart.props["aria-label"] = words
        return chart

    def visible(self, on: bool) -> None:
        """Show or hide the graph."""
        self._place.set_visibility(on)

    def show(self, boxes: list[Box], arrows: list[Arrow]) -> None:
        """Show these boxes and arrows; sends nothing if they have not changed."""
        if self._shown == (boxes, arrows):
            return
        self._shown = (boxes, arrows)
        ends = [(name, x, box["y"]) for box in boxes for name, x in _ends(box)]
        left, right = (choose((x for _, x, _ in ends), default=0) for choose in (min, max))
        top, down = (choose((box["y"] for box in boxes), default=0) for choose in (min, max))
        corners = [(left - _MARGIN, top - _ABOVE), (right + _MARGIN, down + _ABOVE)]
        series = self._chart.options["series"][0]
        hidden = [*ends, *((f" {at}", *corner) for at, corner in enumerate(corners))]
        series["data"] = [*boxes, *(_hidden(*each) for each in hidden)]
        middles = {box["name"]: box["x"] for box in boxes}
        series["links"] = [arrow | _between(arrow["source"], arrow["target"], middles) for arrow in arrows]
        (x0, y0), (x1, y1) = corners  # one pixel for each unit, so that boxes keep their size
        self._chart.style(f"height: {y1 - y0:g}px; width: {x1 - x0:g}px")


def _hidden(name: str, x: float, y: float) -> dict[str, _Option]:
    return {
        "name": name, "x": x, "y": y, "symbolSize": 0, "label": {"show": False}, "tooltip": {"show": False},
    }  # fmt: skip


def _ends(box: Box) -> tuple[tuple[str, float], tuple[str, float]]:
    """Names and x of the points where arrows meet a box: ECharts draws to its centre, which hides the arrowheads."""
    half = box["symbolSize"][0] / 2
    return (f"{_LEFT}{box['name']}", box["x"] - half), (f"{_RIGHT}{box['name']}", box["x"] + half)


def _between(source: str, target: str, middles: dict[str, float]) -> Arrow:
    """An arrow between the facing sides of two boxes; curved if they are in one column."""
    if middles[source] < middles[target]:
        return {"source": _RIGHT + source, "target": _LEFT + target}
    if middles[source] > middles[target]:
        return {"source": _LEFT + source, "target": _RIGHT + target, "lineStyle": {"curveness": 0.2}}
    return {"source": _RIGHT + source, "target": _RIGHT + target, "lineStyle": {"curveness": 0.6}}


class Bars:
    """A time line with one bar in each row; the colour shows how it ended."""

    def __init__(self, words: str) -> None:
        self._shown: tuple[list[str], list[tuple[float, float, str]], list[tuple[float, int, str]]] | None = None
        bar = {"type": "bar", "stack": "time", "barWidth": "60%"}
        axis = {"axisLabel": {"color": _GREY}, "axisLine": {"lineStyle": {"color": _GREY}}}
        self._chart = ui.echart(
            {
                "animation": False,
                "grid": {"left": 110, "right": 30, "top": 10, "bottom": 40},
                "tooltip": {"renderMode": "richText"},
                "xAxis": {
                    "type": "value",
                    "name": "seconds",
                    "nameLocation": "middle",
                    "nameGap": 25,
                    "nameTextStyle": _TEXT,
                    "splitLine": {"lineStyle": {"color": _GREY, "opacity": 0.25}},
                    **axis,
                },
                "yAxis": {"type": "category", "inverse": True, "data": [], **axis},
                "series": [
                    {**bar, "name": "before", "itemStyle": {"color": "transparent"}, "silent": True, "data": []},
                    {**bar, "name": "seconds", "barMinHeight": 4, "data": []},
                    {"type": "scatter", "name": "unit of work", "symbolSize": 9, "data": []},
                ],
            },
            renderer="svg",
        ).classes("tdq-chart tall")
        self._chart.props["role"] = "img"
        self._chart.props["aria-label"] = words

    def show(self, names: list[str], bars: list[tuple[float, float, str]], marks: list[tuple[float, int, str]]) -> None:
        """Show bars (begin, length, colour), one in each row, and marks (moment, row, colour)."""
        if self._shown == (names, bars, marks):
            return
        self._shown = (names, bars, marks)
        options = self._chart.options
        options["yAxis"]["data"] = names
        options["series"][0]["data"] = [begin for begin, _, _ in bars]
        options["series"][1]["data"] = [{"value": length, "itemStyle": {"color": colour}} for _, length, colour in bars]
        options["series"][2]["data"] = [
            {"value": [moment, row], "itemStyle": {"color": colour}} for moment, row, colour in marks
        ]
