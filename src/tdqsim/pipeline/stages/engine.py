"""Running a stage's function over its tasks: in this process, or as Spark tasks; the results are the same.

Below a size, starting Spark and its workers costs more than it saves; ``auto`` then stays in this process and says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import pyarrow as pa

from tdqsim.errors import DatasetError, TdqError
from tdqsim.pipeline.bounds import BOUNDS
from tdqsim.pipeline.stages.arguments import one_of
from tdqsim.pipeline.stages.manifest import Receipt, Receipts, keep_only, outdate, write_manifest

__all__ = ["Engine", "EngineName", "StageFailed", "Task", "choose", "run_stage"]

EngineName = Literal["local", "spark", "auto"]
ROUNDS = 4
"""How often what is left of a stage is tried again when a worker process died."""

ENGINES = ("local", "spark", "auto")
_OURS = "tdqsim.errors.DatasetError: "
_ROW = pa.schema([("bucket", pa.int32()), ("body", pa.string())])


class StageFailed(DatasetError):
    """A stage could not be finished; the message names it, its buckets, and what the last attempt said."""


class Task(Protocol):
    """One task of a stage: plain values, so that it can travel to a worker."""

    @property
    def run(self) -> Path:
        """The run's directory."""

    @property
    def bucket(self) -> int:
        """Which bucket it makes."""

    @property
    def inputs(self) -> str:
        """Digest of everything its outcome depends on."""

    @property
    def weight(self) -> int:
        """How much work it is, in any unit: the heaviest go first."""


T = TypeVar("T", bound=Task)


@dataclass
class Engine:
    """Where tasks run.

    Attributes:
        name: ``local`` or ``spark``.
        why: why it was chosen, in a sentence for people.
        spark: the session, made when the first stage needs it.
        say: told what happens, for people.
    """

    name: Literal["local", "spark"]
    why: str = ""
    spark: Any = None
    say: Callable[[str], None] = field(default=lambda _: None)

    def session(self) -> Any:
        """The Spark session; a local one is made when none was handed in."""
        if self.spark is None:
            from tdqsim.pipeline.session import session  # noqa: PLC0415  (starts a JVM)

            self.spark = session(name="tdqsim pipeline")
        return self.spark

    def map(self, tasks: Sequence[Any], function: Callable[[Any], Receipt]) -> list[Receipt]:
        """The function's receipt for each task, in the order of the tasks."""
        if self.name == "local":
            return [function(task) for task in tasks]
        from tdqsim.pipeline.session import progress, run_tasks  # noqa: PLC0415

        def call(task: Any) -> Iterable[dict[str, Any]]:
            receipt = function(task)
            return [{"bucket": receipt.bucket, "body": json.dumps(receipt.as_json())}]

        spark = self.session()
        with progress(spark):
            rows = run_tasks(spark, tasks, call, _ROW)
        return [Receipt.from_json(json.loads(row["body"])) for row in rows]


def choose(
    wanted: EngineName, *, records: int, size: int, spark: Any = None, say: Callable[[str], None] | None = None
) -> Engine:
    """The engine for a run.

    Args:
        wanted: ``auto`` decides by size.
        records: how many records or operations there are.
        size: how many bytes they are.
        spark: a session that there is already.
        say: told what happens, for people.

    Raises:
        NotAllowed: there is no such engine.
    """
    talk = say or (lambda _: None)
    one_of("--engine", wanted, ENGINES)
    if wanted != "auto":
        return Engine(wanted, "as asked", spark, talk)
    if records >= BOUNDS["spark_pays_records"] or size >= BOUNDS["spark_pays_bytes"]:
        return Engine("spark", f"{records:,} records, {size:,} bytes: enough for Spark to pay", spark, talk)
    why = (
        f"{records:,} records, {size:,} bytes: Spark pays from {BOUNDS['spark_pays_records']:,} records or "
        f"{BOUNDS['spark_pays_bytes']:,} bytes; the same functions run in this process (--engine spark insists)"
    )
    return Engine("local", why, None, talk)


def run_stage(
    engine: Engine, stage: str, run: Path, tasks: Sequence[T], function: Callable[[T], Receipt], folder: str = ""
) -> list[Receipt]:
    """Do what is not done yet of a stage, heaviest first, then publish its manifest.

    A worker process that dies takes its Spark job with it: what is left is tried again, a few times.

    Args:
        engine: where tasks run.
        stage: its name.
        run: the run's directory.
        tasks: all its tasks, done or not.
        function: does one of them.
        folder: the folder of the run's directory that is this stage's own: what an earlier run with other arguments
            left there goes, before the manifest is published.

    Raises:
        StageFailed: it could not be finished.
        TdqError: what the function raised in this process.
    """
    receipts = Receipts(run, stage)
    done: dict[int, Receipt] = {}
    for attempt in range(1, ROUNDS + 1):
        done |= {task.bucket: found for task in tasks if (found := receipts.get(task.bucket, task.inputs)) is not None}
        left = sorted((task for task in tasks if task.bucket not in done), key=lambda task: (-task.weight, task.bucket))
        if not left:
            break
        outdate(run, stage)
        for task in left:  # a receipt for other inputs must not outlive the files it is for
            receipts.forget(task.bucket)
        if done and attempt == 1:
            engine.say(f"{stage}: {len(done)} of {len(tasks)} buckets were done before; {len(left)} are left")
        try:
            done |= {receipt.bucket: receipt for receipt in engine.map(left, function)}
        except Exception as error:
            if engine.name == "local" or attempt == ROUNDS or not _died(error):
                raise _told(stage, left, error) from error
            engine.say(f"{stage}: a worker died; what is left is tried again")
    ordered = [done[task.bucket] for task in sorted(tasks, key=lambda task: task.bucket)]
    if folder:
        keep_only(run, folder, ordered)
    write_manifest(run, stage, ordered)
    return ordered


def _died(error: Exception) -> bool:
    """Whether a worker process went away, which another attempt may survive; not an error of the task's own."""
    text = str(error)
    return "Python worker exited unexpectedly" in text or "crashed" in text or "ExecutorLostFailure" in text


def _told(stage: str, left: Sequence[Any], error: Exception) -> Exception:
    """An error of ours as it is; one that came through Spark by what the worker said at its end."""
    if isinstance(error, TdqError):
        return error
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if line.startswith(("tdqsim.", "OSError", "FileNotFound", "PermissionError"))]
    if said and said[-1].startswith(_OURS):
        return DatasetError(said[-1].removeprefix(_OURS))
    text = (said or lines or [""])[-1 if said else 0]
    if not said and not text.startswith(type(error).__name__):
        text = f"{type(error).__name__}: {text}"
    return StageFailed(f"{stage}: {len(left)} buckets are left; run it again to go on with them. {text}")
