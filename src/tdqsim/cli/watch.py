"""What a command starts and does not wait for: its abends are told, and make the command's exit code 1."""

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
    from tdqsim.client import RemoteRegion

__all__ = ["Behind", "behind"]


class Behind:
    """What went wrong behind a command; a trigger that found no program is only told."""

    def __init__(self) -> None:
        self.outcomes = Outcomes()

    def tell(self) -> None:
        """Say it.

        Raises:
            typer.Exit: with exit code 1, a task abended.
        """
        found = self.outcomes.unexpected()
        for each in found:
            warn(each.text)
        if any(each.strand is not None for each in found):
            raise typer.Exit(Exit.CONDITION)


@contextmanager
def behind(region: Region | RemoteRegion) -> Iterator[Behind]:
    """Watch the tasks of a region while a command works; then run those that are ready."""
    told = Behind()
    if not isinstance(region, on_demand.cics.Region):
        yield told  # in a server, which runs its tasks and logs what becomes of them
        return
    told.outcomes.watch(region)
    region.dispatcher.on_dispatch = told.outcomes.dispatched
    try:
        yield told
        region.run()
    finally:
        told.outcomes.dispatched(None)
        region.dispatcher.on_dispatch = None
