"""Streams of queues without Spark: how far a batch goes, that it is all there, and that it is written once."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")
import pyarrow as pa
from freezegun import freeze_time
from hypothesis import given, settings
from hypothesis import strategies as st

from tdqsim.cics import Region
from tdqsim.definitions import Definitions, Dtaq, IntraQueue
from tdqsim.errors import DatasetError, StoreInUse
from tdqsim.ibmi import System
from tdqsim.pipeline.queue_options import read_queue_options
from tdqsim.pipeline.queue_writer import QueuePartWriter, abandon_stream, commit_stream, sink_of
from tdqsim.pipeline.queues import (
    QueueHoles,
    first_offsets,
    heads,
    last_offsets,
    next_offsets,
    ranges,
    read_range,
    read_task,
    trim,
    trim_finished,
)

QUEUES = [IntraQueue(name="ONE"), IntraQueue(name="TWO", recovstatus="LOGICAL")]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store"
    with Region(QUEUES, store=path, supplied_queues=False) as region:
        region.seed("ONE", [b"one%02d" % number for number in range(10)])
        region.seed("TWO", [b"two%02d" % number for number in range(4)])
    return path


def options(path: Path, kind: Any = "tdqueue", **more: Any) -> Any:
    return read_queue_options(kind, {"path": str(path), **{name: str(value) for name, value in more.items()}})


def batches(chosen: Any, rows: int = 0, size: int = 0, *, after: Any = None) -> list[list[bytes]]:
    """What a stream gives, batch by batch, until there is no more."""
    found, start = [], first_offsets(chosen) if after is None else after
    while (end := next_offsets(chosen, start, rows=rows, size=size, target=None)) != start:
        end = json.loads(json.dumps(end))  # as a checkpoint keeps it
        found.append(read(chosen, start, end))
        start = end
    return found


def read(chosen: Any, start: Any, end: Any) -> list[bytes]:
    parts = ranges(chosen, start, end)
    return [row for part in parts for batch in read_task(chosen, part, ["data"]) for row in batch.column(0).to_pylist()]


def on(path: Path, name: str, kind: Any = "tdqueue") -> list[bytes]:
    return [row for batch in read_range(path, kind, name, 0) for row in batch.column("data").to_pylist()]


# reading -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "size", "lengths"),
    [
        (0, 0, [14]),
        (3, 0, [3, 3, 3, 3, 2]),
        (100, 0, [14]),
        (0, 10, [2] * 7),
        (0, 1, [1] * 14),
        (3, 10, [2] * 7),
        (1, 99, [1] * 14),
    ],
)
def test_a_batch_has_no_more_than_is_admitted(store: Path, rows: int, size: int, lengths: list[int]) -> None:
    found = batches(options(store), rows, size)
    assert [len(batch) for batch in found] == lengths
    assert [row for batch in found for row in batch] == on(store, "ONE") + on(store, "TWO")


def test_a_large_record_is_a_batch_of_its_own(tmp_path: Path) -> None:
    with Region(QUEUES, store=tmp_path / "s", supplied_queues=False) as region:
        region.seed("ONE", [b"x", b"y" * 100, b"z"])
        region.seed("TWO", [b"w" * 100])
    found = batches(options(tmp_path / "s"), size=50)
    assert found == [[b"x"], [b"y" * 100], [b"z"], [b"w" * 100]]


@pytest.mark.parametrize("order", ["*FIFO", "*LIFO", "*KEYED"])
def test_a_stream_of_a_data_queue_comes_by_number_whatever_its_order(tmp_path: Path, order: str) -> None:
    path = tmp_path / "system"
    keys = {"keylen": 1} if order == "*KEYED" else {}
    with System(store=path) as made, made.job() as job:
        made.install(Definitions.of([Dtaq(dtaq="SHOP/Q", maxlen=9, seq=order, **keys)]), create_libraries=True)
        for number in range(7):
            job.qsnddtaq("Q", "SHOP", b"%d" % number, b"%d" % (number * 3 % 7) if keys else None)
    chosen = options(path, "dtaq", rowsPerPartition=2)
    found = batches(chosen, 3)
    assert found == [[b"0", b"1", b"2"], [b"3", b"4", b"5"], [b"6"]]


def test_a_stream_may_begin_at_the_end_and_go_no_further_than_now(store: Path) -> None:
    chosen = options(store, startingOffsets="latest", queue="ONE")
    start, target = first_offsets(chosen), last_offsets(options(store, queue="ONE"))
    with Region(QUEUES, store=store, supplied_queues=False) as region:
        region.seed("ONE", [b"new"])
    assert next_offsets(chosen, start, rows=0, size=0, target=target) == start
    assert batches(chosen, after=start) == [[b"new"]]


def test_a_queue_that_comes_later_is_read_too(store: Path) -> None:
    chosen = options(store)
    start = next_offsets(chosen, first_offsets(chosen), rows=0, size=0, target=None)
    with Region([], store=store, supplied_queues=False) as region:
        region.create_tdqueue("NEW", "TYPE(INTRA)")
        region.writeq_td("NEW", b"new")
    assert batches(chosen, after=start) == [[b"new"]]


FIRST = """
import sys
from tdqsim.definitions import Definitions, Dtaq
from tdqsim.ibmi import System
with System(store=sys.argv[1]) as system, system.job() as job:
    system.install(Definitions.of([Dtaq(dtaq="SHOP/Q", maxlen=9)]), create_libraries=True)
    print("ready", flush=True)
    sys.stdin.readline()
    job.qsnddtaq("Q", "SHOP", b"first")
