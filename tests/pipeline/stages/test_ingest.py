"""Ingest and load: formats, bad records by mode, and what comes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tdqsim.cli import main
from tdqsim.errors import DatasetError, TdqError
from tdqsim.pipeline.limits import BOUNDS
from tdqsim.pipeline.stages import (
    IngestRequest,
    LoadRequest,
    ReplaySpec,
    manifest,
    read_table,
    run_ingest,
    run_load,
    run_replay,
)

WRITE = {"region": "A", "command": "WRITEQ TD", "queue": "KEEP"}


def ingested(tmp_path: Path, name: str, content: bytes, **more: object) -> Path:
    tmp_path.mkdir(exist_ok=True)
    source = tmp_path / name
    source.write_bytes(content)
    run = tmp_path / "run"
    run_ingest(IngestRequest(run, (str(source),), engine="local", **more))  # type: ignore[arg-type]
    return run


def events(run: Path) -> list[dict[str, object]]:
    return read_table(run, "ingest", "events").to_pylist()


@pytest.mark.parametrize("name", ["trace.csv", "TRACE.CSV"])
def test_csv_with_columns_beside_it(tmp_path: Path, name: str) -> None:
    content = b"seq,data_hex,resp\n5,F1F2,NORMAL\n6,C1,\n"
    run = ingested(tmp_path, name, content, columns=WRITE)
    assert [(row["seq"], row["data"], row["resp"], row["queue"]) for row in events(run)] == [
        (5, b"\xf1\xf2", "NORMAL", "KEEP"), (6, b"\xc1", None, "KEEP"),
    ]  # fmt: skip


def test_json_lines_text_is_code_page_037(tmp_path: Path) -> None:
    lines = [{"region": "A", "command": "WRITEQ TD", "queue": "KEEP", "data": text} for text in ("ONE", "TWO")]
    run = ingested(tmp_path, "trace.jsonl", "\n".join(map(json.dumps, lines)).encode())
    assert [row["data"] for row in events(run)] == ["ONE".encode("cp037"), "TWO".encode("cp037")]


@pytest.mark.parametrize(
    "line", [b"{not json", b"[1]", b'{"region": "A"}', b'{"seq": "x"}', b'{"data_hex": "F"}', b"\xff"]
)
def test_a_poisoned_record_by_mode(tmp_path: Path, line: bytes) -> None:
    good = json.dumps({**WRITE, "data": "OK"}).encode()
    content = b"\n".join([good, line, good])
    columns = {"queue": "KEEP"}
    with pytest.raises(DatasetError, match=rf"bad.jsonl: record 2 at offset {len(good) + 1}: "):
        ingested(tmp_path, "bad.jsonl", content, columns=columns)
    assert len(events(ingested(tmp_path, "bad.jsonl", content, columns=columns, mode="dropmalformed"))) == 2
    kept = events(ingested(tmp_path, "bad.jsonl", content, columns=columns, mode="permissive"))
    assert sorted(str(row["command"]) for row in kept) == ["BAD RECORD", "WRITEQ TD", "WRITEQ TD"]
    assert b"record 2 at offset" in next(row["data"] for row in kept if row["command"] == "BAD RECORD")  # type: ignore[operator]


def test_a_data_set_of_records_and_again_with_other_arguments_in_the_same_run(tmp_path: Path) -> None:
    four = {"record_format": "F", "record_length": "4"}
    run = ingested(tmp_path, "DALY.PS", b"AAAABBBBCCCC", columns=WRITE, options=four)
    assert [row["data"] for row in events(run)] == [b"AAAA", b"BBBB", b"CCCC"]
    for queue, length, found in (
        ("KEEP", "6", [("KEEP", b"AAAABB"), ("KEEP", b"BBCCCC")]),
        ("PAYQ", "6", [("PAYQ", b"AAAABB"), ("PAYQ", b"BBCCCC")]),
    ):
        columns, options = {**WRITE, "queue": queue}, {**four, "record_length": length}
        run_ingest(IngestRequest(run, (str(tmp_path / "DALY.PS"),), "", columns, options, "local"))
        assert [(row["queue"], row["data"]) for row in events(run)] == found


def test_a_data_set_without_a_region_is_named_by_its_own_offset(tmp_path: Path) -> None:
    """The record is in the second file."""
    (tmp_path / "c.cpy").write_text("       01 C.\n          05 WHERE PIC X.\n          05 WHAT PIC X.\n")
    for name, text in (("1.ps", "A1A2"), ("2.ps", "A3 4")):
        (tmp_path / name).write_bytes(text.encode("cp037"))
    options = {"record_format": "F", "copybook": str(tmp_path / "c.cpy")}
    request = IngestRequest(tmp_path / "run", (str(tmp_path / "*.ps"),), "", {**WRITE, "region": "{WHERE}"}, options)
    with pytest.raises(DatasetError, match=r"2\.ps: record at offset 2: its field for region or command is empty"):
        run_ingest(request)


def test_parquet_without_a_column_that_is_needed(tmp_path: Path) -> None:
    pq.write_table(pa.table({"region": ["A"], "seq": [1]}), tmp_path / "t.parquet")
    with pytest.raises(DatasetError, match="needs the column command"):
        run_ingest(IngestRequest(tmp_path / "run", (str(tmp_path / "t.parquet"),), engine="local"))


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"mode": "strict"}, "allowed are permissive"),
        ({"form": "xml"}, "allowed are qsam"),
        ({"columns": {"colour": "red"}}, "--column colour"),
    ],
)
def test_arguments_that_are_not_allowed(tmp_path: Path, more: dict[str, object], text: str) -> None:
    with pytest.raises(TdqError, match=text):
        ingested(tmp_path, "x.csv", b"", **more)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no such file"):
        run_ingest(IngestRequest(tmp_path / "run", (str(tmp_path / "none*"),), engine="local"))


def test_ingest_replay_reconcile_load_from_the_command_line(
    tmp_path: Path, region_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, trace = tmp_path / "run", tmp_path / "trace.csv"
    trace.write_text("region,seq,queue,data_hex\nA,1,KEEP,C1\nA,2,KEEP,C2\nB,1,KEEP,C3\n")
    local = ["--run", str(run), "--engine", "local", "--json"]
    assert main(["pipeline", "ingest", str(trace), "--column", "command=WRITEQ TD", *local]) == 0
    assert main(["pipeline", "replay", "--region", str(region_directory), *local]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["events"] == 3
    rows = [("A", 1, b"\xc1"), ("A", 2, b"\xc9"), ("B", 1, b"\xc3")]
    wanted = [
        {"region": region, "seq": seq, "command": "EXPECT", "queue": "KEEP", "data": data} for region, seq, data in rows
    ]
    pq.write_table(pa.Table.from_pylist(wanted), tmp_path / "expected.parquet")
    assert main(["pipeline", "reconcile", "--expected", str(tmp_path / "expected.parquet"), *local]) == 1
    assert json.loads(capsys.readouterr().out)["differences"] == {"KEEP changed": 1}
    assert main(["pipeline", "report", "--run", str(run), "--json"]) == 1
    assert "KEEP" in (run / "report.html").read_text()
    arguments = ["load", "dataset", "--run", str(run), "--output", str(tmp_path / "out"), "--recfm", "FB", "--json"]
    assert main(["pipeline", *arguments]) == 0
    assert (tmp_path / "out" / "KEEP.PS").read_bytes() == b"\xc1\xc2\xc3"


def test_seed_files_are_whole_and_regions_are_in_the_order_of_their_names(
    tmp_path: Path, region_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ingested(tmp_path, "t.csv", b"seq,region,data_hex\n1,B,C1\n2,B,C2\n1,A,C3\n", columns=WRITE)
    run_replay(run, ReplaySpec(directory=region_directory), "local")
    lines: list[bytes] = []

    def killed(_key: bytes | None, data: bytes, **_: bool) -> str:
        lines.append(data)
        if len(lines) == 3:
            raise KeyboardInterrupt
        return f"{data.hex().upper()}\n"

    monkeypatch.setattr("tdqsim.pipeline.stages.load.seed_line", killed)
    with pytest.raises(KeyboardInterrupt):
        run_load(LoadRequest(run, "seed", tmp_path / "out"))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["A.KEEP.hex"]
    monkeypatch.undo()
    run_load(LoadRequest(run, "seed", tmp_path / "out"))
    assert (tmp_path / "out" / "B.KEEP.hex").read_text() == "C1\nC2\n"
    run_load(LoadRequest(run, "dataset", tmp_path / "out"))
    assert (tmp_path / "out" / "KEEP.PS").read_bytes() == b"\xc3\xc1\xc2"  # B, with more events, is in the first bucket


def test_a_history_is_replayed_to_the_same_contents(tmp_path: Path, region_directory: Path) -> None:
    history = pytest.importorskip("tdqsim.testing.history")
    from tdqsim.cics import Region
    from tdqsim.job import importable

    path = tmp_path / "night.history"
    with importable(region_directory), Region.from_directory(region_directory) as region:
        recorded = history.History(path=path)
        recorded.attach(region)
        for number in range(5):
            region.writeq_td("PAYQ", b"%d" % number)
        kept = region.peek("KEEP"), region.peek("PAYQ")
        recorded.close()
    run = tmp_path / "run"
    run_ingest(IngestRequest(run, (str(path),), columns={"region": "A"}, engine="local"))
    run_replay(run, ReplaySpec(directory=region_directory), "local")
    found = read_table(run, "replay", "records").to_pylist()
    assert [row["data"] for row in found if row["queue"] == "KEEP"] == kept[0]
    assert [row["data"] for row in found if row["queue"] == "PAYQ"] == kept[1]


def test_a_history_that_begins_with_a_large_queue_is_ingested(tmp_path: Path) -> None:
    """The event QUEUE has the contents of a queue in one line, here of more than a mebibyte."""
    history = pytest.importorskip("tdqsim.testing.history")
    from tdqsim.cics import Region
    from tdqsim.definitions import define_tdqueue

    path = tmp_path / "night.history"
    with Region([define_tdqueue(name="KEEP", type="INTRA")]) as region:
        for _ in range(140):
            region.writeq_td("KEEP", bytes(4_000))
        recorded = history.History(path=path)
        recorded.attach(region)
        region.writeq_td("KEEP", b"new")
        recorded.close()
    assert max(map(len, path.read_bytes().splitlines())) > 1 << 20
    run_ingest(IngestRequest(tmp_path / "run", (str(path),), columns={"region": "A"}, engine="local"))
    found = read_table(tmp_path / "run", "ingest", "events").to_pylist()
    assert [(row["command"], row["queue"], row["data"]) for row in found] == [("WRITEQ TD", "KEEP", b"new")]


def test_a_task_that_no_trigger_started_issued_its_commands_itself(tmp_path: Path) -> None:
    lines = [
        ["START", 5, "", "", 0], ["WRITEQ TD", 5, "KEEP", "F1", 1_999],
        ["START", 6, "PAYQ", "", 0], ["WRITEQ TD", 6, "KEEP", "F2", 0],
    ]  # fmt: skip
    content = "\n".join(map(json.dumps, lines)).encode()
    found = events(ingested(tmp_path, "night.history", content, columns={"region": "A"}))
    assert [(row["queue"], row["data"], row["time_us"], row["resp"], row["resp2"]) for row in found] == [
        ("KEEP", b"\xf1", 1, "NORMAL", 0)
    ]
    with pytest.raises(
        DatasetError, match="record 1 at offset 0: an event is a command, task, queue, data, nanoseconds"
    ):
        ingested(tmp_path, "night.history", b'["WRITEQ TD", 5, "KEEP", "F1"]', columns={"region": "A"})


def test_the_numbers_of_a_file_begin_at_its_new_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BOUNDS, "piece_bytes", 10)
    for name, lines in (("a", 2), ("b", 1), ("c", 1), ("d", 1)):
        (tmp_path / f"{name}.jsonl").write_text('{"data_hex": "C1"}\n' * lines)
    for names, seq in (("ab", (1 << 40) + 1), ("cdb", (2 << 40) + 1)):  # the task of b is the third both times
        sources = tuple(str(tmp_path / f"{name}.jsonl") for name in names)
        run_ingest(IngestRequest(tmp_path / "run", sources, columns=WRITE, engine="local"))
        assert events(tmp_path / "run")[-1]["seq"] == seq


def test_input_without_events_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="there are no events"):
        ingested(tmp_path, "t.csv", b"seq,data_hex\n", columns=WRITE)


def test_what_ingest_brought_is_loaded_in_order_and_stays_in_its_folder(tmp_path: Path) -> None:
    rows = [(3, "../up", "C1"), (1, "../up", "C2"), (2, "B", "C3"), (1, "B", "")]
    content = b"seq,region,data_hex\n" + b"".join(b"%d,%s,%s\n" % (n, r.encode(), d.encode()) for n, r, d in rows)
    run = ingested(tmp_path, "t.csv", content, columns={"command": "WRITEQ TD", "queue": "Q/1"})
    assert run_load(LoadRequest(run, "seed", tmp_path / "out", "events"))["queues"] == {"Q/1": 3}
    found = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert found == {"B.Q.1.hex": "C3\n", "up.Q.1.hex": "C2\nC1\n"}
    assert not list(tmp_path.glob("*.hex"))
    manifest.outdate(run, "split.exchange")  # another ingest was killed there
    with pytest.raises(DatasetError, match="ingest was not completed there"):
        run_load(LoadRequest(run, "seed", tmp_path / "out", "events"))


# journals, seeds, data queues, variable data sets ---------------------------------------------------------------------

QUEUES = "dtaq:\n  - {dtaq: SHOP/ORDERS, maxlen: 80}\n  - {dtaq: SHOP/KEYED, maxlen: 80, seq: '*KEYED', keylen: 2}\n"


@pytest.fixture
def journal(tmp_path: Path) -> tuple[Path, list[bytes]]:
    """An export of what was done to two data queues, and what was left on them."""
    from tdqsim.definitions import load_definitions
    from tdqsim.ibmi import System, export_journal

    (tmp_path / "queues.yaml").write_text(QUEUES)
    with System() as system, system.job("OFFICER", user="QSECOFR") as job:
        system.install(load_definitions(tmp_path / "queues.yaml"), create_libraries=True)
        job.crtjrn("SHOP/JRN")
        for name in ("ORDERS", "KEYED"):
            job.strjrnobj(f"SHOP/{name}", "SHOP/JRN")
        for number in range(4):
            job.qsnddtaq("ORDERS", "SHOP", b"order %d" % number)
            job.qsnddtaq("KEYED", "SHOP", b"keyed %d" % number, b"K%d" % (number % 2))
        job.qrcvdtaq("ORDERS", "SHOP")
        job.qrcvdtaq("KEYED", "SHOP", 0, "EQ", b"K1")
        job.qclrdtaq("KEYED", "SHOP", "EQ", b"K0")
        export_journal(job.dspjrn("SHOP/JRN"), tmp_path / "journal.jsonl")
    return tmp_path / "journal.jsonl", [b"keyed 3", b"order 1", b"order 2", b"order 3"]


def test_a_journal_is_replayed_to_the_same_data_queues_and_loaded(
    tmp_path: Path, journal: tuple[Path, list[bytes]]
) -> None:
    path, left = journal
    run = tmp_path / "run"
    run_ingest(IngestRequest(run, (str(path),), "journal", {"region": "SYSTEM1"}, engine="local"))
    outcome = run_replay(run, ReplaySpec(definitions=(tmp_path / "queues.yaml",)), "local")
    assert outcome["ok"], outcome
    assert [row["data"] for row in read_table(run, "replay", "records").to_pylist()] == left
    run_load(LoadRequest(run, "dtaq", tmp_path / "out"))
    entries = [json.loads(line) for line in (tmp_path / "out" / "SYSTEM1.SHOP.KEYED.jsonl").read_text().splitlines()]
    assert entries == [{"data": b"keyed 3".hex().upper(), "key": b"K1".hex().upper()}]


def test_a_journal_as_sql_gives_it(tmp_path: Path) -> None:
    (tmp_path / "queues.yaml").write_text(QUEUES)
    text = (
        "SEQUENCE_NUMBER,JOURNAL_CODE,JOURNAL_ENTRY_TYPE,OBJECT,ENTRY_TIMESTAMP,ENTRY_DATA\n"
        "7,Q,QS,ORDERS    SHOP      *N        ,2026-01-02-03.04.05.000006,C1C2\n8,R,PT,FILE LIB,,00\n"
    )
    (tmp_path / "journal.csv").write_text(text)
    run = tmp_path / "run"
    run_ingest(IngestRequest(run, (str(tmp_path / "journal.csv"),), "journal", {"region": "S"}, engine="local"))
    (event,) = events(run)
    assert (event["seq"], event["queue"], event["data"]) == (7, "SHOP/ORDERS", b"\xc1\xc2")
    assert event["time_us"] == 1_767_323_045_000_006


def test_seeds_are_there_before_anything_happens(tmp_path: Path, region_directory: Path) -> None:
    content = b"seq,command,queue,data_hex,resp\n1,SEED,KEEP,C1,\n2,SEED,KEEP,C2,\n3,READQ TD,KEEP,,NORMAL\n"
    run = ingested(tmp_path, "t.csv", content, columns={"region": "A"})
    assert run_replay(run, ReplaySpec(directory=region_directory), "local")["ok"]
    assert [row["data"] for row in read_table(run, "replay", "results").to_pylist()] == [b"\xc1"]
    assert [row["data"] for row in read_table(run, "replay", "records").to_pylist()] == [b"\xc2"]


def test_a_seed_that_its_queue_does_not_take_is_the_cause(tmp_path: Path, region_directory: Path) -> None:
    run = ingested(tmp_path, "t.csv", b"command,queue,data_hex\nSEED,NONE,C1\n", columns={"region": "A"})
    causes = run_replay(run, ReplaySpec(directory=region_directory), "local")["causes"]
    assert "event 1: SEED of queue NONE" in causes["A"]


def test_variable_data_sets_go_in_and_come_out(tmp_path: Path, region_directory: Path) -> None:
    from tdqsim.datasets import Dcb, RecordFormat, read_records

    records = [b"a", b"bb" * 9, b"ccc"]
    content = b"".join(b"%d,DD,VINDD,%s\n" % (n, data.hex().encode()) for n, data in enumerate(records))
    content = b"seq,command,queue,data_hex\n" + content + b"9,START,,\n"
    run = ingested(tmp_path, "t.csv", content, columns={"region": "A", "tran": "COPY"})
    assert run_replay(run, ReplaySpec(directory=region_directory), "local")["ok"]
    run_load(LoadRequest(run, "dataset", tmp_path / "out", queues=("KEEP",), recfm="VB", lrecl=40))
    assert list(read_records(tmp_path / "out" / "KEEP.PS", Dcb(RecordFormat.VB, lrecl=40))) == records


def test_a_record_of_another_length_than_the_definition_says(tmp_path: Path, region_directory: Path) -> None:
    content = b"seq,command,queue,data_hex\n1,DD,VINDD," + b"40" * 60 + b"\n"
    run = ingested(tmp_path, "t.csv", content, columns={"region": "A"})
    assert "VINDD" in run_replay(run, ReplaySpec(directory=region_directory), "local")["causes"]["A"]


# parts of large files, and fields ---------------------------------------------------------------------------------------


def test_lines_are_cut_into_tasks_and_give_the_same_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"".join(b'{"data": "%d"}\n' % number for number in range(300))
    whole = events(ingested(tmp_path / "a", "t.jsonl", content, columns=WRITE))
    monkeypatch.setitem(BOUNDS, "piece_bytes", 500)
    parts = ingested(tmp_path / "b", "t.jsonl", content, columns=WRITE)
    assert len(list((parts / "ingest/events").glob("*.parquet"))) > 5
    found = sorted(events(parts), key=lambda row: row["seq"])  # type: ignore[arg-type,return-value]
    assert [row["data"] for row in found] == [row["data"] for row in whole]


@pytest.fixture
def capture(tmp_path: Path) -> tuple[Path, Path, int]:
    """A blocked variable capture of two megabytes and its copybook."""
    from tdqsim.datasets import Dcb, RecordFormat, open_writer

    path, copybook = tmp_path / "capture.vb", tmp_path / "capture.cpy"
    copybook.write_text(
        "       01 C.\n          05 WHERE PIC X(4).\n          05 OP PIC X.\n          05 WHAT PIC X(200).\n"
    )
    with open_writer(path, Dcb(RecordFormat.VB, lrecl=300, blksize=27998)) as writer:
        writer.put_all([f"{n % 5:04}{'WR'[n // 5 % 2]}{'x' * (n % 150)}y".encode("cp037") for n in range(24_000)])
    return path, copybook, 24_000


def test_a_capture_is_cut_at_blocks_and_its_fields_are_columns(
    tmp_path: Path, capture: tuple[Path, Path, int], region_directory: Path
) -> None:
    path, copybook, records = capture
    columns = {
        "region": "REG{WHERE}", "command": "{OP:W=WRITEQ TD,R=READQ TD}", "queue": "KEEP", "data": "{WHAT}",
    }  # fmt: skip
    digests = set()
    for size in ("1", "100"):
        run = tmp_path / f"run{size}"
        options = {"record_format": "VB", "copybook": str(copybook), "input_split_size_mb": size}
        found = run_ingest(IngestRequest(run, (str(path),), "qsam", columns, options, "local"))
        assert (found["events"], found["regions"]) == (records, 5)
        outcome = run_replay(run, ReplaySpec(directory=region_directory), "local")
        assert outcome["ok"], outcome
        digests.add(outcome["digest"])
    assert len(list((tmp_path / "run1/ingest/events").glob("*.parquet"))) > 1
    assert len(digests) == 1
    first = read_table(tmp_path / "run1", "ingest", "events").sort_by("seq").to_pylist()[0]
    assert (first["region"], first["command"], first["data"]) == ("REG0000", "WRITEQ TD", "y".encode("cp037"))


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ({"region": "{NOWHERE}"}, "the copybook has no such elementary field; it has WHERE, OP, WHAT"),
        ({"data": "A{WHAT}"}, "must be one field in braces"),
        ({"command": "{OP:W}"}, "after the colon, give VALUE=TEXT"),
    ],
)
def test_fields_that_cannot_be(
    tmp_path: Path, capture: tuple[Path, Path, int], column: dict[str, str], text: str
) -> None:
    options = {"record_format": "VB", "copybook": str(capture[1])}
    columns = {"region": "A", "command": "WRITEQ TD", **column}
    with pytest.raises(TdqError, match=text):
        run_ingest(IngestRequest(tmp_path / "run", (str(capture[0]),), "qsam", columns, options, "local"))


# files that cannot be used -----------------------------------------------------------------------------------------------


def test_an_unreadable_file_among_many_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(40):
        pq.write_table(
            pa.table({"region": ["A"], "seq": [number], "command": ["READQ TD"]}), folder / f"{number}.parquet"
        )
    (folder / "23.parquet").write_bytes(b"PAR1 and then rubbish")
    assert main(["pipeline", "ingest", str(folder), "--run", str(tmp_path / "run"), "--json"]) == 2
    assert "23.parquet: cannot be read as Parquet" in capsys.readouterr().err


def test_a_file_without_access_is_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.open

    def refusing(path: Path, *args: Any, **more: Any) -> Any:
        if path.name == "secret.csv":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **more)

    monkeypatch.setattr(Path, "open", refusing)
    (tmp_path / "secret.csv").touch()
    with pytest.raises(DatasetError, match=r"secret.csv: cannot be read: Permission denied; give access"):
        run_ingest(IngestRequest(tmp_path / "run", (str(tmp_path),), engine="local"))


def test_a_lying_block_is_refused_by_file_and_offset(tmp_path: Path, capture: tuple[Path, Path, int]) -> None:
    content = bytearray(capture[0].read_bytes())
    second = int.from_bytes(content[:2], "big")
    content[second : second + 2] = b"\xff\xff"
    bad = tmp_path / "bad.vb"
    bad.write_bytes(content)
    options = {"record_format": "VB", "input_split_size_mb": "1"}
    columns = {"region": "A", "command": "WRITEQ TD"}
    with pytest.raises(DatasetError, match=r"bad.vb: .*offset \d+: X'FFFF"):
        run_ingest(IngestRequest(tmp_path / "run", (str(bad),), "qsam", columns, options, "local"))


def test_a_poisoned_record_of_a_data_set_by_mode(tmp_path: Path) -> None:
    (tmp_path / "c.cpy").write_text("       01 C.\n          05 NUMBER PIC 9(4).\n          05 WHAT PIC X(2).\n")
    good = "0007AB".encode("cp037")
    (tmp_path / "in.fb").write_bytes(good * 5 + b"\x00\xff\x00\xff\xc1\xc2" + good * 3)
    options = {"record_format": "F", "record_length": "6", "copybook": str(tmp_path / "c.cpy")}
    columns = {"region": "R{NUMBER}", "command": "WRITEQ TD", "queue": "KEEP", "data": "{WHAT}"}

    def run(mode: str) -> dict[str, Any]:
        return run_ingest(
            IngestRequest(tmp_path / mode, (str(tmp_path / "in.fb"),), "qsam", columns, options, "local", mode=mode)
        )

    with pytest.raises(TdqError, match=r"in.fb: record 6, record at offset 30: .*field NUMBER"):
        run("failfast")
    assert (run("dropmalformed")["events"], run("dropmalformed")["bad"]) == (8, 1)
    assert (run("permissive")["events"], run("permissive")["regions"]) == (9, 2)
