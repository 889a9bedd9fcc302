"""The commands ingest, replay and reconcile: each chooses a runner, and has it execute the plan of a stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from tdqsim.errors import DatasetError
from tdqsim.pipeline.opening import list_files
from tdqsim.pipeline.parquet import open_parquet
from tdqsim.pipeline.publishing import is_local, place
from tdqsim.pipeline.stages.exchange import load_buckets, parquet_pieces, spread_events
from tdqsim.pipeline.stages.ingest import IngestRequest, check_request, file_stamp, ingest_files
from tdqsim.pipeline.stages.manifest import (
    NotAllowed,
    Receipt,
    digest_of,
    file_digest,
    holding,
    read_manifest,
    sum_of,
)
from tdqsim.pipeline.stages.outcome import RegionOutcomes
from tdqsim.pipeline.stages.plan import Plan
from tdqsim.pipeline.stages.reconcile import Match, checked, reconcile_records
from tdqsim.pipeline.stages.replay import ReplaySpec, code_of, replay_events
from tdqsim.pipeline.stages.runners import EngineName, choose
from tdqsim.pipeline.stages.tables import read_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Say = Callable[[str], None]


def run_ingest(
    request: IngestRequest, *, spark: SparkSession | None = None, say: Say | None = None
) -> dict[str, object]:
    """Read the input files, and store the events by bucket.

    Raises:
        NotAllowed: an argument is not allowed.
        DatasetError: a file cannot be read, or a record is bad and the mode is failfast.
    """
    check_request(request)
    try:
        if is_local(request.run):
            request.run.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatasetError(f"--run {request.run}: {error.strerror}; name a directory, or a place for one") from error
    with holding(request.run, say):
        files = [place(name) for name, _ in list_files(request.sources, deep=False)]
        size = sum(file_stamp(path)[1] for path in files)
        runner = choose(request.engine, records=0, size=size, spark=spark, say=say)
        runner.announce()
        figures = runner.execute(ingest_files(request, files))
    return figures | {"engine": runner.name, "output": str(request.run / "exchange")}


def run_replay(
    run: Path, spec: ReplaySpec, engine: EngineName, *, spark: SparkSession | None = None, say: Say | None = None
) -> dict[str, Any]:
    """Replay the events of a run's exchange.

    Returns:
        The number of regions, events and unexpected responses; the causes of failed regions; the digest of all output.

    Raises:
        DatasetError: ingest was not run.
        DefinitionError: the definitions are wrong.
    """
    with holding(run, say):
        buckets, events = load_buckets(run), read_manifest(run, "split.exchange")
        size = sum(part.size for part in events)
        runner = choose(engine, records=sum(buckets.events.values()), size=size, spark=spark, say=say)
        runner.announce()
        inputs = [part.inputs for part in events]
        base = digest_of(buckets._asdict(), inputs, code_of(spec.directory, spec.definitions))
        runner.execute(replay_events(run, buckets, spec, base))
        regions = RegionOutcomes.of(run)
    abends, unexpected = regions.abends, regions.total("unexpected")
    return {
        "ok": not regions.causes and not unexpected and not abends,
        "engine": runner.name,
        "engine_why": runner.why,
        "regions": len(regions.rows),
        "events": regions.total("events"),
        "ati_starts": regions.total("ati_starts"),
        "unexpected": unexpected,
        "abends": dict(sorted(abends.items())),
        "causes": regions.causes,
        "digest": regions.digest,
        "output": str(run / "replay"),
    }


def run_reconcile(
    run: Path,
    expected: Sequence[Path],
    matches: Mapping[str, Match],
    engine: EngineName,
    *,
    spark: SparkSession | None = None,
    say: Say | None = None,
) -> dict[str, Any]:
    """Compare the records that replay left with the expected ones, given as events.

    Args:
        run: the run's directory.
        expected: Parquet files with EXPECT events.
        matches: how each queue is compared; expected queues that are not named here are paired by position.
        engine: local, spark or auto.
        spark: an existing session.
        say: called with progress messages.

    Returns:
        The number of records compared; the differences by queue and kind; queues in ``matches`` that neither side has.

    Raises:
        DatasetError: an earlier stage was not run, a file is not an event table, or nothing is expected.
        NotAllowed: a mask or tolerance names no field.
    """
    # Long, because its parts share the buckets, the paths and the queues; the docstring has a third of its lines.
    with holding(run, say):
        buckets, paths = load_buckets(run), _expected_files(expected)
        pieces = parquet_pieces(paths)
        queues = _expected_queues(paths)
        if not queues and not matches:
            named = ", ".join(map(str, expected))
            raise DatasetError(
                f"{named}: no event with command EXPECT names a queue, so there is nothing to compare; "
                "a queue that must be empty is named by --match"
            )
        wanted = dict.fromkeys(queues, Match()) | {name: checked(match) for name, match in matches.items()}
        size = sum(path.stat().st_size for path in paths)
        size += sum(part.size for part in read_manifest(run, "split.exchange"))
        runner = choose(engine, records=sum(buckets.events.values()), size=size, spark=spark, say=say)
        base = digest_of([(path.name, file_digest(path)) for path in paths], buckets._asdict())

        def plan() -> Plan[list[Receipt]]:
            many = len(set(buckets.regions.values()))
            spread = yield from spread_events(run, pieces, base, many, "expected", buckets.regions)
            replayed = read_table(run, "replay", "regions", ["region", "digest"]).to_pylist()
            inputs = digest_of(base, replayed, repr(sorted(wanted.items(), key=lambda item: item[0])))
            return (yield from reconcile_records(run, spread, wanted, inputs))

        receipts = runner.execute(plan())
        left = read_table(run, "replay", "queue_final", ["queue"]).column(0).unique().to_pylist()
    counts = sum_of(receipts, "differences")
    return {
        "ok": not counts,
        "compared": sum(receipt.details["compared"] for receipt in receipts),
        "differences": dict(sorted(counts.items())),
        "output": str(run / "reconcile" / "diffs"),
        "matches_of_nothing": sorted({*matches} - {*queues, *left}),
    }


def _expected_files(expected: Sequence[Path]) -> list[Path]:
    """The Parquet files among files and folders."""
    paths = [path for each in expected for path in (sorted(each.glob("*.parquet")) if each.is_dir() else [each])]
    if not paths:
        raise DatasetError(f"{', '.join(map(str, expected))}: no Parquet files there")
    for path in paths:
        if not path.is_file():
            raise DatasetError(
                f"--expected {path}: there is no such file; name Parquet files, or folders with Parquet files"
            )
    return paths


def _expected_queues(paths: Sequence[Path]) -> list[str]:
    """The queues with expected records."""
    names: set[str] = set()
    needed = ["command", "queue"]
    for path in paths:
        have = open_parquet(path).schema_arrow.names
        for name in needed:
            if name not in have:
                text = "expected records are events with command EXPECT, and name their queue"
                raise DatasetError(f"{path}: there is no column {name}; {text}. It has {', '.join(have)}")
        with open_parquet(path, read_dictionary=needed) as file:
            for batch in file.iter_batches(columns=needed):
                right = pc.equal(batch.column("command"), "EXPECT")
                names |= set(batch.column("queue").filter(right).unique().to_pylist())
    return sorted(name for name in names if name)


def parse_match(text: str, copybook: str, masks: tuple[str, ...], tolerances: Mapping[str, str]) -> tuple[str, Match]:
    """A ``--match`` argument: ``QUEUE:key=0-16:order=262-278``.

    Raises:
        NotAllowed: the text is not a valid argument; the message says what is allowed.
    """
    queue, *parts = text.split(":")
    match = Match(copybook=copybook, masks=masks, tolerances=_tolerances(tolerances))
    for part in parts:
        name, _, span = part.partition("=")
        first, _, last = span.partition("-")
        digits = span.isascii() and first.isdigit() and last.isdigit()
        if name not in ("key", "order") or not digits or int(first) >= int(last):
            raise NotAllowed(f"--match {text}: {part!r} must be key=A-B or order=A-B, bytes from 0, B not included")
        part_span = slice(int(first), int(last))
        match = replace(match, key=part_span) if name == "key" else replace(match, order=part_span)
    return queue, match


def _tolerances(given: Mapping[str, str]) -> dict[str, Decimal]:
    limits = {}
    for name, text in given.items():
        try:
            limits[name] = Decimal(text)
        except InvalidOperation:
            limits[name] = Decimal("NaN")
        if not limits[name].is_finite() or limits[name] < 0:
            raise NotAllowed(f"--tolerance {name}={text}: must be a number, 0 or more")
    return limits
