"""Subprograms that are CALLed, programs inside programs, and what a failing program leaves to others."""

from __future__ import annotations

import locale
import os
import re
import subprocess
import sys
import time

import pytest

from tdqsim import Abend, define_tdqueue
from tdqsim.cobol import CobolError, CobolPrograms, CobolWarning
from tdqsim.definitions import define_transaction
from tdqsim.facts import Resp
from tests.rules import rule

pytestmark = pytest.mark.cobc

COUNTER = ("77 N PIC 9(4) VALUE 0.", "ADD 1 TO N\nMOVE N TO L-N\nGOBACK.", "01 L-N PIC 9(4).")


def counter(workshop):
    """A subprogram that counts its CALLs."""
    storage, procedure, linkage = COUNTER
    workshop.program("COUNTER", storage, procedure, linkage)
    path = workshop.folder / "COUNTER.cbl"
    path.write_text(path.read_text().replace("PROCEDURE DIVISION.", "PROCEDURE DIVISION USING L-N."))


TWICE = """
CALL 'COUNTER' USING S
CALL WS-NAME USING S
EXEC CICS WRITEQ TD QUEUE('OUT') FROM(S) END-EXEC
GOBACK.
"""


def test_a_called_subprogram_keeps_its_storage_in_a_level_and_has_fresh_storage_in_the_next(workshop):
    counter(workshop)
    workshop.program("TWICE", "01 S PIC 9(4).\n01 WS-NAME PIC X(8) VALUE 'COUNTER'.", TWICE)
    workshop.program(
        "LINKER",
        "01 S PIC 9(4).",
        """
        CALL 'COUNTER' USING S
        EXEC CICS LINK PROGRAM('TWICE') END-EXEC
        CALL 'COUNTER' USING S
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(S) END-EXEC
        GOBACK.
        """,
    )
    for _ in range(3):
        workshop.run("LINKER")
    assert workshop.out() == [b"0002", b"0002"] * 3


def test_cancel_makes_the_next_call_find_fresh_storage(workshop):
    counter(workshop)
    workshop.program(
        "CANCELS",
        "01 S PIC 9(4).",
        """
        CALL 'COUNTER' USING S
        CANCEL 'COUNTER'
        CALL 'COUNTER' USING S
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(S) END-EXEC
        GOBACK.
        """,
    )
    workshop.run("CANCELS")
    assert workshop.out() == [b"0001"]


def test_two_tasks_that_wait_have_subprograms_of_their_own(workshop):
    counter(workshop)
    workshop.program(
        "SLOWLY",
        "01 S PIC 9(4).\n01 WS-NAME PIC X(8) VALUE 'COUNTER'.",
        TWICE.replace("CALL WS-NAME USING S", "EXEC CICS SUSPEND END-EXEC CALL WS-NAME USING S"),
    )
    workshop.run("SLOWLY")  # the storage of its programs is used again by one of the others
    handles = [workshop.region.start(workshop.programs.handler("SLOWLY")) for _ in range(4)]
    workshop.region.run()
    for handle in handles:
        handle.result()
    assert workshop.out() == [b"0002"] * 5


SUB = ("77 X PIC X(4).", "01 L-T PIC X(4).")


def subprogram(workshop, procedure: str) -> None:
    """A CALLed program SUB that issues commands."""
    workshop.program("SUB", SUB[0], procedure, SUB[1])
    path = workshop.folder / "SUB.cbl"
    path.write_text(
        path.read_text().replace(
            "PROCEDURE DIVISION.", "PROCEDURE DIVISION USING DFHEIBLK\n           DFHCOMMAREA L-T."
        )
    )


CALLS = """
    EXEC CICS HANDLE CONDITION QIDERR(NOT-HERE) END-EXEC
    CALL 'SUB' USING DFHEIBLK DFHCOMMAREA T END-CALL
    EXEC CICS WRITEQ TD QUEUE('OUT') FROM(T) END-EXEC
    EXEC CICS READQ TD QUEUE('NONE') INTO(T) END-EXEC
    GOBACK.
NOT-HERE.
    EXEC CICS WRITEQ TD QUEUE('OUT') FROM('MAIN') END-EXEC
    EXEC CICS RETURN END-EXEC.
"""


