"""The race against a warm Cobrix: a bench that needs its jar.

``TDQ_COBRIX_JAR=spark-cobol-assembly.jar pytest -m bench tests/bench/test_bench_cobrix.py -s``; the size of each file is
``TDQ_BENCH_MEGABYTES`` (200). Each side has a JVM of its own; both must give the same counts and sums. They take turns
with each work, some rounds to warm up and then five that count. The processor time of the whole process trees is
compared, by its medians.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")

from tests.bench import _race
from tests.bench._table import reach

pytestmark = [pytest.mark.bench, pytest.mark.spark]

JAR = "TDQ_COBRIX_JAR"
AT_LEAST = {
    "fb noop": 1.8, "fb count": 1.8, "fb group-by": 1.8, "fb three columns": 3.3, "fb to Parquet by tasks": 5.5,
    "fb to Parquet by Spark": 1.5, "fb lazy noop": 2.4, "vb noop": 1.5, "vb group-by": 1.5, "vb to Parquet by tasks": 3.5,
    "segments noop": 1.4, "counted noop": 1.4, "wide noop": 1.4, "corrupt noop": 1.5,
}  # fmt: skip
"""Cobrix's processor time over ours."""


@pytest.mark.skipif(JAR not in os.environ, reason=f"name the jar of Cobrix, with its dependencies in it, by {JAR}")
def test_the_race(tmp_path: Path) -> None:
    _race.prepare(tmp_path, int(os.environ.get("TDQ_BENCH_MEGABYTES", "200")))
    seconds = _race.race(tmp_path)
    missed = []
    for name, least in AT_LEAST.items():
        theirs, ours = seconds[name]
        try:
            reach(least, theirs / ours, f"Cobrix to ours, processor time: {name}")
        except AssertionError as error:  # the others are checked too
            missed.append(str(error))
    assert missed == []
