"""Streams whose query, and whose region or system, are killed: a sink that is keyed by offset has each record once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")

from hypothesis import given, settings
from hypothesis import strategies as st

from tdqsim.cics import Region
from tdqsim.definitions import IntraQueue
from tdqsim.ibmi import System
from tdqsim.pipeline.queue_options import read_queue_options
from tdqsim.pipeline.queues import first_offsets, next_offsets, ranges, read_range, read_task, trim_read

QUEUES = [IntraQueue(name="ONE", recovstatus="LOGICAL")]


class Query:
    """Spark's protocol: an offset is logged before its batch is read, and a commit after the sink has the batch.

    What survives a kill is in ``offsets``, ``commits`` and ``sink``; each step but the last may be the last one before
    a kill, and a new query does what is logged and not committed again.
    """

    def __init__(self, path: Path, *, consume: bool) -> None:
        self.options = read_queue_options("tdqueue", {"path": str(path), "queue": "ONE"})
        self.consume = consume
        self.offsets: list[Any] = []
        self.commits = 0
        self.sink: dict[int, list[tuple[int, bytes]]] = {}

    def steps(self, rows: int) -> Iterator[None]:
        """One batch, a step at a time; first the one that is logged and not committed, if there is one."""
        start = self.offsets[self.commits - 1] if self.commits else first_offsets(self.options)
        if len(self.offsets) == self.commits:
            if self.consume and self.commits:
                trim_read(self.options.store, "tdqueue", {"ONE": start["ONE"]["seq"]})
                yield
            end = next_offsets(self.options, start, rows=rows, size=0, target=None)
            if end == start:
                return
            self.offsets.append(json.loads(json.dumps(end)))
            yield
        found = [
            (row["seq"], row["data"])
            for part in ranges(self.options, start, self.offsets[-1])
            for batch in read_task(self.options, part, ["seq", "data"])
            for row in batch.to_pylist()
        ]
        yield
        self.sink[self.commits] = found  # a sink that is keyed by the batch overwrites what an earlier try has put
        yield
        self.commits += 1


acts = st.one_of(
    st.tuples(st.just("write"), st.integers(1, 5)),
    st.tuples(st.just("batch"), st.integers(0, 6)),
    st.tuples(st.just("killed"), st.integers(0, 3)),
    st.tuples(st.just("backout"), st.integers(1, 3)),
)


@settings(max_examples=15, deadline=None)
@given(st.lists(acts, max_size=8), st.booleans())
def test_each_record_is_there_once_wherever_the_query_is_killed(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, int]], consume: bool
) -> None:
    path = tmp_path_factory.mktemp("kills") / "store"
    written: list[bytes] = []
    with Region(QUEUES, store=path, supplied_queues=False):
        pass
    query = Query(path, consume=consume)
    for act, number in [*acts, ("write", 1), *[("batch", 0)] * 3]:
        if act in ("write", "backout"):
            with Region([], store=path, supplied_queues=False) as region, region.task() as task:
                records = [b"%04d" % (len(written) + each) for each in range(number)]
                for record in records:
                    task.writeq_td("ONE", record)
                if act == "backout":  # the next records get the numbers of these, or later ones
                    task.syncpoint_rollback()
                else:
                    written += records
            continue
        steps = query.steps(number if act == "batch" else 2)
        for step, _ in enumerate(steps):
            if act == "killed" and step == number:
                break
    found = [each for batch in query.sink.values() for each in batch]
    assert [data for _, data in found] == written
    assert len({seq for seq, _ in found}) == len(written)


# real processes -------------------------------------------------------------------------------------------------------

OWNER = {
    "tdqueue": """
import sys
from tdqsim.cics import Region
from tdqsim.definitions import IntraQueue
region = Region([IntraQueue(name="ONE", recovstatus="LOGICAL")], store=sys.argv[1], supplied_queues=False)
def put(record): region.writeq_td("ONE", record)
""",
    "dtaq": """
import sys
from tdqsim.definitions import Definitions, Dtaq
from tdqsim.ibmi import System
region = System(store=sys.argv[1])
if "SHOP/ONE" not in [queue.qualified for queue in region.queues()]:
    region.install(Definitions.of([Dtaq(dtaq="SHOP/ONE", maxlen=20, force="*YES")]), create_libraries=True)
job = region.job()
def put(record): job.qsnddtaq("ONE", "SHOP", record)
""",
}
WRITES = """
for number in range(int(sys.argv[2]), int(sys.argv[3])):
    put(b"%06d" % number)
    print(number, flush=True)
    sys.stdin.readline()  # the test sets the pace
region.close()
"""
"""A region or system that writes one record after the other, each committed at once."""

QUERY = """
import json, os, signal, sys
from pathlib import Path
from tdqsim.pipeline.queues_source import DtaqDataSource, TdqueueDataSource, _StreamReader
from tdqsim.pipeline.sessions import session

