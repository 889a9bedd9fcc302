"""What is on queues: put there before anything happens, how much there is, and put down at the end.

No other module of the stages knows how queues are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa

from tdqsim.cics import Region
from tdqsim.cics.queues.kinds import IntraTdQueue
from tdqsim.core.store import Entry
from tdqsim.errors import TdqError
from tdqsim.ibmi import DataQueue, System
from tdqsim.pipeline.stages.depths import Depths
from tdqsim.pipeline.stages.tables import Rows

__all__ = ["depth", "put_data_queues", "put_queues", "put_seeds"]

_ROWS: Final = 8192
_BYTES: Final = 16 << 20


def depth(queue: IntraTdQueue | DataQueue) -> int:
    """How many records are on a queue, those of units of work that are under way included."""
    return queue.stored.count


class Seeded(Protocol):
    """Something that takes records on queues outside any task."""

    def seed(self, name: str, records: Iterable[bytes]) -> int:
        """Put records on a queue."""


def put_seeds(target: Seeded, batch: pa.RecordBatch) -> None:
    """Put the records of SEED events on their queues.

    Raises:
        TdqError: a queue does not take its record; names both.
    """
    if "SEED" not in batch.column("command").unique().to_pylist():
        return
    columns = (batch.column(name).to_pylist() for name in ("seq", "command", "queue", "data"))
    for seq, command, queue, record in zip(*columns, strict=True):
        if command == "SEED":
            try:
                target.seed(queue or "", [record or b""])
            except TdqError as error:
                raise TdqError(f"event {seq}: SEED of queue {queue}: {error}") from error


def put_queues(region: Region, rows: Mapping[str, Rows], depths: Depths) -> None:
    """What is left on the intrapartition queues of a region."""
    for _, queue in sorted(region.tdqueues.items()):
        if isinstance(queue, IntraTdQueue):
            peak = max(queue.peak_items, depths.peak(queue.name))
            if peak:
                _put(rows, queue.name, "TD", queue.stored.entries(), peak)


def put_data_queues(system: System, rows: Mapping[str, Rows], depths: Depths) -> None:
    """What is left on the data queues of a system."""
    for queue in sorted(system.queues(), key=lambda each: (each.library, each.name)):
        if not queue.ddm:
            shown = f"{queue.library}/{queue.name}"
            _put(rows, shown, "DTAQ", queue.stored.entries(), depths.peak(shown))


def _put(rows: Mapping[str, Rows], shown: str, kind: str, entries: Iterable[Entry], peak: int) -> None:
    found = blake2b(digest_size=8)
    number = size = held = 0
    keys: list[bytes] = []
    data: list[bytes] = []

    def put_down() -> None:
        count = len(data)
        columns: list[Any] = [
            pa.repeat(pa.scalar(shown), count),
            pa.repeat(pa.scalar(kind), count),
            pa.array(np.arange(number - count + 1, number + 1, dtype=np.int64)),
            pa.array(keys, pa.binary()),
            pa.array(data, pa.binary()),
        ]
        rows["records"].columns(columns)
        keys.clear()
        data.clear()

    for entry in entries:
        number += 1
        keys.append(entry.key)
        data.append(entry.data)
        size += len(entry.data)
        held += len(entry.data)
        found.update(len(entry.data).to_bytes(4, "big") + entry.key + entry.data)
        if len(data) >= _ROWS or held >= _BYTES:
            put_down()
            held = 0
    if data:
        put_down()
    rows["queue_final"].add(shown, kind, number, max(peak, number), size, found.hexdigest())
