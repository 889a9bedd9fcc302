"""Filters that Spark pushes down, as comparisons of a column with values; Spark checks all of them again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

__all__ = ["Comparison", "comparisons", "test_of"]

Comparison = tuple[str, str, Any]
"""A column's name, the operation as pyarrow calls it, the value or values."""

_OPERATIONS: Final = {
    "EqualTo": "equal", "GreaterThan": "greater", "GreaterThanOrEqual": "greater_equal", "LessThan": "less",
    "LessThanOrEqual": "less_equal", "In": "is_in", "IsNotNull": "is_valid",
}  # fmt: skip


def comparisons(filters: Iterable[Filter]) -> Iterator[Comparison]:
    """The comparison of each filter that is one, of a column of the top level."""
    for item in filters:
        operation = _OPERATIONS.get(type(item).__name__)
        attribute: Sequence[str] = getattr(item, "attribute", ())
        if operation is not None and len(attribute) == 1:
            yield attribute[0], operation, getattr(item, "value", None)


def test_of(comparison: Comparison) -> Callable[[pa.Array], Any]:
    """Which values of a column may stand it. What Arrow cannot compare leaves nothing out: Spark tests again."""
    _, operation, value = comparison

    def test(values: pa.Array) -> Any:
        try:
            if operation == "is_valid":
                return values.is_valid()
            if operation == "is_in":
                return pc.is_in(values, value_set=pa.array(list(value), values.type))
            return getattr(pc, operation)(values, pa.scalar(value, values.type))
        except (pa.ArrowException, TypeError, ValueError):
            return pa.repeat(pa.scalar(True), len(values))

    return test
