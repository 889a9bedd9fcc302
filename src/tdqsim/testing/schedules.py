"""Schedule exploration: run a scenario of several tasks in many orders, and report an order in which it fails.

A *scenario* is a function. It gets a :class:`Stage`, makes its region with ``stage.region(...)``, starts its tasks,
runs them (``region.run()``), and asserts what must hold. It is called once for each schedule, with a new region each
time. Before every command and every syncpoint, where CICS could run another task, the explorer decides which task runs
next; on an IBM i system it decides so before every API and CL command of a job.

What counts as a failure
    the scenario raises, or never ends; tasks or jobs wait for each other, even if DTIMOUT or the default wait of a job
    would end the wait; a task waits for ever; an abend, or the abnormal end of a job, that was not allowed; a trigger
    that will start no task (:mod:`~tdqsim.state.deadlock`).

Time
    Only waits take time: DELAY, intervals, waits with a limit. Of two deadlines at the same moment, either may come
    first. With ``slack``, a deadline that is near may also come before a task that is ready now.

Orders that come to the same
    Turns of two tasks that use different queues, locks and files may be exchanged. Of all orders that differ only in
    that, one is run (:mod:`~tdqsim.testing._explorer`). The explorer sees what goes through commands and methods of
    regions and systems (:mod:`~tdqsim.testing._footprints`). Of Python objects that tasks share it knows nothing; with
    ``shared=True`` every order is run.

How schedules are chosen
    ``pct``         each task gets a random priority, and of the ready tasks the one with the highest priority runs. At
                    ``depth - 1`` random moments the running task gets the lowest priority. Where earlier runs have left
                    something to try, only that may be chosen.
    ``exhaustive``  one schedule of each class, those with the fewest switches away from a task that could have
                    continued first. With ``preemptions=N``, every schedule with at most N such switches, equivalent
                    ones too.

Faults
    With ``faults=[...]`` each of them happens at every command that it matches, at most ``max_faults`` in one run, in
    the orders that are left.

A schedule is written down as its *deviations*: the steps at which another task ran than by default. By default a task
continues while it can; then timers that are due come, and then the task that has been ready longest. So a schedule
without deviations is CICS order, and minimising a schedule means leaving out deviations as long as it still fails.
Pass ``Schedule.token`` to :func:`replay`.

Source of PCT: Burckhardt and others, A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs (2010); of
the preemption bound: Musuvathi and Qadeer, Iterative Context Bounding (2007).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal

from tdqsim.cics import Abend
from tdqsim.core.callables import why_unusable
from tdqsim.errors import UsageError, WouldWaitForever, WrongValue
from tdqsim.faults.plan import AnyFault, FaultPlan
from tdqsim.testing._explorer import Draw, Explorer, identity
from tdqsim.testing._orders import Broken, Deviations, Policy, Redundant, Schedule, Written, policy_of
from tdqsim.testing._pasted import call_of, test_of
from tdqsim.testing._placements import FaultSearch, Placed, candidates_of
from tdqsim.testing._shrinker import Tried, shrink
from tdqsim.testing._stage import Stage
from tdqsim.testing.stores import RecycledStores

Method = Literal["pct", "exhaustive"]
Scenario = Callable[[Stage], object]
_LONGEST_RUN: Final = 100_000
_REPEATED: Final = 20
"""The search ends after so many times as many runs that repeat earlier ones as schedules were asked for."""


_CHANGES: Final = (
    "the scenario does not do the same each time; or its tasks share state that does not go through commands: "
    "pass shared=True"
)


class ScheduleWarning(UserWarning):
    """A replayed schedule could not be followed, and the scenario passed in another order."""


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
        faults: the faults that happened, as few as fail in the same way.
        test: Python source of a test that fails in the same way.
    """

    kind: str
    message: str
    found: Schedule
    schedule: Schedule
    trace: tuple[str, ...] = ()
    exception: BaseException | None = field(default=None, compare=False)
    faults: FaultPlan = field(default_factory=FaultPlan)
    test: str = ""

    def __str__(self) -> str:
        """The failure, the commands, and how to run it again."""
        lines = [
            f"{self.kind}: {self.message}",
            f"found with {self.found.token}; the smallest schedule has {len(self.schedule.deviations)} switches:",
            *(f"  {line}" for line in self.trace),
            f"run it again: {call_of('replay', 'scenario', self.schedule.token, faults=self.faults)}",
        ]
        if self.faults.faults:
            lines.insert(1, f"with {self.faults!r}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Exploration:
    """The result of :func:`explore`.

    Attributes:
        schedules: how many were run, without those of minimising and without ``repeated``.
        distinct: how many of them were not equivalent to another one.
        complete: whether nothing is left to try.
        failure: the first failure, or None.
        failed_at: number of the schedule that failed, from 1; 0 when none did.
        repeated: runs that were ended when they turned out to be equivalent to an earlier one.
        remaining: how many schedules are known to be left; more may turn up behind them. 0 if complete.
    """

    schedules: int
    distinct: int
    complete: bool
    failure: Failure | None
    failed_at: int = 0
    repeated: int = 0
    remaining: int = 0

    def __str__(self) -> str:
        """How much of the space was covered, in words."""
        left = "none left" if self.complete else f"at least {self.remaining} left"
        failed = f"; schedule {self.failed_at} failed: {self.failure.kind}" if self.failure is not None else ""
        return f"schedules: {self.schedules} run, {self.distinct} different, {left}{failed}"

    def check(self) -> Exploration:
        """Raise ScheduleFailure if there is a failure.

        Raises:
            ScheduleFailure: the scenario failed in some order.
        """
        if self.failure is not None:
            where = f"schedule {self.failed_at} of {self.schedules} failed"
            text = f"{where}\n{self.failure}\nas a test:\n\n{self.failure.test}"
            raise ScheduleFailure(text, self.failure) from self.failure.exception
        return self


class _Runner:
    """Runs one scenario in one order after the other."""

    def __init__(
        self, scenario: Scenario, stores: RecycledStores, allow_abends: Iterable[str], longest: int, *, may_wait: bool,
        slack: float = 0.0, shared: bool = False,
    ) -> None:  # fmt: skip
        self.scenario = scenario
        self._stores = stores
        self._allowed = frozenset(allow_abends.split() if isinstance(allow_abends, str) else allow_abends)
        self._may_wait = may_wait
        self._longest = longest
        self._shared = shared
        self.slack = slack

    def run(
        self, policy: Policy, faults: Placed | None = None, *, log: bool = False
    ) -> tuple[Stage, str, BaseException | None]:
        """Run once; return the stage at its end, the kind of failure (empty for none), and the exception."""
        stage = Stage(
            policy, self._stores, self._longest, slack=self.slack, log=log, shared=self._shared, faults=faults
        )
        kind = ""
        error: BaseException | None = None
        try:
            try:
                self.scenario(stage)
            finally:
                if stage.deadlock:
                    stage.verdict(self._allowed, may_wait=self._may_wait)
            stage.verdict(self._allowed, may_wait=self._may_wait)
        except Redundant:
            pass
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
            stage.controller.end()
            stage.close()
        return stage, kind, error

    def _attempt(self, kind: str, deviations: Deviations, faults: FaultPlan) -> Tried:
        stage, failed, _ = self.run(Written(deviations), Placed(faults))
        return Tried(failed == kind, stage.controller.deviations, stage.controller.steps)

    def failure(self, stage: Stage, kind: str, error: BaseException, faults: FaultPlan, *, minimise: bool) -> Failure:
        """The failure of a run, with its smallest schedule and its commands."""
        deviations = stage.controller.deviations
        found = Schedule(deviations, slack=self.slack)
        if minimise:
            deviations, faults = shrink(partial(self._attempt, kind), deviations, faults)
        again, kind_again, error_again = self.run(Written(deviations), Placed(faults), log=True)
        if kind_again == kind and error_again is not None:
            error = error_again
        message = str(error).partition("\n")[0] or type(error).__name__
        smallest = Schedule(deviations, slack=self.slack)
        test = test_of("replay", (self.scenario, smallest.token), faults=faults, **self._options)
        return Failure(kind, message, found, smallest, tuple(again.log or ()), error, faults, test)

    @property
    def _options(self) -> dict[str, object]:
        allowed = {"allow_abends": sorted(self._allowed)} if self._allowed else {}
        return {**allowed, "may_wait": True} if self._may_wait else {**allowed}


def explore(
    scenario: Scenario,
    schedules: int = 1000,
    *,
    method: Method = "pct",
    seed: int = 1,
    depth: int = 3,
    preemptions: int | None = None,
    minimise: bool = True,
    allow_abends: Iterable[str] = (),
    may_wait: bool = False,
    slack: float = 0.0,
    longest: int = _LONGEST_RUN,
    stores: RecycledStores | None = None,
    shared: bool = False,
    faults: Iterable[AnyFault] = (),
    max_faults: int = 1,
) -> Exploration:
    """Run a scenario in many orders of its tasks, up to the first that fails.

    Orders that differ only in the order of requests on different queues, locks and files are run once.

    Args:
        scenario: a function of a Stage, on which it makes regions; ``help("tdqsim.testing.schedules")`` shows one.
        schedules: the largest number of schedules; the first is CICS order.
        method: ``pct`` (random) or ``exhaustive`` (the fewest switches first).
        seed: the seed of the first random schedule; the others have the seeds that follow.
        depth: how many orderings a bug may need (``pct``), 1 or more.
        preemptions: try every schedule with at most so many switches away from a task that could have continued, also
            if it is equivalent to another one (``exhaustive``); by default one schedule of each class, without limit.
        minimise: look for the smallest schedule, with the fewest faults, that fails in the same way.
        allow_abends: abend codes, and message ids or names of exceptions of jobs, that are no failure; ``*`` for all.
        may_wait: whether a task may wait for ever.
        slack: seconds by which the machine may be late: a deadline that is no further away, such as DTIMOUT or the end
            of a receive's wait, may come before a task that is ready. With 0 only what is due at the same moment may
            come in either order.
        longest: a run with more dispatches counts as endless.
        stores: the source of the regions' stores; by default a new one.
        shared: the tasks share state that does not go through CICS or IBM i, such as a Python list whose order matters;
            then no two turns commute.
        faults: each :class:`~tdqsim.faults.Fault` or :class:`~tdqsim.faults.MessageFault` happens at each command
            that it matches, whatever its ``nth``.
        max_faults: the largest number of faults in one run.

    Raises:
        ValueError: an argument is not allowed.
        UsageError: the scenario cannot be called with a Stage.
    """
    if reason := why_unusable(scenario, "stage"):
        raise UsageError(f"scenario: {reason}")
    if schedules < 1 or depth < 1 or (preemptions is not None and preemptions < 0):
        raise WrongValue("allowed are: schedules 1 or more, depth 1 or more, preemptions 0 or more")
    if not 0 <= slack < float("inf"):
        raise WrongValue(f"slack {slack!r}: allowed are 0 or more seconds")
    if method not in ("pct", "exhaustive"):
        raise WrongValue(f"method {method!r}: allowed are pct and exhaustive")
    every = method == "exhaustive" and preemptions is not None
    search = FaultSearch(
        candidates_of(faults, max_faults), max_faults, lambda: Explorer(reduce=not every, most=preemptions or 0)
    )
    with RecycledStores() as own:
        runner = _Runner(scenario, stores or own, allow_abends, longest, may_wait=may_wait, slack=slack, shared=shared)
        draw = Draw(seed, depth) if method == "pct" else None
        return _search(runner, search, schedules, draw, minimise=minimise, every=every)


def _search(
    runner: _Runner, search: FaultSearch, schedules: int, draw: Draw | None, *, minimise: bool, every: bool
) -> Exploration:
    count = 0
    different: set[int] = set()
    while (trial := search.next()) and count < schedules and search.repeated <= _REPEATED * schedules:
        walk = trial.explorer.walk(draw.policy(trial.explorer) if draw is not None else None)
        stage, kind, error = runner.run(walk, trial.placed)
        if not search.ended(walk, stage.faults):
            continue
        if error is None and draw is None and not trial.explorer.steady:
            kind, error = "changing run", Broken("changing run", _CHANGES)
        count += 1
        different.add(identity(stage.controller.turns) if every else count)
        if draw is not None:
            draw.steps = max(draw.steps, len(stage.controller.steps))
        if error is not None:
            failure = runner.failure(stage, kind, error, trial.placed.plan, minimise=minimise)
            return Exploration(
                count, len(different), complete=False, failure=failure, failed_at=count, repeated=search.repeated,
                remaining=search.remaining,
            )  # fmt: skip
    return Exploration(
        count, len(different), complete=search.complete, failure=None, repeated=search.repeated,
        remaining=search.remaining,
    )  # fmt: skip


def replay(
    scenario: Scenario,
    schedule: Schedule | str,
    *,
    allow_abends: Iterable[str] = (),
    may_wait: bool = False,
    faults: FaultPlan | Iterable[AnyFault] = (),
) -> tuple[str, ...]:
    """Run a scenario once, in a given order.

    A switch that cannot be followed is left out. If the scenario passes all the same, a :class:`ScheduleWarning` says
    so, since a test that replays a failure then tests another order.

    Args:
        scenario: the function.
        schedule: a schedule or its token.
        allow_abends: abend codes that are no failure.
        may_wait: whether a task may wait for ever.
        faults: the faults that happen; they are used on each region and system that the scenario makes.

    Returns:
        The commands, in order.

    Raises:
        ScheduleFailure: it failed; the exception of the scenario is the cause.
        ValueError: the text is not a token.
    """
    given = Schedule.parse(schedule) if isinstance(schedule, str) else schedule
    stage = replayed(scenario, given, allow_abends=allow_abends, may_wait=may_wait, faults=faults)
    chosen = dict(enumerate(step.chosen for step in stage.controller.steps))
    left_out = [f"{step}={number}" for step, number in given.deviations if chosen.get(step) != number]
    if left_out:
        text = f"schedule {given.token}: this run did not come to {', '.join(left_out)}, so it tests another order"
        warnings.warn(f"{text}; explore the scenario anew", ScheduleWarning, stacklevel=2)
    return tuple(stage.log or ())


def replayed(
    scenario: Scenario,
    given: Schedule,
    *,
    allow_abends: Iterable[str] = (),
    may_wait: bool = False,
    faults: FaultPlan | Iterable[AnyFault] = (),
) -> Stage:
    """The stage at the end of a run that has passed; as :func:`replay`, but a switch that is left out is no matter."""
    plan = faults if isinstance(faults, FaultPlan) else FaultPlan(*faults)
    with RecycledStores() as stores:
        runner = _Runner(scenario, stores, allow_abends, _LONGEST_RUN, may_wait=may_wait, slack=given.slack)
        stage, kind, error = runner.run(policy_of(given), Placed(plan), log=True)
    if error is not None:
        message = str(error).partition("\n")[0] or type(error).__name__
        smallest = Schedule(stage.controller.deviations, slack=given.slack)
        failure = Failure(kind, message, given, smallest, tuple(stage.log or ()), error, plan)
        raise ScheduleFailure(str(failure), failure) from error
    return stage
