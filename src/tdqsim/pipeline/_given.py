"""The options that a read or write was given: their values, and what does not go together.

Which options there are, and their defaults, is the table ``facts/qsam_options.tsv``; which exclude or need each other
is ``facts/qsam_conflicts.tsv``. Names know no case; ``-`` and ``_`` are the same in those that are numbered.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from tdqsim.errors import DatasetError
from tdqsim.facts import table

__all__ = ["Given", "known_options"]

NUMBERED = ("redefine_segment_id_map", "redefine_rule", "segment_children", "segment_id_level")
PREFIXES = (*NUMBERED, "field_code_page")
AT_LEAST_ONE = frozenset({"minimum_record_length", "maximum_record_length", "records_per_block"})


def known_options() -> list[dict[str, str]]:
    """The table: option, group, applies, default, cobol, status, note, source."""
    return table("qsam_options")


@cache
def _rows() -> dict[str, dict[str, str]]:
    return {row["option"].lower(): row for row in known_options()}


class Given:
    """The options given, by name.

    Args:
        options: as Spark hands them over.
        cobrix: the defaults are those of ``format("cobol")``.

    Raises:
        DatasetError: an option is unknown or not supported, or some do not go together.
    """

    def __init__(self, options: Mapping[str, str], *, cobrix: bool) -> None:
        self.cobrix = cobrix
        self._written: dict[str, str] = {}
        self._values: dict[str, str] = {}
        for written, value in options.items():
            if value is not None:
                name = str(written).lower()
                plain = name.replace("-", "_")
                name = plain if plain.startswith(NUMBERED) else name
                self._written[name], self._values[name] = str(written), str(value)
        self._refuse_unknown()
        self._refuse_conflicts()
        for name in AT_LEAST_ONE & self._values.keys():  # whether or not the record format looks at them
            self.number(name)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def raw(self, name: str) -> str:
        """What was given, as it was given; empty for nothing."""
        return self._values.get(name, "")

    def text(self, name: str) -> str:
        """The value, or its default."""
        row = _rows().get(name, {})
        default = (self.cobrix and row.get("cobol")) or row.get("default", "")
        return self._values.get(name, default).strip()

    def flag(self, name: str) -> bool:
        """A value that is true or false."""
        return self.choice(name, ("true", "false")) == "true"

    def number(self, name: str) -> int:
        """A whole number; 0 where nothing is given."""
        value, adjusts = self.text(name) or "0", "adjustment" in name
        body = value.removeprefix("-")
        good = body.isascii() and body.isdigit() and len(body) <= 12 and (value == body or adjusts)
        if not good or (name in AT_LEAST_ONE and name in self and int(value) < 1):
            least = "" if adjusts else ", 1 or more" if name in AT_LEAST_ONE else ", 0 or more"
            raise DatasetError(f"option {name} is {value!r}; must be a whole number{least}")
        return int(value)

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        """One of some words, in any case."""
        value = self.text(name).lower()
        if value not in allowed:
            said = " or ".join(allowed) if len(allowed) < 3 else f"one of {', '.join(allowed)}"
            raise DatasetError(f"option {name} is {value!r}; must be {said}")
        return value

    def words(self, name: str) -> tuple[str, ...]:
        """Words with commas between them."""
        return tuple(filter(None, (word.strip() for word in self.raw(name).split(","))))

    def json(self, name: str, example: str) -> dict[str, Any]:
        """A JSON object; empty where nothing is given."""
        if name not in self:
            return {}
        try:
            value = json.loads(self.raw(name))
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise self.bad(name, f"must be JSON such as {example}")
        return value

    def numbered(self, prefix: str) -> Iterator[tuple[str, str]]:
        """Name and value of each option that begins so."""
        return ((name, value) for name, value in self._values.items() if name.startswith(prefix))

    def arrows(self, prefix: str, form: str, *, empty: bool = False) -> Iterator[tuple[str, str, str]]:
        """Name, left and right side of each option of the form ``LEFT => RIGHT``, whose right side may be ``empty``."""
        for name, value in self.numbered(prefix):
            left, arrow, right = value.partition("=>")
            if not arrow or not left.strip() or not (right.strip() or empty):
                raise self.bad(name, f"must be {form}")
            yield name, left.strip(), right.strip()

    def bad(self, name: str, problem: str) -> DatasetError:
        """An error about a value."""
        return DatasetError(f"option {self._written.get(name, name)} is {self.raw(name)[:60]!r}; {problem}")

    # what does not go together ----------------------------------------------------------------------------------------

    def _refuse_unknown(self) -> None:
        pedantic = self.flag("pedantic")
        for name in self._values:
            base = next((start for start in PREFIXES if name.startswith(start)), name)
            row = _rows().get(base)
            if row is not None and row["status"] == "absent":
                raise DatasetError(f"option {name} is not supported: {row['note']}")
            if row is None and pedantic:
                raise DatasetError(f"option {name} is not known; set pedantic to false to pass over unknown options")

    def _refuse_conflicts(self) -> None:
        rows = table("qsam_conflicts")
        for row in sorted(rows, key=lambda row: row["rule"] == "needs"):
            one, other = self._as_given(row["option"], row["value"]), self._as_given(row["other"], row["other_value"])
            if one and other and row["rule"] == "excludes":
                raise DatasetError(f"options {one} and {other} exclude each other")
            if one and not other and row["rule"] == "needs":
                raise DatasetError(f"option {one} needs {row['other']}")

    def _as_given(self, name: str, value: str) -> str:
        """The option as it was written, if it was given with that value (or with any, where that is empty)."""
        names = [known for known in self._values if known == name or (name in NUMBERED and known.startswith(name))]
        found = names[0] if names else ""
        if not found or (value and self._values[found].strip().lower() != value):
            return ""
        return self._written[found] + (f"={value}" if value else "")
