"""The incidents of a region's present state: what needs attention as long as it lasts.

=============  =====================================================================================================
kind           what happens
=============  =====================================================================================================
Deadlock       tasks wait for each other in a ring
Long wait      a task has waited for a resource of another task for ten seconds or more (``facts/server.tsv``)
Indoubt        a unit of work has lost its coordinator and is shunted
Full           all control intervals of DFHINTRA are in use
No trigger     a queue holds as many records as its trigger level, no task is started, and no notice says why: that was
               so before the region was started, or SET has lowered the level
Not done       something that was asked for does not happen, as a notice of the region says
Refused        commands end with a condition that reports that something is wrong (``facts/refused.tsv``); alike ones
               are one incident, which lasts until there was none for ten minutes
=============  =====================================================================================================

An abend is an incident, too, but not a state; the region keeps its dump.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from tdqsim import state
from tdqsim.cics import Region
from tdqsim.hosting import NS_PER_SECOND
from tdqsim.ibmi import System
from tdqsim.report import RefusedGroup
from tdqsim.server.bounds import BOUNDS
from tdqsim.server.notices import lasting, queue_of
from tdqsim.server.refusals import Refusals
from tdqsim.state import Notice

_LONG: Final = BOUNDS["long_wait_seconds"]


class Incident(NamedTuple):
    """An incident of a region's present state.

    Attributes:
        kind: Deadlock, Long wait, Indoubt, Full, No trigger, Not done or Refused.
        what: what happens.
        cure: what ends it.
        page: the parts of the address of the page with its details, below that of the region or system.
        key: what identifies it as long as it lasts; ``what`` may change.
        since_ns: when it began, in nanoseconds since 1970 on the region's clock; 0 if that is not known.
    """

    kind: str
    what: str
    cure: str
    page: tuple[str, ...]
    key: str
    since_ns: int = 0

    def path(self, name: str, kind: str = "regions") -> str:
        """The path of the page of the console with its details; ``kind`` is ``systems`` for an IBM i system."""
        return "/".join([f"/console/{kind}", name, *self.page])


def incidents_of(region: Region, refusals: Refusals | None = None, *, triggers: bool = True) -> list[Incident]:
    """The incidents of a region's present state; call in the engine's thread.

    Args:
        region: the region.
        refusals: its refused commands; None to leave them out.
        triggers: whether to look for triggers that start no task, which reads the state of every queue.
    """
    found = [*_waits(region), *_units(region), *_space(region)]
    if refusals is not None:
        found += [_refused(each, region) for each in refusals.now(region.clock.time_ns())]
    notices = list(lasting(region))
    found += map(_not_done, notices)
    said = {queue_of(notice) for notice in notices}
    lost = map(_lost_trigger, state.lost_triggers(region)) if triggers else ()
    return [*found, *(each for each in lost if each.key not in said)]


def _waits(region: Region) -> Iterator[Incident]:
    waits = [wait for wait in state.waits(region) if wait.holder]
    ring = state.find_deadlock([region]) if any(wait.fibers is not None for wait in waits) else None
    if ring is not None:
        begun = max(wait.since_ns for wait in waits if wait.fibers is not None and wait.fibers[0].name in ring.tasks)
        cure = "Only a purge or a timeout ends it."
        yield Incident("Deadlock", f"{ring.text}.", cure, ("tasks",), ring.text, begun)
    now_ns = region.clock.time_ns()
    for wait in waits:
        seconds = (now_ns - wait.since_ns) // NS_PER_SECOND
        if seconds >= _LONG:
            what = f"{wait.waiter} has waited for {wait.what} for {seconds:,} seconds; {wait.holder} has it."
            cure = f"It ends with the unit of work of {wait.holder}, or by a purge."
            key = f"{wait.waiter} {wait.what} {wait.since_ns}"
            yield Incident("Long wait", what, cure, ("tasks",), key, wait.since_ns)


def _units(region: Region) -> Iterator[Incident]:
    for unit in state.units(region):
        if unit.state == "INDOUBT" and unit.waitstate == "SHUNTED":
            what = f"{unit.uow} of {unit.transid} has lost its coordinator{f' over {unit.link}' if unit.link else ''}."
            holds = ", ".join(f"{queue} {end}" for queue, end in unit.holds)
            cure = f"It keeps {holds or 'no end of a queue'} until the link returns, WAITTIME ends, or by force."
            yield Incident("Indoubt", what, cure, ("units",), unit.uow)


def _space(region: Region) -> Iterator[Incident]:
    in_use, capacity = state.space(region)
    if in_use >= capacity:
        what = f"All {capacity:,} control intervals of DFHINTRA are in use: WRITEQ TD gets NOSPACE."
        yield Incident("Full", what, "Read or delete records, or define more control intervals.", ("queues",), "")


def incidents_of_system(system: System, refusals: Refusals) -> list[Incident]:
    """The incidents of an IBM i system: its notices, and the refused operations of its jobs."""
    said = [_not_done(each)._replace(page=()) for each in system.notices.lasting if each.severity == "error"]
    refused = refusals.now(system.clock.time_ns())
    return said + [Incident("Refused", each.what, each.cure, (), each.id, each.begun_ns) for each in refused]


def _refused(group: RefusedGroup, region: Region) -> Incident:
    is_queue = group.command.endswith(" TD") and group.resource in region.tdqueues
    page = ("queues", group.resource) if is_queue else ("incidents",)
    return Incident("Refused", group.what, group.cure, page, group.id, group.begun_ns)


def _not_done(notice: Notice) -> Incident:
    queue = queue_of(notice)
    what = f"{notice.id} {notice.resource}".rstrip()
    page = ("queues", queue) if queue else ("incidents",)
    return Incident("Not done", f"{what}: {notice.reason}", notice.cure, page, what, notice.time_ns)


def _lost_trigger(text: str) -> Incident:
    name = text.removeprefix("queue ").partition(" holds ")[0]
    what = f"{text[:1].upper()}{text[1:]}."
    return Incident("No trigger", what, "The page of the queue explains why.", ("queues", name), name)
