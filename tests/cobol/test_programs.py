"""COBOL programs as tasks: storage, commands, labels, levels, and what ends them."""

from __future__ import annotations

import ctypes
import random
import warnings

import pytest
from freezegun import freeze_time

from tdqsim import Abend, Condition, Region, define_tdqueue, define_terminal, define_transaction
from tdqsim.cobol import CobolError, CobolPrograms, CobolWarning, Options
from tdqsim.cobol.calls import unserved
from tdqsim.cobol.compiler import expand
from tdqsim.cobol.program_commands import PROGRAM_COMMANDS
from tdqsim.cobol.translate import translate
from tdqsim.facts import Resp
from tdqsim.testing import StillClock
from tests.cobol.conftest import HEAD
from tests.rules import rule

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


def _loaded_objects() -> int:
    """How many objects the loader of this process has."""
    counted = []
    visit = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    ctypes.CDLL(None).dl_iterate_phdr(visit(lambda _info, _size, _data: counted.append(1) or 0), None)
    return len(counted)


def test_many_waiting_tasks_have_storage_of_their_own_and_the_program_is_loaded_once(workshop):
    workshop.program(
        "WAITS",
        """
        01  TABLE-1.
            05  ENTRY-1 OCCURS 3 PIC S9(5) COMP-3.
        01  THERE POINTER.
        01  WS-OUT PIC 9(5).
        """,
        """
        MOVE EIBTASKN TO ENTRY-1 (2)
        SET THERE TO ADDRESS OF ENTRY-1 (2)
        EXEC CICS DELAY FOR SECONDS(5) END-EXEC
        SET ADDRESS OF FOUND TO THERE
        PERFORM ADD-ONE 3 TIMES
        MOVE FOUND TO WS-OUT
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(WS-OUT) END-EXEC
        EXEC CICS RETURN END-EXEC.
        ADD-ONE.
            ADD 1 TO ENTRY-1 (2).
        """,
        "01  FOUND PIC S9(5) COMP-3.",
    )
    workshop.run("WAITS")
    before = _loaded_objects()
    tasks = [workshop.region.start(workshop.programs.handler("WAITS")) for _ in range(20)]
    workshop.region.run()
    assert [task.result() for task in tasks] == [None] * 20
    assert sorted(workshop.out()) == [b"%05d" % (number + 3) for number in range(1, 22)]
    assert _loaded_objects() == before


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


def test_a_label_that_does_not_exist_is_reported_at_its_command(workshop):
    handle = "EXEC CICS HANDLE CONDITION QIDERR(DONE)\n    QZERO(NOLABEL) END-EXEC\nGOBACK.\nDONE.\nGOBACK."
    workshop.program("LABELS", "", f"MOVE 0 TO RETURN-CODE\n{handle}")
    with pytest.raises(CobolError, match=r"LABELS\.cbl:8: error: 'NOLABEL' is not defined"):
        workshop.run("LABELS")


def test_storage_is_got_and_given_back(workshop):
    workshop.program(
        "STORE",
        "77 P USAGE POINTER.\n77 R PIC S9(8) COMP.\n01 S PIC 9(4).",
        """
        EXEC CICS GETMAIN SET(P) FLENGTH(20) INITIMG('*') END-EXEC
        SET ADDRESS OF LS-AREA TO P
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(LS-AREA) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(LS-TAIL) LENGTH(30) END-EXEC
        EXEC CICS FREEMAIN DATA(LS-AREA) END-EXEC
        EXEC CICS FREEMAIN DATAPOINTER(P) RESP(R) END-EXEC
        MOVE R TO S
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(S) END-EXEC
        EXEC CICS GETMAIN SET(P) FLENGTH(0) RESP(R) END-EXEC
        MOVE R TO S
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(S) END-EXEC
        GOBACK.
        """,
        linkage="01 LS-AREA.\n   05 LS-HEAD PIC X(4).\n   05 LS-TAIL PIC X(2).",
    )
    with pytest.warns(CobolWarning, match="continues into the storage after it"):
        workshop.run("STORE")
    assert workshop.out() == [b"*" * 6, b"*" * 28 + bytes(2), b"0016", b"0022"]  # CICS gets multiples of 16 bytes


def test_a_record_is_looked_at_where_cics_has_it(workshop):
    workshop.program(
        "LOCATE",
        "77 L PIC S9(4) COMP.",
        """
        EXEC CICS READQ TD QUEUE('IN') SET(ADDRESS OF LS-REC) LENGTH(L) END-EXEC
        EXEC CICS READQ TS QUEUE('TS') SET(ADDRESS OF LS-ITEM) ITEM(1) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(LS-REC) LENGTH(L) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(LS-ITEM) END-EXEC
        GOBACK.
        """,
        linkage="01 LS-REC PIC X(80).\n01 LS-ITEM PIC X(4).",
    )
    workshop.region.writeq_td("IN", b"located")
    workshop.region.ts.write("TS", b"item")
    workshop.run("LOCATE")
    assert workshop.out() == [b"located", b"item"]  # the area of one command stays when another one gets its own


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


