"""How a failure of an exploration is made small, against scenarios that are one function of the order and the faults."""

from __future__ import annotations

from collections.abc import Callable

from tdqsim.faults import Fault, FaultPlan
from tdqsim.testing._orders import Deviations, Step
from tdqsim.testing._shrinker import Tried, shrink

STEPS = [Step(chosen=1, default=1, ready=(1, 2, 3), preempts=False)] * 4
"""Four decisions between three tasks each."""


class Scenario:
    """Fails as a function says, and follows all switches, or those that another function returns.

    Attributes:
        tried: the orders, as they were tried.
    """

    def __init__(
        self,
        fails: Callable[[Deviations, FaultPlan], bool],
        followed: Callable[[Deviations], Deviations] = lambda order: order,
    ) -> None:
        self.tried: list[Deviations] = []
        self._fails, self._followed = fails, followed

    def __call__(self, deviations: Deviations, faults: FaultPlan) -> Tried:
        self.tried.append(deviations)
        assert len(self.tried) < 200
        return Tried(self._fails(deviations, faults), self._followed(deviations), STEPS)


def test_faults_that_are_not_needed_are_left_out_also_the_second() -> None:
    first, needed, last = Fault("IOERR"), Fault("NOSPACE"), Fault("QBUSY")
    scenario = Scenario(lambda _order, plan: needed in plan.faults)
    assert shrink(scenario, (), FaultPlan(first, needed, last)) == ((), FaultPlan(needed))


def test_switches_are_left_out_one_by_one_where_half_of_them_are_too_many() -> None:
    scenario = Scenario(lambda order, _plan: {(1, 2), (2, 3)} <= set(order))
    start = ((0, 2), (1, 2), (2, 3), (3, 2))
    assert shrink(scenario, start, FaultPlan(), longest=0) == (((1, 2), (2, 3)), FaultPlan())


def test_all_switches_of_a_failure_that_needs_none_are_left_out() -> None:
    start = ((0, 2), (1, 2), (2, 2), (3, 2))
    assert shrink(Scenario(lambda _order, _plan: True), start, FaultPlan(), longest=0) == ((), FaultPlan())


def test_no_switch_is_smaller_than_two_also_where_one_alone_does_not_fail() -> None:
    start = ((0, 2), (1, 2))
    assert shrink(Scenario(lambda order, _plan: order in ((), start)), start, FaultPlan()) == ((), FaultPlan())


def test_switches_that_could_not_be_followed_are_none_of_the_smaller_order() -> None:
    scenario = Scenario(lambda order, _plan: (1, 2) in order, lambda order: order[:2] if (0, 2) in order else order[:1])
    assert shrink(scenario, ((0, 2), (1, 2), (2, 2)), FaultPlan(), longest=0) == (((1, 2),), FaultPlan())
    assert scenario.tried == [((1, 2), (2, 2)), ()]
    none = Scenario(lambda order, _plan: order == ((1, 3),), lambda _order: ())
    assert shrink(none, ((0, 2),), FaultPlan()) == ((), FaultPlan())
    start = ((0, 2), (1, 2))
    same = Scenario(lambda _order, _plan: True, lambda _order: start)  # it never gets smaller
    assert shrink(same, start, FaultPlan(), longest=0) == (start, FaultPlan())


def test_an_order_with_one_switch_to_the_last_task_is_smaller_than_one_with_two() -> None:
    scenario = Scenario(lambda order, _plan: order in (((3, 3),), ((0, 2), (1, 2))))
    assert shrink(scenario, ((0, 2), (1, 2)), FaultPlan()) == (((3, 3),), FaultPlan())


def test_an_earlier_switch_is_smaller() -> None:
    scenario = Scenario(lambda order, _plan: order in (((1, 2),), ((2, 2),)))
    assert shrink(scenario, ((2, 2),), FaultPlan()) == (((1, 2),), FaultPlan())


def test_the_search_switches_once_a_step_and_ends_after_so_many_orders() -> None:
    start = ((0, 2), (1, 2))
    scenario = Scenario(lambda order, _plan: order == start)
    assert shrink(scenario, start, FaultPlan(), longest=5) == (start, FaultPlan())
    assert len(scenario.tried) == 2 + 5  # each switch is left out first
    every = Scenario(lambda _order, _plan: False)
    shrink(every, start, FaultPlan(), longest=50)
    assert all(len({step for step, _task in order}) == len(order) for order in every.tried)
