"""The description of the pipeline's work: steps, and plans made of steps.

A *step* describes work without saying where it is done: its tasks (each with a digest of the inputs that its result
depends on), the function that does one task, and the folder that holds its files. The function reads and writes files
itself and returns a receipt. When all tasks are done, the step's manifest is published.

A *plan* is a generator of steps. It receives the receipts of each step, and may use them to make the next one: the
counts of one step assign regions to the tasks of another. Plans are combined with ``yield from``; a whole run is the
plans of its stages, one after another. A plan does not know which runner executes it: see
:mod:`~tdqsim.pipeline.stages.runners`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from tdqsim.pipeline.stages.manifest import Receipt, StageTask

T = TypeVar("T", bound=StageTask)
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class TaskStep(Generic[T]):
    """Tasks and the function that does each of them.

    Attributes:
        name: also the name of its manifest.
        run: the run's directory, local or in an object store.
        tasks: all tasks, finished or not.
        work: does one task.
        folder: the folder in the run's directory that belongs to this step alone; files that an earlier run with other
            arguments left there are removed before the manifest is published. Empty if it has none.
        apart: whether the function may end the process that it is in, because it runs the user's programs.
    """

    name: str
    run: Path
    tasks: Sequence[T]
    work: Callable[[T], Receipt]
    folder: str = ""
    apart: bool = False


Plan = Generator[TaskStep[Any], list[Receipt], R]
"""Yields steps, receives the receipts of each in the order of its buckets, and returns the plan's result."""
