"""POST and WAIT EVENT, LOAD and RELEASE."""

from __future__ import annotations

import pytest

from tdqsim import Condition, Region, define_transaction
from tdqsim.cobol import CobolPrograms
from tdqsim.facts import Resp
from tdqsim.testing import StillClock
from tests.rules import rule

pytestmark = pytest.mark.cobc

POSTS = """
77 P USAGE POINTER.
77 ODD USAGE POINTER.
77 H PIC S9(4) COMP.
77 R PIC S9(8) COMP.
77 R2 PIC S9(8) COMP.
01 SHOWN.
   05 S1 PIC 9(4).
   05 S2 PIC 9(4).
"""


def test_a_task_waits_for_its_post_while_others_run(workshop):
    """Bit 0 of the area, which says that a task waits, posts nothing."""
    workshop.program(
        "POSTER",
        POSTS,
        """
        EXEC CICS POST INTERVAL(10) SET(P) END-EXEC
        SET ADDRESS OF ECB TO P
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(ECB) END-EXEC
        MOVE X'80000000' TO ECB
        EXEC CICS WAIT EVENT ECADDR(P) NAME('MYEVENT') END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(ECB) END-EXEC
        EXEC CICS WAIT EVENT ECADDR(P) NAME('MYEVENT') END-EXEC
        EXEC CICS RETURN END-EXEC.
        """,
        "01 ECB PIC X(4).",
    )
    region = workshop.region
    first = region.start(workshop.programs.handler("POSTER"))
    began = region.clock.time_ns()
    second = region.start(lambda task: (task.delay(5), task.writeq_td("OUT", b"between")))
    region.run()
    first.result()
    second.result()
    assert workshop.out() == [b"\0\0\0\0", b"between", bytes.fromhex("40008000")]
    assert region.clock.time_ns() - began >= 10 * 10**9


@pytest.mark.parametrize(("when", "seconds"), [("TIME(20000)", 3600), ("AT HOURS(2)", 3600), ("AFTER HOURS(2)", 7200)])
def test_post_at_a_time_of_day_expires_then_and_post_after_an_interval_later(workshop, when, seconds):
    workshop.program(
        "TIMED",
        POSTS,
        f"""
        EXEC CICS POST {when} SET(P) END-EXEC
        EXEC CICS WAIT EVENT ECADDR(P) NAME('E') END-EXEC
        EXEC CICS RETURN END-EXEC.
        """,
    )
    with Region(clock=StillClock(3600 * 10**9)) as region:
        programs = CobolPrograms(region, sources=[workshop.folder], cache=workshop.folder / "compiled")
        handle = region.start(programs.handler("TIMED"))
        region.run()
        handle.result()
        assert region.clock.time_ns() == (3600 + seconds) * 10**9


def time_until_cancelled(workshop, program, reqid):
    """How long, on the region's clock, a program runs that another task's CANCEL of a request lets go on."""
    region = workshop.region
    began = region.clock.time_ns()
    first = region.start(workshop.programs.handler(program))
    second = region.start(lambda task: task.cancel(reqid))
    region.run()
    first.result()
    second.result()
    return region.clock.time_ns() - began


@pytest.mark.rule("IC-CANCEL-POST", "IC-CANCEL-WAIT", "IC-CANCEL-NONE")
def test_cancel_takes_back_the_own_post_and_ends_that_of_another_at_once(workshop):
    workshop.program(
        "POSTS",
        POSTS,
        """
        EXEC CICS POST INTERVAL(10) SET(P) REQID('FIRST') END-EXEC
        SET ADDRESS OF ECB TO P
        MOVE 'XXXX' TO ECB
        EXEC CICS CANCEL END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(ECB) END-EXEC
        EXEC CICS CANCEL RESP(R) END-EXEC
        MOVE R TO S1
        EXEC CICS CANCEL REQID('FIRST') RESP(R) END-EXEC
        MOVE R TO S2
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC
        EXEC CICS POST INTERVAL(10) SET(P) REQID('SECOND') END-EXEC
        SET ADDRESS OF ECB TO P
        EXEC CICS WAIT EVENT ECADDR(P) NAME('E') END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(ECB) END-EXEC
        EXEC CICS RETURN END-EXEC.
        """,
        "01 ECB PIC X(4).",
    )
    waited = time_until_cancelled(workshop, "POSTS", "SECOND")
    notfnd = f"{Resp[rule('IC-CANCEL-NONE').resp]:04}".encode()
    assert workshop.out() == [bytes(4), notfnd * 2, bytes.fromhex("40008000")]
    assert waited < 10 * 10**9


