"""Running a stage's function over its tasks: in this process, or as Spark tasks; the results are the same.

Tasks that run programs of the user's, which may end the process that they are in, are done by one of their own.

Below a size, starting Spark and its workers costs more than it saves; ``auto`` then stays in this process and logs it.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import pyarrow as pa

from tdqsim.errors import DatasetError, TdqError
from tdqsim.pipeline.bounds import BOUNDS
from tdqsim.pipeline.parquet import schema
from tdqsim.pipeline.session import run_tasks, session
from tdqsim.pipeline.stages.manifest import Receipt, Receipts, StageTask, keep_only, one_of, outdate, write_manifest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["EngineName", "StageEngine", "StageFailed", "TaskError", "choose", "insist", "run_stage"]

EngineName = Literal["local", "spark", "auto"]
ROUNDS = 4
"""How often what is left of a stage is tried again when a worker process died."""
LOCAL_ROUNDS = 64
"""The same where one process does it all: each death is of one region, which is a row after two of them."""

_OURS = "tdqsim.errors.DatasetError: "
_FEW_LINES = 3
"""More lines are the frames of an error."""
_TASK_ERROR = re.compile(r'\{"message": ".*", "ours": (?:true|false)\}')
ENGINES = ("local", "spark", "auto")
_ROW = schema("bucket int32, body string")


class StageFailed(DatasetError):
    """A stage could not be finished; the message names it, its buckets, and what the last attempt said."""


T = TypeVar("T", bound=StageTask)


@dataclass
class StageEngine:
    """Where tasks run.

    Attributes:
        name: ``local`` or ``spark``.
        why: why it was chosen, in a sentence for people.
        spark: the session, made when the first stage needs it.
        say: called with what happens, for people.
    """

    name: Literal["local", "spark"]
    why: str = ""
    spark: SparkSession | None = None
    say: Callable[[str], None] = field(default=lambda _: None)

    def session(self) -> SparkSession:
        """The Spark session; a local one is made when none was handed in."""
        if self.spark is None:
            self.spark = session(name="tdqsim pipeline", quick_start=True)  # bulk data never is Java's work
        return self.spark

    def map(self, tasks: Sequence[T], function: Callable[[T], Receipt], *, apart: bool = False) -> list[Receipt]:
        """The function's receipt for each task, in the order of the tasks.

        Raises:
            TaskError: a task raised something in another process; the tasks that have not begun do not begin.
        """
        if self.name == "local":
            if not (apart and _may_fork()):
                return [function(task) for task in tasks]
            with warnings.catch_warnings(), _pool() as pool:
                warnings.simplefilter("ignore", DeprecationWarning)  # threads of Arrow's and numpy's provide for it
                return list(pool.map(partial(_done, function), tasks))
        rows = run_tasks(self.session(), tasks, partial(_row, function), _ROW)
        return [Receipt.from_json(json.loads(row["body"])) for row in rows]


def insist(engine: StageEngine, stage: str, work: Callable[[], None]) -> None:
    """Do what Spark does of a stage by itself, again when a worker process died.

    Raises:
        StageFailed: it could not be done; the message has what Spark said.
        DatasetError, TdqError: the input is wrong.
    """
    for attempt in range(1, ROUNDS + 1):
        with _dying(engine, stage, "it was not done", last=attempt == ROUNDS):
            work()
            return


@contextmanager
def _dying(engine: StageEngine, stage: str, left: str, *, last: bool) -> Iterator[None]:
    """An attempt, which goes by when a worker process dies in it, unless it is the last."""
    try:
        yield
    except Exception as error:
        if last or not _died(error):
            raise _stage_error(stage, left, error) from error
        engine.say(f"{stage}: a worker died; what is left is tried again")


class TaskError(Exception):
    """An exception of a task on its way to the process that started the stage: one line of JSON, whatever Spark adds.

    The error's text is under ``message``; ``ours`` says that it is for the user as it is.
    """


def _done(function: Callable[[T], Receipt], task: T) -> Receipt:
    try:
        return function(task)
    except Exception as error:  # noqa: BLE001  (it is raised again where the stage was started)
        raise TaskError(json.dumps({"message": _text_of(error), "ours": isinstance(error, TdqError)})) from None


def _row(function: Callable[[T], Receipt], task: T) -> list[dict[str, object]]:
    try:
        return [{"bucket": task.bucket, "body": json.dumps(_done(function, task).as_json())}]
    finally:
        pa.default_memory_pool().release_unused()  # the next task may be long in coming, and others work meanwhile


def _may_fork() -> bool:
    """Whether a copy of this process can be made: one with other threads may wait for ever for what they held."""
    waits = signal.getsignal(signal.SIGCHLD) is not signal.SIG_IGN
    return sys.platform == "linux" and waits and threading.active_count() == 1


def _pool() -> ProcessPoolExecutor:
    """One process for all tasks, a copy of this one: programs of the user's may end it, and nothing else."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("fork"), _end_with_parent)


