"""The corrupt fields of a batch, collected by layout field and combined at the end into one column.

If a file is read with the wrong copybook, every field of every record may be corrupt. Therefore the corrupt places are
kept in arrays, one set for each field of the layout, and only if the column that describes them is selected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tdqsim.pipeline._numbers import Ints

CORRUPT_COLUMN = "_corrupt_fields"


def corrupt_type(*, as_hex: bool, offset: bool = True) -> pa.ListType:
    """The type of the column of corrupt fields: name, bytes (binary, or as hexadecimal text), offset in the record."""
    fields = [
        ("field_name", pa.string()),
        ("raw_value", pa.string() if as_hex else pa.binary()),
        ("offset", pa.int32()),
    ]
    members = [pa.field(name, kind, nullable=False) for name, kind in (fields if offset else fields[:2])]
    return pa.list_(pa.field("element", pa.struct(members), nullable=False))


CORRUPT_TYPE = corrupt_type(as_hex=False)


@dataclass(frozen=True, slots=True)
class Corrupt:
    """The places where one field of the layout is corrupt.

    Attributes:
        path: the path of the field.
        rows: the row in the batch, for each corrupt place.
        offsets: the offset of the field in the record.
        names: the path of the field with its occurrence numbers.
        raw: the bytes of the field.
    """

    path: tuple[str, ...]
    rows: Ints
    offsets: Ints
    names: pa.Array
    raw: pa.Array


def corrupt_array(corrupt: Sequence[Corrupt], rows: int) -> pa.Array:
    """The column of corrupt fields: for each row of the batch a list, by offset."""
    places, offsets = _joined([bad.rows for bad in corrupt]), _joined([bad.offsets for bad in corrupt])
    order = np.lexsort((offsets, places))
    columns = (([bad.names for bad in corrupt], pa.string()), ([bad.raw for bad in corrupt], pa.binary()))
    names, raw = (pa.chunked_array(parts, kind).combine_chunks().take(pa.array(order)) for parts, kind in columns)
    members = [names, raw, pa.array(offsets[order].astype(np.int32))]
    entries = pa.StructArray.from_arrays(members, fields=list(CORRUPT_TYPE.value_type))
    bounds = np.append(0, np.cumsum(np.bincount(places, minlength=rows))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(bounds), entries, type=CORRUPT_TYPE)


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *parts])
