"""The two sides of reconcile, region by region: what was expected from the exchange, what came out from replay.

Neither is held: what was expected stays in mapped files, and is taken some megabytes at a time, as is what came out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tdqsim.errors import DatasetError
from tdqsim.pipeline.stages.events import Slice
from tdqsim.pipeline.stages.order import in_order

__all__ = ["actual_records", "expected_records", "one"]

_EXPECT = "EXPECT"
_AT_ONCE = 16384
"""Rows of what came out that are read at once: a whole row group takes three times the memory, and as long."""


def expected_records(slices: Sequence[Slice], queue: str) -> Iterator[pa.Array]:
    """The expected records of one queue of a region, in order, some megabytes at a time.

    Args:
        slices: the region's events.
        queue: its name; an event that names none belongs to none.

    Raises:
        DatasetError: two events have the same number; names it.
    """
    for batch in in_order(slices):
        right = pc.and_(pc.equal(batch.column("command"), _EXPECT), pc.equal(batch.column("queue"), queue))
        every = pc.all(pc.fill_null(right, fill_value=False)).as_py()
        yield batch.column("data") if every else batch.column("data").filter(right)


def actual_records(path: Path) -> Iterator[tuple[str, str, pa.Array]]:
    """The records of a bucket as replay wrote them, in parts: region, queue, records. The parts of a region follow.

    Raises:
        DatasetError: the table cannot be read, or has a region in two places.
    """
    again = "run tdq pipeline replay again"
    seen: set[str] = set()
    name: str | None = None
    try:
        for batch in _batches(path):
            for start, stop, region in _runs(batch.column("region")):
                if region != name and region in seen:
                    raise DatasetError(f"{path}: the records of region {region} are in two places; {again}")
                seen.add(region)
                name = region
                part = batch.slice(start, stop - start)
                for queue, data in _by_queue(part.column("queue"), part.column("data")):
                    yield region, queue, data
    except (OSError, pa.ArrowInvalid) as error:
        raise DatasetError(f"{path}: this table of records cannot be read: {error}; {again}") from error


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    """A records table, some megabytes at a time; names stay coded, which costs next to nothing to read."""
    with pq.ParquetFile(path, read_dictionary=["region", "queue"]) as file:
        for group in range(file.num_row_groups):
            # Spark runs a task for each core: threads of Arrow's would only get in each other's way.
            yield from file.iter_batches(_AT_ONCE, [group], ["region", "queue", "data"], use_threads=False)


def _runs(coded: pa.DictionaryArray) -> Iterator[tuple[int, int, str]]:
    """Where the same value stands in a row of it: from, to, the value."""
    codes = coded.indices.to_numpy()
    cuts = np.concatenate(([0], np.flatnonzero(np.diff(codes)) + 1, [len(codes)])).tolist()
    for start, stop in pairwise(cuts):
        if stop > start:
            yield start, stop, coded[start].as_py()


def _by_queue(queues: pa.DictionaryArray, data: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """Records by queue, those of a queue in their order."""
    codes = queues.indices.to_numpy()
    if bool((np.diff(codes) < 0).any()):
        order = pa.array(np.argsort(codes, kind="stable"))
        queues, data = queues.take(order), data.take(order)
    for start, stop, queue in _runs(queues):
        yield queue, data.slice(start, stop - start)


def one(parts: Sequence[pa.Array], queue: str) -> pa.Array:
    """Records as one column; its places are counted in 31 bits.

    Raises:
        DatasetError: there is more than that; names the queue.
    """
    if len(parts) == 1:
        return parts[0]
    try:
        return pa.concat_arrays(parts) if parts else pa.array([], pa.binary())
    except pa.ArrowInvalid as error:
        size = sum(part.nbytes for part in parts)
        text = (
            "reconcile takes 2 GB of a queue of a region from the first record on that is not where it is expected; "
            "spread them over more regions"
        )
        raise DatasetError(f"queue {queue}: {size:,} bytes of records: {text}") from error