def test_a_called_program_issues_commands_and_has_handles_of_its_own(workshop):
    subprogram(
        workshop,
        """
            EXEC CICS HANDLE CONDITION QZERO(EMPTY-Q) QIDERR(NO-Q) END-EXEC
            EXEC CICS READQ TD QUEUE('IN') INTO(L-T) END-EXEC
            GOBACK.
        NO-Q.
            MOVE 'NOQ ' TO L-T
            GOBACK.
        EMPTY-Q.
            MOVE 'NONE' TO L-T
            EXEC CICS READQ TD QUEUE('NOWH') INTO(X) END-EXEC.
        """,
    )
    workshop.program("MAIN", "01 T PIC X(4).", CALLS)
    workshop.run("MAIN")
    assert workshop.out() == [b"NOQ ", b"MAIN"]


@pytest.mark.parametrize(
    ("fails", "code"), [("ADD 1 TO P", b"ASRA"), ("EXEC CICS ABEND ABCODE('MINE') END-EXEC", b"MINE")]
)
def test_the_abend_exit_takes_a_failure_after_a_call_whose_program_has_called_another(workshop, fails, code):
    """Both have ended when it fails, and no command was issued since."""
    workshop.program("DEEPER", "77 X PIC X.", "EXEC CICS ASKTIME END-EXEC\nGOBACK.")
    subprogram(workshop, "EXEC CICS ASKTIME END-EXEC\nCALL 'DEEPER'\nGOBACK.")
    workshop.program(
        "MAIN",
        "01 T PIC X(4) VALUE 'ZZZZ'.\n01 P REDEFINES T PIC S9(7) COMP-3.",
        f"""
            EXEC CICS HANDLE ABEND LABEL(FELL) END-EXEC
            CALL 'SUB' USING DFHEIBLK DFHCOMMAREA T
            {fails}
            GOBACK.
        FELL.
            EXEC CICS ASSIGN ABCODE(T) END-EXEC
            EXEC CICS WRITEQ TD QUEUE('OUT') FROM(T) END-EXEC
            EXEC CICS RETURN END-EXEC.
        """,
    )
    workshop.run("MAIN")
    assert workshop.out() == [code]


def test_the_handles_of_the_caller_are_not_those_of_a_called_program(workshop):
    subprogram(workshop, "EXEC CICS READQ TD QUEUE('NONE') INTO(X) END-EXEC\nGOBACK.")
    workshop.program("MAIN", "01 T PIC X(4).", CALLS)
    with pytest.raises(Abend) as caught:
        workshop.run("MAIN")
    assert caught.value.code == "AEYH"


def test_return_in_a_called_program_leaves_the_level(workshop):
    subprogram(workshop, "EXEC CICS WRITEQ TD QUEUE('OUT') FROM('SUB ') END-EXEC\nEXEC CICS RETURN END-EXEC.")
    workshop.program("MAIN", "01 T PIC X(4).", CALLS)
    workshop.run("MAIN")
    assert workshop.out() == [b"SUB "]


def test_a_call_of_a_program_that_is_nowhere_is_asra_with_its_name(workshop):
    workshop.program("LOST", "77 X PIC X.", "CALL 'NOWHERE'\nGOBACK.")
    with pytest.raises(Abend) as caught:
        workshop.run("LOST")
    assert caught.value.code == "ASRA"
    assert "NOWHERE" in str(caught.value.cause)
    assert "LOST.cbl:7" in str(caught.value.cause)


def test_a_program_inside_a_program_issues_commands(workshop):
    workshop.program(
        "OUTER",
        "01 T PIC X(4) VALUE 'OUT1'.",
        """
            CALL 'INNER'
            EXEC CICS HANDLE CONDITION QIDERR(GONE) END-EXEC
            EXEC CICS READQ TD QUEUE('NONE') INTO(T) END-EXEC
            GOBACK.
        GONE.
            EXEC CICS WRITEQ TD QUEUE('OUT') FROM(T) END-EXEC
            GOBACK.
        IDENTIFICATION DIVISION.
        PROGRAM-ID. INNER.
        DATA DIVISION.
        WORKING-STORAGE SECTION.
        77 X PIC X(4) VALUE 'IN-1'.
        PROCEDURE DIVISION.
            EXEC CICS HANDLE CONDITION QIDERR(LOST) END-EXEC
            EXEC CICS READQ TD QUEUE('NONE') INTO(X) END-EXEC
            GOBACK.
        LOST.
            EXEC CICS WRITEQ TD QUEUE('OUT') FROM(X) END-EXEC.
        END PROGRAM INNER.
        END PROGRAM OUTER.
        """,
    )
    workshop.run("OUTER")
    assert workshop.out() == [b"IN-1", b"OUT1"]


