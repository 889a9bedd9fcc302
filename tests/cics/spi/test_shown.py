"""INQUIRE FILE, TRANSACTION, CONNECTION and ENQ show what a definition or command has set, and END ends a browse.

Each value differs from its default, so that an option which shows another attribute, or none, is noticed.
"""

from __future__ import annotations

import pytest

from tdqsim import Condition, Cvda, Region, Sysplex
from tdqsim.definitions import (
    define_connection,
    define_file,
    define_tdqueue,
    define_terminal,
    define_transaction,
)
from tdqsim.facts import Resp
from tests.cics.spi.helpers import condition

FILE = {
    "ACCESSMETHOD": Cvda.VSAM,
    "ADD": Cvda.ADDABLE,
    "BROWSE": Cvda.NOTBROWSABLE,
    "DELETE": Cvda.DELETABLE,
    "DSNAME": "PROD.ACCT",
    "KEYLENGTH": 2,
    "KEYPOSITION": 3,
    "READ": Cvda.NOTREADABLE,
    "RECORDFORMAT": Cvda.FIXED,
    "RECORDSIZE": 20,
    "RECOVSTATUS": Cvda.RECOVERABLE,
    "UPDATE": Cvda.UPDATABLE,
}
TRANSACTION = {
    "CMDSEC": Cvda.CMDSECYES,
    "DTIMEOUT": 70,
    "PROGRAM": "PAYPROG",
    "REMOTESYSTEM": "CICB",
    "RESSEC": Cvda.RESSECYES,
    "STATUS": Cvda.DISABLED,
}
ACCT = define_file(
    name="ACCT", dsname="PROD.ACCT", add="YES", browse="NO", delete="YES", read="NO", update="YES", keylength=2,
    keyposition=3, recordsize=20, recordformat="F", recovery="BACKOUTONLY",
)  # fmt: skip
PAYP = define_transaction(
    name="PAYP", program="PAYPROG", remotesystem="CICB", cmdsec="YES", ressec="YES", status="DISABLED", dtimout=110,
)  # fmt: skip


def plain(value):
    return value.rstrip() if isinstance(value, str) else value


@pytest.fixture
def shown():
    with Region([ACCT, PAYP, define_connection(name="CICB", netname="CICSB")], supplied_queues=False) as region:
        yield region


@pytest.mark.parametrize("option", FILE)
def test_inquire_file_shows_its_definition(shown, option):
    with shown.task() as task:
        assert plain(task.inquire_file("ACCT", option)[option]) == FILE[option]
        task.inquire_file_start()
        info = task.inquire_file_next(option)
        task.inquire_file_end()
        assert (plain(info.file), plain(info[option])) == ("ACCT", FILE[option])


@pytest.mark.parametrize("option", TRANSACTION)
def test_inquire_transaction_shows_its_definition(shown, option):
    with shown.task() as task:
        assert plain(task.inquire_transaction("PAYP", option)[option]) == TRANSACTION[option]
        task.inquire_transaction_start(at="PAYP")
        info = task.inquire_transaction_next(option)
        task.inquire_transaction_end()
        assert (plain(info.transaction), plain(info[option])) == ("PAYP", TRANSACTION[option])


@pytest.mark.parametrize("resource", ["file", "transaction", "connection", "tdqueue", "enq", "uowenq", "uow"])
def test_end_ends_a_browse_and_the_next_one_begins_at_the_first(shown, resource):
    with shown.task() as task:
        start, end = (getattr(task, f"inquire_{resource}_{verb}") for verb in ("start", "end"))
        start()
        assert condition(start) == (Resp.ILLOGIC, 1)
        end()
        assert condition(end)[0] is Resp.ILLOGIC
        start()
        end()


def test_a_browse_of_connections_ends():
    with Sysplex() as plex:
        near = plex.region([define_connection(name="CICB", netname="CICSB")], applid="CICSA", sysid="CICA")
        with near.task() as task:
            task.inquire_connection_start()
            assert plain(task.inquire_connection_next("NETNAME").netname) == "CICSB"
            assert condition(task.inquire_connection_next) == (Resp.END, 2)


def test_a_browse_of_enqueues_is_of_the_name_and_its_length(shown):
    with shown.task() as task:
        for name in ("NAME", "NAMES", "OTHER"):
            task.enq(name)
        task.inquire_enq_start(resource="NAMES", reslen=4)
        found = task.inquire_enq_next("RESOURCE", "UOW")
        assert plain(found.resource) == "NAME"
        task.inquire_enq_end()
        task.inquire_enq_start(resource="OTHER", enqscope="SYSP")  # every enqueue is local here
        assert condition(task.inquire_enq_next) == (Resp.END, 2)
        task.inquire_enq_end()
        task.inquire_enq_start(resource="OTHER")
        assert plain(task.inquire_enq_next("RESOURCE").resource) == "OTHER"
        with pytest.raises(Condition, match="END"):
            task.inquire_enq_next("RESOURCE")
        task.inquire_enq_end()
        uow = task.inquire_uow(found.uow, "TASKID")
        assert uow.taskid == task.number


