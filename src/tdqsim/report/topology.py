"""The topology of regions: where aliases, triggers, data sets, remote queues and links lead.

It is made only from definitions: nothing is opened, imported or run. A remote queue leads to the queue in the region
that has it if that region is part of the topology, otherwise to the system by its SYSID. So does a DDM data queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tdqsim.definitions import Definitions, Dtaq, ExtraQueue, IndirectQueue, IntraQueue, Tdqueue, supplied_definitions
from tdqsim.report._text import label
from tdqsim.report.parts import Drawing, Table
from tdqsim.report.pictures import COLOURS

__all__ = ["Edge", "Node", "Site", "Topology", "topology"]

_MOST_ROWS: Final = 80
_ROW: Final = 30
_COLUMN_OF: Final = {"INDIRECT": 0, "INTRA": 1, "EXTRA": 1, "REMOTE": 1, "DTAQ": 1}
_LAST_COLUMN: Final = 2
_HEADS: Final = ("aliases", "queues", "where they lead")
_COLOUR_OF: Final = {
    "INDIRECT": COLOURS[5], "INTRA": COLOURS[0], "EXTRA": COLOURS[2], "REMOTE": COLOURS[3], "DTAQ": COLOURS[0],
    "TRANSACTION": COLOURS[1], "DATASET": COLOURS[2], "SYSTEM": COLOURS[3],
}  # fmt: skip
_SYMBOL_OF: Final = {"TRANSACTION": "diamond", "DATASET": "square", "SYSTEM": "hexagon"}


class Node(NamedTuple):
    """A queue, or a target of a queue.

    Attributes:
        id: a unique id, ``APPLID/KIND/NAME``.
        kind: INTRA, EXTRA, INDIRECT, REMOTE, DTAQ; TRANSACTION, DATASET, SYSTEM.
        owner: the region or system; empty if it is only a target.
        name: its name.
        detail: other attributes of its definition, as text.
    """

    id: str
    kind: str
    owner: str
    name: str
    detail: str = ""


class Edge(NamedTuple):
    """A connection from one node to another.

    Attributes:
        source, target: the ids of the nodes.
        how: the kind of connection: ``alias of``, ``starts``, ``data set``, ``shipped to``, ``linked with``.
        detail: details, such as the trigger level.
    """

    source: str
    target: str
    how: str
    detail: str = ""


class Site(NamedTuple):
    """A region or system, as far as its topology needs it.

    Attributes:
        name: the APPLID, or the name of the system.
        sysid: the SYSID of the region; empty for an IBM i system.
        definitions: its definitions.
        files: the file of each DD name that has a DD card.
    """

    name: str
    sysid: str
    definitions: Definitions
    files: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Topology:
    """Nodes and the connections between them."""

    nodes: Sequence[Node]
    edges: Sequence[Edge]

    def as_dict(self) -> dict[str, Any]:
        """Nodes and edges as values for JSON."""
        return {"nodes": [each._asdict() for each in self.nodes], "edges": [each._asdict() for each in self.edges]}

    def table(self, most: int = 2000) -> Table:
        """A table with a row for each connection, and for each node without one."""
        known = {each.id: each for each in self.nodes}
        rows = [
            (*_cells(known[each.source]), each.how, *_cells(known[each.target])[:3], each.detail) for each in self.edges
        ]
        connected = {end for each in self.edges for end in (each.source, each.target)}
        rows += [(*_cells(each), "", "", "", "", "") for each in self.nodes if each.id not in connected]
        heads = ("in", "kind", "name", "its definition", "", "in", "kind", "name", "by")
        return Table(heads, sorted(rows), "Queues and where they lead", most=most, rest="tdq topology --json has all")

    def picture(self) -> Drawing:
        """A chart with columns of aliases, queues and targets, connected by arrows; the number of rows is limited."""
        places = _placed(self)
        if len(places) < len(self.nodes):
            title = f"Topology: {len(places):,} of {len(self.nodes):,} queues and targets; the table has more"
        else:
            title = "Topology: queues and where they lead"
        rows = 1 + max((row for _, row in places.values()), default=0)
        data = [*_arrows(self, places), *_dots(self, places)]
        heads = [
            {"x": at, "y": -1.25, "text": text, "showarrow": False, "xanchor": "left" if at < _LAST_COLUMN else "right"}
            for at, text in enumerate(_HEADS)
        ]
        hidden = {"visible": False, "fixedrange": True}
        layout = {
            "xaxis": hidden | {"range": [-0.08, _LAST_COLUMN + 0.1]}, "yaxis": hidden | {"range": [rows - 0.3, -1.7]},
            "annotations": heads, "showlegend": True, "legend": {"orientation": "h", "y": 0, "yanchor": "top"},
            "hovermode": "closest",
        }  # fmt: skip
        return Drawing(title, data, layout, self.table(), 110 + _ROW * rows)


def _cells(node: Node) -> tuple[str, str, str, str]:
    return node.owner, node.kind, node.name, node.detail


def topology(owners: Iterable[Site]) -> Topology:
    """The topology of regions and systems."""
    sites = list(owners)
    builder = _Builder(sites)
    for site in sites:
        builder.add(site)
    return Topology(list(builder.nodes.values()), builder.edges)


class _Builder:
    """Collects nodes and edges."""

    def __init__(self, given: Iterable[Site]) -> None:
        self.nodes: dict[str, Node] = {}
        self.edges: list[Edge] = []
        self._queues = {each.name: {queue.name: queue for queue in each.definitions.tdqueues} for each in given}
        self._transactions = {each.name: {one.name: one for one in each.definitions.transactions} for each in given}
        self._by_sysid = {each.sysid: each for each in given if each.sysid}

    def add(self, owner: Site) -> None:
        """Add the queues and connections of a region or system."""
        for queue in self._queues[owner.name].values():
            self._lead(owner, queue, self._put(_queue_node(owner, queue)))
        for dtaq in owner.definitions.dtaqs:
            self._data_queue(owner, dtaq)
        for link in owner.definitions.connections:
            here = self._put(Node(f"{owner.name}//", "SYSTEM", "", owner.name, f"SYSID {owner.sysid}"))
            there = self._put(Node(f"{link.applid}//", "SYSTEM", "", link.applid))
            detail = link.name if link.inservice == "YES" else f"{link.name}, not in service"
            self.edges.append(Edge(here, there, "linked with", detail))

    def _put(self, node: Node) -> str:
        self.nodes.setdefault(node.id, node)
        return node.id

    def _lead(self, owner: Site, queue: Tdqueue, here: str) -> None:
        """Add the connection of a queue to its target."""
        if queue.type_in(owner.sysid) == "REMOTE":
            self.edges.append(Edge(here, self._remote(queue), "shipped to", f"SYSID {queue.remotesystem}"))
        elif isinstance(queue, IndirectQueue):
            self.edges.append(Edge(here, self._alias(owner, queue.indirectname), "alias of"))
        elif isinstance(queue, ExtraQueue):
            file = queue.dsname or owner.files.get(queue.dd, "")
            there = self._put(Node(f"{owner.name}/DATASET/{queue.dd}", "DATASET", owner.name, queue.dd, file))
            self.edges.append(Edge(here, there, "data set", queue.typefile))
        elif isinstance(queue, IntraQueue) and queue.transid:
            self._trigger(owner, queue, here)

    def _alias(self, owner: Site, name: str) -> str:
        """Add the target of an alias: a defined queue, otherwise a supplied queue with its own target."""
        own = self._queues[owner.name].get(name)
        if own is not None:
            return self._put(_queue_node(owner, own))
        supplied = next((each for each in supplied_definitions().tdqueues if each.name == name), None)
        if supplied is None:
            return self._put(Node(f"{owner.name}/INTRA/{name}", "INTRA", owner.name, name, "not defined here"))
        node = _queue_node(owner, supplied)
        if node.id not in self.nodes:
            self._lead(owner, supplied, self._put(node))
        return node.id

    def _trigger(self, owner: Site, queue: IntraQueue, here: str) -> None:
        transaction = self._transactions[owner.name].get(queue.transid)
        program = (transaction.handler or transaction.program) if transaction is not None else "not defined here"
        started = Node(f"{owner.name}/TRANSACTION/{queue.transid}", "TRANSACTION", owner.name, queue.transid, program)
        level = f"{queue.triggerlevel} records" if queue.triggerlevel else "never: trigger level 0"
        self.edges.append(
            Edge(here, self._put(started), "starts", f"{level}, {queue.atifacility} {queue.facility}".rstrip())
        )

    def _remote(self, queue: Tdqueue) -> str:
        """Add the target of a remote queue: the queue in its region, or its name if the region is not included."""
        there = self._by_sysid.get(queue.remotesystem)
        node = self._queues[there.name].get(queue.remote_queue) if there is not None else None
        if there is not None and node is not None:
            return self._put(_queue_node(there, node))
        name = f"{queue.remotesystem}:{queue.remote_queue}"
        return self._put(Node(f"{queue.remotesystem}/SYSTEM/{queue.remote_queue}", "SYSTEM", "", name))

    def _data_queue(self, owner: Site, dtaq: Dtaq) -> None:
        detail = "DDM" if dtaq.type == "*DDM" else f"{dtaq.seq}, {dtaq.maxlen} bytes"
        here = self._put(Node(f"{owner.name}/DTAQ/{dtaq.dtaq}", "DTAQ", owner.name, dtaq.dtaq, detail))
        if dtaq.type == "*DDM":
            system = dtaq.rdb or dtaq.rmtlocname
            name = f"{system}:{dtaq.rmtdtaq}"
            there = self._put(Node(f"{system}/SYSTEM/{dtaq.rmtdtaq}", "SYSTEM", "", name))
            self.edges.append(Edge(here, there, "shipped to", "DDM"))


def _queue_node(owner: Site, queue: Tdqueue) -> Node:
    kind = queue.type_in(owner.sysid)
    return Node(f"{owner.name}/{kind}/{queue.name}", kind, owner.name, queue.name, _detail(queue, kind))


def _detail(queue: Tdqueue, kind: str) -> str:
    if kind == "INTRA" and isinstance(queue, IntraQueue):
        level = f", trigger level {queue.triggerlevel}" if queue.transid else ""
        return f"RECOVSTATUS {queue.recovstatus}{level}"
    return f"TYPEFILE {queue.typefile}" if kind == "EXTRA" and isinstance(queue, ExtraQueue) else ""


# the chart -----------------------------------------------------------------------------------------------------------


def _placed(given: Topology) -> dict[str, tuple[int, int]]:
    """Column and row of each node: queues in their order, aliases and targets next to them, other nodes below."""
    columns = {each.id: _COLUMN_OF.get(each.kind, _LAST_COLUMN) for each in given.nodes}
    leads: dict[str, list[str]] = {}
    into: dict[str, list[str]] = {}
    for edge in given.edges:
        leads.setdefault(edge.source, []).append(edge.target)
        into.setdefault(edge.target, []).append(edge.source)
        if edge.how == "shipped to" and columns[edge.target] == 1:
            columns[edge.source] = 0  # a remote queue is left of its target
    connected = leads.keys() | into.keys()
    queues = sorted((node for node in columns if columns[node] == 1), key=lambda node: node not in connected)
    places: dict[str, tuple[int, int]] = {}
    rows = [0, 0, 0]

    def put(node: str, at_least: int) -> None:
        column = columns[node]
        row = max(at_least, rows[column])
        if node not in places and row < _MOST_ROWS:
            places[node] = (column, row)
            rows[column] = row + 1

    for queue in queues:
        put(queue, 0)
        for other in (*into.get(queue, ()), *leads.get(queue, ())):
            if columns[other] != 1 and queue in places:
                put(other, places[queue][1])
        rows[1] = max(rows[1], min(rows[0], rows[1] + _MOST_ROWS))
    for node in columns:
        put(node, 0)
    return places


def _arrows(given: Topology, places: Mapping[str, tuple[int, int]]) -> list[dict[str, Any]]:
    traces = []
    for how in dict.fromkeys(edge.how for edge in given.edges):
        x: list[float | None] = []
        y: list[float | None] = []
        for edge in given.edges:
            if edge.how == how and edge.source in places and edge.target in places:
                (x0, y0), (x1, y1) = places[edge.source], places[edge.target]
                x += [x0, x1, None]
                y += [y0, y1, None]
        if x:
            traces.append({
                "type": "scatter", "mode": "lines+markers", "x": x, "y": y, "hoverinfo": "skip", "showlegend": False,
                "line": {"width": 1.4, "color": "#8894a5"},
                "marker": {
                    "symbol": "arrow", "angleref": "previous", "size": [0, 11, 0] * (len(x) // 3), "standoff": 9,
                    "color": "#8894a5",
                },
            })  # fmt: skip
    return traces


def _dots(given: Topology, places: Mapping[str, tuple[int, int]]) -> list[dict[str, Any]]:
    traces = []
    several = len({each.owner for each in given.nodes if each.owner}) > 1
    for kind in dict.fromkeys(each.kind for each in given.nodes):
        nodes = [each for each in given.nodes if each.kind == kind and each.id in places]
        if nodes:
            names = [f"{each.owner}:{each.name}" if several and each.owner else each.name for each in nodes]
            traces.append({
                "type": "scatter", "mode": "markers+text", "name": kind, "cliponaxis": False,
                "x": [places[each.id][0] for each in nodes], "y": [places[each.id][1] for each in nodes],
                "text": [label(name, 24) for name in names],
                "textposition": ["top left" if places[each.id][0] == _LAST_COLUMN else "top right" for each in nodes],
                "hovertext": [label(f"{each.owner} {each.kind} {each.name} {each.detail}", 300) for each in nodes],
                "hoverinfo": "text",
                "marker": {"size": 13, "color": _COLOUR_OF[kind], "symbol": _SYMBOL_OF.get(kind, "circle")},
            })  # fmt: skip
    return traces
