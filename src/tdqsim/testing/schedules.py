"""Schedule exploration: run a scenario of several tasks in many orders, and report an order in which it fails.

A *scenario* is a function. It gets a :class:`Stage`, makes its region with ``stage.region(...)``, starts its tasks,
runs them (``region.run()``), and asserts what must hold. It is called once for each schedule, with a new region each
time. Before every command and every syncpoint, where CICS could run another task, the explorer decides which task runs
next; on an IBM i system it decides so before every API and CL command of a job.

What counts as a failure
    the scenario raises, or never ends; tasks or jobs wait for each other, even if DTIMOUT or the default wait of a job
    would end the wait; a task waits for ever; an abend, or the abnormal end of a job, that was not allowed; a trigger
    that will start no task (:mod:`~tdqsim.testing.deadlock`).

Time
    Only waits take time: DELAY, intervals, waits with a limit. Of two deadlines at the same moment, either may come
    first. With ``slack``, a deadline that is near may also come before a task that is ready now.

How schedules are chosen
    ``pct``         each task gets a random priority, and of the ready tasks the one with the highest priority runs. At
                    ``depth - 1`` random moments the running task gets the lowest priority. A bug that needs ``depth``
                    orderings between n tasks with k steps is found with a probability of at least
                    1 / (n * k ** (depth - 1)) in each schedule.
    ``exhaustive``  every schedule with at most ``preemptions`` switches away from a task that could have continued,
                    those with the fewest first.

A schedule is written down as its *deviations*: the steps at which another task ran than by default. By default a task
continues while it can; then timers that are due come, and then the task that has been ready longest. So a schedule
without deviations is CICS order, and minimising a schedule means leaving out deviations as long as it still fails.
Pass ``Schedule.token`` to :func:`replay`.

Source of PCT: Burckhardt and others, A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs (2010); of
the preemption bound: Musuvathi and Qadeer, Iterative Context Bounding (2007).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from tdqsim.cics import Abend
from tdqsim.errors import WouldWaitForever
from tdqsim.testing._orders import Broken, Policy, Schedule, Step, Written, policy_of
from tdqsim.testing._stage import Stage
from tdqsim.testing.stores import RecycledStores

__all__ = ["Exploration", "Failure", "Schedule", "ScheduleFailure", "Stage", "explore", "replay"]

Method = Literal["pct", "exhaustive"]
Scenario = Callable[[Stage], object]
_LONGEST_RUN: Final = 100_000
_LONGEST_SEARCH: Final = 500
_Deviations = tuple[tuple[int, int], ...]


class ScheduleFailure(AssertionError):
    """A scenario failed in some order of its tasks; the text has the order, and how to run it again."""

    def __init__(self, text: str, failure: Failure) -> None:
        super().__init__(text)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure of a scenario, with the order of its tasks.

    Attributes:
        kind: ``assertion``, ``deadlock``, ``endless wait``, ``lost trigger``, ``abend``, or an exception's name.
        message: a description.
        found: the schedule that failed first.
        schedule: the smallest schedule that was found to fail in the same way.
        trace: the commands of the smallest schedule, in order.
        exception: the exception that was raised.
    """

    kind: str
    message: str
    found: Schedule
    schedule: Schedule
    trace: tuple[str, ...] = ()
    exception: BaseException | None = field(default=None, compare=False)

    def __str__(self) -> str:
        """The failure, the commands, and how to run it again."""
        lines = [
            f"{self.kind}: {self.message}",
            f"found with {self.found.token}; the smallest schedule has {len(self.schedule.deviations)} switches:",
            *(f"  {line}" for line in self.trace),
            f"run it again: replay(scenario, {self.schedule.token!r})",
        ]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Exploration:
    """The result of :func:`explore`.

    Attributes:
        schedules: how many were run, without those of minimising.
        distinct: how many of them were different orders.
        complete: whether all orders were tried (exhaustive only).
        failure: the first failure, or None.
        failed_at: number of the schedule that failed, from 1; 0 when none did.
    """

    schedules: int
    distinct: int
    complete: bool
    failure: Failure | None
    failed_at: int = 0

    def check(self) -> Exploration:
        """Raise ScheduleFailure if there is a failure.

        Raises:
            ScheduleFailure: the scenario failed in some order.
        """
        if self.failure is not None:
            text = f"schedule {self.failed_at} of {self.schedules} failed\n{self.failure}"
            raise ScheduleFailure(text, self.failure) from self.failure.exception
        return self


