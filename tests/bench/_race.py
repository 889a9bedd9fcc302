"""The race against Cobrix: each side is a process with a session of its own, and both take turns.

``python -m tests.bench._race FOLDER [WORK ...]`` runs the works named (all of them by default) on the files that
:func:`prepare` made in FOLDER, or makes them first, and prints both sides' processor seconds. The jar of Cobrix is that
of TDQ_COBRIX_JAR.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from tdqsim.datasets import Dcb, RecordFormat, write_records
from tdqsim.layouts import parse_copybook
from tests.bench._tree import cpu_seconds

WARM, MEASURED = 4, 5
TEN = """
       01  R.
           05  ID        PIC 9(8).
           05  KIND      PIC X(2).
           05  NAME      PIC X(20).
           05  CITY      PIC X(12).
           05  AMOUNT    PIC S9(9)V99 COMP-3.
           05  TAX       PIC S9(7)V99 COMP-3.
           05  COUNT-A   PIC 9(9) COMP.
           05  COUNT-B   PIC 9(4) COMP.
           05  TEXT-A    PIC X(15).
           05  TEXT-B    PIC X(6).
"""
SEGMENTS = """
       01  R.
           05  SEGMENT   PIC X.
           05  HEAD.
               10  NO-A  PIC 9(9).
               10  NAME  PIC X(30).
           05  ITEM REDEFINES HEAD.
               10  PRICE PIC S9(9)V99 COMP-3.
               10  TEXT-A PIC X(33).
"""
COUNTED = """
       01  R.
           05  ID        PIC 9(8).
           05  N         PIC 9(2).
           05  T OCCURS 0 TO 10 DEPENDING ON N.
               10  VALUE-A PIC S9(7) COMP-3.
               10  TEXT-A  PIC X(6).
