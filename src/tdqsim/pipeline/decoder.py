"""Decode records to Arrow, a batch at a time, with exactly the results of :mod:`tdqsim.layouts`.

A batch is some bytes and a place in them for each record. A field of a record is at this place plus its offset. So the
bytes of a field are a column of a matrix with a row for each record: a view of the file's bytes if all records have the
same length, otherwise a copy. Columns are converted with numpy and Arrow. Whatever is not clearly well-formed (blanks
in a number, unusual signs, text that is not valid UTF-16) goes to the plain decoder, each different byte pattern once.
So both agree by construction, and the fast path handles only the usual case.

Other places are derived from those of the records:

* A redefinition that only some records have is decoded at the places of these records, and is null in the others.
* A table is decoded with a place for each occurrence.
* If the tables of records take only the room of their occurrences, the fields that follow a table are at places which
  are lower by the bytes that the table lacks. The tables of a redefinition say nothing about the fields that follow it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy

import numpy as np
import pyarrow as pa

from tdqsim.errors import LayoutError
from tdqsim.layouts import Layout
from tdqsim.pipeline._batch import Pass
from tdqsim.pipeline._corrupt import CORRUPT_COLUMN, CORRUPT_TYPE, Corrupt, corrupt_array
from tdqsim.pipeline._numbers import Bytes, Ints, Mask
from tdqsim.pipeline._rows import Path, PlacedRows
from tdqsim.pipeline.shape import Column, Shape, columns_of


class RecordDecoder:
    """Decodes batches of records by a layout.

    Args:
        layout: the layout.
        shape: names and types of the columns.
        columns: names of the top-level columns to return, in this order; None for all.
        corrupt: whether the last column is a list of the corrupt fields, which are null.
        strict: whether the number of a table that the table does not allow is a corrupt field.

    Raises:
        LayoutError: a wanted column does not exist, or a column has no Arrow type.
    """

    def __init__(
        self,
        layout: Layout,
        shape: Shape | None = None,
        *,
        columns: Sequence[str] | None = None,
        corrupt: bool = False,
        strict: bool = False,
    ) -> None:
        self.layout = layout
        self.shape = shape or Shape()
        self.columns = columns_of(layout, self.shape)
        self.corrupt, self._strict = corrupt, strict
        counters = layout.counters
        self._counting = frozenset(
            item.path
            for item in (layout.walk() if counters else ())
            if any(inner.depending_on or inner.path in counters for inner in item.walk())
        )
        if columns is not None:
            self.columns = self._chosen(columns)
        self.schema, self.reach = self._arranged(self.columns)

    def only(self, columns: Sequence[str]) -> RecordDecoder:
        """The decoder of some of the columns, in the order given.

        Raises:
            LayoutError: a column does not exist.
        """
        other = copy(self)
        other.columns = self._chosen(columns)
        other.schema, other.reach = self._arranged(other.columns)
        return other

    def _chosen(self, names: Sequence[str]) -> tuple[Column, ...]:
        known = {column.name.lower(): column for column in self.columns}
        for name in names:
            if name.lower() not in known:
                raise LayoutError(
                    f"layout {self.layout.name} has no column {name!r}; it has "
                    f"{', '.join(column.name for column in self.columns)}"
                )
        return tuple([known[name.lower()] for name in names])

    def _arranged(self, columns: tuple[Column, ...]) -> tuple[pa.Schema, int]:
        """The schema of some columns, and how many bytes of a record are needed for them."""
        fields = list(_flat_fields(columns)) if self.shape.flat else [column.arrow for column in columns]
        if self.corrupt:
            fields.append(pa.field(CORRUPT_COLUMN, CORRUPT_TYPE))
        reach = max([column.field.offset + column.field.size for column in columns], default=0)
        return pa.schema(fields), reach

    def decode(
        self,
        data: bytes | memoryview | Bytes,
        starts: Ints,
        lengths: Ints,
        present: Mapping[Path, Mask] | None = None,
        found: list[Corrupt] | None = None,
    ) -> pa.RecordBatch:
        """Decode records of a file.

        Args:
            data: the bytes in which the records are.
            starts: where each record begins in them, in ascending order.
            lengths: number of bytes of each record.
            present: for redefinitions that only some records have, which records these are.
            found: a list to which the corrupt fields are added.
        """
        width = self.layout.length
        buffer = np.frombuffer(data, np.uint8) if not isinstance(data, np.ndarray) else data
        if not width or not len(starts):
            starts, lengths, buffer = starts * 0, lengths * 0, np.zeros(width, np.uint8)
        first, end = (int(starts[0]), int(starts[-1]) + width) if len(starts) else (0, width)
        if end <= len(buffer):
            buffer = buffer[first:end]
        else:
            buffer = np.concatenate((buffer[first:], np.zeros(end - len(buffer), np.uint8)))
        places = starts - first if first else starts
        corrupt = list[Corrupt]() if found is None else found
        records = PlacedRows(buffer, places, places + lengths, (0, self.reach))
        kept = corrupt if self.corrupt or found is not None else None
        one = Pass(
            self.layout,
            self.shape,
            records,
            counting=self._counting,
            corrupt=kept,
            strict=self._strict,
            present=present,
        )
        return self._finish(one.columns(self.columns), corrupt, len(places))

    def _finish(self, arrays: list[pa.Array], corrupt: list[Corrupt], rows: int) -> pa.RecordBatch:
        if self.shape.flat:
            arrays = list(_flattened(self.columns, arrays))
        if self.corrupt:
            arrays.append(corrupt_array(corrupt, rows))
        if not self.schema.names:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


# helpers --------------------------------------------------------------------------------------------------------------


def _flat_fields(columns: Iterable[Column], prefix: str = "") -> Iterable[pa.Field]:
    for column in columns:
        names = [f"{prefix}{column.name}"]
        if column.field.occurs:
            names = [f"{prefix}{column.name}_{index + 1}" for index in range(column.field.occurs.maximum)]
        for name in names:
            if column.children:
                yield from _flat_fields(column.children, f"{name}_")
            else:
                yield pa.field(name, column.type)


def _flattened(columns: Iterable[Column], arrays: Iterable[pa.Array]) -> Iterable[pa.Array]:
    """Groups as their columns, tables as one column for each occurrence."""
    for column, array in zip(columns, arrays, strict=True):
        singles = [array]
        if column.field.occurs:
            singles = [_element(array, index) for index in range(column.field.occurs.maximum)]
        for single in singles:
            if column.children:
                yield from _flattened(column.children, single.flatten())
            else:
                yield single


def _element(array: pa.Array, index: int) -> pa.Array:
    """One occurrence of a table for every row; null where the row has fewer occurrences."""
    offsets = array.offsets.to_numpy()
    places = offsets[:-1] + index
    missing = places >= offsets[1:]
    return array.values.take(pa.array(np.where(missing, 0, places), mask=missing))
