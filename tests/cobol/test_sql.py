"""EXEC SQL and CALLs of programs that are not there: a test answers them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import jsonschema
import pytest
import yaml

import tdqsim
from tdqsim import Abend, Region, define_tdqueue
from tdqsim.cobol import CallAnswer, CallStub, CobolError, CobolPrograms, SqlAnswer, SqlStub, Stub, StubAnswer
from tdqsim.cobol.case_file import case_json_schema, read_case_file
from tdqsim.cobol.case_run import run_cases
from tdqsim.cobol.sql_statements import SqlStatement, statement_of
from tdqsim.cobol.translate import translate
from tdqsim.errors import UsageError
from tdqsim.facts import table
from tdqsim.layouts import load_copybook

COPYBOOK = """\
           EXEC SQL DECLARE PROD.CUST TABLE
              ( ID INTEGER NOT NULL, NAME VARCHAR(6), BALANCE DECIMAL(7,2)
           ) END-EXEC.
       01  CUST.
           05 CUST-NAME.
              49 CUST-NAME-LEN  PIC S9(4) COMP.
              49 CUST-NAME-TEXT PIC X(6) VALUE SPACES.
           05 BALANCE PIC S9(5)V99 COMP-3 VALUE 0.
           05 BALANCE-X REDEFINES BALANCE PIC X(4).
