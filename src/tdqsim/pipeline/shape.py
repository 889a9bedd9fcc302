"""What the columns of a layout are called and which Arrow types they have.

Names, types and the treatment of FILLERs follow Cobrix, so that queries can move: ``-`` becomes ``_``; up to 9
digits are an int, up to 18 a long, more a decimal; implied decimals are decimals; elementary FILLERs are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from tdqsim.errors import LayoutError
from tdqsim.layouts import Field, FieldType, Layout, Usage

__all__ = ["Column", "Shape", "arrow_type", "columns_of", "list_of"]

INT_DIGITS, LONG_DIGITS, DECIMAL_DIGITS = 9, 18, 38
NATIVE_DIGITS = {2: 5, 4: 10, 8: 20}
TRIM_POLICIES = ("both", "none", "left", "right", "keep_all")


@dataclass(frozen=True, slots=True)
class Shape:
    """How a layout becomes columns; the attributes are named as the options of ``format("qsam")``.

    Attributes:
        schema_retention_policy: ``collapse_root`` or ``keep_original`` (the level 01 group is a column).
        drop_group_fillers: leave FILLER groups out.
        drop_value_fillers: leave elementary FILLERs out.
        filler_naming_policy: ``sequence_numbers`` (FILLER_1) or ``previous_field_name`` (FILLER_AFTER_X).
        string_trimming_policy: both, left, right or none.
        strict_integral_precision: whole numbers are decimals of their exact digits.
        display_pic_always_string: DISPLAY numbers stay text.
        binary_as_hex: binary columns become hexadecimal text.
        flat: groups and tables are dissolved: ``GROUP_FIELD``, ``TABLE_1_FIELD``.
    """

    schema_retention_policy: str = "collapse_root"
    drop_group_fillers: bool = False
    drop_value_fillers: bool = True
    filler_naming_policy: str = "sequence_numbers"
    string_trimming_policy: str = "both"
    strict_integral_precision: bool = False
    display_pic_always_string: bool = False
    binary_as_hex: bool = False
    flat: bool = False

    def __post_init__(self) -> None:
        for name, allowed in (
            ("schema_retention_policy", ("collapse_root", "keep_original")),
            ("filler_naming_policy", ("sequence_numbers", "previous_field_name")),
            ("string_trimming_policy", TRIM_POLICIES),
        ):
            value = getattr(self, name)
            if value not in allowed:
                raise LayoutError(f"{name} is {value!r}; must be one of {', '.join(allowed)}")
        if self.strict_integral_precision and self.display_pic_always_string:
            raise LayoutError("strict_integral_precision and display_pic_always_string exclude each other")


def list_of(kind: pa.DataType) -> pa.ListType:
    """A list type whose elements are called as Spark calls them: it compares names."""
    return pa.list_(pa.field("element", kind))


@dataclass(frozen=True, slots=True)
class Column:
    """One column: a leaf with its field, or a group with the columns inside. ``type`` is that of one occurrence."""

    name: str
    field: Field
    type: pa.DataType
    children: tuple[Column, ...] = ()

    @property
    def arrow(self) -> pa.Field:
        """The column's Arrow field."""
        return pa.field(self.name, list_of(self.type) if self.field.occurs else self.type)


def columns_of(layout: Layout, shape: Shape) -> tuple[Column, ...]:
    """The columns of a layout, in field order.

    Raises:
        LayoutError: a number has more than 38 digits with its P positions, or two columns get one name.
    """
    columns = tuple(_columns(layout.fields, shape))
    if shape.schema_retention_policy == "collapse_root":
        columns = tuple(
            inner for column in columns for inner in (column.children if _dissolves(column.field) else (column,))
        )
    elif layout.root:
        # The group is not a field of the layout, so it is made here; it begins where the record begins.
        group = Field(layout.root, layout.root, (), 1, FieldType.GROUP, 0, layout.length, children=layout.fields)
        columns = (Column(_name(layout.root), group, _struct(columns), columns),)
    _refuse_doubles(columns, layout.name)
    return columns


def _dissolves(field: Field) -> bool:
    return field.level == 1 and field.is_group and field.occurs is None


def _name(name: str) -> str:
    return name.replace("-", "_").replace(":", "").replace("'", "").replace('"', "")


def _struct(children: tuple[Column, ...]) -> pa.DataType:
    return pa.struct([child.arrow for child in children])


def _columns(fields: tuple[Field, ...], shape: Shape) -> Iterator[Column]:
    previous = ""
    for field in fields:
        column = _column(field, shape, previous)
        previous = field.name if not field.is_filler else previous
        if column is not None:
            yield column


def _column(field: Field, shape: Shape, previous: str) -> Column | None:
    if field.is_filler and (shape.drop_group_fillers if field.is_group else shape.drop_value_fillers):
        return None
    name = _name(field.key)
    if field.is_filler and shape.filler_naming_policy == "previous_field_name" and previous:
        name = f"FILLER_AFTER_{_name(previous)}"
    if not field.is_group:
        return Column(name, field, arrow_type(field, shape))
    children = tuple(_columns(field.children, shape))
    if not children:
        return None
    return Column(name, field, _struct(children), children)


def _refuse_doubles(columns: tuple[Column, ...], where: str) -> None:
    seen: set[str] = set()
    for column in columns:
        if column.name.lower() in seen:
            raise LayoutError(f"layout {where}: two columns are called {column.name}")
        seen.add(column.name.lower())
        _refuse_doubles(column.children, f"{where}.{column.name}")


def arrow_type(field: Field, shape: Shape) -> pa.DataType:
    """The Arrow type of one occurrence of an elementary field.

    Raises:
        LayoutError: a number has more than 38 digits with its P positions.
    """
    if field.type in (FieldType.TEXT, FieldType.EDITED, FieldType.NATIONAL):
        return pa.string()
    if field.type in (FieldType.BYTES, FieldType.DBCS):
        return pa.string() if shape.binary_as_hex else pa.binary()
    if field.type is FieldType.FLOAT:
        return pa.float32() if field.length == 4 else pa.float64()
    if shape.display_pic_always_string and field.type is FieldType.ZONED:
        return pa.string()
    if field.scale > 0:
        return _decimal(field, max(_precision(field), field.scale), field.scale)
    return _integer(field, shape)


def _decimal(field: Field, precision: int, scale: int) -> pa.DataType:
    if precision > DECIMAL_DIGITS:
        raise LayoutError(f"field {'.'.join(field.path)}: {precision} digits; a column holds at most {DECIMAL_DIGITS}")
    return pa.decimal128(precision, scale)


def _precision(field: Field) -> int:
    if field.type is FieldType.BINARY and field.usage is Usage.COMP_5:
        return NATIVE_DIGITS[field.length]
    return field.digits


def _integer(field: Field, shape: Shape) -> pa.DataType:
    digits = field.digits - field.scale
    if field.scale < 0 and field.type is FieldType.BINARY:
        return _decimal(field, NATIVE_DIGITS[field.length] - field.scale, 0)
    if shape.strict_integral_precision:
        wide = NATIVE_DIGITS[field.length] if field.type is FieldType.BINARY else digits
        return _decimal(field, wide, 0)
    if field.type is FieldType.BINARY and not field.signed:
        if digits == LONG_DIGITS or (field.usage is Usage.COMP_5 and field.length == 8):
            return pa.decimal128(20, 0)
        if digits == INT_DIGITS or (field.usage is Usage.COMP_5 and field.length == 4):
            return pa.int64()
    if digits <= INT_DIGITS:
        return pa.int32()
    return pa.int64() if digits <= LONG_DIGITS else _decimal(field, digits, 0)
