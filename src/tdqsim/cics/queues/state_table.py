"""The state table: the condition that each request gets in each state of a queue.

The order of decision for READQ, WRITEQ and DELETEQ TD is a choice (the manuals give none) and is the same everywhere:

1. the name is known, after aliases are followed to their end (QIDERR: unknown name, missing target, ring);
2. a request for a remote queue is shipped (DISABLED if the local definition is disabled, which only prevents shipping);
3. security, on the final target's name (NOTAUTH);
4. ENABLESTATUS: ENABLED proceeds; DISABLED is refused; DISABLING proceeds only for a unit of work that already owns an
  end of the queue, since a disable waits for its users and admits no new ones;
5. type, open (NOTOPEN), then direction (INVREQ, of a data set that is open the other way): the table below;
6. length (LENGERR), 7. locks (LOCKED, waiting, QBUSY), 8. space or emptiness (NOSPACE, QZERO): in the commands.

Step 5 depends on the type and, for a data set, on its direction and whether it is open::

    type    direction  open    READQ    WRITEQ   DELETEQ
    INTRA   -          -       NORMAL   NORMAL   NORMAL
    EXTRA   input      yes     NORMAL   INVREQ   INVREQ
    EXTRA   input      no      NOTOPEN  NOTOPEN  INVREQ
    EXTRA   output     yes     INVREQ   NORMAL   INVREQ
    EXTRA   output     no      NOTOPEN  NOTOPEN  INVREQ

Steps 4 and 5 are :func:`decide`. When one of these states changes, a queue binds its request functions again (see
:mod:`~tdqsim.cics.queues.binding`); code that predicts a request calls the same function.

Sources: READQ TD, WRITEQ TD, DELETEQ TD, Disabling transient data queues (IBM Docs).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from tdqsim.cics.kernel.authority import check_resource
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.security import XDCT, Access
from tdqsim.cics.model.queue import DELETEQ, READQ, WRITEQ, IndirectTdQueue, TdQueue
from tdqsim.cics.model.region import RegionData
from tdqsim.cics.model.task import TaskData
from tdqsim.facts import TDQUEUE_ATTRIBUTES, Cvda, Resp, table

PROCEEDS: Final[dict[str, Resp | None]] = dict.fromkeys((READQ, WRITEQ, DELETEQ), Resp.NORMAL)
REQUESTS: Final[dict[tuple[str, bool, bool], dict[str, Resp | None]]] = {
    # (type, output, open): the outcome of each request; NORMAL proceeds
    ("INTRA", False, False): PROCEEDS,
    ("EXTRA", False, True): {READQ: Resp.NORMAL, WRITEQ: Resp.INVREQ, DELETEQ: Resp.INVREQ},
    ("EXTRA", False, False): {READQ: Resp.NOTOPEN, WRITEQ: Resp.NOTOPEN, DELETEQ: Resp.INVREQ},
    ("EXTRA", True, True): {READQ: Resp.INVREQ, WRITEQ: Resp.NORMAL, DELETEQ: Resp.INVREQ},
    ("EXTRA", True, False): {READQ: Resp.NOTOPEN, WRITEQ: Resp.NOTOPEN, DELETEQ: Resp.INVREQ},
    ("INDIRECT", False, False): PROCEEDS,  # it has no state of its own
    ("REMOTE", False, False): PROCEEDS,
}
_DISABLED: Final[dict[str, Resp | None]] = dict.fromkeys((READQ, WRITEQ, DELETEQ), Resp.DISABLED)
_OWNERS_ONLY: Final[dict[str, Resp | None]] = dict.fromkeys((READQ, WRITEQ, DELETEQ))
_WORDS: Final = {
    Resp.DISABLED: "queue {name} is {status}",
    Resp.INVREQ: "an extrapartition queue for {direction} takes no {command}",
    Resp.NOTOPEN: "the data set is not open",
}

_LONGEST_NAME: Final = TDQUEUE_ATTRIBUTES["TDQUEUE"].maximum or 0


@cache
def _characters() -> tuple[str, ...]:
    """The characters that names of queues have."""
    pattern = next(row["pattern"] for row in table("name_characters") if row["kind"] == "queue")
    return tuple(filter(re.compile(pattern).fullmatch, map(chr, range(128))))


def _near(queues: Mapping[str, TdQueue], name: str) -> str:
    """A queue whose name differs in one character; empty for none. Names are too short for a measure of likeness.

    All such names are looked up, since a program may ask for its queue again and again among a hundred thousand.
    """
    places = range(len(name)) if len(name) > 2 else ()
    others = (name[:at] + character + name[at + 1 :] for at in places for character in _characters())
    return next(filter(queues.__contains__, others), "")


def hint_of(queues: Mapping[str, TdQueue], name: str) -> str:
    """What may be meant by a name that no queue has: the rule of names that it breaks, or a name near it."""
    if name.upper() in queues:
        return f"; {name.upper()} is, and names are in capitals"
    if not 0 < len(name) <= _LONGEST_NAME:
        return f"; the name of a queue has 1 to {_LONGEST_NAME} characters"
    near = _near(queues, name)
    return f"; did you mean {near}?" if near else ""


def not_installed(queues: Mapping[str, TdQueue], name: str) -> Condition:
    """QIDERR for a name that no queue has."""
    detail = f"queue {name:.40} is not installed{hint_of(queues, name)}"
    return Condition(Resp.QIDERR, detail=detail, rule="TD-QIDERR")


def final_target(region: RegionData, name: str) -> TdQueue:
    """The queue of a name, after aliases.

    Raises:
        Condition: QIDERR: the name or a target is not installed, or the aliases form a ring.
    """
    queue = region.tdqueues.get(name)
    if queue is None:
        raise not_installed(region.tdqueues, name)
    return queue if queue.type != "INDIRECT" else target_of(region.tdqueues, queue)


def target_of(queues: Mapping[str, TdQueue], alias: TdQueue) -> TdQueue:
    """The final target of an alias.

    Raises:
        Condition: QIDERR: a target is not installed, or the aliases form a ring.
    """
    name, queue = alias.name, alias
    visited = {name}
    while isinstance(queue, IndirectTdQueue):
        target = queue.indirectname
        if target in visited:
            detail = f"the aliases of {name} form a ring at {target}"
            raise Condition(Resp.QIDERR, detail=detail, rule="TD-INDIRECT-RING")
        visited.add(target)
        if target not in queues:
            detail = f"queue {target}, the target of {name}, is not installed"
            raise Condition(Resp.QIDERR, detail=detail, rule="TD-INDIRECT-MISSING")
        queue = queues[target]
    return queue


def outcomes(queue: TdQueue) -> Mapping[str, Resp | None]:
    """The outcome of each request in the present state: NORMAL proceeds, None proceeds for an owner of an end only."""
    status = queue.enablestatus
    if status is not Cvda.ENABLED:
        return _OWNERS_ONLY if status is Cvda.DISABLING and queue.type == "INTRA" else _DISABLED
    return REQUESTS[queue.type, queue.output, queue.is_open]


def decide(queue: TdQueue, command: str) -> Resp | None:
    """The outcome of one request; see :func:`outcomes`."""
    return outcomes(queue)[command]


def owns_an_end(task: TaskData, queue: TdQueue) -> bool:
    """Whether the task's unit of work owns an end of the queue."""
    return task._has_uow and any(lock.owner is task._unit for lock in queue.locks)


