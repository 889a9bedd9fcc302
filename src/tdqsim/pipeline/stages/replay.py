"""Replay: many regions and IBM i systems with the real engine, each fed its events in order.

A region is made of definitions and handlers inside the task, on a temporary store and a clock of its own that only its
events and its waits move. So its outcome is a function of its events, its definitions and the seed; which bucket it is
in, and what runs beside it, cannot be seen in it.

A handler that crashes is an abend; one that never ends meets the budget; one that takes the whole worker process along
is found out by the mark its region left: when a bucket is done again and again dies in the same region, that region
becomes a row with its cause, and the others go on.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from tdqsim.cics import Region, inspecting
from tdqsim.cics.queues import IntraQueue
from tdqsim.core.dispatch import Dispatcher
from tdqsim.definitions import Definitions, load_definitions
from tdqsim.definitions.regionfile import RegionFile, load_region_file
from tdqsim.errors import TdqError
from tdqsim.ibmi import System
from tdqsim.pipeline.stages.budget import Budget, OutOfBudget
from tdqsim.pipeline.stages.datasets_of import InputSets, OutputSets
from tdqsim.pipeline.stages.depths import Depths
from tdqsim.pipeline.stages.events import BOUNDS, Slice, open_pieces
from tdqsim.pipeline.stages.feeding import IBMI_COMMANDS, CicsFeed, IbmiFeed, RecordedClock
from tdqsim.pipeline.stages.jobs import importable
from tdqsim.pipeline.stages.manifest import Receipt, Receipts, publish_json
from tdqsim.pipeline.stages.order import in_order
from tdqsim.pipeline.stages.recording import Recording
from tdqsim.pipeline.stages.tables import BucketTables, Rows

__all__ = ["ReplaySpec", "ReplayTask", "replay_bucket"]

STAGE = "replay"
_EPOCH_NS = 946_684_800_000_000_000  # 2000-01-01, when no event has a time


@dataclass(frozen=True, slots=True)
class ReplaySpec:
    """What every region is made of.

    Attributes:
        directory: a region directory, or None.
        definitions: definition files besides; for IBM i systems the data queues.
        handlers: modules of handlers besides.
        start: transactions to start after the events of a region, instead of those of region.yaml.
        job: let the class that region.yaml names by ``job:`` look at what came out.
        seed: the seed of the order of ready tasks.
        commands: also take down every command that handlers issue.
        dispatches: how often a region's tasks may be dispatched.
        stuck_seconds: how long nothing may happen in a region while a program of it runs; 0 does not look.
    """

    directory: Path | None = None
    definitions: tuple[Path, ...] = ()
    handlers: tuple[str, ...] = ()
    start: tuple[str, ...] | None = None
    job: bool = True
    seed: int = 0
    commands: bool = False
    dispatches: int = BOUNDS["dispatches"]
    stuck_seconds: float = BOUNDS["stuck_seconds"]


@dataclass(frozen=True, slots=True)
class ReplayTask:
    """Replay the regions of one bucket.

    Attributes:
        run: the run's directory.
        bucket: the bucket.
        inputs: digest of the events and the spec.
        weight: how many events.
        pieces: the bucket's files of the exchange.
        spec: what every region is made of.
    """

    run: Path
    bucket: int
    inputs: str
    weight: int
    pieces: tuple[Path, ...]
    spec: ReplaySpec


@dataclass(slots=True)
class _Outcome:
    """What is known of a region at its end."""

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


def replay_bucket(task: ReplayTask) -> Receipt:
    """Replay the regions of a bucket, in order of their names, and publish their tables and the receipt."""
    begun = time.perf_counter()
    marks = _Marks(task)
    regions: dict[str, Any] = {}
    with importable(task.spec.directory), BucketTables(task.run, STAGE, task.bucket) as tables:
        for name, slices in open_pieces(list(task.pieces)).items():
            started = time.perf_counter()
            with tables.of(name) as rows:
                if marks.deaths(name) >= BOUNDS["deaths"]:
                    outcome = _Outcome(cause=f"its worker process died {marks.deaths(name)} times while it ran")
                else:
                    with marks.working_on(name):
                        outcome = _replay(name, slices, task.spec, rows)
                digest = tables.digest(rows)
                _put_outcome(rows["regions"], outcome, digest)
            regions[name] = {
                "digest": digest, "events": outcome.events, "cause": outcome.cause,
                "seconds": round(time.perf_counter() - started, 4),
            }  # fmt: skip
    size = sum((task.run / file).stat().st_size for file in tables.files.values())
    seconds = round(time.perf_counter() - begun, 3)
    files = tuple(tables.files.values())
    receipt = Receipt(
        STAGE, task.bucket, task.inputs, files, tables.rows, size, "", seconds, {"regions": regions, "pid": os.getpid()}
    )
    Receipts(task.run, STAGE).put(receipt)
    marks.clear()
    return receipt


class _Marks:
    """Which region a bucket's task works on, on disk, so that its death can be laid at that region's door."""

    def __init__(self, task: ReplayTask) -> None:
        self._path = task.run / "manifest" / STAGE / f"{task.bucket:05d}.working"
        found: dict[str, Any] = {}
        if self._path.is_file():
            found = json.loads(self._path.read_text("utf-8"))
        self._inputs = task.inputs
        same = found.get("inputs") == task.inputs
        self._deaths: Counter[str] = Counter(found.get("deaths", {}) if same else {})
        if same and found.get("region"):
            self._deaths[found["region"]] += 1

    def deaths(self, region: str) -> int:
        return self._deaths[region]

    @contextmanager
    def working_on(self, region: str) -> Iterator[None]:
        """Mark the region while the block runs; an exception takes the mark away, a death does not."""
        self._write(region)
        try:
            yield
        finally:
            self._write("")

    def _write(self, region: str) -> None:
        mark = {"inputs": self._inputs, "region": region, "deaths": dict(self._deaths), "pid": os.getpid()}
        publish_json(self._path, mark)

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)


def _put_outcome(rows: Rows, outcome: _Outcome, digest: str) -> None:
    rows.add(
        outcome.kind, outcome.events, outcome.unexpected, outcome.tasks, outcome.dispatches, outcome.ati_starts,
        json.dumps(outcome.abends, sort_keys=True), "; ".join(outcome.waiting), outcome.cause,
        json.dumps(dict(outcome.figures), default=_text), json.dumps(dict(outcome.checks)), digest,
    )  # fmt: skip


def _text(value: object) -> str:
    return str(value) if isinstance(value, Decimal) else repr(value)


# definitions ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def _definitions(directory: Path | None, files: tuple[Path, ...]) -> tuple[RegionFile, Definitions]:
    """Parsed once in a process; a thousand regions are made of them."""
    file = RegionFile() if directory is None else load_region_file(directory)
    own = file.load_definitions() if directory is not None else Definitions()
    return file, own + load_definitions(*files) if files else own


def _replay(name: str, slices: Sequence[Slice], spec: ReplaySpec, rows: dict[str, Rows]) -> _Outcome:
    """One region or system, whatever it does."""
    outcome = _Outcome()
    first = next(slices[0].batches(1))
    command, start_us = first.column("command")[0].as_py(), first.column("time_us")[0].as_py()
    clock = RecordedClock((start_us or 0) * 1000 or _EPOCH_NS)
    work = _replay_ibmi if command in IBMI_COMMANDS else _replay_cics
    try:
        work(name, slices, spec, rows, outcome, Dispatcher(clock, spec.seed))
    except OutOfBudget as over:
        outcome.cause = f"stopped: {over}"
    except (TdqError, OSError) as error:
        outcome.cause = f"{type(error).__name__}: {error}"
    return outcome


# CICS ----------------------------------------------------------------------------------------------------------------


def _replay_cics(
    name: str, slices: Sequence[Slice], spec: ReplaySpec, rows: dict[str, Rows], outcome: _Outcome, turns: Dispatcher
) -> None:
    file, definitions = _definitions(spec.directory, spec.definitions)
    with tempfile.TemporaryDirectory(prefix="tdqsim-") as folder:
        inputs = InputSets(definitions, Path(folder))
        inputs.take(slices)
        outputs = OutputSets(definitions, Path(folder))
        cards = inputs.cards | outputs.cards
        region = inspecting.from_region_file(
            Region,
            file,
            {
                "definitions": definitions, "applid": name, "dispatcher": turns, "dd": cards, "start": "COLD",
                "handlers": (*file.handlers, *spec.handlers),
            },
        )  # fmt: skip
        try:
            _run_region(region, slices, spec, rows, outcome, file)
        finally:
            _close(region, spec, outcome)
        outcome.events += inputs.records
        outputs.put(rows["records"], rows["queue_final"])
        if spec.job and file.job and not outcome.cause:
            _ask_job(region, file.job, spec, cards, Path(folder), outcome)


def _run_region(
    region: Region,
    slices: Sequence[Slice],
    spec: ReplaySpec,
    rows: dict[str, Rows],
    outcome: _Outcome,
    file: RegionFile,
) -> None:
    depths = Depths(BOUNDS["depth_points"])
    budget = Budget(spec.dispatches, spec.stuck_seconds, lambda: _pulse(region))
    recording = Recording(region, rows, depths, budget, commands=spec.commands)
    feed = CicsFeed(region, rows["results"], depths)
    try:
        with budget.watching():
            for batch in in_order(slices):
                _seed(region, batch)
                feed.feed(batch)
            for transid in spec.start if spec.start is not None else file.start:
                region.start(transid)
            feed.finish()
    finally:
        recording.stop()
        outcome.events, outcome.unexpected = feed.events, feed.unexpected
        outcome.tasks, outcome.ati_starts = recording.tasks, recording.ati_starts
        outcome.abends, outcome.dispatches = recording.abends, budget.used
        outcome.waiting = [
            f"{strand.name} waits for {strand.waiting_for.name if strand.waiting_for else 'its turn'}"
            for strand in region.dispatcher.strands
        ]
        _put_contents(region, rows, depths)
        for point in depths.points():
            rows["depth"].add(*point)


def _pulse(region: Region) -> tuple[int, ...]:
    """Something that changes with every record that is read or written."""
    return tuple(getattr(queue, "writes", 0) + getattr(queue, "reads", 0) for queue in region.tdqueues.values())


def _seed(region: Region, batch: Any) -> None:
    """Records to be on queues before anything happens."""
    if "SEED" not in batch.column("command").unique().to_pylist():
        return
    commands = batch.column("command").to_pylist()
    queues, records = batch.column("queue").to_pylist(), batch.column("data").to_pylist()
    for command, queue, record in zip(commands, queues, records, strict=True):
        if command == "SEED":
            try:
                region.seed(queue, [record])
            except TdqError as error:
                raise TdqError(f"SEED of queue {queue}: {error}") from error


def _put_contents(region: Region, rows: dict[str, Rows], depths: Depths) -> None:
    """What is left on the intrapartition queues."""
    from hashlib import blake2b  # noqa: PLC0415

    for _, queue in sorted(region.tdqueues.items()):
        if not isinstance(queue, IntraQueue):
            continue
        found = blake2b(digest_size=8)
        size = number = 0
        for number, entry in enumerate(queue.stored.entries(), 1):
            size += len(entry.data)
            found.update(len(entry.data).to_bytes(4, "big") + entry.data)
            rows["records"].add(queue.name, "TD", number, entry.key, entry.data)
        peak = max(queue.peak_items, depths.peaks.get(queue.name, 0))
        if number or peak:
            rows["queue_final"].add(queue.name, "TD", number, peak, size, found.hexdigest())


def _close(region: Region, spec: ReplaySpec, outcome: _Outcome) -> None:
    """Close a region; tasks that will not end even then are left to the process's end."""
    budget = Budget(spec.dispatches, spec.stuck_seconds, lambda: 0)
    try:
        with budget.watching():
            region.close(clean=not outcome.cause)
    except OutOfBudget as over:
        outcome.cause = outcome.cause or f"would not close: {over}"


