"""Record layouts: COBOL copybooks and YAML, offsets, and records decoded and encoded in plain Python.

>>> layout = parse_copybook("01 R. 05 ID PIC 9(4). 05 AMOUNT PIC S9(3)V99 COMP-3.").record()
>>> layout.length
7
>>> layout.decode(bytes.fromhex("F0F0F4F2 12345D"))
{'ID': 42, 'AMOUNT': Decimal('-123.45')}
"""

from __future__ import annotations

from tdqsim.layouts._items import ConditionName, Occurs, Sign, Usage
from tdqsim.layouts.codecs import (
    BadValue,
    DisplayBytes,
    Rules,
    binary_range,
    byte_order,
    decode_value,
    display_bytes,
    encode_value,
    fill,
    number_table,
)
from tdqsim.layouts.copybook import (
    Copybook,
    copybook_library,
    load_copybook,
    merge_copybooks,
    parse_copybook,
    read_copybook,
)
from tdqsim.layouts.fields import CorruptField, Field, FieldType
from tdqsim.layouts.layout import FieldFound, Layout, LayoutRow
from tdqsim.layouts.loading import load_layout
from tdqsim.layouts.picture import Picture, parse_picture
from tdqsim.layouts.yaml_form import load_layout_yaml, parse_layout_yaml

__all__ = [
    "BadValue",
    "ConditionName",
    "Copybook",
    "CorruptField",
    "DisplayBytes",
    "Field",
    "FieldFound",
    "FieldType",
    "Layout",
    "LayoutRow",
    "Occurs",
    "Picture",
    "Rules",
    "Sign",
    "Usage",
    "binary_range",
    "byte_order",
    "copybook_library",
    "decode_value",
    "display_bytes",
    "encode_value",
    "fill",
    "load_copybook",
    "load_layout",
    "load_layout_yaml",
    "merge_copybooks",
    "number_table",
    "parse_copybook",
    "parse_layout_yaml",
    "parse_picture",
    "read_copybook",
]
