"""``tdq run``: start a region, its transactions and its job, and run until no task can continue."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tdqsim.cli import on_demand, statistics_file
from tdqsim.cli.completing import offered_directories, offered_transactions
from tdqsim.cli.errors import Exit, InputError, warn
from tdqsim.cli.output import emit_json
from tdqsim.cli.progress import Bar
from tdqsim.cli.report import MESSAGES, Report
from tdqsim.cli.target import DdOption, DefinitionsOption, RegionTarget, StoreOption
from tdqsim.datasets.workdir import output_directory
from tdqsim.errors import TdqError
from tdqsim.job import JobRequest, named_class
from tdqsim.testing.outcome import Outcomes

if TYPE_CHECKING:
    from tdqsim.cics import Region
    from tdqsim.core.fiber import Fiber
    from tdqsim.core.notices import Notice
    from tdqsim.definitions.regionfile import RegionFile
    from tdqsim.job import JobClass

app = typer.Typer(rich_markup_mode=None)


@app.command("run")
def run(
    region: Annotated[
        Path | None,
        typer.Argument(
            metavar="DIR",
            help="The region directory; default: the current one.",
            autocompletion=offered_directories,
        ),
    ] = None,
    definitions: DefinitionsOption = None,
    handlers: Annotated[
        list[str] | None,
        typer.Option("--handlers", metavar="MODULE", help="A Python module with handlers; repeatable."),
    ] = None,
    start: Annotated[
        list[str] | None,
        typer.Option(
            "--start",
            metavar="TRANSID",
            help="A transaction to start; repeatable.",
            autocompletion=offered_transactions,
        ),
    ] = None,
    store: StoreOption = None,
    dd: DdOption = None,
    out: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="The directory of data sets that no DD card names."),
    ] = None,
    records: Annotated[int | None, typer.Option(min=0, help="The number of records that a job generates.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the order of ready tasks and of generated data.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object, on the last line.")] = False,
    page: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write a report of the run as one HTML page.")
    ] = None,
) -> None:
    """Run a region, its transactions and its job until no task can continue; show its queues; check the results."""
    target = RegionTarget(region, definitions or [], store, dd or [])
    request = _Request(target, handlers or [], start or [], out, records, seed, page)
    with Bar(wanted=not as_json) as bar:
        report = _carry_out(request, bar)
    if as_json:
        emit_json(report.as_dict(), indent=None)
    else:
        report.show()
    if not report.ok:
        raise typer.Exit(Exit.CONDITION)


class _Request:
    """The arguments of the command, combined with region.yaml."""

    def __init__(
        self,
        target: RegionTarget,
        handlers: list[str],
        start: list[str],
        out: Path | None,
        records: int | None,
        seed: int,
        page: Path | None = None,
    ) -> None:
        if target.directory is None and not target.definitions:
            raise InputError("no region to run: name a region directory, or give --definitions; tdq new pay writes one")
        target.check_not_served()
        self.target = target
        self.file: RegionFile = target.region_file()
        self.definitions = target.load_definitions()
        target.check_cards(self.definitions)
        self.handlers = (*self.file.handlers, *handlers)
        self.start = (*self.file.start_transactions, *(name.upper() for name in start))
        self.out = out
        self.records = records
        self.seed = seed
        self.pictures = (
            None if page is None else on_demand.run_page.RunPage(page, self.name, self.definitions, self.file)
        )
        if records is not None and not self.file.job:
            raise InputError("--records is for a region directory with a job: line; this one has none")

    @property
    def name(self) -> str:
        """The name of its output directory."""
        return (self.target.directory or Path()).resolve().name or "region"


class _Watch:
    """Follows the tasks: the progress of the job, the number of tasks, and those that failed."""

    def __init__(self, region: Region, job: JobClass | None, bar: Bar) -> None:
        self._region = region
        self._job = job
        self._bar = bar
        self.outcomes = Outcomes()
        self.outcomes.watch(region, earlier=True)  # a data set that could not be opened is a failure of the run too
        self._shown = len(self.outcomes.notices)  # on standard error, while the region had no other reader
        region.dispatcher.on_dispatch = self._dispatched

    def _dispatched(self, fiber: Fiber) -> None:
        self.outcomes.dispatched(fiber)
        if self._job is not None and self._bar.due:
            self._bar.update("posting", *self._job.progress(self._region))

    def warnings(self) -> list[Notice]:
        """The notices of severity ``warning`` that are not on standard error yet."""
        return [notice for notice in self.outcomes.notices[self._shown :] if notice.severity == "warning"]

    def finish(self) -> None:
        """All tasks have run."""
        self.outcomes.dispatched(None)
        self._region.dispatcher.on_dispatch = None
        if self._job is not None:
            self._bar.update("posting", *self._job.progress(self._region))


def _carry_out(request: _Request, bar: Bar) -> Report:
    with output_directory(request.out, request.name) as output, request.target.modules():
        job = _job(request, output, bar)
        cards = _cards(request, output)
        if job is not None:
            cards |= {name: path for name, path in job.prepare().items() if name not in cards}
        arguments = {
            "definitions": request.definitions,
            "handlers": request.handlers or None,
            "seed": request.seed,
            "dd": cards,
        }
        with request.target.open(**arguments) as region:
            report = _run(region, request, job, bar)
        if job is not None:
            _finish(job, region, report)
        report.output = output
    if request.pictures is not None:
        request.pictures.write(report)
    return report


def _finish(job: JobClass, region: Region, report: Report) -> None:
    """Let the job check the results; if a task abended, an error is only a warning, as outputs may be incomplete."""
    well = report.ok
    try:
        report.take(job.finish(region))
    except TdqError as error:
        if well:
            raise
        report.abends.append(f"so the results cannot be checked: {error}")


def _run(region: Region, request: _Request, job: JobClass | None, bar: Bar) -> Report:
    watch = _Watch(region, job, bar)
    if request.pictures is not None:
        request.pictures.follow(region)
    if job is not None and (begin := getattr(job, "begin", None)) is not None:
        begin(region)
    started = perf_counter()
    for transid in request.start:
        region.start(transid)
    region.run()
    seconds = perf_counter() - started
    if request.pictures is not None:
        request.pictures.over()
    watch.finish()
    abends = [each.text for each in watch.outcomes.unexpected()]
    for notice in watch.warnings():
        warn(str(notice))
    if request.target.store is not None:
        statistics_file.write(request.target.store, region)
    return Report.of(region, seed=request.seed, seconds=seconds, tasks=watch.outcomes.ended, abends=abends)


def _cards(request: _Request, output: Path) -> dict[str, Any]:
    """The DD cards of the command line, and one for the messages of CICS unless it was given."""
    cards = request.target.cards()
    if MESSAGES not in request.file.dd:
        cards.setdefault(MESSAGES, output / MESSAGES)
    return cards


def _job(request: _Request, output: Path, bar: Bar) -> JobClass | None:
    """The job that region.yaml names, created for this run.

    Raises:
        DefinitionError: its module or class cannot be imported.
    """
    if not request.file.job:
        return None
    directory = request.target.directory or Path()
    files = {name: Path(card.path) for name, card in request.file.dd.items() if card.path}
    files |= {name: card.path for name, card in request.target.cards().items() if card.path is not None}
    made: JobClass = named_class(request.file.job)(
        JobRequest(directory, output, files, request.records, request.seed, bar.update)
    )
    return made