def test_a_length_beyond_the_area_takes_what_follows_in_the_group_and_is_told(workshop):
    workshop.program(
        "BEYOND",
        "01 G.\n   05 A PIC X(4) VALUE 'ABCD'.\n   05 B PIC X(4) VALUE 'EFGH'.",
        """
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(A) LENGTH(6) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(A) LENGTH(10) END-EXEC
        GOBACK.
        """,
    )
    with (
        pytest.warns(CobolWarning, match="uses 10"),
        pytest.warns(CobolWarning, match=r"BEYOND\.cbl:9: WRITEQ: FROM\(A\) has 4 bytes and the command uses 6"),
    ):
        workshop.run("BEYOND")
    assert workshop.out() == [b"ABCDEF", b"ABCDEFGH\0\0"]


def test_a_record_longer_than_the_area_fills_what_follows_in_the_group(workshop):
    workshop.program(
        "INBEY",
        "01 G.\n   05 A PIC X(4).\n   05 B PIC X(4) VALUE 'EFGH'.\n77 L PIC S9(4) COMP VALUE 6.",
        """
        EXEC CICS READQ TD QUEUE('IN') INTO(A) LENGTH(L) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(G) END-EXEC
        GOBACK.
        """,
    )
    workshop.region.writeq_td("IN", b"123456")
    with pytest.warns(CobolWarning, match="INTO"):
        workshop.run("INBEY")
    assert workshop.out() == [b"123456GH"]


@pytest.mark.rule("COBOL-LENGTH-AREA")
@pytest.mark.parametrize(
    ("usage", "value", "taken", "after"),
    [
        ("PIC S9(4) COMP", 10, "ABCDE.....", 5),
        ("PIC S9(4) COMP-5", 10, "ABCDE.....", 5),
        ("PIC 9(4) COMP", 3, "ABC.......", 5),
        ("PIC S9(8) COMP", 10, "..........", 5 * 65536 + 10),  # its first halfword is 0: all is cut off
        ("PIC S9(8) COMP", 3 * 65536, "ABC.......", 5 * 65536),
        ("PIC 9(4)", 10, "..........", None),  # X'F0F0' is negative: nothing is read
        ("PIC S9(7) COMP-3", 10, "..........", None),  # X'0000010C'
    ],
)
def test_length_of_a_read_is_the_halfword_in_its_area_whatever_is_declared_there(workshop, usage, value, taken, after):
    workshop.program(
        "HALVES",
        f"""
        77 L {usage}.
        77 R PIC 9(8) COMP.
        77 R2 PIC 9(8) COMP.
        77 N PIC S9(9) SIGN LEADING SEPARATE.
        01 SHOWN.
           05 R-SHOWN PIC 9(4).
           05 R2-SHOWN PIC 9(4).
           05 A PIC X(10) VALUE ALL '.'.
        """,
        f"""
        MOVE {value} TO L
        EXEC CICS READQ TD QUEUE('IN') INTO(A) LENGTH(L) RESP(R) RESP2(R2) END-EXEC
        MOVE R TO R-SHOWN
        MOVE R2 TO R2-SHOWN
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC
        MOVE L TO N
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(N) END-EXEC
        GOBACK.
        """,
    )
    workshop.region.writeq_td("IN", b"ABCDE")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CobolWarning)
        workshop.run("HALVES")
    out = [record.decode() for record in workshop.out()]
    row = rule("COBOL-LENGTH-AREA")
    told = "00000000" if taken == "ABCDE....." else f"{Resp[row.resp].value:04}{int(row.resp2):04}"
    assert out[0] == told + taken
    if after is not None:
        assert int(out[1]) == after
    assert (workshop.region.peek("IN") == []) is (usage != "PIC 9(4)")


@pytest.mark.parametrize(
    ("storage", "command", "told"),
    [
        ("77 T PIC S9(8) COMP.", "ASKTIME ABSTIME(T)", "ABSTIME is eight bytes"),
        ("77 T PIC X(4).", "ASSIGN APPLID(T)", "CICS writes 8 bytes"),
        (
            "77 T PIC 9(4).\n77 A PIC S9(15) COMP-3 VALUE 0.",
            "FORMATTIME ABSTIME(A) YEAR(T)",
            "DISPLAY digits; CICS writes a fullword",
        ),
    ],
)
def test_what_real_cics_would_punish_is_told(workshop, storage, command, told):
    workshop.program("WRONG", storage, f"EXEC CICS {command} END-EXEC\nGOBACK.")
    with pytest.warns(CobolWarning, match=told):
        workshop.run("WRONG")


def test_an_abstime_in_a_fullword_lives_in_the_slack_bytes_behind_it(workshop):
    items = [f"T-{n}" for n in range(1, 6)]  # an 01 or 77 has whole doublewords, and nothing else lies in them
    asked = [f"EXEC CICS ASKTIME ABSTIME({item}) END-EXEC" for item in items]
    shown = [
        f"EXEC CICS FORMATTIME ABSTIME({item}) YYYYMMDD(D) END-EXEC\nEXEC CICS WRITEQ TD QUEUE('OUT') FROM(D) END-EXEC"
        for item in items
    ]
    fullwords = [f"77 {item} PIC S9(8) COMP VALUE +0." for item in items]
    workshop.program("SLACK", "\n".join(["77 D PIC X(8).", *fullwords]), "\n".join([*asked, *shown, "GOBACK."]))
    with freeze_time("2024-05-31 12:34:56"), pytest.warns(CobolWarning, match="ABSTIME is eight bytes"):
        workshop.run("SLACK")
    assert workshop.out() == [b"20240531"] * len(items)


