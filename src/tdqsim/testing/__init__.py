"""The test kit: see queues, own the clock, fail on demand, crash, try schedules, and be told why.

The pytest plugin (:mod:`tdqsim.testing.plugin`) needs no import: it gives the fixtures ``tdq_region``,
``tdq_make_region``, ``tdq_sysplex``, ``tdq_system``, ``tdq_job``, ``tdq_clock``, ``tdq_explore``, ``tdq_crashes`` and
``tdq_target``. Everything else is imported from here; each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

_MODULES: Final = {
    "assertions": ("assert_records", "assert_resp", "raises_condition"),
    "checker": ("Anomaly", "Verdict", "check_history"),
    "clock": ("FrozenClock", "StillClock", "Waiting", "frozen", "jump_to_next_deadline", "waiting"),
    "coverage": ("coverage_page",),
    "crash": ("CrashFailure", "CrashReport", "Crashed", "enumerate_crashes"),
    "deadlock": ("Deadlock", "find_deadlock", "lost_triggers"),
    "faults": ("CrashPoint", "DiskFull", "Fault", "FaultPlan", "LinkCut", "MessageFault"),
    "history": ("Event", "History", "load_history"),
    "hooks": ("HookChain", "add_hook", "remove_hook"),
    "schedules": ("Exploration", "Failure", "Schedule", "Stage", "explore", "replay"),
    "seeding": ("load_records", "seed"),
    "snapshots": ("QueueState", "RegionState", "Uncommitted", "diff", "snapshot"),
    "stores": ("RecycledStores",),
    "verified": ("Call", "Difference", "SimulatedTarget", "Target", "Transcript", "compare_transcript"),
}
_MODULE_OF: Final = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
