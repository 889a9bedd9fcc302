"""INQUIRE UOW, UOWENQ, UOWLINK, TASK, TRANSACTION; SET UOW, TRANSACTION: who holds what, who waits for whom.

A unit of work shows from its first recoverable request to its end, and beyond it while it waits for others: shunted, or
decided here without its coordinator (HEURCOMMIT, HEURBACKOUT), or committed here while another region has not heard
of it (COMMIT, WAITING). UOWENQ shows the ends of logically recoverable queues: RESOURCE the queue, QUALIFIER the end
(FROMQ is read, TOQ written), RELATION OWNER or WAITER, STATE RETAINED for those of a shunted unit of work on a queue
with WAITACTION(REJECT). UOWLINK shows the connections of units of work: see :mod:`~tdqsim.cics.uow_links`. Sources:
INQUIRE UOW, INQUIRE UOWENQ, INQUIRE UOWLINK, SET UOW (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from tdqsim.cics import indoubt
from tdqsim.cics.command import CommandGroup, Cvda4, Flag, Fullword, Name4, Opt, OptionKind, command
from tdqsim.cics.info import Info
from tdqsim.cics.inquire_commands import open_browses
from tdqsim.cics.queues import IntraQueue
from tdqsim.cics.security import Access
from tdqsim.cics.spi import may_issue, refusal, to_cvda
from tdqsim.cics.uow_links import LINK_READERS, UowLink, links_of, netname, token
from tdqsim.errors import TdqError
from tdqsim.facts import Cvda, table

if TYPE_CHECKING:
    from tdqsim.cics.locks import Lock
    from tdqsim.cics.region import Region
    from tdqsim.cics.task import Task
    from tdqsim.cics.uow import UnitOfWork

__all__ = ["UnitCommands"]

_NS: Final = 1_000_000_000
_UOW_LENGTH: Final = 16
_UOWLINK_LENGTH: Final = 4
_KINDS: Final[dict[str, OptionKind]] = {
    "CVDA": "cvda", "CHAR": "name", "BINARY": "fullword", "HEX": "data", "PACKED": "fullword",
}  # fmt: skip
UowId = Annotated[bytes | None, Opt("data", _UOW_LENGTH)]


class _Option(NamedTuple):
    name: str
    receiver: str
    length: int


def _options(resource: str) -> dict[str, _Option]:
    rows = (row for row in table("inquire_units") if row["resource"] == resource)
    return {row["option"]: _Option(row["option"], row["receiver"], int(row["length"])) for row in rows}


_OPTIONS: Final = {resource: _options(resource) for resource in ("UOW", "UOWENQ", "UOWLINK", "TASK", "TRANSACTION")}


def _receivers(resource: str, **more: Opt) -> dict[str, Opt]:
    found = {name: Opt(_KINDS[option.receiver], option.length) for name, option in _OPTIONS[resource].items()}
    return {**more, **found}


def long_id(uow_id: bytes) -> bytes:
    """The 16 bytes that INQUIRE UOW shows: the identifier and eight bytes of zero."""
    return uow_id.ljust(_UOW_LENGTH, b"\0")


# -- what there is ----------------------------------------------------------------------------------------------------


def units_of_work(region: Region) -> list[UnitOfWork]:
    """The region's units of work: those that run in order of age, the shunted ones, those that only wait for others."""
    return [*region.units.values(), *region.shunted.values(), *indoubt.kept_units(region)]


class _Enqueue(NamedTuple):
    lock: Lock
    task: Task | None
    uow: UnitOfWork | None
    relation: Cvda


def _enqueues(region: Region) -> Iterator[_Enqueue]:
    for queue in region.tdqueues.values():
        if isinstance(queue, IntraQueue):
            for lock in queue.locks:
                if lock.owner is not None:
                    yield _Enqueue(lock, lock.owner.task, lock.owner, Cvda.OWNER)
                for strand in lock.waiting.waiters:
                    task = strand.local
                    yield _Enqueue(lock, task, task.uow, Cvda.WAITER)


# -- where values are read --------------------------------------------------------------------------------------------

_Reader = Callable[[Any, Any], Any]


def _age(region: Region, since_ns: int) -> int:
    return (region.clock.time_ns() - since_ns) // _NS if since_ns else 0