@pytest.mark.parametrize("written", ["SAID", "'READY   '"])
def test_blanks_at_the_end_of_a_text_count_in_its_length(workshop, written):
    workshop.program(
        "SAYS",
        "01 SAID PIC X(8) VALUE 'READY'.\n01 ATTRS PIC X(40) VALUE 'TYPE(INTRA)'.",
        f"""
        EXEC CICS WRITE OPERATOR TEXT({written}) TEXTLENGTH(8) END-EXEC
        EXEC CICS CREATE TDQUEUE('NEWQ') ATTRIBUTES(ATTRS) ATTRLEN(LENGTH OF ATTRS) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('NEWQ') FROM(SAID) END-EXEC
        GOBACK.
        """,
    )
    workshop.run("SAYS")
    assert list(workshop.region.diagnostics.operator) == ["READY"]
    assert workshop.region.peek("NEWQ") == [b"READY   "]


def test_without_ssrange_a_subscript_of_zero_is_taken_and_bad_digits_are_not(workshop):
    workshop.program(
        "NOUGHT",
        "01 G.\n05 AHEAD PIC X VALUE 'A'.\n05 T PIC X OCCURS 3.\n01 I PIC 9 VALUE 0.",
        "EXEC CICS WRITEQ TD QUEUE('OUT') FROM(T(I)) END-EXEC\nMOVE T(I) TO T(1)\nGOBACK.",
    )
    workshop.program("DIGITS", "01 P PIC X(3) VALUE 'ABC'.\n01 N REDEFINES P PIC S9(5) COMP-3.", "ADD 1 TO N\nGOBACK.")
    with pytest.raises(Abend, match="subscript of 'T' out of bounds"):
        workshop.run("NOUGHT")
    cache = workshop.folder / "compiled"
    workshop.programs = CobolPrograms(workshop.region, sources=[workshop.folder], cache=cache, ssrange="OFF")
    workshop.run("NOUGHT")
    assert workshop.out() == [b"A"]
    with pytest.raises(Abend) as met:
        workshop.run("DIGITS")
    assert met.value.code == "ASRA"


def test_channels_go_down_and_come_back(workshop):
    workshop.program(
        "GIVER",
        "01 D PIC X(5) VALUE 'hello'.\n01 G PIC X(8).\n77 L PIC S9(8) COMP.\n77 T PIC S9(8) COMP.\n01 N PIC X(16).",
        """
            EXEC CICS PUT CONTAINER('IN') CHANNEL('CH') FROM(D) END-EXEC
            EXEC CICS LINK PROGRAM('TAKER') CHANNEL('CH') END-EXEC
            MOVE 8 TO L
            EXEC CICS GET CONTAINER('BACK') CHANNEL('CH') INTO(G) FLENGTH(L) END-EXEC
            EXEC CICS WRITEQ TD QUEUE('OUT') FROM(G) LENGTH(5) END-EXEC
            EXEC CICS STARTBROWSE CONTAINER CHANNEL('CH') BROWSETOKEN(T) END-EXEC
            EXEC CICS HANDLE CONDITION END(AT-END) END-EXEC.
        AGAIN.
            EXEC CICS GETNEXT CONTAINER(N) BROWSETOKEN(T) END-EXEC
            EXEC CICS WRITEQ TD QUEUE('OUT') FROM(N) END-EXEC
            GO TO AGAIN.
        AT-END.
            EXEC CICS ENDBROWSE CONTAINER BROWSETOKEN(T) END-EXEC
            EXEC CICS RETURN END-EXEC.
        """,
    )
    workshop.program(
        "TAKER",
        "77 P USAGE POINTER.\n77 L PIC S9(8) COMP.\n01 CH-NAME PIC X(16).",
        """
        EXEC CICS ASSIGN CHANNEL(CH-NAME) END-EXEC
        IF CH-NAME NOT = 'CH' EXEC CICS ABEND ABCODE('NOCH') END-EXEC END-IF
        EXEC CICS GET CONTAINER('IN') SET(P) FLENGTH(L) END-EXEC
        SET ADDRESS OF L-D TO P
        EXEC CICS PUT CONTAINER('BACK') FROM(L-D) FLENGTH(L) END-EXEC
        EXEC CICS DELETE CONTAINER('IN') END-EXEC
        EXEC CICS RETURN END-EXEC.
        """,
        linkage="01 L-D PIC X(80).",
    )
    workshop.run("GIVER")
    assert workshop.out() == [b"hello", b"BACK".ljust(16)]


def test_push_and_pop_handle_keep_labels(workshop):
    workshop.program(
        "PUSHER",
        "01 X PIC X(4).\n77 R PIC S9(8) COMP.",
        """
            EXEC CICS HANDLE CONDITION QIDERR(FIRST-LABEL) END-EXEC
            EXEC CICS PUSH HANDLE END-EXEC
            EXEC CICS HANDLE CONDITION QIDERR(SECOND-LABEL) END-EXEC
            EXEC CICS READQ TD QUEUE('NONE') INTO(X) END-EXEC.
        FIRST-LABEL.
            EXEC CICS WRITEQ TD QUEUE('OUT') FROM('1ST ') END-EXEC
            EXEC CICS RETURN END-EXEC.
        SECOND-LABEL.
            EXEC CICS WRITEQ TD QUEUE('OUT') FROM('2ND ') END-EXEC
            EXEC CICS POP HANDLE END-EXEC
            EXEC CICS READQ TD QUEUE('NONE') INTO(X) END-EXEC.
        """,
    )
    workshop.run("PUSHER")
    assert workshop.out() == [b"2ND ", b"1ST "]


