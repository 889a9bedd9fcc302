"""The rules of behaviour as rows of ``rules.tsv``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from tdqsim.facts._tables import table

__all__ = ["Rule", "rules"]


class Rule(NamedTuple):
    """One rule of behaviour.

    Attributes:
        id: its name, such as ``TD-READQ-QZERO``.
        command: the command or subject.
        circumstances: when it applies and what then happens, in words.
        resp: the condition's name, or empty.
        resp2: the RESP2 number, or empty.
        message: a message id, or words that the error's text contains; empty when there is none.
        source: where the rule comes from.
        confidence: ``confirmed``, ``second-hand``, ``choice`` or ``unconfirmed``.
    """

    id: str
    command: str
    circumstances: str
    resp: str
    resp2: str
    message: str
    source: str
    confidence: str


@cache
def rules() -> Mapping[str, Rule]:
    """All rules by id.

    Raises:
        ValueError: two rows have the same id.
    """
    found: dict[str, Rule] = {}
    for row in table("rules"):
        if row["id"] in found:
            raise ValueError(f"rules.tsv: there are two rules {row['id']}")
        found[row["id"]] = Rule(**row)
    return MappingProxyType(found)
