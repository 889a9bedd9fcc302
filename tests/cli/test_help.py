"""``tdq --help`` in groups, ``tdq doctor``, and ``python -m tdqsim``."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

from tdqsim.cli import COMMANDS
from tdqsim.core.control import Address

HEADINGS = ["Begin", "Queues", "Operator's transactions", "Definitions and data sets", "Other systems and tools"]


def test_help_lists_commands_in_five_groups_on_lines_of_80_columns(tdq):
    text = tdq("--help").out
    assert [each for each in re.findall(r"^([A-Z].*):$", text, re.MULTILINE) if each in HEADINGS] == HEADINGS
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    begin = lines.index("Begin:")
    assert begin < lines.index("Options:")  # commands are what a newcomer looks for
    assert [line.split()[0] for line in lines[begin + 1 : begin + 6]] == ["new", "check", "run", "guide", "doctor"]
    for name, command in COMMANDS.items():
        assert len(re.findall(rf"^  {name}  ", text, re.MULTILINE)) == bool(command.group), name


def test_all_also_lists_what_is_for_developers(tdq):
    text = tdq("--all", "--help").out
    assert tdq("--help", "--all").out == text
    for name in COMMANDS:
        assert len(re.findall(rf"^  {name}  ", text, re.MULTILINE)) == 1, name


def test_doctor_says_what_is_missing_and_what_it_would_add(tdq, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    parts = {part["name"]: part for part in json.loads(tdq("doctor", "--json").out)["parts"]}
    assert parts["cobc"]["state"] == "missing"
    assert "tdq cobol" in parts["cobc"]["note"]
    assert parts["[test]"]["state"] == "installed"
    head = tdq("doctor").out.splitlines()[:3]
    assert (head[0][:7], head[1].partition(" ")[2], head[2]) == ("tdqsim ", "code pages", "")


def test_doctor_lists_what_a_server_of_this_user_serves(tdq, tmp_path, monkeypatch):
    def served():
        """What this process serves: servers of other tests may run, too."""
        found = json.loads(tdq("doctor", "--json").out)["served"]
        return [(each["place"], each["name"]) for each in found if each["pid"] == os.getpid()]

    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    store = tmp_path / "store"
    store.mkdir()
    with Address("http://127.0.0.1:1", "secret", os.getpid(), "PAYREGN", "region").announced([store]):
        assert served() == [(str(store), "PAYREGN")]
        assert "secret" not in tdq("doctor", "--json").out
        assert str(store) in tdq("doctor").out
    assert served() == []


def test_the_package_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "tdqsim", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("tdqsim ")
