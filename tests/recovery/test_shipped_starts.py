"""START and CANCEL in another region: function-shipped, part of the requester's unit of work with PROTECT."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tdqsim.cics import Condition, Region, Task
from tdqsim.definitions import define_connection, define_terminal, define_transaction, define_tsmodel
from tdqsim.facts import Resp
from tests.recovery.complexes import Complex
from tests.recovery.helpers import queue
from tests.rules import rule

NEAR = (
    queue("LOCL"),
    define_connection(name="FAR"),
    define_connection(name="GONE", netname="NOWHERE"),
    define_transaction(name="RTRN", remotesystem="FAR", remotename="FTRN"),
    define_transaction(name="HERE", remotesystem="NEAR"),
    define_transaction(name="LOST", remotesystem="GONE"),
    define_transaction(name="NOTD", remotesystem="FAR"),
    define_transaction(name="LQTR", remotesystem="FAR", remotename="FTRN", localq="YES"),
)
FAR = (
    queue("FARQ"),
    define_transaction(name="FTRN"),
    define_terminal(name="T001"),
    define_tsmodel(name="KEPT", prefix="REC", recovery="YES"),
)


class Started:
    """Two regions, and what the transactions in them have seen: region, transaction, start code, data."""

    def __init__(self, directory: Path, *, at_once: bool) -> None:
        self.seen: list[tuple[str, str, str, bytes]] = []
        handlers = dict.fromkeys(("FTRN", "RTRN", "HERE"), self._program)
        self.two = Complex(
            directory, ("NEAR", "NEAR", NEAR), ("FAR", "FAR", FAR), at_once=at_once, handlers=handlers
        )  # fmt: skip

    def _program(self, task: Task) -> None:
        data = task.retrieve(nohandle=True)
        self.seen.append((task.assign("APPLID").rstrip(), task.transid, task._startcode, data))

    def __getitem__(self, applid: str) -> Region:
        return self.two[applid]

    def issue(self, text: str, data: bytes = b"") -> Any:
        """A command of a task in NEAR; gives its condition, or nothing, and lets all tasks run."""

        def program(task: Task) -> None:
            task.execute(text, {"D": data})

        return self.two.task(program)


@pytest.fixture(params=[True, False], ids=["at once", "network"])
def started(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Started]:
    made = Started(tmp_path, at_once=request.param)
    yield made
    made.two.sysplex.close()


@pytest.mark.rule("IC-START-REMOTE")
def test_a_remote_transaction_is_started_in_its_own_region_under_its_name_there(started: Started) -> None:
    assert started.issue("START TRANSID('RTRN') FROM(D)", b"data") is None
    assert started.seen == [("FAR", "FTRN", "SD", b"data")]


def test_sysid_names_the_region_whatever_the_local_definition_says(started: Started) -> None:
    assert started.issue("START TRANSID('FTRN') SYSID('FAR')") is None
    assert started.seen == [("FAR", "FTRN", "S", b"")]


@pytest.mark.parametrize("text", ["TRANSID('HERE')", "TRANSID('RTRN') SYSID('NEAR')"])
def test_a_transaction_of_this_system_is_started_here(started: Started, text: str) -> None:
    assert started.issue(f"START {text} FROM(D)", b"x") is None
    assert [(region, data) for region, _, _, data in started.seen] == [("NEAR", b"x")]


def test_names_channel_and_terminal_go_with_the_request(started: Started) -> None:
    got: list[Any] = []

    def program(task: Task) -> None:
        with_channel = bool(task.assign("CHANNEL").rstrip())
        got.append(task.get_container("PART").data if with_channel else task.retrieve("RTRANSID", "RTERMID", "QUEUE"))
        got.append(task.eib.eibtrmid)

    started["FAR"].register("FTRN", program)

    def starter(task: Task) -> None:
        task.start("RTRN", b"d", rtransid="BACK", rtermid="T9", queue="Q1", termid="T001")
        task.put_container("PART", b"inside", channel="CHAN")
        task.start("RTRN", channel="CHAN")

    started["NEAR"].start(starter)
    started.two.run()
    names = next(each for each in got if isinstance(each, dict))
    assert (names["INTO"], names["RTRANSID"], names["QUEUE"].rstrip()) == (b"d", "BACK", "Q1")
    assert {each for each in got if not isinstance(each, dict)} == {"T001", b"inside", ""}


@pytest.mark.parametrize(
    ("text", "resp", "resp2"),
    [
        ("START TRANSID('LOST')", Resp[rule("IC-START-REMOTE").resp], 0),
        ("START TRANSID('FTRN') SYSID('NONE')", Resp.SYSIDERR, 0),
        ("START TRANSID('NOTD')", Resp.TRANSIDERR, 0),
        ("START TRANSID('RTRN') TERMID('T999')", Resp.TERMIDERR, 0),
        ("START TRANSID('RTRN') INTERVAL(70)", Resp.INVREQ, 6),
        ("CANCEL REQID('NONE') SYSID('FAR')", Resp[rule("IC-CANCEL-REMOTE").resp], 0),
        ("CANCEL REQID('NONE') TRANSID('RTRN')", Resp.NOTFND, 0),
        ("CANCEL REQID('NONE') SYSID('NONE')", Resp.SYSIDERR, 0),
    ],
)
@pytest.mark.rule("IC-START-REMOTE", "IC-CANCEL-REMOTE")
def test_the_other_regions_answer_is_the_requesters(started: Started, text: str, resp: Resp, resp2: int) -> None:
    condition = started.issue(text)
    assert (condition.resp, condition.resp2) == (resp, resp2)
    assert started.seen == []


@pytest.mark.rule("IC-START-NOCHECK")
def test_nocheck_ignores_what_the_other_region_answers_but_not_a_missing_one(started: Started) -> None:
    assert started.issue("START TRANSID('NOTD') NOCHECK") is None
    assert started.issue("START TRANSID('LOST') NOCHECK").resp is Resp.SYSIDERR


@pytest.mark.rule("IC-CANCEL-REMOTE")
def test_a_request_that_waits_in_the_other_region_is_cancelled_there(started: Started) -> None:
    def program(task: Task) -> None:
        for reqid in ("ONE", "TWO"):
            task.execute(f"START TRANSID('RTRN') AFTER HOURS(1) REQID('{reqid}') FROM(D)", {"D": reqid.encode()})
            assert task.eib.eibreqid.rstrip() == reqid
        task.execute("CANCEL REQID('ONE') TRANSID('RTRN')", {})

    started["NEAR"].start(program)
    started.two.run()
    assert started.seen == [("FAR", "FTRN", "SD", b"TWO")]


def test_a_start_that_is_not_protected_is_done_when_the_requester_abends(started: Started) -> None:
    def program(task: Task) -> None:
        task.start("RTRN", b"not protected")
        task.start("RTRN", b"protected", protect=True)
        task.writeq_td("LOCL", b"x")
        task.abend("OOPS")

    handle = started["NEAR"].start(program)
    started.two.run()
    assert handle.exception is not None
    assert [data for *_, data in started.seen] == [b"not protected"]
    assert started["NEAR"].peek("LOCL") == []


def protected(task: Task) -> None:
    task.writeq_td("LOCL", b"record")
    task.start("RTRN", b"protected", protect=True, reqid="RECOVER")
    task.syncpoint()


@pytest.mark.parametrize("step", ["REQUEST", "REPLY", "PREPARE", "VOTE", "COMMIT", "COMMITTED"])
@pytest.mark.parametrize("end", ["late", "cut", "NEAR", "FAR"])
@pytest.mark.parametrize("started", [False], indirect=True, ids=["network"])  # in both ways in test_ship_messages
def test_a_protected_start_and_the_record_beside_it_end_the_same_way(started: Started, step: str, end: str) -> None:
    """Whatever is lost while a message is under way: the task has run in FAR if, and only if, the record is in NEAR."""
    two = started.two
    two.link().delay_at(step)
    two["NEAR"].start(protected)
    two.run()
    two.lose(end)
    two.recover(end)
    decided = end == "late" or step in ("COMMIT", "COMMITTED")
    assert two["NEAR"].peek("LOCL") == ([b"record"] if decided else [])
    assert [data for *_, data in started.seen] == ([b"protected"] if decided else [])
    assert two.left() == []


@pytest.mark.parametrize(
    "data",
    [
        b"", b"[]", b"{", b"[" * 5000, b'{"when": [0,null,null,null,false], "protect": true}',
        b'{"when": [0,null,null,null,0], "protect": true, "request": "{}"}',
    ],
)  # fmt: skip
def test_a_start_that_cannot_be_read_is_refused(started: Started, data: bytes) -> None:
    """What comes over a link is not trusted."""

    def program(task: Task) -> Any:
        with pytest.raises(Condition) as refused:
            task.region._core.links["FAR"].ship(task, "START", "FTRN", data=data)
        return refused.value.resp

    handle = started["NEAR"].start(program)
    started.two.run()
    assert handle.result() is Resp.ISCINVREQ
    assert started.seen == []


@pytest.mark.rule("IC-START-LOCALQ", "IC-START-LOCALQ-CANCEL", "IC-START-NOCHECK")
def test_start_nocheck_is_queued_here_while_the_link_is_away(started: Started) -> None:
    started.two.link().cut()
    assert started.issue("START TRANSID('LQTR') NOCHECK REQID('REQ00001') FROM(D)", b"one") is None
    assert started.issue("START TRANSID('LQTR') NOCHECK FROM(D)", b"two") is None
    assert started.issue("START TRANSID('LQTR') FROM(D)", b"x").resp is Resp.SYSIDERR
    assert started.issue("START TRANSID('RTRN') NOCHECK FROM(D)", b"x").resp is Resp.SYSIDERR
    assert started.issue("START TRANSID('FTRN') SYSID('FAR') NOCHECK FROM(D)", b"x").resp is Resp.SYSIDERR
    cancelled = started.issue("CANCEL REQID('REQ00001') TRANSID('LQTR')")
    assert cancelled.resp is Resp[rule("IC-START-LOCALQ-CANCEL").resp]
    assert [each.resource for each in started["NEAR"].notices if each.id == "TDQ0051"] == ["TRANSACTION(FTRN)"]
    assert started.seen == []
    started.two.link().restore()
    started.two.run()
    assert started.seen == [("FAR", "FTRN", "SD", b"one"), ("FAR", "FTRN", "SD", b"two")]
    assert rule("IC-START-LOCALQ").resp == "NORMAL"


@pytest.mark.rule("IC-START-LOCALQ")
def test_queued_starts_of_several_runs_are_sent_once_each(started: Started) -> None:
    """What is queued after a restart takes the place of nothing; what was sent stays away after another restart."""
    two = started.two
    two["FAR"].close()
    for data in (b"one", b"two"):
        assert started.issue("START TRANSID('LQTR') NOCHECK FROM(D)", data) is None
        two.again("NEAR")
    two.start("FAR")
    two.run()
    expected = [("FAR", "FTRN", "SD", b"one"), ("FAR", "FTRN", "SD", b"two")]
    assert started.seen == expected
    two["NEAR"].writeq_td("LOCL", b"commits what was noted")
    two.again("NEAR")
    two.run()
    assert started.seen == expected


@pytest.mark.rule("IC-START-LOCALQ")
def test_a_queued_start_whose_link_goes_again_is_sent_when_it_is_back_a_second_time(started: Started) -> None:
    link = started.two.link()
    link.cut()
    assert started.issue("START TRANSID('LQTR') NOCHECK FROM(D)", b"one") is None
    link.cut_at("REQUEST")
    link.restore()
    started.two.run()
    assert (started.seen, link.acquired) == ([], False)
    link.restore()
    started.two.run()
    assert started.seen == [("FAR", "FTRN", "SD", b"one")]


@pytest.mark.rule("IC-START-LOCALQ")
def test_a_queued_start_that_is_under_way_is_not_sent_a_second_time(started: Started) -> None:
    """The connection is put in service, which is another reason to send, before the answer has come."""
    link = started.two.link()
    link.cut()
    assert started.issue("START TRANSID('LQTR') NOCHECK FROM(D)", b"one") is None
    steps: list[str] = []

    def meanwhile(step: str) -> None:
        steps.append(step)
        if steps == ["REQUEST", "REPLY"]:
            started["NEAR"].install([define_connection(name="FAR", inservice="YES")])

    link.fault = meanwhile
    link.restore()
    started.two.run()
    assert steps.count("REQUEST") == 1
    assert [data for *_, data in started.seen] == [b"one"]


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("back", ["before", "after"])
@pytest.mark.parametrize("restarts", [0, 2])
def test_start_protect_joins_the_local_queue_when_its_unit_of_work_commits(
    started: Started, commit: bool, back: str, restarts: int
) -> None:
    """The link is back before or after the commit; with restarts the unit of work is in doubt."""
    two = started.two
    two.link().cut()
    task = started["NEAR"].task().__enter__()
    task.start("LQTR", b"data", nocheck=True, protect=True)
    if restarts:
        assert started["NEAR"].recovery.branch("TX1", task).prepare()
        task.end()
    for _ in range(restarts):
        two["FAR"].close()
        two.again("NEAR")
        two.start("FAR")
        two.link().cut()
    assert started.issue("START TRANSID('LQTR') NOCHECK FROM(D)", b"other") is None
    if back == "before":
        two.link().restore()
        two.run()
        assert started.seen == [("FAR", "FTRN", "SD", b"other")]
    if restarts:
        branch = started["NEAR"].recovery.branch("TX1")
        (branch.commit if commit else branch.back_out)()
    else:
        (task.syncpoint if commit else task.syncpoint_rollback)()
        task.end()
    two.run()
    two.link().restore()
    two.run()
    assert sorted(data for *_, data in started.seen) == ([b"data", b"other"] if commit else [b"other"])
