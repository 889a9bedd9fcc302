"""The coverage page says what the declarations say, what tests that passed have exercised, and what they hold."""

from __future__ import annotations

import ast
import inspect
import json
import os
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tdqsim import EscapeMessage, System
from tdqsim.cics import COMMANDS
from tdqsim.facts import rules, table
from tdqsim.faults import FaultPlan, MessageFault
from tdqsim.ibmi import DECLARATIONS
from tests import apart
from tests.quality.__main__ import main
from tests.quality.evidence import Evidence, load_evidence
from tests.quality.page import coverage_page, differences
from tests.testing.test_plugin import installed

pytestmark = pytest.mark.house


def row(page: str, name: str) -> list[str]:
    line = next(line for line in page.splitlines() if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_every_command_api_attribute_and_rule_is_on_the_page() -> None:
    page = coverage_page()
    for name in (*COMMANDS, *DECLARATIONS, *rules()):
        assert row(page, name)
    assert row(page, "READQ TD")[1] == "untouched"
    assert "NOSUSPEND" in row(page, "READQ TD")[2].split()
    assert "QZERO" in row(page, "READQ TD")[3].split()
    absent = next(each["command"] for each in table("eibfn") if each["command"] not in COMMANDS)
    assert row(page, absent)[1] == "absent"
    assert row(page, "TDQUEUE")[0] == "TDQUEUE"
    assert "done" not in page.partition("## EXEC CICS commands")[2]


EXERCISES = """
import pytest
from tdqsim import Condition, EscapeMessage, define_tdqueue, define_transaction, parse_definitions
from tdqsim.faults import Fault, FaultPlan, MessageFault

QUEUE = define_tdqueue(name="PAYQ", type="INTRA", triggerlevel=2, transid="PAYP", atifacility="FILE")
TAPE = define_tdqueue(name="TAPE", type="EXTRA", rewind="REREAD", opentime="DEFERRED")

@pytest.mark.tdq_definitions(QUEUE, TAPE)
@pytest.mark.tdq_expect("DFHTD0183")
@pytest.mark.rule("TD-DISABLED")
def test_one(tdq_region):
    with pytest.raises(Condition):
        tdq_region.readq_td("PAYQ", length=5)
    with tdq_region.task() as task:
        task.readq_td("NONE", nohandle=True)
        task.syncpoint()
    tdq_region.writeq_td("PAYQ", b"x")
    tdq_region.writeq_td("PAYQ", b"x", length=None)
    tdq_region.readq_td("PAYQ")
    assert tdq_region.inquire_tdqueue("PAYQ").numitems == 1
    assert tdq_region.inquire_tdqueue("PAYQ")["ATITRANID"] == "PAYP"
    tdq_region.set_tdqueue("PAYQ", enablestatus="DISABLED")

def test_two():
    "DEFINESOURCE ITEMCOUNT LENGERR CPF9801 TERMINAL"
    parse_definitions("group: G\\ntransaction:\\n- {name: AAAA, alias: BBBB}\\n")

def test_fails(tdq_region):
    tdq_region.deleteq_td("NONE")

def test_planned(tdq_region, tdq_job):
    with FaultPlan(Fault("IOERR", command="WRITEQ TD")).on(tdq_region), pytest.raises(Condition):
        tdq_region.writeq_td("PAYQ", b"x")
    with FaultPlan(MessageFault("CPF9872")).on(tdq_job.system), pytest.raises(EscapeMessage):
        tdq_job.qsnddtaq("ORDERS", "QGPL", b"x")

def test_job(tdq_job):
    with pytest.raises(EscapeMessage):
        tdq_job.qsnddtaq("ORDERS", "QGPL", b"x")
    tdq_job.crtdtaq(dtaq="QGPL/ORDERS", maxlen=10)
    tdq_job.qmhqrdqd("ORDERS", "QGPL", "RDQD0100")
"""


@pytest.mark.parametrize("processes", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_what_tests_that_passed_have_exercised_is_done(tmp_path: Path, processes: int) -> None:
    (tmp_path / "test_it.py").write_text(EXERCISES, "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    rule: a rule\n", "utf-8")
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "tests.quality.plugin",
        "--tdq-evidence",
        "seen.json",
        "-n",
        str(processes),
    ]
    options += [] if installed() else ["-p", "tdqsim.testing.plugin"]
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(apart.ROOT), os.environ.get("PYTHONPATH", "")])),
    }
    done = apart.run("-m", "pytest", *options, cwd=tmp_path, env=env)
    assert "1 failed, 4 passed" in done.stdout, done.stdout
    page = coverage_page(load_evidence(tmp_path / "seen.json"))
    one = "test_it.py::test_one"
    assert row(page, "READQ TD")[1] == "seen only"
    assert row(page, "READQ TD")[-1] == one
    untouched = row(page, "READQ TD")[6].split()
    assert {"QZERO", "QIDERR", "LENGTH"} & set(untouched) == set()
    assert {"NOSUSPEND", "NOTOPEN", "LENGERR"} <= set(untouched)
    assert {"QIDERR", "LENGTH"} <= set(row(page, "READQ TD")[5].split())
    assert "LENGTH" in row(page, "WRITEQ TD")[6].split()  # given the value that it has anyway
    assert (row(page, "WRITEQ TD")[1], "IOERR" in row(page, "WRITEQ TD")[6].split()) == ("seen only", True)
    assert row(page, "DELETEQ TD")[1] == "untouched"  # the test that issued it has failed
    assert row(page, "NUMITEMS")[1:3] == ["seen only", "-"]
    assert row(page, "ATITRANID")[1:3] == ["seen only", "untouched"]
    assert row(page, "ENABLESTATUS")[1:3] == ["untouched", "seen only"]
    assert "| TDQUEUE | TRIGGERLEVEL | INTRA | seen only | test_it.py::" in page
    assert "| TDQUEUE | FACILITYID | INTRA | untouched |  |" in page
    assert f"| TDQUEUE | REWIND | EXTRA | without effect | {one} |" in page
    assert "| TRANSACTION | ALIAS |  | without effect | test_it.py::test_two |" in page
    assert row(page, "DFHTD0183")[2] == "seen only"
    assert (row(page, "CPF9801")[2], row(page, "CPF9872")[2]) == ("seen only", "untouched")
    assert row(page, "QSNDDTAQ")[1] == "seen only"
    assert (row(page, "RDQD0100")[1], row(page, "RDQD0200")[1]) == ("done", "untouched")
    assert row(page, "TD-DISABLED")[-2:] == ["held", one]
    assert row(page, "TD-DISABLED-READ" if "TD-DISABLED-READ" in rules() else "EIB-TD")[-2] == "untouched"


