"""LINK to a program of another region: one unit of work, its conditions and abends, and what is lost at each message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tdqsim.cics import Abend, Condition, Region, Task
from tdqsim.definitions import define_connection, define_program, define_transaction
from tdqsim.facts import Resp
from tests.recovery.complexes import Complex
from tests.recovery.helpers import queue
from tests.rules import rule

NEAR = (
    queue("LOCL"),
    define_connection(name="FAR"),
    define_connection(name="GONE", netname="NOWHERE"),
    define_program(name="RPGM", remotesystem="FAR", remotename="SERVER"),
    define_program(name="SAME", remotesystem="FAR"),
    define_program(name="HERE", remotesystem="NEAR"),
    define_program(name="MIRR", remotesystem="FAR", remotename="SERVER", transid="MIR1"),
    define_program(name="LOST", remotesystem="GONE"),
    define_program(name="OFF", status="DISABLED"),
    define_program(name="SUBSET", executionset="DPLSUBSET"),
)
FAR = (
    queue("FARQ"),
    queue("PHYQ", "PHYSICAL"),
    define_connection(name="NEAR"),
    define_transaction(name="MIR1"),
    define_transaction(name="MIR2"),
    define_program(name="BACK", remotesystem="NEAR", remotename="CALLED"),
)


class Linked:
    """Two regions, and how a program of FAR was run."""

    def __init__(self, directory: Path, *, at_once: bool) -> None:
        self.two = Complex(directory, ("NEAR", "NEAR", NEAR), ("FAR", "FAR", FAR), at_once=at_once)
        self.seen: list[Any] = []
        self.server(lambda _: None)

    def __getitem__(self, applid: str) -> Region:
        return self.two[applid]

    def server(self, program: Callable[[Task], object], name: str = "SERVER") -> None:
        """Make a function a program of FAR."""
        self["FAR"].programs.register(name, program)

    def run(self, program: Callable[[Task], object]) -> Any:
        return self.two.task(program)

    def link(self, program: str = "RPGM", commarea: Any = None, **options: Any) -> Any:
        return self.run(lambda task: task.link(program, commarea, **options))


@pytest.fixture(params=[True, False], ids=["at once", "network"])
def linked(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Linked]:
    made = Linked(tmp_path, at_once=request.param)
    yield made
    made.two.sysplex.close()


def writes(task: Task) -> None:
    task.writeq_td("FARQ", b"server")
    if task.commarea is not None:
        task.commarea[:2] = b"ok"


# -- where it runs, and what it gets ------------------------------------------------------------------------------------


@pytest.mark.rule("DPL-REMOTESYSTEM", "DPL-ASSIGN")
def test_a_remote_program_runs_in_its_own_region_under_its_name_there(linked: Linked) -> None:
    def program(task: Task) -> None:
        words = ("APPLID", "PROGRAM", "STARTCODE", "INVOKINGPROG", "RETURNPROG")
        linked.seen.append((*task.assign(*words), task.eib.eibtrnid))

    linked.server(program)
    linked.server(program, "SAME")
    linked["NEAR"].programs.register("CLIENT", lambda task: (task.link("RPGM"), task.link("SAME")))
    assert linked.link("CLIENT") is not None
    assert linked.seen == [
        ("FAR", "SERVER", rule("DPL-ASSIGN").message.split()[0], "CLIENT", "CLIENT", "CSMI"),
        ("FAR", "SAME", "D", "CLIENT", "CLIENT", "CSMI"),
    ]
    assert linked.two.left() == []


def test_without_commarea_there_is_none(linked: Linked) -> None:
    linked.server(lambda task: linked.seen.append((task.commarea, task.eib.eibcalen)))
    linked.link()
    assert linked.seen == [(None, 0)]


def test_datalength_is_how_much_of_the_commarea_is_sent_and_the_rest_is_binary_zeros(linked: Linked) -> None:
    linked.server(lambda task: linked.seen.append(bytes(task.commarea)))
    for datalength in (0, 2, 3):
        assert linked.link(commarea=b"abc", datalength=datalength) is None
    assert linked.seen == [b"\0\0\0", b"ab\0", b"abc"]


@pytest.mark.rule("DPL-CHANNEL")
def test_the_channel_goes_there_and_comes_back(linked: Linked) -> None:
    def program(task: Task) -> None:
        linked.seen.append((task.assign("CHANNEL"), task.get_container("ONE").data, task.get_container("TWO").data))
        task.put_container("ONE", b"changed" * 20_000)
        task.delete_container("TWO")
        task.put_container("NEW", b"", channel=task.assign("CHANNEL"))

    def client(task: Task) -> Any:
        task.put_container("ONE", b"first", channel="CHAN")
        task.put_container("TWO", b"\0\xff", channel="CHAN")
        task.link("RPGM", channel="CHAN")
        token = task.startbrowse_container(channel="CHAN")
        names = {task.getnext_container(token) for _ in range(2)}
        return names, task.get_container("ONE", channel="CHAN").data

    linked.server(program)
    names, data = linked.run(client)
    assert linked.seen == [("CHAN", b"first", b"\0\xff")]
    assert {name.rstrip() for name in names} == {"ONE", "NEW"}
    assert data == b"changed" * 20_000


def test_a_channel_too_large_for_a_message_is_refused_and_nothing_runs(linked: Linked) -> None:
    def client(task: Task) -> None:
        task.put_container("BIG", b"x" * (1 << 20), channel="CHAN")
        task.link("RPGM", channel="CHAN")

    linked.server(linked.seen.append)
    ended = linked.run(client)
    assert "passes" in str(ended)
    assert linked.seen == []


def test_text_and_python_are_the_same_command(linked: Linked) -> None:
    linked.server(writes)
    variables = {"CA": bytearray(b"abcd")}
    text = "LINK PROGRAM('SERVER') SYSID('FAR') TRANSID('MIR1') SYNCONRETURN COMMAREA(CA) LENGTH(4) DATALENGTH(3)"
    linked.run(lambda task: task.execute(text, variables))
    assert variables["CA"] == b"okc\0"
    assert linked["FAR"].peek("FARQ") == [b"server"]


# -- one unit of work ---------------------------------------------------------------------------------------------------


@pytest.mark.rule("DPL-UNIT-OF-WORK")
@pytest.mark.parametrize("end", ["return", "syncpoint", "rollback", "abend"])
def test_both_regions_end_the_same_way(linked: Linked, end: str) -> None:
    def client(task: Task) -> None:
        task.writeq_td("LOCL", b"client")
        task.link("RPGM")
        task.link("RPGM")
        if end == "syncpoint":
            task.syncpoint()
            task.writeq_td("LOCL", b"not this")
            task.syncpoint_rollback()
        elif end == "rollback":
            task.syncpoint_rollback()
        elif end == "abend":
            task.abend("OOPS")

    linked.server(writes)
    linked.run(client)
    done = end in ("return", "syncpoint")
    assert linked["NEAR"].peek("LOCL") == ([b"client"] if done else [])
    assert linked["FAR"].peek("FARQ") == ([b"server"] * 2 if done else [])
    assert linked.two.left() == []


@pytest.mark.rule("DPL-SYNCONRETURN", "DPL-ASSIGN")
def test_with_synconreturn_the_server_takes_syncpoints(linked: Linked) -> None:
    def program(task: Task) -> None:
        linked.seen.append(task._startcode)
        task.writeq_td("FARQ", b"kept")
        task.syncpoint()
        task.writeq_td("FARQ", b"gone")
        task.syncpoint_rollback()
        task.writeq_td("FARQ", b"last")

    linked.server(program)
    linked.link(syncpointonreturn=True)
    assert linked.seen == [rule("DPL-ASSIGN").message.split()[1]]
    assert linked["FAR"].peek("FARQ") == [b"kept", b"last"]


def test_a_server_is_a_client_of_the_next_region(linked: Linked) -> None:
    """BACK of FAR is CALLED of NEAR; all three programs are one unit of work."""
    linked["NEAR"].programs.register("CALLED", lambda task: task.writeq_td("LOCL", b"called back"))
    linked.server(lambda task: (task.writeq_td("FARQ", b"server"), task.link("BACK")))

    def client(task: Task) -> None:
        task.link("RPGM")
        task.link("BACK", sysid="FAR")  # FAR passes it on
        assert linked["NEAR"].peek("LOCL", uncommitted=True) == [b"called back"] * 2
        assert linked["NEAR"].peek("LOCL") == []

    linked.run(client)
    assert linked["NEAR"].peek("LOCL") == [b"called back"] * 2
    assert linked["FAR"].peek("FARQ") == [b"server"]
    assert linked.two.left() == []


# -- conditions -------------------------------------------------------------------------------------------------------


@pytest.mark.rule(
    "DPL-PGMIDERR", "DPL-DISABLED", "DPL-SYSIDERR-UNKNOWN", "DPL-SYSIDERR-LINK", "DPL-LENGERR-NEGATIVE",
    "DPL-LENGERR-LONGER", "DPL-TRANSID-BLANK", "DPL-TRANSID-UNKNOWN",
)  # fmt: skip
@pytest.mark.parametrize(
    ("options", "row"),
    [
        ({"program": "NONE", "sysid": "FAR"}, "DPL-PGMIDERR"),
        ({"program": "SAME"}, "DPL-PGMIDERR"),
        ({"program": "OFF"}, "DPL-DISABLED"),
        ({"program": "RPGM", "sysid": "WHO"}, "DPL-SYSIDERR-UNKNOWN"),
        ({"program": "LOST"}, "DPL-SYSIDERR-LINK"),
        ({"commarea": b"abc", "length": 32764}, "LINK-LENGERR"),
        ({"commarea": b"abc", "datalength": -1}, "DPL-LENGERR-NEGATIVE"),
        ({"commarea": b"abc", "datalength": 4}, "DPL-LENGERR-LONGER"),
        ({"transid": "    "}, "DPL-TRANSID-BLANK"),
        ({"transid": "NONE"}, "DPL-TRANSID-UNKNOWN"),
    ],
)
def test_conditions(linked: Linked, options: dict[str, Any], row: str) -> None:
    linked.server(linked.seen.append)
    condition = linked.link(**options)
    expected = (Resp.LENGERR, 11) if row == "LINK-LENGERR" else (Resp[rule(row).resp], int(rule(row).resp2))
    assert (condition.resp, condition.resp2) == expected
    assert linked.seen == []
    assert linked.two.left() == []


@pytest.mark.rule("DPL-SYNCONRETURN-LATE", "DPL-OTHER-TRANSID")
@pytest.mark.parametrize(
    ("options", "row"),
    [({"syncpointonreturn": True}, "DPL-SYNCONRETURN-LATE"), ({"transid": "MIR2"}, "DPL-OTHER-TRANSID")],
)
def test_a_unit_of_work_has_one_mirror_in_a_region(linked: Linked, options: dict[str, Any], row: str) -> None:
    def client(task: Task) -> Condition:
        task.link("RPGM")
        with pytest.raises(Condition) as refused:
            task.link("RPGM", **options)
        return refused.value

    linked.server(writes)
    condition = linked.run(client)
    assert (condition.resp, condition.resp2) == (Resp[rule(row).resp], int(rule(row).resp2))
    assert linked["FAR"].peek("FARQ") == [b"server"]


@pytest.mark.rule("DPL-PGMIDERR-REMOTE")
def test_only_link_goes_to_another_region(linked: Linked) -> None:
    condition = linked.run(lambda task: task.xctl("RPGM"))
    expected = rule("DPL-PGMIDERR-REMOTE")
    assert (condition.resp, condition.resp2) == (Resp[expected.resp], int(expected.resp2))


@pytest.mark.rule("DPL-ROLLEDBACK")
def test_synconreturn_that_cannot_be_committed_is_rolledback(linked: Linked) -> None:
    """The server's unit of work has lost the third region that it had work in: its syncpoint is a backout."""

    def program(task: Task) -> None:
        task.writeq_td("FARQ", b"server")
        task.link("BACK", nohandle=True)

    linked["NEAR"].programs.register("CALLED", lambda task: task.abend("OOPS"))

    def server(task: Task) -> None:
        task.handle_abend(lambda _: None)
        program(task)

    linked.server(server)

    def client(task: Task) -> Condition:
        task.writeq_td("LOCL", b"client")
        with pytest.raises(Condition) as refused:
            task.link("RPGM", syncpointonreturn=True)
        return refused.value

    condition = linked.run(client)
    assert (condition.resp, condition.resp2) == (Resp[rule("DPL-ROLLEDBACK").resp], int(rule("DPL-ROLLEDBACK").resp2))
    assert linked["FAR"].peek("FARQ") == []
    assert linked["NEAR"].peek("LOCL") == [b"client"]
    assert linked.two.left() == []


