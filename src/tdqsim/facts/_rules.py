"""The rules of behaviour: the rows of ``rules.tsv``, each with its source.

A rule's confidence is the quality of its source, see :data:`CONFIDENCE`. Where a rule is not confirmed, a real CICS
region or IBM i system may behave differently.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final, NamedTuple

from tdqsim.errors import WrongValue
from tdqsim.facts._tables import table

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


_SHOWN: Final = ("confirmed", "vendor source")
_SAME_QUEUES: Final = ("TD", "TS")
"""The last words of requests for queues: a rule that is listed for one of them holds for the others as well."""


@cache
def rules_of(answer: str, resp2: int = 0, command: str = "") -> tuple[Rule, ...]:
    """The rules that an answer may rest on: one, if the answer has only one possible reason; empty if none has a row.

    Args:
        answer: the name of a condition, such as ``INVREQ``, or the id of an IBM i message, such as ``CPF9801``.
        resp2: the RESP2 of the condition. Rules without a RESP2 apply if no rule has this one.
        command: the command or API that gives the answer, such as ``SET TDQUEUE``. A condition of a request for a
            queue without rules of its own has those of READQ, WRITEQ and DELETEQ together. For a message of an
            unknown API, or of one without such rules, the rules of all APIs apply.
    """
    every = [rule for rule in rules().values() if answer in (rule.resp, rule.message)]
    last = command.rsplit(" ", 1)[-1]
    both = (command, " ".join(command.split(" ")[:2]))  # the command, and SET TDQUEUE for SET TDQUEUE ENABLED
    chosen = [rule for rule in every if rule.command in both]
    if not chosen and last in _SAME_QUEUES:
        chosen = [rule for rule in every if rule.command.rsplit(" ", 1)[-1] == last]
    if not chosen:
        return tuple(rule for rule in every if rule.message == answer)
    exact = [rule for rule in chosen if not rule.resp or rule.resp2 == str(resp2)]
    return tuple(exact or [rule for rule in chosen if not rule.resp2])


def unconfirmed(rules: Iterable[Rule]) -> dict[str, str]:
    """The confidence of the rules of one answer by id; empty if a page or program of the vendor shows one of them.

    One that is shown is enough, because the rules are the possible reasons of the same answer.
    """
    confidence = {rule.id: rule.confidence for rule in rules}
    return {} if any(each in _SHOWN for each in confidence.values()) else confidence


def doubt(unconfirmed_rules: Mapping[str, str]) -> str:
    """A remark on the rules that an answer rests on and that no vendor source shows; empty if there are none."""
    shown = "; or ".join(f"{rule}, {confidence}" for rule, confidence in unconfirmed_rules.items())
    return f" (rule {shown})" if shown else ""


@cache
def rules() -> Mapping[str, Rule]:
    """All rules by id.

    Raises:
        ValueError: two rows have the same id.
    """
    by_id: dict[str, Rule] = {}
    for row in table("rules"):
        if row["id"] in by_id:
            raise WrongValue(f"rules.tsv: there are two rules {row['id']}")
        by_id[row["id"]] = Rule(**row)
    return MappingProxyType(by_id)
