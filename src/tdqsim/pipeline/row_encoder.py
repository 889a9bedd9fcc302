"""Encode rows one by one: every layout and every value, with the errors for those that do not fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from tdqsim.errors import ConversionError
from tdqsim.layouts import Field, FieldType, Layout
from tdqsim.pipeline.options import QsamOptions
from tdqsim.pipeline.segment_rows import Row, RowSegments, value_of, values_in
from tdqsim.pipeline.shape import Column, columns_of, dissolved_groups

Values = dict[str, Any]
"""The values of a record by field, as :meth:`Layout.encode` takes them."""


class RowEncoder:
    """Encodes rows one by one. Null becomes X'00', which is zero in a binary number or float, or as options say."""

    def __init__(self, layout: Layout, options: QsamOptions) -> None:
        self.layout = layout
        self.shape = replace(options.shape, debug="")
        self.columns = columns_of(layout, self.shape)
        self.options = options
        self.kept = options.shape.schema_retention_policy == "keep_original" and bool(layout.root)
        self.collapsed = {field.key for field in dissolved_groups(layout, self.shape)}
        groups = [group for each in layout.groups.values() for group in each if len(group) > 1]
        self.sharing = {field.path: group[0].path for group in groups for field in group}
        self.tables = [field for field in layout.walk() if field.depending_on and field.occurs]
        self.segments = RowSegments(options, self.columns) if options.segment_map else None

    def encode(self, row: Row) -> bytes:
        """The record of a row."""
        by_name = {name.lower(): value for name, value in row.items()}
        values = self._rooted(self._group(self.columns, by_name))
        for table in self.tables:
            _count(table, values)
        trimmed = self.shape.string_trimming_policy
        absent = self.segments.absent(by_name) if self.segments is not None else None
        if not absent:
            return self.layout.encode(values, trimmed=trimmed)
        assert self.segments is not None
        layout = self.segments.without(self.layout, absent)
        record = layout.encode(values_in(layout.fields, values), trimmed=trimmed)
        # In formats with lengths a record ends with its segment.
        fixed = self.options.recfm.fixed and not self.options.self_sized
        return record.ljust(self.layout.length, b"\0") if fixed else record

    def family(self, row: Row) -> list[bytes]:
        """The records of a root and the segments below it."""
        assert self.segments is not None
        return [self.encode(each) for each in self.segments.family(row)]

    def _rooted(self, values: Values) -> Values:
        """The values by the fields at the root of the layout: of its one group, or of several dissolved groups."""
        if self.kept:
            return next(iter(values.values()), {}) or {}
        if not self.collapsed:
            return values
        out: Values = {}
        for field in self.layout.fields:
            if field.key in self.collapsed:
                out[field.key] = {child.key: values[child.key] for child in field.children if child.key in values}
            elif field.key in values:
                out[field.key] = values[field.key]
        return out

    def onto(self, row: Row, base: bytes, old: Row) -> bytes:
        """The record ``base`` with the changes that the row makes; ``old`` are the values decoded from ``base``."""
        changed = self._changes(self.columns, {name.lower(): value for name, value in row.items()}, old)
        return self.layout.encode(self._rooted(changed), base=base)

    def _changes(self, columns: tuple[Column, ...], row: Row, old: Row) -> Values:
        """The values of a row that differ from ``old``. A redefinition that is null is not part of this record."""
        values: Values = {}
        for column in columns:
            new, was = value_of(row, column.name), old.get(column.name)
            if str(new) == str(was) or (new is None and column.field.path in self.sharing):
                continue
            if column.children and isinstance(new, dict) and isinstance(was, dict):
                values[column.field.key] = self._changes(column.children, new, was)
            elif column.children and isinstance(new, list) and isinstance(was, list) and len(new) == len(was):
                pairs = zip(new, was, strict=True)
                values[column.field.key] = [self._changes(column.children, one or {}, other) for one, other in pairs]
            else:
                values[column.field.key] = self._value(column, new)
        return values

    def _group(self, columns: tuple[Column, ...], row: Row) -> Values:
        """The values of a row. Of columns that share bytes, those that are not null are used, or else the first one."""
        given = {self._first(column) for column in columns if value_of(row, column.name) is not None}
        values: Values = {}
        for column in columns:
            value, first = value_of(row, column.name), self._first(column)
            if value is None and column.field.path in self.sharing and (first in given or column.field.redefines):
                values[column.field.key] = None
            else:
                values[column.field.key] = self._value(column, value)
        return values

    def _first(self, column: Column) -> tuple[str, ...]:
        """The path of the field that a column's field redefines, or the path of the field itself."""
        return self.sharing.get(column.field.path, column.field.path)

    def _value(self, column: Column, value: Any) -> Any:
        if column.field.occurs is not None:
            if value is not None and not isinstance(value, list | tuple | np.ndarray):
                raise _refused(column, value, f"a list of at most {column.field.occurs.maximum} elements")
            elements = [] if value is None else list(value)
            if column.field.depending_on is None:
                elements += [None] * (column.field.occurs.maximum - len(elements))
            return [self.single(column, element) for element in elements]
        return self.single(column, value)

    def single(self, column: Column, value: Any) -> Any:
        """One occurrence of a column, as :meth:`Layout.encode` takes it."""
        if column.children:
            if value is not None and not isinstance(value, Mapping):
                raise _refused(column, value, f"a struct of {', '.join(child.name for child in column.children)}")
            return self._group(column.children, value or {})
        if value is None:
            return self.null(column.field)
        if pa.types.is_string(column.type) and isinstance(value, str):
            try:
                if column.field.type in (FieldType.BYTES, FieldType.DBCS):
                    return bytes.fromhex(value)
                return int(value) if column.field.is_numeric else value
            except ValueError:
                raise _refused(
                    column, value, "digits, sign first" if column.field.is_numeric else "hexadecimal digits"
                ) from None
        if isinstance(value, Decimal) and value.is_finite() and column.field.scale <= 0 and value == int(value):
            return int(value)
        return value

    def null(self, field: Field) -> Any:
        """What is encoded for a null."""
        options = self.options
        if (
            field.type in (FieldType.TEXT, FieldType.EDITED, FieldType.NATIONAL)
            and options.write_null_strings_as_spaces
        ):
            return ""
        if field.type is FieldType.BYTES:
            return bytes(field.length)
        zero = (
            field.type in (FieldType.BINARY, FieldType.FLOAT)  # X'00' is a number in these types
            or (field.type is FieldType.ZONED and options.write_null_display_numbers_as_zeros)
            or (field.type is FieldType.PACKED and options.write_null_comp3_numbers_as_zeros)
        )
        return 0 if zero else None


def _count(table: Field, values: Values) -> None:
    """The number of elements of a table, when its DEPENDING ON field has no value; not for tables in tables."""
    assert table.depending_on is not None
    elements, holder = _inside(values, table.path), _inside(values, table.depending_on[:-1])
    key = table.depending_on[-1]
    if isinstance(elements, list) and isinstance(holder, dict) and holder.get(key) is None:
        holder[key] = len(elements)


def _inside(values: Any, path: tuple[str, ...]) -> Any:
    """The value at a path of keys; None where a key is missing."""
    for key in path:
        values = values.get(key) if isinstance(values, dict) else None
    return values


def _refused(column: Column, value: object, allowed: str) -> ConversionError:
    return ConversionError(f"{'.'.join(column.field.path)}: {str(value)[:60]!r} does not fit; allowed: {allowed}")
