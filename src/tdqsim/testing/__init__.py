"""The test kit: assertions, records for queues, the clock, crashes, orders of tasks, histories, transcripts.

The pytest plugin (:mod:`tdqsim.testing.plugin`) needs no import: it gives the fixtures ``tdq_region``,
``tdq_make_region``, ``tdq_sysplex``, ``tdq_system``, ``tdq_job``, ``tdq_clock``, ``tdq_explore``, ``tdq_crashes`` and
``tdq_target``. The rest is imported from here, and loaded when it is first used. Fault plans and hooks of commands are
in :mod:`tdqsim.faults`, the state of queues and deadlocks in :mod:`tdqsim.state`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.testing._crash_runs import CrashFailure, CrashReport
    from tdqsim.testing._orders import Schedule
    from tdqsim.testing._stage import Stage as Stage
    from tdqsim.testing.assertions import assert_records, assert_resp, raises_condition
    from tdqsim.testing.checker import Anomaly, Verdict, check_history
    from tdqsim.testing.clock import FrozenClock, StillClock, Waiting, frozen, jump_to_next_deadline, waiting
    from tdqsim.testing.crash import enumerate_crashes, enumerate_sysplex_crashes, enumerate_system_crashes
    from tdqsim.testing.events import Event, JobEvent, load_history
    from tdqsim.testing.history import History
    from tdqsim.testing.marked import marked_definitions as marked_definitions
    from tdqsim.testing.outcome import Outcomes as Outcomes
    from tdqsim.testing.schedules import Exploration, Failure, ScheduleFailure, ScheduleWarning, explore, replay
    from tdqsim.testing.seeding import load_records, seed
    from tdqsim.testing.snapshots import RegionState, SystemState, diff, snapshot
    from tdqsim.testing.stepping import stepped
    from tdqsim.testing.stores import RecycledStores as RecycledStores
    from tdqsim.testing.verified import (
        Answer,
        Call,
        Difference,
        SimulatedTarget,
        Target,
        Transcript,
        compare_transcript,
        load_transcript,
    )
    from tdqsim.testing.verified_jobs import JobAnswer, JobTarget, SimulatedJobTarget

# Names that are imported as themselves are for other packages of this repository, without a promise.
__all__ = [
    "Anomaly",
    "Answer",
    "Call",
    "CrashFailure",
    "CrashReport",
    "Difference",
    "Event",
    "Exploration",
    "Failure",
    "FrozenClock",
    "History",
    "JobAnswer",
    "JobEvent",
    "JobTarget",
    "RegionState",
    "Schedule",
    "ScheduleFailure",
    "ScheduleWarning",
    "SimulatedJobTarget",
    "SimulatedTarget",
    "StillClock",
    "SystemState",
    "Target",
    "Transcript",
    "Verdict",
    "Waiting",
    "assert_records",
    "assert_resp",
    "check_history",
    "compare_transcript",
    "diff",
    "enumerate_crashes",
    "enumerate_sysplex_crashes",
    "enumerate_system_crashes",
    "explore",
    "frozen",
    "jump_to_next_deadline",
    "load_history",
    "load_records",
    "load_transcript",
    "raises_condition",
    "replay",
    "seed",
    "snapshot",
    "stepped",
    "waiting",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".assertions": ("assert_records", "assert_resp", "raises_condition"),
        ".checker": ("Anomaly", "Verdict", "check_history"),
        ".clock": ("FrozenClock", "StillClock", "Waiting", "frozen", "jump_to_next_deadline", "waiting"),
        "._crash_runs": ("CrashFailure", "CrashReport"),
        "._orders": ("Schedule",),
        "._stage": ("Stage",),
        ".crash": ("enumerate_crashes", "enumerate_sysplex_crashes", "enumerate_system_crashes"),
        ".events": ("Event", "JobEvent", "load_history"),
        ".history": ("History",),
        ".schedules": ("Exploration", "Failure", "ScheduleFailure", "ScheduleWarning", "explore", "replay"),
        ".seeding": ("load_records", "seed"),
        ".snapshots": ("RegionState", "SystemState", "diff", "snapshot"),
        ".stepping": ("stepped",),
        ".stores": ("RecycledStores",),
        ".verified": (
            "Answer",
            "Call",
            "Difference",
            "SimulatedTarget",
            "Target",
            "Transcript",
            "compare_transcript",
            "load_transcript",
        ),
        ".verified_jobs": ("JobAnswer", "JobTarget", "SimulatedJobTarget"),
        ".marked": ("marked_definitions",),
        ".outcome": ("Outcomes",),
    },
)
