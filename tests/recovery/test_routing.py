"""Transaction routing: terminals run transactions of another region, also through a third one, and after ATI."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tdqsim.cics import Abend, Condition, Region, Sysplex, Task
from tdqsim.cics.terminal import Sent
from tdqsim.definitions import (
    define_connection,
    define_tdqueue,
    define_terminal,
    define_transaction,
    define_tsmodel,
)
from tdqsim.definitions.bms import parse_bms
from tdqsim.errors import RegionClosed, UsageError
from tdqsim.facts import Resp
from tests.recovery.complexes import Complex
from tests.recovery.helpers import queue
from tests.rules import rule

ATI = {"type": "INTRA", "recovstatus": "LOGICAL", "atifacility": "TERMINAL", "triggerlevel": 1}
TOR = (
    queue("TORQ"),
    define_connection(name="AOR", netname="AORREG"),
    define_connection(name="GONE", netname="NOWHERE"),
    define_terminal(name="T001", netname="LU001"),
    define_terminal(name="T002"),
    define_terminal(name="T004", netname="LU004"),
    define_terminal(name="T003", inservice="NO"),
    define_transaction(name="PAYM", remotesystem="AOR", remotename="PAYX"),
    define_transaction(name="SAME", remotesystem="AOR"),
    define_transaction(name="HERE", remotesystem="TOR"),
    define_transaction(name="LOST", remotesystem="GONE"),
    define_transaction(name="NOTD", remotesystem="AOR"),
    define_transaction(name="NONE", remotesystem="NONE"),
    define_transaction(name="TRIG", remotesystem="AOR"),
    define_transaction(name="BACK", remotesystem="AOR"),
)
AOR = (
    queue("AORQ"),
    define_connection(name="TOR", netname="TORREG"),
    define_terminal(name="R001", remotesystem="TOR", remotename="T001"),
    define_terminal(name="T003", remotesystem="TOR"),
    define_terminal(name="T009", remotesystem="TOR"),
    define_transaction(name="PAYX"),
    define_transaction(name="SAME"),
    define_transaction(name="TRIG"),
    define_transaction(name="STRT"),
    define_transaction(name="OFFT", status="DISABLED"),
    define_transaction(name="BACK", remotesystem="TOR"),
    define_tdqueue(name="TRGQ", transid="TRIG", facilityid="R001", **ATI),
    define_tdqueue(name="T3QU", transid="TRIG", facilityid="T003", **ATI),
    define_tdqueue(name="T9QU", transid="TRIG", facilityid="T009", **ATI),
    define_tdqueue(name="STRQ", transid="STRT", facilityid="R001", **ATI),
    define_tsmodel(name="KEPT", prefix="REC", recovery="YES"),
)
MAPS = """\
PAYSET   DFHMSD TYPE=MAP,MODE=INOUT
PAYMAP   DFHMDI SIZE=(24,80)
ACCT     DFHMDF POS=(1,10),LENGTH=6
         DFHMSD TYPE=FINAL
         END
