"""The data sets of one replayed region: inputs made from its DD events, outputs written to the records table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tdqsim.datasets import Dcb, RecordFormat, open_writer, read_records
from tdqsim.definitions import Definitions, ExtraQueue
from tdqsim.errors import DatasetError
from tdqsim.facts import SUPPLIED_QUEUES
from tdqsim.pipeline._columns import joined_bytes
from tdqsim.pipeline.limits import BOUNDS
from tdqsim.pipeline.stages.events import Slice, fixed_binary, in_order, stretches
from tdqsim.pipeline.stages.recording import put_records
from tdqsim.pipeline.stages.tables import Rows


def _queues(definitions: Definitions, *kinds: str) -> dict[str, ExtraQueue]:
    return {
        queue.dd: queue
        for queue in definitions.tdqueues
        if isinstance(queue, ExtraQueue) and queue.typefile in kinds and not queue.dsname
    }


def _fixed(queue: ExtraQueue | None) -> bool:
    return queue is not None and queue.recordformat == "FIXED" and queue.recordsize > 0


class InputSets:
    """Input data sets by DD name, written from events.

    Args:
        definitions: the region's definitions; every input queue gets a data set, which is empty if no event is for it.
        folder: the directory of the data sets.

    Attributes:
        cards: the files by DD name.
        records: how many were written.
    """

    def __init__(self, definitions: Definitions, folder: Path) -> None:
        self._queues = _queues(definitions, "INPUT", "RDBACK")
        self.records = 0
        self.cards = {dd: folder / f"{dd}.in" for dd in self._queues}
        for path in self.cards.values():
            path.touch()

    def take(self, slices: Sequence[Slice]) -> None:
        """Write the records of DD events.

        Raises:
            DatasetError: a DD name belongs to no input queue, or a record does not have the length in the definition.
        """
        if not any("DD" in batch.column("command").unique().to_pylist() for batch in _first(slices)):
            return
        writers: dict[str, Any] = {}
        try:
            for batch in in_order(slices):
                for dd, part in _by_dd(batch):
                    self._put(writers, dd, part)
        finally:
            for writer in writers.values():
                writer.close()

    def _put(self, writers: dict[str, Any], dd: str, part: pa.RecordBatch) -> None:
        queue = self._queues.get(dd)
        self.records += part.num_rows
        if queue is None:
            known = ", ".join(self._queues) or "none"
            raise DatasetError(
                f"event {part.column('seq')[0]}: DD {dd} belongs to no input queue; the input queues have {known}"
            )
        if dd not in writers:
            path = self.cards[dd]
            if _fixed(queue):
                writers[dd] = path.open("wb")
            else:
                dcb = Dcb(RecordFormat.VB, lrecl=queue.recordsize or BOUNDS["variable_lrecl"])
                writers[dd] = open_writer(path, dcb)
        if _fixed(queue):
            _put_fixed(writers[dd], dd, queue.recordsize, part)
        else:
            writers[dd].put_all(part.column("data").to_pylist())


def event_of_record(slices: Sequence[Slice], dd: str, number: int) -> int | None:
    """The number of the event that is a record of an input data set."""
    for batch in in_order(slices):
        for name, part in _by_dd(batch):
            if name == dd and number <= part.num_rows:
                return int(part.column("seq")[number - 1].as_py())
            number -= part.num_rows if name == dd else 0
    return None


def _first(slices: Sequence[Slice]) -> Iterator[pa.RecordBatch]:
    """The beginning of each slice, because DD events come first in a region."""
    for each in slices:
        yield next(each.batches())


def _by_dd(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The DD events of a batch, in groups of consecutive events for one DD name."""
    coded = batch.column("queue").dictionary_encode()
    is_dd = pc.equal(batch.column("command"), "DD").to_numpy(zero_copy_only=False)
    marks = np.where(is_dd, coded.indices.fill_null(-1).to_numpy(), -1)
    for start, stop in stretches(marks):
        if marks[start] >= 0:
            yield coded.dictionary[int(marks[start])].as_py(), batch.slice(start, stop - start)


def _put_fixed(file: IO[bytes], dd: str, length: int, part: pa.RecordBatch) -> None:
    """Write fixed-length records from memory, with one write for all."""
    data = part.column("data")
    lengths = pc.binary_length(data).to_numpy()
    wrong = np.flatnonzero(lengths != length)
    if len(wrong):
        seq = part.column("seq")[int(wrong[0])]
        raise DatasetError(
            f"event {seq}: a record of {lengths[wrong[0]]} bytes for DD {dd}; its definition says RECORDSIZE {length}"
        )
    file.write(joined_bytes(data))


class OutputSets:
    """Output data sets by DD name.

    Args:
        definitions: the region's definitions.
        folder: the directory of the data sets.
        supplied: also make those of the supplied queues, for a job that reads them; otherwise they are on the spool,
            where the first record creates a data set.

    Attributes:
        cards: the files by DD name.
    """

    def __init__(self, definitions: Definitions, folder: Path, *, supplied: bool) -> None:
        self._queues = _queues(definitions, "OUTPUT")
        self.cards = {dd: folder / f"{dd}.out" for dd in self._queues}
        for each in SUPPLIED_QUEUES.values() if supplied else ():
            if each.ddname and each.ddname not in self.cards:
                self.cards[each.ddname] = folder / f"{each.ddname}.sup"

    def put(self, records: Rows, final: Rows) -> None:
        """Write the output to the tables."""
        for dd, queue in sorted(self._queues.items()):
            path = self.cards[dd]
            if not path.is_file():
                continue
            digest = blake2b(digest_size=8)
            count = size = 0
            parts = _fixed_parts(path, queue.recordsize) if _fixed(queue) else _variable_parts(path, queue)
            for data in parts:
                for buffer in data.buffers()[1:]:
                    digest.update(buffer)
                size += data.nbytes
                put_records(records, dd, "DD", count, data)
                count += len(data)
            final.add(dd, "DD", count, count, path.stat().st_size, digest.hexdigest())


def _fixed_parts(path: Path, length: int) -> Iterator[pa.Array]:
    step = length * max(1, min(BOUNDS["batch_rows"], (16 << 20) // length))
    with path.open("rb") as file:
        while block := file.read(step):
            whole = len(block) // length
            yield fixed_binary(np.frombuffer(block, np.uint8)[: whole * length].reshape(whole, length))


def _variable_parts(path: Path, queue: ExtraQueue) -> Iterator[pa.Array]:
    dcb = Dcb(RecordFormat.VB if queue.blockformat == "BLOCKED" else RecordFormat.V, lrecl=queue.recordsize)
    held: list[bytes] = []
    for record in read_records(path, dcb):
        held.append(record)
        if len(held) == BOUNDS["batch_rows"]:
            yield pa.array(held, pa.binary())
            held = []
    if held:
        yield pa.array(held, pa.binary())
