"""One function for each kind of state that a test may leave: it asserts that there is none, and leaves some."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from tdqsim import Region, define_tdqueue, define_terminal, define_transaction
from tdqsim.cics.files import DataFile
from tdqsim.facts import Resp
from tdqsim.faults import Fault, FaultPlan

DEFINITIONS = (
    define_tdqueue(name="PLNQ", type="INTRA"),
    define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
    define_tdqueue(name="PHYQ", type="INTRA", recovstatus="PHYSICAL"),
    define_tdqueue(name="TRGQ", type="INTRA", atifacility="FILE", transid="TRGT", triggerlevel=5),
    define_tdqueue(name="OUTQ", type="EXTRA", typefile="OUTPUT", sysoutclass="B"),
    define_tdqueue(name="JOBQ", type="EXTRA", typefile="OUTPUT", ddname="RDR"),
    define_transaction(name="TRGT"),
    define_terminal(name="T001"),
)
DD = {"RDR": {"sysout": "A,INTRDR"}}


def records(region: Region) -> None:
    for queue in ("PLNQ", "LOGQ", "PHYQ", "TRGQ"):
        assert region.peek(queue) == []
        assert region.inquire_tdqueue(queue)["NUMITEMS"] == 0
        region.writeq_td(queue, b"left")


def overflowed_records(region: Region) -> None:
    assert region.peek("PLNQ") == []
    for _ in range(2000):
        region.writeq_td("PLNQ", bytes(1000))


def message_queues(region: Region) -> None:
    assert region.peek("CSMT") == []
    region.writeq_td("CSMT", b"left")
    assert region.peek("CSSL") == [b"left"]


def sysout(region: Region) -> None:
    assert region._core.data_sets.spool.datasets() == []
    region.writeq_td("OUTQ", b"left")
    assert [each.number for each in region._core.data_sets.spool.datasets()] == [1]


def starts(region: Region) -> None:
    with region.task() as task:
        task.cancel("LEFT", nohandle=True)
        assert task.eib.eibresp == Resp.NOTFND
        task.start("TRGT", b"left", reqid="LEFT", interval=100)


def messages_of_abends(region: Region) -> None:
    assert region.peek("CSMT") == []
    region.register("TRGT", lambda task: task.abend("LEFT"))
    region.start("TRGT")
    region.run()
    assert region.peek("CSMT") != []


def jobs(region: Region) -> None:
    assert list(region.jobs) == []
    region.writeq_td("JOBQ", region.encode("//LEFT JOB (1)"))
    region.writeq_td("JOBQ", region.encode("/*EOF"))
    assert [(job.id, job.name) for job in region.jobs] == [("JOB00001", "LEFT")]


def temporary_storage(region: Region) -> None:
    assert region.ts.queues == {}
    assert region.ts.model("LEFT") is None
    region.ts.define_model("LEFT", recovery=True)
    for queue, options in (("AUXQ", {}), ("MAIN", {"main": True}), ("LEFT", {})):
        region.writeq_ts(queue, b"left", **options)


def files(region: Region) -> None:
    data = DataFile(keylength=2)
    region.files.define("ACCT", data, kept=True)
    assert data.at_or_after(b"") is None
    with region.task() as task:
        task.write_file("ACCT", b"A1 left", ridfld=b"A1")


def counters(region: Region) -> None:
    numbers = []
    handle = region.start(lambda task: numbers.append(task.eib.eibtaskn))
    region.run()
    handle.result()
    with region.task() as task:
        numbers.append(task.eib.eibtaskn)
    assert numbers == NUMBERS.setdefault("first", numbers)
    assert region.extract_statistics("PLNQ").values["writes"] == 0
    region.writeq_td("PLNQ", b"left")


def clock(region: Region) -> None:
    assert region.clock.time_ns() - time.time_ns() < A_DAY
    region.clock.advance(2 * A_DAY / 10**9)
    assert region.clock.time_ns() - time.time_ns() > A_DAY


def handlers(region: Region) -> None:
    assert region.resources.transactions["TRGT"].program is None
    region.register("TRGT", print)


def changed_definitions(region: Region) -> None:
    assert region.inquire_tdqueue("TRGQ")["TRIGGERLEVEL"] == 5
    assert "MADE" not in region.tdqueues
    region.set_tdqueue("TRGQ", triggerlevel=7)
    region.set_tdqueue("PLNQ", enablestatus="DISABLED")
    region.create_tdqueue("MADE", "TYPE(INTRA)")


def programs(region: Region) -> None:
    assert region.programs.find("LEFT") is None
    assert region.programs.table("LEFTTAB") is None
    region.programs.register("LEFT", print)
    region.programs.define_table("LEFTTAB", b"left")


def diagnostics(region: Region) -> None:
    said = region.diagnostics
    assert (said.operator, list(said.replies), said.trace, said.dumps, said.journals) == ([], [], [], [], [])
    said.replies.append("left")
    with region.task() as task:
        task.write_operator("left")


def terminals(region: Region) -> None:
    screen = region.screens.screen("T001")
    assert screen.sent == []
    region.register("TRGT", lambda task: task.send(b"left"))
    region.screens.type("T001", "TRGT")
    region.run()
    assert screen.sent != []


def fault_plans(region: Region) -> None:
    assert region._core.hook is None
    region.writeq_td("PLNQ", b"works")
    FaultPlan(Fault("NOSPACE", command="WRITEQ TD", times=0)).on(region).__enter__()


def suspended_tasks(region: Region) -> None:
    assert list(region.dispatcher.fibers) == []
    region.start(lambda task: (task.enq(b"LEFT"), task.suspend(), task.delay(seconds=10)))


A_DAY = 86_400 * 10**9
NUMBERS: dict[str, list[int]] = {}
CASES: dict[str, Callable[[Region], None]] = {
    name: value
    for name, value in vars(sys.modules[__name__]).items()
    if callable(value) and getattr(value, "__module__", "") == __name__
}
