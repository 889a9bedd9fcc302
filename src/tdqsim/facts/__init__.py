"""Vendor facts: numbers, names, lengths, defaults and rules, each with its source.

Nothing is decided in code here: the tables beside this module (``*.tsv``) hold the facts, one row each, with a source
and how sure we are of it (``confirmed``, ``second-hand``, ``choice``, ``unconfirmed``). This package loads them once
into enumerations and records. :func:`table` reads any other table.
"""

from __future__ import annotations

from tdqsim.facts._codes import Cvda, Resp
from tdqsim.facts._records import (
    ABEND_CODES,
    ATTRIBUTE_CVDA,
    EIBFN,
    EIBRCODE,
    INQUIRE_OPTIONS,
    INQUIRE_TDQUEUE_OPTIONS,
    LIMITS,
    QUEUE_TYPES,
    REGION_DEFAULTS,
    RELEASES,
    SUPPLIED_QUEUES,
    TDQUEUE_ATTRIBUTES,
    InquireOption,
    SuppliedQueue,
    TdqueueAttribute,
)
from tdqsim.facts._rules import Rule, rules
from tdqsim.facts._tables import table

__all__ = [
    "ABEND_CODES",
    "ATTRIBUTE_CVDA",
    "EIBFN",
    "EIBRCODE",
    "INQUIRE_OPTIONS",
    "INQUIRE_TDQUEUE_OPTIONS",
    "LIMITS",
    "QUEUE_TYPES",
    "REGION_DEFAULTS",
    "RELEASES",
    "SUPPLIED_QUEUES",
    "TDQUEUE_ATTRIBUTES",
    "Cvda",
    "InquireOption",
    "Resp",
    "Rule",
    "SuppliedQueue",
    "TdqueueAttribute",
    "rules",
    "table",
]
