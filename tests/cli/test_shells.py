"""Completion in real shells: each loads the script that ``tdq --show-completion`` prints, and is asked by its own means.

bash's function is called as bash calls it; fish is asked what it would offer; in zsh somebody types a tab at a terminal;
PowerShell tells what it would complete.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tdqsim.cli.errors import Exit

ASKED = [
    ("tdq inq", {"inquire"}),
    ("tdq dtaq des", {"describe"}),
    ("tdq inquire pay --opt", {"--option"}),
    ("tdq inquire pay PA", {"PAYQ"}),
    ("tdq inquire -r pay --option NUMI", {"NUMITEMS"}),
    ("tdq write --region pay DO", {"DONE"}),
    ("tdq run pay --start PA", {"PAYP"}),
    ("tdq explain pa", {"pay"}),
    ("tdq guide start-c", {"start-cics"}),
    ("tdq new mine --example cobol", {"cobol_orders"}),
    ("tdq pipeline decode --engine sp", {"spark"}),
]
"""A line that is being typed, and what may be its last word; each answer is a process."""
SOME = ASKED[:4]
"""A command, one below it, an option and a queue of a region: what the other shells are asked; bash is asked the rest."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a region, and a ``tdq`` of this environment before any other."""
    folder = tmp_path_factory.mktemp("shells")
    tdq = folder / "bin" / "tdq"
    tdq.parent.mkdir()
    tdq.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -c "from tdqsim.cli import main; import sys; sys.exit(main())" "$@"\n'
    )
    tdq.chmod(0o755)
    subprocess.run([tdq, "new", "pay"], cwd=folder, check=True, capture_output=True)
    return folder


def environment(place: Path) -> dict[str, str]:
    home = place / "home"
    home.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TDQ_", "_TDQ", "COMP_"))}
    return kept | {
        "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "TERM": "dumb",
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }


def script(place: Path, shell: str) -> Path:
    """The script for a shell in a file, as the guide says to load it."""
    command = [str(place / "bin" / "tdq"), "--show-completion", shell]
    shown = subprocess.run(command, env=environment(place), capture_output=True, text=True, check=True)
    file = place / f"completion.{shell}"
    file.write_text(shown.stdout)
    return file


def told(place: Path, command: list[str]) -> str:
    done = subprocess.run(
        command, cwd=place, env=environment(place), capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed: its completion is not tried")
    return found


def test_bash(place: Path) -> None:
    bash = shell("bash")
    lines = [f"source '{script(place, 'bash')}'", "complete -p tdq >/dev/null || exit 9"]
    for line, _ in ASKED[3:]:
        words = line.split(" ")
        quoted = " ".join(f"'{word}'" for word in words)
        lines += [f"COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1} COMPREPLY=()",
                  f"_tdq_completion tdq '{words[-1]}' '{words[-2]}'", 'echo "${COMPREPLY[*]}"']  # fmt: skip
    offered = told(place, [bash, "--norc", "-c", "\n".join(lines)]).splitlines()
    assert [set(each.split()) for each in offered] == [wanted for _, wanted in ASKED[3:]]


@pytest.mark.shells
def test_fish(place: Path) -> None:
    fish = shell("fish")
    lines = [f"source '{script(place, 'fish')}'"]
    for line, _ in SOME:
        lines += [f"complete --do-complete '{line}'", "echo @@@@"]
    offered = told(place, [fish, "--no-config", "-c", "\n".join(lines)]).split("@@@@\n")[:-1]
    seen = [{row.partition("\t")[0] for row in each.splitlines()} for each in offered]
    assert seen == [wanted for _, wanted in SOME]


# zsh completes only for somebody who types; zpty is a terminal in which a script does.
ZSH = r"""
zmodload zsh/zpty
zpty typed zsh -f -i
send() { zpty -w typed "$1" }
until_seen() { local got all=; while zpty -r typed got; do all+=$got; [[ $all == *$1* ]] && break; done; REPLY=$all }
send "PS1='' PS2='' RPS1=''; unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -d '%(home)s/dump'"
send "source '%(script)s'; bindkey '^I' expand-or-complete; setopt no_beep; print rea''dy"
until_seen ready
for line in %(lines)s; do
    zpty -w -n typed "$line"$'\t'
    zpty -w -n typed $'\x01print -r -- "<" \x05">"\n'  # to the beginning of the line, and its end: what was typed is printed
    until_seen '>'$'\r'
    print -r -- "${REPLY}"
    print -r -- "@@@@"
done
zpty -d typed
"""


@pytest.mark.shells
def test_zsh(place: Path) -> None:
    zsh = shell("zsh")
    filled = {
        "home": place / "home",
        "script": script(place, "zsh"),
        "lines": " ".join(f"'{line}'" for line, _ in SOME),
    }
    environment(place)
    shown = told(place, [zsh, "-f", "-c", ZSH % filled]).split("@@@@\n")[:-1]
    for (line, wanted), screen in zip(SOME, shown, strict=True):
        (word,) = wanted
        completed = " ".join([*line.split(" ")[:-1], word])
        assert re.search(rf"^< {re.escape(completed)} *>", screen, re.MULTILINE), screen


@pytest.mark.shells
def test_powershell(place: Path) -> None:
    pwsh = shell("pwsh")
    lines = [f". '{script(place, 'pwsh')}'"]
    for line, _ in SOME:
        lines.append(
            f"([System.Management.Automation.CommandCompletion]::CompleteInput('{line}', {len(line)}, $null)).CompletionMatches.CompletionText -join ' '"
        )
    offered = told(place, [pwsh, "-NoProfile", "-Command", "\n".join(lines)]).splitlines()
    assert [set(each.split()) for each in offered] == [wanted for _, wanted in SOME]


def asked_as_powershell_does(place: Path, line: str) -> list[str]:
    asked = environment(place) | {
        "_TDQ_COMPLETE": "complete_pwsh",
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_WORD_TO_COMPLETE": line.rpartition(" ")[2],
    }
    done = subprocess.run([place / "bin" / "tdq"], cwd=place, env=asked, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize(("line", "wanted"), SOME[2:])
def test_what_the_script_of_powershell_is_given(place: Path, line: str, wanted: set[str]) -> None:
    """Its part of the work without it: it splits each row at ``:::``, and refuses a row that tells nothing."""
    rows = [row.split(":::") for row in asked_as_powershell_does(place, line)]
    assert {word for word, _ in rows} == wanted
    assert all(about for _, about in rows)


def test_the_command_after_a_completion_of_powershell(place: Path) -> None:
    """Its script empties the variables when it is done, and newer ones keep a variable that is empty."""
    asked = environment(place) | {"_TDQ_COMPLETE": "", "_TYPER_COMPLETE_ARGS": ""}
    tdq = [place / "bin" / "tdq", "inquire", "pay", "NONE"]
    done = subprocess.run(tdq, cwd=place, env=asked, capture_output=True, text=True, check=False)
    assert done.returncode == Exit.CONDITION
    assert "QIDERR" in done.stderr


def test_a_directory_that_cannot_be_read_offers_nothing(place: Path) -> None:
    broken = place / "broken"
    broken.mkdir()
    (broken / "region.yaml").write_text("definitions: [none.yaml]\nnonsense: [")
    asked = environment(place) | {
        "COMP_WORDS": "tdq inquire broken ",
        "COMP_CWORD": "3",
        "_TDQ_COMPLETE": "complete_bash",
    }
    done = subprocess.run([place / "bin" / "tdq"], cwd=place, env=asked, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("", "")
    shutil.rmtree(broken)
