"""Runs of a few events, for the tests of the stages."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tdqsim.pipeline.stages import (
    EVENTS,
    LocalRunner,
    Match,
    ReplaySpec,
    parquet_pieces,
    reconcile,
    run_replay,
    spread_events,
)


def write_events(path: Path, rows: list[dict[str, object]], group: int = 1000) -> Path:
    pq.write_table(pa.Table.from_pylist(rows, schema=EVENTS), path, row_group_size=group)
    return path


def write(region: str, seq: int, queue: str, data: bytes, **more: object) -> dict[str, object]:
    return {"region": region, "seq": seq, "command": "WRITEQ TD", "queue": queue, "data": data, **more}


def spread(run: Path, sources: list[Path], buckets: int = 4, base: str = "base", most_rows: int = 1_000_000) -> None:
    LocalRunner().execute(spread_events(run, parquet_pieces(sources, most_rows), base, buckets, "exchange"))


def replayed(
    tmp_path: Path, directory: Path, rows: list[dict[str, object]], buckets: int = 4, group: int = 100, **spec: object
) -> Path:
    run = tmp_path / f"run{buckets}"
    source = write_events(tmp_path / "events.parquet", rows, group)
    spread(run, [source], buckets, most_rows=1)
    run_replay(run, ReplaySpec(directory=directory, **spec), "local")  # type: ignore[arg-type]
    return run


def compare(expected: pa.Array, actual: pa.Array, match: Match) -> list[tuple[object, ...]]:
    """All differences between two columns of records."""
    comparison = reconcile.Comparison(iter([expected]), match)
    comparison.add(actual)
    return comparison.outcome()[1]
