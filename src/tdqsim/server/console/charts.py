"""Charts made by ECharts, which NiceGUI contains. Each page also has the same data as text, for accessibility."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from nicegui import ui
from nicegui.events import EChartPointClickEventArguments

_FRAME: Final = 120
_LANE: Final = 18
"""The height of a row of a time line, and the height of its axes, in pixels."""
_GREY: Final = "#8796a3"
_BLUE: Final = "#3d8fdd"
_YELLOW: Final = "#e0b000"
_TEXT: Final = {"color": _GREY, "fontFamily": "system-ui, sans-serif"}
_AXIS: Final = {"axisLabel": {"color": _GREY}, "axisLine": {"lineStyle": {"color": _GREY}}}


def _chart(words: str, options: dict[str, Any], on_click: Callable[..., object] | None = None) -> ui.echart:
    """A chart with a description for screen readers."""
    chart = ui.echart(options, on_click, renderer="svg").classes("tdq-chart")
    chart.props.update({"role": "img", "aria-label": words})
    return chart


class DepthChart:
    """The depth of a queue over time as a line with steps; each point is (milliseconds, depth)."""

    def __init__(self, queue: str) -> None:
        self._shown: list[list[int]] = []
        self._chart = _chart(
            f"Depth of {queue} over time, as a line",
            {
                "animation": False,
                "grid": {"left": 50, "right": 20, "top": 15, "bottom": 30},
                "tooltip": {"trigger": "axis", "renderMode": "richText"},
                "xAxis": {"type": "time", **_AXIS, "axisLabel": {"color": _GREY, "hideOverlap": True}},
                "yAxis": {
                    "type": "value",
                    "min": 0,
                    "minInterval": 1,
                    "splitLine": {"lineStyle": {"color": _GREY, "opacity": 0.25}},
                    **_AXIS,
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
        )

    def show(self, points: list[list[int]]) -> None:
        """Show these points; nothing is sent when they are the same as before."""
        if points[:-1] == self._shown[:-1] and len(points) == len(self._shown) and len(points) < 3:
            return
        self._shown = points
        self._chart.options["series"][0]["data"] = points


class Bars:
    """A time line with one bar in each row; the colour shows how it ended. It has a zoom along the time.

    Args:
        words: what it shows, for screen readers.
        on_click: called when a bar or a mark is clicked.
    """

    def __init__(self, words: str, on_click: Callable[[EChartPointClickEventArguments], object]) -> None:
        self._shown: tuple[object, ...] | None = None
        bar = {"type": "bar", "stack": "time", "barWidth": "60%"}
        line = {"type": "lines", "coordinateSystem": "cartesian2d", "clip": True}
        self._chart = _chart(
            words,
            {
                "animation": False,
                "grid": {"left": 150, "right": 30, "top": 10, "bottom": 90},
                "dataZoom": [
                    {"type": "slider", "bottom": 10, "height": 22, "filterMode": "none", "labelFormatter": ""},
                    {"type": "inside", "filterMode": "none", "zoomOnMouseWheel": "ctrl", "moveOnMouseWheel": False},
                ],
                "tooltip": {"renderMode": "richText"},
                "xAxis": {
                    "type": "value",
                    "name": "seconds",
                    "nameLocation": "middle",
                    "nameGap": 25,
                    "nameTextStyle": _TEXT,
                    "splitLine": {"lineStyle": {"color": _GREY, "opacity": 0.25}},
                    **_AXIS,
                    "axisLabel": {"color": _GREY, "formatter": "{value} s"},
                },
                "yAxis": {"type": "category", "inverse": True, "data": [], **_AXIS},
                "series": [
                    {**bar, "name": "before", "itemStyle": {"color": "transparent"}, "silent": True, "data": []},
                    {**bar, "name": "seconds", "barMinHeight": 4, "data": []},
                    {"type": "scatter", "name": "unit of work", "symbolSize": 9, "data": []},
                    {**line, "name": "waits", "lineStyle": {"color": _YELLOW, "width": 6, "opacity": 1}, "data": []},
                    {
                        **line,
                        "name": "unit of work of another region",
                        "symbol": ["none", "arrow"],
                        "data": [],
                        "lineStyle": {"color": _GREY, "width": 1.5, "opacity": 1, "type": "dashed"},
                    },
                ],
            },
            on_click,
        ).classes("tall")

    def show(
        self,
        names: list[str],
        bars: list[tuple[float, float, str]],
        marks: list[tuple[float, int, str]],
        waits: list[tuple[float, float, int, str]],
        links: list[tuple[float, int, int]],
    ) -> None:
        """Show bars, one in each row, and what is on them; sends nothing if they have not changed.

        Args:
            names: the names of the rows.
            bars: begin, length and colour of the bar of each row.
            marks: moment, row and colour of each mark.
            waits: begin, end, row and description of each wait.
            links: moment, row and other row of each arrow between two rows.
        """
        if self._shown == (names, bars, marks, waits, links):
            return
        self._shown = (names, bars, marks, waits, links)
        options = self._chart.options
        options["yAxis"]["data"] = names
        self._chart.style(f"height: {_FRAME + _LANE * len(names)}px")
        options["series"][0]["data"] = [begin for begin, _, _ in bars]
        options["series"][1]["data"] = [{"value": length, "itemStyle": {"color": colour}} for _, length, colour in bars]
        options["series"][2]["data"] = [
            {"value": [moment, row], "itemStyle": {"color": colour}} for moment, row, colour in marks
        ]
        options["series"][3]["data"] = [
            {"coords": [[begin, row], [end, row]], "name": words} for begin, end, row, words in waits
        ]
        options["series"][4]["data"] = [{"coords": [[moment, row], [moment, other]]} for moment, row, other in links]
