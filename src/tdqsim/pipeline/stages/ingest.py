"""Ingest: convert captures and traces of many kinds to the event table, by region in buckets, in sequence order.

The format decides how a file is divided into records; the columns given with it decide their meaning (``--column
command="WRITEQ TD"``). The records of a data set are ``data``, and columns can name its fields. CSV, JSON lines and
Parquet bring their own columns, with the names of the event table. A history of tdqsim and an export of an IBM i
journal need no columns.

A large file is divided over several tasks if its records can be located without reading everything before them: data
sets are cut like those of ``format("qsam")``, lines at their ends, Parquet between row groups.
"""

from __future__ import annotations

import json
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tdqsim.errors import DatasetError
from tdqsim.pipeline.limits import BOUNDS
from tdqsim.pipeline.parquet import parquet_writer
from tdqsim.pipeline.publishing import is_local, published, stamp
from tdqsim.pipeline.queue_traces import is_head
from tdqsim.pipeline.stages.events import COLUMNS, EVENTS, conform
from tdqsim.pipeline.stages.exchange import ParquetPiece, parquet_pieces, spread_events
from tdqsim.pipeline.stages.manifest import NotAllowed, Receipt, digest_of, one_of, publish
from tdqsim.pipeline.stages.plan import Plan, TaskStep
from tdqsim.pipeline.stages.records import IngestTask, records_of, splits_of
from tdqsim.pipeline.stages.traces import BYTES, BadEvent, Row, csv_header, csv_rows, json_lines, values_of

if TYPE_CHECKING:
    from tdqsim.pipeline.stages.runners import EngineName

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
_HISTORY_COMMANDS = ("WRITEQ TD", "READQ TD", "DELETEQ TD")
_JOURNAL_COMMANDS = {
    "QS": "QSNDDTAQ JE", "QK": "QSNDDTAQ JE", "QR": "QRCVDTAQ", "QL": "QRCVDTAQ", "QC": "QCLRDTAQ", "QJ": "QCLRDTAQ",
}  # fmt: skip
_SHORTEST_EVENT = 5
_EVENT_REST: list[object] = ["", "", "NORMAL", 0]
_ROWS_AT_ONCE = 8192
_BYTES_AT_ONCE = 16 << 20
_HEX = ("key_hex", "data_hex")


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """The options of an ingest.

    Attributes:
        run: the run's directory.
        sources: files, directories or patterns.
        form: one of :data:`FORMATS`; empty to choose by the file's suffix, else qsam.
        columns: columns of the event table that every record has.
        options: those of ``format("qsam")``.
        engine: local, spark or auto.
        buckets: the maximum number of buckets.
        mode: how to treat a bad record: one of :data:`MODES`. ``permissive`` keeps it as an event whose command is an
            error.
    """

    run: Path
    sources: tuple[str, ...]
    form: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    engine: EngineName = "auto"
    buckets: int = BOUNDS["buckets"]
    mode: str = "failfast"


_GO_ON = "correct it, or choose --mode dropmalformed to go on without it"


def ingest_file(task: IngestTask) -> Receipt:
    """Convert one file, or a part of it, to an event table in Parquet."""
    start_time, name = time.perf_counter(), f"{STAGE}/events/{task.bucket:05d}.parquet"
    rows = bad = 0
    with published(task.run / name) as fresh, parquet_writer(fresh, EVENTS) as writer:
        for part, wrong in events_of(task):
            bad += wrong
            rows += part.num_rows
            if part.num_rows:
                writer.write_table(part)
    return publish(task, STAGE, (name,), rows, start_time, bad=bad, file=task.path)


def events_of(task: IngestTask) -> Iterator[tuple[pa.Table, int]]:
    """The events of a file in tables, each with the number of bad records in it.

    Raises:
        DatasetError: a record is bad and the mode is failfast; the message names file, record and, if known, offset.
    """
    if task.form == "parquet":
        yield from _parquet(task)
        return
    if task.form == "qsam":
        yield from ((conform(part, task.path), bad) for part, bad in records_of(task))
        return
    batch: list[Row] = []
    first_offset = 0
    for row in _READERS[task.form](task):
        offset = row[1] or 0
        if len(batch) == _ROWS_AT_ONCE or offset - first_offset > _BYTES_AT_ONCE:
            yield _table(task, batch)
            batch, first_offset = [], offset
        batch.append(row)
    yield _table(task, batch)


