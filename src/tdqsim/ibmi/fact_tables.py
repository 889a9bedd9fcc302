"""Numbers and tables for the IBM i simulation, read once from the fact tables."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from tdqsim.facts import table

LIMITS: Mapping[str, int] = MappingProxyType({row["name"]: int(row["value"]) for row in table("ibmi_limits")})
"""Lengths, ranges and the size model (``facts/ibmi_limits.tsv``)."""

AUTHORITIES: Mapping[str, frozenset[str]] = MappingProxyType(
    {row["authority"]: frozenset(row["grants"].split()) for row in table("ibmi_authorities")}
)
"""The single authorities that each system-defined authority consists of."""

LOCK_STATES: Mapping[str, frozenset[str]] = MappingProxyType(
    {row["state"]: frozenset(row["compatible"].split()) for row in table("ibmi_locks")}
)
"""For each lock state, the states that other jobs may hold at the same time."""

COMMAND_MESSAGES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        name: frozenset(row["message"] for row in rows)
        for name, rows in groupby(table("ibmi_command_messages"), key=itemgetter("command"))
    }
)
"""The messages that may end a command, for the commands whose list is known."""


class Operation(NamedTuple):
    """The authorities and locks that an operation needs, and its messages: one row of ``facts/ibmi_operations.tsv``."""

    name: str
    object_authority: frozenset[str]
    library_authority: frozenset[str]
    lock: str
    locked: str
    lock_message: str
    object_message: str
    library_message: str
    object_missing: str
    library_missing: str
    cached: bool
    proof: str
    """What a check for it proves: the authorities by name."""


OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        row["operation"]: Operation(
            row["operation"],
            frozenset(row["object_authority"].split()),
            frozenset(row["library_authority"].split()),
            row["lock"],
            row["locked"],
            row["lock_message"],
            row["object_message"],
            row["library_message"],
            row["object_missing"],
            row["library_missing"],
            row["cached"] == "yes",
            row["object_authority"],
        )
        for row in table("ibmi_operations")
    }
)
"""The operations by name."""
