"""COBOL programs as tasks: storage, commands, labels, levels, and what ends them."""

from __future__ import annotations

import random

import pytest

from tdqsim import Abend, Condition
from tdqsim.facts import Resp

pytestmark = pytest.mark.cobc

READ_ALL = """
MAIN.
    EXEC CICS HANDLE CONDITION QZERO(NO-MORE) LENGERR(TOO-LONG) END-EXEC.
AGAIN.
    MOVE 8 TO WS-LEN
    EXEC CICS READQ TD QUEUE('IN') INTO(WS-REC) LENGTH(WS-LEN) END-EXEC
    EXEC CICS WRITEQ TD QUEUE('OUT') FROM(WS-REC) END-EXEC
    GO TO AGAIN.
TOO-LONG.
    MOVE WS-LEN TO WS-SHOWN
    EXEC CICS WRITEQ TD QUEUE('OUT') FROM(WS-SHOWN) END-EXEC
    GO TO AGAIN.
NO-MORE.
    EXEC CICS RETURN END-EXEC.
"""


def test_conditions_branch_and_the_length_comes_back(workshop):
    workshop.program(
        "READALL", "77 WS-LEN PIC S9(4) COMP.\n77 WS-SHOWN PIC 9(4).\n01 WS-REC PIC X(8) VALUE SPACES.", READ_ALL
    )
    for record in (b"ABCDEFGH", b"xy", b"0123456789"):
        workshop.region.writeq_td("IN", record)
    workshop.run("READALL")
    # what lies in the area behind a short record stays; LENGERR brings the true length
    assert workshop.out() == [b"ABCDEFGH", b"xyCDEFGH", b"0010"]


def test_each_task_has_fresh_storage(workshop):
    workshop.program(
        "COUNT",
        "77 N PIC 9(4) VALUE 1.",
        "ADD 1 TO N\nEXEC CICS WRITEQ TD QUEUE('OUT') FROM(N) END-EXEC\nGOBACK.",
    )
    for _ in range(3):
        workshop.run("COUNT")
    assert workshop.out() == [b"0002"] * 3


def test_link_shares_the_commarea_and_return_comes_back_to_the_caller(workshop):
    workshop.program(
        "CALLER",
        "01 AREA-1.\n   05 N PIC 9(4) VALUE 7.\n   05 T PIC X(6) VALUE SPACES.",
        """
        EXEC CICS LINK PROGRAM('CALLEE') COMMAREA(AREA-1) LENGTH(10) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(AREA-1) END-EXEC
        STOP RUN.
        """,
    )
    workshop.program(
        "CALLEE",
        "77 X PIC X.",
        """
        ADD 1 TO L-N
        IF EIBCALEN = 10 MOVE 'LINKED' TO L-T END-IF
        EXEC CICS RETURN END-EXEC
        MOVE 'WRONG' TO L-T.
        """,
        linkage="01 DFHCOMMAREA.\n   05 L-N PIC 9(4).\n   05 L-T PIC X(6).",
    )
    workshop.run("CALLER")
    assert workshop.out() == [b"0008LINKED"]


def test_a_python_program_is_linked_to_with_the_callers_storage(workshop):
    workshop.program(
        "CALLER",
        "01 AREA-1 PIC X(6) VALUE 'abcdef'.",
        """
        EXEC CICS LINK PROGRAM('PYPROG') COMMAREA(AREA-1) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(AREA-1) END-EXEC
        GOBACK.
        """,
    )

    def pyprog(task):
        task.commarea[:3] = b"ABC"

    workshop.region.programs.register("PYPROG", pyprog)
    workshop.run("CALLER")
    assert workshop.out() == [b"ABCdef"]


def test_xctl_passes_a_copy_and_never_comes_back(workshop):
    workshop.program(
        "FIRST",
        "01 A PIC X(4) VALUE 'PASS'.",
        """
        EXEC CICS XCTL PROGRAM('SECOND') COMMAREA(A) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM('BACK') END-EXEC
        GOBACK.
        """,
    )
    workshop.program(
        "SECOND",
        "77 X PIC X.",
        "EXEC CICS WRITEQ TD QUEUE('OUT') FROM(DFHCOMMAREA) END-EXEC\nGOBACK.",
        linkage="01 DFHCOMMAREA PIC X(4).",
    )
    workshop.run("FIRST")
    assert workshop.out() == [b"PASS"]


def test_a_program_that_is_not_there_is_pgmiderr(workshop):
    workshop.program(
        "LOST",
        "01 R PIC S9(8) COMP.\n01 R2 PIC S9(8) COMP.\n01 SHOWN.\n   05 S PIC 9(4).\n   05 S2 PIC 9(4).",
        """
        EXEC CICS LINK PROGRAM('NOWHERE') RESP(R) RESP2(R2) END-EXEC
        MOVE R TO S  MOVE R2 TO S2
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC
        GOBACK.
        """,
    )
    workshop.run("LOST")
    assert workshop.out() == [b"00270001"]


