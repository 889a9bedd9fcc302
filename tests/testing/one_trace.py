"""A scenario with much to decide, and its trace: everything the schedule and the history say, with times.

Run as a program it prints the traces of so many runs with a seed, as JSON: ``python -m tests.testing.one_trace 7 25``.
"""

from __future__ import annotations

import json
import sys

from tdqsim import Region, System, define_tdqueue, define_terminal, define_transaction
from tdqsim.cics import Condition, Task
from tdqsim.core.dispatch import Dispatcher
from tdqsim.ibmi import Job
from tdqsim.testing import History, StillClock

DEFINITIONS = [
    define_tdqueue(name="INQ", type="INTRA", recovstatus="LOGICAL", transid="TAKE", triggerlevel=2, atifacility="FILE"),
    define_tdqueue(
        name="TERQ", type="INTRA", transid="SHOW", triggerlevel=1, atifacility="TERMINAL", facilityid="T001"
    ),
    define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="PHYQ", type="INTRA", recovstatus="PHYSICAL"),
    define_terminal(name="T001"),
    define_transaction(name="TAKE"),
    define_transaction(name="SHOW"),
    define_transaction(name="LATE"),
    define_transaction(name="WAIT", dtimout="1"),
]


def take(task: Task) -> None:
    """Triggered: what came in goes to two queues, in one unit of work."""
    for record in task.readq_td_all("INQ"):
        task.writeq_td("LOGQ", record)
        task.writeq_td("PHYQ", record)
        task.delay(seconds=int(task.text(record)) % 3)


def show(task: Task) -> None:
    """Triggered at the terminal."""
    for _ in task.readq_td_all("TERQ"):
        task.delay(seconds=1)


def write(task: Task, number: int) -> None:
    """Two records, in the way of others, and a START of something later."""
    for value in (number, number + 1):
        task.writeq_td("INQ", task.encode(str(value)))
        task.delay(seconds=value % 2)
    task.writeq_td("TERQ", task.encode(str(number)))
    if number % 2:
        task.start("LATE", interval=number)


def wait(task: Task) -> None:
    """Reads what others have not committed, and gives up."""
    try:
        task.readq_td("LOGQ")
    except Condition:
        task.writeq_td("PHYQ", task.encode("nothing"))
    task.delay(seconds=1)


def receive(job: Job) -> None:
    """Waits at a data queue for a second at a time."""
    for _ in range(2):
        entry = job.qrcvdtaq("QGPL/Q", wait=1)
        if entry is not None:
            job.qsnddtaq("QGPL/K", data=entry.data, key=entry.data[:1])


def trace(seed: int) -> list[str]:
    """What happened, a line each."""
    dispatcher = Dispatcher(StillClock(), seed)
    histories = History(), History()
    handlers = {"TAKE": take, "SHOW": show, "LATE": wait, "WAIT": wait}
    with (
        Region(DEFINITIONS, dispatcher=dispatcher, handlers=handlers, supplied_queues=False) as region,
        System("SYS1", dispatcher=dispatcher) as system,
        system.job() as job,
    ):
        histories[0].attach(region)
        histories[1].attach(system)
        job.crtdtaq("QGPL/Q", maxlen=10)
        job.crtdtaq("QGPL/K", maxlen=10, seq="*KEYED", keylen=1)
        for number in range(6):
            region.start(write, number, transid="WRIT")
            system.start(receive)
            region.start(wait, transid="WAIT")
            system.start(lambda own, n=number: own.qsnddtaq("QGPL/Q", data=str(n).encode()))
        region.run()
        queues = {name: region.peek(name) for name in ("INQ", "TERQ", "LOGQ", "PHYQ")}
        return [*(str(event) for history in histories for event in history.events), str(queues)]


if __name__ == "__main__":
    json.dump([trace(int(sys.argv[1])) for _ in range(int(sys.argv[2]))], sys.stdout)
