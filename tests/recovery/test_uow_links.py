"""INQUIRE UOWLINK: which connections units of work use, in which role, and how those connections stand."""

from __future__ import annotations

import pytest

from tdqsim.cics import Condition, Region, Sysplex
from tdqsim.core.engine import Engine
from tdqsim.definitions import define_connection, define_tdqueue
from tests.recovery.complexes import Complex, remote
from tests.recovery.helpers import WRITEQ, again, make, outcome, prepared, queue
from tests.rules import expect_rule, rule


class Two:
    """A region with a remote queue, and the one that has it."""

    def __init__(self, directory):
        self.directory = directory
        self.sysplex = Sysplex()
        self.near = self.start("NEAR")
        self.far = self.start("FAR")

    def start(self, applid):
        definitions = {
            "NEAR": [define_tdqueue(name="REMQ", remotesystem="FARR"), define_connection(name="FARR", netname="FAR")],
            "FAR": [queue("REMQ")],
        }[applid]
        region = make(
            *definitions, applid=applid, sysid=applid, store=self.directory / applid, dispatcher=self.sysplex.dispatcher
        )
        return self.sysplex.add(region)

    @property
    def link(self):
        return self.sysplex.link("NEAR", "FAR")


@pytest.fixture
def two(tmp_path):
    made = Two(tmp_path)
    yield made
    made.sysplex.close()


def links(region, uow=None):
    """What a browse shows, CVDAs by name and text without blanks."""
    found = []
    with region.task() as task:
        task.inquire_uowlink_start(uow)
        while info := task.inquire_uowlink_next(nohandle=True):
            found.append(info.as_dict(plain=True))
        task.inquire_uowlink_end()
    return found


def shown(info):
    return " ".join(info[option] for option in ("TYPE", "PROTOCOL", "RESYNCSTATUS"))


def units(region):
    """What a browse of units of work shows, CVDAs by name and text without blanks."""
    found = []
    with region.task() as task:
        task.inquire_uow_start()
        while info := task.inquire_uow_next(nohandle=True):
            found.append(info.as_dict(plain=True))
        task.inquire_uow_end()
    return found


@pytest.mark.rule("UOW-NETUOWID", "UOW-NO-CAUSE")
def test_both_parts_have_one_network_wide_name_and_wait_for_nothing(two):
    with two.near.task() as task:
        task.writeq_td("REMQ", b"one")
        (here,), (there,) = units(two.near), units(two.far)
        assert here["UOW"] != there["UOW"]
        assert here["NETUOWID"] == there["NETUOWID"]
        assert {each["NETUOWID"] for each in (*links(two.near), *links(two.far))} == {here["NETUOWID"]}
        for each in (here, there):
            assert (each["WAITCAUSE"], each["LINK"], each["NETNAME"], each["SYSID"]) == ("NOTAPPLIC", "", "", "")
        two.far.inquire_uowenq_start()
        assert two.far.inquire_uowenq_next().netuowid.rstrip() == here["NETUOWID"]
        two.far.inquire_uowenq_end()


def waits(region):
    """What each task waits for."""
    found = {}
    for number in region.inquire_task_list().set:
        shown = region.inquire_task(number).as_dict(plain=True)
        found[shown["TRANSACTION"]] = (shown["RUNSTATUS"], shown["SUSPENDTYPE"], shown["SUSPENDVALUE"])
    return found


@pytest.mark.rule("TASK-IRLINK", "SET-TASK-OUTSIDE")
def test_a_task_waits_for_its_mirror_and_the_mirror_for_its_task(two):
    irlink = rule("TASK-IRLINK").message
    with two.far.task(transid="OWNR") as owner:
        owner.writeq_td("REMQ", b"theirs")
        handle = two.near.start(lambda task: task.writeq_td("REMQ", b"mine"))
        two.near.run()
        assert waits(two.near) == {"PROG": ("SUSPENDED", irlink, "FARR")}
        assert waits(two.far)["CSMI"][:2] == ("SUSPENDED", "ENQUEUE")
    handle.result()
    with two.near.task() as task:
        task.writeq_td("REMQ", b"from outside")
        assert waits(two.far) == {"CSMI": ("SUSPENDED", irlink, "NEAR")}
    two.near.start(lambda task: task.writeq_td("REMQ", b"again") or task.delay(seconds=5))
    two.near.dispatcher.run_ready()
    assert waits(two.near) == {"PROG": ("SUSPENDED", "ICWAIT", "")}
    assert waits(two.far) == {"CSMI": ("SUSPENDED", irlink, "NEAR")}
    (mirror,) = two.far.inquire_task_list().set
    expect_rule("SET-TASK-OUTSIDE", two.far.set_task, mirror, purgetype="PURGE")  # it is not the requester who is meant
    two.near.run()
    assert waits(two.near) == waits(two.far) == {}


