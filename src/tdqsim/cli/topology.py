"""``tdq topology``: where queues lead, by definitions, or what flowed, by histories, as a page, a table or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tdqsim.cli import on_demand
from tdqsim.cli.errors import InputError
from tdqsim.cli.examples import example
from tdqsim.cli.extensions import extension
from tdqsim.cli.output import emit, emit_json, emit_table
from tdqsim.cli.target import RegionTarget, ServerOption
from tdqsim.core.control import Address

if TYPE_CHECKING:
    from tdqsim.report.topology import Site

app = typer.Typer(rich_markup_mode=None)


@app.command("topology")
def topology(
    directories: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DIR", help="Region or system directories; default: the current one."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it as one HTML page.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write nodes and edges as JSON.")] = False,
    histories: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="[NAME=]FILE",
            help="Show what flowed in this history of a region or system; repeatable. NAME is its APPLID or name.",
        ),
    ] = None,
    server: ServerOption = None,
) -> None:
    """Show where queues lead: aliases, triggers and their transactions, data sets, remote queues, links.

    For a directory that is served, the server returns its installed definitions. For others, only definition files are
    read: nothing is opened, imported or run. Several directories are drawn together; a remote queue then leads to the
    region that has it.

    With --from, show what happened instead: who wrote and read which queue, file and TS queue, and what was triggered
    or started by what, with counts. Give the directories too to tell data sets and remote queues from other queues.
    """
    if out is not None:
        on_demand.run_page.check_page(out)
    if histories:
        _flows(histories, directories or [], out, as_json=as_json)
        return
    owners = [_owner(each) for each in directories or ()]
    if server:
        owners += extension("server", "sites")(server)
    elif not owners:
        owners.append(_owner(None))
    result = on_demand.topology.topology(owners)
    if as_json:
        emit_json(result.as_dict())
    if out is not None:
        names = ", ".join(owner.name for owner in owners)
        counts = f"queues and targets: {len(result.nodes):,}, connections: {len(result.edges):,}"
        page = on_demand.page.Page(f"Topology of {names}", lead=f"{counts.capitalize()}.")
        page.add("Topology", result.picture())
        page.write(out)
        if not as_json:
            emit(f"{out}: {counts}")
    elif not as_json:
        table = result.table()
        emit_table(table.heads, table.rows)


def _flows(histories: list[str], directories: list[Path], out: Path | None, *, as_json: bool) -> None:
    """Show what flowed in histories."""
    sites = {site.name: site for site in map(_owner, directories)}
    alone = next(iter(sites)) if len(sites) == len(histories) == 1 else ""
    found = on_demand.flows.Flows()
    for each in histories:
        name, _, path = each.rpartition("=")
        if not Path(path).is_file():
            raise InputError(f"--from {each}: there is no file {path}")
        name = name.upper() or alone or Path(path).stem.upper()
        digest = on_demand.following.digest_of(on_demand.events.load_history(path))
        on_demand.history_sections.add_flows(found, digest, name, sites.get(name))
    found.ship()
    if as_json:
        emit_json(found.as_dict())
    if out is not None:
        page = on_demand.page.Page(
            f"What flowed: {', '.join(dict.fromkeys(each.owner for each in found.nodes.values()))}"
        )
        page.add("What flowed", *on_demand.history_sections.flow_parts(found))
        page.write(out)
        if not as_json:
            emit(f"{out}: {len(found.nodes):,} nodes, {len(found.flows):,} flows")
    elif not as_json:
        table = found.table()
        emit_table(table.heads, table.rows)


def _owner(directory: Path | None) -> Site:
    """The region or IBM i system of a directory."""
    where = directory or Path()
    here = example(where) or where
    served: Site | None = extension("server", "site")(here) if Address.find(here) is not None else None
    if served is not None:
        return served
    if (where / on_demand.systemfile.SYSTEM_FILE_NAME).is_file() and not (where / "region.yaml").is_file():
        system, definitions = on_demand.systemfile.load_system_file(where)
        return on_demand.topology.Site(system.name, "", definitions)
    target = RegionTarget(directory)
    if target.directory is None:
        raise InputError(
            "no directory: name a region directory (with region.yaml) or a system directory (with system.yaml)"
        )
    return on_demand.run_page.owner_of(target.load_definitions(), target.region_file())
