"""One data set in three ways: format("qsam"), a frame over the splits, and Parquet by tasks. The rows are the same."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")
import pyarrow.parquet as pq

from tdqsim.datasets import Dcb, RecordFormat, write_records
from tdqsim.errors import ConversionError, DatasetError
from tdqsim.pipeline.data_sets import grouped, read_data_set, stage_data_set
from tdqsim.pipeline.limits import BOUNDS
from tdqsim.pipeline.splits import Split
from tdqsim.pipeline.stages import Receipt, SparkRunner

COPYBOOK = (
    "01 R. 05 KIND PIC X. 05 ID PIC 9(5). 05 AMOUNT PIC S9(5)V99 COMP-3. 05 N PIC 9."
    " 05 T PIC X OCCURS 0 TO 3 DEPENDING ON N. 05 G. 10 A PIC X."
)
OPTIONS: dict[str, Any] = {"copybook_contents": COPYBOOK, "record_format": "VB"}
ROWS = 1000


def record(number: int) -> bytes:
    amount = bytes.fromhex(f"{number:07d}{'cd'[number % 2]}")
    return f"{'CP'[number % 2]}{number:05d}".encode("cp037") + amount + "2abcz".encode("cp037")


def value(number: int) -> Decimal:
    return Decimal(-number if number % 2 else number) / 100


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "data"
    write_records(found, map(record, range(ROWS)), Dcb(RecordFormat.VB, lrecl=84, blksize=400))
    return found


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """The third record's ID is no number."""
    found = tmp_path / "bad"
    records = [record(number) for number in range(10)]
    records[2] = records[2][:1] + "x!!!x".encode("cp037") + records[2][6:]
    write_records(found, records, Dcb(RecordFormat.VB, lrecl=84, blksize=400))
    return found


# without Spark --------------------------------------------------------------------------------------------------------


def changed(folder: Path) -> dict[str, int]:
    return {str(each): each.stat().st_mtime_ns for each in folder.rglob("*") if each.is_file()}


def test_columns_are_staged_once(path: Path, tmp_path: Path) -> None:
    stage = tmp_path / "stage"
    first = stage_data_set(path, stage, columns=["AMOUNT", "id"], input_split_records=300, **OPTIONS)
    assert (first.rows, len(first.files), first.schema.names) == (ROWS, 4, ["AMOUNT", "ID"])
    found = [row for name in first.files for row in pq.read_table(first.folder / name).to_pylist()]
    assert found == [{"AMOUNT": value(number), "ID": number} for number in range(ROWS)]
    before = changed(stage)
    again = stage_data_set(path, stage, columns=["AMOUNT", "ID"], input_split_records=300, **OPTIONS)
    assert (again, changed(stage)) == (first, before)


STAGES = (
    "import json, sys; from tdqsim.pipeline.data_sets import stage_data_set\n"
    "print(stage_data_set(sys.argv[1], sys.argv[2], columns=['ID'], **json.loads(sys.argv[3])).folder.name)"
)


def test_parts_that_are_made_twice_at_once_are_right(path: Path, tmp_path: Path) -> None:
    """As by speculative execution. Nothing of a digest depends on a process: no address, no order of sets."""
    options = {**OPTIONS, "input_split_records": "50"}
    command = [sys.executable, "-c", STAGES, str(path), str(tmp_path / "stage"), json.dumps(options)]
    both = [
        subprocess.Popen(command, env={**os.environ, "PYTHONHASHSEED": seed}, stdout=subprocess.PIPE, text=True)
        for seed in ("1", "2")
    ]
    names = {each.communicate()[0].strip() for each in both}
    assert [each.returncode for each in both] == [0, 0]
    (name,) = names
    found = stage_data_set(path, tmp_path / "stage", columns=["ID"], **options)
    assert (found.folder.name, found.rows) == (name, ROWS)
    assert sorted(each.name for each in (found.folder / "data").iterdir()) == [
        f"{number:05d}.parquet" for number in range(len(found.files))
    ]
    ids = [
        row["ID"] for number in range(len(found.files)) for batch in found.batches(number) for row in batch.to_pylist()
    ]
    assert ids == list(range(ROWS))


