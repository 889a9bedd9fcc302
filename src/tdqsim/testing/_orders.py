"""Orders of tasks: how an order is written down, and how the next task is chosen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, Protocol

from tdqsim.errors import TdqError

__all__ = ["Broken", "Choice", "Controller", "Policy", "Schedule", "Step", "Written", "policy_of"]

_LARGEST_NUMBER: Final = 2**31


class Broken(TdqError):
    """A failure that the explorer itself has noticed: its ``kind`` and the text."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


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
        raise ValueError(
            f"schedule {token!r}: allowed are pct:SEED:DEPTH:STEPS and at:STEP=TASK,STEP=TASK..., "
            "each with +SECONDS of slack"
        )


class Policy(Protocol):
    def choose(self, step: int, ready: Sequence[Choice], default: int) -> int: ...


class Written:
    """Follows the deviations of a schedule, and skips those that cannot be followed."""

    def __init__(self, deviations: Iterable[tuple[int, int]]) -> None:
        self._deviations = dict(deviations)

    def choose(self, step: int, ready: Sequence[Choice], default: int) -> int:
        wanted = self._deviations.get(step)
        if wanted is None:
            return default
        return next((index for index, strand in enumerate(ready) if strand.number == wanted), default)


class Pct:
    """Random priorities that change at random moments."""

    def __init__(self, seed: int, depth: int, steps: int) -> None:
        self._random = random = Random(seed)  # noqa: S311  (repeatable on purpose)
        self._priorities: dict[int, float] = {}
        count = min(depth - 1, max(steps - 1, 0))
        self._changes = dict(zip(random.sample(range(1, max(steps, 2)), count), range(count), strict=True))

    def choose(self, step: int, ready: Sequence[Choice], default: int) -> int:  # noqa: ARG002  (it has an order of its own)
        change = self._changes.get(step)
        best = self._best(ready)
        if change is not None:
            self._priorities[ready[best].number] = -1.0 - change
            best = self._best(ready)
        return best

    def _best(self, ready: Sequence[Choice]) -> int:
        priorities = self._priorities
        found, highest = 0, -_LARGEST_NUMBER * 1.0
        for index, strand in enumerate(ready):
            priority = priorities.get(strand.number)
            if priority is None:
                priority = priorities[strand.number] = self._random.random()
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
    """Decides at each dispatch with more than one ready task, and keeps the decisions."""

    def __init__(self, policy: Policy, longest: int) -> None:
        self._policy = policy
        self._left = longest
        self._last: Choice | None = None
        self.steps: list[Step] = []

    def choose(self, ready: Sequence[Choice]) -> int:
        self._left -= 1
        if self._left < 0:
            raise Broken("endless run", "the scenario goes on and on; `longest` dispatches were made")
        last = self._last
        if len(ready) == 1:
            self._last = ready[0]
            return 0
        default = ready.index(last) if last in ready else 0
        index = self._policy.choose(len(self.steps), ready, default)
        chosen = ready[index]
        self.steps.append(
            Step(chosen.number, ready[default].number, tuple(strand.number for strand in ready), last in ready)
        )
        self._last = chosen
        return index

    @property
    def deviations(self) -> tuple[tuple[int, int], ...]:
        """The deviations of this run, from which its order can be repeated."""
        return tuple((at, step.chosen) for at, step in enumerate(self.steps) if step.chosen != step.default)


def policy_of(schedule: Schedule) -> Policy:
    """The policy that chooses as a schedule says."""
    if schedule.seed is not None:
        return Pct(schedule.seed, schedule.depth, schedule.steps)
    return Written(schedule.deviations)
