"""The test kit: inspect queues, control the clock, plan faults, crash, explore schedules, check histories.

The pytest plugin (:mod:`tdqsim.testing.plugin`) needs no import: it gives the fixtures ``tdq_region``,
``tdq_make_region``, ``tdq_sysplex``, ``tdq_system``, ``tdq_job``, ``tdq_clock``, ``tdq_explore``, ``tdq_crashes`` and
``tdq_target``. Everything else is imported from here; each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.cics.inspection.state import QueueState, Uncommitted
    from tdqsim.faults.active import ActivePlan
    from tdqsim.faults.hooks import HookChain, add_hook, remove_hook
    from tdqsim.faults.plan import Crashed, CrashPoint, DiskFull, Fault, FaultPlan, LinkCut, MessageFault, TornWrite
    from tdqsim.state.deadlock import Deadlock, find_deadlock, lost_triggers
    from tdqsim.testing._crash_runs import CrashFailure, CrashReport
    from tdqsim.testing._orders import Schedule
    from tdqsim.testing._stage import Stage as Stage
    from tdqsim.testing.assertions import assert_records, assert_resp, raises_condition
    from tdqsim.testing.checker import Anomaly, Verdict, check_history
    from tdqsim.testing.clock import FrozenClock, StillClock, Waiting, frozen, jump_to_next_deadline, waiting
    from tdqsim.testing.crash import enumerate_crashes, enumerate_sysplex_crashes, enumerate_system_crashes
    from tdqsim.testing.events import Event, JobEvent, load_history
    from tdqsim.testing.history import History
    from tdqsim.testing.marked import MarkedDefinitions as MarkedDefinitions
    from tdqsim.testing.marked import marked_definitions as marked_definitions
    from tdqsim.testing.outcome import Outcomes as Outcomes
    from tdqsim.testing.schedules import Exploration, Failure, ScheduleFailure, explore, replay
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
    "ActivePlan",
    "Anomaly",
    "Answer",
    "Call",
    "CrashFailure",
    "CrashPoint",
    "CrashReport",
    "Crashed",
    "Deadlock",
    "Difference",
    "DiskFull",
    "Event",
    "Exploration",
    "Failure",
    "Fault",
    "FaultPlan",
    "FrozenClock",
    "History",
    "HookChain",
    "JobAnswer",
    "JobEvent",
    "JobTarget",
    "LinkCut",
    "MessageFault",
    "QueueState",
    "RegionState",
    "Schedule",
    "ScheduleFailure",
    "SimulatedJobTarget",
    "SimulatedTarget",
    "StillClock",
    "SystemState",
    "Target",
    "TornWrite",
    "Transcript",
    "Uncommitted",
    "Verdict",
    "Waiting",
    "add_hook",
    "assert_records",
    "assert_resp",
    "check_history",
    "compare_transcript",
    "diff",
    "enumerate_crashes",
    "enumerate_sysplex_crashes",
    "enumerate_system_crashes",
    "explore",
    "find_deadlock",
    "frozen",
    "jump_to_next_deadline",
    "load_history",
    "load_records",
    "load_transcript",
    "lost_triggers",
    "raises_condition",
    "remove_hook",
    "replay",
    "seed",
    "snapshot",
    "stepped",
    "waiting",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tdqsim.cics.inspection.state": ("QueueState", "Uncommitted"),
        "tdqsim.faults.active": ("ActivePlan",),
        ".assertions": ("assert_records", "assert_resp", "raises_condition"),
        ".checker": ("Anomaly", "Verdict", "check_history"),
        ".clock": ("FrozenClock", "StillClock", "Waiting", "frozen", "jump_to_next_deadline", "waiting"),
        "._crash_runs": ("CrashFailure", "CrashReport"),
        "._orders": ("Schedule",),
        "._stage": ("Stage",),
        ".crash": ("enumerate_crashes", "enumerate_sysplex_crashes", "enumerate_system_crashes"),
        "tdqsim.state.deadlock": ("Deadlock", "find_deadlock", "lost_triggers"),
        ".events": ("Event", "JobEvent", "load_history"),
        "tdqsim.faults.plan": (
            "CrashPoint",
            "Crashed",
            "DiskFull",
            "Fault",
            "FaultPlan",
            "LinkCut",
            "MessageFault",
            "TornWrite",
        ),
        ".history": ("History",),
        "tdqsim.faults.hooks": ("HookChain", "add_hook", "remove_hook"),
        ".schedules": ("Exploration", "Failure", "ScheduleFailure", "explore", "replay"),
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
        ".marked": ("MarkedDefinitions", "marked_definitions"),
        ".outcome": ("Outcomes",),
    },
)