@pytest.mark.rule("TASK-IRLINK")
@pytest.mark.parametrize("step", ["PREPARE", "VOTE", "COMMIT", "COMMITTED"])
def test_a_task_in_its_syncpoint_waits_for_the_other_region(two, step):
    def program(task):
        task.writeq_td("REMQ", b"theirs")

    two.near.start(program)
    two.link.delay_at(step)
    two.near.dispatcher.run_ready()
    assert waits(two.near) == {"PROG": ("SUSPENDED", rule("TASK-IRLINK").message, "FARR")}
    two.link.release()
    two.near.run()
    assert waits(two.near) == {}


def test_a_task_that_somebody_has_in_a_thread_of_the_engine_is_no_mirror():
    """So has CEMT over the network: it runs, and waits for no other region."""
    with Engine() as engine:
        region = engine.make(Region, [], supplied_queues=False)

        def look():
            with region.task(transid="MINE"):
                return waits(region)

        assert engine.submit(look).result(300) == {"MINE": ("RUNNING", "", "")}


def test_a_task_that_waits_in_another_region_can_be_purged(two):
    with two.far.task() as owner:
        owner.writeq_td("REMQ", b"theirs")
        handle = two.near.start(lambda task: task.writeq_td("REMQ", b"mine"))
        two.near.run()
        (number,) = two.near.inquire_task_list(suspended=True).set
        two.near.set_task(number, purgetype="PURGE")
        assert outcome(handle.result) == "AEXY"
        assert waits(two.far).keys() == {"TEST"}  # the mirror is gone too
    assert two.far.peek("REMQ") == [b"theirs"]


@pytest.mark.rule("UOWLINK-ROLES", "UOWLINK-REGION")
def test_both_ends_of_a_distributed_unit_of_work(two):
    with two.near.task() as task:
        task.writeq_td("REMQ", b"one")
        (here,), (there,) = links(two.near), links(two.far)
        assert " ".join((here["ROLE"], there["ROLE"])) == rule("UOWLINK-ROLES").message
        assert shown(here) == shown(there) == rule("UOWLINK-REGION").message
        assert (here["LINK"], here["SYSID"], here["UOW"]) == ("FAR", "FARR", task._uow.id.ljust(16, b"\0"))
        assert (there["LINK"], there["SYSID"]) == ("NEAR", "NEAR")
        assert (here["HOST"], here["PORT"], here["RMIQFY"], here["URID"]) == ("", 0, "", "")
        assert here["XID"] == here["BRANCHQUAL"] == bytes(64)
        (unit,) = two.far.recovery.units.values()
        assert there["UOW"] == unit.id.ljust(16, b"\0")
    assert links(two.near) == links(two.far) == []


def test_a_unit_of_work_without_others_has_no_link(two):
    with two.far.task() as task:
        task.writeq_td("REMQ", b"one")
        assert links(two.far) == []


@pytest.mark.rule("UOWLINK-UNAVAILABLE")
@pytest.mark.parametrize("restarted", [False, True], ids=["", "after a restart"])
def test_the_link_of_a_unit_of_work_in_doubt(two, restarted):
    two.link.cut_at("VOTE")
    with pytest.raises(Condition, match="ROLLEDBACK"):
        two.near.writeq_td("REMQ", b"one")
    region = two.far
    before = links(region)
    if restarted:
        region.close(clean=False)
        two.near.close()
        region = two.start("FAR")
    (info,) = links(region)
    assert info["ROLE"] == "COORDINATOR"
    assert info["RESYNCSTATUS"] == ("UNCONNECTED" if restarted else rule("UOWLINK-UNAVAILABLE").message)
    assert info["UOWLINK"] == before[0]["UOWLINK"]
    assert region.inquire_uowlink(info["UOWLINK"], "UOW").uow == info["UOW"]


