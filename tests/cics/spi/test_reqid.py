"""INQUIRE REQID: the STARTs, DELAYs and POSTs that wait for their time."""

from __future__ import annotations

import pytest

from tdqsim import Condition, Cvda, Region, SecurityOptions, define_terminal, define_transaction
from tdqsim.cics import AccessList
from tdqsim.testing import StillClock
from tests.cics.spi.helpers import condition
from tests.rules import expect_rule

ELEVEN = 1_772_492_400_000_000_000  # 2026-03-02 23:00 UTC


def start(reg, **options):
    with reg.task() as task:
        task.start("PAYP", **options)


def inquire(reg, name):
    with reg.task() as task:
        return task.inquire_reqid(name)


@pytest.fixture
def reg():
    definitions = [define_transaction(name="PAYP"), define_terminal(name="T001")]
    with Region(definitions, supplied_queues=False, clock=StillClock(ELEVEN)) as region:
        region.register("PAYP", lambda _task: None)
        yield region


def test_a_start_shows_what_it_was_given(reg):
    start(reg, from_=b"data", interval=10130, reqid="R1", termid="T001", rtransid="BACK", rtermid="T1", queue="QNAME")
    expected = {
        "FMHSTATUS": Cvda.NOFMH, "INTERVAL": 10130, "LENGTH": 4, "QUEUE": "QNAME   ", "REQTYPE": Cvda.START,
        "RTERMID": "T1  ", "RTRANSID": "BACK", "TERMID": "T001", "TIME": 240130, "TRANSID": "PAYP",
        "USERID": "CICSUSER",
    }  # fmt: skip
    assert inquire(reg, "R1").as_dict() == expected
    with reg.task() as task:
        task.inquire_reqid_start()
        assert task.inquire_reqid_next().as_dict() == {"REQID": "R1      ", **expected}


def test_a_start_without_data_and_a_delay_have_null_values(reg):
    with reg.task(userid="BOB") as task:
        task.start("PAYP", interval=5, reqid="R1")
    sleeper = reg.start(lambda task: task.delay(interval=200, reqid="NAP"))
    reg.dispatcher.run_ready()
    first, second = inquire(reg, "R1"), inquire(reg, "NAP")
    assert (first.fmhstatus, first.length, first.termid, first.userid) == (Cvda.NOTAPPLIC, 0, "    ", "BOB     ")
    assert (second.reqtype, second.interval, second.transid, second.fmhstatus) == (
        Cvda.DELAY, 200, "    ", Cvda.NOTAPPLIC
    )  # fmt: skip
    assert [Cvda[name].value for name in ("START", "POST", "DELAY", "FMH", "NOFMH")] == [635, 636, 637, 502, 503]
    reg.cancel("NAP")
    reg.run()
    assert sleeper.done
    assert condition(inquire, reg, "NAP") == (13, 1)


def test_a_browse_is_in_the_order_of_expiry(reg):
    for seconds, name in ((30, "LATE"), (10, "SOON"), (20, "MIDDLE")):
        start(reg, interval=seconds, reqid=name)
    with reg.task() as task:
        task.inquire_reqid_start()
        assert condition(task.inquire_reqid_start) == (21, 1)
        found = [task.inquire_reqid_next("INTERVAL") for _ in range(3)]
        assert [(each.reqid.rstrip(), each.interval) for each in found] == [("SOON", 10), ("MIDDLE", 20), ("LATE", 30)]
        assert condition(task.inquire_reqid_next) == (83, 2)
        task.inquire_reqid_end()
        assert condition(task.inquire_reqid_end) == (21, 1)
        task.inquire_reqid_start()
        task.execute("INQUIRE NEXT REQID(N) REQTYPE(T) INTERVAL(I)", host := {})
        assert (host["N"].rstrip(), host["T"], host["I"]) == ("SOON", Cvda.START, 10)


@pytest.mark.rule("REQID-NOT-FOUND", "REQID-EXPIRED")
def test_a_request_that_has_expired_or_is_not_committed_is_not_found(reg):
    reg.set_terminal("T001", servstatus="OUTSERVICE")
    start(reg, interval=5, reqid="R1", termid="T001")
    reg.clock.advance(5)
    reg.dispatcher.run_ready()
    expect_rule("REQID-EXPIRED", inquire, reg, "R1")
    with reg.task() as task:
        task.start("PAYP", interval=5, reqid="R2", protect=True)
        expect_rule("REQID-NOT-FOUND", task.inquire_reqid, "R2")
        task.syncpoint()
        task.execute("INQUIRE REQID('R2') REQTYPE(T) TRANSID(W)", host := {})
    assert (host["T"], host["W"]) == (Cvda.START, "PAYP")


def test_command_security():
    with (
        Region(
            [], supplied_queues=False, security=SecurityOptions(policy=AccessList(commands={}), cmdsec="ALWAYS")
        ) as reg,
        reg.task() as task,
    ):
        assert condition(task.inquire_reqid, "R1") == (70, 100)
        assert condition(task.inquire_reqid_start) == (70, 100)
        with pytest.raises(Condition, match="ILLOGIC"):
            task.inquire_reqid_next()


def test_cancel_ends_the_wait_that_expires_first_of_those_with_one_reqid(reg):
    """And START makes a REQID that none of them has."""
    ended = []
    for seconds in (30, 10, 20):
        reg.start(lambda task, seconds=seconds: [task.delay(seconds=seconds, reqid="DF000001"), ended.append(seconds)])
    reg.dispatcher.run_ready()
    with reg.task() as task:
        task.start("PAYP", hours=1)
        assert task.eib.eibreqid.rstrip() != "DF000001"
        taken = [f"DF{number:06X}" for number in range(3, 5)]
        for reqid in taken:
            task.start("PAYP", hours=1, reqid=reqid)
        task.start("PAYP", hours=1)
        assert task.eib.eibreqid.rstrip() not in taken
    for expected in ([10], [10, 20]):
        reg.execute("CANCEL REQID('DF000001')", {})
        reg.dispatcher.run_ready()
        assert ended == expected
