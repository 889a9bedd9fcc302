"""Commands of the web and of unusual terminals, each answered by one line of a case file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdqsim.cobol.case_run import run_cases

pytestmark = pytest.mark.cobc

HEAD = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. {name}.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  REC          PIC X(60) VALUE SPACES.
       01  TOKEN        PIC X(8)  VALUE SPACES.
       01  AREA-1       PIC X(20) VALUE ALL '*'.
       01  AREA-2       PIC X(20) VALUE ALL '*'.
       01  AREA-3       PIC X(8)  VALUE SPACES.
       01  L1           PIC S9(8) COMP VALUE 20.
       01  L2           PIC S9(8) COMP VALUE 20.
       01  LH           PIC S9(4) COMP VALUE 20.
       01  CODE-1       PIC S9(4) COMP VALUE 0.
       01  N1           PIC 9(4).
       01  N2           PIC 9(4).
       01  R            PIC S9(8) COMP VALUE 0.
       PROCEDURE DIVISION.
"""
NOTE = "           EXEC CICS WRITEQ TD QUEUE('OUTQ') FROM(REC) END-EXEC\n"
SERVER = """\
           EXEC CICS WEB EXTRACT HTTPMETHOD(AREA-1) METHODLENGTH(L1)
                PATH(AREA-2) PATHLENGTH(L2) NOHANDLE END-EXEC
           MOVE L1 TO N1
           MOVE L2 TO N2
           STRING AREA-1(1:L1) ' ' AREA-2(1:L2) ' ' N1 N2
                DELIMITED BY SIZE INTO REC
           PERFORM NOTE-IT
           MOVE 20 TO L1
           EXEC CICS WEB READ HTTPHEADER('X-Select') NAMELENGTH(8)
                VALUE(AREA-1) VALUELENGTH(L1) RESP(R) END-EXEC
           MOVE L1 TO N1
           STRING AREA-1(1:L1) N1 DELIMITED BY SIZE INTO REC
           PERFORM NOTE-IT
           EXEC CICS WEB READ HTTPHEADER('X-None') NAMELENGTH(6)
                VALUE(AREA-1) VALUELENGTH(L1) RESP(R) END-EXEC
           IF R = DFHRESP(NOTFND)
              MOVE 'NOTFND' TO REC
              PERFORM NOTE-IT
           END-IF
           EXEC CICS WEB SEND FROM(AREA-2) FROMLENGTH(20)
                MEDIATYPE('text/plain') STATUSCODE(201) STATUSTEXT('OK')
                STATUSLEN(2) END-EXEC
           EXEC CICS INQUIRE URIMAP('PAY') SCHEME(L1) END-EXEC
           IF L1 = DFHVALUE(HTTP)
              MOVE 'HTTP' TO REC
              PERFORM NOTE-IT
           END-IF
           EXEC CICS WEB OPEN URIMAP('PAY') SCHEME(L1)
                SESSTOKEN(TOKEN) END-EXEC
           EXEC CICS RETURN END-EXEC.
       NOTE-IT.
"""
CLIENT = """\
           EXEC CICS INQUIRE URIMAP START END-EXEC
           PERFORM UNTIL R NOT = 0
              EXEC CICS INQUIRE URIMAP(AREA-3) PATH(AREA-2) NEXT
                   RESP(R) END-EXEC
              IF R = 0
                 STRING AREA-3 AREA-2 DELIMITED BY SIZE INTO REC
                 PERFORM NOTE-IT
              END-IF
           END-PERFORM
           EXEC CICS INQUIRE URIMAP END END-EXEC
           EXEC CICS WEB OPEN HOST('pay.example') HOSTLENGTH(11)
                SESSTOKEN(TOKEN) END-EXEC
           EXEC CICS WEB CONVERSE SESSTOKEN(TOKEN) GET
                INTO(AREA-1) TOLENGTH(L1) STATUSCODE(CODE-1)
                STATUSTEXT(AREA-3) STATUSLEN(L2) END-EXEC
           MOVE CODE-1 TO N1
           MOVE L1 TO N2
           STRING AREA-1(1:L1) N1 N2 DELIMITED BY SIZE INTO REC
           PERFORM NOTE-IT
           EXEC CICS WEB CLOSE SESSTOKEN(TOKEN) END-EXEC
           EXEC CICS RETURN END-EXEC.
       NOTE-IT.
"""
BATCH = """\
           PERFORM UNTIL R NOT = 0
              MOVE 20 TO LH
              EXEC CICS RECEIVE INTO(REC) LENGTH(LH) RESP(R) END-EXEC
              IF R = 0 OR R = DFHRESP(EOC)
                 PERFORM NOTE-IT
              END-IF
           END-PERFORM
           MOVE 'DONE' TO REC
           EXEC CICS SEND FROM(REC) LENGTH(4) FMH LAST END-EXEC
           EXEC CICS RETURN END-EXEC.
       NOTE-IT.
"""
CASES = """\
cases:
  - name: the program is a web server
    given:
      stubs:
        - {command: WEB EXTRACT, answer: {values: {HTTPMETHOD: GET, PATH: /accounts/42}}}
        - {command: WEB READ, where: {HTTPHEADER: X-Select}, answer: {values: {VALUE: NAME}}}
        - {command: WEB READ, answer: {resp: NOTFND}}
        - {command: WEB SEND}
        - {command: INQUIRE URIMAP, answer: {values: {SCHEME: HTTP}}}
        - {command: WEB OPEN, where: {SCHEME: HTTP}}
    when: [{transaction: SERV}]
    then:
      queues: {OUTQ: [GET /accounts/42 00030012, NAME0004, NOTFND, HTTP]}
      calls:
        WEB SEND: [{FROM: "/accounts/42", STATUSTEXT: OK}]
        WEB OPEN: [{SCHEME: HTTP}]
  - name: the program is a web client
    given:
      stubs:
        - {command: INQUIRE URIMAP NEXT, count: 1, answer: {values: {URIMAP: PAY, PATH: /pay}}}
        - {command: INQUIRE URIMAP NEXT, answer: {resp: END}}
        - {command: INQUIRE URIMAP}
        - {command: WEB CONVERSE, answer: {values: {INTO: PAID, STATUSCODE: 200, STATUSTEXT: OK}}}
        - {command: WEB}
    when: [{transaction: CLIE}]
    then:
      queues: {OUTQ: [PAY     /pay, PAID02000004]}
  - name: a terminal that sends a chain
    given:
      stubs:
        - {command: RECEIVE, count: 3, answer: {values: {INTO: THIRD}, resp: EOC, eib: {EIBEOC: {hex: FF}}}}
        - {command: RECEIVE, answer: {values: {INTO: NEXT}}}
        - {command: SEND}
    when: [{transaction: BATC}]
    then:
      queues: {OUTQ: [NEXT, NEXT, THIRD]}
      calls:
        SEND: [{FROM: DONE, FMH: "", LAST: ""}]
        RECEIVE: [{LENGTH: 20}, {LENGTH: "020"}, {LENGTH: {hex: "0014"}}]
"""
DEFINITIONS = """\
group: WEB
tdqueue:
  - {name: OUTQ, type: INTRA}
transaction:
  - {name: SERV, program: SERVER}
  - {name: CLIE, program: CLIENT}
  - {name: BATC, program: BATCH}
"""


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    for name, procedure in {"SERVER": SERVER, "CLIENT": CLIENT, "BATCH": BATCH}.items():
        again = f"{NOTE}           MOVE SPACES TO REC.\n"
        (tmp_path / f"{name}.cbl").write_text(HEAD.format(name=name) + procedure + again)
    (tmp_path / "definitions.yaml").write_text(DEFINITIONS)
    (tmp_path / "region.yaml").write_text("definitions: [definitions.yaml]\ncobol: {sources: [.]}\n")
    file = tmp_path / "web.case.yaml"
    file.write_text(CASES)
    return file


def test_one_line_answers_a_command_of_the_web_or_of_a_terminal(cases: Path) -> None:
    assert {each.name: str(each) for each in run_cases(cases)} == {
        "the program is a web server": "",
        "the program is a web client": "",
        "a terminal that sends a chain": "",
    }


def test_a_number_that_differs_is_shown_and_updated_as_a_number(cases: Path) -> None:
    cases.write_text(CASES.replace('LENGTH: "020"', "LENGTH: 21"))
    results = list(run_cases(cases))
    assert [str(each) for each in results] == ["", "", "calls.RECEIVE[2].LENGTH: expected '21', found '20'"]
    assert results[2].found["calls"]["RECEIVE"] == [{"LENGTH": "20"}, {"LENGTH": "20"}, {"LENGTH": {"hex": "0014"}}]
