"""What ``tdq probe make --cics`` writes is what a region, a compiler and the job entry system would take."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tdqsim.cli import main
from tdqsim.cobol import Options
from tdqsim.cobol.compiler import expand
from tdqsim.cobol.translate import translate
from tdqsim.definitions.csdup import parse_csd
from tdqsim.definitions.machine import NAMED
from tdqsim.errors import UsageError
from tdqsim.facts import rules
from tdqsim.probe import Answers, write_answers
from tdqsim.probe.cics_run import observe_cics
from tdqsim.probe.making import write_cics_probe

SOURCES = Path(__file__).parents[2] / "src" / "tdqsim" / "cics"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "probe"
    write_cics_probe(folder, prefix="ZQ", hlq="TEST.ABCDEFGH.PROBE")
    return folder


def test_job_control_is_within_its_columns_and_names(made: Path) -> None:
    jobs = sorted(made.glob("*.jcl"))
    assert [path.name for path in jobs] == ["ZQALLOC.jcl", "ZQBUILD.jcl", "ZQDEFINE.jcl", "ZQREMOVE.jcl"]
    for path in jobs:
        for line in path.read_text("utf-8").split("\n"):
            assert len(line) <= 71, line
            name = re.match(r"//([^ *]+) ", line)
            if name:
                assert all(re.fullmatch(r"[A-Z$#@][A-Z0-9$#@]{0,7}", part) for part in name[1].split(".")), line
        assert "{" not in path.read_text("utf-8")


def test_a_job_sets_each_symbol_that_it_uses(made: Path) -> None:
    for path in made.glob("*.jcl"):
        text = path.read_text("utf-8")
        used = set(re.findall(r"(?<!&)&([A-Z]+)", text)) - {"SYSUID", "MEMBER"}
        assert used <= set(re.findall(r"SET ([A-Z]+)=", text)), path


def test_the_definitions_are_valid_and_have_the_prefix(made: Path) -> None:
    text = (made / "ZQDEF.csd").read_text("utf-8")
    assert all(len(line) <= 72 for line in text.split("\n"))
    definitions = parse_csd(text).definitions
    assert {each.name[:2] for each in definitions.resources} == {"ZQ"}
    assert definitions.groups == ("ZQPROBE",)
    transactions = {each.name: each.program for each in definitions.transactions}
    assert {"ZQRB", "ZQH1", "ZQH2", "ZQTF"} <= transactions.keys()


def test_programs_name_only_resources_of_the_probe(made: Path) -> None:
    for path in made.glob("*.cbl"):
        names = re.findall(
            r"\b(?:QUEUE|TDQUEUE|TRANSID|PROGRAM|FILE|REQID|CONTAINER)\('([^']*)'\)", path.read_text("utf-8")
        )
        assert names
        assert {name[:2] for name in names} - {"A "} == {"ZQ"}


@pytest.mark.cobc
def test_the_translator_takes_the_programs(made: Path) -> None:
    for path in made.glob("*.cbl"):
        translate(expand(path, Options(())), str(path))


_SYSTEM_VERBS = {"INQUIRE": "READ", "EXTRACT": "READ", "SET": "UPDATE", "CREATE": "ALTER", "DISCARD": "ALTER"}
"""The commands of the system programming interface, with the access to their resource that command security asks for."""
_LEVELS = ("READ", "UPDATE", "ALTER")


def _system_commands(made: Path) -> set[tuple[str, str]]:
    """Verb and resource of each command of the system programming interface; EXTRACT STATISTICS is one of STATISTICS."""
    text = "".join(path.read_text("utf-8") for path in made.glob("*.cbl"))
    return {(verb, name) for verb, name in re.findall(r"EXEC CICS ([A-Z]+)\s+([A-Z]+)", text) if verb in _SYSTEM_VERBS}


def test_the_programs_have_the_options_that_their_commands_need(made: Path) -> None:
    """Without SP the translator refuses system commands; EXEC CICS in Enterprise COBOL needs RENT and NODYNAM."""
    assert len(_system_commands(made)) > 12
    for path in made.glob("*.cbl"):
        first = path.read_text("utf-8").split("\n")[0]
        translator = re.search(r"^ {7}CBL CICS\('([^']*)'\)", first)
        assert translator, first
        assert {"SP", "COBOL3", "APOST"} <= set(translator[1].split(","))
    assert "PARM='NODYNAM,RENT," in (made / "ZQBUILD.jcl").read_text("utf-8")


def test_task_numbers_are_packed_decimal(made: Path) -> None:
    """INQUIRE and SET TASK take four bytes of packed decimal; a binary number is a data exception."""
    for path in made.glob("*.cbl"):
        text = path.read_text("utf-8")
        for item in re.findall(r"\bTASK\(([^)]*)\)", text):
            assert re.search(rf"\b77 +{item} +PIC S9\(7\) COMP-3\.", text), item


def test_each_step_of_a_job_has_the_dd_statements_of_its_program(made: Path) -> None:
    needed = {
        "IGYCRCTL": {
            *("STEPLIB", "SYSLIB", "SYSIN", "SYSLIN", "SYSPRINT", "SYSMDECK"),
            *(f"SYSUT{number}" for number in range(1, 16)),
        },
        "IEWL": {"SYSLIB", "SYSLIN", "SYSLMOD", "SYSPRINT", "STUB"},
        "DFHCSDUP": {"STEPLIB", "DFHCSD", "SYSPRINT", "SYSIN"},
        "IDCAMS": {"SYSPRINT", "SYSIN"},
        "IEBGENER": {"SYSPRINT", "SYSIN", "SYSUT1", "SYSUT2"},
        "IEFBR14": {"ANSWERS", "FIX", "VAR"},
    }
    programs = []
    for path in made.glob("*.jcl"):
        text = path.read_text("utf-8")
        for step in re.split(r"(?m)^//[A-Z0-9]+ +EXEC ", text)[1:]:
            if not step.startswith("PGM="):
                continue  # a step that uses the procedure
            program = re.match(r"PGM=([A-Z0-9]+)", step)[1]
            names = set(re.findall(r"(?m)^//([A-Z0-9.]+) +DD ", step))
            assert needed[program] - names == set(), (path.name, program)
            assert set(re.findall(r"FILE\((\w+)\)", step)) <= names, (path.name, program)
            programs.append(program)
    assert set(programs) == needed.keys()


def test_the_page_lists_the_access_to_each_command(made: Path) -> None:
    needed: dict[str, str] = {}
    for verb, name in _system_commands(made):
        needed[name] = max(needed.get(name, "READ"), _SYSTEM_VERBS[verb], key=_LEVELS.index)
    page = (made / "README.md").read_text("utf-8")
    listed = {
        name: row[1]
        for row in re.finditer(r"(?m)^\| (READ|UPDATE|ALTER) \| ([^|]*) \|$", page)
        for name in re.sub(r"\(.*?\)", "", row[2]).replace(" ", "").split(",")
    }
    assert listed == needed


def test_the_page_for_the_change_request_has_no_gap(made: Path) -> None:
    page = (made / "README.md").read_text("utf-8")
    assert "{" not in page
    assert "ZQDEF.csd" in page


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"prefix": "CX"}, "not C"),
        ({"prefix": "ABC"}, "two characters"),
        ({"prefix": "Z$"}, "two characters A-Z 0-9"),
        ({"hlq": "A2345678.B2345678.C2345678.D2"}, "at most 28 characters"),
        ({"hlq": "TOO.LONGQUALIFIER"}, "qualifiers of a data set name"),
        ({"release": "x"}, "two numbers"),
        ({"wanted": ["SEC-GROUP"]}, "there is no case"),
    ],
)
def test_names_that_are_not_possible_are_refused(tmp_path: Path, given: dict, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        write_cics_probe(tmp_path / "new", **given)
    assert not (tmp_path / "new").exists()


def test_a_folder_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="empty"):
        write_cics_probe(tmp_path)


def test_compare_names_what_differs_and_adopts_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = ["TASK-ASSIGN-QNAME", "ENQ-LENGERR", "TRAN-SECURITY", "TD-SYSID-LOCAL"]
    found = observe_cics(wanted=wanted)
    changed = [
        each._replace(value="9")
        if each.key
        in {
            ("TASK-ASSIGN-QNAME", "1", "RESP2"),
            ("TRAN-SECURITY", "1", "C1"),
            ("TD-SYSID-LOCAL", "1", "Q1"),  # a name of the machine
        }
        else each
        for each in found.observations
    ]
    file, machine = tmp_path / "answers", tmp_path / "machine.yaml"
    file.write_bytes(write_answers(Answers("CICS", "5.6", tuple(changed)), code_page="1047", lines=False))
    assert main(["probe", "compare", str(file), "--adopt", str(machine)]) == 1
    text = capsys.readouterr().out
    assert "4 rules compared, 2 differ" in text
    assert "not tried" not in text
    assert "step 1, RESP2: the simulator answers 4, the machine 9" in text
    assert rules()["TRAN-SECURITY"].circumstances in text
    assert main(["probe", "compare", str(file), "--machine", str(machine), "--json"]) == 1
    assert '"TASK-ASSIGN-QNAME"' not in capsys.readouterr().out


def test_the_command_line_writes_the_probe_of_one_machine(tmp_path: Path) -> None:
    options = ["--prefix", "zq", "--hlq", "our.own", "--release", "6.1", "--rule", "TD-DISABLED"]
    assert main(["probe", "make", "--cics", str(tmp_path / "cics"), *options]) == 0
    assert "TDQPROBE 1 CICS 6.1 #@$" in (tmp_path / "cics" / "ZQPROB1.cbl").read_text("utf-8")
    assert "SET HLQ=OUR.OWN" in (tmp_path / "cics" / "ZQALLOC.jcl").read_text("utf-8")
    assert main(["probe", "make", "--ibmi", str(tmp_path / "ibmi")]) == 0
    assert (tmp_path / "ibmi" / "README.md").exists()
    assert main(["probe", "make"]) == 2


def test_the_rules_that_conditions_name_are_listed() -> None:
    named = set()
    for path in SOURCES.rglob("*.py"):
        if path.name != "machine.py":
            named |= set(re.findall(r'"((?:[A-Z]+-)+[A-Z0-9]+)"', path.read_text("utf-8"))) & rules().keys()
    assert named == NAMED
