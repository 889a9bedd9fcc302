"""Record layouts: COBOL copybooks and YAML, offsets, and records decoded and encoded in plain Python.

>>> layout = parse_copybook("01 R. 05 ID PIC 9(4). 05 AMOUNT PIC S9(3)V99 COMP-3.").record()
>>> layout.length
7
>>> layout.decode(bytes.fromhex("F0F0F4F2 12345D"))
{'ID': 42, 'AMOUNT': Decimal('-123.45')}
"""

from __future__ import annotations

from tdqsim.layouts._items import ConditionName, Occurs, Sign, Usage
from tdqsim.layouts.codecs import BadValue as BadValue
from tdqsim.layouts.codecs import DisplayBytes as DisplayBytes
from tdqsim.layouts.codecs import (
    Rules,
)
from tdqsim.layouts.codecs import binary_range as binary_range
from tdqsim.layouts.codecs import byte_order as byte_order
from tdqsim.layouts.codecs import decode_value as decode_value
from tdqsim.layouts.codecs import encode_value as encode_value
from tdqsim.layouts.codecs import fill as fill
from tdqsim.layouts.copybook import (
    Copybook,
    copybook_library,
    load_copybook,
    parse_copybook,
)
from tdqsim.layouts.copybook import merge_copybooks as merge_copybooks
from tdqsim.layouts.copybook import read_copybook as read_copybook
from tdqsim.layouts.fields import CorruptField, Field, FieldType
from tdqsim.layouts.layout import FieldFound, Layout, LayoutRow
from tdqsim.layouts.loading import load_layout
from tdqsim.layouts.picture import Picture
from tdqsim.layouts.picture import parse_picture as parse_picture
from tdqsim.layouts.yaml_form import load_layout_yaml, parse_layout_yaml

# Names that are imported as themselves are for other packages of this repository, without a promise.
__all__ = [
    "ConditionName",
    "Copybook",
    "CorruptField",
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
    "copybook_library",
    "load_copybook",
    "load_layout",
    "load_layout_yaml",
    "parse_copybook",
    "parse_layout_yaml",
]