def _ask_job(
    region: Region, named: str, spec: ReplaySpec, cards: Mapping[str, Path], folder: Path, outcome: _Outcome
) -> None:
    """The figures and checks of the region directory's own job, as ``tdq run`` shows them."""
    import importlib  # noqa: PLC0415

    from tdqsim.job import JobRequest  # noqa: PLC0415

    module, _, name = named.partition(":")
    factory = getattr(importlib.import_module(module), name)
    request = JobRequest(spec.directory or Path(), folder, dict(cards), None, spec.seed, lambda *_: None)
    job = factory(request)
    job.prepare()
    result = job.finish(region)
    outcome.figures = result.figures
    outcome.checks = {check.name: check.ok for check in result.checks}


# IBM i ---------------------------------------------------------------------------------------------------------------


def _replay_ibmi(
    name: str, slices: Sequence[Slice], spec: ReplaySpec, rows: dict[str, Rows], outcome: _Outcome, turns: Dispatcher
) -> None:
    from hashlib import blake2b  # noqa: PLC0415

    outcome.kind = "IBMI"
    _, definitions = _definitions(spec.directory, spec.definitions)
    depths = Depths(BOUNDS["depth_points"])
    with System(name[:8], dispatcher=turns) as system:
        system.install(definitions, create_libraries=True)
        feed = IbmiFeed(system, rows["results"], depths)
        budget = Budget(spec.dispatches, spec.stuck_seconds, lambda: feed.events)
        turns.on_dispatch = budget.dispatched
        try:
            with budget.watching():
                for batch in in_order(slices):
                    feed.feed(batch)
                feed.finish()
        finally:
            turns.on_dispatch = None
            outcome.events, outcome.unexpected, outcome.dispatches = feed.events, feed.unexpected, budget.used
        for queue in sorted(system.queues(), key=lambda each: (each.library, each.name)):
            if queue.ddm:
                continue
            found, size, number = blake2b(digest_size=8), 0, 0
            shown = f"{queue.library}/{queue.name}"
            for number, entry in enumerate(queue.stored.entries(), 1):
                size += len(entry.data)
                found.update(len(entry.data).to_bytes(4, "big") + entry.key + entry.data)
                rows["records"].add(shown, "DTAQ", number, entry.key, entry.data)
            peak = max(depths.peaks.get(shown, 0), number)
            rows["queue_final"].add(shown, "DTAQ", number, peak, size, found.hexdigest())
        for point in depths.points():
            rows["depth"].add(*point)
