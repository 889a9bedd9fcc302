"""Corrupt fields of a batch: a bundle for each field of the layout, in columns, and brought together at the end.

Every field of every record may be corrupt, in a file that is read by the wrong copybook. So nothing is kept for each of
them but the column that describes them: batches hold arrays, and there are none if that column is not selected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tdqsim.errors import ConversionError
from tdqsim.pipeline._numbers import Ints, Mask

__all__ = ["CORRUPT_TYPE", "Corrupt", "corrupt_array", "corrupt_type", "refuse_first"]


def corrupt_type(*, as_hex: bool, offset: bool = True) -> pa.ListType:
    """The type of the column of corrupt fields: name, bytes (as they are or in hexadecimal), offset in the record."""
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
    """Where one field of the layout is corrupt.

    Attributes:
        path: the field.
        rows: the row in the batch, of each place where it is.
        offsets: its offset in the record.
        names: its path with the occurrence numbers.
        raw: its bytes.
    """

    path: tuple[str, ...]
    rows: Ints
    offsets: Ints
    names: pa.Array
    raw: pa.Array

    def some(self, keep: Mask) -> Corrupt:
        """Those of a mask."""
        mask = pa.array(keep)
        return Corrupt(self.path, self.rows[keep], self.offsets[keep], self.names.filter(mask), self.raw.filter(mask))

    def moved(self, by: Ints) -> Corrupt:
        """The same, so many bytes nearer to the beginning of the record."""
        return replace(self, offsets=self.offsets - by)


def corrupt_array(found: Sequence[Corrupt], rows: int) -> pa.Array:
    """The column of corrupt fields: for each row of the batch a list, by offset."""
    places, offsets = _joined([bad.rows for bad in found]), _joined([bad.offsets for bad in found])
    order = np.lexsort((offsets, places))
    columns = (([bad.names for bad in found], pa.string()), ([bad.raw for bad in found], pa.binary()))
    names, raw = (pa.chunked_array(parts, kind).combine_chunks().take(pa.array(order)) for parts, kind in columns)
    members = [names, raw, pa.array(offsets[order].astype(np.int32))]
    entries = pa.StructArray.from_arrays(members, fields=list(CORRUPT_TYPE.value_type))
    bounds = np.append(0, np.cumsum(np.bincount(places, minlength=rows))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(bounds), entries, type=CORRUPT_TYPE)


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *parts])


def refuse_first(found: Sequence[Corrupt]) -> None:
    """Refuse a batch with a corrupt field.

    Raises:
        ConversionError: there is one; names the first: its record, offset and bytes.
    """
    if not found:
        return
    (bad,) = corrupt_array(found, 1 + max(int(bad.rows.max()) for bad in found)).flatten()[:1].to_pylist()
    raise ConversionError(
        f"field {bad['field_name']} X'{bad['raw_value'].hex().upper()}': no value of its type",
        record=min(int(each.rows.min()) for each in found) + 1,
        offset=bad["offset"],
    )
