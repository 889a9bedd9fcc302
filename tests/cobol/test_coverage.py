"""The trace of a program's statements and commands, and its coverage."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdqsim.cobol import CobolPrograms, Trace, coverage

pytest_plugins = ["pytester"]
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


def test_lines_are_told_with_how_often_they_were_reached(workshop, tmp_path):
    coverage.begin()
    workshop.program("COVER", "77 N PIC 9.", BRANCHES)
    for _time in range(3):
        workshop.run("COVER")
    source = str(workshop.folder / "COVER.cbl")
    assert coverage.collected()[source] == {7: 3, 8: 3, 9: 0, 11: 3, 15: 3}
    coverage.begin()
    workshop.run("COVER")
    again = coverage.collected()[source]
    assert (again, again.branches) == ({7: 1, 8: 1, 9: 0, 11: 1, 15: 1}, {8: [(0, 1)]})
    for _time in range(2):
        workshop.run("COVER")
    coverage.leave_part(tmp_path / "cov")
    coverage.write(coverage.merged(tmp_path / "cov"), tmp_path / "cov")
    lcov = (tmp_path / "cov" / "lcov.info").read_text()
    assert (
        f"SF:{source}\nBRDA:8,0,0,0\nBRDA:8,0,1,3\nBRF:2\nBRH:1\nDA:7,3\nDA:8,3\nDA:9,0\nDA:11,3\nDA:15,3\nLF:5\nLH:4\n"
        in lcov
    )
    assert "COVER.cbl" in (tmp_path / "cov" / "index.html").read_text()
    page = next((tmp_path / "cov").glob("*-COVER.html")).read_text()
    assert '<span class="hit">     7      3         MOVE 1 TO N' in page
    assert '<span class="missed">     9      0 ' in page


def test_two_programs_of_one_name_are_counted_apart(workshop, tmp_path):
    workshop.program("COVER", "77 N PIC 9.", "MOVE 1 TO N\nGOBACK.")
    first = workshop.folder / "COVER.cbl"
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "COVER.cbl"
    other.write_text(first.read_text().replace("MOVE 1 TO N", "MOVE 2 TO N"))
    programs = CobolPrograms(workshop.region, sources=[other.parent], cache=tmp_path / "compiled")
    coverage.begin()
    for program in (workshop.programs.program(first), workshop.programs.program(first), programs.program(other)):
        workshop.region.start(program)
        workshop.region.run()
    found = coverage.collected()
    assert (found[str(first)], found[str(other)]) == ({7: 2, 8: 2}, {7: 1, 8: 1})


def test_outcomes_are_those_of_all_tasks_that_run_a_program_at_the_same_time(workshop):
    coverage.begin()
    workshop.program(
        "TOGETHER", "77 N PIC 9 VALUE 1.", "EXEC CICS SUSPEND END-EXEC\nIF N = 1\n   MOVE 2 TO N\nEND-IF\nGOBACK."
    )
    handles = [workshop.region.start(workshop.programs.handler("TOGETHER")) for _ in range(2)]
    workshop.region.run()
    for handle in handles:
        handle.result()
    assert coverage.collected()[str(workshop.folder / "TOGETHER.cbl")].branches == {8: [(2, 0)]}


def test_statements_are_not_watched_when_nobody_asks(workshop):
    workshop.program("QUIET", "77 N PIC 9.", BRANCHES)
    workshop.run("QUIET")
    other = CobolPrograms(workshop.region, sources=[workshop.folder], cache=workshop.folder / "compiled")
    assert other.settings.on_statement is None


CONDITIONS = """
    MOVE 4 TO N
    IF N = 4 MOVE 1 TO M END-IF
    EVALUATE N
      WHEN 1
        MOVE 1 TO M
      WHEN 2
      WHEN 4
        MOVE 2 TO M
      WHEN 5
        MOVE 3 TO M
    END-EVALUATE
    PERFORM UNTIL N > 6
      ADD 1 TO N
    END-PERFORM
    PERFORM STEP WITH TEST AFTER
      VARYING M FROM 1 BY 1 UNTIL M > 0
    EXEC CICS HANDLE CONDITION QIDERR(DONE) END-EXEC
    IF N = 1 OR M = 9 OR (N = 2 AND M = 2)
      PERFORM STEP
    END-IF.
