"""What Spark's schema says of a column besides its type, by the names that Cobrix uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql.types import ArrayType, DataType, StructField, StructType

from tdqsim.layouts import Field, FieldType, Usage
from tdqsim.pipeline.options import QsamOptions
from tdqsim.pipeline.shape import Column, columns_of

__all__ = ["with_metadata"]

TEXTS = (FieldType.TEXT, FieldType.EDITED, FieldType.NATIONAL, FieldType.BYTES, FieldType.DBCS)
USAGES = {Usage.BINARY: "COMP-4", Usage.PACKED_DECIMAL: "COMP-3", Usage.COMP_6: "COMP-3U"}
SEGMENT_ID_LENGTH, TIME_LENGTH = 50, 15


def with_metadata(schema: StructType, options: QsamOptions) -> StructType:
    """The schema of a read with metadata: ``basic`` or ``extended`` as the options say, or none."""
    columns = {} if options.layout is None or options.shape.flat else _named(columns_of(options.layout, options.shape))
    groups = {column.name: column for top in columns.values() for column in _groups(top)}
    known = _Known(options, groups)
    prefix = len(options.segment_prefix) if options.segment_prefix_given else TIME_LENGTH
    fields = []
    for field in schema.fields:
        made = known.field(field, columns)
        if field.name.startswith("Seg_Id") and field.name not in columns and options.segment_levels:
            made = StructField(field.name, field.dataType, field.nullable, {"maxLength": prefix + SEGMENT_ID_LENGTH})
        fields.append(made)
    return StructType(fields)


def _named(columns: Iterable[Column]) -> dict[str, Column]:
    return {column.name: column for column in columns}


def _groups(column: Column) -> Iterator[Column]:
    if column.children:
        yield column
        for child in column.children:
            yield from _groups(child)


class _Known:
    """The columns of a layout; a table of child segments has the fields of the segment's group, wherever that is."""

    def __init__(self, options: QsamOptions, groups: dict[str, Column]) -> None:
        self.options, self.groups = options, groups

    def field(self, field: StructField, columns: dict[str, Column]) -> StructField:
        column = columns.get(field.name)
        child = column is None and field.name in self.groups and bool(self.options.segment_children)
        inner = self.groups[field.name] if child else column
        kind = self._type(field.dataType, _named(inner.children) if inner is not None else {})
        told = {} if column is None or not self.options.metadata else self._of(column)
        return StructField(field.name, kind, field.nullable, told)

    def _type(self, kind: DataType, columns: dict[str, Column]) -> DataType:
        if isinstance(kind, ArrayType):
            return ArrayType(self._type(kind.elementType, columns), kind.containsNull)
        if isinstance(kind, StructType) and columns:
            return StructType([self.field(field, columns) for field in kind.fields])
        return kind

    def _of(self, column: Column) -> dict[str, Any]:
        item, told = column.field, dict[str, Any]()
        if column.is_debug:
            told["maxLength"] = item.length * (2 if self.options.shape.debug == "hex" else 1)
        elif item.type in TEXTS:
            told["maxLength"] = item.picture.length if item.picture is not None else item.length
        elif (
            self.options.shape.display_pic_always_string and not item.is_group and item.scale == 0 and not _floats(item)
        ):
            told["maxLength"] = item.digits + item.signed
        if item.occurs is not None:
            told |= {"minElements": item.occurs.minimum, "maxElements": item.occurs.maximum}
        return told | _extended(column) if self.options.metadata == "extended" else told


def _floats(item: Field) -> bool:
    return item.type is FieldType.FLOAT


def _extended(column: Column) -> dict[str, Any]:
    """Level, offset and clauses of a field."""
    item = column.field
    told: dict[str, Any] = {"level": item.level, "offset": item.offset, "byte_size": item.length}
    if item.name != column.name and not item.is_filler:
        told["originalName"] = item.name
    if item.redefines:
        told["redefines"] = item.redefines[-1].replace("-", "_")
    if item.depending_on:
        told["depending_on"] = item.depending_on[-1].replace("-", "_")
    if item.usage is not Usage.DISPLAY:
        told["usage"] = USAGES.get(item.usage, str(item.usage))
    if item.picture is not None:
        told["pic"] = item.picture.text
    if item.is_numeric:
        told |= {
            "precision": item.digits,
            "signed": item.signed,
            "sign_separate": item.sign is not None and item.sign.separate,
        }
    if item.is_numeric and item.scale:
        shown = item.picture is not None and any(mark in item.picture.mask for mark in ".,")
        told |= {"scale": max(item.scale, 0), "implied_decimal": not shown}
        told |= {"scale_factor": item.scale} if item.scale < 0 else {}
    return told
