"""Schedule exploration: run a scenario of several tasks in many orders, and keep the order that breaks it.

A *scenario* is a function. It gets a :class:`Stage`, makes its region with ``stage.region(...)``, starts its tasks,
lets them run (``region.run()``), and asserts what must hold. It is called once for each schedule, on a region that is
new each time. Where CICS could give another task its turn - before every command and before every syncpoint - the
explorer decides who goes on.

What counts as a failure
    the scenario raises, or never ends; a ring of tasks waiting for each other, even one that DTIMOUT would end; a task
    that waits for ever; an abend that was not allowed; a trigger that nobody will serve
    (:mod:`~tdqsim.testing.deadlock`).

How schedules are chosen
    ``pct``         each task gets a random priority, the highest one that is ready goes on, and at ``depth - 1`` random
                    moments the running task falls behind all others. A bug that needs ``depth`` orderings between n
                    tasks with k steps is met with probability 1 / (n * k ** (depth - 1)) or better in each schedule.
    ``exhaustive``  every schedule with at most ``preemptions`` switches away from a task that could have gone on, those
                    with the fewest first.

A schedule is written down as its *deviations*: at which step another task went on than by default. By default a task
goes on while it can, and then the one that has been ready longest. So an empty schedule is CICS order, and to minimise
one is to leave out deviations as long as it fails. ``Schedule.token`` is what to pass to :func:`replay`.

Source of PCT: Burckhardt and others, A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs (2010); of
the preemption bound: Musuvathi and Qadeer, Iterative Context Bounding (2007).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Literal, Protocol

from tdqsim.cics import Abend, Region, Task, UnitOfWork
from tdqsim.core.dispatch import Dispatcher, Strand
from tdqsim.errors import TdqError, WouldWaitForever
from tdqsim.ibmi import System
from tdqsim.testing.clock import StillClock
from tdqsim.testing.deadlock import find_deadlock, lost_triggers, stuck
from tdqsim.testing.hooks import add_hook
from tdqsim.testing.stores import RecycledStores
from tdqsim.testing.text import show_record

__all__ = ["Exploration", "Failure", "Schedule", "ScheduleFailure", "Stage", "explore", "replay"]

Method = Literal["pct", "exhaustive"]
Scenario = Callable[["Stage"], object]
_LARGEST_NUMBER: Final = 2**31
_LONGEST_RUN: Final = 100_000


class ScheduleFailure(AssertionError):
    """A scenario failed in some order of its tasks; the text says which, and how to run it again."""

    def __init__(self, text: str, failure: Failure) -> None:
        super().__init__(text)
        self.failure = failure


class _Broken(TdqError):
    """What the explorer itself found wrong: ``kind`` and the text."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Schedule:
    """An order of tasks.

    Attributes:
        deviations: (step, number of the task) where another task went on than by default, in order of steps.
        seed: the seed that gave it; None when it was not found by a seed.
        depth, steps: of the random choice, with the seed.
    """

    deviations: tuple[tuple[int, int], ...] = ()
    seed: int | None = None
    depth: int = 0
    steps: int = 0

    @property
    def token(self) -> str:
        """The schedule in a few characters, for :func:`replay`."""
        if self.seed is not None:
            return f"pct:{self.seed}:{self.depth}:{self.steps}"
        return "at:" + ",".join(f"{step}={number}" for step, number in self.deviations)

    @classmethod
    def parse(cls, token: str) -> Schedule:
        """The schedule that a token stands for.

        Raises:
            ValueError: it is no token.
        """
        kind, _, rest = token.strip().partition(":")
        try:
            if kind == "pct":
                seed, depth, steps = (int(word) for word in rest.split(":"))
                if depth > 0 and steps > 0:
                    return cls((), seed, depth, steps)
            if kind == "at":
                pairs = [word.split("=") for word in rest.split(",") if word]
                return cls(tuple(sorted((int(step), int(number)) for step, number in pairs)))
        except ValueError:
            pass
        raise ValueError(f"schedule {token!r}: allowed are pct:SEED:DEPTH:STEPS and at:STEP=TASK,STEP=TASK...")


