"""Promises of stubs, traces and storage that need more than one program, one answer or one step to be seen."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tdqsim.cobol import Stub, StubAnswer, Trace, storage_of
from tdqsim.errors import TdqError

ASKS = """
EXEC CICS READQ TD QUEUE('IN') INTO(REC) RESP(R1) RESP2(R2) END-EXEC
MOVE R1 TO D1
MOVE R2 TO D2
MOVE EIBAID TO AID
EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC
EXEC CICS RETURN END-EXEC.
"""
STORAGE = """
01 REC PIC X(8) VALUE SPACES.
01 R1 PIC S9(8) COMP.
01 R2 PIC S9(8) COMP.
01 SHOWN. 05 D1 PIC 9(3). 05 D2 PIC 9(3). 05 AID PIC X.
"""


@pytest.mark.cobc
@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (StubAnswer(eib={"EIBAID": b"A"}), b"000000A"),
        (StubAnswer(resp2=7, eib={"EIBAID": b"B"}), b"000007B"),
        (StubAnswer(resp="IOERR", eib={"EIBAID": b"C"}), b"017000C"),
        (StubAnswer(resp="IOERR", resp2=5, eib={"EIBAID": b"D"}), b"017005D"),
    ],
)
def test_an_answer_sets_resp_resp2_and_the_eib(workshop, answer, shown):
    workshop.program("ASKS", STORAGE, ASKS)
    workshop.programs.stubs.append(Stub("READQ TD", answer))
    workshop.run("ASKS")
    assert workshop.out() == [shown]


def steps_of(trace: Trace, count: int) -> list[str]:
    level = SimpleNamespace(task=SimpleNamespace(number=7), module=SimpleNamespace(program="PAY"))
    for at in range(count):
        trace(level, f"STEP{at}", "PAY.cbl:1")
    return trace.lines


def test_a_trace_keeps_the_last_steps():
    trace = Trace(limit=2)
    assert steps_of(trace, 2) == ["7 PAY PAY.cbl:1 STEP0", "7 PAY PAY.cbl:1 STEP1"]
    assert steps_of(trace, 3) == ["7 PAY PAY.cbl:1 STEP1", "7 PAY PAY.cbl:1 STEP2"]
    assert len(trace.steps) <= 4


def test_a_trace_keeps_a_hundred_thousand_steps_unless_told_otherwise():
    lines = steps_of(Trace(), 100_001)
    assert (len(lines), lines[0], lines[-1]) == (100_000, "7 PAY PAY.cbl:1 STEP1", "7 PAY PAY.cbl:1 STEP100000")


@pytest.mark.cobc
def test_an_unknown_item_is_missing_in_the_program_at_the_lowest_level(workshop):
    workshop.program("CALLER", "01 MINE PIC X(3) VALUE 'OLD'.", "EXEC CICS LINK PROGRAM('INNER') END-EXEC\nGOBACK.")
    workshop.program("INNER", "01 HERS PIC X(3) VALUE 'NEW'.", "EXEC CICS DELAY FOR SECONDS(5) END-EXEC\nGOBACK.")
    waiting = workshop.region.start(workshop.programs.handler("CALLER"))
    found = {}

    def look(_task):
        storage = storage_of(waiting.local)
        found["items"] = (storage["MINE"], storage["HERS"])
        with pytest.raises(TdqError) as missing:
            storage["NOSUCH"]
        found["error"] = str(missing.value)

    handle = workshop.region.start(look)
    workshop.region.run()
    handle.result()
    assert found["items"] == ("OLD", "NEW")
    assert "INNER" in found["error"], found["error"]
    with pytest.raises(TdqError, match="NOSUCH: no COBOL program of the task runs now"):
        storage_of(waiting.local)["NOSUCH"]
