"""Where the faults of an exploration happen: at which of the commands that they match.

The faults that a caller gives are *candidates*. A candidate may happen at the first matching command of a run, at the
second, and so on; which commands there are shows only in runs. So each run counts the matches of all candidates, and
the explorer places faults at those that it has seen. A *placement* is a set of candidates with the number of the match
at which each happens.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from tdqsim.errors import WrongValue
from tdqsim.faults.active import ActivePlan
from tdqsim.faults.plan import AnyFault, Fault, FaultPlan, MessageFault
from tdqsim.testing._explorer import Explorer, Walk

Candidate = Fault | MessageFault
Placement = tuple[tuple[int, int], ...]
"""Pairs of the number of a candidate and the number of its match, in order."""
NOWHERE: Final[Placement] = ()
_NEVER: Final = 2**62


def candidates_of(faults: Iterable[AnyFault], most: int) -> tuple[Candidate, ...]:
    """The candidates that a caller gives.

    Raises:
        ValueError: one is neither a Fault nor a MessageFault, or ``most`` is negative.
    """
    if most < 0:
        raise WrongValue(f"max_faults {most!r}: allowed are 0 or more")
    found = []
    for fault in faults:
        if not isinstance(fault, Fault | MessageFault):
            raise WrongValue(f"{fault!r}: an exploration places faults of the kinds Fault and MessageFault")
        found.append(fault)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Placed:
    """The faults of one run.

    Attributes:
        plan: the faults that happen.
        candidates: those that are only counted.
    """

    plan: FaultPlan
    candidates: tuple[Candidate, ...] = ()

    @classmethod
    def at(cls, placement: Placement, candidates: tuple[Candidate, ...]) -> Placed:
        """The faults of a placement."""
        plan = []
        for number, nth in placement:
            fault = candidates[number]
            # a command that an earlier fault has ended is not counted by a later one
            earlier = sum(nth_before < nth for other, nth_before in placement if other == number)
            plan.append(replace(fault, nth=max(1, nth - earlier * (fault.times or 1))))
        return cls(FaultPlan(*plan), candidates)

    def __bool__(self) -> bool:
        return bool(self.plan.faults or self.candidates)

    def active(self) -> ActivePlan:
        """The plan to attach to regions and systems."""
        counted = (replace(each, nth=_NEVER) for each in self.candidates)  # first: they see every command
        return ActivePlan(FaultPlan(*counted, *self.plan.faults))

    def all_happened(self, active: ActivePlan | None) -> bool:
        """Whether each fault has happened in a run."""
        return active is None or all(
            active.count(at) >= fault.nth for at, fault in enumerate(self._live(), len(self.candidates))
        )

    def matches(self, active: ActivePlan | None) -> list[int]:
        """How many commands have matched each candidate in a run."""
        return [0 if active is None else active.count(number) for number in range(len(self.candidates))]

    def _live(self) -> Iterator[Candidate]:
        for fault in self.plan.faults:
            assert isinstance(fault, Fault | MessageFault)
            yield fault


class Trial(NamedTuple):
    """The orders of one placement of faults.

    Attributes:
        placement: where they happen.
        placed: the faults.
        explorer: the orders.
    """

    placement: Placement
    placed: Placed
    explorer: Explorer


class FaultSearch:
    """All placements of faults, and the orders of each: every placement that is known gets one order in turn.

    Args:
        candidates: the faults.
        most: the largest number of faults in one run.
        make: makes the explorer of a placement.
        orders: the largest number of orders for each placement; None for no limit.

    Attributes:
        repeated: how many runs were equivalent to earlier ones.
    """

    def __init__(
        self, candidates: tuple[Candidate, ...], most: int, make: Callable[[], Explorer], orders: int | None = None
    ) -> None:
        self._candidates, self._most = candidates, most
        self._make, self._orders = make, orders
        self._known: set[Placement] = set()
        self._left: deque[Trial] = deque()
        self._cut: list[Trial] = []
        self.repeated = 0
        self._add(NOWHERE)

    def _add(self, placement: Placement) -> None:
        if placement not in self._known:
            self._known.add(placement)
            more = self._candidates if len(placement) < self._most else ()
            placed = Placed(Placed.at(placement, self._candidates).plan, more)
            self._left.append(Trial(placement, placed, self._make()))

    def next(self) -> Trial | None:
        """The placement whose next order is to be run; None if nothing is left."""
        return self._left[0] if self._left else None

    def ended(self, walk: Walk, active: ActivePlan | None) -> bool:
        """Take account of a run of the placement that :meth:`next` gave; False if it repeats an earlier one."""
        trial = self._left.popleft()
        explorer, placed = trial.explorer, trial.placed
        explorer.ended(walk)
        # a run in which a fault has not happened is one with fewer faults
        new = not walk.repeated and placed.all_happened(active)
        self.repeated += not new
        if new:
            for number, matches in enumerate(placed.matches(active)):
                for nth in range(1, matches + 1):
                    if (number, nth) not in trial.placement:
                        self._add(tuple(sorted((*trial.placement, (number, nth)))))
        if explorer.complete:
            return new
        if self._orders is not None and explorer.runs - explorer.repeated >= self._orders:
            self._cut.append(trial)
        else:
            self._left.append(trial)
        return new

    @property
    def complete(self) -> bool:
        """Whether nothing is left to run."""
        return not self._left and not self._cut

    @property
    def remaining(self) -> int:
        """How many runs are known to be left."""
        return sum(max(trial.explorer.remaining, 1) for trial in (*self._left, *self._cut))
