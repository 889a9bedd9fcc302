"""Run a stage's function over its tasks: in this process, or as Spark tasks; the results are the same.

Tasks that run the user's programs, which may end the process in which they run, get a separate process. Below a certain
size, starting Spark and its workers costs more than it saves; ``auto`` then stays in this process and logs that.
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
from tdqsim.pipeline.limits import BOUNDS
from tdqsim.pipeline.parquet import schema
from tdqsim.pipeline.session import run_tasks, session
from tdqsim.pipeline.stages.manifest import Receipt, Receipts, StageTask, keep_only, one_of, outdate, write_manifest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["EngineName", "StageEngine", "StageFailed", "TaskError", "choose", "insist", "run_stage"]

EngineName = Literal["local", "spark", "auto"]
ROUNDS = 4
"""How often the unfinished rest of a stage is retried when a worker process died."""
LOCAL_ROUNDS = 64
"""The same when one process runs all tasks: each death is due to one region, which becomes a row after its second."""

_OURS = "tdqsim.errors.DatasetError: "
_FEW_LINES = 3
"""A longer report is reduced: the other lines are the frames of an error."""
_TASK_ERROR = re.compile(r'\{"message": ".*", "ours": (?:true|false)\}')
ENGINES = ("local", "spark", "auto")
_ROW = schema("bucket int32, body string")


class StageFailed(DatasetError):
    """A stage could not be finished; the message names it, its buckets, and the error of the last attempt."""


T = TypeVar("T", bound=StageTask)


@dataclass
class StageEngine:
    """Where tasks run.

    Attributes:
        name: ``local`` or ``spark``.
        why: why it was chosen, as a sentence.
        spark: the session, made when a stage first needs it.
        say: called with progress messages.
    """

    name: Literal["local", "spark"]
    why: str = ""
    spark: SparkSession | None = None
    say: Callable[[str], None] = field(default=lambda _: None)

    def session(self) -> SparkSession:
        """The Spark session; if none was passed in, a local one is made."""
        if self.spark is None:
            self.spark = session(name="tdqsim pipeline", quick_start=True)  # bulk data is never processed in Java
        return self.spark

    def map(self, tasks: Sequence[T], function: Callable[[T], Receipt], *, apart: bool = False) -> list[Receipt]:
        """The function's receipt for each task, in the order of the tasks.

        Raises:
            TaskError: a task raised an exception in another process; tasks that have not started are not started.
        """
        if self.name == "local":
            if not (apart and _may_fork()):
                # Where a fork is not safe, the tasks run here, and a program that ends its process ends the run.
                return [function(task) for task in tasks]
            with warnings.catch_warnings(), _pool() as pool:
                # the threads of Arrow and numpy are safe across a fork
                warnings.simplefilter("ignore", DeprecationWarning)
                return list(pool.map(partial(_done, function), tasks))
        rows = run_tasks(self.session(), tasks, partial(_row, function), _ROW)
        return [Receipt.from_json(json.loads(row["body"])) for row in rows]


def insist(engine: StageEngine, stage: str, work: Callable[[], None]) -> None:
    """Run work with retries, as Spark does for its tasks, when a worker process died.

    Raises:
        StageFailed: it could not be done; the message contains what Spark reported.
        DatasetError, TdqError: the input is wrong.
    """
    for attempt in range(1, ROUNDS + 1):
        with _dying(engine, stage, "it was not done", last=attempt == ROUNDS):
            work()
            return


@contextmanager
def _dying(engine: StageEngine, stage: str, left: str, *, last: bool) -> Iterator[None]:
    """One attempt; the death of a worker process in it is ignored unless it is the last attempt."""
    try:
        yield
    except Exception as error:
        if last or not _died(error):
            raise _stage_error(stage, left, error) from error
        engine.say(f"{stage}: a worker died; the rest is tried again")


class TaskError(Exception):
    """An exception of a task, as one line of JSON, on its way to the process that started the stage.

    Spark may add text before and after the line. The key ``message`` has the error's text; ``ours`` says that the user
    can be shown this text unchanged.
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
        # the next task may come much later, and other processes need memory meanwhile
        pa.default_memory_pool().release_unused()


def _may_fork() -> bool:
    """Whether this process can be forked: with other threads, a fork may wait for ever for their locks."""
    waits = signal.getsignal(signal.SIGCHLD) is not signal.SIG_IGN
    return sys.platform == "linux" and waits and threading.active_count() == 1