"""
PROGRAM = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. CUSTSQL.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
           EXEC SQL INCLUDE SQLCA END-EXEC.
           EXEC SQL
              INCLUDE DCLCUST
           END-EXEC.
           EXEC SQL BEGIN DECLARE SECTION END-EXEC.
       01  WS-ID PIC 9(4) VALUE 12.
       01  WS-IND PIC S9(4) COMP VALUE 0.
       01  IND-TABLE.
           05  INDS PIC S9(4) COMP OCCURS 2.
       77  REF PIC X(4) VALUE 'R'.
           EXEC SQL END DECLARE SECTION END-EXEC.
       77  HOBJ PIC S9(9) COMP-5 VALUE 7.
       77  CC PIC S9(9) COMP-5.
       77  REASON PIC S9(9) COMP-5.
       01  OPTS.
           05  OPT-A PIC X(3) VALUE 'OPT'.
           05  OPT-B PIC 9(3) COMP-3 VALUE 5.
           05  OPT-X REDEFINES OPT-B.
               10  OPT-Y PIC XX.
           05  OPT-G.
               10  OPT-Z PIC X VALUE 'Z'.
           05  OPT-H REDEFINES OPT-G.
               10  OPT-I PIC X.
       01  VAR-TEXT.
           49  VAR-LEN PIC S9(4) COMP VALUE 3.
           49  VAR-DATA PIC X(5) VALUE 'abcde'.
       77  RC PIC -(4)9.
       01  SHOWN.
           05  S-CODE PIC -(4)9.
           05  S-STATE PIC X(5).
           05  S-NAME PIC X(6).
           05  S-BAL PIC -(5)9.99.
           05  S-IND PIC -9.
           05  S-ROWS PIC -9.
           05  S-WARN PIC X.
           EXEC SQL
              DECLARE C1 CURSOR FOR SELECT NAME, BALANCE FROM PROD.CUST
               WHERE ID > :WS-ID
           END-EXEC
           EXEC SQL DECLARE C2 CURSOR WITH HOLD FOR
              SELECT NAME FROM OTHER END-EXEC.
           EXEC SQL DECLARE C3 SCROLL CURSOR FOR
              SELECT NAME FROM THIRD END-EXEC.
       LINKAGE SECTION.
       01  DFHCOMMAREA PIC X.
       PROCEDURE DIVISION.
       MAIN.
           EVALUATE DFHCOMMAREA
             WHEN 'S' PERFORM SELECTS
             WHEN 'C' PERFORM CURSORS
             WHEN 'H' PERFORM HOLDS
             WHEN 'U' PERFORM CHANGES
             WHEN 'W' PERFORM WARNS
             WHEN 'M' PERFORM CALLS
             WHEN 'D' CALL 'ONE' USING CC CALL 'TWO' USING VAR-TEXT
             WHEN 'P' PERFORM POSITIONS
           END-EVALUATE
           GOBACK.
       SELECTS.
           EXEC SQL
              SELECT NAME, BALANCE
                INTO :CUST.CUST-NAME:WS-IND,
                     :BALANCE -- it isn't :CC, END-EXEC
                FROM PROD.CUST
               WHERE ID = :WS-ID
           END-EXEC.
           PERFORM SHOW.
       CURSORS.
           EXEC SQL OPEN C1 END-EXEC
           PERFORM UNTIL SQLCODE NOT = 0
             EXEC SQL FETCH C1 INTO :CUST:INDS END-EXEC
             MOVE INDS (1) TO WS-IND
             PERFORM SHOW
           END-PERFORM
           EXEC SQL OPEN C1 END-EXEC
           PERFORM SHOW
           EXEC SQL CLOSE C1 END-EXEC
           PERFORM SHOW
           EXEC SQL FETCH C1 INTO :CUST:INDS END-EXEC
           PERFORM SHOW.
       HOLDS.
           EXEC SQL OPEN C1 END-EXEC
           EXEC SQL OPEN C2 END-EXEC
           EXEC CICS SYNCPOINT END-EXEC
           EXEC SQL FETCH C1 INTO :CUST END-EXEC
           PERFORM SHOW
           EXEC SQL FETCH C2 INTO :CUST-NAME END-EXEC
           PERFORM SHOW
           EXEC CICS SYNCPOINT ROLLBACK END-EXEC
           EXEC SQL FETCH C2 INTO :CUST-NAME END-EXEC
           PERFORM SHOW.
       POSITIONS.
           EXEC SQL OPEN C3 END-EXEC
           EXEC SQL FETCH LAST FROM C3 INTO :CUST-NAME END-EXEC
           PERFORM SHOW
           EXEC SQL FETCH NEXT FROM C3 INTO :CUST-NAME END-EXEC
           PERFORM SHOW
           EXEC SQL FETCH NEXT FROM C3 INTO :CUST-NAME END-EXEC
           PERFORM SHOW
           EXEC SQL FETCH PRIOR FROM C3 INTO :CUST-NAME END-EXEC
           PERFORM SHOW
           EXEC SQL FETCH FIRST FROM C3 INTO :CUST-NAME END-EXEC
           PERFORM SHOW
           EXEC SQL FETCH PRIOR FROM C3 INTO :CUST-NAME END-EXEC
           PERFORM SHOW
           EXEC SQL FETCH PRIOR FROM C3 INTO :CUST-NAME END-EXEC
           PERFORM SHOW
           EXEC SQL FETCH C3 INTO :CUST-NAME END-EXEC
           PERFORM SHOW
           EXEC CICS LINK PROGRAM('OWNCODE') END-EXEC.
       CHANGES.
           MOVE -1 TO WS-IND
           EXEC SQL INSERT INTO PROD.CUST (ID,
                    NAME) VALUES (:WS-ID, :REF:WS-IND)
           END-EXEC
           EXEC SQL UPDATE PROD.CUST SET NAME = :REF END-EXEC
           PERFORM SHOW
           EXEC SQL DELETE FROM OTHER WHERE CURRENT OF C2 END-EXEC
           PERFORM SHOW.
       WARNS.
           EXEC SQL WHENEVER SQLWARNING GOTO :WARNED END-EXEC
           EXEC SQL WHENEVER SQLERROR GO TO FAILED END-EXEC
           EXEC SQL WHENEVER NOT FOUND GO TO NONE END-EXEC
           EXEC SQL UPDATE A SET B = 1 END-EXEC
           MOVE 'GO ON' TO CUST-NAME-TEXT
           PERFORM SHOW
           EXEC SQL WHENEVER NOT FOUND CONTINUE END-EXEC
           EXEC SQL DELETE FROM A END-EXEC
           MOVE 'GO ON' TO CUST-NAME-TEXT
           PERFORM SHOW
           GOBACK.
       NONE.
           MOVE 'NONE' TO CUST-NAME-TEXT
           PERFORM SHOW
           GOBACK.
       FAILED.
           MOVE 'FAILED' TO CUST-NAME-TEXT
           PERFORM SHOW
           GOBACK.
       WARNED.
           MOVE 'WARNED' TO CUST-NAME-TEXT
           PERFORM SHOW
           GOBACK.
       CALLS.
           EXEC SQL WHENEVER SQLERROR CONTINUE END-EXEC
           CALL 'MQOPEN' USING HOBJ BY CONTENT 'ABC' OPTS
                BY REFERENCE CC REASON
           MOVE RETURN-CODE TO RC
           MOVE REASON TO BALANCE
           EXEC CICS WRITEQ TD QUEUE('OUT') FROM(RC) END-EXEC
           PERFORM SHOW
           CALL REF USING OPTS
             ON EXCEPTION MOVE 'ABSENT' TO CUST-NAME-TEXT
           END-CALL
           PERFORM SHOW.
       SHOW.
           MOVE SQLCODE TO S-CODE
           MOVE SQLSTATE TO S-STATE
           MOVE CUST-NAME-TEXT TO S-NAME
           MOVE BALANCE TO S-BAL
           MOVE WS-IND TO S-IND
           MOVE SQLERRD (3) TO S-ROWS
           MOVE SQLWARN0 TO S-WARN
           EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SHOWN) END-EXEC.
"""
OWN = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. OWNCODE.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       77  SQLCODE PIC S9(9) COMP-5.
       77  SQLSTATE PIC X(5).
           EXEC SQL DECLARE C3 CURSOR FOR SELECT A FROM T END-EXEC.
       PROCEDURE DIVISION.
           EXEC SQL OPEN C3 END-EXEC
           EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SQLSTATE) END-EXEC
           EXEC SQL DELETE FROM T END-EXEC
           EXEC CICS WRITEQ TD QUEUE('OUT') FROM(SQLSTATE) END-EXEC
           IF SQLCODE = -803 GOBACK.
           EXEC CICS ABEND ABCODE('CODE') END-EXEC.
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("sql")
    (made / "CUSTSQL.cbl").write_text(PROGRAM)
    (made / "OWNCODE.cbl").write_text(OWN)
    (made / "DCLCUST.cpy").write_text(COPYBOOK)
    return made