def test_evidence_of_several_runs_adds_up() -> None:
    first, second = Evidence(), Evidence()
    first.add("command A", "tests/b.py::test")
    second.add("command A", "tests/a.py::test")
    second.add("command B", "tests/c.py::test")
    first.merge(second.as_dict())
    assert (first.of("command A"), first.of("command B", "command A"), first.of("command C")) == (
        "tests/a.py::test",
        "tests/a.py::test",
        "",
    )


def test_pages_are_compared_without_the_tests_that_they_name() -> None:
    one, other = Evidence(), Evidence()
    one.add("command READQ TD", "tests/a.py::test")
    other.add("command READQ TD", "tests/b.py::test")
    assert differences(coverage_page(one), coverage_page(other)) == []
    assert len(differences(coverage_page(one), coverage_page())) == 2


def test_every_escape_message_can_be_planned() -> None:
    with System() as system, system.job() as job:
        job.crtdtaq(dtaq="QGPL/ORDERS", maxlen=10)
        for message in (each["id"] for each in table("cpf_messages") if each["kind"] == "escape"):
            with FaultPlan(MessageFault(message)).on(system), pytest.raises(EscapeMessage) as caught:
                job.qsnddtaq("ORDERS", "QGPL", b"x")
            assert caught.value.message_id == message
            assert caught.value.text


def test_the_command_line_writes_and_checks_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "coverage.md"
    assert main(["--write", str(page)]) == 0
    assert main(["--check", str(page)]) == 0
    page.write_text(page.read_text("utf-8") + "x", "utf-8")
    assert main(["--check", str(page)]) == 2
    assert "\n- x\n" in capsys.readouterr().err  # what is in the file and should not be
    (tmp_path / "seen.json").write_text('{"command READQ TD": [[1, "tests/a.py::test"]]}')
    assert main(["--evidence", str(tmp_path / "seen.json"), "--check", str(page)]) == 2
    (tmp_path / "seen.json").write_text("[1]")
    assert main(["--evidence", str(tmp_path / "seen.json")]) == 2