def _pool() -> ProcessPoolExecutor:
    """One process for all tasks, forked from this one, so that the user's programs can end only that process."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("fork"), _end_with_parent)


def _end_with_parent() -> None:
    """End this process when its parent has ended, because no one waits for its results."""
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
        NotAllowed: the engine is unknown.
    """
    talk = say or (lambda _: None)
    one_of("--engine", wanted, ENGINES)
    if wanted != "auto":
        return StageEngine(wanted, "as asked", spark, talk)
    if records >= BOUNDS["spark_pays_records"] or size >= BOUNDS["spark_pays_bytes"]:
        return StageEngine("spark", f"{records:,} records, {size:,} bytes: enough for Spark to pay", spark, talk)
    why = (
        f"{records:,} records, {size:,} bytes: using Spark pays from {BOUNDS['spark_pays_records']:,} records or "
        f"{BOUNDS['spark_pays_bytes']:,} bytes; the same functions run in this process (--engine spark insists)"
    )
    return StageEngine("local", why, None, talk)


def run_stage(
    engine: StageEngine, stage: str, run: Path, tasks: Sequence[T], function: Callable[[T], Receipt], folder: str = "",
    *,
    apart: bool = False,
) -> list[Receipt]:  # fmt: skip
    """Do the unfinished tasks of a stage, the heaviest first, then publish its manifest.

    A worker process that dies ends its Spark job; the rest is retried a few times.

    Args:
        engine: where tasks run.
        stage: its name.
        run: the run's directory.
        tasks: all its tasks, done or not.
        function: does one task.
        folder: the folder in the run's directory that belongs to this stage alone; files that an earlier run with other
            arguments left there are removed before the manifest is published.
        apart: whether the function may end the process that it is in.

    Raises:
        StageFailed: it could not be finished.
        DatasetError: this process does not see the files that tasks wrote.
        TdqError: raised by the function in this process.
    """
    # Long, because a stage's attempts and its end share one record of what is done.
    receipts = Receipts(run, stage)
    done: dict[int, Receipt] = {}

    def look() -> list[T]:
        """Read the existing receipts; returns the tasks that are left, heaviest first."""
        done.update((t.bucket, receipt) for t in tasks if (receipt := receipts.get(t.bucket, t.inputs)) is not None)
        return sorted((t for t in tasks if t.bucket not in done), key=lambda t: (-t.weight, t.bucket))

    rounds = LOCAL_ROUNDS if engine.name == "local" and apart else ROUNDS
    work = partial(engine.map, apart=True) if apart else engine.map
    for attempt in range(1, rounds + 1):
        left = look()
        if not left:
            break
        # Before tasks change any file: if this process is killed, the stage must not look finished.
        outdate(run, stage)
        for task in left:  # a receipt for other inputs must not outlive the files that it describes
            receipts.forget(task.bucket)
        if done and attempt == 1:
            engine.say(f"{stage}: {len(done)} of {len(tasks)} buckets were done before; {len(left)} are left")
        with _dying(engine, stage, f"{len(left)} buckets are left", last=attempt == rounds):
            done.update((receipt.bucket, receipt) for receipt in work(left, function))
    # The job of a worker that died returned nothing, but tasks that were finished left receipts.
    if len(done) < len(tasks):
        look()
    ordered = [done[task.bucket] for task in sorted(tasks, key=lambda task: task.bucket)]
    _check_seen(run, ordered)
    if folder:
        keep_only(run, folder, ordered)
    write_manifest(run, stage, ordered)
    return ordered


def _check_seen(run: Path, receipts: Sequence[Receipt]) -> None:
    """Check that this process sees the files that tasks wrote."""
    for each in receipts:
        for name in each.files:
            if not (run / name).is_file():
                raise DatasetError(
                    f"{run / name}: a task wrote it, but it is not visible here: tasks and this process need the same "
                    "directory; name a shared one, or a place in an object store where that can be"
                )


def _died(error: Exception) -> bool:
    """Whether a worker process died, which another attempt may survive; not an error of the task itself."""
    text = str(error)
    if isinstance(error, TdqError) or _TASK_ERROR.search(text):
        return False
    lost = ("Python worker exited unexpectedly", "crashed", "ExecutorLostFailure")
    return isinstance(error, BrokenProcessPool) or any(each in text for each in lost)


def _stage_error(stage: str, left: str, error: Exception) -> Exception:
    """Our own errors unchanged; for an error that came through Spark, one with the last output of the worker."""
    if isinstance(error, TdqError):
        return error
    if match := _TASK_ERROR.search(str(error)):
        raised = json.loads(match[0])
        if raised["ours"]:
            return DatasetError(raised["message"])
        text = str(raised["message"])
    elif (text := _relevant_text(error)).startswith(_OURS):
        return DatasetError(text.removeprefix(_OURS))
    return StageFailed(f"{stage}: {left}; run it again to continue there. {text}")


def _relevant_text(error: Exception) -> str:
    """The relevant part of an error, which may come from Spark with the stack frames of two languages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith("tdqsim.")]
    if ours:
        return ours[-1]
    if len(lines) < _FEW_LINES:
        return _text_of(error)
    before_frames = list(takewhile(lambda line: not line.startswith("at "), lines))
    return " ".join(dict.fromkeys((lines[0], before_frames[-1])))  # Python prints the exception last, Java first
