"""Corrupt and null values of a read, by column: counted, located, shown, and in the exit code."""

from __future__ import annotations

import json
import warnings
from typing import ClassVar

import pytest

pytest.importorskip("pyarrow", reason="the extra tdqsim[spark] is not installed")
import pyarrow.parquet as pq

from tdqsim.cli import main
from tdqsim.errors import ConversionError
from tdqsim.pipeline.data_sets import stage_data_set
from tdqsim.pipeline.options import read_options
from tdqsim.pipeline.quality import ColumnQuality, CorruptValue, DataQualityWarning, Quality, Shown, Telling, tell
from tdqsim.pipeline.source import ReadPlan

COPYBOOK = "01 R. 05 ID PIC X(2). 05 PAY-AMT PIC S9(3). 05 G. 10 N PIC 9(2) OCCURS 2."
ROWS = ("A11230102", "A2x230x02", "A3   0304", "A412?0102", "A51230102")


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "pay.ps"
    path.write_bytes("".join(ROWS).encode("cp037"))
    return str(path)


def test_corrupt_and_null_values_are_counted_by_column_with_the_first_of_each(data, tmp_path):
    staged = stage_data_set(data, tmp_path / "stage", copybook_contents=COPYBOOK)
    assert staged.quality.rows == 5
    assert staged.quality.columns == {
        "PAY_AMT": ColumnQuality(2, 1, CorruptValue(data, 2, 9, 2, "A7F2F3")),
        "G.N": ColumnQuality(1, 0, CorruptValue(data, 2, 9, 5, "F0A7")),
    }
    again = stage_data_set(data, tmp_path / "stage", copybook_contents=COPYBOOK)  # from the manifest
    assert again.quality == staged.quality


