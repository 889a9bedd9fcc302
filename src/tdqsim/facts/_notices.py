"""The words of notices: the templates of ``notices.tsv`` with their inserts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import cast

from tdqsim.core.notices import Notice, Severity
from tdqsim.facts._tables import table


class _Inserts(dict[str, object]):
    """A notice must not fail for lack of an insert."""

    def __missing__(self, key: str) -> str:
        return "????"


@cache
def _rows() -> dict[str, dict[str, str]]:
    return {row["event"]: row for row in table("notices")}


def notice_words(event: str, inserts: Mapping[str, object]) -> Notice:
    """The notice of an event, without its time.

    Args:
        event: the row of ``notices.tsv``.
        inserts: the values of its inserts, by name.

    Raises:
        KeyError: there is no such row.
    """
    row = _rows()[event]
    given = _Inserts({name: value.rstrip(".") if isinstance(value, str) else value for name, value in inserts.items()})
    resource, reason, cure = (row[each].format_map(given) for each in ("resource", "reason", "cure"))
    return Notice(row["id"].format_map(given), resource, reason, cure, cast("Severity", row["severity"]), event)
