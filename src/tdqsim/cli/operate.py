"""Commands for operators: CEMT, CECI, statistics, jobs given to the internal reader, SYSOUT."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Annotated, Any, Final, cast
from zoneinfo import ZoneInfo

import typer

from tdqsim.cli import on_demand, statistics_file
from tdqsim.cli.completing import offered_regions
from tdqsim.cli.errors import Exit, InputError, warn
from tdqsim.cli.output import Json, emit, emit_json, emit_table
from tdqsim.cli.selection import supplied
from tdqsim.cli.target import (
    RegionTarget,
    changing,
    reading,
    reading_here,
    say_forgotten,
    say_unknown,
    takes_target,
    unknown_outside,
)
from tdqsim.cli.watch import behind
from tdqsim.errors import TdqError

if TYPE_CHECKING:
    from tdqsim.cics import Region
    from tdqsim.cli.served import ServedRegion
    from tdqsim.datasets.jobs import SubmittedJob

app = typer.Typer(rich_markup_mode=None)

_Row = dict[str, Any]

Text = Annotated[
    str | None,
    typer.Argument(
        metavar="COMMAND",
        help="One command; without it, a session that you end with END.",
        autocompletion=offered_regions,
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
@takes_target()
def cemt(
    target: RegionTarget,
    text: Text = None,
    panel: Annotated[
        bool, typer.Option("--panel", help="Show each resource as with ENTER on its line: one attribute a line.")
    ] = False,
    as_json: Json = False,
) -> None:
    """CEMT INQUIRE, SET and DISCARD of queues, tasks and units of work, with its abbreviations and its screen."""
    only_looks, only_syntax = (False, False) if text is None else _kind(text)
    if not only_looks:
        target.require_target()

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

    with reading(target, anywhere=only_syntax) if only_looks else changing(target) as region:
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
@takes_target(changes=True)
def ceci(
    target: RegionTarget,
    text: Text = None,
    as_json: Json = False,
) -> None:
    """CECI: issue EXEC CICS commands; a session is one unit of work until it ends.

    The exit code is 1 if a command ends in a condition, or a task that it has started abends.
    """
    with (
        changing(target, start=True) as region,
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


def show_statistics(target: RegionTarget, *, everything: bool, report: bool, as_json: bool) -> None:
    """Print the statistics of the last run on the store, or the current ones, as a table, a report or JSON."""
    statistics = None
    applid = ""
    with target.served() as served:
        if served is not None:
            statistics, applid = cast("dict[str, Any]", served.statistics()), served.applid
    if statistics is None and target.store is not None:
        statistics = statistics_file.read(target.store)
        applid = "" if statistics is None else statistics.pop("applid", "")
    if statistics is None:
        with reading_here(target) as looked:
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


# -- jobs and SYSOUT --------------------------------------------------------------------------------------------------


@app.command("output")
@takes_target(changes=True)
def output(
    target: RegionTarget,
    which: Annotated[
        str,
        typer.Argument(
            metavar="JOB|NUMBER",
            help="Show the cards of a job (JOB00001, or its name), or print a SYSOUT data set by its number.",
            autocompletion=offered_regions,
        ),
    ] = "",
    letter: Annotated[str, typer.Option("--class", metavar="CLASS", help="Only SYSOUT of this class.")] = "",
    as_json: Json = False,
) -> None:
    """List the SYSOUT data sets and the submitted jobs of a region, or show one of them."""
    is_job = bool(which) and not which.isdigit()
    if is_job and letter:
        raise InputError(f"--class selects SYSOUT data sets; {which} is a job")
    printed = [] if is_job else _printed(target, letter, which)
    jobs = [] if letter or (which and not is_job) else _jobs(target, which)
    if which and not printed and not jobs:
        what = f"job {which.upper()}" if is_job else f"SYSOUT data set {which}"
        raise InputError(f"there is no {what}; tdq output lists them")
    if which and as_json:
        emit_json(jobs or printed)
    elif which:
        emit("\n".join(line for each in jobs or printed for line in each["lines" if is_job else "text"]))
    elif as_json:
        emit_json({"sysout": printed} | ({} if letter else {"jobs": jobs}))
    else:
        emit("SYSOUT data sets:")
        _emit_rows(("number", "class", "ddname", "control", "lines"), printed)
        if not letter:
            emit("\nJobs:")
            _emit_rows(("id", "name", "cards", "taken", "submitter", "scan"), jobs)


def _emit_rows(columns: tuple[str, ...], rows: list[_Row]) -> None:
    emit_table(columns, ([row[name] for name in columns] for row in rows))


def _jobs(target: RegionTarget, job: str) -> list[_Row]:
    """The submitted jobs with their cards as ``lines``: all, or those with an ID or a name."""
    with target.served() as served:
        if served is not None:
            listed = _jobs_there(served)
        else:
            with reading_here(target) as region:
                listed = [_job_row(each, region.options.zone) | {"lines": each.text()} for each in region.jobs]
        return [row for row in listed if job.upper() in ("", row["id"], row["name"])]


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


def _jobs_there(served: ServedRegion) -> list[_Row]:
    """The jobs in a server, with their cards; the cards of a long job need a separate request."""
    listed = []
    zone = ZoneInfo(served.about()["time_zone"])
    for each in served.jobs():
        row = _row_values(
            each["id"], each["name"], each["cards"], each["time_ns"], zone, each["submitter"], scan=each["scan"]
        )
        whole = len(each["lines"]) == each["cards"]
        listed.append(row | {"lines": each["lines"] if whole else served.job(each["number"])})
    return listed


def _printed(target: RegionTarget, letter: str, number: str) -> list[_Row]:
    """The SYSOUT data sets of a class, or the one with a number, with what they print as ``text``."""
    with target.served() as served:
        if served is not None:
            listed = [(each, list(served.printed(each["number"])))
                      for each in served.sysout(letter.upper()) if number in ("", str(each["number"]))]  # fmt: skip
        else:
            with reading_here(target) as region:
                listed = list(_printed_here(region, letter, number))
    columns = ("number", "class", "ddname", "control")
    return [{**{name: each[name] for name in columns}, "lines": len(text), "text": text} for each, text in listed]


def _printed_here(region: Region, letter: str, number: str) -> Iterator[tuple[_Row, list[str]]]:
    spool = on_demand.internals.RegionInternals(region).spool
    for each in spool.datasets(letter.upper() or None):
        if number in ("", str(each.number)):
            row = {
                "number": each.number,
                "class": each.sysout_class,
                "ddname": each.ddname,
                "control": each.control.name,
            }
            yield row, list(spool.printed(each, region.options.code_page))
