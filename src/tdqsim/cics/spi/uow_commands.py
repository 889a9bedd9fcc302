"""INQUIRE and SET for UOW, UOWLINK and TRANSACTION; and, through their groups, UOWENQ, ENQ and TASK.

A unit of work shows from its first recoverable request to its end, and beyond it while it waits for others: shunted, or
decided here without its coordinator (HEURCOMMIT, HEURBACKOUT), or committed here while another region has not heard
of it (COMMIT, WAITING). As long as it is INFLIGHT it is ACTIVE, whatever its task waits for: WAITSTATE is about
syncpoints. WAITCAUSE, LINK, NETNAME and SYSID say what one that is shunted or WAITING waits for, else nothing.
UOWLINK shows the connections of units of work: see :mod:`~tdqsim.cics.spi.uow_links`; UOWENQ what they hold: see
:mod:`~tdqsim.cics.spi.uow_enqueues`. Sources: INQUIRE UOW, INQUIRE UOWLINK, SET UOW, SET UOWLINK, UOW views (IBM Docs),
CEMT INQUIRE UOW (SC33-1686).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from tdqsim.cics.kernel.command import Cvda4, Flag, Name4, Opt, command
from tdqsim.cics.kernel.security import Access
from tdqsim.cics.spi.info import Info
from tdqsim.cics.spi.requests import may_issue, refusal, to_cvda
from tdqsim.cics.spi.task_inquiries import TaskInquiries
from tdqsim.cics.spi.unit_inquiries import (
    NS,
    UOW_LENGTH,
    Reader,
    UowId,
    age,
    find_uow,
    long_id,
    net_name,
    read,
    receivers,
)
from tdqsim.cics.spi.uow_enqueues import EnqueueInquiries
from tdqsim.cics.spi.uow_links import LINK_READERS, UowLink, links_of, netname, token
from tdqsim.cics.uow import indoubt
from tdqsim.errors import StoreError
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim.cics.region import Region
    from tdqsim.cics.uow.unit import UnitOfWork

__all__ = ["UnitCommands"]

_UOW: Final = "UOW"
_UOWLINK: Final = "UOWLINK"
_TRANSACTION: Final = "TRANSACTION"
_UOWLINK_LENGTH: Final = 4
_SYSID_LENGTH: Final = 4


# -- where values are read --------------------------------------------------------------------------------------------


def _waitstate(uow: UnitOfWork, _region: Region) -> Cvda:
    return Cvda.ACTIVE if uow.state is Cvda.INFLIGHT else uow.waitstate


def _age(uow: UnitOfWork, region: Region) -> int:
    """Since when it is in its WAITSTATE; one that runs, since it got the first end or name that it holds."""
    if _waitstate(uow, region) is not Cvda.ACTIVE:
        return age(region, uow.since_ns)
    held = [lock.since_ns for lock in uow.locks]
    held += [enqueue.since_ns for enqueue in region.enqueues.values() if uow in enqueue.holds]
    return age(region, min(held, default=0))


def _cause(uow: UnitOfWork) -> str:
    """The connection that a unit of work waits for; empty for one that waits for none."""
    return "" if uow.waitcause is Cvda.NOTAPPLIC else uow.link


def _netname(uow: UnitOfWork, region: Region) -> str:
    """The network name of the system at the other end of the link that a unit of work waits for; blank for none."""
    link = _cause(uow)
    return netname(region, link) if link else ""


_UOW_READERS: Final[Mapping[str, Reader]] = {
    "AGE": _age,
    "LINK": _netname,
    "NETNAME": _netname,
    "NETUOWID": lambda uow, region: net_name(region, uow),
    "OTSTID": lambda _uow, _region: "",
    "SYSID": lambda uow, _region: _cause(uow)[:_SYSID_LENGTH],
    "TASKID": lambda uow, _region: uow.taskid,
    "TERMID": lambda uow, _region: uow.termid,
    "TRANSID": lambda uow, _region: uow.transid,
    "UOWSTATE": lambda uow, _region: uow.state,
    "USERID": lambda uow, _region: uow.userid,
    "WAITCAUSE": lambda uow, _region: uow.waitcause,
    "WAITSTATE": _waitstate,
}
_LINK_READERS: Final[Mapping[str, Reader]] = {
    **LINK_READERS,
    "UOW": lambda link, _region: long_id(link.uow.id),
}
_TRANSACTION_READERS: Final[Mapping[str, Reader]] = {
    "DTIMEOUT": lambda entry, _region: (entry.dtimout_ns or 0) // NS,
    "PROGRAM": lambda entry, _region: entry.definition.program,
    "REMOTESYSTEM": lambda entry, _region: entry.definition.remotesystem,
    "STATUS": lambda entry, _region: Cvda[entry.definition.status],
}


# -- the commands -----------------------------------------------------------------------------------------------------


class UnitCommands(EnqueueInquiries, TaskInquiries):
    """INQUIRE and SET for units of work, their enqueues, tasks and transactions."""

    __slots__ = ()

    @command("INQUIRE UOW", "NOTAUTH UOWNOTFOUND", receivers(_UOW))
    def inquire_uow(
        self, uow: Annotated[bytes, Opt("data", UOW_LENGTH)], *options: str, nohandle: bool = False
    ) -> Info:
        """Retrieve information about a unit of work.

        Args:
            uow: its identifier, as a browse or INQUIRE UOWENQ gave it (16 bytes, the last eight zero; 8 will do).
            options: the options wanted; all when none is named.
            nohandle: return with the response in the EIB instead of raising.

        Raises:
            Condition: UOWNOTFOUND 1; NOTAUTH 100.
        """

        def find() -> Info:
            found = find_uow(self.region, "INQUIRE UOW", uow)
            return Info(read(_UOW, found, self.region, _UOW_READERS, options))

        return self._inquire_one("INQUIRE UOW", _UOW, Access.READ, find, nohandle)

    @command("INQUIRE UOW START", "ILLOGIC NOTAUTH")
    def inquire_uow_start(self, *, nohandle: Flag = False) -> None:
        """Start a browse of units of work."""
        self._browse_start(_UOW, lambda: iter([uow.id for uow in indoubt.units_of_work(self.region)]), nohandle)

    @command("INQUIRE UOW NEXT", "END ILLOGIC", receivers(_UOW, UOW=Opt("data", UOW_LENGTH)))
    def inquire_uow_next(self, *options: str, nohandle: bool = False) -> Info:
        """Retrieve information about the next unit of work; its identifier is ``uow``.

        Raises:
            Condition: END 2; ILLOGIC 1.
        """
        region = self.region

        def values(uow_id: bytes) -> dict[str, Any]:
            return {"UOW": long_id(uow_id)} | read(_UOW, _with_id(region, uow_id), region, _UOW_READERS, options)

        return self._browse_next(_UOW, values, nohandle, there=lambda uow_id: _with_id(region, uow_id) is not None)

    @command("INQUIRE UOW END", "ILLOGIC")
    def inquire_uow_end(self, *, nohandle: Flag = False) -> None:
        """End the browse of units of work."""
        self._browse_end(_UOW, nohandle)

    @command("INQUIRE UOWLINK", "NOTAUTH UOWLNOTFOUND", receivers(_UOWLINK))
    def inquire_uowlink(
        self, uowlink: Annotated[bytes, Opt("data", _UOWLINK_LENGTH)], *options: str, nohandle: bool = False
    ) -> Info:
        """Retrieve information about a connection that a unit of work uses.

        Args:
            uowlink: its token, as a browse gave it: 4 bytes.
            options: the options wanted; all when none is named.
            nohandle: return with the response in the EIB instead of raising.

        Raises:
            Condition: UOWLNOTFOUND 1; NOTAUTH 100.
        """

        def find() -> Info:
            link = _find_link(self.region, "INQUIRE UOWLINK", bytes(uowlink))
            return Info(read(_UOWLINK, link, self.region, _LINK_READERS, options))

        return self._inquire_one("INQUIRE UOWLINK", _UOWLINK, Access.READ, find, nohandle)

    @command("INQUIRE UOWLINK START", "ILLOGIC NOTAUTH UOWNOTFOUND")
    def inquire_uowlink_start(self, uow: UowId = None, *, nohandle: Flag = False) -> None:
        """Start a browse of the connections that units of work use.

        Args:
            uow: only those of this unit of work.
            nohandle: return with the response in the EIB instead of raising.

        Raises:
            Condition: ILLOGIC 1; UOWNOTFOUND 1; NOTAUTH 100.
        """

        def chosen() -> Iterator[UowLink]:
            if uow is None:
                return iter([*links_of(indoubt.units_of_work(self.region))])
            return iter([*links_of([find_uow(self.region, "INQUIRE UOWLINK", uow, "uow not found")])])

        self._browse_start(_UOWLINK, chosen, nohandle)

    @command("INQUIRE UOWLINK NEXT", "END ILLOGIC", receivers(_UOWLINK, UOWLINK=Opt("data", _UOWLINK_LENGTH)))
    def inquire_uowlink_next(self, *options: str, nohandle: bool = False) -> Info:
        """Retrieve information about the next link; its token is ``uowlink``.

        Raises:
            Condition: END 2; ILLOGIC 1.
        """
        return self._browse_next(
            _UOWLINK,
            lambda link: {"UOWLINK": token(link)} | read(_UOWLINK, link, self.region, _LINK_READERS, options),
            nohandle,
            there=lambda link: _with_id(self.region, link.uow.id) is not None,
        )

    @command("INQUIRE UOWLINK END", "ILLOGIC")
    def inquire_uowlink_end(self, *, nohandle: Flag = False) -> None:
        """End the browse of links."""
        self._browse_end(_UOWLINK, nohandle)

    @command("SET UOWLINK", "INVREQ NOTAUTH UOWLNOTFOUND")
    def set_uowlink(
        self,
        uowlink: Annotated[bytes, Opt("data", _UOWLINK_LENGTH)],
        *,
        action: Cvda4 | str = Cvda.DELETE,
        nohandle: Flag = False,
    ) -> None:
        """Delete a link whose connection is no longer defined: nobody will ever ask or hear over it.

        What this region has decided without its coordinator is forgotten then, and so is that a region has not heard of
        a decision.

        Args:
            uowlink: its token, as a browse gave it: 4 bytes.
            action: DELETE.
            nohandle: return with the response in the EIB instead of raising.

        Raises:
            Condition: UOWLNOTFOUND 1; NOTAUTH 100; INVREQ 3: the coordinator's, of a unit of work that is indoubt;
                INVREQ 5: the unit of work is active; INVREQ 6: another CVDA; INVREQ 7: there is a connection.
        """

        def work() -> None:
            may_issue(self.region, self.userid, _UOWLINK, Access.UPDATE)
            link = _find_link(self.region, "SET UOWLINK", bytes(uowlink))
            if to_cvda(action) is not Cvda.DELETE:
                raise refusal("SET UOWLINK", "bad cvda", f"ACTION must be DELETE, not {action!r}")
            _check_link(self.region, link)
            if link.role is Cvda.COORDINATOR:
                indoubt.Subordinate(link.uow, link.uow.coordinator, link.uow.link).forget()
            else:
                indoubt.heard(self.region, link.uow.id, link.name)

        self.issue("SET UOWLINK", work, nohandle=nohandle, otherwise=None)

    @command("INQUIRE TRANSACTION", "NOTAUTH TRANSIDERR", receivers(_TRANSACTION))
    def inquire_transaction(self, transaction: Name4, *options: str, nohandle: bool = False) -> Info:
        """Retrieve information about a transaction.

        Raises:
            Condition: TRANSIDERR 1; NOTAUTH 100.
        """

        def find() -> Info:
            entry = _transaction(self.region, "INQUIRE TRANSACTION", transaction)
            return Info(read(_TRANSACTION, entry, self.region, _TRANSACTION_READERS, options))

        return self._inquire_one("INQUIRE TRANSACTION", _TRANSACTION, Access.READ, find, nohandle)

    @command("SET TRANSACTION", "INVREQ NOTAUTH TRANSIDERR")
    def set_transaction(self, transaction: Name4, *, status: Cvda4 | str, nohandle: Flag = False) -> None:
        """Enable or disable a transaction; a disabled one is not attached.

        Args:
            transaction: its identifier.
            status: ENABLED or DISABLED.
            nohandle: return with the response in the EIB instead of raising.

        Raises:
            Condition: TRANSIDERR 1; INVREQ; NOTAUTH 100.
        """

        def work() -> None:
            may_issue(self.region, self.userid, _TRANSACTION, Access.UPDATE)
            entry = _transaction(self.region, "SET TRANSACTION", transaction)
            wanted = to_cvda(status)
            if wanted not in (Cvda.ENABLED, Cvda.DISABLED):
                raise refusal("SET TRANSACTION", "bad cvda", f"STATUS must be ENABLED or DISABLED, not {status!r}")
            entry.define(entry.definition.model_copy(update={"status": wanted.name}), defined=entry.defined)

        self.issue("SET TRANSACTION", work, resource=transaction.rstrip(), nohandle=nohandle, otherwise=None)

    @command("SET UOW", "INVREQ NOTAUTH UOWNOTFOUND")
    def set_uow(
        self, uow: Annotated[bytes, Opt("data", UOW_LENGTH)], *, uowstate: Cvda4 | str, nohandle: Flag = False
    ) -> None:
        """Decide about a unit of work that is shunted because it lost its coordinator.

        Args:
            uow: its identifier.
            uowstate: COMMIT, BACKOUT, or FORCE (as ACTION of its transaction says).
            nohandle: return with the response in the EIB instead of raising.

        Raises:
            Condition: UOWNOTFOUND 1; INVREQ 3: another CVDA; INVREQ 4: it is not shunted indoubt; NOTAUTH 100.
        """

        def work() -> None:
            may_issue(self.region, self.userid, _UOW, Access.UPDATE)
            found = find_uow(self.region, "SET UOW", uow)
            wanted = to_cvda(uowstate)
            if wanted not in (Cvda.COMMIT, Cvda.BACKOUT, Cvda.FORCE):
                raise refusal("SET UOW", "bad cvda", f"UOWSTATE must be COMMIT, BACKOUT or FORCE, not {uowstate!r}")
            if found.state is not Cvda.INDOUBT or found.waitstate is not Cvda.SHUNTED:
                raise refusal("SET UOW", "wrong state", f"{found.title} is not shunted indoubt")
            try:
                indoubt.force(found, wanted.name)
            except StoreError as error:  # it is as it was, and this can be tried again
                raise refusal("SET UOW", "wrong state", f"{found.title} could not be decided: {error}") from error

        self.issue("SET UOW", work, nohandle=nohandle, otherwise=None)


def _with_id(region: Region, uow_id: bytes) -> UnitOfWork | None:
    """The unit of work as it is now; None when it is over and nobody waits for anything any more."""
    found = region.units.get(uow_id) or region.shunted.get(uow_id)
    return found or next((uow for uow in indoubt.kept_units(region) if uow.id == uow_id), None)


def _find_link(region: Region, command_name: str, wanted: bytes) -> UowLink:
    for link in links_of(indoubt.units_of_work(region)):
        if token(link) == wanted:
            return link
    raise refusal(command_name, "not found", f"no unit of work has a link X'{wanted.hex().upper()}'")


def _check_link(region: Region, link: UowLink) -> None:
    """Whether a link can be deleted.

    Raises:
        Condition: INVREQ: it cannot.
    """
    uow = link.uow
    if uow.state is Cvda.INDOUBT and link.role is Cvda.COORDINATOR:
        raise refusal("SET UOWLINK", "indoubt", f"{uow.title} is indoubt, and this is its coordinator: SET UOW first")
    if not uow.ended:
        raise refusal("SET UOWLINK", "active", f"{uow.title} is {uow.state.name}")
    if link.name in region.connections or link.name in region.links:
        raise refusal("SET UOWLINK", "connected", f"the connection {link.name} is there")


def _transaction(region: Region, command_name: str, name: str) -> Any:
    entry = region.transactions.get(name.rstrip())
    if entry is None:
        raise refusal(command_name, "not found", f"there is no transaction {name}")
    return entry
