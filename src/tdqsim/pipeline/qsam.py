"""``format("qsam")`` and ``format("cobol")``: data sets as Spark data sources, for SQL and DataFrames.

    spark.read.format("qsam").option("copybook", "dalytran.cpy").load("DALYTRAN.PS")
    frame.write.format("qsam").option("copybook", "dalytran.cpy").mode("overwrite").save("OUT.PS")

Options are those of the table in :mod:`tdqsim.pipeline.options`. ``cobol`` is ``qsam`` with Cobrix's defaults. No part
of it knows whether the session is local, a cluster's or Connect's: files are opened where they are read and written, so
a cluster needs them on shared storage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from tdqsim.errors import DatasetError
from tdqsim.pipeline._metadata import with_metadata
from tdqsim.pipeline._worker import quieten, settle
from tdqsim.pipeline.data_sets import chosen_columns
from tdqsim.pipeline.options import QsamOptions, read_options
from tdqsim.pipeline.source import SplitReader
from tdqsim.pipeline.splits import plan
from tdqsim.pipeline.writer import PartWriter, commit_parts, discard_parts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["CobolDataSource", "PartMessage", "QsamDataSource", "parts_in", "register", "task_numbers"]

quieten()  # where Spark plans with it

COLUMNS = "columns"
"""The option that Spark's reader of columns it does not want does without: it asks a data source for all there are."""


def register(spark: SparkSession) -> None:
    """Make ``format("qsam")`` and ``format("cobol")`` known to a session; doing it again changes nothing."""
    spark.dataSource.register(QsamDataSource)
    spark.dataSource.register(CobolDataSource)


class QsamDataSource(DataSource):
    """The data source; Spark makes one for each read or write."""

    cobrix = False

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "qsam"

    def _checked(self) -> QsamOptions:
        given = {name: value for name, value in self.options.items() if name.lower() != COLUMNS}
        return read_options(given, cobrix=self.cobrix)

    def schema(self) -> StructType:
        """The columns that copybook and options give, or those of them that ``columns`` names."""
        options = self._checked()
        given = next((value for name, value in self.options.items() if name.lower() == COLUMNS), None)
        names = None if given is None else [name for name in given.split(",") if name.strip()]
        return with_metadata(from_arrow_schema(SplitReader(options, chosen_columns(options, names)).schema), options)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns of ``schema``, which may be fewer than there are."""
        return QsamReader(self._checked(), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """A writer of one data set, or of a part for each partition."""
        return QsamWriter(self._checked(), schema, overwrite)


class CobolDataSource(QsamDataSource):
    """The same with Cobrix's defaults."""

    cobrix = True

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "cobol"


class QsamReader(DataSourceReader):
    """Plans parts, and reads each in a task."""

    def __init__(self, options: QsamOptions, schema: StructType) -> None:
        self.options = options
        self.columns = list(schema.names)
        made = SplitReader(options, self.columns).schema
        for mine, theirs in zip(made, to_arrow_schema(schema), strict=True):
            if mine.type != theirs.type:
                raise DatasetError(
                    f"column {mine.name} is {theirs.type} in the schema given, and {mine.type} by its layout"
                )

    def partitions(self) -> Sequence[InputPartition]:
        """One partition for each part of each file."""
        return [InputPartition(split) for split in plan(self.options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The record batches of one part."""
        settle()
        return SplitReader(self.options, self.columns).read(partition.value)


class PartMessage(WriterCommitMessage):
    """What a task tells the commit: the part that it wrote."""

    def __init__(self, part: Any) -> None:
        self.part = part


def parts_in(messages: Iterable[Any]) -> list[Any]:
    """The parts that tasks told of."""
    return [message.part for message in messages if message is not None]


def task_numbers() -> tuple[int, int]:
    """The number of the task that this is called in, among the tasks of its job, and that of its attempt."""
    from pyspark import TaskContext  # noqa: PLC0415 - there is one in a task only

    context = TaskContext.get()
    return (context.partitionId(), context.taskAttemptId()) if context is not None else (0, 0)


class QsamWriter(DataSourceArrowWriter):
    """Writes a part in each task; the commit makes the data set of them."""

    def __init__(self, options: QsamOptions, schema: StructType, overwrite: bool) -> None:
        self.options = options
        self.overwrite = overwrite
        self.parts = PartWriter(options, to_arrow_schema(schema))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> PartMessage:
        """Write one partition."""
        return PartMessage(self.parts.write(iterator, *task_numbers()))

    def commit(self, messages: list[Any]) -> None:
        """Make the data set of the parts, in partition order."""
        commit_parts(self.options, parts_in(messages), overwrite=self.overwrite)

    def abort(self, messages: list[Any]) -> None:
        """Remove the parts; the data set is as it was."""
        discard_parts(parts_in(messages))