# rows ----------------------------------------------------------------------------------------------------------------


def _table(task: IngestTask, batch: Sequence[Row]) -> tuple[pa.Table, int]:
    columns: dict[str, list[object]] = {each.name: [] for each in EVENTS}
    bad = 0
    for number, offset, record in batch:
        try:
            values = _event(task, number, record)
        except BadEvent as error:
            place = f"{task.path}: record {number}" + ("" if offset is None else f" at offset {offset}")
            if task.mode == "failfast":
                raise DatasetError(f"{place}: {error}") from None
            bad += 1
            if task.mode == "dropmalformed":
                continue
            values = _bad_event(task, number, f"{place}: {error}")
        if values is not None:
            for name, column in columns.items():
                column.append(values.get(name))
    return pa.table([pa.array(columns[each.name], each.type) for each in EVENTS], schema=EVENTS), bad


def _bad_event(task: IngestTask, number: int, text: str) -> dict[str, object]:
    """A row that describes a bad record; replay gives it the response ERROR."""
    seq = number + task.first_seq
    region = task.columns.get("region", "BADINPUT")
    return {"region": region, "seq": seq, "command": "BAD RECORD", "data": text.encode()}


def _event(task: IngestTask, number: int, record: Mapping[str, object] | Exception) -> dict[str, object] | None:
    if isinstance(record, Exception):
        raise BadEvent(f"{record}; {_GO_ON}")
    given = {**task.columns, **{name: value for name, value in record.items() if value not in (None, "")}}
    if given.pop("skip", None):
        return None
    try:
        values = values_of(given)
    except BadEvent as error:
        raise BadEvent(f"{error}; {_GO_ON}") from None
    if values["seq"] is None:
        values["seq"] = number + task.first_seq
    for name in ("region", "command"):
        if not values[name]:
            there = ", ".join(str(each) for each in record if each) or "none"
            raise BadEvent(f"no {name}; give the file such a column, or --column {name}=...; it has {there}")
    return values


def _jsonl(task: IngestTask) -> Iterator[Row]:
    return json_lines(task.path, task.part, dict, "one JSON object")


def _history(task: IngestTask) -> Iterator[Row]:
    """A history written by tdqsim: only commands from outside, because trigger tasks will issue theirs again."""
    own: set[str] = set()
    what = "a list, as a history has them"
    for number, offset, event in json_lines(task.path, task.part, object, what, BOUNDS["history_line_bytes"]):
        if isinstance(event, dict) and is_head(json.dumps(event).encode(), f"{task.path}: offset {offset}"):
            continue
        if isinstance(event, Exception):
            yield number, offset, event
        elif not isinstance(event, list):
            yield number, offset, ValueError(f"a line must be {what}")
        elif len(event) < _SHORTEST_EVENT or not isinstance(event[4], int):
            yield number, offset, ValueError("an event is a command, task, queue, data, nanoseconds, and more")
        else:
            yield number, offset, _history_event([*event[:9], *_EVENT_REST[len(event[:9]) - _SHORTEST_EVENT :]], own)


def _history_event(event: list[Any], own: set[str]) -> dict[str, object]:
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


def _journal(task: IngestTask) -> Iterator[Row]:
    """Entries of data queues: a journal exported by tdqsim, or the rows of QSYS2.DISPLAY_JOURNAL."""
    rows = csv_rows(task.path) if _is_csv(task) else _jsonl(task)
    for number, offset, entry in rows:
        yield number, offset, entry if isinstance(entry, Exception) else _journal_event(entry)


def _is_csv(task: IngestTask) -> bool:
    return Path(task.path).suffix.lower() == ".csv"