KEYS = """
    EXEC CICS HANDLE AID PF3(LEAVE-IT) ANYKEY(OTHER-KEY) END-EXEC
    EXEC CICS HANDLE CONDITION LENGERR(TOO-LONG) END-EXEC
    EXEC CICS RECEIVE INTO(T) LENGTH(L) END-EXEC
    EXEC CICS WRITEQ TD QUEUE('OUT') FROM(T) END-EXEC
    EXEC CICS RETURN END-EXEC.
LEAVE-IT.
    EXEC CICS WRITEQ TD QUEUE('OUT') FROM('PF3 ') END-EXEC
    EXEC CICS WRITEQ TD QUEUE('OUT') FROM(T) END-EXEC
    EXEC CICS RETURN END-EXEC.
OTHER-KEY.
    EXEC CICS WRITEQ TD QUEUE('OUT') FROM('ANY ') END-EXEC
    EXEC CICS RETURN END-EXEC.
TOO-LONG.
    EXEC CICS WRITEQ TD QUEUE('OUT') FROM('LONG') END-EXEC
    EXEC CICS RETURN END-EXEC.
"""


@pytest.mark.parametrize(
    ("key", "text", "out"),
    [
        ("ENTER", "KEYS", [b"KEYS"]),
        ("PF3", "KEYS", [b"PF3 ", b"KEYS"]),
        ("PF3", "KEYS IS LONG", [b"PF3 ", b"KEYS"]),
        ("PF4", "KEYS", [b"ANY "]),
        ("ENTER", "KEYS IS LONG", [b"LONG"]),
    ],
)
def test_keys_go_to_their_labels(workshop, key, text, out):
    workshop.program("KEYS", "01 T PIC X(4).\n77 L PIC S9(4) COMP VALUE 4.", KEYS)
    region = workshop.region
    region.install([define_terminal(name="T001")])
    region.register("KEYS", workshop.programs.handler("KEYS"))
    region.screens.type("T001", text, key=key)
    region.run()
    assert workshop.out() == out


def test_the_eib_of_each_task_begins_with_its_own_key_and_return_immediate_starts_the_next(workshop):
    """The tasks of one program start in one second, and look at their EIB before their first command."""
    workshop.program(
        "AIDS",
        "01 REC.\n   05 A PIC X.\n   05 T PIC X(4).\n   05 C PIC 9(4).",
        """
        MOVE EIBAID TO A
        MOVE EIBTRMID TO T
        MOVE EIBCPOSN TO C
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(REC) END-EXEC
        IF C = 81 EXEC CICS RETURN TRANSID('NEXT') IMMEDIATE END-EXEC.
        EXEC CICS RETURN TRANSID('NEXT') END-EXEC.
        """,
    )
    terminals = [define_terminal(name="T001"), define_terminal(name="T002")]
    with Region([define_tdqueue(name="OUT", type="INTRA"), *terminals], clock=StillClock(0)) as region:
        programs = CobolPrograms(region, sources=[workshop.folder], cache=workshop.folder / "compiled")
        region.register("AIDS", programs.handler("AIDS"))
        region.register("NEXT", lambda task: task.writeq_td("OUT", b"NEXT"))
        for terminal, key, cursor in (("T001", "PF3", 7), ("T001", "PF4", 7), ("T002", "PF4", 7), ("T002", "PF4", 81)):
            region.screens.screen(terminal).next_transid = ""
            region.screens.type(terminal, "AIDS", key=key, cursor=cursor)
            region.run()
        shown = region.peek("OUT")
    assert shown == [b"3T0010007", b"4T0010007", b"4T0020007", b"4T0020081", b"NEXT"]


def test_started_data_comes_with_retrieve(workshop):
    workshop.program(
        "STARTER",
        "01 D PIC X(8) VALUE 'THE DATA'.",
        """
        EXEC CICS START TRANSID('TOOK') FROM(D) LENGTH(6) INTERVAL(130) RTRANSID('BACK') END-EXEC
        GOBACK.
        """,
    )
    workshop.program(
        "TOOK",
        "01 D PIC X(8) VALUE ALL '.'.\n77 L PIC S9(4) COMP VALUE 8.\n01 R PIC X(4).\n77 RC PIC S9(8) COMP.\n01 S PIC 9(4).",
        """
        EXEC CICS RETRIEVE INTO(D) LENGTH(L) RTRANSID(R) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(D) LENGTH(L) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(R) END-EXEC
        EXEC CICS RETRIEVE INTO(D) LENGTH(L) RESP(RC) END-EXEC
        MOVE RC TO S
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(S) END-EXEC
        GOBACK.
        """,
    )
    workshop.region.register("TOOK", workshop.programs.handler("TOOK"))
    workshop.run("STARTER")
    workshop.region.run()
    assert workshop.out() == [b"THE DA", b"BACK", b"0029"]


def test_an_abend_program_gets_the_commarea(workshop):
    workshop.program(
        "FALLS",
        "77 X PIC X.",
        "EXEC CICS HANDLE ABEND PROGRAM('RESCUE') END-EXEC\nMOVE 'FELL' TO DFHCOMMAREA\nEXEC CICS ABEND ABCODE('BANG') END-EXEC.",
        linkage="01 DFHCOMMAREA PIC X(4).",
    )
    workshop.program(
        "RESCUE",
        "01 C PIC X(4).",
        """
        EXEC CICS ASSIGN ABCODE(C) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(C) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(DFHCOMMAREA) END-EXEC
        GOBACK.
        """,
        linkage="01 DFHCOMMAREA PIC X(4).",
    )
    with workshop.region.task() as task:
        task.link("FALLS", bytearray(4))
    assert workshop.out() == [b"BANG", b"FELL"]


