"""Local queuing of START requests: those for another region whose link is away.

A START NOCHECK of a transaction with LOCALQ(YES), whose definition and not SYSID names the other region, is queued in
this region while the link is away. When the link is back a task of its issuer's user sends it, and the other region
counts its interval from then. A queued request cannot be cancelled. The queue is kept over every kind of start but a
cold one; with PROTECT a request joins it when its unit of work has committed.

Sources: Local queuing of START commands, The XISLCLQ exit (IBM Docs).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.handlers import undefined
from tdqsim.cics.model.transaction import TransactionEntry
from tdqsim.core.named import NamedTuple
from tdqsim.facts import Resp

if TYPE_CHECKING:
    from tdqsim.cics.kernel.task import TaskBase
    from tdqsim.cics.model.region import RegionData
    from tdqsim.cics.model.task import TaskData
    from tdqsim.cics.model.unit import UnitOfWork

_PREFIX: Final = b"ic/q/"
_SENDER: Final = "CISQ"
"""The transaction of the tasks that send queued requests."""


class QueuedStart(NamedTuple):
    """A START that waits for its link.

    Attributes:
        system: the connection to the other region.
        transid: the transaction there.
        userid: the user of the task that has issued it.
        order: the request in the form of a message.
    """

    system: str
    transid: str
    userid: str
    order: str


def _key(number: int) -> bytes:
    """The key of a request on the store."""
    return _PREFIX + number.to_bytes(8, "big")


class LocalQueue:
    """The START requests of a region that wait for their links.

    Attributes:
        requests: the requests by their keys on the store, in order.
    """

    def __init__(self, region: RegionData) -> None:
        self._region = region
        self._last = 0
        self._sending: set[bytes] = set()
        self.requests: dict[bytes, QueuedStart] = {}

    def put(self, task: TaskData, request: QueuedStart, *, protect: bool) -> None:
        """Queue a request; with PROTECT when the unit of work of its issuer has committed."""
        self._last += 1
        if protect:
            self._protect(self._last, request, task._uow)
            return
        key = _key(self._last)
        self._region.committer.commit(meta={key: json.dumps(request).encode()})
        self._queued(key, request, committed=True)

    def _protect(self, number: int, request: QueuedStart, uow: UnitOfWork) -> None:
        """Queue a request when a unit of work commits."""
        key, image = _key(number), json.dumps(request).encode()
        uow.at_commit = (*uow.at_commit, lambda: {key: image})
        uow.kept = (*uow.kept, ("queued", lambda: (number, request)))
        uow.call_at_end(lambda committed: self._queued(key, request, committed=committed))

    def restore(self, uow: UnitOfWork, image: tuple[int, Iterable[str]]) -> None:
        """Restore a request with PROTECT of a unit of work in doubt of an earlier run."""
        number, request = image
        self._last = max(self._last, number)
        self._protect(number, QueuedStart(*request), uow)

    def _queued(self, key: bytes, request: QueuedStart, *, committed: bool) -> None:
        """Called when a request has joined the queue: send it if its link has come back meanwhile."""
        region = self._region
        if not committed or key in self.requests:
            return
        self.requests[key] = request
        if region.ati.why_it_waits(region.terminal_control.get("SYSTEM", request.system)) is None:
            self.send(request.system)
        else:
            region.notices.say("start_queued", transid=request.transid, system=request.system)

    def resume(self) -> None:
        """Read the requests of an earlier run."""
        for key, image in self._region.committer.metas(_PREFIX):
            self._last = max(self._last, int.from_bytes(key[len(_PREFIX) :], "big"))
            self.requests[key] = QueuedStart(*json.loads(image))

    def send(self, system: str) -> None:
        """Send the requests for a system whose link is back, each by a task of its own."""
        region = self._region
        for key, request in tuple(self.requests.items()):
            if request.system == system and key not in self._sending:
                entry = TransactionEntry(undefined(_SENDER), handler=partial(self._ship, key=key), defined=False)
                self._sending.add(key)
                try:
                    region.task_manager.attach(entry, startcode="S", userid=request.userid)
                except BaseException:
                    self._sending.discard(key)
                    raise

    def _ship(self, task: TaskBase, *, key: bytes) -> None:
        request = self.requests.get(key)
        try:
            if request is None:
                return
            try:
                self._region.link(request.system).ship(
                    task, "START", request.transid, data=request.order.encode("latin-1")
                )
            except Condition as condition:
                if condition.resp is Resp.SYSIDERR:  # the link is away again
                    return
                self._region.notices.say(
                    "start_not_sent", transid=request.transid, system=request.system, reason=str(condition)
                )
            self._region.committer.note(key, None)
            del self.requests[key]
        finally:
            self._sending.discard(key)
