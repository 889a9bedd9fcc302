"""Tasks as greenlets on one dispatcher: order, waiting, deadlines, ends."""

from __future__ import annotations

import gc
import threading

import pytest
from freezegun import freeze_time
from greenlet import greenlet
from hypothesis import given
from hypothesis import strategies as st

from tdqsim.core.dispatch import Dispatcher
from tdqsim.core.fiber import WAIT, Fiber, TimedOut, WaitQueue
from tdqsim.errors import RegionClosed, TdqError, WouldWaitForever, WrongThread

SECOND = 1_000_000_000


class Gate:
    """Something to wait for: open or shut."""

    def __init__(self, dispatcher: Dispatcher, name: str = "GATE") -> None:
        self.dispatcher = dispatcher
        self.open = False
        self.queue = WaitQueue(name, lambda: "the gate is shut by nobody")

    def attempt(self):
        return "through" if self.open else WAIT

    def wait(self, timeout_ns: int | None = None):
        return self.dispatcher.wait(self.attempt, self.queue, timeout_ns)

    def unlock(self) -> None:
        self.open = True
        self.queue.wake_all()


def order_of(seed: int, names: str = "abcdefgh") -> str:
    dispatcher = Dispatcher(seed=seed)
    ran: list[str] = []
    for name in names:
        dispatcher.spawn(lambda name=name: ran.append(name), name=name)
    dispatcher.run()
    return "".join(ran)


def test_seed_zero_runs_first_ready_first():
    assert order_of(0) == "abcdefgh"


def test_one_seed_gives_one_order_and_seeds_differ():
    assert order_of(7) == order_of(7)
    assert len({order_of(seed) for seed in range(20)}) > 15


@given(st.integers(1, 10_000))
def test_a_seed_permutes_and_loses_nobody(seed):
    assert sorted(order_of(seed)) == list("abcdefgh")


def test_a_chooser_decides_instead_of_the_seed():
    dispatcher = Dispatcher()
    dispatcher.chooser = lambda ready: len(ready) - 1
    ran: list[int] = []
    for number in range(4):
        dispatcher.spawn(lambda number=number: ran.append(number), name=str(number))
    dispatcher.run()
    assert ran == [3, 2, 1, 0]


def test_a_fiber_keeps_control_until_it_waits():
    dispatcher, seen = Dispatcher(), []
    gate = Gate(dispatcher)

    def first():
        seen.append("first starts")
        dispatcher.spawn(lambda: seen.append("second"), name="second")
        seen.append("first goes on")
        gate.wait()
        seen.append("first is through")

    handle = dispatcher.spawn(first, name="first")
    dispatcher.run()
    assert seen == ["first starts", "first goes on", "second"]
    gate.unlock()
    handle.result()
    assert seen[-1] == "first is through"