def test_addresses_of_areas(workshop):
    workshop.program(
        "ADDRS",
        "01 P USAGE POINTER.\n01 Q REDEFINES P PIC 9(18) COMP-5.\n01 S PIC 9(4).",
        """
        EXEC CICS ADDRESS CWA(P) END-EXEC
        IF Q = 4278190080 MOVE 1 TO S END-IF
        EXEC CICS ADDRESS COMMAREA(P) END-EXEC
        IF Q = 4278190080 ADD 1 TO S END-IF
        EXEC CICS ADDRESS EIB(ADDRESS OF MY-EIB) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(MY-TRAN) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(S) END-EXEC
        GOBACK.
        """,
        linkage="01 MY-EIB.\n   05 FILLER PIC X(8).\n   05 MY-TRAN PIC X(4).",
    )
    with workshop.region.task() as task:
        task.link("ADDRS", bytearray(4))
    workshop.run("ADDRS")
    assert workshop.out()[1:] == [b"0001", b"RUN ", b"0002"]


def test_the_twa_has_twasize_bytes_for_all_programs_of_the_task(workshop):
    storage = "01 P USAGE POINTER."
    begin = "EXEC CICS ADDRESS TWA(P) END-EXEC\nSET ADDRESS OF TWA TO P\n"
    twa = "01 TWA.\n   05 COUNTED PIC 9(4) COMP.\n   05 REST PIC X(6)."
    write = "EXEC CICS WRITEQ TD QUEUE('OUT') FROM(TWA) END-EXEC\n"
    link = "MOVE 7 TO COUNTED\nEXEC CICS LINK PROGRAM('INNER') END-EXEC\n"
    workshop.program("OUTER", storage, f"{begin}{write}{link}{write}GOBACK.", linkage=twa)
    workshop.program("INNER", storage, f"{begin}ADD 1 TO COUNTED\nMOVE 'inside' TO REST\nGOBACK.", linkage=twa)
    workshop.region.install([define_transaction(name="PAYP", program="OUTER", twasize=8)])
    workshop.region.register("PAYP", workshop.programs.handler("OUTER"))
    for _ in range(2):
        workshop.region.start("PAYP")
        workshop.region.run()
    assert workshop.out() == [bytes(8), b"\0\x08inside"] * 2


def test_an_area_at_a_bad_address_is_the_programs_abend_and_ends_no_process(workshop):
    workshop.program(
        "NOCWA",
        "77 CWA-PTR USAGE POINTER.",
        """
        EXEC CICS ADDRESS CWA(CWA-PTR) END-EXEC
        SET ADDRESS OF CWA-AREA TO CWA-PTR
        EXEC CICS ENQ RESOURCE(CWA-AREA) LENGTH(4) END-EXEC
        GOBACK.
        """,
        linkage="01 CWA-AREA PIC X(4).",
    )
    with pytest.raises(Abend, match=r"NOCWA\.cbl:1\d: signal 11") as met:
        workshop.run("NOCWA")
    assert met.value.code == "ASRA"
    workshop.program(
        "AFTER", "77 N PIC X(4) VALUE 'GOOD'.", "EXEC CICS WRITEQ TD QUEUE('OUT') FROM(N) END-EXEC GOBACK."
    )
    workshop.run("AFTER")
    assert workshop.out() == [b"GOOD"]


COMPLETE = {
    "HANDLE CONDITION": "HANDLE CONDITION QZERO(OVER)",
    "HANDLE AID": "HANDLE AID PF3(OVER)",
    "HANDLE ABEND": "HANDLE ABEND LABEL(OVER)",
    "GETMAIN": "GETMAIN SET(P) FLENGTH(8)",
    "FREEMAIN": "FREEMAIN DATAPOINTER(P)",
    "ADDRESS": "ADDRESS CWA(P)",
    "ADDRESS SET": "ADDRESS SET(P) USING(P)",
    "RETURN": "RETURN TRANSID('NEXT')",
    "LINK": "LINK PROGRAM('OTHER')",
    "XCTL": "XCTL PROGRAM('OTHER')",
    "POST": "POST SET(P)",
    "WAIT EVENT": "WAIT EVENT ECADDR(P)",
    "LOAD": "LOAD PROGRAM('OTHER') SET(P)",
    "RELEASE": "RELEASE PROGRAM('OTHER')",
}
"""The commands that only programs have, or that are another thing there, with options that they need."""


def test_the_commands_whose_options_are_tested_are_all_of_the_table():
    assert COMPLETE.keys() == PROGRAM_COMMANDS.keys()


