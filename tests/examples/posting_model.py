"""The posting job as one plain loop over the input, sharing nothing with the example but the description of the job.

Numbers are decimal.Decimal here and cents there; records are decoded as text here and by byte tables there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

SIGNS = {letter: ("", str(digit)) for digit, letter in enumerate("{ABCDEFGHI")}
SIGNS |= {letter: ("-", str(digit)) for digit, letter in enumerate("}JKLMNOPQR")}
SIGNS |= {str(digit): ("", str(digit)) for digit in range(10)}


def signed(field_text: str) -> Decimal:
    """A zoned decimal with two decimals, as its characters show it."""
    sign, last = SIGNS[field_text[-1]]
    return Decimal(sign + field_text[:-1] + last).scaleb(-2)


def records(path: Path, length: int) -> list[str]:
    text = path.read_bytes().decode("cp037")
    return [text[start : start + length] for start in range(0, len(text), length)]


@dataclass
class Outcome:
    posted: list[str] = field(default_factory=list)
    rejected: list[tuple[str, int]] = field(default_factory=list)
    balances: dict[str, tuple[Decimal, Decimal, Decimal]] = field(default_factory=dict)
    account_of: dict[str, str] = field(default_factory=dict)

    @property
    def amounts(self) -> tuple[Decimal, Decimal]:
        return (
            sum((signed(record[132:143]) for record in self.posted), Decimal("0.00")),
            sum((signed(record[132:143]) for record, _ in self.rejected), Decimal("0.00")),
        )

    @property
    def reasons(self) -> dict[str, int]:
        return {str(reason): count for reason, count in sorted(Counter(reason for _, reason in self.rejected).items())}


def post_all(transactions: Path, cards: Path, accounts: Path) -> Outcome:
    """What the job must give, whatever the order in which tasks run."""
    outcome = Outcome()
    xref = {record[:16]: record[25:36] for record in records(cards, 50)}
    master = {record[:11]: record for record in records(accounts, 300)}
    outcome.balances = {
        key: (signed(record[12:24]), signed(record[78:90]), signed(record[90:102])) for key, record in master.items()
    }
    for record in records(transactions, 350):
        amount, account = signed(record[132:143]), xref.get(record[262:278])
        reason = 0
        if account is None:
            reason = 100
        elif account not in master:
            reason = 101
        else:
            balance, credit, debit = outcome.balances[account]
            if signed(master[account][24:36]) < credit - debit + amount:
                reason = 102
            if master[account][58:68] < record[278:288]:
                reason = 103
        if reason or account is None:
            outcome.rejected.append((record, reason))
            continue
        outcome.account_of[record[:16]] = account
        outcome.posted.append(record)
        positive = amount >= 0
        outcome.balances[account] = (balance + amount, credit + amount * positive, debit + amount * (not positive))
    return outcome
