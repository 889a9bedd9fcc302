"""The topology of regions: where aliases, triggers, data sets, remote queues and links lead.

It is made only from definitions: nothing is opened, imported or run. A remote queue leads to the queue in the region
that has it if that region is part of the topology, otherwise to the system by its SYSID. So does a DDM data queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tdqsim.definitions import Definitions, Dtaq, ExtraQueue, IndirectQueue, IntraQueue, Tdqueue, supplied_definitions
from tdqsim.report.diagram import BoxLine, Diagram, DiagramArrow, DiagramBox
from tdqsim.report.diagram_svg import DiagramPicture
from tdqsim.report.parts import Table

_KIND_OF: Final = {
    "INDIRECT": "alias", "INTRA": "queue", "EXTRA": "queue", "REMOTE": "remote queue", "DTAQ": "data queue",
    "TRANSACTION": "transaction", "DATASET": "data set", "SYSTEM": "system",
}  # fmt: skip


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
        detail: details: the trigger level; of a link the connection, and how many resources of each kind are remote
            over it.
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
        heads = ("in", "kind", "name", "its definition", "how", "in", "kind", "name", "by")
        return Table(heads, sorted(rows), "Queues and where they lead", most=most, rest="tdq topology --json has all")

    def diagram(self) -> Diagram:
        """The topology as boxes and arrows."""
        several = len({each.owner for each in self.nodes if each.owner}) > 1
        boxes = [
            DiagramBox(
                each.id,
                each.name,
                _KIND_OF[each.kind],
                each.owner if several else "",
                (BoxLine(each.detail),) if each.kind == "DATASET" and each.detail else (),
            )
            for each in self.nodes
        ]
        return Diagram(boxes, [DiagramArrow(each.source, each.target, each.how, _label(each)) for each in self.edges])

    def picture(self) -> DiagramPicture:
        """The topology as a picture; the number of boxes is limited."""
        return DiagramPicture("Topology", self.diagram(), self.table(), "Queues and where they lead")


def _label(edge: Edge) -> str:
    """What an arrow shows: the trigger level, TYPEFILE, or the state of a link."""
    if edge.how == "starts":
        level = edge.detail.partition(" ")[0]
        return f"at {level}" if level.isdecimal() else "never"
    return edge.detail.partition(", ")[0] if edge.how in ("data set", "linked with") else ""


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
            out = "" if link.inservice == "YES" else ", not in service"
            self.edges.append(Edge(here, there, "linked with", f"{link.name}{_shipped(owner, link.name)}{out}"))

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


def _shipped(owner: Site, connection: str) -> str:
    """What the definitions of a region ship or route over a connection, by kind; empty for nothing."""
    given = owner.definitions
    remote: dict[str, Sequence[Any]] = {
        "queue": [each for each in given.tdqueues if each.type_in(owner.sysid) == "REMOTE"],
        "transaction": given.transactions,
        "program": given.programs,
        "TS model": given.tsmodels,
        "terminal": given.terminals,
    }
    counts = {kind: sum(each.remotesystem == connection for each in every) for kind, every in remote.items()}
    shown = [f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items() if count]
    return f": {' + '.join(shown)}" if shown else ""


def _queue_node(owner: Site, queue: Tdqueue) -> Node:
    kind = queue.type_in(owner.sysid)
    return Node(f"{owner.name}/{kind}/{queue.name}", kind, owner.name, queue.name, _detail(queue, kind))


def _detail(queue: Tdqueue, kind: str) -> str:
    if kind == "INTRA" and isinstance(queue, IntraQueue):
        level = f", trigger level {queue.triggerlevel}" if queue.transid else ""
        return f"RECOVSTATUS {queue.recovstatus}{level}"
    return f"TYPEFILE {queue.typefile}" if kind == "EXTRA" and isinstance(queue, ExtraQueue) else ""
