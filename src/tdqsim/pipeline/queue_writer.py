"""Put records on the queues of a store, or into seed files: tasks stage them, one commit puts them on.

A task writes its rows to a file next to the store and reports the file to the commit. The commit puts the rows on in
the order of the tasks, which is that of the files' names; it needs the store for itself. It refuses records that do not
fit before it changes anything.

A stream's batch is put on exactly once, however often Spark retries it:

- First the files of the batch are fixed: a list of them is published by a rename. An attempt that finds such a list
  uses the files in it, so that every attempt puts the same records on in the same order.
- In each half of the store a mark, written in the same transaction as the records, says which batch is being put on and
  where each queue stood before it. After a killed commit the next attempt continues behind the last record, and a batch
  that is complete is not put on again.
- The key of a mark is the identity of the query's checkpoint, because a new checkpoint numbers its batches from 0
  again.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa

from tdqsim.errors import ConversionError, DatasetError
from tdqsim.hosting import CodePage
from tdqsim.pipeline.limits import BOUNDS
from tdqsim.pipeline.parquet import schema
from tdqsim.pipeline.publishing import publish_json, published, seed_line
from tdqsim.pipeline.queue_options import QueueOptions
from tdqsim.pipeline.queues import SCHEMAS
from tdqsim.pipeline.stored import Place, Stored, opened, wanted

_STAGED: Final = schema("queue string, key binary, data binary")
_BETWEEN_COMMITS: Final = 100_000
_MARK: Final = b"stream/"
_NAMES: Final = {
    "tdqueue": re.compile(r"[^/\s\x00-\x1f.]{1,4}"),
    "dtaq": re.compile(r"[^/\s\x00-\x1f.]{1,10}/[^/\s\x00-\x1f]{1,10}"),
}
"""Queue names that can also be names of seed files."""


def _staging(options: QueueOptions) -> Path:
    """The directory of staged files: next to the store, so that a machine that sees the store sees the files."""
    return options.store.absolute().with_name(f".{options.store.absolute().name}.incoming")


class QueuePartWriter:
    """Stages the rows of tasks.

    Args:
        options: the options of the write.
        schema: the rows' columns: ``data`` (binary, or text in the code page), ``queue`` unless an option names one
            queue for all rows, ``key`` for keyed data queues; other columns that a read gives are ignored.
        folder: name of the directory of this write's files.

    Raises:
        DatasetError: a column is missing, of another type or not known.
    """

    def __init__(self, options: QueueOptions, schema: pa.Schema, folder: str = "") -> None:
        self.options = options
        self.folder = _staging(options) / (folder or uuid4().hex)
        if len(options.queues) > 1:
            raise DatasetError(f"format({options.kind!r}): a write goes to one queue, or to those of a column queue")
        self._check(schema)

    def _check(self, schema: pa.Schema) -> None:
        kind = self.options.kind
        known = SCHEMAS[kind].names
        for field in schema:
            if field.name not in known:
                raise DatasetError(
                    f"format({kind!r}): there is no column {field.name} in a queue; there are {', '.join(known)}"
                )
            if field.name in _STAGED.names and not _is_allowed(field.type, binary=field.name != "queue"):
                raise DatasetError(f"format({kind!r}): column {field.name} is {field.type}; it must be binary or text")
        if "data" not in schema.names:
            raise DatasetError(f"format({kind!r}): a column data is needed; there are {', '.join(schema.names)}")
        if "queue" not in schema.names and not self.options.queues:
            raise DatasetError(f"format({kind!r}): which queue? Give the rows a column queue, or the option queue")

    def write(self, batches: Iterable[pa.RecordBatch], number: int) -> str:
        """Stage the rows of the task with this number; returns the name of the file.

        Raises:
            DatasetError: a row has no data or no queue, or its text is not in the code page; the message names the row.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"part-{number:08d}-{uuid4().hex}.arrow"
        rows = 0
        with path.open("xb") as file, pa.ipc.new_file(file, _STAGED) as out:
            for batch in batches:
                out.write_batch(self._staged(batch, rows))
                rows += batch.num_rows
        return str(path)

    def _staged(self, batch: pa.RecordBatch, before: int) -> pa.RecordBatch:
        names, rows = batch.schema.names, batch.num_rows
        queue = (
            pa.array([self.options.queues[0]] * rows, pa.string())
            if self.options.queues
            else batch.column("queue").cast(pa.string())
        )
        key = self._bytes(batch.column("key"), before) if "key" in names else pa.array([b""] * rows, pa.binary())
        data = self._bytes(batch.column("data"), before)
        for name, values in (("data", data), ("queue", queue)):
            if values.null_count:
                row = before + values.is_null().to_pylist().index(True) + 1
                raise DatasetError(f"format({self.options.kind!r}): row {row} of a task: column {name} is null")
        return pa.RecordBatch.from_arrays([queue, key.fill_null(b""), data], schema=_STAGED)

    def _bytes(self, values: pa.Array, before: int) -> pa.Array:
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            return _encoded(values, self.options.page, before)
        return values.cast(pa.binary())


