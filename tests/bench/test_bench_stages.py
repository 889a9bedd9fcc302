"""Stages of the pipeline, as ratios in one run; ``TDQ_BENCH_OPERATIONS`` makes them larger (10000000 is the full size)."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.bench, pytest.mark.spark]

OPERATIONS = int(os.environ.get("TDQ_BENCH_OPERATIONS", "200000"))
REGIONS = max(4, min(1000, OPERATIONS // 10_000))


@pytest.fixture(scope="module")
def spark() -> Any:
    pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")
    from tdqsim.pipeline.session import session

    made = session(name="bench", master="local[2]")
    made.range(10).mapInArrow(lambda batches: batches, "id long").collect()  # workers are warm
    yield made
    made.stop()


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Writes and reads of one queue in turn, regions interleaved."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("trace")
    number = np.arange(OPERATIONS)
    commands = pa.array(["WRITEQ TD", "READQ TD"]).take(pa.array(number // REGIONS % 2))
    table = pa.table({
        "region": pa.array([f"R{n:05d}" for n in range(REGIONS)]).take(pa.array(number % REGIONS)),
        "seq": number, "command": commands, "queue": pa.repeat("BULK", OPERATIONS),
        "data": pa.repeat(pa.scalar(b"x" * 80), OPERATIONS),
    })  # fmt: skip
    pq.write_table(table, folder / "trace.parquet", row_group_size=100_000)
    (folder / "bulk.yaml").write_text("group: BULK\ntdqueue:\n  - {name: BULK, type: INTRA}\n")
    return folder


def replayed(folder: Path, run: Path, engine: Any) -> tuple[float, str]:
    from tdqsim.pipeline.stages.engine import Engine
    from tdqsim.pipeline.stages.replay import ReplaySpec
    from tdqsim.pipeline.stages.replaying import run_replay
    from tdqsim.pipeline.stages.run import parquet_pieces, spread_events

    begun = time.perf_counter()
    name = "local" if engine is None else "spark"
    where = Engine(name, spark=engine)
    spread_events(where, run, parquet_pieces([folder / "trace.parquet"]), "bench", 32, "exchange")
    outcome = run_replay(run, ReplaySpec(definitions=(folder / "bulk.yaml",)), name, spark=engine)
    assert outcome["ok"], outcome
    return time.perf_counter() - begun, outcome["digest"]


def test_replay_on_spark_against_one_process(trace: Path, tmp_path: Path, spark: Any) -> None:
    alone, first = replayed(trace, tmp_path / "local", None)
    together, second = replayed(trace, tmp_path / "spark", spark)
    assert first == second
    print(
        f"\nreplay of {OPERATIONS:,} operations, {REGIONS} regions: {alone:.1f} s alone, {together:.1f} s on Spark, ratio {alone / together:.2f}"
    )


def test_reconcile_against_a_full_outer_join(tmp_path: Path, spark: Any) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tdqsim.pipeline.stages.engine import Engine
    from tdqsim.pipeline.stages.reconcile import Match, ReconcileTask, reconcile_bucket
    from tdqsim.pipeline.stages.run import parquet_pieces, run_stage, spread_events
    from tdqsim.pipeline.stages.tables import TABLES

    random = np.random.default_rng(1)
    regions = np.sort(np.arange(OPERATIONS) % REGIONS)
    records = [b"%016d" % n + bytes(random.integers(0, 256, 64, np.uint8)) for n in range(OPERATIONS)]
    names = pa.array([f"R{n:05d}" for n in range(REGIONS)]).take(pa.array(regions))
    data = pa.array(records, pa.binary())
    wrong = pa.array([r if n % 10_000 else r[:-1] + b"?" for n, r in enumerate(records)], pa.binary())
    keys = pa.array([r[:16] for r in records], pa.binary())
    left = pa.table({"region": names, "seq": np.arange(OPERATIONS), "command": pa.repeat("EXPECT", OPERATIONS),
                     "queue": pa.repeat("Q", OPERATIONS), "key": keys, "data": data})  # fmt: skip
    pq.write_table(left, tmp_path / "expected.parquet")
    plan, _ = spread_events(
        Engine("local"), tmp_path, parquet_pieces([tmp_path / "expected.parquet"]), "b", 8, "expected"
    )
    right = pa.table({"region": names, "queue": pa.repeat("Q", OPERATIONS), "kind": pa.repeat("DD", OPERATIONS),
                      "recno": np.arange(OPERATIONS), "key": keys, "data": wrong}, schema=TABLES["records"])  # fmt: skip
    (tmp_path / "replay" / "records").mkdir(parents=True)
    buckets = np.array([plan[f"R{n:05d}"] for n in range(REGIONS)])[regions]
    for bucket in range(8):
        pq.write_table(right.filter(pa.array(buckets == bucket)), tmp_path / f"replay/records/{bucket:05d}.parquet")
    tasks = [
        ReconcileTask(tmp_path, bucket, "b", 1, tuple(sorted((tmp_path / f"expected/{bucket:05d}").glob("*.arrow"))),
                      tmp_path / f"replay/records/{bucket:05d}.parquet", {"Q": Match(slice(0, 16))})
        for bucket in range(8)
    ]  # fmt: skip
    begun = time.perf_counter()
    receipts = run_stage(Engine("spark", spark=spark), "reconcile", tmp_path, tasks, reconcile_bucket)
    ours = time.perf_counter() - begun
    found = sum(sum(receipt.details["differences"].values()) for receipt in receipts)
    begun = time.perf_counter()
    expected = spark.read.parquet(str(tmp_path / "expected.parquet")).selectExpr("key", "data as a")
    actual = spark.read.parquet(str(tmp_path / "replay/records")).selectExpr("key", "data as b")
    joined = expected.join(actual, "key", "full_outer").where("not (a <=> b)").count()
    theirs = time.perf_counter() - begun
    assert joined == found
    print(f"\nreconcile {OPERATIONS:,}: {ours:.1f} s, full outer join {theirs:.1f} s, ratio {theirs / ours:.2f}")
