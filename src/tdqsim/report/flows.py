"""What flowed: which transactions and jobs wrote and read which resources, and what started what, with counts.

:class:`FlowCounts` counts the commands of one region or system by transaction, command, resource and condition. It is
filled event by event, from a history (:class:`~tdqsim.report.digest.Digest`) or by a server, and its size is limited.
:class:`Flows` joins the counts of several regions, and what is known of their resources, into nodes and the flows
between them: records move from the writer to the queue and from the queue to the reader.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nlargest
from typing import Any, Final, NamedTuple

from tdqsim.definitions import Definitions, ExtraQueue, IndirectQueue
from tdqsim.report.diagram import BoxLine, Diagram, DiagramArrow, DiagramBox, room_for
from tdqsim.report.parts import Table

_MOST: Final = 20_000
"""The number of different counts of one region; others are counted without the name of their resource."""
_ORDINARY: Final = frozenset({"QZERO", "ENDFILE", "ITEMERR", "NOTFND", "ENDDATA"})
"""The conditions that a program expects, besides QIDERR of READQ TS; others are failures."""
MIRROR: Final = "CSMI"
_ALIKE: Final = 3
_BEGINNING: Final = re.compile(r"[^0-9]+|.")
_GROUPED_FROM: Final = 60
_LEAST_RATE, _WHOLE_RATE = 0.1, 10
_RATE_ROOM: Final = len(" · 0.0/s")


class Movement(NamedTuple):
    """What a command does to its resource.

    Attributes:
        how: ``reads``, ``writes``, ``deletes`` or ``starts``.
        kind: the kind of the resource.
        parameter: the parameter of the command with the name of the resource.
    """

    how: str
    kind: str
    parameter: str


MOVEMENTS: Final[Mapping[str, Movement]] = {
    **{f"{verb} TD": Movement(how, "queue", "queue") for verb, how in
       (("WRITEQ", "writes"), ("READQ", "reads"), ("DELETEQ", "deletes"))},
    **{f"{verb} TS": Movement(how, "TS queue", "queue") for verb, how in
       (("WRITEQ", "writes"), ("READQ", "reads"), ("DELETEQ", "deletes"))},
    **{verb: Movement(how, "file", "file") for verb, how in
       (("READ", "reads"), ("READNEXT", "reads"), ("READPREV", "reads"), ("WRITE", "writes"), ("REWRITE", "writes"),
        ("DELETE", "deletes"))},
    **dict.fromkeys(("LINK", "XCTL"), Movement("starts", "program", "program")),
    "START": Movement("starts", "transaction", "transid"),
    "SEED": Movement("writes", "queue", "queue"),
    "QSNDDTAQ": Movement("writes", "data queue", "queue"),
    "QRCVDTAQ": Movement("reads", "data queue", "queue"),
    "QCLRDTAQ": Movement("deletes", "data queue", "queue"),
}  # fmt: skip
"""The commands that move records or start something."""


def resource_of(command: str, arguments: Mapping[str, Any]) -> str:
    """The name of the resource of a command of :data:`MOVEMENTS`; empty for other commands."""
    operation = MOVEMENTS.get(command)
    name = arguments.get(operation.parameter) if operation is not None else None
    return name.rstrip(" ") if isinstance(name, str) else ""


class FlowCounts:
    """The counts of one region or system.

    Attributes:
        commands: the number of commands by (transaction or job, command, resource, condition).
        started: the number of tasks that trigger levels started, by (queue, transaction).
        tasks: the number of tasks that have begun, by transaction.
        abends: the number of tasks that have abended, by (transaction, code).
    """

    def __init__(self) -> None:
        self.commands: dict[tuple[str, str, str, str], int] = {}
        self.started: Counter[tuple[str, str]] = Counter()
        self.tasks: Counter[str] = Counter()
        self.abends: Counter[tuple[str, str]] = Counter()

    def command(self, actor: str, command: str, resource: str, condition: str, count: int = 1) -> None:
        """Count a command."""
        key = (actor, command, resource, condition)
        try:
            self.commands[key] += count
        except KeyError:
            if len(self.commands) >= _MOST:
                key = ("", command, "", condition)
            self.commands[key] = self.commands.get(key, 0) + count

    def by_condition(self) -> Counter[tuple[str, str]]:
        """The number of commands by (command, condition)."""
        total: Counter[tuple[str, str]] = Counter()
        for (_actor, command, _resource, condition), count in list(self.commands.items()):
            if command != "SEED":
                total[command, condition] += count
        return total


class FlowNode(NamedTuple):
    """A transaction, program, job or resource.

    Attributes:
        id: a unique id.
        kind: ``transaction``, ``program``, ``job``, ``queue``, ``data set``, ``remote queue``, ``TS queue``, ``file``,
            ``data queue``.
        owner: the region or system.
        name: its name.
        depth: the number of records on a queue; None if it is not known or does not apply.
        target: the DD name of a data set, or the region of a remote resource.
        tasks, abends: the number of tasks of a transaction, and of those that abended.
        members: the names that a joined node stands for.
    """

    id: str
    kind: str
    owner: str
    name: str
    depth: int | None = None
    target: str = ""
    tasks: int = 0
    abends: int = 0
    members: tuple[str, ...] = ()


@dataclass(slots=True)
class Flow:
    """What flowed from one node to another.

    Attributes:
        source, target: the ids of the nodes.
        counts: the number of records moved or tasks started, by ``records``, ``deletes``, ``starts`` or ``ships``.
        failed: the number of commands that failed, by condition.
    """

    source: str
    target: str
    counts: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)

    def total(self) -> int:
        """The number of records moved and tasks started."""
        return self.counts.total()


class Flows:
    """The flows of several regions and systems.

    Attributes:
        nodes: the nodes by id.
        flows: the flows by the ids of both nodes.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, FlowNode] = {}
        self.flows: dict[tuple[str, str], Flow] = {}
        self._known: dict[tuple[str, str], tuple[str, str]] = {}
        self._joined: Flows | None = None

    # -- what is known of the resources --------------------------------------------------------------------------

    def know(self, owner: str, name: str, kind: str, target: str = "") -> None:
        """Note the kind of a queue or program, and its target: a DD name, the queue of an alias, or a region."""
        self._known[owner, name] = (kind, target)

    def define(self, owner: str, sysid: str, definitions: Definitions) -> None:
        """Note the kinds of the queues and programs that definitions have."""
        systems = {link.name: link.applid for link in definitions.connections}
        for queue in definitions.tdqueues:
            if queue.type_in(sysid) == "REMOTE":
                self.know(owner, queue.name, "remote queue", systems.get(queue.remotesystem, queue.remotesystem))
            elif isinstance(queue, ExtraQueue):
                self.know(owner, queue.name, "data set", queue.dd)
            elif isinstance(queue, IndirectQueue):
                self.know(owner, queue.name, "alias", queue.indirectname)
            else:
                self.know(owner, queue.name, "queue")
        for program in definitions.programs:
            if program.remotesystem not in ("", sysid):
                self.know(owner, program.name, "program", systems.get(program.remotesystem, program.remotesystem))

    def deep(self, owner: str, depths: Iterable[tuple[str, int]], kind: str = "queue", *, new: bool = True) -> None:
        """Set the depths of queues or data queues; if ``new``, queues with records are shown even if nothing flowed."""
        for name, depth in depths:
            node = self.nodes.get(f"{owner}/{kind}/{name}")
            if node is not None or (depth and new):
                node = node or self._resource(owner, self._kind(owner, name, kind), name)
                self.nodes[node.id] = node._replace(depth=depth)

    # -- what happened -------------------------------------------------------------------------------------------

    def add(self, owner: str, counts: FlowCounts) -> None:
        """Add the counts of a region or system."""
        for (actor, command, resource, condition), count in list(counts.commands.items()):
            operation = MOVEMENTS.get(command)
            if operation is not None and resource:
                self._command(owner, actor, operation, resource, condition, count)
        for (queue, actor), count in list(counts.started.items()):
            source = self._resource(owner, self._kind(owner, queue, "queue"), queue)
            self._flow(source.id, self._actor(owner, actor).id).counts["starts"] += count
        for actor, count in list(counts.tasks.items()):
            node = self._actor(owner, actor)
            self.nodes[node.id] = node._replace(tasks=node.tasks + count)
        for (actor, _code), count in list(counts.abends.items()):
            node = self._actor(owner, actor)
            self.nodes[node.id] = node._replace(abends=node.abends + count)

    def _command(self, owner: str, actor: str, operation: Movement, name: str, condition: str, count: int) -> None:
        here = self._actor(owner, actor, "job" if operation.kind == "data queue" else "transaction")
        name = self._after_aliases(owner, name) if operation.kind == "queue" else name
        there = self._resource(owner, self._kind(owner, name, operation.kind), name)
        ends = (there.id, here.id) if operation.how == "reads" else (here.id, there.id)
        if condition == "NORMAL" or (condition == "LENGERR" and operation.how == "reads"):
            how = operation.how if operation.how in ("deletes", "starts") else "records"
            self._flow(*ends).counts[how] += count
        elif condition not in _ORDINARY and not (condition == "QIDERR" and operation == MOVEMENTS["READQ TS"]):
            self._flow(*ends).failed[condition] += count
        else:
            self._flow(*ends)

    def _after_aliases(self, owner: str, name: str) -> str:
        for _ in self._known:
            kind, target = self._known.get((owner, name), ("", ""))
            if kind != "alias":
                break
            name = target
        return name

    def _flow(self, source: str, target: str) -> Flow:
        flow = self.flows.get((source, target))
        if flow is None:
            flow = self.flows[source, target] = Flow(source, target)
        return flow

    def _kind(self, owner: str, name: str, kind: str) -> str:
        known = self._known.get((owner, name))
        return known[0] if known is not None and kind in ("queue", "program") else kind

    def _actor(self, owner: str, name: str, kind: str = "transaction") -> FlowNode:
        name = name or "(outside)"
        return self.nodes.setdefault(f"{owner}/{kind}/{name}", FlowNode(f"{owner}/{kind}/{name}", kind, owner, name))

    def _resource(self, owner: str, kind: str, name: str) -> FlowNode:
        base = "queue" if kind in ("data set", "remote queue") else kind
        key = f"{owner}/{base}/{name}"
        target = self._known.get((owner, name), ("", ""))[1]
        return self.nodes.setdefault(key, FlowNode(key, kind, owner, name, target=target))

    def ship(self) -> None:
        """Add what was shipped to the mirror transactions of other regions; call after all regions are added."""
        for node in list(self.nodes.values()):
            mirror = f"{node.target}/transaction/{MIRROR}"
            if node.kind not in ("remote queue", "program") or mirror not in self.nodes:
                continue
            for flow in list(self.flows.values()):
                if flow.target == node.id:
                    self._flow(node.id, mirror).counts["ships"] += flow.total()
                elif flow.source == node.id and flow.target != mirror:
                    self._flow(mirror, node.id).counts["ships"] += flow.total()

    # -- views ---------------------------------------------------------------------------------------------------

    def joined(self) -> Flows:
        """The flows with one node for at least three resources of the same kind, with names and flows alike.

        They are made once: call this when all regions are added.
        """
        if self._joined is None:
            self._joined = self._join()
        return self._joined

    def _join(self) -> Flows:
        ways: dict[str, set[tuple[str, bool]]] = {each: set() for each in self.nodes}
        for flow in self.flows.values():
            ways[flow.source].add((flow.target, True))
            ways[flow.target].add((flow.source, False))
        alike: dict[object, list[FlowNode]] = {}
        for node in self.nodes.values():
            key = node.owner, node.kind, _beginning(node.name), frozenset(ways[node.id])
            alike.setdefault(key if node.kind not in ("transaction", "job") else node.id, []).append(node)
        result = Flows()
        places: dict[str, str] = {}
        for nodes in alike.values():
            if len(nodes) < _ALIKE:
                result.nodes |= {node.id: node for node in nodes}
                continue
            first = nodes[0]
            names = tuple(sorted(node.name for node in nodes))
            depths = [node.depth for node in nodes if node.depth is not None]
            result.nodes[first.id] = first._replace(
                name=f"{names[0]}..{names[-1]}", members=names, target="", depth=sum(depths) if depths else None
            )
            places |= {node.id: first.id for node in nodes}
        for flow in self.flows.values():
            joined = result._flow(places.get(flow.source, flow.source), places.get(flow.target, flow.target))
            joined.counts += flow.counts
            joined.failed += flow.failed
        return result

    def diagram(
        self,
        *,
        join: bool | None = None,
        rates: Mapping[tuple[str, str], float] | None = None,
        link: Callable[[FlowNode], str] = lambda _node: "",
    ) -> Diagram:
        """The flows as boxes and arrows.

        Args:
            join: whether to join nodes that are alike; None to join them if there are more than 60 nodes.
            rates: the number of records and starts a second, by the ids of both nodes.
            link: returns the address of the page of a node; empty for none.
        """
        flows = self.joined() if join or (join is None and len(self.nodes) > _GROUPED_FROM) else self
        several = len({node.owner for node in flows.nodes.values()}) > 1
        nodes = sorted(flows.nodes.values(), key=lambda node: (node.owner, node.name, node.kind))
        boxes = [_box(node, link, framed=several) for node in nodes]
        return Diagram(
            boxes, [_arrow(flow, None if rates is None else rates.get(key, 0.0)) for key, flow in flows.flows.items()]
        )

    def within(self, owners: Collection[str]) -> Flows:
        """The flows in some regions, and those to and from them."""
        kept = {each for each, node in self.nodes.items() if node.owner in owners}
        if len(kept) == len(self.nodes):
            return self
        return self._around(kept)

    def about(self, words: str) -> Flows:
        """The nodes whose names contain these words, and their neighbours; all without words."""
        words = words.strip().upper()
        if not words:
            return self
        return self._around({each for each, node in self.nodes.items() if words in node.name.upper()})

    def _around(self, kept: set[str]) -> Flows:
        """Some nodes and their neighbours."""
        result = Flows()
        result.flows = {key: flow for key, flow in self.flows.items() if not kept.isdisjoint(key)}
        shown = kept.union(*result.flows)
        result.nodes = {each: node for each, node in self.nodes.items() if each in shown}
        return result

    def table(self, most: int = 2000) -> Table:
        """A table with a row for each flow."""
        heads = ("in", "from", "to", "records", "starts", "other", "failed")
        return Table(heads, sorted(self.rows()), "Flows", most=most)

    def largest(self, most: int) -> list[tuple[str, str]]:
        """The ids of both nodes of the flows with the largest counts, the largest first."""
        return nlargest(most, self.flows, key=lambda key: (self.flows[key].total(), key))

    def rows(self, keys: Iterable[tuple[str, str]] | None = None) -> Iterator[tuple[str, str, str, int, int, str, str]]:
        """The rows of the table, of some or all flows: region, both ends, records, starts, other counts, failures."""
        for key in self.flows if keys is None else keys:
            flow = self.flows[key]
            source, target = self.nodes[flow.source], self.nodes[flow.target]
            other = ", ".join(f"{how} {count:,}" for how, count in flow.counts.items() if how in ("deletes", "ships"))
            failed = ", ".join(f"{condition} {count:,}" for condition, count in sorted(flow.failed.items()))
            ends = (f"{source.kind} {source.name}", f"{target.kind} {target.name}")
            yield source.owner, *ends, flow.counts["records"], flow.counts["starts"], other, failed

    def as_dict(self) -> dict[str, Any]:
        """Nodes and flows as values for JSON."""
        flows = [
            {"source": flow.source, "target": flow.target, **flow.counts, "failed": dict(flow.failed)}
            for flow in self.flows.values()
        ]
        return {"nodes": [node._asdict() for node in self.nodes.values()], "flows": flows}


