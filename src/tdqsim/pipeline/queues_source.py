"""``format("tdqueue")`` and ``format("dtaq")``: the queues of a store as Spark data sources, batch and streaming.

    spark.read.format("tdqueue").option("queue", "PAYQ").load("store")
    spark.readStream.format("dtaq").option("maxRowsPerTrigger", 1000).load("store")
    frame.write.format("tdqueue").option("queue", "PAYQ").mode("append").save("store")

Reading takes nothing off a queue. A stream's offsets are sequence numbers. With ``consume`` set, the records of a batch
are taken off when Spark commits the batch; :func:`tdqsim.pipeline.queues.trim_finished` takes off those of the last
batch, once the stream has ended. The options are those of ``facts/queue_options.tsv``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from tdqsim.errors import DatasetError
from tdqsim.pipeline._worker import quieten, settle
from tdqsim.pipeline.qsam import PartMessage, parts_in, task_numbers
from tdqsim.pipeline.queue_options import QueueOptions, read_queue_options
from tdqsim.pipeline.queue_writer import (
    QueuePartWriter,
    abandon_stream,
    commit_batch,
    commit_stream,
    discard,
    sink_of,
)
from tdqsim.pipeline.queues import (
    Offsets,
    ReadTask,
    first_offsets,
    last_offsets,
    next_offsets,
    plan_read,
    ranges,
    read_task,
    schema_of,
    trim_read,
)
from tdqsim.pipeline.stored import Kind, check_free

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

quieten()  # in the process in which Spark plans


def register_queues(spark: SparkSession) -> None:
    """Register both formats with a session."""
    spark.dataSource.register(TdqueueDataSource)
    spark.dataSource.register(DtaqDataSource)


class _QueueDataSource(DataSource):
    kind: Kind

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return cls.kind

    def schema(self) -> StructType:
        """The columns of the read."""
        return from_arrow_schema(schema_of(read_queue_options(self.kind, self.options)))

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns of ``schema``, which may be only some of them."""
        return _Reader(read_queue_options(self.kind, self.options, "batch"), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """A writer of records to queues, or to seed files."""
        return _Writer(read_queue_options(self.kind, self.options, "write"), schema, overwrite)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """A reader of the records that arrive."""
        return _StreamReader(read_queue_options(self.kind, self.options, "stream"), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        """A writer that puts every batch on exactly once."""
        return _StreamWriter(read_queue_options(self.kind, self.options, "write"), schema, overwrite)


class TdqueueDataSource(_QueueDataSource):
    """The transient data queues of a region's store."""

    kind: Kind = "tdqueue"


class DtaqDataSource(_QueueDataSource):
    """The data queues of an IBM i system's store."""

    kind: Kind = "dtaq"


# tasks ---------------------------------------------------------------------------------------------------------------


class _TaskReader:
    """Reads the rows of tasks, in a batch or a stream."""

    def __init__(self, options: QueueOptions, schema: StructType) -> None:
        whole = schema_of(options)
        for field in to_arrow_schema(schema):
            if field.name not in whole.names:
                raise DatasetError(f"there is no column {field.name}; there are {', '.join(whole.names)}")
            if field.type != whole.field(field.name).type:
                raise DatasetError(
                    f"column {field.name} is {field.type} in the schema given; it is {whole.field(field.name).type}"
                )
        self.options = options
        self.columns = list(schema.names)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        settle()
        return read_task(self.options, partition.value, self.columns)


class _TaskWriter:
    """Stages the rows of tasks, in a batch or a stream; the commit puts them on the queues."""

    def __init__(self, options: QueueOptions, schema: StructType, folder: str = "") -> None:
        self.options = options
        self.parts = QueuePartWriter(options, to_arrow_schema(schema), folder)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> PartMessage:
        """Stage one partition."""
        return PartMessage(self.parts.write(iterator, task_numbers()[0]))


# batch ---------------------------------------------------------------------------------------------------------------


class _Reader(_TaskReader, DataSourceReader):
    """Plans what tasks read, as of the time of planning."""

    def partitions(self) -> Sequence[InputPartition]:
        """One task for each queue, journal or file, several for a long one."""
        return [InputPartition(task) for task in plan_read(self.options)] or [InputPartition(ReadTask())]


class _Writer(_TaskWriter, DataSourceArrowWriter):
    """A write that is all on the queues, or not at all."""

    def __init__(self, options: QueueOptions, schema: StructType, overwrite: bool) -> None:
        if options.target == "store":
            check_free(options.store, options.kind)
        super().__init__(options, schema)
        self.overwrite = overwrite

    def commit(self, messages: list[Any]) -> None:
        """Put all rows on, in partition order."""
        commit_batch(self.options, parts_in(messages), overwrite=self.overwrite)

    def abort(self, messages: list[Any]) -> None:
        """Remove the staged rows."""
        discard(self.parts.folder)


# streams -------------------------------------------------------------------------------------------------------------


class _StreamReader(_TaskReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads ranges of sequence numbers; the same range gives the same records, or fails."""

    def __init__(self, options: QueueOptions, schema: StructType) -> None:
        if options.read != "records":
            raise DatasetError(f"read {options.read} works only in a batch read; a stream reads records")
        if options.consume and options.starting_offsets == "latest":
            raise DatasetError("consume with startingOffsets latest would take off what the stream has not read")
        super().__init__(options, schema)
        self.target: Offsets | None = None

    def initialOffset(self) -> Offsets:
        """Before the first record that exists, or after the last (``startingOffsets``)."""
        return first_offsets(self.options)

    def getDefaultReadLimit(self) -> ReadLimit:
        """The limit from the options; if both are given, ``latestOffset`` applies the other."""
        rows, size = self.options.max_rows_per_trigger, self.options.max_bytes_per_trigger
        if rows:
            return ReadMaxRows(rows)
        return ReadMaxBytes(size) if size else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Limit this run to the records that exist now."""
        self.target = last_offsets(self.options)

    def reportLatestOffset(self) -> Offsets:
        """The current end of the queues, for the query's progress."""
        return last_offsets(self.options)

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:
        """How far the next batch goes."""
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else 0
        size = limit.max_bytes if isinstance(limit, ReadMaxBytes) else 0
        if not isinstance(limit, ReadAllAvailable):
            size = size or self.options.max_bytes_per_trigger
        end = next_offsets(self.options, start, rows=rows, size=size, target=self.target)
        if self.target is not None and end == start:
            self.commit(start)  # this run ends here; Spark would leave its last batch uncommitted
        return end

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        """A range for each queue that has new records, several for a long one."""
        return [InputPartition(each) for each in ranges(self.options, start, end)]

    def commit(self, end: Offsets) -> None:
        """Spark has finished with everything up to ``end``: take the records off if ``consume`` is set."""
        if self.options.consume:
            trim_read(self.options.store, self.options.kind, {name: place["seq"] for name, place in end.items()})


class _StreamWriter(_TaskWriter, DataSourceStreamArrowWriter):
    """Puts each batch on exactly once."""

    def __init__(self, options: QueueOptions, schema: StructType, overwrite: bool) -> None:
        if overwrite:
            raise DatasetError(
                f"format({options.kind!r}): a stream adds to queues; output mode append is the one there is"
            )
        self.sink = sink_of(options)
        super().__init__(options, schema, self.sink)

    def commit(self, messages: list[Any], batchId: int) -> None:
        """Put the batch on, unless it is on already."""
        commit_stream(self.options, parts_in(messages), batchId, self.sink)

    def abort(self, messages: list[Any], batchId: int) -> None:
        """Remove the staged rows."""
        abandon_stream(self.options, batchId, self.sink)
