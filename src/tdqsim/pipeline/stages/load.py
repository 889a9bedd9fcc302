"""Load: a table into data sets, seed files or data queue dumps, so that tdqsim and others can take it up.

``dataset`` writes a data set for each queue, its regions one after another in the order of their names: the same bytes
whatever the buckets were. ``seed`` writes a file of hexadecimal lines for each region and queue, as ``tdq seed --hex``
takes them. ``dtaq`` writes JSON lines for each system and data queue, as ``tdq dtaq`` takes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tdqsim.datasets import Dcb, open_writer, parse_recfm
from tdqsim.errors import DatasetError, TdqError
from tdqsim.pipeline.stages.manifest import published
from tdqsim.pipeline.stages.tables import table_files

__all__ = ["TARGETS", "LoadRequest", "run_load"]

TARGETS = ("dataset", "seed", "dtaq")


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """What is to be made.

    Attributes:
        run: the run's directory.
        target: one of :data:`TARGETS`.
        out: where it goes.
        table: ``records``, what replay left, or ``events``, what ingest brought.
        queues: only these; empty for all.
        recfm: record format of data sets.
        lrecl: their record length; 0: of the first record, and for variable formats the longest there may be.
    """

    run: Path
    target: str
    out: Path
    table: str = "records"
    queues: tuple[str, ...] = ()
    recfm: str = "FB"
    lrecl: int = 0


def run_load(request: LoadRequest) -> dict[str, Any]:
    """Make what is asked for; each file gets its name when it is whole.

    Raises:
        TdqError: an argument is not allowed.
        DatasetError: there is no such table, or a record does not fit the data set.
    """
    if request.target not in TARGETS:
        raise TdqError(f"load {request.target}: allowed are {', '.join(TARGETS)}")
    found: dict[str, int] = {}
    request.out.mkdir(parents=True, exist_ok=True)
    for queue in _queues(request):
        if request.target == "dataset":
            found[queue] = _data_set(request, queue)
        else:
            found[queue] = _lines(request, queue)
    return {"queues": found, "output": str(request.out)}


def _sources(request: LoadRequest) -> list[Path]:
    if request.table == "records":
        files = table_files(request.run, "replay", "records")
    elif request.table == "events":
        files = table_files(request.run, "ingest", "events")
    else:
        raise TdqError(f"--table {request.table}: allowed are records and events")
    if not files:
        stage = "replay" if request.table == "records" else "ingest"
        raise DatasetError(f"{request.run}: there is no {request.table} table; run tdq pipeline {stage} first")
    return files


def _queues(request: LoadRequest) -> list[str]:
    if request.queues:
        return list(request.queues)
    names: set[str] = set()
    for path in _sources(request):
        names |= set(pq.read_table(path, columns=["queue"], partitioning=None).column(0).unique().to_pylist())
    return sorted(name for name in names if name)


def _parts(request: LoadRequest, queue: str) -> Iterator[tuple[str, pa.Table]]:
    """The records of a queue, region by region in the order of their names: each region is in one file."""
    places: dict[str, list[Path]] = {}
    for path in _sources(request):
        for name in pq.read_table(path, columns=["region"], partitioning=None).column(0).unique().to_pylist():
            places.setdefault(name, []).append(path)
    order = "recno" if request.table == "records" else "seq"
    for region in sorted(places):
        parts = []
        for path in places[region]:
            columns = ["region", "queue", order, "key", "data"]
            filters = [("region", "==", region), ("queue", "==", queue)]
            parts.append(pq.read_table(path, columns=columns, filters=filters, partitioning=None))
        whole = pa.concat_tables(parts)
        whole = whole.filter(pc.is_valid(whole.column("data"))).sort_by(order)
        if whole.num_rows:
            yield region, whole


def _data_set(request: LoadRequest, queue: str) -> int:
    recfm, control = parse_recfm(request.recfm)
    path = request.out / f"{queue.replace('/', '.')}.PS"
    written = 0
    with ExitStack() as stack:
        fresh = stack.enter_context(published(path))
        writer: Any = None
        for _, part in _parts(request, queue):
            records = part.column("data").to_pylist()
            if writer is None:
                lrecl = request.lrecl or (len(records[0]) if recfm.fixed else 0)
                writer = stack.enter_context(open_writer(fresh, Dcb(recfm, lrecl=lrecl, control=control)))
            written += writer.put_all(records)
        if writer is None:
            fresh.touch()
    return written


def _lines(request: LoadRequest, queue: str) -> int:
    written = 0
    for region, part in _parts(request, queue):
        suffix = "hex" if request.target == "seed" else "jsonl"
        name = f"{region}.{queue.replace('/', '.')}.{suffix}"
        with published(request.out / name) as fresh, fresh.open("w", encoding="ascii") as file:
            for key, data in zip(part.column("key").to_pylist(), part.column("data").to_pylist(), strict=True):
                if request.target == "seed":
                    file.write(f"{data.hex().upper()}\n")
                else:
                    entry = {"data": data.hex().upper()} | ({"key": key.hex().upper()} if key else {})
                    file.write(f"{json.dumps(entry)}\n")
                written += 1
    return written