class _Runner:
    """Runs one scenario in one order after the other."""

    def __init__(
        self, scenario: Scenario, stores: RecycledStores, allow_abends: Iterable[str], longest: int, *, may_wait: bool,
        slack: float = 0.0,
    ) -> None:  # fmt: skip
        self._scenario = scenario
        self._stores = stores
        self._allowed = frozenset(allow_abends)
        self._may_wait = may_wait
        self._longest = longest
        self.slack = slack

    def run(self, policy: Policy, *, log: bool = False) -> tuple[Stage, str, BaseException | None]:
        """Run once; return the stage at its end, the kind of failure (empty for none), and the exception."""
        stage = Stage(policy, self._stores, self._longest, slack=self.slack, log=log)
        kind = ""
        error: BaseException | None = None
        try:
            try:
                self._scenario(stage)
            finally:
                if stage.deadlock:
                    stage.verdict(self._allowed, may_wait=self._may_wait)
            stage.verdict(self._allowed, may_wait=self._may_wait)
        except Broken as broken:
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

    def minimise(self, kind: str, deviations: _Deviations) -> _Deviations:
        """Leave out deviations, many at once first, as long as the run fails in the same way; then look for fewer."""
        best = deviations
        size = max(1, len(best) // 2)
        while size:
            at = 0
            while at < len(best):
                fewer = best[:at] + best[at + size :]
                stage, failed, _ = self.run(Written(fewer))
                shorter = stage.controller.deviations
                if failed == kind and len(shorter) < len(best):
                    best = shorter
                else:
                    at += size
            size //= 2
        fewer_still = self._fewer(kind, len(best))
        return best if fewer_still is None else fewer_still

    def _fewer(self, kind: str, count: int) -> _Deviations | None:
        """Fewer than ``count`` deviations that fail in the same way, the fewest first; None if none is found soon."""
        level: list[_Deviations] = [()]
        runs = 0
        for length in range(count):
            following: list[_Deviations] = []
            for deviations in level:
                runs += 1
                if runs > _LONGEST_SEARCH:
                    return None
                stage, failed, _ = self.run(Written(deviations))
                if failed == kind:
                    return stage.controller.deviations
                if length + 1 < count:
                    following += _one_more(stage.controller.steps, deviations)
            level = following
        return None

    def failure(self, found: Schedule, kind: str, error: BaseException, stage: Stage, *, minimise: bool) -> Failure:
        """The failure with its smallest schedule and its commands."""
        deviations = stage.controller.deviations
        if minimise:
            deviations = self.minimise(kind, deviations)
        again, kind_again, error_again = self.run(Written(deviations), log=True)
        if kind_again == kind and error_again is not None:
            error = error_again
        message = str(error).partition("\n")[0] or type(error).__name__
        smallest = Schedule(deviations, slack=self.slack)
        return Failure(kind, message, found, smallest, tuple(again.log or ()), error)


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
    slack: float = 0.0,
    longest: int = _LONGEST_RUN,
    stores: RecycledStores | None = None,
) -> Exploration:
    """Run a scenario in many orders of its tasks, up to the first that fails.

    Args:
        scenario: a function of a Stage, on which it makes regions; ``help("tdqsim.testing.schedules")`` shows one.
        schedules: the largest number of schedules; the first is CICS order.
        method: ``pct`` or ``exhaustive``.
        seed: the seed of the first random schedule; the others have the seeds that follow.
        depth: how many orderings a bug may need (``pct``), 1 or more.
        preemptions: the largest number in one schedule (``exhaustive``).
        minimise: look for the smallest schedule that fails in the same way.
        allow_abends: abend codes, and message ids or names of exceptions of jobs, that are no failure; ``*`` for all.
        may_wait: whether a task may wait for ever.
        slack: seconds by which the machine may be late: a deadline that is no further away, such as DTIMOUT or the end
            of a receive's wait, may come before a task that is ready. With 0 only what is due at the same moment may
            come in either order.
        longest: a run with more dispatches counts as endless.
        stores: the source of the regions' stores; by default a new one.

    Raises:
        ValueError: an argument is not allowed.
    """
    if schedules < 1 or depth < 1 or preemptions < 0:
        raise ValueError("allowed are: schedules 1 or more, depth 1 or more, preemptions 0 or more")
    if not 0 <= slack < float("inf"):
        raise ValueError(f"slack {slack!r}: allowed are 0 or more seconds")
    if method not in ("pct", "exhaustive"):
        raise ValueError(f"method {method!r}: allowed are pct and exhaustive")
    with RecycledStores() as own:
        runner = _Runner(scenario, stores or own, allow_abends, longest, may_wait=may_wait, slack=slack)
        if method == "pct":
            return _random(runner, schedules, seed, depth, minimise=minimise)
        return _exhaustive(runner, schedules, preemptions, minimise=minimise)


