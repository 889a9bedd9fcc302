"""The memory of a whole process tree, Java and workers included, while the input grows: it must stay where it is.

``TDQ_BENCH_MEMORY_MEGABYTES`` has the sizes, in millions of bytes with commas between (100,1000,5000 is what the guide
tells of); a size needs about four times as much room under ``--basetemp``, and what it made goes before the next.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from tests.bench._table import hold
from tests.bench._tree import Watch, watched

pytestmark = [pytest.mark.bench, pytest.mark.spark]

MEGABYTES = [int(size) for size in os.environ.get("TDQ_BENCH_MEMORY_MEGABYTES", "20,80").split(",")]
EVERY_SECONDS = 0.2
TDQ = [sys.executable, "-c", "import sys; from tdqsim.cli import main; sys.exit(main())"]
BULK = "group: BULK\ntdqueue:\n  - {name: BULK, type: INTRA}\n"
CAPTURE = "01 C. 05 WHERE PIC X(4). 05 OP PIC X. 05 WHAT PIC X(200)."
TASKS = """
import sys, pathlib, pyarrow as pa
from tdqsim.pipeline.options import read_options
from tdqsim.pipeline.parquet import write_parquet
from tdqsim.pipeline.sessions import run_tasks, session
from tdqsim.pipeline.source import ReadPlan
from tdqsim.pipeline.splits import plan
source, out = map(pathlib.Path, sys.argv[1:3])
options = read_options({"path": str(source), "copybook_contents": sys.argv[3]})
def parquet(split):
    reader = ReadPlan.of(options)
    return [{"rows": write_parquet(out / f"part-{split.start}.parquet", reader.read(split), reader.schema)}]
spark = session(register=False)
done = run_tasks(spark, plan(options), parquet, pa.schema([("rows", pa.int64())]))
assert sum(row["rows"] for row in done) == source.stat().st_size // 80
spark.stop()
"""
OWN_WRITER = """
import sys
from tdqsim.pipeline.sessions import session
spark = session()
frame = spark.read.format("qsam").options(copybook_contents=sys.argv[3]).load(sys.argv[1])
frame.write.parquet(sys.argv[2])
spark.stop()
"""


def written(path: Path, some: Sequence[bytes], megabytes: int) -> Path:
    """A file of so many megabytes, of what is given, again and again."""
    size = 0
    with path.open("wb") as file:
        while size < megabytes * 1_000_000:
            for part in some:
                size += file.write(part)
    return path


def capture_blocks() -> Iterator[bytes]:
    """Blocks of records with a region, W or R, and 20 to 179 bytes; a thousand regions, each written and read in turn."""
    names = [f"{number:04d}".encode("cp037") for number in range(1000)]
    for turn in range(40):
        operation = (b"\xe6", b"\xd9")[turn % 2]
        for first in range(0, 1000, 125):
            block = b"".join(
                (len(data) + 9).to_bytes(2, "big") + b"\0\0" + names[number * 7919 % 1000] + operation + data
                for number in range(first, first + 125)
                for data in (b"\xc1" * (20 + (turn * 1000 + number) * 31 % 160),)
            )
            yield (len(block) + 4).to_bytes(2, "big") + b"\0\0" + block


def held(what: str, megabytes: int, command: Sequence[str | Path]) -> Watch:
    """Run a command, and say what its tree took."""
    code, watch = watched(command, every=EVERY_SECONDS)
    print(f"\n{what}, {megabytes:,} MB: {watch.told()}", flush=True)
    assert code == 0
    hold(1.6, watch.peak / 2**30, f"pipeline, {what}, {megabytes:,} MB: memory of the tree, GiB")
    return watch


def growth(what: str, found: Sequence[Watch]) -> None:
    """How the memory of the largest input, and what a record of it costs, compare with those of the smaller ones.

    Starting is part of the cost, and more of that of the smallest. With three sizes it falls out: what each further
    megabyte took from the first size to the second is compared with what it took from there to the last. Other programs
    on the same cores make a fifth of that, so that the limit is above the bar.
    """
    times = MEGABYTES[-1] / MEGABYTES[0]
    cost = found[-1].cpu / found[0].cpu / times
    hold(1.1, cost, f"pipeline, {what}: {times:.0f} times the input, times the processor time of a record")
    hold(1.5, found[-1].peak / found[0].peak, f"pipeline, {what}: {times:.0f} times the input, times the memory")
    if len(found) > 2 and found[1].cpu > 2 * found[0].cpu:  # else it is the start that was measured
        first, *_, last = [
            (more.cpu - less.cpu) / (larger - smaller)
            for (less, smaller), (more, larger) in pairwise(zip(found, MEGABYTES, strict=True))
        ]
        hold(1.4, last / first, f"pipeline, {what}: times the processor time of a further record", wanted=1.1)


@pytest.mark.parametrize(("what", "program"), [("tasks that write", TASKS), ("Spark's own writer", OWN_WRITER)])
def test_fixed_records_to_parquet(what: str, program: str, tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")
    from tests.bench.test_bench_decode import COPYBOOK, fixed_records

    some = [fixed_records(12_500 * number, 12_500) for number in range(10)]
    name = f"FB 80 to Parquet, {what}"
    found = []
    for megabytes in MEGABYTES:
        source = written(tmp_path / "fb80", some, megabytes)
        out = tmp_path / "out"
        found.append(held(name, megabytes, [sys.executable, "-c", program, source, out, COPYBOOK]))
        source.unlink()
        shutil.rmtree(out)
    growth(name, found)


def test_a_capture_from_end_to_end(tmp_path: Path) -> None:
    """The commands as a user gives them, each a process tree of its own."""
    pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")
    (tmp_path / "bulk.yaml").write_text(BULK)
    (tmp_path / "capture.cpy").write_text(CAPTURE)
    columns = ["region=R{WHERE}", "command={OP:W=WRITEQ TD,R=READQ TD}", "queue=BULK", "data={WHAT}"]
    options = ["record_format=VB", f"copybook={tmp_path / 'capture.cpy'}"]
    given = [f"--column={each}" for each in columns] + [f"--option={each}" for each in options]
    blocks = list(capture_blocks())
    found: dict[str, list[Watch]] = {}
    for megabytes in MEGABYTES:
        source, run = written(tmp_path / "capture.vb", blocks, megabytes), tmp_path / "run"
        commands = {
            "ingest": [source, *given, "--engine=spark"],
            "replay": [f"--definitions={tmp_path / 'bulk.yaml'}", "--engine=spark"],
            "report": [],
        }
        for name, arguments in commands.items():
            command = [*TDQ, "pipeline", name, *arguments, f"--run={run}", "--json"]
            found.setdefault(name, []).append(held(f"VB capture, {name}", megabytes, command))
        source.unlink()
        shutil.rmtree(run)
    for name, watches in found.items():
        growth(f"VB capture, {name}", watches)


def test_a_job_from_end_to_end(tmp_path: Path) -> None:
    """``tdq pipeline run``: its stages are one process tree, and Java computes what must come out beside the workers."""
    pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")
    found = []
    for megabytes in MEGABYTES:
        run = tmp_path / "run"
        options = ["--records", str(megabytes * 1_000_000 // 350), "--regions", "64", "--engine", "spark"]
        command = [*TDQ, "pipeline", "run", "card_posting", *options, "--output", run, "--json"]
        found.append(held("card posting, run", megabytes, command))
        shutil.rmtree(run)
    growth("card posting, run", found)
