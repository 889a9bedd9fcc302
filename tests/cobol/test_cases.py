"""Case files: tests of COBOL transactions in YAML."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import pytest
import yaml

import tdqsim
from tdqsim.cli import main
from tdqsim.cobol.calls import _Call
from tdqsim.cobol.case_file import case_json_schema, read_case_file
from tdqsim.cobol.case_run import run_cases
from tdqsim.errors import DefinitionError

pytestmark = pytest.mark.cobc

COPYBOOK = """\
       01  PAY-RECORD.
           05  PAY-ID            PIC 9(6).
           05  PAY-NAME          PIC X(10) VALUE SPACES.
           05  PAY-AMOUNT        PIC S9(5)V99 COMP-3 VALUE 0.
           05  PAY-COUNT         PIC S9(4) COMP.
"""
PROGRAM = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. PAYPROG.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
           COPY PAYREC.
       01  WS-RESP PIC S9(8) COMP.
       01  WS-OLD  PIC X(12) VALUE SPACES.
       01  WS-DATE PIC 9(8).
       PROCEDURE DIVISION.
           ACCEPT WS-DATE FROM DATE YYYYMMDD
           PERFORM UNTIL WS-RESP NOT = 0
             EXEC CICS READQ TD QUEUE('PAYQ') INTO(PAY-RECORD)
                  RESP(WS-RESP) END-EXEC
             IF WS-RESP = 0
               ADD 1 TO PAY-COUNT
               ADD 1.25 TO PAY-AMOUNT
               EXEC CICS WRITEQ TD QUEUE('OUTQ') FROM(PAY-RECORD)
               END-EXEC
               EXEC CICS WRITEQ TS QUEUE('LOG') FROM(PAY-NAME) END-EXEC
             END-IF
           END-PERFORM
           EXEC CICS READ FILE('ACCT') INTO(WS-OLD) RIDFLD('K1')
                RESP(WS-RESP) END-EXEC
           EXEC CICS START TRANSID('NEXT') FROM(WS-DATE) END-EXEC
           EXEC CICS WRITE OPERATOR TEXT(WS-OLD) END-EXEC
           EXEC CICS RETURN END-EXEC.
"""
ADDER = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. ADDER.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       77  X PIC X.
       LINKAGE SECTION.
       01  DFHCOMMAREA.
           05  A PIC 9(3).
           05  B PIC 9(3).
       PROCEDURE DIVISION.
           ADD A TO B
           EXEC CICS RETURN END-EXEC.
"""
NEXT = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. NEXTPROG.
       PROCEDURE DIVISION.
           EXEC CICS ABEND ABCODE('LATE') END-EXEC.
"""
ECHO = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. ECHO.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       77  WS-IN PIC X(20) VALUE SPACES.
       77  WS-LEN PIC S9(4) COMP VALUE 20.
       PROCEDURE DIVISION.
           EXEC CICS RECEIVE INTO(WS-IN) LENGTH(WS-LEN) END-EXEC
           EXEC CICS SEND TEXT FROM(WS-IN) ERASE END-EXEC
           EXEC CICS RETURN END-EXEC.
"""
DEFINITIONS = """\
group: PAY
tdqueue:
  - {name: PAYQ, type: INTRA, transid: PAYP, triggerlevel: 2, atifacility: FILE}
  - {name: OUTQ, type: INTRA}
transaction:
  - {name: PAYP, program: PAYPROG}
  - {name: ECHO, program: ECHO}
  - {name: NEXT, program: NEXTPROG}
terminal:
  - {name: T001}
