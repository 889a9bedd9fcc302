"""A batch of events as columns, and their responses as columns: nothing is made of a single event but its outcome."""

from __future__ import annotations

from itertools import repeat
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tdqsim.pipeline.stages.tables import Rows

__all__ = ["NORMAL", "Taken"]

NORMAL: Final = "NORMAL"
_FEW: Final = 64
"""So few rows are put down one by one."""


class Taken:
    """A batch of events that is being worked through.

    Attributes:
        rows: how many they are.
        at: the event that is being worked on; those before it are done.
        time_us, task, tran, command, queue, key, data: the columns as lists; None where every value is null, except
            for command and queue.
        seq: the sequence numbers.
        out: what each event gave.
        depth: how deep its queue was afterwards.
        odd: response, RESP2 and cause of events that did not end normally, by place.
        moments: places from which on another time holds, and that time in microseconds.
        unexpected: how many responses were expected otherwise, of those that were put down.
    """

    __slots__ = (
        "_batch", "_done", "at", "command", "data", "depth", "key", "moments", "odd", "out", "queue", "rows", "seq",
        "task", "time_us", "tran", "unexpected",
    )  # fmt: skip

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        self._done = self.at = 0
        self.rows = batch.num_rows
        self.seq = batch.column("seq").to_numpy()
        self.time_us = _numbers(batch.column("time_us"))
        self.task = _numbers(batch.column("task"))
        self.tran = _names(batch.column("tran"))
        self.command = _names(batch.column("command")) or []
        self.queue = _names(batch.column("queue")) or [""] * self.rows
        self.key = _records(batch.column("key"))
        self.data = _records(batch.column("data")) or [None] * self.rows
        self.out: list[bytes | None] = [None] * self.rows
        self.depth: list[int | None] = [None] * self.rows
        self.odd: dict[int, tuple[str, int, str | None]] = {}
        self.moments: list[tuple[int, int]] = []
        self.unexpected = 0

    def put(self, results: Rows) -> None:
        """Put down the events that are done and have not been put down yet."""
        first, last = self._done, self.at
        if first == last:
            return
        self._done = last
        columns = self._columns(first, last)
        if last - first <= _FEW:
            results.extend(zip(*(column.to_pylist() for column in columns), strict=True))
        else:
            results.columns(columns)

    def _columns(self, first: int, last: int) -> list[pa.Array]:
        """The columns of the results table after the region."""
        rows = last - first
        given, cut = self._batch, slice(first, last)
        resp, resp2, cause = self._responses(first, last)
        data = pa.array(self.out[cut], pa.binary())
        return [
            given.column("seq").slice(first, rows),
            self._times(first, last),
            given.column("task").slice(first, rows),
            given.column("command").slice(first, rows),
            given.column("queue").slice(first, rows),
            resp, resp2, self._expected(first, resp, resp2),
            pc.binary_length(data), data, pa.array(self.depth[cut], pa.int64()), cause,
        ]  # fmt: skip

    def _responses(self, first: int, last: int) -> tuple[pa.Array, pa.Array, pa.Array]:
        rows = last - first
        odd = {at - first: self.odd[at] for at in self.odd if first <= at < last}
        if not odd:
            normal = pa.repeat(pa.scalar(NORMAL), rows)
            return normal, pa.array(np.zeros(rows, np.int32)), pa.nulls(rows, pa.string())
        resp: list[str] = list(repeat(NORMAL, rows))
        cause: list[str | None] = [None] * rows
        resp2 = np.zeros(rows, np.int32)
        for at, what in odd.items():
            resp[at], resp2[at], cause[at] = what
        return pa.array(resp, pa.string()), pa.array(resp2), pa.array(cause, pa.string())

    def _times(self, first: int, last: int) -> pa.Array:
        places, times = zip(*self.moments, strict=True)
        which = np.searchsorted(np.array(places), np.arange(first, last), side="right") - 1
        return pa.array(np.array(times, np.int64)[which])

    def _expected(self, first: int, resp: pa.Array, resp2: pa.Array) -> pa.Array:
        """Whether responses are as expected; null where anything is."""
        rows = len(resp)
        wanted = self._batch.column("resp").slice(first, rows)
        wanted2 = self._batch.column("resp2").slice(first, rows)
        if wanted.null_count == rows and wanted2.null_count == rows:
            return pa.nulls(rows, pa.bool_())
        right = pc.fill_null(pc.equal(wanted, resp), fill_value=True)
        right2 = pc.fill_null(pc.equal(wanted2, resp2), fill_value=True)
        asked = pc.or_(pc.is_valid(wanted), pc.is_valid(wanted2))
        found = pc.and_(right, right2)
        self.unexpected += pc.sum(pc.and_(asked, pc.invert(found))).as_py() or 0
        return pc.if_else(asked, found, pa.scalar(None, pa.bool_()))


def _numbers(column: pa.Array) -> list[Any] | None:
    return None if column.null_count == len(column) else column.to_pylist()


def _records(column: pa.Array) -> list[bytes | None] | None:
    return None if column.null_count == len(column) else column.to_pylist()


def _names(column: pa.Array) -> list[str] | None:
    """A column of few different texts: each text is made once."""
    if column.null_count == len(column):
        return None
    coded = column.dictionary_encode()
    names = [*coded.dictionary.to_pylist(), ""]
    return list(map(names.__getitem__, coded.indices.fill_null(len(names) - 1).to_pylist()))
