"""Manifests: the finished parts of a stage, published last, so that a run can be killed at any time and continued.

A task publishes its files when they are complete, and then a *receipt* for its bucket: in a directory by renaming them,
in an object store by uploading them. A bucket with a receipt for the same inputs is not done again; a bucket without
one is done from the start. So a task may be killed, retried, or run twice at the same time: the same bytes always end
up under the same names. When all buckets of a stage have receipts, the driver publishes the stage's manifest, a Parquet
file. The next stages find the files of a stage by its manifest; they list no directories. One command at a time works
in a run's directory.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Event
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from tdqsim import __version__
from tdqsim.errors import DatasetError
from tdqsim.facts import FORMATS
from tdqsim.hosting import OWN_FILE, FileLock
from tdqsim.pipeline.parquet import read_parquet, schema
from tdqsim.pipeline.publishing import (
    files_below,
    is_local,
    left_behind,
    no_room,
    publish_json,
    published,
    reached,
    state,
)

_CHUNK = 1 << 20
_FORMAT: Final = FORMATS["manifest of a stage"]
_ORDER = ("ingest", "split.exchange", "replay", "reconcile")
"""Stages, each of which uses the results of those before it."""
_SAID = ("run.json", "report.html", "report.json", "junit.xml")
MANIFEST = schema(
    "stage string, bucket int32, rows int64, bytes int64, state string, seconds double, format int32, "
    "tdqsim_version string, inputs_digest string, details string"
).insert(2, pa.field("files", pa.list_(pa.string())))


@dataclass(frozen=True, slots=True)
class StageTask:
    """One task of a stage: plain values, so that it can travel to a worker.

    Attributes:
        run: the run's directory.
        bucket: the number of its bucket.
        inputs: a digest of everything that its result depends on.
        weight: the amount of work, in any unit: the heaviest tasks run first.
    """

    run: Path
    bucket: int
    inputs: str
    weight: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """A task's record of its bucket: its files, relative to the run's directory, and figures of the stage.

    ``state`` identifies the versions of the files; ``seconds`` is how long the task took. Only these two differ from
    run to run.
    """

    stage: str
    bucket: int
    inputs: str
    files: tuple[str, ...] = ()
    rows: int = 0
    size: int = 0
    state: str = ""
    seconds: float = 0.0
    details: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The receipt in the form of its file."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Receipt:
        """The receipt that :meth:`as_json` gave."""
        return cls(**{**value, "files": tuple(value["files"])})


class Receipts:
    """The receipts of one stage in a run's directory."""

    def __init__(self, run: Path, stage: str) -> None:
        self.folder = run / "manifest" / stage
        self.stage = stage

    def get(self, bucket: int, inputs: str) -> Receipt | None:
        """The receipt of a bucket, if it is for these inputs and its files are there, unchanged."""
        try:
            receipt = Receipt.from_json(json.loads(self._path(bucket).read_text("utf-8")))
            there = receipt.inputs == inputs and whole(self.folder.parent.parent, receipt.files, receipt.state)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None  # there is none yet, or it is damaged: the bucket is done again
        return receipt if there else None

    def put(self, receipt: Receipt) -> None:
        """Publish a receipt; the bucket is done."""
        publish_json(self._path(receipt.bucket), receipt.as_json())

    def forget(self, bucket: int) -> None:
        """Delete the receipt of a bucket, if there is one."""
        self._path(bucket).unlink(missing_ok=True)

    def _path(self, bucket: int) -> Path:
        return self.folder / f"{bucket:05d}.json"


def whole(run: Path, files: Iterable[str], state: str) -> bool:
    """Whether files of a run's directory exist in the given state; none of them is read."""
    try:
        return _state(run, files)[1] == state
    except OSError:
        return False


def _state(run: Path, files: Iterable[str]) -> tuple[int, str]:
    """The total size of the files, and a digest that changes when one of them does."""
    states = [state(run / name) for name in files]
    return sum(size for size, _ in states), digest_of(states) if states else ""


def publish(task: StageTask, stage: str, files: Sequence[str], rows: int, start_time: float, **details: Any) -> Receipt:
    """Publish the receipt of a task whose files are complete; ``begun`` is the perf_counter value at its start."""
    size, moment = _state(task.run, files)
    seconds = round(time.perf_counter() - start_time, 3)
    receipt = Receipt(stage, task.bucket, task.inputs, tuple(files), rows, size, moment, seconds, details)
    Receipts(task.run, stage).put(receipt)
    return receipt


def sum_of(receipts: Iterable[Receipt], detail: str) -> Counter[str]:
    """The sum of a detail of receipts that consists of counts by name."""
    total: Counter[str] = Counter()
    for receipt in receipts:
        total.update(receipt.details[detail])
    return total


