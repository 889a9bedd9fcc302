"""The start of a local session: warm, with the archive of ``tdq pipeline warm``, against cold ones."""

from __future__ import annotations

import os
import subprocess
import sys
from statistics import median
from time import perf_counter

import pytest

pytestmark = [pytest.mark.bench]

WORK = """
session.range(9).mapInArrow(lambda batches: batches, 'id long').count()
session.sql('select id % 7 k, count(*) n from range(1000) group by 1').write.mode('overwrite').parquet(sys.argv[1])
session.stop()
"""
OURS = "import sys; from tdqsim.pipeline.session import session; session = session(register=False)" + WORK
PLAIN = (
    "import sys; from pyspark.sql import SparkSession; session = SparkSession.builder.master('local[2]').getOrCreate()"
)


def test_a_warm_start_against_cold_ones(tmp_path):
    """Session, first Python job, first SQL, first Parquet file; each in a process of its own, in turn."""
    pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")
    environ = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    warm, cold = ({**environ, "TDQ_CACHE": str(tmp_path / name)} for name in ("warm", "cold"))
    subprocess.run(
        [sys.executable, "-c", "from tdqsim.pipeline.session import warm; warm()"],
        env=warm,
        check=True,
        capture_output=True,
    )

    def took(code, environ):
        start = perf_counter()
        subprocess.run([sys.executable, "-c", code, tmp_path / "out"], env=environ, check=True, capture_output=True)
        return perf_counter() - start

    took(OURS, warm)
    rounds = [(took(OURS, warm), took(OURS, cold), took(PLAIN + WORK, environ)) for _ in range(5)]
    ours, plain = (median(each[0] / each[other] for each in rounds) for other in (1, 2))
    print(f"\nwarm start {ours:.2f} of ours without the archive, {plain:.2f} of one with Spark's defaults")
    assert plain < 1
