"""INQUIRE TRANSACTION and SET TRANSACTION. Source: INQUIRE TRANSACTION, SET TRANSACTION (IBM Docs)."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from tdqsim.cics.kernel.command import Flag, Name4, Opt, command
from tdqsim.cics.kernel.security import Access
from tdqsim.cics.spi.inquiry import ResourceType, browse_end, browse_next, browse_start, inquire_one, receivers
from tdqsim.cics.spi.parts import SpiTask
from tdqsim.cics.spi.requests import may_issue, refusal, to_cvda
from tdqsim.cics.spi.rows import TransactionInfo, TransactionOption
from tdqsim.cics.spi.uow_ids import NS
from tdqsim.facts import Cvda

__all__ = [
    "TRANSACTION",
    "inquire_transaction",
    "inquire_transaction_end",
    "inquire_transaction_next",
    "inquire_transaction_start",
    "set_transaction",
]

Status = Annotated[Literal["ENABLED", "enabled", "DISABLED", "disabled"] | Cvda | int, Opt("cvda", 4)]
_NAME_LENGTH: Final = 4
_NOTHING: Final = TransactionInfo()

TRANSACTION: Final = ResourceType.of(
    "TRANSACTION",
    {
        "CMDSEC": lambda entry, _region: Cvda[f"CMDSEC{entry.definition.cmdsec}"],
        "DTIMEOUT": lambda entry, _region: (entry.dtimout_ns or 0) // NS,
        "PROGRAM": lambda entry, _region: entry.definition.program,
        "REMOTESYSTEM": lambda entry, _region: entry.definition.remotesystem,
        "RESSEC": lambda entry, _region: Cvda[f"RESSEC{entry.definition.ressec}"],
        "STATUS": lambda entry, _region: Cvda[entry.definition.status],
    },
    keys=lambda region: region.transactions,
    find=lambda region, name: region.transactions.get(name),
    identity=("TRANSACTION", lambda entry: entry.definition.name.ljust(_NAME_LENGTH)),
    info=TransactionInfo,
)


@command("INQUIRE TRANSACTION", "NOTAUTH TRANSIDERR", receivers("TRANSACTION"), otherwise=_NOTHING)
def inquire_transaction(
    task: SpiTask, transaction: Name4, *options: TransactionOption, nohandle: bool = False
) -> TransactionInfo:
    """Retrieve information about a transaction.

    Args:
        transaction: its identifier.
        options: the options wanted; all when none is named.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: TRANSIDERR 1; NOTAUTH 100.
    """
    info: TransactionInfo = inquire_one(task, TRANSACTION, transaction.rstrip(" "), options)
    return info


@command("INQUIRE TRANSACTION START", "ILLOGIC NOTAUTH")
def inquire_transaction_start(task: SpiTask, *, nohandle: Flag = False) -> None:
    """Start a browse of transactions."""
    browse_start(task, TRANSACTION)


@command(
    "INQUIRE TRANSACTION NEXT",
    "END ILLOGIC",
    receivers("TRANSACTION", TRANSACTION=Opt("name", _NAME_LENGTH, required=True)),
    otherwise=_NOTHING,
)
def inquire_transaction_next(task: SpiTask, *options: TransactionOption, nohandle: bool = False) -> TransactionInfo:
    """Retrieve information about the next transaction; its identifier is ``transaction``.

    Raises:
        Condition: END 2; ILLOGIC 1.
    """
    info: TransactionInfo = browse_next(task, TRANSACTION, options)
    return info


@command("INQUIRE TRANSACTION END", "ILLOGIC")
def inquire_transaction_end(task: SpiTask, *, nohandle: Flag = False) -> None:
    """End the browse of transactions."""
    browse_end(task, TRANSACTION)


@command("SET TRANSACTION", "INVREQ NOTAUTH TRANSIDERR", resource="transaction")
def set_transaction(task: SpiTask, transaction: Name4, *, status: Status, nohandle: Flag = False) -> None:
    """Enable or disable a transaction; a disabled one is not attached.

    Args:
        transaction: its identifier.
        status: ENABLED or DISABLED.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: TRANSIDERR 1; INVREQ; NOTAUTH 100.
    """
    may_issue(task, "TRANSACTION", Access.UPDATE)
    entry = task.region.transactions.get(transaction.rstrip(" "))
    if entry is None:
        raise refusal("SET TRANSACTION", "not found", f"there is no transaction {transaction}")
    wanted = to_cvda(status)
    if wanted not in (Cvda.ENABLED, Cvda.DISABLED):
        raise refusal("SET TRANSACTION", "bad cvda", f"STATUS must be ENABLED or DISABLED, not {status!r}")
    entry.define(entry.definition.model_copy(update={"status": wanted.name}), defined=entry.defined)
