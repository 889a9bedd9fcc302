"""The delivery of messages: a transport with a few methods, and a channel that numbers the messages.

A :class:`Transport` carries bytes, in order or not at all: a pair of queues in one process (:class:`Pipe`, here), or a
network connection. A :class:`MessageChannel` sends and receives messages over it. Messages are numbered consecutively.
A message that is repeated, missing or out of order, or bytes that are not a message, count as a lost link. So the
channel does not rely on the transport; both ends notice the loss, and resynchronize over the next link.

A transport calls its callbacks (``receive``, ``lost``) in the thread of the channel's dispatcher; a network transport
uses ``Engine.submit`` for that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from tdqsim.core.messages import FrameDecoder, Kinds, MessageError, MessageFrame
from tdqsim.errors import TdqError


class LinkDown(TdqError):
    """A message could not be sent or answered: the link is gone."""


class Transport(Protocol):
    """Carries bytes between two ends."""

    def open(self, receive: Callable[[bytes], None], lost: Callable[[str], None]) -> None:
        """Set the callbacks: for arriving data, in pieces of any length, and for the loss of the link (called once)."""

    def send(self, data: bytes) -> None:
        """Send data.

        Raises:
            LinkDown: it could not be sent.
        """

    def close(self) -> None:
        """Close the link; both ends get their callback for a lost link. A second call does nothing."""


class MessageChannel:
    """Messages over a transport.

    Args:
        transport: one that has not been opened yet.
        kinds: the kinds of messages that this end accepts.
        receive: called with each message that arrives.
        lost: called once, with the reason, when the link is lost.

    Attributes:
        is_lost: whether the link is lost.
        sent: the number of the last message that was sent.
    """

    def __init__(
        self, transport: Transport, kinds: Kinds, receive: Callable[[MessageFrame], None], lost: Callable[[str], None]
    ) -> None:
        self.is_lost = False
        self._transport = transport
        self._decoder = FrameDecoder(kinds)
        self._receive = receive
        self._lost = lost
        self.sent = self._received = 0
        transport.open(self._arrived, self._gone)

    def send(self, kind: str, fields: Mapping[str, Any], data: bytes = b"", *, answers: int = 0) -> int:
        """Send a message; returns its number, which the answer will refer to.

        Raises:
            LinkDown: it could not be sent.
            MessageError: it is too long; nothing was sent.
        """
        if self.is_lost:
            raise LinkDown(f"{kind} was not sent: the link is gone")
        number = self.sent + 1
        frame = MessageFrame(kind, fields, data, number, answers).to_bytes()
        self.sent = number
        self._transport.send(frame)
        return number

    def close(self) -> None:
        """Close the link."""
        self._transport.close()

    def _arrived(self, chunk: bytes) -> None:
        if self.is_lost:
            return
        try:
            messages = self._decoder.feed(chunk)
        except MessageError as error:
            self._give_up(str(error))
            return
        for message in messages:
            self._take(message)

    def _take(self, message: MessageFrame) -> None:
        if self.is_lost:
            return  # the link was given up because of an earlier message of the same chunk
        if message.number != self._received + 1:
            self._give_up(f"message {message.number} came where {self._received + 1} was due")
            return
        self._received = message.number
        self._receive(message)

    def _give_up(self, why: str) -> None:
        self._gone(why)
        self._transport.close()

    def _gone(self, why: str) -> None:
        if not self.is_lost:
            self.is_lost = True
            self._lost(why)


class Pipe:
    """A transport within one process: two ends, and a queue for each direction.

    Data arrives at once, inside ``send``, unless it is held back.

    Args:
        before: called with each frame before it is sent; it may close the pipe, and then the frame is lost.

    Attributes:
        ends: the two ends.
        holds: called with each frame; True holds it back, with all later ones in that direction. None holds nothing.
        closed: whether the pipe is closed.
    """

    def __init__(self, before: Callable[[bytes], None] | None = None) -> None:
        self.ends = (PipeEnd(self), PipeEnd(self))
        self.ends[0].other, self.ends[1].other = self.ends[1], self.ends[0]
        self.holds: Callable[[bytes], bool] | None = None
        self.closed = False
        self._before = before

    def carry(self, data: bytes, to: PipeEnd) -> None:
        """Deliver a frame to an end, or put it in the queue of frames held back."""
        if self._before is not None and not self.closed:
            self._before(data)
        if self.closed:
            raise LinkDown("the link is gone")
        if to.held or (self.holds is not None and self.holds(data)):
            to.held.append(data)
        else:
            to.take(data)

    def release(self) -> int:
        """Deliver the frames held back, in order; returns how many there were."""
        count = 0
        while not self.closed and (waiting := [end for end in self.ends if end.held]):
            count += 1
            waiting[0].take(waiting[0].held.popleft())
        return count

    def close(self, why: str = "the link was cut") -> None:
        """Cut the link: both ends get their callback for a lost link."""
        if not self.closed:
            self.closed = True
            for end in self.ends:
                end.held.clear()
                end.tell(why)


class PipeEnd:
    """One end of a pipe.

    Attributes:
        other: the other end.
        held: frames for this end that are held back.
    """

    other: PipeEnd

    def __init__(self, pipe: Pipe) -> None:
        self.held: deque[bytes] = deque()
        self._pipe = pipe
        self._receive: Callable[[bytes], None] | None = None
        self._lost: Callable[[str], None] | None = None

    def open(self, receive: Callable[[bytes], None], lost: Callable[[str], None]) -> None:
        """See :class:`Transport`."""
        self._receive, self._lost = receive, lost

    def send(self, data: bytes) -> None:
        """See :class:`Transport`."""
        self._pipe.carry(data, self.other)

    def close(self) -> None:
        """See :class:`Transport`."""
        self._pipe.close()

    def take(self, data: bytes) -> None:
        """Receive bytes."""
        if self._receive is not None:
            self._receive(data)

    def tell(self, why: str) -> None:
        """Report the loss of the link."""
        if self._lost is not None:
            self._lost(why)