@pytest.mark.parametrize("what", ["input", "content", "layout", "columns", "order", "option"])
def test_what_differs_is_staged_anew(path: Path, tmp_path: Path, what: str) -> None:
    stage, options, columns = tmp_path / "stage", dict(OPTIONS), ["ID", "KIND"]
    copybook = tmp_path / "r.cpy"
    copybook.write_text(COPYBOOK)
    options = {"copybook": str(copybook), "record_format": "VB"}
    first = stage_data_set(path, stage, columns=columns, **options)
    if what == "input":
        write_records(path, map(record, range(7)), Dcb(RecordFormat.VB, lrecl=84, blksize=400))
    elif what == "content":  # with the size and the time that it had
        before = path.stat()
        path.write_bytes(path.read_bytes()[:-1] + b"\xf7")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    elif what == "layout":
        copybook.write_text(COPYBOOK.replace("PIC X. 05 ID", "PIC X. 05 ID "))
        assert stage_data_set(path, stage, columns=columns, **options).rows == ROWS
        copybook.write_text(COPYBOOK.replace("KIND PIC X. 05 ID PIC 9(5)", "KIND PIC X(2). 05 ID PIC 9(4)"))
    elif what == "columns":
        columns = ["KIND"]
    elif what == "order":
        columns = ["KIND", "ID"]
    else:
        options["string_trimming_policy"] = "none"
    second = stage_data_set(path, stage, columns=columns, **options)
    assert second.folder != first.folder
    assert second.rows == (7 if what == "input" else ROWS)


def test_a_stage_that_was_killed_goes_on(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tdqsim.pipeline import data_sets

    real, done = data_sets.decode_part, []

    def killed(task: Any) -> Any:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(task.bucket)
        return real(task)

    monkeypatch.setattr(data_sets, "decode_part", killed)
    with pytest.raises(KeyboardInterrupt):
        stage_data_set(path, tmp_path / "stage", input_split_records=300, **OPTIONS)
    kept = changed(tmp_path / "stage")
    monkeypatch.setattr(data_sets, "decode_part", real)
    found = stage_data_set(path, tmp_path / "stage", input_split_records=300, **OPTIONS)
    assert found.rows == ROWS
    assert kept.items() <= changed(tmp_path / "stage").items()


def test_many_small_files_are_few_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(10):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / f"{number:02d}").write_bytes(f"{number:05d}".encode("cp037"))
    monkeypatch.setitem(BOUNDS, "decode_tasks", 3)
    found = stage_data_set(
        tmp_path / "in", tmp_path / "stage", copybook_contents="01 R. 05 ID PIC 9(5).", record_format="F"
    )
    assert [pq.read_table(found.folder / name).column("ID").to_pylist() for name in found.files] == [
        [0, 1, 2, 3], [4, 5, 6, 7], [8, 9],
    ]  # fmt: skip


def test_very_many_files_are_planned_for() -> None:
    splits = [Split(number, f"day/{number}", 0, 100, 0) for number in range(200_000)]
    groups = grouped(splits)
    assert len(groups) == 10_000
    assert [split for group in groups for split in group] == splits
    assert grouped(splits[:2]) == [(splits[0],), (splits[1],)]
    assert grouped([]) == []


def test_workers_with_files_of_their_own_are_told(path: Path, tmp_path: Path) -> None:
    class Elsewhere(SparkRunner):
        """Workers that write to a disk that nobody else sees."""

        def each(self, step: Any, tasks: Any) -> list[Receipt]:
            receipts = [step.work(task) for task in tasks]
            for task in tasks:
                shutil.rmtree(task.run, ignore_errors=True)
            return receipts

    with pytest.raises(
        DatasetError, match=r"data/00000.parquet: a task wrote it, but it is not visible here: .* shared"
    ):
        stage_data_set(path, tmp_path / "stage", engine=Elsewhere(), **OPTIONS)
    assert stage_data_set(path, tmp_path / "stage", **OPTIONS).rows == ROWS


def test_columns_that_are_not_there_are_refused(path: Path, tmp_path: Path) -> None:
    for columns, text in (
        (["NONE"], r"there is no column 'NONE'; there are KIND, ID, AMOUNT, N, T, G"),
        (["ID", "id"], "columns has ID twice"),
        ([], "columns is empty"),
    ):
        with pytest.raises(DatasetError, match=text):
            stage_data_set(path, tmp_path / "stage", columns=columns, **OPTIONS)
    with pytest.raises(DatasetError, match="nonsense"):
        stage_data_set(path, tmp_path / "stage", nonsense="1", **OPTIONS)
    with pytest.raises(DatasetError, match="there is no such file"):
        stage_data_set(tmp_path / "none", tmp_path / "stage", **OPTIONS)
    assert not (tmp_path / "stage").exists()


def test_a_name_with_commas_is_one_of_several_files(tmp_path: Path) -> None:
    names = [tmp_path / "PAY,1.PS", tmp_path / "PAY 2.PS"]
    for number, name in enumerate(names):
        name.write_bytes(b"%d%d" % (number, number))
    found = stage_data_set(names, tmp_path / "stage", record_length=1)
    assert pq.read_table(found.folder / "data").column(0).to_pylist() == [b"0", b"0", b"1", b"1"]


