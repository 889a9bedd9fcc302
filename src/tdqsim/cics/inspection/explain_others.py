"""Explain a task, and transactions, programs and temporary storage queues, in sentences; also across regions.

A task that waits for the answer of another region is followed there: that region explains the task that serves it, a
mirror task or a routed one, which can wait for a third region in turn. A resource that is remote is explained by the
region that owns it. Both are queried over the link (:meth:`~tdqsim.cics.model.region.RegionLink.explain`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from tdqsim.cics.inspection.explain_requests import FarExplanation
from tdqsim.cics.inspection.state import tasks_of, unit_state
from tdqsim.cics.inspection.waits import waits_of
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.programs.remote import where_program
from tdqsim.cics.ts.remote import where_queue
from tdqsim.facts import notice_words

if TYPE_CHECKING:
    from tdqsim.cics.model.region import RegionData, RegionLink

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def moment(time_ns: int) -> str:
    """A time in nanoseconds since 1970, for display."""
    return f"{_EPOCH + timedelta(microseconds=time_ns // 1000):%Y-%m-%d %H:%M:%S.%f} UTC"


def asked_there(link: RegionLink, probe: TaskBase, name: str, kind: str) -> Iterator[str]:
    """The sentences of another region, each with the name of that region.

    Args:
        link: the link to that region.
        probe: the task that asks, or for TASK the one that waits for that region.
        name, kind: of the resource, as for :meth:`~tdqsim.cics.model.region.RegionLink.explain`.
    """
    try:
        there = FarExplanation.from_bytes(link.explain(probe, name, 1, kind=kind), kind)
    except Condition as condition:
        yield f"It cannot be asked there: {condition.detail}{condition.doubt}."
        return
    for each in there.statements:
        # A sentence that is about a third region names that one.
        yield each if each.startswith("In region ") else f"In region {there.applid}: {each}"


# -- tasks ------------------------------------------------------------------------------------------------------------


def of_task_number(region: RegionData, number: str) -> Iterator[str]:
    """Sentences about the task with a number; of one that has abended, how it ended and what its last command named."""
    task = next((each for each in region.tasks.values() if str(each.number) == number), None)
    if isinstance(task, TaskBase):
        yield from of_task(region, task)
        return
    dump = next((each for each in reversed(region.diagnostics.failures) if str(each.task) == number), None)
    if dump is None:
        yield f"There is no task {number}."
        return
    yield f"Task {number} {dump.transid} of user {dump.userid} has abended: {dump.reason}."
    if dump.commands:
        yield f"Its last command: {dump.commands[-1]}."
    if dump.resource is not None:
        kind, name = dump.resource
        yield from RESOURCES[kind](TaskBase(region, 0, dump.transid, dump.userid), name)


def of_task(region: RegionData, task: TaskBase) -> Iterator[str]:
    """Sentences about a task: what it waits for, in which region, and its unit of work."""
    if not task.number:
        yield "No task serves the request: it has not arrived yet, or its task has ended."
        return
    title = f"Task {task.number} {task.transid} of user {task.userid}"
    for name, link in region.links.items():
        if asked := link.awaited_by(task):
            yield f"{title} waits for region {link.netname} over connection {name}: {asked}."
            yield from _unit(task)
            yield from asked_there(link, task, str(task.number), "TASK")
            return
    yield f"{title} {_doing(region, task)}."
    yield from _unit(task)


def _doing(region: RegionData, task: TaskBase) -> str:
    if task._is_mirror and not getattr(task, "is_serving", False):
        return "waits for the next request, or the syncpoint, of the unit of work that it serves"
    now = next(each for each in tasks_of(region) if each.number == task.number)
    if not now.waits_for:
        return "runs, or is ready to run"
    until = f", until {moment(now.until_ns)}" if now.until_ns else ""
    wait = next((each for each in waits_of(region) if each.task == task.number and each.holder), None)
    if wait is None:
        return f"waits for {now.waits_for}{until}"
    return f"waits for {wait.what}, held by {wait.holder}{until}"


def _unit(task: TaskBase) -> Iterator[str]:
    if not task._has_uow:
        return
    unit, coordinator = unit_state(task._uow), task._uow.coordinator
    applid, _, theirs = coordinator.rpartition(".")
    whose = f", part of unit of work {theirs} of region {applid}," if applid else ""
    held = " and ".join(f"{end} of {queue}" for queue, end in unit.holds)
    yield f"Its unit of work {unit.uow}{whose} is {unit.state}{f' and holds {held}' if held else ''}."


# -- resources --------------------------------------------------------------------------------------------------------


def _transaction(probe: TaskBase, name: str) -> Iterator[str]:
    region = probe._region
    entry = region.transactions.get(name)
    if entry is None:
        yield f"Transaction {name} is not defined."
        return
    if entry.is_remote(region.sysid):
        state = "" if entry.enabled else ", and is disabled"
        yield from _remote(probe, "TRANSACTION", name, entry.remotesystem, entry.definition.remotename or name, state)
        return
    why_not = entry.why_not()
    if why_not is None:
        yield f"Transaction {name} can be attached{f' to program {entry.program_name}' if entry.program_name else ''}."
        if not entry.defined:
            yield notice_words("transaction_not_installed", {"transid": name}).reason
        return
    program = f"its program {entry.program_name} is not available" if entry.program_name else "it has no program"
    yield f"Transaction {name} cannot be attached: {program if entry.enabled else 'it is disabled'} ({why_not})."


def _program(probe: TaskBase, name: str) -> Iterator[str]:
    region = probe._region
    system, there, _ = where_program(probe, name, None, None)
    if system:
        yield from _remote(probe, "PROGRAM", name, system, there)
        return
    definition = region.programs.definition(name)
    if definition is not None and definition.status == "DISABLED":
        yield f"Program {name} is disabled."
    elif region.programs.find(name) is None:
        yield f"Program {name} is not defined."
    else:
        yield f"Program {name} can run."


def _ts_queue(probe: TaskBase, name: str) -> Iterator[str]:
    ts = probe._region.ts
    system, there = where_queue(probe, name, None)
    if system:
        yield from _remote(probe, "TSQUEUE", name, system, there)
        return
    queue = ts.queues.get(name.rstrip(" "))
    if queue is None:
        yield f"TS queue {name} does not exist."
    else:
        kind = "recoverable" if queue.recoverable else "not recoverable"
        yield f"TS queue {name} is {kind} and has {len(queue.items)} item{'' if len(queue.items) == 1 else 's'}."
    changed = ts.changed_by(name)
    if changed is not None:
        yield f"The {changed.title} has changed it and has not committed: other tasks wait."


def _remote(probe: TaskBase, kind: str, name: str, system: str, there: str, state: str = "") -> Iterator[str]:
    yield f"{_TITLES[kind]} {name} is {there} of system {system}{state}."
    link = probe._region.links.get(system)
    if link is None:
        yield f"There is no connection to system {system}."
    else:
        yield from asked_there(link, probe, there, kind)


_TITLES: Final = {"TRANSACTION": "Transaction", "PROGRAM": "Program", "TSQUEUE": "TS queue"}
RESOURCES: Final[dict[str, Callable[[TaskBase, str], Iterator[str]]]] = {
    "TRANSACTION": _transaction, "PROGRAM": _program, "TSQUEUE": _ts_queue,
}  # fmt: skip
"""The function that explains a resource, by its kind."""
