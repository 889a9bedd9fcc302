"""WRITEQ TS, READQ TS and DELETEQ TS of a queue that another region owns: the requests are function-shipped.

SYSID names the region, or else REMOTESYSTEM of the queue's model; with REMOTEPREFIX the name differs in that region.
The models of that region decide whether the queue is recoverable or in main storage. A change of a recoverable queue is
part of the requester's unit of work. Sources: TSMODEL resources, READQ TS (IBM Docs).
"""

from __future__ import annotations

from operator import index
from struct import Struct, error
from typing import Final

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.task import TaskBase
from tdqsim.cics.ts.storage import TemporaryStorage
from tdqsim.core.named import NamedTuple
from tdqsim.facts import Resp

_REQUEST: Final = Struct(">h?????")
_REPLY: Final = Struct(">ii")
_LOWEST: Final = -1
_HIGHEST: Final = 2**15 - 1
"""Item numbers are limited to this range in a message; one outside it gets ITEMERR in the other region as here."""


class TsRequest(NamedTuple):
    """The options of a request to the region that owns the queue.

    Attributes:
        item: ITEM; None for none.
        rewrite: REWRITE.
        main: MAIN.
        auxiliary: AUXILIARY.
        nosuspend: NOSUSPEND.
        data: the item of WRITEQ.
    """

    item: int | None = None
    rewrite: bool = False
    main: bool = False
    auxiliary: bool = False
    nosuspend: bool = False
    data: bytes = b""

    def to_bytes(self) -> bytes:
        """Its form in a message: ITEM and whether it is given, a byte for each keyword, then the item."""
        words = (self.rewrite, self.main, self.auxiliary, self.nosuspend)
        item = max(_LOWEST, min(index(self.item or 0), _HIGHEST))
        return _REQUEST.pack(item, self.item is not None, *words) + self.data

    @classmethod
    def from_bytes(cls, form: bytes) -> TsRequest:
        """The options in a message.

        Raises:
            Condition: ISCINVREQ: the message is not valid.
        """
        try:
            item, has_item, rewrite, main, auxiliary, nosuspend = _REQUEST.unpack_from(form)
        except error as short:
            raise Condition(Resp.ISCINVREQ, detail=f"a request that cannot be read: {short}") from short
        data = form[_REQUEST.size :]
        return cls(item if has_item else None, rewrite, main, auxiliary, nosuspend, data)


class TsReply(NamedTuple):
    """The reply of the region that owns the queue.

    Attributes:
        item: the item's number.
        numitems: the number of items of the queue.
        data: the item of READQ.
    """

    item: int = 0
    numitems: int = 0
    data: bytes = b""

    def to_bytes(self) -> bytes:
        """Its form in a message."""
        return _REPLY.pack(self.item, self.numitems) + self.data

    @classmethod
    def from_bytes(cls, form: bytes) -> TsReply:
        """The reply in a message.

        Raises:
            Condition: ISCINVREQ: the message is not valid.
        """
        try:
            item, numitems = _REPLY.unpack_from(form)
        except error as short:
            raise Condition(Resp.ISCINVREQ, detail=f"a reply that cannot be read: {short}") from short
        return cls(item, numitems, form[_REPLY.size :])


def where_queue(task: TaskBase, queue: str, sysid: str | None) -> tuple[str, str]:
    """The system that owns a queue, empty for this one, and the queue's name there."""
    region = task._region
    if sysid is not None:
        sysid = sysid.rstrip(" ")
        return ("" if sysid == region.sysid else sysid), queue
    ts: TemporaryStorage = region.ts
    model = ts.model(queue) if ts.models else None
    if model is None or model.remotesystem in ("", region.sysid):
        return "", queue
    return model.remotesystem, (model.remoteprefix or model.prefix) + queue[len(model.prefix) :]


def ship_ts(task: TaskBase, system: str, command: str, queue: str, request: TsRequest) -> TsReply:
    """Ship a request to the region that owns a queue.

    Raises:
        Condition: the condition from that region; SYSIDERR: it cannot be reached.
    """
    return TsReply.from_bytes(task._region.link(system).ship(task, command, queue, data=request.to_bytes()))
