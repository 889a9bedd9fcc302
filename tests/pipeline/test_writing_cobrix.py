"""Cobrix reads the data sets that are written here: a slow test that is given Cobrix's jar by TDQ_COBRIX_JAR."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from decimal import Decimal

import pytest

pytest.importorskip("pyspark", reason="the extra tdqsim[spark] is not installed")

from tdqsim.pipeline.options import read_options
from tdqsim.pipeline.source import ReadPlan
from tdqsim.pipeline.splits import plan
from tdqsim.pipeline.writer import PartWriter, commit_parts

JAR = "TDQ_COBRIX_JAR"
pytestmark = [
    pytest.mark.spark, pytest.mark.slow,
    pytest.mark.skipif(JAR not in os.environ, reason=f"give Cobrix's jar, with what it needs in it, by {JAR}"),
]  # fmt: skip


def copybook(text):
    """The items on lines of their own, in the columns of a copybook."""
    return "".join(f"{' ' * 11}{item.strip()}.\n" for item in text.split(".") if item.strip())


COPYBOOK = copybook("""01 R. 05 KIND PIC X. 05 N PIC 9. 05 ID PIC S9(5) SIGN LEADING SEPARATE. 05 Z PIC S9(3)V9. 05 AMOUNT PIC S9(3)V99 COMP-3.
   05 B PIC S9(9) COMP. 05 U PIC 9(4) COMP. 05 D COMP-2. 05 NAME PIC X(8). 05 G OCCURS 2. 10 C PIC 9(2). 05 L PIC 9(3) COMP-9.
   05 T OCCURS 0 TO 3 DEPENDING ON N. 10 E PIC X(2).""")
ROWS = [
    {
        "KIND": "CP"[number % 2], "N": number % 4, "ID": number * 7 - 20, "Z": Decimal(number - 3) / 10,
        "AMOUNT": Decimal(number * 111 - 333) / 100, "B": number * 1_000_003 - 5_000_000, "U": number, "D": number / 8,
        "NAME": "Name" + "x" * (number % 4), "G": [{"C": number}, {"C": 99}], "L": number * 3,
        "T": [{"E": f"e{each}"} for each in range(number % 4)],
    }
    for number in range(20)
]  # fmt: skip
FAMILY = copybook(
    """01 R. 05 KIND PIC X. 05 COMPANY. 10 NAME PIC X(6). 05 PERSON REDEFINES COMPANY. 10 FIRST PIC X(4)."""
)
SEGMENTS = {
    "copybook_contents": FAMILY, "segment_field": "KIND", "redefine_segment_id_map:0": "COMPANY => C",
    "redefine_segment_id_map:1": "PERSON => P",
}  # fmt: skip
COMPANIES = [
    {"KIND": "CP"[number % 2], "COMPANY": None if number % 2 else {"NAME": "ibm"}, "PERSON": {"FIRST": "ann"} if number % 2 else None}
    for number in range(10)
]  # fmt: skip
PLAIN = {"copybook_contents": COPYBOOK}
CASES = {
    "F": (ROWS, PLAIN | {"record_format": "F"}),
    "FB without words": (ROWS, PLAIN | {"record_format": "FB", "records_per_block": "4"}),
    "FB in blocks": (ROWS, PLAIN | {"record_format": "FB", "is_bdw_big_endian": "true", "bdw_adjustment": "-4"}),
    "V, little-endian": (ROWS, PLAIN | {"record_format": "V"}),
    "V, big-endian": (ROWS, PLAIN | {"record_format": "V", "is_rdw_big_endian": "true"}),
    "V, inclusive": (ROWS, PLAIN | {"record_format": "V", "is_rdw_big_endian": "true", "is_rdw_part_of_record_length": "true"}),
    "V, adjusted": (ROWS, PLAIN | {"record_format": "V", "is_rdw_big_endian": "true", "rdw_adjustment": "-4"}),
    "VB, little-endian": (ROWS, PLAIN | {"record_format": "VB", "block_length": "300"}),
    "VB of a mainframe": (
        ROWS,
        PLAIN | {"record_format": "VB", "is_rdw_big_endian": "true", "is_bdw_big_endian": "true", "rdw_adjustment": "-4", "bdw_adjustment": "-4"},
    ),
    "tables that take their room": (ROWS, PLAIN | {"record_format": "V", "variable_size_occurs": "true"}),
    "fixed records as long as their tables": (ROWS, PLAIN | {"record_format": "F", "variable_size_occurs": "true"}),
    "IEEE floats": (ROWS, PLAIN | {"record_format": "F", "floating_point_format": "IEEE754"}),
    "segments": (COMPANIES, SEGMENTS | {"record_format": "V", "is_rdw_big_endian": "true"}),
    "length field": (
        [{"SIZE": 8, "A": "abcd", "Z": "wx"}, {"SIZE": 6, "A": "ab", "Z": None}],
        {"copybook_contents": copybook("01 R. 05 SIZE PIC 9(2). 05 A PIC X(4). 05 Z PIC X(2)."), "record_length_field": "SIZE"},
    ),
    "lines": (
        [{"A": "abc", "N": 5}, {"A": "d", "N": 17}],
        {"copybook_contents": copybook("01 R. 05 A PIC X(4). 05 N PIC 9(3)."), "record_format": "D"},
    ),
}  # fmt: skip
READ = """
import json, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.jars", sys.argv[1]).config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
found = {}
for name, (path, options) in json.load(open(sys.argv[2])).items():
    reader = spark.read.format("za.co.absa.cobrix.spark.cobol.source").options(**options)
    try:
        found[name] = [json.loads(row) for row in reader.load(path).toJSON().collect()]
    except Exception as error:
        found[name] = str(error)[:500]
json.dump(found, open(sys.argv[3], "w"))
"""


def plain(value):
    """A value as Spark's JSON has it: nulls are left out."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return float(value) if isinstance(value, Decimal | float) else value


def test_cobrix_reads_what_is_written_here(tmp_path):
    files = {}
    for number, (name, (rows, options)) in enumerate(CASES.items()):
        path = tmp_path / f"{number}.dat"
        chosen = read_options(options | {"path": str(path)}, cobrix=True)
        commit_parts(chosen, [PartWriter(chosen, None).write([rows], 0)], overwrite=True)
        own = [row for split in plan(chosen) for batch in ReadPlan.of(chosen).read(split) for row in batch.to_pylist()]
        assert own == rows, name
        files[name] = (str(path), options)
    (tmp_path / "files.json").write_text(json.dumps(files))
    given = [sys.executable, "-c", READ, os.environ[JAR], str(tmp_path / "files.json"), str(tmp_path / "found.json")]
    subprocess.run(given, check=True, cwd=tmp_path)
    found = json.loads((tmp_path / "found.json").read_text())
    for name, (rows, _) in CASES.items():
        assert found[name] == plain(rows), name