@pytest.mark.rule("COBOL-OPTIONS")
@pytest.mark.parametrize("verb", COMPLETE)
@pytest.mark.parametrize("option", ["SYSID('FAR ')", "FOOBAR"])
def test_an_option_that_is_not_served_is_refused_when_checking_and_when_running(workshop, verb, option):
    if verb in ("HANDLE CONDITION", "HANDLE AID"):
        option = option.replace("'FAR '", "OVER")  # all that they name has a label
    if verb == "LINK":
        option = option.replace("SYSID", "INPUTMSG")
    command = f"EXEC CICS {COMPLETE[verb]} {option} END-EXEC"
    workshop.program("ODD", "77 P USAGE POINTER.", f"{command}.\nOVER.\n    GOBACK.")
    linked = []
    workshop.region.programs.register("OTHER", linked.append)
    word = option.partition("(")[0]
    source = workshop.folder / "ODD.cbl"
    (wrong,) = filter(None, map(unserved, translate(expand(source, Options()), str(source)).commands))
    assert f"{word} is not an option of {verb}" in wrong
    with pytest.raises(Abend) as caught:
        workshop.run("ODD")
    assert "ODD.cbl:7" in str(caught.value.cause)
    assert f"{word} is not an option of {verb}" in str(caught.value.cause)
    assert linked == []


@pytest.mark.rule("COBOL-OPTIONS")
@pytest.mark.parametrize("verb", COMPLETE)
def test_complete_commands_are_not_refused(workshop, verb):
    text = f"{HEAD.format(name='GOOD')}       PROCEDURE DIVISION.\n           EXEC CICS {COMPLETE[verb]} NOHANDLE END-EXEC.\n"
    assert [unserved(command) for command in translate(text, "GOOD.cbl").commands] == [""]


@pytest.mark.rule("COBOL-OPTIONS")
@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("LINK COMMAREA(P)", "LINK needs PROGRAM"),
        ("RETURN VALUE(P)", "VALUE is not an option of RETURN"),
        ("LINK PROGRAM('A') PROGRAM('B')", "PROGRAM is given twice"),
        ("HANDLE CONDITION QZER0(OVER)", "QZER0 is not an option of HANDLE CONDITION"),
        ("HANDLE AID PF99", "PF99 is not an option of HANDLE AID"),
        ("GETMAIN SET(P)", "GETMAIN needs one of FLENGTH and LENGTH"),
        ("GETMAIN SET(P) LENGTH(8) FLENGTH(8)", "GETMAIN needs one of FLENGTH and LENGTH"),
        ("GETMAIN SET(P) LENGTH(8) SHARED(P)", "SHARED takes no argument"),
        ("ADDRESS CWA", "CWA needs an argument in parentheses"),
        ("ADDRESS SET(P)", "ADDRESS SET needs USING"),
        ("FREEMAIN DATA(P) DATAPOINTER(P)", "FREEMAIN needs one of DATA and DATAPOINTER"),
        ("RELEASE PROGRAM('A') PROGRAM('B')", "PROGRAM is given twice"),
    ],
)
def test_options_that_do_not_fit_are_refused(command, what):
    text = f"{HEAD.format(name='BAD')}       PROCEDURE DIVISION.\n           EXEC CICS {command} END-EXEC.\n"
    (wrong,) = [unserved(each) for each in translate(text, "BAD.cbl").commands]
    assert what in wrong


def test_a_function_answers_an_option_that_is_not_served(workshop):
    workshop.program("FAR", "77 P PIC X.", "EXEC CICS LINK PROGRAM('THERE') INPUTMSG('FAR ') END-EXEC.\nGOBACK.")
    asked = []
    workshop.programs.verbs["LINK"] = lambda options, _level: asked.append(options["INPUTMSG"].read())
    workshop.run("FAR")
    assert asked == [b"FAR "]


def test_shared_storage_outlives_its_task_and_any_task_frees_it(workshop):
    parts = "01 P USAGE POINTER."
    workshop.program(
        "GETS",
        parts,
        "EXEC CICS GETMAIN SET(P) FLENGTH(16) INITIMG('*') SHARED END-EXEC\n"
        "EXEC CICS WRITEQ TS QUEUE('KEPT') FROM(P) END-EXEC\nGOBACK.",
    )
    workshop.program(
        "FREES",
        f"{parts}\n01 R PIC S9(8) COMP.\n01 S PIC 9(4).",
        """
        EXEC CICS READQ TS QUEUE('KEPT') INTO(P) ITEM(1) END-EXEC
        SET ADDRESS OF L-X TO P
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(L-X) END-EXEC
        EXEC CICS FREEMAIN DATAPOINTER(P) RESP(R) END-EXEC
        MOVE R TO S
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(S) END-EXEC
        GOBACK.
        """,
        "01 L-X PIC X(4).",
    )
    workshop.run("GETS")
    workshop.run("FREES")
    assert workshop.out() == [b"****", b"0000"]


@pytest.mark.rule("COBOL-TASK-LIST")
def test_inquire_task_list_gives_packed_task_numbers_and_transaction_ids(workshop):
    workshop.program(
        "LISTS",
        """
        77 N PIC S9(8) COMP.
        77 P USAGE POINTER.
        77 T USAGE POINTER.
        01 SHOWN.
           05 N-SHOWN PIC 9(4).
           05 IDS PIC X(8).
           05 NUMBERS PIC X(8).
        """,
        """
        EXEC CICS INQUIRE TASK LIST LISTSIZE(N) SET(P) SETTRANSID(T) END-EXEC
        SET ADDRESS OF L-NUMBERS TO P
        SET ADDRESS OF L-IDS TO T
        MOVE N TO N-SHOWN  MOVE L-IDS TO IDS  MOVE L-NUMBERS TO NUMBERS
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC
        IF L-NUMBER (2) NOT = EIBTASKN EXEC CICS ABEND ABCODE('LIST') END-EXEC END-IF
        EXEC CICS INQUIRE TASK LIST SETTRANSID(T) END-EXEC
        SET ADDRESS OF L-IDS TO T
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(L-IDS) END-EXEC
        GOBACK.
        """,
        "01 L-NUMBERS.\n   05 L-NUMBER PIC S9(7) COMP-3 OCCURS 2.\n01 L-IDS PIC X(8).",
    )
    region = workshop.region
    waiting = region.start(lambda task: task.delay(seconds=5))
    region.register("LIST", workshop.programs.handler("LISTS"))
    listing = region.start("LIST")
    region.run()
    listing.result()
    waiting.result()
    assert workshop.out() == [b"0002PROGLIST" + bytes.fromhex("0000001C0000002C"), b"PROGLIST"]


