"""Orders of tasks: how an order is written down, and how the next task is chosen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, Protocol

from tdqsim.errors import TdqError, WrongValue
from tdqsim.testing._footprints import Footprint

Deviations = tuple[tuple[int, int], ...]

_LARGEST_NUMBER: Final = 2**31


class Broken(TdqError):
    """A failure that the explorer itself has noticed: its ``kind`` and the text."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Redundant(BaseException):
    """This run is equivalent to an earlier one. It is no Exception, so that the scenario does not handle it."""


class Choice(Protocol):
    """What may run next: a task, or a timer that is due."""

    @property
    def number(self) -> int:
        """The number of the task; negative for a timer."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """An order of tasks.

    Attributes:
        deviations: (step, number of the task) for each step at which another task ran than by default, in order.
        seed: the seed of a random order; None for an order that is given by its deviations.
        depth, steps: the other parameters of a random order.
        slack: see :func:`~tdqsim.testing.schedules.explore`.
    """

    deviations: tuple[tuple[int, int], ...] = ()
    seed: int | None = None
    depth: int = 0
    steps: int = 0
    slack: float = 0.0

    @property
    def token(self) -> str:
        """The schedule in a few characters, for :func:`replay`."""
        slack = f"+{self.slack!r}" if self.slack else ""
        if self.seed is not None:
            return f"pct:{self.seed}:{self.depth}:{self.steps}{slack}"
        return "at:" + ",".join(f"{step}={number}" for step, number in self.deviations) + slack

    @classmethod
    def parse(cls, token: str) -> Schedule:
        """The schedule of a token.

        Raises:
            ValueError: the text is not a token.
        """
        text, _, late = token.strip().partition("+")
        kind, _, rest = text.partition(":")
        try:
            slack = float(late) if late else 0.0
            if kind == "pct" and slack >= 0:
                seed, depth, steps = (int(word) for word in rest.split(":"))
                if depth > 0 and steps > 0:
                    return cls((), seed, depth, steps, slack)
            if kind == "at" and slack >= 0:
                pairs = [word.split("=") for word in rest.split(",") if word]
                return cls(tuple(sorted((int(step), int(number)) for step, number in pairs)), slack=slack)
        except ValueError:
            pass
        raise WrongValue(
            f"schedule {token!r}: allowed are pct:SEED:DEPTH:STEPS and at:STEP=TASK,STEP=TASK..., "
            "each with +SECONDS of slack"
        )


@dataclass(slots=True, eq=False)
class TaskTurn:
    """One turn of a task, or the call of a timer.

    Attributes:
        number: of the task; negative for a timer.
        name: names the task, the same in equivalent runs, in which numbers may differ.
        ready: the numbers of all that could have had this turn.
        footprint: the resources that it used, complete once the turn is over.
        fresh: no task was ready before it, so all that was done before must come before it.
        woke: the tasks that it has made ready.
    """

    number: int
    name: object
    ready: tuple[int, ...]
    footprint: Footprint
    fresh: bool
    woke: frozenset[int] = frozenset()


class Policy:
    """Chooses what runs next; this one always takes the default."""

    def choose(self, step: int, ready: Sequence[Choice], default: int) -> int:  # subclasses use them
        """The index of the choice, of two or more; ``step`` counts such decisions from 0."""
        return default

    def forced(self, choice: Choice) -> None:
        """There is one choice only."""

    def passed(self, turn: TaskTurn) -> None:
        """A turn is over."""


class Written(Policy):
    """Follows the deviations of a schedule, and skips those that cannot be followed."""

    def __init__(self, deviations: Iterable[tuple[int, int]]) -> None:
        self._deviations = dict(deviations)

    def choose(self, step: int, ready: Sequence[Choice], default: int) -> int:
        wanted = self._deviations.get(step)
        if wanted is None:
            return default
        return next((index for index, fiber in enumerate(ready) if fiber.number == wanted), default)


class Pct(Policy):
    """Random priorities that change at random moments."""

    def __init__(self, seed: int, depth: int, steps: int) -> None:
        self._random = random = Random(seed)
        self._priorities: dict[int, float] = {}
        count = min(depth - 1, max(steps - 1, 0))
        self._changes = dict(zip(random.sample(range(1, max(steps, 2)), count), range(count), strict=True))

    def choose(self, step: int, ready: Sequence[Choice], default: int) -> int:  # it has an order of its own
        change = self._changes.get(step)
        best = self._best(ready)
        if change is not None:
            self._priorities[ready[best].number] = -1.0 - change
            best = self._best(ready)
        return best

    def _best(self, ready: Sequence[Choice]) -> int:
        priorities = self._priorities
        found, highest = 0, -_LARGEST_NUMBER * 1.0
        for index, fiber in enumerate(ready):
            priority = priorities.get(fiber.number)
            if priority is None:
                priority = priorities[fiber.number] = self._random.random()
            if priority > highest:
                found, highest = index, priority
        return found


@dataclass(slots=True)
class Step:
    """One decision: the chosen task, the default, and all that were ready, each by its number."""

    chosen: int
    default: int
    ready: tuple[int, ...]
    preempts: bool


class Controller:
    """Decides at each dispatch which task runs, and keeps the decisions and the turns.

    Args:
        policy: decides when there is more than one choice.
        longest: the largest number of turns.
        shared: the footprint of every turn is that it may use anything.

    Attributes:
        steps: the decisions.
        turns: the turns; the last one may continue.
        names: the name of each task; see :class:`TaskTurn`.
        recorded: the tasks whose use of resources is recorded; the others may use anything.
        pending: the footprint of the command that each task has begun, for the turns in which it continues.
    """

    def __init__(self, policy: Policy, longest: int, *, shared: bool = False) -> None:
        self._policy = policy
        self._left = longest
        self._shared = shared
        self._last: Choice | None = None
        self._fresh = True
        self._over = False
        self.steps: list[Step] = []
        self.turns: list[TaskTurn] = []
        self.names: dict[int, object] = {}
        self.recorded: set[int] = set()
        self.pending: dict[int, Footprint] = {}

    def choose(self, ready: Sequence[Choice]) -> int:
        if self._over:
            return 0
        numbers = tuple(choice.number for choice in ready)
        try:
            self._pass(numbers)
            index = self._choose(ready, numbers)
        except BaseException:
            self._over = True
            raise
        number = numbers[index]
        footprint = Footprint(everything=self._shared or number not in self.recorded)
        if number in self.pending:
            footprint.include(self.pending[number])
        self.turns.append(TaskTurn(number, self.names.get(number, number), numbers, footprint, self._fresh))
        self._fresh = False
        return index

    def _choose(self, ready: Sequence[Choice], numbers: tuple[int, ...]) -> int:
        self._left -= 1
        if self._left < 0:
            raise Broken("endless run", "the scenario goes on and on; `longest` dispatches were made")
        last = self._last
        if len(ready) == 1:
            self._policy.forced(ready[0])
            self._last = ready[0]
            return 0
        default = ready.index(last) if last in ready else 0
        index = self._policy.choose(len(self.steps), ready, default)
        self.steps.append(Step(numbers[index], numbers[default], numbers, last in ready))
        self._last = ready[index]
        return index

    def _pass(self, ready: tuple[int, ...]) -> None:
        """The last turn is over."""
        if self.turns:
            last = self.turns[-1]
            last.woke = frozenset(ready).difference(last.ready)
            self._policy.passed(last)

    def end(self) -> None:
        """The run is over."""
        if not self._over:
            self._over = True
            self._pass(())

    @property
    def footprint(self) -> Footprint | None:
        """The footprint of the turn that continues; None before the first, and when no task is ready."""
        return self.turns[-1].footprint if self.turns and not self._fresh and not self._over else None

    def idle(self) -> None:
        """No task is ready: the next turn comes after all that were, in every order."""
        self._fresh = True

    @property
    def deviations(self) -> Deviations:
        """The deviations of this run, from which its order can be repeated."""
        return tuple((at, step.chosen) for at, step in enumerate(self.steps) if step.chosen != step.default)


def policy_of(schedule: Schedule) -> Policy:
    """The policy that chooses as in a schedule."""
    if schedule.seed is not None:
        return Pct(schedule.seed, schedule.depth, schedule.steps)
    return Written(schedule.deviations)