ROTTEN = """
    EXEC CICS HANDLE ABEND LABEL(OOPS) END-EXEC
    MOVE 7 TO N
    ADD 1 TO D
    EXEC CICS RETURN END-EXEC.
OOPS.
    EXEC CICS ASSIGN ABCODE(CODE-1) END-EXEC
    MOVE N TO S
    EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC
    EXEC CICS RETURN END-EXEC.
"""
ROTTEN_STORAGE = """
77 N PIC 9(4) VALUE 1.
01 X PIC X(4) VALUE 'ZZZZ'.
01 D REDEFINES X PIC S9(7) COMP-3.
01 SHOWN.
   05 CODE-1 PIC X(4).
   05 S PIC 9(4).
"""


def test_an_abend_label_takes_a_program_check_and_finds_the_storage_as_it_was(workshop):
    workshop.program("ROTTEN", ROTTEN_STORAGE, ROTTEN)
    for _ in range(2):
        workshop.run("ROTTEN")
    assert workshop.out() == [b"ASRA0007"] * 2


WILD = "MOVE 4096 TO Q\nSET ADDRESS OF L-X TO P\nMOVE 'A' TO L-X\nGOBACK."


@pytest.mark.parametrize("_again", range(2))
def test_a_bad_address_is_asra_and_the_session_goes_on(workshop, _again):
    workshop.program("WILD", "01 P USAGE POINTER.\n01 Q REDEFINES P PIC 9(18) COMP-5.", WILD, "01 L-X PIC X(4).")
    with pytest.raises(Abend) as caught:
        workshop.run("WILD")
    assert caught.value.code == "ASRA"
    assert "signal 11" in str(caught.value.cause)
    assert "WILD.cbl:12" in str(caught.value.cause)


@pytest.mark.parametrize("watched", [False, True])
def test_a_loop_without_commands_is_aica(workshop, watched):
    workshop.programs.settings.runaway_ms = 100
    if watched:
        workshop.programs.settings.on_statement = lambda *_: None
    workshop.program("LOOPS", "77 X PIC 9(4) VALUE 0.", "AGAIN.\n    MOVE 1 TO X.\n    GO TO AGAIN.")
    with pytest.raises(Abend) as caught:
        workshop.run("LOOPS")
    assert caught.value.code == "AICA"
    assert "LOOPS.cbl:" in str(caught.value.cause)


LOOPS_AROUND_COMMANDS = {
    "a read of an empty queue": "EXEC CICS READQ TD QUEUE('IN') INTO(D) RESP(R) END-EXEC",
    "ASKTIME": "EXEC CICS ASKTIME END-EXEC",
    "a read of a file that is not there": "EXEC CICS READ FILE('NONE') INTO(D) RIDFLD(D) RESP(R) END-EXEC",
    "a condition that goes to a label": "EXEC CICS HANDLE CONDITION QZERO(AGAIN) END-EXEC"
    "    EXEC CICS READQ TD QUEUE('IN') INTO(D) END-EXEC",
    "LINK to another program": "EXEC CICS LINK PROGRAM('BELOW') END-EXEC",
}


@pytest.mark.rule("COBOL-RUNAWAY")
@pytest.mark.parametrize("what", LOOPS_AROUND_COMMANDS)
def test_a_loop_around_commands_that_suspend_nothing_is_aica_with_its_line(workshop, what):
    workshop.programs.settings.runaway_ms = 60
    workshop.program("BELOW", "", "GOBACK.")
    workshop.program(
        "AROUND", "01 D PIC X(8).\n01 R PIC S9(8) COMP.", f"AGAIN.\n{LOOPS_AROUND_COMMANDS[what]}\n    GO TO AGAIN."
    )
    with pytest.raises(Abend) as caught:
        workshop.run("AROUND")
    assert caught.value.code == rule("COBOL-RUNAWAY").message == "AICA"
    assert "its commands have not suspended the task for 60 ms of processor time" in str(caught.value.cause)
    assert re.search(r"(AROUND|BELOW)\.cbl:\d+", str(caught.value.cause))