def test_a_staged_column_of_names_has_them_as_they_were_given(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for given in (path, Path(path.name)):
        found = stage_data_set(given, "stage", with_input_file_name_col="F", columns=["F"], **OPTIONS)
        assert set(pq.read_table(found.folder / "data").column(0).to_pylist()) == {str(given)}


@pytest.mark.parametrize("name", ["data/00000.parquet", "decode.manifest.parquet", "manifest/decode/00000.json"])
@pytest.mark.parametrize("damage", [None, b"", b"junk", b"[]"])
def test_what_is_damaged_in_a_stage_is_made_again(path: Path, tmp_path: Path, name: str, damage: bytes | None) -> None:
    found = stage_data_set(path, tmp_path / "stage", columns=["ID"], **OPTIONS)
    victim = found.folder / name
    victim.unlink() if damage is None else victim.write_bytes(damage)
    again = stage_data_set(path, tmp_path / "stage", columns=["ID"], **OPTIONS)
    assert again == found
    assert pq.read_table(again.folder / "data").column(0).to_pylist() == list(range(ROWS))


def test_what_was_changed_in_a_stage_at_the_same_length_is_made_again(path: Path, tmp_path: Path) -> None:
    found = stage_data_set(path, tmp_path / "stage", columns=["ID"], input_split_records=300, **OPTIONS)
    first, second, *others = (found.folder / name for name in found.files)
    before, kept = first.stat(), {each: each.stat().st_mtime_ns for each in others}
    raw = bytearray(first.read_bytes())
    raw[8] ^= 1  # of the first page
    first.write_bytes(raw)
    os.utime(first, ns=(before.st_atime_ns, before.st_mtime_ns))
    second.write_bytes(second.read_bytes())
    assert stage_data_set(path, tmp_path / "stage", columns=["ID"], input_split_records=300, **OPTIONS) == found
    assert pq.read_table(found.folder / "data").column(0).to_pylist() == list(range(ROWS))
    assert {each: each.stat().st_mtime_ns for each in others} == kept


def test_columns_are_a_list(path: Path, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="columns is 'ID'; must be a list of names, of which there are KIND, ID"):
        stage_data_set(path, tmp_path / "stage", columns="ID", **OPTIONS)


@pytest.mark.parametrize("folder", [False, True])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, folder: bool) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes with names here")
    (tmp_path / "in").mkdir()
    os.mkfifo(tmp_path / "in" / "pipe")
    with pytest.raises(DatasetError, match="pipe: is not a regular file; a data set must be one"):
        stage_data_set(tmp_path / "in" if folder else tmp_path / "in" / "pipe", tmp_path / "stage", record_length=1)


def test_a_stage_that_is_none_is_refused(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatasetError, match=r"stage is empty; \. is the current directory"):
        stage_data_set(path, "", **OPTIONS)
    with pytest.raises(DatasetError, match="Not a directory; stage is the directory it goes to"):
        stage_data_set(path, path, **OPTIONS)
    assert list(tmp_path.iterdir()) == [path]


def test_a_corrupt_field_under_failfast_is_told_with_its_place(bad: Path, tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match=r"record 3, record at offset \d+: field ID X'A7"):
        stage_data_set(bad, tmp_path / "stage", mode="failfast", **OPTIONS)


# with Spark -----------------------------------------------------------------------------------------------------------

Read = Callable[..., Any]


@pytest.fixture(params=["format", "lazy", "staged"])
def read(request: pytest.FixtureRequest, tmp_path: Path) -> Read:
    """The three ways, called alike."""
    spark = request.getfixturevalue("spark")

    def by_format(path: Path, columns: list[str] | None = None, **options: Any) -> Any:
        chosen = {} if columns is None else {"columns": ", ".join(columns)}
        return spark.read.format("qsam").options(**{**OPTIONS, **options, **chosen}).load(str(path))

    def by_tasks(path: Path, columns: list[str] | None = None, **options: Any) -> Any:
        stage = tmp_path / "stage" if request.param == "staged" else None
        return read_data_set(spark, path, columns=columns, stage=stage, **{**OPTIONS, **options})

    return by_format if request.param == "format" else by_tasks


spark_only = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]


