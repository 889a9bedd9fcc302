"""What the tests of recovery share: queues of every recovery, and ways to end, lose and look."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tdqsim.cics import Abend, Condition, Region, Task
from tdqsim.cics.uow.indoubt import Subordinate
from tdqsim.definitions import define_connection, define_tdqueue, define_terminal, define_transaction
from tdqsim.errors import StoreFull
from tdqsim.facts import Cvda

NAMES = {"NO": "NOQ", "PHYSICAL": "PHYQ", "LOGICAL": "LOGQ"}
READQ, WRITEQ, DELETEQ = "READQ", "WRITEQ", "DELETEQ"


def queue(name: str, recovstatus: str = "LOGICAL", **attributes: Any) -> Any:
    return define_tdqueue(name=name, type="INTRA", recovstatus=recovstatus, **attributes)


def queues() -> list[Any]:
    """One queue of every RECOVSTATUS."""
    return [queue(name, recovstatus) for recovstatus, name in NAMES.items()]


def make(*definitions: Any, **options: Any) -> Region:
    options.setdefault("supplied_queues", False)
    return Region(list(definitions) or queues(), **options)


def again(region: Region, store: Path, **options: Any) -> Region:
    """The region after it has failed, started again."""
    region.close(clean=False)
    return make(store=store, **options)


def request(task: Task | Region, kind: str, name: str, **options: Any) -> Any:
    """READQ, WRITEQ or DELETEQ of a queue; WRITEQ writes ``new``."""
    if kind == READQ:
        return task.readq_td(name, **options)
    if kind == WRITEQ:
        return task.writeq_td(name, b"new", **options)
    return task.deleteq_td(name, **options)


def outcome(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What a call returns, or the name of the condition or abend it ends with."""
    try:
        return call(*args, **options)
    except Condition as condition:
        return condition.name
    except Abend as abend:
        return abend.code


def status(region: Region, name: str) -> str:
    return Cvda(region.inquire_tdqueue(name, "ENABLESTATUS").enablestatus).name


def prepared(region: Region, *steps: tuple[str, str], name: str = "XA1", transid: str = "TEST") -> Subordinate:
    """A unit of work of a program outside CICS that has done ``steps`` (request, queue) and is prepared."""
    task = region.task(transid=transid)
    for kind, queue_name in steps:
        request(task, kind, queue_name)
    branch = region.recovery.branch(name, task)
    assert branch.prepare()
    task.end(normal=True)
    return branch


def triggered(name: str, recovstatus: str, facility: str, level: int = 3) -> list[Any]:
    """A queue that starts PAYP for terminal T001 or session CICB, or for no facility."""
    attributes = {"TERMINAL": {"facilityid": "T001"}, "SYSTEM": {"facilityid": "CICB"}, "FILE": {}}[facility]
    return [
        queue(name, recovstatus, transid="PAYP", triggerlevel=level, atifacility=facility, **attributes),
        define_transaction(name="PAYP"),
        define_terminal(name="T001"),
        define_connection(name="CICB"),
    ]


def full_from(nth: int = 1) -> Callable[[str], None]:
    """A fault of a store that takes no commit from the nth on."""
    commits = 0

    def full(point: str) -> None:
        nonlocal commits
        commits += point == "before_commit"
        if point == "before_commit" and commits >= nth:
            raise StoreFull("no room, for the test")

    return full