DONE.
    GOBACK.
STEP.
    ADD 1 TO N.
"""


def test_branches_are_the_outcomes_of_conditions(workshop, tmp_path):
    workshop.program("BRANCHES", "77 N PIC 99.\n77 M PIC 99.", CONDITIONS)
    workshop.run("BRANCHES")
    coverage.begin()
    source = str(workshop.folder / "BRANCHES.cbl")
    first = coverage.collected().get(source)
    assert first is not None
    assert not any(first.outcomes)
    workshop.run("BRANCHES")
    text = Path(source).read_text().split("\n")
    found = {text[line - 1].strip(): pairs for line, pairs in coverage.collected()[source].branches.items()}
    assert found == {
        "IF N = 4 MOVE 1 TO M END-IF": [(1, 0)],
        "WHEN 1": [(0, 1)],
        "MOVE 2 TO M": [(1, 0)],  # WHEN 2 and WHEN 4 are one condition
        "WHEN 5": [(0, 0)],
        "PERFORM UNTIL N > 6": [(1, 3)],
        "PERFORM STEP WITH TEST AFTER": [(1, 0)],
        "IF N = 1 OR M = 9 OR (N = 2 AND M = 2)": [(0, 1)],
    }
    counts = {text[line - 1].strip(): count for line, count in coverage.collected()[source].items()}
    assert (counts["IF N = 4 MOVE 1 TO M END-IF"], counts["ADD 1 TO N"], counts["MOVE 1 TO M"]) == (1, 3, 0)
    for _process in range(2):
        coverage.leave_part(tmp_path / "cov")
    coverage.write(coverage.merged(tmp_path / "cov"), tmp_path / "cov")
    page = next((tmp_path / "cov").glob("*-BRANCHES.html")).read_text()
    assert "IF N = 4 MOVE 1 TO M END-IF<i>  never false</i>" in page
    assert next(each for each in page.split("\n") if "IF N = 4" in each).startswith('<span class="part">')
    assert "7 of 14" in (tmp_path / "cov" / "index.html").read_text()


def test_the_coverage_of_a_pytest_run_has_the_programs_that_no_test_runs(pytester):
    folder = pytester.mkdir("cobol")
    lines = ["IDENTIFICATION DIVISION.", "PROGRAM-ID. {}.", "PROCEDURE DIVISION.", "    {}."]
    for name, statement in (("RUNS", "GOBACK"), ("NEVER", "STOP RUN"), ("BROKEN", "GO TO NOWHERE")):
        text = "".join(f"       {line}\n" for line in lines).format(name, statement)
        (folder / f"{name}.cbl").write_text(text)
    pytester.makepyfile(
        """
        from tdqsim import Region
        from tdqsim.cobol import CobolPrograms

        def test_runs():
            with Region() as region:
                programs = CobolPrograms(region, sources=["cobol"], cache="compiled")
                handle = region.start(programs.handler("RUNS"))
                region.run()
                handle.result()
        """
    )
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist", "--tdq-cobol-coverage=cov")
    done.assert_outcomes(passed=1)
    records = (pytester.path / "cov" / "lcov.info").read_text()
    assert "SF:cobol/NEVER.cbl\nDA:4,0\nLF:1\nLH:0\n" in records
    assert "SF:cobol/RUNS.cbl\nDA:4,1\nLF:1\nLH:1\n" in records
    assert "BROKEN" not in records


def test_the_folder_is_created_where_there_is_none_yet(tmp_path):
    coverage.write({}, tmp_path / "new" / "cov")
    assert (tmp_path / "new" / "cov" / "lcov.info").read_text() == ""