@pytest.fixture
def bank(folder):
    """Runs a part of the program with stubs; returns what it has shown."""
    region = Region([define_tdqueue(name="OUT", type="INTRA")])
    programs = CobolPrograms(region, sources=[folder], cache=folder / "compiled")

    def run(part: str, *stubs, program: str = "CUSTSQL"):
        programs.stubs[:] = stubs
        handle = region.start(lambda task: task.link(program, bytearray(part.encode())))
        region.run()
        handle.result()
        shown = [record.decode() for record in region.peek("OUT")]
        region.deleteq_td("OUT")
        return shown

    yield run
    region.close()


def test_statements_have_one_form_in_which_their_parts_are_recognised():
    text = "select A,  b into :WS-A:IND , :G.B indicator :I2\n from PROD.T1 x, T2 where c<>'it''s  x' and D = : WS-D"
    made = SqlStatement(statement_of(text))
    assert made.text == (
        "SELECT A, B INTO :WS-A :IND, :G.B INDICATOR :I2 FROM PROD.T1 X, T2 WHERE C <> 'it''s  x' AND D = :WS-D"
    )
    assert (made.kind, made.tables, made.is_about("t1"), made.is_about("PROD.T2")) == (
        "SELECT",
        ("PROD.T1", "T2"),
        True,
        False,
    )
    assert [tuple(each) for each in made.variables] == [
        ("WS-A", 0, 1, True),
        ("G.B", 2, 3, True),
        ("WS-D", 4, -1, False),
    ]