"""


def test_a_stream_may_begin_before_the_first_entry_is_committed(tmp_path: Path) -> None:
    path = tmp_path / "system"
    chosen = options(path, "dtaq", queue="SHOP/Q")
    with subprocess.Popen(
        [sys.executable, "-c", FIRST, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        start = first_offsets(chosen)
        assert next_offsets(chosen, start, rows=0, size=0, target=None) == start
        process.communicate("\n")
    assert batches(chosen, after=start) == [[b"first"]]


def test_offsets_of_another_format_are_refused_in_words(store: Path) -> None:
    chosen = options(store)
    start = first_offsets(chosen)
    assert {place["format"] for place in start.values()} == {1}
    end = next_offsets(chosen, start, rows=0, size=0, target=None)
    later = {name: place | {"format": 2} for name, place in end.items()}
    words = "queue ONE: the checkpoint has offsets of format 2; this tdqsim reads format 1: continue with the version"
    with pytest.raises(DatasetError, match=words):
        next_offsets(chosen, later, rows=0, size=0, target=None)
    with pytest.raises(DatasetError, match=words):
        ranges(chosen, start, later)
    for name, text in (("offsets", f"v1\n{{}}\n{json.dumps(later)}"), ("commits", "v1\n{}")):
        (store.parent / "check" / name).mkdir(parents=True)
        (store.parent / "check" / name / "0").write_text(text)
    with pytest.raises(DatasetError, match=words):
        trim_finished(store, "tdqueue", store.parent / "check")
    assert len(on(store, "ONE")) == 10


def test_a_long_range_is_cut(store: Path) -> None:
    chosen = options(store, rowsPerPartition=4)
    end = next_offsets(chosen, first_offsets(chosen), rows=0, size=0, target=None)
    parts = ranges(chosen, first_offsets(chosen), end)
    assert [(part.name, part.records) for part in parts] == [("ONE", 4), ("ONE", 4), ("ONE", 2), ("TWO", 4)]


def planned(chosen: Any) -> tuple[Any, Any]:
    start = first_offsets(chosen)
    return start, next_offsets(chosen, start, rows=6, size=0, target=None)


def test_records_that_are_gone_are_missed_when_a_batch_is_planned_again(store: Path) -> None:
    chosen = options(store, queue="ONE")
    start, end = planned(chosen)
    with Region(QUEUES, store=store, supplied_queues=False) as region:
        assert region.readq_td("ONE") == b"one00"
    with pytest.raises(QueueHoles, match=r"queue ONE: 1 of its records from 1 to .* are gone: another program reads"):
        ranges(chosen, start, end)
    lenient = options(store, queue="ONE", failOnDataLoss="false")
    assert read(lenient, start, end) == [b"one%02d" % number for number in range(1, 6)]


def test_records_that_are_gone_before_a_batch_is_planned_are_missed(store: Path) -> None:
    chosen = options(store, queue="ONE")
    _, end = planned(chosen)
    trim(store, "tdqueue", {"ONE": end["ONE"]["seq"]})
    assert len(batches(chosen, after=end)[0]) == 4
    with Region(QUEUES, store=store, supplied_queues=False) as region:
        assert region.readq_td("ONE") == b"one06"
    with pytest.raises(
        QueueHoles, match="queue ONE: its records from 7 to 7 are gone: another program reads the queue"
    ):
        batches(chosen, after=end)
    assert len(batches(options(store, queue="ONE", failOnDataLoss="false"), after=end)[0]) == 3


def test_records_that_go_while_a_batch_is_read_are_missed(store: Path) -> None:
    chosen = options(store, queue="ONE")
    part = ranges(chosen, *planned(chosen))[0]
    trim(store, "tdqueue", {"ONE": heads(store, "tdqueue")["ONE"].first})
    with pytest.raises(QueueHoles, match="1 of its records"):
        list(read_task(chosen, part, ["data"]))


def anew_by_cold_start(path: Path) -> None:
    with Region(QUEUES, store=path, supplied_queues=False, start="COLD") as region:
        region.seed("ONE", [b"new%02d" % number for number in range(10)])


def anew_by_emergency_restart(path: Path) -> None:
    code = (
        "import os, sys; from tdqsim.cics import Region; Region(store=sys.argv[1], supplied_queues=False); os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    with Region(QUEUES, store=path, supplied_queues=False) as region:
        assert region.recovery.start_type == "EMERGENCY"
        region.seed("ONE", [b"new%02d" % number for number in range(10)])


def anew_by_deleteq(path: Path) -> None:
    with Region(QUEUES, store=path, supplied_queues=False) as region:
        region.deleteq_td("ONE")
        region.seed("ONE", [b"new%02d" % number for number in range(10)])


def anew_by_another_store(path: Path) -> None:
    path.rename(path.with_name("old"))
    with Region(QUEUES, store=path, supplied_queues=False) as region:
        region.seed("ONE", [b"new%02d" % number for number in range(10)])


@pytest.mark.parametrize(
    "anew", [anew_by_cold_start, anew_by_emergency_restart, anew_by_deleteq, anew_by_another_store]
)
def test_a_queue_that_begins_anew_is_not_read_on_as_if_it_were_the_same(store: Path, anew: Any) -> None:
    """Its numbers may begin anew, and be those of records that the stream has read already."""
    chosen = options(store, queue="ONE")
    _, end = planned(chosen)
    anew(store)
    with pytest.raises(QueueHoles, match="queue ONE was deleted or created again"):
        next_offsets(chosen, end, rows=0, size=0, target=None)
    lenient = options(store, queue="ONE", failOnDataLoss="false")
    assert batches(lenient, after=end) == [[b"new%02d" % number for number in range(10)]]


def sent(path: Path, year: int, entry: bytes) -> None:
    with freeze_time(f"{year}-01-01"), System(store=path) as system, system.job() as job:
        if "SHOP/Q" not in [queue.qualified for queue in system.queues()]:
            system.install(Definitions.of([Dtaq(dtaq="SHOP/Q", maxlen=9)]), create_libraries=True)
        job.qsnddtaq("Q", "SHOP", entry)


def test_numbers_rise_although_the_clock_goes_back(tmp_path: Path) -> None:
    path = tmp_path / "system"
    chosen = options(path, "dtaq", queue="SHOP/Q")
    sent(path, 2030, b"one")
    end = next_offsets(chosen, first_offsets(chosen), rows=0, size=0, target=None)
    trim(path, "dtaq", {"SHOP/Q": end["SHOP/Q"]["seq"]})
    sent(path, 2020, b"two")
    assert batches(chosen, after=end) == [[b"two"]]
    # A system that was killed when the queue was empty may have given higher numbers, which the store does not know.
    end["SHOP/Q"]["seq"] += 10**18
    with pytest.raises(QueueHoles, match="queue SHOP/Q has lower numbers since the stream read up to"):
        batches(chosen, after=end)
    lenient = options(path, "dtaq", queue="SHOP/Q", failOnDataLoss="false")
    assert batches(lenient, after=end) == [[b"two"]]


def test_a_queue_that_begins_anew_with_as_many_records_is_read_as_a_second_one(store: Path) -> None:
    lenient = options(store, queue="ONE", failOnDataLoss="false")
    end = next_offsets(lenient, first_offsets(lenient), rows=0, size=0, target=None)
    anew_by_cold_start(store)
    again = next_offsets(lenient, end, rows=0, size=0, target=None)
    assert (again["ONE"]["seq"], again["ONE"]["records"]) == (end["ONE"]["seq"], 20)
    assert read(lenient, end, again) == [b"new%02d" % number for number in range(10)]


def test_a_batch_goes_to_the_last_number_there_is_and_no_further(store: Path, tmp_path: Path) -> None:
    chosen = options(store, queue="ONE")
    start, last = first_offsets(chosen), last_offsets(chosen)["ONE"]["seq"]
    target = {"ONE": {"seq": last + 5}}
    assert next_offsets(chosen, start, rows=0, size=0, target=target)["ONE"]["seq"] == last
    path = tmp_path / "system"
    for year in (2030, 2031):
        sent(path, year, b"%d" % year)
    data_queue = options(path, "dtaq", queue="SHOP/Q")
    number = heads(path, "dtaq")["SHOP/Q"].last
    with System(store=path) as system, system.job() as job:
        assert job.qrcvdtaq("Q", "SHOP").data == b"2030"
        assert job.qrcvdtaq("Q", "SHOP").data == b"2031"
    end = next_offsets(data_queue, first_offsets(data_queue), rows=0, size=0, target=None)
    assert (end["SHOP/Q"]["seq"], end["SHOP/Q"]["records"]) == (number, 0)  # nothing of it has to be looked at again
    # A kill may have taken back the last number of a queue that is empty; nothing can have gone unread.
    end["SHOP/Q"]["seq"] += 10**18
    assert next_offsets(data_queue, end, rows=0, size=0, target=None) == end


def test_batches_of_rows_have_their_size_each_time(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdqsim.pipeline.queues._BATCH_BYTES", 12)
    assert [batch.num_rows for batch in read_range(store, "tdqueue", "ONE", 0)] == [3, 3, 3, 1]


# writing -------------------------------------------------------------------------------------------------------------


def stage(chosen: Any, rows: list[tuple[str, bytes]], sink: str = "query-1") -> list[Any]:
    schema = pa.schema([("queue", pa.string()), ("data", pa.binary())])
    writer = QueuePartWriter(chosen, schema, sink)
    parts = []
    for number, part in enumerate((rows[: len(rows) // 3], rows[len(rows) // 3 :])):
        columns = [[queue for queue, _ in part], [data for _, data in part]]
        parts.append(writer.write([pa.record_batch(columns, schema=schema)], number))
    return parts[::-1]


ROWS = [("ONE" if number % 3 else "TWO", b"%04d" % number) for number in range(900)]


def test_a_batch_is_written_once(store: Path) -> None:
    chosen = options(store)
    assert commit_stream(chosen, stage(chosen, ROWS), 0, "query-1") == 900
    assert commit_stream(chosen, stage(chosen, ROWS), 0, "query-1") == 0
    assert commit_stream(chosen, stage(chosen, ROWS[::-1]), 0, "query-1") == 0
    assert commit_stream(chosen, stage(chosen, [("ONE", b"next")]), 1, "query-1") == 1
    assert commit_stream(chosen, stage(chosen, [("ONE", b"next")]), 0, "query-1") == 0
    assert commit_stream(chosen, stage(chosen, [("ONE", b"other")], "query-2"), 0, "query-2") == 1
    assert on(store, "ONE")[10:] == [data for queue, data in ROWS if queue == "ONE"] + [b"next", b"other"]
    assert on(store, "TWO")[4:] == [data for queue, data in ROWS if queue == "TWO"]
    assert not list(store.parent.glob(".*"))


def test_a_batch_is_written_once_also_if_its_queues_were_discarded_and_installed_again_since(store: Path) -> None:
    """Their numbers begin anew then, so they no longer tell how much of the batch was put on."""
    chosen = options(store)
    rows = [("ONE", b"once"), ("TWO", b"once")]
    assert commit_stream(chosen, stage(chosen, rows), 0, "query-1") == 2
    with Region(QUEUES, store=store, supplied_queues=False) as region:
        for queue in ("ONE", "TWO"):
            region.set_tdqueue(queue, enablestatus="DISABLED")
            region.discard_tdqueue(queue)
        region.install(QUEUES)
    assert commit_stream(chosen, stage(chosen, rows), 0, "query-1") == 0
    assert (on(store, "ONE"), on(store, "TWO")) == ([], [])


def test_rows_of_a_batch_that_was_begun_are_kept_when_its_attempt_is_abandoned(store: Path) -> None:
    """The next attempt goes on with them, whatever rows it brings."""
    chosen = options(store)
    begun, other = stage(chosen, [("ONE", bytes(5000))]), stage(chosen, [("ONE", b"other")])
    with pytest.raises(DatasetError, match="LENGERR"):
        commit_stream(chosen, begun, 0, "query-1")
    abandon_stream(chosen, 0, "query-1")
    with pytest.raises(DatasetError, match="LENGERR"):
        commit_stream(chosen, other, 0, "query-1")


KILLED = """
import os, pickle, sys
import tdqsim.pipeline.stored as stored
from tdqsim.pipeline.queue_writer import commit_stream

