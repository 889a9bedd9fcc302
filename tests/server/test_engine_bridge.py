"""Calls of the event loop to the engine: their results, their cancellation, and one wake-up for many."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from tdqsim.core.engine import CallCancelled, Engine, EngineStopped
from tdqsim.core.fiber import WAIT, WaitQueue
from tdqsim.server.engine_bridge import EngineBridge


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = Engine()
    yield made
    made.stop()


def test_results_and_exceptions_come_back(engine: Engine) -> None:
    async def calls() -> None:
        bridge = EngineBridge(engine, asyncio.get_running_loop())
        assert await bridge.submit(lambda: threading.current_thread().name, "a name") == "tdqsim engine"
        with pytest.raises(ZeroDivisionError):
            await bridge.submit(lambda: 1 / 0, "a fault")

    asyncio.run(calls())


def test_a_look_starts_no_task_and_its_exception_comes_back(engine: Engine) -> None:
    async def calls() -> None:
        bridge = EngineBridge(engine, asyncio.get_running_loop())
        assert await bridge.submit(lambda: [each.name for each in engine.dispatcher.fibers], "a call") == ["a call"]
        assert await bridge.look(lambda: [each.name for each in engine.dispatcher.fibers]) == []
        with pytest.raises(ZeroDivisionError):
            await bridge.look(lambda: 1 / 0)

    asyncio.run(calls())


def test_the_loop_is_woken_once_for_results_that_come_while_it_is_busy(engine: Engine) -> None:
    async def calls() -> None:
        bridge = EngineBridge(engine, asyncio.get_running_loop())
        futures = [bridge.submit(lambda each=each: each, "a call") for each in range(100)]
        engine.submit(lambda: None).result(60)  # all of them have ended, and the loop has not had a turn
        assert await asyncio.gather(*futures) == list(range(100))
        assert bridge.wakes == 1
        assert await bridge.submit(lambda: 7, "a call") == 7
        assert bridge.wakes == 2

    asyncio.run(calls())


def test_a_cancelled_call_ends_its_wait(engine: Engine) -> None:
    queue, ended = WaitQueue("never"), threading.Event()

    def wait() -> None:
        try:
            engine.dispatcher.wait(lambda: WAIT, queue)
        except CallCancelled:
            ended.set()
            raise

    async def calls() -> None:
        bridge = EngineBridge(engine, asyncio.get_running_loop())
        waiting = bridge.submit(wait, "a wait")
        await bridge.submit(lambda: None, "a call behind it")
        assert len(queue) == 1
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(calls())
    assert ended.wait(60)
    assert not queue


def test_a_call_that_waits_fails_when_the_engine_stops() -> None:
    engine = Engine()

    async def calls() -> None:
        bridge = EngineBridge(engine, asyncio.get_running_loop())
        waiting = bridge.submit(lambda: engine.dispatcher.wait(lambda: WAIT, WaitQueue("never")), "a wait")
        await bridge.submit(lambda: None, "a call behind it")
        await asyncio.to_thread(engine.stop)
        with pytest.raises(EngineStopped):
            await waiting
        with pytest.raises(EngineStopped):
            bridge.submit(lambda: None, "too late")

    asyncio.run(calls())


def test_a_result_for_a_loop_that_is_closed_is_dropped(engine: Engine) -> None:
    held = threading.Event()

    async def calls() -> None:
        EngineBridge(engine, asyncio.get_running_loop()).submit(lambda: held.wait(60), "a call")

    asyncio.run(calls())
    held.set()
    assert engine.submit(lambda: 1).result(60) == 1  # the engine goes on