"""
WIDE = "       01  R.\n" + "".join(
    f"           05  F{n:03d}      PIC {('X(8)', '9(7)', 'S9(7)V99 COMP-3')[n % 3]}.\n" for n in range(200)
)
BIG_ENDIAN = {"is_rdw_big_endian": "true", "is_bdw_big_endian": "true", "rdw_adjustment": "-4", "bdw_adjustment": "-4"}
MAP = {"segment_field": "SEGMENT", "redefine_segment_id_map:0": "HEAD => H", "redefine_segment_id_map:1": "ITEM => I"}


def _row(number: int) -> dict[str, Any]:
    return {
        "ID": number, "KIND": f"{number % 7:02d}", "NAME": f"NAME {number % 1000}", "CITY": "BOSTON",
        "AMOUNT": Decimal(number % 1_000_000).scaleb(-2), "TAX": Decimal("-1.25"), "COUNT-A": number, "COUNT-B": 7,
        "TEXT-A": "TEXT", "TEXT-B": "END",
    }  # fmt: skip


def _segment(number: int) -> dict[str, Any]:
    if number % 4 == 0:
        return {"SEGMENT": "H", "HEAD": {"NO-A": number, "NAME": "HEAD"}}
    return {"SEGMENT": "I", "ITEM": {"PRICE": Decimal("12.50"), "TEXT-A": "ITEM"}}


def _counted(number: int) -> dict[str, Any]:
    return {"ID": number, "N": number % 11, "T": [{"VALUE-A": n, "TEXT-A": "ABC"} for n in range(number % 11)]}


def _wide(number: int) -> dict[str, Any]:
    values = ("TEXT", number % 1_000_000, Decimal("3.14"))
    return {f"F{n:03d}": values[n % 3] for n in range(200)}


KINDS: dict[str, tuple[str, Callable[[int], dict[str, Any]], str, dict[str, str]]] = {
    "fb": (TEN, _row, "F", {}),
    "vb": (TEN, _row, "VB", BIG_ENDIAN),
    "segments": (SEGMENTS, _segment, "VB", BIG_ENDIAN | MAP),
    "counted": (COUNTED, _counted, "VB", BIG_ENDIAN | {"variable_size_occurs": "true"}),
    "wide": (WIDE, _wide, "F", {}),
    "corrupt": (TEN, _row, "F", {}),
}
"""What files there are: copybook, a record's values, record format, and Cobrix's options for it."""


def prepare(folder: Path, megabytes: int) -> None:
    """Make the files: some thousand records of each kind, over and over."""
    for kind, (copybook, row, recfm, _) in KINDS.items():
        layout = parse_copybook(copybook).record()
        if kind == "segments":
            layout = layout.with_segments("SEGMENT", {"HEAD": ["H"], "ITEM": ["I"]})
        records = [bytes(layout.encode(row(number))) for number in range(4_400)]
        if kind == "corrupt":
            amount = 42
            records = [
                record[:amount] + b"\xff" * 6 + record[amount + 6 :] if at % 100 == 0 else record
                for at, record in enumerate(records)
            ]
        some = folder / f"{kind}.some"
        dcb = (
            Dcb(recfm=RecordFormat.FB, lrecl=len(records[0]))
            if recfm == "F"
            else Dcb(recfm=RecordFormat.VB, lrecl=2000)
        )
        write_records(str(some), records, dcb)
        data = some.read_bytes()
        with (folder / f"{kind}.ps").open("wb") as file:
            for _ in range(max(1, megabytes * 1_000_000 // len(data))):
                file.write(data)


SUMS = {
    "fb": ("AMOUNT", "TAX", "ID"), "vb": ("AMOUNT", "COUNT_A"), "segments": ("HEAD.NO_A", "ITEM.PRICE"),
    "counted": ("N", "get(T, 0).VALUE_A"), "wide": ("F001", "F197", "F002"), "corrupt": ("AMOUNT", "TAX"),
}  # fmt: skip
"""What both sides have to agree about: the records of each kind, and the values and sums of these columns."""


def answers(frame: Callable[[str], Any]) -> dict[str, list[str]]:
    """The counts and sums of each kind of file."""
    from pyspark.sql import functions

    found = {}
    for kind, names in SUMS.items():
        some = [functions.expr(f"{does}({name})") for name in names for does in ("count", "sum")]
        found[kind] = [str(value) for value in frame(kind).agg(functions.expr("count(*)"), *some).collect()[0]]
    return found


def reader(side: str, spark: Any, folder: Path) -> Callable[..., Any]:
    """What makes a frame of a kind of file."""

    def frame(kind: str, **more: str) -> Any:
        copybook, _, recfm, words = KINDS[kind]
        given = {"copybook_contents": copybook, "record_format": recfm, **more}
        given |= {name: value for name, value in words.items() if side == "cobrix" or name not in BIG_ENDIAN}
        form = "cobol" if side == "cobrix" else "qsam"
        return spark.read.format(form).options(**given).load(str(folder / f"{kind}.ps"))

    return frame


def work(side: str, spark: Any, folder: Path) -> dict[str, Callable[[], object]]:
    """What is measured, by name."""
    frame = reader(side, spark, folder)

    def three() -> Any:
        if side == "cobrix":
            return frame("fb").select("ID", "AMOUNT", "KIND")
        return frame("fb", columns="ID,AMOUNT,KIND")

    def noop(found: Any) -> None:
        found.write.format("noop").mode("overwrite").save()

    def parquet(found: Any) -> None:
        found.write.mode("overwrite").parquet(str(folder / f"{side}.parquet"))

    def helped(kind: str, stage: Path | None) -> Any:
        from tdqsim.pipeline.data_sets import read_data_set

        copybook, _, recfm, _ = KINDS[kind]
        options = {"copybook_contents": copybook, "record_format": recfm}
        return read_data_set(spark, folder / f"{kind}.ps", stage=stage, **options)

    def by_tasks(kind: str) -> None:
        if side == "cobrix":
            parquet(frame(kind))
            return
        shutil.rmtree(folder / "stage", ignore_errors=True)
        helped(kind, folder / "stage")

    return {
        "fb noop": lambda: noop(frame("fb")),
        "fb count": lambda: frame("fb").count(),
        "fb group-by": lambda: frame("fb").groupBy("KIND").sum("AMOUNT").collect(),
        "fb three columns": lambda: noop(three()),
        "fb lazy noop": lambda: noop(frame("fb") if side == "cobrix" else helped("fb", None)),
        "fb to Parquet by tasks": lambda: by_tasks("fb"),
        "fb to Parquet by Spark": lambda: parquet(frame("fb")),
        "vb noop": lambda: noop(frame("vb")),
        "vb group-by": lambda: frame("vb").groupBy("KIND").sum("AMOUNT").collect(),
        "vb to Parquet by tasks": lambda: by_tasks("vb"),
        "segments noop": lambda: noop(frame("segments")),
        "counted noop": lambda: noop(frame("counted")),
        "wide noop": lambda: noop(frame("wide")),
        "corrupt noop": lambda: noop(frame("corrupt")),
    }


def serve(side: str, folder: Path) -> None:
    """Be one side: do each work that a line of the input names, and print its processor seconds as JSON.

    The first line printed has the names of all works, and what this side makes of the files.
    """
    if side == "cobrix":
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        spark = builder.config("spark.jars", os.environ["TDQ_COBRIX_JAR"]).getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
    else:
        from tdqsim.pipeline.sessions import session

        spark = session(master="local[2]")
    works = work(side, spark, folder)
    print(json.dumps({"answers": answers(reader(side, spark, folder)), "works": list(works)}), flush=True)
    for line in sys.stdin:
        before = cpu_seconds(os.getpid())
        works[line.strip()]()
        print(json.dumps(cpu_seconds(os.getpid()) - before), flush=True)
    spark.stop()


class Side:
    """A process that is one side of the race."""

    def __init__(self, name: str, folder: Path) -> None:
        command = [sys.executable, "-m", "tests.bench._race", "--serve", name, str(folder)]
        root = Path(__file__).resolve().parents[2]
        self.process = subprocess.Popen(
            command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        first = json.loads(self._line())
        self.answers: dict[str, list[str]] = first["answers"]
        self.works: list[str] = first["works"]

    def _line(self) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{") or line[0].isdigit():  # other lines are Spark's
                return line
        raise RuntimeError("a side of the race has ended; its output says why")

    def seconds(self, name: str) -> float:
        """Do a work; the processor seconds of the process and all that it started."""
        assert self.process.stdin is not None
        print(name, file=self.process.stdin, flush=True)
        return float(self._line())

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def race(folder: Path, names: Sequence[str] = ()) -> dict[str, tuple[float, float]]:
    """The processor seconds of Cobrix and of ours for each work: medians of rounds in which both took turns."""
    sides = [Side("cobrix", folder), Side("qsam", folder)]
    try:
        assert sides[0].answers == sides[1].answers
        found = {}
        for name in names or sides[1].works:
            rounds = []
            for number in range(WARM + MEASURED):
                order = sides if number % 2 else sides[::-1]
                took = {id(side): side.seconds(name) for side in order}
                rounds.append([took[id(side)] for side in sides])
            theirs, ours = (statistics.median(each) for each in zip(*rounds[WARM:], strict=True))
            found[name] = theirs, ours
            print(f"{name:<28} {theirs:6.2f} {ours:6.2f} {theirs / ours:6.2f}", file=sys.stderr, flush=True)
    finally:
        for side in sides:
            side.close()
    return found


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2], Path(sys.argv[3]))
    else:
        if not (Path(sys.argv[1]) / "corrupt.ps").exists():
            prepare(Path(sys.argv[1]), 200)
        race(Path(sys.argv[1]), sys.argv[2:])
