"""``tdq pipeline``: large data sets, in this process or on Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tdqsim.cli import Bar, Exit, InputError, emit, emit_json, emit_table, example, offering, warn
from tdqsim.datasets import output_directory
from tdqsim.errors import ExtraMissing
from tdqsim.pipeline import on_demand, stages
from tdqsim.pipeline.limits import BOUNDS

if TYPE_CHECKING:
    from tdqsim.pipeline.stages.run import RunResult

app = typer.Typer(
    rich_markup_mode=None, no_args_is_help=True, help="Process large data sets, on Spark or in this process."
)

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


def _place(text: str) -> Path:
    """A path, or an object with the methods of one for a place in an object store."""
    return on_demand.publishing.place(text) if "://" in text else Path(text)


RunOption = Annotated[
    Path,
    typer.Option("--run", metavar="DIR", parser=_place, help="The run's directory, also in an object store."),
]
BucketsOption = Annotated[
    int, typer.Option("--buckets", min=1, help="The maximum number of tasks, and of files of each table.")
]
ModeOption = Annotated[
    str,
    typer.Option(
        "--mode", help="A bad record: permissive (a row BAD RECORD), dropmalformed (left out), failfast (an error)."
    ),
]
QsamOption = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help='An option of format("qsam"); repeatable.'),
]


def _needs() -> None:
    """Check that the packages which the pipeline needs are installed.

    Raises:
        ExtraMissing: an optional package is missing.
    """
    try:
        for package in ("numpy", "pyarrow"):
            import_module(package)
    except ImportError as error:
        raise ExtraMissing(error.name, "spark") from None


@app.command("warm")
def warm(force: Annotated[bool, typer.Option("--force", help="Replace an existing archive.")] = False) -> None:
    """Make Java's class data archive, which halves the start time of every later local Spark session."""
    _needs()
    emit(f"{on_demand.sessions.warm(force=force)}: later sessions start in half the time")


@app.command("trim")
def trim(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="The store that the stream read.")],
    checkpoint: Annotated[
        Path, typer.Option("--checkpoint", metavar="DIR", help="The checkpoint of the query, which must have ended.")
    ],
    dtaq: Annotated[bool, typer.Option("--dtaq", help="The store is that of an IBM i system.")] = False,
    source: Annotated[
        int | None,
        typer.Option("--source", min=0, help="The number of the source in the query, from 0, if it has several."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Remove the records that a stream with consume has processed: Spark leaves those of its last batch."""
    _needs()
    gone = on_demand.queues.trim_finished(store, "dtaq" if dtaq else "tdqueue", checkpoint, source)
    if as_json:
        emit_json(gone, indent=None)
    else:
        emit("\n".join(f"{name}: {count} removed" for name, count in gone.items()) or "no records were left to remove")


@app.command("run")
def run(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A region directory with a pipeline.yaml.")],
    dd: Annotated[
        list[str] | None, typer.Option("--dd", metavar="NAME=FILE", help="An input data set; repeatable.")
    ] = None,
    records: Annotated[int | None, typer.Option(min=0, help="The number of records to generate.")] = None,
    regions: Annotated[int, typer.Option(min=1, max=100_000, help="The number of regions for the job.")] = 16,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the generated data and of the order of ready tasks.")] = 0,
    engine: EngineOption = "auto",
    buckets: BucketsOption = BOUNDS["buckets"],
    out: Annotated[Path | None, typer.Option("--output", "-o", metavar="DIR", help="The run's directory.")] = None,
    commands: Annotated[bool, typer.Option("--commands", help="Take down every command of handlers.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Distribute a job to many regions, replay it, reconcile it, report; a repeated command continues a killed run."""
    _needs()
    directory = example(directory) or directory
    if not (directory / "pipeline.yaml").is_file():
        raise InputError(f"{directory}: has no pipeline.yaml; tdq guide pipeline describes it")
    with output_directory(out, f"{directory.resolve().name}-pipeline") as folder, Bar(wanted=not as_json) as bar:
        request = stages.RunRequest(
            directory, folder, _engine(engine), regions, buckets, _cards(dd), records, seed, commands
        )
        stages.check_report(folder)
        result = stages.run_job(request, say=None if as_json else warn, progress=bar.update)
        report = stages.write_report(folder)
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
    cards = {}
    for text in dd or []:
        name, equals, file = text.partition("=")
        if not (equals and name and file):
            raise InputError(f"--dd {text}: must be NAME=FILE")
        if not Path(file).is_file():
            raise InputError(f"--dd {name}: {file} is not a file")
        cards[name.upper()] = Path(file)
    return cards


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
            "--column", metavar="NAME=VALUE", help="Set a column of the event table for every record; repeatable."
        ),
    ] = None,
    option: QsamOption = None,
    engine: EngineOption = "auto",
    buckets: BucketsOption = BOUNDS["buckets"],
    mode: ModeOption = "failfast",
    as_json: JsonOption = False,
) -> None:
    """Read captures and traces into one event table, bucketed by region, in sequence order."""
    _needs()
    columns, options = _pairs(column, "--column"), _pairs(option, "--option")
    request = stages.IngestRequest(run, tuple(sources), form, columns, options, _engine(engine), buckets, mode)
    _emit_outcome(stages.run_ingest(request, say=None if as_json else warn), as_json=as_json)


