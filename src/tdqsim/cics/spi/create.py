"""CREATE and DISCARD TDQUEUE: add and remove queue definitions in the running region.

CREATE builds a definition from attribute text, installs it, and takes a syncpoint: it commits the unit of work of the
task when the queue was installed, and backs it out when the install failed. An error that is detected before the
install (syntax, authority, a length) takes no syncpoint. DISCARD removes a queue and its records; the queue must be
disabled, and closed if it is a data set. When the queue is logically recoverable, a successful DISCARD also takes a
syncpoint. Sources: CREATE TDQUEUE, CREATE commands, DISCARD TDQUEUE (IBM Docs).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

from tdqsim.cics.kernel.abstime import abstime, local_time
from tdqsim.cics.kernel.authority import check_command, check_resource
from tdqsim.cics.kernel.command import Flag, HalfwordOrNone, Name4, Opt, command, to_cvda
from tdqsim.cics.kernel.conditions import Condition, check_sent
from tdqsim.cics.kernel.levels import check_subset
from tdqsim.cics.kernel.security import XDCT, Access
from tdqsim.cics.kernel.task import TaskBase, take_rollback, take_syncpoint
from tdqsim.cics.model.queue import ExtraTdQueue, IntraTdQueue, TdQueue
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.queues.creation import InstallRefused
from tdqsim.cics.spi.attribute_text import AttributeFault, definition_from_text
from tdqsim.cics.spi.install import install_tdqueue, remove_tdqueue
from tdqsim.cics.spi.requests import (
    RESERVED,
    check_userid,
    find_queue,
    is_null,
    queue_name,
    refusal,
)
from tdqsim.errors import TdqError
from tdqsim.facts import Cvda, Resp

if TYPE_CHECKING:
    from tdqsim.definitions import Tdqueue

Attributes = Annotated[str, Opt("name", 0)]
Logmessage = Annotated[Cvda | str | int | None, Opt("cvda", 4)]

_CREATE: Final = "CREATE TDQUEUE"
_DISCARD: Final = "DISCARD TDQUEUE"
_LOG_QUEUE: Final = "CSMT"


@command(_CREATE, "ILLOGIC INVREQ LENGERR NOTAUTH", resource="tdqueue")
def create_tdqueue(
    task: TaskBase,
    tdqueue: Name4,
    attributes: Attributes,
    attrlen: HalfwordOrNone = None,
    *,
    logmessage: Logmessage = None,
    nohandle: Flag = False,
) -> None:
    """Define and install a queue in this region; the CSD is neither read nor changed.

    A queue of the same name and TYPE is replaced when it is disabled (and closed, if it is a data set). The unit of
    work is committed when the install succeeds, and backed out when it fails.

    Args:
        tdqueue: the queue's name.
        attributes: RDO keywords with operands, ``TYPE(INTRA) TRANSID(PAYP)``; a unique prefix of a keyword is enough.
        attrlen: how many characters of ``attributes`` are used; all when not given.
        logmessage: LOG or NOLOG: whether the installation is logged. It has no effect: messages are always written.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: INVREQ: RESP2 has two halfwords: the low one is the error code (400 to 413), the high one its place.
            INVREQ 500: the install failed. INVREQ 7: LOGMESSAGE is wrong. LENGERR 1: ATTRLEN is negative. NOTAUTH 100,
            101, 102.
    """
    region, name = task._region, queue_name(tdqueue)
    check_sent(attributes, attrlen, "ATTRLEN", "ATTRIBUTES")
    check_command(task, "TDQUEUE", Access.ALTER)
    check_resource(task, XDCT, name, Access.ALTER)
    if attrlen is not None and attrlen < 0:
        raise refusal(_CREATE, "negative length", f"ATTRLEN is {attrlen}")
    if not is_null(logmessage) and to_cvda(logmessage) not in (Cvda.LOG, Cvda.NOLOG):
        raise refusal(_CREATE, "bad logmessage", f"LOGMESSAGE must be LOG or NOLOG, not {logmessage!r}")
    definition = _definition(region, name, attributes if attrlen is None else attributes[:attrlen])
    _check_userid(task, definition)
    install = partial(install_tdqueue, task, definition, agent="CREATESPI")
    try:
        _with_syncpoint(task, name, install)
    except InstallRefused as refused:
        take_rollback(task)
        raise refusal(_CREATE, "install failed", str(refused)) from refused


def _with_syncpoint(task: TaskBase, name: str, change: Callable[[], object]) -> None:
    """Change a queue definition and take a syncpoint, or do neither.

    Raises:
        Condition: INVREQ 200: the program was started by a distributed program link without SYNCONRETURN.
    """
    check_subset(task, syncpoint=True)
    queues = task._region.tdqueues
    before = queues.get(name)
    try:
        change()
        take_syncpoint(task)
    except TdqError:
        raise
    except BaseException:  # the queue was changed before the interrupt: complete the command
        if queues.get(name) is not before:
            take_syncpoint(task)
        raise


@command(_DISCARD, "INVREQ NOTAUTH QIDERR", resource="tdqueue")
def discard_tdqueue(task: TaskBase, tdqueue: Name4, *, nohandle: Flag = False) -> None:
    """Remove an installed queue and its records; a logically recoverable one with a syncpoint.

    Args:
        tdqueue: the queue's name.
        nohandle: return with the response in the EIB instead of raising.

    Raises:
        Condition: QIDERR 1; NOTAUTH 100, 101; INVREQ 11: the name begins with C; 18: not closed; 30: a disable is
            pending; 31: not disabled; 200: a distributed program link without SYNCONRETURN runs the program.
    """
    queue = check_discard(task, queue_name(tdqueue))
    check_subset(task, syncpoint=True)
    if isinstance(queue, IntraTdQueue) and queue.logical:
        _with_syncpoint(task, queue.name, partial(remove_tdqueue, task, queue))
    else:
        remove_tdqueue(task, queue)


def _definition(region: RegionData, name: str, text: str) -> Tdqueue:
    try:
        return definition_from_text(name, text)
    except AttributeFault as fault:
        now = local_time(abstime(region.clock.time_ns(), region.zone))
        region.messages.text(
            _LOG_QUEUE, f"{fault.message_id} {now:%m/%d/%Y %H:%M:%S} {region.applid} TDQUEUE({name}) {fault.detail}"
        )
        raise Condition(Resp.INVREQ, fault.resp2, f"{fault.message_id} {fault.detail}") from fault


def _check_userid(task: TaskBase, definition: Tdqueue) -> None:
    """Check that the issuer is a surrogate of USERID or JOBUSERID; a user that is not known fails the install later."""
    userid = getattr(definition, "userid", "") or getattr(definition, "jobuserid", "")
    security = task._region.security
    if userid and security is not None and security.knows_user(userid):
        check_userid(task, userid, _CREATE)


def check_discard(task: TaskBase, name: str) -> TdQueue:
    """Check that a queue may be discarded, and return it.

    Raises:
        Condition: see ``discard_tdqueue``.
    """
    queue = find_queue(task, _DISCARD, name, Access.ALTER)
    if name.startswith(RESERVED):
        raise refusal(
            _DISCARD, "reserved name", f"{name}: a queue whose name begins with {RESERVED} cannot be discarded"
        )
    if not isinstance(queue, IntraTdQueue | ExtraTdQueue):
        return queue
    if queue.enablestatus is Cvda.DISABLING:
        raise refusal(_DISCARD, "disable pending", f"queue {name} is being disabled")
    if queue.enablestatus is not Cvda.DISABLED:
        raise refusal(_DISCARD, "not disabled", f"queue {name} must be DISABLED")
    if isinstance(queue, ExtraTdQueue) and queue.openstatus is not Cvda.CLOSED:
        raise refusal(_DISCARD, "not closed", f"queue {name} must be CLOSED")
    return queue