def refusal(queue: TdQueue, command: str) -> Condition:
    """The condition of a request that the state of a queue refuses."""
    resp = decide(queue, command) or Resp.DISABLED
    detail = _WORDS[resp].format(
        name=queue.name, status=queue.enablestatus.name, command=command,
        direction="output" if queue.output else "input",
    )  # fmt: skip
    return Condition(resp, detail=detail, rule=_rule_of_disabled(queue) if resp is Resp.DISABLED else None)


def _rule_of_disabled(queue: TdQueue) -> str:
    if queue.type == "REMOTE":
        return "TD-REMOTE-DISABLED"
    return "DISABLE-PENDING-NEWCOMER" if queue.enablestatus is Cvda.DISABLING else "TD-DISABLED"


def check_access(task: TaskData, queue: TdQueue) -> None:
    """Check step 3.

    Raises:
        Condition: NOTAUTH.
    """
    check_resource(task, XDCT, queue.name, Access.UPDATE)


def check_state(task: TaskData, command: str, queue: TdQueue) -> None:
    """Check steps 3 to 5 for a local queue, or for the local definition of a remote one.

    Raises:
        Condition: NOTAUTH, DISABLED, INVREQ or NOTOPEN.
    """
    check_access(task, queue)
    resp = decide(queue, command)
    if resp is Resp.NORMAL or (resp is None and owns_an_end(task, queue)):
        return
    raise refusal(queue, command)