def _duration(enq: _Enqueue, region: Region) -> int:
    """Since when it is held or retained, or its waiter waits."""
    waiting = enq.relation is Cvda.WAITER and enq.uow is not None
    return _age(region, enq.uow.since_ns if waiting else enq.lock.since_ns)  # type: ignore[union-attr]


def _uow_age(uow: UnitOfWork, region: Region) -> int:
    """Since when it is in its WAITSTATE; one that has never waited, since it got the first end that it holds."""
    return _age(region, uow.since_ns or min((lock.since_ns for lock in uow.locks), default=0))


def _netname(uow: UnitOfWork, region: Region) -> str:
    """The network name of the system at the other end of the link that a unit of work waits for; blank for none."""
    return netname(region, uow.link) if uow.link else ""


_UOW: Final[Mapping[str, _Reader]] = {
    "AGE": _uow_age,
    "LINK": _netname,
    "NETNAME": _netname,
    "NETUOWID": lambda uow, region: f"{region.applid}.{uow.id.hex().upper()}",
    "OTSTID": lambda _uow, _region: "",
    "SYSID": lambda uow, _region: uow.link[:4],
    "TASKID": lambda uow, _region: uow.taskid,
    "TERMID": lambda uow, _region: uow.termid,
    "TRANSID": lambda uow, _region: uow.transid,
    "UOWSTATE": lambda uow, _region: uow.state,
    "USERID": lambda uow, _region: uow.userid,
    "WAITCAUSE": lambda uow, _region: uow.waitcause,
    "WAITSTATE": lambda uow, _region: uow.waitstate,
}
_UOWENQ: Final[Mapping[str, _Reader]] = {
    "DURATION": _duration,
    "ENQFAILS": lambda _enq, _region: 0,
    "NETUOWID": lambda enq, region: f"{region.applid}.{enq.uow.id.hex().upper()}",
    "QUALIFIER": lambda enq, _region: enq.lock.end,
    "QUALLEN": lambda enq, _region: len(enq.lock.end),
    "RELATION": lambda enq, _region: enq.relation,
    "RESLEN": lambda enq, _region: len(enq.lock.queue.name),
    "RESOURCE": lambda enq, _region: enq.lock.queue.name,
    "STATE": lambda enq, _region: Cvda.RETAINED if enq.lock.retained else Cvda.ACTIVE,
    "TASKID": lambda enq, _region: enq.uow.taskid,
    "TRANSID": lambda enq, _region: enq.uow.transid,
    "TYPE": lambda _enq, _region: Cvda.TDQ,
    "UOW": lambda enq, _region: long_id(enq.uow.id),
}

_UOWLINK: Final[Mapping[str, _Reader]] = {**LINK_READERS, "UOW": lambda link, _region: long_id(link.uow.id)}


def _facility(task: Task, _region: Region) -> str:
    if task.facility is not None:
        return task.facility.name
    return task.request.queue.name if task.request is not None else ""


def _facilitytype(task: Task, _region: Region) -> Cvda:
    if task.facility is not None:
        return Cvda.TERM
    return Cvda.DEST if task.request is not None else Cvda.TASK


def _runstatus(task: Task, region: Region) -> Cvda:
    if task.suspended is not None:
        return Cvda.SUSPENDED
    strand = task.strand
    running = strand is region.dispatcher.current if strand is not None else task.outside
    return Cvda.RUNNING if running else Cvda.DISPATCHABLE


def _suspendtime(task: Task, region: Region) -> int:
    return _age(region, task.uow.since_ns) if task.suspended is not None and task.has_uow else 0


