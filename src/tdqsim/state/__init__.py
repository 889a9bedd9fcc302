"""The state of a region as values: queues, tasks, units of work, waits, dumps, and what would happen next.

Each function reads the live region once and returns frozen values, which do not change while the region continues. It
starts no task and changes nothing: no statistics, no event, no record. Call it in the thread of the region. A page, an
answer of an API or a report is made from these values and asks the live objects for nothing::

    from tdqsim import Region, define_tdqueue, state

    with Region([define_tdqueue(name="PAYQ", type="INTRA", recovstatus="LOGICAL")]) as region, region.task() as task:
        task.writeq_td("PAYQ", b"x")
        print([queue.name for queue in state.queues(region) if queue.uncommitted])  # ['PAYQ']
        print([(each.number, each.transid) for each in state.tasks(region)])
        print([unit.works for unit in state.units(region)])
        print(state.explain(region, "PAYQ"))

Functions with ``userid`` look under the security policy of the region, for that user. If it is empty, the owner of the
process looks, who may see everything; but :func:`inquire`, :func:`browse` and :func:`explain`, which give answers of
commands, ask as the default user of the region. What commands do is in :mod:`tdqsim.cics`; data queues show their state
by ``System.state_of``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import islice
from typing import Any

from tdqsim.cics import Condition, Region
from tdqsim.cics.inspection import explain as _explain
from tdqsim.cics.inspection import install_preview as _install_preview
from tdqsim.cics.inspection import state as _state
from tdqsim.cics.inspection.explain import Explanation
from tdqsim.cics.inspection.explain_requests import Prediction
from tdqsim.cics.inspection.install_preview import PlannedInstall
from tdqsim.cics.inspection.installed import installed
from tdqsim.cics.inspection.records import records as _records
from tdqsim.cics.inspection.state import LinkState, QueueState, TaskState, Uncommitted, UnitState
from tdqsim.cics.inspection.waits import Wait, waits_of
from tdqsim.cics.internals import core_of
from tdqsim.cics.kernel.authority import check_command, may_use
from tdqsim.cics.kernel.dumps import last_commands as _last_commands
from tdqsim.cics.kernel.security import XDCT, Access
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.dump import Dump, DumpedItem
from tdqsim.cics.model.queue import IndirectTdQueue, IntraTdQueue
from tdqsim.cics.queues.state_table import final_target
from tdqsim.cics.spi.inquire_connection import CONNECTION
from tdqsim.cics.spi.inquire_file import FILE
from tdqsim.cics.spi.inquire_reqid import REQID
from tdqsim.cics.spi.inquire_task import TASK
from tdqsim.cics.spi.inquire_transaction import TRANSACTION
from tdqsim.cics.spi.inquire_uow import UOW
from tdqsim.cics.spi.inquire_uowenq import UOWENQ
from tdqsim.cics.spi.inquiry import ResourceType, all_visible, inquire_one
from tdqsim.cics.spi.set import check_set as _check_set
from tdqsim.cics.spi.statistics_records import StatisticsRecord
from tdqsim.cics.spi.statistics_types import record_of, total_of
from tdqsim.cics.spi.tdqueue_options import TDQUEUE
from tdqsim.core.notices import Notice
from tdqsim.definitions import Definitions, Resource
from tdqsim.facts import Resp
from tdqsim.facts.inquiries import TdqueueInfo
from tdqsim.state.deadlock import Deadlock, find_deadlock, lost_triggers

__all__ = [
    "Deadlock",
    "Dump",
    "DumpedItem",
    "Explanation",
    "LinkState",
    "Notice",
    "PlannedInstall",
    "Prediction",
    "QueueState",
    "TaskState",
    "Uncommitted",
    "UnitState",
    "Wait",
    "aliases",
    "browse",
    "check_set",
    "definitions",
    "depth",
    "explain",
    "find_deadlock",
    "inquire",
    "keys",
    "last_commands",
    "links",
    "lost_triggers",
    "planned_installs",
    "queue",
    "queues",
    "records",
    "space",
    "statistics",
    "tasks",
    "units",
    "waits",
]


# -- queues -----------------------------------------------------------------------------------------------------------


def queues(region: Region, *, type: str = "", records: bool = False) -> Iterator[QueueState]:
    """The state of all queues, in the order of installation.

    Args:
        region: the region.
        type: only queues of this TYPE, such as ``INTRA``; all if empty.
        records: whether the states have the records.
    """
    core = core_of(region)
    if type == "INTRA":
        return _state.intra_states(core, records=records)
    return (each for each in _state.queue_states(core, records=records) if type in {"", each.type})


def queue(region: Region, name: str, *, records: bool = False) -> QueueState | None:
    """The state of a queue, of an alias itself and not of its target; None if it is not installed."""
    return _state.state_of(core_of(region), name, records=records)


def depth(region: Region, name: str) -> int | None:
    """The number of committed records of an intrapartition queue; None if there is no such queue."""
    queue = core_of(region).tdqueues.get(name)
    return queue.numitems if isinstance(queue, IntraTdQueue) else None


def aliases(region: Region, name: str) -> Iterator[str]:
    """The name of a queue and the names of its targets, as long as these are aliases; each name once."""
    queues, visited = core_of(region).tdqueues, set[str]()
    while name and name not in visited:
        visited.add(name)
        yield name
        queue = queues.get(name)
        name = queue.indirectname if isinstance(queue, IndirectTdQueue) else ""


def records(
    region: Region,
    name: str,
    *,
    userid: str = "",
    skip: int = 0,
    limit: int | None = None,
    uncommitted: bool = False,
) -> list[bytes]:
    """Records of a queue; other tasks run meanwhile if it takes long to find the first one.

    Args:
        region: the region.
        name: the queue; an alias stands for its target.
        userid: see the module.
        skip: how many records to pass over.
        limit: how many to return at most; all if None.
        uncommitted: for a LOGICAL queue, with those that unfinished units of work have written, without those that
            they have read.

    Raises:
        Condition: QIDERR, NOTAUTH. TdqError: the queue is remote, or its data set cannot be read.
    """
    target = final_target(core_of(region), name.rstrip(" "))
    if userid and not may_use(_asks(region, userid), XDCT, target.name, Access.READ):
        raise Condition(Resp.NOTAUTH, 101, f"user {userid} may not read queue {target.name}")
    pause = partial(region.dispatcher.yield_now, always=True)
    return list(islice(_records(target, skip, pause, with_uncommitted=uncommitted), limit))


def inquire(region: Region, name: str, *options: str, userid: str = "") -> TdqueueInfo:
    """INQUIRE TDQUEUE without a task: the named options, or all.

    Raises:
        Condition: QIDERR, NOTAUTH.
    """
    info: TdqueueInfo = inquire_one(_asks(region, userid), TDQUEUE, name, options)
    return info


def browse(
    region: Region, kind: str, *options: str, names: Iterable[Any] | None = None, userid: str = ""
) -> Iterator[dict[str, Any]]:
    """INQUIRE START, NEXT and END of resources without a task: the identity and the options of each, by name.

    Args:
        region: the region.
        kind: TDQUEUE, CONNECTION, FILE, PROGRAM, REQID, TASK, TRANSACTION, UOW or UOWENQ.
        options: the options; all if none is named.
        names: the keys of the resources, as far as they exist; default: those of :func:`keys`.
        userid: see the module; a resource that the user may not read is left out, as in a browse.

    Raises:
        Condition: NOTAUTH 100: the user may not inquire resources of this kind.
    """
    asks = _asks(region, userid)
    found = _kinds()[kind]
    check_command(asks, kind, Access.READ)
    return all_visible(asks, found, keys(region, kind) if names is None else names, options)


def keys(region: Region, kind: str) -> list[Any]:
    """What :func:`browse` takes as ``names``: the key of each resource of a kind, in the order of a browse."""
    return list(_kinds()[kind].keys(core_of(region)))


@cache
def _kinds() -> dict[str, ResourceType[Any, Any, Any]]:
    from tdqsim.cics.text.cemt_resources import PROGRAM  # noqa: PLC0415  (programs alone need the text of CEMT)

    kinds: tuple[ResourceType[Any, Any, Any], ...] = (
        TDQUEUE, CONNECTION, FILE, PROGRAM, REQID, TASK, TRANSACTION, UOW, UOWENQ,
    )  # fmt: skip
    return {each.name: each for each in kinds}


def statistics(region: Region, kind: str, name: str = "") -> StatisticsRecord | None:
    """The statistics of one resource, or those of all resources of a type if no name is given; None if there are none.

    Args:
        region: the region.
        kind: a type of EXTRACT STATISTICS, such as TDQUEUE.
        name: the resource.
    """
    core = core_of(region)
    return record_of(core, kind, name) if name else total_of(core, kind)


def check_set(region: Region, name: str, options: dict[str, Any], *, userid: str = "") -> None:
    """Check that SET TDQUEUE with these options, by the vendor's words such as TRIGGERLEVEL, would succeed.

    Raises:
        Condition: the condition that it would end with.
    """
    _check_set(_asks(region, userid), name, options)


def space(region: Region) -> tuple[int, int]:
    """The number of control intervals of DFHINTRA that are in use, and of all."""
    intra = core_of(region).intra
    in_use = intra.count() if intra.in_use >= intra.capacity else intra.in_use  # counting is only for a full one
    return in_use, intra.capacity


def links(region: Region) -> Iterator[LinkState]:
    """The connections to other regions: the ``name`` of each, its ``netname``, and whether it is ``acquired``."""
    return (LinkState(name, link.netname, link.acquired) for name, link in core_of(region).links.items())


# -- tasks, units of work, waits --------------------------------------------------------------------------------------


def tasks(region: Region) -> Iterator[TaskState]:
    """The tasks, in order of their start."""
    return _state.tasks_of(core_of(region))


def units(region: Region) -> Iterator[UnitState]:
    """The units of work in flight, then those that are shunted or in doubt, each in order of age."""
    return map(_state.unit_state, core_of(region).units_of_work())


def last_commands(region: Region, number: int) -> tuple[str, ...]:
    """The last commands of a task with their answers, the newest last; empty if no recorder of the region keeps them.

    A history of the test kit and the server keep them, also for a task that has ended.
    """
    return _last_commands(core_of(region), number) or ()


def waits(region: Region) -> tuple[Wait, ...]:
    """All waits: first those for a resource that another task holds, then the others."""
    return tuple(waits_of(core_of(region)))


# -- what would happen ------------------------------------------------------------------------------------------------


def explain(
    region: Region,
    name: str,
    *,
    kind: str = "TDQUEUE",
    userid: str = "",
    size: int = 1,
    pause: Callable[[], object] | None = None,
) -> Explanation:
    """Explain a queue, or a task, transaction, program or temporary storage queue, for a user; see ``Region.explain``.

    Args:
        region: the region.
        name: the resource, or the number of a task.
        kind: TDQUEUE, TASK, TRANSACTION, PROGRAM or TSQUEUE.
        userid: the user whose requests are predicted; empty: the default user of the region.
        size: the length, in bytes, of the record of the predicted WRITEQ.
        pause: called while the next record of a data set is searched for, so that other tasks can run.
    """
    asks = _asks(region, userid)
    return _explain.explain(core_of(region), name, kind=kind, task=asks, size=size, pause=pause)


def definitions(region: Region, *, userid: str = "") -> Definitions:
    """The definitions of the resources that are installed now; without queues that the user may not read."""
    found = installed(core_of(region))
    if not userid:
        return found
    asks = _asks(region, userid)
    return Definitions.of(
        each
        for each in found.resources
        if each.kind != "TDQUEUE" or may_use(asks, XDCT, each.resource_name, Access.READ)
    )


def planned_installs(
    region: Region, definitions: Definitions | Iterable[Resource], *, userid: str = ""
) -> list[PlannedInstall]:
    """What an installation by a user would do with each definition, in order."""
    return _install_preview.planned_installs(
        core_of(region), Definitions.of(definitions).resources, userid or region.options.dfltuser
    )


def _asks(region: Region, userid: str) -> TaskBase:
    """A task that only asks: the results of requests are predicted for its user, and nothing is executed."""
    return TaskBase(core_of(region), 0, "TEST", userid or region.options.dfltuser)
