"""The quality of the data of a read: how many values of each column are corrupt or null, and the first corrupt one.

A corrupt value is null in permissive mode (a number of occurrences out of range stays), so nothing in the rows shows it
from a value that is not there. The decoder knows it: the counts cost nothing where no value is corrupt. Tasks count for
themselves, and the counts are added in the order of the parts, so that the first corrupt value is the first in the
data.

A frame that is read in Spark has no place for them. Its tasks report what they found to the driver by an accumulator,
and the driver warns once for each read, with the counts of the first task that found a corrupt value. Without an
accumulator (a Connect server has its driver elsewhere), each worker writes it to its standard error.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tdqsim.pipeline._corrupt import Corrupt
from tdqsim.pipeline._numbers import Ints

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.accumulators import Accumulator
    from pyspark.sql import SparkSession

_SHOWN = 32
_COLUMNS_SHOWN = 5


class DataQualityWarning(UserWarning):
    """Values of a data set are corrupt (null, or occurrences out of range), or children without parents left out."""


@dataclass(frozen=True, slots=True)
class CorruptValue:
    """A corrupt value.

    Attributes:
        file: the file, as the options name it.
        record: the number of its record, from 1; 0 where the records before it were not counted.
        at: where the record begins in the file.
        offset: where the field begins in the record.
        hex: the bytes of the field.
    """

    file: str
    record: int
    at: int
    offset: int
    hex: str

    def __str__(self) -> str:
        shown = self.hex if len(self.hex) <= _SHOWN else f"{self.hex[:_SHOWN]}..."
        where = f"record {self.record}" if self.record else f"the record at offset {self.at}"
        return f"X'{shown}' at {where}, offset {self.offset}, of {self.file}"


@dataclass(frozen=True, slots=True)
class ColumnQuality:
    """The quality of one column; for a column in a group or table, its path with dots.

    Attributes:
        corrupt: how many values are corrupt.
        nulls: how many other values are null.
        first: the first corrupt value; None without one.
    """

    corrupt: int = 0
    nulls: int = 0
    first: CorruptValue | None = None


@dataclass(slots=True)
class Quality:
    """The quality of what was read so far.

    Attributes:
        rows: how many rows were read.
        columns: the columns that have corrupt or null values.
        left_out: how many records of child segments are in no row, because their parents are missing.
    """

    rows: int = 0
    columns: dict[str, ColumnQuality] = field(default_factory=dict)
    left_out: int = 0

    @property
    def corrupt(self) -> int:
        """How many values are corrupt."""
        return sum(each.corrupt for each in self.columns.values())

    def add(self, other: Quality) -> None:
        """Add the counts of the part that follows."""
        self.rows += other.rows
        self.left_out += other.left_out
        for name, each in other.columns.items():
            self._count(name, each)

    def add_batch(self, batch: pa.RecordBatch, corrupt: Iterable[Corrupt], place: Sequence[Any]) -> None:
        """Count the values of a batch.

        Args:
            batch: the rows.
            corrupt: the corrupt values in their records.
            place: the file, the number of each record from 0 (None: not known), and where each record begins.
        """
        self.rows += batch.num_rows
        for name, array in zip(batch.schema.names, batch.columns, strict=True):
            if not name.startswith("_"):
                for path, count in _nulls(name, array):
                    self._count(path, ColumnQuality(nulls=count))
        self.add_corrupt(corrupt, place)

    def add_corrupt(self, corrupt: Iterable[Corrupt], place: Sequence[Any]) -> None:
        """Count corrupt values; arguments are those of :meth:`add_batch`."""
        file, numbers, starts = place
        for each in corrupt:
            name = ".".join(each.path).replace("-", "_")
            self._count(name, ColumnQuality(len(each.rows), -len(each.rows), _first(each, file, numbers, starts)))

    def _count(self, name: str, more: ColumnQuality) -> None:
        old = self.columns.get(name, ColumnQuality())
        nulls = max(old.nulls + more.nulls, 0)
        self.columns[name] = replace(
            old, corrupt=old.corrupt + more.corrupt, nulls=nulls, first=old.first or more.first
        )

    def lines(self) -> Iterator[str]:
        """For each column with corrupt values a sentence."""
        for name, each in self.columns.items():
            if each.corrupt:
                yield f"{name}: {each.corrupt:,} corrupt in {self.rows:,} rows, first {each.first}"

    @property
    def lost(self) -> str:
        """A sentence about the records that are left out; empty if there are none."""
        return f"{self.left_out:,} records are left out because their parents are missing" if self.left_out else ""

    def as_json(self) -> dict[str, Any]:
        """The counts as plain values."""
        columns = {name: asdict(each) for name, each in self.columns.items()}
        return {"rows": self.rows, "columns": columns, "left_out": self.left_out}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Quality:
        """The counts that :meth:`as_json` gave."""
        columns = dict[str, ColumnQuality]()
        for name, each in value.get("columns", {}).items():
            first = CorruptValue(**each["first"]) if each["first"] else None
            columns[name] = ColumnQuality(each["corrupt"], each["nulls"], first)
        return cls(value.get("rows", 0), columns, value.get("left_out", 0))


def _first(each: Corrupt, file: str, numbers: Ints | None, starts: Ints) -> CorruptValue:
    index = int(each.rows.argmin())
    row = int(each.rows[index])
    record = 0 if numbers is None else int(numbers[row]) + 1
    return CorruptValue(file, record, int(starts[row]), int(each.offsets[index]), each.raw[index].as_py().hex().upper())


def _nulls(name: str, array: pa.Array) -> Iterator[tuple[str, int]]:
    """The columns in an array that have nulls, with their number; groups and tables by what is in them."""
    if pa.types.is_list(array.type):
        yield from _nulls(name, array.flatten())
    elif pa.types.is_struct(array.type):
        for field_, inner in zip(array.type, array.flatten(), strict=True):
            yield from _nulls(f"{name}.{field_.name}", inner)
    elif array.null_count:
        yield name, array.null_count


# shown in Spark -------------------------------------------------------------------------------------------------------


class Shown(dict[str, str]):
    """In the driver: the reads whose corrupt values it has shown, and the sentences."""


class Telling:
    """How an accumulator adds what tasks report: a sentence for each read with corrupt values."""

    def zero(self, value: dict[str, str]) -> dict[str, str]:
        """The value in a task."""
        return {}

    def addInPlace(self, total: dict[str, str], more: Mapping[str, str]) -> dict[str, str]:
        """Add sentences; the driver shows those of reads that are new to it."""
        for read, text in more.items():
            if read not in total:
                total[read] = text
                if isinstance(total, Shown):
                    _show(text)
        return total


def telling(spark: SparkSession) -> Accumulator[dict[str, str]] | None:
    """The accumulator by which tasks of a session report to the driver; None for a Connect session, which has none."""
    context = getattr(spark, "sparkContext", None)
    return None if context is None else _accumulator(context)


@lru_cache(maxsize=1)  # a process has one context at a time
def _accumulator(context: SparkContext) -> Accumulator[dict[str, str]]:
    made: Accumulator[dict[str, str]] = context.accumulator(Shown(), Telling())  # type: ignore[arg-type]
    return made


def tell(teller: Accumulator[dict[str, str]] | None, read: str, quality: Quality) -> None:
    """In a task: report what is corrupt or left out in a part of a read."""
    if quality.lost:
        _tell(teller, f"{read}, left out", f"in a part of the data {quality.lost}")
    if not quality.corrupt:
        return
    more = sum(each.corrupt > 0 for each in quality.columns.values()) - _COLUMNS_SHOWN
    columns = [*islice(quality.lines(), _COLUMNS_SHOWN), *([f"{more} more columns"] if more > 0 else [])]
    text = f"corrupt values in a part of the data: {'; '.join(columns)}; data_quality(spark, path, ...) counts all"
    _tell(teller, read, text)


def _tell(teller: Accumulator[dict[str, str]] | None, read: str, text: str) -> None:
    if teller is not None:
        teller.add({read: text})
    elif read not in _written:
        _written[read] = text
        sys.stderr.write(f"DataQualityWarning: {text}\n")


_written: dict[str, str] = {}
"""What this worker has written to its standard error."""


def _show(text: str) -> None:
    """Warn in the driver, in the thread that receives what tasks report; an error there would end the job."""
    try:
        warnings.warn_explicit(text, DataQualityWarning, "tdqsim", 1)
    except DataQualityWarning:  # the user has made warnings errors
        sys.stderr.write(f"DataQualityWarning: {text}\n")