_TASK: Final[Mapping[str, _Reader]] = {
    "DTIMEOUT": lambda task, _region: (task.dtimout_ns or 0) // _NS,
    "FACILITY": _facility,
    "FACILITYTYPE": _facilitytype,
    "PROGRAM": lambda task, _region: task.program,
    "RUNSTATUS": _runstatus,
    "STARTCODE": lambda task, _region: task.startcode,
    "SUSPENDTIME": _suspendtime,
    "SUSPENDTYPE": lambda task, _region: task.suspended[0] if task.suspended else "",
    "SUSPENDVALUE": lambda task, _region: task.suspended[1] if task.suspended else "",
    "TRANSACTION": lambda task, _region: task.transid,
    "UOW": lambda task, _region: long_id(task.uow.id) if task.has_uow else bytes(_UOW_LENGTH),
    "USERID": lambda task, _region: task.userid,
}
_TRANSACTION: Final[Mapping[str, _Reader]] = {
    "DTIMEOUT": lambda entry, _region: (entry.dtimout_ns or 0) // _NS,
    "PROGRAM": lambda entry, _region: entry.definition.program,
    "REMOTESYSTEM": lambda entry, _region: entry.definition.remotesystem,
    "STATUS": lambda entry, _region: Cvda[entry.definition.status],
}
_READERS: Final = {
    "UOW": _UOW, "UOWENQ": _UOWENQ, "UOWLINK": _UOWLINK, "TASK": _TASK, "TRANSACTION": _TRANSACTION,
}  # fmt: skip


def _values(resource: str, thing: Any, region: Region, options: tuple[str, ...]) -> dict[str, Any]:
    known = _OPTIONS[resource]
    found: dict[str, Any] = {}
    for name in [option.upper() for option in options] or known:
        if name not in known:
            raise TdqError(f"{name} is no option of INQUIRE {resource}; allowed are {', '.join(known)}")
        value = _READERS[resource][name](thing, region)
        length = known[name].length
        found[name] = value[:length].ljust(length) if known[name].receiver == "CHAR" else value
    return found


# -- the commands -----------------------------------------------------------------------------------------------------


