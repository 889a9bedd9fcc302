"""SET TDQUEUE: the attributes of an installed queue that can be changed, and the conditions for each change.

All options are checked before the first change, so that a refused SET changes nothing. The one exception is a data set
that cannot be opened or closed: this is detected last, after the other changes ("as few as possible" are made,
according to IBM). SET is not recoverable: a backout does not undo it. Source: SET TDQUEUE; CEMT SET TDQUEUE; Disabling
transient data queues (IBM Docs).

===========  ==================  ===========================================================================
Queue        Can be set          Needs
===========  ==================  ===========================================================================
intra        ENABLESTATUS        not while DISABLING; DISABLED not for names beginning with C
intra        TRIGGERLEVEL        nothing; a cycle whose task was not attached is over, as with ATI...
intra        ATI...              DISABLED; ATIUSERID also a queue without facility and a known user
extra        ENABLESTATUS        as above
extra        OPENSTATUS          nothing; a closed queue that is closed, or an open one opened, is left alone
remote       ENABLESTATUS        takes effect at once: it only says whether requests are shipped
indirect     nothing             an alias has no state
===========  ==================  ===========================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Final, Literal

from tdqsim.cics.kernel.command import FullwordOrNone, Name4, Name4OrNone, Name8OrNone, Opt, command, to_cvda
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.security import Access
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.model.queue import ExtraTdQueue, IntraTdQueue, TdQueue
from tdqsim.cics.queues.binding import set_enablestatus
from tdqsim.cics.spi.requests import RESERVED, check_userid, find_queue, is_null, queue_name, refusal
from tdqsim.core.changes import KeptChange, carry_out
from tdqsim.errors import UsageError
from tdqsim.facts import SET_TDQUEUE_OPTIONS, Cvda, Resp

_COMMAND: Final = "SET TDQUEUE"

_NO_FACILITY: Final = "FILE"

_CVDA: Final = Opt("cvda", 4)
Facility = Annotated[Literal["NOTERMINAL", "noterminal", "TERMINAL", "terminal"] | Cvda | int | None, _CVDA]
Enablestatus = Annotated[Literal["DISABLED", "disabled", "ENABLED", "enabled"] | Cvda | int | None, _CVDA]
Openstatus = Annotated[Literal["CLOSED", "closed", "OPEN", "open"] | Cvda | int | None, _CVDA]


class _SetRequest(KeptChange):
    """One SET request.

    Attributes:
        task, queue, values: the issuer, the queue, and the given options.
        attributes: the changed attributes of the queue, which the catalogue records.
        steps: the further actions, in order; each can be repeated.
        last: the action that can fail, done after all others; or None.
    """

    def __init__(self, task: TaskBase, queue: TdQueue, values: Mapping[str, object]) -> None:
        self.task = task
        self.queue = queue
        self.values = values
        self.attributes: dict[str, str | int] = {}
        self.steps: list[Callable[[], None]] = []
        self.last: list[Callable[[], None]] = []

    def committed(self) -> None:
        """See the base class."""
        self.made = True
        for name, value in self.attributes.items():
            setattr(self.queue, name, value)

    def finish(self) -> None:
        """See the base class."""
        region, queue = self.task._region, self.queue
        for step in self.steps:
            step()
        if isinstance(queue, IntraTdQueue):
            if self.attributes:
                region.ati.trigger_changed(queue)
            region.ati.arm(queue)
        region.directory.refresh(queue)

    def refuse(self, cause: str, detail: str) -> Condition:
        return refusal(_COMMAND, cause, f"queue {self.queue.name}: {detail}")


@command(_COMMAND, "INVREQ IOERR NOTAUTH QIDERR USERIDERR", resource="tdqueue")
def set_tdqueue(
    task: TaskBase,
    tdqueue: Name4,
    *,
    atifacility: Facility = None,
    atitermid: Name4OrNone = None,
    atitranid: Name4OrNone = None,
    atiuserid: Name8OrNone = None,
    enablestatus: Enablestatus = None,
    openstatus: Openstatus = None,
    triggerlevel: FullwordOrNone = None,
    nohandle: bool = False,
) -> None:
    """Change attributes and states of a queue.

    An attribute whose option is omitted or has its null value (blanks, -1, for a CVDA IGNORE) is not changed. CVDAs may
    be given by name.

    Args:
        tdqueue: the queue's name.
        atifacility: TERMINAL or NOTERMINAL; intrapartition, DISABLED. A session is a terminal too.
        atitermid: terminal or session (by its connection's name) of triggered tasks; intrapartition, DISABLED.
        atitranid: the transaction to start; intrapartition, DISABLED. A queue defined without TRANSID and TRIGGERLEVEL
            starts it at the default level, 1.
        atiuserid: user of triggered tasks without a terminal; intrapartition, DISABLED.
        enablestatus: ENABLED or DISABLED. A queue in use becomes DISABLING until its users have ended.
        openstatus: OPEN or CLOSED; extrapartition.
        triggerlevel: 0 to 32767; intrapartition. The next write at or over it starts the transaction.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: QIDERR 1; NOTAUTH 100 (command), 101 (queue), 102 (surrogate for ATIUSERID); USERIDERR; INVREQ: the
            type, state or name of the queue does not allow the change; IOERR: the data set cannot be opened or closed.
    """
    given = {
        "ATIFACILITY": atifacility, "ATITERMID": atitermid, "ATITRANID": atitranid, "ATIUSERID": atiuserid,
        "ENABLESTATUS": enablestatus, "OPENSTATUS": openstatus, "TRIGGERLEVEL": triggerlevel,
    }  # fmt: skip
    values = {option: value for option, value in given.items() if not _leaves_alone(option, value)}
    change, region = check_set(task, queue_name(tdqueue), values), task._region
    meta = region.catalogue.queue_entry(change.queue, change.attributes) if change.attributes else {}
    carry_out(region.committer, change, meta)
    region.committer.force()
    for step in change.last:
        step()


def _leaves_alone(option: str, value: Any) -> bool:
    """Whether a value is the null value of its kind, or not given."""
    kind = SET_TDQUEUE_OPTIONS[option].kind
    if kind == "CVDA":
        return is_null(value)
    return value is None or (value == -1 if kind == "BINARY" else not value.strip(" "))


def check_set(task: TaskBase, name: str, values: Mapping[str, object]) -> _SetRequest:
    """Check a SET request completely, without changing anything; the steps of the result carry it out.

    Raises:
        Condition: see ``set_tdqueue``.
    """
    queue = find_queue(task, _COMMAND, name, Access.UPDATE)
    change = _SetRequest(task, queue, values)
    _check_type(change)
    for option, plan in _PLANS.items():
        if option in values:
            plan(change, values[option])
    return change


def _check_type(change: _SetRequest) -> None:
    """Check that every option applies to the type of the queue."""
    queue_type = change.queue.type
    for option in change.values:
        if queue_type in SET_TDQUEUE_OPTIONS[option].types:
            continue
        if queue_type in ("INDIRECT", "REMOTE"):
            raise change.refuse("remote or indirect", f"{option} of a queue of type {queue_type} cannot be changed")
        raise change.refuse("wrong type", f"{option} cannot be set for a queue of type {queue_type}")
    if queue_type == "INDIRECT":
        raise change.refuse("remote or indirect", "an indirect queue cannot be changed")


def _cvda(change: _SetRequest, option: str, value: object) -> Cvda:
    cvda = to_cvda(value)
    allowed = SET_TDQUEUE_OPTIONS[option].values
    if cvda is None or cvda.name not in allowed:
        raise change.refuse("bad cvda", f"{option} must be {' or '.join(allowed)}, not {value!r}")
    return cvda


def _name(change: _SetRequest, option: str, value: object) -> str:
    longest = SET_TDQUEUE_OPTIONS[option].highest
    name = str(value).rstrip()
    if len(name) > longest:
        raise UsageError(f"{_COMMAND} {change.queue.name}: {option} has at most {longest} characters: {name!r}")
    return name


# -- one plan for each option, in the order in which they are carried out ---------------------------------------------


def _must_be_disabled(change: _SetRequest, option: str) -> IntraTdQueue:
    queue = change.queue
    assert isinstance(queue, IntraTdQueue)
    if queue.enablestatus is Cvda.DISABLING:
        raise change.refuse("disable pending", f"{option} cannot be changed while the queue is being disabled")
    if queue.enablestatus is not Cvda.DISABLED:
        raise change.refuse("not disabled", f"{option} can be changed only while the queue is DISABLED")
    return queue


def _plan_atifacility(change: _SetRequest, value: object) -> None:
    queue = _must_be_disabled(change, "ATIFACILITY")
    if _cvda(change, "ATIFACILITY", value) is Cvda.TERMINAL:
        name = queue.facilityid or queue.definition.facilityid or queue.name
        change.attributes |= {"atifacility": _facility_kind(change, queue, name), "facilityid": name}
    else:
        change.attributes |= {"atifacility": _NO_FACILITY, "facilityid": ""}


def _plan_atitermid(change: _SetRequest, value: object) -> None:
    queue = _must_be_disabled(change, "ATITERMID")
    name = change.attributes["facilityid"] = _name(change, "ATITERMID", value)
    if change.attributes.get("atifacility", queue.atifacility) != _NO_FACILITY:
        change.attributes["atifacility"] = _facility_kind(change, queue, name)


def _facility_kind(change: _SetRequest, queue: IntraTdQueue, name: str) -> str:
    """TERMINAL or SYSTEM, whichever is installed; unchanged if both or neither are. SET treats both as a terminal."""
    region = change.task._region
    installed = [
        kind for kind, known in (("TERMINAL", region.terminals), ("SYSTEM", region.connections)) if name in known
    ]
    if len(installed) == 1:
        return installed[0]
    kinds = (kind for kind in (queue.atifacility, queue.definition.atifacility) if kind != _NO_FACILITY)
    return next(kinds, "TERMINAL")


def _plan_atitranid(change: _SetRequest, value: object) -> None:
    queue = _must_be_disabled(change, "ATITRANID")
    name, region = _name(change, "ATITRANID", value), change.task._region
    entry = region.transactions.get(name)
    if entry is None:
        raise change.refuse("unknown transaction", f"transaction {name} is not defined in this region")
    if entry.definition.remotesystem not in ("", region.sysid):
        raise change.refuse("unknown transaction", f"transaction {name} is remote; a queue starts local ones")
    change.attributes["transid"] = name
    if not queue.transid and not queue.triggerlevel and not queue.definition.given("triggerlevel"):
        change.attributes["triggerlevel"] = queue.definition.triggerlevel  # the default; TRIGGERLEVEL overrides it


def _without_facility(change: _SetRequest, queue: IntraTdQueue) -> bool:
    """Whether the queue starts tasks without a terminal after this SET."""
    if "ATIFACILITY" in change.values:
        return to_cvda(change.values["ATIFACILITY"]) is Cvda.NOTERMINAL
    return queue.atifacility == _NO_FACILITY


def _plan_atiuserid(change: _SetRequest, value: object) -> None:
    queue = _must_be_disabled(change, "ATIUSERID")
    user = _name(change, "ATIUSERID", value)
    if not _without_facility(change, queue):
        raise change.refuse("userid with facility", "ATIUSERID is for queues without a terminal")
    check_userid(change.task, user, _COMMAND)
    change.attributes["userid"] = user


def _plan_number(change: _SetRequest, value: object, option: str) -> None:
    low, high = SET_TDQUEUE_OPTIONS[option].lowest, SET_TDQUEUE_OPTIONS[option].highest
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise change.refuse("bad number", f"{option} must be from {low} to {high}, not {value!r}")
    change.attributes[option.lower()] = value


def _plan_enablestatus(change: _SetRequest, value: object) -> None:
    queue, region = change.queue, change.task._region
    wanted = _cvda(change, "ENABLESTATUS", value)
    if queue.enablestatus is Cvda.DISABLING:
        raise change.refuse("disable pending", "ENABLESTATUS cannot be changed while the queue is being disabled")
    if wanted is Cvda.DISABLED and queue.name.startswith(RESERVED):
        raise change.refuse("reserved name", f"a queue whose name begins with {RESERVED} cannot be disabled")

    def step() -> None:
        if wanted is Cvda.ENABLED:
            set_enablestatus(queue, Cvda.ENABLED)
        elif queue.type == "REMOTE":
            set_enablestatus(queue, Cvda.DISABLED)
        else:
            if queue.enablestatus is Cvda.ENABLED:
                set_enablestatus(queue, Cvda.DISABLING)
            region.directory.settle_disable(queue)

    change.steps.append(step)


def _plan_openstatus(change: _SetRequest, value: object) -> None:
    queue = change.queue
    assert isinstance(queue, ExtraTdQueue)
    wanted = _cvda(change, "OPENSTATUS", value)

    def step() -> None:
        if queue.openstatus is wanted:
            return
        if queue.file is None:
            raise change.refuse("open failed", "it has no data set")
        try:
            (queue.file.open if wanted is Cvda.OPEN else queue.file.close)()
        except Condition as condition:
            if condition.resp is not Resp.IOERR:
                raise
            cause = "open failed" if wanted is Cvda.OPEN else "close failed"
            raise change.refuse(cause, condition.detail) from condition

    change.last.append(step)


_PLANS: Final[Mapping[str, Callable[[_SetRequest, object], None]]] = {
    "ATIFACILITY": _plan_atifacility,
    "ATITERMID": _plan_atitermid,
    "ATITRANID": _plan_atitranid,
    "ATIUSERID": _plan_atiuserid,
    **{
        option.name: partial(_plan_number, option=option.name)
        for option in SET_TDQUEUE_OPTIONS.values()
        if option.kind == "BINARY"
    },
    "ENABLESTATUS": _plan_enablestatus,
    "OPENSTATUS": _plan_openstatus,
}
