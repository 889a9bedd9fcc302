"""Load: write a table to data sets, seed files or data queue dumps, for tdqsim and other programs.

``dataset`` writes a data set for each queue, with its regions in the order of their names: the bytes do not depend on
the buckets. ``seed`` writes a file of hexadecimal lines for each region and queue, as ``tdq write --seed --hex`` takes
them. ``dtaq`` writes JSON lines for each system and data queue, as ``tdq dtaq`` takes them.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from tdqsim.datasets import Dcb, open_writer, parse_recfm
from tdqsim.errors import DatasetError
from tdqsim.pipeline.parquet import arrow_source, read_parquet
from tdqsim.pipeline.publishing import published, seed_line
from tdqsim.pipeline.stages.events import in_order, open_pieces
from tdqsim.pipeline.stages.exchange import bucket_files
from tdqsim.pipeline.stages.manifest import finished, one_of, read_manifest
from tdqsim.pipeline.stages.tables import read_table, table_files

TARGETS = ("dataset", "seed", "dtaq")
TABLES = ("records", "events")
_ROWS: Final = 8192
_UNFIT: Final = re.compile(r"[^A-Za-z0-9@#$_.-]")


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """The options of a generated load.

    Attributes:
        run: the run's directory.
        target: one of :data:`TARGETS`.
        out: the output directory.
        table: ``records``, the result of replay, or ``events``, the result of ingest.
        queues: only these; empty for all.
        recfm: record format of data sets.
        lrecl: their record length; 0 for that of the first record, and in variable formats for the maximum.
    """

    run: Path
    target: str
    out: Path
    table: str = "records"
    queues: tuple[str, ...] = ()
    recfm: str = "FB"
    lrecl: int = 0


def run_load(request: LoadRequest) -> dict[str, Any]:
    """Write the requested files; each gets its name when it is complete.

    Raises:
        NotAllowed: an argument is not allowed.
        DatasetError: there is no such table or queue, a record does not fit the data set, two files would have the same
            name, or they cannot be written.
    """
    one_of("load", request.target, TARGETS)
    one_of("--table", request.table, TABLES)
    queues = _queues(request)
    try:
        request.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatasetError(f"--output {request.out}: {error.strerror}; name a directory, or a place for one") from error
    names: dict[str, str] = {}
    make = _data_set if request.target == "dataset" else _lines
    made = {queue: make(request, queue, names) for queue in queues}
    return {"queues": made, "output": str(request.out)}


def _queues(request: LoadRequest) -> list[str]:
    """The queues that are wanted."""
    files, empty = _files(request), set[str]()
    if request.table == "records":
        final = read_table(request.run, "replay", "queue_final", ["queue", "depth"])
        empty = set(final.column("queue").to_pylist())
        names = set(final.filter(pc.greater(final.column("depth"), 0)).column("queue").to_pylist())
    else:
        names = {name for path in files for name in read_parquet(path, ["queue"]).column(0).unique().to_pylist()}
    there = sorted(name for name in names if name)
    for queue in request.queues:
        if queue not in there and queue not in empty:
            known = ", ".join(there) or "none"
            raise DatasetError(f"--queue {queue}: no region of {request.run} has it; there are records of {known}")
    return list(dict.fromkeys(request.queues)) or there


def _files(request: LoadRequest) -> list[Path]:
    """The files of the table."""
    records = request.table == "records"
    stage, name, command = ("replay", "records", "replay") if records else ("ingest", "events", "ingest")
    if not (request.run / stage / name).exists():
        raise DatasetError(f"{request.run}: there is no {request.table} table; run tdq pipeline {command} first")
    finished(request.run, "replay" if records else "split.exchange", command)
    return table_files(request.run, stage, name)


Parts = Iterator[tuple[list[bytes | None], list[bytes]]]
"""Keys and records, in batches of some megabytes."""


def _regions(request: LoadRequest, queue: str) -> Iterator[tuple[str, Parts]]:
    """The records of a queue, region by region in the order of their names."""
    if request.table == "events":
        files = bucket_files(request.run, "exchange").values()
        slices = open_pieces([path for some in files for path in some])
        for region, parts in slices.items():
            yield region, _wanted(in_order(parts), queue)
        return
    places = {name: part.bucket for part in read_manifest(request.run, "replay") for name in part.details["regions"]}
    for region in sorted(places):
        mine = (pc.field("region") == region) & (pc.field("queue") == queue)
        source, filesystem = arrow_source(request.run / "replay" / "records" / f"{places[region]:05d}.parquet")
        batches = ds.dataset(source, format="parquet", filesystem=filesystem).to_batches(
            columns=["queue", "key", "data"], filter=mine, batch_size=_ROWS, batch_readahead=1, use_threads=False
        )
        yield region, _wanted(batches, queue)


def _wanted(batches: Iterator[pa.RecordBatch], queue: str) -> Parts:
    for batch in batches:
        mine = pc.and_(pc.equal(batch.column("queue"), queue), pc.is_valid(batch.column("data")))
        records = batch.filter(mine)
        if records.num_rows:
            yield records.column("key").to_pylist(), records.column("data").to_pylist()


def _data_set(request: LoadRequest, queue: str, names: dict[str, str]) -> int:
    recfm, control = parse_recfm(request.recfm)
    path = request.out / _own_name(names, f"queue {queue}", queue, "PS")
    written, where = 0, ""
    try:
        with ExitStack() as stack:
            fresh = stack.enter_context(published(path))
            writer: Any = None
            for region, parts in _regions(request, queue):
                where = f"queue {queue} of region {region}: "
                for _, records in parts:
                    if writer is None:
                        lrecl = request.lrecl or (len(records[0]) if recfm.fixed else 0)
                        writer = stack.enter_context(open_writer(fresh, Dcb(recfm, lrecl=lrecl, control=control)))
                    written += writer.put_all(records)
            if writer is None:
                fresh.touch()
    except DatasetError as error:
        hint = "make room and run it again" if _disk_is_full(error) else "see --recfm and --lrecl"
        raise DatasetError(f"{where}{error}; {hint}") from error
    return written


def _disk_is_full(error: BaseException | None) -> bool:
    """Whether a full disk caused an error."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        error = error.__cause__
    return False


def _own_name(names: dict[str, str], what: str, *parts: str) -> str:
    """The name of a file."""
    name = _file_name(*parts)
    other = names.setdefault(name, what)
    if other != what:
        raise DatasetError(
            f"{other} and {what} would both be the file {name}; rename one, or load them apart by --queue and --output"
        )
    return name


def _file_name(*parts: str) -> str:
    """A name for a file that stays in its folder, whatever names regions and queues have."""
    return ".".join(_UNFIT.sub("_", part.replace("/", ".")).lstrip(".") or "_" for part in parts)


def _lines(request: LoadRequest, queue: str, names: dict[str, str]) -> int:
    written = 0
    suffix = "hex" if request.target == "seed" else "jsonl"
    for region, parts in _regions(request, queue):
        first = next(parts, None)
        if first is None:
            continue
        name = _own_name(names, f"queue {queue} of region {region}", region, queue, suffix)
        with published(request.out / name) as fresh, fresh.open("w", encoding="ascii") as file:
            for keys, records in chain([first], parts):
                for key, data in zip(keys, records, strict=True):
                    file.write(seed_line(key, data, as_json=request.target == "dtaq"))
                written += len(records)
    return written