@pytest.mark.rule("IC-POST-SUPERSEDED")
def test_a_delay_or_start_takes_the_post_back_before_it_expires(workshop):
    workshop.region.install([define_transaction(name="NEXT")])
    workshop.program(
        "POSTS",
        POSTS,
        """
        EXEC CICS POST INTERVAL(10) SET(P) REQID('FIRST') END-EXEC
        SET ADDRESS OF ECB TO P
        EXEC CICS INQUIRE REQID('FIRST') REQTYPE(R) LENGTH(H) END-EXEC
        EXEC CICS DELAY INTERVAL(20) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(ECB) END-EXEC
        IF R NOT = DFHVALUE(POST) OR H NOT = 0
            EXEC CICS ABEND ABCODE('TYPE') END-EXEC
        END-IF
        EXEC CICS CANCEL REQID('FIRST') RESP(R) END-EXEC
        MOVE R TO S1
        EXEC CICS POST INTERVAL(10) SET(P) END-EXEC
        EXEC CICS START TRANSID('NEXT') END-EXEC
        EXEC CICS CANCEL RESP(R) END-EXEC
        MOVE R TO S2
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC
        EXEC CICS RETURN END-EXEC.
        """,
        "01 ECB PIC X(4).",
    )
    workshop.run("POSTS")
    assert workshop.out() == [bytes(4), f"{Resp.NOTFND:04}".encode() * 2]


def test_cancel_ends_the_delay_of_another_task(workshop):
    workshop.program("SLEEPS", "", "EXEC CICS DELAY INTERVAL(10) REQID('NAP') END-EXEC\nGOBACK.")
    waited = time_until_cancelled(workshop, "SLEEPS", "NAP")
    assert waited < 10 * 10**9
    with workshop.region.task() as task, pytest.raises(Condition, match="no request NAP"):
        task.cancel("NAP")


@pytest.mark.rule("IC-POST-MINUTES", "IC-POST-SECONDS", "IC-DELAY-HOURS", "IC-DELAY-MINUTES", "IC-DELAY-SECONDS")
@pytest.mark.rule("IC-POST-INVREQ", "WAIT-EVENT-INVREQ", "PGM-LOAD-PGMIDERR", "PGM-LOAD-PROGRAM", "PGM-RELEASE-INVREQ")
@pytest.mark.rule("PGM-RELEASE-SELF", "WAIT-EVENT-ALIGNED")
@pytest.mark.parametrize(
    ("command", "row"),
    [
        ("POST HOURS(100) SET(P)", "IC-POST-INVREQ"),
        ("POST INTERVAL(6000) SET(P)", "IC-POST-MINUTES"),
        ("POST HOURS(0) MINUTES(60) SET(P)", "IC-POST-MINUTES"),
        ("POST SECONDS(360000) SET(P)", "IC-POST-SECONDS"),
        ("DELAY HOURS(100)", "IC-DELAY-HOURS"),
        ("DELAY FOR MINUTES(6000)", "IC-DELAY-MINUTES"),
        ("DELAY INTERVAL(75)", "IC-DELAY-SECONDS"),
        ("WAIT EVENT ECADDR(P) NAME('E')", "WAIT-EVENT-INVREQ"),
        ("WAIT EVENT ECADDR(LOW) NAME('E')", "WAIT-EVENT-INVREQ"),
        ("WAIT EVENT ECADDR(ODD) NAME('E')", "WAIT-EVENT-ALIGNED"),
        ("WAIT EVENT ECADDR(GONE) NAME('E')", "WAIT-EVENT-INVREQ"),
        ("LOAD PROGRAM('NONE') SET(P)", "PGM-LOAD-PGMIDERR"),
        ("LOAD PROGRAM('REFUSED') SET(P)", "PGM-LOAD-PROGRAM"),
        ("RELEASE PROGRAM('NONE')", "PGM-RELEASE-INVREQ"),
        ("RELEASE PROGRAM('REFUSED')", "PGM-RELEASE-SELF"),
    ],
)
def test_what_is_refused(workshop, command, row):
    workshop.program(
        "REFUSED",
        f"77 LOW USAGE POINTER.\n77 GONE USAGE POINTER.\n{POSTS.strip()}",
        f"""
        EXEC CICS GETMAIN SET(GONE) FLENGTH(16) END-EXEC
        SET ADDRESS OF ECB TO GONE
        EXEC CICS FREEMAIN DATA(ECB) END-EXEC
        SET P TO NULL
        SET LOW TO NULL
        SET LOW UP BY 4092
        SET ODD TO ADDRESS OF S1
        SET ODD UP BY 1
        EXEC CICS {command} RESP(R) RESP2(R2) END-EXEC
        MOVE R TO S1 MOVE R2 TO S2
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC
        EXEC CICS RETURN END-EXEC.
        """,
        "01 ECB PIC X(4).",
    )
    handle = workshop.region.start(lambda task: task.link("REFUSED"))
    workshop.region.run()
    handle.result()
    found = rule(row)
    assert workshop.out() == [f"{Resp[found.resp]:04d}{found.resp2:0>4}".encode()]


