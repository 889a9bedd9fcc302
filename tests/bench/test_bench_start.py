"""How long short commands take to start, beside a Python that does nothing, and the main job's rate."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

import pytest

pytestmark = pytest.mark.bench

ROOT = Path(__file__).resolve().parents[2]
JOB = ROOT / "examples" / "card_posting"
TDQ = "import sys; from tdqsim.cli import main; sys.exit(main())"
ROUNDS = 7

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import tdqsim": ["-c", "import tdqsim"],
    "tdq --version": ["-c", TDQ, "--version"],
    "tdq inquire, from definitions": ["-c", TDQ, "inquire", str(JOB), "PST1", "--option", "NUMITEMS"],
    "tdq inquire, from a store": ["-c", TDQ, "inquire", "PST1", "--option", "NUMITEMS", "--store"],
}


def test_commands_start_fast(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    seed = ["-c", TDQ, "seed", "PST1", "X", "--region", str(JOB), "--store", store]
    subprocess.run([sys.executable, *seed], check=True, capture_output=True)
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, arguments in COMMANDS.items():
            extra = [store] if arguments[-1] == "--store" else []
            begun = perf_counter()
            subprocess.run([sys.executable, *arguments, *extra], check=True, capture_output=True, cwd=tmp_path)
            times[name].append(perf_counter() - begun)
    print()
    for name, taken in times.items():
        ratio = median(one / bare for one, bare in zip(taken, times["python -c pass"], strict=True))
        print(f"{name:<36} {ratio:>6.1f} x a bare start {median(taken):>8.3f} s")


@pytest.mark.parametrize("records", [10_000, 100_000])
def test_the_main_job_keeps_its_rate(tmp_path: Path, records: int) -> None:
    command = [sys.executable, "-c", TDQ, "run", str(JOB), "--records", str(records), "--json", "--out", str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    commands = found["td_commands"] / found["seconds"]
    print(f"\n{records:>9,} records: {found['records_per_second']:>8,} records/s {commands:>10,.0f} TD commands/s")
    assert found["ok"]
