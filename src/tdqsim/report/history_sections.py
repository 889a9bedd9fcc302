"""The parts of a page about a region or system: depth over time, a time line, triggers, operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tdqsim.report._text import brief
from tdqsim.report.diagram_svg import DiagramPicture
from tdqsim.report.digest import ABEND, BACKED_OUT, TASK, UNIT, WAIT, Digest
from tdqsim.report.flows import Flows
from tdqsim.report.parts import Drawing, Mark, Part, Prose, Table
from tdqsim.report.pictures import COLOURS, Series, lines, time_line
from tdqsim.report.topology import Site

_LINES: Final = len(COLOURS)
_LINE_TEXT: Final = 300
_LOOKS: Final = {
    TASK: ("#8fa3bd", 0.8), ABEND: ("#cf4562", 0.8), UNIT: ("#3b7dd8", 0.5), BACKED_OUT: ("#d9730d", 0.5),
    WAIT: ("#e0b000", 0.22),
}  # fmt: skip


def flows(digest: Digest, name: str, site: Site | None = None) -> list[Part]:
    """A diagram of what flowed in one region or system; see :func:`add_flows`."""
    found = Flows()
    add_flows(found, digest, name, site)
    return flow_parts(found)


def add_flows(found: Flows, digest: Digest, name: str, site: Site | None = None) -> None:
    """Add what flowed in one region or system.

    Args:
        found: the flows.
        digest: the digest of a region or system.
        name: the name of the region or system.
        site: the region with its definitions, which distinguish data sets and remote queues from other queues.
    """
    if site is not None:
        found.define(name, site.sysid, site.definitions)
    found.add(name, digest.flows)
    kind = "data queue" if digest.of_jobs else "queue"
    found.deep(name, ((queue, each.depth) for queue, each in digest.queues.items() if each.is_stored), kind)


def flow_parts(found: Flows) -> list[Part]:
    """A diagram of flows; nothing if nothing flowed."""
    if not found.flows and not any(node.abends for node in found.nodes.values()):
        return []
    words = "Who wrote and read which queue, and what started what, with counts"
    return [DiagramPicture("What flowed", found.diagram(), found.table(), words)]


def depth(digest: Digest) -> list[Part]:
    """A chart of the deepest queues over time, and a table of all queues."""
    queues = sorted(digest.queues.items(), key=lambda each: (-each[1].deepest, each[0]))
    drawn = [(name, queue) for name, queue in queues if queue.deepest][:_LINES]
    table = Table(
        ("queue", "deepest", "at the end", "operations", "not normal"),
        [
            (name, queue.deepest, queue.depth, queue.counts.total(), _counted(queue.wrong.items()))
            for name, queue in queues
            if queue.counts or queue.deepest
        ],
        "Queues",
    )
    parts: list[Part] = []
    if drawn:
        series = [Series(name, digest.steps(name)) for name, _ in drawn]
        parts.append(lines("Depth over time", series, "events in order", "records", table))
        others = sum(1 for _, queue in queues if queue.deepest) - len(drawn)
        if others > 0:
            parts.append(Prose(f"The {len(drawn)} deepest are drawn; {others:,} more are in the table.", quiet=True))
    elif any(queue.counts for _, queue in queues):
        parts.append(table)
    if digest.queues_left_out:
        more = f"at least {len(digest.queues_left_out):,}" if parts else f"{len(digest.queues_left_out):,}"
        parts.append(Prose(f"The first {len(queues):,} queues are followed; {more} more are not.", quiet=True))
    return parts


def tasks(digest: Digest) -> list[Part]:
    """The time line of tasks and units of work, with waits and abends."""
    bars = digest.bars()
    if not bars:
        return []
    left_out = digest.bars_left_out
    table = Table(
        ("task", "kind", "what", "from event", "to", "seconds"),
        [
            (
                bar.lane,
                _marked(bar.kind),
                bar.text,
                bar.order[0],
                bar.order[1],
                round(bar.seconds[1] - bar.seconds[0], 6),
            )
            for bar in bars
        ],
        "Tasks, units of work and waits",
    )
    lanes = len({bar.lane for bar in bars})
    line: Drawing = time_line("Tasks and units of work", bars, _LOOKS, "their beginnings and ends in order", table)
    parts: list[Part] = [line]
    if left_out:
        which = "the last that abended, backed out or waited, and the last others"
        parts.append(Prose(f"Shown are {lanes:,} of {left_out + lanes:,} tasks: {which}.", quiet=True))
    return parts


def _marked(kind: str) -> str | Mark:
    return Mark(kind, good=False) if kind in (ABEND, BACKED_OUT) else kind


def triggers(digest: Digest, most: int = 30) -> list[Part]:
    """The tasks that trigger levels started."""
    if not digest.trigger_count:
        return []
    rows = [(each.queue, each.task, each.order, round(each.seconds, 6)) for each in list(digest.triggers)[-most:]]
    heads = ("queue", "started", "event", "second")
    table = Table(heads, rows, "Tasks started by trigger levels", total=digest.trigger_count, rest="the last ones")
    return [table]


def refused(digest: Digest) -> list[Part]:
    """The commands that were refused because something is wrong; alike ones are one row."""
    rows = [
        (
            each.command, each.resource, Mark(each.condition, good=False), each.actor, each.count,
            round(digest.seconds_of(each.first_ns), 6), round(digest.seconds_of(each.last_ns), 6), each.cure,
        )
        for each in digest.refused
    ]  # fmt: skip
    if not rows:
        return []
    heads = ("command", "resource", "condition", "job" if digest.of_jobs else "transaction", "times", "first second",
             "last second", "what to do")  # fmt: skip
    return [Table(heads, rows[::-1], "Commands that were refused")]


def operations(digest: Digest, most: int = 20) -> list[Part]:
    """The last operations on each queue; queues with operations that did not end normally come first."""
    queues = [(name, queue) for name, queue in digest.queues.items() if queue.last]
    queues.sort(key=lambda each: (not each[1].wrong, -each[1].counts.total(), each[0]))
    parts: list[Part] = []
    for name, queue in queues[:most]:
        text = "\n".join(brief(line(), _LINE_TEXT) for line in queue.last)
        total = queue.counts.total()
        head = f"{name}: the last {len(queue.last)} of {total:,} operations ({_counted(queue.counts.items())})"
        parts += [Prose(head), Prose(text, code=True)]
    if len(queues) > most:
        parts.append(Prose(f"{len(queues) - most:,} more queues had operations.", quiet=True))
    return parts


def _counted(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts)