def _random(runner: _Runner, schedules: int, seed: int, depth: int, *, minimise: bool) -> Exploration:
    seen: set[_Deviations] = set()
    steps = 1
    for number in range(schedules):
        schedule = Schedule() if not number else Schedule((), seed + number - 1, depth, steps, runner.slack)
        stage, kind, error = runner.run(policy_of(schedule))
        seen.add(stage.controller.deviations)
        steps = max(steps, len(stage.controller.steps))
        if error is not None:
            failure = runner.failure(schedule, kind, error, stage, minimise=minimise)
            return Exploration(number + 1, len(seen), complete=False, failure=failure, failed_at=number + 1)
    return Exploration(schedules, len(seen), complete=False, failure=None)


def _exhaustive(runner: _Runner, schedules: int, preemptions: int, *, minimise: bool) -> Exploration:
    waves: list[list[_Deviations]] = [[()], *([] for _ in range(preemptions))]
    count = 0
    for used, wave in enumerate(waves):
        while wave:
            if count == schedules:
                return Exploration(count, count, complete=False, failure=None)
            deviations = wave.pop()
            count += 1
            stage, kind, error = runner.run(Written(deviations))
            if error is not None:
                failure = runner.failure(
                    Schedule(deviations, slack=runner.slack), kind, error, stage, minimise=minimise
                )
                return Exploration(count, count, complete=False, failure=failure, failed_at=count)
            _extend(stage.controller.steps, deviations, waves, used)
    return Exploration(count, count, complete=True, failure=None)


def _extend(steps: list[Step], deviations: _Deviations, waves: list[list[_Deviations]], used: int) -> None:
    """Add every schedule with one deviation more, after the last one; a preemption belongs to the next wave."""
    for more in _one_more(steps, deviations):
        wave = used + steps[more[-1][0]].preempts
        if wave < len(waves):
            waves[wave].append(more)


def _one_more(steps: list[Step], deviations: _Deviations) -> Iterator[_Deviations]:
    start = deviations[-1][0] + 1 if deviations else 0
    for at in range(start, len(steps)):
        step = steps[at]
        for number in step.ready:
            if number != step.default:
                yield (*deviations, (at, number))


def replay(
    scenario: Scenario, schedule: Schedule | str, *, allow_abends: Iterable[str] = (), may_wait: bool = False
) -> tuple[str, ...]:
    """Run a scenario once, in a given order.

    Args:
        scenario: the function.
        schedule: a schedule or its token.
        allow_abends: abend codes that are no failure.
        may_wait: whether a task may wait for ever.

    Returns:
        The commands, in order.

    Raises:
        ScheduleFailure: it failed; the exception of the scenario is the cause.
        ValueError: the text is not a token.
    """
    given = Schedule.parse(schedule) if isinstance(schedule, str) else schedule
    with RecycledStores() as stores:
        runner = _Runner(scenario, stores, allow_abends, _LONGEST_RUN, may_wait=may_wait, slack=given.slack)
        stage, kind, error = runner.run(policy_of(given), log=True)
    trace = tuple(stage.log or ())
    if error is not None:
        message = str(error).partition("\n")[0] or type(error).__name__
        failure = Failure(kind, message, given, Schedule(stage.controller.deviations, slack=given.slack), trace, error)
        raise ScheduleFailure(str(failure), failure) from error
    return trace
