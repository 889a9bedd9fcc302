"""Single paragraphs and sections of a program, with storage set by name and stubs for paragraphs that they perform."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tdqsim import Abend, Region, define_tdqueue
from tdqsim.cobol import CobolError, CobolPrograms, coverage
from tdqsim.cobol.case_run import run_cases
from tdqsim.errors import UsageError

pytestmark = pytest.mark.cobc

PROGRAM = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. FEES.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  WS-AMOUNT PIC S9(5)V99 COMP-3 VALUE 10.
       01  WS-FEE PIC S9(5)V99 COMP-3 VALUE 0.
       01  WS-KIND PIC X VALUE 'S'.
       01  WS-LOG PIC X(8) VALUE SPACES.
       01  WS-TABLE.
           05  WS-RATE PIC 9V99 OCCURS 3 VALUE 0.
       LINKAGE SECTION.
       01  DFHCOMMAREA.
           05  CA-FEE PIC 9(3)V99.
       PROCEDURE DIVISION.
       MAIN.
           EXEC CICS HANDLE CONDITION QIDERR(GONE) END-EXEC
           PERFORM COMPUTE-FEE
           GOBACK.
       GONE. GOBACK.
       COMPUTE-FEE.
           IF WS-KIND = 'S' PERFORM STANDARD-FEE
           ELSE
             PERFORM RATES THRU RATES-EXIT
           END-IF
           PERFORM LOGS.
       STANDARD-FEE.
           COMPUTE WS-FEE = WS-AMOUNT * 0.1
           .
       RATES.
           IF WS-RATE (2) = 0 GO TO RATES-EXIT.
           COMPUTE WS-FEE = WS-AMOUNT * WS-RATE (2).
       RATES-EXIT.
           EXIT.
       LOGS SECTION.
       L-1.
           MOVE 'LOGGED' TO WS-LOG.
           EXEC CICS WRITEQ TD QUEUE('OUT') FROM(WS-LOG) END-EXEC.
       L-END.
           EXIT.
       ENDS SECTION.
       E-1.
           MOVE WS-FEE TO CA-FEE
           EXEC CICS RETURN END-EXEC.
       L-END.
           MOVE 'X' TO WS-KIND
           IF WS-KIND = 'X' GOBACK.
           EXEC CICS ABEND ABCODE('PARA') END-EXEC.
       LEAVES SECTION.
           MOVE 'L' TO WS-KIND
           EXEC CICS XCTL PROGRAM('NEXT') END-EXEC.
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("paragraphs")
    (made / "FEES.cbl").write_text(PROGRAM)
    return made


@pytest.fixture
def region():
    with Region([define_tdqueue(name="OUT", type="INTRA")]) as made:
        yield made


@pytest.fixture
def programs(folder, region):
    return CobolPrograms(region, sources=[folder], cache=folder / "compiled")


def test_a_paragraph_runs_with_storage_that_is_set_by_name(programs):
    result = programs.perform("FEES", "STANDARD-FEE", {"WS-AMOUNT": "20.50"})
    assert (result.storage["WS-FEE"], result.storage["WS-KIND"], result.returned) == (Decimal("2.05"), "S", True)
    assert programs.perform("FEES", "standard-fee").storage["WS-FEE"] == Decimal("1.00")


def test_a_range_of_paragraphs_runs_to_its_end(programs):
    values = {"WS-RATE (2)": "0.25", "WS-AMOUNT": 8}
    assert programs.perform("FEES", "RATES THRU RATES-EXIT", values).storage["WS-FEE"] == 2
    assert programs.perform("FEES", "RATES through RATES-EXIT").storage["WS-FEE"] == 0


def test_stubs_replace_paragraphs_and_sections(programs):
    stubs = {"STANDARD-FEE": {"WS-FEE": 7}, "LOGS": lambda storage: storage.__setitem__("WS-LOG", storage["WS-KIND"])}
    result = programs.perform("FEES", "COMPUTE-FEE", stubs=stubs)
    assert (result.performed, result.storage["WS-FEE"], result.storage["WS-LOG"]) == (
        ["STANDARD-FEE", "LOGS"],
        7,
        "S       ",
    )
    rates = programs.perform("FEES", "COMPUTE-FEE", {"WS-KIND": "R"}, stubs={"RATES": {"WS-FEE": 3}, "L-1": {}})
    assert (rates.performed, rates.storage["WS-FEE"]) == (["RATES", "L-1"], 3)


def test_a_section_runs_and_its_commands_go_to_the_region(programs, region):
    result = programs.perform("FEES", "LOGS")
    assert (result.returned, result.storage["WS-LOG"]) == (True, "LOGGED  ")
    assert region.peek("OUT") == [b"LOGGED  "]


def test_a_paragraph_may_end_the_program(programs, region):
    commarea = bytearray(b"00000")
    result = programs.perform("FEES", "ENDS", {"WS-FEE": "1.25"}, commarea=commarea)
    assert (result.returned, bytes(commarea), result.storage["CA-FEE"]) == (False, b"00125", Decimal("1.25"))
    ended = programs.perform("FEES", "L-END OF ENDS")
    assert (ended.returned, ended.storage["WS-KIND"]) == (False, "X")
    region.programs.register("NEXT", lambda task: task.writeq_td("OUT", b"NEXT"))
    left = programs.perform("FEES", "LEAVES")  # with XCTL
    assert (left.returned, left.storage["WS-KIND"], region.peek("OUT")) == (False, "L", [b"NEXT"])
    with pytest.raises(Abend, match="ASRA"):
        programs.perform("FEES", "E-1")  # there is no COMMAREA


def test_a_paragraph_of_a_new_version_runs_when_the_version_was_taken(region, tmp_path):
    source = tmp_path / "FEES.cbl"
    programs = CobolPrograms(region, sources=[tmp_path], cache=tmp_path / "compiled")
    for factor, fee in (("0.1", 1), ("0.3", 3)):
        source.write_text(PROGRAM.replace("0.1", factor))
        programs.take(programs.compile_again().modules)
        assert programs.perform("FEES", "STANDARD-FEE").storage["WS-FEE"] == fee


def test_names_of_paragraphs_are_checked(programs):
    with pytest.raises(UsageError, match="there is no paragraph STANDARD-FEES; did you mean STANDARD-FEE"):
        programs.perform("FEES", "STANDARD-FEES")
    with pytest.raises(UsageError, match="paragraph L-END may be L-END OF LOGS, L-END OF ENDS"):
        programs.perform("FEES", "MAIN", stubs={"L-END": {}})
    with pytest.raises(CobolError, match="program NONE: there is no source"):
        programs.perform("NONE", "X")


def test_the_whole_program_runs_as_before_and_coverage_knows_no_generated_statements(programs, region, folder):
    coverage.begin()
    programs.perform("FEES", "MAIN", stubs={"LOGS": {}})
    region.start(programs.handler("FEES"))
    region.run()
    lines = coverage.collected()[str(folder / "FEES.cbl")]
    text = PROGRAM.split("\n")
    statements = {text[line - 1].strip() for line in lines}
    assert "STANDARD-FEE." not in statements
    assert lines[text.index("           PERFORM COMPUTE-FEE") + 1] == 2
    assert lines[text.index("           MOVE WS-FEE TO CA-FEE") + 1] == 0
    assert lines.branches[text.index("           IF WS-KIND = 'S' PERFORM STANDARD-FEE") + 1] == [(2, 0)]


CASES = """\
cases:
  - name: a paragraph
    when:
      - program: FEES
        paragraph: COMPUTE-FEE
        storage: {WS-KIND: R, WS-AMOUNT: "8", WS-LOG: {hex: "41"}}
        paragraphs: {RATES: {WS-FEE: "1.5"}, LOGS: {}}
    then:
      storage: {WS-FEE: "1.50", WS-LOG: {like: "A*"}}
      performed: [RATES, LOGS]
  - name: wrong
    when:
      - {program: FEES, paragraph: ENDS, commarea: "00000", storage: {WS-FEE: "2"}}
    then:
      commarea: "00200"
      storage: {WS-FEE: "3"}
      performed: [LOGS]
"""


def test_case_files_run_paragraphs(folder):
    (folder / "region.yaml").write_text(f"definitions: d.yaml\ncobol: {{sources: [.], cache: {folder}/compiled}}\n")
    (folder / "d.yaml").write_text("group: G\ntdqueue:\n  - {name: OUT, type: INTRA}\n")
    (folder / "p.case.yaml").write_text(CASES)
    results = {each.name: each for each in run_cases(folder / "p.case.yaml")}
    assert {name: str(each) for name, each in results.items()} == {
        "a paragraph": "",
        "wrong": "storage.WS-FEE: expected '3', found '2.00'\nperformed: expected LOGS, found none",
    }
    assert results["wrong"].found == {"commarea": "00200", "storage": {"WS-FEE": "2.00"}, "performed": []}
    (folder / "q.case.yaml").write_text("cases:\n  - {name: A, when: [{program: FEES, storage: {A: B}}], then: {}}\n")
    (wrong,) = run_cases(folder / "q.case.yaml")
    assert "q.case.yaml:2: " in wrong.error
    assert "storage and paragraphs belong to paragraph" in wrong.error
