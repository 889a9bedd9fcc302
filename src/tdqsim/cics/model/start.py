"""A START request as data, and its form on the store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from tdqsim.cics.kernel.channels import Channel, Container
from tdqsim.core.named import NamedTuple
from tdqsim.facts import Cvda

if TYPE_CHECKING:
    from tdqsim.cics.model.unit import UnitOfWork
    from tdqsim.core.fiber import Fiber, Timer

_TEXTS: Final = ("transid", "userid", "termid", "reqid")


class TimedWait(NamedTuple):
    """A DELAY or POST with a REQID, as long as it waits.

    Attributes:
        kind: DELAY or POST.
        reqid: its REQID.
        deadline_ns: its expiration time in nanoseconds.
        userid: the user of the task.
    """

    kind: Literal[Cvda.DELAY, Cvda.POST]
    reqid: str
    deadline_ns: int
    userid: str


class StartRequest:
    """One START.

    Attributes:
        transid: the transaction.
        data: the data for RETRIEVE, or None.
        userid: the user ID of the task.
        termid: its terminal; empty for none.
        reqid: its REQID, for CANCEL.
        deadline_ns: its expiration time in nanoseconds.
        channel: the channel for the task, or None.
        more: RTRANSID, RTERMID and QUEUE for RETRIEVE, as far as given.
        committed: False for a START PROTECT whose unit of work has not ended.
        key: its key on the store; empty if it is not recoverable.
        timer: the timer of its expiration; None if the request has expired or is not committed.
        handle: the handle of its task; None while it has none.
        taken: whether it is done: its task was started, or a RETRIEVE of another task took its data.
        unit: the unit of work that has written the data, if they are recoverable, until it ends; None otherwise.
        backed_out: whether that unit of work was backed out, and the data with it.
        in_doubt: as read from the store: the id of the unit of work that issued it and was in doubt; empty for none.
        taker: the unit of work that has taken it, if it is recoverable; None otherwise.
    """

    __slots__ = (
        "backed_out", "channel", "committed", "data", "deadline_ns", "handle", "in_doubt", "key", "more", "reqid",
        "taken", "taker", "termid", "timer", "transid", "unit", "userid",
    )  # fmt: skip

    def __init__(
        self,
        transid: str,
        *,
        data: bytes | None,
        userid: str,
        termid: str = "",
        reqid: str = "",
        deadline_ns: int = 0,
    ) -> None:
        self.transid = transid
        self.data = data
        self.userid = userid
        self.termid = termid
        self.reqid = reqid
        self.deadline_ns = deadline_ns
        self.channel: Channel | None = None
        self.more: Mapping[str, str] = {}
        self.committed = True
        self.key = b""
        self.timer: Timer | None = None
        self.handle: Fiber | None = None
        self.taken = False
        self.unit: UnitOfWork | None = None
        self.backed_out = False
        self.in_doubt = b""
        self.taker: UnitOfWork | None = None

    @property
    def has_data(self) -> bool:
        """Whether RETRIEVE gives anything."""
        return self.data is not None or bool(self.more)

    @property
    def gone(self) -> bool:
        """Whether the store keeps it no longer: the unit of work that has taken it was prepared or has ended."""
        return self.taker is not None and self.taker.state is not Cvda.INFLIGHT

    def image(self, in_doubt: bytes = b"") -> bytes:
        """The request in its form on the store; ``in_doubt``: the id of the issuing unit of work in doubt."""
        record: dict[str, Any] = {name: getattr(self, name) for name in _TEXTS}
        record |= {"deadline": self.deadline_ns, "more": dict(self.more)}
        record["data"] = None if self.data is None else self.data.hex()
        if self.channel is not None:
            held = {name: [each.kind, each.data.hex()] for name, each in self.channel.containers.items()}
            record["channel"] = [self.channel.name, held]
        if self.backed_out:
            record["backed_out"] = True
        if in_doubt:
            record["in_doubt"] = in_doubt.hex()
        return json.dumps(record, separators=(",", ":")).encode()

    @classmethod
    def from_image(cls, image: bytes) -> StartRequest:
        """The request from its form on the store.

        Raises:
            ValueError, KeyError, TypeError: the bytes are not a START request.
        """
        record = json.loads(image)
        data = None if record["data"] is None else bytes.fromhex(record["data"])
        made = cls(data=data, deadline_ns=int(record["deadline"]), **{name: str(record[name]) for name in _TEXTS})
        made.more = {str(word): str(value) for word, value in record["more"].items()}
        made.backed_out = bool(record.get("backed_out"))
        made.in_doubt = bytes.fromhex(record.get("in_doubt", ""))
        if "channel" in record:
            name, held = record["channel"]
            containers = {each: Container(bytes.fromhex(data), kind) for each, (kind, data) in held.items()}
            made.channel = Channel(name, containers)
        return made