# -- who goes on ------------------------------------------------------------------------------------------------------


class _Policy(Protocol):
    def choose(self, step: int, ready: list[Strand], default: int) -> int: ...


class _Written:
    """Follows the deviations of a schedule; one that cannot be followed is left out."""

    def __init__(self, deviations: Iterable[tuple[int, int]]) -> None:
        self._deviations = dict(deviations)

    def choose(self, step: int, ready: list[Strand], default: int) -> int:
        wanted = self._deviations.get(step)
        if wanted is None:
            return default
        return next((index for index, strand in enumerate(ready) if strand.number == wanted), default)


class _Pct:
    """Random priorities that change at random moments."""

    def __init__(self, seed: int, depth: int, steps: int) -> None:
        self._random = random = Random(seed)  # noqa: S311  (repeatable on purpose)
        self._priorities: dict[int, float] = {}
        count = min(depth - 1, max(steps - 1, 0))
        self._changes = dict(zip(random.sample(range(1, max(steps, 2)), count), range(count), strict=True))

    def choose(self, step: int, ready: list[Strand], default: int) -> int:  # noqa: ARG002  (it has an order of its own)
        change = self._changes.get(step)
        best = self._best(ready)
        if change is not None:
            self._priorities[ready[best].number] = -1.0 - change
            best = self._best(ready)
        return best

    def _best(self, ready: list[Strand]) -> int:
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
class _Step:
    """One decision: who was chosen, whom the default would have been, and who was ready."""

    chosen: int
    default: int
    ready: tuple[int, ...]
    preempts: bool


class _Controller:
    """Decides at each dispatch with more than one ready task, and writes the decisions down."""

    def __init__(self, policy: _Policy, longest: int) -> None:
        self._policy = policy
        self._left = longest
        self._last: Strand | None = None
        self.steps: list[_Step] = []

    def choose(self, ready: list[Strand]) -> int:
        self._left -= 1
        if self._left < 0:
            raise _Broken("endless run", "the scenario goes on and on; `longest` dispatches were made")
        last = self._last
        if len(ready) == 1:
            self._last = ready[0]
            return 0
        default = ready.index(last) if last in ready else 0
        index = self._policy.choose(len(self.steps), ready, default)
        chosen = ready[index]
        self.steps.append(
            _Step(chosen.number, ready[default].number, tuple(strand.number for strand in ready), last in ready)
        )
        self._last = chosen
        return index

    @property
    def deviations(self) -> tuple[tuple[int, int], ...]:
        """What makes the run's order."""
        return tuple((at, step.chosen) for at, step in enumerate(self.steps) if step.chosen != step.default)


# -- the stage --------------------------------------------------------------------------------------------------------


class _StagedRegion(Region):
    """A region in which others may get their turn before every syncpoint, and each commit is made at once."""

    def commit(self, uow: UnitOfWork) -> bool:
        """See the region. A task that is about to commit may be overtaken."""
        dispatcher = self.dispatcher
        if dispatcher.current is not dispatcher.outside:
            dispatcher.yield_now()
        return super().commit(uow)

    def harden(self, _uow: UnitOfWork) -> None:
        """Commit alone: to wait for others would hide the orders in which this one comes first."""
        self.hardening.force()