def test_an_unhandled_condition_is_its_abend(workshop):
    workshop.program("BAD", "01 X PIC X.", "EXEC CICS READQ TD QUEUE('NONE') INTO(X) END-EXEC\nGOBACK.")
    with pytest.raises(Abend) as caught:
        workshop.run("BAD")
    assert caught.value.code == "AEYH"


def test_an_abend_label_takes_it_and_is_then_out_of_action(workshop):
    workshop.program(
        "SAVED",
        "01 X PIC X(4).\n01 D REDEFINES X PIC S9(7) COMP-3.",
        """
            EXEC CICS HANDLE ABEND LABEL(OOPS) END-EXEC
            EXEC CICS READQ TD QUEUE('NONE') INTO(X) END-EXEC
            GOBACK.
        OOPS.
            EXEC CICS ASSIGN ABCODE(X) END-EXEC
            EXEC CICS WRITEQ TD QUEUE('OUT') FROM(X) END-EXEC
            EXEC CICS ABEND ABCODE('LAST') END-EXEC.
        """,
    )
    with pytest.raises(Abend) as caught:
        workshop.run("SAVED")
    assert caught.value.code == "LAST"
    assert workshop.out() == [b"AEYH"]


def test_an_abend_below_goes_to_the_label_of_the_caller(workshop):
    workshop.program(
        "UPPER",
        "01 X PIC X(4).",
        """
            EXEC CICS HANDLE ABEND LABEL(OOPS) END-EXEC
            EXEC CICS LINK PROGRAM('LOWER') END-EXEC
            GOBACK.
        OOPS.
            EXEC CICS ASSIGN ABCODE(X) END-EXEC
            EXEC CICS WRITEQ TD QUEUE('OUT') FROM(X) END-EXEC
            GOBACK.
        """,
    )
    workshop.program("LOWER", "77 X PIC X.", "EXEC CICS ABEND ABCODE('DEEP') END-EXEC.")
    workshop.run("UPPER")
    assert workshop.out() == [b"DEEP"]


@pytest.mark.parametrize("_again", range(3))
def test_bad_data_is_asra_with_the_line_and_the_session_goes_on(workshop, _again):
    workshop.program("ROTTEN", "01 X PIC X(4) VALUE 'ZZZZ'.\n01 D REDEFINES X PIC S9(7) COMP-3.", "ADD 1 TO D\nGOBACK.")
    with pytest.raises(Abend) as caught:
        workshop.run("ROTTEN")
    assert caught.value.code == "ASRA"
    assert "not numeric" in str(caught.value.cause)
    assert "ROTTEN.cbl:8" in str(caught.value.cause)


def test_no_commarea_is_no_storage(workshop):
    workshop.program(
        "NOCOMM",
        "77 X PIC X.",
        "EXEC CICS WRITEQ TD QUEUE('OUT') FROM(L-N) END-EXEC\nGOBACK.",
        linkage="01 DFHCOMMAREA.\n   05 L-N PIC 9(4).",
    )
    with pytest.raises(Abend) as caught:
        workshop.run("NOCOMM")
    assert caught.value.code == "ASRA"


def test_a_verb_that_is_not_served_stops_the_task_with_verb_and_line(workshop):
    workshop.program("WEBBY", "01 X PIC X(4).", "EXEC CICS WEB OPEN HOST(X) END-EXEC\nGOBACK.")
    with pytest.raises(Abend) as caught:
        workshop.run("WEBBY")
    assert "WEBBY.cbl:7: EXEC CICS WEB OPEN" in str(caught.value.cause)


def test_a_function_answers_a_verb(workshop):
    workshop.program(
        "WEBBY",
        "01 X PIC X(4) VALUE 'host'.\n01 R PIC S9(8) COMP.\n01 S PIC 9(4).",
        """
        EXEC CICS WEB OPEN HOST(X) RESP(R) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(X) END-EXEC
        MOVE R TO S
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(S) END-EXEC
        GOBACK.
        """,
    )

    def web_open(options, _level):
        assert options["HOST"].read() == b"host"
        options["HOST"].fill(b"HOST")
        return Condition(Resp.NOTFND)

    workshop.programs.verbs["WEB OPEN"] = web_open
    workshop.run("WEBBY")
    assert workshop.out() == [b"HOST", b"0013"]


