"""Ingest and load: formats, bad records by mode, and what comes back."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tdqsim.cli import main
from tdqsim.errors import DatasetError, TdqError
from tdqsim.pipeline.stages.ingest import IngestRequest, run_ingest
from tdqsim.pipeline.stages.load import LoadRequest, run_load
from tdqsim.pipeline.stages.replay import ReplaySpec
from tdqsim.pipeline.stages.replaying import run_replay
from tdqsim.pipeline.stages.tables import read_table

WRITE = {"region": "A", "command": "WRITEQ TD", "queue": "KEEP"}


def ingested(tmp_path: Path, name: str, content: bytes, **more: object) -> Path:
    source = tmp_path / name
    source.write_bytes(content)
    run = tmp_path / "run"
    run_ingest(IngestRequest(run, (str(source),), engine="local", **more))  # type: ignore[arg-type]
    return run


def events(run: Path) -> list[dict[str, object]]:
    return read_table(run, "ingest", "events").to_pylist()


def test_csv_with_columns_beside_it(tmp_path: Path) -> None:
    content = b"seq,data_hex,resp\n5,F1F2,NORMAL\n6,C1,\n"
    run = ingested(tmp_path, "trace.csv", content, columns=WRITE)
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


def test_a_data_set_of_records(tmp_path: Path) -> None:
    run = ingested(
        tmp_path, "DALY.PS", b"AAAABBBBCCCC", columns=WRITE, options={"record_format": "F", "record_length": "4"}
    )
    assert [row["data"] for row in events(run)] == [b"AAAA", b"BBBB", b"CCCC"]


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
    arguments = ["load", "dataset", "--run", str(run), "--out", str(tmp_path / "out"), "--recfm", "FB", "--json"]
    assert main(["pipeline", *arguments]) == 0
    assert (tmp_path / "out" / "KEEP.PS").read_bytes() == b"\xc1\xc2\xc3"


def test_seed_files_are_taken_up_again(tmp_path: Path, region_directory: Path) -> None:
    run = ingested(tmp_path, "t.csv", b"seq,data_hex\n1,C1\n2,C2\n", columns=WRITE)
    run_replay(run, ReplaySpec(directory=region_directory), "local")
    run_load(LoadRequest(run, "seed", tmp_path / "out"))
    assert (tmp_path / "out" / "A.KEEP.hex").read_text() == "C1\nC2\n"


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


def test_input_without_events_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="there are no events"):
        ingested(tmp_path, "t.csv", b"seq,data_hex\n", columns=WRITE)
