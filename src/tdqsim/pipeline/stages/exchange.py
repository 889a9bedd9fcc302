"""The exchange: events from any number of inputs, stored by bucket, so that one task has all events of a region.

Two steps work on pieces of the input. The first counts events by region; from the counts each region is assigned to a
bucket, the heaviest region first, always to the bucket with the least. The second writes each piece's events to a file
for each bucket, sorted by region and sequence number. Only counts and receipts travel between processes.

A piece is a range of bytes of a data set of fixed-length records, or some row groups of a Parquet file.
"""

from __future__ import annotations

import heapq
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tdqsim.errors import DatasetError
from tdqsim.pipeline._numbers import Bytes, Ints
from tdqsim.pipeline.limits import BOUNDS
from tdqsim.pipeline.parquet import open_parquet
from tdqsim.pipeline.publishing import publish_json, published
from tdqsim.pipeline.stages.events import EVENTS, conform, event_table, fixed_binary, no_nulls, stretches
from tdqsim.pipeline.stages.jobs import loaded_job
from tdqsim.pipeline.stages.manifest import Receipt, StageTask, digest_of, finished, publish, read_manifest, sum_of
from tdqsim.pipeline.stages.plan import Plan, TaskStep

_READ = 16 << 20
DD_SHIFT = 40
"""The numbers of an input's records begin at its place among the inputs, shifted left by this number of bits."""


