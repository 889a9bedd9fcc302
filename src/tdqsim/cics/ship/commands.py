"""The commands that a mirror task carries out for another region."""

from __future__ import annotations

from tdqsim.cics.commands import Task
from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.kernel.interval import StartOrder, take_start
from tdqsim.cics.ship.messages import Fields
from tdqsim.cics.terminal.surrogate import RECEIVE, SEND
from tdqsim.cics.ts.remote import TsReply, TsRequest
from tdqsim.facts import Resp


def carry_out(task: Task, name: str, fields: Fields, data: bytes) -> bytes:
    """Carry out a request.

    Args:
        task: the mirror task.
        name: the connection to the region that has sent the request.
        fields, data: of the request.

    Returns:
        The data of the answer, such as the record of READQ.

    Raises:
        Condition: that of the command; ISCINVREQ: the request cannot be read, or is not one of these.
    """
    command, record = fields["command"], b""
    if command == "READQ TD":
        record = task.readq_td(fields["queue"], fields["length"] or None, nosuspend=fields["nosuspend"], nohandle=True)
    elif command == "WRITEQ TD":
        task.writeq_td(fields["queue"], data, nohandle=True)
    elif command == "DELETEQ TD":
        task.deleteq_td(fields["queue"], nohandle=True)
    elif command in ("WRITEQ TS", "READQ TS", "DELETEQ TS"):
        return _do_ts(task, command, fields["queue"], TsRequest.from_bytes(data)).to_bytes()
    elif command == "START":
        return take_start(task, StartOrder.from_bytes(data)).encode("latin-1", "replace")
    elif command == "CANCEL":
        task.cancel(fields["queue"], nohandle=True)
    elif command in (SEND, RECEIVE):
        return task._region.routing.serve_terminal(task, name, fields["queue"], command, data)
    elif command == "SCHEDULE":
        task._region.routing.schedule(name, fields["queue"], data)
    else:
        raise Condition(Resp.ISCINVREQ, detail=f"{command!r:.40} is not shipped")
    if task.eib.eibresp is not Resp.NORMAL:
        assert task.condition is not None, task
        raise task.condition
    return record


def _do_ts(task: Task, command: str, queue: str, request: TsRequest) -> TsReply:
    if command == "DELETEQ TS":
        task.deleteq_ts(queue)
        return TsReply()
    if command == "READQ TS":
        result = task.readq_ts(queue, item=request.item)
        return TsReply(0, result.numitems, result.data)
    done = task.writeq_ts(
        queue,
        request.data,
        item=request.item,
        rewrite=request.rewrite,
        main=request.main,
        auxiliary=request.auxiliary,
        nosuspend=request.nosuspend,
    )
    return TsReply(done.item, done.numitems)
