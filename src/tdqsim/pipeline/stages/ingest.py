"""Ingest: captures and traces of many kinds into the event table, bucketed by region, in sequence order.

What a record is depends on the format; what it means is said by columns given beside it (``--column command="WRITEQ
TD"``). A data set's records are ``data``, and its fields can be named in columns; CSV, JSON lines and Parquet bring
columns of their own, of the event table's names; a history of tdqsim and an export of an IBM i journal are understood
as they are.

A large file is cut into several tasks where its records can be found without reading all before them: data sets as
``format("qsam")`` cuts them, lines at their ends, Parquet between row groups.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from tdqsim.errors import DatasetError, TdqError
from tdqsim.pipeline.bounds import BOUNDS
from tdqsim.pipeline.parquet import parquet_writer
from tdqsim.pipeline.stages.engine import EngineName, choose, run_stage
from tdqsim.pipeline.stages.events import COLUMNS, EVENTS, conform
from tdqsim.pipeline.stages.exchange import ParquetPiece
from tdqsim.pipeline.stages.manifest import Receipt, Receipts, digest_of, file_stamp, published
from tdqsim.pipeline.stages.records import records_of, splits_of
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
_ROWS_AT_ONCE = 8192
_LONGEST_LINE = 1 << 20
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
    """Bring in one file, or a part of one.

    Attributes:
        run: the run's directory.
        bucket: the number of the task.
        inputs: digest of what its outcome depends on.
        weight: bytes to read.
        path: the file.
        form: one of :data:`FORMATS`.
        columns: columns that every record has.
        options: those of ``format("qsam")``.
        mode: one of :data:`MODES`.
        file: the number of the file among the sources.
        part: of a data set its split; of lines from where to where; of Parquet which row groups; None for all.
    """

    run: Path
    bucket: int
    inputs: str
    weight: int
    path: str
    form: str
    columns: Mapping[str, str]
    options: Mapping[str, str]
    mode: str
    file: int = 0
    part: Any = None

    @property
    def first_seq(self) -> int:
        """Sequence numbers that the file does not give begin here."""
        return self.file << _FILE_SHIFT


class _Bad(DatasetError):
    """A record that is no event; ``mode`` says what becomes of it."""


def ingest_file(task: IngestTask) -> Receipt:
    """Bring one file, or a part of it, into the event table, as Parquet."""
    name = f"{STAGE}/events/{task.bucket:05d}.parquet"
    rows = bad = 0
    with (
        published(task.run / name) as fresh,
        parquet_writer(fresh, EVENTS) as writer,
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
        yield from ((conform(part, task.path), bad) for part, bad in records_of(task))
        return
    rows = _READERS[task.form](task)
    while batch := list(islice(rows, _ROWS_AT_ONCE)):
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
    seq = number + task.first_seq
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
    values.setdefault("seq", number + task.first_seq)
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


def _csv(task: IngestTask) -> Iterator[_Row]:
    with Path(task.path).open(encoding="utf-8-sig", newline="") as file:
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


def _lines(task: IngestTask) -> Iterator[tuple[int, int, bytes]]:
    """Number, offset and bytes of each line. Of a part of a file, the offset stands for the number: it is in order."""
    first, last = task.part or (0, 0)
    offset, number = first, first
    with Path(task.path).open("rb") as file:
        file.seek(first)
        while (not last or offset < last) and (line := file.readline(_LONGEST_LINE)):
            number = offset + 1 if task.part else number + 1
            yield number, offset, line
            offset += len(line)


def _jsonl(task: IngestTask) -> Iterator[_Row]:
    yield from _json_lines(task, dict, "one JSON object")


def _json_lines(task: IngestTask, kind: type, what: str) -> Iterator[tuple[int, int, Any]]:
    for number, offset, line in _lines(task):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:  # also what is no UTF-8
            yield number, offset, error
        else:
            yield number, offset, found if isinstance(found, kind) else ValueError(f"a line must be {what}")


def _history(task: IngestTask) -> Iterator[_Row]:
    """A history that tdqsim has written: what came from outside. What trigger tasks did, they will do again."""
    own: set[str] = set()
    for number, offset, found in _json_lines(task, list, "a list, as a history has them"):
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


def _journal(task: IngestTask) -> Iterator[_Row]:
    """Entries of data queues: an export of a journal by tdqsim, or what QSYS2.DISPLAY_JOURNAL gives."""
    rows = _csv(task) if Path(task.path).suffix.lower() == ".csv" else _jsonl(task)
    for number, offset, found in rows:
        yield number, offset, found if isinstance(found, Exception) else _journal_event(found)


def _journal_event(entry: Mapping[str, Any]) -> Mapping[str, Any] | Exception:
    """The columns of an event."""
    found = {str(name).lower(): value for name, value in entry.items()}
    kind = str(found.get("type") or found.get("journal_entry_type"))
    command = _JOURNAL_COMMANDS.get(kind)
    if command is None:
        return {"skip": True}
    names = str(found.get("object") or "").split()  # DISPLAY_JOURNAL has object, library and member in one
    library = found.get("library") or (names[1] if len(names) > 1 else "")
    values: dict[str, Any] = {
        "command": command,
        "queue": f"{library}/{names[0] if names else ''}",
        "seq": found.get("sequence_number"),
    }
    try:
        values["time_us"] = _moment(found.get("time") or found.get("entry_timestamp"))
    except ValueError as error:
        return error
    specific = found.get("entry_specific_data") or found.get("entry_data") or None
    if command == "QSNDDTAQ JE":
        values["data_hex"] = specific
    elif kind in ("QL", "QJ"):
        values["key_hex"] = specific
    return values


def _moment(text: object) -> int | None:
    """Microseconds since 1970 of an ISO time, or of one as SQL writes it (2026-01-02-03.04.05.000006)."""
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
    piece = ParquetPiece(Path(task.path), task.part)
    for place, part in piece.parts():
        yield conform(_with_columns(task, part), place), 0


def _with_columns(task: IngestTask, part: pa.Table) -> pa.Table:
    """A part with the columns that every record has; what the file has itself stays."""
    for name, value in task.columns.items():
        if name not in part.column_names:
            part = part.append_column(name, pa.repeat(pa.scalar(value), part.num_rows))
    return part


_READERS: dict[str, Callable[[IngestTask], Iterator[_Row]]] = {
    "csv": _csv, "jsonl": _jsonl, "history": _history, "journal": _journal,
}  # fmt: skip


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


def _tasks(request: IngestRequest, number: int, path: Path) -> Iterator[IngestTask]:
    """The tasks of one file.

    Raises:
        DatasetError: it cannot be read, or its descriptor words lie; names it.
    """
    form = request.form or _BY_SUFFIX.get(path.suffix.lower(), "qsam")
    try:
        stamp = file_stamp(path)
        with path.open("rb"):
            pass
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}; give access, or leave it out") from error
    whole = IngestTask(
        request.run, 0, "", stamp[1], str(path.resolve()), form, dict(request.columns), dict(request.options),
        request.mode, number,
    )  # fmt: skip
    for weight, part in _parts(whole, stamp[1]):
        inputs = digest_of(stamp, number, form, whole.columns, whole.options, whole.mode, repr(part))
        yield replace(whole, inputs=inputs, weight=weight, part=part)


def _parts(task: IngestTask, size: int) -> list[tuple[int, Any]]:
    """How a file is cut: bytes and place of each part."""
    if task.form == "qsam":
        return splits_of(task)
    if task.form == "parquet":
        return [(piece.rows, piece.groups) for piece in parquet_pieces([Path(task.path)])] or [(0, ())]
    step = BOUNDS["piece_bytes"]
    if task.form in ("jsonl", "journal") and size > step:
        cuts = [0, *_line_starts(Path(task.path), size, step), size]
        return [(high - low, (low, high)) for low, high in pairwise(cuts) if high > low]
    return [(size, None)]


def _line_starts(path: Path, size: int, step: int) -> Iterator[int]:
    """Where lines begin, about so far apart."""
    with path.open("rb") as file:
        place = step
        while place < size:
            file.seek(place - 1)
            file.readline()
            if file.tell() < size:
                yield file.tell()
            place = file.tell() + step


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
    tasks = [task for number, path in enumerate(files) for task in _tasks(request, number, path)]
    tasks = [replace(task, bucket=number) for number, task in enumerate(tasks)]
    receipts = run_stage(engine, STAGE, request.run, tasks, ingest_file, STAGE)
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