class TestThreeWays:
    """Each is the same frame."""

    pytestmark = spark_only

    def test_all_columns(self, read: Read, path: Path) -> None:
        frame = read(path, generate_record_id=True, generate_corrupt_fields=True, input_split_records=300)
        assert frame.schema.simpleString() == (
            "struct<File_Id:int,Record_Id:bigint,Record_Byte_Length:int,KIND:string,ID:int,AMOUNT:decimal(7,2),N:int,"
            "T:array<string>,G:struct<A:string>,_corrupt_fields:array<struct<field_name:string,raw_value:binary,offset:int>>>"
        )
        rows = frame.orderBy("Record_Id").collect()
        assert [(row.Record_Id, row.ID, row.AMOUNT) for row in rows] == [(n, n, value(n)) for n in range(ROWS)]
        first = rows[0].asDict(recursive=True)
        assert (first["KIND"], first["N"], first["T"], first["G"]) == ("C", 2, ["a", "b"], {"A": "z"})
        assert (first["Record_Byte_Length"], first["_corrupt_fields"]) == (15, [])

    def test_some_columns_in_the_order_asked_for(self, read: Read, path: Path) -> None:
        frame = read(path, ["AMOUNT", "kind"], input_split_records=300)
        assert frame.schema.simpleString() == "struct<AMOUNT:decimal(7,2),KIND:string>"
        assert frame.count() == ROWS
        found = {row.KIND: (row["count(1)"], row["sum(AMOUNT)"]) for row in frame.groupBy("KIND").agg({"*": "count", "AMOUNT": "sum"}).collect()}  # fmt: skip
        assert found == {kind: (500, sum(map(value, range(at, ROWS, 2)))) for at, kind in enumerate("CP")}

    def test_segments(self, read: Read, path: Path) -> None:
        frame = read(path, ["Seg_Id0", "ID"], segment_field="KIND", segment_id_level0="C", segment_id_prefix="A", segment_filter="C")  # fmt: skip
        assert [tuple(row) for row in frame.orderBy("ID").limit(2).collect()] == [("A_0_0", 0), ("A_0_2", 2)]

    def test_corrupt_fields(self, read: Read, bad: Path) -> None:
        ids = read(bad, ["ID"], generate_corrupt_fields=True).collect()
        assert sorted(row.ID for row in ids if row.ID is not None) == [0, 1, 3, 4, 5, 6, 7, 8, 9]
        assert read(bad, ["KIND", "ID"], mode="dropmalformed").count() == 9
        told = (
            read(bad, ["_corrupt_fields"], generate_corrupt_fields=True).filter("size(_corrupt_fields) > 0").collect()
        )
        assert told == [] or [entry.field_name for entry in told[0][0]] == ["ID"]
        with pytest.raises(Exception, match=r"record 3, record at offset \d+: field ID X'A7"):
            read(bad, ["ID"], mode="failfast").collect()

    def test_refusals(self, read: Read, path: Path, tmp_path: Path) -> None:
        for columns, more, text in (
            (["NONE"], {}, "there is no column 'NONE'; there are KIND, ID, AMOUNT, N, T, G"),
            (["ID", "id"], {}, "columns has ID twice"),
            (None, {"record_format": "Z"}, "record_format"),
        ):
            with pytest.raises(Exception, match=text):
                read(path, columns, **more).collect()
        with pytest.raises(Exception, match="there is no such file"):
            read(tmp_path / "none").collect()
        cut = tmp_path / "cut"
        cut.write_bytes(path.read_bytes()[:-3])
        with pytest.raises(Exception, match=f"{cut}.*offset"):
            read(cut).collect()


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_a_lazy_frame_is_not_taken_for_a_small_table(
    path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spark sends what it takes for small to every worker whole; how large a data set is it finds out on the way."""
    spark = request.getfixturevalue("spark")
    frame = read_data_set(spark, path, columns=["ID", "AMOUNT"], input_split_records=300, **OPTIONS)
    joined = frame.join(read_data_set(spark, path, columns=["ID", "KIND"], **OPTIONS), "ID")
    capsys.readouterr()
    joined.explain()
    told = capsys.readouterr().out
    assert "Join" in told
    assert "Broadcast" not in told
    assert joined.count() == ROWS


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("stage", [None, "stage"])
def test_a_relative_path_is_from_where_it_is_given(
    stage: str | None, path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark = request.getfixturevalue("spark")  # its workers have the directory that was current when it began
    monkeypatch.chdir(path.parent)
    frame = read_data_set(spark, path.name, stage=stage, with_input_file_name_col="F", **OPTIONS)
    assert {row.F for row in frame.select("F").collect()} == {path.name}
    assert frame.count() == ROWS


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_spark_tells_where_it_looked_for_a_relative_path(
    path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Spark's own formats, load() looks where the session was started."""
    spark, started = request.getfixturevalue("spark"), Path.cwd()
    monkeypatch.chdir(path.parent)
    with pytest.raises(Exception, match=f"{path.name}: there is no such file or directory in {started}"):
        spark.read.format("qsam").options(**OPTIONS).load(path.name).collect()


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_a_staged_frame_is_sparks_own_reader(path: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    spark = request.getfixturevalue("spark")
    frame = read_data_set(spark, path, columns=["ID", "KIND"], stage=tmp_path / "a [stage]*", **OPTIONS)
    assert len(frame.inputFiles()) == 1
    assert "stage" in frame.inputFiles()[0]
    before = changed(tmp_path)
    assert read_data_set(spark, path, columns=["ID", "KIND"], stage=tmp_path / "a [stage]*", **OPTIONS).count() == ROWS
    assert changed(tmp_path) == before