class UnitCommands(CommandGroup):
    """INQUIRE and SET for units of work, their enqueues, tasks and transactions."""

    __slots__ = ()

    def _inquire_one(
        self, command_name: str, resource: str, level: Access, find: Callable[[], Info], nohandle: bool
    ) -> Info:
        def work() -> Info:
            may_issue(self.region, self.userid, resource, level)
            return find()

        return self.issue(command_name, work, nohandle=nohandle, otherwise=Info())

    @command("INQUIRE UOW", "NOTAUTH UOWNOTFOUND", _receivers("UOW"))
    def inquire_uow(
        self, uow: Annotated[bytes, Opt("data", _UOW_LENGTH)], *options: str, nohandle: bool = False
    ) -> Info:
        """Retrieve information about a unit of work.

        Args:
            uow: its identifier, as a browse or INQUIRE UOWENQ gave it (16 bytes, the last eight zero; 8 will do).
            options: the options wanted; all when none is named.
            nohandle: return with the response in the EIB instead of raising.

        Raises:
            Condition: UOWNOTFOUND 1; NOTAUTH 100.
        """
        return self._inquire_one(
            "INQUIRE UOW", "UOW", Access.READ,
            lambda: Info(_values("UOW", _find_uow(self.region, "INQUIRE UOW", uow), self.region, options)), nohandle,
        )  # fmt: skip

    @command("INQUIRE UOW START", "ILLOGIC NOTAUTH")
    def inquire_uow_start(self, *, nohandle: Flag = False) -> None:
        """Start a browse of units of work."""
        self._browse_start("UOW", lambda: iter(units_of_work(self.region)), nohandle)

    @command("INQUIRE UOW NEXT", "END ILLOGIC", _receivers("UOW", UOW=Opt("data", _UOW_LENGTH)))
    def inquire_uow_next(self, *options: str, nohandle: bool = False) -> Info:
        """Retrieve information about the next unit of work; its identifier is ``uow``.

        Raises:
            Condition: END 2; ILLOGIC 1.
        """
        return self._browse_next("UOW", options, nohandle, lambda uow: {"UOW": long_id(uow.id)})

    @command("INQUIRE UOW END", "ILLOGIC")
    def inquire_uow_end(self, *, nohandle: Flag = False) -> None:
        """End the browse of units of work."""
        self._browse_end("UOW", nohandle)

    @command("INQUIRE UOWENQ START", "ILLOGIC NOTAUTH UOWNOTFOUND")
    def inquire_uowenq_start(
        self,
        uow: UowId = None,
        resource: Annotated[str | None, Opt("name", 255)] = None,
        reslen: Annotated[int | None, Opt("halfword", 2)] = None,
        enqscope: Annotated[str | None, Opt("name", 4)] = None,
        *,
        nohandle: Flag = False,
    ) -> None:
        """Start a browse of enqueues on the ends of logically recoverable queues.

        Args:
            uow: only those that this unit of work owns or waits for.
            resource: only those of this queue.
            reslen: how many characters of ``resource`` count; all when not given.
            enqscope: only those of this scope; all enqueues are local, which is blank.
            nohandle: return with the response in the EIB instead of raising.

        Raises:
            Condition: ILLOGIC 1; UOWNOTFOUND 1; NOTAUTH 100.
        """

        def chosen() -> Iterator[_Enqueue]:
            wanted = None if uow is None else _find_uow(self.region, "INQUIRE UOWENQ", uow)
            name = None if resource is None else resource[: None if reslen is None else max(reslen, 0)].rstrip()
            there = () if enqscope is not None and enqscope.strip() else _enqueues(self.region)
            return iter(
                [
                    enq
                    for enq in there
                    if (wanted is None or enq.uow is wanted) and (name is None or enq.lock.queue.name == name)
                ]
            )

        self._browse_start("UOWENQ", chosen, nohandle)

    @command("INQUIRE UOWENQ NEXT", "END ILLOGIC", _receivers("UOWENQ"))
    def inquire_uowenq_next(self, *options: str, nohandle: bool = False) -> Info:
        """Retrieve information about the next enqueue.

        Raises:
            Condition: END 2; ILLOGIC 1.
        """
        return self._browse_next("UOWENQ", options, nohandle, lambda _enq: {})

    @command("INQUIRE UOWENQ END", "ILLOGIC")
    def inquire_uowenq_end(self, *, nohandle: Flag = False) -> None:
        """End the browse of enqueues."""
        self._browse_end("UOWENQ", nohandle)

    @command("INQUIRE UOWLINK", "NOTAUTH UOWLNOTFOUND", _receivers("UOWLINK"))
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
            wanted = bytes(uowlink)
            for link in links_of(units_of_work(self.region)):
                if token(link) == wanted:
                    return Info(_values("UOWLINK", link, self.region, options))
            raise refusal("INQUIRE UOWLINK", "not found", f"no unit of work has a link X'{wanted.hex().upper()}'")

        return self._inquire_one("INQUIRE UOWLINK", "UOWLINK", Access.READ, find, nohandle)

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
                return iter([*links_of(units_of_work(self.region))])
            return iter([*links_of([_find_uow(self.region, "INQUIRE UOWLINK", uow, "uow not found")])])

        self._browse_start("UOWLINK", chosen, nohandle)

    @command("INQUIRE UOWLINK NEXT", "END ILLOGIC", _receivers("UOWLINK", UOWLINK=Opt("data", _UOWLINK_LENGTH)))
    def inquire_uowlink_next(self, *options: str, nohandle: bool = False) -> Info:
        """Retrieve information about the next link; its token is ``uowlink``.

        Raises:
            Condition: END 2; ILLOGIC 1.
        """
        return self._browse_next("UOWLINK", options, nohandle, lambda link: {"UOWLINK": token(link)})

    @command("INQUIRE UOWLINK END", "ILLOGIC")
    def inquire_uowlink_end(self, *, nohandle: Flag = False) -> None:
        """End the browse of links."""
        self._browse_end("UOWLINK", nohandle)

    @command("INQUIRE TASK", "NOTAUTH TASKIDERR", _receivers("TASK"))
    def inquire_task(self, task: Fullword, *options: str, nohandle: bool = False) -> Info:
        """Retrieve information about a task.

        Args:
            task: its number (EIBTASKN).
            options: the options wanted; all when none is named.
            nohandle: return with the response in the EIB instead of raising.

        Raises:
            Condition: TASKIDERR 1; NOTAUTH 100.
        """

        def find() -> Info:
            found = self.region.tasks.get(task)
            if found is None:
                raise refusal("INQUIRE TASK", "not found", f"there is no task {task}")
            return Info(_values("TASK", found, self.region, options))

        return self._inquire_one("INQUIRE TASK", "TASK", Access.READ, find, nohandle)

    @command("INQUIRE TRANSACTION", "NOTAUTH TRANSIDERR", _receivers("TRANSACTION"))
    def inquire_transaction(self, transaction: Name4, *options: str, nohandle: bool = False) -> Info:
        """Retrieve information about a transaction.

        Raises:
            Condition: TRANSIDERR 1; NOTAUTH 100.
        """

        def find() -> Info:
            entry = _transaction(self.region, "INQUIRE TRANSACTION", transaction)
            return Info(_values("TRANSACTION", entry, self.region, options))

        return self._inquire_one("INQUIRE TRANSACTION", "TRANSACTION", Access.READ, find, nohandle)

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
            may_issue(self.region, self.userid, "TRANSACTION", Access.UPDATE)
            entry = _transaction(self.region, "SET TRANSACTION", transaction)
            wanted = to_cvda(status)
            if wanted not in (Cvda.ENABLED, Cvda.DISABLED):
                raise refusal("SET TRANSACTION", "bad cvda", f"STATUS must be ENABLED or DISABLED, not {status!r}")
            entry.define(entry.definition.model_copy(update={"status": wanted.name}), defined=entry.defined)

        self.issue("SET TRANSACTION", work, resource=transaction.rstrip(), nohandle=nohandle, otherwise=None)

    @command("SET UOW", "INVREQ NOTAUTH UOWNOTFOUND")
    def set_uow(
        self, uow: Annotated[bytes, Opt("data", _UOW_LENGTH)], *, uowstate: Cvda4 | str, nohandle: Flag = False
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
            may_issue(self.region, self.userid, "UOW", Access.UPDATE)
            found = _find_uow(self.region, "SET UOW", uow)
            wanted = to_cvda(uowstate)
            if wanted not in (Cvda.COMMIT, Cvda.BACKOUT, Cvda.FORCE):
                raise refusal("SET UOW", "bad cvda", f"UOWSTATE must be COMMIT, BACKOUT or FORCE, not {uowstate!r}")
            if found.state is not Cvda.INDOUBT or found.waitstate is not Cvda.SHUNTED:
                raise refusal("SET UOW", "wrong state", f"{found.title} is not shunted indoubt")
            indoubt.force(found, wanted.name)

        self.issue("SET UOW", work, nohandle=nohandle, otherwise=None)

    # -- browses --------------------------------------------------------------------------------------------------

    def _browse_start(self, resource: str, things: Callable[[], Iterator[Any]], nohandle: bool) -> None:
        name = f"INQUIRE {resource}"

        def work() -> None:
            may_issue(self.region, self.userid, resource, Access.READ)
            browses = open_browses(self)
            if name in browses:
                raise refusal(name, "browse sequence", f"a browse of {resource} is open already")
            browses[name] = things()

        self.issue(f"{name} START", work, nohandle=nohandle, otherwise=None)

    def _browse_next(
        self, resource: str, options: tuple[str, ...], nohandle: bool, also: Callable[[Any], dict[str, Any]]
    ) -> Info:
        name = f"INQUIRE {resource}"

        def work() -> Info:
            browse = open_browses(self).get(name)
            if browse is None:
                raise refusal(name, "browse sequence", f"no browse of {resource} is open; START one first")
            thing = next(browse, None)
            if thing is None:
                raise refusal(name, "no more", f"there is no more {resource}")
            return Info(also(thing) | _values(resource, thing, self.region, options))

        return self.issue(f"{name} NEXT", work, nohandle=nohandle, otherwise=Info())

    def _browse_end(self, resource: str, nohandle: bool) -> None:
        name = f"INQUIRE {resource}"

        def work() -> None:
            if open_browses(self).pop(name, None) is None:
                raise refusal(name, "browse sequence", f"no browse of {resource} is open")

        self.issue(f"{name} END", work, nohandle=nohandle, otherwise=None)


def _find_uow(region: Region, command_name: str, uow_id: bytes, cause: str = "not found") -> UnitOfWork:
    wanted = long_id(bytes(uow_id))
    for uow in units_of_work(region):
        if long_id(uow.id) == wanted:
            return uow
    raise refusal(command_name, cause, f"there is no unit of work X'{wanted.hex().upper()}'")


def _transaction(region: Region, command_name: str, name: str) -> Any:
    entry = region.transactions.get(name.rstrip())
    if entry is None:
        raise refusal(command_name, "not found", f"there is no transaction {name}")
    return entry
