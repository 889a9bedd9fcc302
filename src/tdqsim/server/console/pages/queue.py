"""One queue: its explanation, INQUIRE, the commands, its depth over time, its records."""

from __future__ import annotations

from typing import Final

from fastapi import HTTPException, Request
from nicegui import ui

from tdqsim.server.console.charts import DepthChart
from tdqsim.server.console.controls import Block, card
from tdqsim.server.console.frame import Console, Visit, frame
from tdqsim.server.console.live import RegionView
from tdqsim.server.console.page import RegionPage, region_name
from tdqsim.server.console.pages.queue_actions import Actions
from tdqsim.server.console.pages.queue_records import RecordsSection
from tdqsim.server.console.queue_state import read_queue
from tdqsim.server.console.region_state import depth
from tdqsim.server.console.table import DataTable, column, row
from tdqsim.server.operations import operation

_OPTIONS: Final = (
    column("option", "Option"),
    column("value", "Value", mono=True, wide=True),
    column("number", "CVDA", num=True),
)
_LEAST: Final = 60 * 10**9
"""The minimum time span of the depth chart, in nanoseconds."""


def add(console: Console) -> None:
    """Register the page."""

    @ui.page("/regions/{region}/queues/{queue}")
    async def one_queue(request: Request, region: str, queue: str) -> None:
        name = region_name(console, region)
        view = console.live.view(name)
        if not await console.live.has_queue(name, queue):
            raise HTTPException(404, f"region {name} has no queue {queue}")
        with frame(console, request, f"Queue {queue}", region=name, here="queues") as visit:
            await _Queue(visit, view, queue).build()


class _Queue(RegionPage):
    actions: Actions | None = None

    def __init__(self, visit: Visit, view: RegionView, name: str) -> None:
        super().__init__(visit, view)
        self.name = name

    async def build(self) -> None:
        with card("In words"):
            self.explained = Block("p", "tdq-explain")
        if self.visit.may(operation("WRITEQ TD")):
            self.actions = Actions(self.visit, self.region, self.name)
            self.actions.build()
        with Block("div", "tdq-beside"):
            with Block("div"):
                with card("Depth", "Depth over time"):
                    self.figures = Block("p", "tdq-dim")
                    self.chart = DepthChart(self.name)
                layout = self.visit.console.host.layouts.get(self.region.applid, {}).get(self.name)
                self.records = RecordsSection(self.visit, self.region, self.name, layout)
                self.records.build()
            with card("INQUIRE TDQUEUE"):
                self.options = DataTable(f"INQUIRE TDQUEUE({self.name})", _OPTIONS, keep=True, empty="None.")
        await self.visit.follow([self.region.applid], self.refresh)

    async def refresh(self) -> None:
        if self.name not in self.view.queues:
            await self._show_discarded()
            return
        details = await self.visit.ask(lambda: read_queue(self.region, self.name, self.visit.caller.userid))
        self.explained.say("\n".join((*details.explanation, *filter(None, [details.refused]))))
        self.options.show([row(each[0], *each) for each in details.options])
        if self.actions is not None:
            self.actions.predict(details.commands)
        self._draw_depth()
        await self.records.refresh()

    async def _show_discarded(self) -> None:
        """Show no values of a queue that is not installed, and disable its commands until it is installed again."""
        self.explained.say(f"Queue {self.name} is not installed.")
        self.options.show([])
        self.figures.say("")
        self.chart.show([])
        if self.actions is not None:
            self.actions.predict(None)
        await self.records.refresh()

    def _draw_depth(self) -> None:
        queue = self.view.queues[self.name]
        samples = self.view.depths.of(self.name) or [(self.view.snapshot.time_ns, max(depth(queue), 0))]
        first = (min(samples[0][0], self.view.snapshot.time_ns - _LEAST), samples[0][1])
        points = [first, *samples[1:], (self.view.snapshot.time_ns, samples[-1][1])]
        self.chart.show([[time_ns // 1_000_000, depth] for time_ns, depth in points])
        if depth(queue) < 0:
            self.figures.say(f"The target of {self.name} has the records.")
            return
        depths = [depth for _, depth in samples]
        self.figures.say(f"Now {queue.numitems:,}; least {min(depths):,}, most {max(depths):,}.")
