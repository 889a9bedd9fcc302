"""INQUIRE TASK and SET TASK: what a task is and waits for, and how an operator ends it.

A task that waits is SUSPENDED; SUSPENDTYPE and SUSPENDVALUE say for what: ENQUEUE with the pool of the enqueue, TD_READ
with the queue, ICWAIT for DELAY. SET TASK ends such a task at once with AEXY, and one that does not wait when it does
(RESP2 13: deferred). PURGE, FORCEPURGE and KILL do the same here: data are whole after each of them, as what a task
has done is backed out. PRIORITY is not simulated. Sources: INQUIRE TASK, SET TASK, CEMT INQUIRE TASK, AEXY (IBM Docs);
ICWAIT recalled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tdqsim.cics.command import Cvda4, Flag, Fullword, command
from tdqsim.cics.eib import completion
from tdqsim.cics.info import Info
from tdqsim.cics.security import Access
from tdqsim.cics.spi import may_issue, refusal, to_cvda
from tdqsim.cics.unit_inquiries import NS, UOW_LENGTH, Reader, UnitInquiries, age, long_id, read, receivers
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim.cics.region import Region
    from tdqsim.cics.task import Task
    from tdqsim.core.dispatch import Strand

__all__ = ["TaskInquiries"]

_TASK: Final = "TASK"
_SET: Final = "SET TASK"
_PURGES: Final = (Cvda.PURGE, Cvda.FORCEPURGE, Cvda.KILL)
_MINUTE: Final = 60
_OTHER_WAITS: Final = {"DELAY": "ICWAIT"}
"""SUSPENDTYPE of the waits that name themselves only by their queue."""


# -- where values are read --------------------------------------------------------------------------------------------


def _strand(task: Task, region: Region) -> Strand | None:
    """The strand on which a task runs or waits; None for one of the program outside that does neither."""
    if task.strand is not None:
        return task.strand
    dispatcher = region.dispatcher
    return next((each for each in (dispatcher.outside, *dispatcher.strands) if each.local is task), None)


def _facility(task: Task, _region: Region) -> str:
    if task.facility is not None:
        return task.facility.name
    return task.request.queue.name if task.request is not None else ""


def _facilitytype(task: Task, _region: Region) -> Cvda:
    if task.facility is not None:
        return Cvda.TERM
    return Cvda.DEST if task.request is not None else Cvda.TASK


def _wait(task: Task, region: Region) -> Strand | None:
    """The strand on which a task waits; None for one that does not wait."""
    strand = _strand(task, region)
    return strand if strand is not None and strand.waiting_for is not None and strand.local is task else None


def _runstatus(task: Task, region: Region) -> Cvda:
    if _wait(task, region) is not None:
        return Cvda.SUSPENDED
    strand = task.strand
    running = strand is region.dispatcher.current if strand is not None else task.outside
    return Cvda.RUNNING if running else Cvda.DISPATCHABLE


def _suspendtime(task: Task, region: Region) -> int:
    strand = _wait(task, region)
    return age(region, strand.since_ns) if strand is not None else 0


def _suspended(task: Task, region: Region) -> tuple[str, str]:
    """The kind and the name of what it waits for; blank for one that does not wait."""
    if task.suspended is not None:
        return task.suspended
    strand = _wait(task, region)
    queue = None if strand is None else strand.waiting_for
    return ("" if queue is None else _OTHER_WAITS.get(queue.name, ""), "")


def _definition(task: Task, region: Region) -> Any:
    """What its TRANSACTION says; None for a task of no transaction."""
    entry = region.transactions.get(task.transid)
    return None if entry is None else entry.definition


def _indoubt(task: Task, region: Region) -> Cvda:
    found = _definition(task, region)
    return Cvda.BACKOUT if found is None else Cvda[found.action]


def _indoubtwait(task: Task, region: Region) -> Cvda:
    found = _definition(task, region)
    return Cvda.WAIT if found is None or found.wait == "YES" else Cvda.NOWAIT


def _indoubtmins(task: Task, region: Region) -> int:
    found = _definition(task, region)
    return 0 if found is None else (found.waittime_seconds or 0) // _MINUTE


_READERS: Final[Mapping[str, Reader]] = {
    "DTIMEOUT": lambda task, _region: (task.dtimout_ns or 0) // NS,
    "FACILITY": _facility,
    "FACILITYTYPE": _facilitytype,
    "INDOUBT": _indoubt,
    "INDOUBTMINS": _indoubtmins,
    "INDOUBTWAIT": _indoubtwait,
    "PROGRAM": lambda task, _region: task.program,
    "RUNSTATUS": _runstatus,
    "STARTCODE": lambda task, _region: task.startcode,
    "SUSPENDTIME": _suspendtime,
    "SUSPENDTYPE": lambda task, region: _suspended(task, region)[0],
    "SUSPENDVALUE": lambda task, region: _suspended(task, region)[1],
    "TRANSACTION": lambda task, _region: task.transid,
    "UOW": lambda task, _region: long_id(task.uow.id) if task.has_uow else bytes(UOW_LENGTH),
    "USERID": lambda task, _region: task.userid,
}


# -- the commands -----------------------------------------------------------------------------------------------------


class TaskInquiries(UnitInquiries):
    """INQUIRE TASK and SET TASK."""

    __slots__ = ()

    @command("INQUIRE TASK", "NOTAUTH TASKIDERR", receivers(_TASK))
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
            found = _find(self.region, "INQUIRE TASK", task)
            return Info(read(_TASK, found, self.region, _READERS, options))

        return self._inquire_one("INQUIRE TASK", _TASK, Access.READ, find, nohandle)

    @command(_SET, "INVREQ NOTAUTH TASKIDERR")
    def set_task(self, task: Fullword, *, purgetype: Cvda4 | str, nohandle: Flag = False) -> None:
        """End a task with the abend AEXY: at once when it waits, otherwise at its next wait, and RESP2 says so.

        Args:
            task: its number (EIBTASKN).
            purgetype: PURGE, FORCEPURGE or KILL.
            nohandle: return with the response in the EIB instead of raising.

        Raises:
            Condition: TASKIDERR 1; NOTAUTH 100; INVREQ 3: another CVDA; INVREQ 5: the program outside runs it.
        """
        deferred = False

        def work() -> None:
            nonlocal deferred
            may_issue(self.region, self.userid, _TASK, Access.UPDATE)
            found = _find(self.region, _SET, task)
            if to_cvda(purgetype) not in _PURGES:
                raise refusal(_SET, "bad cvda", f"PURGETYPE must be PURGE, FORCEPURGE or KILL, not {purgetype!r}")
            strand = _strand(found, self.region)
            if strand is None or strand is self.region.dispatcher.outside:
                raise refusal(_SET, "not purgeable", f"task {task} is run by the program outside, which goes on")
            deferred = not self.region.purge(strand)
            if deferred:
                _purge_later(self.region, strand)

        self.issue(_SET, work, nohandle=nohandle, otherwise=None)
        if deferred:
            self.eib.last = completion(_SET)._replace(resp2=refusal(_SET, "deferred", "").resp2)


def _find(region: Region, command_name: str, number: int) -> Task:
    found = region.tasks.get(number)
    if found is None:
        raise refusal(command_name, "not found", f"there is no task {number}")
    return found


def _purge_later(region: Region, strand: Strand) -> None:
    """Purge a task when it waits, however long that takes."""

    def purge() -> None:
        if not strand.done and not region.closed and not region.purge(strand):
            region.dispatcher.call_after_round(purge)

    region.dispatcher.call_after_round(purge)