"""


class Routed:
    """A region with terminals, TORREG, and one with transactions, AORREG."""

    def __init__(self, directory: Path, *, at_once: bool) -> None:
        self.seen: list[Any] = []
        self.two = Complex(directory, ("TORREG", "TOR", TOR), ("AORREG", "AOR", AOR), at_once=at_once, handlers=())

    def __getitem__(self, applid: str) -> Region:
        return self.two[applid]

    def program(self, program: Callable[[Task], object], *transids: str) -> None:
        """Make a function the program of transactions of AORREG."""
        for transid in transids or ("PAYX",):
            self["AORREG"].register(transid, program)

    def type(self, text: str = "", terminal: str = "T001", **options: Any) -> Any:
        """Type at a terminal, and let all tasks run."""
        handle = self["TORREG"].screens.type(terminal, text, **options)
        self.two.run()
        return handle

    def sent(self, terminal: str = "T001") -> list[Sent]:
        return self["TORREG"].screens.screen(terminal).sent

    def texts(self, terminal: str = "T001") -> list[str]:
        return [each.text for each in self.sent(terminal)]

    def messages(self, applid: str) -> list[str]:
        """The messages that a region has logged, by id."""
        return self.logged[applid]

    def listen(self) -> None:
        """Keep the ids of the messages of both regions."""
        self.logged: dict[str, list[str]] = {"TORREG": [], "AORREG": []}
        for applid, logged in self.logged.items():
            self[applid]._core.messages.listeners.append(lambda message, _inserts, to=logged: to.append(message))

    def link(self) -> Any:
        return self.two.link("TORREG", "AORREG")


@pytest.fixture(params=[pytest.param(True, marks=pytest.mark.slow), False], ids=["at once", "network"])
def routed(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Routed]:
    made = Routed(tmp_path, at_once=request.param)
    yield made
    made.two.sysplex.close()


def trig(made: Routed) -> Callable[[Task], None]:
    """A program that reads the queue which has triggered it, and shows its records at its terminal."""

    def program(task: Task) -> None:
        name = task.assign("QNAME")
        while (record := task.readq_td(name, nohandle=True)) and task.eib.eibresp is Resp.NORMAL:
            made.seen.append((task.eib.eibtrmid, task.assign("STARTCODE"), record))
            task.send_text(record)

    return program


# -- a transaction that a terminal's user enters ----------------------------------------------------------------------


@pytest.mark.rule("ROUTE-STATIC", "ROUTE-FACILITY")
def test_a_transaction_runs_in_the_region_that_its_definition_names_with_the_terminal_as_its_facility(
    routed: Routed,
) -> None:
    def program(task: Task) -> None:
        given = task.assign("APPLID", "SYSID", "FACILITY", "NETNAME", "STARTCODE", "FCI")
        routed.seen.append((task.transid, task.eib.eibtrmid, *given, task.receive()))

    routed.program(program, "PAYX", "SAME")
    routed["TORREG"].register("HERE", program)
    for text in ("PAYM 100", "SAME"):
        assert routed.type(text).result() is None
    routed.type("HERE", terminal="T002")
    page = routed["TORREG"].encode
    start = rule("ROUTE-FACILITY").message
    assert routed.seen == [
        ("PAYX", "R001", "AORREG", "AOR", "R001", "R001", start, b"\1", page("PAYM 100")),
        ("SAME", "R001", "AORREG", "AOR", "R001", "R001", start, b"\1", page("SAME")),
        ("HERE", "T002", "TORREG", "TOR", "T002", "T002", start, b"\1", page("HERE")),
    ]
    assert routed.two.left() == []


@pytest.mark.rule("ROUTE-SHIPPED-TERMINAL")
def test_the_terminals_definition_comes_with_the_transaction(routed: Routed) -> None:
    """It has its name and NETNAME, and from then on START knows it."""

    def start(task: Task) -> Resp | None:
        task.start("STRT", b"data", termid="T002", nohandle=True)
        return task.condition and task.condition.resp

    unknown = routed["AORREG"].start(start)
    routed.program(lambda task: routed.seen.append(task.assign("FACILITY", "NETNAME")))
    routed.type("PAYM", terminal="T002")
    known = routed["AORREG"].start(start)
    routed.two.run()
    assert unknown.result() is Resp[rule("ROUTE-SHIPPED-TERMINAL").resp]
    assert known.result() is None
    assert routed.seen == [("T002", "T002")]
    assert routed["AORREG"].resources.terminals["T002"].remotesystem == "TOR"
    routed.type("PAYM", terminal="T004")
    assert routed.seen[1:] == [("T004", "LU004")]


@pytest.mark.rule("ROUTE-TERMINAL-REQUESTS", "ROUTE-MAPS")
def test_terminal_requests_are_carried_out_at_the_terminal_and_maps_are_those_of_the_transactions_region(
    routed: Routed,
) -> None:
    routed["AORREG"].screens.install(parse_bms(MAPS))

    def program(task: Task) -> None:
        task.receive()
        task.send_map("PAYMAP", mapset="PAYSET", from_=b"\0\0\xc8" + task.encode("A1    "), erase=True, cursor=9)
        received = task.receive_map("PAYMAP", mapset="PAYSET")
        routed.seen.append((received[-6:], task.eib.eibaid, task.eib.eibcposn))
        task.send_control(freekb=True)
        task.send(task.encode("ready"), last=True)

    routed.program(program)
    handle = routed.type("PAYM")
    assert not handle.done
    shown = routed.sent()[0]
    assert (shown.command, shown.map, shown.mapset, shown.fields, shown.cursor) == (
        "SEND MAP", "PAYMAP", "PAYSET", {"ACCT": "A1"}, 9
    )  # fmt: skip
    assert shown.attributes == {("ACCT", "A"): b"\xc8"}
    assert shown.options == ("ERASE",)
    assert routed.type(key="PF3", cursor=33, acct="123456") is None
    assert handle.result() is None
    assert routed.seen == [(routed["AORREG"].encode("123456"), b"3", 33)]
    assert [(each.command, each.text, each.options) for each in routed.sent()[1:]] == [
        ("SEND CONTROL", "", ("FREEKB",)), ("SEND", "ready", ("LAST",))
    ]  # fmt: skip


@pytest.mark.rule("ROUTE-CONVERSATION")
def test_the_terminals_region_decides_what_the_next_transaction_is_and_where_it_runs(routed: Routed) -> None:
    """A conversation of a routed and a local transaction; COMMAREA and channel go along, IMMEDIATE waits for nothing."""

    def far(task: Task) -> None:
        area = None if task.commarea is None else bytes(task.commarea)
        routed.seen.append(("far", area, task.eib.eibcalen, task.assign("CHANNEL")))
        task.put_container("PART", b"inside", channel="CHAN")
        if area is None:
            task.return_(transid="HERE", commarea=b"abc", length=2)
        task.return_(transid="HERE", channel="CHAN", immediate=True)

    def near(task: Task) -> None:
        area = None if task.commarea is None else bytes(task.commarea)
        routed.seen.append(("near", area, task.eib.eibcalen, task.assign("CHANNEL")))
        if area is not None:
            task.return_(transid="PAYM", commarea=b"next")

    routed.program(far)
    routed["TORREG"].register("HERE", near)
    for _ in range(3):
        routed.type("PAYM")
    assert routed.seen == [
        ("far", None, 0, ""),
        ("near", b"ab", 2, ""),
        ("far", b"next", 4, ""),
        ("near", None, 0, "CHAN"),
    ]
    assert routed["TORREG"].screens.screen("T001").next_transid == ""


@pytest.mark.rule("ROUTE-PRINSYSID")
def test_prinsysid_does_not_tell_a_routed_task_which_region_owns_its_terminal(routed: Routed) -> None:
    def program(task: Task) -> None:
        with pytest.raises(Condition) as refused:
            task.assign("PRINSYSID")
        routed.seen.append(refused.value.resp)

    routed.program(program)
    routed.type("PAYM")
    assert routed.seen == [Resp[rule("ROUTE-PRINSYSID").resp]]


def test_the_unit_of_work_of_a_routed_task_is_its_own_and_may_take_in_the_terminals_region(routed: Routed) -> None:
    routed["AORREG"].install([define_tdqueue(name="BACQ", remotesystem="TOR", remotename="TORQ")])

    def program(task: Task) -> None:
        for name in ("AORQ", "BACQ"):
            task.writeq_td(name, b"kept")
        task.syncpoint()
        task.writeq_td("AORQ", b"lost")
        task.receive()
        task.receive()
        task.writeq_td("BACQ", b"lost")
        task.syncpoint_rollback()

    routed.program(program)
    handle = routed.type("PAYM")
    routed.type("go on")
    assert handle.result() is None
    assert routed["AORREG"].peek("AORQ") == routed["TORREG"].peek("TORQ") == [b"kept"]
    assert routed.two.left() == []


# -- when it cannot be routed -----------------------------------------------------------------------------------------


@pytest.mark.rule("ROUTE-UNAVAILABLE")
@pytest.mark.parametrize("why", ["cut", "out of service here", "out of service there"])
def test_the_terminals_user_is_told_that_a_link_is_not_available(routed: Routed, why: str) -> None:
    if why == "cut":
        routed.link().cut()
    elif why == "out of service here":
        routed["TORREG"].install([define_connection(name="AOR", netname="AORREG", inservice="NO")])
    else:
        routed["AORREG"].install([define_connection(name="TOR", netname="TORREG", inservice="NO")])
    routed.program(lambda _task: routed.seen.append("ran"))
    assert routed.type("PAYM").result() is None
    assert routed.seen == []
    (shown,) = routed.sent()
    assert shown.command == "MESSAGE"
    assert shown.text.split()[0] == rule("ROUTE-UNAVAILABLE").message
    assert "PAYM" in shown.text
    assert "AOR" in shown.text


@pytest.mark.rule("ROUTE-UNKNOWN-SYSTEM", "ROUTE-NOT-DEFINED")
@pytest.mark.parametrize(("transid", "code"), [("LOST", "ROUTE-UNKNOWN-SYSTEM"), ("NONE", "ROUTE-UNKNOWN-SYSTEM")])
def test_a_transaction_of_a_system_that_is_not_known_abends(routed: Routed, transid: str, code: str) -> None:
    handle = routed.type(transid)
    assert handle.abend.code == rule(code).message
    assert routed.sent() == []


@pytest.mark.rule("ROUTE-NOT-DEFINED")
def test_what_the_other_region_cannot_attach_is_a_message_at_the_terminal(routed: Routed) -> None:
    routed["TORREG"].install([define_transaction(name="OFFT", remotesystem="AOR")])
    for transid in ("NOTD", "OFFT", "SAME"):
        assert routed.type(transid).result() is None
    assert [text.split()[0] for text in routed.texts()] == [rule("ROUTE-NOT-DEFINED").message, "DFHAC2008", "DFHAC2016"]
    assert all("AORREG" in text for text in routed.texts())


@pytest.mark.rule("ROUTE-BACK")
def test_a_path_that_comes_back_to_the_terminals_region_abends(routed: Routed) -> None:
    routed["TORREG"].register("BACK", lambda _task: routed.seen.append("ran"))
    assert routed.type("BACK").abend.code == rule("ROUTE-BACK").message
    assert routed.seen == []
    assert routed.two.left() == []


@pytest.mark.rule("ROUTE-ABEND")
def test_the_abend_of_a_routed_task_is_that_of_its_relay(routed: Routed) -> None:
    def program(task: Task) -> None:
        task.writeq_td("AORQ", b"backed out")
        task.abend("OOPS")

    routed.program(program)
    handle = routed.type("PAYM")
    assert handle.abend.code == "OOPS"
    assert routed["AORREG"].peek("AORQ") == []
    assert routed["AORREG"].statistics.abends == routed["TORREG"].statistics.abends == {"OOPS": 1}


def test_a_terminal_of_another_region_is_used_in_that_region(routed: Routed) -> None:
    with pytest.raises(UsageError, match="terminal R001 belongs to system TOR"):
        routed["AORREG"].start(lambda task: task.receive(), terminal="R001")
    with pytest.raises(UsageError, match="terminal R001 belongs to system TOR"):
        routed["AORREG"].set_terminal("R001", servstatus="OUTSERVICE")


def test_a_transaction_of_another_region_without_a_terminal_is_not_run_here(routed: Routed) -> None:
    with pytest.raises(UsageError, match="PAYM has no program"):
        routed["TORREG"].start("PAYM")
    routed.program(lambda task: routed.seen.append(task.eib.eibtrmid))
    handle = routed["TORREG"].start("PAYM", terminal="T001")
    routed.two.run()
    assert handle.result() is None
    assert routed.seen == ["R001"]


# -- what ends meanwhile ----------------------------------------------------------------------------------------------


@pytest.mark.rule("ROUTE-SESSION-FAILED")
@pytest.mark.parametrize("end", ["cut", "purge", "TORREG"])
def test_a_routed_task_whose_session_has_failed_abends_at_its_next_request_for_the_terminal(
    routed: Routed, end: str
) -> None:
    """Also when the link is there again; and what it has changed is backed out."""

    def program(task: Task) -> None:
        task.writeq_td("AORQ", b"backed out")
        task.receive()
        try:
            task.receive()
        except Abend as abend:
            routed.seen.append(abend.code)
        task.send_text(b"late")

    routed.program(program)
    handle = routed.type("PAYM")
    if end == "cut":
        routed.link().cut()
    elif end == "purge":
        routed["TORREG"].purge(handle)
    else:
        routed["TORREG"].close(clean=False)
        routed.two.start("TORREG")
    routed.link().restore()
    routed.two.run()
    code = rule("ROUTE-SESSION-FAILED").message
    assert handle.done
    if end != "TORREG":
        assert handle.abend.code == {"cut": code, "purge": "AEXY"}[end]
    assert routed.seen == [code]
    assert routed["AORREG"].statistics.abends == {code: 1}
    assert routed["AORREG"].peek("AORQ") == []
    assert routed.sent() == []
    assert routed.two.left() == []


@pytest.mark.rule("ROUTE-SESSION-FAILED")
def test_a_relay_whose_region_of_the_transaction_fails_abends_and_frees_the_terminal(routed: Routed) -> None:
    routed.program(lambda task: [task.receive(), task.receive()])
    handle = routed.type("PAYM")
    routed["AORREG"].close(clean=False)
    routed.two.run()
    assert handle.abend.code == rule("ROUTE-SESSION-FAILED").message
    routed["TORREG"].register("HERE", lambda task: routed.seen.append(task.eib.eibtrmid))
    routed.type("HERE")
    assert routed.seen == ["T001"]


@pytest.mark.parametrize("step", ["REQUEST", "REPLY"])
@pytest.mark.parametrize("nth", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_whatever_message_of_a_routed_task_is_lost_its_unit_of_work_is_whole(
    routed: Routed, step: str, nth: int
) -> None:
    """The relay abends, or the user is told; the records of the task are all there, or none."""

    def program(task: Task) -> None:
        for record in (b"one", b"two"):
            task.writeq_td("AORQ", record)
            task.send_text(record)

    routed.program(program)
    routed.link().cut_at(step, nth=nth)
    handle = routed.type("PAYM")
    told = [text for text in routed.texts() if text.startswith("DFHAC2014")]
    assert bool(told) != bool(handle.abend)
    routed.link().restore()
    routed.two.run()
    assert routed["AORREG"].peek("AORQ") in ([], [b"one", b"two"])
    assert routed.two.left() == []
    routed["TORREG"].register("HERE", lambda task: routed.seen.append(task.eib.eibtrmid))
    routed.type("HERE")
    assert routed.seen == ["T001"]


# -- automatic transaction initiation ---------------------------------------------------------------------------------


@pytest.mark.rule("ROUTE-ATI")
def test_a_trigger_for_a_terminal_of_another_region_starts_its_task_there_and_the_cycle_goes_on(routed: Routed) -> None:
    routed.program(trig(routed), "TRIG")
    for record in (b"one", b"two"):
        routed["AORREG"].writeq_td("TRGQ", record)
        routed.two.run()
    assert routed.seen == [("R001", "QD", b"one"), ("R001", "QD", b"two")]
    assert len(routed.sent()) == 2
    assert routed.two.left() == []


@pytest.mark.rule("ROUTE-ATI-QUEUED")
@pytest.mark.parametrize(
    "way", ["cut", "terminal out of service", "terminal has a task", "out of service there", "out of service here"]
)
def test_a_trigger_waits_for_the_link_and_for_the_terminal(routed: Routed, way: str) -> None:
    routed.program(trig(routed), "TRIG")
    name, terminal = ("T3QU", "T003") if way == "terminal out of service" else ("TRGQ", "R001")
    if way == "cut":
        routed.link().cut()
    elif way == "terminal has a task":
        routed["TORREG"].register("HERE", lambda task: [task.receive(), task.receive()])
        routed.type("HERE")
    elif way == "out of service there":
        routed["AORREG"].install([define_connection(name="TOR", netname="TORREG", inservice="NO")])
    elif way == "out of service here":
        routed["TORREG"].install([define_connection(name="AOR", netname="AORREG", inservice="NO")])
    routed["AORREG"].writeq_td(name, b"one")
    routed.two.run()
    assert routed.seen == []
    explained = str(routed["AORREG"].explain(name))
    away = way in ("cut", "out of service there")
    expected = "of its trigger (TRIG) waits for terminal R001 of system TOR" if away else "Its task waits for terminal"
    assert expected in explained
    told = [(each.id, each.resource) for each in routed["AORREG"].notices.lasting]
    assert told == (
        [("TDQ0054", "TDQUEUE(TRGQ)")] if away
        else [("TDQ0023", "TERMINAL(R001)")] if way == "out of service here"
        else []
    )  # fmt: skip
    if way == "cut":
        routed.link().restore()
    elif way == "terminal out of service":
        routed["TORREG"].set_terminal("T003", servstatus="INSERVICE")
    elif way == "terminal has a task":
        routed.type("over")
    elif way == "out of service here":
        routed["TORREG"].install([define_connection(name="AOR", netname="AORREG")])
    else:
        routed["AORREG"].install([define_connection(name="TOR", netname="TORREG")])
    routed.two.run()
    assert routed.seen == [(terminal, "QD", b"one")]
    assert routed["AORREG"].notices.lasting == ()


@pytest.mark.rule("ROUTE-ATI-TRANSACTION", "ROUTE-ATI-TERMINAL")
@pytest.mark.parametrize(("name", "row"), [("STRQ", "ROUTE-ATI-TRANSACTION"), ("T9QU", "ROUTE-ATI-TERMINAL")])
def test_a_trigger_that_the_other_region_refuses_is_a_message_and_the_cycle_stays_on(
    routed: Routed, name: str, row: str
) -> None:
    routed.listen()
    routed.program(trig(routed), "TRIG", "STRT")
    routed["AORREG"].writeq_td(name, b"one")
    routed.two.run()
    assert routed.seen == []
    assert routed.messages("AORREG") == [rule(row).message]
    assert routed.messages("TORREG") == (["DFHCR4310"] if name == "STRQ" else [])
    routed["AORREG"].writeq_td(name, b"two")
    routed.two.run()
    assert routed.messages("AORREG") == [rule(row).message]
    told = [(each.id, each.resource) for each in routed["AORREG"].notices.lasting]
    assert told == [(rule(row).message, f"TDQUEUE({name})")]
    assert "No task of " in str(routed["AORREG"].explain(name))


@pytest.mark.rule("ROUTE-ATI-START")
def test_start_at_a_terminal_of_another_region_and_retrieve(routed: Routed) -> None:
    """Issued where the transaction is, or where the terminal is; RETRIEVE gives the data of all that have expired."""
    routed["TORREG"].install([define_transaction(name="STRT", remotesystem="AOR")])

    def program(task: Task) -> None:
        task.retrieve(wait=False) if not routed.seen else None
        got = []
        while (data := task.retrieve(nohandle=True)) and task.eib.eibresp is Resp.NORMAL:
            got.append(data)
        routed.seen.append((task.eib.eibtrmid, task.assign("STARTCODE"), got))

    routed.program(program, "STRT")
    routed["TORREG"].register("HERE", lambda task: [task.receive(), task.receive()])
    routed.type("HERE")

    def starter(task: Task) -> None:
        for data in (b"one", b"two", b"three"):
            task.start("STRT", data, termid="R001")

    routed["AORREG"].start(starter)
    routed["TORREG"].start(lambda task: task.start("STRT", b"four", termid="R001"))
    routed.two.run()
    assert routed.seen == []
    routed.type("over")
    assert routed.seen == [("R001", "SD", [b"two", b"three", b"four"])]
    assert routed.two.left() == []
    assert routed["TORREG"].start("STRT", terminal="T002").abend is None


def test_more_requests_for_a_terminal_than_are_asked_for_at_once_are_all_done(routed: Routed, monkeypatch) -> None:
    monkeypatch.setattr("tdqsim.cics.terminal.routing._MOST", 2)
    routed.program(lambda task: routed.seen.append(task.eib.eibtrmid), "STRT")
    routed["TORREG"].install([define_transaction(name="STRT", remotesystem="AOR")])
    for count, total in ((1, 1), (7, 8)):
        routed["AORREG"].start(lambda task, count=count: [task.start("STRT", termid="R001") for _ in range(count)])
        routed.two.run()
        assert routed.seen == ["R001"] * total
        assert routed["TORREG"].extract_statistics("STRT", transaction=True)["attaches"] == total
    assert routed.two.left() == []


def test_a_start_at_a_terminal_that_its_region_does_not_know_does_not_come_back(routed: Routed) -> None:
    routed.listen()
    routed["AORREG"].start(lambda task: task.start("TRIG", b"data", termid="T009"))
    routed.two.run()
    assert routed.messages("AORREG") == ["DFHCR4301"]
    routed["AORREG"].close()
    routed.two.start("AORREG")
    routed.listen()
    routed.program(routed.seen.append, "TRIG")  # what is due waits for it
    routed.two.run()
    assert (routed.messages("AORREG"), routed.seen) == ([], [])


@pytest.mark.rule("ROUTE-ATI-ONCE")
@pytest.mark.parametrize("end", ["cut", "TORREG", "AORREG"])
@pytest.mark.parametrize(
    ("step", "nth"),
    [
        ("REQUEST", 2),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in itertools.product(("REQUEST", "REPLY"), range(1, 7))),
    ],
)
def test_a_trigger_is_neither_lost_nor_repeated_whatever_message_is_lost(
    routed: Routed, step: str, nth: int, end: str
) -> None:
    """The program reads one record and commits, so each record is there once: on the queue, or seen."""
    done: list[bytes] = []

    def program(task: Task) -> None:
        record = task.readq_td("TRGQ", nohandle=True)
        if task.eib.eibresp is Resp.NORMAL:
            task.send_text(record)
            task.syncpoint()
            done.append(record)

    routed.program(program, "TRIG")
    at = nth

    def fault(message: str) -> None:
        nonlocal at
        at -= message == step
        if at == 0:
            at = -1
            routed.two[end].close(clean=False) if end != "cut" else routed.link().cut()

    routed.link().fault = fault
    with suppress(*((RegionClosed, KeyError) if end == "AORREG" else ())):  # AORREG issues the commands
        routed["AORREG"].writeq_td("TRGQ", b"one")
        routed.two.run()
        routed["AORREG"].writeq_td("TRGQ", b"two")
        routed.two.run()
    for applid in ("TORREG", "AORREG"):
        if applid not in routed.two.sysplex.regions:
            routed.two.start(applid)
    routed["AORREG"].register("TRIG", program)
    routed.link().fault = None
    routed.link().restore()
    routed.two.run()
    left = routed["AORREG"].peek("TRGQ")
    assert len({*left, *done}) == len([*left, *done])
    assert b"one" in [*left, *done]
    with routed["AORREG"].task() as task:
        for record in routed["AORREG"].peek("TRGQ"):
            assert task.readq_td("TRGQ") == record  # none is locked by a unit of work that is half done
    assert routed.two.left() == []


# -- through a third region -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "network"])
@pytest.mark.rule("ROUTE-ATI", "ROUTE-STATIC")
def test_a_transaction_is_routed_through_a_region_in_between(tmp_path: Path, *, at_once: bool) -> None:
    """Also one that a trigger has started; the names of terminal and transaction may differ everywhere."""
    three = Complex(
        tmp_path,
        ("TORREG", "TOR", [
            define_connection(name="MID"), define_terminal(name="T001"),
            define_transaction(name="PAYA", remotesystem="MID", remotename="PAYB"),
        ]),
        ("MID", "MID", [
            define_connection(name="TOR", netname="TORREG"), define_connection(name="AOR", netname="AORREG"),
            define_terminal(name="M001", remotesystem="TOR", remotename="T001"),
            define_transaction(name="PAYB", remotesystem="AOR", remotename="PAYC"),
        ]),
        ("AORREG", "AOR", [
            define_connection(name="MID"), define_terminal(name="R001", remotesystem="MID", remotename="M001"),
            define_transaction(name="PAYC"), define_tdqueue(name="TRGQ", transid="PAYC", facilityid="R001", **ATI),
        ]),
        at_once=at_once,
    )  # fmt: skip
    seen = []

    def program(task: Task) -> None:
        record = task.readq_td("TRGQ", nohandle=True)
        typed = record or task.receive()
        seen.append((task.transid, task.eib.eibtrmid, task.assign("STARTCODE")))
        task.send_text(typed)
        task.receive()
        task.return_(transid="PAYA", commarea=b"area")

    try:
        three["AORREG"].register("PAYC", program)
        screens = three["TORREG"].screens
        for begin in (lambda: screens.type("T001", "PAYA"), lambda: three["AORREG"].writeq_td("TRGQ", b"\xc1")):
            begin()
            three.run()
            screens.type("T001", "more")
            three.run()
        screen = screens.screen("T001")
        assert seen == [("PAYC", "R001", "TD"), ("PAYC", "R001", "QD")]
        assert [each.text for each in screen.sent] == ["PAYA", "A"]
        assert (screen.next_transid, screen.next_commarea) == ("PAYA", b"area")
        screens.type("T001", "again")
        three.run()
        three.link("MID", "AORREG").cut()
        three.run()
        assert three["TORREG"].statistics.abends == three["MID"].statistics.abends == {"AZI6": 1}
        assert three.left() == []
    finally:
        three.sysplex.close()


# -- what comes over a link is not trusted ----------------------------------------------------------------------------


UNREADABLE = [
    ("ROUTE", "PAYX", b""), ("ROUTE", "PAYX", b"\0\0\0\2{}"), ("TERMINAL SEND", "1", b"[]"),
    ("TERMINAL RECEIVE", "99", b""), ("SCHEDULE", "T001", b"[]"), ("SCHEDULE", "T001", b'["TRIG",0]'),
    ("SCHEDULE", "T001", b"[" * 5000), ("SCHEDULE", "T001", b'["TRIG",1000000]'),
]  # fmt: skip


def test_a_request_that_cannot_be_read_is_refused(routed: Routed) -> None:
    def send(task: Task, command: Any, name: str, data: bytes) -> Resp:
        link = task.region._core.links["TOR"]
        if command == "ROUTE":
            ship = partial(link.ship_link, task, name, data, apart=True, command=command)
        else:
            ship = partial(link.ship, task, command, name, data=data)
        with pytest.raises(Condition) as refused:
            ship()
        return refused.value.resp

    handle = routed["AORREG"].start(lambda task: {send(task, *each) for each in UNREADABLE})
    routed.two.run()
    assert handle.result() == {Resp.ISCINVREQ, Resp.INVREQ}
    assert routed.two.left() == []


SHOWN = [["SEND", "", "", "text"], {"A": "1"}, [["A", "C", "c8"]], 3, ["ERASE"]]


@pytest.mark.parametrize(
    ("at", "value"),
    [(None, None), (0, ["SEND"]), (1, {"A": 1}), (2, [["A", "C", "x"]]), (2, [["A"]]), (3, "3"), (4, [1])],
)
def test_only_a_whole_output_of_a_routed_task_is_shown(at: int | None, value: Any) -> None:
    from tdqsim.cics.terminal import Screen
    from tdqsim.cics.terminal.surrogate import read_input, serve_terminal

    screen = Screen("T001")
    form = [value if number == at else each for number, each in enumerate(SHOWN)]
    if at is None:
        serve_terminal(None, screen, "TERMINAL SEND", json.dumps(form).encode())  # type: ignore[arg-type]
        assert screen.last == Sent("SEND", "", "", {"A": "1"}, {("A", "C"): b"\xc8"}, "text", 3, ("ERASE",))
        return
    with pytest.raises(Condition, match="cannot be read"):
        serve_terminal(None, screen, "TERMINAL SEND", json.dumps(form).encode())  # type: ignore[arg-type]
    assert screen.sent == []
    with pytest.raises(Condition, match="cannot be read"):
        read_input(["ENTER", "text", {"A": 1}, 0])


def test_dtimout_does_not_end_the_wait_of_a_relay_for_the_user_of_its_terminal() -> None:
    """The user may think for an hour: DTIMOUT(5) is the limit of waits inside one command of a program."""
    here = [
        define_terminal(name="T001"),
        define_connection(name="AOR", netname="AORREG"),
        define_transaction(name="PAYX", remotesystem="AOR", dtimout="5"),
    ]
    there = [define_connection(name="TOR", netname="TORREG"), define_transaction(name="PAYX")]
    seen = []

    def program(task: Task) -> None:
        task.receive()
        seen.append(task.text(task.receive()))

    with Sysplex(at_once=False) as sysplex:
        owner = sysplex.region(here, applid="TORREG", sysid="TOR")
        sysplex.region(there, applid="AORREG", sysid="AOR").register("PAYX", program)
        handle = owner.screens.type("T001", "PAYX")
        sysplex.dispatcher.run_ready()
        sysplex.clock.advance(3600)
        sysplex.dispatcher.run_ready()
        assert not handle.done
        owner.screens.type("T001", "here I am")
        sysplex.run()
        assert (handle.exception, seen) == (None, ["here I am"])
