"""The last tasks of regions, from their recent events, and how they are connected by units of work.

A unit of work has the name ``APPLID.ID``, a task ``APPLID NUMBER``. If another region coordinates a unit of work, its
event has the name of the coordinator's; the events of a mirror task, and of a routed transaction, name what has called
it. So the tasks that carry out one request in several regions form a tree, from the region in which it began.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, NamedTuple

from tdqsim.server.console.frame import Visit

NS: Final = 10**9
_EVENTS: Final = 5000


class UnitEnd(NamedTuple):
    """A unit of work.

    Attributes:
        time_ns: the time of its end; 0 if it has not ended.
        committed: whether it was committed.
        name: its name.
        coordinator: the name of the coordinator's unit of work; empty if this region coordinates it.
    """

    time_ns: int
    committed: bool
    name: str
    coordinator: str

    @property
    def how(self) -> str:
        """How it ended, in words."""
        if not self.time_ns:
            return "not ended"
        return "committed" if self.committed else "backed out"


class Waited(NamedTuple):
    """A wait; ``end`` is 0 if it has not ended."""

    begin: int
    end: int
    what: str


@dataclass(slots=True)
class TaskLine:
    """A summary of the events of one task."""

    region: str
    number: int
    transid: str = ""
    began: int = 0
    last: int = 0
    ended: int = 0
    abend: str = ""
    commands: int = 0
    failed: int = 0
    units: list[UnitEnd] = field(default_factory=list)
    waits: list[Waited] = field(default_factory=list)
    requesters: dict[str, None] = field(default_factory=dict)
    """What has called it from other regions: units of work, or a task."""

    @property
    def key(self) -> tuple[str, int]:
        """The region and the number."""
        return self.region, self.number

    def note(self, event: dict[str, Any]) -> None:
        """Add an event."""
        kind, time_ns = event["event"], event["time_ns"]
        self.last = time_ns
        if "requester" in event:
            self.requesters[event["requester"]] = None
        if kind == "command":
            self.commands += 1
            self.failed += event["condition"] != "NORMAL"
        elif kind == "unit_of_work":
            name, coordinator = f"{self.region}.{event['uow']}", event.get("coordinator", "")
            self.units = [each for each in self.units if each.name != name]
            self.units.append(UnitEnd(time_ns, event["committed"], name, coordinator))
        elif kind == "task_waits":
            self.waits.append(Waited(time_ns, 0, event["what"]))
        elif kind == "task_goes_on" and self.waits:
            self.waits[-1] = self.waits[-1]._replace(end=time_ns)
        elif kind == "task_ended":
            self.ended = time_ns
            self.abend = "" if event["normal"] else event["abcode"] or "abend"


async def lines_of(visit: Visit, applid: str) -> list[TaskLine]:
    """The tasks of the recent events of a region, in the order of their beginnings, with their open units of work."""
    recent, view = visit.console.host.recent, visit.console.live.view(applid)
    events = await visit.ask(lambda: list(islice(reversed(recent.get(applid, ())), _EVENTS)))
    lines = task_lines(applid, reversed(events), {task.number for task in view.snapshot.tasks})
    by_number = {line.number: line for line in lines}
    for unit in view.snapshot.units:
        line = by_number.get(unit.taskid)
        if line is not None:
            line.units.append(UnitEnd(0, False, f"{applid}.{unit.uow}", unit.coordinator))
    return lines


def task_lines(applid: str, events: Iterable[dict[str, Any]], running: set[int]) -> list[TaskLine]:
    """The tasks of some events, in the order of their beginnings.

    A command outside a started task has no event for its end: such a task has ended if it is not in ``running``.
    """
    lines: dict[int, TaskLine] = {}
    for event in events:
        number = event.get("task") or 0
        if not number:
            continue
        line = lines.get(number)
        if line is None:
            line = lines[number] = TaskLine(applid, number, began=event["time_ns"])
        line.transid = event.get("transid") or line.transid
        line.note(event)
    for line in lines.values():
        line.ended = line.ended or (0 if line.number in running else line.last)
    return list(lines.values())


class Ways:
    """The ways of requests through the regions: which task has called which one.

    Args:
        lines: the tasks of all regions.
    """

    def __init__(self, lines: Iterable[TaskLine]) -> None:
        every = sorted(lines, key=lambda line: line.began)
        owners = {f"{line.region} {line.number}": line for line in every}
        owners |= {unit.name: line for line in every for unit in line.units}
        self._callers: dict[tuple[str, int], dict[str, TaskLine]] = {}
        self._called: dict[tuple[str, int], list[tuple[str, TaskLine]]] = {}
        for line in every:
            for name in dict.fromkeys([*line.requesters, *(unit.coordinator for unit in line.units)]):
                if name in owners:
                    self._callers.setdefault(line.key, {})[name] = owners[name]
                    self._called.setdefault(owners[name].key, []).append((name, line))

    def callers(self, line: TaskLine) -> list[TaskLine]:
        """The tasks of other regions that have called a task."""
        return list(self._callers.get(line.key, {}).values())

    def of(self, line: TaskLine) -> list[tuple[TaskLine | None, TaskLine]]:
        """The tasks that carry out the same requests as a task.

        Of a task that has called this one, directly or over other regions, only that unit of work counts.

        Returns:
            (caller, task), each caller before those that it has called; None for the first task of a request.
        """
        only: dict[tuple[str, int], set[str]] = {}
        roots, above, passed = [], [line], {line.key}
        while above:
            each = above.pop()
            callers = self._callers.get(each.key, {})
            if not callers:
                roots.append(each)
            for name, caller in callers.items():
                if caller.key not in passed:
                    passed.add(caller.key)
                    above.append(caller)
                if caller.key != line.key:
                    only.setdefault(caller.key, set()).add(name)
        found: dict[tuple[str, int], tuple[TaskLine | None, TaskLine]] = {}
        for root in roots or [line]:
            self._add(None, root, only, found)
        return list(found.values())

    def _add(
        self, caller: TaskLine | None, line: TaskLine, only: dict[tuple[str, int], set[str]],
        found: dict[tuple[str, int], tuple[TaskLine | None, TaskLine]],
    ) -> None:  # fmt: skip
        """Add a task and those that it has called, only in some units of work if it is in ``only``."""
        if line.key in found:
            return
        found[line.key] = caller, line
        for name, called in self._called.get(line.key, ()):
            if line.key not in only or name in only[line.key]:
                self._add(line, called, only, found)
