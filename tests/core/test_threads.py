"""What belongs to one thread: every call from another one, or from a forked child, is refused and changes nothing."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tdqsim.core.clock import Clock
from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.fiber import WAIT, Fiber, TimedOut, WaitQueue
from tdqsim.errors import TdqError, WrongThread


def elsewhere(call: Callable[[], Any]) -> BaseException | None:
    """What a call raises in another thread."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return raised[0] if raised else None


class World:
    """A dispatcher with a fiber that waits, one that is ready, and a timer."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.clock.freeze()
        self.dispatcher = Dispatcher(self.clock)
        self.gate = WaitQueue("GATE")
        self.fired: list[str] = []
        wait = lambda: self.dispatcher.wait(lambda: WAIT, self.gate, 10**9)  # noqa: E731
        self.waits = self.dispatcher.spawn(wait, name="waits")
        self.dispatcher.run_ready()
        self.ready = self.dispatcher.spawn(lambda: "ran", name="ready")
        self.timer = self.dispatcher.call_at(self.clock.time_ns() + 5 * 10**8, lambda: self.fired.append("timer"))

    def calls(self) -> dict[str, Callable[[], Any]]:
        dispatcher, clock = self.dispatcher, self.clock
        return {
            "spawn": lambda: dispatcher.spawn(lambda: None, name="foreign"),
            "begin": lambda: dispatcher.begin(Fiber(dispatcher, "foreign", call=lambda: None)),
            "run": dispatcher.run,
            "run_ready": dispatcher.run_ready,
            "step": dispatcher.step,
            "rest": dispatcher.rest,
            "yield_now": dispatcher.yield_now,
            "call_after_round": lambda: dispatcher.call_after_round(lambda: self.fired.append("round")),
            "call_at": lambda: dispatcher.call_at(0, lambda: self.fired.append("at")),
            "wait": lambda: dispatcher.wait(lambda: self.fired.append("attempt"), self.gate),
            "next_deadline_ns": dispatcher.next_deadline_ns,
            "end_fibers": lambda: dispatcher.end_fibers(None, "end", TdqError),
            "release_workers": dispatcher.release_workers,
            "check_thread": dispatcher.check_thread,
            "Fiber.result": self.ready.result,
            "Fiber.cancel": lambda: self.waits.cancel(LookupError()),
            "Timer.cancel": self.timer.cancel,
            "WaitQueue.wake_one": self.gate.wake_one,
            "WaitQueue.wake_all": self.gate.wake_all,
            "Clock.advance": lambda: clock.advance(5),
            "Clock.advance_to": lambda: clock.advance_to(clock.time_ns() + 10**9),
            "Clock.reach": lambda: clock.reach(clock.time_ns() + 10**9),
            "Clock.rest": lambda: clock.rest(0),
            "Clock.freeze": clock.freeze,
            "Clock.thaw": clock.thaw,
            "Clock.check_thread": clock.check_thread,
            "Dispatcher(clock)": lambda: Dispatcher(clock),
        }

    def seen(self) -> tuple[object, ...]:
        dispatcher = self.dispatcher
        return (
            dispatcher.fibers, self.waits.waiting_for, self.waits.deadline_ns, self.ready.done, self.fired[:],
            dispatcher.turns, self.clock.time_ns(), self.clock.frozen, dispatcher.pending, dispatcher.current,
        )  # fmt: skip

    def check(self) -> None:
        """All goes on as if nothing had been tried."""
        assert self.ready.result() == "ran"
        assert self.waits.waiting_for is self.gate
        start = self.clock.time_ns()
        self.dispatcher.run()
        assert isinstance(self.waits.exception, TimedOut)
        assert (self.clock.time_ns() - start, self.fired) == (10**9, ["timer"])


NAMES = sorted(World().calls())


def public_methods(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_") and callable(getattr(kind, name))}


def test_the_list_of_calls_has_every_public_method():
    for kind, prefix in ((Dispatcher, ""), (Clock, "Clock.")):
        for_all_threads = {"wake", "time_ns", "now"}
        assert {prefix + name for name in public_methods(kind) - for_all_threads} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_another_thread_is_refused_without_effect(name):
    world = World()
    before = world.seen()
    assert isinstance(elsewhere(world.calls()[name]), WrongThread)
    assert world.seen() == before
    world.check()


@pytest.mark.parametrize("name", NAMES)
def test_a_forked_child_is_refused_without_effect(name):
    world = World()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            before = world.seen()
            try:
                world.calls()[name]()
            except WrongThread:
                code = 0 if world.seen() == before else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    world.check()


def test_a_forked_child_may_have_a_dispatcher_of_its_own():
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = Dispatcher().spawn(lambda: 0, name="of the child").result()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_clock_that_no_dispatcher_has_is_anybodys():
    clock = Clock()
    clock.freeze()
    before = clock.time_ns()
    assert elsewhere(lambda: clock.advance(1)) is None
    assert clock.time_ns() - before == 10**9


def test_waking_is_for_every_thread():
    dispatcher = Dispatcher(Clock(simulated=False))
    assert elsewhere(dispatcher.wake) is None
    dispatcher.rest()
