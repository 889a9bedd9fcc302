"""What a command asks for and does not wait for: abends, and what does not happen, are told, with exit code 1."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from tdqsim.cli import on_demand
from tdqsim.cli.errors import Exit, warn
from tdqsim.testing.outcome import Outcomes

if TYPE_CHECKING:
    from tdqsim.cics import Region
    from tdqsim.cli.served import ServedRegion


class Behind:
    """Failures of tasks that a command started, and what did not happen."""

    def __init__(self) -> None:
        self.outcomes = Outcomes()

    def tell(self) -> None:
        """Print the failures, and what may be unexpected.

        Raises:
            typer.Exit: a task abended, or something did not happen; the exit code is 1.
        """
        failures = self.outcomes.unexpected()
        for each in failures:
            warn(each.text)
        for notice in self.outcomes.notices:
            if notice.severity == "warning":
                warn(str(notice))
        if failures:
            raise typer.Exit(Exit.CONDITION)


@contextmanager
def behind(region: Region | ServedRegion) -> Iterator[Behind]:
    """Watch the tasks of a region while a command runs; then run those that are ready."""
    failures = Behind()
    if not isinstance(region, on_demand.cics.Region):
        yield failures  # the server runs the tasks and logs their abends
        return
    failures.outcomes.watch(region)
    region.dispatcher.on_dispatch = failures.outcomes.dispatched
    try:
        yield failures
        region.run()
    finally:
        failures.outcomes.dispatched(None)
        region.dispatcher.on_dispatch = None
