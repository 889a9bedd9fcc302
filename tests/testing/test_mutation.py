"""Small mistakes in handlers and COBOL programs: which are made, and what the tests of a project make of them."""

from __future__ import annotations

import ast
import json
import textwrap
from pathlib import Path

import pytest

from tdqsim.cobol.translate import translate
from tdqsim.errors import UsageError
from tdqsim.testing._mutants import KINDS, altered
from tdqsim.testing.mutation import mutants_of, mutate, sources_in
from tests import apart

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
HANDLER = """\
from tdqsim import Condition, Resp


def post(task):
    \"\"\"Größe: offsets are counted in characters.\"\"\"
    while True:
        try:
            record = task.readq_td("PAYQ")
        except Condition as condition:
            if condition.resp is Resp.QZERO:
                return
            raise
        task.writeq_td("DONE", record)
        task.syncpoint()


def again(task):
    for record in task.readq_td_all("AGIN"):
        task.writeq_td("DONE", record, length=80, nohandle=True)
        if task.eib.resp != Resp.NORMAL:
            task.abend("OOPS")
    task.deleteq_td("LEFT")
    task.start("NEXT")
    open("x").start()
"""


def lines_altered(path: Path) -> dict[tuple[int, str, str], list[str]]:
    """The lines that each mutant alters, without blanks."""
    source = path.read_bytes().decode("latin-1" if path.suffix == ".cbl" else "utf-8")
    found = {}
    for mutant in mutants_of(path):
        text = altered(source, mutant.edits)
        before, after = source.splitlines(), text.splitlines()
        found[mutant.line, mutant.kind, mutant.command] = [each.strip() for each in after if each not in before]
    return found


def test_the_mistakes_in_a_handler(tmp_path: Path) -> None:
    path = tmp_path / "payments.py"
    path.write_text(HANDLER, "utf-8")
    assert lines_altered(path) == {
        (6, "lost trigger", "READQ TD"): ["break"],
        (8, "wrong queue", "READQ TD"): ["record = task.readq_td('AGIN')"],
        (9, "RESP check", "Condition"): [],
        (10, "RESP check", "RESP QZERO"): ["if True:"],
        (13, "swap commands", "WRITEQ TD"): [],
        (13, "wrong length", "WRITEQ TD"): ['task.writeq_td("DONE", (record)[:-1])'],
        (13, "wrong queue", "WRITEQ TD"): ["task.writeq_td('LEFT', record)"],
        (14, "drop syncpoint", "SYNCPOINT"): ["pass"],
        (18, "lost trigger", "READQ TD"): ["break"],
        (18, "wrong queue", "READQ TD"): ["for record in task.readq_td_all('PAYQ'):"],
        (19, "RESP check", "WRITEQ TD"): ['task.writeq_td("DONE", record, length=80, nohandle=False)'],
        (19, "wrong length", "WRITEQ TD"): ['task.writeq_td("DONE", record, length=(80) - 1, nohandle=True)'],
        (19, "wrong queue", "WRITEQ TD"): ["task.writeq_td('LEFT', record, length=80, nohandle=True)"],
        (20, "RESP check", "RESP NORMAL"): ["if False:"],
        (22, "swap commands", "DELETEQ TD"): [],
        (22, "wrong queue", "DELETEQ TD"): ["task.deleteq_td('DONE')"],
    }
    for mutant in mutants_of(path):
        ast.parse(altered(HANDLER, mutant.edits))


def test_commands_change_places_only_where_names_keep_their_values(tmp_path: Path) -> None:
    path = tmp_path / "handlers.py"
    path.write_text(
        textwrap.dedent(
            """\
            def post(task):
                record = task.readq_td("IN")
                task.writeq_td("OUT", record)
                task.writeq_td("LOG", b"moved")
                with task.region as one: task.syncpoint(); task.readq_td("IN")
            """
        )
    )
    swapped = [each.line for each in mutants_of(path) if each.kind == "swap commands"]
    assert swapped == [5]
    (mutant,) = (each for each in mutants_of(path) if each.kind == "swap commands")
    assert altered(path.read_text(), mutant.edits).endswith('one: task.readq_td("IN"); task.syncpoint()\n')


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


def project(directory: Path) -> Path:
    """A project whose tests need no region, so that they are quick; they check all but the syncpoint."""
    source = directory / "src" / "shop"
    source.mkdir(parents=True)
    (source / "__init__.py").write_text("")
    (source / "moving.py").write_text(
        "def move(task):\n"
        '    while record := task.readq_td("IN", nohandle=True):\n'
        '        task.writeq_td("OUT", record)\n'
        "        task.syncpoint()\n"
    )
    (source / "unused.py").write_text("def drop(task):\n    task.syncpoint()\n")
    (directory / "test_moving.py").write_text(
        textwrap.dedent(
            """\
            from shop.moving import move

            class Task:
                def __init__(self):
                    self.queues = {"IN": [b"one", b"two"], "OUT": []}
                def readq_td(self, queue, nohandle):
                    assert nohandle
                    return self.queues[queue].pop(0) if self.queues[queue] else b""
                def writeq_td(self, queue, record):
                    self.queues[queue].append(record)
                def syncpoint(self):
                    pass

            def test_records_are_moved():
                task = Task()
                move(task)
                assert task.queues == {"IN": [], "OUT": [b"one", b"two"]}
            """
        )
    )
    return directory


