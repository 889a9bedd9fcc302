"""What decoding, finding records and ``format("qsam")`` cost, as ratios to a plain Python loop over the same bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from statistics import median
from time import perf_counter

import pytest

pa = pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")
np = pytest.importorskip("numpy", reason="the extra tdqsim[spark] is not installed")

from tdqsim.datasets import Dcb, RecordFormat, write_records  # noqa: E402 - after asking for the extra
from tdqsim.pipeline.options import read_options  # noqa: E402
from tdqsim.pipeline.parquet import write_parquet  # noqa: E402
from tdqsim.pipeline.source import ReadPlan  # noqa: E402
from tdqsim.pipeline.splits import plan  # noqa: E402
from tests.bench._table import hold, reach  # noqa: E402

pytestmark = [pytest.mark.bench, pytest.mark.filterwarnings("ignore")]

COPYBOOK = """01 R. 05 ID PIC 9(10). 05 NAME PIC X(30). 05 AMOUNT PIC S9(9)V99 COMP-3. 05 QUANTITY PIC S9(9) COMP.
              05 DAY PIC 9(8). 05 STATE PIC X(2). 05 FILLER PIC X(20)."""
MEGABYTES = int(os.environ.get("TDQ_BENCH_MB", "80"))
SPLIT = str(max(MEGABYTES // 8, 1))  # four tasks a core, whatever the size
LOOP_RECORDS = 40_000
ROUNDS = 5
WARM_UPS = 4  # of each way alike: Java goes on compiling for some seconds
TUPLE_PARTS, TUPLE_RECORDS = 4, 100_000  # both cores have rows to make, as they have batches


def digits(numbers, width):
    """Numbers as EBCDIC digits, a row each."""
    powers = 10 ** np.arange(width - 1, -1, -1)
    return (numbers[:, None] // powers % 10).astype(np.uint8) | 0xF0


def fixed_records(first, count):
    """Records of 80 bytes, no two alike: zoned, packed, binary and text fields."""
    numbers, random = np.arange(first, first + count), np.random.default_rng(first)
    rows = np.full((count, 80), 0x40, np.uint8)
    rows[:, 0:10] = digits(numbers, 10)
    rows[:, 10:26] = np.frombuffer("CUSTOMER NUMBER ".encode("cp037"), np.uint8)
    rows[:, 26:34] = digits(numbers, 8)
    halves = np.concatenate(
        (digits(random.integers(0, 10**11, count), 11) & 15, random.integers(12, 14, (count, 1))), 1
    )
    rows[:, 40:46] = halves[:, ::2] << 4 | halves[:, 1::2]
    rows[:, 46:50] = random.integers(-(10**9) + 1, 10**9, count).astype(">i4").view(np.uint8).reshape(count, 4)
    rows[:, 50:58] = digits(20260101 + numbers % 28, 8)
    rows[:, 58:60] = np.frombuffer("OK".encode("cp037"), np.uint8)
    return rows.tobytes()


@pytest.fixture(scope="module")
def fb(tmp_path_factory):
    """A file of FB 80 records with zoned, packed, binary and text fields."""
    path = tmp_path_factory.mktemp("bench") / "fb80"
    with path.open("wb") as out:
        for number in range(MEGABYTES):
            out.write(fixed_records(12_500 * number, 12_500))
    return path


@pytest.fixture(scope="module")
def vb(tmp_path_factory):
    """A file of VB records of 20 to 190 bytes in blocks of 27998."""
    path = tmp_path_factory.mktemp("bench") / "vb"
    some = [f"{n % 10**10:010d}".encode("cp037") + b"\xc1" * (10 + n * 7 % 170) for n in range(20_000)]
    repeat = max(MEGABYTES * 1_000_000 // sum(map(len, some)), 1)
    write_records(
        path, (record for _ in range(repeat) for record in some), Dcb(RecordFormat.VB, lrecl=400, blksize=27998)
    )
    return path


def plain_fb(path: Path) -> float:
    """Megabytes a second of a plain loop over all fields that keeps nothing."""
    with path.open("rb") as source:
        data = source.read(80 * LOOP_RECORDS)
    start = perf_counter()
    for at in range(0, len(data), 80):
        record = data[at : at + 80]
        int(record[0:10].decode("cp037"))
        record[10:40].decode("cp037").strip()
        packed = record[40:46].hex()
        number = int(packed[:-1])
        Decimal(-number if packed[-1] == "d" else number).scaleb(-2)
        int.from_bytes(record[46:50], "big", signed=True)
        int(record[50:58].decode("cp037"))
        record[58:60].decode("cp037").strip()
    return len(data) / (perf_counter() - start)


def plain_vb(path: Path) -> float:
    """Megabytes a second of a plain loop over blocks, records and two fields."""
    with path.open("rb") as source:
        data = source.read(8_000_000)
    start, position = perf_counter(), 0
    while position + 4 <= len(data):
        end = position + int.from_bytes(data[position : position + 2], "big")
        if end > len(data):
            break
        at = position + 4
        while at < end:
            size = int.from_bytes(data[at : at + 2], "big")
            record = data[at + 4 : at + size]
            int(record[:10].decode("cp037"))
            record[10:].decode("cp037")
            at += size
        position = end
    return position / (perf_counter() - start)


def rate(path: Path, work) -> float:
    start = perf_counter()
    work()
    return path.stat().st_size / (perf_counter() - start)


def compare(name, path, plain, work, against=None, beside=None):
    """Median of the ratios, each beside a plain loop of its own, and to another way of doing it in the same round.

    The other way is done to the same file, or to the one ``beside`` it.
    """
    for _ in range(WARM_UPS):
        work()
        if against:
            against()
    ratios, others = [], []
    for _ in range(ROUNDS):
        mine = rate(path, work)
        ratios.append(mine / plain(path))
        if against:
            others.append(mine / rate(beside or path, against))
    more = f"{median(others):8.1f} x the other way" if others else ""
    print(f"\n{name:<56} {median(ratios):8.1f} x the plain loop{more}")
    return median(others or ratios)


def batches(options) -> Iterator[pa.RecordBatch]:
    reader = ReadPlan.of(options)
    for split in plan(options):
        yield from reader.read(split)


def test_decode_in_one_process(fb, vb):
    fixed = read_options({"path": str(fb), "copybook_contents": COPYBOOK})
    what = "FB 80 decoded to Arrow, one process"
    reach(1, compare(what, fb, plain_fb, lambda: [None for _ in batches(fixed)]), f"{what}, to a plain loop")
    variable = read_options(
        {"path": str(vb), "copybook_contents": "01 R. 05 ID PIC 9(10). 05 TEXT PIC X(180).", "record_format": "VB"}
    )
    what = "VB decoded to Arrow, one process"
    reach(1, compare(what, vb, plain_vb, lambda: [None for _ in batches(variable)]), f"{what}, to a plain loop")


def test_the_index_against_the_decode(vb):
    options = read_options(
        {
            "path": str(vb),
            "copybook_contents": "01 R. 05 ID PIC 9(10). 05 TEXT PIC X(180).",
            "record_format": "VB",
            "input_split_size_mb": "8",
        }
    )
    shares = []
    for _ in range(ROUNDS):
        start = perf_counter()
        splits = plan(options)
        planned = perf_counter() - start
        reader = ReadPlan.of(options)
        for split in splits:
            for _ in reader.read(split):
                pass
        shares.append(planned / (perf_counter() - start - planned))
    hold(1, median(shares), "pipeline: the index of VB blocks, to their decode")


@contextmanager
def spark_session():
    pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")
    from tdqsim.pipeline.sessions import session

    spark = session(name="bench", master="local[2]")
    try:
        yield spark
    finally:
        spark.stop()


@pytest.mark.spark
def test_spark(fb, vb, tmp_path):
    from tdqsim.pipeline.sessions import run_tasks

    schema = pa.schema([("rows", pa.int64())])
    fixed = read_options({"path": str(fb), "copybook_contents": COPYBOOK, "input_split_size_mb": SPLIT})

    def parquet(split):
        reader = ReadPlan.of(fixed)
        name = tmp_path / f"part-{split.start}"
        return [{"rows": write_parquet(name, reader.read(split), reader.schema, compression="snappy")}]

    def count(split):
        return [{"rows": sum(batch.num_rows for batch in ReadPlan.of(variable).read(split))}]

    text = "01 R. 05 ID PIC 9(10). 05 TEXT PIC X(180)."
    variable = read_options(
        {"path": str(vb), "copybook_contents": text, "record_format": "VB", "input_split_size_mb": SPLIT}
    )
    with spark_session() as spark:
        frame = spark.read.format("qsam").options(copybook_contents=COPYBOOK, input_split_size_mb=SPLIT).load(str(fb))
        wide = (
            spark.read.format("qsam")
            .options(copybook_contents=text, record_format="VB", input_split_size_mb=SPLIT)
            .load(str(vb))
        )
        sink = {"format": "noop", "mode": "overwrite"}
        own = compare(
            "FB 80 to Parquet, written by the tasks, against Spark's writer",
            fb,
            plain_fb,
            lambda: run_tasks(spark, plan(fixed), parquet, schema),
            lambda: frame.write.mode("overwrite").parquet(str(tmp_path / "spark")),
        )
        few = tmp_path / "few"
        few.write_bytes(fixed_records(0, TUPLE_PARTS * TUPLE_RECORDS))
        tuples = [
            compare(
                f"format qsam, FB 80, against tuples {how}",
                fb,
                plain_fb,
                lambda: frame.write.save(**sink),
                tuple_frame(spark, few, reader).write.mode("overwrite").format("noop").save,
                few,
            )
            for how, reader in tuple_readers().items()
        ]
        compare("format qsam, VB", vb, plain_vb, lambda: wide.write.save(**sink))
        compare("VB decoded inside tasks", vb, plain_vb, lambda: run_tasks(spark, plan(variable), count, schema))
    reach(1, own, "pipeline: FB 80 to Parquet by tasks, to Spark's own writer")
    reach(1, min(tuples), "pipeline: FB 80 in batches, to tuples")


def tuple_readers():
    """Two ways in which the source could give rows one by one: from each record's bytes, and from decoded batches."""
    from tdqsim.pipeline.qsam import QsamReader

    class Loop(QsamReader):
        def read(self, partition):
            part = partition.value
            with Path(part.path).open("rb") as source:
                source.seek(part.start)
                data = source.read(part.end - part.start)
            for at in range(0, len(data), 80):
                record = data[at : at + 80]
                packed = record[40:46].hex()
                number = int(packed[:-1])
                yield (
                    int(record[0:10].decode("cp037")),
                    record[10:40].decode("cp037").strip(),
                    Decimal(-number if packed[-1] == "d" else number).scaleb(-2),
                    int.from_bytes(record[46:50], "big", signed=True),
                    int(record[50:58].decode("cp037")),
                    record[58:60].decode("cp037").strip(),
                )

    class Apart(QsamReader):
        def read(self, partition):
            for batch in super().read(partition):
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    return {"of the plain loop": Loop, "taken from batches": Apart}


def tuple_frame(spark, path, reader_class):
    """``format("qsam")`` as it would be with rows instead of batches; both cores have parts to read."""
    from tdqsim.pipeline.qsam import QsamDataSource

    class TupleSource(QsamDataSource):
        @classmethod
        def name(cls):
            return f"qsam_{reader_class.__name__.lower()}"

        def reader(self, schema):
            return reader_class(self._checked(), schema)

    spark.dataSource.register(TupleSource)
    options = {"copybook_contents": COPYBOOK, "input_split_records": str(TUPLE_RECORDS)}
    rows = spark.read.format(TupleSource.name()).options(**options).load(str(path))
    batches = spark.read.format("qsam").options(**options).load(str(path))
    assert rows.head(3) == batches.head(3)
    assert rows.rdd.getNumPartitions() == TUPLE_PARTS
    return rows
