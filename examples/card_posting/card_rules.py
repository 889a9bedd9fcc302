"""The posting rules: which transactions are rejected, and how a posted one changes its account.

A transaction is rejected when its card is not in the cross-reference (100), when its account is not in the master
(101), when it would take the cycle over the credit limit (102), or when it is dated after the account expired (103).
If several apply, the last one in this list is reported.
"""

from __future__ import annotations

from typing import Final

from card_records import ACCOUNT, encode_zoned, zoned

CARD_MISSING: Final = 100
ACCOUNT_MISSING: Final = 101
OVERLIMIT: Final = 102
EXPIRED: Final = 103
REASON_TEXT: Final = {
    CARD_MISSING: "INVALID CARD NUMBER FOUND",
    ACCOUNT_MISSING: "ACCOUNT RECORD NOT FOUND",
    OVERLIMIT: "OVERLIMIT TRANSACTION",
    EXPIRED: "TRANSACTION RECEIVED AFTER ACCT EXPIRATION",
}


class Account:
    """A record of the account master during the posting. Amounts are in cents."""

    __slots__ = ("_before", "balance", "credit_limit", "cycle_credit", "cycle_debit", "expires", "record")

    def __init__(self, record: bytes) -> None:
        self.record = record
        self.balance = zoned(record[ACCOUNT.BALANCE])
        self.credit_limit = zoned(record[ACCOUNT.CREDIT_LIMIT])
        self.expires = record[ACCOUNT.EXPIRES]
        self.cycle_credit = zoned(record[ACCOUNT.CYCLE_CREDIT])
        self.cycle_debit = zoned(record[ACCOUNT.CYCLE_DEBIT])
        self._before = (self.balance, self.cycle_credit, self.cycle_debit)

    def post(self, amount: int) -> None:
        """Add a posted amount to the balance, and to the cycle's credits (0 or more) or debits (negative)."""
        self.balance += amount
        if amount >= 0:
            self.cycle_credit += amount
        else:
            self.cycle_debit += amount

    def new_record(self) -> bytes:
        """The master record with the new figures. Unchanged fields keep their original bytes."""
        now = (self.balance, self.cycle_credit, self.cycle_debit)
        if now == self._before:
            return self.record
        record = bytearray(self.record)
        fields = (ACCOUNT.BALANCE, ACCOUNT.CYCLE_CREDIT, ACCOUNT.CYCLE_DEBIT)
        for field, old, new in zip(fields, self._before, now, strict=True):
            if new != old:
                record[field] = encode_zoned(new, field.stop - field.start)
        return bytes(record)


def decide(account: Account | None, *, card_known: bool, amount: int, date: bytes) -> int:
    """The reason to reject a transaction, or 0 to post it.

    Args:
        account: the master record of the card's account, or None if there is none.
        card_known: whether the card is in the cross-reference.
        amount: the amount in cents.
        date: the date of the original timestamp as in the record; in this format dates can be compared as bytes.
    """
    if not card_known:
        return CARD_MISSING
    if account is None:
        return ACCOUNT_MISSING
    if account.expires < date:
        return EXPIRED
    if account.credit_limit < account.cycle_credit - account.cycle_debit + amount:
        return OVERLIMIT
    return 0
