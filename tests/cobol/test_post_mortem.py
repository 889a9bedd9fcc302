"""The dump of an abend: what a task was doing, what it held, and the storage of its COBOL programs."""

from __future__ import annotations

import pytest

from tdqsim.cics import Abend
from tdqsim.cobol import Trace
from tdqsim.testing import History

pytestmark = pytest.mark.cobc

MAIN = """
77 WS-COUNT PIC S9(4) COMP VALUE 5.
01 CUSTOMER.
   05 NAME PIC X(6) VALUE 'MILLER'.
   05 LINES-OF OCCURS 2.
      10 AMOUNT PIC S9(3) COMP-3 VALUE 7.
"""
STARTS = """
EXEC CICS WRITEQ TD QUEUE('LOGQ') FROM(NAME) END-EXEC
EXEC CICS LINK PROGRAM('SUB') COMMAREA(CUSTOMER) END-EXEC.
"""
SUB = """
01 N PIC S9(5) COMP-3.
01 BAD REDEFINES N PIC X(3).
"""
FAILS = """
MOVE SPACES TO BAD.
ADDING.
ADD 1 TO N.
GOBACK.
"""
AREA = """
01 DFHCOMMAREA PIC X(6).
"""


def abend(workshop):
    with pytest.raises(Abend) as caught:
        workshop.run("MAIN")
    return caught.value


def test_a_run_time_failure_leaves_its_statement_calls_and_storage(workshop):
    workshop.program("MAIN", MAIN, STARTS)
    workshop.program("SUB", SUB, FAILS, AREA)
    dump = abend(workshop).dump
    source = (workshop.folder / "SUB.cbl").read_text().splitlines()
    line = next(number for number, text in enumerate(source, 1) if "ADD 1" in text)
    assert (dump.code, dump.program, dump.transid, dump.file, dump.line, dump.statement) == (
        "ASRA", "SUB", "RUN", str(workshop.folder / "SUB.cbl"), line, "ADD 1 TO N.",
    )  # fmt: skip
    assert [each.number for each in dump.source] == [each for each in range(line - 3, line + 4) if each <= len(source)]
    assert [call.rpartition("/")[2] for call in dump.calls] == [f"SUB.cbl:{line} SUB ADDING (LINK)", "MAIN.cbl:12 MAIN"]
    shown = [(each.program, each.level, each.name, each.picture, each.value, each.hex) for each in dump.storage]
    assert ("SUB", 1, "N", "01 PIC S9(5) COMP-3", "X'202020' (not valid)", "X'202020'") in shown
    assert ("SUB", 1, "DFHCOMMAREA", "01 PIC X(6)", "'MILLER'", "X'4D494C4C4552'") in shown
    assert ("MAIN", 77, "WS-COUNT", "77 PIC S9(4) COMP", "5", "X'0005'") in shown
    assert ("MAIN", 10, "AMOUNT OF LINES-OF OF CUSTOMER (2)", "10 PIC S9(3) COMP-3", "7", "X'007C'") in shown
    assert [(each.queue, each.reads, each.writes, each.records) for each in dump.works] == [
        ("LOGQ", 0, 1, (b"MILLER",))
    ]
    assert dump.locks == (("LOGQ", "TOQ"),)
    assert list(workshop.region.diagnostics.abend_dumps) == [dump]
    text = str(dump)
    assert f"     {line:2} >        ADD 1 TO N." in text
    assert "05 NAME OF CUSTOMER = 'MILLER'" in text


def test_each_program_below_the_first_is_called_in_the_call_stack(workshop):
    for name, statement in (("TOP", "CALL 'MIDDLE'"), ("MIDDLE", "CALL 'BOTTOM'")):
        workshop.program(name, "77 X PIC X.", f"{statement}.\nGOBACK.")
    workshop.program("BOTTOM", SUB, "MOVE SPACES TO BAD ADD 1 TO N.\nGOBACK.")
    with pytest.raises(Abend) as caught:
        workshop.run("TOP")
    shown = [call.partition(" ")[2] for call in caught.value.dump.calls]
    assert shown == ["BOTTOM (CALL)", "MIDDLE (CALL)", "TOP"]


def test_a_condition_has_the_command_and_its_answer(workshop):
    workshop.program("MAIN", MAIN, "EXEC CICS WRITEQ TD QUEUE('NONE') FROM(NAME) END-EXEC.")
    dump = abend(workshop).dump
    assert (dump.code, dump.commands) == ("AEYH", ("WRITEQ TD NONE: QIDERR 0",))
    assert dump.statement == "EXEC CICS WRITEQ TD QUEUE('NONE') FROM(NAME) END-EXEC."
    assert dump.storage[0].name == "WS-COUNT"


def test_a_trace_or_a_history_gives_the_last_commands(workshop):
    workshop.program("MAIN", MAIN, STARTS)
    workshop.program("SUB", SUB, FAILS, AREA)
    workshop.programs.settings.on_statement = Trace()
    assert [each.partition(" ")[2] for each in abend(workshop).dump.commands] == [
        "EXEC CICS WRITEQ TD QUEUE('LOGQ') FROM(NAME)",
        "EXEC CICS LINK PROGRAM('SUB') COMMAREA(CUSTOMER)",
    ]
    with History().attach(workshop.region):
        commands = abend(workshop).dump.commands
    assert any("WRITEQ TD LOGQ b'MILLER'" in each for each in commands)


def test_an_abend_that_a_label_handles_leaves_no_dump(workshop):
    workshop.program(
        "MAIN",
        MAIN,
        "EXEC CICS HANDLE ABEND LABEL(OVER) END-EXEC\nEXEC CICS ABEND ABCODE('MINE') END-EXEC.\nOVER.\nGOBACK.",
    )
    workshop.run("MAIN")
    assert list(workshop.region.diagnostics.abend_dumps) == []