# -- what the server may not do -----------------------------------------------------------------------------------------


@pytest.mark.rule("DPL-SUBSET", "DPL-ABEND-ADPL")
@pytest.mark.parametrize(
    "command",
    [
        "SYNCPOINT", "SYNCPOINT ROLLBACK", "RECEIVE INTO(D) LENGTH(L)", "SEND FROM(D) LENGTH(1)", "SEND TEXT FROM(D)",
        "SEND CONTROL ERASE", "SEND MAP('M') MAPSET('S')", "ASSIGN SCRNHT(L)",
        "CREATE TDQUEUE('NEWQ') ATTRIBUTES('TYPE(INTRA)') ATTRLEN(11)",
    ],
)  # fmt: skip
def test_what_a_server_may_not_issue(linked: Linked, command: str) -> None:
    expected = rule("DPL-SUBSET")

    def program(task: Task) -> None:
        task.writeq_td("FARQ", b"server")
        with pytest.raises(Condition) as refused:
            task.execute(command, {"D": b"x", "L": 4})
        linked.seen.append((refused.value.resp, refused.value.resp2))
        raise refused.value

    linked.server(program)
    ended = linked.link()
    assert linked.seen == [(Resp[expected.resp], int(expected.resp2))]
    assert ended.code == rule("DPL-ABEND-ADPL").message
    assert linked["FAR"].statistics.abends == {"ADPL": 1}
    assert linked["FAR"].peek("FARQ") == []