def _pairs(given: list[str] | None, what: str) -> dict[str, str]:
    pairs = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"{what} {text}: must be NAME=VALUE")
        pairs[name] = value
    return pairs


@app.command("decode")
def decode(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Data sets, directories or patterns, also of an object store."),
    ],
    stage: Annotated[
        str,
        typer.Option(
            "--stage",
            metavar="DIR",
            help="The directory of the Parquet files, also in an object store; they are used again.",
        ),
    ] = "",
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE.parquet", help="Write the rows to one new file of this name.")
    ] = "",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing output file.")] = False,
    columns: Annotated[
        str, typer.Option("--columns", help="The columns to decode, separated by commas; default: all.")
    ] = "",
    option: QsamOption = None,
    engine: EngineOption = "auto",
    allow_corrupt: Annotated[
        int, typer.Option("--allow-corrupt", metavar="N", min=0, help="Exit code 0 with up to N corrupt values.")
    ] = 0,
    as_json: JsonOption = False,
) -> None:
    """Decode data sets to Parquet, and count corrupt and null values. Exit code 1 if a value is corrupt."""
    _needs()
    options = _pairs(option, "--option")
    for name, own in {"path": "FILE", "stage": "--stage", "columns": "--columns", "engine": "--engine"}.items():
        if name in options:
            raise InputError(f"--option {name}: give {own} instead")
    if not stage and not output:
        raise InputError("nowhere to write: give --output FILE.parquet, or --stage DIR to keep the result for reuse")
    if output and not overwrite and on_demand.publishing.place(output).exists():
        raise InputError(f"--output {output}: the file exists; --overwrite replaces it")
    size = sum(size for _, size in on_demand.opening.list_files(tuple(sources)))
    chosen = stages.choose(_engine(engine), records=0, size=size, say=None if as_json else warn)
    names = [name for name in columns.split(",") if name.strip()] or None
    with TemporaryDirectory() as scratch, Bar(wanted=not as_json) as bar:
        files = on_demand.data_sets.stage_data_set(
            sources, stage or scratch, columns=names, engine=chosen, progress=bar.update, **options
        )
        if output:
            files.write(output)
    quality = files.quality
    shown = {"engine": chosen.name, "rows": files.rows, "columns": ", ".join(files.schema.names)}
    counts = {"corrupt": quality.corrupt, "ok": quality.corrupt <= allow_corrupt}
    where = {"output": output or f"{files.folder}/data"}
    if quality.lost:
        warn(quality.lost)
    if as_json:
        _emit_outcome(shown | counts | {"quality": quality.as_json()["columns"]} | where, as_json=True)
        return
    emit_table(("figure", "value"), ((name, _plain(value)) for name, value in (shown | where).items()))
    if quality.columns:
        rows = ((name, each.corrupt, each.nulls, each.first or "") for name, each in quality.columns.items())
        emit_table(("column", "corrupt", "null", "first corrupt value"), rows)
    if not counts["ok"]:
        what = "null in the output, or a number of occurrences out of range"
        warn(f"{quality.corrupt:,} values are corrupt: {what}; --allow-corrupt N accepts up to N")
        raise typer.Exit(Exit.CONDITION)


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
    out: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="The directory of the files.")],
    table: Annotated[
        str,
        typer.Option(
            "--table",
            help="records: the results of replay. events: those of ingest.",
            autocompletion=offering([("records", "what replay left"), ("events", "what ingest brought")]),
        ),
    ] = "records",
    queue: Annotated[list[str] | None, typer.Option("--queue", help="Only this queue or DD name; repeatable.")] = None,
    recfm: Annotated[str, typer.Option("--recfm", help="The record format of data sets: FB, VB and others.")] = "FB",
    lrecl: Annotated[
        int, typer.Option("--lrecl", min=0, help="The record length of data sets; 0: that of the first record.")
    ] = 0,
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
        list[str] | None,
        typer.Option("--start", metavar="TRANSID", help="A transaction to start after the events; repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the order of ready tasks.")] = 0,
    engine: EngineOption = "auto",
    commands: Annotated[bool, typer.Option("--commands", help="Take down every command of handlers.")] = False,
    dispatches: Annotated[
        int | None,
        typer.Option(min=1, help="The maximum of dispatches and commands of a region; default: by its events."),
    ] = None,
    stuck: Annotated[
        float, typer.Option(min=0, help="Stop a region after this many seconds in which nothing happens.")
    ] = BOUNDS["stuck_seconds"],
    as_json: JsonOption = False,
) -> None:
    """Replay the events of ingest: run every region and system with the real engine."""
    _needs()
    if directory is None and not definitions:
        raise InputError("no definitions for the regions: give --region DIR or --definitions FILE")
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