def _journal_event(entry: Mapping[str, object]) -> Mapping[str, object] | Exception:
    """The columns of an event."""
    by_name = {str(name).lower(): value for name, value in entry.items()}
    kind = str(by_name.get("type") or by_name.get("journal_entry_type"))
    command = _JOURNAL_COMMANDS.get(kind)
    if command is None:
        return {"skip": True}
    names = str(by_name.get("object") or "").split()  # DISPLAY_JOURNAL has object, library and member in one column
    library = by_name.get("library") or (names[1] if len(names) > 1 else "")
    values: dict[str, object] = {
        "command": command,
        "queue": f"{library}/{names[0] if names else ''}",
        "seq": by_name.get("sequence_number"),
    }
    try:
        values["time_us"] = _moment(by_name.get("time") or by_name.get("entry_timestamp"))
    except ValueError as error:
        return error
    specific = by_name.get("entry_specific_data") or by_name.get("entry_data") or None
    if command == "QSNDDTAQ JE":
        values["data_hex"] = specific
    elif kind in ("QL", "QJ"):
        values["key_hex"] = specific
    return values


def _moment(text: object) -> int | None:
    """Microseconds since 1970 of a time in ISO format, or in the format of SQL (2026-01-02-03.04.05.000006)."""
    if not text:
        return None
    value = str(text)
    if value[10:11] == "-":
        value = f"{value[:10]} {value[11:].replace('.', ':', 2)}"
    moment = datetime.fromisoformat(value)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


# columns -------------------------------------------------------------------------------------------------------------


def _parquet(task: IngestTask) -> Iterator[tuple[pa.Table, int]]:
    """The events of a Parquet file, by columns; record by record in a part that contains an error."""
    piece = ParquetPiece(Path(task.path), task.part)
    for first, part in piece.numbered_parts():
        if _plain(part):
            try:
                yield conform(_with_columns(task, part, first), task.path, first), 0
                continue
            except DatasetError:
                for name in ("region", "command"):
                    if name not in part.column_names and name not in task.columns:
                        raise
        yield from _by_record(task, part, first)


def _plain(part: pa.Table) -> bool:
    """Encode keys and data that are text to bytes in code page 037."""
    kinds = [part.schema.field(name).type for name in (*BYTES, *_HEX) if name in part.column_names]
    return not any(map(pa.types.is_string, kinds)) and not any(map(pa.types.is_large_string, kinds))


def _by_record(task: IngestTask, part: pa.Table, first: int) -> Iterator[tuple[pa.Table, int]]:
    for start in range(0, part.num_rows, _ROWS_AT_ONCE):
        rows = _moments(part.slice(start, _ROWS_AT_ONCE)).to_pylist()
        yield _table(task, [(first + start + at, None, row) for at, row in enumerate(rows, 1)])


def _moments(part: pa.Table) -> pa.Table:
    """Times of any unit as microseconds."""
    for at, field_ in enumerate(part.schema):
        if pa.types.is_timestamp(field_.type):
            moments = part.column(at).cast(pa.timestamp("us", field_.type.tz), safe=False).cast(pa.int64())
            part = part.set_column(at, field_.name, moments)
    return part


def _with_columns(task: IngestTask, part: pa.Table, first: int) -> pa.Table:
    """A part with the columns given for every record; columns of the file win."""
    for name, value in task.columns.items():
        if name not in part.column_names:
            part = part.append_column(name, pa.repeat(pa.scalar(value), part.num_rows))
    if "seq" not in part.column_names:
        begin = first + 1 + task.first_seq
        part = part.append_column("seq", pa.array(np.arange(begin, begin + part.num_rows)))
    return part


_READERS: dict[str, Callable[[IngestTask], Iterator[Row]]] = {
    "csv": lambda task: csv_rows(task.path), "jsonl": _jsonl, "history": _history, "journal": _journal,
}  # fmt: skip


# the stage -----------------------------------------------------------------------------------------------------------


def _tasks(request: IngestRequest, number: int, path: Path) -> Iterator[IngestTask]:
    """The tasks of one file."""
    form = _form(request, path)
    if form != "qsam" and not is_local(path):
        raise NotAllowed(f"{path}: from an object store data sets are brought in (--format qsam); copy this file here")
    stamp = file_stamp(path)
    name = str(path.resolve() if is_local(path) else path)
    whole = IngestTask(
        request.run, 0, "", stamp[1], name, form, dict(request.columns), dict(request.options),
        request.mode, number,
    )  # fmt: skip
    for weight, part in _parts(whole, stamp[1]):
        inputs = digest_of(stamp, number, form, whole.columns, whole.options, whole.mode, repr(part))
        yield replace(whole, inputs=inputs, weight=weight, part=part)