@pytest.mark.rule("COBOL-RUNAWAY")
def test_a_loop_whose_time_goes_into_its_commands_is_aica(workshop):
    """As in a server, where a command takes a hundred times as long as the statements around it."""
    workshop.programs.settings.runaway_ms = 20
    begun = []

    def slow(_options, _level):
        begun.append(time.thread_time())
        while time.thread_time() - begun[-1] < 0.001:
            pass
        if begun[-1] - begun[0] > 1:
            raise Abend("LATE")

    workshop.programs.verbs["SLOW"] = slow
    workshop.program("AROUND", "", "AGAIN.\n    EXEC CICS SLOW END-EXEC\n    GO TO AGAIN.")
    with pytest.raises(Abend) as caught:
        workshop.run("AROUND")
    assert caught.value.code == rule("COBOL-RUNAWAY").message == "AICA"


@pytest.mark.rule("COBOL-RUNAWAY")
@pytest.mark.parametrize(
    "command", ["WRITEQ TD QUEUE('OUT') FROM(D)", "SUSPEND", "READQ TD QUEUE('FULL') INTO(D)", "SYNCPOINT"]
)
def test_a_loop_around_commands_that_suspend_the_task_goes_on(workshop, command):
    """The program itself measures: it goes on until it has used several times the runaway time."""
    workshop.programs.settings.runaway_ms = 150
    used = []

    def enough(options, _level):
        used.append(time.thread_time())
        options["D"].fill(b"Y" if used[-1] - used[0] > 0.5 else b"N")

    workshop.programs.verbs["ENOUGH"] = enough
    workshop.region.install([define_tdqueue(name="FULL", type="INTRA")])
    with workshop.region.task() as task:
        for _ in range(40_000 if "FULL" in command else 0):
            task.writeq_td("FULL", b"X")
    workshop.program(
        "GOESON",
        "01 D PIC X VALUE 'N'.\n01 Y PIC X VALUE 'N'.",
        f"PERFORM UNTIL Y = 'Y'\n    EXEC CICS {command} END-EXEC\n    EXEC CICS ENOUGH D(Y) END-EXEC\nEND-PERFORM\nGOBACK.",
    )
    workshop.run("GOESON")
    assert used[-1] - used[0] > 0.5


@pytest.mark.rule("COBOL-RUNAWAY-TRAN")
@pytest.mark.parametrize(
    ("runaway", "of_the_region", "used"),
    [("SYSTEM", 60, 60), ("500", 0, 500), ("500", 60, 500)],
)
def test_runaway_of_the_transaction_wins_over_that_of_the_region(workshop, runaway, of_the_region, used):
    workshop.programs.settings.runaway_ms = of_the_region
    workshop.region.install([define_transaction(name="LOOP", program="LOOPS", runaway=runaway)])
    workshop.program("LOOPS", "", "AGAIN.\n    EXEC CICS ASKTIME END-EXEC\n    GO TO AGAIN.")
    handle = workshop.region.start("LOOP")
    workshop.region.run()
    with pytest.raises(Abend) as caught:
        handle.result()
    assert caught.value.code == rule("COBOL-RUNAWAY-TRAN").message == "AICA"
    assert "runaway_of_python" not in [each.event for each in workshop.region.notices]
    assert f"its commands have not suspended the task for {used} ms of processor time" in str(caught.value.cause)


@pytest.mark.rule("COBOL-RUNAWAY-TRAN")
def test_runaway_0_of_the_transaction_is_no_limit(workshop):
    """The program itself measures: it goes on until it has used many times the region's runaway time."""
    workshop.programs.settings.runaway_ms = 20
    used = []

    def enough(options, _level):
        used.append(time.thread_time())
        options["D"].fill(b"Y" if used[-1] - used[0] > 0.2 else b"N")

    workshop.programs.verbs["ENOUGH"] = enough
    workshop.region.install([define_transaction(name="LOOP", program="GOESON", runaway=0)])
    workshop.program(
        "GOESON",
        "01 Y PIC X VALUE 'N'.",
        "PERFORM UNTIL Y = 'Y'\n    EXEC CICS ENOUGH D(Y) END-EXEC\nEND-PERFORM\nGOBACK.",
    )
    handle = workshop.region.start("LOOP")
    workshop.region.run()
    handle.result()
    assert used[-1] - used[0] > 0.2


FAILED_AT_ONCE = """
import sys
from pathlib import Path
from tdqsim import Abend, Region
from tdqsim.cobol import CobolPrograms

folder = Path(sys.argv[1])
with Region() as region:
    programs = CobolPrograms(region, sources=[folder], cache=folder / "compiled")
    handle = region.start(programs.handler("UNGIVEN"))
    region.run()
    try:
        handle.result()
    except Abend as abend:
        print(abend.code, abend.cause)
"""


