"""Replay: run many regions and IBM i systems on the real engine, and feed each its events in order.

A region is made from definitions and handlers inside the task, with a temporary store and a separate clock that only
its events and waits advance. So its outcome is a function of its events, its definitions and the seed; it does not
depend on its bucket or on what runs at the same time.

A handler that crashes abends; one that never ends exceeds the budget; one that kills the whole worker process is
identified by the mark of its region. When a bucket is retried and the process dies in the same region again, that
region becomes a row with the cause, and the other regions continue.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from tdqsim import Dispatcher
from tdqsim.cics import Region
from tdqsim.definitions import Definitions, RegionFile, load_definitions, load_region_file
from tdqsim.errors import DatasetError, TdqError
from tdqsim.ibmi import System
from tdqsim.job import JobRequest, importable, named_class, own_files
from tdqsim.pipeline.limits import BOUNDS
from tdqsim.pipeline.stages.event_replay import IBMI_COMMANDS, CicsFeed, IbmiFeed, RecordedClock
from tdqsim.pipeline.stages.events import Slice, in_order, open_pieces
from tdqsim.pipeline.stages.exchange import Buckets, bucket_files
from tdqsim.pipeline.stages.isolation import Budget, Marks, OutOfBudget, Workshop
from tdqsim.pipeline.stages.manifest import Receipt, StageTask, digest_of, file_digest, publish
from tdqsim.pipeline.stages.plan import Plan, TaskStep
from tdqsim.pipeline.stages.recording import Depths, Recording, put_data_queues, put_queues, put_seeds
from tdqsim.pipeline.stages.region_data_sets import InputSets, OutputSets, event_of_record
from tdqsim.pipeline.stages.tables import TABLES, Rows, bucket_tables

STAGE = "replay"
_CODE = (".py", ".yaml", ".yml", ".csd", ".cl")
_BAD_RECORD = re.compile(r"(?<![\w/])(\w+)\.in[:,] record (\d+)")
"""A record of an input data set, as the code that reads it describes it in messages."""
_EPOCH_NS = 946_684_800_000_000_000  # 2000-01-01, the start time when no event has a time


@dataclass(frozen=True, slots=True)
class ReplaySpec:
    """The definitions and options of every region.

    Attributes:
        directory: a region directory, or None.
        definitions: additional definition files; for IBM i systems, those of the data queues.
        handlers: additional modules of handlers.
        start: transactions to start after the events of a region, instead of those of region.yaml.
        seed: the seed of the order of ready tasks.
        commands: also record every command that handlers issue.
        dispatches: how many dispatches and commands a region may have; None for a default number for each event.
        stuck_seconds: how long a running program may make no progress; 0 switches the check off.
    """

    directory: Path | None = None
    definitions: tuple[Path, ...] = ()
    handlers: tuple[str, ...] = ()
    start: tuple[str, ...] | None = None
    seed: int = 0
    commands: bool = False
    dispatches: int | None = None
    stuck_seconds: float = BOUNDS["stuck_seconds"]


@dataclass(frozen=True, slots=True)
class ReplayTask(StageTask):
    """Replay the regions of one bucket, whose events are in some pieces of the exchange."""

    pieces: tuple[Path, ...]
    spec: ReplaySpec


@dataclass(slots=True)
class _Outcome:
    """The state of a region at its end."""

    kind: str = "CICS"
    events: int = 0
    unexpected: int = 0
    tasks: int = 0
    dispatches: int = 0
    ati_starts: int = 0
    abends: Counter[str] = field(default_factory=Counter)
    waiting: list[str] = field(default_factory=list)
    cause: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)
    checks: Mapping[str, bool] = field(default_factory=dict)


def replay_events(run: Path, buckets: Buckets, spec: ReplaySpec, base: str) -> Plan[list[Receipt]]:
    """Replay every bucket of the exchange, the heaviest first.

    Args:
        run: the run's directory.
        buckets: the bucket of each region.
        spec: the definitions and options of every region.
        base: digest of the events, definitions and programs.

    Raises:
        DefinitionError: no region can be made from the spec.
    """
    check_spec(spec)
    loads: Counter[int] = Counter()
    for name, bucket in buckets.regions.items():
        loads[bucket] += buckets.events.get(name, 0)
    members = {bucket: sorted(name for name, at in buckets.regions.items() if at == bucket) for bucket in loads}
    files = bucket_files(run, "exchange")
    tasks = [
        ReplayTask(run, bucket, digest_of(base, repr(spec), members[bucket], bucket), load, files.get(bucket, ()), spec)
        for bucket, load in sorted(loads.items())
    ]
    return (yield TaskStep(STAGE, run, tasks, replay_bucket, STAGE, apart=True))


def code_of(directory: Path | None, definitions: Iterable[Path] = ()) -> str:
    """A digest of programs and definitions, because the outcome depends on them.

    Raises:
        DatasetError: there is no such definition file.
        DefinitionError: region.yaml is wrong.
    """
    files: list[Path] = []
    named = list(definitions)
    if directory is not None:
        files += (each for each in sorted(own_files(directory)) if each.suffix in _CODE)
        file = load_region_file(directory)
        named += (path for each in _named_in(file) if (path := file.directory / each).exists())
    for path in named:
        if not path.exists():
            raise DatasetError(f"{path}: there is no such definition file")
        files += [path] if path.is_file() else sorted(path.glob("*"))
    return digest_of([(path.name, file_digest(path)) for path in files if path.is_file()])


def _named_in(file: RegionFile) -> Iterator[str]:
    """The files and folders of definitions and programs that a region file names."""
    yield from file.definitions
    if file.cobol is not None:
        yield from (*file.cobol.sources, *file.cobol.copybooks, *file.cobol.layouts.values())
    yield from filter(None, (file.policy, file.machine))


def replay_bucket(task: ReplayTask) -> Receipt:
    """Replay the regions of a bucket in the order of their names, and publish their tables and the receipt.

    Raises:
        DatasetError: the disk is full, or a piece of the exchange cannot be read.
    """
    start_time = time.perf_counter()
    regions: dict[str, Any] = {}
    files = {name: f"{STAGE}/{name}/{task.bucket:05d}.parquet" for name in TABLES}
    with (
        importable(task.spec.directory),
        Marks(task.run / "manifest" / STAGE, task.bucket, task.inputs) as marks,
        bucket_tables(task.run, files) as tables,
        Workshop() as workshop,
    ):
        loaded = _definitions(task.spec)
        for name, slices in open_pieces(list(task.pieces)).items():
            started = time.perf_counter()
            with tables.of(name) as rows:
                if marks.deaths(name) >= BOUNDS["deaths"]:
                    outcome = _Outcome(cause=f"its worker process died {marks.deaths(name)} times while it ran")
                else:
                    with marks.working_on(name):
                        outcome = _replay(name, slices, task.spec, loaded, rows, workshop)
                digest = tables.digest(rows)
                _put_outcome(rows["regions"], outcome, digest)
            regions[name] = {
                "digest": digest, "events": outcome.events, "cause": outcome.cause,
                "seconds": round(time.perf_counter() - started, 4),
            }  # fmt: skip
    return publish(task, STAGE, tuple(files.values()), tables.rows, start_time, regions=regions, pid=os.getpid())


def _put_outcome(rows: Rows, outcome: _Outcome, digest: str) -> None:
    rows.add(
        outcome.kind, outcome.events, outcome.unexpected, outcome.tasks, outcome.dispatches, outcome.ati_starts,
        json.dumps(outcome.abends, sort_keys=True), "; ".join(outcome.waiting), outcome.cause,
        json.dumps(dict(outcome.figures), default=_text), json.dumps(dict(outcome.checks)), digest,
    )  # fmt: skip


def _text(value: object) -> str:
    return str(value) if isinstance(value, Decimal) else repr(value)


# definitions ---------------------------------------------------------------------------------------------------------


def _definitions(spec: ReplaySpec) -> tuple[RegionFile, Definitions]:
    """The parsed definitions, once for all regions of a bucket: another run of this process may have edited files."""
    file = RegionFile() if spec.directory is None else load_region_file(spec.directory)
    own = file.load_definitions() if spec.directory is not None else Definitions()
    return file, own + load_definitions(*spec.definitions) if spec.definitions else own


def check_spec(spec: ReplaySpec) -> None:
    """Make one region from a spec, so that an error in the spec is reported once and not for each region.

    Raises:
        DefinitionError: definitions are wrong, or a module of handlers cannot be imported.
        TdqError: a module's ``register`` fails.
    """
    with importable(spec.directory), Workshop() as workshop, workshop.place() as folder:
        file, definitions = loaded = _definitions(spec)
        cards = InputSets(definitions, folder).cards | OutputSets(definitions, folder, supplied=False).cards
        try:
            _make(file.applid, spec, loaded, workshop, cards, Dispatcher(RecordedClock(_EPOCH_NS))).close()
        except (TdqError, OSError):
            raise
        except Exception as error:
            names = ", ".join((*file.handlers, *spec.handlers))
            raise TdqError(f"register of handlers {names} failed: {type(error).__name__}: {error}") from error


def _replay(
    name: str, slices: Sequence[Slice], spec: ReplaySpec, loaded: tuple[RegionFile, Definitions],
    rows: dict[str, Rows], workshop: Workshop,
) -> _Outcome:  # fmt: skip
    """Replay one region or system; errors become its outcome."""
    outcome = _Outcome()
    first = next(slices[0].batches(1))
    command, start_us = first.column("command")[0].as_py(), first.column("time_us")[0].as_py()
    clock = RecordedClock((start_us or 0) * 1000 or _EPOCH_NS)
    work = _replay_ibmi if command in IBMI_COMMANDS else _replay_cics
    with workshop.place() as folder:
        try:
            work(_Made(name, slices, spec, *loaded, rows, workshop, folder, Dispatcher(clock, spec.seed)), outcome)
        except OutOfBudget as over:
            outcome.cause = f"stopped: {over}"
        except Exception as error:  # noqa: BLE001  (programs of the user's: whatever they raise is the region's cause)
            outcome.cause = _cause(error, folder, slices)
        if outcome.cause:
            # Handlers of the region that were stopped may still hold the store.
            workshop.spoil()
    return outcome


def _cause(error: Exception, folder: Path, slices: Sequence[Slice]) -> str:
    """The message of an error, without the name of a temporary folder, and with the event of a bad record."""
    text = f"{type(error).__name__}: {error}".replace(f"{folder}{os.sep}", "")
    match = _BAD_RECORD.search(text)
    event = None if match is None else event_of_record(slices, match[1], int(match[2]))
    return text if event is None else f"{text} (event {event})"


@dataclass(frozen=True, slots=True)
class _Made:
    """The parts of a region, and the tables for its rows."""

    name: str
    slices: Sequence[Slice]
    spec: ReplaySpec
    file: RegionFile
    definitions: Definitions
    rows: dict[str, Rows]
    workshop: Workshop
    folder: Path
    turns: Dispatcher

    def budget(self, done: Any) -> Budget:
        """The limits of this region."""
        events = sum(each.stop - each.start for each in self.slices)
        most = self.spec.dispatches or BOUNDS["commands"] + BOUNDS["commands_per_event"] * events
        return Budget(most, self.spec.stuck_seconds, done)


# CICS ----------------------------------------------------------------------------------------------------------------


def _replay_cics(made: _Made, outcome: _Outcome) -> None:
    file, rows, folder = made.file, made.rows, made.folder
    inputs = InputSets(made.definitions, folder)
    inputs.take(made.slices)
    outputs = OutputSets(made.definitions, folder, supplied=bool(file.job))
    cards = inputs.cards | outputs.cards
    region = _make(made.name, made.spec, (file, made.definitions), made.workshop, cards, made.turns)
    try:
        _run_region(region, made, outcome, file)
    finally:
        _close(region, made, outcome)
    outcome.events += inputs.records
    outputs.put(rows["records"], rows["queue_final"])
    if file.job and not outcome.cause:
        _ask_job(region, file.job, made, cards, outcome)


def _make(
    name: str, spec: ReplaySpec, loaded: tuple[RegionFile, Definitions], workshop: Workshop,
    cards: Mapping[str, Path], turns: Dispatcher,
) -> Region:  # fmt: skip
    """A region right after its initial start."""
    file, definitions = loaded
    return Region.from_directory(
        file,
        definitions=definitions,
        applid=name,
        dispatcher=turns,
        dd=cards,
        store=workshop.store,
        start="INITIAL",
        handlers=(*file.handlers, *spec.handlers),
    )


def _run_region(region: Region, made: _Made, outcome: _Outcome, file: RegionFile) -> None:
    depths = Depths(BOUNDS["depth_points"])
    rows, spec = made.rows, made.spec
    budget = made.budget(lambda: _commands_of(region))
    recording = Recording(region, rows, depths, budget, commands=spec.commands)
    feed = CicsFeed(region, rows["results"], depths)
    try:
        with budget.watching():
            for batch in in_order(made.slices):
                put_seeds(region.seed, batch)
                feed.feed(batch)
            for transid in spec.start if spec.start is not None else file.start_transactions:
                region.start(transid)
            feed.finish()
    finally:
        recording.stop()
        outcome.events, outcome.unexpected = feed.events, feed.unexpected
        outcome.tasks, outcome.ati_starts = recording.tasks, recording.ati_starts
        outcome.abends, outcome.dispatches = recording.abends, budget.used
        outcome.waiting = [
            f"{fiber.name} waits for {fiber.waiting_for.name if fiber.waiting_for else 'its turn'}"
            for fiber in region.dispatcher.fibers
        ]
        put_queues(region, rows, depths)
        rows["depth"].extend(depths.points())


def _commands_of(region: Region) -> int:
    """A number that grows with every record that is read or written."""
    return sum(getattr(queue, "writes", 0) + getattr(queue, "reads", 0) for queue in region.tdqueues.values())


def _close(region: Region, made: _Made, outcome: _Outcome) -> None:
    """Close a region; tasks that do not end even then are left until the process ends."""
    budget = Budget(BOUNDS["commands"], min(made.spec.stuck_seconds, BOUNDS["close_seconds"]), lambda: 0)
    try:
        with budget.watching():
            region.close(clean=not outcome.cause)
    except OutOfBudget as over:
        outcome.cause = outcome.cause or f"would not close: {over}"


def _ask_job(region: Region, named: str, made: _Made, cards: Mapping[str, Path], outcome: _Outcome) -> None:
    """The figures and checks of the region directory's job, as in ``tdq run``."""
    spec = made.spec
    request = JobRequest(spec.directory or Path(), made.folder, dict(cards), None, spec.seed, lambda *_: None)
    job = named_class(named)(request)
    job.prepare()
    result = job.finish(region)
    outcome.figures = result.figures
    outcome.checks = {check.name: check.ok for check in result.checks}


# IBM i ---------------------------------------------------------------------------------------------------------------


def _replay_ibmi(made: _Made, outcome: _Outcome) -> None:
    outcome.kind = "IBMI"
    depths = Depths(BOUNDS["depth_points"])
    store = made.workshop.store
    store.clear()
    with System(made.name[:8], store=store, dispatcher=made.turns) as system:
        system.install(made.definitions, create_libraries=True)
        feed = IbmiFeed(system, made.rows["results"], depths)
        budget = made.budget(lambda: feed.events)
        made.turns.on_dispatch = budget.dispatched
        try:
            with budget.watching():
                for batch in in_order(made.slices):
                    put_seeds(feed.seed, batch)
                    feed.feed(batch)
                feed.finish()
        finally:
            made.turns.on_dispatch = None
            outcome.events, outcome.unexpected, outcome.dispatches = feed.events, feed.unexpected, budget.used
        put_data_queues(system, made.rows, depths)
        made.rows["depth"].extend(depths.points())
