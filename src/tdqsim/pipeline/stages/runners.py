"""Execute plans: in this process, or as Spark tasks; the results are the same.

Both runners keep the same rules, which are in :class:`Runner`: finished tasks are not repeated, the heaviest tasks
start first, tasks whose worker process died are retried, and the manifest is published last. A runner adds only how
tasks are done.

Tasks that run the user's programs, which may end their process, get a separate process. Below a certain size, starting
Spark and its workers costs more than it saves; ``auto`` then stays in this process and logs that.
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
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar, cast

import pyarrow as pa

from tdqsim.errors import DatasetError, TdqError
from tdqsim.pipeline.limits import BOUNDS
from tdqsim.pipeline.parquet import schema
from tdqsim.pipeline.publishing import is_local
from tdqsim.pipeline.sessions import run_tasks, session
from tdqsim.pipeline.stages.manifest import Receipt, Receipts, StageTask, keep_only, one_of, outdate, write_manifest
from tdqsim.pipeline.stages.plan import Plan, TaskStep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EngineName = Literal["local", "spark", "auto"]
ENGINES = ("local", "spark", "auto")
_OURS = "tdqsim.errors.DatasetError: "
_FEW_LINES = 3
"""A longer report is reduced: the other lines are the frames of an error."""
_TASK_ERROR = re.compile(r'\{"message": ".*", "ours": (?:true|false)\}')
_FOR_EACH_CORE = 4
"""The number of Spark tasks for each core: enough that all cores finish at about the same time."""
_ROW = schema("bucket int32, body string")
_LOST = ("Python worker exited unexpectedly", "crashed", "ExecutorLostFailure")
"""What Spark reports when a worker process died."""

T = TypeVar("T", bound=StageTask)
R = TypeVar("R")


class StageFailed(DatasetError):
    """A stage could not be finished; the message names it, its buckets, and the error of the last attempt."""


class TaskError(Exception):
    """An exception of a task, as one line of JSON, on its way to the process that started the stage.

    Spark may add text before and after the line. The key ``message`` has the error's text; ``ours`` says that the user
    can be shown this text unchanged.
    """


class Runner(ABC):
    """Executes plans.

    Attributes:
        name: ``local`` or ``spark``.
        why: why it was chosen, as a sentence.
        rounds: how often the unfinished tasks of a step are tried when worker processes die.
    """

    name: ClassVar[Literal["local", "spark"]]
    rounds: ClassVar[int]

    def __init__(self, why: str = "", say: Callable[[str], None] | None = None) -> None:
        self.why = why
        self._say = say

    def say(self, text: str) -> None:
        """Report progress."""
        if self._say is not None:
            self._say(text)

    @abstractmethod
    def each(self, step: TaskStep[T], tasks: Sequence[T]) -> list[Receipt]:
        """The receipts of some tasks of a step.

        Raises:
            TaskError: a task raised an exception in another process; tasks that have not started are not started.
        """

    def announce(self) -> None:
        """Report which runner it is, and why."""
        self.say(f"engine {self.name}: {self.why}")

    def execute(self, plan: Plan[R]) -> R:
        """Execute a plan; returns its result.

        Raises:
            StageFailed: a step could not be finished.
            DatasetError: this process does not see the files that tasks wrote.
            TdqError: raised by the plan, or by a task.
        """
        with closing(plan):
            try:
                step = next(plan)
                while True:
                    step = plan.send(self.run(step))
            except StopIteration as end:
                return cast("R", end.value)

    def run(self, step: TaskStep[T]) -> list[Receipt]:
        """Do the unfinished tasks of a step, the heaviest first, then publish its manifest.

        Returns:
            The receipts of all its tasks, in the order of their buckets.
        """
        receipts = Receipts(step.run, step.name)
        done: dict[int, Receipt] = {}
        for left in range(self.rounds - 1, -1, -1):
            todo = _unfinished(step, receipts, done)
            if not todo:
                break
            # Before tasks change any file: if this process is killed, the step must not appear finished.
            outdate(step.run, step.name)
            for task in todo:  # a receipt for other inputs must not outlive the files that it describes
                receipts.forget(task.bucket)
            if done and left == self.rounds - 1:
                counts = f"{len(done)} of {len(step.tasks)} buckets were done before; {len(todo)} are left"
                self.say(f"{step.name}: {counts}")
            with self._attempt(step.name, f"{len(todo)} buckets are left", last=not left):
                done.update((receipt.bucket, receipt) for receipt in self.each(step, todo))
        # The job of a worker that died returned nothing, but tasks that were finished left receipts.
        if len(done) < len(step.tasks):
            _unfinished(step, receipts, done)
        ordered = [done[bucket] for bucket in sorted(task.bucket for task in step.tasks)]
        _check_visible(step.run, ordered)
        if step.folder:
            keep_only(step.run, step.folder, ordered)
        write_manifest(step.run, step.name, ordered)
        return ordered

    @contextmanager
    def _attempt(self, name: str, left: str, *, last: bool) -> Iterator[None]:
        """One attempt; the death of a worker process in it is ignored unless it is the last attempt."""
        try:
            yield
        except Exception as error:
            if last or not _died(error):
                raise _stage_error(name, left, error) from error
            self.say(f"{name}: a worker died; the rest is tried again")


def _unfinished(step: TaskStep[T], receipts: Receipts, done: dict[int, Receipt]) -> list[T]:
    """Read the existing receipts into ``done``; returns the tasks that are left, heaviest first."""
    done.update((t.bucket, found) for t in step.tasks if (found := receipts.get(t.bucket, t.inputs)) is not None)
    return sorted((t for t in step.tasks if t.bucket not in done), key=lambda task: (-task.weight, task.bucket))


def _check_visible(run: Path, receipts: Sequence[Receipt]) -> None:
    """Check that this process sees the files that tasks wrote; an object store is the same everywhere."""
    for each in receipts if is_local(run) else ():
        for name in each.files:
            if not (run / name).is_file():
                raise DatasetError(
                    f"{run / name}: a task wrote it, but it is not visible here: tasks and this process need the same "
                    "directory; name a shared one, or a place in an object store where that can be"
                )


# in this process -----------------------------------------------------------------------------------------------------


class LocalRunner(Runner):
    """Does tasks in this process, or, if they may end it, in one that is forked from it."""

    name = "local"
    rounds = 64  # each death is due to one region, which becomes a row after its second

    def each(self, step: TaskStep[T], tasks: Sequence[T]) -> list[Receipt]:
        """The receipts of some tasks of a step."""
        if not (step.apart and _may_fork()):
            # Where a fork is not safe, the tasks run here, and a program that ends its process ends the run.
            return [step.work(task) for task in tasks]
        with warnings.catch_warnings(), _pool() as pool:
            # the threads of Arrow and numpy are safe across a fork
            warnings.simplefilter("ignore", DeprecationWarning)
            return list(pool.map(partial(_done, step.work), tasks))


def _may_fork() -> bool:
    """Whether this process can be forked: with other threads, a fork may wait for ever for their locks."""
    waits = signal.getsignal(signal.SIGCHLD) is not signal.SIG_IGN
    return sys.platform == "linux" and waits and threading.active_count() == 1


def _pool() -> ProcessPoolExecutor:
    """One process for all tasks, forked from this one, so that the user's programs can end only that process."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("fork"), _end_with_parent)


