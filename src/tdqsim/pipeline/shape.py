"""The names and Arrow types of the columns of a layout.

Names, types and the treatment of FILLERs follow Cobrix, so that queries can be moved: ``-`` becomes ``_``; up to 9
digits are an int, up to 18 a long, more a decimal; implied decimals and trailing P are decimals; elementary FILLERs are
dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

import pyarrow as pa

from tdqsim.errors import LayoutError
from tdqsim.hosting import CodePage
from tdqsim.layouts import Field, FieldType, Layout, Usage

INT_DIGITS, LONG_DIGITS, DECIMAL_DIGITS = 9, 18, 38
NATIVE_DIGITS = {2: 5, 4: 10, 8: 20}


@dataclass(frozen=True, slots=True)
class Shape:
    """How a layout becomes columns; the attributes have the names of the options of ``format("qsam")``.

    The values are not checked here: :mod:`tdqsim.pipeline.option_table` checks those of the options.

    Attributes:
        schema_retention_policy: ``collapse_root`` or ``keep_original`` (the level 01 group is a column; so are all
            groups at the root, when there is no level 01).
        drop_group_fillers: leave FILLER groups out.
        drop_value_fillers: leave elementary FILLERs out.
        filler_naming_policy: ``sequence_numbers`` (FILLER_1) or ``previous_field_name`` (FILLER_AFTER_X; the first in a
            group is named after the group).
        string_trimming_policy: both, left, right, none, or keep_all (none, and control characters of ASCII stay).
        ascii_charset: how text in ASCII is read: empty for its code page; otherwise control characters are removed and
            the text is read as ``ascii`` (a byte beyond ASCII becomes a blank), as ``utf-8``, or in a code page (a byte
            without a character there becomes U+FFFD).
        strict_integral_precision: whole numbers are decimals of the digits in their PICTURE.
        display_pic_always_string: whole DISPLAY numbers are text: their sign, then their digits.
        binary_as_hex: binary columns become hexadecimal text.
        debug: ``hex``, ``raw`` or ``string``: after each elementary column a column NAME_debug with its bytes, in
            hexadecimal, unchanged, or as text in ASCII.
        flat: groups and tables are dissolved: ``GROUP_FIELD``, ``TABLE_1_FIELD``.
    """

    schema_retention_policy: str = "collapse_root"
    drop_group_fillers: bool = False
    drop_value_fillers: bool = True
    filler_naming_policy: str = "sequence_numbers"
    string_trimming_policy: str = "both"
    ascii_charset: str = ""
    strict_integral_precision: bool = False
    display_pic_always_string: bool = False
    binary_as_hex: bool = False
    debug: str = ""
    flat: bool = False


def list_of(kind: pa.DataType) -> pa.ListType:
    """A list type whose elements have the name that Spark gives them, because Spark compares names."""
    return pa.list_(pa.field("element", kind))


@dataclass(frozen=True, slots=True)
class Column:
    """One column: a leaf with its field, or a group with the columns inside.

    ``type`` is the type of one occurrence; ``is_debug`` marks a column with the bytes of the column before it.
    """

    name: str
    field: Field
    type: pa.DataType
    children: tuple[Column, ...] = ()
    is_debug: bool = False

    @property
    def arrow(self) -> pa.Field:
        """The column's Arrow field."""
        return pa.field(self.name, list_of(self.type) if self.field.occurs else self.type)


def columns_of(layout: Layout, shape: Shape) -> tuple[Column, ...]:
    """The columns of a layout, in field order.

    Raises:
        LayoutError: a number has more than 38 digits with its P positions, or two columns have the same name.
    """
    columns = tuple(_columns(layout.fields, shape, _name(layout.root)))
    dissolved = {field.path for field in dissolved_groups(layout, shape)}
    if dissolved:
        shown = [column.children if column.field.path in dissolved else (column,) for column in columns]
        columns = tuple(chain.from_iterable(shown))
    elif shape.schema_retention_policy == "keep_original" and layout.root:
        # The group at the root is not a field of the layout, so this makes one; it begins where the record begins.
        group = Field(layout.root, layout.root, (), 1, FieldType.GROUP, 0, layout.length, children=layout.fields)
        columns = (Column(_name(layout.root), group, _struct(columns), columns),)
    _refuse_doubles(columns, layout.name)
    return columns


