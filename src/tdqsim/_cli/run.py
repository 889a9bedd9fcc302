"""``tdq run``: start a region, its transactions and its job, and run until nothing can go on."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tdqsim._cli.errors import Exit, InputError, warn
from tdqsim._cli.output import emit, emit_json, emit_table
from tdqsim._cli.place import DdOption, DefinitionsOption, Place, StoreOption
from tdqsim._cli.progress import Bar
from tdqsim._cli.workdir import output_directory

if TYPE_CHECKING:
    from tdqsim.cics import Region
    from tdqsim.definitions.regionfile import RegionFile
    from tdqsim.job import Job, JobResult

__all__ = ["app"]

app = typer.Typer()

_LOOK_EVERY: Final = 0.1  # seconds between two looks at the progress
_INQUIRED: Final = ("TYPE", "ENABLESTATUS", "NUMITEMS", "TRIGGERLEVEL", "ATITRANID", "DDNAME", "INDIRECTNAME")


@app.command("run")
def run(
    region: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="The region directory; default: the current one.")
    ] = None,
    definitions: DefinitionsOption = None,
    handlers: Annotated[
        list[str] | None, typer.Option("--handlers", metavar="MODULE", help="A Python module with handlers; repeatable.")
    ] = None,
    start: Annotated[
        list[str] | None, typer.Option("--start", metavar="TRANSID", help="A transaction to start; repeatable.")
    ] = None,
    store: StoreOption = None,
    dd: DdOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where data sets go that no DD card names.")
    ] = None,
    records: Annotated[int | None, typer.Option(min=0, help="How many records a job generates.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the order of ready tasks, and of what is generated.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object, on the last line.")] = False,
) -> None:
    """Run a region: its transactions, its job, until nothing can go on; then show its queues and check the outcome."""
    place = Place(region, definitions or [], store, dd or [])
    request = _Request(place, handlers or [], start or [], out, records, seed)
    with Bar(wanted=not as_json) as bar:
        report = _carry_out(request, bar)
    if as_json:
        emit_json(report.as_dict(), indent=None)
    else:
        report.show()
    if not report.ok:
        raise typer.Exit(Exit.CONDITION)
