"""The job of a region directory in the pipeline: how it is spread over many regions, and its expected results.

A region directory that can be spread has a file ``pipeline.yaml``::

    spread: card_pipeline:CardPosting

The class is a :class:`SpreadJob`. Its module is found in the region directory, in every worker too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import yaml

from tdqsim.errors import DefinitionError, Problem
from tdqsim.job import importable, named_class

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Output", "Router", "SpreadJob", "SpreadRequest", "loaded_job"]

FILE: Final = "pipeline.yaml"

Router = Callable[[str, npt.NDArray[np.uint8]], npt.NDArray[np.int64]]
"""Given a DD name and records, a row each: the number of each record's region, from 0."""


@dataclass(frozen=True, slots=True)
class Output:
    """A data set that comes out of each region, and how its records are found again.

    Attributes:
        length: bytes of a record.
        key: the bytes by which a record is known.
        order: the bytes that name what keeps its order (an account, say); None for records that have none.
        copybook: the layout by which differences are named; empty for none.
        masks: names of fields whose differences do not count.
    """

    length: int
    key: slice
    order: slice | None = None
    copybook: str = ""
    masks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SpreadRequest:
    """The user's options.

    Attributes:
        directory: the region directory.
        folder: where input goes that is generated; it exists.
        dd: files given by the user, by DD name.
        records: how many records to generate; None when the user did not say.
        seed: the seed of what is generated.
        progress: called with what is done, how much of it, and how much there is.
    """

    directory: Path
    folder: Path
    dd: Mapping[str, Path]
    records: int | None
    seed: int
    progress: Callable[[str, int, int], None]


class SpreadJob(Protocol):
    """A job that many regions can share; one object is made, without arguments, in each process that needs it.

    Attributes:
        inputs: bytes of a record of each input data set, by DD name; the first is the one that is counted.
        outputs: the data sets that come out.
    """

    inputs: Mapping[str, int]
    outputs: Mapping[str, Output]

    def prepare(self, request: SpreadRequest) -> dict[str, Path]:
        """The input data sets by DD name, generated when none is given."""

    def region_name(self, number: int, regions: int) -> str:
        """The applid of a region."""

    def router(self, files: Mapping[str, Path], regions: int) -> Router:
        """How records go to regions."""

    def expected(self, files: Mapping[str, Path], regions: int) -> Iterator[pa.Table]:
        """The expected results, computed in this process without the programs: event tables with command EXPECT."""

    def expected_sql(self, spark: SparkSession, files: Mapping[str, Path], regions: int) -> DataFrame:
        """The same, computed by Spark SQL: a DataFrame with the columns region, queue, seq, key and data.

        Data sets are best read by :func:`~tdqsim.pipeline.data_sets.read_data_set`, with the columns that matter alone:
        for ``format("qsam")`` Spark has processes that plan, which stay.
        """

    def expected_figures(self, expected: Iterable[pa.Table]) -> dict[str, Any]:
        """The job's figures, from the records that must come out: an iterable of event tables."""

    def add_figures(self, figures: dict[str, Any], more: Mapping[str, Any]) -> None:
        """Add one region's figures to those of others."""


def _class_of(directory: Path) -> str:
    path = directory / FILE
    try:
        found = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DefinitionError([Problem(str(path), 0, "", "", "", f"cannot be read: {error}")]) from error
    named = found.get("spread") if isinstance(found, dict) else None
    if not isinstance(named, str) or named.count(":") != 1 or set(found) != {"spread"}:
        text = "must have one line, such as spread: card_pipeline:CardPosting"
        raise DefinitionError([Problem(str(path), 1, "", "spread", str(named or ""), text)])
    return named


@contextmanager
def loaded_job(directory: Path) -> Iterator[SpreadJob]:
    """The job that a region directory's ``pipeline.yaml`` names; its modules can be imported meanwhile.

    Raises:
        DefinitionError: there is no such file or class.
    """
    named = _class_of(directory)
    with importable(directory):
        job: SpreadJob = named_class(named, str(directory / FILE), "spread")()
        yield job
