"""A trace of a task's COBOL programs: each statement, and each command with its arguments, with the source line.

>>> from tdqsim.cobol import Trace
>>> trace = Trace()   # CobolPrograms(..., on_statement=trace)
>>> trace.lines
[]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdqsim.cobol.level import Level


@dataclass(frozen=True, slots=True)
class Traced:
    """One step.

    Attributes:
        task: the task's number.
        program: the program of the level.
        place: the user's file and line.
        what: the statement's verb, or the command, such as ``EXEC CICS READQ TD QUEUE('IN') INTO(WS-REC)``.
    """

    task: int
    program: str
    place: str
    what: str

    def __str__(self) -> str:
        return f"{self.task} {self.program} {self.place} {self.what}"


class Trace:
    """Collects the steps of all programs for which it is set.

    Attributes:
        steps: the steps in order, at most ``limit`` of them: the last ones.
    """

    def __init__(self, limit: int = 100_000) -> None:
        self.limit = limit
        self.steps: list[Traced] = []

    def __call__(self, level: Level, what: str, place: str) -> None:
        """Add a step."""
        self.steps.append(Traced(level.task.number, level.module.program, place, what))
        if len(self.steps) > 2 * self.limit:
            del self.steps[: -self.limit]

    @property
    def lines(self) -> list[str]:
        """The steps as text."""
        return [str(step) for step in self.steps[-self.limit :]]
