"""A digest of rows that does not depend on how they were cut into batches."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["RowsDigest"]


class _Column:
    """One column: which values are there, how long they are when lengths differ, and their bytes."""

    __slots__ = ("_bytes", "_lengths", "_valid")

    def __init__(self) -> None:
        self._valid, self._lengths, self._bytes = (blake2b(digest_size=16) for _ in range(3))

    def add(self, column: pa.Array) -> None:
        self._valid.update(column.is_valid().cast(pa.uint8()).to_numpy().data)
        column = column.drop_null() if column.null_count else column
        if pa.types.is_binary(column.type) or pa.types.is_string(column.type):
            self._lengths.update(pc.binary_length(column).to_numpy().data)
            self._bytes.update(_bytes(column))
        else:
            values = column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column
            self._bytes.update(np.ascontiguousarray(values.to_numpy()).data)

    def digest(self) -> bytes:
        return self._valid.digest() + self._lengths.digest() + self._bytes.digest()


def _bytes(column: pa.Array) -> Any:
    """The bytes of texts or records, one after another."""
    _, offsets, data = column.buffers()
    found = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return b"" if data is None else memoryview(data)[int(found[0]) : int(found[-1])]


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
