"""Redefinitions of which each record has one: which records have which, by their segments or by rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tdqsim.errors import DatasetError
from tdqsim.layouts import Field, Layout
from tdqsim.pipeline._numbers import Bytes, Ints, Mask
from tdqsim.pipeline._rows import Path
from tdqsim.pipeline.decoder import RecordDecoder
from tdqsim.pipeline.expressions import Expression, ExpressionError
from tdqsim.pipeline.shape import Shape, column_name


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


HOW_TO_TELL = (
    "which is in a redefinition: say which records have it by segment_field and redefine_segment_id_map:N = NAME => "
    "ID, or by redefine_rule:N"
)


def refuse_unknown_places(layout: Layout, told: Collection[Path]) -> None:
    """Refuse a layout in which a field follows a table that only some records have, if nothing determines which do.

    Args:
        layout: the layout.
        told: paths of the redefinitions of which the options tell which records have them.

    Raises:
        DatasetError: there is such a field; the message names the options.
    """
    if layout.variable_size_occurs != "shift_record":
        return
    for groups in layout.groups.values():
        for fields in groups:
            table = next((item for item in fields[0].walk() if item.depending_on), None)
            end = max(item.offset + item.size for item in fields)
            after = next((item for item in layout.walk() if item.offset >= end), None)
            if len(fields) > 1 and table and after and not any(item.path in told for item in fields):
                raise DatasetError(
                    f"the place of {after.name} depends on {table.name}, {HOW_TO_TELL}; or, if tables take all their "
                    "room in each record, set variable_size_occurs=max_size"
                )


def segments_of(decoder: RecordDecoder, data: Bytes, starts: Ints, lengths: Ints) -> pa.Array:
    """The segments of records, as text, by a decoder of the segment field."""
    values = decoder.decode(data, starts, lengths).column(0).dictionary_encode()
    names = [None if value is None else str(value) for value in values.dictionary.to_pylist()]
    return pa.array(names, pa.string()).take(values.indices)


def is_among(segments: pa.Array, names: Iterable[str]) -> Mask:
    """Which records are of one of some segments."""
    return np.asarray(pc.is_in(segments, pa.array(names, pa.string())))


def _encoded(array: pa.Array) -> tuple[Ints, list[object]]:
    """For each row an index of the different values, null among them, and these values."""
    encoded = array.dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices).astype(np.int64), encoded.dictionary.to_pylist()


class RedefineRules:
    """Decides from the fields of a record which redefinitions it has.

    Args:
        layout: the layout.
        shape: how its columns are read.
        rules: each redefinition, and the expression that is true for a record that has it.

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
        self.paths = {name: fields_called(layout, name) for name in rules}

    def present(self, data: Bytes, starts: Ints, lengths: Ints) -> dict[Path, Mask]:
        """For the path of each redefinition, which records have it.

        Raises:
            DatasetError: a rule has no value for a record.
        """
        columns = [_encoded(decoder.decode(data, starts, lengths).column(0)) for decoder in self._values.values()]
        shape = tuple(max(len(values), 1) for _, values in columns)
        rows = np.zeros(len(starts), np.int64)
        if columns:
            rows = np.ravel_multi_index([codes for codes, _ in columns], shape)
        different, which = np.unique(rows, return_inverse=True)
        places = np.array(np.unravel_index(different, shape)).T if columns else np.zeros((len(different), 0), np.int64)
        known = [self._holding([columns[at][1][code] for at, code in enumerate(row)]) for row in places.tolist()]
        found = dict[Path, Mask]()
        for index, name in enumerate(self._rules):
            mask = np.array([holding[index] for holding in known], np.bool_)[which]
            found |= dict.fromkeys(self.paths[name], mask)
        return found

    def _holding(self, row: list[object]) -> list[bool]:
        """For each rule whether it is true for the values of the fields."""
        values, holding = dict(zip(self._values, row, strict=True)), []
        for name, rule in self._rules.items():
            try:
                value = rule.value(values)
            except ExpressionError as error:
                raise DatasetError(f"redefine_rule of {name}: {error}") from None
            if not isinstance(value, bool):
                raise DatasetError(f"redefine_rule of {name}: {rule.text[:60]!r} is neither true nor false")
            holding.append(value)
        return holding


def pruned(layout: Layout, without: frozenset[Path]) -> Layout:
    """The layout without some fields and without groups that would have none; the others keep their places."""
    return replace(layout, fields=tuple(_pruned(layout.fields, without)))


def _pruned(fields: tuple[Field, ...], without: frozenset[Path]) -> Iterator[Field]:
    for item in fields:
        children = tuple(_pruned(item.children, without))
        if item.path not in without and (children or not item.children):
            yield replace(item, children=children)
