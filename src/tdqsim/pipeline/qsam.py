"""``format("qsam")`` and ``format("cobol")``: data sets as Spark data sources, for SQL and DataFrames.

    spark.read.format("qsam").option("copybook", "dalytran.cpy").load("DALYTRAN.PS")
    frame.write.format("qsam").option("copybook", "dalytran.cpy").mode("overwrite").save("OUT.PS")

The options are those of :mod:`tdqsim.pipeline.options`. ``cobol`` is ``qsam`` with Cobrix's defaults. Everything works
the same in a local session, on a cluster and with Spark Connect: tasks open the files that they read and write, so a
cluster needs them on shared storage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
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
from tdqsim.pipeline._worker import quieten, settle
from tdqsim.pipeline.options import QsamOptions, read_options
from tdqsim.pipeline.quality import Quality, tell, telling
from tdqsim.pipeline.source import ReadPlan, columns_among
from tdqsim.pipeline.writer import PartWriter, commit_parts

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator
    from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, StructField

from tdqsim.layouts import FieldType, Usage
from tdqsim.pipeline.shape import Column, columns_of

quieten()  # in the process in which Spark plans


def register(spark: SparkSession) -> None:
    """Register ``format("qsam")`` and ``format("cobol")`` with a session; calling it again changes nothing.

    A task's error reaches the program that asked for the rows. In a local session the loggers that write it once more,
    with sixty lines of Java's frames for each attempt, are switched off.
    """
    teller = telling(spark)
    context = getattr(spark, "sparkContext", None)
    if context is not None and context.master.startswith("local"):
        jvm: Any = spark._jvm  # noqa: SLF001 - Spark gives no other access to its loggers
        log4j = jvm.org.apache.logging.log4j
        for name in ("executor.Executor", "scheduler.TaskSetManager"):
            log4j.core.config.Configurator.setLevel(f"org.apache.spark.{name}", log4j.Level.OFF)
    for kind in (QsamDataSource, CobolDataSource):
        spark.dataSource.register(type(kind.__name__, (kind,), {"teller": teller}))


class QsamDataSource(DataSource):
    """The data source; Spark makes one for each read or write."""

    cobrix = False
    teller: Accumulator[dict[str, str]] | None = None
    """How tasks report to the driver what is corrupt; :func:`register` sets it."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "qsam"

    @cached_property
    def _plan(self) -> ReadPlan:
        """The plan of the read: made by the first method that needs it, and pickled with this object from then on."""
        return ReadPlan.of(read_options(self.options, cobrix=self.cobrix))

    def schema(self) -> StructType:
        """The columns that copybook and options define, or those of them that ``columns`` names."""
        return with_metadata(from_arrow_schema(self._plan.schema), self._plan)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns of ``schema``, which may be only some of them."""
        return QsamReader(self._plan, schema, self.teller)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """A writer of one data set, or of one part for each partition."""
        return QsamWriter(read_options(self.options, cobrix=self.cobrix), schema, overwrite)


class CobolDataSource(QsamDataSource):
    """The data source with Cobrix's defaults."""

    cobrix = True

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "cobol"


