"""Redefinitions inside other groups, of which each record has one: the others are null, and are not decoded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tdqsim.errors import DatasetError
from tdqsim.layouts import Field, Layout
from tdqsim.pipeline._numbers import Bytes
from tdqsim.pipeline.decoder import RecordDecoder
from tdqsim.pipeline.shape import Column, Shape, column_name

__all__ = ["SegmentedDecoder", "fields_called", "pruned"]

Ints = npt.NDArray[np.int64]
Path = tuple[str, ...]


def fields_called(layout: Layout, name: str) -> list[Path]:
    """The paths of the fields of a name, as columns have it, in any case.

    Raises:
        DatasetError: there is none, or a table outside depends on a field in it.
    """
    found = [item for item in layout.walk() if column_name(item).lower() == name.lower()]
    if not found:
        raise DatasetError(f"redefine_segment_id_map: there is no column and no field {name}")
    for item in found:
        inside = {inner.path for inner in item.walk()}
        for table in layout.walk():
            if table.depending_on in inside and table.path not in inside:
                raise DatasetError(f"redefine_segment_id_map: the number of {table.name} is in {item.name}")
    return [item.path for item in found]


class SegmentedDecoder:
    """Decodes records of which each has some redefinitions only.

    Args:
        layout: the layout.
        shape: names and types of the columns.
        columns: the columns wanted; None for all.
        corrupt: as for :class:`RecordDecoder`.
        segments: path of each such redefinition to the segments that have it.
    """

    def __init__(
        self,
        layout: Layout,
        shape: Shape,
        columns: Sequence[str] | None,
        corrupt: str,
        segments: Mapping[Path, Sequence[str]],
    ) -> None:
        self.layout, self.shape, self.columns, self.corrupt = layout, shape, columns, corrupt
        self.segments = segments
        whole = RecordDecoder(layout, shape, columns=columns, corrupt=corrupt)
        self.schema = whole.schema
        self._known = {} if shape.flat else {column.name: column for column in whole.columns}
        self._decoders: dict[frozenset[Path], RecordDecoder] = {}

    def decode(self, data: Bytes, starts: Ints, lengths: Ints, segments: npt.NDArray[np.object_]) -> pa.RecordBatch:
        """Decode records by place, each with its segment."""
        names, kinds = np.unique([value or "" for value in segments.tolist()], return_inverse=True)
        absent = [frozenset(path for path, ids in self.segments.items() if name not in ids) for name in names.tolist()]
        parts, order = [], []
        for without in dict.fromkeys(absent):
            rows = np.flatnonzero(np.isin(kinds, [index for index, found in enumerate(absent) if found == without]))
            parts.append(self._part(data, starts[rows], lengths[rows], without))
            order.append(rows)
        if not parts:
            return self._part(data, starts, lengths, frozenset())
        if len(parts) == 1:
            return parts[0]
        back = pa.array(np.argsort(np.concatenate(order)))
        return pa.Table.from_batches(parts).combine_chunks().to_batches()[0].take(back)

    def _part(self, data: Bytes, starts: Ints, lengths: Ints, without: frozenset[Path]) -> pa.RecordBatch:
        decoder = self._decoders.get(without)
        if decoder is None:
            layout = pruned(self.layout, without)
            left = {name.lower() for name in RecordDecoder(layout, self.shape).schema.names}
            columns = None if self.columns is None else [name for name in self.columns if name.lower() in left]
            decoder = RecordDecoder(layout, self.shape, columns=columns, corrupt=self.corrupt)
            self._decoders[without] = decoder
        found = decoder.decode(data, starts, lengths)
        arrays = {name: found.column(name) for name in found.schema.names}
        made = [
            _grown(arrays.get(field.name), field.type, self._known.get(field.name), without, found.num_rows)
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(made, schema=self.schema)


def pruned(layout: Layout, without: frozenset[Path]) -> Layout:
    """The layout without some fields; the others stay where they are."""
    return replace(layout, fields=_pruned(layout.fields, without))


def _pruned(fields: tuple[Field, ...], without: frozenset[Path]) -> tuple[Field, ...]:
    return tuple(replace(item, children=_pruned(item.children, without)) for item in fields if item.path not in without)


def _grown(
    array: pa.Array | None, kind: pa.DataType, column: Column | None, without: frozenset[Path], rows: int
) -> pa.Array:
    """The array with null members for those that it lacks; ``column`` is what it is an array of, None for no struct."""
    if array is not None and array.type == kind:
        return array
    if column is None or column.field.path in without or (array is None and pa.types.is_list(kind)):
        return pa.nulls(rows, kind)
    if array is not None and pa.types.is_list(kind):
        values = _grown(array.values, kind.value_type, column, without, len(array.values))
        return pa.ListArray.from_arrays(array.offsets, values, type=kind)
    if not column.children:
        return pa.nulls(rows, kind)
    have = {} if array is None else {field.name: array.field(index) for index, field in enumerate(array.type)}
    children = [_grown(have.get(child.name), child.arrow.type, child, without, rows) for child in column.children]
    return pa.StructArray.from_arrays(children, fields=list(kind))
