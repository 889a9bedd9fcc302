"""``tdq topology``: what leads where, from the definitions of region directories, as a page, a table or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tdqsim.cli.errors import InputError
from tdqsim.cli.output import emit, emit_json, emit_table

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command("topology")
def topology(
    directories: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR]...", help="Region directories; the current one when none is given."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write it as one HTML page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write nodes and edges as JSON.")] = False,
) -> None:
    """Show what leads where: aliases, queues, triggers and their transactions, data sets, remote queues, links.

    Only definitions are read: nothing is opened, imported or run. Several directories are drawn together, a remote
    queue leading to the region that has it.
    """
    from tdqsim.cli.place import Place  # noqa: PLC0415  (a command imports what it uses)
    from tdqsim.cli.run_page import check_page, owner_of  # noqa: PLC0415
    from tdqsim.report.page import Page  # noqa: PLC0415
    from tdqsim.report.topology import topology as of  # noqa: PLC0415

    places = [Place(directory) for directory in directories] if directories else [Place(None)]
    if any(place.directory is None for place in places):
        raise InputError("whose topology? Name a region directory (with region.yaml)")
    if out is not None:
        check_page(out)
    found = of(owner_of(place.load_definitions(), place.region_file()) for place in places)
    if as_json:
        emit_json(found.as_dict())
    if out is not None:
        names = ", ".join(place.region_file().applid for place in places)
        page = Page(f"Topology of {names}", lead=f"{len(found.nodes):,} queues and targets, {len(found.edges):,} ways.")
        page.add("What leads where", found.picture())
        page.write(out)
        if not as_json:
            emit(f"{out}: {len(found.nodes):,} queues and targets, {len(found.edges):,} ways")
    elif not as_json:
        table = found.table()
        emit_table(table.heads, table.rows)
