"""An interrupt at any line of the dispatcher: afterwards everything that had to happen happens, and nothing is lost."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any, Self

import pytest
from freezegun import freeze_time

from tdqsim.core import _turns as turns_module
from tdqsim.core import clock as clock_module
from tdqsim.core import deadlines as deadlines_module
from tdqsim.core import dispatch as dispatch_module
from tdqsim.core import fiber as fiber_module
from tdqsim.core.clock import Clock
from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.fiber import WAIT, Fiber, TimedOut, WaitQueue
from tdqsim.errors import RegionClosed, WouldWaitForever
from tests.interrupts import can_be_interrupted

SECOND = 1_000_000_000
FILES = {
    dispatch_module.__file__,
    turns_module.__file__,
    fiber_module.__file__,
    clock_module.__file__,
    deadlines_module.__file__,
}


class Injector:
    """Raises KeyboardInterrupt at the nth line that is run in the dispatcher's and the clock's files.

    Greenlets have trace functions of their own, so that each fiber sets it anew.

    Attributes:
        seen: how many lines were run.
        places: the lines that were run, in order; only where no interrupt is asked for.
        where: the one at which it was raised; empty when so many were not run.
    """

    def __init__(self, nth: int) -> None:
        self.nth = nth
        self.seen = 0
        self.places: list[str] = []
        self.where = ""

    def __call__(self, frame: FrameType, event: str, _arg: object) -> Any:
        if self.where or frame.f_code.co_filename not in FILES:
            return None
        if event == "line" and can_be_interrupted(frame):
            self.seen += 1
            if self.nth in (0, self.seen):
                place = f"{frame.f_code.co_name}:{frame.f_lineno}"
                if self.nth:
                    self.where = place
                    raise KeyboardInterrupt(place)
                self.places.append(place)
        return self

    def __enter__(self) -> Self:
        sys.settrace(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)


class Shop:
    """Fibers that take and give things, wait with and without deadlines, and yield; each thing is there once."""

    def __init__(self, injector: Injector | None, seed: int) -> None:
        self.injector = injector
        self.dispatcher = Dispatcher(Clock(), seed)
        self.things = list(range(6))
        self.shelf = WaitQueue("THING")
        self.begun: list[str] = []
        self.over: list[str] = []
        self.fired: list[str] = []
        self.fibers: list[Fiber] = []

    def take(self) -> int:
        def attempt() -> Any:
            first = self.shelf.is_first(self.dispatcher.current)
            return self.things.pop() if self.things and first else WAIT

        return self.dispatcher.wait(attempt, self.shelf)

    def give(self, thing: int) -> None:
        self.things.append(thing)
        self.shelf.wake_one()

    def work(self, name: str) -> None:
        if self.injector is not None:
            sys.settrace(self.injector)
        self.begun.append(name)
        held: list[int] = []
        try:
            for _ in range(2):
                held.append(self.take())
                held.append(self.take())
                self.dispatcher.yield_now()
                self.pause(2)
                while held:
                    self.give(held.pop())
        finally:
            while held:  # what a unit of work does: whatever ends it, it holds nothing any more
                self.things.append(held.pop())
            self.over.append(name)

    def pause(self, seconds: int) -> None:
        with_deadline = WaitQueue("PAUSE")
        try:
            self.dispatcher.wait(lambda: WAIT, with_deadline, seconds * SECOND)
        except TimedOut:
            return

    def open(self) -> None:
        now = self.dispatcher.clock.time_ns()
        self.dispatcher.call_at(now + SECOND, lambda: self.fired.append("timer"))
        self.dispatcher.call_after_round(lambda: self.fired.append("round"))
        for number in range(4):
            name = f"fiber {number}"
            self.fibers.append(self.dispatcher.spawn(lambda name=name: self.work(name), name=name))

    def go(self) -> None:
        self.dispatcher.run_ready()
        held = self.take()
        try:
            self.pause(1)
        finally:
            self.give(held)
        self.dispatcher.run()

    def check(self, where: str) -> None:
        dispatcher = self.dispatcher
        dispatcher.run()
        assert dispatcher.fibers == (), where
        assert dispatcher.current is dispatcher.outside, where
        assert all(fiber.done for fiber in self.fibers), where
        assert sorted(self.begun) == sorted(self.over), where
        ended = [fiber for fiber in self.fibers if isinstance(fiber.exception, KeyboardInterrupt)]
        assert len(ended) <= 1, where
        others = [fiber for fiber in self.fibers if fiber not in ended]
        assert [fiber.exception for fiber in others] == [None] * len(others), where
        assert {fiber.name for fiber in others} <= set(self.begun), where
        assert set(self.fired) == ({"timer", "round"} if self.opened else set(self.fired)), where
        assert len(self.shelf) == 0, where
        assert dispatcher.next_deadline_ns() is None, where
        assert dispatcher.spawn(lambda: "works", name="next").result() == "works", where
        gate = WaitQueue("NOBODY")
        with pytest.raises(WouldWaitForever):
            dispatcher.wait(lambda: WAIT, gate)

    def check_after_signal(self) -> None:
        """A signal may hit this test's own lines too; but nobody is lost."""
        dispatcher = self.dispatcher
        dispatcher.run()
        assert dispatcher.fibers == ()
        assert all(fiber.done for fiber in self.fibers)
        assert len(self.shelf) == 0
        assert dispatcher.spawn(lambda: "works", name="next").result() == "works"

    opened = False


