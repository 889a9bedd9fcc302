"""An engine: a thread that owns a dispatcher, and the ways in and out for others."""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import CancelledError, Future, wait
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from tdqsim.cics import Condition, Region
from tdqsim.core.clock import Clock
from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.engine import CallCancelled, Engine, EngineFault, EngineStopped, Stopped
from tdqsim.core.fiber import WAIT, TimedOut, WaitQueue
from tdqsim.definitions import define_tdqueue
from tdqsim.errors import RegionClosed, UsageError, WrongThread

LONG = 60.0
"""Seconds after which a test that should have gone on fails instead of hanging."""


@pytest.fixture
def engine():
    with Engine() as made:
        yield made


@pytest.fixture
def no_grace(monkeypatch):
    """An engine that uses all the time that tasks have to end is not in time."""
    monkeypatch.setattr("tdqsim.core.engine._GRACE", 0.0)


class Gate:
    """Something to wait for in an engine's thread."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.open = False
        self.queue = WaitQueue("GATE")

    def wait(self, timeout_ns: int | None = None) -> str:
        return self.engine.dispatcher.wait(lambda: "through" if self.open else WAIT, self.queue, timeout_ns)

    def unlock(self) -> None:
        self.open = True
        self.queue.wake_all()

    def somebody_waits(self) -> bool:
        return bool(self.queue)


def test_a_call_is_carried_out_in_the_engines_thread(engine):
    there = engine.submit(threading.get_ident).result(LONG)
    assert there != threading.get_ident()
    assert engine.submit(threading.get_ident).result(LONG) == there == engine.dispatcher.thread


def resting(engine: Engine, act: Any) -> Any:
    """Call ``while_resting`` until the engine rests."""
    while (answer := engine.while_resting(act)) is None:
        pass
    return answer


def test_while_the_engine_rests_a_call_is_made_in_the_callers_thread(engine):
    gate, fired = Gate(engine), threading.Event()
    waits = engine.submit(gate.wait)
    engine.wait_until(gate.somebody_waits).result(LONG)
    assert resting(engine, lambda: (gate.unlock(), engine.dispatcher.thread))[1] == threading.get_ident()
    assert waits.result(LONG) == "through"  # the engine was woken for what has become ready
    resting(engine, lambda: engine.dispatcher.call_at(engine.dispatcher.clock.time_ns(), fired.set))
    assert fired.wait(LONG)
    seen: list[int] = []
    told = engine.wait_until(lambda: seen)
    resting(engine, lambda: (seen.append(1), "seen"))
    assert told.result(LONG) == [1]
    assert resting(engine, lambda: engine.submit(threading.get_ident)).result(LONG) == engine.dispatcher.thread
    with pytest.raises(ZeroDivisionError):
        resting(engine, lambda: 1 // 0)
    assert engine.submit(lambda: "still there").result(LONG) == "still there"


def test_a_call_while_the_engine_rests_replaces_its_next_deadline(engine):
    dispatcher, fired = engine.dispatcher, threading.Event()
    far = engine.outside(lambda: dispatcher.call_at(dispatcher.clock.time_ns() + 10**13, fired.clear)).result(LONG)

    def replace() -> str:
        far.cancel()
        assert dispatcher.next_deadline_ns() is None
        dispatcher.call_at(dispatcher.clock.time_ns(), fired.set)
        return "replaced"

    assert resting(engine, replace) == "replaced"
    assert fired.wait(LONG)


def test_a_call_while_the_engine_rests_ends_a_wait_of_the_program_outside(engine):
    gate = Gate(engine)
    waits = engine.outside(lambda: gate.wait(10**13))
    while not gate.somebody_waits():
        pass
    resting(engine, lambda: (gate.unlock(), "unlocked"))
    assert waits.result(LONG) == "through"


def test_a_call_while_the_engine_rests_cannot_wait_for_the_engine(engine):
    def refused(ask: Any) -> bool:
        with pytest.raises(WrongThread):
            ask()
        return True

    assert resting(engine, lambda: refused(lambda: engine.outside(lambda: None).result(1)))
    assert resting(engine, lambda: refused(lambda: engine.submit(lambda: None).exception(1)))
    assert resting(engine, lambda: refused(engine.stop))


def test_a_call_while_the_engine_rests_cannot_wait(engine):
    gate = Gate(engine)
    for call in (lambda: engine.dispatcher.yield_now(always=True), gate.wait, lambda: gate.wait(1)):
        with pytest.raises(UsageError, match="a call while the engine rests: it must not wait"):
            resting(engine, call)
        assert engine.submit(lambda: "still there").result(LONG) == "still there"
    assert not gate.somebody_waits()
    waits = engine.submit(gate.wait)
    resting(engine, lambda: (gate.unlock(), "unlocked") if gate.somebody_waits() else None)
    assert waits.result(LONG) == "through"


def test_no_call_is_made_while_the_engine_waits_for_the_end_of_its_tasks(engine):
    engine.submit(lambda: Gate(engine).wait(200_000_000))
    ends = threading.Thread(target=engine.stop)
    ends.start()
    running = []
    while ends.is_alive():
        engine.while_resting(lambda: running.append(engine.running))
    assert False not in running


def test_a_call_for_the_rest_is_not_made_while_the_engine_works_or_after_its_end(engine):
    begun, end = threading.Event(), threading.Event()
    busy = engine.submit(lambda: (begun.set(), end.wait(LONG)))
    assert begun.wait(LONG)
    assert engine.while_resting(lambda: "made") is None
    end.set()
    assert busy.result(LONG) == (None, True)
    engine.stop()
    assert engine.while_resting(lambda: "made") is None


def test_what_is_due_comes_while_others_only_look(engine):
    waits = engine.submit(lambda: Gate(engine).wait(1_000_000))
    seen = []
    while not waits.done() and len(seen) < 1_000_000:
        engine.look(lambda: seen.append(len(engine.dispatcher.fibers)))
        if len(seen) % 1000 == 0:
            engine.outside(lambda: None).result(LONG)
    with pytest.raises(TimedOut):
        waits.result(LONG)


def test_what_a_call_raises_is_the_futures(engine):
    with pytest.raises(ZeroDivisionError):
        engine.submit(lambda: 1 // 0).result(LONG)
    with pytest.raises(KeyboardInterrupt):
        engine.submit(_interrupted).result(LONG)
    assert engine.submit(lambda: "still there").result(LONG) == "still there"


def _interrupted() -> None:
    raise KeyboardInterrupt


def test_a_call_that_waits_holds_nobody_up(engine):
    gate = Gate(engine)
    waiting = [engine.submit(gate.wait) for _ in range(100)]
    assert engine.submit(lambda: "meanwhile").result(LONG) == "meanwhile"
    assert not any(each.done() for each in waiting)
    engine.submit(gate.unlock).result(LONG)
    assert [each.result(LONG) for each in waiting] == ["through"] * 100


def test_many_threads_submit_and_each_gets_its_own(engine):
    region = engine.make(Region, [define_tdqueue(name="Q", type="INTRA")], supplied_queues=False)
    written: list[Future[Any]] = []

    def submit(number: int) -> None:
        for each in range(50):
            record = b"%d-%d" % (number, each)
            written.append(engine.submit(partial(region.writeq_td, "Q", record)))

    threads = [threading.Thread(target=submit, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {each.result(LONG) for each in written} == {None}
    records = engine.submit(lambda: region.peek("Q")).result(LONG)
    assert sorted(records) == sorted(b"%d-%d" % (number, each) for number in range(8) for each in range(50))
    for number in range(8):  # what one thread submits is done in its order
        mine = [record for record in records if record.startswith(b"%d-" % number)]
        assert mine == [b"%d-%d" % (number, each) for each in range(50)]


def test_a_call_that_starts_a_task_has_its_result(engine):
    region = engine.make(Region, [define_tdqueue(name="Q", type="INTRA")], supplied_queues=False)

    def work(task):
        task.writeq_td("Q", b"one")
        return task.readq_td("Q")

    assert engine.submit(lambda: region.start(work)).result(LONG) == b"one"
    with pytest.raises(Condition, match="QZERO"):
        engine.submit(lambda: region.readq_td("Q")).result(LONG)


def test_a_real_deadline_ends_a_wait(engine):
    gate = Gate(engine)
    with pytest.raises(TimedOut):
        engine.submit(lambda: gate.wait(20_000_000)).result(LONG)


def test_a_frozen_clock_moves_when_it_is_told():
    clock = Clock(simulated=False)
    clock.freeze()
    with Engine(clock) as engine:
        gate = Gate(engine)
        late = engine.submit(lambda: gate.wait(3600 * 10**9))
        assert engine.wait_until(gate.somebody_waits).result(LONG) is True
        engine.submit(lambda: clock.advance(3599)).result(LONG)
        assert not late.done()
        engine.submit(lambda: clock.advance(1)).result(LONG)
        with pytest.raises(TimedOut):
            late.result(LONG)


def test_a_simulated_clock_jumps():
    with Engine(Clock()) as engine, pytest.raises(TimedOut):
        engine.submit(lambda: Gate(engine).wait(10 * 365 * 86_400 * 10**9)).result(LONG)


def test_a_future_that_is_cancelled_ends_the_wait(engine):
    gate, seen = Gate(engine), []

    def call() -> None:
        try:
            gate.wait()
        except CallCancelled as error:
            seen.append(error)
            raise

    given_up = engine.submit(call)
    assert engine.wait_until(gate.somebody_waits).result(LONG)
    assert given_up.cancel()
    assert wait([given_up], LONG).done == {given_up}
    engine.wait_until(lambda: not gate.queue).result(LONG)
    assert len(seen) == 1
    with pytest.raises(CancelledError):
        given_up.result(LONG)


def test_a_call_that_was_cancelled_before_it_began_does_nothing(engine):
    held, go = threading.Event(), threading.Event()
    engine.outside(lambda: (held.set(), go.wait(LONG)))
    held.wait(LONG)
    done = []
    assert engine.submit(lambda: done.append(1)).cancel()
    go.set()
    engine.submit(lambda: None).result(LONG)
    assert done == []


def test_waiting_until_something_is_to_be_seen(engine):
    region = engine.make(Region, [define_tdqueue(name="Q", type="INTRA")], supplied_queues=False)
    three = engine.wait_until(lambda: len(region.peek("Q")) >= 3 and region.peek("Q"))
    for each in range(3):
        assert not three.done()
        engine.submit(lambda each=each: region.writeq_td("Q", b"%d" % each)).result(LONG)
    assert three.result(LONG) == [b"0", b"1", b"2"]
    with pytest.raises(TimedOut):
        engine.wait_until(lambda: False, timeout=0.02).result(LONG)


def test_from_asyncio(engine):
    region = engine.make(Region, [define_tdqueue(name="Q", type="INTRA")], supplied_queues=False)
    gate = Gate(engine)

    async def program() -> list[Any]:
        event, loop = asyncio.Event(), asyncio.get_running_loop()
        heard = engine.subscribe(wake=lambda: loop.call_soon_threadsafe(event.set))
        waiting = asyncio.wrap_future(engine.submit(gate.wait))
        writing = [asyncio.wrap_future(engine.submit(lambda: region.writeq_td("Q", b"x"))) for _ in range(10)]
        await asyncio.gather(*writing)
        engine.submit(lambda: engine.publish("written"))
        await asyncio.wait_for(event.wait(), LONG)
        given_up = asyncio.wrap_future(engine.submit(Gate(engine).wait))
        given_up.cancel()
        engine.submit(gate.unlock)
        return [await waiting, heard.take()]

    assert asyncio.run(program()) == ["through", ["written"]]


def test_a_listener_that_does_not_listen_loses_the_oldest(engine):
    slow, quick = engine.subscribe(limit=3), engine.subscribe()
    engine.submit(lambda: [engine.publish(number) for number in range(10)]).result(LONG)
    assert (slow.take(), slow.lost) == ([7, 8, 9], 7)
    assert (quick.take(), quick.lost) == (list(range(10)), 0)
    engine.unsubscribe(quick)
    engine.submit(lambda: engine.publish("more")).result(LONG)
    assert (slow.take(), quick.take()) == (["more"], [])


def test_a_listener_receives_the_events_that_it_wants_and_is_not_woken_for_others(engine):
    woken = []
    even = engine.subscribe(limit=3, wake=lambda: woken.append(1), wanted=lambda number: number % 2 == 0)
    engine.submit(lambda: [engine.publish(number) for number in (1, 3, 5, 7)]).result(LONG)
    assert (even.take(), even.lost, woken) == ([], 0, [])
    engine.submit(lambda: [engine.publish(number) for number in range(6)]).result(LONG)
    assert (even.take(), even.lost, woken) == ([0, 2, 4], 0, [1])


def test_a_listener_is_told_once_until_it_looks(engine):
    told = []
    heard = engine.subscribe(wake=lambda: told.append(1))
    engine.submit(lambda: [engine.publish(number) for number in range(10)]).result(LONG)
    assert len(told) == 1
    assert heard.take() == list(range(10))
    engine.submit(lambda: engine.publish("again")).result(LONG)
    assert len(told) == 2


def test_a_listener_that_fails_is_a_fault_and_no_listener_any_more(engine):
    def broken() -> None:
        raise RuntimeError("its loop is closed")

    engine.subscribe(wake=broken)
    heard = engine.subscribe()
    engine.submit(lambda: engine.publish("one")).result(LONG)
    faults = [event for event in heard.take() if isinstance(event, EngineFault)]
    assert [str(each.error) for each in faults] == ["its loop is closed"]
    engine.submit(lambda: engine.publish("two")).result(LONG)
    assert heard.take() == ["two"]


def test_what_a_task_throws_at_the_engine_is_an_event_and_no_end(engine):
    region = engine.make(Region, [], supplied_queues=False)
    heard = engine.subscribe()

    def rude(_task):
        raise SystemExit("from a handler")

    with pytest.raises(SystemExit):
        engine.submit(lambda: region.start(rude)).result(LONG)
    assert engine.submit(lambda: "there").result(LONG) == "there"
    assert [type(event.error) for event in heard.take() if isinstance(event, EngineFault)] in ([], [SystemExit])


# -- the end ----------------------------------------------------------------------------------------------------------


def test_stop_closes_what_was_made_last_one_first(no_grace):
    closed = []

    class Member:
        def __init__(self, name: str, *, dispatcher: Dispatcher) -> None:
            self.name, self.dispatcher = name, dispatcher

        def close(self) -> None:
            self.dispatcher.check_thread()
            closed.append(self.name)
            if self.name == "b":
                raise RuntimeError("b does not close")

    engine = Engine()
    for name in "abc":
        engine.make(Member, name)
    stopped = engine.stop(LONG)
    assert closed == ["c", "b", "a"]
    assert (stopped.in_time, stopped.unfinished, [str(error) for error in stopped.errors]) == (
        True,
        (),
        ["b does not close"],
    )
    assert engine.stop() == stopped


def test_stop_lets_tasks_end_that_can():
    engine = Engine()
    region = engine.make(Region, [define_tdqueue(name="Q", type="INTRA")], supplied_queues=False)
    seen = []

    def slow(task):
        for each in range(5):
            with suppress(TimedOut):
                engine.dispatcher.wait(lambda: WAIT, WaitQueue("A PAUSE"), 10**7)
            task.writeq_td("Q", b"%d" % each)
        seen.append(region.peek("Q"))

    ending = engine.submit(lambda: region.start(slow))
    stopped = engine.stop(LONG)
    assert stopped == Stopped(in_time=True, unfinished=(), errors=())
    assert ending.result(LONG) is None
    assert seen == [[b"0", b"1", b"2", b"3", b"4"]]
    assert region.closed


def test_what_was_given_up_before_a_stop_is_not_reported():
    """Several at once, of which the engine has heard when the stop comes."""
    engine = Engine()
    gate = Gate(engine)
    waiting = [engine.submit(gate.wait) for _ in range(3)]
    engine.wait_until(lambda: len(gate.queue) == 3).result(LONG)
    held, go = threading.Event(), threading.Event()
    engine.outside(lambda: (held.set(), go.wait(LONG)))
    assert held.wait(LONG)
    assert all(each.cancel() for each in waiting)
    threading.Timer(0.05, go.set).start()  # after the stop has begun, or before: either is right
    assert engine.stop(LONG) == Stopped(in_time=True, unfinished=(), errors=())


def test_stop_reports_what_nothing_can_end_and_does_not_wait_for_it(no_grace):
    engine = Engine()
    region = engine.make(Region, [define_tdqueue(name="Q", type="INTRA", recovstatus="LOGICAL")], supplied_queues=False)
    gate = Gate(engine)

    def hangs(task):
        task.writeq_td("Q", b"in flight")
        gate.wait()

    task = engine.submit(lambda: region.start(hangs), name="the call that started it")
    call = engine.submit(gate.wait, name="a call that waits")
    engine.wait_until(lambda: len(gate.queue) == 2).result(LONG)
    heard = engine.subscribe()
    stopped = engine.stop(LONG)
    assert stopped.in_time
    assert {"the call that started it", "a call that waits"} < set(stopped.unfinished)
    assert len(stopped.unfinished) == 3
    for each in (task, call):
        with pytest.raises((EngineStopped, RegionClosed)):
            each.result(LONG)
    assert heard.take() == [stopped]


def test_stop_does_not_wait_for_a_start_that_is_due_after_the_end(no_grace):
    engine = Engine()
    region = engine.make(Region)

    def later():
        region.register("LATR", lambda _task: None)
        with region.task() as task:
            task.start("LATR", interval=13000)

    engine.submit(later).result(LONG)
    assert engine.stop(LONG) == Stopped(in_time=True, unfinished=(), errors=())
    assert region.closed


def test_after_the_end_nothing_is_taken():
    engine = Engine()
    engine.stop()
    assert not engine.running
    for call in (engine.submit, engine.outside, engine.wait_until):
        with pytest.raises(EngineStopped):
            call(lambda: None)
    with pytest.raises(EngineStopped):
        engine.make(Region, [])


@pytest.mark.parametrize("round_", range(8))
def test_every_future_ends_when_the_end_comes_in_between(round_):
    engine = Engine()
    gate, futures = Gate(engine), []

    def submit() -> None:
        with suppress(EngineStopped):
            for each in range(200):
                call = gate.wait if each % 3 else gate.somebody_waits
                futures.append(engine.submit(call))

    threads = [threading.Thread(target=submit) for _ in range(3)]
    for thread in threads:
        thread.start()
    while len(futures) < 10 * round_:
        pass
    engine.stop(LONG)
    for thread in threads:
        thread.join()
    assert not wait(futures, LONG).not_done


def test_a_call_that_is_still_in_the_inbox_when_the_time_is_up_is_told(no_grace):
    begun, end = threading.Event(), threading.Event()
    engine = Engine()
    busy = engine.submit(lambda: (begun.set(), end.wait(LONG)))
    assert begun.wait(LONG)
    behind = engine.submit(lambda: "carried out")
    assert not engine.stop(0.0).in_time
    end.set()
    with pytest.raises(EngineStopped, match="the engine has stopped"):
        behind.result(LONG)
    assert busy.result(LONG) == (None, True)
    assert engine.stop(LONG) == Stopped(in_time=True, unfinished=(), errors=())


def test_a_task_that_does_not_give_way_is_reported(no_grace):
    engine = Engine()
    held, go = threading.Event(), threading.Event()
    stuck = engine.submit(lambda: (held.set(), go.wait(LONG)), name="a busy call")
    held.wait(LONG)
    assert engine.stop(0.0) == Stopped(in_time=False, unfinished=("a busy call",), errors=())
    go.set()
    stuck.result(LONG)
    assert engine.stop().in_time


# -- threads ----------------------------------------------------------------------------------------------------------


def test_the_engines_own_thread_cannot_wait_for_it(engine):
    def waits_for_itself() -> None:
        engine.submit(lambda: None).result()

    for call in (waits_for_itself, engine.stop, lambda: engine.make(Region, [])):
        with pytest.raises(WrongThread):
            engine.submit(call).result(LONG)


def test_others_are_refused(engine):
    region = engine.make(Region, [define_tdqueue(name="Q", type="INTRA")], supplied_queues=False)
    for call in (lambda: engine.publish(1), engine.dispatcher.run, lambda: region.start(lambda _task: None)):
        with pytest.raises(WrongThread):
            call()
    assert engine.submit(lambda: region.peek("Q")).result(LONG) == []


def test_a_clock_of_another_thread_is_refused():
    clock = Clock(simulated=False)
    dispatcher = Dispatcher(clock)
    with pytest.raises(WrongThread):
        Engine(clock)
    assert dispatcher.spawn(lambda: 1, name="still").result() == 1


def test_a_forked_child_has_no_engine(engine):
    resting(engine, lambda: "at rest")
    child = os.fork()
    if child == 0:
        try:
            engine.submit(lambda: None)
        except WrongThread:
            os._exit(0 if engine.while_resting(lambda: "made") is None else 2)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