def _end_with_parent() -> None:
    """End this process when the one that started it has ended: no one waits for its results."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _text_of(error: Exception) -> str:
    if isinstance(error, TdqError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
    return f"{type(error).__name__}: {error}"


def choose(
    wanted: EngineName,
    *,
    records: int,
    size: int,
    spark: SparkSession | None = None,
    say: Callable[[str], None] | None = None,
) -> StageEngine:
    """The engine for a run.

    Raises:
        NotAllowed: there is no such engine.
    """
    talk = say or (lambda _: None)
    one_of("--engine", wanted, ENGINES)
    if wanted != "auto":
        return StageEngine(wanted, "as asked", spark, talk)
    if records >= BOUNDS["spark_pays_records"] or size >= BOUNDS["spark_pays_bytes"]:
        return StageEngine("spark", f"{records:,} records, {size:,} bytes: enough for Spark to pay", spark, talk)
    why = (
        f"{records:,} records, {size:,} bytes: Spark pays from {BOUNDS['spark_pays_records']:,} records or "
        f"{BOUNDS['spark_pays_bytes']:,} bytes; the same functions run in this process (--engine spark insists)"
    )
    return StageEngine("local", why, None, talk)


def run_stage(
    engine: StageEngine, stage: str, run: Path, tasks: Sequence[T], function: Callable[[T], Receipt], folder: str = "",
    *,
    apart: bool = False,
) -> list[Receipt]:  # fmt: skip
    """Do what is not done yet of a stage, heaviest first, then publish its manifest.

    A worker process that dies takes its Spark job with it: the rest is tried again, a few times.

    Args:
        engine: where tasks run.
        stage: its name.
        run: the run's directory.
        tasks: all its tasks, done or not.
        function: does one of them.
        folder: the folder of the run's directory that is this stage's own: what an earlier run with other arguments
            left there goes, before the manifest is published.
        apart: the function may end the process that it is in.

    Raises:
        StageFailed: it could not be finished.
        DatasetError: what tasks wrote is not seen here.
        TdqError: raised by the function in this process.
    """
    # Long, because a stage's attempts and its end are one story: what is done is never forgotten between them.
    receipts = Receipts(run, stage)
    done: dict[int, Receipt] = {}

    def look() -> list[T]:
        """Take up the receipts there are; what is left, heaviest first."""
        done.update((t.bucket, found) for t in tasks if (found := receipts.get(t.bucket, t.inputs)) is not None)
        return sorted((t for t in tasks if t.bucket not in done), key=lambda t: (-t.weight, t.bucket))

    rounds = LOCAL_ROUNDS if engine.name == "local" and apart else ROUNDS
    work = partial(engine.map, apart=True) if apart else engine.map
    for attempt in range(1, rounds + 1):
        left = look()
        if not left:
            break
        outdate(run, stage)
        for task in left:  # a receipt for other inputs must not outlive the files it is for
            receipts.forget(task.bucket)
        if done and attempt == 1:
            engine.say(f"{stage}: {len(done)} of {len(tasks)} buckets were done before; {len(left)} are left")
        with _dying(engine, stage, f"{len(left)} buckets are left", last=attempt == rounds):
            done.update((receipt.bucket, receipt) for receipt in work(left, function))
    if len(done) < len(tasks):
        look()
    ordered = [done[task.bucket] for task in sorted(tasks, key=lambda task: task.bucket)]
    _check_seen(run, ordered)
    if folder:
        keep_only(run, folder, ordered)
    write_manifest(run, stage, ordered)
    return ordered


def _check_seen(run: Path, receipts: Sequence[Receipt]) -> None:
    """Make sure that this process sees what tasks wrote."""
    for each in receipts:
        for name in each.files:
            if not (run / name).is_file():
                raise DatasetError(
                    f"{run / name}: a task wrote it, and it is not seen here: tasks and this process need the same "
                    "directory; give one that is shared, or a place in an object store where that can be"
                )


def _died(error: Exception) -> bool:
    """Whether a worker process went away, which another attempt may survive; not an error of the task's own."""
    text = str(error)
    if isinstance(error, TdqError) or _TASK_ERROR.search(text):
        return False
    lost = ("Python worker exited unexpectedly", "crashed", "ExecutorLostFailure")
    return isinstance(error, BrokenProcessPool) or any(each in text for each in lost)


def _stage_error(stage: str, left: str, error: Exception) -> Exception:
    """An error of ours as it is; one that came through Spark by what the worker said at its end."""
    if isinstance(error, TdqError):
        return error
    if found := _TASK_ERROR.search(str(error)):
        raised = json.loads(found[0])
        if raised["ours"]:
            return DatasetError(raised["message"])
        text = str(raised["message"])
    elif (text := _said(error)).startswith(_OURS):
        return DatasetError(text.removeprefix(_OURS))
    return StageFailed(f"{stage}: {left}; run it again to go on there. {text}")


def _said(error: Exception) -> str:
    """The relevant part of an error that may be one of Spark's, with the frames of two languages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if line.startswith("tdqsim.")]
    if said:
        return said[-1]
    if len(lines) < _FEW_LINES:
        return _text_of(error)
    said = list(takewhile(lambda line: not line.startswith("at "), lines))
    return " ".join(dict.fromkeys((lines[0], said[-1])))  # Python says what was raised last, and Java first
