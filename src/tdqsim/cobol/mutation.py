"""Mutation tests of COBOL programs: do the tests notice a small mistake?

Each mutant is one typical mistake (see :data:`~tdqsim.cobol.mutants.KINDS`). The tests run once on unaltered code,
which must pass, and then for each mutant until the first of them fails. Everything happens in a copy of the project;
the project itself is never changed.

A mutant is *killed* when a test fails, or the setup of a test. It *survives* when all tests pass. It remains undecided
if the tests take too long, if pytest ends in another way, or if the time limit of the whole run is reached. Before a
file is mutated, the tests run with an unusable version of the file: if they pass, no test loads the file, and none of
its mutants could be noticed.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from random import Random
from typing import Final, Literal, NamedTuple, get_args

from tdqsim.cobol.mutants import Mutant, altered, cobol_mutants
from tdqsim.errors import UsageError

Outcome = Literal["killed", "survived", "not loaded", "timed out", "broken", "not run"]
_COBOL: Final = frozenset({".cbl", ".cob", ".cobol", ".cpy"})
_WORK: Final = "tdq-mutate-"
_NOT_COPIED: Final = frozenset({"__pycache__", "node_modules", ".git", ".hg", ".svn", ".tox", ".nox", ".venv"})
_NO_SOURCES: Final = _NOT_COPIED | {"tests", "test", "build", "dist"}
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - .*)?$", re.MULTILINE)
_PASSED, _FAILURES, _NO_TESTS = 0, 1, 5
"""Exit codes of pytest: all tests passed, some failed, there were none."""
_LAST_LINES: Final = 25
_LEAST_LIMIT: Final = 10.0
_USELESS: Final = "       THIS FILE WAS MADE USELESS BY TDQ COBOL MUTATE.\n"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of the tests with one mutant.

    Attributes:
        mutant: the mutant; its path is relative to the project.
        outcome: ``killed``, ``survived``, ``not loaded`` (no test loads the file), ``timed out``, ``broken`` (pytest
            could not run the tests) or ``not run`` (the time limit of the whole run was reached).
        test: the first test that failed; empty for none.
        seconds: the run time of the tests.
    """

    mutant: Mutant
    outcome: Outcome
    test: str = ""
    seconds: float = 0.0

    def as_dict(self) -> dict[str, object]:
        """The judgement with its mutant, for JSON."""
        mutant = self.mutant
        return {
            "file": mutant.path.as_posix(),
            "line": mutant.line,
            "kind": mutant.kind,
            "command": mutant.command,
            "change": mutant.change,
            "outcome": self.outcome,
            "test": self.test,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True, slots=True)
class MutationReport:
    """The results of all mutants.

    Attributes:
        judgements: one for each mutant, by file and line.
        seconds: the run time of the tests on unaltered code.
    """

    judgements: tuple[Judgement, ...]
    seconds: float

    @property
    def counts(self) -> Counter[str]:
        """The number of mutants with each outcome."""
        return Counter(each.outcome for each in self.judgements)

    @property
    def survivors(self) -> list[Judgement]:
        """The mutants that no test noticed, including those of files that no test loads."""
        return [each for each in self.judgements if each.outcome in ("survived", "not loaded")]

    @property
    def percent(self) -> float:
        """The percentage of killed mutants among the decided ones; 100 if there are none."""
        killed = self.counts["killed"]
        decided = killed + len(self.survivors)
        return 100 * killed / decided if decided else 100.0

    def as_dict(self) -> dict[str, object]:
        """The report for JSON; ``pytest --tdq-mutants`` reads it."""
        counts = self.counts
        return {
            "test_seconds": round(self.seconds, 3),
            "counts": {name: counts[name] for name in get_args(Outcome)},
            "mutants": [each.as_dict() for each in self.judgements],
        }


class _Run(NamedTuple):
    """One run of the tests: the exit code of pytest (None: it took too long), the output, and the run time."""

    code: int | None
    output: str
    seconds: float


def sources_in(paths: Iterable[Path]) -> list[Path]:
    """The COBOL sources among files and in directories; tests are left out of directories.

    Raises:
        UsageError: a path does not exist, or is neither a directory nor such a source.
    """
    sources: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            sources |= dict.fromkeys(sorted(_walk(path)))
        elif not path.is_file():
            raise UsageError(f"{path}: there is no such file or directory")
        elif path.suffix.lower() not in _COBOL:
            raise UsageError(f"{path}: allowed are COBOL sources ({', '.join(sorted(_COBOL))}); see mutmut for Python")
        else:
            sources[path] = None
    return list(sources)