def _form(request: IngestRequest, path: Path) -> str:
    return request.form or _BY_SUFFIX.get(path.suffix.lower(), "qsam")


def file_stamp(path: Path) -> tuple[str, int, str]:
    """The identity of a file: its name, size and version.

    Raises:
        DatasetError: it is not a file, or cannot be read.
    """
    if not is_local(path):
        return stamp(path)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise DatasetError(f"{path}: is not a file of records; leave it out, or name the files in it")
        with path.open("rb"):
            pass
        return stamp(path)
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}; give access, or leave it out") from error


def _left_out(request: IngestRequest, files: Iterable[Path]) -> list[str]:
    """Report columns of CSV and Parquet files that are not event columns; they may be misspelt."""
    known = {*COLUMNS, *_HEX}
    unknown: set[str] = set()
    for path in files:
        form = _form(request, path)
        if form == "csv":
            names = csv_header(str(path))
            if names and not known & set(names):
                there = ", ".join(names)
                raise DatasetError(
                    f"{path}: the first line names no column of the event table, which has {', '.join(COLUMNS)}; "
                    f"it has {there!r:.80}. Columns are separated by commas"
                )
            unknown |= {*names} - known
        elif form == "parquet":
            unknown |= {*pq.read_schema(path).names} - known
    return sorted(unknown)


def _parts(task: IngestTask, size: int) -> list[tuple[int, Any]]:
    """How a file is cut: bytes and range of each part."""
    if task.form == "qsam":
        return splits_of(task)
    if task.form == "parquet":
        return [(piece.rows, piece.groups) for piece in parquet_pieces([Path(task.path)])] or [(0, ())]
    step = BOUNDS["piece_bytes"]
    lines = task.form == "jsonl" or (task.form == "journal" and not _is_csv(task))
    if lines and size > step:
        cuts = [0, *_line_starts(Path(task.path), size, step), size]
        return [(high - low, (low, high)) for low, high in pairwise(cuts) if high > low]
    return [(size, None)]


def _line_starts(path: Path, size: int, step: int) -> Iterator[int]:
    """Places where lines begin, about ``step`` bytes apart."""
    with path.open("rb") as file:
        place = step
        while place < size:
            file.seek(place - 1)
            file.readline()
            if file.tell() < size:
                yield file.tell()
            place = file.tell() + step


def check_request(request: IngestRequest) -> None:
    """Check the options of an ingest.

    Raises:
        NotAllowed: an option is not allowed.
    """
    one_of("--mode", request.mode, MODES)
    if request.form:
        one_of("--format", request.form, FORMATS)
    for name in request.columns:
        if name not in COLUMNS and name not in _HEX:
            raise NotAllowed(f"--column {name}: the columns of the event table are {', '.join(COLUMNS)}")


def ingest_files(request: IngestRequest, files: Sequence[Path]) -> Plan[dict[str, object]]:
    """Convert the input files to events, and store these by bucket.

    Returns:
        Figures: files, events, bad records, columns that were left out, regions, buckets.

    Raises:
        DatasetError: a file cannot be read, or a record is bad and the mode is failfast.
    """
    tasks = [task for number, path in enumerate(files) for task in _tasks(request, number, path)]
    tasks = [replace(task, bucket=number) for number, task in enumerate(tasks)]
    ignored = _left_out(request, files)
    receipts = yield TaskStep(STAGE, request.run, tasks, ingest_file, STAGE)
    pieces = parquet_pieces([request.run / receipt.files[0] for receipt in receipts])
    base = digest_of([receipt.inputs for receipt in receipts])
    made = yield from spread_events(request.run, pieces, base, request.buckets, "exchange")
    return {
        "files": len(files),
        "events": sum(receipt.rows for receipt in receipts),
        "bad": sum(receipt.details["bad"] for receipt in receipts),
        "columns_left_out": ignored,
        "regions": len(made.events),
        "buckets": len(set(made.regions.values())),
    }
