"""The events of one region in sequence order, from all pieces that have some, in bounded memory."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tdqsim.errors import DatasetError
from tdqsim.pipeline.bounds import BOUNDS
from tdqsim.pipeline.stages.events import EVENTS, Slice

__all__ = ["in_order"]


def in_order(slices: Sequence[Slice]) -> Iterator[pa.RecordBatch]:
    """Batches of a region's events by sequence number.

    Pieces that follow each other, as those of a file do, are read one after another; others are merged.

    Raises:
        DatasetError: two events have the same number; names it.
    """
    if all(left.last < right.first for left, right in pairwise(slices)):
        for each in slices:
            yield from each.batches()
        return
    if sum(each.stop - each.start for each in slices) <= BOUNDS["sort_rows"]:
        whole = pa.concat_tables([each.table.slice(each.start, each.stop - each.start) for each in slices])
        yield from _sorted(whole)
        return
    rows = heapq.merge(*(_rows(each) for each in slices), key=itemgetter("seq"))
    held: list[dict[str, Any]] = []
    last: object = None
    for row in rows:
        if row["seq"] == last:
            raise _double(row["region"], last)
        last = row["seq"]
        held.append(row)
        if len(held) == BOUNDS["batch_rows"]:
            yield pa.RecordBatch.from_pylist(held, schema=EVENTS)
            held.clear()
    if held:
        yield pa.RecordBatch.from_pylist(held, schema=EVENTS)


def _sorted(whole: pa.Table) -> Iterator[pa.RecordBatch]:
    """A region that fits in memory, sorted at once."""
    ordered = whole.take(pc.sort_indices(whole.column("seq")))
    seq = ordered.column("seq").to_numpy()
    doubles = np.flatnonzero(np.diff(seq) == 0)
    if len(doubles):
        raise _double(ordered.column("region")[int(doubles[0])].as_py(), int(seq[doubles[0]]))
    for start in range(0, ordered.num_rows, BOUNDS["batch_rows"]):
        yield from ordered.slice(start, BOUNDS["batch_rows"]).combine_chunks().to_batches()


def _double(region: str, seq: object) -> DatasetError:
    return DatasetError(f"region {region}: two events have the number {seq}; numbers must differ")


def _rows(each: Slice) -> Iterator[dict[str, Any]]:
    for batch in each.batches():
        yield from batch.to_pylist()
