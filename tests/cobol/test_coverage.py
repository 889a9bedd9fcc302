"""The trace of a program's statements and commands, and its statement coverage."""

from __future__ import annotations

import pytest

from tdqsim.cobol import CobolPrograms, Trace, coverage

pytestmark = pytest.mark.cobc

BRANCHES = """
    MOVE 1 TO N
    IF N = 2
       MOVE 3 TO N
    ELSE
       EXEC CICS WRITEQ TD QUEUE('OUT')
            FROM(N)
       END-EXEC
    END-IF
    GOBACK.
"""


def test_a_trace_has_statements_and_commands_with_their_lines(workshop):
    trace = Trace()
    workshop.programs.settings.on_statement = trace
    workshop.program("BRANCH", "77 N PIC 9.", BRANCHES)
    workshop.run("BRANCH")
    steps = [(step.place.rpartition(":")[2], step.what) for step in trace.steps]
    assert steps == [
        ("7", "MOVE"),
        ("8", "IF"),
        ("11", "EXEC CICS WRITEQ TD QUEUE('OUT') FROM(N)"),
        ("15", "GOBACK"),
    ]
    assert trace.lines[2].endswith("BRANCH.cbl:11 EXEC CICS WRITEQ TD QUEUE('OUT') FROM(N)")


def test_lines_that_were_reached_are_told_from_those_that_were_not(workshop, tmp_path):
    coverage.begin()
    workshop.program("COVER", "77 N PIC 9.", BRANCHES)
    workshop.run("COVER")
    source = str(workshop.folder / "COVER.cbl")
    assert coverage.collected()[source] == {7: True, 8: True, 9: False, 11: True, 15: True}
    coverage.leave_part(tmp_path / "cov")
    coverage.write(coverage.merged(tmp_path / "cov"), tmp_path / "cov")
    lcov = (tmp_path / "cov" / "lcov.info").read_text()
    assert f"SF:{source}\nDA:7,1\nDA:8,1\nDA:9,0\nDA:11,1\nDA:15,1\nLF:5\nLH:4\n" in lcov
    assert "COVER.cbl" in (tmp_path / "cov" / "index.html").read_text()
    page = next((tmp_path / "cov").glob("*-COVER.html")).read_text()
    assert '<span class="missed">     9' in page


def test_statements_are_not_watched_when_nobody_asks(workshop):
    workshop.program("QUIET", "77 N PIC 9.", BRANCHES)
    workshop.run("QUIET")
    other = CobolPrograms(workshop.region, sources=[workshop.folder], cache=workshop.folder / "compiled")
    assert other.settings.on_statement is None