def _beginning(name: str) -> str:
    """The beginning of a name up to its first digit."""
    found = _BEGINNING.match(name)
    return found[0] if found is not None else ""


def _box(node: FlowNode, link: Callable[[FlowNode], str], *, framed: bool) -> DiagramBox:
    lines = []
    if node.members:
        lines.append(BoxLine(f"{len(node.members):,} {node.kind}s"))
    if node.target:
        lines.append(BoxLine(node.target))
    if node.tasks:
        lines.append(BoxLine(f"{node.tasks:,} task{'' if node.tasks == 1 else 's'}"))
    if node.depth is not None:
        lines.append(BoxLine(f"depth {node.depth:,}"))
    if node.abends:
        lines.append(BoxLine(f"{node.abends:,} abend{'' if node.abends == 1 else 's'}", bad=True))
    href = "" if node.members else link(node)
    return DiagramBox(node.id, node.name, node.kind, node.owner if framed else "", tuple(lines), href, node.members)


def _arrow(flow: Flow, rate: float | None) -> DiagramArrow:
    counts = flow.counts
    words = [f"{counts['records']:,}"] if counts["records"] else []
    words += [f"{how} {counts[how]:,}" for how in ("deletes", "starts", "ships") if counts[how]]
    failures = _failures(flow.failed)
    room = 0 if rate is None else room_for(" · ".join([*words, failures])) + _RATE_ROOM
    if rate and rate >= _LEAST_RATE:
        words.append(f"{rate:,.0f}/s" if rate >= _WHOLE_RATE else f"{rate:.1f}/s")
    how = "records" if counts["records"] or not counts else next(iter(counts))
    return DiagramArrow(flow.source, flow.target, how, " · ".join(words), failures, room)


def _failures(failed: Counter[str]) -> str:
    if not failed:
        return ""
    (condition, count), *others = failed.most_common()
    return f"{count:,} {condition}" if not others else f"{failed.total():,} failed"
