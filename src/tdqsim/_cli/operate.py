"""The operator's faces: CEMT, CECI, statistics, jobs given to the internal reader."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tdqsim._cli.errors import Exit, warn
from tdqsim._cli.output import emit, emit_json, emit_table
from tdqsim._cli.place import DdOption, DefinitionsOption, Place, RegionOption, StoreOption, looking, using

if TYPE_CHECKING:
    from tdqsim.cics import Region

__all__ = ["app"]

app = typer.Typer()

Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]
Text = Annotated[str | None, typer.Argument(metavar="[COMMAND]", help="One command; without it, a session.")]


def _session(prompt: str, act: Callable[[str], bool]) -> bool:
    """Lines from the input until END or the end of it; whether all of them went well."""
    from tdqsim.errors import TdqError  # noqa: PLC0415  (a command imports what it uses)

    well = True
    interactive = sys.stdin.isatty()
    while True:
        if interactive:
            sys.stdout.write(f"{prompt}> ")
            sys.stdout.flush()
        line = sys.stdin.readline()
        if not line or line.strip().upper() in ("END", "EXIT", "QUIT"):
            return well
        if not line.strip():
            continue
        try:
            well = act(line.strip()) and well
        except TdqError as error:
            warn(str(error))
            well = False


@app.command("cemt")
def cemt(
    text: Text = None,
    region: RegionOption = None,
    definitions: DefinitionsOption = None,
    store: StoreOption = None,
    dd: DdOption = None,
    as_json: Json = False,
) -> None:
    """CEMT INQUIRE, SET and DISCARD TDQUEUE, with its abbreviations and its screen."""
    from tdqsim.cics.cemt import cemt as operate  # noqa: PLC0415
    from tdqsim.cics.cemt_request import parse_cemt  # noqa: PLC0415

    place = Place(region, definitions or [], store, dd or [])
    only_looks = text is not None and parse_cemt(text).verb == "INQUIRE"
    if not only_looks:
        place.require_store()

    def act(found: Region, request: str) -> bool:
        result = operate(found, request)
        if as_json:
            emit_json(result.as_dict())
        else:
            emit(result.text)
        return not result.errors

    with looking(place) if only_looks else using(place) as found:
        well = act(found, text) if text is not None else _session("CEMT", lambda line: act(found, line))
    if not well:
        raise typer.Exit(Exit.CONDITION)


@app.command("ceci")
def ceci(
    text: Text = None,
    region: RegionOption = None,
    definitions: DefinitionsOption = None,
    store: StoreOption = None,
    dd: DdOption = None,
    as_json: Json = False,
) -> None:
    """CECI: issue EXEC CICS commands; a session is one unit of work until it ends."""
    from tdqsim.cics.ceci import session as ceci_session  # noqa: PLC0415
    from tdqsim.facts import Resp  # noqa: PLC0415

    place = Place(region, definitions or [], store, dd or [])
    place.require_store()
    with using(place) as found, ceci_session(found) as session:

        def act(request: str) -> bool:
            result = session.execute(request)
            if as_json:
                emit_json(result.as_dict())
            else:
                emit(result.text)
            return result.response is Resp.NORMAL

        well = act(text) if text is not None else _session("CECI", act)
    if not well:
        raise typer.Exit(Exit.CONDITION)


@app.command("stats")
def stats(
    region: RegionOption = None,
    definitions: DefinitionsOption = None,
    store: StoreOption = None,
    dd: DdOption = None,
    as_json: Json = False,
) -> None:
    """The statistics of the queues and of transient data as a whole."""
    with looking(Place(region, definitions or [], store, dd or [])) as found:
        whole, queues = _statistics(found)
    if as_json:
        emit_json({"global": whole, "tdqueues": queues})
        return
    emit_table(("field", "value"), whole.items())
    if queues:
        columns = list(dict.fromkeys(name for row in queues for name in row))
        emit_table(columns, ([row.get(name) for name in columns] for row in queues))


def _statistics(region: Region) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    collected = region.statistics.now().as_dict()
    return collected["total"], collected["queues"]


@app.command("jobs")
def jobs(
    region: RegionOption = None,
    definitions: DefinitionsOption = None,
    store: StoreOption = None,
    dd: DdOption = None,
    as_json: Json = False,
) -> None:
    """The jobs that were submitted through the internal reader."""
    raise NotImplementedError