def _end_with_parent() -> None:
    """End this process when its parent has ended, because its results are no longer needed."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


# on Spark ------------------------------------------------------------------------------------------------------------


class SparkRunner(Runner):
    """Does tasks as Spark tasks.

    Args:
        spark: an existing session; None makes a local one when a step first needs it.
        why: why it was chosen.
        say: called with progress messages.
    """

    name = "spark"
    rounds = 4

    def __init__(
        self, spark: SparkSession | None = None, why: str = "", say: Callable[[str], None] | None = None
    ) -> None:
        super().__init__(why, say)
        self.spark = spark

    def session(self) -> SparkSession:
        """The Spark session; if none was passed in, a local one is made."""
        if self.spark is None:
            # Java may compile little: bulk data is never processed there
            self.spark = session(name="tdqsim pipeline", quick_start=True, say=self._say)
        return self.spark

    def each(self, step: TaskStep[T], tasks: Sequence[T]) -> list[Receipt]:
        """The receipts of some tasks of a step; a Spark task does several of them if there are many for each core."""
        spark = self.session()
        context = getattr(spark, "sparkContext", None)  # a Connect session has none, and does not tell its cores
        many = len(tasks) if context is None else _FOR_EACH_CORE * context.defaultParallelism
        groups = max(1, min(len(tasks), max(many, -(-len(tasks) // BOUNDS["tasks_together"]))))
        dealt = [tasks[first::groups] for first in range(groups)]  # the heaviest to different groups
        rows = run_tasks(spark, dealt, partial(_rows, step.work, step.name), _ROW)
        return [Receipt.from_json(json.loads(row["body"])) for row in rows]


def _done(work: Callable[[T], Receipt], task: T) -> Receipt:
    try:
        return work(task)
    except Exception as error:  # noqa: BLE001  (it is raised again where the stage was started)
        raise TaskError(json.dumps({"message": _text_of(error), "ours": isinstance(error, TdqError)})) from None


def _rows(work: Callable[[T], Receipt], name: str, tasks: Sequence[T]) -> Iterator[dict[str, object]]:
    """The receipts of some tasks; those that an earlier attempt of the same Spark task finished are not repeated."""
    for task in tasks:
        try:
            receipt = Receipts(task.run, name).get(task.bucket, task.inputs) or _done(work, task)
            yield {"bucket": task.bucket, "body": json.dumps(receipt.as_json())}
        finally:
            # the next task may come much later, and other processes need memory meanwhile
            pa.default_memory_pool().release_unused()


# which ---------------------------------------------------------------------------------------------------------------


def choose(
    wanted: EngineName,
    *,
    records: int,
    size: int,
    spark: SparkSession | None = None,
    say: Callable[[str], None] | None = None,
) -> Runner:
    """The runner for a command.

    Raises:
        NotAllowed: the engine is unknown.
    """
    one_of("--engine", wanted, ENGINES)
    if wanted != "auto":
        return SparkRunner(spark, "set by --engine", say) if wanted == "spark" else LocalRunner("set by --engine", say)
    if records >= BOUNDS["spark_pays_records"] or size >= BOUNDS["spark_pays_bytes"]:
        return SparkRunner(spark, f"{records:,} records, {size:,} bytes: enough for Spark to pay", say)
    why = (
        f"{records:,} records, {size:,} bytes: using Spark pays from {BOUNDS['spark_pays_records']:,} records or "
        f"{BOUNDS['spark_pays_bytes']:,} bytes; the same functions run in this process (--engine spark insists)"
    )
    return LocalRunner(why, say)


# errors --------------------------------------------------------------------------------------------------------------


def _died(error: Exception) -> bool:
    """Whether a worker process died, which another attempt may survive; not an error of the task itself."""
    text = str(error)
    if isinstance(error, TdqError) or _TASK_ERROR.search(text):
        return False
    return isinstance(error, BrokenProcessPool) or any(each in text for each in _LOST)


def _stage_error(name: str, left: str, error: Exception) -> Exception:
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
    return StageFailed(f"{name}: {left}; run it again to continue there. {text}")


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


def _text_of(error: Exception) -> str:
    if isinstance(error, TdqError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
    return f"{type(error).__name__}: {error}"