@pytest.mark.parametrize(
    ("text", "kind", "cursor", "tables"),
    [
        ("FETCH NEXT FROM C-1 INTO :A", "FETCH", "C-1", ()),
        ("FETCH C1 INTO :A", "FETCH", "C1", ()),
        ("OPEN C1 USING :A", "OPEN", "C1", ()),
        ("INSERT INTO P.T (A) VALUES (:A)", "INSERT", "", ("P.T",)),
        ("UPDATE T SET A = 1 WHERE CURRENT OF C1", "UPDATE", "C1", ("T",)),
        ("WITH Q AS (SELECT 1 FROM R) SELECT A INTO :B FROM Q", "SELECT", "", ("R", "Q")),
        ("SELECT A INTO :B FROM T1 JOIN T2 ON X = Y", "SELECT", "", ("T1", "T2")),
        ("SELECT A INTO :B FROM FINAL TABLE (INSERT INTO T VALUES(1))", "SELECT", "", ("T",)),
        ("CALL PAY.POST(:A, :B)", "CALL", "", ("PAY.POST",)),
        ("LOCK TABLE T IN SHARE MODE", "LOCK", "", ("T",)),
    ],
)
def test_statements_by_kind_cursor_and_table(text, kind, cursor, tables):
    made = SqlStatement(statement_of(text))
    assert (made.kind, made.cursor, made.tables) == (kind, cursor, tables)


def test_the_sqlca_has_the_fields_and_lengths_of_the_manual(folder):
    lengths = {row["name"]: int(row["length"]) for row in table("sqlca")}
    assert sum(lengths.values()) + 5 * lengths["SQLERRD"] == 136
    copybook = Path(__file__).parents[2] / "src/tdqsim/cobol/copybooks/SQLCA.cpy"
    layout = load_copybook(copybook).record()
    assert layout.length == 136
    assert {name: layout.field(name).length for name in lengths} == lengths


def test_answers_are_checked_when_they_are_made():
    assert (SqlAnswer(sqlcode=100).sqlstate, SqlAnswer(sqlcode=-911).sqlstate) == ("02000", "40001")
    with pytest.raises(UsageError, match="SQLSTATE of SQLCODE -30080 is not known here"):
        SqlAnswer(sqlcode=-30080)
    assert SqlAnswer(sqlcode=-30080, sqlstate="08001").sqlstate == "08001"
    with pytest.raises(UsageError, match="longer than SQLERRMC"):
        SqlAnswer(message="x" * 71)
    with pytest.raises(UsageError, match="count 'x'"):
        SqlStub(SqlAnswer(), count="x")


def test_a_wrong_whenever_is_refused():
    text = " IDENTIFICATION DIVISION. PROGRAM-ID. P.\n PROCEDURE DIVISION.\n EXEC SQL WHENEVER SQLEROR CONTINUE END-EXEC.\n"
    with pytest.raises(CobolError, match=r"p\.cbl:3: WHENEVER SQLEROR CONTINUE is not known"):
        translate(text, "p.cbl")


@pytest.mark.cobc
def test_a_select_gives_its_host_variables_a_row(bank):
    stub = SqlStub(SqlAnswer([{"CUST-NAME": "MILL", "BALANCE": "-12.5"}]), kind="SELECT", table="CUST")
    assert bank("S", stub) == ["    000000MILL     -12.50 0 0 "]
    assert stub.calls == [{"WS-ID": 12}]
    cut = SqlStub(SqlAnswer([["MILLERSON", Decimal(3)]]), statement="select name,balance into :CUST.CUST-NAME :WS-IND,"
                  " :BALANCE from PROD.CUST where id = :WS-ID")  # fmt: skip
    assert bank("S", cut) == ["    000000MILLER     3.00 9 0W"]


@pytest.mark.cobc
def test_a_select_without_a_row_with_several_and_with_a_null_value(bank):
    shown = [
        bank("S", SqlStub(SqlAnswer(rows), pattern="from prod.cust where"))[0][:10]
        for rows in ([], [["A", 1], ["B", 2]], [["A", None]], [[None, 1]])
    ]
    assert shown == ["  10002000", " -81121000", " -30522002", "    000000"]
    nulls = bank("S", SqlStub(SqlAnswer([{"CUST-NAME": None, "BALANCE": 1}])))
    assert nulls[0][-7:] == "00-1 0 "


@pytest.mark.cobc
def test_a_row_that_does_not_fit_the_host_variables_is_refused(bank):
    with pytest.raises(Abend, match=r"a row has NAME, but EXEC SQL SELECT .* gives values to CUST-NAME, BALANCE"):
        bank("S", SqlStub(SqlAnswer([{"CUST-NAME": "X", "NAME": "X"}])))
    with pytest.raises(Abend, match=r"a row has 1 values, but .* gives values to CUST-NAME, BALANCE"):
        bank("S", SqlStub(SqlAnswer([["X"]])))