def run(chosen, parts, batch, at):
    left = at
    for kind in (stored._Region, stored._System):
        def dying(self, *rest, put=kind.put):
            nonlocal left
            left -= 1
            if left == 0:
                os._exit(9)
            return put(self, *rest)
        def last(self, commit=kind.commit):
            commit(self)
            if left > 0:
                os._exit(9)
        kind.put, kind.commit = dying, last
    commit_stream(chosen, parts, batch, "query-1")

while sys.stdin.buffer.peek(1):
    given = pickle.load(sys.stdin.buffer)
    pid = os.fork()  # importing anew what commits need takes longer than all of them
    if not pid:
        try:
            run(*given)
        finally:
            os._exit(1)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def committing() -> Iterator[subprocess.Popen[bytes]]:
    """A process that makes commits in processes of their own, which end within them."""
    command = [sys.executable, "-c", KILLED]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process


def killed(committing: subprocess.Popen[bytes], chosen: Any, parts: list[Any], batch: int, at: int) -> None:
    assert committing.stdin is not None
    assert committing.stdout is not None
    pickle.dump((chosen, parts, batch, at), committing.stdin)
    committing.stdin.flush()
    assert int(committing.stdout.readline()) == 9


@pytest.mark.parametrize("at", [1, 300, 513, 900, 901])
def test_a_killed_commit_goes_on_where_it_was(store: Path, committing: Any, at: int) -> None:
    """Also when the next attempt brings its rows in another order: those of the first attempt count."""
    chosen = options(store)
    killed(committing, chosen, stage(chosen, ROWS), 3, at)
    commit_stream(chosen, stage(chosen, ROWS[::-1]), 3, "query-1")
    assert on(store, "ONE")[10:] == [data for queue, data in ROWS if queue == "ONE"]
    assert on(store, "TWO")[4:] == [data for queue, data in ROWS if queue == "TWO"]
    assert not list(store.parent.glob(".*"))
    with Region(QUEUES, store=store, supplied_queues=False) as region:
        assert region.recovery.start_type == "WARM"
        assert region.readq_td("ONE") == b"one00"


