"""The stages of the data pipeline: ingest, load, replay, reconcile, report, and all of them as one run.

A stage is a plan, a plain function of a task, and a manifest. The function reads and writes files itself and gives one
row; tests call it without Spark. :mod:`~tdqsim.pipeline.stages.engine` runs it over many tasks, in this process or as
Spark tasks, with the same results: nothing in a task's output depends on which process made it, on how many there were,
or on the order in which they ran.

Nothing is imported here; each module is asked for by name.
"""

from __future__ import annotations

__all__: list[str] = []
