"""Reports of runs as self-contained HTML pages: topology, depth over time, a time line of tasks, results.

:mod:`~tdqsim.report.page` is the page and :mod:`~tdqsim.report.parts` its parts; :mod:`~tdqsim.report.pictures` has the
kinds of charts, and :mod:`~tdqsim.report.topology` the chart of queues and their targets. :mod:`~tdqsim.report.digest`
condenses a history, and :mod:`~tdqsim.report.history_sections` shows the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.report.diagram import BoxLine, Diagram, DiagramArrow, DiagramBox
    from tdqsim.report.diagram_svg import MOST, legend, svg, texts, tools
    from tdqsim.report.flows import FlowCounts, FlowNode, Flows, resource_of
    from tdqsim.report.layout_of_queue import queue_layouts
    from tdqsim.report.page import Page, check_target
    from tdqsim.report.parts import Mark, Part, Prose, Table
    from tdqsim.report.pictures import COLOURS, Point, Series, Stretch, bars, lines, time_line
    from tdqsim.report.refused import RefusedCommands, RefusedGroup
    from tdqsim.report.topology import Site

__all__ = [
    "COLOURS",
    "MOST",
    "BoxLine",
    "Diagram",
    "DiagramArrow",
    "DiagramBox",
    "FlowCounts",
    "FlowNode",
    "Flows",
    "Mark",
    "Page",
    "Part",
    "Point",
    "Prose",
    "RefusedCommands",
    "RefusedGroup",
    "Series",
    "Site",
    "Stretch",
    "Table",
    "bars",
    "check_target",
    "legend",
    "lines",
    "queue_layouts",
    "resource_of",
    "svg",
    "texts",
    "time_line",
    "tools",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tdqsim.report.diagram": ("BoxLine", "Diagram", "DiagramArrow", "DiagramBox"),
        "tdqsim.report.diagram_svg": ("MOST", "legend", "svg", "texts", "tools"),
        "tdqsim.report.flows": ("FlowCounts", "FlowNode", "Flows", "resource_of"),
        "tdqsim.report.page": ("Page", "check_target"),
        "tdqsim.report.parts": ("Mark", "Part", "Prose", "Table"),
        "tdqsim.report.pictures": ("COLOURS", "Point", "Series", "Stretch", "bars", "lines", "time_line"),
        "tdqsim.report.layout_of_queue": ("queue_layouts",),
        "tdqsim.report.refused": ("RefusedCommands", "RefusedGroup"),
        "tdqsim.report.topology": ("Site",),
    },
)
