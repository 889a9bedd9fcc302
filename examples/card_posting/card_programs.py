"""The three programs of the nightly posting, as handlers of transactions.

PRDR reads the cross-reference and the account master, then the day's transactions, and routes each by its account to
one of the posting queues; an account's transactions always take the same queue, so they stay in order. PPST is started
by the trigger level of a posting queue and posts until the queue is empty. A record of its own passes the end
of the input through the queues; when it has reached the end of every posting queue, PEND is triggered and writes the
new master.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final
from weakref import WeakKeyDictionary
from zlib import crc32

from card_records import (
    ACCOUNT,
    CODE_PAGE,
    TRANSACTION,
    XREF,
    RecordError,
    cents_text,
    zoned,
)
from card_rules import REASON_TEXT, Account, decide

from tdqsim.cics import Condition, Task
from tdqsim.facts import Resp

POSTING_QUEUES: Final = ("PST1", "PST2", "PST3", "PST4")
GIVE_WAY: Final = 200
"""The number of records after which the reader lets the posting tasks run, so that the queues stay short."""

_KEY_LENGTH: Final = ACCOUNT.ID.stop
_NO_ACCOUNT: Final = b"\x40" * _KEY_LENGTH  # used in place of an account if the card has no cross-reference
_END: Final = "END OF INPUT".encode(CODE_PAGE)


class Tables:
    """The data that the programs of a region share.

    Attributes:
        accounts: the master in its order, by the account id of the record.
        read: the number of transactions read so far.
        posted: the number of posted transactions; ``posted_cents`` is their sum.
        rejected: the number of rejected transactions by reason; ``rejected_cents`` is their sum.
        finished: whether the new master has been written.
        routes: the account of each card and the posting queue of the account; empty before PRDR has read them.
    """

    def __init__(self) -> None:
        self.accounts: dict[bytes, Account] = {}
        self.read = 0
        self.posted = 0
        self.posted_cents = 0
        self.rejected: Counter[int] = Counter()
        self.rejected_cents = 0
        self.finished = False
        self.routes: dict[bytes, tuple[bytes, str]] = {}


_tables: WeakKeyDictionary[Any, Tables] = WeakKeyDictionary()


def tables_of(region: Any) -> Tables:
    """The tables of a region: two regions in one process share nothing."""
    return _tables.setdefault(region, Tables())


def _every_record(task: Task, queue: str) -> Iterator[bytes]:
    """The records of a queue, each read once, until QZERO."""
    while True:
        try:
            record = task.readq_td(queue)
        except Condition as condition:
            if condition.resp is Resp.QZERO:
                return
            raise
        yield record


def _log(task: Task, text: str) -> None:
    task.writeq_td("PLOG", text[:128].encode(CODE_PAGE))


# -- PRDR -------------------------------------------------------------------------------------------------------------


def read_and_route(task: Task) -> None:
    """Transaction PRDR.

    If it is started with data, a number, it reads so many transactions and starts itself again a second later.
    """
    tables = tables_of(task.region)
    if tables.finished:
        tables = _tables[task.region] = Tables()
    if not tables.routes:
        tables.routes = _read_cross_reference(task)
        _read_accounts(task, tables)
    most = task.retrieve() if task.assign("STARTCODE").rstrip() == "SD" else None
    count = None if most is None else int(most)
    routed = sum(1 for record in islice(_every_record(task, "DALY"), count) if _route(task, tables, record))
    if most is not None and routed == count:
        task.start("PRDR", from_=most, interval=1)
        return
    for queue in POSTING_QUEUES:
        # A few records may be waiting below the trigger level; lower the level so that they are processed.
        task.set_tdqueue(queue, triggerlevel=1)
        task.writeq_td(queue, _END)
    _log(task, f"PRDR {tables.read} TRANSACTIONS READ")


def _route(task: Task, tables: Tables, record: bytes) -> bool:
    """Write a transaction to the posting queue of its account."""
    account, queue = tables.routes.get(record[TRANSACTION.CARD], (_NO_ACCOUNT, POSTING_QUEUES[0]))
    task.writeq_td(queue, account + record)
    tables.read += 1
    if tables.read % GIVE_WAY == 0:
        task.suspend()
    return True


def _read_cross_reference(task: Task) -> dict[bytes, tuple[bytes, str]]:
    """The account of each card, and the posting queue of the account."""
    routes = {}
    for record in _every_record(task, "XREF"):
        account = record[XREF.ACCOUNT]
        routes[record[XREF.CARD]] = (account, POSTING_QUEUES[crc32(account) % len(POSTING_QUEUES)])
    return routes


def _read_accounts(task: Task, tables: Tables) -> None:
    for number, record in enumerate(_every_record(task, "ACCT"), 1):
        key = record[ACCOUNT.ID]
        if key in tables.accounts:
            raise RecordError(f"ACCTDATA record {number}: account {key.decode(CODE_PAGE)} is there twice")
        try:
            tables.accounts[key] = Account(record)
        except RecordError as error:
            raise RecordError(f"ACCTDATA record {number}: {error}") from None


# -- PPST -------------------------------------------------------------------------------------------------------------


def post(task: Task) -> None:
    """Transaction PPST: started by the trigger level of a posting queue."""
    queue = task.assign("QNAME")
    tables = tables_of(task.region)
    accounts = tables.accounts
    for record in _every_record(task, queue):
        if record == _END:
            task.writeq_td("PDON", queue.encode(CODE_PAGE))
            continue
        key, transaction = record[:_KEY_LENGTH], record[_KEY_LENGTH:]
        account = accounts.get(key)
        amount = _amount(transaction)
        date = transaction[TRANSACTION.DATE]
        reason = decide(account, card_known=key != _NO_ACCOUNT, amount=amount, date=date)
        if reason or account is None:
            _reject(task, tables, transaction, amount, reason)
            continue
        account.post(amount)
        task.writeq_td("PSTD", transaction)
        tables.posted += 1
        tables.posted_cents += amount


def _amount(transaction: bytes) -> int:
    try:
        return zoned(transaction[TRANSACTION.AMOUNT])
    except RecordError as error:
        name = transaction[TRANSACTION.ID].decode(CODE_PAGE)
        raise RecordError(f"DALYTRAN transaction {name}: the amount at offset 132: {error}") from None


def _reject(task: Task, tables: Tables, transaction: bytes, amount: int, reason: int) -> None:
    text = REASON_TEXT[reason]
    task.writeq_td("REJS", transaction + f"{reason:04d}{text:76}".encode(CODE_PAGE))
    _log(task, f"PPST REJECTED {transaction[TRANSACTION.ID].decode(CODE_PAGE)} {reason} {text}")
    tables.rejected[reason] += 1
    tables.rejected_cents += amount


# -- PEND -------------------------------------------------------------------------------------------------------------


def finish(task: Task) -> None:
    """Transaction PEND: triggered when every posting queue has reached the end of the input."""
    tables = tables_of(task.region)
    for _ in _every_record(task, task.assign("QNAME")):
        pass
    for account in tables.accounts.values():
        task.writeq_td("ACCO", account.new_record())
    rejected = tables.rejected.total()
    _log(task, f"PEND POSTED {tables.posted} AMOUNT {cents_text(tables.posted_cents)}")
    _log(task, f"PEND REJECTED {rejected} AMOUNT {cents_text(tables.rejected_cents)}")
    tables.finished = True
