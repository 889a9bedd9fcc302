"""Filters that Spark pushes down, as comparisons of a column with values; Spark checks all of them again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pyspark.sql.datasource import EqualTo, Filter, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual

__all__ = ["COMPARISONS", "comparisons"]

COMPARISONS: Final[dict[type[Filter], str]] = {
    EqualTo: "equal", GreaterThan: "greater", GreaterThanOrEqual: "greater_equal", LessThan: "less",
    LessThanOrEqual: "less_equal", In: "is_in",
}  # fmt: skip


def comparisons(filters: Iterable[Filter], known: Mapping[type[Filter], str]) -> Iterator[tuple[str, str, Any]]:
    """Column, operation and value of each filter of a known kind on a column of the top level."""
    for item in filters:
        operation = known.get(type(item))
        attribute: Sequence[str] = getattr(item, "attribute", ())
        if operation is not None and len(attribute) == 1:
            yield attribute[0], operation, getattr(item, "value", None)
