"""Queues of a store as tables: looked at without harm, written to all or nothing, taken off when told. Without Spark."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tdqsim.cics import Region
from tdqsim.cli import main
from tdqsim.core.store import Store
from tdqsim.definitions import Definitions, Dtaq, IntraQueue
from tdqsim.errors import DatasetError, StoreInUse
from tdqsim.ibmi import System, parse_seed
from tdqsim.pipeline.queue_options import read_queue_options
from tdqsim.pipeline.queue_traces import HISTORY, JOURNAL, history_pieces, read_history
from tdqsim.pipeline.queue_writer import QueuePartWriter, commit_batch
from tdqsim.pipeline.queues import (
    SCHEMAS,
    finished_offsets,
    heads,
    plan_read,
    queue_rows,
    read_range,
    read_task,
    schema_of,
    trim,
    trim_finished,
)

QUEUES = [IntraQueue(name="ONE"), IntraQueue(name="TWO", recovstatus="LOGICAL")]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store"
    with Region(QUEUES, store=path, supplied_queues=False) as region:
        for number in range(5):
            region.writeq_td("ONE", b"one%d" % number)
        region.writeq_td("TWO", b"two")
    return path


@pytest.fixture
def system(tmp_path: Path) -> Path:
    path = tmp_path / "system"
    queues = [
        Dtaq(dtaq="SHOP/KEYED", maxlen=20, seq="*KEYED", keylen=2, senderid="*YES"),
        Dtaq(dtaq="SHOP/LAST", maxlen=20, seq="*LIFO"),
        Dtaq(dtaq="SHOP/SAFE", maxlen=20, force="*YES"),
    ]
    with System(store=path) as made, made.job("ORDERS", made.crtusrprf("MIRA").name) as job:
        made.install(Definitions.of(queues), create_libraries=True)
        for number in range(4):
            job.qsnddtaq("KEYED", "SHOP", b"k%d" % number, b"%02d" % (9 - number))
            job.qsnddtaq("LAST", "SHOP", b"l%d" % number)
            job.qsnddtaq("SAFE", "SHOP", b"s%d" % number)
    return path


def data(path: Path, name: str, after: int = 0, kind: Any = "tdqueue") -> list[bytes]:
    return [row for batch in read_range(path, kind, name, after) for row in batch.column("data").to_pylist()]


def options(kind: Any, path: Path, **more: Any) -> Any:
    return read_queue_options(kind, {"path": str(path), **{name: str(value) for name, value in more.items()}})


def everything(kind: Any, path: Path, **more: Any) -> list[dict[str, Any]]:
    chosen = options(kind, path, **more)
    columns = schema_of(chosen).names
    tasks = plan_read(chosen)
    return [row for task in tasks for batch in read_task(chosen, task, columns) for row in batch.to_pylist()]


def write(kind: Any, path: Path, rows: dict[str, list[Any]], *, overwrite: bool = False, **more: Any) -> int:
    chosen = options(kind, path, **more)
    batch = pa.record_batch(rows)
    writer = QueuePartWriter(chosen, batch.schema)
    half = batch.num_rows // 2
    parts = [writer.write([batch.slice(half)], 1), writer.write([batch.slice(0, half)], 0)]
    return commit_batch(chosen, parts, overwrite=overwrite)


def numbers(path: Path, name: str) -> list[int]:
    """The numbers of the entries of a data queue."""
    return [row["seq"] for row in everything("dtaq", path, queue=name)]


# looking -------------------------------------------------------------------------------------------------------------


def test_a_look_takes_nothing_away(store: Path) -> None:
    for _ in range(2):
        assert data(store, "ONE") == [b"one%d" % number for number in range(5)]
        assert data(store, "TWO") == [b"two"]
    rows = everything("tdqueue", store)
    assert [(row["queue"], row["data"]) for row in rows] == [
        *(("ONE", b"one%d" % number) for number in range(5)),
        ("TWO", b"two"),
    ]


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
        assert data(store, "ONE") == []  # it is not recoverable: its records are in the region's memory
        for change in (
            lambda: trim(store, "tdqueue", {"ONE": 1}),
            lambda: write("tdqueue", store, {"data": [b"x"]}, queue="ONE"),
        ):
            with pytest.raises(StoreInUse, match=f"in use by process {process.pid}"):
                change()
        assert process.communicate("\n")[0] == "well\n"
    assert process.returncode == 0


def test_entries_of_data_queues_come_by_their_numbers_whatever_their_order(system: Path) -> None:
    rows = everything("dtaq", system)
    assert [(row["queue"], row["key"], row["data"]) for row in rows] == [
        *(("SHOP/KEYED", b"%02d" % (9 - number), b"k%d" % number) for number in range(4)),
        *(("SHOP/LAST", b"", b"l%d" % number) for number in range(4)),
        *(("SHOP/SAFE", b"", b"s%d" % number) for number in range(4)),
    ]
    for name in ("SHOP/KEYED", "SHOP/LAST", "SHOP/SAFE"):
        seqs = numbers(system, name)
        assert seqs == sorted(set(seqs))
    assert {(row["sender"], row["sender_user"]) for row in rows[:4]} == {("000001/MIRA/ORDERS", "MIRA")}
    assert rows[4]["sender"] is None
    assert all(row["time_us"] > 10**15 for row in rows)


def test_queues_are_listed(store: Path, system: Path) -> None:
    one, two = queue_rows(store, "tdqueue").to_pylist()
    assert one | {"first_seq": 0, "last_seq": 0} == {
        "queue": "ONE", "order": "FIFO", "key_length": 0, "recoverable": False, "records": 5, "bytes": 20,
        "first_seq": 0, "last_seq": 0,
    }  # fmt: skip
    assert two["recoverable"]
    found = {row["queue"]: row for row in everything("dtaq", system, read="queues")}
    assert [(row["order"], row["records"], row["recoverable"]) for row in found.values()] == [
        ("KEYED", 4, False), ("LIFO", 4, False), ("FIFO", 4, True),
    ]  # fmt: skip
    assert (found["SHOP/KEYED"]["last_seq"], found["SHOP/KEYED"]["key_length"]) == (
        numbers(system, "SHOP/KEYED")[-1],
        2,
    )


def test_only_the_wanted_range_is_read(store: Path, system: Path) -> None:
    first = heads(store, "tdqueue")["ONE"].first
    rows = everything("tdqueue", store, queue="one", startingSequence=first + 1, endingSequence=first + 3)
    assert [row["data"] for row in rows] == [b"one1", b"one2", b"one3"]
    for kind in ("KEYED", "LAST"):
        seqs = numbers(system, f"SHOP/{kind}")
        found = everything("dtaq", system, queue=f"SHOP/{kind}", startingSequence=seqs[1], endingSequence=seqs[2])
        assert [row["seq"] for row in found] == seqs[1:3]


def test_a_queue_that_is_named_twice_is_read_once(store: Path) -> None:
    rows = everything("tdqueue", store, queue="one,ONE")
    assert [row["data"] for row in rows] == [b"one%d" % number for number in range(5)]


def test_a_long_queue_is_read_by_several_tasks(store: Path) -> None:
    with Region(QUEUES, store=store, supplied_queues=False) as region:
        region.seed("ONE", [b"%d" % number * 50 for number in range(2000)])
    chosen = options("tdqueue", store, queue="ONE", rowsPerPartition=300)
    tasks = plan_read(chosen)
    assert len(tasks) >= 5
    assert [row["data"] for row in everything("tdqueue", store, queue="ONE", rowsPerPartition=300)] == data(
        store, "ONE"
    )


def test_what_is_not_there_is_said(tmp_path: Path, store: Path, system: Path) -> None:
    with pytest.raises(DatasetError, match="there is no store"):
        heads(tmp_path / "none", "tdqueue")
    with pytest.raises(DatasetError, match="there is no store in it"):
        heads(tmp_path, "tdqueue")
    with pytest.raises(DatasetError, match="there is no queue NONE; there are ONE, TWO"):
        heads(store, "tdqueue", ["NONE"])
    with pytest.raises(Exception, match="this is the store of an IBM i system, not of a CICS region"):
        heads(system, "tdqueue")
    with pytest.raises(Exception, match="not one of an IBM i system"):
        heads(store, "dtaq")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"maxRowPerTrigger": "3"},
            "format.'tdqueue'.: option maxRowPerTrigger is not known; did you mean maxRowsPerTrigger",
        ),
        ({"journal": "A/B"}, "option journal is not known"),
        ({"consume": "yes"}, "consume is 'yes'; must be true or false"),
        ({"maxRowsPerTrigger": "0"}, "maxRowsPerTrigger is '0'; must be a whole number, 1 or more"),
        ({"maxBytesPerTrigger": "9" * 30}, "maxBytesPerTrigger is"),
        ({"startingSequence": "-1"}, "startingSequence is '-1'"),
        ({"encoding": "klingon"}, "unknown code page 'klingon'"),
        ({"read": "minds"}, "read is 'minds'; must be one of records, queues, history, journal"),
        ({"path": "s3://bucket/x"}, "no local path"),
        ({"path": ""}, "needs the store's directory"),
    ],
)
def test_options_are_checked(given: dict[str, str], words: str) -> None:
    with pytest.raises(DatasetError, match=words):
        read_queue_options("tdqueue", {"path": "x", **given})


@pytest.mark.parametrize(
    ("given", "use", "words"),
    [
        ({"maxRowsPerTrigger": "3"}, "batch", "maxRowsPerTrigger is an option of stream, not of batch"),
        ({"consume": "true"}, "write", "consume is an option of stream, not of write"),
        ({"startingSequence": "3"}, "stream", "startingSequence is an option of batch, not of stream"),
        ({"encoding": "037"}, "stream", "encoding is an option of write, not of stream"),
    ],
)
def test_an_option_without_effect_is_refused(given: dict[str, str], use: str, words: str) -> None:
    with pytest.raises(DatasetError, match=words):
        read_queue_options("tdqueue", {"path": "x", **given}, use)


@pytest.mark.parametrize("use", ["stream", "write"])
def test_the_name_that_spark_gives_a_query_is_taken(use: str) -> None:
    given = {"path": "x", "queryName": "payments", "checkpointLocation": "check"}
    options = read_queue_options("tdqueue", given, use)
    assert options.checkpoint_location == "check"


# taking off ----------------------------------------------------------------------------------------------------------


def test_what_is_trimmed_is_gone_and_its_numbers_too(store: Path) -> None:
    head = heads(store, "tdqueue")["ONE"]
    assert head.records == 5
    assert trim(store, "tdqueue", {"ONE": head.first + 2}) == {"ONE": 3}
    assert trim(store, "tdqueue", {"ONE": head.first + 2}) == {"ONE": 0}
    assert data(store, "ONE") == [b"one3", b"one4"]
    with Region(QUEUES, store=store, supplied_queues=False) as region:
        assert region.recovery.start_type == "WARM"
        region.writeq_td("ONE", b"new")
    assert heads(store, "tdqueue")["ONE"].last > head.last


def test_entries_of_any_order_are_trimmed_by_number(system: Path) -> None:
    many = {"SHOP/KEYED": 3, "SHOP/LAST": 2, "SHOP/SAFE": 1}
    upto = {name: numbers(system, name)[count - 1] for name, count in many.items()}
    assert trim(system, "dtaq", upto) == many == {"SHOP/KEYED": 3, "SHOP/LAST": 2, "SHOP/SAFE": 1}
    assert [data(system, name, kind="dtaq") for name in upto] == [[b"k3"], [b"l2", b"l3"], [b"s1", b"s2", b"s3"]]


def test_a_receive_by_trimming_is_in_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "journaled"
    with System(store=path) as made, made.job("ORDERS", "QSECOFR") as job:
        made.install(Definitions.of([Dtaq(dtaq="SHOP/Q", maxlen=20)]), create_libraries=True)
        job.crtjrn("SHOP/JRN")
        job.strjrnobj("SHOP/Q", "SHOP/JRN")
        job.qsnddtaq("Q", "SHOP", b"sent")
    assert [row["recoverable"] for row in everything("dtaq", path, read="queues")] == [True]
    trim(path, "dtaq", {"SHOP/Q": numbers(path, "SHOP/Q")[0]})
    rows = everything("dtaq", path, read="journal")
    assert [(row["type"], row["queue"], row["data"]) for row in rows[-2:]] == [
        ("QS", "SHOP/Q", b"sent"),
        ("QR", "SHOP/Q", b""),
    ]
    assert rows[-2]["job"].endswith("/QSECOFR/ORDERS")
    assert [
        row["seq"]
        for row in everything("dtaq", path, read="journal", journal="shop/jrn", startingSequence=rows[-1]["seq"])
    ] == [rows[-1]["seq"]]
    with pytest.raises(DatasetError, match="there is no journal SHOP/NONE; there are SHOP/JRN"):
        everything("dtaq", path, read="journal", journal="SHOP/NONE")
    assert schema_of(options("dtaq", path, read="journal")) == JOURNAL


def checkpoint(folder: Path, *offsets: dict[str, Any]) -> Path:
    for batch, each in enumerate(offsets):
        for name, text in (("offsets", f"v1\n{{}}\n{json.dumps(each)}"), ("commits", "v1\n{}")):
            (folder / name).mkdir(parents=True, exist_ok=True)
            (folder / name / str(batch)).write_text(text)
    return folder


def test_the_last_batch_is_trimmed_by_the_checkpoint(store: Path, tmp_path: Path) -> None:
    first = heads(store, "tdqueue")["ONE"].first
    found = checkpoint(
        tmp_path / "check",
        {"ONE": {"seq": first, "records": 1, "incarnation": 1}},
        {"ONE": {"seq": first + 2, "records": 3, "incarnation": 1}, "GONE": {"seq": 5, "records": 1, "incarnation": 1}},
    )
    (found / "offsets" / "2").write_text(f'v1\n{{}}\n{{"ONE": {{"seq": {first + 3}}}}}')  # planned, not finished
    assert finished_offsets(found) == {"ONE": first + 2, "GONE": 5}
    assert trim_finished(store, "tdqueue", found) == {"ONE": 3}
    assert trim_finished(store, "tdqueue", found) == {}
    assert data(store, "ONE") == [b"one3", b"one4"]


def test_checkpoints_that_tell_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no batch was finished there"):
        finished_offsets(tmp_path)
    with pytest.raises(DatasetError, match="not the checkpoint of a stream of queues"):
        finished_offsets(checkpoint(tmp_path / "other", {"logOffset": 5}))
    both = checkpoint(tmp_path / "both", {"A": {"seq": 1}})
    (both / "offsets" / "0").write_text('v1\n{}\n{"A": {"seq": 1}}\n{"B": {"seq": 2}}')
    with pytest.raises(DatasetError, match="the query has 2 sources; say which one"):
        finished_offsets(both)
    assert finished_offsets(both, 1) == {"B": 2}


# writing -------------------------------------------------------------------------------------------------------------


def test_records_are_put_on_in_the_order_of_the_tasks(store: Path) -> None:
    rows = {"queue": ["ONE", "TWO", "one", "TWO"], "data": [b"a", b"b", b"c", b"d"], "seq": [9, 9, 9, 9]}
    assert write("tdqueue", store, rows) == 4
    assert data(store, "ONE")[5:] == [b"a", b"c"]
    assert data(store, "TWO") == [b"two", b"b", b"d"]
    assert not list(store.parent.glob(".*"))
    with Region(QUEUES, store=store, supplied_queues=False) as region:
        assert region.recovery.start_type == "WARM"
        region.writeq_td("ONE", b"after")
        assert [region.readq_td("ONE") for _ in range(8)][4:] == [b"one4", b"a", b"c", b"after"]


def test_what_is_written_lies_as_the_region_would_have_written_it(tmp_path: Path) -> None:
    """The numbers tell control intervals; both ways must count them alike, NOSPACE would come elsewhere otherwise."""
    rng = random.Random(5)
    records = [bytes(rng.randrange(1, 200)) for _ in range(300)]
    queue = IntraQueue(name="Q", recovstatus="PHYSICAL")
    for name in ("own", "ours"):
        with Region([queue], store=tmp_path / name, supplied_queues=False, dfhintra={"ci_size": 512}) as region:
            for record in records[:100] if name == "ours" else records:
                region.writeq_td("Q", record)
    write("tdqueue", tmp_path / "ours", {"data": records[100:]}, queue="Q", ciSize=512)
    seqs = [[row["seq"] for row in everything("tdqueue", tmp_path / name)] for name in ("own", "ours")]
    assert seqs[0] == seqs[1]


@pytest.mark.parametrize("queue", ["ONE", "TWO"])
@pytest.mark.parametrize(
    ("records", "more", "words"),
    [
        ([b"a", b"", b"c"], {}, "record 2 of the write: .*LENGERR.*nothing was written"),
        ([b"a", b"x" * 4065], {}, "record 2 of the write: .*LENGERR: the record has 4065 bytes; allowed are 1 to 4064"),
        ([b"x" * 4000] * 9, {"controlIntervals": 6}, "NOSPACE: all 5 control intervals"),
    ],
)
def test_what_does_not_fit_changes_nothing(
    store: Path, queue: str, records: list[bytes], more: dict[str, int], words: str
) -> None:
    before = everything("tdqueue", store)
    for overwrite in (False, True):
        with pytest.raises(DatasetError, match=words):
            write("tdqueue", store, {"data": records}, overwrite=overwrite, queue=queue, **more)
    assert everything("tdqueue", store) == before
    assert not list(store.parent.glob(".*"))


def test_overwrite_replaces_what_was_there(store: Path, system: Path) -> None:
    write("tdqueue", store, {"data": [b"x"]}, overwrite=True, queue="ONE")
    assert [data(store, name) for name in ("ONE", "TWO")] == [[b"x"], [b"two"]]
    write("dtaq", system, {"data": [b"x"], "key": [b"zz"]}, overwrite=True, queue="SHOP/KEYED")
    assert data(system, "SHOP/KEYED", kind="dtaq") == [b"x"]


def test_text_is_written_in_the_code_page(store: Path) -> None:
    write("tdqueue", store, {"data": ["AB", "Ä"]}, queue="ONE", encoding="1141")
    assert data(store, "ONE")[5:] == [b"\xc1\xc2", b"\x4a"]
    with pytest.raises(DatasetError, match="row 1 of a task: "):
        write("tdqueue", store, {"data": ["漢"]}, queue="ONE")


def test_a_data_queue_keeps_its_rules(system: Path) -> None:
    assert write("dtaq", system, {"data": [b"a", b"b"], "key": [b"00", b"01"]}, queue="SHOP/KEYED") == 2
    with System(store=system) as again, again.job() as job:
        entry = job.qrcvdtaq("KEYED", "SHOP", key_order="GE", key=b"00")
        assert (entry.data, entry.sender.job_name, entry.sender.current_user) == (b"a", "TDQSPARK", "QSECOFR")
    before = everything("dtaq", system)
    for rows, queue, words in (
        ({"data": [b"a"]}, "SHOP/KEYED", "a key has 0 bytes; it must have 2 .CPF9506."),
        ({"data": [b"x" * 21]}, "SHOP/LAST", "an entry has 21 bytes; allowed are 1 to 20 .CPF2498."),
        ({"data": [b"x"], "key": [b"1"]}, "SHOP/LAST", "a key has 1 bytes; it must have 0"),
        ({"data": [b"x"]}, "SHOP/NONE", "there is no queue SHOP/NONE"),
    ):
        with pytest.raises(DatasetError, match=words):
            write("dtaq", system, rows, queue=queue)
    assert everything("dtaq", system) == before


def test_a_full_data_queue_takes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "small"
    with System(store=path) as made:
        made.install(Definitions.of([Dtaq(dtaq="SHOP/Q", maxlen=10, size=(3, 1))]), create_libraries=True)
    with pytest.raises(DatasetError, match=r"holds 3 entries at most, 0 are on it; nothing was written .CPF950A."):
        write("dtaq", path, {"data": [b"x"] * 4}, queue="SHOP/Q")
    assert write("dtaq", path, {"data": [b"x"] * 3}, queue="SHOP/Q") == 3


@pytest.mark.parametrize(
    ("rows", "more", "words"),
    [
        ({"data": [b"x"]}, {}, "which queue"),
        ({"queue": ["ONE"]}, {}, "a column data is needed; there are queue"),
        ({"data": [1]}, {"queue": "ONE"}, "column data is int64; it must be binary or text"),
        ({"data": [b"x"], "colour": ["red"]}, {"queue": "ONE"}, "no column colour in a queue"),
        ({"data": [b"x"]}, {"queue": "ONE,TWO"}, "a write goes to one queue"),
        ({"data": [b"x", None]}, {"queue": "ONE"}, "row 1 of a task: column data is null"),
        ({"data": [b"x"], "queue": pa.array([None], pa.string())}, {}, "column queue is null"),
    ],
)
def test_rows_that_are_no_records_are_refused(
    store: Path, rows: dict[str, list[Any]], more: dict[str, str], words: str
) -> None:
    with pytest.raises(DatasetError, match=words):
        write("tdqueue", store, rows, **more)


CRASHED = """
import os, sys
from tdqsim.cics import Region
region = Region(store=sys.argv[1], supplied_queues=False)
region.writeq_td("TWO", b"more")
os._exit(1)
"""


def test_after_a_crash_only_recoverable_queues_are_written_to(store: Path) -> None:
    subprocess.run([sys.executable, "-c", CRASHED, str(store)], check=False)
    with pytest.raises(DatasetError, match="did not end normally: queue ONE, which is not recoverable"):
        write("tdqueue", store, {"data": [b"x"]}, queue="ONE")
    write("tdqueue", store, {"data": [b"x"]}, queue="TWO")
    with Region(QUEUES, store=store, supplied_queues=False) as region:
        assert region.recovery.start_type == "EMERGENCY"
        assert [region.readq_td("TWO") for _ in range(3)] == [b"two", b"more", b"x"]


def test_a_queue_that_a_unit_of_work_in_doubt_has_is_left_alone(store: Path) -> None:
    head = json.dumps({"queues": [{"name": "TWO"}], "locks": [["ONE", "read"]]}).encode()
    with Store(store) as opened:
        opened.durable.commit((), {b"uow/12345678": len(head).to_bytes(4, "big") + head})
    for queue in ("ONE", "TWO"):
        with pytest.raises(DatasetError, match=f"a unit of work in doubt has queue {queue}"):
            write("tdqueue", store, {"data": [b"x"]}, queue=queue)
        with pytest.raises(DatasetError, match=f"a unit of work in doubt has queue {queue}"):
            trim(store, "tdqueue", {queue: 2**40})
    assert len(data(store, "ONE")) == 5


def test_a_seed_file_is_taken_by_the_command_line(store: Path, tmp_path: Path) -> None:
    seeds = tmp_path / "seeds"
    for _ in range(2):
        write("tdqueue", seeds, {"data": [b"\x01\xff", b"b"]}, queue="ONE", target="seed")
    assert (seeds / "ONE.hex").read_text() == "01FF\n62\n" * 2
    assert main(["write", "ONE", "--seed", "--hex", "--file", str(seeds / "ONE.hex"), "--store", str(store)]) == 0
    assert data(store, "ONE")[5:] == [b"\x01\xff", b"b"] * 2
    write("tdqueue", seeds, {"data": [b"c"]}, overwrite=True, queue="ONE", target="seed")
    assert (seeds / "ONE.hex").read_text() == "63\n"
    write("dtaq", seeds, {"data": [b"c"], "key": [b"k"], "queue": ["SHOP/Q"]}, target="seed")
    with System() as other, other.job() as job:
        assert [tuple(each) for each in parse_seed(job, (seeds / "SHOP.Q.jsonl").read_text().splitlines())] == [
            (b"c", b"k")
        ]
    for name in ("../ONE", "ONE\0", "TOOLONG", ""):
        with pytest.raises(DatasetError, match="no name of a queue"):
            write("tdqueue", seeds, {"data": [b"c"], "queue": [name]}, target="seed")


# histories -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def history(tmp_path: Path) -> Path:
    from tdqsim.testing import History

    path = tmp_path / "day.jsonl"
    with Region(QUEUES, supplied_queues=False) as region, History(path=path).attach(region):
        for number in range(50):
            region.writeq_td("ONE", b"%d" % number)
        with region.task() as task:
            task.writeq_td("TWO", b"two")
        region.readq_td("ONE")
    return path


def test_a_history_is_a_table(history: Path) -> None:
    rows = everything("tdqueue", history, read="history", queue="ONE")
    written = [row["data"] for row in rows if row["kind"] == "WRITEQ TD"]
    assert written == [b"%d" % number for number in range(50)]
    assert (rows[-1]["kind"], rows[-1]["resp"], rows[-1]["data"]) == ("READQ TD", "NORMAL", b"0")
    assert all(row["_corrupt_record"] is None for row in rows)
    assert json.loads(rows[0]["info"])["recovstatus"] == "NO"


def test_a_history_of_data_queues_is_a_table(tmp_path: Path) -> None:
    from tdqsim.testing import History

    path = tmp_path / "jobs.jsonl"
    with System() as made, History(path=path).attach(made), made.job("ORDERS", made.crtusrprf("MIRA").name) as job:
        made.install(Definitions.of([Dtaq(dtaq="SHOP/Q", maxlen=9, seq="*KEYED", keylen=1)]), create_libraries=True)
        job.qsnddtaq("Q", "SHOP", b"a", b"k")
        job.qrcvdtaq("Q", "SHOP", key_order="EQ", key=b"k")
    rows = everything("dtaq", path, read="history", queue="SHOP/Q", mode="failfast")
    assert [(row["kind"], row["data"], row["key"]) for row in rows][-2:] == [
        ("QSNDDTAQ", b"a", b"k"),
        ("QRCVDTAQ", b"a", b"k"),
    ]
    assert rows[-1]["job"] == "000001/MIRA/ORDERS"
    assert json.loads(rows[-1]["info"])["key_order"] == "EQ"
    assert all(row["_corrupt_record"] for row in everything("tdqueue", path, read="history"))


@pytest.mark.parametrize("piece", [1, 7, 100, 10_000])
def test_pieces_of_a_history_have_each_event_once(history: Path, piece: int) -> None:
    pieces = history_pieces(str(history), piece)
    found = [
        row["offset"]
        for each in pieces
        for batch in read_history(each, "tdqueue", ["offset"])
        for row in batch.to_pylist()
    ]
    lines = history.read_bytes().splitlines(keepends=True)
    assert lines[0] == b'{"format": 1}\n'
    assert found == [sum(len(line) for line in lines[:number]) for number in range(1, len(lines))]


def test_a_history_of_another_format_is_refused_with_both_versions(history: Path) -> None:
    history.write_text(history.read_text().replace('{"format": 1}', '{"format": 2}'))
    with pytest.raises(DatasetError, match=r'offset 0: the history begins with {"format": 2}; .* reads {"format": 1}'):
        everything("tdqueue", history, read="history")
    history.write_text('{"format":\n')
    (row,) = everything("tdqueue", history, read="history")
    assert row["_corrupt_record"] == '{"format":'


def test_bad_lines_of_a_history(history: Path, tmp_path: Path) -> None:
    text = history.read_text()  # with its head, as in files that were put together
    bad = '{"a": 1}\n["X",1]\n["X",1,"Q","zz",0]\n[1,2,3,4,5]\nnot json\n["X",1,"Q","00",1.5]\n'
    history.write_text(f"{bad}{text}")
    rows = everything("tdqueue", history, read="history")
    assert [row["_corrupt_record"] for row in rows[:7]] == [*bad.splitlines(), None]
    assert rows[1]["offset"] == 9
    kept = everything("tdqueue", history, read="history", mode="dropmalformed")
    assert kept == rows[6:]
    with pytest.raises(DatasetError, match=r"day.jsonl: offset 0: this is not an event of a history"):
        everything("tdqueue", history, read="history", mode="failfast")
    with pytest.raises(DatasetError, match="there is no such history"):
        everything("tdqueue", tmp_path / "none*", read="history")
    with pytest.raises(DatasetError, match="journals are an IBM i system's"):
        schema_of(options("tdqueue", history, read="journal"))
    assert len(everything("tdqueue", f"{tmp_path}/*.jsonl", read="history")) == len(rows)


@given(st.lists(st.binary(max_size=60), max_size=12), st.integers(1, 50))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
def test_any_bytes_are_lines_or_corrupt_lines(tmp_path: Path, lines: list[bytes], piece: int) -> None:
    path = tmp_path / "fuzz"
    path.write_bytes(b"\n".join(lines))
    rows = [
        row for each in history_pieces(str(path), piece) for batch in read_history(each, "tdqueue", HISTORY["tdqueue"].names)
        for row in batch.to_pylist()
    ]  # fmt: skip
    assert len(rows) == sum(bool(line.strip()) for line in path.read_bytes().split(b"\n"))


def test_columns_are_those_of_the_table() -> None:
    assert SCHEMAS["tdqueue"].names == ["queue", "seq", "data"]
    assert SCHEMAS["dtaq"].names == ["queue", "seq", "time_us", "key", "sender", "sender_user", "data"]