@pytest.mark.parametrize(
    ("option", "attributes", "value"),
    [
        ("DATABUFFERS", {"type": "EXTRA", "databuffers": 3, "opentime": "DEFERRED"}, 3),
        ("INDOUBTWAIT", {"type": "INTRA", "recovstatus": "LOGICAL", "wait": "NO"}, Cvda.NOWAIT),
    ],
    ids=["databuffers", "wait"],
)
def test_inquire_tdqueue_shows_its_definition(option, attributes, value):
    with Region([define_tdqueue(name="PAYQ", **attributes)], supplied_queues=False) as region:
        assert region.inquire_tdqueue("PAYQ", option)[option] == value


def test_a_connection_out_of_service_is_released_and_refuses_requests():
    with Sysplex() as plex:
        far = define_connection(name="CICB", netname="CICSB", inservice="NO")
        near = plex.region([far, define_tdqueue(name="REMQ", remotesystem="CICB")], applid="CICSA", sysid="CICA")
        plex.region([define_connection(name="CICA", netname="CICSA")], applid="CICSB", sysid="CICB")
        info = near.inquire_connection("CICB", "SERVSTATUS", "CONNSTATUS")
        assert (info.servstatus, info.connstatus) == (Cvda.OUTSERVICE, Cvda.RELEASED)
        assert condition(near.writeq_td, "REMQ", b"x")[0] is Resp.SYSIDERR


@pytest.mark.parametrize(("inservice", "runs"), [("YES", 1), ("NO", 0)])
def test_a_task_for_a_terminal_out_of_service_waits(inservice, runs):
    ran = []
    definitions = [
        define_terminal(name="T001", inservice=inservice),
        define_transaction(name="PAYP"),
        define_tdqueue(name="T001", type="INTRA", transid="PAYP", triggerlevel=1),
    ]
    with Region(definitions, handlers={"PAYP": lambda task: ran.append(task.readq_td("T001"))}) as region:
        region.writeq_td("T001", b"x")
        region.run()
        assert len(ran) == runs


def test_unique_keys_of_a_path_are_refused_twice():
    base = define_file(
        name="ACCT", dsname="PROD.ACCT", add="YES", keylength=2, recordsize=20
    )  # fmt: skip
    path = define_file(
        name="CITY", dsname="PROD.CITY", relate="PROD.ACCT", browse="YES", keylength=4, keyposition=2, uniquekey="YES"
    )
    with Region([base, path]) as region, region.task() as task:
        task.inquire_file("CITY")
        assert condition(task.startbr, "CITY", bytes(4)) == (Resp.NOTFND, 80)  # the path opens its data set
        task.write_file("ACCT", b"A1ROMA", b"A1")
        assert condition(task.write_file, "ACCT", b"A2ROMA", b"A2") == (Resp.DUPREC, 150)


ASSIGNED = {
    "APPLID": "CICSA", "SYSID": "CICA", "USERID": "CICSUSER", "PROGRAM": "PAYPROG", "STARTCODE": "TD", "FCI": b"\1",
    "FACILITY": "T001", "NETNAME": "LUNAME", "PRINSYSID": "CICA", "OPID": "CIC", "TASKPRIORITY": 7, "TRANPRIORITY": 7,
    "LINKLEVEL": 1, "USERNAME": "CICSUSER", "RESTART": b"\0", "CWALENG": 0, "TWALENG": 120, "SCRNHT": 24, "SCRNWD": 80,
    "NEXTTRANSID": "", "TERMCODE": b"\x91\x02", "TCTUALENG": 0, "COLOR": b"\xff", "EXTDS": b"\xff", "HILIGHT": b"\xff",
}  # fmt: skip


@pytest.mark.parametrize("option", ASSIGNED)
def test_what_assign_gives_a_task_at_a_terminal(option):
    got = {}
    definitions = [
        define_terminal(name="T001", netname="LUNAME"),
        define_transaction(name="PAYP", program="PAYPROG", priority=7, twasize=120),
    ]
    with Region(definitions, applid="CICSA", sysid="CICA") as region:
        region.register("PAYP", lambda task: task.execute(f"ASSIGN {option}(VALUE)", got))
        region.screens.type("T001", "PAYP")
        region.run()
    assert plain(got["VALUE"]) == ASSIGNED[option]