def lived(nth: int, seed: int) -> tuple[Injector, Shop]:
    """One shop's life, with one interrupt; the program outside catches it and goes on."""
    injector = Injector(nth)
    shop = Shop(injector, seed)
    shop.open()
    shop.opened = True
    interrupted = False
    with injector:
        try:
            shop.go()
        except KeyboardInterrupt:
            interrupted = True
    sys.settrace(None)
    assert interrupted == bool(injector.where)
    return injector, shop


def live_through_all(seed: int, times: int) -> set[str]:
    """A shop for every line at which it can be interrupted, the first and the last so many times it is run; the lines."""
    places: dict[str, list[int]] = {}
    for nth, place in enumerate(lived(0, seed)[0].places, 1):
        places.setdefault(place, []).append(nth)
    for numbers in places.values():
        some = [numbers[-1 if seed else 0]]  # the last time with one seed, and the first with the other
        for nth in some if times == 1 else dict.fromkeys(numbers[:times] + numbers[-times:]):
            injector, shop = lived(nth, seed)
            shop.check(f"{nth}: {injector.where}")
            assert injector.where
    return set(places)


@freeze_time("2026-01-01")
@pytest.mark.parametrize("times", [1, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", [0, 5])
def test_an_interrupt_at_every_line_loses_nobody(seed, times):
    assert len(live_through_all(seed, times)) > 150


def test_a_fiber_whose_start_is_interrupted_never_runs():
    for nth in range(1, 1000):
        dispatcher, ran, injector = Dispatcher(Clock()), [], Injector(nth)
        with suppress(KeyboardInterrupt), injector:
            dispatcher.spawn(lambda: ran.append("ran"), name="interrupted")  # noqa: B023
        dispatcher.run()
        assert ran == ([] if injector.where else ["ran"]), injector.where
        assert dispatcher.fibers == (), injector.where
        assert dispatcher.spawn(lambda: "works", name="next").result() == "works", injector.where
        if not injector.where:
            assert nth > 5
            return
    raise AssertionError("the start of a fiber does not end")


@freeze_time("2026-01-01")
def test_the_interrupts_notice_a_dispatcher_that_does_not_recover(monkeypatch):
    def forgetful(self: Dispatcher, _error: BaseException, current: Fiber) -> None:
        self.current = current

    monkeypatch.setattr(Dispatcher, "_recover", forgetful)
    with pytest.raises(AssertionError):
        live_through_all(0, 1)
    sys.settrace(None)  # a fiber of the world that failed has set it


@freeze_time("2026-01-01")
def test_an_interrupt_at_every_line_of_an_end_can_be_followed_by_another_end():
    nth = 0
    while True:
        nth += 1
        injector = Injector(nth)
        shop = Shop(injector, 0)
        owner = object()
        pause = partial(shop.pause, 10**6)
        waiting = [shop.dispatcher.spawn(pause, name=str(n), owner=owner) for n in range(3)]
        with injector, suppress(KeyboardInterrupt):
            shop.dispatcher.run_ready()
            shop.dispatcher.end_fibers(owner, "closed", RegionClosed)
        sys.settrace(None)
        shop.dispatcher.end_fibers(owner, "closed", RegionClosed)
        assert all(fiber.done for fiber in waiting), injector.where
        assert shop.dispatcher.fibers == (), injector.where
        shop.dispatcher.run()
        if not injector.where:
            break


# -- fibers that hand over to each other -----------------------------------------------------------------------------


class Relay:
    """Fibers that do nothing but let each other go first, on a dispatcher that has workers in reserve.

    Args:
        injector: interrupts.
        seed: the dispatcher's.
        goes_on: whether a fiber that is interrupted goes on, as a program may that catches everything.
    """

    def __init__(self, injector: Injector, seed: int, *, goes_on: bool) -> None:
        self.injector, self.goes_on = injector, goes_on
        self.dispatcher = Dispatcher(seed=seed)
        for name in ("one", "two", "three"):
            self.dispatcher.spawn(self.dispatcher.yield_now, name=name)
        self.dispatcher.run()
        self.fibers = [self.dispatcher.spawn(partial(self.run, each), name=str(each)) for each in range(4)]
        self.over: list[int] = []

    def run(self, number: int) -> None:
        sys.settrace(self.injector)
        for _ in range(3):
            try:
                self.dispatcher.yield_now()
            except KeyboardInterrupt:
                if not self.goes_on:
                    raise
        if number == 1:
            self.fibers.append(self.dispatcher.spawn(partial(self.run, 9), name="9"))
        self.over.append(number)

    def check(self, where: str) -> None:
        """Everybody has come to an end but the one that was interrupted, which may have ended with that."""
        self.dispatcher.run()
        assert self.dispatcher.fibers == (), where
        assert self.dispatcher.current is self.dispatcher.outside, where
        ended = [int(fiber.name) for fiber in self.fibers if isinstance(fiber.exception, KeyboardInterrupt)]
        assert len(ended) <= 1, where
        expected = {0, 1, 2, 3, 9} - set(ended) - ({9} if 1 in ended and 9 not in self.over else set())
        assert set(self.over) - set(ended) == expected, where
        assert len(self.over) == len(set(self.over)), where
        assert self.dispatcher.spawn(lambda: "works", name="next").result() == "works", where


@freeze_time("2026-01-01")
@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("goes_on", [False, True])
def test_an_interrupt_at_every_line_of_a_hand_over_loses_nobody(seed, goes_on):
    """Every second line: of those that go on and of those that end the others."""
    nth, places = -goes_on, set()
    while True:
        nth += 2
        injector = Injector(nth)
        relay = Relay(injector, seed, goes_on=goes_on)
        with injector, suppress(KeyboardInterrupt):
            relay.dispatcher.run()
        sys.settrace(None)
        relay.check(f"{nth}: {injector.where}")
        if not injector.where:
            break
        places.add(injector.where.partition(":")[0])
    assert {"_hand_over", "_begin_turn"} | ({"_pick"} if seed else set()) <= places


# -- real signals -----------------------------------------------------------------------------------------------------


class Alarmed(BaseException):
    """What the test's signal handler raises."""


@pytest.fixture
def alarm():
    """Nothing is collected meanwhile: what is raised inside a collection is told of elsewhere and strikes nobody."""

    def ring(_number: int, _frame: object) -> None:
        raise Alarmed

    before = signal.signal(signal.SIGUSR1, ring)
    gc.disable()
    yield
    gc.enable()
    signal.signal(signal.SIGUSR1, before)


def test_a_signal_ends_a_real_rest_and_the_dispatcher_goes_on(alarm):
    dispatcher = Dispatcher(Clock(simulated=False))
    gate = WaitQueue("GATE")
    handle = dispatcher.spawn(lambda: dispatcher.wait(lambda: WAIT, gate, 3600 * SECOND), name="waits an hour")
    dispatcher.run_ready()
    ring = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGUSR1))

    def rung() -> None:
        ring.start()  # on a busy machine the signal comes before the rest
        dispatcher.run()

    with pytest.raises(Alarmed):
        rung()
    ring.join()
    assert handle.cancel(LookupError())
    with pytest.raises(LookupError):
        handle.result()
    assert dispatcher.spawn(lambda: 1, name="next").result() == 1