@pytest.mark.cobc
def test_a_cursor_is_a_list_of_rows(bank):
    opened = SqlStub(SqlAnswer([["ABEL", 1], [None, "2.25"]]), cursor="C1", where={"WS-ID": "0012"})
    assert [line[:10] + line[16:27] for line in bank("C", opened)] == [
        "    000000     1.00 0",
        "    000000     2.25-1",
        "  10002000     2.25-1",
        " -50224502     2.25-1",
        "    000000     2.25-1",
        " -50124501     2.25-1",
    ]
    assert opened.calls == [{"WS-ID": 12}, {"WS-ID": 12}]


@pytest.mark.cobc
def test_a_cursor_stays_before_the_first_and_after_the_last_row_and_belongs_to_its_program(bank):
    opened, deleted = SqlStub(SqlAnswer([["A"], ["B"], ["C"]]), kind="OPEN"), SqlStub(SqlAnswer(sqlcode=-803))
    lines = bank("P", opened, deleted)
    assert [line[:5] + line[10:11] for line in lines[:8]] == [
        "    0C", "  100C", "  100C", "    0C", "    0A", "  100A", "  100A", "    0A",
    ]  # fmt: skip
    assert lines[8:] == ["00000", "23505"]  # the other program opens its own C3
    refused = SqlStub(SqlAnswer(sqlcode=-904), kind="OPEN", program="OWNCODE", count=1)  # the first OPEN of OWNCODE
    assert bank("P", refused, opened, deleted)[8:] == ["57011", "23505"]


@pytest.mark.cobc
def test_a_fetch_may_have_an_answer_of_its_own(bank):
    deadlock = SqlStub(SqlAnswer(sqlcode=-911, message="00C90088"), kind="FETCH", cursor="C1", count=2)
    lines = bank("C", deadlock, SqlStub(SqlAnswer([["A", 1], ["B", 2]]), table="CUST"))
    assert [line[:10] for line in lines[:2]] == ["    000000", " -91140001"]
    closed = SqlStub(SqlAnswer(), kind="CLOSE", cursor="C1")  # and so may a CLOSE, which closes the cursor too
    assert bank("C", closed, SqlStub(SqlAnswer([]), table="CUST"))[-1][:10] == " -50124501"


@pytest.mark.cobc
def test_a_syncpoint_closes_cursors_except_those_with_hold(bank):
    rows = SqlAnswer([["A"], ["B"]])
    lines = bank("H", SqlStub(SqlAnswer([["A", 1]]), cursor="C1"), SqlStub(rows, cursor="C2"))
    assert [line[:10] for line in lines] == [" -50124501", "    000000", " -50124501"]


@pytest.mark.cobc
def test_changes_have_a_row_count_and_the_test_sees_the_host_values(bank):
    inserted = SqlStub(SqlAnswer(), kind="INSERT", table="PROD.CUST", program="CUSTSQL")
    updated, deleted = SqlStub(SqlAnswer(count=3), kind="UPDATE"), SqlStub(SqlAnswer(count=0), cursor="C2")
    lines = bank("U", inserted, updated, deleted)
    assert [line[:10] + line[-3:] for line in lines] == ["    000000 3 ", "  10002000 0 "]
    assert (inserted.calls, updated.calls) == ([{"WS-ID": 12, "REF": None}], [{"REF": "R"}])


@pytest.mark.cobc
@pytest.mark.parametrize(
    ("update", "delete", "shown"),
    [
        (SqlAnswer(), SqlAnswer(count=0), ["    0GO ON ", "  100GO ON "]),
        (SqlAnswer(count=0), SqlAnswer(), ["  100NONE  "]),
        (SqlAnswer(), SqlAnswer(sqlcode=-904), ["    0GO ON ", " -904FAILED"]),
        (SqlAnswer(sqlcode=610, sqlstate="01566"), SqlAnswer(), ["  610WARNED"]),
    ],
)
def test_whenever_is_honoured(bank, update, delete, shown):
    lines = bank("W", SqlStub(update, kind="UPDATE"), SqlStub(delete, kind="DELETE"))
    assert [line[:5] + line[10:16] for line in lines] == shown


