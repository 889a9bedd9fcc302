"""Commands for operators: CEMT, CECI, statistics, jobs given to the internal reader, SYSOUT."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Annotated, Any, Final, cast
from zoneinfo import ZoneInfo

import typer

from tdqsim import datasets
from tdqsim.cli import on_demand, statistics_file
from tdqsim.cli.completing import offered_places
from tdqsim.cli.errors import Exit, InputError, warn
from tdqsim.cli.output import emit, emit_json, emit_table
from tdqsim.cli.place import Place, at_place, looking, looking_here, say_forgotten, say_unknown, unknown_outside, using
from tdqsim.cli.selection import supplied
from tdqsim.cli.watch import behind
from tdqsim.errors import TdqError

if TYPE_CHECKING:
    from tdqsim.cics import Region
    from tdqsim.cli.served import ServedRegion
    from tdqsim.datasets.jobs import SubmittedJob

app = typer.Typer(rich_markup_mode=None)

_Row = dict[str, Any]

Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]
Text = Annotated[
    str | None,
    typer.Argument(
        metavar="COMMAND",
        help="One command; without it, a session that you end with END.",
        autocompletion=offered_places,
    ),
]


def _session(prompt: str, act: Callable[[str], bool]) -> bool:
    """Execute lines of the input until END or its end; return whether all of them succeeded."""
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
@at_place()
def cemt(
    place: Place,
    text: Text = None,
    panel: Annotated[
        bool, typer.Option("--panel", help="Show each resource as with ENTER on its line: one attribute a line.")
    ] = False,
    as_json: Json = False,
) -> None:
    """CEMT INQUIRE, SET and DISCARD TDQUEUE, with its abbreviations and its screen."""
    only_looks, only_syntax = (False, False) if text is None else _kind(text)
    if not only_looks:
        place.require_target()

    def act(region: Region | ServedRegion, request: str) -> bool:
        if not isinstance(region, on_demand.cics.Region):
            if panel:
                raise InputError("--panel: a server shows lines only; --json has every attribute")
            answer = region.cemt(request)
            _emit_screen({**answer}, as_json=as_json)
            return not answer["errors"]
        result = on_demand.cemt.cemt(region, request)
        screen = "\n".join(map(result.panel, result.rows)) if panel and result.rows else result.text
        _emit_screen({"text": screen, **result.as_dict()}, as_json=as_json)
        if result.request.resource == "TDQUEUE":
            say_unknown(unknown_outside(region).intersection(row.name.rstrip() for row in result.rows))
        if text is not None and result.request.verb == "SET" and result.errors < len(result.rows):
            say_forgotten(result.request.resource, result.request.values)
        return not result.errors

    with looking(place, anywhere=only_syntax) if only_looks else using(place) as region:
        well = act(region, text) if text is not None else _session("CEMT", lambda line: act(region, line))
    if not well:
        raise typer.Exit(Exit.CONDITION)


def _emit_screen(answer: dict[str, Any], *, as_json: bool) -> None:
    """The screen of CEMT or CECI, or its parts."""
    text = answer.pop("text")
    if as_json:
        emit_json(answer)
    else:
        emit(text)


def _kind(text: str) -> tuple[bool, bool]:
    """Whether a request only reads, and whether it only asks for syntax."""
    try:
        request = on_demand.cemt_request.parse_cemt(text)
    except on_demand.cemt_request.CemtError as error:
        raise InputError(str(error)) from error
    return request.syntax_only or request.verb == "INQUIRE", request.syntax_only


@app.command("ceci")
@at_place(changes=True)
def ceci(
    place: Place,
    text: Text = None,
    as_json: Json = False,
) -> None:
    """CECI: issue EXEC CICS commands; a session is one unit of work until it ends.

    The exit code is 1 if a command ends in a condition, or a task that it has started abends.
    """
    with (
        using(place, start=True) as region,
        behind(region) as outcome,
        on_demand.ceci.session(region)
        if isinstance(region, on_demand.cics.Region)
        else region.unit_of_work() as session,
    ):

        def act(request: str) -> bool:
            if not isinstance(session, on_demand.ceci.CeciSession):
                answer = session.ceci(request)
                _emit_screen({**answer}, as_json=as_json)
                return bool(answer["response"] == "NORMAL")
            try:
                result = session.execute(request)
            except on_demand.exec_text.TranslationError as error:
                raise InputError(str(error)) from error
            _emit_screen({"text": result.text, **result.as_dict()}, as_json=as_json)
            return result.response is on_demand.facts.Resp.NORMAL

        well = act(text) if text is not None else _session("CECI", act)
    outcome.tell()
    if not well:
        raise typer.Exit(Exit.CONDITION)


# -- statistics -------------------------------------------------------------------------------------------------------


@app.command("stats")
@at_place()
def stats(
    place: Place,
    everything: Annotated[bool, typer.Option("--all", help="Also queues without any counts.")] = False,
    report: Annotated[bool, typer.Option("--report", help="Show all types, as a report like that of DFHSTUP.")] = False,
    as_json: Json = False,
) -> None:
    """Show the statistics that the last `tdq run` on the store wrote at its end; otherwise the current ones."""
    show_statistics(place, everything=everything, report=report, as_json=as_json)


def show_statistics(place: Place, *, everything: bool, report: bool, as_json: bool) -> None:
    """Print the statistics of the last run on the store, or the current ones, as a table, a report or JSON."""
    statistics = None
    applid = ""
    with place.served() as served:
        if served is not None:
            statistics, applid = cast("dict[str, Any]", served.statistics()), served.applid
    if statistics is None and place.store is not None:
        statistics = statistics_file.read(place.store)
        applid = "" if statistics is None else statistics.pop("applid", "")
    if statistics is None:
        with looking_here(place) as looked:
            statistics, applid = looked.statistics.now().as_dict(), looked.applid
            say_unknown(unknown_outside(looked) - supplied(looked))
    queues = [queue for queue in statistics["queues"] if everything or any(queue[name] for name in _COUNTED)]
    if as_json:
        emit_json({**statistics, "queues": queues})
        return
    if report:
        from tdqsim.cics.spi.statistics_report import statistics_report  # noqa: PLC0415  (needed with --report only)

        emit(statistics_report({**statistics, "queues": queues}, applid).rstrip("\n"))
        return
    emit_table(("field", "value"), statistics["total"].items())
    emit_table(("name", "type", *_COUNTED), ([queue[name] for name in ("name", "type", *_COUNTED)] for queue in queues))


_COUNTED: Final = ("writes", "reads", "deletes", "triggers", "items", "peak_items", "cis_in_use", "peak_cis")


# -- jobs -------------------------------------------------------------------------------------------------------------


@app.command("jobs")
@at_place(changes=True)
def jobs(
    place: Place,
    job: Annotated[
        str,
        typer.Argument(
            metavar="JOB",
            help="Show the cards of this job: JOB00001, or a job name.",
            autocompletion=offered_places,
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """The jobs that were submitted through the internal reader, and their cards."""
    _show_jobs(place, job, as_json=as_json)


def _show_jobs(place: Place, job: str, *, as_json: bool) -> None:
    with place.served() as served:
        listed = _jobs_there(served) if served is not None else None
        if listed is None:
            with looking_here(place) as region:
                listed = [(_job_row(each, region.options.zone), each.text()) for each in region.jobs]
        chosen = [(row, lines) for row, lines in listed if job.upper() in ("", row["id"], row["name"])]
    if job and not chosen:
        raise InputError(f"there is no job {job.upper()}; tdq output lists them")
    if as_json:
        emit_json([{**row, "lines": lines} for row, lines in chosen])
    elif job:
        for _row, lines in chosen:
            emit("\n".join(lines))
    else:
        emit_table(
            ("id", "name", "cards", "taken", "submitter", "scan"), (list(row.values()) for row, _lines in chosen)
        )


def _job_row(job: SubmittedJob, zone: tzinfo) -> _Row:
    return _row_values(job.id, job.name, len(job.cards), job.time_ns, zone, job.submitter, scan=job.scan_only)


def _row_values(number: str, name: str, cards: int, time_ns: int, zone: tzinfo, submitter: str, *, scan: bool) -> _Row:
    taken = datetime.fromtimestamp(time_ns / 1e9, zone)
    return {
        "id": number,
        "name": name,
        "cards": cards,
        "taken": f"{taken:%Y-%m-%d %H:%M:%S}",
        "submitter": submitter,
        "scan": "SCAN" if scan else "",
    }


def _jobs_there(served: ServedRegion) -> list[tuple[dict[str, Any], list[str]]]:
    """The jobs in a server, with their cards; the cards of a long job need a separate request."""
    listed = []
    zone = ZoneInfo(served.about()["time_zone"])
    for each in served.jobs():
        row = _row_values(
            each["id"], each["name"], each["cards"], each["time_ns"], zone, each["submitter"], scan=each["scan"]
        )
        whole = len(each["lines"]) == each["cards"]
        listed.append((row, each["lines"] if whole else served.job(each["number"])))
    return listed


@app.command("output")
@at_place(changes=True)
def output(
    place: Place,
    which: Annotated[
        str,
        typer.Argument(
            metavar="JOB|NUMBER",
            help="Show the cards of a job (JOB00001, or its name), or print a SYSOUT data set by its number.",
            autocompletion=offered_places,
        ),
    ] = "",
    letter: Annotated[str, typer.Option("--class", metavar="CLASS", help="Only SYSOUT of this class.")] = "",
    as_json: Json = False,
) -> None:
    """List the SYSOUT data sets and the submitted jobs of a region, or show one of them."""
    if which.isdigit():
        _show_sysout(place, int(which), letter, as_json=as_json)
    elif which:
        _show_jobs(place, which, as_json=as_json)
    elif letter or as_json:
        _show_sysout(place, 0, letter, as_json=as_json)
    else:
        emit("SYSOUT data sets:")
        _show_sysout(place, 0, "", as_json=False)
        emit("\nJobs:")
        _show_jobs(place, "", as_json=False)


# -- SYSOUT -----------------------------------------------------------------------------------------------------------


@app.command("sysout")
@at_place(changes=True)
def sysout(
    place: Place,
    number: Annotated[
        int,
        typer.Argument(
            metavar="NUMBER",
            min=0,
            help="Print this data set, according to its print control characters.",
            autocompletion=offered_places,
        ),
    ] = 0,
    letter: Annotated[str, typer.Option("--class", metavar="CLASS", help="Only data sets of this class.")] = "",
    as_json: Json = False,
) -> None:
    """The SYSOUT data sets that output queues wrote, by class."""
    _show_sysout(place, number, letter, as_json=as_json)


def _show_sysout(place: Place, number: int, letter: str, *, as_json: bool) -> None:
    with place.served() as served:
        if served is not None:
            listed, texts = _printed_there(served, letter, number)
        else:
            with looking_here(place) as region:
                listed, texts = _printed_here(region, letter, number)
    if number and not listed:
        raise InputError(f"there is no SYSOUT data set {number}; tdq output lists them")
    columns = ("number", "class", "ddname", "control", "lines")
    rows = [(*(each[name] for name in columns[:-1]), len(texts[each["number"]])) for each in listed]
    if as_json:
        emit_json([{**dict(zip(columns, row, strict=True)), "text": texts[row[0]]} for row in rows])
    elif number:
        emit("\n".join(texts[number]))
    else:
        emit_table(columns, rows)


_Printed = tuple[list[_Row], dict[int, list[str]]]


def _printed_here(region: Region, letter: str, number: int) -> _Printed:
    """The data sets of a class, or the one with a number, and the lines of each."""
    spool = on_demand.internals.core_of(region).data_sets.spool
    chosen = [each for each in spool.datasets(letter.upper() or None) if number in (0, each.number)]
    texts = {
        each.number: list(datasets.render(spool.read(each), each.control, region.options.codepage)) for each in chosen
    }
    return [
        {"number": each.number, "class": each.sysout_class, "ddname": each.ddname, "control": each.control.name}
        for each in chosen
    ], texts


def _printed_there(served: ServedRegion, letter: str, number: int) -> _Printed:
    chosen = [each for each in served.sysout(letter.upper()) if number in (0, each["number"])]
    return [{**each} for each in chosen], {each["number"]: list(served.printed(each["number"])) for each in chosen}