@dataclass(frozen=True, slots=True)
class FixedPiece:
    """Some records of an input data set of a job; the job assigns each record to a region.

    Attributes:
        path: the data set.
        dd: its DD name; ``place`` is its place among the job's inputs.
        length: bytes of a record.
        directory: the region directory of the job.
        regions: how many regions there are.
        inputs: the job's data sets by DD name; the job assigns regions by some of them.
        first, rows: the first record, counted from 0, and the number of records.
    """

    path: Path
    dd: str
    place: int
    length: int
    directory: Path
    regions: int
    inputs: tuple[tuple[str, Path], ...]
    first: int = 0
    rows: int = 0

    def divided(self, size: int) -> Iterator[FixedPiece]:
        """The whole data set, in pieces of about ``size`` bytes.

        Raises:
            DatasetError: its size is not a multiple of the record length.
        """
        total, length = self.path.stat().st_size, self.length
        if total % length:
            raise DatasetError(
                f"{self.path}: its {total:,} bytes are no multiple of {length}: record {total // length + 1} at offset "
                f"{total // length * length} has only {total % length}; check LRECL, or whether the file was cut off"
            )
        records, step = total // length, max(1, size // length)
        for first in range(0, records, step):
            yield replace(self, first=first, rows=min(step, records - first))

    def tables(self) -> Iterator[pa.Table]:
        """Its events, in tables of some megabytes."""
        with loaded_job(self.directory) as job:
            route = job.router(dict(self.inputs), self.regions)
            names = pa.array([job.region_name(number, self.regions) for number in range(self.regions)])
            at_once = max(1, _READ // self.length)
            with self.path.open("rb") as file:
                file.seek(self.first * self.length)
                for done in range(0, self.rows, at_once):
                    wanted = min(at_once, self.rows - done)
                    matrix = self._read(file, wanted, self.first + done)
                    numbers = route(self.dd, matrix)
                    seq = np.arange(wanted, dtype=np.int64) + self.first + done + (self.place << DD_SHIFT)
                    yield event_table(names.take(pa.array(numbers)), seq, "DD", self.dd, fixed_binary(matrix))

    def region_columns(self) -> Iterator[pa.ChunkedArray]:
        """The regions of its events."""
        yield from (part.column("region") for part in self.tables())

    def _read(self, file: BinaryIO, records: int, number: int) -> Bytes:
        data = file.read(records * self.length)
        if len(data) != records * self.length:
            raise DatasetError(
                f"{self.path}: record {number + len(data) // self.length + 1} at offset "
                f"{number * self.length + len(data)}: the file ends inside it; was it cut off, or is it still written?"
            )
        return np.frombuffer(data, np.uint8).reshape(records, self.length)


@dataclass(frozen=True, slots=True)
class ParquetPiece:
    """Row groups of a Parquet file with events.

    Attributes:
        path: the file.
        groups: numbers of its row groups.
        rows: how many rows they have.
    """

    path: Path
    groups: tuple[int, ...]
    rows: int = 0

    def tables(self) -> Iterator[pa.Table]:
        """Its events, in tables of some megabytes."""
        yield from (conform(part, str(self.path), first) for first, part in self.numbered_parts())

    def region_columns(self) -> Iterator[pa.ChunkedArray]:
        """The regions of its events; reads no other column."""
        for first, part in self.numbered_parts(["region"]):
            if "region" not in part.column_names:
                conform(part, str(self.path), first)  # reports the columns that exist instead
            column = part.column("region").cast(pa.string())
            no_nulls(column, "region", str(self.path), first)
            yield column

    def numbered_parts(self, columns: list[str] | None = None) -> Iterator[tuple[int, pa.Table]]:
        """Its rows unchanged, in tables of some megabytes, each with the number of the file's rows before it."""
        with _readable(self.path, "cannot be read"):
            file = open_parquet(self.path)
            have = file.schema_arrow.names
            wanted = have if columns is None else [name for name in columns if name in have]
            for group in self.groups:
                metadata = file.metadata.row_group(group)
                done = sum(file.metadata.row_group(before).num_rows for before in range(group))
                each = max(1, metadata.total_byte_size // max(1, metadata.num_rows))
                rows = max(1, min(BOUNDS["batch_rows"] * 4, BOUNDS["batch_bytes"] // each))
                for batch in file.iter_batches(rows, row_groups=[group], columns=wanted or None):
                    yield done, pa.Table.from_batches([batch])
                    done += batch.num_rows


Piece = FixedPiece | ParquetPiece


@contextmanager
def _readable(path: Path, what: str) -> Iterator[None]:
    """Report that a Parquet file cannot be read."""
    try:
        yield
    except (OSError, pa.ArrowInvalid) as error:
        reason = " ".join(str(error).split())
        raise DatasetError(f"{path}: {what}: {reason}; copy it again, or leave it out") from error


def parquet_pieces(paths: list[Path], most_rows: int = BOUNDS["piece_rows"]) -> list[ParquetPiece]:
    """Parquet files with events, divided between row groups if they are large enough.

    Raises:
        DatasetError: a file cannot be read as Parquet; the message names it.
    """
    pieces: list[ParquetPiece] = []
    for path in paths:
        with _readable(path, "cannot be read as Parquet"):
            metadata = open_parquet(path).metadata
        groups: list[int] = []
        size = rows = 0
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            groups.append(number)
            size, rows = size + group.total_byte_size, rows + group.num_rows
            if size >= BOUNDS["piece_bytes"] or rows >= most_rows:
                pieces.append(ParquetPiece(path, tuple(groups), rows))
                groups, size, rows = [], 0, 0
        if groups:
            pieces.append(ParquetPiece(path, tuple(groups), rows))
    return pieces


@dataclass(frozen=True, slots=True)
class CountTask(StageTask):
    """Count the events of one piece by region, for the exchange in ``folder``."""

    piece: Piece
    folder: str


def count_piece(task: CountTask) -> Receipt:
    """Count the events of each region in a piece; the counts are in the receipt's details under ``counts``."""
    started = time.perf_counter()
    counts: dict[str, int] = {}
    for part in task.piece.region_columns():
        for row in part.value_counts().to_pylist():
            counts[row["values"]] = counts.get(row["values"], 0) + row["counts"]
    details = {"counts": dict(sorted(counts.items()))}
    return publish(task, f"count.{task.folder}", (), sum(counts.values()), started, **details)


def assign(counts: Mapping[str, int], buckets: int) -> dict[str, int]:
    """A bucket for each region: the heaviest region first, to the bucket with the least; deterministic."""
    loads = [(0, number) for number in range(max(1, min(buckets, len(counts))))]
    heapq.heapify(loads)
    assigned = {}
    for name in sorted(counts, key=lambda region: (-counts[region], region)):
        load, number = heapq.heappop(loads)
        assigned[name] = number
        heapq.heappush(loads, (load + counts[name], number))
    return assigned


@dataclass(frozen=True, slots=True)
class SplitTask(StageTask):
    """Write the events of one piece by bucket, according to ``plan``, to ``FOLDER/BUCKET/PIECE.arrow``."""

    piece: Piece
    folder: str
    plan: Mapping[str, int]


def split_piece(task: SplitTask) -> Receipt:
    """Write a piece's events by bucket, sorted by region and sequence number."""
    started = time.perf_counter()
    names = sorted(task.plan)
    buckets = np.array([task.plan[name] for name in names], np.int64)
    parts: dict[int, list[pa.Table]] = {}
    files: list[str] = []
    rows = held = spilled = 0

    def put_down() -> None:
        for bucket, tables in sorted(parts.items()):
            name = f"{task.folder}/{bucket:05d}/{task.bucket:05d}.{spilled:03d}.arrow"
            _write(task.run / name, tables)
            files.append(name)
        parts.clear()

    for part in task.piece.tables():
        rows += part.num_rows
        for bucket, events in _by_bucket(part, names, buckets):
            parts.setdefault(bucket, []).append(events)
        held += part.nbytes
        if held >= BOUNDS["split_bytes"]:
            put_down()
            held, spilled = 0, spilled + 1
    put_down()
    return publish(task, f"split.{task.folder}", files, rows, started)


def _by_bucket(part: pa.Table, names: list[str], buckets: Ints) -> Iterator[tuple[int, pa.Table]]:
    """A table's events for each bucket, sorted by region and sequence number."""
    codes = pc.index_in(part.column("region"), pa.array(names)).to_numpy()
    seq = part.column("seq").to_numpy()
    order = np.lexsort((seq, codes, buckets[codes]))
    sorted_part = part.take(pa.array(order))
    cut = buckets[codes][order]
    for start, stop in stretches(cut):
        yield int(cut[start]), sorted_part.slice(start, stop - start)


def _write(path: Path, tables: list[pa.Table]) -> None:
    whole = pa.concat_tables(tables)
    if len(tables) > 1:  # each part is sorted only within itself
        whole = whole.take(pc.sort_indices(whole, [("region", "ascending"), ("seq", "ascending")]))
    with published(path) as fresh, pa.OSFile(str(fresh), "wb") as sink, pa.ipc.new_file(sink, EVENTS) as writer:
        writer.write_table(whole, max_chunksize=BOUNDS["batch_rows"])


# the plan ------------------------------------------------------------------------------------------------------------


class Buckets(NamedTuple):
    """The assignment of regions to buckets.

    Attributes:
        regions: the bucket of each region.
        events: how many events each region has.
    """

    regions: Mapping[str, int]
    events: Mapping[str, int]


def load_buckets(run: Path) -> Buckets:
    """The assignment that ingest made.

    Raises:
        DatasetError: ingest was not run, or was not completed.
    """
    path = _plan_file(run, "exchange")
    if not path.is_file():
        raise DatasetError(f"{run}: there is no exchange in it; run tdq pipeline ingest --run {run} first")
    finished(run, "split.exchange", "ingest")
    return Buckets(**json.loads(path.read_text("utf-8")))


def _plan_file(run: Path, folder: str) -> Path:
    return run / f"{folder}.plan.json"


def bucket_files(run: Path, folder: str) -> dict[int, tuple[Path, ...]]:
    """The files with the events of each bucket."""
    files: dict[int, list[Path]] = {}
    for part in read_manifest(run, f"split.{folder}"):
        for path in (run / file for file in part.files):
            files.setdefault(int(path.parent.name), []).append(path)
    return {bucket: tuple(paths) for bucket, paths in files.items()}


def spread_events(
    run: Path, pieces: Sequence[Piece], base: str, buckets: int, folder: str, given: Mapping[str, int] | None = None
) -> Plan[Buckets]:
    """Store events by bucket.

    Args:
        run: the run's directory.
        pieces: the input.
        base: digest of the input.
        buckets: the maximum number of buckets.
        folder: the folder for the events, in the run's directory.
        given: an existing assignment of regions to buckets; other regions are added to it.

    Raises:
        DatasetError: there are no events, and no assignment is given.
    """
    count = [
        CountTask(run, at, digest_of(base, folder, at), piece.rows, piece, folder) for at, piece in enumerate(pieces)
    ]
    counts = sum_of((yield TaskStep(f"count.{folder}", run, count, count_piece)), "counts")
    if not counts and given is None:
        raise DatasetError("there are no events in the input; is it the right file, and the right --format?")
    regions = dict(given) if given is not None else assign(counts, buckets)
    for region in sorted(set(counts) - set(regions)):
        regions[region] = len(regions) % max(1, min(buckets, len(regions) or 1))
    made = Buckets(regions, dict(counts))
    publish_json(_plan_file(run, folder), made._asdict())
    inputs = digest_of(base, folder, regions)
    split = [
        SplitTask(run, at, digest_of(inputs, at), piece.rows, piece, folder, regions) for at, piece in enumerate(pieces)
    ]
    yield TaskStep(f"split.{folder}", run, split, split_piece, folder)
    return made
