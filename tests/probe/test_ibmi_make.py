"""What ``write_ibmi_probe`` writes: the CL program, run statement by statement; the SQL script; the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tdqsim.cli import main
from tdqsim.definitions.cl_command import COMMANDS, check_command, read_command
from tdqsim.errors import UsageError
from tdqsim.ibmi import MessagePlan
from tdqsim.probe.answers import Answers, Observation, write_answers
from tdqsim.probe.comparing import compare
from tdqsim.probe.ibmi_cases import cases, not_tried
from tdqsim.probe.ibmi_cl import cl_cases, source
from tdqsim.probe.ibmi_make import write_ibmi_probe
from tdqsim.probe.ibmi_run import DEFAULTS, LOCATION, example_system, ibmi_answers, register_programs
from tdqsim.probe.ibmi_sql import sql_cases
from tests.probe.cl_interpreter import run_cl, statements
from tests.probe.ibmi_alterations import altered_machine

LIBRARIES = {"library": DEFAULTS["LIB"], "library2": DEFAULTS["LIB2"]}
SEND = "CALL QSYS2.SEND_DATA_QUEUE(MESSAGE_DATA => 'X', DATA_QUEUE =>"
RECEIVE = "SELECT MESSAGE_DATA FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE(DATA_QUEUE =>"
CLEAR = "CALL QSYS2.CLEAR_DATA_QUEUE(DATA_QUEUE =>"


@pytest.fixture
def made(tmp_path: Path) -> Path:
    write_ibmi_probe(tmp_path / "probe", **LIBRARIES, location=LOCATION, job=DEFAULTS["JOB"])
    return tmp_path / "probe"


def cl_answers(source: str, faults: MessagePlan | None = None) -> tuple[Answers, list[str]]:
    """The observations that the CL program writes on a simulated system, and its other SQL statements."""
    found, others = [], []

    def sql(text: str) -> None:
        values = re.fullmatch(r"INSERT INTO TDQPROBE/TDQANSWER VALUES\('(.{33})(.{9})(.{17})(.*)'\)", text)
        if values is None:
            others.append(text)
        else:
            found.append(Observation(*(part.rstrip() for part in values.groups())))

    with example_system() as system, system.job("OPERATOR", "TDQUSER") as job:
        job.command("CRTLIB LIB(TDQPROBE) AUT(*USE)")
        register_programs(system, "TDQPROBE")
        system.faults = faults
        run_cl(source, job, sql)
        assert "TDQPROBE2" not in system.libraries
    return Answers("IBMI", "7.5", tuple(found)), others


def test_the_cl_program_observes_what_the_simulator_answers(made: Path) -> None:
    found, others = cl_answers((made / "TDQPROBE.CLLE").read_text("utf-8"))
    result = compare(found, ibmi_answers())
    assert result.differences == ()
    assert {each.rule for each in found.observations} == {case.rule for case in cl_cases()}
    assert "LEFT-OUT" not in {each.step for each in found.observations}
    header, trailer = others
    assert "'TDQPROBE 1 IBMI '" in header
    assert "'*END '" in trailer


def test_a_call_that_fails_ends_the_calls_that_fill_a_queue(made: Path) -> None:
    faults = MessagePlan()
    faults.add("CPF9872", operation="QSNDDTAQ", name="P03")  # once
    found, _ = cl_answers((made / "TDQPROBE.CLLE").read_text("utf-8"), faults)
    assert [each.value for each in found.observations if each.rule == "DTAQ-SEND-FULL"] == ["CPF9872"]


def test_a_cl_program_without_a_location_and_a_job_leaves_cases_out(tmp_path: Path) -> None:
    write_ibmi_probe(tmp_path, **LIBRARIES)
    found, _ = cl_answers((tmp_path / "TDQPROBE.CLLE").read_text("utf-8"))
    left = {each.rule for each in found.observations if each.step == "LEFT-OUT"}
    assert left == {"DTAQ-DDM-REPLAY", "JOBLOG-OTHER"}


def test_a_statement_is_broken_after_a_blank_and_never_before_one() -> None:
    """With + at the end of a line CL skips the blanks at the beginning of the next one."""
    for text in ("CHGVAR VAR(&V) VALUE('text    of the end')", "CHGVAR(" + "X" * 20 + "    " + "Y" * 16 + ")"):
        for shift in range(18, 30):
            first, second = source(["Z" * shift + text]).splitlines()
            assert (first[-1], second[:24], second[24] != " ") == ("+", " " * 24, True)
            assert first[13:-1] + second[24:] == "Z" * shift + text


@pytest.mark.parametrize("name", ["TDQPROBE", "TDQPARM", "TDQXCL"])
def test_the_source_members(made: Path, name: str) -> None:
    source = (made / f"{name}.CLLE").read_text("utf-8")
    assert all(len(line) <= 71 and line.isascii() for line in source.splitlines())
    names = [name for _, name, _ in statements(source)]
    assert (names[0], names[-1]) == ("PGM", "ENDPGM")
    assert names.count("SUBR") == names.count("ENDSUBR")
    opened = [words for _, name, words in statements(source) if words.get("THEN", words.get("EXEC")) == "DO"]
    assert names.count("ENDDO") == names.count("DOWHILE") + len(opened)


def test_every_command_that_prepares_is_a_command_of_the_simulator() -> None:
    for case in cases():
        for step in case.steps:
            if step.kind == "cmd" and not step.label:
                text = re.sub(r"&\w+", "X", step.text)
                assert not check_command(read_command(text)).diagnostics, text
                assert step.words[1].upper() in COMMANDS


def test_the_sql_script_runs_each_command_of_its_cases(made: Path) -> None:
    script = (made / "tdqprobe.sql").read_text("utf-8")
    calls = re.findall(
        r"^CALL TDQPROBE\.TDQCMD\('([A-Z0-9-]+)', '([A-Z0-9]*)', '((?:[^']|'')*)'\);$", script, re.MULTILINE
    )
    wanted = [
        (case.rule, "" if step.label.startswith(".") else step.label.upper(), step.text)
        for case in sql_cases()
        for step in (*case.steps, *case.last)
        if step.kind == "cmd"
    ]
    written = [(rule, step, text.replace("''", "'")) for rule, step, text in calls]
    assert written == [
        (rule, step, text.replace("&LIB2", "TDQPROBE2").replace("&LIB", "TDQPROBE")) for rule, step, text in wanted
    ]
    services = re.findall(
        r"^(?:CALL QSYS2\.[A-Z]+_DATA|SELECT MESSAGE|CALL TDQPROBE\.TDQENTRIES).*", script, re.MULTILINE
    )
    assert services == [
        f"{SEND} 'P41', DATA_QUEUE_LIBRARY => 'TDQPROBE');",
        f"{RECEIVE} 'P41', DATA_QUEUE_LIBRARY => 'TDQPROBE', REMOVE => 'NO')) X;",
        f"{RECEIVE} 'P41', DATA_QUEUE_LIBRARY => 'TDQPROBE')) X;",
        f"{CLEAR} 'P41', DATA_QUEUE_LIBRARY => 'TDQPROBE');",
        f"{SEND} 'P41K', DATA_QUEUE_LIBRARY => 'TDQPROBE', KEY_DATA => 'A');",
        f"{RECEIVE} 'P41K', DATA_QUEUE_LIBRARY => 'TDQPROBE', KEY_DATA => 'A', KEY_ORDER => 'EQ')) X;",
        f"{CLEAR} 'P41K', DATA_QUEUE_LIBRARY => 'TDQPROBE', KEY_DATA => 'A', KEY_ORDER => 'EQ');",
        f"{SEND} 'P42', DATA_QUEUE_LIBRARY => 'TDQPROBE', KEY_DATA => 'A');",
        "CALL TDQPROBE.TDQENTRIES('DTAQ-QSYS2-KEYED', 'FIRST', 'P42', 'FIRST');",
        "CALL TDQPROBE.TDQENTRIES('DTAQ-QSYS2-KEYED', 'LAST', 'P42', 'LAST');",
        "CALL TDQPROBE.TDQENTRIES('DTAQ-QSYS2-KEYED', 'REVERSE', 'P42', 'REVERSE');",
    ]
    assert "&" not in script
    assert all(
        line.count("'") % 2 == 0 for line in script.splitlines() if line.startswith(("CALL", "INSERT", "SELECT"))
    )


def test_the_page_names_the_libraries_and_every_rule(made: Path) -> None:
    page = (made / "README.md").read_text("utf-8")
    assert "{" not in page
    for rule in {case.rule for case in cases()} | not_tried().keys():
        assert f"| {rule} |" in page
    assert "| DTAQ-JOURNAL | yes | no | yes |" in page  # in Java, CL and SQL
    counts = [
        line.split("|")[3].strip() for line in page.splitlines() if line.startswith(("| `Tdq", "| `TDQ", "| `tdq"))
    ]
    assert counts == ["72", "48", "17"]
    assert "| DTAQ-SEND-FULL | yes | yes | no |" in page
    assert (made / "tdqprobe.txt").read_text("utf-8").startswith("# The cases")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"library": "tdq"}, "is not a library name"),
        ({"library": "QSYS"}, "is not a library name"),
        ({"library2": "TDQPROBE"}, "must be another one"),
        ({"location": "A.B"}, "is not a remote location name"),
        ({"job": "ANNA"}, "is not the name of a job"),
    ],
)
def test_names_that_are_refused(tmp_path: Path, arguments: dict[str, str], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        write_ibmi_probe(tmp_path / "new", **arguments)
    assert not (tmp_path / "new").exists()


def test_a_folder_with_files_is_refused(made: Path) -> None:
    with pytest.raises(UsageError, match="is not an empty folder"):
        write_ibmi_probe(made)


def test_the_command_line_writes_compares_and_adopts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["probe", "make", "--ibmi", "made", "--library", "ourlib"]) == 0
    assert "LIB(OURLIB)" in (tmp_path / "made" / "README.md").read_text("utf-8")
    machine = ibmi_answers(machine=altered_machine(["DTAQ-SEND-EMPTY"]))
    (tmp_path / "answers").write_bytes(write_answers(machine, code_page="037", lines=False))
    assert main(["probe", "compare", "answers", "--adopt", "machine.yaml"]) == 1
    assert "DTAQ-SEND-EMPTY" in capsys.readouterr().out
    assert main(["probe", "compare", "answers", "--machine", "machine.yaml"]) == 0
    assert main(["probe", "make"]) == 2
    assert main(["probe", "make", "--ibmi", "a", "--cics", "b"]) == 2
    assert main(["probe", "make", "--ibmi", "a", "--rule", "CL-TWICE"]) == 2
