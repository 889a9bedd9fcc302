"""``tdq pipeline``: production-sized data, in this process or on Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tdqsim.cli import on_demand
from tdqsim.cli.completing import offering
from tdqsim.cli.errors import Exit, InputError, warn
from tdqsim.cli.examples import example
from tdqsim.cli.output import emit, emit_json, emit_table
from tdqsim.cli.progress import Bar
from tdqsim.datasets.workdir import output_directory
from tdqsim.errors import ExtraMissing
from tdqsim.pipeline import stages
from tdqsim.pipeline.bounds import BOUNDS

if TYPE_CHECKING:
    from tdqsim.pipeline.stages.run import RunResult

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="Production-sized data on Spark.")

EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        help="local: in this process. spark: Spark tasks. auto: by the size of the input.",
        autocompletion=offering(
            [("local", "in this process"), ("spark", "Spark tasks"), ("auto", "by the size of the input")]
        ),
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Write one JSON object, on the last line.")]
RunOption = Annotated[Path, typer.Option("--run", metavar="DIR", help="The run's directory.")]
BucketsOption = Annotated[int, typer.Option("--buckets", min=1, help="Tasks, and files of each table, at most.")]
ModeOption = Annotated[
    str,
    typer.Option("--mode", help="A bad record: permissive keeps it as a row that says so, dropmalformed, failfast."),
]


def _needs() -> None:
    """What the pipeline stands on; said in one line where it is not there.

    Raises:
        ExtraMissing: an optional package is missing.
    """
    try:
        for package in ("numpy", "pyarrow"):
            import_module(package)
    except ImportError as error:
        raise ExtraMissing(error.name, "spark") from None


@app.command("warm")
def warm(force: Annotated[bool, typer.Option("--force", help="Make it anew.")] = False) -> None:
    """Make Java's class data archive, which halves the start of every later local Spark session."""
    _needs()
    emit(f"{on_demand.session.warm(force=force)}: later sessions start in half the time")


@app.command("trim")
def trim(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="The store that the stream read.")],
    checkpoint: Annotated[Path, typer.Option("--checkpoint", metavar="DIR", help="Of the query, which has ended.")],
    dtaq: Annotated[bool, typer.Option("--dtaq", help="It is the store of an IBM i system.")] = False,
    source: Annotated[
        int | None, typer.Option("--source", min=0, help="Which source of the query, from 0, when it has several.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Take off the records that a stream with consume was done with: Spark leaves its last batch on the queues."""
    _needs()
    gone = on_demand.queues.trim_finished(store, "dtaq" if dtaq else "tdqueue", checkpoint, source)
    if as_json:
        emit_json(gone, indent=None)
    else:
        emit("\n".join(f"{name}: {count} taken off" for name, count in gone.items()) or "nothing was left to take off")


@app.command("run")
def run(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A region directory with a pipeline.yaml.")],
    dd: Annotated[
        list[str] | None, typer.Option("--dd", metavar="NAME=FILE", help="An input data set; repeatable.")
    ] = None,
    records: Annotated[int | None, typer.Option(min=0, help="How many records are generated.")] = None,
    regions: Annotated[int, typer.Option(min=1, max=100_000, help="Over how many regions the job is spread.")] = 16,
    seed: Annotated[int, typer.Option(min=0, help="Of what is generated, and of the order of ready tasks.")] = 0,
    engine: EngineOption = "auto",
    buckets: BucketsOption = BOUNDS["buckets"],
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="The run's directory.")] = None,
    commands: Annotated[bool, typer.Option("--commands", help="Take down every command of handlers.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Spread a job over many regions, replay it, reconcile it, report; a run that was killed goes on where it was."""
    _needs()
    directory = example(directory) or directory
    if not (directory / "pipeline.yaml").is_file():
        raise InputError(f"{directory}: there is no pipeline.yaml in it; tdq guide pipeline says what it has")
    with output_directory(out, f"{directory.resolve().name}-pipeline") as folder, Bar(wanted=not as_json) as bar:
        request = stages.RunRequest(
            directory, folder, _engine(engine), regions, buckets, _cards(dd), records, seed, commands
        )  # fmt: skip
        stages.check_report(folder)
        result = stages.run_job(request, say=None if as_json else warn, progress=bar.update)
        report = stages.write_report(folder, result)
    if as_json:
        emit_json(result.as_dict() | {"report": str(report)}, indent=None)
    else:
        _show(result, report)
    if not result.ok:
        raise typer.Exit(Exit.CONDITION)


def _engine(name: str) -> Any:
    if name not in ("local", "spark", "auto"):
        raise InputError(f"--engine {name}: allowed are local, spark and auto")
    return name


def _cards(dd: list[str] | None) -> dict[str, Path]:
    found = {}
    for text in dd or []:
        name, equals, file = text.partition("=")
        if not (equals and name and file):
            raise InputError(f"--dd {text}: must be NAME=FILE")
        if not Path(file).is_file():
            raise InputError(f"--dd {name}: {file} is no file")
        found[name.upper()] = Path(file)
    return found


def _show(result: RunResult, report: Path) -> None:
    emit_table(("figure", "value"), ((name, _plain(value)) for name, value in result.figures.items()), title="Result")
    emit()
    rows = ((name, "ok" if holds else "WRONG", result.details.get(name, "")) for name, holds in result.checks.items())
    emit_table(("check", "", "seen"), rows)
    emit()
    emit_table(("stage", "seconds"), [(name, f"{value:.2f}") for name, value in result.stage_seconds.items()])
    total = sum(result.stage_seconds.values())
    rate = f"{result.records / total:,.0f} records/s" if total else ""
    emit(f"{result.regions} regions, {result.records:,} records in {total:.1f} s {rate}, engine {result.engine}")
    emit(f"report: {report}")


def _plain(value: object) -> str:
    return ", ".join(f"{name}: {each}" for name, each in value.items()) if isinstance(value, dict) else str(value)


@app.command("ingest")
def ingest(
    sources: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Data sets, CSV, JSON lines, Parquet, histories.")
    ],
    run: RunOption,
    form: Annotated[
        str, typer.Option("--format", help="qsam, csv, jsonl, parquet, history or journal; default: by name.")
    ] = "",
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column", metavar="NAME=VALUE", help="A column of the event table that every record has; repeatable."
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help='An option of format("qsam"); repeatable.'),
    ] = None,
    engine: EngineOption = "auto",
    buckets: BucketsOption = BOUNDS["buckets"],
    mode: ModeOption = "failfast",
    as_json: JsonOption = False,
) -> None:
    """Bring captures and traces into one event table, bucketed by region, in sequence order."""
    _needs()
    request = stages.IngestRequest(
        run,
        tuple(sources),
        form,
        _pairs(column, "--column"),
        _pairs(option, "--option"),
        _engine(engine),
        buckets,
        mode,
    )
    _emit_outcome(stages.run_ingest(request, say=None if as_json else warn), as_json=as_json)


