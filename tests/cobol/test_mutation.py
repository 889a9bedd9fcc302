"""``tdq cobol mutate``: small mistakes in COBOL programs, and what the tests of a project make of them."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from tdqsim.cobol.mutants import KINDS, altered
from tdqsim.cobol.mutation import mutants_of, mutate, sources_in
from tdqsim.cobol.translate import translate
from tdqsim.errors import UsageError
from tests import apart
from tests.cli.conftest import Tdq, tdq  # noqa: F401  (a fixture)

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def lines_altered(path: Path) -> dict[tuple[int, str, str], list[str]]:
    """The lines that each mutant alters, without blanks."""
    source = path.read_bytes().decode("latin-1")
    found = {}
    for mutant in mutants_of(path):
        text = altered(source, mutant.edits)
        before, after = source.splitlines(), text.splitlines()
        found[mutant.line, mutant.kind, mutant.command] = [each.strip() for each in after if each not in before]
    return found


COBOL = """\
       IDENTIFICATION DIVISION.
       PROGRAM-ID. MOVER.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       77  WS-RESP               PIC S9(8) COMP.
       77  WS-LEN                PIC S9(4) COMP VALUE 80.
       01  REC                   PIC X(80).
       PROCEDURE DIVISION.
      * EXEC CICS SYNCPOINT END-EXEC is not done here
           PERFORM UNTIL WS-RESP = DFHRESP(QZERO)
              EXEC CICS READQ TD QUEUE('IN') INTO(REC)
                   LENGTH(WS-LEN) RESP(WS-RESP) END-EXEC
              IF WS-RESP = DFHRESP(NORMAL)
                 EXEC CICS WRITEQ TD QUEUE('OUT') FROM(REC)
                      LENGTH(80) END-EXEC
                 EXEC CICS SYNCPOINT
                      END-EXEC
              END-IF
           END-PERFORM
           MOVE 'EXEC CICS SYNCPOINT END-EXEC' TO REC
           EXEC CICS DELETEQ TD QUEUE('OLD') RESP(WS-RESP)
              END-EXEC.
           EXEC CICS RETURN END-EXEC.
"""


def test_the_mistakes_in_a_cobol_program(tmp_path: Path) -> None:
    path = tmp_path / "MOVER.cbl"
    path.write_text(COBOL, "latin-1")
    assert lines_altered(path) == {
        (11, "RESP check", "READQ TD"): ["IF WS-RESP NOT = DFHRESP(QZERO)", "MOVE 0 TO WS-RESP", "END-IF"],
        (11, "lost trigger", "READQ TD"): ["EXIT PERFORM"],
        (11, "wrong length", "READQ TD"): ["SUBTRACT 1 FROM WS-LEN", "EXEC CICS READQ TD QUEUE('IN') INTO(REC)"],
        (11, "wrong queue", "READQ TD"): ["EXEC CICS READQ TD QUEUE('NOQ') INTO(REC)"],
        (14, "swap commands", "WRITEQ TD"): [],
        (14, "wrong length", "WRITEQ TD"): ["LENGTH(79) END-EXEC"],
        (14, "wrong queue", "WRITEQ TD"): ["EXEC CICS WRITEQ TD QUEUE('OLD') FROM(REC)"],
        (16, "drop syncpoint", "SYNCPOINT"): ["CONTINUE", ""],
        (21, "RESP check", "DELETEQ TD"): ["END-EXEC", "MOVE 0 TO WS-RESP."],
        (21, "wrong queue", "DELETEQ TD"): ["EXEC CICS DELETEQ TD QUEUE('OUT') RESP(WS-RESP)"],
    }


@pytest.mark.parametrize(
    "path", sorted((EXAMPLES / "cobol_orders" / "cobol").glob("*.cbl")), ids=lambda path: path.stem
)
def test_altered_programs_are_programs_within_the_margins(path: Path) -> None:
    source = path.read_text("latin-1")
    for mutant in mutants_of(path):
        text = altered(source, mutant.edits)
        assert text != source
        assert all(len(line) <= 72 for line in text.splitlines())
        assert translate(text, path.name).text


def test_a_go_to_back_to_the_read_is_a_loop_too() -> None:
    found = mutants_of(EXAMPLES / "cobol_orders" / "cobol" / "ORDPST.cbl")
    (loop,) = (mutant for mutant in found if mutant.kind == "lost trigger")
    assert loop.edits[0].text == "EXEC CICS RETURN END-EXEC"


SHORT = """\
           EXEC CICS WRITEQ TD QUEUE('OUT') FROM(REC)
                LENGTH(80) END-EXEC
           EXEC CICS SYNCPOINT END-EXEC.
"""
TEST = """\
from pathlib import Path

def test_records_are_moved():
    text = Path("cobol/MOVER.cbl").read_text()
    assert "EXEC CICS" in text and "QUEUE('OUT')" in text and "LENGTH(80)" in text
