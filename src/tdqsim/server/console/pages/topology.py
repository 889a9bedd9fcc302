"""The topology of a region: targets of aliases, triggers, data sets, remote queues and links."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from tdqsim import state
from tdqsim.cics import Region
from tdqsim.report import Diagram, DiagramArrow, DiagramBox
from tdqsim.server.console.controls import Block, Control, card
from tdqsim.server.console.flow_view import DiagramView
from tdqsim.server.console.page import RegionPage
from tdqsim.server.console.region_state import is_supplied, stands_for
from tdqsim.server.console.table import Cell, DataTable, Row, column, row
from tdqsim.state import QueueState

_COLUMNS: Final = (column("from", "From"), column("how", "How"), column("to", "To", wide=True))
_ARROWS: Final = {"alias": "alias of", "system": "shipped to", "data set": "data set"}
_DRAWN: Final = 300
_LISTED: Final = 500


@dataclass(frozen=True, slots=True)
class _Way:
    """A connection from a queue to its target, with a state or the trigger level as the label of its arrow."""

    queue: str
    how: str
    to: str
    kind: str
    state: str = ""
    level: str = ""


class TopologyPage(RegionPage):
    """The page of targets."""

    async def build(self) -> None:
        """Add the contents of the page."""
        with card("Topology", ""):
            with Block("div", "tdq-row"):
                self.has = Control("Name has", hint="such as PAY", on_change=self.refresh)
                self.supplied = Control("with the supplied queues", "check", False, on_change=self.refresh)
            self.words = Block("p", "tdq-dim", aria_live="polite")
            self.diagram = DiagramView("Queues and their targets; the list has the same data")
        with card("As a list", "The same as a list"):
            self.table = DataTable("Queues and their targets", _COLUMNS, empty="No queue has a target.")
        await self.visit.follow([self.region.applid], self.refresh)

    async def refresh(self) -> None:
        """Show the present state."""
        links = await self.visit.ask(lambda: _links(self.region))
        wanted, too = self.has.text.strip().upper(), self.supplied.checked
        ways = [
            way
            for queue in self.view.queues.values()
            if too or not is_supplied(queue)
            for way in _ways(queue, links)
            if wanted in way.queue or wanted in way.to.upper()
        ]
        drawn = ways[:_DRAWN]
        self.diagram.show(_diagram(drawn, self.view.queues, self._href))
        self.table.show([self._row(str(at), way) for at, way in enumerate(ways[:_LISTED])])
        self.words.say(
            f"{len(ways):,} connections"
            + (f"; the picture has the first {_DRAWN}" if len(ways) > _DRAWN else "")
            + (f"; the list has the first {_LISTED}." if len(ways) > _LISTED else ".")
        )

    def _row(self, key: str, way: _Way) -> Row:
        to: Cell = way.to
        if way.kind == "alias":
            to = {"text": way.to, "href": self._href(way.to)}
        elif way.state:
            to = f"{way.to} ({way.state})"
        return row(key, {"text": way.queue, "href": self._href(way.queue)}, way.how, to)

    def _href(self, queue: str) -> str:
        return self.href("queues", queue)


def _links(region: Region) -> dict[str, str]:
    """The state of each connection by name."""
    return {each.name: "acquired" if each.acquired else "released" for each in state.links(region)}


def _ways(queue: QueueState, links: dict[str, str]) -> Iterator[_Way]:
    if queue.type == "INDIRECT":
        yield _Way(queue.name, "is an alias of", queue.target, "alias")
    elif queue.type == "REMOTE":
        state = links.get(queue.system, "not connected")
        yield _Way(queue.name, "is shipped to", stands_for(queue), "system", state)
    elif queue.type == "EXTRA":
        state = "" if queue.openstatus == "OPEN" else queue.openstatus.lower()
        yield _Way(queue.name, "is the data set", queue.dataset or "(DUMMY)", "data set", state)
    if queue.level:
        records = "record" if queue.level == 1 else "records"
        yield _Way(
            queue.name,
            f"starts, at {queue.level} {records}",
            f"transaction {queue.transid}",
            "transaction",
            level=f"at {queue.level}",
        )


def _diagram(ways: list[_Way], queues: dict[str, QueueState], href: Callable[[str], str]) -> Diagram:
    kinds = {way.to: way.kind for way in ways if way.kind != "alias"}
    names = dict.fromkeys(name for way in ways for name in (way.queue, way.to))
    boxes = []
    for name in names:
        queue = queues.get(name) if name not in kinds else None
        kind = kinds.get(name) or ("alias" if queue is not None and queue.type == "INDIRECT" else "queue")
        shown = name.removeprefix("transaction ") if kind == "transaction" else name
        boxes.append(DiagramBox(name, shown, kind, href=href(name) if queue is not None else ""))
    arrows = [
        DiagramArrow(way.queue, way.to, "starts" if way.level else _ARROWS[way.kind], way.state or way.level)
        for way in ways
    ]
    return Diagram(boxes, arrows)
