"""Temporary storage of another region: function-shipped, recoverable queues as part of the requester's unit of work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tdqsim.cics import Condition, Region, Task
from tdqsim.cics.ts.commands import TsItem, TsWritten
from tdqsim.definitions import define_connection, define_tsmodel
from tdqsim.facts import Resp
from tests.recovery.complexes import Complex
from tests.recovery.helpers import queue
from tests.rules import rule

NEAR = (
    queue("LOCL"),
    define_connection(name="FAR"),
    define_connection(name="GONE", netname="NOWHERE"),
    define_tsmodel(name="SAME", prefix="SAME", remotesystem="FAR"),
    define_tsmodel(name="OTHER", prefix="AAA", remotesystem="FAR", remoteprefix="REC"),
    define_tsmodel(name="LONGER", prefix="LONGER", remotesystem="FAR", remoteprefix="L"),
    define_tsmodel(name="OURS", prefix="OURS", remotesystem="NEAR", remoteprefix="X"),
    define_tsmodel(name="LOST", prefix="LOST", remotesystem="GONE"),
)
FAR = (
    define_tsmodel(name="KEPT", prefix="REC", recovery="YES"),
    define_tsmodel(name="BEHIND", prefix="BACK", remotesystem="NEAR", remoteprefix="HOME"),
    define_connection(name="NEAR"),
)


class Shipped:
    """Two regions; the requests are those of tasks in NEAR."""

    def __init__(self, directory: Path, *, at_once: bool) -> None:
        self.two = Complex(directory, ("NEAR", "NEAR", NEAR), ("FAR", "FAR", FAR), at_once=at_once)

    def __getitem__(self, applid: str) -> Region:
        return self.two[applid]

    def items(self, name: str, applid: str = "FAR") -> list[bytes] | None:
        """The items of a queue as a task of its own region reads them; None where there is no queue."""

        def program(task: Task) -> list[bytes] | None:
            found = task.readq_ts(name, item=1, sysid=applid, nohandle=True)
            if task.eib.eibresp is Resp.QIDERR:
                return None
            return [task.readq_ts(name, item=n + 1, sysid=applid).data for n in range(found.numitems)]

        return self.two.task(program, applid)

    def run(self, program: Callable[[Task], Any]) -> Any:
        return self.two.task(program)


@pytest.fixture(params=[True, False], ids=["at once", "network"])
def shipped(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Shipped]:
    made = Shipped(tmp_path, at_once=request.param)
    yield made
    made.two.sysplex.close()


@pytest.mark.rule("TS-REMOTE-SYSID", "TS-REMOTE-MODEL", "TS-REMOTE-PREFIX")
@pytest.mark.parametrize(
    ("name", "sysid", "there", "region"),
    [
        ("ANY", "FAR", "ANY", "FAR"),
        ("SAMEQ", None, "SAMEQ", "FAR"),
        ("AAAQ", None, "RECQ", "FAR"),
        ("LONGERQ1", None, "LQ1", "FAR"),
        ("AAAQ", "FAR", "AAAQ", "FAR"),
        ("AAAQ", "NEAR", "AAAQ", "NEAR"),
        ("OURSQ", None, "OURSQ", "NEAR"),
        ("ANY", None, "ANY", "NEAR"),
        ("BACKQ", "FAR", "HOMEQ", "NEAR"),
    ],
)
def test_sysid_or_the_model_say_where_a_queue_is(
    shipped: Shipped, name: str, sysid: str | None, there: str, region: str
) -> None:
    shipped.run(lambda task: task.writeq_ts(name, b"item", sysid=sysid))
    assert shipped.items(there, region) == [b"item"]
    other = {"NEAR": "FAR", "FAR": "NEAR"}[region]
    assert shipped[other].ts.queues == {}
    assert shipped.two.left() == []


@pytest.mark.rule("TS-REMOTE-MODEL")
def test_all_options_go_there_and_all_values_come_back(shipped: Shipped) -> None:
    def program(task: Task) -> list[Any]:
        return [
            task.writeq_ts("SAMEQ", b"one", main=True),
            task.writeq_ts("SAMEQ", b"second item", length=6),
            task.writeq_ts("SAMEQ", b"third", auxiliary=True, nosuspend=True),
            task.writeq_ts("SAMEQ", b"ONE AND MORE", item=1, rewrite=True),
            task.readq_ts("SAMEQ", item=3),
            task.readq_ts("SAMEQ", item=1),
            task.readq_ts("SAMEQ"),
            task.readq_ts("SAMEQ", item=1, next=True),
        ]

    assert shipped.run(program) == [
        TsWritten(1, 1), TsWritten(2, 2), TsWritten(3, 3), TsWritten(1, 3), TsItem(b"third", 3),
        TsItem(b"ONE AND MORE", 3), TsItem(b"second", 3), TsItem(b"third", 3),
    ]  # fmt: skip
    assert shipped["FAR"].ts.queues["SAMEQ"].main
    shipped.run(lambda task: task.deleteq_ts("SAMEQ"))
    assert shipped.items("SAMEQ") is None


def test_text_and_python_are_the_same_command(shipped: Shipped) -> None:
    values = {"D": b"item", "N": 0, "I": 0, "L": 2, "INTO": bytearray(4)}

    def program(task: Task) -> Any:
        task.execute("WRITEQ TS QUEUE('Q') FROM(D) ITEM(I) NUMITEMS(N) SYSID('FAR')", values)
        with pytest.raises(Condition) as cut:
            task.execute("READQ TS QUEUE('Q') INTO(INTO) LENGTH(L) SYSID('FAR')", values)
        return cut.value.resp

    assert shipped.run(program) is Resp.LENGERR
    assert (values["I"], values["N"], values["L"]) == (1, 1, 4)
    assert bytes(values["INTO"])[:2] == b"it"


@pytest.mark.rule("TS-SYSIDERR")
@pytest.mark.parametrize(
    ("program", "resp"),
    [
        (lambda task: task.readq_ts("LOSTQ"), Resp[rule("TS-SYSIDERR").resp]),
        (lambda task: task.writeq_ts("Q", b"x", sysid="NONE"), Resp.SYSIDERR),
        (lambda task: task.deleteq_ts("Q", sysid="NONE"), Resp.SYSIDERR),
        (lambda task: task.readq_ts("SAMEQ"), Resp.QIDERR),
        (lambda task: task.deleteq_ts("SAMEQ"), Resp.QIDERR),
        (lambda task: task.writeq_ts("SAMEQ", b"x", item=1, rewrite=True), Resp.QIDERR),
        (lambda task: task.writeq_ts("SAMEQ", b"x" * 40_000), Resp.LENGERR),
        (lambda task: task.writeq_ts("SAMEQ", b"x" * (2 << 20)), Resp.LENGERR),
        (lambda task: task.writeq_ts("SAMEQ", b""), Resp.LENGERR),
        (lambda task: task.writeq_ts("\0\0", b"x", sysid="FAR"), Resp.INVREQ),
        (lambda task: (task.writeq_ts("SAMEQ", b"x"), task.readq_ts("SAMEQ", item=2)), Resp.ITEMERR),
        (lambda task: (task.writeq_ts("SAMEQ", b"x"), task.readq_ts("SAMEQ", item=10**12)), Resp.ITEMERR),
        (lambda task: (task.writeq_ts("AAAQ", b"x"), task.deleteq_ts("AAAQ")), None),
    ],
)
def test_the_other_regions_answer_is_the_requesters(
    shipped: Shipped, program: Callable[[Task], Any], resp: Resp | None
) -> None:
    ended = shipped.run(program)
    assert (ended.resp if isinstance(ended, Condition) else None) is resp
    if isinstance(ended, Condition):
        assert ended.resp2 == 0


@pytest.mark.rule("TS-REMOTE-RECOVERABLE")
@pytest.mark.parametrize("end", ["return", "rollback", "abend"])
def test_a_recoverable_queue_is_part_of_the_unit_of_work(shipped: Shipped, end: str) -> None:
    shipped.run(lambda task: (task.writeq_ts("AAAQ", b"before"), task.writeq_ts("SAMEQ", b"before")))

    def program(task: Task) -> None:
        task.writeq_td("LOCL", b"record")
        task.writeq_ts("AAAQ", b"after", item=1, rewrite=True)
        task.writeq_ts("AAAQ", b"more")
        task.writeq_ts("SAMEQ", b"more")
        task.deleteq_ts("AAAB", nohandle=True)
        if end == "rollback":
            task.syncpoint_rollback()
        elif end == "abend":
            task.abend("OOPS")

    shipped.run(program)
    done = end == "return"
    assert shipped.items("RECQ") == ([b"after", b"more"] if done else [b"before"])
    assert shipped.items("SAMEQ") == [b"before", b"more"]
    assert shipped["NEAR"].peek("LOCL") == ([b"record"] if done else [])
    assert shipped.two.left() == []


@pytest.mark.rule("TS-REMOTE-RECOVERABLE")
def test_a_task_of_the_other_region_waits_for_the_unit_of_work(shipped: Shipped) -> None:
    order: list[str] = []

    def near(task: Task) -> None:
        task.writeq_ts("AAAQ", b"near")
        task.delay(seconds=5)
        order.append("near")

    def far(task: Task) -> None:
        task.delay(seconds=1)
        task.writeq_ts("RECQ", b"far")
        order.append("far")

    shipped["NEAR"].start(near)
    shipped["FAR"].start(far)
    shipped.two.run()
    assert order == ["near", "far"]
    assert shipped.items("RECQ") == [b"near", b"far"]


def both(task: Task) -> None:
    task.writeq_td("LOCL", b"record")
    task.writeq_ts("AAAQ", b"item")
    task.syncpoint()


@pytest.mark.rule("TS-REMOTE-RECOVERABLE")
@pytest.mark.parametrize("step", ["REQUEST", "REPLY", "PREPARE", "VOTE", "COMMIT", "COMMITTED"])
@pytest.mark.parametrize("end", ["late", "cut", "NEAR", "FAR"])
@pytest.mark.parametrize("shipped", [False], indirect=True, ids=["network"])  # in both ways in test_ship_messages
def test_the_item_and_the_record_beside_it_end_the_same_way(shipped: Shipped, step: str, end: str) -> None:
    two = shipped.two
    two.link().delay_at(step)
    two["NEAR"].start(both)
    two.run()
    two.lose(end)
    two.recover(end)
    decided = end == "late" or step in ("COMMIT", "COMMITTED")
    assert two["NEAR"].peek("LOCL") == ([b"record"] if decided else [])
    assert shipped.items("RECQ") == ([b"item"] if decided else None)
    assert two.left() == []


@pytest.mark.parametrize("command", ["WRITEQ TS", "READQ TS", "DELETEQ TS"])
@pytest.mark.parametrize("data", [b"", b"\0\1", b"\0" * 6])
def test_a_request_that_cannot_be_read_is_refused(shipped: Shipped, command: str, data: bytes) -> None:
    """What comes over a link is not trusted."""
    ended = shipped.run(lambda task: shipped["NEAR"]._core.links["FAR"].ship(task, command, "SAMEQ", data=data))
    assert ended.resp is Resp.ISCINVREQ