def _is_allowed(kind: pa.DataType, *, binary: bool) -> bool:
    """Whether a column may have this type: text or, with ``binary``, bytes."""
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return is_text or (binary and (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)))


def _encoded(values: pa.Array, page: CodePage, before: int) -> pa.Array:
    encoded: list[bytes | None] = []
    for text in values.to_pylist():
        try:
            encoded.append(None if text is None else page.encode(text))
        except ConversionError as error:
            raise DatasetError(f"row {before + len(encoded) + 1} of a task: {error}") from None
    return pa.array(encoded, pa.binary())


def discard(folder: Path) -> None:
    """Remove the directory with the staged files of a write."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # there are files of other writes
        folder.parent.rmdir()


def _batches(files: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for file in files:
        try:
            with pa.memory_map(file) as mapped:
                reader = pa.ipc.open_file(mapped)
                for number in range(reader.num_record_batches):
                    yield reader.get_batch(number)
        except (OSError, pa.ArrowInvalid) as error:
            raise DatasetError(
                f"{file}: the rows of a task cannot be read here ({error}); tasks and driver must see the same storage"
            ) from error


def _records(files: Sequence[str]) -> Iterator[Place]:
    for batch in _batches(files):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _queues(files: Sequence[str]) -> list[str]:
    """The names of the queues in the rows."""
    return sorted({name for batch in _batches(files) for name in batch.column("queue").unique().to_pylist()})


def _names(stored: Stored, options: QueueOptions, files: Sequence[str]) -> dict[str, str]:
    """The names of the queues in the rows, with the queue that each stands for."""
    actual = {name: wanted(stored, (name,), options.store)[0].name for name in _queues(files)}
    stored.check_writable(frozenset(actual.values()))
    return actual


def _left(files: Sequence[str], names: Mapping[str, str], done: Mapping[str, int]) -> Iterator[Place]:
    """The records that are not on yet; those that are on are the first of each queue."""
    skip = Counter(done)
    for queue, key, data in _records(files):
        name = names[queue]
        if skip[name] > 0:
            skip[name] -= 1
        else:
            yield name, key, data


# batches -------------------------------------------------------------------------------------------------------------


def commit_batch(options: QueueOptions, files: Sequence[str], *, overwrite: bool) -> int:
    """Put the rows of a batch write on, all or none; returns their number.

    Raises:
        StoreInUse: a process has the store; the message names it.
        DatasetError: there is no such queue, or a record does not fit; nothing was changed.
    """
    try:
        if options.target == "seed":
            return _seeds(options, sorted(files), "", append=not overwrite)
        with opened(options.store, options.kind, readonly=False, dfhintra=options.dfhintra) as stored:
            return _put_all(stored, _names(stored, options, files), sorted(files), overwrite=overwrite)
    finally:
        for folder in {Path(file).parent for file in files}:
            discard(folder)


def _put_all(stored: Stored, names: Mapping[str, str], files: Sequence[str], *, overwrite: bool) -> int:
    count = stored.check(_left(files, names, {}))
    if overwrite:
        for name in set(names.values()):
            stored.take_through(name, stored.queue(name).last)
    for place in _left(files, names, {}):
        stored.put(*place)
    stored.commit()
    return count


# streams -------------------------------------------------------------------------------------------------------------


def sink_of(options: QueueOptions) -> str:
    """The key of a stream's marks: the option ``sink``, or the identity of the query's checkpoint.

    Raises:
        DatasetError: there is neither.
    """
    if options.sink:
        if not options.sink.isascii() or len(options.sink) > 100 or "/" in options.sink:
            raise DatasetError(f"sink {options.sink[:40]!r}: a name of at most 100 ASCII characters, without a slash")
        return f"sink-{options.sink}"
    path = Path(options.checkpoint_location.removeprefix("file://").removeprefix("file:")) / "metadata"
    try:
        metadata = json.loads(path.read_text("utf-8"))
        return f"query-{metadata['id']}"
    except (OSError, ValueError, KeyError, TypeError):
        raise DatasetError(
            f"format({options.kind!r}): a stream is written once by the identity of its checkpoint, which "
            f"{path if options.checkpoint_location else 'the option checkpointLocation'} does not give here; set "
            "checkpointLocation on the query to a directory seen here, or the option sink to a name of its own"
        ) from None


def commit_stream(options: QueueOptions, files: Sequence[str], batch: int, sink: str) -> int:
    """Put the rows of a stream's batch on, once; returns how many of them were not on yet.

    Raises:
        StoreInUse: a process has the store; the message names it.
        DatasetError: there is no such queue, or a record does not fit; the next attempt continues from here.
    """
    folder = _staging(options) / sink
    chosen = _decide(folder / f"batch-{batch}.json", sorted(files))
    if options.target == "seed":
        written = _seeds(options, chosen, f".{batch:06d}", append=False)
    else:
        with opened(
            options.store, options.kind, readonly=False, dfhintra=options.dfhintra, wait=BOUNDS["store_wait_seconds"]
        ) as stored:
            names = _names(stored, options, chosen)
            written = _put_once(stored, names, chosen, batch, _MARK + sink.encode("ascii"))
    discard(folder)  # batches follow one another, so all files there belong to this one
    return written


def _decide(path: Path, files: list[str]) -> list[str]:
    """The files of the first attempt that reached this point."""
    try:
        decided: list[str] = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        if files:
            publish_json(path, files)
        return files
    return decided


def abandon_stream(options: QueueOptions, batch: int, sink: str) -> None:
    """Clean up after a failed attempt, unless the files of the batch are fixed."""
    folder = _staging(options) / sink
    if not (folder / f"batch-{batch}.json").exists():
        discard(folder)


def _put_once(stored: Stored, names: Mapping[str, str], files: Sequence[str], batch: int, key: bytes) -> int:
    halves = {name: stored.recoverable(name) for name in names.values()}
    marks = {half: json.loads(stored.mark(key, recoverable=half) or b'{"batch": -1}') for half in halves.values()}
    done = {name: _done(stored, name, marks[half], batch) for name, half in halves.items()}
    count = stored.check(_left(files, names, done))
    for half, mark in marks.items():
        if mark["batch"] < batch:
            before = {name: stored.queue(name).last for name in halves if halves[name] == half}
            stored.put_mark(key, json.dumps({"batch": batch, "before": before}).encode("ascii"), recoverable=half)
    for written, place in enumerate(_left(files, names, done), 1):
        stored.put(*place)
        # Uncommitted records are held in memory. A commit in between is safe, because the mark lets the next attempt
        # continue.
        if not written % _BETWEEN_COMMITS:
            stored.commit()
    stored.commit()
    # Only after the records: until this mark is committed, a new attempt counts the records that are on.
    for half, mark in marks.items():
        if mark["batch"] <= batch:
            stored.put_mark(key, json.dumps({"batch": batch, "complete": True}).encode("ascii"), recoverable=half)
    stored.commit()
    return count


def _done(stored: Stored, name: str, mark: Mapping[str, Any], batch: int) -> int:
    """How many of the batch's records are already on a queue, according to the mark in its half of the store.

    The mark holds the last number of each queue before the batch, and is committed with the records put on after it.
    """
    # A later batch has begun, or this one is complete: none of its records are left to put on.
    if mark["batch"] > batch or (mark["batch"] == batch and "complete" in mark):
        return sys.maxsize
    return stored.put_since(name, mark["before"][name]) if mark["batch"] == batch else 0


# seeds ---------------------------------------------------------------------------------------------------------------


def _seeds(options: QueueOptions, files: Sequence[str], suffix: str, *, append: bool) -> int:
    """Write a file for each queue, each complete or not at all; returns the number of records."""
    written = 0
    for queue in _queues(files):
        ending = "hex" if options.kind == "tdqueue" else "jsonl"
        path = options.store / f"{queue.replace('/', '.')}{suffix}.{ending}"
        if not _NAMES[options.kind].fullmatch(queue):
            raise DatasetError(f"queue {queue[:40]!r}: this is no name of a queue; no file is made for it")
        with published(path) as fresh, fresh.open("w", encoding="ascii") as file:
            if append and path.is_file():
                with path.open(encoding="ascii") as present:
                    shutil.copyfileobj(present, file)
            for name, key, data in _records(files):
                if name == queue:
                    file.write(seed_line(key, data, as_json=options.kind == "dtaq"))
                    written += 1
    return written
