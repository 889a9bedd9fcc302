"""No command executes more bytecode instructions than the table beside this file says, give or take a thirtieth.

Times differ by two between machines, instructions do not, so this runs with the other tests. A row is raised only by a
change that says why, and lowered by one that made the path shorter. ``python -m tests.bench._instructions PATH`` shows
the functions of a path.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

TABLE = Path(__file__).with_name("instructions.tsv")
ROOT = Path(__file__).parents[2]
MARGIN = 0.03

pytestmark = [
    pytest.mark.house,
    pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the table holds for the bytecode of Python 3.11"),
]


def test_each_path_executes_the_instructions_of_the_table() -> None:
    done = subprocess.run(  # a process of its own: coverage and evidence would count too
        [sys.executable, "-m", "tests.bench._instructions"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    seen = {path: round(count) for path, count in json.loads(done.stdout).items()}
    with TABLE.open(encoding="utf-8", newline="") as file:
        wanted = {row["path"]: int(row["instructions"]) for row in csv.DictReader(file, delimiter="\t")}
    assert seen.keys() == wanted.keys()
    longer = {path: (wanted[path], count) for path, count in seen.items() if count > wanted[path] * (1 + MARGIN)}
    assert not longer, f"(the table, now): {longer}; python -m tests.bench._instructions PATH shows the functions"
    shorter = {path: (wanted[path], count) for path, count in seen.items() if count < wanted[path] * (1 - MARGIN)}
    assert not shorter, f"(the table, now): {shorter}; lower the rows of {TABLE.name}"
