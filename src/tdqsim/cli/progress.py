"""A progress bar on a terminal, silence elsewhere."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import TYPE_CHECKING, Final, Self

from tdqsim.cli import on_demand

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_EVERY: Final = 0.2  # seconds between two updates of the screen


class Bar:
    """Shows the progress of an operation; a new label begins a new line.

    Args:
        wanted: False disables it even on a terminal.
    """

    def __init__(self, *, wanted: bool = True) -> None:
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._next = 0.0
        self._wanted = wanted and sys.stderr.isatty()

    def __enter__(self) -> Self:
        if self._wanted:
            drawn = on_demand.progress
            columns = (
                drawn.TextColumn("{task.description}"), drawn.BarColumn(), drawn.MofNCompleteColumn(),
                drawn.TimeElapsedColumn(),
            )  # fmt: skip
            # Drawn by update(), not by a separate thread, which would take processor time from the tasks.
            self._progress = drawn.Progress(
                *columns, console=on_demand.console.Console(stderr=True), auto_refresh=False
            )
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    @property
    def due(self) -> bool:
        """Whether the bar is visible and its last update is long enough ago for another."""
        return self._progress is not None and perf_counter() >= self._next

    def update(self, label: str, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` (0: unknown) are complete."""
        if self._progress is None or not (self.due or done == total):
            return
        self._next = perf_counter() + _EVERY
        if label not in self._tasks:
            self._tasks[label] = self._progress.add_task(label, total=total or None)
        self._progress.update(self._tasks[label], completed=done, total=total or None, refresh=True)