@pytest.mark.cobc
def test_a_statement_that_nothing_answers_ends_the_task_with_its_text_and_line(bank, folder):
    with pytest.raises(Abend, match="ASRA") as met:
        bank("S", SqlStub(SqlAnswer(), table="OTHER"))
    line = PROGRAM.split("\n").index("       SELECTS.") + 2
    assert f"{folder / 'CUSTSQL.cbl'}:{line}: EXEC SQL SELECT NAME, BALANCE INTO :CUST.CUST-NAME" in str(met.value)
    assert 'SqlStub(SqlAnswer(...), kind="SELECT", table="PROD.CUST")' in str(met.value)
    with pytest.raises(Abend, match="ASP3"):
        bank("S", SqlStub(SqlAnswer(abend="ASP3")))
    answered = SqlStub(lambda call: NotImplemented if call.statement.kind == "OPEN" else SqlAnswer([["Z", 1]]))
    assert bank("S", answered)[0][10:16] == "Z     "


@pytest.mark.cobc
def test_a_program_may_have_its_own_sqlcode_instead_of_the_sqlca(bank):
    stub = SqlStub(SqlAnswer(sqlcode=-803), kind="DELETE")
    opened = SqlStub(SqlAnswer([["A"]]), kind="OPEN", table="T")
    assert bank(" ", stub, opened, program="OWNCODE") == ["00000", "23505"]


@pytest.mark.cobc
def test_calls_of_programs_that_are_not_there_are_answered(bank):
    stub = CallStub("mqopen", CallAnswer({"REASON": 2035, 4: 2, "HOBJ": 9}, return_code=8), where={2: "ABC", 5: 0})
    lines = bank("M", stub)
    assert (lines[0], lines[1][16:25]) == ("    8", "  2035.00")
    assert lines[2][10:16] == "ABSENT"
    assert stub.calls == [
        {"HOBJ": 7, 2: "ABC", "OPTS": {"OPT-A": "OPT", "OPT-B": 5, "OPT-Z": "Z"}, "CC": 0, "REASON": 0}
    ]
    group = CallStub("R", CallAnswer({"OPTS": {"OPT-A": "X"}, 1: {"OPT-B": 6}}))
    bank("M", stub, group)
    assert group.calls == [{"OPTS": {"OPT-A": "OPT", "OPT-B": 5, "OPT-Z": "Z"}}]
    assert bank("M", CallStub("MQOPEN", CallAnswer()))[0] == "    0"  # RETURN-CODE
    one, two = (CallStub(name, CallAnswer()) for name in ("ONE", "TWO"))
    bank("D", one, two)  # both on one line
    assert (one.calls, two.calls) == ([{"CC": 0}], [{"VAR-TEXT": "abc"}])


@pytest.mark.cobc
def test_a_call_that_no_stub_answers_ends_the_task(bank):
    with pytest.raises(Abend, match=r"CUSTSQL\.cbl:\d+: CALL 'MQOPEN' USING HOBJ .*: no CallStub answers it"):
        bank("M", CallStub("MQOPEN", CallAnswer(), count=2))
    with pytest.raises(Abend, match="MQAB"):
        bank("M", CallStub("MQOPEN", CallAnswer(abend="MQAB")))
    with pytest.raises(Abend, match="has no parameter HCONN; it has 1 HOBJ"):
        bank("M", CallStub("MQOPEN", CallAnswer({"HCONN": 1})))
    with pytest.raises(Abend, match="'MQOPEN' not found"):  # the run-time's own message
        bank("M", Stub("WRITEQ", StubAnswer()))