"""
CASES = """\
# what the payments team expects
cases:
  - name: payments are posted
    given:
      clock: 2024-03-09 10:15:00
      queues:
        PAYQ:
          - {layout: copy/PAYREC.cpy, fields: {PAY-ID: 42, PAY-NAME: MILLER, PAY-AMOUNT: "12.50"}}
          - {layout: copy/PAYREC.cpy, fields: {PAY-ID: "7", PAY-AMOUNT: "-1.25", PAY-COUNT: "-3"}}
      files:
        ACCT: {keylength: 2, records: [K1OLD, K2NEW]}
      stubs:
        - {command: START, answer: {}}
    when:
      - {transaction: PAYP}
    then:
      queues:
        PAYQ: []
        OUTQ:   # the record is changed
          - {layout: copy/PAYREC.cpy, fields: {PAY-ID: "42", PAY-NAME: {like: MIL*}, PAY-AMOUNT: "13.75", PAY-COUNT: "1"}}
          - {hex: 303030303037202020202020202020200000000CFFFE}
      ts:
        LOG: [{pattern: 'M[A-Z]+R'}, ""]
      files:
        ACCT: [K1OLD, {like: K2*}]
      messages: [K1OLD]
      calls:
        START: [{TRANSID: NEXT, FROM: "20240309"}]

  - name: the trigger level starts the task, and the task that it starts fails
    given:
      stubs:
        - {command: READ, answer: {resp: NOTFND}}
    when:
      - {write: PAYQ, records: [A]}
      - {write: PAYQ, records: [{layout: copy/PAYREC.cpy, fields: {PAY-ID: "1"}}]}
      - {program: ADDER}  # without a COMMAREA: ASRA, but the first abend counts
    then:
      abend: LATE
  - name: a program with a COMMAREA
    when:
      - {program: ADDER, commarea: "005007"}
    then:
      commarea: "005012"
  - name: a terminal
    when:
      - {terminal: T001, text: ECHO FIRST}
      - {terminal: T001, text: ECHO HELLO}
    then:
      screen: {T001: {text: ECHO HELLO}}
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "copy").mkdir()
    (tmp_path / "cobol").mkdir()
    (tmp_path / "copy" / "PAYREC.cpy").write_text(COPYBOOK)
    for name, text in (("PAYPROG", PROGRAM), ("ADDER", ADDER), ("NEXTPROG", NEXT), ("ECHO", ECHO)):
        (tmp_path / "cobol" / f"{name}.cbl").write_text(text)
    (tmp_path / "pay.yaml").write_text(DEFINITIONS)
    (tmp_path / "region.yaml").write_text(
        "definitions: [pay.yaml]\ncobol: {sources: [cobol], copybooks: [copy], cache: cache}\n"
    )
    (tmp_path / "pay.case.yaml").write_text(CASES)
    return tmp_path


@pytest.fixture
def tdq_test(capsys):
    """Run ``tdq cobol test``; gives the exit code and the output."""

    def run(*arguments: object) -> tuple[int, str]:
        code = main(["cobol", "test", *map(str, arguments)])
        return code, capsys.readouterr().out

    return run


def test_cases_pass(place):
    results = list(run_cases(place / "pay.case.yaml"))
    assert [str(result) for result in results if not result.passed] == []
    assert len(results) == 4


def test_differences_are_shown_field_by_field(place):
    path = place / "pay.case.yaml"
    text = CASES.replace('PAY-AMOUNT: "13.75"', 'PAY-AMOUNT: "14"').replace("[K1OLD]", "[NONE, MORE]")
    text = text.replace("      calls:\n", "      calls:\n        READ: []\n")
    path.write_text(text.replace("20240309", "20240310"))
    (result,) = run_cases(path, "payments are posted")
    assert [str(each) for each in result.differences] == [
        "queues.OUTQ[1].PAY-AMOUNT: expected '14', found '13.75'",
        "messages: expected 2 records, found 1",
        "messages[1]: expected 'NONE', found 'K1OLD'",
        "calls.READ: expected 0 commands, found 1",
        "calls.START[1].FROM: expected '20240310', found '20240309'",
    ]


def test_an_abend_that_is_not_expected_fails_the_case_and_its_reason_is_shown(place):
    path = place / "pay.case.yaml"
    path.write_text(CASES.replace("abend: LATE", "queues: {}").replace('"005007"', '"00500 "'))
    results = list(run_cases(path))
    assert [str(each.differences[0]) for each in results if not each.passed] == [
        "abend: expected none, found LATE",
        "abend: expected none, found ASRA",
    ]
    late, bad = (str(each) for each in results if not each.passed)
    assert ": abend LATE" in late
    assert "data exception (S0C7): 'B' not numeric: '00 '" in bad
    assert re.search(r"^ +\d+ > +ADD ", bad, re.MULTILINE)
    assert re.search(r"^ +\d\d B.* = (?:'00 '|X'303020' \(not valid\))$", bad, re.MULTILINE)