def test_a_restarted_region_in_the_middle_still_has_those_who_took_part_and_nobody_else(tmp_path):
    others = [define_connection(name="FAR"), define_connection(name="OTHR")]
    made = Complex(
        tmp_path,
        ("NEAR", "NEAR", [remote("REMQ", "MID"), define_connection(name="MID")]),
        ("MID", "MID", [remote("REMQ", "FAR", "FARQ"), queue("MIDQ"), *others]),
        ("FAR", "FAR", [queue("FARQ")]),
        ("OTHR", "OTHR", [queue("ELSE")]),
    )
    made.link("NEAR", "MID").cut_at("COMMIT")
    assert outcome(made["NEAR"].writeq_td, "REMQ", b"one") is None
    assert made.in_doubt() == {"MID"}
    made["NEAR"].close()
    made.again("MID")
    found = {(info["LINK"], info["ROLE"]) for info in links(made["MID"])}
    assert found == {("NEAR", "COORDINATOR"), ("FAR", "SUBORDINATE")}
    made.sysplex.close()


@pytest.mark.rule("UOWLINK-UNHEARD")
@pytest.mark.parametrize("restarted", [False, True], ids=["", "after a restart"])
def test_a_decision_that_was_not_heard_has_its_link(two, restarted):
    two.link.cut_at("COMMIT")
    two.near.writeq_td("REMQ", b"one")
    region = two.near
    if restarted:
        region.close(clean=False)
        two.far.close()
        region = two.start("NEAR")
    (info,) = links(region)
    assert (info["ROLE"], info["LINK"], info["SYSID"], info["RESYNCSTATUS"]) == (
        "SUBORDINATE", "FAR", "FARR", "UNAVAILABLE",
    )  # fmt: skip
    if not restarted:
        two.link.restore()
        assert links(two.near) == links(two.far) == []


@pytest.mark.rule("UOWLINK-OUTSIDE")
@pytest.mark.parametrize("restarted", [False, True], ids=["", "after a restart"])
def test_a_coordinator_outside_cics(tmp_path, restarted):
    region = make(queue("LOGQ"), store=tmp_path / "store")
    branch = prepared(region, (WRITEQ, "LOGQ"), name="TRANSACTION-1")
    branch.lose_coordinator()
    if restarted:
        region = again(region, tmp_path / "store")
    (info,) = links(region)
    assert shown(info) == rule("UOWLINK-OUTSIDE").message
    assert (info["ROLE"], info["LINK"], info["SYSID"]) == ("COORDINATOR", "TRANSACT", "")
    assert info["XID"].rstrip(b"\0") == b"TRANSACTION-1"
    region.recovery.branch("TRANSACTION-1").commit()
    assert links(region) == []
    region.close()


@pytest.mark.rule("UOWLINK-FILTER", "UOWLINK-NOT-FOUND", "UOWLINK-UOW-NOT-FOUND")
def test_one_link_and_the_links_of_one_unit_of_work(tmp_path):
    with make(queue("LOGQ"), queue("LOG2"), store=tmp_path / "store") as region:
        one = prepared(region, (WRITEQ, "LOGQ"), name="ONE")
        other = prepared(region, (WRITEQ, "LOG2"), name="OTHER")
        tokens = [info["UOWLINK"] for info in links(region)]
        assert len(set(tokens)) == 2
        (chosen,) = links(region, other.uow.id)
        assert chosen["LINK"] == "OTHER"
        info = region.inquire_uowlink(tokens[0])
        assert info.link == "ONE".ljust(8)
        assert info.netuowid.rstrip().endswith(one.uow.id.hex().upper())
        expect_rule("UOWLINK-NOT-FOUND", region.inquire_uowlink, b"\0\0\0\0")
        expect_rule("UOWLINK-UOW-NOT-FOUND", region.inquire_uowlink_start, bytes(16))


