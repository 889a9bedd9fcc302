"""What only Spark can show of queues: tables, SQL, and streams with its checkpoints. The rest is tested without it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")

from tdqsim.cics import Region
from tdqsim.definitions import Definitions, Dtaq, IntraQueue
from tdqsim.ibmi import System
from tdqsim.pipeline.queues import heads, read_range, trim_finished
from tdqsim.pipeline.queues_source import TdqueueDataSource

pytestmark = [
    pytest.mark.spark,
    # Spark's own modules and sockets: warnings of theirs are no errors of ours.
    pytest.mark.filterwarnings("ignore"),
]

QUEUES = [IntraQueue(name="ONE"), IntraQueue(name="TWO", recovstatus="LOGICAL"), IntraQueue(name="OUT")]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store"
    with Region(QUEUES, store=path, supplied_queues=False) as region:
        region.seed("ONE", [b"one%02d" % number for number in range(25)])
        region.seed("TWO", [b"two"])
    return path


def more(path: Path, count: int) -> None:
    with Region(QUEUES, store=path, supplied_queues=False) as region:
        assert region.recovery.start_type == "WARM"
        region.seed("ONE", [b"more%02d" % number for number in range(count)])


def on(path: Path, name: str, kind: Any = "tdqueue") -> list[bytes]:
    return [row for batch in read_range(path, kind, name, 0) for row in batch.column("data").to_pylist()]


def test_queues_are_tables(spark: Any, store: Path, tmp_path: Path) -> None:
    frame = spark.read.format("tdqueue").load(str(store))
    assert frame.schema.simpleString() == "struct<queue:string,seq:bigint,data:binary>"
    assert frame.groupBy("queue").count().orderBy("queue").collect() == [("ONE", 25), ("TWO", 1)]
    spark.sql(f"CREATE TEMPORARY VIEW q USING tdqueue OPTIONS (path '{store}', queue 'ONE', rowsPerPartition '10')")
    assert spark.sql("SELECT decode(data, 'UTF-8') d FROM q ORDER BY seq LIMIT 1").first().d == "one00"
    spark.catalog.dropTempView("q")
    few = spark.read.format("tdqueue").schema("data binary, queue string").option("queue", "TWO").load(str(store))
    assert few.collect() == [(b"two", "TWO")]
    listed = spark.read.format("tdqueue").option("read", "queues").load(str(store))
    assert [(row.queue, row.records) for row in listed.collect()] == [("ONE", 25), ("OUT", 0), ("TWO", 1)]
    empty = spark.read.format("tdqueue").option("queue", "OUT").load(str(store))
    assert (empty.count(), empty.limit(3).collect()) == (0, [])


def test_what_is_wrong_is_said_in_words(spark: Any, store: Path) -> None:
    for more_options, words in (
        ({"queue": "NONE"}, "there is no queue NONE; there are ONE, OUT, TWO"),
        ({"consume": "true"}, "consume is an option of stream, not of batch"),
        ({"read": "journal"}, "journals are an IBM i system's"),
        ({"colour": "red"}, "option colour is not known"),
    ):
        with pytest.raises(Exception, match=words):
            spark.read.format("tdqueue").options(**more_options).load(str(store)).collect()
    with pytest.raises(Exception, match="there is no column nothing; there are queue, seq, data"):
        spark.read.format("tdqueue").schema("queue string, nothing int").load(str(store)).collect()


def test_frames_are_written_to_queues(spark: Any, store: Path, tmp_path: Path) -> None:
    frame = spark.range(0, 2000, 1, 4).selectExpr("'OUT' queue", "cast(lpad(id, 6, '0') as string) data")
    frame.write.format("tdqueue").option("encoding", "ascii").mode("append").save(str(store))
    assert on(store, "OUT") == [b"%06d" % number for number in range(2000)]
    frame.limit(1).write.format("tdqueue").option("encoding", "ascii").mode("overwrite").save(str(store))
    assert on(store, "OUT") == [b"000000"]
    with Region(store=store, supplied_queues=False), pytest.raises(Exception, match="in use by process"):
        frame.write.format("tdqueue").mode("append").save(str(store))
    with pytest.raises(Exception, match="there is no queue NONE"):
        frame.write.format("tdqueue").option("queue", "NONE").mode("append").save(str(store))
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_data_queues_journals_and_histories(spark: Any, store: Path, tmp_path: Path) -> None:
    path = tmp_path / "system"
    with System(store=path) as made, made.job(user="QSECOFR") as job:
        made.install(Definitions.of([Dtaq(dtaq="SHOP/Q", maxlen=9, seq="*KEYED", keylen=1)]), create_libraries=True)
        job.crtjrn("SHOP/JRN")
        job.strjrnobj("SHOP/Q", "SHOP/JRN")
    frame = spark.createDataFrame([(b"a", b"2"), (b"b", b"1")], "data binary, key binary").coalesce(1)
    frame.write.format("dtaq").option("queue", "SHOP/Q").mode("append").save(str(path))
    found = spark.read.format("dtaq").load(str(path)).orderBy("seq").select("key", "data").collect()
    assert found == [(b"2", b"a"), (b"1", b"b")]
    journal = spark.read.format("dtaq").option("read", "journal").load(str(path)).filter("type = 'QK'")
    assert [bytes(row.data) for row in journal.orderBy("seq").collect()] == [b"2a", b"1b"]
    (tmp_path / "h.jsonl").write_text('["WRITEQ TD",3,"ONE","c1",1000]\n')
    history = spark.read.format("tdqueue").option("read", "history").load(str(tmp_path / "h.jsonl"))
    assert [(row.task, row.data, row.time_us) for row in history.collect()] == [(3, b"\xc1", 1)]


class Streams:
    """One query from queue ONE to another queue, run again and again from its checkpoint."""

    def __init__(self, spark: Any, store: Path, folder: Path) -> None:
        self.spark, self.store, self.check = spark, store, folder / "check"

    def run(self, sink: str = "tdqueue", **more_options: Any) -> list[int]:
        """Everything that is there now; the rows of each batch."""
        chosen = {"queue": "ONE", "maxRowsPerTrigger": 15, **more_options}
        frame = self.spark.readStream.format("tdqueue").options(**chosen).load(str(self.store))
        writer = frame.select("data").writeStream.format(sink).option("queue", "TWO")
        writer = writer.option("checkpointLocation", str(self.check)).trigger(availableNow=True)
        query = writer.start(str(self.store))
        assert query.awaitTermination(600), "the query has not ended"
        if query.exception() is not None:
            raise query.exception()
        return [progress["numInputRows"] for progress in query.recentProgress]

    def forget_commit(self) -> None:
        """As when the driver is killed between the sink's commit and Spark's own note of it."""
        last = max((self.check / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
        last.unlink()
        last.with_name(f".{last.name}.crc").unlink(missing_ok=True)


def test_a_stream_moves_records_once_and_leaves_nothing(spark: Any, store: Path, tmp_path: Path) -> None:
    streams = Streams(spark, store, tmp_path)
    assert streams.run(consume=True) == [15, 10]
    assert on(store, "ONE") == []
    assert on(store, "TWO")[1:] == [b"one%02d" % number for number in range(25)]
    more(store, 3)
    assert streams.run(consume=True) == [3]
    assert on(store, "TWO")[26:] == [b"more%02d" % number for number in range(3)]
    assert heads(store, "tdqueue")["ONE"].records == 0
    assert trim_finished(store, "tdqueue", streams.check) == {}
    offsets = (streams.check / "offsets" / "0").read_text().splitlines()[-1]
    assert json.loads(offsets)["ONE"]["records"] == 15


def test_a_batch_that_spark_does_again_is_written_once(spark: Any, store: Path, tmp_path: Path) -> None:
    streams = Streams(spark, store, tmp_path)
    streams.run()
    streams.forget_commit()
    more(store, 2)
    assert streams.run() == [10, 2]
    assert len(on(store, "ONE")) == 27
    assert on(store, "TWO")[1:] == on(store, "ONE")


def test_a_sink_that_is_killed_inside_its_commit(spark: Any, store: Path, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    dead = tmp_path / "dead"

    class Dying(TdqueueDataSource):
        """Ends its process in the middle of a batch, the first time."""

        @classmethod
        def name(cls) -> str:
            return "dying"

        def streamWriter(self, schema: Any, overwrite: bool) -> Any:
            import os
            import signal

            from tdqsim.pipeline import stored

            writer, put, seen = super().streamWriter(schema, overwrite), stored._Region.put, []

            def dying(region: Any, *rest: Any) -> None:
                seen.append(0)
                if len(seen) == 4 and not dead.exists():
                    dead.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                put(region, *rest)

            stored._Region.put = dying
            return writer

    spark.dataSource.register(Dying)
    streams = Streams(spark, store, tmp_path)
    with pytest.raises(StreamingQueryException):
        streams.run("dying", consume=True)
    assert dead.exists()
    streams.run("dying", consume=True)
    assert on(store, "TWO")[1:] == [b"one%02d" % number for number in range(25)]
    assert on(store, "ONE") == []


def test_a_stream_that_misses_records_fails(spark: Any, store: Path, tmp_path: Path) -> None:
    streams = Streams(spark, store, tmp_path)
    streams.run()
    streams.forget_commit()
    with Region(QUEUES, store=store, supplied_queues=False) as region:
        for _ in range(17):
            region.readq_td("ONE")
    with pytest.raises(Exception, match=r"queue ONE: 2 of its records from .* are gone"):
        streams.run()


KILLED = """
import os, sys
from tdqsim.cics import Region
region = Region([], store=sys.argv[1], supplied_queues=False)
region.writeq_td("TWO", b"committed")
task = region.task().__enter__()
task.writeq_td("TWO", b"lost")
os._exit(1)
"""


def test_a_sink_that_is_keyed_by_offset_has_each_record_once(spark: Any, store: Path, tmp_path: Path) -> None:
    """The query ends between its sink and Spark's commit, and the region is killed. test_stream_kills has the rest."""
    from pyspark.errors import StreamingQueryException

    sink: dict[int, list[tuple[int, bytes]]] = {}

    def batch(frame: Any, number: int) -> None:
        again = number in sink
        sink[number] = [(row.seq, bytes(row.data)) for row in frame.select("seq", "data").collect()]
        if not again and not number:
            raise RuntimeError("the query ends here")

    def run() -> None:
        stream = spark.readStream.format("tdqueue").option("queue", "TWO").load(str(store)).writeStream
        stream = stream.foreachBatch(batch).option("checkpointLocation", str(tmp_path / "check"))
        stream.trigger(availableNow=True).start().awaitTermination()

    with pytest.raises(StreamingQueryException):
        run()
    assert sink == {0: [(1, b"two")]}
    subprocess.run([sys.executable, "-c", KILLED, str(store)], check=False)
    run()
    assert sink == {0: [(1, b"two")], 1: [(2, b"committed")]}