def test_the_command_line_writes_junit_and_coverage(place, tdq_test):
    """The coverage has the program that no case runs."""
    never = ADDER.replace("ADDER", "NEVER").replace("77  X PIC X.", "77  X PIC 9 VALUE 0.")
    head = never.partition("       LINKAGE")[0]
    (place / "cobol" / "NEVER.cbl").write_text(
        f"{head}       PROCEDURE DIVISION.\n           ADD 1 TO X\n           GOBACK.\n"
    )
    (place / "more").mkdir()
    (place / "more" / "bad.case.yaml").write_text(
        "cases:\n  - {name: a & b, when: [{program: ADDER, commarea: '001001'}], then: {commarea: '003'}}\n"
    )
    code, output = tdq_test(place, "--junit", place / "junit.xml", "--coverage", place / "coverage")
    assert code == 1
    assert f"passed {place / 'pay.case.yaml'}: payments are posted" in output
    assert "  commarea: expected '003', found '001002'" in output
    assert "5 cases, 1 failed" in output
    suites = ET.parse(place / "junit.xml").getroot()
    assert [(suite.get("tests"), suite.get("failures")) for suite in suites] == [("1", "1"), ("4", "0")]
    failure = suites[0][0][0]
    assert suites[0][0].get("name") == "a & b"
    assert failure.get("message") == "commarea: expected '003', found '001002'"
    found = (place / "coverage" / "lcov.info").read_text()
    assert f"SF:{place / 'cobol' / 'PAYPROG.cbl'}\n" in found
    never = found.partition(f"SF:{place / 'cobol' / 'NEVER.cbl'}\n")[2].partition("end_of_record")[0]
    assert never.splitlines() == ["DA:7,0", "DA:8,0", "LF:2", "LH:0"]


def test_update_changes_what_differs_and_nothing_else(place, tdq_test):
    path = place / "pay.case.yaml"
    path.write_text(CASES.replace('"13.75"', '"14"').replace('commarea: "005012"', 'commarea: "999"'))
    assert tdq_test(path, "--update")[0] == 0
    text = path.read_text()
    assert tdq_test(path)[0] == 0
    assert text.startswith("# what the payments team expects\ncases:\n")
    found = yaml.safe_load(text)["cases"]
    first = found[0]["then"]
    assert first["queues"]["OUTQ"][0]["fields"]["PAY-AMOUNT"] == "13.75"
    assert found[2]["then"] == {"commarea": "005012"}
    assert found[1:2] + found[3:] == yaml.safe_load(CASES)["cases"][1:2] + yaml.safe_load(CASES)["cases"][3:]


def test_pytest_collects_case_files(place):
    (place / "pay.case.yaml").write_text(CASES.replace('commarea: "005012"', 'commarea: "999"'))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", str(place)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=place, check=False)
    assert done.returncode == 1, done.stdout
    assert "1 failed, 3 passed" in done.stdout
    assert "commarea: expected '999', found '005012'" in done.stdout
    assert "Traceback" not in done.stdout


def test_handlers_are_imported_from_the_region_directory(place, tdq_test):
    (place / "beside_case.py").write_text("def register(region):\n    pass\n")
    with (place / "region.yaml").open("a") as file:
        file.write("handlers: [beside_case]\n")
    (place / "pay.case.yaml").write_text("cases:\n  - {name: one, when: [{program: ADDER}], then: {}}\n")
    code, out = tdq_test("--check", place / "pay.case.yaml")
    assert code == 0, out


def test_mistakes_in_a_case_file_are_named_with_their_lines(place):
    path = place / "pay.case.yaml"
    path.write_text(
        "cases:\n  - name: one\n    given:\n      clock: noon\n    when:\n      - {transactoin: PAYP}\n"
        "    then:\n      queues:\n        OUTQ: [{hex: 0G}]\n"
    )
    lines = "\n".join(map(str, read_case_file(path).wrong["one"]))
    for line, what in ((4, "clock"), (6, "transactoin"), (9, "hex")):
        assert any(each.startswith(f"{path}:{line}:") and what in each for each in lines.splitlines()), lines


