"""The job class of a region directory: makes further data sets, reports progress, and checks the results.

A region directory may name a class in its ``job:`` line (``module:Class``). ``tdq run`` makes one object of it, asks
it for the data sets that no DD card names, shows its progress, and at the end has it check the results. ``tdq serve``
asks it for the data sets only. Without a ``job:`` line, ``tdq run`` just runs the transactions of
``start_transactions:``.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from tdqsim.core.callables import why_unusable
from tdqsim.errors import DefinitionError, Problem

if TYPE_CHECKING:
    from tdqsim.cics import Region

__all__ = ["Check", "JobClass", "JobRequest", "JobResult", "Progress", "importable"]

_METHODS: Final = ("prepare", "begin", "progress", "finish")

Progress = Callable[[str, int, int], None]
"""A callback for progress: the name of the step, the amount done, and the total amount (0 when it is not known)."""


@dataclass(frozen=True, slots=True)
class JobRequest:
    """The options of one ``tdq run``, for the job class.

    Attributes:
        directory: the region directory.
        output: an existing directory for the data sets that no DD card names.
        dd: the files of the DD names that the user or the region directory assigns.
        records: how many records to generate, or None when the user did not specify it.
        seed: the seed for generated data and for the order of ready tasks.
        progress: a callback to report progress with.
    """

    directory: Path
    output: Path
    dd: Mapping[str, Path]
    records: int | None
    seed: int
    progress: Progress


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check at the end of a job.

    Attributes:
        name: what was checked.
        ok: whether it holds.
        detail: the figures behind the result.
    """

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class JobResult:
    """The results of a job, which ``tdq run`` prints.

    Attributes:
        figures: names and values for people and for ``--json``; amounts are text with two decimals.
        checks: the results of the checks.
        work: how many records the job processed; the throughput is computed from it.
        notes: further lines to print.
    """

    figures: dict[str, object]
    checks: tuple[Check, ...] = ()
    work: int = 0
    notes: tuple[str, ...] = field(default=())


class JobClass(Protocol):
    """The shape of a job class: ``Class(request)`` makes one for one run.

    A job class may also have a method ``begin(region)``. It is called when the region is up, before the transactions of
    ``start_transactions:`` are started, and may write records or start further regions on ``region.dispatcher``.
    """

    def prepare(self) -> dict[str, Path]:
        """Make the data sets that are needed and do not exist yet; returns the files of further DD names."""

    def progress(self, region: Region) -> tuple[int, int]:
        """The number of records processed and the total (0 when it is not known); called often."""

    def finish(self, region: Region) -> JobResult:
        """Check the results, after the region is closed and its data sets are complete."""


def named_class(named: str, file: str = "region.yaml", attribute: str = "job") -> Any:
    """Import the class that a file names as ``module:Class``; its module must be :func:`importable`.

    Args:
        named: the module and the class.
        file: the file, for the message.
        attribute: the attribute, for the message.

    Raises:
        DefinitionError: the class cannot be imported; the message gives the reason.
    """
    module, _, name = named.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except Exception as error:  # a user's module may raise anything
        reason = f"cannot be imported: {type(error).__name__}: {error}"
        raise DefinitionError([Problem(file, 1, "", attribute, named, reason)]) from error
    methods = (vars(found).get(method) for method in _METHODS) if isinstance(found, type) else ()
    for reason in filter(None, (why_unusable(method, more=True) for method in methods if method is not None)):
        raise DefinitionError([Problem(file, 1, "", attribute, named, reason)])
    return found


def own_files(directory: Path) -> Iterator[Path]:
    """The files below a directory, but for those of virtual environments in it."""
    for folder, below, names in os.walk(directory):
        if "pyvenv.cfg" in names and Path(folder) != directory:
            below.clear()
        else:
            yield from (Path(folder, name) for name in names)


@contextmanager
def importable(directory: Path | None) -> Iterator[None]:
    """A context in which the modules of a directory can be imported.

    The modules are removed from ``sys.modules`` at the end, because another directory may have modules of the same
    names. Loaded modules of other directories with such names are set aside for the duration, except those of the
    standard library.
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
    # what Python remembers of the directory; importlib.invalidate_caches() also reads each archive on the path again
    for path in [path for path in sys.path_importer_cache if f"{path}{os.sep}".startswith(folder + os.sep)]:
        del sys.path_importer_cache[path]
    try:
        yield
    finally:
        for name in list(sys.modules):
            new = name not in before and not present
            if (name in others or new) and _is_in(folder, name):
                del sys.modules[name]
        sys.path.remove(folder)  # now: a package without a file looks for its places on the path
        sys.modules.update(others)


def _is_in(folder: str, module: str) -> bool:
    found = sys.modules[module]
    file = getattr(found, "__file__", None)
    places = [file] if file else getattr(found, "__path__", ())  # a folder without __init__.py has no file
    return any(place.startswith(folder + os.sep) for place in places)
