"""The list of commands, completion in shells, the start of tdq, tdq new, and examples by name."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tdqsim.cli import COMMANDS
from tests import apart
from tests.cli.conftest import Tdq


def test_every_command_of_the_table_is_in_its_module() -> None:
    for module in {where.module for where in COMMANDS.values()}:
        app = import_module(module).app
        given = {each.name for each in (*app.registered_commands, *app.registered_groups)}
        named = {name for name, where in COMMANDS.items() if where.module == module}
        assert named == given or len(named) == 1, module  # a module is several commands, or one group of them


def test_help_lists_every_command_and_imports_none(tdq: Tdq) -> None:
    shown = tdq("--all", "--help").out
    for name, where in COMMANDS.items():
        assert f"  {name} " in shown
        assert where.about.split()[0] in shown
    code = "import sys; from tdqsim.cli import main; main(['--help']); print([n for n in sys.modules if 'tdqsim.cics' in n or n.startswith(('rich', 'pydantic'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_list_of_chapters_converts_nothing_that_was_left_out() -> None:
    code = "import sys; from tdqsim.cli import main; main(['guide']); print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize("shell", ["zsh", "fish", "powershell"])
def test_completion_can_be_had_for_every_shell(tmp_path: Path, shell: str) -> None:
    code = f"from tdqsim.cli import main; main(['--show-completion', '{shell}'])"
    done = apart.run("-c", code, env=os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"})
    assert "_TDQ_COMPLETE" in done.stdout


@pytest.mark.parametrize(
    ("words", "wanted"),
    [("tdq in", {"inquire"}), ("tdq inquire --opt", {"--option"}), ("tdq export ", {"csd", "dct", "cl"})],
)  # fmt: skip
def test_commands_and_options_are_completed_without_what_checks_values(words: str, wanted: set[str]) -> None:
    environment = os.environ | {
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
        "_TDQ_COMPLETE": "complete_bash",
    }
    told = "[n for n in sys.modules if n in ('pydantic', 'rich', 'tdqsim.cics')]"
    code = f"import sys; from tdqsim.cli import main\ntry: main([])\nfinally: print({told}, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert set(done.stdout.split()) == wanted
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("words", ["tdq inquire -d pay.yaml PA", "tdq inquire -s store PA"])
def test_names_of_queues_are_completed_from_definitions_and_stores(tdq: Tdq, tmp_path: Path, words: str) -> None:
    (tmp_path / "pay.yaml").write_text(
        "group: PAY\ntdqueue:\n- {name: PAYQ, type: INTRA}\n- {name: AUDT, type: INTRA}\n"
    )
    assert tdq("write", "PAYQ", "one", "--seed", "-d", "pay.yaml", "-s", "store").code == 0
    environment = os.environ | {
        "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1), "_TDQ_COMPLETE": "complete_bash",
    }  # fmt: skip
    done = apart.run("-c", "from tdqsim.cli import main; main([])", env=environment, cwd=tmp_path)
    assert done.stdout.split() == ["PAYQ"], done.stderr


def test_the_options_of_completion_are_those_of_tdq_alone(tdq: Tdq) -> None:
    assert "--install-completion" in tdq("--help").out
    assert "completion" not in tdq("inquire", "--help").out
    assert "..." not in tdq("cobol", "--help").out.replace("[ARGS]...", "")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_are_answered_too(shell: str) -> None:
    environment = os.environ | {
        "_TYPER_COMPLETE_ARGS": "tdq inq",
        "_TYPER_COMPLETE_WORD_TO_COMPLETE": "inq",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TDQ_COMPLETE": f"complete_{shell}",
    }
    done = apart.run("-c", "from tdqsim.cli import main; main([])", env=environment)
    assert "inquire" in done.stdout
    assert "INQUIRE TDQUEUE: states and attributes" in done.stdout.replace("\\\\", "")


def test_new_writes_a_region_directory_whose_test_passes(tdq: Tdq, tmp_path: Path) -> None:
    made = tdq("new", "pay")
    assert made.code == 0
    assert "next: tdq check pay" in made.out
    assert tdq("check", "pay").code == 0
    assert tdq("run", "pay").code == 0
    assert [each.name for each in (tmp_path / "tdq-out").iterdir()] == ["pay"]
    settings = json.loads((tmp_path / "pay" / ".vscode" / "settings.json").read_text())
    assert all((tmp_path / "pay" / name).is_file() for name in settings["yaml.schemas"])
    done = apart.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "pay", cwd=tmp_path)
    assert "1 passed" in done.stdout, done.stdout
    again = tdq("new", "pay")
    assert (again.code, "not empty" in again.err) == (2, True)


def test_new_copies_an_example(tdq: Tdq, tmp_path: Path) -> None:
    assert tdq("new", "night", "--example", "card_posting").code == 0
    assert tdq("check", "night").code == 0
    assert (tmp_path / "night" / "card_programs.py").is_file()
    refused = tdq("new", "other", "--example", "nonsense")
    assert (refused.code, "there are card_posting" in refused.err) == (2, True)


@pytest.mark.parametrize("name", ["card_posting", "examples/card_posting"])
def test_an_example_is_run_by_its_name_from_anywhere(tdq: Tdq, name: str) -> None:
    assert tdq("explain", name, "DALY").code == 0
    ended = tdq("run", name, "--records", "50", "--json")
    assert ended.code == 0
    assert json.loads(ended.out.splitlines()[-1])["applid"] == "CARDREGN"


def test_a_schema_of_region_files(tdq: Tdq) -> None:
    assert json.loads(tdq("check", "--schema", "region").out)["title"] == "tdqsim region file"
    assert tdq("check", "--schema", "nonsense").code == 2


def test_a_schema_of_system_files(tdq: Tdq) -> None:
    found = json.loads(tdq("check", "--schema", "system").out)
    assert found["title"] == "tdqsim system file"
    keys = {"name", "ccsid", "time_zone", "definitions", "libraries", "commands", "system_values", "machine"}
    assert set(found["properties"]) == keys
    assert all(each["description"] for each in found["properties"].values())


def test_definitions_go_out_as_macros_and_as_cl(tdq: Tdq, tmp_path: Path) -> None:
    (tmp_path / "q.yaml").write_text(
        "group: PAY\ntdqueue:\n- {name: PAYQ, type: INTRA, description: payments}\ndtaq:\n- {dtaq: QGPL/ORDERS, maxlen: 9}\n"
    )
    macros = tdq("export", "dct", "q.yaml")
    assert "DFHDCT TYPE=INTRA,DESTID=PAYQ" in macros.out
    assert "TDQUEUE(PAYQ) DESCRIPTION: has no counterpart" in macros.err
    assert tdq("export", "cl", "q.yaml").out == "CRTDTAQ DTAQ(QGPL/ORDERS) MAXLEN(9)\n"
    (tmp_path / "none.yaml").write_text("group: PAY\ntransaction:\n- {name: PAYP}\n")
    assert tdq("export", "cl", "none.yaml").code == 2


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[2] / "examples").iterdir()), ids=lambda path: path.stem)
def test_every_example_can_be_copied(tdq: Tdq, tmp_path: Path, path: Path) -> None:
    if path.name.startswith(("_", ".")):
        pytest.skip("no example")
    ended = tdq("new", tmp_path / "copy", "--example", path.stem)
    assert ended.code == 0
    wanted = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    for file in (each for each in wanted if "__pycache__" not in each.parts):
        copied = tmp_path / "copy" / file.relative_to(path.parent if path.is_file() else path)
        assert copied.read_bytes() == file.read_bytes()
    assert "next: " in ended.out
    assert ended.out.endswith("/browse_queues.py DIR [STORE] [--copy-to DIR]\n") == (path.stem == "browse_queues")
    assert ("tdq run" in ended.out) == (path / "region.yaml").is_file()
    assert path.stem in tdq("new", tmp_path / "other", "--example", "nonesuch").err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("inquir", "inquire"),
        ("dtaq lst", "list"),
        ("export cds", "csd"),
        ("guide browze", "browse"),
        ("guide recovry", "recovery"),
        ("inquire --option NUMITMS", "NUMITEMS"),
        ("inquire --option numitms", "NUMITEMS"),
        ("inquire --optin NUMITEMS", "--option"),
        ("new copy --example card_postin", "card_posting"),
    ],
)
def test_what_was_probably_meant_is_said(tdq: Tdq, tmp_path: Path, words: str, meant: str) -> None:
    (tmp_path / "region.yaml").write_text("definitions: []\n")
    ended = tdq(*words.split())
    assert ended.code == 2
    assert f"did you mean {meant}?" in ended.err or re.search(rf"\(Possible options: .*{meant}\b", ended.err)


def test_a_word_that_is_like_nothing_suggests_nothing(tdq: Tdq) -> None:
    ended = tdq("xyzzyx")
    assert (ended.code, "did you mean" in ended.err) == (2, False)


def test_folders_without_cobol_are_said_so(tdq: Tdq, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ended = tdq("cobol", "check", "empty")
    assert (ended.code, "empty: there is no COBOL source" in ended.err) == (2, True)


def test_one_queue_is_shown_by_what_applies_to_it(tdq: Tdq, tmp_path: Path) -> None:
    (tmp_path / "pay.yaml").write_text("group: G\ntdqueue:\n- {name: PAYQ, type: INTRA}\n")
    shown = dict(line.split(None, 1) for line in tdq("inquire", "PAYQ", "-d", "pay.yaml").out.splitlines()[1:])
    assert (shown["TDQUEUE"], shown["TYPE"], shown["TRIGGERLEVEL"]) == ("PAYQ", "INTRA", "0")
    assert "DDNAME" not in shown
    assert re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d", shown["CHANGETIME"])
    (found,) = json.loads(tdq("inquire", "PAYQ", "-d", "pay.yaml", "--json").out)
    assert len(found) >= 40
    assert isinstance(found["CHANGETIME"], int)
