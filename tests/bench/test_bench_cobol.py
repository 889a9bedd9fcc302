"""What COBOL adds to a command and to a warm triggered task, in empty Python calls of process time; and no growth.

The same work is done by a COBOL program and by a Python handler, side by side; what COBOL adds is the difference. The
limits are 130 for a command and 550 for a task.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tdqsim import Region, define_tdqueue
from tdqsim.cobol import CobolPrograms

from ._ratio import compare
from ._table import hold

pytestmark = [pytest.mark.bench, pytest.mark.cobc]

COMMANDS = 2000
HEAD = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. {name}.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       77  N    PIC S9(8) COMP-5 VALUE 0.
       77  L    PIC S9(4) COMP VALUE 80.
       77  R    PIC S9(8) COMP.
       01  REC  PIC X(80) VALUE ALL 'X'.
       PROCEDURE DIVISION.
"""
WRITER = """\
           PERFORM UNTIL N = 2000
              ADD 1 TO N
              EXEC CICS WRITEQ TD QUEUE('NOQ') FROM(REC) LENGTH(L)
                   RESP(R) END-EXEC
           END-PERFORM
           GOBACK.
"""
TRIGGERED = """\
           EXEC CICS READQ TD QUEUE('TRGQ') INTO(REC) LENGTH(L)
                RESP(R) END-EXEC
           EXEC CICS RETURN END-EXEC.
"""


@pytest.fixture
def region(tmp_path: Path) -> Iterator[Region]:
    definitions = [
        define_tdqueue(name="NOQ", type="INTRA"),
        define_tdqueue(name="TRGQ", type="INTRA", transid="TRIG", triggerlevel=1, atifacility="FILE"),
        define_tdqueue(name="TRGP", type="INTRA", transid="TRIP", triggerlevel=1, atifacility="FILE"),
    ]
    for name, text in (("WRITER", WRITER), ("TRIGGERD", TRIGGERED)):
        (tmp_path / f"{name}.cbl").write_text(HEAD.format(name=name) + text)
    with Region(definitions, supplied_queues=False, dfhintra={"control_intervals": 1_000_000}) as made:
        programs = CobolPrograms(made, sources=[tmp_path], cache=tmp_path / "compiled")
        made.register("WRIT", programs.handler("WRITER"))
        made.register("TRIG", programs.handler("TRIGGERD"))
        made.register("TRIP", read_one)
        made.register("WRIP", write_many)
        yield made


def write_many(task: Any) -> None:
    for _ in range(COMMANDS):
        task.writeq_td("NOQ", b"X" * 80, 80, nohandle=True)


def read_one(task: Any) -> None:
    task.readq_td("TRGP", 80, nohandle=True)


def started(region: Region, transid: str) -> Callable[[int], None]:
    def work(n: int) -> None:
        for _ in range(n // COMMANDS):
            region.start(transid)
            region.run()
            region.deleteq_td("NOQ")

    return work


def triggered(region: Region, queue: str) -> Callable[[int], None]:
    def work(n: int) -> None:
        for _ in range(n):
            region.writeq_td(queue, b"X" * 80)
            region.run()

    return work


def test_a_command_of_a_cobol_program(region: Region) -> None:
    costs = compare(
        {"COBOL": started(region, "WRIT"), "Python": started(region, "WRIP")}, n=COMMANDS * 2, rounds=9, cpu=True
    )
    added = costs["COBOL"].ratio - costs["Python"].ratio
    print(
        f"\nCOBOL adds {added:.0f} empty calls to a command ({costs['COBOL'].ratio:.0f} - {costs['Python'].ratio:.0f})"
    )
    hold(130, added, "COBOL adds to a command, ec")


def test_a_warm_triggered_task(region: Region) -> None:
    costs = compare(
        {"COBOL": triggered(region, "TRGQ"), "Python": triggered(region, "TRGP")}, n=300, rounds=9, cpu=True
    )
    added = costs["COBOL"].ratio - costs["Python"].ratio
    print(f"\nCOBOL adds {added:.0f} empty calls to a task ({costs['COBOL'].ratio:.0f} - {costs['Python'].ratio:.0f})")
    hold(550, added, "COBOL adds to a warm triggered task, ec")


def test_fifty_thousand_tasks_do_not_grow(region: Region) -> None:
    triggered(region, "TRGQ")(500)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    triggered(region, "TRGQ")(50_000)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    hold(2000, grown, "COBOL: 50,000 tasks, kilobytes more at the highest")
