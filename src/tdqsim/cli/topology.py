"""``tdq topology``: what leads where, from the definitions of region directories, as a page, a table or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tdqsim.cli.errors import InputError
from tdqsim.cli.output import emit, emit_json, emit_table

if TYPE_CHECKING:
    from tdqsim.report.topology import Owner

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)


@app.command("topology")
def topology(
    directories: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR]...", help="Region or system directories; the current one when none is given."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write it as one HTML page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write nodes and edges as JSON.")] = False,
) -> None:
    """Show what leads where: aliases, queues, triggers and their transactions, data sets, remote queues, links.

    Only definitions are read: nothing is opened, imported or run. Several directories are drawn together, a remote
    queue leading to the region that has it.
    """
    from tdqsim.cli.run_page import check_page  # noqa: PLC0415  (a command imports what it uses)
    from tdqsim.report.page import Page  # noqa: PLC0415
    from tdqsim.report.topology import topology as of  # noqa: PLC0415

    if out is not None:
        check_page(out)
    owners = [_owner(each) for each in directories] if directories else [_owner(None)]
    found = of(owners)
    if as_json:
        emit_json(found.as_dict())
    if out is not None:
        names = ", ".join(owner.name for owner in owners)
        page = Page(f"Topology of {names}", lead=f"{len(found.nodes):,} queues and targets, {len(found.edges):,} ways.")
        page.add("What leads where", found.picture())
        page.write(out)
        if not as_json:
            emit(f"{out}: {len(found.nodes):,} queues and targets, {len(found.edges):,} ways")
    elif not as_json:
        table = found.table()
        emit_table(table.heads, table.rows)


def _owner(directory: Path | None) -> Owner:
    """The region or IBM i system of a directory."""
    from tdqsim.cli.place import Place  # noqa: PLC0415
    from tdqsim.cli.run_page import owner_of  # noqa: PLC0415
    from tdqsim.report.topology import Owner  # noqa: PLC0415
    from tdqsim.server.systemfile import SYSTEM_FILE_NAME, load_system_file  # noqa: PLC0415

    where = directory or Path()
    if (where / SYSTEM_FILE_NAME).is_file() and not (where / "region.yaml").is_file():
        system, definitions = load_system_file(where)
        return Owner(system.name, "", definitions)
    place = Place(directory)
    if place.directory is None:
        raise InputError("whose topology? Name a region directory (with region.yaml), or a system's (system.yaml)")
    return owner_of(place.load_definitions(), place.region_file())
