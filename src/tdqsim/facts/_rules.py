"""The rules of behaviour: the rows of ``rules.tsv``, each with its source.

A rule's confidence tells how good the source is, see :data:`CONFIDENCE`. Where a rule is not confirmed, a real CICS
region or IBM i system may behave differently.
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
        "confirmed": "stated on a page of the vendor",
        "vendor source": "shown by the vendor's own client, test, sample or command definition",
        "second-hand": "stated by other programs, products or books",
        "unconfirmed": "general knowledge, or stated only in part on a page of the vendor",
        "vendor silent": "our choice, because the pages that we know do not say; a real machine could decide it",
        "ours": "our own interface, which no vendor describes",
    }
)
"""The degrees of confidence of a rule with their meaning, from the best to those that need no source."""


class Rule(NamedTuple):
    """One rule of behaviour.

    Attributes:
        id: its name, such as ``TD-READQ-QZERO``.
        command: the command or subject.
        circumstances: when it applies and what then happens, in words.
        resp: the condition's name; empty when there is none.
        resp2: the RESP2 number; empty when there is none.
        message: a message id, or words from the text of the error; empty when there is none.
        source: the page, program or book that the rule comes from; ``our choice`` when there is none.
        address: where the source is: a URL, or repository, file and line; empty when it is not known.
        release: the release that the source describes; empty when it names none or applies to all.
        point: the statement of the source in our words; for ``vendor silent`` and ``ours`` the reason for our choice.
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
    """The rule for a command that raises a condition with a RESP2, such as SET TDQUEUE, INVREQ and 11.

    None when there is no such rule, or more than one; also when RESP2 is 0, which does not distinguish rules.
    """
    wanted = (command, resp, str(resp2))
    matching = [rule for rule in rules().values() if resp2 and (rule.command, rule.resp, rule.resp2) == wanted]
    return matching[0] if len(matching) == 1 else None


@cache
def rules() -> Mapping[str, Rule]:
    """All rules by id.

    Raises:
        ValueError: two rows have the same id.
    """
    by_id: dict[str, Rule] = {}
    for row in table("rules"):
        if row["id"] in by_id:
            raise ValueError(f"rules.tsv: there are two rules {row['id']}")
        by_id[row["id"]] = Rule(**row)
    return MappingProxyType(by_id)