class QsamReader(DataSourceReader):
    """Plans the parts, and reads each part in a task."""

    def __init__(self, plan: ReadPlan, schema: StructType, teller: Accumulator[dict[str, str]] | None = None) -> None:
        self.names, self.teller = list(schema.names), teller
        chosen = columns_among(plan.full.names, self.names) if self.names else []
        self.plan = plan if chosen == plan.schema.names else plan.only(chosen)
        for mine, theirs in zip(self.plan.schema, to_arrow_schema(schema), strict=True):
            if mine.type != theirs.type:
                raise DatasetError(
                    f"column {mine.name} is {theirs.type} in the schema given, and {mine.type} by its layout"
                )

    def partitions(self) -> Sequence[InputPartition]:
        """One partition for each part of each file."""
        return [InputPartition(split) for split in self.plan.splits()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The record batches of one part."""
        settle()
        quality = Quality()
        for batch in self.plan.read(partition.value, quality):
            yield batch if self.names == batch.schema.names else batch.rename_columns(self.names)
        tell(self.teller, self.plan.name, quality)


class PartMessage(WriterCommitMessage):
    """The message of a task to the commit: the part that the task wrote."""

    def __init__(self, part: object) -> None:
        self.part = part


def parts_in(messages: Iterable[Any]) -> list[Any]:
    """The parts that tasks have reported."""
    return [message.part for message in messages if message is not None]


def task_numbers() -> tuple[int, int]:
    """The number of the current task within its job, and the number of its attempt."""
    from pyspark import TaskContext  # noqa: PLC0415 - there is one in a task only

    context = TaskContext.get()
    return (context.partitionId(), context.taskAttemptId()) if context is not None else (0, 0)


class QsamWriter(DataSourceArrowWriter):
    """Writes a part in each task; the commit joins the parts to the data set."""

    def __init__(self, options: QsamOptions, schema: StructType, overwrite: bool) -> None:
        self.options = options
        self.overwrite = overwrite
        self.parts = PartWriter(options, to_arrow_schema(schema))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> PartMessage:
        """Write one partition."""
        return PartMessage(self.parts.write(iterator, *task_numbers()))

    def commit(self, messages: list[Any]) -> None:
        """Join the parts to the data set, in partition order."""
        commit_parts(self.options, parts_in(messages), overwrite=self.overwrite)

    def abort(self, messages: list[Any]) -> None:
        """Remove the parts; the data set stays unchanged."""
        self.parts.discard()


# metadata -------------------------------------------------------------------------------------------------------------


TEXTS = (FieldType.TEXT, FieldType.EDITED, FieldType.NATIONAL, FieldType.BYTES, FieldType.DBCS)
USAGES = {Usage.BINARY: "COMP-4", Usage.PACKED_DECIMAL: "COMP-3", Usage.COMP_6: "COMP-3U"}
SEGMENT_ID_LENGTH, TIME_LENGTH = 50, 15


def with_metadata(schema: StructType, plan: ReadPlan) -> StructType:
    """The schema of a read with metadata, ``basic`` or ``extended`` as the options say, or without."""
    options, columns = plan.options, dict[str, Column]()
    if plan.decoder is not None and not options.shape.flat:
        columns = _named(plan.decoder.columns)
    elif plan.family is not None and options.layout is not None:
        columns = _named(columns_of(options.layout, options.shape))
    groups = {column.name: column for top in columns.values() for column in _groups(top)}
    known = _Known(options, groups)
    return StructType([known.field(field, columns) for field in schema.fields])


def _named(columns: Iterable[Column]) -> dict[str, Column]:
    return {column.name: column for column in columns}


def _groups(column: Column) -> Iterator[Column]:
    if column.children:
        yield column
        for child in column.children:
            yield from _groups(child)


class _Known:
    """The columns of a layout; a table of child segments has the fields of its segment's group, wherever that is."""

    def __init__(self, options: QsamOptions, groups: dict[str, Column]) -> None:
        self.options, self.groups = options, groups

    def field(self, field: StructField, columns: dict[str, Column]) -> StructField:
        column = columns.get(field.name)
        child = column is None and field.name in self.groups and bool(self.options.segment_children)
        inner = self.groups[field.name] if child else column
        kind = self._type(field.dataType, _named(inner.children) if inner is not None else {})
        metadata = {} if column is None or not self.options.metadata else self._of(column)
        if column is None and self.options.segment_levels and field.name.startswith("Seg_Id"):
            prefix = len(self.options.segment_prefix) if self.options.segment_prefix_given else TIME_LENGTH
            metadata = {"maxLength": prefix + SEGMENT_ID_LENGTH}
        return StructField(field.name, kind, field.nullable, metadata)

    def _type(self, kind: DataType, columns: dict[str, Column]) -> DataType:
        if isinstance(kind, ArrayType):
            return ArrayType(self._type(kind.elementType, columns), kind.containsNull)
        if isinstance(kind, StructType) and columns:
            return StructType([self.field(field, columns) for field in kind.fields])
        return kind

    def _of(self, column: Column) -> dict[str, Any]:
        item, metadata = column.field, dict[str, Any]()
        if column.is_debug:
            metadata["maxLength"] = item.length * (2 if self.options.shape.debug == "hex" else 1)
        elif item.type in TEXTS:
            metadata["maxLength"] = item.picture.length if item.picture is not None else item.length
        elif (
            self.options.shape.display_pic_always_string
            and not item.is_group
            and item.scale == 0
            and item.type is not FieldType.FLOAT
        ):
            metadata["maxLength"] = item.digits + item.signed
        if item.occurs is not None:
            metadata |= {"minElements": item.occurs.minimum, "maxElements": item.occurs.maximum}
        return metadata | _extended(column) if self.options.metadata == "extended" else metadata


def _extended(column: Column) -> dict[str, Any]:
    """Level, offset and clauses of a field."""
    item = column.field
    metadata: dict[str, Any] = {"level": item.level, "offset": item.offset, "byte_size": item.length}
    if item.name != column.name and not item.is_filler:
        metadata["originalName"] = item.name
    if item.redefines:
        metadata["redefines"] = item.redefines[-1].replace("-", "_")
    if item.depending_on:
        metadata["depending_on"] = item.depending_on[-1].replace("-", "_")
    if item.usage is not Usage.DISPLAY:
        metadata["usage"] = USAGES.get(item.usage, str(item.usage))
    if item.picture is not None:
        metadata["pic"] = item.picture.text
    if item.is_numeric:
        metadata |= {
            "precision": item.digits,
            "signed": item.signed,
            "sign_separate": item.sign is not None and item.sign.separate,
        }
    if item.is_numeric and item.scale:
        shown = item.picture is not None and any(mark in item.picture.mask for mark in ".,")
        metadata |= {"scale": max(item.scale, 0), "implied_decimal": not shown}
        metadata |= {"scale_factor": item.scale} if item.scale < 0 else {}
    return metadata