def test_as_text(two):
    with two.near.task() as task:
        task.writeq_td("REMQ", b"one")
        host = {}
        task.execute("INQUIRE UOWLINK START")
        task.execute("INQUIRE UOWLINK(TOKEN) NEXT ROLE(R) LINK(L) RESYNCSTATUS(S)", host)
        task.execute("INQUIRE UOWLINK END")
        task.execute("INQUIRE UOWLINK(TOKEN) SYSID(NAME) TYPE(T)", host)
        assert (host["L"].rstrip(), host["NAME"], len(host["TOKEN"])) == ("FAR", "FARR", 4)
        assert [value.name for value in (host["R"], host["S"], host["T"])] == ["SUBORDINATE", "OK", "CONNECTION"]


# -- SET UOWLINK ------------------------------------------------------------------------------------------------------


@pytest.mark.rule("SET-UOWLINK-INDOUBT", "SET-UOWLINK-COORDINATOR", "SET-UOWLINK-NOT-FOUND")
@pytest.mark.parametrize("restarted", [False, True], ids=["", "after a restart"])
def test_the_link_to_a_coordinator_that_is_gone_for_good(two, restarted):
    two.link.cut_at("VOTE")
    with pytest.raises(Condition, match="ROLLEDBACK"):
        two.near.writeq_td("REMQ", b"one")
    two.far.close(clean=False)
    two.near.close()
    region = two.start("FAR")  # which has no connection to the other any more
    (link,) = links(region)
    expect_rule("SET-UOWLINK-INDOUBT", region.set_uowlink, link["UOWLINK"])
    region.set_uow(link["UOW"], uowstate="BACKOUT")
    if restarted:
        region.close(clean=False)
        region = two.start("FAR")
    (unit,) = units(region)
    assert (unit["UOWSTATE"], unit["WAITSTATE"]) == ("HEURBACKOUT", "WAITING")
    region.set_uowlink(link["UOWLINK"], action="DELETE")
    assert links(region) == units(region) == []
    expect_rule("SET-UOWLINK-NOT-FOUND", region.set_uowlink, link["UOWLINK"])


@pytest.mark.rule("SET-UOWLINK-SUBORDINATE")
def test_the_link_to_a_region_that_will_never_hear_the_decision(two):
    two.link.cut_at("COMMIT")
    two.near.writeq_td("REMQ", b"one")
    two.near.close(clean=False)
    with make(store=two.directory / "NEAR", applid="NEAR", sysid="NEAR", start="COLD") as near:  # without a connection
        (link,), (unit,) = links(near), units(near)
        assert (unit["UOWSTATE"], unit["WAITCAUSE"], link["RESYNCSTATUS"]) == ("COMMIT", "WAITFORGET", "UNCONNECTED")
        near.execute("SET UOWLINK(L) DELETE", {"L": link["UOWLINK"]})
        assert links(near) == units(near) == []


@pytest.mark.rule("SET-UOWLINK-ACTIVE", "SET-UOWLINK-CONNECTED", "SET-UOWLINK-BAD-CVDA")
def test_what_set_uowlink_refuses(two):
    with two.near.task() as task:
        task.writeq_td("REMQ", b"one")
        for region in (two.near, two.far):
            (link,) = links(region)
            expect_rule("SET-UOWLINK-BAD-CVDA", region.set_uowlink, link["UOWLINK"], action="COMMIT")
            expect_rule("SET-UOWLINK-ACTIVE", region.set_uowlink, link["UOWLINK"])
    two.link.cut_at("COMMIT")
    two.near.writeq_td("REMQ", b"two")
    (link,) = links(two.near)
    expect_rule("SET-UOWLINK-CONNECTED", two.near.set_uowlink, link["UOWLINK"])
    (link,) = links(two.far)
    expect_rule("SET-UOWLINK-INDOUBT", two.far.set_uowlink, link["UOWLINK"])
    two.far.set_uow(link["UOW"], uowstate="COMMIT")
    expect_rule("SET-UOWLINK-CONNECTED", two.far.set_uowlink, link["UOWLINK"])
