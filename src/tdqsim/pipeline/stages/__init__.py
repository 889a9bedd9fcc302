"""The stages of the data pipeline: ingest, load, replay, reconcile, report, and all of them as one run.

A stage is a :mod:`~tdqsim.pipeline.stages.plan`: steps, each with its tasks and a plain function that does one of
them. The function reads and writes files itself and returns a receipt; tests call it without Spark. A runner
(:mod:`~tdqsim.pipeline.stages.runners`) executes plans, in this process or as Spark tasks, with the same results: a
task's output does not depend on the process, on the number of processes, or on the order of the tasks.

The modules are loaded when they are first used as attributes of this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.late import load_modules

if TYPE_CHECKING:
    from tdqsim.pipeline.stages import commands as commands
    from tdqsim.pipeline.stages import ingest as ingest
    from tdqsim.pipeline.stages import load as load
    from tdqsim.pipeline.stages import replay as replay
    from tdqsim.pipeline.stages import report as report
    from tdqsim.pipeline.stages import run as run
    from tdqsim.pipeline.stages import runners as runners

__getattr__ = load_modules(
    __name__,
    [f"{__name__}.{name}" for name in ("commands", "ingest", "load", "replay", "report", "run", "runners")],
)
