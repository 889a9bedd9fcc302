"""INQUIRE FILE, TRANSACTION, CONNECTION and ENQ show what a definition or command has set, and END ends a browse.

Each value differs from its default, so that an option which shows another attribute, or none, is noticed.
"""

from __future__ import annotations

import pytest

from tdqsim import Condition, Cvda, Region, Sysplex
from tdqsim.definitions import define_connection, define_file, define_transaction
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
