"""Traces with something wrong in them: a bad record is one record, whatever the file, and it is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdqsim.cli import main
from tdqsim.errors import DatasetError
from tdqsim.pipeline.limits import BOUNDS
from tdqsim.pipeline.stages import IngestRequest, ingest, read_table, run_ingest, traces

WRITE = {"region": "A", "command": "WRITEQ TD", "queue": "KEEP"}
LONG = 1 << 20


def ingested(tmp_path: Path, source: Path | str, **more: Any) -> dict[str, Any]:
    return run_ingest(IngestRequest(tmp_path / "run", (str(source),), engine="local", **more))


def events(tmp_path: Path) -> list[dict[str, Any]]:
    return read_table(tmp_path / "run", "ingest", "events").sort_by("seq").to_pylist()


def file(tmp_path: Path, name: str, content: bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


# one bad record among many ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (b"7,\xff\xfe", "it is not UTF-8: invalid start byte at byte 2"),
        (b'7,"never closed', "a quote is not closed"),
        (b'7,"closed" early', "',' expected after '\"'"),
        (b"7,a,b,c", r"more fields than the first line has names: \['b', 'c'\]"),
        (b"7," + b"x" * LONG, "it is longer than 1,048,576 bytes"),
        (b"seven,x", "seq is 'seven'; it must be a whole number"),
        (b"9" * 20 + b",x", ".*it must be a whole number of 64 bits"),
        ("7,日".encode(), "data has '日' at character 1, which is not in code page 037"),
    ],
)
def test_a_poisoned_csv_record_costs_no_other(tmp_path: Path, bad: bytes, text: str) -> None:
    good = [b"%d,row %d" % (number, number) for number in range(3000)]
    head = b"\xef\xbb\xbfseq,data\r\n"
    source = file(tmp_path, "day.csv", head + b"\r\n".join([*good[:2000], bad, *good[2000:]]) + b"\r\n")
    offset = len(head) + sum(len(line) + 2 for line in good[:2000])
    with pytest.raises(
        DatasetError, match=rf"day\.csv: record 2001 at offset {offset}: {text}.*; correct it, or choose"
    ):
        ingested(tmp_path, source, columns=WRITE)
    assert ingested(tmp_path, source, columns=WRITE, mode="dropmalformed")["bad"] == 1
    assert [row["seq"] for row in events(tmp_path)] == list(range(3000))
    found = ingested(tmp_path, source, columns=WRITE, mode="permissive")
    assert (found["events"], found["bad"]) == (3001, 1)
    (kept,) = [row for row in events(tmp_path) if row["command"] == "BAD RECORD"]
    assert f"record 2001 at offset {offset}" in kept["data"].decode()


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b'{"data": "' + b"x" * 3 * LONG + b'"}', "it is longer than 1,048,576 bytes"),
        (b'{"data": \xff}', "it is not UTF-8"),
        (b'{"data": ', "it is not JSON: Expecting value at character 11; each line must be one JSON object"),
        (b"[" * 100_000, "it cannot be read as JSON"),
        (b'["data"]', "a line must be one JSON object"),
        (b'{"region": ["A"]}', r"region is \['A'\]; it must be text"),
        (b'{"queue": true}', "queue is True; it must be text"),
        (b'{"queue": "\\ud800"}', r"queue is .*it has half a surrogate pair"),
        (b'{"seq": [1]}', r"seq is \[1\]; it must be a whole number"),
        (b'{"seq": 1.5}', "seq is 1.5; it must be a whole number"),
        (b'{"time_us": 1e999}', "time_us is inf; it must be a whole number"),
        (b'{"task": false}', "task is False; it must be a whole number"),
        (b'{"resp2": 99999999999}', "resp2 is 99999999999; it must be a whole number of 32 bits"),
        (b'{"data": 12}', "data is 12; it must be text, or hexadecimal digits as data_hex"),
        (b'{"key_hex": "F"}', "key_hex is 'F'; it must be pairs of hexadecimal digits"),
        (b'{"data_hex": 12}', "data_hex is 12; it must be pairs of hexadecimal digits"),
    ],
)
def test_a_poisoned_json_line_costs_no_other(tmp_path: Path, line: bytes, text: str) -> None:
    good = [b'{"data": "row %d"}' % number for number in range(20)]
    source = file(tmp_path, "day.jsonl", b"\n".join([*good[:12], line, b"", b"  ", *good[12:]]) + b"\n\n")
    offset = sum(len(each) + 1 for each in good[:12])
    with pytest.raises(DatasetError, match=rf"day\.jsonl: record 13 at offset {offset}: {text}"):
        ingested(tmp_path, source, columns=WRITE)
    found = ingested(tmp_path, source, columns=WRITE, mode="dropmalformed")
    assert (found["events"], found["bad"]) == (20, 1)
    assert [row["data"].decode("cp037") for row in events(tmp_path)] == [f"row {number}" for number in range(20)]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_large_records_are_not_gathered(tmp_path: Path, form: str) -> None:
    text = "x" * 900_000
    lines = [text if form == "csv" else json.dumps({"data": text})] * 60
    source = file(tmp_path, f"day.{form}", "\n".join([*(["data"] if form == "csv" else []), *lines]).encode())
    task = ingest.IngestTask(tmp_path, 0, "", 0, str(source), form, WRITE, {}, "failfast")
    assert [part.num_rows for part, _ in ingest.events_of(task)] == [19, 19, 19, 3]


def test_a_quoted_text_may_go_over_lines(tmp_path: Path) -> None:
    content = b'seq,data\n1,"one\nand ""two"""\n2,5" pipe\n3,"x"\n'
    ingested(tmp_path, file(tmp_path, "t.csv", content), columns=WRITE)
    assert [row["data"].decode("cp037") for row in events(tmp_path)] == ['one\nand "two"', '5" pipe', "x"]