def test_result_gives_the_value_and_raises_what_was_raised():
    dispatcher = Dispatcher()
    assert dispatcher.spawn(lambda: 42, name="good").result() == 42
    failing = dispatcher.spawn(lambda: 1 // 0, name="bad")
    with pytest.raises(ZeroDivisionError):
        failing.result()
    assert failing.done
    assert isinstance(failing.exception, ZeroDivisionError)


def test_a_failing_fiber_harms_nobody_else():
    dispatcher = Dispatcher()
    dispatcher.spawn(lambda: 1 // 0, name="bad")
    good = dispatcher.spawn(lambda: "fine", name="good")
    dispatcher.run()
    assert good.result() == "fine"


def test_an_interrupt_reaches_the_program_outside():
    dispatcher = Dispatcher()

    def interrupted():
        raise KeyboardInterrupt

    dispatcher.spawn(interrupted, name="interrupted")
    with pytest.raises(KeyboardInterrupt):
        dispatcher.run()


@pytest.mark.parametrize("seed", range(30))
def test_waiters_are_served_in_order_of_arrival_whatever_the_seed(seed):
    dispatcher = Dispatcher(seed=seed)
    queue, free, arrivals, served = WaitQueue("LOCK"), [False], [], []

    def attempt():
        if not free[0] or not queue.is_first(dispatcher.current):
            return WAIT
        free[0] = False
        return None

    def take(name):
        arrivals.append(name)
        dispatcher.wait(attempt, queue)
        served.append(name)
        free[0] = True
        queue.wake_one()

    for name in "abcde":
        dispatcher.spawn(lambda name=name: take(name), name=name)
    dispatcher.run()
    free[0] = True
    queue.wake_one()
    dispatcher.run()
    assert served == arrivals


def test_the_next_in_line_tries_at_once_when_the_first_gives_up():
    dispatcher = Dispatcher()
    queue, free = WaitQueue("A TURN"), []
    taken = []

    def take():
        def attempt():
            return (queue.is_first(dispatcher.current) and free and dispatcher.current is not first and "mine") or WAIT

        taken.append(dispatcher.wait(attempt, queue))

    first = dispatcher.spawn(take, name="first")
    second = dispatcher.spawn(take, name="second")
    dispatcher.run()
    free.append(1)
    first.cancel(LookupError("gives up"))
    traced = []
    dispatcher.on_dispatch = lambda fiber: traced.append(str(fiber.name))
    dispatcher.run_ready()
    assert (second.done, taken, traced) == (True, ["mine"], ["first", "second"])


def test_a_newcomer_does_not_overtake():
    queue, dispatcher = WaitQueue("LOCK"), Dispatcher()
    waiting = dispatcher.spawn(lambda: dispatcher.wait(lambda: WAIT, queue), name="early")
    dispatcher.run()
    assert queue.is_first(waiting)
    assert not queue.is_first(Fiber(dispatcher, 99, "late", None))


@freeze_time("2026-01-01")
def test_the_clock_jumps_to_the_deadline_when_everybody_waits():
    dispatcher = Dispatcher()
    gate, start = Gate(dispatcher), dispatcher.clock.time_ns()
    early = dispatcher.spawn(lambda: gate.wait(5 * SECOND), name="early")
    late = dispatcher.spawn(lambda: gate.wait(9 * SECOND), name="late")
    with pytest.raises(TimedOut):
        early.result()
    assert dispatcher.clock.time_ns() - start == 5 * SECOND
    assert not late.done
    with pytest.raises(TimedOut):
        late.result()
    assert dispatcher.clock.time_ns() - start == 9 * SECOND


@freeze_time("2026-01-01")
def test_an_advanced_clock_ends_waits_at_the_next_dispatch():
    dispatcher = Dispatcher()
    gate = Gate(dispatcher)
    handle = dispatcher.spawn(lambda: gate.wait(60 * SECOND), name="waits")
    dispatcher.run_ready()
    dispatcher.clock.advance(59)
    dispatcher.run_ready()
    assert not handle.done
    dispatcher.clock.advance(1)
    dispatcher.run_ready()
    assert isinstance(handle.exception, TimedOut)


def test_freezegun_alone_ends_waits():
    with freeze_time("2026-01-01") as frozen:
        dispatcher = Dispatcher()
        gate = Gate(dispatcher)
        handle = dispatcher.spawn(lambda: gate.wait(60 * SECOND), name="waits")
        dispatcher.run_ready()
        frozen.tick(61)
        dispatcher.run_ready()
    assert isinstance(handle.exception, TimedOut)


@freeze_time("2026-01-01")
def test_a_wake_before_the_deadline_wins_and_the_deadline_is_forgotten():
    dispatcher = Dispatcher()
    gate = Gate(dispatcher)
    handle = dispatcher.spawn(lambda: gate.wait(5 * SECOND), name="waits")
    dispatcher.run_ready()
    gate.unlock()
    assert handle.result() == "through"
    before = dispatcher.clock.time_ns()
    dispatcher.run()
    assert dispatcher.clock.time_ns() == before
    assert dispatcher.next_deadline_ns() is None


@freeze_time("2026-01-01")
def test_the_deadline_of_a_wait_that_is_over_does_not_move_the_clock_in_the_next_wait():
    dispatcher = Dispatcher()
    first, second = Gate(dispatcher), Gate(dispatcher)
    dispatcher.spawn(lambda: (first.wait(100 * SECOND), second.wait()), name="WAITER")
    dispatcher.spawn(first.unlock, name="WAKER")
    began = dispatcher.clock.time_ns()
    with pytest.raises(WouldWaitForever):
        second.wait()
    assert dispatcher.clock.time_ns() == began


def test_timeout_zero_tries_once():
    dispatcher = Dispatcher()
    with pytest.raises(TimedOut), freeze_time("2026-01-01"):
        Gate(dispatcher).wait(0)


def test_a_wait_outside_that_nothing_can_end_names_the_holder():
    dispatcher = Dispatcher()
    inner = Gate(dispatcher, "INNER")
    dispatcher.spawn(inner.wait, name="task 17")
    with pytest.raises(WouldWaitForever, match=r"(?s)OUTER.*shut by nobody.*task 17 waits for INNER"):
        Gate(dispatcher, "OUTER").wait()


def test_after_waiting_for_ever_the_dispatcher_still_works():
    dispatcher = Dispatcher()
    gate = Gate(dispatcher)
    with pytest.raises(WouldWaitForever):
        gate.wait()
    assert len(gate.queue) == 0
    assert dispatcher.spawn(lambda: 1, name="next").result() == 1


def test_the_program_outside_waits_while_fibers_bring_it_about():
    dispatcher = Dispatcher()
    gate = Gate(dispatcher)
    dispatcher.spawn(gate.unlock, name="porter")
    assert gate.wait() == "through"


def test_run_leaves_suspended_what_nothing_ends():
    dispatcher = Dispatcher()
    gate = Gate(dispatcher)
    handle = dispatcher.spawn(gate.wait, name="waits")
    dispatcher.run()
    assert [fiber.name for fiber in dispatcher.fibers] == ["waits"]
    assert handle.waiting_for is gate.queue


def test_run_inside_a_fiber_is_refused():
    dispatcher = Dispatcher()
    handle = dispatcher.spawn(dispatcher.run, name="eager")
    with pytest.raises(TdqError, match="outside the tasks"):
        handle.result()


def test_one_fiber_can_wait_for_the_end_of_another():
    dispatcher = Dispatcher()
    inner = dispatcher.spawn(lambda: "inner value", name="inner")
    assert dispatcher.spawn(inner.result, name="outer").result() == "inner value"


def test_cancel_raises_in_the_waiting_fiber():
    dispatcher = Dispatcher()
    gate = Gate(dispatcher)
    handle = dispatcher.spawn(gate.wait, name="waits")
    dispatcher.run()
    assert handle.cancel(LookupError("purged"))
    with pytest.raises(LookupError, match="purged"):
        handle.result()
    assert not handle.cancel(LookupError("again"))


def test_a_fiber_that_does_not_wait_is_not_cancelled():
    dispatcher = Dispatcher()
    handle = dispatcher.spawn(lambda: "ran", name="ready")
    assert not handle.cancel(LookupError("too early"))
    assert handle.result() == "ran"


def test_fibers_that_a_repeated_attempt_makes_ready_are_traced():
    dispatcher, traced = Dispatcher(), []
    first, second = Gate(dispatcher, "FIRST"), Gate(dispatcher, "SECOND")

    def waits():
        first.wait()
        dispatcher.spawn(second.unlock, name="opens")

    dispatcher.spawn(waits, name="waits")
    dispatcher.run()
    first.open = True  # without waking the fiber: only a repeated attempt finds it open
    dispatcher.on_dispatch = lambda fiber: traced.append(str(fiber.name))
    assert second.wait() == "through"
    assert traced == ["waits", "opens"]


def test_a_caught_cancel_lets_the_fiber_go_on():
    dispatcher = Dispatcher()
    gate = Gate(dispatcher)

    def stubborn():
        try:
            gate.wait()
        except LookupError:
            return gate.wait()  # it is raised once

    handle = dispatcher.spawn(stubborn, name="stubborn")
    dispatcher.run()
    handle.cancel(LookupError())
    dispatcher.run()
    assert not handle.done
    gate.unlock()
    assert handle.result() == "through"


def test_yield_lets_ready_fibers_go_first():
    dispatcher, seen = Dispatcher(), []

    def polite():
        seen.append("polite 1")
        dispatcher.yield_now()
        seen.append("polite 2")

    dispatcher.spawn(polite, name="polite")
    dispatcher.spawn(lambda: seen.append("other"), name="other")
    dispatcher.run()
    assert seen == ["polite 1", "other", "polite 2"]


@pytest.fixture
def dispatcher():
    """One with workers in reserve, so that its fibers switch straight to each other."""
    dispatcher = Dispatcher()
    for name in ("one", "two", "three"):
        dispatcher.spawn(dispatcher.yield_now, name=name)
    dispatcher.run()
    return dispatcher


class Turns:
    """Fibers that note their turns, after a first one that does something."""

    def __init__(self, dispatcher: Dispatcher, first, others: str) -> None:
        self.dispatcher, self.seen = dispatcher, []
        self.add("A", first)
        for name in others:
            self.add(name)

    def add(self, name: str, work=lambda: None) -> None:
        self.dispatcher.spawn(lambda: (self.seen.append(name), work()), name=name)

    def note(self, what: str):
        return lambda: self.seen.append(what)


@freeze_time("2026-01-01")
def test_a_timer_that_a_fiber_sets_is_due_before_the_next_fiber(dispatcher):
    turns = Turns(dispatcher, lambda: dispatcher.call_at(dispatcher.clock.time_ns(), turns.note("timer")), "BC")
    dispatcher.run()
    assert turns.seen == ["A", "timer", "B", "C"]


@freeze_time("2026-01-01")
def test_a_timer_is_due_before_the_next_fiber_when_a_fiber_moves_the_clock(dispatcher):
    turns = Turns(dispatcher, lambda: dispatcher.clock.advance(1), "BC")
    dispatcher.call_at(dispatcher.clock.time_ns() + SECOND, turns.note("timer"))
    dispatcher.run_ready()
    assert turns.seen == ["A", "timer", "B", "C"]


@freeze_time("2026-01-01")
def test_the_end_of_a_wait_is_due_before_the_next_fiber_when_a_fiber_moves_the_clock(dispatcher):
    def wait():
        with pytest.raises(TimedOut):
            Gate(dispatcher).wait(SECOND)
        turns.seen.append("timed out")

    turns = Turns(dispatcher, wait, "")
    turns.add("B", lambda: dispatcher.clock.advance(1))
    turns.add("C", lambda: turns.add("D"))
    dispatcher.run_ready()
    assert turns.seen == ["A", "B", "C", "timed out", "D"]


def test_rounds_that_a_fiber_begins_are_over_after_those_that_are_ready(dispatcher):
    def begin():
        for name in ("round", "another"):
            dispatcher.call_after_round(turns.note(name))

    turns = Turns(dispatcher, begin, "B")
    turns.add("C", lambda: turns.add("D"))
    dispatcher.run()
    assert turns.seen == ["A", "B", "C", "round", "another", "D"]


def test_the_attempts_of_all_who_wait_are_repeated_when_something_has_run():
    dispatcher = Dispatcher()
    gates = [Gate(dispatcher, name) for name in "ab"]
    handles = [dispatcher.spawn(gate.wait, name=gate.queue.name) for gate in gates]
    dispatcher.run()
    for gate, handle in zip(gates[::-1], handles[::-1], strict=True):
        gate.open = True  # and nobody is woken
        dispatcher.spawn(int, name="turn")
        dispatcher.run()
        assert handle.done


def test_the_program_outside_goes_on_as_soon_as_a_fiber_wakes_it(dispatcher):
    gate = Gate(dispatcher)
    turns = Turns(dispatcher, gate.unlock, "BC")
    assert gate.wait() == "through"
    assert turns.seen == ["A"]


@freeze_time("2026-01-01")
def test_a_timer_of_a_fiber_that_another_one_ends_is_due_before_the_next_fiber(dispatcher):
    owner, gate = object(), Gate(dispatcher)

    def doomed():
        try:
            gate.wait()
        finally:
            dispatcher.call_at(dispatcher.clock.time_ns(), turns.note("timer"))

    def end():
        dispatcher.end_fibers(owner, "over", RegionClosed)

    dispatcher.spawn(doomed, name="doomed", owner=owner)
    dispatcher.run()
    turns = Turns(dispatcher, end, "BC")
    dispatcher.run()
    assert turns.seen == ["A", "timer", "B", "C"]


def test_idle_hooks_run_when_nobody_is_ready_and_may_wake_somebody():
    dispatcher = Dispatcher()
    gate, commits = Gate(dispatcher), []

    def commit():
        if gate.queue:
            commits.append(len(gate.queue))
            gate.unlock()

    dispatcher.on_idle.append(commit)
    handles = [dispatcher.spawn(gate.wait, name=str(number)) for number in range(3)]
    dispatcher.run()
    assert all(handle.done for handle in handles)
    assert commits == [3]


@freeze_time("2026-01-01")
def test_timers_fire_in_order_and_can_be_cancelled():
    dispatcher, fired = Dispatcher(), []
    now = dispatcher.clock.time_ns()
    dispatcher.call_at(now + 2 * SECOND, lambda: fired.append("second"))
    dispatcher.call_at(now + 1 * SECOND, lambda: fired.append("first"))
    dispatcher.call_at(now + 3 * SECOND, lambda: fired.append("never")).cancel()
    dispatcher.run()
    assert fired == ["first", "second"]
    assert dispatcher.clock.time_ns() - now == 2 * SECOND


@freeze_time("2026-01-01")
def test_a_passive_timer_does_not_move_the_clock_unless_somebody_waits():
    dispatcher, fired = Dispatcher(), []
    now = dispatcher.clock.time_ns()
    gate = Gate(dispatcher)
    dispatcher.call_at(now + SECOND, lambda: (fired.append(1), gate.unlock()), passive=True)
    dispatcher.run()
    assert fired == []
    assert gate.wait() == "through"
    assert fired == [1]
    gate.open = False
    dispatcher.call_at(now + 2 * SECOND, gate.unlock, passive=True)
    handle = dispatcher.spawn(gate.wait, name="waits without a deadline")
    dispatcher.run()
    assert handle.done


def test_a_callback_that_fails_is_not_called_again():
    dispatcher, called = Dispatcher(), []

    def fails():
        called.append(1)
        raise LookupError("it failed")

    dispatcher.call_at(dispatcher.clock.time_ns() + SECOND, fails)
    with pytest.raises(LookupError, match="it failed"):
        dispatcher.run()
    dispatcher.run()
    assert called == [1]


@freeze_time("2026-01-01")
@pytest.mark.parametrize(("rank", "order"), [(0, "abc"), (2, "acb"), (5, "cab"), (-9, "abc")])
def test_a_fiber_with_a_rank_counts_as_ready_earlier_than_it_was(rank, order):
    dispatcher, ran = Dispatcher(), []
    gates = {name: Gate(dispatcher, name) for name in "abc"}
    fibers = {
        name: dispatcher.spawn(lambda name=name: (gates[name].wait(), ran.append(name)), name=name) for name in "abc"
    }
    dispatcher.run()
    dispatcher.rank(fibers["c"], rank * SECOND)
    gates["a"].unlock()
    dispatcher.clock.advance(3)
    gates["b"].unlock()
    gates["c"].unlock()
    dispatcher.run()
    assert "".join(ran) == order


@freeze_time("2026-01-01")
def test_the_first_rank_of_all_lets_a_fiber_overtake_those_that_were_ready_before_there_were_ranks():
    dispatcher, ran = Dispatcher(), []
    gate = Gate(dispatcher)
    last = dispatcher.spawn(lambda: (gate.wait(), ran.append("ranked")), name="ranked")
    dispatcher.run()
    dispatcher.spawn(lambda: ran.append("ready"), name="ready")
    dispatcher.rank(last, SECOND)
    gate.unlock()
    dispatcher.run()
    assert ran == ["ranked", "ready"]


def test_end_fibers_ends_waiting_and_unstarted_ones_in_order():
    dispatcher, ended, owner = Dispatcher(), [], object()
    gate = Gate(dispatcher)

    def waits(name):
        try:
            gate.wait()
        except RegionClosed:
            ended.append(name)
            raise

    for name in "ab":
        dispatcher.spawn(lambda name=name: waits(name), name=name, owner=owner)
    dispatcher.run()
    unstarted = dispatcher.spawn(lambda: ended.append("started"), name="c", owner=owner)
    foreign = dispatcher.spawn(lambda: "lives", name="d", owner=object())
    doomed = dispatcher.end_fibers(owner, "the region is closed", RegionClosed)
    assert [fiber.name for fiber in doomed] == ["a", "b", "c"]
    assert ended == ["a", "b"]
    assert isinstance(unstarted.exception, RegionClosed)
    assert foreign.result() == "lives"


def test_a_fiber_that_waits_again_while_it_is_ended_is_ended_again():
    dispatcher, owner = Dispatcher(), object()
    gate, tries = Gate(dispatcher), []

    def stubborn():
        for _ in range(3):
            try:
                gate.wait()
            except RegionClosed:
                tries.append(1)

    dispatcher.spawn(stubborn, name="stubborn", owner=owner)
    dispatcher.run()
    dispatcher.end_fibers(owner, "closed", RegionClosed)
    assert len(tries) == 3
    assert dispatcher.fibers == ()


def test_no_greenlet_is_left_behind():
    gc.collect()
    before = sum(isinstance(thing, greenlet) and bool(thing) for thing in gc.get_objects())
    dispatcher = Dispatcher()
    for _ in range(200):
        dispatcher.spawn(lambda: None, name="short")
    dispatcher.run()
    dispatcher.release_workers()
    gc.collect()
    after = sum(isinstance(thing, greenlet) and bool(thing) for thing in gc.get_objects())
    assert after <= before


def test_another_thread_is_refused():
    dispatcher, caught = Dispatcher(), []
    dispatcher.spawn(lambda: None, name="task")

    def intrude():
        try:
            dispatcher.run()
        except WrongThread as error:
            caught.append(error)

    thread = threading.Thread(target=intrude)
    thread.start()
    thread.join()
    assert len(caught) == 1


def test_many_waiters_are_handed_over_to_not_stampeded():
    dispatcher, queue, served = Dispatcher(), WaitQueue("LOCK"), []
    free = [False]

    def attempt():
        return None if free[0] and queue.is_first(dispatcher.current) else WAIT

    def take():
        dispatcher.wait(attempt, queue)
        served.append(1)

    total = 3_000
    for _ in range(total):
        dispatcher.spawn(take, name="t")
    dispatcher.run()
    calls = [0]
    dispatcher.on_dispatch = lambda _: calls.__setitem__(0, calls[0] + 1)
    free[0] = True
    queue.wake_one()
    dispatcher.run()
    assert len(served) == total
    assert calls[0] == total  # each waiter is dispatched once: a hand-over, not a stampede


@pytest.mark.parametrize("others", [0, 1, 5])
def test_a_change_that_nobody_told_is_seen_when_there_is_nothing_else_to_do(others):
    """As of a clock, or of a file: a wait whose attempt has become possible ends, though nobody woke its queue."""
    dispatcher = Dispatcher()
    gate = Gate(dispatcher)
    shut = Gate(dispatcher, "SHUT")
    fibers = [dispatcher.spawn(gate.wait, name="A"), *(dispatcher.spawn(shut.wait, name="B") for _ in range(others))]
    dispatcher.run_ready()
    assert not fibers[0].done
    dispatcher.spawn(lambda: setattr(gate, "open", True), name="C")
    dispatcher.run()
    assert fibers[0].done
    assert [fiber.done for fiber in fibers[1:]] == [False] * others