@pytest.mark.parametrize("at", [1, 100, 257, 301])
@pytest.mark.parametrize("force", ["*YES", "*NO"])
def test_a_killed_commit_to_data_queues_goes_on_where_it_was(
    tmp_path: Path, committing: Any, at: int, force: str
) -> None:
    path = tmp_path / "system"
    with System(store=path) as made:
        wanted = [Dtaq(dtaq="SHOP/A", maxlen=9, force=force), Dtaq(dtaq="SHOP/B", maxlen=9)]
        made.install(Definitions.of(wanted), create_libraries=True)
    rows = [("SHOP/A" if number % 3 else "SHOP/B", b"%d" % number) for number in range(300)]
    chosen = options(path, "dtaq")
    killed(committing, chosen, stage(chosen, rows), 0, at)
    killed(committing, chosen, stage(chosen, rows), 0, 20)
    commit_stream(chosen, stage(chosen, rows), 0, "query-1")
    for queue in ("SHOP/A", "SHOP/B"):
        assert on(path, queue, "dtaq") == [data for name, data in rows if name == queue]
    with System(store=path) as again, again.job() as job:
        assert job.qrcvdtaq("A", "SHOP").data == b"1"
    # It is complete, so what has been taken off since is not missing.
    assert commit_stream(chosen, stage(chosen, rows), 0, "query-1") == 0
    assert on(path, "SHOP/A", "dtaq")[0] == b"2"