def _walk(directory: Path) -> Iterator[Path]:
    for path in directory.iterdir():
        if path.is_dir() and not path.is_symlink():
            if path.name not in _NO_SOURCES and not path.name.startswith(".") and not _is_environment(path):
                yield from _walk(path)
        elif path.suffix.lower() in _COBOL:
            yield path


def _is_environment(path: Path) -> bool:
    return (path / "pyvenv.cfg").is_file()


def mutants_of(path: Path) -> list[Mutant]:
    """Every mutant of a source file.

    Raises:
        UsageError: the file cannot be read.
    """
    try:
        return list(cobol_mutants(path, _source_of(path)))
    except OSError as error:
        raise UsageError(f"{path}: it cannot be mutated: {error}") from error


def _source_of(path: Path) -> str:
    """The text of a source, with unchanged line ends."""
    return path.read_bytes().decode("latin-1")


def mutate(
    project: Path,
    sources: Iterable[Path],
    arguments: Sequence[str] = (),
    *,
    jobs: int = 1,
    limit: float = 0.0,
    seconds: float = float("inf"),
    most: int = 0,
    seed: int = 1,
    progress: Callable[[int, int], object] | None = None,
) -> MutationReport:
    """Run a project's tests against every mutant of some of its sources.

    Args:
        project: the directory to copy; the tests run in the copy.
        sources: files in the project, as returned by :func:`sources_in`.
        arguments: arguments for pytest, such as paths of tests.
        jobs: the number of copies that run in parallel, 1 or more.
        limit: the time limit in seconds for one mutant; 0 for three times the run time on unaltered code plus 10.
        seconds: the time limit of the whole run; the remaining mutants are then ``not run``.
        most: the maximum number of mutants, chosen by ``seed``; 0 for all.
        seed: the seed of that choice.
        progress: called with the number of finished mutants and their total.

    Raises:
        UsageError: a source is not in the project or cannot be mutated, the project cannot be copied, or the tests do
            not pass on unaltered code.
    """
    if jobs < 1 or most < 0 or limit < 0:
        raise UsageError("allowed are: jobs 1 or more, most 0 or more, a limit of 0 or more seconds")
    root = project.resolve()
    mutants = [_within(root, each) for path in sources for each in mutants_of(path)]
    if 0 < most < len(mutants):
        drawn = set(Random(seed).sample(range(len(mutants)), most))
        mutants = [each for at, each in enumerate(mutants) if at in drawn]
    if not mutants:
        return MutationReport((), 0.0)
    with tempfile.TemporaryDirectory(prefix=_WORK) as work:
        places = [_Place(root, Path(work) / f"copy{number}", arguments) for number in range(jobs)]
        return _Session(places, limit, time.monotonic() + seconds, progress).run(mutants)


def _within(root: Path, mutant: Mutant) -> Mutant:
    try:
        return mutant._replace(path=mutant.path.resolve().relative_to(root))
    except ValueError:
        raise UsageError(
            f"{mutant.path}: it is not in {root}, where the tests run; call tdq cobol mutate there"
        ) from None


class _Place:
    """A copy of the project, in which one mutant at a time is tested."""

    def __init__(self, root: Path, copy: Path, arguments: Sequence[str]) -> None:
        self._root, self._copy, self._arguments = root, copy, arguments
        try:
            shutil.copytree(root, copy, symlinks=True, ignore=_ignored)
        except (OSError, shutil.Error) as error:
            raise UsageError(f"{root}: it cannot be copied: {error}") from error

    def run(self, seconds: float) -> _Run:
        """Run the tests, up to the first that fails."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "-p", "no:cacheprovider", *self._arguments]
        started = time.monotonic()
        # Python takes a compiled module for current if the source has the same second of change and the same size.
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(self._path())}
        with (
            tempfile.TemporaryFile() as output,
            subprocess.Popen(
                command, cwd=self._copy, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
            ) as process,
        ):  # fmt: skip
            code: int | None = None
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                pass
            finally:
                _end(process)
            output.seek(0)
            return _Run(code, output.read().decode(errors="replace"), time.monotonic() - started)

    def _path(self) -> list[str]:
        """The folders on Python's path in the project, such as ``src``, moved to the copy."""
        folders = [self._copy / "src"] if (self._copy / "src").is_dir() else []
        for entry in map(Path, sys.path):
            with suppress(ValueError):
                folders.append(self._copy / entry.resolve().relative_to(self._root))
        given = os.environ.get("PYTHONPATH")
        return [*(str(each) for each in dict.fromkeys(folders)), *([given] if given else [])]

    def run_altered(self, path: Path, text: str, seconds: float) -> _Run:
        """Run the tests with another text in one file."""
        file = self._copy / path
        before = file.read_bytes()
        file.write_bytes(text.encode("latin-1"))
        try:
            return self.run(seconds)
        finally:
            file.write_bytes(before)

    def run_mutant(self, mutant: Mutant, seconds: float) -> _Run:
        """Run the tests against a mutant."""
        return self.run_altered(mutant.path, altered(_source_of(self._copy / mutant.path), mutant.edits), seconds)