def dissolved_groups(layout: Layout, shape: Shape) -> tuple[Field, ...]:
    """The groups of a layout that are dissolved under ``collapse_root``: their fields are columns, they are not.

    Without a level 01 these are the groups at the root, if there is nothing else; tables are kept.
    """
    whole = layout.root or not all(field.is_group for field in layout.fields)
    if whole or shape.schema_retention_policy != "collapse_root":
        return ()
    return tuple(field for field in layout.fields if field.occurs is None)


def charset_of(field: Field, page: CodePage, shape: Shape) -> str:
    """How a text field in ASCII is read: by its own code page, else by that of all text; empty for other fields."""
    if field.type not in (FieldType.TEXT, FieldType.EDITED) or page.kind != "ASCII":
        return ""
    return field.code_page if field.code_page and shape.ascii_charset else shape.ascii_charset


def column_name(field: Field) -> str:
    """The name of a field's column, except for FILLERs under ``previous_field_name``."""
    return _name(field.key)


def _name(name: str) -> str:
    return name.replace("-", "_").replace(":", "").replace("'", "").replace('"', "")


def _struct(children: tuple[Column, ...]) -> pa.DataType:
    return pa.struct([child.arrow for child in children])


def _columns(fields: tuple[Field, ...], shape: Shape, inside: str) -> Iterator[Column]:
    """The columns of a group's fields; ``inside`` is the group's name."""
    previous, taken = inside, set[str]()
    for field in fields:
        column = _column(field, shape, _free(_column_name(field, shape, previous), taken))
        previous = column.name if column is not None else _name(field.name)
        if column is not None:
            taken.add(column.name)
            yield column
            if shape.debug and not field.is_group:
                kind = pa.binary() if shape.debug == "raw" else pa.string()
                yield Column(f"{column.name}_debug", replace(field, type=FieldType.BYTES), kind, is_debug=True)


def _column_name(field: Field, shape: Shape, previous: str) -> str:
    if field.is_filler and shape.filler_naming_policy == "previous_field_name" and previous:
        return f"FILLER_AFTER_{previous}"
    return column_name(field)


def _free(name: str, taken: set[str]) -> str:
    """A name that is not taken; only FILLERs that follow other left-out fields need more than their own name."""
    if name not in taken or not name.startswith("FILLER"):
        return name
    return next(free for free in (f"{name}_{number}" for number in range(2, len(taken) + 3)) if free not in taken)


def _column(field: Field, shape: Shape, name: str) -> Column | None:
    if field.is_filler and (shape.drop_group_fillers if field.is_group else shape.drop_value_fillers):
        return None
    if not field.is_group:
        return Column(name, field, arrow_type(field, shape))
    children = tuple(_columns(field.children, shape, _name(field.name)))
    if not children:
        return None
    return Column(name, field, _struct(children), children)


def _refuse_doubles(columns: tuple[Column, ...], where: str) -> None:
    names: set[str] = set()
    for column in columns:
        if column.name.lower() in names:
            raise LayoutError(f"layout {where}: two columns are called {column.name}")
        names.add(column.name.lower())
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
    if shape.display_pic_always_string and field.type is FieldType.ZONED and field.scale == 0:
        return pa.string()
    if field.scale:
        return _decimal(field, max(_precision(field), field.scale), max(field.scale, 0))
    return _integer(field, shape)


def _decimal(field: Field, precision: int, scale: int) -> pa.DataType:
    if precision > DECIMAL_DIGITS:
        raise LayoutError(f"field {'.'.join(field.path)}: {precision} digits; a column holds at most {DECIMAL_DIGITS}")
    return pa.decimal128(precision, scale)


def _precision(field: Field) -> int:
    if field.type is FieldType.BINARY and field.usage is Usage.COMP_5 and field.scale > 0:
        return NATIVE_DIGITS.get(field.length, field.digits)
    return field.digits - min(field.scale, 0)


def _integer(field: Field, shape: Shape) -> pa.DataType:
    if shape.strict_integral_precision:
        return _decimal(field, field.digits, 0)
    if field.type is FieldType.BINARY and not field.signed:
        if field.digits == LONG_DIGITS or (field.usage is Usage.COMP_5 and field.length == 8):
            return pa.decimal128(20, 0)
        if field.digits == INT_DIGITS or (field.usage is Usage.COMP_5 and field.length == 4):
            return pa.int64()
    if field.digits <= INT_DIGITS:
        return pa.int32()
    return pa.int64() if field.digits <= LONG_DIGITS else _decimal(field, field.digits, 0)
