"""Batch reads of queues, histories and journals without Spark: what tasks there are, and what each gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from tdqsim.errors import DatasetError
from tdqsim.pipeline.queue_options import QueueOptions
from tdqsim.pipeline.queue_traces import HISTORY, JOURNAL, Piece, history_pieces, journals, read_history, read_journal
from tdqsim.pipeline.queues import QUEUES, SCHEMAS, queue_rows, read_range
from tdqsim.pipeline.stored import Queue, opened, wanted

__all__ = ["ReadTask", "plan_read", "read_task", "schema_of"]


class ReadTask(NamedTuple):
    """What one task reads: of a queue or journal above ``after`` to ``upto``, or a piece of a history; else nothing."""

    name: str = ""
    after: int = 0
    upto: int = 0
    piece: Piece | None = None


def schema_of(options: QueueOptions) -> pa.Schema:
    """The columns of a read.

    Raises:
        DatasetError: this kind of store has no such thing.
    """
    if options.read == "journal":
        if options.kind != "dtaq":
            raise DatasetError("journals are an IBM i system's: format('dtaq'); a region has histories")
        return JOURNAL
    return {"records": SCHEMAS[options.kind], "queues": QUEUES, "history": HISTORY[options.kind]}[options.read]


def plan_read(options: QueueOptions) -> list[ReadTask]:
    """What is read, in order, as of now."""
    if options.read == "history":
        return [ReadTask(piece=piece) for piece in history_pieces(options.path)]
    if options.read == "queues":
        return [ReadTask(name="*")]
    low = max(options.starting_sequence - 1, 0)
    high = 2**63 - 1 if options.ending_sequence is None else options.ending_sequence
    if options.read == "journal":
        found = journals(options.store, options.journals)
        return [
            ReadTask(name, after, upto)
            for name, (_, last) in found.items()
            for after, upto in _pieces(low, min(high, last), max(1, last // options.rows_per_partition))
        ]
    with opened(options.store, options.kind) as stored:
        return [
            ReadTask(queue.name, after, upto)
            for queue in wanted(stored, options.queues, options.store)
            if queue.records
            for after, upto in _parts(queue, low, high, options.rows_per_partition)
        ]


def _parts(queue: Queue, low: int, high: int, rows: int) -> Iterator[tuple[int, int]]:
    if queue.order == "KEYED":  # by key they lie, so each part would take a walk over all of them
        yield low, min(high, queue.last)
        return
    low = max(low, queue.first - 1)
    yield from _pieces(low, min(high, queue.last), -(-queue.records // rows))


def _pieces(low: int, high: int, parts: int) -> Iterator[tuple[int, int]]:
    """A range in so many parts of about one length."""
    step = max(1, -(-(high - low) // max(parts, 1)))
    for after in range(low, high, step):
        yield after, min(after + step, high)


def read_task(options: QueueOptions, task: ReadTask, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of one task."""
    if task.piece is not None:
        yield from read_history(task.piece, options.kind, columns, mode=options.mode, queues=options.queues)
    elif task.name == "*":
        yield from queue_rows(options.store, options.kind, options.queues).select(list(columns)).to_batches()
    elif task.name and options.read == "journal":
        yield from read_journal(options.store, task.name, columns, task.after, task.upto, options.queues)
    elif task.name:
        yield from read_range(options.store, options.kind, task.name, task.after, task.upto, columns)