@settings(max_examples=10, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(["ONE", "TWO"]), st.binary(min_size=1, max_size=30)), max_size=30),
        max_size=4,
    ),
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
)
def test_any_batches_tried_any_number_of_times_are_written_once(
    tmp_path_factory: pytest.TempPathFactory, given_batches: list[list[tuple[str, bytes]]], again: list[int]
) -> None:
    path = tmp_path_factory.mktemp("s") / "store"
    with Region(QUEUES, store=path, supplied_queues=False):
        pass
    chosen = options(path)
    for number, rows in enumerate(given_batches):
        for attempt in range(again[number] + 1):
            parts = stage(chosen, rows)
            if attempt == 0 and again[number]:
                abandon_stream(chosen, number, "query-1")
            else:
                commit_stream(chosen, parts, number, "query-1")
        if not again[number]:
            commit_stream(chosen, stage(chosen, rows), number, "query-1")
    for queue in ("ONE", "TWO"):
        assert on(path, queue) == [data for rows in given_batches for name, data in rows if name == queue]


def test_an_attempt_that_fails_leaves_no_files(store: Path) -> None:
    chosen = options(store)
    parts = stage(chosen, [("ONE", b"x"), ("NONE", b"x"), ("ONE", b"x")])
    with pytest.raises(DatasetError, match="there is no queue NONE"):
        commit_stream(chosen, parts, 0, "query-1")
    abandon_stream(chosen, 0, "query-1")
    assert Counter(on(store, "ONE")) == Counter(b"one%02d" % number for number in range(10))


