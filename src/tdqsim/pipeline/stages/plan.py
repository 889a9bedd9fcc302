"""The plan of a run: which bucket each region is in, and the stages that work bucket by bucket.

Every command on a run's directory takes the same way: events are spread over buckets, each bucket is replayed, expected
events are spread over the same buckets, and each bucket is compared. A whole run does all of it, the single commands
each a part. Here is what the tasks of these stages are; :mod:`~tdqsim.pipeline.stages.engine` executes them, in this
process or on Spark.
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
from tdqsim.pipeline.bounds import BOUNDS
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
    """Where the regions of a run are.

    Attributes:
        regions: the bucket of each region.
        events: how many events each region has.
    """

    regions: Mapping[str, int]
    events: Mapping[str, int]

    def as_json(self) -> dict[str, Mapping[str, int]]:
        """As it is kept in its file."""
        return self._asdict()


def load_plan(run: Path) -> BucketPlan:
    """The plan that ingest made.

    Raises:
        DatasetError: ingest was not run, or not to its end.
    """
    path = _plan_file(run, "exchange")
    if not path.is_file():
        raise DatasetError(f"{run}: there is no exchange in it; run tdq pipeline ingest --run {run} first")
    finished(run, "split.exchange", "ingest")
    return BucketPlan(**json.loads(path.read_text("utf-8")))


def _plan_file(run: Path, folder: str) -> Path:
    return run / f"{folder}.plan.json"


def sum_of(receipts: Iterable[Receipt], detail: str) -> Counter[str]:
    """A detail of receipts that is counts by name, summed."""
    found: Counter[str] = Counter()
    for receipt in receipts:
        found.update(receipt.details[detail])
    return found


def code_of(directory: Path | None, definitions: Iterable[Path] = ()) -> str:
    """A digest of programs and definitions: other ones, another outcome.

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
    """Lay events down by bucket.

    Args:
        engine: where tasks run.
        run: the run's directory.
        pieces: the input.
        base: digest of the input.
        buckets: how many there are at most.
        folder: where, under the run's directory.
        plan: the bucket of each region, when that is settled already; regions that are not in it are added.

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
    found = BucketPlan(regions, dict(counts))
    publish_json(_plan_file(run, folder), found.as_json())
    stage, inputs = f"split.{folder}", digest_of(base, folder, regions)
    split = [
        SplitTask(run, at, digest_of(inputs, at), _weight(piece), piece, regions, folder, stage)
        for at, piece in enumerate(pieces)
    ]
    run_stage(engine, stage, run, split, split_piece, folder)
    return found


def _weight(piece: Piece) -> int:
    return piece.count if isinstance(piece, FixedPiece) else piece.rows


def parquet_pieces(paths: list[Path], most_rows: int = BOUNDS["piece_rows"]) -> list[ParquetPiece]:
    """Parquet files with events, cut between row groups where there is enough of them.

    Raises:
        DatasetError: a file cannot be read as Parquet; names it.
    """
    pieces: list[ParquetPiece] = []
    for path in paths:
        try:
            metadata = pq.ParquetFile(path).metadata
        except (OSError, pa.ArrowInvalid) as error:
            said = " ".join(str(error).split())
            raise DatasetError(f"{path}: not to be read as Parquet: {said}; copy it again, or leave it out") from error
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
        DefinitionError: no region can be made of the spec.
        StageFailed: some buckets are left.
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
    """Compare what replay left with the expected events, bucket by bucket."""
    tasks = [
        ReconcileTask(
            run, bucket, digest_of(inputs, bucket), 1, _files_of(run, "expected", bucket),
            run / "replay" / "records" / f"{bucket:05d}.parquet", matches,
        )
        for bucket in sorted(set(plan.regions.values()))
    ]  # fmt: skip
    return run_stage(engine, "reconcile", run, tasks, reconcile_bucket, "reconcile")
