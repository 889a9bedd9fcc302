"""Ingest: captures and traces of many kinds into the event table, bucketed by region, in sequence order.

What a record is depends on the format; what it means is said by columns given beside it (``--column command="WRITEQ
TD"``). A data set's records are ``data``; CSV, JSON lines and Parquet bring columns of their own, of the event table's
names; a history of tdqsim and an export of an IBM i journal are understood as they are.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tdqsim.errors import DatasetError, TdqError
from tdqsim.pipeline.bounds import BOUNDS
from tdqsim.pipeline.stages.engine import EngineName, choose, run_stage
from tdqsim.pipeline.stages.events import COLUMNS, EVENTS, conform
from tdqsim.pipeline.stages.manifest import Receipt, Receipts, digest_of, file_digest, published
from tdqsim.pipeline.stages.run import parquet_pieces, spread_events

__all__ = ["FORMATS", "MODES", "IngestRequest", "IngestTask", "events_of", "ingest_file", "run_ingest"]

STAGE = "ingest"
FORMATS = ("qsam", "csv", "jsonl", "parquet", "history", "journal")
MODES = ("permissive", "dropmalformed", "failfast")
_BY_SUFFIX = {
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".history": "history",
}
_NUMBERS = ("seq", "time_us", "task", "resp2")
_HISTORY_COMMANDS = ("WRITEQ TD", "READQ TD", "DELETEQ TD")
_JOURNAL_COMMANDS = {
    "QS": "QSNDDTAQ JE", "QK": "QSNDDTAQ JE", "QR": "QRCVDTAQ", "QL": "QRCVDTAQ", "QC": "QCLRDTAQ", "QJ": "QCLRDTAQ",
}  # fmt: skip
_SHORTEST_EVENT = 5
_EVENT_REST: list[Any] = ["", "", "NORMAL", 0]
_FILE_SHIFT = 40
"""Sequence numbers that a file does not give begin at its place among the files, shifted left by this."""


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """What is to be brought in.

    Attributes:
        run: the run's directory.
        sources: files, directories or patterns.
        form: one of :data:`FORMATS`, or empty: by the file's suffix, else qsam.
        columns: columns of the event table that every record has.
        options: those of ``format("qsam")``.
        engine: local, spark or auto.
        buckets: at most so many.
        mode: what a bad record does: one of :data:`MODES`. ``permissive`` keeps it as an event that fails by its name.
    """

    run: Path
    sources: tuple[str, ...]
    form: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    engine: EngineName = "auto"
    buckets: int = BOUNDS["buckets"]
    mode: str = "failfast"


@dataclass(frozen=True, slots=True)
class IngestTask:
    """Bring in one file."""

    run: Path
    bucket: int
    inputs: str
    weight: int
    path: str
    form: str
    columns: Mapping[str, str]
    options: Mapping[str, str]
    mode: str


class _Bad(DatasetError):
    """A record that is no event; ``mode`` says what becomes of it."""


def ingest_file(task: IngestTask) -> Receipt:
    """Bring one file into the event table, as Parquet."""
    name = f"{STAGE}/events/{task.bucket:05d}.parquet"
    rows = bad = 0
    with (
        published(task.run / name) as fresh,
        pq.ParquetWriter(fresh, EVENTS, compression="zstd") as writer,
    ):
        for part, wrong in events_of(task):
            bad += wrong
            rows += part.num_rows
            if part.num_rows:
                writer.write_table(part)
    size = (task.run / name).stat().st_size
    receipt = Receipt(STAGE, task.bucket, task.inputs, (name,), rows, size, "", 0.0, {"bad": bad, "file": task.path})
    Receipts(task.run, STAGE).put(receipt)
    return receipt


def events_of(task: IngestTask) -> Iterator[tuple[pa.Table, int]]:
    """The events of a file, a part at a time, with how many bad records were met in it.

    Raises:
        DatasetError: a record is bad and the mode is failfast; names file, record, and where it can, offset.
    """
    if task.form == "parquet":
        yield from _parquet(task)
        return
    if task.form == "qsam":
        yield from _qsam(task)
        return
    readers = {"csv": _csv, "jsonl": _jsonl, "history": _history, "journal": _journal}
    rows = readers[task.form](Path(task.path))
    while batch := list(islice(rows, BOUNDS["batch_rows"])):
        yield _table(task, batch)


# rows ----------------------------------------------------------------------------------------------------------------

_Row = tuple[int, int | None, Mapping[str, Any] | Exception]
"""Number of the record from 1, its offset when it is known, and its values or what is wrong with it."""


def _table(task: IngestTask, batch: Sequence[_Row]) -> tuple[pa.Table, int]:
    columns: dict[str, list[Any]] = {each.name: [] for each in EVENTS}
    bad = 0
    for number, offset, found in batch:
        try:
            values = _event(task, number, offset, found)
        except _Bad as error:
            if task.mode == "failfast":
                raise
            bad += 1
            if task.mode == "dropmalformed":
                continue
            values = _bad_event(task, number, str(error))
        if values is not None:
            for name, column in columns.items():
                column.append(values.get(name))
    return pa.table([pa.array(columns[each.name], each.type) for each in EVENTS], schema=EVENTS), bad


def _bad_event(task: IngestTask, number: int, text: str) -> dict[str, Any]:
    """A row that says what is wrong; replay gives it the response ERROR."""
    seq = number + (task.bucket << _FILE_SHIFT)
    region = task.columns.get("region", "BADINPUT")
    return {"region": region, "seq": seq, "command": "BAD RECORD", "data": text.encode()}


def _event(
    task: IngestTask, number: int, offset: int | None, found: Mapping[str, Any] | Exception
) -> dict[str, Any] | None:
    place = f"{task.path}: record {number}" + ("" if offset is None else f" at offset {offset}")
    if isinstance(found, Exception):
        raise _Bad(f"{place}: {found}; correct it, or choose --mode dropmalformed to go on without it")
    values: dict[str, Any] = {
        **task.columns,
        **{name: value for name, value in found.items() if value not in (None, "")},
    }
    if values.pop("skip", None):
        return None
    try:
        for name in _NUMBERS:
            if values.get(name) is not None:
                values[name] = int(values[name])
        for name in ("key", "data"):
            values[name] = _bytes(values, name)
    except (ValueError, UnicodeError) as error:
        raise _Bad(f"{place}: {error}") from None
    values.setdefault("seq", number + (task.bucket << _FILE_SHIFT))
    for name in ("region", "command"):
        if not values.get(name):
            raise _Bad(f"{place}: no {name}; give the file such a column, or --column {name}=...")
        values[name] = str(values[name])
    return {name: values.get(name) for name in COLUMNS}


def _bytes(values: Mapping[str, Any], name: str) -> bytes | None:
    """Bytes as they are, as hexadecimal digits in NAME_hex, or as text in code page 037."""
    value = values.get(name)
    if value is None:
        digits = values.get(f"{name}_hex")
        return None if digits is None else bytes.fromhex(str(digits))
    return value if isinstance(value, bytes) else str(value).encode("cp037")


def _csv(path: Path) -> Iterator[_Row]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        number = 0
        try:
            for number, row in enumerate(reader, 1):
                if None in row:
                    yield number, None, ValueError(f"more fields than the first line has names: {row[None]!r:.80}")
                else:
                    yield number, None, row
        except (csv.Error, UnicodeDecodeError) as error:
            yield number + 1, None, error


def _lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    offset = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            yield number, offset, line
            offset += len(line)


def _jsonl(path: Path) -> Iterator[_Row]:
    yield from _json_lines(path, dict, "one JSON object")


def _json_lines(path: Path, kind: type, what: str) -> Iterator[tuple[int, int, Any]]:
    for number, offset, line in _lines(path):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:  # also what is no UTF-8
            yield number, offset, error
        else:
            yield number, offset, found if isinstance(found, kind) else ValueError(f"a line must be {what}")


def _history(path: Path) -> Iterator[_Row]:
    """A history that tdqsim has written: what came from outside. What trigger tasks did, they will do again."""
    own: set[str] = set()
    for number, offset, found in _json_lines(path, list, "a list, as a history has them"):
        if isinstance(found, Exception):
            yield number, offset, found
        elif len(found) < _SHORTEST_EVENT or not isinstance(found[4], int):
            yield number, offset, ValueError("an event is a command, task, queue, data, nanoseconds, and more")
        else:
            yield number, offset, _history_event([*found[:9], *_EVENT_REST[len(found[:9]) - _SHORTEST_EVENT :]], own)


def _history_event(event: list[Any], own: set[str]) -> dict[str, Any]:
    """The columns of an event; ``own`` are the tasks that triggers started, by number."""
    command, task, queue, data, time_ns, tran, _, resp, resp2 = event
    if command == "START" and queue:
        own.add(str(task))
    if command == "SEED":
        return {"command": "SEED", "queue": queue, "data_hex": data}
    if command not in _HISTORY_COMMANDS or str(task) in own:
        return {"skip": True}
    values = {"command": command, "queue": queue, "tran": tran, "resp": resp, "resp2": resp2}
    return values | {"time_us": time_ns // 1000, "data_hex": data if command == "WRITEQ TD" else None}


def _journal(path: Path) -> Iterator[_Row]:
    """An export of an IBM i journal by tdqsim: entries of data queues, one JSON object a line."""
    for number, offset, found in _jsonl(path):
        if isinstance(found, Exception):
            yield number, offset, found
            continue
        command = _JOURNAL_COMMANDS.get(str(found.get("type")))
        values = {
            "command": command,
            "queue": f"{found.get('library')}/{found.get('object')}",
            "seq": found.get("sequence_number"),
        }
        specific = found.get("entry_specific_data") or None
        if command == "QSNDDTAQ JE":
            values["data_hex"] = specific
        elif found.get("type") in ("QL", "QJ"):
            values["key_hex"] = specific
        yield number, offset, values if command else {"skip": True}


# columns -------------------------------------------------------------------------------------------------------------


def _parquet(task: IngestTask) -> Iterator[tuple[pa.Table, int]]:
    try:
        file = pq.ParquetFile(task.path)
    except (OSError, pa.ArrowInvalid) as error:
        raise DatasetError(f"{task.path}: not to be read as Parquet: {error}") from error
    for batch in file.iter_batches(BOUNDS["batch_rows"]):
        part = pa.Table.from_batches([batch])
        for name, value in task.columns.items():
            if name in part.column_names:
                continue
            part = part.append_column(name, pa.repeat(pa.scalar(value), part.num_rows))
        yield conform(part, task.path), 0


def _qsam(task: IngestTask) -> Iterator[tuple[pa.Table, int]]:
    """The records of a data set, as bytes; options as ``format("qsam")`` has them."""
    from tdqsim.pipeline.options import read_options  # noqa: PLC0415
    from tdqsim.pipeline.source import SplitReader  # noqa: PLC0415
    from tdqsim.pipeline.splits import plan  # noqa: PLC0415

    options = read_options(
        {
            **task.options,
            "path": task.path,
            "generate_record_bytes": "true",
            "generate_record_id": "true",
            "mode": task.mode,
        }
    )
    reader = SplitReader(options, ["Record_Id", "Record_Bytes"])
    for name in ("region", "command"):
        if name not in task.columns:
            raise DatasetError(f"{task.path}: the records of a data set need --column {name}=...")
    for split in plan(options, count=True):
        for batch in reader.read(split):
            seq = batch.column(0).to_numpy().astype(np.int64) + 1 + (task.bucket << _FILE_SHIFT)
            part = pa.table({"seq": seq, "data": batch.column(1)})
            for name, value in task.columns.items():
                part = part.append_column(name, pa.repeat(pa.scalar(value), part.num_rows))
            yield conform(part, task.path), 0


# the stage -----------------------------------------------------------------------------------------------------------


def _files(sources: Iterable[str]) -> list[Path]:
    found: list[Path] = []
    for source in sources:
        path = Path(source)
        if path.is_dir():
            found += sorted(each for each in path.iterdir() if each.is_file() and not each.name.startswith((".", "_")))
        elif path.is_file():
            found.append(path)
        else:
            matched = (
                sorted(Path().glob(source))
                if not path.is_absolute()
                else sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
            )
            if not matched:
                raise DatasetError(f"{source}: no such file, directory or pattern")
            found += matched
    return found


def run_ingest(
    request: IngestRequest, *, spark: Any = None, say: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Bring files in, and lay the events down by bucket.

    Raises:
        TdqError: an argument is not allowed.
        DatasetError: a file cannot be read, or a record is bad and the mode is failfast.
    """
    if request.mode not in MODES:
        raise TdqError(f"--mode {request.mode}: allowed are {', '.join(MODES)}")
    if request.form not in ("", *FORMATS):
        raise TdqError(f"--format {request.form}: allowed are {', '.join(FORMATS)}")
    for name in request.columns:
        if name not in COLUMNS and name not in ("key_hex", "data_hex"):
            raise TdqError(f"--column {name}: the columns of the event table are {', '.join(COLUMNS)}")
    files = _files(request.sources)
    size = sum(path.stat().st_size for path in files)
    engine = choose(request.engine, records=0, size=size, spark=spark, say=say)
    engine.say(f"engine {engine.name}: {engine.why}")
    tasks = []
    for number, path in enumerate(files):
        form = request.form or _BY_SUFFIX.get(path.suffix.lower(), "qsam")
        inputs = digest_of(
            path.name, file_digest(path), form, dict(request.columns), dict(request.options), request.mode
        )
        tasks.append(
            IngestTask(
                request.run, number, inputs, path.stat().st_size, str(path.resolve()), form,
                dict(request.columns), dict(request.options), request.mode,
            )
        )  # fmt: skip
    receipts = run_stage(engine, STAGE, request.run, tasks, ingest_file)
    pieces = parquet_pieces([request.run / receipt.files[0] for receipt in receipts])
    base = digest_of([receipt.inputs for receipt in receipts])
    plan, counts = spread_events(engine, request.run, pieces, base, request.buckets, "exchange")
    return {
        "files": len(files),
        "events": sum(receipt.rows for receipt in receipts),
        "bad": sum(receipt.details["bad"] for receipt in receipts),
        "regions": len(counts),
        "buckets": len(set(plan.values())),
        "engine": engine.name,
        "output": str(request.run / "exchange"),
    }
