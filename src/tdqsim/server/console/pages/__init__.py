"""The pages of the console, one module each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tdqsim.server.console.page import RegionPage, region_page
from tdqsim.server.console.pages import (
    clock,
    commands,
    data_queue,
    faults,
    flows,
    incident,
    output,
    overview,
    queue,
    queues,
    snapshots,
    systems,
    task,
)
from tdqsim.server.console.pages.definitions import DefinitionsPage
from tdqsim.server.console.pages.incidents import IncidentsPage
from tdqsim.server.console.pages.log import LogPage
from tdqsim.server.console.pages.start import StartPage
from tdqsim.server.console.pages.statistics import StatisticsPage
from tdqsim.server.console.pages.tasks import TasksPage
from tdqsim.server.console.pages.timeline import TimeLinePage
from tdqsim.server.console.pages.topology import TopologyPage
from tdqsim.server.console.pages.units import UnitsPage

if TYPE_CHECKING:
    from tdqsim.server.console.frame import Console

__all__ = ["add_pages"]

_OF_A_REGION: Final[dict[str, type[RegionPage]]] = {
    "incidents": IncidentsPage, "tasks": TasksPage, "start": StartPage, "units": UnitsPage, "log": LogPage,
    "topology": TopologyPage, "timeline": TimeLinePage, "statistics": StatisticsPage, "definitions": DefinitionsPage,
}  # fmt: skip
_OTHERS: Final = (
    overview, flows, clock, queues, queue, incident, task, commands, output, snapshots, faults, systems, data_queue,
)  # fmt: skip
"""The modules whose paths have more parts; ``add(console)`` registers their pages."""


def add_pages(console: Console) -> None:
    """Register all pages."""
    for here, page in _OF_A_REGION.items():
        region_page(console, here, page)
    for module in _OTHERS:
        module.add(console)
