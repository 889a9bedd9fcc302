"""Case files: START requests and replies of the operator in ``given``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tdqsim.cobol.case_file import read_case_file
from tdqsim.cobol.case_run import run_cases

pytestmark = pytest.mark.cobc

PROGRAM = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. STARTED.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  REC.
           05  WS-DATA   PIC X(8) VALUE SPACES.
           05  WS-TRAN   PIC X(4) VALUE SPACES.
           05  WS-TERM   PIC X(4) VALUE SPACES.
           05  WS-QUEUE  PIC X(8) VALUE SPACES.
           05  WS-WHERE  PIC X(4) VALUE SPACES.
           05  WS-TIME   PIC 9(6).
           05  WS-REPLY  PIC X(4) VALUE SPACES.
       01  WS-RESP PIC S9(8) COMP.
       01  WS-LEN  PIC S9(8) COMP.
       01  WS-TEXT PIC X(4) VALUE 'GO? '.
       PROCEDURE DIVISION.
           EXEC CICS RETRIEVE INTO(WS-DATA) RTRANSID(WS-TRAN)
                RTERMID(WS-TERM) QUEUE(WS-QUEUE) RESP(WS-RESP) END-EXEC
           EXEC CICS WRITE OPERATOR TEXT(WS-TEXT) REPLY(WS-REPLY)
                MAXLENGTH(4) REPLYLENGTH(WS-LEN) TIMEOUT(1)
                RESP(WS-RESP) END-EXEC
           MOVE EIBTRMID TO WS-WHERE
           MOVE EIBTIME TO WS-TIME
           EXEC CICS WRITEQ TD QUEUE('OUTQ') FROM(REC) END-EXEC
           EXEC CICS RETURN END-EXEC.
"""
CANCELS = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. CANCELS.
       PROCEDURE DIVISION.
           EXEC CICS CANCEL REQID('LATER') END-EXEC
           EXEC CICS RETURN END-EXEC.
"""
CASES = """\
cases:
  - name: a task gets its START data
    given:
      clock: 2024-03-09 10:15:00
      starts:
        - {transaction: STAR, data: HELLO, terminal: T001, rtransid: BACK, rtermid: T002, queue: TSQ}
        - {transaction: STAR, data: {hex: 4c41544552202020}, after: 90, rtransid: X, rtermid: X, queue: X, reqid: LATER}
      replies: [YES, "NO"]
    then:
      queues:
        OUTQ: [HELLO   BACKT002TSQ     T001101500YES, {like: "LATER   X   X   X       ????101630NO"}]
  - name: the first input cancels a request
    given:
      starts: [{transaction: STAR, reqid: LATER, after: 60}]
    when:
      - {transaction: CANC}
    then:
      queues:
        OUTQ: []
"""
DEFINITIONS = """\
group: CASES
tdqueue:
  - {name: OUTQ, type: INTRA}
transaction:
  - {name: STAR, program: STARTED}
  - {name: CANC, program: CANCELS}
terminal:
  - {name: T001}
"""


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    (tmp_path / "STARTED.cbl").write_text(PROGRAM)
    (tmp_path / "CANCELS.cbl").write_text(CANCELS)
    (tmp_path / "definitions.yaml").write_text(DEFINITIONS)
    (tmp_path / "region.yaml").write_text("definitions: [definitions.yaml]\ncobol: {sources: [.]}\n")
    file = tmp_path / "starts.case.yaml"
    file.write_text(CASES)
    return file


def test_start_requests_and_replies_exist_before_the_first_input(cases: Path) -> None:
    assert [(each.name, str(each)) for each in run_cases(cases)] == [
        ("a task gets its START data", ""),
        ("the first input cancels a request", ""),
    ]


def test_a_case_needs_an_input_or_a_start_request(cases: Path) -> None:
    cases.write_text("cases:\n  - name: nothing happens\n    given: {replies: [YES]}\n    then: {}\n")
    (problem,) = read_case_file(cases).wrong["nothing happens"]
    assert re.search(r"starts\.case\.yaml:2: .*needs when, or starts in given", str(problem))
