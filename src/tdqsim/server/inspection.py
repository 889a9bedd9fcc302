"""Read queues for a user: under the security policy of the region, and without a task, statistics or events."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import Any

from tdqsim.cics import Condition, Region
from tdqsim.cics.internals import core_of
from tdqsim.cics.kernel.authority import may_use
from tdqsim.cics.kernel.security import XDCT, Access
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.look.records import records
from tdqsim.cics.queues.checks import final_target
from tdqsim.cics.spi.inquire_reqid import REQID
from tdqsim.cics.spi.inquiry import inquire_one
from tdqsim.cics.spi.rows import ReqidInfo, TdqueueInfo
from tdqsim.cics.spi.tdqueue_options import TDQUEUE
from tdqsim.facts import Resp


def probe(region: Region, userid: str) -> Any:
    """A probe, which predicts results for a user (empty: the default user) without executing commands."""
    return TaskBase(core_of(region), 0, "TEST", userid or region.options.default_user)


def inquired(region: Region, name: str, userid: str) -> TdqueueInfo:
    """The result of INQUIRE TDQUEUE with all options.

    Raises:
        Condition: QIDERR, NOTAUTH.
    """
    info: TdqueueInfo = inquire_one(probe(region, userid), TDQUEUE, name, ())
    return info


def waiting_requests(region: Region, userid: str) -> dict[str, ReqidInfo]:
    """The STARTs, and the DELAYs and POSTs with a REQID, that wait for their time, by REQID, in the order of expiry.

    Raises:
        Condition: NOTAUTH 100: the user may not inquire them.
    """
    asks = probe(region, userid)
    return {name: inquire_one(asks, REQID, name, ()) for name in REQID.keys(core_of(region))}


def check_readable(region: Region, name: str, userid: str) -> None:
    """Check that a user may read the records of a queue; the owner of the process (no user id) may always.

    Raises:
        Condition: QIDERR; NOTAUTH 101: the policy does not give READ to the user.
    """
    target = final_target(core_of(region), name.rstrip(" ")).name
    if userid and not may_use(probe(region, userid), XDCT, target, Access.READ):
        raise Condition(Resp.NOTAUTH, 101, f"user {userid} may not read queue {target}")


def peek(
    region: Region, name: str, userid: str, position: int, limit: int, *, with_uncommitted: bool = False
) -> list[bytes]:
    """Some records of a queue from a position on; other tasks run meanwhile if finding the position takes long.

    Raises:
        Condition: QIDERR, NOTAUTH. TdqError: the queue is remote, or its data set cannot be read.
    """
    check_readable(region, name, userid)
    queue = final_target(core_of(region), name.rstrip(" "))
    pause = partial(region.dispatcher.yield_now, always=True)
    return list(islice(records(queue, position, pause, with_uncommitted=with_uncommitted), limit))