def test_a_case_file_may_say_its_format_and_another_one_is_refused(place):
    path = place / "pay.case.yaml"
    rest = "cases:\n  - {name: one, when: [{transaction: PAYP}], then: {}}\n"
    path.write_text(f"format: 1\n{rest}")
    assert [case.name for case in read_case_file(path).file.cases] == ["one"]
    path.write_text(f"format: 2\n{rest}")
    with pytest.raises(DefinitionError) as met:
        read_case_file(path)
    assert str(met.value) == f"{path}:1: format = '2': is another version of the format; this tdqsim reads format 1"


MISTAKEN = {
    "when:\n    - {transactoin: PAYP}\n    then: {}": (4, "is no key here; did you mean transaction?"),
    "whem:\n    - {transaction: PAYP}\n    then: {}": (3, "is no key here; did you mean when?"),
    "when:\n    - {transaction: PAYP}": (2, "then: is missing; then: {} expects only that no task abends"),
    "given: {clock: noon}\n    when: [{transaction: PAYP}]\n    then: {}": (3, "given.clock"),
    "given: {initial: NULLS}\n    when: [{transaction: PAYP}]\n    then: {}": (
        3, "given.initial = 'NULLS': Input should be 'ZEROS', 'SPACES', 'LOW-VALUES' or 'UNDEFINED'"),
    "when:\n    - {transaction: PAYQ}\n    then: {}": (4, "transaction PAYQ is not defined; did you mean PAYP?"),
    "when:\n    - {program: ADDDER}\n    then: {}": (4, "there is no program of this name; did you mean ADDER?"),
    "when:\n    - write: PAYO\n      records: [A]\n    then: {}": (4, "queue PAYO is not installed; did you mean PAYQ?"),
    "given:\n      queues:\n        PAYO: []\n    when: [{transaction: PAYP}]\n    then: {}": (
        5, "queue PAYO is not installed; did you mean PAYQ?"),
    "given:\n      queues:\n        PAYQ:\n        - layout: copy/PAYREC.cpy\n          fields:\n            PAY-NAMES: X\n"
    "    when: [{transaction: PAYP}]\n    then: {}": (8, "has no field 'PAY-NAMES'; did you mean PAY-NAME?"),
    "given:\n      queues:\n        PAYQ: [{layout: copy/PAYREC.cpy, fields: {PAY-AMOUNT: much}}]\n"
    "    when: [{transaction: PAYP}]\n    then: {}": (5, "PAY-AMOUNT: 'much' is no number"),
    "given:\n      queues:\n        PAYQ: [{layout: copy/NONE.cpy, fields: {A: B}}]\n"
    "    when: [{transaction: PAYP}]\n    then: {}": (5, "copy/NONE.cpy"),
    "when:\n    - write: PAYQ\n      records:\n      - {layout: copy/PAYREC.cpy, fields: {PAY-NAMES: X}}\n    then: {}": (
        6, "has no field 'PAY-NAMES'; did you mean PAY-NAME?"),
    "when: [{transaction: PAYP}]\n    then:\n      queues:\n        OUTQ:\n"
    "        - {layout: copy/PAYREC.cpy, fields: {PAY-NAMES: X}}": (7, "did you mean PAY-NAME?"),
    "when: [{transaction: PAYP}]\n    then:\n      queues:\n        OUTQ: [{pattern: '('}]": (6, "is no regular expression"),
    "when: [{transaction: PAYP}]\n    then:\n      queues:\n        OUTQ: [{hex: 0G}]": (6, "hex = '0G'"),
    "when: [{transaction: PAYP}]\n    then:\n      calls:\n        READQ TD:\n        - {QUEEU: PAYQ}": (
        7, "QUEEU is not an option of READQ TD; did you mean QUEUE?"),
    "given:\n      stubs:\n      - {command: READQ TD, where: {QUEEU: PAYQ}}\n    when: [{transaction: PAYP}]\n"
    "    then: {}": (5, "QUEEU is not an option of READQ TD; did you mean QUEUE?"),
    "given:\n      stubs:\n      - command: READ\n        answer: {values: {INTOO: X}}\n    when: [{transaction: PAYP}]\n"
    "    then: {}": (6, "INTOO is not an option of READ; did you mean INTO?"),
    "given:\n      stubs:\n      - {command: READ, answer: {resp: NOTFOUND}}\n    when: [{transaction: PAYP}]\n"
    "    then: {}": (5, "there is no condition 'NOTFOUND'"),
}  # fmt: skip