CASES = """\
cases:
  - name: a cursor and changes
    given:
      sql:
        - {kind: OPEN, cursor: C1, rows: [{CUST-NAME: ABEL, BALANCE: "1.5"}, [{"null": yes}, "2"]]}
        - {kind: UPDATE, table: CUST, rowcount: 2}
        - {kind: INSERT, sqlcode: -803}
        - {cursor: C2, sqlcode: 100}
    when:
      - {program: CUSTSQL, commarea: C}
      - {program: CUSTSQL, commarea: U}
    then:
      queues:
        OUT:
          - {like: "    000000ABEL*     1.50 0 0"}
          - {like: "    000000*     2.00-1 0"}
          - {like: "  10002000*"}
          - {like: " -50224502*"}
          - {like: "    000000*"}
          - {like: " -50124501*"}
          - {like: "    000000* 2"}
          - {like: "  10002000* 0"}
      calls:
        SQL INSERT CUST: [{WS-ID: "12", REF: {"null": yes}}]
        SQL OPEN C1: [{WS-ID: {pattern: 1.}}, {}]
        SQL UPDATE: [{REF: R}]
  - name: calls
    given:
      programs:
        - {call: MQOPEN, where: {"2": ABC}, values: {REASON: "5", "1": "3"}, return_code: 4}
    when:
      - {program: CUSTSQL, commarea: M}
    then:
      queues:
        OUT: [{like: "*4"}, {like: "*5.00*"}, {like: "*ABSENT*"}]
      calls:
        CALL MQOPEN: [{HOBJ: "7", "2": ABC, OPTS: {hex: 4F5054005F5A}}]
  - name: wrong
    given:
      sql: [{kind: SELECT, rows: [[A, "1"]]}]
    when:
      - {program: CUSTSQL, commarea: S}
    then:
      calls:
        SQL SELECT CUST: [{WS-ID: "13"}]
"""


@pytest.mark.cobc
def test_case_files_answer_and_check_sql_and_calls(folder):
    (folder / "region.yaml").write_text(f"definitions: d.yaml\ncobol: {{sources: [.], cache: {folder}/compiled}}\n")
    (folder / "d.yaml").write_text("group: G\ntdqueue:\n  - {name: OUT, type: INTRA}\n")
    (folder / "sql.case.yaml").write_text(CASES)
    results = {each.name: each for each in run_cases(folder / "sql.case.yaml")}
    assert {name: str(each) for name, each in results.items()} == {
        "a cursor and changes": "",
        "calls": "",
        "wrong": "calls.SQL SELECT CUST[1].WS-ID: expected '13', found '12'",
    }
    assert results["wrong"].found["calls"] == {"SQL SELECT CUST": [{"WS-ID": "12"}]}
    assert yaml.safe_load(CASES)["cases"][0]["given"]["sql"][0]["rows"][1][0] == {"null": True}


@pytest.mark.cobc
def test_the_whole_sqlca_is_set_by_each_statement(folder):
    with Region([define_tdqueue(name="OUT", type="INTRA")]) as region:
        programs = CobolPrograms(region, sources=[folder], cache=folder / "compiled")
        programs.stubs += [
            SqlStub(SqlAnswer(sqlcode=-913, message="00C9008E"), kind="SELECT", count=1),
            SqlStub(SqlAnswer([["LONGER NAME", 1]]), kind="SELECT"),
        ]
        failed = programs.perform("CUSTSQL", "SELECTS", {"SQLWARN5": "Z", "SQLERRD (1)": 9}).storage
        fields = ("SQLCAID", "SQLCABC", "SQLCODE", "SQLERRML", "SQLERRP", "SQLWARN5", "SQLERRD (1)", "SQLSTATE")
        assert [failed[name] for name in fields] == ["SQLCA   ", 136, -913, 8, "DSN     ", " ", 0, "57033"]
        assert failed["SQLERRMC"].rstrip() == "00C9008E"
        cut = programs.perform("CUSTSQL", "SELECTS").storage
        assert [cut[name] for name in ("SQLERRML", "SQLERRMC", "SQLWARN1")] == [0, " " * 70, "W"]


def test_the_case_file_of_the_guide_is_one(tmp_path):
    guide = (Path(tdqsim.__file__).parent / "guide" / "cobol-sql.md").read_text("utf-8")
    text = guide.partition("```yaml file=cust.case.yaml\n")[2].partition("```")[0]
    (tmp_path / "region.yaml").write_text("{}\n")
    (tmp_path / "cust.case.yaml").write_text(text)
    (case,) = read_case_file(tmp_path / "cust.case.yaml").file.cases
    assert [(each.kind, each.cursor) for each in case.given.sql] == [("", "C1"), ("UPDATE", "")]
    jsonschema.validate(yaml.safe_load(text), case_json_schema())