def test_another_thread_ends_a_real_rest(alarm):
    dispatcher = Dispatcher(Clock(simulated=False))
    due = dispatcher.clock.time_ns() + 3600 * SECOND
    called = []
    dispatcher.call_at(due, lambda: called.append("due"))
    waker = threading.Timer(0.05, dispatcher.wake)
    waker.start()
    dispatcher.rest()
    waker.join()
    dispatcher.wake()
    dispatcher.wake()
    dispatcher.rest()  # woken before: it does not sleep at all
    assert called == []
    assert dispatcher.clock.time_ns() < due
    assert dispatcher.pending


@pytest.mark.parametrize("seed", [0, 7])
def test_signals_at_any_moment(alarm, seed):
    """Some hundred shops, each struck by a signal at a moment of chance, also outside the dispatcher."""
    struck = 0
    for each in range(150):
        shop = Shop(None, seed)
        shop.open()
        ring = threading.Timer(0, partial(_ring_after, 0.0001 * (each % 15)))
        try:
            ring.start()
            shop.go()
            ring.join()
        except Alarmed:
            struck += 1
        ring.join()
        shop.check_after_signal()
    assert struck == 150


def _ring_after(seconds: float) -> None:
    threading.Event().wait(seconds)
    os.kill(os.getpid(), signal.SIGUSR1)
