"""A link between two regions of one process: a pair of queues that a test can cut or delay at any message."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Final

from tdqsim.cics.kernel.conditions import Condition
from tdqsim.cics.ship.messages import KINDS, RESYNC_STEPS, STEPS
from tdqsim.cics.ship.remote import LinkEnd
from tdqsim.core.messages import FrameDecoder
from tdqsim.core.transport import Pipe
from tdqsim.errors import WrongValue
from tdqsim.facts import Resp

if TYPE_CHECKING:
    from tdqsim.cics.region import Region
    from tdqsim.cics.ship.mirrors import MirrorTask

_ALL_STEPS: Final = (*STEPS, *RESYNC_STEPS)


class Link:
    """A link between two regions. It starts released: :meth:`restore` brings it up. A test can cut and delay it.

    Args:
        one: a region.
        name_in_one: its connection to the other one.
        other: the other region.
        name_in_other: its connection to the first region.
        at_once: whether each message is carried out inside the ``send`` of its sender. False simulates a network: each
            message is carried out by a separate fiber, while the sender waits for the answer.

    Attributes:
        ends: the two ends, one in each region.
        acquired: whether messages get through.
        fault: called with each step before its message is sent, and may cut the link; None for nothing.
    """

    is_near: ClassVar[bool] = True

    def __init__(
        self, one: Region, name_in_one: str, other: Region, name_in_other: str, *, at_once: bool = True
    ) -> None:
        self.fault: Callable[[str], None] | None = None
        self.acquired = False
        self._at_once = at_once
        self._cut_at: str | None = None
        self._passes = 0
        self._held_at: str | None = None
        self._pipe = Pipe()
        self.ends = (LinkEnd(self, one._core, name_in_one), LinkEnd(self, other._core, name_in_other))

    def __repr__(self) -> str:
        one, other = self.ends
        return f"<Link {one.region.applid} {other.region.applid} {'acquired' if self.acquired else 'released'}>"

    def _serve_at_once(self, *, at_once: bool) -> None:
        for end in self.ends:
            end.at_once = at_once
            end.served.waits_turn = not at_once

    # -- control by tests -----------------------------------------------------------------------------------------

    def cut(self) -> None:
        """Cut the link: both ends notice at once. Does nothing if it is cut already."""
        if self.acquired:
            self.acquired = False
            self._cut_at = self._held_at = None
            self._pipe.close()

    def cut_at(self, step: str, *, nth: int = 1) -> None:
        """Cut the link when a message is sent for the nth time from now; the message is lost.

        Args:
            step: one of :data:`~tdqsim.cics.ship.messages.STEPS` or ``RESYNC_STEPS``.
            nth: 1 for the next such message.

        Raises:
            ValueError: there is no such message.
        """
        if step not in _ALL_STEPS or nth < 1:
            raise WrongValue(f"{step!r} ({nth}): allowed are {', '.join(_ALL_STEPS)}, and 1 or more")
        self._cut_at, self._passes = step, nth

    def delay_at(self, step: str) -> None:
        """Hold back the next message of a kind, and all later messages in the same direction, until :meth:`release`.

        From then on each message is carried out by its own fiber, as over a network.

        Raises:
            ValueError: there is no such message.
        """
        if step not in _ALL_STEPS:
            raise WrongValue(f"{step!r}: allowed are {', '.join(_ALL_STEPS)}")
        self._held_at = step
        self._serve_at_once(at_once=False)
        self._pipe.holds = self._is_held

    def release(self) -> int:
        """Deliver the messages that were held back; return how many there were."""
        self._held_at = None
        self._pipe.holds = None
        return self._pipe.release()

    def restore(self) -> None:
        """Bring the link up: both regions resynchronise the units of work that are in doubt.

        Inside a task it may return before resynchronisation ends. Nothing happens when the link is up, or a region is
        closed.
        """
        if self.acquired or any(end.region.closed for end in self.ends):
            return
        self._pipe = Pipe(self._before)
        self.acquired = True
        self._serve_at_once(at_once=self._at_once)
        LinkEnd.acquire(tuple(zip(self.ends, self._pipe.ends, strict=True)))
        if not self._at_once:
            self.ends[0].region.dispatcher.run_ready()

    # -- messages -------------------------------------------------------------------------------------------------

    def _before(self, frame: bytes) -> None:
        """Called before a message is sent: cut the link if a test has requested it at this message."""
        if self.fault is None and self._cut_at is None:
            return
        step = _step(frame)
        if step not in _ALL_STEPS:
            return
        if self.fault is not None and step in STEPS:
            self.fault(step)
        if self.acquired and step == self._cut_at:
            self._passes -= 1
            if not self._passes:
                self.cut()

    def _is_held(self, frame: bytes) -> bool:
        return _step(frame) == self._held_at

    # -- for explain and the test kit, which see both regions -----------------------------------------------------

    def other(self, end: LinkEnd) -> LinkEnd:
        """The other end."""
        return self.ends[1] if end is self.ends[0] else self.ends[0]

    def foreseen(self, end: LinkEnd, key: str, userid: str, hops: int) -> MirrorTask:
        """The mirror that would carry out a request from an end.

        Raises:
            Condition: SYSIDERR: the request would be refused.
        """
        there = self.other(end)
        region = there.region
        if region.closed:
            raise Condition(Resp.SYSIDERR, detail=f"region {region.applid} is closed", rule="REC-SYSIDERR-CLOSED")
        there.served.check_service()
        return there.served.probe(key, userid, hops)


def _step(frame: bytes) -> str:
    (message,) = FrameDecoder(KINDS).feed(frame)
    return message.kind
