"""The plan of a run: which bucket each region is in, and the stages that work bucket by bucket.

Every command on a run's directory follows the same steps: events are distributed over buckets, each bucket is replayed,
expected events are distributed over the same buckets, and each bucket is compared. A whole run does all steps, a single
command one of them. This module defines the tasks of these stages; :mod:`~tdqsim.pipeline.stages.engine` executes them,
in this process or on Spark.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tdqsim.errors import DatasetError
from tdqsim.pipeline.limits import BOUNDS
from tdqsim.pipeline.publishing import publish_json
from tdqsim.pipeline.stages.engine import StageEngine, run_stage
from tdqsim.pipeline.stages.exchange import (
    CountTask,
    FixedPiece,
    ParquetPiece,
    Piece,
    SplitTask,
    assign,
    count_piece,
    split_piece,
)
from tdqsim.pipeline.stages.manifest import Receipt, digest_of, file_digest, finished
from tdqsim.pipeline.stages.reconcile import Match, ReconcileTask, reconcile_bucket
from tdqsim.pipeline.stages.replay import ReplaySpec, ReplayTask, check_spec, replay_bucket

__all__ = [
    "BucketPlan",
    "code_of",
    "load_plan",
    "parquet_pieces",
    "reconcile_exchange",
    "replay_exchange",
    "spread_events",
    "sum_of",
]


class BucketPlan(NamedTuple):
    """The assignment of regions to buckets.

    Attributes:
        regions: the bucket of each region.
        events: how many events each region has.
    """

    regions: Mapping[str, int]
    events: Mapping[str, int]

    def as_json(self) -> dict[str, Mapping[str, int]]:
        """The plan in the form of its file."""
        return self._asdict()


def load_plan(run: Path) -> BucketPlan:
    """The plan that ingest made.

    Raises:
        DatasetError: ingest was not run, or was not completed.
    """
    path = _plan_file(run, "exchange")
    if not path.is_file():
        raise DatasetError(f"{run}: there is no exchange in it; run tdq pipeline ingest --run {run} first")
    finished(run, "split.exchange", "ingest")
    return BucketPlan(**json.loads(path.read_text("utf-8")))


def _plan_file(run: Path, folder: str) -> Path:
    return run / f"{folder}.plan.json"


def sum_of(receipts: Iterable[Receipt], detail: str) -> Counter[str]:
    """The sum of a detail of receipts that consists of counts by name."""
    total: Counter[str] = Counter()
    for receipt in receipts:
        total.update(receipt.details[detail])
    return total


def code_of(directory: Path | None, definitions: Iterable[Path] = ()) -> str:
    """A digest of programs and definitions, because the outcome depends on them.

    Raises:
        DatasetError: there is no such definition file.
    """
    files = [] if directory is None else [each for each in sorted(directory.glob("*")) if each.suffix in _CODE]
    for path in definitions:
        if not path.exists():
            raise DatasetError(f"{path}: there is no such definition file")
        files += [path] if path.is_file() else sorted(path.glob("*"))
    return digest_of([(path.name, file_digest(path)) for path in files if path.is_file()])


_CODE: Final = (".py", ".yaml", ".yml", ".csd", ".cl")


# spreading -----------------------------------------------------------------------------------------------------------


def spread_events(
    engine: StageEngine, run: Path, pieces: Sequence[Piece], base: str, buckets: int, folder: str,
    plan: Mapping[str, int] | None = None,
) -> BucketPlan:  # fmt: skip
    """Store events by bucket.

    Args:
        engine: where tasks run.
        run: the run's directory.
        pieces: the input.
        base: digest of the input.
        buckets: the maximum number of buckets.
        folder: the folder for the events, in the run's directory.
        plan: an existing assignment of regions to buckets; other regions are added to it.

    Raises:
        DatasetError: there are no events, and there is no plan yet.
        StageFailed: it could not be finished.
    """
    stage = f"count.{folder}"
    count = [
        CountTask(run, at, digest_of(base, folder, at), _weight(piece), piece, stage) for at, piece in enumerate(pieces)
    ]
    counts = sum_of(run_stage(engine, stage, run, count, count_piece), "counts")
    if not counts and plan is None:
        raise DatasetError("there are no events in the input; is it the right file, and the right --format?")
    regions = dict(plan) if plan is not None else assign(counts, buckets)
    for name in sorted(set(counts) - set(regions)):
        regions[name] = len(regions) % max(1, min(buckets, len(regions) or 1))
    made = BucketPlan(regions, dict(counts))
    publish_json(_plan_file(run, folder), made.as_json())
    stage, inputs = f"split.{folder}", digest_of(base, folder, regions)
    split = [
        SplitTask(run, at, digest_of(inputs, at), _weight(piece), piece, regions, folder, stage)
        for at, piece in enumerate(pieces)
    ]
    run_stage(engine, stage, run, split, split_piece, folder)
    return made


def _weight(piece: Piece) -> int:
    return piece.count if isinstance(piece, FixedPiece) else piece.rows


def parquet_pieces(paths: list[Path], most_rows: int = BOUNDS["piece_rows"]) -> list[ParquetPiece]:
    """Parquet files with events, divided between row groups if they are large enough.

    Raises:
        DatasetError: a file cannot be read as Parquet; the message names it.
    """
    pieces: list[ParquetPiece] = []
    for path in paths:
        try:
            metadata = pq.ParquetFile(path).metadata
        except (OSError, pa.ArrowInvalid) as error:
            reason = " ".join(str(error).split())
            raise DatasetError(
                f"{path}: cannot be read as Parquet: {reason}; copy it again, or leave it out"
            ) from error
        groups: list[int] = []
        size = rows = 0
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            groups.append(number)
            size, rows = size + group.total_byte_size, rows + group.num_rows
            if size >= BOUNDS["piece_bytes"] or rows >= most_rows:
                pieces.append(ParquetPiece(path, tuple(groups), rows))
                groups, size, rows = [], 0, 0
        if groups:
            pieces.append(ParquetPiece(path, tuple(groups), rows))
    return pieces


# bucket by bucket ----------------------------------------------------------------------------------------------------


def _files_of(run: Path, folder: str, bucket: int) -> tuple[Path, ...]:
    return tuple(sorted((run / folder / f"{bucket:05d}").glob("[0-9]*.arrow")))


def replay_exchange(engine: StageEngine, run: Path, plan: BucketPlan, spec: ReplaySpec, base: str) -> list[Receipt]:
    """Replay every bucket of the exchange, the heaviest first.

    Raises:
        DefinitionError: no region can be made from the spec.
        StageFailed: some buckets could not be finished.
    """
    check_spec(spec)
    loads: Counter[int] = Counter()
    for name, bucket in plan.regions.items():
        loads[bucket] += plan.events.get(name, 0)
    members = {bucket: sorted(name for name, at in plan.regions.items() if at == bucket) for bucket in loads}
    tasks = [
        ReplayTask(
            run, bucket, digest_of(base, repr(spec), members[bucket], bucket), load,
            _files_of(run, "exchange", bucket), spec,
        )
        for bucket, load in sorted(loads.items())
    ]  # fmt: skip
    return run_stage(engine, "replay", run, tasks, replay_bucket, "replay", apart=True)


def reconcile_exchange(
    engine: StageEngine, run: Path, plan: BucketPlan, matches: Mapping[str, Match], inputs: str
) -> list[Receipt]:
    """Compare the result of replay with the expected events, bucket by bucket."""
    tasks = [
        ReconcileTask(
            run, bucket, digest_of(inputs, bucket), 1, _files_of(run, "expected", bucket),
            run / "replay" / "records" / f"{bucket:05d}.parquet", matches,
        )
        for bucket in sorted(set(plan.regions.values()))
    ]  # fmt: skip
    return run_stage(engine, "reconcile", run, tasks, reconcile_bucket, "reconcile")
