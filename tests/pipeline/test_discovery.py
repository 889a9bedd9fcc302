"""Spark's search for installed data sources: the formats that it finds, and what the search imports."""

from __future__ import annotations

import ast
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")

from tdqsim.datasets import Dcb, RecordFormat, write_records

FORMATS = {
    "qsam": "QsamDataSource",
    "cobol": "CobolDataSource",
    "tdqueue": "TdqueueDataSource",
    "dtaq": "DtaqDataSource",
}

SEARCH = """
import io, pickle, sys
from pyspark.serializers import read_int
from pyspark.sql.worker.lookup_data_sources import _main
written = io.BytesIO()
_main(io.BytesIO(), written)
heavy = sorted({"numpy", "pandas", "pyarrow", "pydantic", "fsspec", "lmdb", "tdqsim.layouts"} & sys.modules.keys())
written.seek(0)
found = {}
for _ in range(read_int(written)):
    name = written.read(read_int(written)).decode()
    found[name] = type(pickle.loads(written.read(read_int(written)))(options={})).__name__
print((found, heavy))
"""


def test_spark_finds_the_formats_and_imports_little() -> None:
    done = subprocess.run([sys.executable, "-c", SEARCH], capture_output=True, text=True, check=True)
    found, heavy = ast.literal_eval(done.stdout)
    assert {name: found.get(name) for name in FORMATS} == FORMATS
    assert heavy == []


@pytest.mark.spark
def test_a_session_in_which_nothing_is_registered_reads_and_writes(spark: Any, tmp_path: Any) -> None:
    plain = spark.newSession()  # shares the JVM, not the formats that are registered
    records = [b"%05d" % number for number in range(40)]
    write_records(
        tmp_path / "data", [bytes(b | 0xF0 for b in each) for each in records], Dcb(RecordFormat.VB, lrecl=84)
    )
    options = {"copybook_contents": "01 R. 05 ID PIC 9(5)."}
    frame = plain.read.format("qsam").options(**options, record_format="VB").load(str(tmp_path / "data"))
    assert [row.ID for row in frame.collect()] == list(range(40))
    frame.write.format("cobol").options(**options, record_format="F").mode("overwrite").save(str(tmp_path / "out"))
    again = plain.read.format("cobol").options(**options, record_format="F").load(str(tmp_path / "out"))
    assert sorted(again.collect()) == sorted(frame.collect())
