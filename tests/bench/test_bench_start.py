"""The start of a local session: warm, with the archive of ``tdq pipeline warm``, against cold ones.

Makes the archive and starts ten sessions, each of several seconds: a minute and a half on two idle cores, several on a
busy machine. ``TDQ_BENCH_ROUNDS`` sets how often they take turns; with ``-s`` each is told as it ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
from statistics import median
from time import perf_counter

import pytest

from tests.bench._table import hold
from tests.bench._tree import watched

pytestmark = [pytest.mark.bench]

ROUNDS = int(os.environ.get("TDQ_BENCH_ROUNDS", "3"))
LONGEST_SECONDS = 120
"""What hangs ends after this; a start takes ten seconds, and thirty on a busy machine."""

WORK = """
session.range(9).mapInArrow(lambda batches: batches, 'id long').count()
session.sql('select id % 7 k, count(*) n from range(1000) group by 1').write.mode('overwrite').parquet(sys.argv[1])
session.stop()
"""
OURS = "import sys; from tdqsim.pipeline.sessions import session; session = session(register=False)" + WORK
PLAIN = (
    "import sys; from pyspark.sql import SparkSession; session = SparkSession.builder.master('local[2]').getOrCreate()"
) + WORK


def test_a_warm_start_against_cold_ones(tmp_path):
    """Session, first Python job, first SQL, first Parquet file; each in a process of its own, in turn."""
    pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")
    environ = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    warm, cold = ({**environ, "TDQ_CACHE": str(tmp_path / name)} for name in ("warm", "cold"))

    def took(what, code, environ):
        start = perf_counter()
        command = [sys.executable, "-c", code, tmp_path / "out"]
        done = subprocess.run(
            command, env=environ, check=False, timeout=LONGEST_SECONDS, capture_output=True, text=True
        )
        seconds = perf_counter() - start
        print(f"\n{what} {seconds:.1f} s", end="", flush=True)
        assert done.returncode == 0, done.stderr[-3000:]
        return seconds

    took("making the archive", "from tdqsim.pipeline.sessions import warm; warm()", warm)
    took("a first start", OURS, warm)
    kinds = [("warm", OURS, warm), ("ours without the archive", OURS, cold), ("Spark's defaults", PLAIN, environ)]
    rounds = [[took(*kind) for kind in kinds] for _ in range(ROUNDS)]
    ours, plain = (median(each[0] / each[other] for each in rounds) for other in (1, 2))
    print(f"\nwarm start {ours:.2f} of ours without the archive")
    hold(1, plain, "pipeline: a warm start, to a cold one with Spark's defaults, by the wall")


COUNT = """
import sys
from tdqsim.pipeline.sessions import session
frame = session().read.format("qsam").options(copybook_contents=sys.argv[2]).load(sys.argv[1])
assert frame.count() == 1000
"""


def test_the_first_count_after_warm(tmp_path, monkeypatch):
    """Session, load and first count; seconds of the whole tree's processors, which is how the bar is given."""
    pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")
    monkeypatch.setenv("TDQ_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "data"
    file.write_bytes(b"\xf1" * 80_000)
    subprocess.run([sys.executable, "-c", "from tdqsim.pipeline.sessions import warm; warm()"], check=True)
    command = [sys.executable, "-c", COUNT, str(file), "01 R. 05 A PIC X(80)."]
    spent = []
    for _ in range(ROUNDS + 1):
        code, watch = watched(command)
        assert code == 0
        spent.append(watch.cpu)
    hold(14, median(spent[1:]), "pipeline: session, load and first count after warm, seconds of processors", wanted=10)
