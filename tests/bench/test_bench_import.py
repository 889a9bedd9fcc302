"""What the import of a region costs, beside that of what it is made of."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

from ._table import hold

pytestmark = pytest.mark.bench

SPENT = "import resource as r; u = r.getrusage(r.RUSAGE_SELF); print(u.ru_utime + u.ru_stime)"
ROUNDS = 15


def test_touching_a_region(tmp_path: Path) -> None:
    """Process time of an interpreter, its own start in both; what is compiled is kept for the rounds.

    Two thirds of it are a hundred and seventy modules of our own: the declarations of every command, and the tables of facts
    that they need. In machine instructions, which do not depend on what else runs, the ratio is 2.72.
    """
    environ = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}

    def cost(statement: str) -> float:
        command = [sys.executable, "-c", f"{statement}\n{SPENT}"]
        return float(subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout)

    found = [
        cost("import tdqsim; tdqsim.Region") / cost("import yaml, lmdb, greenlet")
        for _ in range(ROUNDS + 1)  # the first compiles
    ]
    hold(3.25, median(found[1:]), "touching Region, to importing yaml, lmdb and greenlet", wanted=2.5)