def test_where_a_program_failed_is_told_when_its_memory_is_given_back(workshop):
    workshop.program(
        "UNGIVEN",
        "01 WS-LENGTH PIC S9(4) COMP VALUE 8.\n01 WS-AREA PIC X(8).",
        "MOVE DFHCOMMAREA TO WS-AREA.\nEXEC CICS RETURN END-EXEC.",
        "01 DFHCOMMAREA.\n   05 LK-AREA PIC X OCCURS 1 TO 4096 TIMES DEPENDING ON WS-LENGTH.",
    )
    command = [sys.executable, "-c", FAILED_AT_ONCE, str(workshop.folder)]
    environment = {**os.environ, "MALLOC_PERTURB_": "165"}  # what is given back is overwritten
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ASRA")
    assert "UNGIVEN.cbl:" in done.stdout


INTERRUPTED = """
import os, signal, subprocess, sys
from pathlib import Path
from tdqsim import Region
from tdqsim.cobol import CobolPrograms

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started all of this behind itself, deaf
folder = Path(sys.argv[1])
with Region() as region:
    programs = CobolPrograms(region, sources=[folder], cache=folder / "compiled", runaway=0)
    region.register("LOOP", programs.handler("LOOPS"))
    region.start("LOOP")
    try:
        subprocess.Popen(["sh", "-c", f"sleep 1; kill -INT {os.getpid()}"])  # a thread would wait for the loop to end
        region.run()
    except KeyboardInterrupt:
        print("INTERRUPTED")
"""