def _pairs(given: list[str] | None, what: str) -> dict[str, str]:
    found = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"{what} {text}: must be NAME=VALUE")
        found[name] = value
    return found


@app.command("decode")
def decode(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Data sets, directories or patterns, also of an object store."),
    ],
    stage: Annotated[
        str, typer.Option("--stage", metavar="DIR", help="Where Parquet is kept, also in an object store.")
    ],
    columns: Annotated[
        str, typer.Option("--columns", help="The columns wanted, with commas between; all by default.")
    ] = "",
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help='An option of format("qsam"); repeatable.'),
    ] = None,
    engine: EngineOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Decode data sets to Parquet; what was decoded before from the same inputs in the same way is not again."""
    _needs()
    size = sum(size for _, size in on_demand.splits.list_files(tuple(sources)))
    chosen = stages.choose(_engine(engine), records=0, size=size, say=None if as_json else warn)
    names = [name for name in columns.split(",") if name.strip()] or None
    found = on_demand.data_sets.stage_data_set(
        sources, stage, columns=names, engine=chosen, **_pairs(option, "--option")
    )
    shown = {"engine": chosen.name, "rows": found.rows, "columns": ", ".join(found.schema.names)}
    _emit_outcome(shown | {"output": f"{found.folder}/data"}, as_json=as_json)


@app.command("load")
def load(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="dataset, seed or dtaq.",
            autocompletion=offering([("dataset", "data sets"), ("seed", "a seed file"), ("dtaq", "a data queue")]),
        ),
    ],
    run: RunOption,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where what is made goes.")],
    table: Annotated[
        str,
        typer.Option(
            "--table",
            help="records: what replay left. events: what ingest brought.",
            autocompletion=offering([("records", "what replay left"), ("events", "what ingest brought")]),
        ),
    ] = "records",
    queue: Annotated[list[str] | None, typer.Option("--queue", help="Only this queue or DD name; repeatable.")] = None,
    recfm: Annotated[str, typer.Option("--recfm", help="Of data sets: FB, VB and the others.")] = "FB",
    lrecl: Annotated[int, typer.Option("--lrecl", min=0, help="Of data sets; 0: the length of the first record.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Make data sets, seed files or data queue dumps of a table."""
    _needs()
    request = stages.LoadRequest(run, target, out, table, tuple(queue or ()), recfm, lrecl)
    _emit_outcome(stages.run_load(request), as_json=as_json)