def _ignored(directory: str, names: list[str]) -> list[str]:
    folder = Path(directory)
    return [
        name
        for name in names
        if name in _NOT_COPIED
        or name.startswith(_WORK)  # where the project contains the folder of temporary files
        or (name.startswith(".") and name.endswith("_cache"))
        or _is_environment(folder / name)
        or not ((folder / name).is_dir() or (folder / name).is_file() or (folder / name).is_symlink())
    ]


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a run and all processes that it has started."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


class _Session:
    """All runs of one call of :func:`mutate`."""

    def __init__(
        self, places: list[_Place], limit: float, until: float, progress: Callable[[int, int], object] | None
    ) -> None:
        self._free: SimpleQueue[_Place] = SimpleQueue()
        for place in places:
            self._free.put(place)
        self._jobs = len(places)
        self._limit, self._until, self._progress = limit, until, progress
        self._done = self._total = 0

    def run(self, mutants: list[Mutant]) -> MutationReport:
        """Test the unaltered code, then which files are loaded, then each mutant."""
        unaltered = self._unaltered()
        self._limit = self._limit or 3 * unaltered.seconds + _LEAST_LIMIT
        files = list(dict.fromkeys(each.path for each in mutants))
        self._total = len(files) + len(mutants)
        with ThreadPoolExecutor(self._jobs) as threads:
            loaded = dict(zip(files, threads.map(self._is_loaded, files), strict=True))
            judgements = threads.map(lambda each: self._judge(each, loaded[each.path]), mutants)
            return MutationReport(tuple(judgements), unaltered.seconds)

    def _unaltered(self) -> _Run:
        place = self._free.get()
        run = place.run(max(self._until - time.monotonic(), 1.0) if self._until != float("inf") else 1e6)
        self._free.put(place)
        if run.code != _PASSED:
            why = {None: "the tests take longer than the time limit of the whole run", _NO_TESTS: "there are no tests"}
            text = why.get(run.code, "the tests do not pass on the unaltered code, in a copy of the project")
            raise UsageError("\n".join([f"{text}:", *run.output.splitlines()[-_LAST_LINES:]]))
        return run

    def _run(self, test: Callable[[_Place, float], _Run]) -> _Run | None:
        """A run in a free copy; None when the time limit is reached."""
        left = self._until - time.monotonic()
        if left <= 0:
            return None
        place = self._free.get()
        try:
            return test(place, min(self._limit, left))
        finally:
            self._free.put(place)
            self._count_one()

    def _count_one(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)

    def _is_loaded(self, path: Path) -> bool:
        """Whether tests fail with an unusable version of a file; True if that is not known."""
        run = self._run(lambda place, seconds: place.run_altered(path, _USELESS, seconds))
        return run is None or run.code != _PASSED

    def _judge(self, mutant: Mutant, loaded: bool) -> Judgement:
        if not loaded:
            self._count_one()
            return Judgement(mutant, "not loaded")
        run = self._run(lambda place, seconds: place.run_mutant(mutant, seconds))
        if run is None:
            return Judgement(mutant, "not run")
        failed = _FAILED.search(run.output)
        if run.code is None:
            outcome: Outcome = "timed out"
        elif run.code == _PASSED:
            outcome = "survived"
        else:
            outcome = "killed" if run.code == _FAILURES and failed is not None else "broken"
        return Judgement(mutant, outcome, failed[1] if failed is not None and outcome == "killed" else "", run.seconds)