def test_control_c_ends_a_loop_as_a_keyboard_interrupt(workshop):
    workshop.program("LOOPS", "77 X PIC 9(4) VALUE 0.", "AGAIN.\n    MOVE 1 TO X.\n    GO TO AGAIN.")
    command = [sys.executable, "-c", INTERRUPTED, str(workshop.folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "INTERRUPTED\n"), done.stderr


def test_programs_one_behind_the_other_in_a_file_issue_commands_with_labels_of_their_own(workshop):
    (workshop.folder / "PAIR.cbl").write_text(
        """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. PAIR.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  WS-TEXT PIC X(8) VALUE 'FIRST'.
       PROCEDURE DIVISION.
           EXEC CICS HANDLE CONDITION QZERO(NONE-LEFT) END-EXEC
           CALL 'SECOND' USING DFHEIBLK DFHCOMMAREA WS-TEXT
           CALL 'SECOND' USING DFHEIBLK DFHCOMMAREA WS-TEXT
           EXEC CICS READQ TD QUEUE('IN') INTO(WS-TEXT) END-EXEC.
       NONE-LEFT.
           MOVE 'NOTHING' TO WS-TEXT
           EXEC CICS WRITEQ TD QUEUE('OUT') FROM(WS-TEXT) END-EXEC
           EXEC CICS RETURN END-EXEC.
       END PROGRAM PAIR.
       IDENTIFICATION DIVISION.
       PROGRAM-ID. SECOND.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  WS-COUNT PIC 9(8) VALUE 0.
       LINKAGE SECTION.
       01  TEXT-GIVEN PIC X(8).
       PROCEDURE DIVISION USING TEXT-GIVEN.
           EXEC CICS HANDLE CONDITION QIDERR(NO-QUEUE) END-EXEC
           ADD 1 TO WS-COUNT
           EXEC CICS WRITEQ TD QUEUE('NONE') FROM(TEXT-GIVEN) END-EXEC.
       NO-QUEUE.
           EXEC CICS WRITEQ TD QUEUE('OUT') FROM(WS-COUNT) END-EXEC
           GOBACK.
       END PROGRAM SECOND.
"""
    )
    workshop.run("PAIR")
    assert workshop.out() == [b"00000001", b"00000002", b"NOTHING "]


def test_a_program_behind_another_is_told_with_its_own_line(workshop):
    (workshop.folder / "PAIR.cbl").write_text(
        """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. PAIR.
       PROCEDURE DIVISION.
           EXEC CICS RETURN END-EXEC.
       END PROGRAM PAIR.
       IDENTIFICATION DIVISION.
       PROGRAM-ID. SECOND.
       PROCEDURE DIVISION.
           IF EIBRESP = DFHRESP(XXXXXX) CONTINUE.
           EXEC CICS RETURN END-EXEC.
"""
    )
    with pytest.raises(CobolError) as met:
        workshop.programs.handler("PAIR")
    assert met.value.problems == (f"{workshop.folder / 'PAIR.cbl'}:9: DFHRESP(XXXXXX): there is no such condition",)


def test_a_called_program_that_has_branched_begins_anew_with_the_next_call(workshop):
    workshop.program("CALLER", "77 N PIC 9.", "CALL 'SUB'.\nCALL 'SUB'.\nEXEC CICS RETURN END-EXEC.")
    workshop.program(
        "SUB",
        "77 REC PIC X(4).\n77 BEGUN PIC X VALUE 'B'.\n77 NONE-LEFT PIC X VALUE 'N'.",
        """
        EXEC CICS HANDLE CONDITION QZERO(EMPTIED) END-EXEC.
        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(BEGUN) END-EXEC.
        EXEC CICS READQ TD QUEUE('IN') INTO(REC) END-EXEC.
        EMPTIED SECTION.
            EXEC CICS WRITEQ TD QUEUE('OUT') FROM(NONE-LEFT) END-EXEC.
            EXEC CICS READQ TD QUEUE('IN') INTO(REC) NOHANDLE END-EXEC.
            GOBACK.
        """,
    )
    workshop.run("CALLER")
    assert workshop.out() == [b"B", b"N", b"B", b"N"]


@pytest.mark.rule("PGM-LENGERR")
def test_a_commarea_is_at_most_so_long(workshop):
    refused = "".join(
        f"        EXEC CICS {command} RESP(R) RESP2(R2) END-EXEC\n"
        "        MOVE R TO S1 MOVE R2 TO S2\n"
        "        EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC\n"
        for command in (
            "LINK PROGRAM('LONGEST') COMMAREA(BIG)",
            "LINK PROGRAM('LONGEST') COMMAREA(BIG) LENGTH(32764)",
            "XCTL PROGRAM('LONGEST') COMMAREA(BIG)",
            "XCTL PROGRAM('LONGEST') COMMAREA(BIG) LENGTH(-1)",
            "RETURN COMMAREA(BIG)",
            "RETURN COMMAREA(BIG) LENGTH(32764)",
            "LINK PROGRAM('LONGEST') COMMAREA(FIRST-4) LENGTH(32764)",
            "LINK PROGRAM('LONGEST') COMMAREA(BIG) LENGTH(32763)",
            "LINK PROGRAM('LONGEST') COMMAREA(FIRST-4) LENGTH(32763)",
        )
    )
    workshop.program(
        "BIGGER",
        "01 BIG.\n   02 FIRST-4 PIC X(4).\n   02 FILLER PIC X(32760).\n77 R PIC S9(8) COMP.\n77 R2 PIC S9(8) COMP.\n"
        "01 SHOWN.\n   02 S1 PIC 9(4).\n   02 S2 PIC 9(4).",
        f"{refused}        EXEC CICS RETURN COMMAREA(BIG) LENGTH(32763) END-EXEC.\n",
    )
    workshop.program("LONGEST", "77 N PIC 9(5).", LONGEST, linkage="01 DFHCOMMAREA PIC X(32763).")
    with pytest.warns(CobolWarning, match="FIRST-4. has 4 bytes and the command uses 32763"):
        workshop.run("BIGGER")
    found = rule("PGM-LENGERR")
    met = f"{Resp[found.resp]:04d}{found.resp2:0>4}".encode()
    assert workshop.out() == [*[met] * 7, *[b"32763", b"00000000"] * 2]


LONGEST = """
MOVE EIBCALEN TO N
EXEC CICS WRITEQ TD QUEUE('OUT') FROM(N) END-EXEC
EXEC CICS RETURN END-EXEC.
"""


def test_files_are_read_in_the_users_encoding_as_before(workshop):
    """libcob sets the locale of the process when it is loaded."""
    workshop.program(
        "GREETS", "77 R PIC X(4) VALUE 'HERE'.", "EXEC CICS WRITEQ TD QUEUE('OUT') FROM(R) END-EXEC\nGOBACK."
    )
    workshop.run("GREETS")
    assert workshop.out() == [b"HERE"]
    told = "import locale; print(locale.setlocale(locale.LC_ALL))"
    fresh = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout.strip()
    assert locale.setlocale(locale.LC_ALL) == fresh


def test_sources_and_cache_may_be_relative(workshop, monkeypatch):
    workshop.program(
        "HERE", "77 R PIC X(4) VALUE 'HERE'.", LONGEST.replace("FROM(N)", "FROM(R)").partition("TO N\n")[2]
    )
    monkeypatch.chdir(workshop.folder)
    programs = CobolPrograms(workshop.region, sources=["."], cache="kept")
    workshop.region.start(programs.handler("HERE"))
    workshop.region.run()
    assert workshop.out() == [b"HERE"]


RUNG = """
import signal, sys
from pathlib import Path
from tdqsim import Region
from tdqsim.cobol import CobolPrograms

class Rung(BaseException):
    pass

def ring(*_):
    raise Rung

folder = Path(sys.argv[1])
signal.signal(signal.SIGALRM, ring)
with Region() as region:
    programs = CobolPrograms(region, sources=[folder], cache=folder / "compiled", runaway=0)
    for transaction in ("ONCE", "LOOP"):
        region.register(transaction, programs.handler("LOOPS"))
    region.start("ONCE")
    region.run()  # compiled now: Python itself drops what is raised in a destructor, as that of the compiler's Popen
    for microseconds in range(10, 610, 20):
        try:
            signal.setitimer(signal.ITIMER_REAL, microseconds / 1_000_000)
            region.start("LOOP")
            region.run()
        except Rung:
            print("RUNG")
"""


def test_a_signal_just_before_a_program_begins_is_not_lost(workshop):
    workshop.program(
        "LOOPS",
        "77 X PIC 9(4) VALUE 0.",
        "AGAIN.\n    IF EIBTRNID = 'LOOP' GO TO AGAIN.\n    EXEC CICS RETURN END-EXEC.",
    )
    command = [sys.executable, "-c", RUNG, str(workshop.folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "RUNG\n" * 30), done.stderr


RECURSIVE = """
import sys
from pathlib import Path
from tdqsim import Abend, Region, define_tdqueue
from tdqsim.cobol import CobolPrograms
import threading

def run():
    with Region([define_tdqueue(name="OUT", type="INTRA")]) as region:
        programs = CobolPrograms(region, sources=[folder], cache=folder / "compiled")
        for name in ("RECUR", "RECUR", "AFTER"):
            handle = region.start(programs.handler(name))
            region.run()
            try:
                handle.result()
            except Abend as abend:
                print(abend.code)
        print(region.peek("OUT"))

folder = Path(sys.argv[1])
if sys.argv[2] == "thread":
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
else:
    run()
"""


@pytest.mark.parametrize("where", ["main", "thread"])
@pytest.mark.parametrize("statement", ["CALL 'RECUR'", "EXEC CICS LINK PROGRAM('RECUR') END-EXEC"])
def test_a_program_that_calls_itself_for_ever_is_asra_and_the_process_goes_on(workshop, statement, where):
    workshop.program("RECUR", "77 X PIC X.", f"{statement}\nGOBACK.")
    workshop.program("AFTER", "77 X PIC X.", "EXEC CICS WRITEQ TD QUEUE('OUT') FROM('GOOD') END-EXEC GOBACK.")
    command = [sys.executable, "-c", RECURSIVE, str(workshop.folder), where]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONFAULTHANDLER"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert (done.returncode, done.stdout) == (0, "ASRA\n" * 2 + "[b'GOOD']\n"), done.stderr


def test_programs_that_call_each_other_for_ever_are_asra(workshop):
    workshop.program("PING", "77 X PIC X.", "CALL 'PONG'\nGOBACK.")
    workshop.program("PONG", "77 X PIC X.", "CALL 'PING'\nGOBACK.")
    with pytest.raises(Abend) as caught:
        workshop.run("PING")
    assert caught.value.code == "ASRA"


def test_handles_after_a_call_are_those_of_the_caller_also_without_a_command_between(workshop):
    """A CALLed program goes to its label and ends there; then the caller fails; its exit is armed again by RESET."""
    (workshop.folder / "CALLERH.cbl").write_text(
        """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. CALLERH.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  T PIC X(4).
       01  X PIC X(4) VALUE 'ZZZZ'.
       01  P REDEFINES X PIC S9(7) COMP-3.
       77  N PIC 9 VALUE 0.
       PROCEDURE DIVISION.
           EXEC CICS HANDLE ABEND LABEL(FELL) END-EXEC
           CALL 'CALLEDH' USING DFHEIBLK OMITTED T
           CALL 'CALLEDH' USING DFHEIBLK OMITTED T
           ADD 1 TO P
           EXEC CICS ABEND ABCODE('GOOD') END-EXEC.
       FELL.
           ADD 1 TO N
           EXEC CICS WRITEQ TD QUEUE('OUT') FROM(T) END-EXEC
           EXEC CICS ASSIGN ABCODE(T) END-EXEC
           EXEC CICS WRITEQ TD QUEUE('OUT') FROM(T) END-EXEC
           EXEC CICS HANDLE ABEND RESET END-EXEC
           IF N = 2 EXEC CICS LINK PROGRAM('CANCELS') END-EXEC.
           IF N > 2 EXEC CICS RETURN END-EXEC.
           EXEC CICS ABEND ABCODE('NEXT') END-EXEC.
       END PROGRAM CALLERH.
       IDENTIFICATION DIVISION.
       PROGRAM-ID. CALLEDH.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       77  N PIC 9 VALUE 0.
       LINKAGE SECTION.
       COPY DFHEIBLK.
       01  L-T PIC X(4).
       PROCEDURE DIVISION USING DFHEIBLK DFHCOMMAREA L-T.
           ADD 1 TO N
           EXEC CICS HANDLE CONDITION QZERO(NO-MORE) END-EXEC
           EXEC CICS WRITEQ TD QUEUE('OUT') FROM(EIBTRNID) END-EXEC
           EXEC CICS READQ TD QUEUE('IN') INTO(L-T) END-EXEC
           GOBACK.
       NO-MORE.
           MOVE N TO L-T.
       END PROGRAM CALLEDH.
"""
    )
    workshop.region.programs.register("CANCELS", lambda task: task.abend("LAST", cancel=True))
    for _ in range(2):
        with pytest.raises(Abend) as met:
            workshop.run("CALLERH")
        assert met.value.code == "LAST"
    assert workshop.out() == [b"RUN ", b"RUN ", b"2   ", b"ASRA", b"ASRA", b"NEXT"] * 2


def test_a_label_of_a_program_that_xctl_has_left_takes_no_abend_of_the_next_one(workshop):
    """The number of the label is that of another label in the next program. HANDLE ABEND PROGRAM stays in force."""
    workshop.program(
        "LEAVES",
        "77 X PIC X(4).",
        """
            EXEC CICS READQ TD QUEUE('IN') INTO(X) NOHANDLE END-EXEC
            IF X = 'PROG'
               EXEC CICS HANDLE ABEND PROGRAM('RESCUE') END-EXEC
            ELSE
               EXEC CICS HANDLE ABEND LABEL(FELL) END-EXEC.
            EXEC CICS XCTL PROGRAM('FOLLOWS') NOHANDLE END-EXEC.
        FELL.
            GOBACK.
        """,
    )
    workshop.program(
        "FOLLOWS",
        "77 X PIC X(4).",
        """
            EXEC CICS HANDLE CONDITION QZERO(WRONG) END-EXEC
            EXEC CICS READQ TD QUEUE('NONE') INTO(X) END-EXEC.
        WRONG.
            EXEC CICS WRITEQ TD QUEUE('OUT') FROM('WRONG') END-EXEC.
        """,
    )
    rescued: list[str] = []
    workshop.region.programs.register("RESCUE", lambda task: rescued.append(task.abcode))
    for _ in range(2):
        with pytest.raises(Abend) as met:
            workshop.run("LEAVES")
        assert (met.value.code, met.value.cause.command) == ("AEYH", "READQ TD")
    workshop.region.writeq_td("IN", b"PROG")
    workshop.run("LEAVES")
    assert (workshop.out(), rescued) == ([], ["AEYH"])


def test_handle_abend_program_before_xctl_holds_after_a_call_that_has_issued_the_first_command(workshop):
    rescued: list[str] = []
    workshop.region.programs.register("RESCUE", lambda task: rescued.append(task.abcode))
    workshop.program(
        "LEAVES",
        "77 X PIC X.",
        "EXEC CICS HANDLE ABEND PROGRAM('RESCUE') END-EXEC\nEXEC CICS XCTL PROGRAM('FOLLOWS') END-EXEC.",
    )
    workshop.program("SUB", "77 X PIC X.", "EXEC CICS ASKTIME END-EXEC\nGOBACK.")
    workshop.program("FOLLOWS", "77 X PIC X.", "CALL 'SUB'.\nEXEC CICS ABEND ABCODE('MINE') END-EXEC.")
    workshop.run("LEAVES")
    assert rescued == ["MINE"]