def digest_of(*parts: Any) -> str:
    """A digest of plain values: equal values have the same digest in any process."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(f"{__version__}/{text}".encode()).hexdigest()[:32]


def file_digest(path: Path) -> str:
    """A digest of a file's content."""
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def keep_only(run: Path, folder: str, receipts: Iterable[Receipt]) -> None:
    """Remove the files of a folder that no receipt names; an earlier run with other arguments left them.

    Files that a second copy of a task is writing have hidden names and stay; hidden files left by killed processes of
    this machine are removed.
    """
    named = {run / file for receipt in receipts for file in receipt.files}
    for path in files_below(run / folder):
        if path not in named and not (path.name.startswith(".") and not left_behind(path.name)):
            path.unlink(missing_ok=True)


def manifest_path(run: Path, stage: str) -> Path:
    """Where a stage's manifest is."""
    return run / f"{stage}.manifest.parquet"


def outdate(run: Path, stage: str) -> None:
    """Mark a stage as unfinished, and with it the stages after it and the summary of the whole run."""
    for name in _ORDER[_ORDER.index(stage) :] if stage in _ORDER else (stage,):
        manifest_path(run, name).unlink(missing_ok=True)
    for name in _SAID:
        (run / name).unlink(missing_ok=True)


def finished(run: Path, stage: str, command: str) -> None:
    """Check that a stage is complete, and that no earlier stage was done again since.

    Raises:
        DatasetError: it was not done, was killed, or an earlier stage was done again since; or another version did it.
    """
    if not manifest_path(run, stage).is_file():
        text = f"{command} was not completed there, or an earlier stage was done again since"
        raise DatasetError(f"{run}: {text}; give tdq pipeline {command} first: finished parts are kept")
    read_manifest(run, stage)


def read_manifest(run: Path, stage: str) -> list[Receipt]:
    """The receipts in a stage's manifest, one for each bucket; none if the stage is not complete.

    Raises:
        DatasetError: another version of tdqsim wrote it in another format.
    """
    path = manifest_path(run, stage)
    rows = read_parquet(path).to_pylist() if path.is_file() else []
    for row in rows:
        if row.get("format") != _FORMAT:
            raise DatasetError(
                f"{path}: is of format {row.get('format')}, by tdqsim {row.get('tdqsim_version')}; this is "
                f"{__version__} and reads format {_FORMAT}: finish the run with that version, or begin it in a new "
                "directory"
            )
    return [
        Receipt(
            row["stage"], row["bucket"], row["inputs_digest"], tuple(row["files"]), row["rows"], row["bytes"],
            row["state"], row["seconds"], json.loads(row["details"]),
        )
        for row in rows
    ]  # fmt: skip


def write_manifest(run: Path, stage: str, receipts: Iterable[Receipt]) -> Path:
    """Publish a stage's manifest, in the order of its buckets; call it when all of them are done."""
    rows = [
        {name: getattr(each, name) for name in ("stage", "bucket", "files", "rows", "state", "seconds")}
        | {"bytes": each.size, "inputs_digest": each.inputs, "format": _FORMAT, "tdqsim_version": __version__}
        | {"details": json.dumps(dict(each.details), sort_keys=True)}
        for each in sorted(receipts, key=lambda receipt: receipt.bucket)
    ]
    path = manifest_path(run, stage)
    with published(path) as fresh:
        pq.write_table(pa.Table.from_pylist(rows, schema=MANIFEST), fresh)
    return path


# commands in a run ----------------------------------------------------------------------------------------------------


_LOCK: Final = ".lock"
"""The name of the lock, which ``tdq pipeline run`` uses too."""
_PAUSE: Final = 0.1


@contextmanager
def holding(run: Path, say: Callable[[str], None] | None = None) -> Iterator[None]:
    """Lock a run's directory while the block runs; wait if another command has the lock.

    The lock is released when the process ends, in whatever way. An object store has no such locks.

    Raises:
        DatasetError: the disk has no room even for an empty file; or an object store could not be reached.
    """
    if not is_local(run):
        with reached(run):
            yield
        return
    if not run.is_dir():
        yield
        return
    path = run / _LOCK
    try:
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | OWN_FILE, 0o666), "wb")
    except OSError as error:
        raise no_room(path, error) or error from error
    with file:
        lock = FileLock(file.fileno(), path)
        if not lock.take():
            (say or (lambda _: None))(f"{run}: another command is writing there; this one continues when it has ended")
            while not lock.take():
                Event().wait(_PAUSE)
        try:
            yield
        finally:
            lock.release()


class NotAllowed(DatasetError):
    """An argument is not allowed; the message has its name, its value and the allowed values."""


def one_of(name: str, value: str, allowed: Iterable[str]) -> None:
    """Check an argument.

    Raises:
        NotAllowed: it is not one of the allowed values.
    """
    known = list(allowed)
    if value not in known:
        raise NotAllowed(f"{name} {value}: allowed are {', '.join(known)}")
