"""Passes calls of the event loop to the engine's thread, and their results back.

The loop is woken once for all results that wait for it: waking it costs a system call, and often a switch of threads.
A result is put into a queue; only the first one since the loop has emptied the queue wakes it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import InvalidStateError
from contextlib import suppress
from functools import partial
from typing import Any

from tdqsim.hosting import Engine


class EngineBridge:
    """The calls of one event loop to an engine.

    Args:
        engine: the engine.
        loop: the event loop.

    Attributes:
        loop: the event loop.
        wakes: how often a result has woken the loop.
    """

    def __init__(self, engine: Engine, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.wakes = 0
        self._engine = engine
        self._results: deque[tuple[asyncio.Future[Any], Any, BaseException | None]] = deque()
        self._woken = False

    def submit(self, call: Callable[[], Any], name: str) -> asyncio.Future[Any]:
        """Run a call in the engine's thread, as :meth:`Engine.submit` does; call this in the loop.

        Cancelling the future ends the wait of the call.

        Raises:
            EngineStopped: the engine is stopping or has stopped.
        """
        future: asyncio.Future[Any] = self.loop.create_future()
        answer = _LoopAnswer(self, future)
        self._engine.submit_to(answer, call, name=name)
        future.add_done_callback(answer.noticed)
        return future

    def look(self, call: Callable[[], Any]) -> asyncio.Future[Any]:
        """Run a call in the engine's thread that only reads: it may not wait, nor change anything. Call it in the loop.

        Raises:
            EngineStopped: the engine is stopping or has stopped.
        """
        future: asyncio.Future[Any] = self.loop.create_future()
        self._engine.look(partial(self._look, future, call))
        return future

    def _look(self, future: asyncio.Future[Any], call: Callable[[], Any]) -> None:
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001  (the future passes it to the request)
            self.deliver(future, None, error)
        else:
            self.deliver(future, result, None)

    def give_up(self, answer: _LoopAnswer) -> None:
        """The future of an answer was cancelled."""
        self._engine.give_up(answer)

    def deliver(self, future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
        """Pass a result to the loop; called in the engine's thread."""
        self._results.append((future, value, error))
        if not self._woken:
            self._woken = True
            self.wakes += 1
            with suppress(RuntimeError):  # the loop is closed: no request waits for the result
                self.loop.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        """Set the results that wait."""
        self._woken = False  # before the queue is emptied: a result that comes meanwhile wakes the loop again
        while self._results:
            future, value, error = self._results.popleft()
            if future.done():
                continue
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)


class _LoopAnswer:
    """Where the engine puts the result of one call."""

    __slots__ = ("_bridge", "_future", "_given")

    def __init__(self, bridge: EngineBridge, future: asyncio.Future[Any]) -> None:
        self._bridge, self._future = bridge, future
        self._given = False

    def cancelled(self) -> bool:
        """Whether the future was cancelled."""
        return self._future.cancelled()

    def set_result(self, result: Any, /) -> None:
        """Pass the result to the loop."""
        self._give(result, None)

    def set_exception(self, exception: BaseException, /) -> None:
        """Pass the exception to the loop."""
        self._give(None, exception)

    def _give(self, result: Any, exception: BaseException | None) -> None:
        if self._given:
            raise InvalidStateError
        self._given = True
        self._bridge.deliver(self._future, result, exception)

    def noticed(self, future: asyncio.Future[Any]) -> None:
        """The future is done."""
        if future.cancelled():
            self._bridge.give_up(self)