@pytest.mark.rule("PGM-RELEASE-OTHER")
def test_a_table_of_another_task_is_not_released(workshop):
    workshop.region.programs.define_table("RATES", b"0105")
    workshop.program(
        "HOLDER",
        POSTS,
        "EXEC CICS LOAD PROGRAM('RATES') SET(P) END-EXEC\nEXEC CICS DELAY INTERVAL(10) END-EXEC\nGOBACK.",
    )
    workshop.program(
        "OTHER",
        POSTS,
        """
        EXEC CICS RELEASE PROGRAM('RATES') RESP(R) RESP2(R2) END-EXEC
        MOVE R TO S1 MOVE R2 TO S2
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC
        EXEC CICS DELAY INTERVAL(20) END-EXEC
        EXEC CICS RELEASE PROGRAM('RATES') RESP(R) RESP2(R2) END-EXEC
        MOVE R TO S1 MOVE R2 TO S2
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC
        EXEC CICS RETURN END-EXEC.
        """,
    )
    region = workshop.region
    with region.task():  # both begin before time moves on
        started = [region.start(region.programs.find(name)) for name in ("HOLDER", "OTHER")]
    region.run()
    for each in started:
        each.result()
    rows = (rule("PGM-RELEASE-OTHER"), rule("PGM-RELEASE-INVREQ"))  # the table goes with the task that has loaded it
    assert workshop.out() == [f"{Resp[row.resp]:04d}{row.resp2:0>4}".encode() for row in rows]


def test_a_table_is_loaded_once_for_all(workshop):
    workshop.region.programs.define_table("RATES", b"0105 0230 ")
    workshop.program(
        "LOADER",
        POSTS + "77 LEN PIC S9(8) COMP.\n77 HALF PIC S9(4) COMP.",
        """
        EXEC CICS LOAD PROGRAM('RATES') SET(P) FLENGTH(LEN)
             LENGTH(HALF) END-EXEC
        SET ADDRESS OF RATES TO P
        MOVE LEN TO S1 MOVE HALF TO S2
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(RATE(2)) END-EXEC
        MOVE '9999' TO RATE(2)
        EXEC CICS RELEASE PROGRAM('RATES') END-EXEC
        EXEC CICS RELEASE PROGRAM('RATES') RESP(R) END-EXEC
        MOVE R TO S1
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(S1) END-EXEC
        EXEC CICS LOAD PROGRAM('RATES') SET(ADDRESS OF RATES) HOLD
             END-EXEC
        EXEC CICS RETURN END-EXEC.
        """,
        "01 RATES.\n   05 RATE PIC X(5) OCCURS 2.",
    )
    workshop.run("LOADER")
    workshop.run("LOADER")
    assert workshop.out() == [b"00100010", b"0230 ", b"0016", b"00100010", b"9999 ", b"0000"]
    with workshop.region.task() as task:
        assert task.load("RATES") == b"0105 9999 "  # a Python program sees the copy that the COBOL program has changed
        task.load("RATES", hold=True)
    with workshop.region.task() as task:
        for _hold in ("LOADER", "Python"):
            task.release("RATES")
        with pytest.raises(Condition, match="RATES is not loaded"):
            task.release("RATES")
