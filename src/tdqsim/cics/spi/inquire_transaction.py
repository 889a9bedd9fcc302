"""INQUIRE, SET and DISCARD TRANSACTION. Sources: the pages of these commands (IBM Docs)."""

from __future__ import annotations

import re
from itertools import chain
from typing import Annotated, Final, Literal

from tdqsim.cics.kernel.authority import check_command, check_resource
from tdqsim.cics.kernel.command import Flag, Name4, Name4OrNone, Opt, command, to_cvda
from tdqsim.cics.kernel.security import XPCT, Access
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.transaction import TransactionEntry
from tdqsim.cics.spi.inquiry import BrowseCommands, ResourceType, browse_command, browse_start, inquire_one, receivers
from tdqsim.cics.spi.install import remove_transaction
from tdqsim.cics.spi.requests import RESERVED, refusal
from tdqsim.cics.spi.uow_ids import NS
from tdqsim.core.codepage import codepage
from tdqsim.facts import Cvda
from tdqsim.facts.inquiries import TransactionInfo, TransactionOption

Status = Annotated[Literal["ENABLED", "enabled", "DISABLED", "disabled"] | Cvda | int, Opt("cvda", 4)]
_NAME_LENGTH: Final = 4
_DISCARD: Final = "DISCARD TRANSACTION"
_OF_CICS: Final = "DFH|EYU|CJ[A-J]"
"""How the programs of supplied transactions begin, whose names begin with C."""
_NOTHING: Final = TransactionInfo()


def _collated(name: str) -> bytes:
    """The sort key of a name: its bytes in EBCDIC, padded with blanks; in EBCDIC letters come before digits."""
    return codepage(37).encode(name.ljust(_NAME_LENGTH))


TRANSACTION: Final = ResourceType[str, TransactionEntry, TransactionInfo](
    "TRANSACTION",
    TransactionInfo,
    {
        "CMDSEC": lambda entry, _region: Cvda[f"CMDSEC{entry.definition.cmdsec}"],
        "DTIMEOUT": lambda entry, _region: (entry.dtimout_ns or 0) // NS,
        "PROGRAM": lambda entry, _region: entry.definition.program,
        "REMOTESYSTEM": lambda entry, _region: entry.definition.remotesystem,
        "RESSEC": lambda entry, _region: Cvda[f"RESSEC{entry.definition.ressec}"],
        "STATUS": lambda entry, _region: Cvda[entry.definition.status],
    },
    keys=lambda region: sorted(region.transactions, key=_collated),
    find=lambda region, name: region.transactions.get(name),
    identity=lambda entry: entry.definition.name.ljust(_NAME_LENGTH),
    protection=lambda entry, _region: (XPCT, entry.name),
)


@command("INQUIRE TRANSACTION", "NOTAUTH TRANSIDERR", receivers("TRANSACTION"), otherwise=_NOTHING)
def inquire_transaction(
    task: TaskBase, transaction: Name4, *options: TransactionOption, nohandle: bool = False
) -> TransactionInfo:
    """Retrieve information about a transaction.

    Args:
        transaction: its identifier.
        options: the options to return; all when none is named.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: TRANSIDERR 1; NOTAUTH 100, 101.
    """
    return inquire_one(task, TRANSACTION, transaction.rstrip(" "), options)


@command("INQUIRE TRANSACTION START", "ILLOGIC NOTAUTH")
def inquire_transaction_start(task: TaskBase, *, at: Name4OrNone = None, nohandle: Flag = False) -> None:
    """Start a browse of transactions, which is in alphabetic order.

    Args:
        at: where the browse begins: at the transaction with this name or, when there is none, at the next one.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: ILLOGIC 1: a browse is open already; NOTAUTH 100.
    """
    names = TRANSACTION.keys(task._region)
    browse_start(task, TRANSACTION, [name for name in names if at is None or _collated(name) >= _collated(at)])


_BROWSE: Final = BrowseCommands[TransactionOption, TransactionInfo](
    TRANSACTION, "transactions", __name__, receives=Opt("name", _NAME_LENGTH, required=True)
)
inquire_transaction_next = browse_command(_BROWSE.next)
inquire_transaction_end = browse_command(_BROWSE.end)


@command("SET TRANSACTION", "INVREQ NOTAUTH TRANSIDERR", resource="transaction")
def set_transaction(task: TaskBase, transaction: Name4, *, status: Status, nohandle: Flag = False) -> None:
    """Enable or disable a transaction; a disabled one is not attached.

    Args:
        transaction: its identifier.
        status: ENABLED or DISABLED.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: TRANSIDERR 1; INVREQ; NOTAUTH 100, 101.
    """
    entry = _find(task, "SET TRANSACTION", transaction, Access.UPDATE)
    wanted = to_cvda(status)
    if wanted not in (Cvda.ENABLED, Cvda.DISABLED):
        raise refusal("SET TRANSACTION", "bad cvda", f"STATUS must be ENABLED or DISABLED, not {status!r}")
    entry.define(entry.definition.model_copy(update={"status": wanted.name}), defined=entry.defined)


@command(_DISCARD, "INVREQ NOTAUTH TRANSIDERR", resource="transaction")
def discard_transaction(task: TaskBase, transaction: Name4, *, nohandle: Flag = False) -> None:
    """Remove the definition of a transaction; its tasks go on as it says.

    A warm start does not bring the definition back. The transaction has the handler that was registered for it again
    when it is defined again.

    Args:
        transaction: its identifier.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: TRANSIDERR 1; INVREQ 4: it belongs to CICS; 14: a START of it waits for its time; 15: a task of it
            waits for a terminal or connection; NOTAUTH 100, 101.
    """
    region, entry = task._region, _find(task, _DISCARD, transaction, Access.ALTER)
    name = entry.name
    if name.startswith(RESERVED) and re.match(_OF_CICS, entry.program_name):
        raise refusal(_DISCARD, "supplied", f"transaction {name} with program {entry.program_name} belongs to CICS")
    now = region.clock.time_ns()
    if any(each.transid == name and each.deadline_ns > now for each in region.starts.requests.values()):
        raise refusal(_DISCARD, "scheduled", f"a START of transaction {name} waits for its time")
    waiting = chain.from_iterable(facility.requests for facility in region.facilities.values())
    if any(each.transid == name for each in waiting):
        raise refusal(_DISCARD, "waiting", f"a task of transaction {name} waits for a terminal or connection")
    remove_transaction(region, name)


def _find(task: TaskBase, command_name: str, transaction: str, level: Access) -> TransactionEntry:
    """The transaction that a command names, after the security checks."""
    check_command(task, "TRANSACTION", level)
    entry = task._region.transactions.get(transaction.rstrip(" "))
    if entry is None:
        raise refusal(command_name, "not found", f"there is no transaction {transaction}")
    check_resource(task, XPCT, entry.name, level)
    return entry
