"""A digest of rows that does not depend on how they were cut into batches."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["RowsDigest"]


class _Nulls:
    """Which values of a column are there, as lengths of runs: the same runs however batches are cut."""

    __slots__ = ("_hash", "_length", "_state")

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=16)
        self._state = True
        self._length = 0

    def add(self, column: pa.Array) -> None:
        rows = len(column)
        if not column.null_count or column.null_count == rows:
            self._run(not column.null_count, rows)
            return
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        edges = np.flatnonzero(np.diff(valid)) + 1
        lengths = np.diff(np.concatenate(([0], edges, [rows])))
        state = bool(valid[0])
        self._run(state, int(lengths[0]))
        if len(lengths) > 1:
            self._end()
            self._hash.update(lengths[1:-1].astype(np.int64).tobytes())
            self._state, self._length = bool(valid[-1]), int(lengths[-1])

    def _run(self, state: bool, length: int) -> None:
        if state is not self._state:
            self._end()
            self._state = state
        self._length += length

    def _end(self) -> None:
        self._hash.update(self._length.to_bytes(8, "little"))
        self._length = 0

    def digest(self) -> bytes:
        return self._hash.digest() + self._length.to_bytes(8, "little") + bytes([self._state])


class _Column:
    """One column: which values are there, how long they are when lengths differ, and their bytes."""

    __slots__ = ("_bytes", "_lengths", "_nulls")

    def __init__(self) -> None:
        self._nulls = _Nulls()
        self._lengths = blake2b(digest_size=16)
        self._bytes = blake2b(digest_size=16)

    def add(self, column: pa.Array) -> None:
        self._nulls.add(column)
        if column.null_count:
            if column.null_count == len(column):
                return
            column = column.drop_null()
        if pa.types.is_binary(column.type) or pa.types.is_string(column.type):
            offsets, data = _parts(column)
            self._lengths.update(np.diff(offsets).data)
            self._bytes.update(data)
        else:
            values = column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column
            self._bytes.update(np.ascontiguousarray(values.to_numpy()).data)

    def digest(self) -> bytes:
        return self._nulls.digest() + self._lengths.digest() + self._bytes.digest()


def _parts(column: pa.Array) -> tuple[npt.NDArray[np.int32], Any]:
    """The offsets of a column of texts or records, and the bytes from the first of them to the last."""
    _, offsets, data = column.buffers()
    found = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return found, b"" if data is None else memoryview(data)[int(found[0]) : int(found[-1])]


class RowsDigest:
    """A digest of the rows of several tables; rows of one table count in their order, tables by name."""

    def __init__(self) -> None:
        self._columns: dict[tuple[str, str], _Column] = {}

    def update(self, name: str, batch: pa.RecordBatch) -> None:
        """Some more rows of a table."""
        for column, field in zip(batch.columns, batch.schema, strict=True):
            key = (name, field.name)
            if key not in self._columns:
                self._columns[key] = _Column()
            self._columns[key].add(column)

    def hexdigest(self) -> str:
        """The digest of what was put in so far."""
        found = blake2b(digest_size=16)
        for key in sorted(self._columns):
            found.update("/".join(key).encode() + b"\0" + self._columns[key].digest())
        return found.hexdigest()
