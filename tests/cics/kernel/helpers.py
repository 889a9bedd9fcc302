"""Queues and small programs that the kernel's tests share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tdqsim.cics import Condition, Region, Task
from tdqsim.definitions import define_tdqueue, define_terminal, define_transaction
from tdqsim.facts import Resp

DEFINITIONS = [
    define_tdqueue(name="NOQ", type="INTRA"),
    define_tdqueue(name="PHYQ", type="INTRA", recovstatus="PHYSICAL"),
    define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="LOG2", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="ALIA", type="INDIRECT", indirectname="ALI2"),
    define_tdqueue(name="ALI2", type="INDIRECT", indirectname="NOQ"),
    define_tdqueue(name="MISS", type="INDIRECT", indirectname="NONE"),
    define_tdqueue(name="RNG1", type="INDIRECT", indirectname="RNG2"),
    define_tdqueue(name="RNG2", type="INDIRECT", indirectname="RNG1"),
    define_tdqueue(name="REMQ", remotesystem="CICB", remotename="FARQ"),
    define_transaction(name="WAIT", dtimout="10"),
]


def trigger(name: str = "TRGQ", **attributes: Any) -> list[Any]:
    """A queue that starts PAYP, with the transaction and terminal T001."""
    values = {"type": "INTRA", "transid": "PAYP", "triggerlevel": 3, "atifacility": "FILE"} | attributes
    return [
        define_tdqueue(name=name, **values),
        define_transaction(name="PAYP"),
        define_terminal(name="T001", userid="TERMUSER"),
    ]


def drain(queue: str, seen: list[Any] | None = None) -> Callable[[Task], None]:
    """A program that reads a queue until QZERO."""

    def program(task: Task) -> None:
        while True:
            record = task.readq_td(queue, nohandle=True)
            if task.eib.eibresp is Resp.QZERO:
                return
            if seen is not None:
                seen.append(record)

    return program


def fill(region: Region, queue: str, *records: bytes) -> None:
    """Write records with a task each."""
    for record in records:
        region.writeq_td(queue, record)


def raising(task: Task, *conditions: str) -> Task:
    """Have conditions raised that CICS ignores by default, so that a test can compare them with a rule."""

    def label(condition: Condition) -> None:
        raise condition

    task.handle_condition(**dict.fromkeys(conditions, label))
    return task
