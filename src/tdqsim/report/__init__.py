"""Reports of runs as self-contained HTML pages: topology, depth over time, a time line of tasks, results.

:mod:`~tdqsim.report.page` is the page and :mod:`~tdqsim.report.parts` its parts; :mod:`~tdqsim.report.pictures` has the
kinds of charts, and :mod:`~tdqsim.report.topology` the chart of queues and their targets. :mod:`~tdqsim.report.digest`
condenses a history, and :mod:`~tdqsim.report.history_sections` shows the result. No name of this package is public:
``tdq run --report`` and the pytest option ``--tdq-report`` write the pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.report.diagram import BoxLine as BoxLine
    from tdqsim.report.diagram import Diagram as Diagram
    from tdqsim.report.diagram import DiagramArrow as DiagramArrow
    from tdqsim.report.diagram import DiagramBox as DiagramBox
    from tdqsim.report.diagram_svg import DrawnDiagram as DrawnDiagram
    from tdqsim.report.flows import FlowCounts as FlowCounts
    from tdqsim.report.flows import FlowNode as FlowNode
    from tdqsim.report.flows import Flows as Flows
    from tdqsim.report.flows import resource_of as resource_of
    from tdqsim.report.layout_of_queue import queue_layouts as queue_layouts
    from tdqsim.report.page import Page as Page
    from tdqsim.report.page import check_target as check_target
    from tdqsim.report.parts import Mark as Mark
    from tdqsim.report.parts import Part as Part
    from tdqsim.report.parts import Prose as Prose
    from tdqsim.report.parts import Table as Table
    from tdqsim.report.pictures import COLOURS as COLOURS
    from tdqsim.report.pictures import Point as Point
    from tdqsim.report.pictures import Series as Series
    from tdqsim.report.pictures import Stretch as Stretch
    from tdqsim.report.pictures import bars as bars
    from tdqsim.report.pictures import lines as lines
    from tdqsim.report.pictures import time_line as time_line
    from tdqsim.report.refused import RefusedCommands as RefusedCommands
    from tdqsim.report.refused import RefusedGroup as RefusedGroup
    from tdqsim.report.topology import Site as Site

# Names that are imported as themselves are for other packages of this repository, without a promise.
__all__: list[str] = []

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tdqsim.report.diagram": ("BoxLine", "Diagram", "DiagramArrow", "DiagramBox"),
        "tdqsim.report.diagram_svg": ("DrawnDiagram",),
        "tdqsim.report.flows": ("FlowCounts", "FlowNode", "Flows", "resource_of"),
        "tdqsim.report.page": ("Page", "check_target"),
        "tdqsim.report.parts": ("Mark", "Part", "Prose", "Table"),
        "tdqsim.report.pictures": ("COLOURS", "Point", "Series", "Stretch", "bars", "lines", "time_line"),
        "tdqsim.report.layout_of_queue": ("queue_layouts",),
        "tdqsim.report.refused": ("RefusedCommands", "RefusedGroup"),
        "tdqsim.report.topology": ("Site",),
    },
)
