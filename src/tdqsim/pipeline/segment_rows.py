"""The segments of rows that are to be written: which redefinitions a record has, and the records below a root.

``redefine_segment_id_map`` gives the redefinitions of a record, by its segment field, as for a read. The others must
be null; in a format with lengths, the record ends with its segment. ``segment-children`` makes several records of a
row: the root, and below it, depth first, the elements of its tables of child segments. A child has the fields outside
the segments from its root, and the first id of its segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tdqsim.errors import ConversionError, DatasetError
from tdqsim.layouts import Field, Layout
from tdqsim.pipeline._columns import BLANKS
from tdqsim.pipeline._rows import Path
from tdqsim.pipeline.options import QsamOptions
from tdqsim.pipeline.redefines import fields_called, pruned
from tdqsim.pipeline.shape import Column

Row = Mapping[str, Any]
"""The values of a row by column; the value of a group is another such mapping."""


class RowSegments:
    """The segments of a layout, as the columns of rows.

    Raises:
        DatasetError: the segment field is no column, or a segment is no field.
    """

    def __init__(self, options: QsamOptions, columns: tuple[Column, ...]) -> None:
        assert options.layout is not None
        self._ids = options.segment_map
        self._children = options.segment_children
        known = {column.field.path: names for names, column in _walk(columns, ())}
        try:
            selector = options.layout.field(options.segment_field)
        except LookupError as error:
            raise DatasetError(f"segment_field: {error.args[0]}") from None
        if selector.path not in known:
            raise DatasetError(f"segment_field: {options.segment_field} is no column, so no record can be written")
        self._selector, self._field = selector, known[selector.path]
        self._columns = {
            name: [(path, known[path]) for path in fields_called(options.layout, name) if path in known]
            for name in self._ids
        }
        self._layouts: dict[frozenset[Path], Layout] = {}
        below = {child for names in self._children.values() for child in names}
        self._roots = [name for name in self._children if name not in below]

    def absent(self, row: Row) -> frozenset[Path]:
        """The redefinitions that a record does not have.

        Raises:
            ConversionError: one of them has a value.
        """
        segment_id, absent = self._id(row), set[Path]()
        for name, ids in self._ids.items():
            for path, names in self._columns[name] if segment_id not in ids else ():
                absent.add(path)
                if _dug(row, names) is not None:
                    raise ConversionError(
                        f"{'.'.join(path)}: has a value, and {self._selector.name} is {segment_id[:60]!r}; allowed: "
                        f"null, or one of the ids {', '.join(ids)}"
                    )
        return frozenset(absent)

    def _id(self, row: Row) -> str:
        value = _dug(row, self._field)
        return "" if value is None else str(value).strip(BLANKS)

    def without(self, layout: Layout, absent: frozenset[Path]) -> Layout:
        """The layout without the redefinitions that a record does not have; the other fields keep their places."""
        if absent not in self._layouts:
            self._layouts[absent] = pruned(layout, absent)
        return self._layouts[absent]

    # roots with their children ----------------------------------------------------------------------------------------

    def family(self, row: Row) -> Iterator[Row]:
        """A row for each record: the root, and the segments below it.

        Raises:
            ConversionError: the row is no root.
        """
        lower = {name.lower(): value for name, value in row.items()}
        segment_id = self._id(lower)
        root = next((name for name in self._roots if segment_id in self._ids[name]), None)
        if root is None:
            ids = [each for name in self._roots for each in self._ids[name]]
            raise ConversionError(
                f"{self._selector.name}: {segment_id[:60]!r} does not fit; allowed: the ids of roots, {', '.join(ids)}"
            )
        yield from self._below(root, _dug(lower, self._columns[root][0][1]), lower, None)

    def _below(self, name: str, struct: Any, root: Row, segment_id: str | None) -> Iterator[Row]:
        row = root
        for others in self._ids:
            row = _put(row, self._columns[others][0][1], struct if others == name else None)
        if segment_id is not None:
            row = _put(row, self._field, int(segment_id) if self._selector.is_numeric else segment_id)
        yield row
        for child in self._children.get(name, ()):
            column = self._columns[child][0][1][-1]
            for each in value_of(struct or {}, column) or ():
                yield from self._below(child, each, root, self._ids[child][0])


def values_in(fields: tuple[Field, ...], values: Any) -> Any:
    """The values of these fields; ``values`` may have those of others."""
    if not isinstance(values, dict):
        return values
    return {
        item.key: values_in(item.children, values[item.key]) if item.children else values[item.key]
        for item in fields
        if item.key in values
    }


def _walk(columns: tuple[Column, ...], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Column]]:
    """The columns outside tables, each with its name behind those of the groups that it is in."""
    for column in columns:
        if column.field.occurs is None:
            yield (*above, column.name), column
            yield from _walk(column.children, (*above, column.name))


def value_of(row: Row, name: str) -> Any:
    """The value of a column, whose name may be in lower case in the row; None if the row does not have it."""
    return row.get(name.lower(), row.get(name))


def _dug(row: Row, names: tuple[str, ...]) -> Any:
    value: Any = row
    for name in names:
        value = value_of(value, name) if isinstance(value, Mapping) else None
    return value


def _put(row: Row, names: tuple[str, ...], value: Any) -> Row:
    """The row with another value in one column."""
    name, *rest = names
    inner = _put(value_of(row, name) or {}, tuple(rest), value) if rest else value
    return {key: each for key, each in row.items() if key.lower() != name.lower()} | {name.lower(): inner}
