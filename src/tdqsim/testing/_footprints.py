"""What a turn of a task uses, from which the explorer knows which turns commute.

A *turn* is what a task does from one moment at which others may run to the next: usually the end of its Python code
after a command, then the next command. The *footprint* of a turn names the resources that it has used, and whether it
only reads each. Two turns *conflict* if one writes what the other uses, or if one of them may use anything. Turns that
do not conflict commute: the state after both is the same in either order, and neither enables nor prevents the other.

What is recorded
    A command records the queue, data set, temporary storage queue or ENQ name that its arguments lead to. Most commands
    count as writing, because a read removes a record, moves a cursor or ends a trigger cycle. A recoverable resource is
    recorded again, as written, when its unit of work ends, because that frees its locks. A task that a queue has
    started, or that has a terminal, uses these at its end. START, RETRIEVE and CANCEL share one resource, so do all
    extrapartition data sets, and so do terminals.
    Every other command, a request for another region, and each direct use of a region's methods by a task
    may use anything. So does a turn that is not a task's or a job's own: a timer, a mirror task.

What is not seen
    Python objects that tasks share, files that they open themselves, and attributes of a region that they read without
    a method. If tasks share such state, the explorer must be told: ``explore(..., shared=True)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tdqsim.cics import Condition
from tdqsim.cics.files.datafile import Path
from tdqsim.cics.model.queue import IntraTdQueue
from tdqsim.cics.queues.state_table import final_target

if TYPE_CHECKING:
    from tdqsim.cics.region_core import RegionCore
    from tdqsim.ibmi import System

Key = tuple[object, ...]
Frozen = tuple[bool, frozenset[Key], frozenset[Key]]
DURABLE: Final[Key] = ("what a crash leaves",)
"""In runs with crash points: the stores, the data sets, and what the scenario has seen to be complete."""
ENQ: Final = "ENQ"


class Touch(NamedTuple):
    """One use of a resource.

    Attributes:
        key: names the resource; the same in every run.
        writes: whether the use may change it.
        held: whether the end of the unit of work uses it again.
    """

    key: Key
    writes: bool = True
    held: bool = False


class Footprint:
    """The resources that a turn has used.

    Attributes:
        everything: it may have used anything.
        read, written: the resources.
    """

    __slots__ = ("everything", "read", "written")

    def __init__(self, *, everything: bool = False) -> None:
        self.everything = everything
        self.read: set[Key] = set()
        self.written: set[Key] = set()

    def add(self, key: Key, *, writes: bool = True) -> None:
        """Add a resource."""
        (self.written if writes else self.read).add(key)

    def include(self, other: Footprint) -> None:
        """Add the resources of another footprint."""
        self.everything |= other.everything
        self.read |= other.read
        self.written |= other.written

    def conflicts(self, other: Footprint) -> bool:
        """Whether two turns with these footprints may not be exchanged."""
        if self.everything or other.everything:
            return True
        mine, theirs = self.written, other.written
        return not (mine.isdisjoint(theirs) and mine.isdisjoint(other.read) and self.read.isdisjoint(theirs))

    def frozen(self) -> Frozen:
        """Its contents as a value."""
        return self.everything, frozenset(self.read), frozenset(self.written)


# -- CICS -------------------------------------------------------------------------------------------------------------

Touches = tuple[Touch, ...] | None
"""The resources of a command; None when it may use anything."""


def _td(region: RegionCore, arguments: Mapping[str, object]) -> Touches:
    if arguments.get("sysid"):
        return None
    name = str(arguments["queue"]).rstrip(" ")
    try:
        queue = final_target(region, name)
    except Condition:
        return (Touch(("TD", region.applid, name)),)
    if queue.type == "EXTRA":
        return Touch(("TD", region.applid, queue.name)), Touch(("data sets",)), Touch(DURABLE)
    if not isinstance(queue, IntraTdQueue):
        return None
    own = Touch(("TD", region.applid, queue.name), held=queue.recovstatus != "NO")
    triggers = bool(queue.transid and queue.triggerlevel)
    return (own, _terminals(region)) if triggers and queue.atifacility != "FILE" else (own,)


def _inquire_td(region: RegionCore, arguments: Mapping[str, object]) -> Touches:
    name = str(arguments["tdqueue"]).rstrip(" ")
    return (Touch(("TD", region.applid, name), writes=False),)


def _ts(region: RegionCore, arguments: Mapping[str, object]) -> Touches:
    if arguments.get("sysid") or region.links:
        return None
    name: Any = arguments["queue"]
    text = name if isinstance(name, str) else region.codepage.decode(bytes(name))
    return (Touch(("TS", region.applid, text.rstrip(" \0")), held=True),)


def _file(region: RegionCore, arguments: Mapping[str, object]) -> Touches:
    files = region.files
    if region.links or any(isinstance(each.view, Path) or _relates(each) for each in files.known.values()):
        return (Touch(("files", region.applid), held=True),)  # an alternate index and its base are one data set
    name = str(arguments["file"]).rstrip(" ").upper()
    entry = files.known.get(name)
    if entry is not None and entry.dsname:
        name = entry.dsname
    elif entry is not None:
        known = (title for title, data in files.data_sets.items() if data is entry.data)
        name = next(known, "") or min(each.name for each in files.known.values() if each.data is entry.data)
    return (Touch(("file", region.applid, name), held=True),)


def _relates(entry: Any) -> bool:
    return entry.definition is not None and bool(entry.definition.relate)


def _enq(region: RegionCore, arguments: Mapping[str, object]) -> Touches:
    name: Any = arguments["resource"]
    length: Any = arguments.get("length")
    data = region.encode(name) if isinstance(name, str) else bytes(name)
    return (Touch((ENQ, region.applid, data[:length]), held=True),)


def _start(region: RegionCore, arguments: Mapping[str, object]) -> Touches:
    if arguments.get("sysid") or region.links:
        return None
    own = Touch(("START", region.applid), held=True)
    return (own, _terminals(region)) if arguments.get("termid") else (own,)


def _program(region: RegionCore, arguments: Mapping[str, object]) -> Touches:
    return None if arguments.get("sysid") or region.links else ()


def _return(region: RegionCore, arguments: Mapping[str, object]) -> Touches:
    return (_terminals(region),) if arguments.get("transid") else ()


def _terminal(region: RegionCore, _arguments: Mapping[str, object]) -> Touches:
    return (_terminals(region),)


def _terminals(region: RegionCore) -> Touch:
    return Touch(("terminals", region.applid))


def _nothing(_region: RegionCore, _arguments: Mapping[str, object]) -> Touches:
    return ()


_TOUCHES: Final[dict[str, Callable[[RegionCore, Mapping[str, object]], Touches]]] = {
    **dict.fromkeys(("WRITEQ TD", "READQ TD", "DELETEQ TD"), _td),
    "INQUIRE TDQUEUE": _inquire_td,
    **dict.fromkeys(("WRITEQ TS", "READQ TS", "DELETEQ TS"), _ts),
    **dict.fromkeys(("ENQ", "DEQ"), _enq),
    **dict.fromkeys(("START", "RETRIEVE", "CANCEL"), _start),
    **dict.fromkeys(("LINK", "XCTL"), _program),
    "RETURN": _return,
    **dict.fromkeys(("SEND", "RECEIVE", "SEND MAP", "RECEIVE MAP", "SEND TEXT", "SEND CONTROL"), _terminal),
    **dict.fromkeys(
        ("READ", "WRITE", "REWRITE", "DELETE", "UNLOCK", "STARTBR", "RESETBR", "READNEXT", "READPREV", "ENDBR"), _file
    ),
    **dict.fromkeys(  # these use only the task's own storage and unit of work, and the time, which stands still
        (
            "SYNCPOINT", "SYNCPOINT ROLLBACK", "ABEND", "SUSPEND", "ASKTIME", "ASKTIME ABSTIME", "FORMATTIME", "ASSIGN",
            "HANDLE CONDITION", "IGNORE CONDITION", "HANDLE AID", "HANDLE ABEND", "PUSH HANDLE", "POP HANDLE", "DELAY",
            "BIF DEEDIT", "PUT CONTAINER", "GET CONTAINER", "DELETE CONTAINER", "MOVE CONTAINER",
            "STARTBROWSE CONTAINER", "GETNEXT CONTAINER", "ENDBROWSE CONTAINER",
        ),
        _nothing,
    ),
}  # fmt: skip


def touched_by_command(region: RegionCore, command: str, arguments: Mapping[str, object]) -> Touches:
    """The resources that a command of a task of a region may use; None when it may use anything."""
    touches = _TOUCHES.get(command)
    return None if touches is None else touches(region, arguments)


# -- IBM i ------------------------------------------------------------------------------------------------------------

_OF_ONE_QUEUE: Final = {"QSNDDTAQ": True, "QRCVDTAQ": True, "QCLRDTAQ": True, "QMHRDQM": False, "QMHQRDQD": False}
"""APIs that use one data queue, and whether they change it."""


def touched_by_api(system: System, operation: str, name: str) -> Touches:
    """The resources that an API or CL command on a system may use. Queues of one name in two libraries count as one."""
    writes = _OF_ONE_QUEUE.get(operation)
    if writes is None or any(queue.ddm for queue in system.queues()):
        return None
    return (Touch(("DTAQ", system.name, name.rpartition("/")[2].strip().upper()), writes),)
