"""The pages of the console, one module each; ``add(console)`` registers its pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.server.console.pages import (
    clock,
    commands,
    data_queue,
    definitions,
    faults,
    flows,
    incident,
    incidents,
    log,
    output,
    overview,
    queue,
    queues,
    snapshots,
    start,
    statistics,
    systems,
    task,
    tasks,
    timeline,
    topology,
    units,
)

if TYPE_CHECKING:
    from tdqsim.server.console.frame import Console

__all__ = ["add_pages"]

_PAGES = (
    overview, flows, clock, queues, queue, incidents, incident, tasks, task, start, units, commands, log, topology,
    timeline, statistics, output, definitions, snapshots, faults, systems, data_queue,
)  # fmt: skip


def add_pages(console: Console) -> None:
    """Register all pages."""
    for page in _PAGES:
        page.add(console)