class Stage:
    """What a scenario has to work with. It is new for each schedule.

    Attributes:
        dispatcher: what decides who goes on.
        regions: the regions made so far.
    """

    def __init__(self, policy: _Policy, stores: RecycledStores, longest: int, *, log: bool = False) -> None:
        self.dispatcher = Dispatcher(StillClock())
        self.controller = _Controller(policy, longest)
        self.dispatcher.chooser = self.controller.choose
        self.dispatcher.on_idle.append(self._look)
        self.regions: list[Region] = []
        self.deadlock = ""
        self.log: list[str] | None = [] if log else None
        self._stores = stores
        self._systems: list[System] = []

    def region(self, definitions: Any = (), **options: Any) -> Region:
        """A region on the stage; arguments as :class:`~tdqsim.cics.Region`'s. Supplied queues only when asked for."""
        options.setdefault("supplied_queues", False)
        if "store" not in options:
            options["store"] = self._stores.take()
        region = _StagedRegion(definitions, dispatcher=self.dispatcher, **options)
        add_hook(region, self)
        self.regions.append(region)
        return region

    def system(self, **options: Any) -> System:
        """An IBM i system on the stage; its started jobs may be overtaken before every API and command."""
        if "path" not in options:
            options["path"] = self._stores.take()
        system = System(dispatcher=self.dispatcher, **options)
        system.faults = self._before_api
        self._systems.append(system)
        return system

    def _before_api(self, job: Any, operation: str, name: str, library: str) -> None:
        dispatcher = self.dispatcher
        if dispatcher.current is not dispatcher.outside:
            dispatcher.yield_now()
        if self.log is not None:
            self.log.append(f"job {job.qualified_name} {operation} {library}/{name}")

    def before(self, task: Task, command: str, arguments: Mapping[str, Any]) -> None:
        """The point before each command at which another task may go on."""
        dispatcher = self.dispatcher
        if dispatcher.current is not dispatcher.outside:
            dispatcher.yield_now()
        if self.log is not None:
            self.log.append(_described(task, command, arguments))

    def after(self, task: Task, command: str, arguments: Mapping[str, Any], outcome: object) -> None:
        """Nothing happens after a command."""

    def _look(self) -> None:
        """Nothing is ready: is that a deadlock?"""
        if not self.deadlock and any(strand.waiting_for is not None for strand in self.dispatcher.strands):
            found = find_deadlock(self.regions)
            if found is not None:
                self.deadlock = found.text

    def verdict(self, allowed: frozenset[str], *, may_wait: bool) -> None:
        """Raise what is wrong beyond what the scenario asserts."""
        for region in self.regions:
            abends = [code for code in region.abends if code not in allowed and "*" not in allowed]
            if abends:
                raise _Broken("abend", f"a task ended with abend {', '.join(abends)}")
        self._look()
        if self.deadlock:
            raise _Broken("deadlock", self.deadlock)
        waits = [] if may_wait else stuck(self.dispatcher.strands)
        if waits:
            raise _Broken("endless wait", "; ".join(waits))
        lost = [text for region in self.regions if not region.closed for text in lost_triggers(region)]
        if lost:
            raise _Broken("lost trigger", "; ".join(lost))

    def close(self) -> None:
        """End the regions and systems."""
        for system in self._systems:
            system.close()
        for region in self.regions:
            region.close()
        self.dispatcher.release_workers()


def _described(task: Task, command: str, arguments: Mapping[str, Any]) -> str:
    data = arguments.get("from_")
    words = [f"task {task.number} {task.transid:<4}", command, str(arguments.get("queue") or "")]
    if isinstance(data, bytes):
        words.append(show_record(data))
    return " ".join(word for word in words if word)


