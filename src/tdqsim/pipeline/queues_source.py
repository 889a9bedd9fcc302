"""``format("tdqueue")`` and ``format("dtaq")``: the queues of a store as Spark data sources, batch and streaming.

    spark.read.format("tdqueue").option("queue", "PAYQ").load("store")
    spark.readStream.format("dtaq").option("maxrows", 1000).load("store")

Nothing is taken off a queue by reading it. A stream's offsets are sequence numbers; with ``consume`` set, records go
when Spark commits the batch they were in, and the last batch's go by :func:`tdqsim.pipeline.queues.trim`, with the
offsets of the checkpoint, once the stream has ended.

Options: ``path`` the store's directory; ``queue`` names, separated by commas (all by default); ``consume`` true or
false; ``maxrows`` the most records a batch of a stream takes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows
from pyspark.sql.types import StructType

from tdqsim.errors import DatasetError
from tdqsim.pipeline.queues import SCHEMA, Kind, QueueHoles, heads, read_range, trim

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["DtaqDataSource", "TdqueueDataSource", "checkpoint_offsets", "register_queues"]

_OPTIONS = ("path", "queue", "consume", "maxrows")


def register_queues(spark: SparkSession) -> None:
    """Make both formats known to a session."""
    spark.dataSource.register(TdqueueDataSource)
    spark.dataSource.register(DtaqDataSource)


class _Chosen:
    """The options, checked."""

    def __init__(self, kind: Kind, options: Mapping[str, str]) -> None:
        given = {name.lower(): value for name, value in options.items()}
        for name in given:
            if name not in _OPTIONS:
                raise DatasetError(f"format({kind!r}) has no option {name}; it has {', '.join(_OPTIONS)}")
        if not given.get("path"):
            raise DatasetError(f"format({kind!r}) needs the store's directory: .load(DIR)")
        self.kind: Kind = kind
        self.path = Path(given["path"].removeprefix("file:"))
        self.queues = tuple(name.strip() for name in given.get("queue", "").split(",") if name.strip())
        self.consume = _flag(kind, given.get("consume", "false"))
        rows = given.get("maxrows", "0")
        if not rows.isdecimal():
            raise DatasetError(
                f"format({kind!r}): maxrows is {rows!r}; must be a number of records, 0 for all there are"
            )
        self.maxrows = int(rows)


def _flag(kind: str, value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise DatasetError(f"format({kind!r}): consume is {value!r}; must be true or false")
    return value.lower() == "true"


class _QueueDataSource(DataSource):
    kind: Kind

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return cls.kind

    def schema(self) -> StructType:
        """queue, seq, time_us, key, data."""
        return from_arrow_schema(SCHEMA)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns wanted."""
        return _Reader(_Chosen(self.kind, self.options), list(schema.names))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  (Spark's name)
        """A reader of what comes."""
        return _StreamReader(_Chosen(self.kind, self.options), list(schema.names))


class TdqueueDataSource(_QueueDataSource):
    """The transient data queues of a region's store."""

    kind: Kind = "tdqueue"


class DtaqDataSource(_QueueDataSource):
    """The data queues of an IBM i system's store."""

    kind: Kind = "dtaq"


class _Range(InputPartition):
    """Records of one queue: above ``after``, not above ``upto``; how many there must be, when that is known."""

    def __init__(self, queue: str, after: int, upto: int) -> None:
        super().__init__((queue, after, upto))


class _Reader(DataSourceReader):
    """Reads every queue up to the number it has when the read is planned."""

    def __init__(self, chosen: _Chosen, columns: list[str]) -> None:
        if chosen.consume:
            raise DatasetError("consume is for streams; a batch read takes nothing off a queue")
        self.chosen = chosen
        self.columns = columns

    def partitions(self) -> Sequence[InputPartition]:
        """One for each queue with records."""
        found = heads(self.chosen.path, self.chosen.kind, self.chosen.queues)
        return [_Range(name, 0, last) for name, (_, last, count) in found.items() if count] or [_Range("", 0, 0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of one queue."""
        queue, after, upto = partition.value
        if queue:
            yield from read_range(self.chosen.path, self.chosen.kind, queue, after, upto, self.columns)


class _StreamReader(DataSourceStreamReader):
    """Looks at ranges of sequence numbers; the same range gives the same records, or fails."""

    def __init__(self, chosen: _Chosen, columns: list[str]) -> None:
        self.chosen = chosen
        self.columns = columns

    def initialOffset(self) -> dict[str, int]:  # noqa: N802  (Spark's name)
        """Before the first record that is there."""
        found = heads(self.chosen.path, self.chosen.kind, self.chosen.queues)
        return {name: (first - 1 if count else last) for name, (first, last, count) in found.items()}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """``maxrows``, or everything."""
        return ReadMaxRows(self.chosen.maxrows) if self.chosen.maxrows else ReadAllAvailable()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """How far the next batch goes: at most so many records in all, queues in turn."""
        room = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        end = dict(start)
        for name, (_, last, _) in heads(self.chosen.path, self.chosen.kind, self.chosen.queues).items():
            after = start.get(name, 0)
            if room is None:
                end[name] = max(after, last)
            elif room > 0:
                end[name], taken = self._reach(name, after, room)
                room -= taken
        return end

    def _reach(self, name: str, after: int, room: int) -> tuple[int, int]:
        """The number of the last of the next so many records, and how many there are."""
        taken, reached = 0, after
        for batch in read_range(self.chosen.path, self.chosen.kind, name, after, None, ["seq"]):
            numbers = batch.column(0).to_pylist()[: room - taken]
            taken += len(numbers)
            reached = numbers[-1] if numbers else reached
            if taken >= room:
                break
        return reached, taken

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """A range for each queue that has moved on."""
        moved = [(name, start.get(name, 0), last) for name, last in end.items() if last > start.get(name, 0)]
        return [_Range(*each) for each in moved]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of a range.

        Raises:
            QueueHoles: the last of them is gone: somebody else reads the queue.
        """
        queue, after, upto = partition.value
        seen = after
        for batch in read_range(self.chosen.path, self.chosen.kind, queue, after, upto):
            seen = max(seen, *batch.column("seq").to_pylist())
            yield batch.select(self.columns)
        if seen < upto:
            raise QueueHoles(
                f"{self.chosen.path}: queue {queue}: records {seen + 1} to {upto} of this batch are gone; "
                "somebody else reads the queue; give the stream a queue of its own, or a new checkpoint"
            )

    def commit(self, end: dict[str, int]) -> None:
        """Spark is done with everything up to here."""
        if self.chosen.consume:
            trim(self.chosen.path, self.chosen.kind, end)


def checkpoint_offsets(folder: Path) -> dict[str, int]:
    """How far a stream that has ended had got, from its checkpoint: for the last :func:`trim`.

    Args:
        folder: the checkpoint's directory.

    Raises:
        DatasetError: no batch was finished there.
    """
    done = sorted(int(path.name) for path in (folder / "commits").glob("[0-9]*"))
    if not done:
        raise DatasetError(f"{folder}: no batch was finished there; there is nothing to trim")
    text = (folder / "offsets" / str(done[-1])).read_text("utf-8").splitlines()[-1]
    found: Any = json.loads(text)
    return {str(name): int(last) for name, last in found.items()}