"""


def project(directory: Path) -> Path:
    """A project whose tests look at the text of a program, so that they need no compiler."""
    source = directory / "cobol"
    source.mkdir(parents=True)
    (source / "MOVER.cbl").write_text(SHORT)
    (source / "UNUSED.cbl").write_text("           EXEC CICS SYNCPOINT END-EXEC.\n")
    (directory / "test_moving.py").write_text(TEST)
    return directory


def test_what_no_test_notices_survives(tmp_path: Path) -> None:
    shop = project(tmp_path)
    before = {path: path.read_bytes() for path in shop.rglob("*") if path.is_file()}
    counted: list[tuple[int, int]] = []
    report = mutate(shop, sources_in([shop]), progress=lambda done, total: counted.append((done, total)))
    assert {(each.mutant.kind, each.mutant.path.name): each.outcome for each in report.judgements} == {
        ("wrong queue", "MOVER.cbl"): "killed",
        ("wrong length", "MOVER.cbl"): "killed",
        ("swap commands", "MOVER.cbl"): "survived",
        ("drop syncpoint", "MOVER.cbl"): "survived",
        ("drop syncpoint", "UNUSED.cbl"): "not loaded",
    }
    assert {each.test for each in report.judgements if each.outcome == "killed"} == {
        "test_moving.py::test_records_are_moved"
    }
    assert [each.mutant.line for each in report.survivors] == [1, 3, 1]
    assert report.percent == 40
    told = report.as_dict()
    assert told["counts"] == dict.fromkeys(told["counts"], 0) | {"killed": 2, "survived": 2, "not loaded": 1}
    assert counted[-1] == (7, 7)
    assert before == {path: path.read_bytes() for path in shop.rglob("*") if path.is_file()}


def test_mutants_can_be_drawn_and_what_has_no_time_is_not_run(tmp_path: Path) -> None:
    shop = project(tmp_path)
    report = mutate(shop, [shop / "cobol" / "MOVER.cbl"], most=2, seed=3, jobs=2, limit=0.001)
    assert [each.outcome for each in report.judgements] == ["timed out", "timed out"]
    assert report.percent == 100


@pytest.mark.parametrize(
    ("test", "text"), [("def test_it():\n    assert False\n", "do not pass on the unaltered code"), ("", "there are no tests")]
)  # fmt: skip
def test_tests_must_pass_on_the_unaltered_code(tmp_path: Path, test: str, text: str) -> None:
    shop = project(tmp_path)
    (shop / "test_moving.py").write_text(test)
    with pytest.raises(UsageError, match=text):
        mutate(shop, [shop / "cobol" / "MOVER.cbl"])


def test_a_project_that_contains_the_folder_of_temporary_files_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = project(tmp_path)
    (shop / "test_moving.py").write_text("")
    monkeypatch.setattr(tempfile, "tempdir", str(shop))
    with pytest.raises(UsageError, match="there are no tests"):  # of the copy
        mutate(shop, [shop / "cobol" / "MOVER.cbl"])


def test_only_sources_of_the_project_are_mutated(tmp_path: Path) -> None:
    shop = project(tmp_path / "shop")
    for name in ("tests", ".venv", "environment"):
        (shop / name).mkdir()
        (shop / name / "HELPER.cbl").write_text("")
    (shop / "environment" / "pyvenv.cfg").write_text("")
    (shop / "PAY.CBL").write_text("")
    assert {path.name for path in sources_in([shop])} == {"MOVER.cbl", "UNUSED.cbl", "PAY.CBL"}
    with pytest.raises(UsageError, match="no such file"):
        sources_in([shop / "nothing.cbl"])
    with pytest.raises(UsageError, match=r"allowed are COBOL sources .*; see mutmut for Python"):
        sources_in([shop / "test_moving.py"])
    outside = tmp_path / "OUTSIDE.cbl"
    outside.write_text(SHORT)
    with pytest.raises(UsageError, match="it is not in"):
        mutate(shop, [outside])


def test_survivors_are_shown_and_fail_when_too_many(tdq: Tdq) -> None:  # noqa: F811
    project(Path())
    words = ("cobol", "mutate", "cobol/MOVER.cbl", "--limit", 1, "--seed", 2, "--test", "test_moving.py", "--least", 50)
    ended = tdq(*words)
    assert ended.code == 1
    assert ended.out.startswith("survived: cobol/MOVER.cbl:1: WRITEQ TD: two commands change places: ")
    assert "0 of 1 mutants killed" in ended.out


def test_what_cannot_be_mutated_is_refused(tdq: Tdq) -> None:  # noqa: F811
    ended = tdq("cobol", "mutate", "NOTHING.cbl")
    assert (ended.code, ended.err) == (2, "tdq: NOTHING.cbl: there is no such file or directory\n")
    Path("MOVER.cbl").write_text("")
    assert tdq("cobol", "mutate").out == "no mutants: no command was found that can be altered\n"


def mutants_file(path: Path) -> Path:
    mutants = [
        {"file": "pay.py", "line": line, "kind": kind, "command": "SYNCPOINT", "change": "left out", "outcome": outcome}
        for line, kind, outcome in ((3, "drop syncpoint", "survived"), (4, "wrong queue", "killed"))
    ]
    path.write_text(json.dumps({"counts": {"killed": 1, "survived": 1}, "mutants": mutants}))
    return path


def test_pytest_reports_what_survived(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    file = mutants_file(tmp_path / "mutants.json")
    options = [f"--tdq-mutants={file}", "--tdq-report=page.html", "-p", "no:cacheprovider"]
    lines = apart.run("-m", "pytest", *options, cwd=tmp_path).stdout.splitlines()
    survived = lines.index("survived: pay.py:3: SYNCPOINT: drop syncpoint: left out")
    assert "2 mutants: 1 killed, 1 survived" in lines[survived:]
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "pay.py:3" in page
    assert "pay.py:4" not in page


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text("[]")
    done = apart.run("-m", "pytest", f"--tdq-mutants={file}", cwd=tmp_path)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "not a file written by tdq cobol mutate --json" in done.stderr


def test_every_kind_is_made(tmp_path: Path) -> None:
    path = tmp_path / "MOVER.cbl"
    path.write_text(COBOL, "utf-8")
    assert {mutant.kind for mutant in mutants_of(path)} == KINDS.keys()