def test_a_program_waits_in_a_command_while_others_run(workshop):
    workshop.program(
        "READER",
        "01 X PIC X(4).",
        """
        EXEC CICS READQ TD QUEUE('LOGQ') INTO(X) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(X) END-EXEC
        GOBACK.
        """,
    )
    region = workshop.region
    with region.task() as writer:
        writer.writeq_td("LOGQ", b"LATE")
        reader = region.start(workshop.programs.handler("READER"))
        region.run()
        assert workshop.out() == []
    region.run()
    reader.result()
    assert workshop.out() == [b"LATE"]


def test_a_trigger_level_starts_the_program(workshop):
    region = workshop.region
    workshop.program("TRIG", "01 X PIC X(4).", READ_ONE.replace("'IN'", "'TRGQ'"))
    region.create_tdqueue("TRGQ", attributes="TYPE(INTRA) TRANSID(TRIG) TRIGGERLEVEL(2) ATIFACILITY(FILE)")
    region.register("TRIG", workshop.programs.handler("TRIG"))
    for record in (b"ONE ", b"TWO "):
        region.writeq_td("TRGQ", record)
    region.run()
    assert workshop.out() == [b"ONE ", b"TWO "]


READ_ONE = """
    EXEC CICS HANDLE CONDITION QZERO(NO-MORE) END-EXEC.
AGAIN.
    EXEC CICS READQ TD QUEUE('IN') INTO(X) END-EXEC
    EXEC CICS SUSPEND END-EXEC
    EXEC CICS WRITEQ TD QUEUE('OUT') FROM(X) END-EXEC
    GO TO AGAIN.
NO-MORE.
    EXEC CICS RETURN END-EXEC.
"""


@pytest.mark.parametrize("seed", range(5))
def test_many_programs_in_any_order_lose_and_mix_nothing(workshop, seed):
    workshop.program("MOVER", "01 X PIC X(4).", READ_ONE)
    records = [b"%04d" % number for number in range(60)]
    random.Random(seed).shuffle(records)
    for record in records:
        workshop.region.writeq_td("IN", record)
    handles = [workshop.region.start(workshop.programs.handler("MOVER")) for _ in range(10)]
    workshop.region.run()
    for handle in handles:
        handle.result()
    assert sorted(workshop.out()) == sorted(records)


def test_an_error_of_the_compiler_is_told_with_the_users_line(workshop):
    workshop.program("BROKEN", "01 X PIC X.", "MOVE 1 TO NOWHERE\nEXEC CICS RETURN END-EXEC.")
    with pytest.raises(Exception, match=r"BROKEN\.cbl:7: error: 'NOWHERE' is not defined"):
        workshop.programs.handler("BROKEN")


def test_storage_is_got_and_given_back(workshop):
    workshop.program(
        "STORE",
        "77 P USAGE POINTER.\n77 R PIC S9(8) COMP.\n01 S PIC 9(4).",
        """
        EXEC CICS GETMAIN SET(P) FLENGTH(20) INITIMG('*') END-EXEC
        SET ADDRESS OF LS-AREA TO P
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(LS-AREA) END-EXEC
        EXEC CICS FREEMAIN DATA(LS-AREA) END-EXEC
        EXEC CICS FREEMAIN DATAPOINTER(P) RESP(R) END-EXEC
        MOVE R TO S
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(S) END-EXEC
        GOBACK.
        """,
        linkage="01 LS-AREA PIC X(20).",
    )
    workshop.run("STORE")
    assert workshop.out() == [b"*" * 20, b"0016"]


def test_a_record_is_looked_at_where_cics_has_it(workshop):
    workshop.program(
        "LOCATE",
        "77 L PIC S9(4) COMP.",
        """
        EXEC CICS READQ TD QUEUE('IN') SET(ADDRESS OF LS-REC) LENGTH(L) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(LS-REC) LENGTH(L) END-EXEC
        GOBACK.
        """,
        linkage="01 LS-REC PIC X(80).",
    )
    workshop.region.writeq_td("IN", b"located")
    workshop.run("LOCATE")
    assert workshop.out() == [b"located"]


def test_a_function_answers_sql(workshop):
    workshop.program(
        "SELECTS",
        "01 WS-NAME PIC X(6).\n01 WS-ID PIC 9(4) VALUE 12.",
        """
        EXEC SQL SELECT NAME INTO :WS-NAME FROM T WHERE ID = :WS-ID END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(WS-NAME) END-EXEC
        GOBACK.
        """,
    )

    def sql(variables, level):
        assert (level.statement, variables["A2"].number) == ("SELECT NAME INTO A1 FROM T WHERE ID = A2", 12)
        variables["A1"].fill(b"MILLER")

    workshop.programs.verbs["SQL"] = sql
    workshop.run("SELECTS")
    assert workshop.out() == [b"MILLER"]