@pytest.mark.rule("COBOL-NAMES-OF-PROGRAMS")
def test_names_of_programs_in_small_letters_are_those_in_capitals(workshop):
    (workshop.folder / "lowp.cbl").write_text(
        """\
       identification division.
       program-id. lowp.
       data division.
       working-storage section.
       77  callee pic x(8) value 'behind'.
       procedure division.
           call 'inner'
           call 'INNER'
           call callee
           cancel callee
           call callee
           exec cics return end-exec.
       identification division.
       program-id. inner.
       procedure division.
           exec cics writeq td queue('OUT') from('INNER') end-exec.
       end program inner.
       end program lowp.
       identification division.
       program-id. behind.
       data division.
       working-storage section.
       77  n pic 9 value 0.
       procedure division.
           add 1 to n
           exec cics writeq td queue('OUT') from(n) end-exec.
"""
    )
    workshop.run("LOWP")
    assert workshop.out() == [b"INNER", b"INNER", b"1", b"1"]


def test_a_program_without_data_division_issues_commands(workshop):
    (workshop.folder / "BARE.cbl").write_text(
        """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. BARE.
       PROCEDURE DIVISION.
           EXEC CICS WRITEQ TD QUEUE('OUT') FROM('X') END-EXEC.
           EXEC CICS RETURN END-EXEC.
"""
    )
    workshop.run("BARE")
    assert workshop.out() == [b"X"]


def test_send_keeps_fmh_and_last_with_what_was_sent(workshop):
    workshop.program(
        "SENDS",
        "01 D PIC X(4) VALUE 'DATA'.",
        "EXEC CICS SEND FROM(D) LENGTH(4) FMH LAST WAIT END-EXEC\nEXEC CICS RETURN END-EXEC.",
    )
    region = workshop.region
    region.install([define_terminal(name="T001")])
    region.register("SEND", workshop.programs.handler("SENDS"))
    region.screens.type("T001", "SEND")
    region.run()
    (sent,) = region.screens.screen("T001").sent
    assert (sent.command, sent.text, sent.options) == ("SEND", "DATA", ("FMH", "LAST"))


def test_a_literal_that_is_too_long_for_a_name_is_told_at_its_command(workshop):
    workshop.program(
        "TOOLONG", "01 D PIC X(3) VALUE 'ABC'.", "EXEC CICS WRITEQ TD QUEUE('OUT  X') FROM(D) END-EXEC GOBACK."
    )
    with pytest.warns(
        CobolWarning, match=r"TOOLONG\.cbl:7: WRITEQ: QUEUE\('OUT  X'\) has 6 characters; .* 'OUT ' is taken"
    ):
        workshop.run("TOOLONG")
    assert workshop.out() == [b"ABC"]


def test_a_link_to_a_program_id_whose_file_has_another_name_says_so(workshop):
    workshop.program("PAYCALC", "01 D PIC X.", "GOBACK.")
    workshop.program("CALLER", "01 D PIC X.", "EXEC CICS LINK PROGRAM('PAYCALC') NOHANDLE END-EXEC\nGOBACK.")
    (workshop.folder / "PAYCALC.cbl").rename(workshop.folder / "pay1.cbl")
    workshop.run("CALLER")
    (notice,) = workshop.region.notices
    assert str(notice) == (
        f"TDQ0065 PROGRAM(PAYCALC): No source has this name; the PROGRAM-ID of {workshop.folder / 'pay1.cbl'} is "
        "PAYCALC, but a program is found by the name of its file. Give the file and its PROGRAM-ID one name."
    )


