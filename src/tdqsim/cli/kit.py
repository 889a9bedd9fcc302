"""``tdq coverage``: which commands, options and APIs of the vendors are simulated, and which of them tests use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tdqsim import testing
from tdqsim.cli import on_demand
from tdqsim.cli.errors import InputError
from tdqsim.cli.output import emit
from tdqsim.core.links import stays_here

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)

_SHOWN = 10


@app.command("coverage")
def coverage(
    evidence: Annotated[
        Path | None,
        typer.Option("--evidence", metavar="FILE", help="The file that pytest --tdq-evidence FILE has written."),
    ] = None,
    write: Annotated[Path | None, typer.Option("--write", metavar="FILE", help="Write the page to a file.")] = None,
    check: Annotated[
        Path | None,
        typer.Option("--check", metavar="FILE", help="Compare the file with the page, and fail if they differ."),
    ] = None,
) -> None:
    """List which commands, options and APIs are simulated, accepted without effect, not used by tests, or absent."""
    page = testing.coverage_page(None if evidence is None else on_demand.evidence.load_evidence(evidence))
    if check is not None:
        changed = on_demand.coverage.differences(check.read_text("utf-8"), page)
        if changed:
            more = [f"and {len(changed) - _SHOWN} more"] if len(changed) > _SHOWN else []
            lines = "\n".join([*changed[:_SHOWN], *more])
            raise InputError(f"{check}: the page is out of date; write it with --write {check}\n{lines}")
    elif write is not None:
        stays_here(write).write_text(page, "utf-8")
    else:
        emit(page.rstrip("\n"))
