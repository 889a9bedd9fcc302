"""The job of a region directory in the pipeline: how it is divided over many regions, and its expected results.

A region directory whose job can be divided has a file ``pipeline.yaml``::

    spread: card_pipeline:SpreadPosting

The class is a :class:`SpreadJob`. Every process, including workers, imports its module from the region directory.
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

FILE: Final = "pipeline.yaml"

Router = Callable[[str, npt.NDArray[np.uint8]], npt.NDArray[np.int64]]
"""Called with a DD name and records, one row each; returns the number of each record's region, from 0."""


@dataclass(frozen=True, slots=True)
class Output:
    """A data set that each region writes, and how its records are identified.

    Attributes:
        length: bytes of a record.
        key: the bytes that identify a record.
        order: the bytes that identify the group, such as an account, within which records keep their order; None for no
            order.
        copybook: the layout for naming differences; empty for none.
        masks: names of fields whose differences are ignored.
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
        folder: an existing folder for generated input.
        dd: files given by the user, by DD name.
        records: how many records to generate; None for the default.
        seed: the seed of the generated input.
        progress: called with the current activity, the amount done, and the total.
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
        inputs: bytes of a record of each input data set, by DD name; records of the first are counted.
        outputs: the data sets that each region writes.
    """

    inputs: Mapping[str, int]
    outputs: Mapping[str, Output]

    def prepare(self, request: SpreadRequest) -> dict[str, Path]:
        """The input data sets by DD name, generated when none is given."""

    def region_name(self, number: int, regions: int) -> str:
        """The applid of a region."""

    def router(self, files: Mapping[str, Path], regions: int) -> Router:
        """A function that assigns records to regions."""

    def expected(self, files: Mapping[str, Path], regions: int) -> Iterator[pa.Table]:
        """The expected results as event tables with command EXPECT, computed by one task without the programs."""

    def expected_figures(self, expected: Iterable[pa.Table]) -> dict[str, Any]:
        """The job's figures, from the expected records: an iterable of event tables."""

    def add_figures(self, figures: dict[str, Any], more: Mapping[str, Any]) -> None:
        """Add one region's figures to those of others."""


def _class_of(directory: Path) -> str:
    path = directory / FILE
    try:
        content = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DefinitionError([Problem(str(path), 0, "", "", "", f"cannot be read: {error}")]) from error
    named = content.get("spread") if isinstance(content, dict) else None
    if not isinstance(named, str) or named.count(":") != 1 or set(content) != {"spread"}:
        text = "must have one line, such as spread: card_pipeline:SpreadPosting"
        raise DefinitionError([Problem(str(path), 1, "", "spread", str(named or ""), text)])
    return named


@contextmanager
def loaded_job(directory: Path) -> Iterator[SpreadJob]:
    """The job that a region directory's ``pipeline.yaml`` names; during the block its modules can be imported.

    Raises:
        DefinitionError: there is no such file or class.
    """
    named = _class_of(directory)
    with importable(directory):
        job: SpreadJob = named_class(named, str(directory / FILE), "spread")()
        yield job