kind, store, folder, seed = sys.argv[1], sys.argv[2], Path(sys.argv[3]), json.loads(sys.argv[4])
point, nth = seed or ("", 0)
leader = os.getsid(0)

def reached(name):
    "Kill everything of this query, Java included, when a point is reached the nth time."
    seen = folder / f"{name}.seen"
    with seen.open("a") as file:
        file.write(".")
    if name == point and seen.stat().st_size >= nth:
        for pid in [leader, *(int(each.name) for each in Path("/proc").iterdir() if each.name.isdecimal())]:
            try:
                if os.getsid(pid) == leader and pid != os.getpid():
                    os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        os.kill(os.getpid(), signal.SIGKILL)

spark = session(quick_start=True, master="local[1]")

class Dying(TdqueueDataSource if kind == "tdqueue" else DtaqDataSource):
    @classmethod
    def name(cls):
        return "dying"

    def streamReader(self, schema):
        made = super().streamReader(schema)
        for name in ("latestOffset", "partitions", "read", "commit"):
            def wrapped(*given, inner=getattr(made, name), name=name):
                reached(f"before {name}")
                found = inner(*given)
                reached(f"after {name}")
                return found
            setattr(made, name, wrapped)
        return made

def batch(frame, number):
    rows = sorted((row.seq, bytes(row.data).decode()) for row in frame.select("seq", "data").collect())
    reached("before sink")
    fresh = folder / "sink" / f".{number}"
    fresh.write_text(json.dumps(rows))
    fresh.rename(folder / "sink" / str(number))
    reached("after sink")

(folder / "sink").mkdir(exist_ok=True)
spark.dataSource.register(Dying)
queue = "ONE" if kind == "tdqueue" else "SHOP/ONE"
stream = spark.readStream.format("dying").option("queue", queue).option("maxRowsPerTrigger", 3).load(store)
query = stream.writeStream.foreachBatch(batch).option("checkpointLocation", str(folder / "check")).trigger(availableNow=True)
query.start().awaitTermination()
spark.stop()
"""
POINTS = [
    f"{when} {name}"
    for when in ("before", "after")
    for name in ("latestOffset", "partitions", "read", "commit", "sink")
]


class Owner:
    """The process of the region or system; what was written is what it has said, and perhaps one record more."""

    def __init__(self, kind: str, store: Path) -> None:
        self.kind, self.store = kind, store

    def write(self, first: int, last: int, *, kill_after: int) -> None:
        code = OWNER[self.kind] + WRITES
        given = [sys.executable, "-c", code, str(self.store), str(first), str(last)]
        with subprocess.Popen(given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for line in process.stdout:
                if int(line) == kill_after:
                    process.send_signal(signal.SIGKILL)
                    break
                process.stdin.write("\n")
                process.stdin.flush()

    def written(self) -> list[tuple[int, str]]:
        """The records, read by the region or system itself in their order, with the numbers that the store has."""
        name = "ONE" if self.kind == "tdqueue" else "SHOP/ONE"
        kind: Any = self.kind
        batches = list(read_range(self.store, kind, name, 0))
        numbers = [number for batch in batches for number in batch.column("seq").to_pylist()]
        if self.kind == "tdqueue":
            with Region([], store=self.store, supplied_queues=False) as region:
                records = [region.readq_td("ONE") for _ in numbers]
        else:
            with System(store=self.store) as system, system.job() as job:
                records = [job.qrcvdtaq("ONE", "SHOP").data for _ in numbers]
        return list(zip(numbers, (record.decode() for record in records), strict=True))


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("kind", ["tdqueue", "dtaq"])
@pytest.mark.parametrize("seed", [1])
def test_each_record_is_there_once_wherever_processes_are_killed(tmp_path: Path, kind: str, seed: int) -> None:
    pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")
    rng = Random(f"{kind} {seed}")
    owner, first, killed = Owner(kind, tmp_path / "store"), 0, 0
    for _ in range(3):
        last = first + rng.randint(8, 15)
        owner.write(first, last, kill_after=rng.randint(first + 3, last))
        first = last
        point: Any = (rng.choice(POINTS), rng.randint(1, 3))
        for seen in tmp_path.glob("*.seen"):
            seen.unlink()
        killed += run(kind, tmp_path, point) == -signal.SIGKILL
    assert run(kind, tmp_path, None) == 0
    assert killed, "no query was killed; draw other points"
    found = [
        tuple(each) for file in sorted((tmp_path / "sink").glob("[0-9]*")) for each in json.loads(file.read_text())
    ]
    assert sorted(found) == owner.written()
    assert len({number for number, _ in found}) == len(found)


def run(kind: str, folder: Path, point: tuple[str, int] | None) -> int:
    given = [sys.executable, "-c", QUERY, kind, str(folder / "store"), str(folder), json.dumps(point)]
    done = subprocess.run(given, start_new_session=True, check=False, env=os.environ | {"PYTHONWARNINGS": "ignore"})
    return done.returncode
