"""The rules of behaviour as rows of ``rules.tsv``, each with the source that it rests on.

A rule's confidence says how good that source is, see :data:`CONFIDENCE`. A rule that is not confirmed may differ from a
real CICS region or IBM i system.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final, NamedTuple

from tdqsim.facts._tables import table

__all__ = ["CONFIDENCE", "Rule", "rule_of", "rules"]

CONFIDENCE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "confirmed": "a page of the vendor says it",
        "vendor source": "the vendor's own client, test, sample or command definition shows it",
        "second-hand": "other programs, products or books say it",
        "unconfirmed": "general knowledge, or half of it stands on a page of the vendor",
        "vendor silent": "our choice, as the pages that we know are silent; a real machine could settle it",
        "ours": "a matter of our own interface, about which a vendor has nothing to say",
    }
)
"""The degrees of confidence of a rule with their meaning, from the best to those that need no source."""


class Rule(NamedTuple):
    """One rule of behaviour.

    Attributes:
        id: its name, such as ``TD-READQ-QZERO``.
        command: the command or subject.
        circumstances: when it applies and what then happens, in words.
        resp: the condition's name, or empty.
        resp2: the RESP2 number, or empty.
        message: a message id, or words that the error's text contains; empty when there is none.
        source: the page, program or book that the rule comes from; ``our choice`` when there is none.
        address: where the source is: a URL, or repository, file and line; empty when it is not known.
        release: the release that the source describes; empty when it names none or is for all.
        point: what the source says, in our words; for ``vendor silent`` and ``ours`` the reason for the choice.
        confidence: one of :data:`CONFIDENCE`.
    """

    id: str
    command: str
    circumstances: str
    resp: str
    resp2: str
    message: str
    source: str
    address: str
    release: str
    point: str
    confidence: str


@cache
def rule_of(command: str, resp: str, resp2: int) -> Rule | None:
    """The rule by which a command gets a condition with this RESP2, such as SET TDQUEUE, INVREQ and 11.

    None when no rule or more than one has them. RESP2 tells rules apart only when it is not 0.
    """
    wanted = (command, resp, str(resp2))
    found = [rule for rule in rules().values() if resp2 and (rule.command, rule.resp, rule.resp2) == wanted]
    return found[0] if len(found) == 1 else None


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
