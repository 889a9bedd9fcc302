"""The two sides of reconcile, region by region: what was expected from the exchange, what came out from replay."""

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

__all__ = ["Records", "actual_records", "expected_records", "one"]

Records = dict[str, list[pa.Array]]
"""The records of a region by queue, in order, in parts."""

_EXPECT = "EXPECT"
_WANTED = ["region", "seq", "command", "queue", "data"]


def expected_records(slices: Sequence[Slice]) -> Records:
    """The expected records of a region.

    Args:
        slices: its events.

    Raises:
        DatasetError: two events have the same number; names it.
    """
    found: Records = {}
    narrow = [Slice(each.table.select(_WANTED), each.start, each.stop) for each in slices]
    for batch in in_order(narrow) if narrow else ():
        right = pc.fill_null(pc.equal(batch.column("command"), _EXPECT), False)
        part = batch if pc.all(right).as_py() else batch.filter(right)
        _sort_out(part.column("queue").dictionary_encode(), part.column("data"), found)
    return found


def actual_records(path: Path) -> Iterator[tuple[str, Records]]:
    """The records of each region of a bucket, as replay wrote them: held are one region's, and a row group.

    Raises:
        DatasetError: the table cannot be read, or has a region in two places.
    """
    again = "run tdq pipeline replay again"
    seen: set[str] = set()
    name: str | None = None
    found: Records = {}
    try:
        for batch in _batches(path):
            for start, stop, region in _runs(batch.column("region")):
                if region != name:
                    if name is not None:
                        yield name, found
                    if region in seen:
                        raise DatasetError(f"{path}: the records of region {region} are in two places; {again}")
                    seen.add(region)
                    name, found = region, {}
                part = batch.slice(start, stop - start)
                _sort_out(part.column("queue"), part.column("data"), found)
    except (OSError, pa.ArrowInvalid) as error:
        raise DatasetError(f"{path}: this table of records cannot be read: {error}; {again}") from error
    if name is not None:
        yield name, found


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    """A records table, row group by row group; names stay coded, which costs next to nothing to read."""
    with pq.ParquetFile(path, memory_map=True, read_dictionary=["region", "queue"]) as file:
        for group in range(file.num_row_groups):
            # Spark runs a task for each core: threads of Arrow's would only get in each other's way.
            yield from file.read_row_group(group, ["region", "queue", "data"], use_threads=False).to_batches()


def _runs(coded: pa.DictionaryArray) -> Iterator[tuple[int, int, str]]:
    """Where the same value stands in a row of it: from, to, the value."""
    codes = coded.indices.to_numpy()
    cuts = np.concatenate(([0], np.flatnonzero(np.diff(codes)) + 1, [len(codes)])).tolist()
    for start, stop in pairwise(cuts):
        if stop > start:
            yield start, stop, coded[start].as_py()


def _sort_out(queues: pa.DictionaryArray, data: pa.Array, found: Records) -> None:
    """Add records to those of their queue; an event that names none belongs to none."""
    if queues.null_count:
        right = pc.is_valid(queues)
        queues, data = queues.filter(right), data.filter(right)
    codes = queues.indices.to_numpy()
    if not len(codes):
        return
    if bool((codes == codes[0]).all()):
        found.setdefault(queues[0].as_py(), []).append(data)
        return
    order = pa.array(np.argsort(codes, kind="stable"))
    queues, data = queues.take(order), data.take(order)
    for start, stop, queue in _runs(queues):
        found.setdefault(queue, []).append(data.slice(start, stop - start))


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
        text = "reconcile takes 2 GB of a queue of a region; spread them over more regions"
        raise DatasetError(f"queue {queue}: {size:,} bytes of records: {text}") from error
