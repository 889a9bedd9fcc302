"""One seed gives one trace, whatever else the machine does meanwhile and however Python hashes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.testing.one_trace import trace

ROOT = Path(__file__).resolve().parents[2]
BURN = "while True: sum(range(10000))"


@contextmanager
def stress(burners: int) -> Iterator[None]:
    """So many processes that want a core each."""
    with ExitStack() as ends:
        for _ in range(burners):
            burner = subprocess.Popen([sys.executable, "-c", BURN])
            ends.callback(burner.wait)
            ends.callback(burner.kill)
        yield


def alone(seed: int, number: int) -> list[str]:
    """The trace of a process of its own, which hashes in its own way."""
    command = [sys.executable, "-m", "tests.testing.one_trace", str(seed)]
    environment = {**os.environ, "PYTHONHASHSEED": str(number)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def traces(seed: int, runs: int, *, at_once: int) -> Iterator[list[str]]:
    with ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(lambda number: alone(seed, number), range(runs))


def test_one_seed_gives_one_trace_and_another_another() -> None:
    expected = trace(7)
    assert len(expected) > 200
    assert trace(7) == expected
    assert trace(8) != expected
    assert list(traces(7, 2, at_once=2)) == [expected, expected]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 7])
def test_a_hundred_runs_under_stress_give_one_trace(seed: int) -> None:
    expected = trace(seed)
    with stress(2 * (os.cpu_count() or 1)):
        for number, found in enumerate(traces(seed, 100, at_once=4)):
            assert found == expected, f"run {number}"