@app.command("replay")
def replay(
    run: RunOption,
    directory: Annotated[Path | None, typer.Option("--region", "-r", metavar="DIR", help="A region directory.")] = None,
    definitions: Annotated[
        list[Path] | None, typer.Option("--definitions", "-d", metavar="FILE", help="A definition file; repeatable.")
    ] = None,
    handlers: Annotated[list[str] | None, typer.Option("--handlers", metavar="MODULE", help="Repeatable.")] = None,
    start: Annotated[
        list[str] | None, typer.Option("--start", metavar="TRANSID", help="Started after the events.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the order of ready tasks.")] = 0,
    engine: EngineOption = "auto",
    commands: Annotated[bool, typer.Option("--commands", help="Take down every command of handlers.")] = False,
    dispatches: Annotated[
        int | None, typer.Option(min=1, help="Dispatches and commands a region may have; default: by its events.")
    ] = None,
    stuck: Annotated[
        float, typer.Option(min=0, help="Seconds in which nothing happens in a region until it is stopped.")
    ] = BOUNDS["stuck_seconds"],
    as_json: JsonOption = False,
) -> None:
    """Replay the events that ingest brought: every region and system with the real engine."""
    _needs()
    if directory is None and not definitions:
        raise InputError("what shall the regions be made of? Give --region DIR or --definitions FILE")
    spec = stages.ReplaySpec(
        None if directory is None else directory.resolve(),
        tuple(path.resolve() for path in definitions or ()),
        tuple(handlers or ()),
        None if start is None else tuple(name.upper() for name in start),
        seed=seed,
        commands=commands,
        dispatches=dispatches,
        stuck_seconds=stuck,
    )
    outcome = stages.run_replay(run, spec, _engine(engine), say=None if as_json else warn)
    _emit_outcome(outcome, as_json=as_json)
    if not outcome["ok"]:
        raise typer.Exit(Exit.CONDITION)


@app.command("reconcile")
def reconcile(
    run: RunOption,
    expected: Annotated[
        list[Path],
        typer.Option(
            "--expected", metavar="FILE", help="Parquet files with the events that must come out; repeatable."
        ),
    ],
    match: Annotated[
        list[str] | None,
        typer.Option(
            "--match",
            metavar="QUEUE[:key=A-B][:order=A-B]",
            help="How a queue is compared; byte ranges from 0, the end excluded.",
        ),
    ] = None,
    copybook: Annotated[Path | None, typer.Option("--copybook", metavar="FILE", help="Names what differs.")] = None,
    mask: Annotated[
        list[str] | None, typer.Option("--mask", metavar="FIELD", help="Does not count; repeatable.")
    ] = None,
    tolerance: Annotated[
        list[str] | None, typer.Option("--tolerance", metavar="FIELD=N", help="How far numbers may differ; repeatable.")
    ] = None,
    engine: EngineOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Compare what replay left with what was expected: missing, extra, changed, out of order."""
    _needs()
    if not match and (copybook is not None or mask or tolerance):
        raise InputError("--copybook, --mask and --tolerance are for the queues that --match names: give one at least")
    options = (_copybook(copybook), tuple(mask or ()), _pairs(tolerance, "--tolerance"))
    matches = dict(stages.parse_match(each, *options) for each in match or ())
    outcome = stages.run_reconcile(run, expected, matches, _engine(engine), say=None if as_json else warn)
    _emit_outcome(outcome, as_json=as_json)
    if not outcome["ok"]:
        raise typer.Exit(Exit.CONDITION)


def _copybook(path: Path | None) -> str:
    """The text of a copybook that has been found to be one; what is wrong with it is said with its name."""
    if path is None:
        return ""
    on_demand.copybook.load_copybook(path)
    return on_demand.copybook.read_copybook(path)


@app.command("report")
def report(
    run: RunOption,
    out: Annotated[
        str, typer.Option("--out", metavar="DIR", help="Where it goes, also in an object store; default: the run's.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Write the report of a run again: report.html, report.json, junit.xml; the exit code says whether all is well."""
    _needs()
    path = stages.write_report(run, out=out)
    found = json.loads((path.parent / "report.json").read_text("utf-8"))
    _emit_outcome({"report": str(path), "ok": found["ok"]}, as_json=as_json)
    if not found["ok"]:
        raise typer.Exit(Exit.CONDITION)


def _emit_outcome(outcome: Mapping[str, object], *, as_json: bool) -> None:
    if as_json:
        emit_json(outcome, indent=None)
    else:
        emit_table(("", ""), ((name, _plain(value)) for name, value in outcome.items()))