def test_what_no_test_notices_survives(tmp_path: Path) -> None:
    shop = project(tmp_path)
    before = {path: path.read_bytes() for path in shop.rglob("*") if path.is_file()}
    counted: list[tuple[int, int]] = []
    report = mutate(shop, sources_in([shop]), progress=lambda done, total: counted.append((done, total)))
    assert {(each.mutant.kind, each.mutant.path.name): each.outcome for each in report.judgements} == {
        ("RESP check", "moving.py"): "killed",
        ("lost trigger", "moving.py"): "killed",
        ("wrong queue", "moving.py"): "killed",
        ("swap commands", "moving.py"): "survived",
        ("wrong length", "moving.py"): "killed",
        ("drop syncpoint", "moving.py"): "survived",
        ("drop syncpoint", "unused.py"): "not loaded",
    }
    assert {each.test for each in report.judgements if each.outcome == "killed"} == {
        "test_moving.py::test_records_are_moved"
    }
    assert [each.mutant.line for each in report.survivors] == [3, 4, 2]
    assert round(report.percent) == round(100 * 5 / 8)
    assert counted[-1] == (10, 10)
    assert before == {path: path.read_bytes() for path in shop.rglob("*") if path.is_file()}


def test_a_package_that_is_called_like_a_cache_is_copied(tmp_path: Path) -> None:
    (tmp_path / "record_cache").mkdir()
    (tmp_path / "record_cache" / "__init__.py").write_text("def keep(task):\n    task.syncpoint()\n")
    (tmp_path / "test_it.py").write_text("from record_cache import keep\n\ndef test_it():\n    assert keep\n")
    (judgement,) = mutate(tmp_path, sources_in([tmp_path])).judgements
    assert judgement.outcome == "survived"


def test_mutants_can_be_drawn_and_what_has_no_time_is_not_run(tmp_path: Path) -> None:
    shop = project(tmp_path)
    report = mutate(shop, [shop / "src" / "shop" / "moving.py"], most=2, seed=3, jobs=2, limit=0.001)
    assert [each.outcome for each in report.judgements] == ["timed out", "timed out"]
    assert report.percent == 100


@pytest.mark.parametrize(
    ("test", "text"), [("def test_it():\n    assert False\n", "do not pass on the unaltered code"), ("", "there are no tests")]
)  # fmt: skip
def test_tests_must_pass_on_the_unaltered_code(tmp_path: Path, test: str, text: str) -> None:
    shop = project(tmp_path)
    (shop / "test_moving.py").write_text(test)
    with pytest.raises(UsageError, match=text):
        mutate(shop, [shop / "src" / "shop" / "moving.py"])


def test_only_sources_of_the_project_are_mutated(tmp_path: Path) -> None:
    shop = project(tmp_path / "shop")
    for name in ("tests", ".venv", "environment"):
        (shop / name).mkdir()
        (shop / name / "helper.py").write_text("")
    (shop / "environment" / "pyvenv.cfg").write_text("")
    (shop / "PAY.CBL").write_text("")
    (shop / "conftest.py").write_text("")
    names = {path.name for path in sources_in([shop])}
    assert names == {"__init__.py", "moving.py", "unused.py", "PAY.CBL"}
    with pytest.raises(UsageError, match="no such file"):
        sources_in([shop / "nothing.py"])
    (shop / "notes.txt").write_text("")
    with pytest.raises(UsageError, match=r"allowed are Python \(.py\) and COBOL"):
        sources_in([shop / "notes.txt"])
    outside = tmp_path / "outside.py"
    outside.write_text("def post(task):\n    task.syncpoint()\n")
    with pytest.raises(UsageError, match="it is not in"):
        mutate(shop, [outside])
    outside.write_text("def post(task:\n")
    with pytest.raises(UsageError, match="cannot be mutated"):
        mutants_of(outside)


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
    assert "not a file written by tdq mutate --json" in done.stderr


def test_every_kind_is_made_in_python_and_in_cobol(tmp_path: Path) -> None:
    for name, text in (("payments.py", HANDLER), ("MOVER.cbl", COBOL)):
        path = tmp_path / name
        path.write_text(text, "utf-8")
        assert {mutant.kind for mutant in mutants_of(path)} == KINDS.keys()