def test_areas_of_set_and_getmain_stay_until_the_same_command_takes_another_one(workshop):
    """Records of two commands have storage of their own. LENGTH of SET is not read, a sign of ABSTIME may be X"E"."""
    workshop.program(
        "AREAS",
        """
        77 P1 USAGE POINTER.
        77 P2 USAGE POINTER.
        77 L PIC S9(4) COMP VALUE 1.
        77 R PIC S9(8) COMP.
        01 SHOWN.
           05 R1 PIC 9(4).
           05 R2 PIC 9(4).
           05 R3 PIC 9(4).
        01 W PIC X(8) VALUE X'003156796800000E'.
        01 ABS-TIME REDEFINES W PIC S9(15) COMP-3.
        01 DAY-1 PIC X(8).
        """,
        """
        EXEC CICS READQ TD QUEUE('IN') SET(P1) LENGTH(L) END-EXEC
        SET ADDRESS OF L-1 TO P1
        EXEC CICS WRITEQ TS QUEUE('KEPT') FROM('second') END-EXEC
        EXEC CICS READQ TS QUEUE('KEPT') SET(P2) LENGTH(L) ITEM(1) END-EXEC
        SET ADDRESS OF L-2 TO P2
        EXEC CICS GETMAIN SET(P1) FLENGTH(16) INITIMG('*') END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(L-1) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(L-2) LENGTH(L) END-EXEC
        EXEC CICS GETMAIN SET(P2) FLENGTH(0) RESP(R) END-EXEC
        MOVE R TO R1
        EXEC CICS FREEMAIN DATAPOINTER(P1) RESP(R) END-EXEC
        MOVE R TO R2
        EXEC CICS FREEMAIN DATAPOINTER(P1) RESP(R) END-EXEC
        MOVE R TO R3
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC
        EXEC CICS FORMATTIME ABSTIME(ABS-TIME) YYYYMMDD(DAY-1) END-EXEC
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(DAY-1) END-EXEC
        EXEC CICS PUT CONTAINER('C') CHANNEL('CH') FROM('given') END-EXEC
        EXEC CICS XCTL PROGRAM('TAKER') CHANNEL('CH') END-EXEC.
        """,
        "01 L-1 PIC X(5).\n01 L-2 PIC X(6).",
    )
    workshop.region.programs.register("TAKER", lambda task: task.writeq_td("OUT", task.get_container("C").data))
    workshop.region.writeq_td("IN", b"FIRST")
    workshop.run("AREAS")
    assert workshop.out() == [b"FIRST", b"second", b"002200000016", b"20000114", b"given"]


def test_the_eib_of_the_second_task_and_the_second_link_is_its_own(workshop):
    """Before the first command it is that of the task, with the end of the caller's last command; then it follows."""
    workshop.program(
        "EIBS",
        """
        01 REC.
           05 Q PIC X(4).
           05 S PIC X(8).
           05 C PIC 9(4).
           05 T PIC 9(3).
           05 Q2 PIC X(4).
        77 T1 PIC 9(7).
        """,
        """
        MOVE EIBREQID TO Q  MOVE EIBRSRCE TO S  MOVE EIBCALEN TO C
        MOVE EIBTIME TO T1
        IF EIBCALEN = 5 EXEC CICS DELAY FOR SECONDS(5) END-EXEC END-IF
        EXEC CICS ASKTIME END-EXEC
        COMPUTE T = EIBTIME - T1
        EXEC CICS START TRANSID('NEXT') REQID('NXTR') END-EXEC
        MOVE EIBREQID TO Q2
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(REC) END-EXEC
        EXEC CICS RETURN END-EXEC.
        """,
    )
    region = Region([define_tdqueue(name="OUT", type="INTRA")], clock=StillClock(0))
    with region:
        programs = CobolPrograms(region, sources=[workshop.folder], cache=workshop.folder / "compiled")
        region.register("EIBS", programs.handler("EIBS"))
        region.register("NEXT", lambda _task: None)
        for reqid in ("ONE", "TWO", "TWO"):
            with region.task() as task:
                task.start("EIBS", reqid=reqid)
            region.run()
            region.clock.advance(9)

        def caller(task):
            task.writeq_td("OUT", b"above")
            task.link("EIBS", bytearray(3))
            task.link("EIBS", bytearray(4))
            task.link("EIBS", bytearray(5))

        region.start(caller)
        region.run()
        shown = region.peek("OUT")
    zeros = bytes(8)
    assert (
        shown
        == [
            b"ONE " + zeros + b"0000000NXTR",
            b"TWO " + zeros + b"0000000NXTR",
            b"TWO " + zeros + b"0000000NXTR",  # nine seconds later, in EIBTIME too
            b"above",
            zeros[:4] + b"OUT     0003000NXTR",
            b"NXTREIBS    0004000NXTR",
            b"NXTREIBS    0005005NXTR",
        ]
    )


def test_no_label_no_length_and_an_odd_address(workshop):
    """ADDRESS SET fills SET from USING; ECADDR is a fullword; LENGTH(0) is no COMMAREA; no label is the abend."""
    workshop.program(
        "NOTHING",
        """
        01 P USAGE POINTER.
        01 P-NUMBER REDEFINES P PIC 9(18) COMP-5.
        01 Q USAGE POINTER.
        01 A PIC X(4) VALUE 'AREA'.
        77 R PIC S9(8) COMP.
        01 SHOWN.
           05 R1 PIC 9(4).
           05 R2 PIC 9(4).
        """,
        """
        SET Q TO ADDRESS OF A
        EXEC CICS ADDRESS SET(P) USING(Q) END-EXEC
        SET ADDRESS OF L-A TO P
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(L-A) END-EXEC
        ADD 2 TO P-NUMBER
        EXEC CICS WAIT EVENT ECADDR(P) RESP(R) END-EXEC
        MOVE R TO R1  MOVE EIBRESP2 TO R2
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC
        EXEC CICS LINK PROGRAM('BELOW') COMMAREA(A) LENGTH(0) END-EXEC
        EXEC CICS HANDLE CONDITION ERROR(WRONG) QIDERR END-EXEC
        EXEC CICS READQ TD QUEUE('NONE') INTO(A) END-EXEC.
        WRONG.
            EXEC CICS WRITEQ TD QUEUE('OUT') FROM('WRONG') END-EXEC.
        """,
        "01 L-A PIC X(4).",
    )
    given = []
    workshop.region.programs.register("BELOW", lambda task: given.append(task.commarea))
    with pytest.raises(Abend) as met:
        workshop.run("NOTHING")
    assert (met.value.code, given) == ("AEYH", [None])
    assert workshop.out() == [b"AREA", b"00160004"]