def test_what_a_test_holds_is_done() -> None:
    evidence = Evidence()
    for claim in ("command UNLOCK", "option UNLOCK TOKEN", "condition UNLOCK DISABLED", "option READ EQUAL"):
        evidence.add(claim, "tests/a.py::test[one]")
    evidence.add("receiver READ TOKEN", "tests/a.py::test[one]")
    held = {"command UNLOCK": "tests/b.py::test[two]", "condition UNLOCK DISABLED": "", "receiver READ LENGTH": "x::y"}
    page = coverage_page(evidence, held)
    assert (row(page, "UNLOCK")[1], row(page, "UNLOCK")[-1]) == ("done", "tests/b.py::test")
    assert row(page, "UNLOCK")[5].split() == ["TOKEN", "DISABLED"]
    read = row(page, "READ")
    assert ("EQUAL" in read[4].split(), "EQUAL" in read[6].split(), "GTEQ" in read[6].split()) == (True, False, True)
    assert read[7].split() == ["INTO", "SET", "TOKEN"]


def unread_parameters(function: Callable[..., object]) -> set[str]:
    """The parameters whose names do not occur in the body of a function."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body
    assert isinstance(definition, ast.FunctionDef)
    used = {node.id for line in definition.body for node in ast.walk(line) if isinstance(node, ast.Name)}
    return {each.arg for each in (*definition.args.args, *definition.args.kwonlyargs)} - used


def test_a_parameter_that_a_command_does_not_read_is_listed_as_without_effect() -> None:
    listed = {(row["command"], row["option"]) for row in table("options_without_effect")}
    for name, command in COMMANDS.items():
        unread = unread_parameters(command.function) - {"task", "nohandle"}
        words = {option.word for option in command.options if option.parameter in unread}
        assert (name, "-") in listed or {(name, word) for word in words} <= listed, name
    assert {each["kind"] for each in table("options_without_effect")} == {"holds", "idle"}


ABLATED = """
import pytest
from tdqsim import define_tdqueue

pytestmark = pytest.mark.tdq_definitions(define_tdqueue(name="PAYQ", type="INTRA", triggerlevel=0))

def test_looks(tdq_region):
    tdq_region.writeq_td("PAYQ", b"abc", 2)
    assert tdq_region.peek("PAYQ") == [b"ab"]

def test_looks_away(tdq_region):
    tdq_region.writeq_td("PAYQ", b"abc", 2)
    tdq_region.readq_td("PAYQ", nosuspend=True)
"""


@pytest.mark.slow
def test_ablation_finds_the_test_that_notices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looks, away = (f"test_it.py::test_looks{end}" for end in ("", "_away"))
    (tmp_path / "test_it.py").write_text(ABLATED, "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n" + ("" if installed() else "addopts = -p tdqsim.testing.plugin\n"))
    claims = {
        "command WRITEQ TD": [[1, away], [2, looks]],
        "option WRITEQ TD LENGTH": [[1, away], [2, looks]],
        "option READQ TD NOSUSPEND": [[1, away]],
        "rule TD-FIFO": [[1, away]],
    }
    (tmp_path / "seen.json").write_text(json.dumps(claims), "utf-8")
    monkeypatch.chdir(tmp_path)
    options = ["--verdicts", "held.json"]
    assert main([*options, "--evidence", "seen.json", "--ablate"]) == 0
    held = {
        "command WRITEQ TD": away, "option WRITEQ TD LENGTH": looks, "option READQ TD NOSUSPEND": ""
    }  # fmt: skip
    assert json.loads((tmp_path / "held.json").read_text("utf-8")) == held
    assert main([*options, "--sample", "5", "--draw", "a commit"]) == 0
    (tmp_path / "held.json").write_text(json.dumps({"option READQ TD NOSUSPEND": away}), "utf-8")
    assert main([*options, "--sample", "5"]) == 2
    assert f"option READQ TD NOSUSPEND: {away} passes without it" in capsys.readouterr().err