@pytest.mark.parametrize("body", MISTAKEN)
@pytest.mark.parametrize("check", [True, False], ids=["check", "run"])
def test_a_mistake_in_a_case_is_named_with_its_line_and_the_other_cases_run(place, tdq_test, body, check):
    line, what = MISTAKEN[body]
    path = place / "mistaken.case.yaml"
    path.write_text(
        f"cases:\n  - name: mistaken\n    {body}\n"
        "  - {name: sum, when: [{program: ADDER, commarea: '005012'}], then: {commarea: '005017'}}\n"
    )
    code, output = tdq_test(path, *["--check"] * check, "--junit", place / "junit.xml")
    assert code == 1
    assert re.search(rf"^  {re.escape(str(path))}:{line}: .*{re.escape(what)}", output, re.MULTILINE), output
    assert f"{'right' if check else 'passed'} {path}: sum" in output
    assert "2 cases, 1 failed" in output
    assert "unexpected error" not in output
    suite = ET.parse(place / "junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("errors")) == ("2", "1")


def test_a_file_that_cannot_be_read_fails_and_the_others_run(place, tdq_test):
    (place / "broken.case.yaml").write_text("cases: [\n")
    code, output = tdq_test(place)
    assert code == 1
    assert f"FAILED {place / 'broken.case.yaml'}" in output
    assert f"passed {place / 'pay.case.yaml'}: a terminal" in output
    assert "5 cases, 1 failed" in output


def test_check_runs_no_case(place, tdq_test):
    (place / "pay.case.yaml").write_text(CASES.replace('commarea: "005012"', 'commarea: "999"'))
    (place / "cobol" / "ADDER.cbl").write_text("this is no COBOL\n")
    code, output = tdq_test(place, "--check")
    assert (code, output.count("right ")) == (0, 4)


def test_programs_are_compiled_before_the_first_case_with_those_that_they_name(place, tdq_test):
    (place / "pay.yaml").write_text("group: PAY\ntransaction:\n  - {name: ECHO, program: ECHO}\n")
    (place / "cobol" / "CALLER.cbl").write_text(
        "       IDENTIFICATION DIVISION.\n       PROGRAM-ID. CALLER.\n       PROCEDURE DIVISION.\n"
        "           IF EIBCALEN > 99\n             EXEC CICS LINK PROGRAM('ADDER') END-EXEC\n           END-IF\n"
        "           GOBACK.\n"
    )
    path = place / "few.case.yaml"
    path.write_text("cases: [{name: no COMMAREA, when: [{program: CALLER}], then: {}}]\n")

    def compiled():
        return sorted(each.stem for each in (place / "cache").glob("*/*.so"))

    assert (tdq_test(path, "--check")[0], compiled()) == (0, ["ECHO"])  # the region needs it
    assert (tdq_test(path)[0], compiled()) == (0, ["ADDER", "CALLER", "ECHO"])  # ADDER has not run


def test_a_compile_error_is_told_once(place, tdq_test):
    (place / "cobol" / "ADDER.cbl").write_text(ADDER.replace("ADD A TO B", "ADD A TO NOTHERE"))
    one = "{name: %s, when: [{program: ADDER, commarea: '005012'}], then: {}}"
    (place / "twice.case.yaml").write_text(f"cases: [{one % 'one'}, {one % 'two'}, {one % 'three'}]\n")
    code, output = tdq_test(place / "twice.case.yaml")
    assert code == 1
    assert output.count("NOTHERE") == 1, output
    assert output.count("cannot be compiled, see case one") == 2
    assert "3 cases, 3 failed" in output


def test_the_abend_comes_first_and_records_are_shown_by_their_layout(place):
    path = place / "pay.case.yaml"
    path.write_text(
        "cases:\n  - name: one\n    when:\n"
        "      - {write: PAYQ, records: [{layout: copy/PAYREC.cpy, fields: {PAY-ID: '1', PAY-NAME: A}}]}\n"
        "      - {write: PAYQ, records: [{layout: copy/PAYREC.cpy, fields: {PAY-ID: '2', PAY-NAME: B}}]}\n"
        "    then:\n      queues:\n"
        "        OUTQ: [{layout: copy/PAYREC.cpy, fields: {PAY-ID: '3', PAY-NAME: A}}]\n"
    )
    (result,) = run_cases(path)
    first, *rest = str(result).splitlines()
    assert first == "abend: expected none, found LATE"
    assert "abend LATE" in rest[0]
    assert rest[-3:] == [
        "queues.OUTQ: expected 1 records, found 2",
        "queues.OUTQ[1].PAY-ID: expected '3', found '1'",
        "queues.OUTQ[2]: expected no record, found PAY-ID '2', PAY-NAME 'B         '",
    ]


def test_the_schema_takes_the_cases_of_this_page_and_refuses_others(capsys):
    schema = case_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(json.dumps(yaml.safe_load(CASES), default=str)), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"cases": [{"name": "x", "when": [], "given": {"queue": {}}}]}, schema)
    assert main(["check", "--schema", "cases"]) == 0
    assert json.loads(capsys.readouterr().out) == schema


