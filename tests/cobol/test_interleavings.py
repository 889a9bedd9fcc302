"""A thousand orders of COBOL and Python tasks, every record checked."""

from __future__ import annotations

import random

import pytest

from tdqsim import Region, define_tdqueue
from tdqsim.cobol import CobolPrograms

pytestmark = [pytest.mark.cobc, pytest.mark.slow]

MOVER = """
       IDENTIFICATION DIVISION.
       PROGRAM-ID. MOVER.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  X  PIC X(4).
       77  N  PIC S9(4) COMP VALUE 0.
       PROCEDURE DIVISION.
           EXEC CICS HANDLE CONDITION QZERO(NO-MORE) END-EXEC.
       AGAIN.
           EXEC CICS READQ TD QUEUE('IN') INTO(X) END-EXEC
           EXEC CICS SUSPEND END-EXEC
           EXEC CICS LINK PROGRAM('PUTTER') COMMAREA(X) END-EXEC
           ADD 1 TO N
           GO TO AGAIN.
       NO-MORE.
           EXEC CICS RETURN END-EXEC.
"""
PUTTER = """
       IDENTIFICATION DIVISION.
       PROGRAM-ID. PUTTER.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  SEEN  PIC X(4) VALUE SPACES.
       LINKAGE SECTION.
       01  DFHCOMMAREA PIC X(4).
       PROCEDURE DIVISION.
           IF SEEN NOT = SPACES
              EXEC CICS ABEND ABCODE('OLD ') END-EXEC
           END-IF
           MOVE DFHCOMMAREA TO SEEN
           EXEC CICS SUSPEND END-EXEC
           EXEC CICS WRITEQ TD QUEUE('LOGQ') FROM(SEEN) END-EXEC
           EXEC CICS SUSPEND END-EXEC
           EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SEEN) END-EXEC
           EXEC CICS SYNCPOINT END-EXEC
           EXEC CICS RETURN END-EXEC.
"""


def python_mover(task) -> None:
    while record := task.readq_td("IN", nohandle=True):
        task.suspend()
        task.link("PUTTER", record)


def test_a_thousand_orders_lose_and_mix_nothing(tmp_path) -> None:
    (tmp_path / "MOVER.cbl").write_text(MOVER)
    (tmp_path / "PUTTER.cbl").write_text(PUTTER)
    definitions = [
        define_tdqueue(name="IN", type="INTRA"),
        define_tdqueue(name="OUT", type="INTRA"),
        define_tdqueue(name="LOGQ", type="INTRA", recovstatus="LOGICAL"),
    ]
    orders = set()
    for seed in range(1, 1001):
        with Region(definitions, seed=seed, supplied_queues=False) as region:
            programs = CobolPrograms(region, sources=[tmp_path], cache=tmp_path / "compiled")
            records = [b"%04d" % number for number in range(12)]
            random.Random(seed).shuffle(records)
            region.seed("IN", records)
            cobol = programs.handler("MOVER")
            handles = [region.start(python_mover if at % 3 == 2 else cobol) for at in range(6)]
            region.run()
            for handle in handles:
                handle.result()
            out, logged = region.peek("OUT"), region.peek("LOGQ")
            assert sorted(out) == sorted(logged) == sorted(records), seed
            orders.add(tuple(out))
    assert len(orders) > 500