@pytest.mark.rule("DISCARD-DPL")
@pytest.mark.parametrize("name", ["FARQ", "PHYQ"])
def test_a_server_may_not_discard_a_queue_whether_or_not_that_takes_a_syncpoint(linked: Linked, name: str) -> None:
    linked["FAR"].set_tdqueue(name, enablestatus="DISABLED")

    def program(task: Task) -> None:
        with pytest.raises(Condition) as refused:
            task.discard_tdqueue(name)
        linked.seen.append((refused.value.command, refused.value.resp, refused.value.resp2))

    linked.server(program)
    linked.link()
    expected = rule("DISCARD-DPL")
    assert linked.seen == [("DISCARD TDQUEUE", Resp[expected.resp], int(expected.resp2))]
    assert linked["FAR"].peek(name) == []
    linked.server(lambda task: task.discard_tdqueue(name))
    assert linked.link(syncpointonreturn=True) is None
    with pytest.raises(Condition):
        linked["FAR"].inquire_tdqueue(name)


def test_programs_below_the_server_are_restricted_too(linked: Linked) -> None:
    linked.server(lambda task: task.syncpoint(), "BELOW")
    linked.server(lambda task: task.link("BELOW"))
    assert linked.link().code == "ADPL"
    linked.server(lambda task: task.xctl("BELOW"))
    assert linked.link().code == "ADPL"


