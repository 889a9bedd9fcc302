"""``tdq mutate``: what it shows, its JSON, its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Tdq

HANDLER = "def move(task):\n    task.writeq_td('OUT', task.readq_td('IN'))\n    task.syncpoint()\n"
TEST = """\
from movers import move

class Task:
    def __getattr__(self, name):
        return lambda *arguments: self.called.append(name) or b"record"
    called = []

def test_it_reads():
    move(Task())
    assert "readq_td" in Task.called
"""


def test_survivors_are_shown_and_fail_when_too_many(tdq: Tdq) -> None:
    Path("movers.py").write_text(HANDLER)
    Path("test_movers.py").write_text(TEST)
    ended = tdq("mutate", "--most", 1, "--seed", 2, "--test", "test_movers.py", "--json")
    assert ended.code == 0
    found = json.loads(ended.out)
    assert found["counts"]["survived"] == 1
    (mutant,) = found["mutants"]
    assert (mutant["file"], mutant["outcome"], mutant["test"]) == ("movers.py", "survived", "")
    ended = tdq("mutate", "movers.py", "--most", 1, "--seed", 2, "--least", 50)
    assert ended.code == 1
    assert ended.out.startswith(f"survived: movers.py:{mutant['line']}: {mutant['command']}: ")
    assert "0 of 1 mutants killed" in ended.out


def test_what_cannot_be_mutated_is_refused(tdq: Tdq) -> None:
    ended = tdq("mutate", "nothing.py")
    assert (ended.code, ended.err) == (2, "tdq: nothing.py: there is no such file or directory\n")
    Path("movers.py").write_text("x = 1\n")
    assert tdq("mutate").out == "no mutants: no command was found that can be altered\n"
