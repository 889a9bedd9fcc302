"""Makes a failure smaller: fewer faults, then fewer and earlier deviations from CICS order.

An *attempt* runs a scenario with some faults in some order, and returns whether it fails in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from tdqsim.faults.plan import FaultPlan
from tdqsim.testing._orders import Deviations, Step

_LONGEST_SEARCH: Final = 500


class Tried(NamedTuple):
    """The result of an attempt.

    Attributes:
        failed: whether it failed in the same way.
        deviations: those that could be followed.
        steps: all decisions of the run.
    """

    failed: bool
    deviations: Deviations
    steps: Sequence[Step]


Attempt = Callable[[Deviations, FaultPlan], Tried]


def shrink(
    attempt: Attempt, deviations: Deviations, faults: FaultPlan, *, longest: int = _LONGEST_SEARCH
) -> tuple[Deviations, FaultPlan]:
    """The smallest failure that is found.

    Args:
        attempt: runs the scenario.
        deviations: the order that failed.
        faults: the faults of the run that failed.
        longest: the largest number of attempts to find fewer or earlier deviations, after some were left out.
    """
    for fault in faults.faults:
        fewer = FaultPlan(*(each for each in faults.faults if each is not fault))
        if attempt(deviations, fewer).failed:
            faults = fewer
    best = _left_out(attempt, deviations, faults)
    smallest = _smallest(attempt, len(best), faults, longest)
    return best if smallest is None else smallest, faults


def _left_out(attempt: Attempt, best: Deviations, faults: FaultPlan) -> Deviations:
    """Leave out deviations, many at once first, as long as the run fails in the same way."""
    size = max(1, len(best) // 2)
    while size:
        at = 0
        while at < len(best):
            fewer = attempt(best[:at] + best[at + size :], faults)
            if fewer.failed and len(fewer.deviations) < len(best):
                best = fewer.deviations
            else:
                at += size
        size //= 2
    return best


def _smallest(attempt: Attempt, count: int, faults: FaultPlan, longest: int) -> Deviations | None:
    """The fewest and earliest deviations, at most ``count``, that fail in the same way; None if not found soon."""
    level: list[Deviations] = [()]
    for _ in range(count + 1):
        following: list[Deviations] = []
        for deviations in level:
            longest -= 1
            if longest < 0:
                return None
            outcome = attempt(deviations, faults)
            if outcome.failed:
                return outcome.deviations
            following += one_more(outcome.steps, deviations)
        level = following
    return None


def one_more(steps: Sequence[Step], deviations: Deviations) -> Iterator[Deviations]:
    """Every order with one deviation more, after the last one."""
    start = deviations[-1][0] + 1 if deviations else 0
    for at in range(start, len(steps)):
        step = steps[at]
        for number in step.ready:
            if number != step.default:
                yield (*deviations, (at, number))
