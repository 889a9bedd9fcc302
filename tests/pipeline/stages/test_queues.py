"""Queues of a store as tables and streams: looked at without harm, taken off when told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tdqsim.cics import Region
from tdqsim.definitions import Dtaq, IntraQueue
from tdqsim.errors import DatasetError, StoreInUse
from tdqsim.ibmi import System
from tdqsim.pipeline.queues import heads, read_range, trim

QUEUES = [IntraQueue(name="ONE"), IntraQueue(name="TWO", recovstatus="LOGICAL")]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store"
    with Region(QUEUES, store=path, supplied_queues=False) as region:
        for number in range(5):
            region.writeq_td("ONE", b"one%d" % number)
        region.writeq_td("TWO", b"two")
    return path


def data(path: Path, name: str, after: int = 0) -> list[bytes]:
    batches = list(read_range(path, "tdqueue", name, after))
    return pa.Table.from_batches(batches).column("data").to_pylist() if batches else []


def test_a_look_takes_nothing_away(store: Path) -> None:
    for _ in range(2):
        assert data(store, "ONE") == [b"one%d" % number for number in range(5)]
        assert data(store, "TWO") == [b"two"]


RUNNING = """
import sys
from tdqsim.cics import Region
with Region(store=sys.argv[1], supplied_queues=False) as region:
    assert region.readq_td("TWO") == b"two"
    print("ready", flush=True)
    sys.stdin.readline()
    assert region.readq_td("ONE") == b"one0"
    print("well", flush=True)
"""


def test_a_running_region_is_looked_at_as_of_its_last_commit_and_not_harmed(store: Path) -> None:
    command = [sys.executable, "-c", RUNNING, str(store)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert data(store, "TWO") == []
        assert len(data(store, "ONE")) == 5
        with pytest.raises(StoreInUse):
            trim(store, "tdqueue", {"ONE": 1})
        assert process.communicate("\n")[0] == "well\n"
    assert process.returncode == 0


def test_what_is_trimmed_is_gone_and_its_numbers_too(store: Path) -> None:
    first, last, count = heads(store, "tdqueue")["ONE"]
    assert count == 5
    assert trim(store, "tdqueue", {"ONE": first + 2}) == {"ONE": 3}
    assert trim(store, "tdqueue", {"ONE": first + 2}) == {"ONE": 0}
    assert data(store, "ONE") == [b"one3", b"one4"]
    with Region(QUEUES, store=store, supplied_queues=False) as region:
        region.writeq_td("ONE", b"new")
    assert heads(store, "tdqueue")["ONE"][1] > last


def test_data_queues_by_library_and_name(tmp_path: Path) -> None:
    path = tmp_path / "system"
    with System(path=path) as system, system.job() as job:
        from tdqsim.definitions import Definitions

        system.install(
            Definitions.of([Dtaq(dtaq="SHOP/KEYED", maxlen=20, seq="*KEYED", keylen=2)]), create_libraries=True
        )
        job.qsnddtaq("KEYED", "SHOP", b"second", b"B1")
        job.qsnddtaq("KEYED", "SHOP", b"first", b"A1")
    rows = [row for batch in read_range(path, "dtaq", "SHOP/KEYED", 0) for row in batch.to_pylist()]
    assert [(row["key"], row["data"]) for row in rows] == [(b"A1", b"first"), (b"B1", b"second")]


def test_what_is_not_there_is_said(tmp_path: Path, store: Path) -> None:
    with pytest.raises(DatasetError, match="there is no store"):
        heads(tmp_path / "none", "tdqueue")
    with pytest.raises(DatasetError, match="there is no queue NONE; there are ONE, TWO"):
        heads(store, "tdqueue", ["NONE"])


@pytest.mark.spark
def test_batch_and_stream(store: Path, tmp_path: Path, spark: Any) -> None:
    from tdqsim.pipeline.queues_source import checkpoint_offsets, register_queues

    register_queues(spark)
    frame = spark.read.format("tdqueue").option("queue", "ONE").load(str(store))
    assert sorted(bytes(row.data) for row in frame.select("data").collect()) == [b"one%d" % n for n in range(5)]

    def run() -> None:
        stream = (
            spark.readStream.format("tdqueue").option("queue", "ONE").option("maxrows", 2).option("consume", "true")
            .load(str(store))
        )  # fmt: skip
        writer = stream.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "check"))
        query = writer.option("path", str(tmp_path / "out")).trigger(processingTime="0 seconds").start()
        try:
            query.processAllAvailable()
        finally:
            query.stop()

    run()
    with Region(QUEUES, store=store, supplied_queues=False) as region:
        region.writeq_td("ONE", b"one5")
    run()
    got = sorted(bytes(row.data) for row in spark.read.parquet(str(tmp_path / "out")).collect())
    assert got == [b"one%d" % n for n in range(6)]
    trim(store, "tdqueue", checkpoint_offsets(tmp_path / "check"))
    assert data(store, "ONE") == []
