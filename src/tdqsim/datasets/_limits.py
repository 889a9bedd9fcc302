"""The limits and sizes of this package, read once from ``facts/datasets.tsv``."""

from __future__ import annotations

from typing import Final

from tdqsim.facts import table

_VALUES: Final = {row["name"]: int(row["value"]) for row in table("datasets")}


def limit(name: str) -> int:
    """Return the value of one row of the table."""
    return _VALUES[name]