def test_decode_shows_them_and_its_exit_code_is_one(data, tmp_path, capsys):
    given = [data, "--output", str(tmp_path / "pay.parquet"), "--option", f"copybook_contents={COPYBOOK}"]
    assert main(["pipeline", "decode", *given]) == 1
    out, err = capsys.readouterr()
    assert f"X'A7F2F3' at record 2, offset 2, of {data}" in " ".join(out.split())
    assert str(tmp_path / "pay.parquet") in out
    assert "3 values are corrupt: null in the output, or a number of occurrences out of range; --allow-corrupt N" in err
    assert pq.read_table(tmp_path / "pay.parquet").column("PAY_AMT").to_pylist() == [123, None, None, None, 123]
    given.append("--overwrite")
    assert main(["pipeline", "decode", *given, "--allow-corrupt", "2"]) == 1
    assert main(["pipeline", "decode", *given, "--allow-corrupt", "3"]) == 0
    capsys.readouterr()
    assert main(["pipeline", "decode", *given, "--json"]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert (shown["corrupt"], shown["ok"]) == (3, False)
    assert shown["quality"]["PAY_AMT"]["first"] == {"file": data, "record": 2, "at": 9, "offset": 2, "hex": "A7F2F3"}


def test_decode_replaces_an_output_file_only_when_told_to(data, tmp_path, capsys):
    (tmp_path / "pay.parquet").write_bytes(b"of yesterday")
    assert main(["pipeline", "decode", data, "--output", str(tmp_path / "pay.parquet")]) == 2
    assert f"--output {tmp_path / 'pay.parquet'}: the file exists; --overwrite replaces it" in capsys.readouterr().err
    assert (tmp_path / "pay.parquet").read_bytes() == b"of yesterday"


def test_decode_needs_a_place_to_write_to(data, capsys):
    assert main(["pipeline", "decode", data]) == 2
    assert "give --output FILE.parquet, or --stage DIR" in capsys.readouterr().err


def test_a_number_of_occurrences_that_the_table_does_not_allow_is_corrupt(tmp_path):
    path = tmp_path / "t.ps"
    path.write_bytes("2AB.Z9ABCZ".encode("cp037"))
    book = "01 R. 05 N PIC 9. 05 T PIC X OCCURS 0 TO 3 DEPENDING ON N. 05 Z PIC X."
    given = {"path": str(path), "copybook_contents": book, "variable_size_occurs": "max_size"}

    def read(cobrix=False, **more):
        plan = ReadPlan.of(read_options(given | more, cobrix=cobrix))
        return [row for part in plan.splits() for batch in plan.read(part) for row in batch.to_pylist()]

    assert [row["T"] for row in read()] == [["A", "B"], ["A", "B", "C"]]
    with pytest.raises(ConversionError, match="record 2, record at offset 5: field N X'F9'"):
        read(mode="failfast")
    assert [row["N"] for row in read(mode="dropmalformed")] == [2]
    (entry,) = read(generate_corrupt_fields="true")[1]["_corrupt_fields"]
    assert (entry["field_name"], entry["raw_value"]) == ("N", b"\xf9")
    assert [row["N"] for row in read(True, mode="dropmalformed")] == [2, 9]


FAMILY = "01 R. 05 ID PIC X. 05 S1. 10 N PIC 9(3). 05 S2 REDEFINES S1. 10 M PIC 9(3)."
FAMILY_OPTIONS = {
    "copybook_contents": FAMILY, "segment_field": "ID", "redefine_segment_id_map:0": "S1 => 1",
    "redefine_segment_id_map:1": "S2 => 2", "segment-children:0": "S1 => S2",
}  # fmt: skip


def test_corrupt_values_in_the_segments_of_a_row_are_counted(tmp_path):
    path = tmp_path / "f.ps"
    path.write_bytes("1001200220x312042x0y".encode("cp037"))
    staged = stage_data_set(path, tmp_path / "stage", **FAMILY_OPTIONS)
    assert staged.quality.lost == ""
    assert staged.quality.columns == {"S2.M": ColumnQuality(2, 0, CorruptValue(str(path), 3, 8, 1, "F0A7F3"))}
    assert staged.quality.rows == 2


LEVELS = "01 R. 05 ID PIC X. 05 S1. 10 N PIC 9." + "".join(f" 05 S{n} REDEFINES S1. 10 N{n} PIC 9." for n in (2, 3, 4))


@pytest.mark.parametrize(
    ("text", "rows", "left_out"),
    [("902030102130", 1, 2), ("203021", 0, 3), ("10304021403142", 1, 3)],
    ids=["before", "no root", "below"],
)
def test_children_whose_parents_are_missing_are_counted(tmp_path, capsys, text, rows, left_out):
    path = tmp_path / "f.ps"
    path.write_bytes(text.encode("cp037"))
    ids = {f"redefine_segment_id_map:{n}": f"S{n} => {n}" for n in (1, 2, 3, 4)}
    children = {f"segment_children:{n}": f"S{n} => S{n + 1}" for n in (1, 2, 3)}
    options = {"copybook_contents": LEVELS, "segment_field": "ID", **ids, **children}
    quality = stage_data_set(path, tmp_path / "stage", **options).quality
    assert (quality.rows, quality.left_out) == (rows, left_out)
    given = [each for item in options.items() for each in ("--option", "=".join(item))]
    assert main(["pipeline", "decode", str(path), "--stage", str(tmp_path / "stage"), *given]) == 0
    assert f"{left_out} records are left out because their parents are missing" in capsys.readouterr().err


def told(*quality):
    """What a driver shows of what tasks tell it."""

    class Driver:
        total: ClassVar[dict[str, str]] = Shown()

        def add(self, more):
            Telling().addInPlace(self.total, more)

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        for each in quality:
            tell(Driver(), "a read", each)
    return [str(each.message) for each in shown]


FIRST = CorruptValue("pay.ps", 2, 9, 2, "A7F2F3")
BAD = Quality(5, {"AMT": ColumnQuality(2, 1, FIRST), "N": ColumnQuality(0, 3)})


def test_the_driver_shows_the_corrupt_values_of_a_read_once():
    (shown,) = told(Quality(9), BAD, Quality(7, {"AMT": ColumnQuality(7, 0, FIRST)}))
    assert shown == (
        "corrupt values in a part of the data: AMT: 2 corrupt in 5 rows, first X'A7F2F3' at record 2, offset 2, of "
        "pay.ps; data_quality(spark, path, ...) counts all"
    )
    lost = [Quality(1, left_out=2000), Quality(1, left_out=3)]
    assert told(*lost) == ["in a part of the data 2,000 records are left out because their parents are missing"]


def test_the_driver_shows_five_columns_at_most():
    (shown,) = told(Quality(1, {f"C{number}": ColumnQuality(1, 0, FIRST) for number in range(8)}))
    assert shown.endswith("; 3 more columns; data_quality(spark, path, ...) counts all")


def test_a_worker_that_has_no_driver_to_tell_writes_it_once(capsys):
    for name in ("written one", "written one", "written two"):
        tell(None, name, BAD)
    assert (
        capsys.readouterr().err.count("DataQualityWarning: corrupt values in a part of the data: AMT: 2 corrupt") == 2
    )


def test_warnings_that_are_errors_do_not_end_the_job(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataQualityWarning)
        Telling().addInPlace(Shown(), {"r": "AMT: 2 corrupt"})
    assert capsys.readouterr().err == "DataQualityWarning: AMT: 2 corrupt\n"


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["qsam", "cobol", "read_data_set"])
def test_each_read_in_spark_warns_once_of_corrupt_values(spark, data, kind):
    from tdqsim.pipeline.data_sets import read_data_set

    for _ in range(2):  # each read, also of the same data
        if kind == "read_data_set":
            frame = read_data_set(spark, data, copybook_contents=COPYBOOK)
        else:
            frame = spark.read.format(kind).options(copybook_contents=COPYBOOK).load(data)
        with pytest.warns(DataQualityWarning) as shown:
            assert [len(frame.collect()), len(frame.collect())] == [5, 5]
        assert len(shown) == 1
        assert "PAY_AMT: 2 corrupt in 5 rows, first X'A7F2F3' at record 2, offset 2" in str(shown[0].message)


@pytest.mark.spark
def test_the_quality_of_a_read_in_spark(spark, data, tmp_path):
    from tdqsim.pipeline.data_sets import data_quality, read_data_set

    rows = {row["column"]: row for row in data_quality(spark, data, copybook_contents=COPYBOOK).collect()}
    assert tuple(rows["ID"])[1:4] == (5, 0, 0)
    assert tuple(rows["PAY_AMT"]) == ("PAY_AMT", 5, 2, 1, data, 2, 9, 2, b"\xa7\xf2\xf3")
    with pytest.warns(DataQualityWarning, match="PAY_AMT: 2 corrupt in 5 rows, first X'A7F2F3' at record 2") as shown:
        assert read_data_set(spark, data, stage=tmp_path / "stage", copybook_contents=COPYBOOK).count() == 5
    assert len(shown) == 1
