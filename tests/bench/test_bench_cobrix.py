"""The race against a warm Cobrix: a bench that is given its jar.

``TDQ_COBRIX_JAR=spark-cobol-assembly.jar pytest -m bench tests/bench/test_bench_cobrix.py -s``; the size of each file is
``TDQ_BENCH_MEGABYTES`` (200). Each side has a JVM of its own; both have to give the same counts and sums. Three warm rounds
of each work, then the medians of three; then both again in the other order. What is compared is processor time of the
whole process tree.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")

from tests.bench import _race
from tests.bench._table import reach

pytestmark = [pytest.mark.bench, pytest.mark.spark]

JAR = "TDQ_COBRIX_JAR"
AT_LEAST = {
    "fb noop": 1.8, "fb count": 1.8, "fb group-by": 1.8, "fb three columns": 3.5, "fb to Parquet by tasks": 6.0,
    "fb to Parquet by Spark": 1.4, "fb lazy noop": 2.4, "vb noop": 1.5, "vb group-by": 1.3, "vb to Parquet by tasks": 3.0,
    "segments noop": 1.3, "counted noop": 1.3, "wide noop": 1.3, "corrupt noop": 1.3,
}  # fmt: skip
"""Cobrix's processor time over ours."""


def side(name: str, folder: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench._race", name, str(folder)],
        cwd=Path(__file__).resolve().parents[2], stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.skipif(JAR not in os.environ, reason=f"give Cobrix's jar, with what it needs in it, by {JAR}")
def test_the_race(tmp_path: Path) -> None:
    _race.prepare(tmp_path, int(os.environ.get("TDQ_BENCH_MEGABYTES", "200")))
    rounds = [{name: side(name, tmp_path) for name in order} for order in (("cobrix", "qsam"), ("qsam", "cobrix"))]
    assert all(each["cobrix"]["answers"] == each["qsam"]["answers"] for each in rounds)
    ratios = {
        name: statistics.median(each["cobrix"][name]["cpu"] / each["qsam"][name]["cpu"] for each in rounds)
        for name in AT_LEAST
    }
    missed = []
    for name, ratio in ratios.items():
        try:
            reach(AT_LEAST[name], ratio, f"Cobrix to ours, processor time: {name}")
        except AssertionError as error:  # all of them are shown
            missed.append(str(error))
    assert missed == []