def test_a_case_writes_no_data_set_of_the_region(tmp_path):
    example = Path(__file__).parents[2] / "examples" / "cobol_orders"
    shutil.copytree(example, tmp_path / "orders")
    before = (tmp_path / "orders" / "orders.dat").read_bytes()
    path = tmp_path / "orders" / "orders.case.yaml"
    path.write_text("cases:\n  - {name: orders are read, when: [{transaction: ORDI}], then: {}}\n")
    (result,) = run_cases(path)
    assert result.passed, str(result)
    assert (tmp_path / "orders" / "orders.dat").read_bytes() == before


def test_the_case_file_of_the_guide_is_one(place):
    guide = (Path(tdqsim.__file__).parent / "guide" / "cobol.md").read_text("utf-8")
    text = guide.partition("```yaml file=pay.case.yaml\n")[2].partition("```")[0]
    (place / "guide.case.yaml").write_text(text)
    (case,) = read_case_file(place / "guide.case.yaml").file.cases
    assert [stub.command for stub in case.given.stubs] == ["WRITEQ TD", "WEB OPEN"]
    jsonschema.validate(json.loads(json.dumps(yaml.safe_load(text), default=str)), case_json_schema())


FALLS = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. FALLS.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  D PIC X(4).
       PROCEDURE DIVISION.
           EXEC CICS ASKTIME END-EXEC
           EXEC CICS WRITEQ TD QUEUE('OUTQ') FROM(D) END-EXEC
           GOBACK.
"""


def test_a_case_that_ends_its_process_is_named_and_the_others_run(place, tdq_test, monkeypatch):
    """The fault is in Python, in a command, so that the program cannot be left."""
    (place / "cobol" / "FALLS.cbl").write_text(FALLS)
    path = place / "dies.case.yaml"
    path.write_text(
        "cases:\n"
        "- {name: before, when: [{program: ADDER, commarea: '005012'}], then: {commarea: '005017'}}\n"
        "- {name: it falls, when: [{program: FALLS}], then: {}}\n"
        "- {name: after, when: [{program: ADDER, commarea: '005012'}], then: {commarea: '005017'}}\n"
    )
    monkeypatch.setattr("tdqsim.cobol.calls._Call._values", _fall_at_writeq(_Call._values))
    code, output = tdq_test(path, "--junit", place / "junit.xml")
    assert code == 1
    assert f"passed {path}: before" in output
    assert f"FAILED {path}: it falls" in output
    assert "the process that ran the case has died: signal 11 (Segmentation fault) at address" in output
    assert f"program FALLS, last command at {place / 'cobol' / 'FALLS.cbl'}:8" in output
    assert f"passed {path}: after" in output
    suite = ET.parse(place / "junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("errors"), suite.get("failures")) == ("3", "1", "0")


def _fall_at_writeq(values):
    def fall(self, level, rows):
        if level.module.program == "FALLS" and self.declared.verb == "WRITEQ":
            ctypes.string_at(8)
        return values(self, level, rows)

    return fall


def test_a_loop_fails_its_case_with_the_line_where_the_program_was(place):
    (place / "region.yaml").write_text(
        "definitions: [pay.yaml]\ncobol: {sources: [cobol], copybooks: [copy], cache: cache, runaway: 500}\n"
    )
    (place / "cobol" / "LOOPS.cbl").write_text(
        "       IDENTIFICATION DIVISION.\n       PROGRAM-ID. LOOPS.\n       PROCEDURE DIVISION.\n       AGAIN.\n"
        "           EXEC CICS ASKTIME END-EXEC\n           GO TO AGAIN.\n"
    )
    path = place / "loop.case.yaml"
    path.write_text("cases:\n- {name: it loops, when: [{program: LOOPS}], then: {}}\n")
    (result,) = run_cases(path)
    assert [str(each) for each in result.differences] == ["abend: expected none, found AICA"]
    said = f"{place / 'cobol' / 'LOOPS.cbl'}:5: its commands have not suspended the task for 500 ms of processor time"
    assert said in str(result)
    assert re.search(r"^ +5 > +EXEC CICS ASKTIME END-EXEC$", str(result), re.MULTILINE)


NOVALUE = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. NOVALUE.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  P PIC S9(7) COMP-3.
       PROCEDURE DIVISION.
           ADD 1 TO P
           GOBACK.
"""