@given(st.lists(st.lists(st.text(bytes(range(256)).decode("cp037"), max_size=9), min_size=2, max_size=2), max_size=9))
def test_what_a_csv_writer_writes_is_read(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]) -> None:
    import csv

    path = tmp_path_factory.mktemp("csv") / "t.csv"
    clean = [[text.replace("\r", "") for text in row] for row in rows]
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, quoting=csv.QUOTE_ALL)
        writer.writerows([["key", "data"], *clean])
    task = ingest.IngestTask(path.parent, 0, "", 0, str(path), "csv", WRITE, {}, "failfast")
    found = [row for part, _ in ingest.events_of(task) for row in part.to_pylist()]
    wanted = [[text.encode("cp037") or None for text in row] for row in clean]
    assert [[row["key"], row["data"]] for row in found] == wanted


@given(
    st.dictionaries(
        st.sampled_from(["region", "seq", "time_us", "resp2", "data", "key_hex", "tran"]), st.from_type(object)
    )
)
def test_values_of_any_kind_are_events_or_named(given_: dict[str, Any]) -> None:
    try:
        found = traces.values_of(given_)
    except traces.BadEvent as error:
        assert str(error).split("_hex")[0].split(" ")[0] in {name.removesuffix("_hex") for name in given_}  # noqa: PT017
    else:
        assert set(found) >= {"region", "seq", "data", "key"}


# columns ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"seq;data\n1;x\n", "the first line names no column of the event table, .* it has 'seq;data'"),
        (b"data,data\n1,x\n", "the first line has the column 'data' twice"),
        pytest.param(
            b",".join(b"%x" % n for n in range(150_000)) + b",7\n", "the first line has the column '7' twice", id="many"
        ),
        ("seq,data\n".encode("utf-16"), "the first line, which names the columns, is not CSV in UTF-8"),
        (b"\x00" * 2 * LONG, "the first line, .* it is longer than 1,048,576 bytes"),
        (b"seq,data\n1,x\n", "record 1 at offset 9: no region; give the file such a column, .* it has seq, data"),
    ],
)
def test_a_first_line_that_cannot_be(tmp_path: Path, content: bytes, text: str) -> None:
    columns = {} if "no region" in text else WRITE
    with pytest.raises(DatasetError, match=rf"t\.csv: {text}"):
        ingested(tmp_path, file(tmp_path, "t.csv", content), columns=columns)


def test_columns_that_no_event_has_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.csv").write_text("dta,data\nx,y\n")
    pq.write_table(pa.table({"region": ["A"], "commant": ["x"], "data_hex": ["C1"]}), folder / "b.parquet")
    found = ingested(tmp_path, folder, columns=WRITE)
    assert found["columns_left_out"] == ["commant", "dta"]
    assert [row["data"] for row in events(tmp_path)] == ["y".encode("cp037"), b"\xc1"]


# Parquet ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(params=[(16, 1000, 778), (65536, 9000, 8501)])
def poisoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> tuple[Path, int, int]:
    """Records of which one has no command, in row groups and batches, or in one batch that is converted in pieces."""
    batch, rows, bad = request.param
    monkeypatch.setitem(BOUNDS, "batch_rows", batch)
    commands = ["READQ TD"] * rows
    table = pa.table({"region": ["A"] * rows, "command": pa.array([*commands[: bad - 1], None, *commands[bad:]])})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=500 if batch == 16 else rows)
    return tmp_path / "t.parquet", rows, bad


def test_a_poisoned_parquet_record_by_mode(tmp_path: Path, poisoned: tuple[Path, int, int]) -> None:
    path, rows, bad = poisoned
    with pytest.raises(DatasetError, match=rf"t\.parquet: record {bad}: no command; .* it has region, command"):
        ingested(tmp_path, path)
    found = ingested(tmp_path, path, mode="dropmalformed")
    assert (found["events"], found["bad"]) == (rows - 1, 1)
    found = ingested(tmp_path, path, mode="permissive")
    assert (found["events"], found["bad"]) == (rows, 1)
    assert [row["seq"] for row in events(tmp_path)] == list(range(1, rows + 1))
    assert [row["seq"] for row in events(tmp_path) if row["command"] == "BAD RECORD"] == [bad]