@pytest.mark.rule("DPL-EXECUTIONSET")
def test_dplsubset_restricts_a_program_of_this_region(linked: Linked) -> None:
    linked["NEAR"].programs.register("SUBSET", lambda task: task.syncpoint())
    linked["NEAR"].programs.register("FREE", lambda task: task.syncpoint())
    expected, condition = rule("DPL-EXECUTIONSET"), linked.link("SUBSET").cause
    assert (condition.resp, condition.resp2) == (Resp[expected.resp], int(expected.resp2))
    assert linked.link("FREE") is None


# -- abends of the server -----------------------------------------------------------------------------------------------


@pytest.mark.rule("DPL-ABEND")
@pytest.mark.parametrize(
    ("server", "code"),
    [
        (lambda task: task.abend("OOPS"), "OOPS"),
        (lambda task: task.readq_td("NONE"), "AEYH"),
        (lambda _: 1 // 0, "ASRA"),
    ],
)
def test_the_servers_abend_is_the_clients_and_both_are_backed_out(linked: Linked, server: Any, code: str) -> None:
    def program(task: Task) -> None:
        writes(task)
        server(task)

    def client(task: Task) -> None:
        task.writeq_td("LOCL", b"client")
        task.link("RPGM")

    linked.server(program)
    ended = linked.run(client)
    assert isinstance(ended, Abend)
    assert ended.code == code
    assert linked["FAR"].statistics.abends == {code: 1}
    assert linked["NEAR"].statistics.abends == {code: 1}
    assert linked["NEAR"].peek("LOCL") == linked["FAR"].peek("FARQ") == []
    assert linked.two.left() == []


@pytest.mark.rule("DPL-ABEND-HANDLED")
def test_a_client_that_handles_the_abend_is_backed_out_all_the_same(linked: Linked) -> None:
    def client(task: Task) -> None:
        task.handle_abend(lambda abend: linked.seen.append(abend.code))
        task.writeq_td("LOCL", b"client")
        task.link("RPGM")

    linked.server(lambda task: task.abend("OOPS"))
    ended = linked.run(client)
    assert linked.seen == ["OOPS"]
    assert ended.code == rule("DPL-ABEND-HANDLED").message
    assert linked["NEAR"].peek("LOCL") == []
    assert linked.two.left() == []


@pytest.mark.rule("DPL-ABEND-HANDLED")
def test_a_client_that_handles_the_abend_may_go_on_after_a_rollback(linked: Linked) -> None:
    def client(task: Task) -> None:
        task.writeq_td("LOCL", b"gone")
        with pytest.raises(Abend):
            task.link("RPGM")
        task.syncpoint_rollback()
        task.writeq_td("LOCL", b"client")
        linked.server(writes)
        task.link("RPGM")

    linked.server(lambda task: task.abend("OOPS"))
    assert linked.run(client) is None
    assert linked["NEAR"].peek("LOCL") == [b"client"]
    assert linked["FAR"].peek("FARQ") == [b"server"]


def test_the_server_handles_its_own_abend(linked: Linked) -> None:
    def program(task: Task) -> None:
        task.handle_abend(lambda abend: linked.seen.append(abend.code))
        writes(task)
        task.abend("OOPS")

    linked.server(program)
    assert linked.link() is None
    assert linked.seen == ["OOPS"]
    assert linked["FAR"].peek("FARQ") == [b"server"]


# -- what is lost at each message ---------------------------------------------------------------------------------------


def client_of_both(task: Task) -> None:
    task.writeq_td("LOCL", b"client")
    task.link("RPGM")
    task.syncpoint()


@pytest.mark.rule("DPL-UNIT-OF-WORK", "DPL-TERMERR")
@pytest.mark.parametrize("step", ["REQUEST", "REPLY", "PREPARE", "VOTE", "COMMIT", "COMMITTED"])
@pytest.mark.parametrize("end", ["late", "cut", "NEAR", "FAR"])
@pytest.mark.parametrize("linked", [False], indirect=True, ids=["network"])  # in both ways in test_ship_messages
def test_both_regions_end_the_same_way_whatever_is_lost(linked: Linked, step: str, end: str) -> None:
    """While a message is under way the link is cut, or a region fails: the records are in both regions, or in none."""
    two = linked.two
    linked.server(writes)
    two.link().delay_at(step)
    handle = two["NEAR"].start(client_of_both)
    two.run()
    two.lose(end)
    if end != "NEAR" and step in ("REQUEST", "REPLY") and end != "late":
        lost = handle.exception
        assert isinstance(lost, Abend)
        assert isinstance(lost.cause, Condition)
        assert (lost.cause.resp, lost.cause.resp2) == (Resp[rule("DPL-TERMERR").resp], int(rule("DPL-TERMERR").resp2))
    two.recover(end)
    decided = end == "late" or step in ("COMMIT", "COMMITTED")
    assert two["NEAR"].peek("LOCL") == ([b"client"] if decided else [])
    assert two["FAR"].peek("FARQ") == ([b"server"] if decided else [])
    assert two.left() == []


@pytest.mark.parametrize("step", ["REQUEST", "REPLY"])
@pytest.mark.parametrize("end", ["cut", "FAR"])
def test_with_synconreturn_the_client_commits_whatever_is_lost(linked: Linked, step: str, end: str) -> None:
    def client(task: Task) -> Condition:
        task.writeq_td("LOCL", b"client")
        with pytest.raises(Condition) as refused:
            task.link("RPGM", syncpointonreturn=True)
        return refused.value

    two = linked.two
    linked.server(writes)
    two.link().delay_at(step)
    handle = two["NEAR"].start(client)
    two.run()
    if end == "cut":
        two.link().cut()
    else:
        two["FAR"].close(clean=False)
    two.run()
    assert handle.result().resp is Resp.TERMERR
    if end == "FAR":
        two.start("FAR")
    two.link().restore()
    two.run()
    assert two["NEAR"].peek("LOCL") == [b"client"]
    assert two["FAR"].peek("FARQ") == ([b"server"] if step == "REPLY" else [])
    assert two.left() == []


@pytest.mark.rule("DPL-SYNCONRETURN-LATE")
def test_synconreturn_in_a_unit_of_work_that_has_lost_the_region_is_refused_and_runs_nothing(linked: Linked) -> None:
    def client(task: Task) -> Condition:
        linked.two.link().cut_at("REPLY")
        with pytest.raises(Condition, match="TERMERR"):
            task.link("RPGM")
        linked.two.link().restore()
        with pytest.raises(Condition) as refused:
            task.link("RPGM", syncpointonreturn=True)
        with pytest.raises(Condition, match="ROLLEDBACK"):
            task.syncpoint()
        task.link("RPGM", syncpointonreturn=True)
        return refused.value

    linked.server(writes)
    condition = linked.run(client)
    expected = rule("DPL-SYNCONRETURN-LATE")
    assert (condition.resp, condition.resp2) == (Resp[expected.resp], int(expected.resp2))
    assert linked["FAR"].peek("FARQ") == [b"server"]
    assert linked.two.left() == []


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("end", ["cut", "FAR", "purge"])
def test_a_server_that_waits_is_ended_with_its_link(linked: Linked, end: str, *, apart: bool) -> None:
    two = linked.two
    waiting = two["FAR"].start(lambda task: (task.enq("RES"), task.delay(hours=5)))

    def program(task: Task) -> None:
        task.writeq_td("FARQ", b"server")
        task.enq("RES")

    def client(task: Task) -> None:
        task.writeq_td("LOCL", b"client")
        task.link("RPGM", syncpointonreturn=apart)

    linked.server(program)
    handle = two["NEAR"].start(client)
    two.sysplex.dispatcher.run_ready()
    if end == "cut":
        two.link().cut()
    elif end == "FAR":
        two["FAR"].close(clean=False)
    else:
        two["NEAR"].purge(handle)
    two.sysplex.dispatcher.run_ready()
    assert isinstance(handle.exception, Abend)
    if end == "FAR":
        two.start("FAR")
    else:
        two["FAR"].purge(waiting)
    two.link().restore()
    two.run()
    assert two["NEAR"].peek("LOCL") == two["FAR"].peek("FARQ") == []
    assert two.left() == []


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\0\0\0\2{}", b"\0\0\0\x01[", b"\xff\xff\xff\xff", b"\0\0\0\x0a" + b"[" * 10,
        b'\0\0\0\x47{"size": -1, "sent": 0, "channel": null, "containers": [["A", "BIT", 1]]}',
        b'\0\0\0\x45{"size": 3, "sent": 9, "channel": null, "containers": [], "apart": true}123456789',
    ],
)  # fmt: skip
def test_a_link_that_cannot_be_read_is_refused(linked: Linked, data: bytes) -> None:
    """What comes over a link is not trusted."""

    def client(task: Task) -> Resp:
        with pytest.raises(Condition) as refused:
            linked["NEAR"]._core.links["FAR"].ship_link(task, "SERVER", data, apart=False)
        return refused.value.resp

    linked.server(linked.seen.append)
    assert linked.run(client) is Resp.ISCINVREQ
    assert linked.seen == []