def test_a_batch_that_had_no_room_is_written_when_there_is_some(store: Path) -> None:
    small = options(store, controlIntervals=3)
    rows = [("ONE", b"x" * 3000)] * 4
    parts = stage(small, rows)
    with pytest.raises(DatasetError, match="NOSPACE"):
        commit_stream(small, parts, 0, "query-1")
    abandon_stream(small, 0, "query-1")
    assert len(on(store, "ONE")) == 10
    assert commit_stream(options(store), stage(small, rows), 0, "query-1") == 4
    assert len(on(store, "ONE")) == 14


HOLDING = """
import sys
from tdqsim.core.store import Store
with Store(__import__("pathlib").Path(sys.argv[1])) as store:
    print("ready", flush=True)
    sys.stdin.readline()
"""


def test_streams_wait_for_one_another(store: Path) -> None:
    chosen = options(store)
    parts = stage(chosen, [("TWO", b"x")] * 3)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(store)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(StoreInUse, match=f"in use by process {process.pid}"):
            trim(store, "tdqueue", {"ONE": 1})
        threading.Timer(0.5, process.stdin.close).start()
        assert commit_stream(chosen, parts, 0, "query-1") == 3


def test_seeds_of_a_stream_are_a_file_a_batch(tmp_path: Path) -> None:
    chosen = options(tmp_path / "seeds", target="seed")
    for batch in (0, 1, 1):
        commit_stream(chosen, stage(chosen, [("ONE", b"%d" % batch), ("TWO", b"t")]), batch, "query-1")
    found = {path.name: path.read_text() for path in (tmp_path / "seeds").iterdir()}
    assert found == {
        "ONE.000000.hex": "30\n", "TWO.000000.hex": "74\n", "ONE.000001.hex": "31\n", "TWO.000001.hex": "74\n",
    }  # fmt: skip


def test_marks_go_by_the_identity_of_the_checkpoint(tmp_path: Path) -> None:
    check = tmp_path / "check"
    check.mkdir()
    (check / "metadata").write_text('{"id":"abc"}')
    assert sink_of(options(tmp_path, checkpointLocation=check)) == "query-abc"
    assert sink_of(options(tmp_path, checkpointLocation=f"file://{check}")) == "query-abc"
    assert sink_of(options(tmp_path, sink="mine")) == "sink-mine"
    for more in ({}, {"checkpointLocation": tmp_path / "none"}):
        with pytest.raises(DatasetError, match="set checkpointLocation on the query"):
            sink_of(options(tmp_path, **more))
    with pytest.raises(DatasetError, match="at most 100 ASCII characters"):
        sink_of(options(tmp_path, sink="a/b"))


def test_a_system_with_marks_is_still_a_system(tmp_path: Path) -> None:
    path = tmp_path / "system"
    with System(store=path) as made:
        made.install(Definitions.of([Dtaq(dtaq="SHOP/A", maxlen=9)]), create_libraries=True)
    chosen = options(path, "dtaq")
    commit_stream(chosen, stage(chosen, [("SHOP/A", b"x")] * 3), 0, "query-1")
    with System(store=path) as again, again.job() as job:
        assert job.qrcvdtaq("A", "SHOP").data == b"x"
    assert [each.name for each in tmp_path.iterdir()] == ["system"]