@app.command("reconcile")
def reconcile(
    run: RunOption,
    expected: Annotated[
        list[Path],
        typer.Option(
            "--expected", metavar="FILE", parser=_place, help="Parquet files with the expected events; repeatable."
        ),
    ],
    match: Annotated[
        list[str] | None,
        typer.Option(
            "--match",
            metavar="QUEUE[:key=A-B][:order=A-B]",
            help="How to compare a queue; byte ranges from 0, without the end.",
        ),
    ] = None,
    copybook: Annotated[
        Path | None,
        typer.Option("--copybook", metavar="FILE", help="Report differences by the fields of this copybook."),
    ] = None,
    mask: Annotated[
        list[str] | None, typer.Option("--mask", metavar="FIELD", help="A field to ignore; repeatable.")
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option("--tolerance", metavar="FIELD=N", help="The allowed difference of a number; repeatable."),
    ] = None,
    engine: EngineOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Compare the results of replay with the expected records: missing, extra, changed, out of order."""
    _needs()
    if not match and (copybook is not None or mask or tolerance):
        raise InputError("--copybook, --mask and --tolerance apply to the queues of --match: give at least one --match")
    options = (_copybook(copybook), tuple(mask or ()), _pairs(tolerance, "--tolerance"))
    matches = dict(stages.parse_match(each, *options) for each in match or ())
    outcome = stages.run_reconcile(run, expected, matches, _engine(engine), say=None if as_json else warn)
    _emit_outcome(outcome, as_json=as_json)


def _copybook(path: Path | None) -> str:
    """The text of a copybook, after checking it; an error gives the name of the file."""
    if path is None:
        return ""
    from tdqsim.layouts import load_copybook, read_copybook  # noqa: PLC0415  (not for help, nor for other commands)

    load_copybook(path)
    return read_copybook(path)


@app.command("report")
def report(
    run: RunOption,
    out: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="DIR", help="The directory, or one in an object store; default: the run's."
        ),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Write the report of a run again: report.html, report.json, junit.xml. Exit code 0 if every check passes."""
    _needs()
    path = stages.write_report(run, out=out)
    summary = json.loads((path.parent / "report.json").read_text("utf-8"))
    _emit_outcome({"report": str(path), "ok": summary["ok"]}, as_json=as_json)


def _emit_outcome(outcome: Mapping[str, object], *, as_json: bool) -> None:
    """Write the outcome of a stage; if it is not ok, the exit code says so."""
    if as_json:
        emit_json(outcome, indent=None)
    else:
        emit_table(("", ""), ((name, _plain(value)) for name, value in outcome.items()))
    if not outcome.get("ok", True):
        raise typer.Exit(Exit.CONDITION)