@pytest.mark.filterwarnings("default")
def test_a_case_says_how_items_without_value_begin(place, capfd):
    (place / "cobol" / "NOVALUE.cbl").write_text(NOVALUE)
    path = place / "initial.case.yaml"
    path.write_text(
        "cases:\n- {name: as the region, when: [{program: NOVALUE}], then: {abend: ASRA}}\n"
        "- {name: zeros, given: {initial: ZEROS}, when: [{program: NOVALUE}], then: {}}\n"
    )
    assert main(["cobol", "test", str(path)]) == 0
    said = capfd.readouterr()
    assert said.out.splitlines()[-1] == "2 cases, 0 failed"
    where = f"tdq: {place / 'cobol' / 'NOVALUE.cbl'}:7: data exception (S0C7): 'P' not numeric: '....' X'00000000'"
    assert said.err == f"{where} (items without VALUE begin so; on the mainframe their contents are undefined)\n"
    path.write_text("cases:\n- {name: zeros, given: {initial: ZEROS}, when: [{program: NOVALUE}], then: {}}\n")
    assert main(["cobol", "test", str(path)]) == 0
    assert capfd.readouterr().out.splitlines()[-1] == "1 case, 0 failed"


LISTS = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. LISTS.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       77  P USAGE POINTER.
       77  T USAGE POINTER.
       LINKAGE SECTION.
       01  L-NUMBERS PIC X(8).
       01  L-IDS PIC X(8).
       PROCEDURE DIVISION.
           EXEC CICS INQUIRE TASK LIST SET(P) SETTRANSID(T) END-EXEC
           SET ADDRESS OF L-NUMBERS TO P
           SET ADDRESS OF L-IDS TO T
           EXEC CICS WRITEQ TS QUEUE('LOG') FROM(L-NUMBERS) END-EXEC
           EXEC CICS WRITEQ TS QUEUE('LOG') FROM(L-IDS) END-EXEC
           GOBACK.
"""


def test_an_answer_gives_lists(place):
    (place / "cobol" / "LISTS.cbl").write_text(LISTS)
    path = place / "lists.case.yaml"
    path.write_text(
        "cases:\n- name: a list of tasks\n  given: {stubs: [{command: INQUIRE TASK, answer: {values: {SET: [41, 42],"
        " SETTRANSID: [PAYP, AB]}}}]}\n  when: [{program: LISTS}]\n"
        "  then: {ts: {LOG: [{hex: 0000041C0000042C}, PAYPAB]}}\n"
    )
    (result,) = run_cases(path)
    assert result.passed, str(result)


def test_what_does_not_happen_fails_its_case_with_the_reason(place):
    """A trigger whose transaction is not defined: no expectation of the case is about it."""
    (place / "region.yaml").write_text(
        "definitions: [pay.yaml, trigger.yaml]\ncobol: {sources: [cobol], copybooks: [copy], cache: cache}\n"
    )
    (place / "trigger.yaml").write_text(
        "group: TRIG\ntdqueue:\n- {name: TRIG, type: INTRA, triggerlevel: 1, transid: NONE, atifacility: FILE}\n"
    )
    path = place / "notice.case.yaml"
    path.write_text("cases:\n- {name: a trigger, when: [{write: TRIG, records: [X]}], then: {queues: {TRIG: [X]}}}\n")
    (result,) = run_cases(path)
    assert not result.passed
    assert "Its trigger starts no task: TRANSACTION NONE is not defined." in str(result)