# -- runs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong, and in which order.

    Attributes:
        kind: ``assertion``, ``deadlock``, ``endless wait``, ``lost trigger``, ``abend``, or an exception's name.
        message: in words.
        found: the schedule as it was found.
        schedule: the smallest that was found to fail in the same way.
        trace: the commands of the smallest one, in order.
        exception: what was raised.
    """

    kind: str
    message: str
    found: Schedule
    schedule: Schedule
    trace: tuple[str, ...] = ()
    exception: BaseException | None = field(default=None, compare=False)

    def __str__(self) -> str:
        """Everything needed to understand it and to run it again."""
        lines = [
            f"{self.kind}: {self.message}",
            f"found with {self.found.token}; the smallest schedule has {len(self.schedule.deviations)} switches:",
            *(f"  {line}" for line in self.trace),
            f"run it again: replay(scenario, {self.schedule.token!r})",
        ]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Exploration:
    """What came of it.

    Attributes:
        schedules: how many were run, those of minimising not counted.
        distinct: how many of them were different orders.
        complete: whether there was nothing left to try (exhaustive only).
        failure: the first failure, or None.
        failed_at: number of the schedule that failed, from 1; 0 when none did.
    """

    schedules: int
    distinct: int
    complete: bool
    failure: Failure | None
    failed_at: int = 0

    def check(self) -> Exploration:
        """Raise the failure, if there is one.

        Raises:
            ScheduleFailure: the scenario failed in some order.
        """
        if self.failure is not None:
            text = f"schedule {self.failed_at} of {self.schedules} failed\n{self.failure}"
            raise ScheduleFailure(text, self.failure) from self.failure.exception
        return self


class _Runner:
    """Runs one scenario again and again."""

    def __init__(
        self, scenario: Scenario, stores: RecycledStores, allow_abends: Iterable[str], longest: int, *, may_wait: bool
    ) -> None:
        self._scenario = scenario
        self._stores = stores
        self._allowed = frozenset(allow_abends)
        self._may_wait = may_wait
        self._longest = longest

    def run(self, policy: _Policy, *, log: bool = False) -> tuple[Stage, str, BaseException | None]:
        """One run: the stage as it was left, what kind of failure there was, and the exception."""
        stage = Stage(policy, self._stores, self._longest, log=log)
        kind = ""
        error: BaseException | None = None
        try:
            try:
                self._scenario(stage)
            finally:
                if stage.deadlock:
                    stage.verdict(self._allowed, may_wait=self._may_wait)
            stage.verdict(self._allowed, may_wait=self._may_wait)
        except _Broken as broken:
            kind, error = broken.kind, broken
        except WouldWaitForever as waits:
            kind, error = "endless wait", waits
        except AssertionError as failed:
            kind, error = "assertion", failed
        except Abend as abend:
            kind, error = "abend", abend
        except Exception as other:  # noqa: BLE001  (whatever the scenario raises is its failure)
            kind, error = type(other).__name__, other
        finally:
            stage.close()
        return stage, kind, error

    def minimise(self, kind: str, deviations: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        """Leave out deviations, large pieces first, as long as the run fails in the same way."""
        best = deviations
        size = max(1, len(best) // 2)
        while size:
            at = 0
            while at < len(best):
                fewer = best[:at] + best[at + size :]
                stage, failed, _ = self.run(_Written(fewer))
                shorter = stage.controller.deviations
                if failed == kind and len(shorter) < len(best):
                    best = shorter
                else:
                    at += size
            size //= 2
        return best

    def failure(self, found: Schedule, kind: str, error: BaseException, stage: Stage, *, minimise: bool) -> Failure:
        """The failure with its smallest schedule and its commands."""
        deviations = stage.controller.deviations
        if minimise:
            deviations = self.minimise(kind, deviations)
        again, kind_again, error_again = self.run(_Written(deviations), log=True)
        if kind_again == kind and error_again is not None:
            error = error_again
        message = str(error).partition("\n")[0] or type(error).__name__
        return Failure(kind, message, found, Schedule(deviations), tuple(again.log or ()), error)


def explore(
    scenario: Scenario,
    schedules: int = 1000,
    *,
    method: Method = "pct",
    seed: int = 1,
    depth: int = 3,
    preemptions: int = 2,
    minimise: bool = True,
    allow_abends: Iterable[str] = (),
    may_wait: bool = False,
    longest: int = _LONGEST_RUN,
    stores: RecycledStores | None = None,
) -> Exploration:
    """Run a scenario in many orders of its tasks, up to the first that fails.

    Args:
        scenario: the function; see the module's text.
        schedules: at most so many; the first is CICS order.
        method: ``pct`` or ``exhaustive``.
        seed: of the first random schedule; the others have the seeds that follow.
        depth: how many orderings a bug may need (``pct``), 1 or more.
        preemptions: at most so many in one schedule (``exhaustive``).
        minimise: look for the smallest schedule that fails in the same way.
        allow_abends: abend codes that are no failure; ``*`` allows all.
        may_wait: a task that waits for ever is no failure.
        longest: a run of more dispatches than this is one that never ends.
        stores: where regions get their stores from; its own by default.

    Raises:
        ValueError: an argument is not allowed.
    """
    if schedules < 1 or depth < 1 or preemptions < 0:
        raise ValueError("allowed are: schedules 1 or more, depth 1 or more, preemptions 0 or more")
    if method not in ("pct", "exhaustive"):
        raise ValueError(f"method {method!r}: allowed are pct and exhaustive")
    with RecycledStores() as own:
        runner = _Runner(scenario, stores or own, allow_abends, longest, may_wait=may_wait)
        if method == "pct":
            return _random(runner, schedules, seed, depth, minimise=minimise)
        return _exhaustive(runner, schedules, preemptions, minimise=minimise)


def _random(runner: _Runner, schedules: int, seed: int, depth: int, *, minimise: bool) -> Exploration:
    seen: set[tuple[tuple[int, int], ...]] = set()
    steps = 1
    for number in range(schedules):
        schedule = Schedule() if not number else Schedule((), seed + number - 1, depth, steps)
        stage, kind, error = runner.run(_policy(schedule))
        seen.add(stage.controller.deviations)
        steps = max(steps, len(stage.controller.steps))
        if error is not None:
            failure = runner.failure(schedule, kind, error, stage, minimise=minimise)
            return Exploration(number + 1, len(seen), complete=False, failure=failure, failed_at=number + 1)
    return Exploration(schedules, len(seen), complete=False, failure=None)


def _policy(schedule: Schedule) -> _Policy:
    if schedule.seed is not None:
        return _Pct(schedule.seed, schedule.depth, schedule.steps)
    return _Written(schedule.deviations)


def _exhaustive(runner: _Runner, schedules: int, preemptions: int, *, minimise: bool) -> Exploration:
    waves: list[list[tuple[tuple[int, int], ...]]] = [[()], *([] for _ in range(preemptions))]
    count = 0
    for used, wave in enumerate(waves):
        while wave:
            if count == schedules:
                return Exploration(count, count, complete=False, failure=None)
            deviations = wave.pop()
            count += 1
            stage, kind, error = runner.run(_Written(deviations))
            if error is not None:
                failure = runner.failure(Schedule(deviations), kind, error, stage, minimise=minimise)
                return Exploration(count, count, complete=False, failure=failure, failed_at=count)
            _extend(stage.controller.steps, deviations, waves, used)
    return Exploration(count, count, complete=True, failure=None)


def _extend(
    steps: list[_Step],
    deviations: tuple[tuple[int, int], ...],
    waves: list[list[tuple[tuple[int, int], ...]]],
    used: int,
) -> None:
    """Every way to deviate once more, behind the last deviation: a preemption belongs to the next wave."""
    start = deviations[-1][0] + 1 if deviations else 0
    for at in range(start, len(steps)):
        step = steps[at]
        wave = used + step.preempts
        if wave < len(waves):
            waves[wave].extend((*deviations, (at, number)) for number in step.ready if number != step.default)


def replay(
    scenario: Scenario, schedule: Schedule | str, *, allow_abends: Iterable[str] = (), may_wait: bool = False
) -> tuple[str, ...]:
    """Run a scenario once, in a given order.

    Args:
        scenario: the function.
        schedule: a schedule or its token.
        allow_abends: abend codes that are no failure.
        may_wait: a task that waits for ever is no failure.

    Returns:
        The commands, in order.

    Raises:
        ScheduleFailure: it failed; what the scenario raised is the cause.
        ValueError: the token is none.
    """
    given = Schedule.parse(schedule) if isinstance(schedule, str) else schedule
    with RecycledStores() as stores:
        runner = _Runner(scenario, stores, allow_abends, _LONGEST_RUN, may_wait=may_wait)
        stage, kind, error = runner.run(_policy(given), log=True)
    trace = tuple(stage.log or ())
    if error is not None:
        message = str(error).partition("\n")[0] or type(error).__name__
        failure = Failure(kind, message, given, Schedule(stage.controller.deviations), trace, error)
        raise ScheduleFailure(str(failure), failure) from error
    return trace