@pytest.mark.parametrize("form", ["CSV", "JSONL", "PARQUET"])
def test_records_of_a_second_file_come_after_those_of_the_first(tmp_path: Path, form: str) -> None:
    columns = {"command": "WRITEQ TD", "queue": "KEEP"}
    for name, regions in (("a", ["A", "A"]), ("b", ["A", ""])):
        path = tmp_path / f"{name}.{form}"
        if form == "PARQUET":
            pq.write_table(pa.table({"region": [region or None for region in regions]}), path)
        elif form == "CSV":
            path.write_text("region,data_hex\n" + "".join(f"{region},31\n" for region in regions))
        else:
            path.write_text("".join(json.dumps({"region": region, "data_hex": "31"}) + "\n" for region in regions))
    assert ingested(tmp_path, tmp_path / f"*.{form}", columns=columns, mode="permissive")["bad"] == 1
    assert [(row["seq"], row["command"]) for row in events(tmp_path)] == [
        (1, "WRITEQ TD"), (2, "WRITEQ TD"), ((1 << 40) + 1, "WRITEQ TD"), ((1 << 40) + 2, "BAD RECORD"),
    ]  # fmt: skip


def test_text_and_digits_are_in_parquet_what_they_are_in_csv(tmp_path: Path) -> None:
    columns = {"region": ["A"] * 2, "command": ["WRITEQ TD"] * 2, "queue": ["K"] * 2}
    table = pa.table({**columns, "data": ["Ä1", None], "data_hex": [None, "C1"], "key": pa.array([b"k", None])})
    pq.write_table(table, tmp_path / "t.parquet")
    ingested(tmp_path, tmp_path / "t.parquet")
    assert [(row["key"], row["data"]) for row in events(tmp_path)] == [(b"k", "Ä1".encode("cp037")), (None, b"\xc1")]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_text_of_any_type_is_text(tmp_path: Path, kind: pa.DataType) -> None:
    columns = {"region": ["A"] * 2, "command": ["WRITEQ TD"] * 2, "queue": ["K"] * 2}
    pq.write_table(pa.table({**columns, "data": pa.array(["Ä1", None], kind)}), tmp_path / "t.parquet")
    ingested(tmp_path, tmp_path / "t.parquet")
    assert [row["data"] for row in events(tmp_path)] == ["Ä1".encode("cp037"), None]


# files ------------------------------------------------------------------------------------------------------------------


def test_a_file_that_is_not_there_among_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(200):
        (folder / f"{number:03}.csv").write_text(f"seq,data\n{number},x\n")
    (folder / "100.csv").unlink()
    (folder / "100.csv").symlink_to(tmp_path / "nowhere.csv")
    arguments = ["--run", str(tmp_path / "run"), "--engine", "local", *(f"--column={k}={v}" for k, v in WRITE.items())]
    assert main(["pipeline", "ingest", str(folder), *arguments]) == 2
    assert "100.csv: cannot be read: No such file or directory; give access, or leave it out" in capsys.readouterr().err
    (folder / "100.csv").unlink()
    (folder / "100.csv").touch()  # an empty one is no harm
    assert main(["pipeline", "ingest", str(folder), "--json", *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["events"] == 199


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--mode", "strict"], "--mode strict: allowed are permissive, dropmalformed, failfast"),
        (["--format", "xml"], "--format xml: allowed are qsam, csv"),
        (["--column", "colour=red"], "--column colour: the columns of the event table are region"),
    ],
)
def test_wrong_arguments_end_with_2(
    tmp_path: Path, arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = file(tmp_path, "t.csv", b"data\nx\n")
    assert main(["pipeline", "ingest", str(source), "--run", str(tmp_path / "run"), *arguments]) == 2
    assert text in capsys.readouterr().err


def test_a_run_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "run").touch()
    with pytest.raises(DatasetError, match=r"--run .*run: File exists; name a directory"):
        ingested(tmp_path, file(tmp_path, "t.csv", b"data\nx\n"), columns=WRITE)


def test_a_journal_as_csv_is_not_read_once_for_each_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{n},QS,ORDERS SHOP,C1C2" for n in range(1, 200)]
    content = "\n".join(["SEQUENCE_NUMBER,JOURNAL_ENTRY_TYPE,OBJECT,ENTRY_DATA", *lines]).encode()
    monkeypatch.setitem(BOUNDS, "piece_bytes", 500)
    found = ingested(tmp_path, file(tmp_path, "j.csv", content), form="journal", columns={"region": "S"})
    assert found["events"] == 199
