"""The job class of a region directory: the data sets that no DD card names, progress, and figures at the end.

A region directory may name a class in its ``job:`` line (``module:Class``). ``tdq run`` makes one object of it, asks
it for the data sets that no DD card names, shows its progress, and at the end lets it look at what came out. ``tdq
serve`` asks it for the data sets alone. Without such a line the transactions of ``start:`` are all there is.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tdqsim.errors import DefinitionError, Problem

if TYPE_CHECKING:
    from tdqsim.cics import Region

__all__ = ["Check", "JobClass", "JobRequest", "JobResult", "Progress", "importable", "named_class"]

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is (0 when that is not known)."""


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What a job class is asked for by the user of ``tdq run``.

    Attributes:
        directory: the region directory.
        output: where data sets go that no DD card names; it exists.
        dd: the files of DD names given by the user or by the region directory.
        records: how many records to generate, or None when the user did not say.
        seed: the seed for what is generated, and for the order of ready tasks.
        progress: to be called now and then.
    """

    directory: Path
    output: Path
    dd: Mapping[str, Path]
    records: int | None
    seed: int
    progress: Progress


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold at the end of a job: what, whether it does, and the figures it was seen by."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class JobResult:
    """What came out of a job: ``tdq run`` shows it.

    Attributes:
        figures: names and values for people and for ``--json``; amounts are text with two decimals.
        checks: what was checked.
        work: how many records the job worked on, for throughput.
    """

    figures: dict[str, object]
    checks: tuple[Check, ...] = ()
    work: int = 0
    notes: tuple[str, ...] = field(default=())


class JobClass(Protocol):
    """The shape of a job class: ``Class(request)`` makes one for one run."""

    def prepare(self) -> dict[str, Path]:
        """Make the data sets that are needed and not there; give the file of each further DD name."""

    def progress(self, region: Region) -> tuple[int, int]:
        """How many records are done, and how many there are (0 when that is not known); called often."""

    def finish(self, region: Region) -> JobResult:
        """Look at what came out, after the region is closed and its data sets are complete."""


def named_class(named: str, file: str = "region.yaml", attribute: str = "job") -> Any:
    """The class that a file names as ``module:Class``, whose module must be importable (:func:`importable`).

    Args:
        named: the module and the class.
        file: the file, for the message.
        attribute: the attribute, for the message.

    Raises:
        DefinitionError: it cannot be imported; says why.
    """
    module, _, name = named.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except Exception as error:  # a module of the user's may raise anything
        reason = f"cannot be imported: {type(error).__name__}: {error}"
        raise DefinitionError([Problem(file, 1, "", attribute, named, reason)]) from error


@contextmanager
def importable(directory: Path | None) -> Iterator[None]:
    """Let Python find the modules of a directory, and forget them at the end: others may have such names.

    Modules of another directory that have the names of files in this one are out of the way meanwhile, but for
    Python's own.
    """
    if directory is None:
        yield
        return
    folder = str(directory.resolve())
    names = {path.stem for path in directory.glob("*.py")} - sys.stdlib_module_names
    others = {name: sys.modules.pop(name) for name in names & sys.modules.keys() if not _is_in(folder, name)}
    present = folder in sys.path
    before = frozenset(sys.modules)
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(folder)
        for name in list(sys.modules):
            new = name not in before and not present
            if (name in others or new) and _is_in(folder, name):
                del sys.modules[name]
        sys.modules.update(others)


def _is_in(folder: str, module: str) -> bool:
    return (getattr(sys.modules[module], "__file__", None) or "").startswith(folder + os.sep)
