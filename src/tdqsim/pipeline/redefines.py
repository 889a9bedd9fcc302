"""Decode redefinitions of which each record has one: the others are null and are not decoded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tdqsim.errors import DatasetError
from tdqsim.layouts import Field, Layout
from tdqsim.pipeline._numbers import Bytes, Ints
from tdqsim.pipeline.decoder import RecordDecoder
from tdqsim.pipeline.expressions import Expression, ExpressionError
from tdqsim.pipeline.shape import Column, Shape, column_name

__all__ = ["MARKS", "RedefineRules", "SegmentedDecoder", "fields_called", "pruned"]

Path = tuple[str, ...]
MARKS = "\0"  # separates the segment of a record from the marks of its rules


def fields_called(layout: Layout, name: str) -> list[Path]:
    """The paths of the fields with the name of a column, in any case.

    Raises:
        DatasetError: there is no such field, or a table outside depends on a field in it.
    """
    fields = [item for item in layout.walk() if column_name(item).lower() == name.lower()]
    if not fields:
        raise DatasetError(f"no column and no field is called {name}, so it cannot be a redefinition")
    for item in fields:
        inside = {inner.path for inner in item.walk()}
        for table in layout.walk():
            if table.depending_on in inside and table.path not in inside:
                raise DatasetError(f"the number of {table.name} is in {item.name}, which not every record has")
    return [item.path for item in fields]


class SegmentedDecoder:
    """Decodes records that each have only some of the redefinitions.

    Args:
        layout: the layout.
        shape: names and types of the columns.
        columns: the columns wanted; None for all.
        corrupt: as for :class:`RecordDecoder`.
        segments: path of each such redefinition, and a function that says from a record's segment whether it has it.
    """

    def __init__(
        self,
        layout: Layout,
        shape: Shape,
        columns: Sequence[str] | None,
        corrupt: str,
        segments: Mapping[Path, Callable[[str], bool]],
    ) -> None:
        self.layout, self.shape, self.corrupt = layout, shape, corrupt
        self.segments = segments
        whole = RecordDecoder(layout, shape, columns=columns, corrupt=corrupt)
        self.schema, self.columns = whole.schema, whole.columns
        self._known = {} if shape.flat else {column.name: column for column in whole.columns}
        self._decoders: dict[frozenset[Path], RecordDecoder] = {}
        # Fields that all records have are decoded for all records at once, unless corrupt fields are collected.
        common = [] if shape.flat or corrupt == "column" else [c.name for c in self.columns if not self._differs(c)]
        self._common = RecordDecoder(layout, shape, columns=common, corrupt=corrupt) if common else None
        self._different = pa.schema([field for field in self.schema if field.name not in common])

    def _differs(self, column: Column) -> bool:
        """Whether a column is a redefinition that not every record has, or contains one."""
        path = column.field.path
        return any(other[: len(path)] == path for other in self.segments)

    def decode(self, data: Bytes, starts: Ints, lengths: Ints, segments: npt.NDArray[np.object_]) -> pa.RecordBatch:
        """Decode records by place, each with its segment."""
        special = self._by_segment(data, starts, lengths, segments)
        if self._common is None:
            return special
        common = self._common.decode(data, starts, lengths)
        arrays = {name: made.column(name) for made in (common, special) for name in made.schema.names}
        return pa.RecordBatch.from_arrays([arrays[name] for name in self.schema.names], schema=self.schema)

    def _by_segment(
        self, data: Bytes, starts: Ints, lengths: Ints, segments: npt.NDArray[np.object_]
    ) -> pa.RecordBatch:
        encoded = pa.array(segments, pa.string()).fill_null("").dictionary_encode()
        names, kinds = encoded.dictionary.to_pylist(), np.asarray(encoded.indices)
        absent = [frozenset(path for path, has in self.segments.items() if not has(name)) for name in names]
        parts, order = [], []
        for without in dict.fromkeys(absent):
            rows = np.flatnonzero(np.isin(kinds, [index for index, kind in enumerate(absent) if kind == without]))
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
            columns = [name for name in self._different.names if name.lower() in left]
            wanted = None if self.shape.flat else columns
            decoder = RecordDecoder(layout, self.shape, columns=wanted, corrupt=self.corrupt)
            self._decoders[without] = decoder
        batch = decoder.decode(data, starts, lengths)
        arrays = {name: batch.column(name) for name in batch.schema.names}
        made = [
            _grown(arrays.get(field.name), field.type, self._known.get(field.name), without, batch.num_rows)
            for field in self._different
        ]
        return pa.RecordBatch.from_arrays(made, schema=self._different)


class RedefineRules:
    """Decides from the fields of a record which redefinitions it has.

    Args:
        layout: the layout.
        shape: how its columns are read.
        rules: each redefinition, and the expression that is true for a record that has it.

    Attributes:
        has: path of each redefinition, and a function that says from a record's :meth:`marks` whether it has it.

    Raises:
        DatasetError: an expression is invalid, or a field does not exist.
    """

    def __init__(self, layout: Layout, shape: Shape, rules: Mapping[str, str]) -> None:
        self._rules = {name: Expression(text, f"redefine_rule of {name}") for name, text in rules.items()}
        names = list(dict.fromkeys(name for rule in self._rules.values() for name in rule.names))
        try:
            fields = [layout.field(name) for name in names]
        except LookupError as error:
            raise DatasetError(f"redefine_rule: {error.args[0]}") from None
        if any(item.is_group or item.occurs for item in fields):
            raise DatasetError(f"redefine_rule: {', '.join(names)} must be elementary fields, outside OCCURS")
        plain = replace(shape, debug="", flat=False, drop_value_fillers=False, strict_integral_precision=False)
        single = [Layout(layout.name, (item,), layout.rules) for item in fields]
        self._values = {name: RecordDecoder(one, plain) for name, one in zip(names, single, strict=True)}
        self.has = {
            path: _mark_at(index) for index, name in enumerate(self._rules) for path in fields_called(layout, name)
        }

    def marks(self, data: Bytes, starts: Ints, lengths: Ints) -> npt.NDArray[np.object_]:
        """For each record a text with a mark for each rule: 1 where the rule is true, else 0.

        Raises:
            DatasetError: a rule has no value for a record.
        """
        columns = [decoder.decode(data, starts, lengths).column(0).to_pylist() for decoder in self._values.values()]
        rows = list(zip(*columns, strict=True)) if columns else [()] * len(starts)
        known = {row: self._marks(row) for row in dict.fromkeys(rows)}
        return np.array([known[row] for row in rows], object)

    def _marks(self, row: tuple[object, ...]) -> str:
        values = dict(zip(self._values, row, strict=True))
        marks = []
        for name, rule in self._rules.items():
            try:
                value = rule.value(values)
            except ExpressionError as error:
                raise DatasetError(f"redefine_rule of {name}: {error}") from None
            if not isinstance(value, bool):
                raise DatasetError(f"redefine_rule of {name}: {rule.text[:60]!r} is neither true nor false")
            marks.append(str(int(value)))
        return "".join(marks)


def _mark_at(index: int) -> Callable[[str], bool]:
    return lambda mark: mark.rpartition(MARKS)[2][index : index + 1] == "1"


def pruned(layout: Layout, without: frozenset[Path]) -> Layout:
    """The layout without some fields; the others keep their places."""
    return replace(layout, fields=_pruned(layout.fields, without))


def _pruned(fields: tuple[Field, ...], without: frozenset[Path]) -> tuple[Field, ...]:
    return tuple(replace(item, children=_pruned(item.children, without)) for item in fields if item.path not in without)


def _grown(
    array: pa.Array | None, kind: pa.DataType, column: Column | None, without: frozenset[Path], rows: int
) -> pa.Array:
    """The array with null members added where it lacks them; ``column`` is its column, None if it is no struct."""
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
